# SPDX-License-Identifier: Apache-2.0
"""Cases of breadth_peers.py that are convolutions of all kinds, the group
"conv": what layer_nets.py has little of, or none. Transposed, dilated, grouped,
with few maps, of odd sizes, of small images and of several images at once."""
from torch import nn

from layer_nets import Cases, conv

_cases = Cases()
add = _cases.add


def cases():
    return _cases


def transposed(name, shape, outputs, kernel, **how):
    """A transposed convolution and ReLU."""
    kind = getattr(nn, f"ConvTranspose{len(shape) - 2}d")
    add("transposed_" + name, shape, lambda: [kind(shape[1], outputs, kernel, **how), nn.ReLU()])


def convolution(name, shape, outputs, kernel, repeats=1, **how):
    add(name, shape, lambda: conv(len(shape) - 2, shape[1], outputs, kernel, **how), repeats)


def plain(name, shape, outputs, kernel, **how):
    """As the last layer of a network: no activation after it."""
    add(name, shape, lambda: conv(len(shape) - 2, shape[1], outputs, kernel, **how)[:1])


def add_transposed():
    transposed("d2_64_k3", (1, 64, 28, 28), 64, 3, dilation=2, padding=2)
    transposed("d2_s2_64to32_k3", (1, 64, 28, 28), 32, 3, dilation=2, stride=2, padding=2, output_padding=1)
    transposed("d3_s2_32_k4", (1, 32, 32, 32), 32, 4, dilation=3, stride=2, padding=4)
    transposed("d2_1d_128_k5", (1, 128, 400), 128, 5, dilation=2, padding=4)
    transposed("g4_64_k4_s2", (1, 64, 28, 28), 64, 4, groups=4, stride=2, padding=1)
    transposed("g8_256_k4_s2", (1, 256, 14, 14), 128, 4, groups=8, stride=2, padding=1)
    transposed("g2_64_k3_s1", (1, 64, 28, 28), 64, 3, groups=2, padding=1)
    transposed("3d_32to16_k4_s2", (1, 32, 8, 16, 16), 16, 4, stride=2, padding=1)
    transposed("3d_64to32_k3_s2", (1, 64, 8, 14, 14), 32, 3, stride=2, padding=1, output_padding=1)
    transposed("3d_32_k2_s2", (1, 32, 16, 16, 16), 32, 2, stride=2)
    transposed("3d_16to1_k3_s2", (1, 16, 16, 24, 24), 1, 3, stride=2, padding=1, output_padding=1)
    transposed("64_k3_s1", (1, 64, 28, 28), 64, 3, padding=1)
    transposed("512to256_k4_s2_4x4", (1, 512, 4, 4), 256, 4, stride=2, padding=1)
    transposed("100to512_k4_1x1", (1, 100, 1, 1), 512, 4)
    transposed("64to3_k4_s2", (1, 64, 64, 64), 3, 4, stride=2, padding=1)
    transposed("64to1_k9_s4", (1, 56, 32, 32), 1, 9, stride=4, padding=4, output_padding=3)
    transposed("21_k16_s8", (1, 21, 28, 28), 21, 16, stride=8, padding=4)
    transposed("256_k2_s2_odd", (1, 256, 13, 17), 96, 2, stride=2)
    transposed("1d_512to256_k10_s5", (1, 512, 64), 256, 10, stride=5, padding=3, output_padding=1)
    transposed("1d_64to1_k4_s2", (1, 64, 4000), 1, 4, stride=2, padding=1)
    transposed("b8_128to64_k4_s2", (8, 128, 14, 14), 64, 4, stride=2, padding=1)


def add_few():
    for maps, outputs, kernel, side in ((64, 2, 3, 128), (32, 3, 1, 224), (256, 21, 1, 65), (64, 12, 3, 128),
                                        (128, 5, 3, 40), (256, 4, 3, 50), (48, 3, 5, 96), (256, 80, 3, 28)):
        plain(f"last_{maps}to{outputs}_k{kernel}_{side}", (1, maps, side, side), outputs, kernel)
    for maps, outputs, kernel, side, stride in ((3, 32, 3, 224, 2), (1, 64, 3, 96, 1), (2, 16, 3, 160, 1),
                                                (12, 48, 3, 112, 1), (3, 64, 3, 64, 1), (5, 30, 5, 61, 1),
                                                (3, 24, 3, 224, 2)):
        convolution(f"first_{maps}to{outputs}_k{kernel}_s{stride}", (1, maps, side, side), outputs, kernel, stride=stride)
    convolution("few_3to3_k3", (1, 3, 256, 256), 3, 3)
    convolution("few_1to1_k5", (1, 1, 256, 256), 1, 5)
    convolution("few_8_k3", (1, 8, 128, 128), 8, 3, 3)


def add_strided():
    for maps, outputs, side in ((64, 128, 56), (128, 256, 28), (256, 512, 14), (512, 512, 7), (32, 64, 112), (24, 48, 56)):
        convolution(f"s2_{maps}to{outputs}_k3_{side}", (1, maps, side, side), outputs, 3, stride=2)
    convolution("s2_64_k5", (1, 64, 56, 56), 64, 5, stride=2)
    convolution("s3_64_k3", (1, 64, 57, 57), 128, 3, stride=3, padding=0)
    convolution("s2_128_k1_7", (1, 1024, 14, 14), 2048, 1, stride=2)
    convolution("s2_k2_96to192_odd", (1, 96, 29, 29), 192, 2, stride=2, padding=0)
    convolution("s2_d2_64_k3", (1, 64, 56, 56), 64, 3, stride=2, dilation=2)
    convolution("s2x1_64_k3", (1, 64, 32, 100), 128, 3, stride=(2, 1))
    convolution("s4_k8_1d", (1, 64, 2000), 128, 8, stride=4, padding=2)
    convolution("s5_k10_1to512_1d", (1, 1, 16000), 512, 10, stride=5, padding=0)
    convolution("s2_k3_512_1d", (1, 512, 800), 512, 3, stride=2)


def add_depthwise():
    for maps, kernel, side, stride, dilation in ((96, 3, 56, 1, 1), (144, 3, 56, 2, 1), (240, 5, 28, 2, 1),
                                                 (960, 5, 7, 1, 1), (384, 7, 14, 1, 1), (96, 7, 56, 1, 1),
                                                 (256, 3, 33, 1, 6), (60, 3, 28, 1, 1), (13, 3, 50, 1, 1),
                                                 (32, 31, 32, 1, 1)):
        convolution(f"depthwise_{maps}_k{kernel}_s{stride}_d{dilation}_{side}", (1, maps, side, side), maps, kernel,
                    groups=maps, stride=stride, dilation=dilation)
    convolution("depthwise_twice_64to128", (1, 64, 28, 28), 128, 3, groups=64)
    convolution("depthwise_3d_32", (1, 32, 8, 28, 28), 32, 3, groups=32)
    convolution("depthwise_3d_108_s122", (1, 108, 8, 28, 28), 108, 3, groups=108, stride=(1, 2, 2))
    convolution("depthwise_1d_256_k31", (1, 256, 300), 256, 31, groups=256)
    convolution("depthwise_b8_192", (8, 192, 14, 14), 192, 3, groups=192)


def add_others():
    convolution("g2_96_k5", (1, 96, 27, 27), 256, 5, groups=2)
    convolution("g3_48_k1", (1, 240, 28, 28), 240, 1, groups=3)
    convolution("g32_128_k3_s2", (1, 128, 56, 56), 128, 3, groups=32, stride=2)
    convolution("g4_1d_256_k3", (1, 256, 400), 256, 3, groups=4)
    convolution("g16_1d_512_k41_s4", (1, 256, 800), 512, 41, groups=16, stride=4)
    convolution("g4_3d_64", (1, 64, 8, 14, 14), 64, 3, groups=4)
    for maps, side in ((512, 7), (1024, 4), (2048, 2), (512, 5)):
        convolution(f"small_{maps}_k3_{side}", (1, maps, side, side), 512, 3)
    convolution("small_2048to512_k1_7", (1, 2048, 7, 7), 512, 1)
    convolution("small_512to2048_k1_7", (1, 512, 7, 7), 2048, 1)
    convolution("odd_37to53_k3", (1, 37, 31, 29), 53, 3)
    convolution("odd_100to10_k1", (1, 100, 33, 35), 10, 1)
    convolution("odd_17_k4", (1, 17, 40, 40), 33, 4, padding=1)
    convolution("even_64_k2", (1, 64, 28, 28), 64, 2, padding=0)
    convolution("wide_64_k9", (1, 64, 28, 28), 64, 9)
    convolution("wide_64_k1x11", (1, 64, 28, 28), 64, (1, 11))
    convolution("wide_16_k3x9", (1, 16, 64, 64), 32, (3, 9))
    convolution("d3_s1_64_k3_1d", (1, 64, 1000), 64, 3, 2, dilation=3)
    convolution("d9_32_k7_1d", (1, 32, 2000), 32, 7, dilation=9)
    convolution("d2_3d_32", (1, 32, 8, 28, 28), 32, 3, dilation=2)
    convolution("3d_s2_32to64", (1, 32, 16, 28, 28), 64, 3, stride=2)
    convolution("3d_5_k5", (1, 16, 12, 20, 20), 16, 5)
    convolution("3d_256_k3_small", (1, 256, 2, 7, 7), 256, 3)
    plain("3d_last_32to3_k1", (1, 32, 24, 48, 48), 3, 1)
    plain("3d_last_16to2_k3", (1, 16, 24, 48, 48), 2, 3)
    convolution("b8_64_k3_28", (8, 64, 28, 28), 64, 3)
    convolution("b8_256_k1_14", (8, 256, 14, 14), 256, 1)
    convolution("b8_3to32_k3_s2", (8, 3, 112, 112), 32, 3, stride=2)
    convolution("b8_512_k3_7", (8, 512, 7, 7), 512, 3)
    convolution("b8_128_k3_s2", (8, 128, 28, 28), 128, 3, stride=2)
    plain("b8_last_64to3_k3", (8, 64, 48, 48), 3, 3)
    convolution("b32_1d_16_k5", (32, 16, 128), 32, 5)


add_transposed()
add_few()
add_strided()
add_depthwise()
add_others()
