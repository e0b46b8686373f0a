/* SPDX-License-Identifier: Apache-2.0 */
/* What a schema says of an op: its arguments by name, and what it writes to. */
#ifndef BSM_LOWERING_SPECIALIZE_VALUES_SCHEMA_QUERY_H_
#define BSM_LOWERING_SPECIALIZE_VALUES_SCHEMA_QUERY_H_

#include "aten/ivalue.h"
#include "ir/schema.h"

/* Whether `name` is in a list that ends with NULL. */
bool bsm_name_in(const char *name, const char *const *list);
/* The index of the argument of that name, or -1. */
int64_t bsm_schema_find_arg(const bsm_schema *schema, const char *name);
/* Whether the schema writes to a tensor or to a container argument: the first
 * such is *which. */
bool bsm_spec_writes_tensor(const bsm_schema *schema, size_t *which);
bool bsm_spec_writes_container(const bsm_schema *schema, size_t *which);
/* Dropout of an evaluated model. */
bool bsm_spec_writes_nothing(const bsm_schema *schema, const bsm_ivalue *args);
/* Whether an op writes one value everywhere: it may reach an element twice. */
bool bsm_spec_is_fill(const bsm_schema *schema);
/* unsqueeze_, t_, ...: the tensor's own geometry changes. */
bool bsm_spec_is_geometric(const bsm_schema *schema);
/* Whether result `i` is a container that the op has made: items that it passes
 * on were there before. */
bool bsm_spec_is_new_container(const bsm_schema *schema, size_t i,
                               const bsm_ivalue *args, size_t n,
                               const bsm_ivalue *out);

#endif /* BSM_LOWERING_SPECIALIZE_VALUES_SCHEMA_QUERY_H_ */
