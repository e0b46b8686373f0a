/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of programs of torch.export: files in memory, programs read
 * from them, and small archives made of pieces of text. */
#ifndef BSM_TESTS_EXPORTED_EXPORTED_WORLD_H_
#define BSM_TESTS_EXPORTED_EXPORTED_WORLD_H_

#include <stdio.h>
#include <stdlib.h>

#include "base/byte_order.h"
#include "exported/exported_program.h"
#include "tests/torchscript/zip_builder.h"

/* A file, aligned as a mapped one; `shift` bytes off when wanted. */
typedef struct exported_blob {
  uint8_t *memory, *data;
  size_t size;
} exported_blob;

static inline exported_blob exported_file(const char *name, size_t shift) {
  char path[1024];
  snprintf(path, sizeof path, BSM_TEST_DATA_DIR "/exported/%s", name);
  FILE *file = fopen(path, "rb");
  if (!file) {
    fprintf(stderr, "cannot open %s\n", path);
    abort();
  }
  fseek(file, 0, SEEK_END);
  exported_blob b = {.size = (size_t)ftell(file)};
  rewind(file);
  void *memory = NULL;
  if (posix_memalign(&memory, 4096, b.size + shift + 1)) abort();
  b.memory = memory;
  b.data = b.memory + shift;
  if (fread(b.data, 1, b.size, file) != b.size) abort();
  b.data[b.size] = 0;
  fclose(file);
  return b;
}

typedef struct exported_world {
  bsm_arena arena;
  bsm_ir_ctx *cx;
  bsm_exported_program *program;
} exported_world;

static inline bsm_status exported_load(exported_world *w,
                                       const bsm_allocator *allocator,
                                       const bsm_limits *limits,
                                       const void *data, size_t size,
                                       const char *model) {
  *w = (exported_world){0};
  bsm_arena_init(&w->arena, allocator);
  BSM_TRY(bsm_ir_ctx_create(&w->arena, limits, NULL, &w->cx));
  const bsm_exported_read_options options = {.model_name = model};
  return bsm_exported_program_read(w->cx, data, size, model ? &options : NULL,
                                   &w->program);
}

/* The smallest program: y = x + w, with a buffer w of two floats and a batch
 * s0. Each string can be changed before it is built. */
typedef struct exported_texts {
  const char *model, *weights, *constants;
  const char *format, *version, *byteorder; /* NULL: no such member */
  const void *weight;
  size_t weight_size;
} exported_texts;

#define EXPORTED_INTS(...) "[" __VA_ARGS__ "]"
#define EXPORTED_META(sizes, strides)                                 \
  "{\"dtype\":7,\"sizes\":" sizes                                     \
  ",\"requires_grad\":false,"                                         \
  "\"device\":{\"type\":\"cpu\",\"index\":null},\"strides\":" strides \
  ",\"storage_offset\":{\"as_int\":0},\"layout\":7}"
#define EXPORTED_VECTOR EXPORTED_META("[{\"as_int\":2}]", "[{\"as_int\":1}]")
#define EXPORTED_BATCH                                             \
  EXPORTED_META(                                                   \
      "[{\"as_expr\":{\"expr_str\":\"Symbol('s0', positive=True, " \
      "integer=True)\",\"hint\":{\"as_int\":3}}},{\"as_int\":2}]", \
      "[{\"as_int\":2},{\"as_int\":1}]")
#define EXPORTED_LEAF \
  "{\\\"type\\\":null,\\\"context\\\":null,\\\"children_spec\\\":[]}"
#define EXPORTED_NODE(type, context, children)              \
  "{\\\"type\\\":\\\"" type "\\\",\\\"context\\\":" context \
  ",\\\"children_spec\\\":[" children "]}"
#define EXPORTED_IN_SPEC                                              \
  "[1," EXPORTED_NODE(                                                \
      "builtins.tuple", "\\\"null\\\"",                               \
      EXPORTED_NODE("builtins.tuple", "\\\"null\\\"",                 \
                    EXPORTED_LEAF) "," EXPORTED_NODE("builtins.dict", \
                                                     "\\\"[]\\\"", "")) "]"

static const char exported_model[] =
    "{\"graph_module\":{\"graph\":{"
    "\"inputs\":[{\"as_tensor\":{\"name\":\"w\"}},"
    "{\"as_tensor\":{\"name\":\"x\"}}],"
    "\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}}],"
    "\"nodes\":[{\"target\":\"torch.ops.aten.add.Tensor\",\"inputs\":["
    "{\"name\":\"self\",\"arg\":{\"as_tensor\":{\"name\":\"x\"}},\"kind\":1},"
    "{\"name\":\"other\",\"arg\":{\"as_tensor\":{\"name\":\"w\"}},\"kind\":1}"
    "],\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}}],\"metadata\":{},"
    "\"is_hop_single_tensor_return\":null,\"name\":\"y\"}],"
    "\"tensor_values\":{\"w\":" EXPORTED_VECTOR ",\"x\":" EXPORTED_BATCH
    ",\"y\":" EXPORTED_BATCH
    "},\"sym_int_values\":{},\"sym_bool_values\":{},"
    "\"is_single_tensor_return\":false},\"signature\":{\"input_specs\":["
    "{\"buffer\":{\"arg\":{\"name\":\"w\"},\"buffer_name\":\"m.w\","
    "\"persistent\":true}},"
    "{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}}],"
    "\"output_specs\":["
    "{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"y\"}}}}]},"
    "\"module_call_graph\":[{\"fqn\":\"\",\"signature\":{\"inputs\":[],"
    "\"outputs\":[],\"in_spec\":\"" EXPORTED_IN_SPEC
    "\",\"out_spec\":\"[1," EXPORTED_LEAF
    "]\","
    "\"forward_arg_names\":[\"x\"]}}]},"
    "\"opset_version\":{\"aten\":10},"
    "\"range_constraints\":{\"s0\":{\"min_val\":2,\"max_val\":8}},"
    "\"schema_version\":{\"major\":8,\"minor\":17},"
    "\"torch_version\":\"2.11.0\",\"guards_code\":[]}";

static const char exported_weights[] =
    "{\"config\":{\"m.w\":{\"path_name\":\"weight_0\",\"is_param\":false,"
    "\"use_pickle\":false,\"tensor_meta\":" EXPORTED_VECTOR "}}}";

static const float exported_weight[2] = {1, 2};

static inline exported_texts exported_small(void) {
  return (exported_texts){.model = exported_model,
                          .weights = exported_weights,
                          .constants = "{\"config\":{}}",
                          .format = "pt2",
                          .version = "0",
                          .byteorder = BSM_HOST_IS_BIG ? "big" : "little",
                          .weight = exported_weight,
                          .weight_size = sizeof exported_weight};
}

static inline void exported_build(zip_builder *z, const exported_texts *t) {
  const struct {
    const char *name, *text;
  } texts[] = {
      {"m/models/model.json", t->model},
      {"m/data/weights/model_weights_config.json", t->weights},
      {"m/data/constants/model_constants_config.json", t->constants},
      {"m/archive_format", t->format},
      {"m/archive_version", t->version},
      {"m/byteorder", t->byteorder},
  };
  zip_member members[8];
  size_t n = 0;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (!texts[i].text) continue;
    members[n++] = (zip_member){.name = texts[i].name,
                                .data = texts[i].text,
                                .size = strlen(texts[i].text),
                                .align = 64};
  }
  if (t->weight) {
    members[n++] = (zip_member){.name = "m/data/weights/weight_0",
                                .data = t->weight,
                                .size = t->weight_size,
                                .align = 64};
  }
  zip_build(z, members, n, 1);
}

/* `text` with the first `from` replaced; to be freed. */
static inline char *exported_replace(const char *text, const char *from,
                                     const char *to) {
  const char *at = strstr(text, from);
  if (!at) {
    fprintf(stderr, "there is no %s\n", from);
    abort();
  }
  const size_t size = strlen(text) + strlen(to) + 1;
  char *out = malloc(size);
  if (!out) abort();
  snprintf(out, size, "%.*s%s%s", (int)(at - text), text, to,
           at + strlen(from));
  return out;
}

#endif /* BSM_TESTS_EXPORTED_EXPORTED_WORLD_H_ */
