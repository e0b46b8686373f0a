/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the work of each kind of step. */
#include "engine/plan_work.h"

static const bsm_plan_tensor *input(const bsm_plan *plan,
                                    const bsm_plan_step *step, uint32_t index) {
  return index < step->input_count ? &plan->tensors[step->inputs[index]] : NULL;
}
static const bsm_plan_tensor *output(const bsm_plan *plan,
                                     const bsm_plan_step *step) {
  return step->output_count ? &plan->tensors[step->outputs[0]] : NULL;
}

/* The size of a dimension counted from the last; 1 when there is none. */
static double last_size(const bsm_plan_tensor *t, int32_t back) {
  if (!t || t->dims.rank < back) return 1;
  const int64_t size = t->dims.d[t->dims.rank - back];
  return size > 0 ? (double)size : 0;
}

static double elements(const bsm_plan_tensor *t) {
  double n = t ? 1 : 0;
  for (int32_t i = 1; t && i <= t->dims.rank; i++) n *= last_size(t, i);
  return n;
}

/* The bytes that a tensor has in memory; dimensions with stride 0 repeat them.
 */
static double stored_bytes(const bsm_plan_tensor *t) {
  double n = t ? (double)bsm_dtype_size(t->dtype) : 0;
  for (int32_t i = 0; t && i < t->dims.rank; i++) {
    if (t->strides[i] != 0) n *= last_size(t, t->dims.rank - i);
  }
  return n;
}

/* ---- operations ---- */

static double window_size(const bsm_step_window *w) {
  return (double)w->kernel[0] * (double)w->kernel[1] * (double)w->kernel[2];
}

static double channels(const bsm_plan_tensor *t) {
  return t && t->dims.rank > 1 ? (double)t->dims.d[1] : 1;
}

static double per_group(double maps, int64_t groups) {
  return groups > 0 ? maps / (double)groups : maps;
}

static double pooling_flops(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_pooling *p = &step->params->pooling;
  if (p->adaptive) return elements(input(plan, step, 0));
  return elements(output(plan, step)) * window_size(&p->window);
}

static double element_wise_flops(const bsm_plan *plan,
                                 const bsm_plan_step *step) {
  const bsm_step_element_wise *p = &step->params->element_wise;
  double count = 0;
  for (int32_t i = 0; i < p->instruction_count && i < BSM_EW_MAX_INSTRUCTIONS;
       i++) {
    count += p->program[i].kind != BSM_STEP_EW_CONSTANT;
  }
  return count * elements(output(plan, step));
}

/* Gates times units, by the inputs and the state. */
static double recurrent_flops(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_recurrent *p = &step->params->recurrent;
  const bsm_plan_tensor *x = input(plan, step, 0);
  const double samples = last_size(x, 3) * last_size(x, 2);
  const double hidden = (double)p->hidden;
  const double state = p->projection ? (double)p->projection : hidden;
  const double gates = p->operation == BSM_RECURRENT_LSTM  ? 4
                       : p->operation == BSM_RECURRENT_GRU ? 3
                                                           : 1;
  double n = gates * hidden * ((double)p->input + state);
  if (p->projection) n += hidden * state;
  return 2 * n * samples * (double)p->directions;
}

static double chain_flops(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_step_convolution_chain *p = &step->params->convolution_chain;
  const bsm_plan_tensor *x = input(plan, step, 0), *y = output(plan, step);
  const bsm_step_convolution *part = p->part;
  double maps = channels(x), flops = p->has_scale ? elements(x) : 0;
  if (p->has[BSM_CHAIN_EXPAND]) {
    const bsm_step_window *w = &part[BSM_CHAIN_EXPAND].window;
    maps = (double)part[BSM_CHAIN_EXPAND].out_maps;
    flops += 2 * elements(x) / (double)w->stride[1] / (double)w->stride[2] *
             window_size(w) * maps;
  }
  if (p->has[BSM_CHAIN_DEPTHWISE] && channels(y) > 0) {
    flops += 2 * elements(y) / channels(y) * maps *
             window_size(&part[BSM_CHAIN_DEPTHWISE].window);
  }
  if (p->has[BSM_CHAIN_PROJECT]) flops += 2 * elements(y) * maps;
  return flops;
}

/* Two products, and between them the maximum, its difference, exp, the sum and
 * the quotient. */
static double attention_flops(const bsm_plan *plan, const bsm_plan_step *step) {
  const double keys = last_size(input(plan, step, 1), 2);
  const double width = last_size(output(plan, step), 1);
  const double queries = width > 0 ? elements(output(plan, step)) / width : 0;
  return queries * keys *
         (2 * last_size(input(plan, step, 0), 1) + 2 * width + 5);
}

static double flops_of(const bsm_plan *plan, const bsm_plan_step *step) {
  const bsm_plan_tensor *x = input(plan, step, 0), *y = output(plan, step);
  const bsm_step_params *p = step->params;
  switch (step->kind) {
    case BSM_STEP_CONVOLUTION:
      return 2 * elements(y) * window_size(&p->convolution.window) *
             per_group(channels(x), p->convolution.groups);
    case BSM_STEP_INT8_CONVOLUTION:
      return 2 * elements(y) *
             window_size(&p->int8_convolution.convolution.window) *
             per_group(channels(x), p->int8_convolution.convolution.groups);
    case BSM_STEP_CONVOLUTION_CHAIN:
      return chain_flops(plan, step);
    case BSM_STEP_DECONVOLUTION:
      return 2 * elements(x) * window_size(&p->convolution.window) *
             per_group((double)p->convolution.out_maps, p->convolution.groups);
    case BSM_STEP_MATRIX_MULTIPLY:
      return 2 * elements(y) * last_size(x, 1);
    case BSM_STEP_ATTENTION:
      return attention_flops(plan, step);
    case BSM_STEP_RECURRENT:
      return recurrent_flops(plan, step);
    case BSM_STEP_POOLING:
      return pooling_flops(plan, step);
    case BSM_STEP_ELEMENT_WISE:
      return element_wise_flops(plan, step);
    case BSM_STEP_SOFTMAX:
      return 5 * elements(x);
    case BSM_STEP_NORMALIZATION:
      return (5 + (p->normalization.has_scale != 0) +
              (p->normalization.has_bias != 0)) *
             elements(x);
    case BSM_STEP_REDUCE:
      return elements(x);
    case BSM_STEP_SAMPLE: {
      const double taps = p->sample.mode == BSM_RESIZE_CUBIC    ? 4
                          : p->sample.mode == BSM_RESIZE_LINEAR ? 2
                                                                : 1;
      return 2 * elements(y) * taps * taps * (y && y->dims.rank > 4 ? taps : 1);
    }
    case BSM_STEP_RESIZE:
      return p->resize.mode == BSM_RESIZE_LINEAR
                 ? elements(y) * (double)(2 << (p->resize.spatial & 3))
                 : 0;
    default: /* moves, and what the reference library computes */
      return 0;
  }
}

/* ---- bytes ---- */

static double bytes_of(const bsm_plan *plan, const bsm_plan_step *step) {
  double bytes = 0, written = 0;
  for (uint32_t i = 0; i < step->output_count; i++) {
    written += stored_bytes(&plan->tensors[step->outputs[i]]);
  }
  for (uint32_t i = 0; i < step->input_count; i++) {
    const double size = stored_bytes(input(plan, step, i));
    const bool table = step->kind == BSM_STEP_GATHER && i == 0;
    bytes += table && size > written ? written : size;
  }
  for (int i = 0; i < BSM_STEP_MAX_WEIGHTS; i++) {
    const uint32_t id = step->weights[i];
    if (id < plan->weights_count) bytes += (double)plan->weights[id].size;
  }
  return bytes + written;
}

bsm_work bsm_step_work(const bsm_plan *plan, const bsm_plan_step *step) {
  return (bsm_work){flops_of(plan, step), bytes_of(plan, step)};
}
