/* SPDX-License-Identifier: Apache-2.0 */
/* Lowers a method with what is known of its inputs, and makes the leaves of the
 * result the outputs of the graph. */
#include "compiler/pipeline/lower_method.h"

#include "lowering/widen_floats.h"

static bsm_status dump_graph(void *user, const char *pass,
                             const bsm_graph *graph) {
  const bsm_compile_options *options = user;
  bsm_arena arena;
  bsm_text text;
  bsm_arena_init(&arena, options->allocator);
  bsm_text_init(&text, &arena);
  bsm_graph_print(&text, graph, NULL);
  bsm_status status = text.failed ? BSM_FAIL_OOM() : BSM_OK;
  if (!status) options->dump(options->dump_user, pass, text.data);
  bsm_arena_destroy(&arena);
  return status;
}

/* A number of the model's result as a 0-dim tensor. */
static bsm_status number_tensor(bsm_arena *arena, const bsm_ivalue *value,
                                bsm_tensor **out) {
  switch (value->tag) {
    case BSM_IVALUE_INT:
      return bsm_tensor_from_int(arena, BSM_DTYPE_INT64, value->u.i, out);
    case BSM_IVALUE_BOOL:
      return bsm_tensor_from_int(arena, BSM_DTYPE_BOOL, value->u.b, out);
    case BSM_IVALUE_DOUBLE:
      return bsm_tensor_from_double(arena, BSM_DTYPE_DOUBLE, value->u.d, out);
    case BSM_IVALUE_COMPLEX:
      return bsm_tensor_from_complex(arena, BSM_DTYPE_COMPLEX_DOUBLE,
                                     value->u.c.re, value->u.c.im, out);
    case BSM_IVALUE_TENSOR:
      *out = value->u.tensor;
      return BSM_OK;
    default:
      *out = NULL; /* None and strings are only in the structure */
      return BSM_OK;
  }
}

/* Makes a number that is computed in the run a tensor of rank 0; other values
 * do not change. */
static bsm_status as_tensor(bsm_graph *graph, bsm_value **value) {
  const bsm_type_kind kind =
      (*value)->type ? (*value)->type->kind : BSM_TYPE_ANY;
  const bsm_dtype dtype = kind == BSM_TYPE_INT     ? BSM_DTYPE_INT64
                          : kind == BSM_TYPE_FLOAT ? BSM_DTYPE_DOUBLE
                          : kind == BSM_TYPE_BOOL  ? BSM_DTYPE_BOOL
                                                   : BSM_DTYPE_UNDEFINED;
  const bsm_dims scalar = {0};
  const bsm_schema *schema;
  bsm_node *node;
  if (dtype == BSM_DTYPE_UNDEFINED) return BSM_OK;
  BSM_TRY(bsm_schema_table_find(graph->cx->schemas,
                                kind == BSM_TYPE_BOOL
                                    ? BSM_STR("prim::NumToTensor.bool")
                                    : BSM_STR("prim::NumToTensor.Scalar"),
                                &schema));
  if (!schema) return BSM_FAIL(BSM_INTERNAL, "no schema of prim::NumToTensor");
  BSM_TRY(bsm_node_create_schema(graph, schema, &node));
  BSM_TRY(bsm_node_add_input(node, *value));
  bsm_node_append(graph->block, node);
  *value = bsm_node_out(node, 0);
  (*value)->type = bsm_type_tensor(graph->cx->types, dtype, scalar);
  BSM_TRY_ALLOC((*value)->type);
  return BSM_OK;
}

/* A constant of the result that is a tensor or a number becomes a constant of
 * the graph; *value stays NULL for others. */
static bsm_status constant_output(bsm_graph *graph, const bsm_ivalue *constant,
                                  bsm_value **value) {
  bsm_tensor *tensor;
  bsm_node *node;
  BSM_TRY(number_tensor(graph->cx->arena, constant, &tensor));
  if (!tensor) return BSM_OK;
  const bsm_type *type =
      bsm_type_tensor(graph->cx->types, tensor->dtype, tensor->sizes);
  BSM_TRY_ALLOC(type);
  BSM_TRY(bsm_node_create_constant(graph, bsm_iv_tensor(tensor), type, &node));
  bsm_node_append(graph->block, node);
  *value = bsm_node_out(node, 0);
  return BSM_OK;
}

/* A Scalar that no pass has made a tensor: its dtype is known only in the run.
 */
static bool is_open_number(const bsm_lowered *lowered,
                           const bsm_lowered_leaf *leaf) {
  if (!leaf->is_output || leaf->is_value) return false;
  const bsm_node *returns = lowered->graph->block->returns;
  const bsm_type *type = bsm_node_in(returns, leaf->output)->type;
  return type && type->kind == BSM_TYPE_NUMBER;
}

/* Replaces the graph's outputs by one for each leaf of the result, in order;
 * leaves that are constants become constants of the graph. Values that are
 * known only in the run come after all tensors and numbers. */
static bsm_status set_outputs(bsm_lowered *lowered) {
  bsm_graph *graph = lowered->graph;
  bsm_node *returns = graph->block->returns;
  const size_t old_count = returns->inputs.len, n = lowered->leaf_count;
  bsm_value **values = BSM_NEW_ARRAY(graph->cx->arena, bsm_value *, n + 1);
  BSM_TRY_ALLOC(values);
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    bsm_lowered_leaf *leaf = &lowered->leaves[i];
    leaf->is_value = leaf->is_value || is_open_number(lowered, leaf);
  }
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < n; i++) {
      bsm_lowered_leaf *leaf = &lowered->leaves[i];
      if (leaf->is_value != (pass == 1)) continue;
      values[count] = NULL;
      if (leaf->is_output) {
        values[count] = bsm_node_in(returns, leaf->output);
        if (!leaf->is_value) BSM_TRY(as_tensor(graph, &values[count]));
      } else {
        BSM_TRY(constant_output(graph, &leaf->constant, &values[count]));
        if (!values[count]) continue;
      }
      leaf->is_output = true;
      leaf->output = count++;
    }
  }
  if (!count) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "the result holds no tensor and no number: there is "
                    "nothing for an engine to compute");
  }
  for (size_t i = old_count; i-- > 0;) bsm_node_remove_input(returns, i);
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(bsm_block_add_output(graph->block, values[i]));
  }
  return BSM_OK;
}

/* Whether a value contains a number that is given when running. */
static bool has_run_time_number(const bsm_structure *node) {
  const bsm_structure_kind kind = node->info.kind;
  if (node->info.binding != BSM_NO_BINDING && kind != BSM_STRUCTURE_TENSOR) {
    return true;
  }
  for (size_t i = 0; i < node->info.child_count; i++) {
    if (has_run_time_number(&node->children[i])) return true;
  }
  return false;
}

/* Forgets files and lines; the paths of submodules stay. */
static void strip_sources(bsm_block *block, size_t depth) {
  for (bsm_node *n = block->first; n && depth < 256; n = n->next) {
    n->source.python_file = n->source.code_file = NULL;
    n->source.python_line = n->source.code_line = 0;
    for (size_t i = 0; i < n->blocks.len; i++) {
      strip_sources(n->blocks.items[i], depth + 1);
    }
  }
}

bsm_status bsm_lower_method(bsm_module *module,
                            const bsm_compile_options *options,
                            const bsm_target *target, bsm_lowered *out,
                            bsm_method_io *io) {
  bsm_method method;
  bsm_lowering_input *inputs;
  bsm_method_io own;
  if (!io) io = &own;
  BSM_TRY(bsm_module_find_method(module, options->method, &method));
  BSM_TRY(bsm_method_inputs(module, &method, options->inputs,
                            options->input_count, &module->arena, &inputs));
  BSM_TRY(bsm_describe_inputs(&module->arena, &method, inputs, io));
  bsm_compile_options dump = *options;
  const bsm_lowering_options lowering = {
      .aten = module->aten,
      .bounds_sizes = target && target->host != target,
      .after_pass = options->dump ? dump_graph : NULL,
      .user = &dump};
  bsm_status status = bsm_lower(method.graph, method.root, inputs,
                                method.parameter_count, &lowering, out);
  if (status && has_run_time_number(io->inputs)) {
    return bsm_status_note(status,
                           "with a number that is given when running: it may "
                           "have to be fixed when compiling");
  }
  BSM_TRY(status);
  BSM_TRY(set_outputs(out));
  BSM_TRY(bsm_describe_outputs(&module->arena, out, io));
  out->input_names = io->input_names;
  if (options->reference & BSM_REFERENCE_DOUBLE) {
    BSM_TRY(bsm_widen_floats(out->graph, module->aten));
  }
  if (options->strip_sources) strip_sources(out->graph->block, 0);
  return bsm_graph_verify(out->graph);
}
