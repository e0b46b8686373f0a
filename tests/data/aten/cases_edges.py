# SPDX-License-Identifier: Apache-2.0
"""Every dtype, 0-dim, empty, strided and NaN inputs for the ops of models."""
import torch

MOST, BYTES = 30, 7000


def kinds(m):
    return (m.f4, m.f8, m.f2, m.bf, m.i8, m.i4, m.u1, m.b1)


def spread(m, t):
    """t, and the same values with other strides."""
    yield t
    if t.dim() > 1:
        yield t.transpose(-1, -2).contiguous().transpose(-1, -2)


def windows(m):
    case, rand = m.case, m.rand
    for d in kinds(m):
        for n in (1, 2, 3):
            x = rand((2, 2) + (5, 6, 4)[:n], d)
            k = [2] * n
            for t in spread(m, x):
                case(f"aten::max_pool{n}d", t, k)
                case(f"aten::max_pool{n}d_with_indices", t, k, [1] * n)
                case(f"aten::avg_pool{n}d", t, k, [2] * n, [1] * n, True)
                case(f"aten::adaptive_avg_pool{n}d", t, [3, 2, 2][:n])
                case(f"aten::adaptive_max_pool{n}d", t, [3, 2, 2][:n])
            w = rand((3, 2) + (2, 3, 2)[:n], d)
            b = rand((3,), d)
            case(f"aten::conv{n}d", x, w, b, [2], [1], [1])
            if d != m.b1:  # of nothing PyTorch takes them
                case(f"aten::conv{n}d", x[:0], w, b)
            case(f"aten::convolution", x, w, None, [1] * n, [1] * n, [1] * n,
                 False, [0] * n, 1)
            wt = rand((2, 3) + (2, 3, 2)[:n], d)
            q = f"aten::conv_transpose{n}d" + ("" if n == 1 else ".input")
            case(q, x, wt, b, [2], [1], [1])
            wg = rand((4, 1) + (2, 2, 2)[:n], d)
            case(f"aten::conv{n}d", x, wg, None, [1], [0], [1], 2)
            case(f"aten::conv{n}d.padding", x, w, b, [1], "same", [1])
            pad = [1, 2] * n
            case(f"aten::reflection_pad{n}d", x, pad)
            case(f"aten::replication_pad{n}d", x, pad)
            case(f"aten::replication_pad{n}d", x[0], [-1, 2] * n)
            case(f"aten::reflection_pad{n}d", x, [9, 0] * n)
            for mode in ("constant", "reflect", "replicate", "circular"):
                case("aten::pad", x, pad, mode,
                     1.0 if mode == "constant" else None)
        x = rand((1, 8, 4, 6), d)
        if d == m.u1:
            x = torch.randint(0, 256, (1, 8, 4, 6), dtype=d)
        for t in spread(m, x):
            case("aten::pixel_shuffle", t, 2)
            case("aten::pixel_unshuffle", t, 2)
            case("aten::channel_shuffle", t, 4)
            case("aten::im2col", t, [2, 3], [1, 2], [1, 0], [2, 1])
        case("aten::pixel_shuffle", x, 3)
        case("aten::pixel_unshuffle", x, 4)
        case("aten::col2im", rand((1, 12, 6), d), [4, 5], [2, 3], [1, 1],
             [0, 0], [1, 2])
        for base in ("upsample_nearest2d", "_upsample_nearest_exact2d"):
            case(f"aten::{base}", x, [3, 9])
        for base in ("upsample_bilinear2d", "upsample_bicubic2d",
                     "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"):
            for align in (False, True):
                case(f"aten::{base}", x, [3, 9], align)
                case(f"aten::{base}.vec", x, None, align, [1.5, 0.5])
        case("aten::upsample_linear1d", x[0], [9], False)
        case("aten::upsample_linear1d.vec", x[0], None, False, [0.6])
        case("aten::upsample_trilinear3d", x[None], [3, 5, 4], True)
        case("aten::upsample_trilinear3d.vec", x[None], None, False,
             [0.5, 2.0, 1.0])
    for n in (1, 2, 3):
        x = rand((1, 1) + (5, 4, 4)[:n])
        x.view(-1)[2] = m.NAN
        x.view(-1)[4] = -m.INF
        case(f"aten::max_pool{n}d_with_indices", x, [2] * n)
        case(f"aten::adaptive_max_pool{n}d", x, [2] * n)
        case(f"aten::avg_pool{n}d", x, [2] * n)
        case(f"aten::max_pool{n}d", torch.full_like(x, -m.INF), [2] * n)


def losses(m):
    case, rand = m.case, m.rand
    ops = {"mse_loss": (), "l1_loss": (), "smooth_l1_loss": (0.5,),
           "huber_loss": (0.5,), "soft_margin_loss": (), "kl_div": (),
           "binary_cross_entropy": (), "binary_cross_entropy_with_logits": ()}
    for d in kinds(m):
        for op, tail in ops.items():
            bce = op.startswith("binary")
            for s in ((2, 3), (), (0, 3)):
                x, y = rand(s, d), rand(s, d)
                if bce and d.is_floating_point:
                    x, y = torch.rand(s).to(d), torch.rand(s).to(d)
                for r in (0, 1, 2):
                    a = (None,) if op == "binary_cross_entropy" else (
                        None, None) if bce else ()
                    case(f"aten::{op}", x, y, *a, r, *tail)
    x = torch.tensor([m.NAN, m.INF, -m.INF, 0.0, 1.0])
    for op, tail in ops.items():
        bce = op.startswith("binary")
        if op == "binary_cross_entropy":
            x = torch.tensor([0.0, 1.0, 0.5, 1.0, 0.0])
        a = (None,) if op == "binary_cross_entropy" else (
            None, None) if bce else ()
        case(f"aten::{op}", x, torch.tensor([0.0, 1.0, 0.5, 0.0, 1.0]), *a, 0,
             *tail)
        case(f"aten::{op}", rand((2, 3)), rand((3,)), *a, 1, *tail)
        case(f"aten::{op}", rand((2, 3)), rand((2,)), *a, 1, *tail)
        case(f"aten::{op}", rand((2, 3)), rand((2, 3), m.f8), *a, 1, *tail)


def elementwise(m):
    case, rand = m.case, m.rand
    for d in kinds(m):
        x, y, z = rand((2, 3), d), rand((2, 3), d), rand((3,), d)
        zero, none = rand((), d), rand((0, 3), d)
        for a, b in ((x, y), (x, z), (zero, x), (none, z), (x.t(), y.t()),
                     (zero, zero), (x, rand((2, 3))), (x, rand((2, 2), d))):
            for op in ("clamp_min.Tensor", "clamp_max.Tensor", "maximum",
                       "minimum", "fmax", "fmin", "fmod.Tensor",
                       "remainder.Tensor", "atan2", "hypot", "copysign.Tensor",
                       "logical_xor", "bitwise_and.Tensor",
                       "bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor",
                       "floor_divide", "true_divide.Tensor", "type_as",
                       "view_as", "expand_as", "broadcast_to", "rsub.Tensor"):
                if op == "broadcast_to":
                    case("aten::" + op, a, list(b.shape))
                else:
                    case("aten::" + op, a, b)
            case("aten::clamp.Tensor", a, b, None)
            case("aten::clip.Tensor", a, None, b)
            case("aten::lerp.Scalar", a, b, 0.3)
            case("aten::lerp.Tensor", a, b, b)
            case("aten::addcmul", a, b, b, value=2)
            case("aten::addcdiv", a, b, b, value=0.5)
            case("aten::where.self", rand(a.shape, m.b1), a, b)
            case("aten::where.ScalarOther", rand(a.shape, m.b1), a, 2)
            case("aten::where.ScalarSelf", rand(a.shape, m.b1), 1.5, a)
            case("aten::broadcast_tensors", [a, b])
        for t in (x, zero, none, x.t()):
            case("aten::clamp_min", t, 1)
            case("aten::clamp_max", t, 0.5)
            case("aten::clamp_min_", t.clone(), 1)
            case("aten::threshold_", t.clone(), 0.5, 2)
            case("aten::glu", t, -1)
            case("aten::glu", rand((2, 4), d), 1)
            case("aten::rrelu", t)
            case("aten::zero_", t.clone())
            case("aten::bitwise_not", t)
            case("aten::nan_to_num", t, 1.0)
            for to in kinds(m):
                case("aten::to.dtype", t, to)
            case("aten::to.other", t, rand((1,), m.i4))
            case("aten::ravel", t)
            case("aten::squeeze", t)
            case("aten::tril", t, -1)
            case("aten::triu", t, 1)
            case("aten::roll", t, [1], [0])
            case("aten::rot90", t)
            case("aten::flip", t, [0])
            case("aten::fliplr", t)
            case("aten::flipud", t)
            case("aten::numpy_T", t)
            case("aten::unflatten.int", t, -1, [3, 1])
            case("aten::take_along_dim", t, torch.zeros((1, 1), dtype=m.i8), 0)
            case("aten::one_hot", t, 5)
            case("aten::masked_select", t, t > 0)
            case("aten::masked_fill.Scalar", t, t > 0, 3)
            case("aten::masked_scatter", t, t > 0, rand((9,), d))
            for dim in (0, -1):
                case("aten::std_mean.dim", t, [dim])
                case("aten::var_mean.dim", t, [dim])
                case("aten::cumsum", t, dim)
                case("aten::cumprod", t, dim)
                case("aten::sort.stable", t, stable=True, dim=dim)
                case("aten::topk", t, 1, dim)
                case("aten::argsort", t, dim)
                # Which of equal values is found is PyTorch's secret.
                own = torch.randperm(12).reshape(3, 4).to(d)
                if d != m.b1:
                    case("aten::kthvalue", own, 2, dim)
                    case("aten::median.dim", own, dim)
        for op in ("hstack", "vstack", "dstack", "column_stack", "cat"):
            case("aten::" + op, [x, y])
            case("aten::" + op, [rand((2,), d), rand((3,), d)])
            case("aten::" + op, [x, none])
            case("aten::" + op, [x, rand((1, 3), m.f8)])
            if op != "cat":
                case("aten::" + op, [zero, zero])
        case("aten::meshgrid", [z, rand((2,), d)])
        case("aten::meshgrid.indexing", [z, zero], indexing="xy")
    v = torch.tensor([m.NAN, m.INF, -m.INF, -0.0, 2.0])
    for op in ("sort", "argsort", "cumsum", "cumprod", "median.dim",
               "logcumsumexp", "cummax", "cummin"):
        case("aten::" + op, v, 0)
    case("aten::topk", v, 3)
    case("aten::kthvalue", v, 5)
    case("aten::searchsorted.Tensor", v[2:].sort()[0], v)
    case("aten::bucketize.Tensor", v, torch.tensor([-1.0, 0.0, 1.0]))


def indexed(m):
    case, rand = m.case, m.rand
    at = torch.tensor([[0, 2], [1, -1]])
    up = torch.tensor([[0, 2, 1], [1, 0, 2]])
    row = torch.tensor([2, 0])
    mask = torch.tensor([[True, False, True], [False, True, True]])
    for d in kinds(m):
        x = rand((2, 3), d)
        for t in spread(m, x):
            case("aten::index.Tensor", t, [None, at])
            case("aten::index.Tensor", t, [mask])
            case("aten::index.Tensor", t, [torch.tensor([True, False]), row[:1]])
            case("aten::index.Tensor", t, [torch.tensor([1, 0], dtype=m.i4), None])
            case("aten::_unsafe_index.Tensor", t, [None, row])
            for acc in (False, True):
                case("aten::index_put_", t.clone(), [None, row], rand((2, 2), d),
                     acc)
                case("aten::index_put", t, [mask], rand((), d), acc)
                case("aten::index_put", t, [torch.tensor([0, 0]),
                                            torch.tensor([1, 1])],
                     rand((2,), d), acc)
                case("aten::_unsafe_index_put", t, [row[1:]], rand((3,), d), acc)
            case("aten::gather", t, 1, up)
            case("aten::gather", t, 0, up[:, :2] % 2)
            case("aten::index_select", t, 1, row)
            case("aten::scatter.src", t, 1, up, rand((2, 3), d))
            case("aten::scatter.value", t, 1, up[:1], 2)
            case("aten::scatter_add", t, 1, up, rand((2, 3), d))
            case("aten::scatter_.value", t.clone(), 0, up % 2, 3)
            case("aten::scatter_add_", t.clone(), 1, up, rand((2, 3), d))
            for how in ("sum", "prod", "mean", "amax", "amin"):
                for include in (True, False):
                    case("aten::scatter_reduce.two", t, 1, up % 2,
                         rand((2, 3), d), how, include_self=include)
            for how in ("add", "multiply"):
                case("aten::scatter.reduce", t, 1, up, rand((2, 3), d),
                     reduce=how)
                case("aten::scatter.value_reduce", t, 1, up, 2, reduce=how)
            case("aten::index_add", t, 1, row, rand((2, 2), d), alpha=2)
            case("aten::index_add_", t.clone(), 0, row[1:], rand((1, 3), d))
            case("aten::index_copy", t, 1, row, rand((2, 2), d))
            case("aten::index_copy_", t.clone(), 0, row[1:], rand((1, 3), d))
            case("aten::index_fill.int_Scalar", t, 1, row, 2)
            case("aten::index_fill_.int_Tensor", t.clone(), 1, row, rand((), d))
            case("aten::take", t, at)
            case("aten::select_scatter", t, rand((3,), d), 0, 1)
            case("aten::slice_scatter", t, rand((2, 2), d), 1, 0, 3, 2)
            case("aten::repeat_interleave.self_Tensor", t, row, 0)
            case("aten::repeat_interleave.self_int", t, 2, 1)
            case("aten::embedding", t, torch.tensor([[1, 0], [0, 0]]))
        case("aten::index.Tensor", rand((), d), [torch.tensor(True)])
        case("aten::index.Tensor", x, [torch.tensor([3])])
        case("aten::gather", rand((), d), 0, torch.tensor(0))
        case("aten::index_select", rand((), d), 0, torch.tensor([0]))
        case("aten::gather", x, 1, torch.zeros((0, 3), dtype=m.i8))
    nan = torch.tensor([1.0, m.NAN, 3.0])
    for how in ("sum", "prod", "mean", "amax", "amin"):
        case("aten::scatter_reduce.two", nan, 0, torch.tensor([0, 0, 2]),
             torch.tensor([m.NAN, 1.0, 2.0]), how)


def products(m):
    case, rand = m.case, m.rand
    for d in kinds(m):
        a, b, c = rand((2, 3), d), rand((3, 4), d), rand((2, 4), d)
        v, w = rand((3,), d), rand((2,), d)
        case("aten::addmm", c, a, b, beta=2, alpha=3)
        case("aten::addmm", rand((), d), a, b, beta=0)
        case("aten::addmv", w, a, v, beta=2)
        case("aten::addr", a, w, v, alpha=2)
        case("aten::ger", w, v)
        case("aten::outer", w, v)
        case("aten::mv", a, v)
        case("aten::dot", v, v)
        case("aten::vdot", v, v)
        case("aten::bmm", rand((2, 2, 3), d), rand((2, 3, 2), d))
        case("aten::baddbmm", rand((2, 2, 2), d), rand((2, 2, 3), d),
             rand((2, 3, 2), d), beta=2)
        case("aten::addbmm", rand((2, 2), d), rand((2, 2, 3), d),
             rand((2, 3, 2), d))
        case("aten::tensordot", a, b, [1], [0])
        case("aten::linear", a, rand((4, 3), d), rand((4,), d))
        case("aten::matmul", a.t(), c)
        case("aten::bilinear", a, rand((2, 2), d), rand((4, 3, 2), d),
             rand((4,), d))
        for eq, ops in (("ij,jk->ik", [a, b]), ("ii", [rand((3, 3), d)]),
                        ("ii->i", [rand((3, 3), d)]), ("ij->", [a]),
                        ("...j,jk->...k", [rand((2, 2, 3), d), b]),
                        ("ij,ij->i", [a, a]), ("i,j->ji", [w, v]),
                        ("bij,bjk->bik", [rand((2, 2, 3), d), rand((2, 3, 2), d)]),
                        ("ij,jk,kl->il", [a, b, rand((4, 2), d)]),
                        ("a...,b...->ab...", [a, rand((4, 3), d)]),
                        ("i,i", [v, v]), ("ij->ji", [a]),
                        ("ijk,jk->i", [rand((2, 3, 4), d), b]),
                        (" i j , j -> i ", [a, v])):
            case("aten::einsum", eq, ops)
    case("aten::einsum", "ij,jk->im", [rand((2, 3)), rand((3, 2))])
    case("aten::einsum", "ij,kj", [rand((2, 3)), rand((3, 2))])
    case("aten::einsum", "ij", [rand((2,))])
    case("aten::einsum", "i1", [rand((2, 2))])
    case("aten::einsum", "ij,jk->ik", [rand((2, 0)), rand((0, 3))])
    case("aten::einsum", "ij,jk->ik", [rand((2, 1)), rand((3, 2))])


def norms(m):
    case, rand = m.case, m.rand
    for d in (m.f4, m.f8, m.f2, m.bf, m.i8):
        for s in ((2, 4), (2, 4, 3), (2, 4, 2, 2), (0, 4, 2)):
            x, w, b = rand(s, d), rand((4,), d), rand((4,), d)
            mean, var = rand((4,), d), rand((4,), d, 0.1).abs()
            for t in spread(m, x):
                if d == m.i8:
                    continue  # PyTorch does not look at empty ones
                case("aten::batch_norm", t, w, b, mean, var, False, 0.1, 1e-5,
                     False)
                case("aten::batch_norm", t, w, b, None, None, True, 0.1, 1e-5,
                     False)
                if len(s) > 2:  # of single values the result is noise
                    case("aten::instance_norm", t, w, b, None, None, True, 0.1,
                         1e-5, False)
                if len(s) > 2:
                    case("aten::group_norm", t, 2, w, b)
                case("aten::layer_norm", t, list(s[1:]))
                case("aten::native_layer_norm", t, list(s[1:]), None, None,
                     1e-5)
                case("aten::rms_norm", t, list(s[-1:]))
            case("aten::native_batch_norm", x, w, b, mean, var, False, 0.1,
                 1e-5)
            case("aten::_native_batch_norm_legit_no_training", x, w, b, mean,
                 var, 0.1, 1e-5)
            case("aten::cosine_similarity", x, rand(s, d), 1)
            for p in (2, 1, 0, m.INF, -m.INF, 0.5, 3):
                case("aten::norm.ScalarOpt_dim", x, p, [1])
        case("aten::_weight_norm", rand((3, 4), d), rand((3, 1), d), 0)
    x = rand((2, 4, 2))
    x[0, 0, 0] = m.NAN
    case("aten::layer_norm", x, [2])
    case("aten::group_norm", x, 2)
    case("aten::batch_norm", x.half(), rand((4,)), rand((4,)), rand((4,)),
         rand((4,)).abs(), False, 0.1, 1e-5, False)


def scales(m):
    """Interpolation by scale factors that PyTorch leaves unused, or does not:
    as many outputs as inputs, or twice as many."""
    case, rand = m.case, m.rand
    smooth = {1: ["linear"], 2: ["bilinear", "bicubic"], 3: ["trilinear"]}
    for n in (1, 2, 3):
        x = rand((1, 2) + (3, 4, 2)[:n])
        for factor in (1.3, 0.7, 2.4, 1.7):
            for size in ((3, 4, 2), (6, 8, 4), (3, 8, 4), (5, 7, 3)):
                size = list(size[:n])
                for kind in ("nearest", "_nearest_exact"):
                    q = f"aten::upsample_{kind}{n}d".replace("upsample__",
                                                             "_upsample_")
                    case(q, x, size, *[factor] * n)
                for kind in smooth[n]:
                    case(f"aten::upsample_{kind}{n}d", x, size, False,
                         *[factor] * n)
        case(f"aten::upsample_nearest{n}d.vec", x, None, [1.2] * n)
        case(f"aten::upsample_{smooth[n][0]}{n}d.vec", x, None, False,
             [1.2] * n)
    pixels = m.torch.randint(0, 256, (1, 1, 2, 16), dtype=m.u1)
    for q in ("aten::upsample_bilinear2d", "aten::upsample_bicubic2d"):
        case(q, pixels, [2, 32], False, 1.3, 2.0)
    line = rand((1, 1, 1, 70))
    for rows in (58, 59):  # where images count as large
        case("aten::upsample_nearest2d", line, [rows, 70], None, 0.9)


def drawn(m):
    """What calls with arguments drawn at random disagreed on."""
    case, rand = m.case, m.rand
    a = m.torch.tensor([1e8, -m.INF, m.INF, 1.0, 0.0, m.NAN])
    b = m.torch.tensor([1.0, 2.0, -1.0, m.INF, -m.INF, 3.0])
    for w in (1.0, 3.0, 0.25, -0.25, -3.0, 0.5):
        case("aten::lerp.Scalar", a, b, w)
        case("aten::lerp.Tensor", a, b, m.torch.full((6,), w))
    degrees = m.torch.tensor([-1.5, -1.0, -0.4, 0.0, 0.7, 1.0, 2.9, m.NAN])
    for family in ("chebyshev_polynomial_t", "hermite_polynomial_h",
                   "legendre_polynomial_p", "shifted_chebyshev_polynomial_w"):
        case(f"aten::special_{family}", rand((8,)), degrees)
        case(f"aten::special_{family}", m.torch.full((8,), m.NAN), degrees)
    far = m.torch.tensor([m.INF, -m.INF, 90.0, 300.0, 1e6, 1e30],
                         dtype=m.f8)
    for name in ("i0", "i1", "i0e", "i1e", "modified_bessel_i0",
                 "modified_bessel_k0", "modified_bessel_k1",
                 "scaled_modified_bessel_k0", "scaled_modified_bessel_k1"):
        case(f"aten::special_{name}", far)
    for name in ("j0", "j1", "y0", "y1"):
        case(f"aten::special_bessel_{name}", far[:4])
    case("aten::special_zeta", m.torch.tensor([m.NAN, 2.0, 0.5]),
         m.torch.tensor([-0.0, m.NAN, 1.0]))
    x = m.torch.tensor([1.25, -0.2, 8.5])
    for scale, zero, low, high in ((2.0, 4.83, -1, 2), (-2.0, -0.26, 2, 2),
                                   (0.5, 1.9, -8, 7), (0.5, -9.5, -8, 7)):
        case("aten::fake_quantize_per_tensor_affine.tensor_qparams", x,
             m.torch.tensor([scale]), m.torch.tensor([zero]), low, high)
    for d in (m.f4, m.f8, m.f2):
        for p in (m.NAN, m.INF, -m.INF, 1.0, 3.0):
            case("aten::pow.Tensor_Scalar", b.to(d), p)
        case("aten::pow.Scalar", m.NAN, b.to(d))
    singular = m.torch.tensor([[[1.0, 2.0], [2.0, 4.0]],
                               [[1.0, 0.0], [0.0, 2.0]]])
    for t in (singular, m.torch.zeros(3, 3), m.torch.zeros(2, 0, 0),
              m.torch.tensor([[m.NAN, 1.0], [1.0, 1.0]])):
        for p in (1, -1, m.INF):
            case("aten::linalg_cond", t, p)
        case("aten::linalg_cond.p_str", t, "fro")
    case("aten::linalg_cond", m.torch.zeros(2, 0, 0))
    for d in (m.u1, m.i4, m.b1, m.f4):
        case("aten::sum_to_size", m.torch.ones((2, 3), dtype=d), [])


def add(m):
    windows(m)
    losses(m)
    elementwise(m)
    indexed(m)
    products(m)
    norms(m)
    scales(m)
    drawn(m)
