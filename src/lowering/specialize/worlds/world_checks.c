/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken as known because it is the same in all worlds is checked when
 * the engine runs: a shape for which it is not is refused with a message. The
 * checks stand where the value is computed, before anything that was built on
 * it. */
#include "lowering/specialize/worlds/world_checks.h"

#include "aten/ivalue_parts.h"
#include "lowering/specialize/values/schema_query.h"

/* Raises unless `same` holds. */
static bsm_status emit_raise_unless(bsm_spec *s, bsm_value *same) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  bsm_value *text = NULL;
  bsm_node *check = NULL, *raise = NULL;
  bsm_block *fine = NULL, *wrong = NULL;
  bsm_ivalue message;
  /* A front end may know what a condition on shapes is about. */
  const bsm_ivalue *told =
      s->at.node ? bsm_node_attr_get(s->at.node, "message") : NULL;
  const char *words =
      told && told->tag == BSM_IVALUE_STRING
          ? bsm_arena_printf(s->scratch, BSM_WORLD_CHECK ": %s",
                             told->u.s->data)
          : bsm_arena_printf(s->scratch,
                             BSM_WORLD_CHECK
                             ": at %s the model goes another way than for the "
                             "shapes that were tried",
                             bsm_spec_where(s));
  BSM_TRY_ALLOC(words);
  BSM_TRY(bsm_iv_string(s->cx->arena, bsm_str_of(words), &message));
  BSM_TRY(bsm_node_create(s->residual.graph, "prim::If", &check));
  BSM_TRY(bsm_node_add_input(check, same));
  BSM_TRY(bsm_node_add_block(check, &fine));
  BSM_TRY(bsm_node_add_block(check, &wrong));
  bsm_node_emitter inside = e;
  inside.block = wrong;
  BSM_TRY(bsm_ir_constant(&inside, message, NULL, &text));
  BSM_TRY(bsm_node_create(s->residual.graph, "prim::RaiseException", &raise));
  BSM_TRY(bsm_node_add_input(raise, text));
  bsm_ir_link(&inside, raise);
  bsm_ir_link(&e, check);
  return BSM_OK;
}

static const char *equality(const bsm_ivalue *known) {
  switch (known->tag) {
    case BSM_IVALUE_INT:
      return "aten::eq.int";
    case BSM_IVALUE_BOOL:
      return "aten::eq.bool";
    case BSM_IVALUE_DOUBLE:
      return known->u.d < 0 || known->u.d >= 0 ? "aten::eq.float" : NULL;
    case BSM_IVALUE_STRING:
      return "aten::eq.str";
    default:
      return NULL;
  }
}

bool bsm_spec_can_check(const bsm_ivalue *known) {
  return equality(known) != NULL;
}

bsm_status bsm_spec_check_value(bsm_spec *s, bsm_value *value,
                                const bsm_ivalue *known) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  bsm_value *in[2] = {value, NULL};
  bsm_node *node = NULL;
  BSM_TRY(bsm_ir_constant(&e, *known, NULL, &in[1]));
  BSM_TRY(bsm_ir_node(&e, equality(known), in, 2, &node));
  return emit_raise_unless(s, bsm_node_out(node, 0));
}

bsm_status bsm_spec_check_dims(bsm_spec *s, bsm_value *value, bsm_dims dims) {
  const bsm_node_emitter e = bsm_spec_emitter(s);
  bsm_value *in[2] = {NULL, NULL};
  bsm_node *size = NULL, *same = NULL;
  BSM_TRY(bsm_ir_node(&e, "aten::size", &value, 1, &size));
  in[0] = bsm_node_out(size, 0);
  BSM_TRY(bsm_ir_dims(&e, dims, &in[1]));
  BSM_TRY(bsm_ir_node(&e, "aten::eq.int_list", in, 2, &same));
  return emit_raise_unless(s, bsm_node_out(same, 0));
}

/* ---- what needs no check ---- */

/* Ranks, dtypes, and whether a value is None do not depend on dims unless a
 * branch that was taken before does. */
static bool reads_structure(const bsm_schema *schema) {
  static const char *const names[] = {
      "aten::dim",        "aten::is_floating_point",
      "aten::is_complex", "prim::dtype",
      "prim::device",     "prim::is_cuda",
      "aten::__is__",     "aten::__isnot__",
      "prim::layout",     NULL};
  return bsm_name_in(schema->name, names);
}

static bool reads_size(const bsm_schema *schema) {
  static const char *const names[] = {"aten::size", "aten::size.int",
                                      "aten::sym_size.int", "aten::len.Tensor",
                                      NULL};
  return bsm_name_in(schema->qualified, names);
}

bool bsm_spec_is_invariant(bsm_spec *s, const bsm_schema *schema,
                           const bsm_ivalue *args, size_t n, size_t item) {
  if (!n || !bsm_spec_is_symbol(&args[0])) {
    return reads_structure(schema);
  }
  bsm_spec_symbol *symbol = bsm_spec_symbol_of(&args[0]);
  if (reads_structure(schema)) {
    return !symbol->rank_open || strcmp(schema->name, "aten::dim") != 0;
  }
  if (!reads_size(schema) || !symbol->worlds ||
      symbol->worlds[0].tag != BSM_IVALUE_TENSOR) {
    return false;
  }
  const int32_t rank = symbol->worlds[0].u.tensor->sizes.rank;
  int64_t dim = (int64_t)item;
  if (n > 1 && (args[1].tag != BSM_IVALUE_INT ||
                (dim = args[1].u.i, !bsm_ir_wrap_dim(&dim, rank)))) {
    return false;
  }
  if (symbol->fixed) {
    return true;
  }
  if (!bsm_spec_is_open_block(s, symbol->invariant_block)) {
    symbol->invariant_dims = 0;
    symbol->invariant_block = s->residual.block;
  }
  const uint32_t bit = 1u << dim;
  const bsm_lowering_range *r = symbol->range;
  const bool invariant =
      (r && r->min.d[dim] == r->max.d[dim]) || (symbol->invariant_dims & bit);
  /* The caller checks it now. If a block around is noted, it stays. */
  if (!invariant && symbol->invariant_block == s->residual.block) {
    symbol->invariant_dims |= bit;
  }
  return invariant;
}

/* Ops whose rank depends on dims. */
static bool squeezes(const bsm_schema *schema) {
  return strncmp(schema->name, "aten::squeeze", 13) == 0;
}

static void find_open(const bsm_ivalue *v, bool *open, bool *free_dims,
                      size_t depth) {
  if (bsm_spec_is_symbol(v)) {
    const bsm_spec_symbol *symbol = bsm_spec_symbol_of(v);
    *open = *open || symbol->rank_open;
    *free_dims = *free_dims || !symbol->fixed;
    return;
  }
  const bsm_iv_parts parts = bsm_iv_items_of(v);
  if (parts.len && depth > 8) { /* not followed */
    *open = *free_dims = true;
    return;
  }
  for (size_t i = 0; i < parts.len; i++) {
    find_open(&parts.items[i], open, free_dims, depth + 1);
  }
}

void bsm_spec_infer_invariance(const bsm_schema *schema, const bsm_ivalue *args,
                               size_t n, bool *rank_open, bool *dims_follow) {
  bool free_dims = false;
  *rank_open = squeezes(schema);
  for (size_t i = 0; i < n; i++) {
    find_open(&args[i], rank_open, &free_dims, 0);
  }
  *dims_follow = !free_dims;
}
