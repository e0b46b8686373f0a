# SPDX-License-Identifier: Apache-2.0
"""Cases of breadth_peers.py written by hand, of kinds that collections of image
classifiers lack: 1-D, 3-D, diffusion, detection, speech, recurrent."""
import torch
import torch.nn.functional as F
import torchvision  # registers nms
from torch import Tensor, nn

_cases = []


def case(*shapes, hows=("trace",), inputs=None):
    """Registers a module class, with the shapes of its inputs."""
    def register(cls):
        _cases.append((cls.__name__, lambda: (cls(), inputs() if inputs else tuple(torch.randn(s) for s in shapes)),
                       hows))
        return cls
    return register


def cases():
    return _cases


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
