# SPDX-License-Identifier: Apache-2.0
"""What depends on data, in memory for all of it: nonzero_static and nms of
edges; and scans of NaN, infinities, equals, one element, and none."""
import torch

import own_ops  # noqa: F401

MOST, BYTES = 200, 150000


def boxes(n, size):
    at = torch.rand((n, 2)) * size
    return torch.cat([at, at + torch.rand((n, 2)) * size / 3 + 1], 1)


def suppression(case, m):
    q = "bessemer::padded_nms"
    for n in (0, 1, 64, 65, 130):
        case(q, boxes(n, 20), torch.rand(n), 0.4)
    b = boxes(150, 12).round()
    for t in (0.25, 1 / 3, m.NAN):
        case(q, b, (torch.rand(150) * 4).round(), t)
    odd = boxes(100, 20)
    odd[::7, 2] = m.NAN
    odd[3::11, 1] = m.INF
    odd[5::13, 0] = -m.INF
    score = torch.rand(100)
    score[::9], score[4::13] = m.NAN, -m.INF
    case(q, odd, score, 0.3)
    case(q, boxes(60, 9).double(), torch.rand(60).double(), 0.5)
    case(q, boxes(60, 9).half().round(), torch.rand(60).half(), 0.5)
    case(q, boxes(9, 9)[:, :3], torch.rand(9), 0.5)
    case(q, boxes(9, 9), torch.rand(8), 0.5)


def places(case, m):
    q = "aten::nonzero_static"
    x = torch.randn((3, 5, 4))
    x[x < 0.3] = -0.0
    x[0, 0, 1], x[2, 1, 0] = m.NAN, m.INF
    for t in (x, x.half(), x.bfloat16(), x.double(), x.to(m.i8), x > 0,
              x.long(), x.permute(2, 0, 1), x[:, ::2], x[0, 0], x[:0]):
        for size in (0, 7, 70):
            case(q, t, size=size)
    case(q, torch.rand(600) > 0.7, size=600, fill_value=0)


def scans(case, m):
    x = torch.randn((4, 9))
    x[1, 3], x[2, 4], x[2, 6], x[3, 0] = m.NAN, m.INF, -m.INF, -m.INF
    same = (torch.randn((3, 40)) * 2).round()
    for q in ("aten::cummax", "aten::cummin", "aten::logcumsumexp",
              "aten::cumsum", "aten::cumprod"):
        kinds = [m.f4, m.f8, m.f2, m.bf]
        for d in kinds:
            case(q, x.to(d), -1)
            case(q, x.to(d), 0)
            case(q, x.to(d).t(), 0)
        case(q, torch.randn((3, 2, 0)), 1)
        case(q, torch.randn((3, 0, 2)), 1)
        case(q, torch.randn(()), -1)
        case(q, torch.randn((1, 1)), 1)
        case(q, torch.randn((2, 3)), 2)
        if "log" in q:
            case(q, torch.full((5,), -m.INF), 0)
            continue
        for d in (m.u1, m.i1, m.i4, m.i8, m.b1):
            case(q, same.to(d), 1)
        case(q, same, 1)


def add(m):
    suppression(m.case, m)
    places(m.case, m)
    scans(m.case, m)
