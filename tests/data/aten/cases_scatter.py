# SPDX-License-Identifier: Apache-2.0
"""Writes to indexed places in all forms, fake_quantize, and products of
groups."""
import torch
import transformers.integrations.moe  # noqa: F401  registers its ops

MOST = 150
BYTES = 20000


def add(m):
    scatters(m)
    index_writes(m)
    puts(m)
    fake_quantize(m)
    grouped_mm(m)


def scatters(m):
    case, rand = m.case, m.rand
    index = torch.tensor([[3, 0, 3], [1, 1, 2]])
    for dtype in (m.f4, m.f8, m.f2, torch.bfloat16, m.i8, torch.int32,
                  torch.int16, torch.uint8, m.b1):
        x, u = rand((2, 4), dtype), rand((2, 3), dtype)
        case("aten::scatter.src", x, 1, index[:, :2], u)
        case("aten::scatter_add", x, 1, index, u)
        case("aten::scatter_add", x, -1, index[:1], u)
        for reduce in ("sum", "prod", "amax", "amin", "mean"):
            for own in (True, False):
                case("aten::scatter_reduce.two", x, 1, index, u, reduce,
                     include_self=own)
                case("aten::index_reduce", rand((2, 4), dtype), 1,
                     torch.tensor([3, 0, 3]), u, reduce, include_self=own)
    case("aten::index_reduce_", rand((4, 2)), 0, torch.tensor([3, 0, 3]),
         rand((3, 2)), "amax")
    x = rand((3, 2, 4))
    at = torch.tensor([[[2, 0], [1, 1]]])
    for dim in (0, 1, 2, -1):
        small = at % x.shape[dim]
        case("aten::scatter.value", x, dim, small, 2.5)
        case("aten::scatter.src", x, dim, small, rand((2, 3, 3)))
        case("aten::scatter.reduce", x, dim, small, rand((2, 3, 3)),
             reduce="add")
        case("aten::scatter.value_reduce", x, dim, small, 3.0,
             reduce="multiply")
    case("aten::scatter.value", rand((3,), m.i8), 0, torch.tensor([0, 2]), 7)
    case("aten::scatter.src", rand(()), 0, torch.tensor(0), rand(()))
    case("aten::scatter.src", rand((3,)), 0, torch.zeros(0, dtype=m.i8),
         rand((0,)))
    case("aten::scatter_add", torch.tensor([m.NAN, 1.0, m.INF]), 0,
         torch.tensor([0, 1, 2, 2]), torch.tensor([1.0, m.NAN, 1.0, -m.INF]))
    for reduce in ("amax", "amin"):
        for own in (True, False):
            case("aten::scatter_reduce.two",
                 torch.tensor([m.NAN, 1.0, 2.0, 3.0]), 0,
                 torch.tensor([0, 1, 2, 2]),
                 torch.tensor([1.0, m.NAN, -m.INF, m.INF]), reduce,
                 include_self=own)


def index_writes(m):
    case, rand = m.case, m.rand
    x = rand((3, 2, 4))
    for dim in (0, 1, 2, -1, -3):
        n = x.shape[dim]
        shape = list(x.shape)
        shape[dim] = n + 1 if n > 2 else n
        at = torch.arange(shape[dim]).flip(0) % n
        case("aten::index_add", x, dim, at, rand(tuple(shape)))
        case("aten::index_add", x, dim, at, rand(tuple(shape)), alpha=-2)
        shape[dim] = n
        order = torch.randperm(n)
        case("aten::index_copy", x, dim, order, rand(tuple(shape)))
        case("aten::index_fill.int_Scalar", x, dim, order[:1], 0.5)
        case("aten::index_fill.int_Scalar", x, dim, order[:1] - n, 0.5)
        case("aten::index_fill.int_Tensor", x, dim, order[:2], rand(()))
    for dtype in (m.f2, m.f8, m.i8, torch.int32, torch.uint8, m.b1):
        y = rand((4, 2), dtype)
        at = torch.tensor([2, 0, 2])
        case("aten::index_add", y, 0, at, rand((3, 2), dtype))
        case("aten::index_copy", y, 0, at[:2], rand((2, 2), dtype))
        case("aten::index_fill.int_Scalar", y, 0, at, 1)
    case("aten::index_add", rand((4,)), 0, torch.tensor([1, 1],
         dtype=torch.int32), rand((2,)))
    case("aten::index_add", rand(()), 0, torch.tensor([0]), rand((1,)))
    case("aten::index_copy", rand((3, 2)), 0, torch.tensor(1), rand((1, 2)))
    case("aten::index_add", rand((3, 2)), 0, torch.zeros(0, dtype=m.i8),
         rand((0, 2)))
    case("aten::index_fill.int_Tensor", rand(()), 0, torch.tensor([0, -1, 0]),
         rand(()))
    case("aten::index_fill.int_Scalar", rand((), m.i8), 0,
         torch.tensor([0, 0]), 7)


def puts(m):
    case, rand = m.case, m.rand
    x = rand((3, 2, 4))
    a, b, c = (torch.tensor([2, -3, 2]), torch.tensor([[1], [-1]]),
               torch.tensor([0, 3, 1]))
    mask = torch.tensor([True, False, True])
    deep = torch.tensor([[True, False], [False, False], [True, True]])
    forms = [[a], [None, b], [a, b], [a, None, c], [None, b, c], [a, b, c],
             [None, None, c], [mask], [deep], [None, mask[:2]],
             [mask, None, c[:2]], [deep, c], [mask, torch.tensor([0, 1])],
             [torch.tensor(1)], [torch.tensor(1), None, torch.tensor(-1)],
             [torch.zeros(0, dtype=m.i8)], [a.to(torch.int32)],
             [mask.to(torch.uint8)], [None, None]]
    for indices in forms:
        got = x[tuple(slice(None) if i is None else i for i in indices)]
        case("aten::index.Tensor", x, indices)
        for accumulate in (False, True):
            case("aten::index_put", x, indices, rand(()), accumulate)
            case("aten::index_put", x, indices, rand(tuple(got.shape)),
                 accumulate)
    for dtype in (m.f2, m.f8, m.i8, torch.int32, torch.uint8, m.b1):
        y = rand((4, 3), dtype)
        case("aten::index_put", y, [a], rand((3, 1), dtype))
        case("aten::index_put", y, [a], rand((3, 3), dtype), True)
        case("aten::index_put", y, [a, c % 3], rand((1,), dtype), True)
        case("aten::index.Tensor", y, [a, c % 3])
    case("aten::take", x, torch.tensor([[0, -1], [5, 23]]))
    for dtype in (m.f4, m.i8):
        y = rand((3, 2), dtype)
        case("aten::masked_scatter", y, deep, rand((6,), dtype))
        case("aten::masked_scatter", y, mask.view(3, 1), rand((5,), dtype))


def fake_quantize(m):
    case = m.case
    odd = torch.tensor([0.05, -0.05, 0.15, 0.25, -0.35, 12.0, -20.0, m.NAN,
                        m.INF, -m.INF, 0.0, 1e-9])
    for dtype in (m.f4, m.f8, m.f2, torch.bfloat16):
        x = odd.to(dtype)
        q = "aten::fake_quantize_per_tensor_affine"
        for zero, low, high in ((0, -128, 127), (3, -128, 127), (0, 0, 255),
                                (-8, -8, 7), (128, 0, 255)):
            case(q, x, 0.1, zero, low, high)
            case(q + ".tensor_qparams", x, torch.tensor(0.1),
                 torch.tensor(zero, dtype=torch.int32), low, high)
        y = x.view(2, 3, 2)
        q = "aten::fake_quantize_per_channel_affine"
        case(q, y, torch.tensor([0.1, 0.02, 1.5]),
             torch.tensor([0, 5, -3], dtype=torch.int32), 1, -8, 7)
    q = "aten::fake_quantize_per_tensor_affine"
    case(q, odd, 0.1, 9, -8, 7)
    case(q, odd, 0.1, 0, 8, 7)
    case(q, m.rand((3,), m.i8), 0.1, 0, -8, 7)
    case(q, m.rand(()), 0.5, 0, -8, 7)
    case(q, m.rand((0, 2)), 0.5, 0, -8, 7)
    q = "aten::fake_quantize_per_channel_affine"
    y = odd.view(4, 3)
    scale, zero = torch.tensor([0.1, 0.02, 1.5]), torch.tensor([0, 5, -3])
    case(q, y, scale, zero.to(torch.int32), 1, -8, 7)
    case(q, y, scale, torch.tensor([0.0, 1.5, 2.0]), 1, -8, 7)
    case(q, y.t(), scale, zero.to(torch.int32), 0, -8, 7)
    case(q, y, scale, zero, 1, -8, 7)
    case(q, y, scale[:2], zero[:2].to(torch.int32), 1, -8, 7)
    case(q, y, scale, zero.to(torch.int32), -1, -8, 7)
    case(q, y, scale, zero.to(torch.int32), 1, -2, 7)
    case(q, y, scale.to(m.f8), zero.to(torch.int32), 1, -8, 7)


def grouped_mm(m):
    q = "aten::_grouped_mm"
    for dtype in (torch.bfloat16, m.f4):
        ends = torch.tensor([2, 2, 6], dtype=torch.int32)
        m.case(q, m.rand((6, 8), dtype), m.rand((3, 8, 8), dtype), ends)
        m.case(q, m.rand((3, 4, 8), dtype), m.rand((8, 8), dtype),
               torch.tensor([3, 7, 8], dtype=torch.int32))
        m.case(q, m.rand((4, 8), dtype), m.rand((8, 16), dtype),
               torch.tensor([2, 6, 8], dtype=torch.int32))
        m.case(q, m.rand((3, 4, 8), dtype), m.rand((3, 8, 16), dtype))
    m.case(q, m.rand((6, 8)), m.rand((3, 8, 8)))
    m.case(q, m.rand((6, 8)), m.rand((3, 16, 8)),
           torch.tensor([2, 2, 6], dtype=torch.int32))
    q = "transformers::grouped_mm_fallback"
    for dtype in (torch.float16, m.f4, m.f8):
        for ends in ([2, 2, 6], [0, 1, 5]):
            for kind in (torch.int32, torch.int64):
                m.case(q, m.rand((6, 8), dtype), m.rand((3, 8, 4), dtype),
                       torch.tensor(ends, dtype=kind))
    m.case(q, m.rand((6, 8)), m.rand((3, 16, 8)), torch.tensor([2, 2, 6]))
    m.case(q, m.rand((6, 8)), m.rand((3, 8, 4), m.f8), torch.tensor([2, 2, 6]))
    # So many groups and rows that tiles of one row, and of several, are least
    # work; and ends that leave rows out.
    for ends in ([0] * 30 + [3, 3, 5] + [8] * 31, [1] * 50 + [7] * 14):
        m.case(q, m.rand((8, 2)), m.rand((64, 2, 3)), torch.tensor(ends))
    ends = [0, 40, 40, 41, 105] + [105 + 7 * i for i in range(27)]
    m.case(q, m.rand((300, 2)), m.rand((32, 2, 2)), torch.tensor(ends))
    ends = torch.tensor(ends[:-1] + [300], dtype=torch.int32)
    m.case(q, m.rand((300, 2), torch.bfloat16),
           m.rand((32, 2, 2), torch.bfloat16), ends)
