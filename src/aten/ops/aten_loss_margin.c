/* SPDX-License-Identifier: Apache-2.0 */
/* Losses with margins, the Poisson loss, and connectionist temporal
 * classification (CTC). */
#include "aten/packed/aten_loss_margin.h"
#include "aten/op_compose.h"

/* max(t, 0) */
static bsm_status positive(bsm_op_ctx *cx, bsm_tensor *t, bsm_tensor **out) {
  OP_CALL1(cx, out, "aten::clamp_min", T(t), I(0));
  return BSM_OK;
}

/* number - t */
static bsm_status from_number(bsm_op_ctx *cx, double number, bsm_tensor *t,
                              bsm_tensor **out) {
  OP_CALL1(cx, out, "aten::rsub.Scalar", T(t), D(number), I(1));
  return BSM_OK;
}

/* t where target is (or is not) `label`, else 0 */
static bsm_status where_label(bsm_op_ctx *cx, bsm_tensor *target, int label,
                              bool is, bsm_tensor *t, bsm_tensor **out) {
  bsm_tensor *mask;
  OP_CALL1(cx, &mask, is ? "aten::eq.Scalar" : "aten::ne.Scalar", T(target),
           I(label));
  OP_CALL1(cx, out, "aten::where.ScalarOther", T(mask), T(t), I(0));
  return BSM_OK;
}

/* margin_ranking_loss(input1, input2, target, margin, reduction) */
static bsm_status op_margin_ranking(OP_PARAMS) {
  (void)self;
  bsm_tensor *a = op_tensor(&args[0]), *b = op_tensor(&args[1]),
             *target = op_tensor(&args[2]), *t;
  OP_CALL1(cx, &target, "aten::neg", T(target));
  BSM_TRY(bsm_op_add(cx, a, b, -1.0, &t));
  BSM_TRY(bsm_op_mul(cx, target, t, &t));
  OP_CALL1(cx, &t, "aten::add.Scalar", T(t), args[3], I(1));
  BSM_TRY(positive(cx, t, &t));
  BSM_TRY(op_reduce_loss(cx, t, op_int(&args[4]), &t));
  return op_return(outs, t);
}

/* hinge_embedding_loss(self, target, margin, reduction) */
static bsm_status op_hinge_embedding(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *target = op_tensor(&args[1]), *far,
             *near;
  BSM_TRY(from_number(cx, op_double(&args[2]), t, &far));
  BSM_TRY(positive(cx, far, &far));
  BSM_TRY(where_label(cx, target, 1, false, far, &far));
  BSM_TRY(where_label(cx, target, -1, false, t, &near));
  BSM_TRY(bsm_op_add(cx, far, near, 1.0, &t));
  BSM_TRY(op_reduce_loss(cx, t, op_int(&args[3]), &t));
  return op_return(outs, t);
}

static bsm_status sum_of_products(bsm_op_ctx *cx, bsm_tensor *a, bsm_tensor *b,
                                  int64_t dim, bsm_tensor **out) {
  bsm_ivalue dims;
  BSM_TRY(bsm_op_mul(cx, a, b, out));
  BSM_TRY(bsm_iv_int_list(cx->arena, &dim, 1, &dims));
  OP_CALL1(cx, out, "aten::sum.dim_IntList", T(*out), dims, B(false), NONE);
  return BSM_OK;
}

/* cosine_embedding_loss(input1, input2, target, margin, reduction) */
static bsm_status op_cosine_embedding(OP_PARAMS) {
  (void)self;
  bsm_tensor *a = op_tensor(&args[0]), *b = op_tensor(&args[1]),
             *target = op_tensor(&args[2]), *ab, *aa, *bb, *t, *other;
  const int dim = target->sizes.rank;
  if (dim > 1 || a->sizes.rank != dim + 1 || b->sizes.rank != dim + 1) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "0D or 1D target tensor expected, and inputs of one "
                    "dimension more; got %s, %s and target %s",
                    bsm_dims_str(a->sizes), bsm_dims_str(b->sizes),
                    bsm_dims_str(target->sizes));
  }
  const bsm_ivalue eps = D(1e-12);
  BSM_TRY(sum_of_products(cx, a, b, dim, &ab));
  BSM_TRY(sum_of_products(cx, a, a, dim, &aa));
  BSM_TRY(sum_of_products(cx, b, b, dim, &bb));
  OP_CALL1(cx, &aa, "aten::add.Scalar", T(aa), eps, I(1));
  OP_CALL1(cx, &bb, "aten::add.Scalar", T(bb), eps, I(1));
  BSM_TRY(bsm_op_mul(cx, aa, bb, &t));
  OP_CALL1(cx, &t, "aten::sqrt", T(t));
  OP_CALL1(cx, &t, "aten::div.Tensor", T(ab), T(t));
  OP_CALL1(cx, &other, "aten::sub.Scalar", T(t), args[3], I(1));
  BSM_TRY(positive(cx, other, &other));
  BSM_TRY(from_number(cx, 1.0, t, &t));
  BSM_TRY(where_label(cx, target, 1, true, t, &t));
  BSM_TRY(where_label(cx, target, -1, true, other, &other));
  BSM_TRY(bsm_op_add(cx, t, other, 1.0, &t));
  BSM_TRY(op_reduce_loss(cx, t, op_int(&args[4]), &t));
  return op_return(outs, t);
}

/* The p-norm of a - b + eps over the last dim. */
static bsm_status apart(bsm_op_ctx *cx, bsm_tensor *a, bsm_tensor *b,
                        const bsm_ivalue *p, const bsm_ivalue *eps,
                        bsm_tensor **out) {
  const int64_t last = -1;
  bsm_ivalue dims;
  BSM_TRY(bsm_iv_int_list(cx->arena, &last, 1, &dims));
  BSM_TRY(bsm_op_add(cx, a, b, -1.0, out));
  OP_CALL1(cx, out, "aten::add.Scalar", T(*out), *eps, I(1));
  OP_CALL1(cx, out, "aten::norm.ScalarOpt_dim", T(*out), *p, dims, B(false));
  return BSM_OK;
}

/* triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap,
 * reduction) */
static bsm_status op_triplet_margin(OP_PARAMS) {
  (void)self;
  bsm_tensor *a = op_tensor(&args[0]), *p = op_tensor(&args[1]),
             *n = op_tensor(&args[2]), *near, *far, *t;
  if (a->sizes.rank != p->sizes.rank || a->sizes.rank != n->sizes.rank) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "The anchor, positive, and negative tensors are expected "
                    "to have the same number of dimensions, but got: anchor "
                    "%dD, positive %dD, and negative %dD inputs",
                    (int)a->sizes.rank, (int)p->sizes.rank, (int)n->sizes.rank);
  }
  BSM_TRY(apart(cx, a, p, &args[4], &args[5], &near));
  BSM_TRY(apart(cx, a, n, &args[4], &args[5], &far));
  if (op_bool(&args[6])) {
    BSM_TRY(apart(cx, p, n, &args[4], &args[5], &t));
    OP_CALL1(cx, &far, "aten::minimum", T(far), T(t));
  }
  OP_CALL1(cx, &t, "aten::add.Scalar", T(near), args[3], I(1));
  BSM_TRY(bsm_op_add(cx, t, far, -1.0, &t));
  BSM_TRY(positive(cx, t, &t));
  BSM_TRY(op_reduce_loss(cx, t, op_int(&args[7]), &t));
  return op_return(outs, t);
}

/* poisson_nll_loss(input, target, log_input, full, eps, reduction) */
static bsm_status op_poisson_nll(OP_PARAMS) {
  (void)self;
  bsm_tensor *x = op_tensor(&args[0]), *target = op_tensor(&args[1]), *t, *u;
  if (op_bool(&args[2])) {
    OP_CALL1(cx, &t, "aten::exp", T(x));
    BSM_TRY(bsm_op_mul(cx, target, x, &u));
  } else {
    t = x;
    OP_CALL1(cx, &u, "aten::add.Scalar", T(x), args[4], I(1));
    OP_CALL1(cx, &u, "aten::log", T(u));
    BSM_TRY(bsm_op_mul(cx, target, u, &u));
  }
  BSM_TRY(bsm_op_add(cx, t, u, -1.0, &t));
  if (op_bool(&args[3])) {
    /* Stirling's n log n - n + log(2 pi n) / 2, for n > 1. */
    bsm_tensor *s, *mask;
    OP_CALL1(cx, &s, "aten::log", T(target));
    BSM_TRY(bsm_op_mul(cx, target, s, &s));
    BSM_TRY(bsm_op_add(cx, s, target, -1.0, &s));
    OP_CALL1(cx, &u, "aten::mul.Scalar", T(target), D(2.0 * M_PI));
    OP_CALL1(cx, &u, "aten::log", T(u));
    BSM_TRY(bsm_op_add(cx, s, u, 0.5, &s));
    OP_CALL1(cx, &mask, "aten::le.Scalar", T(target), I(1));
    OP_CALL1(cx, &s, "aten::masked_fill.Scalar", T(s), T(mask), I(0));
    BSM_TRY(bsm_op_add(cx, t, s, 1.0, &t));
  }
  BSM_TRY(op_reduce_loss(cx, t, op_int(&args[5]), &t));
  return op_return(outs, t);
}

/* ---- one row for each sample ---- */

/* [samples, classes]; a vector is one sample. */
static bsm_status rows_of(const bsm_tensor *t, int64_t *rows_, int64_t *width) {
  const int rank = t->sizes.rank;
  *rows_ = rank == 2 ? t->sizes.d[0] : 1;
  *width = rank == 0 ? 1 : t->sizes.d[rank - 1];
  if (rank <= 2 && *width > 0 && bsm_dtype_is_floating(t->dtype)) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "Expected non-empty vector or matrix with optional 0-dim "
                  "batch size, but got: %s",
                  bsm_dims_str(t->sizes));
}

/* The n losses, of that shape, reduced, into a new tensor. */
static bsm_status finish(bsm_op_ctx *cx, const bsm_tensor *t, bsm_dims shape,
                         double *loss, int64_t n, int64_t reduction,
                         bsm_tensor **out) {
  const bool none = reduction == 0;
  BSM_TRY(bsm_op_new(cx, t->dtype, none ? shape : (bsm_dims){0}, out));
  if (cx->meta) return BSM_OK;
  if (none) {
    bsm_op_store_all(*out, loss);
    return BSM_OK;
  }
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) sum += loss[i];
  if (reduction == 1) sum /= (double)n;
  bsm_op_store_all(*out, &sum);
  return BSM_OK;
}

/* multi_margin_loss(self, target, p, margin, weight, reduction) */
static bsm_status op_multi_margin(OP_PARAMS) {
  (void)self;
  bsm_tensor *t = op_tensor(&args[0]), *target = op_tensor(&args[1]),
             *weight = op_tensor(&args[4]), *out;
  const int64_t p = op_int(&args[2]);
  const double margin = op_double(&args[3]);
  int64_t n, width;
  BSM_TRY(rows_of(t, &n, &width));
  if ((p != 1 && p != 2) || bsm_tensor_numel(target) != n ||
      target->sizes.rank > 1 || target->dtype != BSM_DTYPE_INT64 ||
      (weight &&
       (bsm_tensor_numel(weight) != width || weight->dtype != t->dtype))) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "multi_margin_loss: p %lld, target %s for input %s, or a "
                    "weight that does not fit",
                    (long long)p, bsm_dims_str(target->sizes),
                    bsm_dims_str(t->sizes));
  }
  double *loss = BSM_NEW_ARRAY(cx->arena, double, (size_t)n + 1);
  BSM_TRY_ALLOC(loss);
  const double *x = cx->meta ? NULL : bsm_op_load_all(cx, t);
  for (int64_t i = 0; x && i < n; i++) {
    const int64_t c = bsm_tensor_get_int(target, i);
    if (c < 0 || c >= width) {
      return BSM_FAIL(BSM_OUT_OF_RANGE, "target out of range: %lld",
                      (long long)c);
    }
    for (int64_t k = 0; k < width; k++) {
      const double z = margin - x[i * width + c] + x[i * width + k];
      if (k == c || !(z > 0.0)) continue;
      loss[i] += (p == 1 ? z : z * z) *
                 (weight ? bsm_tensor_get_double(weight, c) : 1.0);
    }
    loss[i] /= (double)width;
  }
  if (!cx->meta) BSM_TRY_ALLOC(x);
  BSM_TRY(finish(cx, t, target->sizes, loss, n, op_int(&args[5]), &out));
  return op_return(outs, out);
}

/* multilabel_margin_loss(self, target, reduction); the variant: also which
 * classes are targets */
static bsm_status op_multilabel_margin(OP_PARAMS) {
  bsm_tensor *t = op_tensor(&args[0]), *target = op_tensor(&args[1]), *out,
             *is_target;
  int64_t n, width;
  BSM_TRY(rows_of(t, &n, &width));
  if (!bsm_dims_equal(t->sizes, target->sizes) ||
      target->dtype != BSM_DTYPE_INT64) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "inconsistent target size: %s for input of size: %s",
                    bsm_dims_str(target->sizes), bsm_dims_str(t->sizes));
  }
  BSM_TRY(bsm_op_new(cx, t->dtype, target->sizes, &is_target));
  BSM_TRY(bsm_op_charge(cx, n, width, width));
  double *loss = BSM_NEW_ARRAY(cx->arena, double, (size_t)n + 1);
  double *marks = cx->meta ? loss : bsm_op_load_all(cx, is_target);
  const double *x = cx->meta ? loss : bsm_op_load_all(cx, t);
  BSM_TRY_ALLOC(loss);
  BSM_TRY_ALLOC(marks);
  BSM_TRY_ALLOC(x);
  for (int64_t i = 0; i < n * width && !cx->meta; i++) {
    const int64_t c = bsm_tensor_get_int(target, i);
    if (c < -1 || c >= width) {
      return BSM_FAIL(BSM_OUT_OF_RANGE, "target %lld is out of range",
                      (long long)c);
    }
  }
  for (int64_t i = 0; i < n && !cx->meta; i++) {
    const double *row = x + i * width;
    double *mark = marks + i * width;
    int64_t labels = 0; /* until the first -1 */
    while (labels < width) {
      const int64_t c = bsm_tensor_get_int(target, i * width + labels);
      if (c < 0) break;
      mark[c] = 1.0;
      labels++;
    }
    for (int64_t j = 0; j < labels; j++) {
      const int64_t c = bsm_tensor_get_int(target, i * width + j);
      for (int64_t k = 0; k < width; k++) {
        const double z = 1.0 - row[c] + row[k];
        if (mark[k] == 0.0 && z > 0.0) loss[i] += z;
      }
    }
    loss[i] /= (double)width;
  }
  BSM_TRY(finish(cx, t, t->sizes.rank == 2 ? op_dims1(n) : (bsm_dims){0}, loss,
                 n, op_int(&args[2]), &out));
  outs[0] = bsm_iv_tensor(out);
  if (!self->variant) return BSM_OK;
  if (!cx->meta) bsm_op_store_all(is_target, marks);
  outs[1] = bsm_iv_tensor(is_target);
  return BSM_OK;
}

/* ---- CTC ---- */

static double log_add(double a, double b) {
  const double high = a > b ? a : b, low = a > b ? b : a;
  return high == -INFINITY ? high : high + log1p(exp(low - high));
}

typedef struct ctc {
  int64_t time, batch, classes, blank, longest; /* of the targets */
  const double *logs;                           /* [time, batch, classes] */
  int64_t *input_lengths, *target_lengths, *starts;
  const bsm_tensor *targets;
  bool flat; /* the targets are one vector, one after the other */
} ctc;

static bsm_status read_lengths(bsm_op_ctx *cx, const bsm_ivalue *a, int64_t n,
                               int64_t **out) {
  const bsm_tensor *t = op_tensor(a);
  const int64_t count = t ? bsm_tensor_numel(t) : (int64_t)op_list_len(a);
  if (count != n || (t && !bsm_dtype_is_integral(t->dtype, false))) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "input_lengths and target_lengths must be integers, one "
                    "for each of the batch of %lld; got %lld",
                    (long long)n, (long long)count);
  }
  *out = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)n + 1);
  BSM_TRY_ALLOC(*out);
  for (int64_t i = 0; i < n; i++) {
    (*out)[i] = t ? bsm_tensor_get_int(t, i) : op_list_int(a, (size_t)i);
  }
  return BSM_OK;
}

/* Symbol s of sample b: blanks between the labels. */
static int64_t ctc_symbol(const ctc *c, int64_t b, int64_t s) {
  if (s % 2 == 0) return c->blank;
  return bsm_tensor_get_int(c->targets, c->starts[b] + s / 2);
}

/* The forward variables of sample b; returns -log of the likelihood. */
static double ctc_forward(const ctc *c, int64_t b, double *alpha) {
  const int64_t states = 2 * c->target_lengths[b] + 1;
  const int64_t width = 2 * c->longest + 1, time = c->input_lengths[b];
  if (time == 0) return c->target_lengths[b] == 0 ? 0.0 : INFINITY;
  for (int64_t t = 0; t < time; t++) {
    const double *logs = c->logs + (t * c->batch + b) * c->classes;
    const double *last = alpha + (t - 1) * width;
    for (int64_t s = 0; s < states; s++) {
      const int64_t symbol = ctc_symbol(c, b, s);
      double sum = t == 0 && s < 2 ? 0.0 : -INFINITY;
      if (t > 0) {
        sum = last[s];
        if (s > 0) sum = log_add(sum, last[s - 1]);
        if (s > 1 && s % 2 == 1 && ctc_symbol(c, b, s - 2) != symbol) {
          sum = log_add(sum, last[s - 2]);
        }
      }
      alpha[t * width + s] = sum + logs[symbol];
    }
  }
  const double *end = alpha + (time - 1) * width;
  double sum = end[states - 1];
  if (states > 1) sum = log_add(sum, end[states - 2]);
  return -sum;
}

static bsm_status read_ctc(bsm_op_ctx *cx, const bsm_ivalue *args, ctc *c,
                           bsm_tensor **logs) {
  bsm_tensor *t = op_tensor(&args[0]);
  const bool one = t->sizes.rank == 2; /* without a batch dim */
  if (one) BSM_TRY(bsm_op_unsqueeze(cx, t, 1, &t));
  c->targets = op_tensor(&args[1]);
  if (t->sizes.rank != 3 || !bsm_dtype_is_floating(t->dtype) ||
      (c->targets->dtype != BSM_DTYPE_INT64 &&
       c->targets->dtype != BSM_DTYPE_INT32) ||
      c->targets->sizes.rank > 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "ctc_loss of %s with targets %s",
                    bsm_dims_str(t->sizes), bsm_dims_str(c->targets->sizes));
  }
  *logs = t;
  c->time = t->sizes.d[0];
  c->batch = t->sizes.d[1];
  c->classes = t->sizes.d[2];
  c->blank = op_int(&args[4]);
  c->flat = c->targets->sizes.rank != 2;
  if (c->blank < 0 || c->blank >= c->classes) {
    return BSM_FAIL(BSM_OUT_OF_RANGE, "blank must be in label range");
  }
  if (cx->meta && (op_tensor(&args[2]) || op_tensor(&args[3]))) return BSM_OK;
  BSM_TRY(read_lengths(cx, &args[2], c->batch, &c->input_lengths));
  BSM_TRY(read_lengths(cx, &args[3], c->batch, &c->target_lengths));
  c->starts = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)c->batch + 1);
  BSM_TRY_ALLOC(c->starts);
  const int64_t count = bsm_tensor_numel(c->targets);
  int64_t at = 0;
  for (int64_t b = 0; b < c->batch; b++) {
    const int64_t n = c->target_lengths[b], m = c->input_lengths[b];
    c->starts[b] = c->flat ? at : b * c->targets->sizes.d[1];
    if (n < 0 || m < 0 || m > c->time || n > count - c->starts[b] ||
        (!c->flat && n > c->targets->sizes.d[1])) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "Expected input_lengths to have value at most %lld and "
                      "target lengths within the targets, got %lld and %lld",
                      (long long)c->time, (long long)m, (long long)n);
    }
    if (n > c->longest) c->longest = n;
    at += n;
  }
  if (!c->flat && c->targets->sizes.d[0] != c->batch) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "one row of targets for each sample");
  }
  if (c->flat && at != count) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected tensor to have size %lld at dimension 0",
                    (long long)at);
  }
  return BSM_OK;
}

/* loss[b]; *alphas when not NULL: [batch, time, 2 longest + 1] */
static bsm_status run_ctc(bsm_op_ctx *cx, ctc *c, bsm_tensor *logs,
                          double *loss, double *alphas) {
  const int64_t area = c->time * (2 * c->longest + 1);
  double *alpha = alphas;
  BSM_TRY(bsm_op_charge(cx, area, c->batch, 32));
  c->logs = bsm_op_load_all(cx, logs);
  BSM_TRY_ALLOC(c->logs);
  for (int64_t i = 0; i < bsm_tensor_numel(c->targets); i++) {
    const int64_t v = bsm_tensor_get_int(c->targets, i);
    if (c->flat && (v < 0 || v >= c->classes)) {
      return BSM_FAIL(BSM_OUT_OF_RANGE, "target %lld is out of range",
                      (long long)v);
    }
  }
  if (!alphas) {
    alpha = BSM_NEW_ARRAY(cx->arena, double, (size_t)area + 1);
    BSM_TRY_ALLOC(alpha);
  }
  for (int64_t b = 0; b < c->batch; b++) {
    for (int64_t s = 1; s < 2 * c->target_lengths[b] + 1; s += 2) {
      const int64_t v = ctc_symbol(c, b, s);
      if (v < 0 || v >= c->classes) {
        return BSM_FAIL(BSM_OUT_OF_RANGE, "target %lld is out of range",
                        (long long)v);
      }
    }
    double *mine = alphas ? alpha + b * area : alpha;
    for (int64_t i = 0; i < area; i++) mine[i] = -INFINITY;
    loss[b] = ctc_forward(c, b, mine);
  }
  return BSM_OK;
}

/* _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank,
 * zero_infinity): also the forward variables */
static bsm_status op_ctc_forward(OP_PARAMS) {
  (void)self;
  bsm_tensor *logs, *out, *alpha;
  ctc c = {0};
  BSM_TRY(read_ctc(cx, args, &c, &logs));
  if (!c.target_lengths) {
    return BSM_FAIL(BSM_DATA_DEPENDENT, "the lengths are not known");
  }
  const bool one = op_tensor(&args[0])->sizes.rank == 2;
  BSM_TRY(bsm_op_new(cx, logs->dtype, one ? (bsm_dims){0} : op_dims1(c.batch),
                     &out));
  bsm_dims dims = op_dims3(c.batch, c.time, 2 * c.longest + 1);
  if (one) dims = op_dims2(c.time, 2 * c.longest + 1);
  BSM_TRY(bsm_op_new(cx, logs->dtype, dims, &alpha));
  outs[0] = bsm_iv_tensor(out);
  outs[1] = bsm_iv_tensor(alpha);
  if (cx->meta) return BSM_OK;
  double *loss = bsm_op_load_all(cx, out), *all = bsm_op_load_all(cx, alpha);
  BSM_TRY_ALLOC(loss);
  BSM_TRY_ALLOC(all);
  BSM_TRY(run_ctc(cx, &c, logs, loss, all));
  bsm_op_store_all(out, loss);
  bsm_op_store_all(alpha, all);
  return BSM_OK;
}

/* ctc_loss(log_probs, targets, input_lengths, target_lengths, blank,
 * reduction, zero_infinity) */
static bsm_status op_ctc_loss(OP_PARAMS) {
  (void)self;
  bsm_tensor *logs, *out;
  ctc c = {0};
  const int64_t how = op_int(&args[5]);
  BSM_TRY(read_ctc(cx, args, &c, &logs));
  const bool one = op_tensor(&args[0])->sizes.rank == 2;
  const bsm_dims dims = how == 0 && !one ? op_dims1(c.batch) : (bsm_dims){0};
  BSM_TRY(bsm_op_new(cx, logs->dtype, dims, &out));
  outs[0] = bsm_iv_tensor(out);
  if (cx->meta) return BSM_OK;
  double *loss = BSM_NEW_ARRAY(cx->arena, double, (size_t)c.batch + 1);
  BSM_TRY_ALLOC(loss);
  BSM_TRY(run_ctc(cx, &c, logs, loss, NULL));
  double sum = 0.0;
  for (int64_t b = 0; b < c.batch; b++) {
    if (op_bool(&args[6]) && isinf(loss[b]) && loss[b] > 0.0) loss[b] = 0.0;
    const int64_t n = c.target_lengths[b] > 1 ? c.target_lengths[b] : 1;
    sum += how == 1 ? loss[b] / (double)n : loss[b];
  }
  if (how == 1) sum /= (double)c.batch;
  bsm_op_store_all(out, how == 0 ? loss : &sum);
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor "
       "target, float margin=0., int reduction=1) -> Tensor",
       op_margin_ranking, 0, 0),
    OP("aten::hinge_embedding_loss(Tensor self, Tensor target, float "
       "margin=1., int reduction=1) -> Tensor",
       op_hinge_embedding, 0, 0),
    OP("aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor "
       "target, float margin=0., int reduction=1) -> Tensor",
       op_cosine_embedding, 0, 0),
    OP("aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor "
       "negative, float margin=1., float p=2., float "
       "eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> "
       "Tensor",
       op_triplet_margin, 0, 0),
    OP("aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, "
       "bool full, float eps, int reduction) -> Tensor",
       op_poisson_nll, 0, 0),
    OP("aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, "
       "Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor",
       op_multi_margin, 0, 0),
    OP("aten::multilabel_margin_loss(Tensor self, Tensor target, int "
       "reduction=1) -> Tensor",
       op_multilabel_margin, 0, 0),
    OP("aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int "
       "reduction) -> (Tensor output, Tensor is_target)",
       op_multilabel_margin, 1, 0),
    OP("aten::_ctc_loss(Tensor log_probs, Tensor targets, int[] "
       "input_lengths, int[] target_lengths, int blank=0, bool "
       "zero_infinity=False) -> (Tensor, Tensor)",
       op_ctc_forward, 0, 0),
    OP("aten::_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor "
       "input_lengths, Tensor target_lengths, int blank=0, bool "
       "zero_infinity=False) -> (Tensor, Tensor)",
       op_ctc_forward, 0, 0),
    OP("aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] "
       "input_lengths, int[] target_lengths, int blank=0, int reduction=1, "
       "bool zero_infinity=False) -> Tensor",
       op_ctc_loss, 0, 0),
    OP("aten::ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor "
       "input_lengths, Tensor target_lengths, int blank=0, int reduction=1, "
       "bool zero_infinity=False) -> Tensor",
       op_ctc_loss, 0, 0),
};
BSM_ATEN_TABLE_CALLING(loss_margin, rows, &bsm_aten_ops_binary,
                       &bsm_aten_ops_index, &bsm_aten_ops_reduce,
                       &bsm_aten_ops_unary);
