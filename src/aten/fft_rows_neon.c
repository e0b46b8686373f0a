/* SPDX-License-Identifier: Apache-2.0 */
#define FFT_WIDTH 2
#define FFT_KERNELS bsm_fft_kernels_neon
#include "aten/fft_rows.inl"
