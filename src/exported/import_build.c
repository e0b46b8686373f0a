/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes for imported programs. */
#include "exported/import_build.h"

const bsm_type *bsm_xi_type(const bsm_importer *im, bsm_type_kind kind) {
  return bsm_type_simple(im->cx->types, kind);
}

bool bsm_xi_is_number(const bsm_type *type) {
  return type->kind == BSM_TYPE_INT || type->kind == BSM_TYPE_FLOAT ||
         type->kind == BSM_TYPE_BOOL || type->kind == BSM_TYPE_COMPLEX ||
         type->kind == BSM_TYPE_NUMBER;
}

static void place(bsm_importer *im, bsm_node *node) {
  node->source = im->source;
  bsm_node_append(im->block, node);
}

/* ---- constants ---- */

bsm_status bsm_xi_constant(bsm_importer *im, bsm_ivalue value,
                           const bsm_type *type, bsm_value **out) {
  bsm_node *node;
  BSM_TRY(bsm_node_create_constant(im->graph, value, type, &node));
  place(im, node);
  *out = bsm_node_out(node, 0);
  return BSM_OK;
}

bsm_status bsm_xi_none(bsm_importer *im, bsm_value **out) {
  return bsm_xi_constant(im, bsm_iv_none(), NULL, out);
}

bsm_status bsm_xi_int(bsm_importer *im, int64_t value, bsm_value **out) {
  return bsm_xi_constant(im, bsm_iv_int(value), NULL, out);
}

bsm_status bsm_xi_bool(bsm_importer *im, bool value, bsm_value **out) {
  return bsm_xi_constant(im, bsm_iv_bool(value), NULL, out);
}

bsm_status bsm_xi_string(bsm_importer *im, const char *text, bsm_value **out) {
  bsm_ivalue value;
  BSM_TRY(bsm_iv_string(im->arena, bsm_str_of(text), &value));
  return bsm_xi_constant(im, value, NULL, out);
}

/* ---- nodes ---- */

bsm_status bsm_xi_node(bsm_importer *im, const char *kind,
                       bsm_value *const *inputs, size_t count,
                       const bsm_type *type, bsm_node **out) {
  bsm_value *ignored;
  BSM_TRY(bsm_node_create(im->graph, kind, out));
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(bsm_node_add_input(*out, inputs[i]));
  }
  if (type) BSM_TRY(bsm_node_add_output(*out, type, &ignored));
  place(im, *out);
  return BSM_OK;
}

bsm_status bsm_xi_list(bsm_importer *im, const bsm_type *elem,
                       bsm_value *const *items, size_t count, bsm_value **out) {
  const bsm_type *type = bsm_type_list(im->cx->types, elem);
  bsm_node *node;
  BSM_TRY_ALLOC(type);
  BSM_TRY(bsm_xi_node(im, "prim::ListConstruct", items, count, type, &node));
  *out = bsm_node_out(node, 0);
  return BSM_OK;
}

bsm_status bsm_xi_unpack(bsm_importer *im, bsm_value *container, size_t count,
                         bsm_value **out) {
  const bsm_type *type = container->type;
  const bool list = type->kind == BSM_TYPE_LIST;
  bsm_node *node;
  if (!list && (type->kind != BSM_TYPE_TUPLE || type->arg_count != count)) {
    return BSM_FAIL(BSM_CORRUPT, "a value of type %s is taken apart into %zu",
                    bsm_type_str(im->arena, type), count);
  }
  BSM_TRY(bsm_xi_node(im, list ? "prim::ListUnpack" : "prim::TupleUnpack",
                      &container, 1, NULL, &node));
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(bsm_node_add_output(node, type->args[list ? 0 : i], &out[i]));
  }
  return BSM_OK;
}

/* A call over positional values; `schema` NULL: by the overloads of `name`. */
static bsm_status call(bsm_importer *im, const char *name,
                       const bsm_schema *schema, bsm_value *const *args,
                       size_t count, bsm_value **out) {
  bsm_match_arg *given = BSM_NEW_ARRAY(im->arena, bsm_match_arg, count + 1);
  bsm_match_call match_call = {im->cx->types, im->arena, given, count,
                               .truth_is_number = true};
  bsm_schema_match match;
  bsm_node *node;
  BSM_TRY_ALLOC(given);
  for (size_t i = 0; i < count; i++) {
    given[i] = (bsm_match_arg){.type = args[i]->type};
  }
  BSM_TRY(schema ? bsm_schema_match_overloads(&match_call, &schema, 1, &match)
                 : bsm_schema_match_name(&match_call, im->cx->schemas,
                                         bsm_str_of(name), &match));
  BSM_TRY(bsm_schema_match_build(im->graph, &match, args, im->block, NULL,
                                 &im->source, &node));
  *out = node->outputs.len ? bsm_node_out(node, 0) : NULL;
  return BSM_OK;
}

bsm_status bsm_xi_call(bsm_importer *im, const char *name,
                       bsm_value *const *args, size_t count, bsm_value **out) {
  return call(im, name, NULL, args, count, out);
}

bsm_status bsm_xi_op(bsm_importer *im, const char *qualified,
                     bsm_value *const *args, size_t count, bsm_value **out) {
  const bsm_schema *schema;
  BSM_TRY(
      bsm_schema_table_find(im->cx->schemas, bsm_str_of(qualified), &schema));
  if (!schema) return BSM_FAIL(BSM_INTERNAL, "no schema of %s", qualified);
  return call(im, qualified, schema, args, count, out);
}

bsm_status bsm_xi_append(bsm_importer *im, bsm_value *list, bsm_value *item) {
  bsm_value *const args[2] = {list, item};
  bsm_value *ignored;
  return bsm_xi_call(im, "aten::append", args, 2, &ignored);
}

/* ---- conversions ---- */

bsm_status bsm_xi_truth(bsm_importer *im, bsm_value *value, bsm_value **out) {
  if (value->type->kind == BSM_TYPE_BOOL) {
    *out = value;
    return BSM_OK;
  }
  if (value->type->kind == BSM_TYPE_NUMBER) {
    BSM_TRY(bsm_xi_op(im, "aten::Float.Scalar", &value, 1, &value));
  }
  return bsm_xi_call(im, "aten::Bool", &value, 1, out);
}

bsm_status bsm_xi_as_kind(bsm_importer *im, bsm_value *value, bsm_sym_kind kind,
                          bsm_value **out) {
  const bsm_type_kind have = value->type->kind;
  *out = value;
  switch (kind) {
    case BSM_SYM_KIND_INT:
      return have == BSM_TYPE_INT
                 ? BSM_OK
                 : bsm_xi_call(im, "aten::Int", &value, 1, out);
    case BSM_SYM_KIND_FLOAT:
      return have == BSM_TYPE_FLOAT
                 ? BSM_OK
                 : bsm_xi_call(im, "aten::Float", &value, 1, out);
    default:
      return bsm_xi_truth(im, value, out);
  }
}

/* ---- checks ---- */

bsm_status bsm_xi_check(bsm_importer *im, bsm_value *condition,
                        const char *message) {
  bsm_block *const outer = im->block, *fine, *wrong;
  bsm_node *check, *raise;
  bsm_value *args[2];
  bsm_ivalue text;
  /* Lowering may find that it holds for all shapes but some. */
  if (condition->node->schema &&
      !bsm_node_attr_get(condition->node, "message")) {
    BSM_TRY(bsm_iv_string(im->arena, bsm_str_of(message), &text));
    BSM_TRY(bsm_node_set_attr(condition->node, "message", text));
  }
  BSM_TRY(bsm_xi_node(im, "prim::If", &condition, 1, NULL, &check));
  BSM_TRY(bsm_node_add_block(check, &fine));
  BSM_TRY(bsm_node_add_block(check, &wrong));
  im->block = wrong;
  bsm_status status = bsm_xi_string(im, message, &args[0]);
  if (!status) status = bsm_xi_none(im, &args[1]);
  if (!status) {
    status = bsm_xi_node(im, "prim::RaiseException", args, 2, NULL, &raise);
  }
  im->block = outer;
  return status;
}
