/* SPDX-License-Identifier: Apache-2.0 */
/* Every table of ops/, once. */
TABLE(unary)
