/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/wgmma_gemm.cu in all its tiles, and work shared by blocks in several
 * ways, run on the host, against plain loops. */
#include "cuda/gemm_problem.h"

#include "backend/cuda/cuda_map.h"
#include "backend/cuda/steps/cuda_wgmma.h"

/* ---- launches ---- */

static bsm_cuda_mma_problem problem_for(const problem *p) {
  const shape *s = p->s;
  bsm_cuda_mma_problem out = {
      .params = parameters_of(p),
      .batches = s->groups,
      .dtype = p->is_bf16 ? BSM_DTYPE_BFLOAT16 : BSM_DTYPE_HALF,
      .activation = s->activation,
      .image = s->is_conv ? 2 : 0,
      .a = BSM_CUDA_MMA_ALONG_K,
      .b = s->b_rows ? BSM_CUDA_MMA_ALONG_N : BSM_CUDA_MMA_ALONG_K,
      .weights = s->b_rows,
      .residual = s->has_residual,
      .floats = s->floats,
      .vector = p->n % 8 == 0 && p->c_row % 8 == 0};
  return out;
}

/* The options of a kernel, as an array that ends with NULL. */
static const char **split(device *d, const char *options) {
  char *text = bsm_arena_printf(&d->arena, "%s", options);
  const char **list = BSM_NEW_ARRAY(&d->arena, const char *, 32);
  int count = 0;
  assert_true(text && list);
  for (char *at = strtok(text, " "); at; at = strtok(NULL, " ")) {
    list[count++] = at;
  }
  list[count] = NULL;
  return list;
}

typedef struct addresses {
  bsm_cu_address a, b, y, bias, residual, partial, counters;
} addresses;

static void launch_tiled(device *d, bsm_cu_function f,
                         const bsm_cuda_launch *from, const addresses *at) {
  union {
    bsm_cuda_tiled p;
    uint8_t bytes[sizeof(bsm_cuda_tiled)];
  } u;
  memcpy(&u.p, from->params, sizeof(u.p));
  u.p.product.a = at->a;
  u.p.product.b = at->b;
  u.p.product.y = at->y;
  u.p.product.bias = at->bias;
  u.p.product.residual = at->residual;
  u.p.product.partial = at->partial;
  u.p.product.counters = at->counters;
  for (uint32_t i = 0; i < from->tiles_count; i++) {
    assert_ok(bsm_cuda_write_map(&d->driver, from->tiles[i], u.bytes));
  }
  void *parameters[] = {&u.p};
  const bsm_cu_launch_config config = {.grid = {from->grid[0], 1, 1},
                                       .block = {from->block[0], 1, 1},
                                       .shared_bytes = from->shared_bytes,
                                       .stream = d->stream};
  assert_cu(d->driver.launch(&config, f, parameters, NULL));
}

static void check_launch(device *d, const problem *p, bsm_cuda_launches *l,
                         bool is_virtual) {
  const bsm_cuda_launch *one = &l->items[0];
  const size_t c_bytes = p->c_count * (p->s->floats ? 4 : 2);
  bsm_str code;
  bsm_cu_module module = NULL;
  assert_ok(try_compile(d, "wgmma_gemm.cu", kernel_file(d, "wgmma_gemm.cu"),
                        split(d, one->kernel.options),
                        is_virtual ? "compute_90" : "sm_90a", &code));
  assert_cu(d->driver.module_load(&module, code.data, 0, NULL, NULL));
  bsm_cu_function f = find_kernel(d, module, "wgmma_gemm");
  uint32_t *zeros = calloc(BSM_CUDA_COUNTERS, 4);
  uint16_t *c = malloc(c_bytes), *first = malloc(c_bytes);
  assert_true(zeros && c && first);
  addresses at = {
      .a = put(d, p->a, p->a_count * 2),
      .b = put(d, p->b, p->b_count * 2),
      .partial = put(d, NULL, l->scratch_size + 16),
      .counters = put(d, zeros, BSM_CUDA_COUNTERS * sizeof(uint32_t))};
  if (p->s->has_bias) {
    at.bias = put(d, p->bias, (size_t)(p->n * p->s->groups) * 2);
  }
  if (p->s->has_residual) at.residual = put(d, p->residual, c_bytes);
  /* In any order of blocks and warps the same bits. */
  for (uint64_t order = 0; order < 2; order++) {
    d->standin.mode(0, order * 7, 90);
    at.y = put(d, NULL, c_bytes);
    launch_tiled(d, f, one, &at);
    fetch(d, c, at.y, c_bytes);
    drop(d, at.y);
    if (order == 0) {
      memcpy(first, c, c_bytes);
      check(p, c);
    }
    assert_memory_equal(c, first, c_bytes);
  }
  fetch(d, zeros, at.counters, BSM_CUDA_COUNTERS * sizeof(uint32_t));
  for (size_t i = 0; i < BSM_CUDA_COUNTERS; i++) {
    assert_int_equal(zeros[i], 0);
  }
  const bsm_cu_address all[] = {at.a,        at.b,       at.bias,
                                at.residual, at.partial, at.counters};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    if (all[i]) drop(d, all[i]);
  }
  assert_cu(d->driver.module_unload(module));
  free(zeros);
  free(c);
  free(first);
}

/* How blocks share the tiles: as the choice says, or as tests want it. */
typedef struct sharing {
  int32_t blocks, shared_tiles; /* -1: all */
} sharing;

/* In every tile that there is for it, or in those whose name has `only` in it,
 * or in one of `every` from `first` on; each in all ways to share. How many
 * there were. */
typedef struct selection {
  const char *only;
  size_t every, first;
} selection;

static int run_shape(const shape *s, bool is_bf16, bool is_virtual,
                     selection which, const sharing *ways, int count) {
  device d;
  bsm_cuda_wgmma_choice choices[BSM_CUDA_MAX_WGMMA];
  problem p = make_problem(s, is_bf16);
  const bsm_cuda_mma_problem asked = problem_for(&p);
  const size_t found = bsm_cuda_wgmma_choices(&asked, 90, choices);
  int ran = 0;
  for (size_t i = 0; i < found; i++) {
    bsm_cuda_wgmma_choice c = choices[i];
    if (which.only && !strstr(c.tactic, which.only)) continue;
    if (which.every && i % which.every != which.first) continue;
    for (int k = 0; k < count; k++) {
      device_open(&d);
      bsm_cuda_launches *l = BSM_NEW(&d.arena, bsm_cuda_launches);
      assert_non_null(l);
      *l = (bsm_cuda_launches){.arena = &d.arena, .sm = 90, .rounds = 1};
      if (ways[k].blocks) {
        c.blocks = ways[k].blocks;
        c.shared_tiles = ways[k].shared_tiles;
      }
      assert_ok(bsm_cuda_launch_wgmma(l, &asked, &c));
      if (c.shared_tiles < 0) fail();
      check_launch(&d, &p, l, is_virtual);
      device_close(&d);
      ran++;
    }
  }
  free_problem(&p);
  return ran;
}

/* ---- tests ---- */

static const sharing as_chosen[] = {{0, 0}};
static const selection all_tiles = {NULL};

static const shape product = {.images = 130,
                              .ih = 1,
                              .iw = 1,
                              .channels = 72,
                              .maps = 136,
                              .kh = 1,
                              .kw = 1,
                              .stride = 1,
                              .dilation = 1,
                              .groups = 1};

static void multiplies(void **state) {
  (void)state;
  shape s = product;
  assert_int_equal(run_shape(&s, false, false, all_tiles, as_chosen, 1), 14);
  s.b_rows = true;
  s.c_extra = 8;
  s.has_bias = true;
  s.has_residual = true;
  s.activation = BSM_ACTIVATION_SILU;
  const selection half = {NULL, 2, 1};
  assert_int_equal(run_shape(&s, true, false, half, as_chosen, 1), 6);
}

static void shares_tiles(void **state) {
  (void)state;
  shape s = product;
  s.images = 150;
  s.channels = 328;
  s.maps = 72;
  s.groups = 2;
  s.has_bias = true;
  /* Three tiles of 64 by 64 rows in each of two batches are 12 of 6 steps. */
  const sharing ways[] = {{5, 12}, {24, 12}, {7, 5}, {1, 0}, {72, 12}};
  assert_int_equal(
      run_shape(&s, false, false, (selection){"64x64x64"}, ways, 5), 5);
}

static void shares_tiles_of_two_groups(void **state) {
  (void)state;
  shape s = product;
  s.images = 300;
  s.channels = 136;
  s.maps = 300; /* no multiple of 8 */
  /* Of 9 tiles. */
  const sharing ways[] = {{2, 0}, {5, 9}, {4, 5}};
  assert_int_equal(
      run_shape(&s, true, false, (selection){"128x128x64 turns"}, ways, 3), 3);
}

/* Rows of floats begin anywhere: those of an odd number of columns. */
static void makes_floats(void **state) {
  (void)state;
  shape s = product;
  s.maps = 139;
  s.floats = true;
  s.has_bias = true;
  assert_int_equal(run_shape(&s, false, false, all_tiles, as_chosen, 1), 14);
  s.images = 70;
  s.groups = 3;
  s.c_extra = 2;
  s.has_bias = false;
  s.activation = BSM_ACTIVATION_SILU;
  const selection some = {NULL, 3, 1};
  assert_int_equal(run_shape(&s, true, false, some, as_chosen, 1), 5);
  s.channels = 328;
  const sharing ways[] = {{7, 0}, {24, 18}};
  assert_int_equal(run_shape(&s, false, true, (selection){"64x64x64"}, ways, 2),
                   2);
  s.has_residual = true; /* which the rows have not */
  assert_int_equal(run_shape(&s, false, false, all_tiles, as_chosen, 1), 0);
}

static void multiplies_one_row(void **state) {
  (void)state;
  shape s = product;
  s.images = 1;
  s.maps = 8;
  s.channels = 8;
  s.groups = 3;
  assert_true(run_shape(&s, false, false, all_tiles, as_chosen, 1) == 14);
}

/* As PTX for later GPUs does it. */
static void multiplies_by_warps(void **state) {
  (void)state;
  shape s = product;
  assert_true(
      run_shape(&s, false, true, (selection){"64x64x64"}, as_chosen, 1) > 0);
  assert_true(
      run_shape(&s, false, true, (selection){"128x64x32"}, as_chosen, 1) > 0);
  s.b_rows = true;
  assert_true(
      run_shape(&s, true, true, (selection){"128x128x64"}, as_chosen, 1) > 0);
}

static void convolves(void **state) {
  (void)state;
  const int relu = BSM_ACTIVATION_RELU, silu = BSM_ACTIVATION_SILU;
  const shape shapes[] = {
      {2, 7, 9, 24, 40, 3, 3, 1, 1, 1, 1, 0, true, true, true, relu, 0, 0, 0},
      {3, 11, 8, 72, 40, 3, 3, 2, 1, 1, 1, 0, true, true, false, relu, 0, 0, 0},
      {2, 10, 12, 8, 11, 3, 5, 1, 2, 2, 1, 0, true, 0, true, silu, 0, 0, 0},
      {1, 9, 9, 64, 32, 1, 1, 2, 0, 1, 1, 8, true, true, false, 0, 0, 0, 0},
      {2, 6, 13, 64, 24, 3, 1, 1, 1, 1, 2, 0, true, true, true, 0, 0, 0, 0},
  };
  for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
    /* Shapes take tiles in turns. */
    const selection some = {NULL, 4, k % 4};
    assert_true(run_shape(&shapes[k], k % 2, false, some, as_chosen, 1) > 2);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(multiplies),
      cmocka_unit_test(shares_tiles),
      cmocka_unit_test(shares_tiles_of_two_groups),
      cmocka_unit_test(makes_floats),
      cmocka_unit_test(multiplies_one_row),
      cmocka_unit_test(multiplies_by_warps),
      cmocka_unit_test(convolves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
