/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which layer computes in which precision. */
#include "builder/precision.h"

#include <math.h>
#include <string.h>

#include "aten/tensor.h"
#include "builder/constants.h"
#include "builder/quantized_grid.h"
#include "builder/retype.h"

typedef struct decision {
  bsm_precision_policy *policy;
  const bsm_target *target;
  const bsm_logger *logger;
  bsm_retyping retyping;
  uint32_t had;    /* precisions that the target has for at least one layer */
  uint32_t slower; /* those that are slower for at least one layer */
  size_t kept;     /* layers of float32 that stay in float32 */
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

static const bsm_precision_rule *last_rule(bsm_precision_policy *policy,
                                           const bsm_layer *layer) {
  const bsm_precision_rule *found = NULL;
  for (size_t i = 0; i < policy->rule_count; i++) {
    bsm_precision_rule *rule = &policy->rules[i];
    if (!rule_matches(rule, layer)) continue;
    rule->matched++;
    found = rule;
  }
  return found;
}

bsm_precision bsm_precision_asked(bsm_precision_policy *policy,
                                  const bsm_layer *layer) {
  const bsm_precision_rule *rule = policy ? last_rule(policy, layer) : NULL;
  return rule ? rule->precision : BSM_PRECISION_NONE;
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
  if (bsm_stored_dtype(layer) == BSM_DTYPE_FLOAT && !bsm_can_retype(layer)) {
    bits &= ~casts;
  }
  return bits;
}

bsm_precision bsm_layer_precision(const bsm_target *target,
                                  const bsm_layer *layer) {
  if (layer->precision) return layer->precision;
  const uint32_t bits = target_precisions(target, layer);
  const bsm_precision own = precision_of(bsm_stored_dtype(layer));
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
    d->policy->disobeyed = true;
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "precision \"%s\": the target %s does not compute layer %s "
                    "(%s of %s) in %s",
                    rule->given, d->target->text, name,
                    bsm_layer_kind_name(layer->kind),
                    bsm_dtype_name(bsm_stored_dtype(layer)),
                    bsm_precision_name(rule->precision));
  }
  bsm_log(d->logger, BSM_LOG_LEVEL_WARNING,
          "precision \"%s\": the target %s does not compute layer %s (%s of "
          "%s) in %s; it is computed in %s",
          rule->given, d->target->text, name, bsm_layer_kind_name(layer->kind),
          bsm_dtype_name(bsm_stored_dtype(layer)),
          bsm_precision_name(rule->precision),
          bsm_precision_name(bsm_layer_precision(d->target, layer)));
  return BSM_OK;
}

/* ---- what float16 holds ----
 *
 * Made-up inputs are of another size than the user's, so that there is a
 * margin on both sides. */

#define SMALLEST_HALF 0x1p-14 /* with all bits */
#define MARGIN 16.0

bsm_status bsm_known_values_add(bsm_known_values *values, const bsm_plan *plan,
                                const double *greatest) {
  for (uint32_t i = 0; i < plan->tensor_count; i++) {
    const bsm_str name = bsm_str_of(plan->tensors[i].name);
    if (name.len == 0 || greatest[i] == 0) continue;
    const double *known = bsm_strmap_get(&values->greatest, name);
    if (known && *known >= greatest[i]) continue;
    double *kept = BSM_NEW(values->arena, double);
    const char *copy = bsm_arena_strdup(values->arena, name.data);
    BSM_TRY_ALLOC(kept && copy ? kept : NULL);
    *kept = greatest[i];
    BSM_TRY_ALLOC(
        bsm_strmap_set(values->arena, &values->greatest, bsm_str_of(copy), kept)
            ? kept
            : NULL);
  }
  return BSM_OK;
}

/* With factors[maps], of which each weight has one; NULL: none. */
static double greatest_weight(const bsm_weights *w, const double *factors,
                              int64_t maps) {
  double factor = factors ? 0 : 1;
  if (w->count == 0 || !bsm_dtype_is_floating(w->dtype)) return 0;
  for (int64_t i = 0; factors && i < maps; i++) {
    factor = fmax(factor, fabs(factors[i]));
  }
  return bsm_constant_greatest(w) * factor;
}

/* Of the weights that a product is packed with; false: they are as they are
 * stored, or it has none. */
static bool greatest_product(const bsm_layer *layer, double *most) {
  if (layer->kind == BSM_LAYER_CONVOLUTION) {
    const bsm_convolution_params *p = &layer->p.convolution;
    bsm_weights kernel = p->kernel;
    if (p->deferred.cast) kernel.dtype = p->deferred.held;
    *most = greatest_weight(&kernel, p->deferred.factor, p->out_maps);
    return true;
  }
  const double *factors = layer->kind == BSM_LAYER_MATRIX_MULTIPLY
                              ? layer->p.matrix_multiply.factor
                              : NULL;
  if (!factors) return false;
  const bsm_dims d = layer->outputs.items[0]->dims;
  *most = 0;
  for (size_t i = 1; i < layer->inputs.len; i++) {
    const bsm_layer *from = layer->inputs.items[i]->producer;
    if (from && from->kind == BSM_LAYER_CONSTANT) {
      *most = fmax(*most, greatest_weight(&from->p.constant.weights, factors,
                                          d.d[d.rank - 1]));
    }
  }
  return true;
}

/* The greatest magnitude of a tensor, and whether it is known. */
static bool find_greatest(const bsm_precision_policy *policy,
                          const bsm_itensor *t, double *out) {
  const bsm_layer *from = t->producer;
  if (from && from->kind == BSM_LAYER_CONSTANT) {
    *out = greatest_weight(&from->p.constant.weights, NULL, 0);
    return *out > 0;
  }
  const double *known =
      t->name ? bsm_strmap_get(&policy->values->greatest, bsm_str_of(t->name))
              : NULL;
  if (known) *out = *known;
  return known != NULL;
}

/* Why a layer should not read or write a tensor in float16; NULL: it may. */
static const char *why_not_half(double greatest) {
  return !(greatest * MARGIN <= BSM_LARGEST_HALF) ? "is too great"
         : greatest < SMALLEST_HALF * MARGIN      ? "is too small"
                                                  : NULL;
}

static bool fits_half(const decision *d, const bsm_layer *layer) {
  const size_t inputs = layer->inputs.len;
  const char *reason = NULL, *name = "";
  double most = 0;
  if (!d->policy->values) return true;
  for (size_t i = 0; !reason && i <= inputs; i++) {
    const bsm_itensor *t =
        i < inputs ? layer->inputs.items[i] : layer->outputs.items[0];
    if (t->dtype != BSM_DTYPE_FLOAT || !find_greatest(d->policy, t, &most)) {
      continue;
    }
    reason = why_not_half(most);
    name = t->name ? t->name : "";
  }
  if (!reason && greatest_product(layer, &most)) {
    name = "a weight";
    if (!(most <= BSM_LARGEST_HALF)) reason = "is too great";
  }
  if (!reason) return true;
  bsm_log(d->logger, BSM_LOG_LEVEL_INFO,
          "layer %s stays in fp32: %s, of a magnitude of %.3g, %s for float16",
          layer->name ? layer->name : "?", name, most, reason);
  return false;
}

static bsm_dtype dtype_of(bsm_precision precision) {
  return precision == BSM_PRECISION_FP16   ? BSM_DTYPE_HALF
         : precision == BSM_PRECISION_BF16 ? BSM_DTYPE_BFLOAT16
                                           : BSM_DTYPE_UNDEFINED;
}

/* Whether a product of quantized values keeps float32, as in 16 bits the target
 * would not compute it in int8. */
static bool keeps_int8(const bsm_target *target, const bsm_layer *layer,
                       bsm_precision precision) {
  const bsm_dtype dtype = dtype_of(precision);
  bsm_grid grid;
  return dtype != BSM_DTYPE_UNDEFINED &&
         (layer->kind == BSM_LAYER_CONVOLUTION ||
          layer->kind == BSM_LAYER_MATRIX_MULTIPLY) &&
         bsm_dequantized_from(layer->inputs.items[0], &grid) &&
         target->ops->fuses(target, BSM_FUSION_INT8, BSM_DTYPE_FLOAT) &&
         !target->ops->fuses(target, BSM_FUSION_INT8, dtype);
}

/* Those of some precisions in which the layer is not slower. */
static uint32_t gaining(decision *d, const bsm_layer *layer, uint32_t bits) {
  static const bsm_precision narrow[] = {BSM_PRECISION_FP16,
                                         BSM_PRECISION_BF16};
  const bsm_target *target = d->target;
  if (!target->ops->gains || d->policy->narrows) return bits;
  for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++) {
    if (!(bits & narrow[i]) || target->ops->gains(target, layer, narrow[i])) {
      continue;
    }
    bits &= ~(uint32_t)narrow[i];
    d->slower |= narrow[i];
  }
  return bits;
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
  const bsm_precision_rule *rule = last_rule(d->policy, layer);
  d->had |= bits;
  if (rule) {
    if (!(bits & rule->precision)) return refuse(d, rule, layer);
    *out = rule->precision;
    return BSM_OK;
  }
  if (bsm_stored_dtype(layer) != BSM_DTYPE_FLOAT) return BSM_OK;
  const uint32_t may = layer->cancels ? BSM_PRECISION_NONE : d->policy->allowed;
  const uint32_t allowed = gaining(d, layer, bits & (may | BSM_PRECISION_FP32));
  *out = fastest(allowed);
  if (*out == BSM_PRECISION_FP16 && !fits_half(d, layer)) {
    *out = fastest(allowed & ~(uint32_t)BSM_PRECISION_FP16);
  }
  if (keeps_int8(d->target, layer, *out)) *out = BSM_PRECISION_FP32;
  d->kept += *out == BSM_PRECISION_FP32;
  return BSM_OK;
}

static bsm_status apply(decision *d, bsm_layer *layer, bsm_dtype dtype) {
  if (dtype == BSM_DTYPE_UNDEFINED ||
      bsm_stored_dtype(layer) != BSM_DTYPE_FLOAT) {
    return bsm_retyping_keep(&d->retyping, layer);
  }
  d->retyped = true;
  return bsm_retype_layer(&d->retyping, layer, dtype);
}

/* ---- layers that move numbers ----
 *
 * They compute nothing, so they have no precision. Where they stand between
 * layers of a narrow dtype they take that, so that nothing is cast to float32
 * for them. Results are the same: rounding before or after a move is one. */

static bool moves(const bsm_layer *layer) {
  return bsm_layer_moves(layer) &&
         layer->outputs.items[0]->dtype == BSM_DTYPE_FLOAT;
}

/* By tensor id: what its layer is changed to (UNDEFINED: nothing), and what all
 * of its readers so far are changed to (FLOAT: they differ, or keep float32;
 * UNDEFINED: it has none). */
typedef struct narrowing {
  bsm_dtype *made, *read;
} narrowing;

static bsm_dtype *made_by(const narrowing *n, const bsm_layer *layer) {
  return &n->made[layer->outputs.items[0]->id];
}

static bool has_number(bsm_dtype dtype, double number) {
  const float x = (float)number;
  const float rounded = dtype == BSM_DTYPE_HALF
                            ? bsm_half_to_float(bsm_float_to_half(x))
                            : bsm_bfloat16_to_float(bsm_float_to_bfloat16(x));
  return rounded == x;
}

/* Whether `t` is a constant of a few numbers that all are numbers of `dtype`.
 */
#define FEW 64
static bool has_numbers(bsm_dtype dtype, const bsm_itensor *t) {
  const bsm_layer *from = t->producer;
  if (from && from->kind == BSM_LAYER_FILL) {
    return has_number(dtype, from->p.fill.value);
  }
  const bsm_weights *w = bsm_constant_of(t, BSM_DTYPE_FLOAT);
  for (int64_t i = 0; w && w->count <= FEW && i < w->count; i++) {
    if (!has_number(dtype, bsm_constant_number(w, i))) return false;
  }
  return w && w->count <= FEW;
}

/* The dtype that all floats that a layer moves have been rounded to, or have
 * anyway. */
static bsm_dtype rounded_before(const narrowing *n, const bsm_layer *layer) {
  bsm_dtype dtype = BSM_DTYPE_UNDEFINED;
  for (size_t i = 0; i < layer->inputs.len; i++) {
    const bsm_dtype made = n->made[layer->inputs.items[i]->id];
    if (made == BSM_DTYPE_UNDEFINED) continue;
    if (dtype != BSM_DTYPE_UNDEFINED && made != dtype) {
      return BSM_DTYPE_UNDEFINED;
    }
    dtype = made;
  }
  for (size_t i = 0; i < layer->inputs.len; i++) {
    const bsm_itensor *t = layer->inputs.items[i];
    if (dtype == BSM_DTYPE_UNDEFINED) break;
    if (t->dtype == BSM_DTYPE_FLOAT && n->made[t->id] != dtype &&
        !has_numbers(dtype, t)) {
      return BSM_DTYPE_UNDEFINED;
    }
  }
  return dtype;
}

static void note_readers(const narrowing *n, const bsm_layer *layer,
                         bsm_dtype dtype) {
  for (size_t i = 0; i < layer->inputs.len; i++) {
    bsm_dtype *read = &n->read[layer->inputs.items[i]->id];
    if (dtype == BSM_DTYPE_UNDEFINED ||
        (*read != BSM_DTYPE_UNDEFINED && *read != dtype)) {
      *read = BSM_DTYPE_FLOAT;
    } else {
      *read = dtype;
    }
  }
}

static void narrow_moves(const narrowing *n, const bsm_network *net) {
  for (size_t i = 0; i < net->layers.len; i++) {
    const bsm_layer *layer = net->layers.items[i];
    if (layer->removed || !moves(layer)) continue;
    *made_by(n, layer) = rounded_before(n, layer);
  }
  for (size_t i = 0; i < net->outputs.len; i++) {
    n->read[net->outputs.items[i]->id] = BSM_DTYPE_FLOAT;
  }
  for (size_t i = net->layers.len; i-- > 0;) {
    const bsm_layer *layer = net->layers.items[i];
    if (layer->removed || layer->outputs.len == 0) continue;
    bsm_dtype *made = made_by(n, layer);
    const bsm_dtype read = n->read[layer->outputs.items[0]->id];
    if (moves(layer) && *made == BSM_DTYPE_UNDEFINED &&
        read != BSM_DTYPE_FLOAT) {
      *made = read;
    }
    note_readers(n, layer, *made);
  }
}

/* Warns of precisions that are allowed but that the target has for no layer. */
static void warn(const decision *d) {
  for (uint32_t bit = 1; bit <= BSM_PRECISION_FP8; bit <<= 1) {
    if (d->slower & bit) {
      bsm_log(d->logger, BSM_LOG_LEVEL_WARNING,
              "precision %s is not faster on the target %s, which computes in "
              "fp32: prefer a small engine, or name layers, to have it",
              bsm_precision_name((bsm_precision)bit), d->target->text);
    }
    if (!(d->policy->allowed & bit) || d->had & bit || !d->kept) continue;
    bsm_log(d->logger, BSM_LOG_LEVEL_WARNING,
            "precision %s is allowed, but the target %s computes no layer of "
            "this model in it: %zu layers are computed in fp32",
            bsm_precision_name((bsm_precision)bit), d->target->text, d->kept);
  }
}

static bsm_status decide_each(decision *d, const bsm_network *net,
                              const narrowing *n) {
  for (size_t i = 0; i < net->layers.len; i++) {
    bsm_layer *layer = net->layers.items[i];
    if (layer->removed) continue;
    BSM_TRY_NOTE(decide(d, layer, &layer->precision), "in layer %s",
                 layer->name ? layer->name : "?");
    if (layer->outputs.len == 0 || bsm_stored_dtype(layer) != BSM_DTYPE_FLOAT) {
      continue;
    }
    for (size_t k = 0; k < layer->outputs.len; k++) {
      n->made[layer->outputs.items[k]->id] = dtype_of(layer->precision);
    }
  }
  return BSM_OK;
}

static bsm_status decide_all(decision *d, bsm_network *net,
                             bsm_arena *scratch) {
  const size_t count = net->layers.len, tensors = net->tensors.len + 1;
  const narrowing n = {BSM_NEW_ARRAY(scratch, bsm_dtype, tensors),
                       BSM_NEW_ARRAY(scratch, bsm_dtype, tensors)};
  if (!n.made || !n.read) return BSM_FAIL_OOM();
  for (size_t i = 0; i < tensors; i++) {
    n.made[i] = n.read[i] = BSM_DTYPE_UNDEFINED;
  }
  BSM_TRY(decide_each(d, net, &n));
  narrow_moves(&n, net);
  BSM_TRY(bsm_retyping_start(&d->retyping, net, scratch));
  for (size_t i = 0; i < count; i++) {
    bsm_layer *layer = net->layers.items[i];
    const bool may = !layer->removed && layer->outputs.len > 0;
    BSM_TRY_NOTE(
        apply(d, layer, may ? *made_by(&n, layer) : BSM_DTYPE_UNDEFINED),
        "in layer %s", layer->name ? layer->name : "?");
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
