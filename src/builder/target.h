/* SPDX-License-Identifier: Apache-2.0 */
/* What plans are built for: a target says which layers its device runs and in
 * which dtypes, which layouts suit it, what fuses there; it brings passes of
 * its own, lists the tactics of steps, packs weights, times and checks them.
 *
 * A target is a value: a name and parameters, written as one line of text that
 * plans carry. Plans depend on it and on the options of the build alone, so
 * that any machine builds what another one would, as long as nothing is timed.
 *
 * An implementation is one bsm_target_ops, listed in backend/targets.c. It is
 * asked by the builder; what it answers with its own words (tactics, forms of
 * weights) nobody else interprets. The device that runs its plans has the same
 * name (backend/device.h). A target is read only and may be shared by threads.
 */
#ifndef BSM_BUILDER_TARGET_H_
#define BSM_BUILDER_TARGET_H_

#include "base/strings.h"
#include "bessemer/log.h"
#include "builder/packing.h"
#include "engine/plan.h"
#include "network/layer.h"

/* Of this interface: a table of another version is refused. */
#define BSM_TARGET_VERSION 2
#define BSM_MAX_TACTICS 16

typedef struct bsm_target_ops bsm_target_ops;

/* The first member of an implementation's own struct. */
typedef struct bsm_target {
  const bsm_target_ops *ops;
  /* The name and all parameters: "cpu:avx512,threads=2,l2=2097152". Equal texts
   * are equal targets, on every machine. */
  const char *text;
  /* For the layers that it does not take; itself when it runs on the host. */
  const struct bsm_target *host;
} bsm_target;

/* How a target is asked for. */
typedef struct bsm_target_request {
  /* "NAME" for this machine, or "NAME:PARAMETER,..." for any; NULL: the name
   * of the first target that is linked in, "cpu". */
  const char *text;
  /* Older ways to say parameters, which may not contradict the text: how many
   * threads run a plan (0: not said), and with which instructions of the CPU
   * (bits of base/isa.h, of which those that this machine lacks are dropped; or
   * BSM_TARGET_ANY_ISA: not said). */
  int threads;
  uint32_t isa;
} bsm_target_request;
#define BSM_TARGET_ANY_ISA UINT32_MAX

/* What a pass wants to join to what: `layer` is the one that would do more. */
typedef enum bsm_fusion {
  BSM_FUSION_EPILOGUE, /* bias, factor, residual, activation into a product */
  BSM_FUSION_SCALE,    /* a batch norm's factors into a convolution's kernel */
  BSM_FUSION_MERGE,    /* products of one tensor side by side */
  BSM_FUSION_ATTENTION /* products around a softmax */
} bsm_fusion;

/* Where images have their channels. */
typedef enum bsm_image_layout {
  BSM_IMAGE_CHANNELS_FIRST, /* row-major, as their dims are written */
  BSM_IMAGE_CHANNELS_LAST   /* innermost */
} bsm_image_layout;

/* A pass over the network that the target brings: see builder/passes.h. */
typedef struct bsm_target_pass {
  const char *name;
  /* Before element-wise layers become programs, or when all else is done. */
  bool last;
  bsm_status (*run)(const bsm_target *target, bsm_network *net,
                    bsm_arena *scratch);
} bsm_target_pass;

/* A plan under construction: everything is in it but the weights that wait for
 * the tactics of their steps, for which it has room. */
typedef struct bsm_plan_draft {
  bsm_plan *plan;
  const bsm_pending_pack *pending; /* by step, ascending */
  size_t pending_count;
  bsm_arena *arena;   /* the plan's */
  bsm_arena *scratch; /* until the plan is done */
  const bsm_logger *logger;
} bsm_plan_draft;

/* Runs steps of a draft to see how long they take. */
typedef struct bsm_tactic_timer bsm_tactic_timer;

struct bsm_target_ops {
  uint32_t version; /* BSM_TARGET_VERSION */
  const char *name; /* "cpu" */

  /* The target of a request, in `arena`. `parameters`: what stands behind the
   * colon, or NULL for this machine.
   * BSM_INVALID_ARGUMENT: an unknown parameter or value, with those there are;
   * a contradiction. BSM_UNSUPPORTED: this machine cannot be its target. */
  bsm_status (*parse)(const bsm_target_request *request, const char *parameters,
                      bsm_arena *arena, const bsm_target **out);
  /* BSM_UNSUPPORTED when this machine cannot run what is built for it, and so
   * cannot time it: with what to do. */
  bsm_status (*check_here)(const bsm_target *target);
  /* Adds to `text` what tells machines of this target apart when they are
   * timed. */
  void (*machine_key)(const bsm_target *target, bsm_text *text);

  /* ---- layers ---- */

  /* Whether the device runs the layer, with the dtypes that its tensors have.
   * Layers that only move data or make it (views, copies) it always runs. */
  bool (*supports)(const bsm_target *target, const bsm_layer *layer);
  /* The dtype in which products (convolutions, matrix multiplies) of `dtype`
   * are computed; another than `dtype`: operands are converted before and the
   * result is rounded once, after all of the sum. */
  bsm_dtype (*compute_dtype)(const bsm_target *target, const bsm_layer *layer,
                             bsm_dtype dtype);
  /* The precisions, as bits, that it computes the layer in: as its dtypes are,
   * or, of a layer of float32, once its tensors are cast to float16 or bfloat16
   * around it. NONE: it computes in integers or float64, or moves data. NULL:
   * it says so of no layer. */
  uint32_t (*precisions)(const bsm_target *target, const bsm_layer *layer);
  /* Whether a fusion into a layer that computes in `dtype` holds. */
  bool (*fuses)(const bsm_target *target, bsm_fusion fusion, bsm_dtype dtype);
  /* The images of a layer of windows: those that a convolution or
   * deconvolution reads and writes have this layout; pooling and resizing take
   * any, and are fastest with it. */
  bsm_image_layout (*image_layout)(const bsm_target *target,
                                   const bsm_layer *layer);
  /* Whether a convolution reads its first input in whatever layout it has. */
  bool (*reads_any_layout)(const bsm_target *target, const bsm_layer *layer);
  const bsm_target_pass *passes;
  size_t pass_count;

  /* ---- tactics ---- */

  /* The tactics for a step, best guess first; returns the count, at most
   * BSM_MAX_TACTICS. Names are static strings. */
  size_t (*tactics)(const bsm_target *target, const bsm_plan *plan,
                    const bsm_plan_step *step, const char **names);
  /* How long a tactic may take beside the others of the step, an estimate in
   * any unit; 0 when there is none. */
  double (*cost)(const bsm_target *target, const bsm_plan *plan,
                 const bsm_plan_step *step, const char *tactic);
  /* Sets in `params`, those of a step that is being built, the form of weights
   * that a tactic needs: before pack. The tactics of a step are listed for all
   * forms; once packed, only those of its form can run. */
  void (*adopt)(const bsm_target *target, const bsm_plan_step *step,
                const char *tactic, bsm_step_params *params);

  /* ---- weights ---- */

  /* Raise when `pack` packs anything in another way: keys of packed weights in
   * files then find nothing instead of weights of the old form. */
  uint32_t pack_version;
  /* Packs the kernel or matrix of a step's weights[0]: CONVOLUTION: `values`
   * is [out, in/groups, spatial...]; DECONVOLUTION: [in, out/groups,
   * spatial...]; MATRIX_MULTIPLY: [K, N], or [N, K] with `transposed`; of the
   * step's dtype, `element` bytes each. With `packed` NULL only *size is set.
   * Depends on the step's parameters and the target's name alone. */
  bsm_status (*pack)(const bsm_target *target, const bsm_plan_step *step,
                     int64_t in_maps, const void *values, size_t element,
                     bool transposed, void *packed, uint64_t *size);
  /* Whether the step's weights have a form whose roundings check_accuracy
   * bounds; such weights are packed after it. */
  bool (*is_approximate)(const bsm_target *target, const bsm_plan_step *step);
  /* Takes tactics back whose results are not exact enough, in steps whose
   * weights are still pending. NULL: all are exact. */
  bsm_status (*check_accuracy)(const bsm_target *target,
                               const bsm_plan_draft *draft);

  /* ---- timing ---- */

  /* Makes ready to time steps of a draft, whose steps have tactics of exact
   * forms; close it, in any case that *out is set. */
  bsm_status (*open_timer)(const bsm_target *target,
                           const bsm_plan_draft *draft, bsm_tactic_timer **out);
  void (*close_timer)(bsm_tactic_timer *timer);
  /* What the times depend on beside the step and the machine: part of the keys
   * of timing caches. */
  int32_t (*timer_conditions)(const bsm_tactic_timer *timer);
  /* The shortest of some runs of each tactic, in seconds. `pending`: of weights
   * that are not packed yet, or NULL; values of no meaning stand in for them.
   * The step keeps the last tactic. A step that fails, which only its data can
   * cause, takes 0 seconds. */
  bsm_status (*time)(bsm_tactic_timer *timer, bsm_plan_step *step,
                     const bsm_pending_pack *pending,
                     const char *const *tactics, size_t count, double *seconds);
};

/* The targets that are linked in: backend/targets.c, which a program may
 * replace. There is one at least. */
const bsm_target_ops *const *bsm_target_table(size_t *count);

/* The target of a request, in `arena`. `request` NULL: this machine's CPU.
 * BSM_INVALID_ARGUMENT: no target of that name, with those there are; or as
 * `parse`. BSM_INTERNAL: it has another version of this interface. */
BSM_NODISCARD bsm_status bsm_target_parse(const bsm_target_request *request,
                                          bsm_arena *arena,
                                          const bsm_target **out);

#endif /* BSM_BUILDER_TARGET_H_ */
