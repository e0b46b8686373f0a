#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of dynamic_shapes_test.c, beside this file: NAME.ts and
NAME.npz with several runs of other shapes and PyTorch's answers, as r<k>_in_<i>
and r<k>_out_<i>.

  make_dynamic.py [NAME ...]   all unless named; needs PyTorch
"""
import os
import random
import sys

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts"))
import relative_paths

HERE = os.path.dirname(os.path.abspath(__file__))


class Adaptive(nn.Module):
    """Adaptive pooling, flatten and linear; batch norm and a residual."""

    def __init__(self):
        super().__init__()
        self.c1, self.n1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.c2 = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.pool, self.fc = nn.AdaptiveAvgPool2d((2, 3)), nn.Linear(48, 5)
        self.drop = nn.Dropout(0.5, inplace=True)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.n1(self.c1(x))), 3, 2, 1, ceil_mode=True)
        x = x + F.hardswish(self.c2(x))
        return self.fc(self.drop(torch.flatten(self.pool(x), 1)))


class Text(nn.Module):
    """Positions from arange, a causal mask, attention twice."""

    def __init__(self, d=16, heads=4):
        super().__init__()
        self.emb, self.pos = nn.Embedding(30, d), nn.Embedding(32, d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)
        self.heads = heads

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, ids, keep):
        x = self.emb(ids) + self.pos(torch.arange(ids.size(1)))
        q, k, v = [self.split(t) for t in self.qkv(self.n1(x)).chunk(3, -1)]
        mask = torch.full((ids.size(1), ids.size(1)), -1e9).triu(1)
        mask = mask + (1.0 - keep[:, None, None, :].to(x.dtype)) * -1e9
        a = torch.softmax(q @ k.transpose(-2, -1) * 0.5 + mask, -1) @ v
        a = a + F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        a = a.transpose(1, 2).reshape(x.size(0), x.size(1), -1)
        x = x + self.out(a)
        x = x + self.down(F.gelu(self.up(self.n2(x))))
        return x, x.mean(1)


class Arithmetic(nn.Module):
    """Arithmetic on shapes, and branches on them."""

    def __init__(self):
        super().__init__()
        self.a, self.side = nn.Conv2d(2, 4, 3, 2, 1), nn.Conv2d(4, 4, 1)

    def forward(self, x, other):
        if x.size(2) > x.size(3):
            x = x.transpose(2, 3) * 2.0
        elif x.size(2) == x.size(3):
            x = x + 1.0
        a = torch.tanh(self.a(x))
        b = F.avg_pool2d(self.side(a), 2)
        up = F.interpolate(b, size=a.shape[2:], mode="bilinear",
                           align_corners=False)
        y = torch.cat([a, up], 1)
        h, w = y.size(2) // 2, y.size(3) - 1
        grid = torch.arange(h * w, dtype=torch.float32).reshape(h, w) / (h * w)
        y = y[:, :, :h, 1:] * grid
        steps = torch.arange(y.size(3)).expand(y.size(0), y.size(3))
        mask = steps < other.size(1)
        z = y.sum(2).masked_fill(mask.unsqueeze(1), 0.0)
        return y, z, other.repeat(1, 2)[:, : x.size(2)]


class Shared(nn.Module):
    """Several inputs share the batch; two share a length."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 8, batch_first=True)
        self.fc = nn.Linear(8, 6)

    def forward(self, x, y, state):
        h, last = self.rnn(x, state)
        both = torch.bmm(torch.sigmoid(self.fc(h)), y.transpose(1, 2))
        return both.argmax(-1), both.log_softmax(-1), last[-1]


class Ways(nn.Module):
    """Takes ways that few shapes take, and computes there with sizes."""

    def forward(self, x):
        n, m = x.size(0), x.size(1)
        if n > 3 * m:
            y = x * n
        elif n % 5 == 3:
            part = x[:, : n % 3 + 1].sum(1, keepdim=True)
            y = part + x * (float(n) / float(m))
        else:
            y = x + m
        z = F.pad(y, (0, 0, 0, (4 - n % 4) % 4)).view(-1, 4, m)
        if z.size(0) == 2 and m % 3 == 1:
            z = z.flip(0) * z.size(0)
        s = y[: n // 12 + 1].sum(1).squeeze(0)
        few = torch.ones(8, m)[(5 * n + m) % 9:][:1] * n  # at times none
        return y, z, s * s.dim(), few


class Strided(nn.Module):
    """as_strided of tensors whose elements are in another order, and of parts."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 4)

    def forward(self, x):
        b, s = x.size(0), x.size(1)
        h = torch.tanh(self.fc(x)).transpose(0, 1)
        windows = h.as_strided([s - 1, 2, b, 4], [4, 4, s * 4, 1])
        column = x[:, :, 1:].as_strided([b, s], [s * 6, 6])
        return windows.sum(1), column, h.as_strided([b, 3], [4 * s, 1], 4)


class Refuses(nn.Module):
    """Some shapes take a way that fails."""

    def forward(self, x):
        n = x.size(0)
        if n % 5 == 3:
            y = x.view(n + 1, 7)
        else:
            y = x * n
        return y


def grids(rng, n, m):
    return (torch.randn(n, m),)


def images(rng, b, h, w):
    return (torch.randn(b, 3, h, w),)


def text(rng, b, s):
    keep = torch.ones(b, s, dtype=torch.long)
    keep[:, max(1, s - 2):] = 0
    return torch.randint(0, 30, (b, s)), keep


def arithmetic(rng, b, h, w, n):
    return torch.randn(b, 2, h, w), torch.randn(b, n)


def shared(rng, b, s, t):
    return torch.randn(b, s, 6), torch.randn(b, t, 6), torch.randn(1, b, 8)


# name, how, model, inputs of sizes, ranges (min, opt, max) of the sizes, and
# how many random shapes when not 6
CASES = [
    ("adaptive", "script", Adaptive, images, [(1, 1, 5), (4, 16, 20), (4, 12, 20)]),
    ("text", "trace", Text, text, [(1, 2, 6), (2, 8, 20)]),
    ("arithmetic", "script", Arithmetic, arithmetic,
     [(1, 1, 4), (6, 12, 20), (6, 16, 20), (1, 4, 9)]),
    ("shared", "script", Shared, shared, [(1, 2, 6), (1, 5, 12), (1, 7, 9)]),
    ("strided", "script", Strided, lambda rng, b, s: (torch.randn(b, s, 6),),
     [(1, 2, 4), (2, 5, 9)]),
    ("refuses", "script", Refuses, grids, [(1, 4, 9), (1, 4, 5)]),
    ("ways", "script", Ways, grids, [(1, 4, 24), (1, 4, 9)], 40),
]


def main():
    for name, how, make, inputs_of, ranges, *more in CASES:
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        torch.manual_seed(len(name))
        rng = random.Random(len(name))
        model = make().eval()
        for m in model.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.running_mean.uniform_(-0.5, 0.5)
                m.running_var.uniform_(0.5, 2)
        with torch.no_grad():
            sizes = [[r[i] for r in ranges] for i in range(3)]
            sizes += [[rng.randint(r[0], r[2]) for r in ranges]
                      for _ in range(more[0] if more else 6)]
            if how == "script":
                saved = torch.jit.script(model)
            else:
                saved = torch.jit.trace(model, inputs_of(rng, *sizes[1]),
                                        check_trace=False)
            saved.save(os.path.join(HERE, name + ".ts"))
            relative_paths.rewrite(os.path.join(HERE, name + ".ts"))
            arrays = {}
            if name == "refuses":
                sizes = [size for size in sizes if size[0] % 5 != 3]
            for k, size in enumerate(sizes):
                inputs = inputs_of(rng, *size)
                outputs = model(*inputs)
                outputs = outputs if isinstance(outputs, tuple) else (outputs,)
                for i, x in enumerate(inputs):
                    arrays[f"r{k}_in_{i}"] = x.numpy()
                for i, y in enumerate(outputs):
                    arrays[f"r{k}_out_{i}"] = y.contiguous().numpy()
            np.savez(os.path.join(HERE, name + ".npz"), **arrays)


if __name__ == "__main__":
    main()
