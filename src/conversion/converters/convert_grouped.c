/* SPDX-License-Identifier: Apache-2.0 */
/* _grouped_mm: rows in groups, each group by a matrix of its own, where only a
 * run tells how long the groups are: what mixtures of experts multiply.
 *
 * How many rows a group has is not known, but how many tiles of rows all groups
 * fill at most is: a tile is gathered, and so is the matrix of its group, and
 * all tiles are multiplied at once. Where that copies more than it saves, all
 * rows are multiplied by all matrices. */
#include "conversion/emit.h"

/* What may be copied, in bytes. */
#define MAX_COPIED (INT64_C(1) << 31)

typedef struct groups {
  bsm_itensor *rows;          /* [m, k] */
  bsm_itensor *matrices;      /* [count, k, n] */
  bsm_itensor *starts, *ends; /* [count]: the rows of each group */
  int64_t m, k, n, count;
} groups;

static bsm_itensor *with_int(bsm_conversion_ctx *ctx, bsm_itensor *x,
                             int64_t value,
                             bsm_element_wise_operation operation) {
  return bsm_emit_binary(
      ctx, x, bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, value), operation);
}

static bsm_itensor *column(bsm_conversion_ctx *ctx, bsm_itensor *x) {
  return bsm_emit_unsqueeze(ctx, x, 1);
}

/* For 0, 1, .. `n` - 1 how many of `ends` are not above it: the group that it
 * is in, `count` behind the last. */
static bsm_itensor *group_of(bsm_conversion_ctx *ctx, bsm_itensor *ends,
                             int64_t n) {
  bsm_itensor *passed =
      bsm_emit_binary(ctx, ends, column(ctx, bsm_emit_arange(ctx, 0, n, 1)),
                      BSM_ELEMENT_WISE_LESS_EQUAL);
  return bsm_emit_reduce(ctx, bsm_emit_cast(ctx, passed, BSM_DTYPE_INT64),
                         BSM_REDUCE_SUM, 1u << 1, false);
}

static bsm_itensor *pick(bsm_conversion_ctx *ctx, bsm_itensor *x,
                         bsm_itensor *at) {
  return bsm_emit_gather(ctx, x, at, BSM_GATHER_DEFAULT, 0);
}

/* Tiles of `tile` rows that groups of `m` rows in all fill at most. */
static int64_t tiles_of(const groups *g, int64_t tile) {
  const int64_t begun = g->count < g->m ? g->count : g->m;
  return (g->m - begun) / tile + begun;
}

/* ---- which way is least work ---- */

/* The height of tiles; 0: all rows by all matrices; -1: nothing fits. Work is
 * counted in elements of matrices: a copy reads, writes and is read, and
 * multiplying a row is as much as reading a part of an element. */
static int64_t choose_tile(const groups *g) {
  static const int64_t heights[] = {1, 4, 8, 16, 32, 64, 128, 256};
  const double row = 1.0 / 64, copy = 3;
  const double size = (double)bsm_dtype_size(g->rows->dtype);
  const double most = (double)MAX_COPIED / size;
  double best = (double)g->count * (1 + row * (double)g->m);
  int64_t chosen = 0;
  if ((double)g->count * (double)g->m * (double)g->n > most) chosen = -1;
  for (size_t i = 0; i < sizeof heights / sizeof heights[0]; i++) {
    const double tiles = (double)tiles_of(g, heights[i]);
    const double work = tiles * (copy + row * (double)heights[i]);
    if (tiles * (double)g->k * (double)g->n > most ||
        tiles * (double)heights[i] * (double)(g->k + g->n) > most ||
        (chosen >= 0 && work >= best)) {
      continue;
    }
    best = work;
    chosen = heights[i];
  }
  return chosen;
}

/* ---- products ---- */

/* Row i of the result is row `at`[i] of the products; 0 where no group has
 * it. */
static bsm_itensor *take_back(bsm_conversion_ctx *ctx, const groups *g,
                              bsm_itensor *products, bsm_itensor *group,
                              bsm_itensor *at) {
  bsm_itensor *covered = with_int(ctx, group, g->count, BSM_ELEMENT_WISE_LESS);
  at = bsm_emit_select(ctx, covered, at,
                       bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, 0));
  bsm_itensor *taken = pick(ctx, products, at);
  return bsm_emit_select(ctx, column(ctx, covered), taken,
                         bsm_emit_scalar(ctx, g->rows->dtype, 0));
}

static bsm_itensor *multiply_all(bsm_conversion_ctx *ctx, const groups *g) {
  bsm_itensor *group = group_of(ctx, g->ends, g->m);
  bsm_itensor *products = bsm_emit_matmul(
      ctx, bsm_emit_unsqueeze(ctx, g->rows, 0), false, g->matrices, false);
  products =
      bsm_emit_reshape(ctx, products, (bsm_dims){2, {g->count * g->m, g->n}});
  bsm_itensor *at =
      bsm_emit_binary(ctx, with_int(ctx, group, g->m, BSM_ELEMENT_WISE_PROD),
                      bsm_emit_arange(ctx, 0, g->m, 1), BSM_ELEMENT_WISE_SUM);
  return take_back(ctx, g, products, group, at);
}

/* The rows of all tiles, [tiles, tile]; those behind the end of a group are
 * any. */
static bsm_itensor *rows_of_tiles(bsm_conversion_ctx *ctx, const groups *g,
                                  bsm_itensor *group, bsm_itensor *first_tiles,
                                  int64_t tile) {
  const int64_t tiles = tiles_of(g, tile);
  bsm_itensor *nth =
      bsm_emit_binary(ctx, bsm_emit_arange(ctx, 0, tiles, 1),
                      pick(ctx, first_tiles, group), BSM_ELEMENT_WISE_SUB);
  bsm_itensor *first =
      bsm_emit_binary(ctx, with_int(ctx, nth, tile, BSM_ELEMENT_WISE_PROD),
                      pick(ctx, g->starts, group), BSM_ELEMENT_WISE_SUM);
  bsm_itensor *rows =
      bsm_emit_binary(ctx, column(ctx, first), bsm_emit_arange(ctx, 0, tile, 1),
                      BSM_ELEMENT_WISE_SUM);
  bsm_itensor *inside = bsm_emit_binary(
      ctx, rows, column(ctx, pick(ctx, g->ends, group)), BSM_ELEMENT_WISE_LESS);
  return bsm_emit_select(ctx, inside, rows,
                         bsm_emit_int_scalar(ctx, BSM_DTYPE_INT64, 0));
}

static bsm_itensor *multiply_tiles(bsm_conversion_ctx *ctx, const groups *g,
                                   int64_t tile) {
  const int64_t tiles = tiles_of(g, tile);
  bsm_itensor *counts =
      bsm_emit_binary(ctx, g->ends, g->starts, BSM_ELEMENT_WISE_SUB);
  counts = with_int(ctx, counts, tile - 1, BSM_ELEMENT_WISE_SUM);
  counts = with_int(ctx, counts, tile, BSM_ELEMENT_WISE_FLOOR_DIV);
  if (!counts) return NULL;
  bsm_itensor *ends =
      bsm_emit(ctx, bsm_network_add_scan(ctx->net, counts, BSM_SCAN_SUM, 0));
  bsm_itensor *first_tiles =
      bsm_emit_binary(ctx, ends, counts, BSM_ELEMENT_WISE_SUB);
  bsm_itensor *of_tile = with_int(ctx, group_of(ctx, ends, tiles), g->count - 1,
                                  BSM_ELEMENT_WISE_MIN);
  bsm_itensor *a =
      pick(ctx, g->rows, rows_of_tiles(ctx, g, of_tile, first_tiles, tile));
  bsm_itensor *products =
      bsm_emit_matmul(ctx, a, false, pick(ctx, g->matrices, of_tile), false);
  products =
      bsm_emit_reshape(ctx, products, (bsm_dims){2, {tiles * tile, g->n}});
  /* Where row i went: as far into its group as in the tiles of that. */
  bsm_itensor *group = group_of(ctx, g->ends, g->m);
  bsm_itensor *known = with_int(ctx, group, g->count - 1, BSM_ELEMENT_WISE_MIN);
  bsm_itensor *into =
      bsm_emit_binary(ctx, bsm_emit_arange(ctx, 0, g->m, 1),
                      pick(ctx, g->starts, known), BSM_ELEMENT_WISE_SUB);
  bsm_itensor *at =
      with_int(ctx, pick(ctx, first_tiles, known), tile, BSM_ELEMENT_WISE_PROD);
  return take_back(ctx, g, products, group,
                   bsm_emit_binary(ctx, at, into, BSM_ELEMENT_WISE_SUM));
}

static bsm_status multiply(bsm_conversion_ctx *ctx, groups *g,
                           bsm_itensor **out) {
  *out = NULL;
  g->m = g->rows->dims.d[0];
  g->k = g->rows->dims.d[1];
  g->n = g->matrices->dims.d[2];
  g->count = g->matrices->dims.d[0];
  BSM_CHECK(g->ends->dims.d[0] == g->count && g->matrices->dims.d[1] == g->k,
            "%lld groups of rows of %s by matrices of %s",
            (long long)g->ends->dims.d[0], bsm_dims_str(g->rows->dims),
            bsm_dims_str(g->matrices->dims));
  BSM_CHECK(g->m > 0 && g->k > 0 && g->n > 0 && g->count > 0,
            "groups without elements");
  const int64_t tile = choose_tile(g), zero = 0;
  BSM_CHECK(tile >= 0, "%lld matrices of %lld by %lld in groups: too large",
            (long long)g->count, (long long)g->k, (long long)g->n);
  g->ends = bsm_emit_cast(ctx, g->ends, BSM_DTYPE_INT64);
  bsm_itensor *starts[] = {bsm_emit_int64s(ctx, &zero, (bsm_dims){1, {1}}),
                           bsm_emit_slice(ctx, g->ends, 0, 0, g->count - 1, 1)};
  g->starts = bsm_emit_concat(ctx, starts, g->count > 1 ? 2 : 1, 0);
  *out = tile ? multiply_tiles(ctx, g, tile) : multiply_all(ctx, g);
  return BSM_OK;
}

/* grouped_mm_fallback(input, weight, offs), whose groups are of rows, and
 * (`variant` 1) _grouped_mm(self, mat2, offs, bias, out_dtype), whose groups
 * may be of the columns of mat2. */
static bsm_status convert_grouped(bsm_conversion_ctx *ctx, const bsm_node *node,
                                  const bsm_args *args) {
  enum { SELF, MAT2, OFFS, BIAS, OUT_DTYPE };
  const bool any = bsm_args_variant(args) != 0;
  bsm_itensor *a = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  bsm_itensor *b = bsm_arg_itensor_or_freeze(ctx, args, MAT2);
  bsm_itensor *out;
  if (!a || !b) return bsm_ctx_take_error(ctx);
  BSM_CHECK(bsm_dtype_is_floating(a->dtype) && a->dtype == b->dtype,
            "groups of %s by matrices of %s", bsm_dtype_name(a->dtype),
            bsm_dtype_name(b->dtype));
  BSM_CHECK(!any || (bsm_arg_is_none(args, BIAS) &&
                     bsm_arg_dtype_or(args, OUT_DTYPE, a->dtype) == a->dtype),
            "_grouped_mm with a bias or another dtype");
  if (any && bsm_arg_is_none(args, OFFS)) {
    BSM_CHECK(bsm_rank(a) == 3 && bsm_rank(b) == 3, "groups without ends");
    return bsm_emit_output(ctx, node, 0,
                           bsm_emit_matmul(ctx, a, false, b, false));
  }
  groups g = {.ends = bsm_arg_itensor_or_freeze(ctx, args, OFFS)};
  if (!g.ends) return bsm_ctx_take_error(ctx);
  const bool columns = any && bsm_rank(a) == 3 && bsm_rank(b) == 2;
  BSM_CHECK(bsm_rank(g.ends) == 1 &&
                (columns || (bsm_rank(a) == 2 && bsm_rank(b) == 3)),
            "groups of what products sum over");
  g.rows = columns ? bsm_emit_transpose(ctx, b, 0, 1) : a;
  g.matrices = columns ? bsm_emit_transpose(ctx, a, 1, 2) : b;
  if (!g.rows || !g.matrices) return bsm_ctx_take_error(ctx);
  BSM_TRY(multiply(ctx, &g, &out));
  if (columns) out = bsm_emit_transpose(ctx, out, 0, 1);
  return bsm_emit_output(ctx, node, 0, out);
}

static const bsm_conversion_pattern patterns[] = {
    {"transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor "
     "offs) -> Tensor",
     convert_grouped, 0},
    {"aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? "
     "bias=None, ScalarType? out_dtype=None) -> Tensor",
     convert_grouped, 1},
};
BSM_CONVERTER_TABLE(grouped, patterns);
