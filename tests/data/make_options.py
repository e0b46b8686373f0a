#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes options.ts and frozen_*.ts in tests/data/compiler, for
tests/compiler/compile_options_test.c and frozen_trace_test.c.

Usage: make_options.py [folder]
"""
import io
import os
import sys
import warnings
import zipfile

import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import relative_paths

HERE = os.path.dirname(os.path.abspath(__file__))


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, n)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.fc(x)) + x


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = Block(8)
        self.layer2 = Block(8)

    def forward(self, x):
        return self.layer2(self.layer1(x))


class Options(nn.Module):
    """Two blocks, and methods with control flow and with what cannot run."""

    def __init__(self):
        super().__init__()
        self.backbone = Body()
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return torch.softmax(self.head(torch.relu(self.backbone(x))), 1)

    @torch.jit.export
    def steps(self, x):
        n = 0
        while bool(x.sum() > 1) and n < 4:
            x = torch.tanh(self.backbone(x)) * 0.5 - 0.125
            n += 1
        if bool(x.mean() > 0):
            x = torch.relu(x) + 1
        return self.head(x), torch.nonzero(x)

    @torch.jit.export
    def gradient(self, x):
        y = torch.sigmoid(self.head(x))
        return torch._standard_gamma_grad(y, y)


class Raises(nn.Module):
    """The batch of the example is in a view that no other batch fits."""

    def forward(self, x):
        return x.view(int(x.shape[0]), 2, 10).sum(2)


class Absorbs(nn.Module):
    """The same, but the view takes other batches, for something else."""

    def forward(self, x):
        return x.reshape(int(x.shape[0]), -1).mean(1)


class Length(nn.Module):
    """Fixes the length, not the batch."""

    def forward(self, x):
        return x + torch.arange(int(x.shape[1]))


class Fine(nn.Module):
    """Takes every shape."""

    def forward(self, x):
        return x.view(x.shape[0], 2, -1).sum(2) + torch.arange(2)


class Loop(nn.Module):
    """A loop over the second dimension, of the turns of its example; only the
    first two of the third are meant to be read."""

    def forward(self, x):
        state = x[:, :, 0].mean(1) + x[:, :, 1].sum(1)
        for step in range(x.shape[1]):
            state = torch.tanh(state + x.transpose(0, 1)[step].sum(1))
        steps = torch.relu(x)
        for step in range(x.shape[1]):
            state = state * 0.5 + steps[:, step, 0]
        return state


class Slice(nn.Module):
    """Takes as many columns as the example has."""

    def forward(self, x):
        return torch.relu(x)[:, :int(x.shape[1])] + x.shape[2]


class Even(nn.Module):
    """Takes images of even sizes."""

    def forward(self, x):
        return torch.pixel_unshuffle(x, 2)


class Unused(nn.Module):
    """A branch that the example did not take had another input."""

    def forward(self, x, y):
        return x + y if bool(x.sum() > 1e9) else x - 1


class Device(nn.Module):
    """Saved as a trace that was made on a GPU."""

    def forward(self, x):
        return x.to(torch.device("cpu")) + torch.arange(x.shape[1], device="cpu")


def save_as_from_gpu(module, example, path):
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.trace(module, example, check_trace=False), buffer)
    archive = zipfile.ZipFile(buffer)
    with zipfile.ZipFile(path, "w") as out:
        for member in archive.infolist():
            data = archive.read(member)
            if member.filename.endswith(".py"):
                data = data.replace(b'torch.device("cpu")', b'torch.device("cuda:0")')
            out.writestr(member.filename, data)
    relative_paths.rewrite(path)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "compiler")
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    torch.jit.script(Options().eval()).save(os.path.join(folder, "options.ts"))
    relative_paths.rewrite(os.path.join(folder, "options.ts"))
    x = torch.randn(3, 4, 5)
    save_as_from_gpu(Device(), torch.randn(3, 4), os.path.join(folder, "frozen_device.ts"))
    for module, args in ((Raises(), x), (Absorbs(), x), (Fine(), x), (Length(), torch.randn(3, 6)), (Unused(), (x, x)), (Loop(), x), (Slice(), x), (Even(), torch.randn(3, 4, 6))):
        name = "frozen_" + type(module).__name__.lower() + ".ts"
        torch.jit.trace(module, args, check_trace=False).save(os.path.join(folder, name))
        relative_paths.rewrite(os.path.join(folder, name))


if __name__ == "__main__":
    main()
