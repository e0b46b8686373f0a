# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/onnx: traced functions, each with many results of a family
of operators, their inputs and what PyTorch computes, for scripts/check_onnx.py.

Needs torch and numpy.
"""
import io
import os
import zipfile

import numpy as np
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "onnx")


def activations(x):
    simple = (F.relu, torch.sigmoid, torch.tanh, F.leaky_relu, F.elu, F.selu,
              F.softsign, F.softplus, F.hardtanh, F.hardsigmoid, F.gelu, F.silu,
              F.hardswish, F.mish, F.logsigmoid, F.relu6, F.celu)
    return [f(x) for f in simple] + [
        F.gelu(x, approximate="tanh"), F.threshold(x, 0.3, -1.0),
        F.softplus(x, 2.0), F.prelu(x, torch.arange(6.0) / 6)]


def unary(x):
    some = x.abs() + 0.1
    simple = (torch.exp, torch.abs, torch.neg, torch.sin, torch.cos, torch.tan,
              torch.sinh, torch.cosh, torch.atan, torch.asinh, torch.ceil,
              torch.floor, torch.erf, torch.sign, torch.round, torch.trunc,
              torch.expm1, torch.erfc, torch.square, torch.frac, torch.exp2,
              torch.isnan, torch.isinf)
    return [f(x) for f in simple] + [f(some) for f in (
        torch.log, torch.sqrt, torch.reciprocal, torch.rsqrt, torch.log2,
        torch.log10, torch.log1p)] + [
            torch.asin(x.clamp(-1, 1)), torch.acos(x.clamp(-1, 1))]


def binary(x):
    y = x.flip(0)
    return [x + y, torch.maximum(x, y), torch.minimum(x, y), x / (y.abs() + 1),
            torch.floor_divide(x, 0.7), torch.remainder(x, 0.7),
            torch.fmod(x, 0.7), torch.div(x, 0.7, rounding_mode="trunc"),
            x > 0.1, x <= 0.1, x == x, x != y, torch.pow(x.abs(), 1.7),
            (x > 0) & (x < 1), (x > 0) | (x < -1), (x > 0) ^ (x < 1), ~(x > 0)]


def integers(i, j):
    return [torch.floor_divide(i, j), torch.remainder(i, j), torch.fmod(i, j),
            torch.div(i, j, rounding_mode="trunc"), i * j, i - j,
            torch.maximum(i, j), i & j, i | j, i ^ j, ~i, i > j, i.abs(),
            i.sign(), i.sum(), i.float(), i.to(torch.int32), i != j]


def bits(i, j):
    narrow, truth, other = i.to(torch.int32), i > 0, j > 0
    return [i << j, i >> j, i >> 63, i >> 64, i << 62, i >> 1, narrow << j,
            narrow >> 3, narrow << 31, narrow >> 40, i.to(torch.uint8) >> 2,
            i.to(torch.int8) << 5, truth > other, truth < other,
            truth >= other, truth <= other, truth == other, truth != other]


def reductions(x):
    return [x.sum(), x.mean((2, 3)), x.amax(1, keepdim=True), x.amin((0, 1)),
            x.prod(3), x.var(1), x.std((2, 3), unbiased=False), (x > 0).any(1),
            (x > -9).all(), x.norm(2, 1), x.abs().sum(2),
            torch.logsumexp(x, 1), x.argmax(1), x.argmin(2),
            torch.cumsum(x, 2), (x > 0).any()]


def pooling(x):
    return [F.max_pool2d(x, 3, 2, 1),
            F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
            F.max_pool2d(x, 2, 1, 0, 2), F.avg_pool2d(x, 3, 2, 1),
            F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
            F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
            F.avg_pool2d(x, 2, divisor_override=3), F.adaptive_avg_pool2d(x, 1),
            F.adaptive_avg_pool2d(x, (4, 5)), F.adaptive_max_pool2d(x, (2, 2)),
            F.max_pool2d(x[0], 2), F.avg_pool1d(x[0], 2)]


def resizing(x):
    return [F.interpolate(x, scale_factor=2.0), F.interpolate(x, (5, 7)),
            F.interpolate(x, scale_factor=1.5, mode="bilinear"),
            F.interpolate(x, (5, 7), mode="bilinear"),
            F.interpolate(x, (13, 7), mode="bilinear", align_corners=True),
            F.interpolate(x, (13, 17), mode="bicubic"),
            F.interpolate(x, (5, 7), mode="nearest-exact"),
            F.interpolate(x[:, :, 0], scale_factor=2.0, mode="linear"),
            F.interpolate(x, (1, 1), mode="bilinear")]


def moving(x):
    return [x.permute(0, 2, 3, 1), x[:, 1:5:2], x[:, :, -3:], x.flip(2),
            F.pad(x, (1, 2, 3, 0)), F.pad(x, (1, 2, 1, 1), mode="reflect"),
            F.pad(x, (1, 2, 1, 1), mode="replicate"), F.pad(x, (-1, 2)),
            torch.cat([x, x], 1), torch.stack([x, x], 2), x.view(2, -1),
            x.unsqueeze(1).expand(2, 3, 6, 8, 10), torch.where(x > 0, x, -x),
            x.masked_fill(x > 0, 1.5), x.roll(1, 2), *x.chunk(2, 1), x.tril(),
            F.pixel_shuffle(x[:, :4], 2), torch.zeros_like(x),
            x.repeat(1, 2, 1, 1)]


def gathering(x, i):
    ones = torch.ones(2, 2, 8, 10, dtype=torch.long)
    twos = torch.full((2, 1, 8, 10), 2)
    return [x.index_select(1, torch.tensor([0, 3, 2])), torch.gather(x, 1, ones),
            x.topk(3, 1)[0], x.topk(3, 1)[1], x.sort(1)[0], x[:, [0, 2, 1]],
            x.scatter(1, twos, x[:, :1]), x.scatter_add(1, twos, x[:, :1]),
            F.one_hot(i.abs(), 10),
            F.embedding(i.abs(), x[0].reshape(-1, 10)[:12])]


def normalizing(x):
    return [F.layer_norm(x, (10,)),
            F.layer_norm(x, (8, 10), torch.ones(8, 10) * 2, torch.ones(8, 10)),
            F.group_norm(x, 3, torch.arange(6.0), torch.ones(6)),
            F.instance_norm(x),
            F.batch_norm(x, torch.ones(6), torch.ones(6) * 2),
            F.normalize(x, dim=1), F.softmax(x, 1), F.log_softmax(x, -1),
            F.local_response_norm(x, 3)]


def products(x):
    return [x @ x.transpose(2, 3), torch.matmul(x[0, 0], x[0, 0].t()),
            torch.einsum("bchw,bdhw->bcd", x, x),
            F.linear(x, torch.ones(4, 10), torch.arange(4.0)),
            torch.baddbmm(torch.ones(6, 8, 8), x[0], x[1].transpose(1, 2),
                          beta=0.5, alpha=2.0),
            F.conv2d(x, torch.ones(4, 3, 3, 3) * 0.1, padding=1, groups=2),
            F.conv_transpose2d(x, torch.ones(6, 2, 3, 3) * 0.1, stride=2,
                               padding=1, output_padding=1, groups=2),
            F.conv1d(x[0], torch.ones(3, 8, 3) * 0.1),
            F.scaled_dot_product_attention(x, x, x, is_causal=True)]


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.levels = torch.nn.ModuleList([
            torch.nn.LSTM(10, 5, bidirectional=True), torch.nn.GRU(10, 4),
            torch.nn.RNN(10, 3), torch.nn.RNN(10, 3, nonlinearity="relu"),
            torch.nn.GRU(10, 4, bidirectional=True, bias=False)])

    def forward(self, x):
        results = []
        for level in self.levels:
            y, state = level(x[0])
            results += [y, *state] if isinstance(state, tuple) else [y, state]
        return tuple(results)


class Function(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *inputs):
        return tuple(self.f(*inputs))


def save(traced, path):
    """Without the debug files, which hold paths of the machine."""
    whole = io.BytesIO()
    torch.jit.save(traced, whole)
    with zipfile.ZipFile(whole) as read, zipfile.ZipFile(path, "w") as written:
        for entry in read.infolist():
            if not entry.filename.endswith(".debug_pkl"):
                info = zipfile.ZipInfo(entry.filename)
                written.writestr(info, read.read(entry))


def write(name, module, inputs):
    module = module.eval()
    with torch.no_grad():
        results = module(*inputs)
        traced = torch.jit.trace(module, inputs, check_trace=False)
    save(traced, os.path.join(OUT, name + ".ts"))
    arrays = {f"in_{k}": v.numpy() for k, v in enumerate(inputs)}
    arrays.update({f"out_{k}": v.numpy() for k, v in enumerate(results)})
    np.savez_compressed(os.path.join(OUT, name + ".npz"), **arrays)


def main():
    os.makedirs(OUT, exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    x = torch.randn(2, 6, 8, 10)
    i = torch.randint(-9, 9, (4, 5))
    j = torch.randint(1, 7, (4, 5)) * (2 * torch.randint(0, 2, (4, 5)) - 1)
    for f in (activations, unary, binary, reductions, pooling, resizing, moving,
              normalizing, products):
        write(f.__name__, Function(f), (x,))
    write("integers", Function(integers), (i, j))
    write("bits", Function(bits), (i, j))
    write("gathering", Function(gathering), (x, i))
    write("recurrent", Recurrent(), (x,))


if __name__ == "__main__":
    main()
