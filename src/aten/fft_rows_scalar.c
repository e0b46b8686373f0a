/* SPDX-License-Identifier: Apache-2.0 */
#define FFT_WIDTH 1
#define FFT_KERNELS bsm_fft_kernels_scalar
#include "aten/fft_rows.inl"
