/* SPDX-License-Identifier: Apache-2.0 */
/* Running an element-wise program: blocks of some hundred elements go through
 * all instructions while they are in the first-level cache.
 *
 * A block is a piece of a row, or several whole rows where these are short.
 * Inputs that lie in memory as the block does are read in place, scalars and
 * rows that repeat (a factor for each channel) are laid out once for many
 * blocks, others are gathered. The last instruction writes to the output in
 * place where it can. */
#include <string.h>

#include "aten/tensor.h"
#include "backend/cpu/cpu_element_wise.h"

/* Elements from which on a call copies them faster than a loop. */
#define LONG_COPY 16

bool bsm_cpu_ew_rows_touch(const bsm_cpu_ew *e, uint32_t k) {
  const int32_t last = e->space.rank - 1;
  return e->space.strides[k][last] == 1 &&
         (e->block_rows == 0 ||
          e->space.strides[k][last - 1] == e->space.dims[last]);
}

typedef int64_t block[BSM_CPU_EW_BLOCK];

typedef struct machine {
  const bsm_cpu_ew_work *w;
  const bsm_cpu_ew *e;
  block *own[BSM_EW_MAX_REGISTERS]; /* the buffer of each register */
  block *spare, *operand;           /* operand: 3 of them */
  const void *value[BSM_EW_MAX_REGISTERS];
  /* The scalar or row that fills the buffer, and how much of it is filled. */
  const char *filled[BSM_EW_MAX_INPUTS];
  int64_t filled_count[BSM_EW_MAX_INPUTS];
} machine;

static const void *converted(const machine *m, int32_t reg, bsm_dtype has,
                             bsm_cpu_class wants, int which, int64_t n) {
  if (bsm_cpu_class_of(has) == wants && !bsm_cpu_is_narrow(has)) {
    return m->value[reg];
  }
  bsm_cpu_held_to_class(&m->e->base.elements, has, m->value[reg], wants,
                        m->operand[which], n);
  return m->operand[which];
}

#define SELECT(type)                                           \
  {                                                            \
    const type *p = b, *q = c;                                 \
    type *o = to;                                              \
    for (int64_t i = 0; i < n; i++) o[i] = k[i] ? p[i] : q[i]; \
  }

static void select_values(const machine *m, const bsm_cpu_ew_instruction *in,
                          void *to, int64_t n) {
  /* The condition is true where it is not zero. */
  const uint8_t *k = converted(m, in->op.a, in->a_dtype, BSM_CPU_U8, 0, n);
  if (in->narrow) {
    m->e->base.elements.ints->narrow(
        BSM_K_NARROW_SELECT, bsm_cpu_width_of(in->b_dtype), k,
        m->value[in->op.b], m->value[in->op.c], to, n);
    return;
  }
  const void *b = converted(m, in->op.b, in->b_dtype, in->compute, 1, n);
  const void *c = converted(m, in->op.c, in->c_dtype, in->compute, 2, n);
  if (in->compute == BSM_CPU_F32) {
    m->e->math->select(k, b, c, to, n);
  } else if (in->compute == BSM_CPU_F64) {
    SELECT(double)
  } else if (in->compute == BSM_CPU_U8) {
    SELECT(uint8_t)
  } else {
    m->e->base.elements.ints->select(k, b, c, to, n);
  }
}

/* Tells that an integer of a block is divided by zero. */
static void look_for_zero(const machine *m, const int64_t *b, int64_t n) {
  uint8_t *truth = (uint8_t *)m->operand[2]; /* nothing is there yet */
  m->e->base.elements.ints->to_truth(b, truth, n);
  if (n > 0 && memchr(truth, 0, (size_t)n) && m->w->by_zero) {
    atomic_store_explicit(m->w->by_zero, true, memory_order_relaxed);
  }
}

/* An operation on integers of few bits. */
static void compute_narrow(const machine *m, const bsm_cpu_ew_instruction *in,
                           void *to, int64_t n) {
  const bsm_k_ints *ints = m->e->base.elements.ints;
  if (in->op.kind == BSM_STEP_EW_SELECT) {
    select_values(m, in, to, n);
  } else if (in->op.kind == BSM_STEP_EW_UNARY) {
    bsm_cpu_narrow_unary(ints, in->op.code, in->a_dtype, m->value[in->op.a], to,
                         n);
  } else {
    bsm_cpu_narrow_binary(ints, in->op.code, in->a_dtype, m->value[in->op.a],
                          m->value[in->op.b], to, n, (int32_t *)m->operand[0],
                          (int32_t *)m->operand[1]);
  }
}

/* Computes one instruction into `to`. */
static void compute(const machine *m, const bsm_cpu_ew_instruction *in,
                    void *to, int64_t n) {
  const bsm_step_ew_instruction *op = &in->op;
  const bsm_k_math *math = m->e->math;
  const bsm_dtype dtype = (bsm_dtype)op->dtype;
  const bsm_cpu_class dst = bsm_cpu_class_of(dtype);
  const bsm_cpu_elements *k = &m->e->base.elements;
  const bool held = bsm_cpu_is_narrow(dtype);
  void *result = in->result == dst && !held ? to : (void *)m->operand[2];
  const void *a, *b;
  if (in->narrow) {
    compute_narrow(m, in, to, n);
    return;
  }
  switch (op->kind) {
    case BSM_STEP_EW_UNARY:
      a = converted(m, op->a, in->a_dtype, in->compute, 0, n);
      bsm_cpu_unary(k, math, op->code, in->compute, dtype, a, result, n);
      break;
    case BSM_STEP_EW_BINARY:
      a = converted(m, op->a, in->a_dtype, in->compute, 0, n);
      if (in->has_exponent) {
        bsm_cpu_power(math, in->compute, a, in->exponent, result, n);
      } else {
        b = converted(m, op->b, in->b_dtype, in->compute, 1, n);
        if (in->divides) look_for_zero(m, b, n);
        bsm_cpu_binary(k, math, op->code, in->compute, dtype, a, b, result, n);
      }
      break;
    case BSM_STEP_EW_ACTIVATION:
      a = converted(m, op->a, in->a_dtype, in->compute, 0, n);
      bsm_cpu_activate(math, op->code, in->compute, a, result, n, op->alpha,
                       op->beta);
      break;
    case BSM_STEP_EW_CONSTANT:
      bsm_cpu_set(k, in->result, result, n, op->alpha, op->integer);
      break;
    case BSM_STEP_EW_SELECT:
      select_values(m, in, result, n);
      break;
    default:
      bsm_cpu_cast_held(k, in->a_dtype, m->value[op->a], dtype, to, n,
                        m->operand[0]);
      return;
  }
  if (held) {
    bsm_cpu_class_to_held(k, in->result, result, dtype, to, n, m->operand[0]);
    return;
  }
  if (in->result != dst) bsm_cpu_convert(k, in->result, result, dst, to, n);
  if (!in->exact) bsm_cpu_narrow(k, dtype, to, n);
}

static void execute(machine *m, int64_t n, void *direct) {
  const bsm_cpu_ew *e = m->e;
  for (int32_t i = 0; i < e->count; i++) {
    const bsm_cpu_ew_instruction *in = &e->program[i];
    if (in->hoisted) continue;
    const int32_t dst = in->op.dst;
    if (direct && !e->on_grid && i == e->count - 1) {
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
  if (e->on_grid) {
    e->bytes->quantize(m->value[e->result], n, &e->quantize.grid,
                       direct ? direct : m->spare);
  }
}

/* What `execute` left, as the output is held; bytes of a grid. */
static const char *result_of(const machine *m, int64_t n) {
  const bsm_cpu_ew *e = m->e;
  if (e->on_grid) return (const char *)m->spare;
  const bsm_cpu_class from = bsm_cpu_class_of(e->result_dtype);
  const char *value = m->value[e->result];
  const bool rounds =
      from == BSM_CPU_F32 && bsm_cpu_ew_is_narrow_float(e->out_dtype);
  if (e->result_dtype == e->out_dtype || rounds) return value;
  bsm_cpu_cast_held(&e->base.elements, e->result_dtype, value, e->out_dtype,
                    m->operand[0], n, m->operand[1]);
  return (const char *)m->operand[0];
}

/* n bytes of an input, `stride` apart, as floats. */
static void widen_row(const bsm_cpu_ew *e, uint32_t input, const char *at,
                      int64_t stride, int64_t n, float *to) {
  const uint8_t *x = (const uint8_t *)at;
  const bool is_signed = e->dtypes[input] == BSM_DTYPE_INT8;
  const float zero = e->zero[input], scale = e->scale[input];
  if (stride != 1) {
    for (int64_t i = 0; i < n; i++) {
      const uint8_t v = x[i * stride];
      to[i] = ((is_signed ? (float)(int8_t)v : (float)v) - zero) * scale;
    }
  } else if (is_signed) {
    e->bytes->widen_signed((const int8_t *)x, n, zero, scale, to);
  } else {
    e->bytes->widen(x, n, zero, scale, to);
  }
}

/* n elements of input i from a row at `at`, into its buffer at `done`. */
static void gather_row(machine *m, uint32_t i, const char *at, int64_t stride,
                       int64_t done, int64_t n) {
  const bsm_dtype d = m->e->dtypes[i];
  if (m->e->widens[i]) {
    widen_row(m->e, i, at, stride, n, (float *)(void *)m->own[i] + done);
    return;
  }
  char *to = (char *)m->own[i] + (size_t)done * bsm_cpu_held_size(d);
  bsm_cpu_hold(&m->e->base.elements, d, at, stride, n, to);
}

/* Brings the inputs of a block that lies in one row. */
static void bring_row(machine *m, const bsm_cpu_cursor *c, int64_t n) {
  const bsm_cpu_ew *e = m->e;
  const int32_t last = e->space.rank - 1;
  for (uint32_t i = 0; i < e->inputs; i++) {
    const bsm_dtype d = e->dtypes[i];
    const int64_t stride = e->space.strides[1 + i][last];
    const char *at =
        m->w->inputs[i] + c->offset[1 + i] * (int64_t)bsm_dtype_size(d);
    if (stride == 1 && !e->widens[i] && bsm_cpu_is_held_as_is(d)) {
      m->value[i] = at;
      continue;
    }
    if (stride == 0) {
      if (m->filled[i] != at || m->value[i] != m->own[i]) {
        gather_row(m, i, at, 0, 0,
                   bsm_cpu_min(BSM_CPU_EW_BLOCK, e->space.dims[last]));
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
  const size_t size =
      m->e->widens[i] ? sizeof(float) : bsm_cpu_held_size(m->e->dtypes[i]);
  char *to = (char *)m->own[i];
  if (m->filled[i] == at && m->filled_count[i] >= n) return;
  gather_row(m, i, at, stride, 0, row);
  for (int64_t done = row; done < n;) { /* twice as much each time */
    const int64_t more = bsm_cpu_min(done, n - done);
    memcpy(to + (size_t)done * size, to, (size_t)more * size);
    done += more;
  }
  m->filled[i] = at;
  m->filled_count[i] = n;
}

/* Four at a time, as calls and the beginnings of longer vectors take long
 * beside short rows. */
static void fill_floats(float value, int64_t n, float *to) {
  const float four[4] = {value, value, value, value};
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) memcpy(to + j, four, sizeof(four));
  for (; j < n; j++) to[j] = value;
}

static void copy_floats(const float *x, int64_t n, float *to) {
  int64_t j = 0;
  if (n >= LONG_COPY) {
    memcpy(to, x, (size_t)n * sizeof(*to));
    return;
  }
  for (; j + 4 <= n; j += 4) memcpy(to + j, x + j, 4 * sizeof(*to));
  for (; j < n; j++) to[j] = x[j];
}

/* Rows of floats, `next` apart, one behind the other. */
static void join_floats(const float *x, int64_t stride, int64_t next,
                        int64_t row, int64_t rows, float *to) {
  for (int64_t r = 0; r < rows; r++, x += next, to += row) {
    if (stride == 0) {
      fill_floats(*x, row, to);
    } else if (stride == 1) {
      copy_floats(x, row, to);
    } else {
      for (int64_t j = 0; j < row; j++) to[j] = x[j * stride];
    }
  }
}

/* Brings the inputs of a block of `rows` whole rows. */
static void bring_rows(machine *m, const bsm_cpu_cursor *c, int64_t rows) {
  const bsm_cpu_ew *e = m->e;
  const int32_t last = e->space.rank - 1;
  const int64_t row = e->space.dims[last], n = rows * row;
  for (uint32_t i = 0; i < e->inputs; i++) {
    const bsm_dtype d = e->dtypes[i];
    const int64_t size = (int64_t)bsm_dtype_size(d);
    const int64_t stride = e->space.strides[1 + i][last];
    const int64_t next = e->space.strides[1 + i][last - 1];
    const char *at = m->w->inputs[i] + c->offset[1 + i] * size;
    if (!e->widens[i] && bsm_cpu_is_held_as_is(d) &&
        bsm_cpu_ew_rows_touch(e, 1 + i)) {
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
    } else if (bsm_cpu_ew_rows_touch(e, 1 + i)) {
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
  const bsm_cpu_ew *e = m->e;
  const int32_t last = e->space.rank - 1;
  const char *value = result_of(m, n);
  const int64_t size = (int64_t)bsm_dtype_size(e->out_dtype);
  if (e->block_rows && e->space.strides[0][last] == 1 &&
      (e->on_grid || bsm_cpu_is_held_as_is(e->out_dtype))) {
    store_whole_rows(m, c, value, n);
    return;
  }
  if (e->block_rows && bsm_cpu_ew_rows_touch(e, 0)) {
    bsm_cpu_put(&m->e->base.elements, e->out_dtype,
                m->w->output + c->offset[0] * size, 1, n, value);
    bsm_cpu_advance_rows(&e->space, c, n / e->space.dims[last]);
    return;
  }
  while (n > 0) {
    const int64_t run = bsm_cpu_min(n, bsm_cpu_row_left(&e->space, c));
    const int64_t stride = e->space.strides[0][last];
    char *y = m->w->output + c->offset[0] * size;
    if (e->on_grid) {
      for (int64_t i = 0; i < run; i++) y[i * stride] = value[i];
      value += run;
    } else {
      bsm_cpu_put(&m->e->base.elements, e->out_dtype, y, stride, run, value);
      value += (size_t)run * bsm_cpu_held_size(e->out_dtype);
    }
    bsm_cpu_advance(&e->space, c, run);
    n -= run;
  }
}

static void start(machine *m, const bsm_cpu_ew_work *w, int slot) {
  const bsm_cpu_ew *e = w->e;
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
      compute(m, &e->program[i], m->own[e->program[i].op.dst],
              BSM_CPU_EW_BLOCK);
    }
  }
}

void bsm_cpu_ew_run_unit(void *arg, int64_t index, int slot) {
  const bsm_cpu_ew_work *w = arg;
  const bsm_cpu_ew *e = w->e;
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
      n = bsm_cpu_min(bsm_cpu_min(BSM_CPU_EW_BLOCK, end - i),
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

void bsm_cpu_ew_fill_table(const bsm_cpu_ew_work *w, uint8_t *table) {
  const bsm_cpu_ew *e = w->e;
  char all[BSM_CPU_EW_TABLE];
  machine m;
  for (int i = 0; i < BSM_CPU_EW_TABLE; i++) all[i] = (char)i;
  start(&m, w, 0);
  gather_row(&m, 0, all, 1, 0, BSM_CPU_EW_TABLE);
  execute(&m, BSM_CPU_EW_TABLE, e->on_grid || e->narrows ? table : NULL);
  if (e->on_grid || e->narrows) return;
  bsm_cpu_put(&e->base.elements, e->out_dtype, (char *)table, 1,
              BSM_CPU_EW_TABLE, result_of(&m, BSM_CPU_EW_TABLE));
}
