// SPDX-License-Identifier: Apache-2.0
// Moves states of a recurrent network between tensors and arrays of what their
// elements are held in: before the sequence and, with K_OUT=1, after it.
// Options: K_T; of the step: K_OUT.
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"

#ifndef K_OUT
#define K_OUT p.out
#endif

typedef element<K_T>::value value;

KERNEL_OF(256, states, bsm_cuda_states) {
  const int which = blockIdx.y;
  const i64 size = p.size[which];
  value *array = (value *)p.array[which];
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count[which];
       i += (i64)gridDim.x * blockDim.x) {
    const i64 row = i / size;
    const i64 at = row / p.batch * p.strides[which][0] +
                   row % p.batch * p.strides[which][1] +
                   i % size * p.strides[which][2];
    if (K_OUT) {
      store<K_T>(p.tensor[which], at, array[i]);
    } else {
      array[i] = load<K_T>(p.tensor[which], at);
    }
  }
}
