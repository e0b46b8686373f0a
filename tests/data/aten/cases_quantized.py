# SPDX-License-Identifier: Apache-2.0
"""Operators on quantized tensors, and packed parameters, by PyTorch's x86
engine. Results of ops that compute are within a step of the output's grid."""
import torch

MOST, BYTES = 10, 2500
Q8, U8, Q32 = torch.qint8, torch.quint8, torch.qint32


def q(shape, scale=0.05, zero=None, dtype=U8, spread=2.0):
    """A tensor on a grid; weights stay within 7 bits, as observers keep them
    so that no engine saturates."""
    if zero is None:
        zero = 60 if dtype == U8 else 3
    return torch.quantize_per_tensor(torch.randn(shape) * spread, scale, zero,
                                     dtype)


def weight(shape, channels=True, axis=0):
    x = torch.randn(shape)
    if not channels:
        return torch.quantize_per_tensor(x, 0.04, 2, Q8)
    scales = torch.rand(shape[axis]) * 0.02 + 0.03
    return torch.quantize_per_channel(
        x, scales.double(), torch.zeros(shape[axis], dtype=torch.int64), axis,
        Q8)


def convolutions(m):
    case, ops = m.case, torch.ops.quantized
    for channels in (True, False):
        for bias in (torch.randn(6), None):
            for groups, stride, pad, dil in ((1, 1, 0, 1), (2, 2, 1, 1),
                                             (1, 1, 2, 2)):
                for d in (1, 2, 3):
                    w = weight((6, 4 // groups) + (3,) * d, channels)
                    args = (w, bias, [stride] * d, [pad] * d, [dil] * d, groups)
                    case(f"quantized::conv{d}d_prepack", *args)
                    if d == 2:
                        case("quantized::conv_prepack", *args)
                    pack = getattr(ops, f"conv{d}d_prepack")
                    x = q((2, 4) + {1: (9,), 2: (5, 6), 3: (3, 4, 3)}[d])
                    # an object keeps the first op that it is used by
                    for name in ("", "_relu"):
                        case(f"quantized::conv{d}d{name}" +
                             (".new" if d > 1 else ""), x, pack(*args), 0.2, 70)
                    p = pack(*args)
                    case(f"quantized::conv{d}d_dynamic", x.dequantize(), p)
                    p = pack(*args)
                    case(f"quantized::conv{d}d_unpack", p)
                    if d > 1:
                        for get in ("stride", "padding", "dilation", "groups",
                                    "output_padding", "transpose"):
                            case(f"quantized::conv{d}d_{get}", p)
                    else:
                        continue
                    if d == 2:
                        case("quantized::conv_unpack", p)
                    legacy = ([stride] * d, [pad] * d, [dil] * d, groups)
                    for name in ("", "_relu"):
                        case(f"quantized::conv{d}d{name}", x, pack(*args),
                             *legacy, 0.2, 70)
    for d in (1, 2, 3):
        w = weight((4, 3) + (3,) * d, False)
        args = (w, torch.randn(6), [2] * d, [1] * d, [1] * d, [1] * d, 2)
        case(f"quantized::conv_transpose{d}d_prepack", *args)
        pack = getattr(ops, f"conv_transpose{d}d_prepack")
        p = pack(*args)
        x = q((2, 4) + (3,) * d)
        case(f"quantized::conv_transpose{d}d", x, pack(*args), 0.2, 70)
        case(f"quantized::conv_transpose{d}d_unpack", p)
        case(f"quantized::conv_transpose{d}d_dynamic", x.dequantize(), p)
        for get in ("stride", "padding", "dilation", "groups",
                    "output_padding", "transpose"):
            if d > 1:
                case(f"quantized::conv_transpose{d}d_{get}", p)
    # the sum before the activation is of engine onednn alone
    before, torch.backends.quantized.engine = (
        torch.backends.quantized.engine, "onednn")
    w = weight((6, 4, 3, 3))
    bias = torch.randn(6)
    x = q((2, 4, 5, 6))
    for name in ("conv2d_add", "conv2d_add_relu"):
        p = ops.conv2d_prepack(w, bias, [1, 1], [1, 1], [1, 1], 1)
        case(f"quantized::{name}", x, q((2, 6, 5, 6), 0.1), p, 0.2, 70)
    torch.backends.quantized.engine = before


def linear(m):
    case, ops = m.case, torch.ops.quantized
    for channels in (True, False):
        for bias in (torch.randn(5), None):
            w = weight((5, 12), channels)
            case("quantized::linear_prepack", w, bias)
            p = ops.linear_prepack(w, bias)
            case("quantized::linear_unpack", p)
            for shape in ((3, 12), (2, 3, 12), (12,)):
                x = q(shape)
                pack = ops.linear_prepack
                case("quantized::linear", x, pack(w, bias), 0.15, 60)
                case("quantized::linear_relu", x, pack(w, bias), 0.1, 0)
                for name in ("linear_dynamic", "linear_relu_dynamic"):
                    for less in (False, True):
                        case(f"quantized::{name}", torch.randn(shape),
                             pack(w, bias), less)
    w = torch.randn(5, 12)
    p = ops.linear_prepack_fp16(w, torch.randn(5))
    case("quantized::linear_prepack_fp16", w, torch.randn(5))
    case("quantized::linear_unpack_fp16", p)
    for name in ("linear_dynamic_fp16", "linear_relu_dynamic_fp16"):
        case(f"quantized::{name}", torch.randn(3, 12), p)
    before, torch.backends.quantized.engine = (
        torch.backends.quantized.engine, "onednn")
    w, bias = weight((5, 12)), torch.randn(5)
    case("quantized::linear_leaky_relu", q((3, 12)),
         ops.linear_prepack(w, bias), 0.1, 20, 0.1)
    case("quantized::linear_tanh", q((3, 12)), ops.linear_prepack(w, bias),
         1 / 128, 128)
    torch.backends.quantized.engine = before


def binary(m):
    case = m.case
    for dtype in (U8, Q8):
        a, b = q((3, 8), dtype=dtype), q((3, 8), 0.03, 7, dtype)
        for name in ("add", "add_relu", "mul", "mul_relu"):
            case(f"quantized::{name}", a, b, 0.08, 40)
            case(f"quantized::{name}", a, q((8,), dtype=dtype), 0.08, 40)
        case("quantized::matmul", a, b.t(), 0.3, 20)
        # grids that move, that do not fit, mirrored ones, and none
        for n in (1.53, -1.5, 30.0, -30.02, 0.0, 2):
            for op in ("add", "mul"):
                for relu in ("", "_relu"):
                    case(f"quantized::{op}{relu}.Scalar", a, n)
                    case(f"quantized::{op}{relu}.Scalar2", n, a)
                    case(f"quantized::{op}_scalar{relu}", a, n)
                    case(f"quantized::{op}_scalar{relu}.Tensor", a,
                         torch.tensor(n))
        for name in ("cat", "cat_relu"):
            case(f"quantized::{name}", [a, b], 1, 0.06, 30)
            case(f"quantized::{name}", [a, b, a], 0, None, None)
            case(f"quantized::{name}", [a, a], -1, 0.05, a.q_zero_point())
    case("aten::cat", [q((2, 3)), q((2, 4))], 1)
    case("aten::cat", [q((2, 3)), q((2, 4), 0.1)], 1)
    case("quantized::add", q((3,)), q((3,), dtype=Q8), 0.1, 0)
    case("quantized::add", q((3,)), q((4,)), 0.1, 0)


def activations(m):
    case = m.case
    for dtype in (U8, Q8):
        x = q((3, 17), dtype=dtype)
        z = 30 if dtype == U8 else -40
        case("quantized::elu", x, 0.04, z)
        case("quantized::elu", x, 0.04, z, 0.7, 1.2, 1.0)
        case("quantized::celu", x, 0.04, z)
        case("quantized::celu", x, 0.04, z, 1.3)
        case("quantized::leaky_relu", x, 0.1, False, 0.04, z)
        case("quantized::hardswish", x, 0.04, z)
        case("quantized::sigmoid", x, 1 / 255, z if dtype == Q8 else 1)
        case("quantized::softmax", x, -1, 1 / 256, 0 if dtype == U8 else -128)
        case("quantized::softmax", x, 0, 1 / 256, 0 if dtype == U8 else -128)
        case("quantized::dropout", x, 0.04, z)
        w = torch.quantize_per_tensor(torch.rand(17), 0.004, 0, dtype)
        if dtype == U8:  # PyTorch's vectors of qint8 compare as unsigned
            case("quantized::prelu", x, w, 0.04, z)
            case("quantized::prelu", x, w[:1], 0.04, z)
        for name in ("relu", "relu6", "sigmoid", "hardsigmoid", "tanh", "gelu"):
            case(f"aten::{name}", x)
        for name in ("relu_", "hardsigmoid_", "relu6_"):
            case(f"aten::{name}", x.clone())
        case("quantized::relu6", x)
        case("quantized::threshold", x, 0.3, 0.1)
        case("aten::threshold", x, 0.3, 0.1)
        case("aten::leaky_relu", x, 0.2)
        case("aten::leaky_relu_", x.clone(), 0.2)
        for low, high in ((-1.0, 1.5), (None, 0.7), (-0.3, None)):
            case("quantized::clamp", x, low, high)
            case("aten::clamp", x, low, high)
        case("aten::hardtanh", x, -0.6, 0.9)
        case("aten::hardtanh_", x.clone(), -0.6, 0.9)
    for dtype in (U8, Q8):
        for value in (0.0, 1.0):
            x = q((2, 3), dtype=dtype)
            for name in ("eq", "ne", "lt", "le", "gt", "ge"):
                case(f"aten::{name}.Scalar", x, value)
                case(f"aten::{name}.Tensor", x, q((2, 3), 0.1, dtype=dtype))


def norms(m):
    case = m.case
    for name, shape in (("", (2, 4, 5, 3)), ("1d", (2, 4, 6)), ("2d", (2, 4, 5, 3)),
                        ("3d", (2, 4, 2, 3, 2))):
        x = q(shape)
        stats = (torch.randn(4), torch.rand(4) + 0.5)
        for relu in ("", "_relu"):
            for affine in ((torch.rand(4) + 0.5, torch.randn(4)), (None, None)):
                case(f"quantized::batch_norm{name}{relu}", x, *affine, *stats,
                     1e-5, 0.06, 50)
    x = q((2, 4, 3, 6))
    for w, b in ((torch.rand(3, 6), torch.randn(3, 6)), (None, None)):
        case("quantized::layer_norm", x, [3, 6], w, b, 1e-5, 0.04, 60)
    for w, b in ((torch.rand(4), torch.randn(4)), (None, None)):
        case("quantized::group_norm", x, 2, w, b, 1e-5, 0.04, 60)
        case("quantized::instance_norm", x, w, b, 1e-5, 0.04, 60)


def windows(m):
    case = m.case
    for dtype in (U8, Q8):
        x1, x2, x3 = (q((2, 3, 9), dtype=dtype), q((2, 3, 7, 8), dtype=dtype),
                      q((1, 3, 5, 6, 6), dtype=dtype))
        for n, x in ((1, x1), (2, x2), (3, x3)):
            one = [2] * n
            case(f"aten::max_pool{n}d", x, [3] * n, one, [1] * n, [1] * n, False)
            case(f"aten::quantized_max_pool{n}d", x, [3] * n, one, [1] * n,
                 [1] * n, True)
            case(f"aten::avg_pool{n}d", x, [3] * n, one, [1] * n, True)
            if n > 1:
                case(f"aten::adaptive_avg_pool{n}d", x, one)
            case(f"aten::upsample_nearest{n}d", x, [10] * n)
            case(f"aten::upsample_nearest{n}d.vec", x, None, [2.0] * n)
            case(f"aten::_upsample_nearest_exact{n}d", x, [10] * n)
            case(f"aten::_upsample_nearest_exact{n}d.vec", x, None, [1.5] * n)
            case(f"aten::reflection_pad{n}d", x, [1, 2] * n)
        case("aten::adaptive_avg_pool1d", x1, [4])
        case("quantized::max_pool1d", x1, [3], [2], [1], [1], False)
        case("quantized::max_pool2d", x2, [3, 2], [2, 1], [1, 1], [1, 1], False)
        for corners in (True, False):
            case("aten::upsample_bilinear2d", x2, [10, 11], corners)
            case("aten::upsample_bilinear2d.vec", x2, None, corners, [2.0, 2.0])
        case("aten::pad", x2, [1, 1, 2, 0], "constant", 0.4)
        case("aten::pad", x2, [1, 1, 2, 0], "reflect", None)
        case("aten::constant_pad_nd", x2, [1, 1, 2, 0], 0.4)
        case("aten::mean", x2)
        case("aten::mean.dim", x2, [2, 3], True)
        case("aten::mean.dim", x2, [1])
        for name in ("max", "min"):
            case(f"aten::{name}", x2)
            case(f"aten::{name}.dim", x1, 2)
        case("aten::sort.stable", x1, stable=True)
        different = torch.quantize_per_tensor(
            (torch.randperm(27) * 0.1).reshape(3, 9), 0.05, 3, dtype)
        case("aten::topk", different, 3)
        case("aten::sort", different)
        case("aten::masked_fill.Scalar", x1, torch.rand(2, 3, 9) > 0.5, 0.3)
        for name in ("clamp_min", "clamp_max"):
            case(f"aten::{name}", x1, 0.3)


def moves(m):
    case = m.case
    x = q((2, 4, 6))
    c = torch.quantize_per_channel(torch.randn(3, 4), torch.rand(3) + 0.01,
                                   torch.tensor([0, 2, 5]), 0, Q8)
    for t in (x, c):
        case("aten::clone", t)
        case("aten::contiguous", t)
        case("aten::detach", t)
        case("aten::alias", t)
        case("aten::cpu", t)
    for name, *args in (
            ("view", [8, 6]), ("_unsafe_view", [8, 6]), ("reshape", [2, -1]),
            ("flatten.using_ints", 1), ("unflatten.int", 1, [2, 2]), ("ravel",),
            ("permute", [2, 0, 1]), ("transpose.int", 0, 2), ("swapaxes", 0, 1),
            ("swapdims", 0, 1), ("movedim.int", 0, 2),
            ("movedim.intlist", [0, 1], [1, 0]), ("mT",), ("squeeze",),
            ("squeeze.dim", 0), ("squeeze.dims", [0]), ("unsqueeze", 1),
            ("expand", [3, 2, 4, 6]), ("repeat", [2, 1, 1]),
            ("slice.Tensor", 1, 0, 3, 2), ("select.int", 1, 2),
            ("narrow", 2, 1, 3), ("split.Tensor", 2, 2), ("split.sizes", [1, 5], 2),
            ("split_with_sizes", [1, 5], 2), ("tensor_split.sections", 2, 1),
            ("chunk", 3, 2), ("unbind.int", 1), ("unfold", 2, 3, 2),
            ("flip", [0, 2]), ("roll", [1], [2]), ("index_select", 1, torch.tensor([2, 0])),
            ("index.Tensor", [None, torch.tensor([2, 0])]),
            ("view_as", torch.zeros(8, 6)), ("reshape_as", torch.zeros(8, 6)),
            ("expand_as", torch.zeros(3, 2, 4, 6))):
        case(f"aten::{name}", x, *args)
    case("aten::t", q((2, 3)))
    case("aten::stack", [q((2, 3)), q((2, 3))], 1)
    image = q((1, 8, 2, 3))
    case("aten::pixel_shuffle", image, 2)
    case("aten::pixel_unshuffle", q((1, 2, 4, 6)), 2)
    case("aten::channel_shuffle", image, 2)
    case("aten::native_channel_shuffle", image, 2)


def embeddings(m):
    case, ops = m.case, torch.ops.quantized
    w = torch.quantize_per_channel(
        torch.randn(12, 8), torch.rand(12) * 0.02 + 0.01,
        torch.rand(12) * 100 + 50, 0, U8)
    case("quantized::embedding_bag_prepack", w)
    p8 = ops.embedding_bag_prepack(w)
    case("quantized::embedding_bag_unpack", p8)
    w4 = torch.quantize_per_channel(
        torch.randn(12, 8), torch.rand(12) * 0.1 + 0.3, torch.rand(12) * 8, 0,
        torch.quint4x2)
    p4 = ops.embedding_bag_prepack(w4)
    indices = torch.randint(0, 12, (7,))
    offsets = torch.tensor([0, 2, 2, 5])
    for name, p in (("byte", p8), ("4bit", p4)):
        case(f"quantized::embedding_{name}", p, indices)
        case(f"quantized::embedding_{name}", p, indices.reshape(7, 1))
        bag = f"quantized::embedding_bag_{name}"
        case(bag, p, indices, offsets)
        case(bag, p, indices.int(), offsets.int())
        case(bag, p, indices, torch.tensor([0, 2, 5, 7]), include_last_offset=True)
        case(bag, p, indices, offsets, per_sample_weights=torch.rand(7))
        case(bag, p, indices[:6].reshape(2, 3))


def recurrent(m):
    case, ops = m.case, torch.ops.quantized

    def packed(rows, columns):
        return ops.linear_prepack(weight((rows, columns), False),
                                  torch.randn(rows))

    def half(rows, columns):
        return ops.linear_prepack_fp16(torch.randn(rows, columns),
                                       torch.randn(rows))

    zero = torch.zeros(1)
    for reduce_range in (True, False):
        case("quantized::make_quantized_cell_params_dynamic", packed(8, 3),
             packed(8, 2), torch.zeros(8), torch.zeros(8), reduce_range)
    case("quantized::make_quantized_cell_params_fp16", half(8, 3), half(8, 2))
    x, h = torch.randn(5, 3), torch.randn(5, 2)
    case("quantized::quantized_lstm_cell_dynamic", x, [h, torch.randn(5, 2)],
         packed(8, 3), packed(8, 2), zero, zero)
    case("quantized::quantized_gru_cell_dynamic", x, h, packed(6, 3),
         packed(6, 2), zero, zero)
    for kind in ("tanh", "relu"):
        case(f"quantized::quantized_rnn_{kind}_cell_dynamic", x, h,
             packed(2, 3), packed(2, 2), zero, zero)
    for gates, name in ((4, "lstm"), (3, "gru")):
        for levels, two, first, is_half in ((1, False, False, False), (2, True, True, False),
                                            (1, False, False, True)):
            params = []
            for level in range(levels):
                for _ in range(2 if two else 1):
                    inputs = 3 if level == 0 else 2 * (2 if two else 1)
                    make = half if is_half else packed
                    ih, hh = make(2 * gates, inputs), make(2 * gates, 2)
                    params.append(
                        ops.make_quantized_cell_params_fp16(ih, hh) if is_half
                        else ops.make_quantized_cell_params_dynamic(
                            ih, hh, torch.zeros(2 * gates),
                            torch.zeros(2 * gates), levels == 1))
            n = len(params)
            x = torch.randn(4, 5, 3)
            b = 4 if first else 5
            h, c = torch.randn(n, b, 2), torch.randn(n, b, 2)
            hx = [h, c] if name == "lstm" else h
            extra = {}
            if name == "lstm":
                extra = {"dtype": torch.float16 if is_half else Q8,
                         "use_dynamic": True}
            case(f"aten::quantized_{name}.input", x, hx, params, True, levels,
                 0.0, False, two, first, **extra)


def trained(m):
    """The scale is that of the last range that was observed."""
    name = "aten::fused_moving_avg_obs_fake_quant"
    x, on, off = torch.randn(3, 4), torch.tensor([1]), torch.tensor([0])
    for rows, bounds in ((False, (0, 255)), (True, (-128, 127))):
        n = 3 if rows else 1
        state = [torch.full((n,), v) for v in (-2.0, 2.0, 1.0)]
        state.append(torch.zeros(n, dtype=torch.int32))
        rest = (*state, 0.01, *bounds, 0, rows, rows)
        torch.fused_moving_avg_obs_fake_quant(x, on, on, *rest)
        for quantizes in (on, off):
            m.case(name, x, off, quantizes, *rest)


def add(m):
    torch.backends.quantized.engine = "x86"
    convolutions(m)
    linear(m)
    binary(m)
    activations(m)
    norms(m)
    windows(m)
    moves(m)
    embeddings(m)
    recurrent(m)
    trained(m)
