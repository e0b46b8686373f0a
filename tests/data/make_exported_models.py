#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the programs of tests/compiler/exported_models_test.c and
tests/exported/import_test.c.

exported_models/NAME.pt2 is a program of torch.export, NAME_core.pt2 the same
after run_decompositions(); NAME.npz has inputs and PyTorch's results for it:
r0_in_0, r0_out_0, ... of the first run, r1_in_0, ... of the next, which has
other shapes where the program's range. Results are flat, numbers among them;
strings and None are not there.

Usage: make_exported_models.py [NAME ...]  (torch 2.11; run from anywhere)
"""
import collections
import os
import sys
import warnings
import zlib

import numpy as np
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F
from torch.utils import _pytree as pytree

warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import relative_paths

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "exported_models")
BATCH = Dim("batch", min=1, max=16)
LENGTH = Dim("length", min=2, max=12)
ROWS = Dim("rows", min=3, max=12)
Pair = collections.namedtuple("Pair", ["left", "right"])
pytree._register_namedtuple(Pair, serialized_type_name="Pair")


class Cnn(nn.Module):
    """Convolutions and batch norms; the batch ranges."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False),
                                  nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.down = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=4)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.stem(x)
        x = F.hardswish(self.down(x)) + F.max_pool2d(x, 2)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1)).log_softmax(1)


class Attention(nn.Module):
    """A transformer's layer; batch and length range."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.norm = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)

    def forward(self, ids, mask):
        b, n = ids.shape
        x = self.embed(ids)
        q, k, v = self.qkv(self.norm(x)).view(b, n, 3, 4, 4).permute(
            2, 0, 3, 1, 4).unbind(0)
        keep = mask[:, None, None, :] > 0
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        return x + F.gelu(self.out(y.transpose(1, 2).reshape(b, n, 16)))


class Nested(nn.Module):
    """Arguments and a result in all kinds of containers; literals."""

    def forward(self, pair, batch, *, scale=1.0, mode="sum", extra=None):
        x = pair.left + pair.right * scale
        items = [x, x * 2] if mode == "sum" else [x]
        return {"pair": Pair(x, batch["a"][0]),
                "list": items + [batch["b"]],
                "numbers": (3, 2.5, True, "text", extra, x.shape[0])}


class Branches(nn.Module):
    """cond on data, and inside of it; on shapes."""

    def forward(self, x, y):
        def positive(x, y):
            return torch.cond(y.sum() > 0, lambda a, b: a.sin() + b,
                              lambda a, b: a.cos() - b, (x, y)), x.sum()

        def negative(x, y):
            return x * y, y.sum()

        a, b = torch.cond(x.sum() > 0, positive, negative, (x, y))
        return torch.cond(x.shape[0] > 4, lambda v: v * 2, lambda v: v * 3,
                          (a,)), b


class Loops(nn.Module):
    """while_loop, map and scan."""

    def forward(self, x, y):
        from torch._higher_order_ops.map import map as over
        from torch._higher_order_ops.scan import scan
        from torch._higher_order_ops.while_loop import while_loop
        turns, grown = while_loop(
            lambda i, v: (i < 5) & (v.abs().sum() < 50),
            lambda i, v: (i + 1, v * 2 + y), (torch.tensor(0), x))
        rows = over(lambda row, y: (row * y).cumsum(0), x, y)
        last, states = scan(lambda c, row: (torch.tanh(c + row), c * 2),
                            y, x, dim=0)
        return turns, grown, rows, last, states


class Sizes(nn.Module):
    """Arithmetic on sizes that range, and follow each other."""

    def forward(self, x, y, z):
        n, h = x.shape
        return (torch.arange(n * 2), F.pad(x, (0, n // 2, 1, 2)),
                x.reshape(n, 2, h // 2).transpose(1, 2).reshape(-1),
                x.new_zeros(torch.sym_max(n, 3), n % 3 + 2),
                x * torch.sym_float(n), x[:n - 1].sum(0), torch.sym_int(n * 1.5), n / 2,
                -n + h ** 2, x.expand(2, n, h).mean(1), y + z[1:])


class Data(nn.Module):
    """Shapes that follow from data."""

    def forward(self, x, n):
        k = n.item()
        torch._check(k >= 2)
        torch._check(k < 10)
        return torch.ones(k, 3) * k, (x > 0).nonzero(), x[x > 0].sum()


class Ops(nn.Module):
    """Results that are tuples and lists, optional lists, in-place ops, dtypes.
    """

    def forward(self, x, i):
        a, b, c = x.split([1, 2, 1], 1)
        value, at = x.topk(2, 1)
        y = x.clone()
        y[i, 0] = 5.0
        y[:, 1].mul_(2)
        y[..., None, 2] += 1
        return (a + c, b, value, at, x.chunk(2, 0)[1], *x.max(1), x[i],
                x[:, [0, 2]], x[None, 1:, ..., ::2], y,
                *torch.var_mean(x, 1), 2.0 - x, x + 1, 2 ** x, x // 2, x % 2,
                torch.where(x > 0, x, 0.0), x.to(torch.float64),
                (x > 0) * 2, torch.full_like(x, float("inf")),
                torch.tensor([1, 2, 3]) + i.sum(), F.pad(x, (1, 1), value=1.0))


class State(nn.Module):
    """Writes to its buffers and to an input."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("cache", torch.arange(12.).view(3, 4))

    def forward(self, x):
        self.count.add_(1)
        self.cache[1] = x[0]
        x.mul_(2)
        return self.cache.sum(0) + x * self.count


class Marks(nn.Module):
    """no_grad, autocast, assertions."""

    def forward(self, x):
        with torch.no_grad():
            y = x.sin() * 2
        with torch.autocast("cpu", enabled=False):
            y = y @ x.t()
        torch.ops.aten._assert_async.msg(x.sum() < 100, "x is too large")
        return y, torch.full((2,), 3)


class Autocast(nn.Module):
    """Regions of autocast. Whole numbers: sums are exact, so that only the
    rounding to bfloat16 is left, the same on every machine."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.conv = nn.Conv2d(1, 2, 3)
        for p in self.parameters():
            p.data = torch.randint(-9, 10, p.shape).float()

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(x)
            image = self.conv(x[None, None])
            wide = torch.cat([y, x]) + 1
            again = self.linear(y)
            low = x @ x.t()
            with torch.autocast("cpu", enabled=False):
                full = x @ x.t()
            total = F.l1_loss(low, low - 1, reduction="sum")
        return (y.float(), image.float(), wide, again.float(), low.float(),
                full, total, self.linear(x))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(10, 3)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return y, h, c, self.gru(y)


class Training(nn.Module):
    """What quantization-aware training leaves, and an embedding that keeps its
    rows short: decomposed programs call operators that give masks, too."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5, 4))
        self.register_buffer("scale", torch.rand(5) * 0.1 + 0.05)
        self.register_buffer("zero", torch.zeros(5, dtype=torch.int32))
        self.register_buffer("step", torch.tensor(0.05))
        self.register_buffer("at", torch.tensor(3, dtype=torch.int32))
        self.table = nn.Embedding(7, 4, max_norm=0.5)

    def forward(self, x, i):
        x = torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255)
        w = torch.fake_quantize_per_channel_affine(self.weight, self.scale,
                                                   self.zero, 0, -8, 7)
        y = torch.fake_quantize_per_tensor_affine(x @ w.t(), self.step, self.at,
                                                  -128, 127)
        mean = torch.fake_quantize_per_tensor_affine(y.mean(), self.step,
                                                     self.at, -128, 127)
        return y, self.table(i), mean


class Numbers(nn.Module):
    """An int that is given when running."""

    def forward(self, x, n):
        return x * n, torch.ones(n + 1)


class Truths(nn.Module):
    """True and False as numbers: beside truth values they are such."""

    def forward(self, m, i, x):
        return (m & True, m | False, m ^ True, m == True, m > False, m + True,
                m * True, torch.where(m, True, False), torch.where(m, m, True),
                torch.where(m, True, 2), m.masked_fill(m, False), i & True,
                i + True, i // True, x * True, torch.full((2,), True),
                torch.full((2,), True, dtype=torch.float32), m.new_full((2,), 1),
                torch.full_like(m, True), i.new_full((2,), True),
                torch.scalar_tensor(True), F.pad(m, (1, 1), value=True),
                torch.add(m, m, alpha=True), i.clamp(min=True),
                m.clone().fill_(False), (i > 2) | False)


class Grids(nn.Module):
    """float64 on a grid of float32: whether results are such, exactly."""

    def forward(self, x, scale, zero):
        y = torch.fake_quantize_per_tensor_affine(x, 0.05, 3, -128, 127)
        z = torch.fake_quantize_per_tensor_affine(x, scale, zero, -8, 7)
        c = torch.fake_quantize_per_channel_affine(
            x, scale.expand(3), zero.expand(3), 0, -8, 7)
        return (y, z, c, *(v == v.float().double() for v in (y, z, c)))


def rand(*shape):
    return torch.randn(*shape)


def attention_inputs(b, n):
    mask = torch.ones(b, n, dtype=torch.long)
    mask[:, n - 1] = 0
    return torch.randint(0, 20, (b, n)), mask


def nested_inputs(n):
    return (Pair(rand(n, 3), rand(n, 3)), {"a": [rand(2)], "b": rand(n, 2)})


def sizes_inputs(n, h):
    return rand(n, h), rand(n), rand(n + 1)


NESTED = {"scale": 2.5, "mode": "sum", "extra": None}
# name: model, shapes that range, keywords, arguments of each run, decomposed
MODELS = {
    "cnn": (Cnn, ({0: BATCH},), {},
            [(rand(n, 3, 16, 12),) for n in (2, 1, 16)], True),
    "attention": (Attention, ({0: BATCH, 1: LENGTH}, {0: BATCH, 1: LENGTH}),
                  {}, [attention_inputs(*s) for s in ((2, 5), (1, 2), (7, 12))],
                  True),
    "nested": (Nested, None, NESTED, [nested_inputs(4)], False),
    "branches": (Branches, ({0: BATCH}, {0: BATCH}), {},
                 [(rand(n, 4) + a, rand(n, 4) + b) for n in (3, 6)
                  for a in (-3, 3) for b in (-3, 3)], False),
    "loops": (Loops, None, {}, [(rand(5, 4) + a, rand(4)) for a in (0, 9)],
              False),
    "sizes": (Sizes, ({0: ROWS, 1: 2 * Dim("half", min=2, max=8)},
                      {0: ROWS}, {0: ROWS + 1}), {},
              [sizes_inputs(*s) for s in ((6, 8), (3, 4), (12, 16), (5, 6))],
              True),
    "data": (Data, None, {}, [(rand(6, 4), torch.tensor(n)) for n in (4, 2, 9)],
             False),
    "ops": (Ops, None, {}, [(rand(4, 4), torch.tensor(i))
                            for i in ([0, 2], [3, 1])], True),
    "state": (State, None, {}, [(rand(3, 4),)], True),
    "marks": (Marks, None, {}, [(rand(3, 4),)], False),
    "autocast": (Autocast, None, {},
                 [(torch.randint(-40, 41, (6, 6)).float(),)], True),
    # Decomposed, PyTorch's own LSTM has states of another rank.
    "recurrent": (Recurrent, None, {}, [(rand(2, 6, 4),)], False),
    "training": (Training, None, {},
                 [(rand(3, 4), torch.tensor([2, 6, 2]))], True),
    "grids": (Grids, None, {},
              [(rand(3, 8).double(), torch.tensor(0.3),
                torch.tensor(1, dtype=torch.int32))], False),
    "truths": (Truths, None, {},
               [(torch.tensor([True, False]), torch.tensor([3, 2]), rand(2))],
               True),
    "numbers": (Numbers, (None, Dim.DYNAMIC), {},
                [(rand(3), n) for n in (4, 9)], False),
}


def leaves_of(value):
    return [np.asarray(x.detach() if isinstance(x, torch.Tensor) else x)
            for x in pytree.tree_leaves(value)
            if isinstance(x, (torch.Tensor, bool, int, float))]


def copy_of(value):
    return pytree.tree_map(
        lambda x: x.clone() if isinstance(x, torch.Tensor) else x, value)


def save(program, name):
    path = os.path.join(HERE, name)
    torch.export.save(program, path)
    relative_paths.rewrite(path)


def main():
    os.makedirs(HERE, exist_ok=True)
    for name, (make, shapes, keywords, runs, core) in MODELS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        torch.manual_seed(zlib.crc32(name.encode()))
        model = make().eval().requires_grad_(False)
        for m in model.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.running_mean.normal_(0, 0.2)
                m.running_var.uniform_(0.5, 1.5)
        arrays = {}
        for r, args in enumerate(runs):
            fresh = make().eval().requires_grad_(False)
            fresh.load_state_dict(model.state_dict())
            given = copy_of(args)
            for i, x in enumerate(leaves_of(args)):
                arrays[f"r{r}_in_{i}"] = x
            for i, x in enumerate(leaves_of(fresh(*given, **keywords))):
                arrays[f"r{r}_out_{i}"] = x
            if name == "state":
                state = [fresh.count, fresh.cache, given[0]]
                for i, x in enumerate(leaves_of(state)):
                    arrays[f"state_{i}"] = x
        if shapes is not None and keywords:
            shapes = tuple(shapes) + (None,) * len(keywords)
        program = torch.export.export(model, copy_of(runs[0]), keywords,
                                      dynamic_shapes=shapes)
        save(program, f"{name}.pt2")
        if core:
            save(program.run_decompositions(), f"{name}_core.pt2")
        np.savez(os.path.join(HERE, f"{name}.npz"), **arrays)
        print(name)


if __name__ == "__main__":
    main()
