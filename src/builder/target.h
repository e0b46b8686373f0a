/* SPDX-License-Identifier: Apache-2.0 */
/* Targets: what plans are built for. A target says which layers its device
 * runs, in which dtypes and layouts, and what can be fused. It brings passes of
 * its own, lists the tactics of steps, packs weights, and times and checks
 * steps.
 *
 * A target is a value: a name and parameters, written as one line of text that
 * plans have in them. As long as nothing is timed, plans depend only on the
 * model, the target and the options of the build, so every machine builds the
 * same plan.
 *
 * An implementation is one bsm_target_ops, listed in backend/targets.c. The
 * builder calls its functions, and nothing else interprets its own names and
 * numbers (tactics, forms of weights). The device that runs its plans has the
 * same name (backend/device.h). A target is read only, and threads may share
 * it. */
#ifndef BSM_BUILDER_TARGET_H_
#define BSM_BUILDER_TARGET_H_

#include "base/strings.h"
#include "bessemer/log.h"
#include "builder/packing.h"
#include "engine/plan.h"
#include "network/layer.h"

/* The version of this interface; a table of another version is refused. */
#define BSM_TARGET_VERSION 9
#define BSM_MAX_TACTICS 16

typedef struct bsm_target_ops bsm_target_ops;

/* The first member of an implementation's own struct. */
typedef struct bsm_target {
  const bsm_target_ops *ops;
  /* The name and all parameters: "cpu:avx512,threads=2,l2=2097152". Equal texts
   * are equal targets, on every machine. */
  const char *text;
  /* The target for layers that this one does not take; itself when it runs on
   * the host. */
  const struct bsm_target *host;
} bsm_target;

/* A request for a target. */
typedef struct bsm_target_request {
  /* "NAME" for this machine, or "NAME:PARAMETER,..." for any; NULL: the name
   * of the first target that is linked in, "cpu". */
  const char *text;
  /* Older ways to give parameters, which may not contradict the text: the
   * number of threads that run a plan (0: not given), and the instructions of
   * the CPU (bits of base/isa.h, without those that this machine lacks; or
   * BSM_TARGET_ANY_ISA: not given). */
  int threads;
  uint32_t isa;
  /* Layers are going to be quantized: the target of this machine says how fast
   * it is at that. */
  bool quantizes;
  /* None are: what is said about that is left out of the target. */
  bool plain;
} bsm_target_request;
#define BSM_TARGET_ANY_ISA UINT32_MAX

/* The kinds of fusions that passes ask about. */
typedef enum bsm_fusion {
  BSM_FUSION_EPILOGUE,  /* bias, factor, residual, activation into a product */
  BSM_FUSION_SCALE,     /* a batch norm's factors into a convolution's kernel */
  BSM_FUSION_MERGE,     /* products of one tensor side by side */
  BSM_FUSION_ATTENTION, /* products around a softmax */
  BSM_FUSION_INT8,      /* what quantizes the operands of a product */
  BSM_FUSION_FP8,       /* the same, to float8_e4m3fn */
  BSM_FUSION_BYTES      /* a QUANTIZE layer into a normalization */
} bsm_fusion;

/* Where images have their channels. */
typedef enum bsm_image_layout {
  BSM_IMAGE_CHANNELS_FIRST, /* row-major, as their dims are written */
  BSM_IMAGE_CHANNELS_LAST   /* innermost */
} bsm_image_layout;

/* A pass of the target over the network; see builder/passes.h. */
typedef struct bsm_target_pass {
  const char *name;
  /* false: runs before element-wise layers become programs; true: runs after
   * all other passes. */
  bool last;
  bsm_status (*run)(const bsm_target *target, bsm_network *net,
                    bsm_arena *scratch);
} bsm_target_pass;

/* A plan under construction. Only the weights that wait for the tactics of
 * their steps are not in it yet; it has room for them. */
typedef struct bsm_plan_draft {
  bsm_plan *plan;
  const bsm_pending_pack *pending; /* by step, ascending */
  size_t pending_count;
  bsm_arena *arena;   /* the plan's */
  bsm_arena *scratch; /* until the plan is done */
  /* What runs of the whole plan may take, as bsm_build_options has it. */
  double trial_work;
  uint64_t trial_bytes;
  const bsm_logger *logger;
} bsm_plan_draft;

/* Runs steps of a draft to see how long they take. */
typedef struct bsm_tactic_timer bsm_tactic_timer;

/* What a program is going to link. */
typedef struct bsm_link_request {
  const bsm_plan *const *plans; /* of engines, with all of their parts */
  size_t plan_count;            /* 0: everything but kernels is linked */
  const char *isas; /* instruction sets, such as "avx2,scalar"; NULL: all */
} bsm_link_request;

/* Estimates, in any unit; that of int8 with what quantizes the input. */
typedef struct bsm_int8_times {
  double fp32, int8;
} bsm_int8_times;

struct bsm_target_ops {
  uint32_t version; /* BSM_TARGET_VERSION */
  const char *name; /* "cpu" */

  /* Makes the target of a request, in `arena`. `parameters`: the text after the
   * colon, or NULL for this machine.
   * BSM_INVALID_ARGUMENT: an unknown parameter or value (the message lists the
   * known ones), or a contradiction.
   * BSM_UNSUPPORTED: this machine cannot be such a target. */
  bsm_status (*parse)(const bsm_target_request *request, const char *parameters,
                      bsm_arena *arena, const bsm_target **out);
  /* BSM_UNSUPPORTED when this machine cannot run what is built for the target,
   * and so cannot time it. The message says what to do. */
  bsm_status (*check_here)(const bsm_target *target);
  /* Adds to `text` what distinguishes machines of this target when steps are
   * timed. */
  void (*machine_key)(const bsm_target *target, bsm_text *text);

  /* ---- layers ---- */

  /* Whether the device runs the layer with the dtypes of its tensors. It always
   * runs layers that only move or make data (views, copies, constants), but for
   * complex numbers. */
  bool (*supports)(const bsm_target *target, const bsm_layer *layer);
  /* The dtype in which products (convolutions, matrix multiplies) of `dtype`
   * are computed. When it is not `dtype`, operands are converted before, and
   * the result is rounded once after the whole sum. */
  bsm_dtype (*compute_dtype)(const bsm_target *target, const bsm_layer *layer,
                             bsm_dtype dtype);
  /* The precisions, as bits, that the target can compute the layer in: with its
   * dtypes, or, for a layer of float32, with its tensors cast to float16 or
   * bfloat16. NONE: the layer computes in integers or float64, or moves data.
   * NULL: none for all layers. */
  uint32_t (*precisions)(const bsm_target *target, const bsm_layer *layer);
  /* Whether a layer of float32 is expected to be as fast or faster in one of
   * these precisions, which is cast around it. NULL: all are. */
  bool (*gains)(const bsm_target *target, const bsm_layer *layer,
                bsm_precision precision);
  /* How long a layer of float32 is expected to take, and in int8 instead. NULL,
   * or zeros: int8 is always faster. */
  bsm_int8_times (*int8_times)(const bsm_target *target,
                               const bsm_layer *layer);
  /* The dtype that layers of half or bfloat16 compute in and leave their
   * results in for each other, where that is faster: what a model rounds
   * between them is not. `multiplies`: the network has products of `dtype`.
   * `dtype` itself: each layer rounds. NULL: for all. */
  bsm_dtype (*wide_dtype)(const bsm_target *target, bsm_dtype dtype,
                          bool multiplies);
  /* Whether the target allows a fusion into a layer that computes in `dtype`.
   */
  bool (*fuses)(const bsm_target *target, bsm_fusion fusion, bsm_dtype dtype);
  /* The layout of images of layers with windows. A convolution or deconvolution
   * reads and writes this layout; pooling and resizing take any, and are
   * fastest with this one. */
  bsm_image_layout (*image_layout)(const bsm_target *target,
                                   const bsm_layer *layer);
  /* Whether a convolution or deconvolution reads its first input in any layout.
   */
  bool (*reads_any_layout)(const bsm_target *target, const bsm_layer *layer);
  /* Whether it writes its output in any. NULL: none does. */
  bool (*writes_any_layout)(const bsm_target *target, const bsm_layer *layer);
  /* The elements from pixel to pixel of an image of so many maps, innermost,
   * that depthwise convolutions read or write: at least `maps`. NULL: `maps`.
   */
  int64_t (*pixel_pitch)(const bsm_target *target, int64_t maps,
                         bsm_dtype dtype);
  /* A transposed convolution of float32 with strides of 1 is built as a
   * convolution. */
  bool turns_deconvolutions;
  /* Activations are quantized to uint8 with a zero point; false: to int8
   * without. */
  bool unsigned_activations;
  const bsm_target_pass *passes;
  size_t pass_count;

  /* ---- tactics ---- */

  /* The tactics for a step, best guess first; returns the count, at most
   * BSM_MAX_TACTICS. Names are static strings. */
  size_t (*tactics)(const bsm_target *target, const bsm_plan *plan,
                    const bsm_plan_step *step, const char **names);
  /* An estimate of how long a tactic takes, in any unit, for comparison with
   * the others of the step; 0: there is none. */
  double (*cost)(const bsm_target *target, const bsm_plan *plan,
                 const bsm_plan_step *step, const char *tactic);
  /* An estimate of how long a step takes with the tactic that it has, in
   * seconds, for choosing between plans. NULL: plans are not compared. */
  double (*step_seconds)(const bsm_target *target, const bsm_plan *plan,
                         const bsm_plan_step *step);
  /* Sets the form of weights that a tactic needs in `params`, the parameters of
   * a step that is being built. Called before pack. While weights are pending,
   * tactics of all forms are listed; once they are packed, only tactics of that
   * form can run. */
  void (*adopt)(const bsm_target *target, const bsm_plan_step *step,
                const char *tactic, bsm_step_params *params);

  /* ---- weights ---- */

  /* To be raised when `pack` changes what it makes: then keys of packed weights
   * in files find nothing instead of weights of the old form. */
  uint32_t pack_version;
  /* Packs the kernel or matrix of a step's weights[0]: CONVOLUTION: `values` is
   * [out, in/groups, spatial...]; DECONVOLUTION: [in, out/groups, spatial...];
   * MATRIX_MULTIPLY: [K, N], or [N, K] with `transposed`; of the step's dtype,
   * `element` bytes each. With `packed` NULL only *size is set. The result
   * depends only on the step's parameters and the target's name. */
  bsm_status (*pack)(const bsm_target *target, const bsm_plan_step *step,
                     int64_t in_maps, const void *values, size_t element,
                     bool transposed, void *packed, uint64_t *size);
  /* The form of the constant matrix of a product of `dtype` whose numbers have
   * `bits` bits, 8 or 4, with a scale for each column, or with 4 for each
   * column and `group` rows, greater than 0; 0: the target has none. NULL: none
   * for all. */
  int32_t (*few_bits_form)(const bsm_target *target, bsm_dtype dtype,
                           int32_t bits, int64_t group);
  /* Writes what such a packed matrix stands for, in the order of `values` of
   * pack. NULL: few_bits_form is. */
  bsm_status (*unpack)(const bsm_target *target, const bsm_plan_step *step,
                       const void *packed, bool transposed, float *values);
  /* Whether the step's weights have an approximate form, whose rounding
   * check_accuracy bounds. Such weights are packed after check_accuracy. */
  bool (*is_approximate)(const bsm_target *target, const bsm_plan_step *step);
  /* Replaces tactics whose results are not accurate enough, in steps whose
   * weights are pending. NULL: all are exact. */
  bsm_status (*check_accuracy)(const bsm_target *target,
                               const bsm_plan_draft *draft);

  /* Runs a whole plan of float on this machine, on made-up inputs: the greatest
   * magnitude of each of its tensors, which is 0 before. *ran false: the plan
   * cannot be run so. NULL: the target stores nothing in float16 that the
   * options do not ask for by name. */
  bsm_status (*greatest_values)(const bsm_target *target, bsm_plan *plan,
                                bool *ran, double *greatest);

  /* ---- code ---- */

  /* Makes the machine code that the steps of all parts of a plan run, and adds
   * it to the plan, in `arena`. NULL: its device needs none. */
  bsm_status (*add_code)(const bsm_target *target, bsm_plan *plan,
                         bsm_arena *arena, const bsm_logger *logger);

  /* ---- timing ---- */

  /* Prepares for timing the steps of a draft, which have tactics of exact
   * forms. Whenever *out is set, it has to be closed. */
  bsm_status (*open_timer)(const bsm_target *target,
                           const bsm_plan_draft *draft, bsm_tactic_timer **out);
  void (*close_timer)(bsm_tactic_timer *timer);
  /* What times depend on besides the step and the machine: part of the keys of
   * timing caches. */
  int32_t (*timer_conditions)(const bsm_tactic_timer *timer);
  /* Measures the shortest of some runs of each tactic, in seconds. `pending`:
   * weights that are not packed yet, or NULL; arbitrary values stand in for
   * them. The step keeps the last tactic. A step that fails, which only its
   * data can cause, gets 0 seconds. */
  bsm_status (*time)(bsm_tactic_timer *timer, bsm_plan_step *step,
                     const bsm_pending_pack *pending,
                     const char *const *tactics, size_t count, double *seconds);

  /* ---- linking ---- */

  /* Writes the tables of its device's drivers and kernels (base/linked.h) in C,
   * with what a program links for some engines. NULL: it has none. */
  bsm_status (*link_list)(const bsm_link_request *request, bsm_text *text);
};

/* What keys of its packed weights begin with. */
static inline bsm_packer bsm_target_packer(const bsm_target *target) {
  return (bsm_packer){target->ops->name, target->ops->pack_version};
}

/* The targets that are linked in: backend/targets.c, which a program may
 * replace. There is at least one. */
const bsm_target_ops *const *bsm_target_table(size_t *count);

/* Makes the target of a request, in `arena`. `request` NULL: this machine's
 * CPU.
 * BSM_INVALID_ARGUMENT: there is no target of that name (the message lists the
 * names), or `parse` says so. BSM_INTERNAL: the target has another version of
 * this interface. */
BSM_NODISCARD bsm_status bsm_target_parse(const bsm_target_request *request,
                                          bsm_arena *arena,
                                          const bsm_target **out);

/* The tactics of a step that are worth timing, by their cost. */
size_t bsm_target_competitive_tactics(const bsm_target *target,
                                      const bsm_plan *plan,
                                      const bsm_plan_step *step,
                                      const char **names);

/* Whether the target of plans runs a layer: for conversion, as `takes` of its
 * options. */
static inline bool bsm_target_takes(const void *target,
                                    const bsm_layer *layer) {
  const bsm_target *t = target;
  return t->ops->supports(t, layer);
}

#endif /* BSM_BUILDER_TARGET_H_ */
