/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes: finding and binding names. */
#include "torchscript/scope.h"

bsm_binding *bsm_scope_find_own(const bsm_scope *scope, const char *name) {
  return bsm_ptrmap_get(&scope->map, name);
}

bsm_binding *bsm_scope_find(const bsm_scope *scope, const char *name) {
  for (; scope; scope = scope->parent) {
    bsm_binding *binding = bsm_scope_find_own(scope, name);
    if (binding) return binding;
  }
  return NULL;
}

bsm_status bsm_scope_bind(bsm_arena *arena, bsm_scope *scope, const char *name,
                          bsm_sugar sugar) {
  bsm_binding *binding = bsm_scope_find_own(scope, name);
  if (!binding) {
    binding = BSM_NEW(arena, bsm_binding);
    BSM_TRY_ALLOC(binding);
    binding->name = name;
    BSM_TRY_ALLOC(bsm_ptrmap_set(arena, &scope->map, name, binding));
    BSM_TRY_ALLOC(bsm_vec_push(arena, &scope->order, binding));
  }
  binding->sugar = sugar;
  return BSM_OK;
}

bsm_status bsm_assigned_name(bsm_arena *arena, const char *name,
                             bsm_assigned *out) {
  if (bsm_ptrmap_get(&out->seen, name)) return BSM_OK;
  BSM_TRY_ALLOC(bsm_ptrmap_set(arena, &out->seen, name, out));
  BSM_TRY_ALLOC(bsm_vec_push(arena, &out->names, name));
  return BSM_OK;
}

bsm_status bsm_assigned_add(bsm_arena *arena, const bsm_stmts *stmts,
                            bsm_assigned *out) {
  for (size_t i = 0; i < stmts->count; i++) {
    const bsm_stmt *stmt = stmts->items[i];
    for (size_t k = 0; k < stmt->target_count; k++) {
      if (stmt->targets[k]->kind == BSM_EXPR_NAME) {
        BSM_TRY(bsm_assigned_name(arena, stmt->targets[k]->name, out));
      }
    }
    BSM_TRY(bsm_assigned_add(arena, &stmt->body, out));
    BSM_TRY(bsm_assigned_add(arena, &stmt->other, out));
  }
  return BSM_OK;
}
