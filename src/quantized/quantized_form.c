/* SPDX-License-Identifier: Apache-2.0 */
/* The forms by name, and ops in place by the form of those that are not. */
#include "quantized/form_kit.h"

#include <string.h>

#define TABLES(T)  \
  T(convolution)   \
  T(linear)        \
  T(binary)        \
  T(activation)    \
  T(normalization) \
  T(same) T(embedding) T(recurrent) T(quantize) T(move) T(torchao)

#define DECLARE(name) extern const bsm_q_table bsm_q_forms_##name;
TABLES(DECLARE)
#undef DECLARE

#define ROW(name) &bsm_q_forms_##name,
static const bsm_q_table *const tables[] = {TABLES(ROW)};
#undef ROW
#define TABLE_COUNT (sizeof(tables) / sizeof(tables[0]))

size_t bsm_q_form_count(void) {
  size_t count = 0;
  for (size_t i = 0; i < TABLE_COUNT; i++) count += tables[i]->count;
  return count;
}

const bsm_q_form *bsm_q_form_at(size_t index) {
  size_t i = 0;
  for (; index >= tables[i]->count; i++) index -= tables[i]->count;
  return &tables[i]->forms[index];
}

static const bsm_q_form *find(const char *name) {
  const size_t length = strlen(name);
  for (size_t i = 0; i < TABLE_COUNT; i++) {
    for (size_t k = 0; k < tables[i]->count; k++) {
      const char *schema = tables[i]->forms[k].schema;
      if (strncmp(schema, name, length) == 0 &&
          (schema[length] == '(' || schema[length] == '\0')) {
        return &tables[i]->forms[k];
      }
    }
  }
  return NULL;
}

bool bsm_q_is_in_place(const char *name, char plain[64]) {
  const char *dot = strchr(name, '.');
  const size_t base = dot ? (size_t)(dot - name) : strlen(name);
  const size_t length = strlen(name);
  if (base == 0 || name[base - 1] != '_' || length >= 64 ||
      (base > 1 && name[base - 2] == '_')) {
    return false;
  }
  memcpy(plain, name, base - 1);
  memcpy(plain + base - 1, name + base, length - base + 1);
  return true;
}

const bsm_q_form *bsm_q_find(const char *name) {
  char plain[64];
  const bsm_q_form *form = find(name);
  if (form || !bsm_q_is_in_place(name, plain)) return form;
  form = find(plain);
  return form && form->kind == BSM_Q_TENSOR ? form : NULL;
}

/* The result takes the place of the first argument's integers. */
static bsm_status write_back(const bsm_q_call *c, const bsm_ivalue *result,
                             bsm_ivalue *out) {
  bsm_ivalue to, from, written;
  bsm_q_grid before, after;
  bool was, is;
  BSM_TRY(c->b->split(c->b, &c->args[0], &to, &before, &was));
  BSM_TRY(c->b->split(c->b, result, &from, &after, &is));
  if (!was || !is || !bsm_q_same_grid(&before, &after)) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    "%s in place would change the scale of the tensor",
                    c->name);
  }
  Q_CALL(c, &written, "aten::copy_", to, from, B(false));
  *out = c->args[0];
  return BSM_OK;
}

bsm_status bsm_q_run(bsm_q_builder *b, const char *name, const bsm_ivalue *args,
                     size_t n, bsm_ivalue *outs, size_t n_outs) {
  char plain[64];
  const bsm_q_form *form = bsm_q_find(name);
  if (!form) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s of a quantized tensor", name);
  }
  bsm_q_call c = {b, form, name, args, n, outs, n_outs};
  if (find(name)) return bsm_status_note(form->run(&c), "in %s", name);
  (void)bsm_q_is_in_place(name, plain);
  bsm_ivalue result;
  c.name = plain;
  c.outs = &result;
  BSM_TRY_NOTE(form->run(&c), "in %s", name);
  return write_back(&c, &result, &outs[0]);
}
