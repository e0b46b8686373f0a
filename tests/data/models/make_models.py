# SPDX-License-Identifier: Apache-2.0
"""Small relatives of real models, as tests/compiler/models_test.c runs them.

Writes beside this script, for each model NAME and each way to save it:
  NAME-script.ts, NAME-trace.ts, NAME-frozen.ts   where PyTorch can
  NAME-exported.pt2, NAME-core.pt2                by torch.export (2.11), and decomposed; without places in
                                                  the source, and packed
  NAME-vDIGITS.pt2                                with --version alone: exported by this version of PyTorch
  quantized-v26.pt2, quantized_dynamic-v26.pt2    with --quantized alone, and .npz: quantized by export (2.6)
  NAME.npz                                        in_0.., out_0.. by PyTorch

Names as arguments make only those. Needs torch and numpy; the tests need neither. Every file is small.
"""
import enum
import io
import json
import os
import sys
import zipfile
import zlib
from typing import Tuple

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts"))
import relative_paths

HERE = os.path.dirname(os.path.abspath(__file__))


class ConvBlock(nn.Sequential):
    def __init__(self, i, o, k=3, stride=1, groups=1, act=nn.ReLU):
        super().__init__(nn.Conv2d(i, o, k, stride, k // 2, groups=groups, bias=False),
                         nn.BatchNorm2d(o), act(inplace=True))


class BasicBlock(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(i, o, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(o)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(o)
        self.down = None
        if stride != 1 or i != o:
            self.down = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        identity = x
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.down is not None:
            identity = self.down(x)
        y += identity
        return self.relu(y)


class TinyResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8),
                                  nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        self.body = nn.Sequential(BasicBlock(8, 8, 1), BasicBlock(8, 16, 2))
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = self.pool(self.body(self.stem(x)))
        return self.fc(torch.flatten(x, 1))


class SqueezeExcite(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.down, self.up = nn.Conv2d(c, 8, 1), nn.Conv2d(8, c, 1)

    def forward(self, x):
        s = F.adaptive_avg_pool2d(x, 1)
        return F.hardsigmoid(self.up(F.relu(self.down(s))), inplace=True) * x


class TinyMobileNet(nn.Module):
    """Depthwise convolutions, squeeze-excite, hardswish, SiLU, dropout."""

    def __init__(self):
        super().__init__()
        self.stem = ConvBlock(3, 12, 3, 2, act=nn.Hardswish)
        self.expand = ConvBlock(12, 24, 1, act=nn.ReLU6)
        self.depthwise = ConvBlock(24, 24, 5, groups=24, act=nn.SiLU)
        self.se = SqueezeExcite(24)
        self.project = nn.Sequential(nn.Conv2d(24, 12, 1, bias=False), nn.BatchNorm2d(12))
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(12, 7))

    def forward(self, x):
        x = self.stem(x)
        y = self.project(self.se(self.depthwise(self.expand(x))))
        x = x + y
        return self.head(x.mean([2, 3]))


class Fire(nn.Module):
    def __init__(self, i, s, e):
        super().__init__()
        self.squeeze = nn.Conv2d(i, s, 1)
        self.e1, self.e3 = nn.Conv2d(s, e, 1), nn.Conv2d(s, e, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.e1(x)), F.relu(self.e3(x))], 1)


class TinySqueezeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(inplace=True),
                                      nn.MaxPool2d(3, 2, ceil_mode=True),
                                      Fire(8, 4, 6), Fire(12, 4, 8))
        self.classifier = nn.Sequential(nn.Dropout(0.5), nn.Conv2d(16, 5, 1),
                                        nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1))

    def forward(self, x):
        return torch.flatten(self.classifier(self.features(x)), 1)


class TinyUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2, self.mid = ConvBlock(3, 6), ConvBlock(6, 10), ConvBlock(10, 12)
        self.pool = nn.MaxPool2d(2)
        self.up2 = nn.ConvTranspose2d(12, 10, 2, stride=2)
        self.up1 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.up0 = nn.Upsample(scale_factor=2, mode="nearest")
        self.u2, self.u1 = ConvBlock(20, 10), ConvBlock(16, 6)
        self.wide = nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1, groups=2)
        self.head = nn.Conv2d(4, 2, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(self.pool(a))
        c = self.mid(self.pool(b))
        y = self.u2(torch.cat([b, self.up2(c)], 1))
        y = self.u1(torch.cat([a, self.up1(y)], 1))
        y = F.avg_pool2d(self.up0(y), 2)
        return torch.softmax(self.head(self.wide(y)), 1)


class TinyViT(nn.Module):
    def __init__(self, d=24, heads=3, patch=4):
        super().__init__()
        self.patch = nn.Conv2d(3, d, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, d) * 0.3)
        self.position = nn.Parameter(torch.randn(1, 17, d) * 0.1)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attention = nn.MultiheadAttention(d, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.head = nn.Linear(d, 5)

    def forward(self, x):
        n = x.shape[0]
        x = self.patch(x).reshape(n, -1, 16).permute(0, 2, 1)
        x = torch.cat([self.token.expand(n, -1, -1), x], dim=1) + self.position
        y = self.norm1(x)
        y, _ = self.attention(y, y, y, need_weights=False)
        x = x + y
        x = x + self.mlp(self.norm2(x))
        return self.head(x[:, 0])


class TinyBert(nn.Module):
    def __init__(self, d=16, heads=2, vocab=50):
        super().__init__()
        self.heads, self.size = heads, d // heads
        self.word, self.position = nn.Embedding(vocab, d), nn.Embedding(12, d)
        self.kind, self.norm0 = nn.Embedding(2, d), nn.LayerNorm(d, eps=1e-12)
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.out, self.norm1 = nn.Linear(d, d), nn.LayerNorm(d, eps=1e-12)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.norm2, self.pooler = nn.LayerNorm(d, eps=1e-12), nn.Linear(d, d)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, self.size).permute(0, 2, 1, 3)

    def forward(self, ids, mask, kinds):
        places = torch.arange(ids.size(1)).unsqueeze(0)
        x = self.norm0(self.word(ids) + self.position(places) + self.kind(kinds))
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * -10000.0
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / float(self.size) ** 0.5 + bias
        y = torch.matmul(torch.softmax(scores, dim=-1), v)
        y = y.permute(0, 2, 1, 3).contiguous().view(x.size(0), x.size(1), -1)
        x = self.norm1(self.out(y) + x)
        x = self.norm2(self.down(F.gelu(self.up(x))) + x)
        return x, torch.tanh(self.pooler(x[:, 0]))


class TinyEncoder(nn.Module):
    """nn.TransformerEncoder: the fast path's operators."""

    def __init__(self, d=16):
        super().__init__()
        self.emb = nn.Embedding(20, d, padding_idx=0)
        layer = nn.TransformerEncoderLayer(d, 2, 32, activation="gelu", batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(d))

    def forward(self, ids):
        return self.enc(self.emb(ids)).mean(1)


class Mixed(nn.Module):
    """In-place views, integer results, several outputs, a scalar result."""

    def forward(self, x):
        y = x.clone()
        y[:, 0] = 1.5
        y[:, 1:3] += x[:, 1:3]
        y[:, -1].mul_(2.0)
        best, where = y.max(dim=1)
        order = torch.argmax(x, dim=-1)
        groups = torch.chunk(x, 2, dim=1)
        z = torch.stack([groups[0], groups[1]], dim=0).transpose(0, 1).reshape(x.size(0), -1)
        big = (x > 0.5) & (y < 2)
        picked = torch.where(big, x, torch.zeros_like(x))
        return y, best, where, order, z, big, picked.sum(), x.size(1)


class Dense(nn.Module):
    """Normalisations, 1-d and dilated and grouped convolutions, padding."""

    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv1d(4, 8, 5, padding=4, dilation=2, groups=2)
        self.gn, self.inorm = nn.GroupNorm(2, 8), nn.InstanceNorm1d(8, affine=True)
        self.c2 = nn.Conv2d(8, 6, (3, 1), stride=(2, 1), padding=(1, 0), padding_mode="reflect")
        self.prelu = nn.PReLU(6)

    def forward(self, x):
        y = F.leaky_relu(self.gn(self.c1(x)), 0.1)
        y = F.elu(self.inorm(y)).unsqueeze(-1)
        y = self.prelu(self.c2(y)).squeeze(-1)
        y = F.pad(y, (1, 2), value=0.25)
        return F.log_softmax(F.max_pool1d(y, 2), 1), F.softplus(y).std(-1), y.norm(p=2, dim=1)


class State(nn.Module):
    """Attributes that only exist after __setstate__ has run."""

    def __init__(self):
        super().__init__()
        self.w, self.k = nn.Parameter(torch.randn(4)), 3

    @torch.jit.export
    def __getstate__(self):
        return (self.k, self.w * 2, self.training)

    @torch.jit.export
    def __setstate__(self, state: Tuple[int, torch.Tensor, bool]):
        self.k = state[0] + 1 - 1
        self.w = state[1] / 2
        self.training = state[2]

    def forward(self, x):
        return x * self.w + self.k


class Order(enum.Enum):
    FIRST = "first"
    LAST = "last"


class Choices(nn.Module):
    """A branch on an enum; places, weights and positions that are computed."""

    def __init__(self):
        super().__init__()
        self.order = Order.LAST

    def forward(self, x):
        y = x * 2 if self.order == Order.FIRST else x * 3
        best = x.argmax(1, keepdim=True)
        hot = torch.zeros_like(x).scatter_(1, best, 1.0)
        total = torch.zeros_like(x).scatter_add(1, best.expand_as(x), x)
        weight = y.mean((2, 3))[:, :, None, None]
        grid = torch.tanh(x[:, :2]).permute(0, 2, 3, 1)
        return y, hot, total, F.conv2d(x, weight), F.grid_sample(x, grid, align_corners=False)


class Tagger(nn.Module):
    """Labels each word: a bidirectional LSTM of two levels, the second one with
    projections; its last states are a result too."""

    def __init__(self, vocab=30, d=8, h=10):
        super().__init__()
        self.words = nn.Embedding(vocab, d)
        self.one = nn.LSTM(d, h, 2, bidirectional=True, batch_first=True, dropout=0.2)
        self.two = nn.LSTM(2 * h, h, bidirectional=True, batch_first=True, proj_size=4)
        self.head = nn.Linear(8, 5)

    def forward(self, ids):
        x, (h, c) = self.one(self.words(ids))
        y, last = self.two(x)
        return self.head(y), h, c, last


class Translator(nn.Module):
    """GRU encoder, attention, and a decoder that feeds its own words back."""

    def __init__(self, vocab=20, d=6, h=9):
        super().__init__()
        self.words = nn.Embedding(vocab, d)
        self.encoder = nn.GRU(d, h, bidirectional=True)
        self.bridge = nn.Linear(2 * h, h)
        self.cell = nn.GRUCell(d + 2 * h, h)
        self.memory = nn.LSTMCell(h, h)
        self.out = nn.Linear(h, vocab)

    def forward(self, source):
        seen, last = self.encoder(self.words(source))
        h = torch.tanh(self.bridge(torch.cat((last[0], last[1]), 1)))
        state = (h, torch.zeros_like(h))
        word = torch.zeros(source.size(1), dtype=torch.long)
        results = []
        for _ in range(4):
            weights = torch.softmax((self.bridge(seen) * h).sum(2), 0)
            context = (weights.unsqueeze(2) * seen).sum(0)
            h = self.cell(torch.cat((self.words(word), context), 1), h)
            state = self.memory(h, state)
            scores = self.out(state[0])
            word = scores.argmax(1)
            results.append(scores)
        return torch.stack(results), word


class Packed(nn.Module):
    """Sequences of different lengths, which the model knows."""

    def __init__(self, d=5, h=7):
        super().__init__()
        self.rnn = nn.LSTM(d, h, 2, bidirectional=True, batch_first=True)
        self.tail = nn.RNN(2 * h, h, nonlinearity="relu")
        self.register_buffer("lengths", torch.tensor([3, 6, 5]))

    def forward(self, x):
        packed = nn.utils.rnn.pack_padded_sequence(x, self.lengths, True, False)
        y, (h, c) = self.rnn(packed)
        z, _ = self.tail(y)
        y, lengths = nn.utils.rnn.pad_packed_sequence(y, True, -1.0, 8)
        z, _ = nn.utils.rnn.pad_packed_sequence(z)
        return y, z, h, c, lengths


class DoubleNet(nn.Module):
    """Every kind of product, in float64."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, stride=2, groups=8)
        self.point = nn.Conv2d(8, 12, 1, groups=2)
        self.up = nn.ConvTranspose2d(12, 4, 3, stride=2, output_padding=1)
        self.fc = nn.Linear(4, 5)
        self.double()

    def forward(self, x):
        x = F.relu(self.norm(self.stem(x)))
        x = self.up(F.max_pool2d(F.silu(self.point(self.depthwise(x))), 2))
        y = self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))
        return F.log_softmax(y, 1), F.interpolate(
            x, scale_factor=2.0, mode="bilinear")


class HalfBlock(nn.Module):
    """A transformer block in float16: PyTorch rounds after each operator."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(32), nn.LayerNorm(32)
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)
        self.half()

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(b, t, 3, 4, 8).permute(
            2, 0, 3, 1, 4).unbind(0)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, d))
        return (x + self.down(F.gelu(self.up(self.norm2(x))))).float()


class BfloatMlp(nn.Module):
    """Weights and sums of bfloat16 behind a float interface."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(20, 40), nn.Linear(40, 10)
        self.to(torch.bfloat16)

    def forward(self, x):
        x = torch.tanh(self.a(x.to(torch.bfloat16)))
        return torch.softmax(self.b(x), -1).float(), self.b(x).float()


class Float8(nn.Module):
    """A product of float8 weights that are dequantized, casts of both dtypes, and
    what moves such elements."""

    def __init__(self):
        super().__init__()
        w = torch.randn(6, 8)
        self.register_buffer("scale", w.abs().amax(1, keepdim=True) / 448)
        self.register_buffer("weight", (w / self.scale).to(torch.float8_e4m3fn))
        self.register_buffer("bias", torch.randn(6).to(torch.float8_e5m2))

    def forward(self, x):
        q = (x * 64).clamp(-448, 448).to(torch.float8_e4m3fn)
        w = self.weight.to(torch.float32) * self.scale
        y = (q.to(torch.float32) / 64) @ w.t() + self.bias.float()
        moved = q.reshape(4, 10).t().contiguous().to(torch.float32)
        return y, moved, x.to(torch.float8_e5m2).float(), \
            x.clamp(-464, 464).to(torch.float8_e4m3fn).half()


class IntegerNet(nn.Module):
    """Products of integers, which wrap around."""

    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.randint(-99, 99, (6, 5)))
        self.register_buffer("k", torch.randint(-99, 99, (3, 2, 3, 3)))

    def forward(self, x, image):
        narrow = image.to(torch.int8)
        return (F.linear(x, self.w), x[:, :5] @ (self.w.t() * 2**40),
                F.conv2d(image, self.k, None, padding=1),
                F.conv2d(narrow, self.k.to(torch.int8)),
                x.to(torch.uint8) @ self.w.t().to(torch.uint8))


class Buckets(nn.Module):
    """Searches in constants: of sizes around powers of two, with equal elements, and one that is in no order."""

    def __init__(self):
        super().__init__()
        for n in (1, 2, 3, 4, 7, 8, 30):
            self.register_buffer(f"b{n}", (torch.randn(n) * 2).round().sort()[0] / 2)
        self.register_buffer("integers", torch.tensor([-3, 0, 0, 2, 2**40]))
        self.register_buffer("mixed", torch.tensor([0.5, -1.0, 2.0, 0.0, 1.5]))

    def forward(self, x, i):
        return (torch.bucketize(x, self.b1), torch.bucketize(x, self.b2, right=True), torch.bucketize(x, self.b3),
                torch.bucketize(x, self.b4, out_int32=True), torch.bucketize(x, self.b7, right=True),
                torch.bucketize(x, self.b8), torch.bucketize(x, self.b30), torch.searchsorted(self.b30, x, right=True),
                torch.bucketize(i, self.integers), torch.searchsorted(self.integers, i, side="right"),
                torch.bucketize(i, self.integers.int()), torch.bucketize(x, self.mixed),
                torch.bucketize(x.double(), self.b8.double()))


class Spectral(nn.Module):
    """A spectrogram, a Fourier layer with complex weights, and the way back;
    complex numbers of Python and writes through views of complex tensors."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(2, 2, 5, dtype=torch.cfloat))
        self.register_buffer("window", torch.hann_window(32))
        self.register_buffer("mel", torch.rand(17, 6))

    def forward(self, x):
        s = torch.stft(x.flatten(0, 1), 32, 8, window=self.window,
                       return_complex=True)
        mel = torch.log(s.abs().pow(2).transpose(1, 2) @ self.mel + 1e-5)
        back = torch.istft(s * (1.5 - 0.5j), 32, 8, window=self.window,
                           onesided=True)
        f = torch.fft.rfft(x, norm="ortho")
        out = torch.zeros_like(f)
        out[:, :, :5] = torch.einsum("bif,iof->bof", f[:, :, :5], self.w)
        parts = torch.view_as_real(out)
        parts[..., 1] *= 0.5
        y = torch.fft.irfft(out, n=x.size(-1), norm="ortho")
        mixed = torch.fft.fft2(x[:, :, :21]).real
        return mel, back, y, mixed, torch.polar(y.abs(), y).imag


class Operators(nn.Module):
    """A call of each family of operators, for the front ends to agree on: x, y [2, 3, 4, 6], y > 0, i [2, 3]."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(6, 3, 3, 3))
        self.t = nn.Parameter(torch.randn(3, 2, 3, 3))
        self.m = nn.Parameter(torch.randn(6, 5))
        self.e = nn.Parameter(torch.randn(7, 4))
        self.g = nn.Parameter(torch.rand(1, 4, 4, 2) * 2 - 1)
        self.bilinear = nn.Bilinear(6, 6, 3)
        self.prelu = nn.PReLU(3)
        self.fold = nn.Fold((4, 5), 2)

    def forward(self, x, y, i):
        return [*self.element_wise(x, y), *self.numbers(x, y, i), *self.shapes(x, y, i), *self.reductions(x, y),
                *self.layers(x, y), *self.indices(x, y, i), *self.products(x, y)]

    def element_wise(self, x, y):
        one = [torch.abs, torch.atan, torch.ceil, torch.cos, torch.erf, torch.exp, torch.expm1, torch.floor, torch.frac,
               torch.neg, torch.round, torch.sigmoid, torch.sign, torch.sin, torch.sinh, torch.square, torch.tan,
               torch.tanh, torch.trunc, F.relu, F.relu6, F.elu, F.celu, F.selu, F.gelu, F.silu, F.mish, F.softplus,
               F.hardswish, F.hardsigmoid, F.hardtanh, F.leaky_relu, F.logsigmoid, F.softsign, F.tanhshrink,
               F.hardshrink, F.softshrink, self.prelu, torch.special.i0, torch.digamma, torch.nan_to_num]
        positive = [torch.log, torch.log10, torch.log1p, torch.log2, torch.rsqrt, torch.sqrt, torch.reciprocal,
                    torch.lgamma]
        return ([f(x) for f in one] + [f(y) for f in positive] +
                [torch.asin(x.clamp(-0.9, 0.9)), torch.logit(y / 9), F.gelu(x, approximate="tanh"), F.glu(x),
                 torch.add(x, y, alpha=2), x - y, 1 - x, x * y, x / y, 2 / y, x // y, x % y, torch.fmod(x, y), y ** x,
                 y ** 0.5, 2 ** x, torch.atan2(x, y), torch.hypot(x, y), torch.maximum(x, y), torch.minimum(x, y),
                 torch.fmax(x, y), torch.lerp(x, y, 0.3), torch.addcmul(x, y, y, value=0.5),
                 torch.addcdiv(x, x, y), torch.where(x > 0, x, y), torch.where(x > 0, x, 0.0), x.clamp(-0.5, 0.5),
                 x.clamp(max=y), torch.threshold(x, 0.1, -1.0), torch.copysign(x, y), torch.xlogy(x, y),
                 torch.logaddexp(x, y), torch.heaviside(x, y), torch.div(x, y, rounding_mode="trunc"),
                 torch.ldexp(x, torch.tensor(3)), torch.rsub(x, y), torch.rsub(x, 0.5)])

    def numbers(self, x, y, i):
        b, c = x > 0, y > 1
        return [x > y, x >= 0, x < y, x <= 0.5, x == y, x != 0, b & c, b | c, b ^ c, ~b, torch.logical_and(x, b),
                torch.logical_not(x), torch.isnan(x), torch.isinf(x / 0), torch.isfinite(x), torch.signbit(x), i + 1,
                i * 2.5, i // 2, i % 3, i / 4, i << 1, i >> 1, i & 3, i ^ 5, -i, i.float() + 0.5, x.to(torch.int32),
                b.to(torch.float32), i.double() * 1.5, x.half().float(), 0.5 + i, torch.bucketize(x, y[0, 0, 0].sort()[0]),
                torch.gcd(i, i + 6)]

    def shapes(self, x, y, i):
        return [x.permute(0, 2, 3, 1).contiguous(), x.transpose(1, 3), x.reshape(6, -1), x.view(2, -1), x.flatten(1),
                x.unsqueeze(2), x[:, :1].squeeze(1), x.expand(2, 2, 3, 4, 6), x.repeat(1, 2, 1, 1), x.tile(2),
                torch.cat([x, y], 1), torch.stack([x, y], -1), *x.split(2, 3), *x.chunk(2, 2), *x.unbind(1),
                *torch.split(x, [1, 3], 2), x[:, 1], x[..., ::2], x[:, :, 1:3, -2:], x.select(2, 1),
                x.narrow(3, 1, 4), x.flip([2, 3]), x.roll(1, 2), x.rot90(1, (2, 3)), x.unfold(3, 2, 2),
                F.pad(x, (1, 2, 0, 1)), F.pad(x, (1, 1, 1, 1), mode="reflect"), F.pad(x, (2, 1), value=3.0),
                F.pad(x, (1, 1, 1, 1), mode="replicate"), F.pad(x, (1, 1, 1, 1), mode="circular"),
                torch.diagonal(x, 0, 2, 3), torch.diag_embed(x[0, 0]), torch.tril(x), torch.triu(x, 1),
                x.movedim(1, 3), x.swapaxes(0, 1), x.as_strided((2, 3), (3, 2), 1), torch.meshgrid(i[0], i[1], indexing="ij")[0],
                F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2), F.pixel_unshuffle(x, 2), F.channel_shuffle(x.repeat(1, 2, 1, 1), 2),
                F.unfold(x, 2), self.fold(F.unfold(x[..., :5], 2)), x.repeat_interleave(2, 1), torch.zeros_like(x) + 1,
                torch.full_like(x, 2.0), x.new_ones(2, 3), torch.arange(5) + i[0, 0], torch.linspace(0, 1, 5) + x[0, 0, 0, 0],
                torch.eye(3) + x[0, 0, 0, 0], torch.atleast_3d(i), torch.broadcast_to(x[:1], (2, 3, 4, 6)), x.ravel(),
                x.unflatten(3, (2, 3)), torch.block_diag(x[0, 0], x[0, 1]), torch.cartesian_prod(i[0], i[1])]

    def reductions(self, x, y):
        return [x.sum(), x.sum((1, 3)), x.sum(2, keepdim=True), x.mean(), x.mean((2, 3)), x.mean(-1, keepdim=True),
                x.prod(3), x.amax((1, 2)), x.amin(-1), *x.max(2), *x.min(3), x.argmax(3), x.argmin(1), x.var(3),
                x.var((2, 3), unbiased=False), x.std(1), *torch.var_mean(x, 2), x.norm(), x.norm(dim=3),
                torch.linalg.vector_norm(x, 1, 2), (x > 0).any(), (x > 0).all(3), x.logsumexp(3), x.cumsum(2),
                y.cumprod(3), *x.cummax(3), torch.logcumsumexp(x, 2), x.softmax(1), x.log_softmax(-1), F.softmin(x, 2),
                F.normalize(x, dim=1), *x.sort(3), x.argsort(2, descending=True), *x.topk(2, 3), *x.kthvalue(2, 3),
                *x.median(2), x.count_nonzero(3), torch.aminmax(x, dim=3)[0], x.diff(dim=3), torch.trapezoid(x, dim=3),
                *x.mode(3), torch.cdist(x, y), F.cosine_similarity(x, y, 1),
                F.pairwise_distance(x, y), F.mse_loss(x, y), F.smooth_l1_loss(x, y), F.kl_div(x, y)]

    def layers(self, x, y):
        c = x.shape[1]
        wide = F.interpolate
        return [F.conv2d(x, self.w, padding=1), F.conv2d(x, self.w, stride=2, padding=(1, 0), dilation=2 - 1),
                F.conv2d(x, self.w[:3, :1], groups=3, padding="same"), F.conv1d(x[:, :, 0], self.w[:, :, 0]),
                F.conv3d(x.unsqueeze(2), self.w.unsqueeze(2), padding=(0, 1, 1)),
                F.conv_transpose2d(x, self.t, stride=2, output_padding=1), F.conv_transpose1d(x[:, :, 0], self.t[:, :, 0]),
                F.max_pool2d(x, 2), *F.max_pool2d(x, 2, 1, 1, return_indices=True), F.max_pool1d(x[:, 0], 3, 2),
                F.avg_pool2d(x, 2, ceil_mode=True), F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
                F.avg_pool1d(x[:, 0], 2), F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (3, 4)),
                F.adaptive_max_pool2d(x, 2), F.lp_pool2d(y, 2, 2), F.batch_norm(x, y[0, :, 0, 0], y[1, :, 0, 0]),
                F.layer_norm(x, (6,)), F.layer_norm(x, (4, 6), y[0, 0], x[0, 0]), F.group_norm(x, c), F.rms_norm(x, (6,)),
                F.instance_norm(x), F.local_response_norm(x, 2), F.dropout(x, 0.5, False), wide(x, scale_factor=2.0),
                wide(x, size=(7, 5), mode="bilinear"), wide(x, size=(7, 9), mode="bilinear", align_corners=True),
                wide(x, size=(3, 9), mode="bicubic"), wide(x, size=(2, 4), mode="bilinear", antialias=True),
                wide(x, size=(5, 5), mode="nearest-exact"), wide(x, size=(3, 2), mode="area"),
                F.grid_sample(x, self.g.expand(2, 4, 4, 2), align_corners=False),
                F.grid_sample(x, self.g.expand(2, 4, 4, 2), mode="nearest", padding_mode="border", align_corners=True),
                F.affine_grid(y[:, 0, :2, :3], [2, 3, 4, 5], align_corners=False)]

    def indices(self, x, y, i):
        at = i.clamp(0, 2)
        wide = at.view(2, 3, 1, 1).expand(2, 3, 4, 6)
        return [F.embedding(i, self.e), F.one_hot(i, 7), x.gather(1, wide), x.index_select(1, at[0]),
                torch.take_along_dim(x, wide, 1), x[:, at[0], :, at[1]], x[at[0] % 2], x[:, :, at[0, :2]],
                x.scatter(1, wide, y), x.scatter_add(1, wide, y), x.scatter(1, wide, 1.5),
                x.scatter_reduce(1, wide, y, "amax"), x.index_add(1, at[0], y), x.index_copy(1, torch.tensor([2, 0, 1]), y),
                x.index_fill(1, at[0], 0.5), x.index_put((at[0] % 2, at[1]), y[0, :, :]), x.masked_fill(x > 0, -1.0),
                x.slice_scatter(y[:, :, 1:3], 2, 1, 3), x.select_scatter(y[:, 0], 1, 2),
                torch.diagonal_scatter(x[0, 0], y[0, 0, :, 0]), x.take(i), torch.isin(i, at), torch.searchsorted(y[0, 0].sort()[0], x[0, 0]),
                F.embedding_bag(i, self.e), torch.histc(y, 4, 0.0, 4.0)]

    def products(self, x, y):
        return [x @ self.m, F.linear(x, self.m.t()), torch.bmm(x[:, 0], y[:, 1].transpose(1, 2)),
                torch.addmm(y[0, 0, :, :5], x[0, 0], self.m, beta=0.5, alpha=2), torch.baddbmm(y[:, 0, :, :4], x[:, 0], y[:, 1].mT),
                torch.mv(x[0, 0], y[0, 0, 0]), torch.dot(x[0, 0, 0], y[0, 0, 0]), torch.outer(x[0, 0, 0], y[0, 0, 0]),
                torch.einsum("bchw,bcvw->bhv", x, y), torch.tensordot(x, y, ([1, 3], [1, 3])), self.bilinear(x, y),
                torch.kron(x[0, 0], y[0, 0]), torch.cross(x, y, 1), F.scaled_dot_product_attention(x, y, x),
                F.scaled_dot_product_attention(x, y, x, is_causal=True), torch.linalg.inv(x[..., :4] + 5 * torch.eye(4)),
                torch.linalg.det(x[..., :4]), torch.fft.rfft(x).abs(), torch.fft.irfft(torch.fft.rfft(x)), torch.fft.fft2(x).real,
                torch.view_as_complex(x.reshape(2, 3, 4, 3, 2)).abs(), torch.polar(y, x).imag]


MODELS = {
    "operators": (Operators, lambda: (torch.randn(2, 3, 4, 6), torch.rand(2, 3, 4, 6) * 2 + 0.1,
                                      torch.randint(0, 7, (2, 3)))),
    "spectral": (Spectral, lambda: (torch.randn(2, 2, 60),)),
    "double_net": (DoubleNet, lambda: (torch.randn(2, 3, 16, 16).double(),)),
    "half_block": (HalfBlock, lambda: (torch.randn(2, 7, 32).half(),)),
    "bfloat_mlp": (BfloatMlp, lambda: (torch.randn(4, 20),)),
    # 464 is half way to what is NaN in e4m3; from 61440 on e5m2 is infinite.
    "float8": (Float8, lambda: (torch.cat([torch.randn(4, 8) * 2, torch.tensor(
        [[464.0, 455.9, -449.0, 432.0, 61439.0, 61440.0, 0.0009765625, 0.0029296875]])]),)),
    "integer_net": (IntegerNet, lambda: (torch.randint(-99, 99, (4, 5)),
                                         torch.randint(-99, 99, (1, 2, 6, 6)))),
    "buckets": (Buckets, lambda: (torch.cat([torch.arange(-14, 15) / 4, torch.tensor([np.inf, -np.inf, np.nan])]).view(2, 16),
                                  torch.tensor([[-9, -3, -1, 0], [1, 2, 2**40, 2**50]]))),
    "choices": (Choices, lambda: (torch.randn(2, 3, 4, 5),)),
    "state": (State, lambda: (torch.randn(2, 4),)),
    "resnet": (TinyResNet, lambda: (torch.randn(2, 3, 33, 35),)),
    "mobilenet": (TinyMobileNet, lambda: (torch.randn(2, 3, 17, 19),)),
    "squeezenet": (TinySqueezeNet, lambda: (torch.randn(1, 3, 32, 32),)),
    "unet": (TinyUNet, lambda: (torch.randn(1, 3, 16, 24),)),
    "vit": (TinyViT, lambda: (torch.randn(2, 3, 16, 16),)),
    "bert": (TinyBert, lambda: (torch.randint(0, 50, (2, 9)),
                                torch.tensor([[1] * 9, [1] * 5 + [0] * 4]),
                                torch.tensor([[0] * 4 + [1] * 5, [0] * 9]))),
    "encoder": (TinyEncoder, lambda: (torch.randint(1, 20, (2, 7)),)),
    "mixed": (Mixed, lambda: (torch.rand(3, 4) * 2 - 0.5,)),
    "tagger": (Tagger, lambda: (torch.randint(0, 30, (2, 6)),)),
    "translator": (Translator, lambda: (torch.randint(0, 20, (5, 3)),)),
    "packed": (Packed, lambda: (torch.randn(3, 6, 5),)),
    "dense": (Dense, lambda: (torch.randn(2, 4, 13),)),
}


# Where one way to save it will do.
ONLY = {"operators": "trace", "spectral": "script trace", "double_net": "script",
        "half_block": "trace", "bfloat_mlp": "trace", "integer_net": "script", "buckets": "script",
        "float8": "trace"}


def slim(data, path):
    """The archive in `data` without the text that only people read; JSON packed, the rest aligned for mapping."""
    with zipfile.ZipFile(data) as archive, zipfile.ZipFile(path, "w") as out:
        for item in archive.infolist():
            body = archive.read(item)
            if item.filename.endswith("/models/model.json"):
                program = json.loads(body)
                for node in program["graph_module"]["graph"]["nodes"]:
                    node["metadata"] = {}
                body = json.dumps(program).encode()
            entry = zipfile.ZipInfo(item.filename)
            if item.filename.endswith(".json"):
                entry.compress_type = zipfile.ZIP_DEFLATED
            else:
                pad = -(out.fp.tell() + 30 + len(item.filename) + 4) % 64
                entry.extra = b"FB" + pad.to_bytes(2, "little") + b"Z" * pad
            out.writestr(entry, body)
    relative_paths.rewrite(path)


def export(model, inputs, name, version):
    """The programs; those that PyTorch does not export, or whose results are others, are told and skipped."""
    try:
        with torch.no_grad():
            program = torch.export.export(model, inputs, strict=False)
            programs = {"exported": program, "core": program.run_decompositions()}
            if version:
                programs = {"v" + "".join(torch.__version__.split(".")[:2]): program}
            for how, each in programs.items():
                wanted, given = flatten(model(*inputs)), flatten(each.module()(*inputs))
                if [x.shape for x in wanted] != [x.shape for x in given]:
                    raise ValueError(f"{how}: other results")
                data = io.BytesIO()
                torch.export.save(each, data)
                slim(data, os.path.join(HERE, f"{name}-{how}.pt2"))
    except Exception as error:
        print(name, "is not exported:", str(error).splitlines()[0][:100])


class ToQuantize(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.fc = nn.Linear(128, 10)

    def forward(self, x):
        x = torch.relu(self.c1(x))
        x = F.max_pool2d(torch.relu(self.c2(x) + x), 2)
        return self.fc(x.flatten(1))


def quantize():
    """Weights per channel, activations per tensor; of the second, by what they are when the model runs."""
    from torch.ao.quantization.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torch.ao.quantization.quantizer import xnnpack_quantizer as kit
    for name, dynamic in (("quantized", False), ("quantized_dynamic", True)):
        torch.manual_seed(zlib.crc32(name.encode()))
        model, x = ToQuantize().eval(), torch.randn(2, 3, 8, 8)
        settings = kit.get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
        plain = torch.export.export(model, (x,), strict=False).module()
        prepared = prepare_pt2e(plain, kit.XNNPACKQuantizer().set_global(settings))
        prepared(x)
        program = torch.export.export(convert_pt2e(prepared), (x,), strict=False)
        data = io.BytesIO()
        torch.export.save(program, data)
        slim(data, os.path.join(HERE, f"{name}-v26.pt2"))
        np.savez(os.path.join(HERE, f"{name}.npz"), in_0=x.numpy(), out_0=program.module()(x).detach().numpy())


def flatten(result):
    if isinstance(result, (tuple, list)):
        return [leaf for item in result for leaf in flatten(item)]
    return [result.numpy()] if hasattr(result, "numpy") else [np.asarray(result)]


def main():
    if sys.argv[1:] == ["--quantized"]:
        return quantize()
    version = "--version" in sys.argv[1:]
    names = [a for a in sys.argv[1:] if a != "--version"]
    for name, (make, make_inputs) in MODELS.items():
        if names and name not in names:
            continue
        torch.manual_seed(zlib.crc32(name.encode()))
        model = make().eval().requires_grad_(False)
        for m in model.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.running_mean.normal_(0, 0.2)
                m.running_var.uniform_(0.5, 1.5)
                m.weight.uniform_(0.7, 1.3)
                m.bias.normal_(0, 0.2)
        inputs = make_inputs()
        if version:
            export(model, inputs, name, version)
            continue
        with torch.no_grad():
            expected = flatten(model(*inputs))
            scripted = torch.jit.script(model) if name != "operators" else None
            traced = frozen = None
            if name not in ("mixed", "state", "choices"):
                traced = torch.jit.trace(model, inputs, check_trace=False)
            if name not in ("state", "tagger", "translator", "packed", "operators"):
                frozen = torch.jit.freeze(torch.jit.script(model))
        for how, module in (("script", scripted), ("trace", traced), ("frozen", frozen)):
            if module is not None and how in ONLY.get(name, how):
                path = os.path.join(HERE, f"{name}-{how}.ts")
                module.save(path)
                relative_paths.rewrite(path)
        arrays = {f"in_{i}": x.numpy() for i, x in enumerate(inputs)}
        arrays.update({f"out_{i}": x for i, x in enumerate(expected)})
        np.savez(os.path.join(HERE, f"{name}.npz"), **arrays)
        if hasattr(torch, "export"):
            export(model, inputs, name, False)
        print(name, [x.shape for x in expected])


if __name__ == "__main__":
    main()
