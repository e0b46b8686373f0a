/* SPDX-License-Identifier: Apache-2.0 */
/* Packs the transformed kernels of Winograd's convolutions. */
#include "backend/cpu/cpu_winograd.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/kernels/gemm/gemm_f32.h"
#include "backend/cpu/kernels/winograd/winograd_f32.h"
#include "base/checked.h"

#define MAX_N BSM_K_WINOGRAD_MAX
#define MAX_R 5
#define LIMIT ((int64_t)1 << 46) /* elements */
/* Fewer channels than this do not pay for the transforms. */
#define MIN_IN_MAPS 3
#define MIN_OUT_MAPS 8
/* Of each of several groups; and of all of them at most, as their panels are
 * counted one by one. */
#define MIN_GROUP_MAPS 5
#define MAX_GROUPED_MAPS ((int64_t)1 << 16)

int32_t bsm_cpu_winograd_tile(int32_t form) {
  switch (form) {
    case BSM_CPU_FORM_WINOGRAD_2:
      return 4;
    case BSM_CPU_FORM_WINOGRAD_4:
      return 6;
    case BSM_CPU_FORM_WINOGRAD_6:
      return 8;
    default:
      return 0;
  }
}

/* With several groups, panels differ in their input maps, of which there is one
 * tap in depth alone. */
static bool groups_fit(const bsm_step_convolution *p, int64_t in_maps) {
  if (p->groups == 1) return true;
  return p->groups > 1 && p->window.kernel[0] == 1 &&
         in_maps <= MAX_GROUPED_MAPS && p->out_maps <= MAX_GROUPED_MAPS &&
         in_maps % p->groups == 0 && p->out_maps % p->groups == 0 &&
         in_maps / p->groups >= MIN_GROUP_MAPS &&
         p->out_maps / p->groups >= MIN_GROUP_MAPS;
}

bool bsm_cpu_winograd_fits(const bsm_step_convolution *p, int64_t in_maps,
                           int32_t form) {
  const bsm_step_window *w = &p->window;
  if (w->spatial < 2 || !groups_fit(p, in_maps) || in_maps < MIN_IN_MAPS ||
      p->out_maps < MIN_OUT_MAPS || w->kernel[1] != w->kernel[2] ||
      (w->kernel[1] != 3 && w->kernel[1] != 5) || w->stride[1] != 1 ||
      w->stride[2] != 1) {
    return false;
  }
  return bsm_cpu_winograd_tile(form) > w->kernel[1]; /* two outputs at least */
}

bsm_status bsm_cpu_winograd_size(const bsm_step_convolution *p, int64_t in_maps,
                                 int32_t form, uint64_t *size) {
  const int64_t n = bsm_cpu_winograd_tile(form);
  if (!bsm_cpu_winograd_fits(p, in_maps, form)) {
    return BSM_FAIL(BSM_CORRUPT, "weights of form %d for this convolution",
                    form);
  }
  const int64_t panels =
      p->out_maps / BSM_K_PANEL + (p->out_maps % BSM_K_PANEL != 0);
  int64_t count;
  if (in_maps > LIMIT || p->out_maps > LIMIT ||
      !bsm_i64_mul(panels * BSM_K_PANEL, in_maps, &count) || count > LIMIT ||
      !bsm_i64_mul(count, p->window.kernel[0], &count) || count > LIMIT) {
    return BSM_FAIL(BSM_CORRUPT, "the kernel is too large");
  }
  if (p->groups > 1) count = bsm_cpu_winograd_position(p, in_maps);
  *size = (uint64_t)(count * n * n) * sizeof(float);
  return BSM_OK;
}

bsm_cpu_winograd_maps bsm_cpu_winograd_maps_of(const bsm_step_convolution *p,
                                               int64_t in_maps, int64_t panel) {
  const int64_t inputs = in_maps / p->groups, outputs = p->out_maps / p->groups;
  const int64_t first = panel * BSM_K_PANEL;
  const int64_t end =
      first + BSM_K_PANEL < p->out_maps ? first + BSM_K_PANEL : p->out_maps;
  const int64_t group = first / outputs;
  return (bsm_cpu_winograd_maps){group * inputs,
                                 ((end - 1) / outputs - group + 1) * inputs};
}

int64_t bsm_cpu_winograd_position(const bsm_step_convolution *p,
                                  int64_t in_maps) {
  int64_t count = 0;
  for (int64_t i = 0; i * BSM_K_PANEL < p->out_maps; i++) {
    count += bsm_cpu_winograd_maps_of(p, in_maps, i).count;
  }
  return count * p->window.kernel[0] * BSM_K_PANEL;
}

/* The points of interpolation; infinity is left out. */
static int points_of(int n, double *points) {
  static const double two[] = {0, 1, -1}, six[] = {0, 1, -1, 2, -2, 0.5, -0.5};
  const double a = sqrt(0.5), b = sqrt(2.0);
  const double four[] = {0, a, -a, b, -b};
  const double *from = n == 4 ? two : n == 6 ? four : six;
  for (int i = 0; i < n - 1; i++) points[i] = from[i];
  return n - 1;
}

/* Row i of G: the powers of point i over the product of its distances from the
 * others; of infinity the highest coefficient alone. */
static void make_g(int n, int r, double g[MAX_N][MAX_R]) {
  double points[MAX_N];
  const int count = points_of(n, points);
  for (int i = 0; i < count; i++) {
    double x = 1;
    for (int j = 0; j < count; j++) {
      if (j != i) x /= points[i] - points[j];
    }
    for (int j = 0; j < r; j++) {
      g[i][j] = x;
      x *= points[i];
    }
  }
  for (int j = 0; j < r; j++) g[n - 1][j] = j == r - 1;
}

/* Column `column` of u [n * n][16]: G k G^T of the r x r kernel k. */
static inline void transform(const int n, const int r, double g[MAX_N][MAX_R],
                             const float *k, int column,
                             float (*u)[BSM_K_PANEL]) {
  double rows[MAX_N][MAX_R];
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < r; j++) {
      rows[i][j] = 0;
      for (int l = 0; l < r; l++) {
        rows[i][j] += g[i][l] * (double)k[l * r + j];
      }
    }
  }
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      double sum = 0;
      for (int l = 0; l < r; l++) sum += rows[i][l] * g[j][l];
      u[i * n + j][column] = (float)sum;
    }
  }
}

static int64_t min_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t max_of(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* The columns of U for one tap and channel, from `column` on of the output maps
 * k .. end - 1, whose weights are `map` floats apart. */
static void pack_column(const bsm_step_convolution *p, double g[MAX_N][MAX_R],
                        int n, int64_t k, int64_t end, const float *first,
                        int64_t map, int column, float (*u)[BSM_K_PANEL]) {
  const int r = (int)p->window.kernel[1];
  for (; k < end; k++, column++) {
    const float *from = first + k * map;
    if (r == 3) { /* constants let the loops unroll */
      transform(n, 3, g, from, column, u);
    } else {
      transform(n, 5, g, from, column, u);
    }
  }
}

/* A panel of all positions, from output map `k` on. */
static void pack_panel(const bsm_step_convolution *p, double g[MAX_N][MAX_R],
                       int n, int64_t k, bsm_cpu_winograd_maps maps,
                       int64_t inputs, const float *values, int64_t position,
                       float *packed) {
  const int64_t square = p->window.kernel[1] * p->window.kernel[2];
  const int64_t taps = p->window.kernel[0], outputs = p->out_maps / p->groups;
  const int64_t end = min_of(k + BSM_K_PANEL, p->out_maps);
  for (int64_t tap = 0; tap < taps; tap++) {
    for (int64_t c = 0; c < maps.count; c++, packed += BSM_K_PANEL) {
      const int64_t group = (maps.first + c) / inputs;
      const int64_t from = max_of(k, group * outputs);
      float u[MAX_N * MAX_N][BSM_K_PANEL] = {{0}};
      pack_column(p, g, n, from, min_of(end, (group + 1) * outputs),
                  values + ((maps.first + c) % inputs * taps + tap) * square,
                  inputs * taps * square, (int)(from - k), u);
      for (int i = 0; i < n * n; i++) {
        memcpy(packed + i * position, u[i], sizeof(u[i]));
      }
    }
  }
}

void bsm_cpu_winograd_pack(const bsm_step_convolution *p, int64_t in_maps,
                           int32_t form, const float *values, float *packed) {
  const int n = bsm_cpu_winograd_tile(form), r = (int)p->window.kernel[1];
  const int64_t position = bsm_cpu_winograd_position(p, in_maps);
  double g[MAX_N][MAX_R];
  make_g(n, r, g);
  for (int64_t i = 0; i * BSM_K_PANEL < p->out_maps; i++) {
    const bsm_cpu_winograd_maps maps = bsm_cpu_winograd_maps_of(p, in_maps, i);
    pack_panel(p, g, n, i * BSM_K_PANEL, maps, in_maps / p->groups, values,
               position, packed);
    packed += maps.count * p->window.kernel[0] * BSM_K_PANEL;
  }
}
