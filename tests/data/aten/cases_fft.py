# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms, spectrograms and window functions."""
import torch

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 17, 30, 37, 64, 67, 100, 121]
MOST = 60
BYTES = 7000


def add(m):
    case, rand = m.case, m.rand
    f4, f8, f2, i8, b1, c4, c8 = m.f4, m.f8, m.f2, m.i8, m.b1, m.c4, m.c8
    norms = [None, "forward", "backward", "ortho"]
    for n in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        q = f"aten::fft_{n}"
        real = n in ("rfft", "ihfft")
        for k in LENGTHS:
            case(q, rand((k,), f8 if real else c8))
        for d in (f4, f8, i8, b1, c4, c8, f2):
            case(q, rand((2, 9), d))
        case(q, rand((2, 40), f4 if real else c4))
        for i, norm in enumerate(norms + ["what"]):
            case(q, rand((3, 6), f4 if real else c4), 5 + i, -1, norm)
        x = rand((4, 3, 5), f4)
        for dim in (0, 1, -1):
            case(q, x, None, dim)
            case(q, x.permute(2, 0, 1), None, dim)
        case(q, x, 8, 0)
        case(q, x, 2, 0)
        case(q, x, 0)
        case(q, x, -1)
        case(q, x, None, 3)
        case(q, rand(()), None, 0)
        case(q, rand((0,)))
        case(q, rand((0, 4)))
        for e in ("2", "n"):
            q = f"aten::fft_{n}{e}"
            y = x if real else rand((4, 3, 5), c4)
            case(q, y)
            case(q, x)
            case(q, rand((6, 4), f8))
            for norm in norms:
                case(q, y, None, [0, 1], norm)
            case(q, y, [6, 2], [0, -1])
            case(q, y, [-1, 4], [1, 2])
            case(q, y, [3], [1, 2])
            case(q, y, None, [1, 1])
            case(q, y, [2, 0])
            case(q, rand((4,)))
        case(f"aten::fft_{n}n", y, [4, 3])
        case(f"aten::fft_{n}n", y, [2, 2, 2, 2])
        case(f"aten::fft_{n}n", y, None, [0])
        case(f"aten::fft_{n}n", y, None, [])
        case(f"aten::fft_{n}n", rand((2, 3, 4, 5), y.dtype), None, [2, 0, 3])
    z = rand((3, 4, 6), c4)
    for k in (0, 1, 2):
        case("aten::_fft_c2c", z, [1, 2], k, True)
        case("aten::_fft_c2c", z, [0], k, False)
        case("aten::_fft_r2c", rand((3, 4, 6)), [0, 2], k, True)
        case("aten::_fft_r2c", rand((3, 4, 5), f8), [1, 2], k, False)
        case("aten::_fft_c2r", z, [2], k, 10)
        case("aten::_fft_c2r", z, [0, 2], k, 11)
    case("aten::_fft_c2c", rand((3,)), [0], 0, True)
    for n in (1, 2, 5, 8):
        for q in ("aten::fft_fftfreq", "aten::fft_rfftfreq"):
            case(q, n)
            case(q, n, 0.25)
            case(q, n, 2.0, dtype=f8)
            case(q, n, dtype=i8)
            case(q, n, 0.5, dtype=c4)
    for q in ("aten::fft_fftshift", "aten::fft_ifftshift"):
        case(q, torch.arange(5))
        case(q, rand((4, 3)))
        case(q, rand((4, 3, 5)), [0, 2])
        case(q, rand((4, 3)).t(), [-1])
        case(q, rand((4, 3), c4), [1])
        case(q, rand((0, 3)))
        case(q, rand(()))
        case(q, rand((4, 3)), [2])
    spectrograms(m)
    windows(m)


def spectrograms(m):
    case, rand = m.case, m.rand
    f4, f8, i8, c4 = m.f4, m.f8, m.i8, m.c4
    x = rand((2, 50))
    hann = torch.hann_window(16)
    for q in ("aten::stft", "aten::stft.center"):
        case(q, x, 16, return_complex=True, strides=True)
        case(q, x, 16, 5, 12, torch.hann_window(12), return_complex=True)
        case(q, x, 16, 5, 11, torch.hann_window(11), return_complex=False)
        case(q, x, 15, 4, 11, None, return_complex=True)
        case(q, x[0], 16, None, None, hann, return_complex=True, strides=True)
        case(q, x[0], 16, None, None, hann, return_complex=False,
             strides=True)
        case(q, x, 16, window=hann, normalized=True, return_complex=True)
        case(q, x, 16, window=hann, onesided=False, return_complex=True)
        case(q, x.double(), 10, window=torch.hann_window(10, dtype=f8),
             return_complex=True)
        case(q, x, 10, window=torch.hann_window(10, dtype=f8),
             return_complex=True)
        case(q, rand((40,), c4), 16)
        case(q, rand((40,), c4), 16, onesided=True)
        case(q, x, 16, window=hann.to(c4))
        case(q, x, 16)
        case(q, x, 60, return_complex=True)
        case(q, x, 16, 0, return_complex=True)
        case(q, x, 16, 4, 17, return_complex=True)
        case(q, x, 16, 4, 8, hann, return_complex=True)
        case(q, rand((2, 3, 50)), 16, return_complex=True)
        case(q, rand((50,), i8), 16, return_complex=True)
        case(q, x.t().contiguous().t(), 16, return_complex=True)
        case(q, rand((50,)), 50, return_complex=True)
        case(q, x, 16, 5, 12, return_complex=True, align_to_window=True)
        case(q, x, 16, 5, 12, return_complex=True, align_to_window=False)
        case(q, x, 16, 5, 11, return_complex=True, align_to_window=True)
    q = "aten::stft.center"
    for mode in ("reflect", "constant", "replicate", "circular", "what"):
        case(q, x, 16, window=hann, pad_mode=mode, return_complex=True)
        case(q, x[0], 17, 4, pad_mode=mode, return_complex=True)
        case(q, x[0, :7], 16, 4, pad_mode=mode, return_complex=True)
    case(q, x, 16, window=hann, center=False, return_complex=True)
    case(q, rand((0, 30)), 16, return_complex=True)
    q = "aten::istft"
    for kw in (dict(), dict(normalized=True), dict(center=False),
               dict(onesided=False), dict(length=40), dict(length=80),
               dict(length=0)):
        y = torch.stft(x, 16, 4, window=hann, return_complex=True,
                       normalized=kw.get("normalized", False),
                       center=kw.get("center", True),
                       onesided=kw.get("onesided", True))
        case(q, y, 16, 4, None, hann, **kw)
        case(q, y[0], 16, 4, None, torch.hamming_window(16), **kw)
        case(q, y, 16, 4, **kw)
    y = torch.stft(x, 16, 4, 12, return_complex=True)
    case(q, y, 16, 4, 12, torch.hann_window(12))
    case(q, y, 16, 4, 12)
    case(q, y, 16, 13, 12)
    case(q, y, 16, 12, 12, torch.hann_window(12))
    case(q, y, 18, 4)
    case(q, y.real, 16, 4)
    case(q, y[:, :, :0], 16, 4)
    case(q, y[None], 16, 4)
    case(q, y.to(m.c8), 16, 4, 12, torch.hann_window(12, dtype=f8))
    y = torch.stft(rand((2, 50), c4), 16, 4, onesided=False)
    case(q, y, 16, 4, return_complex=True)
    case(q, y, 16, 4, onesided=True, return_complex=True)
    y = torch.stft(rand((2, 45), f4), 15, 4, return_complex=True)
    case(q, y, 15, 4)
    case(q, y, 15, 4, onesided=False)


def windows(m):
    case = m.case
    for n in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
        q = f"aten::{n}_window"
        for k in (0, 1, 3, 5, 8, -1):
            case(q, k)
            case(q + ".periodic", k, False)
        for d in (m.f8, m.f2, m.bf, m.i8, m.c4):
            case(q, 6, dtype=d)
            case(q + ".periodic", 7, True, dtype=d)
    for args in ((6, True, 0.6), (6, False, 0.6)):
        case("aten::hamming_window.periodic_alpha", *args)
        case("aten::hamming_window.periodic_alpha_beta", *args, 0.3)
        case("aten::kaiser_window.beta", *args)
        case("aten::kaiser_window.beta", 6, True, 25.0, dtype=m.f8)
