# SPDX-License-Identifier: Apache-2.0
"""Random ops with a seed: results agree bit for bit, and so does the number of
draws. PyTorch must not take its bernoulli and exponential numbers from MKL,
which it does on Intel CPUs: make this part on another one."""
import torch

MOST, BYTES = 40, 6000


def floats(m):
    return (m.f4, m.f8, m.f2, m.bf)


def every(m):
    return (m.u1, m.i1, m.i2, m.i4, m.i8, m.b1) + floats(m)


def distributions(m):
    case, rand = m.case, m.rand
    ops = {
        "uniform": ((), (-1.5, 2.25), (0.1, 0.3), (2.0, 1.0), (3.0, 3.0)),
        "normal": ((), (0.7, 2.5), (-3.1, 0.0), (0.0, -1.0)),
        "exponential": ((), (1.5,), (0.0,), (-1.0,)),
        "cauchy": ((), (0.3, 1.7), (0.0, 0.0)),
        "log_normal": ((), (0.3, 0.7), (0.0, 0.0)),
        "geometric": ((0.3,), (0.99,), (0.0,), (1.0,)),
    }
    for op, bounds in ops.items():
        for d in floats(m):
            for k, a in enumerate(bounds):
                for n in ((5,), (16,), (3, 7), (0,), ()):
                    if k > 1 and n != (5,):
                        continue
                    t = rand(n, d)
                    case(f"aten::{op}_", t, *a, seed=len(n) + k)
                    plain = "normal_functional" if op == "normal" else op
                    case(f"aten::{plain}", t, *a, seed=k, strides=True)
            for t in (rand((4, 5), d).t(), rand((6, 8), d)[::2, 1:6],
                      rand((2, 3, 4), d).permute(1, 2, 0),
                      rand((1, 3), d).expand(4, 3)):
                case(f"aten::{op}_", t, *bounds[0], seed=11)
        for d in (m.i8, m.u1, m.b1):
            case(f"aten::{op}_", rand((4,), d), *bounds[0], seed=2)
    for op in ("_no_grad_uniform_", "_no_grad_normal_"):
        for n in ((3,), (20,)):
            case("aten::" + op, rand(n), 0.5, 1.5, seed=3)
            case("aten::" + op, rand(n, m.f8), 0.5, 1.5, seed=4)
    for n in range(15, 36):
        case("aten::normal_", rand((n,)), seed=n)
    for seed in (-1, 1 << 32, (1 << 63) - 1, 12345678901):
        case("aten::uniform_", rand((3,)), seed=seed)
    case("aten::normal_", rand((700,)), seed=6)
    case("aten::uniform_", rand((400,), m.f8), seed=6)


def bernoulli(m):
    case, rand = m.case, m.rand
    for d in every(m):
        for p in (0.3, 0.0, 1.0, -0.1, 1.1):
            case("aten::bernoulli_.float", rand((3, 6), d), p, seed=1)
            case("aten::bernoulli.p", rand((6, 3), d).t(), p, seed=2,
                 strides=True)
        for q in floats(m):
            p = torch.rand((3, 4)).to(q)
            case("aten::bernoulli_.Tensor", rand((3, 4), d), p, seed=3)
            case("aten::bernoulli.Tensor", rand((3, 4), d), p[0], seed=4)
        case("aten::bernoulli_.Tensor", rand((3, 4), d), rand((4,), m.i8),
             seed=5)
        case("aten::bernoulli", torch.rand((3, 4)).to(d), seed=6)
    case("aten::bernoulli", torch.tensor([0.5, 1.5]), seed=1)
    case("aten::bernoulli", torch.tensor([0.5, m.NAN]), seed=1)
    case("aten::bernoulli", torch.rand((5, 4)).t(), seed=1, strides=True)
    case("aten::bernoulli", torch.rand(()), seed=1)
    case("aten::bernoulli", torch.rand((0, 2)), seed=1)
    case("aten::bernoulli_.Tensor", rand((4,)), torch.rand((3, 4)), seed=1)


def integers(m):
    case, rand = m.case, m.rand
    for op in ("random_", "random"):
        for d in every(m):
            case("aten::" + op, rand((7,), d), seed=1)
            case("aten::" + op, rand((3, 4), d).t(), seed=2)
            for to in (1, 2, 17, 127, 300, 1 << 20, 1 << 28, 1 << 40, 0, -3):
                case(f"aten::{op}.to", rand((3,), d), to, seed=3)
            for a in ((-5, 5), (3, 3), (0, 2), (-100, 1 << 33), (5, None),
                      (-7, None), (-(1 << 63), None), (1 << 30, (1 << 30) + 5),
                      (1 << 60, (1 << 60) + 1000), (200, 256), (-2, 0)):
                case(f"aten::{op}.from", rand((3,), d), *a, seed=4)
        case("aten::" + op, rand((0,)), seed=1)
        case("aten::" + op, rand(()), seed=1)
    for d in (None,) + every(m):
        case("aten::randint", 100, [2, 3], dtype=d or m.i8, seed=1)
        case("aten::randint", 2, [3], dtype=d or m.i8, seed=1)
        case("aten::randint.low", -4, 9, [5], dtype=d or m.i8, seed=2)
        case("aten::randint.generator", 50, [3], generator=None,
             dtype=d or m.i8, seed=3)
        case("aten::randint.low_generator", 5, 50, [3], generator=None,
             dtype=d or m.i8, seed=4)
    case("aten::randint", 0, [2], seed=1)
    case("aten::randint", 1 << 40, [3], seed=1)
    case("aten::randint.low", 5, 5, [3], seed=1)
    case("aten::randint.low", 0, 5, [], seed=1)
    case("aten::randint.low", 0, 5, [0, 3], seed=1)
    for d in every(m):
        for n in (0, 1, 2, 9, 130, 300):
            case("aten::randperm", n, dtype=d, seed=n)
            case("aten::randperm.generator", n, generator=None, dtype=d, seed=1)
    case("aten::randperm", 7, seed=7)
    case("aten::randperm", -1, seed=7)


def creation(m):
    case, rand = m.case, m.rand
    for op in ("rand", "randn"):
        for d in (None, m.i8) + floats(m):
            for n in ([3], [2, 9], [], [0, 4], [-1]):
                case(f"aten::{op}", n, dtype=d, seed=1)
                case(f"aten::{op}.generator", n, generator=None, dtype=d,
                     seed=2)
            for t in (rand((2, 3)), rand((5, 4), m.f8).t(), rand((3,), m.i8),
                      rand((6, 8))[::2], rand((2, 3, 4)).permute(2, 0, 1)):
                case(f"aten::{op}_like", t, dtype=d, seed=3, strides=True)
                case(f"aten::{op}_like.generator", t, generator=None, dtype=d,
                     seed=4, strides=True)
            case(f"aten::{op}_like", rand((4, 3)).t(), dtype=d, seed=5,
                 memory_format=torch.contiguous_format, strides=True)
    for d in (None,) + every(m):
        for t in (rand((2, 3)), rand((4, 3), m.i8).t()):
            case("aten::randint_like", t, 9, dtype=d, seed=1, strides=True)
            case("aten::randint_like.low_dtype", t, 3, 9, dtype=d, seed=2)
            case("aten::randint_like.Tensor", t, torch.tensor(11), dtype=d,
                 seed=3)
            case("aten::randint_like.generator", t, 9, generator=None, dtype=d,
                 seed=4)
            case("aten::randint_like.low_generator_dtype", t, 2, 9,
                 generator=None, dtype=d, seed=5)
            case("aten::randint_like.Tensor_generator", t, torch.tensor(11),
                 generator=None, dtype=d, seed=6)
    for d in floats(m):
        mean, std = rand((3, 4), d), rand((3, 4), d).abs()
        case("aten::normal.Tensor_float", mean, 1.5, seed=1)
        case("aten::normal.Tensor_float", rand((20,), d), 0.5, seed=2)
        case("aten::normal.Tensor_float", mean.t(), 1.5, seed=1)
        case("aten::normal.float_Tensor", 0.7, std, seed=3)
        case("aten::normal.float_Tensor", 0.7, rand((20,), d).abs(), seed=3)
        case("aten::normal.Tensor_Tensor", mean, std, seed=4)
        case("aten::normal.Tensor_Tensor", mean, std[0], seed=5)
        case("aten::normal.Tensor_Tensor", mean, -std, seed=5)
        case("aten::normal.float_float", 0.5, 2.0, [3, 6], dtype=d, seed=6)
    case("aten::normal.Tensor_float", rand((3,)), -1.0, seed=1)
    case("aten::normal.float_float", 0.5, 2.0, [3], seed=6)
    case("aten::normal.float_float", 0.5, -2.0, [3], seed=6)


def sampling(m):
    case = m.case
    for d in floats(m):
        for n in ((5,), (3, 7)):
            p = torch.rand(n).to(d)
            for k, r in ((1, False), (3, False), (5, False), (1, True),
                         (4, True), (9, True), (9, False), (0, True)):
                case("aten::multinomial", p, k, r, seed=k)
    zero = torch.tensor([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])
    for r in (False, True):
        case("aten::multinomial", zero, 2, r, seed=1)
        case("aten::multinomial", zero[1], 2, r, seed=1)
        case("aten::multinomial", torch.zeros(3), 2, r, seed=1)
        case("aten::multinomial", torch.tensor([0.5, -1.0, 1.0]), 2, r, seed=1)
        case("aten::multinomial", torch.tensor([0.5, m.NAN, 1.0]), 2, r, seed=1)
        case("aten::multinomial", torch.tensor([0.5, m.INF, 1.0]), 2, r, seed=1)
    case("aten::multinomial", torch.rand((2, 2, 2)), 1, seed=1)
    case("aten::multinomial", torch.rand((4, 3)).t(), 2, True, seed=1)
    case("aten::multinomial", torch.ones(4, dtype=m.i8), 2, True, seed=1)


def dropout(m):
    case, rand = m.case, m.rand
    for op in ("dropout", "feature_dropout", "alpha_dropout",
               "feature_alpha_dropout"):
        for d in floats(m):
            for p in (0.0, 0.3, 0.75, 1.0, -0.1, 1.1):
                for n in ((4, 5), (2, 3, 4)):
                    case(f"aten::{op}", rand(n, d), p, True, seed=1)
                    case(f"aten::{op}_", rand(n, d), p, True, seed=2)
        case(f"aten::{op}", rand((4, 5)).t(), 0.5, True, seed=1, strides=True)
        case(f"aten::{op}", rand((4,)), 0.5, True, seed=1)
        case(f"aten::{op}", rand((0, 4)), 0.5, True, seed=1)
        case(f"aten::{op}", torch.tensor([[m.NAN, m.INF], [0.0, -1.0]]), 0.5,
             True, seed=1)
        case(f"aten::{op}", rand((4, 5)), 0.5, False)
        case(f"aten::{op}_", rand((4, 5)), 0.5, False)
    for d in floats(m):
        for p in (0.0, 0.3, 1.0):
            for train in (True, False, None):
                case("aten::native_dropout", rand((3, 5), d), p, train, seed=3)
    case("aten::native_dropout", rand((0, 5)), 0.5, True, seed=3)
    case("aten::native_dropout", rand((4, 5)).t(), 0.5, True, seed=3)
    case("aten::native_dropout", rand((4, 5)), 1.5, True, seed=3)


def leaky(m):
    case, rand = m.case, m.rand
    for d in floats(m) + (m.i8,):
        for n in ((3, 4), (), (0, 2)):
            case("aten::rrelu", rand(n, d), 0.1, 0.4, True, seed=1)
            case("aten::rrelu_", rand(n, d), 0.125, 0.333, True, seed=2)
    case("aten::rrelu", rand((3, 4)).t(), 0.1, 0.4, True, seed=3)
    case("aten::rrelu_", rand((3, 4)).t(), 0.1, 0.4, True, seed=3)
    case("aten::rrelu", torch.tensor([m.NAN, m.INF, -m.INF, -0.0]), 0.1, 0.4,
         True, seed=3)
    case("aten::rrelu", rand((3,)), 0.5, 0.4, True, seed=3)


def add(m):
    distributions(m)
    bernoulli(m)
    integers(m)
    creation(m)
    sampling(m)
    dropout(m)
    leaky(m)
