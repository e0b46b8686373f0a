/* SPDX-License-Identifier: Apache-2.0 */
/* Products and convolutions in tiles: which there are kernels for, and in which
 * tiles (kernels/gemm.cuh). They are multiplied on tensor cores, but for float
 * that means float, and double (cuda_tiles.h).
 *
 * The tactics of such a step are its tiles, "mma 64x64x64" for one of 64 rows,
 * 64 columns and 64 k, and "plain", the kernels that take anything. Each kind
 * of step says what its problem is; the rest is here. */
#ifndef BSM_BACKEND_CUDA_STEPS_CUDA_MMA_H_
#define BSM_BACKEND_CUDA_STEPS_CUDA_MMA_H_

#include "backend/cuda/kernels/params.h"
#include "backend/cuda/steps/cuda_steps.h"
#include "backend/cuda/steps/cuda_tiles.h"

#define BSM_CUDA_PLAIN_TACTIC "plain"

/* Whether a launch may have another kernel than the plain one: those are chosen
 * for sizes or a range of them, and not by the tactic "plain". */
bool bsm_cuda_may_specialise(const bsm_cuda_launches *l);

/* How an operand comes to shared memory: K_A and K_B of the kernel. */
typedef enum bsm_cuda_mma_operand {
  BSM_CUDA_MMA_ELEMENTS = 0,
  BSM_CUDA_MMA_ALONG_K = 1,
  BSM_CUDA_MMA_ALONG_N = 2
} bsm_cuda_mma_operand;

/* Whether k are lines of windows, each padded to 16 bytes, and how these are
 * fetched. */
typedef enum bsm_cuda_int8_lines {
  BSM_CUDA_INT8_NO_LINES = 0,
  BSM_CUDA_INT8_BYTES_OF_LINES = 1,
  BSM_CUDA_INT8_WORDS_OF_LINES = 2
} bsm_cuda_int8_lines;

/* What a product of bytes is besides a problem. */
typedef struct bsm_cuda_int8_problem {
  bsm_cuda_mma params; /* in bytes */
  bool fp8;            /* which are of float8_e4m3fn */
  bsm_cuda_int8_end end;
  bsm_dtype y;
  bsm_cuda_int8_lines lines;
  int piece; /* bytes of A along k that lie together, aligned: 16, 8, 4 or 1 */
  bool vector; /* 16 bytes of rows of y and of the residual do */
} bsm_cuda_int8_problem;

typedef struct bsm_cuda_mma_problem {
  /* Without what follows from the tile: tiles_n, splits, split_k. */
  bsm_cuda_mma params;
  int64_t batches;
  bsm_dtype dtype;
  const bsm_cuda_unit *unit;
  int activation;
  int image; /* K_IMAGE: spatial dimensions, or 0 */
  bool transposed;
  bsm_cuda_mma_operand a, b;
  /* The same for sizes that are multiples of a chunk, where sizes decide. */
  bsm_cuda_mma_operand aligned_a, aligned_b;
  bool weights; /* B is weights */
  /* 8 elements of a row of the output, and of the residual, lie together and
   * are aligned, and rows have a multiple of 8. */
  bool vector;
  bool residual;     /* there is one */
  bool floats;       /* y is float, whatever the dtype */
  bool rounded;      /* B is floats that are rounded to tf32 */
  int lines;         /* rows of y come in lines or loops: K_LINES */
  bool images_apart; /* of a convolution: batches are images, not groups */
  /* Of a product of bytes, where it is launched: all of the above sees two of
   * them as an element of BSM_DTYPE_HALF. */
  const bsm_cuda_int8_problem *bytes;
  bool pads; /* images, by other numbers than zero */
} bsm_cuda_mma_problem;

/* The problem of a checked step; false: there is no kernel for it on a GPU of
 * that compute capability. */
typedef bool bsm_cuda_mma_problem_of(const bsm_plan *plan,
                                     const bsm_plan_step *step, int sm,
                                     bsm_cuda_mma_problem *out);

/* Streaming multiprocessors of the largest GPU of a compute capability: plans
 * depend on nothing else about it. */
int bsm_cuda_multiprocessors(int sm);
/* Bytes of shared memory that a block may have: the table "Technical
 * Specifications per Compute Capability" of the CUDA programming guide. */
unsigned bsm_cuda_most_shared(int sm);

/* Whether a GPU multiplies a dtype of 16 bits on tensor cores. */
bool bsm_cuda_mma_has(bsm_dtype dtype, int sm);

/* Elements of a chunk of 16 bytes. */
static inline int64_t bsm_cuda_chunk(bsm_dtype dtype) {
  return 16 / (int64_t)bsm_dtype_size(dtype);
}

/* Whether a tensor can be read 16 bytes at a time along an axis: what differs
 * in other dimensions is a multiple of that away. */
bool bsm_cuda_mma_reads_along(const bsm_plan_tensor *t, int axis);

/* Whether the numbers of a problem of a dtype are those of its parameters,
 * which are floats. */
bool bsm_cuda_mma_has_numbers(bsm_dtype dtype, double scale, double alpha,
                              double beta);

/* Tactics and cost of a step, as bsm_cuda_step_kind has them: those of its
 * problem, and "plain". Costs are in microseconds; that of any other tactic is
 * less than those of all tiles, since kinds of steps list theirs first. */
size_t bsm_cuda_mma_step_tactics(bsm_cuda_mma_problem_of *problem_of,
                                 const bsm_plan *plan,
                                 const bsm_plan_step *step, int sm,
                                 const char **names);
double bsm_cuda_mma_step_cost(bsm_cuda_mma_problem_of *problem_of,
                              const bsm_plan *plan, const bsm_plan_step *step,
                              int sm, const char *tactic);

/* Whether what is written and read stays in the cache, or a cost need not care:
 * else storing bounds how fast an SM does one tile after the other. */
bool bsm_cuda_mma_is_cached(const bsm_cuda_mma_problem *problem);
/* The same of a problem. */
double bsm_cuda_mma_cost(const bsm_cuda_mma_problem *problem, int sm,
                         const char *tactic);

/* Adds the launch of a problem with a tactic, or, when it is none of the above,
 * with the one that should be fastest; for a range of sizes always the latter,
 * of a few. The slots of a, b, y, bias and residual are the caller's. */
BSM_NODISCARD bsm_status
bsm_cuda_launch_mma(bsm_cuda_launches *l, const bsm_cuda_mma_problem *problem,
                    const char *tactic);

#endif /* BSM_BACKEND_CUDA_STEPS_CUDA_MMA_H_ */
