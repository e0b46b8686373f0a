/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of arguments and results. */
#include <string.h>

#include "aten/ivalue_parts.h"
#include "compiler/inputs/method_inputs.h"
#include "engine/structure_builder.h"

typedef bsm_structure_builder describer;

enum { MAX_VALUES = 1000000 };

/* The name of an enum's item: "Color.RED". */
static bsm_status set_enum(describer *d, const bsm_ivalue *value,
                           bsm_structure_info *info) {
  const bsm_object *item = value->u.object;
  const char *name = item->type ? item->type->name : NULL;
  const char *dot = name ? strrchr(name, '.') : NULL;
  bsm_text text;
  bsm_text_init(&text, d->arena);
  bsm_text_printf(&text, "%s.", dot ? dot + 1 : name ? name : "");
  bsm_text_append(&text, *item->slots[0].u.s);
  if (text.failed) return BSM_FAIL_OOM();
  return bsm_structure_set_text(d, BSM_STRUCTURE_OTHER,
                                (bsm_str){text.data, text.len}, info);
}

/* A value that is known when compiling. */
static bsm_status set_fixed(describer *d, const bsm_ivalue *value,
                            bsm_structure_info *info) {
  if (value->tag == BSM_IVALUE_ENUM && value->u.object->len > 0 &&
      value->u.object->slots[0].tag == BSM_IVALUE_STRING) {
    return set_enum(d, value, info);
  }
  return bsm_structure_set_value(d, value, info);
}

/* Child `i` of a value of tag `tag` and type `type`, without dicts. */
static bsm_status set_item_key(describer *d, const bsm_structure_info *parent,
                               bsm_ivalue_tag tag, const bsm_type *type,
                               size_t i, bsm_structure_info *info) {
  const char *name = NULL;
  if (tag == BSM_IVALUE_TUPLE && type && type->field_names &&
      i < type->arg_count) {
    name = type->field_names[i];
  } else if (tag == BSM_IVALUE_OBJECT) {
    const bsm_class *cls = type ? type->cls : NULL;
    name = cls && i < cls->attributes.len ? cls->attributes.items[i].name : "";
  }
  return name ? bsm_structure_set_key(d, parent, BSM_STRUCTURE_KEY_NAME,
                                      bsm_str_of(name), info)
              : bsm_structure_set_position(d, parent, i, info);
}

/* ---- nodes ---- */

static bsm_structure_kind container_kind(bsm_ivalue_tag tag,
                                         const bsm_type *type) {
  switch (tag) {
    case BSM_IVALUE_LIST:
      return BSM_STRUCTURE_LIST;
    case BSM_IVALUE_DICT:
      return BSM_STRUCTURE_DICT;
    case BSM_IVALUE_OBJECT:
      return BSM_STRUCTURE_OBJECT;
    default:
      return type && type->field_names ? BSM_STRUCTURE_NAMED_TUPLE
                                       : BSM_STRUCTURE_TUPLE;
  }
}

static bool is_container(bsm_ivalue_tag tag) {
  return tag == BSM_IVALUE_LIST || tag == BSM_IVALUE_TUPLE ||
         tag == BSM_IVALUE_DICT || tag == BSM_IVALUE_OBJECT;
}

/* Turns a node that has its key into a container with empty children. */
static bsm_status open_container(describer *d, bsm_structure *node,
                                 bsm_ivalue_tag tag, const bsm_type *type,
                                 size_t count) {
  const bsm_structure_kind kind = container_kind(tag, type);
  const bool named =
      kind == BSM_STRUCTURE_NAMED_TUPLE || kind == BSM_STRUCTURE_OBJECT;
  if (named && type && type->name) node->info.type_name = type->name;
  return bsm_structure_open(d, node, kind, count);
}

static bsm_structure_kind kind_of_type(const bsm_type *type) {
  switch (type ? type->kind : BSM_TYPE_TENSOR) {
    case BSM_TYPE_INT:
      return BSM_STRUCTURE_INT;
    case BSM_TYPE_BOOL:
      return BSM_STRUCTURE_BOOL;
    case BSM_TYPE_FLOAT:
    case BSM_TYPE_NUMBER:
      return BSM_STRUCTURE_FLOAT;
    default:
      return BSM_STRUCTURE_TENSOR;
  }
}

/* ---- arguments ---- */

static bsm_status describe_value(describer *d, const bsm_ivalue *value,
                                 size_t depth, bsm_structure *node) {
  const bsm_iv_parts parts = bsm_iv_parts_of(value);
  const bsm_type *type =
      value->tag == BSM_IVALUE_TUPLE ? value->u.tuple->type : NULL;
  if (depth > BSM_STRUCTURE_MAX_DEPTH) {
    return BSM_FAIL(BSM_LIMIT, "input \"%s\" is nested too deep",
                    node->info.path);
  }
  if (value->tag == BSM_IVALUE_CONTAINER) {
    const bsm_lowering_number *number = value->u.container;
    node->info.kind = number->kind == BSM_TYPE_TENSOR ? BSM_STRUCTURE_TENSOR
                      : number->kind == BSM_TYPE_INT  ? BSM_STRUCTURE_INT
                      : number->kind == BSM_TYPE_BOOL ? BSM_STRUCTURE_BOOL
                                                      : BSM_STRUCTURE_FLOAT;
    return bsm_structure_bind(d, &node->info);
  }
  if (value->tag == BSM_IVALUE_TENSOR && bsm_tensor_is_meta(value->u.tensor)) {
    node->info.kind = BSM_STRUCTURE_TENSOR;
    return bsm_structure_bind(d, &node->info);
  }
  if (!bsm_iv_is_container(value)) return set_fixed(d, value, &node->info);
  BSM_TRY(open_container(d, node, value->tag, type, parts.len));
  for (size_t i = 0; i < parts.len; i++) {
    bsm_structure *child = &node->children[i];
    BSM_TRY(
        value->tag == BSM_IVALUE_DICT
            ? bsm_structure_set_dict_key(d, &node->info,
                                         &value->u.dict->keys[i], &child->info)
            : set_item_key(d, &node->info, value->tag, type, i, &child->info));
    BSM_TRY(describe_value(d, &parts.items[i], depth + 1, child));
  }
  return BSM_OK;
}

bsm_status bsm_describe_inputs(bsm_arena *arena, const bsm_method *method,
                               const bsm_lowering_input *inputs,
                               bsm_method_io *out) {
  describer d = {.arena = arena};
  bsm_structure *root = BSM_NEW(arena, bsm_structure);
  BSM_TRY_ALLOC(root);
  bsm_structure_init(root, BSM_STRUCTURE_ARGUMENTS);
  const size_t n = method->parameter_count;
  BSM_TRY(open_container(&d, root, BSM_IVALUE_TUPLE, NULL, n));
  root->info.kind = BSM_STRUCTURE_ARGUMENTS;
  root->info.type_name = method->name;
  for (size_t i = 0; i < n; i++) {
    bsm_structure *child = &root->children[i];
    const char *name = inputs[i].name ? inputs[i].name : "";
    BSM_TRY(bsm_structure_set_key(&d, &root->info, BSM_STRUCTURE_KEY_NAME,
                                  bsm_str_of(name), &child->info));
    BSM_TRY(describe_value(&d, &inputs[i].value, 1, child));
  }
  out->inputs = root;
  out->input_names = d.names.items;
  return BSM_OK;
}

/* ---- the result ---- */

typedef struct result_walk {
  describer *d;
  const bsm_lowered *lowered;
  size_t node, leaf;
} result_walk;

/* Describes, below `node`, the type of a value that is known only in the run.
 */
static bsm_status describe_type(describer *d, const bsm_type *type,
                                size_t depth, bsm_structure *node) {
  bsm_structure_info *info = &node->info;
  size_t count = 0;
  info->kind = BSM_STRUCTURE_ANY;
  switch (type ? type->kind : BSM_TYPE_ANY) {
    case BSM_TYPE_TENSOR:
    case BSM_TYPE_INT:
    case BSM_TYPE_FLOAT:
    case BSM_TYPE_BOOL:
      info->kind = kind_of_type(type);
      return BSM_OK;
    case BSM_TYPE_STRING:
      info->kind = BSM_STRUCTURE_STRING;
      return BSM_OK;
    case BSM_TYPE_NONE:
      info->kind = BSM_STRUCTURE_NONE;
      return BSM_OK;
    case BSM_TYPE_COMPLEX:
    case BSM_TYPE_DEVICE:
      info->kind = BSM_STRUCTURE_OTHER;
      return BSM_OK;
    case BSM_TYPE_OPTIONAL:
      info->kind = BSM_STRUCTURE_OPTIONAL;
      count = 1;
      break;
    case BSM_TYPE_LIST:
      info->kind = BSM_STRUCTURE_LIST;
      count = 1;
      break;
    case BSM_TYPE_DICT:
      info->kind = BSM_STRUCTURE_DICT;
      count = 2;
      break;
    case BSM_TYPE_TUPLE:
      info->kind = container_kind(BSM_IVALUE_TUPLE, type);
      count = type->arg_count;
      if (type->field_names && type->name) info->type_name = type->name;
      break;
    default:
      return BSM_OK;
  }
  if (depth > BSM_STRUCTURE_MAX_DEPTH) {
    return BSM_FAIL(BSM_LIMIT, "the type of result \"%s\" is nested too deep",
                    info->path);
  }
  BSM_TRY(bsm_structure_open(d, node, info->kind, count));
  for (size_t i = 0; i < count; i++) {
    bsm_structure *child = &node->children[i];
    if (type->kind == BSM_TYPE_TUPLE) {
      BSM_TRY(set_item_key(d, info, BSM_IVALUE_TUPLE, type, i, &child->info));
    }
    child->info.path = info->path; /* for messages */
    if (type->kind != BSM_TYPE_TUPLE) {
      child->info.key_kind = BSM_STRUCTURE_KEY_TYPE;
    }
    BSM_TRY(describe_type(d, type->args[i], depth + 1, child));
  }
  return BSM_OK;
}

static bsm_status describe_run_time(describer *d, const bsm_type *type,
                                    size_t depth, bsm_structure *node) {
  BSM_TRY(bsm_structure_open(d, node, BSM_STRUCTURE_RUN_TIME, 1));
  node->children[0].info.key_kind = BSM_STRUCTURE_KEY_TYPE;
  node->children[0].info.path = node->info.path;
  return describe_type(d, type, depth + 1, &node->children[0]);
}

static bsm_status describe_leaf(result_walk *w, size_t depth,
                                bsm_structure *node) {
  if (w->leaf >= w->lowered->leaf_count) {
    return BSM_FAIL(BSM_INTERNAL, "the result has too few leaves");
  }
  const bsm_lowered_leaf *leaf = &w->lowered->leaves[w->leaf++];
  const bsm_node *returns = w->lowered->graph->block->returns;
  if (leaf->is_value) {
    return describe_run_time(w->d, leaf->type, depth, node);
  }
  if (leaf->is_output && leaf->constant.tag == BSM_IVALUE_COMPLEX) {
    node->info.kind = BSM_STRUCTURE_TENSOR; /* of rank 0 and complex128 */
    return bsm_structure_bind(w->d, &node->info);
  }
  const bool fixed = !leaf->is_output || leaf->constant.tag != BSM_IVALUE_NONE;
  if (fixed) BSM_TRY(set_fixed(w->d, &leaf->constant, &node->info));
  if (!leaf->is_output) return BSM_OK;
  if (!fixed) node->info.kind = kind_of_type(leaf->type);
  /* A Scalar is described as what its tensor holds. */
  if (leaf->type && leaf->type->kind == BSM_TYPE_NUMBER) {
    const bsm_type *type = bsm_node_in(returns, leaf->output)->type;
    if (type && type->has_dtype && type->dtype == BSM_DTYPE_BOOL) {
      node->info.kind = BSM_STRUCTURE_BOOL;
    } else if (type && type->has_dtype && !bsm_dtype_is_floating(type->dtype)) {
      node->info.kind = BSM_STRUCTURE_INT;
    }
  }
  return bsm_structure_bind(w->d, &node->info);
}

static bsm_status describe_result(result_walk *w, size_t depth,
                                  bsm_structure *node) {
  if (w->node >= w->lowered->node_count || depth > BSM_STRUCTURE_MAX_DEPTH) {
    return BSM_FAIL(BSM_LIMIT, "the result is nested too deep");
  }
  const bsm_lowered_node *from = &w->lowered->nodes[w->node++];
  if (!is_container(from->tag)) return describe_leaf(w, depth, node);
  BSM_TRY(open_container(w->d, node, from->tag, from->type, from->child_count));
  for (size_t i = 0; i < from->child_count; i++) {
    bsm_structure *child = &node->children[i];
    if (w->node >= w->lowered->node_count) {
      return BSM_FAIL(BSM_INTERNAL, "the result has too few values");
    }
    BSM_TRY(from->tag == BSM_IVALUE_DICT
                ? bsm_structure_set_dict_key(w->d, &node->info,
                                             &w->lowered->nodes[w->node].key,
                                             &child->info)
                : set_item_key(w->d, &node->info, from->tag, from->type, i,
                               &child->info));
    BSM_TRY(describe_result(w, depth + 1, child));
  }
  return BSM_OK;
}

bsm_status bsm_describe_outputs(bsm_arena *arena, const bsm_lowered *lowered,
                                bsm_method_io *out) {
  describer d = {.arena = arena, .outputs = true};
  result_walk walk = {.d = &d, .lowered = lowered};
  bsm_structure *root = BSM_NEW(arena, bsm_structure);
  BSM_TRY_ALLOC(root);
  if (lowered->node_count > MAX_VALUES) {
    return BSM_FAIL(BSM_LIMIT, "the result has more than %d values",
                    MAX_VALUES);
  }
  bsm_structure_init(root, BSM_STRUCTURE_NONE);
  root->info.path = BSM_STRUCTURE_ROOT_LEAF;
  BSM_TRY(describe_result(&walk, 0, root));
  if (root->info.kind != BSM_STRUCTURE_RUN_TIME &&
      (root->info.child_count || root->info.binding == BSM_NO_BINDING)) {
    root->info.path = "";
  }
  out->outputs = root;
  out->output_names = d.names.items;
  return BSM_OK;
}
