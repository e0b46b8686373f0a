/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a target: its text, what it takes, and the table of its functions.
 *
 *   cpu                                this machine
 *   cpu:ISA[,threads=N][,l2=BYTES]     any machine; BYTES may end with K or M
 *
 * What the text of another machine leaves out has a default of its own, never
 * this machine's: one thread, a second-level cache of one MiB. */
#include "backend/cpu/target/cpu_target.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/cpu_convolution.h"
#include "backend/cpu/cpu_half.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/cpu_step.h"
#include "backend/cpu/target/cpu_few_bits.h"
#include "backend/cpu/target/cpu_fidelity.h"
#include "backend/cpu/target/cpu_greatest.h"
#include "backend/cpu/target/cpu_link_list.h"
#include "backend/cpu/target/cpu_timer.h"
#include "base/caches.h"
#include "base/checked.h"
#include "base/isa.h"
#include "base/thread_pool.h"
#include "builder/passes.h"

#define DEFAULT_THREADS 1
#define DEFAULT_L2 ((size_t)1 << 20)
#define MAX_THREADS 4096
#define MAX_L2 ((int64_t)1 << 32)

static const char *const instruction_sets = "scalar, avx2, avx512, neon";

_Static_assert(BSM_CPU_MAX_TACTICS <= BSM_MAX_TACTICS, "a list holds all");

/* ---- the text ---- */

typedef struct description {
  bool has_isa, has_threads, has_l2;
  uint32_t isa;
  int64_t threads, l2;
} description;

static bool parse_isa(bsm_str text, uint32_t *out) {
  char name[16];
  if (text.len >= sizeof(name)) return false;
  memcpy(name, text.data, text.len);
  name[text.len] = 0;
  return bsm_isa_parse(name, out) && (*out & ~BSM_ISA_SELECTING) == 0;
}

/* A number from 1 to `most`, which may end with K or M. */
static bool parse_number(bsm_str text, int64_t most, int64_t *out) {
  int64_t unit = 1;
  if (text.len > 1 && text.data[text.len - 1] == 'K') unit = 1024;
  if (text.len > 1 && text.data[text.len - 1] == 'M') unit = 1024 * 1024;
  if (unit > 1) text.len--;
  return bsm_parse_i64(text, out) && bsm_i64_mul(*out, unit, out) &&
         *out >= 1 && *out <= most;
}

/* What follows `name` in `text`, which says it for the first time. */
static bsm_status take_value(bsm_str text, bsm_str name, bool *has,
                             bsm_str *value) {
  *value = (bsm_str){text.data + name.len, text.len - name.len};
  if (*has) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "\"%.*s\" says again what is said before it: say one of "
                    "the two",
                    (int)text.len, text.data);
  }
  *has = true;
  return BSM_OK;
}

static bsm_status parse_parameter(bsm_str text, description *d) {
  const bsm_str threads = BSM_STR("threads="), l2 = BSM_STR("l2=");
  bsm_str value;
  if (bsm_str_starts_with(text, threads)) {
    BSM_TRY(take_value(text, threads, &d->has_threads, &value));
    if (parse_number(value, MAX_THREADS, &d->threads)) return BSM_OK;
  } else if (bsm_str_starts_with(text, l2)) {
    BSM_TRY(take_value(text, l2, &d->has_l2, &value));
    if (parse_number(value, MAX_L2, &d->l2)) return BSM_OK;
  } else if (parse_isa(text, &d->isa)) {
    return take_value(text, text, &d->has_isa, &value);
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "\"%.*s\" is no parameter of the target cpu: it has an "
                  "instruction set (%s), threads=1 to %d and l2=BYTES, such "
                  "as cpu:avx2,threads=4,l2=512K",
                  (int)text.len, text.data, instruction_sets, MAX_THREADS);
}

static bsm_status parse_parameters(const char *text, description *d) {
  while (text) {
    const char *comma = strchr(text, ',');
    const size_t length = comma ? (size_t)(comma - text) : strlen(text);
    BSM_TRY(parse_parameter((bsm_str){text, length}, d));
    text = comma ? comma + 1 : NULL;
  }
  return d->has_isa ? BSM_OK
                    : BSM_FAIL(BSM_INVALID_ARGUMENT,
                               "the target cpu of another machine needs its "
                               "instruction set: %s",
                               instruction_sets);
}

/* What the request says beside the text. */
static bsm_status add_request(const bsm_target_request *request, bool here,
                              description *d) {
  if (request->threads > 0) {
    if (d->has_threads && d->threads != request->threads) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "the target is for %" PRId64
                      " threads, the options ask for %d: say one of the two",
                      d->threads, request->threads);
    }
    d->has_threads = true;
    d->threads = request->threads;
  }
  if (request->isa == BSM_TARGET_ANY_ISA) return BSM_OK;
  const uint32_t isa =
      request->isa & BSM_ISA_SELECTING & (here ? bsm_isa_detect() : UINT32_MAX);
  if (d->has_isa && d->isa != isa) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the target is for %s, the options ask for %s: say one of "
                    "the two",
                    bsm_isa_name(d->isa), bsm_isa_name(isa));
  }
  d->has_isa = true;
  d->isa = isa;
  return BSM_OK;
}

static void complete(bool here, description *d) {
  if (!d->has_isa) d->isa = bsm_isa_detect() & BSM_ISA_SELECTING;
  if (!d->has_threads)
    d->threads = here ? bsm_available_cpus() : DEFAULT_THREADS;
  if (!d->has_l2) {
    d->l2 = here ? (int64_t)bsm_detect_caches().l2 : (int64_t)DEFAULT_L2;
  }
}

static bsm_status parse(const bsm_target_request *request,
                        const char *parameters, bsm_arena *arena,
                        const bsm_target **out) {
  description d = {0};
  if (parameters) BSM_TRY(parse_parameters(parameters, &d));
  BSM_TRY(add_request(request, !parameters, &d));
  complete(!parameters, &d);
  bsm_cpu_target *t = BSM_NEW(arena, bsm_cpu_target);
  BSM_TRY_ALLOC(t);
  *t = (bsm_cpu_target){.base = {.ops = &bsm_cpu_target_ops, .host = &t->base},
                        .isa = d.isa,
                        .threads = (int)d.threads,
                        .l2 = (size_t)d.l2};
  t->base.text = bsm_arena_printf(arena, "cpu:%s,threads=%d,l2=%zu",
                                  bsm_isa_name(t->isa), t->threads, t->l2);
  BSM_TRY_ALLOC(t->base.text);
  *out = &t->base;
  return BSM_OK;
}

/* ---- this machine ---- */

/* Any number of threads can be timed; more than there are CPUs take turns. */
static bsm_status check_here(const bsm_target *target) {
  const bsm_cpu_target *cpu = bsm_cpu_target_of(target);
  const uint32_t missing = cpu->isa & ~bsm_isa_detect();
  const size_t l2 = bsm_detect_caches().l2;
  if (missing) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "this machine has no %s: it cannot time what is built for "
                    "%s; build without timing",
                    bsm_isa_name(cpu->isa), target->text);
  }
  if (cpu->l2 != l2) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "the second-level cache of this machine has %zu bytes: it "
                    "cannot time what is built for %s; build without timing, "
                    "or for l2=%zu",
                    l2, target->text, l2);
  }
  return BSM_OK;
}

static void machine_key(const bsm_target *target, bsm_text *text) {
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[256];
  bsm_text_puts(text, target->text);
  while (file && fgets(line, sizeof(line), file)) {
    const char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) == 0 && colon) {
      bsm_text_puts(text, colon + 1);
      break;
    }
  }
  if (file) fclose(file);
}

/* ---- layers ---- */

static bool is_product(const bsm_layer *layer) {
  return layer->kind == BSM_LAYER_CONVOLUTION ||
         layer->kind == BSM_LAYER_DECONVOLUTION ||
         layer->kind == BSM_LAYER_MATRIX_MULTIPLY;
}

/* Groups of fewer maps would fill panels with zeros. */
#define LEAST_GROUP 16

/* Whether a convolution in groups has its driver of half and bfloat16. */
static bool is_half_depthwise(const bsm_layer *layer) {
  const bsm_convolution_params *p = &layer->p.convolution;
  const bsm_dims d = layer->inputs.items[0]->dims;
  const bsm_step_convolution step = {.window = {.spatial = d.rank - 2},
                                     .groups = p->groups,
                                     .out_maps = p->out_maps};
  return bsm_cpu_is_half_depthwise(&step, d.d[1]);
}

/* Whether a product of half or bfloat16 has a kernel that reads these, and sums
 * in float: by one constant matrix, or a kernel of maps that are not few, or
 * depthwise. */
static bool multiplies_half(const bsm_layer *layer) {
  if (layer->kind == BSM_LAYER_MATRIX_MULTIPLY) {
    const bsm_itensor *b = layer->inputs.items[1];
    int64_t matrices = 1;
    for (int32_t i = 0; i < b->dims.rank - 2; i++) matrices *= b->dims.d[i];
    return b->producer && b->producer->kind == BSM_LAYER_CONSTANT &&
           b->dims.rank >= 2 && matrices == 1;
  }
  const bsm_convolution_params *p = &layer->p.convolution;
  return layer->kind == BSM_LAYER_CONVOLUTION &&
         (p->groups == 1 || p->out_maps / p->groups >= LEAST_GROUP ||
          is_half_depthwise(layer));
}

/* Half and bfloat16 are summed in float, as PyTorch does; small integers in
 * int32, which wraps to the same bits. */
static bsm_dtype compute_dtype(const bsm_target *target, const bsm_layer *layer,
                               bsm_dtype dtype) {
  (void)target;
  switch (dtype) {
    case BSM_DTYPE_HALF:
    case BSM_DTYPE_BFLOAT16:
      return multiplies_half(layer) ? dtype : BSM_DTYPE_FLOAT;
    case BSM_DTYPE_UINT8:
    case BSM_DTYPE_INT8:
    case BSM_DTYPE_INT16:
      return BSM_DTYPE_INT32;
    default:
      return dtype;
  }
}

/* Layers that look at the values of floats and make new ones. */
static bool computes(const bsm_layer *layer) {
  switch (layer->kind) {
    case BSM_LAYER_CONCATENATION:
    case BSM_LAYER_SHUFFLE:
    case BSM_LAYER_GATHER:
    case BSM_LAYER_CONSTANT:
    case BSM_LAYER_IDENTITY:
    case BSM_LAYER_SLICE:
    case BSM_LAYER_SHAPE:
    case BSM_LAYER_EXPAND:
    case BSM_LAYER_FILL:
    case BSM_LAYER_CAST:
    case BSM_LAYER_SELECT:
    case BSM_LAYER_ATEN_CALL:
    case BSM_LAYER_PLUGIN:
      return false;
    default:
      return true;
  }
}

#define MAX_SEARCH 8

/* Whether a layer is part of attention, or what comes before its softmax: a
 * product of two tensors, and layers behind one. That is fused in float. */
static bool is_attention(const bsm_layer *layer, int depth) {
  switch (layer->kind) {
    case BSM_LAYER_MATRIX_MULTIPLY:
      return !multiplies_half(layer);
    case BSM_LAYER_ACTIVATION:
    case BSM_LAYER_ELEMENT_WISE:
    case BSM_LAYER_UNARY:
    case BSM_LAYER_SCALE:
    case BSM_LAYER_SHUFFLE:
    case BSM_LAYER_SOFTMAX:
      break;
    default:
      return layer->kind == BSM_LAYER_ATTENTION;
  }
  for (size_t i = 0; depth < MAX_SEARCH && i < layer->inputs.len; i++) {
    const bsm_layer *from = layer->inputs.items[i]->producer;
    if (from && is_attention(from, depth + 1)) return true;
  }
  return false;
}

/* Fewer channels are resized one by one. */
#define LEAST_CHANNELS 4

/* Whether a layer of float may read and write half or bfloat16: not where
 * these would be cast before and after. */
static bool takes_half(const bsm_layer *layer) {
  if (layer->kind == BSM_LAYER_RESIZE) {
    const bsm_dims d = layer->inputs.items[0]->dims;
    return d.rank > 2 && d.d[1] >= LEAST_CHANNELS;
  }
  return is_product(layer) ? multiplies_half(layer) : !is_attention(layer, 0);
}

/* Float, half and bfloat16 are computed in float; the latter two are read and
 * written in 16 bits. */
static uint32_t precisions(const bsm_target *target, const bsm_layer *layer) {
  (void)target;
  if (!computes(layer)) return BSM_PRECISION_NONE;
  bool narrow = false;
  for (size_t i = 0; i < layer->inputs.len; i++) {
    const bsm_dtype dtype = layer->inputs.items[i]->dtype;
    if (dtype == BSM_DTYPE_DOUBLE) return BSM_PRECISION_NONE;
    narrow |= bsm_dtype_is_floating(dtype);
  }
  if (!narrow) return BSM_PRECISION_NONE;
  return BSM_PRECISION_FP32 |
         (takes_half(layer) ? BSM_PRECISION_FP16 | BSM_PRECISION_BF16 : 0);
}

/* Half is widened for float's kernels, which have faster ways for windows. */
static bool gains(const bsm_target *target, const bsm_layer *layer,
                  bsm_precision precision) {
  (void)target;
  (void)layer;
  return precision != BSM_PRECISION_FP16;
}

/* Of bfloat16 some CPUs with AVX-512 have products; nothing else is faster in
 * 16 bits than in float. */
static bsm_dtype wide_dtype(const bsm_target *target, bsm_dtype dtype,
                            bool multiplies) {
  const bool has_products =
      bsm_cpu_target_of(target)->isa & BSM_ISA_AVX512 && multiplies;
  return dtype == BSM_DTYPE_BFLOAT16 && has_products ? dtype : BSM_DTYPE_FLOAT;
}

/* Every layer has a kernel, but for those that quantize, which are fused as
 * element-wise ones: products for what compute_dtype gives, attention and
 * recurrent layers for float. */
static bool supports(const bsm_target *target, const bsm_layer *layer) {
  const bsm_dtype dtype = layer->outputs.items[0]->dtype;
  if (is_product(layer)) return compute_dtype(target, layer, dtype) == dtype;
  if (layer->kind == BSM_LAYER_ATTENTION ||
      layer->kind == BSM_LAYER_RECURRENT) {
    return dtype == BSM_DTYPE_FLOAT;
  }
  return layer->kind != BSM_LAYER_QUANTIZE &&
         layer->kind != BSM_LAYER_DEQUANTIZE;
}

/* The epilogues of products are computed in float. */
static bool fuses(const bsm_target *target, bsm_fusion fusion,
                  bsm_dtype dtype) {
  (void)target;
  if (fusion == BSM_FUSION_BYTES) return false;
  return dtype == BSM_DTYPE_FLOAT ||
         (fusion != BSM_FUSION_ATTENTION && fusion != BSM_FUSION_INT8 &&
          bsm_cpu_is_half(dtype));
}

static bsm_image_layout image_layout(const bsm_target *target,
                                     const bsm_layer *layer) {
  (void)target;
  (void)layer;
  return BSM_IMAGE_CHANNELS_LAST;
}

static bool reads_any_layout(const bsm_target *target, const bsm_layer *layer) {
  (void)target;
  return bsm_cpu_reads_planes(layer);
}

static const bsm_target_pass passes[] = {
    {"unify_quantizers", false, bsm_pass_unify_quantizers},
    {"move_quantizers", false, bsm_pass_move_quantizers},
    {"skip_quantizers", false, bsm_pass_skip_quantizers},
    {"fuse_int8", false, bsm_pass_fuse_int8},
    {"merge_int8", false, bsm_pass_merge_int8},
    {"fold_channel_scales", false, bsm_cpu_fold_channel_scales},
    {"fuse_chains", true, bsm_cpu_fuse_chains},
};

/* ---- tactics and weights ---- */

static size_t list_tactics(const bsm_target *target, const bsm_plan *plan,
                           const bsm_plan_step *step, const char **names) {
  const bsm_cpu_kind *kind = bsm_cpu_kind_of(plan, step);
  if (kind && kind->tactics) {
    return kind->tactics(plan, step, bsm_cpu_target_of(target)->isa, names);
  }
  names[0] = "default";
  return 1;
}

/* Tactics of other kinds are few, or not told apart by their cost. */
static double cost(const bsm_target *target, const bsm_plan *plan,
                   const bsm_plan_step *step, const char *tactic) {
  return step->kind == BSM_STEP_CONVOLUTION
             ? bsm_cpu_convolution_cost(plan, step,
                                        bsm_cpu_target_of(target)->isa, tactic)
             : 0;
}

/* Only convolutions have weights of several forms. */
static void adopt(const bsm_target *target, const bsm_plan_step *step,
                  const char *tactic, bsm_step_params *params) {
  (void)target;
  if (step->kind == BSM_STEP_CONVOLUTION) {
    params->convolution.form = bsm_cpu_convolution_form_of(tactic);
  }
}

static bsm_status pack(const bsm_target *target, const bsm_plan_step *step,
                       int64_t in_maps, const void *values, size_t element,
                       bool transposed, void *packed, uint64_t *size) {
  (void)target;
  if (step->kind == BSM_STEP_MATRIX_MULTIPLY &&
      step->params->matrix_multiply.form != BSM_CPU_MATRIX_PLAIN) {
    return bsm_cpu_few_bits_pack(&step->params->matrix_multiply, values,
                                 transposed, packed, size);
  }
  return bsm_cpu_pack(step, in_maps, values, element, transposed, packed, size);
}

/* Products of float, when they are no part of another step. */
static int32_t few_bits_form(const bsm_target *target, bsm_dtype dtype,
                             int32_t bits, int64_t group) {
  (void)target;
  return dtype == BSM_DTYPE_FLOAT ? bsm_cpu_few_bits_form_for(bits, group)
                                  : BSM_CPU_MATRIX_PLAIN;
}

static bsm_status unpack(const bsm_target *target, const bsm_plan_step *step,
                         const void *packed, bool transposed, float *values) {
  (void)target;
  return bsm_cpu_few_bits_unpack(&step->params->matrix_multiply, packed,
                                 transposed, values);
}

static bool is_approximate(const bsm_target *target,
                           const bsm_plan_step *step) {
  (void)target;
  return step->kind == BSM_STEP_CONVOLUTION &&
         step->params->convolution.form >= BSM_CPU_FORM_WINOGRAD_2 &&
         step->params->convolution.form <= BSM_CPU_FORM_WINOGRAD_6;
}

const bsm_target_ops bsm_cpu_target_ops = {
    .version = BSM_TARGET_VERSION,
    .name = "cpu",
    .parse = parse,
    .check_here = check_here,
    .machine_key = machine_key,
    .supports = supports,
    .unsigned_activations = true,
    .precisions = precisions,
    .gains = gains,
    .wide_dtype = wide_dtype,
    .compute_dtype = compute_dtype,
    .fuses = fuses,
    .image_layout = image_layout,
    .reads_any_layout = reads_any_layout,
    .passes = passes,
    .pass_count = sizeof(passes) / sizeof(passes[0]),
    .tactics = list_tactics,
    .cost = cost,
    .adopt = adopt,
    .pack_version = 2,
    .pack = pack,
    .few_bits_form = few_bits_form,
    .unpack = unpack,
    .is_approximate = is_approximate,
    .check_accuracy = bsm_cpu_check_accuracy,
    .greatest_values = bsm_cpu_greatest_values,
    .open_timer = bsm_cpu_timer_open,
    .close_timer = bsm_cpu_timer_close,
    .timer_conditions = bsm_cpu_timer_conditions,
    .time = bsm_cpu_timer_run,
    .link_list = bsm_cpu_write_link_list,
};
