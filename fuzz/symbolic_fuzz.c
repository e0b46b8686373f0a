/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a symbolic expression: parsed, printed, evaluated, and its text
 * parsed again. */
#include <stdint.h>

#include "base/resolve_limits.h"
#include "exported/symbolic.h"
#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_text, 0);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const bsm_limits limits = bsm_resolve_limits(NULL);
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_symbol_table symbols = {0};
  const bsm_sym_expr *expr, *again;
  const bsm_str text = {(const char *)data, size};
  bsm_status status = bsm_sym_parse(&arena, text, &limits, &symbols, &expr);
  if (!status) {
    static const int64_t values[][4] = {{2, 3, 5, 7},
                                        {-1, 0, INT64_MAX, INT64_MIN}};
    bsm_sym_number number;
    for (size_t i = 0; i < 2; i++) {
      bsm_status_free(
          bsm_sym_evaluate(expr, &symbols, values[i], NULL, 4, &number));
    }
    (void)bsm_sym_kind_of(expr, &symbols);
    (void)bsm_sym_is_constant(expr);
    bsm_text out;
    bsm_text_init(&out, &arena);
    bsm_sym_print(&out, expr, &symbols);
    bsm_status_free(bsm_sym_parse(&arena, (bsm_str){out.data, out.len}, &limits,
                                  &symbols, &again));
  }
  fuzz_done(status);
  bsm_arena_destroy(&arena);
  return 0;
}
