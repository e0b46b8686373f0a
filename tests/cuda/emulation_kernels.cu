// SPDX-License-Identifier: Apache-2.0
// Kernels that use what the emulation has, one thing each, and some that are
// wrong: see emulation_test.c and emulation_faults_test.c.
#include "device.cuh"

struct args {
  u32 *out;
  const u32 *in;
  int n;
};

#define THREAD (int)(blockIdx.x * blockDim.x + threadIdx.x)

KERNEL(add_one, args) {
  if (THREAD < p.n) p.out[THREAD] = p.in[THREAD] + 1;
}

// Where each thread is.
KERNEL(places, args) {
  const int block =
      (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const int thread =
      (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int size = blockDim.x * blockDim.y * blockDim.z;
  p.out[block * size + thread] = block << 16 | thread;
}

// A block reverses its elements through shared memory of both kinds.
KERNEL(reverse, args) {
  __shared__ u32 first[1024];
  DYNAMIC_SHARED(memory);
  u32 *second = (u32 *)memory;
  const int i = threadIdx.x, last = blockDim.x - 1;
  first[i] = p.in[THREAD];
  __syncthreads();
  second[i] = first[last - i];
  __syncthreads();
  p.out[THREAD] = second[i] + (second[last - i] == first[i] ? 0u : 1000u);
}

// Sums of blocks by a tree, with a barrier in a loop.
KERNEL(tree_sum, args) {
  __shared__ u32 part[1024];
  part[threadIdx.x] = THREAD < p.n ? p.in[THREAD] : 0;
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
  }
  if (threadIdx.x == 0) p.out[blockIdx.x] = part[0];
}

// Eight results of each lane.
KERNEL(warp_exchange, args) {
  const int lane = threadIdx.x % 32;
  const u32 all = 0xffffffffu, x = p.in[threadIdx.x];
  u32 *out = p.out + threadIdx.x * 8;
  out[0] = __shfl_sync(all, x, lane * 7 % 32);
  out[1] = __shfl_up_sync(all, x, 3);
  out[2] = __shfl_down_sync(all, x, 5, 16);
  out[3] = __shfl_xor_sync(all, x, 9);
  out[4] = __ballot_sync(all, x & 1u);
  out[5] = __any_sync(all, lane == 17) << 1 | __all_sync(all, lane < 32);
  out[6] = __reduce_add_sync(all, x);
  out[7] = __match_any_sync(all, x % 4);
}

// Each half of a warp by itself, a different number of times.
KERNEL(half_warps, args) {
  const int lane = threadIdx.x % 32;
  const u32 mask = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  u32 sum = p.in[threadIdx.x];
  for (int i = 0; i < (lane < 16 ? 4 : 9); i++) {
    sum += __shfl_xor_sync(mask, sum, 1 << i % 4);
  }
  __syncwarp();
  p.out[threadIdx.x] = sum;
}

// What shared memory, and a lane that takes no part, hold.
KERNEL(garbage, args) {
  __shared__ u32 never[32];
  DYNAMIC_SHARED(memory);
  if (threadIdx.x == 31) return;
  const u32 x = __shfl_sync(0xffffffffu, threadIdx.x, 31);
  p.out[threadIdx.x] = never[threadIdx.x] & ((u32 *)memory)[threadIdx.x] & x;
}

KERNEL(votes, args) {
  const int even = __syncthreads_count(threadIdx.x % 2 == 0);
  const int any = __syncthreads_or(threadIdx.x == 77);
  const int all = __syncthreads_and(threadIdx.x < 1024);
  p.out[threadIdx.x] = even << 2 | any << 1 | all;
}

// out: sum, greatest, least, bits, exchanged, compared, a float's sum, u64.
KERNEL(atomics, args) {
  const u32 x = p.in[THREAD];
  atomicAdd(p.out, x);
  atomicMax((int *)p.out + 1, (int)x - 100);
  atomicMin(p.out + 2, x);
  atomicOr(p.out + 3, 1u << (x & 31u));
  atomicExch(p.out + 4, 5u);
  for (u32 seen = p.out[5];;) {
    const u32 now = atomicCAS(p.out + 5, seen, seen + 2);
    if (now == seen) break;
    seen = now;
  }
  atomicAdd((float *)p.out + 6, 0.5f);
  atomicAdd((u64 *)(p.out + 8), 1ull << 32 | x);
}

KERNEL(bits, args) {
  const u32 x = p.in[THREAD];
  u32 *out = p.out + THREAD * 8;
  out[0] = __popc(x);
  out[1] = __clz(x);
  out[2] = __ffs(x);
  out[3] = __umulhi(x, 0x9e3779b9u);
  out[4] = __brev(x);
  out[5] = __byte_perm(x, ~x, 0x5140);
  out[6] = __funnelshift_l(x, ~x, 5);
  out[7] = __float_as_uint(rsqrtf((float)x));
}

// All halves to floats and back, and floats to both kinds.
KERNEL(from_halves, args) {
  f16 h = {(u16)THREAD};
  bf16 b = {(u16)THREAD};
  p.out[2 * THREAD] = __float_as_uint(to_float(h));
  p.out[2 * THREAD + 1] = __float_as_uint(to_float(b));
}
KERNEL(to_halves, args) {
  if (THREAD >= p.n) return;
  const float x = __uint_as_float(p.in[THREAD]);
  p.out[THREAD] =
      from_float<f16>(x).bits | (u32)from_float<bf16>(x).bits << 16;
}

// Four numbers at once, and the last ones by one.
KERNEL(copy4, args) {
  const int i = THREAD * 4;
  if (i + 4 <= p.n) {
    *(uint4 *)(p.out + i) = __ldg((const uint4 *)(p.in + i));
  } else {
    for (int k = i; k < p.n; k++) p.out[k] = __ldcg(p.in + k);
  }
}

// Two stages of asynchronous copies: the sum of four numbers of each chunk.
KERNEL(staged, args) {
  DYNAMIC_SHARED(memory);
  const u32 own = shared_address(memory) + threadIdx.x * 32;
  u32 sum = 0;
  copy16_async(own, p.in + threadIdx.x * 4, true);
  copies_commit();
  for (int i = 0; i < p.n; i++) {
    const bool more = i + 1 < p.n;
    copy16_async(own + (i + 1) % 2 * 16,
                 p.in + ((i + 1) * blockDim.x + threadIdx.x) * 4, more);
    copies_commit();
    copies_wait<1>();
    const u32 *x = (const u32 *)(memory + threadIdx.x * 32 + i % 2 * 16);
    sum += x[0] + x[1] + x[2] + x[3];
  }
  copies_wait<0>();
  // The last was zeros.
  const u32 *x = (const u32 *)(memory + threadIdx.x * 32 + p.n % 2 * 16);
  p.out[threadIdx.x] = sum + x[0] + x[3];
}
// Looks before the copy has come.
KERNEL(hasty, args) {
  DYNAMIC_SHARED(memory);
  copy16_async(shared_address(memory) + threadIdx.x * 16, p.in, true);
  copies_commit();
  p.out[threadIdx.x] = ((const u32 *)memory)[threadIdx.x * 4];
  copies_wait<0>();
}

// Forgets the barrier between two warps.
KERNEL(racy, args) {
  __shared__ u32 x[64];
  x[threadIdx.x] = threadIdx.x;
  p.out[threadIdx.x] = x[63 - threadIdx.x];
}

// A c fragment from a and b that lie in shared memory row by row: in has a
// (16 by 16), then b's columns (8 by 16), of T in pairs.
#ifdef T
KERNEL(one_product, args) {
  __shared__ __align__(16) u32 a[128], b[64];
  for (int i = threadIdx.x; i < 128; i += 32) a[i] = p.in[i];
  for (int i = threadIdx.x; i < 64; i += 32) b[i] = p.in[128 + i];
  __syncwarp();
  const int lane = threadIdx.x;
  u32 fa[4], fb[4], ft[4];
  ptx_ldmatrix_x4(shared_address(a + lane % 16 * 8 + lane / 16 * 4), fa);
  ptx_ldmatrix_x2(shared_address(b + lane % 8 * 8 + lane / 8 % 2 * 4), fb);
  float c[4] = {1, 2, 3, 4};
  multiply<T>(c, fa, fb);
  // What a transposed load gives: row and column change places.
  ptx_ldmatrix_x2_trans(shared_address(b + lane % 8 * 8 + lane / 8 % 2 * 4), ft);
  for (int i = 0; i < 4; i++) p.out[lane * 4 + i] = __float_as_uint(c[i]);
  for (int i = 0; i < 2; i++) p.out[128 + lane * 2 + i] = ft[i];
}
#endif

// ---- kernels that are wrong ----

KERNEL(beyond, args) { p.out[THREAD + p.n] = 1; }
KERNEL(before, args) { p.out[THREAD - p.n] = 1; }
KERNEL(reads_beyond, args) { p.out[0] = p.in[THREAD + p.n]; }
KERNEL(null, args) { *(volatile u32 *)(u64)(p.n) = 1; }
KERNEL(misaligned, args) { *(u32 *)((char *)p.out + THREAD + 2) = 1; }
KERNEL(shared_beyond, args) {
  DYNAMIC_SHARED(memory);
  memory[p.n + threadIdx.x] = 1;
}
KERNEL(index_beyond, args) {
  __shared__ u32 x[8];
  x[p.n + threadIdx.x] = 1;
  p.out[0] = x[0];
}
KERNEL(overflow, args) { p.out[0] = (u32)(p.n * (int)blockDim.x); }
KERNEL(by_zero, args) { p.out[0] = (u32)(100 / (p.n - (int)blockDim.x)); }
KERNEL(asserts, args) { assert(p.n == 3); }

KERNEL(half_block, args) {
  if (threadIdx.x < 32) __syncthreads();
}
KERNEL(half_warp, args) {
  if (threadIdx.x < 16) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}
KERNEL(sleeper, args) {
  while (((volatile u32 *)p.out)[0] != 1) __nanosleep(100);
}
KERNEL(wakes, args) {
  if (threadIdx.x == 64) p.out[0] = 1;
  if (threadIdx.x < 64) {
    while (((volatile u32 *)p.out)[0] != 1) __nanosleep(100);
  }
}
KERNEL(deep, args) {
  volatile u32 local[200000];
  for (int i = 0; i < 200000; i += 64) local[i] = p.n;
  p.out[0] = local[p.n];
}
KERNEL_OF(64, small_blocks, args) { p.out[THREAD] = 1; }
