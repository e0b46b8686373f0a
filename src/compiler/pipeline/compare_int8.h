/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which layers had better not be in int8, where the options allow 16 bits
 * of floats beside it: by plans with and without, whose steps were timed on the
 * device, or estimated. */
#ifndef BSM_COMPILER_PIPELINE_COMPARE_INT8_H_
#define BSM_COMPILER_PIPELINE_COMPARE_INT8_H_

#include "builder/timing_cache.h"
#include "compiler/pipeline/compilation.h"
#include "ir/graph.h"
#include "quantization/choose_int8.h"

typedef struct bsm_int8_trial {
  const bool *slow;        /* by site; NULL: all in int8 */
  bsm_site_facts *facts;   /* filled in, or NULL */
  bsm_timing_cache *times; /* of all builds */
} bsm_int8_trial;

/* Builds a plan into `arena`, to look at it. */
typedef bsm_status bsm_try_int8(const bsm_compilation *c,
                                const bsm_graph *graph,
                                const bsm_int8_trial *trial, bsm_arena *arena,
                                bsm_plan **out);

/* Sets trial->slow, in `arena`: that with which the plan was fastest; or, of an
 * engine that is refitted, what its layers were in. */
BSM_NODISCARD bsm_status bsm_compare_int8(const bsm_compilation *c,
                                          const bsm_graph *graph,
                                          bsm_try_int8 *try_int8,
                                          bsm_arena *arena,
                                          bsm_int8_trial *trial);

#endif /* BSM_COMPILER_PIPELINE_COMPARE_INT8_H_ */
