// SPDX-License-Identifier: Apache-2.0
// Every instruction that CUDA C++ has no name for, as a function of plain
// types. Nothing else has inline assembly: tests that run kernels on the host
// replace this file by functions of the same names (tests/cuda/emulation).
#pragma once

#define PTX static __device__ __forceinline__

// ---- conversions: nearest even; a NaN becomes 0x7fff ----

PTX float ptx_f16_to_f32(unsigned short x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
PTX unsigned short ptx_f32_to_f16(float x) {
  unsigned short y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
PTX unsigned short ptx_f32_to_bf16(float x) {
#if __CUDA_ARCH__ >= 800
  unsigned short y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
#else
  const unsigned bits = __float_as_uint(x);
  const unsigned rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return x != x ? (unsigned short)0x7fff : (unsigned short)(rounded >> 16);
#endif
}

// Two numbers, the first one in the lower half.
PTX unsigned ptx_f32_to_f16_pair(float low, float high) {
#if __CUDA_ARCH__ >= 800
  unsigned y;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
  return y;
#else
  return ptx_f32_to_f16(low) | (unsigned)ptx_f32_to_f16(high) << 16;
#endif
}
PTX unsigned ptx_f32_to_bf16_pair(float low, float high) {
#if __CUDA_ARCH__ >= 800
  unsigned y;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
  return y;
#else
  return ptx_f32_to_bf16(low) | (unsigned)ptx_f32_to_bf16(high) << 16;
#endif
}

#if __CUDA_ARCH__ >= 890
// Two numbers as e4m3, the first one in the lower byte; what is too great
// becomes the greatest.
PTX unsigned short ptx_f32_to_e4m3_pair(float low, float high) {
  unsigned short y;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(y) : "f"(high), "f"(low));
  return y;
}
// As f16, which has all of them.
PTX unsigned ptx_e4m3_pair_to_f16(unsigned short x) {
  unsigned y;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(y) : "h"(x));
  return y;
}
#endif

// The larger one, or NaN when one is.
PTX float ptx_largest(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
#else
  return a != a || a > b ? a : b;
#endif
}

// 2^x, off by at most 2^-22 of it; 0 where that is below the normal numbers.
PTX float ptx_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// 1 / x, off by one place at most; 0 where that is below the normal numbers.
PTX float ptx_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// ---- shared memory and asynchronous copies ----

// What the instructions on shared memory take for an address.
PTX unsigned ptx_shared_address(const void *p) {
  unsigned a;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }"
      : "=r"(a)
      : "l"(p));
  return a;
}

// 16 bytes, of which `valid`, an even number, are copied and the rest are
// zeros. Below sm_80 it is done at once.
PTX void ptx_copy16_async(unsigned to, const void *from, unsigned valid) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
               "l"(from), "r"(valid)
               : "memory");
#else
  unsigned x[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const unsigned short *at = (const unsigned short *)from + 2 * i;
    x[i] = (4 * i < valid ? at[0] : 0u) | (4 * i + 2 < valid ? at[1] : 0u) << 16;
  }
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x[0]),
               "r"(x[1]), "r"(x[2]), "r"(x[3])
               : "memory");
#endif
}
// All of 16, 8 or 4 bytes.
template <int BYTES>
PTX void ptx_copy_async(unsigned to, const void *from) {
#if __CUDA_ARCH__ >= 800
  if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to),
                 "l"(from)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to),
                 "l"(from), "n"(BYTES)
                 : "memory");
  }
#else
#pragma unroll
  for (int i = 0; i < BYTES / 4; i++) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(to + 4 * i),
                 "r"(((const unsigned *)from)[i])
                 : "memory");
  }
#endif
}
PTX void ptx_copies_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Until all groups but the newest LEFT have come, for this thread.
template <int LEFT>
PTX void ptx_copies_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

// ---- the kernels before and after in the stream ----

// Those after may be launched when all blocks have come here.
PTX void ptx_launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
// Until all before have ended and their writes are visible.
PTX void ptx_wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// ---- blocks of a cluster ----

#if __CUDA_ARCH__ >= 900
// What was written before arriving is seen after waiting, by all blocks.
PTX void ptx_cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
PTX void ptx_cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// To the place in the shared memory of block `rank` that `address` is here.
PTX void ptx_cluster_store(unsigned address, unsigned rank, float x) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(there)
      : "r"(address), "r"(rank));
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there), "f"(x)
               : "memory");
}
// The same of 16 bytes, at a multiple of as many.
PTX void ptx_cluster_store16(unsigned address, unsigned rank,
                             const unsigned *x) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(there)
      : "r"(address), "r"(rank));
  asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(there),
               "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
               : "memory");
}
#endif

// ---- matrices in a warp ----

// 8 by 8 elements of 16 bits each; lane 8 i + r gives the address of row r of
// matrix i.
PTX void ptx_ldmatrix_x4(unsigned address, unsigned *r) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(address)
      : "memory");
}
PTX void ptx_ldmatrix_x2(unsigned address, unsigned *r) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(address)
               : "memory");
}
PTX void ptx_ldmatrix_x4_trans(unsigned address, unsigned *r) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(address)
      : "memory");
}
PTX void ptx_ldmatrix_x2_trans(unsigned address, unsigned *r) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(address)
               : "memory");
}

// c[16][8] += a[16][k] b[k][8]; the layouts of the PTX ISA manual.
PTX void ptx_mma_m16n8k8_f16(float *c, const unsigned *a, const unsigned *b) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
      "{%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
PTX void ptx_mma_m16n8k16_f16(float *c, const unsigned *a, const unsigned *b) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  ptx_mma_m16n8k8_f16(c, a, b);
  ptx_mma_m16n8k8_f16(c, a + 2, b + 1);
#endif
}
// The same of bytes: `a` is unsigned, b signed; sums wrap.
PTX void ptx_mma_m8n8k16_u8_s8(int *c, unsigned a, unsigned b) {
  asm volatile(
      "mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32 {%0, %1}, {%2}, {%3}, "
      "{%0, %1};"
      : "+r"(c[0]), "+r"(c[1])
      : "r"(a), "r"(b));
}
PTX void ptx_mma_m16n8k32_u8_s8(int *c, const unsigned *a, const unsigned *b) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
#pragma unroll
  for (int i = 0; i < 2; i++) {
    ptx_mma_m8n8k16_u8_s8(c, a[2 * i], b[i]);
    ptx_mma_m8n8k16_u8_s8(c + 2, a[2 * i + 1], b[i]);
  }
#endif
}
#if __CUDA_ARCH__ >= 890
// The same of e4m3.
PTX void ptx_mma_m16n8k32_e4m3(float *c, const unsigned *a, const unsigned *b) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif
#if __CUDA_ARCH__ >= 800
PTX void ptx_mma_m16n8k16_bf16(float *c, const unsigned *a, const unsigned *b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// Nearest, ties away from zero: what the product takes.
PTX unsigned ptx_f32_to_tf32(float x) {
  unsigned y;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
  return y;
}
PTX void ptx_mma_m16n8k8_tf32(float *c, const unsigned *a, const unsigned *b) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#else
// Products of tf32 begin with sm_80: where there are none, the name alone is
// needed.
PTX unsigned ptx_f32_to_tf32(float x) {
  return __float_as_uint(x);
}
#endif
