/* SPDX-License-Identifier: Apache-2.0 */
/* Whether AddressSanitizer looks for what is read or written out of bounds. */
#ifndef BSM_BASE_SANITIZED_H_
#define BSM_BASE_SANITIZED_H_

#if defined(__SANITIZE_ADDRESS__)
#define BSM_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BSM_HAS_ASAN 1
#endif
#endif
#ifndef BSM_HAS_ASAN
#define BSM_HAS_ASAN 0
#endif

#endif /* BSM_BASE_SANITIZED_H_ */
