/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the interpreter of programs share: program_runner.c runs
 * one, program_calls.c calls ops, program_views.c those that read no elements,
 * program_plans.c runs segments and regions, program_memory.c bounds and
 * collects memory. */
#ifndef BSM_RUNTIME_PROGRAM_PROGRAM_STATE_H_
#define BSM_RUNTIME_PROGRAM_PROGRAM_STATE_H_

#include "aten/generator.h"
#include "base/block_cache.h"
#include "engine/program_walker.h"
#include "runtime/program/liveness.h"
#include "runtime/program/program_runner.h"
#include "runtime/program/residency.h"

struct bsm_program_runner {
  bsm_program_walker walker; /* its arena is that of the run */
  const bsm_engine *engine;
  bsm_plan_runner *segments;
  bsm_shape_plans *shapes; /* NULL: regions are run one by one */
  bsm_kept_tensors *kept;
  bsm_run_trace *trace;
  const bsm_logger *logger;
  bsm_arena *own; /* of constants */
  bsm_block_cache blocks;
  bsm_allocator guard; /* of the two arenas: keeps the limit */
  bool refused;        /* it has refused memory in this run */
  bsm_arena arenas[2]; /* of the run, and to collect into */
  size_t collect_at;   /* bytes */
  size_t weights_bytes;
  size_t wanted_bytes, max_bytes, max_tensor_bytes; /* of a run */
  uint64_t max_instructions;                        /* of a run */
  bool counts_work;      /* of calls and plans, as instructions */
  bsm_work_budget *work; /* what they charge */
  bsm_ivalue *constants;
  bsm_tensor *constant_tensors;
  const bsm_aten_op ***ops;  /* by block and instruction; NULL: no call */
  bool **plannable;          /* whether a plan may stand for the call */
  bsm_dead_registers **dead; /* after it */
  bsm_residency residency;   /* used when the engine has a device */
  bool has_device;
  bool ran;
  bsm_generator generator; /* runs go on where the last one ended */
};

static inline bsm_arena *bsm_program_heap(const bsm_program_runner *r) {
  return r->walker.arena;
}

static inline void bsm_program_get_registers(const bsm_program_runner *r,
                                             const uint32_t *from, size_t n,
                                             bsm_ivalue *out) {
  for (size_t i = 0; i < n; i++) out[i] = r->walker.registers[from[i]];
}

static inline void bsm_program_set_registers(bsm_program_runner *r,
                                             const uint32_t *to, size_t n,
                                             const bsm_ivalue *values) {
  for (size_t i = 0; i < n; i++) r->walker.registers[to[i]] = values[i];
}

/* The place of an instruction in the block that is being run. */
static inline size_t bsm_program_index(const bsm_program_walker *w,
                                       const bsm_instruction *i) {
  return (size_t)(i - w->program->blocks[w->block].instructions);
}

/* Making a plan counts as instructions, because a loop may ask for one each
 * turn. */
static inline void bsm_program_charge(bsm_program_runner *r,
                                      uint64_t instructions) {
  r->walker.budget -=
      instructions < r->walker.budget ? instructions : r->walker.budget;
}

/* A limit that the caller gave holds for the work of calls and plans, too: as
 * one more instruction for each so much of it. */
#define BSM_WORK_OF_INSTRUCTION 4096.0
/* Around calls and plans. The second returns `status`, or that the run takes
 * too much. */
void bsm_program_begin_work(bsm_program_runner *r);
BSM_NODISCARD bsm_status bsm_program_end_work(bsm_program_runner *r,
                                              bsm_status status);

/* ---- program_calls.c ---- */

/* Finds the op of each CALL. BSM_UNSUPPORTED: this version does not have it. */
BSM_NODISCARD bsm_status bsm_program_find_ops(bsm_program_runner *r);
BSM_NODISCARD bsm_status bsm_program_run_call(bsm_program_runner *r,
                                              const bsm_instruction *i,
                                              const bsm_ivalue *args);

/* ---- program_views.c ---- */

/* Makes a call without reading elements, when that is possible and an argument
 * is on the device alone; otherwise *done is false. */
BSM_NODISCARD bsm_status bsm_program_run_view(bsm_program_runner *r,
                                              const bsm_instruction *i,
                                              const bsm_aten_op *op,
                                              const bsm_ivalue *args,
                                              bsm_ivalue *outs, bool *done);

/* ---- program_plans.c ---- */

BSM_NODISCARD bsm_status bsm_program_run_segment(bsm_program_runner *r,
                                                 const bsm_instruction *i,
                                                 const bsm_ivalue *args);
/* Runs a region by the plan for these shapes, or instruction by instruction
 * when there is none. */
BSM_NODISCARD bsm_status bsm_program_run_region(bsm_program_runner *r,
                                                const bsm_instruction *i,
                                                const bsm_ivalue *args);
/* Runs a region or a call by the plan for its shapes. */
BSM_NODISCARD bsm_status bsm_program_run_planned(bsm_program_runner *r,
                                                 const bsm_instruction *i,
                                                 const bsm_ivalue *args,
                                                 bsm_shape_plan *found);

/* ---- program_memory.c ---- */

void bsm_program_memory_init(bsm_program_runner *r);
void bsm_program_memory_destroy(bsm_program_runner *r);
/* Sets the limits of a run on these inputs. */
void bsm_program_set_limits(bsm_program_runner *r, const bsm_array *inputs);
/* Releases the values of the last run. */
void bsm_program_reset(bsm_program_runner *r);
/* Collects garbage; due when memory reaches collect_at. May be called between
 * any two instructions: all live values are in registers. */
BSM_NODISCARD bsm_status bsm_program_collect(bsm_program_runner *r);
/* The failure of a run that needs more memory than it may have. */
BSM_NODISCARD bsm_status
bsm_program_memory_failure(const bsm_program_runner *r);

#endif /* BSM_RUNTIME_PROGRAM_PROGRAM_STATE_H_ */
