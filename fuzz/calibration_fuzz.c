/* SPDX-License-Identifier: Apache-2.0 */
/* Calibration files, and calibration caches of TensorRT. What is read is
 * written and read again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"
#include "quantization/calibration.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_text, 0);

static bsm_status read_again(const bsm_calibration *c,
                             void (*print)(bsm_text *,
                                           const bsm_calibration *)) {
  bsm_arena arena;
  bsm_text text;
  bsm_calibration *again = NULL;
  bsm_arena_init(&arena, NULL);
  bsm_text_init(&text, &arena);
  print(&text, c);
  bsm_status status =
      bsm_calibration_load_memory(text.data, text.len, "again", &again);
  bsm_calibration_destroy(again);
  bsm_arena_destroy(&arena);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bsm_calibration *c = NULL;
  bsm_status status = bsm_calibration_load_memory(data, size, "fuzz", &c);
  if (!status) {
    bsm_status written = read_again(c, bsm_calibration_print);
    if (written) {
      fprintf(stderr, "%s\n", bsm_status_message(written));
      abort();
    }
    /* Ranges that are no scale of float32, and odd names, are refused. */
    bsm_status_free(read_again(c, bsm_calibration_print_tensorrt));
  }
  bsm_calibration_destroy(c);
  fuzz_done(status);
  return 0;
}
