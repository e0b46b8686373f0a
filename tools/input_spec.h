/* SPDX-License-Identifier: Apache-2.0 */
/* Input specs on the command line, in TRTorch's grammar:
 *
 *   (1,3,224,224)                          a fixed shape
 *   [(1,3,224,224);(8,3,224,224);(16,3,224,224)]   minimum; optimum; maximum
 *   ...@f32                                the dtype, float32 when not given
 *   ...%contiguous                         the layout; only this one
 *
 * and additions: NAME=SPEC for a parameter by name, and values in the manner
 * of JSON for parameters that are not tensors or hold some:
 *
 *   f32[1,3,224,224]                       a tensor, as (1,3,224,224)@f32
 *   3   -0.5   true   none   default   "text"   'text'
 *   int   float   bool                     a number given when running
 *   [SPEC, ...]   {"key": SPEC, word: SPEC, 3: SPEC}   (field=SPEC, ...)
 *   (SPEC, ...)                            a tuple, unless it begins with a
 *                                          digit, as a shape does
 *   tuple(SPEC, ...)                       any tuple
 *   @file.npy   @file.npz:name             a constant tensor */
#ifndef BSM_TOOLS_INPUT_SPEC_H_
#define BSM_TOOLS_INPUT_SPEC_H_

#include "base/arena.h"
#include "bessemer/compiler.h"

typedef BSM_VEC(bsm_input_spec) bsm_spec_items;

/* Parses `text`; names and items are made in the arena. A constant tensor has
 * the file's name in `string` and no array yet. BSM_INVALID_ARGUMENT: what is
 * wrong, and where. */
BSM_NODISCARD bsm_status bsm_input_spec_parse(bsm_arena *arena,
                                              const char *text,
                                              bsm_input_spec *out);
/* Appends several, separated by commas. */
BSM_NODISCARD bsm_status bsm_input_specs_parse(bsm_arena *arena,
                                               const char *text,
                                               bsm_spec_items *out);

#endif /* BSM_TOOLS_INPUT_SPEC_H_ */
