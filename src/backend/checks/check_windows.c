/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of windows: convolution, deconvolution, pooling. */
#include "backend/checks/checks.h"
#include "backend/image.h"

/* Sizes, kernels and paddings below this: sums and products of three fit. */
#define MAX_EXTENT ((int64_t)1 << 20)

bsm_status bsm_check_window(const bsm_step_window *w, const bsm_plan_tensor *x,
                            const bsm_plan_tensor *y) {
  if (w->spatial < 1 || w->spatial > 3 || x->dims.rank != w->spatial + 2 ||
      y->dims.rank != w->spatial + 2) {
    return BSM_FAIL(BSM_CORRUPT, "%d spatial dimensions, but %s gives %s",
                    w->spatial, bsm_dims_str(x->dims), bsm_dims_str(y->dims));
  }
  for (int d = 0; d < 3; d++) {
    const bool missing = d < 3 - w->spatial;
    const int64_t most = missing ? 1 : MAX_EXTENT;
    if (w->kernel[d] < 1 || w->kernel[d] > most || w->stride[d] < 1 ||
        w->stride[d] > most || w->dilation[d] < 1 || w->dilation[d] > most ||
        w->pre_padding[d] < 0 || w->post_padding[d] < 0 ||
        w->pre_padding[d] > MAX_EXTENT || w->post_padding[d] > MAX_EXTENT ||
        (missing && (w->pre_padding[d] || w->post_padding[d]))) {
      return BSM_FAIL(BSM_CORRUPT,
                      "dimension %d of the window: kernel %lld, stride %lld, "
                      "dilation %lld, padding %lld and %lld",
                      d, (long long)w->kernel[d], (long long)w->stride[d],
                      (long long)w->dilation[d], (long long)w->pre_padding[d],
                      (long long)w->post_padding[d]);
    }
  }
  if (w->kernel[0] * w->kernel[1] > MAX_EXTENT ||
      w->kernel[0] * w->kernel[1] * w->kernel[2] > MAX_EXTENT) {
    return BSM_FAIL(BSM_CORRUPT, "the window is too large");
  }
  return BSM_OK;
}

bsm_status bsm_check_window_output(const bsm_step_window *w,
                                   const bsm_plan_tensor *x,
                                   const bsm_plan_tensor *y) {
  const bsm_image in = bsm_image_of(x, w->spatial);
  const bsm_image out = bsm_image_of(y, w->spatial);
  for (int d = 0; d < 3; d++) {
    if (out.size[d] != bsm_window_output(w, d, in.size[d])) {
      return BSM_FAIL(BSM_CORRUPT, "input %s does not give output %s",
                      bsm_dims_str(x->dims), bsm_dims_str(y->dims));
    }
  }
  return BSM_OK;
}

bsm_status bsm_check_pooling(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_pooling *p = &step->params->pooling;
  BSM_TRY(bsm_check_counts(step, 1, 1));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_window(&p->window, x, y));
  if (p->type != BSM_POOLING_MAX && p->type != BSM_POOLING_AVERAGE) {
    return BSM_FAIL(BSM_CORRUPT, "pooling type %d", p->type);
  }
  if (x->dims.d[0] != y->dims.d[0] || x->dims.d[1] != y->dims.d[1]) {
    return BSM_FAIL(BSM_CORRUPT, "input %s, output %s", bsm_dims_str(x->dims),
                    bsm_dims_str(y->dims));
  }
  const bsm_image in = bsm_image_of(x, p->window.spatial);
  const bsm_image out = bsm_image_of(y, p->window.spatial);
  for (int d = 0; d < 3; d++) {
    /* Windows of a rounded-up size may end, not start, outside. */
    const int64_t most = bsm_window_output(&p->window, d, in.size[d]) + 1;
    if (p->adaptive ? out.size[d] > ((int64_t)1 << 30) ||
                          in.size[d] > ((int64_t)1 << 30) ||
                          (in.size[d] == 0 && out.size[d] > 0)
                    : out.size[d] > most) {
      return BSM_FAIL(BSM_CORRUPT, "input %s does not give output %s",
                      bsm_dims_str(x->dims), bsm_dims_str(y->dims));
    }
  }
  return BSM_OK;
}

/* The maps of input and output, and their groups. */
static bsm_status check_maps(const bsm_step_convolution *p,
                             const bsm_plan_tensor *x,
                             const bsm_plan_tensor *y) {
  if (x->dims.d[0] != y->dims.d[0] || y->dims.d[1] != p->out_maps) {
    return BSM_FAIL(BSM_CORRUPT, "input %s, output %s, %lld output maps",
                    bsm_dims_str(x->dims), bsm_dims_str(y->dims),
                    (long long)p->out_maps);
  }
  if (p->groups < 1 || x->dims.d[1] % p->groups || p->out_maps % p->groups) {
    return BSM_FAIL(BSM_CORRUPT, "%lld and %lld maps in %lld groups",
                    (long long)x->dims.d[1], (long long)p->out_maps,
                    (long long)p->groups);
  }
  return BSM_OK;
}

bsm_status bsm_check_convolution(const bsm_plan *plan,
                                 const bsm_plan_step *step, bsm_dtype dtype,
                                 bool transposed) {
  const bsm_step_convolution *p = &step->params->convolution;
  const bool has_residual = p->epilogue.has_residual != 0;
  BSM_TRY(bsm_check_counts(step, has_residual ? 2 : 1, 1));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_window(&p->window, x, y));
  BSM_TRY(bsm_check_dtype(x, dtype, "input"));
  BSM_TRY(bsm_check_dtype(y, dtype, "output"));
  BSM_TRY(bsm_check_epilogue(&p->epilogue));
  BSM_TRY(check_maps(p, x, y));
  if (step->weights[1] != BSM_NO_WEIGHTS) {
    BSM_TRY(bsm_check_weights(plan, step, 1,
                              (uint64_t)p->out_maps * bsm_dtype_size(dtype)));
  }
  if (has_residual) {
    const bsm_plan_tensor *r = bsm_step_input(plan, step, 1);
    BSM_TRY(bsm_check_dtype(r, dtype, "residual"));
    BSM_TRY(bsm_check_same_dims(r, y, "residual"));
  }
  /* Transposed, any output size is safe: taps outside of the input are zeros.
   */
  return transposed ? BSM_OK : bsm_check_window_output(&p->window, x, y);
}

/* `byte`: uint8 or float8_e4m3fn. */
static bsm_status check_float_or_bytes(const bsm_plan_tensor *t, bsm_dtype byte,
                                       const char *what) {
  return t->dtype == BSM_DTYPE_FLOAT || t->dtype == BSM_DTYPE_HALF ||
                 t->dtype == BSM_DTYPE_BFLOAT16
             ? BSM_OK
             : bsm_check_dtype(t, byte, what);
}

static bool is_byte(int32_t value) {
  return value >= 0 && value <= UINT8_MAX;
}

static bsm_status check_bytes(const bsm_step_int8_convolution *p) {
  if (!is_byte(p->x_zero) || !is_byte(p->residual_zero) ||
      !is_byte(p->y_zero) || !is_byte(p->least) || !is_byte(p->greatest) ||
      p->least > p->greatest) {
    return BSM_FAIL(BSM_CORRUPT,
                    "zero points %d, %d and %d, a range of %d to %d", p->x_zero,
                    p->residual_zero, p->y_zero, p->least, p->greatest);
  }
  return BSM_OK;
}

bsm_status bsm_check_int8_convolution(const bsm_plan *plan,
                                      const bsm_plan_step *step) {
  const bsm_step_int8_convolution *q = &step->params->int8_convolution;
  const bsm_step_convolution *p = &q->convolution;
  const bool has_residual = p->epilogue.has_residual != 0;
  BSM_TRY(bsm_check_counts(step, has_residual ? 2 : 1, 1));
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  BSM_TRY(bsm_check_window(&p->window, x, y));
  const bool fp8 = x->dtype == BSM_DTYPE_FLOAT8_E4M3FN;
  const bsm_dtype byte = fp8 ? x->dtype : BSM_DTYPE_UINT8;
  BSM_TRY(bsm_check_dtype(x, byte, "input"));
  BSM_TRY(check_float_or_bytes(y, byte, "output"));
  BSM_TRY(bsm_check_epilogue(&p->epilogue));
  BSM_TRY(check_bytes(q));
  if (fp8 && (q->x_zero || q->residual_zero || q->y_zero)) {
    return BSM_FAIL(BSM_CORRUPT, "zero points of float8");
  }
  BSM_TRY(check_maps(p, x, y));
  const uint64_t maps = (uint64_t)p->out_maps;
  BSM_TRY(bsm_check_weights(plan, step, 1, 2 * maps * sizeof(float)));
  BSM_TRY(bsm_check_weights(plan, step, 2, maps * sizeof(int32_t)));
  if (has_residual) {
    const bsm_plan_tensor *r = bsm_step_input(plan, step, 1);
    BSM_TRY(check_float_or_bytes(r, byte, "residual"));
    BSM_TRY(bsm_check_same_dims(r, y, "residual"));
  }
  return bsm_check_window_output(&p->window, x, y);
}
