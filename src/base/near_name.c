/* SPDX-License-Identifier: Apache-2.0 */
/* The distance of names: Levenshtein's, one row of his table at a time. */
#include "base/near_name.h"

#include <string.h>

/* Longer ones are near to nothing. */
#define MAX_NAME 64

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

static size_t distance_of(bsm_str a, bsm_str b) {
  size_t row[MAX_NAME + 1];
  for (size_t k = 0; k <= b.len; k++) row[k] = k;
  for (size_t i = 0; i < a.len; i++) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t k = 0; k < b.len; k++) {
      const size_t changed = diagonal + (a.data[i] != b.data[k]);
      diagonal = row[k + 1];
      row[k + 1] = least(changed, least(row[k], row[k + 1]) + 1);
    }
  }
  return row[b.len];
}

static bool contains(bsm_str text, bsm_str part) {
  for (size_t i = 0; i + part.len <= text.len; i++) {
    if (memcmp(text.data + i, part.data, part.len) == 0) return true;
  }
  return false;
}

void bsm_near_name_look(bsm_near_name *near, const char *candidate) {
  const bsm_str a = near->wanted, b = bsm_str_of(candidate);
  if (!a.len || !b.len || a.len > MAX_NAME || b.len > MAX_NAME) return;
  const size_t shorter = least(a.len, b.len);
  const size_t distance = distance_of(a, b);
  const bool part = shorter > 2 && (contains(a, b) || contains(b, a));
  if (!part && distance > (a.len + 2) / 3) return;
  if (near->name && near->distance <= distance) return;
  near->name = candidate;
  near->distance = distance;
}
