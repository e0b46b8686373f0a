/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of arguments and results, for people and as JSON. */
#ifndef BSM_TOOLS_STRUCTURE_PRINT_H_
#define BSM_TOOLS_STRUCTURE_PRINT_H_

#include "bessemer/engine.h"
#include "tools/json.h"

/* What a node tells. */
bsm_structure_info bsm_structure_info_of(const bsm_structure *node);
/* Whether there is more to tell than a tensor, or a tuple of tensors. */
bool bsm_structure_is_plain(const bsm_structure *root);
/* "TITLE: {...}" on one line. */
BSM_NODISCARD bsm_status bsm_structure_show(const char *title,
                                            const bsm_structure *root);
/* One object for each node: kind, key, items, binding, value. `values` (may be
 * NULL) are the arrays of the bindings: those of rank 0 are written. */
void bsm_structure_json(bsm_json *json, const char *key,
                        const bsm_structure *root, const bsm_array *values);

#endif /* BSM_TOOLS_STRUCTURE_PRINT_H_ */
