/* SPDX-License-Identifier: Apache-2.0 */
/* Batch norms in training mode normalise by the batch, which is an op without
 * effects, and move the running statistics, which are ops on the statistics and
 * copies into them. Nobody reads those in most models, and then nothing of them
 * is left. */
#include "lowering/specialize/ops/training_norms.h"

#include "lowering/specialize/values/interpreter.h"
#include "lowering/specialize/values/schema_query.h"

enum { INPUT, WEIGHT, BIAS, MEAN, VAR, TRAINING, MOMENTUM, EPS, CUDNN, COUNT };

/* (input, weight, bias, running_mean, running_var, training, momentum, eps),
 * and for aten::batch_norm whether cuDNN is allowed. */
static bool is_batch_norm(const bsm_schema *schema, size_t n) {
  static const char *const names[] = {"aten::batch_norm",
                                      "aten::native_batch_norm",
                                      "aten::_native_batch_norm_legit", NULL};
  return (n == CUDNN || n == COUNT) && bsm_name_in(schema->qualified, names);
}

static bool updates(const bsm_ivalue *args) {
  return args[TRAINING].tag == BSM_IVALUE_BOOL && args[TRAINING].u.b &&
         args[MEAN].tag != BSM_IVALUE_NONE && args[VAR].tag != BSM_IVALUE_NONE;
}

/* The statistics after this step. */
static bsm_status update(bsm_spec *s, const bsm_ivalue *args) {
  static const char name[] = "aten::_native_batch_norm_legit_functional";
  const bsm_schema *schema = NULL;
  bsm_ivalue own[CUDNN], outs[5] = {{0}}, ignored;
  memcpy(own, args, sizeof(own));
  BSM_TRY(bsm_schema_table_find(s->cx->schemas, BSM_STR(name), &schema));
  BSM_TRY(bsm_spec_op(s, schema, own, CUDNN, outs, 5));
  for (int i = 0; i < 2; i++) {
    const bsm_ivalue copy[3] = {args[MEAN + i], outs[3 + i],
                                bsm_iv_bool(false)};
    BSM_TRY(bsm_spec_op_named(s, "aten::copy_", copy, 3, &ignored));
  }
  return BSM_OK;
}

bsm_status bsm_spec_training_norm(bsm_spec *s, const bsm_schema *schema,
                                  const bsm_ivalue *args, size_t n,
                                  bsm_ivalue *outs, size_t n_outs, bool *done) {
  *done = is_batch_norm(schema, n) && updates(args);
  if (!*done) return BSM_OK;
  if (!s->ops->warned_of_training) {
    s->ops->warned_of_training = true;
    bsm_log(s->logger, BSM_LOG_LEVEL_WARNING,
            "%s at %s is in training mode and normalises by the batch: call "
            ".eval() on the model before saving it if that is not meant",
            schema->name, bsm_spec_where(s));
  }
  bsm_ivalue own[COUNT];
  memcpy(own, args, n * sizeof(*args));
  own[MEAN] = own[VAR] = bsm_iv_none();
  if (strcmp(schema->name, "aten::_native_batch_norm_legit") == 0) {
    BSM_TRY(bsm_schema_table_find(s->cx->schemas,
                                  BSM_STR("aten::native_batch_norm"), &schema));
  }
  BSM_TRY(bsm_spec_op(s, schema, own, n, outs, n_outs));
  return update(s, args);
}
