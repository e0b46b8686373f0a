/* SPDX-License-Identifier: Apache-2.0 */
/* Rooflines of GPUs: dense products, without sparsity. */
#include "tools/gpu_roofline.h"

#include <stdlib.h>
#include <string.h>

static const bsm_gpu_roofline rooflines[] = {
    {75, "T4", 65, 0, 8.1, 320},          {80, "A100", 312, 156, 19.5, 2039},
    {86, "A10", 125, 62.5, 31.2, 600},    {89, "L40S", 362, 183, 91.6, 864},
    {90, "H100 SXM", 989, 495, 67, 3350}, {100, "B200", 2250, 1125, 75, 8000},
};

const bsm_gpu_roofline *bsm_gpu_roofline_of(const char *target) {
  static const char prefix[] = "cuda:sm_";
  const bsm_gpu_roofline *found = NULL;
  if (!target || strncmp(target, prefix, strlen(prefix)) != 0) return NULL;
  const long sm = strtol(target + strlen(prefix), NULL, 10);
  for (size_t i = 0; i < sizeof(rooflines) / sizeof(rooflines[0]); i++) {
    if (rooflines[i].sm <= sm) found = &rooflines[i];
  }
  return found;
}

double bsm_gpu_least_seconds(const bsm_gpu_roofline *r, bsm_precision precision,
                             double flops, double bytes) {
  const double moving = bytes / (r->gigabytes * 1e9);
  double rate = r->fp32;
  if (precision == BSM_PRECISION_FP16 || precision == BSM_PRECISION_BF16) {
    rate = r->narrow;
  } else if (precision == BSM_PRECISION_TF32 && r->tf32 > 0) {
    rate = r->tf32;
  }
  const double computing = flops / (rate * 1e12);
  return computing > moving ? computing : moving;
}
