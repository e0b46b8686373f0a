/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of convolution, deconvolution and pooling. */
#include "base/checked.h"
#include "network/network_internal.h"

/* Larger sizes and strides are mistakes; below this limit sums cannot overflow.
 */
#define MAX_WINDOW ((int64_t)1 << 40)

static bsm_status check_window(const bsm_window_params *w) {
  if (w->spatial < 1 || w->spatial > BSM_MAX_SPATIAL) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "%d spatial dimensions; 1 to %d are supported",
                    (int)w->spatial, BSM_MAX_SPATIAL);
  }
  for (int32_t i = 0; i < w->spatial; i++) {
    if (w->kernel[i] < 1 || w->kernel[i] > MAX_WINDOW || w->stride[i] < 1 ||
        w->stride[i] > MAX_WINDOW || w->dilation[i] < 1 ||
        w->dilation[i] > MAX_WINDOW) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "kernel %lld, stride %lld, dilation %lld of spatial "
                      "dimension %d: each must be positive",
                      (long long)w->kernel[i], (long long)w->stride[i],
                      (long long)w->dilation[i], (int)i);
    }
    if (w->pre_padding[i] < 0 || w->pre_padding[i] > MAX_WINDOW ||
        w->post_padding[i] < 0 || w->post_padding[i] > MAX_WINDOW) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "padding %lld, %lld of spatial dimension %d is negative "
                      "or too large",
                      (long long)w->pre_padding[i],
                      (long long)w->post_padding[i], (int)i);
    }
  }
  return BSM_OK;
}

/* dilation * (kernel - 1) + 1; false on overflow. */
static bool window_extent(const bsm_window_params *w, int32_t i, int64_t *out) {
  return bsm_i64_mul(w->dilation[i], w->kernel[i] - 1, out) &&
         *out < INT64_MAX / 4 && bsm_i64_add(*out, 1, out);
}

static bsm_status check_weights(const bsm_weights *weights, const char *what,
                                bsm_dtype dtype, int64_t expected) {
  if (weights->count != expected || (expected > 0 && !weights->values)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s has %lld elements, %lld are needed", what,
                    (long long)weights->count, (long long)expected);
  }
  if (weights->dtype != dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s is %s, the input is %s", what,
                    bsm_dtype_name(weights->dtype), bsm_dtype_name(dtype));
  }
  return BSM_OK;
}

/* What convolution and deconvolution have in common: ranks, groups, counts.
 * `a` and `b` are the first two kernel dims. */
static bsm_status check_convolution(const bsm_layer *layer, int64_t a,
                                    int64_t b) {
  const bsm_convolution_params *p = &layer->p.convolution;
  const bsm_itensor *x = layer->inputs.items[0];
  BSM_TRY(check_window(&p->window));
  if (x->dims.rank != p->window.spatial + 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "input dims %s: rank %d is needed for a kernel with %d "
                    "spatial dimensions",
                    bsm_dims_str(x->dims), (int)(p->window.spatial + 2),
                    (int)p->window.spatial);
  }
  if (x->dtype == BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_UNSUPPORTED, "convolution of bool");
  }
  int64_t count;
  if (!bsm_i64_mul(a, b, &count)) return BSM_FAIL(BSM_LIMIT, "kernel size");
  for (int32_t i = 0; i < p->window.spatial; i++) {
    if (!bsm_i64_mul(count, p->window.kernel[i], &count)) {
      return BSM_FAIL(BSM_LIMIT, "the kernel has too many elements");
    }
  }
  BSM_TRY(check_weights(&p->kernel, "the kernel", x->dtype, count));
  if (p->bias.count != 0) {
    BSM_TRY(check_weights(&p->bias, "the bias", x->dtype, p->out_maps));
  }
  return BSM_OK;
}

static bsm_status check_groups(int64_t maps, int64_t groups, const char *what) {
  if (groups < 1 || maps < 0 || maps % groups != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%lld %s channels do not split into %lld groups",
                    (long long)maps, what, (long long)groups);
  }
  return BSM_OK;
}

static bsm_status finish(bsm_layer *layer, bsm_dims dims) {
  const bsm_epilogue *epilogue = &layer->p.convolution.epilogue;
  const bool has_scale = layer->p.convolution.has_scale;
  size_t wanted = (epilogue->has_residual ? 2u : 1u) + (has_scale ? 1u : 0u);
  if (layer->inputs.len != wanted) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%zu inputs, %zu are needed",
                    layer->inputs.len, wanted);
  }
  const bsm_itensor *x = layer->inputs.items[0];
  const bsm_itensor *last = layer->inputs.items[wanted - 1];
  if (epilogue->has_residual &&
      (!bsm_same_dims(last->dims, dims) || last->dtype != x->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the residual has dims %s, the output %s",
                    bsm_dims_str(last->dims), bsm_dims_str(dims));
  }
  bsm_dims factors = x->dims;
  for (int32_t i = 2; i < factors.rank; i++) factors.d[i] = 1;
  if (has_scale && (!bsm_same_dims(layer->inputs.items[1]->dims, factors) ||
                    layer->inputs.items[1]->dtype != x->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "the scale has dims %s, the input %s",
                    bsm_dims_str(layer->inputs.items[1]->dims),
                    bsm_dims_str(x->dims));
  }
  return bsm_layer_set_output(layer, 0, layer->inputs.items[0]->dtype, dims);
}

bsm_status bsm_infer_convolution(bsm_layer *layer) {
  const bsm_convolution_params *p = &layer->p.convolution;
  const bsm_window_params *w = &p->window;
  bsm_dims in = layer->inputs.items[0]->dims, out = {0};
  if (in.rank < 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "input dims %s have no channels",
                    bsm_dims_str(in));
  }
  BSM_TRY(check_groups(in.d[1], p->groups, "input"));
  BSM_TRY(check_groups(p->out_maps, p->groups, "output"));
  BSM_TRY(check_convolution(layer, p->out_maps, in.d[1] / p->groups));
  out.rank = in.rank;
  out.d[0] = in.d[0];
  out.d[1] = p->out_maps;
  for (int32_t i = 0; i < w->spatial; i++) {
    int64_t extent, padded;
    if (!window_extent(w, i, &extent) ||
        !bsm_i64_add(in.d[i + 2], w->pre_padding[i] + w->post_padding[i],
                     &padded)) {
      return BSM_FAIL(BSM_LIMIT, "the window of spatial dimension %d", (int)i);
    }
    if (padded < extent) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "the kernel covers %lld elements, the padded input has "
                      "%lld in spatial dimension %d",
                      (long long)extent, (long long)padded, (int)i);
    }
    out.d[i + 2] = (padded - extent) / w->stride[i] + 1;
  }
  return finish(layer, out);
}

bsm_status bsm_infer_deconvolution(bsm_layer *layer) {
  const bsm_convolution_params *p = &layer->p.convolution;
  const bsm_window_params *w = &p->window;
  bsm_dims in = layer->inputs.items[0]->dims, out = {0};
  if (in.rank < 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "input dims %s have no channels",
                    bsm_dims_str(in));
  }
  BSM_TRY(check_groups(in.d[1], p->groups, "input"));
  BSM_TRY(check_groups(p->out_maps, p->groups, "output"));
  BSM_TRY(check_convolution(layer, in.d[1], p->out_maps / p->groups));
  out.rank = in.rank;
  out.d[0] = in.d[0];
  out.d[1] = p->out_maps;
  for (int32_t i = 0; i < w->spatial; i++) {
    int64_t extent, size;
    if (in.d[i + 2] < 1) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "spatial dimension %d of the input is empty", (int)i);
    }
    if (!window_extent(w, i, &extent) ||
        !bsm_i64_mul(in.d[i + 2] - 1, w->stride[i], &size) ||
        !bsm_i64_add(size, extent, &size) ||
        !bsm_i64_add(size, w->output_padding[i], &size)) {
      return BSM_FAIL(BSM_LIMIT, "the window of spatial dimension %d", (int)i);
    }
    if (w->output_padding[i] < 0 || (w->output_padding[i] >= w->stride[i] &&
                                     w->output_padding[i] >= w->dilation[i])) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "output padding %lld must be smaller than the stride or "
                      "the dilation",
                      (long long)w->output_padding[i]);
    }
    size -= w->pre_padding[i] + w->post_padding[i];
    if (size < 1) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "spatial dimension %d of the output has %lld elements",
                      (int)i, (long long)size);
    }
    out.d[i + 2] = size;
  }
  return finish(layer, out);
}

/* PyTorch's pooling_output_shape. */
static bsm_status pooled_size(const bsm_pooling_params *p, int32_t i,
                              int64_t in, int64_t *out) {
  const bsm_window_params *w = &p->window;
  int64_t extent, padded;
  if (!window_extent(w, i, &extent) ||
      !bsm_i64_add(in, w->pre_padding[i] + w->post_padding[i], &padded)) {
    return BSM_FAIL(BSM_LIMIT, "the window of spatial dimension %d", (int)i);
  }
  if (w->pre_padding[i] >= extent || w->post_padding[i] >= extent) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "padding %lld, %lld is not smaller than the window of %lld",
                    (long long)w->pre_padding[i], (long long)w->post_padding[i],
                    (long long)extent);
  }
  int64_t room = padded - extent;
  int64_t size = -1;
  if (p->ceil_mode) {
    room += w->stride[i] - 1;
    if (room >= 0) size = room / w->stride[i] + 1;
    if (size > 0 && (size - 1) * w->stride[i] >= in + w->pre_padding[i]) {
      size--;
    }
  } else if (room >= 0) {
    size = room / w->stride[i] + 1;
  }
  if (size < 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the window covers %lld elements, the padded input has "
                    "%lld in spatial dimension %d",
                    (long long)extent, (long long)padded, (int)i);
  }
  *out = size;
  return BSM_OK;
}

bsm_status bsm_infer_pooling(bsm_layer *layer) {
  const bsm_pooling_params *p = &layer->p.pooling;
  const bsm_itensor *x = layer->inputs.items[0];
  bsm_dims out = x->dims;
  if (x->dtype == BSM_DTYPE_BOOL) {
    return BSM_FAIL(BSM_UNSUPPORTED, "pooling of bool");
  }
  BSM_TRY(check_window(&p->window));
  if (x->dims.rank < p->window.spatial + 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "input dims %s: rank %d is needed for a window of %d "
                    "dimensions",
                    bsm_dims_str(x->dims), (int)(p->window.spatial + 2),
                    (int)p->window.spatial);
  }
  if (p->divisor_override < 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "divisor_override %lld is negative",
                    (long long)p->divisor_override);
  }
  for (int32_t i = 0; i < p->window.spatial; i++) {
    int32_t axis = x->dims.rank - p->window.spatial + i;
    if (p->adaptive) {
      if (p->output_size[i] < 0 ||
          (p->output_size[i] > 0 && x->dims.d[axis] < 1)) {
        return BSM_FAIL(
            BSM_INVALID_ARGUMENT, "output size %lld from %lld elements",
            (long long)p->output_size[i], (long long)x->dims.d[axis]);
      }
      out.d[axis] = p->output_size[i];
    } else {
      BSM_TRY(pooled_size(p, i, x->dims.d[axis], &out.d[axis]));
    }
  }
  return bsm_layer_set_output(layer, 0, x->dtype, out);
}

bsm_status bsm_infer_sample(bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0], *g = layer->inputs.items[1];
  const int32_t rank = x->dims.rank;
  const int mode = (int)layer->p.sample.mode;
  const int padding = (int)layer->p.sample.padding;
  bool ok = (rank == 4 || rank == 5) && g->dims.rank == rank &&
            g->dims.d[rank - 1] == rank - 2 && g->dims.d[0] == x->dims.d[0] &&
            x->dtype == BSM_DTYPE_FLOAT && g->dtype == BSM_DTYPE_FLOAT &&
            mode >= BSM_RESIZE_NEAREST &&
            mode <= (rank == 4 ? BSM_RESIZE_CUBIC : BSM_RESIZE_LINEAR) &&
            padding >= BSM_SAMPLE_ZEROS && padding <= BSM_SAMPLE_REFLECTION;
  bsm_dims out = x->dims;
  for (int32_t i = 2; ok && i < rank; i++) {
    ok = x->dims.d[i] > 0;
    out.d[i] = g->dims.d[i - 1];
  }
  if (!ok) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "sample: %s%s at %s%s",
                    bsm_dtype_name(x->dtype), bsm_dims_str(x->dims),
                    bsm_dtype_name(g->dtype), bsm_dims_str(g->dims));
  }
  return bsm_layer_set_output(layer, 0, x->dtype, out);
}
