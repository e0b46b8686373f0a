/* SPDX-License-Identifier: Apache-2.0 */
/* Joins pointwise (1x1) and depthwise convolutions that follow one another, so
 * that they become one step over bands of rows and the wide tensors between
 * them never go to memory:
 *   pointwise -> depthwise -> pointwise
 *   pointwise -> depthwise
 *   depthwise -> pointwise
 * where the first may also be a network's first convolution, of few maps;
 * and takes a factor of each channel (squeeze and excite) into the pointwise
 * convolution that alone reads the product:
 *   x * scale [N, C, 1, 1] -> pointwise
 * Requires: what lies between has one reader and is float. */
#include "backend/cpu/target/cpu_target.h"
#include "builder/uses.h"

static bool is_float_image(const bsm_itensor *t) {
  return t->dtype == BSM_DTYPE_FLOAT && t->dims.rank == 4;
}

static bool is_free(const bsm_layer *layer) {
  return layer->kind == BSM_LAYER_CONVOLUTION && !layer->removed &&
         layer->p.convolution.window.spatial == 2 &&
         is_float_image(layer->inputs.items[0]) &&
         is_float_image(layer->outputs.items[0]) &&
         !layer->p.convolution.has_scale && !layer->p.convolution.joins_next;
}

static bool is_pointwise(const bsm_layer *layer) {
  const bsm_convolution_params *p = &layer->p.convolution;
  const bsm_window_params *w = &p->window;
  if (!is_free(layer) || p->groups != 1) return false;
  for (int d = 0; d < 2; d++) {
    if (w->kernel[d] != 1 || w->stride[d] != 1 || w->dilation[d] != 1 ||
        w->pre_padding[d] || w->post_padding[d]) {
      return false;
    }
  }
  return true;
}

/* What the kernels of first layers read as planes. */
#define MAX_PLANE_MAPS 4
#define MAX_PLANE_STRIDE 4
#define MAX_PLANE_REACH 64

bool bsm_cpu_reads_planes(const bsm_layer *layer) {
  const bsm_convolution_params *p = &layer->p.convolution;
  const bsm_dims x = layer->inputs.items[0]->dims;
  const bsm_window_params *w = &p->window;
  const int32_t last = w->spatial - 1;
  if (layer->kind != BSM_LAYER_CONVOLUTION ||
      layer->outputs.items[0]->dtype != BSM_DTYPE_FLOAT || w->spatial > 2 ||
      p->groups != 1 || p->epilogue.has_residual || x.d[1] > MAX_PLANE_MAPS ||
      (w->stride[last] != 2 && w->stride[last] != 4)) {
    return false;
  }
  for (int32_t i = 0; i < w->spatial; i++) {
    if (w->stride[i] > MAX_PLANE_STRIDE ||
        w->dilation[i] * (w->kernel[i] - 1) >= MAX_PLANE_REACH) {
      return false;
    }
  }
  return true;
}

/* What may stand before depthwise. */
static bool is_expansion(const bsm_layer *layer) {
  return is_pointwise(layer) || (is_free(layer) && bsm_cpu_reads_planes(layer));
}

/* Depthwise with a window that the backend's chains take. */
static bool is_filter(const bsm_layer *layer) {
  const bsm_convolution_params *p = &layer->p.convolution;
  const bsm_window_params *w = &p->window;
  return is_free(layer) && p->groups > 1 && p->groups == p->out_maps &&
         p->groups == layer->inputs.items[0]->dims.d[1] &&
         w->kernel[0] == w->kernel[1] && w->stride[0] == w->stride[1] &&
         w->dilation[0] == 1 && w->dilation[1] == 1 && w->stride[0] <= 2 &&
         (w->kernel[0] == 3 || w->kernel[0] == 5 || w->kernel[0] == 7);
}

static double bytes_of(const bsm_itensor *t) {
  double bytes = sizeof(float);
  for (int32_t i = 0; i < t->dims.rank; i++) bytes *= (double)t->dims.d[i];
  return bytes;
}

/* The convolution before, when only `layer` reads it and it can hand its rows
 * on. */
static bsm_layer *before(const bsm_uses *uses, const bsm_layer *layer) {
  const bsm_itensor *x = layer->inputs.items[0];
  bsm_layer *producer = x->producer;
  return producer && bsm_uses_single_reader(uses, x) == layer &&
                 producer->kind == BSM_LAYER_CONVOLUTION &&
                 !producer->p.convolution.epilogue.has_residual
             ? producer
             : NULL;
}

static bool ends_chain(const bsm_layer *layer) {
  const bsm_layer *producer = layer->inputs.items[0]->producer;
  return producer && producer->kind == BSM_LAYER_CONVOLUTION &&
         producer->p.convolution.joins_next;
}

/* Joins a depthwise layer and its neighbours when what lies between them would
 * take more than its share of the cache, so that it is written to and read from
 * slower memory. */
static void join(const bsm_uses *uses, bsm_layer *filter, double share) {
  bsm_layer *expand = before(uses, filter);
  bsm_itensor *y = filter->outputs.items[0];
  bsm_layer *project = bsm_uses_single_reader(uses, y);
  if (expand && (!is_expansion(expand) || ends_chain(expand))) expand = NULL;
  if (project && (!is_pointwise(project) || before(uses, project) != filter)) {
    project = NULL;
  }
  double between = 0;
  if (expand) between += bytes_of(filter->inputs.items[0]);
  if (project) between += bytes_of(y);
  if (between <= share) return;
  if (expand) expand->p.convolution.joins_next = true;
  if (project) filter->p.convolution.joins_next = true;
}

/* x * scale -> pointwise: the product's other operand, or NULL. */
static bsm_itensor *scale_of(const bsm_layer *product, bsm_itensor **x) {
  for (size_t i = 0; i < 2; i++) {
    bsm_itensor *a = product->inputs.items[i];
    bsm_itensor *b = product->inputs.items[1 - i];
    if (is_float_image(a) && is_float_image(b) &&
        bsm_dims_equal(a->dims, product->outputs.items[0]->dims) &&
        b->dims.d[0] == a->dims.d[0] && b->dims.d[1] == a->dims.d[1] &&
        b->dims.d[2] == 1 && b->dims.d[3] == 1) {
      *x = a;
      return b;
    }
  }
  return NULL;
}

static bsm_status take_scale(bsm_network *net, const bsm_uses *uses,
                             bsm_layer *layer) {
  bsm_itensor *product = layer->inputs.items[0], *x;
  const bsm_layer *producer = product->producer;
  if (!producer || producer->kind != BSM_LAYER_ELEMENT_WISE ||
      producer->p.element_wise.operation != BSM_ELEMENT_WISE_PROD ||
      bsm_uses_single_reader(uses, product) != layer) {
    return BSM_OK;
  }
  bsm_itensor *scale = scale_of(producer, &x);
  if (!scale) return BSM_OK;
  BSM_TRY_ALLOC(bsm_vec_push(net->arena, &layer->inputs, scale));
  for (size_t i = layer->inputs.len - 1; i > 1; i--) {
    layer->inputs.items[i] = layer->inputs.items[i - 1];
  }
  layer->inputs.items[0] = x;
  layer->inputs.items[1] = scale;
  layer->p.convolution.has_scale = true;
  return BSM_OK;
}

bsm_status bsm_cpu_fold_channel_scales(const bsm_target *target,
                                       bsm_network *net, bsm_arena *scratch) {
  bsm_uses uses;
  (void)target;
  BSM_TRY(bsm_uses_compute(net, scratch, &uses));
  for (size_t i = 0; i < net->layers.len; i++) {
    if (is_pointwise(net->layers.items[i])) {
      BSM_TRY(take_scale(net, &uses, net->layers.items[i]));
    }
  }
  return BSM_OK;
}

bsm_status bsm_cpu_fuse_chains(const bsm_target *target, bsm_network *net,
                               bsm_arena *scratch) {
  const bsm_cpu_target *cpu = bsm_cpu_target_of(target);
  bsm_uses uses;
  BSM_TRY(bsm_uses_compute(net, scratch, &uses));
  /* The second-level caches of all threads have room for twice this. */
  const double share = (double)cpu->l2 / 2 * cpu->threads;
  for (size_t i = 0; i < net->layers.len; i++) {
    if (is_filter(net->layers.items[i])) {
      join(&uses, net->layers.items[i], share);
    }
  }
  return BSM_OK;
}
