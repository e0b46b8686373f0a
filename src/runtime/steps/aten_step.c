/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that call an op of the reference library.
 *
 * The arguments are read from their bytes once, when a context is made: lists,
 * numbers and strings as they are, tensors as views of the step's inputs. A run
 * sets the addresses, calls the op, checks that the results are what the plan
 * says, and copies them. What the op allocates lies in an arena that is emptied
 * after each step. */
#include <inttypes.h>

#include "base/checked.h"
#include "base/linked.h"
#include "engine/ivalue_bytes.h"
#include "runtime/steps/step_driver.h"

/* A file of few bytes can ask an op for tensors of any size. A tensor may be
 * TIMES_LARGER times as large as the step's inputs and outputs together, or
 * SMALL_TENSOR_BYTES if that is more, but never larger than the last limit,
 * which is that of compiling. */
#define SMALL_TENSOR_BYTES ((size_t)1 << 30)
#define TIMES_LARGER 64
#define MAX_TENSOR_BYTES ((size_t)16 << 30)
/* As in the backend: more than any tensor that fits a machine. */
#define MAX_ELEMENTS ((int64_t)1 << 46)

typedef struct aten_step {
  const bsm_plan *plan;
  const bsm_plan_step *step;
  const bsm_aten_op *op;
  bsm_ivalue *args;
  size_t arg_count;
  size_t max_tensor_bytes;
  bsm_tensor *inputs;    /* one for each input of the step */
  bsm_storage *storages; /* of them */
  bsm_arena *scratch;    /* for what the op allocates */
  const bsm_logger *logger;
  bsm_work_budget *work;
} aten_step;

/* ---- checking ---- */

/* The results that are used have as many tensors as the step has outputs. */
static bsm_status check_results(const bsm_plan_step *step) {
  const bsm_step_aten_call *call = &step->params->aten_call;
  uint64_t count = 0;
  for (uint32_t i = 0; i < call->result_count; i++) {
    const int32_t r = call->results[i];
    if (r < BSM_RESULT_UNUSED) {
      return BSM_FAIL(BSM_CORRUPT, "result %" PRIu32 " is of kind %" PRId32, i,
                      r);
    }
    if (r == BSM_RESULT_TENSOR) count++;
    if (r >= 0) count += (uint32_t)r;
  }
  if (count != step->output_count) {
    return BSM_FAIL(BSM_CORRUPT, "%" PRIu64 " results for %" PRIu32 " outputs",
                    count, step->output_count);
  }
  return BSM_OK;
}

/* A tensor's first byte and one past its last, in its place. */
static bool range_of(const bsm_plan_tensor *t, uint64_t *from, uint64_t *to) {
  uint64_t extent;
  if (!bsm_plan_tensor_extent(t, &extent)) return false;
  *from = t->offset;
  *to = t->offset + extent; /* inside the place: bsm_plan_verify */
  return true;
}

/* Results may be views of inputs, and they are copied as blocks of memory, so
 * outputs may not overlap inputs. */
static bsm_status check_apart(const bsm_plan_tensor *out,
                              const bsm_plan_tensor *in) {
  uint64_t out_from, out_to, in_from, in_to;
  if (out->place != in->place || out->index != in->index) return BSM_OK;
  if (!range_of(out, &out_from, &out_to) || !range_of(in, &in_from, &in_to) ||
      (out_from < in_to && in_from < out_to)) {
    return BSM_FAIL(BSM_CORRUPT, "an output lies where an input does");
  }
  return BSM_OK;
}

/* Ops multiply sizes, also those of empty tensors; and they rely on the scale
 * of quantized tensors, which a plan does not have. */
static bsm_status check_tensor(const bsm_plan_tensor *t) {
  int64_t n = 1;
  if (bsm_dtype_is_quantized(t->dtype)) {
    return BSM_FAIL(BSM_CORRUPT, "a call on %s tensors",
                    bsm_dtype_name(t->dtype));
  }
  for (int32_t i = 0; i < t->dims.rank; i++) {
    const int64_t size = t->dims.d[i];
    if (size < 0 || !bsm_i64_mul(n, size > 0 ? size : 1, &n) ||
        n > MAX_ELEMENTS) {
      return BSM_FAIL(BSM_CORRUPT, "sizes %s are too large",
                      bsm_dims_str(t->dims));
    }
  }
  return BSM_OK;
}

static bsm_status check_places(const bsm_plan *plan,
                               const bsm_plan_step *step) {
  for (uint32_t i = 0; i < step->input_count; i++) {
    BSM_TRY(check_tensor(&plan->tensors[step->inputs[i]]));
  }
  for (uint32_t i = 0; i < step->output_count; i++) {
    const bsm_plan_tensor *out = &plan->tensors[step->outputs[i]];
    BSM_TRY(check_tensor(out));
    for (uint32_t k = 0; k < step->input_count; k++) {
      BSM_TRY_NOTE(check_apart(out, &plan->tensors[step->inputs[k]]),
                   "output %" PRIu32 " and input %" PRIu32, i, k);
    }
  }
  return BSM_OK;
}

static bsm_status find_op(const bsm_aten_library *library,
                          const bsm_plan_step *step, const bsm_aten_op **out) {
  const bsm_step_aten_call *call = &step->params->aten_call;
  const bsm_aten_op *op = bsm_aten_find(library, bsm_str_of(call->op));
  if (!op) return bsm_fail_not_linked("op", call->op);
  if (op->flags & (BSM_ATEN_INPLACE | BSM_ATEN_RANDOM | BSM_ATEN_EFFECT)) {
    return BSM_FAIL(BSM_CORRUPT, "%s does more than compute results", call->op);
  }
  *out = op;
  return BSM_OK;
}

/* ---- preparing ---- */

/* A tensor without an address yet. */
static void view_tensor(const bsm_plan_tensor *t, bsm_storage *storage,
                        bsm_tensor *out) {
  uint64_t extent = 0;
  (void)bsm_plan_tensor_extent(t, &extent); /* verified: cannot fail */
  *storage = (bsm_storage){.size = (size_t)extent, .read_only = true};
  *out = (bsm_tensor){.storage = storage, .dtype = t->dtype, .sizes = t->dims};
  memcpy(out->strides, t->strides, sizeof(out->strides));
}

static size_t limit_of(const bsm_plan *plan, const bsm_plan_step *step) {
  size_t total = 0;
  for (uint32_t i = 0; i < step->input_count + step->output_count; i++) {
    const uint32_t id = i < step->input_count
                            ? step->inputs[i]
                            : step->outputs[i - step->input_count];
    const bsm_plan_tensor *t = &plan->tensors[id];
    size_t bytes = bsm_dtype_size(t->dtype);
    for (int32_t d = 0; d < t->dims.rank; d++) {
      if (!bsm_size_mul(bytes, (size_t)t->dims.d[d], &bytes)) {
        return MAX_TENSOR_BYTES;
      }
    }
    if (!bsm_size_add(total, bytes, &total)) return MAX_TENSOR_BYTES;
  }
  if (total > MAX_TENSOR_BYTES / TIMES_LARGER) return MAX_TENSOR_BYTES;
  total *= TIMES_LARGER;
  return total > SMALL_TENSOR_BYTES ? total : SMALL_TENSOR_BYTES;
}

static bsm_status read_call(const bsm_aten_library *library,
                            const bsm_plan *plan, const bsm_plan_step *step,
                            bsm_arena *arena, aten_step **out) {
  const bsm_step_aten_call *call = &step->params->aten_call;
  const size_t n = step->input_count;
  aten_step *s = BSM_NEW(arena, aten_step);
  BSM_TRY_ALLOC(s);
  s->plan = plan;
  s->step = step;
  s->max_tensor_bytes = limit_of(plan, step);
  BSM_TRY(find_op(library, step, &s->op));
  s->inputs = BSM_NEW_ARRAY(arena, bsm_tensor, n + 1);
  s->storages = BSM_NEW_ARRAY(arena, bsm_storage, n + 1);
  if (!s->inputs || !s->storages) return BSM_FAIL_OOM();
  for (size_t i = 0; i < n; i++) {
    view_tensor(&plan->tensors[step->inputs[i]], &s->storages[i],
                &s->inputs[i]);
  }
  const bsm_str bytes = {(const char *)call->args, call->args_size};
  BSM_TRY_NOTE(bsm_ivalues_from_bytes(bytes, arena, s->inputs, n, &s->args,
                                      &s->arg_count),
               "in the arguments of %s", call->op);
  *out = s;
  return BSM_OK;
}

/* Checks that the op exists and computes results from its arguments alone, that
 * the arguments have the types of its schema, that there are as many outputs as
 * `results` says, and that none overlaps an input. */
static bsm_status check_call(const bsm_step_env *env, const bsm_plan *plan,
                             const bsm_plan_step *step, bsm_arena *scratch) {
  aten_step *call;
  BSM_TRY(check_results(step));
  BSM_TRY(check_places(plan, step));
  BSM_TRY(read_call(env->aten, plan, step, scratch, &call));
  return bsm_aten_check_call(call->op, call->args, call->arg_count,
                             step->params->aten_call.result_count);
}

static bsm_status check(const bsm_step_env *env, const bsm_plan *plan,
                        const bsm_plan_step *step) {
  bsm_arena scratch;
  bsm_arena_init(&scratch, env->allocator);
  bsm_status status = check_call(env, plan, step, &scratch);
  bsm_arena_destroy(&scratch);
  return status;
}

/* ---- running ---- */

static bsm_status store(const aten_step *s, const bsm_run *run, uint32_t index,
                        const bsm_ivalue *value) {
  const uint32_t id = s->step->outputs[index];
  const bsm_plan_tensor *t = &s->plan->tensors[id];
  const char *op = s->step->params->aten_call.op;
  if (value->tag != BSM_IVALUE_TENSOR) {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "%s gave a value of type %s where a tensor was planned", op,
                    bsm_iv_tag_name(value->tag));
  }
  const bsm_tensor *result = value->u.tensor;
  if (result->dtype != t->dtype || !bsm_dims_equal(result->sizes, t->dims)) {
    return BSM_FAIL(BSM_DATA_DEPENDENT,
                    "%s gave %s%s where the engine was built for %s%s: its "
                    "shape depends on the data",
                    op, bsm_dtype_name(result->dtype),
                    bsm_dims_str(result->sizes), bsm_dtype_name(t->dtype),
                    bsm_dims_str(t->dims));
  }
  bsm_storage storage;
  bsm_tensor target;
  view_tensor(t, &storage, &target);
  storage.data = bsm_run_address(run, s->plan, id);
  return bsm_tensor_copy(&target, result);
}

static bsm_status store_all(const aten_step *s, const bsm_run *run,
                            const bsm_ivalue *values) {
  const bsm_step_aten_call *call = &s->step->params->aten_call;
  uint32_t at = 0;
  for (uint32_t i = 0; i < call->result_count; i++) {
    const int32_t r = call->results[i];
    if (r == BSM_RESULT_UNUSED) continue;
    if (r == BSM_RESULT_TENSOR) {
      BSM_TRY(store(s, run, at++, &values[i]));
      continue;
    }
    if (values[i].tag != BSM_IVALUE_LIST ||
        values[i].u.list->len != (size_t)r) {
      return BSM_FAIL(BSM_DATA_DEPENDENT,
                      "%s gave another number of results than the %" PRId32
                      " that the engine was built for",
                      call->op, r);
    }
    for (int32_t k = 0; k < r; k++) {
      BSM_TRY(store(s, run, at++, &values[i].u.list->items[k]));
    }
  }
  return BSM_OK;
}

static bsm_status run_call(aten_step *s, const bsm_run *run) {
  const size_t n_outs = s->step->params->aten_call.result_count;
  bsm_ivalue *outs = BSM_NEW_ARRAY(s->scratch, bsm_ivalue, n_outs + 1);
  BSM_TRY_ALLOC(outs);
  /* Views are made anew for each run: an op that writes to an argument has
   * given it a storage of its own. */
  for (uint32_t i = 0; i < s->step->input_count; i++) {
    const uint32_t id = s->step->inputs[i];
    const bool wrapped = s->inputs[i].wrapped_number;
    view_tensor(&s->plan->tensors[id], &s->storages[i], &s->inputs[i]);
    s->inputs[i].wrapped_number = wrapped;
    s->storages[i].data = bsm_run_address(run, s->plan, id);
  }
  bsm_op_ctx cx = {.arena = s->scratch,
                   .logger = s->logger,
                   .max_tensor_bytes = s->max_tensor_bytes,
                   .work = s->work};
  BSM_TRY(bsm_aten_call(&cx, s->op, s->args, s->arg_count, outs, n_outs));
  return store_all(s, run, outs);
}

/* Fails when a result, which may depend on data, has another dtype or other
 * dims than the plan says. */
static bsm_status enqueue(const bsm_prepared_step *prepared,
                          const bsm_run *run) {
  aten_step *s = (aten_step *)(uintptr_t)prepared->impl;
  const bsm_arena_mark mark = bsm_arena_get_mark(s->scratch);
  bsm_status status = run_call(s, run);
  bsm_arena_rewind(s->scratch, mark);
  return status;
}

static bsm_status prepare(const bsm_step_env *env, const bsm_run *runs,
                          const bsm_plan *plan, const bsm_plan_step *step,
                          bsm_arena *arena, bsm_prepared_step *out) {
  aten_step *s;
  (void)runs;
  BSM_TRY(read_call(env->aten, plan, step, arena, &s));
  s->scratch = env->step_arena;
  s->logger = env->logger;
  s->work = env->work;
  *out = (bsm_prepared_step){
      .enqueue = enqueue, .plan = plan, .step = step, .impl = s};
  return BSM_OK;
}

static const char *describe(const bsm_step_env *env,
                            const bsm_prepared_step *prepared) {
  (void)env;
  return prepared->step->params->aten_call.op;
}

const bsm_step_driver bsm_aten_call_step_driver = {check, prepare, NULL,
                                                   describe};
