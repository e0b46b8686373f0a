/* SPDX-License-Identifier: Apache-2.0 */
/* Which of some names was probably meant by a name that is none of them: for
 * messages. */
#ifndef BSM_BASE_NEAR_NAME_H_
#define BSM_BASE_NEAR_NAME_H_

#include "base/strings.h"

/* Of names that are looked at one by one, the nearest to `wanted`. Start with
 * {.wanted = ...}. */
typedef struct bsm_near_name {
  bsm_str wanted;
  const char *name; /* NULL: none was near */
  size_t distance;
} bsm_near_name;

/* `candidate` takes the place of the nearest name so far when it is nearer: by
 * letters to be changed, added or left out, at most one in three; or because
 * one of the two is a part of the other. */
void bsm_near_name_look(bsm_near_name *near, const char *candidate);

/* The arguments of "%s%s%s" behind a name that is none: what was meant, if any
 * was near, between these quotes. */
#define BSM_NEAR_NAME_ARGS(near, quote)                                  \
  (near).name ? ", perhaps " quote : "", (near).name ? (near).name : "", \
      (near).name ? quote : ""

#endif /* BSM_BASE_NEAR_NAME_H_ */
