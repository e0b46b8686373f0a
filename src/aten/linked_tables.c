/* SPDX-License-Identifier: Apache-2.0 */
/* What programs link that do not say which operators they need: all tables. */
#include "aten/op.h"

const bsm_aten_table *const bsm_linked_aten_tables[] = {
#define TABLE(name) &bsm_aten_ops_##name,
#include "aten/aten_tables.inl"
#undef TABLE
    NULL};
