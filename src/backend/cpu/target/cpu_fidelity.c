/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring the error of transformed weights, and lowering forms. */
#include "backend/cpu/target/cpu_fidelity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu_forms.h"
#include "backend/cpu/cpu_pack.h"
#include "backend/cpu/target/cpu_crop.h"
#include "backend/cpu/target/cpu_dry_run.h"
#include "backend/image.h"
#include "base/isa.h"
#include "base/thread_pool.h"
#include "engine/plan_work.h"

/* What is measured must not depend on the machine that builds: kernels of the
 * instruction set that all machines in use have, whatever the target adds to
 * it. Roundings differ between sets, not between numbers of threads. */
#define COMMON_ISA BSM_ISA_AVX2
#define FORMS 4
#define POSITIONS 32 /* of an output that are computed in double */

/* A convolution that may use transformed weights. */
typedef struct site {
  const bsm_pending_pack *pending;
  bsm_plan_step *step;
  /* The first of those with the same weights that want the same form, as those
   * of an unrolled loop: what is packed and measured of it holds for all. */
  struct site *first;
  int32_t form; /* wanted, and then allowed */
  double error; /* measured for it, or for the one before it was lowered */
  const char *tactic[FORMS]; /* of each form; NULL: has none */
  const void *values;        /* of the first: this and */
  bsm_plan_weights packed[FORMS];
  uint32_t slot; /* in the plan's weights */
} site;

typedef struct check {
  const bsm_target *target;
  const bsm_plan_draft *draft;
  bsm_plan *plan;
  bsm_cpu_dry_run dry;
  bsm_arena packed;   /* weights of sites, in all forms that were tried */
  bsm_arena prepared; /* of the step that runs */
  site *sites;
  size_t count;
  site **by_step;
  double work, work_left; /* of a run of the whole plan; for all of them */
  /* What layers run on: the plan, or a part of a layer's input and output. */
  bsm_plan *stage;
  bsm_plan part;
  bsm_plan_tensor tensors[2];
} check;

/* ---- sites ---- */

static void set_form(const check *c, site *s, int32_t form) {
  s->step->tactic = s->tactic[form];
  c->target->ops->adopt(c->target, s->step, s->tactic[form],
                        s->pending->params);
}

static void list_forms(const check *c, site *s) {
  const char *names[BSM_MAX_TACTICS];
  const char *chosen = s->step->tactic;
  const size_t count =
      c->target->ops->tactics(c->target, c->plan, s->step, names);
  for (size_t i = 0; i < count; i++) {
    c->target->ops->adopt(c->target, s->step, names[i], s->pending->params);
    const int32_t form = s->pending->params->convolution.form;
    if (form >= 0 && form < FORMS && !s->tactic[form]) {
      s->tactic[form] = names[i];
    }
  }
  s->tactic[s->form] = chosen;
  set_form(c, s, s->form);
}

/* Finds the first site that has the weights of this one. */
static bsm_status find_first(const check *c, bsm_strmap *known, site *s) {
  bsm_weights_key key;
  BSM_TRY(bsm_packing_key_in_memory(bsm_target_packer(c->target), s->step,
                                    &s->pending->packing, 0, &key));
  const bsm_str name = {(const char *)&key, sizeof(key)};
  s->first = bsm_strmap_get(known, name);
  if (s->first) return BSM_OK;
  s->first = s;
  BSM_TRY_ALLOC(bsm_strmap_set(c->draft->scratch, known, name, s));
  return BSM_OK;
}

static bsm_status find_sites(check *c) {
  bsm_strmap known = {0};
  const size_t room = c->draft->pending_count + 1;
  c->sites = BSM_NEW_ARRAY(c->draft->scratch, site, room);
  c->by_step =
      BSM_NEW_ARRAY(c->draft->scratch, site *, c->plan->step_count + 1u);
  if (!c->sites || !c->by_step) return BSM_FAIL_OOM();
  for (size_t i = 0; i < c->draft->pending_count; i++) {
    const bsm_pending_pack *pending = &c->draft->pending[i];
    bsm_plan_step *step = &c->plan->steps[pending->step];
    if (!c->target->ops->is_approximate(c->target, step)) continue;
    site *s = &c->sites[c->count++];
    s->pending = pending;
    s->step = step;
    s->form = pending->params->convolution.form;
    s->slot = c->plan->weights_count + (uint32_t)c->count;
    c->by_step[pending->step] = s;
    BSM_TRY(find_first(c, &known, s));
  }
  return BSM_OK;
}

/* Weights of the site's present form, packed once. */
static bsm_status use_weights(check *c, site *s) {
  const bsm_packing *p = &s->pending->packing;
  const size_t element = bsm_dtype_size(p->dtype);
  bsm_plan_weights *w = &s->first->packed[s->pending->params->convolution.form];
  if (!w->data) {
    void *to;
    BSM_TRY(bsm_cpu_pack(s->step, p->in_maps, NULL, element, p->transposed,
                         NULL, &w->size));
    to = bsm_arena_alloc(&c->packed, (size_t)w->size + 1, BSM_ALIGNMENT);
    BSM_TRY_ALLOC(to);
    BSM_TRY(bsm_cpu_pack(s->step, p->in_maps, s->first->values, element,
                         p->transposed, to, &w->size));
    w->data = to;
  }
  c->plan->weights[s->slot] = *w;
  s->step->weights[0] = s->slot;
  return BSM_OK;
}

/* ---- the error of a layer ---- */

/* Adds what one tap of every map gives: `tap` are its weights, `taps` floats
 * from channel to channel. */
static void add_tap(const bsm_step_convolution *p, const bsm_image *x,
                    const float *pixel, const float *tap, int64_t taps,
                    double *out) {
  const int64_t inputs = x->c / p->groups, outputs = p->out_maps / p->groups;
  for (int64_t k = 0; k < p->out_maps; k++) {
    const float *weights = tap + k * inputs * taps;
    const float *maps = pixel + k / outputs * inputs;
    double sum = 0;
    for (int64_t m = 0; m < inputs; m++) {
      sum += (double)maps[m] * (double)weights[m * taps];
    }
    out[k] += sum;
  }
}

/* One output of every map at a sample and a place, without the epilogue, in
 * double. */
static void exact_outputs(const check *c, const site *s, uint32_t input,
                          int64_t sample, const int64_t *at, double *out) {
  const bsm_step_convolution *p = &s->step->params->convolution;
  const bsm_step_window *w = &p->window;
  const bsm_image x = bsm_image_of(&c->stage->tensors[input], w->spatial);
  const float *data = bsm_run_address(&c->dry.run, c->stage, input);
  const float *bias = s->step->weights[1] == BSM_NO_WEIGHTS
                          ? NULL
                          : c->plan->weights[s->step->weights[1]].data;
  const int64_t taps = w->kernel[0] * w->kernel[1] * w->kernel[2];
  for (int64_t k = 0; k < p->out_maps; k++) out[k] = bias ? (double)bias[k] : 0;
  for (int64_t tap = 0; tap < taps; tap++) {
    const int64_t in[3] = {tap / w->kernel[2] / w->kernel[1],
                           tap / w->kernel[2] % w->kernel[1],
                           tap % w->kernel[2]};
    const float *pixel = data + sample * x.n_stride;
    bool inside = true;
    for (int d = 0; d < 3; d++) {
      const int64_t i =
          at[d] * w->stride[d] - w->pre_padding[d] + in[d] * w->dilation[d];
      inside = inside && i >= 0 && i < x.size[d];
      if (inside) pixel += i * x.stride[d];
    }
    if (inside) {
      add_tap(p, &x, pixel, (const float *)s->values + tap, taps, out);
    }
  }
}

/* Prepares a step, runs it and forgets it. */
static bsm_status run_step(check *c, const bsm_plan_step *step) {
  bsm_prepared_step prepared;
  bsm_status status =
      bsm_cpu_dry_run_prepare_in(&c->dry, &c->prepared, step, &prepared);
  if (!status) status = prepared.enqueue(&prepared, &c->dry.run);
  bsm_arena_destroy(&c->prepared);
  return status;
}

/* Runs the layer as it stands, without its epilogue. */
static bsm_status run_bare(check *c, const site *s, uint32_t input,
                           uint32_t output) {
  bsm_plan_step probe = *s->step;
  bsm_step_params params = {.convolution = s->step->params->convolution};
  params.convolution.epilogue = (bsm_step_epilogue){0};
  probe.params = &params;
  probe.input_count = 1;
  probe.inputs = &input;
  probe.outputs = &output;
  return run_step(c, &probe);
}

/* Puts parts of a layer's input and output into the part's plan. */
static bsm_status crop_layer(check *c, const site *s) {
  uint64_t *size = &c->part.workspace_size[BSM_SPACE_HOST], bytes;
  BSM_TRY(bsm_cpu_crop_convolution(c->plan, s->step, c->tensors, &bytes));
  if (bytes > *size) *size = bytes;
  return BSM_OK;
}

/* Where a layer that is looked at has its input and its output: in the plan,
 * whose workspace has room for one output behind it, or in a part. */
static bsm_status place_layer(check *c, const site *s, uint32_t *input,
                              uint32_t *output) {
  *input = 0;
  *output = 1;
  if (c->stage == &c->part) return crop_layer(c, s);
  *input = s->step->inputs[0];
  *output = c->plan->tensor_count;
  bsm_plan_tensor *tail = &c->plan->tensors[*output];
  *tail = c->plan->tensors[s->step->outputs[0]];
  tail->place = BSM_PLACE_WORKSPACE;
  tail->index = 0;
  tail->offset = c->dry.tail;
  return BSM_OK;
}

static bsm_status layer_error(check *c, site *s, double *error) {
  const int32_t spatial = s->step->params->convolution.window.spatial;
  uint32_t input, output;
  BSM_TRY(place_layer(c, s, &input, &output));
  const bsm_image y = bsm_image_of(&c->stage->tensors[output], spatial);
  double *exact = BSM_NEW_ARRAY(&c->dry.arena, double, (size_t)y.c + 1);
  BSM_TRY_ALLOC(exact);
  BSM_TRY(use_weights(c, s));
  BSM_TRY(run_bare(c, s, input, output));
  const float *out = bsm_run_address(&c->dry.run, c->stage, output);
  double most = 0, worst = 0;
  for (int i = 0; i < POSITIONS; i++) {
    const int64_t sample =
        (int64_t)(bsm_cpu_dry_run_uniform(&c->dry) * (double)y.n);
    const float *pixel = out + sample * y.n_stride;
    int64_t at[3];
    for (int d = 0; d < 3; d++) {
      at[d] =
          d < 3 - spatial
              ? 0
              : (int64_t)(bsm_cpu_dry_run_uniform(&c->dry) * (double)y.size[d]);
      pixel += at[d] * y.stride[d];
    }
    exact_outputs(c, s, input, sample, at, exact);
    for (int64_t k = 0; k < y.c; k++) {
      const double off = fabs((double)pixel[k * y.c_stride] - exact[k]);
      most = fmax(most, fabs(exact[k]));
      /* A NaN is as wrong as can be. */
      if (!(off <= worst)) worst = isnan(off) ? INFINITY : off;
    }
  }
  *error = most > 0 ? worst / most : worst > 0 ? INFINITY : 0;
  return BSM_OK;
}

/* Takes what was measured of the first site. */
static void follow_first(site *s) {
  s->error = s->first->error;
  while (s->form > s->first->form ||
         (s->form > BSM_CPU_FORM_PLAIN && !s->tactic[s->form])) {
    s->form--;
  }
}

/* Lowers the form of one site until its error is within the bound. */
static bsm_status lower_layer(check *c, site *s) {
  for (; s->form > BSM_CPU_FORM_PLAIN; s->form--) {
    if (!s->tactic[s->form]) continue;
    set_form(c, s, s->form);
    BSM_TRY(layer_error(c, s, &s->error));
    bsm_log(c->draft->logger, BSM_LOG_LEVEL_DEBUG,
            "%s: the error of %s is %.2g of the greatest output", s->step->name,
            s->tactic[s->form], s->error);
    if (s->error <= BSM_FIDELITY_LAYER) break;
  }
  return BSM_OK;
}

static bsm_status bound_layer(check *c, site *s) {
  if (s->first != s) {
    follow_first(s);
  } else {
    BSM_TRY(lower_layer(c, s));
  }
  set_form(c, s, BSM_CPU_FORM_PLAIN);
  return use_weights(c, s);
}

/* ---- the whole network ---- */

/* Runs all steps; with `measure`, the sites on plain weights, after their
 * errors have been measured on the same activations. */
static bsm_status run_all(check *c, bool measure) {
  if (c->work > c->work_left) {
    return BSM_FAIL(BSM_LIMIT, "running the network takes too long");
  }
  c->work_left -= c->work;
  for (uint32_t i = 0; i < c->plan->step_count; i++) {
    site *s = c->by_step[i];
    if (s && measure) BSM_TRY(bound_layer(c, s));
    BSM_TRY(run_step(c, &c->plan->steps[i]));
  }
  return BSM_OK;
}

static const float *output_of(const check *c, uint32_t index, uint64_t *count) {
  const uint32_t tensor = c->plan->outputs[index].tensor;
  const bsm_plan_tensor *t = &c->plan->tensors[tensor];
  uint64_t bytes;
  if (t->dtype != BSM_DTYPE_FLOAT || !bsm_plan_tensor_extent(t, &bytes)) {
    return NULL;
  }
  *count = bytes / sizeof(float);
  return bsm_run_address(&c->dry.run, c->plan, tensor);
}

static bsm_status keep_outputs(check *c, float **kept) {
  for (uint32_t i = 0; i < c->plan->output_count; i++) {
    uint64_t n;
    const float *from = output_of(c, i, &n);
    kept[i] = NULL;
    if (!from) continue;
    kept[i] = BSM_NEW_ARRAY(&c->dry.arena, float, (size_t)n + 1);
    BSM_TRY_ALLOC(kept[i]);
    memcpy(kept[i], from, (size_t)n * sizeof(float));
  }
  return BSM_OK;
}

/* The greatest difference of an output, as a part of its greatest value. Where
 * the plain network gives no number, nothing is compared. */
static double difference(const check *c, float *const *kept) {
  double worst = 0;
  for (uint32_t i = 0; i < c->plan->output_count; i++) {
    uint64_t n;
    const float *now = output_of(c, i, &n);
    if (!now) continue;
    double most = 0, off = 0;
    for (uint64_t k = 0; k < n; k++) {
      if (!isfinite(kept[i][k])) continue;
      most = fmax(most, fabs((double)kept[i][k]));
      const double d = fabs((double)now[k] - (double)kept[i][k]);
      if (!(d <= off)) off = isnan(d) ? INFINITY : d;
    }
    if (off > 0) worst = fmax(worst, most > 0 ? off / most : INFINITY);
  }
  return worst;
}

/* The next lower form that the site has. */
static int32_t lower(const site *s, int32_t form) {
  do form--;
  while (form > BSM_CPU_FORM_PLAIN && !s->tactic[form]);
  return form;
}

static bsm_status use_form(check *c, site *s, int32_t form) {
  set_form(c, s, form);
  return use_weights(c, s);
}

static int by_error(const void *pa, const void *pb) {
  const site *a = *(const site *const *)pa, *b = *(const site *const *)pb;
  if (a->error != b->error) return a->error > b->error ? -1 : 1;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  return a->pending->step < b->pending->step ? -1 : 1;
}

/* The sites of one form, the least exact ones first, those with the same
 * weights side by side. */
static size_t of_form(const check *c, int32_t form, site **out) {
  size_t n = 0;
  for (size_t i = 0; i < c->count; i++) {
    if (c->sites[i].form == form) out[n++] = &c->sites[i];
  }
  if (n) qsort(out, n, sizeof(*out), by_error);
  return n;
}

/* Whether the network is exact enough when the first `lowered` of these sites
 * have a lower form. */
static bsm_status try_lowered(check *c, site **sites, size_t count,
                              size_t lowered, float *const *kept, bool *ok) {
  for (size_t i = 0; i < count; i++) {
    site *s = sites[i];
    BSM_TRY(use_form(c, s, i < lowered ? lower(s, s->form) : s->form));
  }
  BSM_TRY(run_all(c, false));
  const double off = difference(c, kept);
  bsm_log(c->draft->logger, BSM_LOG_LEVEL_DEBUG,
          "%zu of %zu kernels of form %d lowered: outputs differ by %.2g of "
          "the greatest",
          lowered, count, sites[0]->form, off);
  *ok = off <= BSM_FIDELITY_NETWORK;
  return BSM_OK;
}

/* Where the sites of each kernel end, which is one behind its last. */
static size_t ends_of_kernels(site *const *sites, size_t count, size_t *ends) {
  size_t kernels = 0;
  for (size_t i = 0; i < count; i++) {
    if (i + 1 == count || sites[i + 1]->first != sites[i]->first) {
      ends[kernels++] = i + 1;
    }
  }
  return kernels;
}

/* Lowers as few kernels of a form as the bound asks for, by bisection; *ok
 * tells whether it holds then. Each trial runs the whole network. */
static bsm_status lower_some(check *c, site **sites, size_t count,
                             float *const *kept, bool *ok) {
  size_t *ends = BSM_NEW_ARRAY(&c->dry.arena, size_t, count);
  BSM_TRY_ALLOC(ends);
  size_t enough = ends_of_kernels(sites, count, ends);
  size_t few = 0; /* is not enough */
  BSM_TRY(try_lowered(c, sites, count, 0, kept, ok));
  if (*ok) return BSM_OK;
  BSM_TRY(try_lowered(c, sites, count, count, kept, ok));
  while (*ok && enough - few > 1) {
    const size_t middle = few + (enough - few) / 2;
    bool held;
    BSM_TRY(try_lowered(c, sites, count, ends[middle - 1], kept, &held));
    if (held) {
      enough = middle;
    } else {
      few = middle;
    }
  }
  for (size_t i = 0; i < ends[enough - 1]; i++) {
    sites[i]->form = lower(sites[i], sites[i]->form);
  }
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(use_form(c, sites[i], sites[i]->form));
  }
  return BSM_OK;
}

static bsm_status bound_network(check *c) {
  float **kept =
      BSM_NEW_ARRAY(&c->dry.arena, float *, c->plan->output_count + 1u);
  site **sites = BSM_NEW_ARRAY(&c->dry.arena, site *, c->count + 1);
  if (!kept || !sites) return BSM_FAIL_OOM();
  for (uint32_t i = 0; i < c->plan->input_count; i++) {
    BSM_TRY(bsm_cpu_dry_run_fill(&c->dry, c->plan->inputs[i].tensor));
  }
  BSM_TRY(run_all(c, true));
  BSM_TRY(keep_outputs(c, kept));
  for (size_t i = 0; i < c->count; i++) {
    BSM_TRY(use_form(c, &c->sites[i], c->sites[i].form));
  }
  bool ok = false;
  for (int32_t form = FORMS - 1; form > BSM_CPU_FORM_PLAIN && !ok; form--) {
    const size_t count = of_form(c, form, sites);
    if (count) BSM_TRY(lower_some(c, sites, count, kept, &ok));
  }
  return BSM_OK;
}

/* Each layer by itself, on random inputs: of a network that cannot be run here,
 * or takes too long. What they do together is not known, so the greatest tiles
 * are left out. */
static bsm_status bound_layers(check *c) {
  for (size_t i = 0; i < c->count; i++) {
    site *s = &c->sites[i];
    uint32_t input, output;
    BSM_TRY(place_layer(c, s, &input, &output));
    if (s->first == s) BSM_TRY(bsm_cpu_dry_run_fill(&c->dry, input));
    BSM_TRY(bound_layer(c, s));
    if (s->form == BSM_CPU_FORM_WINOGRAD_6) s->form = lower(s, s->form);
    BSM_TRY(use_form(c, s, s->form));
  }
  return BSM_OK;
}

/* What one run of the plan takes, and whether there is room for two. */
static bool may_run(check *c) {
  double bytes = (double)c->plan->workspace_size[BSM_SPACE_HOST];
  for (uint32_t i = 0; i < c->plan->step_count; i++) {
    const bsm_work work = bsm_step_work(c->plan, &c->plan->steps[i]);
    c->work += work.flops / 2 + work.bytes / sizeof(float);
  }
  for (uint32_t i = 0; i < c->plan->tensor_count; i++) {
    const bsm_plan_tensor *t = &c->plan->tensors[i];
    uint64_t extent;
    if (t->place != BSM_PLACE_INPUT && t->place != BSM_PLACE_OUTPUT) continue;
    bytes += bsm_plan_tensor_extent(t, &extent) ? (double)extent : INFINITY;
  }
  const bsm_plan_draft *d = c->draft;
  c->work_left = d->trial_work > 0 ? d->trial_work : INFINITY;
  return 2 * c->work <= c->work_left &&
         (!d->trial_bytes || bytes <= (double)d->trial_bytes);
}

/* Memory for runs of the plan, or of parts of its layers. */
static bsm_status open_stage(check *c, bool whole) {
  const bsm_cpu_target *cpu = bsm_cpu_target_of(c->target);
  const uint32_t isa = cpu->isa & COMMON_ISA & bsm_isa_detect();
  const int most = bsm_available_cpus();
  const int threads = cpu->threads < most ? cpu->threads : most;
  c->stage = c->plan;
  if (!whole) {
    c->part = (bsm_plan){.tensors = c->tensors,
                         .tensor_count = 2,
                         .weights = c->plan->weights,
                         .weights_count = c->plan->weights_count};
    c->stage = &c->part;
    for (size_t i = 0; i < c->count; i++) {
      BSM_TRY(crop_layer(c, &c->sites[i]));
    }
  }
  return bsm_cpu_dry_run_open(cpu, isa, threads, c->stage, &c->dry);
}

static bsm_status keep(check *c) {
  const bool fits = may_run(c);
  BSM_TRY(open_stage(c, fits));
  for (size_t i = 0; i < c->count; i++) {
    site *s = &c->sites[i];
    if (s->first == s) {
      BSM_TRY(
          bsm_packing_values(&c->dry.arena, &s->pending->packing, &s->values));
    }
    list_forms(c, s);
  }
  bsm_status status = BSM_OK;
  bool whole = fits && bsm_cpu_can_dry_run(c->plan);
  if (whole) {
    status = bound_network(c);
    /* Random inputs may be none that the network can be run on. */
    if (status && bsm_status_code(status) != BSM_OUT_OF_MEMORY) {
      bsm_status_free(status);
      status = BSM_OK;
      whole = false;
    }
  }
  if (!status && !whole) status = bound_layers(c);
  for (size_t i = 0; i < c->count; i++) {
    c->sites[i].step->weights[0] = BSM_NO_WEIGHTS;
  }
  return status;
}

bsm_status bsm_cpu_check_accuracy(const bsm_target *target,
                                  const bsm_plan_draft *draft) {
  check c = {.target = target, .draft = draft, .plan = draft->plan};
  BSM_TRY(find_sites(&c));
  if (c.count == 0) return BSM_OK;
  bsm_arena_init_like(&c.packed, draft->scratch);
  bsm_arena_init(&c.prepared, NULL);
  bsm_status status = keep(&c);
  bsm_arena_destroy(&c.packed);
  bsm_cpu_dry_run_close(&c.dry);
  return status;
}
