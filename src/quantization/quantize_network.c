/* SPDX-License-Identifier: Apache-2.0 */
/* Inserts QUANTIZE and DEQUANTIZE layers. */
#include "quantization/quantize_network.h"

#include <math.h>

#include "builder/passes.h"
#include "builder/uses.h"
#include "quantization/equalize.h"
#include "quantization/quantize_weights.h"

/* ---- preparing ---- */

/* Names that come again get a number. Inputs come first, so they keep theirs.
 */
static bsm_status name_tensors(bsm_network *net, bsm_arena *scratch) {
  bsm_strmap names = {0};
  for (size_t i = 0; i < net->tensors.len; i++) {
    bsm_itensor *t = net->tensors.items[i];
    if (!t->name || bsm_strmap_get(&names, bsm_str_of(t->name))) {
      t->name = bsm_arena_printf(net->arena, "%s'%u", t->name ? t->name : "",
                                 (unsigned)t->id);
      BSM_TRY_ALLOC(t->name);
    }
    BSM_TRY_ALLOC(bsm_strmap_set(scratch, &names, bsm_str_of(t->name), t));
  }
  return BSM_OK;
}

static bsm_status prepare(bsm_network *net, const bsm_target *target,
                          bool equalize, const bsm_logger *logger,
                          bsm_arena *scratch) {
  BSM_TRY(name_tensors(net, scratch));
  BSM_TRY(bsm_pass_fold_scale(target, net, scratch));
  BSM_TRY(bsm_network_sweep(net, scratch));
  if (!equalize) return BSM_OK;
  size_t pairs;
  BSM_TRY(bsm_equalize(net, scratch, &pairs));
  bsm_log(logger, BSM_LOG_LEVEL_INFO,
          "channels of %zu pairs of convolutions were equalized", pairs);
  return BSM_OK;
}

bsm_status bsm_prepare_quantization(bsm_network *net, const bsm_target *target,
                                    bool equalize, const bsm_logger *logger) {
  bsm_arena scratch;
  bsm_arena_init(&scratch, net->arena->allocator);
  bsm_status status = prepare(net, target, equalize, logger, &scratch);
  bsm_arena_destroy(&scratch);
  return bsm_status_note(status, "while preparing to quantize");
}

/* ---- quantizing ---- */

typedef struct range {
  double low, high; /* low == high: none */
} range;

typedef struct quantizer {
  bsm_network *net;
  const bsm_quantize_options *options;
  bsm_arena *scratch;
  bsm_quantizable found;
  const bsm_site **site_of;    /* by layer id; NULL: stays as it is */
  range *ranges;               /* by tensor id of a group */
  bool is_slow;                /* int8, where nothing asks for it */
  bool *wanted;                /* by tensor id: an int8 layer reads it */
  bsm_itensor **quantized;     /* by tensor id: its quantized form, or NULL */
  size_t tensor_count;         /* before anything is added */
  BSM_VEC(bsm_layer *) layers; /* the new order */
} quantizer;

static bool is_fp8(const quantizer *q) {
  return q->options->precision == BSM_PRECISION_FP8;
}

/* Whether fp8 is of use: tensor cores do not multiply the others. */
static bool takes_fp8(const bsm_site *site) {
  const bsm_layer *layer = site->layer;
  return layer->kind == BSM_LAYER_MATRIX_MULTIPLY ||
         (layer->kind == BSM_LAYER_CONVOLUTION &&
          (layer->p.convolution.groups == 1 ||
           layer->p.convolution.groups < site->input->dims.d[1]));
}

/* What rules, or `takes`, say of a layer. */
typedef enum say { SAYS_NO, SAYS_YES, SAYS_NOTHING } say;

static say ask(const quantizer *q, const bsm_site *site) {
  const bsm_quantize_options *o = q->options;
  const bsm_precision asked = bsm_precision_asked(o->policy, site->layer);
  if (asked != o->precision &&
      (o->rules_alone || asked != BSM_PRECISION_NONE)) {
    return SAYS_NO;
  }
  if (is_fp8(q) && !takes_fp8(site)) return SAYS_NO;
  if (o->takes) return o->takes(o->user, site->name) ? SAYS_YES : SAYS_NO;
  return asked != BSM_PRECISION_NONE ? SAYS_YES : SAYS_NOTHING;
}

static bool is_calibrated(const quantizer *q, const bsm_site *site) {
  const bsm_calibrated_layer *l =
      bsm_calibration_layer_of(q->options->calibration, site->name);
  return !l || l->precision == BSM_PRECISION_INT8;
}

static bool is_known_slow(const quantizer *q, const bsm_site *site) {
  const bool *slow = q->options->slow_sites;
  return slow && slow[site - q->found.sites.items];
}

/* What is quantized: as the rules say, else the calibration. */
static bool is_wanted(const quantizer *q, const bsm_site *site) {
  const say said = ask(q, site);
  return said == SAYS_YES || (said == SAYS_NOTHING && !is_known_slow(q, site) &&
                              !q->is_slow && is_calibrated(q, site));
}

static bool is_dynamic(const quantizer *q, const bsm_site *site) {
  const bsm_calibrated_layer *l =
      bsm_calibration_layer_of(q->options->calibration, site->name);
  return l && l->dynamic && !is_fp8(q) && bsm_can_be_dynamic(site);
}

static void find_ranges(quantizer *q) {
  for (size_t i = 0; i < q->found.tensors.len; i++) {
    const bsm_itensor *t = q->found.tensors.items[i];
    const bsm_calibrated_tensor *c =
        bsm_calibration_tensor(q->options->calibration, t->name);
    range *r = &q->ranges[q->found.group[t->id]];
    if (!c) continue;
    /* Numbers of float8 lie as dense near zero wherever the greatest is. */
    r->low = fmin(r->low, is_fp8(q) ? fmin(c->low, c->least) : c->low);
    r->high = fmax(r->high, is_fp8(q) ? fmax(c->high, c->greatest) : c->high);
  }
}

static const range *range_of(const quantizer *q, const bsm_itensor *t) {
  const range *r = &q->ranges[q->found.group[t->id]];
  return bsm_is_range(r->low, r->high) ? r : NULL;
}

/* ---- what is faster ---- */

/* Whether speed decides about a layer: no rule does, and the calibration has
 * what int8 needs. */
static bool is_open(const quantizer *q, const bsm_site *site) {
  return ask(q, site) == SAYS_NOTHING && is_calibrated(q, site) &&
         (is_dynamic(q, site) || range_of(q, site->input));
}

/* Finds whether the layers that are open are faster in float32, all together: a
 * few in int8 between others would be no gain, as what quantizes between them
 * keeps epilogues from being fused. */
static bsm_status find_slow(quantizer *q) {
  const bsm_quantize_options *o = q->options;
  bsm_int8_times all = {0};
  if (o->slow_sites && o->slower) {
    for (size_t i = 0; i < q->found.sites.len; i++) {
      *o->slower += o->slow_sites[i] && is_open(q, &q->found.sites.items[i]);
    }
    return BSM_OK;
  }
  if (!o->slower || is_fp8(q) || !o->target->ops->int8_times) return BSM_OK;
  bsm_int8_times *times =
      BSM_NEW_ARRAY(q->scratch, bsm_int8_times, q->found.sites.len + 1);
  BSM_TRY_ALLOC(times);
  for (size_t i = 0; i < q->found.sites.len; i++) {
    const bsm_site *site = &q->found.sites.items[i];
    if (!is_open(q, site)) continue;
    times[i] = o->target->ops->int8_times(o->target, site->layer);
    all.fp32 += times[i].fp32;
    all.int8 += times[i].int8;
  }
  if (all.int8 <= all.fp32 && !(o->was_slower && all.fp32 > 0)) return BSM_OK;
  for (size_t i = 0; i < q->found.sites.len; i++) {
    const bsm_site *site = &q->found.sites.items[i];
    if (!is_open(q, site)) continue;
    bsm_log(o->logger, BSM_LOG_LEVEL_INFO,
            "layer %s stays in fp32: int8 is expected to take %.2f times as "
            "long, and %.2f times for all such layers",
            site->name, times[i].int8 / times[i].fp32, all.int8 / all.fp32);
    ++*o->slower;
  }
  q->is_slow = true;
  return BSM_OK;
}

#define MAX_DEPTH 8 /* layers between a product and what reads it */

/* The site whose product becomes `t` by way of layers that its kernel ends with
 * (activations, sums); -1: none. */
static int32_t origin_of(const quantizer *q, const bsm_itensor *t, int depth) {
  const bsm_layer *from = t->producer;
  if (!from || depth == MAX_DEPTH) return -1;
  for (size_t i = 0; i < q->found.sites.len; i++) {
    if (q->found.sites.items[i].layer == from) return (int32_t)i;
  }
  if (from->kind != BSM_LAYER_ACTIVATION && from->kind != BSM_LAYER_UNARY &&
      from->kind != BSM_LAYER_ELEMENT_WISE && from->kind != BSM_LAYER_SCALE &&
      q->found.group[t->id] == UINT32_MAX) {
    return -1;
  }
  for (size_t i = 0; i < from->inputs.len; i++) {
    const int32_t origin = origin_of(q, from->inputs.items[i], depth + 1);
    if (origin >= 0) return origin;
  }
  return -1;
}

static bsm_status tell_facts(quantizer *q) {
  bsm_site_facts *out = q->options->facts;
  if (!out) return BSM_OK;
  out->sites = BSM_NEW_ARRAY(out->arena, bsm_site_fact, q->found.sites.len + 1);
  BSM_TRY_ALLOC(out->sites);
  for (size_t i = 0; i < q->found.sites.len; i++) {
    const bsm_site *site = &q->found.sites.items[i];
    const bsm_layer *from = site->input->producer;
    bsm_site_fact fact = {
        .layer = bsm_arena_strdup(out->arena,
                                  site->layer->name ? site->layer->name : ""),
        .is_open = is_open(q, site),
        .is_dynamic = is_dynamic(q, site),
        .is_normed = from && from->kind == BSM_LAYER_NORMALIZATION,
        .group = q->found.group[site->input->id],
        .origin = origin_of(q, site->input, 0),
        .elements = 1};
    for (int32_t k = 0; k < site->input->dims.rank; k++) {
      fact.elements *= (double)site->input->dims.d[k];
    }
    BSM_TRY_ALLOC(fact.layer);
    out->sites[out->count++] = fact;
  }
  return BSM_OK;
}

static bsm_status choose_sites(quantizer *q, size_t *count) {
  *count = 0;
  for (size_t i = 0; i < q->found.sites.len; i++) {
    const bsm_site *site = &q->found.sites.items[i];
    if (!is_wanted(q, site)) continue;
    if (!is_dynamic(q, site)) {
      if (!range_of(q, site->input)) {
        bsm_log(q->options->logger, BSM_LOG_LEVEL_WARNING,
                "layer %s stays in float32: the calibration has no range of "
                "its input %s",
                site->name, site->input->name);
        continue;
      }
      q->wanted[site->input->id] = true;
    }
    q->site_of[site->layer->id] = site;
    ++*count;
  }
  return BSM_OK;
}

/* What movers read is quantized where what they make is. */
static void spread_back(quantizer *q) {
  for (size_t i = q->net->layers.len; i-- > 0;) {
    const bsm_layer *layer = q->net->layers.items[i];
    if (layer->removed || layer->outputs.len != 1) continue;
    const uint32_t made = layer->outputs.items[0]->id;
    if (!q->wanted[made]) continue;
    for (size_t k = 0; k < layer->inputs.len; k++) {
      const uint32_t read = layer->inputs.items[k]->id;
      if (q->found.group[read] != UINT32_MAX &&
          q->found.group[read] == q->found.group[made]) {
        q->wanted[read] = true;
      }
    }
  }
}

/* Moves the layers that were appended behind the first `count` into the new
 * order. */
static bsm_status take(quantizer *q, size_t count) {
  BSM_TRY(bsm_network_take_error(q->net));
  for (size_t i = count; i < q->net->layers.len; i++) {
    BSM_TRY_ALLOC(
        bsm_vec_push(q->scratch, &q->layers, q->net->layers.items[i]));
  }
  q->net->layers.len = count;
  return BSM_OK;
}

static bsm_status quantize_tensor(quantizer *q, size_t count, bsm_itensor *t) {
  if (t->id >= q->tensor_count || !q->wanted[t->id]) return BSM_OK;
  const range *r = range_of(q, t);
  const bool is_unsigned = q->options->target->ops->unsigned_activations;
  bsm_itensor *made =
      is_fp8(q) ? bsm_add_float8_quantization(q->net, t, r->low, r->high)
                : bsm_add_static_quantization(q->net, t, r->low, r->high,
                                              is_unsigned);
  BSM_TRY(take(q, count));
  BSM_TRY_ALLOC(made);
  q->quantized[t->id] = made;
  return BSM_OK;
}

/* The scale and the means that go with a site, or NULL. */
static const bsm_calibrated_tensor *means_of(const quantizer *q,
                                             const bsm_site *site) {
  const bsm_calibrated_tensor *t =
      bsm_calibration_tensor(q->options->calibration, site->input->name);
  return t && t->mean_count == (size_t)site->input->dims.d[site->sum_axis] &&
                 q->found.channel_axis[site->input->id] == site->sum_axis
             ? t
             : NULL;
}

static bsm_status quantize_site(quantizer *q, size_t count,
                                const bsm_site *site) {
  const bsm_calibrated_tensor *means = means_of(q, site);
  const bsm_dtype dtype = is_fp8(q) ? BSM_DTYPE_FLOAT8_E4M3FN : BSM_DTYPE_INT8;
  bsm_itensor *matrix = site->matrix;
  bsm_itensor *input = site->input;
  if (site->matrix) {
    BSM_TRY(
        bsm_quantize_matrix(site, dtype, means ? means->means : NULL, &matrix));
  } else {
    BSM_TRY(bsm_quantize_kernel(site, dtype, means ? means->means : NULL));
  }
  if (is_dynamic(q, site)) input = bsm_add_dynamic_quantization(q->net, input);
  BSM_TRY(take(q, count));
  if (!input || (site->matrix && !matrix)) return BSM_FAIL_OOM();
  for (size_t i = 0; i < site->layer->inputs.len; i++) {
    bsm_itensor **slot = &site->layer->inputs.items[i];
    if (*slot == site->matrix) {
      *slot = matrix;
    } else if (*slot == site->input) {
      *slot = input;
    }
  }
  return BSM_OK;
}

/* What is quantized is read so by layers that can work on integers. */
static void reread(const quantizer *q, bsm_layer *layer) {
  const bool site = q->site_of[layer->id] != NULL;
  const bool product = layer->kind == BSM_LAYER_CONVOLUTION ||
                       layer->kind == BSM_LAYER_DECONVOLUTION ||
                       layer->kind == BSM_LAYER_MATRIX_MULTIPLY;
  if (!bsm_reads_quantized(layer) || (product && !site)) return;
  for (size_t i = 0; i < layer->inputs.len; i++) {
    const uint32_t id = layer->inputs.items[i]->id;
    if (id < q->tensor_count && q->quantized[id]) {
      layer->inputs.items[i] = q->quantized[id];
    }
  }
}

static bsm_status rewrite(quantizer *q) {
  bsm_network *net = q->net;
  const size_t count = net->layers.len;
  for (size_t i = 0; i < net->inputs.len; i++) {
    BSM_TRY(quantize_tensor(q, count, net->inputs.items[i]));
  }
  for (size_t i = 0; i < count; i++) {
    bsm_layer *layer = net->layers.items[i];
    const bsm_site *site = q->site_of[layer->id];
    if (site) {
      BSM_TRY_NOTE(quantize_site(q, count, site), "in layer %s", site->name);
    }
    reread(q, layer);
    BSM_TRY_ALLOC(bsm_vec_push(q->scratch, &q->layers, layer));
    for (size_t k = 0; k < layer->outputs.len; k++) {
      BSM_TRY(quantize_tensor(q, count, layer->outputs.items[k]));
    }
  }
  net->layers.len = 0;
  for (size_t i = 0; i < q->layers.len; i++) {
    BSM_TRY_ALLOC(bsm_vec_push(net->arena, &net->layers, q->layers.items[i]));
  }
  return bsm_network_sweep(net, q->scratch);
}

static bsm_status run(quantizer *q, size_t *count) {
  bsm_network *net = q->net;
  q->tensor_count = net->tensors.len;
  BSM_TRY(bsm_find_quantizable(net, q->scratch, &q->found));
  q->site_of =
      BSM_NEW_ARRAY(q->scratch, const bsm_site *, net->next_layer_id + 1u);
  q->ranges = BSM_NEW_ARRAY(q->scratch, range, q->tensor_count + 1);
  q->wanted = BSM_NEW_ARRAY(q->scratch, bool, q->tensor_count + 1);
  q->quantized = BSM_NEW_ARRAY(q->scratch, bsm_itensor *, q->tensor_count + 1);
  if (!q->site_of || !q->ranges || !q->wanted || !q->quantized) {
    return BSM_FAIL_OOM();
  }
  find_ranges(q);
  BSM_TRY(tell_facts(q));
  BSM_TRY(find_slow(q));
  BSM_TRY(choose_sites(q, count));
  spread_back(q);
  BSM_TRY(rewrite(q));
  return bsm_network_verify(net);
}

bsm_status bsm_quantize_network(bsm_network *net,
                                const bsm_quantize_options *options,
                                size_t *count) {
  bsm_arena scratch;
  bsm_arena_init(&scratch, net->arena->allocator);
  quantizer q = {.net = net, .options = options, .scratch = &scratch};
  bsm_status status = run(&q, count);
  bsm_arena_destroy(&scratch);
  return bsm_status_note(status, "while quantizing");
}
