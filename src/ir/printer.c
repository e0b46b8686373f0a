/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as text, with PyTorch's look:
 *
 *   graph(%x : Float(1, 3),
 *         %n : int):
 *     %2 : int = prim::Constant[value=1]()
 *     %y.1 : Tensor = aten::add(%x, %n, %2), scope: layer1 # m.py:3:8
 *     %z : Tensor = prim::If(%c)
 *       block0():
 *         -> (%y.1)
 *       block1():
 *         -> (%x)
 *     return (%z)
 *
 * An overload is printed ("aten::add.Scalar") only where the types of the
 * inputs would not lead the reader to it. */
#include "ir/literal.h"
#include "ir/schema_match.h"

typedef struct printer {
  bsm_text *text;
  bsm_ir_ctx *cx;
  const bsm_print_options *options;
} printer;

static void print_name(printer *p, const bsm_value *value) {
  if (value->debug_name) {
    bsm_text_puts(p->text, "%");
    bsm_text_puts(p->text, value->debug_name);
  } else {
    bsm_text_printf(p->text, "%%%u", value->id);
  }
}

static void print_names(printer *p, bsm_value *const *values, size_t count) {
  bsm_text_puts(p->text, "(");
  for (size_t i = 0; i < count; i++) {
    if (i) bsm_text_puts(p->text, ", ");
    print_name(p, values[i]);
  }
  bsm_text_puts(p->text, ")");
}

/* "%x : int, %y : Tensor". */
static void print_typed(printer *p, bsm_value *const *values, size_t count,
                        const char *separator) {
  for (size_t i = 0; i < count; i++) {
    if (i) bsm_text_puts(p->text, separator);
    print_name(p, values[i]);
    bsm_text_puts(p->text, " : ");
    bsm_type_print(p->text, values[i]->type, BSM_TYPE_STYLE_IR);
  }
}

static void indent(printer *p, uint32_t level) {
  for (uint32_t i = 0; i < level; i++) bsm_text_puts(p->text, "  ");
}

/* Whether a reader finds the node's schema from its name and input types. */
static bool resolves(printer *p, const bsm_node *node) {
  const bsm_schema *const *overloads, *found = NULL;
  size_t count;
  enum { MANY = 64 };
  const bsm_type *types[MANY];
  if (node->inputs.len > MANY) return false;
  for (size_t i = 0; i < node->inputs.len; i++) {
    types[i] = node->inputs.items[i]->type;
  }
  bsm_status status = bsm_schema_table_overloads(
      p->cx->schemas, bsm_str_of(node->kind), &overloads, &count);
  if (!status) {
    status =
        bsm_schema_match_node(p->cx->types, p->cx->arena, types,
                              node->inputs.len, overloads, count, &found, NULL);
  }
  if (status) {
    p->text->failed = true; /* out of memory */
    bsm_status_free(status);
  }
  return found == node->schema;
}

static void print_attrs(printer *p, const bsm_node *node) {
  if (node->attrs.len == 0) return;
  bool constant = bsm_node_is(node, "prim::Constant");
  bsm_text_puts(p->text, "[");
  for (size_t i = 0; i < node->attrs.len; i++) {
    const bsm_node_attr *attr = &node->attrs.items[i];
    const bsm_type *type =
        constant && node->outputs.len ? node->outputs.items[0]->type : NULL;
    if (i) bsm_text_puts(p->text, ", ");
    bsm_text_printf(p->text, "%s=", attr->name);
    bsm_literal_print(p->text, p->cx->types, &attr->value, type);
  }
  bsm_text_puts(p->text, "]");
}

static void print_source(printer *p, const bsm_source *source) {
  if (source->scope && *source->scope) {
    bsm_text_printf(p->text, ", scope: %s", source->scope);
  }
  if (source->python_file) {
    bsm_text_printf(p->text, " # %s:%u:0", source->python_file,
                    source->python_line);
  } else if (source->code_file) {
    bsm_text_printf(p->text, " # %s:%u:%u", source->code_file,
                    source->code_line, source->code_col);
  }
}

static void print_nodes(printer *p, const bsm_block *block, uint32_t level);

static void print_blocks(printer *p, const bsm_node *node, uint32_t level) {
  for (size_t i = 0; i < node->blocks.len; i++) {
    const bsm_block *block = node->blocks.items[i];
    indent(p, level + 1);
    bsm_text_printf(p->text, "block%zu(", i);
    print_typed(p, block->params->outputs.items, block->params->outputs.len,
                ", ");
    bsm_text_puts(p->text, "):\n");
    print_nodes(p, block, level + 2);
    indent(p, level + 2);
    bsm_text_puts(p->text, "-> ");
    print_names(p, block->returns->inputs.items, block->returns->inputs.len);
    bsm_text_puts(p->text, "\n");
  }
}

static void print_node(printer *p, const bsm_node *node, uint32_t level) {
  indent(p, level);
  print_typed(p, node->outputs.items, node->outputs.len, ", ");
  bsm_text_puts(p->text, " = ");
  bsm_text_puts(p->text, node->kind);
  if (node->schema && *node->schema->overload && !resolves(p, node)) {
    bsm_text_puts(p->text, ".");
    bsm_text_puts(p->text, node->schema->overload);
  }
  print_attrs(p, node);
  print_names(p, node->inputs.items, node->inputs.len);
  if (p->options && p->options->sources) print_source(p, &node->source);
  bsm_text_puts(p->text, "\n");
  print_blocks(p, node, level);
}

static void print_nodes(printer *p, const bsm_block *block, uint32_t level) {
  for (const bsm_node *n = block->first; n; n = n->next) {
    print_node(p, n, level);
  }
}

void bsm_graph_print(bsm_text *text, const bsm_graph *graph,
                     const bsm_print_options *options) {
  printer p = {text, graph->cx, options};
  const bsm_block *block = graph->block;
  bsm_text_puts(text, "graph(");
  print_typed(&p, block->params->outputs.items, block->params->outputs.len,
              ",\n      ");
  bsm_text_puts(text, "):\n");
  print_nodes(&p, block, 1);
  bsm_text_puts(text, "  return ");
  print_names(&p, block->returns->inputs.items, block->returns->inputs.len);
  bsm_text_puts(text, "\n");
}
