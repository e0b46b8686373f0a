/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/wgmma_tf32.cu in all its tiles, run on the host: products of operands
 * that are rounded to tf32, to nearest, ties away from zero, against plain
 * loops. */
#include "cuda/kernel_kit.h"

#include <math.h>
#include <stdlib.h>

#include "backend/cuda/cuda_map.h"
#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_wgmma.h"

/* A product, or with a window a convolution of images whose maps are innermost,
 * and which are padded such that they keep their sizes. */
typedef struct shape {
  int images, ih, iw, maps, n, window;
  bool has_residual;
} shape;

typedef struct operands {
  int m, k;
  float *a, *b, *bias, *residual;
  double *y;
} operands;

/* ---- numbers ---- */

static float *numbers(size_t count, uint32_t seed) {
  float *x = malloc(count * sizeof(*x));
  assert_non_null(x);
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)(seed >> 8) * 0x1p-23f - 1;
  }
  return x;
}

static float rounded(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  bits = (bits + 0x1000u) & ~0x1fffu;
  memcpy(&x, &bits, sizeof(x));
  return x;
}

/* A pixel of a window, 0 outside of the image. */
static float at(const shape *s, const operands *o, int m, int tap, int map) {
  const int x = m % s->iw + tap % s->window - s->window / 2;
  const int y = m / s->iw % s->ih + tap / s->window - s->window / 2;
  if (x < 0 || x >= s->iw || y < 0 || y >= s->ih) return 0;
  const int pixel = (m / (s->iw * s->ih) * s->ih + y) * s->iw + x;
  return rounded(o->a[pixel * s->maps + map]);
}

static operands make(const shape *s) {
  operands o = {.m = s->images * s->ih * s->iw,
                .k = s->maps * s->window * s->window};
  const size_t count = (size_t)(o.m * s->n);
  o.a = numbers((size_t)(o.m * s->maps), 1);
  o.b = numbers((size_t)(s->n * o.k), 2);
  for (int i = 0; i < s->n * o.k; i++) o.b[i] = rounded(o.b[i]);
  o.bias = numbers((size_t)s->n, 3);
  o.residual = numbers(count, 4);
  o.y = malloc(count * sizeof(*o.y));
  assert_non_null(o.y);
  for (int m = 0; m < o.m; m++) {
    for (int n = 0; n < s->n; n++) {
      double sum = 0;
      for (int k = 0; k < o.k; k++) {
        sum += (double)at(s, &o, m, k / s->maps, k % s->maps) *
               (double)o.b[n * o.k + k];
      }
      const int place = m * s->n + n;
      o.y[place] = sum + (double)o.bias[n] +
                   (s->has_residual ? (double)o.residual[place] : 0);
    }
  }
  return o;
}

static void release(operands *o) {
  free(o->a);
  free(o->b);
  free(o->bias);
  free(o->residual);
  free(o->y);
}

static bsm_cuda_mma_problem problem_of(const shape *s, const operands *o) {
  bsm_cuda_mma_problem p = {.batches = 1,
                            .dtype = BSM_DTYPE_FLOAT,
                            .image = s->window > 1 ? 2 : 0,
                            .a = BSM_CUDA_MMA_ALONG_K,
                            .b = BSM_CUDA_MMA_ALONG_K,
                            .weights = true,
                            .residual = s->has_residual,
                            .rounded = true,
                            .params = {.m = o->m,
                                       .n = s->n,
                                       .k = o->k,
                                       .scale = 1,
                                       .a_row = s->maps,
                                       .a_column = 1,
                                       .b_row = 1,
                                       .b_column = o->k,
                                       .y_row = s->n,
                                       .residual_row = s->n,
                                       .residual_column = 1,
                                       .loops = 1,
                                       .batch_sizes = {1},
                                       .maps = s->maps,
                                       .image_stride = s->ih * s->iw * s->maps,
                                       .in = {1, s->ih, s->iw},
                                       .out = {1, s->ih, s->iw}}};
  const int32_t strides[] = {s->ih * s->iw * s->maps, s->iw * s->maps, s->maps};
  for (int d = 0; d < 3; d++) {
    p.params.in_stride[d] = strides[d];
    p.params.kernel[d] = d ? s->window : 1;
    p.params.pre[d] = d ? s->window / 2 : 0;
    p.params.stride[d] = p.params.dilation[d] = 1;
  }
  return p;
}

/* ---- running ---- */

static const char **split(device *d, const char *options) {
  char *text = bsm_arena_printf(&d->arena, "%s", options);
  const char **list = BSM_NEW_ARRAY(&d->arena, const char *, 32);
  int count = 0;
  assert_true(text && list);
  for (char *from = strtok(text, " "); from; from = strtok(NULL, " ")) {
    list[count++] = from;
  }
  return list;
}

static void check(const shape *s, const operands *o, const float *y) {
  for (int i = 0; i < o->m * s->n; i++) {
    const double error = fabs((double)y[i] - o->y[i]);
    if (!(error <= 4e-7 * o->k)) {
      fail_msg("row %d, column %d: %.9g, not %.9g", i / s->n, i % s->n,
               (double)y[i], o->y[i]);
    }
  }
}

static void run(device *d, const shape *s, const operands *o,
                bsm_cuda_launches *l, const char *target) {
  const bsm_cuda_launch *one = &l->items[0];
  const size_t bytes = (size_t)(o->m * s->n) * sizeof(float);
  const size_t counters = BSM_CUDA_COUNTERS * sizeof(uint32_t);
  bsm_str code;
  bsm_cu_module module = NULL;
  assert_ok(try_compile(d, "wgmma_tf32.cu", kernel_file(d, "wgmma_tf32.cu"),
                        split(d, one->kernel.options), target, &code));
  assert_cu(d->driver.module_load(&module, code.data, 0, NULL, NULL));
  bsm_cu_function f = find_kernel(d, module, "wgmma_tf32");
  bsm_cuda_tiled p;
  uint32_t *zeros = calloc(1, counters);
  float *y = malloc(bytes);
  assert_true(zeros && y);
  memcpy(&p, one->params, sizeof(p));
  p.product.a = put(d, o->a, (size_t)(o->m * s->maps) * sizeof(float));
  p.product.b = put(d, o->b, (size_t)(s->n * o->k) * sizeof(float));
  p.product.bias = put(d, o->bias, (size_t)s->n * sizeof(float));
  p.product.residual = s->has_residual ? put(d, o->residual, bytes) : 0;
  p.product.partial = put(d, NULL, l->scratch_size + 16);
  p.product.counters = put(d, zeros, counters);
  p.product.y = put(d, NULL, bytes);
  for (uint32_t i = 0; i < one->tiles_count; i++) {
    assert_ok(bsm_cuda_write_map(&d->driver, one->tiles[i], (uint8_t *)&p));
  }
  void *parameters[] = {&p};
  const bsm_cu_launch_config config = {.grid = {one->grid[0], 1, 1},
                                       .block = {one->block[0], 1, 1},
                                       .shared_bytes = one->shared_bytes,
                                       .stream = d->stream};
  assert_cu(d->driver.launch(&config, f, parameters, NULL));
  fetch(d, y, p.product.y, bytes);
  check(s, o, y);
  const bsm_cu_address all[] = {
      p.product.a,       p.product.b,        p.product.bias, p.product.residual,
      p.product.partial, p.product.counters, p.product.y};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    if (all[i]) drop(d, all[i]);
  }
  assert_cu(d->driver.module_unload(module));
  free(zeros);
  free(y);
}

/* In one of `every` tiles, as the cost model would share them, or by as many
 * blocks as `blocks` says, that share all tiles. How many there were. */
static int run_shape(const shape *s, size_t every, size_t first,
                     const char *target, int32_t blocks) {
  device d;
  bsm_cuda_wgmma_choice choices[BSM_CUDA_MAX_WGMMA];
  operands o = make(s);
  const bsm_cuda_mma_problem p = problem_of(s, &o);
  const size_t found = bsm_cuda_wgmma_choices(&p, 90, choices);
  int ran = 0;
  for (size_t i = first; i < found; i += every) {
    bsm_cuda_wgmma_choice c = choices[i];
    device_open(&d);
    bsm_cuda_launches *l = BSM_NEW(&d.arena, bsm_cuda_launches);
    assert_non_null(l);
    *l = (bsm_cuda_launches){.arena = &d.arena, .sm = 90, .rounds = 1};
    if (blocks) {
      const bsm_cuda_tiled *tiled;
      assert_ok(bsm_cuda_launch_wgmma(l, &p, &c));
      tiled = l->items[0].params;
      c.shared_tiles = tiled->tiles;
      c.blocks = blocks;
      *l = (bsm_cuda_launches){.arena = &d.arena, .sm = 90, .rounds = 1};
    }
    assert_ok(bsm_cuda_launch_wgmma(l, &p, &c));
    run(&d, s, &o, l, target);
    device_close(&d);
    ran++;
  }
  release(&o);
  return ran;
}

/* ---- tests ---- */

static const shape product = {130, 1, 1, 76, 100, 1, true};

static void multiplies(void **state) {
  (void)state;
  /* Of 9 tiles, which leave registers for A. */
  assert_int_equal(run_shape(&product, 4, 0, "sm_90a", 0), 3);
}

static void shares_k(void **state) {
  (void)state;
  const shape s = {70, 1, 1, 200, 36, 1, false};
  assert_true(run_shape(&s, 4, 1, "sm_90a", 7) > 0);
}

static void multiplies_by_warps(void **state) {
  (void)state;
  assert_true(run_shape(&product, 4, 2, "compute_90", 0) > 0);
}

static void convolves(void **state) {
  (void)state;
  const shape s = {2, 9, 7, 20, 40, 3, true};
  assert_true(run_shape(&s, 3, 0, "sm_90a", 0) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(multiplies),
      cmocka_unit_test(shares_k),
      cmocka_unit_test(multiplies_by_warps),
      cmocka_unit_test(convolves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
