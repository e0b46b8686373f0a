/* SPDX-License-Identifier: Apache-2.0 */
/* Reads graphs as bsm_graph_print and PyTorch's str(graph) write them:
 *
 *   graph   := 'graph' '(' values ')' ':' {node} 'return' '(' names ')'
 *   node    := [values] '=' kind ['[' attrs ']'] '(' names ')'
 *              [', scope: ' path] ['#' file ':' line ':' col] {block}
 *   block   := 'blockN' '(' values ')' ':' {node} '->' '(' names ')'
 *   values  := [value {',' value}]      value := '%' name [':' type]
 *
 * Lines and indentation mean nothing except that a scope and a '#' comment run
 * to the end of their line, also inside of a list. Which overload a node is
 * follows from the types of its inputs. A name that is defined again shadows
 * the value that had it. A constant whose data the text does not hold becomes
 * an input of the graph of the same name.
 */
#include "ir/literal.h"
#include "ir/schema_match.h"

/* Values keep the numbers that the text gives them, below this. */
#define MAX_VALUE_NUMBER (1u << 24)

typedef BSM_VEC(bsm_value *) value_vec;

/* A value under its name in the text, and what the name meant before. */
typedef struct definition {
  bsm_value *value;
  struct definition *before;
} definition;

typedef struct parser {
  bsm_cursor c;
  bsm_ir_ctx *cx;
  bsm_graph *graph;
  bsm_strmap values; /* name without '%' -> definition, the last one first */
  /* Lines are counted as the text is read, not from its start each time. */
  size_t counted, line_start;
  uint32_t line;
} parser;

/* A value on the left of '=' or in a list of inputs, not yet made. */
typedef struct typed_name {
  bsm_str name;
  const bsm_type *type; /* NULL: not given */
  size_t pos;
} typed_name;
typedef BSM_VEC(typed_name) name_vec;

typedef struct node_text {
  name_vec outputs;
  const char *kind;         /* without the overload */
  const bsm_schema *schema; /* when the text names the overload */
  BSM_VEC(bsm_node_attr) attrs;
  value_vec inputs;
  const bsm_type *placeholder; /* of a constant without data */
  bsm_source source;
  size_t pos;
} node_text;

/* ---- values ---- */

static bool is_value_char(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
         (ch >= '0' && ch <= '9') || ch == '_' || ch == '.' || ch == '/';
}

/* "%x.1", "%12", "%onnx::Conv_3": the part after '%'. */
static bsm_status read_name(parser *p, bsm_str *out) {
  bsm_cursor *c = &p->c;
  BSM_TRY(bsm_cursor_expect(c, "%"));
  size_t start = c->pos;
  while (c->pos < c->text.len) {
    const char *at = c->text.data + c->pos;
    size_t left = c->text.len - c->pos;
    if (left > 2 && at[0] == ':' && at[1] == ':' && is_value_char(at[2])) {
      c->pos += 2;
    } else if (is_value_char(at[0])) {
      c->pos++;
    } else {
      break;
    }
  }
  *out = (bsm_str){c->text.data + start, c->pos - start};
  if (!out->len) {
    return bsm_cursor_fail(c, BSM_CORRUPT, "expected a value's name");
  }
  if (out->len > p->cx->limits.max_name_bytes) {
    return bsm_cursor_fail(c, BSM_LIMIT, "value's name of %zu bytes", out->len);
  }
  return BSM_OK;
}

/* The rest of the line, without blanks around it; the cursor stays. */
static bsm_str rest_of_line(parser *p) {
  bsm_str text = p->c.text;
  size_t start = p->c.pos, end = start;
  while (end < text.len && text.data[end] != '\n') end++;
  while (start < end && (text.data[start] == ' ' || text.data[start] == '\t')) {
    start++;
  }
  p->c.pos = end;
  while (end > start && strchr(" \t\r", text.data[end - 1])) end--;
  return (bsm_str){text.data + start, end - start};
}

static void skip_comments(parser *p) {
  while (bsm_cursor_peek(&p->c) == '#') (void)rest_of_line(p);
}

/* "%x : int, %y"; up to anything that is not a value. */
static bsm_status read_typed_names(parser *p, name_vec *out) {
  skip_comments(p);
  if (bsm_cursor_peek(&p->c) != '%') return BSM_OK;
  do {
    typed_name name = {.type = NULL};
    skip_comments(p);
    (void)bsm_cursor_peek(&p->c);
    name.pos = p->c.pos;
    BSM_TRY(read_name(p, &name.name));
    if (bsm_cursor_accept(&p->c, ":")) {
      BSM_TRY(bsm_cursor_type(&p->c, p->cx->types, &name.type));
    }
    if (!bsm_vec_push(p->cx->arena, out, name)) return BSM_FAIL_OOM();
    skip_comments(p);
  } while (bsm_cursor_accept(&p->c, ","));
  return BSM_OK;
}

/* Whether `value` can be used in `block`: defined in it or around it. */
static bool is_visible(const bsm_value *value, const bsm_block *block) {
  while (block && value->node->block != block) {
    block = block->owner ? block->owner->block : NULL;
  }
  return block != NULL;
}

/* The last value of that name that can be used in `block`, or NULL. */
static bsm_value *find_visible(const parser *p, bsm_str name,
                               const bsm_block *block) {
  const definition *d = bsm_strmap_get(&p->values, name);
  while (d && !is_visible(d->value, block)) d = d->before;
  return d ? d->value : NULL;
}

/* "(%x, %y)": values that are defined. */
static bsm_status read_uses(parser *p, bsm_block *block, value_vec *out) {
  BSM_TRY(bsm_cursor_expect(&p->c, "("));
  skip_comments(p);
  if (bsm_cursor_accept(&p->c, ")")) return BSM_OK;
  do {
    bsm_str name;
    skip_comments(p);
    (void)bsm_cursor_peek(&p->c);
    size_t pos = p->c.pos;
    BSM_TRY(read_name(p, &name));
    bsm_value *value = find_visible(p, name, block);
    if (!value) {
      p->c.pos = pos;
      return bsm_cursor_fail(&p->c, BSM_CORRUPT, "%%%.*s is not defined here",
                             (int)(name.len < 200 ? name.len : 200), name.data);
    }
    if (!bsm_vec_push(p->cx->arena, out, value)) return BSM_FAIL_OOM();
    skip_comments(p);
  } while (bsm_cursor_accept(&p->c, ","));
  return bsm_cursor_expect(&p->c, ")");
}

static bool all_digits(bsm_str text) {
  for (size_t i = 0; i < text.len; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
  }
  return true;
}

/* The number of "%12"; MAX_VALUE_NUMBER when it is none or too large. */
static uint32_t value_number(bsm_str name) {
  uint32_t number = 0;
  if (!name.len || !all_digits(name) || (name.len > 1 && name.data[0] == '0')) {
    return MAX_VALUE_NUMBER;
  }
  for (size_t i = 0; i < name.len && number < MAX_VALUE_NUMBER; i++) {
    number = number * 10 + (uint32_t)(name.data[i] - '0');
  }
  return number < MAX_VALUE_NUMBER ? number : MAX_VALUE_NUMBER;
}

/* Binds the name that the text gives to `value`, and the value to the name. */
static bsm_status bind(parser *p, const typed_name *name, bsm_value *value) {
  definition *d = BSM_NEW(p->cx->arena, definition);
  BSM_TRY_ALLOC(d);
  d->value = value;
  d->before = bsm_strmap_get(&p->values, name->name);
  BSM_TRY_ALLOC(bsm_strmap_set(p->cx->arena, &p->values, name->name, d));
  uint32_t number = value_number(name->name);
  if (number < MAX_VALUE_NUMBER) {
    /* Who uses a number again gets a fresh one. */
    if (!d->before) value->id = number;
    return BSM_OK;
  }
  char *copy = bsm_arena_strndup(p->cx->arena, name->name.data, name->name.len);
  BSM_TRY_ALLOC(copy);
  return bsm_value_set_name(p->graph, value, copy);
}

/* Fresh ids start above every number in the text. */
static void reserve_numbers(parser *p) {
  bsm_str text = p->c.text;
  uint32_t next = 0;
  for (size_t i = 0; i < text.len; i++) {
    if (text.data[i] != '%') continue;
    size_t end = i + 1;
    while (end < text.len && is_value_char(text.data[end])) end++;
    uint32_t number = value_number((bsm_str){text.data + i + 1, end - i - 1});
    if (number < MAX_VALUE_NUMBER && number >= next) next = number + 1;
    i = end - 1;
  }
  p->graph->next_value_id = next;
}

/* Numbers are no names of values, but of inputs: arrays bind to them. */
static bsm_status keep_number(parser *p, bsm_str name, bsm_value *input) {
  if (input->debug_name) return BSM_OK;
  input->number_name = bsm_arena_strndup(p->cx->arena, name.data, name.len);
  BSM_TRY_ALLOC(input->number_name);
  return BSM_OK;
}

/* ---- ends of lines ---- */

/* Takes ":number" off the end of `text`; false when there is none. */
static bool take_number(bsm_str *text, uint32_t *out) {
  size_t i = text->len;
  while (i > 0 && text->data[i - 1] >= '0' && text->data[i - 1] <= '9') i--;
  int64_t value;
  if (i == 0 || text->data[i - 1] != ':' ||
      !bsm_parse_i64((bsm_str){text->data + i, text->len - i}, &value) ||
      value > INT32_MAX) {
    return false;
  }
  *out = (uint32_t)value;
  text->len = i - 1;
  return true;
}

/* "/path/functional.py:84:8"; other comments are dropped. */
static bsm_status read_place(parser *p, bsm_str text, bsm_source *source) {
  uint32_t line, col;
  if (!take_number(&text, &col) || !take_number(&text, &line) || !text.len ||
      text.len > p->cx->limits.max_name_bytes) {
    return BSM_OK;
  }
  const char *file = bsm_intern(&p->cx->names, text);
  BSM_TRY_ALLOC(file);
  source->code_file = NULL;
  source->code_line = source->code_col = 0;
  bool python = bsm_str_ends_with(text, BSM_STR(".py")) &&
                !bsm_str_starts_with(text, BSM_STR("code/"));
  if (python) {
    source->python_file = file;
    source->python_line = line;
  } else {
    source->code_file = file;
    source->code_line = line;
    source->code_col = col;
  }
  return BSM_OK;
}

/* The place of `pos` in this text, for nodes that name no other. */
static bsm_source own_place(parser *p, size_t pos) {
  for (; p->counted < pos; p->counted++) {
    if (p->c.text.data[p->counted] == '\n') {
      p->line++;
      p->line_start = p->counted + 1;
    }
  }
  return (bsm_source){.code_file = p->c.name,
                      .code_line = p->line + 1,
                      .code_col = (uint32_t)(pos - p->line_start) + 1};
}

/* ", scope: a/b # file:line:col" up to the end of the line. Without a comment
 * the place is that in this text. */
static bsm_status read_tail(parser *p, node_text *node) {
  size_t pos = p->c.pos, at = pos;
  const bsm_str text = p->c.text;
  /* Looked at before the whole line is: many nodes may share one. */
  while (at < text.len && (text.data[at] == ' ' || text.data[at] == '\t')) at++;
  if (at == text.len || (text.data[at] != ',' && text.data[at] != '#')) {
    return BSM_OK;
  }
  bsm_str rest = rest_of_line(p);
  bsm_str scope = BSM_STR(", scope: ");
  bool has_scope = bsm_str_starts_with(rest, scope);
  if (!has_scope && !(rest.len && rest.data[0] == '#')) {
    p->c.pos = pos;
    return BSM_OK;
  }
  const char *mark = NULL;
  for (size_t i = 0; i < rest.len && !mark; i++) {
    if (rest.data[i] == '#' && (i == 0 || rest.data[i - 1] == ' ')) {
      mark = rest.data + i;
    }
  }
  if (has_scope) {
    bsm_str path = {rest.data + scope.len, rest.len - scope.len};
    if (mark) path.len = (size_t)(mark - path.data);
    while (path.len && path.data[path.len - 1] == ' ') path.len--;
    if (path.len && path.len <= p->cx->limits.max_name_bytes) {
      node->source.scope = bsm_intern(&p->cx->names, path);
      BSM_TRY_ALLOC(node->source.scope);
    }
  }
  if (!mark) return BSM_OK;
  bsm_str place = {mark + 1, rest.len - (size_t)(mark + 1 - rest.data)};
  while (place.len && place.data[0] == ' ') {
    place = (bsm_str){place.data + 1, place.len - 1};
  }
  return read_place(p, place, &node->source);
}

/* ---- nodes ---- */

/* Kinds that the IR defines itself: their outputs follow no schema. */
static bool is_structure(const char *kind) {
  static const char *const kinds[] = {
      "prim::Constant",       "prim::If",
      "prim::Loop",           "prim::ListConstruct",
      "prim::ListUnpack",     "prim::TupleConstruct",
      "prim::TupleUnpack",    "prim::TupleIndex",
      "prim::TupleSlice",     "prim::DictConstruct",
      "prim::GetAttr",        "prim::SetAttr",
      "prim::CallMethod",     "prim::CallFunction",
      "prim::Uninitialized",  "prim::CreateObject",
      "prim::unchecked_cast", "prim::isinstance",
      "prim::PythonOp",
  };
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (strcmp(kind, kinds[i]) == 0) return true;
  }
  return false;
}

/* "aten::add" or "aten::add.Scalar". */
static bsm_status read_kind(parser *p, node_text *node) {
  bsm_cursor *c = &p->c;
  (void)bsm_cursor_peek(c);
  size_t start = node->pos = c->pos;
  bsm_str space = bsm_cursor_name(c, false);
  bsm_str name = {"", 0};
  if (space.len && bsm_cursor_accept(c, "::")) name = bsm_cursor_name(c, false);
  if (!name.len) {
    return bsm_cursor_fail(c, BSM_CORRUPT, "expected 'namespace::operator'");
  }
  bsm_str kind = {c->text.data + start, c->pos - start};
  node->kind = bsm_intern(&p->cx->names, kind);
  BSM_TRY_ALLOC(node->kind);
  if (c->pos >= c->text.len || c->text.data[c->pos] != '.') return BSM_OK;
  c->pos++;
  if (!bsm_cursor_name(c, false).len) {
    return bsm_cursor_fail(c, BSM_CORRUPT, "expected an overload's name");
  }
  bsm_str qualified = {c->text.data + start, c->pos - start};
  BSM_TRY(bsm_schema_table_find(p->cx->schemas, qualified, &node->schema));
  if (node->schema) return BSM_OK;
  c->pos = start;
  return bsm_cursor_fail(c, BSM_CORRUPT, "unknown overload '%.*s'",
                         (int)(qualified.len < 200 ? qualified.len : 200),
                         qualified.data);
}

/* A literal with a point or an exponent is a float, also where "int" is
 * written, as PyTorch reads it. (It prints some floats without a point: there
 * the type says what is meant.) */
static bsm_status read_constant(parser *p, node_text *node, bsm_node_attr *attr,
                                const bsm_type **placeholder) {
  const bsm_type *type = node->outputs.items[0].type;
  BSM_TRY(bsm_literal_read(&p->c, p->cx, type, &attr->value, placeholder));
  if (type && type->kind == BSM_TYPE_INT &&
      attr->value.tag == BSM_IVALUE_DOUBLE) {
    node->outputs.items[0].type = bsm_type_simple(p->cx->types, BSM_TYPE_FLOAT);
  }
  return BSM_OK;
}

static bsm_status read_attrs(parser *p, node_text *node) {
  if (!bsm_cursor_accept(&p->c, "[")) return BSM_OK;
  const bool constant =
      strcmp(node->kind, "prim::Constant") == 0 && node->outputs.len == 1;
  do {
    bsm_str name = bsm_cursor_name(&p->c, false);
    if (!name.len) {
      return bsm_cursor_fail(&p->c, BSM_CORRUPT,
                             "expected an attribute's name");
    }
    bsm_node_attr attr = {.name = bsm_intern(&p->cx->names, name)};
    BSM_TRY_ALLOC(attr.name);
    BSM_TRY(bsm_cursor_expect(&p->c, "="));
    size_t pos = p->c.pos;
    const bsm_type *placeholder;
    BSM_TRY(constant ? read_constant(p, node, &attr, &placeholder)
                     : bsm_literal_read(&p->c, p->cx, NULL, &attr.value,
                                        &placeholder));
    if (placeholder && !constant) {
      p->c.pos = pos;
      return bsm_cursor_fail(&p->c, BSM_UNSUPPORTED,
                             "tensor whose data the text does not hold");
    }
    if (placeholder) node->placeholder = placeholder;
    if (!bsm_vec_push(p->cx->arena, &node->attrs, attr)) return BSM_FAIL_OOM();
  } while (bsm_cursor_accept(&p->c, ","));
  return bsm_cursor_expect(&p->c, "]");
}

/* Matches by types alone did not help: as a call that may leave out trailing
 * defaults and need conversions. Keyword-only formals are printed in place. */
static bsm_status match_call(parser *p, const node_text *node,
                             const bsm_schema *const *overloads, size_t count,
                             bsm_schema_match *match, bool *matched) {
  size_t n = node->inputs.len;
  bsm_match_arg *args = BSM_NEW_ARRAY(p->cx->arena, bsm_match_arg, n + 1);
  BSM_TRY_ALLOC(args);
  bsm_match_call call = {p->cx->types, p->cx->arena, args, n};
  *matched = false;
  for (int pass = 0; pass < 2 && !*matched; pass++) {
    for (size_t i = 0; i < count && !*matched; i++) {
      const bsm_schema *schema = overloads[i];
      if (n > schema->arg_count && !schema->is_vararg) continue;
      for (size_t k = 0; k < n; k++) {
        bool keyword = k < schema->arg_count && schema->args[k].kwarg_only;
        args[k] = (bsm_match_arg){.name = keyword ? schema->args[k].name : NULL,
                                  .type = node->inputs.items[k]->type};
      }
      BSM_TRY(bsm_schema_match_one(&call, schema, pass == 1, match, matched));
    }
  }
  return BSM_OK;
}

/* No overload fits: the message of overload resolution says why. */
static bsm_status fail_match(parser *p, const node_text *node,
                             const bsm_schema *const *overloads, size_t count) {
  bsm_match_arg *args =
      BSM_NEW_ARRAY(p->cx->arena, bsm_match_arg, node->inputs.len + 1);
  BSM_TRY_ALLOC(args);
  for (size_t i = 0; i < node->inputs.len; i++) {
    args[i].type = node->inputs.items[i]->type;
  }
  bsm_match_call call = {p->cx->types, p->cx->arena, args, node->inputs.len};
  bsm_schema_match match;
  bsm_status status =
      bsm_schema_match_overloads(&call, overloads, count, &match);
  p->c.pos = node->pos;
  if (!status) {
    return bsm_cursor_fail(&p->c, BSM_CORRUPT,
                           "the inputs fit no overload of %s", node->kind);
  }
  uint32_t line, col;
  bsm_cursor_place(&p->c, node->pos, &line, &col);
  return bsm_status_note(status, "at %s:%u:%u", p->c.name, line, col);
}

static bsm_status copy_attrs(const node_text *text, bsm_node *node) {
  for (size_t i = 0; i < text->attrs.len; i++) {
    BSM_TRY(bsm_node_set_attr(node, text->attrs.items[i].name,
                              text->attrs.items[i].value));
  }
  return BSM_OK;
}

static bsm_status plain_node(parser *p, const node_text *text, bsm_block *block,
                             bsm_node **out) {
  BSM_TRY(bsm_node_create(p->graph, text->kind, out));
  (*out)->source = text->source;
  for (size_t i = 0; i < text->inputs.len; i++) {
    BSM_TRY(bsm_node_add_input(*out, text->inputs.items[i]));
  }
  BSM_TRY(copy_attrs(text, *out));
  bsm_node_append(block, *out);
  return BSM_OK;
}

/* The type of output i, which the text may leave out. */
static const bsm_type *output_type(parser *p, const node_text *text, size_t i,
                                   const bsm_type *const *returns,
                                   size_t return_count) {
  if (text->outputs.items[i].type) return text->outputs.items[i].type;
  if (returns && i < return_count) return returns[i];
  return bsm_type_simple(p->cx->types, BSM_TYPE_TENSOR);
}

static bsm_status add_outputs(parser *p, const node_text *text, bsm_node *node,
                              const bsm_type *const *returns,
                              size_t return_count) {
  for (size_t i = 0; i < text->outputs.len; i++) {
    bsm_value *value;
    BSM_TRY(bsm_node_add_output(
        node, output_type(p, text, i, returns, return_count), &value));
  }
  return BSM_OK;
}

/* A node of an operator that the schema table knows. */
static bsm_status schema_node(parser *p, node_text *text, bsm_block *block,
                              const bsm_schema *const *overloads, size_t count,
                              bsm_node **out) {
  size_t n = text->inputs.len;
  const bsm_type **types = BSM_NEW_ARRAY(p->cx->arena, const bsm_type *, n + 1);
  const bsm_type **returns = NULL;
  BSM_TRY_ALLOC(types);
  for (size_t i = 0; i < n; i++) types[i] = text->inputs.items[i]->type;
  const bsm_schema *schema;
  BSM_TRY(bsm_schema_match_node(p->cx->types, p->cx->arena, types, n, overloads,
                                count, &schema, &returns));
  if (schema) {
    BSM_TRY(plain_node(p, text, block, out));
    (*out)->schema = schema;
    BSM_TRY(add_outputs(p, text, *out, returns, schema->return_count));
  } else {
    bsm_schema_match match;
    bool matched;
    BSM_TRY(match_call(p, text, overloads, count, &match, &matched));
    if (!matched) return fail_match(p, text, overloads, count);
    schema = match.schema;
    BSM_TRY(bsm_schema_match_build(p->graph, &match, text->inputs.items, block,
                                   NULL, &text->source, out));
    BSM_TRY(copy_attrs(text, *out));
    for (size_t i = 0; i < text->outputs.len && i < (*out)->outputs.len; i++) {
      (*out)->outputs.items[i]->type =
          output_type(p, text, i, match.return_types, schema->return_count);
    }
  }
  if (!schema->is_varret && text->outputs.len != schema->return_count) {
    p->c.pos = text->pos;
    return bsm_cursor_fail(&p->c, BSM_CORRUPT, "%zu outputs, but %s has %zu",
                           text->outputs.len, schema->qualified,
                           schema->return_count);
  }
  return BSM_OK;
}

/* A constant without data: an input of the graph takes its place. */
static bsm_status add_placeholder(parser *p, const node_text *text) {
  bsm_value *value;
  BSM_TRY(bsm_block_add_input(p->graph->block, text->placeholder, &value));
  BSM_TRY(bind(p, &text->outputs.items[0], value));
  return keep_number(p, text->outputs.items[0].name, value);
}

static bsm_status read_blocks(parser *p, bsm_node *node);

static bsm_status read_node(parser *p, bsm_block *block) {
  (void)bsm_cursor_peek(&p->c);
  node_text text = {.source = own_place(p, p->c.pos)};
  BSM_TRY(read_typed_names(p, &text.outputs));
  BSM_TRY(bsm_cursor_expect(&p->c, "="));
  BSM_TRY(read_kind(p, &text));
  BSM_TRY(read_attrs(p, &text));
  BSM_TRY(read_uses(p, block, &text.inputs));
  BSM_TRY(read_tail(p, &text));
  if (text.placeholder) return add_placeholder(p, &text);

  const bsm_schema *const *overloads = &text.schema;
  size_t count = text.schema ? 1 : 0;
  if (!count && !is_structure(text.kind)) {
    BSM_TRY(bsm_schema_table_overloads(p->cx->schemas, bsm_str_of(text.kind),
                                       &overloads, &count));
  }
  bsm_node *node;
  if (count) {
    BSM_TRY(schema_node(p, &text, block, overloads, count, &node));
    BSM_TRY(read_blocks(p, node));
  } else {
    BSM_TRY(plain_node(p, &text, block, &node));
    BSM_TRY(read_blocks(p, node));
    BSM_TRY(add_outputs(p, &text, node, NULL, 0));
  }
  for (size_t i = 0; i < text.outputs.len; i++) {
    BSM_TRY(bind(p, &text.outputs.items[i], node->outputs.items[i]));
  }
  return BSM_OK;
}

/* ---- blocks ---- */

/* Inputs of a block or the graph. */
static bsm_status read_inputs(parser *p, bsm_block *block) {
  name_vec names = {0};
  BSM_TRY(bsm_cursor_expect(&p->c, "("));
  BSM_TRY(read_typed_names(p, &names));
  BSM_TRY(bsm_cursor_expect(&p->c, ")"));
  BSM_TRY(bsm_cursor_expect(&p->c, ":"));
  for (size_t i = 0; i < names.len; i++) {
    const bsm_type *type = names.items[i].type;
    bsm_value *value;
    if (!type) type = bsm_type_simple(p->cx->types, BSM_TYPE_TENSOR);
    BSM_TRY(bsm_block_add_input(block, type, &value));
    BSM_TRY(bind(p, &names.items[i], value));
    if (block == p->graph->block) {
      BSM_TRY(keep_number(p, names.items[i].name, value));
    }
  }
  return BSM_OK;
}

static bsm_status read_outputs(parser *p, bsm_block *block) {
  value_vec outputs = {0};
  BSM_TRY(read_uses(p, block, &outputs));
  for (size_t i = 0; i < outputs.len; i++) {
    BSM_TRY(bsm_block_add_output(block, outputs.items[i]));
  }
  return BSM_OK;
}

/* Nodes up to `end` ("->" or "return"), and the outputs after it. */
static bsm_status read_body(parser *p, bsm_block *block, const char *end) {
  skip_comments(p);
  while (bsm_cursor_peek(&p->c) == '%' || bsm_cursor_peek(&p->c) == '=') {
    BSM_TRY(read_node(p, block));
    skip_comments(p);
  }
  BSM_TRY(bsm_cursor_expect(&p->c, end));
  return read_outputs(p, block);
}

/* "block0(...)": false when something else is next. */
static bool accept_block(parser *p) {
  size_t start;
  (void)bsm_cursor_peek(&p->c);
  start = p->c.pos;
  bsm_str word = bsm_cursor_name(&p->c, false);
  if (word.len > 5 && bsm_str_starts_with(word, BSM_STR("block")) &&
      all_digits((bsm_str){word.data + 5, word.len - 5})) {
    return true;
  }
  p->c.pos = start;
  return false;
}

static bsm_status read_blocks(parser *p, bsm_node *node) {
  for (;;) {
    skip_comments(p);
    if (!accept_block(p)) return BSM_OK;
    bsm_block *block;
    BSM_TRY(bsm_cursor_enter(&p->c));
    BSM_TRY(bsm_node_add_block(node, &block));
    BSM_TRY(read_inputs(p, block));
    BSM_TRY(read_body(p, block, "->"));
    bsm_cursor_leave(&p->c);
  }
}

static bsm_status read_graph(parser *p) {
  skip_comments(p);
  if (!bsm_cursor_word(&p->c, "graph")) {
    return bsm_cursor_fail(&p->c, BSM_CORRUPT, "expected 'graph('");
  }
  reserve_numbers(p);
  BSM_TRY(read_inputs(p, p->graph->block));
  BSM_TRY(read_body(p, p->graph->block, "return"));
  skip_comments(p);
  if (bsm_cursor_word(&p->c, "with")) {
    return bsm_cursor_fail(&p->c, BSM_UNSUPPORTED, "subgraphs");
  }
  if (bsm_cursor_peek(&p->c) != '\0' || p->c.pos < p->c.text.len) {
    return bsm_cursor_fail(&p->c, BSM_CORRUPT, "text after the graph");
  }
  return BSM_OK;
}

bsm_status bsm_graph_parse(bsm_ir_ctx *cx, bsm_str text, const char *name,
                           bsm_graph **out) {
  *out = NULL;
  if (text.len > cx->limits.max_source_bytes) {
    return BSM_FAIL(BSM_LIMIT, "%s: text of %zu bytes", name, text.len);
  }
  name = bsm_intern(&cx->names, bsm_str_of(name)); /* nodes refer to it */
  BSM_TRY_ALLOC(name);
  parser p = {.c = {.text = text,
                    .name = name,
                    .max_depth = (size_t)cx->limits.max_depth,
                    .max_string = (size_t)cx->limits.max_string_bytes,
                    .arena = cx->arena},
              .cx = cx};
  BSM_TRY(bsm_graph_create(cx, &p.graph));
  BSM_TRY(read_graph(&p));
  BSM_TRY_NOTE(bsm_graph_verify(p.graph), "in %s", name);
  *out = p.graph;
  return BSM_OK;
}
