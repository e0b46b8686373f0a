#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the expectations of tests/conformance, with PyTorch as the oracle.

Usage: make_backend.py [folder of the fixtures, default: backend beside this]

element_wise.txt: one operation a line:
  binary CODE DTYPE A B OUT_DTYPE RESULT
  unary CODE DTYPE A OUT_DTYPE RESULT
  cast DTYPE A OUT_DTYPE RESULT
with the numbers of bessemer/network.h and types.h; values are integers, or
hexadecimal floats, inf and nan.

resize.txt, pooling.txt: one case a line, then its output:
  parameters..., values

wide_math.txt: functions of floats, all numbers by their bits:
  one X and sin, cos, tan, sinh, cosh, asin, acos, atan, asinh, acosh, atanh
  pair A B and atan2, pow, fmod, remainder, floor_divide, div(trunc)
The divisions are PyTorch's of float32, one at a time: its vectors make NaN of a
rest whose quotient is beyond float32. The others are of float64, rounded.
"""
import pathlib
import random
import struct
import sys

import torch
import torch.nn.functional as F

DTYPES = {
    torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3,
    torch.int64: 4, torch.half: 5, torch.float: 6, torch.double: 7,
    torch.bool: 11, torch.bfloat16: 15,
}
FLOATS = [torch.float, torch.double, torch.half, torch.bfloat16]
INTS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]

# bsm_element_wise_operation
BINARY = {
    0: torch.add, 1: torch.mul, 2: torch.maximum, 3: torch.minimum,
    4: torch.sub, 5: torch.div, 6: torch.pow,
    7: lambda a, b: torch.div(a, b, rounding_mode="floor"),
    8: torch.logical_and, 9: torch.logical_or, 10: torch.logical_xor,
    11: torch.eq, 12: torch.gt, 13: torch.lt, 14: torch.ne, 15: torch.ge,
    16: torch.le, 17: lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    18: torch.remainder, 19: torch.fmod, 20: torch.atan2,
    21: torch.bitwise_and, 22: torch.bitwise_or, 23: torch.bitwise_xor,
    24: torch.bitwise_left_shift, 25: torch.bitwise_right_shift,
}
# bsm_unary_operation
UNARY = {
    0: torch.exp, 1: torch.log, 2: torch.sqrt, 3: torch.reciprocal,
    4: torch.abs, 5: torch.neg, 6: torch.sin, 7: torch.cos, 8: torch.tan,
    9: torch.sinh, 10: torch.cosh, 11: torch.asin, 12: torch.acos,
    13: torch.atan, 14: torch.asinh, 15: torch.acosh, 16: torch.atanh,
    17: torch.ceil, 18: torch.floor, 19: torch.erf, 20: torch.logical_not,
    21: torch.sign, 22: torch.round, 23: torch.isinf, 24: torch.isnan,
    25: torch.trunc, 26: torch.rsqrt, 27: torch.log2, 28: torch.log10,
    29: torch.log1p, 30: torch.expm1, 31: torch.erfc, 32: torch.bitwise_not,
    33: torch.square, 34: torch.frac, 35: torch.exp2,
}


def text(t):
    v = t.item()
    if isinstance(v, bool):
        return str(int(v))
    if isinstance(v, int):
        return str(v)
    if v != v:
        return "nan"
    if v in (float("inf"), float("-inf")):
        return "inf" if v > 0 else "-inf"
    return v.hex()


def binary_lines():
    float_values = [0.0, -0.0, 1.0, -1.5, 2.25, -7.0, 3.0, 0.3, -0.3,
                    float("inf"), float("nan")]
    for dtype in FLOATS:
        values = torch.tensor(float_values).to(dtype)
        for code, fn in BINARY.items():
            if 21 <= code <= 25:
                continue
            for a in values:
                for b in values:
                    yield "binary", code, a, b, fn(a, b)
    for dtype in INTS + [torch.bool]:
        info = None if dtype == torch.bool else torch.iinfo(dtype)
        base = ([0, 1] if info is None else
                [0, 1, 2, 3, 7, info.max] if info.min == 0 else
                [0, 1, -1, 2, -3, 7, -7, info.min, info.max])
        values = torch.tensor(base, dtype=dtype)
        for code, fn in BINARY.items():
            if code in (5, 20):
                continue  # true division: the network casts first
            if dtype == torch.bool and code in (4, 6, 7, 17, 18, 19, 24, 25):
                continue
            for a in values:
                for b in values:
                    if code in (7, 17, 18, 19) and (
                            b == 0 or (info and a == info.min and b == -1)):
                        continue
                    if code == 6 and (b < 0 or b > 7):
                        continue
                    if code in (24, 25) and (b < 0 or b > 7):
                        continue
                    yield "binary", code, a, b, fn(a, b)


def unary_lines():
    float_values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -3.5, 1.25, 20.0,
                    0.001, -0.75, float("inf"), float("-inf"), float("nan")]
    for dtype in FLOATS:
        for code, fn in UNARY.items():
            if code == 32:
                continue
            for a in torch.tensor(float_values).to(dtype):
                yield "unary", code, a, None, fn(a)
    for dtype in INTS + [torch.bool]:
        base = [0, 1] if dtype == torch.bool else [0, 1, 5, 100]
        if dtype not in (torch.bool, torch.uint8):
            base += [-1, -5, -100]
        for code, fn in UNARY.items():
            if code not in (4, 5, 20, 21, 32, 33, 17, 18, 22, 25):
                continue
            if dtype == torch.bool and code not in (20, 32):
                continue
            for a in torch.tensor(base, dtype=dtype):
                yield "unary", code, a, None, fn(a)


def cast_lines():
    values = [0.0, 1.0, -1.0, 0.5, -0.5, 2.7, -2.7, 100.3, 65519.0, 65520.0,
              1e-8, 6e-8, float("inf"), float("nan"), 16777217.0]
    for dtype in FLOATS:
        for a in torch.tensor(values, dtype=torch.double).to(dtype):
            for to in FLOATS + [torch.bool]:
                yield "cast", None, a, None, a.to(to)
            if abs(a) < 127:
                for to in INTS:
                    if to != torch.uint8 or a >= 0:
                        yield "cast", None, a, None, a.to(to)
    for dtype in INTS + [torch.bool]:
        base = [0, 1] if dtype == torch.bool else [0, 1, 77, 127]
        if dtype in (torch.int16, torch.int32, torch.int64):
            base += [-1, 300, -300, 32767]
        if dtype == torch.int64:
            base += [2**40 + 5, -2**40 - 7, 2**53 + 1]
        for a in torch.tensor(base, dtype=dtype):
            for to in DTYPES:
                yield "cast", None, a, None, a.to(to)


def write_element_wise(folder):
    lines = []
    skipped = 0
    for lister in (binary_lines, unary_lines, cast_lines):
        for kind, code, a, b, y in lister():
            # All of them is too much for a repository: some, more of the
            # common dtypes.
            skipped += 1
            common = a.dtype in (torch.float, torch.int64)
            step = {"binary": 7 if common else 13,
                    "unary": 1 if common else 4, "cast": 1}[kind]
            if skipped % step:
                continue
            parts = [kind] + ([] if code is None else [str(code)])
            parts += [str(DTYPES[a.dtype]), text(a)]
            parts += [] if b is None else [text(b)]
            parts += [str(DTYPES[y.dtype]), text(y)]
            lines.append(" ".join(parts))
    (folder / "element_wise.txt").write_text("\n".join(lines) + "\n")


def values_text(t):
    return " ".join("%.7g" % v for v in t.flatten().tolist())


def ramp(*shape):
    """Values that any reader can make again: a small linear congruence."""
    n = 1
    for s in shape:
        n *= s
    i = torch.arange(n, dtype=torch.int64)
    return ((i * 37 + 11) % 101 - 50).float().reshape(shape) / 16


def write_resize(folder):
    """mode align in_h in_w out_h out_w scale_h scale_w values"""
    modes = {"nearest": 0, "bilinear": 1, "bicubic": 2, "nearest-exact": 3}
    lines = []
    for mode, number in modes.items():
        for ih, iw, oh, ow in [(4, 5, 8, 10), (5, 4, 3, 7), (1, 6, 4, 3),
                               (6, 6, 6, 6), (7, 3, 5, 1)]:
            for align in ([False, True] if "bi" in mode else [None]):
                y = F.interpolate(ramp(1, 2, ih, iw), (oh, ow), mode=mode,
                                  align_corners=align)
                lines.append("%d %d %d %d %d %d 0 0 %s" % (
                    number, bool(align), ih, iw, oh, ow, values_text(y)))
        for scale in [(2.0, 1.5), (0.6, 2.3)]:
            x = ramp(1, 2, 6, 5)
            y = F.interpolate(x, scale_factor=scale, mode=mode,
                              recompute_scale_factor=False)
            lines.append("%d 0 6 5 %d %d %r %r %s" % (
                (number,) + tuple(y.shape[2:]) + scale + (values_text(y),)))
    (folder / "resize.txt").write_text("\n".join(lines) + "\n")


def write_pooling(folder):
    """type adaptive excludes divisor in_h in_w out_h out_w
    k_h k_w s_h s_w p_h p_w d_h d_w values"""
    lines = []
    for h, w, k, s, p, ceil in [
            (7, 6, (3, 2), (2, 2), (1, 1), False),
            (7, 6, (3, 2), (2, 2), (1, 1), True),
            (5, 5, (2, 2), (2, 2), (0, 0), True),
            (9, 4, (3, 3), (3, 2), (1, 1), True),
            (6, 6, (2, 3), (1, 1), (0, 1), False)]:
        for d in [(1, 1), (2, 2)]:
            if d == (2, 2) and min(h, w) < 5:
                continue
            y = F.max_pool2d(ramp(1, 2, h, w), k, s, p, d, ceil_mode=ceil)
            lines.append(" ".join(map(str, (
                0, 0, 0, 0, h, w) + tuple(y.shape[2:]) + k + s + p + d))
                + " " + values_text(y))
        for include in (True, False):
            for divisor in (None, 5):
                y = F.avg_pool2d(ramp(1, 2, h, w), k, s, p, ceil, include,
                                 divisor)
                lines.append(" ".join(map(str, (
                    1, 0, int(not include), divisor or 0, h, w)
                    + tuple(y.shape[2:]) + k + s + p + (1, 1)))
                    + " " + values_text(y))
    for h, w, oh, ow in [(7, 7, 1, 1), (7, 5, 3, 2), (3, 4, 5, 6)]:
        for kind, fn in ((0, F.adaptive_max_pool2d), (1, F.adaptive_avg_pool2d)):
            y = fn(ramp(1, 2, h, w), (oh, ow))
            lines.append(" ".join(map(str, (
                kind, 1, 0, 0, h, w, oh, ow, 1, 1, 1, 1, 0, 0, 1, 1)))
                + " " + values_text(y))
    (folder / "pooling.txt").write_text("\n".join(lines) + "\n")


def of_bits(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def bits_of(t):
    return "%08x" % (t.to(torch.float).view(torch.int32).item() & 0xffffffff)


SPECIAL_BITS = [0, 0x3f800000, 0x3f000000, 0x40000000, 0x40400000, 0x7f800000,
                0x7fc00000, 1, 0x007fffff, 0x00800000, 0x7f7fffff, 0x4b800000,
                0x3f7fffff, 0x3f800001, 0x42b17218, 0x3fc90fdb]
SPECIALS = [of_bits(b ^ sign) for b in SPECIAL_BITS for sign in (0, 1 << 31)]


def hard_pairs(rng):
    """Quotients next to integers, and of all sizes."""
    for a in SPECIALS:
        for b in rng.sample(SPECIALS, 8):
            yield a, b
    for size in range(1, 60):
        b = of_bits(rng.getrandbits(23) | rng.randrange(90, 130) << 23)
        near = torch.tensor(b * rng.getrandbits(size), dtype=torch.float)
        bits = int(bits_of(near), 16)
        for step in (-1, 0, 1):
            sign = rng.choice((1, -1))
            yield of_bits(bits + step if near else bits), sign * b
    for _ in range(150):
        yield of_bits(rng.getrandbits(32)), of_bits(rng.getrandbits(32))
    for _ in range(60):
        yield rng.randrange(-999, 999) / 8, rng.randrange(-40, 40) / 8


def write_wide_math(folder):
    rng = random.Random(17)
    lines = []
    # Beside pi / 2 as floats come; and of all sizes.
    beside = [0x5c7a0c9f, 0x43b6d2d1, 0x6f79be45, 0x3fc90fda, 0x40490fdb]
    ones = SPECIALS + [of_bits(b) for b in beside]
    ones += [of_bits(rng.getrandbits(32)) for _ in range(60)]
    ones += [rng.uniform(-1, 1) for _ in range(20)]
    for x in ones:
        exact = torch.tensor(x, dtype=torch.float).double()
        parts = [bits_of(UNARY[code](exact)) for code in range(6, 17)]
        lines.append(" ".join(["one", bits_of(exact)] + parts))
    for a, b in hard_pairs(rng):
        p, q = torch.tensor(a), torch.tensor(b)
        parts = [bits_of(BINARY[code](p.double(), q.double()))
                 for code in (20, 6)]
        parts += [bits_of(BINARY[code](p, q)) for code in (19, 18, 7, 17)]
        lines.append(" ".join(["pair", bits_of(p), bits_of(q)] + parts))
    (folder / "wide_math.txt").write_text("\n".join(lines) + "\n")


def main():
    default = pathlib.Path(__file__).resolve().parent / "backend"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    write_element_wise(folder)
    write_resize(folder)
    write_pooling(folder)
    write_wide_math(folder)


if __name__ == "__main__":
    main()
