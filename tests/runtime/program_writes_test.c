/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that write to tensors: memory that several values share stays shared
 * when garbage is collected, and what is not the run's own is not written to,
 * whatever a file says. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>
#include <string.h>

#include "bessemer/bessemer.h"
#include "engine/ivalue_bytes.h"
#include "engine/plan.h"
#include "engine/program.h"
#include "runtime/engine/engine.h"

static void check(bsm_status status) {
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void expect(bsm_status status, bsm_code code, const char *text) {
  assert_non_null(status);
  if (bsm_status_code(status) != code ||
      !strstr(bsm_status_message(status), text)) {
    fail_msg("%s: %s", bsm_code_name(bsm_status_code(status)),
             bsm_status_message(status));
  }
  bsm_status_free(status);
}

/* ---- garbage ---- */

enum { ROWS = 64, COLUMNS = 1024, TURNS = 1500 };

/* One of two tensors, a view of it, and one of two lists; then as many turns as
 * the first number of x says, which write to the view and to the list, and
 * leave a lot of garbage. */
static const char shared_text[] =
    "graph(%x : Tensor):\n"
    "  %none : NoneType = prim::Constant()\n"
    "  %zero : int = prim::Constant[value=0]()\n"
    "  %one : int = prim::Constant[value=1]()\n"
    "  %true : bool = prim::Constant[value=1]()\n"
    "  %half : float = prim::Constant[value=0.5]()\n"
    "  %f : Tensor = aten::select(%x, %zero, %zero)\n"
    "  %g : Tensor = aten::select(%f, %zero, %zero)\n"
    "  %n : int = aten::Int(%g)\n"
    "  %c : bool = aten::gt(%n, %one)\n"
    "  %a : Tensor = aten::add(%x, %one, %one)\n"
    "  %b : Tensor = aten::mul(%x, %half)\n"
    "  %la : Tensor[] = prim::ListConstruct(%a)\n"
    "  %lb : Tensor[] = prim::ListConstruct(%b, %b)\n"
    "  %t : Tensor, %l : Tensor[] = prim::If(%c)\n"
    "    block0():\n"
    "      -> (%a, %lb)\n"
    "    block1():\n"
    "      -> (%b, %la)\n"
    "  %v : Tensor = aten::select(%t, %zero, %one)\n"
    "  %w : Tensor = prim::Loop(%n, %true, %x)\n"
    "    block0(%i : int, %u : Tensor):\n"
    "      %u1 : Tensor = aten::add(%u, %x, %one)\n"
    "      %v1 : Tensor = aten::add_(%v, %one, %one)\n"
    "      %l1 : Tensor[] = aten::append(%l, %v)\n"
    "      -> (%true, %u1)\n"
    "  %k : int = aten::len(%lb)\n"
    "  %kt : Tensor = prim::NumToTensor(%k)\n"
    "  %minus : int = prim::Constant[value=-1]()\n"
    "  %last : Tensor = aten::__getitem__(%l, %minus)\n"
    "  return (%a, %b, %kt, %last, %w, %x)\n";

static bsm_engine *compile_shared(void) {
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  bsm_module *module = NULL;
  bsm_engine *engine = NULL;
  spec.rank = 2;
  spec.min[0] = ROWS;
  spec.min[1] = COLUMNS;
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.threads = 1;
  check(bsm_module_load_memory(shared_text, strlen(shared_text), "m", NULL,
                               &module));
  check(bsm_compile(module, &options, &engine));
  bsm_module_destroy(module);
  return engine;
}

static float at(bsm_context *context, size_t index, size_t element) {
  bsm_array out;
  check(bsm_context_output(context, index, &out));
  return ((const float *)out.data)[element];
}

static void shared_through_garbage(void **state) {
  (void)state;
  bsm_engine *engine = compile_shared();
  bsm_context *context = NULL;
  bsm_context_options options = BSM_CONTEXT_OPTIONS_INIT;
  float *x = calloc((size_t)ROWS * COLUMNS, sizeof(float));
  const bsm_array in = {x, BSM_DTYPE_FLOAT, {2, {ROWS, COLUMNS}}, NULL};
  bsm_array count;
  assert_non_null(x);
  options.threads = 1;
  options.max_run_bytes = (size_t)160 << 20; /* so it is collected often */
  check(bsm_context_create(engine, &options, &context));
  for (int run = 0; run < 2;
       run++) { /* the second finds nothing of the first */
    x[0] = TURNS;
    check(bsm_context_run_keep(context, &in, 1));
    assert_true(at(context, 0, COLUMNS + 7) == 1.0f + TURNS);
    assert_true(at(context, 0, 2 * COLUMNS + 7) == 1.0f);
    assert_true(at(context, 1, COLUMNS + 7) == 0.0f);
    assert_true(at(context, 3, 7) == 1.0f + TURNS);
    check(bsm_context_output(context, 2, &count));
    assert_int_equal(*(const int64_t *)count.data, 2 + TURNS);
  }
  x[0] = 1;
  check(bsm_context_run_keep(context, &in, 1));
  assert_true(at(context, 0, COLUMNS + 7) == 1.0f);
  assert_true(at(context, 1, COLUMNS + 7) == 1.0f);
  assert_true(x[COLUMNS + 7] == 0.0f);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  free(x);
}

/* ---- files that lie ---- */

/* A program of one call, of an input or a constant of two elements. */
typedef struct tiny {
  bsm_arena arena;
  bsm_plan plan;
  bsm_program program;
  bsm_program_block block;
  bsm_instruction call;
  bsm_plan_tensor tensors[3];
  bsm_plan_binding in, out;
  bsm_plan_weights weights;
  uint32_t registers[3];
  float data[16];
} tiny;

static void make_tiny(tiny *t, const char *op, uint32_t target) {
  const bsm_dims two = {1, {2}};
  bsm_tensor *constant;
  bsm_ivalue value;
  bsm_text bytes;
  memset(t, 0, sizeof(*t));
  bsm_arena_init(&t->arena, NULL);
  t->tensors[0] = (bsm_plan_tensor){.name = "",
                                    .dtype = BSM_DTYPE_FLOAT,
                                    .dims = two,
                                    .strides = {1},
                                    .place = BSM_PLACE_INPUT};
  t->tensors[1] = t->tensors[2] = t->tensors[0];
  t->tensors[1].place = BSM_PLACE_OUTPUT;
  t->tensors[2].place = BSM_PLACE_WEIGHTS;
  t->in = (bsm_plan_binding){"in", 0};
  t->out = (bsm_plan_binding){"out", 1};
  t->weights = (bsm_plan_weights){t->data, sizeof(t->data)};
  for (uint32_t i = 0; i < 3; i++) t->registers[i] = i;
  check(bsm_tensor_new(&t->arena, BSM_DTYPE_FLOAT, two, false, &constant));
  value = bsm_iv_tensor(constant);
  bsm_text_init(&bytes, &t->arena);
  check(bsm_ivalues_to_bytes(&bytes, &value, 1, &constant, 1));
  t->call = (bsm_instruction){.kind = BSM_INSTRUCTION_CALL,
                              .name = op,
                              .source = "",
                              .input_count = 1,
                              .output_count = 1,
                              .inputs = &t->registers[target],
                              .outputs = &t->registers[2]};
  t->block = (bsm_program_block){.param_count = 1,
                                 .result_count = 1,
                                 .params = &t->registers[0],
                                 .results = &t->registers[2],
                                 .instruction_count = 1,
                                 .instructions = &t->call};
  t->program = (bsm_program){.register_count = 3,
                             .blocks = &t->block,
                             .block_count = 1,
                             .constants = (const uint8_t *)bytes.data,
                             .constants_size = (uint32_t)bytes.len,
                             .constant_registers = &t->registers[1],
                             .constant_count = 1,
                             .constant_tensors = &t->registers[2],
                             .constant_tensor_count = 1};
  t->plan.program = &t->program;
  t->plan.tensors = t->tensors;
  t->plan.tensor_count = 3;
  t->plan.inputs = &t->in;
  t->plan.outputs = &t->out;
  t->plan.input_count = t->plan.output_count = 1;
  t->plan.weights = &t->weights;
  t->plan.weights_count = 1;
}

/* What running it says; `x` is as it was. */
static bsm_status run_tiny(const char *op, uint32_t target) {
  tiny t;
  bsm_arena arena;
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  float x[2] = {1, 2};
  const bsm_array in = {x, BSM_DTYPE_FLOAT, {1, {2}}, NULL};
  make_tiny(&t, op, target);
  t.data[0] = 3;
  bsm_arena_init(&arena, NULL);
  bsm_status status = bsm_engine_adopt(&arena, &t.plan, NULL, NULL, &engine);
  if (!status) status = bsm_context_create(engine, NULL, &context);
  if (!status) status = bsm_context_run_keep(context, &in, 1);
  assert_true(x[0] == 1.0f && x[1] == 2.0f && t.data[0] == 3.0f);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  bsm_arena_destroy(&arena);
  bsm_arena_destroy(&t.arena);
  return status;
}

static void what_others_own(void **state) {
  (void)state;
  check(run_tiny("aten::relu", 0));
  check(run_tiny("aten::relu", 1));
  expect(run_tiny("aten::zero_", 0), BSM_CORRUPT, "of an input or a constant");
  expect(run_tiny("aten::zero_", 1), BSM_CORRUPT, "of an input or a constant");
  /* Other ops in place have no place in a program. */
  expect(run_tiny("aten::relu_", 0), BSM_CORRUPT, "in a program");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shared_through_garbage),
                                     cmocka_unit_test(what_others_own)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
