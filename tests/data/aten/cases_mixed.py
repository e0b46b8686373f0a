# SPDX-License-Identifier: Apache-2.0
"""Losses of arguments of several dtypes, half as the target alone: PyTorch
rounds what comes between."""
import torch

MOST = 80
BYTES = 20000


def add(m):
    case, rand = m.case, m.rand
    q = "aten::binary_cross_entropy_with_logits"
    dtypes = (m.f4, m.f8, m.f2, torch.bfloat16)
    for own in (m.f4, m.f8):
        for other in dtypes:
            for reduction in (0, 1):
                case(q, rand((3, 2), own), rand((3, 2), other).sigmoid(),
                     reduction=reduction)
            case(q, rand((3, 2), own), rand((3, 2), other).sigmoid(),
                 rand((3, 2), own).abs(), rand((2,), own).abs())
    case(q, rand((3, 2)), torch.ones(3, 2, dtype=m.i8))
    case(q, rand((3, 2)), torch.ones(3, 2, dtype=m.b1))
