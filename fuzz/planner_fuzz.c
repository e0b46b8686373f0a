/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of programs: the input chooses ops of the reference library and
 * arguments of the types that their schemas want, as odd as an engine file may
 * have them. What can be planned is planned and, when it needs little memory,
 * run. A plan whose outputs are not what the ops say is a defect. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "base/thread_pool.h"
#include "fuzz/mutators/mutator.h"
#include "ir/schema.h"
#include "planner/planner.h"
#include "runtime/plan/plan_runner.h"
#include "tests/target_kit.h"

enum { MAX_REGISTERS = 512, MAX_CALLS = 6, INPUTS = 4, MAX_ARGS = 40 };
#define MAX_BYTES ((size_t)1 << 22)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(NULL, 0);

typedef struct maker {
  const uint8_t *data;
  size_t size, at;
  bsm_arena arena;
  const bsm_aten_library *aten;
  bsm_schema_table *schemas;
  bsm_program program;
  bsm_program_block blocks[2];
  bsm_instruction region, calls[2 * MAX_CALLS];
  uint32_t constant_registers[MAX_REGISTERS];
  bsm_ivalue constants[MAX_REGISTERS];
  uint32_t tensors[MAX_REGISTERS], tensor_count; /* registers with one */
  bsm_ivalue inputs[INPUTS];
  bool failed; /* no memory, or no room */
} maker;

static uint8_t next(maker *m) {
  return m->at < m->size ? m->data[m->at++] : 0;
}

static uint32_t new_register(maker *m) {
  if (m->program.register_count + 1 < MAX_REGISTERS) {
    return m->program.register_count++;
  }
  m->failed = true;
  return 0;
}

static uint32_t add_constant(maker *m, bsm_ivalue value) {
  const uint32_t reg = new_register(m);
  if (m->failed) return 0;
  m->constant_registers[m->program.constant_count] = reg;
  m->constants[m->program.constant_count++] = value;
  return reg;
}

static void check(maker *m, bsm_status status) {
  if (status) m->failed = true;
  bsm_status_free(status);
}

/* ---- values ---- */

static bsm_dtype any_dtype(maker *m) {
  static const bsm_dtype dtypes[] = {
      BSM_DTYPE_FLOAT,  BSM_DTYPE_FLOAT, BSM_DTYPE_INT64,    BSM_DTYPE_BOOL,
      BSM_DTYPE_DOUBLE, BSM_DTYPE_HALF,  BSM_DTYPE_BFLOAT16, BSM_DTYPE_UINT8,
      BSM_DTYPE_INT32,  BSM_DTYPE_INT8,  BSM_DTYPE_INT16};
  return dtypes[next(m) % (sizeof(dtypes) / sizeof(dtypes[0]))];
}

static bsm_ivalue new_tensor(maker *m, bool meta) {
  bsm_tensor *t = NULL;
  const bsm_dtype dtype = any_dtype(m);
  bsm_dims dims = {.rank = next(m) % 6};
  for (int32_t i = 0; i < dims.rank; i++) {
    static const uint8_t sizes[] = {2, 3, 1, 4, 0, 5, 8, 17};
    dims.d[i] = sizes[next(m) % sizeof(sizes)];
  }
  check(m, bsm_tensor_new(&m->arena, dtype, dims, meta, &t));
  if (m->failed) return bsm_iv_none();
  for (size_t i = 0; !meta && i < t->storage->size; i++) {
    ((uint8_t *)t->storage->data)[i] =
        dtype == BSM_DTYPE_BOOL ? next(m) & 1 : next(m) & 0x43;
  }
  /* As an input, converters do not know it for one: such plans are refused. */
  t->wrapped_number = dims.rank == 0 && !meta && dtype == BSM_DTYPE_DOUBLE;
  return bsm_iv_tensor(t);
}

static int64_t any_int(maker *m) {
  static const int64_t odd[] = {INT64_MAX, INT64_MIN,        INT32_MAX,
                                -100,      INT64_C(1) << 40, 1000};
  const uint8_t byte = next(m);
  if (byte < 200) return byte % 8 - 2;
  return odd[byte % (sizeof(odd) / sizeof(odd[0]))];
}

static double any_double(maker *m) {
  static const double some[] = {0, 1, 0.5, -1, 1e-5, 1e300, -0.0, 2.5, 7};
  const uint8_t byte = next(m);
  if (byte == 255) return HUGE_VAL;
  return some[byte % (sizeof(some) / sizeof(some[0]))];
}

static bsm_ivalue any_string(maker *m) {
  static const char *const texts[] = {
      "mean",     "sum",   "none",     "constant", "reflect", "replicate",
      "circular", "trunc", "floor",    "tanh",     "linear",  "",
      "ij",       "xy",    "bilinear", "i,j->ij"};
  bsm_ivalue v = bsm_iv_none();
  check(m, bsm_iv_string(
               &m->arena,
               bsm_str_of(texts[next(m) % (sizeof(texts) / sizeof(texts[0]))]),
               &v));
  return v;
}

static bsm_ivalue any_number(maker *m) {
  const uint8_t byte = next(m);
  return byte % 3 == 0   ? bsm_iv_int(any_int(m))
         : byte % 3 == 1 ? bsm_iv_double(any_double(m))
                         : bsm_iv_bool(byte & 4);
}

static bool make_value(maker *m, const bsm_type *type, bsm_ivalue *out);

static bool make_list(maker *m, const bsm_type *type, bsm_ivalue *out) {
  const uint8_t byte = next(m);
  const size_t n =
      type->size > 0 && byte < 200 ? (size_t)type->size % 8 : byte % 5;
  bsm_list *list = NULL;
  check(m, bsm_list_new(&m->arena, NULL, n, &list));
  if (m->failed) return false;
  for (size_t i = 0; i < n; i++) {
    if (!make_value(m, type->args[0], &list->items[i])) return false;
  }
  *out = bsm_iv_list(list);
  return true;
}

/* A constant of a type; false for types that are not made. */
static bool make_value(maker *m, const bsm_type *type, bsm_ivalue *out) {
  switch (type->kind) {
    case BSM_TYPE_TENSOR:
      *out = new_tensor(m, false);
      return true;
    case BSM_TYPE_INT:
      *out = bsm_iv_int(any_int(m));
      return true;
    case BSM_TYPE_FLOAT:
      *out = bsm_iv_double(any_double(m));
      return true;
    case BSM_TYPE_BOOL:
      *out = bsm_iv_bool(next(m) & 1);
      return true;
    case BSM_TYPE_NUMBER:
      *out = any_number(m);
      return true;
    case BSM_TYPE_STRING:
      *out = any_string(m);
      return true;
    case BSM_TYPE_DEVICE:
      *out = (bsm_ivalue){.tag = BSM_IVALUE_DEVICE, .u.device = {0, -1}};
      return true;
    case BSM_TYPE_OPTIONAL:
      *out = bsm_iv_none();
      return next(m) & 1 ? make_value(m, type->args[0], out) : true;
    case BSM_TYPE_LIST:
      return make_list(m, type, out);
    default:
      return false;
  }
}

/* ---- calls ---- */

static uint32_t *new_ids(maker *m, size_t count) {
  uint32_t *ids = BSM_NEW_ARRAY(&m->arena, uint32_t, count + 1);
  if (!ids) m->failed = true;
  return ids;
}

static uint32_t any_tensor(maker *m) {
  return m->tensors[next(m) % m->tensor_count];
}

/* Tensors that the region computes, as a list that it makes. */
static uint32_t tensor_list(maker *m) {
  const uint32_t n = 1 + next(m) % 3, out = new_register(m);
  if (m->blocks[1].instruction_count + 2 > 2 * MAX_CALLS) m->failed = true;
  if (m->failed) return 0;
  bsm_instruction *i = &m->calls[m->blocks[1].instruction_count++];
  uint32_t *ids = new_ids(m, n), *outs = new_ids(m, 1);
  if (m->failed) return 0;
  for (uint32_t k = 0; k < n; k++) ids[k] = any_tensor(m);
  outs[0] = out;
  *i = (bsm_instruction){.kind = BSM_INSTRUCTION_LIST,
                         .name = "",
                         .source = "",
                         .input_count = n,
                         .output_count = 1,
                         .inputs = ids,
                         .outputs = outs};
  return out;
}

static bool make_argument(maker *m, const bsm_schema_arg *arg, uint32_t *reg) {
  const bsm_type *type = arg->type;
  bsm_ivalue value;
  if (arg->has_default && next(m) % 4 != 0) {
    *reg = add_constant(m, arg->default_value);
    return !m->failed;
  }
  if (type->kind == BSM_TYPE_OPTIONAL && (next(m) & 1)) type = type->args[0];
  if (type->kind == BSM_TYPE_TENSOR && next(m) % 4 != 0) {
    *reg = any_tensor(m);
    return true;
  }
  if (type->kind == BSM_TYPE_LIST && type->args[0]->kind == BSM_TYPE_TENSOR &&
      next(m) % 4 != 0) {
    *reg = tensor_list(m);
    return !m->failed;
  }
  if (!make_value(m, type, &value)) return false;
  *reg = add_constant(m, value);
  return !m->failed;
}

static const char *name_of(maker *m, const bsm_aten_op *op) {
  bsm_schema_text room;
  const bsm_str name = bsm_aten_name(op, &room);
  return bsm_arena_strndup(&m->arena, name.data, name.len);
}

static void add_call(maker *m) {
  const size_t count = bsm_aten_library_count(m->aten);
  const size_t pick = next(m) * (size_t)256 + next(m);
  const bsm_aten_op *op = bsm_aten_library_at(m->aten, pick % count);
  const char *name = name_of(m, op);
  const bsm_schema *schema = NULL;
  uint32_t inputs[MAX_ARGS];
  if (!name) m->failed = true;
  if (m->failed) return;
  check(m, bsm_schema_table_find(m->schemas, bsm_str_of(name), &schema));
  if (m->failed || !schema || schema->arg_count > MAX_ARGS) return;
  for (size_t i = 0; i < schema->arg_count; i++) {
    if (!make_argument(m, &schema->args[i], &inputs[i])) return;
  }
  uint32_t *ins = new_ids(m, schema->arg_count);
  uint32_t *outs = new_ids(m, schema->return_count);
  if (m->failed) return;
  if (schema->arg_count) memcpy(ins, inputs, schema->arg_count * sizeof(*ins));
  for (size_t i = 0; i < schema->return_count; i++) outs[i] = new_register(m);
  if (m->failed) return;
  bsm_program_block *block = &m->blocks[1];
  m->calls[block->instruction_count++] =
      (bsm_instruction){.kind = BSM_INSTRUCTION_CALL,
                        .name = name,
                        .source = "",
                        .input_count = (uint32_t)schema->arg_count,
                        .output_count = (uint32_t)schema->return_count,
                        .inputs = ins,
                        .outputs = outs};
  for (size_t i = 0; i < schema->return_count; i++) {
    if (schema->returns[i].type->kind != BSM_TYPE_TENSOR) continue;
    m->tensors[m->tensor_count++] = outs[i];
    block->results[block->result_count++] = outs[i];
  }
}

/* ---- planning and running ---- */

static void run_plan(maker *m, const bsm_plan *plan) {
  bsm_engine engine = {.aten = m->aten};
  bsm_execution execution;
  bsm_plan_runner runner;
  bsm_memory_need need = {{0}, {0}};
  const bsm_device_ops **ops = &engine.ops[BSM_SPACE_HOST];
  bsm_device **device = &engine.devices[BSM_SPACE_HOST];
  check(m, bsm_device_find(bsm_str_of("cpu"), ops));
  if (!m->failed) check(m, (*ops)->open(&(bsm_device_options){0}, device));
  if (m->failed) return;
  const bsm_execution_options options = {.threads = 1, .isa = BSM_ISA_DETECT};
  check(m, bsm_execution_open(&engine, &options, &execution));
  if (m->failed) return;
  bsm_status status =
      bsm_plan_runner_init(plan, &execution, &m->arena, &need, &runner);
  if (bsm_status_code(status) == BSM_INTERNAL ||
      bsm_status_code(status) == BSM_CORRUPT) {
    fprintf(stderr, "%s\n", bsm_status_message(status));
    abort();
  }
  size_t bytes = need.workspace[BSM_SPACE_HOST] < MAX_BYTES &&
                         need.scratch[BSM_SPACE_HOST] < MAX_BYTES
                     ? 0
                     : MAX_BYTES;
  for (uint32_t i = 0; !status && i < plan->input_count; i++) {
    const bsm_plan_tensor *t = &plan->tensors[plan->inputs[i].tensor];
    bsm_tensor *x = NULL;
    status = bsm_tensor_new(&m->arena, t->dtype, t->dims, false, &x);
    if (!status) runner.inputs[i] = bsm_tensor_data(x);
  }
  for (uint32_t i = 0; !status && i < plan->output_count; i++) {
    const bsm_plan_tensor *t = &plan->tensors[plan->outputs[i].tensor];
    uint64_t extent = MAX_BYTES;
    if (!bsm_plan_tensor_extent(t, &extent)) extent = MAX_BYTES;
    bytes += extent < MAX_BYTES ? (size_t)extent : MAX_BYTES;
    if (bytes >= MAX_BYTES) break;
    runner.outputs[i] = bsm_arena_alloc(&m->arena, (size_t)extent + 1, 64);
    if (!runner.outputs[i]) status = BSM_FAIL_OOM();
  }
  if (!status && bytes < MAX_BYTES) {
    status = bsm_execution_reserve(&execution, &need);
    if (!status) status = bsm_plan_runner_run(&runner);
  }
  bsm_status_free(status);
  bsm_plan_runner_destroy(&runner);
  bsm_execution_close(&execution);
  (*ops)->close(*device);
}

/* One planner for all inputs, as a context has one for all shapes: it sees
 * another program each time. */
static bsm_planner *the_planner(maker *m) {
  static bsm_planner *planner;
  static bsm_plan whole;
  static bsm_program_constants constants;
  whole.program = &m->program;
  constants.values = m->constants;
  const bsm_planner_options options = {
      .plan = &whole,
      .aten = m->aten,
      .constants = &constants,
      .building = {.target = test_target(1), .no_timing = true},
      .max_bytes = 16 * MAX_BYTES,
      .max_tensor_bytes = 4 * MAX_BYTES};
  if (!planner && bsm_planner_create(&options, &planner)) abort();
  return planner;
}

static void print_value(const maker *m, uint32_t reg) {
  const bsm_ivalue *v = reg < INPUTS ? &m->inputs[reg] : NULL;
  for (uint32_t i = 0; i < m->program.constant_count; i++) {
    if (m->constant_registers[i] == reg) v = &m->constants[i];
  }
  fprintf(stderr, " r%u", reg);
  if (!v) return;
  if (v->tag == BSM_IVALUE_TENSOR) {
    fprintf(stderr, ":%s%s%s", bsm_dtype_name(v->u.tensor->dtype),
            bsm_dims_str(v->u.tensor->sizes),
            v->u.tensor->wrapped_number ? "wrapped" : "");
  } else {
    fprintf(stderr, ":%s", bsm_iv_tag_name(v->tag));
    if (v->tag == BSM_IVALUE_INT) fprintf(stderr, "=%lld", (long long)v->u.i);
    if (v->tag == BSM_IVALUE_BOOL) fprintf(stderr, "=%d", v->u.b);
  }
}

static void print_calls(const maker *m) {
  for (uint32_t i = 0; i < m->blocks[1].instruction_count; i++) {
    const bsm_instruction *call = &m->calls[i];
    fprintf(stderr, "  r%u = %s", call->output_count ? call->outputs[0] : 0,
            call->name);
    for (uint32_t k = 0; k < call->input_count; k++) {
      print_value(m, call->inputs[k]);
    }
    fprintf(stderr, "\n");
  }
}

static void plan_region(maker *m) {
  bsm_region_plan made;
  bsm_status status = bsm_planner_plan(the_planner(m), &m->region, m->inputs,
                                       NULL, &m->arena, &made);
  if (bsm_status_code(status) == BSM_INTERNAL) {
    fprintf(stderr, "%s\n", bsm_status_message(status));
    print_calls(m);
    abort();
  }
  if (!status && !m->failed) run_plan(m, made.plan);
  bsm_status_free(status);
}

static void make_program(maker *m) {
  static uint32_t ids[INPUTS] = {0, 1, 2, 3};
  m->program.register_count = INPUTS;
  m->program.blocks = m->blocks;
  m->program.block_count = 2;
  m->program.constant_registers = m->constant_registers;
  m->blocks[1].instructions = m->calls;
  m->blocks[1].results = new_ids(m, MAX_REGISTERS);
  for (uint32_t i = 0; i < INPUTS; i++) {
    m->inputs[i] = new_tensor(m, true);
    m->tensors[m->tensor_count++] = i;
  }
  const int calls = 1 + next(m) % MAX_CALLS;
  for (int i = 0; i < calls && !m->failed; i++) {
    if (m->blocks[1].instruction_count + 4 > 2 * MAX_CALLS) break;
    add_call(m);
  }
  m->region = (bsm_instruction){.kind = BSM_INSTRUCTION_REGION,
                                .name = "",
                                .source = "",
                                .input_count = INPUTS,
                                .inputs = ids,
                                .output_count = m->blocks[1].result_count,
                                .block_count = 1,
                                .blocks = {1}};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bsm_arena shared; /* of what is the same for all inputs */
  static bsm_aten_library *aten;
  static bsm_schema_table *schemas;
  static maker m;
  if (!schemas) {
    bsm_type_table *types;
    bsm_arena_init(&shared, NULL);
    if (bsm_aten_library_create(&shared, &aten) ||
        bsm_type_table_create(&shared, &types) ||
        bsm_schema_table_create(types, &shared, &schemas)) {
      abort();
    }
  }
  m = (maker){.data = data, .size = size, .aten = aten, .schemas = schemas};
  bsm_arena_init(&m.arena, NULL);
  make_program(&m);
  if (!m.failed && m.blocks[1].result_count) plan_region(&m);
  bsm_arena_destroy(&m.arena);
  return 0;
}
