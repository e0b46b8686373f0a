/* SPDX-License-Identifier: Apache-2.0 */
/* How the CPU's weights are packed. The forms do not depend on the instruction
 * set, so that an engine runs on any CPU; only kernels and tactics differ. */
#ifndef BSM_BACKEND_CPU_FORMS_H_
#define BSM_BACKEND_CPU_FORMS_H_

/* Panels of packed matrices are this many columns wide. */
#define BSM_PANEL 16

/* bsm_step_convolution.form: as it is; transformed for Winograd's algorithm
 * with tiles of so many outputs in a row and column; or for kernels that
 * compute several groups side by side. Of a deconvolution: plain. */
typedef enum bsm_cpu_form {
  BSM_CPU_FORM_PLAIN = 0,
  BSM_CPU_FORM_WINOGRAD_2 = 1,
  BSM_CPU_FORM_WINOGRAD_4 = 2,
  BSM_CPU_FORM_WINOGRAD_6 = 3,
  BSM_CPU_FORM_GROUPED = 4
} bsm_cpu_form;

/* bsm_step_matrix_multiply.form of float: floats, or numbers of 8 bits with a
 * scale for each column, or of 4 bits with one for each column and group of
 * rows. */
typedef enum bsm_cpu_matrix_form {
  BSM_CPU_MATRIX_PLAIN = 0,
  BSM_CPU_MATRIX_INT8 = 1,
  BSM_CPU_MATRIX_INT4_32 = 2,
  BSM_CPU_MATRIX_INT4_64 = 3,
  BSM_CPU_MATRIX_INT4_128 = 4
} bsm_cpu_matrix_form;

#endif /* BSM_BACKEND_CPU_FORMS_H_ */
