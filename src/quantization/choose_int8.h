/* SPDX-License-Identifier: Apache-2.0 */
/* Which products are faster in int8 than in another precision, from how long
 * each takes in both, and what making bytes of their inputs takes. */
#ifndef BSM_QUANTIZATION_CHOOSE_INT8_H_
#define BSM_QUANTIZATION_CHOOSE_INT8_H_

#include "base/arena.h"

/* What choosing has to know of a site (quantizable.h). */
typedef struct bsm_site_fact {
  const char *layer; /* its name */
  bool is_open;      /* no rule decides, and the calibration has a range */
  bool is_dynamic;   /* its input is quantized row by row, for it alone */
  bool is_normed;    /* its input comes from a norm, which can quantize it */
  uint32_t group;    /* of its input: sites of one group share its bytes */
  int32_t origin;    /* the site whose product becomes its input; -1: none */
  double elements;   /* of the input */
} bsm_site_fact;

typedef struct bsm_site_facts {
  bsm_arena *arena; /* of what follows */
  bsm_site_fact *sites;
  size_t count;
} bsm_site_facts;

/* Seconds. Sites of one unit share a kernel in one of the precisions, and
 * change theirs together. */
typedef struct bsm_site_times {
  uint32_t *unit;       /* by site: the first site of its unit */
  double *int8, *other; /* by site: of the unit that it is the first of */
  double quantize, quantize_element; /* a step that quantizes a tensor */
} bsm_site_times;

/* Sets slow[i] of the sites that had better not be in int8, among them those
 * that are not open. */
BSM_NODISCARD bsm_status bsm_choose_int8(const bsm_site_facts *facts,
                                         const bsm_site_times *times,
                                         bool *slow);

#endif /* BSM_QUANTIZATION_CHOOSE_INT8_H_ */
