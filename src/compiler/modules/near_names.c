/* SPDX-License-Identifier: Apache-2.0 */
/* Names are near when a few typing errors make one of the other, or when one is
 * a part of the other between dots: "relu" and "aten::relu", "layer1" and
 * "backbone.layer1". */
#include "compiler/modules/near_names.h"

#include <string.h>

/* Longer names are ignored. */
enum { MAX_LENGTH = 120 };

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Letters to add, drop, change or swap with the next. */
static size_t edit_distance(bsm_str a, bsm_str b) {
  size_t rows[3][MAX_LENGTH + 1];
  for (size_t j = 0; j <= b.len; j++) rows[0][j] = j;
  for (size_t i = 1; i <= a.len; i++) {
    size_t *row = rows[i % 3];
    const size_t *above = rows[(i - 1) % 3], *two = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b.len; j++) {
      const bool same = a.data[i - 1] == b.data[j - 1];
      row[j] = least(above[j - 1] + !same, 1 + least(above[j], row[j - 1]));
      if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] &&
          a.data[i - 2] == b.data[j - 1]) {
        row[j] = least(row[j], two[j - 2] + 1);
      }
    }
  }
  return rows[a.len % 3][b.len];
}

/* Whether `part` is in `whole`, from one dot or colon to another. */
static bool is_part(bsm_str part, bsm_str whole) {
  for (size_t i = 0; part.len && i + part.len <= whole.len; i++) {
    const bool starts = i == 0 || strchr(".:", whole.data[i - 1]);
    const size_t end = i + part.len;
    if (starts && memcmp(whole.data + i, part.data, part.len) == 0 &&
        (end == whole.len || strchr(".:", whole.data[end]))) {
      return true;
    }
  }
  return false;
}

void bsm_near_names_offer(bsm_near_names *near, bsm_str name) {
  const bsm_str given = near->given;
  if (given.len > MAX_LENGTH || name.len > MAX_LENGTH || !name.len) return;
  size_t distance = 1;
  if (!is_part(given, name)) distance = edit_distance(given, name);
  if (distance > 1 + given.len / 5) return;
  size_t at = near->count;
  for (size_t i = 0; i < near->count; i++) {
    if (bsm_str_eq(near->names[i], name)) return;
  }
  while (at > 0 && near->distances[at - 1] > distance) at--;
  if (at == BSM_NEAR_NAMES) return;
  if (near->count < BSM_NEAR_NAMES) near->count++;
  for (size_t i = near->count - 1; i > at; i--) {
    near->names[i] = near->names[i - 1];
    near->distances[i] = near->distances[i - 1];
  }
  near->names[at] = name;
  near->distances[at] = distance;
}

const char *bsm_near_names_text(const bsm_near_names *near, bsm_arena *arena) {
  bsm_text text;
  if (!near->count) return "";
  bsm_text_init(&text, arena);
  bsm_text_printf(&text, "; near %s ", near->count == 1 ? "is" : "are");
  for (size_t i = 0; i < near->count; i++) {
    const char *join = i == 0 ? "" : i + 1 < near->count ? ", " : " and ";
    bsm_text_printf(&text, "%s%.*s", join, (int)near->names[i].len,
                    near->names[i].data);
  }
  return text.failed ? NULL : text.data;
}
