/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of a convolution, channels last, as rows of bytes, whatever the
 * elements are: products in groups of 4 bytes read them.
 *
 * Where the maps of a group are whole groups of 4 bytes, a window is a pointer
 * for each tap, and pixels in the padding are a row of their own; else windows
 * are copied. */
#ifndef BSM_BACKEND_CPU_BYTE_WINDOWS_H_
#define BSM_BACKEND_CPU_BYTE_WINDOWS_H_

#include "backend/cpu/cpu_window.h"
#include "backend/cpu/kernels/copy_runs.h"

#define BSM_CPU_WINDOW_GROUP 4 /* bytes */

typedef struct bsm_cpu_byte_windows {
  bsm_step_window w;
  bsm_image x;       /* strides in bytes */
  int64_t y_size[3]; /* of the output */
  int64_t taps;
  int64_t pixel; /* bytes of a tap */
  int64_t depth; /* bytes of a window, in whole groups; of pixels: taps */
  bool copies;
  const uint8_t *padding;    /* a tap of it, with the maps of all groups */
  const int64_t *tap_offset; /* from the first tap of a window, in bytes */
  /* Taps that lie side by side in the image are a run: a line of the window, or
   * each tap by itself. */
  int64_t run_taps, runs;
  const int64_t *run_offset;
} bsm_cpu_byte_windows;

/* Of images of `element` bytes, of which a tap has `maps`; `padding` is each of
 * their bytes outside of the image. `pixels`: windows are never copied, for
 * what reads taps one by one. */
bsm_status bsm_cpu_byte_windows_init(const bsm_cpu_prepare *p,
                                     const bsm_step_window *w, int64_t maps,
                                     uint8_t padding, bool pixels,
                                     bsm_cpu_byte_windows *out);

/* Bytes of scratch for the pointers and the copies of `rows` windows. */
uint64_t bsm_cpu_byte_windows_scratch(const bsm_cpu_byte_windows *w,
                                      int64_t rows);

/* Pointers [taps][rows] of the windows of rows `row` .. `row + rows - 1`, at
 * the start of the scratch; [rows] where they are copied. `x`: the input, at
 * the first map. Those of another group are as much further as its maps are,
 * where windows are not copied. */
const uint8_t *const *bsm_cpu_byte_windows_find(const bsm_cpu_byte_windows *w,
                                                const uint8_t *x, int64_t row,
                                                int64_t rows, uint8_t *scratch);

/* Copies windows to `to`, each `to_row` bytes behind the one before, without
 * what fills up their last group. `runs` copies those that are inside; NULL:
 * plain C does. */
void bsm_cpu_byte_windows_copy(const bsm_cpu_byte_windows *w, const uint8_t *x,
                               int64_t row, int64_t rows, uint8_t *to,
                               int64_t to_row, bsm_k_copy_runs *runs);

#endif /* BSM_BACKEND_CPU_BYTE_WINDOWS_H_ */
