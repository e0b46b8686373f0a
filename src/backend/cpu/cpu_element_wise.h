/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of element-wise programs share: cpu_element_wise_program.c
 * reads a step's program, cpu_element_wise_units.c runs it block by block,
 * cpu_element_wise.c is the kind of step. */
#ifndef BSM_BACKEND_CPU_ELEMENT_WISE_H_
#define BSM_BACKEND_CPU_ELEMENT_WISE_H_

#include <stdatomic.h>

#include "backend/cpu/cpu_affine.h"
#include "backend/cpu/cpu_held.h"
#include "backend/cpu/cpu_quantize.h"
#include "backend/cpu/cpu_scalar_ops.h"
#include "backend/cpu/cpu_space.h"
#include "backend/cpu/kernels/int8/int8.h"

/* Elements of a block at most. */
#define BSM_CPU_EW_BLOCK 1024
#define BSM_CPU_EW_TABLE 256

typedef struct bsm_cpu_ew_instruction {
  bsm_step_ew_instruction op;
  bsm_cpu_class compute; /* of the operands */
  bsm_cpu_class result;
  bsm_dtype a_dtype, b_dtype, c_dtype;
  bool narrow;       /* of integers as they are held (cpu_held.h) */
  bool hoisted;      /* a constant: set once, not in each block */
  bool separate;     /* the result must not overwrite an operand */
  bool exact;        /* numbers of the operands' dtype give such numbers */
  bool divides;      /* integers: by zero is an error */
  bool has_exponent; /* pow with a constant */
  double exponent;
} bsm_cpu_ew_instruction;

typedef struct bsm_cpu_ew {
  bsm_cpu_impl base;
  const bsm_k_math *math;
  const bsm_k_int8 *bytes;
  bsm_cpu_space space; /* operand 0: the output */
  uint32_t inputs;
  bsm_dtype dtypes[BSM_EW_MAX_INPUTS];
  bool widens[BSM_EW_MAX_INPUTS]; /* bytes that are read as floats */
  float zero[BSM_EW_MAX_INPUTS], scale[BSM_EW_MAX_INPUTS]; /* of these */
  bool narrows; /* the last instruction makes bytes of floats */
  bsm_dtype result_dtype, out_dtype;
  int32_t result, count, registers;
  bool last_writes_result;
  int64_t block_rows; /* whole rows of a block; 0: pieces of rows */
  bool in_place;      /* the last instruction may write to the output */
  int64_t unit;
  bool is_affine;
  bsm_cpu_affine affine;
  bool on_grid; /* the result becomes bytes of a grid */
  bsm_cpu_quantize quantize;
  const uint8_t *table; /* or NULL */
  bsm_cpu_ew_instruction program[BSM_EW_MAX_INSTRUCTIONS];
} bsm_cpu_ew;

/* A run. */
typedef struct bsm_cpu_ew_work {
  const bsm_cpu_ew *e;
  const char *inputs[BSM_EW_MAX_INPUTS];
  char *output;
  uint8_t *scratch;
  size_t slot_size;
  atomic_bool *by_zero; /* set where an integer is divided by zero; or NULL */
} bsm_cpu_ew_work;

static inline bool bsm_cpu_ew_is_byte(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_UINT8 || dtype == BSM_DTYPE_INT8;
}

static inline bool bsm_cpu_ew_is_narrow_float(bsm_dtype dtype) {
  return dtype == BSM_DTYPE_HALF || dtype == BSM_DTYPE_BFLOAT16;
}

/* Reads the step's program into one without what is not needed: casts, what
 * puts the result on a grid, constants that may be set once. `inputs`, `dtypes`
 * and `out_dtype` are set. */
void bsm_cpu_ew_read_program(const bsm_cpu_prepare *p, bsm_cpu_ew *e);

/* Whether the rows of operand k follow each other without gaps in a block. */
bool bsm_cpu_ew_rows_touch(const bsm_cpu_ew *e, uint32_t k);

/* A unit of blocks, of a bsm_cpu_ew_work. */
void bsm_cpu_ew_run_unit(void *work, int64_t index, int slot);

/* What the program makes of each byte. */
void bsm_cpu_ew_fill_table(const bsm_cpu_ew_work *w, uint8_t *table);

#endif
