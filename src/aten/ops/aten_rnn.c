/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent networks: LSTM, GRU, and plain RNN; padded and packed sequences,
 * and cells.
 *
 * All steps compute in double; states are rounded to their dtype after each
 * one, as PyTorch stores them. Packed sequences hold, for each step, the rows
 * of the samples that are that long, the longest first; a padded one is the
 * same with all samples in every step. */
#include "aten/packed/aten_rnn.h"
#include "aten/op_kit.h"

typedef enum cell_kind { CELL_LSTM, CELL_GRU, CELL_TANH, CELL_RELU } cell_kind;

/* One direction of one level. */
typedef struct cell {
  cell_kind kind;
  bsm_dtype dtype;
  int64_t in, hidden, state, gates; /* state: hidden, or the projection */
  const double *w_ih, *w_hh, *b_ih, *b_hh, *w_hr; /* may be NULL: b, w_hr */
} cell;

static int64_t gate_count(cell_kind kind) {
  return kind == CELL_LSTM ? 4 : kind == CELL_GRU ? 3 : 1;
}

static double sigmoid(double x) {
  return 1.0 / (1.0 + exp(-x));
}

/* out[g] = b[g] + w[g] . x; four rows at a time, which do not wait for each
 * other's additions. */
static void affine(const double *w, const double *b, const double *x,
                   int64_t rows, int64_t n, double *out) {
  int64_t g = 0;
  for (; g + 4 <= rows; g += 4) {
    const double *w0 = w + g * n, *w1 = w0 + n, *w2 = w1 + n, *w3 = w2 + n;
    double s0 = b ? b[g] : 0.0, s1 = b ? b[g + 1] : 0.0;
    double s2 = b ? b[g + 2] : 0.0, s3 = b ? b[g + 3] : 0.0;
    for (int64_t i = 0; i < n; i++) {
      s0 += w0[i] * x[i];
      s1 += w1[i] * x[i];
      s2 += w2[i] * x[i];
      s3 += w3[i] * x[i];
    }
    out[g] = s0;
    out[g + 1] = s1;
    out[g + 2] = s2;
    out[g + 3] = s3;
  }
  for (; g < rows; g++) {
    double s = b ? b[g] : 0.0;
    for (int64_t i = 0; i < n; i++) s += w[g * n + i] * x[i];
    out[g] = s;
  }
}

/* Doubles that step needs besides. */
static size_t work_size(const cell *l) {
  return (size_t)(2 * l->gates + l->hidden) + 1;
}

/* One step of one sample: h (and c) in, h (and c) out. */
static void step(const cell *l, const double *x, double *h, double *c,
                 double *work) {
  const int64_t n = l->hidden;
  double *a = work, *b = a + l->gates, *out = l->w_hr ? b + l->gates : h;
  affine(l->w_ih, l->b_ih, x, l->gates, l->in, a);
  affine(l->w_hh, l->b_hh, h, l->gates, l->state, b);
  for (int64_t i = 0; i < n; i++) {
    if (l->kind == CELL_LSTM) {
      const double in = sigmoid(a[i] + b[i]);
      const double forget = sigmoid(a[n + i] + b[n + i]);
      const double value = tanh(a[2 * n + i] + b[2 * n + i]);
      const double gate = sigmoid(a[3 * n + i] + b[3 * n + i]);
      c[i] = forget * c[i] + in * value;
      out[i] = gate * tanh(c[i]);
    } else if (l->kind == CELL_GRU) {
      const double reset = sigmoid(a[i] + b[i]);
      const double update = sigmoid(a[n + i] + b[n + i]);
      const double value = tanh(a[2 * n + i] + reset * b[2 * n + i]);
      h[i] = value + update * (h[i] - value);
    } else {
      const double s = a[i] + b[i];
      h[i] = l->kind == CELL_TANH ? tanh(s) : s > 0.0 || isnan(s) ? s : 0.0;
    }
  }
  if (l->w_hr) affine(l->w_hr, NULL, out, l->state, n, h);
  bsm_round_f64(l->dtype, (size_t)l->state, h);
  if (c) bsm_round_f64(l->dtype, (size_t)n, c);
}

/* ---- parameters ---- */

/* The matrix product x w^T, as PyTorch checks it. */
static bsm_status check_product(bsm_dtype dtype, int64_t rows, int64_t n,
                                const bsm_tensor *w) {
  if (w->dtype != dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "mat1 and mat2 must have the same dtype, but got %s and %s",
                    bsm_op_type_name(dtype), bsm_op_type_name(w->dtype));
  }
  if (w->sizes.rank != 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "rnn: expected weights of 2 dimensions, got %s",
                    bsm_dims_str(w->sizes));
  }
  if (w->sizes.d[1] != n) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and "
                    "%lldx%lld)",
                    (long long)rows, (long long)n, (long long)w->sizes.d[1],
                    (long long)w->sizes.d[0]);
  }
  return BSM_OK;
}

static bsm_status check_bias(bsm_dtype dtype, const bsm_tensor *b,
                             int64_t gates) {
  if (!b) return BSM_OK;
  if (b->dtype != dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected m1 and m2 to have the same dtype, but got: %s "
                    "!= %s",
                    bsm_op_type_name(dtype), bsm_op_type_name(b->dtype));
  }
  if (b->sizes.rank != 1 || b->sizes.d[0] != gates) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "rnn: a bias should have shape [%lld], got %s",
                    (long long)gates, bsm_dims_str(b->sizes));
  }
  return BSM_OK;
}

static bsm_status load(bsm_op_ctx *cx, const bsm_tensor *t,
                       const double **out) {
  *out = NULL;
  if (!t || cx->meta) return BSM_OK;
  *out = bsm_op_load_all(cx, t);
  BSM_TRY_ALLOC(*out);
  return BSM_OK;
}

/* The parameters of a direction; absent ones are NULL. */
typedef struct cell_params {
  const bsm_tensor *w_ih, *w_hh, *b_ih, *b_hh, *w_hr;
} cell_params;

/* Checks and loads. l: kind, dtype, in, hidden and state are set; `x_rows` and
 * `h_rows` are for messages. */
static bsm_status load_cell(bsm_op_ctx *cx, const cell_params *p,
                            int64_t x_rows, int64_t h_rows, cell *l) {
  l->gates = gate_count(l->kind) * l->hidden;
  BSM_TRY(check_product(l->dtype, x_rows, l->in, p->w_ih));
  BSM_TRY(check_product(l->dtype, h_rows, l->state, p->w_hh));
  if (p->w_ih->sizes.d[0] != l->gates || p->w_hh->sizes.d[0] != l->gates) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "rnn: weights of %lld and %lld rows for %lld gates",
                    (long long)p->w_ih->sizes.d[0],
                    (long long)p->w_hh->sizes.d[0], (long long)l->gates);
  }
  BSM_TRY(check_bias(l->dtype, p->b_ih, l->gates));
  BSM_TRY(check_bias(l->dtype, p->b_hh, l->gates));
  if (p->w_hr) {
    BSM_TRY(check_product(l->dtype, h_rows, l->hidden, p->w_hr));
    if (p->w_hr->sizes.d[0] != l->state) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "rnn: a projection to %lld for a state of %lld",
                      (long long)p->w_hr->sizes.d[0], (long long)l->state);
    }
  }
  BSM_TRY(bsm_op_charge(cx, x_rows, l->gates + l->state,
                        l->in + l->state + l->hidden));
  BSM_TRY(load(cx, p->w_ih, &l->w_ih));
  BSM_TRY(load(cx, p->w_hh, &l->w_hh));
  BSM_TRY(load(cx, p->b_ih, &l->b_ih));
  BSM_TRY(load(cx, p->b_hh, &l->b_hh));
  return load(cx, p->w_hr, &l->w_hr);
}

/* ---- sequences ---- */

/* Samples in each step: `sizes`, or `batch` in all of them. */
typedef struct steps {
  int64_t length, batch, rows; /* rows: in all steps */
  const int64_t *sizes;        /* NULL for padded sequences */
} steps;

typedef struct rnn {
  cell_kind kind;
  bsm_tensor *input; /* [.., in], rows of all steps */
  bsm_tensor *h0, *c0;
  bsm_tensor **params;
  size_t param_count;
  bool biases, bidirectional, projects;
  int64_t levels, directions, stride; /* stride: params of a direction */
  steps steps;
} rnn;

/* The rows [rows, in] through one direction of a level, into out[rows, width]
 * at column `column`. */
static void run_direction(const cell *l, const steps *s, const double *x,
                          bool reverse, double *h, double *c, double *work,
                          double *out, int64_t width, int64_t column) {
  int64_t at = reverse ? s->rows : 0;
  for (int64_t i = 0; i < s->length; i++) {
    const int64_t t = reverse ? s->length - 1 - i : i;
    const int64_t size = s->sizes ? s->sizes[t] : s->batch;
    if (reverse) at -= size;
    for (int64_t b = 0; b < size; b++) {
      step(l, x + (at + b) * l->in, h + b * l->state,
           c ? c + b * l->hidden : NULL, work);
      memcpy(out + (at + b) * width + column, h + b * l->state,
             (size_t)l->state * sizeof(*h));
    }
    if (!reverse) at += size;
  }
}

static bsm_status check_states(const rnn *r) {
  const int64_t want = r->levels * r->directions;
  const bsm_dims h = r->h0->sizes;
  if (h.rank != 3 || (r->c0 && r->c0->sizes.rank != 3)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "rnn: expected hidden states of 3 dimensions, got %s",
                    bsm_dims_str(h));
  }
  if (h.d[0] != want || (r->c0 && r->c0->sizes.d[0] != want)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected more hidden states in stacked_rnn");
  }
  if (h.d[1] != r->steps.batch ||
      (r->c0 && r->c0->sizes.d[1] != r->steps.batch)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "The size of tensor a (%lld) must match the size of tensor "
                    "b (%lld) at non-singleton dimension 0",
                    (long long)h.d[1], (long long)r->steps.batch);
  }
  if (r->h0->dtype != r->input->dtype ||
      (r->c0 && r->c0->dtype != r->input->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "mat1 and mat2 must have the same dtype, but got %s and %s",
                    bsm_op_type_name(r->h0->dtype),
                    bsm_op_type_name(r->input->dtype));
  }
  return BSM_OK;
}

static bsm_status check_rnn(rnn *r) {
  if (!bsm_dtype_is_floating(r->input->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "rnn: not implemented for '%s'",
                    bsm_op_type_name(r->input->dtype));
  }
  if (r->levels < 1 || r->levels > 100000) {
    return BSM_FAIL(r->levels < 1 ? BSM_INVALID_ARGUMENT : BSM_LIMIT,
                    "rnn: %lld layers", (long long)r->levels);
  }
  r->directions = r->bidirectional ? 2 : 1;
  const int32_t last = r->h0->sizes.rank - 1;
  r->projects = r->c0 && last >= 0 && r->c0->sizes.rank == last + 1 &&
                r->h0->sizes.d[last] != r->c0->sizes.d[last];
  r->stride = (r->biases ? 4 : 2) + (r->projects ? 1 : 0);
  if (r->param_count % (size_t)r->stride != 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "got an incorrect number of RNN parameters");
  }
  if (r->param_count != (size_t)(r->levels * r->directions * r->stride)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected more weights in stacked_rnn");
  }
  return check_states(r);
}

static cell_params params_of(const rnn *r, int64_t index) {
  bsm_tensor *const *p = r->params + index * r->stride;
  return (cell_params){p[0], p[1], r->biases ? p[2] : NULL,
                       r->biases ? p[3] : NULL,
                       r->projects ? p[r->stride - 1] : NULL};
}

/* The states of all levels as they change, and the rows of the level at work.
 */
typedef struct progress {
  double *h, *c;
  const double *x;
  int64_t in;
} progress;

/* Runs level `level`; p->x and p->in become those of the next one. */
static bsm_status run_level(bsm_op_ctx *cx, const rnn *r, int64_t level,
                            progress *p) {
  const int32_t rank = r->h0->sizes.rank;
  cell l = {.kind = r->kind,
            .dtype = r->input->dtype,
            .in = p->in,
            .state = r->h0->sizes.d[rank - 1],
            .hidden = (r->c0 ? r->c0 : r->h0)->sizes.d[rank - 1]};
  const int64_t width = r->directions * l.state, batch = r->steps.batch;
  double *y = NULL, *work;
  if (!cx->meta) {
    y = BSM_NEW_ARRAY(cx->arena, double, (size_t)(r->steps.rows * width) + 1);
    BSM_TRY_ALLOC(y);
  }
  for (int64_t d = 0; d < r->directions; d++) {
    const int64_t index = level * r->directions + d;
    const cell_params params = params_of(r, index);
    BSM_TRY(load_cell(cx, &params, r->steps.rows, batch, &l));
    if (cx->meta) continue;
    work = BSM_NEW_ARRAY(cx->arena, double, work_size(&l));
    BSM_TRY_ALLOC(work);
    run_direction(&l, &r->steps, p->x, d == 1, p->h + index * batch * l.state,
                  p->c ? p->c + index * batch * l.hidden : NULL, work, y, width,
                  d * l.state);
  }
  p->x = y;
  p->in = width;
  return BSM_OK;
}

/* All levels; hn and cn as h0 and c0. */
static bsm_status run_rnn(bsm_op_ctx *cx, const rnn *r, bsm_tensor *out,
                          bsm_tensor *hn, bsm_tensor *cn) {
  progress p = {.in = r->input->sizes.d[r->input->sizes.rank - 1]};
  if (!cx->meta) {
    p.x = bsm_op_load_all(cx, r->input);
    BSM_TRY_ALLOC(p.x);
    p.h = bsm_op_load_all(cx, r->h0);
    BSM_TRY_ALLOC(p.h);
    if (r->c0) {
      p.c = bsm_op_load_all(cx, r->c0);
      BSM_TRY_ALLOC(p.c);
    }
  }
  for (int64_t level = 0; level < r->levels; level++) {
    BSM_TRY(run_level(cx, r, level, &p));
  }
  if (cx->meta) return BSM_OK;
  bsm_op_store_all(out, p.x);
  bsm_op_store_all(hn, p.h);
  if (cn) bsm_op_store_all(cn, p.c);
  return BSM_OK;
}

/* hx, params, has_biases, num_layers, dropout, train, bidirectional: the same
 * in all forms, from args[0] on. */
static bsm_status read_rnn(bsm_op_ctx *cx, const bsm_ivalue *args, rnn *r) {
  enum { HX, PARAMS, HAS_BIASES, NUM_LAYERS, DROPOUT, TRAIN, BIDIRECTIONAL };
  r->biases = op_bool(&args[HAS_BIASES]);
  r->levels = op_int(&args[NUM_LAYERS]);
  r->bidirectional = op_bool(&args[BIDIRECTIONAL]);
  if (op_double(&args[DROPOUT]) != 0.0 && op_bool(&args[TRAIN]) &&
      r->levels > 1) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a recurrent network with dropout in training mode draws "
                    "random numbers: call .eval() on the model before saving "
                    "it");
  }
  if (r->kind == CELL_LSTM) {
    if (op_list_len(&args[HX]) != 2) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "lstm expects two hidden states");
    }
    r->h0 = op_list_tensor(&args[HX], 0);
    r->c0 = op_list_tensor(&args[HX], 1);
  } else {
    r->h0 = op_tensor(&args[HX]);
  }
  return bsm_op_tensors(cx, &args[PARAMS], &r->params, &r->param_count);
}

/* Makes the outputs, `out` with the given leading sizes, and runs. */
static bsm_status finish_rnn(bsm_op_ctx *cx, rnn *r, bsm_ivalue *outs) {
  bsm_tensor *out, *hn, *cn = NULL;
  BSM_TRY(check_rnn(r));
  bsm_dims dims = r->input->sizes;
  dims.d[dims.rank - 1] = r->directions * r->h0->sizes.d[2];
  BSM_TRY(bsm_op_new(cx, r->input->dtype, dims, &out));
  BSM_TRY(bsm_op_new(cx, r->input->dtype, r->h0->sizes, &hn));
  if (r->c0) BSM_TRY(bsm_op_new(cx, r->input->dtype, r->c0->sizes, &cn));
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  BSM_TRY(run_rnn(cx, r, out, hn, cn));
  bsm_arena_rewind(cx->arena, mark);
  outs[0] = bsm_iv_tensor(out);
  outs[1] = bsm_iv_tensor(hn);
  if (cn) outs[2] = bsm_iv_tensor(cn);
  return BSM_OK;
}

static bsm_status dim_out_of_range(int32_t rank, int dim) {
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "Dimension out of range (expected to be in range of [%d, "
                  "%d], but got %d)",
                  -rank, rank - 1, dim);
}

/* lstm.input(input, hx, params, has_biases, num_layers, dropout, train,
 * bidirectional, batch_first) and the others */
static bsm_status op_rnn(OP_PARAMS) {
  rnn r = {.kind = (cell_kind)self->variant, .input = op_tensor(&args[0])};
  const bool batch_first = op_bool(&args[8]);
  BSM_TRY(read_rnn(cx, args + 1, &r));
  if (r.input->sizes.rank < 3) {
    return dim_out_of_range(r.input->sizes.rank, 2);
  }
  if (r.input->sizes.rank > 3) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "rnn: expected 3-D input, got %s",
                    bsm_dims_str(r.input->sizes));
  }
  if (batch_first) BSM_TRY(bsm_op_transpose(cx, r.input, 0, 1, &r.input));
  const int64_t length = r.input->sizes.d[0], batch = r.input->sizes.d[1];
  if (length == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Expected sequence length to be larger than 0 in RNN");
  }
  r.steps = (steps){.length = length, .batch = batch, .rows = length * batch};
  BSM_TRY(finish_rnn(cx, &r, outs));
  if (!batch_first) return BSM_OK;
  bsm_tensor *out;
  BSM_TRY(bsm_op_transpose(cx, outs[0].u.tensor, 0, 1, &out));
  outs[0] = bsm_iv_tensor(out);
  return BSM_OK;
}

/* The sizes of the steps, which must not grow and make up all rows. */
static bsm_status read_sizes(bsm_op_ctx *cx, const bsm_tensor *sizes,
                             const bsm_tensor *data, steps *s) {
  if (sizes->dtype != BSM_DTYPE_INT64) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "expected scalar type Long but found %s",
                    bsm_op_type_name(sizes->dtype));
  }
  if (sizes->sizes.rank != 1 || sizes->sizes.d[0] == 0) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "rnn: batch sizes of shape %s",
                    bsm_dims_str(sizes->sizes));
  }
  s->length = sizes->sizes.d[0];
  s->rows = data->sizes.d[0];
  if (cx->meta) return BSM_OK;
  int64_t *values = BSM_NEW_ARRAY(cx->arena, int64_t, (size_t)s->length);
  BSM_TRY_ALLOC(values);
  int64_t sum = 0;
  for (int64_t i = 0; i < s->length; i++) {
    values[i] = bsm_tensor_get_int(sizes, i);
    if (values[i] < 1 || values[i] > s->rows - sum ||
        (i > 0 && values[i] > values[i - 1])) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "rnn: batch size %lld of step %lld, after %lld of %lld "
                      "rows",
                      (long long)values[i], (long long)i, (long long)sum,
                      (long long)s->rows);
    }
    sum += values[i];
  }
  if (sum != s->rows) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "rnn: batch sizes of %lld rows for data of %lld rows",
                    (long long)sum, (long long)s->rows);
  }
  s->sizes = values;
  s->batch = values[0];
  return BSM_OK;
}

/* lstm.data(data, batch_sizes, hx, params, ...): shapes do not depend on the
 * sizes. */
static bsm_status op_rnn_data(OP_PARAMS) {
  rnn r = {.kind = (cell_kind)self->variant, .input = op_tensor(&args[0])};
  BSM_TRY(read_rnn(cx, args + 2, &r));
  if (r.input->sizes.rank != 2) return dim_out_of_range(r.input->sizes.rank, 1);
  BSM_TRY(read_sizes(cx, op_tensor(&args[1]), r.input, &r.steps));
  if (cx->meta && r.h0->sizes.rank == 3) r.steps.batch = r.h0->sizes.d[1];
  return finish_rnn(cx, &r, outs);
}

/* ---- cells ---- */

static bsm_status check_cell(const bsm_tensor *x, const bsm_tensor *h,
                             const cell_params *p, int which) {
  const int64_t hidden = p->w_hh->sizes.d[1];
  if (x->sizes.rank < 2) return dim_out_of_range(x->sizes.rank, 1);
  if (x->sizes.d[1] != p->w_ih->sizes.d[1]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "input has inconsistent input_size: got %lld expected %lld",
                    (long long)x->sizes.d[1], (long long)p->w_ih->sizes.d[1]);
  }
  if (h->sizes.rank < 2) return dim_out_of_range(h->sizes.rank, 1);
  if (x->sizes.d[0] != h->sizes.d[0]) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "Input batch size %lld doesn't match hidden%d batch size "
                    "%lld",
                    (long long)x->sizes.d[0], which, (long long)h->sizes.d[0]);
  }
  if (h->sizes.d[1] != hidden) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "hidden%d has inconsistent hidden_size: got %lld, expected "
                    "%lld",
                    which, (long long)h->sizes.d[1], (long long)hidden);
  }
  if (x->sizes.rank != 2 || h->sizes.rank != 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "rnn cell: expected 2 dimensions, got %s and %s",
                    bsm_dims_str(x->sizes), bsm_dims_str(h->sizes));
  }
  if (h->dtype != x->dtype) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "mat1 and mat2 must have the same dtype, but got %s and %s",
                    bsm_op_type_name(h->dtype), bsm_op_type_name(x->dtype));
  }
  return BSM_OK;
}

/* All samples of a cell: out[0] and out[1] from x, h, c. */
static bsm_status run_cell(bsm_op_ctx *cx, const cell *l, const bsm_tensor *x,
                           const bsm_tensor *h, const bsm_tensor *c,
                           bsm_tensor *const *out) {
  const double *xs = bsm_op_load_all(cx, x);
  double *hs = bsm_op_load_all(cx, h), *cs = NULL;
  double *work = BSM_NEW_ARRAY(cx->arena, double, work_size(l));
  BSM_TRY_ALLOC(xs);
  BSM_TRY_ALLOC(hs);
  BSM_TRY_ALLOC(work);
  if (c) {
    cs = bsm_op_load_all(cx, c);
    BSM_TRY_ALLOC(cs);
  }
  for (int64_t b = 0; b < x->sizes.d[0]; b++) {
    step(l, xs + b * l->in, hs + b * l->hidden, cs ? cs + b * l->hidden : NULL,
         work);
  }
  bsm_op_store_all(out[0], hs);
  if (cs) bsm_op_store_all(out[1], cs);
  return BSM_OK;
}

/* lstm_cell(input, hx, w_ih, w_hh, b_ih, b_hh) -> (h, c); gru_cell -> h */
static bsm_status op_cell(OP_PARAMS) {
  const cell_kind kind = (cell_kind)self->variant;
  bsm_tensor *x = op_tensor(&args[0]), *h, *c = NULL, *out[2] = {NULL};
  const cell_params params = {op_tensor(&args[2]), op_tensor(&args[3]),
                              op_tensor(&args[4]), op_tensor(&args[5]), NULL};
  if (kind == CELL_LSTM) {
    if (op_list_len(&args[1]) != 2) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT,
                      "lstm_cell expects two hidden states");
    }
    h = op_list_tensor(&args[1], 0);
    c = op_list_tensor(&args[1], 1);
  } else {
    h = op_tensor(&args[1]);
  }
  if (params.w_ih->sizes.rank != 2 || params.w_hh->sizes.rank != 2) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "rnn cell: expected weights of 2 dimensions, got %s and %s",
                    bsm_dims_str(params.w_ih->sizes),
                    bsm_dims_str(params.w_hh->sizes));
  }
  if (!bsm_dtype_is_floating(x->dtype)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "rnn: not implemented for '%s'",
                    bsm_op_type_name(x->dtype));
  }
  BSM_TRY(check_cell(x, h, &params, 0));
  if (c) BSM_TRY(check_cell(x, c, &params, 1));
  cell l = {.kind = kind,
            .dtype = x->dtype,
            .in = x->sizes.d[1],
            .hidden = h->sizes.d[1],
            .state = h->sizes.d[1]};
  for (int i = 0; i < (c ? 2 : 1); i++) {
    BSM_TRY(bsm_op_new(cx, x->dtype, h->sizes, &out[i]));
    outs[i] = bsm_iv_tensor(out[i]);
  }
  const bsm_arena_mark mark = bsm_arena_get_mark(cx->arena);
  BSM_TRY(load_cell(cx, &params, x->sizes.d[0], x->sizes.d[0], &l));
  if (!cx->meta) BSM_TRY(run_cell(cx, &l, x, h, c, out));
  bsm_arena_rewind(cx->arena, mark);
  return BSM_OK;
}

static const bsm_aten_op rows[] = {
    OP("aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool "
       "has_biases, int num_layers, float dropout, bool train, bool "
       "bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
       op_rnn, CELL_LSTM, 0),
    OP("aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] "
       "params, bool has_biases, int num_layers, float dropout, bool train, "
       "bool "
       "bidirectional) -> (Tensor, Tensor, Tensor)",
       op_rnn_data, CELL_LSTM, 0),
    OP("aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, "
       "Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
       op_cell, CELL_LSTM, 0),
    OP("aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool "
       "has_biases, int num_layers, float dropout, bool train, bool "
       "bidirectional, bool batch_first) -> (Tensor, Tensor)",
       op_rnn, CELL_GRU, 0),
    OP("aten::gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] "
       "params, bool has_biases, int num_layers, float dropout, bool train, "
       "bool "
       "bidirectional) -> (Tensor, Tensor)",
       op_rnn_data, CELL_GRU, 0),
    OP("aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, "
       "Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
       op_cell, CELL_GRU, 0),
    OP("aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool "
       "has_biases, int num_layers, float dropout, bool train, bool "
       "bidirectional, bool batch_first) -> (Tensor, Tensor)",
       op_rnn, CELL_TANH, 0),
    OP("aten::rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, "
       "Tensor[] "
       "params, bool has_biases, int num_layers, float dropout, bool train, "
       "bool "
       "bidirectional) -> (Tensor, Tensor)",
       op_rnn_data, CELL_TANH, 0),
    OP("aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, "
       "Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
       op_cell, CELL_TANH, 0),
    OP("aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool "
       "has_biases, int num_layers, float dropout, bool train, bool "
       "bidirectional, bool batch_first) -> (Tensor, Tensor)",
       op_rnn, CELL_RELU, 0),
    OP("aten::rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, "
       "Tensor[] "
       "params, bool has_biases, int num_layers, float dropout, bool train, "
       "bool "
       "bidirectional) -> (Tensor, Tensor)",
       op_rnn_data, CELL_RELU, 0),
    OP("aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, "
       "Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
       op_cell, CELL_RELU, 0),
};
BSM_ATEN_TABLE(rnn, rows);
