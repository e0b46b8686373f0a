/* SPDX-License-Identifier: Apache-2.0 */
/* Suggests the names that may have been meant by an unknown one. */
#ifndef BSM_COMPILER_MODULES_NEAR_NAMES_H_
#define BSM_COMPILER_MODULES_NEAR_NAMES_H_

#include "base/arena.h"
#include "base/strings.h"

#define BSM_NEAR_NAMES 5

/* The nearest of the names that were offered; zero but for `given`. */
typedef struct bsm_near_names {
  bsm_str given;
  bsm_str names[BSM_NEAR_NAMES];
  size_t distances[BSM_NEAR_NAMES];
  size_t count;
} bsm_near_names;

/* `name` has to outlive the list. Equally near names keep their order. */
void bsm_near_names_offer(bsm_near_names *near, bsm_str name);

/* "; near are a, b and c", or "" when none is near. NULL: out of memory. */
const char *bsm_near_names_text(const bsm_near_names *near, bsm_arena *arena);

#endif /* BSM_COMPILER_MODULES_NEAR_NAMES_H_ */
