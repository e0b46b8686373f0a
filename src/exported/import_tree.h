/* SPDX-License-Identifier: Apache-2.0 */
/* The structure of arguments and results: types, and taking values apart and
 * putting them together again. */
#ifndef BSM_EXPORTED_IMPORT_TREE_H_
#define BSM_EXPORTED_IMPORT_TREE_H_

#include "exported/import_build.h"

/* The type of what has this structure, where `leaves` are the types of its
 * leaves in order. Lists whose items differ in type are tuples, dicts of
 * arguments whose
 * values do NamedTuples of their keys; classes that the model's author has
 * registered are NamedTuples of their fields. */
BSM_NODISCARD bsm_status bsm_xi_tree_type(bsm_ir_ctx *cx,
                                          const bsm_exported_tree *tree,
                                          const bsm_type *const *leaves,
                                          const bsm_type **out);
/* A value of that type from those of its leaves. */
BSM_NODISCARD bsm_status bsm_xi_tree_value(bsm_ir_ctx *cx,
                                           const bsm_exported_tree *tree,
                                           const bsm_type *type,
                                           const bsm_ivalue *leaves,
                                           bsm_ivalue *out);
/* The leaves of `value`, in order. */
BSM_NODISCARD bsm_status bsm_xi_take_apart(bsm_importer *im,
                                           const bsm_exported_tree *tree,
                                           bsm_value *value,
                                           bsm_value **leaves);
/* A value of the structure over the leaves. */
BSM_NODISCARD bsm_status bsm_xi_put_together(bsm_importer *im,
                                             const bsm_exported_tree *tree,
                                             bsm_value *const *leaves,
                                             bsm_value **out);

#endif /* BSM_EXPORTED_IMPORT_TREE_H_ */
