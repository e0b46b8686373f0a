/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, fills, padding and gathers against plain loops. */
#include "base/byte_order.h"
#include "tests/conformance/step_harness.h"

static void permuted_strides(harness_rng *r, bsm_dims d, int64_t *s) {
  int32_t order[BSM_MAX_RANK];
  for (int32_t i = 0; i < d.rank; i++) order[i] = i;
  for (int32_t i = d.rank - 1; i > 0; i--) {
    const int32_t j = rng_range(r, 0, i), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  int64_t step = rng_range(r, 0, 3) ? 1 : 2;
  for (int32_t i = d.rank - 1; i >= 0; i--) {
    s[order[i]] = step;
    step *= d.d[order[i]] + (rng_range(r, 0, 5) ? 0 : 1);
  }
}

static bsm_dims small_dims(harness_rng *r, int max_rank, int big) {
  bsm_dims d = {.rank = rng_range(r, 0, max_rank)};
  for (int32_t i = 0; i < d.rank; i++) d.d[i] = rng_range(r, 1, 9);
  if (d.rank > 0) d.d[rng_range(r, 0, d.rank - 1)] = rng_range(r, 1, big);
  return d;
}

/* `size` bytes as a number of this machine. */
static uint64_t bits_of(const void *p, size_t size) {
  uint64_t v = 0;
  memcpy((char *)&v + (BSM_HOST_IS_BIG ? sizeof(v) - size : 0), p, size);
  return v;
}

static uint64_t bytes_at(const harness *h, bool output, const int64_t *index) {
  const bsm_plan_tensor *t =
      &h->tensors[output ? h->step.outputs[0] : h->step.inputs[0]];
  const size_t size = bsm_dtype_size(t->dtype);
  return bits_of((const char *)(output ? h->outputs[0] : h->inputs[0]) +
                     (size_t)offset_of(t, index) * size,
                 size);
}

static void random_bytes(harness *h, harness_rng *r) {
  guarded *g = &h->data[h->step.inputs[0]];
  for (size_t i = 0; i < g->size; i++) g->data[i] = (uint8_t)rng_next(r);
}

/* ---- copy ---- */

static void compare_copy(harness *h, uint32_t isa, void *arg) {
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  int64_t index[BSM_MAX_RANK] = {0};
  (void)isa;
  (void)arg;
  do {
    assert_true(bytes_at(h, true, index) == bytes_at(h, false, index));
  } while (next_index(y->dims, index));
}

static void test_copy(void **state) {
  static const bsm_dtype dtypes[] = {BSM_DTYPE_FLOAT, BSM_DTYPE_INT64,
                                     BSM_DTYPE_UINT8, BSM_DTYPE_HALF};
  harness_rng r = {41};
  (void)state;
  suite_needs(BSM_STEP_COPY);
  for (int i = 0; i < 300; i++) {
    harness h;
    int64_t s[BSM_MAX_RANK];
    harness_init(&h, BSM_STEP_COPY);
    const bsm_dims d = small_dims(&r, 4, 100);
    const bsm_dtype dtype = dtypes[i % 6 < 3 ? 0 : i % 4];
    permuted_strides(&r, d, s);
    if (i % 7 == 0 && d.rank > 0) s[0] = 0; /* expanded */
    add_input(&h, dtype, d, s);
    random_bytes(&h, &r);
    permuted_strides(&r, d, s);
    add_output(&h, dtype, d, s);
    harness_run_all(&h, compare_copy, NULL);
    harness_free(&h);
  }
}

/* Planes of bytes, and of 16 bits, that become pixels. */
static void test_pixels(void **state) {
  harness_rng r = {59};
  (void)state;
  suite_needs(BSM_STEP_COPY);
  for (int i = 0; i < 12; i++) {
    const int64_t width = (int64_t[]){7, 22, 67, 202, 607, 1822}[i / 2];
    const bsm_dtype dtype = i % 2 ? BSM_DTYPE_HALF : BSM_DTYPE_UINT8;
    const bsm_dims d = dims_of(4, 2, 3, 3, width);
    const int64_t extra = width % 2;
    const int64_t planes[] = {9 * width + extra, 3 * width, width, 1};
    const int64_t pixels[] = {9 * width + extra, 1, 3 * width, 3};
    harness h;
    harness_init(&h, BSM_STEP_COPY);
    add_input(&h, dtype, d, planes);
    random_bytes(&h, &r);
    add_output(&h, dtype, d, pixels);
    harness_run_all(&h, compare_copy, NULL);
    harness_free(&h);
  }
}

/* Pixels that become planes: of so few that threads share lines of one. */
static void test_planes(void **state) {
  harness_rng r = {61};
  (void)state;
  suite_needs(BSM_STEP_COPY);
  for (int i = 0; i < 8; i++) {
    const int64_t maps = (int64_t[]){8, 24, 65, 130}[i % 4];
    const int64_t width = (int64_t[]){4100, 1021}[i / 4];
    const bsm_dims d = dims_of(4, 1, maps, 3, width);
    const int64_t pixels[] = {3 * maps * width, 1, maps * width, maps};
    const int64_t planes[] = {3 * maps * width, 3 * width, width, 1};
    harness h;
    harness_init(&h, BSM_STEP_COPY);
    add_input(&h, BSM_DTYPE_FLOAT, d, pixels);
    random_bytes(&h, &r);
    add_output(&h, BSM_DTYPE_FLOAT, d, planes);
    harness_run_all(&h, compare_copy, NULL);
    harness_free(&h);
  }
}

static void compare_cast(harness *h, uint32_t isa, void *arg) {
  const float *y = h->outputs[0];
  (void)isa;
  (void)arg;
  for (int i = 0; i < 7; i++) {
    for (int j = 0; j < 600; j++) {
      assert_true(y[i * 600 + j] == (float)(i * 600 + j));
    }
  }
}

static void test_casting_copy(void **state) {
  harness h;
  (void)state;
  suite_needs(BSM_STEP_COPY);
  harness_init(&h, BSM_STEP_COPY);
  int64_t *x =
      add_input(&h, BSM_DTYPE_INT64, dims_of(2, 7, 600), (int64_t[]){1, 7});
  for (int i = 0; i < 7; i++) {
    for (int j = 0; j < 600; j++) x[j * 7 + i] = i * 600 + j;
  }
  add_output(&h, BSM_DTYPE_FLOAT, dims_of(2, 7, 600), NULL);
  harness_run_all(&h, compare_cast, NULL);
  harness_free(&h);
}

/* ---- fill ---- */

static void compare_fill(harness *h, uint32_t isa, void *arg) {
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  int64_t index[BSM_MAX_RANK] = {0};
  (void)isa;
  do {
    assert_true(bytes_at(h, true, index) == *(const uint64_t *)arg);
  } while (next_index(y->dims, index));
}

static void test_fill(void **state) {
  struct {
    bsm_dtype dtype;
    double value;
    int64_t integer;
    uint64_t bits;
  } cases[] = {{BSM_DTYPE_FLOAT, 1.5, 0, 0x3fc00000},
               {BSM_DTYPE_INT64, 0, -1, UINT64_MAX},
               {BSM_DTYPE_BOOL, 1, 1, 1},
               {BSM_DTYPE_INT8, 0, -2, 0xfe},
               {BSM_DTYPE_HALF, -2, 0, 0xc000},
               {BSM_DTYPE_BFLOAT16, 1, 0, 0x3f80},
               {BSM_DTYPE_DOUBLE, 2, 0, 0x4000000000000000}};
  (void)state;
  suite_needs(BSM_STEP_FILL);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    harness h;
    harness_init(&h, BSM_STEP_FILL);
    h.params.fill = (bsm_step_fill){cases[i].value, cases[i].integer};
    add_output(&h, cases[i].dtype, dims_of(3, 3, 5, 7),
               i % 2 ? (int64_t[]){80, 1, 6} : NULL);
    harness_run_all(&h, compare_fill, &cases[i].bits);
    harness_free(&h);
  }
}

/* ---- pad ---- */

static int64_t padded_index(int32_t mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  if (mode == BSM_PADDING_CONSTANT) return -1;
  if (mode == BSM_PADDING_REPLICATE) return i < 0 ? 0 : n - 1;
  if (mode == BSM_PADDING_CIRCULAR) return (i % n + n) % n;
  while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
  return i;
}

static void compare_pad(harness *h, uint32_t isa, void *arg) {
  const bsm_step_pad *p = &h->params.pad;
  const bsm_plan_tensor *x = &h->tensors[h->step.inputs[0]];
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  int64_t index[BSM_MAX_RANK] = {0}, from[BSM_MAX_RANK];
  (void)isa;
  (void)arg;
  do {
    bool inside = true;
    for (int32_t i = 0; i < y->dims.rank; i++) {
      from[i] = padded_index(p->mode, index[i] + p->start[i], x->dims.d[i]);
      inside = inside && from[i] >= 0;
    }
    const float fill = (float)p->fill_value;
    uint64_t expected = 0;
    if (inside) {
      expected = bytes_at(h, false, from);
    } else {
      expected = bits_of(&fill, sizeof(fill));
    }
    assert_true(bytes_at(h, true, index) == expected);
  } while (next_index(y->dims, index));
}

static void test_pad(void **state) {
  harness_rng r = {42};
  (void)state;
  suite_needs(BSM_STEP_PAD);
  for (int i = 0; i < 200; i++) {
    harness h;
    int64_t s[BSM_MAX_RANK];
    harness_init(&h, BSM_STEP_PAD);
    bsm_step_pad *p = &h.params.pad;
    const bsm_dims d = small_dims(&r, 4, 40);
    bsm_dims out = d;
    p->mode = i % 4;
    p->fill_value = -3.5;
    for (int32_t k = 0; k < d.rank; k++) {
      const int n = (int)d.d[k];
      const int most = p->mode == BSM_PADDING_REFLECT    ? n - 1
                       : p->mode == BSM_PADDING_CIRCULAR ? n
                                                         : 5;
      const int room = most < 4 ? most : 4;
      const int before = rng_range(&r, -(n - 1), room);
      p->start[k] = -before;
      const int after = rng_range(&r, -(n - 1), room);
      out.d[k] = n + before + after;
      if (out.d[k] < 1) {
        out.d[k] = n;
        p->start[k] = 0;
      }
    }
    permuted_strides(&r, d, s);
    add_input(&h, BSM_DTYPE_FLOAT, d, s);
    random_bytes(&h, &r);
    permuted_strides(&r, out, s);
    add_output(&h, BSM_DTYPE_FLOAT, out, s);
    harness_run_all(&h, compare_pad, NULL);
    harness_free(&h);
  }
}

/* ---- gather ---- */

static int64_t index_at(const harness *h, const int64_t *index) {
  const bsm_plan_tensor *t = &h->tensors[h->step.inputs[1]];
  const int64_t o = offset_of(t, index);
  return t->dtype == BSM_DTYPE_INT32 ? ((const int32_t *)h->inputs[1])[o]
                                     : ((const int64_t *)h->inputs[1])[o];
}

static void compare_gather(harness *h, uint32_t isa, void *arg) {
  const bsm_step_gather *p = &h->params.gather;
  const bsm_plan_tensor *x = &h->tensors[h->step.inputs[0]];
  const bsm_plan_tensor *z = &h->tensors[h->step.inputs[1]];
  const bsm_plan_tensor *y = &h->tensors[h->step.outputs[0]];
  int64_t index[BSM_MAX_RANK] = {0}, from[BSM_MAX_RANK];
  (void)isa;
  (void)arg;
  do {
    int64_t at[BSM_MAX_RANK];
    if (p->mode == BSM_GATHER_ELEMENT) {
      memcpy(from, index, sizeof(from));
      from[p->axis] = index_at(h, index);
    } else if (p->mode != BSM_GATHER_ND) {
      for (int32_t i = 0; i < x->dims.rank; i++) {
        if (i == p->axis) continue;
        from[i] = index[i < p->axis ? i : i + z->dims.rank - 1];
      }
      for (int32_t i = 0; i < z->dims.rank; i++) at[i] = index[p->axis + i];
      from[p->axis] = index_at(h, at);
    } else {
      const int32_t lead = z->dims.rank - 1;
      memcpy(at, index, sizeof(at));
      for (int32_t i = 0; i < x->dims.rank; i++) {
        if (i < z->dims.d[lead]) {
          at[lead] = i;
          from[i] = index_at(h, at);
        } else {
          from[i] = index[lead + i - z->dims.d[lead]];
        }
      }
    }
    for (int32_t i = 0; i < x->dims.rank; i++) {
      if (from[i] < 0) from[i] += x->dims.d[i];
    }
    assert_true(bytes_at(h, true, index) == bytes_at(h, false, from));
  } while (next_index(y->dims, index));
}

/* Whether negative indices count from the end. */
static bool wraps(int32_t mode) {
  return mode == BSM_GATHER_DEFAULT || mode == BSM_GATHER_ND;
}

static void fill_indices(harness *h, harness_rng *r, int64_t size) {
  guarded *g = &h->data[h->step.inputs[1]];
  const bool narrow = h->tensors[h->step.inputs[1]].dtype == BSM_DTYPE_INT32;
  for (size_t i = 0; i < g->size / (narrow ? 4 : 8); i++) {
    const int v = rng_range(r, wraps(h->params.gather.mode) ? (int)-size : 0,
                            (int)size - 1);
    if (narrow) {
      ((int32_t *)(void *)g->data)[i] = v;
    } else {
      ((int64_t *)(void *)g->data)[i] = v;
    }
  }
}

static void expand_some(harness_rng *r, bsm_dims d, int64_t *s) {
  for (int32_t i = 0; i < d.rank; i++) {
    if (rng_range(r, 0, 1)) s[i] = 0;
  }
}

static void test_gather(void **state) {
  harness_rng r = {43};
  (void)state;
  suite_needs(BSM_STEP_GATHER);
  for (int i = 0; i < 300; i++) {
    harness h;
    int64_t s[BSM_MAX_RANK];
    harness_init(&h, BSM_STEP_GATHER);
    bsm_step_gather *p = &h.params.gather;
    bsm_dims d, z, out = {0};
    do {
      d = small_dims(&r, 4, 60);
    } while (d.rank == 0);
    p->mode = i % 4;
    p->axis = rng_range(&r, 0, d.rank - 1);
    int64_t size = d.d[p->axis];
    if (p->mode == BSM_GATHER_ELEMENT) {
      z = d;
      for (int32_t k = 0; k < d.rank; k++) {
        z.d[k] = rng_range(&r, 1, k == p->axis ? 12 : (int)d.d[k]);
      }
      out = z;
    } else if (p->mode != BSM_GATHER_ND) {
      z = small_dims(&r, 2, 6);
      out.rank = d.rank - 1 + z.rank;
      for (int32_t k = 0; k < out.rank; k++) {
        out.d[k] = k < p->axis            ? d.d[k]
                   : k < p->axis + z.rank ? z.d[k - p->axis]
                                          : d.d[k - z.rank + 1];
      }
    } else {
      z = small_dims(&r, 2, 6);
      const int32_t depth = rng_range(&r, 0, d.rank);
      out = z;
      z.d[z.rank++] = depth;
      size = 1 << 30;
      for (int32_t k = 0; k < depth; k++) {
        if (d.d[k] < size) size = d.d[k];
      }
      for (int32_t k = depth; k < d.rank; k++) out.d[out.rank++] = d.d[k];
    }
    permuted_strides(&r, d, s);
    if (i % 4 == 1) expand_some(&r, d, s);
    add_input(&h, i % 5 ? BSM_DTYPE_FLOAT : BSM_DTYPE_INT64, d, s);
    random_bytes(&h, &r);
    permuted_strides(&r, z, s);
    if (i % 4 > 1) expand_some(&r, z, s);
    add_input(&h, i % 2 ? BSM_DTYPE_INT64 : BSM_DTYPE_INT32, z, s);
    fill_indices(&h, &r, size);
    permuted_strides(&r, out, s);
    add_output(&h, i % 5 ? BSM_DTYPE_FLOAT : BSM_DTYPE_INT64, out, s);
    harness_run_all(&h, compare_gather, NULL);
    harness_free(&h);
  }
}

static void test_gather_out_of_range(void **state) {
  const int64_t bad[] = {3, -4, INT64_MAX, INT64_MIN, -1, -3};
  (void)state;
  suite_needs(BSM_STEP_GATHER);
  for (int32_t mode = 0; mode < 4; mode++) {
    for (int i = 0; i < (wraps(mode) ? 4 : 6); i++) {
      harness h;
      harness_init(&h, BSM_STEP_GATHER);
      h.params.gather.mode = mode;
      add_input(&h, BSM_DTYPE_FLOAT, dims_of(1, 3), NULL);
      int64_t *z =
          add_input(&h, BSM_DTYPE_INT64,
                    mode == 2 ? dims_of(2, 2, 1) : dims_of(1, 2), NULL);
      z[1] = bad[i];
      add_output(&h, BSM_DTYPE_FLOAT, dims_of(1, 2), NULL);
      bsm_status st = harness_run(&h, bsm_isa_detect(), 1);
      assert_int_equal(bsm_status_code(st), BSM_OUT_OF_RANGE);
      bsm_status_free(st);
      harness_free(&h);
    }
  }
}

/* A plan from outside may put the output over the indices: what is written
 * becomes an index that is far away, and must not be followed. */
static void test_gather_overwritten_indices(void **state) {
  (void)state;
  suite_needs(BSM_STEP_GATHER);
  for (int32_t mode = 0; mode < 4; mode++) {
    harness h;
    harness_init(&h, BSM_STEP_GATHER);
    h.params.gather.mode = mode;
    int64_t *x = add_input(&h, BSM_DTYPE_INT64, dims_of(1, 4), NULL);
    add_input(&h, BSM_DTYPE_INT64, mode == 2 ? dims_of(2, 4, 1) : dims_of(1, 4),
              NULL);
    int64_t *y = add_output(&h, BSM_DTYPE_INT64, dims_of(1, 4), NULL);
    for (int i = 0; i < 4; i++) x[i] = (int64_t)1 << 50;
    /* All read one index, which the first result replaces. */
    h.tensors[h.step.inputs[1]].place = BSM_PLACE_OUTPUT;
    h.tensors[h.step.inputs[1]].index = 0;
    h.tensors[h.step.inputs[1]].strides[0] = 0;
    y[0] = 1;
    bsm_status st = harness_run(&h, bsm_isa_detect(), 1);
    /* A device that looks at indices when it uses them tells of it. */
    if (st) assert_int_equal(bsm_status_code(st), BSM_OUT_OF_RANGE);
    bsm_status_free(st);
    assert_true(y[0] == (int64_t)1 << 50);
    harness_free(&h);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_copy),
      cmocka_unit_test(test_pixels),
      cmocka_unit_test(test_planes),
      cmocka_unit_test(test_casting_copy),
      cmocka_unit_test(test_fill),
      cmocka_unit_test(test_pad),
      cmocka_unit_test(test_gather),
      cmocka_unit_test(test_gather_out_of_range),
      cmocka_unit_test(test_gather_overwritten_indices),
  };
  return suite_run(argc, argv, tests);
}
