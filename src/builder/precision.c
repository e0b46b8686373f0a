/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which layer computes in which precision. */
#include "builder/precision.h"

#include <string.h>

#include "aten/tensor.h"
#include "builder/retype.h"

typedef struct decision {
  bsm_precision_policy *policy;
  const bsm_target *target;
  const bsm_logger *logger;
  bsm_retyping retyping;
  uint32_t had; /* precisions that the target has for at least one layer */
  size_t kept;  /* layers of float32 that stay in float32 */
  bool retyped;
} decision;

/* ---- rules ---- */

/* Whether `text` matches `pattern`: * stands for any characters, ? for one. */
static bool matches(const char *pattern, const char *text) {
  const char *star = NULL, *resume = NULL;
  while (*text) {
    if (*pattern == '*') {
      star = ++pattern;
      resume = text;
    } else if (*pattern == '?' || *pattern == *text) {
      pattern++;
      text++;
    } else if (star) {
      pattern = star;
      text = ++resume;
    } else {
      return false;
    }
  }
  while (*pattern == '*') pattern++;
  return !*pattern;
}

/* Whether a scope is the submodule at a path or inside of it. */
static bool is_inside(const char *scope, const char *path) {
  const size_t length = strlen(path);
  return !length || (strncmp(scope, path, length) == 0 &&
                     (!scope[length] || strchr("./", scope[length])));
}

static bool rule_matches(const bsm_precision_rule *rule,
                         const bsm_layer *layer) {
  if (rule->pattern) {
    return layer->name && matches(rule->pattern, layer->name);
  }
  for (size_t i = 0; i < rule->path_count; i++) {
    if (is_inside(layer->scope ? layer->scope : "", rule->paths[i])) {
      return true;
    }
  }
  return false;
}

static const bsm_precision_rule *last_rule(decision *d,
                                           const bsm_layer *layer) {
  const bsm_precision_rule *found = NULL;
  for (size_t i = 0; i < d->policy->rule_count; i++) {
    bsm_precision_rule *rule = &d->policy->rules[i];
    if (!rule_matches(rule, layer)) continue;
    rule->matched++;
    found = rule;
  }
  return found;
}

/* ---- decisions ---- */

static bsm_precision precision_of(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_FLOAT:
      return BSM_PRECISION_FP32;
    case BSM_DTYPE_HALF:
      return BSM_PRECISION_FP16;
    case BSM_DTYPE_BFLOAT16:
      return BSM_PRECISION_BF16;
    default:
      return BSM_PRECISION_NONE;
  }
}

/* The dtype of the floats that a layer reads; UNDEFINED: none. */
static bsm_dtype stored_dtype(const bsm_layer *layer) {
  for (size_t i = 0; i < layer->inputs.len; i++) {
    const bsm_dtype dtype = layer->inputs.items[i]->dtype;
    if (bsm_dtype_is_floating(dtype)) return dtype;
  }
  return BSM_DTYPE_UNDEFINED;
}

/* Kinds whose tensors can be cast around them: one result, of the dtype of the
 * inputs. */
static bool can_retype(const bsm_layer *layer) {
  switch (layer->kind) {
    case BSM_LAYER_CONVOLUTION:
    case BSM_LAYER_DECONVOLUTION:
    case BSM_LAYER_MATRIX_MULTIPLY:
    case BSM_LAYER_ACTIVATION:
    case BSM_LAYER_POOLING:
    case BSM_LAYER_SOFTMAX:
    case BSM_LAYER_SCALE:
    case BSM_LAYER_ELEMENT_WISE:
    case BSM_LAYER_UNARY:
    case BSM_LAYER_REDUCE:
    case BSM_LAYER_NORMALIZATION:
    case BSM_LAYER_PARAMETRIC_RELU:
    case BSM_LAYER_RESIZE:
      return layer->outputs.items[0]->dtype == stored_dtype(layer);
    default:
      return false;
  }
}

static uint32_t target_precisions(const bsm_target *target,
                                  const bsm_layer *layer) {
  return target->ops->precisions ? target->ops->precisions(target, layer)
                                 : BSM_PRECISION_NONE;
}

/* The precisions that the target has for the layer and that casts can give it.
 */
static uint32_t available(const bsm_target *target, const bsm_layer *layer) {
  uint32_t bits = target_precisions(target, layer);
  const uint32_t casts = BSM_PRECISION_FP16 | BSM_PRECISION_BF16;
  if (stored_dtype(layer) == BSM_DTYPE_FLOAT && !can_retype(layer)) {
    bits &= ~casts;
  }
  return bits;
}

bsm_precision bsm_layer_precision(const bsm_target *target,
                                  const bsm_layer *layer) {
  if (layer->precision) return layer->precision;
  const uint32_t bits = target_precisions(target, layer);
  const bsm_precision own = precision_of(stored_dtype(layer));
  return bits & own                  ? own
         : bits & BSM_PRECISION_FP32 ? BSM_PRECISION_FP32
                                     : BSM_PRECISION_NONE;
}

/* The fastest of some precisions. */
static bsm_precision fastest(uint32_t bits) {
  static const bsm_precision order[] = {BSM_PRECISION_FP8,  BSM_PRECISION_INT8,
                                        BSM_PRECISION_FP16, BSM_PRECISION_BF16,
                                        BSM_PRECISION_TF32, BSM_PRECISION_FP32};
  for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
    if (bits & order[i]) return order[i];
  }
  return BSM_PRECISION_NONE;
}

static bsm_status refuse(const decision *d, const bsm_precision_rule *rule,
                         const bsm_layer *layer) {
  const char *name = layer->name ? layer->name : "?";
  if (d->policy->obey) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "precision \"%s\": the target %s does not compute layer %s "
                    "(%s of %s) in %s",
                    rule->given, d->target->text, name,
                    bsm_layer_kind_name(layer->kind),
                    bsm_dtype_name(stored_dtype(layer)),
                    bsm_precision_name(rule->precision));
  }
  bsm_log(d->logger, BSM_LOG_LEVEL_WARNING,
          "precision \"%s\": the target %s does not compute layer %s (%s of "
          "%s) in %s; it is computed in %s",
          rule->given, d->target->text, name, bsm_layer_kind_name(layer->kind),
          bsm_dtype_name(stored_dtype(layer)),
          bsm_precision_name(rule->precision),
          bsm_precision_name(bsm_layer_precision(d->target, layer)));
  return BSM_OK;
}

/* The precision that a layer is changed to; NONE: it keeps that of its dtypes.
 */
static bsm_status decide(decision *d, const bsm_layer *layer,
                         bsm_precision *out) {
  *out = BSM_PRECISION_NONE;
  if (bsm_layer_precision(d->target, layer) == BSM_PRECISION_NONE) {
    return BSM_OK;
  }
  const uint32_t bits = available(d->target, layer);
  const bsm_precision_rule *rule = last_rule(d, layer);
  d->had |= bits;
  if (rule) {
    if (!(bits & rule->precision)) return refuse(d, rule, layer);
    *out = rule->precision;
    return BSM_OK;
  }
  if (stored_dtype(layer) != BSM_DTYPE_FLOAT) return BSM_OK;
  *out = fastest(bits & (d->policy->allowed | BSM_PRECISION_FP32));
  d->kept += *out == BSM_PRECISION_FP32;
  return BSM_OK;
}

static bsm_status apply(decision *d, bsm_layer *layer,
                        bsm_precision precision) {
  const bsm_dtype stored = stored_dtype(layer);
  layer->precision = precision;
  const bsm_dtype dtype = precision == BSM_PRECISION_FP16   ? BSM_DTYPE_HALF
                          : precision == BSM_PRECISION_BF16 ? BSM_DTYPE_BFLOAT16
                                                            : stored;
  if (dtype == stored || stored != BSM_DTYPE_FLOAT) {
    return bsm_retyping_keep(&d->retyping, layer);
  }
  d->retyped = true;
  return bsm_retype_layer(&d->retyping, layer, dtype);
}

/* Warns of precisions that are allowed but that the target has for no layer. */
static void warn(const decision *d) {
  for (uint32_t bit = 1; bit <= BSM_PRECISION_FP8; bit <<= 1) {
    if (!(d->policy->allowed & bit) || d->had & bit || !d->kept) continue;
    bsm_log(d->logger, BSM_LOG_LEVEL_WARNING,
            "precision %s is allowed, but the target %s computes no layer of "
            "this model in it: %zu layers are computed in fp32",
            bsm_precision_name((bsm_precision)bit), d->target->text, d->kept);
  }
}

static bsm_status decide_all(decision *d, bsm_network *net,
                             bsm_arena *scratch) {
  const size_t count = net->layers.len;
  BSM_TRY(bsm_retyping_start(&d->retyping, net, scratch));
  for (size_t i = 0; i < count; i++) {
    bsm_layer *layer = net->layers.items[i];
    bsm_precision precision = BSM_PRECISION_NONE;
    if (!layer->removed) BSM_TRY(decide(d, layer, &precision));
    BSM_TRY_NOTE(apply(d, layer, precision), "in layer %s",
                 layer->name ? layer->name : "?");
  }
  warn(d);
  return d->retyped ? bsm_retyping_finish(&d->retyping) : BSM_OK;
}

bsm_status bsm_decide_precision(bsm_precision_policy *policy,
                                const bsm_target *target, bsm_network *net,
                                const bsm_logger *logger) {
  if (!policy) return BSM_OK;
  decision d = {.policy = policy, .target = target, .logger = logger};
  bsm_arena scratch;
  bsm_arena_init(&scratch, net->arena->allocator);
  bsm_status status = decide_all(&d, net, &scratch);
  bsm_arena_destroy(&scratch);
  return bsm_status_note(status, "while deciding what layers compute in");
}
