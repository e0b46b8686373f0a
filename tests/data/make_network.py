#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/network/ with PyTorch as the oracle.

    make_network.py [folder]

windows.txt     sizes after convolutions, transposed convolutions and pooling;
                -1 where PyTorch refuses
broadcasts.txt  shapes that broadcast together, and matrix products of them;
                "no" where PyTorch refuses
"""
import os
import random
import sys

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))


def size_of(function):
    try:
        return function().shape[-1]
    except RuntimeError:
        return -1


def windows():
    lines = ["# kind size kernel stride padding dilation extra result"]
    rng = random.Random(0)
    for _ in range(120):
        n, k = rng.randint(1, 12), rng.randint(1, 5)
        s, p, d = rng.randint(1, 4), rng.randint(0, 2), rng.randint(1, 3)
        ceil, extra = rng.randint(0, 1), rng.randint(0, 2)
        x, w = torch.zeros(1, 1, n), torch.zeros(1, 1, k)
        out = size_of(lambda: F.conv1d(x, w, None, s, p, d))
        lines.append(f"conv {n} {k} {s} {p} {d} 0 {out}")
        out = size_of(lambda: F.conv_transpose1d(x, w, None, s, p, extra, 1, d))
        lines.append(f"deconv {n} {k} {s} {p} {d} {extra} {out}")
        if 2 * p <= k:
            out = size_of(lambda: F.max_pool2d(
                x[..., None, :], (1, k), (1, s), (0, p), (1, d), bool(ceil)))
            lines.append(f"max {n} {k} {s} {p} {d} {ceil} {out}")
        if 2 * p <= k:
            out = size_of(lambda: F.avg_pool1d(x, k, s, p, bool(ceil)))
            lines.append(f"avg {n} {k} {s} {p} 1 {ceil} {out}")
    return lines


def text(shape):
    return "[" + ",".join(str(d) for d in shape) + "]"


def broadcasts():
    lines = ["# a b a+b a@b"]
    rng = random.Random(1)
    for _ in range(120):
        a = [rng.choice((1, 2, 3)) for _ in range(rng.randint(0, 4))]
        b = [rng.choice((1, 2, 3)) for _ in range(rng.randint(0, 4))]
        x, y = torch.zeros(a), torch.zeros(b)
        try:
            add = text((x + y).shape)
        except RuntimeError:
            add = "no"
        product = "-"
        if len(a) >= 2 and len(b) >= 2:
            try:
                product = text((x @ y).shape)
            except RuntimeError:
                product = "no"
        lines.append(f"{text(a)} {text(b)} {add} {product}")
    return lines


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "network")
    for name, lines in (("windows", windows()), ("broadcasts", broadcasts())):
        with open(os.path.join(folder, name + ".txt"), "w") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
