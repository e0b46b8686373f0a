# SPDX-License-Identifier: Apache-2.0
"""Cases of breadth_peers.py that are a few layers of one kind each, the group
"layer": products and convolutions of shapes of real models, so that what is
behind other runtimes is seen by itself."""
import torch
from torch import nn


class Cases(list):
    """Rows as breadth.Case takes them behind the group."""

    def add(self, name, shape, make, repeats=1):
        """A net of REPEATS times what make() gives."""
        def build():
            return nn.Sequential(*[layer for _ in range(repeats) for layer in make()]), (torch.randn(shape),)
        self.append((name, build, ("trace",)))


_cases = Cases()
add = _cases.add


def cases():
    return _cases


class Tokens(nn.Module):
    """Layers over the tokens of (1, tokens, channels), as mixers have them."""
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.layers(x.transpose(1, 2)).transpose(1, 2)


class Heads(nn.Module):
    """Queries by keys by values, each its own small product."""
    def __init__(self, heads):
        super().__init__()
        self.heads = heads

    def forward(self, x):
        q, k, v = x.unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return (q @ k.transpose(2, 3)) @ v


def conv(kind, inputs, outputs, kernel, **how):
    """A convolution that keeps its image (at stride 1), and ReLU."""
    size = kernel if isinstance(kernel, tuple) else (kernel,) * kind
    dilation = how.get("dilation", 1)
    how.setdefault("padding", tuple(dilation * (k - 1) // 2 for k in size))
    return [getattr(nn, f"Conv{kind}d")(inputs, outputs, size, **how), nn.ReLU()]


def add_products():
    for m, k, n in ((197, 768, 3072), (128, 768, 3072), (196, 384, 1536), (49, 768, 3072), (784, 192, 768),
                    (3136, 96, 384), (50, 512, 2048), (16, 768, 3072)):
        add(f"mlp_{m}x{k}x{n}", (1, m, k), lambda k=k, n=n: [nn.Linear(k, n), nn.GELU(), nn.Linear(n, k)], 2)
    for m, k, n in ((197, 768, 3072), (128, 768, 768), (512, 1024, 1024), (4, 1024, 1024), (1, 2048, 2048),
                    (1000, 64, 16), (2048, 27, 64)):
        add(f"product_{m}x{k}x{n}", (m, k), lambda k=k, n=n: [nn.Linear(k, n), nn.Linear(n, k)], 3)
    for tokens, hidden, channels in ((196, 256, 512), (196, 196, 384), (49, 128, 768)):
        add(f"tokens_{tokens}x{hidden}x{channels}", (1, tokens, channels),
            lambda t=tokens, h=hidden: [Tokens(nn.Linear(t, h), nn.GELU(), nn.Linear(h, t))], 4)
    add("heads_12_of_197x64", (1, 197, 3 * 768), lambda: [Heads(12)])
    add("heads_96_of_49x32", (32, 49, 3 * 96), lambda: [Heads(3)])


def add_images():
    for outputs, kernel, side in ((1, 3, 128), (2, 1, 256), (3, 3, 128), (4, 3, 96), (1, 1, 256), (3, 9, 64)):
        add(f"few_64to{outputs}_k{kernel}", (1, 64, side, side), lambda o=outputs, k=kernel: conv(2, 64, o, k))
    for width, groups, side, stride in ((24, 7, 28, 1), (24, 14, 14, 1), (24, 7, 28, 2), (12, 8, 28, 1), (16, 18, 14, 1),
                                        (40, 6, 28, 1), (48, 6, 14, 1), (64, 4, 14, 1), (6, 32, 28, 1), (20, 8, 28, 1)):
        maps = width * groups
        add(f"groups_{groups}_of_{width}_s{stride}", (1, maps, side, side),
            lambda m=maps, g=groups, s=stride: conv(2, m, m, 3, groups=g, stride=s), 1 if stride > 1 else 4)
    for dilation, maps, side in ((2, 128, 28), (4, 256, 28), (12, 256, 33)):
        add(f"dilated_{maps}_d{dilation}", (1, maps, side, side), lambda m=maps, d=dilation: conv(2, m, m, 3, dilation=d), 2)
    for kernel in ((1, 7), (7, 1), (1, 3), (3, 1), (5, 5), (7, 7)):
        add(f"kernel_{kernel[0]}x{kernel[1]}_128", (1, 128, 17, 17), lambda k=kernel: conv(2, 128, 128, k), 4)
    add("kernel_3x3_s2_128", (1, 128, 56, 56), lambda: conv(2, 128, 128, 3, stride=2))
    add("kernel_1x1_s2_256", (1, 256, 56, 56), lambda: conv(2, 256, 512, 1, stride=2))
    for maps, kernel, outputs in ((3, 16, 768), (3, 4, 96), (96, 2, 192), (3, 14, 384)):
        add(f"patches_{maps}_k{kernel}", (1, maps, 224 // (1 if maps == 3 else 4), 224 // (1 if maps == 3 else 4)),
            lambda m=maps, k=kernel, o=outputs: conv(2, m, o, k, stride=k, padding=0))
    for maps, kernel, outputs, stride in ((3, 7, 64, 2), (1, 3, 32, 1), (1, 5, 64, 1), (4, 3, 128, 1), (6, 3, 64, 1)):
        add(f"first_{maps}_k{kernel}", (1, maps, 128, 128), lambda m=maps, k=kernel, o=outputs, s=stride:
            conv(2, m, o, k, stride=s))
    for maps, outputs, kernel, side in ((128, 64, 4, 32), (128, 64, 2, 32), (64, 32, 3, 48)):
        add(f"transposed_{maps}to{outputs}_k{kernel}", (1, maps, side, side), lambda m=maps, o=outputs, k=kernel:
            [nn.ConvTranspose2d(m, o, k, 2, padding=(k - 1) // 2), nn.ReLU()])


def add_signals():
    for maps, length, kernel, dilation in ((64, 600, 3, 1), (256, 400, 3, 1), (512, 200, 3, 1), (128, 800, 5, 1),
                                           (128, 800, 7, 1), (256, 400, 3, 4), (64, 4000, 3, 64), (32, 8000, 3, 1),
                                           (256, 400, 1, 1), (128, 500, 2, 1)):
        add(f"signal_{maps}_k{kernel}_d{dilation}", (1, maps, length), lambda m=maps, k=kernel, d=dilation:
            conv(1, m, m, k, dilation=d), 4)
    add("signal_256_k3_s2", (1, 256, 1600), lambda: conv(1, 256, 256, 3, stride=2), 2)
    add("signal_80to512_k3", (1, 80, 1500), lambda: conv(1, 80, 512, 3))
    add("signal_1to32_k7", (1, 1, 16000), lambda: conv(1, 1, 32, 7))
    add("signal_32to1_k7", (1, 32, 16000), lambda: conv(1, 32, 1, 7))
    add("signal_transposed_256to128_k16", (1, 256, 100), lambda: [nn.ConvTranspose1d(256, 128, 16, 8, padding=4), nn.ReLU()])


def add_volumes():
    add("volume_3to64_k3", (1, 3, 16, 56, 56), lambda: conv(3, 3, 64, 3))
    add("volume_3to64_k3x7x7", (1, 3, 8, 112, 112), lambda: conv(3, 3, 64, (3, 7, 7), stride=(1, 2, 2)))
    add("volume_1to32_k3", (1, 1, 32, 64, 64), lambda: conv(3, 1, 32, 3))
    add("volume_3to45_k1x7x7", (1, 3, 8, 112, 112), lambda: conv(3, 3, 45, (1, 7, 7), stride=(1, 2, 2)))
    for maps, depth, side in ((64, 8, 28), (128, 4, 14), (32, 16, 32), (16, 32, 32)):
        add(f"volume_{maps}_k3", (1, maps, depth, side, side), lambda m=maps: conv(3, m, m, 3), 2)
    add("volume_64_k1x3x3", (1, 64, 8, 28, 28), lambda: conv(3, 64, 64, (1, 3, 3)), 2)
    add("volume_64_k3x1x1", (1, 64, 8, 28, 28), lambda: conv(3, 64, 64, (3, 1, 1)), 4)
    add("volume_64_k3_s2", (1, 64, 8, 28, 28), lambda: conv(3, 64, 128, 3, stride=2))
    add("volume_32to2_k1", (1, 32, 32, 64, 64), lambda: conv(3, 32, 2, 1))
    add("volume_64to32_transposed", (1, 64, 8, 16, 16), lambda: [nn.ConvTranspose3d(64, 32, 2, 2), nn.ReLU()])


add_products()
add_images()
add_signals()
add_volumes()
