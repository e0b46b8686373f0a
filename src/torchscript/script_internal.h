/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the language's front end share: the script with its files
 * and names, and how types, constants and schemas come from syntax. */
#ifndef BSM_TORCHSCRIPT_SCRIPT_INTERNAL_H_
#define BSM_TORCHSCRIPT_SCRIPT_INTERNAL_H_

#include "torchscript/script.h"
#include "torchscript/syntax.h"

/* A parsed file and its index. */
typedef struct bsm_script_file {
  bsm_script *script;
  bsm_code_file code;
  int64_t version;    /* which operators its calls mean: see upgraders.h */
  bsm_strmap classes; /* name -> bsm_class_def */
  bsm_strmap defs;    /* name -> bsm_def */
} bsm_script_file;

/* A function or method of a file; `fn.impl` points back here. */
typedef struct bsm_script_fn {
  bsm_function fn;
  bsm_script_file *file;
  const bsm_def *def;   /* NULL: the call of a module with its hooks */
  const bsm_type *self; /* the class, for methods */
  bool in_schema;       /* while its schema is made */
} bsm_script_fn;

struct bsm_script {
  bsm_ir_ctx *cx;
  int64_t version;
  bsm_script_hooks hooks;
  const bsm_ivalue *constants;
  size_t constant_count;
  bsm_strmap files;     /* module -> bsm_script_file, or `absent` */
  bsm_strmap types;     /* qualified name -> bsm_type, or `absent` while made */
  bsm_strmap functions; /* qualified name -> bsm_function */
  bsm_strmap candidates;  /* operator name -> its overloads with old schemas */
  bsm_ptrmap old_schemas; /* bsm_schema -> its upgrader: see upgraders.c */
  bsm_script_file *upgraders;
  uint64_t depth; /* of the recursion, over all files: see bsm_script_enter */
  char absent;    /* its address marks what is known not to be there */
};

/* One level deeper, or BSM_LIMIT naming `what`. The caller decrements
 * script->depth; what fails need not: whoever starts a recursion (compiling a
 * function, making a class, parsing a type) restores it. */
BSM_NODISCARD bsm_status bsm_script_enter(bsm_script *script, const char *what);

/* The file of a module; *out is NULL when the archive has none. */
BSM_NODISCARD bsm_status bsm_script_file_get(bsm_script *script, bsm_str module,
                                             bsm_script_file **out);
/* As bsm_script_find_type and bsm_script_find_function, but *out is NULL when
 * there is none. */
BSM_NODISCARD bsm_status bsm_script_lookup_type(bsm_script *script,
                                                bsm_str name,
                                                const bsm_type **out);
BSM_NODISCARD bsm_status bsm_script_lookup_function(bsm_script *script,
                                                    bsm_str name,
                                                    bsm_function **out);
/* Parses a text of our own as a file of that module name. */
BSM_NODISCARD bsm_status bsm_script_add_source(bsm_script *script,
                                               bsm_str module, bsm_str text,
                                               const char *path,
                                               bsm_script_file **out);
BSM_NODISCARD bsm_status bsm_script_fn_new(bsm_script_file *file,
                                           const bsm_def *def,
                                           const bsm_type *self,
                                           const char *prefix,
                                           bsm_function **out);

/* Fills in the attributes, constants, hooks and methods of a class. */
BSM_NODISCARD bsm_status bsm_script_make_class(bsm_script_file *file,
                                               const bsm_class_def *def,
                                               const char *qualified,
                                               const bsm_type **out);

/* The type that an expression writes. */
BSM_NODISCARD bsm_status bsm_script_type(bsm_script_file *file,
                                         const bsm_expr *expr,
                                         const bsm_type **out);
/* The value of a literal; `type` (may be NULL) says what is wanted: an integer
 * stands for a float where a float is. *is is false for what is not a literal.
 */
BSM_NODISCARD bsm_status bsm_script_literal(bsm_script_file *file,
                                            const bsm_expr *expr,
                                            const bsm_type *type,
                                            bsm_ivalue *out, bool *is);
/* The schema of a function of a script: from its annotations; one without a
 * return type is compiled for it. */
BSM_NODISCARD bsm_status bsm_script_schema(bsm_function *fn,
                                           const bsm_schema **out);

/* "Optional[int]", in the arena. NULL when out of memory. */
const char *bsm_script_type_text(bsm_script *script, const bsm_type *type);

/* bsm_function.compile. */
bsm_status bsm_script_compile(bsm_function *fn);
bsm_status bsm_script_compile_hooked(bsm_function *fn);

static inline bsm_script_fn *bsm_script_fn_of(const bsm_function *fn) {
  return fn->impl;
}

#endif /* BSM_TORCHSCRIPT_SCRIPT_INTERNAL_H_ */
