/* SPDX-License-Identifier: Apache-2.0 */
/* Makes rules from the options of precision. Their names are checked when all
 * layers have been seen. */
#include "compiler/pipeline/precision_options.h"

#include "base/options.h"

#include "compiler/pipeline/fallback_rules.h"

const char *bsm_precisions_text(bsm_arena *arena, uint32_t precisions) {
  bsm_text text;
  bsm_text_init(&text, arena);
  for (uint32_t bit = 1; bit <= BSM_PRECISION_FP8; bit <<= 1) {
    if (!(precisions & bit)) continue;
    bsm_text_printf(&text, "%s%s", text.len ? "," : "",
                    bsm_precision_name((bsm_precision)bit));
  }
  return text.failed ? NULL : text.len ? text.data : "";
}

static bsm_status make_rule(bsm_module *module,
                            const bsm_compile_options *options,
                            const bsm_precision_override *given,
                            bsm_arena *arena, bsm_precision_rule *out) {
  const char *name = given->layer ? given->layer : given->module;
  const char *precision = bsm_precision_name(given->precision);
  bool known;
  if (!name || !*name || (given->layer && given->module)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "an override of precision needs the name of a layer or of "
                    "a module");
  }
  if (!precision || !*precision) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "precision of \"%s\": %d is none",
                    name, (int)given->precision);
  }
  *out = (bsm_precision_rule){.pattern = given->layer,
                              .precision = given->precision};
  out->given = bsm_arena_printf(arena, "%s=%s", name, precision);
  BSM_TRY_ALLOC(out->given);
  return given->module
             ? bsm_module_paths_of(module, options, name, arena, &out->paths,
                                   &out->path_count, &known)
             : BSM_OK;
}

#define USUAL_GROUP 32
/* With more rows, multiplying takes longer than reading the weights. */
#define USUAL_ROWS 32

static bsm_status few_bits_policy_of(const bsm_compile_options *options,
                                     bsm_few_bits_policy *out) {
  const int bits = options->weight_bits;
  const int group = options->weight_group ? options->weight_group : USUAL_GROUP;
  *out = (bsm_few_bits_policy){
      bits, bits == 4 ? group : 0,
      options->weight_rows ? options->weight_rows : USUAL_ROWS};
  if (bits != 0 && bits != 4 && bits != 8) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "weights of %d bits: 4 or 8", bits);
  }
  if ((group != 32 && group != 64 && group != 128) || out->rows < 0 ||
      (options->weight_group && bits != 4)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "weights of %d bits in groups of %d, for %lld rows: groups "
                    "are of 4 bits, and have 32, 64 or 128",
                    bits, group, (long long)out->rows);
  }
  return BSM_OK;
}

bsm_status bsm_precision_policy_of(bsm_module *module,
                                   const bsm_compile_options *options,
                                   bsm_arena *arena,
                                   bsm_precision_policy **out) {
  const size_t count = options->precision_override_count;
  *out = NULL;
  if (options->precisions & ~BSM_PRECISION_ALL) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "precisions 0x%x: unknown bits",
                    (unsigned)options->precisions);
  }
  if (count) BSM_NEED(options->precision_overrides);
  bsm_few_bits_policy few_bits;
  BSM_TRY(few_bits_policy_of(options, &few_bits));
  if (!options->precisions && !count && !few_bits.bits) return BSM_OK;
  bsm_precision_policy *policy = BSM_NEW(arena, bsm_precision_policy);
  BSM_TRY_ALLOC(policy);
  policy->allowed = options->precisions;
  policy->obey = options->obey_precisions;
  policy->narrows = options->prefer_size;
  policy->few_bits = few_bits;
  policy->rules = BSM_NEW_ARRAY(arena, bsm_precision_rule, count + 1);
  BSM_TRY_ALLOC(policy->rules);
  for (; policy->rule_count < count; policy->rule_count++) {
    BSM_TRY(make_rule(module, options,
                      &options->precision_overrides[policy->rule_count], arena,
                      &policy->rules[policy->rule_count]));
  }
  *out = policy;
  return BSM_OK;
}

static bsm_status check_rule(const bsm_precision_rule *rule,
                             const bsm_precision_override *given,
                             bsm_module *module,
                             const bsm_compile_options *options,
                             bsm_arena *arena) {
  const char *const *paths;
  size_t count;
  bool known;
  if (rule->matched) return BSM_OK;
  if (rule->pattern) {
    return BSM_FAIL(
        BSM_INVALID_ARGUMENT,
        "precision \"%s\": no layer that computes in floating point "
        "has a name that matches; bessemer inspect --plan tells "
        "their names, and * stands for any part of one",
        rule->given);
  }
  BSM_TRY(bsm_module_paths_of(module, options, given->module, arena, &paths,
                              &count, &known));
  if (!known) {
    return bsm_unknown_module(module, options, "precision of module",
                              given->module, arena);
  }
  bsm_log(options->logger, BSM_LOG_LEVEL_WARNING,
          "precision \"%s\": no layer that computes in floating point comes "
          "from that module",
          rule->given);
  return BSM_OK;
}

static void tell_few_bits(const bsm_precision_policy *policy,
                          const bsm_compile_options *options) {
  const bsm_few_bits_record *n = &policy->few_bits_record;
  if (!policy->few_bits.bits) return;
  if (!n->products) {
    bsm_log(options->logger, BSM_LOG_LEVEL_WARNING,
            "weights of %d bits: no product of this model takes them",
            (int)policy->few_bits.bits);
    return;
  }
  bsm_log(options->logger, BSM_LOG_LEVEL_INFO,
          "%zu products have weights of %d bits: %.1f of %.1f MB, SQNR from "
          "%.1f dB",
          n->products, (int)policy->few_bits.bits, (double)n->bytes / 1e6,
          (double)n->bytes_before / 1e6, n->least);
}

bsm_status bsm_precision_policy_check(const bsm_precision_policy *policy,
                                      bsm_module *module,
                                      const bsm_compile_options *options,
                                      bsm_arena *arena) {
  if (policy) tell_few_bits(policy, options);
  for (size_t i = 0; policy && i < policy->rule_count; i++) {
    BSM_TRY(check_rule(&policy->rules[i], &options->precision_overrides[i],
                       module, options, arena));
  }
  return BSM_OK;
}
