/* SPDX-License-Identifier: Apache-2.0 */
/* Input specs on the command line, in TRTorch's grammar:
 *
 *   (1,3,224,224)                          a fixed shape
 *   [(1,3,224,224);(8,3,224,224);(16,3,224,224)]   minimum; optimum; maximum
 *   ...@f32                                the dtype, float32 when not given
 *   ...%contiguous                         the layout; only this one
 *
 * and two additions: NAME=SPEC for a parameter by name, and a plain number,
 * true, false or none for a parameter that is not a tensor. */
#ifndef BSM_TOOLS_INPUT_SPEC_H_
#define BSM_TOOLS_INPUT_SPEC_H_

#include "base/arena.h"
#include "bessemer/compiler.h"

/* Parses `text`; a name is copied into the arena. BSM_INVALID_ARGUMENT: what is
 * wrong with it. */
BSM_NODISCARD bsm_status bsm_input_spec_parse(bsm_arena *arena,
                                              const char *text,
                                              bsm_input_spec *out);

#endif /* BSM_TOOLS_INPUT_SPEC_H_ */
