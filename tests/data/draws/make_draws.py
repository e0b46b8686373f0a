#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what draws_test.c runs, beside this file: draws.ts, one module whose
exported methods draw random numbers, and draws.npz with what PyTorch's CPU
generator makes of them, to the bit: METHOD.<run>.in<i> and METHOD.<run>.out<i>.
Runs 0 and 1 follow torch.manual_seed(0), run 2 torch.manual_seed(SEED).

  make_draws.py   needs PyTorch, on a CPU without MKL's random streams, or
                  ATEN_CPU_CAPABILITY=default
"""
import os
import sys
from typing import List, Tuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../scripts"))
import relative_paths

SEED = 1234567


class Methods(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 24)
        self.second = nn.Linear(24, 4)
        self.drop = nn.Dropout(0.5)
        with torch.no_grad():  # sums that no order of additions rounds
            for p in self.parameters():
                p.copy_(torch.randint(-4, 5, p.shape).float())

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.randn_like(x)

    @torch.jit.export
    def noise(self, x: Tensor) -> Tensor:
        return torch.relu(x + torch.randn_like(x)) * 2.0

    @torch.jit.export
    def of_sizes(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        a = torch.rand([3, 5])
        b = torch.randn([17], dtype=torch.float64)
        return a, b, torch.randint(-3, 9, [6]), torch.randperm(11)

    @torch.jit.export
    def filled(self, x: Tensor) -> List[Tensor]:
        a = torch.empty_like(x).uniform_(-1.0, 1.0)
        b = torch.empty_like(x).normal_(1.0, 3.0)
        c = torch.zeros(9, dtype=torch.int64).random_(0, 100)
        d = torch.empty_like(x).bernoulli_(0.25)
        a[1] = torch.rand([4])
        return [a + x, b, c, d]

    @torch.jit.export
    def by_tensors(self, x: Tensor) -> List[Tensor]:
        p = (x.abs() / 8).clamp(0.0, 1.0)
        a = torch.bernoulli(p)
        b = torch.normal(x, 0.5)
        c = torch.multinomial(p + 0.125, 3)
        d = torch.multinomial(p + 0.125, 5, replacement=True)
        return [a, b, c, d, torch.rand_like(p)]

    @torch.jit.export
    def transposed(self, x: Tensor) -> List[Tensor]:
        y = x.reshape(2, 4, 2).permute(2, 0, 1)
        z = torch.zeros([3, 4]).t()
        z.uniform_(-2.0, 2.0)
        return [y * torch.rand_like(y), F.dropout(y, 0.5, True), z,
                torch.rand_like(y, memory_format=torch.contiguous_format)]

    # ---- the order of draws is that of the program, and all are made

    @torch.jit.export
    def in_order(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        y = torch.relu(x) + 1.0
        a = y * torch.rand_like(y)
        b = torch.rand([4])
        torch.rand([7])  # nobody asks for these
        c = torch.neg(a) * torch.randint(0, 5, [4])
        return a, b, c + torch.randn([4])

    @torch.jit.export
    def in_branches(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        if bool(x.sum() > 0):
            y = x + torch.rand_like(x)
        else:
            y = x * torch.randint(1, 4, [4])
        unused = torch.zeros([1])
        if bool(x.sum() > 1):
            unused = torch.rand([3])
        return y, torch.rand([5])

    @torch.jit.export
    def in_loops(self, x: Tensor) -> Tuple[Tensor, int]:
        for _ in range(3):
            x = x + torch.randint(0, 3, [4])
        turns = 0
        while bool(x.max() > 1.0):
            x = x * torch.rand_like(x)
            turns += 1
        return x, turns

    @torch.jit.export
    def shared_memory(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        a, b = torch.zeros([4]), torch.zeros([4])
        rows = [a, b]
        rows[int(x.sum() > 0)].uniform_()
        b.add_(torch.rand([4]))
        return a, b

    @torch.jit.export
    def sampled(self, x: Tensor) -> Tensor:
        tokens: List[Tensor] = []
        for _ in range(4):
            p = torch.softmax(x, 1)
            token = torch.multinomial(p, 1)
            tokens.append(token)
            x = torch.cumsum(x, 1) * 0.25 + token
        return torch.cat(tokens, 1)

    # ---- models in training mode

    @torch.jit.export
    def dropped(self, x: Tensor) -> Tensor:
        x = x.round()
        x = self.drop(torch.relu(self.first(x)))
        return self.drop(self.second(x))

    @torch.jit.export
    def dropped_in_ways(self, x: Tensor) -> List[Tensor]:
        image = x.reshape(1, -1, 2, 2)
        return [F.dropout(x, 0.3, True), F.dropout2d(image, 0.5, True),
                F.alpha_dropout(x, 0.4, True), F.rrelu(x, 0.1, 0.3, True),
                F.dropout(x, 0.7, False), F.dropout(x, 0.0, True),
                F.dropout(x, 1.0, True), torch.rand([2])]

    # ---- shapes that range

    @torch.jit.export
    def ranging(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        y = torch.relu(x) * 2.0 + 1.0
        y = y.cumsum(1) + torch.randint_like(x, 5)
        z = torch.rand([x.size(0), 2])
        y = torch.relu(y.t() - 1.0).flip(0)
        return F.dropout(y, 0.5, True), z, torch.randperm(x.size(0))

    @torch.jit.export
    def ranging_in_a_branch(self, x: Tensor) -> Tensor:
        y = torch.relu(x) + 1.0
        if x.size(0) > 3:
            y = y * torch.rand_like(y)
        y = y.abs() + 0.5
        return y - torch.rand([x.size(0), 1])


RANGING = ["ranging", "ranging_in_a_branch"]
FIXED = ["noise", "of_sizes", "filled", "transposed", "by_tensors", "in_order",
         "in_branches", "in_loops", "shared_memory", "sampled", "dropped",
         "dropped_in_ways"]


def leaves(value):
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value.numpy() if isinstance(value, Tensor) else np.array(value)]


def main():
    torch.manual_seed(7)
    script = torch.jit.script(Methods().train())
    torch.jit.save(script, os.path.join(HERE, "draws.ts"))
    relative_paths.rewrite(os.path.join(HERE, "draws.ts"))
    arrays = {}
    for name in FIXED + RANGING:
        rows = [3, 5, 2] if name in RANGING else [4, 4, 4]
        inputs = [torch.randn(n, 4) * 3 for n in rows]
        inputs[1] = -inputs[1].abs()
        for k, x in enumerate(inputs):
            if k != 1:
                torch.manual_seed(0 if k == 0 else SEED)
            arrays["%s.%d.in0" % (name, k)] = x.numpy()
            with torch.no_grad():
                out = getattr(script, name)(x.clone())
            for i, a in enumerate(leaves(out)):
                arrays["%s.%d.out%d" % (name, k, i)] = a
    np.savez_compressed(os.path.join(HERE, "draws.npz"), **arrays)


if __name__ == "__main__":
    main()
