/* SPDX-License-Identifier: Apache-2.0 */
/* How long layers are expected to take in float32 and in int8.
 *
 * With instructions for products of bytes int8 is always faster. Without, AVX2
 * and AVX-512 multiply pairs of bytes into 16 bits, and again what of pairs of
 * weights may exceed these (cpu_int8_relief.h, cpu_int8_split.h), while float32
 * has Winograd's algorithm, which int8 has with AVX2 alone. The estimate is in
 * nanoseconds of one core that was measured; only ratios count. */
#include <math.h>

#include "backend/cpu/cpu_forms.h"
#include "backend/cpu/cpu_int8_relief.h"
#include "backend/cpu/target/cpu_target.h"
#include "base/isa.h"
#include "builder/constants.h"

#define DEPTH BSM_K_INT8_DEPTH
#define COLUMNS BSM_K_INT8_PANEL

typedef struct rates {
  double bytes, floats; /* products of one nanosecond */
  double byte_end, end; /* of a sum */
  double quantize;      /* of an input, which mostly is in bytes already */
  double tap, copy;     /* of a window: each tap, or all where it is copied */
  /* How much faster Winograd's algorithm is in float32, on at least MANY_PIXELS
   * of all images. */
  double winograd;
} rates;

static const rates avx2 = {88, 47, 0.5, 0.35, 0.1, 0.7, 20, 2.4};
static const rates avx512 = {89, 58, 2.0, 0.2, 0.1, 0, 0, 2.0};
#define MANY_PIXELS 100
#define SMALL_GAIN 1.15 /* on others */

/* An output of depthwise convolutions, others in groups, and deconvolutions,
 * which take about a nanosecond more in int8. */
#define OTHER 3.0

/* A product: `maps` columns of `depth` weights, `map` and `step` apart. */
typedef struct product {
  const float *weights;
  int64_t maps, depth, map, step;
  double winograd;       /* how much faster float32 is by it */
  int64_t in_maps, taps; /* of a convolution */
  int64_t tiles; /* where it has Winograd's algorithm in bytes, too; else 0 */
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

/* Tiles of 4 x 4 outputs; 0: kernels of 3 x 3 alone have them. */
static int64_t tiles_of(const bsm_layer *layer) {
  const bsm_convolution_params *c = &layer->p.convolution;
  const bsm_dims y = layer->outputs.items[0]->dims;
  int64_t tiles = y.d[0];
  if (c->window.spatial != 2) return 0;
  for (int32_t i = 0; i < 2; i++) {
    if (c->window.kernel[i] != 3 || c->window.dilation[i] != 1) return 0;
    tiles *= (y.d[2 + i] + 3) / 4;
  }
  return tiles;
}

static bool read_convolution(const bsm_layer *layer, double winograd,
                             product *p) {
  const bsm_convolution_params *c = &layer->p.convolution;
  const bsm_dims x = layer->inputs.items[0]->dims;
  if (c->groups != 1 || c->out_maps <= 0) return false;
  p->weights = c->kernel.values;
  p->maps = c->out_maps;
  p->depth = p->map = c->kernel.count / c->out_maps;
  p->step = 1;
  const double pixels =
      elements(layer->outputs.items[0]->dims) / (double)p->maps;
  p->winograd = !has_winograd(c, x.d[1]) ? 1
                : pixels >= MANY_PIXELS  ? winograd
                                         : SMALL_GAIN;
  p->in_maps = x.d[1];
  p->taps = x.d[1] > 0 ? p->depth / x.d[1] : 0;
  p->tiles = p->winograd > 1 ? tiles_of(layer) : 0;
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

/* The weights of a panel of maps as bytes, of which the greatest of a map is
 * 127. Kernels have another order along K, which makes no difference. */
#define PANEL_GROUPS 256
typedef struct panel {
  int8_t b[PANEL_GROUPS][COLUMNS][DEPTH];
} panel;

static int64_t fill_panel(const product *p, int64_t first, panel *out) {
  const int64_t all = (p->depth + DEPTH - 1) / DEPTH;
  const int64_t groups = all < PANEL_GROUPS ? all : PANEL_GROUPS;
  for (int64_t i = 0; i < COLUMNS; i++) {
    const bool has = first + i < p->maps;
    const double most = has ? greatest_of(p, first + i) : 0;
    for (int64_t k = 0; k < groups * DEPTH; k++) {
      const double w = most > 0 ? weight_at(p, first + i, k) / most : 0;
      out->b[k / DEPTH][i][k % DEPTH] = (int8_t)lrint(w * INT8_MAX);
    }
  }
  return groups;
}

/* ---- AVX2 ---- */

#define PANELS 4 /* that tell of all */

/* The time of a weight (cpu_int8_relief.h). */
static double level_time(const product *p, int64_t rows) {
  const int64_t panels = (p->maps + COLUMNS - 1) / COLUMNS;
  const int64_t step = (panels + PANELS - 1) / PANELS;
  double time = 0, count = 0;
  for (int64_t i = 0; i < panels; i += step, count++) {
    panel columns;
    const int64_t groups = fill_panel(p, i * COLUMNS, &columns);
    const bsm_cpu_int8_matrix m = {&columns.b[0][0][0], 1, 1, groups};
    time += bsm_cpu_int8_best_level(&m, rows, p->maps).time;
  }
  return count > 0 ? time / count : 1;
}

static double avx2_products(const product *p, double outputs) {
  const double window =
      p->in_maps % DEPTH ? avx2.copy : avx2.tap * (double)p->taps;
  const double rows = outputs / fmax(1, (double)p->maps);
  const double plain =
      rows * window + bsm_cpu_int8_product_time(outputs * (double)p->depth,
                                                level_time(p, (int64_t)rows));
  if (!p->tiles || p->in_maps < BSM_K_INT8_WINOGRAD_LEAST) return plain;
  return fmin(plain, bsm_cpu_int8_winograd_time(p->in_maps, p->maps, p->tiles));
}

/* ---- AVX-512 ---- */

/* Whether a group of a panel's columns has a pair that may exceed 16 bits. */
static bool is_unsafe(const panel *p, int64_t group) {
  for (int64_t i = 0; i < COLUMNS; i++) {
    if (!bsm_k_int8_is_safe(p->b[group][i]) ||
        !bsm_k_int8_is_safe(p->b[group][i] + 2)) {
      return true;
    }
  }
  return false;
}

/* Groups of weights with such pairs are multiplied twice. */
static double avx512_products(const product *p, double outputs) {
  double unsafe = 0, all = 0;
  for (int64_t first = 0; first < p->maps; first += COLUMNS) {
    panel columns;
    const int64_t groups = fill_panel(p, first, &columns);
    for (int64_t k = 0; k < groups; k++, all++)
      unsafe += is_unsafe(&columns, k);
  }
  return outputs * (double)p->depth * (1 + (all > 0 ? unsafe / all : 0)) /
         avx512.bytes;
}

bsm_int8_times bsm_cpu_int8_times(const bsm_target *target,
                                  const bsm_layer *layer) {
  const bsm_cpu_target *cpu = bsm_cpu_target_of(target);
  const bool wide = cpu->isa & BSM_ISA_AVX512;
  const rates *r = wide ? &avx512 : &avx2;
  product p = {0};
  if (!cpu->no_vnni) return (bsm_int8_times){0};
  const double outputs = elements(layer->outputs.items[0]->dims);
  if (!(layer->kind == BSM_LAYER_CONVOLUTION
            ? read_convolution(layer, r->winograd, &p)
        : layer->kind == BSM_LAYER_MATRIX_MULTIPLY ? read_matrix(layer, &p)
                                                   : false)) {
    return (bsm_int8_times){outputs * OTHER, outputs * (OTHER + 1)};
  }
  const double products = outputs * (double)p.depth;
  return (bsm_int8_times){
      .fp32 = products / r->floats / p.winograd + outputs * r->end,
      .int8 = (wide ? avx512_products : avx2_products)(&p, outputs) +
              outputs * r->byte_end +
              elements(layer->inputs.items[0]->dims) * r->quantize};
}
