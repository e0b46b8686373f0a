/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the ends of programs
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
  FORM_SCALED,  /* x * inverse */
  FORM_ROUNDED, /* and moved by the zero point, if at all */
  FORM_IS_NAN,  /* of the latter */
  FORM_AT_LEAST,
  FORM_CLAMPED,
  FORM_SELECTED,
  FORM_BYTES
} form;

typedef struct value {
  form is;
  bool is_float, moved;
  int32_t source, count; /* of SCALED and what is made of it */
  double number;
  double inverse, zero, least, greatest;
} value;

/* Whether one of two values is of form `a` and the other a number. */
static bool with_number(const value *v, const value *w, form a, value *of,
                        double *number) {
  if (v->is != a) {
    const value *first = v;
    v = w;
    w = first;
  }
  *of = *v;
  *number = w->number;
  return v->is == a && w->is == FORM_NUMBER;
}

static value scaled(const bsm_step_ew_instruction *op, int32_t index,
                    const value *v) {
  const bool last = v[op->b].is == FORM_NUMBER;
  const int32_t x = last ? op->a : op->b;
  const value *number = &v[last ? op->b : op->a];
  if (number->is != FORM_NUMBER || !v[x].is_float) return (value){0};
  return (value){.is = FORM_SCALED,
                 .source = x,
                 .count = index,
                 .inverse = number->number};
}

static value find_binary(const bsm_step_ew_instruction *op, int32_t index,
                         const value *v) {
  const value *a = &v[op->a], *b = &v[op->b];
  value of;
  double number;
  switch (op->code) {
    case BSM_ELEMENT_WISE_PROD:
      return scaled(op, index, v);
    case BSM_ELEMENT_WISE_SUM:
      if (!with_number(a, b, FORM_ROUNDED, &of, &number) || of.moved) break;
      of.moved = true;
      of.zero = number;
      return of;
    case BSM_ELEMENT_WISE_MAX:
      if (!with_number(a, b, FORM_ROUNDED, &of, &number)) break;
      of.is = FORM_AT_LEAST;
      of.least = number;
      return of;
    case BSM_ELEMENT_WISE_MIN:
      if (!with_number(a, b, FORM_AT_LEAST, &of, &number)) break;
      of.is = FORM_CLAMPED;
      of.greatest = number;
      return of;
    default:
      break;
  }
  return (value){0};
}

/* Whether two values are made of the same number on the grid. */
static bool is_same(const value *a, const value *b) {
  return a->count == b->count && a->source == b->source && a->zero == b->zero &&
         a->moved == b->moved;
}

static value find_unary(const bsm_step_ew_instruction *op, const value *v) {
  value of = v[op->a];
  if (op->code == BSM_UNARY_ROUND && of.is == FORM_SCALED) {
    of.is = FORM_ROUNDED;
    return of;
  }
  if (op->code != BSM_UNARY_ISNAN || of.is != FORM_ROUNDED) return (value){0};
  of.is = FORM_IS_NAN;
  return of;
}

static value find_result(const bsm_step_ew_instruction *op, int32_t index,
                         const value *v) {
  const bool is_float = op->dtype == BSM_DTYPE_FLOAT;
  value of = {0};
  switch (op->kind) {
    case BSM_STEP_EW_CONSTANT:
      of.is = is_float ? FORM_NUMBER : FORM_OTHER;
      of.number = (double)(float)op->alpha;
      break;
    case BSM_STEP_EW_BINARY:
      if (is_float) of = find_binary(op, index, v);
      break;
    case BSM_STEP_EW_UNARY:
      if (is_float || op->code == BSM_UNARY_ISNAN) of = find_unary(op, v);
      break;
    case BSM_STEP_EW_SELECT:
      if (v[op->a].is == FORM_IS_NAN && v[op->b].is == FORM_NUMBER &&
          v[op->c].is == FORM_CLAMPED && is_same(&v[op->a], &v[op->c]) &&
          v[op->b].number == v[op->c].least) {
        of = v[op->c];
        of.is = FORM_SELECTED;
      }
      break;
    case BSM_STEP_EW_CAST:
      if (op->dtype == BSM_DTYPE_UINT8 && v[op->a].is == FORM_SELECTED) {
        of = v[op->a];
        of.is = FORM_BYTES;
      }
      break;
    default:
      break;
  }
  of.is_float = is_float;
  return of;
}

static bool is_byte(double v) {
  return v >= 0 && v <= UINT8_MAX && floor(v) == v;
}

bool bsm_cpu_quantize_find(const bsm_cpu_prepare *p, bsm_cpu_quantize *out) {
  const bsm_step_element_wise *e = &p->step->params->element_wise;
  value values[BSM_EW_MAX_REGISTERS] = {0};
  for (uint32_t i = 0; i < p->step->input_count; i++) {
    values[i].is_float =
        bsm_step_input(p->plan, p->step, i)->dtype == BSM_DTYPE_FLOAT;
  }
  for (int32_t i = 0; i < e->instruction_count; i++) {
    const bsm_step_ew_instruction *op = &e->program[i];
    values[op->dst] = find_result(op, i, values);
  }
  const value *v = &values[e->result];
  if (v->is != FORM_BYTES || !(v->inverse > 0) || !(v->inverse < INFINITY) ||
      !is_byte(v->zero) || !is_byte(v->least) || !is_byte(v->greatest) ||
      v->least > v->greatest ||
      bsm_step_output(p->plan, p->step, 0)->dtype != BSM_DTYPE_UINT8) {
    return false;
  }
  *out = (bsm_cpu_quantize){{(float)v->inverse, (int32_t)v->zero,
                             (int32_t)v->least, (int32_t)v->greatest},
                            v->source,
                            v->count};
  return true;
}
