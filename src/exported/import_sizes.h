/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of user inputs that follow each other. */
#ifndef BSM_EXPORTED_IMPORT_SIZES_H_
#define BSM_EXPORTED_IMPORT_SIZES_H_

#include "exported/import_node.h"

/* Each symbol is the first dim that is it; of the other dims with symbols it is
 * checked that they are what the file says. User inputs are bound. */
BSM_NODISCARD bsm_status bsm_xi_check_sizes(bsm_importer *im,
                                            const bsm_import_scope *scope);

#endif /* BSM_EXPORTED_IMPORT_SIZES_H_ */
