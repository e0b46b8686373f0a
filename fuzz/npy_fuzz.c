/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy files from memory. What is read is written and must read back equal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutators/mutator.h"
#include "fuzz/seed.h"
#include "tools/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_INPUTS(fuzz_mutate_npy, 0);

static void check(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "%s\n", what);
  abort();
}

static volatile size_t strings_seen;

/* The header of an array and its data make a file of that array. */
static void write_and_read(const bsm_array *array) {
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  bsm_str head;
  bsm_status status = bsm_npy_header(&arena, array, &head);
  check(!status, "an array that was read cannot be written");
  size_t size = bsm_dtype_size(array->dtype);
  for (int32_t i = 0; i < array->dims.rank; i++) {
    if (array->dims.d[i] == 0) size = 0;
  }
  for (int32_t i = 0; size && i < array->dims.rank; i++) {
    size *= (size_t)array->dims.d[i];
  }
  char *file = bsm_arena_alloc(&arena, head.len + size, 64);
  check(file != NULL, "out of memory");
  memcpy(file, head.data, head.len);
  if (size) memcpy(file + head.len, array->data, size);
  bsm_npy_file again;
  status = bsm_npy_open_memory(file, head.len + size, NULL, &again);
  check(!status && again.count == 1, "what was written cannot be read");
  const bsm_array *back = &again.items[0].array;
  check(back->dtype == array->dtype && back->dims.rank == array->dims.rank,
        "dtype or rank changed");
  check(size == 0 || memcmp(back->data, array->data, size) == 0,
        "data changed");
  bsm_npy_close(&again);
  bsm_arena_destroy(&arena);
}

/* Members of an archive may be text, or what cannot be read. */
static void use(const bsm_npy_array *item) {
  if (item->problem) {
    check(*item->problem != 0, "a problem without words");
  } else if (item->strings) {
    const bsm_dims *dims = &item->array.dims;
    const int64_t n = dims->rank ? dims->d[0] : 1;
    for (int64_t i = 0; i < n; i++) {
      strings_seen = strings_seen + strlen(item->strings[i]);
    }
  } else {
    write_and_read(&item->array);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const bsm_limits limits = {.struct_size = sizeof(limits),
                             .max_inflated = 1 << 20,
                             .max_entries = 1000};
  bsm_npy_file file;
  bsm_status status = bsm_npy_open_memory(data, size, &limits, &file);
  fuzz_done(status);
  if (status) return 0;
  for (size_t i = 0; i < file.count; i++) use(&file.items[i]);
  bsm_npy_close(&file);
  return 0;
}
