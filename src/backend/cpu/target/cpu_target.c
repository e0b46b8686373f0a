/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a target: its text, what it takes, and the table of its functions.
 *
 *   cpu                                this machine
 *   cpu:ISA[,threads=N][,l2=BYTES][,vnni=no]   any machine; BYTES may end with
 *                                              K or M
 *
 * What the text of another machine leaves out has a default of its own, never
 * this machine's: one thread, a second-level cache of one MiB, instructions for
 * products of bytes. Of this machine those count when layers are quantized. */
#include "backend/cpu/target/cpu_target.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/cpu_convolution.h"
#include "backend/cpu/cpu_few_maps.h"
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

static const char *const instruction_sets =
    "scalar, avx2, avx512, avx512_bf16, amx, neon";

_Static_assert(BSM_CPU_MAX_TACTICS <= BSM_MAX_TACTICS, "a list holds all");

/* ---- the text ---- */

/* What of `isa` plans depend on: the level that has kernels for everything, and
 * how products of bfloat16 are made there. */
static uint32_t planned_isa(uint32_t isa) {
  static const char *const levels[] = {"amx", "avx512_bf16"};
  uint32_t level;
  for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
    if (bsm_isa_parse(levels[i], &level) && !(level & ~isa)) return level;
  }
  return isa & BSM_ISA_SELECTING;
}

typedef struct description {
  bool has_isa, has_threads, has_l2, has_vnni;
  bool no_vnni;
  uint32_t isa;
  int64_t threads, l2;
} description;

static bool parse_isa(bsm_str text, uint32_t *out) {
  char name[16];
  if (text.len >= sizeof(name)) return false;
  memcpy(name, text.data, text.len);
  name[text.len] = 0;
  return bsm_isa_parse(name, out) && planned_isa(*out) == *out;
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
  const bsm_str vnni = BSM_STR("vnni=");
  bsm_str value;
  if (bsm_str_starts_with(text, threads)) {
    BSM_TRY(take_value(text, threads, &d->has_threads, &value));
    if (parse_number(value, MAX_THREADS, &d->threads)) return BSM_OK;
  } else if (bsm_str_starts_with(text, l2)) {
    BSM_TRY(take_value(text, l2, &d->has_l2, &value));
    if (parse_number(value, MAX_L2, &d->l2)) return BSM_OK;
  } else if (bsm_str_starts_with(text, vnni)) {
    BSM_TRY(take_value(text, vnni, &d->has_vnni, &value));
    d->no_vnni = bsm_str_eq(value, BSM_STR("no"));
    if (d->no_vnni || bsm_str_eq(value, BSM_STR("yes"))) return BSM_OK;
  } else if (parse_isa(text, &d->isa)) {
    return take_value(text, text, &d->has_isa, &value);
  }
  return BSM_FAIL(
      BSM_INVALID_ARGUMENT,
      "\"%.*s\" is no parameter of the target cpu: it has an "
      "instruction set (%s), threads=1 to %d, l2=BYTES and vnni=no, "
      "such as cpu:avx2,threads=4,l2=512K",
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
      planned_isa(request->isa & (here ? bsm_isa_detect() : UINT32_MAX));
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

/* Whether a machine with the instructions of `mask` multiplies bytes slowly by
 * those of `isa`. */
static bool lacks_vnni(uint32_t isa, uint32_t mask) {
  return isa & BSM_ISA_AVX512 ? !(mask & BSM_ISA_AVX512_VNNI)
         : isa & BSM_ISA_AVX2 ? !(mask & BSM_ISA_AVX_VNNI)
                              : false;
}

/* Whether machines of an instruction set differ in VNNI. */
static bool has_choice_of_vnni(uint32_t isa) {
  return isa & (BSM_ISA_AVX2 | BSM_ISA_AVX512) &&
         !(isa & (BSM_ISA_AMX | BSM_ISA_AVX512_BF16));
}

static void complete(bool here, description *d) {
  if (!d->has_isa) d->isa = planned_isa(bsm_isa_detect());
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
  if (d.no_vnni && !has_choice_of_vnni(d.isa)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "vnni=no says nothing about %s: leave it out, it is for "
                    "avx2 and avx512",
                    bsm_isa_name(d.isa));
  }
  if (!parameters && request->quantizes) {
    d.no_vnni = lacks_vnni(d.isa, request->isa & bsm_isa_detect());
  }
  if (request->plain) d.no_vnni = false;
  bsm_cpu_target *t = BSM_NEW(arena, bsm_cpu_target);
  BSM_TRY_ALLOC(t);
  *t = (bsm_cpu_target){.base = {.ops = &bsm_cpu_target_ops, .host = &t->base},
                        .isa = d.isa,
                        .threads = (int)d.threads,
                        .l2 = (size_t)d.l2,
                        .no_vnni = d.no_vnni};
  t->base.text = bsm_arena_printf(arena, "cpu:%s,threads=%d,l2=%zu%s",
                                  bsm_isa_name(t->isa), t->threads, t->l2,
                                  t->no_vnni ? ",vnni=no" : "");
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

/* Every layer has a kernel, but for those that quantize, which are fused as
 * element-wise ones: products for what compute_dtype gives, attention,
 * sampling and recurrent layers for float. */
static bool supports(const bsm_target *target, const bsm_layer *layer) {
  const bsm_dtype dtype = layer->outputs.items[0]->dtype;
  if (bsm_cpu_is_product(layer)) {
    return bsm_cpu_compute_dtype(target, layer, dtype) == dtype;
  }
  if (layer->kind == BSM_LAYER_ATTENTION ||
      layer->kind == BSM_LAYER_RECURRENT || layer->kind == BSM_LAYER_SAMPLE) {
    return dtype == BSM_DTYPE_FLOAT;
  }
  return layer->kind != BSM_LAYER_QUANTIZE &&
         layer->kind != BSM_LAYER_DEQUANTIZE;
}

/* The epilogues of products are computed in float. */
static bool fuses(const bsm_target *target, bsm_fusion fusion,
                  bsm_dtype dtype) {
  (void)target;
  if (fusion == BSM_FUSION_BYTES || fusion == BSM_FUSION_FP8) return false;
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

/* The sizes of an image of `spatial` dimensions. */
static bsm_image image_of(const bsm_dims dims, int32_t spatial) {
  bsm_image i = {.n = dims.d[0], .c = dims.d[1], .size = {1, 1, 1}};
  for (int32_t d = 0; d < spatial; d++) {
    i.size[3 - spatial + d] = dims.d[2 + d];
  }
  return i;
}

/* Whether it is a convolution to few maps that is faster as such one, from
 * planes or from pixels. */
static bool is_to_few_maps(const bsm_layer *layer, bool planes) {
  const bool transposed = layer->kind == BSM_LAYER_DECONVOLUTION;
  const bsm_itensor *x = layer->inputs.items[0], *y = layer->outputs.items[0];
  if ((layer->kind != BSM_LAYER_CONVOLUTION && !transposed) ||
      y->dtype != BSM_DTYPE_FLOAT) {
    return false;
  }
  const bsm_convolution_params *c = &layer->p.convolution;
  const bsm_window_params *w = &c->window;
  bsm_step_convolution p = {.groups = c->groups,
                            .out_maps = c->out_maps,
                            .window = {.spatial = w->spatial,
                                       .kernel = {1, 1, 1},
                                       .stride = {1, 1, 1},
                                       .dilation = {1, 1, 1}}};
  for (int32_t i = 0, d = 3 - w->spatial; d < 3; i++, d++) {
    p.window.kernel[d] = w->kernel[i];
    p.window.stride[d] = w->stride[i];
    p.window.dilation[d] = w->dilation[i];
  }
  const bsm_image from = image_of(x->dims, w->spatial);
  const bsm_image to = image_of(y->dims, w->spatial);
  return bsm_cpu_few_maps_fit(&p, transposed, &from, &to) &&
         bsm_cpu_few_maps_share(&p, from.c, planes) < BSM_CPU_FEW_MAPS_WORTH;
}

static bool reads_any_layout(const bsm_target *target, const bsm_layer *layer) {
  (void)target;
  return bsm_cpu_reads_planes(layer) || is_to_few_maps(layer, true);
}

static bool writes_any_layout(const bsm_target *target,
                              const bsm_layer *layer) {
  (void)target;
  return is_to_few_maps(layer, false);
}

/* Pixels a multiple of 512 bytes apart share few sets of the first-level cache:
 * of a window's lines hardly more than a pixel each stays there. */
static int64_t pixel_pitch(const bsm_target *target, int64_t maps,
                           bsm_dtype dtype) {
  (void)target;
  return dtype == BSM_DTYPE_FLOAT && maps % 128 == 0 ? maps + BSM_PANEL : maps;
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
    .turns_deconvolutions = true,
    .unsigned_activations = true,
    .precisions = bsm_cpu_precisions,
    .gains = bsm_cpu_gains,
    .int8_times = bsm_cpu_int8_times,
    .wide_dtype = bsm_cpu_wide_dtype,
    .compute_dtype = bsm_cpu_compute_dtype,
    .fuses = fuses,
    .image_layout = image_layout,
    .reads_any_layout = reads_any_layout,
    .writes_any_layout = writes_any_layout,
    .pixel_pitch = pixel_pitch,
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
