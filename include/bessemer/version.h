/* SPDX-License-Identifier: Apache-2.0 */
/* The version of Bessemer: of the headers that a program was built with, and of
 * the library that it runs with. This file is where it stands; the build reads
 * it from here. */
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
