/* SPDX-License-Identifier: Apache-2.0 */
/* Every table of ops/, once. */
TABLE(activation)
TABLE(attribute)
TABLE(binary)
TABLE(container)
TABLE(convert)
TABLE(number)
TABLE(reduce)
TABLE(text)
TABLE(unary)
TABLE(view)
