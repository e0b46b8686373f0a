/* SPDX-License-Identifier: Apache-2.0 */
/* Elements from places that others name: plain loops, one instance for all
 * instruction sets. */
#ifndef BSM_KERNELS_TAKE_H_
#define BSM_KERNELS_TAKE_H_

#include <stdbool.h>
#include <stdint.h>

/* Whether bsm_k_take has elements of so many bytes: 1, 2, 4 and 8. */
static inline bool bsm_k_takes(int64_t element) {
  return element == 1 || element == 2 || element == 4 || element == 8;
}
/* to[i * to_stride] = from[i * from_stride + place[i]] for i < n, in elements
 * of a size that it has. */
void bsm_k_take(int64_t element, const void *from, int64_t from_stride,
                const int64_t *place, int64_t n, void *to, int64_t to_stride);
/* Whether the places are one behind the other, or one before the other: 1 or
 * -1, else 0. */
int bsm_k_direction(const int64_t *place, int64_t n);
/* to[i] = from[-i] for i < n, of such elements. */
void bsm_k_reverse(int64_t element, const void *from, int64_t n, void *to);
/* Whether all indices are at least 0 and less than size. */
bool bsm_k_are_inside(const int64_t *index, int64_t n, int64_t size);
/* The places that indices of an axis of `size`, not 0, name, `stride` elements
 * each; where they wrap, negative ones count from the end. Those outside are
 * place 0; returns how many of these there are. */
int64_t bsm_k_places_i64(const int64_t *index, int64_t index_stride, int64_t n,
                         int64_t size, int64_t stride, int wrap,
                         int64_t *place);
int64_t bsm_k_places_i32(const int32_t *index, int64_t index_stride, int64_t n,
                         int64_t size, int64_t stride, int wrap,
                         int64_t *place);
/* to[i] = from[index[i]] for i < n, of `size` elements, not 0, of a size that
 * bsm_k_take has. Indices are as those above that do not wrap. */
void bsm_k_take_at(int64_t element, const void *from, const int64_t *index,
                   int64_t n, int64_t size, void *to);
/* to[place[i]] = from[i * from_stride], or that much more, for i < n in their
 * order. */
void bsm_k_put(int64_t element, const void *from, int64_t from_stride,
               const int64_t *place, int64_t n, void *to);
void bsm_k_add_at(const float *from, int64_t from_stride, const int64_t *place,
                  int64_t n, float *to);
/* y[2 * i] = y[2 * i + 1] = x[i] for i < n */
void bsm_k_double(const float *x, int64_t n, float *y);
/* y[i] = the sum over t < taps, 1, 2 or 4, of weight[t * n + i] *
 * x[place[t * n + i]] for i < n; of one tap the element itself. */
void bsm_k_blend(const float *x, const int32_t *place, const float *weight,
                 int taps, int64_t n, float *y);

#endif /* BSM_KERNELS_TAKE_H_ */
