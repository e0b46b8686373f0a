/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's array files: .npy holds one array, .npz is a zip of them.
 *
 * bfloat16, which NumPy does not have, is written as the two-byte void that
 * the ml_dtypes package uses ("<V2"), and read from it. */
#ifndef BSM_TOOLS_NPY_H_
#define BSM_TOOLS_NPY_H_

#include "base/arena.h"
#include "base/file.h"
#include "base/strings.h"
#include "bessemer/limits.h"
#include "bessemer/types.h"

typedef struct bsm_npy_array {
  const char *name; /* member of an .npz, without ".npy"; "" for an .npy */
  bsm_array array;  /* contiguous, 64-byte aligned */
  /* Members of an .npz may be text, or what cannot be read: then the array has
   * no data and no dtype. The strings are UTF-8, as many as the dims say, of
   * rank 0 or 1. */
  const char *const *strings;
  const char *problem; /* why it cannot be read; NULL: it can */
} bsm_npy_array;

typedef struct bsm_npy_file {
  bsm_arena arena;
  bsm_file_map map;
  bsm_npy_array *items;
  size_t count;
} bsm_npy_file;

/* Reads all arrays of a file of either kind, told apart by its first bytes.
 * After success the caller closes *out; the arrays live until then.
 * BSM_CORRUPT: with the place. BSM_UNSUPPORTED: a dtype Bessemer lacks. */
BSM_NODISCARD bsm_status bsm_npy_open(const char *path,
                                      const bsm_limits *limits,
                                      bsm_npy_file *out);
/* The same for bytes, which are borrowed until the close. */
BSM_NODISCARD bsm_status bsm_npy_open_memory(const void *data, size_t size,
                                             const bsm_limits *limits,
                                             bsm_npy_file *out);
void bsm_npy_close(bsm_npy_file *file);

/* NULL when there is no such array. */
const bsm_array *bsm_npy_find(const bsm_npy_file *file, const char *name);

/* Whether the path ends in ".npz". */
bool bsm_npy_is_npz_path(const char *path);

/* Writes one contiguous array. The file appears whole or not at all. */
BSM_NODISCARD bsm_status bsm_npy_write(const char *path,
                                       const bsm_array *array);
/* Writes arrays as an .npz with stored members. */
BSM_NODISCARD bsm_status bsm_npz_write(const char *path,
                                       const bsm_npy_array *items,
                                       size_t count);

/* The bytes in front of an array's data: magic, version, header. */
BSM_NODISCARD bsm_status bsm_npy_header(bsm_arena *arena,
                                        const bsm_array *array, bsm_str *out);

#endif /* BSM_TOOLS_NPY_H_ */
