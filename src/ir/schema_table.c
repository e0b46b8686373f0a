/* SPDX-License-Identifier: Apache-2.0 */
/* The table of schemas. The built-in lines are sorted by name, so creating a
 * table costs nothing: a name is found by bisection, and the schemas of a name
 * are parsed together when it is first asked for. */
#include "ir/schema.h"

static const char *const builtin_lines[] = {
#include "ir/schema_table.inc"
};
#define BUILTIN_COUNT (sizeof builtin_lines / sizeof builtin_lines[0])

/* All overloads of one name. */
typedef struct group {
  BSM_VEC(const bsm_schema *) schemas;
} group;

struct bsm_schema_table {
  bsm_arena *arena;
  bsm_type_table *types;
  bsm_strmap groups; /* name -> group *: what was asked for or added */
};

bsm_status bsm_schema_table_create(bsm_type_table *types, bsm_arena *arena,
                                   bsm_schema_table **out) {
  *out = BSM_NEW(arena, bsm_schema_table);
  BSM_TRY_ALLOC(*out);
  (*out)->arena = arena;
  (*out)->types = types;
  return BSM_OK;
}

/* "aten::add" of "aten::add.Tensor(Tensor self, ...": the name ends at the
 * first '.' or '(' after the namespace. */
static bsm_str name_part(bsm_str text) {
  size_t i = 0;
  while (i < text.len && text.data[i] != '.' && text.data[i] != '(') i++;
  return (bsm_str){text.data, i};
}

static int compare(bsm_str a, bsm_str b) {
  size_t n = a.len < b.len ? a.len : b.len;
  int order = memcmp(a.data, b.data, n);
  if (order) return order;
  return (a.len > b.len) - (a.len < b.len);
}

/* The first built-in line whose name is not before `name`. */
static size_t lower_bound(bsm_str name) {
  size_t low = 0, high = BUILTIN_COUNT;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    bsm_str at = name_part(bsm_str_of(builtin_lines[middle]));
    if (compare(at, name) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bsm_status group_add(bsm_schema_table *table, group *g, bsm_str text) {
  bsm_schema *schema;
  BSM_TRY(bsm_schema_parse(table->types, table->arena, text, &schema));
  return bsm_vec_push(table->arena, &g->schemas, schema) ? BSM_OK
                                                         : BSM_FAIL_OOM();
}

/* The group of `name` with its built-in schemas, made when new; NULL when
 * there is none and `create` is false. */
static bsm_status find_group(bsm_schema_table *table, bsm_str name, bool create,
                             group **out) {
  *out = bsm_strmap_get(&table->groups, name);
  if (*out) return BSM_OK;
  size_t i = lower_bound(name);
  bool known = i < BUILTIN_COUNT &&
               compare(name_part(bsm_str_of(builtin_lines[i])), name) == 0;
  if (!known && !create) return BSM_OK;
  group *g = BSM_NEW(table->arena, group);
  BSM_TRY_ALLOC(g);
  for (; i < BUILTIN_COUNT; i++) {
    bsm_str line = bsm_str_of(builtin_lines[i]);
    if (compare(name_part(line), name) != 0) break;
    BSM_TRY(group_add(table, g, line));
  }
  if (!bsm_strmap_set(table->arena, &table->groups, name, g)) {
    return BSM_FAIL_OOM();
  }
  *out = g;
  return BSM_OK;
}

bsm_status bsm_schema_table_add(bsm_schema_table *table, bsm_str text) {
  bsm_schema *schema;
  BSM_TRY(bsm_schema_parse(table->types, table->arena, text, &schema));
  group *g;
  BSM_TRY(find_group(table, bsm_str_of(schema->name), true, &g));
  for (size_t i = 0; i < g->schemas.len; i++) {
    if (strcmp(g->schemas.items[i]->qualified, schema->qualified) == 0) {
      g->schemas.items[i] = schema; /* the user's word is the last */
      return BSM_OK;
    }
  }
  return bsm_vec_push(table->arena, &g->schemas, schema) ? BSM_OK
                                                         : BSM_FAIL_OOM();
}

bsm_status bsm_schema_table_overloads(bsm_schema_table *table, bsm_str name,
                                      const bsm_schema *const **out,
                                      size_t *count) {
  *out = NULL;
  *count = 0;
  group *g;
  BSM_TRY(find_group(table, name, false, &g));
  if (g) {
    *out = g->schemas.items;
    *count = g->schemas.len;
  }
  return BSM_OK;
}

bsm_status bsm_schema_table_find(bsm_schema_table *table, bsm_str qualified,
                                 const bsm_schema **out) {
  *out = NULL;
  group *g;
  BSM_TRY(find_group(table, name_part(qualified), false, &g));
  for (size_t i = 0; g && i < g->schemas.len; i++) {
    if (bsm_str_eq(bsm_str_of(g->schemas.items[i]->qualified), qualified)) {
      *out = g->schemas.items[i];
      break;
    }
  }
  return BSM_OK;
}

size_t bsm_schema_table_builtin_count(void) {
  return BUILTIN_COUNT;
}

const char *bsm_schema_table_builtin(size_t index) {
  return index < BUILTIN_COUNT ? builtin_lines[index] : NULL;
}
