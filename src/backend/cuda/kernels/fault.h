/* SPDX-License-Identifier: Apache-2.0 */
/* How a kernel tells of bad data: one record for each stream, in memory of the
 * host that the GPU writes to. The first one to take it fills it in. Read by
 * both sides: C, and CUDA C++ as NVRTC compiles it. */
#ifndef BSM_BACKEND_CUDA_KERNELS_FAULT_H_
#define BSM_BACKEND_CUDA_KERNELS_FAULT_H_

#if !defined(__CUDACC_RTC__) && !defined(BSM_EMULATED)
#include <stdint.h>
typedef uint32_t bsm_cuda_u32;
typedef int32_t bsm_cuda_i32;
typedef int64_t bsm_cuda_i64;
typedef uint64_t bsm_cuda_u64;
#else
typedef unsigned int bsm_cuda_u32;
typedef int bsm_cuda_i32;
typedef long long bsm_cuda_i64;
typedef unsigned long long bsm_cuda_u64;
#endif

enum {
  BSM_CUDA_FAULT_INDEX = 1 /* an index that is out of range */
};

typedef struct bsm_cuda_fault {
  bsm_cuda_u32 taken;        /* 0: nothing happened */
  bsm_cuda_u32 what;         /* 0: the rest is not complete yet */
  bsm_cuda_u64 step;         /* as the parameters of the kernel had it */
  bsm_cuda_i64 value, limit; /* the index, and how many there are */
  bsm_cuda_i64 dimension;    /* that it is for; -1: not told */
} bsm_cuda_fault;

/* In the parameters of a kernel that can fail. */
typedef struct bsm_cuda_fault_place {
  bsm_cuda_u64 record; /* address of the stream's record */
  bsm_cuda_u64 step;
} bsm_cuda_fault_place;

#endif /* BSM_BACKEND_CUDA_KERNELS_FAULT_H_ */
