/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring and searching. */
#include "compiler/calibration/measure.h"

#include <math.h>
#include <stdlib.h>

/* Squares of what an output is, and of how far it is off. */
typedef struct noise {
  double signal, error;
} noise;

typedef struct measurer {
  const bsm_trial_source *source;
  const bsm_calibrate_options *options;
  const bsm_sample_batches *batches;
  bsm_arena *arena;
  bsm_calibration *out;
  bsm_trial_engine plain; /* in float32, the sites' outputs behind its own */
  size_t output_count;    /* of the model */
  double plain_metric;
  size_t done, total; /* engines, for the progress */
} measurer;

/* ---- comparing ---- */

static uint64_t elements(bsm_dims dims) {
  uint64_t count = 1;
  for (int32_t i = 0; i < dims.rank; i++) count *= (uint64_t)dims.d[i];
  return count;
}

/* Where the plain values are no numbers, nothing is compared. */
static void add_noise(noise *n, const float *plain, const float *other,
                      uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    if (!isfinite(plain[i])) continue;
    const double off = (double)other[i] - (double)plain[i];
    n->signal += (double)plain[i] * (double)plain[i];
    n->error += isfinite(off) ? off * off : (double)INFINITY;
  }
}

static bsm_status compare(bsm_trial_engine *plain, size_t plain_index,
                          bsm_trial_engine *other, size_t other_index,
                          noise *n) {
  bsm_array a, b;
  BSM_TRY(bsm_context_output(plain->context, plain_index, &a));
  BSM_TRY(bsm_context_output(other->context, other_index, &b));
  if (a.dtype == BSM_DTYPE_FLOAT && b.dtype == BSM_DTYPE_FLOAT) {
    add_noise(n, a.data, b.data, elements(a.dims));
  }
  return BSM_OK;
}

/* The part of an output that is noise, by root mean squares. */
static double part(const noise *n) {
  return n->error <= 0    ? 0
         : n->signal <= 0 ? (double)INFINITY
                          : sqrt(n->error / n->signal);
}

/* ---- engines ---- */

/* Takes the layers that the calibration has in int8, or one of them alone. */
typedef struct choice {
  const bsm_calibration *calibration;
  const char *only; /* or NULL */
} choice;

static bool takes(const void *user, const char *layer) {
  const choice *c = user;
  if (c->only) return strcmp(c->only, layer) == 0;
  const bsm_calibrated_layer *l =
      bsm_calibration_layer_of(c->calibration, layer);
  return l && l->precision == BSM_PRECISION_INT8;
}

static bsm_status mark_layer(bsm_network *net, const char *layer, size_t i) {
  bsm_itensor *t = bsm_find_tensor(net, layer);
  const char *name = bsm_arena_printf(net->arena, "observed'%zu", i);
  BSM_TRY_ALLOC(name);
  if (!t) return BSM_FAIL(BSM_INTERNAL, "layer %s is gone", layer);
  return bsm_network_mark_output(net, t, name);
}

/* Marks the outputs of all layers. */
static bsm_status mark_all(void *user, bsm_network *net) {
  measurer *m = user;
  m->output_count = net->outputs.len;
  for (size_t i = 0; i < m->out->layers.len; i++) {
    BSM_TRY(mark_layer(net, m->out->layers.items[i]->name, i));
  }
  return BSM_OK;
}

static bsm_status mark_one(void *user, bsm_network *net) {
  const choice *c = user;
  return c->only ? mark_layer(net, c->only, 0) : BSM_OK;
}

static bsm_status tell(measurer *m, const char *phase) {
  const bsm_calibrate_options *options = m->options;
  m->done++;
  if (options->progress) {
    options->progress(options->progress_user, phase, m->done, m->total);
  }
  return bsm_progress_report(m->source->progress, phase, m->done, m->total);
}

/* Runs the engine beside the plain one: the worst output of the model, and the
 * output of layer `index`, when the engine has that behind them. */
static bsm_status run_beside(measurer *m, bsm_trial_engine *engine,
                             size_t index, bool has_layer, noise *layer,
                             double *loss) {
  noise *outputs = BSM_NEW_ARRAY(m->arena, noise, m->output_count + 1);
  BSM_TRY_ALLOC(outputs);
  for (size_t i = 0; i < m->batches->kept.len; i++) {
    const bsm_array *arrays = m->batches->kept.items[i].arrays;
    const size_t count = m->batches->input_count;
    BSM_TRY(bsm_trial_run(&m->plain, arrays, count));
    BSM_TRY(bsm_trial_run(engine, arrays, count));
    for (size_t k = 0; k < m->output_count; k++) {
      BSM_TRY(compare(&m->plain, k, engine, k, &outputs[k]));
    }
    if (has_layer) {
      BSM_TRY(compare(&m->plain, m->output_count + index, engine,
                      m->output_count, layer));
    }
  }
  *loss = 0;
  for (size_t k = 0; k < m->output_count; k++) {
    *loss = fmax(*loss, part(&outputs[k]));
  }
  return BSM_OK;
}

static bsm_status metric_of(const measurer *m, bsm_engine *engine,
                            double *out) {
  *out = (double)NAN;
  BSM_TRY_NOTE(m->options->metric(m->options->metric_user, engine, out),
               "in the metric of the calibration");
  return isnan(*out) ? BSM_FAIL(BSM_INVALID_ARGUMENT,
                                "the metric of the calibration is NaN")
                     : BSM_OK;
}

/* The loss of the model as the calibration has its layers now. */
static bsm_status measure_model(measurer *m, double *loss) {
  const choice all = {.calibration = m->out};
  const bsm_trial_options building = {
      .quantize = true, .takes = takes, .takes_user = &all};
  bsm_trial_engine engine;
  double value;
  bsm_status status = bsm_trial_build(m->source, &building, &engine);
  if (!status && m->options->metric) {
    status = metric_of(m, engine.engine, &value);
    *loss = m->plain_metric - value;
  } else if (!status) {
    status = run_beside(m, &engine, 0, false, NULL, loss);
  }
  bsm_trial_close(&engine);
  return status;
}

/* ---- layers ---- */

static bsm_status measure_layer(measurer *m, size_t index) {
  bsm_calibrated_layer *l = m->out->layers.items[index];
  choice one = {m->out, l->name};
  const bsm_trial_options building = {.mark = mark_one,
                                      .mark_user = &one,
                                      .quantize = true,
                                      .takes = takes,
                                      .takes_user = &one};
  bsm_trial_engine engine;
  noise n = {0};
  bsm_status status = bsm_trial_build(m->source, &building, &engine);
  if (!status) status = run_beside(m, &engine, index, true, &n, &l->loss);
  bsm_trial_close(&engine);
  if (!status) l->sqnr = n.error > 0 ? -20 * log10(part(&n)) : (double)INFINITY;
  return status;
}

static bsm_status measure_layers(measurer *m) {
  for (size_t i = 0; i < m->out->layers.len; i++) {
    BSM_TRY_NOTE(measure_layer(m, i), "while measuring layer %s",
                 m->out->layers.items[i]->name);
    BSM_TRY(tell(m, "layers"));
  }
  return BSM_OK;
}

/* ---- the search ---- */

static int by_loss(const void *pa, const void *pb) {
  const bsm_calibrated_layer *a = *(bsm_calibrated_layer *const *)pa;
  const bsm_calibrated_layer *b = *(bsm_calibrated_layer *const *)pb;
  if (a->loss != b->loss) return a->loss > b->loss ? -1 : 1;
  return strcmp(a->name, b->name);
}

/* Those in int8, the one that costs most first. */
static size_t candidates(const measurer *m, bsm_calibrated_layer **out) {
  size_t count = 0;
  for (size_t i = 0; i < m->out->layers.len; i++) {
    bsm_calibrated_layer *l = m->out->layers.items[i];
    if (l->precision == BSM_PRECISION_INT8) out[count++] = l;
  }
  if (count) qsort(out, count, sizeof(*out), by_loss);
  return count;
}

static bsm_status try_first(measurer *m, bsm_calibrated_layer **layers,
                            size_t count, size_t lifted, bool *ok) {
  for (size_t i = 0; i < count; i++) {
    layers[i]->precision = i < lifted ? BSM_PRECISION_FP32 : BSM_PRECISION_INT8;
  }
  BSM_TRY(measure_model(m, &m->out->loss));
  *ok = m->out->loss <= m->options->max_loss;
  bsm_log(m->source->ready->c.options->logger, BSM_LOG_LEVEL_INFO,
          "%zu of %zu layers in float32: a loss of %.3g", lifted, count,
          m->out->loss);
  return tell(m, "search");
}

/* Of the layers that were lifted, those that can go back: the cheapest first.
 */
static bsm_status lower_again(measurer *m, bsm_calibrated_layer **layers,
                              size_t lifted) {
  double loss;
  for (size_t i = lifted; i-- > 0;) {
    layers[i]->precision = BSM_PRECISION_INT8;
    BSM_TRY(measure_model(m, &loss));
    BSM_TRY(tell(m, "search"));
    if (loss <= m->options->max_loss) {
      m->out->loss = loss;
    } else {
      layers[i]->precision = BSM_PRECISION_FP32;
    }
  }
  return BSM_OK;
}

/* Lets products find their ranges when they run, where that leaves less than
 * half of the noise: it is slower than a range from the calibration, but faster
 * than float32. */
#define WORTH_IT 0.5
static bsm_status try_dynamic(measurer *m, bsm_calibrated_layer *l,
                              size_t index, size_t *changed) {
  const double loss = l->loss, sqnr = l->sqnr;
  if (strcmp(l->kind, bsm_layer_kind_name(BSM_LAYER_MATRIX_MULTIPLY)) != 0 ||
      l->dynamic) {
    return BSM_OK;
  }
  l->dynamic = true;
  BSM_TRY(measure_layer(m, index));
  BSM_TRY(tell(m, "search"));
  if (l->loss < WORTH_IT * loss) {
    ++*changed;
    return BSM_OK;
  }
  l->dynamic = false;
  l->loss = loss;
  l->sqnr = sqnr;
  return BSM_OK;
}

static bsm_status try_dynamic_products(measurer *m, bool *ok) {
  size_t changed = 0;
  for (size_t i = 0; i < m->out->layers.len; i++) {
    bsm_calibrated_layer *l = m->out->layers.items[i];
    if (l->precision != BSM_PRECISION_INT8) continue;
    BSM_TRY(try_dynamic(m, l, i, &changed));
  }
  if (!changed) return BSM_OK;
  BSM_TRY(measure_model(m, &m->out->loss));
  *ok = m->out->loss <= m->options->max_loss;
  bsm_log(m->source->ready->c.options->logger, BSM_LOG_LEVEL_INFO,
          "%zu products find their ranges when they run: a loss of %.3g",
          changed, m->out->loss);
  return BSM_OK;
}

/* Bisects how many of the worst layers have to be lifted; then tries each of
 * them again, as errors of layers do not add up exactly. */
static bsm_status search(measurer *m) {
  bsm_calibrated_layer **layers =
      BSM_NEW_ARRAY(m->arena, bsm_calibrated_layer *, m->out->layers.len + 1);
  bool ok;
  BSM_TRY_ALLOC(layers);
  size_t count = candidates(m, layers);
  BSM_TRY(try_first(m, layers, count, 0, &ok));
  if (!ok) BSM_TRY(try_dynamic_products(m, &ok));
  if (ok) return BSM_OK;
  count = candidates(m, layers);  /* their losses are others now */
  size_t few = 0, enough = count; /* few is not enough; none in int8 is */
  while (enough - few > 1) {
    const size_t middle = few + (enough - few) / 2;
    BSM_TRY(try_first(m, layers, count, middle, &ok));
    if (ok) {
      enough = middle;
    } else {
      few = middle;
    }
  }
  BSM_TRY(try_first(m, layers, count, enough, &ok));
  return lower_again(m, layers, enough);
}

static bsm_status open_plain(measurer *m) {
  const bsm_trial_options building = {.mark = mark_all, .mark_user = m};
  return bsm_trial_build(m->source, &building, &m->plain);
}

static bsm_status measure_plain_metric(measurer *m) {
  const bsm_trial_options building = {0};
  bsm_trial_engine engine;
  bsm_status status = bsm_trial_build(m->source, &building, &engine);
  if (!status) status = metric_of(m, engine.engine, &m->plain_metric);
  bsm_trial_close(&engine);
  return status;
}

static bsm_status measure(measurer *m) {
  const bool searches = m->options->max_loss > 0;
  m->total = m->out->layers.len;
  BSM_TRY(open_plain(m));
  if (m->options->metric) BSM_TRY(measure_plain_metric(m));
  BSM_TRY(measure_layers(m));
  m->done = m->total = 0;
  return searches ? search(m) : measure_model(m, &m->out->loss);
}

bsm_status bsm_measure_calibration(const bsm_trial_source *source,
                                   const bsm_calibrate_options *options,
                                   const bsm_sample_batches *batches,
                                   bsm_arena *arena, bsm_calibration *out) {
  measurer m = {.source = source,
                .options = options,
                .batches = batches,
                .arena = arena,
                .out = out};
  if (!options->measure_layers && options->max_loss <= 0) return BSM_OK;
  bsm_status status = measure(&m);
  bsm_trial_close(&m.plain);
  return status;
}
