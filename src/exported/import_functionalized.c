/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that write to their arguments, as functional programs have them:
 * auto_functionalized(op, **arguments) gives what the operator gives, then the
 * new value of each argument that it writes to; auto_functionalized_v2 the new
 * values of `_all_bases`, of which such arguments are views. What is written to
 * is copied here, and the operator called as it is. */
#include <stdio.h>

#include "exported/import_node.h"

bsm_status bsm_xi_operator_argument(bsm_importer *im,
                                    const bsm_exported_node *node, size_t index,
                                    const char **out) {
  *out = NULL;
  if (index < node->input_count &&
      (node->inputs[index].arg.tag == BSM_EXPORTED_OPERATOR ||
       node->inputs[index].arg.tag == BSM_EXPORTED_STRING)) {
    const char *target = node->inputs[index].arg.u.s;
    if (strncmp(target, "torch.ops.", 10) != 0) {
      target = bsm_arena_printf(im->arena, "torch.ops.%s", target);
      BSM_TRY_ALLOC(target);
    }
    BSM_TRY(bsm_xi_operator_name(im, target, out));
  }
  return *out ? BSM_OK
              : BSM_FAIL(BSM_CORRUPT, "argument %zu of %s is no operator",
                         index, node->target);
}

/* The call that a node stands for. */
typedef struct written_call {
  bsm_importer *im;
  const bsm_import_scope *outer;
  const bsm_exported_node *node;
  const bsm_schema *schema;
  bsm_import_scope scope; /* of its arguments */
  bsm_exported_named_arg *args;
  size_t count;
  bsm_xi_values bases;   /* of the second form: copies */
  bsm_xi_values written; /* of the first: what is written to, in order */
} written_call;

static const bsm_exported_arg *find(const written_call *c, const char *format,
                                    const char *name) {
  char key[256];
  const int n = snprintf(key, sizeof(key), format, name);
  for (size_t i = 1;
       n > 0 && (size_t)n < sizeof(key) && i < c->node->input_count; i++) {
    if (strcmp(c->node->inputs[i].name, key) == 0)
      return &c->node->inputs[i].arg;
  }
  return NULL;
}

/* An argument that is `value`, under a name of its own. */
static bsm_status add_value(written_call *c, const char *name,
                            bsm_value *value) {
  bsm_exported_named_arg *arg = &c->args[c->count];
  const char *own = bsm_arena_printf(c->im->arena, "%s:%zu", name, c->count);
  BSM_TRY_ALLOC(own);
  *arg = (bsm_exported_named_arg){.name = name, .kind = BSM_EXPORTED_KEYWORD};
  arg->arg.tag = BSM_EXPORTED_TENSOR;
  arg->arg.u.s = own;
  c->count++;
  BSM_TRY_ALLOC(
      bsm_strmap_set(c->im->arena, &c->scope.values, bsm_str_of(own), value));
  return BSM_OK;
}

/* ---- views of bases ---- */

static bsm_status argument(written_call *c, const bsm_exported_arg *arg,
                           bsm_value **out) {
  return bsm_xi_argument(c->im, c->outer, arg, NULL, out);
}

/* What the written argument `name` is of its base. */
static bsm_status view_of_base(written_call *c, const char *name,
                               bsm_value *base, bsm_value **out) {
  const bsm_exported_arg *dim = find(c, "_%s_slice_dim", name);
  const bsm_exported_arg *size = find(c, "_%s_size", name);
  bsm_value *args[5] = {base};
  *out = base;
  if (dim) {
    const bsm_exported_arg *start = find(c, "_%s_slice_start", name);
    const bsm_exported_arg *end = find(c, "_%s_slice_end", name);
    BSM_TRY(argument(c, dim, &args[1]));
    BSM_TRY(start ? argument(c, start, &args[2])
                  : bsm_xi_none(c->im, &args[2]));
    BSM_TRY(end ? argument(c, end, &args[3]) : bsm_xi_none(c->im, &args[3]));
    return bsm_xi_op(c->im, "aten::slice.Tensor", args, 4, out);
  }
  if (size) {
    const bsm_exported_arg *stride = find(c, "_%s_stride", name);
    const bsm_exported_arg *offset = find(c, "_%s_storage_offset", name);
    if (!stride) return BSM_FAIL(BSM_CORRUPT, "_%s_size without stride", name);
    BSM_TRY(argument(c, size, &args[1]));
    BSM_TRY(argument(c, stride, &args[2]));
    BSM_TRY(offset ? argument(c, offset, &args[3])
                   : bsm_xi_none(c->im, &args[3]));
    return bsm_xi_op(c->im, "aten::as_strided", args, 4, out);
  }
  return BSM_OK;
}

static bsm_status copy_bases(written_call *c, const bsm_exported_arg *bases) {
  BSM_TRY(bsm_xi_items(c->im, c->outer, bases, &c->bases));
  for (size_t i = 0; i < c->bases.len; i++) {
    bsm_value **base = &c->bases.items[i];
    BSM_TRY(bsm_xi_call(c->im, "aten::clone", base, 1, base));
  }
  return BSM_OK;
}

/* The argument that is written to; *done false: the file has none. */
static bsm_status add_view(written_call *c, const char *name, bool *done) {
  const bsm_exported_arg *index = find(c, "_%s_base_index", name);
  bsm_value *value;
  *done = index != NULL;
  if (!index) return BSM_OK;
  if (index->tag == BSM_EXPORTED_NONE) {
    BSM_TRY(bsm_xi_none(c->im, &value));
    return add_value(c, name, value);
  }
  if (index->tag != BSM_EXPORTED_INT || index->u.i < 0 ||
      (size_t)index->u.i >= c->bases.len) {
    return BSM_FAIL(BSM_CORRUPT, "argument \"%s\" has no base", name);
  }
  BSM_TRY(view_of_base(c, name, c->bases.items[index->u.i], &value));
  return add_value(c, name, value);
}

/* ---- arguments ---- */

static bsm_status add_argument(written_call *c, const bsm_schema_arg *formal) {
  const bsm_exported_arg *given = find(c, "%s", formal->name);
  bsm_value *value;
  bool done = false;
  if (formal->is_write) BSM_TRY(add_view(c, formal->name, &done));
  if (done || !given) return BSM_OK;
  BSM_TRY(bsm_xi_argument(c->im, c->outer, given, formal->type, &value));
  if (formal->is_write) {
    if (value->type->kind == BSM_TYPE_TENSOR) {
      BSM_TRY(bsm_xi_call(c->im, "aten::clone", &value, 1, &value));
    }
    BSM_TRY_ALLOC(bsm_vec_push(c->im->arena, &c->written, value));
  }
  return add_value(c, formal->name, value);
}

bsm_status bsm_xi_functionalized(bsm_importer *im, bsm_import_scope *scope,
                                 const bsm_exported_node *node) {
  const char *name;
  written_call c = {.im = im, .outer = scope, .node = node};
  bsm_xi_values results = {0};
  bsm_node *made;
  size_t names = 0;
  BSM_TRY(bsm_xi_operator_argument(im, node, 0, &name));
  BSM_TRY(bsm_schema_table_find(im->cx->schemas, bsm_str_of(name), &c.schema));
  if (!c.schema) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "operator %s, which writes to its arguments, is not known: "
                    "a plug-in has to declare it",
                    name);
  }
  c.scope.graph = scope->graph;
  c.args =
      BSM_NEW_ARRAY(im->arena, bsm_exported_named_arg, c.schema->arg_count + 1);
  BSM_TRY_ALLOC(c.args);
  const bsm_exported_arg *bases = find(&c, "%s", "_all_bases");
  if (bases) BSM_TRY(copy_bases(&c, bases));
  for (size_t i = 0; i < c.schema->arg_count; i++) {
    BSM_TRY_NOTE(add_argument(&c, &c.schema->args[i]), "in argument \"%s\"",
                 c.schema->args[i].name);
  }
  BSM_TRY(bsm_xi_call_operator(im, &c.scope, name, c.args, c.count, &made));
  const bsm_xi_values *written = bases ? &c.bases : &c.written;
  for (size_t i = 0; i < node->output_count; i++) {
    const bsm_exported_arg *output = &node->outputs[i];
    names += output->tag == BSM_EXPORTED_TENSORS ? output->u.strings.len : 1;
  }
  /* None may stand for no result. */
  if (!made->outputs.len && names > written->len) {
    bsm_value *none;
    BSM_TRY(bsm_xi_none(im, &none));
    BSM_TRY_ALLOC(bsm_vec_push(im->arena, &results, none));
  }
  for (size_t i = 0; i < made->outputs.len; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(im->arena, &results, bsm_node_out(made, i)));
  }
  for (size_t i = 0; i < written->len; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(im->arena, &results, written->items[i]));
  }
  return bsm_xi_bind_outputs(im, scope, node, results.items, results.len);
}
