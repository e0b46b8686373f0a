/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: what an engine runs when a plan of fixed steps is not enough.
 *
 * A program computes with values of any kind in registers: numbers, lists,
 * tensors whose shapes are known only in the run. Its instructions call ops of
 * the reference library, run segments (plans of fixed shapes), branch and loop.
 * Block 0 is the top block: its parameters are the engine's inputs, its results
 * the outputs.
 *
 * Values have identity, as in PyTorch. Two registers may hold the same list, or
 * tensors that share memory. A call that writes to a list or dict, or to a
 * tensor with copy_, fill_ or zero_, changes it for both. A run writes only to
 * what it has made itself, never to inputs and constants. The compiler makes
 * programs that write to tensors only where it cannot resolve the writes (a
 * literal graph). All other programs write to copies of lists and dicts, and
 * their instructions may be moved as far as their registers allow.
 *
 * The plan that a program belongs to has the bindings, whose dims may be -1,
 * and the weights of the program's constants, but no steps. */
#ifndef BSM_ENGINE_PROGRAM_H_
#define BSM_ENGINE_PROGRAM_H_

#include "base/arena.h"
#include "base/strings.h"
#include "bessemer/status.h"
#include "bessemer/types.h"

struct bsm_plan;

/* A region is a block in which the shapes and numbers of the results follow
 * from the shapes and numbers of the inputs. For each new set of those a plan
 * can be made of it (planner/planner.h); its instructions can also be run one
 * by one. `inputs` are the registers that the block reads and that are set
 * outside of it, without constants. */

/* Kinds in one list: X(ENUM, number, "text"). */
#define BSM_INSTRUCTION_KINDS(X)                                         \
  X(CALL, 1, "call")       /* outputs = op(inputs) */                    \
  X(SEGMENT, 2, "segment") /* outputs = segments[segment](inputs) */     \
  X(IF, 3, "if")           /* inputs: condition; blocks: then, else */   \
  X(LOOP, 4, "loop")       /* inputs: turns, condition, carried values;  \
                              block: (turn, carried) -> (condition,      \
                              carried); outputs: carried */              \
  X(LIST, 5, "list")       /* output = [inputs] */                       \
  X(TUPLE, 6, "tuple")     /* output = (inputs) */                       \
  X(DICT, 7, "dict")       /* inputs: key, value, key, value, ... */     \
  X(UNPACK, 8, "unpack")   /* outputs = the items of a list or tuple */  \
  X(COPY, 9, "copy")       /* a list or dict of its own, same items */   \
  X(RAISE, 10, "raise")    /* inputs: the message; ends the run */       \
  X(MOVE, 11, "move")      /* output = input; None is an error when name \
                              is "unwrap" */                             \
  X(REGION, 12, "region")  /* outputs = block(): see above */

typedef enum bsm_instruction_kind {
#define X(name, number, text) BSM_INSTRUCTION_##name = number,
  BSM_INSTRUCTION_KINDS(X)
#undef X
} bsm_instruction_kind;

typedef struct bsm_instruction {
  bsm_instruction_kind kind;
  const char
      *name; /* CALL: the op, "aten::nonzero"; otherwise for reading only */
  const char *source; /* the place in the model, or "" */
  /* SEGMENT: its number. REGION: the number of the segment that is its plan for
   * the best shapes, plus 1; 0: none. */
  uint32_t segment;
  uint32_t input_count, output_count; /* registers */
  uint32_t *inputs, *outputs;
  uint32_t block_count; /* IF: 2, LOOP and REGION: 1, else 0 */
  uint32_t blocks[2];
} bsm_instruction;

typedef struct bsm_program_block {
  uint32_t param_count, result_count; /* registers */
  uint32_t *params, *results;
  uint32_t instruction_count;
  bsm_instruction *instructions;
} bsm_program_block;

/* The shapes that an input may have, when its dims are not fixed. */
typedef struct bsm_program_range {
  uint32_t input; /* which */
  bsm_dims min, opt, max;
} bsm_program_range;

/* Weights in the form that the target packs, and the key under which building
 * finds them (builder/weights_store.h). Plans for other shapes use them. */
typedef struct bsm_program_derived {
  uint64_t key[2];
  uint32_t weights; /* of the plan */
} bsm_program_derived;

/* A precision for the layers whose names match `pattern`, which may have * and
 * ?, or, where that is "", for all layers of the submodules at `paths`. */
typedef struct bsm_program_precision {
  uint32_t precision; /* a bsm_precision */
  const char *given;  /* as the caller wrote it, for messages */
  const char *pattern;
  const char **paths;
  uint32_t path_count;
} bsm_program_precision;

typedef struct bsm_program {
  uint32_t register_count;
  bsm_program_block *blocks;
  uint32_t block_count;
  struct bsm_plan **segments; /* without programs of their own */
  uint32_t segment_count;
  /* Constants: a list of values as engine/ivalue_bytes.h stores it, value i for
   * constant_registers[i]; tensor number i is the plan's tensor
   * constant_tensors[i], among the weights. */
  const uint8_t *constants;
  uint32_t constants_size;
  uint32_t *constant_registers;
  uint32_t constant_count;
  uint32_t *constant_tensors;
  uint32_t constant_tensor_count;
  bsm_program_range *ranges; /* for each input with a dim of -1 */
  uint32_t range_count;
  /* Segments with the bindings of the engine, for one shape each. Such a
   * segment is run instead of block 0 when the inputs have its shape. */
  uint32_t *variants;
  uint32_t variant_count;
  bsm_program_derived *derived;
  uint32_t derived_count;
  /* What layers of plans for other shapes compute in (builder/precision.h). */
  uint32_t allowed_precisions; /* bits */
  bsm_program_precision *precisions;
  uint32_t precision_count;
  /* Their products with weights of few bits (since 8.6). */
  uint32_t weight_bits, weight_group; /* 0: none */
  uint64_t weight_rows;
} bsm_program;

const char *bsm_instruction_kind_name(bsm_instruction_kind kind);

/* The number of REGIONs in all blocks. */
size_t bsm_program_region_count(const bsm_program *program);

/* Checks every index, count and nesting; segments and constant tensors are
 * checked as plans are. Values are checked when they are used. */
BSM_NODISCARD bsm_status bsm_program_verify(const struct bsm_plan *plan);

/* Text: blocks and their instructions, without the segments' plans. */
void bsm_program_print(bsm_text *text, const struct bsm_plan *plan);

#endif /* BSM_ENGINE_PROGRAM_H_ */
