/* SPDX-License-Identifier: Apache-2.0 */
/* Making the launches of a step. */
#include "backend/cuda/cuda_launch.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "aten/tensor.h"
#include "backend/cuda/steps/cuda_first_layers.h"
#include "backend/cuda/steps/cuda_group_norm.h"
#include "backend/cuda/steps/cuda_products.h"
#include "backend/cuda/steps/cuda_squeeze_excite.h"
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
    case BSM_DTYPE_FLOAT8_E4M3FN:
      return "e4m3";
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

uint64_t bsm_cuda_element(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_FLOAT8_E4M3FN ? BSM_CUDA_E4M3 : (uint64_t)dtype;
}

bsm_cuda_held bsm_cuda_held_of(bsm_dtype dtype) {
  switch (dtype) {
    case BSM_DTYPE_FLOAT:
    case BSM_DTYPE_HALF:
    case BSM_DTYPE_BFLOAT16:
    case BSM_DTYPE_FLOAT8_E4M3FN:
      return BSM_CUDA_HELD_FLOAT;
    case BSM_DTYPE_DOUBLE:
      return BSM_CUDA_HELD_DOUBLE;
    case BSM_DTYPE_BOOL:
      return BSM_CUDA_HELD_TRUTH;
    default:
      return BSM_CUDA_HELD_INTEGER;
  }
}

const char *bsm_cuda_any_type(bsm_cuda_held held) {
  static const char *const types[] = {"any_f32", "any_f64", "any_i64",
                                      "any_bool"};
  return types[held];
}

uint64_t bsm_cuda_blocks(uint64_t count, unsigned block, uint64_t most) {
  const uint64_t blocks = count / block + (count % block != 0);
  return blocks < 1 ? 1 : blocks > most ? most : blocks;
}

/* ---- launches ---- */

static bsm_cuda_launch *last(bsm_cuda_launches *l) {
  return &l->items[l->count - 1];
}

bsm_status bsm_cuda_name_kernel(bsm_arena *arena, bsm_cuda_kernel *k) {
  const size_t size = k->generated ? strlen(k->generated) : 0;
  k->name = bsm_arena_printf(arena, "%s %s " BSM_CUDA_PARAMS_VERSION " %s",
                             k->source, k->entry, k->options);
  BSM_TRY_ALLOC(k->name);
  if (!size) return BSM_OK;
  k->name = bsm_arena_printf(arena, "%s code=%016" PRIx64 "%016" PRIx64,
                             k->name, bsm_hash64(k->generated, size, 0),
                             bsm_hash64(k->generated, size, 1));
  BSM_TRY_ALLOC(k->name);
  return BSM_OK;
}

/* Adds to the options of the last launch. */
static bsm_status put_options(bsm_cuda_launches *l, const char *format,
                              va_list args) {
  char text[256];
  bsm_cuda_kernel *k = &last(l)->kernel;
  const int length = vsnprintf(text, sizeof(text), format, args);
  if (length < 0 || (size_t)length >= sizeof(text)) {
    return BSM_FAIL(BSM_INTERNAL, "%s: options of %d characters", k->source,
                    length);
  }
  k->options = bsm_arena_printf(l->arena, "%s%s%s", k->options,
                                k->options[0] ? " " : "", text);
  BSM_TRY_ALLOC(k->options);
  return BSM_OK;
}

bsm_status bsm_cuda_add_options(bsm_cuda_launches *l, bsm_cuda_scope widest,
                                const char *format, ...) {
  va_list args;
  if (l->scope > widest) return BSM_OK;
  va_start(args, format);
  bsm_status status = put_options(l, format, args);
  va_end(args);
  return status;
}

bsm_status bsm_cuda_add_second_type(bsm_cuda_launches *l, const char *name,
                                    bsm_dtype dtype, bsm_dtype held) {
  return bsm_cuda_add_options(l, BSM_CUDA_FOR_KIND, "-D%s=%s", name,
                              l->scope == BSM_CUDA_FOR_KIND
                                  ? bsm_cuda_any_type(bsm_cuda_held_of(held))
                                  : bsm_cuda_type(dtype));
}

bsm_status bsm_cuda_add_type(bsm_cuda_launches *l, const char *name,
                             bsm_dtype dtype) {
  return bsm_cuda_add_second_type(l, name, dtype, dtype);
}

bsm_status bsm_cuda_add_product_type(bsm_cuda_launches *l, bsm_dtype dtype) {
  return bsm_dtype_is_floating(dtype)
             ? bsm_cuda_add_options(l, BSM_CUDA_FOR_KIND, "-DK_T=%s",
                                    bsm_cuda_type(dtype))
             : bsm_cuda_add_type(l, "K_T", dtype);
}

bsm_status bsm_cuda_add_launch(bsm_cuda_launches *l, const char *source,
                               const char *entry, const void *params,
                               size_t size, const char *format, ...) {
  va_list args;
  if (l->count == BSM_CUDA_MAX_LAUNCHES || size > BSM_CUDA_MAX_PARAMS) {
    return BSM_FAIL(BSM_INTERNAL, "%s: %" PRIu32 " launches, parameters of %zu",
                    source, l->count, size);
  }
  bsm_cuda_launch *launch = &l->items[l->count++];
  *launch = (bsm_cuda_launch){
      .kernel = {.source = source, .entry = entry, .options = ""},
      .grid = {1, 1, 1},
      .block = {1, 1, 1},
      .params_size = (uint32_t)size,
      .rounds = {0, 1, 1}};
  launch->params = bsm_arena_alloc(l->arena, size ? size : 1, 16);
  launch->slots = BSM_NEW_ARRAY(l->arena, bsm_cuda_slot, BSM_CUDA_MAX_SLOTS);
  if (!launch->params || !launch->slots) return BSM_FAIL_OOM();
  memcpy(launch->params, params, size);
  va_start(args, format);
  bsm_status status = put_options(l, format, args);
  va_end(args);
  return status;
}

bsm_status bsm_cuda_set_aside(bsm_cuda_launches *l) {
  if (l->other_count == BSM_CUDA_MAX_OTHERS) {
    return BSM_FAIL(BSM_INTERNAL, "%s: too many others",
                    last(l)->kernel.source);
  }
  l->others[l->other_count++] = last(l)->kernel;
  l->count--;
  return BSM_OK;
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

void bsm_cuda_set_generated(bsm_cuda_launches *l, const char *text) {
  last(l)->kernel.generated = text;
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

bsm_status bsm_cuda_add_tiles(bsm_cuda_launches *l,
                              const bsm_cuda_tiles *tiles) {
  bsm_cuda_launch *launch = last(l);
  bsm_cuda_tiles *copy = BSM_NEW(l->arena, bsm_cuda_tiles);
  BSM_TRY_ALLOC(copy);
  if (launch->tiles_count == BSM_CUDA_MAX_MAPS) {
    return BSM_FAIL(BSM_INTERNAL, "%s: tiles of %" PRIu32 " tensors",
                    launch->kernel.source, launch->tiles_count);
  }
  *copy = *tiles;
  launch->tiles[launch->tiles_count++] = copy;
  return BSM_OK;
}

void bsm_cuda_move_slot(bsm_cuda_launches *l, int64_t bytes, int64_t advance) {
  bsm_cuda_slot *slot = &last(l)->slots[last(l)->slot_count - 1];
  slot->bytes = bytes;
  slot->advance = advance;
}

void bsm_cuda_type_slot(bsm_cuda_launches *l, bsm_dtype dtype) {
  if (l->scope < BSM_CUDA_FOR_KIND) return;
  bsm_cuda_slot *slot = &last(l)->slots[last(l)->slot_count - 1];
  slot->bytes = (int64_t)((uint64_t)slot->bytes +
                          (bsm_cuda_element(dtype) << BSM_CUDA_DTYPE_SHIFT));
}

void bsm_cuda_type_product_slot(bsm_cuda_launches *l, bsm_dtype dtype) {
  if (!bsm_dtype_is_floating(dtype)) bsm_cuda_type_slot(l, dtype);
}

bsm_status bsm_cuda_add_typed_slot(bsm_cuda_launches *l, size_t offset,
                                   uint32_t tensor) {
  BSM_TRY(bsm_cuda_add_slot(l, BSM_CUDA_SLOT_TENSOR, offset, tensor));
  bsm_cuda_type_slot(l, l->plan->tensors[tensor].dtype);
  return BSM_OK;
}

bsm_status bsm_cuda_add_scratch(bsm_cuda_launches *l, uint64_t bytes,
                                uint64_t *offset) {
  *offset = l->scratch_size;
  if (bytes > MAX_SCRATCH || l->scratch_size > MAX_SCRATCH) {
    return BSM_FAIL(BSM_LIMIT, "a step wants %" PRIu64 " bytes of scratch",
                    bytes);
  }
  l->scratch_size += (bytes + 255) / 256 * 256;
  return BSM_OK;
}

/* Steps of sizes that one kernel does with those behind them: how many from
 * `index` on, or 0, and what does them. */
static const struct joined {
  uint32_t (*steps)(const bsm_plan *plan, uint32_t index, int sm);
  bsm_status (*launch)(bsm_cuda_launches *l, uint32_t index);
} joined_kinds[] = {
    {bsm_cuda_squeeze_excite_steps, bsm_cuda_launch_squeeze_excite},
    {bsm_cuda_activated_norm_steps, bsm_cuda_launch_activated_norm},
    {bsm_cuda_float_product_steps, bsm_cuda_launch_float_product},
    {bsm_cuda_first_layers_steps, bsm_cuda_launch_first_layers},
};

static const struct joined *find_joined(const bsm_cuda_launches *l,
                                        uint32_t from, uint32_t ahead,
                                        uint32_t *count) {
  const size_t kinds = sizeof(joined_kinds) / sizeof(joined_kinds[0]);
  for (size_t i = 0; i < kinds; i++) {
    *count = joined_kinds[i].steps(l->plan, from, l->sm);
    if (*count > ahead) return &joined_kinds[i];
  }
  return NULL;
}

static bsm_status make_joined(bsm_cuda_launches *l, bool *is_joined) {
  const uintptr_t at = (uintptr_t)l->step, first = (uintptr_t)l->plan->steps;
  const size_t index = (at - first) / sizeof(*l->step);
  *is_joined = false;
  if (l->scope != BSM_CUDA_FOR_SIZES || at < first ||
      index >= l->plan->step_count) {
    return BSM_OK;
  }
  for (uint32_t ahead = 0; ahead < BSM_CUDA_MAX_JOINED && ahead <= index;
       ahead++) {
    const uint32_t from = (uint32_t)index - ahead;
    uint32_t count;
    const struct joined *found = find_joined(l, from, ahead, &count);
    if (!found) continue;
    *is_joined = true;
    l->joined = ahead ? 0 : count - 1;
    l->ahead = ahead;
    BSM_TRY(found->launch(l, from));
    while (ahead && l->count > 0) BSM_TRY(bsm_cuda_set_aside(l));
    return BSM_OK;
  }
  return BSM_OK;
}

bsm_status bsm_cuda_make_launches(const bsm_plan *plan,
                                  const bsm_plan_step *step,
                                  bsm_cuda_scope scope, int sm,
                                  bsm_arena *arena, bsm_cuda_launches *out) {
  const bsm_cuda_step_kind *kind = bsm_cuda_step_kind_of(step->kind);
  *out = (bsm_cuda_launches){.plan = plan,
                             .step = step,
                             .arena = arena,
                             .scope = scope,
                             .sm = sm,
                             .rounds = 1};
  if (!kind) {
    return BSM_FAIL(BSM_UNSUPPORTED, "GPUs have no steps of kind %s",
                    bsm_step_kind_name(step->kind));
  }
  bool is_joined;
  BSM_TRY(make_joined(out, &is_joined));
  if (!is_joined) BSM_TRY(kind->launches(out));
  for (uint32_t i = 0; i < out->count; i++) {
    BSM_TRY(bsm_cuda_name_kernel(arena, &out->items[i].kernel));
  }
  for (uint32_t i = 0; i < out->other_count; i++) {
    BSM_TRY(bsm_cuda_name_kernel(arena, &out->others[i]));
  }
  return BSM_OK;
}
