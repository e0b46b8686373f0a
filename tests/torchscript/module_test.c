/* SPDX-License-Identifier: Apache-2.0 */
/* Whole archives: what torch wrote loads with the values that torch gives;
 * what is no archive, or a damaged one, is refused with its name. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <dirent.h>
#include <math.h>
#include <stdio.h>

#include "base/byte_order.h"
#include "tests/base/test_allocator.h"
#include "tests/torchscript/zip_builder.h"
#include "torchscript/module.h"
#include "torchscript/source_ranges.h"
#include "torchscript/zip.h"

#define DATA BSM_TEST_DATA_DIR "/torchscript/"

/* ---- files ---- */

/* A file in memory aligned as a mapped one; `shift` bytes off when wanted. */
typedef struct blob {
  uint8_t *memory, *data;
  size_t size;
} blob;

static blob read_blob(const char *name, size_t shift) {
  char path[1024];
  snprintf(path, sizeof path, DATA "%s", name);
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("cannot open %s", path);
  fseek(file, 0, SEEK_END);
  blob b = {.size = (size_t)ftell(file)};
  rewind(file);
  void *memory = NULL;
  assert_int_equal(posix_memalign(&memory, 4096, b.size + shift + 1), 0);
  b.memory = memory;
  b.data = b.memory + shift;
  assert_int_equal(fread(b.data, 1, b.size, file), b.size);
  b.data[b.size] = 0;
  fclose(file);
  return b;
}

typedef struct world {
  bsm_arena arena;
  bsm_ir_ctx *cx;
  bsm_ts_module *module;
} world;

static bsm_status load(world *w, const bsm_allocator *allocator,
                       const void *data, size_t size,
                       const bsm_ts_read_options *options) {
  *w = (world){0};
  bsm_arena_init(&w->arena, allocator);
  BSM_TRY(bsm_ir_ctx_create(&w->arena, NULL, NULL, &w->cx));
  return bsm_ts_module_read_with(w->cx, data, size, options, &w->module);
}

static void load_ok(world *w, const blob *b) {
  const bsm_status status = load(w, NULL, b->data, b->size, NULL);
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void drop(world *w, blob *b) {
  bsm_arena_destroy(&w->arena);
  free(b->memory);
}

/* ---- the dump that make_torchscript.py writes ---- */

typedef struct dump {
  bsm_arena *arena;
  BSM_VEC(const char *) lines;
} dump;

static void add_line(dump *d, const char *line) {
  assert_non_null(line);
  assert_true(bsm_vec_push(d->arena, &d->lines, line));
}

static void show_double(bsm_text *text, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  bsm_text_printf(text, "%016llx", (unsigned long long)bits);
}

static void show_numbers(bsm_text *text, const int64_t *v, int32_t n) {
  bsm_text_puts(text, "[");
  for (int32_t i = 0; i < n; i++) {
    bsm_text_printf(text, "%s%lld", i ? ", " : "", (long long)v[i]);
  }
  bsm_text_puts(text, "]");
}

static void show_tensor(dump *d, bsm_text *text, const bsm_tensor *t) {
  bsm_tensor *dense;
  bsm_text_printf(text, "tensor %s ", bsm_dtype_name(t->dtype));
  show_numbers(text, t->sizes.d, t->sizes.rank);
  bsm_text_puts(text, " ");
  show_numbers(text, t->strides, t->sizes.rank);
  assert_null(bsm_tensor_contiguous(d->arena, t, &dense));
  const size_t bytes =
      (size_t)bsm_tensor_numel(dense) * bsm_dtype_size(dense->dtype);
  uLong crc = crc32(0, NULL, 0);
  if (bytes) crc = crc32(crc, bsm_tensor_data(dense), (uInt)bytes);
  bsm_text_printf(text, " %08lx", crc);
}

static void show(dump *d, bsm_text *text, const bsm_ivalue *v);

static void show_all(dump *d, bsm_text *text, const bsm_ivalue *items, size_t n,
                     const char *brackets) {
  bsm_text_printf(text, "%c", brackets[0]);
  for (size_t i = 0; i < n; i++) {
    if (i) bsm_text_puts(text, ", ");
    show(d, text, &items[i]);
  }
  bsm_text_printf(text, "%c", brackets[1]);
}

static void show(dump *d, bsm_text *text, const bsm_ivalue *v) {
  static const char *const devices[] = {"cpu", "cuda", "other"};
  switch (v->tag) {
    case BSM_IVALUE_NONE:
      bsm_text_puts(text, "none");
      break;
    case BSM_IVALUE_BOOL:
      bsm_text_printf(text, "bool %s", v->u.b ? "true" : "false");
      break;
    case BSM_IVALUE_INT:
      bsm_text_printf(text, "int %lld", (long long)v->u.i);
      break;
    case BSM_IVALUE_DOUBLE:
      bsm_text_puts(text, "float ");
      show_double(text, v->u.d);
      break;
    case BSM_IVALUE_COMPLEX:
      bsm_text_puts(text, "complex ");
      show_double(text, v->u.c.re);
      bsm_text_puts(text, " ");
      show_double(text, v->u.c.im);
      break;
    case BSM_IVALUE_STRING:
      bsm_text_puts(text, "str ");
      for (size_t i = 0; i < v->u.s->len; i++) {
        bsm_text_printf(text, "%02x", (unsigned char)v->u.s->data[i]);
      }
      break;
    case BSM_IVALUE_DEVICE:
      bsm_text_printf(text, "device %s %d", devices[v->u.device.type],
                      v->u.device.index);
      break;
    case BSM_IVALUE_TENSOR:
      show_tensor(d, text, v->u.tensor);
      break;
    case BSM_IVALUE_LIST:
      show_all(d, text, v->u.list->items, v->u.list->len, "[]");
      break;
    case BSM_IVALUE_TUPLE:
      show_all(d, text, v->u.tuple->items, v->u.tuple->len, "()");
      break;
    case BSM_IVALUE_DICT:
      bsm_text_puts(text, "{");
      for (size_t i = 0; i < v->u.dict->len; i++) {
        if (i) bsm_text_puts(text, ", ");
        show(d, text, &v->u.dict->keys[i]);
        bsm_text_puts(text, ": ");
        show(d, text, &v->u.dict->values[i]);
      }
      bsm_text_puts(text, "}");
      break;
    case BSM_IVALUE_ENUM:
      bsm_text_puts(text, "enum ");
      show(d, text, &v->u.object->slots[1]);
      break;
    default:
      fail_msg("unexpected %s", bsm_iv_tag_name(v->tag));
  }
}

static void walk(dump *d, const char *path, const bsm_object *object) {
  const bsm_class *cls = object->type->cls;
  add_line(d, bsm_arena_printf(d->arena, "%s object %s", path, cls->name));
  assert_int_equal(object->len, cls->attributes.len);
  for (size_t i = 0; i < object->len; i++) {
    const char *name = bsm_arena_printf(d->arena, "%s.%s", path,
                                        cls->attributes.items[i].name);
    if (object->slots[i].tag == BSM_IVALUE_OBJECT) {
      walk(d, name, object->slots[i].u.object);
      continue;
    }
    bsm_text text;
    bsm_text_init(&text, d->arena);
    bsm_text_printf(&text, "%s ", name);
    show(d, &text, &object->slots[i]);
    add_line(d, text.data);
  }
}

static void add_examples(dump *d, const bsm_ts_module *module) {
  static const char *const storages[] = {
      [BSM_DTYPE_FLOAT] = "FloatStorage", [BSM_DTYPE_INT64] = "LongStorage"};
  for (size_t i = 0; i < module->example_count; i++) {
    const bsm_example_input *e = &module->examples[i];
    assert_true(e->is_tensor);
    bsm_text text;
    bsm_text_init(&text, d->arena);
    bsm_text_printf(&text, "example %zu %s ", i, storages[e->dtype]);
    show_numbers(&text, e->dims.d, e->dims.rank);
    add_line(d, text.data);
  }
}

static int compare_lines(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Loads `name` and compares it with its expectations. */
static void check_archive(const char *name, size_t shift) {
  blob b = read_blob(name, shift);
  world w;
  print_message("%s\n", name);
  load_ok(&w, &b);
  dump d = {.arena = &w.arena};
  add_line(&d, bsm_arena_printf(&w.arena, "version %lld",
                                (long long)w.module->version));
  add_examples(&d, w.module);
  walk(&d, "root", w.module->root);
  qsort(d.lines.items, d.lines.len, sizeof *d.lines.items, compare_lines);
  bsm_text text;
  bsm_text_init(&text, &w.arena);
  for (size_t i = 0; i < d.lines.len; i++) {
    bsm_text_printf(&text, "%s\n", d.lines.items[i]);
  }
  char expected[256];
  snprintf(expected, sizeof expected, "%s.txt", name);
  blob e = read_blob(expected, 0);
  assert_string_equal(text.data, (const char *)e.data);
  free(e.memory);
  drop(&w, &b);
}

static void every_archive_has_the_values_of_torch(void **state) {
  (void)state;
  if (BSM_HOST_IS_BIG) skip(); /* the archives are little-endian */
  DIR *folder = opendir(DATA);
  assert_non_null(folder);
  size_t checked = 0;
  const struct dirent *entry;
  while ((entry = readdir(folder))) {
    char name[256];
    const size_t n = strlen(entry->d_name);
    if (n < 4 || n > 200 || strcmp(entry->d_name + n - 4, ".txt") != 0 ||
        strstr(entry->d_name, ".ranges.")) {
      continue;
    }
    snprintf(name, sizeof name, "%.*s", (int)n - 4, entry->d_name);
    check_archive(name, 0);
    check_archive(name, 1); /* nothing in place */
    checked++;
  }
  closedir(folder);
  assert_in_range(checked, 16, 100);
}

/* ---- weights ---- */

static const bsm_tensor *attribute(const world *w, const char *name) {
  const bsm_object *root = w->module->root;
  const int64_t i = bsm_class_find_attribute(root->type->cls, name);
  assert_true(i >= 0 && root->slots[i].tag == BSM_IVALUE_TENSOR);
  return root->slots[i].u.tensor;
}

static bool inside(const blob *b, const void *p) {
  return (const uint8_t *)p >= b->data &&
         (const uint8_t *)p < b->data + b->size;
}

static void quantized_tensors_keep_their_grid(void **state) {
  (void)state;
  blob b = read_blob("v211_qtensor.pt", 0);
  world w;
  load_ok(&w, &b);
  const bsm_tensor *q = attribute(&w, "q");
  assert_int_equal(q->dtype, BSM_DTYPE_QUINT8);
  assert_non_null(q->quantizer);
  assert_true(fabs(q->quantizer->scale - 0.1) < 1e-12);
  assert_int_equal(q->quantizer->zero_point, 3);
  assert_null(q->quantizer->scales);
  assert_int_equal(((const uint8_t *)bsm_tensor_data(q))[1], 13);
  q = attribute(&w, "qc");
  assert_int_equal(q->dtype, BSM_DTYPE_QINT8);
  assert_non_null(q->quantizer);
  assert_int_equal(q->quantizer->axis, 0);
  assert_true(fabs(bsm_tensor_get_double(q->quantizer->scales, 1) - 0.2) <
              1e-6);
  assert_int_equal(bsm_tensor_get_int(q->quantizer->zero_points, 1), 1);
  assert_int_equal(((const int8_t *)bsm_tensor_data(q))[1], -12);
  drop(&w, &b);
}

/* Saved as x.conj(), whose storage holds x. */
static void lazy_conjugates_are_resolved(void **state) {
  (void)state;
  blob b = read_blob("v211_tensors.pt", 0);
  world w;
  load_ok(&w, &b);
  const bsm_tensor *t = attribute(&w, "cj");
  assert_int_equal(t->dtype, BSM_DTYPE_COMPLEX_FLOAT);
  const float *values = bsm_tensor_data(t);
  assert_true(fabsf(values[0] - 1.4087f) < 1e-3f);
  assert_true(fabsf(values[1] + 1.1647f) < 1e-3f);
  assert_true(fabsf(values[3] - 0.0401f) < 1e-3f);
  drop(&w, &b);
}

static void weights_are_used_in_place(void **state) {
  (void)state;
  if (BSM_HOST_IS_BIG) skip(); /* the archives are little-endian */
  blob b = read_blob("traced.pt", 0);
  world w;
  load_ok(&w, &b);
  const bsm_tensor *weight = attribute(&w, "weight");
  assert_true(inside(&b, bsm_tensor_data(weight)));
  assert_true(weight->storage->read_only);
  drop(&w, &b);
  /* Misaligned: a copy that is aligned. */
  b = read_blob("traced.pt", 3);
  load_ok(&w, &b);
  weight = attribute(&w, "weight");
  assert_false(inside(&b, bsm_tensor_data(weight)));
  assert_false(weight->storage->read_only);
  assert_int_equal((uintptr_t)bsm_tensor_data(weight) % 16, 0);
  assert_true(bsm_tensor_get_double(weight, 53) == 53);
  drop(&w, &b);
}

/* The arena of a loaded archive does not grow with its weights. */
static void weights_cost_no_memory(void **state) {
  (void)state;
  if (BSM_HOST_IS_BIG) skip(); /* the archives are little-endian */
  static const char class_text[] =
      "class M(Module):\n  __parameters__ = [\"w\", ]\n  __buffers__ = []\n"
      "  w : Tensor\n";
  static const char pickle[] =
      "\x80\x02"
      "c__torch__\nM\n)\x81}(X\1\0\0\0wctorch._utils\n"
      "_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\n"
      "X\1\0\0\0"
      "0X\3\0\0\0cpuJ\0\0\x40\0tQK\0(J\0\0\x40\0t(K\1t\x89"
      "ccollections\nOrderedDict\n)RtRub.";
  const size_t size = (size_t)16 << 20;
  uint8_t *weights = calloc(1, size);
  assert_non_null(weights);
  const zip_member members[] = {
      {.name = "m/data.pkl", .data = pickle, .size = sizeof pickle - 1},
      {.name = "m/code/__torch__.py",
       .data = class_text,
       .size = sizeof class_text - 1},
      {.name = "m/constants.pkl", .data = "\x80\x02).", .size = 4},
      {.name = "m/version", .data = "3\n", .size = 2},
      {.name = "m/data/0", .data = weights, .size = size, .align = 64}};
  zip_builder z;
  zip_build(&z, members, 5, 1);
  void *memory = NULL;
  assert_int_equal(posix_memalign(&memory, 4096, z.len), 0);
  memcpy(memory, z.data, z.len);
  world w;
  const bsm_status status = load(&w, NULL, memory, z.len, NULL);
  if (status) fail_msg("%s", bsm_status_message(status));
  assert_int_equal(bsm_tensor_numel(attribute(&w, "w")), 1 << 22);
  assert_in_range(w.arena.total, 0, (size_t)8 << 20);
  bsm_arena_destroy(&w.arena);
  free(memory);
  free(z.data);
  free(weights);
}

/* ---- methods, source lines, __setstate__ ---- */

static void methods_are_found_or_listed(void **state) {
  (void)state;
  blob b = read_blob("traced.pt", 0);
  world w;
  load_ok(&w, &b);
  bsm_function *forward;
  assert_null(bsm_ts_module_method(w.module, "forward", &forward));
  assert_string_equal(forward->name, "forward");
  const bsm_status status =
      bsm_ts_module_method(w.module, "backward", &forward);
  assert_int_equal(bsm_status_code(status), BSM_NOT_FOUND);
  assert_non_null(strstr(bsm_status_message(status), "forward"));
  bsm_status_free(status);
  drop(&w, &b);
}

static void check_ranges(const char *name) {
  blob b = read_blob(name, 0);
  char path[256];
  snprintf(path, sizeof path, "%s.ranges.txt", name);
  blob expected = read_blob(path, 0);
  world w;
  load_ok(&w, &b);
  bsm_zip zip;
  bsm_text text;
  assert_null(bsm_zip_open(&w.arena, b.data, b.size, NULL, &zip));
  bsm_text_init(&text, &w.arena);
  for (size_t i = 0; i < zip.count; i++) {
    const bsm_str member = zip.entries[i].name;
    if (!bsm_str_ends_with(member, BSM_STR(".debug_pkl"))) continue;
    const char *slash = memchr(member.data, '/', member.len);
    const size_t skip = (size_t)(slash - member.data) + 1;
    bsm_str bytes;
    bsm_source_ranges ranges;
    assert_null(bsm_zip_read(&zip, &w.arena, &zip.entries[i], true, &bytes));
    assert_null(
        bsm_source_ranges_read(&w.arena, w.cx->types, bytes, NULL, &ranges));
    for (size_t k = 0; k < ranges.ranges.len; k++) {
      const bsm_source_range *r = &ranges.ranges.items[k];
      bsm_text_printf(&text, "%.*s %llu %s %u\n", (int)(member.len - skip),
                      member.data + skip, (unsigned long long)r->offset,
                      r->file ? r->file : "-", r->line);
      assert_ptr_equal(bsm_source_ranges_find(&ranges, r->offset), r);
    }
  }
  assert_string_equal(text.data, (const char *)expected.data);
  free(expected.memory);
  drop(&w, &b);
}

static void debug_files_give_python_lines(void **state) {
  (void)state;
  check_ranges("v14_net.pt"); /* flat layout */
  check_ranges("traced.pt");  /* string table */
  check_ranges("scripted.pt");
}

static void malformed_debug_files_give_less(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t size, ranges;
  } cases[] = {
#define CASE(text, n) {text, sizeof(text) - 1, n}
      CASE("", 0),
      CASE("\x80\x02N.", 0),
      CASE("\x80\x02(NK\1t.", 0),
      CASE("\x80\x02"
           "cos\nsystem\n.",
           0),
      /* One good range, one whose text index is wrong, one out of order. */
      CASE("\x80\x02X\x18\0\0\0FORMAT_WITH_STRING_TABLE"
           "(X\1\0\0\0aX\2\0\0\0\n\nt"
           "((K\5((](K\1eK\0K\3tK\2K\2ttt"
           "(K\6((](K\7eK\0K\3tK\2K\2ttt"
           "(K\4((](K\1eK\0K\3tK\2K\2ttt"
           "t\x87.",
           0),
#undef CASE
  };
  bsm_arena arena;
  bsm_ir_ctx *cx;
  bsm_arena_init(&arena, NULL);
  assert_null(bsm_ir_ctx_create(&arena, NULL, NULL, &cx));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bsm_source_ranges ranges;
    assert_null(bsm_source_ranges_read(&arena, cx->types,
                                       (bsm_str){cases[i].bytes, cases[i].size},
                                       NULL, &ranges));
    assert_int_equal(ranges.ranges.len, cases[i].ranges);
    assert_null(bsm_source_ranges_find(&ranges, 3));
  }
  bsm_arena_destroy(&arena);
}

/* Stands for an interpreter: keeps the state it is given in every slot. */
static bsm_status keep_state(void *user, bsm_function *method,
                             bsm_object *object, bsm_ivalue state) {
  assert_string_equal(method->name, "__setstate__");
  ++*(int *)user;
  for (size_t i = 0; i < object->len; i++) object->slots[i] = state;
  return BSM_OK;
}

static void set_state_needs_an_interpreter(void **state) {
  (void)state;
  blob b = read_blob("v211_getstate.pt", 0);
  world w;
  bsm_status status = load(&w, NULL, b.data, b.size, NULL);
  assert_int_equal(bsm_status_code(status), BSM_UNSUPPORTED);
  assert_non_null(strstr(bsm_status_message(status), "__torch__."));
  assert_non_null(strstr(bsm_status_message(status), "__setstate__"));
  bsm_status_free(status);
  bsm_arena_destroy(&w.arena);
  int calls = 0;
  const bsm_ts_read_options options = {&calls, keep_state};
  status = load(&w, NULL, b.data, b.size, &options);
  /* What was kept is not what the attributes are declared to be. */
  assert_int_equal(calls, 1);
  assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
  assert_non_null(strstr(bsm_status_message(status), "after its __setstate__"));
  bsm_status_free(status);
  drop(&w, &b);
}

/* ---- what is refused ---- */

static void expect_failure(const void *data, size_t size, bsm_code code,
                           const char *text) {
  world w;
  const bsm_status status = load(&w, NULL, data, size, NULL);
  if (bsm_status_code(status) != code ||
      !strstr(bsm_status_message(status), text)) {
    fail_msg("%s: %s, expected %s with \"%s\"",
             bsm_code_name(bsm_status_code(status)), bsm_status_message(status),
             bsm_code_name(code), text);
  }
  assert_null(w.module);
  bsm_status_free(status);
  bsm_arena_destroy(&w.arena);
}

static void archives_beyond_us_are_refused_by_name(void **state) {
  (void)state;
  static const struct {
    const char *name, *text;
  } cases[] = {
      {"v211_dt.pt", "UInt16Storage"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blob b = read_blob(cases[i].name, 0);
    expect_failure(b.data, b.size, BSM_UNSUPPORTED, cases[i].text);
    expect_failure(b.data, b.size, BSM_UNSUPPORTED, "attribute ");
    free(b.memory);
  }
}

static void other_files_are_named(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t size;
    bsm_code code;
    const char *text;
  } cases[] = {
#define CASE(text, code, message) {text, sizeof(text) - 1, code, message}
      CASE("", BSM_CORRUPT, "empty"),
      CASE("x", BSM_CORRUPT, "zip archive"),
      CASE("PYTORCH1....", BSM_UNSUPPORTED, "preview"),
      CASE("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.",
           BSM_UNSUPPORTED, "legacy format of torch.save"),
      CASE("\x80\x02}q\0.", BSM_UNSUPPORTED, "plain pickle"),
      CASE("\x80\x04\x95", BSM_UNSUPPORTED, "plain pickle"),
      CASE("graph(%x : Tensor):", BSM_UNSUPPORTED, ".ir"),
      CASE("\x93NUMPY\1", BSM_UNSUPPORTED, "NumPy"),
      CASE("version https://git-lfs.github.com/spec/v1", BSM_UNSUPPORTED,
           "git lfs pull"),
      CASE("<!DOCTYPE html>", BSM_UNSUPPORTED, "HTML"),
      CASE("\x1f\x8b\x08", BSM_UNSUPPORTED, "gzip"),
      CASE("\x40\0\0\0\0\0\0\0{\"a\":1}", BSM_UNSUPPORTED, "safetensors"),
      CASE("PK\3\4", BSM_CORRUPT, "zip"),
#undef CASE
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    expect_failure(cases[i].bytes, cases[i].size, cases[i].code, cases[i].text);
  }
}

static void other_zip_archives_are_named(void **state) {
  (void)state;
  static const struct {
    const char *names[3];
    const char *text;
  } cases[] = {
      {{NULL}, "empty zip"},
      {{"m/data.pkl", "m/data/0", "m/version"}, "torch.save"},
      {{"m/version", "m/model.json"}, "1.1"},
      {{"m/version", "m/attributes.pkl", "m/constants.pkl"}, "1.2"},
      {{"m/archive_format", "m/models/model.json"}, "torch.export"},
      {{"m/archive_format", "m/data.pkl", "m/constants.pkl"}, "torch.export"},
      {{"serialized_exported_program.json", "version"}, "torch.export"},
      {{"m/bytecode.pkl"}, "without its code"},
      {{"m/.data/extern_modules"}, "torch.package"},
      {{"arr_0.npy", "arr_1.npy"}, "NumPy"},
      {{"a.txt"}, "no constants.pkl"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    zip_member members[3] = {{0}};
    size_t n = 0;
    while (n < 3 && cases[i].names[n]) {
      members[n] =
          (zip_member){.name = cases[i].names[n], .data = "x", .size = 1};
      n++;
    }
    zip_builder z;
    zip_build(&z, members, n, 0);
    expect_failure(z.data, z.len, BSM_UNSUPPORTED, cases[i].text);
    free(z.data);
  }
}

/* An archive of these parts; NULL leaves one out. */
typedef struct parts {
  const char *version, *byteorder, *code;
  bsm_str constants, data;
} parts;

#define BYTES(text) \
  { text, sizeof(text) - 1 }
static const parts good = {
    "3\n", "little",
    "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
    "  training : bool\n",
    BYTES("\x80\x02)."),
    BYTES("\x80\x02"
          "c__torch__\nM\n)\x81}(X\x08\0\0\0training\x88ub.")};

static void build(zip_builder *z, const parts *p) {
  zip_member m[5];
  size_t n = 0;
  m[n++] = (zip_member){
      .name = "m/data.pkl", .data = p->data.data, .size = p->data.len};
  m[n++] = (zip_member){.name = "m/constants.pkl",
                        .data = p->constants.data,
                        .size = p->constants.len};
  if (p->version) {
    m[n++] = (zip_member){
        .name = "m/version", .data = p->version, .size = strlen(p->version)};
  }
  if (p->byteorder) {
    m[n++] = (zip_member){.name = "m/byteorder",
                          .data = p->byteorder,
                          .size = strlen(p->byteorder)};
  }
  if (p->code) {
    m[n++] = (zip_member){.name = "m/code/__torch__.py",
                          .data = p->code,
                          .size = strlen(p->code)};
  }
  zip_build(z, m, n, 1);
}

static void expect_parts(parts p, bsm_code code, const char *text) {
  zip_builder z;
  build(&z, &p);
  if (code == BSM_CODE_OK) {
    world w;
    const bsm_status status = load(&w, NULL, z.data, z.len, NULL);
    if (status) fail_msg("%s", bsm_status_message(status));
    assert_string_equal(w.module->root->type->name, "__torch__.M");
    bsm_arena_destroy(&w.arena);
  } else {
    expect_failure(z.data, z.len, code, text);
  }
  free(z.data);
}

static void wrong_parts_are_refused(void **state) {
  (void)state;
  expect_parts(good, BSM_CODE_OK, NULL);
  parts p = good;
  p.byteorder = NULL;
  expect_parts(p, BSM_CODE_OK, NULL);
  p.byteorder = "big";
  expect_parts(p, BSM_CODE_OK, NULL);
  p.byteorder = "middle";
  expect_parts(p, BSM_CORRUPT, "byteorder");
  p = good;
  static const char *const versions[] = {"1", "10", "10\n"};
  for (size_t i = 0; i < 3; i++) {
    p.version = versions[i];
    expect_parts(p, BSM_CODE_OK, NULL);
  }
  static const char *const wrong[] = {"0", "11", "-1", "4294967299"};
  for (size_t i = 0; i < 4; i++) {
    p.version = wrong[i];
    expect_parts(p, BSM_VERSION, "versions 1 to 10");
  }
  p.version = "three";
  expect_parts(p, BSM_CORRUPT, "version");
  p.version = NULL;
  expect_parts(p, BSM_CORRUPT, "version");
  p = good;
  p.constants = (bsm_str)BYTES("\x80\x02N.");
  expect_parts(p, BSM_CORRUPT, "not a tuple");
  p = good;
  p.data = (bsm_str)BYTES("\x80\x02K\1.");
  expect_parts(p, BSM_CORRUPT, "not a module");
  p.data = (bsm_str)BYTES(
      "\x80\x02"
      "cos\nsystem\nX\2\0\0\0id\x85R.");
  expect_parts(p, BSM_CORRUPT, "os.system");
  p.data = (bsm_str)BYTES(
      "\x80\x02"
      "c__torch__\nN\n)\x81}b.");
  expect_parts(p, BSM_NOT_FOUND, "__torch__.N");
  p = good;
  p.code = NULL;
  expect_parts(p, BSM_NOT_FOUND, "__torch__.M");
  p.code = "class M(Module):\n  training : int\n";
  expect_parts(p, BSM_CORRUPT, "training");
  p.code = "class M(Module)\n";
  expect_parts(p, BSM_CORRUPT, "code/__torch__.py");
}

/* ---- hostile ---- */

static void every_truncation_is_refused(void **state) {
  (void)state;
  blob b = read_blob("v113_function.pt", 0);
  for (size_t size = 0; size < b.size; size++) {
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size) memcpy(copy, b.data, size);
    world w;
    const bsm_status status = load(&w, NULL, copy, size, NULL);
    assert_int_equal(bsm_status_code(status), BSM_CORRUPT);
    bsm_status_free(status);
    bsm_arena_destroy(&w.arena);
    free(copy);
  }
  free(b.memory);
}

static void every_flipped_bit_is_survived(void **state) {
  (void)state;
  blob b = read_blob("v113_function.pt", 0);
  for (size_t bit = 0; bit < b.size * 8; bit++) {
    b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    world w;
    bsm_status_free(load(&w, NULL, b.data, b.size, NULL));
    bsm_arena_destroy(&w.arena);
    b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  free(b.memory);
}

/* The CRC stops most flips before the parsers see them: flip inside the
 * members and write the archive anew around them. */
static void every_flipped_byte_of_a_member_is_survived(void **state) {
  (void)state;
  size_t accepted = 0;
  for (size_t part = 0; part < 3; part++) {
    const bsm_str original = part == 0   ? good.data
                             : part == 1 ? good.constants
                                         : bsm_str_of(good.code);
    for (size_t i = 0; i < original.len * 8; i++) {
      char copy[256] = {0};
      memcpy(copy, original.data, original.len);
      copy[i / 8] = (char)(copy[i / 8] ^ 1 << i % 8);
      parts p = good;
      if (part == 0) p.data = (bsm_str){copy, original.len};
      if (part == 1) p.constants = (bsm_str){copy, original.len};
      if (part == 2) p.code = copy;
      zip_builder z;
      build(&z, &p);
      world w;
      const bsm_status status = load(&w, NULL, z.data, z.len, NULL);
      accepted += status == NULL;
      bsm_status_free(status);
      bsm_arena_destroy(&w.arena);
      free(z.data);
    }
  }
  assert_in_range(accepted, 1, 1000);
}

static void running_out_of_memory_is_a_status(void **state) {
  (void)state;
  static const char *const names[] = {"v211_misc.pt", "rezipped.pt",
                                      "traced.pt"};
  for (size_t i = 0; i < 3; i++) {
    blob b = read_blob(names[i], 0);
    bool succeeded = false;
    for (int n = 0; !succeeded; n++) {
      assert_in_range(n, 0, 100000);
      test_allocator allocator;
      test_allocator_init(&allocator, n);
      world w;
      const bsm_status status = load(&w, &allocator.base, b.data, b.size, NULL);
      succeeded = !status;
      if (status) {
        assert_int_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
      }
      bsm_status_free(status);
      bsm_arena_destroy(&w.arena);
      assert_int_equal(allocator.live, 0);
    }
    free(b.memory);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_archive_has_the_values_of_torch),
      cmocka_unit_test(quantized_tensors_keep_their_grid),
      cmocka_unit_test(lazy_conjugates_are_resolved),
      cmocka_unit_test(weights_are_used_in_place),
      cmocka_unit_test(weights_cost_no_memory),
      cmocka_unit_test(methods_are_found_or_listed),
      cmocka_unit_test(debug_files_give_python_lines),
      cmocka_unit_test(malformed_debug_files_give_less),
      cmocka_unit_test(set_state_needs_an_interpreter),
      cmocka_unit_test(archives_beyond_us_are_refused_by_name),
      cmocka_unit_test(other_files_are_named),
      cmocka_unit_test(other_zip_archives_are_named),
      cmocka_unit_test(wrong_parts_are_refused),
      cmocka_unit_test(every_truncation_is_refused),
      cmocka_unit_test(every_flipped_bit_is_survived),
      cmocka_unit_test(every_flipped_byte_of_a_member_is_survived),
      cmocka_unit_test(running_out_of_memory_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
