/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of arguments and results, and the names of their tensors.
 *
 * An input is named by its parameter and the keys below it: "x", "batch.image",
 * "xs.0". An output is named by its keys in the result: "logits", "boxes.0";
 * where the result is a tensor, a list or a tuple, "output_0", "output_1", and
 * what lies in such an item "output_1.0". */
#include <stdio.h>
#include <string.h>

#include "compiler/module_internal.h"

typedef struct describer {
  bsm_arena *arena;
  bsm_strmap taken; /* path -> the number to try next when it comes again */
  BSM_VEC(const char *) names; /* of the bound leaves */
  bool outputs;
} describer;

/* ---- names ---- */

/* Keys come from the model: paths take so much of them, and paths that are so
 * long no more. */
enum { MAX_KEY_IN_PATH = 128, MAX_PATH_LENGTH = 2048, MAX_VALUES = 1000000 };

/* The child's path: keys without control characters, never empty. */
static const char *path_of(describer *d, const bsm_structure_info *parent,
                           bsm_str key, bool position) {
  const bool root = parent->key_kind == BSM_STRUCTURE_KEY_NONE;
  bsm_text text;
  if (strlen(parent->path) > MAX_PATH_LENGTH) return parent->path;
  bsm_text_init(&text, d->arena);
  if (key.len > MAX_KEY_IN_PATH) key.len = MAX_KEY_IN_PATH;
  if (root && position && d->outputs) {
    bsm_text_puts(&text, "output_");
  } else if (!root) {
    bsm_text_printf(&text, "%s.", parent->path);
  }
  for (size_t i = 0; i < key.len; i++) {
    const unsigned char c = (unsigned char)key.data[i];
    const char clean = c < 0x20 || c == 0x7f ? '_' : (char)c;
    bsm_text_append(&text, (bsm_str){&clean, 1});
  }
  if (!key.len) bsm_text_puts(&text, "_");
  return text.failed ? NULL : text.data;
}

/* Gives the leaf the next binding; a path that is taken gets a number. */
static bsm_status bind(describer *d, bsm_structure_info *info) {
  const bsm_str base = bsm_str_of(info->path);
  uintptr_t next = (uintptr_t)bsm_strmap_get(&d->taken, base);
  if (next) {
    do {
      info->path =
          bsm_arena_printf(d->arena, "%s_%zu", base.data, (size_t)next++);
      BSM_TRY_ALLOC(info->path);
    } while (bsm_strmap_get(&d->taken, bsm_str_of(info->path)));
    BSM_TRY_ALLOC(bsm_strmap_set(d->arena, &d->taken, base, (void *)next));
  }
  info->binding = d->names.len;
  BSM_TRY_ALLOC(bsm_strmap_set(d->arena, &d->taken, bsm_str_of(info->path),
                               (void *)(uintptr_t)2));
  BSM_TRY_ALLOC(bsm_vec_push(d->arena, &d->names, info->path));
  return BSM_OK;
}

static bsm_status set_key(describer *d, const bsm_structure_info *parent,
                          bsm_structure_key kind, bsm_str key,
                          bsm_structure_info *info) {
  char *copy = bsm_arena_strndup(d->arena, key.data, key.len);
  BSM_TRY_ALLOC(copy);
  info->key_kind = kind;
  info->key = copy;
  info->key_length = key.len;
  info->path = path_of(d, parent, key, kind == BSM_STRUCTURE_KEY_POSITION);
  BSM_TRY_ALLOC(info->path);
  return BSM_OK;
}

/* The text of a value that has no form of its own here. */
static bsm_status text_of(describer *d, const bsm_ivalue *value, bsm_str *out) {
  bsm_text text;
  bsm_text_init(&text, d->arena);
  if (value->tag == BSM_IVALUE_TENSOR) {
    bsm_text_puts(&text, "Tensor");
  } else if (value->tag == BSM_IVALUE_ENUM && value->u.object->len > 0 &&
             value->u.object->slots[0].tag == BSM_IVALUE_STRING) {
    const char *name =
        value->u.object->type ? value->u.object->type->name : NULL;
    const char *dot = name ? strrchr(name, '.') : NULL;
    bsm_text_printf(&text, "%s.", dot ? dot + 1 : name ? name : "");
    bsm_text_append(&text, *value->u.object->slots[0].u.s);
  } else {
    bsm_iv_print(&text, value);
  }
  if (text.failed) return BSM_FAIL_OOM();
  *out = (bsm_str){text.data, text.len};
  return BSM_OK;
}

static bsm_status set_dict_key(describer *d, const bsm_structure_info *parent,
                               const bsm_ivalue *key,
                               bsm_structure_info *info) {
  bsm_str text;
  bsm_structure_key kind = BSM_STRUCTURE_KEY_OTHER;
  switch (key->tag) {
    case BSM_IVALUE_STRING:
      return set_key(d, parent, BSM_STRUCTURE_KEY_STRING, *key->u.s, info);
    case BSM_IVALUE_INT:
      kind = BSM_STRUCTURE_KEY_INT;
      info->int_key = key->u.i;
      break;
    case BSM_IVALUE_BOOL:
      kind = BSM_STRUCTURE_KEY_BOOL;
      info->int_key = key->u.b;
      break;
    case BSM_IVALUE_DOUBLE:
      kind = BSM_STRUCTURE_KEY_FLOAT;
      info->float_key = key->u.d;
      break;
    default:
      break;
  }
  BSM_TRY(text_of(d, key, &text));
  return set_key(d, parent, kind, text, info);
}

/* Child `i` of a value of tag `tag` and type `type`, without dicts. */
static bsm_status set_item_key(describer *d, const bsm_structure_info *parent,
                               bsm_ivalue_tag tag, const bsm_type *type,
                               size_t i, bsm_structure_info *info) {
  char number[24];
  const char *name = NULL;
  if (tag == BSM_IVALUE_TUPLE && type && type->field_names &&
      i < type->arg_count) {
    name = type->field_names[i];
  } else if (tag == BSM_IVALUE_OBJECT) {
    const bsm_class *cls = type ? type->cls : NULL;
    name = cls && i < cls->attributes.len ? cls->attributes.items[i].name : "";
  }
  if (name) {
    return set_key(d, parent, BSM_STRUCTURE_KEY_NAME, bsm_str_of(name), info);
  }
  const int length = snprintf(number, sizeof(number), "%zu", i);
  info->int_key = (int64_t)i;
  return set_key(d, parent, BSM_STRUCTURE_KEY_POSITION,
                 (bsm_str){number, (size_t)length}, info);
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
  bsm_structure_info *info = &node->info;
  info->kind = container_kind(tag, type);
  const bool named = info->kind == BSM_STRUCTURE_NAMED_TUPLE ||
                     info->kind == BSM_STRUCTURE_OBJECT;
  if (named && type && type->name) info->type_name = type->name;
  info->child_count = count;
  node->children = BSM_NEW_ARRAY(d->arena, bsm_structure, count + 1);
  BSM_TRY_ALLOC(node->children);
  for (size_t i = 0; i < count; i++) {
    bsm_structure_init(&node->children[i], BSM_STRUCTURE_NONE);
  }
  return BSM_OK;
}

/* A value that was settled when compiling. */
static bsm_status set_fixed(describer *d, const bsm_ivalue *value,
                            bsm_structure_info *info) {
  bsm_str text;
  info->is_fixed = true;
  switch (value->tag) {
    case BSM_IVALUE_NONE:
      info->kind = BSM_STRUCTURE_NONE;
      return BSM_OK;
    case BSM_IVALUE_INT:
      info->kind = BSM_STRUCTURE_INT;
      info->int_value = value->u.i;
      return BSM_OK;
    case BSM_IVALUE_DOUBLE:
      info->kind = BSM_STRUCTURE_FLOAT;
      info->float_value = value->u.d;
      return BSM_OK;
    case BSM_IVALUE_BOOL:
      info->kind = BSM_STRUCTURE_BOOL;
      info->bool_value = value->u.b;
      return BSM_OK;
    case BSM_IVALUE_TENSOR:
      info->kind = BSM_STRUCTURE_TENSOR;
      info->dtype = value->u.tensor->dtype;
      info->dims = value->u.tensor->sizes;
      return BSM_OK;
    case BSM_IVALUE_STRING:
      info->kind = BSM_STRUCTURE_STRING;
      text = *value->u.s;
      break;
    default:
      info->kind = BSM_STRUCTURE_OTHER;
      BSM_TRY(text_of(d, value, &text));
  }
  info->string = bsm_arena_strndup(d->arena, text.data, text.len);
  BSM_TRY_ALLOC(info->string);
  info->string_length = text.len;
  return BSM_OK;
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
  const bsm_ivalue *items = NULL;
  const bsm_type *type = NULL;
  size_t n = 0;
  if (depth > BSM_STRUCTURE_MAX_DEPTH) {
    return BSM_FAIL(BSM_LIMIT, "input \"%s\" is nested too deep",
                    node->info.path);
  }
  switch (value->tag) {
    case BSM_IVALUE_LIST:
      items = value->u.list->items;
      n = value->u.list->len;
      break;
    case BSM_IVALUE_TUPLE:
      items = value->u.tuple->items;
      n = value->u.tuple->len;
      type = value->u.tuple->type;
      break;
    case BSM_IVALUE_DICT:
      items = value->u.dict->values;
      n = value->u.dict->len;
      break;
    case BSM_IVALUE_TENSOR:
      if (!bsm_tensor_is_meta(value->u.tensor)) break;
      node->info.kind = BSM_STRUCTURE_TENSOR;
      return bind(d, &node->info);
    case BSM_IVALUE_CONTAINER: {
      const bsm_lowering_number *number = value->u.container;
      node->info.kind = number->kind == BSM_TYPE_TENSOR ? BSM_STRUCTURE_TENSOR
                        : number->kind == BSM_TYPE_INT  ? BSM_STRUCTURE_INT
                        : number->kind == BSM_TYPE_BOOL ? BSM_STRUCTURE_BOOL
                                                        : BSM_STRUCTURE_FLOAT;
      return bind(d, &node->info);
    }
    default:
      break;
  }
  if (!is_container(value->tag) || value->tag == BSM_IVALUE_OBJECT) {
    return set_fixed(d, value, &node->info);
  }
  BSM_TRY(open_container(d, node, value->tag, type, n));
  for (size_t i = 0; i < n; i++) {
    bsm_structure *child = &node->children[i];
    BSM_TRY(
        value->tag == BSM_IVALUE_DICT
            ? set_dict_key(d, &node->info, &value->u.dict->keys[i],
                           &child->info)
            : set_item_key(d, &node->info, value->tag, type, i, &child->info));
    BSM_TRY(describe_value(d, &items[i], depth + 1, child));
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
    BSM_TRY(set_key(&d, &root->info, BSM_STRUCTURE_KEY_NAME, bsm_str_of(name),
                    &child->info));
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

static bsm_status describe_leaf(result_walk *w, bsm_structure *node) {
  if (w->leaf >= w->lowered->leaf_count) {
    return BSM_FAIL(BSM_INTERNAL, "the result has too few leaves");
  }
  const bsm_lowered_leaf *leaf = &w->lowered->leaves[w->leaf++];
  const bsm_node *returns = w->lowered->graph->block->returns;
  if (leaf->is_output && leaf->constant.tag == BSM_IVALUE_COMPLEX) {
    node->info.kind = BSM_STRUCTURE_TENSOR; /* of rank 0 and complex128 */
    return bind(w->d, &node->info);
  }
  const bool fixed = !leaf->is_output || leaf->constant.tag != BSM_IVALUE_NONE;
  if (fixed) BSM_TRY(set_fixed(w->d, &leaf->constant, &node->info));
  if (!leaf->is_output) return BSM_OK;
  if (!fixed) node->info.kind = kind_of_type(leaf->type);
  /* A Scalar is what its tensor holds. */
  if (leaf->type && leaf->type->kind == BSM_TYPE_NUMBER) {
    const bsm_type *type = bsm_node_in(returns, leaf->output)->type;
    if (type && type->has_dtype && type->dtype == BSM_DTYPE_BOOL) {
      node->info.kind = BSM_STRUCTURE_BOOL;
    } else if (type && type->has_dtype && !bsm_dtype_is_floating(type->dtype)) {
      node->info.kind = BSM_STRUCTURE_INT;
    }
  }
  return bind(w->d, &node->info);
}

static bsm_status describe_result(result_walk *w, size_t depth,
                                  bsm_structure *node) {
  if (w->node >= w->lowered->node_count || depth > BSM_STRUCTURE_MAX_DEPTH) {
    return BSM_FAIL(BSM_LIMIT, "the result is nested too deep");
  }
  const bsm_lowered_node *from = &w->lowered->nodes[w->node++];
  if (!is_container(from->tag)) return describe_leaf(w, node);
  BSM_TRY(open_container(w->d, node, from->tag, from->type, from->child_count));
  for (size_t i = 0; i < from->child_count; i++) {
    bsm_structure *child = &node->children[i];
    if (w->node >= w->lowered->node_count) {
      return BSM_FAIL(BSM_INTERNAL, "the result has too few values");
    }
    BSM_TRY(from->tag == BSM_IVALUE_DICT
                ? set_dict_key(w->d, &node->info,
                               &w->lowered->nodes[w->node].key, &child->info)
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
  root->info.path = "output_0"; /* of a result that is one leaf */
  BSM_TRY(describe_result(&walk, 0, root));
  if (root->info.child_count || root->info.binding == BSM_NO_BINDING) {
    root->info.path = "";
  }
  out->outputs = root;
  out->output_names = d.names.items;
  return BSM_OK;
}
