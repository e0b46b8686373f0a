/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the caller's arrays against the bindings of an engine. */
#ifndef BSM_RUNTIME_CONTEXT_CHECK_ARRAYS_H_
#define BSM_RUNTIME_CONTEXT_CHECK_ARRAYS_H_

#include "bessemer/types.h"
#include "engine/plan.h"

/* `what`: "input" or "output", for messages. BSM_INVALID_ARGUMENT when the
 * dtype, rank, a size or the address does not fit; the message names the
 * binding and both values. */
BSM_NODISCARD bsm_status bsm_check_array(const char *what, size_t index,
                                         const bsm_plan_binding *binding,
                                         const bsm_plan_tensor *t,
                                         const bsm_array *array);
/* A dimension in which an array whose dims have been checked is not contiguous;
 * -1: there is none. */
int32_t bsm_array_loose_dimension(const bsm_array *array);
BSM_NODISCARD bsm_status bsm_check_count(const char *what, size_t given,
                                         uint32_t wanted);
/* Checks that dims, of the binding's rank, are in the range of the input; an
 * input without a range takes all. */
BSM_NODISCARD bsm_status bsm_check_range(const bsm_plan *plan, uint32_t input,
                                         const bsm_dims *dims);
/* Checks that outputs lie apart from inputs and from each other. Arrays with
 * strides may lie between each other's elements; they are not looked at. */
BSM_NODISCARD bsm_status bsm_check_apart(const bsm_plan *plan,
                                         const bsm_array *inputs,
                                         const bsm_array *outputs);
/* The bytes of an array whose dims have been checked. */
size_t bsm_array_bytes(const bsm_array *array);

#endif /* BSM_RUNTIME_CONTEXT_CHECK_ARRAYS_H_ */
