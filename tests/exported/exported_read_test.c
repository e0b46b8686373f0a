/* SPDX-License-Identifier: Apache-2.0 */
/* Archives of torch.export: what torch wrote is read as torch reads it. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>

#include "tests/base/test_allocator.h"
#include "tests/exported/exported_world.h"

static void load_ok(exported_world *w, const exported_blob *b,
                    const char *model) {
  const bsm_status status =
      exported_load(w, NULL, NULL, b->data, b->size, model);
  if (status) fail_msg("%s", bsm_status_message(status));
}

static void drop(exported_world *w, exported_blob *b) {
  bsm_arena_destroy(&w->arena);
  free(b->memory);
}

/* ---- the dump that make_exported.py writes ---- */

/* PyTorch wrote the dumps on a little-endian machine. */
static void reverse_numbers(uint8_t *data, size_t bytes, bsm_dtype dtype) {
  const size_t width =
      bsm_dtype_size(dtype) / (bsm_dtype_is_complex(dtype) ? 2 : 1);
  for (size_t at = 0; at < bytes; at += width) {
    for (size_t i = 0; i < width / 2; i++) {
      const uint8_t low = data[at + i];
      data[at + i] = data[at + width - 1 - i];
      data[at + width - 1 - i] = low;
    }
  }
}

static void show_tensor(bsm_text *text, const bsm_tensor *t) {
  bsm_tensor *dense;
  bsm_text_printf(text, "tensor %s [", bsm_dtype_name(t->dtype));
  for (int32_t i = 0; i < t->sizes.rank; i++) {
    bsm_text_printf(text, "%s%lld", i ? ", " : "", (long long)t->sizes.d[i]);
  }
  bsm_text_puts(text, "] [");
  for (int32_t i = 0; i < t->sizes.rank; i++) {
    bsm_text_printf(text, "%s%lld", i ? ", " : "", (long long)t->strides[i]);
  }
  assert_null(bsm_tensor_clone(text->arena, t, &dense));
  const size_t bytes =
      (size_t)bsm_tensor_numel(dense) * bsm_dtype_size(dense->dtype);
  uLong crc = crc32(0, NULL, 0);
  if (bytes) {
    uint8_t *data = bsm_tensor_data(dense);
    if (BSM_HOST_IS_BIG) reverse_numbers(data, bytes, dense->dtype);
    crc = crc32(crc, data, (uInt)bytes);
  }
  bsm_text_printf(text, "] %08lx", crc);
}

static void show_double(bsm_text *text, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  bsm_text_printf(text, "%016llx", (unsigned long long)bits);
}

static void show(bsm_text *text, const bsm_ivalue *v);

static void show_all(bsm_text *text, const bsm_ivalue *items, size_t n,
                     const bsm_ivalue *keys, const char *brackets) {
  bsm_text_printf(text, "%c", brackets[0]);
  for (size_t i = 0; i < n; i++) {
    if (i) bsm_text_puts(text, ", ");
    if (keys) {
      bsm_iv_print(text, &keys[i]);
      bsm_text_puts(text, ": ");
    }
    show(text, &items[i]);
  }
  bsm_text_printf(text, "%c", brackets[1]);
}

static void show(bsm_text *text, const bsm_ivalue *v) {
  switch (v->tag) {
    case BSM_IVALUE_TENSOR:
      show_tensor(text, v->u.tensor);
      break;
    case BSM_IVALUE_LIST:
      show_all(text, v->u.list->items, v->u.list->len, NULL, "[]");
      break;
    case BSM_IVALUE_TUPLE:
      show_all(text, v->u.tuple->items, v->u.tuple->len, NULL, "()");
      break;
    case BSM_IVALUE_DICT:
      show_all(text, v->u.dict->values, v->u.dict->len, v->u.dict->keys, "{}");
      break;
    case BSM_IVALUE_DOUBLE:
      show_double(text, v->u.d);
      break;
    default:
      bsm_iv_print(text, v);
  }
}

static void show_tree(bsm_text *text, const bsm_exported_tree *t) {
  static const char *const names[] = {"*", "tuple", "list", "dict", "", ""};
  const char *name = names[t->kind];
  bsm_text_puts(text, *name ? name : t->type_name);
  if (t->kind == BSM_EXPORTED_TREE_LEAF) return;
  bsm_text_puts(text, "(");
  for (size_t i = 0; i < t->child_count; i++) {
    if (i) bsm_text_puts(text, ", ");
    if (t->keys) {
      bsm_iv_print(text, &t->keys[i]);
      bsm_text_puts(text, ": ");
    }
    if (t->field_names) bsm_text_printf(text, "%s=", t->field_names[i]);
    show_tree(text, &t->children[i]);
  }
  bsm_text_puts(text, ")");
}

static void show_names(bsm_text *text, const char *const *names, size_t n) {
  bsm_text_puts(text, "[");
  for (size_t i = 0; i < n; i++) {
    bsm_text_printf(text, "%s%s", i ? ", " : "", names[i] ? names[i] : "None");
  }
  bsm_text_puts(text, "]");
}

static void show_sym(bsm_text *text, const bsm_exported_sym_arg *sym) {
  if (sym->name) {
    bsm_text_puts(text, sym->name);
  } else {
    bsm_text_printf(text, "%lld", (long long)sym->number.i);
  }
}

static void show_arg(bsm_text *text, const bsm_exported_arg *arg) {
  switch (arg->tag) {
    case BSM_EXPORTED_NONE:
      bsm_text_puts(text, "as_none");
      break;
    case BSM_EXPORTED_TENSOR:
      bsm_text_printf(text, "as_tensor %s", arg->u.s);
      break;
    case BSM_EXPORTED_TENSORS:
      bsm_text_puts(text, "as_tensors ");
      show_names(text, arg->u.strings.items, arg->u.strings.len);
      break;
    case BSM_EXPORTED_OPTIONAL_TENSORS:
      bsm_text_puts(text, "as_optional_tensors ");
      show_names(text, arg->u.strings.items, arg->u.strings.len);
      break;
    case BSM_EXPORTED_INT:
      bsm_text_printf(text, "as_int %lld", (long long)arg->u.i);
      break;
    case BSM_EXPORTED_INTS:
      bsm_text_puts(text, "as_ints [");
      for (size_t i = 0; i < arg->u.ints.len; i++) {
        bsm_text_printf(text, "%s%lld", i ? ", " : "",
                        (long long)arg->u.ints.items[i]);
      }
      bsm_text_puts(text, "]");
      break;
    case BSM_EXPORTED_FLOAT:
      bsm_text_puts(text, "as_float ");
      show_double(text, arg->u.d);
      break;
    case BSM_EXPORTED_FLOATS:
      bsm_text_puts(text, "as_floats [");
      for (size_t i = 0; i < arg->u.floats.len; i++) {
        if (i) bsm_text_puts(text, ", ");
        show_double(text, arg->u.floats.items[i]);
      }
      bsm_text_puts(text, "]");
      break;
    case BSM_EXPORTED_STRING:
      bsm_text_printf(text, "as_string %s", arg->u.s);
      break;
    case BSM_EXPORTED_SYM_INT:
      bsm_text_puts(text, "as_sym_int ");
      show_sym(text, &arg->u.sym);
      break;
    case BSM_EXPORTED_SYM_INTS:
      bsm_text_puts(text, "as_sym_ints [");
      for (size_t i = 0; i < arg->u.syms.len; i++) {
        if (i) bsm_text_puts(text, ", ");
        show_sym(text, &arg->u.syms.items[i]);
      }
      bsm_text_puts(text, "]");
      break;
    case BSM_EXPORTED_SCALAR_TYPE:
      bsm_text_printf(text, "as_scalar_type %s", arg->u.dtype.name);
      assert_string_equal(arg->u.dtype.name,
                          bsm_dtype_name(arg->u.dtype.dtype));
      break;
    case BSM_EXPORTED_MEMORY_FORMAT:
      bsm_text_printf(text, "as_memory_format %lld", (long long)arg->u.i);
      break;
    case BSM_EXPORTED_LAYOUT:
      bsm_text_printf(text, "as_layout %lld", (long long)arg->u.i);
      break;
    case BSM_EXPORTED_DEVICE:
      bsm_text_puts(text, arg->u.device.type == 0 ? "as_device cpu" : "?");
      break;
    case BSM_EXPORTED_BOOL:
      bsm_text_puts(text, arg->u.b ? "as_bool True" : "as_bool False");
      break;
    case BSM_EXPORTED_GRAPH:
      bsm_text_printf(text, "as_graph %s", arg->u.graph->name);
      for (size_t i = 0; i < arg->u.graph->node_count; i++) {
        bsm_text_printf(text, " %s", arg->u.graph->nodes[i].target);
      }
      break;
    default:
      fail_msg("tag %d", arg->tag);
  }
}

static void show_input(bsm_text *text, const bsm_exported_input_spec *spec) {
  bsm_text_printf(text, "input %d %s", spec->kind, spec->name);
  if (spec->target) {
    bsm_text_printf(text, " %s %d ", spec->target, spec->persistent);
    show_tensor(text, spec->tensor);
  }
  if (spec->kind == BSM_EXPORTED_CONSTANT_INPUT) {
    const bsm_exported_arg *arg = &spec->arg;
    if (arg->tag == BSM_EXPORTED_STRING) {
      bsm_text_printf(text, " %s", arg->u.s);
    } else if (arg->tag == BSM_EXPORTED_BOOL) {
      bsm_text_puts(text, arg->u.b ? " True" : " False");
    } else if (arg->tag == BSM_EXPORTED_INT) {
      bsm_text_printf(text, " %lld", (long long)arg->u.i);
    } else {
      assert_int_equal(arg->tag, BSM_EXPORTED_NONE);
      bsm_text_puts(text, " None");
    }
  }
  bsm_text_puts(text, "\n");
}

static void show_node(bsm_text *text, const bsm_exported_node *node) {
  bsm_text_printf(text, "node %s = %s\n", node->name, node->target);
  for (size_t i = 0; i < node->input_count; i++) {
    const bsm_exported_named_arg *input = &node->inputs[i];
    bsm_text_printf(text, "  in %s %d ", input->name, input->kind);
    show_arg(text, &input->arg);
    bsm_text_puts(text, "\n");
  }
  for (size_t i = 0; i < node->output_count; i++) {
    bsm_text_puts(text, "  out ");
    show_arg(text, &node->outputs[i]);
    bsm_text_puts(text, "\n");
  }
  const char *file = node->source.python_file;
  if (file && strcmp(file, "models.py") == 0) {
    bsm_text_printf(text, "  line %u\n", node->source.python_line);
  }
}

/* "value x float32 [s77, 4]" */
static void show_value(bsm_text *text, const bsm_exported_program *p,
                       const char *name, const bsm_exported_meta *meta) {
  bsm_text_printf(text, "value %s %s [", name, meta->dtype_name);
  for (size_t i = 0; i < meta->rank; i++) {
    if (i) bsm_text_puts(text, ", ");
    if (meta->sizes[i].expr) {
      bsm_sym_print(text, meta->sizes[i].expr, &p->symbols);
    } else {
      bsm_text_printf(text, "%lld", (long long)meta->sizes[i].number.i);
    }
  }
  bsm_text_puts(text, "]");
}

static void show_program(bsm_text *text, const bsm_exported_program *p) {
  for (size_t i = 0; i < p->input_count; i++) show_input(text, &p->inputs[i]);
  for (size_t i = 0; i < p->output_count; i++) {
    const bsm_exported_output_spec *spec = &p->outputs[i];
    const bool is_sym = spec->arg.tag == BSM_EXPORTED_SYM_INT;
    bsm_text_printf(text, "output %d %s %s\n", spec->kind,
                    is_sym ? spec->arg.u.sym.name : spec->arg.u.s,
                    spec->target ? spec->target : "None");
  }
  for (size_t i = 0; i < p->symbols.symbols.len; i++) {
    const bsm_symbol *s = &p->symbols.symbols.items[i];
    assert_true(s->has_range);
    bsm_text_printf(text, "symbol %s %lld %lld\n", s->name, (long long)s->min,
                    (long long)s->max);
  }
  bsm_text_puts(text, "in ");
  show_tree(text, p->in_tree);
  bsm_text_puts(text, "\nout ");
  show_tree(text, p->out_tree);
  bsm_text_puts(text, "\nargs ");
  assert_true(p->has_examples);
  show_all(text, p->example_args->items, p->example_args->len, NULL, "()");
  bsm_text_puts(text, "\nkwargs ");
  show_all(text, p->example_kwargs->values, p->example_kwargs->len,
           p->example_kwargs->keys, "{}");
  bsm_text_puts(text, "\n");
  for (size_t i = 0; i < p->graph->node_count; i++) {
    show_node(text, &p->graph->nodes[i]);
  }
}

/* A "value" line of the expectations against what the graph says. */
static void expect_meta(const exported_world *w, const char *line, size_t len) {
  char name[128];
  assert_int_equal(sscanf(line, "value %127s", name), 1);
  const bsm_exported_meta *meta = bsm_exported_tensor(w->program->graph, name);
  if (!meta) fail_msg("nothing is known of %s", name);
  bsm_text text;
  bsm_text_init(&text, w->cx->arena);
  show_value(&text, w->program, name, meta);
  if (text.len != len || memcmp(text.data, line, len) != 0) {
    fail_msg("%s, expected %.*s", text.data, (int)len, line);
  }
}

/* All lines but those of values, which torch orders by their nodes. */
static void expect_dump(const exported_world *w, const char *name) {
  exported_blob expected = exported_file(name, 0);
  bsm_text text;
  bsm_text_init(&text, w->cx->arena);
  show_program(&text, w->program);
  const char *got = text.data, *line = (const char *)expected.data;
  size_t values = 0;
  while (*line) {
    const size_t len = strcspn(line, "\n");
    if (strncmp(line, "value ", 6) == 0) {
      expect_meta(w, line, len);
      values++;
    } else {
      const size_t n = strcspn(got, "\n");
      if (n != len || memcmp(got, line, len) != 0) {
        fail_msg("%s:\n%.*s\nexpected\n%.*s", name, (int)n, got, (int)len,
                 line);
      }
      got += n + (got[n] == '\n');
    }
    line += len + (line[len] == '\n');
  }
  assert_int_equal(*got, 0);
  assert_in_range(values, 2, 1000);
  free(expected.memory);
}

static const struct {
  const char *archive, *dump;
} files[] = {
    {"arguments.pt2", "arguments.txt"},
    {"functional.pt2", "functional.txt"},
    {"dtypes.pt2", "dtypes.txt"},
    {"cnn_211.pt2", "cnn_211.txt"},
    {"ops_211.pt2", "ops_211.txt"},
    /* Of another version; and one program in other wrappings. */
    {"cnn_215.pt2", "cnn_215.txt"},
    {"old.pt2", "arguments.txt"},
    {"saved.pt2", "arguments.txt"},
    {"rezipped.pt2", "arguments.txt"},
};

static void every_archive_is_read_as_torch_reads_it(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    for (size_t shift = 0; shift < 2; shift++) {
      exported_blob b = exported_file(files[i].archive, shift);
      exported_world w;
      assert_true(bsm_exported_is_archive(b.data, b.size));
      load_ok(&w, &b, NULL);
      expect_dump(&w, files[i].dump);
      drop(&w, &b);
    }
  }
}

/* Strides are what torch.save keeps; the rest is the same. */
static void pickled_weights_have_their_values(void **state) {
  (void)state;
  exported_blob b = exported_file("pickled.pt2", 0);
  exported_world w;
  load_ok(&w, &b, NULL);
  const bsm_exported_program *p = w.program;
  for (size_t i = 0; i < p->input_count; i++) {
    if (p->inputs[i].kind != BSM_EXPORTED_PARAMETER) continue;
    const bsm_tensor *t = p->inputs[i].tensor;
    assert_int_equal(bsm_tensor_numel(t), 12);
    for (int64_t k = 0; k < 12; k++) {
      assert_true(bsm_tensor_get_double(t, k) == (double)k);
    }
  }
  drop(&w, &b);
}

static const bsm_exported_input_spec *find_input(const bsm_exported_program *p,
                                                 const char *target) {
  for (size_t i = 0; i < p->input_count; i++) {
    const char *name = p->inputs[i].target;
    if (name && strcmp(name, target) == 0) return &p->inputs[i];
  }
  fail_msg("no %s", target);
  return NULL;
}

static void weights_are_used_in_place(void **state) {
  (void)state;
  exported_blob b = exported_file("arguments.pt2", 0);
  exported_world w;
  load_ok(&w, &b, NULL);
  const bsm_tensor *turned = find_input(w.program, "turned")->tensor;
  const bsm_tensor *part = find_input(w.program, "part")->tensor;
  /* Two views of one storage, which lies in the file. */
  assert_ptr_equal(turned->storage, part->storage);
  assert_int_equal(turned->storage->read_only, !BSM_HOST_IS_BIG);
  if (!BSM_HOST_IS_BIG) {
    assert_in_range((uintptr_t)turned->storage->data, (uintptr_t)b.data,
                    (uintptr_t)(b.data + b.size));
  }
  assert_true(bsm_tensor_get_double(part, 0) == 7);
  drop(&w, &b);
  /* One byte off, they are copied. */
  b = exported_file("arguments.pt2", 1);
  load_ok(&w, &b, NULL);
  turned = find_input(w.program, "turned")->tensor;
  assert_false(turned->storage->read_only);
  assert_int_equal((uintptr_t)turned->storage->data % 16, 0);
  drop(&w, &b);
}

/* Whichever order this machine has, one of these is the other. */
static void weights_have_their_byte_order(void **state) {
  (void)state;
  static const uint8_t little[] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40},
                       big[] = {0x3f, 0x80, 0, 0, 0x40, 0, 0, 0};
  static const struct {
    const char *order;
    const uint8_t *bytes;
  } cases[] = {{"little", little}, {NULL, little}, {"big\n", big}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    exported_texts t = exported_small();
    zip_builder z;
    exported_world w;
    t.byteorder = cases[i].order;
    t.weight = cases[i].bytes;
    exported_build(&z, &t);
    assert_null(exported_load(&w, NULL, NULL, z.data, z.len, NULL));
    const bsm_tensor *weight = find_input(w.program, "m.w")->tensor;
    assert_true(bsm_tensor_get_double(weight, 0) == 1);
    assert_true(bsm_tensor_get_double(weight, 1) == 2);
    bsm_arena_destroy(&w.arena);
    free(z.data);
  }
}

static void models_are_chosen_by_name(void **state) {
  (void)state;
  exported_blob b = exported_file("two.pt2", 0);
  exported_world w;
  for (int i = 0; i < 2; i++) {
    load_ok(&w, &b, i ? "second" : "first");
    assert_string_equal(w.program->model_name, i ? "second" : "first");
    const bsm_tensor *bias = find_input(w.program, "bias")->tensor;
    assert_true(bsm_tensor_get_double(bias, 1) == i + 1);
    bsm_arena_destroy(&w.arena);
  }
  bsm_status status = exported_load(&w, NULL, NULL, b.data, b.size, NULL);
  assert_int_equal(bsm_status_code(status), BSM_INVALID_ARGUMENT);
  assert_non_null(strstr(bsm_status_message(status), "\"first\", \"second\""));
  bsm_status_free(status);
  bsm_arena_destroy(&w.arena);
  status = exported_load(&w, NULL, NULL, b.data, b.size, "third");
  assert_int_equal(bsm_status_code(status), BSM_NOT_FOUND);
  assert_non_null(strstr(bsm_status_message(status), "\"first\", \"second\""));
  bsm_status_free(status);
  drop(&w, &b);
  b = exported_file("default.pt2", 0);
  load_ok(&w, &b, NULL);
  assert_string_equal(w.program->model_name, "model");
  drop(&w, &b);
  b = exported_file("old.pt2", 0);
  status = exported_load(&w, NULL, NULL, b.data, b.size, "other");
  assert_int_equal(bsm_status_code(status), BSM_NOT_FOUND);
  bsm_status_free(status);
  drop(&w, &b);
}

static void versions_are_told(void **state) {
  (void)state;
  exported_blob b = exported_file("cnn_215.pt2", 0);
  exported_world w;
  load_ok(&w, &b, NULL);
  const bsm_exported_program *p = w.program;
  assert_int_equal(p->schema_major, 8);
  assert_int_equal(p->schema_minor, 20);
  assert_int_equal(p->opset_version, 10);
  assert_int_equal(strncmp(p->torch_version, "2.15.", 5), 0);
  assert_int_equal(p->forward_arg_count, 1);
  assert_string_equal(p->forward_arg_names[0], "x");
  /* The innermost module, and the line of the model's own code. */
  const bsm_exported_node *conv = &p->graph->nodes[1];
  assert_string_equal(conv->target, "torch.ops.aten.conv2d.default");
  assert_string_equal(conv->source.scope, "conv1");
  assert_non_null(strstr(conv->source.python_file, "pt2b.py"));
  assert_int_equal(conv->source.python_line, 11);
  drop(&w, &b);
}

/* Sizes as Python writes them, bare infinities, no names of nodes, constants
 * under other tags. */
static void check_older(const char *name, int64_t major, int64_t minor) {
  exported_blob b = exported_file(name, 0);
  exported_world w;
  load_ok(&w, &b, NULL);
  const bsm_exported_program *p = w.program;
  assert_int_equal(p->schema_major, major);
  assert_int_equal(p->schema_minor, minor);
  bsm_text text;
  bsm_text_init(&text, w.cx->arena);
  show_tree(&text, p->in_tree);
  bsm_text_puts(&text, "\n");
  show_tree(&text, p->out_tree);
  assert_string_equal(
      text.data,
      "tuple(tuple(*, list(*, *), *), dict(options: dict(scale: *)))\n"
      "dict(parts: list(*, *), z: tuple(*, *), rest: tuple(*, *, *))");
  text.len = 0;
  show_value(&text, p, "full", bsm_exported_tensor(p->graph, "full"));
  const bsm_symbol *batch = &p->symbols.symbols.items[0];
  char expected[64];
  snprintf(expected, sizeof expected, "value full float64 [2*%s]", batch->name);
  assert_string_equal(text.data, expected);
  assert_true(batch->has_range && batch->min == 2 && batch->max == 64);
  const bsm_tensor *turned = find_input(p, "turned")->tensor;
  const bsm_tensor *part = find_input(p, "part")->tensor;
  for (int64_t i = 0; i < 20; i++) { /* arange(20).view(4, 5).t() */
    assert_true(bsm_tensor_get_double(turned, i) ==
                (double)(i % 4 * 5 + i / 4));
  }
  for (int64_t i = 0; i < 9; i++) {
    assert_true(bsm_tensor_get_double(part, i) ==
                (double)(5 + i / 3 * 5 + 2 + i % 3));
  }
  assert_false(find_input(p, "hidden")->persistent);
  for (size_t i = 0; i < p->input_count; i++) {
    if (strcmp(p->inputs[i].name, "flag") != 0) continue;
    assert_int_equal(p->inputs[i].kind, BSM_EXPORTED_CONSTANT_INPUT);
    assert_true(p->inputs[i].arg.tag == BSM_EXPORTED_BOOL);
    assert_true(p->inputs[i].arg.u.b);
  }
  size_t infinities = 0;
  for (size_t i = 0; i < p->graph->node_count; i++) {
    const bsm_exported_node *node = &p->graph->nodes[i];
    for (size_t k = 0; k < node->input_count; k++) {
      const bsm_exported_arg *arg = &node->inputs[k].arg;
      infinities += arg->tag == BSM_EXPORTED_FLOAT && arg->u.d == -INFINITY;
    }
  }
  assert_int_equal(infinities, 1);
  assert_int_equal(p->example_args->len, 3);
  drop(&w, &b);
}

static void older_schemas_are_read(void **state) {
  (void)state;
  check_older("net_24.pt2", 5, 3);
  check_older("net_25.pt2", 7, 3);
}

static void names_are_interned(void **state) {
  (void)state;
  exported_blob b = exported_file("arguments.pt2", 0);
  exported_world w;
  load_ok(&w, &b, NULL);
  const bsm_exported_graph *g = w.program->graph;
  assert_ptr_equal(g->inputs[0].u.s, w.program->inputs[0].name);
  assert_ptr_equal(g->nodes[2].inputs[1].arg.u.s, w.program->inputs[0].name);
  drop(&w, &b);
}

static void running_out_of_memory_is_a_status(void **state) {
  (void)state;
  static const char *const names[] = {"two.pt2", "old.pt2"};
  for (size_t i = 0; i < 2; i++) {
    exported_blob b = exported_file(names[i], 0);
    bool succeeded = false;
    for (int n = 0; !succeeded; n++) {
      assert_in_range(n, 0, 100000);
      test_allocator allocator;
      test_allocator_init(&allocator, n);
      exported_world w;
      const bsm_status status = exported_load(&w, &allocator.base, NULL, b.data,
                                              b.size, i ? NULL : "first");
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
      cmocka_unit_test(every_archive_is_read_as_torch_reads_it),
      cmocka_unit_test(pickled_weights_have_their_values),
      cmocka_unit_test(weights_are_used_in_place),
      cmocka_unit_test(weights_have_their_byte_order),
      cmocka_unit_test(models_are_chosen_by_name),
      cmocka_unit_test(versions_are_told),
      cmocka_unit_test(older_schemas_are_read),
      cmocka_unit_test(names_are_interned),
      cmocka_unit_test(running_out_of_memory_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
