/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: shapes and dtypes only. Values are refused: an engine gives
 * the same answer for the same input. */
#include "aten/op_kit.h"

static bsm_status refuse(const bsm_op_ctx *cx, const bsm_tensor *t) {
  if (cx->meta || bsm_tensor_numel(t) == 0) return BSM_OK;
  return BSM_FAIL(BSM_UNSUPPORTED,
                  "random numbers are not supported: for a network with "
                  "dropout, call .eval() on the model before saving it");
}

/* bernoulli_(self, p), uniform_(self, from, to), normal_, ...: in place */
static bsm_status op_random_inplace(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]);
  BSM_TRY(refuse(cx, t));
  return op_return(outs, t);
}

/* A new tensor of self's shape and dtype. */
static bsm_status op_random_same(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  BSM_TRY(refuse(cx, t));
  BSM_TRY(bsm_op_new_like(cx, t->dtype, t, &out));
  return op_return(outs, out);
}

/* rand(size, *, dtype, ...): the variant says where `size` is */
static bsm_status op_random_new(OP_PARAMS) {
  const int at = self->variant;
  bsm_tensor *out;
  bsm_dims dims;
  BSM_TRY(bsm_op_dims(&args[at], &dims));
  BSM_TRY(bsm_op_new(
      cx, op_dtype_or(&args[at + 1], at ? BSM_DTYPE_INT64 : BSM_DTYPE_FLOAT),
      dims, &out));
  BSM_TRY(refuse(cx, out));
  return op_return(outs, out);
}

/* rand_like(self, *, dtype, ...); the variant says where dtype is */
static bsm_status op_random_like(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *out;
  BSM_TRY(refuse(cx, t));
  BSM_TRY(bsm_op_new_like(cx, op_dtype_or(&args[self->variant], t->dtype), t,
                          &out));
  return op_return(outs, out);
}

static bsm_status op_randperm(OP_PARAMS) {
  (void)self;
  bsm_tensor *out;
  const int64_t n = op_int(&args[0]);
  if (n < 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "n must be non-negative, got %lld",
                    (long long)n);
  }
  BSM_TRY(bsm_op_new(cx, op_dtype_or(&args[1], BSM_DTYPE_INT64), op_dims1(n),
                     &out));
  BSM_TRY(refuse(cx, out));
  return op_return(outs, out);
}

/* multinomial(self, num_samples, replacement) */
static bsm_status op_multinomial(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *out;
  if (t->sizes.rank < 1 || t->sizes.rank > 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "prob_dist must be 1 or 2 dim");
  }
  bsm_dims shape = t->sizes;
  shape.d[shape.rank - 1] = op_int(&args[1]);
  BSM_TRY(bsm_op_new(cx, BSM_DTYPE_INT64, shape, &out));
  BSM_TRY(refuse(cx, out));
  return op_return(outs, out);
}

static const bsm_aten_op rows[] = {
    {"aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? "
     "generator=None) -> Tensor(a!)",
     op_random_inplace, 0, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM},
    {"aten::bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? "
     "generator=None) -> Tensor(a!)",
     op_random_inplace, 0, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM},
    {"aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, "
     "Generator? generator=None) -> Tensor(a!)",
     op_random_inplace, 0, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM},
    {"aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, "
     "Generator? generator=None) -> Tensor(a!)",
     op_random_inplace, 0, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM},
    {"aten::exponential_(Tensor(a!) self, float lambd=1., *, Generator? "
     "generator=None) -> Tensor(a!)",
     op_random_inplace, 0, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM},
    {"aten::random_(Tensor(a!) self, *, Generator? generator=None) -> "
     "Tensor(a!)",
     op_random_inplace, 0, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM},
    {"aten::_no_grad_uniform_(Tensor(a!) tensor, float a, float b, Generator? "
     "generator=None) -> Tensor(a!)",
     op_random_inplace, 0, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM},
    {"aten::_no_grad_normal_(Tensor(a!) tensor, float mean, float std, "
     "Generator? generator=None) -> Tensor(a!)",
     op_random_inplace, 0, BSM_ATEN_INPLACE | BSM_ATEN_RANDOM},
    {"aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
     op_random_same, 0, BSM_ATEN_RANDOM},
    {"aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> "
     "Tensor",
     op_random_same, 0, BSM_ATEN_RANDOM},
    {"aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? "
     "generator=None) -> Tensor",
     op_random_same, 0, BSM_ATEN_RANDOM},
    {"aten::uniform(Tensor self, float from=0., float to=1., *, Generator? "
     "generator=None) -> Tensor",
     op_random_same, 0, BSM_ATEN_RANDOM},
    {"aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     op_random_new, 0, BSM_ATEN_RANDOM},
    {"aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     op_random_new, 0, BSM_ATEN_RANDOM},
    {"aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
     "Tensor",
     op_random_new, 1, BSM_ATEN_RANDOM},
    {"aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? "
     "dtype=4, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     op_random_new, 2, BSM_ATEN_RANDOM},
    {"aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
     "memory_format=None) -> Tensor",
     op_random_like, 1, BSM_ATEN_RANDOM},
    {"aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
     "memory_format=None) -> Tensor",
     op_random_like, 1, BSM_ATEN_RANDOM},
    {"aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None, "
     "MemoryFormat? memory_format=None) -> Tensor",
     op_random_like, 2, BSM_ATEN_RANDOM},
    {"aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     op_randperm, 0, BSM_ATEN_RANDOM},
    {"aten::multinomial(Tensor self, SymInt num_samples, bool "
     "replacement=False, *, Generator? generator=None) -> Tensor",
     op_multinomial, 0, BSM_ATEN_RANDOM},
};
BSM_ATEN_TABLE(random, rows);
