#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/half, for tests/compiler/half_model_test.c: small networks
in float32, float16 and bfloat16 (.ts), inputs, what they are exactly (float64)
and what PyTorch's CPU makes of them in 16 bits (.npz). The values inside of
`great` are beyond float16.

Usage: make_half.py [folder]
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


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 20, 3, stride=2, padding=1)
        self.bn = nn.BatchNorm2d(20)
        self.depthwise = nn.Conv2d(20, 20, 3, padding=1, groups=20)
        self.point = nn.Conv2d(20, 34, 1)
        self.body = nn.Conv2d(34, 34, 3, padding=1)
        self.head = nn.Linear(34, 10)

    def forward(self, x):
        x = torch.relu(self.bn(self.stem(x)))
        x = nn.functional.max_pool2d(x, 3, 2, 1)
        x = torch.relu(self.point(torch.relu(self.depthwise(x))))
        x = torch.relu(self.body(x) + x)
        return self.head(x.mean((2, 3)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.qkv = nn.Linear(32, 96)
        self.out = nn.Linear(32, 32)
        self.up = nn.Linear(32, 77)
        self.down = nn.Linear(77, 32)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        scores = (q @ k.transpose(-2, -1)) * 0.2
        x = x + self.out(torch.softmax(scores, -1) @ v)
        return x + self.down(nn.functional.gelu(self.up(x)))


class Great(nn.Module):
    """Values of some 10^6 between two layers, and of 1 behind them."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(24, 40)
        self.second = nn.Linear(40, 8)
        with torch.no_grad():
            self.first.weight *= 2e6
            self.second.weight *= 1e-6

    def forward(self, x):
        return torch.tanh(self.second(torch.relu(self.first(x))))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(12, 10, 2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(20, 9, batch_first=True)
        self.head = nn.Linear(9, 5)

    def forward(self, x):
        return self.head(self.gru(self.lstm(x)[0])[0])


class Decoder(nn.Module):
    """Transposed convolutions: with a skip, depthwise, in groups, dilated."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 24, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(24, 30, 4, stride=2, padding=1)
        self.depthwise = nn.ConvTranspose2d(33, 33, 3, stride=2, padding=1,
                                            output_padding=1, groups=33)
        self.point = nn.Conv2d(33, 34, 1)
        self.grouped = nn.ConvTranspose2d(34, 32, 2, stride=2, groups=2)
        self.dilated = nn.ConvTranspose2d(32, 3, 3, padding=3, dilation=2)

    def forward(self, x):
        y = torch.relu(self.up(torch.relu(self.stem(x))))
        y = self.point(self.depthwise(torch.cat([x, y], 1)))
        y = self.dilated(torch.relu(self.grouped(y)))
        return nn.functional.avg_pool2d(y, 4)


def save(folder, name, model, shape):
    model.eval()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(p.bfloat16())  # what all dtypes have
        for b in model.buffers():
            if b.is_floating_point():
                b.copy_((b + 0.5 * torch.rand_like(b)).bfloat16())
        x = torch.randn(shape).bfloat16().float()
        arrays = {"x": x, "exact": model.double()(x.double())}
        model.float()
        torch.jit.trace(model, x).save(os.path.join(folder, name + ".ts"))
        relative_paths.rewrite(os.path.join(folder, name + ".ts"))
        for text, dtype in (("half", torch.float16),
                            ("bfloat", torch.bfloat16)):
            narrow = copy.deepcopy(model).to(dtype)
            arrays[text] = narrow(x.to(dtype)).float()
            file = os.path.join(folder, f"{name}_{text}.ts")
            torch.jit.trace(narrow, x.to(dtype)).save(file)
            relative_paths.rewrite(file)
    np.savez(os.path.join(folder, name + ".npz"),
             **{k: v.numpy() for k, v in arrays.items()})


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "half")
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(17)
    save(folder, "cnn", Cnn(), (2, 3, 24, 24))
    save(folder, "block", Block(), (2, 9, 32))
    save(folder, "great", Great(), (5, 24))
    os.remove(os.path.join(folder, "great_half.ts"))  # not a number
    save(folder, "recurrent", Recurrent(), (2, 7, 12))
    save(folder, "decoder", Decoder(), (1, 3, 14, 14))


main()
