/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for calls that strides can be seen through. */
#include "engine/program_strides.h"

#include <string.h>

/* The beginnings of the names of ops that tell strides, read memory by them, or
 * refuse some of them. */
static const char *const readers[] = {
    "aten::as_strided",
    "aten::stride",
    "aten::sym_stride",
    "aten::storage_offset",
    "aten::is_contiguous",
    "aten::sym_is_contiguous",
    "aten::is_non_overlapping_and_dense",
    "aten::_reshape_alias",
    "aten::view.dtype",
    "aten::view_as_complex",
};

static bool sees_strides(const bsm_aten_op *op, const char *name) {
  if (!op || (op->flags & BSM_ATEN_INPLACE)) return true;
  for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
    if (strncmp(name, readers[i], strlen(readers[i])) == 0) return true;
  }
  return false;
}

bool bsm_program_hides_strides(const bsm_program *program,
                               const bsm_aten_library *aten) {
  for (uint32_t b = 0; b < program->block_count; b++) {
    const bsm_program_block *block = &program->blocks[b];
    for (uint32_t k = 0; k < block->instruction_count; k++) {
      const bsm_instruction *i = &block->instructions[k];
      if (i->kind == BSM_INSTRUCTION_CALL &&
          sees_strides(bsm_aten_find(aten, bsm_str_of(i->name)), i->name)) {
        return false;
      }
    }
  }
  return true;
}
