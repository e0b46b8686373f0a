/* SPDX-License-Identifier: Apache-2.0 */
/* What a step is on a GPU: kernels, one after the other, and what each is
 * launched with.
 *
 * One function for each kind of step (steps/) says so from the plan alone, on
 * any machine. The target calls it to learn which kernels to compile, the
 * device to launch them: so the two cannot disagree. Addresses are known only
 * when the step is enqueued; parameters have slots for them. */
#ifndef BSM_BACKEND_CUDA_LAUNCH_H_
#define BSM_BACKEND_CUDA_LAUNCH_H_

#include "backend/cuda/kernels/params.h"
#include "base/arena.h"
#include "base/strings.h"
#include "engine/plan.h"

/* What the kernel of a launch is compiled for. What the code does not say then,
 * its parameters do; the work, its order and the bits of the result are the
 * same, where no special kernel is chosen. */
typedef enum bsm_cuda_scope {
  BSM_CUDA_FOR_SIZES, /* a step, and what follows from its sizes and strides */
  /* Such steps of sizes that have a special kernel: the few forms of it that do
   * for most sizes. Bits may be others than those of FOR_SIZES: there is a
   * choice of tiles. */
  BSM_CUDA_FOR_RANGE,
  BSM_CUDA_FOR_STEP, /* such steps of any sizes and strides */
  BSM_CUDA_FOR_KIND  /* any step of the kind: dtypes, too, are parameters. There
                        are few such kernels: target/general_kernels.c */
} bsm_cuda_scope;

/* Machine code of one entry: a source of kernels/, specialised. */
typedef struct bsm_cuda_kernel {
  const char *source;  /* "softmax" for kernels/softmax.cu */
  const char *entry;   /* the kernel's name in it */
  const char *options; /* "--fmad=false -DK_T=f16", in a fixed order */
  /* Code that the source includes as "generated.cuh", or NULL. */
  const char *generated;
  /* All of that in one line, by which the code of an engine is found: equal
   * names, equal code. */
  const char *name;
} bsm_cuda_kernel;

/* Where an address comes from. */
typedef enum bsm_cuda_slot_kind {
  BSM_CUDA_SLOT_TENSOR,  /* of the plan, with its offset */
  BSM_CUDA_SLOT_WEIGHTS, /* of the plan */
  BSM_CUDA_SLOT_SCRATCH, /* of the step; `index` is an offset in bytes */
  BSM_CUDA_SLOT_FAULT,   /* where kernels report bad data: kernels/fault.cuh */
  /* BSM_CUDA_COUNTERS numbers of 32 bits of the stream, which are zero between
   * launches. */
  BSM_CUDA_SLOT_COUNTERS,
  BSM_CUDA_SLOT_ROUND /* no address, but the number of the round */
} bsm_cuda_slot_kind;

typedef struct bsm_cuda_slot {
  bsm_cuda_slot_kind kind;
  uint32_t offset; /* in the parameters, of 8 bytes */
  uint64_t index;
  int64_t bytes, advance; /* added to an address: once, and in each round */
} bsm_cuda_slot;

/* The launches of most steps happen once. Those of a loop do in rounds: one
 * after the other those of round 0, then those of round 1, ... A launch is in
 * the rounds first, first + every, ... that are before `end`. */
typedef struct bsm_cuda_rounds {
  int64_t first, every, end;
} bsm_cuda_rounds;

/* How a kernel copies tiles of 16-bit elements of a tensor: what the driver
 * writes into the parameters as a bsm_cuda_map once the address is known. */
typedef struct bsm_cuda_tiles {
  uint32_t address, map; /* where in the parameters both are */
  uint32_t rank;
  bool is_image; /* the tile is some pixels that windows begin at */
  uint64_t dims[5], strides[4]; /* innermost first; strides in bytes */
  /* The tile: each of its rows is 64 or 128 bytes, and swizzled. Of images the
   * maps and the number of pixels. */
  uint32_t box[5];
  /* Of images: windows begin at `lower` first, then every `step`, and last at
   * dims - 1 + upper; dimensions from the width on. */
  uint32_t step[5];
  int lower[3], upper[3];
} bsm_cuda_tiles;

/* Whether `size` elements of 2 bytes may be `stride` elements apart: copies
 * start at multiples of 16 bytes. */
static inline bool bsm_cuda_is_tile_stride(int64_t size, int64_t stride) {
  return size == 1 ||
         (stride > 0 && stride % 8 == 0 && stride < (int64_t)1 << 34);
}

#define BSM_CUDA_MAX_MAPS 3

typedef struct bsm_cuda_launch {
  bsm_cuda_kernel kernel;
  unsigned grid[3], block[3];
  unsigned shared_bytes; /* dynamic */
  void *params;          /* the kernel's one parameter; slots are zero */
  uint32_t params_size;
  bsm_cuda_slot *slots;
  uint32_t slot_count;
  const bsm_cuda_tiles *tiles[BSM_CUDA_MAX_MAPS];
  uint32_t tiles_count;
  bsm_cuda_rounds rounds;
} bsm_cuda_launch;

#define BSM_CUDA_COUNTERS 1024
#define BSM_CUDA_MAX_LAUNCHES 16
#define BSM_CUDA_MAX_OTHERS 8
#define BSM_CUDA_MAX_JOINED 4 /* steps of one kernel */
#define BSM_CUDA_MAX_SLOTS 40
/* CUDA's limit for the parameters of a kernel before 12.1. */
#define BSM_CUDA_MAX_PARAMS 4096

/* The launches of one step, as its function makes them. */
typedef struct bsm_cuda_launches {
  const bsm_plan *plan;
  const bsm_plan_step *step;
  bsm_arena *arena;
  bsm_cuda_scope scope;
  int sm; /* compute capability built for: 75, 80, 90, ... */
  bsm_cuda_launch items[BSM_CUDA_MAX_LAUNCHES];
  uint32_t count;
  /* Kernels that such a step launches at other sizes in this scope. */
  bsm_cuda_kernel others[BSM_CUDA_MAX_OTHERS];
  uint32_t other_count;
  int64_t rounds; /* 1, unless the function says otherwise */
  /* Steps behind this one that its launches do, too; and how many steps ahead
   * of it the one is that does it: it launches nothing, and needs its kernels.
   */
  uint32_t joined, ahead;
  size_t scratch_size; /* bytes that all of them share */
} bsm_cuda_launches;

/* Adds a launch whose parameters are a copy of `size` bytes at `params`; the
 * options are printed as `format` says, and are there in every scope. */
BSM_NODISCARD bsm_status bsm_cuda_add_launch(
    bsm_cuda_launches *l, const char *source, const char *entry,
    const void *params, size_t size, const char *format, ...) BSM_PRINTF(6, 7);
/* About the launch that was added last. Options that are there in no scope that
 * is wider than `widest`. */
BSM_NODISCARD bsm_status bsm_cuda_add_options(bsm_cuda_launches *l,
                                              bsm_cuda_scope widest,
                                              const char *format, ...)
    BSM_PRINTF(3, 4);
/* The option -DNAME=TYPE: the type of a dtype; for all of a kind, one of which
 * elements of any dtype are loaded and stored, held as those of `dtype` are. */
BSM_NODISCARD bsm_status bsm_cuda_add_type(bsm_cuda_launches *l,
                                           const char *name, bsm_dtype dtype);
/* The same, held as those of `held`. */
BSM_NODISCARD bsm_status bsm_cuda_add_second_type(bsm_cuda_launches *l,
                                                  const char *name,
                                                  bsm_dtype dtype,
                                                  bsm_dtype held);
/* The same of products, whose floating types are known in every scope: half of
 * the time they move elements. */
BSM_NODISCARD bsm_status bsm_cuda_add_product_type(bsm_cuda_launches *l,
                                                   bsm_dtype dtype);
/* Makes it no launch, but one of the others. */
BSM_NODISCARD bsm_status bsm_cuda_set_aside(bsm_cuda_launches *l);
void bsm_cuda_set_grid(bsm_cuda_launches *l, uint64_t x, uint64_t y,
                       uint64_t z);
void bsm_cuda_set_block(bsm_cuda_launches *l, unsigned x, unsigned y,
                        unsigned z);
void bsm_cuda_set_shared(bsm_cuda_launches *l, size_t bytes);
void bsm_cuda_set_rounds(bsm_cuda_launches *l, int64_t first, int64_t every,
                         int64_t end);
void bsm_cuda_set_generated(bsm_cuda_launches *l, const char *text);
BSM_NODISCARD bsm_status bsm_cuda_add_slot(bsm_cuda_launches *l,
                                           bsm_cuda_slot_kind kind,
                                           size_t offset, uint64_t index);
/* A copy of `tiles`; its address is in a slot. */
BSM_NODISCARD bsm_status bsm_cuda_add_tiles(bsm_cuda_launches *l,
                                            const bsm_cuda_tiles *tiles);
/* About the slot that was added last. */
void bsm_cuda_move_slot(bsm_cuda_launches *l, int64_t bytes, int64_t advance);
/* Kernels for all of a kind see the dtype in the address. */
void bsm_cuda_type_slot(bsm_cuda_launches *l, bsm_dtype dtype);
/* The same for a slot that has elements of a product. */
void bsm_cuda_type_product_slot(bsm_cuda_launches *l, bsm_dtype dtype);
/* A slot of a tensor of the plan, which is typed. */
BSM_NODISCARD bsm_status bsm_cuda_add_typed_slot(bsm_cuda_launches *l,
                                                 size_t offset,
                                                 uint32_t tensor);
/* Room of the step's scratch memory: its offset. BSM_LIMIT: too much. */
BSM_NODISCARD bsm_status bsm_cuda_add_scratch(bsm_cuda_launches *l,
                                              uint64_t bytes, uint64_t *offset);

/* Blocks of `block` threads for `count` threads, one each, or for as many as a
 * grid can have when kernels go on in a loop: at most `most` blocks. */
uint64_t bsm_cuda_blocks(uint64_t count, unsigned block, uint64_t most);

/* The type of device.cuh for a dtype, "f16"; NULL: kernels have none. */
const char *bsm_cuda_type(bsm_dtype dtype);

/* The integers that move elements of a dtype as they are, whatever their bits
 * mean. */
bsm_dtype bsm_cuda_raw_dtype(bsm_dtype dtype);

/* The number of a dtype in typed addresses, and in the interpreter's code. */
uint64_t bsm_cuda_element(bsm_dtype dtype);
/* What a value of the dtype is held in. */
bsm_cuda_held bsm_cuda_held_of(bsm_dtype dtype);
/* The type of device.cuh for all dtypes that are held in it: "any_f32". */
const char *bsm_cuda_any_type(bsm_cuda_held held);

/* Sets the kernel's name, of all else that it has. */
BSM_NODISCARD bsm_status bsm_cuda_name_kernel(bsm_arena *arena,
                                              bsm_cuda_kernel *kernel);

/* The kernels of a checked step, ready to be launched.
 * BSM_UNSUPPORTED: there is none for it. */
BSM_NODISCARD bsm_status bsm_cuda_make_launches(const bsm_plan *plan,
                                                const bsm_plan_step *step,
                                                bsm_cuda_scope scope, int sm,
                                                bsm_arena *arena,
                                                bsm_cuda_launches *out);

/* Columns of the values of attention. */
#define BSM_CUDA_MAX_ATTENTION_WIDTH 1024

/* What there is for one kind of step: rows of cuda_steps.c. */
typedef struct bsm_cuda_step_kind {
  /* As check of the device (backend/device.h): parameters, dtypes, shapes,
   * strides, weights' sizes. */
  bsm_status (*check)(const bsm_plan *plan, const bsm_plan_step *step);
  bsm_status (*launches)(bsm_cuda_launches *l);
  /* As tactics and cost of the target (builder/target.h); NULL: there is one.
   */
  size_t (*tactics)(const bsm_plan *plan, const bsm_plan_step *step, int sm,
                    const char **names);
  double (*cost)(const bsm_plan *plan, const bsm_plan_step *step, int sm,
                 const char *tactic);
} bsm_cuda_step_kind;

/* NULL: GPUs have no such steps. */
const bsm_cuda_step_kind *bsm_cuda_step_kind_of(bsm_step_kind kind);

#endif /* BSM_BACKEND_CUDA_LAUNCH_H_ */
