/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that may draw say by their parameters' names what decides it. */
#include "ir/draws.h"

#include <string.h>

/* Whether the argument says that nothing is drawn. */
static bool forbids(const char *name, const bsm_ivalue *arg) {
  if (strcmp(name, "train") == 0 || strcmp(name, "training") == 0) {
    return arg->tag == BSM_IVALUE_BOOL && !arg->u.b;
  }
  return strcmp(name, "p") == 0 && arg->tag == BSM_IVALUE_DOUBLE &&
         arg->u.d == 0.0;
}

bool bsm_call_draws(const bsm_aten_op *op, const bsm_schema *schema,
                    const bsm_ivalue *args, size_t n) {
  if (op->flags & BSM_ATEN_RANDOM) return true;
  if (!(op->flags & BSM_ATEN_MAY_DRAW)) return false;
  for (size_t i = 0; i < n && i < schema->arg_count; i++) {
    if (forbids(schema->args[i].name, &args[i])) return false;
  }
  return true;
}

static bool may_draw(const bsm_node *node) {
  for (size_t i = 0; i < node->inputs.len && i < node->schema->arg_count; i++) {
    const bsm_node *from = bsm_node_in(node, i)->node;
    const bsm_ivalue *value = bsm_node_is(from, "prim::Constant")
                                  ? bsm_node_attr_get(from, "value")
                                  : NULL;
    if (value && forbids(node->schema->args[i].name, value)) return false;
  }
  return true;
}

static bool draws(const bsm_node *node, const bsm_aten_library *aten,
                  size_t depth) {
  if (node->schema) {
    const bsm_aten_op *op =
        bsm_aten_find(aten, bsm_str_of(node->schema->qualified));
    if (op && ((op->flags & BSM_ATEN_RANDOM) ||
               ((op->flags & BSM_ATEN_MAY_DRAW) && may_draw(node)))) {
      return true;
    }
  }
  for (size_t b = 0; b < node->blocks.len && depth < 256; b++) {
    for (const bsm_node *n = node->blocks.items[b]->first; n; n = n->next) {
      if (draws(n, aten, depth + 1)) return true;
    }
  }
  return false;
}

bool bsm_node_draws(const bsm_node *node, const bsm_aten_library *aten) {
  return draws(node, aten, 0);
}
