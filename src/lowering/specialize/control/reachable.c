/* SPDX-License-Identifier: Apache-2.0 */
/* Who can still get at a list or dict: other uses of its value in the program,
 * and other places that hold it. In doubt, somebody can. */
#include "lowering/specialize/control/reachable.h"

#include "lowering/specialize/values/schema_query.h"

/* The node of `block` that `node` is, or is inside of; NULL: none. */
static const bsm_node *ancestor_in(const bsm_node *node,
                                   const bsm_block *block) {
  while (node && node->block != block) {
    node = node->block ? node->block->owner : NULL;
  }
  return node;
}

/* Whether there is a loop around `node`, inside of `outside`. */
static bool is_in_loop(const bsm_node *node, const bsm_block *outside) {
  while (node && node->block != outside) {
    node = node->block ? node->block->owner : NULL;
    if (node && bsm_node_is(node, "prim::Loop")) {
      return true;
    }
  }
  return false;
}

/* Whether `user` may run after `node`; both are of one graph. */
static bool runs_after(const bsm_node *user, const bsm_node *node) {
  for (const bsm_node *n = node; n && n->block; n = n->block->owner) {
    const bsm_node *other = ancestor_in(user, n->block);
    if (!other) {
      continue;
    }
    for (const bsm_node *before = n; before; before = before->prev) {
      if (before == other) {
        return false; /* or it is around both */
      }
    }
    return true;
  }
  return true;
}

/* Whether the use puts the container into something else. */
static bool is_kept_by(const bsm_use *use) {
  static const char *const kinds[] = {
      "prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct",
      "prim::SetAttr",       "prim::CallMethod",     "prim::CallFunction",
      "prim::CreateObject"};
  const bsm_node *node = use->user;
  size_t which = 0;
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
    if (bsm_node_is(node, kinds[i])) {
      return true;
    }
  }
  return node->schema && bsm_spec_writes_container(node->schema, &which) &&
         use->index != which;
}

bool bsm_spec_is_reachable(const bsm_value *value, const bsm_node *node) {
  static const char *const makers[] = {"prim::ListConstruct",
                                       "prim::DictConstruct", "aten::add",
                                       "prim::If", "prim::Loop"};
  const bsm_node *from = value->node;
  bool made = false;
  for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
    made = made || bsm_node_is(from, makers[i]);
  }
  /* The parameter of a function is its caller's too; a variable of a loop is
   * the loop's own. */
  const bsm_block *block = from->block;
  if (!made && !(!from->kind[0] && block && block->owner)) {
    return true;
  }
  for (size_t i = 0; i < value->uses.len; i++) {
    const bsm_use *use = &value->uses.items[i];
    if (ancestor_in(use->user, node->block) == node) {
      continue; /* one of the sides itself */
    }
    if (is_kept_by(use) || runs_after(use->user, node) ||
        is_in_loop(node, block)) {
      return true;
    }
  }
  return false;
}
