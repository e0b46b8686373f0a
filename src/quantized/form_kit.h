/* SPDX-License-Identifier: Apache-2.0 */
/* What forms are written with. Private to quantized. */
#ifndef BSM_QUANTIZED_FORM_KIT_H_
#define BSM_QUANTIZED_FORM_KIT_H_

#include "quantized/packed_params.h"
#include "quantized/quantized_form.h"

/* Short names of boxed values, for arguments. */
#define I(int) bsm_iv_int(int)
#define D(double) bsm_iv_double(double)
#define B(bool) bsm_iv_bool(bool)
#define NONE bsm_iv_none()

typedef struct bsm_q_table {
  const bsm_q_form *forms;
  size_t count;
} bsm_q_table;
#define BSM_Q_TABLE(name, array)                   \
  const bsm_q_table bsm_q_forms_##name = {(array), \
                                          sizeof(array) / sizeof((array)[0])}

/* An op with one result. */
BSM_NODISCARD bsm_status bsm_q_call1(const bsm_q_call *c, bsm_ivalue *out,
                                     const char *name, const bsm_ivalue *args,
                                     size_t n);
/* The same, its arguments listed. Fails the calling function. */
#define Q_CALL(c, out, name, ...)                               \
  do {                                                          \
    const bsm_ivalue q_args_[] = {__VA_ARGS__};                 \
    BSM_TRY(bsm_q_call1(c, out, name, q_args_,                  \
                        sizeof(q_args_) / sizeof(q_args_[0]))); \
  } while (0)

/* A known number among the arguments. */
double bsm_q_number(const bsm_ivalue *v);
int64_t bsm_q_int(const bsm_ivalue *v);
bool bsm_q_bool(const bsm_ivalue *v);

/* The value in floats: dequantized when it is quantized. */
BSM_NODISCARD bsm_status bsm_q_float(const bsm_q_call *c, const bsm_ivalue *v,
                                     bsm_ivalue *out);
/* The grid of a quantized tensor; BSM_INVALID_ARGUMENT: it is none. */
BSM_NODISCARD bsm_status bsm_q_grid_of(const bsm_q_call *c, const bsm_ivalue *v,
                                       bsm_q_grid *out);
/* One scale and zero point for all, from arguments. */
BSM_NODISCARD bsm_status bsm_q_grid_from(const bsm_ivalue *scale,
                                         const bsm_ivalue *zero_point,
                                         bsm_dtype dtype, bsm_q_grid *out);
bool bsm_q_same_grid(const bsm_q_grid *a, const bsm_q_grid *b);
/* The least and the greatest integer of a quantized dtype, and the dtype of its
 * integers. */
void bsm_q_range(bsm_dtype dtype, int64_t *low, int64_t *high);
bsm_dtype bsm_q_integers(bsm_dtype dtype);

BSM_NODISCARD bsm_status bsm_q_quantize(const bsm_q_call *c,
                                        const bsm_ivalue *floats,
                                        const bsm_q_grid *grid,
                                        bsm_ivalue *out);
/* A grid of quint8 that the range of a tensor tells when it runs: values. */
typedef struct bsm_q_dynamic_grid {
  bsm_ivalue scale, zero_point, high;
} bsm_q_dynamic_grid;
BSM_NODISCARD bsm_status bsm_q_choose(const bsm_q_call *c,
                                      const bsm_ivalue *floats,
                                      bool reduce_range,
                                      bsm_q_dynamic_grid *out);
/* Quantized and dequantized again: on such a grid, and on the tensor's own. */
BSM_NODISCARD bsm_status bsm_q_on_dynamic(const bsm_q_call *c,
                                          const bsm_ivalue *floats,
                                          const bsm_q_dynamic_grid *grid,
                                          bsm_ivalue *out);
BSM_NODISCARD bsm_status bsm_q_dynamic(const bsm_q_call *c,
                                       const bsm_ivalue *floats,
                                       bool reduce_range, bsm_ivalue *out);
/* The dequantized weight of packed parameters, and their bias. */
BSM_NODISCARD bsm_status bsm_q_weight(const bsm_q_call *c,
                                      const bsm_ivalue *slots,
                                      bsm_ivalue *weight, bsm_ivalue *bias);
/* x W^T + b of packed linear parameters, in floats. */
BSM_NODISCARD bsm_status bsm_q_linear(const bsm_q_call *c, const bsm_ivalue *x,
                                      const bsm_ivalue *packed,
                                      bsm_ivalue *out);

#endif /* BSM_QUANTIZED_FORM_KIT_H_ */
