/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's own ops: nms, the pooling of regions, deformable convolution.
 *
 * Where a box is cut into bins the arithmetic is of the tensor's dtype, rounded
 * after each operation: an ulp decides which elements a bin has. */
#include "aten/nms.h"
#include "aten/op_kit.h"

/* Boxes are most often float. */
static double rnd(bsm_dtype d, double v) {
  if (d == BSM_DTYPE_FLOAT) return (double)(float)v;
  bsm_round_f64(d, 1, &v);
  return v;
}

/* ---- nms ---- */

/* The boxes by their scores: `order`, best first. */
static double *sort_boxes(bsm_op_ctx *cx, const bsm_tensor *dets,
                          const int64_t *order, size_t n) {
  const double *boxes = bsm_op_load_all(cx, dets);
  double *sorted = BSM_NEW_ARRAY(cx->arena, double, 4 * n + 1);
  if (!boxes || !sorted) return NULL;
  for (size_t i = 0; i < n; i++) {
    memcpy(sorted + 4 * i, boxes + 4 * order[i], 4 * sizeof(double));
  }
  return sorted;
}

enum { NMS, PADDED_NMS };

/* nms(dets, scores, iou_threshold): what is kept, best first; padded_nms: -1
 * behind that, as many as there are boxes */
static bsm_status op_nms(OP_PARAMS) {
  const bool padded = self->variant == PADDED_NMS;
  bsm_tensor *dets = op_tensor(&args[0]), *scores = op_tensor(&args[1]), *out;
  const double threshold = op_double(&args[2]);
  if (dets->sizes.rank != 2 || dets->sizes.d[1] != 4 ||
      scores->sizes.rank != 1 || scores->sizes.d[0] != dets->sizes.d[0] ||
      dets->dtype != scores->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "boxes should be a 2d tensor [N, 4] and scores [N] of the "
                    "same dtype, got %s and %s",
                    bsm_dims_str(dets->sizes), bsm_dims_str(scores->sizes));
  }
  if (cx->meta) {
    if (!padded) {
      return BSM_FAIL(BSM_DATA_DEPENDENT, "the shape of nms depends on values");
    }
    BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, op_dims1(dets->sizes.d[0]), &out));
    return op_return(outs, out);
  }
  const size_t n = (size_t)dets->sizes.d[0];
  const bsm_ivalue sort_args[] = {args[1], bsm_iv_bool(true), bsm_iv_int(0),
                                  bsm_iv_bool(true)};
  bsm_ivalue sorted[2];
  BSM_TRY(bsm_op_call(cx, "aten::sort.stable", sort_args, 4, sorted, 2));
  const int64_t *order = bsm_tensor_data(sorted[1].u.tensor);
  const double *boxes = sort_boxes(cx, dets, order, n);
  BSM_TRY_ALLOC(boxes);
  int64_t *kept = BSM_NEW_ARRAY(cx->arena, int64_t, n + 1);
  uint64_t *gone = BSM_NEW_ARRAY(cx->arena, uint64_t, bsm_nms_blocks(n));
  bsm_overlap_block *blocks =
      BSM_NEW_ARRAY(cx->arena, bsm_overlap_block, bsm_nms_blocks(n));
  BSM_TRY_ALLOC(kept);
  BSM_TRY_ALLOC(gone);
  BSM_TRY_ALLOC(blocks);
  bsm_nms(dets->dtype, boxes, n, threshold, blocks, gone);
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    if (!bsm_nms_is_gone(gone, i)) kept[count++] = order[i];
  }
  while (padded && count < n) kept[count++] = -1;
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, op_dims1((int64_t)count), &out));
  if (count > 0) memcpy(bsm_tensor_data(out), kept, count * sizeof(*kept));
  return op_return(outs, out);
}

/* ---- regions ---- */

/* Outside of the plane by more than one: 0. */
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

enum { ROI_ALIGN, ROI_POOL, PS_ROI_ALIGN, PS_ROI_POOL };

typedef struct roi_plan {
  int kind;
  bsm_dtype dtype;
  double scale;
  int64_t ph, pw, ratio, channels, h, w, out_channels;
  bool aligned;
} roi_plan;

/* One region: where it starts, its bins, and its samples per bin. */
typedef struct region {
  int64_t batch;
  double y0, x0, bin_h, bin_w;
  int64_t grid_h, grid_w;
} region;

static region align_region(const roi_plan *p, const double *roi) {
  const bsm_dtype d = p->dtype;
  const double shift = p->aligned ? 0.5 : 0.0, scale = rnd(d, p->scale);
  double at[4];
  for (int i = 0; i < 4; i++)
    at[i] = rnd(d, rnd(d, roi[1 + i] * scale) - shift);
  double w = rnd(d, at[2] - at[0]), h = rnd(d, at[3] - at[1]);
  if (p->kind == ROI_ALIGN && !p->aligned) {
    w = w > 1.0 ? w : 1.0;
    h = h > 1.0 ? h : 1.0;
  }
  region r = {.y0 = at[1], .x0 = at[0]};
  r.bin_h = rnd(d, h / (double)p->ph);
  r.bin_w = rnd(d, w / (double)p->pw);
  r.grid_h = p->ratio > 0 ? p->ratio : bsm_double_to_i64(ceil(r.bin_h));
  r.grid_w = p->ratio > 0 ? p->ratio : bsm_double_to_i64(ceil(r.bin_w));
  return r;
}

/* The mean of bilinear samples in bin (py, px). */
static double align_bin(const roi_plan *p, const region *r, const double *plane,
                        int64_t py, int64_t px) {
  const bsm_dtype d = p->dtype;
  const double top = rnd(d, r->y0 + rnd(d, (double)py * r->bin_h));
  const double left = rnd(d, r->x0 + rnd(d, (double)px * r->bin_w));
  double sum = 0.0;
  for (int64_t i = 0; i < r->grid_h; i++) {
    const double dy =
        rnd(d, rnd(d, ((double)i + 0.5) * r->bin_h) / (double)r->grid_h);
    for (int64_t k = 0; k < r->grid_w; k++) {
      const double dx =
          rnd(d, rnd(d, ((double)k + 0.5) * r->bin_w) / (double)r->grid_w);
      sum += bilinear(plane, p->h, p->w, rnd(d, top + dy), rnd(d, left + dx));
    }
  }
  const double count = (double)r->grid_h * (double)r->grid_w;
  if (p->kind == ROI_ALIGN) return sum / (count > 1.0 ? count : 1.0);
  return sum / count;
}

/* Rounded to whole elements. */
static region pool_region(const roi_plan *p, const double *roi) {
  const bsm_dtype d = p->dtype;
  const double scale = rnd(d, p->scale);
  double at[4];
  for (int i = 0; i < 4; i++) at[i] = round(rnd(d, roi[1 + i] * scale));
  const double more = p->kind == ROI_POOL ? 1.0 : 0.0;
  const double w = fmax(at[2] - at[0] + more, 1.0);
  const double h = fmax(at[3] - at[1] + more, 1.0);
  return (region){.y0 = at[1],
                  .x0 = at[0],
                  .bin_h = rnd(d, rnd(d, h) / (double)p->ph),
                  .bin_w = rnd(d, rnd(d, w) / (double)p->pw)};
}

static int64_t clip(double v, int64_t high) {
  return v < 0.0 ? 0 : v > (double)high ? high : bsm_double_to_i64(v);
}

/* The largest element of bin (py, px), or their mean. */
static double pool_bin(const roi_plan *p, const region *r, const double *plane,
                       int64_t py, int64_t px, int64_t *where) {
  const bsm_dtype d = p->dtype;
  const bool max = p->kind == ROI_POOL;
  const int64_t last_y = max ? p->h : p->h - 1, last_x = max ? p->w : p->w - 1;
  const int64_t y0 = clip(floor(rnd(d, (double)py * r->bin_h)) + r->y0, last_y);
  const int64_t x0 = clip(floor(rnd(d, (double)px * r->bin_w)) + r->x0, last_x);
  const int64_t y1 =
      clip(ceil(rnd(d, (double)(py + 1) * r->bin_h)) + r->y0, last_y);
  const int64_t x1 =
      clip(ceil(rnd(d, (double)(px + 1) * r->bin_w)) + r->x0, last_x);
  double best = y1 <= y0 || x1 <= x0 ? 0.0 : -3.4028234663852886e38, sum = 0.0;
  *where = -1;
  for (int64_t y = y0; y < y1; y++) {
    for (int64_t x = x0; x < x1; x++) {
      const double v = plane[y * p->w + x];
      sum += v;
      if (v > best) {
        best = v;
        *where = y * p->w + x;
      }
    }
  }
  if (max) return best;
  return y1 <= y0 || x1 <= x0 ? 0.0 : sum / (double)((y1 - y0) * (x1 - x0));
}

static bsm_status run_rois(bsm_op_ctx *cx, const roi_plan *p, bsm_tensor *t,
                           bsm_tensor *rois, bsm_tensor *out,
                           bsm_tensor *where) {
  const double *x = bsm_op_load_all(cx, t), *boxes = bsm_op_load_all(cx, rois);
  double *y = bsm_op_load_all(cx, out);
  int32_t *index = where ? bsm_tensor_data(where) : NULL;
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(boxes);
  BSM_TRY_ALLOC(y);
  const bool align = p->kind == ROI_ALIGN || p->kind == PS_ROI_ALIGN;
  const bool grouped = p->kind == PS_ROI_ALIGN || p->kind == PS_ROI_POOL;
  for (int64_t k = 0, at = 0; k < rois->sizes.d[0]; k++) {
    const double *roi = boxes + 5 * k;
    region r = align ? align_region(p, roi) : pool_region(p, roi);
    r.batch = bsm_double_to_i64(roi[0]);
    if (r.batch < 0 || r.batch >= t->sizes.d[0] || p->h == 0 || p->w == 0) {
      return BSM_FAIL(BSM_OUT_OF_RANGE, "batch index %lld of a batch of %lld",
                      (long long)r.batch, (long long)t->sizes.d[0]);
    }
    if (r.grid_h > 1 << 16 || r.grid_w > 1 << 16 || r.grid_h < -(1 << 16) ||
        r.grid_w < -(1 << 16)) {
      return BSM_FAIL(BSM_LIMIT, "a region with bins of %lld x %lld samples",
                      (long long)r.grid_h, (long long)r.grid_w);
    }
    for (int64_t i = 0; i < p->out_channels * p->ph * p->pw; i++, at++) {
      const int64_t px = i % p->pw, py = i / p->pw % p->ph;
      const int64_t c = grouped ? i : i / p->pw / p->ph;
      const double *plane = x + (r.batch * p->channels + c) * p->h * p->w;
      int64_t best = c;
      y[at] = align ? align_bin(p, &r, plane, py, px)
                    : pool_bin(p, &r, plane, py, px, &best);
      if (index) index[at] = (int32_t)(grouped ? c : best);
    }
  }
  bsm_op_store_all(out, y);
  return BSM_OK;
}

/* roi_align(input, rois, spatial_scale, pooled_height, pooled_width,
 * sampling_ratio, aligned); the others leave out arguments at the end */
static bsm_status op_roi(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *rois = op_tensor(&args[1]);
  bsm_tensor *out, *where = NULL;
  roi_plan p = {.kind = self->variant,
                .dtype = t->dtype,
                .scale = op_double(&args[2]),
                .ph = op_int(&args[3]),
                .pw = op_int(&args[4])};
  if (p.kind == ROI_ALIGN || p.kind == PS_ROI_ALIGN) p.ratio = op_int(&args[5]);
  p.aligned =
      p.kind == PS_ROI_ALIGN || (p.kind == ROI_ALIGN && op_bool(&args[6]));
  if (t->sizes.rank != 4 || rois->sizes.rank != 2 || rois->sizes.d[1] != 5 ||
      t->dtype != rois->dtype || !bsm_dtype_is_floating(t->dtype) ||
      p.ph <= 0 || p.pw <= 0 || p.ph > 1 << 20 || p.pw > 1 << 20) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "input %s and rois %s (a row is batch index and box)",
                    bsm_dims_str(t->sizes), bsm_dims_str(rois->sizes));
  }
  p.channels = p.out_channels = t->sizes.d[1];
  p.h = t->sizes.d[2];
  p.w = t->sizes.d[3];
  if (p.kind == PS_ROI_ALIGN || p.kind == PS_ROI_POOL) {
    if (p.channels % (p.ph * p.pw) != 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "input channels must be a multiple of pooling height * "
                      "pooling width");
    }
    p.out_channels = p.channels / (p.ph * p.pw);
  }
  const bsm_dims dims = op_dims4(rois->sizes.d[0], p.out_channels, p.ph, p.pw);
  BSM_TRY(bsm_op_new(cx, t->dtype, dims, &out));
  outs[0] = bsm_iv_tensor(out);
  if (p.kind != ROI_ALIGN) {
    BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT32, dims, &where));
    outs[1] = bsm_iv_tensor(where);
  }
  if (cx->meta || bsm_tensor_numel(out) == 0) return BSM_OK;
  return run_rois(cx, &p, t, rois, out, where);
}

/* ---- deformable convolution ---- */

typedef struct deform {
  int64_t batch, channels, h, w, out_channels, kh, kw, oh, ow;
  int64_t stride[2], pad[2], dilation[2], groups, offset_groups;
} deform;

/* As bilinear above, but 0 outside of the plane by one and more. */
static double deform_sample(const double *plane, int64_t h, int64_t w, double y,
                            double x) {
  if (!(y > -1.0 && y < (double)h && x > -1.0 && x < (double)w)) return 0.0;
  const int64_t y0 = bsm_double_to_i64(floor(y)),
                x0 = bsm_double_to_i64(floor(x));
  const double ly = y - (double)y0, lx = x - (double)x0;
  double sum = 0.0;
  for (int i = 0; i < 4; i++) {
    const int64_t yy = y0 + (i >> 1), xx = x0 + (i & 1);
    if (yy < 0 || yy >= h || xx < 0 || xx >= w) continue;
    sum +=
        (i >> 1 ? ly : 1.0 - ly) * (i & 1 ? lx : 1.0 - lx) * plane[yy * w + xx];
  }
  return sum;
}

/* One column of the matrix that the weights multiply: every element of the
 * window of output (b, oy, ox). */
static void deform_column(const deform *p, const double *x,
                          const double *offset, const double *mask, int64_t b,
                          int64_t oy, int64_t ox, double *column) {
  const int64_t window = p->kh * p->kw, area = p->oh * p->ow;
  const int64_t per_group = p->channels / p->offset_groups;
  for (int64_t c = 0; c < p->channels; c++) {
    const int64_t g = b * p->offset_groups + c / per_group;
    const double *plane = x + (b * p->channels + c) * p->h * p->w;
    for (int64_t k = 0; k < window; k++) {
      const int64_t at = g * window + k, here = oy * p->ow + ox;
      const double y =
          (double)(oy * p->stride[0] - p->pad[0] + k / p->kw * p->dilation[0]) +
          offset[2 * at * area + here];
      const double xx =
          (double)(ox * p->stride[1] - p->pad[1] + k % p->kw * p->dilation[1]) +
          offset[(2 * at + 1) * area + here];
      const double v = deform_sample(plane, p->h, p->w, y, xx);
      *column++ = mask ? v * mask[at * area + here] : v;
    }
  }
}

static bsm_status run_deform(bsm_op_ctx *cx, const deform *p,
                             const bsm_ivalue *args, bool use_mask,
                             bsm_tensor *out) {
  const double *values[5] = {NULL};
  for (int i = 0; i < 5; i++) {
    if (i == 3 && !use_mask) continue;
    values[i] = bsm_op_load_all(cx, op_tensor(&args[i]));
    BSM_TRY_ALLOC(values[i]);
  }
  const int64_t rows_ = p->channels * p->kh * p->kw, per = rows_ / p->groups;
  double *y = bsm_op_load_all(cx, out);
  double *column = BSM_NEW_ARRAY(cx->arena, double, (size_t)rows_ + 1);
  BSM_TRY_ALLOC(y);
  BSM_TRY_ALLOC(column);
  const int64_t area = p->oh * p->ow, each = p->out_channels / p->groups;
  for (int64_t i = 0; i < p->batch * area; i++) {
    const int64_t b = i / area, here = i % area;
    deform_column(p, values[0], values[2], values[3], b, here / p->ow,
                  here % p->ow, column);
    for (int64_t c = 0; c < p->out_channels; c++) {
      const double *w = values[1] + c * per, *from = column + c / each * per;
      double sum = values[4][c];
      for (int64_t k = 0; k < per; k++) sum += w[k] * from[k];
      y[(b * p->out_channels + c) * area + here] = sum;
    }
  }
  bsm_op_store_all(out, y);
  return BSM_OK;
}

static bool deform_shapes_fit(const deform *p, const bsm_ivalue *args,
                              bool use_mask) {
  const bsm_tensor *t = op_tensor(&args[0]), *w = op_tensor(&args[1]),
                   *offset = op_tensor(&args[2]), *mask = op_tensor(&args[3]),
                   *bias = op_tensor(&args[4]);
  const int64_t window = p->kh * p->kw * p->offset_groups;
  const bsm_dims offsets = op_dims4(p->batch, 2 * window, p->oh, p->ow);
  const bsm_dims masks = op_dims4(p->batch, window, p->oh, p->ow);
  return w->sizes.d[1] * p->groups == p->channels &&
         p->out_channels % p->groups == 0 &&
         p->channels % p->offset_groups == 0 && p->oh > 0 && p->ow > 0 &&
         bsm_dims_equal(offset->sizes, offsets) &&
         (!use_mask || bsm_dims_equal(mask->sizes, masks)) &&
         bsm_tensor_numel(bias) == p->out_channels && w->dtype == t->dtype &&
         offset->dtype == t->dtype && bias->dtype == t->dtype &&
         (!use_mask || mask->dtype == t->dtype);
}

/* deform_conv2d(input, weight, offset, mask, bias, stride_h, stride_w, pad_h,
 * pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask) */
static bsm_status op_deform_conv(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *w = op_tensor(&args[1]), *out;
  const bool use_mask = op_bool(&args[13]);
  deform p = {.groups = op_int(&args[11]), .offset_groups = op_int(&args[12])};
  bool ok = t->sizes.rank == 4 && w->sizes.rank == 4 && p.groups > 0 &&
            p.offset_groups > 0 && bsm_dtype_is_floating(t->dtype);
  const int64_t big = (int64_t)1 << 31;
  for (int i = 0; i < 2; i++) {
    p.stride[i] = op_int(&args[5 + i]);
    p.pad[i] = op_int(&args[7 + i]);
    p.dilation[i] = op_int(&args[9 + i]);
    ok = ok && p.stride[i] > 0 && p.stride[i] < big && p.pad[i] >= 0 &&
         p.pad[i] < big && p.dilation[i] > 0 && p.dilation[i] < big &&
         w->sizes.d[2 + i] > 0 && w->sizes.d[2 + i] < big;
  }
  if (ok) {
    p.batch = t->sizes.d[0];
    p.channels = t->sizes.d[1];
    p.h = t->sizes.d[2];
    p.w = t->sizes.d[3];
    p.out_channels = w->sizes.d[0];
    p.kh = w->sizes.d[2];
    p.kw = w->sizes.d[3];
    const int64_t y = p.h + 2 * p.pad[0] - (p.dilation[0] * (p.kh - 1) + 1);
    const int64_t x = p.w + 2 * p.pad[1] - (p.dilation[1] * (p.kw - 1) + 1);
    p.oh = y < 0 ? 0 : y / p.stride[0] + 1;
    p.ow = x < 0 ? 0 : x / p.stride[1] + 1;
    ok = deform_shapes_fit(&p, args, use_mask);
  }
  if (!ok) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "input %s, weight %s, offset %s, mask %s and bias %s do "
                    "not fit together",
                    bsm_dims_str(t->sizes), bsm_dims_str(w->sizes),
                    bsm_dims_str(op_tensor(&args[2])->sizes),
                    bsm_dims_str(op_tensor(&args[3])->sizes),
                    bsm_dims_str(op_tensor(&args[4])->sizes));
  }
  BSM_TRY(bsm_op_new(cx, t->dtype,
                     op_dims4(p.batch, p.out_channels, p.oh, p.ow), &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta || bsm_tensor_numel(out) == 0) return BSM_OK;
  return run_deform(cx, &p, args, use_mask, out);
}

static const bsm_aten_op rows[] = {
    {"torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> "
     "Tensor",
     op_nms, NMS, 0},
    {"bessemer::padded_nms(Tensor dets, Tensor scores, float iou_threshold) -> "
     "Tensor",
     op_nms, PADDED_NMS, 0},
    {"torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, "
     "SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool "
     "aligned) -> Tensor",
     op_roi, ROI_ALIGN, 0},
    {"torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, "
     "SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)",
     op_roi, ROI_POOL, 0},
    {"torchvision::ps_roi_align(Tensor input, Tensor rois, float "
     "spatial_scale, SymInt pooled_height, SymInt pooled_width, int "
     "sampling_ratio) -> (Tensor, Tensor)",
     op_roi, PS_ROI_ALIGN, 0},
    {"torchvision::ps_roi_pool(Tensor input, Tensor rois, float "
     "spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, "
     "Tensor)",
     op_roi, PS_ROI_POOL, 0},
    {"torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, "
     "Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt "
     "pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt "
     "groups, SymInt offset_groups, bool use_mask) -> Tensor",
     op_deform_conv, 0, 0},
};
BSM_ATEN_TABLE_CALLING(vision, rows, &bsm_aten_ops_sort);
