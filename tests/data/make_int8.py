#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/int8: a small quantized network for tests/compiler/int8_model_test.c, as a trace with fake quantization.

Beside the archive there is NAME.npz: in_0, a batch; out_0, PyTorch's result of the archive; x86_0, what PyTorch's x86 engine
makes of the same numbers by its quantized operators; step, the scale of the last quantization, to which all results are
rounded. Activations are uint8, or int8 with their numbers moved, weights int8 per channel.

Usage: make_int8.py [folder]. Needs torch and numpy.
"""
import os
import sys

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import relative_paths

HERE = os.path.dirname(os.path.abspath(__file__))
torch.backends.quantized.engine = "x86"
ops = torch.ops.quantized


class Grid:
    """A scale and a zero point of uint8; `signed` moves both by 128."""

    def __init__(self, low, high, signed=False):
        self.scale = (high - low) / 255
        self.zero = round(-low / self.scale)
        self.signed = signed

    def fake(self, x):
        shift = 128 if self.signed else 0
        return torch.fake_quantize_per_tensor_affine(x, self.scale, self.zero - shift, -shift, 255 - shift)


class Layer:
    """The weights of a convolution or product, on a grid per output map."""

    def __init__(self, shape, groups=1, stride=1, padding=0):
        self.weight = torch.randn(shape) * (2.0 / np.prod(shape[1:])) ** 0.5
        self.scale = self.weight.flatten(1).abs().amax(1) / 127
        self.zero = torch.zeros(shape[0], dtype=torch.int32)
        self.bias = torch.randn(shape[0]) * 0.1
        self.arguments = ([stride] * 2, [padding] * 2, [1, 1], groups)

    def fake_weight(self):
        return torch.fake_quantize_per_channel_affine(self.weight, self.scale, self.zero, 0, -127, 127)

    def packed(self):
        q = torch.quantize_per_channel(self.weight, self.scale.double(), self.zero.long(), 0, torch.qint8)
        if self.weight.dim() == 2:
            return ops.linear_prepack(q, self.bias)
        stride, padding, dilation, groups = self.arguments
        return ops.conv2d_prepack(q, self.bias, stride, padding, dilation, groups)

    def convolve(self, x):
        return F.conv2d(x, self.fake_weight(), self.bias, *self.arguments)


class Net(nn.Module):
    """A strided convolution; a depthwise and a pointwise one beside a shortcut, which are added; pooling; a convolution of two
    groups with a residual; an activation by itself; a mean; a product of rows."""

    def __init__(self):
        super().__init__()
        self.first = Layer((16, 3, 3, 3), stride=2, padding=1)
        self.depthwise = Layer((16, 1, 3, 3), groups=16, padding=1)
        self.pointwise = Layer((24, 16, 1, 1))
        self.shortcut = Layer((24, 16, 1, 1))
        self.grouped = Layer((24, 12, 3, 3), groups=2, padding=1)
        self.last = Layer((10, 24))
        self.grids = [Grid(-2.2, 2.1), Grid(0, 4), Grid(0, 3, True), Grid(-4, 4), Grid(-4, 4.5, True), Grid(0, 6),
                      Grid(-5, 5), Grid(0, 1), Grid(0, 0.9), Grid(-3, 3)]

    def forward(self, x):
        q = [g.fake for g in self.grids]
        x = q[1](F.relu(self.first.convolve(q[0](x))))
        y = q[2](F.relu(self.depthwise.convolve(x)))
        y = q[3](self.pointwise.convolve(y))
        x = q[5](F.relu(y + q[4](self.shortcut.convolve(x))))
        x = F.max_pool2d(x, 2)
        x = q[6](self.grouped.convolve(x))
        x = q[7](torch.sigmoid(x))
        x = q[8](x.mean((2, 3)))
        return q[9](F.linear(x, self.last.fake_weight(), self.last.bias))

    def x86(self, x):
        g = [(g.scale, g.zero) for g in self.grids]
        x = torch.quantize_per_tensor(x, *g[0], torch.quint8)
        x = ops.conv2d_relu(x, self.first.packed(), *g[1])
        y = ops.conv2d_relu(x, self.depthwise.packed(), *g[2])
        y = ops.conv2d(y, self.pointwise.packed(), *g[3])
        x = ops.add_relu(y, ops.conv2d(x, self.shortcut.packed(), *g[4]), *g[5])
        x = F.max_pool2d(x, 2)
        x = ops.conv2d(x, self.grouped.packed(), *g[6])
        x = ops.sigmoid(x, *g[7])
        x = torch.quantize_per_tensor(x.dequantize().mean((2, 3)), *g[8], torch.quint8)
        return ops.linear(x, self.last.packed(), *g[9]).dequantize()


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "int8")
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(5)
    net, x = Net().eval(), torch.randn(4, 3, 18, 18)
    with torch.no_grad():
        traced = torch.jit.freeze(torch.jit.trace(net, x, check_trace=False))
        traced.save(os.path.join(folder, "cnn.ts"))
        relative_paths.rewrite(os.path.join(folder, "cnn.ts"))
        np.savez(os.path.join(folder, "cnn.npz"), in_0=x.numpy(), out_0=net(x).numpy(), x86_0=net.x86(x).numpy(),
                 step=np.float32(net.grids[-1].scale))


main()
