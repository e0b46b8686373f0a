# SPDX-License-Identifier: Apache-2.0
"""Makes the model of docs/walkthroughs.md with two operators of a user's own,
and what PyTorch computes with it. In PyTorch the operators are Python functions
here; in Bessemer they are those of scale_shift.c and swish_clamp.c.

Writes beside this script:
  model.ts      the scripted model
  x.npy         an input, float32 [2, 3, 16, 16]
  expected.npz  that input, and PyTorch's result

Needs torch and numpy.
"""
import os
import sys

import numpy as np
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
import relative_paths

library = torch.library.Library("demo", "DEF")
library.define("swish_clamp(Tensor x, float limit=6.0) -> Tensor")
library.define("scale_shift(Tensor x, Tensor scale, Tensor shift) -> Tensor")


def swish_clamp(x, limit=6.0):
    return torch.clamp(x * torch.sigmoid(x), max=limit)


def scale_shift(x, scale, shift):
    return x * scale[:, None, None] + shift[:, None, None]


library.impl("swish_clamp", swish_clamp, "CPU")
library.impl("scale_shift", scale_shift, "CPU")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.scale = nn.Parameter(torch.rand(8) + 0.5)
        self.shift = nn.Parameter(torch.randn(8))
        self.linear = nn.Linear(8, 5)

    def forward(self, x):
        x = torch.ops.demo.scale_shift(self.conv(x), self.scale, self.shift)
        x = torch.ops.demo.swish_clamp(x, 0.75)
        return self.linear(x.mean([2, 3]))


def main():
    torch.manual_seed(0)
    model = Model().eval().requires_grad_(False)
    x = torch.randn(2, 3, 16, 16)
    scripted = torch.jit.script(model)
    path = os.path.join(HERE, "model.ts")
    scripted.save(path)
    relative_paths.rewrite(path)
    np.save(os.path.join(HERE, "x.npy"), x.numpy())
    np.savez(os.path.join(HERE, "expected.npz"), in_0=x.numpy(), out_0=scripted(x).numpy())


if __name__ == "__main__":
    main()
