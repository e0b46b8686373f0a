/* SPDX-License-Identifier: Apache-2.0 */
/* The two ends: arguments become inputs of the residual graph, the result
 * becomes its outputs. */
#include <inttypes.h>

#include "lowering/specialize/specialize.h"

typedef BSM_VEC(const char *) name_vec;
/* The leaves of the result, and its structure around them. */
typedef struct leaf_list {
  BSM_VEC(bsm_lowered_leaf) leaves;
  BSM_VEC(bsm_lowered_node) nodes;
} leaf_list;

/* ---- inputs ---- */

static bsm_status add_input(bsm_spec *s, bsm_tensor *t, const char *name,
                            name_vec *names) {
  const bsm_type *type = bsm_spec_tensor_type(s, t);
  BSM_TRY_ALLOC(type);
  bsm_value *value = NULL;
  BSM_TRY(bsm_block_add_input(s->graph->block, type, &value));
  BSM_TRY(bsm_value_set_name(s->graph, value, name));
  BSM_TRY_ALLOC(bsm_vec_push(s->cx->arena, names, name));
  BSM_TRY_ALLOC(bsm_vec_push(s->cx->arena, &s->input_ranges, NULL));
  return bsm_spec_bind_base(s, t, value);
}

/* A tensor whose dims range. */
static bsm_status add_range(bsm_spec *s, bsm_ivalue *value, const char *name,
                            name_vec *names) {
  const bsm_lowering_range *range = value->u.container;
  const bsm_type *type = bsm_type_tensor_dtype(s->cx->types, range->dtype);
  BSM_TRY_ALLOC(type);
  bsm_value *input = NULL;
  BSM_TRY(bsm_block_add_input(s->graph->block, type, &input));
  BSM_TRY(bsm_value_set_name(s->graph, input, name));
  BSM_TRY_ALLOC(bsm_vec_push(s->cx->arena, names, name));
  BSM_TRY_ALLOC(bsm_vec_push(s->cx->arena, &s->input_ranges, range));
  return bsm_spec_range_input(s, range, input, value);
}

/* A number that the run will tell: read from a tensor of rank 0. */
static bsm_status add_number(bsm_spec *s, bsm_ivalue *value, const char *name,
                             name_vec *names) {
  const bsm_lowering_number *number = value->u.container;
  if (number->kind == BSM_TYPE_TENSOR) {
    return add_range(s, value, name, names);
  }
  const char *read = number->kind == BSM_TYPE_INT    ? "aten::Int.Tensor"
                     : number->kind == BSM_TYPE_BOOL ? "aten::Bool.Tensor"
                                                     : "aten::Float.Tensor";
  bsm_tensor *t = NULL;
  BSM_TRY(bsm_tensor_new(s->cx->arena, number->dtype, (bsm_dims){0}, true, &t));
  BSM_TRY(add_input(s, t, name, names));
  const bsm_ivalue tensor = bsm_iv_tensor(t);
  return bsm_spec_op_named(s, read, &tensor, 1, value);
}

static bsm_status bind_argument(bsm_spec *s, bsm_ivalue *value,
                                const char *name, size_t depth,
                                name_vec *names);

/* `type`: a NamedTuple's, or NULL. */
static bsm_status bind_items(bsm_spec *s, bsm_ivalue *items, size_t n,
                             const bsm_type *type, const char *name,
                             size_t depth, name_vec *names) {
  for (size_t i = 0; i < n; i++) {
    const char *path = type && type->field_names
                           ? bsm_arena_printf(s->cx->arena, "%s.%s", name,
                                              type->field_names[i])
                           : bsm_arena_printf(s->cx->arena, "%s.%zu", name, i);
    BSM_TRY_ALLOC(path);
    BSM_TRY(bind_argument(s, &items[i], path, depth + 1, names));
  }
  return BSM_OK;
}

static bsm_status bind_dict(bsm_spec *s, bsm_dict *dict, const char *name,
                            size_t depth, name_vec *names) {
  for (size_t i = 0; i < dict->len; i++) {
    bsm_text path;
    bsm_text_init(&path, s->cx->arena);
    bsm_text_printf(&path, "%s.", name);
    if (dict->keys[i].tag == BSM_IVALUE_STRING) {
      bsm_text_append(&path, *dict->keys[i].u.s);
    } else {
      bsm_iv_print(&path, &dict->keys[i]);
    }
    if (path.failed) {
      return BSM_FAIL_OOM();
    }
    BSM_TRY(bind_argument(s, &dict->values[i], path.data, depth + 1, names));
  }
  return BSM_OK;
}

/* The caller's containers are copied: the method may append to them. */
static bsm_status bind_argument(bsm_spec *s, bsm_ivalue *value,
                                const char *name, size_t depth,
                                name_vec *names) {
  if (depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "input %s is nested too deep", name);
  }
  switch (value->tag) {
    case BSM_IVALUE_TENSOR:
      if (!bsm_tensor_is_meta(value->u.tensor)) {
        return bsm_spec_shadow(s, *value, name, value);
      } else {
        /* A tensor of our own: the caller may use one meta tensor twice. */
        const bsm_tensor *like = value->u.tensor;
        bsm_tensor *t = NULL;
        BSM_TRY(
            bsm_tensor_new(s->cx->arena, like->dtype, like->sizes, true, &t));
        *value = bsm_iv_tensor(t);
        return add_input(s, t, name, names);
      }
    case BSM_IVALUE_LIST: {
      const bsm_list *from = value->u.list;
      bsm_list *list = NULL;
      BSM_TRY(bsm_list_new(s->cx->arena, from->elem_type, from->len, &list));
      for (size_t i = 0; i < from->len; i++) {
        list->items[i] = from->items[i];
      }
      *value = bsm_iv_list(list);
      return bind_items(s, list->items, list->len, NULL, name, depth, names);
    }
    case BSM_IVALUE_TUPLE: {
      const bsm_tuple *from = value->u.tuple;
      bsm_tuple *tuple = NULL;
      BSM_TRY(bsm_tuple_new(s->cx->arena, from->len, &tuple));
      tuple->type = from->type;
      for (size_t i = 0; i < from->len; i++) {
        tuple->items[i] = from->items[i];
      }
      *value = bsm_iv_tuple(tuple);
      return bind_items(s, tuple->items, tuple->len, tuple->type, name, depth,
                        names);
    }
    case BSM_IVALUE_DICT: {
      const bsm_dict *from = value->u.dict;
      bsm_dict *dict = NULL;
      BSM_TRY(
          bsm_dict_new(s->cx->arena, from->key_type, from->value_type, &dict));
      for (size_t i = 0; i < from->len; i++) {
        BSM_TRY(bsm_dict_set(dict, from->keys[i], from->values[i]));
      }
      value->u.dict = dict;
      return bind_dict(s, dict, name, depth, names);
    }
    case BSM_IVALUE_CONTAINER:
      return add_number(s, value, name, names);
    default:
      return bsm_spec_shadow(s, *value, name, value);
  }
}

/* ---- outputs ---- */

/* The graph's output of that value: one is enough for a value returned twice.
 */
static bsm_status output_index(bsm_spec *s, bsm_value *value, size_t *out) {
  bsm_block *block = s->graph->block;
  for (size_t i = 0; i < value->uses.len; i++) {
    if (value->uses.items[i].user == block->returns) {
      *out = value->uses.items[i].index;
      return BSM_OK;
    }
  }
  *out = block->returns->inputs.len;
  return bsm_block_add_output(block, value);
}

/* The type of what only the run tells: the declared one where it says more. */
static const bsm_type *type_of_value(const bsm_type *own,
                                     const bsm_type *declared) {
  const bool open = !declared || declared->kind == BSM_TYPE_ANY ||
                    declared->kind == BSM_TYPE_VAR ||
                    declared->kind == BSM_TYPE_UNION ||
                    declared->kind == BSM_TYPE_NUMBER;
  return open && own ? own : declared;
}

/* A Scalar too: mostly it becomes the tensor that it was read from. */
static bool is_number(const bsm_type *type) {
  return type->kind == BSM_TYPE_INT || type->kind == BSM_TYPE_FLOAT ||
         type->kind == BSM_TYPE_BOOL || type->kind == BSM_TYPE_NUMBER;
}

/* A value that the run computes. */
static bsm_status add_output(bsm_spec *s, const bsm_ivalue *value,
                             const bsm_type *declared, bsm_lowered_leaf *leaf) {
  bsm_value *residual = NULL;
  *leaf = (bsm_lowered_leaf){.is_output = true, .dims = {.rank = -1}};
  leaf->type = bsm_spec_type_of(s, value);
  BSM_TRY(bsm_spec_residual(s, value, NULL, &residual));
  BSM_TRY(output_index(s, residual, &leaf->output));
  if (value->tag == BSM_IVALUE_TENSOR ||
      (residual->type && residual->type->kind == BSM_TYPE_TENSOR)) {
    if (value->tag == BSM_IVALUE_TENSOR || !leaf->type) {
      leaf->type = bsm_type_simple(s->cx->types, BSM_TYPE_TENSOR);
    }
    if (bsm_spec_is_symbol(value)) {
      leaf->dims = bsm_spec_worlds_dims(s, value);
    }
  } else if (!residual->type || !is_number(residual->type)) {
    leaf->is_value = true;
    leaf->type = type_of_value(leaf->type, declared);
  }
  if (!leaf->type) leaf->type = bsm_type_simple(s->cx->types, BSM_TYPE_ANY);
  BSM_TRY_ALLOC(leaf->type);
  return BSM_OK;
}

/* Whether the run tells how many parts a value has, or what it is. */
static bool is_open(const bsm_spec *s, const bsm_ivalue *value) {
  return bsm_spec_box_find(s, value) || bsm_spec_is_symbol(value);
}

static bsm_status add_leaf(bsm_spec *s, const bsm_ivalue *value,
                           const bsm_type *declared, leaf_list *list) {
  bsm_lowered_leaf leaf = {.dims = {.rank = -1}, .constant = *value};
  if (value->tag == BSM_IVALUE_TENSOR || is_open(s, value)) {
    BSM_TRY(add_output(s, value, declared, &leaf));
  }
  BSM_TRY_ALLOC(bsm_vec_push(s->cx->arena, &list->leaves, leaf));
  return BSM_OK;
}

static bsm_status add_node(bsm_spec *s, const bsm_lowered_node *node,
                           leaf_list *list) {
  /* A list of the same list twice, and so on, grows without end. */
  if (list->nodes.len >= s->cx->limits.max_nodes) {
    return BSM_FAIL(BSM_LIMIT,
                    "the result has more values than the limit max_nodes "
                    "(%" PRIu64 ") allows",
                    s->cx->limits.max_nodes);
  }
  BSM_TRY_ALLOC(bsm_vec_push(s->cx->arena, &list->nodes, *node));
  return BSM_OK;
}

/* The declared type of part `i` of a container; NULL: not known. */
static const bsm_type *part_type(const bsm_type *type, size_t i) {
  while (type && type->kind == BSM_TYPE_OPTIONAL) type = type->args[0];
  if (!type) return NULL;
  switch (type->kind) {
    case BSM_TYPE_LIST:
      return type->args[0];
    case BSM_TYPE_DICT:
      return type->args[1];
    case BSM_TYPE_TUPLE:
      return i < type->arg_count ? type->args[i] : NULL;
    default:
      return NULL;
  }
}

/* `key`: of an item of a dict, or NULL. `declared`: the type that the method
 * gives the value; may be NULL. */
static bsm_status flatten(bsm_spec *s, const bsm_ivalue *value,
                          const bsm_ivalue *key, const bsm_type *declared,
                          size_t depth, leaf_list *list) {
  const bsm_ivalue *items = NULL, *keys = NULL;
  bsm_lowered_node node = {.tag = value->tag};
  if (key) node.key = *key;
  if (depth > s->cx->limits.max_depth) {
    return BSM_FAIL(BSM_LIMIT, "the result is nested too deep");
  }
  if (is_open(s, value)) node.tag = BSM_IVALUE_CONTAINER;
  switch (node.tag) {
    case BSM_IVALUE_LIST:
      items = value->u.list->items;
      node.child_count = value->u.list->len;
      break;
    case BSM_IVALUE_TUPLE:
      items = value->u.tuple->items;
      node.child_count = value->u.tuple->len;
      node.type = value->u.tuple->type;
      break;
    case BSM_IVALUE_DICT:
      items = value->u.dict->values;
      keys = value->u.dict->keys;
      node.child_count = value->u.dict->len;
      break;
    case BSM_IVALUE_OBJECT:
      items = value->u.object->slots;
      node.child_count = value->u.object->len;
      node.type = value->u.object->type;
      break;
    default:
      BSM_TRY(add_node(s, &node, list));
      return add_leaf(s, value, declared, list);
  }
  BSM_TRY(add_node(s, &node, list));
  for (size_t i = 0; i < node.child_count; i++) {
    BSM_TRY(flatten(s, &items[i], keys ? &keys[i] : NULL,
                    part_type(declared, i), depth + 1, list));
  }
  return BSM_OK;
}

/* ---- the whole ---- */

static bsm_status run(bsm_spec *s, bsm_graph *method, bsm_object *root,
                      const bsm_lowering_input *inputs, size_t count,
                      bsm_lowered *out) {
  const size_t first = root ? 1 : 0, n = count + first;
  const bsm_block *block = method->block;
  name_vec names = {0};
  leaf_list list = {0};
  bsm_ivalue *args = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, n + 1);
  const size_t m = block->returns->inputs.len;
  bsm_ivalue *outs = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, m + 1);
  BSM_TRY_ALLOC(args && outs);
  if (block->params->outputs.len != n) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the model takes %zu inputs, %zu given",
                    block->params->outputs.len - first, count);
  }
  if (root) {
    BSM_TRY(bsm_spec_shadow(s, bsm_iv_object(root), NULL, &args[0]));
    BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &s->paths, args[0].u.object,
                                 (void *)(uintptr_t) ""));
  }
  for (size_t i = 0; i < count; i++) {
    args[i + first] = inputs[i].value;
    const char *name = inputs[i].name ? inputs[i].name : "input";
    BSM_TRY(bind_argument(s, &args[i + first], name, 0, &names));
  }
  BSM_TRY(bsm_spec_run_graph(s, method, NULL, "", args, n, outs, m));
  /* The results of IR text, if not one, are a tuple. */
  const bsm_lowered_node tuple = {.tag = BSM_IVALUE_TUPLE, .child_count = m};
  if (m != 1) BSM_TRY(add_node(s, &tuple, &list));
  for (size_t i = 0; i < m; i++) {
    BSM_TRY(flatten(s, &outs[i], NULL, bsm_node_in(block->returns, i)->type,
                    m != 1, &list));
  }
  *out = (bsm_lowered){
      .graph = s->graph,
      .literal = s->literal,
      .leaves = list.leaves.items,
      .leaf_count = list.leaves.len,
      .nodes = list.nodes.items,
      .node_count = list.nodes.len,
      .input_names = names.items,
      .input_ranges = s->input_ranges.items,
      .result_type = m == 1 ? bsm_node_in(block->returns, 0)->type : NULL};
  return BSM_OK;
}

static bsm_status specialize_once(bsm_graph *method, bsm_object *root,
                                  const bsm_lowering_input *inputs,
                                  size_t input_count,
                                  const bsm_aten_library *aten,
                                  bsm_spec_unroller *unroller,
                                  const bsm_world_samples *samples,
                                  bool literal, bsm_lowered *out) {
  bsm_arena scratch, stack;
  bsm_spec s;
  bsm_arena_init(&scratch, method->cx->arena->allocator);
  bsm_arena_init(&stack, method->cx->arena->allocator);
  bsm_status st = bsm_spec_init(&s, method->cx, &scratch, &stack, aten);
  s.unroller = unroller;
  s.samples = samples;
  s.literal = literal;
  if (!st) {
    st = run(&s, method, root, inputs, input_count, out);
  }
  bsm_arena_destroy(&stack);
  bsm_arena_destroy(&scratch);
  return st;
}

/* How often more shapes are looked for. */
#define MAX_ROUNDS 16

/* Again, as long as that lets loops or more shapes in. */
bsm_status bsm_specialize(bsm_graph *method, bsm_object *root,
                          const bsm_lowering_input *inputs, size_t input_count,
                          const bsm_aten_library *aten, bool literal,
                          bsm_lowered *out) {
  bsm_arena arena;
  bsm_spec_unroller unroller = {.arena = &arena};
  bsm_world_samples samples = {.count = 0};
  bool again = true;
  bsm_status st = BSM_OK;
  bsm_arena_init(&arena, method->cx->arena->allocator);
  for (int round = 0; again && !st && round < MAX_ROUNDS; round++) {
    bsm_lowered found = {0};
    do {
      st = specialize_once(method, root, inputs, input_count, aten, &unroller,
                           &samples, literal, &found);
    } while (bsm_spec_unroll_again(&unroller, &st));
    if (st && round > 0 && bsm_status_code(st) != BSM_OUT_OF_MEMORY) {
      bsm_log(method->cx->logger, BSM_LOG_LEVEL_INFO,
              "some shapes in range are refused when running: %s",
              bsm_status_message(st));
      bsm_status_free(st); /* what was found before stands */
      st = BSM_OK;
      break;
    }
    *out = found;
    if (!st) {
      st = bsm_find_worlds(out, aten, &samples, &again);
    }
  }
  bsm_arena_destroy(&arena);
  return st;
}
