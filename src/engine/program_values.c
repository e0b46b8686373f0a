/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that make containers, take them apart, pass values on, or raise.
 */
#include "engine/program_values.h"

#include "aten/ivalue_parts.h"

#include <inttypes.h>
#include <string.h>

#define MAX_DEPTH 60
#define MAX_NESTED ((size_t)1 << 24)

/* Counts the values inside, in *budget. */
static bsm_status check_nested(const bsm_ivalue *items, size_t n, int depth,
                               size_t *budget) {
  if (depth > MAX_DEPTH) {
    return BSM_FAIL(BSM_LIMIT, "a value is nested more than %d deep",
                    MAX_DEPTH);
  }
  if (depth > 1 && n > *budget) {
    return BSM_FAIL(BSM_LIMIT, "a nested value has more than %zu values",
                    MAX_NESTED);
  }
  if (depth > 1) *budget -= n;
  for (size_t i = 0; i < n; i++) {
    const bsm_ivalue *v = &items[i];
    if (!bsm_iv_is_container(v)) continue;
    const bsm_iv_parts parts = bsm_iv_parts_of(v);
    if (v->tag == BSM_IVALUE_DICT) {
      BSM_TRY(check_nested(v->u.dict->keys, parts.len, depth + 1, budget));
    }
    BSM_TRY(check_nested(parts.items, parts.len, depth + 1, budget));
  }
  return BSM_OK;
}

bsm_status bsm_program_check_nested(const bsm_ivalue *args, size_t count) {
  size_t budget = MAX_NESTED;
  return check_nested(args, count, 0, &budget);
}

static bsm_status make_dict(bsm_arena *arena, const bsm_ivalue *keys,
                            const bsm_ivalue *values, size_t n, size_t stride,
                            bsm_ivalue *out) {
  bsm_dict *dict;
  BSM_TRY(bsm_dict_new(arena, NULL, NULL, &dict));
  for (size_t i = 0; i < n; i++) {
    const bsm_ivalue *key = &keys[i * stride];
    if (bsm_iv_is_container(key)) {
      return BSM_FAIL(BSM_CORRUPT, "a %s as a key", bsm_iv_tag_name(key->tag));
    }
    BSM_TRY(bsm_dict_set(dict, *key, values[i * stride]));
  }
  *out = bsm_iv_dict(dict);
  return BSM_OK;
}

static bsm_status copy_container(bsm_arena *arena, const bsm_ivalue *v,
                                 bsm_ivalue *out) {
  if (v->tag == BSM_IVALUE_LIST && v->u.list->arena == arena) {
    bsm_list *copy;
    BSM_TRY(bsm_list_copy(v->u.list, &copy));
    *out = bsm_iv_list(copy);
    return BSM_OK;
  }
  if (v->tag == BSM_IVALUE_LIST) {
    return bsm_iv_list_of(arena, NULL, v->u.list->items, v->u.list->len, out);
  }
  if (v->tag == BSM_IVALUE_DICT) {
    return make_dict(arena, v->u.dict->keys, v->u.dict->values, v->u.dict->len,
                     1, out);
  }
  return BSM_FAIL(BSM_CORRUPT, "a copy of a %s", bsm_iv_tag_name(v->tag));
}

static bsm_status unpack(const bsm_instruction *i, const bsm_ivalue *v,
                         bsm_ivalue *registers) {
  const bsm_iv_parts parts = bsm_iv_items_of(v);
  if (!bsm_iv_is_sequence(v)) {
    return BSM_FAIL(BSM_CORRUPT, "a %s is unpacked", bsm_iv_tag_name(v->tag));
  }
  if (parts.len != i->output_count) {
    return BSM_FAIL(BSM_RAISED,
                    "Expected %" PRIu32 " elements in a list but found %zu",
                    i->output_count, parts.len);
  }
  for (size_t k = 0; k < parts.len; k++) {
    registers[i->outputs[k]] = parts.items[k];
  }
  return BSM_OK;
}

static bsm_status raise(const bsm_ivalue *message) {
  if (message->tag != BSM_IVALUE_STRING) {
    return BSM_FAIL(BSM_RAISED, "the model raises an exception");
  }
  const size_t n = message->u.s->len;
  return BSM_FAIL(BSM_RAISED, "%.*s", (int)(n < 4096 ? n : 4096),
                  message->u.s->data);
}

bsm_status bsm_program_move_values(const bsm_instruction *i,
                                   const bsm_ivalue *args, bsm_arena *arena,
                                   bsm_ivalue *registers) {
  bsm_ivalue *out = i->output_count ? &registers[i->outputs[0]] : NULL;
  switch (i->kind) {
    case BSM_INSTRUCTION_LIST:
      return bsm_iv_list_of(arena, NULL, args, i->input_count, out);
    case BSM_INSTRUCTION_TUPLE:
      return bsm_iv_tuple_of(arena, NULL, args, i->input_count, out);
    case BSM_INSTRUCTION_DICT:
      return make_dict(arena, args, args + 1, i->input_count / 2, 2, out);
    case BSM_INSTRUCTION_UNPACK:
      return unpack(i, &args[0], registers);
    case BSM_INSTRUCTION_COPY:
      return copy_container(arena, &args[0], out);
    case BSM_INSTRUCTION_RAISE:
      return raise(&args[0]);
    case BSM_INSTRUCTION_MOVE:
      if (args[0].tag == BSM_IVALUE_NONE && strcmp(i->name, "unwrap") == 0) {
        return BSM_FAIL(BSM_RAISED, "Unwrapping null optional");
      }
      *out = args[0];
      return BSM_OK;
    default:
      return BSM_FAIL(BSM_INTERNAL, "%s moves no values",
                      bsm_instruction_kind_name(i->kind));
  }
}
