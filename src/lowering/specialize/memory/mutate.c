/* SPDX-License-Identifier: Apache-2.0 */
/* In-place ops on tensors without data: the functional form computes the new
 * value, write_back.c puts it into the storage. */
#include "lowering/specialize/memory/mutate.h"

#include "lowering/specialize/memory/alias.h"
#include "lowering/specialize/memory/symbol_views.h"
#include "lowering/specialize/memory/tensor_values.h"
#include "lowering/specialize/memory/write_back.h"
#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/literal_policy.h"
#include "lowering/specialize/values/reference_op.h"
#include "lowering/specialize/values/schema_query.h"
#include "lowering/specialize/values/world_set.h"

/* ---- the functional form ---- */

/* "aten::add_" -> "aten::add", "aten::__ior__" -> "aten::__or__"; not
 * "aten::normal", which makes tensors of other dims. */
static bsm_status functional_name(bsm_spec *s, const char *name,
                                  const char **out) {
  const size_t n = strlen(name);
  if (strcmp(name, "aten::normal_") == 0) {
    *out = "aten::normal_functional";
  } else if (strncmp(name, "aten::__i", 9) == 0 && n > 11) {
    *out = bsm_arena_printf(s->scratch, "aten::__%s", name + 9);
  } else if (n > 1 && name[n - 1] == '_' && name[n - 2] != '_') {
    *out = bsm_arena_strndup(s->scratch, name, n - 1);
  } else {
    *out = name;
  }
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

static bool writes_anything(const bsm_schema *schema) {
  for (size_t i = 0; i < schema->arg_count; i++) {
    if (schema->args[i].is_write) {
      return true;
    }
  }
  return false;
}

/* The argument of that name; the first is "self" in one and "input" in another.
 */
static int64_t find_same_arg(const bsm_schema *in, const bsm_schema *of,
                             size_t i) {
  const int64_t k = bsm_schema_find_arg(in, of->args[i].name);
  return k < 0 && i == 0 && in->arg_count > 0 ? 0 : k;
}

/* Whether `functional` takes what `schema` takes, its out arguments aside. */
static bool is_functional_form(const bsm_schema *schema,
                               const bsm_schema *functional) {
  size_t matched = 0, wanted = 0;
  if (writes_anything(functional)) {
    return false;
  }
  for (size_t i = 0; i < schema->arg_count; i++) {
    const bsm_schema_arg *a = &schema->args[i];
    if (strcmp(a->name, "out") == 0 || strcmp(a->name, "generator") == 0) {
      continue;
    }
    wanted++;
    const int64_t k = find_same_arg(functional, schema, i);
    matched += k >= 0 && functional->args[k].type == a->type;
  }
  for (size_t i = 0; i < functional->arg_count; i++) {
    if (find_same_arg(schema, functional, i) < 0 &&
        !functional->args[i].has_default &&
        strcmp(functional->args[i].name, "generator") != 0) {
      return false;
    }
  }
  return matched == wanted;
}

static bsm_status find_functional(bsm_spec *s, const bsm_schema *schema,
                                  const bsm_schema **out) {
  const char *name = NULL;
  const bsm_schema *const *list = NULL;
  size_t count = 0;
  *out = NULL;
  BSM_TRY(functional_name(s, schema->name, &name));
  BSM_TRY(bsm_schema_table_overloads(s->cx->schemas, bsm_str_of(name), &list,
                                     &count));
  for (size_t i = 0; i < count; i++) {
    if (is_functional_form(schema, list[i]) &&
        (!*out || strcmp(list[i]->overload, schema->overload) == 0)) {
      *out = list[i];
    }
  }
  if (!*out) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "%s changes a tensor in place and has no functional form",
                    schema->qualified);
  }
  return BSM_OK;
}

bsm_status bsm_spec_functional(bsm_spec *s, const bsm_schema *schema,
                               const bsm_ivalue *args, bsm_ivalue *out) {
  const bsm_schema *functional = NULL;
  BSM_TRY(find_functional(s, schema, &functional));
  if (functional->return_count != 1) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s returns several tensors",
                    functional->qualified);
  }
  bsm_ivalue *own =
      BSM_NEW_ARRAY(s->stack, bsm_ivalue, functional->arg_count + 1);
  BSM_TRY_ALLOC(own);
  for (size_t i = 0; i < functional->arg_count; i++) {
    const int64_t k = find_same_arg(schema, functional, i);
    own[i] = k >= 0 ? args[k] : functional->args[i].default_value;
  }
  return bsm_spec_op(s, functional, own, functional->arg_count, out, 1);
}

/* ---- special ones ---- */

/* `value` as the new content of `self`: cast and broadcast. */
static bsm_status fit(bsm_spec *s, const bsm_tensor *self, bsm_ivalue *value) {
  if (value->tag != BSM_IVALUE_TENSOR ||
      value->u.tensor->dtype != self->dtype) {
    const bsm_ivalue cast[5] = {*value, bsm_iv_int((int64_t)self->dtype),
                                bsm_iv_bool(false), bsm_iv_bool(false),
                                bsm_iv_none()};
    BSM_TRY(bsm_spec_op_named(s, "aten::to.dtype", cast, 5, value));
  }
  if (value->tag == BSM_IVALUE_TENSOR &&
      bsm_dims_equal(value->u.tensor->sizes, self->sizes)) {
    return BSM_OK;
  }
  /* copy_ also takes away leading dims of 1. */
  if (value->tag == BSM_IVALUE_TENSOR &&
      value->u.tensor->sizes.rank > self->sizes.rank) {
    bsm_dims dims = value->u.tensor->sizes;
    while (dims.rank > self->sizes.rank && dims.d[0] == 1) {
      memmove(dims.d, dims.d + 1, sizeof(dims.d) - sizeof(dims.d[0]));
      dims.rank--;
    }
    bsm_ivalue view[2] = {*value, {0}};
    BSM_TRY(bsm_iv_int_list(s->cx->arena, dims.d, (size_t)dims.rank, &view[1]));
    BSM_TRY(bsm_spec_op_named(s, "aten::reshape", view, 2, value));
  }
  bsm_ivalue expand[3] = {*value, {0}, bsm_iv_bool(false)};
  BSM_TRY(bsm_iv_int_list(s->cx->arena, self->sizes.d, (size_t)self->sizes.rank,
                          &expand[1]));
  return bsm_spec_op_named(s, "aten::expand", expand, 3, value);
}

static bsm_status filled(bsm_spec *s, const bsm_tensor *self, bsm_ivalue value,
                         bsm_ivalue *out) {
  bsm_ivalue full[6] = {{0}};
  BSM_TRY(bsm_iv_int_list(s->cx->arena, self->sizes.d, (size_t)self->sizes.rank,
                          &full[0]));
  full[1] = value;
  full[2] = bsm_iv_int((int64_t)self->dtype);
  return bsm_spec_op_named(s, "aten::full", full, 6, out);
}

/* ---- fill_diagonal_ ---- */

/* Where fill_diagonal_ writes, of a tensor whose dims are known: a mask that
 * has to be known, whatever work is left, and that memory bounds. */
static bsm_status diagonal_mask(bsm_spec *s, const bsm_schema *schema,
                                const bsm_ivalue *args, bsm_ivalue *mask) {
  bsm_ivalue on[3] = {{0}, bsm_iv_bool(true), args[2]}, same;
  bsm_tensor *t = NULL;
  BSM_TRY(bsm_tensor_new(s->cx->arena, BSM_DTYPE_BOOL, args[0].u.tensor->sizes,
                         false, &t));
  *mask = on[0] = bsm_iv_tensor(t);
  bsm_op_ctx cx = {.arena = s->cx->arena, .logger = s->logger};
  return bsm_aten_call(&cx, bsm_spec_find_op(s, schema), on, 3, &same, 1);
}

/* The same when only the run tells them. */
static bsm_status open_diagonal_mask(bsm_spec *s, const bsm_ivalue *args,
                                     bsm_ivalue *mask) {
  const bsm_ivalue none = bsm_iv_none();
  bsm_ivalue ones[6] = {args[0], bsm_iv_int(BSM_DTYPE_BOOL), none, none, none,
                        none};
  bsm_ivalue part[2] = {none, bsm_iv_int(0)};
  if (bsm_world_set_dims(&s->worlds, &args[0]).rank != 2 ||
      args[2].tag != BSM_IVALUE_BOOL || args[2].u.b) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "fill_diagonal_ of a tensor whose shape is not known, and "
                    "that is no matrix or filled with wrap=True");
  }
  BSM_TRY(bsm_spec_op_named(s, "aten::ones_like", ones, 6, &part[0]));
  BSM_TRY(bsm_spec_op_named(s, "aten::triu", part, 2, &part[0]));
  return bsm_spec_op_named(s, "aten::tril", part, 2, mask);
}

static bool is_fill_diagonal(const bsm_schema *schema) {
  return strcmp(schema->qualified, "aten::fill_diagonal_") == 0;
}

/* What has no functional form in PyTorch. */
static bsm_status filled_diagonal(bsm_spec *s, const bsm_schema *schema,
                                  const bsm_ivalue *args, bsm_ivalue *out) {
  bsm_ivalue fill[3] = {args[0], {0}, args[1]};
  BSM_TRY(args[0].tag == BSM_IVALUE_TENSOR && !bsm_spec_is_symbol(&args[2])
              ? diagonal_mask(s, schema, args, &fill[1])
              : open_diagonal_mask(s, args, &fill[1]));
  return bsm_spec_op_named(s, "aten::masked_fill.Scalar", fill, 3, out);
}

/* The new content of `self`, of whatever dtype. */
static bsm_status new_content(bsm_spec *s, const bsm_schema *schema,
                              const bsm_ivalue *args, const bsm_tensor *self,
                              bsm_ivalue *out) {
  if (strcmp(schema->qualified, "aten::copy_") == 0 ||
      strcmp(schema->qualified, "aten::fill_.Tensor") == 0) {
    *out = args[1];
    return fit(s, self, out);
  }
  if (strcmp(schema->qualified, "aten::zero_") == 0) {
    return filled(s, self, bsm_iv_int(0), out);
  }
  if (strcmp(schema->qualified, "aten::fill_.Scalar") == 0 &&
      !bsm_spec_is_symbol(&args[1])) {
    return filled(s, self, args[1], out);
  }
  return is_fill_diagonal(schema) ? filled_diagonal(s, schema, args, out)
                                  : bsm_spec_functional(s, schema, args, out);
}

/* Whether what has dtype `from` may be written into a tensor of `to`. */
static bsm_status check_cast(bsm_dtype from, bsm_dtype to) {
  if ((bsm_dtype_is_floating(from) && bsm_dtype_is_integral(to, true)) ||
      (from != BSM_DTYPE_BOOL && to == BSM_DTYPE_BOOL)) {
    return BSM_FAIL(
        BSM_RAISED,
        "result type %s can't be cast to the desired output type %s",
        bsm_dtype_name(from), bsm_dtype_name(to));
  }
  return BSM_OK;
}

bsm_status bsm_spec_check_content(const bsm_tensor *self, const bsm_tensor *t) {
  if (!bsm_dims_equal(t->sizes, self->sizes)) {
    return BSM_FAIL(BSM_RAISED,
                    "output with shape %s doesn't match the broadcast shape %s",
                    bsm_dims_str(self->sizes), bsm_dims_str(t->sizes));
  }
  return check_cast(t->dtype, self->dtype);
}

/* The dtype of a symbol is not known, and an in-place op keeps it. */
static bsm_status mutate_symbol(bsm_spec *s, const bsm_schema *schema,
                                const bsm_ivalue *args, size_t which) {
  bsm_ivalue cast[2] = {bsm_iv_none(), args[which]}, out = bsm_iv_none();
  bsm_value *value = NULL;
  if (bsm_spec_writes_nothing(schema, args)) return BSM_OK;
  if (bsm_spec_is_geometric(schema)) {
    bsm_spec_needs_literal(s);
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "%s changes the shape of a tensor whose shape is not known",
                    schema->name);
  }
  BSM_TRY(is_fill_diagonal(schema)
              ? filled_diagonal(s, schema, args, &cast[0])
              : bsm_spec_functional(s, schema, args, &cast[0]));
  BSM_TRY(bsm_spec_op_named(s, "aten::type_as", cast, 2, &out));
  BSM_TRY(bsm_spec_residual(s, &out, NULL, &value));
  return bsm_spec_symbol_write(s, &args[which], value);
}

/* A symbol with the dtype of `self`, whatever its own is. */
static bsm_status keep_dtype(bsm_spec *s, const bsm_tensor *self,
                             bsm_ivalue *content) {
  const bsm_type *type = bsm_spec_symbol_of(content)->type;
  if (type && type->kind == BSM_TYPE_TENSOR && type->has_dtype) {
    if (type->dtype == self->dtype) return BSM_OK;
    BSM_TRY(check_cast(type->dtype, self->dtype));
  }
  const bsm_ivalue cast[5] = {*content, bsm_iv_int((int64_t)self->dtype),
                              bsm_iv_bool(false), bsm_iv_bool(false),
                              bsm_iv_none()};
  return bsm_spec_op_named(s, "aten::to.dtype", cast, 5, content);
}

/* The elements of `t`, each once. */
static bsm_status unrepeated(bsm_spec *s, bsm_tensor **t) {
  for (int32_t d = 0; d < (*t)->sizes.rank; d++) {
    const bsm_ivalue first[4] = {bsm_iv_tensor(*t), bsm_iv_int(d),
                                 bsm_iv_int(0), bsm_iv_int(1)};
    bsm_ivalue view;
    if ((*t)->strides[d] != 0 || (*t)->sizes.d[d] <= 1) continue;
    BSM_TRY(bsm_spec_op_named(s, "aten::narrow", first, 4, &view));
    *t = view.u.tensor;
  }
  return BSM_OK;
}

bsm_status bsm_spec_mutate(bsm_spec *s, const bsm_schema *schema,
                           bsm_ivalue *args, size_t n, bsm_ivalue *outs,
                           size_t n_outs) {
  size_t which = 0;
  if (!bsm_spec_writes_tensor(schema, &which) || which >= n || n_outs > 1) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s writes to several tensors",
                    schema->qualified);
  }
  if (n_outs == 1) {
    outs[0] = args[which];
  }
  if (bsm_spec_is_symbol(&args[which])) {
    return mutate_symbol(s, schema, args, which);
  }
  if (args[which].tag != BSM_IVALUE_TENSOR) {
    return BSM_FAIL(BSM_INTERNAL, "%s writes to a %s", schema->qualified,
                    bsm_iv_tag_name(args[which].tag));
  }
  bsm_tensor *self = args[which].u.tensor;
  BSM_TRY(bsm_spec_materialize(s, self));
  if (bsm_spec_is_fill(schema)) {
    BSM_TRY(unrepeated(s, &self));
    args[which] = bsm_iv_tensor(self);
  }
  if (bsm_spec_overlaps_itself(self)) {
    return BSM_FAIL(BSM_RAISED,
                    "unsupported operation: more than one element of the "
                    "written-to tensor refers to a single memory location. "
                    "Please clone() the tensor before performing the "
                    "operation.");
  }
  bsm_ivalue content = {0};
  BSM_TRY(new_content(s, schema, args, self, &content));
  bsm_value *value = NULL;
  if (content.tag == BSM_IVALUE_TENSOR) {
    if (content.u.tensor == self) {
      return BSM_OK; /* dropout_ of an evaluated model */
    }
    BSM_TRY(bsm_spec_check_content(self, content.u.tensor));
    BSM_TRY(fit(s, self, &content));
  }
  /* In-place ops keep dtype and dims. */
  const bool open = bsm_spec_is_symbol(&content);
  if (open) BSM_TRY(keep_dtype(s, self, &content));
  BSM_TRY(bsm_spec_residual(s, &content, NULL, &value));
  if (open) {
    value->type = bsm_spec_tensor_type(s, self);
    BSM_TRY_ALLOC(value->type);
  }
  return bsm_spec_write(s, self, value);
}

/* ---- ops that change a tensor's own geometry ---- */

bsm_status bsm_spec_reshape_in_place(bsm_spec *s, const bsm_schema *schema,
                                     bsm_ivalue *args, size_t n,
                                     bsm_ivalue *outs, bool *done) {
  (void)n;
  *done = bsm_spec_is_geometric(schema) && args[0].tag == BSM_IVALUE_TENSOR;
  if (!*done) {
    return BSM_OK;
  }
  outs[0] = args[0];
  if (strcmp(schema->name, "aten::detach_") == 0 ||
      strcmp(schema->name, "aten::requires_grad_") == 0) {
    return BSM_OK;
  }
  /* The tensor as it was lives on under a new address, as the parent. */
  bsm_tensor *t = args[0].u.tensor;
  bsm_spec_tensor *record = NULL;
  BSM_TRY(bsm_spec_tensor_of(s, t, &record));
  if (bsm_spec_has_old_memory(s, record) || record->storage->may_alias) {
    bsm_spec_needs_literal(s);
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "%s changes the shape of a tensor from outside of an if or "
                    "loop that depends on data, or of one that other values "
                    "may be: use %.*s, which makes a view",
                    schema->name, (int)strlen(schema->name) - 1, schema->name);
  }
  bsm_tensor *old = BSM_NEW(s->cx->arena, bsm_tensor);
  bsm_spec_tensor *own = BSM_NEW(s->scratch, bsm_spec_tensor);
  BSM_TRY_ALLOC(old && own);
  *old = *t;
  record->tensor = old;
  BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &s->memory->tensors, old, record));
  args[0] = bsm_iv_tensor(old);
  bsm_ivalue view = {0};
  BSM_TRY(bsm_spec_functional(s, schema, args, &view));
  args[0] = bsm_iv_tensor(t);
  if (view.tag != BSM_IVALUE_TENSOR || view.u.tensor->storage != old->storage) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s of such a tensor", schema->name);
  }
  bsm_spec_tensor *of_view = NULL;
  BSM_TRY(bsm_spec_tensor_of(s, view.u.tensor, &of_view));
  *own = *of_view;
  if (of_view == record) { /* nothing changed */
    own->parent = record;
    own->depth = record->depth + 1;
    own->kind = BSM_VIEW_IDENTITY;
    own->schema = NULL;
  }
  *t = *view.u.tensor;
  own->tensor = t;
  BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &s->memory->tensors, t, own));
  return BSM_OK;
}
