/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's own ops: nms and roi_align. */
#include "aten/op_kit.h"

static double area_of(const double *b) {
  return (b[2] - b[0]) * (b[3] - b[1]);
}

static double overlap(const double *a, const double *b) {
  const double w = fmin(a[2], b[2]) - fmax(a[0], b[0]);
  const double h = fmin(a[3], b[3]) - fmax(a[1], b[1]);
  const double inter = (w > 0 ? w : 0.0) * (h > 0 ? h : 0.0);
  return inter / (area_of(a) + area_of(b) - inter);
}

/* nms(dets, scores, iou_threshold): what is kept, best first */
static bsm_status op_nms(OP_PARAMS) {
  (void)self;
  bsm_tensor *dets = op_tensor(&args[0]), *scores = op_tensor(&args[1]), *out;
  const double threshold = op_double(&args[2]);
  if (dets->sizes.rank != 2 || dets->sizes.d[1] != 4 ||
      scores->sizes.rank != 1 || scores->sizes.d[0] != dets->sizes.d[0]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "boxes should be a 2d tensor [N, 4] and scores [N], got %s "
                    "and %s",
                    bsm_dims_str(dets->sizes), bsm_dims_str(scores->sizes));
  }
  if (cx->meta) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "the shape of nms depends on values");
  }
  const size_t n = (size_t)dets->sizes.d[0];
  const double *boxes = bsm_op_load_all(cx, dets);
  const double *s = bsm_op_load_all(cx, scores);
  int64_t *kept = BSM_NEW_ARRAY(cx->arena, int64_t, n + 1);
  bool *gone = BSM_NEW_ARRAY(cx->arena, bool, n + 1);
  BSM_TRY_ALLOC(boxes);
  BSM_TRY_ALLOC(s);
  BSM_TRY_ALLOC(kept);
  BSM_TRY_ALLOC(gone);
  size_t count = 0;
  for (;;) {
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
      if (!gone[i] && (best == n || s[i] > s[best])) best = i;
    }
    if (best == n) break;
    kept[count++] = (int64_t)best;
    gone[best] = true;
    for (size_t i = 0; i < n; i++) {
      if (!gone[i] && overlap(boxes + 4 * best, boxes + 4 * i) > threshold) {
        gone[i] = true;
      }
    }
  }
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, op_dims1((int64_t)count), &out));
  memcpy(bsm_tensor_data(out), kept, count * sizeof(*kept));
  return op_return(outs, out);
}

static double bilinear(const double *plane, int64_t h, int64_t w, double y,
                       double x) {
  if (y < -1.0 || y > (double)h || x < -1.0 || x > (double)w) return 0.0;
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

typedef struct roi_params {
  double scale;
  int64_t ph, pw, ratio;
  bool aligned;
} roi_params;

static double roi_value(const double *plane, int64_t h, int64_t w,
                        const double *roi, const roi_params *p, int64_t py,
                        int64_t px) {
  const double shift = p->aligned ? 0.5 : 0.0;
  const double x0 = roi[1] * p->scale - shift, y0 = roi[2] * p->scale - shift;
  double rw = roi[3] * p->scale - shift - x0,
         rh = roi[4] * p->scale - shift - y0;
  if (!p->aligned) {
    rw = rw > 1.0 ? rw : 1.0;
    rh = rh > 1.0 ? rh : 1.0;
  }
  const double bh = rh / (double)p->ph, bw = rw / (double)p->pw;
  const int64_t gh = p->ratio > 0 ? p->ratio : (int64_t)ceil(bh);
  const int64_t gw = p->ratio > 0 ? p->ratio : (int64_t)ceil(bw);
  if (gh > 1 << 20 || gw > 1 << 20 || gh < 0 || gw < 0) return 0.0;
  double sum = 0.0;
  for (int64_t i = 0; i < gh; i++) {
    const double y = y0 + (double)py * bh + ((double)i + 0.5) * bh / (double)gh;
    for (int64_t k = 0; k < gw; k++) {
      const double x =
          x0 + (double)px * bw + ((double)k + 0.5) * bw / (double)gw;
      sum += bilinear(plane, h, w, y, x);
    }
  }
  const int64_t count = gh * gw > 1 ? gh * gw : 1;
  return sum / (double)count;
}

/* roi_align(input, rois, spatial_scale, pooled_height, pooled_width,
 * sampling_ratio, aligned) */
static bsm_status op_roi_align(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *rois = op_tensor(&args[1]), *out;
  const roi_params p = {op_double(&args[2]), op_int(&args[3]), op_int(&args[4]),
                        op_int(&args[5]), op_bool(&args[6])};
  if (t->sizes.rank != 4 || rois->sizes.rank != 2 || rois->sizes.d[1] != 5 ||
      t->dtype != rois->dtype || !bsm_dtype_is_floating(t->dtype) ||
      p.ph <= 0 || p.pw <= 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "roi_align: input %s and rois %s (a row is batch index and "
                    "box)",
                    bsm_dims_str(t->sizes), bsm_dims_str(rois->sizes));
  }
  const int64_t channels = t->sizes.d[1], h = t->sizes.d[2], w = t->sizes.d[3];
  BSM_TRY(bsm_op_new(cx, t->dtype,
                     op_dims4(rois->sizes.d[0], channels, p.ph, p.pw), &out));
  outs[0] = bsm_iv_tensor(out);
  const int64_t n = bsm_tensor_numel(out);
  if (cx->meta || n == 0) return BSM_OK;
  const double *x = bsm_op_load_all(cx, t), *r = bsm_op_load_all(cx, rois);
  double *y = bsm_op_load_all(cx, out);
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(r);
  BSM_TRY_ALLOC(y);
  for (int64_t i = 0; i < n; i++) {
    const int64_t px = i % p.pw, py = i / p.pw % p.ph,
                  c = i / p.pw / p.ph % channels,
                  k = i / p.pw / p.ph / channels;
    const double *roi = r + 5 * k;
    const int64_t b = bsm_double_to_i64(roi[0]);
    if (b < 0 || b >= t->sizes.d[0] || h == 0 || w == 0) {
      return BSM_FAIL(BSM_OUT_OF_RANGE,
                      "roi_align: batch index %lld of a batch of %lld",
                      (long long)b, (long long)t->sizes.d[0]);
    }
    y[i] = roi_value(x + (b * channels + c) * h * w, h, w, roi, &p, py, px);
  }
  bsm_op_store_all(out, y);
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    {"torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> "
     "Tensor",
     op_nms, 0, 0},
    {"torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, "
     "SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool "
     "aligned) -> Tensor",
     op_roi_align, 0, 0},
};
BSM_ATEN_TABLE(vision, rows);
