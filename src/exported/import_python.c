/* SPDX-License-Identifier: Apache-2.0 */
/* Python's functions on symbolic numbers: _operator.mul, math.floor,
 * torch.sym_max, round. */
#include "exported/import_node.h"

typedef bsm_status (*function)(bsm_importer *im, bsm_value *const *args,
                               size_t count, bsm_value **out);

/* ---- those that are no single operator ---- */

static bool are_ints(bsm_value *const *args, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (args[i]->type->kind != BSM_TYPE_INT) return false;
  }
  return true;
}

static bsm_status import_pow(bsm_importer *im, bsm_value *const *args,
                             size_t count, bsm_value **out) {
  return are_ints(args, count)
             ? bsm_xi_op(im, "aten::pow.int_to_int", args, count, out)
             : bsm_xi_call(im, "aten::pow", args, count, out);
}

static bsm_status import_same(bsm_importer *im, bsm_value *const *args,
                              size_t count, bsm_value **out) {
  (void)im;
  (void)count;
  *out = args[0];
  return BSM_OK;
}

/* floor, ceil and trunc give ints, which those of ints are already. */
static bsm_status import_floor(bsm_importer *im, bsm_value *const *args,
                               size_t count, bsm_value **out) {
  return are_ints(args, count) ? import_same(im, args, count, out)
                               : bsm_xi_call(im, "aten::floor", args, 1, out);
}

static bsm_status import_ceil(bsm_importer *im, bsm_value *const *args,
                              size_t count, bsm_value **out) {
  return are_ints(args, count) ? import_same(im, args, count, out)
                               : bsm_xi_call(im, "aten::ceil", args, 1, out);
}

static bsm_status import_int(bsm_importer *im, bsm_value *const *args,
                             size_t count, bsm_value **out) {
  (void)count;
  return bsm_xi_as_kind(im, args[0], BSM_SYM_KIND_INT, out);
}

static bsm_status import_float(bsm_importer *im, bsm_value *const *args,
                               size_t count, bsm_value **out) {
  (void)count;
  return bsm_xi_as_kind(im, args[0], BSM_SYM_KIND_FLOAT, out);
}

static bsm_status import_truth(bsm_importer *im, bsm_value *const *args,
                               size_t count, bsm_value **out) {
  (void)count;
  return bsm_xi_truth(im, args[0], out);
}

static bsm_status import_not(bsm_importer *im, bsm_value *const *args,
                             size_t count, bsm_value **out) {
  bsm_value *truth;
  (void)count;
  BSM_TRY(bsm_xi_truth(im, args[0], &truth));
  return bsm_xi_call(im, "aten::__not__", &truth, 1, out);
}

/* round(x) is an int; round(x, n) a double, for which there is no operator:
 * x * 10^n is rounded and taken back. */
static bsm_status import_round(bsm_importer *im, bsm_value *const *args,
                               size_t count, bsm_value **out) {
  if (count == 1) {
    if (are_ints(args, 1)) return import_same(im, args, 1, out);
    BSM_TRY(bsm_xi_call(im, "aten::round", args, 1, out));
    return bsm_xi_as_kind(im, *out, BSM_SYM_KIND_INT, out);
  }
  bsm_value *pair[2];
  BSM_TRY(bsm_xi_constant(im, bsm_iv_double(10), NULL, &pair[0]));
  pair[1] = args[1];
  bsm_value *scale, *scaled[2];
  BSM_TRY(bsm_xi_call(im, "aten::pow", pair, 2, &scale));
  scaled[0] = args[0];
  scaled[1] = scale;
  BSM_TRY(bsm_xi_call(im, "aten::mul", scaled, 2, &scaled[0]));
  BSM_TRY(bsm_xi_call(im, "aten::round", scaled, 1, &scaled[0]));
  return bsm_xi_call(im, "aten::div", scaled, 2, out);
}

static bsm_status import_ite(bsm_importer *im, bsm_value *const *args,
                             size_t count, bsm_value **out) {
  bsm_node *node;
  bsm_value *condition;
  (void)count;
  const bsm_type *type =
      bsm_type_unify(im->cx->types, args[1]->type, args[2]->type);
  if (!type) {
    return BSM_FAIL(BSM_UNSUPPORTED, "sym_ite of values of two types");
  }
  BSM_TRY(bsm_xi_truth(im, args[0], &condition));
  BSM_TRY(bsm_xi_node(im, "prim::If", &condition, 1, type, &node));
  for (size_t i = 0; i < 2; i++) {
    bsm_block *block;
    BSM_TRY(bsm_node_add_block(node, &block));
    BSM_TRY(bsm_block_add_output(block, args[1 + i]));
  }
  *out = bsm_node_out(node, 0);
  return BSM_OK;
}

/* Any number of operands, which may come as one list. */
static bsm_status fold(bsm_importer *im, const char *name,
                       bsm_value *const *args, size_t count, bsm_value **out) {
  if (!count) return BSM_FAIL(BSM_CORRUPT, "%s of nothing", name);
  *out = args[0];
  for (size_t i = 1; i < count; i++) {
    bsm_value *const pair[2] = {*out, args[i]};
    BSM_TRY(bsm_xi_call(im, name, pair, 2, out));
  }
  return BSM_OK;
}

static bsm_status import_sum(bsm_importer *im, bsm_value *const *args,
                             size_t count, bsm_value **out) {
  return count ? fold(im, "aten::add", args, count, out)
               : bsm_xi_int(im, 0, out);
}

static bsm_status import_max(bsm_importer *im, bsm_value *const *args,
                             size_t count, bsm_value **out) {
  return fold(im, "prim::max", args, count, out);
}

static bsm_status import_min(bsm_importer *im, bsm_value *const *args,
                             size_t count, bsm_value **out) {
  return fold(im, "prim::min", args, count, out);
}

/* ---- all of them ---- */

typedef struct row {
  const char *name;   /* behind the module's */
  size_t least, most; /* operands */
  const char *op;     /* the operator, or */
  function import;
} row;

enum { MANY = 1000000 };

static const row rows[] = {
    {"add", 2, 2, "aten::add", NULL},
    {"iadd", 2, 2, "aten::add", NULL},
    {"sub", 2, 2, "aten::sub", NULL},
    {"mul", 2, 2, "aten::mul", NULL},
    {"floordiv", 2, 2, "aten::floordiv", NULL},
    {"truediv", 2, 2, "aten::div", NULL},
    {"mod", 2, 2, "aten::remainder", NULL},
    {"pow", 2, 2, NULL, import_pow},
    {"neg", 1, 1, "aten::neg", NULL},
    {"pos", 1, 1, NULL, import_same},
    {"abs", 1, 1, "prim::abs", NULL},
    {"eq", 2, 2, "aten::eq", NULL},
    {"ne", 2, 2, "aten::ne", NULL},
    {"lt", 2, 2, "aten::lt", NULL},
    {"le", 2, 2, "aten::le", NULL},
    {"gt", 2, 2, "aten::gt", NULL},
    {"ge", 2, 2, "aten::ge", NULL},
    {"and_", 2, 2, "aten::__and__", NULL},
    {"or_", 2, 2, "aten::__or__", NULL},
    {"xor", 2, 2, "aten::__xor__", NULL},
    {"lshift", 2, 2, "aten::__lshift__", NULL},
    {"rshift", 2, 2, "aten::__rshift__", NULL},
    {"not_", 1, 1, NULL, import_not},
    {"sym_not", 1, 1, NULL, import_not},
    {"truth", 1, 1, NULL, import_truth},
    {"floor", 1, 1, NULL, import_floor},
    {"ceil", 1, 1, NULL, import_ceil},
    {"trunc", 1, 1, NULL, import_int},
    {"int", 1, 1, NULL, import_int},
    {"sym_int", 1, 1, NULL, import_int},
    {"float", 1, 1, NULL, import_float},
    {"sym_float", 1, 1, NULL, import_float},
    {"round", 1, 2, NULL, import_round},
    {"max", 1, MANY, NULL, import_max},
    {"sym_max", 1, MANY, NULL, import_max},
    {"min", 1, MANY, NULL, import_min},
    {"sym_min", 1, MANY, NULL, import_min},
    {"sym_sum", 0, MANY, NULL, import_sum},
    {"sum", 0, MANY, NULL, import_sum},
    {"sym_ite", 3, 3, NULL, import_ite},
    {"sqrt", 1, 1, "aten::sqrt", NULL},
    {"exp", 1, 1, "aten::exp", NULL},
    {"log", 1, 2, "aten::log", NULL},
    {"log2", 1, 1, "aten::log2", NULL},
    {"log10", 1, 1, "aten::log10", NULL},
    {"sin", 1, 1, "aten::sin", NULL},
    {"cos", 1, 1, "aten::cos", NULL},
    {"tan", 1, 1, "aten::tan", NULL},
    {"asin", 1, 1, "aten::asin", NULL},
    {"acos", 1, 1, "aten::acos", NULL},
    {"atan", 1, 1, "aten::atan", NULL},
    {"sinh", 1, 1, "aten::sinh", NULL},
    {"cosh", 1, 1, "aten::cosh", NULL},
    {"tanh", 1, 1, "aten::tanh", NULL},
};

/* The function's name behind one of the modules; NULL: it is none. */
static const char *function_name(const char *target) {
  static const char *const modules[] = {"_operator.", "operator.",   "math.",
                                        "builtins.",  "torch._sym_", "torch."};
  for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
    const size_t length = strlen(modules[i]);
    if (strncmp(target, modules[i], length) == 0) {
      const char *name = target + length;
      return strchr(name, '.') ? NULL : name;
    }
  }
  return NULL;
}

static const row *find_row(const char *name) {
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  }
  return NULL;
}

/* x[i] of a list, a tuple or a tensor; of a list with one name, its items are
 * bound already. */
static bsm_status import_getitem(bsm_importer *im, bsm_import_scope *scope,
                                 const bsm_exported_node *node) {
  bsm_value *args[2], *out;
  if (node->input_count != 2 || node->output_count != 1) {
    return BSM_FAIL(BSM_CORRUPT, "getitem of %zu operands", node->input_count);
  }
  for (size_t i = 0; i < 2; i++) {
    BSM_TRY(bsm_xi_argument(im, scope, &node->inputs[i].arg, NULL, &args[i]));
  }
  if (args[0]->type->kind == BSM_TYPE_TUPLE) {
    const int64_t at = node->inputs[1].arg.u.i;
    if (node->inputs[1].arg.tag != BSM_EXPORTED_INT || at < 0 ||
        (size_t)at >= args[0]->type->arg_count) {
      return BSM_FAIL(BSM_CORRUPT, "getitem of a tuple by no item's number");
    }
    bsm_node *made;
    BSM_TRY(bsm_xi_node(im, "prim::TupleIndex", args, 2,
                        args[0]->type->args[at], &made));
    out = bsm_node_out(made, 0);
  } else if (args[0]->type->kind == BSM_TYPE_TENSOR) {
    bsm_value *select[3] = {args[0], NULL, args[1]};
    BSM_TRY(bsm_xi_int(im, 0, &select[1]));
    BSM_TRY(bsm_xi_op(im, "aten::select.int", select, 3, &out));
  } else {
    BSM_TRY(bsm_xi_call(im, "aten::__getitem__", args, 2, &out));
  }
  return bsm_xi_bind_output(im, scope, &node->outputs[0], out);
}

bsm_status bsm_xi_python(bsm_importer *im, bsm_import_scope *scope,
                         const bsm_exported_node *node, bool *done) {
  const char *name = function_name(node->target);
  const row *found = name ? find_row(name) : NULL;
  bsm_xi_values args = {0};
  bsm_value *out;
  *done = true;
  if (name && strcmp(name, "getitem") == 0) {
    return import_getitem(im, scope, node);
  }
  *done = found != NULL;
  if (!found) return BSM_OK;
  for (size_t i = 0; i < node->input_count; i++) {
    BSM_TRY(bsm_xi_items(im, scope, &node->inputs[i].arg, &args));
  }
  if (args.len < found->least || args.len > found->most) {
    return BSM_FAIL(BSM_CORRUPT, "%s of %zu operands", node->target, args.len);
  }
  BSM_TRY(found->op ? bsm_xi_call(im, found->op, args.items, args.len, &out)
                    : found->import(im, args.items, args.len, &out));
  if (node->output_count != 1) {
    return BSM_FAIL(BSM_CORRUPT, "%s gives one result, the file has %zu",
                    node->target, node->output_count);
  }
  return bsm_xi_bind_output(im, scope, &node->outputs[0], out);
}
