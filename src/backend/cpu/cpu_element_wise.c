/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs: blocks of some hundred elements go through all
 * instructions while they are in the first-level cache.
 *
 * A block is a piece of a row, or several whole rows where these are short.
 * Inputs that lie in memory as the block does are read in place, scalars and
 * rows that repeat (a factor for each channel) are laid out once for many
 * blocks, others are gathered. The last instruction writes to the output in
 * place where it can. Bytes that programs make floats of are read as floats,
 * and floats that become bytes at the end are written as such. */
#include <string.h>

#include "aten/tensor.h"
#include "backend/cpu/cpu_affine.h"
#include "backend/cpu/cpu_quantize.h"
#include "backend/cpu/cpu_scalar_ops.h"
#include "backend/cpu/cpu_space.h"
#include "backend/cpu/kernels/int8/int8.h"

#define BLOCK 1024
#define UNIT_BLOCKS 16
/* Elements from which on a call copies them faster than a loop. */
#define LONG_COPY 6
/* Blocks of longer rows are pieces of one row. */
#define SHORT_ROW (BLOCK / 2)

typedef struct instruction {
  bsm_step_ew_instruction op;
  bsm_cpu_class compute; /* of the operands */
  bsm_cpu_class a_class, b_class, c_class, result;
  bool hoisted;      /* a constant: set once, not in each block */
  bool separate;     /* the result must not overwrite an operand */
  bool exact;        /* numbers of the operands' dtype give such numbers */
  bool has_exponent; /* pow with a constant */
  double exponent;
} instruction;

typedef struct element_wise {
  bsm_cpu_impl base;
  const bsm_k_math *math;
  const bsm_k_int8 *bytes;
  bsm_cpu_space space; /* operand 0: the output */
  uint32_t inputs;
  bsm_dtype dtypes[BSM_EW_MAX_INPUTS];
  bool widens[BSM_EW_MAX_INPUTS]; /* bytes that are read as floats */
  bool narrows; /* the last instruction makes bytes of floats */
  bsm_dtype result_dtype, out_dtype;
  int32_t result, count, registers;
  bool last_writes_result;
  int64_t block_rows; /* whole rows of a block; 0: pieces of rows */
  bool in_place;      /* the last instruction may write to the output */
  int64_t unit;
  bool is_affine;
  bsm_cpu_affine affine;
  bool is_quantize;
  bsm_cpu_quantize quantize;
  instruction program[BSM_EW_MAX_INSTRUCTIONS];
} element_wise;

static bool reads_b(const bsm_step_ew_instruction *i) {
  return i->kind == BSM_STEP_EW_BINARY || i->kind == BSM_STEP_EW_SELECT;
}
static bool reads_c(const bsm_step_ew_instruction *i) {
  return i->kind == BSM_STEP_EW_SELECT;
}

/* ---- prepare ---- */

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

static bool is_byte(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_UINT8 || dtype == BSM_DTYPE_INT8;
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
static bool ends_narrow(const element_wise *e, const bsm_dtype *types) {
  if (e->count == 0) return false;
  const instruction *last = &e->program[e->count - 1];
  return last->op.kind == BSM_STEP_EW_CAST && last->op.dst == e->result &&
         is_byte(e->out_dtype) && (int32_t)e->out_dtype == last->op.dtype &&
         types[last->op.a] == BSM_DTYPE_FLOAT && last->op.a != last->op.dst;
}

static bool is_narrow_float(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_HALF || dtype == BSM_DTYPE_BFLOAT16;
}

static int32_t times_written(const element_wise *e, int32_t reg) {
  int32_t count = (uint32_t)reg < e->inputs;
  for (int32_t i = 0; i < e->count; i++) {
    count += e->program[i].op.dst == reg;
  }
  return count;
}

/* Lets what reads register `from` from instruction `first` on read `to`. */
static void rename_operand(element_wise *e, int32_t first, int32_t from,
                           int32_t to) {
  for (int32_t i = first; i < e->count; i++) {
    bsm_step_ew_instruction *op = &e->program[i].op;
    if (op->kind != BSM_STEP_EW_CONSTANT && op->a == from) op->a = to;
    if (reads_b(op) && op->b == from) op->b = to;
    if (reads_c(op) && op->c == from) op->c = to;
  }
}

static void drop(element_wise *e, int32_t i) {
  e->count--;
  memmove(&e->program[i], &e->program[i + 1],
          (size_t)(e->count - i) * sizeof(e->program[0]));
}

/* Half and bfloat16 are floats in registers, and are rounded when they are
 * stored: leaves out casts of inputs to float, and of the result from it. */
static void drop_casts(element_wise *e) {
  for (int32_t i = e->count - 1; i >= 0; i--) {
    const bsm_step_ew_instruction op = e->program[i].op;
    if (op.kind != BSM_STEP_EW_CAST || op.dtype != BSM_DTYPE_FLOAT ||
        (uint32_t)op.a >= e->inputs || !is_narrow_float(e->dtypes[op.a]) ||
        op.dst == e->result || times_written(e, op.dst) != 1 ||
        times_written(e, op.a) != 1) {
      continue;
    }
    drop(e, i);
    rename_operand(e, i, op.dst, op.a);
  }
  if (e->count < 2) return;
  const bsm_step_ew_instruction last = e->program[e->count - 1].op;
  const bsm_step_ew_instruction made = e->program[e->count - 2].op;
  if (last.kind == BSM_STEP_EW_CAST && last.dst == e->result &&
      is_narrow_float(e->out_dtype) && last.dtype == (int32_t)e->out_dtype &&
      made.dst == last.a && made.dtype == BSM_DTYPE_FLOAT) {
    e->result = last.a;
    drop(e, e->count - 1);
  }
}

static void resolve(instruction *in, const bsm_dtype *types) {
  const bsm_step_ew_instruction *op = &in->op;
  const bsm_cpu_class dst = bsm_cpu_class_of((bsm_dtype)op->dtype);
  in->a_class = bsm_cpu_class_of(types[op->a]);
  in->b_class = reads_b(op) ? bsm_cpu_class_of(types[op->b]) : dst;
  in->c_class = reads_c(op) ? bsm_cpu_class_of(types[op->c]) : dst;
  in->compute = in->result = dst;
  in->exact = dst == BSM_CPU_F32 && is_exact(op, types);
  if (op->kind == BSM_STEP_EW_UNARY && bsm_cpu_unary_is_test(op->code)) {
    in->compute = in->a_class;
    in->result = BSM_CPU_U8;
  } else if (op->kind == BSM_STEP_EW_BINARY &&
             bsm_cpu_binary_is_test(op->code)) {
    in->compute = widest(in->a_class, in->b_class);
    in->result = BSM_CPU_U8;
  } else if (dst == BSM_CPU_U8 &&
             (op->kind == BSM_STEP_EW_UNARY || op->kind == BSM_STEP_EW_BINARY ||
              op->kind == BSM_STEP_EW_ACTIVATION)) {
    in->compute = in->result = BSM_CPU_I64; /* arithmetic with 0 and 1 */
  }
  in->separate = op->dst == op->a || (reads_b(op) && op->dst == op->b) ||
                 (reads_c(op) && op->dst == op->c);
}

/* Constants that are the only value of their register are set once. */
static void hoist_constants(element_wise *e) {
  for (int32_t i = 0; i < e->count; i++) {
    instruction *in = &e->program[i];
    if (in->op.kind != BSM_STEP_EW_CONSTANT) continue;
    in->hoisted = (uint32_t)in->op.dst >= e->inputs;
    for (int32_t j = 0; j < e->count; j++) {
      if (j != i && e->program[j].op.dst == in->op.dst) in->hoisted = false;
    }
    for (int32_t j = i + 1; in->hoisted && j < e->count; j++) {
      instruction *user = &e->program[j];
      if (user->op.kind == BSM_STEP_EW_BINARY &&
          user->op.code == BSM_ELEMENT_WISE_POW && user->op.b == in->op.dst) {
        user->has_exponent = true;
        user->exponent =
            in->compute == BSM_CPU_I64 ? (double)in->op.integer : in->op.alpha;
      }
    }
  }
}

/* Rows are in place when they follow each other without gaps. */
static bool rows_touch(const element_wise *e, uint32_t k) {
  const int32_t last = e->space.rank - 1;
  return e->space.strides[k][last] == 1 &&
         (e->block_rows == 0 ||
          e->space.strides[k][last - 1] == e->space.dims[last]);
}

/* What a block and a unit of work are. */
static void choose_blocks(element_wise *e, int threads) {
  const bsm_cpu_space *s = &e->space;
  const int64_t row = s->dims[s->rank - 1];
  e->block_rows = s->rank > 1 && row > 0 && row < SHORT_ROW ? BLOCK / row : 0;
  const int64_t block = e->block_rows ? e->block_rows * row : BLOCK;
  e->unit = s->count < 4 * BLOCK * UNIT_BLOCKS * (int64_t)threads
                ? block * 4
                : block * UNIT_BLOCKS;
  e->in_place = e->last_writes_result && rows_touch(e, 0) &&
                e->result_dtype == e->out_dtype &&
                (e->narrows || bsm_cpu_is_native(e->out_dtype));
}

static bsm_status prepare(const bsm_cpu_prepare *p, bsm_prepared_step *out) {
  const bsm_step_element_wise *params = &p->step->params->element_wise;
  element_wise *e = BSM_NEW(p->arena, element_wise);
  BSM_TRY_ALLOC(e);
  const bsm_plan_tensor *tensors[1 + BSM_EW_MAX_INPUTS];
  bsm_dtype types[BSM_EW_MAX_REGISTERS] = {BSM_DTYPE_UINT8};
  e->base.slots = p->threads;
  e->math = bsm_k_math_select(p->isa);
  e->inputs = p->step->input_count;
  e->count = params->instruction_count;
  e->result = params->result;
  tensors[0] = bsm_step_output(p->plan, p->step, 0);
  e->out_dtype = tensors[0]->dtype;
  e->registers = params->result + 1;
  if ((uint32_t)e->registers < e->inputs) e->registers = (int32_t)e->inputs;
  for (uint32_t i = 0; i < e->inputs; i++) {
    tensors[1 + i] = bsm_step_input(p->plan, p->step, i);
    types[i] = e->dtypes[i] = tensors[1 + i]->dtype;
    e->widens[i] = is_byte(types[i]) && only_widens(params, (int32_t)i);
    if (e->widens[i]) types[i] = BSM_DTYPE_FLOAT;
  }
  e->bytes = bsm_k_int8_select(p->isa);
  bsm_cpu_space_init(&e->space, tensors, 1 + (int)e->inputs);
  for (int32_t i = 0; i < e->count; i++) {
    bsm_step_ew_instruction *op = &e->program[i].op;
    *op = params->program[i];
    if (op->kind == BSM_STEP_EW_CONSTANT) op->a = 0;
  }
  drop_casts(e);
  for (int32_t i = 0; i < e->count; i++) {
    instruction *in = &e->program[i];
    resolve(in, types);
    types[in->op.dst] = (bsm_dtype)in->op.dtype;
    if (in->op.dst >= e->registers) e->registers = in->op.dst + 1;
  }
  hoist_constants(e);
  e->narrows = ends_narrow(e, types);
  e->result_dtype = types[e->result];
  e->last_writes_result = e->count > 0 &&
                          e->program[e->count - 1].op.dst == e->result &&
                          !e->program[e->count - 1].hoisted;
  choose_blocks(e, p->threads);
  e->is_affine = bsm_cpu_affine_find(p, &e->space, &e->affine);
  e->is_quantize = bsm_cpu_quantize_find(p, &e->space, &e->quantize);
  e->base.description = bsm_arena_printf(p->arena, "%s %s",
                                         e->is_affine     ? "affine"
                                         : e->is_quantize ? "quantize"
                                                          : "blocks",
                                         e->math->name);
  BSM_TRY_ALLOC(e->base.description);
  out->impl = e;
  /* Registers, a spare one and three converted operands. */
  return bsm_cpu_set_scratch(
      out, 0, (uint64_t)(e->registers + 4) * BLOCK * sizeof(int64_t),
      e->base.slots);
}

/* ---- run ---- */

typedef struct work {
  const element_wise *e;
  const char *inputs[BSM_EW_MAX_INPUTS];
  char *output;
  uint8_t *scratch;
  size_t slot_size;
} work;

typedef int64_t block[BLOCK];

typedef struct machine {
  const work *w;
  const element_wise *e;
  block *own[BSM_EW_MAX_REGISTERS]; /* the buffer of each register */
  block *spare, *operand;           /* operand: 3 of them */
  const void *value[BSM_EW_MAX_REGISTERS];
  /* The scalar or row that fills the buffer, and how much of it is filled. */
  const char *filled[BSM_EW_MAX_INPUTS];
  int64_t filled_count[BSM_EW_MAX_INPUTS];
} machine;

static const void *converted(const machine *m, int32_t reg, bsm_cpu_class has,
                             bsm_cpu_class wants, int which, int64_t n) {
  if (has == wants) return m->value[reg];
  bsm_cpu_convert(has, m->value[reg], wants, m->operand[which], n);
  return m->operand[which];
}

#define SELECT(type)                                           \
  {                                                            \
    const type *p = b, *q = c;                                 \
    type *o = to;                                              \
    for (int64_t i = 0; i < n; i++) o[i] = k[i] ? p[i] : q[i]; \
  }

static void select_values(const machine *m, const instruction *in, void *to,
                          int64_t n) {
  /* The condition is true where it is not zero. */
  const uint8_t *k = m->value[in->op.a];
  if (in->a_class != BSM_CPU_U8) {
    bsm_cpu_cast(in->a_class, k, BSM_DTYPE_BOOL, m->operand[0], n);
    k = (const uint8_t *)m->operand[0];
  }
  const void *b = converted(m, in->op.b, in->b_class, in->compute, 1, n);
  const void *c = converted(m, in->op.c, in->c_class, in->compute, 2, n);
  if (in->compute == BSM_CPU_F32) {
    m->e->math->select(k, b, c, to, n);
  } else if (in->compute == BSM_CPU_F64) {
    SELECT(double)
  } else if (in->compute == BSM_CPU_U8) {
    SELECT(uint8_t)
  } else {
    SELECT(int64_t)
  }
}

/* Computes one instruction into `to`. */
static void compute(const machine *m, const instruction *in, void *to,
                    int64_t n) {
  const bsm_step_ew_instruction *op = &in->op;
  const bsm_k_math *math = m->e->math;
  const bsm_dtype dtype = (bsm_dtype)op->dtype;
  const bsm_cpu_class dst = bsm_cpu_class_of(dtype);
  void *result = in->result == dst ? to : (void *)m->operand[2];
  const void *a;
  switch (op->kind) {
    case BSM_STEP_EW_UNARY:
      a = converted(m, op->a, in->a_class, in->compute, 0, n);
      bsm_cpu_unary(math, op->code, in->compute, dtype, a, result, n);
      break;
    case BSM_STEP_EW_BINARY:
      a = converted(m, op->a, in->a_class, in->compute, 0, n);
      if (in->has_exponent) {
        bsm_cpu_power(math, in->compute, a, in->exponent, result, n);
      } else {
        bsm_cpu_binary(math, op->code, in->compute, dtype, a,
                       converted(m, op->b, in->b_class, in->compute, 1, n),
                       result, n);
      }
      break;
    case BSM_STEP_EW_ACTIVATION:
      a = converted(m, op->a, in->a_class, in->compute, 0, n);
      bsm_cpu_activate(math, op->code, in->compute, a, result, n, op->alpha,
                       op->beta);
      break;
    case BSM_STEP_EW_CONSTANT:
      bsm_cpu_set(dst, result, n, op->alpha, op->integer);
      break;
    case BSM_STEP_EW_SELECT:
      select_values(m, in, result, n);
      break;
    default:
      bsm_cpu_cast(in->a_class, m->value[op->a], dtype, to, n);
      return;
  }
  if (in->result != dst) bsm_cpu_convert(in->result, result, dst, to, n);
  if (!in->exact) bsm_cpu_narrow(dtype, to, n);
}

static void execute(machine *m, int64_t n, void *direct) {
  const element_wise *e = m->e;
  for (int32_t i = 0; i < e->count; i++) {
    const instruction *in = &e->program[i];
    if (in->hoisted) continue;
    const int32_t dst = in->op.dst;
    if (direct && i == e->count - 1) {
      if (e->narrows) {
        e->bytes->narrow(m->value[in->op.a], n, direct);
      } else {
        compute(m, in, direct, n);
      }
      m->value[dst] = direct;
      return;
    }
    if (in->separate) {
      block *old = m->own[dst];
      compute(m, in, m->spare, n);
      m->own[dst] = m->spare;
      m->spare = old;
    } else {
      compute(m, in, m->own[dst], n);
    }
    m->value[dst] = m->own[dst];
    if ((uint32_t)dst < e->inputs) m->filled[dst] = NULL;
  }
}

/* n bytes, `stride` apart, as floats. */
static void widen_row(const element_wise *e, bsm_dtype dtype, const char *at,
                      int64_t stride, int64_t n, float *to) {
  const uint8_t *x = (const uint8_t *)at;
  const bool is_signed = dtype == BSM_DTYPE_INT8;
  if (stride != 1) {
    for (int64_t i = 0; i < n; i++) {
      const uint8_t v = x[i * stride];
      to[i] = is_signed ? (float)(int8_t)v : (float)v;
    }
  } else if (is_signed) {
    e->bytes->widen_signed((const int8_t *)x, n, to);
  } else {
    e->bytes->widen(x, n, to);
  }
}

/* n elements of input i from a row at `at`, into its buffer at `done`. */
static void gather_row(machine *m, uint32_t i, const char *at, int64_t stride,
                       int64_t done, int64_t n) {
  const bsm_dtype d = m->e->dtypes[i];
  if (m->e->widens[i]) {
    widen_row(m->e, d, at, stride, n, (float *)(void *)m->own[i] + done);
    return;
  }
  char *to = (char *)m->own[i] +
             (size_t)done * bsm_cpu_class_size(bsm_cpu_class_of(d));
  bsm_cpu_load(d, at, stride, n, to);
}

/* Brings the inputs of a block that lies in one row. */
static void bring_row(machine *m, const bsm_cpu_cursor *c, int64_t n) {
  const element_wise *e = m->e;
  const int32_t last = e->space.rank - 1;
  for (uint32_t i = 0; i < e->inputs; i++) {
    const bsm_dtype d = e->dtypes[i];
    const int64_t stride = e->space.strides[1 + i][last];
    const char *at =
        m->w->inputs[i] + c->offset[1 + i] * (int64_t)bsm_dtype_size(d);
    if (stride == 1 && bsm_cpu_is_native(d)) {
      m->value[i] = at;
      continue;
    }
    if (stride == 0) {
      if (m->filled[i] != at || m->value[i] != m->own[i]) {
        gather_row(m, i, at, 0, 0, bsm_cpu_min(BLOCK, e->space.dims[last]));
        m->filled[i] = at;
      }
    } else {
      gather_row(m, i, at, stride, 0, n);
    }
    m->value[i] = m->own[i];
  }
}

/* Fills n elements of the buffer of input i with the row at `at`. */
static void repeat_row(machine *m, uint32_t i, const char *at, int64_t stride,
                       int64_t row, int64_t n) {
  const bsm_cpu_class c =
      m->e->widens[i] ? BSM_CPU_F32 : bsm_cpu_class_of(m->e->dtypes[i]);
  char *to = (char *)m->own[i];
  if (m->filled[i] == at && m->filled_count[i] >= n) return;
  gather_row(m, i, at, stride, 0, row);
  for (int64_t done = row; done < n;) { /* twice as much each time */
    const int64_t more = bsm_cpu_min(done, n - done);
    memcpy(to + (size_t)done * bsm_cpu_class_size(c), to,
           (size_t)more * bsm_cpu_class_size(c));
    done += more;
  }
  m->filled[i] = at;
  m->filled_count[i] = n;
}

/* Rows of floats, `next` apart, one behind the other. */
static void join_floats(const float *x, int64_t stride, int64_t next,
                        int64_t row, int64_t rows, float *to) {
  for (int64_t r = 0; r < rows; r++, x += next, to += row) {
    if (stride == 1 && row >= LONG_COPY) {
      memcpy(to, x, (size_t)row * sizeof(*to));
    } else {
      for (int64_t j = 0; j < row; j++) to[j] = x[j * stride];
    }
  }
}

/* Brings the inputs of a block of `rows` whole rows. */
static void bring_rows(machine *m, const bsm_cpu_cursor *c, int64_t rows) {
  const element_wise *e = m->e;
  const int32_t last = e->space.rank - 1;
  const int64_t row = e->space.dims[last], n = rows * row;
  for (uint32_t i = 0; i < e->inputs; i++) {
    const bsm_dtype d = e->dtypes[i];
    const int64_t size = (int64_t)bsm_dtype_size(d);
    const int64_t stride = e->space.strides[1 + i][last];
    const int64_t next = e->space.strides[1 + i][last - 1];
    const char *at = m->w->inputs[i] + c->offset[1 + i] * size;
    if (bsm_cpu_is_native(d) && rows_touch(e, 1 + i)) {
      m->value[i] = at;
      continue;
    }
    if (m->value[i] != m->own[i]) m->filled[i] = NULL;
    if (next == 0) {
      repeat_row(m, i, at, stride, row, n);
    } else if (d == BSM_DTYPE_FLOAT) {
      m->filled[i] = NULL;
      join_floats((const float *)(const void *)at, stride, next, row, rows,
                  (float *)(void *)m->own[i]);
    } else if (rows_touch(e, 1 + i)) {
      m->filled[i] = NULL;
      gather_row(m, i, at, stride, 0, n);
    } else {
      m->filled[i] = NULL;
      for (int64_t r = 0; r < rows; r++) {
        gather_row(m, i, at + r * next * size, stride, r * row, row);
      }
    }
    m->value[i] = m->own[i];
  }
}

/* Whole rows, of elements side by side that are as the values are. */
static void store_whole_rows(const machine *m, bsm_cpu_cursor *c,
                             const char *value, int64_t n) {
  const bsm_cpu_space *s = &m->e->space;
  const size_t size = bsm_dtype_size(m->e->out_dtype);
  const int64_t row = s->dims[s->rank - 1], rows = n / row;
  const size_t bytes = (size_t)row * size;
  const int64_t next = s->strides[0][s->rank - 2] * (int64_t)size;
  char *to = m->w->output + c->offset[0] * (int64_t)size;
  for (int64_t r = 0; r < rows; r++, to += next, value += bytes) {
    memcpy(to, value, bytes);
  }
  bsm_cpu_advance_rows(s, c, rows);
}

/* Stores the result of n elements and moves the cursor behind them. */
static void store_rows(const machine *m, bsm_cpu_cursor *c, int64_t n) {
  const element_wise *e = m->e;
  const int32_t last = e->space.rank - 1;
  const bsm_cpu_class from = bsm_cpu_class_of(e->result_dtype);
  const bsm_cpu_class to = bsm_cpu_class_of(e->out_dtype);
  const char *value = m->value[e->result];
  const bool rounds = from == BSM_CPU_F32 && is_narrow_float(e->out_dtype);
  if (e->result_dtype != e->out_dtype && !rounds) {
    bsm_cpu_cast(from, value, e->out_dtype, m->operand[0], n);
    value = (const char *)m->operand[0];
  }
  const int64_t size = (int64_t)bsm_dtype_size(e->out_dtype);
  if (e->block_rows && e->space.strides[0][last] == 1 &&
      bsm_cpu_is_native(e->out_dtype)) {
    store_whole_rows(m, c, value, n);
    return;
  }
  if (e->block_rows && rows_touch(e, 0)) {
    bsm_cpu_store(e->out_dtype, m->w->output + c->offset[0] * size, 1, n,
                  value);
    bsm_cpu_advance_rows(&e->space, c, n / e->space.dims[last]);
    return;
  }
  while (n > 0) {
    const int64_t run = bsm_cpu_min(n, bsm_cpu_row_left(&e->space, c));
    bsm_cpu_store(e->out_dtype, m->w->output + c->offset[0] * size,
                  e->space.strides[0][last], run, value);
    value += (size_t)run * bsm_cpu_class_size(to);
    bsm_cpu_advance(&e->space, c, run);
    n -= run;
  }
}

static void start(machine *m, const work *w, int slot) {
  const element_wise *e = w->e;
  block *buffers = (block *)(void *)(w->scratch + (size_t)slot * w->slot_size);
  m->w = w;
  m->e = e;
  for (int32_t i = 0; i < e->registers; i++) {
    m->own[i] = buffers + i;
    m->value[i] = buffers + i;
  }
  for (uint32_t i = 0; i < e->inputs; i++) m->filled[i] = NULL;
  m->spare = buffers + e->registers;
  m->operand = buffers + e->registers + 1;
  for (int32_t i = 0; i < e->count; i++) {
    if (e->program[i].hoisted) {
      compute(m, &e->program[i], m->own[e->program[i].op.dst], BLOCK);
    }
  }
}

static void unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const element_wise *e = w->e;
  machine m;
  bsm_cpu_cursor c;
  const int64_t first = index * e->unit;
  const int64_t end = bsm_cpu_min(first + e->unit, e->space.count);
  start(&m, w, slot);
  bsm_cpu_seek(&e->space, first, &c);
  for (int64_t i = first; i < end;) {
    int64_t n;
    if (e->block_rows) {
      const int64_t rows = bsm_cpu_min(
          bsm_cpu_min(e->block_rows, bsm_cpu_rows_left(&e->space, &c)),
          (end - i) / e->space.dims[e->space.rank - 1]);
      n = rows * e->space.dims[e->space.rank - 1];
      bring_rows(&m, &c, rows);
    } else {
      n = bsm_cpu_min(bsm_cpu_min(BLOCK, end - i),
                      bsm_cpu_row_left(&e->space, &c));
      bring_row(&m, &c, n);
    }
    if (!e->in_place) {
      execute(&m, n, NULL);
      store_rows(&m, &c, n);
    } else {
      execute(&m, n,
              w->output + c.offset[0] * (int64_t)bsm_dtype_size(e->out_dtype));
      if (e->block_rows) {
        bsm_cpu_advance_rows(&e->space, &c,
                             n / e->space.dims[e->space.rank - 1]);
      } else {
        bsm_cpu_advance(&e->space, &c, n);
      }
    }
    i += n;
  }
}

static void affine_unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const element_wise *e = w->e;
  char *addresses[1 + BSM_EW_MAX_INPUTS] = {w->output};
  (void)slot;
  for (uint32_t i = 0; i < e->inputs; i++) {
    addresses[1 + i] = (char *)(uintptr_t)w->inputs[i];
  }
  const int64_t first = index * e->unit;
  bsm_cpu_affine_run(&e->affine, &e->space, addresses, first,
                     bsm_cpu_min(first + e->unit, e->space.count));
}

static void quantize_unit(void *arg, int64_t index, int slot) {
  const work *w = arg;
  const element_wise *e = w->e;
  const int64_t first = index * e->unit;
  (void)slot;
  bsm_cpu_quantize_run(&e->quantize, &e->space,
                       (const float *)(const void *)w->inputs[0],
                       (uint8_t *)w->output, first,
                       bsm_cpu_min(first + e->unit, e->space.count));
}

static bsm_status run(const bsm_prepared_step *prepared, const bsm_run *r) {
  const element_wise *e = prepared->impl;
  work w = {.e = e,
            .output = bsm_cpu_output_address(prepared, r, 0),
            .scratch = r->scratch,
            .slot_size = prepared->scratch_size / (size_t)e->base.slots};
  for (uint32_t i = 0; i < e->inputs; i++) {
    w.inputs[i] = bsm_cpu_input_address(prepared, r, i);
  }
  bsm_cpu_parallel(r, e->base.slots, bsm_cpu_div_up(e->space.count, e->unit),
                   e->is_affine     ? affine_unit
                   : e->is_quantize ? quantize_unit
                                    : unit,
                   &w);
  return BSM_OK;
}

const bsm_cpu_kind bsm_cpu_ELEMENT_WISE = {bsm_check_element_wise, NULL,
                                           prepare, run};
