# SPDX-License-Identifier: Apache-2.0
"""torchvision's ops. Needs torchvision, which registers them."""
import torch
import torchvision  # noqa: F401

MOST, BYTES = 40, 40000


def boxes(n, size, dtype, low=0.0):
    at = torch.rand((n, 2)) * size + low
    return torch.cat([at, at + torch.rand((n, 2)) * size / 2], 1).to(dtype)


def nms(m):
    case = m.case
    b = torch.tensor([[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30],
                      [0, 0, 9, 9.0]])
    s = torch.tensor([0.5, 0.9, 0.3, 0.8])
    for d in (m.f4, m.f8, m.f2, m.bf):
        for t in (0.0, 0.3, 0.5, 0.9, 1.0, -1.0):
            case("torchvision::nms", b.to(d), s.to(d), t)
            case("torchvision::nms", boxes(20, 10, d), torch.rand(20).to(d), t)
    # Equal scores keep their order; half overlap exactly.
    case("torchvision::nms", b, torch.ones(4), 0.5)
    half = torch.tensor([[0, 0, 2, 2], [0, 0, 2, 1], [0, 1, 2, 2.0]])
    case("torchvision::nms", half, torch.tensor([0.3, 0.2, 0.1]), 0.5)
    case("torchvision::nms", torch.zeros((0, 4)), torch.zeros(0), 0.5)
    case("torchvision::nms", torch.zeros((3, 4)), torch.zeros(3), 0.5)
    case("torchvision::nms", b, torch.tensor([m.NAN, 0.9, m.INF, -m.INF]), 0.5)
    case("torchvision::nms", torch.full((2, 4), m.NAN), torch.rand(2), 0.5)
    case("torchvision::nms", b.t().contiguous().t(), s, 0.5)
    case("torchvision::nms", b[:, :3], s, 0.5)
    case("torchvision::nms", b[0], s, 0.5)
    case("torchvision::nms", b, s[:3], 0.5)
    case("torchvision::nms", b, s[None], 0.5)
    case("torchvision::nms", b, s.double(), 0.5)


def regions(m):
    case, rand = m.case, m.rand
    for d in (m.f4, m.f8, m.f2):
        x = rand((2, 12, 6, 7), d)
        rois = torch.cat([torch.randint(0, 2, (6, 1)).to(d),
                          boxes(6, 12, d, -2)], 1)
        odd = torch.tensor([[0, 3, 3, 3, 3], [1, 5, 5, 2, 1],
                            [0, -9, -9, 40, 40], [1, 30, 30, 50, 60],
                            [0, 0, 0, 8, 7]]).to(d)
        for r in (rois, odd, rois[:0], rois[::2]):
            for scale in (1.0, 0.3):
                for ph, pw in ((2, 3), (2, 2)):
                    for ratio in (-1, 2):
                        for aligned in (False, True):
                            case("torchvision::roi_align", x[:, :3].contiguous(), r, scale,
                                 ph, pw, ratio, aligned)
                        case("torchvision::ps_roi_align", x, r, scale, ph, pw,
                             ratio)
                    case("torchvision::roi_pool", x[:, :3].contiguous(), r, scale, ph, pw)
                    case("torchvision::ps_roi_pool", x, r, scale, ph, pw)
    x, rois = rand((1, 4, 5, 5)), torch.tensor([[0, 1, 1, 3, 4.0]])
    y = x.clone()
    y[0, :, 2, 2] = m.NAN
    for op, tail in (("roi_align", (2, False)), ("roi_pool", ()),
                     ("ps_roi_align", (2,)), ("ps_roi_pool", ())):
        op = "torchvision::" + op
        case(op, y, rois, 1.0, 2, 2, *tail)
        case(op, x, rois[:, :4], 1.0, 2, 2, *tail)
        case(op, x, rois.double(), 1.0, 2, 2, *tail)
        case(op, x.transpose(2, 3), rois, 1.0, 2, 2, *tail)
        case(op, x.to(memory_format=torch.channels_last), rois, 1.0, 2, 2,
             *tail)
    case("torchvision::ps_roi_pool", x, rois, 1.0, 3, 2)
    case("torchvision::ps_roi_align", x, rois, 1.0, 3, 2, 2)


def deform(m):
    case, rand = m.case, m.rand
    op = "torchvision::deform_conv2d"
    for d in (m.f4, m.f8, m.f2):
        for groups, offsets in ((1, 1), (2, 1), (1, 2), (2, 4)):
            for stride, pad, dil in (((1, 1), (0, 0), (1, 1)),
                                     ((2, 1), (1, 2), (1, 1)),
                                     ((1, 2), (1, 1), (2, 1))):
                kh, kw = 2, 3
                oh = (5 + 2 * pad[0] - dil[0] * (kh - 1) - 1) // stride[0] + 1
                ow = (6 + 2 * pad[1] - dil[1] * (kw - 1) - 1) // stride[1] + 1
                x = rand((2, 4, 5, 6), d)
                w = rand((2, 4 // groups, kh, kw), d)
                off = rand((2, 2 * offsets * kh * kw, oh, ow), d)
                mask = torch.rand((2, offsets * kh * kw, oh, ow)).to(d)
                for use in (True, False):
                    case(op, x, w, off, mask, rand((2,), d), *stride, *pad,
                         *dil, groups, offsets, use)
    x, w, b = rand((1, 2, 4, 4)), rand((2, 2, 3, 3)), rand((2,))
    off, mask = rand((1, 18, 2, 2)), torch.rand((1, 9, 2, 2))
    tail = (1, 1, 0, 0, 1, 1)
    case(op, x, w, off * 8, mask, b, *tail, 1, 1, True)
    case(op, x, w, off, torch.zeros((1, 1)), b, *tail, 1, 1, False)
    case(op, x, w, off.floor(), mask, b, *tail, 1, 1, True)
    case(op, x.transpose(2, 3), w.transpose(2, 3), off, mask, b, *tail, 1, 1,
         True)
    case(op, x, w, off[:, :9], mask, b, *tail, 1, 1, True)
    case(op, x, w, off, mask[:, :3], b, *tail, 1, 1, True)
    case(op, x, w[:, :1], off, mask, b, *tail, 1, 1, True)
    case(op, x, w, off, mask, b, *tail, 2, 1, True)
    case(op, x, w, off, mask, b, 1, 1, -1, 0, 1, 1, 1, 1, True)
    case(op, x[0], w, off, mask, b, *tail, 1, 1, True)


def add(m):
    nms(m)
    regions(m)
    deform(m)
