# SPDX-License-Identifier: Apache-2.0
"""Calls for converters that no other part reaches: every converter must have
taken a call (tests/conversion/op_suite_conversion_test.c)."""
import torch

MOST = 40
BYTES = 20000


def add(m):
    element_wise(m)
    create_and_copy(m)
    pooling(m)
    linear_algebra(m)
    rest(m)


def element_wise(m):
    case, rand = m.case, m.rand
    edge = torch.tensor([m.NAN, m.INF, -m.INF, 0.0, -1.5, 2.0])
    for name in ("arcsinh", "arccosh", "arctanh"):
        for tail in ("", "_"):
            case(f"aten::{name}{tail}", rand((2, 3)))
            case(f"aten::{name}{tail}", edge)
            case(f"aten::{name}{tail}", rand((), m.f8))
        case(f"aten::{name}", rand((3,), m.i8))
    for name in ("logaddexp", "logaddexp2"):
        case(f"aten::{name}", rand((2, 3)), rand((3,)))
        case(f"aten::{name}", edge, edge.flip(0))
        case(f"aten::{name}", edge, edge)
        case(f"aten::{name}", rand((2, 3), m.f8), rand((), m.f8))
    for name in ("special_xlogy", "heaviside"):
        case(f"aten::{name}", rand((2, 3)), rand((3,)))
        case(f"aten::{name}", edge, edge.flip(0))
        case(f"aten::{name}", torch.zeros(2, 2), rand((2, 2)))
    case("aten::special_xlogy", rand((2, 3), m.i8).abs(), rand((2, 3)).abs())
    case("aten::heaviside", rand((4,), m.i8), rand((4,), m.i8))
    p = torch.tensor([0.0, 0.1, 0.5, 0.9, 1.0, -0.5, 1.5])
    case("aten::special_logit", p)
    case("aten::special_logit", p, 0.2)
    case("aten::special_logit", rand((2, 2), m.f8).abs())
    case("aten::special_sinc", edge)
    case("aten::special_sinc", rand((2, 3), m.f8))
    case("aten::special_sinc", rand((3,), m.i8))
    for shape in ((2, 3), (2, 3, 4), (5,)):
        case("aten::_prelu_kernel", rand(shape),
             rand((1, 3) + (1,) * (len(shape) - 2) if len(shape) > 1 else (1,)))


def create_and_copy(m):
    case, rand = m.case, m.rand
    x = rand((2, 3))
    case("aten::_to_copy", x)
    for dtype in (m.f8, m.f2, m.i8, m.b1, m.bf):
        case("aten::_to_copy", x, dtype=dtype)
        case("aten::_to_copy", rand((3,), m.i8), dtype=dtype)
    # What is in new memory is not defined: tensors without elements.
    for dtype in (None, m.f8, m.i8):
        case("aten::empty_like", rand((0, 3)), dtype=dtype)
        case("aten::new_empty", x, [2, 0], dtype=dtype)
    case("aten::zero", x)
    case("aten::zero", rand((), m.i8))
    case("aten::split", rand((5, 2)), [2, 3])
    case("aten::split", rand((4, 5)), [1, 3, 1], 1)
    case("aten::split", rand((4, 5)), [1, 3, 1], -1)


def pooling(m):
    case, rand = m.case, m.rand
    for d in (1, 2, 3):
        x = rand((2, 3) + (5, 6, 4)[:d])
        case(f"aten::adaptive_max_pool{d}d", x, [2] * d)
        case(f"aten::adaptive_max_pool{d}d", x, [1] * d)
        case(f"aten::adaptive_max_pool{d}d", x[0], [3] * d)
    for d in (2, 3):
        x = rand((1, 2) + (4, 6, 4)[:d])
        pool = getattr(torch.nn.functional, f"max_pool{d}d")
        y, at = pool(x, 2, return_indices=True)
        size = list(x.shape[2:])
        extra = [] if d == 2 else [[2] * d, [0] * d]
        case(f"aten::max_unpool{d}d", y, at, size, *extra)
        case(f"aten::max_unpool{d}d", y[0], at[0], size, *extra)
    image, grid = rand((1, 2, 3, 4, 3)), rand((1, 2, 3, 2, 3), low=-1.3, high=1.3)
    for mode in (0, 1):
        for padding in (0, 1, 2):
            for corners in (False, True):
                case("aten::grid_sampler_3d", image, grid, mode, padding,
                     corners)
    case("aten::_pad_circular", rand((1, 2, 5)), [2, 1])
    case("aten::_pad_circular", rand((1, 2, 4, 5)), [1, 2, 0, 3])
    case("aten::_pad_circular", rand((1, 2, 3, 4, 5)), [1, 0, 2, 1, 1, 1])
    case("aten::native_channel_shuffle", rand((2, 6, 3, 2)), 3)
    case("aten::native_channel_shuffle", rand((1, 4, 5)), 2)


def linear_algebra(m):
    case, rand = m.case, m.rand
    a, b, c, d = rand((3, 4)), rand((4, 2)), rand((2, 5)), rand((5, 3))
    for name in ("chain_matmul", "linalg_multi_dot"):
        case(f"aten::{name}", [a, b])
        case(f"aten::{name}", [a, b, c])
        case(f"aten::{name}", [a, b, c, d])
    case("aten::linalg_multi_dot", [a[0], b, c[:, 0]])
    case("aten::cross", rand((2, 3)), rand((2, 3)))
    case("aten::cross", rand((3, 4)), rand((3, 4)), 0)
    case("aten::linalg_cross", rand((2, 3)), rand((1, 3)))
    case("aten::linalg_cross", rand((3, 4)), rand((3, 4)), dim=0)
    case("aten::linalg_cross", rand((2, 3), m.i8), rand((2, 3), m.i8))
    x = rand((2, 3, 4))
    case("aten::linalg_norm", x)
    for order in (0, 1, 2, 3, -1, m.INF, -m.INF, 2.5):
        case("aten::linalg_norm", x, order, [1])
        case("aten::linalg_norm", x, order, [-1], True)
    for order in (1, -1, m.INF, -m.INF):
        case("aten::linalg_norm", x, order, [0, 2])
    case("aten::linalg_norm", x, None, None, True)
    case("aten::linalg_norm", x, None, [0, 1], dtype=m.f8)
    for name in ("linalg_norm.ord_str", "linalg_matrix_norm.str_ord"):
        case(f"aten::{name}", x[0], "fro")
        case(f"aten::{name}", x, "fro", [0, 2])
        case(f"aten::{name}", x, "fro", [-2, -1], True)
    for p in (2.0, 1.0, 3.0, 0.5):
        case("aten::pairwise_distance", rand((4, 3)), rand((4, 3)), p)
        case("aten::pairwise_distance", rand((4, 3)), rand((3,)), p, 1e-3, True)


def rest(m):
    case, rand = m.case, m.rand
    table = rand((7, 3))
    at = torch.tensor([1, 0, 6, 6, 2, 5])
    starts = torch.tensor([0, 2, 3])
    for mode in (0, 1, 2):
        case("aten::embedding_bag", table, at, starts, mode=mode)
        for padding in (None, 6):
            case("aten::embedding_bag.padding_idx", table, at, starts, False,
                 mode, False, None, False, padding)
    case("aten::embedding_bag", table, at, starts, mode=0,
         per_sample_weights=rand((6,)))
    case("aten::embedding_bag", table, at, torch.tensor([0, 4, 6]), mode=0,
         include_last_offset=True)
