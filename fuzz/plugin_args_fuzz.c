/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a plug-in's operator, as an engine file holds them: decoded
 * for several schemas, then read in every way. The first byte chooses the
 * schema and how many inputs there are. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"
#include "plugin/call.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(NULL, 1);

static const char *const schemas[] = {
    "t::a(Tensor x, float limit=6.) -> Tensor",
    "t::b(Tensor[] xs, int[] weights, str mode, float? scale=None) -> Tensor",
    "t::c(Tensor? x, bool b, Scalar s, float[] f, bool[] g) -> Tensor",
    "t::d(int n) -> Tensor",
};

/* Sums what is read, so that nothing is optimised away. */
static double read_all(bsm_call *call) {
  double sum = 0;
  for (size_t i = 0; i <= bsm_call_arg_count(call); i++) {
    size_t n;
    sum += bsm_call_is_none(call, i) + bsm_call_double(call, i);
    sum += (double)bsm_call_int(call, i) + bsm_call_bool(call, i);
    sum += (double)strlen(bsm_call_string(call, i));
    const int64_t *ints = bsm_call_int_list(call, i, &n);
    for (size_t k = 0; k < n; k++) sum += (double)ints[k];
    const double *doubles = bsm_call_double_list(call, i, &n);
    for (size_t k = 0; k < n; k++) sum += doubles[k];
    const bsm_array *x = bsm_call_tensor(call, i);
    if (x) sum += x->dims.rank;
    x = bsm_call_tensor_list(call, i, &n);
    for (size_t k = 0; k < n; k++) sum += x[k].dims.rank;
  }
  return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static volatile double sink;
  if (size < 1) return 0;
  const char *schema = schemas[data[0] % 4];
  const size_t inputs = data[0] / 4 % (BSM_PLUGIN_MAX_INPUTS + 1);
  /* Of exactly the size, so that a sanitizer sees what is read behind it. */
  uint8_t *bytes = malloc(size > 1 ? size - 1 : 1);
  bsm_arena arena;
  bsm_call call;
  if (!bytes) return 0;
  memcpy(bytes, data + 1, size - 1);
  bsm_arena_init(&arena, NULL);
  bsm_call_init(&call, "t", 1);
  call.input_count = inputs;
  bsm_status status =
      bsm_call_args_decode(&call, schema, bytes, size - 1, inputs, &arena);
  if (!status) sink = read_all(&call);
  (void)sink;
  fuzz_done(status);
  bsm_status_free(call.error);
  bsm_arena_destroy(&arena);
  free(bytes);
  return 0;
}
