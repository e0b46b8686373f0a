/* SPDX-License-Identifier: Apache-2.0 */
/* Discrete Fourier transforms of any length, in double.
 *
 * Lengths of small prime factors are transformed by mixed radix, others by
 * Bluestein's algorithm: O(n log n) for every n. Nothing is scaled.
 *
 *   const bsm_fft_kernels *k = bsm_fft_choose(n, rows);
 *   bsm_fft *fft;
 *   BSM_TRY(bsm_fft_create(arena, n, k->width, &fft));
 *   bsm_fft_run(fft, k, in, out);      as often as wanted
 *
 * Rows are transformed k->width at once, in blocks (fft_rows.h); fewer at the
 * end, by other kernels of the same results. A plan holds its own scratch: one
 * thread at a time. */
#ifndef BSM_ATEN_FFT_H_
#define BSM_ATEN_FFT_H_

#include "aten/fft_rows.h"
#include "base/arena.h"

typedef struct bsm_fft bsm_fft;

/* What is fastest for so many rows of n points. The width for fewer rows is no
 * greater. */
const bsm_fft_kernels *bsm_fft_choose(size_t n, int64_t rows);
/* n blocks; NULL when out of memory. */
double *bsm_fft_blocks(bsm_arena *arena, size_t n, int width);

/* `width`: the greatest of the kernels that it is run with.
 * BSM_INVALID_ARGUMENT for n < 1, BSM_LIMIT when n is too large. */
BSM_NODISCARD bsm_status bsm_fft_create(bsm_arena *arena, int64_t n, int width,
                                        bsm_fft **out);
/* out[k] = sum of in[j] e^(-2 pi i j k / n). `in` and `out` are n blocks each,
 * and not the same memory. */
void bsm_fft_run(const bsm_fft *fft, const bsm_fft_kernels *kernels,
                 const double *in, double *out);

/* Transforms of real numbers, at half the cost for even n. */
typedef struct bsm_rfft bsm_rfft;
BSM_NODISCARD bsm_status bsm_rfft_create(bsm_arena *arena, int64_t n, int width,
                                         bsm_rfft **out);
/* For even n, but 0, n numbers are in n / 2 blocks, as the real and the
 * imaginary parts of each; else in n blocks, as the real parts. */
bool bsm_rfft_is_halved(const bsm_rfft *fft);
/* n numbers to the first n / 2 + 1 blocks of their transform. `out` has room
 * for n blocks. */
void bsm_rfft_forward(const bsm_rfft *fft, const bsm_fft_kernels *kernels,
                      const double *in, double *out);
/* The first n / 2 + 1 blocks of a transform, whose parts are swapped where n is
 * not halved, to n numbers (times n), swapped. Imaginary parts that cannot be
 * there (of the first, and of the last for even n) are not looked at. `in` has
 * room for n blocks, and changes. */
void bsm_rfft_inverse(const bsm_rfft *fft, const bsm_fft_kernels *kernels,
                      double *in, double *out);
/* Those of the n blocks of a transform of real numbers that are the conjugates
 * of others; of swapped numbers the other part is negated. */
void bsm_fft_mirror(double *blocks, size_t n, int width, bool swapped);

#endif /* BSM_ATEN_FFT_H_ */
