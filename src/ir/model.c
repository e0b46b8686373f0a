/* SPDX-License-Identifier: Apache-2.0 */
/* What front ends share. */
#include "ir/model.h"

#include <stdio.h>

bsm_status bsm_model_no_method(const bsm_class *cls, const char *name) {
  char names[1024] = "none";
  size_t length = 0;
  for (size_t i = 0; i < cls->methods.len; i++) {
    const char *method = cls->methods.items[i]->name;
    const int n = snprintf(names + length, sizeof(names) - length, "%s%s",
                           i ? ", " : "", method);
    if (n < 0 || (size_t)n >= sizeof(names) - length) break;
    length += (size_t)n;
  }
  return BSM_FAIL(BSM_NOT_FOUND, "class %s has no method \"%s\"; it has: %s",
                  cls->name, name, names);
}
