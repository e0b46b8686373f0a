/* SPDX-License-Identifier: Apache-2.0 */
/* Integer arrays: the scalar instances of ints_body.inl. */
#include "backend/cpu/kernels/ints/ints.h"

#define BSM_K_SUFFIX scalar
#include "backend/cpu/kernels/ints/ints_body.inl"
