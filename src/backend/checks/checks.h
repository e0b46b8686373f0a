/* SPDX-License-Identifier: Apache-2.0 */
/* What a step has to be like on every device: counts of tensors, ranges of
 * parameters, and how dims and dtypes go together. A device asks this first,
 * and then what its own kernels need: which dtypes they have, which strides,
 * how many bytes of packed weights.
 *
 * Plans come from files, so that nothing is known of a step before. Behind
 * bsm_check_step all sizes of its tensors are 0 or more with products that do
 * not overflow, strides are not negative, and each element of an output has a
 * place of its own. The other functions rely on that. All fail with
 * BSM_CORRUPT, and say what does not fit. */
#ifndef BSM_BACKEND_CHECKS_CHECKS_H_
#define BSM_BACKEND_CHECKS_CHECKS_H_

#include "engine/plan.h"

/* More elements than any tensor that fits a machine has: below it, sizes in
 * bytes and products with the widths of kernels do not overflow. */
#define BSM_MAX_ELEMENTS ((int64_t)1 << 46)
#define BSM_MAX_ATTENTION_BIASES 2

static inline const bsm_plan_tensor *bsm_step_input(const bsm_plan *plan,
                                                    const bsm_plan_step *step,
                                                    uint32_t index) {
  return &plan->tensors[step->inputs[index]];
}
static inline const bsm_plan_tensor *bsm_step_output(const bsm_plan *plan,
                                                     const bsm_plan_step *step,
                                                     uint32_t index) {
  return &plan->tensors[step->outputs[index]];
}
/* Elements; of a checked tensor it cannot overflow. */
int64_t bsm_plan_numel(const bsm_plan_tensor *t);

/* ---- all steps ---- */

/* Parameters are there; the tensors are as said above, their dtypes real ones,
 * or any where elements are only moved. */
BSM_NODISCARD bsm_status bsm_check_step(const bsm_plan *plan,
                                        const bsm_plan_step *step);
/* Adds which step it was to a failure; OK stays OK. */
bsm_status bsm_check_note(bsm_status status, const bsm_plan_step *step);

/* ---- kinds of steps ---- */

BSM_NODISCARD bsm_status bsm_check_element_wise(const bsm_plan *plan,
                                                const bsm_plan_step *step);
BSM_NODISCARD bsm_status bsm_check_copy(const bsm_plan *plan,
                                        const bsm_plan_step *step);
BSM_NODISCARD bsm_status bsm_check_fill(const bsm_plan *plan,
                                        const bsm_plan_step *step);
/* Convolution and deconvolution (`transposed`) of tensors of `dtype`; the size
 * of weights[0] is the device's to check. */
BSM_NODISCARD bsm_status bsm_check_convolution(const bsm_plan *plan,
                                               const bsm_plan_step *step,
                                               bsm_dtype dtype,
                                               bool transposed);
/* The same of bytes. */
BSM_NODISCARD bsm_status bsm_check_int8_convolution(const bsm_plan *plan,
                                                    const bsm_plan_step *step);
BSM_NODISCARD bsm_status bsm_check_pooling(const bsm_plan *plan,
                                           const bsm_plan_step *step);
/* Products of tensors of `dtype`: k and n are those of the operands; the size
 * of a constant B is the device's to check. */
BSM_NODISCARD bsm_status bsm_check_matrices(const bsm_plan *plan,
                                            const bsm_plan_step *step,
                                            bsm_dtype dtype);
/* Attention over tensors of `dtype`. */
BSM_NODISCARD bsm_status bsm_check_attention(const bsm_plan *plan,
                                             const bsm_plan_step *step,
                                             bsm_dtype dtype);
/* Levels of recurrent networks over tensors of `dtype`; the size of weights[0]
 * is the device's to check. */
BSM_NODISCARD bsm_status bsm_check_recurrent(const bsm_plan *plan,
                                             const bsm_plan_step *step,
                                             bsm_dtype dtype);
BSM_NODISCARD bsm_status bsm_check_softmax(const bsm_plan *plan,
                                           const bsm_plan_step *step);
BSM_NODISCARD bsm_status bsm_check_normalization(const bsm_plan *plan,
                                                 const bsm_plan_step *step);
BSM_NODISCARD bsm_status bsm_check_reduce(const bsm_plan *plan,
                                          const bsm_plan_step *step);
BSM_NODISCARD bsm_status bsm_check_top_k(const bsm_plan *plan,
                                         const bsm_plan_step *step);
BSM_NODISCARD bsm_status bsm_check_scan(const bsm_plan *plan,
                                        const bsm_plan_step *step);
BSM_NODISCARD bsm_status bsm_check_non_zero(const bsm_plan *plan,
                                            const bsm_plan_step *step);
BSM_NODISCARD bsm_status bsm_check_nms(const bsm_plan *plan,
                                       const bsm_plan_step *step);
/* Indices are looked at when the step runs, and so are regions. */
BSM_NODISCARD bsm_status bsm_check_regions(const bsm_plan *plan,
                                           const bsm_plan_step *step);
BSM_NODISCARD bsm_status bsm_check_sample(const bsm_plan *plan,
                                          const bsm_plan_step *step);
BSM_NODISCARD bsm_status bsm_check_gather(const bsm_plan *plan,
                                          const bsm_plan_step *step);
BSM_NODISCARD bsm_status bsm_check_scatter(const bsm_plan *plan,
                                           const bsm_plan_step *step);
BSM_NODISCARD bsm_status bsm_check_pad(const bsm_plan *plan,
                                       const bsm_plan_step *step);
BSM_NODISCARD bsm_status bsm_check_resize(const bsm_plan *plan,
                                          const bsm_plan_step *step);

/* ---- parts of them; `what` names the tensor in messages ---- */

BSM_NODISCARD bsm_status bsm_check_counts(const bsm_plan_step *step,
                                          uint32_t inputs, uint32_t outputs);
BSM_NODISCARD bsm_status bsm_check_dtype(const bsm_plan_tensor *t,
                                         bsm_dtype dtype, const char *what);
BSM_NODISCARD bsm_status bsm_check_same_dims(const bsm_plan_tensor *a,
                                             const bsm_plan_tensor *b,
                                             const char *what);
/* Row-major, without gaps. */
BSM_NODISCARD bsm_status bsm_check_contiguous(const bsm_plan_tensor *t,
                                              const char *what);
/* `t` broadcasts to `to`. */
BSM_NODISCARD bsm_status bsm_check_broadcast(const bsm_plan_tensor *t,
                                             const bsm_plan_tensor *to,
                                             const char *what);
/* weights[index] is present and has exactly `size` bytes. */
BSM_NODISCARD bsm_status bsm_check_weights(const bsm_plan *plan,
                                           const bsm_plan_step *step,
                                           uint32_t index, uint64_t size);
BSM_NODISCARD bsm_status bsm_check_axis(const bsm_plan_tensor *t, int32_t axis);
/* The gates of a recurrent operation; 0: there is no such operation. */
int64_t bsm_recurrent_gates(int32_t operation);
/* Parameters alone: each of the matrices has at most BSM_MAX_ELEMENTS. */
BSM_NODISCARD bsm_status
bsm_check_recurrent_sizes(const bsm_step_recurrent *params);
BSM_NODISCARD bsm_status bsm_check_epilogue(const bsm_step_epilogue *epilogue);
/* Rank and parameters: kernel, stride, dilation >= 1, paddings >= 0, all small
 * enough for their sums not to overflow. */
BSM_NODISCARD bsm_status bsm_check_window(const bsm_step_window *window,
                                          const bsm_plan_tensor *x,
                                          const bsm_plan_tensor *y);
/* The output of a convolution is of the size that its input gives. */
BSM_NODISCARD bsm_status bsm_check_window_output(const bsm_step_window *window,
                                                 const bsm_plan_tensor *x,
                                                 const bsm_plan_tensor *y);

#endif /* BSM_BACKEND_CHECKS_CHECKS_H_ */
