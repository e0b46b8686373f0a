/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of schemas, which in the tables of ops/ are packed: a byte of the
 * code of schema_words.inl stands for a word of that list, every other for
 * itself. The build packs them (cmake/PackSchemas.cmake), a third is left. */
#ifndef BSM_ATEN_SCHEMA_TEXT_H_
#define BSM_ATEN_SCHEMA_TEXT_H_

#include <stdbool.h>

#include "base/strings.h"

struct bsm_aten_op;

/* Room for the longest text of a packed schema. */
typedef struct bsm_schema_text {
  char data[512];
} bsm_schema_text;

/* An op's schema as PyTorch prints it; in *room when the op's is packed. */
const char *bsm_aten_schema(const struct bsm_aten_op *op,
                            bsm_schema_text *room);
/* What of it is before the arguments, such as "aten::add.Tensor". */
bsm_str bsm_aten_name(const struct bsm_aten_op *op, bsm_schema_text *room);
bool bsm_aten_is_named(const struct bsm_aten_op *op, bsm_str name);

#endif /* BSM_ATEN_SCHEMA_TEXT_H_ */
