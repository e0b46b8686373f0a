# SPDX-License-Identifier: Apache-2.0
"""Cases of breadth_peers.py written by hand, of kinds that collections of image
classifiers lack: 1-D, 3-D, diffusion, detection, speech, recurrent."""
import torch
import torch.nn.functional as F
import torchvision  # registers nms
from torch import Tensor, nn

from net_cases import Cases

case = Cases()


def cases():
    return case


@case((1, 16, 600))
class DilatedGroupNorm1d(nn.Module):
    """A temporal network with dilations up to 32 and group norms."""
    def __init__(self, maps=64):
        super().__init__()
        self.first = nn.Conv1d(16, maps, 1)
        self.blocks = nn.ModuleList([nn.Sequential(
            nn.GroupNorm(8, maps), nn.SiLU(), nn.Conv1d(maps, maps, 3, padding=2 ** i, dilation=2 ** i),
            nn.GroupNorm(8, maps), nn.SiLU(), nn.Conv1d(maps, maps, 1)) for i in range(6)])
        self.last = nn.Conv1d(maps, 8, 1)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x)


@case((1, 1, 16000))
class SpeechFeatures1d(nn.Module):
    """The strided convolutions over samples that speech models begin with."""
    def __init__(self):
        super().__init__()
        layers, maps = [], 1
        for kernel, stride in ((10, 5), (3, 2), (3, 2), (3, 2), (2, 2)):
            layers += [nn.Conv1d(maps, 256, kernel, stride, bias=False), nn.GroupNorm(256 // 32, 256), nn.GELU()]
            maps = 256
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


@case((1, 144, 200))
class ConformerConvolution(nn.Module):
    """Pointwise, GLU, depthwise in 1-D, as in speech recognition."""
    def __init__(self, d=144):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(
            nn.Conv1d(d, 2 * d, 1), nn.GLU(1), nn.Conv1d(d, d, 31, padding=15, groups=d), nn.BatchNorm1d(d), nn.SiLU(),
            nn.Conv1d(d, d, 1)) for _ in range(4)])

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


@case((1, 3, 16, 64, 64))
class SmallC3d(nn.Module):
    """3-D convolutions over 16 frames, 3 maps at first."""
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv3d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool3d((1, 2, 2)), nn.Conv3d(16, 32, 3, padding=1), nn.ReLU(),
            nn.MaxPool3d(2), nn.Conv3d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2), nn.AdaptiveAvgPool3d(1),
            nn.Flatten(), nn.Linear(64, 10))

    def forward(self, x):
        return self.layers(x)


@case((1, 1, 32, 32, 32))
class VoxelUNet(nn.Module):
    """A U-Net over voxels of one map, as in medicine."""
    def __init__(self):
        super().__init__()

        def pair(i, o):
            return nn.Sequential(nn.Conv3d(i, o, 3, padding=1), nn.InstanceNorm3d(o, affine=True), nn.LeakyReLU(0.01),
                                 nn.Conv3d(o, o, 3, padding=1), nn.InstanceNorm3d(o, affine=True), nn.LeakyReLU(0.01))
        self.a, self.b, self.c = pair(1, 16), pair(16, 32), pair(48, 16)
        self.up, self.last = nn.ConvTranspose3d(32, 32, 2, 2), nn.Conv3d(16, 3, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool3d(a, 2))
        return self.last(self.c(torch.cat((a, self.up(b)), 1)))


class ResidualNorm(nn.Module):
    def __init__(self, i, o, time):
        super().__init__()
        self.n1, self.c1 = nn.GroupNorm(8, i), nn.Conv2d(i, o, 3, padding=1)
        self.n2, self.c2 = nn.GroupNorm(8, o), nn.Conv2d(o, o, 3, padding=1)
        self.t, self.skip = nn.Linear(time, o), nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x, t):
        h = self.c1(F.silu(self.n1(x))) + self.t(F.silu(t))[:, :, None, None]
        return self.c2(F.silu(self.n2(h))) + self.skip(x)


@case((1, 4, 32, 32), (1, 128))
class DiffusionUNet(nn.Module):
    """The denoiser of a latent diffusion model, small."""
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 64, 3, padding=1)
        self.r1, self.r2, self.r3 = (ResidualNorm(64, 64, 128), ResidualNorm(64, 128, 128), ResidualNorm(192, 64, 128))
        self.down, self.up = nn.Conv2d(64, 64, 3, 2, 1), nn.Conv2d(128, 128, 3, padding=1)
        self.norm, self.attention = nn.GroupNorm(8, 128), nn.MultiheadAttention(128, 4, batch_first=True)
        self.end, self.last = nn.GroupNorm(8, 64), nn.Conv2d(64, 4, 3, padding=1)

    def forward(self, x, t):
        a = self.r1(self.first(x), t)
        b = self.r2(self.down(a), t)
        y = self.norm(b).flatten(2).transpose(1, 2)
        b = b + self.attention(y, y, y, need_weights=False)[0].transpose(1, 2).reshape(b.shape)
        up = self.up(F.interpolate(b, scale_factor=2.0))
        return self.last(F.silu(self.end(self.r3(torch.cat((up, a), 1), t))))


@case((1, 196, 512))
class MixerMlp(nn.Module):
    """Token and channel mixing of an MLP-Mixer of size S."""
    def __init__(self, tokens=196, d=512):
        super().__init__()
        self.blocks = nn.ModuleList([nn.ModuleList([
            nn.LayerNorm(d), nn.Sequential(nn.Linear(tokens, 256), nn.GELU(), nn.Linear(256, tokens)),
            nn.LayerNorm(d), nn.Sequential(nn.Linear(d, 2048), nn.GELU(), nn.Linear(2048, d))]) for _ in range(4)])

    def forward(self, x):
        for n1, tokens, n2, maps in self.blocks:
            x = x + tokens(n1(x).transpose(1, 2)).transpose(1, 2)
            x = x + maps(n2(x))
        return x


@case((1, 100, 80))
class GruSpeech(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.out = nn.GRU(80, 256, 2, batch_first=True, bidirectional=True), nn.Linear(512, 64)

    def forward(self, x):
        return self.out(self.gru(x)[0])


@case((1024, 64), inputs=lambda: (torch.randn(1024, 64), torch.randint(0, 1024, (2, 8192))))
class GraphConvolution(nn.Module):
    """Rows gathered by edges, scattered back and summed."""
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(64, 64), nn.Linear(64, 64)

    def forward(self, x, edges):
        for layer in (self.a, self.b):
            rows = layer(x).index_select(0, edges[0])
            x = F.relu(x + torch.zeros_like(x).index_add(0, edges[1], rows))
        return x



@case((1, 3, 128, 128))
class StyleTransfer(nn.Module):
    """Reflected borders, instance norms, a last layer of 9 x 9 to 3 maps."""
    def __init__(self):
        super().__init__()

        def layer(i, o, kernel, stride=1, last=False):
            parts = [nn.ReflectionPad2d(kernel // 2), nn.Conv2d(i, o, kernel, stride)]
            return nn.Sequential(*parts, *([] if last else [nn.InstanceNorm2d(o, affine=True), nn.ReLU()]))
        self.down = nn.Sequential(layer(3, 32, 9), layer(32, 64, 3, 2), layer(64, 128, 3, 2))
        self.blocks = nn.ModuleList([nn.Sequential(layer(128, 128, 3), layer(128, 128, 3)) for _ in range(2)])
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), layer(128, 64, 3), nn.Upsample(scale_factor=2),
                                layer(64, 32, 3), layer(32, 3, 9, last=True))

    def forward(self, x):
        x = self.down(x)
        for block in self.blocks:
            x = x + block(x)
        return self.up(x)


@case((1, 3, 64, 64))
class SuperResolution(nn.Module):
    """Residual blocks at the small size, pixels shuffled to the large one."""
    def __init__(self, maps=48):
        super().__init__()
        self.first = nn.Conv2d(3, maps, 3, padding=1)
        self.blocks = nn.ModuleList([nn.Sequential(
            nn.Conv2d(maps, maps, 3, padding=1), nn.PReLU(maps), nn.Conv2d(maps, maps, 3, padding=1)) for _ in range(4)])
        self.up = nn.Sequential(nn.Conv2d(maps, 4 * maps, 3, padding=1), nn.PixelShuffle(2), nn.PReLU(maps),
                                nn.Conv2d(maps, 3, 3, padding=1))

    def forward(self, x):
        y = first = self.first(x)
        for block in self.blocks:
            y = y + block(y)
        return self.up(y + first) + F.interpolate(x, scale_factor=2.0, mode="bicubic", align_corners=False)


@case((1, 80, 32))
class Vocoder(nn.Module):
    """Mel spectra to samples: transposed and dilated convolutions in 1-D, one map at the end."""
    def __init__(self):
        super().__init__()
        self.first, maps = nn.Conv1d(80, 128, 7, padding=3), 128
        self.ups, self.blocks = nn.ModuleList(), nn.ModuleList()
        for rate in (8, 8, 2):
            self.ups.append(nn.ConvTranspose1d(maps, maps // 2, 2 * rate, rate, rate // 2))
            maps //= 2
            self.blocks.append(nn.ModuleList([nn.Sequential(
                nn.LeakyReLU(0.1), nn.Conv1d(maps, maps, 3, padding=d, dilation=d), nn.LeakyReLU(0.1),
                nn.Conv1d(maps, maps, 3, padding=1)) for d in (1, 3, 5)]))
        self.last = nn.Conv1d(maps, 1, 7, padding=3)

    def forward(self, x):
        x = self.first(x)
        for up, blocks in zip(self.ups, self.blocks):
            x = up(F.leaky_relu(x, 0.1))
            for block in blocks:
                x = x + block(x)
        return torch.tanh(self.last(F.leaky_relu(x)))


@case((1, 64, 2000))
class WaveNet(nn.Module):
    """Gated dilated convolutions with residuals and skips."""
    def __init__(self, maps=64):
        super().__init__()
        self.gates = nn.ModuleList([nn.Conv1d(maps, 2 * maps, 2, dilation=2 ** i) for i in range(8)])
        self.outs = nn.ModuleList([nn.Conv1d(maps, 2 * maps, 1) for _ in range(8)])
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(maps, maps, 1), nn.ReLU(), nn.Conv1d(maps, 256, 1))

    def forward(self, x):
        skips = torch.zeros_like(x)
        for i, (gate, out) in enumerate(zip(self.gates, self.outs)):
            a, b = gate(F.pad(x, (2 ** i, 0))).chunk(2, 1)
            y, skip = out(torch.tanh(a) * torch.sigmoid(b)).chunk(2, 1)
            x, skips = x + y, skips + skip
        return self.last(skips)


@case((1, 3, 1024))
class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.local = nn.Sequential(nn.Conv1d(3, 64, 1), nn.BatchNorm1d(64), nn.ReLU(), nn.Conv1d(64, 128, 1),
                                   nn.BatchNorm1d(128), nn.ReLU(), nn.Conv1d(128, 512, 1), nn.BatchNorm1d(512), nn.ReLU())
        self.turn = nn.Sequential(nn.Conv1d(3, 64, 1), nn.ReLU(), nn.Conv1d(64, 128, 1), nn.ReLU())
        self.matrix, self.head = nn.Linear(128, 9), nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 40))

    def forward(self, x):
        matrix = self.matrix(self.turn(x).amax(2)).view(-1, 3, 3)
        x = torch.bmm(x.transpose(1, 2), matrix).transpose(1, 2)
        return self.head(self.local(x).amax(2))


@case((1, 128, 192))
class StateSpaceScan(nn.Module):
    """A selective state space block: gates, depthwise in 1-D, a scan in time in two sums."""
    def __init__(self, d=192, states=8):
        super().__init__()
        self.inner, self.conv = nn.Linear(d, 4 * d), nn.Conv1d(2 * d, 2 * d, 4, padding=3, groups=2 * d)
        self.rates, self.mixes = nn.Linear(2 * d, 2 * d), nn.Linear(2 * d, 2 * states)
        self.logs, self.out = nn.Parameter(torch.rand(2 * d, states)), nn.Linear(2 * d, d)

    def forward(self, x):
        x, gate = self.inner(x).chunk(2, -1)
        x = F.silu(self.conv(x.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2))
        rate, (b, c) = F.softplus(self.rates(x)), self.mixes(x).chunk(2, -1)
        log = (rate.unsqueeze(-1) * -self.logs.exp()).cumsum(1)
        start = log.amin(1, keepdim=True)
        h = (rate * x).unsqueeze(-1) * b.unsqueeze(2) * (start - log).clamp(min=-20).exp()
        y = (h.cumsum(1) * (log - start).clamp(max=20).exp() * c.unsqueeze(2)).sum(-1)
        return self.out(y * F.silu(gate))


@case((1, 120, 144))
class RelativeAttention(nn.Module):
    """The attention of a conformer: queries against keys and relative positions, shifted."""
    def __init__(self, d=144, heads=4, length=120):
        super().__init__()
        self.heads, self.norm, self.qkv = heads, nn.LayerNorm(d), nn.Linear(d, 3 * d)
        self.place, self.out = nn.Linear(d, d, bias=False), nn.Linear(d, d)
        self.u, self.v = nn.Parameter(torch.randn(heads, d // heads)), nn.Parameter(torch.randn(heads, d // heads))
        self.register_buffer("places", torch.randn(1, 2 * length - 1, d))

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1)

    def forward(self, x):
        q, k, v = (self.split(y) for y in self.qkv(self.norm(x)).chunk(3, -1))
        p = self.split(self.place(self.places)).transpose(1, 2)
        near = torch.matmul((q + self.u).transpose(1, 2), k.permute(0, 2, 3, 1))
        far = torch.matmul((q + self.v).transpose(1, 2), p.transpose(2, 3))
        b, h, n, m = far.shape
        far = F.pad(far, (1, 0)).view(b, h, m + 1, n)[:, :, 1:].reshape(b, h, n, m)[..., :n]
        weights = ((near + far) * (k.shape[-1] ** -0.5)).softmax(-1)
        y = torch.matmul(weights, v.transpose(1, 2)).transpose(1, 2).reshape(x.shape)
        return x + self.out(y)


@case((1, 48, 512))
class GatedFeedForward(nn.Module):
    """Norms by root mean square, rotary positions, grouped queries and gated products, as in language models."""
    def __init__(self, d=512, heads=8, groups=2):
        super().__init__()
        self.heads, self.groups, self.d = heads, groups, d // heads
        self.q, self.k, self.v = nn.Linear(d, d, False), nn.Linear(d, d // 4, False), nn.Linear(d, d // 4, False)
        self.o, self.gate, self.up = nn.Linear(d, d, False), nn.Linear(d, 1376, False), nn.Linear(d, 1376, False)
        self.down, self.n1, self.n2 = nn.Linear(1376, d, False), nn.RMSNorm(d, 1e-5), nn.RMSNorm(d, 1e-5)
        angles = torch.outer(torch.arange(48.0), 10000 ** (-torch.arange(0, self.d, 2) / self.d)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def turn(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat((-b, a), -1) * self.sin

    def forward(self, x):
        b, n, d = x.shape
        y = self.n1(x)
        q = self.turn(self.q(y).view(b, n, self.heads, self.d).transpose(1, 2))
        k = self.turn(self.k(y).view(b, n, self.groups, self.d).transpose(1, 2))
        v = self.v(y).view(b, n, self.groups, self.d).transpose(1, 2)
        k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, d)
        x = x + self.o(y)
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


@case((1024, 64), inputs=lambda: (torch.randn(1024, 64), torch.randint(0, 1024, (2, 8192))))
class GraphAttention(nn.Module):
    """Edges weighted by a softmax over those that end in a node, added by elements."""
    def __init__(self, d=64):
        super().__init__()
        self.x, self.source, self.target = nn.Linear(d, d), nn.Linear(d, 1), nn.Linear(d, 1)

    def forward(self, x, edges):
        y = self.x(x)
        score = F.leaky_relu(self.source(y)[edges[0]] + self.target(y)[edges[1]], 0.2).exp()
        total = torch.zeros(x.shape[0], 1).scatter_add(0, edges[1].unsqueeze(-1), score)
        rows = y.index_select(0, edges[0]) * (score / total.index_select(0, edges[1]))
        return F.elu(torch.zeros_like(y).scatter_add(0, edges[1].unsqueeze(-1).expand_as(rows), rows))


@case((1, 3, 128, 128))
class DepthHead(nn.Module):
    """Features of three sizes, fused by resizing, to one map at full size."""
    def __init__(self, maps=48):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, maps, 3, 2, 1), nn.Conv2d(maps, maps, 3, 2, 1)
        self.c, self.d = nn.Conv2d(maps, maps, 3, 2, 1), nn.Conv2d(maps, maps, 3, padding=1)
        self.last = nn.Sequential(nn.Conv2d(maps, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 1, 3, padding=1), nn.Sigmoid())

    def forward(self, x):
        a = F.gelu(self.a(x))
        b = F.gelu(self.b(a))
        c = F.gelu(self.c(b))
        for skip in (b, a):
            c = self.d(F.interpolate(c, size=skip.shape[2:], mode="bilinear", align_corners=True) + skip)
        return self.last(F.interpolate(c, scale_factor=2.0, mode="bilinear", align_corners=True))


@case((1, 3, 128, 128), hows=("script",))
class SmallDetector(nn.Module):
    """A single shot: its tail goes over classes with masks, top-k and NMS."""
    def __init__(self, classes=20):
        super().__init__()
        maps, layers = 3, []
        for out in (16, 32, 64, 64):
            layers += [nn.Conv2d(maps, out, 3, 2, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU()]
            maps = out
        self.body = nn.Sequential(*layers)
        self.scores, self.boxes = nn.Conv2d(64, 6 * classes, 3, padding=1), nn.Conv2d(64, 24, 3, padding=1)
        self.classes = classes
        self.register_buffer("places", torch.rand(384, 2) * 100)

    def forward(self, x):
        y = self.body(x)
        scores = self.scores(y).permute(0, 2, 3, 1).reshape(-1, self.classes).softmax(1)
        offsets = self.boxes(y).permute(0, 2, 3, 1).reshape(-1, 4)
        low = self.places + offsets[:, :2]
        boxes = torch.cat((low, low + 8 + offsets[:, 2:].exp()), 1).clamp(0, 128)
        found_boxes, found_scores, found_labels = [boxes[:0]], [scores[:0, 0]], [torch.zeros(0, dtype=torch.int64)]
        for label in range(1, self.classes):
            score = scores[:, label]
            keep = score > 0.05
            score, candidates = score[keep], boxes[keep]
            score, order = score.topk(min(100, score.size(0)))
            candidates = candidates[order]
            kept = torch.ops.torchvision.nms(candidates, score, 0.45)
            found_boxes.append(candidates[kept])
            found_scores.append(score[kept])
            found_labels.append(torch.full((kept.size(0),), label, dtype=torch.int64))
        all_scores = torch.cat(found_scores)
        best = all_scores.topk(min(50, all_scores.size(0)))[1]
        return torch.cat(found_boxes)[best], all_scores[best], torch.cat(found_labels)[best]
