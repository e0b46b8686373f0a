/* SPDX-License-Identifier: Apache-2.0 */
/* Reading an element-wise program: what it needs not compute is left away. */
#include "backend/cpu/cpu_element_wise.h"

static bool reads_b(const bsm_step_ew_instruction *i) {
  return i->kind == BSM_STEP_EW_BINARY || i->kind == BSM_STEP_EW_SELECT;
}
static bool reads_c(const bsm_step_ew_instruction *i) {
  return i->kind == BSM_STEP_EW_SELECT;
}

static bsm_cpu_class widest(bsm_cpu_class a, bsm_cpu_class b) {
  if (a == BSM_CPU_F64 || b == BSM_CPU_F64) return BSM_CPU_F64;
  if (a == BSM_CPU_U8) return b;
  if (b == BSM_CPU_U8) return a;
  return a == BSM_CPU_F32 || b == BSM_CPU_F32 ? BSM_CPU_F32 : BSM_CPU_I64;
}

/* Whether an instruction selects among its operands, or changes their signs:
 * then its result needs no rounding. */
static bool is_exact(const bsm_step_ew_instruction *op,
                     const bsm_dtype *types) {
  const int32_t dtype = op->dtype;
  switch (op->kind) {
    case BSM_STEP_EW_UNARY:
      return (int32_t)types[op->a] == dtype &&
             (op->code == BSM_UNARY_ABS || op->code == BSM_UNARY_NEG);
    case BSM_STEP_EW_BINARY:
      return (int32_t)types[op->a] == dtype && (int32_t)types[op->b] == dtype &&
             (op->code == BSM_ELEMENT_WISE_MAX ||
              op->code == BSM_ELEMENT_WISE_MIN);
    case BSM_STEP_EW_ACTIVATION:
      return (int32_t)types[op->a] == dtype && op->code == BSM_ACTIVATION_RELU;
    case BSM_STEP_EW_SELECT:
      return (int32_t)types[op->b] == dtype && (int32_t)types[op->c] == dtype;
    default:
      return false;
  }
}

/* Whether all that is done with input i is to make floats of its bytes. */
static bool only_widens(const bsm_step_element_wise *p, int32_t i) {
  for (int32_t k = 0; k < p->instruction_count; k++) {
    const bsm_step_ew_instruction *op = &p->program[k];
    const bool reads_a = op->kind != BSM_STEP_EW_CONSTANT && op->a == i;
    if (op->dst == i || (reads_b(op) && op->b == i) ||
        (reads_c(op) && op->c == i) ||
        (reads_a &&
         (op->kind != BSM_STEP_EW_CAST || op->dtype != BSM_DTYPE_FLOAT))) {
      return false;
    }
  }
  return p->result != i;
}

/* Whether the program ends with a cast of float32 to the bytes of the output.
 */
static bool ends_narrow(const bsm_cpu_ew *e, const bsm_dtype *types) {
  if (e->count == 0) return false;
  const bsm_cpu_ew_instruction *last = &e->program[e->count - 1];
  return last->op.kind == BSM_STEP_EW_CAST && last->op.dst == e->result &&
         bsm_cpu_ew_is_byte(e->out_dtype) &&
         (int32_t)e->out_dtype == last->op.dtype &&
         types[last->op.a] == BSM_DTYPE_FLOAT && last->op.a != last->op.dst;
}

static int32_t times_written(const bsm_cpu_ew *e, int32_t reg) {
  int32_t count = (uint32_t)reg < e->inputs;
  for (int32_t i = 0; i < e->count; i++) {
    count += e->program[i].op.dst == reg;
  }
  return count;
}

/* Lets what reads register `from` from instruction `first` on read `to`. */
static void rename_operand(bsm_cpu_ew *e, int32_t first, int32_t from,
                           int32_t to) {
  for (int32_t i = first; i < e->count; i++) {
    bsm_step_ew_instruction *op = &e->program[i].op;
    if (op->kind != BSM_STEP_EW_CONSTANT && op->a == from) op->a = to;
    if (reads_b(op) && op->b == from) op->b = to;
    if (reads_c(op) && op->c == from) op->c = to;
  }
}

static void drop(bsm_cpu_ew *e, int32_t i) {
  e->count--;
  memmove(&e->program[i], &e->program[i + 1],
          (size_t)(e->count - i) * sizeof(e->program[0]));
}

/* Half and bfloat16 are floats in registers, and are rounded when they are
 * stored: leaves out casts of inputs to float, and of the result from it. */
static void drop_casts(bsm_cpu_ew *e) {
  for (int32_t i = e->count - 1; i >= 0; i--) {
    const bsm_step_ew_instruction op = e->program[i].op;
    if (op.kind != BSM_STEP_EW_CAST || op.dtype != BSM_DTYPE_FLOAT ||
        (uint32_t)op.a >= e->inputs ||
        !bsm_cpu_ew_is_narrow_float(e->dtypes[op.a]) || op.dst == e->result ||
        times_written(e, op.dst) != 1 || times_written(e, op.a) != 1) {
      continue;
    }
    drop(e, i);
    rename_operand(e, i, op.dst, op.a);
  }
  if (e->count < 2) return;
  const bsm_step_ew_instruction last = e->program[e->count - 1].op;
  const bsm_step_ew_instruction made = e->program[e->count - 2].op;
  if (last.kind == BSM_STEP_EW_CAST && last.dst == e->result &&
      bsm_cpu_ew_is_narrow_float(e->out_dtype) &&
      last.dtype == (int32_t)e->out_dtype && made.dst == last.a &&
      made.dtype == BSM_DTYPE_FLOAT) {
    e->result = last.a;
    drop(e, e->count - 1);
  }
}

/* How many operands are register `reg`; *user: the last instruction of these.
 */
static int32_t times_read(const bsm_cpu_ew *e, int32_t reg, int32_t *user) {
  int32_t count = 0;
  for (int32_t i = 0; i < e->count; i++) {
    const bsm_step_ew_instruction *op = &e->program[i].op;
    if (op->kind == BSM_STEP_EW_CONSTANT) continue;
    const int32_t times = (op->a == reg) + (reads_b(op) && op->b == reg) +
                          (reads_c(op) && op->c == reg);
    if (times) *user = i;
    count += times;
  }
  return count;
}

/* The truth values that a register has as integers all the time, or -1. */
static int32_t truth_in(const bsm_cpu_ew *e, int32_t reg) {
  if (times_written(e, reg) != 1) return -1;
  for (int32_t i = 0; i < e->count; i++) {
    const bsm_step_ew_instruction *op = &e->program[i].op;
    if (op->dst != reg) continue;
    if (op->kind != BSM_STEP_EW_CAST || times_written(e, op->a) != 1 ||
        bsm_cpu_class_of((bsm_dtype)op->dtype) != BSM_CPU_I64) {
      return -1;
    }
    bsm_dtype from =
        (uint32_t)op->a < e->inputs ? e->dtypes[op->a] : BSM_DTYPE_FLOAT;
    for (int32_t k = 0; k < i; k++) {
      if (e->program[k].op.dst == op->a) {
        from = (bsm_dtype)e->program[k].op.dtype;
      }
    }
    return from == BSM_DTYPE_BOOL ? op->a : -1;
  }
  return -1;
}

/* 1 and 0 are the same in all dtypes: what is cast by way of integers is cast
 * at once. */
static void cast_truth_at_once(bsm_cpu_ew *e) {
  int32_t user;
  for (int32_t i = e->count - 1; i >= 0; i--) {
    bsm_step_ew_instruction *op = &e->program[i].op;
    if (op->kind != BSM_STEP_EW_CAST || op->a == op->dst) continue;
    const int32_t between = op->a, from = truth_in(e, between);
    if (from < 0) continue;
    op->a = from;
    if (between == e->result || times_read(e, between, &user) > 0) continue;
    for (int32_t k = 0; k < e->count; k++) {
      if (e->program[k].op.dst == between) drop(e, k);
    }
  }
}

/* Whether a register holds one number all the time. */
static bool is_number(const bsm_cpu_ew *e, int32_t reg, float *out) {
  for (int32_t i = 0; i < e->count; i++) {
    const bsm_step_ew_instruction *op = &e->program[i].op;
    if (op->kind == BSM_STEP_EW_CONSTANT && op->dst == reg) {
      *out = (float)op->alpha;
      return op->dtype == BSM_DTYPE_FLOAT && times_written(e, reg) == 1;
    }
  }
  return false;
}

/* Takes instruction `at` away, whose result is what input i is read as. */
static bool take_over(bsm_cpu_ew *e, int32_t at, int32_t i) {
  const int32_t dst = e->program[at].op.dst;
  if (dst == e->result || times_written(e, dst) != 1) return false;
  drop(e, at);
  rename_operand(e, at, dst, i);
  return true;
}

/* Lets input i, of bytes that only become floats, be read as `(byte - zero) *
 * scale` where a program has that: casts, and what alone reads their result. */
static void read_grid(bsm_cpu_ew *e, int32_t i) {
  float number;
  int32_t at;
  for (int32_t k = e->count - 1; k >= 0; k--) {
    const bsm_step_ew_instruction *op = &e->program[k].op;
    if (op->kind == BSM_STEP_EW_CAST && op->a == i) take_over(e, k, i);
  }
  if (times_read(e, i, &at) != 1) return;
  const bsm_step_ew_instruction *op = &e->program[at].op;
  if (op->kind == BSM_STEP_EW_BINARY && op->code == BSM_ELEMENT_WISE_SUB &&
      op->a == i && op->dtype == BSM_DTYPE_FLOAT &&
      is_number(e, op->b, &number) && take_over(e, at, i)) {
    e->zero[i] = number;
    if (times_read(e, i, &at) != 1) return;
  }
  op = &e->program[at].op;
  if (op->kind == BSM_STEP_EW_BINARY && op->code == BSM_ELEMENT_WISE_PROD &&
      op->dtype == BSM_DTYPE_FLOAT &&
      is_number(e, op->a == i ? op->b : op->a, &number) &&
      take_over(e, at, i)) {
    e->scale[i] = number;
  }
}

/* Whether what integers of a dtype give needs not be cut off to fit into it. */
static bool stays_inside(const bsm_step_ew_instruction *op,
                         const bsm_dtype *types) {
  const int32_t dtype = op->dtype;
  if (op->kind == BSM_STEP_EW_SELECT) {
    return (int32_t)types[op->b] == dtype && (int32_t)types[op->c] == dtype;
  }
  if (op->kind != BSM_STEP_EW_BINARY || (int32_t)types[op->a] != dtype ||
      (int32_t)types[op->b] != dtype) {
    return false;
  }
  switch (op->code) {
    case BSM_ELEMENT_WISE_MAX:
    case BSM_ELEMENT_WISE_MIN:
    case BSM_ELEMENT_WISE_REMAINDER:
    case BSM_ELEMENT_WISE_FMOD:
    case BSM_ELEMENT_WISE_BITWISE_AND:
    case BSM_ELEMENT_WISE_BITWISE_OR:
    case BSM_ELEMENT_WISE_BITWISE_XOR:
    case BSM_ELEMENT_WISE_SHIFT_RIGHT:
      return true;
    default:
      return false;
  }
}

/* What arithmetic with truth values is, when its result is one. */
static int32_t logical(int32_t code) {
  switch (code) {
    case BSM_ELEMENT_WISE_SUM:
    case BSM_ELEMENT_WISE_MAX:
    case BSM_ELEMENT_WISE_BITWISE_OR:
      return BSM_ELEMENT_WISE_OR;
    case BSM_ELEMENT_WISE_PROD:
    case BSM_ELEMENT_WISE_MIN:
    case BSM_ELEMENT_WISE_BITWISE_AND:
      return BSM_ELEMENT_WISE_AND;
    case BSM_ELEMENT_WISE_BITWISE_XOR:
      return BSM_ELEMENT_WISE_XOR;
    default:
      return code;
  }
}

/* Whether kernels of narrow integers have the operation: on one dtype, which is
 * the result's unless that is a truth value. */
static bool is_narrow(const bsm_cpu_ew_instruction *in) {
  const bsm_step_ew_instruction *op = &in->op;
  const bsm_dtype dtype = (bsm_dtype)op->dtype;
  const bool same = in->a_dtype == dtype && bsm_cpu_is_narrow(dtype);
  switch (op->kind) {
    case BSM_STEP_EW_UNARY:
      return same && bsm_cpu_narrow_has_unary(op->code);
    case BSM_STEP_EW_BINARY:
      if (in->b_dtype != in->a_dtype || !bsm_cpu_narrow_has_binary(op->code)) {
        return false;
      }
      return bsm_cpu_binary_is_test(op->code)
                 ? dtype == BSM_DTYPE_BOOL && bsm_cpu_is_narrow(in->a_dtype)
                 : same;
    case BSM_STEP_EW_SELECT:
      return in->b_dtype == dtype && in->c_dtype == dtype &&
             bsm_cpu_is_narrow(dtype);
    default:
      return false;
  }
}

static void resolve(bsm_cpu_ew_instruction *in, const bsm_dtype *types) {
  bsm_step_ew_instruction *op = &in->op;
  const bsm_cpu_class dst = bsm_cpu_class_of((bsm_dtype)op->dtype);
  in->a_dtype = types[op->a];
  in->b_dtype = reads_b(op) ? types[op->b] : (bsm_dtype)op->dtype;
  in->c_dtype = reads_c(op) ? types[op->c] : (bsm_dtype)op->dtype;
  in->narrow = is_narrow(in);
  const bsm_cpu_class a = bsm_cpu_class_of(in->a_dtype);
  const bsm_cpu_class b = bsm_cpu_class_of(in->b_dtype);
  in->compute = in->result = dst;
  if (op->kind == BSM_STEP_EW_BINARY && dst == BSM_CPU_U8 && a == BSM_CPU_U8 &&
      b == BSM_CPU_U8) {
    op->code = logical(op->code);
  }
  in->exact = dst == BSM_CPU_I64 ? stays_inside(op, types)
                                 : dst == BSM_CPU_F32 && is_exact(op, types);
  if (op->kind == BSM_STEP_EW_UNARY && bsm_cpu_unary_is_test(op->code)) {
    in->compute = a;
    in->result = BSM_CPU_U8;
  } else if (op->kind == BSM_STEP_EW_BINARY &&
             bsm_cpu_binary_is_test(op->code)) {
    in->compute = widest(a, b);
    in->result = BSM_CPU_U8;
  } else if (dst == BSM_CPU_U8 &&
             (op->kind == BSM_STEP_EW_UNARY || op->kind == BSM_STEP_EW_BINARY ||
              op->kind == BSM_STEP_EW_ACTIVATION)) {
    in->compute = in->result = BSM_CPU_I64; /* arithmetic with 0 and 1 */
  }
  in->divides = op->kind == BSM_STEP_EW_BINARY && in->compute == BSM_CPU_I64 &&
                bsm_cpu_binary_is_division(op->code);
  /* Tests give 1 and 0, and so do conversions to truth values. */
  if (dst == BSM_CPU_U8 && op->kind != BSM_STEP_EW_SELECT) in->exact = true;
  in->separate = op->dst == op->a || (reads_b(op) && op->dst == op->b) ||
                 (reads_c(op) && op->dst == op->c);
}

/* Constants that are the only value of their register are set once. */
static void hoist_constants(bsm_cpu_ew *e) {
  for (int32_t i = 0; i < e->count; i++) {
    bsm_cpu_ew_instruction *in = &e->program[i];
    if (in->op.kind != BSM_STEP_EW_CONSTANT) continue;
    in->hoisted = (uint32_t)in->op.dst >= e->inputs;
    for (int32_t j = 0; j < e->count; j++) {
      if (j != i && e->program[j].op.dst == in->op.dst) in->hoisted = false;
    }
    for (int32_t j = i + 1; in->hoisted && j < e->count; j++) {
      bsm_cpu_ew_instruction *user = &e->program[j];
      if (user->op.kind == BSM_STEP_EW_BINARY &&
          user->op.code == BSM_ELEMENT_WISE_POW && user->op.b == in->op.dst) {
        user->has_exponent = true;
        user->exponent =
            in->compute == BSM_CPU_I64 ? (double)in->op.integer : in->op.alpha;
      }
    }
  }
}

/* Leaves away what makes bytes of the result. */
static void end_before_grid(bsm_cpu_ew *e) {
  e->count = e->quantize.count;
  e->result = e->quantize.source;
  while (e->count > 0) {
    const bsm_step_ew_instruction *op = &e->program[e->count - 1].op;
    if (op->kind != BSM_STEP_EW_CONSTANT || op->dst == e->result) break;
    e->count--;
  }
}

void bsm_cpu_ew_read_program(const bsm_cpu_prepare *p, bsm_cpu_ew *e) {
  const bsm_step_element_wise *params = &p->step->params->element_wise;
  bsm_dtype types[BSM_EW_MAX_REGISTERS] = {BSM_DTYPE_UINT8};
  e->count = params->instruction_count;
  e->result = params->result;
  e->registers = (int32_t)e->inputs;
  for (uint32_t i = 0; i < e->inputs; i++) {
    types[i] = e->dtypes[i];
    e->widens[i] =
        bsm_cpu_ew_is_byte(types[i]) && only_widens(params, (int32_t)i);
    e->scale[i] = 1;
    if (e->widens[i]) types[i] = BSM_DTYPE_FLOAT;
  }
  for (int32_t i = 0; i < e->count; i++) {
    bsm_step_ew_instruction *op = &e->program[i].op;
    *op = params->program[i];
    if (op->kind == BSM_STEP_EW_CONSTANT) op->a = 0;
  }
  e->on_grid = bsm_cpu_quantize_find(p, &e->quantize);
  if (e->on_grid) end_before_grid(e);
  drop_casts(e);
  cast_truth_at_once(e);
  for (uint32_t i = 0; i < e->inputs; i++) {
    if (e->widens[i]) read_grid(e, (int32_t)i);
  }
  for (int32_t i = 0; i < e->count; i++) {
    bsm_cpu_ew_instruction *in = &e->program[i];
    resolve(in, types);
    types[in->op.dst] = (bsm_dtype)in->op.dtype;
    if (in->op.dst >= e->registers) e->registers = in->op.dst + 1;
  }
  if (e->result >= e->registers) e->registers = e->result + 1;
  hoist_constants(e);
  e->narrows = !e->on_grid && ends_narrow(e, types);
  e->result_dtype = types[e->result];
  e->last_writes_result = e->count > 0 &&
                          e->program[e->count - 1].op.dst == e->result &&
                          !e->program[e->count - 1].hoisted;
  /* Storing cuts integers off. */
  if (e->last_writes_result && e->result_dtype == e->out_dtype &&
      bsm_cpu_class_of(e->out_dtype) == BSM_CPU_I64) {
    e->program[e->count - 1].exact = true;
  }
}
