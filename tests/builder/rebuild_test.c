/* SPDX-License-Identifier: Apache-2.0 */
/* Networks built again: with what a store holds, like another plan, and with
 * work on weights put off until they are packed. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "aten/tensor.h"
#include "base/isa.h"
#include "builder/builder.h"
#include "tests/target_kit.h"

enum { COUNT = 16384, HALVES = 4096 };

/* What a model's constants would be; `plain` is not known to the store. */
static _Alignas(BSM_ALIGNMENT) float constants[COUNT];
static _Alignas(BSM_ALIGNMENT) uint16_t halves[HALVES];
static float plain[64];

static bsm_arena arena; /* of networks and plans */
static bsm_network *net;
static bsm_weights_store store;

static void new_network(void) {
  if (net) bsm_network_release(net);
  assert_null(bsm_network_create(&arena, NULL, &net));
}

static void add_constants(bsm_weights_store *to) {
  assert_null(
      bsm_weights_store_add_constant(to, 1, constants, sizeof(constants)));
  assert_null(bsm_weights_store_add_constant(to, 2, halves, sizeof(halves)));
}

static int set_up(void **state) {
  (void)state;
  /* Halves of whole numbers: exact in every dtype. */
  for (int i = 0; i < COUNT; i++) constants[i] = (float)(i * 37 % 101) / 7;
  for (int i = 0; i < HALVES; i++) {
    halves[i] = (uint16_t)(0x3c00 + (i * 29 % 64 << 4));
  }
  for (int i = 0; i < 64; i++) plain[i] = (float)i / 3;
  bsm_arena_init(&arena, NULL);
  bsm_weights_store_init(&store, NULL);
  add_constants(&store);
  new_network();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_network_release(net);
  net = NULL;
  bsm_arena_destroy(&arena);
  bsm_weights_store_destroy(&store);
  return 0;
}

static bsm_weights weights(bsm_dtype dtype, const void *values,
                           bsm_dims shape) {
  bsm_weights w = {
      .dtype = dtype, .values = values, .count = 1, .shape = shape};
  for (int32_t i = 0; i < shape.rank; i++) w.count *= shape.d[i];
  return w;
}

static bsm_weights floats(size_t offset, bsm_dims shape) {
  return weights(BSM_DTYPE_FLOAT, constants + offset, shape);
}

static bsm_itensor *input(const char *name, bsm_dtype dtype, bsm_dims dims) {
  bsm_itensor *t = bsm_network_add_input(net, name, dtype, dims);
  assert_non_null(t);
  return t;
}

static bsm_itensor *named(bsm_layer *layer, const char *name) {
  assert_non_null(layer);
  bsm_layer_set_name(layer, name);
  return bsm_layer_output(layer, 0);
}

static bsm_plan *build(bsm_weights_store *with, const bsm_plan *like) {
  bsm_plan *plan = NULL;
  const bsm_build_options options = {.target = test_target(1),
                                     .no_timing = true,
                                     .store = with,
                                     .like = like,
                                     .narrows = true};
  bsm_status status = bsm_build(net, &options, &arena, &plan);
  if (status) fail_msg("%s", bsm_status_message(status));
  return plan;
}

/* Every kind of packed weights and of constants, for images of `size`. */
static void add_everything(int64_t size) {
  const bsm_weights kernel = floats(0, (bsm_dims){4, {8, 4, 3, 3}});
  const bsm_weights bias = floats(320, (bsm_dims){1, {8}});
  const bsm_weights scale = floats(336, (bsm_dims){1, {8}});
  const bsm_weights shift = floats(352, (bsm_dims){1, {8}});
  const bsm_weights back = floats(512, (bsm_dims){4, {8, 2, 2, 2}});
  const bsm_weights matrix = floats(1024, (bsm_dims){2, {6, 10}});
  const bsm_weights strange =
      weights(BSM_DTYPE_FLOAT, plain, (bsm_dims){2, {6, 10}});
  const bsm_weights table = floats(2048, (bsm_dims){2, {10, 6}});
  new_network();
  bsm_itensor *x =
      input("x", BSM_DTYPE_FLOAT, (bsm_dims){4, {1, 4, size, size}});
  bsm_itensor *y = named(bsm_network_add_convolution_nd(
                             net, x, 8, (bsm_dims){2, {3, 3}}, &kernel, &bias),
                         "conv");
  y = named(bsm_network_add_scale(net, y, &shift, &scale, NULL), "norm");
  y = named(bsm_network_add_deconvolution_nd(net, y, 4, (bsm_dims){2, {2, 2}},
                                             &back, NULL),
            "back");
  bsm_layer_set_groups(y->producer, 2);
  assert_null(bsm_network_mark_output(net, y, "image"));
  bsm_itensor *a = input("a", BSM_DTYPE_FLOAT, (bsm_dims){2, {size, 10}});
  bsm_itensor *w =
      named(bsm_network_add_constant(net, matrix.shape, &matrix), "w");
  a = named(bsm_network_add_matrix_multiply(net, a, BSM_MATRIX_NONE, w,
                                            BSM_MATRIX_TRANSPOSE),
            "linear");
  w = named(bsm_network_add_constant(net, strange.shape, &strange), "s");
  a = named(bsm_network_add_matrix_multiply(net, a, BSM_MATRIX_NONE, w,
                                            BSM_MATRIX_NONE),
            "product");
  assert_null(bsm_network_mark_output(net, a, "rows"));
  bsm_itensor *i = input("i", BSM_DTYPE_INT64, (bsm_dims){1, {size}});
  w = named(bsm_network_add_constant(net, table.shape, &table), "table");
  i = named(bsm_network_add_gather(net, w, i, BSM_GATHER_DEFAULT, 0), "rows");
  assert_null(bsm_network_mark_output(net, i, "embedded"));
}

/* An LSTM in two directions, one of them without biases. */
static void add_recurrence(int64_t steps) {
  const bsm_recurrent_weights w[2] = {
      {.input = floats(4096, (bsm_dims){2, {20, 4}}),
       .recurrent = floats(4224, (bsm_dims){2, {20, 5}}),
       .input_bias = floats(4352, (bsm_dims){1, {20}})},
      {.input = floats(4480, (bsm_dims){2, {20, 4}}),
       .recurrent = floats(4608, (bsm_dims){2, {20, 5}}),
       .recurrent_bias = floats(4736, (bsm_dims){1, {20}})}};
  const bsm_dims state = {3, {2, 1, 5}};
  bsm_itensor *x = input("seq", BSM_DTYPE_FLOAT, (bsm_dims){3, {steps, 1, 4}});
  bsm_itensor *h = input("h", BSM_DTYPE_FLOAT, state);
  bsm_itensor *c = input("c", BSM_DTYPE_FLOAT, state);
  x = named(bsm_network_add_recurrent(net, x, h, c, BSM_RECURRENT_LSTM, w, 2),
            "lstm");
  assert_null(bsm_network_mark_output(net, x, "states"));
}

static bsm_plan *build_everything(int64_t size, bsm_weights_store *with) {
  add_everything(size);
  add_recurrence(size);
  return build(with, NULL);
}

static const char *print(const bsm_plan *plan) {
  bsm_text text;
  bsm_text_init(&text, &arena);
  bsm_plan_print(&text, plan);
  assert_false(text.failed);
  return text.data;
}

/* The step that runs a layer, alone or with others behind it. */
static const bsm_plan_step *step_named(const bsm_plan *plan, const char *name) {
  const size_t length = strlen(name);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const char *own = plan->steps[i].name;
    if (strncmp(own, name, length) == 0 &&
        (!own[length] || strncmp(own + length, " + ", 3) == 0)) {
      return &plan->steps[i];
    }
  }
  fail_msg("no step %s", name);
  return NULL;
}

/* The steps of both have equal weights, wherever they are. */
static void assert_same_weights(const bsm_plan *a, const bsm_plan *b) {
  assert_int_equal(a->step_count, b->step_count);
  for (uint32_t i = 0; i < a->step_count; i++) {
    assert_string_equal(a->steps[i].name, b->steps[i].name);
    for (int k = 0; k < BSM_STEP_MAX_WEIGHTS; k++) {
      const uint32_t x = a->steps[i].weights[k], y = b->steps[i].weights[k];
      assert_int_equal(x == BSM_NO_WEIGHTS, y == BSM_NO_WEIGHTS);
      if (x == BSM_NO_WEIGHTS) continue;
      assert_int_equal(a->weights[x].size, b->weights[y].size);
      assert_memory_equal(a->weights[x].data, b->weights[y].data,
                          (size_t)a->weights[x].size);
    }
  }
}

static bool lies_in(const void *data, const void *memory, size_t size) {
  return (const uint8_t *)data >= (const uint8_t *)memory &&
         (const uint8_t *)data < (const uint8_t *)memory + size;
}

static void test_a_store_changes_nothing(void **state) {
  (void)state;
  const bsm_plan *without = build_everything(8, NULL);
  const bsm_plan *first = build_everything(8, &store);
  assert_int_equal(store.hits, 0);
  assert_int_equal(store.misses, 5);
  const bsm_plan *second = build_everything(8, &store);
  assert_int_equal(store.hits, 5);
  assert_int_equal(store.misses, 5);
  assert_same_weights(first, without);
  assert_same_weights(second, without);
  assert_string_equal(print(first), print(second));
}

static void test_other_shapes_share(void **state) {
  (void)state;
  const bsm_plan *small = build_everything(8, &store);
  const bsm_plan *large = build_everything(24, &store);
  assert_int_equal(store.hits, 5);
  static const char *const names[] = {"conv", "back", "linear", "product",
                                      "lstm"};
  for (size_t i = 0; i < 5; i++) {
    const uint32_t a = step_named(small, names[i])->weights[0];
    const uint32_t b = step_named(large, names[i])->weights[0];
    assert_ptr_equal(small->weights[a].data, large->weights[b].data);
  }
  assert_same_weights(build_everything(24, NULL), large);
}

/* The table of another store, as one that was read from a file. */
static void test_a_table_filled_from_another(void **state) {
  (void)state;
  const bsm_plan *first = build_everything(8, &store);
  bsm_weights_store other;
  bsm_weights_store_init(&other, NULL);
  add_constants(&other);
  for (size_t i = 0; i < bsm_weights_store_count(&store); i++) {
    const bsm_weights_entry *entry = bsm_weights_store_at(&store, i);
    assert_null(
        bsm_weights_store_put(&other, entry->key, entry->data, entry->size));
  }
  other.room = 0;
  const bsm_plan *second = build_everything(8, &other);
  assert_int_equal(other.misses, 0);
  assert_int_equal(other.hits, 5);
  assert_string_equal(print(first), print(second));
  assert_same_weights(first, second);
  bsm_weights_store_destroy(&other);
}

/* A constant that was copied when the table was made, as one with strides is,
 * and has a place of its own now. */
static void test_constants_that_had_no_place(void **state) {
  (void)state;
  bsm_weights_store other;
  bsm_weights_store_init(&other, NULL);
  const bsm_plan *first = build_everything(8, &other); /* knows none */
  for (size_t i = 0; i < bsm_weights_store_count(&other); i++) {
    const bsm_weights_entry *entry = bsm_weights_store_at(&other, i);
    assert_null(
        bsm_weights_store_put(&store, entry->key, entry->data, entry->size));
  }
  store.room = 0;
  const bsm_plan *second = build_everything(8, &store);
  assert_int_equal(store.misses, 0);
  assert_int_equal(bsm_weights_store_count(&store), 9); /* 4 found again */
  assert_same_weights(first, second);
  build_everything(8, &store);
  assert_int_equal(store.misses, 0);
  assert_int_equal(bsm_weights_store_count(&store), 9);
  bsm_weights_store_destroy(&other);
}

/* Without room the plan owns what it packs. */
static void test_no_room(void **state) {
  (void)state;
  store.room = 0;
  const bsm_plan *first = build_everything(8, &store);
  const bsm_plan *second = build_everything(8, &store);
  assert_int_equal(bsm_weights_store_count(&store), 0);
  assert_int_equal(store.made.total, 0);
  assert_int_equal(store.misses, 10);
  assert_same_weights(first, second);
  assert_same_weights(first, build_everything(8, NULL));
}

/* With a bound, what no constant holds is not kept: here "product". */
static void test_bounded_room(void **state) {
  (void)state;
  store.room = 1 << 20;
  build_everything(8, &store);
  assert_int_equal(bsm_weights_store_count(&store), 4);
  build_everything(8, &store);
  assert_int_equal(bsm_weights_store_count(&store), 4);
  assert_int_equal(store.hits, 4);
  assert_int_equal(store.misses, 6);
}

static void test_constants_are_borrowed(void **state) {
  (void)state;
  const bsm_plan *plan = build_everything(8, &store);
  const bsm_plan_step *gather = step_named(plan, "rows");
  const bsm_plan_tensor *table = &plan->tensors[gather->inputs[0]];
  assert_int_equal(table->place, BSM_PLACE_WEIGHTS);
  assert_ptr_equal(plan->weights[table->index].data, constants + 2048);
  plan = build_everything(8, NULL);
  table = &plan->tensors[step_named(plan, "rows")->inputs[0]];
  assert_false(
      lies_in(plan->weights[table->index].data, constants, sizeof(constants)));
}

/* A constant that is not aligned cannot be borrowed. */
static void test_constants_that_are_not_aligned(void **state) {
  (void)state;
  const bsm_weights table = floats(1, (bsm_dims){2, {10, 6}});
  bsm_itensor *i = input("i", BSM_DTYPE_INT64, (bsm_dims){1, {4}});
  bsm_itensor *w =
      named(bsm_network_add_constant(net, table.shape, &table), "table");
  i = named(bsm_network_add_gather(net, w, i, BSM_GATHER_DEFAULT, 0), "rows");
  assert_null(bsm_network_mark_output(net, i, "out"));
  const bsm_plan *plan = build(&store, NULL);
  assert_int_equal(plan->weights_count, 1);
  assert_int_equal((uintptr_t)plan->weights[0].data % BSM_ALIGNMENT, 0);
  assert_memory_equal(plan->weights[0].data, constants + 1, 240);
}

/* ---- tactics like those of another plan ---- */

/* Convolutions that have several tactics. */
static void add_convolutions(int64_t size) {
  const bsm_weights kernel = floats(0, (bsm_dims){4, {16, 16, 3, 3}});
  new_network();
  bsm_itensor *x =
      input("x", BSM_DTYPE_FLOAT, (bsm_dims){4, {1, 16, size, size}});
  static const char *const names[] = {"one", "twice", "twice"};
  for (size_t i = 0; i < 3; i++) {
    bsm_layer *layer = bsm_network_add_convolution_nd(
        net, x, 16, (bsm_dims){2, {3, 3}}, &kernel, NULL);
    bsm_layer_set_padding_nd(layer, (bsm_dims){2, {1, 1}});
    x = named(layer, names[i]);
  }
  assert_null(bsm_network_mark_output(net, x, "out"));
}

static size_t tactics_of(const bsm_plan *plan, const bsm_plan_step *step,
                         const char **names) {
  return test_target(1)->ops->tactics(test_target(1), plan, step, names);
}

static void test_like_is_honoured(void **state) {
  (void)state;
  const char *names[BSM_MAX_TACTICS];
  add_convolutions(16);
  bsm_plan *like = build(NULL, NULL);
  const uint32_t first = (uint32_t)(step_named(like, "one") - like->steps);
  assert_true(tactics_of(like, &like->steps[first], names) >= 2);
  for (uint32_t i = 0; i < 3; i++) {
    assert_string_equal(like->steps[first + i].tactic, names[0]);
  }
  like->steps[first].tactic = names[1];
  like->steps[first + 2].tactic = names[1]; /* the second of one name */
  add_convolutions(20);
  const bsm_plan *plan = build(NULL, like);
  const bsm_plan_step *steps = step_named(plan, "one");
  assert_string_equal(steps[0].tactic, names[1]);
  assert_string_equal(steps[1].tactic, names[0]);
  assert_string_equal(steps[2].tactic, names[1]);
}

static void test_like_without_a_use(void **state) {
  (void)state;
  const char *names[BSM_MAX_TACTICS];
  add_convolutions(16);
  bsm_plan *like = build(NULL, NULL);
  bsm_plan_step *steps = &like->steps[step_named(like, "one") - like->steps];
  assert_true(tactics_of(like, steps, names) >= 2);
  steps[0].tactic = "none such";
  steps[1].name = "another"; /* no step has it now */
  steps[1].tactic = steps[2].tactic = names[1];
  steps[2].kind = BSM_STEP_DECONVOLUTION;
  add_convolutions(16);
  const bsm_plan *plan = build(NULL, like);
  for (uint32_t i = 0; i < 3; i++) {
    assert_string_equal(step_named(plan, "one")[i].tactic, names[0]);
  }
}

/* ---- what is put off ---- */

static void *packed(const bsm_plan *plan, const char *name) {
  const uint32_t id = step_named(plan, name)->weights[0];
  assert_int_not_equal(id, BSM_NO_WEIGHTS);
  return (void *)(uintptr_t)plan->weights[id].data;
}

/* A convolution, one back, or one back with strides of 1, which is built as a
 * convolution. */
typedef enum direction { FORTH, BACK, TURNED } direction;

/* Such one with 8 maps in and out in 2 groups, then so many scales. */
static const bsm_plan *build_scaled(direction way, const float *values,
                                    int scales, bsm_weights_store *with) {
  const bsm_weights kernel =
      weights(BSM_DTYPE_FLOAT, values, (bsm_dims){4, {8, 4, 3, 2}});
  const bsm_weights scale = floats(400, (bsm_dims){1, {8}});
  new_network();
  bsm_itensor *x = input("x", BSM_DTYPE_FLOAT, (bsm_dims){4, {1, 8, 6, 6}});
  const bsm_dims window = {2, {3, 2}};
  bsm_layer *layer =
      way == FORTH
          ? bsm_network_add_convolution_nd(net, x, 8, window, &kernel, NULL)
          : bsm_network_add_deconvolution_nd(net, x, 8, window, &kernel, NULL);
  bsm_layer_set_groups(layer, 2);
  if (way == BACK) bsm_layer_set_stride_nd(layer, (bsm_dims){2, {1, 2}});
  x = named(layer, "conv");
  for (int i = 0; i < scales; i++) {
    x = named(bsm_network_add_scale(net, x, NULL, &scale, NULL), "scale");
  }
  assert_null(bsm_network_mark_output(net, x, "out"));
  const bsm_plan *plan = build(with, NULL);
  assert_int_equal(step_named(plan, "conv")->kind,
                   way == BACK ? BSM_STEP_DECONVOLUTION : BSM_STEP_CONVOLUTION);
  return plan;
}

/* The kernel with its factors multiplied in: [8 out, 4, 3, 2], or back
 * [8 in, 4 out of the group of the input, 3, 2]. */
static void scale_kernel(direction way, int scales, float *out) {
  for (int i = 0; i < 8 * 24; i++) {
    const int channel = way == FORTH ? i / 24 : i / (4 * 24) * 4 + i / 6 % 4;
    const double factor = scales ? (double)constants[400 + channel] : 1;
    out[i] = (float)((double)constants[i] *
                     (scales == 2 ? factor * factor : factor));
  }
}

/* From [2 groups, 4 in, 4 out, 3, 2] to [2 groups, 4 out, 4 in, 3, 2], the last
 * tap first. */
static void turn_kernel(const float *from, float *out) {
  for (int i = 0; i < 8 * 24; i++) {
    const int group = i / 96, to = i / 24 % 4, in = i / 6 % 4, tap = i % 6;
    out[i] = from[group * 96 + in * 24 + to * 6 + 5 - tap];
  }
}

static void check_folding(direction way, int scales) {
  static float eager[8 * 24], turned[8 * 24];
  scale_kernel(way, scales, eager);
  turn_kernel(eager, turned);
  const bsm_plan *late = build_scaled(way, constants, scales, NULL);
  const bsm_plan *early = way == TURNED ? build_scaled(FORTH, turned, 0, NULL)
                                        : build_scaled(way, eager, 0, NULL);
  const size_t size = (size_t)early->weights[0].size;
  assert_int_equal(step_named(late, "conv")->weights[0] == BSM_NO_WEIGHTS, 0);
  assert_int_equal(late->weights[0].size, size);
  assert_memory_equal(packed(late, "conv"), packed(early, "conv"), size);
  /* And the factor is part of the key. */
  const bsm_plan *plain_one = build_scaled(way, constants, 0, &store);
  const bsm_plan *stored = build_scaled(way, constants, scales, &store);
  assert_memory_equal(packed(stored, "conv"), packed(early, "conv"), size);
  if (scales == 0) return;
  assert_memory_not_equal(packed(plain_one, "conv"), packed(early, "conv"),
                          size);
}

static void test_scales_fold_late(void **state) {
  (void)state;
  for (int scales = 1; scales <= 2; scales++) {
    check_folding(FORTH, scales);
    check_folding(BACK, scales);
    check_folding(TURNED, scales);
  }
}

/* A transposed convolution whose outputs are one step apart is a convolution of
 * the kernel turned around. */
static void test_back_is_turned(void **state) {
  (void)state;
  check_folding(TURNED, 0);
  const bsm_plan *plan = build_scaled(TURNED, constants, 0, NULL);
  const bsm_step_window *w =
      &step_named(plan, "conv")->params->convolution.window;
  assert_int_equal(w->pre_padding[1], 2);
  assert_int_equal(w->post_padding[1], 2);
  assert_int_equal(w->pre_padding[2], 1);
  assert_int_equal(w->post_padding[2], 1);
}

/* halves as floats. */
static const float *as_floats(size_t count) {
  bsm_tensor *from, *to;
  const bsm_array array = {
      .data = halves, .dtype = BSM_DTYPE_HALF, .dims = {1, {(int64_t)count}}};
  assert_null(bsm_tensor_from_array(&arena, &array, true, &from));
  assert_null(bsm_tensor_to_dtype(&arena, from, BSM_DTYPE_FLOAT, &to));
  return bsm_tensor_data(to);
}

/* x [2, 32] times a constant [batch, 32, 40], and a 1x1 deconvolution in groups
 * of 12 maps, which has no kernel of half. */
static const bsm_plan *build_products(bsm_dtype dtype, const void *values,
                                      int64_t batch) {
  const bsm_weights matrix = weights(
      dtype, values,
      batch > 1 ? (bsm_dims){3, {batch, 32, 40}} : (bsm_dims){2, {32, 40}});
  const bsm_weights kernel =
      weights(dtype, values, (bsm_dims){4, {128, 12, 1, 1}});
  new_network();
  bsm_itensor *x = input("x", dtype, (bsm_dims){2, {2, 32}});
  bsm_itensor *image = input("image", dtype, (bsm_dims){4, {1, 128, 4, 4}});
  bsm_itensor *w =
      named(bsm_network_add_constant(net, matrix.shape, &matrix), "w");
  if (batch > 1) {
    bsm_itensor *y = named(
        bsm_network_add_expand(net, x, (bsm_dims){3, {batch, 2, 32}}), "wide");
    x = y;
  }
  x = named(bsm_network_add_matrix_multiply(net, x, BSM_MATRIX_NONE, w,
                                            BSM_MATRIX_NONE),
            "product");
  bsm_layer *conv = bsm_network_add_deconvolution_nd(
      net, image, 48, (bsm_dims){2, {1, 1}}, &kernel, NULL);
  bsm_layer_set_groups(conv, 4);
  image = named(conv, "conv");
  assert_null(bsm_network_mark_output(net, x, "rows"));
  assert_null(bsm_network_mark_output(net, image, "image"));
  return build(&store, NULL);
}

static void test_narrow_weights_widen_late(void **state) {
  (void)state;
  const bsm_plan *narrow = build_products(BSM_DTYPE_HALF, halves, 1);
  const uint64_t misses = store.misses;
  const float *wide = as_floats(HALVES);
  const bsm_plan *floating = build_products(BSM_DTYPE_FLOAT, wide, 1);
  /* What multiplies narrow numbers has them; the other does not. */
  const uint32_t id = step_named(narrow, "product")->weights[0];
  assert_int_equal(narrow->weights[id].size, 32 * 48 * sizeof(uint16_t));
  assert_memory_equal(packed(narrow, "conv"), packed(floating, "conv"),
                      4 * 32 * 16 * sizeof(float));
  assert_int_equal(store.misses, misses + 2);
  build_products(BSM_DTYPE_HALF, halves, 1);
  assert_int_equal(store.misses, misses + 2);
}

/* One that is an operand of the step is converted for it. */
static void test_narrow_operands_widen(void **state) {
  (void)state;
  const bsm_plan *plan = build_products(BSM_DTYPE_HALF, halves, 3);
  const bsm_plan_step *step = step_named(plan, "product");
  assert_int_equal(step->input_count, 2);
  const bsm_plan_tensor *b = &plan->tensors[step->inputs[1]];
  assert_int_equal(b->dtype, BSM_DTYPE_FLOAT);
  assert_int_equal(b->place, BSM_PLACE_WEIGHTS);
  const bsm_plan_weights *w = &plan->weights[b->index];
  assert_int_equal(w->size, 3 * 32 * 40 * sizeof(float));
  assert_memory_equal(w->data, as_floats(3 * 32 * 40), (size_t)w->size);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(test_a_store_changes_nothing),
      TEST(test_other_shapes_share),
      TEST(test_a_table_filled_from_another),
      TEST(test_constants_that_had_no_place),
      TEST(test_no_room),
      TEST(test_bounded_room),
      TEST(test_constants_are_borrowed),
      TEST(test_constants_that_are_not_aligned),
      TEST(test_like_is_honoured),
      TEST(test_like_without_a_use),
      TEST(test_scales_fold_late),
      TEST(test_back_is_turned),
      TEST(test_narrow_weights_widen_late),
      TEST(test_narrow_operands_widen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
