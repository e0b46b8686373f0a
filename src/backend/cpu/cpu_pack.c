/* SPDX-License-Identifier: Apache-2.0 */
/* Packs the weights of convolutions and matrix products. */
#include "backend/cpu/cpu_pack.h"

#include <string.h>

#include "backend/cpu/cpu_phases.h"
#include "backend/cpu/cpu_recurrent.h"
#include "backend/cpu/cpu_winograd.h"
#include "backend/cpu/kernels/few_bits/few_bits_f32.h"
#include "backend/cpu/kernels/int8/int8.h"
#include "base/checked.h"

#define LIMIT ((int64_t)1 << 46) /* elements */
#define HALF_DEPTH ((int64_t)(BSM_K_INT8_DEPTH / sizeof(uint16_t)))

static bool product(const int64_t *factors, int count, int64_t *out) {
  int64_t n = 1;
  for (int i = 0; i < count; i++) {
    if (factors[i] < 0 || !bsm_i64_mul(n, factors[i], &n) || n > LIMIT) {
      return false;
    }
  }
  *out = n;
  return true;
}

static int64_t panels(int64_t n) {
  return n / BSM_PANEL + (n % BSM_PANEL != 0);
}

/* k filled to a multiple of `depth`. */
static int64_t in_groups(int64_t k, int64_t depth) {
  return (k + depth - 1) / depth * depth;
}

bsm_status bsm_cpu_packed_matrix_size_of(int64_t k, int64_t n, size_t element,
                                         uint64_t *size) {
  int64_t count;
  if (k < 0 || n < 0 || n > LIMIT ||
      !product((int64_t[]){k, panels(n), BSM_PANEL}, 3, &count)) {
    return BSM_FAIL(BSM_CORRUPT, "a matrix of %lld x %lld", (long long)k,
                    (long long)n);
  }
  *size = (uint64_t)count * element;
  return BSM_OK;
}

bsm_status bsm_cpu_few_bits_form_of(const bsm_step_matrix_multiply *p,
                                    bsm_cpu_few_bits_form *out) {
  const bool known =
      p->form >= BSM_CPU_MATRIX_INT8 && p->form <= BSM_CPU_MATRIX_INT4_128;
  const int64_t codes = BSM_K_FEW_BITS_CODES;
  int64_t count;
  *out = (bsm_cpu_few_bits_form){.bits = 8};
  if (p->k < 0 || p->n < 0 || p->n > LIMIT || !known || !p->constant_b ||
      !product((int64_t[]){p->k, panels(p->n), BSM_PANEL}, 3, &count)) {
    return BSM_FAIL(BSM_CORRUPT, "a matrix of %lld x %lld, form %d",
                    (long long)p->k, (long long)p->n, (int)p->form);
  }
  uint64_t scales = BSM_PANEL * sizeof(float);
  out->codes = (uint64_t)p->k * BSM_PANEL;
  if (p->form != BSM_CPU_MATRIX_INT8) {
    out->bits = 4;
    out->group = (int64_t)32 << (p->form - BSM_CPU_MATRIX_INT4_32);
    out->codes = (uint64_t)((p->k + codes - 1) / codes) * BSM_PANEL * 4;
    scales = (uint64_t)((p->k + out->group - 1) / out->group) * BSM_PANEL *
             sizeof(uint16_t);
  }
  out->panel =
      (out->codes + scales + BSM_ALIGNMENT - 1) / BSM_ALIGNMENT * BSM_ALIGNMENT;
  out->size = out->panel * (uint64_t)panels(p->n);
  return BSM_OK;
}

static bsm_status grouped_size(const bsm_step_convolution *p, int64_t in_maps,
                               uint64_t *size) {
  const int64_t *kernel = p->window.kernel;
  int64_t count;
  if (in_maps > LIMIT || !bsm_cpu_has_grouped_form(p, in_maps) ||
      !product((int64_t[]){kernel[0], kernel[1], kernel[2], in_maps / p->groups,
                           panels(p->out_maps), BSM_PANEL},
               6, &count)) {
    return BSM_FAIL(BSM_CORRUPT, "%lld maps in %lld groups, side by side",
                    (long long)in_maps, (long long)p->groups);
  }
  *size = (uint64_t)count * sizeof(float);
  return BSM_OK;
}

bsm_status bsm_cpu_packed_kernel_size(const bsm_step_convolution *p,
                                      int64_t in_maps, bool deconvolution,
                                      size_t element, uint64_t *size) {
  const int64_t *kernel = p->window.kernel;
  if (p->form != BSM_CPU_FORM_PLAIN && !deconvolution &&
      element == sizeof(float)) {
    return p->form == BSM_CPU_FORM_GROUPED
               ? grouped_size(p, in_maps, size)
               : bsm_cpu_winograd_size(p, in_maps, p->form, size);
  }
  if (p->groups < 1 || in_maps < 1 || p->out_maps < 1 || in_maps > LIMIT ||
      p->out_maps > LIMIT || in_maps % p->groups != 0 ||
      p->out_maps % p->groups != 0) {
    return BSM_FAIL(
        BSM_CORRUPT, "%lld input maps, %lld output maps, %lld groups",
        (long long)in_maps, (long long)p->out_maps, (long long)p->groups);
  }
  int64_t count;
  bool ok;
  if (!deconvolution && bsm_cpu_is_depthwise(p, in_maps)) {
    ok = product((int64_t[]){kernel[0], kernel[1], kernel[2], panels(in_maps),
                             BSM_PANEL},
                 5, &count);
  } else {
    ok = product(
        (int64_t[]){kernel[0], kernel[1], kernel[2], in_maps / p->groups,
                    p->groups, panels(p->out_maps / p->groups), BSM_PANEL},
        7, &count);
  }
  if (!ok) return BSM_FAIL(BSM_CORRUPT, "the kernel is too large");
  *size = (uint64_t)count * element;
  return BSM_OK;
}

bsm_status bsm_cpu_packed_int8_size(const bsm_step_convolution *p,
                                    int64_t in_maps, uint64_t *size) {
  const int64_t *kernel = p->window.kernel;
  int64_t k, count;
  if (p->groups < 1 || in_maps < 1 || p->out_maps < 1 || in_maps > LIMIT ||
      p->out_maps > LIMIT || in_maps % p->groups != 0 ||
      p->out_maps % p->groups != 0 || p->form != BSM_CPU_FORM_PLAIN ||
      !product(
          (int64_t[]){kernel[0], kernel[1], kernel[2], in_maps / p->groups}, 4,
          &k) ||
      !product((int64_t[]){k + BSM_K_INT8_DEPTH, p->groups,
                           panels(p->out_maps / p->groups), BSM_PANEL},
               4, &count)) {
    return BSM_FAIL(BSM_CORRUPT,
                    "%lld input maps, %lld output maps, %lld groups, form %d",
                    (long long)in_maps, (long long)p->out_maps,
                    (long long)p->groups, p->form);
  }
  if (bsm_cpu_is_depthwise(p, in_maps)) {
    *size = (uint64_t)(k * panels(in_maps) * BSM_PANEL);
    return BSM_OK;
  }
  *size = (uint64_t)(in_groups(k, BSM_K_INT8_DEPTH) * p->groups *
                     panels(p->out_maps / p->groups) * BSM_PANEL);
  return BSM_OK;
}

static bsm_status half_size(const bsm_plan_step *step, int64_t in_maps,
                            uint64_t *size) {
  const bsm_step_convolution *c = &step->params->convolution;
  const bsm_step_matrix_multiply *m = &step->params->matrix_multiply;
  const bool is_matrix = step->kind == BSM_STEP_MATRIX_MULTIPLY;
  const int64_t groups = is_matrix ? 1 : c->groups;
  const int64_t maps = is_matrix ? m->n : c->out_maps;
  const int64_t one[3] = {1, 1, 1};
  const int64_t *kernel = is_matrix ? one : c->window.kernel;
  int64_t k, count;
  if (groups < 1 || maps < 0 || maps > LIMIT || in_maps % groups != 0 ||
      maps % groups != 0 || (is_matrix ? m->form : c->form) != 0 ||
      !product((int64_t[]){kernel[0], kernel[1], kernel[2], in_maps / groups},
               4, &k) ||
      !product((int64_t[]){in_groups(k, HALF_DEPTH), groups,
                           panels(maps / groups), BSM_PANEL},
               4, &count)) {
    return BSM_FAIL(BSM_CORRUPT,
                    "%lld input maps, %lld output maps, %lld "
                    "groups of 16 bits",
                    (long long)in_maps, (long long)maps, (long long)groups);
  }
  if (!is_matrix && bsm_cpu_is_half_depthwise(c, in_maps) &&
      !product((int64_t[]){k, panels(maps), BSM_PANEL}, 3, &count)) {
    return BSM_FAIL(BSM_CORRUPT, "the kernel is too large");
  }
  *size = (uint64_t)count * sizeof(uint16_t);
  return BSM_OK;
}

/* Of all phases. */
bsm_status bsm_cpu_packed_half_size(const bsm_plan_step *step, int64_t in_maps,
                                    uint64_t *size) {
  if (step->kind != BSM_STEP_DECONVOLUTION) {
    return half_size(step, in_maps, size);
  }
  const bsm_step_convolution *p = &step->params->convolution;
  BSM_TRY(bsm_cpu_check_phases(p));
  *size = 0;
  for (int64_t i = 0; i < bsm_cpu_phase_count(p); i++) {
    bsm_cpu_phase f;
    uint64_t bytes;
    bsm_cpu_phase_of(p, i, &f);
    BSM_TRY(half_size(&f.step, in_maps, &bytes));
    *size += bytes;
  }
  return BSM_OK;
}

/* Packing copies values of 4 or 8 bytes and knows nothing else about them. */
typedef struct packing {
  const uint8_t *values;
  uint8_t *packed;
  size_t element;
} packing;

/* [panels][k][16] of a [k, n] matrix with any strides. */
static void pack_panels(const packing *p, int64_t from, int64_t k, int64_t n,
                        int64_t k_stride, int64_t n_stride, int64_t to,
                        int64_t panel_stride) {
  for (int64_t j = 0; j < n; j += BSM_PANEL) {
    const int64_t panel = to + j / BSM_PANEL * panel_stride;
    const int64_t width = n - j < BSM_PANEL ? n - j : BSM_PANEL;
    for (int64_t i = 0; i < k; i++) {
      const int64_t row = from + i * k_stride + j * n_stride;
      if (p->element == sizeof(uint32_t)) {
        const uint32_t *in = (const uint32_t *)(const void *)p->values + row;
        uint32_t *out = (uint32_t *)(void *)p->packed + panel + i * BSM_PANEL;
        for (int64_t c = 0; c < width; c++) out[c] = in[c * n_stride];
      } else {
        const uint64_t *in = (const uint64_t *)(const void *)p->values + row;
        uint64_t *out = (uint64_t *)(void *)p->packed + panel + i * BSM_PANEL;
        for (int64_t c = 0; c < width; c++) out[c] = in[c * n_stride];
      }
    }
  }
}

int64_t bsm_cpu_merged_groups(const bsm_step_convolution *p) {
  int64_t m = BSM_PANEL / (p->out_maps / p->groups);
  if (m > p->groups) m = p->groups;
  while (m > 1 && p->groups % m != 0) m--;
  return m > 1 ? m : 1;
}

/* `values`: [out, in / groups, taps], or [in, out / groups, taps]. */
static void pack_kernel(const bsm_step_convolution *p, int64_t in_maps,
                        bool deconvolution, const packing *data) {
  const int64_t *kernel = p->window.kernel;
  const int64_t taps = kernel[0] * kernel[1] * kernel[2];
  const int64_t ci = in_maps / p->groups, co = p->out_maps / p->groups;
  const int64_t merged = bsm_cpu_merged_groups(p);
  const int64_t tap = merged * ci * BSM_PANEL; /* elements of a panel */
  const int64_t group = panels(merged * co) * taps * tap;
  for (int64_t g = 0; g < p->groups; g++) {
    /* The rows and columns of this group in its merged group. */
    const int64_t row = g % merged * ci, column = g % merged * co;
    const int64_t to = g / merged * group + row * BSM_PANEL + column;
    for (int64_t t = 0; t < taps; t++) {
      if (deconvolution) {
        pack_panels(data, g * ci * co * taps + t, ci, co, co * taps, taps,
                    to + t * tap, taps * tap);
      } else {
        pack_panels(data, g * co * ci * taps + t, ci, co, taps, ci * taps,
                    to + t * tap, taps * tap);
      }
    }
  }
}

static void pack_depthwise(const bsm_step_convolution *p, const packing *data) {
  const int64_t *kernel = p->window.kernel;
  const int64_t taps = kernel[0] * kernel[1] * kernel[2];
  const int64_t width = panels(p->groups) * BSM_PANEL;
  for (int64_t t = 0; t < taps; t++) {
    for (int64_t c = 0; c < p->groups; c++) {
      memcpy(data->packed + (size_t)(t * width + c) * data->element,
             data->values + (size_t)(c * taps + t) * data->element,
             data->element);
    }
  }
}

/* `values`: [out, in / groups, taps]. */
static void pack_grouped(const bsm_step_convolution *p, int64_t in_maps,
                         const packing *data) {
  const int64_t *kernel = p->window.kernel;
  const int64_t taps = kernel[0] * kernel[1] * kernel[2];
  const int64_t ci = in_maps / p->groups;
  const uint8_t *from = data->values;
  for (int64_t o = 0; o < p->out_maps; o++) {
    const int64_t to = o / BSM_PANEL * taps * ci * BSM_PANEL + o % BSM_PANEL;
    for (int64_t i = 0; i < ci; i++) {
      for (int64_t t = 0; t < taps; t++, from += data->element) {
        const int64_t at = to + (t * ci + i) * BSM_PANEL;
        memcpy(data->packed + (size_t)at * data->element, from, data->element);
      }
    }
  }
}

/* `values`: [out, in / groups, taps], of 1 or 2 bytes; `packed` is zeros. */
static void pack_in_groups(const bsm_step_convolution *p, int64_t in_maps,
                           const packing *data) {
  const int64_t *kernel = p->window.kernel;
  const int64_t taps = kernel[0] * kernel[1] * kernel[2];
  const int64_t ci = in_maps / p->groups, co = p->out_maps / p->groups;
  const int64_t depth = BSM_K_INT8_DEPTH / (int64_t)data->element;
  const int64_t panel = in_groups(taps * ci, depth) * BSM_PANEL;
  const uint8_t *from = data->values;
  for (int64_t o = 0; o < p->out_maps; o++) {
    const int64_t column = o % co;
    const int64_t to = (o / co * panels(co) + column / BSM_PANEL) * panel +
                       column % BSM_PANEL * depth;
    for (int64_t i = 0; i < ci; i++) {
      for (int64_t t = 0; t < taps; t++, from += data->element) {
        const int64_t k = t * ci + i;
        const int64_t at = to + k / depth * depth * BSM_PANEL + k % depth;
        memcpy(data->packed + (size_t)at * data->element, from, data->element);
      }
    }
  }
}

/* A matrix [K, N], or [N, K], of 16 bits. */
static void pack_half_matrix(const bsm_step_matrix_multiply *p,
                             const uint16_t *values, bool transposed,
                             uint16_t *packed) {
  const int64_t panel = in_groups(p->k, HALF_DEPTH) * BSM_PANEL;
  const int64_t k_stride = transposed ? 1 : p->n;
  const int64_t n_stride = transposed ? p->k : 1;
  for (int64_t n = 0; n < p->n; n++) {
    uint16_t *to = packed + n / BSM_PANEL * panel + n % BSM_PANEL * HALF_DEPTH;
    for (int64_t k = 0; k < p->k; k++) {
      to[k / HALF_DEPTH * HALF_DEPTH * BSM_PANEL + k % HALF_DEPTH] =
          values[k * k_stride + n * n_stride];
    }
  }
}

static void pack_half_kernel(const bsm_step_convolution *p, int64_t in_maps,
                             const packing *data) {
  if (!bsm_cpu_is_half_depthwise(p, in_maps)) {
    pack_in_groups(p, in_maps, data);
  } else if (bsm_cpu_is_depthwise(p, in_maps)) {
    pack_depthwise(p, data);
  } else {
    pack_grouped(p, in_maps, data);
  }
}

/* The kernel of a phase, [out, in / groups, taps], of one that is
 * [in, out / groups, taps]. */
static void take_phase(const bsm_step_convolution *p, int64_t in_maps,
                       const bsm_cpu_phase *f, const uint16_t *values,
                       uint16_t *to) {
  const int64_t *all = p->window.kernel;
  const int64_t *kernel = f->params.convolution.window.kernel;
  const int64_t ci = in_maps / p->groups, co = p->out_maps / p->groups;
  const int64_t taps = kernel[0] * kernel[1] * kernel[2];
  for (int64_t t = 0; t < taps; t++) {
    int64_t from = 0, before = taps;
    for (int d = 0; d < 3; d++) {
      before /= kernel[d];
      from = from * all[d] + f->last[d] - t / before % kernel[d] * f->apart[d];
    }
    for (int64_t o = 0; o < p->out_maps; o++) {
      const int64_t first = o / co * ci * co + o % co;
      for (int64_t i = 0; i < ci; i++) {
        to[(o * ci + i) * taps + t] =
            values[(first + i * co) * all[0] * all[1] * all[2] + from];
      }
    }
  }
}

static bsm_status pack_phases(const bsm_step_convolution *p, int64_t in_maps,
                              const packing *data, bsm_arena *arena) {
  uint16_t *packed = (uint16_t *)(void *)data->packed;
  for (int64_t i = 0; i < bsm_cpu_phase_count(p); i++) {
    bsm_cpu_phase f;
    uint64_t size;
    bsm_cpu_phase_of(p, i, &f);
    const bsm_step_convolution *own = &f.params.convolution;
    const int64_t *kernel = own->window.kernel;
    const bool has_taps = f.last[0] >= 0 && f.last[1] >= 0 && f.last[2] >= 0;
    BSM_TRY(half_size(&f.step, in_maps, &size));
    if (has_taps) {
      uint16_t *values = BSM_NEW_ARRAY(
          arena, uint16_t,
          (size_t)(kernel[0] * kernel[1] * kernel[2] * p->out_maps) *
              (size_t)(in_maps / p->groups));
      BSM_TRY_ALLOC(values);
      take_phase(p, in_maps, &f, (const uint16_t *)(const void *)data->values,
                 values);
      pack_half_kernel(own, in_maps,
                       &(packing){(const uint8_t *)values, (uint8_t *)packed,
                                  sizeof(*packed)});
    }
    packed += size / sizeof(*packed);
  }
  return BSM_OK;
}

static bsm_status pack_half(const bsm_plan_step *step, int64_t in_maps,
                            const packing *data, bool transposed,
                            uint64_t *size) {
  const bool is_matrix = step->kind == BSM_STEP_MATRIX_MULTIPLY;
  BSM_TRY(bsm_cpu_packed_half_size(
      step, is_matrix ? step->params->matrix_multiply.k : in_maps, size));
  if (!data->packed) return BSM_OK;
  memset(data->packed, 0, (size_t)*size);
  if (is_matrix) {
    pack_half_matrix(&step->params->matrix_multiply,
                     (const uint16_t *)(const void *)data->values, transposed,
                     (uint16_t *)(void *)data->packed);
    return BSM_OK;
  }
  if (step->kind == BSM_STEP_CONVOLUTION) {
    pack_half_kernel(&step->params->convolution, in_maps, data);
    return BSM_OK;
  }
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_status status =
      pack_phases(&step->params->convolution, in_maps, data, &arena);
  bsm_arena_destroy(&arena);
  return status;
}

static bsm_status pack_bytes(const bsm_plan_step *step, int64_t in_maps,
                             const int8_t *values, int8_t *packed,
                             uint64_t *size) {
  const bsm_step_convolution *p = &step->params->int8_convolution.convolution;
  BSM_TRY(bsm_cpu_packed_int8_size(p, in_maps, size));
  if (!packed) return BSM_OK;
  memset(packed, 0, (size_t)*size);
  const packing data = {(const uint8_t *)values, (uint8_t *)packed, 1};
  if (bsm_cpu_is_depthwise(p, in_maps)) {
    pack_depthwise(p, &data);
  } else {
    pack_in_groups(p, in_maps, &data);
  }
  return BSM_OK;
}

/* What makes a matrix of few bits is the target's (cpu_few_bits.h). */
static bsm_status few_bits_size(const bsm_step_matrix_multiply *p,
                                const void *packed, uint64_t *size) {
  bsm_cpu_few_bits_form form;
  BSM_TRY(bsm_cpu_few_bits_form_of(p, &form));
  *size = form.size;
  return packed ? BSM_FAIL(BSM_INTERNAL, "a matrix of few bits is packed")
                : BSM_OK;
}

bsm_status bsm_cpu_pack(const bsm_plan_step *step, int64_t in_maps,
                        const void *values, size_t element, bool transposed,
                        void *packed, uint64_t *size) {
  const packing data = {values, packed, element};
  if (step->kind == BSM_STEP_INT8_CONVOLUTION && element == 1) {
    return pack_bytes(step, in_maps, values, packed, size);
  }
  if (element == sizeof(uint16_t) && (step->kind == BSM_STEP_CONVOLUTION ||
                                      step->kind == BSM_STEP_DECONVOLUTION ||
                                      step->kind == BSM_STEP_MATRIX_MULTIPLY)) {
    return pack_half(step, in_maps, &data, transposed, size);
  }
  if (element != sizeof(uint32_t) && element != sizeof(uint64_t)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "weights of %zu bytes each", element);
  }
  if (step->kind == BSM_STEP_MATRIX_MULTIPLY) {
    const bsm_step_matrix_multiply *p = &step->params->matrix_multiply;
    if (p->form != BSM_CPU_MATRIX_PLAIN) return few_bits_size(p, packed, size);
    BSM_TRY(bsm_cpu_packed_matrix_size_of(p->k, p->n, element, size));
    if (!packed) return BSM_OK;
    memset(packed, 0, (size_t)*size);
    pack_panels(&data, 0, p->k, p->n, transposed ? 1 : p->n,
                transposed ? p->k : 1, 0, p->k * BSM_PANEL);
    return BSM_OK;
  }
  if (step->kind == BSM_STEP_RECURRENT) {
    return bsm_cpu_pack_recurrent(&step->params->recurrent, values, packed,
                                  size);
  }
  if (step->kind != BSM_STEP_CONVOLUTION &&
      step->kind != BSM_STEP_DECONVOLUTION) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "%s steps have no packed weights",
                    bsm_step_kind_name(step->kind));
  }
  const bool deconvolution = step->kind == BSM_STEP_DECONVOLUTION;
  const bsm_step_convolution *p = &step->params->convolution;
  BSM_TRY(bsm_cpu_packed_kernel_size(p, in_maps, deconvolution, element, size));
  if (!packed) return BSM_OK;
  if (p->form == BSM_CPU_FORM_GROUPED) {
    memset(packed, 0, (size_t)*size);
    pack_grouped(p, in_maps, &data);
    return BSM_OK;
  }
  if (p->form != BSM_CPU_FORM_PLAIN) {
    bsm_cpu_winograd_pack(p, in_maps, p->form, values, packed);
    return BSM_OK;
  }
  memset(packed, 0, (size_t)*size);
  if (!deconvolution && bsm_cpu_is_depthwise(p, in_maps)) {
    pack_depthwise(p, &data);
  } else {
    pack_kernel(p, in_maps, deconvolution, &data);
  }
  return BSM_OK;
}
