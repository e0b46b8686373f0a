/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/mma_gemm.cu as a product and as a convolution, run on the host,
 * against plain loops. */
#include "cuda/gemm_problem.h"

typedef struct tile {
  int bm, bn, bk, wm, wn, stages, splits;
} tile;

#define MAX_OPTIONS 16

typedef struct options {
  const char *at[MAX_OPTIONS];
} options;

static options options_of(device *d, const problem *p, const tile *t) {
  const shape *s = p->s;
  const int a = s->elements || s->a_planes ? 0 : 1;
  const int b = s->elements ? 0 : s->b_rows ? 2 : 1;
  options o = {{p->is_bf16 ? "-DK_T=bf16" : "-DK_T=f16", "-DK_TRANSPOSED=0"}};
  const struct {
    const char *name;
    int value;
  } all[] = {{"BM", t->bm},
             {"BN", t->bn},
             {"BK", t->bk},
             {"WM", t->wm},
             {"WN", t->wn},
             {"STAGES", t->stages},
             {"SPLIT", t->splits > 1},
             {"ACTIVATION", s->activation},
             {"IMAGE", s->is_conv ? 2 : 0},
             {"A", a},
             {"B", b},
             {"WEIGHTS", s->b_rows}};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    o.at[2 + i] =
        bsm_arena_printf(&d->arena, "-DK_%s=%d", all[i].name, all[i].value);
    assert_non_null(o.at[2 + i]);
  }
  return o;
}

/* ---- running ---- */

static int tiles_of(int size, int tile_size) {
  return (size + tile_size - 1) / tile_size;
}

static bsm_cuda_mma parameters_for(const problem *p, const tile *t) {
  bsm_cuda_mma args = parameters_of(p);
  args.tiles_n = tiles_of(p->n, t->bn);
  args.splits = t->splits;
  args.split_k = tiles_of(tiles_of(p->k, t->bk), t->splits) * t->bk;
  return args;
}

static void run(device *d, bsm_cu_function f, const problem *p, const tile *t,
                bsm_cuda_mma *args) {
  void *parameters[] = {args};
  const bsm_cu_launch_config config = {
      .grid = {(unsigned)(args->tiles_n * tiles_of(p->m, t->bm)),
               (unsigned)t->splits, (unsigned)p->s->groups},
      .block = {(unsigned)(32 * t->wm * t->wn), 1, 1},
      .shared_bytes = (unsigned)(t->stages * (t->bm + t->bn) * t->bk * 2),
      .stream = d->stream};
  assert_cu(d->driver.launch(&config, f, parameters, NULL));
}

static void run_problem(const shape *s, const tile *t, bool is_bf16) {
  device d;
  device_open(&d);
  problem p = make_problem(s, is_bf16);
  const options o = options_of(&d, &p, t);
  bsm_cu_module module =
      load_kernels(&d, "mma_gemm.cu", kernel_file(&d, "mma_gemm.cu"), o.at);
  bsm_cu_function f = find_kernel(&d, module, "mma_gemm");
  const size_t tiles =
      (size_t)(tiles_of(p.n, t->bn) * tiles_of(p.m, t->bm)) * (size_t)s->groups;
  const size_t c_bytes = p.c_count * 2;
  uint32_t *zeros = calloc(tiles, 4);
  uint16_t *c = malloc(c_bytes), *first = malloc(c_bytes);
  assert_true(zeros && c && first);
  bsm_cuda_mma args = parameters_for(&p, t);
  args.a = put(&d, p.a, p.a_count * 2);
  args.b = put(&d, p.b, p.b_count * 2);
  args.partial = put(&d, NULL, tiles * (size_t)(t->splits * t->bm * t->bn) * 4);
  args.counters = put(&d, zeros, tiles * 4);
  const bsm_cu_address bias = put(&d, p.bias, (size_t)(p.n * s->groups) * 2);
  const bsm_cu_address residual = put(&d, p.residual, p.c_count * 2);
  if (s->has_bias) args.bias = bias;
  if (s->has_residual) args.residual = residual;
  /* In any order of blocks and warps the same bits. */
  for (uint64_t order = 0; order < 3; order++) {
    d.standin.mode(0, order, 90);
    args.y = put(&d, NULL, c_bytes);
    run(&d, f, &p, t, &args);
    fetch(&d, c, args.y, c_bytes);
    drop(&d, args.y);
    if (order == 0) {
      memcpy(first, c, c_bytes);
      check(&p, c);
    }
    assert_memory_equal(c, first, c_bytes);
  }
  fetch(&d, zeros, args.counters, tiles * 4);
  for (size_t i = 0; i < tiles; i++) assert_int_equal(zeros[i], 0);
  const bsm_cu_address all[] = {args.a,   args.b,       bias,
                                residual, args.partial, args.counters};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) drop(&d, all[i]);
  assert_cu(d.driver.module_unload(module));
  free(zeros);
  free(c);
  free(first);
  free_problem(&p);
  device_close(&d);
}

/* ---- tests ---- */

static const tile tiles[] = {
    {64, 64, 32, 2, 2, 2, 1},  {128, 64, 32, 4, 1, 3, 1},
    {64, 128, 64, 2, 4, 4, 1}, {32, 32, 64, 2, 1, 3, 3},
    {16, 32, 32, 1, 2, 4, 2},
};
#define TILES (sizeof(tiles) / sizeof(tiles[0]))

static const shape product = {.images = 77,
                              .ih = 1,
                              .iw = 1,
                              .channels = 136,
                              .maps = 56,
                              .kh = 1,
                              .kw = 1,
                              .stride = 1,
                              .dilation = 1,
                              .groups = 2};

static void multiplies(void **state) {
  (void)state;
  for (size_t i = 0; i < TILES; i++) {
    shape s = product;
    for (int kind = 0; kind < 2; kind++) run_problem(&s, &tiles[i], kind);
    s.maps = 72;
    s.b_rows = true;
    s.c_extra = 3;
    s.has_bias = true;
    s.has_residual = true;
    s.activation = BSM_ACTIVATION_SILU;
    run_problem(&s, &tiles[i], i % 2);
  }
}

static void multiplies_less_than_a_tile(void **state) {
  (void)state;
  shape s = product;
  s.images = 1;
  s.maps = 8;
  s.channels = 8;
  s.groups = 1;
  for (size_t i = 0; i < TILES; i++) run_problem(&s, &tiles[i], i % 2);
}

static void multiplies_matrices_of_any_strides(void **state) {
  (void)state;
  shape s = product;
  s.maps = 53;
  s.channels = 139;
  s.elements = true;
  for (size_t i = 0; i < TILES; i++) {
    s.a_planes = i % 2;
    s.b_rows = i / 2 % 2;
    run_problem(&s, &tiles[i], i % 2);
  }
}

static void convolves(void **state) {
  (void)state;
  const int relu = BSM_ACTIVATION_RELU, silu = BSM_ACTIVATION_SILU;
  const shape shapes[] = {
      {2, 7, 9, 24, 21, 3, 3, 1, 1, 1, 1, 0, true, true, true, relu, 0, 0, 0},
      {1, 11, 8, 16, 40, 3, 3, 2, 1, 1, 1, 0, true, true, false, relu, 0, 0, 0},
      {2, 10, 10, 8, 11, 3, 5, 1, 2, 2, 3, 0, true, false, true, silu, 0, 0, 0},
      {1, 9, 9, 64, 32, 1, 1, 2, 0, 1, 1, 1, true, true, false, 0, 0, 0, 0},
      {2, 13, 11, 3, 20, 5, 5, 2, 2, 1, 1, 0, true, true, false, relu, 1, 0, 1},
      {1, 8, 9, 5, 6, 3, 3, 1, 1, 1, 2, 0, true, true, true, 0, 0, 0, 1},
  };
  for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
    for (size_t i = 0; i < TILES; i++) {
      run_problem(&shapes[k], &tiles[i], (i + k) % 2);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(multiplies),
      cmocka_unit_test(multiplies_less_than_a_tile),
      cmocka_unit_test(multiplies_matrices_of_any_strides),
      cmocka_unit_test(convolves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
