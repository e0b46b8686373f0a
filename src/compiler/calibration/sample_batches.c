/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and keeping batches. */
#include "compiler/calibration/sample_batches.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_BYTES ((size_t)64 << 20)

static size_t bytes_of(const bsm_binding *b) {
  size_t bytes = bsm_dtype_size(b->dtype);
  for (int32_t i = 0; i < b->dims.rank; i++) bytes *= (size_t)b->dims.d[i];
  return bytes;
}

bsm_status bsm_sample_batches_init(bsm_sample_batches *b,
                                   const bsm_calibrate_options *options,
                                   const bsm_engine *engine, bsm_arena *arena) {
  *b = (bsm_sample_batches){.options = options, .arena = arena, .stride = 1};
  b->input_count = bsm_engine_input_count(engine);
  b->inputs = BSM_NEW_ARRAY(arena, bsm_binding, b->input_count + 1);
  b->arrays = BSM_NEW_ARRAY(arena, bsm_array, b->input_count + 1);
  if (!b->inputs || !b->arrays) return BSM_FAIL_OOM();
  for (size_t i = 0; i < b->input_count; i++) {
    b->inputs[i] = (bsm_binding)BSM_BINDING_INIT;
    BSM_TRY(bsm_engine_input(engine, i, &b->inputs[i]));
    b->bytes_each += bytes_of(&b->inputs[i]);
  }
  return BSM_OK;
}

bsm_status bsm_sample_batches_next(bsm_sample_batches *b, bool *end) {
  const bsm_calibrate_options *o = b->options;
  const size_t index = b->read;
  *end = o->max_batches && index >= o->max_batches;
  if (*end) return BSM_OK;
  if (o->next) {
    memset(b->arrays, 0, b->input_count * sizeof(*b->arrays));
    BSM_TRY(o->next(o->next_user, index, b->inputs, b->input_count, b->arrays,
                    end));
  } else if (index < o->batch_count) {
    if (!o->batches[index]) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "batch %zu is NULL", index);
    }
    memcpy(b->arrays, o->batches[index], b->input_count * sizeof(*b->arrays));
  } else {
    *end = true;
  }
  b->read += !*end;
  return BSM_OK;
}

static bsm_status copy_batch(bsm_sample_batches *b, bsm_kept_batch *out) {
  out->index = b->read - 1;
  out->arrays = BSM_NEW_ARRAY(b->arena, bsm_array, b->input_count + 1);
  out->memory = malloc(b->bytes_each + 64 * b->input_count + 1);
  if (!out->arrays || !out->memory) {
    free(out->memory);
    return BSM_FAIL_OOM();
  }
  char *to = out->memory;
  for (size_t i = 0; i < b->input_count; i++) {
    const size_t bytes = bytes_of(&b->inputs[i]);
    out->arrays[i] = b->arrays[i];
    out->arrays[i].data = to;
    memcpy(to, b->arrays[i].data, bytes);
    to += (bytes + 63) / 64 * 64;
  }
  return BSM_OK;
}

/* Drops every second batch. */
static void thin_out(bsm_sample_batches *b) {
  size_t left = 0;
  b->stride *= 2;
  for (size_t i = 0; i < b->kept.len; i++) {
    bsm_kept_batch *kept = &b->kept.items[i];
    if (kept->index % b->stride == 0) {
      b->kept.items[left++] = *kept;
    } else {
      free(kept->memory);
    }
  }
  b->kept.len = left;
}

bsm_status bsm_sample_batches_keep(bsm_sample_batches *b) {
  const size_t limit =
      b->options->measure_bytes ? b->options->measure_bytes : DEFAULT_BYTES;
  const size_t most = b->bytes_each ? limit / b->bytes_each : 1;
  bsm_kept_batch made = {0};
  while (b->kept.len > 1 && b->kept.len >= most) thin_out(b);
  if ((b->read - 1) % b->stride != 0 || (b->kept.len && most < 2)) {
    return BSM_OK;
  }
  BSM_TRY(copy_batch(b, &made));
  if (bsm_vec_push(b->arena, &b->kept, made)) return BSM_OK;
  free(made.memory);
  return BSM_FAIL_OOM();
}

void bsm_sample_batches_destroy(bsm_sample_batches *b) {
  for (size_t i = 0; i < b->kept.len; i++) free(b->kept.items[i].memory);
  b->kept.len = 0;
}
