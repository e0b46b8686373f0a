/* SPDX-License-Identifier: Apache-2.0 */
/* Assertions of exported programs become checks that raise their message,
 * operators on symbolic sizes those that TorchScript has, and what training
 * keeps of fake quantization is left out. */
#include <inttypes.h>

#include "exported/import_node.h"

/* The argument of that name, or at the position; NULL: left out. */
static const bsm_exported_arg *find_arg(const bsm_exported_node *node,
                                        const char *name, size_t position) {
  for (size_t i = 0; i < node->input_count; i++) {
    if (strcmp(node->inputs[i].name, name) == 0) return &node->inputs[i].arg;
  }
  return position < node->input_count && !node->inputs[position].name[0]
             ? &node->inputs[position].arg
             : NULL;
}

static const char *message_of(const bsm_exported_node *node, const char *name,
                              size_t position) {
  const bsm_exported_arg *arg = find_arg(node, name, position);
  return arg && arg->tag == BSM_EXPORTED_STRING ? arg->u.s
                                                : "an assertion failed";
}

static bsm_status first_value(bsm_importer *im, const bsm_import_scope *scope,
                              const bsm_exported_node *node, bsm_value **out) {
  if (!node->input_count) {
    return BSM_FAIL(BSM_CORRUPT, "%s has no argument", node->target);
  }
  return bsm_xi_argument(im, scope, &node->inputs[0].arg, NULL, out);
}

/* ---- assertions ---- */

/* _assert_async.msg(Tensor self, str assert_msg), _assert_scalar(Scalar self,
 * str assert_msg), and those with tokens, whose names say so. */
static bsm_status import_assert(bsm_importer *im, bsm_import_scope *scope,
                                const bsm_exported_node *node) {
  bsm_value *value, *holds;
  const bsm_exported_arg *arg = node->input_count ? &node->inputs[0].arg : NULL;
  if (arg && (arg->tag == BSM_EXPORTED_BOOL || arg->tag == BSM_EXPORTED_INT)) {
    const bool fine = arg->tag == BSM_EXPORTED_BOOL ? arg->u.b : arg->u.i != 0;
    if (fine) return BSM_OK;
  }
  BSM_TRY(first_value(im, scope, node, &value));
  BSM_TRY(bsm_xi_truth(im, value, &holds));
  return bsm_xi_check(im, holds, message_of(node, "assert_msg", 1));
}

static bsm_status import_bound(bsm_importer *im, bsm_value *value,
                               const char *op, int64_t bound) {
  bsm_value *args[2] = {value, NULL}, *holds;
  const char *message = bsm_arena_printf(
      im->arena, "a number that the model computes is not %s %" PRId64,
      strcmp(op, "aten::ge") == 0 ? "at least" : "at most", bound);
  BSM_TRY_ALLOC(message);
  BSM_TRY(bsm_xi_int(im, bound, &args[1]));
  BSM_TRY(bsm_xi_call(im, op, args, 2, &holds));
  return bsm_xi_check(im, holds, message);
}

/* sym_constrain_range(Scalar size, *, int? min, int? max): of a number that the
 * run tells; of others the file has made use of it already. */
static bsm_status import_range(bsm_importer *im, bsm_import_scope *scope,
                               const bsm_exported_node *node) {
  const bsm_exported_arg *min = find_arg(node, "min", 1);
  const bsm_exported_arg *max = find_arg(node, "max", 2);
  bsm_value *value;
  BSM_TRY(first_value(im, scope, node, &value));
  if (value->type->kind != BSM_TYPE_INT) return BSM_OK;
  if (min && min->tag == BSM_EXPORTED_INT) {
    BSM_TRY(import_bound(im, value, "aten::ge", min->u.i));
  }
  if (max && max->tag == BSM_EXPORTED_INT && max->u.i != INT64_MAX) {
    BSM_TRY(import_bound(im, value, "aten::le", max->u.i));
  }
  return BSM_OK;
}

/* What shapes and dtypes guarantee: nothing is left to do. */
static bsm_status import_nothing(bsm_importer *im, bsm_import_scope *scope,
                                 const bsm_exported_node *node) {
  (void)im;
  (void)scope;
  (void)node;
  return BSM_OK;
}

/* _functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token)
 * and the like give the token back. */
static bsm_status import_functional(bsm_importer *im, bsm_import_scope *scope,
                                    const bsm_exported_node *node) {
  const bsm_exported_arg *token = find_arg(node, "dep_token", SIZE_MAX);
  bsm_value *value;
  BSM_TRY(strstr(node->target, "assert") ? import_assert(im, scope, node)
                                         : import_range(im, scope, node));
  if (!token || node->output_count != 1) return BSM_OK;
  BSM_TRY(bsm_xi_argument(im, scope, token, NULL, &value));
  return bsm_xi_bind_output(im, scope, &node->outputs[0], value);
}

/* ---- quantization-aware training ---- */

/* fake_quantize_..._cachemask(self, scale, zero_point, [fake_quant_enabled,]
 * ...) -> (output, mask): decomposed programs call these, and nothing but
 * training reads the mask. */
static bsm_status import_fake_quantize(bsm_importer *im,
                                       bsm_import_scope *scope,
                                       const bsm_exported_node *node) {
  enum { SELF, SCALE, ZERO_POINT, ENABLED, COUNT };
  const bool channels = strstr(node->target, "per_channel") != NULL;
  const bool tensors = strstr(node->target, "tensor_qparams") != NULL;
  const size_t n = node->input_count;
  bsm_exported_named_arg *args =
      BSM_NEW_ARRAY(im->arena, bsm_exported_named_arg, n + 1);
  bsm_node *made;
  BSM_TRY_ALLOC(args);
  if (n < COUNT || !node->output_count) {
    return BSM_FAIL(BSM_CORRUPT, "%s has %zu arguments", node->target, n);
  }
  for (size_t i = 0, k = 0; i < n; i++) {
    if (!tensors || i != ENABLED) args[k++] = node->inputs[i];
  }
  BSM_TRY(bsm_xi_call_operator(
      im, scope,
      channels  ? "aten::fake_quantize_per_channel_affine"
      : tensors ? "aten::fake_quantize_per_tensor_affine.tensor_qparams"
                : "aten::fake_quantize_per_tensor_affine",
      args, tensors ? n - 1 : n, &made));
  bsm_value *in[3] = {NULL, bsm_node_out(made, 0), NULL}, *out = in[1];
  if (tensors) { /* a tensor tells whether it is done */
    bsm_value *enabled[2];
    BSM_TRY(bsm_xi_argument(im, scope, &node->inputs[ENABLED].arg, NULL,
                            &enabled[0]));
    BSM_TRY(bsm_xi_int(im, 0, &enabled[1]));
    BSM_TRY(bsm_xi_call(im, "aten::ne", enabled, 2, enabled));
    /* Of one element, but not of dims that the result would get. */
    BSM_TRY(bsm_xi_call(im, "aten::any", enabled, 1, &in[0]));
    BSM_TRY(first_value(im, scope, node, &in[2]));
    BSM_TRY(bsm_xi_call(im, "aten::where", in, 3, &out));
  }
  return bsm_xi_bind_output(im, scope, &node->outputs[0], out);
}

/* ---- other names ---- */

/* The same operator under TorchScript's name. */
static const char *other_name(const char *qualified) {
  static const char *const names[][2] = {
      {"aten::sym_size.int", "aten::size.int"},
      {"aten::sym_size", "aten::size"},
      {"aten::sym_numel", "aten::numel"},
      {"aten::sym_stride.int", "aten::stride.int"},
      {"aten::sym_stride", "aten::stride"},
      {"aten::sym_storage_offset", "aten::storage_offset"},
      {"aten::_local_scalar_dense", "aten::item"},
      /* Strides may be others than the exported program's. */
      {"aten::view", "aten::reshape"},
  };
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    if (strcmp(qualified, names[i][0]) == 0) return names[i][1];
  }
  return NULL;
}

typedef struct row {
  const char *name;
  bsm_status (*import)(bsm_importer *im, bsm_import_scope *scope,
                       const bsm_exported_node *node);
} row;

static const row rows[] = {
    {"aten::_assert_async", import_assert},
    {"aten::_assert_async.msg", import_assert},
    {"aten::_assert_scalar", import_assert},
    {"aten::_functional_assert_async.msg", import_functional},
    {"aten::_functional_assert_scalar", import_functional},
    {"aten::_functional_sym_constrain_range", import_functional},
    {"aten::_functional_sym_constrain_range_for_size", import_functional},
    {"aten::sym_constrain_range", import_range},
    {"aten::sym_constrain_range_for_size", import_range},
    {"aten::_assert_tensor_metadata", import_nothing},
    {"aten::fake_quantize_per_tensor_affine_cachemask", import_fake_quantize},
    {"aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
     import_fake_quantize},
    {"aten::fake_quantize_per_channel_affine_cachemask", import_fake_quantize},
};

bsm_status bsm_xi_special(bsm_importer *im, bsm_import_scope *scope,
                          const bsm_exported_node *node, const char *qualified,
                          bool *done) {
  *done = true;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (strcmp(qualified, rows[i].name) == 0) {
      return rows[i].import(im, scope, node);
    }
  }
  const char *other = other_name(qualified);
  *done = other != NULL;
  return other ? bsm_xi_operator(im, scope, node, other) : BSM_OK;
}
