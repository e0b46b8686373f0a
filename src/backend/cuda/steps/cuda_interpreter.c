/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding element-wise programs for the interpreter. The dtypes of registers,
 * which change while a program runs, are followed here: an instruction has what
 * it needs of them. */
#include "backend/cuda/steps/cuda_interpreter.h"

#include "aten/tensor.h"

_Static_assert(BSM_EW_MAX_INSTRUCTIONS <= BSM_CUDA_MAX_INSTRUCTIONS &&
                   BSM_EW_MAX_REGISTERS <= BSM_CUDA_MAX_REGISTERS &&
                   BSM_EW_MAX_INPUTS < BSM_CUDA_MAX_OPERANDS,
               "any program fits");
_Static_assert(sizeof(bsm_cuda_program) <= BSM_CUDA_MAX_PARAMS,
               "a launch can carry it");

bsm_cuda_held bsm_cuda_widest(bsm_cuda_held a, bsm_cuda_held b) {
  if (a == BSM_CUDA_HELD_DOUBLE || b == BSM_CUDA_HELD_DOUBLE) {
    return BSM_CUDA_HELD_DOUBLE;
  }
  if (a == BSM_CUDA_HELD_TRUTH) return b;
  if (b == BSM_CUDA_HELD_TRUTH) return a;
  return a == BSM_CUDA_HELD_FLOAT || b == BSM_CUDA_HELD_FLOAT
             ? BSM_CUDA_HELD_FLOAT
             : BSM_CUDA_HELD_INTEGER;
}

bool bsm_cuda_is_test(const bsm_step_ew_instruction *i) {
  if (i->kind == BSM_STEP_EW_UNARY) {
    return i->code == BSM_UNARY_NOT || i->code == BSM_UNARY_ISINF ||
           i->code == BSM_UNARY_ISNAN;
  }
  return i->kind == BSM_STEP_EW_BINARY && i->code >= BSM_ELEMENT_WISE_AND &&
         i->code <= BSM_ELEMENT_WISE_LESS_EQUAL;
}

static bsm_cuda_operation operation_of(const bsm_step_ew_instruction *i) {
  const bool test = bsm_cuda_is_test(i);
  switch (i->kind) {
    case BSM_STEP_EW_UNARY:
      return test ? BSM_CUDA_UNARY_TEST : BSM_CUDA_UNARY;
    case BSM_STEP_EW_BINARY:
      return test ? BSM_CUDA_BINARY_TEST : BSM_CUDA_BINARY;
    case BSM_STEP_EW_ACTIVATION:
      return BSM_CUDA_ACTIVATION;
    case BSM_STEP_EW_CONSTANT:
      return BSM_CUDA_CONSTANT;
    case BSM_STEP_EW_SELECT:
      return BSM_CUDA_SELECT;
    default:
      return BSM_CUDA_CAST;
  }
}

/* `types`: of the registers so far. */
static bsm_cuda_held work_of(const bsm_step_ew_instruction *i,
                             bsm_cuda_operation operation,
                             const bsm_dtype *types) {
  const bsm_cuda_held held = bsm_cuda_held_of((bsm_dtype)i->dtype);
  switch (operation) {
    case BSM_CUDA_UNARY_TEST:
      return bsm_cuda_held_of(types[i->a]);
    case BSM_CUDA_BINARY_TEST:
      return bsm_cuda_widest(bsm_cuda_held_of(types[i->a]),
                             bsm_cuda_held_of(types[i->b]));
    case BSM_CUDA_UNARY:
    case BSM_CUDA_BINARY:
    case BSM_CUDA_ACTIVATION: /* truth values are computed with as 0 and 1 */
      return held == BSM_CUDA_HELD_TRUTH ? BSM_CUDA_HELD_INTEGER : held;
    default:
      return held;
  }
}

static bsm_cuda_instruction encode(const bsm_step_ew_instruction *i,
                                   const bsm_dtype *types) {
  const bsm_cuda_operation operation = operation_of(i);
  const bsm_cuda_held work = work_of(i, operation, types);
  bsm_cuda_instruction out = {
      .operation = (unsigned char)operation,
      .code = (unsigned char)i->code,
      .dst = (unsigned char)i->dst,
      .a = (unsigned char)i->a,
      .b = (unsigned char)i->b,
      .c = (unsigned char)i->c,
      .dtype = (unsigned char)bsm_cuda_element((bsm_dtype)i->dtype),
      .work = (unsigned char)work,
      .alpha = i->alpha,
      .beta = i->beta};
  if (operation == BSM_CUDA_CONSTANT && work != BSM_CUDA_HELD_FLOAT &&
      work != BSM_CUDA_HELD_DOUBLE) {
    out.integer = i->integer;
  }
  return out;
}

bsm_status bsm_cuda_launch_interpreter(bsm_cuda_launches *l,
                                       const bsm_cuda_elements *elements,
                                       const bsm_cuda_listing *listing) {
  bsm_dtype types[BSM_EW_MAX_REGISTERS];
  bsm_cuda_program p = {.e = *elements,
                        .inputs = listing->inputs,
                        .count = listing->count,
                        .result = listing->result};
  for (uint32_t k = 0; k < listing->inputs; k++) {
    types[k] = listing->dtypes[k + 1];
  }
  for (int32_t k = 0; k < listing->count; k++) {
    const bsm_step_ew_instruction *i = &listing->program[k];
    p.instructions[k] = encode(i, types);
    types[i->dst] = (bsm_dtype)i->dtype;
  }
  return bsm_cuda_add_launch(l, "interpreter", "interpreter", &p, sizeof(p),
                             "--fmad=false");
}
