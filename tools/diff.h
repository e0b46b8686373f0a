/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `bessemer diff` share: two sides, each with the values that
 * it computes in order, and the pairs of values that stand for the same. */
#ifndef BSM_TOOLS_DIFF_H_
#define BSM_TOOLS_DIFF_H_

#include "tools/session.h"
#include "tools/tensor_compare.h"

typedef enum bsm_side_kind {
  BSM_SIDE_MODEL,
  BSM_SIDE_ENGINE,
  BSM_SIDE_ARRAYS
} bsm_side_kind;

/* A value that a side computes, or has in a file. */
typedef struct bsm_diff_value {
  const char *name;   /* "" when it has none */
  const char *layers; /* "" for arrays */
  const char *kind, *tactic;
  bsm_array array;
  bool is_output; /* of the engine: `name` is the binding's */
} bsm_diff_value;

typedef struct bsm_diff_side {
  const char *path;
  bsm_side_kind kind;
  uint64_t reference; /* of a model: bits of bsm_reference */
  bsm_session session;
  bsm_array_set arrays;
  BSM_VEC(bsm_diff_value) values;
} bsm_diff_side;

typedef struct bsm_diff_pair {
  const bsm_diff_value *expected, *actual;
  const bsm_diff_value *shown; /* the one of the two that a step computed */
  bsm_comparison comparison;
  bool departs;
} bsm_diff_pair;

typedef struct bsm_diff {
  bsm_diff_side expected, actual;
  double tolerance;
  BSM_VEC(bsm_diff_pair) pairs; /* in the order of computing */
  size_t alone[2];              /* values of each side without the other's */
  size_t departing;             /* pairs that depart */
  const bsm_diff_pair *first;   /* that departs; NULL: none */
  const bsm_diff_pair *before;  /* the last that agrees before it, or NULL */
  const bsm_diff_pair *worst;   /* of all; NULL: nothing was compared */
} bsm_diff;

/* ---- diff_sides.c ---- */

/* Says what the file of a side is. */
BSM_NODISCARD bsm_status bsm_side_find_kind(const char *path,
                                            bsm_side_kind *out);
/* Opens both sides, runs what is to be run on the same inputs, and lists what
 * was computed. The caller closes the sides, also after a failure. */
BSM_NODISCARD bsm_status bsm_diff_run(bsm_cli *cli, bsm_diff *diff);
void bsm_diff_close(bsm_diff *diff);

/* ---- diff_match.c ---- */

/* Finds the pairs and compares them. A tolerance of 0 becomes that of the
 * coarsest precision of the two. */
BSM_NODISCARD bsm_status bsm_diff_compare(bsm_cli *cli, bsm_diff *diff);

/* ---- diff_report.c ---- */

BSM_NODISCARD bsm_status bsm_diff_print(bsm_cli *cli, const bsm_diff *diff,
                                        bool all);
/* As JSON; with `in_page` such that HTML may hold it. */
BSM_NODISCARD bsm_status bsm_diff_json(bsm_cli *cli, const bsm_diff *diff,
                                       FILE *file, bool in_page);

#endif /* BSM_TOOLS_DIFF_H_ */
