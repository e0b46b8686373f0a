/* SPDX-License-Identifier: Apache-2.0 */
/* torch.autocast("cpu"): the dtypes that operators of its region compute in.
 *
 * A program has the operators as the model called them; PyTorch casts their
 * arguments when it runs them, some to the region's dtype, some to float, some
 * to the widest of them. Which ones changes from version to version; but the
 * file says the dtype of every result, and that tells: where it is not what the
 * arguments would give, they were cast to it. */
#include "exported/import_node.h"

/* PyTorch casts floating-point tensors but for double. */
static bool is_cast(bsm_dtype dtype) {
  return bsm_dtype_is_floating(dtype) && dtype != BSM_DTYPE_DOUBLE;
}

/* What the arguments of a call promote to. */
typedef struct operands {
  bsm_dtype dtype;  /* of those of rank 1 and more; UNDEFINED: there is none */
  bsm_dtype scalar; /* of those of rank 0, which do not promote others */
} operands;

static void add_operand(const bsm_import_scope *scope, const char *name,
                        operands *out) {
  const bsm_exported_meta *meta =
      name ? bsm_exported_tensor(scope->graph, name) : NULL;
  if (!meta || !is_cast(meta->dtype)) return;
  bsm_dtype *dtype = meta->rank == 0 ? &out->scalar : &out->dtype;
  *dtype = *dtype == BSM_DTYPE_UNDEFINED
               ? meta->dtype
               : bsm_promote_types(*dtype, meta->dtype);
}

static void add_argument(const bsm_import_scope *scope,
                         const bsm_exported_arg *arg, operands *out) {
  switch (arg->tag) {
    case BSM_EXPORTED_TENSOR:
    case BSM_EXPORTED_OPTIONAL_TENSOR:
      add_operand(scope, arg->u.s, out);
      break;
    case BSM_EXPORTED_TENSORS:
    case BSM_EXPORTED_OPTIONAL_TENSORS:
      for (size_t i = 0; i < arg->u.strings.len; i++) {
        add_operand(scope, arg->u.strings.items[i], out);
      }
      break;
    default:
      break;
  }
}

/* Norms take parameters that are wider than their input, and give its dtype. */
static bool mixes_dtypes(const char *qualified) {
  const char *end = strstr(qualified, "_norm");
  return end && strncmp(qualified, "aten::linalg_", 13) != 0;
}

/* A call that is told its dtype is not cast. */
static bool names_dtype(const char *qualified,
                        const bsm_exported_named_arg *args, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (args[i].arg.tag == BSM_EXPORTED_SCALAR_TYPE) return true;
  }
  return strncmp(qualified, "aten::to.", 9) == 0 ||
         strcmp(qualified, "aten::type_as") == 0 ||
         strcmp(qualified, "aten::copy_") == 0;
}

bsm_dtype bsm_xi_autocast_dtype(const bsm_import_scope *scope,
                                const char *qualified,
                                const bsm_exported_named_arg *args,
                                size_t count, bsm_dtype result) {
  operands found = {BSM_DTYPE_UNDEFINED, BSM_DTYPE_UNDEFINED};
  if (!is_cast(result) || names_dtype(qualified, args, count)) {
    return BSM_DTYPE_UNDEFINED;
  }
  for (size_t i = 0; i < count; i++) add_argument(scope, &args[i].arg, &found);
  const bsm_dtype natural =
      found.dtype != BSM_DTYPE_UNDEFINED ? found.dtype : found.scalar;
  if (natural == BSM_DTYPE_UNDEFINED || natural == result) {
    return BSM_DTYPE_UNDEFINED;
  }
  const bool narrows = bsm_promote_types(natural, result) == natural;
  return narrows && mixes_dtypes(qualified) ? BSM_DTYPE_UNDEFINED : result;
}

static bsm_status cast_tensor(bsm_importer *im, const bsm_import_scope *scope,
                              const char *name, bsm_dtype dtype,
                              bsm_value **value) {
  const bsm_exported_meta *meta =
      name ? bsm_exported_tensor(scope->graph, name) : NULL;
  bsm_value *args[2] = {*value, NULL};
  if (!meta || !is_cast(meta->dtype) || meta->dtype == dtype) return BSM_OK;
  BSM_TRY(bsm_xi_int(im, dtype, &args[1]));
  return bsm_xi_op(im, "aten::to.dtype", args, 2, value);
}

bsm_status bsm_xi_autocast(bsm_importer *im, const bsm_import_scope *scope,
                           const bsm_exported_arg *arg, bsm_dtype dtype,
                           bsm_value **value) {
  if (arg->tag == BSM_EXPORTED_TENSOR ||
      arg->tag == BSM_EXPORTED_OPTIONAL_TENSOR) {
    return cast_tensor(im, scope, arg->u.s, dtype, value);
  }
  if ((arg->tag != BSM_EXPORTED_TENSORS &&
       arg->tag != BSM_EXPORTED_OPTIONAL_TENSORS) ||
      (*value)->type->kind != BSM_TYPE_LIST) {
    return BSM_OK;
  }
  bsm_xi_values items = {0};
  BSM_TRY(bsm_xi_items(im, scope, arg, &items));
  for (size_t i = 0; i < items.len && i < arg->u.strings.len; i++) {
    BSM_TRY(cast_tensor(im, scope, arg->u.strings.items[i], dtype,
                        &items.items[i]));
  }
  return bsm_xi_list(im, (*value)->type->args[0], items.items, items.len,
                     value);
}
