/* SPDX-License-Identifier: Apache-2.0 */
/* as_strided: any walk through the elements of a tensor in their order, such as
 * windows that overlap. Elements that always stay together are gathered as
 * rows; which rows, strides and sizes tell now. */
#include "conversion/emit.h"

/* So many indices are weights of the engine, more are computed in the run. */
#define MAX_CONSTANT 4096

typedef struct walk {
  bsm_dims sizes;
  int64_t strides[BSM_MAX_RANK], offset;
  int64_t together; /* elements of a row */
  int32_t outer;    /* dims whose strides are whole rows */
  int64_t inner;    /* rows behind each other below them */
} walk;

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Whether all elements are there; none is a case of its own. */
static bool is_inside(const walk *w, int64_t count) {
  int64_t last = w->offset;
  if (last < 0 || last >= count) return false;
  for (int32_t i = 0; i < w->sizes.rank; i++) {
    const int64_t size = w->sizes.d[i], stride = w->strides[i];
    if (size < 1 || stride < 0) return false;
    if (size > 1 && stride > (count - 1 - last) / (size - 1)) return false;
    last += size > 1 ? (size - 1) * stride : 0;
  }
  return true;
}

static void find_rows(walk *w) {
  int64_t run = 1;
  w->outer = w->sizes.rank;
  while (w->outer > 0 &&
         (w->strides[w->outer - 1] == run || w->sizes.d[w->outer - 1] == 1)) {
    run *= w->sizes.d[--w->outer];
  }
  w->together = common_divisor(run, w->offset);
  for (int32_t i = 0; i < w->outer; i++) {
    if (w->sizes.d[i] == 1) continue;
    w->together = common_divisor(w->together, w->strides[i]);
  }
  w->inner = run / w->together;
}

/* The sums of all `x` and 0, step, 2 * step, .. below size * step. */
static bsm_itensor *spread(bsm_conversion_ctx *ctx, bsm_itensor *x,
                           int64_t size, int64_t step) {
  if (!x || size == 1) return x;
  const int64_t count = x->dims.d[0];
  x = bsm_emit_binary(ctx, bsm_emit_unsqueeze(ctx, x, 1),
                      bsm_emit_arange(ctx, 0, size, step),
                      BSM_ELEMENT_WISE_SUM);
  return bsm_emit_reshape(ctx, x, (bsm_dims){1, {count * size}});
}

static bsm_itensor *computed_rows(bsm_conversion_ctx *ctx, const walk *w) {
  const int64_t first = w->offset / w->together;
  bsm_itensor *rows = bsm_emit_int64s(ctx, &first, (bsm_dims){1, {1}});
  for (int32_t i = 0; i < w->outer; i++) {
    rows = spread(ctx, rows, w->sizes.d[i], w->strides[i] / w->together);
  }
  return spread(ctx, rows, w->inner, 1);
}

static bsm_itensor *constant_rows(bsm_conversion_ctx *ctx, const walk *w,
                                  int64_t count) {
  int64_t *rows = bsm_conversion_alloc(ctx, sizeof(int64_t) * (size_t)count);
  if (!rows) return NULL;
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i / w->inner;
    rows[i] = w->offset / w->together + i % w->inner;
    for (int32_t d = w->outer - 1; d >= 0; d--) {
      rows[i] += rest % w->sizes.d[d] * (w->strides[d] / w->together);
      rest /= w->sizes.d[d];
    }
  }
  return bsm_emit_int64s(ctx, rows, (bsm_dims){1, {count}});
}

static bsm_status convert_as_strided(bsm_conversion_ctx *ctx,
                                     const bsm_node *node,
                                     const bsm_args *args) {
  enum { SELF, SIZE, STRIDE, OFFSET };
  walk w = {.offset = 0};
  bsm_itensor *x = bsm_arg_itensor_or_freeze(ctx, args, SELF);
  if (!x) return bsm_ctx_take_error(ctx);
  size_t given;
  const int64_t *sizes = bsm_arg_unwrap_to_int_list(args, SIZE, &given);
  w.sizes = bsm_dims_of(sizes, given);
  const int64_t *strides = bsm_arg_unwrap_to_int_list(args, STRIDE, &given);
  BSM_CHECK(given == (size_t)w.sizes.rank,
            "mismatch in length of strides and shape");
  for (size_t i = 0; i < given; i++) w.strides[i] = strides[i];
  if (!bsm_arg_is_none(args, OFFSET)) {
    w.offset = bsm_arg_unwrap_to_int(args, OFFSET);
  }
  const int64_t all = bsm_itensor_numel(x);
  int64_t count;
  BSM_CHECK(is_inside(&w, all) && bsm_dims_numel(w.sizes, &count),
            "as_strided beyond the %lld elements of a tensor", (long long)all);
  find_rows(&w);
  const int64_t wanted = count / w.together, rows = all / w.together;
  x = bsm_emit_reshape(ctx, x, (bsm_dims){1, {all}});
  x = bsm_emit_slice(ctx, x, 0, 0, rows * w.together, 1);
  x = bsm_emit_reshape(ctx, x, (bsm_dims){2, {rows, w.together}});
  bsm_itensor *at = wanted <= MAX_CONSTANT ? constant_rows(ctx, &w, wanted)
                                           : computed_rows(ctx, &w);
  x = bsm_emit_gather(ctx, x, at, BSM_GATHER_DEFAULT, 0);
  return bsm_emit_output(ctx, node, 0, bsm_emit_reshape(ctx, x, w.sizes));
}

static const bsm_conversion_pattern patterns[] = {
    {"aten::as_strided(Tensor(a) self, int[] size, int[] stride, int? "
     "storage_offset=None) -> Tensor(a)",
     convert_as_strided, 0},
    {"aten::as_strided_copy(Tensor self, int[] size, int[] stride, int? "
     "storage_offset=None) -> Tensor",
     convert_as_strided, 0},
};
BSM_CONVERTER_TABLE(strided, patterns);
