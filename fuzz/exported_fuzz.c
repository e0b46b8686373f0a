/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an archive of torch.export, read and looked at: every value of
 * every tensor, every expression; then imported.
 *
 * What starts with "PK" is taken as the archive. Anything else is a list of
 * members, because a mutated archive hardly gets past its CRCs:
 *   member := which(1 byte, see `names`) length(2 bytes, little-endian) bytes
 */
#include <stdint.h>
#include <stdio.h>

#include "exported/exported_program.h"
#include "exported/import.h"
#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"
#include "tests/torchscript/zip_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_members, 0);

static const char *const names[] = {
    "m/models/model.json",
    "m/data/weights/model_weights_config.json",
    "m/data/constants/model_constants_config.json",
    "m/data/weights/weight_0",
    "m/data/constants/tensor_0",
    "m/data/sample_inputs/model.pt",
    "m/byteorder",
    "m/data/weights/weight_1",
};
enum { LISTED = sizeof(names) / sizeof(names[0]), NAMES = 8 + 38 + 7 };

/* Behind those that are listed: weight_2 to weight_39, tensor_1 to tensor_7. */
static const char *name_of(size_t which, char *buffer, size_t size) {
  if (which < LISTED) return names[which];
  const size_t k = which - LISTED;
  if (k < 38) {
    snprintf(buffer, size, "m/data/weights/weight_%zu", k + 2);
  } else {
    snprintf(buffer, size, "m/data/constants/tensor_%zu", k - 37);
  }
  return buffer;
}

/* The members of `data`, each name once; the configurations are added when
 * they are missing. */
static void build(zip_builder *z, const uint8_t *data, size_t size) {
  zip_member members[NAMES + 1];
  size_t count = 0, at = 0;
  bool used[NAMES] = {false};
  char buffers[NAMES][40];
  while (size - at >= 3) {
    const size_t which = data[at] % NAMES;
    size_t n = data[at + 1] | (size_t)data[at + 2] << 8;
    at += 3;
    if (n > size - at) n = size - at;
    if (!used[which]) {
      used[which] = true;
      members[count++] = (zip_member){
          .name = name_of(which, buffers[which], sizeof(buffers[which])),
          .data = data + at,
          .size = n,
          .align = 64};
    }
    at += n;
  }
  for (size_t i = 1; i <= 2; i++) {
    if (used[i]) continue;
    members[count++] =
        (zip_member){.name = names[i], .data = "{\"config\":{}}", .size = 13};
  }
  members[count++] =
      (zip_member){.name = "m/archive_format", .data = "pt2", .size = 3};
  zip_build(z, members, count, 1);
}

static void evaluate(bsm_text *text, const bsm_exported_program *p,
                     const bsm_exported_sym *sym) {
  int64_t values[64];
  bsm_sym_number number;
  for (size_t i = 0; i < 64; i++) values[i] = (int64_t)i * 3 + 1;
  if (!sym->expr) return;
  bsm_status_free(
      bsm_sym_evaluate(sym->expr, &p->symbols, values, NULL, 64, &number));
  (void)bsm_sym_kind_of(sym->expr, &p->symbols);
  text->len = 0;
  bsm_sym_print(text, sym->expr, &p->symbols);
}

static double use_tensor(const bsm_tensor *t) {
  double sum = 0;
  const int64_t n = bsm_tensor_numel(t);
  for (int64_t i = 0; i < n && i < 4096; i++) {
    sum += bsm_tensor_get_double(t, i) + bsm_tensor_get_double(t, n - 1 - i);
  }
  return sum;
}

static void use(bsm_arena *arena, const bsm_exported_program *p) {
  volatile double sum = 0;
  bsm_text text;
  bsm_text_init(&text, arena);
  for (size_t i = 0; i < p->input_count; i++) {
    const bsm_exported_input_spec *spec = &p->inputs[i];
    if (spec->tensor) sum = sum + use_tensor(spec->tensor);
    if (!spec->name) continue;
    const bsm_exported_meta *meta = bsm_exported_tensor(p->graph, spec->name);
    for (size_t k = 0; meta && k < meta->rank; k++) {
      evaluate(&text, p, &meta->sizes[k]);
      evaluate(&text, p, &meta->strides[k]);
    }
  }
  for (size_t i = 0; p->has_examples && i < p->example_args->len; i++) {
    const bsm_ivalue *v = &p->example_args->items[i];
    if (v->tag == BSM_IVALUE_TENSOR) sum = sum + use_tensor(v->u.tensor);
  }
}

/* The graph of forward. */
static bsm_status import(const bsm_exported_program *program) {
  bsm_model model;
  bsm_function *forward;
  bsm_graph *graph;
  BSM_TRY(bsm_exported_import(program, NULL, &model));
  BSM_TRY(model.find_method(model.front_end, model.root, "forward", &forward));
  BSM_TRY(bsm_function_graph(forward, &graph));
  return bsm_graph_verify(graph);
}

static void load(const uint8_t *data, size_t size) {
  bsm_limits limits = BSM_LIMITS_INIT;
  limits.max_inflated = 4 << 20;
  limits.max_pickle_ops = 100000;
  limits.max_nodes = 20000;
  limits.max_tensor_bytes = 1 << 20;
  bsm_arena arena;
  bsm_ir_ctx *cx;
  bsm_exported_program *program = NULL;
  bsm_arena_init(&arena, NULL);
  bsm_status status = bsm_ir_ctx_create(&arena, &limits, NULL, &cx);
  if (!status)
    status = bsm_exported_program_read(cx, data, size, NULL, &program);
  if (!status) use(&arena, program);
  if (!status) status = import(program);
  fuzz_done(status);
  bsm_arena_destroy(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size >= 2 && data[0] == 'P' && data[1] == 'K') {
    load(data, size);
    return 0;
  }
  zip_builder z;
  build(&z, data, size);
  load(z.data, z.len);
  free(z.data);
  return 0;
}
