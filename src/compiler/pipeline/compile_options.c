/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults of options, and targets by their text. */
#include "compiler/pipeline/compile_options.h"

#include <string.h>

#include "base/options.h"

bsm_status bsm_compile_options_resolve(const bsm_module *module,
                                       const bsm_compile_options *given,
                                       bsm_compile_options *out) {
  *out = (bsm_compile_options)BSM_COMPILE_OPTIONS_INIT;
  BSM_TRY(bsm_options_copy(out, sizeof(*out), given, "bsm_compile_options"));
  if (out->reference &
      ~(uint64_t)(BSM_REFERENCE_LIBRARY | BSM_REFERENCE_DOUBLE)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "options.reference has bits that this version lacks");
  }
  if (!out->logger) out->logger = module->logger;
  if (!out->allocator) out->allocator = module->allocator;
  return BSM_OK;
}

/* ---- targets ---- */

bsm_status bsm_find_target(const bsm_compile_options *options, bsm_arena *arena,
                           const bsm_target **out) {
  const bool scalar = options->isa & BSM_CONTEXT_ISA_SCALAR;
  const bsm_target_request request = {.text = options->target,
                                      .threads = options->threads,
                                      .isa = scalar ? 0
                                             : options->isa
                                                 ? options->isa
                                                 : BSM_TARGET_ANY_ISA,
                                      .quantizes = options->calibration,
                                      .plain = !options->calibration};
  return bsm_target_parse(&request, arena, out);
}

const char *bsm_target_name(size_t index) {
  size_t count;
  const bsm_target_ops *const *table = bsm_target_table(&count);
  return index < count ? table[index]->name : NULL;
}

bsm_status bsm_target_text(const char *target, char **out) {
  BSM_NEED(out);
  *out = NULL;
  const bsm_target_request request = {
      .text = target, .isa = BSM_TARGET_ANY_ISA, .quantizes = true};
  const bsm_target *found;
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_status status = bsm_target_parse(&request, &arena, &found);
  if (!status) {
    *out = strdup(found->text);
    if (!*out) status = BSM_FAIL_OOM();
  }
  bsm_arena_destroy(&arena);
  return status;
}
