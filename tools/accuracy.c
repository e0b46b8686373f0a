/* SPDX-License-Identifier: Apache-2.0 */
/* Counting right answers. */
#include "tools/accuracy.h"

bsm_status bsm_accuracy_open(const char *path, bsm_accuracy *out) {
  *out = (bsm_accuracy){0};
  BSM_TRY(bsm_npy_open(path, NULL, &out->file));
  bsm_status status = BSM_OK;
  if (out->file.count != 1 || out->file.items[0].problem ||
      !bsm_dtype_size(out->file.items[0].array.dtype)) {
    status = BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "%s: labels are one array of whole numbers", path);
  } else {
    out->labels = &out->file.items[0].array;
    status = bsm_dims_count(out->labels->dims, &out->count);
  }
  if (status) bsm_npy_close(&out->file);
  return status;
}

static size_t best_of(const bsm_array *scores, size_t start, size_t classes) {
  size_t best = 0;
  double most = bsm_array_element(scores, start);
  for (size_t i = 1; i < classes; i++) {
    const double score = bsm_array_element(scores, start + i);
    if (score > most) {
      most = score;
      best = i;
    }
  }
  return best;
}

bsm_status bsm_accuracy_add(bsm_accuracy *a, const bsm_array *scores) {
  size_t count;
  BSM_TRY(bsm_dims_count(scores->dims, &count));
  const size_t classes =
      scores->dims.rank ? (size_t)scores->dims.d[scores->dims.rank - 1] : 0;
  const size_t rows = classes ? count / classes : 0;
  if (rows > a->count - a->seen || !rows) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "there are %zu labels, and scores of %zu rows or more",
                    a->count, a->seen + rows);
  }
  for (size_t i = 0; i < rows; i++) {
    const double label = bsm_array_element(a->labels, a->seen++);
    a->right += (double)best_of(scores, i * classes, classes) == label;
  }
  return BSM_OK;
}

void bsm_accuracy_close(bsm_accuracy *a) {
  bsm_npy_close(&a->file);
}
