/* SPDX-License-Identifier: Apache-2.0 */
/* Draws in the order of memory. */
#include "lowering/specialize/ops/memory_order.h"

#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/literal_policy.h"
#include "lowering/specialize/values/schema_query.h"
#include "lowering/specialize/values/world_set.h"

/* torch.contiguous_format */
enum { CONTIGUOUS = 0 };

/* Whether the call draws row by row whatever the strides of its argument. */
static bool draws_by_rows(const bsm_schema *schema, const bsm_ivalue *args) {
  static const char *const names[] = {"aten::feature_dropout",
                                      "aten::feature_alpha_dropout",
                                      "aten::rrelu",
                                      "aten::normal",
                                      "aten::bernoulli",
                                      "aten::multinomial",
                                      NULL};
  const int64_t format = bsm_schema_find_arg(schema, "memory_format");
  return bsm_name_in(schema->name, names) ||
         (format >= 0 && args[format].tag == BSM_IVALUE_INT &&
          args[format].u.i == CONTIGUOUS);
}

/* The dims from the largest stride to the least; false: as they are. */
static bool memory_order(const bsm_tensor *t, int64_t *order) {
  bool moved = false;
  for (int32_t i = 0; i < t->sizes.rank; i++) {
    int32_t at = i;
    while (at > 0 && t->sizes.d[i] != 1 && t->sizes.d[order[at - 1]] != 1 &&
           t->strides[order[at - 1]] < t->strides[i]) {
      order[at] = order[at - 1];
      at--;
      moved = true;
    }
    order[at] = i;
  }
  return moved;
}

static bsm_status permute(bsm_spec *s, const bsm_ivalue *tensor,
                          const int64_t *order, size_t rank, bsm_ivalue *out) {
  bsm_ivalue args[2] = {*tensor, {0}};
  BSM_TRY(bsm_iv_int_list(s->cx->arena, order, rank, &args[1]));
  return bsm_spec_op_named(s, "aten::permute", args, 2, out);
}

/* The tensor, or what it is in the first of the worlds; NULL: not known. */
static const bsm_tensor *first_tensor(const bsm_spec *s,
                                      const bsm_ivalue *arg) {
  if (bsm_spec_is_symbol(arg)) {
    const bsm_spec_symbol *symbol = bsm_spec_symbol_of(arg);
    size_t w = 0;
    while (w < s->worlds.count && !bsm_world_is_possible(&s->worlds, w)) w++;
    if (!symbol->worlds || w == s->worlds.count) return NULL;
    arg = &symbol->worlds[w];
  }
  return arg->tag == BSM_IVALUE_TENSOR ? arg->u.tensor : NULL;
}

bsm_status bsm_spec_draw_in_memory_order(bsm_spec *s, const bsm_schema *schema,
                                         const bsm_ivalue *args, size_t n,
                                         bsm_ivalue *outs, size_t n_outs,
                                         bool *done) {
  int64_t order[BSM_MAX_RANK], back[BSM_MAX_RANK];
  *done = false;
  const bsm_tensor *t = n ? first_tensor(s, &args[0]) : NULL;
  if (!t || !n_outs || bsm_spec_strides_matter(s) ||
      draws_by_rows(schema, args) || !memory_order(t, order)) {
    return BSM_OK;
  }
  const size_t rank = (size_t)t->sizes.rank;
  bsm_ivalue *own = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n);
  BSM_TRY_ALLOC(own);
  memcpy(own, args, n * sizeof(*own));
  BSM_TRY(permute(s, &args[0], order, rank, &own[0]));
  BSM_TRY(bsm_spec_op(s, schema, own, n, outs, n_outs));
  for (size_t i = 0; i < rank; i++) back[order[i]] = (int64_t)i;
  for (size_t i = 0; i < n_outs; i++) {
    BSM_TRY(permute(s, &outs[i], back, rank, &outs[i]));
  }
  *done = true;
  return BSM_OK;
}
