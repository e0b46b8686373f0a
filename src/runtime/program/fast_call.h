/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a program that the backend's kernels take instead of the reference
 * library: matrix products and convolutions of floats, and those of
 * fast_elements.h, of whatever shapes the run brings. Each is a plan of one
 * step (one_step.h), made when it is called. */
#ifndef BSM_RUNTIME_PROGRAM_FAST_CALL_H_
#define BSM_RUNTIME_PROGRAM_FAST_CALL_H_

#include "builder/target.h"
#include "runtime/engine/engine.h"

typedef struct bsm_fast_calls {
  const bsm_target *target; /* that packs for the device of the stream */
  bsm_stream *stream;
  bsm_arena *own;          /* lives as long as the context: packed weights */
  bsm_ptrmap packed;       /* data of a constant -> what is packed of it */
  bsm_ptrmap constants;    /* data of the program's constants */
  size_t max_tensor_bytes; /* larger results are left to the library */
} bsm_fast_calls;

/* Whether the op is one of those. */
bool bsm_fast_call_knows(const char *op);

/* Runs it, with results in `arena`; *done is false when these arguments are
 * left to the reference library. */
BSM_NODISCARD bsm_status bsm_fast_call(bsm_fast_calls *calls, const char *op,
                                       const bsm_ivalue *args, size_t n,
                                       bsm_arena *arena, bsm_ivalue *out,
                                       bool *done);

#endif /* BSM_RUNTIME_PROGRAM_FAST_CALL_H_ */
