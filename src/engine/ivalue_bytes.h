/* SPDX-License-Identifier: Apache-2.0 */
/* Values as bytes: the arguments of a call that an engine stores.
 *
 * A list of values is its length (u32) and the values; a value is a tag (u8)
 * and its content, little-endian:
 *
 *   0 None     -
 *   1 int      i64
 *   2 float    f64
 *   3 bool     u8, 0 or 1
 *   4 complex  f64 f64
 *   5 string   u32 length, bytes
 *   6 device   i8 type (0 cpu, 1 cuda, 2 other), i8 index (-1: none)
 *   7 tensor   u32 number, u8 flags (1: a wrapped number)
 *   8 list     u32 length, values
 *   9 tuple    u32 length, values
 *
 * Tensors are not stored; they are referred to by number, and the reader gives
 * an array of them. Dicts, objects and functions cannot be stored. Nothing is
 * trusted when reading: lengths are compared with the number of bytes left, and
 * values nest at most BSM_IVALUE_BYTES_MAX_DEPTH deep. */
#ifndef BSM_ENGINE_IVALUE_BYTES_H_
#define BSM_ENGINE_IVALUE_BYTES_H_

#include "aten/ivalue.h"

#define BSM_IVALUE_BYTES_MAX_DEPTH 16

/* Appends a list of values. A tensor among them is stored as its place in
 * `tensors`. BSM_UNSUPPORTED: a value of a kind that cannot be stored, or a
 * tensor that is not in `tensors`. */
BSM_NODISCARD bsm_status bsm_ivalues_to_bytes(bsm_text *out,
                                              const bsm_ivalue *values,
                                              size_t count,
                                              bsm_tensor *const *tensors,
                                              size_t tensor_count);

/* Reads a list of values that fills all of `bytes`. Tensor i becomes
 * &tensors[i], whose `wrapped_number` is set as stored. BSM_CORRUPT: the
 * function above does not write such bytes. */
BSM_NODISCARD bsm_status bsm_ivalues_from_bytes(bsm_str bytes, bsm_arena *arena,
                                                bsm_tensor *tensors,
                                                size_t tensor_count,
                                                bsm_ivalue **values,
                                                size_t *count);

/* Appends "a, b, c" as TorchScript would write the values; tensor i is printed
 * as "t" and names[i]. Bytes that do not read back are printed as "?". */
void bsm_ivalue_bytes_print(bsm_text *text, bsm_str bytes,
                            const uint32_t *names, size_t tensor_count);

#endif /* BSM_ENGINE_IVALUE_BYTES_H_ */
