/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering against PyTorch: each method of the archives under data/lowering is
 * lowered for the shapes of its example inputs, and the lowered graph, run by
 * the reference library, must give what PyTorch gave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "lowering/interpret.h"
#include "lowering/lowering.h"
#include "torchscript/module.h"
#include "torchscript/zip.h"

#define MAX_VALUES 64

typedef struct reader {
  const uint8_t *data;
  size_t left;
  bsm_arena *arena;
} reader;

static int64_t read_i64(reader *r) {
  int64_t v;
  assert_true(r->left >= 8);
  memcpy(&v, r->data, 8);
  r->data += 8;
  r->left -= 8;
  return v;
}

static void ok(bsm_status st) {
  if (st) {
    print_error("%s\n", bsm_status_message(st));
    fail();
  }
}

static bsm_ivalue read_tensor(reader *r) {
  const bsm_dtype dtype = (bsm_dtype)read_i64(r);
  bsm_dims dims = {(int32_t)read_i64(r), {0}};
  for (int32_t i = 0; i < dims.rank; i++) {
    dims.d[i] = read_i64(r);
  }
  bsm_tensor *t = NULL;
  ok(bsm_tensor_new(r->arena, dtype, dims, false, &t));
  const size_t bytes = (size_t)bsm_tensor_numel(t) * bsm_dtype_size(dtype);
  assert_true(r->left >= bytes);
  if (bytes) {
    memcpy(bsm_tensor_data(t), r->data, bytes);
  }
  r->data += bytes;
  r->left -= bytes;
  return bsm_iv_tensor(t);
}

static bsm_ivalue read_value(reader *r) {
  const int64_t kind = read_i64(r);
  int64_t bits;
  double d;
  bsm_list *list = NULL;
  switch (kind) {
    case 0:
      return read_tensor(r);
    case 1:
      return bsm_iv_int(read_i64(r));
    case 2:
      bits = read_i64(r);
      memcpy(&d, &bits, sizeof(d));
      return bsm_iv_double(d);
    case 3:
      return bsm_iv_bool(read_i64(r) != 0);
    case 4:
      ok(bsm_list_new(r->arena, NULL, (size_t)read_i64(r), &list));
      for (size_t i = 0; i < list->len; i++) {
        list->items[i] = read_value(r);
      }
      return bsm_iv_list(list);
    default:
      assert_int_equal(kind, 5);
      return bsm_iv_none();
  }
}

/* The value with its tensors made meta; the real ones go to `flat`. */
static bsm_ivalue as_meta(bsm_arena *arena, bsm_ivalue value, bsm_ivalue *flat,
                          size_t *count) {
  if (value.tag == BSM_IVALUE_TENSOR) {
    bsm_tensor *t = NULL;
    assert_true(*count < MAX_VALUES);
    flat[(*count)++] = value;
    ok(bsm_tensor_new(arena, value.u.tensor->dtype, value.u.tensor->sizes, true,
                      &t));
    return bsm_iv_tensor(t);
  }
  if (value.tag == BSM_IVALUE_LIST) {
    bsm_list *list = NULL;
    ok(bsm_list_new(arena, NULL, value.u.list->len, &list));
    for (size_t i = 0; i < list->len; i++) {
      list->items[i] = as_meta(arena, value.u.list->items[i], flat, count);
    }
    return bsm_iv_list(list);
  }
  return value;
}

static bool same_tensor(const bsm_tensor *got, const bsm_tensor *want) {
  if (got->dtype != want->dtype || !bsm_dims_equal(got->sizes, want->sizes)) {
    print_error("    got %s %s, want %s %s\n", bsm_dtype_name(got->dtype),
                bsm_dims_str(got->sizes), bsm_dtype_name(want->dtype),
                bsm_dims_str(want->sizes));
    return false;
  }
  for (int64_t i = 0; i < bsm_tensor_numel(got); i++) {
    const double a = bsm_tensor_get_double(got, i);
    const double b = bsm_tensor_get_double(want, i);
    if (fabs(a - b) > 1e-5 * fabs(b) + 1e-6 || isnan(a) != isnan(b)) {
      print_error("    element %d: got %g, want %g\n", (int)i, a, b);
      return false;
    }
  }
  return true;
}

static bool same_value(const bsm_ivalue *got, const bsm_ivalue *want) {
  if (got->tag != want->tag) {
    print_error("    got a %s, want a %s\n", bsm_iv_tag_name(got->tag),
                bsm_iv_tag_name(want->tag));
    return false;
  }
  return got->tag == BSM_IVALUE_TENSOR
             ? same_tensor(got->u.tensor, want->u.tensor)
             : bsm_iv_equal(got, want);
}

/* Nothing may be left that conversion cannot know. */
static bool is_flat(const bsm_graph *graph, const bsm_aten_library *aten) {
  for (const bsm_node *n = graph->block->first; n; n = n->next) {
    const bool structure = bsm_node_is(n, "prim::Constant") ||
                           bsm_node_is(n, "prim::ListConstruct") ||
                           bsm_node_is(n, "prim::ListUnpack");
    if (structure) {
      continue;
    }
    size_t length = n->schema ? strlen(n->schema->name) : 0;
    if (!n->schema || n->schema->name[length - 1] == '_' ||
        !bsm_aten_find(aten, bsm_str_of(n->schema->qualified))) {
      print_error("    left over: %s\n", n->kind);
      return false;
    }
  }
  return true;
}

/* Runs the lowered graph and compares each leaf. */
static bool agrees(const bsm_lowered *lowered, const bsm_aten_library *aten,
                   const bsm_ivalue *inputs, size_t n_inputs,
                   const bsm_ivalue *want, size_t n_want) {
  bsm_ivalue outs[MAX_VALUES];
  const size_t n = lowered->graph->block->returns->inputs.len;
  assert_true(n <= MAX_VALUES);
  bsm_status st =
      bsm_interpret_graph(lowered->graph, aten, inputs, n_inputs, outs, n);
  if (st) {
    print_error("    %s\n", bsm_status_message(st));
    bsm_status_free(st);
    return false;
  }
  if (lowered->leaf_count != n_want) {
    print_error("    %zu leaves, want %zu\n", lowered->leaf_count, n_want);
    return false;
  }
  for (size_t i = 0; i < n_want; i++) {
    const bsm_lowered_leaf *leaf = &lowered->leaves[i];
    const bsm_ivalue *got =
        leaf->is_output ? &outs[leaf->output] : &leaf->constant;
    if (!same_value(got, &want[i])) {
      return false;
    }
  }
  return true;
}

static bsm_status verify_after(void *user, const char *pass,
                               const bsm_graph *graph) {
  (void)user;
  (void)pass;
  return bsm_graph_verify(graph);
}

static void dump(const bsm_graph *graph, bsm_arena *arena) {
  bsm_text text;
  const bsm_print_options options = {true};
  bsm_text_init(&text, arena);
  bsm_graph_print(&text, graph, &options);
  print_error("%s\n", text.data);
}

/* One case of the archive, in a context of its own. */
static bool run_case(bsm_str archive, reader *cases) {
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  cases->arena = &arena;
  char name[128] = {0};
  const size_t length = (size_t)read_i64(cases);
  assert_true(length < sizeof(name) && cases->left >= length);
  memcpy(name, cases->data, length);
  cases->data += length;
  cases->left -= length;
  bsm_lowering_input inputs[8] = {{0}};
  bsm_ivalue flat[MAX_VALUES], want[MAX_VALUES];
  size_t n_flat = 0;
  const size_t n_inputs = (size_t)read_i64(cases);
  assert_true(n_inputs <= 8);
  for (size_t i = 0; i < n_inputs; i++) {
    inputs[i].name = "x";
    inputs[i].value = as_meta(&arena, read_value(cases), flat, &n_flat);
  }
  const size_t n_want = (size_t)read_i64(cases);
  assert_true(n_want <= MAX_VALUES);
  for (size_t i = 0; i < n_want; i++) {
    want[i] = read_value(cases);
  }

  bsm_limits limits = BSM_LIMITS_INIT;
  bsm_ir_ctx *cx = NULL;
  bsm_ts_module *module = NULL;
  bsm_function *method = NULL;
  bsm_graph *graph = NULL;
  bsm_aten_library *aten = NULL;
  bsm_lowered lowered = {0};
  ok(bsm_ir_ctx_create(&arena, &limits, NULL, &cx));
  ok(bsm_aten_library_create(&arena, &aten));
  ok(bsm_ts_module_read(cx, archive.data, archive.len, &module));
  ok(bsm_ts_module_method(module, name, &method));
  ok(bsm_function_graph(method, &graph));
  const bsm_lowering_options options = {aten, verify_after, NULL};
  bsm_status st =
      bsm_lower(graph, module->root, inputs, n_inputs, &options, &lowered);
  bool good = !st;
  if (st) {
    print_error("    %s\n", bsm_status_message(st));
    bsm_status_free(st);
  } else {
    good = is_flat(lowered.graph, aten) &&
           agrees(&lowered, aten, flat, n_flat, want, n_want);
    if (!good) {
      dump(lowered.graph, &arena);
    }
  }
  if (!good) {
    print_error("  FAILED: %s\n", name);
  }
  bsm_arena_destroy(&arena);
  return good;
}

static void run_archive(const char *path) {
  bsm_file_map map;
  bsm_arena arena;
  bsm_zip zip;
  bsm_str bytes = {0};
  bsm_limits limits = BSM_LIMITS_INIT;
  bsm_arena_init(&arena, NULL);
  ok(bsm_file_map_open(path, NULL, &map));
  bsm_ir_ctx *cx = NULL; /* resolves the limits */
  ok(bsm_ir_ctx_create(&arena, &limits, NULL, &cx));
  ok(bsm_zip_open(&arena, map.data, map.size, &cx->limits, &zip));
  for (size_t i = 0; i < zip.count; i++) {
    if (bsm_str_ends_with(zip.entries[i].name, BSM_STR("extra/cases.bin"))) {
      ok(bsm_zip_read(&zip, &arena, &zip.entries[i], true, &bytes));
    }
  }
  reader cases = {(const uint8_t *)bytes.data, bytes.len, NULL};
  const int64_t count = read_i64(&cases);
  int64_t failed = 0;
  for (int64_t i = 0; i < count; i++) {
    const bsm_str archive = {(const char *)map.data, map.size};
    failed += !run_case(archive, &cases);
  }
  assert_int_equal(cases.left, 0);
  bsm_file_map_close(&map);
  bsm_arena_destroy(&arena);
  if (failed) {
    print_error("%s: %d of %d cases failed\n", path, (int)failed, (int)count);
    fail();
  }
}

static void test_scripted(void **state) {
  (void)state;
  run_archive(BSM_TEST_DATA_DIR "/lowering/scripted.ts");
}

static void test_traced(void **state) {
  (void)state;
  run_archive(BSM_TEST_DATA_DIR "/lowering/traced.ts");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scripted),
      cmocka_unit_test(test_traced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
