/* SPDX-License-Identifier: Apache-2.0 */
/* The transforms of tensors that other ops are made of. */
#ifndef BSM_ATEN_FFT_OPS_H_
#define BSM_ATEN_FFT_OPS_H_

#include "aten/op_kit.h"

/* at::native::fft_norm_mode */
enum { BSM_FFT_PLAIN = 0, BSM_FFT_BY_ROOT_N = 1, BSM_FFT_BY_N = 2 };

/* Over `dims`, scaled by the normalization; contiguous results. c2c needs a
 * complex tensor, r2c a float or double one (the last of `dims` may be
 * onesided), c2r a complex one, whose last of `dims` has last_size / 2 + 1
 * elements or more. */
BSM_NODISCARD bsm_status bsm_op_fft_c2c(bsm_op_ctx *cx, bsm_tensor *t,
                                        bsm_dims dims, int64_t normalization,
                                        bool forward, bsm_tensor **out);
BSM_NODISCARD bsm_status bsm_op_fft_r2c(bsm_op_ctx *cx, bsm_tensor *t,
                                        bsm_dims dims, int64_t normalization,
                                        bool onesided, bsm_tensor **out);
/* The same of `t` times a window along the last of `dims`, rounded: contiguous,
 * as long and of the same dtype. NULL: none. */
BSM_NODISCARD bsm_status bsm_op_fft_windowed(bsm_op_ctx *cx, bsm_tensor *t,
                                             const bsm_tensor *window,
                                             bsm_dims dims,
                                             int64_t normalization,
                                             bool onesided, bsm_tensor **out);
BSM_NODISCARD bsm_status bsm_op_fft_c2r(bsm_op_ctx *cx, bsm_tensor *t,
                                        bsm_dims dims, int64_t normalization,
                                        int64_t last_size, bsm_tensor **out);

#endif /* BSM_ATEN_FFT_OPS_H_ */
