/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of vectors where there are no masks: counts of lanes. */
typedef int64_t vp;
#define VF_PARTS_COST 1
VF_INLINE vp vp_first(int64_t n) {
  return n;
}
VF_INLINE vf vf_load_p(const float *p, vp part) {
  return vf_load_n(p, part);
}
VF_INLINE void vf_store_p(float *p, vf a, vp part) {
  vf_store_n(p, a, part);
}
