/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of bad input share: an allocator that bounds and counts
 * memory, and "compile these bytes, and run what comes out" through the public
 * API, with a clock. */
#ifndef BSM_TESTS_HOSTILE_HOSTILE_H_
#define BSM_TESTS_HOSTILE_HOSTILE_H_

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bessemer/bessemer.h"

/* Counts what is live; fails the `fail_at`-th allocation (from 1; 0: none) and
 * what would bring the live bytes above `cap`; fills new memory with `fill`. */
typedef struct hostile_allocator {
  bsm_allocator base;
  atomic_size_t live_blocks, live_bytes, calls;
  size_t fail_at, cap;
  atomic_bool capped; /* an allocation above the cap was asked for */
  int fill;
} hostile_allocator;

void hostile_allocator_init(hostile_allocator *allocator);

/* What became of the bytes. */
typedef struct hostile_result {
  bsm_code code;
  char message[2048];
} hostile_result;

enum { HOSTILE_MAX_ARRAYS = 12 };

typedef struct hostile_case {
  const void *data;
  size_t size;
  const bsm_input_spec *specs;
  size_t spec_count;
  bool run; /* on inputs of `input_byte`s */
  int input_byte;
} hostile_case;

/* Loads, compiles and, when wanted, runs, with small limits and a memory cap.
 * Frees everything and requires that nothing is left and that no allocation
 * above the cap was tried. What hangs is ended by the time limit of ctest. */
void hostile_try(const hostile_case *c, hostile_result *out);

/* hostile_try of IR text without a run, for inputs of float32 `dims`. */
void hostile_compile_text(const char *text, bsm_dims dims, hostile_result *out);

/* An array of zeros (or `byte`s) for a binding; data NULL when out of memory.
 * The caller frees the data. */
bsm_array hostile_array_for(const bsm_binding *binding, int byte);

/* Fills `in` and `out` for the engine; false when there are too many or too
 * large ones. hostile_free_arrays in either case. */
bool hostile_arrays(const bsm_engine *engine, int byte, bsm_array *in,
                    bsm_array *out);
void hostile_free_arrays(bsm_array *arrays);

/* The bytes of a file, from malloc; fails the test when it cannot be read. */
uint8_t *hostile_read_file(const char *path, size_t *size);

#endif /* BSM_TESTS_HOSTILE_HOSTILE_H_ */
