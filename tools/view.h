/* SPDX-License-Identifier: Apache-2.0 */
/* What `bessemer view` shows of engines and models, as JSON and as a graph of
 * Graphviz. */
#ifndef BSM_TOOLS_VIEW_H_
#define BSM_TOOLS_VIEW_H_

#include "tools/json.h"
#include "tools/session.h"

/* An engine, with the times of its steps. */
typedef struct bsm_view_engine {
  const char *path;
  const bsm_engine *engine;
  double *seconds; /* by step, of a run; NULL: those of when it was built */
  double peak;     /* GFLOP/s of the machine; 0: not known */
} bsm_view_engine;

/* What a compilation dumps. */
typedef struct bsm_view_dumps {
  bsm_text graph, network; /* "" when there was none */
} bsm_view_dumps;

/* A function for bsm_compile_options.dump; `user` is a bsm_view_dumps. */
void bsm_view_take_dump(void *user, const char *pass, const char *text);

/* An object with all of an engine. */
BSM_NODISCARD bsm_status bsm_view_engine_json(bsm_json *json,
                                              const bsm_view_engine *view);
/* The graph of the engine's steps. */
BSM_NODISCARD bsm_status bsm_view_dot(bsm_cli *cli, FILE *file,
                                      const bsm_view_engine *view);

#endif /* BSM_TOOLS_VIEW_H_ */
