/* SPDX-License-Identifier: Apache-2.0 */
/* The method forward of an exported program. */
#include "exported/import.h"
#include "exported/import_node.h"
#include "exported/import_shapes.h"
#include "exported/import_sizes.h"
#include "exported/import_state.h"
#include "exported/import_tree.h"

#define CLASS_NAME "__torch__.ExportedProgram"

/* One parameter of forward. */
typedef struct parameter {
  const char *name;
  bsm_exported_tree tree;
  const bsm_type *type;
  size_t first; /* its first leaf */
  bool keyword;
} parameter;

typedef struct method {
  const bsm_exported_program *program;
  bsm_exported_import_options options;
  bsm_ir_ctx *cx;
  const bsm_type *self;
  /* The leaves: user inputs in their order, as indices of program->inputs. */
  size_t *leaves;
  size_t leaf_count;
  const bsm_ivalue *examples; /* by program->inputs */
  parameter *parameters;
  size_t parameter_count;
} method;

/* ---- parameters ---- */

static const bsm_type *leaf_type(const method *m,
                                 const bsm_exported_input_spec *spec) {
  switch (spec->arg.tag) {
    case BSM_EXPORTED_SYM_INT:
    case BSM_EXPORTED_INT:
      return bsm_type_simple(m->cx->types, BSM_TYPE_INT);
    case BSM_EXPORTED_SYM_FLOAT:
    case BSM_EXPORTED_FLOAT:
      return bsm_type_simple(m->cx->types, BSM_TYPE_FLOAT);
    case BSM_EXPORTED_SYM_BOOL:
    case BSM_EXPORTED_BOOL:
      return bsm_type_simple(m->cx->types, BSM_TYPE_BOOL);
    case BSM_EXPORTED_STRING:
      return bsm_type_simple(m->cx->types, BSM_TYPE_STRING);
    case BSM_EXPORTED_NONE:
      return bsm_type_simple(m->cx->types, BSM_TYPE_NONE);
    default:
      return bsm_type_simple(m->cx->types, BSM_TYPE_TENSOR);
  }
}

static bsm_status find_leaves(method *m) {
  const bsm_exported_program *p = m->program;
  m->leaves = BSM_NEW_ARRAY(m->cx->arena, size_t, p->input_count + 1);
  BSM_TRY_ALLOC(m->leaves);
  for (size_t i = 0; i < p->input_count; i++) {
    if (p->inputs[i].kind == BSM_EXPORTED_USER_INPUT ||
        p->inputs[i].kind == BSM_EXPORTED_CONSTANT_INPUT) {
      m->leaves[m->leaf_count++] = i;
    }
  }
  return BSM_OK;
}

static bool is_taken(const method *m, const char *name) {
  if (strcmp(name, "self") == 0) return true;
  for (size_t i = 0; i < m->parameter_count; i++) {
    if (strcmp(m->parameters[i].name, name) == 0) return true;
  }
  return false;
}

/* The name that the module's forward has for it, or the graph's. */
static bsm_status add_parameter(method *m, const bsm_exported_tree *tree,
                                const char *name, bool keyword, size_t first) {
  parameter *p = &m->parameters[m->parameter_count];
  const char *base = name;
  *p = (parameter){.tree = *tree, .first = first, .keyword = keyword};
  if (!base || !base[0]) {
    base = tree->kind == BSM_EXPORTED_TREE_LEAF
               ? m->program->inputs[m->leaves[first]].name
               : bsm_arena_printf(m->cx->arena, "arg_%zu", m->parameter_count);
    BSM_TRY_ALLOC(base);
  }
  p->name = base;
  for (size_t i = 1; is_taken(m, p->name); i++) {
    p->name = bsm_arena_printf(m->cx->arena, "%s_%zu", base, i);
    BSM_TRY_ALLOC(p->name);
  }
  const bsm_type **types =
      BSM_NEW_ARRAY(m->cx->arena, const bsm_type *, tree->leaf_count + 1);
  BSM_TRY_ALLOC(types);
  for (size_t i = 0; i < tree->leaf_count; i++) {
    types[i] = leaf_type(m, &m->program->inputs[m->leaves[first + i]]);
  }
  BSM_TRY(bsm_xi_tree_type(m->cx, tree, types, &p->type));
  m->parameter_count++;
  return BSM_OK;
}

/* Without a structure each user input is a parameter. */
static bsm_status add_flat(method *m) {
  const bsm_exported_tree leaf = {.leaf_count = 1};
  for (size_t i = 0; i < m->leaf_count; i++) {
    BSM_TRY(add_parameter(m, &leaf, NULL, false, i));
  }
  return BSM_OK;
}

static bsm_status find_parameters(method *m) {
  const bsm_exported_program *p = m->program;
  const bsm_exported_tree *tree = p->in_tree;
  size_t first = 0;
  BSM_TRY(find_leaves(m));
  const size_t most =
      tree && tree->child_count == 2
          ? tree->children[0].child_count + tree->children[1].child_count
          : m->leaf_count;
  m->parameters = BSM_NEW_ARRAY(m->cx->arena, parameter, most + 1);
  BSM_TRY_ALLOC(m->parameters);
  if (!tree) return add_flat(m);
  if (tree->child_count != 2 || tree->leaf_count != m->leaf_count) {
    return BSM_FAIL(BSM_CORRUPT,
                    "the structure of the inputs has %zu leaves, there are %zu "
                    "user inputs",
                    tree->leaf_count, m->leaf_count);
  }
  for (int pass = 0; pass < 2; pass++) {
    const bsm_exported_tree *group = &tree->children[pass];
    for (size_t i = 0; i < group->child_count; i++) {
      const char *name = NULL;
      if (pass == 0 && i < p->forward_arg_count) {
        name = p->forward_arg_names[i];
      } else if (pass == 1 && group->keys &&
                 group->keys[i].tag == BSM_IVALUE_STRING) {
        name = group->keys[i].u.s->data;
      }
      BSM_TRY(add_parameter(m, &group->children[i], name, pass == 1, first));
      first += group->children[i].leaf_count;
    }
  }
  return BSM_OK;
}

/* ---- the body ---- */

/* Attributes are read where the graph begins; what nothing uses goes away. */
static bsm_status bind_attribute(bsm_importer *im, bsm_import_scope *scope,
                                 bsm_value *self,
                                 const bsm_exported_input_spec *spec) {
  bsm_node *node;
  bsm_ivalue name;
  BSM_TRY(bsm_iv_string(im->arena, bsm_str_of(spec->target), &name));
  BSM_TRY(bsm_xi_node(im, "prim::GetAttr", &self, 1,
                      bsm_xi_type(im, BSM_TYPE_TENSOR), &node));
  BSM_TRY(bsm_node_set_attr(node, "name", name));
  return bsm_xi_bind(im, scope, spec->name, bsm_node_out(node, 0));
}

/* A number or string that exporting has fixed must be that one. */
static bsm_status check_constant(bsm_importer *im,
                                 const bsm_exported_input_spec *spec,
                                 const bsm_ivalue *fixed, bsm_value *value) {
  bsm_value *args[2] = {value, NULL}, *same;
  bsm_text text;
  if (fixed->tag == BSM_IVALUE_NONE) return BSM_OK; /* by its type */
  bsm_text_init(&text, im->arena);
  bsm_text_printf(&text, "input \"%s\" was fixed as ", spec->name);
  bsm_iv_print(&text, fixed);
  bsm_text_puts(&text, " when the program was exported");
  if (text.failed) return BSM_FAIL_OOM();
  BSM_TRY(bsm_xi_constant(im, *fixed, NULL, &args[1]));
  BSM_TRY(bsm_xi_call(im, "aten::eq", args, 2, &same));
  return bsm_xi_check(im, same, text.data);
}

static bsm_status bind_parameters(const method *m, bsm_importer *im,
                                  bsm_import_scope *scope) {
  bsm_value *value;
  bsm_value **leaves = BSM_NEW_ARRAY(im->arena, bsm_value *, m->leaf_count + 1);
  BSM_TRY_ALLOC(leaves);
  for (size_t i = 0; i < m->parameter_count; i++) {
    BSM_TRY(bsm_block_add_input(im->block, m->parameters[i].type, &value));
    BSM_TRY(bsm_value_set_name(im->graph, value, m->parameters[i].name));
  }
  for (size_t i = 0; i < m->parameter_count; i++) {
    const parameter *p = &m->parameters[i];
    value = bsm_node_out(im->block->params, 1 + i);
    BSM_TRY(bsm_xi_take_apart(im, &p->tree, value, &leaves[p->first]));
  }
  for (size_t i = 0; i < m->leaf_count; i++) {
    const size_t input = m->leaves[i];
    const bsm_exported_input_spec *spec = &m->program->inputs[input];
    if (m->examples[input].tag != BSM_IVALUE_TENSOR) {
      BSM_TRY(check_constant(im, spec, &m->examples[input], leaves[i]));
    }
    BSM_TRY(bsm_xi_bind(im, scope, spec->name, leaves[i]));
  }
  return BSM_OK;
}

static bsm_status bind_inputs(const method *m, bsm_importer *im,
                              bsm_import_scope *scope) {
  bsm_value *self, *none;
  BSM_TRY(bsm_block_add_input(im->block, m->self, &self));
  BSM_TRY(bsm_value_set_name(im->graph, self, "self"));
  BSM_TRY(bind_parameters(m, im, scope));
  for (size_t i = 0; i < m->program->input_count; i++) {
    const bsm_exported_input_spec *spec = &m->program->inputs[i];
    switch (spec->kind) {
      case BSM_EXPORTED_PARAMETER:
      case BSM_EXPORTED_BUFFER:
      case BSM_EXPORTED_TENSOR_CONSTANT:
        BSM_TRY(bind_attribute(im, scope, self, spec));
        break;
      case BSM_EXPORTED_CUSTOM_OBJECT:
        return BSM_FAIL(BSM_UNSUPPORTED,
                        "the program uses the custom object \"%s\" of class "
                        "%s: only tensors can be read",
                        spec->target ? spec->target : spec->name,
                        spec->class_name ? spec->class_name : "?");
      case BSM_EXPORTED_INPUT_TOKEN:
        BSM_TRY(bsm_xi_none(im, &none));
        BSM_TRY(bsm_xi_bind(im, scope, spec->name, none));
        break;
      default:
        break;
    }
  }
  return BSM_OK;
}

/* ---- the result ---- */

static bsm_status flat_result(bsm_importer *im, const bsm_xi_values *leaves,
                              bsm_value **out) {
  bsm_exported_tree children = {.leaf_count = 1};
  if (leaves->len == 1) {
    *out = leaves->items[0];
    return BSM_OK;
  }
  bsm_exported_tree *all =
      BSM_NEW_ARRAY(im->arena, bsm_exported_tree, leaves->len + 1);
  BSM_TRY_ALLOC(all);
  for (size_t i = 0; i < leaves->len; i++) all[i] = children;
  const bsm_exported_tree tuple = {.kind = BSM_EXPORTED_TREE_TUPLE,
                                   .children = all,
                                   .child_count = leaves->len,
                                   .leaf_count = leaves->len};
  return bsm_xi_put_together(im, &tuple, leaves->items, out);
}

static bsm_status make_result(const method *m, bsm_importer *im,
                              const bsm_import_scope *scope, bsm_value **out) {
  const bsm_exported_program *p = m->program;
  bsm_xi_values leaves = {0};
  for (size_t i = 0; i < p->output_count; i++) {
    const bsm_exported_output_spec *spec = &p->outputs[i];
    bsm_value *value;
    if (spec->kind != BSM_EXPORTED_USER_OUTPUT &&
        spec->kind != BSM_EXPORTED_LOSS_OUTPUT) {
      continue;
    }
    BSM_TRY_NOTE(bsm_xi_argument(im, scope, &spec->arg, NULL, &value),
                 "in result %zu", leaves.len);
    BSM_TRY_ALLOC(bsm_vec_push(im->arena, &leaves, value));
  }
  if (!p->out_tree) return flat_result(im, &leaves, out);
  if (p->out_tree->leaf_count != leaves.len) {
    return BSM_FAIL(BSM_CORRUPT,
                    "the structure of the result has %zu leaves, there are %zu "
                    "outputs",
                    p->out_tree->leaf_count, leaves.len);
  }
  return bsm_xi_put_together(im, p->out_tree, leaves.items, out);
}

static bsm_status compile_forward(bsm_function *fn) {
  const method *m = fn->impl;
  bsm_import_scope scope = {.graph = m->program->graph};
  bsm_importer im = {.program = m->program, .cx = m->cx, .arena = m->cx->arena};
  bsm_value *result;
  BSM_TRY(bsm_graph_create(m->cx, &im.graph));
  im.block = im.graph->block;
  BSM_TRY(bind_inputs(m, &im, &scope));
  BSM_TRY(bsm_xi_check_sizes(&im, &scope));
  BSM_TRY(bsm_xi_nodes(&im, &scope));
  im.source = (bsm_source){0};
  BSM_TRY(make_result(m, &im, &scope, &result));
  BSM_TRY(bsm_xi_state(&im, &scope, m->options.state_as_output, &result));
  BSM_TRY(bsm_block_add_output(im.block, result));
  BSM_TRY(bsm_xi_check_undeclared(&im));
  BSM_TRY(bsm_graph_verify(im.graph));
  fn->graph = im.graph;
  return BSM_OK;
}

/* ---- the module ---- */

static bsm_status make_schema(method *m, bsm_function *fn) {
  bsm_ir_ctx *cx = m->cx;
  bsm_schema *schema = BSM_NEW(cx->arena, bsm_schema);
  BSM_TRY_ALLOC(schema);
  schema->name = schema->qualified = fn->qualified;
  schema->overload = "";
  schema->text = fn->qualified;
  schema->arg_count = 1 + m->parameter_count;
  schema->args = BSM_NEW_ARRAY(cx->arena, bsm_schema_arg, schema->arg_count);
  BSM_TRY_ALLOC(schema->args);
  schema->args[0] = (bsm_schema_arg){.name = "self", .type = m->self};
  for (size_t i = 0; i < m->parameter_count; i++) {
    const parameter *p = &m->parameters[i];
    bsm_schema_arg *arg = &schema->args[1 + i];
    *arg = (bsm_schema_arg){
        .name = p->name, .type = p->type, .kwarg_only = p->keyword};
    if (p->tree.kind != BSM_EXPORTED_TREE_LEAF) continue;
    const bsm_ivalue *example = &m->examples[m->leaves[p->first]];
    if (example->tag == BSM_IVALUE_TENSOR) continue;
    arg->has_default = true;
    arg->default_value = *example;
  }
  fn->schema = schema;
  return BSM_OK;
}

/* What is left of a submodule: its path and its class, which the caller may
 * name. */
static bsm_status make_submodule(const method *m, const char *path,
                                 bsm_ivalue *out) {
  const char *name =
      bsm_strmap_get(&m->program->module_classes, bsm_str_of(path));
  const bsm_type *type = bsm_type_class(m->cx->types, name);
  bsm_object *object;
  BSM_TRY_ALLOC(type);
  type->cls->is_module = true;
  BSM_TRY(bsm_object_new(m->cx->arena, type, 0, &object));
  *out = bsm_iv_object(object);
  return BSM_OK;
}

/* Parameters, buffers and constants; tied ones share their memory. */
static bsm_status make_root(method *m, bsm_object **out) {
  bsm_ir_ctx *cx = m->cx;
  const bsm_exported_program *p = m->program;
  bsm_class *cls = m->self->cls;
  const bsm_type *tensor = bsm_type_simple(cx->types, BSM_TYPE_TENSOR);
  BSM_VEC(bsm_ivalue) slots = {0};
  for (size_t i = 0; i < p->input_count; i++) {
    const bsm_exported_input_spec *spec = &p->inputs[i];
    if (!spec->target || !spec->tensor) continue;
    if (bsm_class_find_attribute(cls, spec->target) >= 0) continue;
    const bsm_attribute attribute = {spec->target, tensor};
    BSM_TRY_ALLOC(bsm_vec_push(cx->arena, &cls->attributes, attribute));
    BSM_TRY_ALLOC(bsm_vec_push(cx->arena, &slots, bsm_iv_tensor(spec->tensor)));
  }
  for (size_t i = 0; i < p->module_paths.len; i++) {
    const char *path = p->module_paths.items[i];
    bsm_ivalue module;
    if (bsm_class_find_attribute(cls, path) >= 0) continue;
    BSM_TRY(make_submodule(m, path, &module));
    const bsm_attribute attribute = {path, module.u.object->type};
    BSM_TRY_ALLOC(bsm_vec_push(cx->arena, &cls->attributes, attribute));
    BSM_TRY_ALLOC(bsm_vec_push(cx->arena, &slots, module));
  }
  BSM_TRY(bsm_object_new(cx->arena, m->self, slots.len, out));
  for (size_t i = 0; i < slots.len; i++) (*out)->slots[i] = slots.items[i];
  return BSM_OK;
}

static bsm_status find_method(void *front_end, const bsm_object *object,
                              const char *name, bsm_function **out) {
  (void)front_end;
  *out = bsm_class_find_method(object->type->cls, name);
  return *out ? BSM_OK : bsm_model_no_method(object->type->cls, name);
}

static bsm_status make_examples(const method *m, bsm_model *out) {
  bsm_ivalue *values =
      BSM_NEW_ARRAY(m->cx->arena, bsm_ivalue, m->parameter_count + 1);
  bsm_ivalue *leaves =
      BSM_NEW_ARRAY(m->cx->arena, bsm_ivalue, m->leaf_count + 1);
  BSM_TRY_ALLOC(values && leaves);
  for (size_t i = 0; i < m->leaf_count; i++) {
    leaves[i] = m->examples[m->leaves[i]];
  }
  for (size_t i = 0; i < m->parameter_count; i++) {
    const parameter *p = &m->parameters[i];
    BSM_TRY(bsm_xi_tree_value(m->cx, &p->tree, p->type, leaves + p->first,
                              &values[i]));
  }
  out->examples = values;
  out->example_count = m->parameter_count;
  return BSM_OK;
}

bsm_status bsm_exported_import(const bsm_exported_program *program,
                               const bsm_exported_import_options *options,
                               bsm_model *out) {
  bsm_ir_ctx *cx = program->cx;
  method *m = BSM_NEW(cx->arena, method);
  bsm_function *fn = BSM_NEW(cx->arena, bsm_function);
  bsm_ivalue *examples =
      BSM_NEW_ARRAY(cx->arena, bsm_ivalue, program->input_count + 1);
  BSM_TRY_ALLOC(m && fn && examples);
  *out = (bsm_model){.cx = cx, .find_method = find_method, .front_end = m};
  *m = (method){.program = program, .cx = cx, .examples = examples};
  if (options) m->options = *options;
  m->self = bsm_type_class(cx->types, CLASS_NAME);
  BSM_TRY_ALLOC(m->self);
  m->self->cls->is_module = true;
  BSM_TRY(bsm_xi_shapes(program, out, examples));
  BSM_TRY(find_parameters(m));
  *fn = (bsm_function){.name = "forward",
                       .qualified = CLASS_NAME ".forward",
                       .compile = compile_forward,
                       .impl = m};
  BSM_TRY(make_schema(m, fn));
  BSM_TRY_ALLOC(bsm_vec_push(cx->arena, &m->self->cls->methods, fn));
  BSM_TRY(make_root(m, &out->root));
  return make_examples(m, out);
}
