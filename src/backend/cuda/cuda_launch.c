/* SPDX-License-Identifier: Apache-2.0 */
/* Making the launches of a step. */
#include "backend/cuda/cuda_launch.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"

#define MAX_SCRATCH ((uint64_t)1 << 40)

const char *bsm_cuda_type(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_UINT8:
      return "u8";
    case BSM_DTYPE_INT8:
      return "i8";
    case BSM_DTYPE_INT16:
      return "i16";
    case BSM_DTYPE_INT32:
      return "i32";
    case BSM_DTYPE_INT64:
      return "i64";
    case BSM_DTYPE_HALF:
      return "f16";
    case BSM_DTYPE_BFLOAT16:
      return "bf16";
    case BSM_DTYPE_FLOAT:
      return "float";
    case BSM_DTYPE_DOUBLE:
      return "double";
    case BSM_DTYPE_BOOL:
      return "bool";
    default:
      return NULL;
  }
}

bsm_dtype bsm_cuda_raw_dtype(bsm_dtype dtype) {
  switch (bsm_dtype_size(dtype)) {
    case 1:
      return BSM_DTYPE_UINT8;
    case 2:
      return BSM_DTYPE_INT16;
    case 4:
      return BSM_DTYPE_INT32;
    default:
      return BSM_DTYPE_INT64;
  }
}

const char *bsm_cuda_raw_type(bsm_dtype dtype) {
  return bsm_cuda_type(bsm_cuda_raw_dtype(dtype));
}

uint64_t bsm_cuda_blocks(uint64_t count, unsigned block, uint64_t most) {
  const uint64_t blocks = count / block + (count % block != 0);
  return blocks < 1 ? 1 : blocks > most ? most : blocks;
}

/* ---- launches ---- */

static bsm_cuda_launch *last(bsm_cuda_launches *l) {
  return &l->items[l->count - 1];
}

static bsm_status name_kernel(bsm_cuda_launches *l) {
  bsm_cuda_kernel *k = &last(l)->kernel;
  if (!k->generated) {
    k->name =
        bsm_arena_printf(l->arena, "%s %s %s", k->source, k->entry, k->options);
  } else {
    const size_t size = strlen(k->generated);
    k->name = bsm_arena_printf(
        l->arena, "%s %s %s code=%016" PRIx64 "%016" PRIx64, k->source,
        k->entry, k->options, bsm_hash64(k->generated, size, 0),
        bsm_hash64(k->generated, size, 1));
  }
  BSM_TRY_ALLOC(k->name);
  return BSM_OK;
}

bsm_status bsm_cuda_add_launch(bsm_cuda_launches *l, const char *source,
                               const char *entry, const void *params,
                               size_t size, const char *format, ...) {
  char options[256];
  va_list args;
  if (l->count == BSM_CUDA_MAX_LAUNCHES || size > BSM_CUDA_MAX_PARAMS) {
    return BSM_FAIL(BSM_INTERNAL, "%s: %" PRIu32 " launches, parameters of %zu",
                    source, l->count, size);
  }
  va_start(args, format);
  const int length = vsnprintf(options, sizeof(options), format, args);
  va_end(args);
  if (length < 0 || (size_t)length >= sizeof(options)) {
    return BSM_FAIL(BSM_INTERNAL, "%s: options of %d characters", source,
                    length);
  }
  bsm_cuda_launch *launch = &l->items[l->count++];
  *launch = (bsm_cuda_launch){
      .kernel = {.source = source,
                 .entry = entry,
                 .options = bsm_arena_printf(l->arena, "%s", options)},
      .grid = {1, 1, 1},
      .block = {1, 1, 1},
      .params_size = (uint32_t)size,
      .rounds = {0, 1, 1}};
  launch->params = bsm_arena_alloc(l->arena, size ? size : 1, 16);
  launch->slots = BSM_NEW_ARRAY(l->arena, bsm_cuda_slot, BSM_CUDA_MAX_SLOTS);
  if (!launch->kernel.options || !launch->params || !launch->slots) {
    return BSM_FAIL_OOM();
  }
  memcpy(launch->params, params, size);
  return name_kernel(l);
}

void bsm_cuda_set_grid(bsm_cuda_launches *l, uint64_t x, uint64_t y,
                       uint64_t z) {
  const uint64_t given[3] = {x, y, z};
  static const uint64_t most[3] = {INT32_MAX, UINT16_MAX, UINT16_MAX};
  for (int i = 0; i < 3; i++) {
    last(l)->grid[i] = (unsigned)(given[i] < most[i] ? given[i] : most[i]);
  }
}

void bsm_cuda_set_block(bsm_cuda_launches *l, unsigned x, unsigned y,
                        unsigned z) {
  last(l)->block[0] = x;
  last(l)->block[1] = y;
  last(l)->block[2] = z;
}

void bsm_cuda_set_shared(bsm_cuda_launches *l, size_t bytes) {
  last(l)->shared_bytes = (unsigned)bytes;
}

void bsm_cuda_set_rounds(bsm_cuda_launches *l, int64_t first, int64_t every,
                         int64_t end) {
  last(l)->rounds = (bsm_cuda_rounds){first, every, end};
}

bsm_status bsm_cuda_set_generated(bsm_cuda_launches *l, const char *text) {
  last(l)->kernel.generated = text;
  return name_kernel(l);
}

bsm_status bsm_cuda_add_slot(bsm_cuda_launches *l, bsm_cuda_slot_kind kind,
                             size_t offset, uint64_t index) {
  bsm_cuda_launch *launch = last(l);
  if (launch->slot_count == BSM_CUDA_MAX_SLOTS ||
      offset + sizeof(uint64_t) > launch->params_size) {
    return BSM_FAIL(BSM_INTERNAL, "%s: a slot at %zu of %" PRIu32,
                    launch->kernel.source, offset, launch->params_size);
  }
  launch->slots[launch->slot_count++] =
      (bsm_cuda_slot){.kind = kind, .offset = (uint32_t)offset, .index = index};
  return BSM_OK;
}

void bsm_cuda_move_slot(bsm_cuda_launches *l, int64_t bytes, int64_t advance) {
  bsm_cuda_slot *slot = &last(l)->slots[last(l)->slot_count - 1];
  slot->bytes = bytes;
  slot->advance = advance;
}

bsm_status bsm_cuda_add_scratch(bsm_cuda_launches *l, uint64_t bytes,
                                uint64_t *offset) {
  size_t size;
  *offset = l->scratch_size;
  if (bytes > MAX_SCRATCH || l->scratch_size > MAX_SCRATCH ||
      !bsm_size_align((size_t)bytes, 256, &size)) {
    return BSM_FAIL(BSM_LIMIT, "a step wants %" PRIu64 " bytes of scratch",
                    bytes);
  }
  l->scratch_size += size;
  return BSM_OK;
}

bsm_status bsm_cuda_make_launches(const bsm_plan *plan,
                                  const bsm_plan_step *step, int sm,
                                  bsm_arena *arena, bsm_cuda_launches *out) {
  const bsm_cuda_step_kind *kind = bsm_cuda_step_kind_of(step->kind);
  *out = (bsm_cuda_launches){
      .plan = plan, .step = step, .arena = arena, .sm = sm, .rounds = 1};
  if (!kind) {
    return BSM_FAIL(BSM_UNSUPPORTED, "GPUs have no steps of kind %s",
                    bsm_step_kind_name(step->kind));
  }
  return kind->launches(out);
}
