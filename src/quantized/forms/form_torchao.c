/* SPDX-License-Identifier: Apache-2.0 */
/* torchao's operators, as torch.export writes them of models that torchao has
 * quantized: tensors are divided into blocks, each with a scale and a zero
 * point. A tensor is reshaped so that the dimensions of a block are dimensions
 * of its own; what belongs to blocks has size 1 there. */
#include <float.h>
#include <string.h>

#include "quantized/form_kit.h"

typedef struct blocks {
  bsm_ivalue original;  /* the shape of the tensor: ints, one of them -1 */
  bsm_ivalue divided;   /* with dimensions for what is in a block */
  bsm_ivalue of_blocks; /* as `divided`, but 1 where a block lies */
  bsm_ivalue inside;    /* the dimensions of a block */
  bsm_ivalue counts;    /* of blocks along each dimension of the tensor */
} blocks;

typedef struct dim_list {
  int64_t d[2 * BSM_MAX_RANK];
  size_t len;
} dim_list;

static void push(dim_list *list, int64_t d) {
  list->d[list->len++] = d;
}

/* The dimension `size` in blocks of `block` elements. */
static bsm_status divide(int64_t size, int64_t block, dim_list *divided,
                         dim_list *of_blocks, dim_list *inside,
                         dim_list *counts) {
  if (block < 1 || (block > 1 && (size < 0 || size % block != 0))) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "blocks of %lld along a dimension of %lld",
                    (long long)block, (long long)size);
  }
  push(counts, size < 0 ? size : size / block);
  if (block != size && block > 1) {
    push(divided, size / block);
    push(of_blocks, size / block);
    size = block;
  }
  if (block != 1) push(inside, (int64_t)divided->len);
  push(divided, size);
  push(of_blocks, block != 1 ? 1 : size);
  return BSM_OK;
}

static bsm_status read_blocks(const bsm_q_call *c, const bsm_ivalue *sizes,
                              blocks *out) {
  const bsm_dims dims = c->b->dims(c->b, &c->args[0]);
  dim_list divided = {.len = 0}, of_blocks = divided, inside = divided;
  dim_list counts = divided;
  int open = 0;
  if (dims.rank < 0 || sizes->tag != BSM_IVALUE_LIST ||
      sizes->u.list->len != (size_t)dims.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "Got input dim:%d, block_size: %zu",
                    (int)dims.rank,
                    sizes->tag == BSM_IVALUE_LIST ? sizes->u.list->len : 0);
  }
  for (int32_t i = 0; i < dims.rank; i++) {
    open += dims.d[i] < 0;
    BSM_TRY(divide(dims.d[i], bsm_q_int(&sizes->u.list->items[i]), &divided,
                   &of_blocks, &inside, &counts));
  }
  if (open > 1 || divided.len > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "blocks of a tensor with %d dimensions that range, or with "
                    "too many",
                    open);
  }
  bsm_arena *arena = c->b->arena;
  BSM_TRY(bsm_iv_int_list(arena, dims.d, (size_t)dims.rank, &out->original));
  BSM_TRY(bsm_iv_int_list(arena, divided.d, divided.len, &out->divided));
  BSM_TRY(bsm_iv_int_list(arena, of_blocks.d, of_blocks.len, &out->of_blocks));
  BSM_TRY(bsm_iv_int_list(arena, inside.d, inside.len, &out->inside));
  return bsm_iv_int_list(arena, counts.d, counts.len, &out->counts);
}

static bsm_status reshape(const bsm_q_call *c, bsm_ivalue *t,
                          const bsm_ivalue *shape) {
  Q_CALL(c, t, "aten::reshape", *t, *shape);
  return BSM_OK;
}

static bsm_status cast(const bsm_q_call *c, bsm_ivalue *t,
                       const bsm_ivalue *dtype) {
  Q_CALL(c, t, "aten::to.dtype", *t, *dtype, B(false), B(false), NONE);
  return BSM_OK;
}

/* The range of a dtype, or what is given of it. */
static bsm_status read_range(const bsm_ivalue *dtype, const bsm_ivalue *given,
                             bsm_ivalue range[2]) {
  static const struct {
    bsm_dtype dtype;
    int64_t low, high;
  } rows[] = {{BSM_DTYPE_UINT8, 0, UINT8_MAX},
              {BSM_DTYPE_INT8, INT8_MIN, INT8_MAX},
              {BSM_DTYPE_INT16, INT16_MIN, INT16_MAX},
              {BSM_DTYPE_INT32, INT32_MIN, INT32_MAX}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (bsm_q_int(dtype) != rows[i].dtype) continue;
    range[0] = given[0].tag == BSM_IVALUE_NONE ? I(rows[i].low) : given[0];
    range[1] = given[1].tag == BSM_IVALUE_NONE ? I(rows[i].high) : given[1];
    if (bsm_q_number(&range[0]) < (double)rows[i].low ||
        bsm_q_number(&range[1]) > (double)rows[i].high) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "a range that %s does not hold",
                      bsm_dtype_name(rows[i].dtype));
    }
    return BSM_OK;
  }
  return BSM_FAIL(BSM_UNSUPPORTED, "quantization to dtype number %lld",
                  (long long)bsm_q_int(dtype));
}

static bool has_zeros(const bsm_q_call *c, const bsm_ivalue *zeros) {
  if (zeros->tag == BSM_IVALUE_NONE) return false;
  const bsm_dims dims = c->b->dims(c->b, zeros);
  for (int32_t i = 0; i < dims.rank; i++) {
    if (dims.d[i] == 0) return false; /* as good as none */
  }
  return true;
}

/* (input, block_size, scale, zero_point, output_dtype, quant_min, quant_max) */
static bsm_status run_quantize(const bsm_q_call *c) {
  const bsm_ivalue *a = c->args;
  bsm_ivalue x = a[0], scale = a[2], zero = a[3], range[2];
  blocks b;
  BSM_TRY(read_range(&a[4], &a[5], range));
  BSM_TRY(read_blocks(c, &a[1], &b));
  BSM_TRY(reshape(c, &x, &b.divided));
  BSM_TRY(reshape(c, &scale, &b.of_blocks));
  Q_CALL(c, &scale, "aten::reciprocal", scale);
  Q_CALL(c, &x, "aten::mul.Tensor", x, scale);
  Q_CALL(c, &x, "aten::round", x);
  if (has_zeros(c, &zero)) {
    BSM_TRY(reshape(c, &zero, &b.of_blocks));
    Q_CALL(c, &x, "aten::add.Tensor", x, zero, I(1));
  }
  Q_CALL(c, &x, "aten::clamp", x, range[0], range[1]);
  BSM_TRY(reshape(c, &x, &b.original));
  BSM_TRY(cast(c, &x, &a[4]));
  c->outs[0] = x;
  return BSM_OK;
}

/* (input, block_size, scale, zero_point, input_dtype, quant_min, quant_max,
 * output_dtype) */
static bsm_status run_dequantize(const bsm_q_call *c) {
  const bsm_ivalue *a = c->args;
  bsm_ivalue x = a[0], scale = a[2], zero = a[3];
  blocks b;
  BSM_TRY(read_blocks(c, &a[1], &b));
  BSM_TRY(reshape(c, &x, &b.divided));
  BSM_TRY(reshape(c, &scale, &b.of_blocks));
  BSM_TRY(cast(c, &x, &a[7]));
  if (has_zeros(c, &zero)) {
    BSM_TRY(reshape(c, &zero, &b.of_blocks));
    BSM_TRY(cast(c, &zero, &a[7]));
    Q_CALL(c, &x, "aten::sub.Tensor", x, zero, I(1));
  }
  Q_CALL(c, &x, "aten::mul.Tensor", x, scale);
  BSM_TRY(reshape(c, &x, &b.original));
  BSM_TRY(cast(c, &x, &a[7]));
  c->outs[0] = x;
  return BSM_OK;
}

/* ---- scales and zero points from ranges ---- */

typedef struct extent {
  bsm_ivalue low, high; /* of the elements of each block, zero among them */
  double least, greatest;
  bsm_ivalue eps;
} extent;

static bsm_status is_text(const bsm_ivalue *v, const char *text, bool *out) {
  if (v->tag != BSM_IVALUE_STRING) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "a mapping type is needed");
  }
  *out = bsm_str_eq(*v->u.s, bsm_str_of(text));
  return BSM_OK;
}

/* The same zero point for all, in the middle of the range. */
static bsm_status choose_symmetric(const bsm_q_call *c, const extent *e,
                                   bool clips, bsm_ivalue *scale,
                                   bsm_ivalue *zero) {
  bsm_ivalue low = e->low, high = e->high;
  const double middle = (e->greatest + e->least + 1) / 2;
  if (clips) {
    Q_CALL(c, &low, "aten::neg", low);
    Q_CALL(c, &high, "aten::maximum", low, high);
    Q_CALL(c, scale, "aten::div.Scalar", high, D((e->greatest - e->least) / 2));
  } else {
    Q_CALL(c, &low, "aten::div.Scalar", low, D(e->least));
    Q_CALL(c, &high, "aten::div.Scalar", high, D(e->greatest));
    Q_CALL(c, scale, "aten::maximum", low, high);
  }
  Q_CALL(c, zero, "aten::full_like", *scale, I((int64_t)middle), NONE, NONE,
         NONE, NONE, NONE);
  Q_CALL(c, scale, "aten::clamp", *scale, e->eps, NONE);
  return BSM_OK;
}

static bsm_status choose_asymmetric(const bsm_q_call *c, const extent *e,
                                    bsm_ivalue *scale, bsm_ivalue *zero) {
  Q_CALL(c, scale, "aten::sub.Tensor", e->high, e->low, I(1));
  Q_CALL(c, scale, "aten::div.Scalar", *scale, D(e->greatest - e->least));
  Q_CALL(c, scale, "aten::clamp", *scale, e->eps, NONE);
  Q_CALL(c, zero, "aten::div.Tensor", e->low, *scale);
  Q_CALL(c, zero, "aten::round", *zero);
  Q_CALL(c, zero, "aten::rsub.Scalar", *zero, D(e->least), I(1));
  Q_CALL(c, zero, "aten::clamp", *zero, D(e->least), D(e->greatest));
  return BSM_OK;
}

static bsm_status find_extent(const bsm_q_call *c, const blocks *b,
                              extent *out) {
  const bsm_ivalue keep = c->args[9];
  bsm_ivalue x = c->args[0], zeros;
  BSM_TRY(reshape(c, &x, &b->divided));
  Q_CALL(c, &out->low, "aten::amin", x, b->inside, keep);
  Q_CALL(c, &out->high, "aten::amax", x, b->inside, keep);
  Q_CALL(c, &zeros, "aten::zeros_like", out->low, NONE, NONE, NONE, NONE, NONE);
  Q_CALL(c, &out->low, "aten::minimum", out->low, zeros);
  Q_CALL(c, &out->high, "aten::maximum", out->high, zeros);
  return BSM_OK;
}

/* (input, mapping_type, block_size, target_dtype, quant_min, quant_max, eps,
 * scale_dtype, zero_point_dtype, keepdim) */
static bsm_status run_choose(const bsm_q_call *c) {
  enum {
    MAPPING = 1,
    BLOCKS,
    DTYPE,
    RANGE,
    EPS = 6,
    SCALE_DTYPE,
    ZERO_DTYPE,
    KEEPDIM
  };
  const bsm_ivalue *a = c->args;
  bsm_ivalue range[2], *scale = &c->outs[0], *zero = &c->outs[1];
  blocks b;
  extent e;
  bool symmetric, unclipped, asymmetric;
  BSM_TRY(is_text(&a[MAPPING], "SYMMETRIC", &symmetric));
  BSM_TRY(is_text(&a[MAPPING], "SYMMETRIC_NO_CLIPPING_ERR", &unclipped));
  BSM_TRY(is_text(&a[MAPPING], "ASYMMETRIC", &asymmetric));
  if (!symmetric && !unclipped && !asymmetric) {
    return BSM_FAIL(BSM_UNSUPPORTED, "another mapping type");
  }
  BSM_TRY(read_range(&a[DTYPE], &a[RANGE], range));
  BSM_TRY(read_blocks(c, &a[BLOCKS], &b));
  BSM_TRY(find_extent(c, &b, &e));
  e.least = bsm_q_number(&range[0]);
  e.greatest = bsm_q_number(&range[1]);
  e.eps = a[EPS].tag == BSM_IVALUE_NONE ? D((double)FLT_MIN) : a[EPS];
  BSM_TRY(asymmetric ? choose_asymmetric(c, &e, scale, zero)
                     : choose_symmetric(c, &e, symmetric, scale, zero));
  const bsm_ivalue int32 = I(BSM_DTYPE_INT32);
  const bool none = a[ZERO_DTYPE].tag == BSM_IVALUE_NONE;
  if (bsm_q_bool(&a[KEEPDIM])) {
    BSM_TRY(reshape(c, scale, &b.counts));
    BSM_TRY(reshape(c, zero, &b.counts));
  }
  if (a[SCALE_DTYPE].tag != BSM_IVALUE_NONE) {
    BSM_TRY(cast(c, scale, &a[SCALE_DTYPE]));
  }
  if (!none || asymmetric) {
    BSM_TRY(cast(c, zero, none ? &int32 : &a[ZERO_DTYPE]));
  }
  return BSM_OK;
}

#define OP(text, run) \
  { "torchao::" text, run, 0, BSM_Q_OP }
#define RANGE "Scalar? quant_min=None, Scalar? quant_max=None"

static const bsm_q_form forms[] = {
    OP("choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] "
       "block_size, ScalarType target_dtype, " RANGE
       ", float? eps=None, ScalarType? scale_dtype=None, ScalarType? "
       "zero_point_dtype=None, bool keepdim=False) -> (Tensor, Tensor)",
       run_choose),
    OP("quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, "
       "Tensor? zero_point, ScalarType output_dtype, " RANGE ") -> Tensor",
       run_quantize),
    OP("dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, "
       "Tensor? zero_point, ScalarType input_dtype, " RANGE
       ", ScalarType output_dtype=6) -> Tensor",
       run_dequantize),
};
BSM_Q_TABLE(torchao, forms);
