# SPDX-License-Identifier: Apache-2.0
"""Arguments that are rare: what PyTorch raises for and what it takes, where the
reference library or a converter once knew better."""
import itertools
import math

import torch

MOST = 60
BYTES = 12000


def windows(m):
    case, rand = m.case, m.rand
    for n, x, w in ((1, (2, 2, 5), (3, 2, 2)), (2, (2, 2, 5, 6), (3, 2, 2, 3))):
        x, w = rand(x), rand(w)
        for at in range(3):
            how = [[1], [0], [1]]
            how[at] = []
            case(f"aten::conv{n}d", x, w, None, *how, 1)
            case("aten::convolution", x, w, None, *how, False, [0], 1)
        t = "aten::conv_transpose1d" if n == 1 else "aten::conv_transpose2d.input"
        for at in range(4):
            how = [[2], [1], [0], [1]]
            how[at] = []
            case(t, x, w.transpose(0, 1), None, *how[:3], 1, how[3])
        for op in ("max_pool{}d", "max_pool{}d_with_indices"):
            op = "aten::" + op.format(n)
            for pad, dilation in (([], [1]), ([0], [])):
                case(op, x, [2] * n, [], pad, dilation, False)
        more = [None] if n == 2 else []
        case(f"aten::avg_pool{n}d", x, [2] * n, [], [], False, True, *more)
    x = rand((2, 2, 5), m.f8)
    case("aten::conv1d", x, rand((3, 2, 0), m.f8), None, [1], [0], [1], 1)


def empty_windows(m):
    """Transposed convolutions that leave no elements, or have none."""
    for n in (1, 2):
        t = "aten::conv_transpose1d" if n == 1 else "aten::conv_transpose2d.input"
        for batch, sizes in itertools.product((0, 1), ((2, 3), (0, 3), (2, 0))):
            for size, pad in ((1, 0), (1, 1), (3, 2), (3, 3)):
                m.case(t, m.rand((batch, sizes[0]) + (size,) * n),
                       m.rand(sizes + (2,) * n), None, [1], [pad])


def joined(m):
    case = m.case
    one, row = torch.tensor(7, dtype=m.i1), torch.tensor([200], dtype=m.u1)
    for name in ("hstack", "vstack", "row_stack", "dstack", "column_stack"):
        case("aten::" + name, [one, row])
        case("aten::" + name, [row, one, torch.tensor(2.5)])
        case("aten::" + name, [torch.tensor(1.5).half(), one])
    for dtype in (m.f4, m.i8):
        x = m.rand((1, 2, 3, 4, 5), dtype)
        for pad in ([1, 0, -1, 1, 0, 1], [-1, 2], [2, -1, 1, 1]):
            case("aten::_pad_circular", x[0, 0] if len(pad) < 6 else x, pad)
            case("aten::pad", x[0, 0] if len(pad) < 6 else x, pad, "circular")


def numbers(m):
    """0-d tensors where a dimension is asked for."""
    case, x = m.case, torch.tensor(2.5)
    for dim in (0, -1, None):
        case("aten::repeat_interleave.self_int", x, 3, dim)
        case("aten::repeat_interleave.self_Tensor", x, torch.tensor([3]), dim)
    for k in (0, 1):
        case("aten::topk", x, k, 0, True, True)
    for n in (1, 5):
        case("aten::index_select", x, 0, torch.zeros(n, dtype=m.i8))
    vector = m.rand((4,))
    case("aten::scatter.src", vector, 0, torch.tensor(1), torch.tensor(7.0))
    case("aten::scatter.value", vector, 0, torch.tensor(1), -1.0)
    case("aten::scatter_reduce.two", vector, 0, torch.tensor(2), vector + 5,
         "amax")
    for shape, index in (((2, 3), (0, 2, 2)), ((1, 2, 3), (0, 3))):
        case("aten::gather", m.rand(shape), 0, torch.zeros(index, dtype=m.i8))


def counts(m):
    case, x = m.case, m.rand((2, 3))
    for size in (4, 3, -2, None):
        case("aten::repeat_interleave.self_Tensor", x, torch.tensor([3, 1]), 0,
             output_size=size)
        case("aten::repeat_interleave.self_int", x, 2, 0, output_size=size)
    for extra in (None, x):
        case("aten::diff", x, 0, -1, extra, extra)
    for v in (-3, 300, 2, 2.5):
        case("aten::searchsorted.Scalar",
             torch.tensor([1, 2, 3, 4], dtype=m.u1), v)


def limits(m):
    case, rand = m.case, m.rand
    for dtype in (m.f4, m.f8):
        x = torch.tensor([-0.5, 0.0, 1e-6, 0.3, 0.7, 1.0, 1.5], dtype=dtype)
        for eps in (None, 1e-5, 0.25, 0.5, 0.75, 1.0, -1.0):
            case("aten::logit", x, eps)
            case("aten::special_logit", x, eps)
    case("aten::special_logit", torch.tensor([0, 1, 2, -1], dtype=m.i4), 1e-5)
    for dtype in (m.i2, m.f4, m.f8):
        case("aten::hardtanh", torch.tensor([1, 2, 7], dtype=dtype), 5, 0)
    for dtype in (m.f4, m.f2, m.bf, m.f8):
        x = rand((3, 4), dtype) / 50
        case("aten::rms_norm", x, [4], None, None)
        case("aten::rms_norm", x, [4], rand((4,), dtype), None)
    x = rand((2, 4))
    for eps in (-0.25, 0.0):
        case("aten::layer_norm", x, [4], None, None, eps, False)
        case("aten::rms_norm", x, [4], None, eps)
        case("aten::group_norm", rand((2, 4, 3)), 2, None, None, eps)
    for decimals in (-5, 3, 5):
        case("aten::round.decimals", rand((6,), m.f2), decimals=decimals)
    for dtype in (m.f2, m.bf):
        for other in (m.f4, m.f2, m.bf):
            case("aten::floor_divide", torch.tensor([1.0, 3.0], dtype=dtype),
                 torch.tensor(1.0005, dtype=other))


def sums(m):
    case = m.case
    for dtype in (m.f4, m.i4, m.b1):
        for wanted in (None, m.i8, m.f4):
            case("aten::nansum", torch.tensor([1, 0, 1], dtype=dtype), None,
                 False, dtype=wanted)
    for row in ([1, 1, 1], [2, 1, 1, 1, 0], [1, 2, 1, 2, 1, 2, 1]):
        case("aten::median.dim", torch.tensor(row, dtype=m.f4), -1, True)
    case("aten::median.dim", torch.tensor([[True, False]]), -1, True)
    nan = m.NAN
    for row in ([1, nan, 2, nan], [nan, nan, 3], [2, 1, nan]):
        for dtype in (m.f4, m.f8, m.f2):
            case("aten::median.dim", torch.tensor([row, row[::-1]], dtype=dtype),
                 -1, True)
    for correction in (6, 7, 8):
        # A mean that is rounded is not that of equal elements.
        for rows in (torch.full((2, 7), 0.1), m.rand((2, 7))):
            case("aten::var.correction", rows, [1], correction=correction)
            case("aten::std.correction", rows.to(m.f8), [1],
                 correction=correction)
            case("aten::var_mean.correction", rows.t(), [0],
                 correction=correction)
    for shape in ((0, 3), (1, 3)):
        for correction in (-1, 0, 2):
            case("aten::var.correction", m.rand(shape), [0],
                 correction=correction)
    empty = m.rand((3, 2, 0))
    for p in (math.inf, -math.inf, 2):
        case("aten::linalg_vector_norm", empty, p, None, False)
        case("aten::norm.ScalarOpt_dim", empty, p, [2], True)
        case("aten::norm.ScalarOpt_dim", empty, p, [0], True)
        case("aten::norm.Scalar", empty, p)
    for dtype in (m.f4, m.u1):
        case("aten::logsumexp", torch.zeros((0, 3), dtype=dtype), [0], False)
    half = torch.zeros((2, 4)).half()
    case("aten::cosine_similarity", half, half, -1, 1e-8)
    case("aten::cosine_similarity", m.rand((2, 4)), m.rand((2, 4)), -1, -0.25)
    case("aten::cosine_similarity", m.rand((0, 4)), m.rand((0, 4)), 0, 1e-8)


def losses(m):
    case, rand = m.case, m.rand
    ce = "aten::binary_cross_entropy"
    for own in (m.f4, m.f2, m.bf):
        for other in (m.f4, m.f8, m.f2):
            x, t = rand((2, 3), own).sigmoid(), rand((2, 3), own).sigmoid()
            for reduction in (0, 1, 2):
                case(ce, x, t, rand((2, 3), other).abs(), reduction)
            case(ce, x, t.to(other), None, 0)
    x = rand((3,)).sigmoid()
    case(ce, x, x, rand((2, 3)), 0)
    case(ce + "_with_logits", x, x, None, rand((2, 3)), 0)
    for weight in (torch.ones(3), torch.ones(1, 3)):
        target = torch.tensor([0, 1])
        case("aten::cross_entropy_loss", rand((2, 3)), target, weight, 2, 1, 0.5)
        case("aten::nll_loss_nd", rand((2, 3)), target, weight, 2, 0)


def products(m):
    case, rand = m.case, m.rand
    a, b, w = rand((2, 3)), rand((2, 2)), rand((4, 3, 2))
    for bias in (rand((4,)), rand((4,), m.f8), rand((1,)), None):
        case("aten::bilinear", a, b, w, bias)
    for bias in (rand((1,)), rand((2, 5)), None):
        case("aten::linear", rand((3,)), rand((3,)), bias)
    for beta in (-2, 0, 1):
        case("aten::addr", torch.zeros((2, 3), dtype=m.b1),
             torch.tensor([True, False]), torch.tensor([True, False, True]),
             beta=beta, alpha=2)
    for n in (0, 2):
        case("aten::bmm", rand((1, 2, 3), m.u1), rand((1, 3, n), m.u1))
    c = rand((3,), m.c4)
    for op in ("add", "sub", "subtract"):
        case(f"aten::{op}.Tensor", c, c, alpha=0.5)
        case(f"aten::{op}.Scalar", c, 2, 0.5)
    u = torch.ones(3, dtype=m.u1)
    case("aten::addcmul", u, u, u, value=0.5)
    for n in (0, 1, 3):
        source = rand((n, 4))
        case("aten::index_reduce", rand((2, 4)), 0,
             torch.zeros(n, dtype=m.i8), source, "mean", include_self=True)
    case("aten::index_reduce", rand((2, 4)), 1, torch.tensor([0, 1, 2]),
         rand((1, 3)), "mean", include_self=True)
    case("aten::lerp.Tensor", u, u, u)
    case("aten::_prelu_kernel", rand((2, 3)), rand((1, 1, 3)))
    case("aten::_prelu_kernel", rand((2, 3, 3)), rand((1, 3)))
    case("aten::rrelu_with_noise_functional", rand((3,)), rand((1,)), 0.1, 0.3,
         False)
    data = rand((8, 2))
    case("aten::_pad_packed_sequence", data, torch.tensor([3, 3, 2]), True, 0.0,
         4)
    case("aten::_pad_packed_sequence", data.bool(), torch.tensor([4, 3, 1]),
         True, 0.1, 5)


def norms(m):
    case, rand = m.case, m.rand
    q = "aten::_native_batch_norm_legit.no_stats"
    case(q, rand((0, 6, 2, 2)), rand((6,)), rand((6,)), True, 1.0, 1e-5)
    case(q, rand((2, 6, 2, 2)), rand((6,)), rand((6,)), True, 1.0, 1e-5)
    x = rand((5, 0))
    case("aten::native_group_norm", x, None, None, 0, 0, 4, 4, 1e-5)
    x = rand((2, 4, 3))
    case("aten::native_group_norm", x, rand((4,)), None, 2, 4, 3, 2, 1e-5)


def bools(m):
    a, b = torch.tensor([True, True, False, False]), torch.tensor([True, False])
    for alpha in (-1, 0, 2):
        m.case("aten::add.Tensor", a, b.repeat(2), alpha=alpha)
        m.case("aten::add.Scalar", a, True, alpha)


def places(m):
    """Samples of images at no number and far away."""
    far = [m.NAN, float("inf"), -float("inf"), 1e3]
    x, grid = m.rand((1, 2, 3, 4)), m.rand((1, 1, 7, 2))
    grid[0, 0, :4, 0] = torch.tensor(far)
    grid[0, 0, 4:6, 1] = torch.tensor(far[:2])
    for mode, padding in itertools.product((0, 1, 2), (0, 1, 2)):
        for dtype in (m.f4, m.f8):
            m.case("aten::grid_sampler", x.to(dtype), grid.to(dtype), mode,
                   padding, mode == padding)


def modes(m):
    """Of equal elements the place is that which std::sort leaves last: for few,
    for many, and where it gives up partitions for a heap."""
    for n, kinds in ((16, 3), (17, 1), (40, 3), (300, 7), (300, 200)):
        x = torch.randint(0, kinds, (2, n))
        m.case("aten::mode", x, 1)
        m.case("aten::mode", x.t().to(m.f4), 0, True)
    worst, half = [0] * 256, 128
    for i in range(1, half + 1):
        if i % 2:
            worst[i - 1:i + 1] = i, half + i
        worst[half + i - 1] = 2 * i
    for step in (1, 2, 5):
        m.case("aten::mode", torch.tensor(worst) // step, 0)


def wide_grids(m):
    x = (m.rand((4, 6)) * 9).to(m.f8)
    for scale, zero, low, high in ((0.05, -4, -128, 127), (1 / 3, 1, -8, 7),
                                   (0.017, 16, -32768, 32767)):
        m.case("aten::fake_quantize_per_tensor_affine", x, scale, zero, low,
               high)
        m.case("aten::fake_quantize_per_tensor_affine.tensor_qparams", x,
               torch.tensor(scale), torch.tensor(zero, dtype=torch.int32), low,
               high)
        m.case("aten::fake_quantize_per_channel_affine", x,
               torch.full((4,), scale), torch.full((4,), zero,
                                                   dtype=torch.int32), 0, low,
               high)


def mixed_addr(m):
    i, x = torch.tensor([1, 4]), m.rand((2,))
    for args in ((i, i, x), (m.rand((2, 2)), i, i), (i.int(), i, x),
                 (x.half(), x, x), (i > 2, i, i), (x.to(m.f8), x, i)):
        m.case("aten::addr", *args)
        m.case("aten::addr", *args, beta=3, alpha=-1)
    m.case("aten::addr_", torch.ones((2, 2), dtype=m.i4), i, x)


def no_maps(m):
    case, rand = m.case, m.rand
    x, w = rand((2, 0, 5, 5)), rand((3, 0, 3, 3))
    case("aten::conv2d", x, w, rand((3,)))
    case("aten::conv2d", x[0], w)
    case("aten::conv2d", x, w, rand((3,)), [2], [1])
    case("aten::conv1d", x[..., 0], w[..., 0], rand((3,)))
    case("aten::convolution", x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0],
         1)
    case("aten::conv_transpose2d.input", x, w.transpose(0, 1))


def true_alpha(m):
    i, b = torch.tensor([3, 2]), torch.tensor([True, False])
    m.case("aten::add.Tensor", b, b, alpha=True)
    m.case("aten::add.Tensor", i, i, alpha=True)
    m.case("aten::sub.Scalar", i, 1, True)


def add(m):
    windows(m)
    joined(m)
    numbers(m)
    counts(m)
    limits(m)
    sums(m)
    losses(m)
    products(m)
    norms(m)
    bools(m)
    empty_windows(m)
    places(m)
    modes(m)
    no_maps(m)
    true_alpha(m)
    wide_grids(m)
    mixed_addr(m)
