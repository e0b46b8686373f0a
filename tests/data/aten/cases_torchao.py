# SPDX-License-Identifier: Apache-2.0
"""Operators that torchao leaves in programs of torch.export. Needs torchao."""
import torch
import torchao.quantization  # noqa: F401  registers its ops

MOST, BYTES = 24, 12000
I8, U8, I32 = torch.int8, torch.uint8, torch.int32


def add(m):
    case = m.case
    x = torch.randn(4, 8)
    for block in ([1, 8], [4, 8], [1, 4], [2, 2], [4, 1]):
        for mapping in ("SYMMETRIC", "ASYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR"):
            for dtype, low, high in ((I8, None, None), (I8, -8, 7), (U8, 0, 15)):
                if mapping.endswith("ERR") and dtype == U8:
                    continue  # a division by zero
                for keep in (False, True):
                    args = (x, mapping, block, dtype, low, high, 1e-5,
                            torch.float32, I32, keep)
                    case("torchao::choose_qparams_affine", *args)
                scale, zero = torch.ops.torchao.choose_qparams_affine(*args)
                for z in (zero, None) if mapping == "SYMMETRIC" else (zero,):
                    q = torch.ops.torchao.quantize_affine(
                        x, block, scale, zero, dtype, low, high)
                    if z is not None:
                        case("torchao::quantize_affine", x, block, scale, z,
                             dtype, low, high)
                    case("torchao::dequantize_affine", q, block, scale, z,
                         dtype, low, high)
                    case("torchao::dequantize_affine", q, block, scale, z,
                         dtype, low, high, torch.bfloat16)
    case("torchao::choose_qparams_affine", x, "ASYMMETRIC", [1, 8], I8)
    case("torchao::choose_qparams_affine", x, "SYMMETRIC", [1, 8], I8,
         zero_point_dtype=torch.int64)
    case("torchao::choose_qparams_affine", x, "SYMMETRIC", [1, 3], I8)
    case("torchao::choose_qparams_affine", x, "SYMMETRIC", [1], I8)
    case("torchao::choose_qparams_affine", x, "SYMMETRIC", [1, 8], I8, -200)
