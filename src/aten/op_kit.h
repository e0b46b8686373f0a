/* SPDX-License-Identifier: Apache-2.0 */
/* The toolkit that the ops of ops/ are written with. Private to aten.
 *
 * bsm_aten_call has checked the args against the schema, so the accessors
 * below do not look at tags where the schema fixes the type. */
#ifndef BSM_ATEN_OP_KIT_H_
#define BSM_ATEN_OP_KIT_H_

#include <math.h>

#include "aten/element.h"
#include "aten/op.h"
#include "base/checked.h"

/* The arguments of every op function. */
#define OP_PARAMS                                           \
  bsm_op_ctx *cx, const bsm_ivalue *args, bsm_ivalue *outs, \
      const bsm_aten_op *self
#define OP_UNUSED ((void)cx, (void)args, (void)outs, (void)self)
#define OP_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The code of a refusal of `t` for its dtype or what fits it: of tensors
 * without elements PyTorch often asks neither, and complex ones it can often
 * take. */
static inline bsm_code op_refusal_of(const bsm_tensor *t) {
  return bsm_tensor_numel(t) == 0 || bsm_dtype_is_complex(t->dtype)
             ? BSM_UNSUPPORTED
             : BSM_INVALID_ARGUMENT;
}

/* ---- args ---- */
static inline bool op_none(const bsm_ivalue *a) {
  return a->tag == BSM_IVALUE_NONE;
}
/* NULL for None. */
static inline bsm_tensor *op_tensor(const bsm_ivalue *a) {
  return a->tag == BSM_IVALUE_TENSOR ? a->u.tensor : NULL;
}
static inline int64_t op_int(const bsm_ivalue *a) {
  if (a->tag == BSM_IVALUE_BOOL) return a->u.b;
  return a->tag == BSM_IVALUE_INT ? a->u.i : bsm_double_to_i64(a->u.d);
}
static inline int64_t op_int_or(const bsm_ivalue *a, int64_t fallback) {
  return op_none(a) ? fallback : op_int(a);
}
static inline double op_double(const bsm_ivalue *a) {
  if (a->tag == BSM_IVALUE_BOOL) return a->u.b;
  return a->tag == BSM_IVALUE_INT ? (double)a->u.i : a->u.d;
}
static inline bool op_bool(const bsm_ivalue *a) {
  return a->tag == BSM_IVALUE_INT ? a->u.i != 0 : a->u.b;
}
static inline bool op_is_integral(const bsm_ivalue *a) {
  return a->tag == BSM_IVALUE_INT || a->tag == BSM_IVALUE_BOOL;
}
/* A dtype arg; `fallback` for None. */
static inline bsm_dtype op_dtype_or(const bsm_ivalue *a, bsm_dtype fallback) {
  return op_none(a) ? fallback : (bsm_dtype)a->u.i;
}
static inline bsm_str op_str(const bsm_ivalue *a) {
  return a->tag == BSM_IVALUE_STRING ? *a->u.s : BSM_STR("");
}
static inline size_t op_list_len(const bsm_ivalue *a) {
  return a->tag == BSM_IVALUE_LIST ? a->u.list->len : 0;
}
static inline int64_t op_list_int(const bsm_ivalue *a, size_t i) {
  return op_int(&a->u.list->items[i]);
}
static inline bsm_tensor *op_list_tensor(const bsm_ivalue *a, size_t i) {
  return op_tensor(&a->u.list->items[i]);
}
/* An int list as dims (values unchecked); fails beyond BSM_MAX_RANK. */
BSM_NODISCARD bsm_status bsm_op_dims(const bsm_ivalue *a, bsm_dims *out);
/* An int list of exactly `n` values into out; one value stands for all, an
 * empty list or None for `fallback` (NULL: refused). `what` names it. */
BSM_NODISCARD bsm_status bsm_op_ints(const bsm_ivalue *a, int n,
                                     const int64_t *fallback, const char *what,
                                     int64_t *out);
/* The tensors of a list, in the arena. */
BSM_NODISCARD bsm_status bsm_op_tensors(bsm_op_ctx *cx, const bsm_ivalue *a,
                                        bsm_tensor ***out, size_t *n);
/* A number as a 0-dim "wrapped" tensor: int64, double, complex128 or bool. */
BSM_NODISCARD bsm_status bsm_op_wrap(bsm_op_ctx *cx, const bsm_ivalue *a,
                                     bsm_tensor **out);
/* As PyTorch's messages name a dtype: "Float", "Long". */
const char *bsm_op_type_name(bsm_dtype d);
/* Refuses dtypes that the library does not compute with (complex, quantized).
 */
BSM_NODISCARD bsm_status bsm_op_real(const bsm_tensor *t);

/* Refuses quantized dtypes only. */
BSM_NODISCARD bsm_status bsm_op_number(const bsm_tensor *t);
/* A Scalar arg as a complex number. */
static inline bsm_c128 op_complex(const bsm_ivalue *a) {
  if (a->tag == BSM_IVALUE_COMPLEX) return (bsm_c128){a->u.c.re, a->u.c.im};
  return (bsm_c128){op_double(a), 0.0};
}

/* Refuses to put a number with an imaginary part into a real dtype. */
BSM_NODISCARD bsm_status bsm_op_check_fill(const bsm_ivalue *value,
                                           bsm_dtype dtype);

/* ---- geometry ---- */
/* A dim in [-rank, rank) to [0, rank); rank 0 counts as 1. */
BSM_NODISCARD bsm_status bsm_op_wrap_dim(int64_t dim, int64_t rank, int *out);
/* A list of dims as a mask; an empty list or None means all dims. */
BSM_NODISCARD bsm_status bsm_op_dim_mask(const bsm_ivalue *a, int32_t rank,
                                         bool empty_is_all, uint32_t *out);
/* The elements start, start + step, ... of a dim or a sequence. */
typedef struct bsm_op_slice {
  int64_t start, step, count;
} bsm_op_slice;
/* bounds[0..2]: start, end, step, as arguments of an op on something of `size`
 * elements. A tensor's dim takes positive steps only, a list or string any but
 * zero; where nothing is taken, start may be beyond the last element. */
BSM_NODISCARD bsm_status bsm_op_slice_dim(const bsm_ivalue *bounds,
                                          int64_t size, bsm_op_slice *out);
BSM_NODISCARD bsm_status bsm_op_slice_sequence(const bsm_ivalue *bounds,
                                               int64_t size, bsm_op_slice *out);
BSM_NODISCARD bsm_status bsm_op_broadcast(bsm_dims a, bsm_dims b,
                                          bsm_dims *out);
/* A view of `t` broadcast to `dims`, which it must fit. */
BSM_NODISCARD bsm_status bsm_op_expand(bsm_op_ctx *cx, const bsm_tensor *t,
                                       bsm_dims dims, bsm_tensor **out);
/* The view of `t` as `dims` when strides allow, as PyTorch's computeStride;
 * *out NULL when only a copy will do. The element counts must agree. */
BSM_NODISCARD bsm_status bsm_op_try_view(bsm_op_ctx *cx, const bsm_tensor *t,
                                         bsm_dims dims, bsm_tensor **out);
/* A view or a contiguous copy: PyTorch's reshape. */
BSM_NODISCARD bsm_status bsm_op_reshape(bsm_op_ctx *cx, const bsm_tensor *t,
                                        bsm_dims dims, bsm_tensor **out);
/* Fills in a -1; checks that the element count is `numel`. */
BSM_NODISCARD bsm_status bsm_op_infer_size(bsm_dims shape, int64_t numel,
                                           bsm_dims *out);
BSM_NODISCARD bsm_status bsm_op_transpose(bsm_op_ctx *cx, const bsm_tensor *t,
                                          int dim0, int dim1, bsm_tensor **out);
BSM_NODISCARD bsm_status bsm_op_narrow(bsm_op_ctx *cx, const bsm_tensor *t,
                                       int dim, int64_t start, int64_t length,
                                       bsm_tensor **out);
BSM_NODISCARD bsm_status bsm_op_select(bsm_op_ctx *cx, const bsm_tensor *t,
                                       int dim, int64_t index,
                                       bsm_tensor **out);
BSM_NODISCARD bsm_status bsm_op_unsqueeze(bsm_op_ctx *cx, const bsm_tensor *t,
                                          int dim, bsm_tensor **out);
/* Complex numbers as a last dim of two real ones, and back: views. */
BSM_NODISCARD bsm_status bsm_op_view_as_real(bsm_op_ctx *cx,
                                             const bsm_tensor *t,
                                             bsm_tensor **out);
BSM_NODISCARD bsm_status bsm_op_view_as_complex(bsm_op_ctx *cx,
                                                const bsm_tensor *t,
                                                bsm_tensor **out);
/* Every element has its own place, and there are no holes. */
bool bsm_op_is_dense(const bsm_tensor *t);

static inline bsm_dims op_dims1(int64_t a) {
  return (bsm_dims){1, {a}};
}
static inline bsm_dims op_dims2(int64_t a, int64_t b) {
  return (bsm_dims){2, {a, b}};
}
static inline bsm_dims op_dims3(int64_t a, int64_t b, int64_t c) {
  return (bsm_dims){3, {a, b, c}};
}
static inline bsm_dims op_dims4(int64_t a, int64_t b, int64_t c, int64_t d) {
  return (bsm_dims){4, {a, b, c, d}};
}

/* ---- results ---- */
/* A new tensor of PyTorch's "preserve" layout: dense, dims ordered as in `t`.
 */
BSM_NODISCARD bsm_status bsm_op_new_like(bsm_op_ctx *cx, bsm_dtype dtype,
                                         const bsm_tensor *t, bsm_tensor **out);
/* The layout TensorIterator gives to the result of these operands. */
BSM_NODISCARD bsm_status bsm_op_new_elementwise(bsm_op_ctx *cx, bsm_dtype dtype,
                                                bsm_dims shape,
                                                bsm_tensor *const *in, int n,
                                                bsm_tensor **out);
/* Checks that `t` may be written: no element twice. Storage borrowed from a
 * file is copied first (all views see the copy). */
BSM_NODISCARD bsm_status bsm_op_writable(bsm_op_ctx *cx, bsm_tensor *t);
/* The same for an op that writes one value everywhere, as often as it likes. */
BSM_NODISCARD bsm_status bsm_op_fillable(bsm_op_ctx *cx, bsm_tensor *t);
/* at::result_type of the operands. */
bsm_dtype bsm_op_result_type(bsm_tensor *const *in, int n);
bool bsm_op_can_cast(bsm_dtype from, bsm_dtype to);
/* `t` itself when it has that dtype, else a converted copy. */
BSM_NODISCARD bsm_status bsm_op_cast(bsm_op_ctx *cx, bsm_tensor *t,
                                     bsm_dtype dtype, bsm_tensor **out);
/* ---- elementwise driver ---- */
typedef void (*bsm_pw_f64)(double *out, const double *const *in, size_t n,
                           const void *params);
typedef void (*bsm_pw_i64)(int64_t *out, const int64_t *const *in, size_t n,
                           const void *params);
typedef void (*bsm_pw_c128)(bsm_c128 *out, const bsm_c128 *const *in, size_t n,
                            const void *params);
enum {
  BSM_PW_FLOAT = 1u << 0,   /* integers are computed as the default float */
  BSM_PW_BOOL = 1u << 1,    /* the result is bool */
  BSM_PW_OPMATH = 1u << 2,  /* 0-dim operands but the first keep float
                               precision in half */
  BSM_PW_NO_CAST = 1u << 3, /* operand 0 is not rounded to the common dtype */
  BSM_PW_REAL = 1u << 4     /* of complex numbers the result is real */
};
typedef struct bsm_pointwise {
  const char *name; /* for "... not implemented for 'Long'" */
  bsm_pw_f64 f;     /* floating; NULL: refused */
  bsm_pw_i64 i;     /* integers and bool; NULL: refused */
  uint32_t flags;
  const void *params;
  bsm_dtype common; /* computed in; 0 with has_common false: promoted */
  bool has_common;
  bsm_pw_c128 c; /* complex; NULL: refused. Bool results are real parts */
  int32_t work;  /* what a series does for an element, in multiply-adds */
} bsm_pointwise;

/* Computes over the broadcast operands (at most 4) into a new tensor, or into
 * `dst` when not NULL, with the checks of an in-place op. */
BSM_NODISCARD bsm_status bsm_op_pointwise(bsm_op_ctx *cx,
                                          const bsm_pointwise *pw,
                                          bsm_tensor *const *in, int n,
                                          bsm_tensor *dst, bsm_tensor **out);

/* ---- whole tensors as double arrays ---- */
/* All elements in row-major order; NULL when out of memory. */
double *bsm_op_load_all(bsm_op_ctx *cx, const bsm_tensor *t);
/* Stores into a tensor of any strides. */
void bsm_op_store_all(const bsm_tensor *t, const double *values);
/* The same for integers, exactly. */
int64_t *bsm_op_load_ints(bsm_op_ctx *cx, const bsm_tensor *t);
void bsm_op_store_ints(const bsm_tensor *t, const int64_t *values);
/* The same for any numbers as complex ones. */
bsm_c128 *bsm_op_load_complex(bsm_op_ctx *cx, const bsm_tensor *t);
void bsm_op_store_complex(const bsm_tensor *t, const bsm_c128 *values);
/* Sets output `i`. */
static inline bsm_status op_return(bsm_ivalue *outs, bsm_tensor *t) {
  outs[0] = bsm_iv_tensor(t);
  return BSM_OK;
}

/* ---- ops that other ops are made of ---- */
BSM_NODISCARD bsm_status bsm_op_add(bsm_op_ctx *cx, bsm_tensor *a,
                                    bsm_tensor *b, double alpha,
                                    bsm_tensor **out);
BSM_NODISCARD bsm_status bsm_op_mul(bsm_op_ctx *cx, bsm_tensor *a,
                                    bsm_tensor *b, bsm_tensor **out);
/* The magnitudes: real also for complex numbers. */
BSM_NODISCARD bsm_status bsm_op_abs(bsm_op_ctx *cx, bsm_tensor *t,
                                    bsm_tensor **out);
/* `t` itself when it is real. */
BSM_NODISCARD bsm_status bsm_op_conj(bsm_op_ctx *cx, bsm_tensor *t,
                                     bsm_tensor **out);
BSM_NODISCARD bsm_status bsm_op_not_equal(bsm_op_ctx *cx, bsm_tensor *a,
                                          bsm_tensor *b, bsm_tensor **out);
BSM_NODISCARD bsm_status bsm_op_matmul(bsm_op_ctx *cx, bsm_tensor *a,
                                       bsm_tensor *b, bsm_tensor **out);
/* `bias` may be NULL. */
BSM_NODISCARD bsm_status bsm_op_linear(bsm_op_ctx *cx, bsm_tensor *x,
                                       bsm_tensor *weight, bsm_tensor *bias,
                                       bsm_tensor **out);
BSM_NODISCARD bsm_status bsm_op_layer_norm(bsm_op_ctx *cx, bsm_tensor *t,
                                           bsm_dims shape, bsm_tensor *weight,
                                           bsm_tensor *bias, double eps,
                                           bsm_tensor **out);
BSM_NODISCARD bsm_status bsm_op_softmax(bsm_op_ctx *cx, bsm_tensor *t,
                                        int64_t dim, bool log, bsm_dtype dtype,
                                        bsm_tensor **out);
#endif /* BSM_ATEN_OP_KIT_H_ */
