/* SPDX-License-Identifier: Apache-2.0 */
/* The builder that writes down: forms run on abstract values, by ops of the
 * specialiser.
 *
 * An abstract quantized tensor is a token - a meta tensor, or a symbol where
 * inputs range - that stands for integers, which the residual graph has, and
 * their grid, which is known. A token has no residual value: what would need
 * one, such as a result of the method, is refused. Quantized tensors with data
 * are what they are, until their integers are asked for. */
#include "lowering/specialize/ops/quantized_tensors.h"

#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/dynamic_containers.h"
#include "lowering/specialize/memory/shadow.h"
#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/literal_policy.h"
#include "lowering/specialize/values/reference_op.h"
#include "lowering/specialize/values/world_set.h"
#include "quantized/form_kit.h"

/* What a token stands for. */
typedef struct quantized {
  bsm_ivalue integers;
  bsm_q_grid grid;
} quantized;

typedef struct writing {
  bsm_q_builder builder; /* first */
  bsm_spec *s;
} writing;

static bsm_spec *spec_of(bsm_q_builder *b) {
  return ((writing *)b)->s;
}

static quantized *find(const bsm_spec *s, const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_TENSOR || bsm_spec_is_symbol(v)
             ? bsm_ptrmap_get(&s->ops->quantized, v->u.container)
             : NULL;
}

static bsm_status note(bsm_spec *s, const bsm_ivalue *v, const quantized *of,
                       quantized **out) {
  *out = BSM_NEW(s->scratch, quantized);
  BSM_TRY_ALLOC(*out);
  **out = *of;
  BSM_TRY_ALLOC(
      bsm_ptrmap_set(s->scratch, &s->ops->quantized, v->u.container, *out));
  return BSM_OK;
}

/* ---- tensors with data ---- */

static bool has_grid(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_TENSOR &&
         bsm_dtype_is_quantized(v->u.tensor->dtype) && v->u.tensor->quantizer;
}

static bsm_status shadow_of(bsm_spec *s, const bsm_tensor **t) {
  bsm_ivalue own;
  const bsm_ivalue value = bsm_iv_tensor((bsm_tensor *)(uintptr_t)*t);
  if (!*t) return BSM_OK;
  BSM_TRY(bsm_spec_shadow(s, value, NULL, &own));
  *t = own.u.tensor;
  return BSM_OK;
}

static bsm_status split_known(bsm_spec *s, const bsm_ivalue *v,
                              quantized **out) {
  const bsm_tensor *t = v->u.tensor;
  const bsm_spec_tensor *record = bsm_spec_tensor_find(s, t);
  const bsm_tensor *from = bsm_tensor_is_meta(t) && record ? record->known : t;
  if (!from || bsm_tensor_is_meta(from)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a quantized tensor whose values only the run will tell");
  }
  bsm_tensor *integers = BSM_NEW(s->cx->arena, bsm_tensor);
  BSM_TRY_ALLOC(integers);
  *integers = *from;
  integers->dtype = bsm_q_integers(from->dtype);
  integers->quantizer = NULL;
  quantized of = {bsm_iv_tensor(integers), {from->dtype, *from->quantizer}};
  if (!bsm_spec_data_is_known(s)) {
    BSM_TRY(bsm_spec_shadow(s, of.integers, NULL, &of.integers));
  }
  BSM_TRY(shadow_of(s, &of.grid.q.scales));
  BSM_TRY(shadow_of(s, &of.grid.q.zero_points));
  return note(s, v, &of, out);
}

/* ---- the builder ---- */

static bsm_status call(bsm_q_builder *b, const char *name,
                       const bsm_ivalue *args, size_t n, bsm_ivalue *outs,
                       size_t n_outs) {
  bsm_spec *s = spec_of(b);
  const bsm_schema *schema = NULL;
  BSM_TRY(bsm_schema_table_find(s->cx->schemas, bsm_str_of(name), &schema));
  if (!schema || schema->arg_count != n) {
    return BSM_FAIL(BSM_INTERNAL, "lowering: no schema %s of %zu arguments",
                    name, n);
  }
  bsm_ivalue *own = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(own);
  memcpy(own, args, n * sizeof(*args));
  return bsm_spec_op(s, schema, own, n, outs, n_outs);
}

static bsm_status split(bsm_q_builder *b, const bsm_ivalue *v,
                        bsm_ivalue *integers, bsm_q_grid *grid, bool *is) {
  quantized *of = find(spec_of(b), v);
  if (!of && has_grid(v)) BSM_TRY(split_known(spec_of(b), v, &of));
  *is = of != NULL;
  if (of) {
    *integers = of->integers;
    *grid = of->grid;
  }
  return BSM_OK;
}

static bsm_status join(bsm_q_builder *b, const bsm_ivalue *integers,
                       const bsm_q_grid *grid, bsm_ivalue *out) {
  bsm_spec *s = spec_of(b);
  const quantized of = {*integers, *grid};
  quantized *noted = NULL;
  if (bsm_spec_is_symbol(integers)) {
    const bsm_spec_symbol *symbol = bsm_spec_symbol_of(integers);
    BSM_TRY(bsm_spec_new_symbol(s, symbol->value, symbol->type, out));
    bsm_spec_symbol_of(out)->worlds = symbol->worlds;
    bsm_spec_symbol_of(out)->quantized = true;
    return note(s, out, &of, &noted);
  }
  if (integers->tag != BSM_IVALUE_TENSOR) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "quantized tensors in a %s that the run "
                    "makes",
                    bsm_iv_tag_name(integers->tag));
  }
  bsm_tensor *t = NULL;
  bsm_quantizer *quantizer = BSM_NEW(s->cx->arena, bsm_quantizer);
  BSM_TRY_ALLOC(quantizer);
  *quantizer = grid->q;
  const bsm_tensor *from = integers->u.tensor;
  if (bsm_tensor_is_meta(from)) {
    BSM_TRY(bsm_tensor_new(s->cx->arena, grid->dtype, from->sizes, true, &t));
  } else {
    t = BSM_NEW(s->cx->arena, bsm_tensor);
    BSM_TRY_ALLOC(t);
    *t = *from;
    t->dtype = grid->dtype;
  }
  t->quantizer = quantizer;
  *out = bsm_iv_tensor(t);
  return note(s, out, &of, &noted);
}

static bsm_dims dims_of(bsm_q_builder *b, const bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_TENSOR) return v->u.tensor->sizes;
  return bsm_spec_is_symbol(v) ? bsm_world_set_dims(&spec_of(b)->worlds, v)
                               : (bsm_dims){.rank = -1};
}

static bsm_status slot(bsm_q_builder *b, const bsm_ivalue *value,
                       bsm_ivalue *out) {
  bsm_spec *s = spec_of(b);
  *out = *value;
  /* An argument that is packed is an abstract value already. */
  if (value->tag != BSM_IVALUE_TENSOR || bsm_tensor_is_meta(value->u.tensor) ||
      bsm_spec_tensor_find(s, value->u.tensor)) {
    return BSM_OK;
  }
  return bsm_spec_shadow(s, *value, NULL, out);
}

/* ---- which ops ---- */

static bool is_quantized(const bsm_spec *s, const bsm_ivalue *v) {
  return has_grid(v) || (s->ops->quantized.len && find(s, v));
}

/* Whether an argument is quantized. What is in a list that the schema leaves
 * open is passed on. */
static bool takes_quantized(const bsm_spec *s, const bsm_schema *schema,
                            const bsm_ivalue *args, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const bsm_type *type = i < schema->arg_count ? schema->args[i].type : NULL;
    while (type && type->kind == BSM_TYPE_OPTIONAL) type = type->args[0];
    if (!type || bsm_type_has_vars(type)) continue;
    if (is_quantized(s, &args[i])) return true;
    if (args[i].tag != BSM_IVALUE_LIST || type->kind != BSM_TYPE_LIST ||
        bsm_spec_dynamic_find(s, &args[i])) {
      continue;
    }
    const bsm_list *list = args[i].u.list;
    if (list->len && is_quantized(s, &list->items[0])) return true;
  }
  return false;
}

static bool makes_quantized(const bsm_schema *schema) {
  static const char *const names[] = {
      "quantized::", "torchao::", "aten::quantize", "aten::_make_per_",
      "aten::fused_moving_avg_obs_fake_quant"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (strncmp(schema->qualified, names[i], strlen(names[i])) == 0) {
      return true;
    }
  }
  return false;
}

/* The class that the schema names. */
static void set_type(const bsm_schema *schema, bsm_ivalue *outs,
                     size_t n_outs) {
  for (size_t i = 0; i < n_outs && i < schema->return_count; i++) {
    if (outs[i].tag == BSM_IVALUE_OBJECT && !outs[i].u.object->type) {
      outs[i].u.object->type = schema->returns[i].type;
    }
  }
}

bsm_status bsm_spec_quantized_op(bsm_spec *s, const bsm_schema *schema,
                                 const bsm_ivalue *args, size_t n,
                                 bsm_ivalue *outs, size_t n_outs, bool *done) {
  const bool makes = makes_quantized(schema);
  *done = makes || takes_quantized(s, schema, args, n);
  if (!*done) return BSM_OK;
  bsm_spec_leaves leaves = {false, false};
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_spec_scan(s, &args[i], &leaves));
  }
  const bsm_aten_op *op = bsm_spec_find_op(s, schema);
  const bool known = op && !leaves.meta && !leaves.symbol;
  if (known && !makes) { /* as any other op */
    *done = false;
    return BSM_OK;
  }
  if (known) {
    BSM_TRY(bsm_spec_call(s, op, args, n, outs, n_outs));
  } else {
    writing w = {{s->cx->arena, call, split, join, NULL, dims_of, slot}, s};
    BSM_TRY(bsm_q_run(&w.builder, schema->qualified, args, n, outs, n_outs));
  }
  set_type(schema, outs, n_outs);
  return BSM_OK;
}
