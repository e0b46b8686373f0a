/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of programs: by plans of their own, or by the reference library when
 * they are small or come for the first time. */
#include <string.h>

#include "aten/ivalue_parts.h"
#include "base/linked.h"
#include "engine/program_strides.h"
#include "engine/program_values.h"
#include "runtime/program/program_state.h"

/* Calls of fewer elements are not worth a plan; those of so many are worth one
 * even if they never come again. */
#define MIN_ELEMENTS 256
#define AT_ONCE_ELEMENTS 4096

/* Whether all results are new. The schema of an op whose result may share
 * memory with an argument says so after the arrow. */
static bool makes_values(const bsm_aten_op *op) {
  const uint32_t other = BSM_ATEN_INPLACE | BSM_ATEN_VIEW | BSM_ATEN_RANDOM |
                         BSM_ATEN_MAY_DRAW | BSM_ATEN_EFFECT |
                         BSM_ATEN_PASSES_ON;
  bsm_schema_text room;
  const char *results = strstr(bsm_aten_schema(op, &room), "->");
  return !(op->flags & other) && results && !strstr(results, "(a");
}

/* The op that runs a call. Where strides are not seen, plans may leave tensors
 * in another order than PyTorch does, and a view of such a tensor is a copy. */
static const bsm_aten_op *find_op(const bsm_aten_library *aten,
                                  const char *name, bool strides_hidden) {
  static const char *const views[][2] = {
      {"aten::view", "aten::reshape"},
      {"aten::view_as", "aten::reshape_as"},
      {"aten::_unsafe_view", "aten::reshape"}};
  for (size_t i = 0; strides_hidden && i < sizeof(views) / sizeof(views[0]);
       i++) {
    if (strcmp(name, views[i][0]) == 0) name = views[i][1];
  }
  return bsm_aten_find(aten, bsm_str_of(name));
}

bsm_status bsm_program_find_ops(bsm_program_runner *r) {
  const bsm_program *p = r->walker.program;
  const bsm_aten_library *aten = r->engine->aten;
  const bool strides_hidden = bsm_program_hides_strides(p, aten);
  r->ops = BSM_NEW_ARRAY(r->own, const bsm_aten_op **, p->block_count);
  r->plannable = BSM_NEW_ARRAY(r->own, bool *, p->block_count);
  if (!r->ops || !r->plannable) return BSM_FAIL_OOM();
  for (uint32_t b = 0; b < p->block_count; b++) {
    const bsm_program_block *block = &p->blocks[b];
    r->ops[b] = BSM_NEW_ARRAY(r->own, const bsm_aten_op *,
                              block->instruction_count + (size_t)1);
    r->plannable[b] =
        BSM_NEW_ARRAY(r->own, bool, block->instruction_count + (size_t)1);
    if (!r->ops[b] || !r->plannable[b]) return BSM_FAIL_OOM();
    for (uint32_t k = 0; k < block->instruction_count; k++) {
      const bsm_instruction *i = &block->instructions[k];
      if (i->kind != BSM_INSTRUCTION_CALL) continue;
      const bsm_aten_op *op = find_op(aten, i->name, strides_hidden);
      if (!op) {
        return bsm_fail_not_linked("op", i->name);
      }
      if ((op->flags & BSM_ATEN_INPLACE) && !bsm_aten_only_writes(op)) {
        return BSM_FAIL(BSM_CORRUPT, "%s in a program", i->name);
      }
      r->ops[b][k] = op;
      r->plannable[b][k] = makes_values(op);
    }
  }
  return BSM_OK;
}

/* An op may write only to a tensor whose memory this run has made. */
static bsm_status check_target(const bsm_instruction *i,
                               const bsm_ivalue *args) {
  return i->input_count && args->tag == BSM_IVALUE_TENSOR &&
                 !args->u.tensor->storage->read_only
             ? BSM_OK
             : BSM_FAIL(BSM_CORRUPT, "%s of an input or a constant", i->name);
}

/* An op may change only a container that this run has made. */
static bsm_status check_written(bsm_program_runner *r, const bsm_instruction *i,
                                const bsm_ivalue *args) {
  const bsm_arena *arena = i->input_count ? bsm_iv_arena_of(args) : NULL;
  return !arena || arena == bsm_program_heap(r)
             ? BSM_OK
             : BSM_FAIL(BSM_CORRUPT, "%s of a constant", i->name);
}

/* Ops read and write the host's memory only. A device's copy is stale after a
 * write. */
static bsm_status bring_home(bsm_program_runner *r, const bsm_aten_op *op,
                             const bsm_ivalue *args, size_t n) {
  BSM_TRY(bsm_residency_fetch(&r->residency, bsm_program_heap(r), args, n));
  return (op->flags & BSM_ATEN_INPLACE) && n && args->tag == BSM_IVALUE_TENSOR
             ? bsm_residency_write(&r->residency, args->u.tensor)
             : BSM_OK;
}

static size_t count_elements(const bsm_ivalue *values, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n && count < AT_ONCE_ELEMENTS; i++) {
    if (values[i].tag == BSM_IVALUE_TENSOR) {
      count += (size_t)bsm_tensor_numel(values[i].u.tensor);
    } else if (values[i].tag == BSM_IVALUE_LIST) {
      count += count_elements(values[i].u.list->items, values[i].u.list->len);
    }
  }
  return count;
}

/* Runs a call by a plan of its own when it is large enough; otherwise *done is
 * false. */
static bsm_status plan_call(bsm_program_runner *r, const bsm_instruction *i,
                            const bsm_aten_op *op, const bsm_ivalue *args,
                            bool *done) {
  bsm_shape_plan *found;
  *done = false;
  const size_t elements = r->shapes ? count_elements(args, i->input_count) : 0;
  if (elements < MIN_ELEMENTS) return BSM_OK;
  BSM_TRY(bsm_aten_check_args(op, args, i->input_count));
  const uint64_t before = bsm_shape_plans_cost(r->shapes);
  BSM_TRY(bsm_shape_plans_find_call(r->shapes, i, args,
                                    elements >= AT_ONCE_ELEMENTS, &found));
  bsm_program_charge(r, bsm_shape_plans_cost(r->shapes) - before);
  if (!found) return BSM_OK;
  *done = true;
  return bsm_program_run_planned(r, i, args, found);
}

/* Keeps the tensors among the results of a call. */
static bsm_status keep_results(bsm_program_runner *r, const bsm_instruction *i,
                               const bsm_ivalue *outs) {
  const bsm_kept_tensor info = {
      .layers = bsm_arena_printf(bsm_program_heap(r), "%s at %s", i->name,
                                 i->source[0] ? i->source : "unknown place"),
      .kind = "call",
      .step = SIZE_MAX};
  BSM_TRY_ALLOC(info.layers);
  for (uint32_t k = 0; k < i->output_count; k++) {
    if (outs[k].tag != BSM_IVALUE_TENSOR) continue;
    BSM_TRY(bsm_kept_add(r->kept, &info, outs[k].u.tensor));
  }
  return BSM_OK;
}

bsm_status bsm_program_run_call(bsm_program_runner *r, const bsm_instruction *i,
                                const bsm_ivalue *args) {
  const size_t index = bsm_program_index(&r->walker, i);
  const bsm_aten_op *op = r->ops[r->walker.block][index];
  bsm_ivalue *outs = BSM_NEW_ARRAY(bsm_program_heap(r), bsm_ivalue,
                                   i->output_count + (size_t)1);
  BSM_TRY_ALLOC(outs);
  if (!(op->flags & BSM_ATEN_PASSES_ON)) {
    BSM_TRY(bsm_program_check_nested(args, i->input_count));
  }
  if (op->flags & BSM_ATEN_EFFECT) BSM_TRY(check_written(r, i, args));
  if (op->flags & BSM_ATEN_INPLACE) BSM_TRY(check_target(i, args));
  if (r->plannable[r->walker.block][index]) {
    /* Tensors stay where they are, or go to where the plan wants them. */
    bool done;
    BSM_TRY(plan_call(r, i, op, args, &done));
    if (done) return BSM_OK;
  }
  if (r->has_device) {
    bool done = false;
    if (!r->kept->max_bytes) { /* who keeps results wants their elements */
      BSM_TRY(bsm_program_run_view(r, i, op, args, outs, &done));
    }
    if (done) {
      bsm_program_set_registers(r, i->outputs, i->output_count, outs);
      return BSM_OK;
    }
    BSM_TRY(bring_home(r, op, args, i->input_count));
  }
  bsm_op_ctx cx = {.arena = bsm_program_heap(r),
                   .logger = r->logger,
                   .generator = &r->generator,
                   .max_tensor_bytes = r->max_tensor_bytes};
  bsm_program_begin_work(r);
  cx.work = r->counts_work ? r->work : NULL;
  bsm_run_trace_begin(r->trace, i->name, "call", "");
  BSM_TRY(bsm_program_end_work(
      r, bsm_aten_call(&cx, op, args, i->input_count, outs, i->output_count)));
  bsm_run_trace_end(r->trace);
  bsm_program_set_registers(r, i->outputs, i->output_count, outs);
  return r->kept->max_bytes ? keep_results(r, i, outs) : BSM_OK;
}
