/* SPDX-License-Identifier: Apache-2.0 */
/* The tree behind bsm_structure, and its bytes in an engine. */
#ifndef BSM_ENGINE_STRUCTURE_H_
#define BSM_ENGINE_STRUCTURE_H_

#include "base/strings.h"
#include "bessemer/status.h"
#include "bessemer/structure.h"

/* No string of `info` is NULL. */
struct bsm_structure {
  bsm_structure_info info;
  bsm_structure *children; /* info.child_count */
};

/* The depth to which trees may nest; checked wherever one is read. */
#define BSM_STRUCTURE_MAX_DEPTH 256

/* A node without children, value or binding. */
void bsm_structure_init(bsm_structure *node, bsm_structure_kind kind);
BSM_NODISCARD bsm_status bsm_structure_copy(bsm_arena *arena,
                                            const bsm_structure *from,
                                            bsm_structure **out);

/* Appends the tree; BSM_LIMIT when it nests too deep. */
BSM_NODISCARD bsm_status bsm_structure_to_bytes(const bsm_structure *root,
                                                bsm_text *out);
/* Reads what bsm_structure_to_bytes wrote. BSM_CORRUPT: with the position. */
BSM_NODISCARD bsm_status bsm_structure_from_bytes(bsm_str bytes,
                                                  bsm_arena *arena,
                                                  bsm_structure **out);

/* Checks a tree: kinds and keys exist, and keys go with their parents. Exactly
 * one leaf names each binding in [0, binding_count), whose rank is in `ranks`;
 * the rank of a number is 0 or unknown (-1). There are `value_count` nodes of
 * kind RUN_TIME, in depth-first order, each with a type. `what` ("input") is
 * for messages. */
BSM_NODISCARD bsm_status bsm_structure_verify(const bsm_structure *root,
                                              const int32_t *ranks,
                                              size_t binding_count,
                                              size_t value_count,
                                              const char *what);
/* Prints the tree as Python would: {"a": float32 -> 0, "b": [1, None]}. */
void bsm_structure_print(bsm_text *text, const bsm_structure *node);

#endif /* BSM_ENGINE_STRUCTURE_H_ */
