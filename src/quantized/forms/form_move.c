/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that only move elements: they move the integers. What the op says of a
 * tensor's shape it says of the integers. */
#include "quantized/form_kit.h"

typedef struct moving {
  const bsm_q_call *c;
  bsm_q_grid grid; /* of all quantized arguments */
  bool found;
} moving;

/* The integers of a quantized tensor in place of itself. */
static bsm_status take(moving *m, bsm_ivalue *v) {
  bsm_ivalue integers;
  bsm_q_grid grid;
  bool is;
  BSM_TRY(m->c->b->split(m->c->b, v, &integers, &grid, &is));
  if (!is) return BSM_OK;
  if (m->found && !bsm_q_same_grid(&m->grid, &grid)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "quantized tensors of different scales");
  }
  m->found = true;
  m->grid = grid;
  *v = integers;
  return BSM_OK;
}

static bsm_status take_all(moving *m, bsm_ivalue *args) {
  for (size_t i = 0; i < m->c->n; i++) {
    args[i] = m->c->args[i];
    if (args[i].tag != BSM_IVALUE_LIST) {
      BSM_TRY(take(m, &args[i]));
      continue;
    }
    const bsm_list *from = args[i].u.list;
    bsm_list *to = NULL;
    BSM_TRY(bsm_list_new(m->c->b->arena, from->elem_type, from->len, &to));
    for (size_t k = 0; k < from->len; k++) {
      to->items[k] = from->items[k];
      BSM_TRY(take(m, &to->items[k]));
    }
    args[i] = bsm_iv_list(to);
  }
  return BSM_OK;
}

static bsm_status call(moving *m, bsm_ivalue *outs) {
  const bsm_q_call *c = m->c;
  bsm_ivalue *args = BSM_NEW_ARRAY(c->b->arena, bsm_ivalue, c->n + 1);
  BSM_TRY_ALLOC(args);
  BSM_TRY(take_all(m, args));
  return c->b->call(c->b, c->name, args, c->n, outs, c->n_outs);
}

static bsm_status give(const moving *m, bsm_ivalue *v) {
  return m->c->b->join(m->c->b, v, &m->grid, v);
}

enum { ANY, IN_PLACE_OF_DIMS };

static bsm_status run_move(const bsm_q_call *c) {
  moving m = {.c = c};
  BSM_TRY(call(&m, c->outs));
  if (m.grid.q.scales && c->form->variant != IN_PLACE_OF_DIMS) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "%s of a tensor that is quantized per channel", c->name);
  }
  bsm_ivalue *out = &c->outs[0];
  if (out->tag != BSM_IVALUE_LIST) return give(&m, out);
  bsm_list *list = NULL;
  const bsm_list *from = out->u.list;
  BSM_TRY(bsm_list_new(c->b->arena, from->elem_type, from->len, &list));
  for (size_t i = 0; i < from->len; i++) {
    list->items[i] = from->items[i];
    BSM_TRY(give(&m, &list->items[i]));
  }
  *out = bsm_iv_list(list);
  return BSM_OK;
}

/* ..., dtype, ...: which may not be another. */
static bsm_status run_to(const bsm_q_call *c) {
  if (c->args[c->form->variant].tag != BSM_IVALUE_NONE) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "a quantized tensor to another dtype: dequantize it");
  }
  moving m = {.c = c};
  BSM_TRY(call(&m, c->outs));
  return give(&m, &c->outs[0]);
}

static bsm_status run_query(const bsm_q_call *c) {
  moving m = {.c = c};
  return call(&m, c->outs);
}

static bsm_status run_dtype(const bsm_q_call *c) {
  bsm_q_grid grid;
  BSM_TRY(bsm_q_grid_of(c, &c->args[0], &grid));
  c->outs[0] = I(grid.dtype);
  return BSM_OK;
}

static bsm_status run_is_quantized(const bsm_q_call *c) {
  c->outs[0] = B(true);
  return BSM_OK;
}

#define MOVE(name) \
  { "aten::" name, run_move, ANY, BSM_Q_TENSOR }
#define COPY(name) \
  { "aten::" name, run_move, IN_PLACE_OF_DIMS, BSM_Q_TENSOR }
#define QUERY(name) \
  { name, run_query, 0, BSM_Q_MAKES }

static const bsm_q_form forms[] = {
    COPY("clone"),
    COPY("contiguous"),
    COPY("detach"),
    COPY("alias"),
    COPY("cpu"),
    COPY("cuda"),
    {"aten::to.device", run_to, 2, BSM_Q_TENSOR},
    {"aten::to.prim_Device", run_to, 2, BSM_Q_TENSOR},
    MOVE("view"),
    MOVE("view_as"),
    MOVE("_unsafe_view"),
    MOVE("reshape"),
    MOVE("reshape_as"),
    MOVE("flatten.using_ints"),
    MOVE("unflatten.int"),
    MOVE("ravel"),
    MOVE("permute"),
    MOVE("transpose.int"),
    MOVE("swapaxes"),
    MOVE("swapdims"),
    MOVE("movedim.int"),
    MOVE("movedim.intlist"),
    MOVE("t"),
    MOVE("mT"),
    MOVE("squeeze"),
    MOVE("squeeze.dim"),
    MOVE("squeeze.dims"),
    MOVE("unsqueeze"),
    MOVE("expand"),
    MOVE("expand_as"),
    MOVE("repeat"),
    MOVE("slice.Tensor"),
    MOVE("select.int"),
    MOVE("narrow"),
    MOVE("split.Tensor"),
    MOVE("split.sizes"),
    MOVE("split_with_sizes"),
    MOVE("tensor_split.sections"),
    MOVE("chunk"),
    MOVE("unbind.int"),
    MOVE("unfold"),
    MOVE("flip"),
    MOVE("roll"),
    MOVE("index.Tensor"),
    MOVE("index_select"),
    MOVE("stack"),
    MOVE("pixel_shuffle"),
    MOVE("pixel_unshuffle"),
    MOVE("channel_shuffle"),
    MOVE("native_channel_shuffle"),
    QUERY("aten::size"),
    QUERY("aten::size.int"),
    QUERY("aten::sym_size.int"),
    QUERY("aten::dim"),
    QUERY("aten::len.Tensor"),
    QUERY("aten::numel"),
    QUERY("aten::stride"),
    QUERY("aten::stride.int"),
    QUERY("aten::is_contiguous"),
    QUERY("aten::__is__"),
    QUERY("aten::__isnot__"),
    QUERY("prim::device"),
    QUERY("prim::layout"),
    QUERY("prim::requires_grad"),
    QUERY("prim::is_cuda"),
    {"prim::dtype", run_dtype, 0, BSM_Q_MAKES},
    {"prim::is_quantized", run_is_quantized, 0, BSM_Q_MAKES},
};
BSM_Q_TABLE(move, forms);
