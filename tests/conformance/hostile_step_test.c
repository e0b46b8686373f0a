/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged steps: parameters, sizes, strides and dtypes changed at random. The
 * check refuses a step, or running it stays inside its tensors: each of them
 * ends at a page without access. */
#include "tests/conformance/step_harness.h"

static const int64_t odd_values[] = {0,
                                     1,
                                     -1,
                                     2,
                                     3,
                                     4,
                                     5,
                                     7,
                                     8,
                                     16,
                                     17,
                                     64,
                                     255,
                                     -2,
                                     -3,
                                     12,
                                     13,
                                     1000,
                                     INT32_MAX,
                                     INT32_MIN,
                                     INT64_MAX,
                                     INT64_MIN,
                                     (int64_t)1 << 32,
                                     (int64_t)1 << 46,
                                     (int64_t)1 << 62};

static int64_t odd_value(harness_rng *r) {
  const int n = sizeof(odd_values) / sizeof(odd_values[0]);
  return rng_range(r, 0, 2) ? odd_values[rng_range(r, 0, n - 1)]
                            : rng_range(r, 0, 9);
}

/* ---- valid steps ---- */

static void base_convolution(harness *h, bool transposed, int groups) {
  int64_t s[5];
  float w[8 * 8 * 9] = {0.5f};
  bsm_step_convolution *p = &h->params.convolution;
  p->window = (bsm_step_window){.spatial = 2,
                                .kernel = {1, 3, 2},
                                .stride = {1, 1, 2},
                                .dilation = {1, 2, 1},
                                .pre_padding = {0, 2, 1},
                                .post_padding = {0, 2, 0}};
  p->groups = groups;
  p->out_maps = 8;
  p->epilogue.has_residual = 1;
  const bsm_dims small = dims_of(4, 2, 8, 6, 4), big = dims_of(4, 2, 8, 6, 7);
  const bsm_dims x = transposed ? small : big, y = transposed ? big : small;
  channels_last(x, 0, s);
  add_input(h, BSM_DTYPE_FLOAT, x, s);
  channels_last(y, 0, s);
  add_input(h, BSM_DTYPE_FLOAT, y, s);
  add_output(h, BSM_DTYPE_FLOAT, y, s);
  add_packed(h, 8, w, false);
  add_weights(h, 1, 8 * sizeof(float));
}

/* Three planes, which one tactic reads. */
static void base_planes(harness *h) {
  int64_t s[5];
  float w[8 * 3 * 9] = {0.5f};
  const bsm_dims y = dims_of(4, 2, 8, 5, 4);
  h->params.convolution =
      (bsm_step_convolution){.window = {.spatial = 2,
                                        .kernel = {1, 3, 3},
                                        .stride = {1, 2, 2},
                                        .dilation = {1, 1, 1},
                                        .pre_padding = {0, 1, 1},
                                        .post_padding = {0, 1, 1}},
                             .groups = 1,
                             .out_maps = 8};
  add_input(h, BSM_DTYPE_FLOAT, dims_of(4, 2, 3, 9, 8), NULL);
  channels_last(y, 0, s);
  add_output(h, BSM_DTYPE_FLOAT, y, s);
  add_packed(h, 3, w, false);
  add_weights(h, 1, 8 * sizeof(float));
}

/* Groups of two maps, side by side; the window has a kernel of its own. */
static void base_groups(harness *h) {
  int64_t s[5];
  float w[12 * 2 * 9] = {0.5f};
  const bsm_dims x = dims_of(4, 2, 12, 5, 9);
  h->params.convolution =
      (bsm_step_convolution){.window = {.spatial = 2,
                                        .kernel = {1, 3, 3},
                                        .stride = {1, 1, 1},
                                        .dilation = {1, 1, 1},
                                        .pre_padding = {0, 1, 1},
                                        .post_padding = {0, 1, 1}},
                             .groups = 6,
                             .out_maps = 12};
  h->step.tactic = "lanes"; /* with weights of its own form on the CPU */
  adopt_tactic(h);
  channels_last(x, 0, s);
  add_input(h, BSM_DTYPE_FLOAT, x, s);
  add_output(h, BSM_DTYPE_FLOAT, x, s);
  add_packed(h, 12, w, false);
  add_weights(h, 1, 12 * sizeof(float));
}

static void base_matrix(harness *h, bool constant) {
  float w[6 * 20] = {1.0f};
  h->params.matrix_multiply =
      (bsm_step_matrix_multiply){.constant_b = constant,
                                 .k = 6,
                                 .n = 20,
                                 .scale = 0.5,
                                 .epilogue = {.has_residual = 1}};
  add_input(h, BSM_DTYPE_FLOAT, dims_of(3, 2, 5, 6), NULL);
  if (constant) {
    add_packed(h, 1, w, false);
  } else {
    add_input(h, BSM_DTYPE_FLOAT, dims_of(3, 2, 6, 20), (int64_t[]){120, 1, 6});
  }
  add_input(h, BSM_DTYPE_FLOAT, dims_of(3, 2, 5, 20), NULL);
  add_output(h, BSM_DTYPE_FLOAT, dims_of(3, 2, 5, 20), NULL);
  add_weights(h, 1, 20 * sizeof(float));
}

static void base_element_wise(harness *h) {
  add_input(h, BSM_DTYPE_FLOAT, dims_of(3, 4, 1, 9), NULL);
  add_input(h, BSM_DTYPE_INT32, dims_of(2, 3, 9), NULL);
  add_output(h, BSM_DTYPE_FLOAT, dims_of(3, 4, 3, 9), NULL);
  h->params.element_wise =
      (bsm_step_element_wise){.instruction_count = 4,
                              .result = 4,
                              .program = {{.kind = BSM_STEP_EW_CAST,
                                           .dst = 2,
                                           .a = 1,
                                           .dtype = BSM_DTYPE_FLOAT},
                                          {.kind = BSM_STEP_EW_BINARY,
                                           .code = BSM_ELEMENT_WISE_LESS,
                                           .dst = 3,
                                           .a = 0,
                                           .b = 2,
                                           .dtype = BSM_DTYPE_BOOL},
                                          {.kind = BSM_STEP_EW_CONSTANT,
                                           .dst = 5,
                                           .dtype = BSM_DTYPE_FLOAT,
                                           .alpha = 1.0},
                                          {.kind = BSM_STEP_EW_SELECT,
                                           .dst = 4,
                                           .a = 3,
                                           .b = 2,
                                           .c = 5,
                                           .dtype = BSM_DTYPE_FLOAT}}};
}

static void base_window(harness *h, bool resize) {
  int64_t s[4];
  const bsm_dims x = dims_of(4, 2, 5, 6, 7), y = dims_of(4, 2, 5, 3, 4);
  channels_last(x, 0, s);
  add_input(h, BSM_DTYPE_FLOAT, x, s);
  add_output(h, BSM_DTYPE_FLOAT, y, NULL);
  if (resize) {
    h->params.resize =
        (bsm_step_resize){.mode = BSM_RESIZE_LINEAR, .spatial = 2};
  } else {
    h->params.pooling.window = (bsm_step_window){.spatial = 2,
                                                 .kernel = {1, 2, 3},
                                                 .stride = {1, 2, 2},
                                                 .dilation = {1, 1, 1},
                                                 .pre_padding = {0, 0, 1},
                                                 .post_padding = {0, 0, 1}};
  }
}

static void base_normalization(harness *h, int groups) {
  int64_t s[4];
  const bsm_dims d = dims_of(4, 2, 6, 3, 4);
  channels_last(d, 0, s);
  add_input(h, BSM_DTYPE_FLOAT, d, s);
  add_input(h, BSM_DTYPE_FLOAT, dims_of(3, 6, 1, 1), NULL);
  add_input(h, BSM_DTYPE_FLOAT, dims_of(3, 6, 1, 1), NULL);
  add_output(h, BSM_DTYPE_FLOAT, d, s);
  h->params.normalization = (bsm_step_normalization){.axes = 12,
                                                     .has_scale = 1,
                                                     .has_bias = 1,
                                                     .groups = groups,
                                                     .epsilon = 1e-5};
}

static void base_gather(harness *h, int mode) {
  h->params.gather = (bsm_step_gather){mode, 1};
  add_input(h, BSM_DTYPE_FLOAT, dims_of(3, 3, 4, 5), NULL);
  if (mode == BSM_GATHER_DEFAULT || mode == BSM_GATHER_SELECT) {
    add_input(h, BSM_DTYPE_INT64, dims_of(2, 2, 2), NULL);
    add_output(h, BSM_DTYPE_FLOAT, dims_of(4, 3, 2, 2, 5), NULL);
  } else if (mode == BSM_GATHER_ELEMENT) {
    add_input(h, BSM_DTYPE_INT64, dims_of(3, 3, 2, 5), NULL);
    add_output(h, BSM_DTYPE_FLOAT, dims_of(3, 3, 2, 5), NULL);
  } else {
    add_input(h, BSM_DTYPE_INT64, dims_of(2, 6, 2), NULL);
    add_output(h, BSM_DTYPE_FLOAT, dims_of(2, 6, 5), NULL);
  }
}

static void base_scatter(harness *h, int mode) {
  h->params.scatter = (bsm_step_scatter){
      .mode = mode, .axis = 1, .reduction = BSM_SCATTER_ADD, .wrap = 1};
  add_input(h, BSM_DTYPE_FLOAT, dims_of(3, 3, 4, 5), NULL);
  if (mode == BSM_SCATTER_ELEMENT) {
    add_input(h, BSM_DTYPE_INT64, dims_of(3, 3, 2, 5), NULL);
    add_input(h, BSM_DTYPE_FLOAT, dims_of(3, 3, 2, 5), NULL);
  } else {
    add_input(h, BSM_DTYPE_INT64, dims_of(2, 6, 1), NULL);
    add_input(h, BSM_DTYPE_FLOAT, dims_of(3, 3, 6, 5), NULL);
  }
  add_output(h, BSM_DTYPE_FLOAT, dims_of(3, 3, 4, 5), NULL);
}

static void base_rows(harness *h) {
  const bsm_dims d = dims_of(3, 3, 4, 5);
  add_input(h, BSM_DTYPE_FLOAT, d, NULL);
  switch (h->step.kind) {
    case BSM_STEP_REDUCE:
      h->params.reduce =
          (bsm_step_reduce){.operation = BSM_REDUCE_SUM, .axes = 2};
      add_output(h, BSM_DTYPE_FLOAT, dims_of(2, 3, 5), NULL);
      break;
    case BSM_STEP_TOP_K:
      h->params.top_k = (bsm_step_top_k){1, 1, 2};
      add_output(h, BSM_DTYPE_FLOAT, dims_of(3, 3, 2, 5), NULL);
      add_output(h, BSM_DTYPE_INT64, dims_of(3, 3, 2, 5), NULL);
      break;
    case BSM_STEP_SCAN:
      h->params.scan = (bsm_step_scan){BSM_SCAN_MAX, 1};
      add_output(h, BSM_DTYPE_FLOAT, d, NULL);
      add_output(h, BSM_DTYPE_INT64, d, NULL);
      break;
    case BSM_STEP_NON_ZERO:
      add_output(h, BSM_DTYPE_INT64, dims_of(1, 60), NULL);
      break;
    case BSM_STEP_PAD:
      h->params.pad =
          (bsm_step_pad){.mode = BSM_PADDING_REFLECT, .start = {-1, 0, -2}};
      add_output(h, BSM_DTYPE_FLOAT, dims_of(3, 5, 3, 8), NULL);
      break;
    default:
      h->params.softmax = (bsm_step_softmax){1, 0};
      add_output(h, BSM_DTYPE_FLOAT, d, (int64_t[]){1, 3, 12});
      break;
  }
}

/* ---- damage ---- */

static void damage_tensor(harness *h, harness_rng *r) {
  bsm_plan_tensor *t =
      &h->tensors[rng_range(r, 0, (int)h->plan.tensor_count - 1)];
  static const bsm_dtype dtypes[] = {
      BSM_DTYPE_FLOAT, BSM_DTYPE_DOUBLE, BSM_DTYPE_INT64, BSM_DTYPE_UINT8,
      BSM_DTYPE_BOOL,  BSM_DTYPE_HALF,   BSM_DTYPE_QINT8, BSM_DTYPE_INT32};
  const int i = rng_range(r, 0, t->dims.rank > 0 ? t->dims.rank - 1 : 0);
  switch (rng_range(r, 0, 4)) {
    case 0:
    case 1:
      t->dims.d[i] = odd_value(r);
      break;
    case 2:
      t->strides[i] = odd_value(r);
      break;
    case 3:
      t->dims.rank = rng_range(r, 0, BSM_MAX_RANK);
      for (int k = 0; k < t->dims.rank; k++) {
        if (t->dims.d[k] == 0) t->dims.d[k] = t->strides[k] = 1;
      }
      break;
    default:
      t->dtype = dtypes[rng_range(r, 0, 7)];
      break;
  }
}

static void damage_params(harness *h, harness_rng *r) {
  const int size = (int)bsm_step_params_size(h->step.kind);
  const int limit = size < 600 ? size : 600; /* the rest is unused */
  const int64_t v = odd_value(r);
  uint8_t *p = (uint8_t *)&h->params;
  if (rng_range(r, 0, 1)) {
    const int32_t narrow = (int32_t)v;
    memcpy(p + rng_range(r, 0, limit / 4 - 1) * 4, &narrow, 4);
  } else {
    memcpy(p + rng_range(r, 0, limit / 8 - 1) * 8, &v, 8);
  }
}

static void damage(harness *h, harness_rng *r) {
  switch (rng_range(r, 0, 9)) {
    case 0:
      h->step.input_count = (uint32_t)rng_range(r, 0, (int)h->step.input_count);
      break;
    case 1:
      if (h->plan.weights_count > 0) {
        h->weights[rng_range(r, 0, (int)h->plan.weights_count - 1)].size -= 4;
      }
      break;
    case 2:
    case 3:
    case 4:
      damage_tensor(h, r);
      break;
    default:
      damage_params(h, r);
      break;
  }
}

/* Gives every tensor memory for its new extent, as a verified plan would have.
 * false when it is too large to try. */
static bool fit_buffers(harness *h, harness_rng *r) {
  for (uint32_t i = 0; i < h->plan.tensor_count; i++) {
    bsm_plan_tensor *t = &h->tensors[i];
    uint64_t extent;
    int64_t count = 1;
    if (t->dims.rank < 0 || t->dims.rank > BSM_MAX_RANK) return false;
    for (int32_t k = 0; k < t->dims.rank; k++) {
      if (t->dims.d[k] < 0 || t->strides[k] < 0) return false;
      if (t->dims.d[k] > 100000) return false;
      count *= t->dims.d[k];
      if (count > 1000000) return false;
    }
    if (!bsm_plan_tensor_extent(t, &extent) || extent > 1u << 20) return false;
    guard_free(&h->data[i]);
    const size_t size = bsm_dtype_size(t->dtype);
    h->data[i] = guard_alloc((size_t)extent, size ? size : 1);
    /* Else zeros: indices in range. */
    if (size == sizeof(float) && t->dtype != BSM_DTYPE_INT32) {
      fill_floats(r, h->data[i].data, h->data[i].size);
    }
  }
  /* A step that was damaged may have lost some. */
  const bsm_plan_step *step = &h->step;
  for (uint32_t i = 0; i < HARNESS_TENSORS; i++) {
    h->inputs[i] = i < step->input_count ? h->data[step->inputs[i]].data : NULL;
    h->outputs[i] =
        i < step->output_count ? h->data[step->outputs[i]].data : NULL;
  }
  return true;
}

static void base_attention(harness *h, int queries) {
  h->params.attention = (bsm_step_attention){.biases = 1,
                                             .mask = BSM_ATTENTION_HIDE,
                                             .causal = 1,
                                             .diagonal = 2,
                                             .scale = 0.5,
                                             .fill = -INFINITY};
  add_input(h, BSM_DTYPE_FLOAT, dims_of(3, 2, queries, 5), NULL);
  add_input(h, BSM_DTYPE_FLOAT, dims_of(3, 2, 20, 5), NULL);
  add_input(h, BSM_DTYPE_FLOAT, dims_of(3, 2, 20, 18), NULL);
  add_input(h, BSM_DTYPE_FLOAT, dims_of(3, 2, queries, 20),
            (int64_t[]){0, 20, 1});
  add_input(h, BSM_DTYPE_BOOL, dims_of(3, 2, queries, 20),
            (int64_t[]){20, 0, 1});
  add_output(h, BSM_DTYPE_FLOAT, dims_of(3, 2, queries, 18), NULL);
}

/* The packed kernel and the bias of one part of a chain. */
static void add_part(harness *h, int part, int64_t in_maps,
                     bsm_step_convolution convolution) {
  static const float w[24 * 24] = {0.5f};
  bsm_step_params params = {.convolution = convolution};
  const bsm_plan_step step = {.kind = BSM_STEP_CONVOLUTION, .params = &params};
  h->params.convolution_chain.has[part] = 1;
  h->params.convolution_chain.part[part] = convolution;
  add_packed_for(h, 2 * part, &step, in_maps, w, sizeof(float), false);
  add_weights(h, 2 * part + 1, (size_t)convolution.out_maps * sizeof(float));
}

static void base_chain(harness *h, bool scales) {
  int64_t s[4];
  const bsm_step_window one = {.spatial = 2,
                               .kernel = {1, 1, 1},
                               .stride = {1, 1, 1},
                               .dilation = {1, 1, 1}};
  const bsm_step_window window = {.spatial = 2,
                                  .kernel = {1, 3, 3},
                                  .stride = {1, 1, 1},
                                  .dilation = {1, 1, 1},
                                  .pre_padding = {0, 1, 1},
                                  .post_padding = {0, 1, 1}};
  const int64_t wide = scales ? 8 : 20;
  const bsm_dims x = dims_of(4, 2, 8, 6, 7);
  channels_last(x, 0, s);
  add_input(h, BSM_DTYPE_FLOAT, x, s);
  if (scales) {
    h->params.convolution_chain.has_scale = 1;
    add_input(h, BSM_DTYPE_FLOAT, dims_of(4, 2, 8, 1, 1), NULL);
  } else {
    add_part(
        h, BSM_CHAIN_EXPAND, 8,
        (bsm_step_convolution){.window = one, .groups = 1, .out_maps = wide});
    add_part(h, BSM_CHAIN_DEPTHWISE, wide,
             (bsm_step_convolution){
                 .window = window, .groups = wide, .out_maps = wide});
  }
  add_part(h, BSM_CHAIN_PROJECT, wide,
           (bsm_step_convolution){.window = one,
                                  .groups = 1,
                                  .out_maps = 8,
                                  .epilogue = {.has_residual = 1}});
  add_input(h, BSM_DTYPE_FLOAT, x, s);
  add_output(h, BSM_DTYPE_FLOAT, x, s);
  if (scales) h->tensors[h->step.inputs[1]].strides[1] = 1;
}

/* A network's first convolution, depthwise, pointwise. */
static void base_start(harness *h) {
  int64_t s[4];
  const bsm_step_window one = {.spatial = 2,
                               .kernel = {1, 1, 1},
                               .stride = {1, 1, 1},
                               .dilation = {1, 1, 1}};
  bsm_step_window window = {.spatial = 2,
                            .kernel = {1, 3, 3},
                            .stride = {1, 2, 2},
                            .dilation = {1, 1, 1},
                            .pre_padding = {0, 1, 1},
                            .post_padding = {0, 1, 1}};
  const bsm_dims y = dims_of(4, 2, 8, 7, 8);
  add_input(h, BSM_DTYPE_FLOAT, dims_of(4, 2, 3, 13, 15), NULL);
  add_part(
      h, BSM_CHAIN_EXPAND, 3,
      (bsm_step_convolution){.window = window, .groups = 1, .out_maps = 20});
  window.stride[1] = window.stride[2] = 1;
  add_part(
      h, BSM_CHAIN_DEPTHWISE, 20,
      (bsm_step_convolution){.window = window, .groups = 20, .out_maps = 20});
  add_part(h, BSM_CHAIN_PROJECT, 20,
           (bsm_step_convolution){.window = one,
                                  .groups = 1,
                                  .out_maps = 8,
                                  .epilogue = {.has_residual = 1}});
  channels_last(y, 0, s);
  add_input(h, BSM_DTYPE_FLOAT, y, s);
  add_output(h, BSM_DTYPE_FLOAT, y, s);
}

/* `whole`: the greatest of whole pixels, with their places. */
static void base_regions(harness *h, bool whole) {
  static const double regions[3][5] = {
      {0, 1, 1, 4, 3}, {1, -2, 0, 9, 9}, {1, 3, 2, 3.5, 4}};
  h->params.regions = (bsm_step_regions){
      .scale = 0.75, .whole = whole, .dtype = BSM_DTYPE_FLOAT};
  add_input(h, BSM_DTYPE_FLOAT, dims_of(4, 2, 3, 5, 6), NULL);
  memcpy(add_input(h, BSM_DTYPE_DOUBLE, dims_of(2, 3, 5), NULL), regions,
         sizeof(regions));
  add_output(h, BSM_DTYPE_FLOAT, dims_of(4, 3, 3, 2, 2), NULL);
  if (whole) add_output(h, BSM_DTYPE_INT32, dims_of(4, 3, 3, 2, 2), NULL);
}

/* Channels innermost, places far outside. */
static void base_sample(harness *h) {
  const bsm_dims x = dims_of(4, 2, 3, 5, 6), y = dims_of(4, 2, 3, 2, 4);
  int64_t s[5];
  h->params.sample = (bsm_step_sample){.mode = BSM_RESIZE_CUBIC,
                                       .padding = BSM_SAMPLE_REFLECTION};
  channels_last(x, 0, s);
  add_input(h, BSM_DTYPE_FLOAT, x, s);
  float *grid = add_input(h, BSM_DTYPE_FLOAT, dims_of(4, 2, 2, 4, 2), NULL);
  for (int i = 0; i < 32; i++) grid[i] = (float)(i * i * i - 9000) * 1e-3f;
  channels_last(y, 0, s);
  add_output(h, BSM_DTYPE_FLOAT, y, s);
}

static void build(harness *h, int which) {
  static const bsm_step_kind kinds[] = {BSM_STEP_CONVOLUTION,
                                        BSM_STEP_CONVOLUTION,
                                        BSM_STEP_CONVOLUTION,
                                        BSM_STEP_DECONVOLUTION,
                                        BSM_STEP_MATRIX_MULTIPLY,
                                        BSM_STEP_MATRIX_MULTIPLY,
                                        BSM_STEP_ELEMENT_WISE,
                                        BSM_STEP_POOLING,
                                        BSM_STEP_RESIZE,
                                        BSM_STEP_NORMALIZATION,
                                        BSM_STEP_NORMALIZATION,
                                        BSM_STEP_GATHER,
                                        BSM_STEP_GATHER,
                                        BSM_STEP_GATHER,
                                        BSM_STEP_REDUCE,
                                        BSM_STEP_TOP_K,
                                        BSM_STEP_PAD,
                                        BSM_STEP_SOFTMAX,
                                        BSM_STEP_COPY,
                                        BSM_STEP_FILL,
                                        BSM_STEP_SCATTER,
                                        BSM_STEP_SCATTER,
                                        BSM_STEP_ATTENTION,
                                        BSM_STEP_ATTENTION,
                                        BSM_STEP_CONVOLUTION_CHAIN,
                                        BSM_STEP_CONVOLUTION_CHAIN,
                                        BSM_STEP_CONVOLUTION,
                                        BSM_STEP_CONVOLUTION,
                                        BSM_STEP_CONVOLUTION_CHAIN,
                                        BSM_STEP_SCAN,
                                        BSM_STEP_NON_ZERO,
                                        BSM_STEP_NMS,
                                        BSM_STEP_REGIONS,
                                        BSM_STEP_REGIONS,
                                        BSM_STEP_SAMPLE};
  harness_init(h, kinds[which]);
  switch (which) {
    case 0:
    case 1:
    case 2:
      base_convolution(h, false, which == 0 ? 1 : which == 1 ? 2 : 8);
      break;
    case 3:
      base_convolution(h, true, 1);
      break;
    case 4:
    case 5:
      base_matrix(h, which == 4);
      break;
    case 6:
      base_element_wise(h);
      break;
    case 7:
    case 8:
      base_window(h, which == 8);
      break;
    case 9:
    case 10:
      base_normalization(h, which == 9 ? 1 : 3);
      break;
    case 11:
    case 12:
    case 13:
      base_gather(h, which - 11);
      break;
    case 18:
      add_input(h, BSM_DTYPE_FLOAT, dims_of(2, 9, 10), NULL);
      add_output(h, BSM_DTYPE_FLOAT, dims_of(2, 9, 10), (int64_t[]){1, 9});
      break;
    case 20:
    case 21:
      base_scatter(h, which - 20);
      break;
    case 22:
    case 23:
      base_attention(h, which == 22 ? 9 : 2);
      break;
    case 24:
    case 25:
      base_chain(h, which == 25);
      break;
    case 26:
      base_planes(h);
      break;
    case 27:
      base_groups(h);
      break;
    case 28:
      base_start(h);
      break;
    case 31:
      add_input(h, BSM_DTYPE_FLOAT, dims_of(2, 9, 4), NULL);
      add_output(h, BSM_DTYPE_BOOL, dims_of(1, 9), NULL);
      h->params.nms.threshold = 0.5;
      break;
    case 32:
    case 33:
      base_regions(h, which == 33);
      break;
    case 34:
      base_sample(h);
      break;
    case 19:
      add_output(h, BSM_DTYPE_FLOAT, dims_of(2, 9, 10), NULL);
      break;
    default:
      base_rows(h);
      break;
  }
}

/* Kernels for the sizes of each step take long to compile: one in eight has
 * them, the others run with those for all steps of a kind. */
static int hostile_code(int i) {
  return suite_is_for("cuda") && i % 8 ? BSM_CUDA_FOR_KIND : 0;
}

static void test_damage(void **state) {
  harness_rng r = {61};
  uint32_t isas[8];
  const int isa_count = harness_isas(isas);
  (void)state;
  for (int which = 0; which < 35; which++) {
    int refused = 0, ran = 0;
    bool taken = true;
    for (int i = 0; i < 1500 && taken; i++) {
      harness h;
      if (i > 0 && !suite_takes_next()) {
        rng_next(&r); /* others get other damage */
        continue;
      }
      build(&h, which);
      h.code = hostile_code(i);
      const int times = i == 0 ? 0 : rng_range(&r, 1, 3);
      for (int k = 0; k < times; k++) damage(&h, &r);
      if (fit_buffers(&h, &r)) {
        bsm_status st = harness_run(&h, isas[i % isa_count], 1 + i % 2);
        if (i == 0 && bsm_status_code(st) == BSM_UNSUPPORTED) taken = false;
        if (i == 0 && st && taken) {
          fail_msg("%d: %s", which, bsm_status_message(st));
        }
        if (st) {
          refused++;
        } else {
          ran++;
        }
        bsm_status_free(st);
      }
      harness_free(&h);
    }
    const bool all = suite.sample.every == 1 && !suite.sample.late;
    assert_true(!taken || !all || (ran > 0 && (refused > 0 || which == 19)));
  }
}

/* Dims of `size` become `now`, 0 or 1: with strides of any size, as nothing is
 * behind them. */
static void idle_strides(bsm_plan_tensor *t, int64_t size, int64_t now,
                         int64_t stride) {
  bool found = false;
  for (int32_t d = 0; d < t->dims.rank; d++) {
    if (t->dims.d[d] != size) continue;
    t->dims.d[d] = now;
    t->strides[d] = stride;
    found = true;
  }
  for (int32_t d = 0; found && now == 0 && d < t->dims.rank; d++) {
    t->strides[d] = stride;
  }
}

/* Of all tensors, or alone of the `at`th, whose dim tells the size. Refused or
 * not: nobody may compute with such strides, which UBSan tells. */
static void run_idle(int which, uint32_t at, int32_t dim, int how,
                     uint32_t isa) {
  harness h;
  harness_rng r = {67};
  build(&h, which);
  h.code = hostile_code(1);
  if (h.step.kind == BSM_STEP_DECONVOLUTION) {
    h.params.convolution.window.stride[2] = 1 << 20;
  }
  const int64_t size = h.tensors[at].dims.d[dim];
  for (uint32_t i = 0; i < h.plan.tensor_count; i++) {
    if (how & 1 && i != at) continue;
    idle_strides(&h.tensors[i], size, how & 2 ? 1 : 0,
                 how & 4 ? INT64_MAX : INT64_C(1) << 40);
  }
  if (fit_buffers(&h, &r)) bsm_status_free(harness_run(&h, isa, 1));
  harness_free(&h);
}

static void test_idle_strides(void **state) {
  uint32_t isas[8];
  const int isa_count = harness_isas(isas);
  int turn = 0;
  (void)state;
  for (int which = 0; which < 35; which++) {
    harness h;
    build(&h, which);
    const uint32_t count = h.plan.tensor_count;
    int32_t ranks[HARNESS_TENSORS];
    for (uint32_t i = 0; i < count; i++) ranks[i] = h.tensors[i].dims.rank;
    harness_free(&h);
    for (uint32_t i = 0; i < count; i++) {
      for (int32_t k = 0; k < ranks[i] * 8; k++, turn++) {
        if (!suite_takes_next()) continue;
        run_idle(which, i, k / 8, k % 8, isas[turn / 8 % isa_count]);
      }
    }
  }
}

/* Sizes that only a stride of zero makes possible, and outputs that repeat. */
static void test_extremes(void **state) {
  harness h;
  (void)state;
  harness_init(&h, BSM_STEP_COPY);
  add_input(&h, BSM_DTYPE_FLOAT, dims_of(1, 4), NULL);
  add_output(&h, BSM_DTYPE_FLOAT, dims_of(1, 4), NULL);
  h.tensors[1].strides[0] = 0;
  bsm_status st = harness_run(&h, bsm_isa_detect(), 1);
  assert_int_equal(bsm_status_code(st), BSM_CORRUPT);
  bsm_status_free(st);
  h.tensors[1].strides[0] = 1;
  h.tensors[0].dims = h.tensors[1].dims =
      (bsm_dims){3, {(int64_t)1 << 40, (int64_t)1 << 40, 4}};
  memset(h.tensors[0].strides, 0, sizeof(h.tensors[0].strides));
  st = harness_run(&h, bsm_isa_detect(), 1);
  assert_int_equal(bsm_status_code(st), BSM_CORRUPT);
  bsm_status_free(st);
  h.step.kind = (bsm_step_kind)99;
  st = harness_run(&h, bsm_isa_detect(), 1);
  assert_int_equal(bsm_status_code(st), BSM_CORRUPT);
  bsm_status_free(st);
  harness_free(&h);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_damage),
      cmocka_unit_test(test_idle_strides),
      cmocka_unit_test(test_extremes),
  };
  return suite_run(argc, argv, tests);
}
