/* SPDX-License-Identifier: Apache-2.0 */
/* Calibration data in files: a folder of .npz and .npy files in the order of
 * their names, or one such file. Arrays are inputs by name, else by position;
 * their first dimension may be a multiple of what the model takes, and is then
 * divided into batches. One file is open at a time. */
#ifndef BSM_TOOLS_DATA_FOLDER_H_
#define BSM_TOOLS_DATA_FOLDER_H_

#include "tools/arrays.h"

typedef struct bsm_data_folder {
  bsm_arena names; /* of the files */
  bsm_string_vec paths;
  size_t next;           /* of `paths` */
  bsm_arena arena;       /* of the open file */
  bsm_array_set open;    /* one file, or none */
  bsm_array *whole;      /* its array for each input */
  int64_t *share;        /* rows of a batch by input; 0: all rows are of each */
  size_t batch, batches; /* of the open file */
  uint64_t dropped;      /* rows that did not fill a batch */
} bsm_data_folder;

/* The caller closes *out, also after a failure.
 * BSM_IO: cannot be read. BSM_INVALID_ARGUMENT: there is no such file in it. */
BSM_NODISCARD bsm_status bsm_data_folder_open(const char *path,
                                              bsm_data_folder *out);
/* A bsm_calibration_next; `user` is the folder. */
bsm_status bsm_data_folder_next(void *user, size_t batch,
                                const bsm_binding *inputs, size_t count,
                                bsm_array *arrays, bool *end);
void bsm_data_folder_close(bsm_data_folder *folder);

#endif /* BSM_TOOLS_DATA_FOLDER_H_ */
