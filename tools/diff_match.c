/* SPDX-License-Identifier: Apache-2.0 */
/* Which values of two sides stand for the same: those of equal names, the
 * outputs, and, for arrays that PyTorch's hooks have written, the last value
 * that a submodule computes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/diff.h"
#include "tools/layer_text.h"

/* ---- shapes ---- */

/* Whether dims are the same, but for neighbouring ones that are merged: then
 * the elements are in the same order. */
static bool same_order(bsm_dims a, bsm_dims b) {
  int32_t i = 0, k = 0;
  int64_t left = 1, right = 1;
  size_t n, m;
  bsm_status failed = bsm_dims_count(a, &n);
  if (!failed) failed = bsm_dims_count(b, &m);
  if (failed) {
    bsm_status_free(failed);
    return false;
  }
  if (n != m) return false;
  if (!n) return true;
  /* One of the two has to have all places where products meet. */
  bool a_finer = true, b_finer = true;
  while (i < a.rank || k < b.rank) {
    if (left == right) {
      if (i < a.rank) left *= a.d[i++];
      if (k < b.rank) right *= b.d[k++];
    } else if (left < right && i < a.rank) {
      b_finer = false;
      left *= a.d[i++];
    } else if (k < b.rank) {
      a_finer = false;
      right *= b.d[k++];
    } else {
      return false;
    }
  }
  return a_finer || b_finer;
}

/* ---- finding ---- */

/* Values of one side by a key, in order. */
typedef struct chain {
  const bsm_diff_value *value;
  struct chain *next, *last; /* `last`: of the first one of a chain */
  bool taken;
} chain;

static bsm_status index_value(bsm_cli *cli, bsm_strmap *map, const char *key,
                              const bsm_diff_value *value) {
  chain *link = BSM_NEW(&cli->arena, chain);
  BSM_TRY_ALLOC(link);
  link->value = value;
  link->last = link;
  chain *first = bsm_strmap_get(map, bsm_str_of(key));
  if (first) {
    first->last->next = link;
    first->last = link;
    return BSM_OK;
  }
  return bsm_strmap_set(&cli->arena, map, bsm_str_of(key), link)
             ? BSM_OK
             : BSM_FAIL_OOM();
}

/* The key of a value that is not an output. */
static const char *key_of(const bsm_diff_value *v) {
  return v->name[0] ? v->name : v->layers;
}

static bsm_status index_side(bsm_cli *cli, const bsm_diff_side *side,
                             bool outputs, bsm_strmap *map) {
  for (size_t i = 0; i < side->values.len; i++) {
    const bsm_diff_value *v = &side->values.items[i];
    if (v->is_output != outputs || !key_of(v)[0]) continue;
    BSM_TRY(index_value(cli, map, key_of(v), v));
  }
  return BSM_OK;
}

/* The next value of the key that is not taken and has such dims. */
static const bsm_diff_value *take(const bsm_strmap *map, const char *key,
                                  bsm_dims dims) {
  chain *at = bsm_strmap_get(map, bsm_str_of(key));
  for (; at; at = at->next) {
    if (at->taken || !same_order(at->value->array.dims, dims)) continue;
    at->taken = true;
    return at->value;
  }
  return NULL;
}

/* Whether a module is the one at `path`, or inside of it. */
static bool is_inside(bsm_str module, const char *path) {
  const size_t length = strlen(path);
  return module.len >= length && memcmp(module.data, path, length) == 0 &&
         (module.len == length || strchr("./", module.data[length]));
}

/* The last value that is computed in a submodule, of such dims. */
static const bsm_diff_value *last_of_module(const bsm_diff_side *side,
                                            const char *path, bsm_dims dims) {
  for (size_t i = side->values.len; path[0] && i-- > 0;) {
    const bsm_diff_value *v = &side->values.items[i];
    if (v->is_output || !v->layers[0]) continue;
    if (is_inside(bsm_layer_text_last(v->layers).module, path) &&
        same_order(v->array.dims, dims)) {
      return v;
    }
  }
  return NULL;
}

/* Output k of a side, for an array "out_k". */
static const bsm_diff_value *numbered_output(const bsm_diff_side *side,
                                             const char *name) {
  char *end;
  if (strncmp(name, "out_", 4) != 0) return NULL;
  unsigned long index = strtoul(name + 4, &end, 10);
  if (*end || end == name + 4) return NULL;
  for (size_t i = 0; i < side->values.len; i++) {
    const bsm_diff_value *v = &side->values.items[i];
    if (v->is_output && index-- == 0) return v;
  }
  return NULL;
}

/* ---- pairs ---- */

static bsm_status add_pair(bsm_cli *cli, bsm_diff *diff,
                           const bsm_diff_value *expected,
                           const bsm_diff_value *actual, bool show_actual) {
  bsm_diff_pair pair = {.expected = expected,
                        .actual = actual,
                        .shown = show_actual ? actual : expected};
  size_t count;
  BSM_TRY(bsm_dims_count(expected->array.dims, &count));
  bsm_compare_arrays(&expected->array, &actual->array, count, &pair.comparison);
  pair.departs = !(pair.comparison.relative <= diff->tolerance);
  return bsm_vec_push(&cli->arena, &diff->pairs, pair) ? BSM_OK
                                                       : BSM_FAIL_OOM();
}

/* Two runs: names are those of the same model. */
static bsm_status pair_runs(bsm_cli *cli, bsm_diff *diff) {
  bsm_strmap values = {0}, outputs = {0};
  size_t matched = 0;
  BSM_TRY(index_side(cli, &diff->actual, false, &values));
  BSM_TRY(index_side(cli, &diff->actual, true, &outputs));
  for (size_t i = 0; i < diff->expected.values.len; i++) {
    const bsm_diff_value *e = &diff->expected.values.items[i];
    const bsm_diff_value *a =
        take(e->is_output ? &outputs : &values, key_of(e), e->array.dims);
    if (!a) continue;
    matched++;
    BSM_TRY(add_pair(
        cli, diff, e, a,
        e->kind && !e->is_output && strcmp(e->kind, "aten_call") == 0));
  }
  diff->alone[0] = diff->expected.values.len - matched;
  diff->alone[1] = diff->actual.values.len - matched;
  return BSM_OK;
}

/* A run and arrays. In the order of the run. */
static bsm_status pair_arrays(bsm_cli *cli, bsm_diff *diff) {
  const bool arrays_expected = diff->expected.kind == BSM_SIDE_ARRAYS;
  const bsm_diff_side *arrays =
      arrays_expected ? &diff->expected : &diff->actual;
  const bsm_diff_side *run = arrays_expected ? &diff->actual : &diff->expected;
  const size_t count = run->values.len;
  const bsm_diff_value **by_value =
      BSM_NEW_ARRAY(&cli->arena, const bsm_diff_value *, count + 1);
  bsm_strmap values = {0}, outputs = {0};
  size_t matched = 0;
  BSM_TRY_ALLOC(by_value);
  BSM_TRY(index_side(cli, run, false, &values));
  BSM_TRY(index_side(cli, run, true, &outputs));
  for (size_t i = 0; i < arrays->values.len; i++) {
    const bsm_diff_value *v = &arrays->values.items[i];
    const bsm_diff_value *found = take(&values, v->name, v->array.dims);
    if (!found) found = last_of_module(run, v->name, v->array.dims);
    if (!found) found = take(&outputs, v->name, v->array.dims);
    if (!found) found = numbered_output(run, v->name);
    if (!found || !same_order(found->array.dims, v->array.dims)) continue;
    by_value[found - run->values.items] = v;
  }
  for (size_t i = 0; i < count; i++) {
    const bsm_diff_value *v = &run->values.items[i];
    if (!by_value[i]) continue;
    matched++;
    BSM_TRY(arrays_expected ? add_pair(cli, diff, by_value[i], v, true)
                            : add_pair(cli, diff, v, by_value[i], false));
  }
  diff->alone[arrays_expected ? 0 : 1] = arrays->values.len - matched;
  diff->alone[arrays_expected ? 1 : 0] = count - matched;
  return BSM_OK;
}

/* ---- the tolerance ---- */

static double tolerance_of(const bsm_diff_side *side) {
  double tolerance = 1e-4;
  const char *precisions =
      bsm_engine_metadata(side->session.engine, "options.precisions");
  static const struct {
    const char *name;
    double tolerance;
  } rows[] = {{"tf32", 5e-3},
              {"fp16", 1e-2},
              {"bf16", 5e-2},
              {"int8", 0.2},
              {"fp8", 0.2}};
  for (size_t i = 0; precisions && i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (strstr(precisions, rows[i].name) && rows[i].tolerance > tolerance) {
      tolerance = rows[i].tolerance;
    }
  }
  for (size_t i = 0; i < side->values.len; i++) {
    const bsm_dtype dtype = side->values.items[i].array.dtype;
    const double own = dtype == BSM_DTYPE_HALF       ? 1e-2
                       : dtype == BSM_DTYPE_BFLOAT16 ? 5e-2
                                                     : 0;
    if (own > tolerance) tolerance = own;
  }
  return tolerance;
}

bsm_status bsm_diff_compare(bsm_cli *cli, bsm_diff *diff) {
  if (diff->tolerance <= 0) {
    diff->tolerance =
        fmax(tolerance_of(&diff->expected), tolerance_of(&diff->actual));
  }
  const bool runs = diff->expected.kind != BSM_SIDE_ARRAYS &&
                    diff->actual.kind != BSM_SIDE_ARRAYS;
  BSM_TRY(runs ? pair_runs(cli, diff) : pair_arrays(cli, diff));
  for (size_t i = 0; i < diff->pairs.len; i++) {
    const bsm_diff_pair *pair = &diff->pairs.items[i];
    const double error = pair->comparison.relative;
    if (!diff->worst || error > diff->worst->comparison.relative) {
      diff->worst = pair;
    }
    if (!diff->first && !pair->departs) diff->before = pair;
    if (!pair->departs) continue;
    if (!diff->first) diff->first = pair;
    diff->departing++;
  }
  if (diff->pairs.len) return BSM_OK;
  return BSM_FAIL(BSM_NOT_FOUND,
                  "%s and %s have no value in common: of %zu and %zu, none "
                  "have the same name and shape",
                  diff->expected.path, diff->actual.path,
                  diff->expected.values.len, diff->actual.values.len);
}
