/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of operators. The file names the overload and every argument that is
 * given; the rest are the schema's defaults. */
#include "exported/import_node.h"

bsm_status bsm_xi_operator_name(bsm_importer *im, const char *target,
                                const char **out) {
  static const char prefix[] = "torch.ops.";
  *out = NULL;
  if (strncmp(target, prefix, sizeof(prefix) - 1) != 0) return BSM_OK;
  const char *space = target + sizeof(prefix) - 1;
  const char *dot = strchr(space, '.');
  if (!dot || dot == space || !dot[1]) return BSM_OK;
  const char *overload = strrchr(dot + 1, '.');
  const size_t length =
      overload ? (size_t)(overload - dot - 1) : strlen(dot + 1);
  if (overload && strcmp(overload, ".default") == 0) overload = "";
  *out = bsm_arena_printf(im->arena, "%.*s::%.*s%s", (int)(dot - space), space,
                          (int)length, dot + 1, overload ? overload : "");
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

/* ---- the arguments of one schema ---- */

/* The formal that an argument is for; NULL: there is none. */
static const bsm_schema_arg *formal_of(const bsm_schema *schema,
                                       const bsm_exported_named_arg *arg,
                                       size_t position) {
  for (size_t i = 0; i < schema->arg_count && arg->name[0]; i++) {
    if (strcmp(schema->args[i].name, arg->name) == 0) return &schema->args[i];
  }
  return arg->kind != BSM_EXPORTED_KEYWORD && position < schema->arg_count &&
                 !schema->args[position].kwarg_only
             ? &schema->args[position]
             : NULL;
}

typedef struct call_args {
  bsm_match_arg *args;
  bsm_value **values;
  size_t count;
} call_args;

static bool takes_none(const bsm_type *type) {
  return type->kind == BSM_TYPE_OPTIONAL || type->kind == BSM_TYPE_NONE ||
         type->kind == BSM_TYPE_ANY || type->kind == BSM_TYPE_VAR;
}

static bool is_empty_list(const bsm_exported_arg *arg) {
  switch (arg->tag) {
    case BSM_EXPORTED_TENSORS:
    case BSM_EXPORTED_OPTIONAL_TENSORS:
    case BSM_EXPORTED_STRINGS:
      return !arg->u.strings.len;
    case BSM_EXPORTED_INTS:
      return !arg->u.ints.len;
    case BSM_EXPORTED_FLOATS:
      return !arg->u.floats.len;
    case BSM_EXPORTED_BOOLS:
      return !arg->u.bools.len;
    case BSM_EXPORTED_SYM_INTS:
      return !arg->u.syms.len;
    default:
      return false;
  }
}

/* Values for what the file gives. Positional arguments stay so only up to one
 * that is left to its default: from there on they go by name. `autocast`: what
 * tensors are cast to; UNDEFINED: they are not. */
static bsm_status gather(bsm_importer *im, const bsm_import_scope *scope,
                         const bsm_schema *schema,
                         const bsm_exported_named_arg *args, size_t count,
                         bsm_dtype autocast, call_args *out) {
  bool positional = true;
  out->args = BSM_NEW_ARRAY(im->arena, bsm_match_arg, count + 1);
  out->values = BSM_NEW_ARRAY(im->arena, bsm_value *, count + 1);
  BSM_TRY_ALLOC(out->args && out->values);
  for (size_t i = 0; i < count; i++) {
    const bsm_exported_named_arg *arg = &args[i];
    const bsm_schema_arg *formal = formal_of(schema, arg, i);
    if (!formal) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "argument %zu, \"%s\", which is %s: %s has none such", i,
                      arg->name, bsm_xi_tag_text(arg->arg.tag), schema->text);
    }
    positional =
        positional && formal == &schema->args[i] && !formal->kwarg_only;
    if (arg->arg.tag == BSM_EXPORTED_NONE && !takes_none(formal->type) &&
        formal->has_default) {
      positional = false;
      continue;
    }
    bsm_value *value;
    BSM_TRY_NOTE(bsm_xi_argument(im, scope, &arg->arg, formal->type, &value),
                 "in argument \"%s\"", formal->name);
    if (autocast != BSM_DTYPE_UNDEFINED) {
      BSM_TRY(bsm_xi_autocast(im, scope, &arg->arg, autocast, &value));
    }
    out->args[out->count] =
        (bsm_match_arg){.name = positional ? NULL : formal->name,
                        .type = value->type,
                        .empty_list = is_empty_list(&arg->arg)};
    out->values[out->count++] = value;
  }
  return BSM_OK;
}

/* A number where a tensor is asked for is one to PyTorch, which gives it the
 * dtype that the other operand suggests: what overloads for numbers do. */
static bool has_number_for_tensor(const bsm_schema *schema,
                                  const call_args *given) {
  for (size_t i = 0; i < given->count; i++) {
    const char *name = given->args[i].name;
    for (size_t k = 0; k < schema->arg_count; k++) {
      const bool same = name ? strcmp(name, schema->args[k].name) == 0 : k == i;
      if (!same) continue;
      const bsm_type *formal = schema->args[k].type;
      if (formal->kind == BSM_TYPE_OPTIONAL) formal = formal->args[0];
      if (formal->kind == BSM_TYPE_TENSOR &&
          bsm_xi_is_number(given->args[i].type)) {
        return true;
      }
    }
  }
  return false;
}

/* Whether the call reads a tensor as a number: another operator than meant. */
static bool reads_tensors(const bsm_schema_match *found) {
  for (size_t i = 0; i < found->input_count; i++) {
    const bsm_match_value *in = &found->inputs[i];
    if (in->op == BSM_MATCH_CALL && strstr(in->call, "Implicit")) return true;
  }
  return false;
}

/* Numbers become tensors of rank 0; those that make the result `dtype`, of it:
 * PyTorch's default for numbers is not that of its tensors. */
static bsm_status wrap_numbers(bsm_importer *im, const bsm_schema *schema,
                               call_args *given, bsm_dtype dtype) {
  for (size_t i = 0; i < given->count; i++) {
    const call_args one = {&given->args[i], &given->values[i], 1};
    const char *name = given->args[i].name;
    bsm_match_arg named = given->args[i];
    if (!name && i < schema->arg_count) named.name = schema->args[i].name;
    const call_args as_named = {&named, one.values, 1};
    if (!has_number_for_tensor(schema, &as_named)) continue;
    const bool truth = given->args[i].type->kind == BSM_TYPE_BOOL;
    BSM_TRY(bsm_xi_op(
        im, truth ? "prim::NumToTensor.bool" : "prim::NumToTensor.Scalar",
        &given->values[i], 1, &given->values[i]));
    if (given->args[i].type->kind == BSM_TYPE_FLOAT &&
        dtype == BSM_DTYPE_FLOAT) {
      bsm_value *cast[2] = {given->values[i], NULL};
      BSM_TRY(bsm_xi_int(im, dtype, &cast[1]));
      BSM_TRY(bsm_xi_op(im, "aten::to.dtype", cast, 2, &given->values[i]));
    }
    given->args[i].type = given->values[i]->type;
  }
  return BSM_OK;
}

static bsm_status match(bsm_importer *im, const bsm_schema *schema,
                        call_args *given, bsm_dtype dtype,
                        bsm_schema_match *out) {
  const bsm_match_call call = {im->cx->types, im->arena, given->args,
                               given->count, .truth_is_number = true};
  if (has_number_for_tensor(schema, given)) {
    bsm_status status = bsm_schema_match_name(&call, im->cx->schemas,
                                              bsm_str_of(schema->name), out);
    if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
    if (!status && !reads_tensors(out)) return BSM_OK;
    bsm_status_free(status);
    BSM_TRY(wrap_numbers(im, schema, given, dtype));
  }
  return bsm_schema_match_overloads(&call, &schema, 1, out);
}

/* ---- operators without a schema ---- */

/* An operator that nobody has declared gets a schema from its call, so that it
 * is refused with all others like it, or not at all when nothing needs it. */
static bsm_status declare(bsm_importer *im, const char *qualified,
                          const bsm_exported_named_arg *args, size_t count,
                          const bsm_exported_node *node,
                          const bsm_import_scope *scope,
                          const bsm_schema **out) {
  bsm_text text;
  bsm_text_init(&text, im->arena);
  bsm_text_printf(&text, "%s(", qualified);
  for (size_t i = 0; i < count; i++) {
    bsm_value *value;
    BSM_TRY(bsm_xi_argument(im, scope, &args[i].arg, NULL, &value));
    bsm_text_puts(&text, i ? ", " : "");
    if (value->type->kind == BSM_TYPE_NONE) {
      bsm_text_puts(&text, "Tensor?");
    } else {
      bsm_type_print(&text, value->type, BSM_TYPE_STYLE_IR);
    }
    bsm_text_printf(&text, " %s", args[i].name[0] ? args[i].name : "arg");
    if (!args[i].name[0]) bsm_text_printf(&text, "%zu", i);
  }
  bsm_text_puts(&text, ") -> (");
  for (size_t i = 0; node && i < node->output_count; i++) {
    const bsm_exported_tag tag = node->outputs[i].tag;
    if (tag == BSM_EXPORTED_NONE) continue;
    bsm_text_puts(&text, i ? ", " : "");
    bsm_text_puts(&text, tag == BSM_EXPORTED_TENSORS     ? "Tensor[]"
                         : tag == BSM_EXPORTED_SYM_INT   ? "int"
                         : tag == BSM_EXPORTED_SYM_FLOAT ? "float"
                         : tag == BSM_EXPORTED_SYM_BOOL  ? "bool"
                                                         : "Tensor");
  }
  bsm_text_puts(&text, ")");
  if (text.failed) return BSM_FAIL_OOM();
  BSM_TRY_ALLOC(
      bsm_strmap_set(im->arena, &im->undeclared, bsm_str_of(qualified), im));
  BSM_TRY(
      bsm_schema_table_add(im->cx->schemas, (bsm_str){text.data, text.len}));
  return bsm_schema_table_find(im->cx->schemas, bsm_str_of(qualified), out);
}

static bsm_dtype dtype_of_result(const bsm_import_scope *scope,
                                 const bsm_exported_node *node) {
  const bsm_exported_meta *meta =
      node && node->output_count && node->outputs[0].tag == BSM_EXPORTED_TENSOR
          ? bsm_exported_tensor(scope->graph, node->outputs[0].u.s)
          : NULL;
  return meta ? meta->dtype : BSM_DTYPE_UNDEFINED;
}

static bsm_status call_operator(bsm_importer *im, const bsm_import_scope *scope,
                                const char *qualified,
                                const bsm_exported_named_arg *args,
                                size_t count, const bsm_exported_node *node,
                                bsm_node **out) {
  const bsm_schema *schema;
  call_args given = {0};
  bsm_schema_match found;
  BSM_TRY(
      bsm_schema_table_find(im->cx->schemas, bsm_str_of(qualified), &schema));
  if (!schema) {
    BSM_TRY(declare(im, qualified, args, count, node, scope, &schema));
  }
  if (!schema) {
    return BSM_FAIL(BSM_UNSUPPORTED, "there is no operator %s", qualified);
  }
  const bsm_dtype result = dtype_of_result(scope, node);
  const bsm_dtype autocast =
      im->autocast
          ? bsm_xi_autocast_dtype(scope, qualified, args, count, result)
          : BSM_DTYPE_UNDEFINED;
  BSM_TRY(gather(im, scope, schema, args, count, autocast, &given));
  BSM_TRY(match(im, schema, &given, result, &found));
  BSM_TRY(bsm_schema_match_build(im->graph, &found, given.values, im->block,
                                 NULL, &im->source, out));
  if (!bsm_strmap_get(&im->undeclared, bsm_str_of(qualified))) return BSM_OK;
  BSM_TRY_ALLOC(bsm_vec_push(im->arena, &im->undeclared_calls, *out));
  return BSM_OK;
}

bsm_status bsm_xi_check_undeclared(const bsm_importer *im) {
  for (size_t i = 0; i < im->undeclared_calls.len; i++) {
    const bsm_node *node = im->undeclared_calls.items[i];
    bool used = false;
    for (size_t k = 0; k < node->outputs.len; k++) {
      used = used || bsm_node_out(node, k)->uses.len;
    }
    if (used) continue; /* refused where it is reached, with all its like */
    bsm_text place;
    bsm_text_init(&place, im->arena);
    bsm_source_print(&place, &node->source);
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "operator %s is not known, and nothing uses what it gives: "
                    "it may write to its arguments; a plug-in has to declare "
                    "it, at %s",
                    node->schema->qualified,
                    place.len ? place.data : "an unknown place");
  }
  return BSM_OK;
}

bsm_status bsm_xi_call_operator(bsm_importer *im, const bsm_import_scope *scope,
                                const char *qualified,
                                const bsm_exported_named_arg *args,
                                size_t count, bsm_node **out) {
  return call_operator(im, scope, qualified, args, count, NULL, out);
}

bsm_status bsm_xi_operator(bsm_importer *im, bsm_import_scope *scope,
                           const bsm_exported_node *node,
                           const char *qualified) {
  bsm_node *made;
  BSM_TRY(call_operator(im, scope, qualified, node->inputs, node->input_count,
                        node, &made));
  if (node->output_count > made->outputs.len &&
      !(node->output_count == 1 && node->outputs[0].tag == BSM_EXPORTED_NONE)) {
    return BSM_FAIL(BSM_CORRUPT, "%s gives %zu results, the file has %zu",
                    qualified, made->outputs.len, node->output_count);
  }
  for (size_t i = 0; i < node->output_count && i < made->outputs.len; i++) {
    BSM_TRY(bsm_xi_bind_output(im, scope, &node->outputs[i],
                               bsm_node_out(made, i)));
  }
  return BSM_OK;
}
