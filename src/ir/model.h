/* SPDX-License-Identifier: Apache-2.0 */
/* What a front end makes of a model file, whatever its format: the narrow
 * place between reading a model and compiling it. Nothing past this knows which
 * front end it was. */
#ifndef BSM_IR_MODEL_H_
#define BSM_IR_MODEL_H_

#include "ir/graph.h"

typedef struct bsm_model bsm_model;

/* A size that the run tells, and that several dims of the inputs follow. */
typedef struct bsm_model_symbol {
  const char *name; /* "s77" */
  int64_t min, opt, max;
  bool max_is_open; /* the file has no maximum: `max` is what we chose */
} bsm_model_symbol;

/* A dim of an example: scale * symbol + offset. Of no symbol (0; else its index
 * plus 1) it ranges by itself, or is fixed: min == max. */
typedef struct bsm_model_dim {
  size_t symbol;
  int64_t scale, offset;
  int64_t min, opt, max;
} bsm_model_dim;

struct bsm_model {
  bsm_ir_ctx *cx;
  bsm_graph *graph; /* free-standing, without methods: IR text; else NULL */
  bsm_object *root; /* the module instance; NULL with `graph` */
  /* What the file tells of the parameters of forward, in order, without self:
   * tensors have a dtype and sizes alone. */
  const bsm_ivalue *examples;
  size_t example_count;
  /* What is known of the dims of tensors among them, by address: a
   * bsm_model_dim for each. Others are as they are because the example was; an
   * engine may be made for any. */
  bsm_ptrmap shapes;
  const bsm_model_symbol *symbols;
  size_t symbol_count;
  /* The examples' numbers and strings are what the parameters must be. */
  bool values_are_fixed;
  /* The examples are those of a trace: the code has numbers in it that were
   * computed from their shapes. */
  bool traced;
  /* A method of `object`, the root or a module inside; BSM_NOT_FOUND lists the
   * names there are. NULL with `graph`. */
  bsm_status (*find_method)(void *front_end, const bsm_object *object,
                            const char *name, bsm_function **out);
  void *front_end; /* for find_method */
};

/* The text of a failure: there is no method `name`, only others. */
BSM_NODISCARD bsm_status bsm_model_no_method(const bsm_class *cls,
                                             const char *name);

#endif /* BSM_IR_MODEL_H_ */
