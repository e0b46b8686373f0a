#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of ranging_models_test.c, beside this file: NAME.ts, and
NAME.npz with runs of many shapes in their ranges and PyTorch's answers, as
r<k>_in_<i> and r<k>_out_<i>. The first three shapes are the best, the least and
the greatest; the rest is drawn, ends more often than what is between.

Each model has kinds of steps that depend on sizes: tensors that broadcast only
where a size is not 1, windows that cover all, rows that are long or short,
tensors without elements, branches that the best shapes do not take.

  make_ranging.py [NAME ...]   all unless named; needs PyTorch, and torchvision
"""
import os
import random
import sys
from typing import Tuple

import numpy as np
import torch
from torch import Tensor, nn
import torch.nn.functional as F
import torchvision

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts"))
import relative_paths

HERE = os.path.dirname(os.path.abspath(__file__))
RUNS = 24


class Windows(nn.Module):
    """Convolutions, pooling and resizing of images."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 8, 3, padding=1, groups=2)
        self.norm = nn.BatchNorm2d(8)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.group = nn.GroupNorm(2, 8)

    def forward(self, x):
        y = F.relu(self.norm(self.conv(x)))
        a = F.adaptive_avg_pool2d(y, (2, 3))
        b = F.avg_pool2d(y, 2, 1, 1, count_include_pad=False)
        c = F.max_pool2d(F.pad(y, (1, 0, 0, 1)), 2, 1)
        d = F.interpolate(self.up(self.group(y)), scale_factor=0.5,
                          mode="bilinear")
        e = F.interpolate(y + y.mean((2, 3), keepdim=True), size=(3, 3))
        return a, b + c.sum(1, keepdim=True)[:, :, :1, :1], d - x, e


class Rows(nn.Module):
    """Softmax, normalisations and reductions of rows of any length."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(6)

    def forward(self, x):
        n = x - x.mean(1, keepdim=True)
        a = torch.softmax(n, 1) + torch.log_softmax(x, 0)
        b = x.sum((0, 1)) + x.abs().max()
        c = self.norm(x * a) + x.std((0, 1), unbiased=False)
        d, i = x.amax(1).topk(3, 1)
        e = torch.linalg.vector_norm(x, 2.0, [1]) + (x > 0.5).sum(1)
        f = F.instance_norm(x.transpose(1, 2).contiguous() + 1)
        return a, b, c, d, i, e, f, (x > 0).all(2), x.double().prod(2)


class Heads(nn.Module):
    """Attention and products with batches that broadcast."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)

    def forward(self, x, memory):
        q, k, v = self.qkv(x).chunk(3, -1)
        q = q.view(x.size(0), x.size(1), 2, 4).transpose(1, 2)
        k = k.view(x.size(0), x.size(1), 2, 4).transpose(1, 2)
        v = v.view(x.size(0), x.size(1), 2, 4).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = self.out(y.transpose(1, 2).flatten(2))
        z = torch.softmax(x @ memory.transpose(1, 2) * 0.5, -1) @ memory
        w = F.gelu(torch.matmul(x, memory[0].t().mean(1, keepdim=True)) + y)
        return y + z, w.transpose(0, 1)


class Moves(nn.Module):
    """Gather, scatter, concatenation, padding, and copies in other orders."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 5)

    def forward(self, x, ids):
        n, s = ids.size(0), ids.size(1)
        t = self.table(ids)
        a = torch.cat([x, t, x.flip(1)], 1)
        b = torch.gather(x, 1, (ids % s).unsqueeze(2).expand(n, s, 5))
        c = F.pad(x.transpose(0, 2), (1, 2, 0, 1), value=-1.0)
        d = torch.zeros(n, 9).scatter_add(1, ids, x[:, :, 0])
        e = torch.stack([x[:, :1].expand(n, s, 5), x], 2).reshape(n, -1, 2)
        f = x.index_select(1, torch.arange(s - 1, -1, -1)).roll(1, 0)
        return a, b, c, d, e.permute(2, 0, 1) * 2, f[:, ::2], ids.t() + 1


class Elements(nn.Module):
    """Element-wise chains over dtypes, of tensors that broadcast or do not."""

    def forward(self, a, b):
        c = torch.tanh(a + b) * b - 1
        d = torch.where(a > b, c, b.clamp(-1, 1))
        whole = (a * 10).to(torch.int64)
        e = (whole // 3) * (whole % 4) - (b * 7).to(torch.int32)
        f = (a.half() + b.half()) * 0.5
        g = torch.pow(a.abs() + 0.5, b).double() / 3
        near = (a > 0) & (b > 0) | (whole == 2)
        h = F.leaky_relu(c, 0.1) + F.softplus(b) * near
        return c + d, e, f, g, near, h, -b, b.to(torch.uint8)


class Recurrent(nn.Module):
    """An LSTM in both directions, with a projection, and a GRU."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 5, bidirectional=True, proj_size=3)
        self.gru = nn.GRU(6, 5, batch_first=False)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        z, s = self.gru(x)
        return torch.cat([y, z], 2), h, c, s


class Sides(nn.Module):
    """Branches on sizes, of which the best shape takes the short one."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 6)
        self.norm = nn.LayerNorm(6)
        self.conv = nn.Conv1d(6, 3, 2)

    def forward(self, x) -> Tuple[Tensor, Tensor]:
        n = x.size(0)
        if n < 4:
            return x * 2, x.sum(0)
        if n % 3 == 0:
            y = self.norm(F.pad(x, (0, 0, 1, 0), value=0.5))
            return self.fc(x) + y.mean(), y.var(0)
        if n % 3 == 1:
            y = self.conv(x.t().unsqueeze(0))
            return torch.softmax(x.double(), 0).float(), y.mean((0, 2))
        values, order = x.sort(0)
        z = torch.zeros(n, 6, dtype=torch.int64).scatter(0, order, order)
        return values + z % 7, F.max_pool1d(x.t().unsqueeze(0), 2)[0].amax(1)


class Narrow(nn.Module):
    """What is fastest in half precision: images with many maps, heads, rows.
    The test computes it in that precision, too."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, 2, 1)
        self.depthwise = nn.Conv2d(16, 16, 3, 1, 1, groups=16)
        self.point = nn.Conv2d(16, 32, 1)
        self.norm = nn.LayerNorm(32)
        self.qkv = nn.Linear(32, 96)
        self.out = nn.Linear(32, 32)

    def forward(self, x):
        y = F.silu(self.first(x))
        y = F.relu(self.point(F.max_pool2d(self.depthwise(y), 3, 1, 1)))
        rows = y.flatten(2).transpose(1, 2)
        q, k, v = self.qkv(self.norm(rows)).chunk(3, 2)
        q = q.view(x.size(0), -1, 4, 8).transpose(1, 2)
        k = k.view(x.size(0), -1, 4, 8).transpose(1, 2)
        v = v.view(x.size(0), -1, 4, 8).transpose(1, 2)
        z = F.scaled_dot_product_attention(q, k, v)
        z = rows + self.out(z.transpose(1, 2).flatten(2))
        near = torch.softmax(z @ z.transpose(1, 2) * 0.01, 2)
        return near @ rows, z


class Found(nn.Module):
    """What data say how much there is of: places, elements and rows that a mask
    picks, unique numbers, and what works on them row by row."""

    def forward(self, x):
        mask = x > 0.5
        columns = torch.where(mask)
        kept = x[x[:, 0] > 0]
        scores = torch.sigmoid(kept * 2 + 1) - kept[:, 0].unsqueeze(1)
        again = scores[scores[:, 0] < 0.5][:3]
        whole = (x * 2).to(torch.int64)
        values, inverse, counts = torch.unique(whole, return_inverse=True,
                                               return_counts=True)
        runs, of, lengths = torch.unique_consecutive(
            whole[:, 0], return_inverse=True, return_counts=True)
        return (mask.nonzero(), columns[1] - columns[0], x[mask],
                torch.masked_select(x, x[:1] < 0), kept.size(0) + kept.sum(1),
                again, values, inverse, counts, runs, of, lengths)


class Boxes(nn.Module):
    """The tail of a detector: a threshold, non-maximum suppression of each class,
    and the best that are left."""

    def forward(self, boxes, scores):
        good = torch.where(scores > 0.3)[0]
        kept, of = boxes[good], scores[good]
        kept = torch.stack([kept[:, 0], kept[:, 1], kept[:, 0] + kept[:, 2],
                            kept[:, 1] + kept[:, 3]], 1)
        best = torchvision.ops.nms(kept, of, 0.4)[:20]
        large = (kept[:, 2] - kept[:, 0]) * (kept[:, 3] - kept[:, 1]) > 4
        return kept[best], of[best], good[best], kept[large]


def elements(rng, n, s):
    other = [rng.choice([1, n]), rng.choice([1, s])]
    return torch.randn(n, s) * 2, torch.randn(other) * 2


def heads(rng, b, s, k):
    return torch.randn(b, s, 8), torch.randn(rng.choice([1, b]), k, 8)


def moves(rng, n, s):
    return torch.randn(n, s, 5), torch.randint(0, 9, (n, s))


# Sizes are (least, best, greatest).
CASES = [
    ("windows", Windows, lambda rng, b, h, w: (torch.randn(b, 4, h, w),),
     [(0, 2, 5), (3, 8, 13), (3, 9, 13)]),
    ("rows", Rows, lambda rng, n, s: (torch.randn(n, s, 6),),
     [(1, 2, 3), (2, 6, 1100)]),
    ("heads", Heads, heads, [(1, 2, 4), (1, 7, 20), (1, 5, 40)]),
    ("moves", Moves, moves, [(1, 3, 6), (1, 4, 9)]),
    ("elements", Elements, elements, [(0, 4, 9), (1, 5, 9)]),
    ("recurrent", Recurrent, lambda rng, t, b: (torch.randn(t, b, 6),),
     [(1, 4, 9), (1, 3, 11)]),
    ("narrow", Narrow, lambda rng, b, h, w: (torch.randn(b, 3, h, w),),
     [(1, 2, 3), (1, 8, 17), (2, 8, 17)]),
    ("sides", Sides, lambda rng, n: (torch.randn(n, 6),), [(1, 3, 24)]),
    ("found", Found, lambda rng, n, s: (torch.randn(n, s),),
     [(0, 4, 9), (1, 5, 30)]),
    ("boxes", Boxes,
     lambda rng, n: (torch.rand(n, 4) * 5 + 0.1, torch.rand(n) - rng.choice([0, 1])
                     * rng.random()), [(0, 30, 200)]),
]


def draw(rng, sizes, before):
    """Ends of the range, sizes next to them, or any; a long one once at most, as
    its results are many."""
    least, _, most = sizes
    some = [least, min(least + 1, most), min(most, 40)]
    some += [rng.randint(least, min(most, 40)) for _ in range(3)]
    if rng.random() < 0.1 and (most <= 40 or most not in before):
        return most
    return rng.choice(some)


def draw_shapes(rng, ranges):
    """Those of all runs."""
    shapes = [[r[i] for r in ranges] for i in (1, 0, 2)]
    drawn = [set() for _ in ranges]
    while len(shapes) < RUNS:
        shapes.append([draw(rng, r, d) for r, d in zip(ranges, drawn)])
        for d, size in zip(drawn, shapes[-1]):
            d.add(size)
    return shapes


def main():
    for name, make, inputs_of, ranges in CASES:
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        torch.manual_seed(len(name))
        rng = random.Random(len(name))
        model = make().eval()
        with torch.no_grad():
            torch.jit.script(model).save(os.path.join(HERE, name + ".ts"))
            relative_paths.rewrite(os.path.join(HERE, name + ".ts"))
            shapes = draw_shapes(rng, ranges)
            arrays = {}
            for k, shape in enumerate(shapes):
                inputs = inputs_of(rng, *shape)
                outputs = model(*inputs)
                for i, x in enumerate(inputs):
                    arrays[f"r{k}_in_{i}"] = x.numpy()
                for i, y in enumerate(outputs):
                    arrays[f"r{k}_out_{i}"] = y.contiguous().numpy()
            np.savez(os.path.join(HERE, name + ".npz"), **arrays)


if __name__ == "__main__":
    main()
