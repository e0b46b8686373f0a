/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what converters refuse, by operator. */
#include <string.h>

#include "conversion/convert.h"

static const struct {
  const char *name, *text;
} limits[] = {
#define LIMIT(name, text) {name, text},
#include "conversion/converter_limits.inl"
#undef LIMIT
};

const char *bsm_converter_limit(const char *qualified_name, size_t index) {
  for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
    if (strcmp(limits[i].name, qualified_name) == 0 && index-- == 0) {
      return limits[i].text;
    }
  }
  return NULL;
}
