/* SPDX-License-Identifier: Apache-2.0 */
/* What a program links of the library.
 *
 * Operators, steps, tactics and kernels are found in tables named
 * bsm_linked_<what> (kernels: bsm_k_linked_<family>). Each of the library's own
 * tables has everything, and stands in an object file apart from what reads it.
 * A program that defines the tables itself, with less in them, thus links
 * neither the library's nor what only those name. `bessemer link-list` writes
 * such tables for engines. What a table lacks fails when an engine is loaded.
 */
#ifndef BSM_BASE_LINKED_H_
#define BSM_BASE_LINKED_H_

#include "bessemer/status.h"

/* Of the program's own tables: what they were made for, and by which version;
 * NULL: the tables are the library's. */
typedef struct bsm_link_list {
  const char *engines, *version;
} bsm_link_list;
extern const bsm_link_list bsm_linked;

/* BSM_VERSION: another version of the library made the tables. */
BSM_NODISCARD bsm_status bsm_check_linked(void);

/* For what is in no table: `what` and `name`, such as "op" and "aten::topk". */
BSM_NODISCARD bsm_status bsm_fail_not_linked(const char *what,
                                             const char *name);

#endif /* BSM_BASE_LINKED_H_ */
