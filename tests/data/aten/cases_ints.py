# SPDX-License-Identifier: Apache-2.0
"""Integers and truth values in rows longer than vectors: edges of each dtype
against each other, quotients that are integers and almost, shifts out of range,
casts of floats that do not fit."""
import itertools


ARITHMETIC = "add.Tensor sub.Tensor mul.Tensor maximum minimum".split()
BITS = "bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor".split()
SHIFTS = "bitwise_left_shift.Tensor bitwise_right_shift.Tensor".split()
TESTS = "eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor".split()
DIVISIONS = "floor_divide remainder.Tensor fmod.Tensor".split()


def edges(m, dtype):
    info = m.torch.iinfo(dtype)
    wanted = [0, 1, 2, 3, 7, 63, 64, 100, info.max - 1, info.max,
              info.min, info.min + 1, -1, -2, -7, -64, 2**31, -2**31 - 1,
              2**50 - 1, 2**50, -2**50, 2**53 + 1]
    return [v for v in dict.fromkeys(wanted) if info.min <= v <= info.max]


def pairs(m, dtype, divisor=False):
    both = [(a, b) for a, b in list(itertools.product(edges(m, dtype), repeat=2))[::3]
            if not (divisor and b == 0)]
    if divisor:  # what the processor traps, PyTorch leaves undefined
        both = [(a, b) for a, b in both
                if not (b == -1 and a == m.torch.iinfo(dtype).min)]
    return (m.torch.tensor([a for a, _ in both], dtype=dtype),
            m.torch.tensor([b for _, b in both], dtype=dtype))


def add(m):
    case, torch = m.case, m.torch
    for d in (m.u1, m.i1, m.i2, m.i4, m.i8):
        a, b = pairs(m, d)
        for op in ARITHMETIC + BITS + SHIFTS + TESTS:
            case("aten::" + op, a, b)
        x, y = pairs(m, d, divisor=True)
        for op in DIVISIONS:
            case("aten::" + op, x, y)
        case("aten::div.Tensor_mode", x, y, rounding_mode="trunc")
        case("aten::div.Tensor_mode", x, y, rounding_mode="floor")
        # Quotients that are integers, or one more or less.
        y = torch.randint(1, 11, (77,)) * torch.tensor([1, -1, 1]).repeat(26)[:77]
        x = y * torch.randint(0, 9, (77,)) + torch.randint(-1, 2, (77,))
        for op in DIVISIONS:
            case("aten::" + op, x.to(d), (y.abs() if d == m.u1 else y).to(d))
        case("aten::where.self", a > b, a, b)
        case("aten::logical_and", a, b)
        case("aten::logical_not", a)
        case("aten::neg", a)
        case("aten::abs", a)
        case("aten::bitwise_not", a)
        for to in (m.b1, m.f4, m.f8, m.i8, m.i4, m.i1, m.f2):
            case("aten::to.dtype", a, to)
        wide = torch.arange(91).reshape(7, 13).to(d)
        case("aten::add.Tensor", wide, wide[:, 3:4], alpha=3)
        case("aten::mul.Tensor", wide.t(), wide[2, :7])
    p, q = (torch.rand(101) < 0.5), (torch.rand(101) < 0.5)
    for op in ("add.Tensor", "mul.Tensor", "maximum", "minimum", "logical_xor",
               *BITS, *TESTS):
        case("aten::" + op, p, q)
    case("aten::where.self", p, q, ~q)
    case("aten::bitwise_not", p)
    for to in (m.i8, m.f4, m.f8, m.u1, m.f2):
        case("aten::to.dtype", p, to)
    x = torch.tensor([0.0, -0.0, 0.5, -0.5, 1.9, -1.9, 127.5, -127.5, 200.0,
                      -2.5, 300.0, -300.0, 70000.0, 1e9]).repeat(9)
    for to in (m.i8, m.i4, m.b1):
        case("aten::to.dtype", x, to)
    case("aten::one_hot", torch.arange(40) % 19, 19)
