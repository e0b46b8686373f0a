/* SPDX-License-Identifier: Apache-2.0 */
/* The plan under construction: buffers, tensors over them, steps.
 *
 * A buffer is memory with a lifetime (first to last step) that gets its offset
 * later (memory_plan.c). A tensor is a layout over a buffer; views share one.
 * Constants become weights of the plan only when a step reads them. */
#ifndef BSM_BUILDER_EMITTER_H_
#define BSM_BUILDER_EMITTER_H_

#include "builder/builder.h"
#include "builder/layout.h"
#include "builder/packing.h"
#include "builder/uses.h"

typedef struct bsm_buffer {
  bsm_memory_space space;
  bsm_memory_place place;
  uint32_t index;           /* INPUT, OUTPUT: the binding */
  uint64_t size;            /* bytes */
  bsm_dtype dtype;          /* WEIGHTS: the data that a step reads ... */
  bsm_raw_weights constant; /* ... and the memory that it is made from */
  uint32_t weights;     /* WEIGHTS: id in the plan, BSM_NO_WEIGHTS: unused */
  uint32_t first, last; /* steps; first > last: never touched */
  uint64_t offset;      /* WORKSPACE: set by the memory plan */
  uint32_t merged_into; /* another buffer whose memory it uses, or itself */
} bsm_buffer;

typedef struct bsm_build_tensor {
  const char *name;
  uint32_t buffer;
  bsm_dtype dtype;
  bsm_layout layout;
  int64_t offset; /* elements from the start of the buffer */
} bsm_build_tensor;

#define BSM_NO_TENSOR UINT32_MAX

typedef struct bsm_emitter {
  bsm_network *net;
  const bsm_build_options *options;
  /* The space that steps are emitted in (placement.c), and its target. */
  bsm_memory_space space;
  bsm_precision precision; /* of the layer that is being emitted */
  const bsm_target *target;
  bsm_arena *arena;   /* of the plan */
  bsm_arena *scratch; /* until the plan is done */
  bsm_uses uses;
  BSM_VEC(bsm_buffer) buffers;
  BSM_VEC(bsm_build_tensor) tensors;
  BSM_VEC(bsm_plan_step) steps;
  BSM_VEC(bsm_plan_weights) weights;
  BSM_VEC(bsm_pending_pack) pending; /* by step, ascending */
  size_t packed;                     /* of them */
  bsm_strmap by_content; /* hash and size of own weights -> their ids */
  bsm_strmap by_raw;     /* keys in memory of what is packed -> their ids */
  bsm_strmap by_place;   /* address and size of borrowed ones -> their ids */
  /* By itensor id, in `space`: its tensor, or BSM_NO_TENSOR; then its
   * contiguous and its channels-last copy. */
  uint32_t *value, **relaid;
  /* The same for all spaces. */
  uint32_t *values[BSM_MEMORY_SPACES];
  uint32_t *relaids[BSM_MEMORY_SPACES][2];
} bsm_emitter;

enum { BSM_RELAID_CONTIGUOUS = 0, BSM_RELAID_CHANNELS_LAST = 1 };

/* Makes a buffer of the workspace with a tensor over all of it. */
BSM_NODISCARD bsm_status bsm_build_new(bsm_emitter *e, const char *name,
                                       bsm_dtype dtype, bsm_layout layout,
                                       uint32_t *out);
/* Makes a tensor of the layout and dtype of `other`, which is in another space:
 * over a buffer of the workspace, or over the same constant. */
BSM_NODISCARD bsm_status bsm_build_like(bsm_emitter *e, uint32_t other,
                                        uint32_t *out);
/* Makes another layout over the buffer of `base`, beginning `offset` elements
 * later. */
BSM_NODISCARD bsm_status bsm_build_view(bsm_emitter *e, uint32_t base,
                                        bsm_layout layout, int64_t offset,
                                        uint32_t *out);
/* Makes a tensor over constant data. The data is copied when a step reads it,
 * and converted if `held`, its dtype in memory, is another one. */
BSM_NODISCARD bsm_status bsm_build_constant(bsm_emitter *e, const char *name,
                                            bsm_dtype dtype, bsm_dims dims,
                                            bsm_dtype held, const void *data,
                                            uint32_t *out);
/* The constant data of a tensor, from its offset on, as it is in memory; false
 * when the tensor is not constant. */
bool bsm_build_constant_raw(const bsm_emitter *e, uint32_t tensor,
                            bsm_raw_weights *out);

static inline const bsm_build_tensor *bsm_build_tensor_at(const bsm_emitter *e,
                                                          uint32_t id) {
  return &e->tensors.items[id];
}
/* The tensor of a network tensor; emission is in order, so it exists. */
static inline uint32_t bsm_build_value(const bsm_emitter *e,
                                       const bsm_itensor *t) {
  return e->value[t->id];
}

/* The value of `t` in a layout that fits, copied (once) if need be. */
BSM_NODISCARD bsm_status bsm_build_as_contiguous(bsm_emitter *e,
                                                 const bsm_itensor *t,
                                                 uint32_t *out);
/* Brings an image of `layer`, which has windows, to the layout that the target
 * wants. */
BSM_NODISCARD bsm_status bsm_build_as_image(bsm_emitter *e,
                                            const bsm_layer *layer,
                                            const bsm_itensor *t,
                                            uint32_t *out);
/* The layout that the target gives to an image of `layer`. */
bsm_layout bsm_build_image_layout(const bsm_emitter *e, const bsm_layer *layer,
                                  bsm_dims dims);
/* The same for the output of a convolution, whose pixels are the target's pitch
 * apart where a depthwise convolution makes or reads them, and nothing but
 * convolutions of single maps or pixels does. */
bsm_layout bsm_build_convolved_layout(const bsm_emitter *e,
                                      const bsm_layer *layer);
/* Brings an image to the order in memory of another of the same dims, if one
 * of the two has its channels innermost. */
bsm_status bsm_build_as_ordered(bsm_emitter *e, const bsm_itensor *t,
                                const bsm_layout *layout, uint32_t *out);
/* Whether a reader of `t`, up to `depth` layers away, wants channels innermost.
 */
bool bsm_build_readers_want_channels_last(const bsm_emitter *e,
                                          const bsm_itensor *t, int depth);
/* Whether the layer has windows and works on channels-last memory. */
bool bsm_build_wants_channels_last(const bsm_emitter *e,
                                   const bsm_layer *layer);
/* A contiguous copy of any tensor, or itself. */
BSM_NODISCARD bsm_status bsm_build_contiguous_copy(bsm_emitter *e, uint32_t id,
                                                   const char *name,
                                                   uint32_t *out);

/* What a step consists of besides its tensors. */
typedef struct bsm_step_spec {
  bsm_step_kind kind;
  const char *name;
  const uint32_t *inputs;
  uint32_t input_count;
  const uint32_t *outputs;
  uint32_t output_count;
  const void *params; /* the member of the kind, copied */
} bsm_step_spec;
/* Appends a step without weights; *out is valid until the next one. */
BSM_NODISCARD bsm_status bsm_build_step(bsm_emitter *e,
                                        const bsm_step_spec *spec,
                                        bsm_plan_step **out);
/* Copies `src` into `dst` (same dims), converting the dtype. */
BSM_NODISCARD bsm_status bsm_build_copy(bsm_emitter *e, const char *name,
                                        uint32_t src, uint32_t dst);

/* Adds weights to the plan: a copy of `size` bytes, one for all equal contents,
 * or, when they are in a constant of the store, the original. */
BSM_NODISCARD bsm_status bsm_build_weights(bsm_emitter *e, const void *data,
                                           uint64_t size, uint32_t *out);
/* Requests packed weights for the last step, as its weights[0]. */
BSM_NODISCARD bsm_status bsm_build_pack(bsm_emitter *e, bsm_plan_step *step,
                                        const bsm_packing *packing);
/* Packs requested weights of steps whose tactics have been chosen, or takes
 * them from the store. */
BSM_NODISCARD bsm_status bsm_build_pending(bsm_emitter *e,
                                           const bsm_pending_pack *pending,
                                           bsm_plan_step *step);
/* placement.c: steps are emitted in `space` from now on. */
void bsm_build_enter(bsm_emitter *e, bsm_memory_space space);
/* The same for the space that has the value of `t`; the host when both have it.
 */
void bsm_build_enter_value(bsm_emitter *e, const bsm_itensor *t);
/* The same for the space that the layer belongs in; its inputs are brought
 * there. */
BSM_NODISCARD bsm_status bsm_build_place(bsm_emitter *e,
                                         const bsm_layer *layer);
/* The best space for an input of the network: that of its first reader. */
bsm_memory_space bsm_build_input_space(const bsm_emitter *e,
                                       const bsm_itensor *t);
/* The target that steps of a space are built for. */
const bsm_target *bsm_build_target_of(const bsm_emitter *e,
                                      bsm_memory_space space);

/* The layout of an output when any layout will do. If its only reader
 * transposes it and the last dimension stays last, the transposed tensor is
 * contiguous; otherwise the output itself is. */
bsm_layout bsm_build_preferred(const bsm_emitter *e, const bsm_itensor *t);

/* emit_layers.c: emits one layer; there is one function for each kind. */
BSM_NODISCARD bsm_status bsm_build_layer(bsm_emitter *e,
                                         const bsm_layer *layer);

/* Lets element-wise steps overwrite inputs that nothing reads later, and gives
 * every buffer of the workspaces its offset; *sizes: by space. */
BSM_NODISCARD bsm_status bsm_plan_memory(bsm_emitter *e, uint64_t *sizes);

/* Chooses the tactic of every step of a draft, and sets the forms of pending
 * weights. Notes measured times in the steps. */
BSM_NODISCARD bsm_status bsm_choose_tactics(const bsm_build_options *options,
                                            const bsm_plan_draft *draft);

#endif /* BSM_BUILDER_EMITTER_H_ */
