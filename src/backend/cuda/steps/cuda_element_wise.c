/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs, copies and fills of a GPU: one kernel around code that
 * is generated from the instructions, or one that interprets them. */
#include <inttypes.h>
#include <string.h>

#include "aten/tensor.h"
#include "backend/cuda/cuda_loops.h"
#include "backend/cuda/steps/cuda_copies.h"
#include "backend/cuda/steps/cuda_interpreter.h"

#define BLOCK 256
/* Several for each multiprocessor of the largest GPU; kernels loop beyond. */
#define MAX_BLOCKS 65536

/* What holds the values of a dtype in a thread. */
typedef bsm_cuda_held value_class;
#define F32 BSM_CUDA_HELD_FLOAT
#define F64 BSM_CUDA_HELD_DOUBLE
#define I64 BSM_CUDA_HELD_INTEGER
#define TRUTH BSM_CUDA_HELD_TRUTH
#define class_of bsm_cuda_held_of
static const char *const class_types[] = {"float", "double", "i64", "bool"};

/* ---- generated code ---- */

typedef struct generator {
  bsm_text text;
  bsm_dtype types[BSM_EW_MAX_REGISTERS];
  int version[BSM_EW_MAX_REGISTERS]; /* each assignment has a name of its own */
} generator;

/* A register as a value of a class. */
#define AS "convert<%s>::from(r%d_%d)"
#define AS_ARGS(g, c, r) class_types[c], r, (g)->version[r]

static void put_float(generator *g, value_class c, double value) {
  if (c == F64) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    bsm_text_printf(&g->text, "__longlong_as_double(0x%016" PRIx64 "ll)", bits);
  } else {
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof(bits));
    bsm_text_printf(&g->text, "__uint_as_float(0x%08" PRIx32 "u)", bits);
  }
}

static void put_unary(generator *g, const bsm_step_ew_instruction *i,
                      value_class c) {
  if (bsm_cuda_is_test(i)) {
    c = class_of(g->types[i->a]);
    bsm_text_printf(&g->text, "unary_test(%d, " AS ")", i->code,
                    AS_ARGS(g, c, i->a));
  } else if (c == I64) {
    bsm_text_printf(&g->text, "unary_integer(%s, %d, " AS ")",
                    i->dtype == BSM_DTYPE_BOOL ? "true" : "false", i->code,
                    AS_ARGS(g, c, i->a));
  } else {
    bsm_text_printf(&g->text, "unary(%d, " AS ")", i->code,
                    AS_ARGS(g, c, i->a));
  }
}

static void put_binary(generator *g, const bsm_step_ew_instruction *i,
                       value_class c) {
  if (bsm_cuda_is_test(i)) {
    c = bsm_cuda_widest(class_of(g->types[i->a]), class_of(g->types[i->b]));
    bsm_text_printf(&g->text, "binary_test<%s>(%d, " AS ", " AS ")",
                    class_types[c], i->code, AS_ARGS(g, c, i->a),
                    AS_ARGS(g, c, i->b));
  } else if (c == I64) {
    bsm_text_printf(&g->text, "binary_integer(%d, %s, %d, " AS ", " AS ")",
                    8 * (int)bsm_dtype_size((bsm_dtype)i->dtype),
                    i->dtype == BSM_DTYPE_UINT8 ? "true" : "false", i->code,
                    AS_ARGS(g, c, i->a), AS_ARGS(g, c, i->b));
  } else {
    bsm_text_printf(&g->text, "binary(%d, " AS ", " AS ")", i->code,
                    AS_ARGS(g, c, i->a), AS_ARGS(g, c, i->b));
  }
}

static void put_activation(generator *g, const bsm_step_ew_instruction *i,
                           value_class c) {
  bsm_text_printf(&g->text, "activate(%d, " AS ", ", i->code,
                  AS_ARGS(g, c, i->a));
  put_float(g, c == F32 ? F32 : F64, i->alpha);
  bsm_text_puts(&g->text, ", ");
  put_float(g, c == F32 ? F32 : F64, i->beta);
  bsm_text_puts(&g->text, ")");
}

static void put_constant(generator *g, const bsm_step_ew_instruction *i,
                         value_class c) {
  if (c == F32 || c == F64) {
    put_float(g, c, i->alpha);
  } else {
    bsm_text_printf(&g->text, "(i64)0x%" PRIx64 "ull", (uint64_t)i->integer);
  }
}

static void put_value(generator *g, const bsm_step_ew_instruction *i,
                      value_class c) {
  switch (i->kind) {
    case BSM_STEP_EW_UNARY:
      put_unary(g, i, c);
      break;
    case BSM_STEP_EW_BINARY:
      put_binary(g, i, c);
      break;
    case BSM_STEP_EW_ACTIVATION:
      put_activation(g, i, c);
      break;
    case BSM_STEP_EW_CONSTANT:
      put_constant(g, i, c);
      break;
    case BSM_STEP_EW_SELECT:
      bsm_text_printf(&g->text, AS " ? " AS " : " AS, AS_ARGS(g, TRUTH, i->a),
                      AS_ARGS(g, c, i->b), AS_ARGS(g, c, i->c));
      break;
    default:
      bsm_text_printf(&g->text, AS, AS_ARGS(g, c, i->a));
  }
}

/* "const held r3_1 = element<f16>::round(convert<float>::from(VALUE));" */
static void put_instruction(generator *g, const bsm_step_ew_instruction *i) {
  const bsm_dtype dtype = (bsm_dtype)i->dtype;
  const value_class c = class_of(dtype);
  const bool arithmetic = i->kind == BSM_STEP_EW_UNARY ||
                          i->kind == BSM_STEP_EW_BINARY ||
                          i->kind == BSM_STEP_EW_ACTIVATION;
  bsm_text_printf(&g->text,
                  "  const %s r%d_%d = element<%s>::round("
                  "convert<%s>::from(",
                  class_types[c], i->dst, g->version[i->dst] + 1,
                  bsm_cuda_type(dtype), class_types[c]);
  /* Truth values are computed with as 0 and 1. */
  put_value(g, i, c == TRUTH && arithmetic ? I64 : c);
  bsm_text_puts(&g->text, "));\n");
  g->version[i->dst]++;
  g->types[i->dst] = dtype;
}

/* `dtypes`: of the output and the inputs; `e` says which inputs lie together in
 * the last loop, and is NULL where a thread makes one element. */
static bsm_status generate(bsm_cuda_launches *l, const bsm_cuda_elements *e,
                           const bsm_dtype *dtypes, uint32_t count,
                           const bsm_step_ew_instruction *program,
                           int32_t instructions, int32_t result,
                           const char **code) {
  generator g = {.version = {0}};
  bsm_text_init(&g.text, l->arena);
  bsm_text_printf(&g.text, "typedef %s out_type;\n", bsm_cuda_type(dtypes[0]));
  bsm_text_puts(&g.text, "#define LOAD_OPERANDS(p, offset)");
  for (uint32_t i = 1; i <= count; i++) {
    bsm_text_printf(&g.text,
                    " operand<%s, %d> in%" PRIu32 "(p.address[%" PRIu32
                    "], offset[%" PRIu32 "]);",
                    bsm_cuda_type(dtypes[i]),
                    e && e->strides[i][e->loops - 1] != 0, i, i, i);
  }
  bsm_text_puts(&g.text, "\n#define OPERANDS(e)");
  for (uint32_t i = 1; i <= count; i++) {
    bsm_text_printf(&g.text, "%s in%" PRIu32 ".get(e)", i > 1 ? "," : "", i);
  }
  const value_class out_class = class_of(dtypes[0]);
  bsm_text_printf(&g.text, "\nDEVICE %s compute(", class_types[out_class]);
  for (uint32_t i = 0; i < count; i++) {
    g.types[i] = dtypes[i + 1];
    bsm_text_printf(&g.text, "%s%s r%" PRIu32 "_0", i ? ", " : "",
                    class_types[class_of(dtypes[i + 1])], i);
  }
  bsm_text_puts(&g.text, ") {\n");
  for (int32_t i = 0; i < instructions; i++) {
    put_instruction(&g, &program[i]);
  }
  bsm_text_printf(&g.text, "  return " AS ";\n}\n",
                  AS_ARGS(&g, out_class, result));
  if (g.text.failed) return BSM_FAIL_OOM();
  *code = g.text.data;
  return BSM_OK;
}

/* ---- pieces ---- */

/* Fewer elements than this leave a GPU idle when threads make several. */
#define MANY_ELEMENTS (1 << 17)
#define MOST_OF_PIECE 8

/* How many elements of the last loop each thread makes: 16 bytes of the
 * narrowest operand, where all of them lie together or are one. */
static int piece_of(const bsm_cuda_elements *e,
                    const bsm_plan_tensor *const *tensors, int operands) {
  const int64_t last = e->loops - 1;
  int piece = 1;
  if (e->count < MANY_ELEMENTS) return 1;
  for (int k = 0; k < operands; k++) {
    const int own = 16 / (int)bsm_dtype_size(tensors[k]->dtype);
    if (e->strides[k][last] > 1 || (k == 0 && e->strides[k][last] != 1)) {
      return 1;
    }
    if (e->strides[k][last] == 1 && own > piece) piece = own;
  }
  if (piece > MOST_OF_PIECE) piece = MOST_OF_PIECE;
  if (e->sizes[last] % piece != 0) return 1;
  for (int k = 0; k < operands; k++) {
    if (e->strides[k][last] == 0) continue;
    if (tensors[k]->offset % 16 != 0) return 1;
    for (int64_t i = 0; i < last; i++) {
      if (e->strides[k][i] % piece != 0) return 1;
    }
  }
  return piece;
}

static void take_pieces(bsm_cuda_elements *e, int operands, int piece) {
  const int64_t last = e->loops - 1;
  e->count /= piece;
  e->sizes[last] /= piece;
  for (int k = 0; k < operands; k++) e->strides[k][last] *= piece;
}

/* ---- launches ---- */

static bsm_status launch_program(bsm_cuda_launches *l, uint32_t output,
                                 const uint32_t *inputs, uint32_t count,
                                 const bsm_step_ew_instruction *program,
                                 int32_t instructions, int32_t result) {
  const bsm_plan_tensor *tensors[BSM_CUDA_MAX_OPERANDS];
  const int operands = (int)count + 1;
  bsm_dtype dtypes[BSM_CUDA_MAX_OPERANDS];
  for (int k = 0; k < operands; k++) {
    tensors[k] = &l->plan->tensors[k ? inputs[k - 1] : output];
    dtypes[k] = tensors[k]->dtype;
  }
  /* What is only moved keeps its bits. */
  if (!instructions && dtypes[0] == dtypes[1]) {
    dtypes[0] = dtypes[1] = bsm_cuda_raw_dtype(dtypes[0]);
  }
  bsm_cuda_elements params;
  const int loops = bsm_cuda_loops_init(&params, tensors, operands);
  if (params.count == 0) return BSM_OK;
  if (l->scope == BSM_CUDA_FOR_KIND) {
    const bsm_cuda_listing listing = {dtypes, count, program, instructions,
                                      result};
    BSM_TRY(bsm_cuda_launch_interpreter(l, &params, &listing));
  } else {
    const char *code;
    const int piece = l->scope == BSM_CUDA_FOR_SIZES
                          ? piece_of(&params, tensors, operands)
                          : 1;
    BSM_TRY(generate(l, piece > 1 ? &params : NULL, dtypes, count, program,
                     instructions, result, &code));
    take_pieces(&params, operands, piece);
    BSM_TRY(bsm_cuda_add_launch(l, "element_wise", "element_wise", &params,
                                sizeof(params),
                                "--fmad=false -DK_INPUTS=%" PRIu32, count));
    BSM_TRY(bsm_cuda_add_options(
        l, BSM_CUDA_FOR_SIZES, "-DK_LOOPS=%d -DK_INDEX=%s", loops,
        bsm_cuda_index_type(&params, operands, loops)));
    if (piece > 1) {
      BSM_TRY(
          bsm_cuda_add_options(l, BSM_CUDA_FOR_SIZES, "-DK_PIECE=%d", piece));
    }
    bsm_cuda_set_generated(l, code);
  }
  bsm_cuda_set_block(l, BLOCK, 1, 1);
  bsm_cuda_set_grid(
      l, bsm_cuda_blocks((uint64_t)params.count, BLOCK, MAX_BLOCKS), 1, 1);
  for (int k = 0; k < operands; k++) {
    BSM_TRY(bsm_cuda_add_slot(
        l, BSM_CUDA_SLOT_TENSOR,
        offsetof(bsm_cuda_elements, address) + (size_t)k * sizeof(uint64_t),
        k ? inputs[k - 1] : output));
    bsm_cuda_type_slot(l, dtypes[k]);
  }
  return BSM_OK;
}

static bsm_status element_wise(bsm_cuda_launches *l) {
  const bsm_step_element_wise *p = &l->step->params->element_wise;
  return launch_program(l, l->step->outputs[0], l->step->inputs,
                        l->step->input_count, p->program, p->instruction_count,
                        p->result);
}

/* A program of no instructions: the result is the input. */
bsm_status bsm_cuda_launch_copy(bsm_cuda_launches *l, uint32_t from,
                                uint32_t to) {
  return launch_program(l, to, &from, 1, NULL, 0, 0);
}

static bsm_status copy(bsm_cuda_launches *l) {
  return bsm_cuda_launch_copy(l, l->step->inputs[0], l->step->outputs[0]);
}

static bsm_status fill(bsm_cuda_launches *l) {
  const bsm_step_fill *p = &l->step->params->fill;
  const bsm_step_ew_instruction constant = {
      .kind = BSM_STEP_EW_CONSTANT,
      .dtype = (int32_t)l->plan->tensors[l->step->outputs[0]].dtype,
      .alpha = p->value,
      .integer = p->integer};
  return launch_program(l, l->step->outputs[0], NULL, 0, &constant, 1, 0);
}

const bsm_cuda_step_kind bsm_cuda_ELEMENT_WISE = {bsm_check_element_wise,
                                                  element_wise};
const bsm_cuda_step_kind bsm_cuda_COPY = {bsm_check_copy, copy};
const bsm_cuda_step_kind bsm_cuda_FILL = {bsm_check_fill, fill};
