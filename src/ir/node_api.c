/* SPDX-License-Identifier: Apache-2.0 */
/* What converters see of a node: see include/bessemer/conversion.h. */
#include "bessemer/conversion.h"
#include "ir/graph.h"

const char *bsm_node_kind(const bsm_node *node) {
  return node->kind;
}

size_t bsm_node_output_count(const bsm_node *node) {
  return node->outputs.len;
}

const bsm_value *bsm_node_output(const bsm_node *node, size_t index) {
  return index < node->outputs.len ? node->outputs.items[index] : NULL;
}
