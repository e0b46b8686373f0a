/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/trusted/coded_device.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

coded_device_log coded_log;

/* ---- the device ---- */

struct bsm_code_image {
  int loaded;
};

static bsm_status load_code(bsm_device *device, const bsm_plan *plan,
                            bsm_code_image **out) {
  static struct bsm_code_image image;
  (void)device;
  if (plan->code_count) {
    coded_log.loads++;
    coded_log.code = plan->weights[plan->code[0].weights].data;
  }
  *out = &image;
  return BSM_OK;
}

static void unload_code(bsm_code_image *code) {
  (void)code;
}

extern const bsm_device_ops bsm_cpu_device_ops;

const bsm_device_ops *const *bsm_device_table(size_t *out) {
  static bsm_device_ops coded;
  static const bsm_device_ops *const devices[] = {&bsm_cpu_device_ops, &coded};
  coded = bsm_cpu_device_ops;
  coded.name = "coded";
  coded.code_load = load_code;
  coded.code_unload = unload_code;
  *out = 2;
  return devices;
}

/* ---- an engine ---- */

#define TEN(x) x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7, x + 8, x + 9
_Alignas(64) const uint8_t coded_bytes[CODED_BYTES] = {
    TEN(0xc0), TEN(0xa0), TEN(0x90), TEN(0x70), TEN(0x50),
    TEN(0xb0), TEN(0x80), TEN(0x60), TEN(0x40), TEN(0xd0)};

static bsm_plan_tensor vector(bsm_memory_place place) {
  return (bsm_plan_tensor){.name = "v",
                           .dtype = BSM_DTYPE_FLOAT,
                           .dims = {1, {5}},
                           .strides = {1},
                           .place = place};
}

bsm_engine *coded_engine(bool with_code, const char *key) {
  static bsm_plan_tensor tensors[2];
  static uint32_t ids[3] = {0, 0, 1};
  static bsm_step_params params;
  static bsm_plan_step step;
  static bsm_plan_binding input = {"x", 0}, output = {"out", 1};
  static bsm_plan_weights weights;
  static bsm_plan_code code = {"kernel", 0};
  static bsm_plan_metadata metadata = {"key", NULL};
  static bsm_plan plan;
  tensors[0] = vector(BSM_PLACE_INPUT);
  tensors[1] = vector(BSM_PLACE_OUTPUT);
  metadata.value = key;
  weights = (bsm_plan_weights){coded_bytes, sizeof(coded_bytes)};
  params.element_wise.instruction_count = 1;
  params.element_wise.result = 2;
  params.element_wise.program[0] =
      (bsm_step_ew_instruction){.kind = BSM_STEP_EW_BINARY,
                                .code = BSM_ELEMENT_WISE_SUM,
                                .dst = 2,
                                .a = 0,
                                .b = 1,
                                .dtype = BSM_DTYPE_FLOAT};
  step = (bsm_plan_step){.kind = BSM_STEP_ELEMENT_WISE,
                         .name = "add",
                         .tactic = "",
                         .input_count = 2,
                         .output_count = 1,
                         .inputs = ids,
                         .outputs = ids + 2,
                         .weights = BSM_STEP_NO_WEIGHTS,
                         .params = &params};
  plan = (bsm_plan){.tensors = tensors,
                    .tensor_count = 2,
                    .steps = &step,
                    .step_count = 1,
                    .weights = &weights,
                    .weights_count = 1,
                    .inputs = &input,
                    .outputs = &output,
                    .input_count = 1,
                    .output_count = 1,
                    .target = "coded:1",
                    .code = &code,
                    .code_count = with_code,
                    .metadata = &metadata,
                    .metadata_count = 1};
  bsm_arena arena;
  bsm_engine *engine = NULL;
  bsm_arena_init(&arena, NULL);
  bsm_status status = bsm_engine_adopt(&arena, &plan, NULL, NULL, &engine);
  if (status) fail_msg("%s", bsm_status_message(status));
  return engine;
}
