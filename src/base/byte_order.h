/* SPDX-License-Identifier: Apache-2.0 */
/* The order of bytes of the machine. */
#ifndef BSM_BASE_BYTE_ORDER_H_
#define BSM_BASE_BYTE_ORDER_H_

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BSM_HOST_IS_BIG true
#else
#define BSM_HOST_IS_BIG false
#endif

#endif /* BSM_BASE_BYTE_ORDER_H_ */
