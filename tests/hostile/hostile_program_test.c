/* SPDX-License-Identifier: Apache-2.0 */
/* Engines with programs that someone has changed, with repaired checksums:
 * loading and running end with a status or with some values, within the limits
 * of the context; and what programs may give to ops whose arguments no schema
 * pins down. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aten/generator.h"
#include "aten/op.h"
#include "bessemer/bessemer.h"
#include "engine/engine_file.h"
#include "hostile/hostile.h"

enum { HEADER = 64 };

typedef struct model {
  const char *text;
  int64_t min, max; /* of the first dimension of x; equal: fixed */
} model;

static const model models[] = {
    /* Branches and loops on data; lists, dicts, strings; a raise. */
    {"graph(%x : Tensor):\n"
     "  %none : NoneType = prim::Constant()\n"
     "  %zero : int = prim::Constant[value=0]()\n"
     "  %one : int = prim::Constant[value=1]()\n"
     "  %three : int = prim::Constant[value=3]()\n"
     "  %true : bool = prim::Constant[value=1]()\n"
     "  %key : str = prim::Constant[value=\"k\"]()\n"
     "  %half : float = prim::Constant[value=0.5]()\n"
     "  %n : Tensor = aten::nonzero(%x)\n"
     "  %r : int = aten::size(%n, %zero)\n"
     "  %c : bool = aten::gt(%r, %three)\n"
     "  %y : Tensor = prim::If(%c)\n"
     "    block0():\n"
     "      %a : Tensor = aten::mul(%x, %half)\n"
     "      -> (%a)\n"
     "    block1():\n"
     "      %b : Tensor = aten::tanh(%x)\n"
     "      -> (%b)\n"
     "  %l : Tensor[] = prim::ListConstruct(%y)\n"
     "  %t : Tensor, %k : int = prim::Loop(%r, %true, %y, %zero)\n"
     "    block0(%i : int, %u : Tensor, %v : int):\n"
     "      %u1 : Tensor = aten::add(%u, %x, %one)\n"
     "      %l1 : Tensor[] = aten::append(%l, %u1)\n"
     "      %v1 : int = aten::add(%v, %i)\n"
     "      %d : bool = aten::lt(%v1, %three)\n"
     "      -> (%d, %u1, %v1)\n"
     "  %s : Tensor = aten::stack(%l, %zero)\n"
     "  %m : Dict(str, Tensor) = prim::DictConstruct(%key, %s)\n"
     "  %g : Tensor = aten::__getitem__(%m, %key)\n"
     "  %w : Tensor = prim::NumToTensor(%k)\n"
     "  return (%g, %w, %n)\n",
     2, 2},
    /* Shapes that range: kernels called by the program, and variants. */
    {"graph(%x : Tensor):\n"
     "  %none : NoneType = prim::Constant()\n"
     "  %one : int = prim::Constant[value=1]()\n"
     "  %half : float = prim::Constant[value=0.5]()\n"
     "  %d : int[] = prim::Constant[value=[16, 16]]()\n"
     "  %e : int[] = prim::Constant[value=[4, 1, 3]]()\n"
     "  %ones : int[] = prim::Constant[value=[1]]()\n"
     "  %w : Tensor = aten::full(%d, %half, %none, %none, %none, %none)\n"
     "  %v : Tensor = aten::full(%e, %half, %none, %none, %none, %none)\n"
     "  %y : Tensor = aten::linear(%x, %w, %none)\n"
     "  %u : Tensor = aten::unsqueeze(%y, %one)\n"
     "  %c : Tensor = aten::conv1d(%u, %v, %none, %ones, %ones, %ones, %one)\n"
     "  %r : Tensor = aten::relu(%c)\n"
     "  return (%r)\n",
     1, 40},
    /* A result whose length, keys and kinds only the run tells. */
    {"graph(%x : Tensor):\n"
     "  %none : NoneType = prim::Constant()\n"
     "  %zero : int = prim::Constant[value=0]()\n"
     "  %one : int = prim::Constant[value=1]()\n"
     "  %true : bool = prim::Constant[value=1]()\n"
     "  %key : str = prim::Constant[value=\"k\"]()\n"
     "  %other : str = prim::Constant[value=\"o\"]()\n"
     "  %n : Tensor = aten::nonzero(%x)\n"
     "  %r : int = aten::size(%n, %zero)\n"
     "  %c : bool = aten::gt(%r, %one)\n"
     "  %y : Tensor? = prim::If(%c)\n"
     "    block0():\n"
     "      %a : Tensor = aten::tanh(%x)\n"
     "      -> (%a)\n"
     "    block1():\n"
     "      -> (%none)\n"
     "  %w : str = prim::If(%c)\n"
     "    block0():\n"
     "      -> (%key)\n"
     "    block1():\n"
     "      -> (%other)\n"
     "  %l : Tensor[] = prim::ListConstruct(%x)\n"
     "  %k : int[] = prim::ListConstruct(%one)\n"
     "  %m : Dict(str, Tensor) = prim::DictConstruct(%key, %x)\n"
     "   = prim::Loop(%r, %true)\n"
     "    block0(%i : int):\n"
     "      %l1 : Tensor[] = aten::append(%l, %n)\n"
     "      %k1 : int[] = aten::append(%k, %i)\n"
     "       = aten::_set_item(%m, %w, %n)\n"
     "      -> (%true)\n"
     "  %p : (Tensor, int[]) = prim::TupleConstruct(%x, %k)\n"
     "  return (%l, %m, %y, %w, %p, %r)\n",
     2, 2},
};
enum { RUN_TIME_MODEL = 2, MODELS = sizeof(models) / sizeof(models[0]) };

static uint8_t *engines[MODELS];
static size_t sizes[MODELS];

static bsm_status compile(const model *m, bsm_engine **out) {
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.rank = 2;
  spec.min[0] = spec.opt[0] = m->min;
  spec.max[0] = m->max;
  spec.min[1] = spec.opt[1] = spec.max[1] = 16;
  bsm_compile_options options = BSM_COMPILE_OPTIONS_INIT;
  options.inputs = &spec;
  options.input_count = 1;
  options.no_timing = true;
  options.threads = 1;
  bsm_module *module = NULL;
  bsm_status status =
      bsm_module_load_memory(m->text, strlen(m->text), "m", NULL, &module);
  if (!status) status = bsm_compile(module, &options, out);
  bsm_module_destroy(module);
  return status;
}

static int make_engines(void **state) {
  (void)state;
  for (int i = 0; i < MODELS; i++) {
    char path[] = "/tmp/bessemer-hostile-XXXXXX";
    const int fd = mkstemp(path);
    if (fd < 0) return -1;
    close(fd);
    bsm_engine *engine = NULL;
    bsm_status status = compile(&models[i], &engine);
    if (!status) status = bsm_engine_save(engine, path);
    if (status) fprintf(stderr, "%s\n", bsm_status_message(status));
    bsm_engine_destroy(engine);
    if (!status) engines[i] = hostile_read_file(path, &sizes[i]);
    unlink(path);
    const bool failed = status != NULL;
    bsm_status_free(status);
    if (failed) return -1;
  }
  return 0;
}

static int free_engines(void **state) {
  (void)state;
  for (int i = 0; i < MODELS; i++) free(engines[i]);
  return 0;
}

/* ---- changed engines ---- */

/* Leaves have outputs that are there, or values. */
static bsm_status check_leaves(const bsm_structure *node, size_t count) {
  bsm_structure_info info = BSM_STRUCTURE_INFO_INIT;
  BSM_TRY(bsm_structure_describe(node, &info));
  const bool bound = info.binding != BSM_NO_BINDING;
  if ((bound && info.binding >= count) || info.kind > BSM_STRUCTURE_ARGUMENTS) {
    return BSM_FAIL(BSM_INTERNAL, "a wrong leaf");
  }
  for (size_t i = 0; i < info.child_count; i++) {
    BSM_TRY(check_leaves(bsm_structure_child(node, i), count));
  }
  return BSM_OK;
}

static bsm_status run_once(bsm_context *context, const bsm_engine *engine,
                           int64_t rows) {
  static float values[64 * 16];
  bsm_array in[HOSTILE_MAX_ARRAYS] = {{0}};
  const size_t n = bsm_engine_input_count(engine);
  if (n > HOSTILE_MAX_ARRAYS) return BSM_OK;
  for (size_t i = 0; i < 64 * 16; i++) values[i] = (float)(i % 5) - 2.0f;
  for (size_t i = 0; i < n; i++) {
    bsm_binding b = BSM_BINDING_INIT;
    size_t total;
    BSM_TRY(bsm_engine_input(engine, i, &b));
    total = bsm_dtype_size(b.dtype);
    for (int32_t k = 0; k < b.dims.rank; k++) {
      if (b.dims.d[k] < 0) b.dims.d[k] = rows;
      if (b.dims.d[k] && total > sizeof(values) / (size_t)b.dims.d[k]) {
        return BSM_OK;
      }
      total *= (size_t)b.dims.d[k];
    }
    in[i] = (bsm_array){values, b.dtype, b.dims, NULL};
  }
  BSM_TRY(bsm_context_run_keep(context, in, n));
  const size_t count = bsm_context_output_count(context);
  for (size_t i = 0; i < count; i++) {
    bsm_array out;
    BSM_TRY(bsm_context_output(context, i, &out));
    if (out.dims.rank < 0 || !bsm_dtype_size(out.dtype)) {
      return BSM_FAIL(BSM_INTERNAL, "an output without dims");
    }
  }
  const bsm_structure *result = NULL;
  BSM_TRY(bsm_context_output_structure(context, &result));
  return result ? check_leaves(result, count) : BSM_OK;
}

/* Loads, describes, and runs twice; every failure but of our own is fine. */
static bsm_code load_and_run(const uint8_t *bytes, size_t size, char *message) {
  hostile_allocator allocator;
  hostile_allocator_init(&allocator);
  bsm_engine_load_options options = BSM_ENGINE_LOAD_OPTIONS_INIT;
  options.allocator = &allocator.base;
  options.skip_checksum = true;
  uint8_t *copy = aligned_alloc(64, (size + 64) / 64 * 64);
  assert_non_null(copy);
  memcpy(copy, bytes, size);
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  bsm_status status = bsm_engine_load_memory(copy, size, &options, &engine);
  char *text = NULL;
  if (!status) status = bsm_engine_dump(engine, &text);
  bsm_string_free(text);
  bsm_engine_memory_info memory = BSM_ENGINE_MEMORY_INFO_INIT;
  if (!status) status = bsm_engine_memory(engine, 1, &memory);
  if (!status && memory.workspace + memory.scratch < (8u << 20)) {
    bsm_context_options running = BSM_CONTEXT_OPTIONS_INIT;
    running.threads = 1;
    running.max_instructions = 5000;
    running.max_run_bytes = 1u << 20;
    status = bsm_context_create(engine, &running, &context);
    if (!status) status = run_once(context, engine, 1); /* a variant */
    bsm_status_free(status);
    status = context ? run_once(context, engine, 20) : BSM_OK;
  }
  const bsm_code code = bsm_status_code(status);
  snprintf(message, 512, "%s", bsm_status_message(status));
  bsm_status_free(status);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  free(copy);
  assert_int_equal(allocator.live_blocks, 0);
  if (code == BSM_INTERNAL) fail_msg("%s", message);
  return code;
}

static uint64_t description_of(int i) {
  uint64_t description;
  memcpy(&description, engines[i] + 24, 8);
  return description;
}

static void repair(uint8_t *file, uint64_t description) {
  uint32_t format;
  memcpy(&format, file + 8, sizeof(format));
  const uint64_t hash =
      bsm_engine_file_hash(format, file + HEADER, (size_t)description);
  memcpy(file + 48, &hash, 8);
}

static void are_accepted(void **state) {
  (void)state;
  char message[512];
  for (int i = 0; i < MODELS; i++) {
    if (load_and_run(engines[i], sizes[i], message)) fail_msg("%s", message);
    bsm_engine *engine = NULL;
    char *text = NULL;
    assert_null(bsm_engine_load_memory(engines[i], sizes[i], NULL, &engine));
    assert_null(bsm_engine_dump(engine, &text));
    assert_non_null(strstr(text, "program:"));
    bsm_string_free(text);
    bsm_engine_destroy(engine);
  }
}

static void bytes_changed(void **state) {
  (void)state;
  static const uint8_t values[] = {0x00, 0x01, 0x02, 0x05, 0x7f, 0x80, 0xff};
  char message[512];
  for (int m = 0; m < MODELS; m++) {
    const uint64_t description = description_of(m);
    uint8_t *file = malloc(sizes[m]);
    assert_non_null(file);
    for (size_t i = HEADER; i < HEADER + description; i++) {
      for (size_t v = 0; v < sizeof(values); v++) {
        if (engines[m][i] == values[v] || (i + v) % 3) continue;
        memcpy(file, engines[m], sizes[m]);
        file[i] = values[v];
        repair(file, description);
        (void)load_and_run(file, sizes[m], message);
      }
    }
    free(file);
  }
}

/* A register for another, an op for another: what bytes next to each other say
 * is swapped. */
static void words_swapped(void **state) {
  (void)state;
  char message[512];
  for (int m = 0; m < MODELS; m++) {
    const uint64_t description = description_of(m);
    uint8_t *file = malloc(sizes[m]);
    assert_non_null(file);
    for (size_t i = HEADER; i + 8 <= HEADER + description; i++) {
      memcpy(file, engines[m], sizes[m]);
      memcpy(file + i, engines[m] + i + 4, 4);
      memcpy(file + i + 4, engines[m] + i, 4);
      if (memcmp(file, engines[m], sizes[m]) == 0) continue;
      repair(file, description);
      (void)load_and_run(file, sizes[m], message);
    }
    free(file);
  }
}

/* The structure of the result says something else than the values are. */
static void types_lie(void **state) {
  (void)state;
  const uint64_t description = description_of(RUN_TIME_MODEL);
  const uint8_t *engine = engines[RUN_TIME_MODEL];
  const size_t size = sizes[RUN_TIME_MODEL];
  char message[512];
  size_t first = HEADER, refused = 0;
  /* The last name of an output is followed by its structure alone. */
  while (memcmp(engine + first, "output_5", 8) != 0) first++;
  uint8_t *file = malloc(size);
  assert_non_null(file);
  for (size_t i = first; i < HEADER + description; i++) {
    for (uint8_t value = 0; value <= BSM_STRUCTURE_ANY + 1; value++) {
      if (engine[i] == value || engine[i] > BSM_STRUCTURE_ANY) continue;
      memcpy(file, engine, size);
      file[i] = value;
      repair(file, description);
      (void)load_and_run(file, size, message);
      refused += strstr(message, "the engine's structure says") != NULL;
    }
  }
  free(file);
  assert_true(refused > 20);
}

/* ---- values of any type ---- */

static uint64_t seed = 1;

static uint32_t pick(uint32_t n) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 33) % n;
}

static bsm_ivalue random_value(bsm_arena *arena, int depth) {
  static const int64_t ints[] = {0, 1, -1, 2, 3, INT64_MAX, INT64_MIN, 1 << 30};
  bsm_ivalue v = bsm_iv_none();
  bsm_tensor *t = NULL;
  bsm_list *list = NULL;
  bsm_tuple *tuple = NULL;
  bsm_dict *dict = NULL;
  const size_t n = pick(4);
  const bool same = pick(2); /* items of one kind: what most lists are */
  switch (pick(depth > 2 ? 7 : 11)) {
    case 0:
      return v;
    case 1:
      return bsm_iv_int(ints[pick(8)]);
    case 2:
      return bsm_iv_double(pick(2) ? 0.5 : -1e300);
    case 3:
      return bsm_iv_bool(pick(2) != 0);
    case 4:
      assert_null(bsm_iv_string(arena, bsm_str_of("{}a"), &v));
      return v;
    case 5:
      return (bsm_ivalue){.tag = BSM_IVALUE_DEVICE, .u.device = {0, -1}};
    case 6:
      assert_null(bsm_tensor_new(
          arena, pick(2) ? BSM_DTYPE_FLOAT : BSM_DTYPE_INT64,
          (bsm_dims){(int32_t)pick(3), {(int64_t)pick(3), 2}}, false, &t));
      return bsm_iv_tensor(t);
    case 7:
    case 8:
      assert_null(bsm_list_new(arena, NULL, n, &list));
      for (size_t i = 0; i < n; i++) {
        list->items[i] =
            i && same ? list->items[0] : random_value(arena, depth + 1);
      }
      return bsm_iv_list(list);
    case 9:
      assert_null(bsm_tuple_new(arena, n, &tuple));
      for (size_t i = 0; i < n; i++) {
        tuple->items[i] = random_value(arena, depth + 1);
      }
      return bsm_iv_tuple(tuple);
    default:
      assert_null(bsm_dict_new(arena, NULL, NULL, &dict));
      for (size_t i = 0; i < n; i++) {
        assert_null(bsm_dict_set(dict, random_value(arena, 3),
                                 random_value(arena, depth + 1)));
      }
      return bsm_iv_dict(dict);
  }
}

/* Whether the first `n` args are of the types that the schema tells. */
static bool fits_so_far(const bsm_aten_op *op, const bsm_ivalue *args, size_t n,
                        bool *all) {
  char next[64];
  bsm_status status = bsm_aten_check_args(op, args, n);
  snprintf(next, sizeof(next), "missing argument %zu", n);
  const bool fits = !status || strstr(bsm_status_message(status), next);
  *all = status == NULL;
  bsm_status_free(status);
  return fits;
}

/* Every op that programs may call, on whatever its schema lets through. */
static void values_of_any_type(void **state) {
  (void)state;
  bsm_arena own, arena;
  bsm_aten_library *library;
  bsm_generator generator;
  bsm_generator_seed(&generator, 1);
  bsm_arena_init(&own, NULL);
  assert_null(bsm_aten_library_create(&own, &library));
  size_t calls = 0;
  for (size_t k = 0; k < bsm_aten_library_count(library); k++) {
    const bsm_aten_op *op = bsm_aten_library_at(library, k);
    if (op->flags & BSM_ATEN_INPLACE) continue;
    for (int round = 0; round < 12; round++) {
      enum { MAX_ARGS = 24 };
      bsm_ivalue args[MAX_ARGS + 1] = {{0}}, outs[16] = {{0}};
      size_t n = 0;
      bool all = false;
      bsm_arena_init(&arena, NULL);
      (void)fits_so_far(op, args, 0, &all);
      const size_t extra = pick(3); /* for varargs */
      for (size_t more = 0; n < MAX_ARGS && (!all || more < extra); n++) {
        bool fits = false;
        if (all) more++;
        for (int tries = 0; tries < 60 && !fits; tries++) {
          args[n] = random_value(&arena, 0);
          fits = fits_so_far(op, args, n + 1, &all);
        }
        if (!fits) break;
      }
      args[n] = bsm_iv_none();
      for (size_t outputs = 0; outputs < 4; outputs++) {
        bsm_op_ctx cx = {.arena = &arena,
                         .generator = &generator,
                         .max_tensor_bytes = 1u << 20};
        bsm_status status = bsm_aten_call(&cx, op, args, n, outs, outputs);
        calls += status == NULL;
        bsm_status_free(status);
      }
      bsm_arena_destroy(&arena);
    }
  }
  bsm_arena_destroy(&own);
  assert_true(calls > 2000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(are_accepted),       cmocka_unit_test(bytes_changed),
      cmocka_unit_test(words_swapped),      cmocka_unit_test(types_lie),
      cmocka_unit_test(values_of_any_type),
  };
  return cmocka_run_group_tests_name("hostile_program", tests, make_engines,
                                     free_engines);
}
