# SPDX-License-Identifier: Apache-2.0
"""Elementwise ops: unary, binary, ternary, activations, conversions."""
import torch

UNARY = """abs neg exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal
sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv
lgamma digamma floor ceil round trunc frac sign sigmoid square isnan isinf
isposinf isneginf isfinite logical_not signbit bitwise_not deg2rad rad2deg sinc
positive absolute negative arcsin arccos arctan fix sgn special_erf
special_expit special_exp2 special_expm1 special_log1p nan_to_num logit
relu relu6 hardtanh silu mish hardswish hardsigmoid gelu elu selu celu
leaky_relu softplus hardshrink softshrink log_sigmoid""".split()

BINARY = """add sub subtract rsub mul multiply div divide true_divide remainder
fmod floor_divide atan2 arctan2 hypot copysign eq ne lt le gt ge not_equal
greater greater_equal less less_equal logical_and logical_or logical_xor
bitwise_and bitwise_or bitwise_xor __and__ __or__ __xor__ __iand__ __ior__
__ixor__ __lshift__ __rshift__ __ilshift__ __irshift__ bitwise_left_shift
bitwise_right_shift maximum minimum fmax fmin""".split()


def add(m):
    case, rand, known = m.case, m.rand, m.known
    f4, f8, f2, bf, i8, i4, u1, b1 = (m.f4, m.f8, m.f2, m.bf, m.i8, m.i4, m.u1,
                                      m.b1)
    # unary: dtypes, special values, shapes, views
    for n in UNARY:
        for q in (f"aten::{n}", f"aten::{n}_"):
            if not known(q):
                continue
            low = 0.1 if n in ("lgamma", "digamma") else -2.0
            case(q, rand((3, 2), f4, low), strides=True)
            case(q, rand((3,), f8, low, 0.9), strides=True)
            case(q, rand((4,), f2, 0.1, 0.9))
            case(q, rand((4,), bf, 0.1, 0.9))
            case(q, rand((3,), i8, low))
            case(q, rand((2,), b1))
            if q.endswith("_"):
                case(q, rand((4, 5))[1:, ::2].t())
                case(q, rand((1, 3)).expand(2, 3))
                case(q, rand((2,), i4))
            else:
                if n not in ("lgamma", "digamma", "erfinv", "logit", "gelu"):
                    case(q, m.SPECIAL)
                case(q, rand((), f4, low))
                case(q, rand((0, 3), f4))
                case(q, rand((2, 3, 2), f4, 0.1, 0.9).permute(2, 0, 1),
                     strides=True)
                case(q, rand((3,), u1))
    case("aten::round.decimals", rand((5,)), decimals=1)
    case("aten::round.decimals", rand((5,), f8) * 1000, decimals=-2)
    case("aten::round_.decimals", rand((5,)), decimals=2)
    case("aten::logit", torch.tensor([0.0, 0.2, 1.0]), 0.1)
    case("aten::nan_to_num", m.SPECIAL, 1.0, 2.0, 3.0)
    case("aten::nan_to_num", m.SPECIAL.half())
    case("aten::nan_to_num", m.SPECIAL.to(bf))
    x = torch.linspace(-5, 5, 11)
    for args in ((0.0, 6.0), (-2, 2), (1.5, 3)):
        case("aten::hardtanh", x, *args)
        case("aten::hardtanh", rand((4,), i8), *args)
        case("aten::threshold", x, *args)
        case("aten::threshold_", x, *args)
        case("aten::threshold", rand((4,), i8), *args)
    case("aten::hardtanh", rand((4,), u1), -1, 1)
    for name, args in (("elu", (0.5, 1.1, 0.9)), ("leaky_relu", (0.2,)),
                       ("softplus", (2, 3)), ("hardshrink", (1.0,)),
                       ("softshrink", (1.0,)), ("softshrink", (-1.0,)),
                       ("celu", (2.0,)), ("celu", (0.0,))):
        case(f"aten::{name}", x, *args)
    case("aten::gelu", x, approximate="tanh")
    case("aten::gelu", x, approximate="what")
    case("aten::gelu", x.half())
    case("aten::prelu", rand((2, 3, 2)), rand((3,)))
    case("aten::prelu", rand((2, 3)), rand((1,)))
    case("aten::prelu", rand((2, 3)), rand((2,)))
    case("aten::prelu", rand((3,)), rand(()))
    case("aten::prelu", rand((3,), f8), rand((1,)))
    case("aten::glu", rand((2, 4)), 1)
    case("aten::glu", rand((2, 4)), -2)
    case("aten::glu", rand((2, 3)), 1)
    for n in ("dropout", "feature_dropout", "alpha_dropout",
              "feature_alpha_dropout"):
        for q in (f"aten::{n}", f"aten::{n}_"):
            case(q, rand((2, 3)), 0.5, False)
            case(q, rand((2, 3)), 1.5, False)
            case(q, rand((2, 3)), 0.0, True)
    for q in ("aten::rrelu", "aten::rrelu_"):
        case(q, x, 0.125, 0.333, False)

    # binary: dtype pairs, broadcasting, numbers
    dtypes = [f4, f8, f2, bf, i8, i4, u1, b1]
    wide = ("add", "mul", "div", "sub", "eq", "maximum", "pow", "remainder")
    for n in BINARY:
        for q in (f"aten::{n}.Tensor", f"aten::{n}_.Tensor", f"aten::{n}",
                  f"aten::{n}_"):
            if not known(q) or ("." not in q and known(q + ".Tensor")):
                continue
            inplace = q.split(".")[0].endswith("_") and not q.endswith("__")
            pairs = [(a, b) for a in dtypes for b in dtypes
                     if n in wide or a == b or (a, b) in ((f4, i8), (i8, f4),
                                                          (b1, i8), (f2, f4))]
            for a, b in pairs:
                x, y = rand((3,), a), rand((3,), b)
                if n in ("div", "remainder", "fmod", "floor_divide", "divide",
                         "true_divide") or "shift" in n:
                    y = y.abs() if b not in (b1,) else y
                    y = torch.where(y == 0, torch.ones_like(y), y)
                case(q, x, y)
            case(q, rand((2, 3)), rand((3,)), strides=True)
            case(q, rand((2, 1)), rand((1, 3)))
            case(q, rand((2, 3)), rand(()))
            case(q, rand(()), rand((2,), f8))
            case(q, rand((3,), f4), rand((), f8))
            case(q, rand((3,), i8, 1, 2), rand((), f8, 1, 2))
            case(q, rand((3,), f2), rand((), f4))
            case(q, rand((2, 3)), rand((2,)))
            case(q, rand((0,)), rand((1,)))
            case(q, rand((2, 3)).t(), rand((2, 3)).t(), strides=True)
            case(q, rand((2, 3, 4)).transpose(1, 2), rand((4, 1)),
                 strides=True)
            if n in ("add", "mul", "maximum", "eq", "fmax", "lt", "div",
                     "minimum", "fmin", "ne", "remainder", "fmod"):
                case(q, m.SPECIAL, m.SPECIAL.flip(0))
            if inplace:
                case(q, m.strided(), rand((2,)))
                case(q, rand((1, 3)).expand(2, 3), rand((2, 3)))
        for q in (f"aten::{n}.Scalar", f"aten::{n}_.Scalar"):
            if not known(q):
                continue
            for a in dtypes:
                for s in (2, 1.5, True):
                    case(q, rand((3,), a), s)
            case(q, rand(()), 3)
            case(q, rand((), i8), 2.5)
            case(q, rand((2,), i8), 0)
            case(q, rand((2, 3)).t(), 2, strides=True)
    for q in ("aten::add.Tensor", "aten::sub.Tensor", "aten::rsub.Tensor"):
        case(q, rand((3,)), rand((3,)), alpha=0.5)
        case(q, rand((3,), i8), rand((3,), i8), alpha=3)
        case(q, rand((3,), i8), rand((3,), i8), alpha=0.5)
    for q in ("aten::add.Scalar", "aten::sub.Scalar", "aten::rsub.Scalar"):
        case(q, rand((3,)), 2.0, 3)
    q7 = torch.tensor([7, -7, 6, -6, 0])
    for mode in (None, "trunc", "floor", "round"):
        for n in ("div", "divide"):
            for suffix in ("", "_"):
                case(f"aten::{n}{suffix}.Tensor_mode", rand((4,)) * 5,
                     rand((4,), f4, 0.1), rounding_mode=mode)
                case(f"aten::{n}{suffix}.Scalar_mode", rand((4,)) * 5, 0.3,
                     rounding_mode=mode)
                case(f"aten::{n}{suffix}.Tensor_mode", q7,
                     torch.tensor([2, 2, -2, 4, 3]), rounding_mode=mode)
                case(f"aten::{n}{suffix}.Scalar_mode", q7, -2,
                     rounding_mode=mode)
                case(f"aten::{n}{suffix}.Tensor_mode", q7, torch.zeros(5, dtype=i8),
                     rounding_mode=mode)
    case("aten::floor_divide", torch.tensor([1.0, -1.0, 0.0, float("inf")]),
         torch.tensor([0.0, 0.0, 0.0, 2.0]))
    case("aten::remainder.Tensor", torch.tensor([5.0, -5.0, 5.5]),
         torch.tensor([3.0, 3.0, -3.0]))
    case("aten::remainder.Tensor", q7, torch.tensor([3, 3, -4, 4, 5]))
    case("aten::fmod.Tensor", q7, torch.tensor([3, 3, -4, 4, 5]))
    case("aten::remainder.Scalar_Tensor", 7, torch.tensor([3, -4]))
    for s in (2, 3, -1, 0.5, -0.5, 0, 2.0):
        for a in (f4, f8, f2, i8, i4):
            case("aten::pow.Tensor_Scalar", rand((4,), a, 0.5), s)
            case("aten::pow_.Scalar", rand((4,), a, 0.5), s)
        case("aten::pow.Scalar", s, rand((3,), f4, 0.5))
        case("aten::pow.Scalar", s, rand((3,), i8, 0, 1))
    for a in (f4, i8):
        for b in (f4, i8, f8):
            case("aten::pow.Tensor_Tensor", rand((4,), a), rand((4,), b))
            case("aten::pow_.Tensor", rand((4,), a), rand((4,), b))
    for n in ("max.other", "min.other"):
        for a in (f4, i8, b1):
            case(f"aten::{n}", rand((2, 3), a), rand((3,), a))
        case(f"aten::{n}", m.SPECIAL, m.SPECIAL.flip(0))
        case(f"aten::{n}", rand((2,)), rand((2,), i8))
    case("aten::xlogy.Tensor", rand((3,)), rand((3,), f4, 0.1))
    case("aten::xlogy.Scalar_Self", 2, rand((3,), f4, 0.1))
    case("aten::xlogy.Scalar_Other", rand((3,)), 2.5)
    case("aten::xlogy_.Tensor", rand((3,)), rand((3,), f4, 0.1))
    for n in ("bitwise_left_shift", "bitwise_right_shift"):
        case(f"aten::{n}.Tensor_Scalar", rand((3,), i8), 2)
        case(f"aten::{n}_.Tensor_Scalar", rand((3,), i4), 1)
    for q in ("aten::addcmul", "aten::addcmul_"):
        case(q, rand((2, 3)), rand((3,)), rand((2, 1)), value=0.5)
        case(q, rand((3,), i8), rand((3,), i8), rand((3,), i8), value=2)
    for q in ("aten::addcdiv", "aten::addcdiv_"):
        case(q, rand((2, 3)), rand((3,)), rand((2, 1), f4, 0.5), value=2)
        case(q, rand((3,), i8), rand((3,), i8), rand((3,), i8, 1))
    for q in ("aten::lerp.Scalar", "aten::lerp_.Scalar"):
        case(q, rand((3,)), rand((3,)), 0.3)
        case(q, rand((3,)), rand((3,)), 0.8)
        case(q, rand((3,)), rand((3,), f8), 0.8)
    for q in ("aten::lerp.Tensor", "aten::lerp_.Tensor"):
        case(q, rand((2, 3)), rand((3,)), rand((2, 1)))
    for n in ("clamp", "clip"):
        for s in ("", "_"):
            for bounds in ((-1, 1), (None, 0.5), (0, None), (2, -2),
                           (None, None)):
                for a in (f4, i8, f2, b1):
                    case(f"aten::{n}{s}", rand((4,), a), *bounds)
            case(f"aten::{n}{s}", m.SPECIAL, -1.0, 1.0)
            case(f"aten::{n}{s}.Tensor", rand((2, 3)), rand((3,)), rand(()))
            case(f"aten::{n}{s}.Tensor", rand((2, 3)), None, rand((3,)))
    for n in ("clamp_min", "clamp_max"):
        for s in ("", "_"):
            case(f"aten::{n}{s}", rand((4,)), 0.5)
            case(f"aten::{n}{s}", rand((4,), i8), 1)
            case(f"aten::{n}{s}.Tensor", rand((2, 3)), rand((3,)))
    x = rand((3,))
    case("aten::equal", x, x.clone())
    case("aten::equal", x, rand((3,)))
    case("aten::equal", x, rand((2,)))

    # conversions
    for a in dtypes:
        for b in dtypes:
            x = rand((3,), a, 0 if b == u1 else -2) * (1 if a == b1 else 1)
            case("aten::to.dtype", x, b)
            case("aten::copy_", rand((2, 3), b), x)
    cl = rand((2, 3, 2, 2)).to(memory_format=torch.channels_last)
    views = [rand((2, 3)), rand((2, 3)).t(), rand((4, 4))[::2, 1:], cl,
             rand((1, 3)).expand(2, 3), rand(())]
    for v in views:
        case("aten::contiguous", v, strides=True)
        case("aten::clone", v, strides=True)
        case("aten::clone", v, memory_format=torch.contiguous_format,
             strides=True)
        case("aten::to.dtype", v, f4, strides=True)
        case("aten::to.dtype", v, f8, strides=True)
        case("aten::to.dtype", v, f4, False, True, strides=True)
        case("aten::zeros_like", v, strides=True)
        for q in ("detach_copy", "alias_copy", "lift_fresh_copy"):
            case(f"aten::{q}", v)
        case("aten::detach", v, strides=True)
        case("aten::alias", v, strides=True)
    case("aten::detach_", rand((2,)))
    case("aten::contiguous", rand((2, 3, 2, 2)),
         memory_format=torch.channels_last, strides=True)
    case("aten::contiguous", rand((2, 3)), memory_format=torch.channels_last)
    case("aten::clone", rand((2, 3, 2, 2)), memory_format=torch.channels_last,
         strides=True)
    x = rand((2, 2))
    cpu = torch.device("cpu")
    case("aten::to.dtype_layout", x, dtype=f8)
    case("aten::to.dtype_layout", x, dtype=f4, layout=torch.strided, device=cpu)
    case("aten::to.device", x, cpu, f2)
    case("aten::to.other", x, rand((1,), i8))
    case("aten::to.prim_Device", x, cpu, 7)
    case("aten::to.prim_dtype", x, 4)
    case("aten::to.prim_other", x)
    case("aten::type_as", x, rand((1,), f8))
    case("aten::type_as", x, rand((1,), b1))
    for n in "Byte Char Short Int Long Half Float Double".split():
        case(f"aten::_cast_{n}", torch.tensor([1.5, 2.0, 0.0]))
    case("aten::cpu", x)
    case("aten::copy_", rand((2, 3)), rand((3,)))
    case("aten::copy_", m.strided(), rand((2, 1)))
    case("aten::copy_", rand((2, 3)), rand((2,)))
    case("aten::copy_.Tensor", rand((2, 3)), rand((3,)))
    case("aten::copy_.int", rand((2, 3)), 3)
    case("aten::copy_.float", rand((2, 3), i8), 3.7)
    case("aten::copy", rand((2, 3), i8), rand((3,)))
