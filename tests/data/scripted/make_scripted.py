#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what scripted_methods_test.c runs, beside this file: methods.ts, one
module whose exported methods are small models, and methods.npz with runs of
each, of several shapes, and PyTorch's answers: METHOD.<run>.in<i> and
METHOD.<run>.out<i>.

  make_scripted.py   needs PyTorch
"""
import os
import sys
from typing import Dict, List, Tuple

import numpy as np
import torch
from torch import Tensor, nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts"))
import relative_paths

HERE = os.path.dirname(os.path.abspath(__file__))


@torch.jit.interface
class Part(nn.Module):
    def forward(self, x: Tensor, k: int) -> Tensor:
        pass


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, k: int) -> Tensor:
        return self.linear(x) * k


class Rolled(nn.Module):
    def forward(self, x: Tensor, k: int) -> Tensor:
        return x.roll(k, 0)


class Methods(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.parts = nn.ModuleList([Scaled(), Rolled(), Scaled()])
        self.named = nn.ModuleDict({"a": Rolled(), "b": Scaled()})
        layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(4))

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)

    # ---- what was known of a tensor's data is not, once it is written to

    @torch.jit.export
    def write_then_ask(self, x: Tensor) -> Tensor:
        total = torch.zeros(x.size(0), 2)
        first = total[0]
        total += x.mean(1, keepdim=True)
        if float(first[0]) > 0:
            return x * 2
        return x

    @torch.jit.export
    def write_in_a_branch(self, x: Tensor, flag: Tensor) -> Tensor:
        total = torch.zeros(x.size(0))
        if bool(flag):
            total += 1
        k = 0
        if float(total.sum()) > 0:
            k = 1
        return x + k

    @torch.jit.export
    def write_in_a_loop(self, x: Tensor) -> Tuple[Tensor, int]:
        left = torch.zeros(x.size(0))
        left.fill_(x.max())
        turns = 0
        while float(left[0]) > 0:
            left -= 1
            turns += 1
        return x * turns, turns

    @torch.jit.export
    def write_on_one_side(self, x: Tensor) -> Tuple[Tensor, int]:
        sizes = torch.tensor([x.size(0), x.size(1)])
        first = sizes[0]
        if x.size(0) > 5:
            sizes += 1
            n = first
        else:
            n = sizes[1]
        return x * int(n), int(first)

    @torch.jit.export
    def write_another_dtype(self, x: Tensor, at: Tensor) -> List[Tensor]:
        a = torch.zeros(3, dtype=torch.float64)
        a += x[int(at):int(at) + 3]
        b = torch.zeros(3, dtype=torch.int64)
        b += (x[x > -9][:3] * 4).long()
        c = torch.zeros((), dtype=torch.float32)
        c += x[int(at)].double()
        d = torch.ones(3, dtype=torch.bool)
        d &= x[int(at):int(at) + 3] > 0
        return [a, b, c, d]

    # ---- views of tensors whose shape ranges

    @torch.jit.export
    def views_are_read_again(self, x: Tensor) -> List[Tensor]:
        table = torch.zeros(4)
        rows = table.expand(x.size(0), 4)
        table += x.sum(0)
        y = x * 2
        views = [y.permute(1, 0), y.narrow(1, 1, 2), y.diagonal(),
                 y.expand(2, -1, -1), y.unfold(1, 2, 1), rows]
        y += 1
        return views

    @torch.jit.export
    def copies_are_not(self, x: Tensor) -> List[Tensor]:
        y = x * 2
        both = [y.t().reshape(-1), y.reshape(-1), y[:, :2].contiguous(),
                y.contiguous(), y.to(torch.float64), y.to(torch.float32),
                y[:, :2].reshape(-1), y.flatten()]
        y += 1
        both[3] *= 2
        return both

    @torch.jit.export
    def view_of_no_dims(self, x: Tensor, at: Tensor) -> List[Tensor]:
        y = x * 2
        first = y[int(at)].view([]) if y.dim() == 1 else y[0, 0]
        second = y[0].sum().view([])
        y += 1
        return [y, first, second]

    # ---- lists of numbers, and of tuples

    @torch.jit.export
    def list_of_sizes(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        sizes = torch.tensor(x.shape[-2:])
        return x / torch.max(sizes).to(torch.float32), torch.min(sizes)

    @torch.jit.export
    def dict_of_pairs(self, x: Tensor) -> Dict[str, Tensor]:
        names = ["a", "b"]
        parts = [x * 2, x[:, :1]]
        return dict([(k, v) for k, v in zip(names, parts)])

    # ---- others

    @torch.jit.export
    def fill_the_diagonal(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        y = x @ x.t()
        y.fill_diagonal_(float("-inf"))
        z = torch.zeros(7, 3)
        z += x.sum()
        z.fill_diagonal_(2, wrap=True)
        x.fill_diagonal_(5)
        return y.softmax(1) + x.sum(), z

    @torch.jit.export
    def modules_by_number(self, x: Tensor) -> Tensor:
        for i in range(4):
            part: Part = self.parts[i % 3]
            x = part.forward(x, i + 1)
        for name in ["b", "a"]:
            other: Part = self.named[name]
            x = other.forward(x, 2)
        return x

    @torch.jit.export
    def encode_padded(self, x: Tensor, hidden: Tensor) -> Tensor:
        return self.encoder(x, src_key_padding_mask=hidden)


def padding(*lengths):
    """True where a row of that many elements is padded; 3 of them at least."""
    size = max(3, max(lengths))
    return torch.arange(size)[None] >= torch.tensor(lengths)[:, None]


def rows(n):
    return torch.randn(n, 4)


RUNS = {
    "write_then_ask": [(rows(3),), (rows(4).abs(),), (-rows(5).abs(),)],
    "write_in_a_branch": [(rows(3), torch.tensor(True)),
                          (rows(4), torch.tensor(False)),
                          (rows(5), torch.tensor(True))],
    "write_in_a_loop": [(rows(3) + 1,), (rows(4) * 3,), (-rows(5).abs(),)],
    "write_on_one_side": [(rows(3),), (rows(5),), (rows(7),)],
    "write_another_dtype": [(torch.randn(6), torch.tensor(2)),
                            (torch.randn(8), torch.tensor(4)),
                            (torch.randn(7), torch.tensor(0))],
    "views_are_read_again": [(rows(3),), (rows(5),), (rows(6),)],
    "copies_are_not": [(rows(3),), (rows(5),), (rows(6),)],
    "view_of_no_dims": [(torch.randn(6), torch.tensor(2)),
                        (torch.randn(8), torch.tensor(4))],
    "list_of_sizes": [(torch.randn(2, 5, 6),), (torch.randn(2, 7, 4),)],
    "dict_of_pairs": [(rows(3),), (rows(5),)],
    "fill_the_diagonal": [(rows(3),), (rows(5),), (rows(2),)],
    "modules_by_number": [(rows(3),), (rows(5),)],
    "encode_padded": [(torch.randn(2, 4, 4), padding(4, 2)),
                      (torch.randn(2, 4, 4), padding(4, 4)),
                      (torch.randn(2, 4, 4), padding(1, 4).flip(1)),
                      (torch.randn(3, 6, 4), padding(2, 6, 0))],
}


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value.numpy() if isinstance(value, Tensor) else np.array(value)]


def main():
    torch.manual_seed(7)
    script = torch.jit.script(Methods().eval())
    torch.jit.save(script, os.path.join(HERE, "methods.ts"))
    relative_paths.rewrite(os.path.join(HERE, "methods.ts"))
    arrays = {}
    for name, runs in RUNS.items():
        for k, args in enumerate(runs):
            with torch.no_grad():
                out = getattr(script, name)(*[a.clone() for a in args])
            for i, a in enumerate(args):
                arrays["%s.%d.in%d" % (name, k, i)] = a.numpy()
            for i, a in enumerate(leaves(out)):
                arrays["%s.%d.out%d" % (name, k, i)] = a
    np.savez_compressed(os.path.join(HERE, "methods.npz"), **arrays)


if __name__ == "__main__":
    main()
