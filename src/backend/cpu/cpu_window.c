/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of windows. */
#include "backend/cpu/cpu_window.h"

#include "backend/cpu/cpu_gemm.h"
#include "backend/cpu/cpu_pack.h"

/* Sizes, kernels and paddings below this: sums and products of three fit. */
#define MAX_EXTENT ((int64_t)1 << 20)

bsm_status bsm_cpu_check_window(const bsm_step_window *w,
                                const bsm_plan_tensor *x,
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

static bsm_status check_image(const bsm_plan_tensor *t, bsm_dtype dtype,
                              const char *what) {
  BSM_TRY(bsm_cpu_check_dtype(t, dtype, what));
  if (t->dims.d[1] > 1 && t->strides[1] != 1) {
    return BSM_FAIL(BSM_CORRUPT, "the channels of the %s are %lld apart", what,
                    (long long)t->strides[1]);
  }
  return BSM_OK;
}

bsm_status bsm_cpu_check_convolution(const bsm_plan *plan,
                                     const bsm_plan_step *step, bsm_dtype dtype,
                                     bool transposed) {
  BSM_TRY(bsm_cpu_check_convolution_of(plan, step, dtype, transposed));
  return check_image(bsm_cpu_input(plan, step, 0), dtype, "input");
}

bsm_status bsm_cpu_check_convolution_of(const bsm_plan *plan,
                                        const bsm_plan_step *step,
                                        bsm_dtype dtype, bool transposed) {
  const bsm_step_convolution *p = &step->params->convolution;
  const bool has_residual = p->epilogue.has_residual != 0;
  BSM_TRY(bsm_cpu_check_counts(step, has_residual ? 2 : 1, 1));
  const bsm_plan_tensor *x = bsm_cpu_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_cpu_output(plan, step, 0);
  BSM_TRY(bsm_cpu_check_window(&p->window, x, y));
  BSM_TRY(bsm_cpu_check_dtype(x, dtype, "input"));
  BSM_TRY(check_image(y, dtype, "output"));
  BSM_TRY(bsm_cpu_check_epilogue(&p->epilogue));
  if (x->dims.d[0] != y->dims.d[0] || y->dims.d[1] != p->out_maps) {
    return BSM_FAIL(BSM_CORRUPT, "input %s, output %s, %lld output maps",
                    bsm_dims_str(x->dims), bsm_dims_str(y->dims),
                    (long long)p->out_maps);
  }
  if (p->form != BSM_CPU_FORM_PLAIN &&
      (transposed || dtype != BSM_DTYPE_FLOAT)) {
    return BSM_FAIL(BSM_CORRUPT, "weights of form %d", p->form);
  }
  uint64_t size;
  BSM_TRY(bsm_cpu_packed_kernel_size(p, x->dims.d[1], transposed,
                                     bsm_dtype_size(dtype), &size));
  BSM_TRY(bsm_cpu_check_weights(plan, step, 0, size));
  if (step->weights[1] != BSM_NO_WEIGHTS) {
    BSM_TRY(bsm_cpu_check_weights(
        plan, step, 1, (uint64_t)p->out_maps * bsm_dtype_size(dtype)));
  }
  if (has_residual) {
    const bsm_plan_tensor *r = bsm_cpu_input(plan, step, 1);
    BSM_TRY(check_image(r, dtype, "residual"));
    BSM_TRY(bsm_cpu_check_same_dims(r, y, "residual"));
  }
  return BSM_OK;
}

bsm_cpu_image bsm_cpu_image_of(const bsm_plan_tensor *t, int32_t spatial) {
  bsm_cpu_image i = {.n = t->dims.d[0],
                     .c = t->dims.d[1],
                     .size = {1, 1, 1},
                     .n_stride = t->strides[0],
                     .c_stride = t->strides[1]};
  for (int32_t d = 0; d < spatial; d++) {
    i.size[3 - spatial + d] = t->dims.d[2 + d];
    i.stride[3 - spatial + d] = t->strides[2 + d];
  }
  return i;
}

int64_t bsm_cpu_window_output(const bsm_step_window *w, int d, int64_t input) {
  const int64_t span = w->dilation[d] * (w->kernel[d] - 1) + 1;
  const int64_t room = input + w->pre_padding[d] + w->post_padding[d] - span;
  return room < 0 ? 0 : room / w->stride[d] + 1;
}

bsm_status bsm_cpu_check_window_output(const bsm_step_window *w,
                                       const bsm_plan_tensor *x,
                                       const bsm_plan_tensor *y) {
  const bsm_cpu_image in = bsm_cpu_image_of(x, w->spatial);
  const bsm_cpu_image out = bsm_cpu_image_of(y, w->spatial);
  for (int d = 0; d < 3; d++) {
    if (out.size[d] != bsm_cpu_window_output(w, d, in.size[d])) {
      return BSM_FAIL(BSM_CORRUPT, "input %s does not give output %s",
                      bsm_dims_str(x->dims), bsm_dims_str(y->dims));
    }
  }
  return BSM_OK;
}
