/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a TorchScript archive: loaded, and every method of the root
 * compiled.
 *
 * What starts with "PK" is taken as the archive. Anything else is a list of
 * members, because a mutated archive hardly gets past its CRCs:
 *   member := which(1 byte, see `names`) length(2 bytes, little-endian) bytes
 */
#include <stdint.h>

#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"
#include "tests/torchscript/zip_builder.h"
#include "torchscript/module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_members, 0);

static const char *const names[] = {
    "m/data.pkl",
    "m/constants.pkl",
    "m/code/__torch__.py",
    "m/code/__torch__.py.debug_pkl",
    "m/traced_inputs.pkl",
    "m/data/0",
    "m/data/1",
    "m/constants/0",
    "m/version",
    "m/byteorder",
    "m/code/__torch__/a.py",
    "m/code/__torch__/torch/nn/modules/linear.py",
};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

/* The members of `data`, each name once; missing ones that every archive has
 * are added. */
static void build(zip_builder *z, const uint8_t *data, size_t size) {
  zip_member members[NAMES];
  size_t count = 0, at = 0;
  bool used[NAMES] = {false};
  while (size - at >= 3) {
    const size_t which = data[at] % NAMES;
    size_t n = data[at + 1] | (size_t)data[at + 2] << 8;
    at += 3;
    if (n > size - at) n = size - at;
    if (!used[which]) {
      used[which] = true;
      members[count++] = (zip_member){
          .name = names[which], .data = data + at, .size = n, .align = 64};
    }
    at += n;
  }
  if (!used[1]) {
    members[count++] =
        (zip_member){.name = names[1], .data = "\x80\x02).", .size = 4};
  }
  if (!used[8]) {
    members[count++] = (zip_member){.name = names[8], .data = "3", .size = 1};
  }
  zip_build(z, members, count, 1);
}

static void load(const uint8_t *data, size_t size) {
  bsm_limits limits = BSM_LIMITS_INIT;
  limits.max_inflated = 4 << 20;
  limits.max_pickle_ops = 100000;
  limits.max_nodes = 20000;
  limits.max_tensor_bytes = 1 << 20;
  bsm_arena arena;
  bsm_ir_ctx *cx;
  bsm_ts_module *module = NULL;
  bsm_arena_init(&arena, NULL);
  bsm_status status = bsm_ir_ctx_create(&arena, &limits, NULL, &cx);
  if (!status) status = bsm_ts_module_read(cx, data, size, &module);
  const bsm_class *cls = status ? NULL : module->root->type->cls;
  for (size_t i = 0; cls && i < cls->methods.len; i++) {
    bsm_graph *graph;
    bsm_status_free(bsm_function_graph(cls->methods.items[i], &graph));
  }
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
