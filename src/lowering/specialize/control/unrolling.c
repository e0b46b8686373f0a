/* SPDX-License-Identifier: Apache-2.0 */
/* How far loops of known iterations are unrolled.
 *
 * All are, within two limits: the iterations of all loops (max_loop_trips) and
 * the nodes that they leave in the graph (max_unrolled_nodes). A loop that goes
 * beyond is noted, and the method is specialised again from the start, where it
 * is written down as a loop of the engine (loop.c) as if its length depended on
 * data. Of nested loops, the one with the most iterations is noted.
 *
 * Not every loop can be one of the engine's: one whose iterations use different
 * objects cannot. When specialising fails because something is not supported,
 * all loops are unrolled after all, up to max_loop_trips and max_nodes. */
#include "lowering/specialize/control/unrolling.h"

#include <inttypes.h>

#include "lowering/specialize/control/control.h"

/* Each adds a loop; a method of more long loops than this is refused. */
#define MAX_ATTEMPTS 16

static const char trips_limit[] = "max_loop_trips";
static const char nodes_limit[] = "max_unrolled_nodes";

/* Whether nothing but the number of iterations ends the loop. */
static bool is_counted(const bsm_node *node) {
  const bsm_value *condition = bsm_node_in(node->blocks.items[0]->returns, 0);
  return bsm_node_is(condition->node, "prim::Constant");
}

/* Whether unrolling as many nodes as in the first iteration goes too far. A
 * loop around others is left alone: it may be one of these that is too long. */
static bool will_exceed(const bsm_spec *s, const bsm_unrolled_loop *loop) {
  const uint64_t each = s->residual.graph->node_count - loop->first_node;
  return loop->iterations == 2 && loop->trips && !loop->has_inner &&
         each > s->cx->limits.max_unrolled_nodes / loop->trips;
}

/* The limit that `loop` has gone beyond; NULL: none. */
static const char *exceeded(const bsm_spec *s, const bsm_unrolled_loop *loop) {
  const bsm_limits *limits = &s->cx->limits;
  if (s->control->trips > limits->max_loop_trips) return trips_limit;
  if (!s->control->unroller || s->control->unroller->reason) return NULL;
  const uint64_t nodes = s->control->unrolled_nodes +
                         s->residual.graph->node_count -
                         loop->outermost->first_node;
  return nodes > limits->max_unrolled_nodes || will_exceed(s, loop)
             ? nodes_limit
             : NULL;
}

static bsm_status note(bsm_spec *s, const bsm_node *node, const char *limit) {
  bsm_spec_unroller *u = s->control->unroller;
  bsm_text place;
  bsm_text_init(&place, s->scratch);
  bsm_source_print(&place, &node->source);
  bsm_log(s->logger, BSM_LOG_LEVEL_INFO,
          "the loop at %s becomes one of the engine: unrolled, it goes beyond "
          "the limit %s",
          place.len && !place.failed ? place.data : "?", limit);
  BSM_TRY_ALLOC(
      bsm_ptrmap_set(u->arena, &u->loops, node, (void *)(uintptr_t)limit));
  return BSM_OK;
}

void bsm_unrolled_loop_begin(bsm_spec *s, const bsm_node *node,
                             const bsm_ivalue *trips, bsm_unrolled_loop *loop) {
  *loop = (bsm_unrolled_loop){.outer = s->control->innermost,
                              .node = node,
                              .first_node = s->residual.graph->node_count};
  if (trips->tag == BSM_IVALUE_INT && trips->u.i > 0 && is_counted(node)) {
    loop->trips = (uint64_t)trips->u.i;
  }
  loop->outermost =
      s->control->innermost ? s->control->innermost->outermost : loop;
  if (s->control->innermost) s->control->innermost->has_inner = true;
  s->control->innermost = loop;
}

void bsm_unrolled_loop_end(bsm_spec *s, const bsm_unrolled_loop *loop) {
  s->control->innermost = loop->outer;
  if (!loop->outer) {
    s->control->unrolled_nodes +=
        s->residual.graph->node_count - loop->first_node;
  }
}

bsm_status bsm_unrolled_loop_count(bsm_spec *s, bsm_unrolled_loop *loop) {
  bsm_spec_unroller *u = s->control->unroller;
  s->control->trips++;
  loop->iterations++;
  const char *limit = exceeded(s, loop);
  if (!limit) return BSM_OK;
  const bsm_unrolled_loop *longest = loop;
  for (const bsm_unrolled_loop *l = loop->outer; l; l = l->outer) {
    if (l->iterations > longest->iterations) longest = l;
  }
  const bool endless = longest->trips >= INT64_MAX; /* "while True" */
  if (u && !u->reason && !endless && u->loops.len < MAX_ATTEMPTS) {
    BSM_TRY(note(s, longest->node, limit));
    u->again = true;
  }
  const char *why = u && u->reason ? u->reason : "";
  const uint64_t most = limit == trips_limit ? s->cx->limits.max_loop_trips
                                             : s->cx->limits.max_unrolled_nodes;
  return BSM_FAIL(BSM_LIMIT,
                  "the loop at %s goes beyond what is unrolled when compiling: "
                  "the limit %s is %" PRIu64 "%s%s",
                  bsm_spec_where(s), limit, most,
                  endless  ? "; it does not end"
                  : why[0] ? "; it cannot be a loop of the engine: "
                           : "",
                  why);
}

bsm_status bsm_spec_is_rolled(bsm_spec *s, const bsm_node *node,
                              const bsm_ivalue *trips, const char **limit) {
  bsm_spec_unroller *u = s->control->unroller;
  *limit = NULL;
  if (!u || u->reason) return BSM_OK;
  *limit = bsm_ptrmap_get(&u->loops, node);
  if (*limit || trips->tag != BSM_IVALUE_INT || trips->u.i <= 0 ||
      trips->u.i == INT64_MAX || !is_counted(node) ||
      (uint64_t)trips->u.i <= s->cx->limits.max_loop_trips) {
    return BSM_OK;
  }
  *limit = trips_limit;
  return note(s, node, *limit);
}

bool bsm_spec_unroll_again(bsm_spec_unroller *u, bsm_status *status) {
  const bool rolled =
      u->loops.len && !u->reason && bsm_status_code(*status) == BSM_UNSUPPORTED;
  if (!*status || (!u->again && !rolled)) return false;
  if (!u->again) {
    u->reason = bsm_arena_strdup(u->arena, bsm_status_message(*status));
    if (!u->reason) return false;
  }
  u->again = false;
  bsm_status_free(*status);
  *status = BSM_OK;
  return true;
}
