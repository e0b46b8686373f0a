/* SPDX-License-Identifier: Apache-2.0 */
/* Layout geometry. Sizes were checked when the network was made. */
#include "builder/layout.h"

bsm_layout bsm_layout_ordered(bsm_dims dims, const int32_t *order) {
  bsm_layout layout = {.dims = dims};
  int64_t stride = 1;
  for (int32_t i = dims.rank - 1; i >= 0; i--) {
    layout.strides[order[i]] = stride;
    stride *= dims.d[order[i]] > 0 ? dims.d[order[i]] : 1;
  }
  return layout;
}

bsm_layout bsm_layout_contiguous(bsm_dims dims) {
  int32_t order[BSM_MAX_RANK];
  for (int32_t i = 0; i < dims.rank; i++) order[i] = i;
  return bsm_layout_ordered(dims, order);
}

bsm_layout bsm_layout_channels_last(bsm_dims dims) {
  int32_t order[BSM_MAX_RANK];
  order[0] = 0;
  for (int32_t i = 2; i < dims.rank; i++) order[i - 1] = i;
  order[dims.rank - 1] = 1;
  return bsm_layout_ordered(dims, order);
}

bsm_layout bsm_layout_like(bsm_dims dims, const bsm_layout *like) {
  int32_t order[BSM_MAX_RANK];
  for (int32_t i = 0; i < dims.rank; i++) { /* insertion sort: stable */
    int32_t j = i;
    for (; j > 0 && like->strides[order[j - 1]] < like->strides[i]; j--) {
      order[j] = order[j - 1];
    }
    order[j] = i;
  }
  return bsm_layout_ordered(dims, order);
}

bool bsm_layout_is_contiguous(const bsm_layout *layout) {
  int64_t stride = 1;
  bool plain = true;
  for (int32_t i = layout->dims.rank - 1; i >= 0; i--) {
    const int64_t size = layout->dims.d[i];
    if (size == 0) return true;
    plain = plain && (size == 1 || layout->strides[i] == stride);
    stride *= size;
  }
  return plain;
}

bool bsm_layout_has_channels_inner(const bsm_layout *layout) {
  return layout->dims.rank >= 2 &&
         (layout->strides[1] == 1 || layout->dims.d[1] == 1);
}

bool bsm_layout_is_dense(const bsm_layout *layout) {
  /* Go through dimensions by growing stride: each must continue where the last
   * one ended. */
  bool taken[BSM_MAX_RANK] = {false};
  int64_t expected = 1;
  for (int32_t n = 0; n < layout->dims.rank; n++) {
    int32_t found = -1;
    for (int32_t i = 0; i < layout->dims.rank && found < 0; i++) {
      if (!taken[i] &&
          (layout->dims.d[i] == 1 || layout->strides[i] == expected)) {
        found = i;
      }
    }
    if (found < 0) return false;
    taken[found] = true;
    if (layout->dims.d[found] == 0) return true;
    expected *= layout->dims.d[found];
  }
  return true;
}

bool bsm_layout_is_broadcast(const bsm_layout *layout) {
  for (int32_t i = 0; i < layout->dims.rank; i++) {
    if (layout->dims.d[i] > 1 && layout->strides[i] == 0) return true;
  }
  return false;
}

bool bsm_layout_equal(const bsm_layout *a, const bsm_layout *b) {
  if (a->dims.rank != b->dims.rank) return false;
  for (int32_t i = 0; i < a->dims.rank; i++) {
    if (a->dims.d[i] != b->dims.d[i] ||
        (a->dims.d[i] != 1 && a->strides[i] != b->strides[i])) {
      return false;
    }
  }
  return true;
}

bsm_layout bsm_layout_permute(const bsm_layout *layout, bsm_dims perm) {
  bsm_layout out = {.dims = {.rank = perm.rank}};
  for (int32_t i = 0; i < perm.rank; i++) {
    out.dims.d[i] = layout->dims.d[perm.d[i]];
    out.strides[i] = layout->strides[perm.d[i]];
  }
  return out;
}

/* Goes through the old dimensions from the innermost, in groups that are
 * contiguous in memory. The new dimensions must divide each group exactly. */
bool bsm_layout_reshape(const bsm_layout *layout, bsm_dims dims,
                        bsm_layout *out) {
  *out = (bsm_layout){.dims = dims};
  for (int32_t i = 0; i < layout->dims.rank; i++) {
    if (layout->dims.d[i] == 0) {
      *out = bsm_layout_contiguous(dims);
      return true;
    }
  }
  int32_t view = dims.rank - 1;
  int64_t run = 1, view_run = 1;
  int64_t base = layout->dims.rank ? layout->strides[layout->dims.rank - 1] : 1;
  for (int32_t i = layout->dims.rank - 1; i >= 0; i--) {
    run *= layout->dims.d[i];
    const bool ends = i == 0 || (layout->dims.d[i - 1] != 1 &&
                                 layout->strides[i - 1] != run * base);
    if (!ends) continue;
    while (view >= 0 && (view_run < run || dims.d[view] == 1)) {
      out->strides[view] = view_run * base;
      view_run *= dims.d[view];
      view--;
    }
    if (view_run != run) return false;
    if (i > 0) {
      base = layout->strides[i - 1];
      run = view_run = 1;
    }
  }
  for (; view >= 0; view--) {
    if (dims.d[view] != 1) return false;
    out->strides[view] = 1;
  }
  return true;
}

bsm_layout bsm_layout_broadcast(const bsm_layout *layout, bsm_dims dims) {
  bsm_layout out = {.dims = dims};
  const int32_t shift = dims.rank - layout->dims.rank;
  for (int32_t i = 0; i < layout->dims.rank; i++) {
    if (layout->dims.d[i] != 1) out.strides[shift + i] = layout->strides[i];
  }
  return out;
}
