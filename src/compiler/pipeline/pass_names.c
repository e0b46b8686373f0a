/* SPDX-License-Identifier: Apache-2.0 */
/* The names of all passes of lowering and of the builder, in their order. */
#include "bessemer/compiler.h"
#include "builder/passes.h"
#include "lowering/lowering.h"

const char *bsm_pass_name(size_t index) {
  for (const char *const *name = bsm_lowering_pass_names(); *name; name++) {
    if (index-- == 0) return *name;
  }
  static const char *const between[] = {"network", "quantized"};
  const size_t count = sizeof(between) / sizeof(between[0]);
  return index < count ? between[index] : bsm_builder_pass_name(index - count);
}
