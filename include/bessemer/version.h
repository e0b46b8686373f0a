/* SPDX-License-Identifier: Apache-2.0 */
/* The version of Bessemer: of the headers that a program was built with, and of
 * the library that it runs with. It is written only here, and the build reads
 * it from this file.
 *
 * Structs that programs and the library hand to each other can grow, at their
 * end. Each begins with struct_size, which its INIT macro sets to the size that
 * the program was built with; a size that was not set is BSM_INVALID_ARGUMENT.
 *
 * - Options, which the program fills: fields that a program built with older
 *   headers does not have take their default, which is what zero means. Fields
 *   that the library does not know, because the program was built with newer
 *   headers, must be zero; otherwise the call fails with BSM_UNSUPPORTED.
 * - Results, which the library fills: it fills the struct up to the program's
 *   size. Fields that an older library does not know become zero.
 *
 * Values that are passed in numbers (bsm_dims, bsm_array, bsm_weights,
 * bsm_scalar, bsm_input_spec, bsm_metadata) and rows of tables
 * (bsm_conversion_pattern, those of plug-ins, which have a version of their
 * own) have no size and stay as they are as long as the major version does.
 * Enumerations only get new values. */
#ifndef BESSEMER_VERSION_H_
#define BESSEMER_VERSION_H_

#include "bessemer/export.h"

BSM_EXTERN_C_BEGIN

#define BSM_VERSION_MAJOR 0
#define BSM_VERSION_MINOR 1
#define BSM_VERSION_PATCH 0

/* One number that grows with the version, for #if: 1.2.3 is 10203. */
#define BSM_MAKE_VERSION(major, minor, patch) \
  ((major)*10000 + (minor)*100 + (patch))
#define BSM_VERSION_NUMBER \
  BSM_MAKE_VERSION(BSM_VERSION_MAJOR, BSM_VERSION_MINOR, BSM_VERSION_PATCH)

/* Those of the library: "0.1.0", and as BSM_VERSION_NUMBER. */
BSM_API const char *bsm_version(void);
BSM_API int bsm_version_number(void);

BSM_EXTERN_C_END

#endif /* BESSEMER_VERSION_H_ */
