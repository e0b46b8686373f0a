/* SPDX-License-Identifier: Apache-2.0 */
/* The forms in which an engine carries a kernel, and which of them a GPU runs.
 * The name of an engine's code is that of the form, a space, and the name of
 * the kernel:
 *
 *   sm_80       code of this GPU, which those of its generation that came later
 *               run too
 *   sm_90a      code of this GPU alone
 *   compute_80  PTX: the driver of this GPU or of any later one compiles it */
#ifndef BSM_BACKEND_CUDA_FORMS_H_
#define BSM_BACKEND_CUDA_FORMS_H_

#include "base/arena.h"
#include "base/strings.h"

typedef struct bsm_cuda_form {
  int sm;
  bool is_ptx, specific; /* "sm_90a" */
  const char *kernel;    /* its name, behind that of the form */
} bsm_cuda_form;

/* NULL: there is no memory. */
const char *bsm_cuda_form_name(bsm_arena *arena, const char *form,
                               const char *kernel);
/* "sm_90a"; false: it is no form. */
bool bsm_cuda_architecture_parse(bsm_str text, bsm_cuda_form *out);
/* False: it is no name of an engine's code. */
bool bsm_cuda_form_parse(const char *name, bsm_cuda_form *out);
/* How well a GPU runs it: 2, as it is; 1, when its driver has compiled it; 0,
 * not at all. */
int bsm_cuda_form_rank(const bsm_cuda_form *form, int sm);

#endif /* BSM_BACKEND_CUDA_FORMS_H_ */
