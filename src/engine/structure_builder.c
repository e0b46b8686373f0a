/* SPDX-License-Identifier: Apache-2.0 */
/* Fills in the nodes of a structure: kinds, keys, paths, bindings. */
#include "engine/structure_builder.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---- */

/* Keys come from the model. A path takes at most MAX_KEY_IN_PATH bytes of each,
 * and no more keys once it is longer than MAX_PATH_LENGTH. */
enum { MAX_KEY_IN_PATH = 128, MAX_PATH_LENGTH = 2048 };

/* The child's path: keys without control characters, never empty. */
static const char *path_of(bsm_structure_builder *b,
                           const bsm_structure_info *parent, bsm_str key,
                           bool position) {
  const bool root = parent->key_kind == BSM_STRUCTURE_KEY_NONE;
  bsm_text text;
  if (strlen(parent->path) > MAX_PATH_LENGTH) return parent->path;
  bsm_text_init(&text, b->arena);
  if (key.len > MAX_KEY_IN_PATH) key.len = MAX_KEY_IN_PATH;
  if (root && position && b->outputs) {
    bsm_text_puts(&text, "output_");
  } else if (!root) {
    bsm_text_printf(&text, "%s.", parent->path);
  }
  for (size_t i = 0; i < key.len; i++) {
    const unsigned char c = (unsigned char)key.data[i];
    const char clean = c < 0x20 || c == 0x7f ? '_' : (char)c;
    bsm_text_append(&text, (bsm_str){&clean, 1});
  }
  if (!key.len) bsm_text_puts(&text, "_");
  return text.failed ? NULL : text.data;
}

static bsm_status take(bsm_structure_builder *b, const char *name,
                       uintptr_t next) {
  BSM_TRY_ALLOC(
      bsm_strmap_set(b->arena, &b->taken, bsm_str_of(name), (void *)next));
  return BSM_OK;
}

bsm_status bsm_structure_reserve(bsm_structure_builder *b, const char *name) {
  return take(b, name, 2);
}

bsm_status bsm_structure_add(bsm_structure_builder *b,
                             bsm_structure_info *info) {
  info->binding = b->names.len;
  BSM_TRY_ALLOC(bsm_vec_push(b->arena, &b->names, info->path));
  return BSM_OK;
}

bsm_status bsm_structure_bind(bsm_structure_builder *b,
                              bsm_structure_info *info) {
  const char *base = info->path;
  uintptr_t next = (uintptr_t)bsm_strmap_get(&b->taken, bsm_str_of(base));
  if (next) {
    do {
      info->path = bsm_arena_printf(b->arena, "%s_%zu", base, (size_t)next++);
      BSM_TRY_ALLOC(info->path);
    } while (bsm_strmap_get(&b->taken, bsm_str_of(info->path)));
    BSM_TRY(take(b, base, next));
  }
  BSM_TRY(take(b, info->path, 2));
  return bsm_structure_add(b, info);
}

/* ---- keys ---- */

bsm_status bsm_structure_set_key(bsm_structure_builder *b,
                                 const bsm_structure_info *parent,
                                 bsm_structure_key kind, bsm_str key,
                                 bsm_structure_info *info) {
  char *copy = bsm_arena_strndup(b->arena, key.data, key.len);
  BSM_TRY_ALLOC(copy);
  info->key_kind = kind;
  info->key = copy;
  info->key_length = key.len;
  info->path = path_of(b, parent, key, kind == BSM_STRUCTURE_KEY_POSITION);
  BSM_TRY_ALLOC(info->path);
  return BSM_OK;
}

bsm_status bsm_structure_set_position(bsm_structure_builder *b,
                                      const bsm_structure_info *parent,
                                      size_t position,
                                      bsm_structure_info *info) {
  char number[24];
  const int length = snprintf(number, sizeof(number), "%zu", position);
  info->int_key = (int64_t)position;
  return bsm_structure_set_key(b, parent, BSM_STRUCTURE_KEY_POSITION,
                               (bsm_str){number, (size_t)length}, info);
}

/* The text of a value that has no kind of its own in structures. */
static bsm_status text_of(bsm_structure_builder *b, const bsm_ivalue *value,
                          bsm_str *out) {
  bsm_text text;
  bsm_text_init(&text, b->arena);
  if (value->tag == BSM_IVALUE_TENSOR) {
    bsm_text_puts(&text, "Tensor");
  } else if (value->tag == BSM_IVALUE_DOUBLE) {
    bsm_text_double(&text, value->u.d);
  } else {
    bsm_iv_print(&text, value);
  }
  if (text.failed) return BSM_FAIL_OOM();
  *out = (bsm_str){text.data, text.len};
  return BSM_OK;
}

bsm_status bsm_structure_set_dict_key(bsm_structure_builder *b,
                                      const bsm_structure_info *parent,
                                      const bsm_ivalue *key,
                                      bsm_structure_info *info) {
  bsm_str text;
  bsm_structure_key kind = BSM_STRUCTURE_KEY_OTHER;
  switch (key->tag) {
    case BSM_IVALUE_STRING:
      return bsm_structure_set_key(b, parent, BSM_STRUCTURE_KEY_STRING,
                                   *key->u.s, info);
    case BSM_IVALUE_INT:
      kind = BSM_STRUCTURE_KEY_INT;
      info->int_key = key->u.i;
      break;
    case BSM_IVALUE_BOOL:
      kind = BSM_STRUCTURE_KEY_BOOL;
      info->int_key = key->u.b;
      break;
    case BSM_IVALUE_DOUBLE:
      kind = BSM_STRUCTURE_KEY_FLOAT;
      info->float_key = key->u.d;
      break;
    default:
      break;
  }
  BSM_TRY(text_of(b, key, &text));
  return bsm_structure_set_key(b, parent, kind, text, info);
}

/* ---- nodes ---- */

bsm_status bsm_structure_open(bsm_structure_builder *b, bsm_structure *node,
                              bsm_structure_kind kind, size_t count) {
  node->info.kind = kind;
  node->info.child_count = count;
  node->children = BSM_NEW_ARRAY(b->arena, bsm_structure, count + 1);
  BSM_TRY_ALLOC(node->children);
  for (size_t i = 0; i < count; i++) {
    bsm_structure_init(&node->children[i], BSM_STRUCTURE_NONE);
  }
  return BSM_OK;
}

bsm_status bsm_structure_set_text(bsm_structure_builder *b,
                                  bsm_structure_kind kind, bsm_str text,
                                  bsm_structure_info *info) {
  info->is_fixed = true;
  info->kind = kind;
  info->string = bsm_arena_strndup(b->arena, text.data, text.len);
  BSM_TRY_ALLOC(info->string);
  info->string_length = text.len;
  return BSM_OK;
}

bsm_status bsm_structure_set_value(bsm_structure_builder *b,
                                   const bsm_ivalue *value,
                                   bsm_structure_info *info) {
  bsm_str text;
  info->is_fixed = true;
  switch (value->tag) {
    case BSM_IVALUE_NONE:
      info->kind = BSM_STRUCTURE_NONE;
      return BSM_OK;
    case BSM_IVALUE_INT:
      info->kind = BSM_STRUCTURE_INT;
      info->int_value = value->u.i;
      return BSM_OK;
    case BSM_IVALUE_DOUBLE:
      info->kind = BSM_STRUCTURE_FLOAT;
      info->float_value = value->u.d;
      return BSM_OK;
    case BSM_IVALUE_BOOL:
      info->kind = BSM_STRUCTURE_BOOL;
      info->bool_value = value->u.b;
      return BSM_OK;
    case BSM_IVALUE_TENSOR:
      info->kind = BSM_STRUCTURE_TENSOR;
      info->dtype = value->u.tensor->dtype;
      info->dims = value->u.tensor->sizes;
      return BSM_OK;
    case BSM_IVALUE_STRING:
      return bsm_structure_set_text(b, BSM_STRUCTURE_STRING, *value->u.s, info);
    default:
      BSM_TRY(text_of(b, value, &text));
      return bsm_structure_set_text(b, BSM_STRUCTURE_OTHER, text, info);
  }
}
