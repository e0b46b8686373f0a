/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of user inputs, and the symbols in them. */
#include "exported/import_shapes.h"

#include <stdio.h>

/* Where the file has no maximum, one that leaves room: OPEN_TIMES the example,
 * at least OPEN_LEAST (OPEN_LEAST_OF_MANY where several symbols are open), but
 * no input of more than OPEN_ELEMENTS elements on that account. */
enum {
  OPEN_TIMES = 4,
  OPEN_LEAST = 256,
  OPEN_LEAST_OF_MANY = 64,
  OPEN_ELEMENTS = 1 << 24
};

typedef struct shape_reader {
  const bsm_exported_program *program;
  bsm_ir_ctx *cx;
  bsm_model_symbol *symbols; /* by the program's numbers */
  bool *has_opt;
  int64_t *values; /* for evaluating */
  size_t count;
} shape_reader;

/* ---- affine expressions ---- */

typedef struct affine {
  size_t symbol; /* index + 1; 0: none yet */
  int64_t scale, offset;
} affine;

/* Far from overflow in what is computed of them. */
enum { MAX_COEFFICIENT = 1 << 30 };

static bool is_small(int64_t value) {
  return value >= -MAX_COEFFICIENT && value <= MAX_COEFFICIENT;
}

static bool add_affine(affine *to, const affine *from) {
  if (to->symbol && from->symbol && to->symbol != from->symbol) return false;
  if (!to->symbol) to->symbol = from->symbol;
  to->scale += from->scale;
  to->offset += from->offset;
  return is_small(to->scale) && is_small(to->offset);
}

static bool multiply_affine(affine *to, const affine *from) {
  if (to->symbol && from->symbol) return false;
  const affine *sum = to->symbol ? to : from;
  const int64_t factor = to->symbol ? from->offset : to->offset;
  const affine out = {sum->symbol, sum->scale * factor, sum->offset * factor};
  *to = out;
  return is_small(to->scale) && is_small(to->offset);
}

static bool read_affine(const bsm_sym_expr *expr, affine *out) {
  *out = (affine){0};
  switch (expr->op) {
    case BSM_SYM_INTEGER:
      out->offset = expr->i;
      return is_small(expr->i);
    case BSM_SYM_SYMBOL:
      out->symbol = (size_t)expr->i + 1;
      out->scale = 1;
      return true;
    case BSM_SYM_ADD:
    case BSM_SYM_MUL:
      for (size_t i = 0; i < expr->arg_count; i++) {
        affine part;
        if (!read_affine(expr->args[i], &part)) return false;
        if (i == 0) {
          *out = part;
        } else if (!(expr->op == BSM_SYM_ADD ? add_affine(out, &part)
                                             : multiply_affine(out, &part))) {
          return false;
        }
      }
      return expr->arg_count > 0;
    default:
      return false;
  }
}

/* ---- symbols ---- */

/* The example's size tells what the symbol was when exporting. */
static void note_opt(shape_reader *r, const bsm_exported_sym *size) {
  affine a;
  if (!size->expr || !size->has_hint || !read_affine(size->expr, &a) ||
      !a.symbol || a.scale <= 0 || a.symbol > r->count) {
    return;
  }
  const size_t i = a.symbol - 1;
  const int64_t rest = size->number.i - a.offset;
  if (r->has_opt[i] || rest % a.scale != 0) return;
  r->symbols[i].opt = rest / a.scale;
  r->has_opt[i] = true;
}

static const bsm_exported_meta *meta_of(const shape_reader *r, size_t input) {
  const bsm_exported_input_spec *spec = &r->program->inputs[input];
  return spec->kind == BSM_EXPORTED_USER_INPUT &&
                 spec->arg.tag == BSM_EXPORTED_TENSOR
             ? bsm_exported_tensor(r->program->graph, spec->arg.u.s)
             : NULL;
}

static bool is_used(const bsm_sym_expr *expr, size_t symbol) {
  if (expr->op == BSM_SYM_SYMBOL) return (size_t)expr->i == symbol;
  for (size_t i = 0; i < expr->arg_count; i++) {
    if (is_used(expr->args[i], symbol)) return true;
  }
  return false;
}

static bool is_in_inputs(const shape_reader *r, size_t symbol) {
  for (size_t i = 0; i < r->program->input_count; i++) {
    const bsm_exported_meta *meta = meta_of(r, i);
    for (size_t d = 0; meta && d < meta->rank; d++) {
      const bsm_sym_expr *expr = meta->sizes[d].expr;
      if (expr && is_used(expr, symbol)) return true;
    }
  }
  return false;
}

/* A size between those that the symbols may have, at one end of each. */
static bool size_at(const shape_reader *r, const bsm_exported_sym *size,
                    int end, int64_t *out) {
  bsm_sym_number number;
  if (!size->expr) {
    *out = size->number.i;
    return true;
  }
  for (size_t i = 0; i < r->count; i++) {
    const bsm_model_symbol *s = &r->symbols[i];
    r->values[i] = end < 0 ? s->min : end > 0 ? s->max : s->opt;
  }
  bsm_status status = bsm_sym_evaluate(size->expr, &r->program->symbols,
                                       r->values, NULL, r->count, &number);
  const bool fine = !status && number.kind == BSM_SYM_KIND_INT;
  bsm_status_free(status);
  if (fine) *out = number.i;
  return fine;
}

/* The elements of a shape at its greatest, as far as that can be told. */
static double greatest(const shape_reader *r, const bsm_exported_meta *meta) {
  double elements = 1;
  for (size_t d = 0; d < meta->rank; d++) {
    int64_t size;
    if (size_at(r, &meta->sizes[d], 1, &size)) elements *= (double)size;
  }
  return elements;
}

/* The open symbol of a shape that has most room above its example. */
static bsm_model_symbol *roomiest(const shape_reader *r,
                                  const bsm_exported_meta *meta) {
  bsm_model_symbol *best = NULL;
  for (size_t i = 0; i < r->count; i++) {
    bsm_model_symbol *s = &r->symbols[i];
    bool used = false;
    for (size_t d = 0; d < meta->rank && !used; d++) {
      used = meta->sizes[d].expr && is_used(meta->sizes[d].expr, i);
    }
    if (!used || !s->max_is_open || s->max / 2 < 2 * s->opt) continue;
    if (!best || s->max / s->opt > best->max / best->opt) best = s;
  }
  return best;
}

static void bound_open(const shape_reader *r) {
  for (size_t i = 0; i < r->program->input_count; i++) {
    const bsm_exported_meta *meta = meta_of(r, i);
    bsm_model_symbol *s;
    while (meta && greatest(r, meta) > OPEN_ELEMENTS &&
           (s = roomiest(r, meta)) != NULL) {
      s->max /= 2;
    }
  }
}

/* Whether a guard says of dimension `dim` of an input that it is not 1. */
static bool guard_refuses_one(const char *guard, size_t dim) {
  static const char *const texts[] = {"!= 1", ">= 2", "> 1", "2 <=", "1 <"};
  char size[32];
  snprintf(size, sizeof(size), ".size()[%zu]", dim);
  if (!strstr(guard, size)) return false;
  for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
    if (strstr(guard, texts[k])) return true;
  }
  return false;
}

/* A minimum of 2 is what PyTorch writes for every size that it has not looked
 * at for 0 and 1; it runs the program for 1 as well, unless a guard says no. */
static bool takes_one(const shape_reader *r, size_t symbol) {
  const bsm_exported_program *p = r->program;
  for (size_t i = 0; i < p->input_count; i++) {
    const bsm_exported_meta *meta = meta_of(r, i);
    for (size_t d = 0; meta && d < meta->rank; d++) {
      const bsm_sym_expr *expr = meta->sizes[d].expr;
      if (!expr || !is_used(expr, symbol)) continue;
      for (size_t k = 0; k < p->guard_count; k++) {
        if (guard_refuses_one(p->guards[k], d)) return false;
      }
    }
  }
  return true;
}

static void set_range(shape_reader *r, size_t i, bool many) {
  const bsm_symbol *from = &r->program->symbols.symbols.items[i];
  bsm_model_symbol *s = &r->symbols[i];
  s->name = from->name;
  s->min = from->has_range && from->min > 1 ? from->min : 1;
  if (s->min == 2 && takes_one(r, i)) s->min = 1;
  s->max = from->has_range ? from->max : INT64_MAX;
  s->max_is_open = s->max > MAX_COEFFICIENT;
  if (!r->has_opt[i]) s->opt = s->min;
  if (s->opt < 1) s->opt = 1;
  if (s->opt < s->min) s->min = s->opt; /* an example is always fine */
  if (s->max_is_open) {
    const int64_t least = many ? OPEN_LEAST_OF_MANY : OPEN_LEAST;
    const int64_t times = s->opt > MAX_COEFFICIENT / OPEN_TIMES
                              ? MAX_COEFFICIENT
                              : s->opt * OPEN_TIMES;
    s->max = times > least ? times : least;
  }
  if (s->max < s->opt) s->max = s->opt;
}

static bsm_status read_symbols(shape_reader *r) {
  const bsm_exported_program *p = r->program;
  size_t open = 0;
  r->count = p->symbols.symbols.len;
  r->symbols = BSM_NEW_ARRAY(r->cx->arena, bsm_model_symbol, r->count + 1);
  r->has_opt = BSM_NEW_ARRAY(r->cx->arena, bool, r->count + 1);
  r->values = BSM_NEW_ARRAY(r->cx->arena, int64_t, r->count + 1);
  BSM_TRY_ALLOC(r->symbols && r->has_opt && r->values);
  for (size_t i = 0; i < p->input_count; i++) {
    const bsm_exported_meta *meta = meta_of(r, i);
    for (size_t d = 0; meta && d < meta->rank; d++) {
      note_opt(r, &meta->sizes[d]);
    }
  }
  for (size_t i = 0; i < r->count; i++) {
    const bsm_symbol *s = &p->symbols.symbols.items[i];
    open += is_in_inputs(r, i) && (!s->has_range || s->max > MAX_COEFFICIENT);
  }
  for (size_t i = 0; i < r->count; i++) set_range(r, i, open > 1);
  bound_open(r);
  return BSM_OK;
}

/* ---- dims ---- */

static bsm_status read_dim(const shape_reader *r, const bsm_exported_sym *size,
                           bsm_model_dim *out) {
  affine a;
  *out = (bsm_model_dim){0};
  if (!size_at(r, size, 0, &out->opt) || out->opt < 0) {
    return BSM_FAIL(BSM_UNSUPPORTED, "a size that cannot be computed");
  }
  out->min = out->max = out->opt;
  if (!size->expr) return BSM_OK;
  if (read_affine(size->expr, &a) && a.symbol && a.scale > 0 &&
      a.symbol <= r->count) {
    out->symbol = a.symbol;
    out->scale = a.scale;
    out->offset = a.offset;
  }
  int64_t low, high;
  if (!size_at(r, size, -1, &low) || !size_at(r, size, 1, &high)) {
    return BSM_OK; /* as it was when exporting */
  }
  if (low < out->min) out->min = low < 0 ? 0 : low;
  if (high > out->max) out->max = high;
  return BSM_OK;
}

static bsm_status tensor_leaf(shape_reader *r, const bsm_exported_meta *meta,
                              bsm_model *model, bsm_ivalue *out) {
  bsm_model_dim *dims =
      BSM_NEW_ARRAY(r->cx->arena, bsm_model_dim, meta->rank + 1);
  bsm_dims sizes = {.rank = (int32_t)meta->rank};
  bsm_tensor *tensor;
  BSM_TRY_ALLOC(dims);
  if (meta->dtype == BSM_DTYPE_UNDEFINED) {
    return BSM_FAIL(BSM_UNSUPPORTED, "dtype %s", meta->dtype_name);
  }
  for (size_t d = 0; d < meta->rank; d++) {
    BSM_TRY_NOTE(read_dim(r, &meta->sizes[d], &dims[d]), "in dimension %zu", d);
    sizes.d[d] = dims[d].opt;
  }
  BSM_TRY(bsm_tensor_new(r->cx->arena, meta->dtype, sizes, true, &tensor));
  BSM_TRY_ALLOC(bsm_ptrmap_set(r->cx->arena, &model->shapes, tensor, dims));
  *out = bsm_iv_tensor(tensor);
  return BSM_OK;
}

/* A number that is given when running is a tensor of rank 0 to an engine. */
static bsm_status number_leaf(shape_reader *r, bsm_dtype dtype,
                              bsm_ivalue *out) {
  bsm_tensor *tensor;
  BSM_TRY(bsm_tensor_new(r->cx->arena, dtype, (bsm_dims){0}, true, &tensor));
  *out = bsm_iv_tensor(tensor);
  return BSM_OK;
}

static bsm_status leaf(shape_reader *r, const bsm_exported_input_spec *spec,
                       bsm_model *model, bsm_ivalue *out) {
  const bsm_exported_arg *arg = &spec->arg;
  switch (arg->tag) {
    case BSM_EXPORTED_TENSOR: {
      const bsm_exported_meta *meta =
          bsm_exported_tensor(r->program->graph, arg->u.s);
      return meta ? tensor_leaf(r, meta, model, out)
                  : BSM_FAIL(BSM_CORRUPT, "nothing is said of its shape");
    }
    case BSM_EXPORTED_SYM_INT:
      return number_leaf(r, BSM_DTYPE_INT64, out);
    case BSM_EXPORTED_SYM_FLOAT:
      return number_leaf(r, BSM_DTYPE_DOUBLE, out);
    case BSM_EXPORTED_SYM_BOOL:
      return number_leaf(r, BSM_DTYPE_BOOL, out);
    case BSM_EXPORTED_INT:
      *out = bsm_iv_int(arg->u.i);
      return BSM_OK;
    case BSM_EXPORTED_FLOAT:
      *out = bsm_iv_double(arg->u.d);
      return BSM_OK;
    case BSM_EXPORTED_BOOL:
      *out = bsm_iv_bool(arg->u.b);
      return BSM_OK;
    case BSM_EXPORTED_STRING:
      return bsm_iv_string(r->cx->arena, bsm_str_of(arg->u.s), out);
    case BSM_EXPORTED_NONE:
      *out = bsm_iv_none();
      return BSM_OK;
    default:
      return BSM_FAIL(BSM_UNSUPPORTED, "an input of this kind");
  }
}

bsm_status bsm_xi_shapes(const bsm_exported_program *program, bsm_model *model,
                         bsm_ivalue *leaves) {
  shape_reader r = {.program = program, .cx = program->cx};
  BSM_TRY(read_symbols(&r));
  model->symbols = r.symbols;
  model->symbol_count = r.count;
  model->values_are_fixed = true;
  for (size_t i = 0; i < program->input_count; i++) {
    const bsm_exported_input_spec *spec = &program->inputs[i];
    if (spec->kind != BSM_EXPORTED_USER_INPUT &&
        spec->kind != BSM_EXPORTED_CONSTANT_INPUT) {
      continue;
    }
    BSM_TRY_NOTE(leaf(&r, spec, model, &leaves[i]), "in user input \"%s\"",
                 spec->name);
  }
  return BSM_OK;
}
