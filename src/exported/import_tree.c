/* SPDX-License-Identifier: Apache-2.0 */
/* Structures around the values of an exported program. */
#include "exported/import_tree.h"

#include <inttypes.h>

/* The reader bounds the depth of trees, and the values below one node. */

static bool same_types(const bsm_type *const *types, size_t count) {
  for (size_t i = 1; i < count; i++) {
    if (types[i] != types[0]) return false;
  }
  return true;
}

/* Keys that a dict of the IR can have: all strings, or all of another kind. */
static bool same_keys(const bsm_exported_tree *tree) {
  for (size_t i = 0; i < tree->child_count; i++) {
    const bsm_ivalue_tag tag = tree->keys[i].tag;
    if (tag != tree->keys[0].tag || tag == BSM_IVALUE_NONE) return false;
  }
  return true;
}

/* A field's name for each child. */
static bsm_status names_of(bsm_ir_ctx *cx, const bsm_exported_tree *tree,
                           const char *const **out) {
  const char **names =
      BSM_NEW_ARRAY(cx->arena, const char *, tree->child_count + 1);
  BSM_TRY_ALLOC(names);
  for (size_t i = 0; i < tree->child_count; i++) {
    if (tree->kind == BSM_EXPORTED_TREE_DICT) {
      bsm_text text;
      bsm_text_init(&text, cx->arena);
      bsm_iv_print(&text, &tree->keys[i]);
      if (text.failed) return BSM_FAIL_OOM();
      names[i] = text.data;
    } else {
      names[i] = tree->field_names[i];
    }
  }
  *out = names;
  return BSM_OK;
}

static bool has_fields(const bsm_exported_tree *tree) {
  return (tree->kind == BSM_EXPORTED_TREE_NAMED_TUPLE ||
          tree->kind == BSM_EXPORTED_TREE_OBJECT) &&
         tree->field_names;
}

/* The type of a container whose children have the types `args`. Of arguments,
 * whose values are looked up by their keys, each has to have its own. */
static bsm_status container_type(bsm_ir_ctx *cx, const bsm_exported_tree *tree,
                                 const bsm_type *const *args, bool is_argument,
                                 const bsm_type **out) {
  bsm_type_table *t = cx->types;
  const size_t n = tree->child_count;
  const bsm_type *tensor = bsm_type_simple(t, BSM_TYPE_TENSOR);
  const bool alike = same_types(args, n);
  const char *const *names;
  const bool dict = tree->kind == BSM_EXPORTED_TREE_DICT;
  if (tree->kind == BSM_EXPORTED_TREE_LIST && alike) {
    *out = bsm_type_list(t, n ? args[0] : tensor);
  } else if (dict && (alike || !is_argument) && same_keys(tree)) {
    const bsm_type *key = n ? bsm_type_of_value(t, &tree->keys[0])
                            : bsm_type_simple(t, BSM_TYPE_STRING);
    BSM_TRY_ALLOC(key);
    *out = bsm_type_dict(t, key,
                         !n      ? tensor
                         : alike ? args[0]
                                 : bsm_type_simple(t, BSM_TYPE_ANY));
  } else if (dict || has_fields(tree)) {
    BSM_TRY(names_of(cx, tree, &names));
    *out = bsm_type_named_tuple(
        t, dict || !tree->type_name ? "dict" : tree->type_name, names, args, n);
  } else {
    *out = bsm_type_tuple(t, args, n);
  }
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

bsm_status bsm_xi_tree_type(bsm_ir_ctx *cx, const bsm_exported_tree *tree,
                            const bsm_type *const *leaves,
                            const bsm_type **out) {
  if (tree->kind == BSM_EXPORTED_TREE_LEAF) {
    *out = leaves[0];
    return BSM_OK;
  }
  const bsm_type **args =
      BSM_NEW_ARRAY(cx->arena, const bsm_type *, tree->child_count + 1);
  BSM_TRY_ALLOC(args);
  for (size_t i = 0; i < tree->child_count; i++) {
    BSM_TRY(bsm_xi_tree_type(cx, &tree->children[i], leaves, &args[i]));
    leaves += tree->children[i].leaf_count;
  }
  return container_type(cx, tree, args, true, out);
}

/* ---- known values ---- */

bsm_status bsm_xi_tree_value(bsm_ir_ctx *cx, const bsm_exported_tree *tree,
                             const bsm_type *type, const bsm_ivalue *leaves,
                             bsm_ivalue *out) {
  const size_t n = tree->child_count;
  bsm_ivalue *items;
  bsm_dict *dict = NULL;
  if (tree->kind == BSM_EXPORTED_TREE_LEAF) {
    *out = leaves[0];
    return BSM_OK;
  }
  if (type->kind == BSM_TYPE_LIST) {
    bsm_list *list;
    BSM_TRY(bsm_list_new(cx->arena, type->args[0], n, &list));
    *out = bsm_iv_list(list);
    items = list->items;
  } else if (type->kind == BSM_TYPE_DICT) {
    BSM_TRY(bsm_dict_new(cx->arena, type->args[0], type->args[1], &dict));
    *out = bsm_iv_dict(dict);
    items = BSM_NEW_ARRAY(cx->arena, bsm_ivalue, n + 1);
    BSM_TRY_ALLOC(items);
  } else {
    bsm_tuple *tuple;
    BSM_TRY(bsm_tuple_new(cx->arena, n, &tuple));
    tuple->type = type->field_names ? type : NULL;
    *out = bsm_iv_tuple(tuple);
    items = tuple->items;
  }
  for (size_t i = 0; i < n; i++) {
    const bsm_exported_tree *child = &tree->children[i];
    const bsm_type *child_type = type->kind == BSM_TYPE_LIST   ? type->args[0]
                                 : type->kind == BSM_TYPE_DICT ? type->args[1]
                                                               : type->args[i];
    BSM_TRY(bsm_xi_tree_value(cx, child, child_type, leaves, &items[i]));
    leaves += child->leaf_count;
    if (dict) BSM_TRY(bsm_dict_set(dict, tree->keys[i], items[i]));
  }
  return BSM_OK;
}

/* ---- values of the graph ---- */

static bsm_status dict_items(bsm_importer *im, const bsm_exported_tree *tree,
                             bsm_value *value, bsm_value **out) {
  bsm_value *args[2] = {value, NULL};
  for (size_t i = 0; i < tree->child_count; i++) {
    BSM_TRY(bsm_xi_constant(im, tree->keys[i], NULL, &args[1]));
    BSM_TRY(bsm_xi_call(im, "aten::__getitem__", args, 2, &out[i]));
  }
  return BSM_OK;
}

bsm_status bsm_xi_take_apart(bsm_importer *im, const bsm_exported_tree *tree,
                             bsm_value *value, bsm_value **leaves) {
  const size_t n = tree->child_count;
  if (tree->kind == BSM_EXPORTED_TREE_LEAF) {
    leaves[0] = value;
    return BSM_OK;
  }
  bsm_value **items = BSM_NEW_ARRAY(im->arena, bsm_value *, n + 1);
  BSM_TRY_ALLOC(items);
  if (n) {
    BSM_TRY(value->type->kind == BSM_TYPE_DICT
                ? dict_items(im, tree, value, items)
                : bsm_xi_unpack(im, value, n, items));
  }
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_xi_take_apart(im, &tree->children[i], items[i], leaves));
    leaves += tree->children[i].leaf_count;
  }
  return BSM_OK;
}

static bsm_status put_dict(bsm_importer *im, const bsm_exported_tree *tree,
                           bsm_value *const *items, const bsm_type *type,
                           bsm_value **out) {
  const size_t n = tree->child_count;
  bsm_value **pairs = BSM_NEW_ARRAY(im->arena, bsm_value *, 2 * n + 1);
  bsm_node *node;
  BSM_TRY_ALLOC(pairs);
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_xi_constant(im, tree->keys[i], NULL, &pairs[2 * i]));
    pairs[2 * i + 1] = items[i];
  }
  BSM_TRY(bsm_xi_node(im, "prim::DictConstruct", pairs, 2 * n, type, &node));
  *out = bsm_node_out(node, 0);
  return BSM_OK;
}

bsm_status bsm_xi_put_together(bsm_importer *im, const bsm_exported_tree *tree,
                               bsm_value *const *leaves, bsm_value **out) {
  const size_t n = tree->child_count;
  const bsm_type *type;
  bsm_node *node;
  if (tree->kind == BSM_EXPORTED_TREE_LEAF) {
    *out = leaves[0];
    return BSM_OK;
  }
  bsm_value **items = BSM_NEW_ARRAY(im->arena, bsm_value *, n + 1);
  const bsm_type **args = BSM_NEW_ARRAY(im->arena, const bsm_type *, n + 1);
  BSM_TRY_ALLOC(items && args);
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_xi_put_together(im, &tree->children[i], leaves, &items[i]));
    args[i] = items[i]->type;
    leaves += tree->children[i].leaf_count;
  }
  BSM_TRY(container_type(im->cx, tree, args, false, &type));
  if (type->kind == BSM_TYPE_DICT) return put_dict(im, tree, items, type, out);
  BSM_TRY(bsm_xi_node(im,
                      type->kind == BSM_TYPE_LIST ? "prim::ListConstruct"
                                                  : "prim::TupleConstruct",
                      items, n, type, &node));
  *out = bsm_node_out(node, 0);
  return BSM_OK;
}
