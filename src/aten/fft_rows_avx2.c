/* SPDX-License-Identifier: Apache-2.0 */
#define FFT_WIDTH 4
#define FFT_KERNELS bsm_fft_kernels_avx2
#include "aten/fft_rows.inl"
