/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the network share. */
#ifndef BSM_TESTS_NETWORK_FIXTURE_H_
#define BSM_TESTS_NETWORK_FIXTURE_H_

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "network/layer.h"

typedef struct fixture {
  bsm_arena arena;
  bsm_network *net;
  float *zeros; /* weights of any shape up to 4096 elements */
} fixture;

#define assert_ok(expr)                             \
  do {                                              \
    bsm_status s_ = (expr);                         \
    if (s_) fail_msg("%s", bsm_status_message(s_)); \
  } while (0)

/* The network has failed with this code and a message that has `piece`. */
#define assert_error(net, want_code, piece)                            \
  do {                                                                 \
    bsm_status s_ = bsm_network_take_error(net);                       \
    assert_non_null(s_);                                               \
    if (!strstr(bsm_status_message(s_), (piece))) {                    \
      fail_msg("'%s' is not in: %s", (piece), bsm_status_message(s_)); \
    }                                                                  \
    assert_int_equal(bsm_status_code(s_), (want_code));                \
    bsm_status_free(s_);                                               \
    assert_null(bsm_network_take_error(net));                          \
  } while (0)

static inline int fixture_setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  bsm_arena_init(&f->arena, NULL);
  assert_ok(bsm_network_create(&f->arena, NULL, &f->net));
  f->zeros = calloc(4096, sizeof(float));
  *state = f;
  return 0;
}

static inline int fixture_teardown(void **state) {
  fixture *f = *state;
  bsm_network_release(f->net);
  bsm_arena_destroy(&f->arena);
  free(f->zeros);
  free(f);
  return 0;
}

/* dims(2, 3): [2, 3] */
#define dims(...)                                                 \
  ((bsm_dims){sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
              {__VA_ARGS__}})
static const bsm_dims no_dims = {0};

static inline bsm_weights zeros(fixture *f, bsm_dims shape) {
  bsm_weights w = {.dtype = BSM_DTYPE_FLOAT, .values = f->zeros, .count = 1};
  w.shape = shape;
  for (int32_t i = 0; i < shape.rank; i++) w.count *= shape.d[i];
  assert_true(w.count <= 4096);
  return w;
}

/* A new input with a name of its own. */
static inline bsm_itensor *input(fixture *f, bsm_dtype dtype, bsm_dims shape) {
  char name[32];
  snprintf(name, sizeof name, "in%zu", f->net->inputs.len);
  bsm_itensor *x = bsm_network_add_input(f->net, name, dtype, shape);
  assert_non_null(x);
  return x;
}

/* Output 0 has this dtype and these dims. */
static inline void assert_shape(const bsm_layer *layer, bsm_dtype dtype,
                                bsm_dims want) {
  assert_non_null(layer);
  const bsm_itensor *x = layer->outputs.items[0];
  assert_string_equal(bsm_dtype_name(x->dtype), bsm_dtype_name(dtype));
  assert_string_equal(bsm_dims_str(x->dims), bsm_dims_str(want));
}

#endif /* BSM_TESTS_NETWORK_FIXTURE_H_ */
