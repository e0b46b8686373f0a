/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that sizes of inputs agree. */
#include "exported/import_sizes.h"

/* A dim of a user input that is not a plain number. */
typedef struct open_dim {
  const char *input;
  size_t dim;
  const bsm_sym_expr *expr;
  bool defines; /* its symbol */
} open_dim;

typedef struct sizes {
  bsm_importer *im;
  const bsm_import_scope *scope;
  BSM_VEC(open_dim) dims;
  bsm_value **symbols; /* by number; NULL: no dim is it */
  size_t symbol_count;
} sizes;

static bsm_status add_input(sizes *s, const bsm_exported_input_spec *spec) {
  const bsm_exported_meta *meta =
      spec->kind == BSM_EXPORTED_USER_INPUT &&
              spec->arg.tag == BSM_EXPORTED_TENSOR
          ? bsm_exported_tensor(s->im->program->graph, spec->arg.u.s)
          : NULL;
  for (size_t d = 0; meta && d < meta->rank; d++) {
    const open_dim dim = {spec->name, d, meta->sizes[d].expr, false};
    if (!dim.expr) continue;
    BSM_TRY_ALLOC(bsm_vec_push(s->im->arena, &s->dims, dim));
  }
  return BSM_OK;
}

static bsm_status size_of(sizes *s, const open_dim *dim, bsm_value **out) {
  bsm_value *args[2];
  BSM_TRY(bsm_xi_find(s->im, s->scope, dim->input, &args[0]));
  BSM_TRY(bsm_xi_int(s->im, (int64_t)dim->dim, &args[1]));
  return bsm_xi_op(s->im, "aten::size.int", args, 2, out);
}

static bsm_status define_symbols(sizes *s) {
  for (size_t i = 0; i < s->dims.len; i++) {
    open_dim *dim = &s->dims.items[i];
    const size_t symbol = (size_t)dim->expr->i;
    if (dim->expr->op != BSM_SYM_SYMBOL || symbol >= s->symbol_count ||
        s->symbols[symbol]) {
      continue;
    }
    dim->defines = true;
    BSM_TRY(size_of(s, dim, &s->symbols[symbol]));
  }
  return BSM_OK;
}

static bool uses(const bsm_sym_expr *expr, int64_t symbol) {
  if (expr->op == BSM_SYM_SYMBOL) return expr->i == symbol;
  for (size_t i = 0; i < expr->arg_count; i++) {
    if (uses(expr->args[i], symbol)) return true;
  }
  return false;
}

/* ", where s77 is dimension 0 of input "x"", for each symbol in it. */
static void print_symbols(const sizes *s, const bsm_sym_expr *expr,
                          bsm_text *text) {
  for (size_t i = 0; i < s->dims.len; i++) {
    const open_dim *dim = &s->dims.items[i];
    if (!dim->defines || !uses(expr, dim->expr->i)) continue;
    bsm_text_puts(text, ", where ");
    bsm_sym_print(text, dim->expr, &s->im->program->symbols);
    bsm_text_printf(text, " is dimension %zu of input \"%s\"", dim->dim,
                    dim->input);
  }
}

static bsm_status check_dim(sizes *s, const open_dim *dim) {
  const bsm_exported_program *p = s->im->program;
  bsm_value *args[2], *same;
  bsm_text text;
  BSM_TRY(bsm_xi_expr(s->im, dim->expr, s->symbols, s->symbol_count, &args[1]));
  if (!args[1]) return BSM_OK; /* nothing to compare it with */
  BSM_TRY(size_of(s, dim, &args[0]));
  bsm_text_init(&text, s->im->arena);
  bsm_text_printf(&text, "dimension %zu of input \"%s\" must be ", dim->dim,
                  dim->input);
  bsm_sym_print(&text, dim->expr, &p->symbols);
  print_symbols(s, dim->expr, &text);
  if (text.failed) return BSM_FAIL_OOM();
  BSM_TRY(bsm_xi_call(s->im, "aten::eq", args, 2, &same));
  return bsm_xi_check(s->im, same, text.data);
}

bsm_status bsm_xi_check_sizes(bsm_importer *im, const bsm_import_scope *scope) {
  const bsm_exported_program *p = im->program;
  sizes s = {.im = im, .scope = scope};
  s.symbol_count = p->symbols.symbols.len;
  s.symbols = BSM_NEW_ARRAY(im->arena, bsm_value *, s.symbol_count + 1);
  BSM_TRY_ALLOC(s.symbols);
  for (size_t i = 0; i < p->input_count; i++) {
    BSM_TRY(add_input(&s, &p->inputs[i]));
  }
  BSM_TRY(define_symbols(&s));
  for (size_t i = 0; i < s.dims.len; i++) {
    if (!s.dims.items[i].defines) BSM_TRY(check_dim(&s, &s.dims.items[i]));
  }
  return BSM_OK;
}
