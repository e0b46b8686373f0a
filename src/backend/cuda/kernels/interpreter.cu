// SPDX-License-Identifier: Apache-2.0
// Element-wise programs, copies and fills that no kernel was generated for: for
// each element of the output the instructions, one by one. What they compute is
// what the code of element_wise.cu does, bit for bit. All addresses are typed.
#define CODES_VARY
#include "device.cuh"
#include "params.h"
#include "scalar.cuh"
#include "loops.cuh"

// What a register has: which of them is known from its held_as.
union held {
  float f;
  double d;
  i64 i;
  bool b;
};
struct typed {
  held value;
  int held_as;  // bsm_cuda_held
};

DEVICE typed make(float x) {
  typed t;
  t.value.f = x;
  t.held_as = BSM_CUDA_HELD_FLOAT;
  return t;
}
DEVICE typed make(double x) {
  typed t;
  t.value.d = x;
  t.held_as = BSM_CUDA_HELD_DOUBLE;
  return t;
}
DEVICE typed make(i64 x) {
  typed t;
  t.value.i = x;
  t.held_as = BSM_CUDA_HELD_INTEGER;
  return t;
}
DEVICE typed make(bool x) {
  typed t;
  t.value.b = x;
  t.held_as = BSM_CUDA_HELD_TRUTH;
  return t;
}

template <class V>
DEVICE V as(const typed &t) {
  switch (t.held_as) {
    case BSM_CUDA_HELD_FLOAT: return convert<V>::from(t.value.f);
    case BSM_CUDA_HELD_DOUBLE: return convert<V>::from(t.value.d);
    case BSM_CUDA_HELD_INTEGER: return convert<V>::from(t.value.i);
    default: return convert<V>::from(t.value.b);
  }
}

// As an element of a dtype holds it.
template <class T>
DEVICE typed rounded(const typed &t) {
  return make(element<T>::round(as<typename element<T>::value>(t)));
}
__device__ __noinline__ typed rounded(int dtype, const typed &t) {
  switch (dtype) {
    case DTYPE_U8: return rounded<u8>(t);
    case DTYPE_I8: return rounded<i8>(t);
    case DTYPE_I16: return rounded<i16>(t);
    case DTYPE_I32: return rounded<i32>(t);
    case DTYPE_I64: return rounded<i64>(t);
    case DTYPE_F16: return rounded<f16>(t);
    case DTYPE_BF16: return rounded<bf16>(t);
    case DTYPE_E4M3: return rounded<e4m3>(t);
    case DTYPE_F64: return rounded<double>(t);
    case DTYPE_BOOL: return rounded<bool>(t);
    default: return rounded<float>(t);
  }
}

__device__ __noinline__ typed load_typed(u64 base, i64 at) {
  switch (dtype_of(base)) {
    case DTYPE_F16:
    case DTYPE_BF16:
    case DTYPE_E4M3:
    case DTYPE_F32: return make(load<any_f32>(base, at));
    case DTYPE_F64: return make(load<any_f64>(base, at));
    case DTYPE_BOOL: return make(load<any_bool>(base, at));
    default: return make(load<any_i64>(base, at));
  }
}

__device__ __noinline__ void store_typed(u64 base, i64 at, const typed &t) {
  switch (t.held_as) {
    case BSM_CUDA_HELD_FLOAT: return store<any_f32>(base, at, t.value.f);
    case BSM_CUDA_HELD_DOUBLE: return store<any_f64>(base, at, t.value.d);
    case BSM_CUDA_HELD_INTEGER: return store<any_i64>(base, at, t.value.i);
    default: return store<any_bool>(base, at, t.value.b);
  }
}

DEVICE int bits_of(int dtype) {
  return dtype == DTYPE_I16   ? 16
         : dtype == DTYPE_I32 ? 32
         : dtype == DTYPE_I64 ? 64
                              : 8;
}

// Arithmetic: floats are computed with as they are, all others as integers.
template <class V>
DEVICE V compute(const bsm_cuda_instruction &i, V a, V b) {
  switch (i.operation) {
    case BSM_CUDA_UNARY: return unary(i.code, a);
    case BSM_CUDA_BINARY: return binary(i.code, a, b);
    case BSM_CUDA_ACTIVATION:
      return activate(i.code, a, (V)i.alpha, (V)i.beta);
    default: return a;
  }
}
DEVICE i64 compute(const bsm_cuda_instruction &i, i64 a, i64 b) {
  switch (i.operation) {
    case BSM_CUDA_UNARY:
      return unary_integer(i.dtype == DTYPE_BOOL, i.code, a);
    case BSM_CUDA_BINARY:
      return binary_integer(bits_of(i.dtype), i.dtype == DTYPE_U8, i.code, a,
                            b);
    case BSM_CUDA_ACTIVATION: return activate(i.code, a, i.alpha, i.beta);
    default: return a;
  }
}
DEVICE bool compute(const bsm_cuda_instruction &i, bool a, bool b) {
  return a;
}

template <class V>
DEVICE V constant(const bsm_cuda_instruction &i) { return (V)i.alpha; }
template <>
DEVICE i64 constant<i64>(const bsm_cuda_instruction &i) { return i.integer; }
template <>
DEVICE bool constant<bool>(const bsm_cuda_instruction &i) {
  return convert<bool>::from((i64)i.integer);
}

template <class V>
DEVICE typed run_as(const bsm_cuda_instruction &i, const typed *r) {
  switch (i.operation) {
    case BSM_CUDA_UNARY_TEST: return make(unary_test(i.code, as<V>(r[i.a])));
    case BSM_CUDA_BINARY_TEST:
      return make(binary_test<V>(i.code, as<V>(r[i.a]), as<V>(r[i.b])));
    case BSM_CUDA_CONSTANT: return make(constant<V>(i));
    case BSM_CUDA_SELECT:
      return make(as<bool>(r[i.a]) ? as<V>(r[i.b]) : as<V>(r[i.c]));
    case BSM_CUDA_BINARY:
      return make(compute(i, as<V>(r[i.a]), as<V>(r[i.b])));
    default: {
      const V a = as<V>(r[i.a]);
      return make(compute(i, a, a));
    }
  }
}

DEVICE typed run(const bsm_cuda_instruction &i, const typed *r) {
  switch (i.work) {
    case BSM_CUDA_HELD_FLOAT: return run_as<float>(i, r);
    case BSM_CUDA_HELD_DOUBLE: return run_as<double>(i, r);
    case BSM_CUDA_HELD_INTEGER: return run_as<i64>(i, r);
    default: return run_as<bool>(i, r);
  }
}

DEVICE i64 offset_of(const bsm_cuda_elements &e, int operand, const i64 *at) {
  i64 offset = 0;
  for (int loop = 0; loop < (int)e.loops; loop++) {
    offset += at[loop] * e.strides[operand][loop];
  }
  return offset;
}

KERNEL_OF(256, interpreter, bsm_cuda_program) {
  typed r[BSM_CUDA_MAX_REGISTERS];
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.e.count;
       i += step) {
    i64 at[BSM_CUDA_MAX_LOOPS], rest = i;
    for (int loop = (int)p.e.loops - 1; loop >= 0; loop--) {
      at[loop] = loop ? divide_by(rest, p.e.sizes[loop]) : rest;
    }
    for (int k = 0; k < (int)p.inputs; k++) {
      r[k] = load_typed(p.e.address[k + 1], offset_of(p.e, k + 1, at));
    }
    for (int k = 0; k < (int)p.count; k++) {
      const bsm_cuda_instruction &instruction = p.instructions[k];
      r[instruction.dst] = rounded(instruction.dtype, run(instruction, r));
    }
    store_typed(p.e.address[0], offset_of(p.e, 0, at), r[p.result]);
  }
}
