/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, attributes and objects. A call runs the callee at once with the
 * concrete receiver, so interfaces and hooks need no other handling, and a
 * method is only compiled when a live path reaches it. */
#include "lowering/specialize/methods/node_handlers.h"

#include "lowering/specialize/memory/allocation.h"
#include "lowering/specialize/memory/locations.h"
#include "lowering/specialize/memory/memory.h"
#include "lowering/specialize/memory/shadow.h"
#include "lowering/specialize/methods/methods.h"

/* "layer1" + "0" -> "layer1.0" */
static bsm_status join_path(bsm_spec *s, const char *parent, const char *name,
                            const char **out) {
  *out = parent && parent[0]
             ? bsm_arena_printf(s->cx->arena, "%s.%s", parent, name)
             : bsm_arena_strdup(s->cx->arena, name);
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

static bsm_status attribute_name(const bsm_node *node, const char **out) {
  const bsm_ivalue *name = bsm_node_attr_get(node, "name");
  if (!name || name->tag != BSM_IVALUE_STRING) {
    return BSM_FAIL(BSM_INTERNAL, "%s without a name", node->kind);
  }
  *out = name->u.s->data;
  return BSM_OK;
}

/* The object an attribute node is about, and the slot. */
static bsm_status find_slot(bsm_spec *s, const bsm_node *node,
                            bsm_object **object, size_t *slot,
                            const char **name) {
  bsm_ivalue self;
  BSM_TRY(attribute_name(node, name));
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &self));
  if (self.tag != BSM_IVALUE_OBJECT) {
    return BSM_FAIL(BSM_UNSUPPORTED, "attribute '%s' of a value of kind %s",
                    *name, bsm_iv_tag_name(self.tag));
  }
  *object = self.u.object;
  const bsm_class *cls = self.u.object->type ? self.u.object->type->cls : NULL;
  const int64_t index = cls ? bsm_class_find_attribute(cls, *name) : -1;
  if (index < 0 || (size_t)index >= self.u.object->len) {
    return BSM_FAIL(BSM_NOT_FOUND, "an object of class %s has no attribute %s",
                    cls ? cls->name : "?", *name);
  }
  *slot = (size_t)index;
  return BSM_OK;
}

static bsm_status note_path(bsm_spec *s, const bsm_ivalue *value,
                            const char *path) {
  if (value->tag == BSM_IVALUE_OBJECT &&
      !bsm_ptrmap_get(&s->methods->paths, value->u.object)) {
    BSM_TRY_ALLOC(bsm_ptrmap_set(s->scratch, &s->methods->paths,
                                 value->u.object, (void *)(uintptr_t)path));
  }
  return BSM_OK;
}

/* The slot gets a shadow of the module's value, unless it has one. */
static bsm_status load_slot(bsm_spec *s, bsm_object *object, size_t slot,
                            const char *name) {
  bool *loaded = bsm_ptrmap_get(&s->memory->loaded, object);
  if (loaded && !loaded[slot]) {
    const char *path = NULL;
    BSM_TRY(
        join_path(s, bsm_ptrmap_get(&s->methods->paths, object), name, &path));
    BSM_TRY(
        bsm_spec_shadow(s, object->slots[slot], path, &object->slots[slot]));
    BSM_TRY(note_path(s, &object->slots[slot], path));
    loaded[slot] = true;
  }
  return BSM_OK;
}

static bsm_status get_attr(bsm_spec *s, const bsm_node *node) {
  bsm_object *object = NULL;
  size_t slot = 0;
  const char *name = NULL;
  bsm_ivalue self;
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &self));
  if (self.tag == BSM_IVALUE_TUPLE) { /* a field of a NamedTuple */
    BSM_TRY(attribute_name(node, &name));
    const bsm_type *type = self.u.tuple->type;
    for (size_t i = 0; type && type->field_names && i < type->arg_count; i++) {
      if (strcmp(type->field_names[i], name) == 0 && i < self.u.tuple->len) {
        return bsm_spec_set(s, bsm_node_out(node, 0), self.u.tuple->items[i]);
      }
    }
  }
  BSM_TRY(find_slot(s, node, &object, &slot, &name));
  BSM_TRY(load_slot(s, object, slot, name));
  return bsm_spec_set(s, bsm_node_out(node, 0), object->slots[slot]);
}

/* An item of a ModuleList or ModuleDict: the attribute of that name. */
static bsm_status get_module(bsm_spec *s, const bsm_node *node) {
  bsm_ivalue self, index;
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &self));
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 1), &index));
  if (self.tag != BSM_IVALUE_OBJECT || !self.u.object->type) {
    return BSM_FAIL(BSM_INTERNAL, "%s of no module", node->kind);
  }
  if (index.tag != BSM_IVALUE_INT && index.tag != BSM_IVALUE_STRING) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "which module of a list or dict is called depends on data: "
                    "fix the index when compiling, or call each of them in an "
                    "if");
  }
  const bsm_class *cls = self.u.object->type->cls;
  const char *name =
      index.tag == BSM_IVALUE_STRING
          ? index.u.s->data
          : bsm_arena_printf(s->scratch, "%lld", (long long)index.u.i);
  BSM_TRY_ALLOC(name);
  const int64_t slot = cls ? bsm_class_find_attribute(cls, name) : -1;
  if (slot < 0 || (size_t)slot >= self.u.object->len) {
    return BSM_FAIL(BSM_RAISED, "there is no module %s in a %s", name,
                    cls ? cls->name : "module");
  }
  BSM_TRY(load_slot(s, self.u.object, (size_t)slot, name));
  return bsm_spec_set(s, bsm_node_out(node, 0), self.u.object->slots[slot]);
}

static bsm_status set_attr(bsm_spec *s, const bsm_node *node) {
  bsm_object *object = NULL;
  size_t slot = 0;
  const char *name = NULL;
  bsm_ivalue value;
  BSM_TRY(find_slot(s, node, &object, &slot, &name));
  BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 1), &value));
  const bsm_ivalue self = bsm_iv_object(object);
  if (bsm_spec_is_older(s, &self)) {
    const bsm_spec_location location = {BSM_LOCATION_SLOT,
                                        {.slot = &object->slots[slot]}};
    BSM_TRY(load_slot(s, object, slot, name)); /* what is taken back to */
    BSM_TRY(bsm_spec_log(s, location));
  }
  object->slots[slot] = value;
  bool *loaded = bsm_ptrmap_get(&s->memory->loaded, object);
  if (loaded) {
    loaded[slot] = true;
    bsm_log(s->logger, BSM_LOG_LEVEL_DEBUG,
            "attribute %s is assigned at %s: an engine keeps no state, the new "
            "value is lost after each run",
            name, bsm_spec_where(s));
  }
  return BSM_OK;
}

static bsm_status create_object(bsm_spec *s, const bsm_node *node) {
  const bsm_type *type = bsm_node_out(node, 0)->type;
  if (!type || type->kind != BSM_TYPE_CLASS) {
    return BSM_FAIL(BSM_INTERNAL, "prim::CreateObject of no class");
  }
  bsm_object *object = NULL;
  BSM_TRY(
      bsm_object_new(s->cx->arena, type, type->cls->attributes.len, &object));
  const bsm_ivalue value = bsm_iv_object(object);
  BSM_TRY(bsm_spec_note_allocation(s, &value));
  return bsm_spec_set(s, bsm_node_out(node, 0), value);
}

/* Runs `fn` on args and binds the outputs of `node`. */
static bsm_status invoke(bsm_spec *s, const bsm_node *node, bsm_function *fn,
                         const char *scope, const bsm_ivalue *args, size_t n) {
  bsm_graph *graph = NULL;
  BSM_TRY(bsm_function_graph(fn, &graph));
  const size_t m = node->outputs.len;
  bsm_ivalue *outs = BSM_NEW_ARRAY(s->stack, bsm_ivalue, m + 1);
  BSM_TRY_ALLOC(outs);
  const size_t returns = graph->block->returns->inputs.len;
  if (returns != m) {
    return BSM_FAIL(BSM_INTERNAL, "%s returns %zu values, %zu expected",
                    fn->qualified, returns, m);
  }
  BSM_TRY(bsm_spec_run_graph(s, graph, fn, scope, args, n, outs, m));
  for (size_t i = 0; i < m; i++) {
    BSM_TRY(bsm_spec_set(s, bsm_node_out(node, i), outs[i]));
  }
  return BSM_OK;
}

static bsm_status gather_args(bsm_spec *s, const bsm_node *node, size_t first,
                              bsm_ivalue **out, size_t *count) {
  const size_t n = node->inputs.len - first;
  *out = BSM_NEW_ARRAY(s->stack, bsm_ivalue, n + 1);
  BSM_TRY_ALLOC(*out);
  for (size_t i = 0; i < n; i++) {
    BSM_TRY(bsm_spec_get(s, bsm_node_in(node, first + i), &(*out)[i]));
  }
  *count = n;
  return BSM_OK;
}

static bsm_status call_method(bsm_spec *s, const bsm_node *node) {
  const char *name = NULL;
  bsm_ivalue *args = NULL;
  size_t n = 0;
  BSM_TRY(attribute_name(node, &name));
  BSM_TRY(gather_args(s, node, 0, &args, &n));
  if (n == 0 || args[0].tag != BSM_IVALUE_OBJECT || !args[0].u.object->type ||
      !args[0].u.object->type->cls) {
    return BSM_FAIL(BSM_UNSUPPORTED, "method %s of a value of kind %s", name,
                    n ? bsm_iv_tag_name(args[0].tag) : "?");
  }
  bsm_object *self = args[0].u.object;
  bsm_function *fn = bsm_class_find_method(self->type->cls, name);
  if (!fn) {
    return BSM_FAIL(BSM_UNSUPPORTED, "class %s has no method %s here",
                    self->type->cls->name, name);
  }
  const char *scope = bsm_ptrmap_get(&s->methods->paths, self);
  if (!scope) {
    scope = s->at.frame->scope;
  }
  return invoke(s, node, fn, scope, args, n);
}

static bsm_status call_function(bsm_spec *s, const bsm_node *node) {
  bsm_ivalue *args = NULL;
  size_t n = 0;
  const bsm_ivalue *attr = bsm_node_attr_get(node, "function");
  bsm_ivalue callee = attr ? *attr : bsm_iv_none();
  size_t first = 0;
  if (!attr && node->inputs.len > 0) { /* a function value as first input */
    BSM_TRY(bsm_spec_get(s, bsm_node_in(node, 0), &callee));
    first = 1;
  }
  if (callee.tag != BSM_IVALUE_FUNCTION || !callee.u.function) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a call of a value of kind %s",
                    bsm_iv_tag_name(callee.tag));
  }
  BSM_TRY(gather_args(s, node, first, &args, &n));
  /* A graph holds functions as values, hence as const; running one may have
   * to compile it first. */
  bsm_function *fn = (bsm_function *)(uintptr_t)callee.u.function;
  return invoke(s, node, fn, s->at.frame->scope, args, n);
}

bsm_status bsm_spec_call_node(bsm_spec *s, const bsm_node *node, bool *done) {
  static const struct {
    const char *kind;
    bsm_status (*run)(bsm_spec *, const bsm_node *);
    size_t inputs, outputs; /* at least */
  } rows[] = {
      {"prim::GetAttr", get_attr, 1, 1},
      {"prim::ModuleContainerIndex", get_module, 2, 1},
      {"prim::SetAttr", set_attr, 2, 0},
      {"prim::CallMethod", call_method, 1, 0},
      {"prim::CallFunction", call_function, 0, 0},
      {"prim::CreateObject", create_object, 0, 1},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (!bsm_node_is(node, rows[i].kind)) {
      continue;
    }
    *done = true;
    if (node->inputs.len < rows[i].inputs ||
        node->outputs.len < rows[i].outputs) {
      return BSM_FAIL(BSM_INTERNAL, "malformed %s", node->kind);
    }
    return rows[i].run(s, node);
  }
  *done = false;
  return BSM_OK;
}
