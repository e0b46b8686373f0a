// SPDX-License-Identifier: Apache-2.0
// Pooling of regions of interest: a thread for each bin, which finds its region
// anew; reading the pixels is what takes time. Places are rounded to the dtype
// that the parameters say after each operation. Options: K_T (pixels).
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "rounded.cuh"
#include "fault.cuh"

typedef element<K_T>::value pixel;
typedef sum_of<pixel>::type total;

// The most samples along an axis of a bin: as aten/regions.h has it.
#define MAX_SAMPLES 65536

// Where a thread is.
struct bin {
  i64 region, channel, row, column;
};

DEVICE bin bin_of(const bsm_cuda_regions &p, i64 i) {
  bin b;
  if (p.by_channels) {
    b.channel = i % p.channels;
    i /= p.channels;
  }
  b.column = i % p.columns;
  i /= p.columns;
  b.row = i % p.rows;
  i /= p.rows;
  if (!p.by_channels) {
    b.channel = i % p.channels;
    i /= p.channels;
  }
  b.region = i;
  return b;
}

DEVICE pixel read(const bsm_cuda_regions &p, i64 plane, i64 y, i64 x) {
  return load<K_T>(p.x, plane + y * p.strides[2] + x * p.strides[3]);
}

template <class P>
struct cutter {
  typedef typename wide<P>::type value;
  static DEVICE value rnd(value x) { return wide<P>::round(x); }

  // Corner `i` of a region on the image: x0, y0, x1, y1.
  static DEVICE value corner(const bsm_cuda_regions &p, i64 region, int i) {
    const double *row = (const double *)p.regions + 5 * region;
    const value scale = rnd((value)p.scale);
    return rnd((value)row[1 + i] * scale);
  }

  // ---- samples ----

  // Outside of the plane by more than one, and NaN: 0.
  static DEVICE pixel bilinear(const bsm_cuda_regions &p, i64 plane, value y,
                               value x) {
    if (!(x >= -1 && x <= (value)p.width)) return 0;
    y = y <= 0 ? 0 : y;
    x = x <= 0 ? 0 : x;
    i64 y0 = (i64)y, x0 = (i64)x, y1 = y0 + 1, x1 = x0 + 1;
    if (y0 >= p.height - 1) {
      y0 = y1 = p.height - 1;
      y = (value)y0;
    }
    if (x0 >= p.width - 1) {
      x0 = x1 = p.width - 1;
      x = (value)x0;
    }
    const pixel ly = (pixel)(y - (value)y0), lx = (pixel)(x - (value)x0);
    const pixel hy = 1 - ly, hx = 1 - lx;
    pixel sum = hy * hx * read(p, plane, y0, x0);
    sum = add_product(sum, hy * lx, read(p, plane, y0, x1));
    sum = add_product(sum, ly * hx, read(p, plane, y1, x0));
    return add_product(sum, ly * lx, read(p, plane, y1, x1));
  }

  static DEVICE bool mean_of_samples(const bsm_cuda_regions &p, const bin &b,
                                     i64 plane, total *out) {
    const value shift = p.aligned ? (value)0.5 : (value)0;
    const value x0 = rnd(corner(p, b.region, 0) - shift);
    const value y0 = rnd(corner(p, b.region, 1) - shift);
    value w = rnd(rnd(corner(p, b.region, 2) - shift) - x0);
    value h = rnd(rnd(corner(p, b.region, 3) - shift) - y0);
    if (!p.aligned) {
      w = w > 1 ? w : 1;
      h = h > 1 ? h : 1;
    }
    const value bin_h = rnd(h / (value)p.rows), bin_w = rnd(w / (value)p.columns);
    const i64 grid_h =
        p.samples > 0 ? p.samples : saturate_i64(ceil((double)bin_h));
    const i64 grid_w =
        p.samples > 0 ? p.samples : saturate_i64(ceil((double)bin_w));
    if (grid_h > MAX_SAMPLES || grid_w > MAX_SAMPLES || grid_h < -MAX_SAMPLES ||
        grid_w < -MAX_SAMPLES) {
      fault_index(p.fault, grid_h > grid_w ? grid_h : grid_w, MAX_SAMPLES, -1);
      return false;
    }
    const value top = rnd(y0 + rnd((value)b.row * bin_h));
    const value left = rnd(x0 + rnd((value)b.column * bin_w));
    total sum = 0;
    for (i64 i = 0; i < grid_h; i++) {
      const value dy = rnd(rnd(((value)i + (value)0.5) * bin_h) / (value)grid_h);
      const value y = rnd(top + dy);
      if (!(y >= -1 && y <= (value)p.height)) continue;
      for (i64 k = 0; k < grid_w; k++) {
        const value dx =
            rnd(rnd(((value)k + (value)0.5) * bin_w) / (value)grid_w);
        sum += bilinear(p, plane, y, rnd(left + dx));
      }
    }
    const total count = (total)grid_h * (total)grid_w;
    *out = sum / (p.grouped || count > 1 ? count : 1);
    return true;
  }

  // ---- whole pixels ----

  static DEVICE i64 clip(value v, i64 high) {
    if (!(v > 0)) return 0;
    return v > (value)high ? high : (i64)v;
  }

  // Rounded to whole numbers, half away from 0.
  static DEVICE value whole(value x) { return (value)::round((double)x); }

  // The pixels of a bin along an axis: of a region from `first` to `last`.
  static DEVICE void range_of(const bsm_cuda_regions &p, value first,
                              value last, i64 bins, i64 at, i64 size,
                              i64 *from, i64 *to) {
    const value more = p.grouped ? (value)0 : (value)1;
    const value length = greatest(last - first + more, (value)1);
    const value step = rnd(rnd(length) / (value)bins);
    const i64 high = size - (p.grouped ? 1 : 0);
    *from = clip((value)floor((double)rnd((value)at * step)) + first, high);
    *to = clip((value)ceil((double)rnd((value)(at + 1) * step)) + first, high);
  }

  static DEVICE void pool_whole(const bsm_cuda_regions &p, const bin &b,
                                i64 plane, total *out, i64 *where) {
    i64 y0, y1, x0, x1;
    range_of(p, whole(corner(p, b.region, 1)), whole(corner(p, b.region, 3)),
             p.rows, b.row, p.height, &y0, &y1);
    range_of(p, whole(corner(p, b.region, 0)), whole(corner(p, b.region, 2)),
             p.columns, b.column, p.width, &x0, &x1);
    const bool empty = y1 <= y0 || x1 <= x0;
    pixel best = empty ? (pixel)0 : (pixel)-3.4028234663852886e38;
    total sum = 0;
    for (i64 y = y0; y < y1; y++) {
      for (i64 x = x0; x < x1; x++) {
        const pixel v = read(p, plane, y, x);
        sum += v;
        if (v > best) {
          best = v;
          *where = y * p.width + x;
        }
      }
    }
    if (!p.grouped) {
      *out = best;
    } else {
      *out = empty ? 0 : sum / (total)((y1 - y0) * (x1 - x0));
    }
  }

  static DEVICE void run(const bsm_cuda_regions &p, const bin &b) {
    const i64 given = saturate_i64(((const double *)p.regions)[5 * b.region]);
    if (given < 0 || given >= p.images || p.height == 0 || p.width == 0) {
      fault_index(p.fault, given, p.images, -1);
      return;
    }
    const i64 bins = (b.channel * p.rows + b.row) * p.columns + b.column;
    const i64 channel = p.grouped ? bins : b.channel;
    const i64 plane = given * p.strides[0] + channel * p.strides[1];
    const i64 at = b.region * p.channels * p.rows * p.columns + bins;
    total mean = 0;
    i64 where = -1;
    if (p.whole) {
      pool_whole(p, b, plane, &mean, &where);
    } else if (!mean_of_samples(p, b, plane, &mean)) {
      return;
    }
    store<K_T>(p.y, at, (pixel)mean);
    if (p.places) ((i32 *)p.places)[at] = (i32)where;
  }
};

KERNEL(regions, bsm_cuda_regions) {
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count;
       i += step) {
    const bin b = bin_of(p, i);
    switch (p.dtype) {
      case BSM_CUDA_PLACES_DOUBLE:
        cutter<double>::run(p, b);
        break;
      case BSM_CUDA_PLACES_HALF:
        cutter<f16>::run(p, b);
        break;
      case BSM_CUDA_PLACES_BFLOAT16:
        cutter<bf16>::run(p, b);
        break;
      default:
        cutter<float>::run(p, b);
        break;
    }
  }
}
