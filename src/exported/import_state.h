/* SPDX-License-Identifier: Apache-2.0 */
/* What a program writes to: buffers, parameters and inputs. */
#ifndef BSM_EXPORTED_IMPORT_STATE_H_
#define BSM_EXPORTED_IMPORT_STATE_H_

#include "exported/import_node.h"

/* Tells which buffers and inputs the imported graph changes: each run of an
 * engine begins with those that are stored, as if it were the first. With
 * `as_output` *result becomes (*result, {name: new value}). */
BSM_NODISCARD bsm_status bsm_xi_state(bsm_importer *im,
                                      const bsm_import_scope *scope,
                                      bool as_output, bsm_value **result);

#endif /* BSM_EXPORTED_IMPORT_STATE_H_ */
