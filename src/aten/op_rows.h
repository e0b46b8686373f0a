/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the tables of ops/, whose schemas are packed. Nothing includes this
 * but the header that the build makes of each file of ops, which is
 * aten/packed/aten_X.h: row n of the file has PACKED_n, its packed schema, and
 * LENGTH_n, the length of the text; rows that are not those of the header do
 * not compile. */
#ifndef BSM_ATEN_OP_ROWS_H_
#define BSM_ATEN_OP_ROWS_H_

#include "aten/op.h"
#include "aten/schema_text.h"

/* OP(schema, fn, variant, flags) */
#define OP(...) OP_AT(__COUNTER__, __VA_ARGS__)
#define OP_AT(...) OP_ROW(__VA_ARGS__)
#define OP_ROW(n, text, fn, variant, flags)                                 \
  {                                                                         \
    &PACKED_##n[0 *                                                         \
                sizeof(char[sizeof(text) == LENGTH_##n + 1 &&               \
                                    sizeof(text) <= sizeof(bsm_schema_text) \
                                ? 1                                         \
                                : -1])],                                    \
        (fn), (variant), (flags) | BSM_ATEN_PACKED                          \
  }

#endif /* BSM_ATEN_OP_ROWS_H_ */
