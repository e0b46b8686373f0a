// SPDX-License-Identifier: Apache-2.0
// The instructions of sm_90 that CUDA C++ has no name for, as ptx.cuh has those
// of earlier GPUs: barriers that count bytes, copies of tiles of tensors, and
// products of warpgroups. Tests that run kernels on the host replace this file
// by functions of the same names (tests/cuda/emulation).
#pragma once

// ---- barriers in shared memory ----

// A phase ends when `count` threads have arrived and all bytes that were
// announced have come.
PTX void ptx_mbarrier_init(unsigned barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier),
               "r"(count)
               : "memory");
}
// After the last initialisation, before the barrier of the block.
PTX void ptx_mbarrier_init_done() {
  asm volatile(
      "fence.mbarrier_init.release.cluster;\n"
      "fence.proxy.async.shared::cta;" ::
          : "memory");
}
PTX void ptx_mbarrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier)
               : "memory");
}
// The same, and announces bytes.
PTX void ptx_mbarrier_expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   barrier),
               "r"(bytes)
               : "memory");
}
// Until the phase of that parity has ended; the first one has parity 0.
PTX void ptx_mbarrier_wait(unsigned barrier, unsigned parity) {
  unsigned done = 0;
  while (!done) {
    asm volatile(
        "{ .reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  }
}

// The barrier `id` of `threads` threads of the block.
PTX void ptx_barrier(int id, int threads) {
  asm volatile("barrier.sync.aligned %0, %1;" ::"r"(id), "r"(threads)
               : "memory");
}

// ---- tiles of tensors, whose maps the driver makes ----

PTX void ptx_prefetch_map(const void *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
// What lies outside of the tensor is zero. The barrier gets all bytes of the
// tile.
PTX void ptx_copy_tile_3d(unsigned to, const void *map, unsigned barrier,
                          int c0, int c1, int c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::"
      "complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}
PTX void ptx_copy_tile_5d(unsigned to, const void *map, unsigned barrier,
                          int c0, int c1, int c2, int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::"
      "complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}
// Pixels of images, from one on, of those that windows begin at; of each some
// maps of the pixel that is `dx`, `dy` (and `dz`) away.
PTX void ptx_copy_pixels_4d(unsigned to, const void *map, unsigned barrier,
                            int c, int x, int y, int n, int dx, int dy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::"
      "complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(
          to),
      "l"(map), "r"(barrier), "r"(c), "r"(x), "r"(y), "r"(n),
      "h"((short)dx), "h"((short)dy)
      : "memory");
}
PTX void ptx_copy_pixels_5d(unsigned to, const void *map, unsigned barrier,
                            int c, int x, int y, int z, int n, int dx, int dy,
                            int dz) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::"
      "complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, "
      "%10};" ::"r"(to),
      "l"(map), "r"(barrier), "r"(c), "r"(x), "r"(y), "r"(z), "r"(n),
      "h"((short)dx), "h"((short)dy), "h"((short)dz)
      : "memory");
}

// Of a thread: tiles of shared memory are stored; what lies outside of the
// tensor is left out.
PTX void ptx_store_tile_3d(const void *map, unsigned from, int c0, int c1,
                           int c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, "
      "%3, %4}], [%1];" ::"l"(map),
      "r"(from), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}
PTX void ptx_store_tile_5d(const void *map, unsigned from, int c0, int c1,
                           int c2, int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%2, "
      "%3, %4, %5, %6}], [%1];" ::"l"(map),
      "r"(from), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}
PTX void ptx_stores_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Until shared memory has been read by all groups but the newest LEFT.
template <int LEFT>
PTX void ptx_stores_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}
// Until all have been stored.
PTX void ptx_stores_wait() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
// What a thread has written to shared memory is there for copies of tiles.
PTX void ptx_fence_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- elements on their way to shared memory ----

// As ldmatrix loads them: 8 by 8 elements of 16 bits each; lane 8 i + r gives
// the address of row r of matrix i.
PTX void ptx_stmatrix_x4(unsigned address, const unsigned *r) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
          address),
      "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
      : "memory");
}

// ---- products of a warpgroup: d[64][N] += a[64][16] b[16][N] ----

// PTX for later GPUs has none of them (warpgroup.cuh).
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define HAS_WGMMA 1

// What ran before touches shared memory and registers before what follows.
PTX void ptx_wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
PTX void ptx_wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Until all groups but the newest LEFT have been multiplied.
template <int LEFT>
PTX void ptx_wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

#define SUM(i) "+f"(d[i])
#define SUMS_8(i)                                                        \
  SUM(i), SUM(i + 1), SUM(i + 2), SUM(i + 3), SUM(i + 4), SUM(i + 5),    \
      SUM(i + 6), SUM(i + 7)
#define SUMS_16(i) SUMS_8(i), SUMS_8(i + 8)
#define SUMS_32(i) SUMS_16(i), SUMS_16(i + 16)
#define SUMS_48(i) SUMS_32(i), SUMS_16(i + 32)
#define SUMS_64(i) SUMS_32(i), SUMS_32(i + 32)
#define SUMS_96(i) SUMS_64(i), SUMS_32(i + 64)
#define SUMS_128(i) SUMS_64(i), SUMS_64(i + 64)
#define OPERANDS_16 \
  "%0, %1, %2, %3, %4, %5, %6, %7" \
  ", %8, %9, %10, %11, %12, %13, %14, %15"
#define OPERANDS_32 \
  OPERANDS_16 \
  ", %16, %17, %18, %19, %20, %21, %22, %23" \
  ", %24, %25, %26, %27, %28, %29, %30, %31"
#define OPERANDS_48 \
  OPERANDS_32 \
  ", %32, %33, %34, %35, %36, %37, %38, %39" \
  ", %40, %41, %42, %43, %44, %45, %46, %47"
#define OPERANDS_64 \
  OPERANDS_48 \
  ", %48, %49, %50, %51, %52, %53, %54, %55" \
  ", %56, %57, %58, %59, %60, %61, %62, %63"
#define OPERANDS_96 \
  OPERANDS_64 \
  ", %64, %65, %66, %67, %68, %69, %70, %71" \
  ", %72, %73, %74, %75, %76, %77, %78, %79" \
  ", %80, %81, %82, %83, %84, %85, %86, %87" \
  ", %88, %89, %90, %91, %92, %93, %94, %95"
#define OPERANDS_128 \
  OPERANDS_96 \
  ", %96, %97, %98, %99, %100, %101, %102, %103" \
  ", %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119" \
  ", %120, %121, %122, %123, %124, %125, %126, %127"
// `a` and `b` describe matrices in shared memory, b with a row for each k where
// B_ROWS is 1, and for each column where it is 0; `adds` is 0 when d is only
// written.
#define WGMMA(n, sums, a, b, adds, rows, type)                                 \
  template <int B_ROWS>                                                        \
  PTX void ptx_wgmma_n##n##_##type(float *d, unsigned long long desc_a,        \
                                   unsigned long long desc_b, int adding) {    \
    asm volatile(                                                              \
        "{ .reg .pred p;\n"                                                    \
        "setp.ne.b32 p, %" #adds                                               \
        ", 0;\n"                                                               \
        "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." #type "." #type      \
        " {" OPERANDS_##sums "}, %" #a ", %" #b ", p, 1, 1, 0, %" #rows "; }"  \
        : SUMS_##sums(0)                                                       \
        : "l"(desc_a), "l"(desc_b), "r"(adding), "n"(B_ROWS)                   \
        : "memory");                                                           \
  }
#define WGMMA_OF_BOTH(n, sums, a, b, adds, rows) \
  WGMMA(n, sums, a, b, adds, rows, f16)          \
  WGMMA(n, sums, a, b, adds, rows, bf16)
// The same with `a` in registers: of each warp as mma has it; always added.
#define HELD_WGMMA(n, sums, a0, a1, a2, a3, b, type)                     \
  PTX void ptx_held_wgmma_n##n##_##type(float *d, const unsigned *a,           \
                                        unsigned long long desc_b) {           \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." #type "."   \
                 #type " {" OPERANDS_##sums "}, {%" #a0 ", %" #a1 ", %" #a2    \
                 ", %" #a3 "}, %" #b ", 1, 1, 1, 1;"                           \
                 : SUMS_##sums(0)                                              \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc_b)     \
                 : "memory");                                                  \
  }
#define HELD_WGMMA_OF_BOTH(n, sums, a0, a1, a2, a3, b) \
  HELD_WGMMA(n, sums, a0, a1, a2, a3, b, f16)          \
  HELD_WGMMA(n, sums, a0, a1, a2, a3, b, bf16)
HELD_WGMMA_OF_BOTH(64, 32, 32, 33, 34, 35, 36)
HELD_WGMMA_OF_BOTH(128, 64, 64, 65, 66, 67, 68)
HELD_WGMMA_OF_BOTH(192, 96, 96, 97, 98, 99, 100)
HELD_WGMMA_OF_BOTH(256, 128, 128, 129, 130, 131, 132)
WGMMA_OF_BOTH(32, 16, 16, 17, 18, 19)
WGMMA_OF_BOTH(64, 32, 32, 33, 34, 35)
WGMMA_OF_BOTH(96, 48, 48, 49, 50, 51)
WGMMA_OF_BOTH(128, 64, 64, 65, 66, 67)
WGMMA_OF_BOTH(192, 96, 96, 97, 98, 99)
WGMMA_OF_BOTH(256, 128, 128, 129, 130, 131)
// The same of tf32, of which 8 along k are multiplied, with `a` in registers; b
// has a row for each column, and its numbers are cut off to tf32.
#define WGMMA_OF_TF32(n, sums, a0, a1, a2, a3, b, adds)                        \
  PTX void ptx_wgmma_n##n##_tf32(float *d, const unsigned *a,                  \
                                 unsigned long long desc_b, int adding) {      \
    asm volatile(                                                              \
        "{ .reg .pred p;\n"                                                    \
        "setp.ne.b32 p, %" #adds                                               \
        ", 0;\n"                                                               \
        "wgmma.mma_async.sync.aligned.m64n" #n "k8.f32.tf32.tf32"              \
        " {" OPERANDS_##sums "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3         \
        "}, %" #b ", p, 1, 1; }"                                               \
        : SUMS_##sums(0)                                                       \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc_b), "r"(adding) \
        : "memory");                                                           \
  }
WGMMA_OF_TF32(32, 16, 16, 17, 18, 19, 20, 21)
WGMMA_OF_TF32(64, 32, 32, 33, 34, 35, 36, 37)
WGMMA_OF_TF32(96, 48, 48, 49, 50, 51, 52, 53)
WGMMA_OF_TF32(128, 64, 64, 65, 66, 67, 68, 69)
WGMMA_OF_TF32(192, 96, 96, 97, 98, 99, 100, 101)
WGMMA_OF_TF32(256, 128, 128, 129, 130, 131, 132, 133)
// The same of unsigned and signed bytes, of which 32 along k are multiplied.
#undef SUM
#define SUM(i) "+r"(d[i])
#define WGMMA_OF_BYTES(n, sums, a, b, adds)                                    \
  PTX void ptx_wgmma_n##n##_u8_s8(int *d, unsigned long long desc_a,           \
                                  unsigned long long desc_b, int adding) {     \
    asm volatile(                                                              \
        "{ .reg .pred p;\n"                                                    \
        "setp.ne.b32 p, %" #adds                                               \
        ", 0;\n"                                                               \
        "wgmma.mma_async.sync.aligned.m64n" #n "k32.s32.u8.s8"                 \
        " {" OPERANDS_##sums "}, %" #a ", %" #b ", p; }"                       \
        : SUMS_##sums(0)                                                       \
        : "l"(desc_a), "l"(desc_b), "r"(adding)                                \
        : "memory");                                                           \
  }
WGMMA_OF_BYTES(32, 16, 16, 17, 18)
WGMMA_OF_BYTES(64, 32, 32, 33, 34)
WGMMA_OF_BYTES(96, 48, 48, 49, 50)
WGMMA_OF_BYTES(128, 64, 64, 65, 66)
WGMMA_OF_BYTES(192, 96, 96, 97, 98)
WGMMA_OF_BYTES(256, 128, 128, 129, 130)
// The same of e4m3, whose sums are floats.
#undef SUM
#define SUM(i) "+f"(d[i])
#define WGMMA_OF_E4M3(n, sums, a, b, adds)                                     \
  PTX void ptx_wgmma_n##n##_e4m3(float *d, unsigned long long desc_a,          \
                                 unsigned long long desc_b, int adding) {      \
    asm volatile(                                                              \
        "{ .reg .pred p;\n"                                                    \
        "setp.ne.b32 p, %" #adds                                               \
        ", 0;\n"                                                               \
        "wgmma.mma_async.sync.aligned.m64n" #n "k32.f32.e4m3.e4m3"             \
        " {" OPERANDS_##sums "}, %" #a ", %" #b ", p, 1, 1; }"                 \
        : SUMS_##sums(0)                                                       \
        : "l"(desc_a), "l"(desc_b), "r"(adding)                                \
        : "memory");                                                           \
  }
WGMMA_OF_E4M3(32, 16, 16, 17, 18)
WGMMA_OF_E4M3(64, 32, 32, 33, 34)
WGMMA_OF_E4M3(96, 48, 48, 49, 50)
WGMMA_OF_E4M3(128, 64, 64, 65, 66)
WGMMA_OF_E4M3(192, 96, 96, 97, 98)
WGMMA_OF_E4M3(256, 128, 128, 129, 130)
#endif
