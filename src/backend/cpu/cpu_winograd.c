/* SPDX-License-Identifier: Apache-2.0 */
/* Packs the transformed kernels of Winograd's convolutions. */
#include "backend/cpu/cpu_winograd.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/kernels/gemm/gemm_f32.h"
#include "backend/cpu/kernels/winograd/winograd_f32.h"
#include "base/checked.h"

#define MAX_N BSM_K_WINOGRAD_MAX
#define LIMIT ((int64_t)1 << 46) /* elements */
/* Fewer channels than this do not pay for the transforms. */
#define MIN_MAPS 8

int32_t bsm_cpu_winograd_outputs(int32_t form) {
  switch (form) {
    case BSM_CONVOLUTION_WINOGRAD_2:
      return 2;
    case BSM_CONVOLUTION_WINOGRAD_4:
      return 4;
    case BSM_CONVOLUTION_WINOGRAD_6:
      return 6;
    default:
      return 0;
  }
}

bool bsm_cpu_winograd_fits(const bsm_step_convolution *p, int64_t in_maps) {
  if (p->window.spatial != 2 || p->groups != 1 || in_maps < MIN_MAPS ||
      p->out_maps < MIN_MAPS) {
    return false;
  }
  for (int d = 1; d < 3; d++) {
    if (p->window.kernel[d] != 3 || p->window.stride[d] != 1 ||
        p->window.dilation[d] != 1) {
      return false;
    }
  }
  return true;
}

bsm_status bsm_cpu_winograd_size(const bsm_step_convolution *p, int64_t in_maps,
                                 int32_t form, uint64_t *size) {
  const int64_t n = bsm_cpu_winograd_outputs(form) + 2;
  if (n == 2 || !bsm_cpu_winograd_fits(p, in_maps)) {
    return BSM_FAIL(BSM_CORRUPT, "weights of form %d for this convolution",
                    form);
  }
  const int64_t panels =
      p->out_maps / BSM_K_PANEL + (p->out_maps % BSM_K_PANEL != 0);
  int64_t count;
  if (in_maps > LIMIT || p->out_maps > LIMIT ||
      !bsm_i64_mul(panels * BSM_K_PANEL, in_maps, &count) || count > LIMIT) {
    return BSM_FAIL(BSM_CORRUPT, "the kernel is too large");
  }
  *size = (uint64_t)(count * n * n) * sizeof(float);
  return BSM_OK;
}

/* The points of interpolation; infinity is left out. */
static int points_of(int n, double *points) {
  static const double two[] = {0, 1, -1}, six[] = {0, 1, -1, 2, -2, 0.5, -0.5};
  const double a = sqrt(0.5), b = sqrt(2.0);
  const double four[] = {0, a, -a, b, -b};
  const double *from = n == 4 ? two : n == 6 ? four : six;
  memcpy(points, from, (size_t)(n - 1) * sizeof(*points));
  return n - 1;
}

/* Row i of G: the powers of point i over the product of its distances from the
 * others; of infinity the coefficient of x^2 alone. */
static void make_g(int n, double g[MAX_N][3]) {
  double points[MAX_N];
  const int count = points_of(n, points);
  for (int i = 0; i < count; i++) {
    double distance = 1;
    for (int j = 0; j < count; j++) {
      if (j != i) distance *= points[i] - points[j];
    }
    g[i][0] = 1 / distance;
    g[i][1] = points[i] / distance;
    g[i][2] = points[i] * points[i] / distance;
  }
  g[n - 1][0] = g[n - 1][1] = 0;
  g[n - 1][2] = 1;
}

/* Column `column` of u [n * n][16]: G k G^T of the 3 x 3 kernel k. */
static void transform(int n, double g[MAX_N][3], const float *k, int column,
                      float (*u)[BSM_K_PANEL]) {
  double rows[MAX_N][3];
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < 3; j++) {
      rows[i][j] = g[i][0] * (double)k[j] + g[i][1] * (double)k[3 + j] +
                   g[i][2] * (double)k[6 + j];
    }
  }
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      u[i * n + j][column] =
          (float)(rows[i][0] * g[j][0] + rows[i][1] * g[j][1] +
                  rows[i][2] * g[j][2]);
    }
  }
}

void bsm_cpu_winograd_pack(const bsm_step_convolution *p, int64_t in_maps,
                           int32_t form, const float *values, float *packed) {
  const int n = bsm_cpu_winograd_outputs(form) + 2;
  const int64_t panel = in_maps * BSM_K_PANEL;
  const int64_t position =
      (p->out_maps + BSM_K_PANEL - 1) / BSM_K_PANEL * panel;
  double g[MAX_N][3];
  make_g(n, g);
  for (int64_t k = 0; k < p->out_maps; k += BSM_K_PANEL) {
    for (int64_t c = 0; c < in_maps; c++) {
      float u[MAX_N * MAX_N][BSM_K_PANEL] = {{0}};
      for (int i = 0; i < BSM_K_PANEL && k + i < p->out_maps; i++) {
        transform(n, g, values + ((k + i) * in_maps + c) * 9, i, u);
      }
      float *to = packed + k / BSM_K_PANEL * panel + c * BSM_K_PANEL;
      for (int i = 0; i < n * n; i++) {
        memcpy(to + i * position, u[i], sizeof(u[i]));
      }
    }
  }
}
