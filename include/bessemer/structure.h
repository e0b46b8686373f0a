/* SPDX-License-Identifier: Apache-2.0 */
/* The structure of a model's arguments and of its result: nested tuples, lists,
 * dicts, NamedTuples around tensors, numbers, strings.
 *
 * An engine runs on flat arrays of tensors, its bindings; a structure says
 * where each binding belongs, and which values are fixed:
 *
 *   const bsm_structure *result = bsm_engine_output_structure(engine);
 *   const bsm_structure *boxes = bsm_structure_find(result, "0.boxes");
 *   bsm_structure_info info = BSM_STRUCTURE_INFO_INIT;
 *   bsm_status st = bsm_structure_describe(boxes, &info);
 *   if (!st) use(outputs[info.binding]);
 *
 * Structures belong to their engine. The structure of a run's result belongs to
 * the context: see bsm_context_output_structure. */
#ifndef BESSEMER_STRUCTURE_H_
#define BESSEMER_STRUCTURE_H_

#include "bessemer/export.h"
#include "bessemer/status.h"
#include "bessemer/types.h"

BSM_EXTERN_C_BEGIN

typedef struct bsm_structure bsm_structure;

typedef enum bsm_structure_kind {
  BSM_STRUCTURE_NONE = 0,
  BSM_STRUCTURE_TENSOR = 1,
  BSM_STRUCTURE_INT = 2,
  BSM_STRUCTURE_FLOAT = 3,
  BSM_STRUCTURE_BOOL = 4,
  BSM_STRUCTURE_STRING = 5,
  BSM_STRUCTURE_OTHER = 6, /* a device, a complex number, ...: its text */
  BSM_STRUCTURE_LIST = 7,
  BSM_STRUCTURE_TUPLE = 8,
  BSM_STRUCTURE_NAMED_TUPLE = 9,
  BSM_STRUCTURE_DICT = 10,
  BSM_STRUCTURE_OBJECT = 11,    /* an instance of a class: its attributes */
  BSM_STRUCTURE_ARGUMENTS = 12, /* the parameters of the method */
  /* A part of the result whose length, keys or kind are known only after a run.
   * Its one child is its type; bsm_context_output_structure has the value. */
  BSM_STRUCTURE_RUN_TIME = 13,
  /* In such a type, where also a list has one child, the type of its items, and
   * a dict two, of its keys and its values: */
  BSM_STRUCTURE_OPTIONAL = 14, /* None or a value of its child's type */
  BSM_STRUCTURE_ANY = 15       /* a value of any type */
} bsm_structure_kind;

/* The kind of a child's key in its parent. */
typedef enum bsm_structure_key {
  BSM_STRUCTURE_KEY_NONE = 0,     /* the root */
  BSM_STRUCTURE_KEY_POSITION = 1, /* of a list or tuple */
  BSM_STRUCTURE_KEY_NAME = 2,     /* parameter, field, attribute */
  BSM_STRUCTURE_KEY_STRING = 3,   /* of a dict, as the following */
  BSM_STRUCTURE_KEY_INT = 4,
  BSM_STRUCTURE_KEY_FLOAT = 5,
  BSM_STRUCTURE_KEY_BOOL = 6,
  BSM_STRUCTURE_KEY_OTHER = 7,
  BSM_STRUCTURE_KEY_TYPE = 8 /* the child is a type */
} bsm_structure_key;

#define BSM_NO_BINDING SIZE_MAX

typedef struct bsm_structure_info {
  size_t struct_size; /* set by BSM_STRUCTURE_INFO_INIT */
  bsm_structure_kind kind;
  const char *type_name; /* of a NamedTuple or object; the method of ARGUMENTS;
                            else "" */
  bsm_structure_key key_kind;
  const char *key; /* as text: "image", "0", "True" */
  size_t key_length;
  int64_t int_key;  /* POSITION, INT, BOOL (0 or 1) */
  double float_key; /* FLOAT */
  /* Keys from the root, joined by dots; of a bound leaf, the name of its
   * binding. */
  const char *path;
  size_t child_count;
  /* The engine's input or output that holds it, or BSM_NO_BINDING. A number
   * has a tensor of rank 0. */
  size_t binding;
  /* Whether it was fixed when compiling or, in the structure of a run, by
   * the run. A number of the result may be both fixed and bound. */
  bool is_fixed;
  int64_t int_value;
  double float_value;
  bool bool_value;
  const char *string; /* STRING, OTHER */
  size_t string_length;
  /* Of a fixed TENSOR, whose data are part of the engine, and of every TENSOR
   * in the structure of a run. */
  bsm_dtype dtype;
  bsm_dims dims;
} bsm_structure_info;
#define BSM_STRUCTURE_INFO_INIT BSM_SIZED_INIT(bsm_structure_info)

/* All strings live as long as the structure. */
BSM_API BSM_NODISCARD bsm_status
bsm_structure_describe(const bsm_structure *node, bsm_structure_info *out);
/* NULL past the end. */
BSM_API const bsm_structure *bsm_structure_child(const bsm_structure *node,
                                                 size_t index);
/* The node that the keys joined by dots lead to from `root`, such as
 * "batch.image" or "0.boxes"; NULL when there is none. "" is the root. */
BSM_API const bsm_structure *bsm_structure_find(const bsm_structure *root,
                                                const char *keys);

BSM_EXTERN_C_END

#endif /* BESSEMER_STRUCTURE_H_ */
