/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of kernels. */
#include "backend/cuda/cuda_forms.h"

#include <string.h>

#include "backend/cuda/cuda_device.h"

const char *bsm_cuda_form_name(bsm_arena *arena, const char *form,
                               const char *kernel) {
  return bsm_arena_printf(arena, "%s %s", form, kernel);
}

static bool take(bsm_str *text, const char *start) {
  if (!bsm_str_starts_with(*text, bsm_str_of(start))) return false;
  text->data += strlen(start);
  text->len -= strlen(start);
  return true;
}

bool bsm_cuda_architecture_parse(bsm_str text, bsm_cuda_form *out) {
  int64_t number;
  *out = (bsm_cuda_form){0};
  out->is_ptx = take(&text, "compute_");
  if (!out->is_ptx && !take(&text, "sm_")) return false;
  out->specific = !out->is_ptx && text.len && text.data[text.len - 1] == 'a';
  if (out->specific) text.len--;
  if (!bsm_parse_i64(text, &number) || number < BSM_CUDA_MIN_SM ||
      number > 999) {
    return false;
  }
  out->sm = (int)number;
  return true;
}

bool bsm_cuda_form_parse(const char *name, bsm_cuda_form *out) {
  const char *space = strchr(name, ' ');
  if (!space || !bsm_cuda_architecture_parse(
                    (bsm_str){name, (size_t)(space - name)}, out)) {
    return false;
  }
  out->kernel = space + 1;
  return true;
}

int bsm_cuda_form_rank(const bsm_cuda_form *form, int sm) {
  if (form->is_ptx) return form->sm <= sm;
  if (form->specific) return form->sm == sm ? 2 : 0;
  return form->sm / 10 == sm / 10 && form->sm <= sm ? 2 : 0;
}
