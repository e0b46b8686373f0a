# SPDX-License-Identifier: Apache-2.0
"""Ops of several families: rearranging, statistics, losses, layers."""
import torch

MOST, BYTES = 40, 6000


def kinds(m):
    return (m.f4, m.f8, m.f2, m.bf, m.i8, m.i4, m.u1, m.b1)


def views(m):
    case, rand = m.case, m.rand
    x = rand((2, 3, 4))
    inputs = (x, rand(()), rand((3,), m.i8), rand((2, 3), m.b1).t(),
              rand((0, 3), m.f2), rand((2, 3, 4, 5))[..., ::2])
    for t in inputs:
        for n in (1, 2, 3):
            case(f"aten::atleast_{n}d", t, strides=True)
        for op in ("lift", "lift_fresh", "argwhere", "squeeze_copy",
                   "numpy_T.a", "mT.a", "mT", "t_copy"):
            case("aten::" + op, t)
        for d in (0, 1, -1, 3):
            case("aten::unsqueeze_copy", t, d)
            case("aten::squeeze_copy.dim", t, d)
            case("aten::squeeze_copy.dims", t, [d, 0])
            case("aten::squeeze_.dims", t, [d])
            case("aten::select_copy.int", t, d, -1)
            case("aten::slice_copy.Tensor", t, d, 0, 5, 2)
            case("aten::narrow_copy", t, d, 1, 1)
            case("aten::unbind_copy.int", t, d)
            case("aten::split_copy.Tensor", t, 2, d)
            case("aten::split_with_sizes_copy", t, [1, 2], d)
            case("aten::transpose_copy.int", t, d, 0)
            case("aten::swapaxes_", t, d, 0)
            case("aten::swapdims_", t, 0, d)
            case("aten::unfold_copy", t, d, 2, 1)
            case("aten::_dim_arange", t, d)
        case("aten::diagonal_copy", t, 1, 0, 1)
        case("aten::diagonal_copy", t, 0, -1, 0)
        case("aten::view_copy", t, [-1])
        case("aten::view_copy", t, [3, 2])
        case("aten::expand_copy", t, [2, 2, 3, 4])
        case("aten::expand_copy", t, [5, -1, -1])
        case("aten::permute_copy", t, [1, 0])
        case("aten::permute_copy", t, [2, 0, 1])
        case("aten::as_strided_copy", t, [2, 2], [1, 2], 1)
        case("aten::as_strided_copy", t, [2], [0])
        case("aten::_reshape_alias", t, list(t.shape), list(t.stride()),
             strides=True)
        case("aten::view_copy.dtype", t, t.dtype)
    case("aten::view_copy.dtype", x, m.i4)
    case("aten::view_copy.dtype", x, m.i2)
    pack = [rand(()), rand((3,)), rand((2, 3))]
    for n in (1, 2, 3):
        case(f"aten::atleast_{n}d.Sequence", pack)
        case(f"aten::atleast_{n}d.Sequence", [])
    case("aten::row_stack", [rand((3,)), rand((2, 3))])
    case("aten::row_stack", [rand((3,)), rand((3,), m.i8)])
    case("aten::row_stack", [rand(()), rand(())])
    case("aten::row_stack", [rand((3,)), rand((2, 2))])
    for d in (0, 1, -1, 2, 5):
        case("aten::_stack", [rand((2, 3)), rand((2, 3))], d)
    case("aten::_stack", [rand((2, 3)), rand((3, 2))], 0)
    for t in (rand((2, 3), m.b1), torch.ones((2, 2), dtype=m.b1),
              torch.zeros((2,), dtype=m.b1), torch.ones((0,), dtype=m.b1),
              torch.tensor(True), rand((2,))):
        case("aten::_is_all_true", t)
        case("aten::_is_any_true", t)
    y = rand((6, 4, 2))
    for t in (y, y[:, 0], y[:, 0, 0], rand((4, 6), m.i8), rand(())):
        for op in ("hsplit", "vsplit", "dsplit"):
            for s in (1, 2, 3, 0, -1):
                case(f"aten::{op}.int", t, s)
            for a in ([1], [1, 3], [], [-1, 9], [2, 1]):
                case(f"aten::{op}.array", t, a)
        for at in (torch.tensor(2), torch.tensor([1, 3]), torch.tensor(0),
                   torch.tensor([[1]]), torch.tensor([1], dtype=m.i4)):
            case("aten::tensor_split.tensor_indices_or_sections", t, at, 0)
            case("aten::tensor_split.tensor_indices_or_sections", t, at, -1)


def diagonals(m):
    case, rand = m.case, m.rand
    for d in kinds(m):
        for t in (rand((3,), d), rand((2, 3), d), rand((3, 2), d).t(),
                  rand((0,), d), rand((), d), rand((2, 2, 2), d)):
            for k in (0, 1, -2, 5):
                case("aten::diag", t, k)
                case("aten::diagflat", t, k)
                case("aten::diag_embed", t, k)
        case("aten::diag_embed", rand((2, 3), d), 1, 0, 2)
        case("aten::diag_embed", rand((2, 3), d), -1, -1, 0)
        x = rand((3, 4), d)
        case("aten::diagonal_scatter", x, rand((3,), d))
        case("aten::diagonal_scatter", x.t(), rand((2,), d), 2, strides=True)
        case("aten::as_strided_scatter", x, rand((2, 2), d), [2, 2], [4, 1], 1)
        case("aten::fill_diagonal_", rand((3, 3), d), 1)
        case("aten::fill_diagonal_", rand((7, 3), d), 1, True)
        case("aten::fill_diagonal_", rand((7, 3), d), 1, False)
        case("aten::fill_diagonal_", rand((3, 7), d).t(), 1, True)
        case("aten::block_diag", [rand((2, 3), d), rand((), d), rand((2,), d)])
    case("aten::diag_embed", rand((2, 3)), 0, 1, 1)
    case("aten::diag_embed", rand((2, 3)), 0, 0, 4)
    x = rand((2, 3, 4))
    case("aten::diagonal_scatter", x, rand((3, 2)), 1, 0, 2)
    case("aten::diagonal_scatter", x, rand((2, 2)), 1, 0, 2)
    case("aten::diagonal_scatter", x, rand((3, 2), m.i8), 0, 0, 2)
    case("aten::as_strided_scatter", x, rand((2, 2)), [2, 2], [1, 2])
    case("aten::as_strided_scatter", x, rand((2, 3)), [2, 2], [1, 2])
    case("aten::as_strided_scatter", x, rand((2, 2)), [2, 2], [100, 2])
    case("aten::fill_diagonal_", rand((3, 3, 3)), 2.5)
    case("aten::fill_diagonal_", rand((3, 2, 3)), 2.5)
    case("aten::fill_diagonal_", rand((3,)), 2.5)
    case("aten::fill_diagonal_", rand((2, 5)), 2.5, True)
    case("aten::fill_diagonal_", rand((4, 3)), 2.5, True)
    case("aten::fill_diagonal_", rand((5, 3)), 2.5, True)
    case("aten::block_diag", [rand((2, 3)), rand((1, 2), m.i8)])
    case("aten::block_diag", [rand((2, 3), m.b1), rand((1, 2), m.i4)])
    case("aten::block_diag", [rand((2, 0)), rand((1, 2))])
    case("aten::block_diag", [rand((2, 2, 2))])


def products(m):
    case, rand = m.case, m.rand
    for d in kinds(m):
        case("aten::cartesian_prod", [rand((2,), d), rand((3,), d)])
        case("aten::combinations", rand((4,), d))
        case("aten::combinations", rand((4,), d), 3, True)
        case("aten::kron", rand((2, 3), d), rand((2, 2), d))
        case("aten::kron", rand((2,), d), rand((2, 2), d))
        case("aten::inner", rand((2, 3), d), rand((4, 3), d))
        case("aten::pad_sequence", [rand((2,), d), rand((3,), d)])
        case("aten::nonzero_static", rand((3, 4), d), size=5)
        case("aten::nonzero_static", rand((3, 4), d), size=20, fill_value=-7)
        case("aten::range", 1, 5, dtype=d)
        case("aten::range.step", 5, 1, -2, dtype=d)
        case("aten::sum_to_size", rand((2, 3), d), [1, 3])
    case("aten::cartesian_prod", [rand((2,)), rand((1,)), rand((3,))])
    case("aten::cartesian_prod", [rand((2,))])
    case("aten::cartesian_prod", [rand((2,)), rand((0,))])
    case("aten::cartesian_prod", [rand((2,)), rand((2, 2))])
    case("aten::cartesian_prod", [rand((2,)), rand((2,), m.i8)])
    for r in (0, 1, 2, 3, 5, -1):
        for again in (False, True):
            case("aten::combinations", rand((4,)), r, again)
            case("aten::combinations", rand((0,)), r, again)
            case("aten::combinations", rand((1,)), r, again)
    case("aten::combinations", rand((2, 2)))
    case("aten::kron", rand(()), rand((2, 2)))
    case("aten::kron", rand((2, 2), m.i8), rand((1, 3)))
    case("aten::kron", rand((2, 1, 3)), rand((2, 2)))
    case("aten::kron", rand((0, 2)), rand((2, 2)))
    case("aten::inner", rand(()), rand((4, 3)))
    case("aten::inner", rand((3,)), rand((3,)))
    case("aten::inner", rand((3,)), rand((2, 2, 3)))
    case("aten::inner", rand((3,)), rand((4,)))
    case("aten::inner", rand((2, 0)), rand((3, 0)))
    for first in (False, True):
        for side in ("right", "left", "middle"):
            case("aten::pad_sequence", [rand((2, 3)), rand((4, 3)),
                                        rand((1, 3))], first, 0.5, side)
    case("aten::pad_sequence", [rand((2, 3)), rand((4, 2))])
    case("aten::pad_sequence", [rand((2, 3)), rand((0, 3))])
    case("aten::pad_sequence", [])
    for t in (torch.tensor([2, 0, 3]), torch.tensor([1, 1], dtype=m.i4),
              torch.zeros(0, dtype=m.i8), torch.tensor([1, -1]),
              torch.tensor(2), rand((2,))):
        case("aten::repeat_interleave.Tensor", t)
        case("aten::repeat_interleave.Tensor", t, output_size=5)
        case("aten::repeat_interleave.Tensor", t, output_size=2)
    case("aten::nonzero_static", rand((0, 4)), size=2)
    case("aten::nonzero_static", rand(()), size=2)
    case("aten::nonzero_static", rand((3,)), size=0)
    case("aten::nonzero_static", rand((3,)), size=-1)
    for a in ((0, 1), (1, 1), (3, 1), (0.5, 3.2), (1, 2.9), (m.NAN, 1)):
        case("aten::range", *a)
    for a in ((0, 1, 0.25), (3, 1, -0.5), (1, 3, -1), (1, 3, 0), (0, 7, 3)):
        case("aten::range.step", *a)
    x = rand((2, 3, 4))
    for s in ([4], [1, 4], [3, 1], [2, 3, 4], [], [2, 4], [1, 2, 3, 4],
              [2, 1, 4]):
        case("aten::sum_to_size", x, s)


def statistics(m):
    case, rand = m.case, m.rand
    few = torch.tensor([[3, 1, 3, 2], [1, 1, 2, 2], [5, 4, 4, 5]])
    nan = torch.tensor([[1.0, m.NAN, 2.0, 0.5], [m.NAN] * 4,
                        [0.0, -0.0, m.INF, -m.INF], [3.0, 3.0, 1.0, 1.0]])
    big = torch.tensor([(1 << 60) + 1, 1 << 60, (1 << 60) + 1])
    for d in kinds(m):
        t = few.to(d)
        for x in (t, t.t(), t[0], t[0, 0], t[:0]):
            for dim in (0, -1, 1, 2):
                for keep in (False, True):
                    case("aten::mode", x, dim, keep)
                    case("aten::nanmedian.dim", x, dim, keep)
                case("aten::unique_dim", x, dim, True, True, True)
                case("aten::unique_dim", x, dim)
                case("aten::unique_dim_consecutive", x, dim, True, True)
                case("aten::unique_consecutive", x, True, True, dim)
            case("aten::nanmedian", x)
            for a in ((False, False), (True, False), (False, True),
                      (True, True)):
                case("aten::unique_consecutive", x, *a)
        case("aten::unique_dim", torch.tensor([[1, 0], [0, 1], [1, 0]]).to(d),
             0, True, True, True)
        for y in (torch.tensor([1, 5]).to(d), torch.tensor([1, 5]),
                  torch.tensor([2.0, m.NAN]), torch.zeros(0), few):
            for invert in (False, True):
                case("aten::isin.Tensor_Tensor", t, y, invert=invert)
        case("aten::isin.Tensor_Tensor", t, y, assume_unique=True)
        case("aten::isin.Tensor_Scalar", t, 2)
        case("aten::isin.Tensor_Scalar", t, 2.5, invert=True)
        case("aten::isin.Scalar_Tensor", 2, t)
        case("aten::isin.Scalar_Tensor", 7.0, t, invert=True)
        case("aten::bincount", torch.tensor([1, 3, 1]).to(d))
        case("aten::bincount", torch.tensor([1, 3, 1]), rand((3,), d))
        for a in ((), (4, 1, 3), (5, -1, 2.5), (3, 2, 2), (0,), (2, 3, 1)):
            case("aten::histc", t, *a)
        for a in ((), (0.5,), (0.0, 0.0), (0.0, 1.0), (-1.0,)):
            case("aten::isclose", t, t + (1 if d != m.b1 else t), *a)
            case("aten::allclose", t, t, *a)
        for acc in (False, True):
            at = torch.tensor([[0, 5], [-1, 5]])
            case("aten::put", t, at, rand((4,), d), acc)
            case("aten::put_", t.t(), at, rand((2, 2), d), acc)
            case("aten::put", t.t(), at, rand((4,), d), acc, strides=True)
    for dim in (0, 1, -1):
        case("aten::mode", nan, dim)
        case("aten::nanmedian.dim", nan[::2], dim)
        case("aten::unique_consecutive", nan, True, True, dim)
        case("aten::unique_dim_consecutive", nan, dim, True, True)
    case("aten::nanmedian", nan)
    case("aten::nanmedian", nan[1])
    case("aten::nanmedian", torch.zeros(0))
    case("aten::nanmedian", torch.zeros(0, dtype=m.i8))
    case("aten::unique_consecutive", nan, True, True)
    case("aten::mode", big)
    case("aten::unique_consecutive", big, True, True)
    case("aten::unique_dim", big, 0, True, True, True)
    case("aten::isin.Tensor_Tensor", big, big[1:2])
    case("aten::isin.Tensor_Tensor", nan, nan)
    case("aten::bincount", torch.tensor([2, 0]), None, 5)
    case("aten::bincount", torch.zeros(0, dtype=m.i8), None, 3)
    case("aten::bincount", torch.zeros(0, dtype=m.i8), torch.zeros(0), 3)
    case("aten::bincount", torch.tensor([2, -1]))
    case("aten::bincount", torch.tensor([[2, 1]]))
    case("aten::bincount", torch.tensor([2, 1]), rand((3,)))
    case("aten::bincount", torch.tensor([2, 1]), None, -1)
    case("aten::histc", nan, 4, -1, 3)
    case("aten::histc", nan, 4)
    case("aten::histc", torch.zeros(0), 3)
    case("aten::histc", rand((50,)), 7, -2, 2)
    case("aten::histc", rand((50,), m.f8), 7)
    for e in (False, True):
        case("aten::isclose", nan, nan.flip(0), 1e-5, 1e-8, e)
        case("aten::isclose", nan, nan, 1e-5, 1e-8, e)
        case("aten::allclose", nan, nan, 1e-5, 1e-8, e)
    case("aten::isclose", rand((2, 1)), rand((3,)), 0.5, 0.5)
    case("aten::isclose", rand((2,)), rand((2,), m.f8))
    case("aten::isclose", rand((2,)), rand((2,)), 0.1, -1.0)
    case("aten::put", rand((3,)), torch.tensor([3]), rand((1,)))
    case("aten::put", rand((3,)), torch.tensor([0]), rand((2,)))
    case("aten::put", rand((3,)), torch.tensor([0]), rand((1,), m.f8))
    case("aten::put", rand((0,)), torch.tensor([], dtype=m.i8), rand((0,)))
    for d in (m.f4, m.f8, m.f2, m.i8):
        x = rand((3, 5), d)
        for op in ("quantile", "nanquantile"):
            for how in ("linear", "lower", "higher", "midpoint", "nearest",
                        "best"):
                for dim in (None, 0, -1):
                    for keep in (False, True):
                        q = torch.tensor([0.0, 0.3, 0.5, 1.0]).to(d)
                        case(f"aten::{op}", x, q, dim, keep, interpolation=how)
                        case(f"aten::{op}.scalar", x, 0.35, dim, keep,
                             interpolation=how)
                    case(f"aten::{op}", nan.to(d), q, dim, interpolation=how)
    for op in ("quantile", "nanquantile"):
        q = torch.tensor(0.6)
        case(f"aten::{op}", rand((3, 4)).t(), q, 0)
        case(f"aten::{op}", rand(()), q)
        case(f"aten::{op}", rand(()), q, 0, True)
        case(f"aten::{op}", rand((0,)), q)
        case(f"aten::{op}", rand((0, 3)), q, 1)
        case(f"aten::{op}", rand((3,)), torch.zeros(0))
        case(f"aten::{op}", rand((3,)), torch.zeros((1, 1)))
        case(f"aten::{op}", rand((3,)), torch.tensor(1.5))
        case(f"aten::{op}", rand((3,)), q.double())
        case(f"aten::{op}", rand((3,)), q, 1)
        case(f"aten::{op}.scalar", rand((3,)), -0.5)


def losses(m):
    case, rand = m.case, m.rand
    sign = torch.tensor([[1, -1, 1], [-1, -1, 1]])
    for d in (m.f4, m.f8, m.f2, m.bf):
        x, y, z = rand((2, 3), d), rand((2, 3), d), rand((2, 3), d)
        s = sign.to(d)
        for r in (0, 1, 2):
            for margin in (0.0, 0.5):
                case("aten::margin_ranking_loss", x, y, s, margin, r)
                case("aten::hinge_embedding_loss", x, s, margin, r)
                case("aten::cosine_embedding_loss", x, y, s[:, 0], margin, r)
                case("aten::cosine_embedding_loss", x[0], y[0], s[0, 0],
                     margin, r)
            for p in (2.0, 1.0, 3.0):
                for swap in (False, True):
                    case("aten::triplet_margin_loss", x, y, z, 1.0, p, 1e-6,
                         swap, r)
            for log in (False, True):
                for full in (False, True):
                    case("aten::poisson_nll_loss", x.abs(), y.abs() * 2, log,
                         full, 1e-8, r)
            for p in (1, 2, 3):
                c = torch.tensor([2, 0])
                case("aten::multi_margin_loss", x, c, p, 1, None, r)
                case("aten::multi_margin_loss", x, c, p, 0.3,
                     rand((3,), d).abs(), r)
                case("aten::multi_margin_loss", x[0], c[:1], p, 1, None, r)
            c = torch.tensor([[2, 0, -1], [1, -1, 0]])
            case("aten::multilabel_margin_loss", x, c, r)
            case("aten::multilabel_margin_loss", x[0], c[0], r)
            case("aten::multilabel_margin_loss_forward", x, c, r)
            case("aten::multilabel_margin_loss_forward", x[0], c[0], r)
    x, y = rand((2, 3)), rand((2, 3))
    case("aten::margin_ranking_loss", x, y, sign[0])
    case("aten::margin_ranking_loss", x, y[:1], sign)
    case("aten::margin_ranking_loss", x, y[:, :2], sign)
    case("aten::hinge_embedding_loss", x, torch.zeros((2, 3)))
    case("aten::hinge_embedding_loss", torch.tensor([m.NAN, m.INF]), sign[0, :2])
    case("aten::cosine_embedding_loss", x, y, sign)
    case("aten::cosine_embedding_loss", x, y[0], sign[:, 0])
    case("aten::cosine_embedding_loss", x.double(), y, sign[:, 0])
    case("aten::triplet_margin_loss", x, y[0], x)
    case("aten::triplet_margin_loss", rand((2, 3, 4)), rand((2, 1, 4)),
         rand((1, 3, 4)), reduction=0)
    case("aten::multi_margin_loss", x, torch.tensor([3, 0]))
    case("aten::multi_margin_loss", x, torch.tensor([-1, 0]))
    case("aten::multi_margin_loss", x, torch.tensor([1]))
    case("aten::multi_margin_loss", rand((0, 3)), torch.zeros(0, dtype=m.i8),
         reduction=0)
    case("aten::multi_margin_loss", rand((2, 0)), torch.tensor([0, 0]))
    case("aten::multilabel_margin_loss", x, torch.tensor([[3, 0, 0]] * 2))
    case("aten::multilabel_margin_loss", x, torch.tensor([1, 0]))


def ctc(m):
    case, rand = m.case, m.rand
    for d in (m.f4, m.f8):
        x = rand((6, 3, 5), d).log_softmax(2)
        y = torch.tensor([[1, 2, 2, 0], [3, 3, 1, 1], [4, 1, 0, 0]])
        flat = torch.tensor([1, 2, 2, 3, 3, 1, 1, 4])
        for r in (0, 1, 2):
            for zero in (False, True):
                for n in ([6, 6, 6], [5, 6, 2], [0, 4, 1]):
                    for k in ([3, 4, 1], [0, 2, 2]):
                        case("aten::ctc_loss.IntList", x, y, n, k, 0, r, zero)
                        case("aten::ctc_loss.Tensor", x, y, torch.tensor(n),
                             torch.tensor(k, dtype=m.i4), 0, r, zero)
                    case("aten::ctc_loss.IntList", x, flat, n, [3, 4, 1], 0, r,
                         zero)
                case("aten::ctc_loss.IntList", x[:, 0], y[0], [6], [4], 4, r,
                     zero)
        for ty in (m.i8, m.i4):
            case("aten::_ctc_loss", x, y.to(ty), [6, 6, 6], [3, 3, 3])
            case("aten::_ctc_loss.Tensor", x, y.to(ty), torch.tensor([6] * 3),
                 torch.tensor([2] * 3), 4)
    case("aten::_ctc_loss", x, flat, [6, 6, 6], [3, 4, 9])
    case("aten::_ctc_loss", x, y, [6, 6], [3, 4, 1])
    case("aten::_ctc_loss", x, y, [7, 6, 6], [3, 4, 1])
    case("aten::_ctc_loss", x, y, [6, 6, 6], [5, 4, 1])
    case("aten::_ctc_loss", x, y, [6, 6, 6], [3, 4, 1], 5)
    case("aten::_ctc_loss", x, y[:2], [6, 6, 6], [3, 4, 1])
    case("aten::ctc_loss.IntList", x.half(), y, [6, 6, 6], [3, 4, 1])


def bags(m):
    case, rand = m.case, m.rand
    for d in (m.f4, m.f8, m.f2, m.bf):
        w = rand((5, 3), d)
        for ty in (m.i8, m.i4):
            i = torch.tensor([0, 2, 4, 1, 2], dtype=ty)
            for mode in (0, 1, 2):
                for o, last in (([0, 2, 2], False), ([0], False),
                                ([0, 2, 5], True), ([0, 5, 5], False)):
                    o = torch.tensor(o, dtype=ty)
                    tail = (False, mode, False, None, last)
                    case("aten::embedding_bag", w, i, o, *tail)
                    case("aten::_embedding_bag", w, i, o, *tail, 2)
                    case("aten::_embedding_bag_forward_only", w, i, o, *tail)
                    for pad in (None, 2, -1, -3):
                        case("aten::embedding_bag.padding_idx", w, i, o, *tail,
                             pad)
            o = torch.tensor([0, 2, 2], dtype=ty)
            each = rand((5,), d)
            case("aten::embedding_bag", w, i, o, False, 0, False, each)
            case("aten::embedding_bag", w, i, o, False, 1, False, each)
            case("aten::embedding_bag", w.t().contiguous().t(), i, o, False, 0,
                 False, each)
            case("aten::_embedding_bag", w, i, o, False, 0, False, each, False,
                 2)
            case("aten::embedding_renorm_", rand((5, 3), d), i, 1.0, 2.0)
            case("aten::embedding_renorm_", rand((5, 3), d), i[:2], 0.5, 1.0)
            case("aten::embedding_renorm", rand((5, 3), d), i, 1.0, 2.0)
    i, o = torch.tensor([0, 2, 4]), torch.tensor([0, 2])
    w = rand((5, 3))
    case("aten::embedding_bag", w, torch.tensor([0, 5, 1]), o)
    case("aten::embedding_bag", w, torch.tensor([0, -1, 1]), o)
    case("aten::embedding_bag", w, i, torch.tensor([1, 2]))
    case("aten::embedding_bag", w, i, torch.tensor([0, 4]))
    case("aten::embedding_bag", w, i[:0], torch.tensor([0, 0]))
    case("aten::embedding_bag", w, i[:0], o[:0])
    case("aten::embedding_bag", w, i, o[:0], include_last_offset=True)
    case("aten::embedding_bag", w, i.float(), o)
    case("aten::embedding_bag", w, i, o, per_sample_weights=rand((2,)))
    case("aten::embedding_bag", w, i, o, per_sample_weights=rand((3,), m.f8))
    case("aten::embedding_bag", w[0], i, o)
    case("aten::embedding_renorm_", w, torch.tensor([5]), 1.0, 2.0)
    case("aten::embedding_renorm_", w, torch.tensor([[0, 1], [1, 2]]), 1.0, 2.0)


def unpooling(m):
    case, rand = m.case, m.rand
    for d in kinds(m):
        x = rand((2, 3, 2, 2), d)
        at = torch.stack([torch.randperm(12)[:4].view(2, 2)
                          for _ in range(6)]).view(2, 3, 2, 2)
        case("aten::max_unpool2d", x, at, [3, 4])
        case("aten::max_unpool2d", x[0], at[0], [3, 4])
        v = rand((1, 2, 2, 1, 2), d)
        at3 = torch.stack([torch.randperm(24)[:4].view(2, 1, 2)
                           for _ in range(2)]).view(1, 2, 2, 1, 2)
        case("aten::max_unpool3d", v, at3, [2, 3, 4], [2, 2, 2], [0, 0, 0])
        case("aten::max_unpool3d", v[0], at3[0], [2, 3, 4], [1, 1, 1],
             [0, 0, 0])
    x = rand((1, 2, 2, 2))
    at = torch.tensor([[[[0, 3], [5, 6]]] * 2])
    case("aten::max_unpool2d", x.transpose(2, 3), at, [3, 3])
    case("aten::max_unpool2d", x, at, [2, 3])
    case("aten::max_unpool2d", x, at - 1, [3, 3])
    case("aten::max_unpool2d", x, at.int(), [3, 3])
    case("aten::max_unpool2d", x, at[..., :1], [3, 3])
    case("aten::max_unpool2d", x[0, 0], at[0, 0], [3, 3])
    case("aten::max_unpool2d", x[:0], at[:0], [3, 3])
    case("aten::max_unpool3d", rand((1, 2, 2, 1, 2)),
         torch.zeros((1, 2, 2, 1, 2), dtype=m.i8), [2, 3, 4], [0, 1, 1],
         [0, 0, 0])
    for d in (m.f4, m.f8, m.f2):
        x = rand((2, 3, 7, 6), d)
        u = torch.rand((2, 3, 2)).to(d)
        for k, o in (([2, 2], [3, 3]), ([3, 2], [4, 2]), ([2, 2], [1, 1]),
                     ([1, 1], [7, 6]), ([3, 3], [6, 6])):
            case("aten::fractional_max_pool2d", x, k, o, u)
            case("aten::fractional_max_pool2d", x[0], k, o, u[:1])
        v = rand((1, 2, 5, 6, 4), d)
        u = torch.rand((1, 2, 3)).to(d)
        case("aten::fractional_max_pool3d", v, [2, 2, 2], [3, 3, 2], u)
        case("aten::fractional_max_pool3d", v[0], [2, 3, 1], [2, 4, 4], u)
    y = rand((1, 1, 4, 4))
    y[0, 0, 1, 2] = m.NAN
    case("aten::fractional_max_pool2d", y, [2, 2], [2, 2], torch.rand((1, 1, 2)))
    case("aten::fractional_max_pool2d", y, [2, 2], [2, 2],
         torch.rand((1, 1, 2), dtype=m.f8))
    for d in (m.f4, m.f8):
        x, g = rand((2, 2, 3, 4, 5), d), rand((2, 2, 3, 2, 3), d, -1.4, 1.4)
        for mode in (0, 1, 2):
            for pad in (0, 1, 2):
                for align in (False, True):
                    case("aten::grid_sampler_3d", x, g, mode, pad, align)
                    case("aten::grid_sampler", x, g, mode, pad, align)
    g = torch.tensor([m.NAN, m.INF, -m.INF, 5.0, -7.0, 1.0]).view(1, 1, 1, 2, 3)
    for pad in (0, 1, 2):
        case("aten::grid_sampler_3d", x[:1].float(), g, 0, pad, False)
    case("aten::grid_sampler_3d", x, g.double(), 0, 0, False)
    case("aten::grid_sampler_3d", x[0], g[0], 0, 0, False)


def layers(m):
    case, rand = m.case, m.rand
    floats = (m.f4, m.f8, m.f2, m.bf)
    for d in floats:
        x = rand((2, 6, 2, 2), d)
        w, b = rand((6,), d), rand((6,), d)
        mean, var = rand((6,), d), rand((6,), d, 0.1)
        for g in (1, 2, 3, 6):
            case("aten::native_group_norm", x, w, b, 2, 6, 4, g, 1e-5)
            case("aten::native_group_norm", x, None, None, 2, 6, 4, g, 1e-5)
        op = "aten::_native_batch_norm_legit"
        case(op, x, w, b, mean, var, False, 0.1, 1e-5)
        case(op + ".no_stats", x, w, b, True, 0.1, 1e-5)
        case(op + ".no_stats", x, None, None, True, 0.1, 1e-5)
        for train in (True, False):
            case(op + "_functional", x, w, b, mean, var, train, 0.3, 1e-3)
        case("aten::log_sigmoid_forward", x)
        for p in (1, 2, 3):
            for dim in (-1, 0, 1, 3, 4):
                case("aten::norm_except_dim", x, p, dim)
        v = rand((3, 4, 2), d)
        case("aten::_weight_norm_interface", v, rand((3, 1, 1), d), 0)
        case("aten::_weight_norm_interface", v, rand((1, 1, 2), d), 2)
        case("aten::_weight_norm_interface", v, rand((1, 4, 1), d), 1)
        mask = rand((2, 6, 2, 2), m.b1)
        mask[..., 0] = False
        for dim in (None, -1, 1):
            case("aten::_masked_softmax", x, mask, dim, None)
            case("aten::_masked_softmax", x, mask, dim, 2)
        case("aten::_masked_softmax", x, mask[0, 0], 3, 0)
        case("aten::_masked_softmax", x, mask[:, 0, 0], 3, 1)
        q, k, u = rand((2, 2, 3, 4), d), rand((2, 2, 5, 4), d), rand((2, 2, 5, 4), d)
        flash = "aten::_scaled_dot_product_flash_attention_for_cpu"
        case(flash, q, k, u)
        case(flash, q, k, u, scale=0.3)
        case(flash, q, q, q, is_causal=True)
        case(flash, q, k, u, attn_mask=rand((3, 5), d))
        case(flash, q, k, u, attn_mask=rand((2, 1, 3, 5), d))
        case(flash, q[0], k[0], u[0])
        case("aten::_transform_bias_rescale_qkv", rand((2, 3, 12), d),
             rand((12,), d), 2)
        case("aten::_transform_bias_rescale_qkv", rand((2, 3, 12), d),
             rand((12,), d), 3)
        for gelu in (False, True):
            case("aten::_addmm_activation", rand((4,), d), rand((2, 3), d),
                 rand((3, 4), d), beta=0.5, alpha=2, use_gelu=gelu)
        for p, top in ((2, 1.0), (1, 0.5), (3, 0.0), (m.INF, 1.0), (0, 1.0)):
            for dim in (0, 1, -1, 2):
                case("aten::renorm", rand((3, 4), d), p, dim, top)
            case("aten::renorm_", rand((3, 4), d).t(), p, 0, top)
        case("aten::conv_tbc", rand((5, 2, 3), d), rand((2, 3, 4), d),
             rand((4,), d), 1)
        x2, x3 = rand((2, 4, 5, 6), d), rand((1, 2, 4, 4, 3), d)
        w2, w3 = rand((3, 4, 2, 3), d), rand((3, 2, 2, 2, 2), d)
        c2 = (x2, w2, [2, 3], rand((3,), d))
        c3 = (x3, w3, [2, 2, 2], rand((3,), d))
        case("aten::_slow_conv2d_forward", *c2, [2, 1], [1, 0])
        case("aten::slow_conv_dilated2d", *c2, [2, 1], [1, 0], [1, 2])
        case("aten::slow_conv3d", *c3, [1, 2, 1], [1, 0, 1])
        case("aten::slow_conv_dilated3d", *c3, [1, 2, 1], [1, 0, 1], [2, 1, 1])
        t2, t3 = rand((4, 3, 2, 3), d), rand((2, 3, 2, 2, 2), d)
        case("aten::slow_conv_transpose2d", x2, t2, [2, 3], rand((3,), d),
             [2, 1], [1, 0], [1, 0], [1, 1])
        case("aten::slow_conv_transpose3d", x3, t3, [2, 2, 2], None,
             [2, 1, 1], [0, 0, 1], [1, 0, 0], [1, 1, 1])
    x2, w2 = rand((2, 4, 5, 6)), rand((3, 4, 2, 3))
    case("aten::slow_conv_dilated2d", x2[0], w2, [2, 3])
    case("aten::slow_conv_dilated2d", x2, w2, [2, 2])
    case("aten::_slow_conv2d_forward", x2, w2, [3, 3], None, [1, 1], [0, 0])
    case("aten::slow_conv3d", x2, w2, [2, 3, 1])
    case("aten::slow_conv_transpose2d", x2, w2.transpose(0, 1), [2, 3])
    case("aten::slow_conv_transpose2d", x2, w2, [2, 3])
    case("aten::conv_tbc", rand((5, 2, 3)), rand((2, 2, 4)), rand((4,)))
    case("aten::conv_tbc", rand((5, 2)), rand((2, 2, 4)), rand((4,)))
    case("aten::native_group_norm", rand((2, 6)), None, None, 2, 6, 1, 4, 1e-5)
    case("aten::native_group_norm", rand((0, 6)), None, None, 0, 6, 1, 3, 1e-5)
    case("aten::renorm", rand((3,)), 2, 0, 1.0)
    case("aten::renorm", rand((3, 2)), 2, 0, -1.0)
    case("aten::renorm", rand((3, 2), m.i8), 2, 0, 1.0)
    case("aten::_masked_softmax", rand((2, 3)), rand((2, 3)), 1, 2)
    full = torch.ones((1, 2, 2, 3), dtype=m.b1)
    case("aten::_masked_softmax", rand((1, 2, 2, 3)), full, 3, 2)
    for t in (rand((2, 4, 3, 2)), rand((2, 6, 2)), rand((1, 4, 2, 2, 2)),
              rand((4, 2)), rand((2, 4, 2, 2), m.i8), rand((2, 3, 2, 2))):
        for g in (2, 1, 0):
            case("aten::native_channel_shuffle", t, g)
    for d in kinds(m):
        y = rand((3, 4), d)
        case("aten::_aminmax", y)
        for dim in (0, -1, 2):
            case("aten::_aminmax.dim", y, dim)
            case("aten::_aminmax.dim", y, dim, True)
        for op in ("trapezoid", "trapz", "cumulative_trapezoid"):
            for dim in (-1, 0, 3):
                case(f"aten::{op}.dx", y, dx=0.5, dim=dim)
                case(f"aten::{op}.dx", y, dim=dim)
                case(f"aten::{op}.x", y, rand((3, 4), d), dim=dim)
                case(f"aten::{op}.x", y, rand((4,)), dim=dim)
    y = torch.tensor([1.0, m.NAN, -2.0])
    case("aten::_aminmax", y)
    case("aten::_aminmax", rand(()))
    case("aten::_aminmax", rand((0,)))
    for op in ("trapezoid", "trapz"):
        case(f"aten::{op}.dx", rand((2, 0)))
        case(f"aten::{op}.dx", rand((2, 1)))
        case(f"aten::{op}.x", rand((2, 3, 4)), rand((3, 1)), dim=1)
        case(f"aten::{op}.x", rand((2, 3, 4)), rand((3, 4)), dim=1)
        case(f"aten::{op}.x", y, y)
    case("aten::cumulative_trapezoid.dx", rand((2, 1)))
    for t in (rand((3, 4)), y, rand(()), rand((0, 2))):
        for dim in (0, -1):
            case("aten::_logcumsumexp", t, dim)


def smoothing(m):
    """Losses of probabilities, with weights and label smoothing."""
    case, rand = m.case, m.rand
    for d in (m.f4, m.f8):
        for n in ((3,), (2, 3), (2, 3, 4), (2, 3, 2, 2)):
            x = rand(n, d)
            p = torch.rand(n).to(d)
            w = torch.rand(3).to(d)
            for r in (0, 1, 2):
                for weight in (None, w):
                    for s in (0.0, 0.2):
                        case("aten::cross_entropy_loss", x, p, weight, r, -100,
                             s)
                        y = torch.randint(0, 3, n[:1] + n[2:] if len(n) > 1
                                          else ())
                        case("aten::cross_entropy_loss", x, y, weight, r, 1, s)
    x, p = rand((2, 3)), torch.rand((2, 3))
    case("aten::cross_entropy_loss", x, p, torch.rand(2))
    case("aten::cross_entropy_loss", x, p, None, 1, -100, 1.5)
    case("aten::cross_entropy_loss", x, p, None, 1, -100, -0.5)
    case("aten::cross_entropy_loss", x[:0], p[:0])
    case("aten::cross_entropy_loss", x, torch.tensor([1, 1]), None, 1, 1)
    case("aten::cross_entropy_loss", x, torch.tensor([1, 1]), None, 1, 1, 0.3)


def searching(m):
    case, rand = m.case, m.rand
    for d in (m.f4, m.f8, m.f2, m.bf, m.i8, m.i4, m.u1):
        x = rand((6,), d)
        v = rand((2, 3), d)
        for right in (False, True):
            for small in (False, True):
                a = dict(right=right, out_int32=small)
                case("aten::searchsorted.Tensor", x.sort()[0], v, **a)
                case("aten::searchsorted.Tensor", x, v, sorter=x.argsort(), **a)
                case("aten::bucketize.Tensor", v, x.sort()[0], **a)
        y = rand((2, 5), d)
        case("aten::searchsorted.Tensor", y, v, sorter=y.argsort())
        case("aten::searchsorted.Tensor", y.sort()[0], v)
        case("aten::searchsorted.Scalar", x.sort()[0], 1)
        case("aten::searchsorted.Scalar", x, 1, sorter=x.argsort())
        case("aten::bucketize.Scalar", 0.5, x.sort()[0])
    x = rand((4,))
    s = x.argsort()
    for side in ("left", "right", "middle"):
        case("aten::searchsorted.Tensor", x.sort()[0], x, side=side)
        case("aten::searchsorted.Tensor", x.sort()[0], x, side=side, right=True)
    case("aten::searchsorted.Tensor", x, x, sorter=s[:3])
    case("aten::searchsorted.Tensor", x, x, sorter=s.int())
    case("aten::searchsorted.Tensor", x, x, sorter=s + 1)
    case("aten::searchsorted.Tensor", rand(()), x)
    case("aten::searchsorted.Tensor", rand((0,)), x)
    case("aten::searchsorted.Tensor", rand((2, 3)), rand((3, 2)))


def exported(m):
    """Names that exported and decomposed graphs use."""
    case, rand = m.case, m.rand
    for d in kinds(m):
        for t in (rand((2, 3), d), rand((), d), rand((0, 3), d),
                  rand((3, 2), d).t()):
            for op in ("arccosh", "arcsinh", "arctanh", "zero"):
                case("aten::" + op, t)
                if op != "zero":
                    case(f"aten::{op}_", t.clone())
            for op in ("and", "or", "xor", "left_shift", "right_shift"):
                case(f"aten::bitwise_{op}.Scalar_Tensor", 5, t)
            case("aten::bitwise_and.Scalar_Tensor", True, t)
            for to in (None, m.f4, m.i8, m.bf):
                case("aten::_to_copy", t, dtype=to, strides=True)
            case("aten::_prelu_kernel", t, rand((1, 3), d))
            case("aten::_prelu_kernel", t, rand((), m.f4))
        x, at = rand((3, 4), d), torch.tensor([2, 0])
        case("aten::_unsafe_index.Tensor_hacked_twin", x, [at])
        case("aten::_unsafe_index.Tensor_hacked_twin", x, [at, at])
        for acc in (False, True):
            case("aten::_unsafe_index_put.hacked_twin", x, [at], rand((2, 4), d),
                 acc)
            case("aten::_unsafe_index_put.hacked_twin", x, [at, at],
                 rand((2,), d), acc)
        case("aten::_pad_circular", rand((1, 2, 4), d), [1, 2])
        case("aten::_pad_circular", rand((1, 2, 3, 4), d), [1, 2, 0, 3])
    case("aten::_pad_circular", rand((1, 2, 4)), [5, 0])
    case("aten::_to_copy", rand((1, 2, 3, 4)), strides=True,
         memory_format=torch.channels_last)
    case("aten::_to_copy", rand((3, 2)).t(), strides=True,
         memory_format=torch.contiguous_format)


def add(m):
    views(m)
    diagonals(m)
    products(m)
    statistics(m)
    losses(m)
    ctc(m)
    bags(m)
    unpooling(m)
    layers(m)
    smoothing(m)
    searching(m)
    exported(m)
