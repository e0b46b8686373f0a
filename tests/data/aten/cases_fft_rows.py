# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms of more rows than are transformed at once, along all
dims, with some left; spectrograms of many frames."""
import torch

MOST = 60
BYTES = 60000


def add(m):
    case, rand = m.case, m.rand
    for n in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        real = n in ("rfft", "ihfft")
        for k, d in ((16, m.f4), (15, m.f4), (37, m.f8)):
            d = d if real else {m.f4: m.c4, m.f8: m.c8}[d]
            case(f"aten::fft_{n}", rand((7, k), d), None, -1, "ortho")
            case(f"aten::fft_{n}", rand((2, k, 5), d), None, 1)
            case(f"aten::fft_{n}", rand((6, k, 2), d)[::2, :, 1])
        case(f"aten::fft_{n}2", rand((2, 6, 10), m.f4 if real else m.c4))
    x, hann = rand((1, 70)), torch.hann_window(24)
    for kw in ({}, dict(onesided=False), dict(normalized=True)):
        case("aten::stft.center", x, 24, 5, window=hann, return_complex=True,
             **kw)
    case("aten::stft.center", x, 24, 5, 20, torch.hann_window(40)[::2],
         return_complex=True)
    case("aten::stft.center", x, 25, 5, window=torch.hann_window(25),
         return_complex=True)
    case("aten::stft.center", x.double(), 24, 5, window=hann.double(),
         return_complex=True)
    case("aten::stft.center", x, 24, 5, window=hann.double(),
         return_complex=True)
    case("aten::stft.center", x[:, ::2], 24, 5, window=hann,
         return_complex=True)
    # not padded, so cut from the tensor as it lies in memory
    for wide in (x[:, ::2], rand((70, 2)).t(), x[:, :1].expand(1, 70)):
        case("aten::stft", wide, 24, 5, window=hann, return_complex=True)
