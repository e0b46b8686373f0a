/* SPDX-License-Identifier: Apache-2.0 */
/* Bins of regions. A position may be any number, and NaN: it is compared such
 * that NaN is outside. */
#include "aten/regions.h"

#include <math.h>

#include "aten/element.h"

/* Positions are most often float. */
static double rnd(bsm_dtype d, double v) {
  if (d == BSM_DTYPE_FLOAT) return (double)(float)v;
  bsm_round_f64(d, 1, &v);
  return v;
}

/* ---- samples ---- */

/* At a y of the plane, or beside it by at most one; an x that is not, and NaN:
 * 0. */
static double bilinear(const double *plane, int64_t h, int64_t w, double y,
                       double x) {
  if (!(x >= -1.0 && x <= (double)w)) return 0.0;
  if (y <= 0) y = 0;
  if (x <= 0) x = 0;
  int64_t y0 = (int64_t)y, x0 = (int64_t)x, y1 = y0 + 1, x1 = x0 + 1;
  if (y0 >= h - 1) {
    y0 = y1 = h - 1;
    y = (double)y0;
  }
  if (x0 >= w - 1) {
    x0 = x1 = w - 1;
    x = (double)x0;
  }
  const double ly = y - (double)y0, lx = x - (double)x0;
  return (1 - ly) * (1 - lx) * plane[y0 * w + x0] +
         (1 - ly) * lx * plane[y0 * w + x1] +
         ly * (1 - lx) * plane[y1 * w + x0] + ly * lx * plane[y1 * w + x1];
}

static bsm_region sampled_region(const bsm_region_pooling *p,
                                 const double *row) {
  const bsm_dtype d = p->dtype;
  const double shift = p->aligned ? 0.5 : 0.0, scale = rnd(d, p->scale);
  double at[4];
  for (int i = 0; i < 4; i++) {
    at[i] = rnd(d, rnd(d, row[1 + i] * scale) - shift);
  }
  double w = rnd(d, at[2] - at[0]), h = rnd(d, at[3] - at[1]);
  if (!p->aligned) {
    w = w > 1.0 ? w : 1.0;
    h = h > 1.0 ? h : 1.0;
  }
  bsm_region r = {.y0 = at[1], .x0 = at[0]};
  r.bin_h = rnd(d, h / (double)p->rows);
  r.bin_w = rnd(d, w / (double)p->columns);
  r.grid_h = p->samples > 0 ? p->samples : bsm_double_to_i64(ceil(r.bin_h));
  r.grid_w = p->samples > 0 ? p->samples : bsm_double_to_i64(ceil(r.bin_w));
  return r;
}

static double mean_of_samples(const bsm_regions *all, const bsm_region *r,
                              const double *plane, int64_t row,
                              int64_t column) {
  const bsm_dtype d = all->how.dtype;
  const double top = rnd(d, r->y0 + rnd(d, (double)row * r->bin_h));
  const double left = rnd(d, r->x0 + rnd(d, (double)column * r->bin_w));
  double sum = 0.0;
  for (int64_t i = 0; i < r->grid_h; i++) {
    const double dy =
        rnd(d, rnd(d, ((double)i + 0.5) * r->bin_h) / (double)r->grid_h);
    const double y = rnd(d, top + dy);
    if (!(y >= -1.0 && y <= (double)all->height)) continue;
    for (int64_t k = 0; k < r->grid_w; k++) {
      const double dx =
          rnd(d, rnd(d, ((double)k + 0.5) * r->bin_w) / (double)r->grid_w);
      sum += bilinear(plane, all->height, all->width, y, rnd(d, left + dx));
    }
  }
  const double count = (double)r->grid_h * (double)r->grid_w;
  return sum / (all->how.grouped || count > 1.0 ? count : 1.0);
}

/* ---- whole pixels ---- */

static bsm_region whole_region(const bsm_region_pooling *p, const double *row) {
  const bsm_dtype d = p->dtype;
  const double scale = rnd(d, p->scale), more = p->grouped ? 0.0 : 1.0;
  double at[4];
  for (int i = 0; i < 4; i++) at[i] = round(rnd(d, row[1 + i] * scale));
  const double w = fmax(at[2] - at[0] + more, 1.0);
  const double h = fmax(at[3] - at[1] + more, 1.0);
  return (bsm_region){.y0 = at[1],
                      .x0 = at[0],
                      .bin_h = rnd(d, rnd(d, h) / (double)p->rows),
                      .bin_w = rnd(d, rnd(d, w) / (double)p->columns)};
}

static int64_t clip(double v, int64_t high) {
  if (!(v > 0.0)) return 0;
  return v > (double)high ? high : (int64_t)v;
}

static double pool_whole(const bsm_regions *all, const bsm_region *r,
                         const double *plane, int64_t row, int64_t column,
                         int64_t *where) {
  const bsm_dtype d = all->how.dtype;
  const bool mean = all->how.grouped;
  const int64_t last_y = all->height - mean, last_x = all->width - mean;
  const int64_t y0 =
      clip(floor(rnd(d, (double)row * r->bin_h)) + r->y0, last_y);
  const int64_t x0 =
      clip(floor(rnd(d, (double)column * r->bin_w)) + r->x0, last_x);
  const int64_t y1 =
      clip(ceil(rnd(d, (double)(row + 1) * r->bin_h)) + r->y0, last_y);
  const int64_t x1 =
      clip(ceil(rnd(d, (double)(column + 1) * r->bin_w)) + r->x0, last_x);
  const bool empty = y1 <= y0 || x1 <= x0;
  double best = empty ? 0.0 : -3.4028234663852886e38, sum = 0.0;
  for (int64_t y = y0; y < y1; y++) {
    for (int64_t x = x0; x < x1; x++) {
      const double v = plane[y * all->width + x];
      sum += v;
      if (v > best) {
        best = v;
        *where = y * all->width + x;
      }
    }
  }
  if (!mean) return best;
  return empty ? 0.0 : sum / (double)((y1 - y0) * (x1 - x0));
}

/* ---- both ---- */

bsm_status bsm_region_init(const bsm_regions *r, const double *row,
                           int64_t images, bsm_region *out) {
  *out =
      r->how.whole ? whole_region(&r->how, row) : sampled_region(&r->how, row);
  out->image = bsm_double_to_i64(row[0]);
  if (out->image < 0 || out->image >= images || r->height == 0 ||
      r->width == 0) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "batch index %lld of a batch of %lld",
                    (long long)out->image, (long long)images);
  }
  const int64_t most = BSM_REGION_MAX_SAMPLES;
  if (out->grid_h > most || out->grid_w > most || out->grid_h < -most ||
      out->grid_w < -most) {
    return BSM_FAIL(BSM_LIMIT, "a region with bins of %lld x %lld samples",
                    (long long)out->grid_h, (long long)out->grid_w);
  }
  return BSM_OK;
}

int64_t bsm_region_work(const bsm_regions *r, const bsm_region *one) {
  if (!r->how.whole) {
    return one->grid_h > 0 && one->grid_w > 0 ? one->grid_h * one->grid_w : 1;
  }
  /* A bin, and the pixels that it shares with the next, within the plane. */
  return clip(one->bin_h + 2.0, r->height) * clip(one->bin_w + 2.0, r->width);
}

double bsm_region_bin(const bsm_regions *r, const bsm_region *one,
                      const double *plane, int64_t row, int64_t column,
                      int64_t *where) {
  *where = -1;
  return r->how.whole ? pool_whole(r, one, plane, row, column, where)
                      : mean_of_samples(r, one, plane, row, column);
}
