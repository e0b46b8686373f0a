/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's own ops: nms, the pooling of regions, deformable convolution.
 */
#include "aten/packed/aten_vision.h"
#include "aten/nms.h"
#include "aten/op_kit.h"
#include "aten/regions.h"

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
  BSM_TRY(bsm_op_charge(cx, (int64_t)n, (int64_t)n, 8));
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

enum { ROI_ALIGN, ROI_POOL, PS_ROI_ALIGN, PS_ROI_POOL };

static bsm_status run_rois(bsm_op_ctx *cx, const bsm_regions *p, bsm_tensor *t,
                           bsm_tensor *rois, bsm_tensor *out,
                           bsm_tensor *where) {
  const int64_t bins = bsm_tensor_numel(out), regions = rois->sizes.d[0];
  const double *x = bsm_op_load_all(cx, t), *boxes = bsm_op_load_all(cx, rois);
  double *y = bsm_op_load_all(cx, out);
  int32_t *index = where ? bsm_tensor_data(where) : NULL;
  BSM_TRY_ALLOC(x);
  BSM_TRY_ALLOC(boxes);
  BSM_TRY_ALLOC(y);
  const int64_t ph = p->how.rows, pw = p->how.columns;
  const int64_t area = p->height * p->width;
  for (int64_t k = 0, at = 0; k < regions; k++) {
    bsm_region r;
    BSM_TRY(bsm_region_init(p, boxes + 5 * k, t->sizes.d[0], &r));
    BSM_TRY(bsm_op_charge(cx, bins / regions, bsm_region_work(p, &r), 16));
    for (int64_t i = 0; i < bins / regions; i++, at++) {
      const int64_t c = p->how.grouped ? i : i / pw / ph;
      const double *plane = x + (r.image * t->sizes.d[1] + c) * area;
      int64_t best;
      y[at] = bsm_region_bin(p, &r, plane, i / pw % ph, i % pw, &best);
      if (index) index[at] = (int32_t)(p->how.grouped ? c : best);
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
  const int kind = self->variant;
  const bool align = kind == ROI_ALIGN || kind == PS_ROI_ALIGN;
  bsm_regions p = {
      .how = {.rows = op_int(&args[3]),
              .columns = op_int(&args[4]),
              .samples = align ? op_int(&args[5]) : 0,
              .scale = op_double(&args[2]),
              .whole = !align,
              .grouped = kind == PS_ROI_ALIGN || kind == PS_ROI_POOL,
              .aligned = kind == PS_ROI_ALIGN ||
                         (kind == ROI_ALIGN && op_bool(&args[6])),
              .dtype = t->dtype}};
  const int64_t ph = p.how.rows, pw = p.how.columns;
  if (t->sizes.rank != 4 || rois->sizes.rank != 2 || rois->sizes.d[1] != 5 ||
      t->dtype != rois->dtype || !bsm_dtype_is_floating(t->dtype) || ph <= 0 ||
      pw <= 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "input %s and rois %s (a row is batch index and box)",
                    bsm_dims_str(t->sizes), bsm_dims_str(rois->sizes));
  }
  if (ph > 1 << 20 || pw > 1 << 20) {
    return BSM_FAIL(BSM_LIMIT, "pooling to %lld x %lld", (long long)ph,
                    (long long)pw);
  }
  int64_t channels = t->sizes.d[1];
  p.height = t->sizes.d[2];
  p.width = t->sizes.d[3];
  if (p.how.grouped) {
    if (channels % (ph * pw) != 0) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "input channels must be a multiple of pooling height * "
                      "pooling width");
    }
    channels /= ph * pw;
  }
  const bsm_dims dims = op_dims4(rois->sizes.d[0], channels, ph, pw);
  BSM_TRY(bsm_op_new(cx, t->dtype, dims, &out));
  outs[0] = bsm_iv_tensor(out);
  if (kind != ROI_ALIGN) {
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
  BSM_TRY(bsm_op_charge(cx, p->batch * area, per,
                        p->out_channels + 16 * p->groups));
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
    OP("torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> "
       "Tensor",
       op_nms, NMS, 0),
    OP("bessemer::padded_nms(Tensor dets, Tensor scores, float iou_threshold) "
       "-> "
       "Tensor",
       op_nms, PADDED_NMS, 0),
    OP("torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, "
       "SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool "
       "aligned) -> Tensor",
       op_roi, ROI_ALIGN, 0),
    OP("torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, "
       "SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)",
       op_roi, ROI_POOL, 0),
    OP("torchvision::ps_roi_align(Tensor input, Tensor rois, float "
       "spatial_scale, SymInt pooled_height, SymInt pooled_width, int "
       "sampling_ratio) -> (Tensor, Tensor)",
       op_roi, PS_ROI_ALIGN, 0),
    OP("torchvision::ps_roi_pool(Tensor input, Tensor rois, float "
       "spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, "
       "Tensor)",
       op_roi, PS_ROI_POOL, 0),
    OP("torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, "
       "Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt "
       "pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt "
       "groups, SymInt offset_groups, bool use_mask) -> Tensor",
       op_deform_conv, 0, 0),
};
BSM_ATEN_TABLE_CALLING(vision, rows, &bsm_aten_ops_sort);
