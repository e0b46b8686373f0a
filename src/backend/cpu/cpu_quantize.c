/* SPDX-License-Identifier: Apache-2.0 */
/* Finds programs
 *
 *   cast(isnan(q) ? least : min(max(q, least), greatest)),
 *   q = round(x * inverse) + zero
 *
 * which the lowering of QUANTIZE layers makes, with any order of what commutes.
 * All bounds are whole numbers, so that it is the same to clamp first. */
#include "backend/cpu/cpu_quantize.h"

#include <math.h>

/* What a register holds. */
typedef enum form {
  FORM_OTHER,
  FORM_NUMBER,
  FORM_INPUT,
  FORM_SCALED,
  FORM_ROUNDED, /* and moved by the zero point, if at all */
  FORM_IS_NAN,  /* of the latter */
  FORM_AT_LEAST,
  FORM_CLAMPED,
  FORM_SELECTED,
  FORM_BYTES
} form;

typedef struct finding {
  form forms[BSM_EW_MAX_REGISTERS];
  double numbers[BSM_EW_MAX_REGISTERS];
  double inverse, zero, least, greatest;
  bool moved;
} finding;

/* Whether one of the operands is of form `a` and the other a number. */
static bool with_number(const finding *f, const bsm_step_ew_instruction *op,
                        form a, double *number) {
  const bool first = f->forms[op->a] == a && f->forms[op->b] == FORM_NUMBER;
  if (first || (f->forms[op->b] == a && f->forms[op->a] == FORM_NUMBER)) {
    *number = f->numbers[first ? op->b : op->a];
    return true;
  }
  return false;
}

static form find_binary(finding *f, const bsm_step_ew_instruction *op) {
  switch (op->code) {
    case BSM_ELEMENT_WISE_PROD:
      return with_number(f, op, FORM_INPUT, &f->inverse) ? FORM_SCALED
                                                         : FORM_OTHER;
    case BSM_ELEMENT_WISE_SUM:
      if (f->moved || !with_number(f, op, FORM_ROUNDED, &f->zero)) break;
      f->moved = true;
      return FORM_ROUNDED;
    case BSM_ELEMENT_WISE_MAX:
      return with_number(f, op, FORM_ROUNDED, &f->least) ? FORM_AT_LEAST
                                                         : FORM_OTHER;
    case BSM_ELEMENT_WISE_MIN:
      return with_number(f, op, FORM_AT_LEAST, &f->greatest) ? FORM_CLAMPED
                                                             : FORM_OTHER;
    default:
      break;
  }
  return FORM_OTHER;
}

static form find_result(finding *f, const bsm_step_ew_instruction *op) {
  const bool is_float = op->dtype == BSM_DTYPE_FLOAT;
  switch (op->kind) {
    case BSM_STEP_EW_CONSTANT:
      return is_float ? FORM_NUMBER : FORM_OTHER;
    case BSM_STEP_EW_BINARY:
      return is_float ? find_binary(f, op) : FORM_OTHER;
    case BSM_STEP_EW_UNARY:
      if (is_float && op->code == BSM_UNARY_ROUND &&
          f->forms[op->a] == FORM_SCALED) {
        return FORM_ROUNDED;
      }
      return op->code == BSM_UNARY_ISNAN && f->forms[op->a] == FORM_ROUNDED
                 ? FORM_IS_NAN
                 : FORM_OTHER;
    case BSM_STEP_EW_SELECT:
      return f->forms[op->a] == FORM_IS_NAN && f->forms[op->b] == FORM_NUMBER &&
                     f->numbers[op->b] == f->least &&
                     f->forms[op->c] == FORM_CLAMPED
                 ? FORM_SELECTED
                 : FORM_OTHER;
    case BSM_STEP_EW_CAST:
      return op->dtype == BSM_DTYPE_UINT8 && f->forms[op->a] == FORM_SELECTED
                 ? FORM_BYTES
                 : FORM_OTHER;
    default:
      return FORM_OTHER;
  }
}

static bool is_byte(double v) {
  return v >= 0 && v <= UINT8_MAX && floor(v) == v;
}

bool bsm_cpu_quantize_find(const bsm_cpu_prepare *p, const bsm_cpu_space *space,
                           bsm_cpu_quantize *out) {
  const bsm_step_element_wise *e = &p->step->params->element_wise;
  const int32_t last = space->rank - 1;
  if (p->step->input_count != 1 ||
      bsm_step_input(p->plan, p->step, 0)->dtype != BSM_DTYPE_FLOAT ||
      bsm_step_output(p->plan, p->step, 0)->dtype != BSM_DTYPE_UINT8 ||
      space->strides[0][last] != 1 || space->strides[1][last] != 1) {
    return false;
  }
  finding f = {.forms = {FORM_INPUT}};
  for (int32_t i = 0; i < e->instruction_count; i++) {
    const bsm_step_ew_instruction *op = &e->program[i];
    const form is = find_result(&f, op);
    f.forms[op->dst] = is;
    if (is == FORM_NUMBER) f.numbers[op->dst] = (double)(float)op->alpha;
  }
  if (f.forms[e->result] != FORM_BYTES || !(f.inverse > 0) ||
      !(f.inverse < INFINITY) || !is_byte(f.zero) || !is_byte(f.least) ||
      !is_byte(f.greatest) || f.least > f.greatest) {
    return false;
  }
  *out = (bsm_cpu_quantize){bsm_k_int8_select(p->isa),
                            {(float)f.inverse, (int32_t)f.zero,
                             (int32_t)f.least, (int32_t)f.greatest}};
  return true;
}

void bsm_cpu_quantize_run(const bsm_cpu_quantize *q, const bsm_cpu_space *space,
                          const float *x, uint8_t *y, int64_t first,
                          int64_t end) {
  bsm_cpu_cursor c;
  bsm_cpu_seek(space, first, &c);
  for (int64_t i = first, n; i < end; i += n) {
    n = bsm_cpu_min(bsm_cpu_row_left(space, &c), end - i);
    q->kernels->quantize(x + c.offset[1], n, &q->grid, y + c.offset[0]);
    bsm_cpu_advance(space, &c, n);
  }
}
