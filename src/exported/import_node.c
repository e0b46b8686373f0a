/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and graphs. */
#include "exported/import_node.h"

/* Graphs in graphs in graphs, and nodes after all were inlined. */
enum { MAX_DEPTH = 64, MAX_NODES = 10000000 };

static bsm_status import_node(bsm_importer *im, bsm_import_scope *scope,
                              const bsm_exported_node *node) {
  static const char higher[] = "torch.ops.higher_order.";
  const char *name;
  bool done;
  if (strncmp(node->target, higher, sizeof(higher) - 1) == 0) {
    return bsm_xi_higher_order(im, scope, node,
                               node->target + sizeof(higher) - 1);
  }
  BSM_TRY(bsm_xi_operator_name(im, node->target, &name));
  if (name) {
    BSM_TRY(bsm_xi_special(im, scope, node, name, &done));
    return done ? BSM_OK : bsm_xi_operator(im, scope, node, name);
  }
  BSM_TRY(bsm_xi_python(im, scope, node, &done));
  return done ? BSM_OK : BSM_FAIL(BSM_UNSUPPORTED, "calls of %s", node->target);
}

bsm_status bsm_xi_nodes(bsm_importer *im, bsm_import_scope *scope) {
  const bsm_source outer = im->source;
  for (size_t i = 0; i < scope->graph->node_count; i++) {
    const bsm_exported_node *node = &scope->graph->nodes[i];
    im->source = node->source;
    bsm_status status =
        ++im->node_count > MAX_NODES
            ? BSM_FAIL(BSM_LIMIT, "more than %d nodes, once all are inlined",
                       MAX_NODES)
            : import_node(im, scope, node);
    if (status) {
      bsm_text place;
      bsm_text_init(&place, im->arena);
      bsm_source_print(&place, &node->source);
      return bsm_status_note(status, "in node \"%s\", a call of %s%s%s",
                             node->name, node->target, place.len ? ", at " : "",
                             place.len ? place.data : "");
    }
  }
  im->source = outer;
  return BSM_OK;
}

static bsm_status bind_inputs(bsm_importer *im, bsm_import_scope *scope,
                              bsm_value *const *args, size_t count) {
  const bsm_exported_graph *graph = scope->graph;
  if (graph->input_count != count) {
    return BSM_FAIL(BSM_CORRUPT, "graph \"%s\" has %zu inputs, given %zu",
                    graph->name, graph->input_count, count);
  }
  for (size_t i = 0; i < count; i++) {
    const bsm_exported_arg *input = &graph->inputs[i];
    const bool sym = input->tag == BSM_EXPORTED_SYM_INT ||
                     input->tag == BSM_EXPORTED_SYM_FLOAT ||
                     input->tag == BSM_EXPORTED_SYM_BOOL;
    const char *name = sym ? input->u.sym.name
                       : input->tag == BSM_EXPORTED_TENSOR ||
                               input->tag == BSM_EXPORTED_OPTIONAL_TENSOR
                           ? input->u.s
                           : NULL;
    BSM_TRY(bsm_xi_bind(im, scope, name, args[i]));
  }
  return BSM_OK;
}

bsm_status bsm_xi_apply(bsm_importer *im, const bsm_exported_graph *graph,
                        bsm_value *const *args, size_t count,
                        bsm_xi_values *out) {
  bsm_import_scope scope = {.graph = graph};
  if (im->depth >= MAX_DEPTH) {
    return BSM_FAIL(BSM_LIMIT, "graphs nest more than %d deep", MAX_DEPTH);
  }
  BSM_TRY(bind_inputs(im, &scope, args, count));
  im->depth++;
  BSM_TRY(bsm_xi_nodes(im, &scope));
  im->depth--;
  for (size_t i = 0; i < graph->output_count; i++) {
    BSM_TRY(bsm_xi_items(im, &scope, &graph->outputs[i], out));
  }
  return BSM_OK;
}
