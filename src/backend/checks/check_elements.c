/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs, copies, fills. */
#include "aten/tensor.h"
#include "backend/checks/checks.h"

static bool reads_b(const bsm_step_ew_instruction *i) {
  return i->kind == BSM_STEP_EW_BINARY || i->kind == BSM_STEP_EW_SELECT;
}

static bool reads_c(const bsm_step_ew_instruction *i) {
  return i->kind == BSM_STEP_EW_SELECT;
}

bsm_status bsm_check_copy(const bsm_plan *plan, const bsm_plan_step *step) {
  BSM_TRY(bsm_check_counts(step, 1, 1));
  return bsm_check_same_dims(bsm_step_input(plan, step, 0),
                             bsm_step_output(plan, step, 0), "input");
}

bsm_status bsm_check_fill(const bsm_plan *plan, const bsm_plan_step *step) {
  (void)plan;
  return bsm_check_counts(step, 0, 1);
}

static bsm_status check_instruction(const bsm_step_ew_instruction *i,
                                    const bool *defined) {
  bool known = false;
  switch (i->kind) {
    case BSM_STEP_EW_UNARY:
      known = i->code >= BSM_UNARY_EXP && i->code <= BSM_UNARY_EXP2;
      break;
    case BSM_STEP_EW_BINARY:
      known = i->code >= BSM_ELEMENT_WISE_SUM &&
              i->code <= BSM_ELEMENT_WISE_SHIFT_RIGHT;
      break;
    case BSM_STEP_EW_ACTIVATION: {
      const bsm_step_epilogue e = {.activation = i->code};
      BSM_TRY(bsm_check_epilogue(&e));
      known = true;
      break;
    }
    case BSM_STEP_EW_CONSTANT:
    case BSM_STEP_EW_SELECT:
    case BSM_STEP_EW_CAST:
      known = true;
      break;
    default:
      break;
  }
  const bsm_dtype dtype = (bsm_dtype)i->dtype;
  if (!known || dtype == BSM_DTYPE_FLOAT8_E5M2 ||
      (!bsm_dtype_is_floating(dtype) && !bsm_dtype_is_integral(dtype, true))) {
    return BSM_FAIL(BSM_CORRUPT, "instruction kind %d, code %d, dtype %d",
                    i->kind, i->code, i->dtype);
  }
  const int32_t regs[4] = {i->dst, i->kind == BSM_STEP_EW_CONSTANT ? -1 : i->a,
                           reads_b(i) ? i->b : -1, reads_c(i) ? i->c : -1};
  for (int k = 0; k < 4; k++) {
    if (k > 0 && regs[k] == -1 &&
        (k == 1 ? i->kind == BSM_STEP_EW_CONSTANT
                : !(k == 2 ? reads_b(i) : reads_c(i)))) {
      continue;
    }
    if (regs[k] < 0 || regs[k] >= BSM_EW_MAX_REGISTERS ||
        (k > 0 && !defined[regs[k]])) {
      return BSM_FAIL(BSM_CORRUPT, "register %d is not defined", regs[k]);
    }
  }
  return BSM_OK;
}

bsm_status bsm_check_element_wise(const bsm_plan *plan,
                                  const bsm_plan_step *step) {
  const bsm_step_element_wise *p = &step->params->element_wise;
  BSM_TRY(bsm_check_counts(step, step->input_count, 1));
  if (step->input_count > BSM_EW_MAX_INPUTS) {
    return BSM_FAIL(BSM_CORRUPT, "%u inputs", step->input_count);
  }
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  bool defined[BSM_EW_MAX_REGISTERS] = {false};
  for (uint32_t i = 0; i < step->input_count; i++) {
    BSM_TRY(bsm_check_broadcast(bsm_step_input(plan, step, i), y, "input"));
    defined[i] = true;
  }
  if (p->instruction_count < 0 ||
      p->instruction_count > BSM_EW_MAX_INSTRUCTIONS) {
    return BSM_FAIL(BSM_CORRUPT, "%d instructions", p->instruction_count);
  }
  for (int32_t i = 0; i < p->instruction_count; i++) {
    BSM_TRY_NOTE(check_instruction(&p->program[i], defined), "instruction %d",
                 i);
    defined[p->program[i].dst] = true;
  }
  if (p->result < 0 || p->result >= BSM_EW_MAX_REGISTERS ||
      !defined[p->result]) {
    return BSM_FAIL(BSM_CORRUPT, "the result is register %d", p->result);
  }
  return BSM_OK;
}
