/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers to the taps of windows, and copies of windows. */
#include "backend/cpu/cpu_byte_windows.h"

#include <string.h>

static bsm_status lay_out_taps(const bsm_cpu_prepare *p, uint8_t padding,
                               int64_t pixel_bytes, bsm_cpu_byte_windows *c) {
  const bsm_step_window *w = &c->w;
  const int64_t *kernel = w->kernel, *stride = c->x.stride;
  const bool lines = w->dilation[2] == 1 && stride[2] == c->pixel;
  c->run_taps = lines ? kernel[2] : 1;
  c->runs = c->taps / c->run_taps;
  int64_t *offset = BSM_NEW_ARRAY(p->arena, int64_t, (size_t)c->taps);
  int64_t *run = BSM_NEW_ARRAY(p->arena, int64_t, (size_t)c->runs);
  uint8_t *pixel = BSM_NEW_ARRAY(p->arena, uint8_t, (size_t)pixel_bytes + 1);
  if (!offset || !run || !pixel) return BSM_FAIL_OOM();
  memset(pixel, padding, (size_t)pixel_bytes);
  c->padding = pixel;
  c->tap_offset = offset;
  c->run_offset = run;
  for (int64_t t = 0; t < c->taps; t++) {
    const int64_t line = t / kernel[2];
    offset[t] = line / kernel[1] * w->dilation[0] * stride[0] +
                line % kernel[1] * w->dilation[1] * stride[1] +
                t % kernel[2] * w->dilation[2] * stride[2];
    if (t % c->run_taps == 0) *run++ = offset[t];
  }
  return BSM_OK;
}

bsm_status bsm_cpu_byte_windows_init(const bsm_cpu_prepare *p,
                                     const bsm_step_window *w, int64_t maps,
                                     uint8_t padding, bool pixels,
                                     bsm_cpu_byte_windows *out) {
  const bsm_plan_tensor *x = bsm_step_input(p->plan, p->step, 0);
  const bsm_plan_tensor *y = bsm_step_output(p->plan, p->step, 0);
  const int64_t element = (int64_t)bsm_dtype_size(x->dtype);
  const bsm_image image = bsm_image_of(y, w->spatial);
  out->w = *w;
  out->x = bsm_image_of(x, w->spatial);
  out->x.n_stride *= element;
  for (int d = 0; d < 3; d++) {
    out->x.stride[d] *= element;
    out->y_size[d] = image.size[d];
  }
  out->pixel = maps * element;
  out->taps = w->kernel[0] * w->kernel[1] * w->kernel[2];
  out->copies = !pixels && out->pixel % BSM_CPU_WINDOW_GROUP != 0;
  out->depth =
      pixels ? out->taps
             : bsm_cpu_round_up(out->taps * out->pixel, BSM_CPU_WINDOW_GROUP);
  return lay_out_taps(p, padding, out->x.c * element, out);
}

static uint64_t pointers_size(const bsm_cpu_byte_windows *w, int64_t rows) {
  return bsm_cpu_align((uint64_t)((w->copies ? 1 : w->taps) * rows) *
                       sizeof(uint8_t *));
}

uint64_t bsm_cpu_byte_windows_scratch(const bsm_cpu_byte_windows *w,
                                      int64_t rows) {
  return pointers_size(w, rows) +
         (w->copies ? bsm_cpu_align((uint64_t)(rows * w->depth)) : 0);
}

/* Where the first tap of the window of output p is, in bytes from the start of
 * the input; whether all taps are inside of it. */
static bool window_at(const bsm_cpu_byte_windows *c, const bsm_cpu_position *p,
                      int64_t *first, int64_t *offset) {
  const bsm_step_window *w = &c->w;
  bool inside = true;
  *offset = p->n * c->x.n_stride;
  for (int d = 0; d < 3; d++) {
    first[d] = p->at[d] * w->stride[d] - w->pre_padding[d];
    inside &= first[d] >= 0 &&
              first[d] + (w->kernel[d] - 1) * w->dilation[d] < c->x.size[d];
    *offset += first[d] * c->x.stride[d];
  }
  return inside;
}

/* Whether a tap of a window that begins at `first` is inside, in the dimensions
 * up to `last`. */
static bool tap_is_inside(const bsm_cpu_byte_windows *c, const int64_t *first,
                          int64_t tap, int last) {
  const bsm_step_window *w = &c->w;
  for (int d = 2; d >= 0; d--) {
    const int64_t at = first[d] + tap % w->kernel[d] * w->dilation[d];
    if (d <= last && (at < 0 || at >= c->x.size[d])) return false;
    tap /= w->kernel[d];
  }
  return true;
}

/* How many outputs from p on, whose window is inside and begins at `first`, lie
 * side by side with all of their windows inside. */
static int64_t outputs_inside(const bsm_cpu_byte_windows *c,
                              const bsm_cpu_position *p, const int64_t *first) {
  const bsm_step_window *w = &c->w;
  const int64_t end = first[2] + (w->kernel[2] - 1) * w->dilation[2];
  return bsm_cpu_min(c->y_size[2] - p->at[2],
                     (c->x.size[2] - 1 - end) / w->stride[2] + 1);
}

/* Pointers of the windows of rows `row` .. `row + rows - 1`. */
static void point(const bsm_cpu_byte_windows *c, const uint8_t *x, int64_t row,
                  int64_t rows, const uint8_t **a) {
  const int64_t step = c->w.stride[2] * c->x.stride[2];
  bsm_cpu_position p = bsm_cpu_position_of(row, c->y_size);
  for (int64_t i = 0, n; i < rows; i += n) {
    int64_t first[3], offset;
    const bool inside = window_at(c, &p, first, &offset);
    n = inside ? bsm_cpu_min(rows - i, outputs_inside(c, &p, first)) : 1;
    for (int64_t t = 0; t < c->taps; t++) {
      const uint8_t **to = a + t * rows + i;
      const bool taken = inside || tap_is_inside(c, first, t, 2);
      const uint8_t *from =
          taken ? x + (offset + c->tap_offset[t]) : c->padding;
      for (int64_t k = 0; k < n; k++) to[k] = from + k * step;
    }
    p.at[2] += n - 1;
    bsm_cpu_position_next(&p, c->y_size);
  }
}

/* memcpy of a few bytes: lines of windows of few maps. */
static inline void copy_bytes(uint8_t *to, const uint8_t *from, size_t n) {
  if (n >= 16 && n <= 32) {
    uint8_t head[16], tail[16];
    memcpy(head, from, 16);
    memcpy(tail, from + n - 16, 16);
    memcpy(to, head, 16);
    memcpy(to + n - 16, tail, 16);
  } else if (n >= 8 && n < 16) {
    uint64_t head, tail;
    memcpy(&head, from, 8);
    memcpy(&tail, from + n - 8, 8);
    memcpy(to, &head, 8);
    memcpy(to + n - 8, &tail, 8);
  } else if (n < 8) {
    for (size_t i = 0; i < n; i++) to[i] = from[i];
  } else {
    memcpy(to, from, n);
  }
}

static void copy_runs(const bsm_k_runs *r) {
  const uint8_t *x = r->x;
  uint8_t *to = r->to;
  for (int64_t i = 0; i < r->rows; i++, x += r->x_row, to += r->to_row) {
    for (int64_t k = 0; k < r->runs; k++) {
      copy_bytes(to + k * r->bytes, x + r->offset[k], (size_t)r->bytes);
    }
  }
}

/* A window with taps in the padding, which begins at `first`: `offset` bytes
 * from the image's start. */
static void copy_border(const bsm_cpu_byte_windows *c, const uint8_t *x,
                        int64_t offset, const int64_t *first, uint8_t *to) {
  const size_t bytes = (size_t)(c->run_taps * c->pixel);
  const bool lines = c->run_taps > 1;
  int64_t from = 0, count = c->run_taps;
  if (lines) {
    bsm_cpu_clip_taps(first[2], 1, c->run_taps, c->x.size[2], &from, &count);
  }
  for (int64_t t = 0; t < c->taps; t += c->run_taps, to += bytes) {
    const bool inside = count && tap_is_inside(c, first, t, lines ? 1 : 2);
    if (!inside || count < c->run_taps) memset(to, c->padding[0], bytes);
    if (!inside) continue;
    copy_bytes(to + from * c->pixel, x + (offset + c->tap_offset[t + from]),
               (size_t)(count * c->pixel));
  }
}

void bsm_cpu_byte_windows_copy(const bsm_cpu_byte_windows *c, const uint8_t *x,
                               int64_t row, int64_t rows, uint8_t *to,
                               int64_t to_row, bsm_k_copy_runs *runs) {
  bsm_k_runs r = {.x_row = c->w.stride[2] * c->x.stride[2],
                  .offset = c->run_offset,
                  .runs = c->runs,
                  .bytes = c->run_taps * c->pixel,
                  .to_row = to_row};
  bsm_cpu_position p = bsm_cpu_position_of(row, c->y_size);
  for (int64_t i = 0, n; i < rows; i += n) {
    int64_t first[3], offset;
    n = 1;
    r.to = to + i * to_row;
    if (window_at(c, &p, first, &offset)) {
      n = bsm_cpu_min(rows - i, outputs_inside(c, &p, first));
      r.x = x + offset;
      r.rows = n;
      (runs ? runs : copy_runs)(&r);
    } else {
      copy_border(c, x, offset, first, r.to);
    }
    p.at[2] += n - 1;
    bsm_cpu_position_next(&p, c->y_size);
  }
}

/* Copies windows, and points to them. */
static void copy(const bsm_cpu_byte_windows *c, const uint8_t *x, int64_t row,
                 int64_t rows, uint8_t *to, const uint8_t **a) {
  const int64_t size = c->taps * c->pixel;
  bsm_cpu_byte_windows_copy(c, x, row, rows, to, c->depth, NULL);
  for (int64_t i = 0; i < rows; i++, to += c->depth) {
    memset(to + size, 0, (size_t)(c->depth - size));
    a[i] = to;
  }
}

const uint8_t *const *bsm_cpu_byte_windows_find(const bsm_cpu_byte_windows *w,
                                                const uint8_t *x, int64_t row,
                                                int64_t rows,
                                                uint8_t *scratch) {
  const uint8_t **a = (const uint8_t **)(void *)scratch;
  if (w->copies) {
    copy(w, x, row, rows, scratch + pointers_size(w, rows), a);
  } else {
    point(w, x, row, rows, a);
  }
  return a;
}
