/* SPDX-License-Identifier: Apache-2.0 */
/* What threads do together: barriers, exchanges within a warp, atomics. A lane
 * that a mask names and that has ended is not waited for; what is fetched from
 * a lane that takes no part is garbage. */
#ifndef TESTS_CUDA_EMULATION_WARP_ON_HOST_H_
#define TESTS_CUDA_EMULATION_WARP_ON_HOST_H_

/* ---- barriers ---- */

inline void __syncthreads() {
  emulated.calls->barrier(0, 0, 0, 1);
}
inline int __syncthreads_count(int vote) {
  return emulated.calls->barrier(0, 0, vote != 0, 1);
}
inline int __syncthreads_or(int vote) {
  return __syncthreads_count(vote) > 0;
}
inline int __syncthreads_and(int vote) {
  return __syncthreads_count(!vote) == 0;
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {
  emulated.calls->yield();
}
inline long long clock64() {
  static long long now;
  return now += 100;
}

/* ---- warps ---- */

/* The least that the device may answer: code that takes this for the whole
 * warp is wrong. */
inline unsigned __activemask() {
  return 1u << emulated.thread->lane;
}

inline void emulated_nothing(void *const *, unsigned) {}
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  emulated.calls->meet(mask, emulated_nothing, nullptr);
}

template <class T>
inline T emulated_garbage() {
  T x;
  memset(&x, 0xff, sizeof(x));
  return x;
}

template <class T>
struct emulated_shuffle {
  T value, result;
  int from; /* a lane, or -1: its own */
};

template <class T>
inline void emulated_do_shuffle(void *const *lanes, unsigned present) {
  for (int i = 0; i < 32; i++) {
    if (!(present >> i & 1u)) continue;
    emulated_shuffle<T> *own = static_cast<emulated_shuffle<T> *>(lanes[i]);
    const int from = own->from;
    own->result = from < 0 ? own->value
                  : present >> from & 1u
                      ? static_cast<emulated_shuffle<T> *>(lanes[from])->value
                      : emulated_garbage<T>();
  }
}

template <class T>
inline T emulated_shuffle_from(unsigned mask, T value, int from) {
  static_assert(std::is_arithmetic_v<T>, "what __shfl_sync takes");
  emulated_shuffle<T> own = {value, value, from};
  emulated.calls->meet(mask, emulated_do_shuffle<T>, &own);
  return own.result;
}
template <class T>
inline T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const int lane = (int)emulated.thread->lane;
  return emulated_shuffle_from(mask, value,
                               (lane & ~(width - 1)) | (from & (width - 1)));
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const int lane = (int)emulated.thread->lane, at = lane & (width - 1);
  return emulated_shuffle_from(mask, value, at < (int)by ? -1 : lane - (int)by);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const int lane = (int)emulated.thread->lane, at = lane & (width - 1);
  return emulated_shuffle_from(mask, value,
                               at + (int)by >= width ? -1 : lane + (int)by);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32) {
  const int lane = (int)emulated.thread->lane, from = lane ^ with;
  const int end = (lane & ~(width - 1)) + width;
  return emulated_shuffle_from(mask, value, from < end ? from : -1);
}

/* ---- votes and reductions of a warp ---- */

template <class T>
struct emulated_vote {
  T value, result;
};

#define EMULATED_LANES(T, each)                                         \
  for (int i = 0; i < 32; i++) {                                        \
    if (!(present >> i & 1u)) continue;                                 \
    emulated_vote<T> *lane = static_cast<emulated_vote<T> *>(lanes[i]); \
    each;                                                               \
  }

inline void emulated_do_ballot(void *const *lanes, unsigned present) {
  unsigned all = 0;
  EMULATED_LANES(int, all |= (unsigned)(lane->value != 0) << i)
  EMULATED_LANES(int, lane->result = (int)all)
}
template <class T>
inline T emulated_vote_on(unsigned mask, T value, emulated_meeting *act) {
  emulated_vote<T> own = {value, value};
  emulated.calls->meet(mask, act, &own);
  return own.result;
}
inline unsigned __ballot_sync(unsigned mask, int vote) {
  return (unsigned)emulated_vote_on(mask, vote, emulated_do_ballot);
}
inline int __any_sync(unsigned mask, int vote) {
  return __ballot_sync(mask, vote) != 0;
}
inline int __all_sync(unsigned mask, int vote) {
  return __ballot_sync(mask, !vote) == 0;
}

template <class T>
inline void emulated_do_match(void *const *lanes, unsigned present) {
  for (int k = 0; k < 32; k++) {
    if (!(present >> k & 1u)) continue;
    emulated_vote<T> *own = static_cast<emulated_vote<T> *>(lanes[k]);
    unsigned same = 0;
    EMULATED_LANES(
        T, same |= (unsigned)!memcmp(&lane->value, &own->value, sizeof(T)) << i)
    own->result = (T)0;
    memcpy(&own->result, &same, sizeof(same));
  }
}
template <class T>
inline unsigned __match_any_sync(unsigned mask, T value) {
  static_assert(sizeof(T) >= 4, "what __match_any_sync takes");
  const T same = emulated_vote_on(mask, value, emulated_do_match<T>);
  unsigned lanes;
  memcpy(&lanes, &same, sizeof(lanes));
  return lanes;
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int *all) {
  /* The lanes that take part are those that any value is matched with. */
  const unsigned present = __ballot_sync(mask, 1);
  *all = __match_any_sync(mask, value) == present;
  return *all ? present : 0;
}

#define EMULATED_REDUCE(name, T, start, expression)                     \
  inline void emulated_do##name(void *const *lanes, unsigned present) { \
    T sum = start;                                                      \
    EMULATED_LANES(T, const T x = lane->value; sum = expression)        \
    EMULATED_LANES(T, lane->result = sum)                               \
  }                                                                     \
  inline T __reduce##name##_sync(unsigned mask, T value) {              \
    return emulated_vote_on(mask, value, emulated_do##name);            \
  }
#define EMULATED_REDUCE_BOTH(name, least, greatest, expression) \
  namespace emulated_signed {                                   \
  EMULATED_REDUCE(name, int, least, expression)                 \
  }                                                             \
  namespace emulated_unsigned {                                 \
  EMULATED_REDUCE(name, unsigned, greatest, expression)         \
  }                                                             \
  using emulated_signed::__reduce##name##_sync;                 \
  using emulated_unsigned::__reduce##name##_sync;
EMULATED_REDUCE_BOTH(_add, 0, 0u, decltype(sum)((unsigned)sum + (unsigned)x))
EMULATED_REDUCE_BOTH(_min, 0x7fffffff, 0xffffffffu, x < sum ? x : sum)
EMULATED_REDUCE_BOTH(_max, -0x7fffffff - 1, 0u, x > sum ? x : sum)
EMULATED_REDUCE(_and, unsigned, 0xffffffffu, sum &x)
EMULATED_REDUCE(_or, unsigned, 0u, sum | x)
EMULATED_REDUCE(_xor, unsigned, 0u, sum ^ x)
#undef EMULATED_REDUCE_BOTH
#undef EMULATED_REDUCE
#undef EMULATED_LANES

/* ---- atomics ---- */

/* The type of the second argument follows that of the first. */
template <class T>
struct emulated_same {
  typedef T type;
};
#define EMULATED_ATOMIC(name, expression)                           \
  template <class T>                                                \
  inline T name(T *at, typename emulated_same<T>::type x) {         \
    const T old = *at;                                              \
    *at = expression;                                               \
    return old;                                                     \
  }                                                                 \
  template <class T>                                                \
  inline T name##_block(T *at, typename emulated_same<T>::type x) { \
    return name(at, x);                                             \
  }
/* Signed sums wrap. */
template <class T>
inline T emulated_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    typedef std::make_unsigned_t<T> U;
    return (T)((U)a + (U)b);
  } else {
    return a + b;
  }
}
EMULATED_ATOMIC(atomicAdd, emulated_sum(old, x))
EMULATED_ATOMIC(atomicSub, emulated_sum(old, (T)(0 - x)))
EMULATED_ATOMIC(atomicMax, x > old ? x : old)
EMULATED_ATOMIC(atomicMin, x < old ? x : old)
EMULATED_ATOMIC(atomicAnd, old &x)
EMULATED_ATOMIC(atomicOr, old | x)
EMULATED_ATOMIC(atomicXor, old ^ x)
EMULATED_ATOMIC(atomicExch, x)
EMULATED_ATOMIC(atomicInc, old >= x ? 0 : old + 1)
EMULATED_ATOMIC(atomicDec, old == 0 || old > x ? x : old - 1)
#undef EMULATED_ATOMIC
template <class T>
inline T atomicCAS(T *at, typename emulated_same<T>::type expected,
                   typename emulated_same<T>::type x) {
  const T old = *at;
  if (old == expected) *at = x;
  return old;
}

#endif /* TESTS_CUDA_EMULATION_WARP_ON_HOST_H_ */
