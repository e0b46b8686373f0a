# SPDX-License-Identifier: Apache-2.0
"""Views, reductions, creation, copies, indexing, sorting."""
import torch


def views(m):
    case, rand = m.case, m.rand

    def view(q, *a, **k):
        case(q, *a, strides=True, **k)
    x = rand((2, 3, 4))
    for sizes in ([6, 4], [-1], [2, -1, 2], [4, 6], [2, 3, 4, 1], [5, 5],
                  [-1, -1], [24, 1], [0, -1]):
        for q in ("view", "reshape", "_unsafe_view"):
            view(f"aten::{q}", x, sizes)
            if q != "_unsafe_view":
                view(f"aten::{q}", x.transpose(1, 2), sizes)
                view(f"aten::{q}", x[:, 1:], sizes)
    view("aten::view", rand((0, 3)), [3, 0])
    view("aten::view", rand((0, 3)), [-1, 0])
    view("aten::view", rand(()), [1, 1])
    view("aten::reshape", rand((2, 2)).expand(3, 2, 2), [12])
    view("aten::view.dtype", rand((2, 4)), torch.int32)
    view("aten::view.dtype", rand((2, 4)), torch.float64)
    view("aten::view.dtype", rand((2, 4)), torch.uint8)
    view("aten::view.dtype", rand((2, 3)), torch.float64)
    view("aten::view_as", x, rand((6, 4)))
    view("aten::reshape_as", x.transpose(0, 1), rand((6, 4)))
    view("aten::ravel", x)
    view("aten::ravel", x.transpose(0, 1))
    for a in ((0, -1), (1, 2), (0, 1), (1, 1), (2, 1), (0, 5)):
        view("aten::flatten.using_ints", x, *a)
        view("aten::flatten.using_ints", x.transpose(0, 2), *a)
    view("aten::flatten.using_ints", rand(()), 0, -1)
    view("aten::unflatten.int", rand((6, 4)), 0, [2, 3])
    view("aten::unflatten.int", rand((6, 4)), -1, [2, -1])
    view("aten::unflatten.int", rand((6, 4)), 0, [4, 2])
    for p in ([2, 0, 1], [0, 1, 2], [-1, 0, 1], [0, 0, 1], [0, 1]):
        view("aten::permute", x, p)
    for q in ("transpose.int", "transpose_", "swapaxes", "swapdims"):
        view(f"aten::{q}", x, 0, 2)
        view(f"aten::{q}", x, -1, -2)
        view(f"aten::{q}", x, 0, 3)
        view(f"aten::{q}", rand(()), 0, -1)
    for q in ("t", "t_"):
        for s in ((2, 3), (3,), (), (2, 2, 2)):
            view(f"aten::{q}", rand(s))
    view("aten::numpy_T", x)
    view("aten::mT", x)
    view("aten::mT", rand((2,)))
    for q in ("movedim", "moveaxis"):
        view(f"aten::{q}.int", x, 0, -1)
        view(f"aten::{q}.int", x, 2, 0)
        view(f"aten::{q}.intlist", x, [0, 1], [2, 0])
        view(f"aten::{q}.intlist", x, [0, 0], [2, 0])
    for d in (0, 1, -1, 3, -4, 4):
        view("aten::unsqueeze", x, d)
        view("aten::unsqueeze_", x, d)
    y = rand((1, 3, 1, 2))
    for q in ("squeeze", "squeeze_"):
        view(f"aten::{q}", y)
        for d in (0, 1, -2, 4):
            view(f"aten::{q}.dim", y, d)
    view("aten::squeeze.dims", y, [0, 2])
    view("aten::squeeze.dims", y, [])
    view("aten::squeeze.dim", rand(()), 0)
    for s in ([2, 3, 4], [-1, 3, 4], [5, 2, 3, 4], [2, 6, 4], [3, 4],
              [-1, 2, 3, 4]):
        view("aten::expand", x, s)
    view("aten::expand", rand((3, 1)), [2, -1, 4])
    view("aten::expand", rand(()), [2, 3])
    view("aten::expand_as", rand((3, 1)), rand((2, 3, 4)))
    view("aten::broadcast_to", rand((3, 1)), [2, 3, 4])
    for a in ((0, 1), (1, -1), (-1, 3), (2, 4), (0, -3), (3, 0)):
        view("aten::select.int", x, *a)
    view("aten::select.int", rand(()), 0, 0)
    for a in ((0, 0, 1, 1), (1, 1, None, 1), (2, None, None, 2), (1, -2, -1, 1),
              (2, 3, 1, 1), (0, -10, 10, 1), (2, 1, 100, 3), (1, 0, 2, 0),
              (2, 4, 10, 1), (0, 0, 9223372036854775807, 1)):
        view("aten::slice.Tensor", x, *a)
    for a in ((1, 0, 2), (2, -2, 2), (1, 2, 2), (1, 3, 0), (1, 0, -1)):
        view("aten::narrow", x, *a)
    view("aten::narrow.Tensor", x, 1, torch.tensor(1), 2)
    z = rand((7, 2))
    for n in (2, 3, 7, 10, 0, -1):
        view("aten::split.Tensor", z, n)
        view("aten::chunk", z, n)
        case("aten::unsafe_chunk", z, n)
        case("aten::unsafe_split.Tensor", z, n)
        view("aten::tensor_split.sections", z, n)
    view("aten::split.Tensor", z, 1, 1)
    view("aten::chunk", rand((0, 2)), 3)
    for s in ([3, 4], [7], [3, 3], [7, 0], [-1, 8]):
        view("aten::split.sizes", z, s)
        view("aten::split_with_sizes", z, s)
        case("aten::unsafe_split_with_sizes", z, s)
    view("aten::tensor_split.indices", z, [2, 5])
    view("aten::tensor_split.indices", z, [5, 2, 9, -1])
    for d in (0, 1, -1, 3):
        view("aten::unbind.int", x, d)
    view("aten::unbind.int", rand(()), 0)
    view("aten::as_strided", x, [2, 2], [1, 3], 2)
    view("aten::as_strided", x, [2, 2], [1, 30], 2)
    # Rows that stay together, windows that overlap, one element often.
    view("aten::as_strided", x, [2, 2, 4], [8, 4, 1], 4)
    view("aten::as_strided", x, [3, 2, 4], [6, 4, 1], 2)
    view("aten::as_strided", x, [5, 6], [3, 1], 3)
    view("aten::as_strided", x, [3, 1, 2, 1], [0, 99, 5, 99])
    view("aten::as_strided", x, [], [], 23)
    view("aten::as_strided", x, [2, 0], [1, 1])
    view("aten::as_strided", x, [70], [0], 7)
    view("aten::as_strided", torch.arange(200, dtype=torch.uint8), [70, 61],
         [2, 1], 1)
    view("aten::as_strided_", x, [3, 2], [2, 1])
    for a in ((0, 2, 1), (2, 3, 1), (2, 2, 2), (1, 4, 1), (1, 2, 0)):
        view("aten::unfold", x, *a)
    view("aten::unfold", rand(()), 0, 1, 1)
    for a in ((0, 0, 1), (1, 0, 1), (-1, 1, 2), (5, 0, 1), (0, 1, 1)):
        view("aten::diagonal", x, *a)
    view("aten::broadcast_tensors", [rand((3, 1)), rand((2,)), rand(())])
    view("aten::broadcast_tensors", [rand((3,)), rand((2,))])
    for ix in ("ij", "xy", "zz"):
        view("aten::meshgrid.indexing", [rand((2,)), rand((3,)), rand(())],
             indexing=ix)
        view("aten::meshgrid.indexing", [rand((2,))], indexing=ix)
    view("aten::meshgrid", [rand((2,)), rand((3,))])
    view("aten::meshgrid", [rand((2, 2)), rand((3,))])
    view("prim::data", x)
    view("aten::data", x)


def reductions(m):
    case, rand = m.case, m.rand
    f4, f8, f2, bf, i8, i4, u1, b1 = (m.f4, m.f8, m.f2, m.bf, m.i8, m.i4, m.u1,
                                      m.b1)
    x = rand((2, 3, 4))
    tests = [x, x.transpose(0, 2), rand((3,), f8), rand(()), rand((3, 4), f2),
             rand((3, 4), bf), rand((3, 4), i8), rand((3, 4), b1),
             rand((3, 4), u1), m.SPECIAL, rand((0, 3))]
    for q in ("sum", "mean", "prod", "any", "all", "max", "min", "median"):
        for t in tests:
            case(f"aten::{q}", t)
    for q in ("sum", "mean", "prod"):
        case(f"aten::{q}", rand((3,), i8), dtype=f4)
        case(f"aten::{q}", rand((3,)), dtype=f8)
    dims = [[0], [1], [-1], [0, 1], [], None, [0, 0], [5]]
    for t in tests[:9] + [rand((0, 3))]:
        for d in dims:
            for keep in (False, True):
                if keep and t is not x:
                    continue
                case("aten::sum.dim_IntList", t, d, keep)
                case("aten::mean.dim", t, d, keep)
                case("aten::logsumexp", t, d or [0], keep)
                case("aten::amax", t, d or [], keep)
                case("aten::amin", t, d or [], keep)
                if d is not None:
                    case("aten::count_nonzero.dim_IntList", t, d)
                case("aten::any.dims", t, d, keep)
                case("aten::all.dims", t, d, keep)
                case("aten::var.dim", t, d, True, keep)
                case("aten::std.dim", t, d, False, keep)
    case("aten::sum.dim_IntList", rand((2, 3), i4), [0], dtype=f4)
    case("aten::mean.dim", rand((2, 3), i4), [0], dtype=f4)
    for d in ([0], [1], None):
        case("aten::nansum", torch.tensor([[1.0, float("nan")], [2, 3]]), d)
        case("aten::nanmean", torch.tensor([[1.0, float("nan")], [2, 3]]), d)
    # The sum takes the dtype before it is divided: that of the last is infinite.
    many = torch.arange(400.0).reshape(2, 200) / 7 + 10
    many[:, 3] = float("nan")
    for t in (many.to(f2), many.to(bf), (many * 100).to(f2)):
        case("aten::nanmean", t, [1])
    for t in tests:
        case("aten::count_nonzero", t)
        case("aten::count_nonzero", t, 0)
        for q in ("var", "std", "var_mean", "std_mean"):
            case(f"aten::{q}", t, True)
            case(f"aten::{q}.correction", t, [0], correction=0)
        for d in (None, 0, -1, 2):
            case("aten::argmax", t, d)
            case("aten::argmin", t, d, d is not None)
            if d is None:
                continue
            if t.numel() == 0 and d >= t.dim():
                continue  # cummax does not look at the dim then
            for q in ("max.dim", "min.dim", "any.dim", "all.dim", "cumsum",
                      "cumprod", "logcumsumexp", "cummax", "cummin", "cumsum_",
                      "cumprod_"):
                case(f"aten::{q}", t, d)
            case("aten::prod.dim_int", t, d, True)
            case("aten::aminmax", t, dim=d)
            if len(t.shape) < 1 or d >= t.dim() or t.numel() == 0:
                continue
            if t.dtype not in (b1,) and t.shape[d] % 2:
                values = t.to(f8).sort(d).values
                if (values.diff(dim=d) != 0).all():  # no ties: index is defined
                    case("aten::median.dim", t, d)
    for q in ("var", "std"):
        case(f"aten::{q}.correction", x, None)
        case(f"aten::{q}.correction", x, [0, 2], correction=2, keepdim=True)
    for q in ("var_mean", "std_mean"):
        case(f"aten::{q}.dim", x, [0, 1], False, True)
        case(f"aten::{q}.dim", x, [2])
    case("aten::aminmax", x)
    case("aten::median.dim", rand((3, 5)), 1)
    case("aten::median.dim", rand((3, 4)), 0, True)
    for p in (2, 1, 0, 3, float("inf"), -float("inf"), 0.5):
        case("aten::norm.Scalar", x, p)
        case("aten::norm.ScalarOpt_dim", x, p, [1])
        case("aten::norm.ScalarOpt_dim", x, p, [0, 2], True)
        case("aten::norm.ScalarOpt_dtype", x, p, dtype=f8)
        case("aten::norm.ScalarOpt_dim_dtype", x, p, [1], False, dtype=f8)
        case("aten::linalg_vector_norm", x, p, [1], True)
        case("aten::linalg_vector_norm", x.transpose(0, 1), p)
    case("aten::norm.ScalarOpt_dim", x, None, [1])
    case("aten::norm.Scalar", rand((3,), i8))
    case("aten::frobenius_norm.dim", x, [1, 2], True)
    case("aten::trace", rand((3, 4)))
    case("aten::trace", rand((3, 4), i4))
    case("aten::trace", rand((3,)))
    case("aten::cumsum", rand((3, 4), i4), 1)
    case("aten::cumsum", rand((3, 4)), 1, dtype=f8)
    case("aten::diff", rand((3, 4)))
    case("aten::diff", rand((3, 4), i8), 2, 0)
    case("aten::diff", rand((4,), b1))
    case("aten::diff", rand((3, 4)), 1, 1, rand((3, 1)), rand((3, 2)))


def creation(m):
    case, rand = m.case, m.rand
    f4, f8, f2, bf, i8, i4, u1, b1 = (m.f4, m.f8, m.f2, m.bf, m.i8, m.i4, m.u1,
                                      m.b1)
    for d in (None, f8, i8, b1, f2):
        for s in ([2, 3], [], [0]):
            case("aten::zeros", s, dtype=d)
            case("aten::ones", s, dtype=d)
            case("aten::full", s, 3, dtype=d)
            case("aten::full", s, 2.5, dtype=d)
            case("aten::new_zeros", rand((2,)), s, dtype=d)
            case("aten::new_ones", rand((2,), i8), s, dtype=d)
            case("aten::new_full", rand((2,)), s, 7, dtype=d)
            case("aten::empty.memory_format", s, dtype=d, shape_only=True)
            case("aten::new_empty", rand((2,)), s, dtype=d, shape_only=True)
        case("aten::zeros_like", rand((2, 3)).t(), dtype=d, strides=True)
        case("aten::ones_like", rand((2, 3)), dtype=d)
        case("aten::full_like", rand((2, 3)), 4, dtype=d)
        case("aten::empty_like", rand((2, 3)), dtype=d, shape_only=True)
        case("aten::scalar_tensor", 3, dtype=d)
        for v in (3, 2.5, True):
            kind = {int: "int", float: "float", bool: "bool"}[type(v)]
            case(f"aten::tensor.{kind}", v, dtype=d)
            case(f"aten::as_tensor.{kind}", v, dtype=d)
        case("aten::arange", 5, dtype=d)
        case("aten::arange", 3.5, dtype=d)
        case("aten::eye", 3, dtype=d)
        case("aten::eye.m", 2, 4, dtype=d)
        case("aten::linspace", 0, 5, 4, dtype=d)
    case("aten::full", [2], True)
    case("aten::zeros", [-1])
    case("aten::zeros_like", rand((2, 3)).t(),
         memory_format=torch.contiguous_format, strides=True)
    case("aten::empty_strided", [2, 3], [1, 2], shape_only=True, strides=True)
    for a in ((1, 5), (5, 1), (1.5, 4), (2, 2)):
        case("aten::arange.start", *a)
    for a in ((0, 10, 3), (10, 0, -3), (0, 1, 0.1), (0, 1, 0), (1, 0, 1),
              (0.0, 2.0, 0.5)):
        case("aten::arange.start_step", *a)
    for a in ((0, 1, 5), (1, 1, 1), (0, 1, 0), (-2, 3, 7), (0, 1, -1)):
        case("aten::linspace", *a)
        case("aten::logspace", *a)
    t0, t1 = torch.tensor(0.5), torch.tensor(2.0)
    case("aten::linspace.Tensor_Tensor", t0, t1, 4)
    case("aten::linspace.Tensor_Scalar", t0, 2, 4)
    case("aten::linspace.Scalar_Tensor", 0, t1, 4)
    for q in ("fill", "fill_"):
        for a in (f4, i8, b1):
            case(f"aten::{q}.Scalar", rand((2, 3), a), 3)
            case(f"aten::{q}.Tensor", rand((2, 3), a), torch.tensor(2.0))
        case(f"aten::{q}.Tensor", rand((2, 3)), rand((1,)))
    case("aten::fill_.Scalar", m.strided(), 1.5)
    case("aten::_no_grad_fill_", rand((2,)), 1.5)
    case("aten::zero_", m.strided())
    case("aten::_no_grad_zero_", rand((2,)))
    for q in ("tril", "triu", "tril_", "triu_"):
        for k in (0, 1, -1):
            case(f"aten::{q}", rand((3, 4)), k)
        case(f"aten::{q}", rand((2, 3, 3)).transpose(1, 2), 0)
        case(f"aten::{q}", rand((3,)), 0)
    for q in ("tril_indices", "triu_indices"):
        case(f"aten::{q}", 3, 4, 1)
        case(f"aten::{q}", 3, 3, dtype=i4)
    lists = [[1, 2, 3], [1.5, 2.0], [True, False], [[1, 2], [3, 4]], [],
             [[1.0, 2.0]]]
    for v in lists:
        case("aten::tensor", v)
        case("aten::as_tensor.list", v)
    case("aten::tensor", [1, 2], dtype=f4)
    case("aten::as_tensor", rand((2,)))
    case("aten::as_tensor", rand((2,)), dtype=f8)
    random = dict(shape_only=True)
    p = torch.rand((2, 3))
    for q in ("bernoulli_.float", "uniform_", "normal_", "exponential_",
              "random_"):
        case(f"aten::{q}", p, **random)
    case("aten::bernoulli_.Tensor", p, p, **random)
    case("aten::bernoulli", p, **random)
    case("aten::bernoulli.p", p, 0.5, **random)
    case("aten::bernoulli.Tensor", p, p, **random)
    case("aten::uniform", p, **random)
    case("aten::_no_grad_uniform_", p, 0.0, 1.0, **random)
    case("aten::_no_grad_normal_", p, 0.0, 1.0, **random)
    case("aten::rand", [2, 3], **random)
    case("aten::randn", [2, 3], dtype=f8, **random)
    case("aten::randint", 5, [2, 3], **random)
    case("aten::randint.low", 1, 5, [2, 3], **random)
    case("aten::rand_like", p, **random)
    case("aten::randn_like", p, dtype=f8, **random)
    case("aten::randint_like", p, 5, **random)
    case("aten::randperm", 5, **random)
    case("aten::multinomial", p, 2, **random)


def copies(m):
    case, rand = m.case, m.rand
    f4, f8, f2, i8, i4, u1, b1 = m.f4, m.f8, m.f2, m.i8, m.i4, m.u1, m.b1
    x = rand((2, 3))
    sets = [([x, x + 1], 0), ([x, x + 1], -1), ([x, rand((4, 3))], 0),
            ([x, rand((2, 3), i8)], 0), ([rand((0,)), x], 0),
            ([x, rand((3, 2))], 0), ([x, rand((2,))], 0), ([], 0), ([x], 2),
            ([x.t(), x.t()], 1), ([rand(()), rand(())], 0)]
    for q in ("cat", "concat", "concatenate"):
        for s in sets:
            case(f"aten::{q}", *s)
    for d in (0, 1, -1, 3):
        case("aten::stack", [x, x + 1], d)
    case("aten::stack", [x, rand((3, 2))])
    case("aten::stack", [rand(()), rand(())])
    for q in ("hstack", "vstack", "dstack", "column_stack"):
        case(f"aten::{q}", [x, x])
        case(f"aten::{q}", [rand((3,)), rand((3,))])
        case(f"aten::{q}", [rand(()), rand(())])
    for r in ([2, 1], [2, 2, 1], [0, 1], [2]):
        case("aten::repeat", x, r)
        case("aten::tile", x, r)
    case("aten::repeat", x.t(), [1, 2])
    for a in ((2,), (2, 0), (3, -1), (0, 1), (-1, 0)):
        case("aten::repeat_interleave.self_int", x, *a)
    case("aten::repeat_interleave.self_Tensor", x, torch.tensor([1, 2]), 0)
    case("aten::repeat_interleave.self_Tensor", x, torch.tensor([2]), 1)
    case("aten::repeat_interleave.self_Tensor", x, torch.tensor([1, 2, 3]), 0)
    for d in ([0], [1], [0, 1], [], [-1], [0, 0], [2]):
        case("aten::flip", x, d)
    case("aten::flip", x.t(), [0])
    case("aten::fliplr", x)
    case("aten::flipud", x)
    for a in (([1],), ([1], [0]), ([-1, 2], [0, 1]), ([5], [1]), ([1, 2], [0])):
        case("aten::roll", x, *a)
    for k in (0, 1, 2, 3, -1):
        case("aten::rot90", x, k, [0, 1])
        case("aten::rot90", rand((2, 3, 4)), k, [2, 0])
    y = rand((1, 2, 4, 5))
    for p in ([1, 1], [1, 2, 0, 1], [-1, 1], [0, 0, -1, -1], [1], [9, 9, 9, 9],
              [1, 1, 1, 1, 1, 1]):
        for v in (0, 1.5):
            case("aten::constant_pad_nd", y, p, v)
        for mode in ("constant", "reflect", "replicate", "circular", "what"):
            case("aten::pad", y, p, mode)
            case("aten::pad", y[0], p, mode)
        for mode in range(4):
            case("aten::_pad_enum", y, p, mode)
    case("aten::pad", y, [1, 1], "constant", 2.0)
    case("aten::pad", rand((2, 2), i8), [1, 1], "constant", 2.0)
    for n, p in ((1, [1, 2]), (2, [1, 1, 2, 0]), (3, [1, 0, 1, 1, 0, 1])):
        t = rand((1, 2) + (3,) * n)
        for q in ("reflection_pad", "replication_pad"):
            case(f"aten::{q}{n}d", t, p)
            case(f"aten::{q}{n}d", t[0], p)
            case(f"aten::{q}{n}d", t, [1])
    case("aten::pixel_shuffle", rand((1, 8, 2, 3)), 2)
    case("aten::pixel_unshuffle", rand((1, 2, 4, 6)), 2)
    case("aten::pixel_shuffle", rand((1, 7, 2, 3)), 2)
    case("aten::channel_shuffle", rand((1, 4, 2, 2)), 2)
    case("aten::im2col", rand((1, 2, 4, 5)), [2, 3], [1, 1], [1, 0], [1, 2])
    case("aten::im2col", rand((2, 4, 5)), [2, 2], [1, 2], [0, 0], [1, 1])
    case("aten::im2col", rand((2, 2, 2)), [5, 5], [1, 1], [0, 0], [1, 1])
    case("aten::col2im", rand((1, 8, 12)), [4, 5], [2, 2], [1, 1], [0, 0],
         [1, 1])
    case("aten::col2im", rand((8, 12)), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])
    case("aten::col2im", rand((8, 11)), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])


def indexing(m):
    case, rand = m.case, m.rand
    f4, f8, f2, i8, i4, u1, b1 = m.f4, m.f8, m.f2, m.i8, m.i4, m.u1, m.b1
    x = rand((3, 4, 2))
    i = torch.tensor([2, 0, -1])
    j = torch.tensor([[1], [3]])
    mask = torch.tensor([True, False, True])
    sets = [[i], [None, i], [i, torch.tensor([1, 0, 3])], [i, None, torch.tensor([1, 0, 1])],
            [j % 3, torch.tensor([0, 1])], [mask], [None, None, torch.tensor([True, False])],
            [x > 0], [torch.tensor(1)], [torch.tensor([5])], [i, j],
            [mask, torch.tensor([1, 2])], [i.int()], [torch.tensor([0.5])],
            [torch.zeros(0, dtype=i8)], [torch.tensor([True, False])]]
    for s in sets:
        case("aten::index.Tensor", x, s)
        case("aten::_unsafe_index.Tensor", x, s)
        if all(v is not None for v in s):
            case("aten::index.Tensor_hacked_twin", x, s)
        try:
            out = x[tuple(slice(None) if v is None else v for v in s)]
        except Exception:
            out = x[0]
        v = rand(tuple(out.shape))
        for q in ("index_put", "index_put_", "_unsafe_index_put"):
            case(f"aten::{q}", x, s, v)
            case(f"aten::{q}", x, s, rand(()), True)
        case("aten::_index_put_impl_", x, s, v)
        if all(w is not None for w in s):
            case("aten::index_put.hacked_twin", x, s, v)
            case("aten::index_put_.hacked_twin", x, s, v)
    case("aten::index_put_", x, [i], rand((), f8))
    case("aten::index_put_", rand((4, 3)).t(), [torch.tensor([1, 1])], rand((2, 4)), True)
    case("aten::index.Tensor", x.transpose(0, 2), [torch.tensor([1, 0])])
    for t in (torch.tensor([[1, 0], [0, 3]]), rand((3,), b1), torch.tensor(2),
              torch.zeros(2)):
        case("aten::nonzero", t)
        case("aten::nonzero_numpy", t)
        case("aten::where", t)
    c = rand((2, 3), b1)
    for a in (f4, i8, b1):
        for b in (f4, i8, f8):
            case("aten::where.self", c, rand((2, 3), a), rand((3,), b))
        for s in (2, 1.5):
            case("aten::where.ScalarOther", c, rand((2, 3), a), s)
            case("aten::where.ScalarSelf", c, s, rand((3,), a))
    case("aten::where.Scalar", c, 1, 2)
    case("aten::where.Scalar", c, 1.0, 2)
    case("aten::where.self", rand((2, 3)), c, c)
    for q in ("masked_fill", "masked_fill_"):
        for a in (f4, i8, b1, f2):
            for v in (2, 1.5, float("-inf"), True):
                if a in (i8, b1) and v == float("-inf"):
                    continue
                case(f"aten::{q}.Scalar", rand((2, 3), a), c, v)
            case(f"aten::{q}.Tensor", rand((2, 3), a), c, torch.tensor(1))
        case(f"aten::{q}.Scalar", rand((3,)), c, 2)
        case(f"aten::{q}.Scalar", rand((2, 3)), c.int(), 2)
        case(f"aten::{q}.Tensor", rand((2, 3)), c, rand((1,)))
    y = rand((2, 3))
    case("aten::masked_select", y, c)
    case("aten::masked_select", rand((3,)), c)
    for q in ("masked_scatter", "masked_scatter_"):
        case(f"aten::{q}", y, c, rand((6,)))
        case(f"aten::{q}", y, torch.ones((2, 3), dtype=b1), rand((2,)))
    g = torch.tensor([[0, 1, 2], [2, 0, 1]])
    for q in ("gather",):
        case(f"aten::{q}", y, 1, g)
        case(f"aten::{q}", y, 0, g % 2)
        case(f"aten::{q}", y, -1, g[:, :2])
        case(f"aten::{q}", y, 1, g + 5)
        case(f"aten::{q}", y, 1, g - 1)
        case(f"aten::{q}", y, 0, torch.zeros((3, 4), dtype=i8))
        case(f"aten::{q}", rand(()), 0, torch.tensor(0))
        case(f"aten::{q}", y, 1, torch.zeros((2,), dtype=i8))
    case("aten::take_along_dim", y, g, 1)
    case("aten::take_along_dim", y, torch.tensor([[5, 0]]))
    case("aten::index_select", y, 0, torch.tensor([0, -1]))
    case("aten::embedding", y, torch.tensor([1, -1]))
    case("aten::take_along_dim", y, g - 9, 1)
    case("aten::take_along_dim", y, g * 5, 0)
    case("aten::take", y, torch.tensor([[0, 5], [-1, 2]]))
    case("aten::take", y, torch.tensor([6]))
    src = rand((2, 3))
    for s in ("", "_"):
        for d in (0, 1):
            idx = torch.tensor([[0, 1, 0], [1, 0, 1]])
            case(f"aten::scatter{s}.src", y, d, idx, src)
            case(f"aten::scatter{s}.value", y, d, idx, 2.5)
            case(f"aten::scatter_add{s}", y, d, idx, src)
            for r in ("add", "multiply"):
                case(f"aten::scatter{s}.reduce", y, d, idx, src, reduce=r)
                case(f"aten::scatter{s}.value_reduce", y, d, idx, 2.0, reduce=r)
            for r in ("sum", "prod", "amax", "amin", "mean", "what"):
                for inc in (True, False):
                    case(f"aten::scatter_reduce{s}.two", y, d, idx, src, r,
                         include_self=inc)
        case(f"aten::scatter{s}.src", y, 1, g + 9, src)
        case(f"aten::scatter{s}.src", y, 1, g, rand((2, 2)))
        case(f"aten::scatter_reduce{s}.two", rand((3,), i8), 0,
             torch.tensor([0, 0, 1]), torch.tensor([4, 7, -3]), "mean",
             include_self=False)
        ix = torch.tensor([2, 0])
        case(f"aten::index_add{s}", rand((3, 2)), 0, ix, rand((2, 2)), alpha=2)
        case(f"aten::index_add{s}", rand((3, 2)), 0, ix, rand((3, 2)))
        case(f"aten::index_copy{s}", rand((3, 2)), 0, ix, rand((2, 2)))
        case(f"aten::index_fill{s}.int_Scalar", rand((3, 2)), 0, ix, 7)
        case(f"aten::index_fill{s}.int_Tensor", rand((3, 2)), 0, ix,
             torch.tensor(7.0))
    for d in (0, 1, -1, 3):
        case("aten::index_select", x, d, torch.tensor([1, 0, 1]))
    case("aten::index_select", x, 0, torch.tensor([5]))
    case("aten::index_select", x, 0, torch.tensor(1))
    case("aten::select_scatter", x, rand((4, 2)), 0, -1)
    case("aten::select_scatter", x, rand((4,)), 0, 1)
    case("aten::slice_scatter", x, rand((3, 2, 2)), 1, 0, 4, 2)
    case("aten::slice_scatter", x, rand((3, 3, 2)), 1, 0, 4, 2)
    w = rand((5, 3))
    case("aten::embedding", w, torch.tensor([[0, 4], [2, 2]]))
    case("aten::embedding", w, torch.tensor([1, 3]).int(), 1)
    case("aten::embedding", w, torch.tensor([5]))
    case("aten::embedding", w, torch.tensor([0.5]))
    case("aten::embedding", w.t()[:, 1:], torch.tensor([2]))
    case("aten::one_hot", torch.tensor([[0, 2], [1, 1]]))
    case("aten::one_hot", torch.tensor([0, 2]), 5)
    case("aten::one_hot", torch.tensor([0, 2]), 2)


def sorting(m):
    case, rand = m.case, m.rand
    f4, f8, f2, i8, i4, u1, b1 = m.f4, m.f8, m.f2, m.i8, m.i4, m.u1, m.b1
    x = torch.randperm(24).reshape(2, 3, 4)
    for t in (x.float(), x, x.float().transpose(0, 2), x[0, 0].half(),
              torch.tensor([1.0, float("nan"), 2.0, -1.0])):
        for d in (-1, 0):
            for desc in (False, True):
                case("aten::sort", t, d, desc)
                case("aten::sort.stable", t, stable=True, dim=d,
                     descending=desc)
                case("aten::argsort", t, d, desc)
                case("aten::argsort.stable", t, stable=True, dim=d,
                     descending=desc)
        case("aten::msort", t)
        if not t.isnan().any():
            for k in (1, 2, 0, 9):
                for largest in (True, False):
                    case("aten::topk", t, k, -1, largest)
            case("aten::topk", t, 2, 0)
            case("aten::kthvalue", t, 2, 0, True)
            case("aten::kthvalue", t, 1)
            case("aten::kthvalue", t, 9)
    case("aten::sort.stable", torch.tensor([1, 0, 1, 0, 2]), stable=True)
    case("aten::sort", rand((0, 3)))
    case("aten::sort", torch.tensor(3.0))
    for t in (torch.tensor([3, 1, 3, 2, 1]), torch.tensor([[1.5, 0.5], [0.5, 2.0]]),
              torch.tensor([True, False, True])):
        case("aten::_unique", t, True, True)
        for inv in (True, False):
            case("aten::_unique2", t, True, inv, True)
    s = torch.tensor([1.0, 2.0, 2.0, 5.0])
    v = torch.tensor([[0.0, 2.0], [5.0, 6.0]])
    for right in (False, True):
        case("aten::searchsorted.Tensor", s, v, right=right)
        case("aten::searchsorted.Tensor", s.expand(2, 4).contiguous(), v,
             right=right, out_int32=True)
        case("aten::searchsorted.Scalar", s, 2.0, right=right)
        case("aten::bucketize.Tensor", v, s, right=right)
        case("aten::bucketize.Scalar", 2.0, s, right=right)
    case("aten::searchsorted.Tensor", s, v, side="right")


def add(m):
    views(m)
    reductions(m)
    creation(m)
    copies(m)
    indexing(m)
    sorting(m)
