#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/squeeze_excite, for tests/cuda/squeeze_excite_test.c: small
networks that squeeze and excite (.ts), inputs, what they are exactly (float64)
and what PyTorch's CPU makes of them in 16 bits (.npz).

Usage: make_squeeze_excite.py [folder]
"""
import copy
import os
import sys

import numpy as np
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
import relative_paths  # noqa: E402


class Block(nn.Module):
    """A pointwise convolution, its gates, and one more behind them."""

    def __init__(self, maps, units, unit, gate, bias=True, adds=False):
        super().__init__()
        self.widen = nn.Conv2d(5, maps, 1)
        self.reduce = nn.Conv2d(maps, units, 1, bias=bias)
        self.expand = nn.Conv2d(units, maps, 1, bias=bias)
        self.project = nn.Conv2d(maps, 4, 1)
        self.unit, self.gate, self.adds = unit, gate, adds

    def forward(self, x):
        x = self.widen(x)
        gates = self.unit(self.reduce(x.mean((2, 3), keepdim=True)))
        gates = self.gate(self.expand(gates))
        return self.project(x + gates if self.adds else x * gates)


def save(folder, name, model, shape):
    torch.manual_seed(len(name))
    model.eval()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape).mul(0.3).bfloat16())
        x = torch.randn(shape).bfloat16().float()
        traced = torch.jit.trace(model, x, check_trace=False)
        arrays = {"x": x, "exact": copy.deepcopy(model).double()(x.double())}
        for text, dtype in (("half", torch.float16),
                            ("bfloat", torch.bfloat16)):
            narrow = copy.deepcopy(model).to(dtype)
            arrays[text] = narrow(x.to(dtype)).float()
    traced.save(os.path.join(folder, name + ".ts"))
    relative_paths.rewrite(os.path.join(folder, name + ".ts"))
    np.savez(os.path.join(folder, name + ".npz"),
             **{k: v.numpy() for k, v in arrays.items()})


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(
        HERE, "squeeze_excite")
    os.makedirs(folder, exist_ok=True)
    # Fewer maps than a cluster has slices for, and a last slice that is small.
    save(folder, "few", Block(40, 6, nn.SiLU(), nn.Sigmoid()), (2, 5, 7, 5))
    # More than a warp of units, several pieces of maps in a block.
    save(folder, "many", Block(296, 37, nn.ReLU(), nn.Hardsigmoid()),
         (1, 5, 6, 6))
    save(folder, "plain", Block(64, 16, nn.ReLU(), nn.Sigmoid(), bias=False),
         (3, 5, 1, 9))
    # Gates that are not multiplied with.
    save(folder, "added", Block(24, 8, nn.ReLU(), nn.Sigmoid(), adds=True),
         (2, 5, 4, 4))


if __name__ == "__main__":
    main()
