/* SPDX-License-Identifier: Apache-2.0 */
/* Complex tensors as pairs of real ones: what the pass split_complex and its
 * transforms share. The parts of a complex value are a real value with one dim
 * more, the last, of 2: the real part and the imaginary one. */
#ifndef BSM_LOWERING_PASSES_COMPLEX_PARTS_H_
#define BSM_LOWERING_PASSES_COMPLEX_PARTS_H_

#include "lowering/pass.h"

struct bsm_fourier_matrix;

typedef struct bsm_complex_parts {
  const bsm_aten_library *aten;
  bsm_graph *graph;
  bsm_arena *arena;
  bsm_ptrmap parts; /* bsm_value * of complex values that have them */
  bsm_ptrmap stays; /* complex values that cannot have parts: themselves */
  bsm_ptrmap large; /* nodes whose matrices are too much: themselves */
  struct bsm_fourier_matrix *matrices; /* that are made, or will be */
  int64_t matrix_bytes;
} bsm_complex_parts;

/* What stands for an op that makes or takes complex values. `fits` tells
 * whether it can, from constants and dims alone; NULL: always. `emit` sets *out
 * to the parts of output 0, or to its value where that is real. */
typedef struct bsm_complex_rule {
  const char *schema;
  bool (*fits)(const bsm_node *node);
  bsm_status (*emit)(bsm_complex_parts *p, const bsm_node_emitter *e,
                     bsm_node *node, bsm_value **out);
} bsm_complex_rule;

/* Fourier transforms, and spectrograms. */
extern const bsm_complex_rule bsm_fourier_rules[];
extern const size_t bsm_fourier_rule_count;
/* Whether there is room for the matrices of a node that one of these rules
 * fits, beside those of all nodes that were asked for before. */
BSM_NODISCARD bsm_status bsm_fourier_reserve(bsm_complex_parts *p,
                                             const bsm_complex_rule *rule,
                                             const bsm_node *node, bool *fits);

/* Whether a value is a tensor of complex numbers. */
bool bsm_value_is_complex(const bsm_value *value);
/* The parts of a complex value. */
BSM_NODISCARD bsm_status bsm_parts_of(bsm_complex_parts *p,
                                      const bsm_node_emitter *e,
                                      bsm_value *value, bsm_value **out);
/* One part: 0 the real one, 1 the imaginary one. */
BSM_NODISCARD bsm_status bsm_part_of(const bsm_node_emitter *e,
                                     bsm_value *parts, int64_t which,
                                     bsm_value **out);
/* Parts of two real values, which are broadcast together. */
BSM_NODISCARD bsm_status bsm_parts_join(const bsm_node_emitter *e,
                                        bsm_value *real, bsm_value *imaginary,
                                        bsm_value **out);
/* A constant tensor, which is contiguous. */
BSM_NODISCARD bsm_status bsm_ir_tensor(const bsm_node_emitter *e,
                                       const bsm_tensor *tensor,
                                       bsm_value **out);

#endif /* BSM_LOWERING_PASSES_COMPLEX_PARTS_H_ */
