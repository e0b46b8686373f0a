/* SPDX-License-Identifier: Apache-2.0 */
/* Packed parameters from what PyTorch writes for them. The classes and their
 * states:
 *
 *   quantized.Conv2dPackedParamsBase, Conv3dPackedParamsBase
 *     1  (weight, bias?, stride: Tensor[], padding, dilation, groups: Tensor)
 *     2  ("2", [numbers: int16, weight], [bias?])
 *     3  (3, numbers: int[], [None, weight, bias?])
 *        numbers: dimensions, stride, padding, dilation, output_padding,
 * groups, 1 for a transposed convolution quantized.LinearPackedParamsBase
 * (weight, bias?) quantized.EmbeddingPackedParamsBase       (1, [weight],
 * floats, [bits]) rnn.CellParamsBase    (name, tensors, floats, ints, linear
 * parameters) "quantized_dynamic": two biases, whether the range is reduced;
 * and "quantized_fp16": without any */
#include <string.h>

#include "quantized/packed_params.h"

static bsm_status fail(const char *what) {
  return BSM_FAIL(BSM_CORRUPT, "packed parameters with %s", what);
}

/* What is in a tuple or a list. */
typedef struct items {
  const bsm_ivalue *at;
  size_t len;
} items;

static items items_of(const bsm_ivalue *v) {
  if (v->tag == BSM_IVALUE_TUPLE) {
    return (items){v->u.tuple->items, v->u.tuple->len};
  }
  if (v->tag == BSM_IVALUE_LIST) {
    return (items){v->u.list->items, v->u.list->len};
  }
  return (items){NULL, 0};
}

static bool is_text(const bsm_ivalue *v, const char *text) {
  return v->tag == BSM_IVALUE_STRING && bsm_str_eq(*v->u.s, bsm_str_of(text));
}

static bool is_version(const bsm_ivalue *v, int64_t version) {
  return v->tag == BSM_IVALUE_INT && v->u.i == version;
}

/* ---- convolutions ---- */

enum { MOST_NUMBERS = 1 + 4 * 3 + 2 };

typedef struct numbers {
  int64_t n[MOST_NUMBERS];
  size_t len;
} numbers;

static bsm_status add_number(numbers *to, int64_t n) {
  if (to->len == MOST_NUMBERS) return fail("too many numbers");
  to->n[to->len++] = n;
  return BSM_OK;
}

/* The numbers of a tensor of integers. */
static bsm_status add_tensor(numbers *to, const bsm_ivalue *v, size_t least) {
  const bsm_tensor *t = v->tag == BSM_IVALUE_TENSOR ? v->u.tensor : NULL;
  if (!t || !bsm_dtype_is_integral(t->dtype, false) || bsm_tensor_is_meta(t) ||
      t->sizes.rank != 1 || bsm_tensor_numel(t) < (int64_t)least) {
    return fail("numbers that are no tensor of integers");
  }
  const int64_t n = least ? (int64_t)least : bsm_tensor_numel(t);
  for (int64_t i = 0; i < n; i++) {
    BSM_TRY(add_number(to, bsm_tensor_get_int(t, i)));
  }
  return BSM_OK;
}

/* The first of each tensor in a list. */
static bsm_status add_firsts(numbers *to, const bsm_ivalue *v, size_t n) {
  const items list = items_of(v);
  if (list.len != n) return fail("a list of another length");
  for (size_t i = 0; i < n; i++) BSM_TRY(add_tensor(to, &list.at[i], 1));
  return BSM_OK;
}

/* (weight, bias, stride, padding, dilation, groups) */
static bsm_status read_first_version(items state, size_t dims, numbers *n,
                                     bsm_packed_conv *conv) {
  if (state.len != 6) return fail("another number of parts");
  conv->weight = state.at[0];
  conv->bias = state.at[1];
  BSM_TRY(add_number(n, (int64_t)dims));
  for (size_t i = 2; i < 5; i++) BSM_TRY(add_firsts(n, &state.at[i], dims));
  for (size_t i = 0; i < dims; i++) BSM_TRY(add_number(n, 0));
  BSM_TRY(add_tensor(n, &state.at[5], 1));
  return add_number(n, 0);
}

static bsm_status read_later_version(items state, numbers *n,
                                     bsm_packed_conv *conv) {
  const bool second = state.len == 3 && is_text(&state.at[0], "2");
  if (!second && !(state.len == 3 && is_version(&state.at[0], 3))) {
    return fail("a state of an unknown version");
  }
  const items first = items_of(&state.at[1]), last = items_of(&state.at[2]);
  if (second) {
    if (first.len != 2 || last.len > 1) return fail("other tensors");
    conv->weight = first.at[1];
    if (last.len) conv->bias = last.at[0];
    return add_tensor(n, &first.at[0], 0);
  }
  if (last.len != 3) return fail("other tensors");
  conv->weight = last.at[1];
  conv->bias = last.at[2];
  for (size_t i = 0; i < first.len; i++) {
    if (first.at[i].tag != BSM_IVALUE_INT) return fail("other numbers");
    BSM_TRY(add_number(n, first.at[i].u.i));
  }
  return BSM_OK;
}

static bsm_status conv_from_state(bsm_arena *arena, items state, size_t dims,
                                  bsm_ivalue *out) {
  bsm_packed_conv conv = {.dims = (int32_t)dims};
  numbers n = {.len = 0};
  if (state.len && state.at[0].tag == BSM_IVALUE_TENSOR) {
    BSM_TRY(read_first_version(state, dims, &n, &conv));
  } else {
    BSM_TRY(read_later_version(state, &n, &conv));
  }
  if (n.len != 4 * dims + 3 || n.n[0] != (int64_t)dims) {
    return fail("numbers for another number of dimensions");
  }
  bsm_ivalue *lists[] = {&conv.stride, &conv.padding, &conv.dilation,
                         &conv.output_padding};
  for (size_t i = 0; i < 4; i++) {
    BSM_TRY(bsm_iv_int_list(arena, &n.n[1 + i * dims], dims, lists[i]));
  }
  conv.groups = n.n[n.len - 2];
  if (n.n[n.len - 1] & ~INT64_C(1)) return fail("unknown flags");
  conv.transposed = n.n[n.len - 1] != 0;
  return bsm_packed_conv_new(arena, &conv, out);
}

static bsm_status conv2d_from_state(bsm_arena *arena, items state,
                                    bsm_ivalue *out) {
  return conv_from_state(arena, state, 2, out);
}

static bsm_status conv3d_from_state(bsm_arena *arena, items state,
                                    bsm_ivalue *out) {
  return conv_from_state(arena, state, 3, out);
}

/* ---- the others ---- */

static bsm_status linear_from_state(bsm_arena *arena, items state,
                                    bsm_ivalue *out) {
  if (state.len != 2) return fail("another number of parts");
  return bsm_packed_linear_new(arena, &state.at[0], &state.at[1], out);
}

static bsm_status embedding_from_state(bsm_arena *arena, items state,
                                       bsm_ivalue *out) {
  if (state.len != 4 || !is_version(&state.at[0], 1)) {
    return fail("a state of an unknown version");
  }
  const items tensors = items_of(&state.at[1]), ints = items_of(&state.at[3]);
  if (tensors.len != 1 || ints.len != 1 || ints.at[0].tag != BSM_IVALUE_INT) {
    return fail("another number of parts");
  }
  return bsm_packed_embedding_new(arena, &tensors.at[0], ints.at[0].u.i, out);
}

static bsm_status cell_from_state(bsm_arena *arena, items state,
                                  bsm_ivalue *out) {
  if (state.len != 5) return fail("another number of parts");
  const bool dynamic = is_text(&state.at[0], "quantized_dynamic");
  const items biases = items_of(&state.at[1]), ints = items_of(&state.at[3]);
  const items linear = items_of(&state.at[4]);
  if (!dynamic && !is_text(&state.at[0], "quantized_fp16")) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "packed parameters of a recurrent cell of another kind "
                    "than quantized_dynamic and quantized_fp16");
  }
  if (linear.len != 2 || biases.len != (dynamic ? 2u : 0u) ||
      (dynamic && (ints.len != 1 || ints.at[0].tag != BSM_IVALUE_INT))) {
    return fail("another number of parts");
  }
  bsm_ivalue bias[2] = {{0}};
  if (dynamic) memcpy(bias, biases.at, sizeof bias);
  return bsm_packed_cell_new(arena, linear.at, bias,
                             dynamic && ints.at[0].u.i != 0, out);
}

#define CLASSES "__torch__.torch.classes."

static const struct {
  const char *name;
  bsm_status (*make)(bsm_arena *arena, items state, bsm_ivalue *out);
} classes[] = {
    {CLASSES "quantized.Conv2dPackedParamsBase", conv2d_from_state},
    {CLASSES "quantized.Conv3dPackedParamsBase", conv3d_from_state},
    {CLASSES "quantized.LinearPackedParamsBase", linear_from_state},
    {CLASSES "quantized.EmbeddingPackedParamsBase", embedding_from_state},
    {CLASSES "rnn.CellParamsBase", cell_from_state},
};
#define CLASS_COUNT (sizeof classes / sizeof classes[0])

bool bsm_is_packed_class(bsm_str name) {
  for (size_t i = 0; i < CLASS_COUNT; i++) {
    if (bsm_str_eq(name, bsm_str_of(classes[i].name))) return true;
  }
  return false;
}

bsm_status bsm_packed_from_state(bsm_arena *arena, bsm_str name,
                                 const bsm_ivalue *state, bsm_ivalue *out) {
  for (size_t i = 0; i < CLASS_COUNT; i++) {
    if (!bsm_str_eq(name, bsm_str_of(classes[i].name))) continue;
    BSM_TRY_NOTE(classes[i].make(arena, items_of(state), out),
                 "in the state of class %s", classes[i].name);
    return BSM_OK;
  }
  return BSM_FAIL(BSM_UNSUPPORTED, "class %.*s holds no packed parameters",
                  (int)name.len, name.data);
}
