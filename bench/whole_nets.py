# SPDX-License-Identifier: Apache-2.0
"""Whole models of breadth_peers.py of small usual sizes, the group "whole":
language, speech, detection, points, graphs, volumes, signals."""
import torch
import torch.nn.functional as F
import torchvision  # registers nms
from torch import nn

from net_cases import Cases

case = Cases()


def cases():
    return case + [(name, lambda make=make: make(), ("trace",)) for name, make in hugging_face()]


def conv(i, o, k=3, s=1, g=1, act=nn.SiLU, d=1):
    return nn.Sequential(nn.Conv2d(i, o, k, s, d * (k // 2), d, g, bias=False), nn.BatchNorm2d(o), act())


# -------------------------------------------------------------------- language
class Rms(nn.Module):
    """nn.RMSNorm as written out, which older opsets of ONNX have."""
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(d) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class CachedLayer(nn.Module):
    """A layer of a language model for one token behind those in a cache."""
    def __init__(self, d, heads, groups, wide):
        super().__init__()
        self.heads, self.groups, self.d = heads, groups, d // heads
        self.qkv = nn.Linear(d, d + 2 * groups * self.d, False)
        self.o, self.gate, self.up = nn.Linear(d, d, False), nn.Linear(d, wide, False), nn.Linear(d, wide, False)
        self.down, self.n1, self.n2 = nn.Linear(wide, d, False), Rms(d), Rms(d)

    def turn(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin

    def forward(self, x, keys, values, cos, sin):
        b, n, d = x.shape
        q, k, v = self.qkv(self.n1(x)).split([d, self.groups * self.d, self.groups * self.d], -1)
        q = self.turn(q.view(b, n, self.heads, self.d).transpose(1, 2), cos, sin)
        k = self.turn(k.view(b, n, self.groups, self.d).transpose(1, 2), cos, sin)
        keys = torch.cat((keys, k), 2)
        values = torch.cat((values, v.view(b, n, self.groups, self.d).transpose(1, 2)), 2)
        all_k, all_v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (keys, values))
        y = F.scaled_dot_product_attention(q, all_k, all_v).transpose(1, 2).reshape(b, n, d)
        x = x + self.o(y)
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y)), keys, values


@case((1, 1, 512), (4, 1, 2, 255, 64), (4, 1, 2, 255, 64))
class CachedDecoder(nn.Module):
    """One more token of a language model: 4 layers, grouped queries, 255 tokens in the cache."""
    def __init__(self, d=512):
        super().__init__()
        self.layers = nn.ModuleList([CachedLayer(d, 8, 2, 1376) for _ in range(4)])
        self.norm, self.head = Rms(d), nn.Linear(d, 8000, False)
        angle = 255 * 10000 ** (-torch.arange(0, 64, 2) / 64.0).repeat(2)
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, x, keys, values):
        new_keys, new_values = [], []
        for i, layer in enumerate(self.layers):
            x, k, v = layer(x, keys[i], values[i], self.cos, self.sin)
            new_keys.append(k)
            new_values.append(v)
        return self.head(self.norm(x)), torch.stack(new_keys), torch.stack(new_values)


@case((1, 64, 192))
class ScanLoop(nn.Module):
    """A selective scan as written out: a step of Python for each step in time."""
    def __init__(self, d=192, states=16):
        super().__init__()
        self.inner, self.conv = nn.Linear(d, 4 * d), nn.Conv1d(2 * d, 2 * d, 4, padding=3, groups=2 * d)
        self.rates, self.mixes = nn.Linear(2 * d, 2 * d), nn.Linear(2 * d, 2 * states)
        self.logs, self.out = nn.Parameter(torch.rand(2 * d, states)), nn.Linear(2 * d, d)

    def forward(self, x):
        n = x.shape[1]
        x, gate = self.inner(x).chunk(2, -1)
        x = F.silu(self.conv(x.transpose(1, 2))[..., :n].transpose(1, 2))
        rate, (b, c) = F.softplus(self.rates(x)), self.mixes(x).chunk(2, -1)
        decay = (rate.unsqueeze(-1) * -self.logs.exp()).exp()
        put = (rate * x).unsqueeze(-1) * b.unsqueeze(2)
        h, rows = torch.zeros_like(put[:, 0]), []
        for t in range(n):
            h = decay[:, t] * h + put[:, t]
            rows.append((h * c[:, t].unsqueeze(1)).sum(-1))
        return self.out(torch.stack(rows, 1) * F.silu(gate))


@case((1, 128, 256))
class TimeMixing(nn.Module):
    """Tokens shifted by one and mixed, gates of squared ReLU, as in RWKV without its recurrence."""
    def __init__(self, d=256):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(d) for _ in range(4)])
        self.mix = nn.ParameterList([nn.Parameter(torch.rand(d)) for _ in range(4)])
        self.k = nn.ModuleList([nn.Linear(d, 4 * d, False) for _ in range(4)])
        self.v = nn.ModuleList([nn.Linear(4 * d, d, False) for _ in range(4)])
        self.r = nn.ModuleList([nn.Linear(d, d, False) for _ in range(4)])

    def forward(self, x):
        for norm, mix, k, v, r in zip(self.norms, self.mix, self.k, self.v, self.r):
            y = norm(x)
            last = F.pad(y, (0, 0, 1, -1))
            z = y * mix + last * (1 - mix)
            x = x + torch.sigmoid(r(z)) * v(torch.relu(k(z)) ** 2)
        return x


@case((1, 256, 192))
class LinearAttention(nn.Module):
    """Attention by kernels of queries and keys, without a softmax over tokens."""
    def __init__(self, d=192, heads=6):
        super().__init__()
        self.heads = heads
        self.layers = nn.ModuleList([nn.ModuleList([nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d),
                                                    nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)])
                                     for _ in range(4)])

    def forward(self, x):
        for n1, qkv, out, n2, up, down in self.layers:
            q, k, v = qkv(n1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            q, k = F.elu(q) + 1, F.elu(k) + 1
            z = 1 / (q @ k.sum(2).unsqueeze(-1) + 1e-6)
            x = x + out(((q @ (k.transpose(2, 3) @ v)) * z).transpose(1, 2).flatten(2))
            x = x + down(F.gelu(up(n2(x))))
        return x


@case((1, 64, 256), (1, 256))
class DiffusionTransformer(nn.Module):
    """Blocks whose norms are scaled and shifted by what a condition gives."""
    def __init__(self, d=256, heads=4):
        super().__init__()
        self.blocks = nn.ModuleList([nn.ModuleDict(dict(
            n1=nn.LayerNorm(d, elementwise_affine=False), n2=nn.LayerNorm(d, elementwise_affine=False),
            a=nn.MultiheadAttention(d, heads, batch_first=True), m=nn.Linear(d, 6 * d), u=nn.Linear(d, 4 * d),
            w=nn.Linear(4 * d, d))) for _ in range(4)])

    def forward(self, x, c):
        for b in self.blocks:
            s1, g1, h1, s2, g2, h2 = b["m"](F.silu(c)).unsqueeze(1).chunk(6, -1)
            y = b["n1"](x) * (1 + g1) + s1
            x = x + h1 * b["a"](y, y, y, need_weights=False)[0]
            y = b["n2"](x) * (1 + g2) + s2
            x = x + h2 * b["w"](F.gelu(b["u"](y), approximate="tanh"))
        return x


@case((1, 400, 64), (1, 32, 128))
class Perceiver(nn.Module):
    """A few latents that ask many inputs, then each other."""
    def __init__(self, d=128, inputs=64):
        super().__init__()
        self.read = nn.MultiheadAttention(d, 4, kdim=inputs, vdim=inputs, batch_first=True)
        layer = nn.TransformerEncoderLayer(d, 4, 4 * d, batch_first=True, activation="gelu", norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)

    def forward(self, x, latents):
        y = latents + self.read(latents, x, x, need_weights=False)[0]
        return self.layers(y).mean(1)


# ------------------------------------------------------------------- detection
@case((1, 3, 160, 160))
class QueryDetector(nn.Module):
    """A backbone, a transformer that encodes its map, and 50 queries that read it."""
    def __init__(self, d=128, queries=50):
        super().__init__()
        self.body = nn.Sequential(conv(3, 32, 3, 2), conv(32, 64, 3, 2), conv(64, 128, 3, 2), conv(128, d, 3, 2))
        self.net = nn.Transformer(d, 4, 3, 3, 512, batch_first=True)
        self.places, self.queries = nn.Parameter(torch.rand(100, d)), nn.Parameter(torch.rand(queries, d))
        self.label, self.box = nn.Linear(d, 92), nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 4))

    def forward(self, x):
        y = self.body(x).flatten(2).transpose(1, 2) + self.places
        y = self.net(y, self.queries.unsqueeze(0))
        return self.label(y), self.box(y).sigmoid()


class Split(nn.Module):
    """Half of the maps through blocks, all of them concatenated, as in YOLO."""
    def __init__(self, i, o, n):
        super().__init__()
        self.half = o // 2
        self.a, self.b = conv(i, o, 1), conv((2 + n) * self.half, o, 1)
        self.m = nn.ModuleList([nn.Sequential(conv(self.half, self.half), conv(self.half, self.half)) for _ in range(n)])

    def forward(self, x):
        y = list(self.a(x).split((self.half, self.half), 1))
        for m in self.m:
            y.append(y[-1] + m(y[-1]))
        return self.b(torch.cat(y, 1))


@case((1, 3, 256, 256), hows=("script",))
class Yolo(nn.Module):
    """Three sizes of maps, pooling in a pyramid, boxes as expectations, and NMS over all classes at once. Its scores are
    so near each other, with random weights, that rounding decides on their order: its error says nothing."""
    def __init__(self, classes=20):
        super().__init__()
        self.s1 = nn.Sequential(conv(3, 16, 3, 2), conv(16, 32, 3, 2), Split(32, 32, 1), conv(32, 64, 3, 2), Split(64, 64, 2))
        self.s2 = nn.Sequential(conv(64, 128, 3, 2), Split(128, 128, 2))
        self.s3 = nn.Sequential(conv(128, 256, 3, 2), Split(256, 256, 1))
        self.in_, self.out = conv(256, 128, 1), conv(512, 256, 1)
        self.u2, self.u1 = Split(384, 128, 1), Split(192, 64, 1)
        self.box = nn.ModuleList([nn.Sequential(conv(c, 64), nn.Conv2d(64, 64, 1)) for c in (64, 128, 256)])
        self.cls = nn.ModuleList([nn.Sequential(conv(c, 64), nn.Conv2d(64, classes, 1)) for c in (64, 128, 256)])
        grids = [torch.cat([g.reshape(1, -1) + 0.5 for g in torch.meshgrid(torch.arange(n), torch.arange(n), indexing="xy")])
                 for n in (32, 16, 8)]
        self.register_buffer("grid", torch.cat(grids, 1))
        self.register_buffer("strides", torch.cat([torch.full((n * n,), 256.0 / n) for n in (32, 16, 8)]))
        self.register_buffer("bins", torch.arange(16.0))
        self.classes = classes

    def forward(self, x):
        a = self.s1(x)
        b = self.s2(a)
        c = self.in_(self.s3(b))
        p1 = F.max_pool2d(c, 5, 1, 2)
        p2 = F.max_pool2d(p1, 5, 1, 2)
        c = self.out(torch.cat((c, p1, p2, F.max_pool2d(p2, 5, 1, 2)), 1))
        b = self.u2(torch.cat((F.interpolate(c, scale_factor=2.0), b), 1))
        a = self.u1(torch.cat((F.interpolate(b, scale_factor=2.0), a), 1))
        boxes, scores = [], []
        for box, cls, y in zip(self.box, self.cls, (a, b, c)):
            boxes.append(box(y).flatten(2) * 20)  # apart, with random weights
            scores.append(cls(y).flatten(2) * 20)
        sides = torch.cat(boxes, 2).view(4, 16, -1).softmax(1)
        sides = (sides * self.bins.view(1, 16, 1)).sum(1)
        xyxy = torch.cat((self.grid - sides[:2], self.grid + sides[2:])) * self.strides
        best, label = torch.cat(scores, 2)[0].sigmoid().max(0)
        keep = best > 0.5
        xyxy, best, label = xyxy.t()[keep], best[keep], label[keep]
        kept = torch.ops.torchvision.nms(xyxy + label.unsqueeze(1) * 1000.0, best, 0.45)[:100]
        return xyxy[kept], best[kept], label[kept]


@case((1, 3, 128, 128))
class WeightedPyramid(nn.Module):
    """Maps of four sizes, summed by learned weights up and down, depthwise convolutions between."""
    def __init__(self, d=64):
        super().__init__()
        self.stem = conv(3, d, 3, 2)
        self.downs = nn.ModuleList([conv(d, d, 3, 2, d) for _ in range(4)])
        self.ups = nn.ModuleList([nn.Sequential(nn.Conv2d(d, d, 3, 1, 1, groups=d), conv(d, d, 1)) for _ in range(12)])
        self.w = nn.Parameter(torch.rand(12, 3))
        self.head = nn.Conv2d(d, 9 * 4, 3, padding=1)

    def forward(self, x):
        levels, i = [self.downs[0](self.stem(x))], 0
        for down in self.downs[1:]:
            levels.append(down(levels[-1]))
        for _ in range(2):
            first = list(levels)
            for n in (2, 1, 0):
                w = F.relu(self.w[i])
                levels[n] = self.ups[i](F.silu((levels[n] * w[0] + F.interpolate(levels[n + 1], scale_factor=2.0) * w[1]) /
                                               (w[:2].sum() + 1e-4)))
                i += 1
            for n in (1, 2, 3):
                w = F.relu(self.w[i])
                levels[n] = self.ups[i](F.silu((first[n] * w[0] + levels[n] * w[1] +
                                                F.max_pool2d(levels[n - 1], 3, 2, 1) * w[2]) / (w.sum() + 1e-4)))
                i += 1
        return [self.head(y) for y in levels]


# ---------------------------------------------------------- images and volumes
@case((1, 3, 64, 64))
class DenseResidual(nn.Module):
    """Blocks of five convolutions that each read all before, as in ESRGAN."""
    def __init__(self, d=32, grow=16):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, d, 3, padding=1), nn.Conv2d(d, 3, 3, padding=1)
        self.blocks = nn.ModuleList([nn.ModuleList([nn.Conv2d(d + grow * i, grow if i < 4 else d, 3, padding=1)
                                                    for i in range(5)]) for _ in range(4)])

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            all_ = [x]
            for c in block[:4]:
                all_.append(F.leaky_relu(c(torch.cat(all_, 1)), 0.2))
            x = x + 0.2 * block[4](torch.cat(all_, 1))
        return self.last(F.interpolate(x, scale_factor=2.0))


@case((1, 3, 128, 128))
class NestedU(nn.Module):
    """U-shaped blocks with dilations within, as in salient object detection."""
    def __init__(self):
        super().__init__()
        def row(i, o, d=1):
            return conv(i, o, 3, d=d, act=nn.ReLU)
        self.ins = nn.ModuleList([row(3, 32), row(32, 64), row(64, 64)])
        self.down = nn.ModuleList([nn.ModuleList([row(n, 16), row(16, 16), row(16, 16, 2), row(16, 16, 4)]) for n in (32, 64, 64)])
        self.up = nn.ModuleList([nn.ModuleList([row(32, 16, 2), row(32, 16), row(32, n)]) for n in (32, 64, 64)])
        self.side = nn.Conv2d(160, 1, 1)

    def forward(self, x):
        size, sides = x.shape[2:], []
        for i, first in enumerate(self.ins):
            x = first(x)
            a = self.down[i][0](x)
            b = self.down[i][1](F.max_pool2d(a, 2))
            c = self.down[i][2](b)
            d = self.down[i][3](c)
            d = self.up[i][0](torch.cat((d, c), 1))
            d = self.up[i][1](torch.cat((d, b), 1))
            d = F.interpolate(d, size=a.shape[2:], mode="bilinear", align_corners=False)
            x = x + self.up[i][2](torch.cat((d, a), 1))
            sides.append(F.interpolate(x, size=size, mode="bilinear", align_corners=False))
            x = F.max_pool2d(x, 2)
        return torch.sigmoid(self.side(torch.cat(sides, 1)))


@case((1, 3, 96, 96))
class Hourglass(nn.Module):
    """Poses by maps: residual blocks down to a point and up again, nearest."""
    def __init__(self, d=64):
        super().__init__()
        def block():
            return nn.Sequential(nn.BatchNorm2d(d), nn.ReLU(), nn.Conv2d(d, d // 2, 1), nn.BatchNorm2d(d // 2), nn.ReLU(),
                                 nn.Conv2d(d // 2, d // 2, 3, padding=1), nn.BatchNorm2d(d // 2), nn.ReLU(), nn.Conv2d(d // 2, d, 1))
        self.stem = conv(3, d, 7, 2, act=nn.ReLU)
        self.skip, self.low, self.high = (nn.ModuleList([block() for _ in range(4)]) for _ in range(3))
        self.last = nn.Conv2d(d, 17, 1)

    def forward(self, x):
        x, skips = self.stem(x), []
        for skip, low in zip(self.skip, self.low):
            skips.append(x + skip(x))
            x = F.max_pool2d(x, 2)
            x = x + low(x)
        for high in self.high:
            x = x + high(x)
            x = F.interpolate(x, scale_factor=2.0) + skips.pop()
        return self.last(x)


@case((1, 128, 16, 16))
class ImageDecoder(nn.Module):
    """The decoder of an autoencoder for images: group norms, SiLU, sizes doubled."""
    def __init__(self, d=128):
        super().__init__()
        layers = []
        for o in (128, 64, 32):
            layers += [nn.GroupNorm(16, d), nn.SiLU(), nn.Conv2d(d, d, 3, padding=1), nn.Upsample(scale_factor=2.0),
                       nn.Conv2d(d, o, 3, padding=1)]
            d = o
        self.layers = nn.Sequential(*layers, nn.GroupNorm(16, d), nn.SiLU(), nn.Conv2d(d, 3, 3, padding=1), nn.Tanh())

    def forward(self, x):
        return self.layers(x)


@case((1, 2, 32, 32, 32))
class VolumeNet(nn.Module):
    """Residual blocks in 3-D with a bottleneck and a depthwise part."""
    def __init__(self, d=32):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv3d(2, d, 3, 2, 1, bias=False), nn.BatchNorm3d(d), nn.ReLU())
        self.blocks = nn.ModuleList([nn.Sequential(
            nn.Conv3d(d, d, 3, padding=1, groups=d), nn.BatchNorm3d(d), nn.Conv3d(d, 4 * d, 1), nn.GELU(),
            nn.Conv3d(4 * d, d, 1)) for _ in range(3)])
        self.last = nn.Sequential(nn.Conv3d(d, 64, 3, 2, 1), nn.BatchNorm3d(64), nn.ReLU(), nn.AdaptiveAvgPool3d(1),
                                  nn.Flatten(), nn.Linear(64, 5))

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x)


@case((4096, 63), (4096, 27))
class RadianceField(nn.Module):
    """An MLP over points of rays with a skip, colours by directions."""
    def __init__(self, d=128):
        super().__init__()
        self.a = nn.ModuleList([nn.Linear(63 if i == 0 else d + 63 if i == 4 else d, d) for i in range(8)])
        self.density, self.features = nn.Linear(d, 1), nn.Linear(d, d)
        self.b, self.colour = nn.Linear(d + 27, d // 2), nn.Linear(d // 2, 3)

    def forward(self, x, directions):
        y = x
        for i, layer in enumerate(self.a):
            y = F.relu(layer(torch.cat((x, y), -1) if i == 4 else y))
        density = F.relu(self.density(y))
        y = F.relu(self.b(torch.cat((self.features(y), directions), -1)))
        colour = torch.sigmoid(self.colour(y)).view(64, 64, 3)
        alpha = 1 - torch.exp(-density.view(64, 64))
        through = torch.cumprod(torch.cat((torch.ones(64, 1), 1 - alpha[:, :-1] + 1e-10), 1), 1)
        return ((alpha * through).unsqueeze(-1) * colour).sum(1)


# ------------------------------------------------------------ points and graphs
@case((1, 512, 3))
class EdgeConvolution(nn.Module):
    """The 16 nearest neighbours of each point by features, differences through a layer, the largest."""
    def __init__(self, k=16):
        super().__init__()
        self.k, self.a, self.b = k, nn.Linear(6, 64), nn.Linear(128, 64)
        self.head = nn.Sequential(nn.Linear(128, 256), nn.LeakyReLU(0.2))

    def edges(self, x, layer):
        b, n, d = x.shape
        square = (x * x).sum(-1, keepdim=True)
        near = (2 * x @ x.transpose(1, 2) - square - square.transpose(1, 2)).topk(self.k, -1)[1]
        neighbours = torch.gather(x.unsqueeze(1).expand(b, n, n, d), 2, near.unsqueeze(-1).expand(b, n, self.k, d))
        own = x.unsqueeze(2).expand_as(neighbours)
        return F.leaky_relu(layer(torch.cat((own, neighbours - own), -1)), 0.2).amax(2)

    def forward(self, x):
        a = self.edges(x, self.a)
        b = self.edges(a, self.b)
        return self.head(torch.cat((a, b), -1)).amax(1)


@case((2048, 64), inputs=lambda: (torch.randn(2048, 64), torch.randint(0, 2048, (2, 8192)), torch.randn(8192, 16)))
class MessagePassing(nn.Module):
    """Messages by a layer over both ends and the edge, added at the target, gated."""
    def __init__(self, d=64):
        super().__init__()
        self.m = nn.ModuleList([nn.Sequential(nn.Linear(2 * d + 16, d), nn.SiLU(), nn.Linear(d, d)) for _ in range(2)])
        self.u = nn.ModuleList([nn.GRUCell(d, d) for _ in range(2)])

    def forward(self, x, edges, features):
        source, target = edges[0], edges[1]
        for m, u in zip(self.m, self.u):
            y = m(torch.cat((x[source], x[target], features), -1))
            x = u(torch.zeros_like(x).index_add(0, target, y), x)
        return x


# ---------------------------------------------------------- signals and speech
@case((1, 1, 4000))
class SourceSeparation(nn.Module):
    """Learned frames, a temporal network of depthwise convolutions and masks, as Conv-TasNet."""
    def __init__(self, n=128, b=64, h=128):
        super().__init__()
        self.enc, self.dec = nn.Conv1d(1, n, 16, 8, bias=False), nn.ConvTranspose1d(n, 1, 16, 8, bias=False)
        self.norm, self.bottle = nn.GroupNorm(1, n), nn.Conv1d(n, b, 1)
        self.blocks = nn.ModuleList([nn.Sequential(
            nn.Conv1d(b, h, 1), nn.PReLU(), nn.GroupNorm(1, h), nn.Conv1d(h, h, 3, padding=2 ** i, dilation=2 ** i, groups=h),
            nn.PReLU(), nn.GroupNorm(1, h), nn.Conv1d(h, b, 1)) for i in range(6)])
        self.mask = nn.Sequential(nn.PReLU(), nn.Conv1d(b, 2 * n, 1), nn.Sigmoid())

    def forward(self, x):
        w = self.enc(x)
        y = self.bottle(self.norm(w))
        for block in self.blocks:
            y = y + block(y)
        masks = self.mask(y).view(2, -1, w.shape[2])
        return self.dec(w * masks)


@case((1, 12, 1000))
class HeartSignals(nn.Module):
    """A residual network in 1-D with wide windows, pooling and squeezing, over 12 leads."""
    def __init__(self):
        super().__init__()
        def block(i, o, s):
            return nn.ModuleList([nn.Sequential(nn.Conv1d(i, o, 15, s, 7, bias=False), nn.BatchNorm1d(o), nn.ReLU(),
                                                nn.Conv1d(o, o, 15, 1, 7, bias=False), nn.BatchNorm1d(o)),
                                  nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Conv1d(o, o // 4, 1), nn.ReLU(),
                                                nn.Conv1d(o // 4, o, 1), nn.Sigmoid()),
                                  nn.Sequential(nn.AvgPool1d(s, s), nn.Conv1d(i, o, 1))])
        self.stem = nn.Sequential(nn.Conv1d(12, 32, 15, 2, 7, bias=False), nn.BatchNorm1d(32), nn.ReLU())
        self.blocks = nn.ModuleList([block(32, 32, 1), block(32, 64, 2), block(64, 64, 1), block(64, 128, 2)])
        self.last = nn.Linear(128, 9)

    def forward(self, x):
        x = self.stem(x)
        for a, gate, skip in self.blocks:
            y = a(x)
            x = F.relu(y * gate(y) + skip(x))
        return self.last(x.mean(2))


@case((1, 7, 512))
class SeriesInception(nn.Module):
    """Windows of 9, 19 and 39 beside each other and a pooled branch, of time series."""
    def __init__(self, d=32):
        super().__init__()
        maps, self.rows = 7, nn.ModuleList()
        for _ in range(4):
            self.rows.append(nn.ModuleList([nn.Conv1d(maps, d, 1, bias=False)] + [
                nn.Conv1d(d, d, k, padding=k // 2, bias=False) for k in (9, 19, 39)] + [
                nn.Conv1d(maps, d, 1, bias=False), nn.BatchNorm1d(4 * d)]))
            maps = 4 * d
        self.last = nn.Linear(maps, 6)

    def forward(self, x):
        for bottle, a, b, c, pooled, norm in self.rows:
            y = bottle(x)
            x = F.relu(norm(torch.cat((a(y), b(y), c(y), pooled(F.max_pool1d(x, 3, 1, 1))), 1)))
        return self.last(x.mean(2))


@case((1, 1, 32, 160))
class TextReader(nn.Module):
    """Convolutions and two levels of LSTM in both directions over columns of an image."""
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv(1, 32, act=nn.ReLU), nn.MaxPool2d(2), conv(32, 64, act=nn.ReLU), nn.MaxPool2d(2),
                                  conv(64, 128, act=nn.ReLU), nn.MaxPool2d((2, 1)), conv(128, 128, act=nn.ReLU),
                                  nn.MaxPool2d((4, 1)))
        self.net, self.last = nn.LSTM(128, 128, 2, bidirectional=True, batch_first=True), nn.Linear(256, 80)

    def forward(self, x):
        y = self.net(self.body(x).squeeze(2).transpose(1, 2))[0]
        return self.last(y).log_softmax(-1)


@case((1, 1, 80, 200))
class SpeechRecurrent(nn.Module):
    """Convolutions over a spectrogram, then GRUs."""
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 32, (41, 11), (2, 2), (20, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20),
                                  nn.Conv2d(32, 32, (21, 11), (2, 1), (10, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20))
        self.net, self.last = nn.GRU(640, 192, 2, bidirectional=True), nn.Linear(384, 29)

    def forward(self, x):
        y = self.body(x).flatten(1, 2).permute(2, 0, 1)
        return self.last(self.net(y)[0])


@case((64, 13), inputs=lambda: (torch.randn(64, 13), torch.randint(0, 1000, (64, 26))))
class Recommender(nn.Module):
    """Embeddings of categories and their products with each other, 64 at once."""
    def __init__(self, d=16):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(1000, d) for _ in range(26)])
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, d), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(d + 351, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())
        row, column = torch.tril_indices(27, 27, -1)
        self.register_buffer("row", row)
        self.register_buffer("column", column)

    def forward(self, dense, categories):
        x = self.bottom(dense)
        rows = torch.stack([x] + [t(categories[:, i]) for i, t in enumerate(self.tables)], 1)
        products = rows @ rows.transpose(1, 2)
        return self.top(torch.cat((x, products[:, self.row, self.column]), 1))


# ---------------------------------------------------------------- transformers
def hugging_face():
    """Small but usual sizes, with random weights."""
    def net(model, config, make, **options):
        def build():
            import transformers
            from breadth_zoo import Plain
            how = getattr(transformers, config)(**options)
            how._attn_implementation = "eager"
            names, inputs = make()
            return Plain(getattr(transformers, model)(how).eval(), names), inputs
        return build

    def ids(*names, length=128, vocab=8000):
        return lambda: (names, tuple(torch.randint(3, vocab, (1, length)) for _ in names))

    def one(name, *shape):
        return lambda: ((name,), (torch.randn(*shape),))

    small = dict(vocab_size=8000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024)
    return [
        ("bert_small", net("BertModel", "BertConfig", ids("input_ids"), **small)),
        ("distilbert_small", net("DistilBertModel", "DistilBertConfig", ids("input_ids"), vocab_size=8000, dim=256,
                                 n_layers=4, n_heads=4, hidden_dim=1024)),
        ("albert_small", net("AlbertModel", "AlbertConfig", ids("input_ids"), embedding_size=128, **small)),
        ("t5_small", net("T5Model", "T5Config", ids("input_ids", "decoder_input_ids", length=64), vocab_size=8000, d_model=256,
                         d_kv=64, d_ff=1024, num_layers=3, num_heads=4, use_cache=False)),
        ("llama_small", net("LlamaModel", "LlamaConfig", ids("input_ids", length=64), num_key_value_heads=2, use_cache=False,
                            max_position_embeddings=128, **small)),
        ("deberta_small", net("DebertaV2Model", "DebertaV2Config", ids("input_ids", length=64), relative_attention=True,
                              pos_att_type=["p2c", "c2p"], position_buckets=32, **small)),
        ("fnet_small", net("FNetModel", "FNetConfig", ids("input_ids"), **small)),
        ("mamba_small", net("MambaModel", "MambaConfig", ids("input_ids", length=32), vocab_size=8000, hidden_size=128,
                            num_hidden_layers=2, state_size=8, use_cache=False)),
        ("audio_tiny", net("ASTModel", "ASTConfig", one("input_values", 1, 256, 128), hidden_size=192, num_hidden_layers=4,
                           num_attention_heads=3, intermediate_size=768, max_length=256, num_mel_bins=128)),
        ("wav2vec2_small", net("Wav2Vec2Model", "Wav2Vec2Config", one("input_values", 1, 8000), conv_dim=[128] * 7,
                               num_conv_pos_embeddings=32, num_conv_pos_embedding_groups=8, **{**small, "vocab_size": 32})),
        ("segformer_b0", net("SegformerForSemanticSegmentation", "SegformerConfig", one("pixel_values", 1, 3, 128, 128))),
        ("whisper_tiny", net("WhisperModel", "WhisperConfig", lambda: (
            ("input_features", "decoder_input_ids"), (torch.randn(1, 80, 400), torch.randint(3, 500, (1, 8)))),
            vocab_size=1000, d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6,
            decoder_attention_heads=6, encoder_ffn_dim=1536, decoder_ffn_dim=1536, max_source_positions=200, pad_token_id=0,
            bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, use_cache=False)),
    ]
