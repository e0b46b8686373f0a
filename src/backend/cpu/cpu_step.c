/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, work distribution and small tools of the drivers. */
#include "backend/cpu/cpu_step.h"

#include <math.h>

#include "base/checked.h"
#include "engine/plan_work.h"

void *bsm_cpu_address(const bsm_run *run, const bsm_plan *plan,
                      uint32_t tensor) {
  static _Alignas(BSM_ALIGNMENT) uint8_t nowhere[BSM_ALIGNMENT];
  void *address = bsm_run_address(run, plan, tensor);
  return address ? address : nowhere;
}

const void *bsm_cpu_weights(const bsm_cpu_prepare *p, uint32_t index) {
  const uint32_t id = p->step->weights[index];
  return id == BSM_NO_WEIGHTS ? NULL
                              : bsm_weights_address(p->weights, p->plan, id);
}

bsm_status bsm_cpu_set_scratch(bsm_prepared_step *out, uint64_t shared,
                               uint64_t bytes, int slots) {
  const uint64_t most = SIZE_MAX - BSM_ALIGNMENT;
  size_t total;
  if (bytes > most || shared > most ||
      !bsm_size_mul((size_t)bsm_cpu_align(bytes), (size_t)slots, &total) ||
      !bsm_size_add(total, (size_t)bsm_cpu_align(shared), &total)) {
    return BSM_FAIL(BSM_LIMIT, "the scratch memory of a step overflows");
  }
  out->scratch_size = total;
  return BSM_OK;
}

/* ---- threads ---- */

/* Bytes from the second-level cache and operations in a nanosecond: sums of
 * products, and what elements need one by one. */
#define BYTES_RATE 32.0
#define SUMS_RATE 40.0
#define ELEMENTS_RATE 4.0
#define WORTH 1500.0 /* nanoseconds */

int bsm_cpu_useful_threads(const bsm_plan *plan, const bsm_plan_step *step,
                           int threads) {
  const bsm_work work = bsm_step_work(plan, step);
  double time = work.bytes / BYTES_RATE;
  switch (step->kind) {
    case BSM_STEP_CONVOLUTION:
    case BSM_STEP_CONVOLUTION_CHAIN:
    case BSM_STEP_INT8_CONVOLUTION:
    case BSM_STEP_DECONVOLUTION:
    case BSM_STEP_MATRIX_MULTIPLY:
      time += work.flops / SUMS_RATE;
      break;
    case BSM_STEP_RECURRENT: /* has a choice of its own */
    case BSM_STEP_ATTENTION:
    case BSM_STEP_TOP_K:
      return threads;
    default:
      time += work.flops / ELEMENTS_RATE;
      break;
  }
  return time / WORTH < (double)threads ? 1 + (int)(time / WORTH) : threads;
}

void bsm_cpu_parallel(const bsm_run *run, int slots, int64_t units,
                      bsm_cpu_unit_fn *fn, void *arg) {
  bsm_parallel_units(bsm_cpu_pool(run), slots, units, fn, arg);
}

/* ---- epilogues ---- */

bsm_k_unary_f32 *bsm_cpu_activation(const bsm_k_math *math, int32_t type) {
  switch ((bsm_activation_type)type) {
    case BSM_ACTIVATION_NONE:
      return NULL;
    case BSM_ACTIVATION_RELU:
      return math->relu;
    case BSM_ACTIVATION_SIGMOID:
      return math->sigmoid;
    case BSM_ACTIVATION_TANH:
      return math->tanh;
    case BSM_ACTIVATION_LEAKY_RELU:
      return math->leaky_relu;
    case BSM_ACTIVATION_ELU:
      return math->elu;
    case BSM_ACTIVATION_SELU:
      return math->selu;
    case BSM_ACTIVATION_SOFTSIGN:
      return math->softsign;
    case BSM_ACTIVATION_SOFTPLUS:
      return math->softplus;
    case BSM_ACTIVATION_CLIP:
      return math->clip;
    case BSM_ACTIVATION_HARD_SIGMOID:
      return math->hard_sigmoid;
    case BSM_ACTIVATION_THRESHOLDED_RELU:
      return math->thresholded_relu;
    case BSM_ACTIVATION_GELU_ERF:
      return math->gelu_erf;
    case BSM_ACTIVATION_GELU_TANH:
      return math->gelu_tanh;
    case BSM_ACTIVATION_SILU:
      return math->silu;
    case BSM_ACTIVATION_HARD_SWISH:
      return math->hard_swish;
    case BSM_ACTIVATION_MISH:
      return math->mish;
    case BSM_ACTIVATION_LOG_SIGMOID:
      return math->log_sigmoid;
    case BSM_ACTIVATION_THRESHOLD:
      return math->threshold;
  }
  return NULL;
}

bsm_cpu_epilogue bsm_cpu_make_epilogue(const bsm_step_epilogue *epilogue,
                                       const bsm_k_math *math) {
  bsm_cpu_epilogue e = {.alpha = (float)epilogue->alpha,
                        .beta = (float)epilogue->beta,
                        .lo = -INFINITY,
                        .hi = INFINITY};
  switch (epilogue->activation) {
    case BSM_ACTIVATION_RELU:
      e.clamps = true;
      e.lo = 0.0f;
      break;
    case BSM_ACTIVATION_CLIP:
      e.clamps = true;
      e.lo = e.alpha;
      e.hi = e.beta;
      break;
    default:
      e.activation = bsm_cpu_activation(math, epilogue->activation);
      break;
  }
  return e;
}

void bsm_cpu_activate_pixels(const bsm_cpu_epilogue *epilogue, float *y,
                             int64_t pixel, int64_t pixels, int64_t channels) {
  const bsm_cpu_epilogue *e = epilogue;
  if (!e->activation) return;
  if (pixel == channels) {
    e->activation(y, y, pixels * channels, e->alpha, e->beta);
    return;
  }
  for (int64_t i = 0; i < pixels; i++, y += pixel) {
    e->activation(y, y, channels, e->alpha, e->beta);
  }
}

/* ---- rows ---- */

void bsm_cpu_rows_init(bsm_cpu_rows *rows, int32_t rank, const int64_t *dims,
                       const int64_t *strides) {
  rows->rank = 0;
  for (int32_t i = 0; i < rank; i++) {
    if (dims[i] == 1) continue;
    const int32_t last = rows->rank - 1;
    if (last >= 0 && rows->strides[last] == dims[i] * strides[i]) {
      rows->dims[last] *= dims[i];
      rows->strides[last] = strides[i];
    } else {
      rows->dims[rows->rank] = dims[i];
      rows->strides[rows->rank] = strides[i];
      rows->rank++;
    }
  }
  if (rows->rank == 0) {
    rows->rank = 1;
    rows->dims[0] = 1;
    rows->strides[0] = 0;
  }
}

void bsm_cpu_rows_offsets(const bsm_cpu_rows *rows, int64_t first, int count,
                          int64_t *offsets) {
  const int32_t last = rows->rank - 1;
  if (last == 0) {
    for (int i = 0; i < count; i++) {
      offsets[i] = (first + i) * rows->strides[0];
    }
    return;
  }
  int64_t index[BSM_MAX_RANK], rest = first, offset = 0;
  for (int32_t d = last; d >= 0; d--) {
    index[d] = rest % rows->dims[d];
    rest /= rows->dims[d];
    offset += index[d] * rows->strides[d];
  }
  for (int i = 0; i < count; i++) {
    offsets[i] = offset;
    int32_t d = last;
    offset += rows->strides[d];
    while (++index[d] == rows->dims[d] && d > 0) {
      offset -= rows->dims[d] * rows->strides[d];
      index[d] = 0;
      d--;
      offset += rows->strides[d];
    }
  }
}
