/* SPDX-License-Identifier: Apache-2.0 */
#define FFT_WIDTH 8
#define FFT_KERNELS bsm_fft_kernels_avx512
#include "aten/fft_rows.inl"
