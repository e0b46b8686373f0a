#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the data in tests/data/quantization with NumPy and PyTorch.

calibrators.npz   samples, and for each the thresholds by plain loops over them
net.ir            a network; net.npz has its weights, inputs and outputs: in
                  float32, and with PyTorch's fake_quantize on activations and
                  weights, with and without corrected biases; and with casts
                  to float8_e4m3fn
net.calib         the ranges that were used; corrected.calib has means, too
"""
import os

import numpy as np
import torch
import torch.nn.functional as F

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "quantization")
BINS, LEVELS = 4096, 128
PERCENTILE = 99.0


# ---- calibrators ----


def magnitudes(x, most):
    """Counts of |x| in bins of one width, at most so many; zeros in none."""
    m = np.abs(x.astype(np.float64))
    _, exponent = np.frexp(m.max())
    counts, _ = np.histogram(m[m > 0], BINS, (0, 2.0**exponent))
    counts = counts[:np.flatnonzero(counts)[-1] + 1].astype(np.float64)
    width = 2.0**exponent / BINS
    while len(counts) > most:
        counts = np.append(counts, [0] * (len(counts) % 2))
        counts = counts.reshape(-1, 2).sum(1)
        width *= 2
    return counts, width


def entropy_threshold(x):
    counts, width = magnitudes(x, 2048)
    best, least = len(counts), np.inf
    for kept in range(len(counts), LEVELS - 1, -1):
        inside, beyond = counts[:kept], counts[kept:].sum()
        if beyond and not inside[-1]:
            continue
        p = inside.copy()
        p[-1] += beyond
        q = np.zeros(kept)
        for part in range(LEVELS):
            at = [i for i in range(kept) if i * LEVELS // kept == part]
            used = [i for i in at if inside[i]]
            for i in used:
                q[i] = inside[at].sum() / len(used)
        p, q = p / p.sum(), q / q.sum()
        d = sum(a * np.log(a / b) for a, b in zip(p, q) if a)
        if d < least - 1e-15:
            best, least = kept, d
    return best * width


def square_error(x, low, high):
    step = (high - low) / 255
    zero = np.rint(-low / step)
    q = np.clip(np.rint(x / step) + zero, 0, 255)
    return (((q - zero) * step - x)**2).sum()


def least_square_error(x):
    most = np.abs(x).max()
    low, high = min(0, x.min()), max(0, x.max())
    return min(
        square_error(x, max(low, -t), min(high, t))
        for t in most * np.arange(1, 101) / 100)


def make_calibrators():
    rng = np.random.default_rng(0)
    n = 3000
    normal = rng.normal(0, 1, n)
    outliers = np.append(rng.laplace(0, 0.3, n - 4), [9, -11, 12, 7.5])
    samples = {
        "normal": normal,
        "relu": np.maximum(normal, 0) * 3.7,
        "outliers": outliers,
        "uniform": rng.uniform(-5, 2, n),
        "small": rng.normal(0, 1e-20, n),
        "constant": np.full(n, 2.5),
        "negative": -rng.exponential(2, n),
    }
    arrays = {}
    for name, x in samples.items():
        x = x.astype(np.float32)
        wide = x.astype(np.float64)
        arrays[name] = x
        arrays[name + ".expected"] = np.array([
            entropy_threshold(x),
            np.percentile(np.abs(wide), PERCENTILE),
            least_square_error(wide),
            magnitudes(x, BINS)[1],
        ])
    np.savez(os.path.join(HERE, "calibrators.npz"), **arrays)


# ---- the network ----

IR = """graph(%x : Float(2, 3, 8, 8), %w1 : Float(8, 3, 3, 3), %b1 : Float(8), %w2 : Float(8, 1, 3, 3), %b2 : Float(8), %w3 : Float(8, 8, 1, 1), %w4 : Float(5, 8), %b4 : Float(5)):
  %none : NoneType = prim::Constant()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %zero : int = prim::Constant[value=0]()
  %eight : int = prim::Constant[value=8]()
  %false : bool = prim::Constant[value=0]()
  %ones : int[] = prim::ListConstruct(%one, %one)
  %twos : int[] = prim::ListConstruct(%two, %two)
  %zeros : int[] = prim::ListConstruct(%zero, %zero)
  %c1 : Tensor = aten::conv2d(%x, %w1, %b1, %ones, %ones, %ones, %one)
  %t1 : Tensor = aten::relu(%c1)
  %p : Tensor = aten::max_pool2d(%t1, %twos, %twos, %zeros, %ones, %false)
  %c2 : Tensor = aten::conv2d(%p, %w2, %b2, %ones, %ones, %ones, %eight)
  %t2 : Tensor = aten::tanh(%c2)
  %c3 : Tensor = aten::conv2d(%t2, %w3, %none, %ones, %zeros, %ones, %one)
  %s : Tensor = aten::add(%c3, %p, %one)
  %axes : int[] = prim::ListConstruct(%two, %three)
  %m : Tensor = aten::mean(%s, %axes, %false, %none)
  %y : Tensor = aten::linear(%m, %w4, %b4)
  return (%y)
"""
IR = IR.replace("  %none", "  %three : int = prim::Constant[value=3]()\n  %none", 1)


def activation(x, low, high):
    scale = np.float32((high - low) / 255)
    zero = int(np.clip(np.rint(-low / float(scale)), 0, 255))
    return torch.fake_quantize_per_tensor_affine(x, float(scale), zero, 0, 255)


def weight(w):
    scale = (w.abs().amax(dim=tuple(range(1, w.dim()))).double() / 127).float()
    zero = torch.zeros(len(scale), dtype=torch.int32)
    return torch.fake_quantize_per_channel_affine(w, scale, zero, 0, -127, 127)


def identity(x, *_):
    return x


def run(a, quantized, means=None):
    """The network; `quantized`: ranges by tensor, or None."""
    act = activation if quantized else identity
    wgt = weight if quantized else identity
    r = quantized or {k: (0, 0) for k in ("x", "t1", "t2", "m")}

    def bias(name, w, values):
        b = a[name] if name in a else torch.zeros(len(w))
        if not means:
            return b if name in a else None
        off = (weight(w).double() - w.double())
        mean = torch.tensor(means[values])
        if w.dim() == 4 and w.shape[1] == 1:  # depthwise
            shift = off.sum((1, 2, 3)) * mean
        else:
            shift = (off.reshape(*off.shape[:2], -1).sum(-1) * mean).sum(1)
        return (b.double() - shift).float()

    x = act(a["x"], *r["x"])
    t1 = F.relu(F.conv2d(x, wgt(a["w1"]), bias("b1", a["w1"], "x"), padding=1))
    p = F.max_pool2d(act(t1, *r["t1"]), 2)
    p = act(p, *r["t1"])
    c2 = F.conv2d(p, wgt(a["w2"]), bias("b2", a["w2"], "p"), padding=1, groups=8)
    t2 = act(torch.tanh(c2), *r["t2"])
    c3 = F.conv2d(t2, wgt(a["w3"]), bias("b3", a["w3"], "t2"))
    m = act((c3 + p).mean((2, 3)), *r["m"])
    y = F.linear(m, wgt(a["w4"]), bias("b4", a["w4"], "m"))
    return y, {"x": a["x"], "t1": t1, "p": p, "t2": t2, "m": m}


def float8(x, scale):
    return (x * (1 / scale)).clamp(-448, 448).to(torch.float8_e4m3fn).float() * scale


def run_fp8(a, ranges):
    """The same with float8, and the depthwise convolution as it is."""

    def act(x, name):
        low, high = ranges[name]
        return float8(x, torch.tensor(max(-low, high) / 448, dtype=torch.float32))

    def wgt(w):
        most = w.abs().amax(dim=tuple(range(1, w.dim())), keepdim=True).double()
        scale = (most / 448).float()
        return (w.double() / scale).float().to(torch.float8_e4m3fn).float() * scale

    t1 = F.relu(F.conv2d(act(a["x"], "x"), wgt(a["w1"]), a["b1"], padding=1))
    p = F.max_pool2d(t1, 2)
    t2 = torch.tanh(F.conv2d(p, a["w2"], a["b2"], padding=1, groups=8))
    m = (F.conv2d(act(t2, "t2"), wgt(a["w3"])) + p).mean((2, 3))
    return F.linear(act(m, "m"), wgt(a["w4"]), a["b4"])


def write_calibration(name, ranges, means):
    with open(os.path.join(HERE, name), "w", encoding="ascii") as file:
        file.write("bessemer calibration 1\nmodel 0000000000000000\n"
                   "method min-max\nbatches 1\n")
        for tensor, (low, high) in ranges.items():
            file.write(f"tensor {tensor} {low!r} {high!r} {low!r} {high!r}\n")
            if tensor in means:
                values = " ".join(repr(float(v)) for v in means[tensor])
                file.write(f"means {tensor} {len(means[tensor])} {values}\n")
        file.write("end\n")


def make_net():
    torch.manual_seed(3)
    a = {
        "x": torch.randn(2, 3, 8, 8) + 0.4,
        "w1": torch.randn(8, 3, 3, 3) * torch.logspace(-2, 0, 8).view(8, 1, 1, 1),
        "b1": torch.randn(8) * 0.1,
        "w2": torch.randn(8, 1, 3, 3),
        "b2": torch.randn(8) * 0.1,
        "w3": torch.randn(8, 8, 1, 1) * 0.4,
        "w4": torch.randn(5, 8),
        "b4": torch.randn(5),
    }
    y, seen = run(a, None)
    ranges, means = {}, {}
    for name, t in seen.items():
        # No more digits than are needed; some values are clipped.
        low = float(np.round(min(0.0, t.min().item() * 0.9), 3))
        high = float(np.round(max(0.0, t.max().item() * 0.9), 3))
        ranges[name] = (low, high)
        axis = [i for i in range(t.dim()) if i != 1]
        means[name] = t.double().mean(axis).tolist()
    ranges["p"] = ranges["t1"]
    y8, _ = run(a, ranges)
    corrected, _ = run(a, ranges, means)
    arrays = {k: v.numpy() for k, v in a.items()}
    arrays.update(y=y.numpy(), y_int8=y8.numpy(), y_corrected=corrected.numpy(),
                  y_fp8=run_fp8(a, ranges).numpy())
    np.savez(os.path.join(HERE, "net.npz"), **arrays)
    with open(os.path.join(HERE, "net.ir"), "w", encoding="ascii") as file:
        file.write(IR)
    write_calibration("net.calib", ranges, {})
    write_calibration("corrected.calib", ranges, means)
    print("int8", (y8 - y).norm() / y.norm(), "corrected",
          (corrected - y).norm() / y.norm())


if __name__ == "__main__":
    os.makedirs(HERE, exist_ok=True)
    make_net()
    make_calibrators()
