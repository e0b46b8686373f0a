/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a program's run: a limit, and garbage collection. A run gets
 * the blocks of the run before it: memory that is given back and asked for
 * again is mapped and cleared page by page, which may take longer than the run.
 */
#include "base/allocate.h"
#include "base/checked.h"
#include "runtime/program/collector.h"
#include "runtime/program/program_state.h"

/* A file of few bytes can ask for tensors of any size. As in aten_step.c, a
 * tensor may be TIMES_LARGER times as large as the inputs and weights together,
 * or SMALL_TENSOR_BYTES if that is more, but never larger than
 * MAX_TENSOR_BYTES. */
#define SMALL_TENSOR_BYTES ((size_t)1 << 30)
#define TIMES_LARGER 64
#define MAX_TENSOR_BYTES ((size_t)16 << 30)
/* The default of the option. */
#define MAX_RUN_BYTES ((size_t)16 << 30)
/* Memory of a run before garbage is collected, and by how much it may grow. */
#define COLLECT_BYTES ((size_t)64 << 20)

static size_t most(size_t a, size_t b) {
  return a > b ? a : b;
}

static bsm_arena *other_heap(bsm_program_runner *r) {
  return &r->arenas[r->walker.arena == &r->arenas[0]];
}

/* ---- limits ---- */

/* While garbage is collected there are two copies of live values, each up to
 * the limit. A single op may ask for any size. */
static void *guarded_alloc(void *user, size_t size, size_t alignment) {
  bsm_program_runner *r = user;
  const size_t used = r->arenas[0].total + r->arenas[1].total;
  size_t room;
  if (!bsm_size_mul(r->max_bytes, 2, &room) ||
      !bsm_size_add(room, COLLECT_BYTES, &room)) {
    room = SIZE_MAX;
  }
  if (used > room || size > room - used) {
    r->refused = true;
    return NULL;
  }
  return bsm_allocate(&r->blocks.allocator, size, alignment);
}

static void guarded_free(void *user, void *pointer) {
  bsm_program_runner *r = user;
  bsm_deallocate(&r->blocks.allocator, pointer);
}

bsm_status bsm_program_memory_failure(const bsm_program_runner *r) {
  return BSM_FAIL(BSM_LIMIT,
                  "the run needs more than %zu bytes: raise max_run_bytes in "
                  "the options of the context",
                  r->max_bytes);
}

void bsm_program_memory_init(bsm_program_runner *r) {
  bsm_block_cache_init(&r->blocks, r->own->allocator);
  r->guard = (bsm_allocator){guarded_alloc, guarded_free, r};
  bsm_arena_init(&r->arenas[0], &r->guard);
  bsm_arena_init(&r->arenas[1], &r->guard);
  r->walker.arena = &r->arenas[0];
}

void bsm_program_memory_destroy(bsm_program_runner *r) {
  bsm_arena_destroy(&r->arenas[0]);
  bsm_arena_destroy(&r->arenas[1]);
  bsm_block_cache_release(&r->blocks);
}

void bsm_program_set_limits(bsm_program_runner *r, const bsm_array *inputs) {
  size_t given = r->weights_bytes; /* all of it is in memory, so the sum does
                                      not overflow */
  for (uint32_t i = 0; i < r->engine->plan->input_count; i++) {
    int64_t n;
    if (!bsm_dims_numel(inputs[i].dims, &n)) continue;
    given += (size_t)n * bsm_dtype_size(inputs[i].dtype);
  }
  size_t times;
  if (!bsm_size_mul(given, TIMES_LARGER, &times)) times = SIZE_MAX;
  r->max_bytes = r->wanted_bytes ? r->wanted_bytes : most(MAX_RUN_BYTES, times);
  r->max_tensor_bytes = most(SMALL_TENSOR_BYTES, times);
  if (r->max_tensor_bytes > MAX_TENSOR_BYTES) {
    r->max_tensor_bytes = MAX_TENSOR_BYTES;
  }
  if (r->max_tensor_bytes > r->max_bytes) r->max_tensor_bytes = r->max_bytes;
  r->residency.max_bytes = r->max_bytes;
  r->residency.refused = r->residency.failed = false;
  r->walker.budget = r->max_instructions;
  r->collect_at = r->max_bytes < COLLECT_BYTES ? r->max_bytes : COLLECT_BYTES;
}

void bsm_program_reset(bsm_program_runner *r) {
  const bsm_program *p = r->walker.program;
  bsm_residency_forget_all(&r->residency);
  bsm_residency_sweep(&r->residency);
  bsm_block_cache_release(&r->blocks); /* what the last run did not need */
  bsm_arena_destroy(other_heap(r));
  bsm_arena_destroy(bsm_program_heap(r));
  for (uint32_t i = 0; i < p->register_count; i++) {
    r->walker.registers[i] = bsm_iv_none();
  }
  bsm_program_set_registers(r, p->constant_registers, p->constant_count,
                            r->constants);
}

/* ---- collecting garbage ---- */

bsm_status bsm_program_collect(bsm_program_runner *r) {
  const bsm_program *p = r->walker.program;
  BSM_TRY(bsm_residency_wait(&r->residency)); /* values are about to move */
  bsm_residency_forget_all(&r->residency);
  bsm_collector c = {.from = bsm_program_heap(r),
                     .to = other_heap(r),
                     .constants = r->constant_tensors,
                     .constant_count = p->constant_tensor_count};
  for (uint32_t i = 0; i < p->constant_count; i++) {
    r->walker.registers[p->constant_registers[i]] = bsm_iv_none();
  }
  BSM_TRY(bsm_collector_move(&c, r->walker.registers, p->register_count));
  for (uint32_t i = 0; i < p->constant_count; i++) {
    r->walker.registers[p->constant_registers[i]] = r->constants[i];
  }
  bsm_arena_destroy(bsm_program_heap(r));
  bsm_block_cache_release(&r->blocks);
  r->walker.arena = other_heap(r);
  bsm_residency_sweep(&r->residency);
  const size_t live = bsm_program_heap(r)->total + r->residency.bytes;
  r->collect_at = 2 * live + COLLECT_BYTES;
  if (r->collect_at > r->max_bytes) r->collect_at = r->max_bytes;
  r->collect_at = most(r->collect_at, live + live / 4);
  return live > r->max_bytes ? bsm_program_memory_failure(r) : BSM_OK;
}
