/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that write to a list or dict whose items only the run will tell. Values
 * of the residual graph never change, so the op writes to a copy, which is the
 * new value; where containers have identity, it writes to the one of the run.
 */
#include "lowering/specialize/memory/container_writes.h"

#include "lowering/specialize/memory/container_aliases.h"
#include "lowering/specialize/memory/dynamic_containers.h"
#include "lowering/specialize/memory/emit_op.h"
#include "lowering/specialize/memory/residual_containers.h"
#include "lowering/specialize/values/literal_policy.h"

static bsm_status write_copy(bsm_spec *s, const bsm_schema *schema,
                             const bsm_ivalue *args, size_t n, size_t which,
                             bsm_ivalue *outs, size_t n_outs) {
  BSM_TRY(bsm_spec_check_shared(s, &args[which]));
  bsm_dynamic_container *dynamic = bsm_spec_dynamic_find(s, &args[which]);
  bsm_spec_symbol *symbol = bsm_spec_is_symbol(&args[which])
                                ? bsm_spec_symbol_of(&args[which])
                                : NULL;
  if (!dynamic && (!symbol || symbol->aliased || s->residual.block_depth > 0)) {
    bsm_spec_needs_literal(s);
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a list or dict that was read from another one is changed "
                    "in a way that depends on data");
  }
  const bsm_type *type = dynamic ? dynamic->type : symbol->type;
  bsm_value *copy = NULL;
  bsm_ivalue own;
  BSM_TRY(bsm_spec_copy_container(s, dynamic ? dynamic->value : symbol->value,
                                  type, &copy));
  BSM_TRY(bsm_spec_new_symbol(s, copy, type, &own));
  bsm_ivalue *inner = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(inner);
  for (size_t i = 0; i < n; i++) {
    inner[i] = i == which ? own : args[i];
    if (i != which) {
      BSM_TRY(bsm_spec_note_shared(s, &args[i]));
    }
  }
  for (size_t i = 0; i < n_outs; i++) {
    outs[i] = bsm_iv_none();
  }
  BSM_TRY(bsm_spec_emit(s, schema, inner, n, outs, n_outs));
  for (size_t i = 0; i < n_outs; i++) {
    if (i < schema->return_count && schema->returns[i].has_alias &&
        schema->returns[i].type == schema->args[which].type) {
      outs[i] = args[which]; /* append() and its like answer the list */
    } else if (bsm_spec_is_symbol(&outs[i])) {
      bsm_spec_symbol_of(&outs[i])->aliased = true;
    }
  }
  if (dynamic) {
    return bsm_spec_dynamic_set(s, dynamic, copy);
  }
  symbol->value = copy;
  return BSM_OK;
}

static bsm_status write_in_place(bsm_spec *s, const bsm_schema *schema,
                                 const bsm_ivalue *args, size_t n, size_t which,
                                 bsm_ivalue *outs, size_t n_outs) {
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_spec_note_shared(s, &args[i]));
  }
  for (size_t i = 0; i < n_outs; i++) {
    outs[i] = bsm_iv_none();
  }
  BSM_TRY(bsm_spec_emit(s, schema, args, n, outs, n_outs));
  for (size_t i = 0; i < n_outs; i++) {
    const bsm_spec_symbol *symbol =
        bsm_spec_is_symbol(&outs[i]) ? bsm_spec_symbol_of(&outs[i]) : NULL;
    const bsm_type *type = symbol ? symbol->type : NULL;
    if (i < schema->return_count && schema->returns[i].has_alias &&
        schema->returns[i].type == schema->args[which].type) {
      outs[i] = args[which]; /* append() and its like answer the list */
    } else if (type &&
               (type->kind == BSM_TYPE_LIST || type->kind == BSM_TYPE_DICT)) {
      BSM_TRY(bsm_spec_dynamic_new(s, type, symbol->value, &outs[i]));
    }
  }
  return BSM_OK;
}

bsm_status bsm_spec_dynamic_write(bsm_spec *s, const bsm_schema *schema,
                                  const bsm_ivalue *args, size_t n,
                                  size_t which, bsm_ivalue *outs,
                                  size_t n_outs) {
  return bsm_spec_containers_have_identity(s)
             ? write_in_place(s, schema, args, n, which, outs, n_outs)
             : write_copy(s, schema, args, n, which, outs, n_outs);
}
