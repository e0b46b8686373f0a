/* SPDX-License-Identifier: Apache-2.0 */
/* Building structures: keys, the names that follow from them, values.
 *
 * An input is named by its parameter and the keys below it: "x", "batch.image",
 * "xs.0". An output is named by its keys in the result: "logits", "boxes.0".
 * Items of a result that is a list or tuple are "output_0", "output_1", and
 * values inside of such an item "output_1.0". A result that is one tensor is
 * "output_0". */
#ifndef BSM_ENGINE_STRUCTURE_BUILDER_H_
#define BSM_ENGINE_STRUCTURE_BUILDER_H_

#include "aten/ivalue.h"
#include "base/strings.h"
#include "engine/structure.h"

typedef struct bsm_structure_builder {
  bsm_arena *arena;
  bsm_strmap taken; /* path -> the number to try next when the path is taken */
  BSM_VEC(const char *) names; /* of the bound leaves */
  bool outputs;
} bsm_structure_builder;

/* The path of a result whose kind is not known yet: as if it were a leaf. */
#define BSM_STRUCTURE_ROOT_LEAF "output_0"

/* Reserves a name: no leaf gets it. */
BSM_NODISCARD bsm_status bsm_structure_reserve(bsm_structure_builder *b,
                                               const char *name);
/* Gives the leaf the next binding, under the path that it has. */
BSM_NODISCARD bsm_status bsm_structure_add(bsm_structure_builder *b,
                                           bsm_structure_info *info);
/* Gives the leaf the next binding and a name; a path that is taken gets a
 * number. */
BSM_NODISCARD bsm_status bsm_structure_bind(bsm_structure_builder *b,
                                            bsm_structure_info *info);

/* Sets the key of a child in its parent, and its path. */
BSM_NODISCARD bsm_status bsm_structure_set_key(bsm_structure_builder *b,
                                               const bsm_structure_info *parent,
                                               bsm_structure_key kind,
                                               bsm_str key,
                                               bsm_structure_info *info);
BSM_NODISCARD bsm_status bsm_structure_set_position(
    bsm_structure_builder *b, const bsm_structure_info *parent, size_t position,
    bsm_structure_info *info);
BSM_NODISCARD bsm_status bsm_structure_set_dict_key(
    bsm_structure_builder *b, const bsm_structure_info *parent,
    const bsm_ivalue *key, bsm_structure_info *info);

/* Turns a node that has its key into a container with `count` empty children.
 */
BSM_NODISCARD bsm_status bsm_structure_open(bsm_structure_builder *b,
                                            bsm_structure *node,
                                            bsm_structure_kind kind,
                                            size_t count);
/* Sets a leaf with a known value. */
BSM_NODISCARD bsm_status bsm_structure_set_value(bsm_structure_builder *b,
                                                 const bsm_ivalue *value,
                                                 bsm_structure_info *info);
/* Sets a leaf of kind OTHER, which has only a text. */
BSM_NODISCARD bsm_status bsm_structure_set_text(bsm_structure_builder *b,
                                                bsm_structure_kind kind,
                                                bsm_str text,
                                                bsm_structure_info *info);

#endif /* BSM_ENGINE_STRUCTURE_BUILDER_H_ */
