/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of built plans: what is a view or written in place, what must be
 * copied, and that the numbers are those of the network either way. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <string.h>

#include "base/isa.h"
#include "builder/builder.h"
#include "tests/conformance/device_fixture.h"
#include "tests/target_kit.h"

enum { MAX_VALUES = 1 << 16 };

static bsm_arena arena;
static bsm_network *net;
static float in[MAX_VALUES], out[MAX_VALUES];

static int set_up(void **state) {
  (void)state;
  bsm_arena_init(&arena, NULL);
  assert_null(bsm_network_create(&arena, NULL, &net));
  for (int i = 0; i < MAX_VALUES; i++) in[i] = (float)(i * 37 % 1009 - 500) / 8;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  bsm_network_release(net);
  bsm_arena_destroy(&arena);
  return 0;
}

static bsm_itensor *output_of(bsm_layer *layer) {
  assert_non_null(layer);
  return bsm_layer_output(layer, 0);
}

static bsm_itensor *negate(bsm_itensor *x) {
  return output_of(bsm_network_add_unary(net, x, BSM_UNARY_NEG));
}

static bsm_itensor *largest(bsm_itensor *x) { /* of windows of 2 x 2 */
  bsm_layer *layer = bsm_network_add_pooling_nd(net, x, BSM_POOLING_MAX,
                                                (bsm_dims){2, {2, 2}});
  bsm_layer_set_stride_nd(layer, (bsm_dims){2, {2, 2}});
  return output_of(layer);
}

static bsm_itensor *permuted(bsm_itensor *x, bsm_dims perm) {
  bsm_layer *layer = bsm_network_add_shuffle(net, x);
  bsm_shuffle_set_first_transpose(layer, perm);
  return output_of(layer);
}

static bsm_itensor *joined(bsm_itensor *a, bsm_itensor *b, int32_t axis) {
  bsm_itensor *both[2] = {a, b};
  return output_of(bsm_network_add_concatenation(net, both, 2, axis));
}

/* An image [n, c, h, w] whose memory has the channels inside. */
static bsm_itensor *image(const char *name, int64_t n, int64_t h, int64_t w,
                          int64_t c) {
  bsm_itensor *x = bsm_network_add_input(net, name, BSM_DTYPE_FLOAT,
                                         (bsm_dims){4, {n, h, w, c}});
  assert_non_null(x);
  return permuted(x, (bsm_dims){4, {0, 3, 1, 2}});
}

static uint32_t count_steps(const bsm_plan *plan, bsm_step_kind kind) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    count += plan->steps[i].kind == kind;
  }
  return count;
}

/* Builds the network for one output and runs it; every input binding reads
 * `in`. The layouts are those of bsm_build_options. */
static const bsm_plan *run_as(bsm_itensor *y, const bsm_layout *input_layouts,
                              bsm_layout *output_layouts) {
  bsm_plan *plan = NULL;
  assert_null(bsm_network_mark_output(net, y, "y"));
  const bsm_build_options options = {.target = test_target(1),
                                     .no_timing = true,
                                     .input_layouts = input_layouts,
                                     .output_layouts = output_layouts};
  bsm_status status = bsm_build(net, &options, &arena, &plan);
  if (status) fail_msg("%s", bsm_status_message(status));
  void *inputs[4] = {in, in, in, in}, *outputs[1] = {out};
  bsm_run r = {.inputs = inputs, .outputs = outputs};
  r.workspace = bsm_arena_alloc(
      &arena, (size_t)plan->workspace_size[BSM_SPACE_HOST] + 1, BSM_ALIGNMENT);
  assert_non_null(r.workspace);
  memset(out, 0x7f, sizeof(out));
  r.stream = fixture_stream(&(bsm_stream_options){.isa = BSM_ISA_DETECT});
  const bsm_device_ops *ops = r.stream->device->ops;
  for (uint32_t i = 0; i < plan->step_count; i++) {
    bsm_prepared_step step;
    status = ops->check(plan, &plan->steps[i]);
    if (status) fail_msg("%s", bsm_status_message(status));
    assert_null(
        ops->prepare(r.stream, plan, &plan->steps[i], NULL, &arena, &step));
    r.scratch = bsm_arena_alloc(&arena, step.scratch_size + 1, BSM_ALIGNMENT);
    assert_non_null(r.scratch);
    assert_null(step.enqueue(&step, &r));
  }
  fixture_stream_close(r.stream);
  return plan;
}

static const bsm_plan *run(bsm_itensor *y) {
  return run_as(y, NULL, NULL);
}

/* Element [n, c, h, w] of image(). */
typedef struct sizes {
  int64_t n, h, w, c;
} sizes;
static float at(sizes s, int64_t n, int64_t c, int64_t h, int64_t w) {
  return in[((n * s.h + h) * s.w + w) * s.c + c];
}
static float at_window(sizes s, int64_t n, int64_t c, int64_t h, int64_t w) {
  return fmaxf(
      fmaxf(at(s, n, c, 2 * h, 2 * w), at(s, n, c, 2 * h, 2 * w + 1)),
      fmaxf(at(s, n, c, 2 * h + 1, 2 * w), at(s, n, c, 2 * h + 1, 2 * w + 1)));
}

/* cat(max(x), -max(x)) along the channels, before a reader of channels-last
 * memory: both producers write into the result. */
static void test_channels_join_in_place(void **state) {
  (void)state;
  const sizes s = {2, 8, 12, 20};
  bsm_itensor *x = largest(image("x", s.n, s.h, s.w, s.c));
  const bsm_plan *plan = run(
      permuted(negate(joined(x, negate(x), 1)), (bsm_dims){4, {0, 2, 3, 1}}));
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 0);
  const float *y = out;
  for (int64_t n = 0; n < 2; n++) {
    for (int64_t h = 0; h < 4; h++) {
      for (int64_t w = 0; w < 6; w++) {
        for (int64_t c = 0; c < 40; c++) {
          const float v = at_window(s, n, c % 20, h, w);
          assert_true(*y++ == (c < 20 ? -v : v));
        }
      }
    }
  }
}

/* f0 = max(x), f1 = -cat(f0), f2 = -cat(f0, f1), ...: one buffer that grows. */
static void test_a_dense_block_is_one_buffer(void **state) {
  (void)state;
  const sizes s = {2, 4, 6, 8};
  bsm_itensor *all = largest(image("x", s.n, s.h, s.w, s.c));
  for (int i = 0; i < 3; i++) all = joined(all, negate(all), 1);
  const bsm_plan *plan =
      run(permuted(largest(all), (bsm_dims){4, {0, 2, 3, 1}}));
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 0);
  for (int64_t n = 0; n < s.n; n++) {
    for (int64_t c = 0; c < 64; c++) {
      /* Sign: the parity of the ones in the number of the block. */
      const bool minus = __builtin_popcount((unsigned)(c / 8)) & 1;
      float best = -INFINITY;
      for (int64_t i = 0; i < 4; i++) {
        const float v = at_window(s, n, c % 8, i / 2, i % 2);
        best = fmaxf(best, minus ? -v : v);
      }
      assert_true(out[n * 64 + c] == best);
    }
  }
}

/* The same tensor twice: one place is its own, the other a copy. */
static void test_a_tensor_joins_itself(void **state) {
  (void)state;
  bsm_itensor *x = negate(
      bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT, (bsm_dims){2, {6, 8}}));
  const bsm_plan *plan = run(joined(x, x, 1));
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 1);
  for (int i = 0; i < 6; i++) {
    for (int j = 0; j < 16; j++) {
      assert_true(out[i * 16 + j] == -in[i * 8 + j % 8]);
    }
  }
}

/* Inputs of the network, single columns and pieces are copied. */
static void test_what_must_be_copied(void **state) {
  (void)state;
  bsm_itensor *x =
      bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT, (bsm_dims){2, {6, 1}});
  bsm_itensor *wide =
      bsm_network_add_input(net, "w", BSM_DTYPE_FLOAT, (bsm_dims){2, {6, 8}});
  bsm_itensor *piece = output_of(
      bsm_network_add_slice(net, negate(wide), (bsm_dims){2, {0, 2}},
                            (bsm_dims){2, {6, 5}}, (bsm_dims){2, {1, 1}}));
  bsm_itensor *y = joined(joined(x, negate(x), 1), piece, 1);
  const bsm_plan *plan = run(y);
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 4);
  for (int i = 0; i < 6; i++) {
    assert_true(out[i * 7] == in[i]);
    assert_true(out[i * 7 + 1] == -in[i]);
    for (int j = 0; j < 5; j++) {
      assert_true(out[i * 7 + 2 + j] == -in[i * 8 + 2 + j]);
    }
  }
}

/* Splitting and joining in the same order is no work. */
static void test_pieces_that_lie_in_order_are_a_view(void **state) {
  (void)state;
  bsm_itensor *x = negate(
      bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT, (bsm_dims){2, {5, 12}}));
  bsm_itensor *parts[2];
  for (int i = 0; i < 2; i++) {
    parts[i] = output_of(
        bsm_network_add_slice(net, x, (bsm_dims){2, {0, 3 + 4 * i}},
                              (bsm_dims){2, {5, 4}}, (bsm_dims){2, {1, 1}}));
  }
  const bsm_plan *plan = run(negate(joined(parts[0], parts[1], 1)));
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 0);
  for (int i = 0; i < 5; i++) {
    for (int j = 0; j < 8; j++) {
      assert_true(out[i * 8 + j] == in[i * 12 + 3 + j]);
    }
  }
}

/* Along the outermost dimension, through reshapes on both sides. */
static void test_rows_join_in_place(void **state) {
  (void)state;
  const sizes s = {1, 4, 4, 8};
  bsm_itensor *x = largest(image("x", 1, 4, 4, 8));
  bsm_itensor *parts[2];
  for (int i = 0; i < 2; i++) {
    bsm_layer *flat = bsm_network_add_shuffle(net, i ? negate(x) : x);
    bsm_shuffle_set_first_transpose(flat, (bsm_dims){4, {0, 2, 3, 1}});
    bsm_shuffle_set_reshape_dimensions(flat, (bsm_dims){3, {1, 8, 4}});
    parts[i] = output_of(flat);
  }
  const bsm_plan *plan = run(joined(parts[0], parts[1], 1));
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 0);
  for (int64_t i = 0; i < 32; i++) {
    const float v = at_window(s, 0, i % 8, i / 16, i / 8 % 2);
    assert_true(out[i] == v);
    assert_true(out[32 + i] == -v);
  }
}

/* Softmax over the channels, and a norm of each image, as the image lies. */
static void test_rows_run_as_they_lie(void **state) {
  (void)state;
  const sizes s = {2, 4, 6, 20};
  bsm_itensor *x = largest(image("x", s.n, s.h, s.w, s.c));
  bsm_itensor *norm = output_of(
      bsm_network_add_normalization(net, x, NULL, NULL, 1u << 2 | 1u << 3));
  bsm_itensor *soft = output_of(bsm_network_add_softmax(net, norm, 1, false));
  const bsm_plan *plan = run(permuted(soft, (bsm_dims){4, {0, 2, 3, 1}}));
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 0);
  for (int64_t n = 0; n < 2; n++) {
    double e[6][20], total[6] = {0};
    for (int64_t c = 0; c < 20; c++) {
      double mean = 0, square = 0;
      for (int64_t i = 0; i < 6; i++) {
        mean += (double)at_window(s, n, c, i / 3, i % 3) / 6;
      }
      for (int64_t i = 0; i < 6; i++) {
        const double d = (double)at_window(s, n, c, i / 3, i % 3) - mean;
        square += d * d / 6;
      }
      for (int64_t i = 0; i < 6; i++) {
        const double d = (double)at_window(s, n, c, i / 3, i % 3) - mean;
        e[i][c] = exp(d / sqrt(square + 1e-5));
        total[i] += e[i][c];
      }
    }
    for (int64_t i = 0; i < 6; i++) {
      for (int64_t c = 0; c < 20; c++) {
        const double got = (double)out[(n * 6 + i) * 20 + c];
        assert_true(fabs(got - e[i][c] / total[i]) < 1e-6);
      }
    }
  }
}

/* A norm over all of each image, channels and pixels, with a scale for each
 * channel. */
static void test_a_norm_of_images_runs_as_they_lie(void **state) {
  (void)state;
  const sizes s = {2, 4, 6, 20};
  float values[20];
  for (int c = 0; c < 20; c++) values[c] = 0.5f + (float)c;
  const bsm_dims channels = {4, {1, 20, 1, 1}};
  const bsm_weights weights = {.dtype = BSM_DTYPE_FLOAT,
                               .values = values,
                               .count = 20,
                               .shape = channels};
  bsm_itensor *scale =
      output_of(bsm_network_add_constant(net, channels, &weights));
  bsm_itensor *x = largest(image("x", s.n, s.h, s.w, s.c));
  bsm_itensor *norm = output_of(bsm_network_add_normalization(
      net, x, scale, NULL, 1u << 1 | 1u << 2 | 1u << 3));
  const bsm_plan *plan = run(permuted(norm, (bsm_dims){4, {0, 2, 3, 1}}));
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 0);
  for (int64_t n = 0; n < 2; n++) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < 120; i++) {
      mean += (double)at_window(s, n, i % 20, i / 60, i / 20 % 3) / 120;
    }
    for (int64_t i = 0; i < 120; i++) {
      const double d =
          (double)at_window(s, n, i % 20, i / 60, i / 20 % 3) - mean;
      square += d * d / 120;
    }
    for (int64_t i = 0; i < 120; i++) {
      const double d =
          (double)at_window(s, n, i % 20, i / 60, i / 20 % 3) - mean;
      const double want = d / sqrt(square + 1e-5) * (double)values[i % 20];
      assert_true(fabs((double)out[n * 120 + i] - want) < 2e-5);
    }
  }
}

/* A shuffle of channels between two poolings: one copy, which keeps them
 * inside. */
static void test_channel_shuffle_is_one_copy(void **state) {
  (void)state;
  const sizes s = {2, 4, 8, 24};
  bsm_itensor *x = largest(image("x", s.n, s.h, s.w, s.c));
  bsm_layer *apart = bsm_network_add_shuffle(net, x);
  bsm_shuffle_set_reshape_dimensions(apart, (bsm_dims){5, {2, 2, 12, 2, 4}});
  bsm_itensor *y = permuted(output_of(apart), (bsm_dims){5, {0, 2, 1, 3, 4}});
  bsm_layer *back = bsm_network_add_shuffle(net, y);
  bsm_shuffle_set_reshape_dimensions(back, (bsm_dims){4, {2, 24, 2, 4}});
  y = largest(output_of(back));
  const bsm_plan *plan = run(permuted(y, (bsm_dims){4, {0, 2, 3, 1}}));
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 1);
  for (int64_t n = 0; n < 2; n++) {
    for (int64_t w = 0; w < 2; w++) {
      for (int64_t c = 0; c < 24; c++) {
        const int64_t from = c % 2 * 12 + c / 2;
        float best = -INFINITY;
        for (int64_t i = 0; i < 4; i++) {
          best = fmaxf(best, at_window(s, n, from, i / 2, 2 * w + i % 2));
        }
        assert_true(out[(n * 2 + w) * 24 + c] == best);
      }
    }
  }
}

/* ---- bindings of other layouts ---- */

static bsm_itensor *input(const char *name, bsm_dims dims) {
  bsm_itensor *x = bsm_network_add_input(net, name, BSM_DTYPE_FLOAT, dims);
  assert_non_null(x);
  return x;
}

static void check_output(const bsm_plan *plan, bsm_dims dims) {
  const bsm_plan_tensor *y = &plan->tensors[plan->outputs[0].tensor];
  assert_true(bsm_dims_equal(y->dims, dims));
}

/* -x of a transposed matrix: read as it lies, and written so. */
static void test_a_transposed_input_stays_transposed(void **state) {
  (void)state;
  const bsm_layout given = {{2, {5, 7}}, {1, 5}};
  bsm_layout made;
  const bsm_plan *plan = run_as(negate(input("x", given.dims)), &given, &made);
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 0);
  assert_int_equal(plan->step_count, 1);
  check_output(plan, (bsm_dims){1, {35}});
  assert_true(bsm_dims_equal(made.dims, given.dims));
  assert_memory_equal(made.strides, given.strides, 2 * sizeof(int64_t));
  for (int i = 0; i < 35; i++) assert_true(out[i] == -in[i]);
}

/* The same where outputs have to be row-major. */
static void test_a_transposed_input_is_turned(void **state) {
  (void)state;
  const bsm_layout given = {{2, {5, 7}}, {1, 5}};
  const bsm_plan *plan = run_as(negate(input("x", given.dims)), &given, NULL);
  check_output(plan, given.dims);
  for (int i = 0; i < 5; i++) {
    for (int j = 0; j < 7; j++) {
      assert_true(out[i * 7 + j] == -in[j * 5 + i]);
    }
  }
}

/* Columns of a wider matrix plus a row that is broadcast. */
static void test_inputs_with_gaps_and_without_steps(void **state) {
  (void)state;
  const bsm_layout given[] = {{{2, {6, 4}}, {11, 2}}, {{2, {6, 4}}, {0, 1}}};
  bsm_layout made;
  bsm_itensor *x = input("x", given[0].dims), *y = input("y", given[1].dims);
  const bsm_plan *plan = run_as(
      output_of(bsm_network_add_element_wise(net, x, y, BSM_ELEMENT_WISE_SUM)),
      given, &made);
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 0);
  const bsm_dims memory[] = {{1, {5 * 11 + 3 * 2 + 1}}, {1, {4}}};
  for (int i = 0; i < 2; i++) {
    const bsm_plan_tensor *t = &plan->tensors[plan->inputs[i].tensor];
    assert_true(bsm_dims_equal(t->dims, memory[i]));
  }
  assert_true(bsm_layout_is_contiguous(&made));
  check_output(plan, given[0].dims);
  for (int i = 0; i < 6; i++) {
    for (int j = 0; j < 4; j++) {
      assert_true(out[i * 4 + j] == in[i * 11 + j * 2] + in[j]);
    }
  }
}

/* A pooled channels-last image stays one. */
static void test_an_image_keeps_its_channels_inside(void **state) {
  (void)state;
  const sizes s = {2, 8, 12, 20};
  const bsm_dims dims = {4, {s.n, s.c, s.h, s.w}};
  const bsm_layout given = bsm_layout_channels_last(dims);
  bsm_layout made;
  const bsm_plan *plan = run_as(largest(input("x", dims)), &given, &made);
  assert_int_equal(plan->step_count, 1);
  const bsm_layout want = bsm_layout_channels_last(made.dims);
  assert_true(bsm_layout_equal(&made, &want));
  const float *y = out;
  for (int64_t n = 0; n < 2; n++) {
    for (int64_t h = 0; h < 4; h++) {
      for (int64_t w = 0; w < 6; w++) {
        for (int64_t c = 0; c < 20; c++) {
          assert_true(*y++ == at_window(s, n, c, h, w));
        }
      }
    }
  }
}

static bsm_itensor *sum(bsm_itensor *a, bsm_itensor *b) {
  return output_of(
      bsm_network_add_element_wise(net, a, b, BSM_ELEMENT_WISE_SUM));
}

/* Sums of windows of 3 x 3 of each map, or of its pixels alone. */
static bsm_itensor *filtered(bsm_itensor *x, int64_t side) {
  const int64_t maps = x->dims.d[1];
  float *ones = BSM_NEW_ARRAY(&arena, float, (size_t)(maps * side * side));
  assert_non_null(ones);
  for (int64_t i = 0; i < maps * side * side; i++) ones[i] = 1;
  bsm_weights kernel = {.dtype = BSM_DTYPE_FLOAT,
                        .values = ones,
                        .count = maps * side * side,
                        .shape = {4, {maps, 1, side, side}}};
  bsm_layer *layer = bsm_network_add_convolution_nd(
      net, x, maps, (bsm_dims){2, {side, side}}, &kernel, NULL);
  assert_non_null(layer);
  bsm_layer_set_groups(layer, maps);
  bsm_layer_set_padding_nd(layer, (bsm_dims){2, {side / 2, side / 2}});
  return output_of(layer);
}

static void check_sums(bsm_dims dims) {
  const int64_t h = dims.d[2], w = dims.d[3];
  for (int64_t i = 0; i < dims.d[1] * h * w; i++) {
    const int64_t first = i / (h * w) * h * w, y = i / w % h, x = i % w;
    float expected = 0;
    for (int64_t a = y - (y > 0); a <= y + (y < h - 1); a++) {
      for (int64_t b = x - (x > 0); b <= x + (x < w - 1); b++) {
        expected += in[first + a * w + b];
      }
    }
    assert_true(out[i] == expected);
  }
}

/* Pixels of 128 maps would share few sets of a cache: those that a depthwise
 * convolution reads lie further apart, where nothing else reads them. */
static void test_pixels_lie_apart(void **state) {
  (void)state;
  for (int64_t maps = 96; maps <= 256; maps += 32) {
    for (int pooled = 0; pooled < 2; pooled++) {
      tear_down(NULL);
      set_up(NULL);
      const bsm_dims dims = {4, {1, maps, 7, 6}};
      bsm_itensor *x = filtered(input("x", dims), 1);
      bsm_itensor *y = filtered(x, 3);
      if (pooled) y = sum(largest(x), largest(y));
      const bsm_plan *plan = run(y);
      if (!pooled) check_sums(dims);
      const int64_t apart = maps % 128 ? maps : maps + 16;
      size_t found = 0;
      for (uint32_t i = 0; i < plan->step_count; i++) {
        const bsm_plan_step *step = &plan->steps[i];
        if (step->kind != BSM_STEP_CONVOLUTION) continue;
        const bool reads_x = found++ == 1;
        assert_int_equal(plan->tensors[step->inputs[0]].strides[3],
                         reads_x && pooled ? maps : apart);
      }
      assert_int_equal(found, 2);
    }
  }
}

/* Two images with their channels inside outvote a row-major one, which is
 * copied once into their order. */
static void test_most_inputs_give_the_order(void **state) {
  (void)state;
  const sizes s = {1, 16, 20, 24};
  bsm_itensor *x = input("x", (bsm_dims){4, {s.n, s.c, s.h, s.w}});
  bsm_itensor *a = image("a", s.n, s.h, s.w, s.c);
  bsm_layout made;
  const bsm_plan *plan =
      run_as(sum(sum(x, a), image("b", s.n, s.h, s.w, s.c)), NULL, &made);
  assert_true(bsm_layout_has_channels_inner(&made));
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 1);
  const float *y = out;
  for (int64_t h = 0; h < s.h; h++) {
    for (int64_t w = 0; w < s.w; w++) {
      for (int64_t c = 0; c < s.c; c++) {
        assert_true(*y++ ==
                    in[(c * s.h + h) * s.w + w] + 2 * at(s, 0, c, h, w));
      }
    }
  }
}

/* Of one each the order is that of what reads the sum. */
static void test_readers_decide_the_order(void **state) {
  (void)state;
  const sizes s = {1, 16, 20, 24};
  bsm_itensor *x = input("x", (bsm_dims){4, {s.n, s.c, s.h, s.w}});
  bsm_layout made;
  const bsm_plan *plan =
      run_as(largest(sum(x, image("a", s.n, s.h, s.w, s.c))), NULL, &made);
  assert_true(bsm_layout_has_channels_inner(&made));
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 1);
  const float *y = out;
  for (int64_t h = 0; h < s.h / 2; h++) {
    for (int64_t w = 0; w < s.w / 2; w++) {
      for (int64_t c = 0; c < s.c; c++) {
        float most = -INFINITY;
        for (int k = 0; k < 4; k++) {
          const int64_t i = 2 * h + k / 2, j = 2 * w + k % 2;
          most = fmaxf(most, in[(c * s.h + i) * s.w + j] + at(s, 0, c, i, j));
        }
        assert_true(*y++ == most);
      }
    }
  }
}

/* An output that is the input, or only a part of what is computed, is copied:
 * row-major. */
static void test_outputs_that_are_copies(void **state) {
  (void)state;
  const bsm_layout given = {{2, {5, 7}}, {1, 5}};
  bsm_layout made;
  const bsm_plan *plan =
      run_as(output_of(bsm_network_add_identity(net, input("x", given.dims))),
             &given, &made);
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 1);
  assert_true(bsm_layout_is_contiguous(&made));
  check_output(plan, given.dims);
  for (int i = 0; i < 35; i++) assert_true(out[i] == in[i % 7 * 5 + i / 7]);
}

static void test_an_empty_input(void **state) {
  (void)state;
  const bsm_layout given = {{3, {4, 0, 3}}, {1, 12, 4}};
  bsm_layout made;
  const bsm_plan *plan = run_as(negate(input("x", given.dims)), &given, &made);
  check_output(plan, given.dims);
}

static void test_strides_that_overflow(void **state) {
  (void)state;
  const bsm_layout given = {{2, {3, 2}}, {INT64_MAX / 2, 1}};
  bsm_plan *plan;
  assert_null(
      bsm_network_mark_output(net, negate(input("x", given.dims)), "y"));
  const bsm_build_options options = {
      .target = test_target(1), .no_timing = true, .input_layouts = &given};
  bsm_status status = bsm_build(net, &options, &arena, &plan);
  assert_int_equal(bsm_status_code(status), BSM_LIMIT);
  bsm_status_free(status);
}

/* Neighbours of points: x[idx[i][j]] from x and idx that are expanded. */
static void test_gathers_read_what_is_expanded(void **state) {
  (void)state;
  static const int64_t near[12] = {5, 0, 3, 5, 2, 2, 1, 4, 0, 0, 5, 3};
  const bsm_weights weights = {BSM_DTYPE_INT64, near, 12};
  bsm_itensor *x = bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT,
                                         (bsm_dims){3, {1, 6, 5}});
  bsm_itensor *places = output_of(
      bsm_network_add_constant(net, (bsm_dims){3, {4, 3, 1}}, &weights));
  x = output_of(bsm_network_add_expand(net, x, (bsm_dims){3, {4, 6, 5}}));
  places =
      output_of(bsm_network_add_expand(net, places, (bsm_dims){3, {4, 3, 5}}));
  const bsm_plan *plan = run(
      output_of(bsm_network_add_gather(net, x, places, BSM_GATHER_ELEMENT, 1)));
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 0);
  for (int i = 0; i < 60; i++) {
    assert_true(out[i] == in[near[i / 5] * 5 + i % 5]);
  }
}

/* Windows of 8 that slide by 3: a view of the input, which a product reads.
 * Indices that are not even are gathered. */
static void test_windows_that_slide_are_a_view(void **state) {
  (void)state;
  int64_t index[5 * 8], other[4] = {0, 2, 3, 4};
  for (int i = 0; i < 40; i++) index[i] = i / 8 * 3 + i % 8 - 20;
  const bsm_weights weights = {BSM_DTYPE_INT64, index, 40};
  const bsm_weights uneven = {BSM_DTYPE_INT64, other, 4};
  bsm_itensor *x =
      bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT, (bsm_dims){2, {2, 20}});
  bsm_itensor *places =
      output_of(bsm_network_add_constant(net, (bsm_dims){2, {5, 8}}, &weights));
  bsm_itensor *windows =
      output_of(bsm_network_add_gather(net, x, places, BSM_GATHER_DEFAULT, 1));
  bsm_itensor *y = output_of(bsm_network_add_matrix_multiply(
      net, windows, BSM_MATRIX_NONE, windows, BSM_MATRIX_TRANSPOSE));
  places =
      output_of(bsm_network_add_constant(net, (bsm_dims){1, {4}}, &uneven));
  const bsm_plan *plan = run(
      output_of(bsm_network_add_gather(net, y, places, BSM_GATHER_DEFAULT, 2)));
  assert_int_equal(count_steps(plan, BSM_STEP_GATHER), 1);
  assert_int_equal(count_steps(plan, BSM_STEP_COPY), 0);
  for (int i = 0; i < 40; i++) {
    const float *a = in + i / 20 * 20 + i / 4 % 5 * 3;
    const float *b = in + i / 20 * 20 + other[i % 4] * 3;
    float sum = 0;
    for (int k = 0; k < 8; k++) sum += a[k] * b[k];
    assert_true(out[i] == sum);
  }
}

/* Attention packs its keys and values: those that overlap are copied. */
static void test_attention_to_windows_that_slide(void **state) {
  (void)state;
  int64_t index[3 * 8];
  for (int i = 0; i < 24; i++) index[i] = i / 8 * 4 + i % 8;
  const bsm_weights weights = {BSM_DTYPE_INT64, index, 24};
  bsm_itensor *x =
      bsm_network_add_input(net, "x", BSM_DTYPE_FLOAT, (bsm_dims){2, {2, 16}});
  bsm_itensor *q = bsm_network_add_input(net, "q", BSM_DTYPE_FLOAT,
                                         (bsm_dims){3, {2, 3, 8}});
  bsm_itensor *places =
      output_of(bsm_network_add_constant(net, (bsm_dims){2, {3, 8}}, &weights));
  bsm_itensor *windows =
      output_of(bsm_network_add_gather(net, x, places, BSM_GATHER_DEFAULT, 1));
  bsm_itensor *scores = output_of(bsm_network_add_matrix_multiply(
      net, q, BSM_MATRIX_NONE, windows, BSM_MATRIX_TRANSPOSE));
  for (int i = 0; i < 48; i++) in[i] = (float)(i * 7 % 11 - 5) / 8;
  const bsm_plan *plan = run(output_of(bsm_network_add_matrix_multiply(
      net, output_of(bsm_network_add_softmax(net, scores, 2, false)),
      BSM_MATRIX_NONE, windows, BSM_MATRIX_NONE)));
  assert_int_equal(count_steps(plan, BSM_STEP_ATTENTION), 1);
  for (int i = 0; i < 48; i++) {
    const float *v = in + i / 24 * 16, *row = in + i / 8 * 8;
    double sum = 0, total = 0;
    for (int j = 0; j < 3; j++) {
      double score = 0;
      for (int k = 0; k < 8; k++) score += row[k] * v[j * 4 + k];
      total += exp(score);
      sum += exp(score) * v[j * 4 + i % 8];
    }
    assert_true(fabs(out[i] - sum / total) < 1e-6);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_channels_join_in_place, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_a_dense_block_is_one_buffer, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_a_tensor_joins_itself, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_what_must_be_copied, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_pieces_that_lie_in_order_are_a_view,
                                      set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_rows_join_in_place, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_rows_run_as_they_lie, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_a_norm_of_images_runs_as_they_lie,
                                      set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_channel_shuffle_is_one_copy, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_a_transposed_input_stays_transposed,
                                      set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_transposed_input_is_turned, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_inputs_with_gaps_and_without_steps,
                                      set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_an_image_keeps_its_channels_inside,
                                      set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_pixels_lie_apart, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_most_inputs_give_the_order, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_readers_decide_the_order, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_outputs_that_are_copies, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_gathers_read_what_is_expanded,
                                      set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_windows_that_slide_are_a_view,
                                      set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_attention_to_windows_that_slide,
                                      set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_an_empty_input, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_strides_that_overflow, set_up,
                                      tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
