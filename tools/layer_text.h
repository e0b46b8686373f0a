/* SPDX-License-Identifier: Apache-2.0 */
/* Names of steps, taken apart. A step is named after the layers that it runs,
 * "A + B", and a layer after the node of the model that it came from:
 *   %y = aten::relu(%x) at net.py:12 (features.2)
 * Names that users gave, and what plug-ins make, have no such parts. */
#ifndef BSM_TOOLS_LAYER_TEXT_H_
#define BSM_TOOLS_LAYER_TEXT_H_

#include "base/strings.h"

typedef struct bsm_layer_text {
  bsm_str whole;
  bsm_str value;  /* that it computes, "y"; empty: not told */
  bsm_str op;     /* "aten::relu" */
  bsm_str source; /* "net.py:12" */
  bsm_str module; /* "features.2" */
} bsm_layer_text;

/* The next layer of a name; false at its end. *at is the name at first. */
bool bsm_layer_text_next(const char **at, bsm_layer_text *out);
/* The parts of the last layer of a name. */
bsm_layer_text bsm_layer_text_last(const char *name);
/* The parts of the first layer of a name that has a source; else of the first.
 */
bsm_layer_text bsm_layer_text_first(const char *name);
/* What people call the step: the paths of its modules, "conv1 + bn1", where it
 * has such, else the ops with their values, else the name. NULL: out of memory.
 */
const char *bsm_layer_short_name(bsm_arena *arena, const char *name);

#endif /* BSM_TOOLS_LAYER_TEXT_H_ */
