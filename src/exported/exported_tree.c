/* SPDX-License-Identifier: Apache-2.0 */
/* The structure of arguments and results: what PyTorch calls a tree spec, JSON
 * in a string of the JSON,
 *
 *   [1, {"type": "builtins.dict", "context": "[\"boxes\"]",
 *        "children_spec": [{"type": null, ...}]}]
 *
 * where the context of a container, again JSON in a string, has the keys. */
#include "exported/exported_reader.h"

/* ---- contexts ---- */

/* Strings, numbers and None, as keys of a dict. */
static bsm_status read_key(bsm_xr *r, const bsm_place *at, bsm_ivalue *out) {
  const char *text = "";
  switch (bsm_place_kind_of(at)) {
    case BSM_JSON_NULL:
      *out = bsm_iv_none();
      return BSM_OK;
    case BSM_JSON_BOOL:
      *out = bsm_iv_bool(false);
      return bsm_place_bool(at, &out->u.b);
    case BSM_JSON_INT:
      *out = bsm_iv_int(0);
      return bsm_place_int(at, &out->u.i);
    case BSM_JSON_REAL:
      *out = bsm_iv_double(0);
      return bsm_place_double(at, &out->u.d);
    case BSM_JSON_STRING:
      BSM_TRY(bsm_xr_name(r, at, &text));
      return bsm_iv_string(r->arena, bsm_str_of(text), out);
    default:
      return bsm_place_fail(at, BSM_UNSUPPORTED,
                            "a key of a dict that is no string and no number");
  }
}

static bsm_status read_keys(bsm_xr *r, const bsm_place *at,
                            bsm_exported_tree *tree) {
  size_t len = 0;
  BSM_TRY(bsm_place_array(at, &len));
  if (len != tree->child_count) {
    return bsm_place_fail(at, BSM_CORRUPT, "has %zu keys for %zu values", len,
                          tree->child_count);
  }
  bsm_ivalue *keys = BSM_NEW_ARRAY(r->arena, bsm_ivalue, len + 1);
  BSM_TRY_ALLOC(keys);
  for (size_t i = 0; i < len; i++) {
    const bsm_place item = bsm_place_item(at, i);
    BSM_TRY(read_key(r, &item, &keys[i]));
  }
  tree->keys = keys;
  return BSM_OK;
}

static bool is_names(const bsm_place *at, size_t count) {
  size_t len = 0;
  if (bsm_place_kind_of(at) != BSM_JSON_ARRAY) return false;
  const bsm_status status = bsm_place_array(at, &len);
  bsm_status_free(status);
  for (size_t i = 0; i < len; i++) {
    const bsm_place item = bsm_place_item(at, i);
    if (bsm_place_kind_of(&item) != BSM_JSON_STRING) return false;
  }
  return len == count;
}

/* The fields of a class: ["a", "b"], or [["a", "b"], ...] with what is None
 * behind. Anything else is the class's own business: its children then have
 * no names. */
static bsm_status read_fields(bsm_xr *r, const bsm_place *context,
                              bsm_exported_tree *tree) {
  bsm_place names = *context;
  bsm_xr_names read;
  if (tree->child_count == 0) return BSM_OK;
  if (!is_names(&names, tree->child_count)) {
    size_t len = 0;
    if (bsm_place_kind_of(context) != BSM_JSON_ARRAY) return BSM_OK;
    BSM_TRY(bsm_place_array(context, &len));
    if (len == 0) return BSM_OK;
    names = bsm_place_item(context, 0);
    if (!is_names(&names, tree->child_count)) return BSM_OK;
  }
  BSM_TRY(bsm_xr_names_read(r, &names, &read));
  tree->field_names = read.items;
  return BSM_OK;
}

/* A context that is JSON in a string, as most are: parsed anew. */
static bsm_status with_context(bsm_xr *r, const bsm_place *at,
                               bsm_exported_tree *tree,
                               bsm_status (*read)(bsm_xr *, const bsm_place *,
                                                  bsm_exported_tree *)) {
  const char *text = "";
  if (bsm_place_kind_of(at) != BSM_JSON_STRING) return read(r, at, tree);
  BSM_TRY(bsm_place_string(at, &text));
  bsm_json_document document;
  bsm_status status =
      bsm_json_document_parse(r->arena->allocator, bsm_str_of(text),
                              "a context", &r->cx->limits, &document);
  if (!status) {
    const bsm_place root = bsm_json_document_root(&document);
    status = read(r, &root, tree);
  } else if (tree->kind == BSM_EXPORTED_TREE_OBJECT &&
             bsm_status_code(status) == BSM_CORRUPT) {
    bsm_status_free(status); /* the class's own business */
    status = BSM_OK;
  }
  bsm_json_document_free(&document);
  return bsm_place_note(at, status);
}

/* {"default_factory_module": ..., "dict_context": [...]} */
static bsm_status read_default_dict(bsm_xr *r, const bsm_place *at,
                                    bsm_exported_tree *tree) {
  bsm_place keys;
  BSM_TRY(bsm_place_field(at, "dict_context", &keys));
  return read_keys(r, &keys, tree);
}

/* The context of a NamedTuple is the name of its class. */
static bsm_status read_named_tuple(bsm_xr *r, const bsm_place *at,
                                   bsm_exported_tree *tree) {
  BSM_TRY(bsm_xr_name(r, at, &tree->type_name));
  const bsm_xr_names *names =
      bsm_strmap_get(&r->named_tuples, bsm_str_of(tree->type_name));
  if (!names) return BSM_OK;
  if (names->len != tree->child_count) {
    return bsm_place_fail(at, BSM_CORRUPT,
                          "\"%.100s\" has %zu fields and %zu values",
                          tree->type_name, names->len, tree->child_count);
  }
  tree->field_names = names->items;
  return BSM_OK;
}

/* ---- trees ---- */

typedef enum context_kind {
  CONTEXT_NONE,
  CONTEXT_KEYS,
  CONTEXT_DEFAULT_DICT,
  CONTEXT_NAMED_TUPLE,
  CONTEXT_FIELDS
} context_kind;

static const struct {
  const char *type;
  bsm_exported_tree_kind kind;
  context_kind context;
} types[] = {
    {"builtins.tuple", BSM_EXPORTED_TREE_TUPLE, CONTEXT_NONE},
    {"builtins.list", BSM_EXPORTED_TREE_LIST, CONTEXT_NONE},
    {"collections.deque", BSM_EXPORTED_TREE_LIST, CONTEXT_NONE},
    {"torch.fx.immutable_collections.immutable_list", BSM_EXPORTED_TREE_LIST,
     CONTEXT_NONE},
    {"torch.Size", BSM_EXPORTED_TREE_TUPLE, CONTEXT_NONE},
    {"builtins.dict", BSM_EXPORTED_TREE_DICT, CONTEXT_KEYS},
    {"collections.OrderedDict", BSM_EXPORTED_TREE_DICT, CONTEXT_KEYS},
    {"torch.fx.immutable_collections.immutable_dict", BSM_EXPORTED_TREE_DICT,
     CONTEXT_KEYS},
    {"collections.defaultdict", BSM_EXPORTED_TREE_DICT, CONTEXT_DEFAULT_DICT},
    {"collections.namedtuple", BSM_EXPORTED_TREE_NAMED_TUPLE,
     CONTEXT_NAMED_TUPLE},
};

static bsm_status read_context(bsm_xr *r, const bsm_place *node,
                               context_kind kind, bsm_exported_tree *tree) {
  bsm_place context;
  BSM_TRY(bsm_place_optional(node, "context", &context));
  switch (kind) {
    case CONTEXT_NONE:
      return BSM_OK;
    case CONTEXT_KEYS:
      return with_context(r, &context, tree, read_keys);
    case CONTEXT_DEFAULT_DICT:
      return with_context(r, &context, tree, read_default_dict);
    case CONTEXT_NAMED_TUPLE:
      return read_named_tuple(r, &context, tree);
    case CONTEXT_FIELDS:
      break;
  }
  return with_context(r, &context, tree, read_fields);
}

static bsm_status read_tree(bsm_xr *r, const bsm_place *at,
                            bsm_exported_tree *out);

static bsm_status read_children(bsm_xr *r, const bsm_place *node,
                                bsm_exported_tree *tree) {
  bsm_place at;
  BSM_TRY(bsm_place_field(node, "children_spec", &at));
  BSM_TRY(bsm_place_array(&at, &tree->child_count));
  bsm_exported_tree *children =
      BSM_NEW_ARRAY(r->arena, bsm_exported_tree, tree->child_count + 1);
  BSM_TRY_ALLOC(children);
  tree->children = children;
  for (size_t i = 0; i < tree->child_count; i++) {
    const bsm_place item = bsm_place_item(&at, i);
    BSM_TRY(read_tree(r, &item, &children[i]));
    tree->leaf_count += children[i].leaf_count;
  }
  return BSM_OK;
}

/* The depth of JSON has been limited. */
static bsm_status read_tree(bsm_xr *r, const bsm_place *at,
                            bsm_exported_tree *out) {
  bsm_place type;
  *out = (bsm_exported_tree){0};
  BSM_TRY(bsm_place_field(at, "type", &type));
  BSM_TRY(read_children(r, at, out));
  if (bsm_place_is_null(&type)) {
    if (out->child_count) {
      return bsm_place_fail(at, BSM_CORRUPT, "is a leaf with children");
    }
    out->leaf_count = 1;
    return BSM_OK;
  }
  BSM_TRY(bsm_xr_name(r, &type, &out->type_name));
  for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
    if (strcmp(out->type_name, types[i].type) != 0) continue;
    out->kind = types[i].kind;
    return read_context(r, at, types[i].context, out);
  }
  out->kind = BSM_EXPORTED_TREE_OBJECT;
  return read_context(r, at, CONTEXT_FIELDS, out);
}

/* [protocol, tree] */
static bsm_status read_spec(bsm_xr *r, const bsm_place *at,
                            bsm_exported_tree *out) {
  size_t len = 0;
  int64_t protocol = 0;
  BSM_TRY(bsm_place_array(at, &len));
  if (len != 2) {
    return bsm_place_fail(at, BSM_CORRUPT, "has %zu items instead of 2", len);
  }
  const bsm_place number = bsm_place_item(at, 0), tree = bsm_place_item(at, 1);
  BSM_TRY(bsm_place_int(&number, &protocol));
  if (protocol != 1) {
    return bsm_place_fail(&number, BSM_VERSION,
                          "a tree spec of protocol %lld; 1 can be read",
                          (long long)protocol);
  }
  return read_tree(r, &tree, out);
}

static bsm_status read_spec_text(bsm_xr *r, const bsm_place *signature,
                                 const char *key,
                                 const bsm_exported_tree **out) {
  bsm_place at;
  const char *text = "";
  BSM_TRY(bsm_place_field(signature, key, &at));
  BSM_TRY(bsm_place_string(&at, &text));
  bsm_exported_tree *tree = BSM_NEW(r->arena, bsm_exported_tree);
  BSM_TRY_ALLOC(tree);
  bsm_json_document document;
  bsm_status status = bsm_json_document_parse(
      r->arena->allocator, bsm_str_of(text), key, &r->cx->limits, &document);
  if (!status) {
    const bsm_place root = bsm_json_document_root(&document);
    status = read_spec(r, &root, tree);
  }
  bsm_json_document_free(&document);
  *out = tree;
  return bsm_place_note(&at, status);
}

/* ---- the root's call ---- */

/* The values that a call passes in and gets back. */
static bsm_status check_leaves(const bsm_xr *r, const bsm_place *at) {
  const bsm_exported_program *p = r->program;
  size_t inputs = 0, outputs = 0;
  for (size_t i = 0; i < p->input_count; i++) {
    inputs += p->inputs[i].kind == BSM_EXPORTED_USER_INPUT ||
              p->inputs[i].kind == BSM_EXPORTED_CONSTANT_INPUT;
  }
  for (size_t i = 0; i < p->output_count; i++) {
    outputs += p->outputs[i].kind == BSM_EXPORTED_USER_OUTPUT ||
               p->outputs[i].kind == BSM_EXPORTED_LOSS_OUTPUT;
  }
  if (p->in_tree->leaf_count != inputs || p->out_tree->leaf_count != outputs) {
    return bsm_place_fail(at, BSM_CORRUPT,
                          "takes %zu values and gives %zu, but the graph's "
                          "signature %zu and %zu",
                          p->in_tree->leaf_count, p->out_tree->leaf_count,
                          inputs, outputs);
  }
  return BSM_OK;
}

/* The arguments are a tuple of a tuple and a dict. */
static bsm_status check_in_tree(const bsm_xr *r, const bsm_place *at) {
  const bsm_exported_tree *tree = r->program->in_tree;
  if (tree->kind == BSM_EXPORTED_TREE_TUPLE && tree->child_count == 2 &&
      tree->children[0].kind == BSM_EXPORTED_TREE_TUPLE &&
      tree->children[1].kind == BSM_EXPORTED_TREE_DICT) {
    return BSM_OK;
  }
  return bsm_place_fail(at, BSM_CORRUPT,
                        "has an in_spec that is no pair of positional and "
                        "keyword arguments");
}

static bsm_status read_signature(bsm_xr *r, const bsm_place *at) {
  bsm_exported_program *p = r->program;
  bsm_place field;
  bsm_xr_names names = {0};
  BSM_TRY(read_spec_text(r, at, "in_spec", &p->in_tree));
  BSM_TRY(read_spec_text(r, at, "out_spec", &p->out_tree));
  BSM_TRY(check_in_tree(r, at));
  BSM_TRY(check_leaves(r, at));
  BSM_TRY(bsm_place_optional(at, "forward_arg_names", &field));
  if (field.json) BSM_TRY(bsm_xr_names_read(r, &field, &names));
  p->forward_arg_names = names.items;
  p->forward_arg_count = names.len;
  return BSM_OK;
}

static bsm_status read_named_tuples(bsm_xr *r, const bsm_place *module) {
  bsm_place at, item, fields;
  size_t count = 0;
  BSM_TRY(bsm_place_optional(module, "treespec_namedtuple_fields", &at));
  if (!at.json) return BSM_OK;
  BSM_TRY(bsm_place_check_object(&at, &count));
  for (bsm_place_iterator it = {0}; bsm_place_next(&at, &it, &item);) {
    bsm_xr_names *names = BSM_NEW(r->arena, bsm_xr_names);
    BSM_TRY_ALLOC(names);
    BSM_TRY(bsm_place_field(&item, "field_names", &fields));
    BSM_TRY(bsm_xr_names_read(r, &fields, names));
    if (!bsm_strmap_set(r->arena, &r->named_tuples, bsm_str_of(item.key),
                        names)) {
      return BSM_FAIL_OOM();
    }
  }
  return BSM_OK;
}

bsm_status bsm_xr_module_call(bsm_xr *r, const bsm_place *module) {
  bsm_place at, signature;
  size_t len = 0;
  BSM_TRY(read_named_tuples(r, module));
  BSM_TRY(bsm_place_field(module, "module_call_graph", &at));
  BSM_TRY(bsm_place_array(&at, &len));
  for (size_t i = 0; i < len; i++) {
    const bsm_place entry = bsm_place_item(&at, i);
    const char *path = "";
    BSM_TRY(bsm_xr_field_name(r, &entry, "fqn", &path));
    if (*path) continue;
    BSM_TRY(bsm_place_optional(&entry, "signature", &signature));
    return signature.json ? read_signature(r, &signature) : BSM_OK;
  }
  return BSM_OK;
}
