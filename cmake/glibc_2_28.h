/* SPDX-License-Identifier: Apache-2.0 */
/* Included before every file of a library that has to run with glibc 2.28 and
 * later, whatever glibc it is built with: refers to the older versions of
 * functions that have newer ones. Of those that only moved into libc, or had
 * their handling of errors changed, the older version is the same code. */
#ifndef BSM_GLIBC_2_28_H_
#define BSM_GLIBC_2_28_H_

#include <features.h>
#include <sys/stat.h>

#if defined(__x86_64__)
#define BSM_GLIBC_OLD "GLIBC_2.2.5"
#define BSM_STAT_VERSION 1
#elif defined(__aarch64__)
#define BSM_GLIBC_OLD "GLIBC_2.17"
#define BSM_STAT_VERSION 0
#else
#error "the versions of this machine's glibc are not known here"
#endif

#define BSM_OLD(name) __asm__(".symver " #name "," #name "@" BSM_GLIBC_OLD)

/* 2.29 */
BSM_OLD(exp);
BSM_OLD(exp2);
BSM_OLD(log);
BSM_OLD(log2);
BSM_OLD(pow);
/* 2.32 */
BSM_OLD(pthread_sigmask);
/* 2.34 */
BSM_OLD(dlclose);
BSM_OLD(dlerror);
BSM_OLD(dlopen);
BSM_OLD(dlsym);
BSM_OLD(pthread_create);
BSM_OLD(pthread_join);
BSM_OLD(pthread_mutexattr_destroy);
BSM_OLD(pthread_mutexattr_init);
BSM_OLD(pthread_mutexattr_settype);
BSM_OLD(pthread_once);
/* 2.35 */
BSM_OLD(hypot);

/* 2.33 made functions of these. */
#if __GLIBC_PREREQ(2, 33)
BSM_OLD(__xstat);
BSM_OLD(__fxstat);
BSM_OLD(__lxstat);
extern int __xstat(int version, const char *path, struct stat *out);
extern int __fxstat(int version, int file, struct stat *out);
extern int __lxstat(int version, const char *path, struct stat *out);
static inline int bsm_old_stat(const char *path, struct stat *out) {
  return __xstat(BSM_STAT_VERSION, path, out);
}
static inline int bsm_old_fstat(int file, struct stat *out) {
  return __fxstat(BSM_STAT_VERSION, file, out);
}
static inline int bsm_old_lstat(const char *path, struct stat *out) {
  return __lxstat(BSM_STAT_VERSION, path, out);
}
#define stat(path, out) bsm_old_stat(path, out)
#define fstat(file, out) bsm_old_fstat(file, out)
#define lstat(path, out) bsm_old_lstat(path, out)
#endif

#endif /* BSM_GLIBC_2_28_H_ */
