/* SPDX-License-Identifier: Apache-2.0 */
/* The remote device's form of weights. A header says what they are, so that
 * weights of another form, or of another step, are seen. */
#include <string.h>

#include "base/checked.h"
#include "tests/remote/remote_internal.h"

static const char magic[8] = "remote1";

typedef struct header {
  char magic[8];
  uint32_t kind, element;
  uint64_t count;
} header;
_Static_assert(sizeof(header) == REMOTE_PACKED_HEADER, "no padding");

bool remote_has_packed(const bsm_plan_step *step) {
  return step->kind == BSM_STEP_CONVOLUTION ||
         step->kind == BSM_STEP_DECONVOLUTION ||
         (step->kind == BSM_STEP_MATRIX_MULTIPLY &&
          step->params->matrix_multiply.constant_b);
}

/* How many values there are. */
static bsm_status count_values(const bsm_plan_step *step, int64_t in_maps,
                               int64_t *out) {
  const bsm_step_convolution *p = &step->params->convolution;
  const bsm_step_matrix_multiply *m = &step->params->matrix_multiply;
  int64_t factors[5] = {m->k, m->n, 1, 1, 1};
  if (!remote_has_packed(step)) {
    return BSM_FAIL(BSM_UNSUPPORTED, "%s: the remote device packs no weights",
                    bsm_step_kind_name(step->kind));
  }
  if (step->kind != BSM_STEP_MATRIX_MULTIPLY) {
    const bool up = step->kind == BSM_STEP_DECONVOLUTION;
    const int64_t of_group = up ? p->out_maps : in_maps;
    if (p->groups < 1 || in_maps < 1 || p->out_maps < 1 ||
        in_maps % p->groups || p->out_maps % p->groups) {
      return BSM_FAIL(BSM_CORRUPT, "%lld and %lld maps in %lld groups",
                      (long long)in_maps, (long long)p->out_maps,
                      (long long)p->groups);
    }
    factors[0] = up ? in_maps : p->out_maps;
    factors[1] = of_group / p->groups;
    memcpy(factors + 2, p->window.kernel, sizeof(p->window.kernel));
  }
  *out = 1;
  for (int i = 0; i < 5; i++) {
    if (factors[i] < 0 || !bsm_i64_mul(*out, factors[i], out) ||
        *out > (int64_t)1 << 40) {
      return BSM_FAIL(BSM_CORRUPT, "weights of a size that makes no sense");
    }
  }
  return BSM_OK;
}

bsm_status remote_packed_size(const bsm_plan_step *step, int64_t in_maps,
                              size_t element, uint64_t *size) {
  int64_t count;
  BSM_TRY(count_values(step, in_maps, &count));
  *size = REMOTE_PACKED_HEADER + (uint64_t)count * element;
  return BSM_OK;
}

static void swap_bytes(uint8_t *to, const uint8_t *from, size_t element) {
  for (size_t i = 0; i < element; i++) to[i] = from[element - 1 - i];
}

/* [N, K] gives [K, N]. */
static void pack_transposed(const bsm_step_matrix_multiply *m, size_t element,
                            const uint8_t *values, uint8_t *to) {
  for (int64_t k = 0; k < m->k; k++) {
    for (int64_t n = 0; n < m->n; n++) {
      swap_bytes(to + (size_t)(k * m->n + n) * element,
                 values + (size_t)(n * m->k + k) * element, element);
    }
  }
}

bsm_status remote_pack(const bsm_target *target, const bsm_plan_step *step,
                       int64_t in_maps, const void *values, size_t element,
                       bool transposed, void *packed, uint64_t *size) {
  int64_t count;
  (void)target;
  BSM_TRY(count_values(step, in_maps, &count));
  BSM_TRY(remote_packed_size(step, in_maps, element, size));
  if (!packed) return BSM_OK;
  header h = {.kind = (uint32_t)step->kind,
              .element = (uint32_t)element,
              .count = (uint64_t)count};
  memcpy(h.magic, magic, sizeof(magic));
  memcpy(packed, &h, sizeof(h));
  uint8_t *to = (uint8_t *)packed + sizeof(h);
  if (transposed && step->kind == BSM_STEP_MATRIX_MULTIPLY) {
    pack_transposed(&step->params->matrix_multiply, element, values, to);
    return BSM_OK;
  }
  for (size_t i = 0; i < (size_t)count; i++) {
    swap_bytes(to + i * element, (const uint8_t *)values + i * element,
               element);
  }
  return BSM_OK;
}

bsm_status remote_unpack(const bsm_plan_step *step, int64_t in_maps,
                         size_t element, const void *packed, void *values) {
  header h;
  int64_t count;
  BSM_TRY(count_values(step, in_maps, &count));
  memcpy(&h, packed, sizeof(h));
  if (memcmp(h.magic, magic, sizeof(magic)) != 0 ||
      h.kind != (uint32_t)step->kind || h.element != element ||
      h.count != (uint64_t)count) {
    return BSM_FAIL(BSM_CORRUPT, "weights that are not packed for the step");
  }
  const uint8_t *from = (const uint8_t *)packed + sizeof(h);
  for (size_t i = 0; i < (size_t)count; i++) {
    swap_bytes((uint8_t *)values + i * element, from + i * element, element);
  }
  return BSM_OK;
}
