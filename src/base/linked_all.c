/* SPDX-License-Identifier: Apache-2.0 */
/* Of programs without a link list: the tables are the library's. */
#include "base/linked.h"

const bsm_link_list bsm_linked = {NULL, NULL};
