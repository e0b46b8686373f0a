/* SPDX-License-Identifier: Apache-2.0 */
/* Marks what the shared libraries export, and results that must be used. */
#ifndef BESSEMER_EXPORT_H_
#define BESSEMER_EXPORT_H_

#if defined(__GNUC__)
#define BSM_API __attribute__((visibility("default")))
#define BSM_NODISCARD __attribute__((warn_unused_result))
#define BSM_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define BSM_RETURNS_NONNULL __attribute__((returns_nonnull))
#else
#define BSM_API
#define BSM_NODISCARD
#define BSM_PRINTF(fmt, args)
#define BSM_RETURNS_NONNULL
#endif

#ifdef __cplusplus
#define BSM_EXTERN_C_BEGIN extern "C" {
#define BSM_EXTERN_C_END }
#else
#define BSM_EXTERN_C_BEGIN
#define BSM_EXTERN_C_END
#endif

/* A struct that begins with its size, all else zero. C++17 has no designators.
 */
#ifdef __cplusplus
template <typename T>
inline T bsm_sized_struct() {
  T made = T();
  made.struct_size = sizeof(T);
  return made;
}
#define BSM_SIZED_INIT(type) bsm_sized_struct<type>()
#else
#define BSM_SIZED_INIT(type) \
  { .struct_size = sizeof(type) }
#endif

#endif /* BESSEMER_EXPORT_H_ */
