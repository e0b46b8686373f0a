/* SPDX-License-Identifier: Apache-2.0 */
/* Every family of kernels, once. */
FAMILY(attention)
FAMILY(convert)
FAMILY(depthwise)
FAMILY(gemm)
FAMILY(int8)
FAMILY(math)
FAMILY(planar)
FAMILY(pooling)
FAMILY(recurrent)
FAMILY(rows)
FAMILY(typed_gemm)
FAMILY(winograd)
