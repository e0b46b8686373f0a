/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of an engine as rows of a table: time, rates, share of the peak. */
#ifndef BSM_TOOLS_STEP_TABLE_H_
#define BSM_TOOLS_STEP_TABLE_H_

#include "tools/json.h"
#include "tools/session.h"

/* A step with a time, as a table shows it. */
typedef struct bsm_step_row {
  const char *name, *kind, *tactic;
  double seconds; /* 0: not known */
  double flops, bytes;
  double least; /* seconds that a GPU of its target needs; 0: not known */
} bsm_step_row;

/* What the machine can do with `isa` (0: all it has) and `threads` (0: all
 * CPUs), measured within a few hundredths of a second. */
BSM_NODISCARD bsm_status bsm_measure_peak(uint32_t isa, int threads,
                                          double *gflops);

/* Members of the open JSON object: name, kind, tactic, flops, bytes, and with a
 * time ms, gflops_per_s, gb_per_s, and peak_share: of the peak, if it is known,
 * or of `least` in the time. */
void bsm_step_row_json(bsm_json *json, const bsm_step_row *row, double peak);

/* The heading of columns, and one row under it. `total`: seconds of all rows.
 * `peak` 0: not known. */
void bsm_step_row_heading(void);
BSM_NODISCARD bsm_status bsm_step_row_print(const bsm_step_row *row,
                                            double total, double peak);

/* The steps of an engine with the times of when it was built: a table, or an
 * array "steps" in JSON, with what else was tried. */
BSM_NODISCARD bsm_status bsm_print_built_steps(bsm_cli *cli,
                                               const bsm_engine *engine);
BSM_NODISCARD bsm_status bsm_json_built_steps(bsm_cli *cli,
                                              const bsm_engine *engine,
                                              bsm_json *json);

#endif /* BSM_TOOLS_STEP_TABLE_H_ */
