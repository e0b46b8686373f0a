/* SPDX-License-Identifier: Apache-2.0 */
/* The builder that computes: forms run on tensors of the reference library, by
 * calls of its ops. */
#include "quantized/quantized_library.h"

#include "quantized/form_kit.h"

/* What forms call may be in any table. */
#define TABLE(name) &bsm_aten_ops_##name,
static const bsm_aten_table *const all_tables[] = {
#include "aten/aten_tables.inl"
    NULL};
#undef TABLE
static const bsm_aten_table callers = {NULL, 0, all_tables};

/* An op of the library with a form; `plain` computes other tensors. */
typedef struct formed_op {
  bsm_aten_op op; /* first: what the library has */
  const bsm_aten_op *plain;
  char name[64];
} formed_op;

typedef struct computing {
  bsm_q_builder builder; /* first */
  bsm_op_ctx *cx;
} computing;

static bsm_status call(bsm_q_builder *b, const char *name,
                       const bsm_ivalue *args, size_t n, bsm_ivalue *outs,
                       size_t n_outs) {
  return bsm_op_call(((computing *)b)->cx, name, args, n, outs, n_outs);
}

static bool is_quantized(const bsm_ivalue *v) {
  return v->tag == BSM_IVALUE_TENSOR &&
         bsm_dtype_is_quantized(v->u.tensor->dtype) && v->u.tensor->quantizer;
}

static bsm_status split(bsm_q_builder *b, const bsm_ivalue *v,
                        bsm_ivalue *integers, bsm_q_grid *grid, bool *is) {
  bsm_tensor *t = NULL;
  *is = is_quantized(v);
  if (!*is) return BSM_OK;
  const bsm_tensor *q = v->u.tensor;
  BSM_TRY(bsm_tensor_view(b->arena, q, q->sizes, q->strides, q->offset, &t));
  t->dtype = bsm_q_integers(q->dtype);
  t->quantizer = NULL;
  *integers = bsm_iv_tensor(t);
  *grid = (bsm_q_grid){q->dtype, *q->quantizer};
  return BSM_OK;
}

static bsm_status join(bsm_q_builder *b, const bsm_ivalue *integers,
                       const bsm_q_grid *grid, bsm_ivalue *out) {
  const bsm_tensor *t = integers->u.tensor;
  bsm_tensor *q = NULL;
  bsm_quantizer *quantizer = BSM_NEW(b->arena, bsm_quantizer);
  BSM_TRY_ALLOC(quantizer);
  *quantizer = grid->q;
  BSM_TRY(bsm_tensor_view(b->arena, t, t->sizes, t->strides, t->offset, &q));
  q->dtype = grid->dtype;
  q->quantizer = quantizer;
  *out = bsm_iv_tensor(q);
  return BSM_OK;
}

static bsm_status quantize(bsm_q_builder *b, const bsm_ivalue *floats,
                           const bsm_q_grid *grid, bsm_ivalue *out) {
  const bsm_ivalue zero = bsm_iv_int(grid->q.zero_point);
  const bsm_ivalue one[] = {*floats, bsm_iv_double(grid->q.scale), zero,
                            bsm_iv_int(grid->dtype)};
  const bsm_ivalue each[] = {
      *floats, bsm_iv_tensor((bsm_tensor *)(uintptr_t)grid->q.scales),
      bsm_iv_tensor((bsm_tensor *)(uintptr_t)grid->q.zero_points),
      bsm_iv_int(grid->q.axis), bsm_iv_int(grid->dtype)};
  return grid->q.scales ? call(b, "aten::quantize_per_channel", each, 5, out, 1)
                        : call(b, "aten::quantize_per_tensor", one, 4, out, 1);
}

static bsm_dims dims_of(bsm_q_builder *b, const bsm_ivalue *v) {
  (void)b;
  return v->tag == BSM_IVALUE_TENSOR ? v->u.tensor->sizes
                                     : (bsm_dims){.rank = -1};
}

static bsm_status slot(bsm_q_builder *b, const bsm_ivalue *value,
                       bsm_ivalue *out) {
  (void)b;
  *out = *value;
  return BSM_OK;
}

static bool any_quantized(const bsm_ivalue *args, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (is_quantized(&args[i])) return true;
    if (args[i].tag != BSM_IVALUE_LIST) continue;
    const bsm_list *list = args[i].u.list;
    if (list->len && is_quantized(&list->items[0])) return true;
  }
  return false;
}

static size_t result_count(const char *schema) {
  const char *p = strstr(schema, "->");
  size_t count = 1;
  for (p = p ? p + 2 : ""; *p == ' '; p++) {
  }
  if (*p != '(') return 1;
  for (; *p; p++) count += *p == ',';
  return count;
}

static bsm_status run(bsm_op_ctx *cx, const bsm_ivalue *args, bsm_ivalue *outs,
                      const bsm_aten_op *self) {
  const formed_op *op = (const formed_op *)self;
  const size_t n = cx->arg_count;
  if (op->plain && !any_quantized(args, n)) {
    cx->op = op->plain;
    return op->plain->fn(cx, args, outs, op->plain);
  }
  computing b = {{cx->arena, call, split, join, quantize, dims_of, slot}, cx};
  cx->table = &callers;
  bsm_schema_text room;
  return bsm_q_run(&b.builder, op->name, args, n, outs,
                   result_count(bsm_aten_schema(self, &room)));
}

/* ---- the library ---- */

static bsm_status add(bsm_arena *arena, bsm_aten_library *library,
                      const bsm_aten_op *like) {
  bsm_schema_text room;
  const bsm_str name = bsm_aten_name(like, &room);
  formed_op *op = BSM_NEW(arena, formed_op);
  BSM_TRY_ALLOC(op);
  if (name.len >= sizeof op->name) {
    return BSM_FAIL(BSM_INTERNAL, "too long a name: %s", name.data);
  }
  *op = (formed_op){.op = *like};
  op->op.fn = run;
  op->plain = like->fn ? like : NULL;
  memcpy(op->name, name.data, name.len);
  return bsm_aten_library_add(arena, library, &op->op);
}

/* Ops of other namespaces, and those of them in place. */
static bsm_status add_to_others(bsm_arena *arena, bsm_aten_library *library) {
  const size_t count = bsm_aten_library_count(library);
  for (size_t i = 0; i < count; i++) {
    const bsm_aten_op *op = bsm_aten_library_at(library, i);
    bsm_schema_text room;
    const bsm_str name = bsm_aten_name(op, &room);
    char text[64];
    if (name.len >= sizeof text) continue;
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    const bsm_q_form *form = bsm_q_find(text);
    if (form && form->kind == BSM_Q_TENSOR) {
      BSM_TRY(add(arena, library, op));
    }
  }
  return BSM_OK;
}

bsm_status bsm_quantized_add_ops(bsm_arena *arena, bsm_aten_library *library) {
  BSM_TRY(add_to_others(arena, library));
  for (size_t i = 0; i < bsm_q_form_count(); i++) {
    const bsm_q_form *form = bsm_q_form_at(i);
    const bsm_aten_op op = {.text = form->schema};
    if (form->kind == BSM_Q_OP) BSM_TRY(add(arena, library, &op));
  }
  return BSM_OK;
}
