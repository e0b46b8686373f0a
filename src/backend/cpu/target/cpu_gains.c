/* SPDX-License-Identifier: Apache-2.0 */
/* How long layers are expected to take in float32 and in int8.
 *
 * With instructions for products of bytes it always does. Without, AVX2 and
 * AVX-512 multiply pairs of bytes into 16 bits, and again what of pairs of
 * weights may exceed these (cpu_int8_split.h), while float32 has Winograd's
 * algorithm and cheaper ends of sums. The estimate is in nanoseconds of one
 * core that was measured; only ratios count. */
#include <math.h>

#include "backend/cpu/cpu_forms.h"
#include "backend/cpu/target/cpu_target.h"
#include "base/isa.h"
#include "builder/constants.h"

#define DEPTH 4 /* weights of a column that are multiplied at once */
#define MAX_COLUMNS 16

typedef struct rates {
  double bytes, floats; /* products of one nanosecond */
  double byte_end, end; /* of a sum */
  double quantize;      /* of an input, which mostly is in bytes already */
  int columns;          /* that are multiplied again together */
} rates;

static const rates avx2 = {85, 43, 1.8, 0.35, 0.1, 8};
static const rates avx512 = {89, 58, 2.0, 0.2, 0.1, MAX_COLUMNS};
/* How much faster Winograd's algorithm is, on images of at least so many pixels
 * and below. */
#define LARGE_IMAGE 100
#define LARGE_GAIN 2.0
#define SMALL_GAIN 1.15

/* An output of depthwise convolutions, others in groups, and deconvolutions,
 * which take about a nanosecond more in int8. */
#define OTHER 3.0

/* A product: `maps` columns of `depth` weights, `map` and `step` apart. */
typedef struct product {
  const float *weights;
  int64_t maps, depth, map, step;
  double winograd; /* how much faster float32 is by it */
} product;

static double elements(bsm_dims dims) {
  double count = 1;
  for (int32_t i = 0; i < dims.rank; i++) count *= (double)dims.d[i];
  return count;
}

static bool has_winograd(const bsm_convolution_params *c, int64_t in_maps) {
  if (c->window.spatial < 2 || in_maps < BSM_PANEL || c->out_maps < BSM_PANEL) {
    return false;
  }
  for (int32_t i = 0; i < c->window.spatial; i++) {
    if (c->window.stride[i] != 1) return false;
    if (c->window.kernel[i] != 3 && c->window.kernel[i] != 5) return false;
  }
  return true;
}

static bool read_convolution(const bsm_layer *layer, product *p) {
  const bsm_convolution_params *c = &layer->p.convolution;
  const bsm_dims x = layer->inputs.items[0]->dims;
  if (c->groups != 1 || c->out_maps <= 0) return false;
  p->weights = c->kernel.values;
  p->maps = c->out_maps;
  p->depth = p->map = c->kernel.count / c->out_maps;
  p->step = 1;
  const double pixels = elements(layer->outputs.items[0]->dims) /
                        (double)p->maps / fmax(1, (double)x.d[0]);
  p->winograd = !has_winograd(c, x.d[1]) ? 1
                : pixels >= LARGE_IMAGE  ? LARGE_GAIN
                                         : SMALL_GAIN;
  return true;
}

/* The constant matrix is either operand. */
static bool read_matrix(const bsm_layer *layer, product *p) {
  const bsm_itensor *a = layer->inputs.items[0], *b = layer->inputs.items[1];
  const bool first = bsm_constant_of(a, BSM_DTYPE_FLOAT) != NULL;
  const bsm_itensor *matrix = first ? a : b;
  const bsm_weights *w = bsm_constant_of(matrix, BSM_DTYPE_FLOAT);
  const bsm_matrix_operation op =
      first ? layer->p.matrix_multiply.op_a : layer->p.matrix_multiply.op_b;
  /* Whether the maps are rows of what is stored. */
  const bool rows = first != (op == BSM_MATRIX_TRANSPOSE);
  if (!w || matrix->dims.rank != 2) return false;
  p->weights = w->values;
  p->maps = matrix->dims.d[rows ? 0 : 1];
  p->depth = matrix->dims.d[rows ? 1 : 0];
  p->map = rows ? p->depth : 1;
  p->step = rows ? 1 : p->maps;
  p->winograd = 1;
  return true;
}

static double weight_at(const product *p, int64_t map, int64_t k) {
  return k < p->depth ? (double)p->weights[map * p->map + k * p->step] : 0;
}

static double greatest_of(const product *p, int64_t map) {
  double most = 0;
  for (int64_t k = 0; k < p->depth; k++) {
    most = fmax(most, fabs(weight_at(p, map, k)));
  }
  return most;
}

/* Whether the pair of a map's weights from k on may exceed 16 bits, where the
 * greatest becomes 127. */
static bool is_unsafe(const product *p, int64_t map, int64_t k, double most) {
  const double a = weight_at(p, map, k), b = weight_at(p, map, k + 1);
  return a * b > 0 && fabs(a + b) * 127 > 128 * most;
}

/* The share of groups of weights that are multiplied twice. Kernels have
 * another order here than packed, which has as many such groups. */
static double share_of_unsafe(const product *p, int columns) {
  double unsafe = 0, all = 0, most[MAX_COLUMNS];
  for (int64_t first = 0; first < p->maps; first += columns) {
    const int64_t n = p->maps - first < columns ? p->maps - first : columns;
    for (int64_t i = 0; i < n; i++) most[i] = greatest_of(p, first + i);
    for (int64_t k = 0; k < p->depth; k += DEPTH, all++) {
      bool found = false;
      for (int64_t i = 0; i < n && !found; i++) {
        found = is_unsafe(p, first + i, k, most[i]) ||
                is_unsafe(p, first + i, k + 2, most[i]);
      }
      unsafe += found;
    }
  }
  return all > 0 ? unsafe / all : 0;
}

bsm_int8_times bsm_cpu_int8_times(const bsm_target *target,
                                  const bsm_layer *layer) {
  const bsm_cpu_target *cpu = bsm_cpu_target_of(target);
  const rates *r = cpu->isa & BSM_ISA_AVX512 ? &avx512 : &avx2;
  product p = {0};
  if (!cpu->no_vnni) return (bsm_int8_times){0};
  const double outputs = elements(layer->outputs.items[0]->dims);
  if (!(layer->kind == BSM_LAYER_CONVOLUTION       ? read_convolution(layer, &p)
        : layer->kind == BSM_LAYER_MATRIX_MULTIPLY ? read_matrix(layer, &p)
                                                   : false)) {
    return (bsm_int8_times){outputs * OTHER, outputs * (OTHER + 1)};
  }
  const double products = outputs * (double)p.depth;
  const double twice = share_of_unsafe(&p, r->columns);
  return (bsm_int8_times){
      .fp32 = products / r->floats / p.winograd + outputs * r->end,
      .int8 = products * (1 + twice) / r->bytes + outputs * r->byte_end +
              elements(layer->inputs.items[0]->dims) * r->quantize};
}
