/* SPDX-License-Identifier: Apache-2.0 */
/* Function schemas: parsing their text, and the ordered table of all schemas
 * that PyTorch knows, which overload resolution depends on. */
#ifndef BSM_IR_SCHEMA_H_
#define BSM_IR_SCHEMA_H_

#include "ir/type.h"

typedef struct bsm_schema_arg {
  const char *name; /* "" for unnamed returns */
  const bsm_type *type;
  bool kwarg_only;
  bool has_default;
  bsm_ivalue default_value;
  bool has_alias, is_write; /* (a), (a!) */
  const char *alias;        /* "a", "a|b", "a -> *": NULL when none */
} bsm_schema_arg;

typedef struct bsm_schema {
  const char *text;      /* as given */
  const char *name;      /* "aten::add" */
  const char *overload;  /* "Tensor", "" */
  const char *qualified; /* "aten::add.Tensor", or "aten::add" */
  bsm_schema_arg *args;
  size_t arg_count;
  bsm_schema_arg *returns;
  size_t return_count;
  bool is_vararg, is_varret; /* "..." */
} bsm_schema;

/* Parses one schema. Spellings of several versions are accepted: `-> (Tensor)`
 * and `-> Tensor`, ScalarType/Layout/MemoryFormat/SymInt as int, `[0, 0]` and
 * `0` for int[2] defaults, `long`, `contiguous_format`, `Mean`. */
BSM_NODISCARD bsm_status bsm_schema_parse(bsm_type_table *types,
                                          bsm_arena *arena, bsm_str text,
                                          bsm_schema **out);

/* The table of PyTorch's schemas: order within a name is registry order.
 * Schemas are parsed when first asked for. Not thread safe. */
typedef struct bsm_schema_table bsm_schema_table;
BSM_NODISCARD bsm_status bsm_schema_table_create(bsm_type_table *types,
                                                 bsm_arena *arena,
                                                 bsm_schema_table **out);
/* Adds a schema of the user's (a plug-in's op, an IR text); replaces one of the
 * same qualified name. */
BSM_NODISCARD bsm_status bsm_schema_table_add(bsm_schema_table *table,
                                              bsm_str text);
/* All overloads of "aten::add", in order; *count 0 when unknown. */
BSM_NODISCARD bsm_status
bsm_schema_table_overloads(bsm_schema_table *table, bsm_str name,
                           const bsm_schema *const **out, size_t *count);
/* By qualified name "aten::add.Tensor"; *out NULL when unknown. */
BSM_NODISCARD bsm_status bsm_schema_table_find(bsm_schema_table *table,
                                               bsm_str qualified,
                                               const bsm_schema **out);

/* The built-in lines: for tools that list what exists. NULL past the end. */
size_t bsm_schema_table_builtin_count(void);
const char *bsm_schema_table_builtin(size_t index);

#endif /* BSM_IR_SCHEMA_H_ */
