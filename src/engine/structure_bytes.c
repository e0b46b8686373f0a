/* SPDX-License-Identifier: Apache-2.0 */
/* Structures as bytes, little-endian, parents before their children:
 *
 *   u8 kind, u8 kind of key, u8 flags (1 fixed, 2 bound), u8 zero
 *   u32 number of children
 *   text path; text type name; text key; i64 and f64 forms of the key
 *   u32 binding                                     when bound
 *   the value: i64, f64, u8, text; u32 dtype, u32 rank, i64 dims   when fixed
 *
 * A text is a u32 length and its bytes. Nothing is trusted when reading. */
#include <inttypes.h>
#include <string.h>

#include "engine/structure.h"

enum { FLAG_FIXED = 1, FLAG_BOUND = 2 };
/* Bytes that every node takes. */
enum { NODE_MIN = 8 + 3 * 4 + 16 };

/* ---- writing ---- */

static void put(bsm_text *out, const void *data, size_t size) {
  bsm_text_append(out, (bsm_str){data, size});
}

static void put_u32(bsm_text *out, size_t value) {
  const uint32_t narrow = (uint32_t)value;
  put(out, &narrow, sizeof(narrow));
}

static void put_text(bsm_text *out, const char *text, size_t length) {
  put_u32(out, length);
  put(out, text, length);
}

static void put_value(bsm_text *out, const bsm_structure_info *info) {
  const uint8_t truth = info->bool_value;
  switch (info->kind) {
    case BSM_STRUCTURE_INT:
      put(out, &info->int_value, sizeof(info->int_value));
      break;
    case BSM_STRUCTURE_FLOAT:
      put(out, &info->float_value, sizeof(info->float_value));
      break;
    case BSM_STRUCTURE_BOOL:
      put(out, &truth, sizeof(truth));
      break;
    case BSM_STRUCTURE_STRING:
    case BSM_STRUCTURE_OTHER:
      put_text(out, info->string, info->string_length);
      break;
    case BSM_STRUCTURE_TENSOR:
      put_u32(out, (size_t)info->dtype);
      put_u32(out, (size_t)info->dims.rank);
      put(out, info->dims.d, (size_t)info->dims.rank * sizeof(int64_t));
      break;
    default:
      break;
  }
}

static bsm_status put_node(bsm_text *out, const bsm_structure *node,
                           size_t depth) {
  const bsm_structure_info *info = &node->info;
  if (depth > BSM_STRUCTURE_MAX_DEPTH || info->child_count > UINT32_MAX ||
      info->key_length > UINT32_MAX || info->string_length > UINT32_MAX) {
    return BSM_FAIL(BSM_LIMIT, "\"%s\" is too deep or too large", info->path);
  }
  const bool bound = info->binding != BSM_NO_BINDING;
  const uint8_t head[4] = {
      (uint8_t)info->kind, (uint8_t)info->key_kind,
      (uint8_t)((info->is_fixed ? FLAG_FIXED : 0) | (bound ? FLAG_BOUND : 0)),
      0};
  put(out, head, sizeof(head));
  put_u32(out, info->child_count);
  put_text(out, info->path, strlen(info->path));
  put_text(out, info->type_name, strlen(info->type_name));
  put_text(out, info->key, info->key_length);
  put(out, &info->int_key, sizeof(info->int_key));
  put(out, &info->float_key, sizeof(info->float_key));
  if (bound) put_u32(out, info->binding);
  if (info->is_fixed) put_value(out, info);
  for (size_t i = 0; i < info->child_count; i++) {
    BSM_TRY(put_node(out, &node->children[i], depth + 1));
  }
  return BSM_OK;
}

bsm_status bsm_structure_to_bytes(const bsm_structure *root, bsm_text *out) {
  BSM_TRY(put_node(out, root, 0));
  return out->failed ? BSM_FAIL_OOM() : BSM_OK;
}

/* ---- reading ---- */

typedef struct reader {
  bsm_str bytes;
  size_t at;
  bsm_arena *arena;
} reader;

static bsm_status get(reader *r, void *out, size_t size) {
  if (size > r->bytes.len - r->at) {
    return BSM_FAIL(BSM_CORRUPT, "a structure ends at byte %zu of %zu", r->at,
                    r->bytes.len);
  }
  memcpy(out, r->bytes.data + r->at, size);
  r->at += size;
  return BSM_OK;
}

static bsm_status get_u32(reader *r, uint32_t *out) {
  return get(r, out, sizeof(*out));
}

/* `length` NULL: a text without NUL bytes. */
static bsm_status get_text(reader *r, const char **out, size_t *length) {
  uint32_t n;
  BSM_TRY(get_u32(r, &n));
  if (n > r->bytes.len - r->at) {
    return BSM_FAIL(BSM_CORRUPT, "a text of %" PRIu32 " bytes at byte %zu", n,
                    r->at);
  }
  const char *start = r->bytes.data + r->at;
  if (!length && n && memchr(start, 0, n)) {
    return BSM_FAIL(BSM_CORRUPT, "a NUL byte inside a name at byte %zu", r->at);
  }
  char *text = bsm_arena_alloc(r->arena, (size_t)n + 1, 1);
  BSM_TRY_ALLOC(text);
  if (n) memcpy(text, start, n);
  *out = text;
  if (length) *length = n;
  r->at += n;
  return BSM_OK;
}

static bsm_status get_fixed_tensor(reader *r, bsm_structure_info *info) {
  uint32_t dtype, rank;
  BSM_TRY(get_u32(r, &dtype));
  BSM_TRY(get_u32(r, &rank));
  if (dtype > BSM_DTYPE_UNDEFINED || !bsm_dtype_size((bsm_dtype)dtype) ||
      rank > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_CORRUPT, "dtype %" PRIu32 ", rank %" PRIu32, dtype,
                    rank);
  }
  info->dtype = (bsm_dtype)dtype;
  info->dims.rank = (int32_t)rank;
  BSM_TRY(get(r, info->dims.d, rank * sizeof(int64_t)));
  for (uint32_t i = 0; i < rank; i++) {
    if (info->dims.d[i] < 0) {
      return BSM_FAIL(BSM_CORRUPT, "a size of %" PRId64, info->dims.d[i]);
    }
  }
  return BSM_OK;
}

static bsm_status get_value(reader *r, bsm_structure_info *info) {
  uint8_t truth;
  switch (info->kind) {
    case BSM_STRUCTURE_INT:
      return get(r, &info->int_value, sizeof(info->int_value));
    case BSM_STRUCTURE_FLOAT:
      return get(r, &info->float_value, sizeof(info->float_value));
    case BSM_STRUCTURE_BOOL:
      BSM_TRY(get(r, &truth, sizeof(truth)));
      info->bool_value = truth != 0;
      return BSM_OK;
    case BSM_STRUCTURE_STRING:
    case BSM_STRUCTURE_OTHER:
      return get_text(r, &info->string, &info->string_length);
    case BSM_STRUCTURE_TENSOR:
      return get_fixed_tensor(r, info);
    case BSM_STRUCTURE_NONE:
      return BSM_OK;
    default:
      return BSM_FAIL(BSM_CORRUPT, "a container with a value at byte %zu",
                      r->at);
  }
}

static bsm_status get_node(reader *r, size_t depth, bsm_structure *node) {
  uint8_t head[4];
  uint32_t count, binding;
  BSM_TRY(get(r, head, sizeof(head)));
  if (head[0] > BSM_STRUCTURE_ANY || head[1] > BSM_STRUCTURE_KEY_TYPE ||
      head[2] > (FLAG_FIXED | FLAG_BOUND) || head[3] != 0 ||
      depth > BSM_STRUCTURE_MAX_DEPTH) {
    return BSM_FAIL(BSM_CORRUPT, "no node of a structure at byte %zu",
                    r->at - sizeof(head));
  }
  bsm_structure_init(node, (bsm_structure_kind)head[0]);
  bsm_structure_info *info = &node->info;
  info->key_kind = (bsm_structure_key)head[1];
  BSM_TRY(get_u32(r, &count));
  if (count > (r->bytes.len - r->at) / NODE_MIN) {
    return BSM_FAIL(BSM_CORRUPT, "%" PRIu32 " children do not fit at byte %zu",
                    count, r->at);
  }
  info->child_count = count;
  BSM_TRY(get_text(r, &info->path, NULL));
  BSM_TRY(get_text(r, &info->type_name, NULL));
  BSM_TRY(get_text(r, &info->key, &info->key_length));
  BSM_TRY(get(r, &info->int_key, sizeof(info->int_key)));
  BSM_TRY(get(r, &info->float_key, sizeof(info->float_key)));
  if (head[2] & FLAG_BOUND) {
    BSM_TRY(get_u32(r, &binding));
    info->binding = binding;
  }
  info->is_fixed = (head[2] & FLAG_FIXED) != 0;
  if (info->is_fixed) BSM_TRY(get_value(r, info));
  node->children = BSM_NEW_ARRAY(r->arena, bsm_structure, count + (size_t)1);
  BSM_TRY_ALLOC(node->children);
  for (uint32_t i = 0; i < count; i++) {
    BSM_TRY(get_node(r, depth + 1, &node->children[i]));
  }
  return BSM_OK;
}

bsm_status bsm_structure_from_bytes(bsm_str bytes, bsm_arena *arena,
                                    bsm_structure **out) {
  reader r = {bytes, 0, arena};
  *out = NULL;
  bsm_structure *root = BSM_NEW(arena, bsm_structure);
  BSM_TRY_ALLOC(root);
  BSM_TRY(get_node(&r, 0, root));
  if (r.at != bytes.len) {
    return BSM_FAIL(BSM_CORRUPT, "%zu bytes too many after a structure",
                    bytes.len - r.at);
  }
  *out = root;
  return BSM_OK;
}
