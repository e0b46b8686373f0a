/* SPDX-License-Identifier: Apache-2.0 */
/* Discrete Fourier transforms of any length, in double.
 *
 * Lengths of small prime factors are transformed by mixed radix, others by
 * Bluestein's algorithm: O(n log n) for every n. Nothing is scaled.
 *
 *   bsm_fft *fft;
 *   BSM_TRY(bsm_fft_create(arena, n, &fft));
 *   bsm_fft_run(fft, in, out, inverse);      as often as wanted
 *
 * A plan holds its own scratch: one thread at a time. */
#ifndef BSM_ATEN_FFT_H_
#define BSM_ATEN_FFT_H_

#include "aten/element.h"
#include "base/arena.h"

typedef struct bsm_fft bsm_fft;

/* BSM_INVALID_ARGUMENT for n < 1, BSM_LIMIT when n is too large. */
BSM_NODISCARD bsm_status bsm_fft_create(bsm_arena *arena, int64_t n,
                                        bsm_fft **out);
/* out[k] = sum of in[j] e^(-2 pi i j k / n), with + when `inverse`. `in` and
 * `out` are n numbers each, and not the same memory. */
void bsm_fft_run(const bsm_fft *fft, const bsm_c128 *in, bsm_c128 *out,
                 bool inverse);

/* Transforms of real numbers, at half the cost for even n. */
typedef struct bsm_rfft bsm_rfft;
BSM_NODISCARD bsm_status bsm_rfft_create(bsm_arena *arena, int64_t n,
                                         bsm_rfft **out);
/* n numbers to the first n / 2 + 1 of their transform. */
void bsm_rfft_forward(const bsm_rfft *fft, const double *in, bsm_c128 *out);
/* The first n / 2 + 1 of a transform to n numbers (times n). Imaginary parts
 * that cannot be there (of the first, and of the last for even n) are not
 * looked at. */
void bsm_rfft_inverse(const bsm_rfft *fft, const bsm_c128 *in, double *out);

#endif /* BSM_ATEN_FFT_H_ */
