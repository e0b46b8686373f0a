/* SPDX-License-Identifier: Apache-2.0 */
/* Nested tensors, as nn.TransformerEncoder makes one of a batch and its key
 * padding mask: it runs its layers on the rows without their padding, and
 * fills the padding with zeros in the end. Here the batch stays as it is, with
 * a note of which elements there are; layers get a mask for it, and the padding
 * of the result is filled. Nothing else is done with nested tensors. */
#include "lowering/specialize/ops/nested_tensors.h"

#include "lowering/specialize/ops/ops.h"
#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/schema_query.h"

/* What is left out of a tensor that stands for a nested one. */
typedef struct bsm_spec_nested {
  bsm_ivalue hidden; /* bool (batch, length): true where there is nothing */
  bsm_ivalue sizes;  /* int64 (batch, 1): elements of each row */
  bsm_ivalue filled; /* as hidden: what to fill when it is padded again */
  const void *asked; /* the tensor that it was asked for whether to nest it */
} nested;

static bsm_status op(bsm_spec *s, const char *name, bsm_ivalue a,
                     const bsm_ivalue *more, size_t n, bsm_ivalue *out) {
  bsm_ivalue args[8] = {a};
  for (size_t i = 0; i < n && i + 1 < 8; i++) args[i + 1] = more[i];
  return bsm_spec_op_named(s, name, args, n + 1, out);
}

static nested *find(const bsm_spec *s, const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_TENSOR || bsm_spec_is_symbol(v)
             ? bsm_ptrmap_get(&s->ops->nested, v->u.container)
             : NULL;
}

static bsm_status note(bsm_spec *s, const bsm_ivalue *v, const nested *of) {
  nested *own = BSM_NEW(s->scratch, nested);
  BSM_TRY_ALLOC(own);
  *own = *of;
  BSM_TRY_ALLOC(
      bsm_ptrmap_set(s->scratch, &s->ops->nested, v->u.container, own));
  return BSM_OK;
}

/* A nested tensor has the first elements of each row, as many as the mask has
 * true ones. */
static bsm_status describe(bsm_spec *s, const bsm_ivalue *mask, nested *out) {
  const bsm_ivalue none = bsm_iv_none();
  const bsm_ivalue along[] = {bsm_iv_int(1), none};
  bsm_ivalue sum[3] = {{0}, bsm_iv_bool(true), none};
  const bsm_ivalue ones_of[] = {bsm_iv_int(BSM_DTYPE_INT64), none, none, none,
                                none};
  const int64_t one = 1;
  bsm_ivalue place;
  BSM_TRY(bsm_iv_int_list(s->cx->arena, &one, 1, &sum[0]));
  BSM_TRY(op(s, "aten::sum.dim_IntList", *mask, sum, 3, &out->sizes));
  BSM_TRY(op(s, "aten::ones_like", *mask, ones_of, 5, &place));
  BSM_TRY(op(s, "aten::cumsum", place, along, 2, &place));
  BSM_TRY(op(s, "aten::gt.Tensor", place, &out->sizes, 1, &out->hidden));
  out->filled = out->hidden;
  return BSM_OK;
}

/* _nested_tensor_from_mask_left_aligned(t, mask): whether PyTorch makes a
 * nested tensor of the two. Here it always does; when it would not, then the
 * layers see the mask itself, and nothing is filled. */
static bsm_status ask_aligned(bsm_spec *s, const bsm_ivalue *args,
                              bsm_ivalue *out) {
  nested of;
  bsm_ivalue same;
  BSM_TRY(describe(s, &args[1], &of));
  BSM_TRY(op(s, "aten::ne.Tensor", of.hidden, &args[1], 1, &same));
  BSM_TRY(op(s, "aten::all", same, NULL, 0, &same));
  BSM_TRY(op(s, "aten::logical_and", of.hidden, &same, 1, &of.filled));
  BSM_TRY(op(s, "aten::logical_not", args[1], NULL, 0, &of.hidden));
  of.asked = args[0].u.container;
  s->ops->aligned = BSM_NEW(s->scratch, nested);
  BSM_TRY_ALLOC(s->ops->aligned);
  *s->ops->aligned = of;
  *out = bsm_iv_bool(true);
  return BSM_OK;
}

/* _nested_tensor_from_mask(t, mask, mask_check) */
static bsm_status make(bsm_spec *s, const bsm_ivalue *args, bsm_ivalue *out) {
  const bsm_ivalue none = bsm_iv_none();
  nested of;
  if (s->ops->aligned && s->ops->aligned->asked == args[0].u.container) {
    of = *s->ops->aligned;
  } else {
    BSM_TRY(describe(s, &args[1], &of));
  }
  BSM_TRY(op(s, "aten::clone", args[0], &none, 1, out));
  return note(s, out, &of);
}

/* An op on the padded tensor that stands for a nested one. */
static bsm_status on_padded(bsm_spec *s, const bsm_schema *schema,
                            bsm_ivalue *args, size_t n, bsm_ivalue *out) {
  const bsm_ptrmap known = s->ops->nested;
  s->ops->nested = (bsm_ptrmap){0};
  const bsm_status st = bsm_spec_op(s, schema, args, n, out, 1);
  s->ops->nested = known;
  return st;
}

/* _transformer_encoder_layer_fwd(src, ..., mask, mask_type) */
static bsm_status run_layer(bsm_spec *s, const bsm_schema *schema,
                            const bsm_ivalue *args, size_t n, const nested *of,
                            bsm_ivalue *out) {
  const int64_t mask = bsm_schema_find_arg(schema, "mask");
  const int64_t type = bsm_schema_find_arg(schema, "mask_type");
  bsm_ivalue *masked = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(masked);
  if (mask < 0 || type < 0 || (size_t)type >= n ||
      args[mask].tag != BSM_IVALUE_NONE) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s of a nested tensor with a mask",
                    schema->qualified);
  }
  memcpy(masked, args, n * sizeof(*args));
  masked[mask] = of->hidden;
  masked[type] = bsm_iv_int(1); /* of keys */
  BSM_TRY(on_padded(s, schema, masked, n, out));
  return note(s, out, of);
}

/* to_padded_tensor(self, padding, output_size) */
static bsm_status pad(bsm_spec *s, const bsm_ivalue *args, const nested *of,
                      bsm_ivalue *out) {
  const bsm_ivalue last = bsm_iv_int(-1), none = bsm_iv_none();
  const bsm_schema *fill = NULL;
  bsm_ivalue own[3] = {args[0], {0}, args[1]};
  bsm_ivalue to[4] = {bsm_iv_int(1), bsm_iv_int(0), none, bsm_iv_int(1)};
  BSM_TRY(op(s, "aten::unsqueeze", of->filled, &last, 1, &own[1]));
  BSM_TRY(bsm_schema_table_find(s->cx->schemas,
                                BSM_STR("aten::masked_fill.Scalar"), &fill));
  BSM_TRY(on_padded(s, fill, own, 3, out));
  if (args[2].tag != BSM_IVALUE_NONE) { /* its own size */
    return op(s, "aten::reshape", *out, &args[2], 1, out);
  }
  BSM_TRY(op(s, "aten::max", of->sizes, NULL, 0, &to[2]));
  BSM_TRY(op(s, "aten::Int.Tensor", to[2], NULL, 0, &to[2]));
  return op(s, "aten::slice.Tensor", *out, to, 4, out);
}

static bool is(const bsm_schema *schema, const char *name) {
  return strcmp(schema->qualified, name) == 0;
}

/* Queries whose answer is the same for the padded tensor. */
static bool is_harmless(const bsm_schema *schema) {
  static const char *const names[] = {
      "aten::dim",           "prim::device",           "prim::dtype",
      "prim::requires_grad", "prim::is_cuda",          "prim::is_quantized",
      "aten::__is__",        "aten::__isnot__",        "prim::is_sparse",
      "prim::layout",        "aten::is_floating_point"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (strcmp(schema->name, names[i]) == 0) return true;
  }
  return false;
}

bsm_status bsm_spec_nested_op(bsm_spec *s, const bsm_schema *schema,
                              const bsm_ivalue *args, size_t n,
                              bsm_ivalue *outs, bool *done) {
  *done = true;
  if (n == 2 && is(schema, "aten::_nested_tensor_from_mask_left_aligned")) {
    return ask_aligned(s, args, outs);
  }
  if (n == 3 && is(schema, "aten::_nested_tensor_from_mask")) {
    return make(s, args, outs);
  }
  const nested *of = NULL;
  for (size_t i = 0; s->ops->nested.len && i < n && !of; i++) {
    of = find(s, &args[i]);
  }
  if (!of || is_harmless(schema)) {
    *done = false;
    return BSM_OK;
  }
  if (is(schema, "prim::is_nested")) {
    outs[0] = bsm_iv_bool(true);
    return BSM_OK;
  }
  if (find(s, &args[0]) && is(schema, "aten::_transformer_encoder_layer_fwd")) {
    return run_layer(s, schema, args, n, of, outs);
  }
  if (find(s, &args[0]) && n == 3 && is(schema, "aten::to_padded_tensor")) {
    return pad(s, args, of, outs);
  }
  return BSM_FAIL(BSM_UNSUPPORTED,
                  "%s of a nested tensor: only the layers of "
                  "nn.TransformerEncoder take them; make the model with "
                  "enable_nested_tensor=False",
                  schema->qualified);
}
