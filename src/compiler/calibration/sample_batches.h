/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a calibration: batches are read one by one, and some are kept for
 * measuring. */
#ifndef BSM_COMPILER_CALIBRATION_SAMPLE_BATCHES_H_
#define BSM_COMPILER_CALIBRATION_SAMPLE_BATCHES_H_

#include "base/arena.h"
#include "bessemer/calibration.h"

/* Batches whose index is a multiple of a stride, which doubles when they would
 * take more memory than allowed. */
typedef struct bsm_kept_batch {
  bsm_array *arrays;
  size_t index;
  void *memory; /* of all arrays, or NULL */
} bsm_kept_batch;

typedef struct bsm_sample_batches {
  const bsm_calibrate_options *options;
  bsm_arena *arena;
  bsm_binding *inputs; /* of the engine */
  size_t input_count;
  bsm_array *arrays; /* of the batch that was read last */
  size_t read;       /* batches */
  BSM_VEC(bsm_kept_batch) kept;
  size_t stride, bytes_each;
} bsm_sample_batches;

BSM_NODISCARD bsm_status bsm_sample_batches_init(
    bsm_sample_batches *b, const bsm_calibrate_options *options,
    const bsm_engine *engine, bsm_arena *arena);
/* Reads the next batch into `arrays`; *end instead when there is none. */
BSM_NODISCARD bsm_status bsm_sample_batches_next(bsm_sample_batches *b,
                                                 bool *end);
/* Copies the batch that was read last, if it is one of those to keep. Its
 * arrays fit the inputs. */
BSM_NODISCARD bsm_status bsm_sample_batches_keep(bsm_sample_batches *b);
void bsm_sample_batches_destroy(bsm_sample_batches *b);

#endif /* BSM_COMPILER_CALIBRATION_SAMPLE_BATCHES_H_ */
