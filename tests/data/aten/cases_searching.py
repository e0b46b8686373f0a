# SPDX-License-Identifier: Apache-2.0
"""Membership among many elements, quantiles and histograms of long rows, and
repeats whose number is told."""
import torch

MOST = 200
BYTES = 20000


def add(m):
    case, rand = m.case, m.rand
    for d in (m.f4, m.f8, m.f2, m.bf, m.i8, m.i4, m.u1):
        many = (rand((70,), m.f8) * 40).round().to(d)
        x = (rand((4, 30), m.f8) * 40).round().to(d)
        for invert in (False, True):
            case("aten::isin.Tensor_Tensor", x, many, invert=invert)
        case("aten::isin.Tensor_Tensor", x, many.view(7, 10))
        case("aten::isin.Tensor_Tensor", torch.arange(0, 50, 2).to(d),
             torch.arange(0, 105, 3).to(d), assume_unique=True)
        case("aten::isin.Tensor_Tensor", x[0, 0], many)
        case("aten::isin.Scalar_Tensor", 3, many)
        case("aten::isin.Tensor_Scalar", x, x[1, 2].item())
    holes = rand((50,))
    holes[::5] = m.NAN
    case("aten::isin.Tensor_Tensor", holes[:20], holes)
    case("aten::isin.Tensor_Tensor", torch.tensor([True, False]),
         torch.ones(40, dtype=m.b1))
    case("aten::isin.Tensor_Tensor", torch.arange(6), rand((40,)))
    for d in (m.i8, m.i4):
        for repeats in ([2, 0, 3], [0, 0, 1], [4], [1] * 40):
            case("aten::repeat_interleave.Tensor",
                 torch.tensor(repeats, dtype=d), output_size=sum(repeats))
    for d in (m.f4, m.f8):
        x = rand((5, 70, 3), d)
        x[1, 3, 2] = m.NAN
        q = torch.tensor([0.0, 0.25, 0.9, 1.0], dtype=d)
        for op in ("quantile", "nanquantile"):
            for how in ("linear", "lower", "higher", "midpoint", "nearest"):
                case("aten::%s" % op, x, q, 1, True, interpolation=how)
                case("aten::%s.scalar" % op, x, 0.3, 1, interpolation=how)
            case("aten::%s" % op, x, q)
            case("aten::%s" % op, x, q[2], None, True)
            case("aten::%s.scalar" % op, x[0], 0.5, 0, True)
        case("aten::histc", rand((300,), d), 12)
        case("aten::histc", rand((20, 30), d), 5, -1, 1)
        case("aten::histc", torch.full((9,), 2.5, dtype=d), 4)
    for value in (-3, 2, 2.5, 100):
        for right in (False, True):
            for x in (torch.tensor([1, 2, 2, 3, 8]), rand((50,)).sort()[0],
                      torch.tensor([1., 2., 2., 2.5], dtype=m.f8)):
                case("aten::searchsorted.Scalar", x, value, right=right)
                case("aten::bucketize.Scalar", value, x, right=right)
