/* SPDX-License-Identifier: Apache-2.0 */
/* What the compiler's checks call: kernels are compiled with those for
 * misaligned addresses, indices beyond arrays, overflow of signed integers,
 * division by zero and shifts by too much. The names are those of the
 * sanitizers' library, which a kernel does not need. */
#ifndef TESTS_CUDA_EMULATION_CHECKS_ON_HOST_H_
#define TESTS_CUDA_EMULATION_CHECKS_ON_HOST_H_

/* Every check's data begins with the place in the source. */
struct emulated_place {
  const char *file;
  unsigned line, column;
};

[[noreturn]] inline void emulated_check_failed(const void *data, int result,
                                               const char *what) {
  const emulated_place *at = static_cast<const emulated_place *>(data);
  const char *slash = at->file ? strrchr(at->file, '/') : nullptr;
  char text[160];
  snprintf(text, sizeof(text), "%.90s:%u:%u: %s",
           slash ? slash + 1 : "the source", at->line, at->column, what);
  emulated_fail(result, text);
}

#define EMULATED_CHECK(name, result, what)                                    \
  extern "C" __attribute__((                                                  \
      visibility("hidden"),                                                   \
      used)) void __ubsan_handle_##name##_abort(void *data, void *, void *) { \
    emulated_check_failed(data, result, what);                                \
  }
EMULATED_CHECK(type_mismatch_v1, 716, "a misaligned address")
EMULATED_CHECK(out_of_bounds, 700, "an index beyond its array")
EMULATED_CHECK(add_overflow, 719, "a signed sum overflows")
EMULATED_CHECK(sub_overflow, 719, "a signed difference overflows")
EMULATED_CHECK(mul_overflow, 719, "a signed product overflows")
EMULATED_CHECK(negate_overflow, 719, "a negation overflows")
EMULATED_CHECK(divrem_overflow, 719, "a division by zero, or one overflows")
EMULATED_CHECK(shift_out_of_bounds, 719, "a shift by more bits than there are")
#undef EMULATED_CHECK

#endif /* TESTS_CUDA_EMULATION_CHECKS_ON_HOST_H_ */
