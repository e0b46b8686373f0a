/* SPDX-License-Identifier: Apache-2.0 */
/* Packed weights: one form for each use, the same for every ISA. Of floats,
 * doubles, int32 or int64:
 *
 * matrix:        [panels][K][16]
 * convolution,
 * deconvolution: [groups][panels][taps][C / groups][16], columns are the
 *                output maps of a group
 * depthwise:     [taps][C rounded up to 16], a convolution whose groups have
 *                one input and one output map
 *
 * Groups of less than 16 output maps are merged as far as they fill a panel:
 * [groups / m][taps][m C / groups][16], with zeros where an input map is of
 * another group. That costs nothing, as the panel would hold zeros anyway, and
 * the kernels see fewer, deeper groups.
 *
 * of form GROUPED: [panels of all output maps][taps][C / groups][16]: the
 * column of a map holds what belongs to its own group's input maps
 *
 * of bytes:      [groups][panels][K / 4][16][4], K being [taps][C / groups],
 * filled with zeros to a multiple of 4; depthwise as above
 *
 * of half and bfloat16: [groups][panels][K / 2][16][2], K as of bytes, filled
 * to a multiple of 2; a matrix is one group; depthwise of up to two dimensions
 * as above, and groups for which there is the form GROUPED in that order; a
 * deconvolution is its phases, one behind the other, as convolutions
 *
 * matrix of few bits: [panels] of the codes, and then the scales, of a panel
 *                (kernels/few_bits), filled to a multiple of 64 bytes
 *
 * A panel is 16 columns; the last one of a group is filled with zeros. */
#ifndef BSM_BACKEND_CPU_PACK_H_
#define BSM_BACKEND_CPU_PACK_H_

#include "backend/cpu/cpu_forms.h"

#include "engine/plan.h"

bsm_status bsm_cpu_pack(const bsm_plan_step *step, int64_t in_maps,
                        const void *values, size_t element, bool transposed,
                        void *packed, uint64_t *size);

/* Bytes of the packed weights, of `element` bytes each; fails when the
 * parameters make no sense. */
bsm_status bsm_cpu_packed_matrix_size_of(int64_t k, int64_t n, size_t element,
                                         uint64_t *size);
/* The same of a matrix of few bits. */
typedef struct bsm_cpu_few_bits_form {
  int32_t bits;   /* 8 or 4 */
  int64_t group;  /* rows that share a scale; of 8 bits: all, 0 */
  uint64_t codes; /* bytes of the codes of a panel */
  uint64_t panel; /* bytes from one panel to the next */
  uint64_t size;
} bsm_cpu_few_bits_form;
bsm_status bsm_cpu_few_bits_form_of(const bsm_step_matrix_multiply *params,
                                    bsm_cpu_few_bits_form *out);
bsm_status bsm_cpu_packed_kernel_size(const bsm_step_convolution *params,
                                      int64_t in_maps, bool deconvolution,
                                      size_t element, uint64_t *size);

bsm_status bsm_cpu_packed_int8_size(const bsm_step_convolution *params,
                                    int64_t in_maps, uint64_t *size);
/* Of half and bfloat16; `in_maps` of a matrix is its K. */
bsm_status bsm_cpu_packed_half_size(const bsm_plan_step *step, int64_t in_maps,
                                    uint64_t *size);

/* Whether a convolution is depthwise, and packed as such. */
static inline bool bsm_cpu_is_depthwise(const bsm_step_convolution *params,
                                        int64_t in_maps) {
  return params->groups > 1 && params->groups == in_maps &&
         params->groups == params->out_maps;
}

/* Whether the form GROUPED is for a convolution: groups of as many output maps
 * as input maps, several in a panel. */
static inline bool bsm_cpu_has_grouped_form(const bsm_step_convolution *p,
                                            int64_t in_maps) {
  return p->groups > 1 && in_maps == p->out_maps && in_maps % p->groups == 0 &&
         (in_maps / p->groups == 2 || in_maps / p->groups == 4 ||
          in_maps / p->groups == 8);
}

/* Whether weights of half and bfloat16 are packed as those of a depthwise
 * convolution, or as of form GROUPED. */
static inline bool bsm_cpu_is_half_depthwise(const bsm_step_convolution *p,
                                             int64_t in_maps) {
  return p->window.spatial <= 2 && (bsm_cpu_is_depthwise(p, in_maps) ||
                                    bsm_cpu_has_grouped_form(p, in_maps));
}

/* How many groups are merged into one (see above). */
int64_t bsm_cpu_merged_groups(const bsm_step_convolution *params);

#endif /* BSM_BACKEND_CPU_PACK_H_ */
