/* SPDX-License-Identifier: Apache-2.0 */
/* What an exported program says of the shapes of its user inputs. */
#ifndef BSM_EXPORTED_IMPORT_SHAPES_H_
#define BSM_EXPORTED_IMPORT_SHAPES_H_

#include "exported/exported_program.h"
#include "ir/model.h"

/* Fills in the symbols and shapes of `model`, and an example for each user
 * input: leaves[i] is that of program->inputs[i]; others stay None. */
BSM_NODISCARD bsm_status bsm_xi_shapes(const bsm_exported_program *program,
                                       bsm_model *model, bsm_ivalue *leaves);

#endif /* BSM_EXPORTED_IMPORT_SHAPES_H_ */
