# SPDX-License-Identifier: Apache-2.0
"""What the tail of a detector does, of more elements than a block has: nms,
top-k, sorting with many equals, nonzero, and indexing with masks."""
import torch
import torchvision  # noqa: F401

MOST, BYTES = 40, 120000


def boxes(n, size):
    at = torch.rand((n, 2)) * size
    return torch.cat([at, at + torch.rand((n, 2)) * size / 3 + 1], 1)


def suppression(case, m):
    for n in (63, 64, 65, 129, 200):
        for t in (0.2, 0.5, 0.7):
            case("torchvision::nms", boxes(n, 40), torch.rand(n), t)
    # Whole coordinates: overlaps that are the threshold, and equal scores.
    b = boxes(150, 12).round()
    for t in (0.25, 0.5, 1 / 3):
        case("torchvision::nms", b, (torch.rand(150) * 4).round(), t)
    odd = boxes(100, 20)
    odd[::7, 2] = m.NAN
    odd[3::11, 1] = m.INF
    odd[5::13, 0] = -m.INF
    case("torchvision::nms", odd, torch.rand(100), 0.3)
    case("torchvision::nms", boxes(90, 20), torch.rand(90), m.NAN)


def sorting(case, m):
    x = (torch.randn(300) * 5).round()
    x[::17] = -0.0
    y = torch.randn(300)
    y[::23], y[::31] = m.NAN, m.INF
    for t in (x, y, x.to(m.i8), x.reshape(3, 100), y.reshape(100, 3).t()):
        for desc in (False, True):
            case("aten::sort.stable", t, stable=True, dim=-1, descending=desc)
    small = (torch.randn((70, 5)) * 20).round()
    for d in (m.f2, torch.bfloat16, m.f8, torch.int32, torch.int16, torch.int8,
              torch.uint8, m.b1):
        t = small.to(d)
        for dim in (0, 1):
            case("aten::sort.stable", t, stable=True, dim=dim, descending=dim)
    z = small / 4
    z[::9], z[::13] = m.NAN, -0.0
    for dim in (0, 1):
        case("aten::sort.stable", z.half(), stable=True, dim=dim)
        case("aten::argsort.stable", z, stable=True, dim=dim, descending=True)
    # Values that are all different: which of equals comes first is not said.
    p = torch.randperm(400)
    for t in (p.float(), p, p.reshape(2, 200).double(), p.half() / 64):
        for k in (1, 3, 24, 50, 100):
            for largest in (True, False):
                case("aten::topk", t.reshape(-1)[:200], k, -1, largest)
    case("aten::topk", p.float().reshape(200, 2), 5, 0)
    q = p.float().reshape(80, 5)
    for dim in (0, 1):
        case("aten::median.dim", q, dim)
        case("aten::kthvalue", q, 3, dim, True)
        case("aten::kthvalue", q.int(), 4, dim)
    case("aten::msort", q)
    # Next to each other beyond what a double holds.
    wide = 2 ** 60 + torch.arange(21).reshape(3, 7)
    for right in (False, True):
        for n in range(5):
            case("aten::searchsorted.Tensor", wide[:, :n], wide[:, 2:4] - 1,
                 right=right)
        case("aten::searchsorted.Tensor", wide, wide.flip(1), right=right)
        case("aten::searchsorted.Tensor", y[:23].sort()[0].repeat(3), y,
             right=right)
        case("aten::bucketize.Tensor", q, torch.arange(0, 400, 7).float(),
             right=right)
    case("aten::median", q)
    case("aten::_unique2", small, True, True, True)
    case("aten::_unique2", small.to(torch.int64), True, True, True)
    case("aten::mode", q, 0)


def masks(case, m):
    x = torch.randn((37, 4))
    rows = torch.rand(37) > 0.6
    for keep in (rows, ~rows, torch.zeros(37, dtype=torch.bool),
                 torch.ones(37, dtype=torch.bool)):
        case("aten::nonzero", keep)
        case("aten::index.Tensor", x, [keep])
        case("aten::index.Tensor", x.t(), [None, keep])
        case("aten::masked_select", x, keep[:, None])
    wide = torch.rand((5, 7, 9)) > 0.8
    case("aten::nonzero", wide)
    case("aten::nonzero", wide.permute(2, 0, 1))
    case("aten::nonzero", torch.rand((3, 40)) - 0.5 > 0)
    case("aten::nonzero", (torch.rand(100) * 3).to(m.i8))
    case("aten::where", wide)
    case("aten::masked_select", torch.randn((5, 7, 9)), wide)
    case("aten::masked_select", torch.randn((9, 7, 5)).permute(2, 1, 0), wide)
    case("aten::index.Tensor", torch.randn((5, 7, 9)), [wide])
    i = torch.randint(-37, 37, (50,))
    case("aten::index.Tensor", x, [i])
    case("aten::index.Tensor", x, [i.to(torch.int32)])
    case("aten::index.Tensor", x, [i, torch.tensor(2)])
    case("aten::index.Tensor", x.t(), [None, i])
    case("aten::index.Tensor", x.to(m.u1), [i])
    case("aten::index.Tensor", torch.randn((4, 37, 3)), [None, i])


def add(m):
    suppression(m.case, m)
    sorting(m.case, m)
    masks(m.case, m)
