/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a program can tell how its tensors lie in memory. */
#ifndef BSM_ENGINE_PROGRAM_STRIDES_H_
#define BSM_ENGINE_PROGRAM_STRIDES_H_

#include "aten/op.h"
#include "engine/program.h"

/* True when no value of the program depends on the strides of a tensor: nothing
 * is written to tensors, and no op tells strides or reads memory by them. Then
 * results may have any strides, and what would be a view may be a copy. */
bool bsm_program_hides_strides(const bsm_program *program,
                               const bsm_aten_library *aten);

#endif /* BSM_ENGINE_PROGRAM_STRIDES_H_ */
