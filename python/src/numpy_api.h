/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's C API, whose table arrays.c loads for all files. */
#ifndef BSM_PYTHON_NUMPY_API_H_
#define BSM_PYTHON_NUMPY_API_H_

#include "core.h"

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL bsmpy_numpy
#ifndef BSMPY_IMPORT_ARRAY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

/* NumPy's number of ml_dtypes.bfloat16, which is known once it is loaded. */
extern int bsmpy_bfloat16;

#endif /* BSM_PYTHON_NUMPY_API_H_ */
