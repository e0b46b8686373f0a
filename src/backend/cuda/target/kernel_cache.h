/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that were compiled before, on disk. What is in the cache ends up in
 * engines and runs: so the folder and its files have to be this user's alone
 * (base/private_folder.h), or they are not used. */
#ifndef BSM_BACKEND_CUDA_TARGET_KERNEL_CACHE_H_
#define BSM_BACKEND_CUDA_TARGET_KERNEL_CACHE_H_

#include "base/arena.h"
#include "base/strings.h"
#include "bessemer/log.h"

/* Raise when the files mean something else. */
#define BSM_KERNEL_CACHE_VERSION "3"

/* The folder: BESSEMER_KERNEL_CACHE, where an empty one is none, or else
 * bessemer-kernels in the user's cache. It is made when it is not there. NULL:
 * there is none; a warning says why, unless none is wanted. */
const char *bsm_kernel_cache_find(bsm_arena *arena, const bsm_logger *logger);

/* The machine code and the PTX of a file, in the arena; false: it is not there,
 * is damaged, or others may write to it. */
bool bsm_kernel_cache_read(const char *folder, const char *name,
                           bsm_arena *arena, bsm_str *code, bsm_str *ptx);
/* What cannot be written is compiled again the next time. */
void bsm_kernel_cache_write(const char *folder, const char *name,
                            bsm_arena *arena, bsm_str code, bsm_str ptx);

/* Waits until nobody else, in this process or another, compiles what is going
 * to be that file: then it may be there. A number for the release; -1: who has
 * it takes very long, or it cannot be found out, and both compile. */
int bsm_kernel_cache_claim(const char *folder, const char *name);
void bsm_kernel_cache_release(int claim);

#endif /* BSM_BACKEND_CUDA_TARGET_KERNEL_CACHE_H_ */
