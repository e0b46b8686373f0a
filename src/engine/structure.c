/* SPDX-License-Identifier: Apache-2.0 */
/* Structures: reading, copying, checking and printing trees. */
#include "engine/structure.h"

#include <inttypes.h>
#include <string.h>

#include "base/options.h"

bsm_status bsm_structure_describe(const bsm_structure *node,
                                  bsm_structure_info *out) {
  if (node) return BSM_OUT(bsm_structure_info, out, node->info);
  bsm_structure none;
  bsm_structure_init(&none, BSM_STRUCTURE_NONE);
  return BSM_OUT(bsm_structure_info, out, none.info);
}

const bsm_structure *bsm_structure_child(const bsm_structure *node,
                                         size_t index) {
  return node && index < node->info.child_count ? &node->children[index] : NULL;
}

/* Finds the child whose key `keys` begins with, up to a dot or the end. A key
 * may itself have dots, so the longest match is taken. */
static const bsm_structure *step(const bsm_structure *node, const char **keys) {
  const bsm_structure *best = NULL;
  size_t best_length = 0;
  for (size_t i = 0; i < node->info.child_count; i++) {
    const bsm_structure_info *info = &node->children[i].info;
    const size_t n = info->key_length;
    if (strncmp(*keys, info->key, n) != 0 || strlen(*keys) < n) continue;
    if ((*keys)[n] != '.' && (*keys)[n] != '\0') continue;
    if (best && n <= best_length) continue;
    best = &node->children[i];
    best_length = n;
  }
  *keys += best_length;
  return best;
}

const bsm_structure *bsm_structure_find(const bsm_structure *root,
                                        const char *keys) {
  if (!root || !keys) return NULL;
  if (!*keys) return root;
  const bsm_structure *node = step(root, &keys);
  while (node && *keys == '.') {
    keys++;
    node = step(node, &keys);
  }
  return node;
}

void bsm_structure_init(bsm_structure *node, bsm_structure_kind kind) {
  *node = (bsm_structure){.info = {.kind = kind,
                                   .type_name = "",
                                   .key = "",
                                   .path = "",
                                   .string = "",
                                   .binding = BSM_NO_BINDING,
                                   .dtype = BSM_DTYPE_UNDEFINED}};
}

/* ---- copies ---- */

static bsm_status copy_bytes(bsm_arena *arena, const char **text,
                             size_t length) {
  *text = bsm_arena_strndup(arena, *text, length);
  return *text ? BSM_OK : BSM_FAIL_OOM();
}

static bsm_status too_deep(void) {
  return BSM_FAIL(BSM_LIMIT, "a structure nests more than %d deep",
                  BSM_STRUCTURE_MAX_DEPTH);
}

static bsm_status copy(bsm_arena *arena, const bsm_structure *from,
                       size_t depth, bsm_structure *to) {
  if (depth > BSM_STRUCTURE_MAX_DEPTH) return too_deep();
  *to = *from;
  bsm_structure_info *info = &to->info;
  BSM_TRY(copy_bytes(arena, &info->type_name, strlen(info->type_name)));
  BSM_TRY(copy_bytes(arena, &info->path, strlen(info->path)));
  BSM_TRY(copy_bytes(arena, &info->key, info->key_length));
  BSM_TRY(copy_bytes(arena, &info->string, info->string_length));
  to->children = BSM_NEW_ARRAY(arena, bsm_structure, info->child_count + 1);
  BSM_TRY_ALLOC(to->children);
  for (size_t i = 0; i < info->child_count; i++) {
    BSM_TRY(copy(arena, &from->children[i], depth + 1, &to->children[i]));
  }
  return BSM_OK;
}

bsm_status bsm_structure_copy(bsm_arena *arena, const bsm_structure *from,
                              bsm_structure **out) {
  *out = BSM_NEW(arena, bsm_structure);
  BSM_TRY_ALLOC(*out);
  return copy(arena, from, 0, *out);
}

/* ---- checks ---- */

static bool has_children(bsm_structure_kind kind) {
  return kind >= BSM_STRUCTURE_LIST && kind <= BSM_STRUCTURE_ARGUMENTS;
}

static bool key_fits(bsm_structure_kind parent, bsm_structure_key key) {
  switch (parent) {
    case BSM_STRUCTURE_LIST:
    case BSM_STRUCTURE_TUPLE:
      return key == BSM_STRUCTURE_KEY_POSITION;
    case BSM_STRUCTURE_NAMED_TUPLE:
    case BSM_STRUCTURE_OBJECT:
    case BSM_STRUCTURE_ARGUMENTS:
      return key == BSM_STRUCTURE_KEY_NAME;
    case BSM_STRUCTURE_DICT:
      return key >= BSM_STRUCTURE_KEY_STRING && key <= BSM_STRUCTURE_KEY_OTHER;
    default:
      return false;
  }
}

typedef struct checker {
  const int32_t *ranks;
  size_t count;
  bool *seen;
  size_t run_time; /* nodes of that kind */
  const char *what;
} checker;

static bsm_status check_leaf(const checker *c, const bsm_structure_info *info) {
  const size_t b = info->binding;
  const bool number =
      info->kind >= BSM_STRUCTURE_INT && info->kind <= BSM_STRUCTURE_BOOL;
  if (info->child_count) {
    return BSM_FAIL(BSM_CORRUPT, "%s \"%s\" has parts but is no container",
                    c->what, info->path);
  }
  if (b == BSM_NO_BINDING) {
    if (info->is_fixed || info->kind == BSM_STRUCTURE_NONE) return BSM_OK;
    return BSM_FAIL(BSM_CORRUPT, "%s \"%s\" has neither value nor binding",
                    c->what, info->path);
  }
  if (info->kind != BSM_STRUCTURE_TENSOR && !number) {
    return BSM_FAIL(BSM_CORRUPT, "%s \"%s\" is no tensor but has a binding",
                    c->what, info->path);
  }
  if (b >= c->count || c->seen[b] || (number && c->ranks[b] > 0)) {
    return BSM_FAIL(BSM_CORRUPT,
                    "%s \"%s\" names binding %zu of %zu, which is %s", c->what,
                    info->path, b, c->count,
                    b >= c->count ? "not there"
                    : c->seen[b]  ? "named twice"
                                  : "no number");
  }
  c->seen[b] = true;
  return BSM_OK;
}

/* How many children a type has; SIZE_MAX: any number; 0: it is a leaf. */
static size_t type_arity(bsm_structure_kind kind) {
  switch (kind) {
    case BSM_STRUCTURE_LIST:
    case BSM_STRUCTURE_OPTIONAL:
      return 1;
    case BSM_STRUCTURE_DICT:
      return 2;
    case BSM_STRUCTURE_TUPLE:
    case BSM_STRUCTURE_NAMED_TUPLE:
      return SIZE_MAX;
    default:
      return 0;
  }
}

static bool is_type(bsm_structure_kind kind) {
  return kind <= BSM_STRUCTURE_DICT || kind == BSM_STRUCTURE_OPTIONAL ||
         kind == BSM_STRUCTURE_ANY;
}

static bsm_status check_type(const checker *c, const bsm_structure *node,
                             size_t depth) {
  const bsm_structure_info *info = &node->info;
  const size_t arity = type_arity(info->kind);
  if (depth > BSM_STRUCTURE_MAX_DEPTH) return too_deep();
  if (!is_type(info->kind) || info->is_fixed ||
      info->binding != BSM_NO_BINDING ||
      (arity != SIZE_MAX && info->child_count != arity)) {
    return BSM_FAIL(BSM_CORRUPT,
                    "%s \"%s\" has no proper type: kind %d with %zu parts",
                    c->what, info->path, (int)info->kind, info->child_count);
  }
  for (size_t i = 0; i < info->child_count; i++) {
    const bsm_structure_info *child = &node->children[i].info;
    const bool fits = arity == SIZE_MAX
                          ? key_fits(info->kind, child->key_kind)
                          : child->key_kind == BSM_STRUCTURE_KEY_TYPE;
    if (!fits) {
      return BSM_FAIL(BSM_CORRUPT, "%s \"%s\": key kind %d in a type of %d",
                      c->what, info->path, (int)child->key_kind,
                      (int)info->kind);
    }
    BSM_TRY(check_type(c, &node->children[i], depth + 1));
  }
  return BSM_OK;
}

static bsm_status check_run_time(checker *c, const bsm_structure *node,
                                 size_t depth) {
  const bsm_structure_info *info = &node->info;
  c->run_time++;
  if (info->is_fixed || info->binding != BSM_NO_BINDING ||
      info->child_count != 1 ||
      node->children[0].info.key_kind != BSM_STRUCTURE_KEY_TYPE) {
    return BSM_FAIL(BSM_CORRUPT, "%s \"%s\" is left to the run without a type",
                    c->what, info->path);
  }
  return check_type(c, &node->children[0], depth + 1);
}

static bsm_status check(checker *c, const bsm_structure *node, size_t depth) {
  const bsm_structure_info *info = &node->info;
  if (depth > BSM_STRUCTURE_MAX_DEPTH) return too_deep();
  if (info->kind == BSM_STRUCTURE_RUN_TIME) {
    return check_run_time(c, node, depth);
  }
  if (info->kind > BSM_STRUCTURE_RUN_TIME) {
    return BSM_FAIL(BSM_CORRUPT, "%s \"%s\" is a type, not a value", c->what,
                    info->path);
  }
  if (!has_children(info->kind)) return check_leaf(c, info);
  if (info->binding != BSM_NO_BINDING) {
    return BSM_FAIL(BSM_CORRUPT, "%s \"%s\" is a container with a binding",
                    c->what, info->path);
  }
  for (size_t i = 0; i < info->child_count; i++) {
    const bsm_structure_info *child = &node->children[i].info;
    if (!key_fits(info->kind, child->key_kind) ||
        (child->key_kind == BSM_STRUCTURE_KEY_POSITION &&
         child->int_key != (int64_t)i)) {
      return BSM_FAIL(BSM_CORRUPT, "%s \"%s\": key kind %d in a parent of %d",
                      c->what, child->path, (int)child->key_kind,
                      (int)info->kind);
    }
    BSM_TRY(check(c, &node->children[i], depth + 1));
  }
  return BSM_OK;
}

bsm_status bsm_structure_verify(const bsm_structure *root, const int32_t *ranks,
                                size_t binding_count, size_t value_count,
                                const char *what) {
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  checker c = {ranks, binding_count,
               BSM_NEW_ARRAY(&arena, bool, binding_count + 1), 0, what};
  bsm_status status = c.seen ? check(&c, root, 0) : BSM_FAIL_OOM();
  for (size_t i = 0; i < binding_count && !status; i++) {
    if (!c.seen[i]) {
      status = BSM_FAIL(BSM_CORRUPT, "the structure of the %ss lacks %s %zu",
                        what, what, i);
    }
  }
  if (!status && c.run_time != value_count) {
    status = BSM_FAIL(BSM_CORRUPT,
                      "the structure of the %ss leaves %zu values to the run, "
                      "which gives %zu",
                      what, c.run_time, value_count);
  }
  bsm_arena_destroy(&arena);
  return status;
}

/* ---- text ---- */

static void print_leaf(bsm_text *text, const bsm_structure_info *info) {
  static const char *const names[] = {"None", "Tensor", "int",  "float",
                                      "bool", "str",    "other"};
  if (info->binding != BSM_NO_BINDING) {
    const bool known = info->kind <= BSM_STRUCTURE_OTHER;
    bsm_text_printf(text, "%s -> %zu", known ? names[info->kind] : "?",
                    info->binding);
    if (!info->is_fixed) return;
    bsm_text_puts(text, " = ");
  }
  switch (info->kind) {
    case BSM_STRUCTURE_TENSOR:
      bsm_text_printf(text, "constant %s %s", bsm_dtype_name(info->dtype),
                      bsm_dims_str(info->dims));
      break;
    case BSM_STRUCTURE_INT:
      bsm_text_printf(text, "%" PRId64, info->int_value);
      break;
    case BSM_STRUCTURE_FLOAT:
      bsm_text_double(text, info->float_value);
      break;
    case BSM_STRUCTURE_BOOL:
      bsm_text_puts(text, info->bool_value ? "True" : "False");
      break;
    case BSM_STRUCTURE_STRING:
      bsm_text_quoted(text, (bsm_str){info->string, info->string_length});
      break;
    case BSM_STRUCTURE_OTHER:
      bsm_text_append(text, (bsm_str){info->string, info->string_length});
      break;
    default:
      bsm_text_puts(text, "None");
  }
}

static void print_key(bsm_text *text, const bsm_structure_info *info) {
  const bsm_str key = {info->key, info->key_length};
  switch (info->key_kind) {
    case BSM_STRUCTURE_KEY_NONE:
    case BSM_STRUCTURE_KEY_POSITION:
      break;
    case BSM_STRUCTURE_KEY_NAME:
      bsm_text_append(text, key);
      bsm_text_puts(text, "=");
      break;
    case BSM_STRUCTURE_KEY_STRING:
      bsm_text_quoted(text, key);
      bsm_text_puts(text, ": ");
      break;
    default:
      bsm_text_append(text, key);
      bsm_text_puts(text, ": ");
  }
}

/* Prints the name of a class without its module. */
static const char *short_name(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot ? dot + 1 : name;
}

static void print_type(bsm_text *text, const bsm_structure *type,
                       size_t depth) {
  static const char *const names[] = {"None", "Tensor", "int",  "float",
                                      "bool", "str",    "other"};
  const bsm_structure_info *info = &type->info;
  if (info->kind <= BSM_STRUCTURE_OTHER) {
    bsm_text_puts(text, names[info->kind]);
    return;
  }
  const char *name = info->kind == BSM_STRUCTURE_LIST       ? "List"
                     : info->kind == BSM_STRUCTURE_DICT     ? "Dict"
                     : info->kind == BSM_STRUCTURE_TUPLE    ? "Tuple"
                     : info->kind == BSM_STRUCTURE_OPTIONAL ? "Optional"
                                                            : "Any";
  if (info->kind == BSM_STRUCTURE_NAMED_TUPLE) {
    name = short_name(info->type_name);
  }
  bsm_text_puts(text, name);
  if (!type_arity(info->kind) || info->kind == BSM_STRUCTURE_NAMED_TUPLE ||
      depth > BSM_STRUCTURE_MAX_DEPTH) {
    return;
  }
  bsm_text_puts(text, "[");
  for (size_t i = 0; i < info->child_count; i++) {
    if (i) bsm_text_puts(text, ", ");
    print_type(text, &type->children[i], depth + 1);
  }
  bsm_text_puts(text, "]");
}

static void print(bsm_text *text, const bsm_structure *node, size_t depth) {
  static const char *const brackets[] = {"[]", "()", "()", "{}", "()", "()"};
  const bsm_structure_info *info = &node->info;
  if (info->kind == BSM_STRUCTURE_RUN_TIME && info->child_count) {
    print_type(text, &node->children[0], depth + 1);
    bsm_text_puts(text, " -> ?");
    return;
  }
  if (info->key_kind == BSM_STRUCTURE_KEY_TYPE) {
    print_type(text, node, depth);
    return;
  }
  if (!has_children(info->kind) || depth > BSM_STRUCTURE_MAX_DEPTH) {
    print_leaf(text, info);
    return;
  }
  const char *pair = brackets[info->kind - BSM_STRUCTURE_LIST];
  /* A method has its path. */
  bsm_text_puts(text, info->kind == BSM_STRUCTURE_ARGUMENTS
                          ? info->type_name
                          : short_name(info->type_name));
  bsm_text_append(text, (bsm_str){pair, 1});
  for (size_t i = 0; i < info->child_count; i++) {
    if (i) bsm_text_puts(text, ", ");
    print_key(text, &node->children[i].info);
    print(text, &node->children[i], depth + 1);
  }
  const bool single =
      info->kind == BSM_STRUCTURE_TUPLE && info->child_count == 1;
  bsm_text_puts(text, single ? "," : "");
  bsm_text_append(text, (bsm_str){pair + 1, 1});
}

void bsm_structure_print(bsm_text *text, const bsm_structure *node) {
  print(text, node, 0);
}
