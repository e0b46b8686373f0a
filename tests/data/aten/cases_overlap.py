# SPDX-License-Identifier: Apache-2.0
"""Windows that are folded with all kinds of strides, and distances between many
rows, which converters make of several other layers."""
import torch

MOST = 200
BYTES = 150000


def folds(m):
    case, rand = m.case, m.rand

    def fold(size, kernel, dilation, padding, stride, dtype=m.f4, maps=1,
             change=None):
        count = 1
        for s, k, d, p, t in zip(size, kernel, dilation, padding, stride):
            count *= (s + 2 * p - d * (k - 1) - 1) // t + 1
        x = rand((2, maps * kernel[0] * kernel[1], count), dtype)
        case("aten::col2im", change(x) if change else x, size, kernel, dilation,
             padding, stride)

    for d in (m.f4, m.f8, m.f2, m.bf, m.b1):
        fold([5, 7], [3, 3], [1, 1], [1, 1], [1, 1], d, 2)
        fold([6, 8], [2, 4], [1, 1], [0, 0], [2, 4], d)
        fold([7, 9], [4, 4], [1, 1], [1, 2], [2, 2], d)
    fold([7, 9], [3, 5], [1, 1], [0, 2], [2, 2])  # taps past the last stride
    fold([9, 9], [3, 3], [2, 3], [0, 1], [1, 1])
    fold([9, 11], [3, 2], [2, 3], [1, 1], [2, 3])  # both
    fold([10, 10], [2, 2], [7, 5], [0, 0], [1, 1])  # farther than windows reach
    fold([7, 10], [2, 3], [1, 1], [0, 0], [4, 5])  # gaps
    fold([11, 1], [9, 1], [1, 1], [0, 0], [1, 1])  # more taps than windows
    fold([12, 5], [10, 9], [1, 1], [0, 3], [1, 1])
    fold([24, 3], [9, 2], [1, 1], [0, 0], [1, 1])
    fold([4, 6], [4, 6], [1, 1], [0, 0], [1, 1])  # one window
    fold([5, 5], [3, 1], [2, 4], [0, 0], [1, 3])
    fold([3, 3], [1, 1], [1, 1], [1, 2], [1, 1])
    fold([3, 3], [1, 1], [1, 1], [1, 1], [3, 2])
    fold([20, 1], [3, 1], [1, 1], [2, 3], [2, 7])  # one tap in one window
    fold([1, 6], [1, 1], [1, 1], [0, 0], [1, 9])

    def spoil(x):
        x[0, 0, 0], x[0, 3, 3], x[1, 1, 2] = m.NAN, m.INF, -m.INF
        return x
    fold([5, 5], [3, 3], [1, 1], [1, 1], [1, 1], change=spoil)
    fold([6, 6], [2, 2], [1, 1], [0, 0], [2, 2], change=spoil)
    fold([5, 5], [3, 3], [1, 1], [1, 1], [1, 1], change=lambda x: x[0])
    fold([5, 5], [3, 3], [1, 1], [1, 1], [1, 1], change=lambda x: x[:0])
    fold([5, 5], [3, 3], [1, 1], [1, 1], [1, 1], change=lambda x: x[:, :-1])


def distances(m):
    case, rand = m.case, m.rand
    for d in (m.f4, m.f8):
        for p in (0.0, 1.0, 2.0, 2.5, m.INF):
            case("aten::cdist", rand((2, 5, 4), d), rand((2, 6, 4), d), p)
            case("aten::cdist", rand((3, 9), d), rand((2, 4, 9), d), p)
        for mode in (None, 0, 1, 2):
            case("aten::cdist", rand((26, 3), d), rand((4, 3), d), 2.0, mode)
            case("aten::cdist", rand((3, 12), d), rand((2, 12), d), 2.0, mode)
    x = rand((2, 30, 5))
    case("aten::cdist", x, rand((30, 5)))
    case("aten::cdist", rand((3, 1, 30, 4)), rand((2, 7, 4)))
    for p in (1.0, 2.0, m.INF):
        for mode in (1, 2):
            case("aten::cdist", rand((2, 0)), rand((3, 0)), p, mode)
            case("aten::cdist", rand((0, 2)), rand((3, 2)), p, mode)
            case("aten::cdist", rand((1, 1)), rand((1, 1)), p, mode)
    for p in (1.0, 2.0):
        y = rand((4, 3))
        y[0, 1], y[2, 0] = m.NAN, m.INF
        case("aten::cdist", y, rand((2, 3)), p, 2)
        case("aten::_cdist_forward", rand((3, 2)), y[:, :2], p, 2)


def add(m):
    folds(m)
    distances(m)
