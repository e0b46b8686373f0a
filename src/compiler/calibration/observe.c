/* SPDX-License-Identifier: Apache-2.0 */
/* Runs on all data, and ranges from histograms. */
#include "compiler/calibration/observe.h"

#include <inttypes.h>
#include <math.h>

#include "quantization/calibrators.h"

/* What is kept of one tensor. */
typedef struct observed {
  const char *name;
  int32_t channel_axis; /* -1: no means are wanted */
  bsm_dims dims;
  double *sums; /* by channel */
  bsm_histogram *histogram;
} observed;

typedef struct observer {
  const bsm_calibrate_options *options;
  bsm_arena *arena;
  bsm_calibration *out;
  const bsm_logger *logger;
  BSM_VEC(observed) tensors;
  size_t first; /* output of the engine that is the first tensor */
  bsm_progress *progress;
} observer;

/* ---- what is observed ---- */

static bsm_status add_observed(observer *o, const bsm_itensor *t,
                               int32_t axis) {
  observed made = {.channel_axis = axis, .dims = t->dims};
  made.name = bsm_arena_strdup(o->arena, t->name);
  made.histogram = BSM_NEW(o->arena, bsm_histogram);
  if (!made.name || !made.histogram) return BSM_FAIL_OOM();
  if (axis >= 0) {
    made.sums = BSM_NEW_ARRAY(o->arena, double, (size_t)t->dims.d[axis] + 1);
    BSM_TRY_ALLOC(made.sums);
  }
  BSM_TRY_ALLOC(bsm_vec_push(o->arena, &o->tensors, made));
  return BSM_OK;
}

static bsm_status note_site(observer *o, const bsm_site *site) {
  bsm_calibrated_layer *l;
  bsm_arena *arena = &o->out->arena;
  BSM_TRY(bsm_calibration_add_layer(o->out, bsm_str_of(site->name), &l));
  l->kind = bsm_layer_kind_name(site->layer->kind);
  l->module =
      bsm_arena_strdup(arena, site->layer->scope ? site->layer->scope : "");
  l->input = bsm_arena_strdup(arena, site->input->name);
  if (!l->module || !l->input) return BSM_FAIL_OOM();
  l->operations = site->operations;
  l->dynamic = o->options->dynamic_products && site->matrix;
  return BSM_OK;
}

static bsm_status mark(void *user, bsm_network *net) {
  observer *o = user;
  bsm_quantizable found;
  o->first = net->outputs.len;
  BSM_TRY(bsm_find_quantizable(net, o->arena, &found));
  if (!found.sites.len) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the model has no layer that int8 could compute: no "
                    "convolution or product with constant weights in float32 "
                    "that is not quantized already");
  }
  for (size_t i = 0; i < found.sites.len; i++) {
    BSM_TRY(note_site(o, &found.sites.items[i]));
  }
  for (size_t i = 0; i < found.tensors.len; i++) {
    bsm_itensor *t = found.tensors.items[i];
    BSM_TRY(add_observed(o, t, found.channel_axis[t->id]));
    const char *name = bsm_arena_printf(net->arena, "observed'%zu", i);
    BSM_TRY_ALLOC(name);
    BSM_TRY(bsm_network_mark_output(net, t, name));
  }
  return BSM_OK;
}

/* ---- observing ---- */

/* Adds to the sums of channels: dims are outer, channel, inner. */
static void add_means(observed *t, const float *values) {
  int64_t outer = 1, inner = 1;
  const int64_t channels = t->dims.d[t->channel_axis];
  for (int32_t i = 0; i < t->dims.rank; i++) {
    if (i < t->channel_axis) outer *= t->dims.d[i];
    if (i > t->channel_axis) inner *= t->dims.d[i];
  }
  for (int64_t i = 0; i < outer; i++) {
    for (int64_t c = 0; c < channels; c++) {
      double sum = 0;
      for (int64_t k = 0; k < inner; k++) sum += (double)*values++;
      t->sums[c] += sum;
    }
  }
}

static uint64_t elements(bsm_dims dims) {
  uint64_t count = 1;
  for (int32_t i = 0; i < dims.rank; i++) count *= (uint64_t)dims.d[i];
  return count;
}

static bsm_status look(observer *o, bsm_trial_engine *engine) {
  for (size_t i = 0; i < o->tensors.len; i++) {
    observed *t = &o->tensors.items[i];
    bsm_array array;
    BSM_TRY(bsm_context_output(engine->context, o->first + i, &array));
    BSM_TRY_NOTE(
        bsm_histogram_add(t->histogram, array.data, elements(array.dims)),
        "in the values of tensor %s", t->name);
    if (t->sums) add_means(t, array.data);
  }
  return BSM_OK;
}

static bsm_status run_all(observer *o, bsm_trial_engine *engine,
                          bsm_sample_batches *batches) {
  const bsm_calibrate_options *options = o->options;
  const size_t total =
      options->next ? options->max_batches : options->batch_count;
  for (;;) {
    bool end = false;
    BSM_TRY(bsm_sample_batches_next(batches, &end));
    if (end) break;
    bsm_status status =
        bsm_trial_run(engine, batches->arrays, batches->input_count);
    if (!status) status = look(o, engine);
    if (!status) status = bsm_sample_batches_keep(batches);
    if (status) {
      return bsm_status_note(status, "in batch %zu of the calibration data",
                             batches->read - 1);
    }
    if (options->progress) {
      options->progress(options->progress_user, "ranges", batches->read, total);
    }
    BSM_TRY(bsm_progress_report(o->progress, "ranges", batches->read, total));
  }
  if (!batches->read) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "there is no calibration data");
  }
  return BSM_OK;
}

/* ---- ranges ---- */

static bsm_status keep_means(const observed *t, bsm_arena *arena,
                             bsm_calibrated_tensor *out) {
  const int64_t channels = t->dims.d[t->channel_axis];
  const double each = (double)t->histogram->count / (double)channels;
  out->means = BSM_NEW_ARRAY(arena, double, (size_t)channels + 1);
  BSM_TRY_ALLOC(out->means);
  out->mean_count = (size_t)channels;
  for (int64_t c = 0; c < channels; c++) {
    /* More digits than a float32 has say nothing. */
    out->means[c] = (double)(float)(t->sums[c] / each);
  }
  return BSM_OK;
}

static bsm_status keep_range(observer *o, const observed *t) {
  bsm_calibrated_tensor *out;
  const bsm_range r =
      bsm_calibrate_range(t->histogram, o->out->method, o->out->percentile);
  if (!bsm_is_range(r.low, r.high)) {
    bsm_log(o->logger, BSM_LOG_LEVEL_WARNING,
            "tensor %s is zero in all calibration data: it has no range, and "
            "what reads it stays in float32",
            t->name);
    return BSM_OK;
  }
  BSM_TRY(bsm_calibration_add_tensor(o->out, bsm_str_of(t->name), &out));
  out->low = r.low;
  out->high = r.high;
  out->least = t->histogram->least;
  out->greatest = t->histogram->greatest;
  return t->sums ? keep_means(t, &o->out->arena, out) : BSM_OK;
}

static bsm_status keep_ranges(observer *o) {
  for (size_t i = 0; i < o->tensors.len; i++) {
    BSM_TRY(keep_range(o, &o->tensors.items[i]));
  }
  if (!o->out->tensors.len) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "the calibration data is of no use: no value of any "
                    "layer's input is other than zero");
  }
  for (size_t i = 0; i < o->out->layers.len; i++) {
    bsm_calibrated_layer *l = o->out->layers.items[i];
    if (!l->dynamic && !bsm_calibration_tensor(o->out, l->input)) {
      l->precision = BSM_PRECISION_FP32;
    }
  }
  return BSM_OK;
}

bsm_status bsm_observe_ranges(const bsm_trial_source *source,
                              const bsm_calibrate_options *options,
                              bsm_arena *arena, bsm_calibration *out,
                              bsm_sample_batches *batches) {
  observer o = {.options = options,
                .arena = arena,
                .out = out,
                .progress = source->progress,
                .logger = source->ready->c.options->logger};
  const bsm_trial_options building = {.mark = mark, .mark_user = &o};
  bsm_trial_engine engine;
  bsm_status status = bsm_trial_build(source, &building, &engine);
  if (!status) {
    status = bsm_sample_batches_init(batches, options, engine.engine, arena);
  }
  if (!status) status = run_all(&o, &engine, batches);
  bsm_trial_close(&engine);
  out->batches = batches->read;
  return status ? status : keep_ranges(&o);
}
