# SPDX-License-Identifier: Apache-2.0
"""Complex tensors and complex numbers through every family of ops."""
import torch

UNARY = """abs neg exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal
sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid square
isnan isinf isfinite logical_not sinc positive sgn absolute negative angle
isreal conj_physical _conj_physical""".split()
REFUSED = "sign floor ceil frac isposinf erf lgamma deg2rad signbit".split()
BINARY = """add sub subtract mul multiply div divide true_divide eq ne
not_equal logical_and logical_or logical_xor""".split()
ORDERED = "lt le gt ge maximum minimum fmod remainder atan2".split()
MOST = 40
BYTES = 5000


def add(m):
    case, rand, known = m.case, m.rand, m.known
    f4, f8, f2, i8, b1, c4, c8, c2 = (m.f4, m.f8, m.f2, m.i8, m.b1, m.c4, m.c8,
                                      m.c2)
    inf, nan = m.INF, m.NAN
    odd = torch.tensor([complex(0, 0), complex(1, 0), complex(-1, 0),
                        complex(0, 1), complex(0, -1), complex(3, -4),
                        complex(-0.5, 1e-3), complex(1e-4, 1e-4)],
                       dtype=torch.complex128)
    far = torch.tensor([complex(inf, 1), complex(-inf, 0), complex(nan, 0),
                        complex(1, nan), complex(2, 3)])
    for n in UNARY:
        for q in (f"aten::{n}", f"aten::{n}_"):
            if not known(q):
                continue
            case(q, rand((2, 3), c4), strides=True)
            case(q, rand((3,), c8))
            case(q, rand((3, 2), c4).t(), strides=True)
            if n not in ("log", "log2", "log10", "log1p", "rsqrt",
                         "reciprocal", "atanh", "acosh", "asin", "acos",
                         "asinh", "atan", "sinc", "expm1"):
                case(q, odd)
            if n in ("isnan", "isinf", "isfinite", "abs", "neg", "isreal",
                     "logical_not", "angle", "conj_physical"):
                case(q, far)
    case("aten::angle", torch.tensor([1.0, -2.0, 0.0, nan]))
    case("aten::angle", rand((3,), i8))
    case("aten::angle", rand((3,), b1))
    case("aten::isreal", rand((3,)))
    case("aten::isreal", rand((3,), i8))
    case("aten::isreal", torch.tensor([1 + 0j, 2j]))
    case("aten::conj_physical", rand((3,)))
    case("aten::conj_physical_", rand((3,)))
    for n in REFUSED:
        case(f"aten::{n}", rand((2,), c4), keep_lacks=True)
    for n in BINARY:
        for q in (f"aten::{n}.Tensor", f"aten::{n}_.Tensor", f"aten::{n}",
                  f"aten::{n}_"):
            if not known(q) or ("." not in q and known(q + ".Tensor")):
                continue
            for a, b in ((c4, c4), (c4, c8), (c4, f4), (f4, c4), (c8, f4),
                         (c4, i8), (i8, c8), (b1, c4), (f8, c4)):
                case(q, rand((3,), a), rand((3,), b))
            case(q, rand((2, 1), c4), rand((1, 3), c4))
            case(q, rand((2, 3), c4).t(), rand((), c8), strides=True)
            if n in ("eq", "ne"):
                case(q, odd, odd.flip(0))
                case(q, far, far)
        for q in (f"aten::{n}.Scalar", f"aten::{n}_.Scalar"):
            if known(q):
                case(q, rand((3,), c4), 1 + 2j)
                case(q, rand((3,), f4), 0.5 - 1j)
                case(q, rand((3,), c4), 2)
                case(q, rand((3,), i8), 1j)
                case(q, rand((3,), c8), 2.5)
    case("aten::eq.Scalar", torch.tensor([1j, 2, 1 + 1j]), 1 + 1j)
    case("aten::add.Tensor", rand((3,), c4), rand((3,), c4), alpha=2 - 1j)
    case("aten::sub.Tensor", rand((3,), c4), rand((3,)), alpha=1j)
    case("aten::rsub.Tensor", rand((3,), c4), rand((3,)), alpha=1j)
    case("aten::rsub.Scalar", rand((3,), c4), 1 + 1j)
    case("aten::add.Tensor", rand((3,)), rand((3,)), alpha=2j)
    case("aten::div.Tensor", far[:2], torch.tensor([0j, 1 + 1j]))
    case("aten::div.Tensor_mode", rand((3,), c4), rand((3,)),
         rounding_mode="floor", keep_lacks=True)
    for n in ORDERED:
        for q in (f"aten::{n}.Tensor", f"aten::{n}"):
            if known(q):
                case(q, rand((3,), c4), rand((3,), c4), keep_lacks=True)
                break
    x, y = rand((4,), c4), rand((4,), c4)
    case("aten::pow.Tensor_Tensor", x, y)
    case("aten::pow.Tensor_Tensor", rand((3,), f4), y[:3])
    case("aten::pow.Tensor_Scalar", x, 2)
    case("aten::pow.Tensor_Scalar", x, 0.5)
    case("aten::pow.Tensor_Scalar", x, 3)
    case("aten::pow.Tensor_Scalar", x, -1)
    case("aten::pow.Tensor_Scalar", rand((3,), f4, 0.1), 1 + 1j)
    case("aten::pow.Scalar", 2j, y)
    case("aten::addcmul", x, y, x, value=2)
    case("aten::addcmul", x, y, x, value=1j)
    case("aten::addcdiv", x, y, x, value=0.5)
    case("aten::lerp.Scalar", x, y, 0.25)
    case("aten::lerp.Tensor", x, y, rand((4,), c4))
    # making and taking apart
    for d in (f4, f8):
        case("aten::complex", rand((2, 3), d), rand((3,), d), strides=True)
        case("aten::polar", rand((2, 3), d), rand((2, 3), d))
    case("aten::complex", rand((2,), f2), rand((2,), f2))
    case("aten::complex", rand((2,), f4), rand((2,), f8))
    case("aten::complex", rand((2,), i8), rand((2,), i8))
    case("aten::polar", rand((2,), f4), rand((2,), i8))
    for t in (rand((2, 3), c4), rand((3, 4), c8).t()[1:], rand((), c4),
              rand((0, 2), c4), rand((2,), c2), rand((2, 2))):
        for n in ("view_as_real", "real", "imag", "conj", "_conj",
                  "resolve_conj", "resolve_neg", "_neg_view", "adjoint", "mH",
                  "matrix_H"):
            case(f"aten::{n}", t, strides=n not in ("conj", "_conj"))
    case("aten::adjoint", rand((2, 3, 4), c4), strides=True)
    case("aten::matrix_H", rand((2, 3, 4), c4))
    case("aten::mH", rand((3,), c4))
    for n in ("mH", "matrix_H"):
        case(f"aten::{n}.a", rand((2, 3), c4))
    case("aten::view_as_complex", rand((3, 2)), strides=True)
    case("aten::view_as_complex", rand((2, 4, 3, 2), f8).transpose(0, 1),
         strides=True)
    case("aten::view_as_complex", rand((3, 4))[:, 1:3])
    case("aten::view_as_complex", rand((3, 4))[:, 2:4])
    case("aten::view_as_complex", rand((3, 3))[:, :2])
    case("aten::view_as_complex", rand((2, 3)))
    case("aten::view_as_complex", rand((2, 2)).t())
    case("aten::view_as_complex", rand((2,), i8))
    case("aten::view_as_complex", rand(()))
    # conversions and factories
    for a in (f4, f8, f2, i8, b1, c4, c8, c2):
        for b in (f4, i8, b1, c4, c8, c2):
            if a.is_complex or b.is_complex:
                case("aten::to.dtype", rand((3,), a), b)
    case("aten::copy_", torch.zeros(2, 3, dtype=c4), rand((3,)))
    case("aten::copy_", torch.zeros(3), rand((3,), c4))
    case("aten::full", [2], 1 + 2j)
    case("aten::full", [2], 1.5, dtype=c8)
    case("aten::full", [2], 1 + 2j, dtype=f4)
    case("aten::full_like", rand((2,), c4), 3j)
    case("aten::zeros", [2, 2], dtype=c4)
    case("aten::ones", [2], dtype=c8)
    case("aten::eye", 3, dtype=c4)
    case("aten::new_full", rand((2,), c4), [3], 1j)
    case("aten::scalar_tensor", 1 + 2j, dtype=c4)
    case("aten::fill_.Scalar", rand((3,), c4), 1j)
    case("aten::fill_.Tensor", rand((3,), c4), torch.tensor(2.0))
    case("aten::zero_", rand((3,), c4))
    # reductions and scans
    z = rand((2, 3, 4), c4)
    for d in (c4, c8):
        z = rand((2, 3, 4), d)
        for n in ("sum", "mean", "prod"):
            case(f"aten::{n}", z)
            case(f"aten::{n}", rand((0,), d))
        case("aten::sum.dim_IntList", z, [0, 2], True)
        case("aten::mean.dim", z, [1])
        case("aten::prod.dim_int", z, 1)
        case("aten::cumsum", z, 1)
        case("aten::cumprod", z, -1)
        case("aten::cumsum_", z, 0)
        for n in ("var", "std"):
            case(f"aten::{n}.correction", z, [1], correction=1)
            case(f"aten::{n}", z, False)
        case("aten::var_mean.correction", z, [0], correction=0, keepdim=True)
        case("aten::any", z)
        case("aten::all.dim", z, 1)
        case("aten::count_nonzero", torch.tensor([0j, 1j, 1]))
        case("aten::norm.Scalar", z, 2)
        case("aten::linalg_vector_norm", z, 1, [1])
        case("aten::linalg_vector_norm", z, m.INF)
    case("aten::sum", rand((3,)), dtype=c4)
    case("aten::sum", z, dtype=f4)
    case("aten::cumsum", rand((3,)), 0, dtype=c4)
    case("aten::max", z, keep_lacks=True)
    case("aten::nansum", z, keep_lacks=True)
    case("aten::trace", rand((3, 3), c4))
    # products
    a, b = rand((3, 4), c4), rand((4, 2), c4)
    case("aten::mm", a, b)
    case("aten::matmul", a, b)
    case("aten::matmul", rand((2, 3, 4), c8), rand((4,), c8))
    case("aten::matmul", rand((5, 1, 3, 4), c4), rand((2, 4, 3), c4))
    case("aten::bmm", rand((2, 3, 4), c4), rand((2, 4, 2), c4))
    case("aten::dot", rand((5,), c4), rand((5,), c4))
    case("aten::vdot", rand((5,), c4), rand((5,), c4))
    case("aten::vdot", rand((5,)), rand((5,)))
    case("aten::mv", a, rand((4,), c4))
    case("aten::addmm", rand((3, 2), c4), a, b, beta=0.5, alpha=2)
    case("aten::addmm", rand((2,), c4), a, b, beta=1j, alpha=1 - 1j)
    case("aten::baddbmm", rand((2, 3, 2), c4), rand((2, 3, 4), c4),
         rand((2, 4, 2), c4))
    case("aten::mm", a, rand((4, 2)))
    case("aten::outer", rand((2,), c4), rand((3,), c4))
    case("aten::linear", rand((2, 4), c4), rand((3, 4), c4), rand((3,), c4))
    case("aten::einsum", "bixy,ioxy->boxy",
         [rand((2, 3, 2, 2), c4), rand((3, 4, 2, 2), c4)])
    case("aten::einsum", "ij,jk->ik", [a, b])
    # movement
    case("aten::where.self", rand((4,), b1), x, y)
    case("aten::where.self", rand((4,), b1), x, rand((4,)))
    case("aten::where.ScalarOther", rand((4,), b1), x, 1j)
    case("aten::masked_fill.Scalar", x, rand((4,), b1), 1j)
    case("aten::masked_fill.Scalar", x, rand((4,), b1), 0)
    case("aten::masked_fill.Scalar", rand((4,)), rand((4,), b1), 1j)
    case("aten::masked_select", x, rand((4,), b1))
    case("aten::cat", [z, rand((1, 3, 4), c8)])
    case("aten::cat", [rand((2, 2), c4), rand((2, 2))], 1)
    case("aten::stack", [x, y], 1)
    i = torch.tensor([2, 0, -1])
    case("aten::index.Tensor", z, [None, i.abs()])
    case("aten::index_put", z, [None, torch.tensor([0, 1])],
         rand((2, 2, 4), c8))
    case("aten::index_put_", x, [torch.tensor([0, 0, 1])], rand((3,), c4),
         True)
    case("aten::index_select", z, 1, torch.tensor([2, 0]))
    case("aten::gather", a, 1, torch.tensor([[0, 1], [3, 2], [1, 1]]))
    case("aten::scatter.src", a, 1, torch.tensor([[0, 1], [3, 2], [1, 0]]),
         rand((3, 4), c4))
    case("aten::scatter_add", a, 1, torch.tensor([[0, 0], [3, 2], [1, 1]]),
         rand((3, 4), c4))
    case("aten::index_add", a, 0, torch.tensor([0, 0, 2]), rand((3, 4), c4))
    case("aten::index_copy", a, 0, torch.tensor([1, 2]), rand((2, 4), c4))
    case("aten::take", a, torch.tensor([5, 0]))
    case("aten::nonzero", torch.tensor([0j, 1j, 1]))
    for n, args in (("flip", ([1],)), ("roll", ([1], [0])), ("t", ()),
                    ("transpose.int", (0, 1)), ("permute", ([1, 0],)),
                    ("reshape", ([2, 6],)), ("flatten.using_ints", ()),
                    ("select.int", (0, 1)), ("slice.Tensor", (0, 1, 3)),
                    ("unsqueeze", (0,)), ("expand", ([2, 3, 4],)),
                    ("repeat", ([2, 1],)), ("tril", ()), ("triu", (1,)),
                    ("diagonal", ()), ("narrow", (1, 1, 2)), ("clone", ()),
                    ("contiguous", ()), ("unbind.int", (0,)),
                    ("split.Tensor", (2, 0)), ("chunk", (2, 1)),
                    ("constant_pad_nd", ([1, 2],)),
                    ("repeat_interleave.self_int", (2, 0)),
                    ("unfold", (1, 2, 1)), ("movedim.int", (0, 1)),
                    ("zeros_like", ()), ("ones_like", ()),
                    ("pad", ([1, 0, 0, 2],)), ("squeeze", ()),
                    ("numel", ()), ("is_complex", ()), ("equal", (a,)),
                    ("is_floating_point", ()), ("tile", ([2],)),
                    ("as_strided", ([2, 2], [4, 1], 1))):
        if known(f"aten::{n}"):
            case(f"aten::{n}", a, *args, strides=True)
    case("aten::rot90", a)
    case("aten::constant_pad_nd", a, [1, 0], 2)
    case("aten::pad", rand((2, 3, 4), c4), [1, 1], "reflect")
    case("aten::pad", rand((2, 3, 4), c4), [1, 1], "replicate")
    case("aten::meshgrid", [x, y])
    case("aten::item", torch.tensor(1 + 2j))
    case("aten::is_nonzero", torch.tensor(2j))
    case("aten::sort", x, keep_lacks=True)
    numbers(m)


def numbers(m):
    """Complex numbers of Python, in ops without tensors."""
    case = m.case
    a, b = 1.5 - 2j, -0.25 + 1j
    z = torch.tensor(0.5)
    for kinds in ("int_int", "float_int", "int_float", "float_float",
                  "bool_int", "int_bool", "bool_bool", "float_bool",
                  "bool_float", "Tensor_float", "float_Tensor", "Tensor_int",
                  "int_Tensor", "Tensor_bool", "bool_Tensor", "Tensor_Tensor"):
        of = dict(int=3, float=-1.5, bool=True, Tensor=z)
        case("aten::Complex." + kinds, *[of[k] for k in kinds.split("_")])
    case("aten::Complex.Scalar", a)
    case("aten::Complex.Scalar", 2)
    case("aten::ComplexImplicit", torch.tensor(1 + 2j))
    case("aten::ComplexImplicit", torch.ones(1, dtype=m.c4))
    for kinds in ("int", "float", "int_float", "float_int"):
        pair = (kinds + "_" + kinds).split("_")[:2]
        of = dict(int=2, float=0.75)
        case("aten::polar." + kinds, *[of[k] for k in pair])
    case("aten::polar.Scalar_Scalar", 2.0, 0.5)
    for op in ("add", "sub", "mul", "div", "pow", "log", "eq", "ne"):
        for kinds in ("complex", "int_complex", "complex_int",
                      "float_complex", "complex_float", "complex_complex"):
            q = f"aten::{op}.{kinds}"
            if not m.known(q) or q == "aten::log.complex":
                continue
            pair = (kinds + "_" + kinds).split("_")[:2]
            of = dict(int=2, float=0.75, complex=a)
            case(q, of[pair[0]], b if pair[1] == "complex" else of[pair[1]])
    case("aten::eq.complex", a, a)
    case("aten::ne.complex", a, a)
    for f in ("neg exp log log10 sqrt sin cos tan asin acos atan sinh cosh tanh"
              " asinh acosh atanh angle isnan isinf isfinite").split():
        case(f"aten::{f}.complex", a)
        case(f"aten::{f}.complex", b)
    case("prim::abs.complex", a)
    case("aten::isnan.complex", complex(m.NAN, 0))
    case("aten::isinf.complex", complex(0, m.INF))
    case("aten::sum.complex", [a, b])
    for q in ("aten::tensor.complex", "aten::as_tensor.complex"):
        case(q, a)
        case(q, a, dtype=m.c8)
