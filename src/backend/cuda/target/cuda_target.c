/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA GPUs as a target: its text, what it takes, and the table of its
 * functions.
 *
 *   cuda                          GPU 0 of this machine, with its CPU beside it
 *   cuda:SM[,CPU_PARAMETERS]      any GPU: cuda:sm_90a, cuda:sm_80,avx512
 *
 * The CPU runs what GPUs have no kernels for. Where its parameters are left
 * out, they are "avx2" for a GPU that is named, and this machine's for
 * "cuda". */
#include "backend/cuda/target/cuda_target.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_forms.h"
#include "backend/cuda/cuda_launch.h"
#include "backend/cuda/steps/cuda_few_bits.h"
#include "backend/cuda/steps/cuda_products.h"
#include "backend/cuda/steps/cuda_steps.h"
#include "backend/cuda/steps/cuda_tiles.h"
#include "backend/cuda/target/cuda_timer.h"
#include "builder/passes.h"

#define DEFAULT_CPU "avx2"

/* ---- the text ---- */

static bsm_status parse_gpu(const char *parameters, int *sm, bool *specific,
                            const char **cpu) {
  if (!parameters) {
    BSM_TRY(bsm_cuda_find_sm(0, sm));
    *specific = *sm >= 90;
    *cpu = NULL;
    return BSM_OK;
  }
  const char *comma = strchr(parameters, ',');
  const bsm_str first = {
      parameters, comma ? (size_t)(comma - parameters) : strlen(parameters)};
  *cpu = comma ? comma + 1 : DEFAULT_CPU;
  bsm_cuda_form form;
  if (!bsm_cuda_architecture_parse(first, &form) || form.is_ptx) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "\"%.*s\" is no GPU: the target cuda of another machine "
                    "needs its compute capability, sm_75 or higher, such as "
                    "cuda:sm_90a; parameters of the CPU beside it may follow, "
                    "as in cuda:sm_90a,avx512",
                    (int)first.len, first.data);
  }
  *sm = form.sm;
  *specific = form.specific;
  return BSM_OK;
}

static bsm_status parse(const bsm_target_request *request,
                        const char *parameters, bsm_arena *arena,
                        const bsm_target **out) {
  bsm_target_request cpu = *request;
  bsm_cuda_target *t = BSM_NEW(arena, bsm_cuda_target);
  BSM_TRY_ALLOC(t);
  const char *cpu_parameters;
  bool specific = false;
  int sm = 0;
  BSM_TRY(parse_gpu(parameters, &sm, &specific, &cpu_parameters));
  cpu.text = cpu_parameters ? bsm_arena_printf(arena, "cpu:%s", cpu_parameters)
                            : "cpu";
  BSM_TRY_ALLOC(cpu.text);
  *t = (bsm_cuda_target){.base = {.ops = &bsm_cuda_target_ops},
                         .sm = sm,
                         .specific = specific,
                         .architecture = bsm_arena_printf(arena, "sm_%d%s", sm,
                                                          specific ? "a" : ""),
                         .later = bsm_arena_printf(arena, "compute_%d", sm)};
  if (!t->architecture || !t->later) return BSM_FAIL_OOM();
  BSM_TRY(bsm_target_parse(&cpu, arena, &t->base.host));
  t->base.text = bsm_arena_printf(arena, "cuda:%s,%s", t->architecture,
                                  t->base.host->text + strlen("cpu:"));
  BSM_TRY_ALLOC(t->base.text);
  *out = &t->base;
  return BSM_OK;
}

/* ---- this machine ---- */

static bsm_status check_here(const bsm_target *target) {
  int sm;
  BSM_TRY(bsm_cuda_find_sm(0, &sm));
  if (sm != bsm_cuda_target_of(target)->sm) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "this machine's GPU is sm_%d: it cannot time what is built "
                    "for %s; build without timing",
                    sm, target->text);
  }
  return target->host->ops->check_here(target->host);
}

/* ---- layers ---- */

/* Steps that a layer becomes; those of kinds that are not here move data. */
static bool has_kernel(const bsm_layer *layer) {
  switch (layer->kind) {
    case BSM_LAYER_CONVOLUTION:
    case BSM_LAYER_INT8_CONVOLUTION:
    case BSM_LAYER_DECONVOLUTION:
    case BSM_LAYER_MATRIX_MULTIPLY:
    case BSM_LAYER_POOLING:
    case BSM_LAYER_SOFTMAX:
    case BSM_LAYER_NORMALIZATION:
    case BSM_LAYER_REDUCE:
    case BSM_LAYER_GATHER:
    case BSM_LAYER_SCATTER:
    case BSM_LAYER_TOP_K:
    case BSM_LAYER_SCAN:
    case BSM_LAYER_NON_ZERO:
    case BSM_LAYER_NMS:
    case BSM_LAYER_REGIONS:
    case BSM_LAYER_RESIZE:
    case BSM_LAYER_ATTENTION:
    case BSM_LAYER_RECURRENT:
    case BSM_LAYER_FILL:
    case BSM_LAYER_FUSED_ELEMENT_WISE:
    case BSM_LAYER_SHUFFLE:
    case BSM_LAYER_SLICE:
    case BSM_LAYER_CONCATENATION:
    case BSM_LAYER_EXPAND:
    case BSM_LAYER_IDENTITY:
    case BSM_LAYER_CONSTANT:
    case BSM_LAYER_SHAPE:
      return true;
    default:
      return false;
  }
}

/* Floats of 8 bits are moved, multiplied, and made of floats and into them. */
static bool takes_float8(const bsm_layer *layer) {
  switch (layer->kind) {
    case BSM_LAYER_INT8_CONVOLUTION:
    case BSM_LAYER_FUSED_ELEMENT_WISE:
    case BSM_LAYER_NORMALIZATION:
    case BSM_LAYER_SHUFFLE:
    case BSM_LAYER_SLICE:
    case BSM_LAYER_CONCATENATION:
    case BSM_LAYER_EXPAND:
    case BSM_LAYER_IDENTITY:
    case BSM_LAYER_CONSTANT:
      return true;
    default:
      return false;
  }
}

static bool has_dtype(const bsm_layer *layer, bsm_dtype dtype) {
  return bsm_cuda_type(dtype) &&
         (dtype != BSM_DTYPE_FLOAT8_E4M3FN || takes_float8(layer));
}

static bool has_dtypes(const bsm_layer *layer) {
  for (size_t i = 0; i < layer->inputs.len; i++) {
    if (!has_dtype(layer, layer->inputs.items[i]->dtype)) return false;
  }
  for (size_t i = 0; i < layer->outputs.len; i++) {
    if (!has_dtype(layer, layer->outputs.items[i]->dtype)) return false;
  }
  return true;
}

static bool supports(const bsm_target *target, const bsm_layer *layer) {
  (void)target;
  if (layer->kind == BSM_LAYER_ATTENTION) {
    const bsm_dims *d = &layer->outputs.items[0]->dims;
    if (d->d[d->rank - 1] > BSM_CUDA_MAX_ATTENTION_WIDTH) return false;
  }
  return has_kernel(layer) && has_dtypes(layer);
}

/* Half and bfloat16 are multiplied as they are, and summed in float. */
static bsm_dtype compute_dtype(const bsm_target *target, const bsm_layer *layer,
                               bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_HALF:
    case BSM_DTYPE_BFLOAT16:
      return dtype;
    default:
      return target->host->ops->compute_dtype(target->host, layer, dtype);
  }
}

/* Products of floats, that is. */
static bool multiplies(const bsm_layer *layer) {
  return (layer->kind == BSM_LAYER_CONVOLUTION ||
          layer->kind == BSM_LAYER_DECONVOLUTION ||
          layer->kind == BSM_LAYER_MATRIX_MULTIPLY) &&
         layer->inputs.items[0]->dtype == BSM_DTYPE_FLOAT;
}

/* What computes in float can compute in half and bfloat16: products multiply
 * these as they are and sum in float, other layers compute in float and round
 * what they store. Tensor cores take tf32 since sm_80. */
static uint32_t precisions(const bsm_target *target, const bsm_layer *layer) {
  const uint32_t bits = target->host->ops->precisions(target->host, layer);
  if (!(bits & BSM_PRECISION_FP32)) return bits;
  const bool tf32 = multiplies(layer) && bsm_cuda_target_of(target)->sm >= 80;
  return bits | BSM_PRECISION_FP16 | BSM_PRECISION_BF16 |
         (tf32 ? BSM_PRECISION_TF32 : 0);
}

static bool fuses(const bsm_target *target, bsm_fusion fusion,
                  bsm_dtype dtype) {
  if (fusion == BSM_FUSION_FP8 && bsm_cuda_target_of(target)->sm < 89) {
    return false;
  }
  return (dtype == BSM_DTYPE_FLOAT || dtype == BSM_DTYPE_HALF ||
          dtype == BSM_DTYPE_BFLOAT16);
}

static bsm_image_layout image_layout(const bsm_target *target,
                                     const bsm_layer *layer) {
  (void)target;
  (void)layer;
  return BSM_IMAGE_CHANNELS_LAST;
}

static bool reads_any_layout(const bsm_target *target, const bsm_layer *layer) {
  /* What multiplies tiles gathers them, which is slow but for few maps. */
  const bsm_itensor *x = layer->inputs.items[0];
  return layer->kind == BSM_LAYER_CONVOLUTION && x->dims.rank >= 3 &&
         x->dims.d[1] <= 4 &&
         bsm_cuda_unit_of(x->dtype, layer->precision,
                          bsm_cuda_target_of(target)->sm);
}

/* ---- steps ---- */

static size_t list_tactics(const bsm_target *target, const bsm_plan *plan,
                           const bsm_plan_step *step, const char **names) {
  const bsm_cuda_step_kind *kind = bsm_cuda_step_kind_of(step->kind);
  if (kind && kind->tactics) {
    return kind->tactics(plan, step, bsm_cuda_target_of(target)->sm, names);
  }
  names[0] = "default";
  return 1;
}

static double cost(const bsm_target *target, const bsm_plan *plan,
                   const bsm_plan_step *step, const char *tactic) {
  const bsm_cuda_step_kind *kind = bsm_cuda_step_kind_of(step->kind);
  return kind && kind->cost
             ? kind->cost(plan, step, bsm_cuda_target_of(target)->sm, tactic)
             : 0;
}

static void adopt(const bsm_target *target, const bsm_plan_step *step,
                  const char *tactic, bsm_step_params *params) {
  /* By warpgroups, that is, which sm_100 has not. */
  const int sm = bsm_cuda_target_of(target)->sm;
  const bool tf32 =
      step->precision == BSM_PRECISION_TF32 && sm >= 90 && sm < 100;
  (void)tactic;
  if (step->kind == BSM_STEP_CONVOLUTION) {
    /* Depthwise windows are multiplied in float. */
    params->convolution.form = tf32 && params->convolution.groups == 1
                                   ? BSM_CUDA_KERNEL_TF32
                                   : BSM_CUDA_KERNEL_PLAIN;
  } else if (step->kind == BSM_STEP_MATRIX_MULTIPLY && tf32 &&
             params->matrix_multiply.form == BSM_CUDA_MATRIX_PLAIN) {
    params->matrix_multiply.form = BSM_CUDA_MATRIX_TF32;
  }
}

/* Products make floats of such numbers whatever they are stored in. Forms and
 * packing are the CPU's. */
static int32_t few_bits_form(const bsm_target *target, bsm_dtype dtype,
                             int32_t bits, int64_t group) {
  const bsm_target *host = target->host;
  return bsm_cuda_is_float(dtype) && host->ops->few_bits_form
             ? host->ops->few_bits_form(host, BSM_DTYPE_FLOAT, bits, group)
             : BSM_CUDA_MATRIX_PLAIN;
}

static bsm_status unpack(const bsm_target *target, const bsm_plan_step *step,
                         const void *packed, bool transposed, float *values) {
  const bsm_target *host = target->host;
  return host->ops->unpack(host, step, packed, transposed, values);
}

static bool is_approximate(const bsm_target *target,
                           const bsm_plan_step *step) {
  (void)target;
  (void)step;
  return false;
}

static const bsm_target_pass passes[] = {
    {"unify_quantizers", false, bsm_pass_unify_quantizers},
    {"move_quantizers", false, bsm_pass_move_quantizers},
    {"skip_quantizers", false, bsm_pass_skip_quantizers},
    {"fuse_int8", false, bsm_pass_fuse_int8},
    {"merge_int8", false, bsm_pass_merge_int8},
};

const bsm_target_ops bsm_cuda_target_ops = {
    .version = BSM_TARGET_VERSION,
    .name = "cuda",
    .parse = parse,
    .check_here = check_here,
    .machine_key = bsm_cuda_machine_key,
    .supports = supports,
    .compute_dtype = compute_dtype,
    .precisions = precisions,
    .fuses = fuses,
    .image_layout = image_layout,
    .reads_any_layout = reads_any_layout,
    .unsigned_activations = true,
    .passes = passes,
    .pass_count = sizeof(passes) / sizeof(passes[0]),
    .tactics = list_tactics,
    .cost = cost,
    .step_seconds = bsm_cuda_step_seconds,
    .adopt = adopt,
    .pack_version = 3,
    .pack = bsm_cuda_pack,
    .few_bits_form = few_bits_form,
    .unpack = unpack,
    .is_approximate = is_approximate,
    .add_code = bsm_cuda_add_code,
    .open_timer = bsm_cuda_timer_open,
    .close_timer = bsm_cuda_timer_close,
    .timer_conditions = bsm_cuda_timer_conditions,
    .time = bsm_cuda_timer_run,
};
