/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of kernels/ptx.cuh for the host: the same names and types, with
 * the roundings and the layouts of the PTX ISA manual. */
#ifndef TESTS_CUDA_EMULATION_PTX_ON_HOST_H_
#define TESTS_CUDA_EMULATION_PTX_ON_HOST_H_

/* ---- conversions: nearest even; a NaN becomes the one of the device ---- */

inline float ptx_f16_to_f32(unsigned short x) {
  const unsigned sign = (x & 0x8000u) << 16, rest = x & 0x7fffu;
  if (rest > 0x7c00u) return __uint_as_float(0x7fffffffu);
  if (rest == 0x7c00u) return __uint_as_float(sign | 0x7f800000u);
  /* Exact for small numbers too, whose exponent is 0 in both formats. */
  const float y = __uint_as_float(rest << 13) * 0x1p112f;
  return __uint_as_float(__float_as_uint(y) | sign);
}

inline unsigned short ptx_f32_to_f16(float x) {
  const unsigned bits = __float_as_uint(x), rest = bits & 0x7fffffffu;
  const unsigned sign = bits >> 16 & 0x8000u;
  if (rest > 0x7f800000u) return 0x7fff;
  if (rest >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
  if (rest < 0x38800000u) { /* the sum's last bit is 2^-24 */
    const float y = __uint_as_float(rest) + 0.5f;
    return (unsigned short)(sign | (__float_as_uint(y) - 0x3f000000u));
  }
  const unsigned rounded = rest + 0xfffu + (rest >> 13 & 1u);
  return (unsigned short)(sign | (rounded - 0x38000000u) >> 13);
}

inline unsigned short ptx_f32_to_bf16(float x) {
  const unsigned bits = __float_as_uint(x);
  if (x != x) return 0x7fff;
  return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* Nearest, ties away from zero. */
inline unsigned ptx_f32_to_tf32(float x) {
  if (x != x) return 0x7fffffffu;
  return (__float_as_uint(x) + 0x1000u) & ~0x1fffu;
}

inline unsigned ptx_f32_to_f16_pair(float low, float high) {
  return ptx_f32_to_f16(low) | (unsigned)ptx_f32_to_f16(high) << 16;
}
inline unsigned ptx_f32_to_bf16_pair(float low, float high) {
  return ptx_f32_to_bf16(low) | (unsigned)ptx_f32_to_bf16(high) << 16;
}

inline float emulated_e4m3_to_f32(unsigned char x) {
  const unsigned sign = (x & 0x80u) << 24, rest = x & 0x7fu;
  if (rest == 0x7fu) return __uint_as_float(0x7fffffffu);
  /* Exact for small numbers too, whose exponent is 0 in both formats. */
  const float y = __uint_as_float(rest << 20) * 0x1p120f;
  return __uint_as_float(__float_as_uint(y) | sign);
}
/* What is too great becomes the greatest. */
inline unsigned char emulated_f32_to_e4m3(float x) {
  const unsigned sign = __float_as_uint(x) >> 24 & 0x80u;
  const float size = __uint_as_float(__float_as_uint(x) & 0x7fffffffu);
  if (x != x) return (unsigned char)(sign | 0x7fu);
  if (size >= 448) return (unsigned char)(sign | 0x7eu);
  if (size < 0x1p-6f) { /* the sum's last bit is 2^-9 */
    const float y = size + 0x1p14f;
    return (unsigned char)(sign | (__float_as_uint(y) - 0x46800000u));
  }
  const unsigned bits = __float_as_uint(size);
  const unsigned rounded = bits + 0x7ffffu + (bits >> 20 & 1u);
  return (unsigned char)(sign | (rounded - 0x3c000000u) >> 20);
}
inline unsigned short ptx_f32_to_e4m3_pair(float low, float high) {
  return (unsigned short)(emulated_f32_to_e4m3(low) | emulated_f32_to_e4m3(high)
                                                          << 8);
}
inline unsigned ptx_e4m3_pair_to_f16(unsigned short x) {
  return ptx_f32_to_f16(emulated_e4m3_to_f32((unsigned char)x)) |
         (unsigned)ptx_f32_to_f16(emulated_e4m3_to_f32((unsigned char)(x >> 8)))
             << 16;
}

inline float ptx_largest(float a, float b) {
  return a != a || a > b ? a : b;
}

inline float ptx_exp2(float x) {
  const float y = exp2f(x);
  return y < 0x1p-126f ? 0.0f : y;
}

inline float ptx_reciprocal(float x) {
  const float y = 1.0f / x;
  return y < 0x1p-126f && y > -0x1p-126f ? 0.0f : y;
}

/* ---- shared memory: variables of the module, then the dynamic part ---- */

#define EMULATED_DYNAMIC_WINDOW 0x1000000u

inline unsigned ptx_shared_address(const void *at) {
  const char *p = static_cast<const char *>(at);
  if (p >= emulated.shared && p < emulated.shared_end) {
    return (unsigned)(p - emulated.shared);
  }
  if (p >= emulated.dynamic_shared &&
      p <= emulated.dynamic_shared + emulated.dynamic_bytes) {
    return EMULATED_DYNAMIC_WINDOW + (unsigned)(p - emulated.dynamic_shared);
  }
  emulated_fail(700, "the address of what is not in shared memory is taken");
}

inline char *emulated_at_shared(unsigned address, unsigned bytes) {
  if (address % bytes) {
    emulated_fail(716, "a misaligned address in shared memory");
  }
  const unsigned variables = (unsigned)(emulated.shared_end - emulated.shared);
  if (address < variables && bytes <= variables - address) {
    return emulated.shared + address;
  }
  const unsigned at = address - EMULATED_DYNAMIC_WINDOW;
  if (address >= EMULATED_DYNAMIC_WINDOW && at < emulated.dynamic_bytes &&
      bytes <= emulated.dynamic_bytes - at) {
    return emulated.dynamic_shared + at;
  }
  emulated_fail(700, "an address beyond shared memory");
}

/* ---- clusters: what was arrived at and not waited for is not seen ---- */

inline void ptx_cluster_arrive() {}
inline void ptx_cluster_wait() {
  emulated.calls->cluster();
}
inline void ptx_cluster_store(unsigned address, unsigned rank, float x) {
  const ptrdiff_t blocks = (ptrdiff_t)rank - (ptrdiff_t)emulated.thread->rank;
  char *at = emulated_at_shared(address, 4);
  if (address < EMULATED_DYNAMIC_WINDOW) {
    emulated_fail(700, "a variable of another block is written");
  }
  memcpy(at + blocks * (ptrdiff_t)emulated.cluster_pitch, &x, sizeof(x));
}
inline void ptx_cluster_store16(unsigned address, unsigned rank,
                                const unsigned *x) {
  const ptrdiff_t blocks = (ptrdiff_t)rank - (ptrdiff_t)emulated.thread->rank;
  char *at = emulated_at_shared(address, 16);
  if (address < EMULATED_DYNAMIC_WINDOW) {
    emulated_fail(700, "a variable of another block is written");
  }
  memcpy(at + blocks * (ptrdiff_t)emulated.cluster_pitch, x, 16);
}

/* ---- asynchronous copies ---- */

/* What is copied comes as late as it may, and is garbage before. */
inline void emulated_finish_copy(emulated_thread *t) {
  const emulated_copy c = t->copy[0];
  t->copies--;
  memmove(t->copy, t->copy + 1, t->copies * sizeof(c));
  if (c.valid) memcpy(c.to, c.from, c.valid);
  memset(static_cast<char *>(c.to) + c.valid, 0, c.bytes - c.valid);
}
inline void emulated_copy_async(unsigned to, const void *from, unsigned bytes,
                                unsigned valid) {
  emulated_thread *t = emulated.thread;
  if (reinterpret_cast<uintptr_t>(from) % bytes) {
    emulated_fail(716, "a misaligned source of an asynchronous copy");
  }
  if (t->copies == EMULATED_COPIES) emulated_finish_copy(t);
  char *at = emulated_at_shared(to, bytes);
  memset(at, 0xff, bytes);
  t->copy[t->copies++] = {at, from, bytes, valid, t->group};
}
inline void ptx_copy16_async(unsigned to, const void *from, unsigned valid) {
  emulated_copy_async(to, from, 16, valid);
}
template <int BYTES>
inline void ptx_copy_async(unsigned to, const void *from) {
  emulated_copy_async(to, from, BYTES, BYTES);
}
inline void ptx_copies_commit() {
  emulated.thread->group++;
}
template <int LEFT>
inline void ptx_copies_wait() {
  emulated_thread *t = emulated.thread;
  while (t->copies && t->group - t->copy[0].group > LEFT) {
    emulated_finish_copy(t);
  }
}

/* ---- matrices in a warp ---- */

struct emulated_matrices {
  unsigned address;
  unsigned *result;
};

inline void emulated_need_warp(unsigned present) {
  if (present != 0xffffffffu) {
    emulated_fail(719, "an instruction of a whole warp without all its lanes");
  }
}

template <int COUNT, bool TRANSPOSED>
inline void emulated_do_load(void *const *lanes, unsigned present) {
  emulated_need_warp(present);
  for (int m = 0; m < COUNT; m++) {
    unsigned short rows[8][8];
    for (int r = 0; r < 8; r++) {
      const unsigned from =
          static_cast<emulated_matrices *>(lanes[m * 8 + r])->address;
      memcpy(rows[r], emulated_at_shared(from, 16), 16);
    }
    for (int i = 0; i < 32; i++) {
      const int r = i / 4, c = i % 4 * 2;
      const unsigned low = TRANSPOSED ? rows[c][r] : rows[r][c];
      const unsigned high = TRANSPOSED ? rows[c + 1][r] : rows[r][c + 1];
      static_cast<emulated_matrices *>(lanes[i])->result[m] = low | high << 16;
    }
  }
}
#define EMULATED_LDMATRIX(name, count, transposed)                         \
  inline void name(unsigned address, unsigned *result) {                   \
    emulated_matrices own = {address, result};                             \
    emulated.calls->meet(0xffffffffu, emulated_do_load<count, transposed>, \
                         &own);                                            \
  }
/* Kernels run one after the other. */
inline void ptx_wait_for_previous() {}

EMULATED_LDMATRIX(ptx_ldmatrix_x4, 4, false)
EMULATED_LDMATRIX(ptx_ldmatrix_x2, 2, false)
EMULATED_LDMATRIX(ptx_ldmatrix_x4_trans, 4, true)
EMULATED_LDMATRIX(ptx_ldmatrix_x2_trans, 2, true)
#undef EMULATED_LDMATRIX

struct emulated_mma {
  float *c;
  const unsigned *a, *b;
};

struct emulated_f16 {
  static float at(const unsigned *r, int i) {
    return ptx_f16_to_f32((unsigned short)(r[i / 2] >> (i % 2 * 16)));
  }
  static const int per_register = 2;
};
struct emulated_bf16 {
  static float at(const unsigned *r, int i) {
    return __uint_as_float(r[i / 2] >> (i % 2 * 16) << 16);
  }
  static const int per_register = 2;
};
struct emulated_tf32 {
  static float at(const unsigned *r, int i) {
    return __uint_as_float(r[i] & ~0x1fffu);
  }
  static const int per_register = 1;
};

struct emulated_e4m3 {
  static float at(const unsigned *r, int i) {
    return emulated_e4m3_to_f32((unsigned char)(r[i / 4] >> (i % 4 * 8)));
  }
  static const int per_register = 4;
};

/* c[16][8] += a[16][K] b[K][8]. The products of one element are added exactly
 * enough to be rounded once. */
template <class E, int K>
__attribute__((optimize("O3"))) inline void emulated_do_mma(void *const *lanes,
                                                            unsigned present) {
  constexpr int P = E::per_register; /* neighbours in k that a lane has */
  double a[16][K], b[K][8];
  emulated_need_warp(present);
  for (int i = 0; i < 32; i++) {
    const emulated_mma *lane = static_cast<const emulated_mma *>(lanes[i]);
    const int row = i / 4, k0 = i % 4 * P;
    for (int h = 0; h < K / (4 * P); h++) {
      for (int j = 0; j < P; j++) {
        const int k = h * 4 * P + k0 + j;
        a[row][k] = E::at(lane->a, 2 * h * P + j);
        a[row + 8][k] = E::at(lane->a, (2 * h + 1) * P + j);
        b[k][row] = E::at(lane->b, h * P + j);
      }
    }
  }
  for (int m = 0; m < 16; m++) {
    double sum[8] = {};
    for (int k = 0; k < K; k++) {
      for (int n = 0; n < 8; n++) sum[n] += a[m][k] * b[k][n];
    }
    for (int n = 0; n < 8; n++) {
      float *c = static_cast<emulated_mma *>(lanes[m % 8 * 4 + n / 2])->c +
                 m / 8 * 2 + n % 2;
      *c = (float)(*c + sum[n]);
    }
  }
}
#define EMULATED_MMA(name, element, k)                                    \
  inline void name(float *c, const unsigned *a, const unsigned *b) {      \
    emulated_mma own = {c, a, b};                                         \
    emulated.calls->meet(0xffffffffu, emulated_do_mma<element, k>, &own); \
  }
EMULATED_MMA(ptx_mma_m16n8k16_f16, emulated_f16, 16)
EMULATED_MMA(ptx_mma_m16n8k16_bf16, emulated_bf16, 16)
EMULATED_MMA(ptx_mma_m16n8k8_f16, emulated_f16, 8)
EMULATED_MMA(ptx_mma_m16n8k8_tf32, emulated_tf32, 8)
EMULATED_MMA(ptx_mma_m16n8k32_e4m3, emulated_e4m3, 32)
#undef EMULATED_MMA

struct emulated_mma_of_bytes {
  int *c;
  const unsigned *a, *b;
};

/* c[16][8] += a[16][32] b[32][8], of unsigned and signed bytes: a register has
 * four neighbours in k. Sums wrap. */
inline void emulated_do_mma_of_bytes(void *const *lanes, unsigned present) {
  unsigned char a[16][32];
  signed char b[8][32];
  emulated_need_warp(present);
  for (int i = 0; i < 32; i++) {
    const emulated_mma_of_bytes *lane =
        static_cast<const emulated_mma_of_bytes *>(lanes[i]);
    const int row = i / 4, k = i % 4 * 4;
    for (int h = 0; h < 2; h++) {
      memcpy(&a[row][h * 16 + k], &lane->a[2 * h], 4);
      memcpy(&a[row + 8][h * 16 + k], &lane->a[2 * h + 1], 4);
      memcpy(&b[row][h * 16 + k], &lane->b[h], 4);
    }
  }
  for (int m = 0; m < 16; m++) {
    for (int n = 0; n < 8; n++) {
      int sum = 0;
      for (int k = 0; k < 32; k++) sum += a[m][k] * b[n][k];
      int *c =
          static_cast<emulated_mma_of_bytes *>(lanes[m % 8 * 4 + n / 2])->c +
          m / 8 * 2 + n % 2;
      *c = (int)((unsigned)*c + (unsigned)sum);
    }
  }
}
inline void ptx_mma_m16n8k32_u8_s8(int *c, const unsigned *a,
                                   const unsigned *b) {
  emulated_mma_of_bytes own = {c, a, b};
  emulated.calls->meet(0xffffffffu, emulated_do_mma_of_bytes, &own);
}

#endif /* TESTS_CUDA_EMULATION_PTX_ON_HOST_H_ */
