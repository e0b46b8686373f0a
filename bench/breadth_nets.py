# SPDX-License-Identifier: Apache-2.0
"""Cases of breadth.py written by hand: the ways people write models."""
import enum
import math
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ALL = ("script", "trace", "freeze")
SCRIPT = ("script", "freeze")
_cases = []


def case(*inputs, hows=ALL, name=None):
    """Registers a module class; inputs are shapes, or functions that make one
    input."""
    def register(cls):
        def make():
            module = cls()
            made = tuple(torch.randn(i) if isinstance(i, tuple) else
                         i() if callable(i) else i for i in inputs)
            return module, made
        _cases.append((name or cls.__name__, make, hows))
        return cls
    return register


def cases():
    return _cases


def ints(*shape, high=10, dtype=torch.int64):
    return lambda: torch.randint(0, high, shape, dtype=dtype)


def conv(i, o, k=3, s=1, **more):
    return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, bias=False, **more),
                         nn.BatchNorm2d(o), nn.ReLU(inplace=True))


# ------------------------------------------------------------- architectures
@case((2, 1, 28, 28))
class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(),
                               nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(),
                               nn.Flatten(), nn.Linear(784, 10))
        self.d = nn.Sequential(nn.Linear(10, 784), nn.Unflatten(1, (16, 7, 7)),
                               nn.ConvTranspose2d(16, 8, 3, 2, 1, 1), nn.ReLU(),
                               nn.ConvTranspose2d(8, 1, 3, 2, 1, 1),
                               nn.Sigmoid())

    def forward(self, x):
        z = self.e(x)
        return self.d(z), z


@case((2, 1, 28, 28))
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(784, 40)
        self.m, self.v = nn.Linear(40, 4), nn.Linear(40, 4)
        self.d = nn.Linear(4, 784)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        if self.training:
            return mu + torch.randn_like(std) * std
        return mu

    def forward(self, x):
        h = F.relu(self.f(x.view(-1, 784)))
        mu, logvar = self.m(h), self.v(h)
        z = self.reparameterize(mu, logvar)
        return torch.sigmoid(self.d(z)).view_as(x), mu, logvar


@case((2, 16, 1, 1))
class DCGAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(16, 32, 4, 1, 0, bias=False),
            nn.BatchNorm2d(32), nn.ReLU(True),
            nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False),
            nn.BatchNorm2d(16), nn.ReLU(True),
            nn.ConvTranspose2d(16, 3, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, x):
        return self.main(x)


@case((2, 3, 32, 32), hows=("trace",))
class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        sn = nn.utils.spectral_norm
        self.main = nn.Sequential(
            sn(nn.Conv2d(3, 8, 4, 2, 1)), nn.LeakyReLU(0.2, inplace=True),
            nn.Dropout2d(0.3), nn.Conv2d(8, 16, 4, 2, 1),
            nn.InstanceNorm2d(16, affine=True), nn.LeakyReLU(0.2),
            nn.Conv2d(16, 1, 8))

    def forward(self, x):
        return self.main(x).view(-1, 1).squeeze(1)


class Gate(nn.Module):
    def __init__(self, g, x, n):
        super().__init__()
        self.g, self.x, self.p = nn.Conv2d(g, n, 1), nn.Conv2d(x, n, 1), nn.Conv2d(n, 1, 1)

    def forward(self, g, x):
        return x * torch.sigmoid(self.p(F.relu(self.g(g) + self.x(x))))


@case((1, 3, 45, 51))
class AttentionUNet(nn.Module):
    """Odd sizes: upsampled to the skip's size, and padded."""

    def __init__(self):
        super().__init__()
        self.d = nn.ModuleList([conv(3, 8), conv(8, 16), conv(16, 32)])
        self.u = nn.ModuleList([conv(48, 16), conv(24, 8)])
        self.gates = nn.ModuleList([Gate(32, 16, 8), Gate(16, 8, 4)])
        self.head = nn.Conv2d(8, 4, 1)

    def forward(self, x):
        skips: List[Tensor] = []
        for i, d in enumerate(self.d):
            x = d(x)
            if i < 2:
                skips.append(x)
                x = F.max_pool2d(x, 2)
        for i, (u, gate) in enumerate(zip(self.u, self.gates)):
            s = skips[-1 - i]
            x = F.interpolate(x, scale_factor=2.0, mode="bilinear",
                              align_corners=True)
            dy, dx = s.size(2) - x.size(2), s.size(3) - x.size(3)
            x = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
            x = u(torch.cat([gate(x, s), x], dim=1))
        return self.head(x)


@case((1, 1, 16, 16, 16))
class UNet3d(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Conv3d(1, 4, 3, padding=1), nn.GroupNorm(2, 4),
                               nn.PReLU(4))
        self.b = nn.Sequential(nn.Conv3d(4, 8, 3, padding=1), nn.BatchNorm3d(8),
                               nn.ELU())
        self.up = nn.ConvTranspose3d(8, 4, 2, 2)
        self.head = nn.Conv3d(8, 2, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool3d(a, 2))
        y = torch.cat([a, self.up(b)], 1)
        return F.softmax(self.head(y), dim=1), F.interpolate(
            b, scale_factor=2.0, mode="trilinear", align_corners=False)


class Chomp(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x):
        return x[:, :, :-self.n].contiguous()


@case((2, 4, 50), hows=("trace",))
class TCN(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for i in range(3):
            d = 2 ** i
            layers += [nn.utils.weight_norm(nn.Conv1d(4 if i == 0 else 8, 8, 3,
                                                      padding=2 * d, dilation=d)),
                       Chomp(2 * d), nn.ReLU(), nn.Dropout(0.2)]
        self.net = nn.Sequential(*layers)
        self.out = nn.Linear(8, 5)

    def forward(self, x):
        return self.out(self.net(x)[:, :, -1])


@case((2, 4, 50), hows=("trace",))
class Parametrized(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.utils.parametrizations.weight_norm(
            nn.Conv1d(4, 8, 3, padding=2))

    def forward(self, x):
        return self.net(x)


@case((1, 1, 200))
class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Conv1d(1, 8, 1)
        self.f = nn.ModuleList([nn.Conv1d(8, 8, 2, dilation=2 ** i) for i in range(5)])
        self.g = nn.ModuleList([nn.Conv1d(8, 8, 2, dilation=2 ** i) for i in range(5)])
        self.r = nn.ModuleList([nn.Conv1d(8, 8, 1) for _ in range(5)])
        self.s = nn.ModuleList([nn.Conv1d(8, 6, 1) for _ in range(5)])
        self.end = nn.Conv1d(6, 16, 1)

    def forward(self, x):
        x = self.front(x)
        skip = torch.zeros(1)
        for i, (f, g, r, s) in enumerate(zip(self.f, self.g, self.r, self.s)):
            y = torch.tanh(f(x)) * torch.sigmoid(g(x))
            z = s(y)
            skip = z if i == 0 else z + skip[..., -z.size(-1):]
            x = r(y) + x[..., -y.size(2):]
        return F.log_softmax(self.end(F.relu(skip)), dim=1)


@case((1, 1, 32, 80))
class CRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Sequential(
            nn.Conv2d(1, 8, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Conv2d(8, 16, 3, 1, 1), nn.ReLU(),
            nn.MaxPool2d((2, 2), (2, 1), (0, 1)),
            nn.Conv2d(16, 16, (7, 2), 1, 0), nn.AvgPool2d((2, 1)))
        self.h = nn.Linear(16, 11)

    def forward(self, x):
        y = self.c(x)
        b, c, h, w = y.size()
        assert h == 1, "the height of conv must be 1"
        y = y.squeeze(2).permute(2, 0, 1)
        return F.log_softmax(self.h(y), dim=2)


@case((2, 3, 32, 32))
class MLPMixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Conv2d(3, 24, 8, 8)
        self.n1, self.n2 = nn.LayerNorm(24), nn.LayerNorm(24)
        self.t = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        self.c = nn.Sequential(nn.Linear(24, 48), nn.GELU(approximate="tanh"),
                               nn.Linear(48, 24))

    def forward(self, x):
        x = self.p(x).flatten(2).transpose(1, 2)
        x = x + self.t(self.n1(x).transpose(1, 2)).transpose(1, 2)
        x = x + self.c(self.n2(x))
        return x.mean(dim=1)


@case((2, 8, 16, 16))
class CBAM(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Conv2d(8, 2, 1, bias=False), nn.ReLU(),
                                nn.Conv2d(2, 8, 1, bias=False))
        self.sp = nn.Conv2d(2, 1, 7, padding=3, bias=False)
        self.avg, self.max = nn.AdaptiveAvgPool2d(1), nn.AdaptiveMaxPool2d(1)

    def forward(self, x):
        x = x * torch.sigmoid(self.fc(self.avg(x)) + self.fc(self.max(x)))
        a = torch.mean(x, dim=1, keepdim=True)
        m, _ = torch.max(x, dim=1, keepdim=True)
        return x * self.sp(torch.cat([a, m], dim=1)).sigmoid()


@case((2, 8, 10, 10))
class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(8, 2), nn.ReLU(), nn.Linear(2, 8),
                                nn.Hardsigmoid())

    def forward(self, x):
        b, c, _, _ = x.size()
        y = x.mean((2, 3)).view(b, c)
        y = self.fc(y).view(b, c, 1, 1)
        return x * y.expand_as(x)


@case((1, 3, 16, 16))
class ESPCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(3, 16, 5, padding=2), nn.Conv2d(16, 12, 3, padding=1)
        self.ps, self.pu = nn.PixelShuffle(2), nn.PixelUnshuffle(2)

    def forward(self, x):
        y = self.ps(self.c2(torch.tanh(self.c1(x)))).clamp_(0.0, 1.0)
        return y, self.pu(y), F.channel_shuffle(self.c1(x), 4)


class Residual(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.b = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3),
                               nn.InstanceNorm2d(c), nn.ReLU(True),
                               nn.ReflectionPad2d(1), nn.Conv2d(c, c, 3),
                               nn.InstanceNorm2d(c, affine=True,
                                                 track_running_stats=True))

    def forward(self, x):
        return x + self.b(x)


@case((1, 3, 24, 24))
class StyleTransfer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.ReflectionPad2d(3), nn.Conv2d(3, 8, 7), nn.InstanceNorm2d(8),
            nn.ReLU(True), nn.Conv2d(8, 16, 3, 2, 1), nn.InstanceNorm2d(16),
            nn.ReLU(True), Residual(16), Residual(16),
            nn.Upsample(scale_factor=2, mode="nearest"),
            nn.ReplicationPad2d(1), nn.Conv2d(16, 3, 3), nn.Tanh())

    def forward(self, x):
        return (self.net(x) + 1) / 2 * 255


@case((1, 3, 32, 32))
class FPN(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.ModuleList([conv(3, 8, s=2), conv(8, 16, s=2), conv(16, 32, s=2)])
        self.lat = nn.ModuleList([nn.Conv2d(c, 8, 1) for c in (8, 16, 32)])
        self.out = nn.ModuleList([nn.Conv2d(8, 8, 3, padding=1) for _ in range(3)])

    def forward(self, x) -> Dict[str, Tensor]:
        features: List[Tensor] = []
        for b in self.body:
            x = b(x)
            features.append(x)
        laterals: List[Tensor] = []
        for i, l in enumerate(self.lat):
            laterals.append(l(features[i]))
        for i in range(2, 0, -1):
            laterals[i - 1] = laterals[i - 1] + F.interpolate(
                laterals[i], size=laterals[i - 1].shape[-2:], mode="nearest")
        outs: Dict[str, Tensor] = {}
        for i, o in enumerate(self.out):
            outs["p" + str(i)] = o(laterals[i])
        outs["pool"] = F.max_pool2d(outs["p2"], 1, stride=2)
        return outs


@case((2, 3, 16, 16), (2, 3, 16, 16))
class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Sequential(conv(3, 8), nn.AdaptiveAvgPool2d((2, 2)), nn.Flatten(),
                               nn.Linear(32, 8))

    def forward(self, a, b):
        a, b = self.e(a), self.e(b)
        return (F.pairwise_distance(a, b), F.cosine_similarity(a, b),
                F.normalize(a, p=2.0, dim=1) @ F.normalize(b, dim=1).t(),
                torch.cdist(a, b), torch.norm(a - b, dim=1))


class Result(NamedTuple):
    logits: Tensor
    features: Optional[Tensor]
    count: int


@case((2, 6), hows=SCRIPT)
class NamedOut(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(6, 3)

    def forward(self, x) -> Result:
        y = self.f(x)
        return Result(logits=y, features=x if y.size(1) > 2 else None, count=y.size(0))


@case((2, 6))
class DictOut(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(6, 3)

    def forward(self, x) -> Dict[str, Tensor]:
        y = self.f(x)
        return {"out": y, "aux": y.relu(), "a": y.sum()}


@case((2, 6), hows=SCRIPT)
class NestedOut(nn.Module):
    def forward(self, x) -> Tuple[List[Tensor], Dict[str, List[Tensor]], int, float, bool, Tuple[Tensor, Tensor]]:
        parts = list(torch.split(x, 2, dim=1))
        return parts, {"a": [x, x + 1]}, x.size(0), float(x.size(1)) / 4, x.dim() == 2, (x * 2, x.t())


# ------------------------------------------------------- ways of writing them
@case((2, 5), (2, 5), hows=SCRIPT)
class OptionalArgs(nn.Module):
    def forward(self, x, mask: Optional[Tensor] = None, scale: float = 2.0,
                n: int = 2, flag: bool = True, shape: Optional[List[int]] = None):
        if mask is not None:
            x = x.masked_fill(mask > 0, -1e9)
        for _ in range(n):
            x = x * scale
        if flag:
            x = torch.softmax(x, -1)
        if shape is not None:
            x = x.view(shape)
        return x


@case((2, 5), 3.0, 3, False, hows=SCRIPT)
class NumberArgs(nn.Module):
    def forward(self, x, scale: float, n: int, flag: bool):
        for i in range(n):
            x = x * scale + i
        return x.neg() if flag else x.abs(), n * 2, scale + n


@case((2, 7, 8))
class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.proj, self.heads = nn.Linear(8, 24), nn.Linear(8, 8), 2
        self.register_buffer("mask", torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.qkv(x).split(C, dim=2)
        q = q.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        k = k.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        v = v.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.proj(y.transpose(1, 2).contiguous().view(B, T, C))


@case((2, 7, 8))
class SDPA(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).reshape(B, T, C)


@case((5, 2, 8))
class MHA(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.MultiheadAttention(8, 2)
        self.b = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        y, w = self.a(x, x, x)
        z, _ = self.b(y, x, x, need_weights=False)
        return y, w, z


@case((5, 2, 8), (6, 2, 8))
class TransformerFull(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Transformer(8, 2, 1, 1, 16, 0.0, activation="gelu")
        self.register_buffer("m", nn.Transformer.generate_square_subsequent_mask(6))

    def forward(self, s, t):
        return self.t(s, t, tgt_mask=self.m)


@case((2, 6, 8), lambda: torch.tensor([[False] * 6, [False] * 4 + [True] * 2]))
class EncoderMask(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.TransformerEncoder(nn.TransformerEncoderLayer(
            8, 2, 16, batch_first=True, norm_first=True), 2, enable_nested_tensor=False)

    def forward(self, x, pad):
        return self.e(x, src_key_padding_mask=pad)


@case((2, 3, 4), (2, 4, 5), (3, 4))
class Einsum(nn.Module):
    def forward(self, a, b, c):
        return (torch.einsum("bij,bjk->bik", a, b), torch.einsum("bij,ij->bi", a, c),
                torch.einsum("bij->b", a), torch.einsum("bij,bkj->bik", a, a),
                torch.einsum("...ij,...jk->...ki", a, b),
                torch.einsum("ij,kl->ikjl", c, c), torch.einsum("bii->bi", a[:, :, :3]),
                torch.einsum("nhd,hd,nde->nhe", a, c, b))


@case((2, 6, 6))
class InPlace(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[:, 0] = 0
        y[:, :, 1:3] += 1.5
        y[0, 1:4, ::2] = x[1, 1:4, ::2]
        y[..., -1] *= 2
        y[y > 1] = 1
        y.add_(x).mul_(0.5).clamp_(-1, 1)
        z = torch.zeros_like(y)
        z[:, 2:4, 2:4] = y[:, 1:3, 1:3]
        z[:, [0, 2], :] = 3.0
        z.view(-1)[3] = 7
        w = torch.empty(2, 3).fill_(2.0)
        w[0].copy_(x[0, 0, :3])
        return y, z, w


@case((2, 6, 6))
class Indexing(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("idx", torch.tensor([3, 1, 4]))
        self.register_buffer("pos", torch.randint(0, 9, (6, 6)))
        self.table = nn.Parameter(torch.randn(9, 2))

    def forward(self, x):
        return (x[:, self.idx], x[:, :, self.idx], x[0], x[-1, 2:], x[:, None, 1:, ...],
                x[:, self.idx, self.idx], x[..., 0], x[:, ::2, ::3],
                self.table[self.pos.view(-1)].view(6, 6, 2).permute(2, 0, 1),
                torch.index_select(x, 1, self.idx), x.gather(2, self.pos.unsqueeze(0).expand(2, 6, 6).clamp(max=5)),
                x[:, torch.arange(3), torch.arange(3)], x.take(self.idx), x[1][2])


@case((2, 6, 6))
class Structure(nn.Module):
    def forward(self, x):
        a, b, c = x.chunk(3, dim=1)
        s = torch.stack([a, b, c], dim=1)
        u = s.unbind(dim=1)
        t = torch.split(x, [1, 2, 3], dim=2)
        return (s, u[1], t[2], torch.cat((a, c), dim=-1), x.repeat(1, 2, 1), x.roll(1, 2),
                torch.roll(x, (1, -2), (1, 2)), x.flip(1), x.rot90(1, [1, 2]), x.tile(2, 1, 1),
                torch.tril(x), torch.triu(x, 1), x.diagonal(0, 1, 2), x.movedim(0, 2),
                x.swapaxes(0, 1), x.unfold(1, 3, 2), x.repeat_interleave(2, dim=1), x.narrow(1, 1, 3),
                torch.meshgrid(x[0, 0], x[0, 1], indexing="ij")[0], x.unflatten(1, (2, 3)),
                x.expand(3, 2, 6, 6), torch.hstack([a, b]), torch.vstack([a, b]), x.reshape(-1).diag_embed(),
                torch.broadcast_tensors(x[:, :1], x[:, :, :1])[0], torch.constant_pad_nd(x, [1, 1], 2.0),
                x.T if x.dim() == 2 else x.mT, torch.tensor_split(x, 4, dim=1)[0], torch.kron(x[0, :2, :2], x[1, :2, :2]),
                torch.dstack([a, b]), x.squeeze(), x.view(2, -1).unsqueeze(-1), torch.block_diag(x[0, :2, :2], x[1, :2, :2]))


@case((2, 3, 8))
class Reductions(nn.Module):
    def forward(self, x):
        v, i = x.max(dim=-1)
        w, j = x.min(1, keepdim=True)
        t, k = torch.topk(x, 3, dim=-1)
        s, o = torch.sort(x, dim=-1, descending=True)
        return (v, i, w, j, t, k, s, o, x.sum(), x.mean(), x.sum((0, 2)), x.std(), x.var(dim=1),
                x.std(-1, unbiased=False), x.prod(-1), x.argmax(), x.argmax(1), x.argmin(-1, keepdim=True),
                x.norm(), x.norm(p=1, dim=2), x.logsumexp(-1), x.cumsum(1), x.cumprod(2), x.max(), x.min(),
                (x > 0).any(), (x > 0).all(-1), x.abs().amax((1, 2)), x.amin(0), torch.median(x), x.median(-1)[0],
                torch.linalg.vector_norm(x, dim=-1), torch.var_mean(x, dim=(0, 2), keepdim=True), torch.count_nonzero(x > 0),
                x.nansum(), torch.argsort(x, dim=-1), torch.aminmax(x, dim=1)[1], torch.linalg.norm(x), torch.trace(x[0, :3, :3]))


@case((2, 3, 8), (3, 1))
class Pointwise(nn.Module):
    def forward(self, x, y):
        p = x.abs() + 0.1
        return (x + y, x - y, x * 2, 3 - x, x / y, 1 / p, x ** 2, x.pow(3), p ** 0.5, p ** y, 2 ** x, p.sqrt(), p.rsqrt(),
                p.log(), x.exp(), p.log2(), p.log10(), x.expm1(), p.log1p(), x.erf(), x.sin(), x.cos(), x.tan(), x.atan(),
                x.sinh(), x.cosh(), x.tanh(), x.asinh(), x.sigmoid(), x.floor(), x.ceil(), x.round(), x.trunc(), x.frac(),
                x.sign(), x.neg(), p.reciprocal(), torch.maximum(x, y), torch.minimum(x, y), torch.where(x > y, x, y),
                torch.where(x > 0, x, torch.zeros_like(x)), x // 2, x % 2, torch.fmod(x, 2), torch.remainder(x, y), x.clamp(min=0), x.clamp(-1, 1),
                torch.atan2(x, y), torch.lerp(x, x * 2, 0.3), torch.addcmul(x, x, y, value=0.5), torch.addcdiv(x, x, p), x.square(),
                torch.logaddexp(x, y), x.eq(y), x >= y, (x > 0) & (x < 1), ~(x > 0), (x > 0) | (x < -1), torch.logical_xor(x > 0, x < 1),
                x.isnan(), torch.isfinite(x), torch.nan_to_num(p.log() / 0), torch.hypot(x, y), torch.sinc(x), x.deg2rad(), torch.rsub(x, 1.0), torch.xlogy(x, p),
                torch.heaviside(x, y), x.to(torch.int64) // 2, x.to(torch.int32) % 3, x.int() & 3, x.long() << 1, torch.true_divide(x.long(), 3), torch.div(x, y, rounding_mode="floor"), torch.div(x, y, rounding_mode="trunc"),
                torch.copysign(x, y), x.logit(eps=1e-2), torch.erfc(x), torch.special.expit(x), torch.bitwise_and(x.long(), 5), x.to(torch.bool), x.type_as(y))


@case((2, 4, 9, 9))
class Activations(nn.Module):
    def __init__(self):
        super().__init__()
        self.all = nn.ModuleList([nn.ReLU(), nn.ReLU6(), nn.ELU(), nn.SELU(), nn.CELU(0.7), nn.GELU(), nn.GELU("tanh"), nn.SiLU(),
                                  nn.Mish(), nn.Hardswish(), nn.Hardsigmoid(), nn.Hardtanh(-2.0, 2.0), nn.LeakyReLU(0.1), nn.PReLU(4),
                                  nn.PReLU(), nn.Softplus(), nn.Softplus(2.0, 1.0), nn.Softsign(), nn.Tanhshrink(), nn.Softshrink(), nn.Hardshrink(),
                                  nn.LogSigmoid(), nn.Sigmoid(), nn.Tanh(), nn.Threshold(0.1, 20.0), nn.GLU(1), nn.Softmax(1), nn.Softmax2d(),
                                  nn.LogSoftmax(1), nn.Softmin(1), nn.RReLU()])

    def forward(self, x) -> List[Tensor]:
        return [a(x) for a in self.all]


@case((2, 4, 11, 13))
class Pools(nn.Module):
    def __init__(self):
        super().__init__()
        self.all = nn.ModuleList([nn.MaxPool2d(2), nn.MaxPool2d(3, 2, 1), nn.MaxPool2d(3, 2, ceil_mode=True), nn.MaxPool2d(2, 1, dilation=2),
                                  nn.AvgPool2d(2), nn.AvgPool2d(3, 2, 1), nn.AvgPool2d(3, 2, 1, ceil_mode=True), nn.AvgPool2d(3, 2, 1, count_include_pad=False),
                                  nn.AdaptiveAvgPool2d((3, 4)), nn.AdaptiveMaxPool2d(5), nn.AdaptiveAvgPool2d((11, 1)), nn.LPPool2d(2, 3), nn.AvgPool2d(2, divisor_override=3)])

    def forward(self, x) -> List[Tensor]:
        return [a(x) for a in self.all] + [
            F.max_pool1d(x[:, :, 0], 2), F.avg_pool1d(x[:, 0], 3, 1, 1), F.adaptive_avg_pool1d(x[:, 0], 4),
            F.adaptive_max_pool1d(x[0], 3)]


@case((2, 4, 9, 11))
class Convs(nn.Module):
    def __init__(self):
        super().__init__()
        self.all = nn.ModuleList([nn.Conv2d(4, 6, 3), nn.Conv2d(4, 8, 3, padding=1, groups=4), nn.Conv2d(4, 8, 3, padding="same", groups=2),
                                  nn.Conv2d(4, 5, (1, 3), (2, 1), (0, 2), (1, 2)), nn.Conv2d(4, 4, 5, padding=2, padding_mode="reflect"),
                                  nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular"), nn.Conv2d(4, 4, 3, padding=1, padding_mode="replicate"),
                                  nn.ConvTranspose2d(4, 6, 3, 2, 1, 1), nn.ConvTranspose2d(4, 4, 4, 2, 1, groups=2, bias=False),
                                  nn.ConvTranspose2d(4, 3, 3, 1, 2, dilation=2), nn.Conv2d(4, 4, 1, bias=False), nn.Conv2d(4, 3, 2, padding="valid"),
                                  nn.LocalResponseNorm(3), nn.ZeroPad2d(1), nn.ConstantPad2d((1, 2, 0, -1), 1.5), nn.ReflectionPad2d((1, 0, 2, 1)),
                                  nn.CircularPad2d(2), nn.Unfold(3, padding=1, stride=2), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4), nn.LayerNorm([9, 11])])
        self.c1, self.w = nn.Conv1d(4, 3, 3, 2, 1), nn.Parameter(torch.randn(5, 4, 3, 3))
        self.fold = nn.Fold((6, 6), 2, stride=2)

    def forward(self, x) -> List[Tensor]:
        return [a(x) for a in self.all] + [self.c1(x[:, :, 0]), F.conv2d(x, self.w, stride=2), self.all[0](x[0]),
                                           self.fold(x[:, :, :4, :9].reshape(2, 16, 9)), F.conv2d(x, x[:, :, :3, :3])]


@case((1, 3, 7, 9))
class Resizes(nn.Module):
    def forward(self, x):
        i = F.interpolate
        return (i(x, scale_factor=2.0), i(x, size=[5, 4]), i(x, scale_factor=1.7, mode="bilinear", align_corners=False),
                i(x, size=(14, 20), mode="bilinear", align_corners=True), i(x, size=(13, 5), mode="bicubic", align_corners=False),
                i(x, scale_factor=0.5, mode="bilinear", recompute_scale_factor=True), i(x, scale_factor=0.5, mode="area"),
                i(x[:, :, 0], scale_factor=2.0, mode="linear"), i(x, size=(3, 4), mode="bilinear", antialias=True),
                i(x, size=(10, 10), mode="nearest-exact"), i(x, scale_factor=2.0, mode="bicubic", align_corners=True),
                F.upsample(x, scale_factor=2.0, mode="nearest"))


@case((1, 3, 8, 8))
class SpatialTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(192, 6)

    def forward(self, x):
        theta = self.f(x.flatten(1)).view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size(), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False), F.grid_sample(x, grid, mode="nearest", padding_mode="border", align_corners=True)


@case(ints(2, 6), ints(2, 6, high=2))
class TextCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(10, 8, padding_idx=0)
        self.c = nn.ModuleList([nn.Conv1d(8, 4, k) for k in (2, 3, 4)])
        self.o = nn.Linear(12, 3)

    def forward(self, ids, mask):
        x = self.e(ids) * mask.unsqueeze(-1)
        x = x.permute(0, 2, 1)
        return self.o(torch.cat([F.relu(c(x)).max(dim=2)[0] for c in self.c], 1)), (ids != 0).sum(1), ids * 2 + mask


@case(ints(2, 6, dtype=torch.int32), ints(3, high=6))
class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.b = nn.Embedding(10, 4, max_norm=None), nn.EmbeddingBag(10, 4, mode="mean")

    def forward(self, ids, offsets):
        return self.e(ids), self.b(ids.long()), F.one_hot(ids.long(), 10), F.embedding(ids, self.e.weight)


@case((2, 6, 16))
class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("inv", 1.0 / (10000 ** (torch.arange(0, 16, 2).float() / 16)))
        self.weight, self.eps = nn.Parameter(torch.ones(16)), 1e-6

    def rotate_half(self, x):
        x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
        return torch.cat((-x2, x1), dim=-1)

    def forward(self, x):
        t = torch.arange(x.size(1), device=x.device, dtype=self.inv.dtype)
        emb = torch.cat([torch.outer(t, self.inv)] * 2, dim=-1)
        y = x * emb.cos() + self.rotate_half(x) * emb.sin()
        return self.weight * y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)


@case((2, 10, 4))
class Sinusoidal(nn.Module):
    def forward(self, x):
        pos = torch.arange(0, x.size(1), dtype=torch.float).unsqueeze(1)
        div = torch.exp(torch.arange(0, 4, 2).float() * (-math.log(10000.0) / 4))
        pe = torch.zeros(x.size(1), 4)
        pe[:, 0::2] = torch.sin(pos * div)
        pe[:, 1::2] = torch.cos(pos * div)
        return x + pe.unsqueeze(0)


@case((3, 4), hows=SCRIPT)
class ShapeControl(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        total = torch.zeros([n], dtype=x.dtype)
        i = 0
        while i < x.size(1):
            if i % 2 == 0:
                total = total + x[:, i]
            elif i == 3:
                i += 1
                continue
            else:
                total = total - x[:, i]
            i += 1
        sizes: List[int] = []
        for j in range(2, 8, 3):
            sizes.append(j)
        if len(sizes) > 1 and n in [1, 3]:
            total = total * float(sum(sizes))
        text = "batch"
        return total, max(sizes), min(n, 2), math.ceil(n / 2), text == "batch", n // 2, n % 2, -n // 2, abs(-n), int(2.7), round(2.5)


@case((2, 6), hows=SCRIPT)
class EarlyReturn(nn.Module):
    def forward(self, x, mode: str = "mean"):
        if mode == "mean":
            return x.mean(1)
        if mode == "max":
            return x.max(1)[0]
        raise ValueError("bad mode")


@case((2, 6), hows=SCRIPT)
class Comprehension(nn.Module):
    def __init__(self):
        super().__init__()
        self.branches = nn.ModuleList([nn.Linear(6, i + 1) for i in range(3)])
        self.table = nn.ModuleDict({"a": nn.Linear(6, 2), "b": nn.ReLU()})
        self.params = nn.ParameterList([nn.Parameter(torch.randn(6)) for _ in range(2)])

    def forward(self, x):
        ys = [b(x) for b in self.branches]
        zs = [y.sum(dim=1) * i for i, y in enumerate(ys)]
        for key, m in self.table.items():
            if key == "a":
                ys.append(m(x))
            else:
                ys.append(m(-x))
        return torch.cat(ys, 1), torch.stack(zs), [s + 1 for s in [1, 2, 3]]


class Order(enum.Enum):
    FIRST = "first"
    LAST = "last"


@case((2, 6), hows=SCRIPT)
class Enums(nn.Module):
    def __init__(self):
        super().__init__()
        self.order = Order.LAST

    def forward(self, x):
        y = x * 2 if self.order == Order.FIRST else x * 3
        return y + 1 if self.order != Order.LAST else y - 1


@case((2, 6), hows=SCRIPT)
class Methods(nn.Module):
    scale: float
    names: List[str]

    def __init__(self):
        super().__init__()
        self.scale, self.names, self.opt = 0.5, ["a", "b"], None
        self.f = nn.Linear(6, 6)

    @torch.jit.export
    def helper(self, x: Tensor, n: int = 1) -> Tensor:
        return x * self.scale + n

    def forward(self, x):
        y = self.helper(x, n=len(self.names))
        if self.opt is None:
            y = y + 1
        z = torch.jit.annotate(List[Tensor], [])
        for t in y.split(3, 1):
            z += [t]
        return z[0] @ z[1].t(), f"{y.size(0)}" == "2"


@case((2, 4))
class ZeroDim(nn.Module):
    def forward(self, x):
        s = x.sum()
        return s, s * 2, s.view(1), x.mean() + torch.tensor(2.0), torch.tensor([1.0, 2.0]).sum(), x[0, 0]


@case((0, 4), (2, 0))
class Empty(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 3)

    def forward(self, x, y):
        return self.f(x), x.sum(), torch.cat([x, torch.ones(2, 4)]), y.sum(1), y @ y.t(), x.relu(), x[:, :2], y.softmax(0), torch.zeros(0)


@case(lambda: torch.randn(2, 4).half())
class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 3).half()

    def forward(self, x):
        return self.f(x), (x + 1).float()


@case(lambda: torch.randn(2, 4).double())
class Double(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 3).double()

    def forward(self, x):
        return self.f(x), x.sum(1), x.exp()


@case((2, 4))
class Mixed(nn.Module):
    def forward(self, x):
        d = x.double() * 3
        h = x.half()
        b = x.to(torch.bfloat16)
        return d, d.float(), h.float() + 1, b.float(), x.to(torch.uint8), x.to(torch.int8), x.short(), (x > 0).to(torch.float64).sum()


@case(lambda: torch.randint(0, 255, (1, 8, 8, 3), dtype=torch.uint8))
class Preprocess(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1))
        self.c = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        x = x.permute(0, 3, 1, 2).float().div(255.0)
        return self.c((x - self.mean) / self.std)


@case((2, 5, 3), lambda: torch.tensor([3, 5]))
class Lengths(nn.Module):
    def forward(self, x, lengths):
        mask = torch.arange(x.size(1))[None, :] < lengths[:, None]
        y = x * mask.unsqueeze(-1).float()
        return y.sum(1) / lengths.unsqueeze(1), y.masked_fill(~mask.unsqueeze(-1), 0.0).max(1)[0], mask


@case((2, 8))
class MaskedLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(8, 4)

    def forward(self, x):
        y = self.f(x)
        t = torch.tensor([1, 3])
        return (F.cross_entropy(y, t), F.mse_loss(y, torch.zeros_like(y)), F.l1_loss(y, y * 2), F.smooth_l1_loss(y, y * 3),
                F.binary_cross_entropy_with_logits(y, torch.ones_like(y)), F.nll_loss(F.log_softmax(y, 1), t), F.kl_div(F.log_softmax(y, 1), F.softmax(y, 1), reduction="batchmean"))


@case((2, 3, 8, 8))
class Scatter(nn.Module):
    def forward(self, x):
        i = x.argmax(dim=1, keepdim=True)
        one = torch.zeros_like(x).scatter_(1, i, 1.0)
        add = torch.zeros(2, 3, 8, 8).scatter_add(1, i, x[:, :1])
        return one, add, torch.zeros(5, 3).index_add_(0, torch.tensor([0, 4]), x[:, :, 0, 0]), x.index_fill(1, torch.tensor([0]), 9.0), torch.ones(4).index_copy(0, torch.tensor([1]), x[0, 0, 0, :1])


@case((2, 4, 8, 8))
class Windows(nn.Module):
    """Window partition, as in Swin."""

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        B, H, W, C = x.shape
        pad = (4 - W % 4) % 4
        x = F.pad(x, (0, 0, 0, pad, 0, pad))
        x = torch.roll(x, shifts=(-2, -2), dims=(1, 2))
        x = x.view(B, H // 4, 4, W // 4, 4, C).permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, 16, C)
        mask = x.new_zeros((H, W))
        mask[:2, :2] = 1
        mask[-2:, -2:] = 2
        return x @ x.transpose(-2, -1), mask


@case((2, 3, 8, 8))
class Bilinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.b, self.n = nn.Bilinear(8, 8, 4), nn.RMSNorm(4)
        self.c, self.i = nn.CosineSimilarity(dim=-1), nn.Identity()
        self.bn, self.d = nn.BatchNorm1d(4), nn.AlphaDropout(0.5)

    def forward(self, x):
        y = self.i(self.b(x[:, 0], x[:, 1]))
        return y, self.n(y), self.c(y, y + 1), self.bn(y[:, 0]), self.bn(y.transpose(1, 2)), self.d(y), F.layer_norm(y, [4]), F.dropout(y, 0.5, self.training)


@case((3, 4), (4, 5), (5,))
class Linalg(nn.Module):
    def forward(self, a, b, c):
        return (a @ b, torch.mm(a, b), torch.matmul(a, b) @ c, torch.addmm(c, a, b, beta=0.5, alpha=2.0), torch.bmm(a[None], b[None]), torch.dot(c, c),
                torch.mv(b, c), torch.outer(c, c), torch.baddbmm(torch.ones(1, 3, 5), a[None], b[None]), torch.chain_matmul(a, b, b.t()), torch.tensordot(a, b, dims=1),
                a.t() @ a, F.linear(a, b.t(), c), torch.inner(a, a), torch.linalg.multi_dot([a, b, b.t()]), torch.cross(a[:, :3], a[:, 1:], dim=1), torch.ger(c, c),
                c @ c, b.T.matmul(a.T), torch.linalg.matrix_norm(a), torch.addmv(a[:, 0], a, b[:, 0]), torch.addr(a[:3, :3], c[:3], c[:3]))


@case((2, 3, 4))
class Creation(nn.Module):
    def forward(self, x):
        return (x + torch.ones_like(x), x.new_full((2,), 3.0), torch.full((2, 2), 7), torch.linspace(0, 1, 5) * x.sum(), torch.eye(3) @ x, torch.arange(4) + x,
                torch.zeros(2, 3, 4, dtype=x.dtype, device=x.device) + x, torch.full_like(x, 2), x.new_ones(x.size(0)), torch.tensor(x.shape),
                torch.scalar_tensor(2.0), torch.logspace(0, 1, 3), torch.as_tensor(x.size(1)), torch.empty_like(x).zero_(), torch.ones(x.shape[1:]), torch.tensor(torch.numel(x)), torch.arange(0, 1, 0.3), torch.tril_indices(3, 3), torch.zeros(x.shape[0], 1).expand(-1, 3))


@case((2, 3, 4))
class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.tensor(0))
        self.register_buffer("avg", torch.zeros(4))

    def forward(self, x):
        self.count += 1
        self.avg = self.avg * 0.9 + x.mean((0, 1)) * 0.1
        return x - self.avg, self.count


@case((2, 4, 6), hows=("script", "trace"))
class GRUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.r = nn.GRU(6, 5, batch_first=True)

    def forward(self, x):
        return self.r(x)


@case((2, 4, 6), hows=("script", "trace"))
class LSTMNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.r = nn.LSTM(6, 5, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, x):
        y, (h, c) = self.r(x)
        return y, h, c


@case((2, 4, 6), hows=("script", "trace"))
class LSTMCellNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.g, self.r = nn.LSTMCell(6, 5), nn.GRUCell(5, 5), nn.RNNCell(5, 5)

    def forward(self, x):
        h, c = torch.zeros(2, 5), torch.zeros(2, 5)
        outs: List[Tensor] = []
        for t in range(x.size(1)):
            h, c = self.c(x[:, t], (h, c))
            outs.append(self.r(self.g(h)))
        return torch.stack(outs, 1)


@case((2, 3, 16, 16))
class StochasticDepth(nn.Module):
    def __init__(self):
        super().__init__()
        from torchvision.ops import MLP, Conv2dNormActivation, Permute, StochasticDepth as SD, FrozenBatchNorm2d, SqueezeExcitation
        self.a, self.s, self.f = Conv2dNormActivation(3, 8), SD(0.5, "row"), FrozenBatchNorm2d(8)
        self.p, self.m, self.q = Permute([0, 2, 3, 1]), MLP(8, [4, 8]), SqueezeExcitation(8, 2)

    def forward(self, x):
        x = self.q(self.f(self.s(self.a(x))))
        return self.m(self.p(x))


@case((1, 3, 64, 64), hows=("trace",))
class TracedShapes(nn.Module):
    """Traced shape arithmetic on 0-dim tensors."""

    def forward(self, x):
        h, w = x.shape[2] // 4, int(x.shape[3] * 0.25)
        y = F.adaptive_avg_pool2d(x, (h, w))
        y = y.reshape(x.shape[0], x.shape[1], -1)
        return y / math.sqrt(x.shape[1]), F.interpolate(x, size=(h, w)), torch.zeros(y.shape[2], 2)


@case((1, 1, 512))
class AudioNet(nn.Module):
    """Frames and DFT by convolution, mel filters, log."""

    def __init__(self):
        super().__init__()
        n = 32
        k = torch.arange(n // 2 + 1).float()[:, None] * torch.arange(n).float()[None] * (2 * math.pi / n)
        self.register_buffer("re", k.cos()[:, None])
        self.register_buffer("im", k.sin()[:, None])
        self.mel = nn.Linear(17, 8, bias=False)

    def forward(self, x):
        x = F.pad(x, (16, 16), mode="reflect")
        r, i = F.conv1d(x, self.re, stride=8), F.conv1d(x, self.im, stride=8)
        p = torch.sqrt(r ** 2 + i ** 2 + 1e-8)
        return torch.log(torch.clamp(self.mel(p.transpose(1, 2)).abs(), min=1e-5))


@case((2, 3, 5, 5, 5))
class Volumes(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.t = nn.Conv3d(3, 6, (1, 3, 3), padding=(0, 1, 1), groups=3), nn.ConvTranspose3d(6, 3, 3, 2, 1)
        self.p, self.a = nn.AdaptiveAvgPool3d(1), nn.AvgPool3d(2, 1)
        self.n, self.m = nn.InstanceNorm3d(6), nn.AdaptiveMaxPool3d((2, 2, 2))

    def forward(self, x):
        y = self.n(self.c(x))
        return self.t(y), self.p(y).flatten(1), self.a(y), self.m(y), F.pad(y, (1, 1, 0, 1, 2, 0), mode="replicate")


@case((2, 16, 8, 8))
class InvertedResidual(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.Sequential(conv(16, 32, 1), conv(32, 32, 5, 2, groups=32), nn.Conv2d(32, 16, 1), nn.BatchNorm2d(16))
        self.d = nn.AvgPool2d(2, 2, ceil_mode=True, count_include_pad=False)

    def forward(self, x):
        return F.relu_(self.b(x) + self.d(x)).add_(1).mul_(2)


@case((2, 6), lambda: torch.tensor(2.5), lambda: torch.tensor(3))
class ScalarTensors(nn.Module):
    def forward(self, x, s, k):
        return x * s, x + k, s + k, x ** s, torch.where(x > s, x, s), x.clamp(max=3.0) / k, x * (k > 2)


@case((4, 6), hows=SCRIPT)
class TupleState(nn.Module):
    def forward(self, x):
        state = (x[0], x[1])
        outs: List[Tuple[Tensor, int]] = []
        for i in range(3):
            a, b = state
            state = (b, a + b)
            outs.append((a, i))
        d: Dict[str, Tensor] = {}
        for a, i in outs:
            d[str(i)] = a
        keys = [k for k in d.keys()]
        best = d["1"]
        if "2" in d:
            best = best + d["2"]
        d.pop("0")
        return best, len(keys), list(d.values()), torch.stack([o[0] for o in outs]).sum(0)


@case((2, 6), hows=SCRIPT)
class Strings(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = "gelu"
        self.dims = (1, 2)
        self.ratio: Optional[float] = None

    def forward(self, x):
        if self.act == "relu":
            y = F.relu(x)
        elif self.act in ["gelu", "silu"]:
            y = F.gelu(x)
        else:
            raise RuntimeError("unknown activation {}".format(self.act))
        if self.ratio is not None:
            y = y * self.ratio
        assert y.dim() == 2, f"expected 2 dims, got {y.dim()}"
        if not torch.jit.is_scripting():
            y = y + 100
        return y * self.dims[1]


@case((2, 6))
class CheckpointedViews(nn.Module):
    """Views of views written through, aliases, slices with negative steps."""

    def forward(self, x):
        a = x.clone()
        b = a.view(3, 4)
        c = b[1:].t()
        c += 1
        b[0, 0] = 5
        d = a[:, 1:5:2]
        d.zero_()
        e = a.unsqueeze(0).expand(3, -1, -1)
        f = a.detach()
        f *= 2
        return a, b, c, d, e


@case((2, 3, 8, 8))
class OutChannelsLast(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 8, 3, padding=1)

    def forward(self, x):
        y = self.c(x.contiguous(memory_format=torch.channels_last)).to(memory_format=torch.channels_last)
        return y, y.permute(0, 2, 3, 1).reshape(2, -1), y.transpose(1, 3).contiguous().view(2, 8, 64), y.flatten(1)


@case((1, 6, 16))
class Xformer(nn.Module):
    """Relative position bias by gather, as T5 and Swin have it."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Embedding(8, 2)
        self.q = nn.Linear(16, 48)

    def forward(self, x):
        n = x.size(1)
        rel = torch.arange(n)[None, :] - torch.arange(n)[:, None]
        bucket = (rel > 0).to(torch.long) * 4 + torch.min(
            rel.abs(), torch.full_like(rel, 3))
        q, k, v = self.q(x).view(1, n, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        s = torch.matmul(q, k.transpose(3, 2)) + self.bias(bucket).permute([2, 0, 1]).unsqueeze(0)
        large = 2 + (torch.log(rel.abs().float() / 2 + 1) / math.log(4) * 2).to(torch.long)
        return torch.matmul(F.softmax(s.float(), dim=-1).type_as(s), v), large


@case((2, 20, 4))
class YoloDecode(nn.Module):
    def forward(self, x):
        xy, wh = x[..., :2].sigmoid() * 2 - 0.5, (x[..., 2:4].sigmoid() * 2) ** 2
        yv, xv = torch.meshgrid([torch.arange(4), torch.arange(5)], indexing="ij")
        grid = torch.stack((xv, yv), 2).view(1, 20, 2).float()
        box = torch.cat(((xy + grid) * 8.0, wh * 4), -1)
        area = (box[..., 2] - box[..., 0]).clamp(min=0) * (box[..., 3] - box[..., 1]).clamp(min=0)
        lt = torch.max(box[:, :, None, :2], box[:, None, :, :2])
        rb = torch.min(box[:, :, None, 2:], box[:, None, :, 2:])
        inter = (rb - lt).clamp(min=0).prod(3)
        return box, inter / (area[:, :, None] + area[:, None] - inter + 1e-6)


@case((2, 3, 8))
class RareOps(nn.Module):
    """Functions few models use: refused plainly, or right."""

    def forward(self, x):
        p = x.abs() + 0.1
        return torch.digamma(p), torch.lgamma(p), torch.erfinv(x.tanh()), torch.cummax(x, 1)[0], torch.cov(x[0]), torch.bincount(torch.tensor([1, 1, 2]))


@case((2, 3, 12, 12))
class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 3, 3, padding=1)
        self.p, self.u = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)

    def forward(self, x):
        y, i = self.p(torch.relu(self.a(x)))
        return self.b(self.u(y, i))
