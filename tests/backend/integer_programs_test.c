/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs on integers of few bits, drawn at random, against one
 * element at a time in 64 bits: chains of arithmetic, tests, selections and
 * casts, of inputs that lie side by side, apart, or repeat. */
#include "tests/conformance/step_harness.h"

enum { STEPS = 6 };

static const bsm_dtype dtypes[] = {BSM_DTYPE_UINT8, BSM_DTYPE_INT8,
                                   BSM_DTYPE_INT16, BSM_DTYPE_INT32,
                                   BSM_DTYPE_INT64};

static int64_t wrap(int32_t dtype, int64_t v) {
  switch (dtype) {
    case BSM_DTYPE_BOOL:
      return v != 0;
    case BSM_DTYPE_UINT8:
      return (uint8_t)v;
    case BSM_DTYPE_INT8:
      return (int8_t)v;
    case BSM_DTYPE_INT16:
      return (int16_t)v;
    case BSM_DTYPE_INT32:
      return (int32_t)v;
    default:
      return v;
  }
}

static int64_t read_integer(bsm_dtype dtype, const void *data, int64_t at) {
  int64_t v = 0;
  const size_t size = bsm_dtype_size(dtype);
  memcpy(&v, (const char *)data + (size_t)at * size, size); /* little endian */
  return wrap((int32_t)dtype, v);
}

/* ---- what is expected ---- */

static int64_t apply_binary(const bsm_step_ew_instruction *op, int64_t a,
                            int64_t b, int32_t dtype) {
  const int64_t bits = 8 * (int64_t)bsm_dtype_size((bsm_dtype)dtype);
  const int64_t most = dtype == BSM_DTYPE_UINT8 ? bits : bits - 1;
  const uint64_t x = (uint64_t)a, y = (uint64_t)b;
  switch (op->code) {
    case BSM_ELEMENT_WISE_SUM:
      return (int64_t)(x + y);
    case BSM_ELEMENT_WISE_SUB:
      return (int64_t)(x - y);
    case BSM_ELEMENT_WISE_PROD:
      return (int64_t)(x * y);
    case BSM_ELEMENT_WISE_MAX:
      return a > b ? a : b;
    case BSM_ELEMENT_WISE_MIN:
      return a < b ? a : b;
    case BSM_ELEMENT_WISE_BITWISE_AND:
      return a & b;
    case BSM_ELEMENT_WISE_BITWISE_OR:
      return a | b;
    case BSM_ELEMENT_WISE_BITWISE_XOR:
      return a ^ b;
    case BSM_ELEMENT_WISE_SHIFT_LEFT:
      return b < 0 || b >= bits ? 0 : (int64_t)(x << b);
    case BSM_ELEMENT_WISE_SHIFT_RIGHT:
      return a >> ((b < 0 || b > most) ? (most > 63 ? 63 : most) : b);
    case BSM_ELEMENT_WISE_EQUAL:
      return a == b;
    case BSM_ELEMENT_WISE_NOT_EQUAL:
      return a != b;
    case BSM_ELEMENT_WISE_LESS:
      return a < b;
    case BSM_ELEMENT_WISE_LESS_EQUAL:
      return a <= b;
    case BSM_ELEMENT_WISE_GREATER:
      return a > b;
    default:
      return a >= b;
  }
}

static int64_t apply(const bsm_step_ew_instruction *op, const int64_t *r,
                     const int32_t *types) {
  const uint64_t x = (uint64_t)r[op->a];
  switch (op->kind) {
    case BSM_STEP_EW_CONSTANT:
      return op->integer;
    case BSM_STEP_EW_SELECT:
      return r[op->a] ? r[op->b] : r[op->c];
    case BSM_STEP_EW_CAST:
      return r[op->a];
    case BSM_STEP_EW_UNARY:
      switch (op->code) {
        case BSM_UNARY_ABS:
          return r[op->a] < 0 ? (int64_t)(0 - x) : r[op->a];
        case BSM_UNARY_NEG:
          return (int64_t)(0 - x);
        case BSM_UNARY_SIGN:
          return (r[op->a] > 0) - (r[op->a] < 0);
        default:
          return (int64_t)~x;
      }
    default:
      return apply_binary(op, r[op->a], r[op->b], types[op->a]);
  }
}

static int64_t offset_at(const harness *h, uint32_t i, bsm_dims out,
                         const int64_t *index) {
  const bsm_plan_tensor *t = &h->tensors[h->step.inputs[i]];
  int64_t own[BSM_MAX_RANK];
  for (int32_t k = 0; k < t->dims.rank; k++) {
    own[k] = t->dims.d[k] == 1 ? 0 : index[k + out.rank - t->dims.rank];
  }
  return offset_of(t, own);
}

static bool is_empty(bsm_dims d) {
  bool empty = false;
  for (int32_t i = 0; i < d.rank; i++) empty = empty || d.d[i] == 0;
  return empty;
}

static void compare(harness *h, uint32_t isa, void *arg) {
  const bsm_step_element_wise *p = &h->params.element_wise;
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  const bsm_dtype from = *(const bsm_dtype *)arg;
  int64_t index[BSM_MAX_RANK] = {0};
  if (is_empty(y->dims)) return;
  do {
    int64_t r[BSM_EW_MAX_REGISTERS];
    int32_t types[BSM_EW_MAX_REGISTERS];
    for (uint32_t i = 0; i < 2; i++) {
      r[i] = read_integer(from, h->inputs[i], offset_at(h, i, y->dims, index));
      types[i] = (int32_t)from;
    }
    for (int32_t i = 0; i < p->instruction_count; i++) {
      const bsm_step_ew_instruction *op = &p->program[i];
      r[op->dst] = wrap(op->dtype, apply(op, r, types));
      types[op->dst] = op->dtype;
    }
    const int64_t got =
        read_integer(y->dtype, h->outputs[0], offset_of(y, index));
    if (got != r[p->result]) {
      fail_msg("isa %u: %lld, not %lld", (unsigned)isa, (long long)got,
               (long long)r[p->result]);
    }
  } while (next_index(y->dims, index));
}

/* ---- programs ---- */

typedef struct maker {
  harness_rng *r;
  bsm_step_element_wise p;
  int32_t types[BSM_EW_MAX_REGISTERS];
  int32_t next, dtype; /* registers from 2 on; what is computed with */
} maker;

/* A register of the dtype. */
static int32_t operand(maker *m) {
  int32_t at;
  do {
    at = rng_range(m->r, 0, m->next - 1);
  } while (m->types[at] != m->dtype);
  return at;
}

static int32_t add(maker *m, bsm_step_ew_instruction op) {
  /* Now and then over an operand. */
  op.dst = op.kind != BSM_STEP_EW_CONSTANT && op.a >= 2 &&
                   rng_range(m->r, 0, 3) == 0 && m->types[op.a] == op.dtype
               ? op.a
               : m->next++;
  m->types[op.dst] = op.dtype;
  m->p.program[m->p.instruction_count++] = op;
  m->p.result = op.dst;
  return op.dst;
}

static void add_test(maker *m) {
  static const int32_t tests[] = {
      BSM_ELEMENT_WISE_EQUAL,   BSM_ELEMENT_WISE_NOT_EQUAL,
      BSM_ELEMENT_WISE_LESS,    BSM_ELEMENT_WISE_LESS_EQUAL,
      BSM_ELEMENT_WISE_GREATER, BSM_ELEMENT_WISE_GREATER_EQUAL};
  const int32_t truth =
      add(m, (bsm_step_ew_instruction){.kind = BSM_STEP_EW_BINARY,
                                       .code = tests[rng_range(m->r, 0, 5)],
                                       .a = operand(m),
                                       .b = operand(m),
                                       .dtype = BSM_DTYPE_BOOL});
  add(m, (bsm_step_ew_instruction){.kind = BSM_STEP_EW_SELECT,
                                   .a = truth,
                                   .b = operand(m),
                                   .c = operand(m),
                                   .dtype = m->dtype});
}

static void add_instruction(maker *m) {
  static const int32_t codes[] = {
      BSM_ELEMENT_WISE_SUM,        BSM_ELEMENT_WISE_SUB,
      BSM_ELEMENT_WISE_PROD,       BSM_ELEMENT_WISE_MAX,
      BSM_ELEMENT_WISE_MIN,        BSM_ELEMENT_WISE_BITWISE_AND,
      BSM_ELEMENT_WISE_BITWISE_OR, BSM_ELEMENT_WISE_BITWISE_XOR,
      BSM_ELEMENT_WISE_SHIFT_LEFT, BSM_ELEMENT_WISE_SHIFT_RIGHT};
  /* The last one has no kernel. */
  static const int32_t unary[] = {BSM_UNARY_ABS, BSM_UNARY_NEG,
                                  BSM_UNARY_BITWISE_NOT, BSM_UNARY_SIGN};
  bsm_step_ew_instruction op = {.dtype = m->dtype, .a = operand(m)};
  switch (rng_range(m->r, 0, 6)) {
    case 0:
      op.kind = BSM_STEP_EW_UNARY;
      op.code = unary[rng_range(m->r, 0, 3)];
      break;
    case 1:
      op.kind = BSM_STEP_EW_CONSTANT;
      op.integer = wrap(m->dtype, rng_range(m->r, -300, 300));
      op.alpha = (double)op.integer;
      break;
    case 2:
      add_test(m);
      return;
    case 3:
      op.kind = BSM_STEP_EW_CAST;
      op.dtype = m->dtype = (int32_t)dtypes[rng_range(m->r, 0, 4)];
      break;
    default:
      op.kind = BSM_STEP_EW_BINARY;
      op.code = codes[rng_range(m->r, 0, 9)];
      op.b = operand(m);
  }
  add(m, op);
}

static void random_strides(harness_rng *r, bsm_dims d, int64_t *s) {
  const int by = rng_range(r, 0, 2) ? 1 : 3;
  bsm_contiguous_strides(d, s);
  for (int32_t i = 0; i < d.rank; i++) s[i] *= by;
}

/* Small numbers, and any. */
static void fill(const harness *h, harness_rng *r, uint32_t i) {
  const bsm_plan_tensor *t = &h->tensors[h->step.inputs[i]];
  const size_t size = bsm_dtype_size(t->dtype);
  int64_t index[BSM_MAX_RANK] = {0};
  if (is_empty(t->dims)) return;
  do {
    const int64_t v = rng_range(r, 0, 1)
                          ? rng_range(r, -130, 260)
                          : (int64_t)(rng_next(r) % 0x7fffffffu) << 17;
    memcpy((char *)h->inputs[i] + (size_t)offset_of(t, index) * size, &v, size);
  } while (next_index(t->dims, index));
}

static void run_program(harness_rng *r, bsm_dtype dtype) {
  harness h;
  int64_t strides[BSM_MAX_RANK];
  bsm_dims out = dims_of(2, rng_range(r, 0, 20), rng_range(r, 1, 90));
  if (rng_range(r, 0, 3) == 0) out = dims_of(1, rng_range(r, 0, 2500));
  harness_init(&h, BSM_STEP_ELEMENT_WISE);
  maker m = {.r = r, .next = 2, .dtype = (int32_t)dtype};
  for (uint32_t i = 0; i < 2; i++) {
    bsm_dims d = out;
    for (int32_t k = 0; k < d.rank; k++) {
      if (rng_range(r, 0, 4) == 0) d.d[k] = 1;
    }
    random_strides(r, d, strides);
    add_input(&h, dtype, d, strides);
    fill(&h, r, i);
    m.types[i] = (int32_t)dtype;
  }
  for (int i = 0; i < STEPS; i++) add_instruction(&m);
  random_strides(r, out, strides);
  add_output(&h, (bsm_dtype)m.types[m.p.result], out, strides);
  h.params.element_wise = m.p;
  harness_run_all(&h, compare, &dtype);
  harness_free(&h);
}

static void test_programs(void **state) {
  harness_rng r = {77};
  (void)state;
  for (int i = 0; i < 400; i++) run_program(&r, dtypes[i % 4]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
