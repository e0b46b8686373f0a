/* SPDX-License-Identifier: Apache-2.0 */
/* What it means to specialise a method literally.
 *
 * Normally a write makes a new value (functionalization), so it has to be known
 * which values it changes. Where it is not - a tensor or a list may be one of
 * several - the method is specialised once more, literally: the residual graph
 * has the views, the in-place writes and the lists and dicts of the program,
 * and its values have identity, as in PyTorch. What no write can change is
 * resolved all the same: numbers, dims, dtypes, attributes, calls.
 *
 * This header is the one place that decides on it. Code asks the question that
 * it needs an answer to. */
#ifndef BSM_LOWERING_SPECIALIZE_VALUES_LITERAL_POLICY_H_
#define BSM_LOWERING_SPECIALIZE_VALUES_LITERAL_POLICY_H_

#include "lowering/specialize/values/specializer.h"

/* A tensor is one value of the residual graph for ever, and the program's
 * writes change it there: each op that makes a tensor, views too, and each
 * write is written down at its place. Else a write makes a new value, and an
 * older view is read again. */
static inline bool bsm_spec_tensors_have_identity(const bsm_spec *s) {
  return s->policy.literal;
}

/* A list or dict that the residual graph needs is the one that the run has:
 * made once, kept in several places, written to. Else it is made for each use,
 * of what it holds then. */
static inline bool bsm_spec_containers_have_identity(const bsm_spec *s) {
  return s->policy.literal;
}

/* Values that may be one of several are noted, because a write to one of them
 * could not be followed and is refused. Needless where the run does the write.
 */
static inline bool bsm_spec_tracks_sharing(const bsm_spec *s) {
  return !s->policy.literal;
}

/* Tensors have PyTorch's strides when the engine runs, and ops may depend on
 * them. Else values of the residual graph have no strides: `view` is `reshape`.
 */
static inline bool bsm_spec_strides_matter(const bsm_spec *s) {
  return s->policy.literal;
}

/* The elements of a tensor of the module, or one that follows from shapes, are
 * the same whenever they are read. Literally the run may write to them. */
static inline bool bsm_spec_data_is_known(const bsm_spec *s) {
  return !s->policy.literal;
}

/* The failure is one that specialising literally may not have, and that is yet
 * to be tried. */
static inline bool bsm_spec_may_succeed_literally(const bsm_spec *s) {
  return s->policy.needs_literal && !s->policy.literal;
}

/* Notes that about the failure which the caller is about to return. */
static inline void bsm_spec_needs_literal(bsm_spec *s) {
  s->policy.needs_literal = true;
}

#endif /* BSM_LOWERING_SPECIALIZE_VALUES_LITERAL_POLICY_H_ */
