# SPDX-License-Identifier: Apache-2.0
"""Reductions of segments."""
import torch

MOST = 150
BYTES = 20000


def add(m):
    case, rand = m.case, m.rand
    q = "aten::segment_reduce"
    t = torch.tensor
    for reduce in ("max", "mean", "min", "sum", "prod"):
        for dtype in (m.f4, m.f8, m.f2, torch.bfloat16):
            case(q, rand((6, 2), dtype), reduce, lengths=t([2, 0, 4]))
            case(q, rand((6,), dtype), reduce, offsets=t([0, 1, 1, 5]),
                 initial=0.5)
        case(q, rand((2, 5, 3)), reduce, lengths=t([[1, 4], [3, 2]]), axis=1)
        case(q, rand((2, 5)), reduce, lengths=t([[1, 3], [3, 0]]), axis=-1,
             unsafe=True)
        case(q, rand((2, 5)), reduce,
             offsets=t([[0, 2, 5], [1, 1, 4]], dtype=torch.int32), axis=1)
        case(q, rand((4, 2)), reduce, lengths=t([1, 0, 3]), initial=2)
        case(q, t([1.0, m.NAN, 3.0, -m.INF, 2.0, m.INF]), reduce,
             lengths=t([1, 2, 1, 2]))
        case(q, rand((0, 2)), reduce, lengths=t([0, 0]))
    case(q, rand((6,)), "sum", lengths=t([2, 3]))
    case(q, rand((6,)), "sum", lengths=t([-1, 7]))
    case(q, rand((6,)), "sum")
    case(q, rand((6,)), "median", lengths=t([6]))
    case(q, rand((6,), m.i8), "sum", lengths=t([6]))
    case(q, rand((6, 2)), "sum", lengths=t([2, 4]), axis=1)
