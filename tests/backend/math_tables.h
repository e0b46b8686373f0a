/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of vector mathematics of all instruction sets of this machine. */
#ifndef BSM_TESTS_BACKEND_MATH_TABLES_H_
#define BSM_TESTS_BACKEND_MATH_TABLES_H_

#include "tests/conformance/step_harness.h"

#include "backend/cpu/kernels/math/vector_math.h"

static const bsm_k_math *tables[8];
static int table_count;

static void find_tables(void) {
  uint32_t isas[8];
  table_count = harness_isas(isas);
  for (int i = 0; i < table_count; i++) tables[i] = bsm_k_math_select(isas[i]);
}

#endif /* BSM_TESTS_BACKEND_MATH_TABLES_H_ */
