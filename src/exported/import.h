/* SPDX-License-Identifier: Apache-2.0 */
/* From an exported program to the model that the compiler sees: a root object
 * with the parameters, buffers and constants as attributes under their own
 * names ("layer1.0.conv1.weight"), and a method forward with the parameters and
 * the result that the module had. */
#ifndef BSM_EXPORTED_IMPORT_H_
#define BSM_EXPORTED_IMPORT_H_

#include "exported/exported_program.h"
#include "ir/model.h"

typedef struct bsm_exported_import_options {
  /* The result of forward becomes (result, state), where the state is a dict
   * of what the program has written to buffers and inputs, by their names. */
  bool state_as_output;
} bsm_exported_import_options;

/* `program` stays behind the model. The graph of forward is made when it is
 * first asked for. `options` may be NULL. */
BSM_NODISCARD bsm_status
bsm_exported_import(const bsm_exported_program *program,
                    const bsm_exported_import_options *options, bsm_model *out);

#endif /* BSM_EXPORTED_IMPORT_H_ */
