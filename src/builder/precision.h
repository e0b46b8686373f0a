/* SPDX-License-Identifier: Apache-2.0 */
/* Decides the precision that each layer computes in, from what is allowed, from
 * rules about single layers, and from what the target has.
 *
 * A layer computes in the precision of its dtypes, or in float32 where the
 * target does not have that. A layer of float32 takes the fastest precision
 * that is allowed and that the target has for it; its tensors are then cast
 * around it. A rule about a layer takes precedence; the last one counts. This
 * is the first pass of a build, because passes that fuse must see the
 * roundings. */
#ifndef BSM_BUILDER_PRECISION_H_
#define BSM_BUILDER_PRECISION_H_

#include "builder/target.h"

/* A rule about the layers whose names match `pattern`, which may have * and ?.
 * When `pattern` is NULL, the rule is about all layers of the submodules at
 * `paths`, including submodules inside of them. */
typedef struct bsm_precision_rule {
  const char *given; /* as the caller wrote it, for messages */
  const char *pattern;
  const char *const *paths;
  size_t path_count;
  bsm_precision precision;
  size_t matched; /* layers of all builds with this policy that compute */
} bsm_precision_rule;

/* Which products have weights of few bits: those by a constant matrix whose
 * left side has at most `rows` rows. */
typedef struct bsm_few_bits_policy {
  int32_t bits;  /* 8 or 4; 0: none */
  int32_t group; /* rows that share a scale, of 4 bits */
  int64_t rows;
} bsm_few_bits_policy;

/* What all builds with a policy have made of few bits. */
typedef struct bsm_few_bits_record {
  size_t products;
  uint64_t bytes, bytes_before;
  double least; /* SQNR of a matrix, in dB */
} bsm_few_bits_record;

/* The greatest magnitudes of tensors, by name, as far as they are known. */
typedef struct bsm_known_values {
  bsm_arena *arena;
  bsm_strmap greatest; /* double * */
} bsm_known_values;

typedef struct bsm_precision_policy {
  uint32_t allowed; /* bits; FP32 is always allowed */
  /* A rule that the target cannot follow is an error; otherwise a warning. */
  bool obey;
  /* 16 bits are taken where they are allowed, though nothing is gained but
   * memory. */
  bool narrows;
  bool disobeyed; /* set by a build that failed because of that */
  bsm_precision_rule *rules;
  size_t rule_count;
  /* Weights alone. A product that a rule wants in fp32 keeps its floats. */
  bsm_few_bits_policy few_bits;
  bsm_few_bits_record few_bits_record;
  /* A layer that no rule is about does not take float16 where values would
   * overflow there, or lose bits for being small. NULL: not known. */
  const bsm_known_values *values;
} bsm_precision_policy;

/* Adds what a plan of the network's floats has. */
BSM_NODISCARD bsm_status bsm_known_values_add(bsm_known_values *values,
                                              const bsm_plan *plan,
                                              const double *greatest);

/* The precision that a layer computes in: the one that was decided, or else
 * that of its dtypes or what the target has instead. */
bsm_precision bsm_layer_precision(const bsm_target *target,
                                  const bsm_layer *layer);

/* What the last rule about a layer asks for, which counts the layer as matched;
 * NONE: no rule is about it, or `policy` is NULL. */
bsm_precision bsm_precision_asked(bsm_precision_policy *policy,
                                  const bsm_layer *layer);

/* Decides for all layers of a network, and adds casts. `policy` NULL: does
 * nothing. BSM_UNSUPPORTED: the target cannot follow a rule, and the policy
 * says that this is an error. */
BSM_NODISCARD bsm_status bsm_decide_precision(bsm_precision_policy *policy,
                                              const bsm_target *target,
                                              bsm_network *net,
                                              const bsm_logger *logger);

#endif /* BSM_BUILDER_PRECISION_H_ */
