/* SPDX-License-Identifier: Apache-2.0 */
/* The store by itself: constants by address, derived weights by key, and that
 * keys tell everything apart that packing does. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "builder/packing.h"

static bsm_weights_store store;
static _Alignas(BSM_ALIGNMENT) uint8_t memory[4096];

static int set_up(void **state) {
  (void)state;
  bsm_weights_store_init(&store, NULL);
  for (size_t i = 0; i < sizeof(memory); i++) memory[i] = (uint8_t)(i * 7);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_weights_store_destroy(&store);
  return 0;
}

static void assert_code(bsm_status status, bsm_code code) {
  assert_int_equal(bsm_status_code(status), code);
  bsm_status_free(status);
}

static void add(uint32_t id, size_t offset, uint64_t size) {
  assert_null(
      bsm_weights_store_add_constant(&store, id, memory + offset, size));
}

/* The id at memory + offset, or -1; *at: the offset in the constant. */
static int64_t find(size_t offset, uint64_t size, uint64_t *at) {
  uint32_t id;
  return bsm_weights_store_find_constant(&store, memory + offset, size, &id, at)
             ? (int64_t)id
             : -1;
}

static void test_constants(void **state) {
  (void)state;
  uint64_t at;
  assert_int_equal(find(0, 1, &at), -1); /* an empty store */
  add(7, 1024, 256);
  add(3, 256, 128);
  add(5, 384, 64); /* right behind 3 */
  add(9, 2048, 0);
  assert_int_equal(find(1024, 256, &at), 7);
  assert_int_equal(at, 0);
  assert_int_equal(find(1100, 100, &at), 7);
  assert_int_equal(at, 76);
  assert_int_equal(find(256, 128, &at), 3);
  assert_int_equal(find(383, 1, &at), 3);
  assert_int_equal(at, 127);
  assert_int_equal(find(384, 64, &at), 5);
  assert_int_equal(find(255, 2, &at), -1);   /* begins before it */
  assert_int_equal(find(256, 129, &at), -1); /* leaves it */
  assert_int_equal(find(320, 128, &at), -1); /* across two */
  assert_int_equal(find(448, 1, &at), -1);
  assert_int_equal(find(2048, 1, &at), -1);
  assert_int_equal(find(1280, 0, &at), -1); /* nothing, one past the end */
  add(1, 512, 64);                          /* sorted again */
  assert_int_equal(find(520, 8, &at), 1);
  assert_int_equal(at, 8);
}

static void test_constants_that_overlap(void **state) {
  (void)state;
  uint64_t at;
  add(4, 0, 1024);
  add(2, 128, 64);
  add(6, 128, 64);
  add(8, 512, 1024);
  assert_int_equal(find(140, 8, &at), 2); /* in three */
  assert_int_equal(at, 12);
  assert_int_equal(find(192, 8, &at), 4); /* behind the short ones */
  assert_int_equal(at, 192);
  assert_int_equal(find(600, 8, &at), 4);
  assert_int_equal(find(1000, 100, &at), 8);
  assert_int_equal(at, 488);
}

static void test_ids_are_known_once(void **state) {
  (void)state;
  add(1, 0, 64);
  add(1, 0, 64); /* the same again */
  assert_code(bsm_weights_store_add_constant(&store, 1, memory, 128),
              BSM_INVALID_ARGUMENT);
  assert_code(bsm_weights_store_add_constant(&store, 1, memory + 64, 64),
              BSM_INVALID_ARGUMENT);
}

/* Against looking at all of them. */
static void test_many_constants(void **state) {
  (void)state;
  enum { COUNT = 200 };
  uint32_t random = 12345;
  size_t starts[COUNT], sizes[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) {
    random = random * 1664525u + 1013904223u;
    starts[i] = random >> 8 & 2047;
    sizes[i] = 1 + (random >> 20 & 255);
    add(i, starts[i], sizes[i]);
  }
  for (int trial = 0; trial < 2000; trial++) {
    random = random * 1664525u + 1013904223u;
    const size_t start = random >> 8 & 2047, size = 1 + (random >> 22 & 127);
    int64_t want = -1;
    for (uint32_t i = 0; i < COUNT && want < 0; i++) {
      if (starts[i] <= start && start + size <= starts[i] + sizes[i]) want = i;
    }
    uint64_t at = 0;
    assert_int_equal(find(start, size, &at), want);
    if (want >= 0) assert_int_equal(at, start - starts[want]);
  }
}

/* ---- derived weights ---- */

static void test_put_and_find(void **state) {
  (void)state;
  const bsm_weights_key a = {{1, 2}}, b = {{1, 3}}, c = {{2, 2}};
  assert_null(bsm_weights_store_put(&store, a, memory, 64));
  assert_null(bsm_weights_store_put(&store, b, memory + 64, 32));
  assert_ptr_equal(bsm_weights_store_find(&store, a, 64)->data, memory);
  assert_ptr_equal(bsm_weights_store_find(&store, b, 32)->data, memory + 64);
  assert_null(bsm_weights_store_find(&store, c, 64));
  assert_null(bsm_weights_store_find(&store, a, 32)); /* another size */
  assert_code(bsm_weights_store_put(&store, a, memory, 64),
              BSM_INVALID_ARGUMENT);
  assert_code(bsm_weights_store_put(&store, c, memory + 4, 64),
              BSM_INVALID_ARGUMENT);
  assert_int_equal(bsm_weights_store_count(&store), 2);
  assert_memory_equal(&bsm_weights_store_at(&store, 0)->key, &a, sizeof(a));
  assert_memory_equal(&bsm_weights_store_at(&store, 1)->key, &b, sizeof(b));
}

static void *new_memory(uint64_t size) {
  void *data;
  assert_null(bsm_weights_store_new(&store, size, &data));
  return data;
}

static const void *make(uint64_t key, uint8_t value, uint64_t size) {
  const void *kept;
  void *data = new_memory(size);
  assert_non_null(data);
  assert_int_equal((uintptr_t)data % BSM_ALIGNMENT, 0);
  memset(data, value, (size_t)size);
  assert_null(bsm_weights_store_keep(&store, (bsm_weights_key){{key, 0}}, data,
                                     size, &kept));
  return kept;
}

static void test_equal_weights_are_kept_once(void **state) {
  (void)state;
  const void *a = make(1, 5, 100);
  const void *b = make(2, 6, 100);
  const void *c = make(3, 5, 100);
  assert_ptr_not_equal(a, b);
  assert_ptr_equal(a, c);
  assert_int_equal(bsm_weights_store_count(&store), 3);
  assert_ptr_equal(
      bsm_weights_store_find(&store, (bsm_weights_key){{3, 0}}, 100)->data, a);
  /* Memory that is not kept goes with the next. */
  void *lost = new_memory(64);
  assert_ptr_equal(new_memory(64), lost);
  assert_memory_equal(a, memset(memory, 5, 100), 100);
}

static void test_room(void **state) {
  (void)state;
  store.room = 250;
  make(1, 1, 100);
  make(2, 1, 100); /* equal: takes none */
  make(3, 2, 100);
  assert_int_equal(store.room, 50);
  assert_null(new_memory(51));
  assert_non_null(new_memory(50));
}

/* ---- keys ---- */

enum { MAX_KEYS = 64 };
static bsm_weights_key seen[MAX_KEYS];
static size_t seen_count;

typedef struct recipe {
  bsm_step_params params;
  bsm_plan_step step;
  bsm_raw_weights raw[2];
  double factor[4];
  bsm_packing packing;
  uint64_t size;
} recipe;

static bsm_status some_make(bsm_arena *scratch, const bsm_packing *packing,
                            const void **values) {
  (void)scratch;
  *values = packing->raw[0].values;
  return BSM_OK;
}

static bsm_weights_key key_of(recipe *r) {
  bsm_weights_key key;
  r->step.params = &r->params;
  r->packing.raw = r->raw;
  if (r->packing.factor) r->packing.factor = r->factor;
  assert_null(bsm_packing_key(&store, (bsm_packer){"cpu", 1}, &r->step,
                              &r->packing, r->size, &key));
  return key;
}

static bool same(bsm_weights_key a, bsm_weights_key b) {
  return a.hash[0] == b.hash[0] && a.hash[1] == b.hash[1];
}

/* The key differs from all before, in both halves. */
static void is_new(recipe r) {
  const bsm_weights_key key = key_of(&r);
  for (size_t i = 0; i < seen_count; i++) {
    assert_int_not_equal(key.hash[0], seen[i].hash[0]);
    assert_int_not_equal(key.hash[1], seen[i].hash[1]);
  }
  assert_true(seen_count < MAX_KEYS);
  seen[seen_count++] = key;
}

#define WITH(base, member, value) \
  do {                            \
    recipe r_ = (base);           \
    r_.member = (value);          \
    is_new(r_);                   \
  } while (0)

static recipe base_recipe(bsm_step_kind kind) {
  recipe r = {
      .step = {.kind = kind, .name = "a"},
      .raw = {{memory + 64, 128, BSM_DTYPE_FLOAT},
              {memory + 2048, 128, BSM_DTYPE_FLOAT}},
      .factor = {1, 2, 3, 4},
      .packing = {.in_maps = 8, .dtype = BSM_DTYPE_FLOAT, .raw_count = 1},
      .size = 512};
  return r;
}

static void test_keys_of_convolutions(void **state) {
  (void)state;
  recipe r = base_recipe(BSM_STEP_CONVOLUTION);
  bsm_step_convolution *p = &r.params.convolution;
  p->groups = 2;
  p->out_maps = 4;
  p->window.spatial = 2;
  for (int i = 0; i < 3; i++) {
    p->window.kernel[i] = p->window.stride[i] = p->window.dilation[i] = 1;
  }
  seen_count = 0;
  is_new(r);
  WITH(r, step.kind, BSM_STEP_DECONVOLUTION);
  WITH(r, params.convolution.groups, 1);
  WITH(r, params.convolution.out_maps, 8);
  WITH(r, params.convolution.window.spatial, 1);
  for (int i = 0; i < 3; i++) {
    WITH(r, params.convolution.window.kernel[i], 3);
    WITH(r, params.convolution.window.stride[i], 2);
    WITH(r, params.convolution.window.dilation[i], 2);
  }
  /* What changes with the shape is no part of it. */
  recipe other = r;
  other.step.name = "b";
  other.params.convolution.window.pre_padding[1] = 1;
  other.params.convolution.window.post_padding[1] = 1;
  other.params.convolution.epilogue.has_residual = 1;
  assert_true(same(key_of(&r), key_of(&other)));
}

static void test_keys_of_products_and_recurrences(void **state) {
  (void)state;
  recipe r = base_recipe(BSM_STEP_MATRIX_MULTIPLY);
  r.params.matrix_multiply =
      (bsm_step_matrix_multiply){.constant_b = 1, .k = 4, .n = 8};
  seen_count = 0;
  is_new(r);
  WITH(r, params.matrix_multiply.constant_b, 0);
  WITH(r, params.matrix_multiply.k, 8);
  WITH(r, params.matrix_multiply.n, 4);
  recipe scaled = r;
  scaled.params.matrix_multiply.scale = 0.5; /* applied to the product */
  assert_true(same(key_of(&r), key_of(&scaled)));
  r = base_recipe(BSM_STEP_RECURRENT);
  r.params.recurrent = (bsm_step_recurrent){
      .operation = 1, .directions = 1, .input = 4, .hidden = 8};
  is_new(r);
  WITH(r, params.recurrent.operation, 2);
  WITH(r, params.recurrent.directions, 2);
  WITH(r, params.recurrent.input, 8);
  WITH(r, params.recurrent.hidden, 4);
  WITH(r, params.recurrent.projection, 2);
  r = base_recipe(BSM_STEP_SOFTMAX);
  bsm_weights_key key;
  r.step.params = &r.params;
  assert_code(bsm_packing_key(&store, (bsm_packer){"cpu", 1}, &r.step,
                              &r.packing, 64, &key),
              BSM_INTERNAL);
}

/* What holds for every kind. */
static void check_description(recipe r) {
  is_new(r);
  WITH(r, size, 256);
  WITH(r, packing.in_maps, 16);
  WITH(r, packing.dtype, BSM_DTYPE_INT32); /* as many bytes */
  WITH(r, packing.transposed, true);
  WITH(r, packing.make, some_make);
  for (int i = 0; i < BSM_PACKING_MAX_HOW; i++) WITH(r, packing.how[i], 1);
  WITH(r, packing.raw_count, 2);
  WITH(r, raw[0].values, memory + 68);
  WITH(r, raw[0].size, 124);
  WITH(r, raw[0].dtype, BSM_DTYPE_INT32);
  r.packing.raw_count = 2;
  WITH(r, raw[1].values, memory + 2052);
  WITH(r, raw[1].size, 0);
  r.packing.raw_count = 1;
  r.packing.factor = r.factor;
  r.packing.factor_count = 3;
  is_new(r);
  WITH(r, packing.factor_count, 4);
  WITH(r, factor[2], 5);
}

static recipe product(void) {
  recipe r = base_recipe(BSM_STEP_MATRIX_MULTIPLY);
  r.params.matrix_multiply.k = r.params.matrix_multiply.n = 4;
  return r;
}

static void test_keys_of_known_weights(void **state) {
  (void)state;
  add(1, 0, 1024);
  add(2, 2048, 1024);
  seen_count = 0;
  check_description(product());
  /* The place counts, not what it holds ... */
  recipe r = product();
  const bsm_weights_key before = key_of(&r);
  assert_int_equal(before.hash[0] & 1, 1);
  memory[64]++;
  assert_true(same(key_of(&r), before));
  memcpy(memory + 2048 + 64, memory + 64, 128);
  WITH(r, raw[0].values, memory + 2048 + 64); /* ... in another constant */
  /* ... and the constant, not where it lies now. */
  bsm_weights_store_destroy(&store);
  bsm_weights_store_init(&store, NULL);
  add(1, 512, 1024);
  r.raw[0].values = memory + 512 + 64;
  assert_true(same(key_of(&r), before));
}

static void test_keys_of_unknown_weights(void **state) {
  (void)state;
  seen_count = 0;
  check_description(product());
  recipe r = product();
  const bsm_weights_key before = key_of(&r);
  assert_int_equal(before.hash[0] & 1, 0);
  memcpy(memory + 3072, memory + 64, 128);
  r.raw[0].values = memory + 3072; /* the same values elsewhere */
  assert_true(same(key_of(&r), before));
  memory[3072 + 127]++;
  is_new(r);
  /* Known ones are told apart from all of these. */
  add(0, 0, 1024);
  r = product();
  is_new(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(test_constants),
      TEST(test_constants_that_overlap),
      TEST(test_ids_are_known_once),
      TEST(test_many_constants),
      TEST(test_put_and_find),
      TEST(test_equal_weights_are_kept_once),
      TEST(test_room),
      TEST(test_keys_of_convolutions),
      TEST(test_keys_of_products_and_recurrences),
      TEST(test_keys_of_known_weights),
      TEST(test_keys_of_unknown_weights),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
