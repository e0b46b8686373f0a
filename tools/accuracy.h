/* SPDX-License-Identifier: Apache-2.0 */
/* How many rows of a classifier's scores have their greatest one at the label.
 */
#ifndef BSM_TOOLS_ACCURACY_H_
#define BSM_TOOLS_ACCURACY_H_

#include "tools/arrays.h"

typedef struct bsm_accuracy {
  bsm_npy_file file;
  const bsm_array *labels; /* whole numbers, one for each row */
  size_t count;            /* of labels */
  size_t seen, right;      /* rows so far */
} bsm_accuracy;

/* Reads labels from an .npy or the only array of an .npz. After success the
 * caller closes *out. */
BSM_NODISCARD bsm_status bsm_accuracy_open(const char *path, bsm_accuracy *out);
/* Compares the rows of scores, along the last dimension, with the labels that
 * follow those of the calls before. BSM_INVALID_ARGUMENT: there are not so many
 * labels. */
BSM_NODISCARD bsm_status bsm_accuracy_add(bsm_accuracy *a,
                                          const bsm_array *scores);
void bsm_accuracy_close(bsm_accuracy *a);

#endif /* BSM_TOOLS_ACCURACY_H_ */
