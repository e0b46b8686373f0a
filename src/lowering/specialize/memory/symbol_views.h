/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of unknown shape that share memory. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_SYMBOL_VIEWS_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_SYMBOL_VIEWS_H_

#include "lowering/specialize/memory/memory.h"

/* The residual value of a symbol now: that of a view may have to be read from
 * its parent again. */
BSM_NODISCARD bsm_status bsm_spec_symbol_value(bsm_spec *s,
                                               const bsm_ivalue *symbol,
                                               bsm_value **out);
/* Notes that `view`, a symbol just made by the schema from args, shares the
 * memory of args[0]. */
BSM_NODISCARD bsm_status bsm_spec_symbol_view(bsm_spec *s,
                                              const bsm_ivalue *view,
                                              const bsm_schema *schema,
                                              const bsm_ivalue *args, size_t n);
/* What the worlds know of a symbol's data is no longer so once its memory was
 * written to: its tensors become such without data, where that happened. */
BSM_NODISCARD bsm_status bsm_spec_forget_data(bsm_spec *s,
                                              const bsm_ivalue *symbol);
/* The symbol's new value is `value`, and so is its part of what it views.
 * BSM_UNSUPPORTED: other tensors may share its memory. */
BSM_NODISCARD bsm_status bsm_spec_symbol_write(bsm_spec *s,
                                               const bsm_ivalue *symbol,
                                               bsm_value *value);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_SYMBOL_VIEWS_H_ */
