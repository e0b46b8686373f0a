# SPDX-License-Identifier: Apache-2.0
"""Quantized tensors, and what integers of 64 bits and narrow floats do."""
import torch

u1, i1, i2, i4, i8 = (torch.uint8, torch.int8, torch.int16, torch.int32,
                      torch.int64)
f2, f4, f8, b1, bf = (torch.float16, torch.float32, torch.float64, torch.bool,
                      torch.bfloat16)
NAN, INF = float("nan"), float("inf")
Q = (torch.quint8, torch.qint8, torch.qint32)


def add(make):
    global case
    case = make.case
    quantized()
    integers()
    floats()


def values():
    return torch.tensor([[-3.7, -0.05, 0.0, 0.15, 0.25], [0.35, 1.0, 2.45, 127.0, 1e9],
                         [NAN, INF, -INF, -1e9, 0.05]])


def quantized():
    x = values()
    for dtype in Q:
        for scale, zero in ((0.1, 3), (0.037858203, 0), (2.0, 10)):
            case("aten::quantize_per_tensor", x, scale, zero, dtype)
        case("aten::quantize_per_tensor.tensor_qparams", x, torch.tensor(0.1),
             torch.tensor(3), dtype)
        q = torch.quantize_per_tensor(x[:2], 0.05, 7, dtype)
        for n in ("dequantize.self", "int_repr", "q_scale", "q_zero_point"):
            case(f"aten::{n}", q)
        case("aten::dequantize.self", q.t())
        case("aten::dequantize.tensor", q)
        case("aten::dequantize.list", [q, q[0]])
        case("aten::dequantize.tensors", [q, q[0]])
        for axis, scales, zeros in ((0, [0.1, 0.2], [0, 1]),
                                    (1, [0.1, 0.2, 0.3, 0.05, 1.0],
                                     [0, 1, 2, 3, 4])):
            s = torch.tensor(scales, dtype=f8)
            z = torch.tensor(zeros, dtype=i8)
            case("aten::quantize_per_channel", x[:2], s, z, axis, dtype)
            p = torch.quantize_per_channel(x[:2], s, z, axis, dtype)
            for n in ("dequantize.self", "int_repr", "q_per_channel_scales",
                      "q_per_channel_zero_points", "q_per_channel_axis",
                      "q_scale"):
                case(f"aten::{n}", p)
    for ints in (torch.tensor([[1, -2, 3]], dtype=i1),
                 torch.tensor([[1, 200, 3]], dtype=u1),
                 torch.tensor([[1, -2, 70000]], dtype=i4)):
        case("aten::_make_per_tensor_quantized_tensor", ints, 0.5, 2)
        case("aten::_make_per_channel_quantized_tensor", ints,
             torch.tensor([0.5, 0.25, 2.0], dtype=f8),
             torch.tensor([0, 1, 2]), 1)
    case("aten::quantize_per_tensor", x.to(f8), 0.1, 3, torch.quint8)
    case("aten::q_scale", x)
    case("aten::int_repr", x)
    case("aten::dequantize.self", x)
    case("aten::dequantize.self", x.to(f2))


def integers():
    big = torch.tensor([[2**53, 2**53 + 1, -2**53 - 1], [2**62, 2**62 + 1, 5]])
    for dtype in (i8, i4, i2, i1, u1):
        x = big.to(dtype)
        case("aten::mm", x, x.t().contiguous())
        case("aten::bmm", x[None], x.t()[None])
        case("aten::linear", x, x, x[:, 0].contiguous())
        case("aten::einsum", "ij,kj->ik", [x, x])
        case("aten::floor_divide.Scalar", x, -3)
        case("aten::remainder.Scalar", x, -3)
        case("aten::sort.stable", x, stable=True, dim=1)
        case("aten::topk", x, 2)
        case("aten::conv1d", x[None], x[None, :, :2].contiguous())
        case("aten::sum", x)
        case("aten::cumsum", x, 1)
        case("aten::cumprod", x, 1)
        case("aten::amax", x, [1])
        if dtype != i8:
            case("aten::max_pool2d", x[None], [1, 2])
        case("aten::mean", x)
        case("aten::__lshift__.Scalar", x, 7)
        case("aten::__rshift__.Scalar", x, 31)
    case("aten::conv_transpose2d.input", big[None, None],
         torch.tensor([[[[3, -7]]]]), stride=[2, 2])
    case("aten::_unique2", big)
    case("aten::kthvalue", big, 2)
    case("aten::argsort", big)


def floats():
    g = torch.Generator().manual_seed(3)
    for dtype in (f2, bf, f8):
        x = torch.randn(3, 40, generator=g).to(dtype)
        w = torch.randn(5, 40, generator=g).to(dtype)
        case("aten::linear", x, w, w[:, 0].contiguous())
        case("aten::mm", x, w.t())
        case("aten::sum", x)
        case("aten::mean", x)
        case("aten::cumsum", x, 1)
        case("aten::softmax.int", x, 1)
        case("aten::layer_norm", x, [40], w[0], w[1])
        case("aten::conv1d", x[None], w[None, :3, :3].contiguous())
        for to in (u1, i1, i2, i4, i8, b1, f2, bf, f4, f8):
            case("aten::to.dtype", x[:, :6] * 50, to)
