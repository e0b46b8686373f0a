#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models with ranges of shapes against PyTorch: compiles each with dims that
range, runs it at the smallest, the optimal, the largest and random shapes
between, and compares every output.

  dynamic.py [NAME ...]     models whose name starts with one of these (all)

Options: --zoo DIR         exported models, DIR/<name>/model.ts
         --bessemer PATH   --random N (4)   --seed N   --list

One line a model: PASS with the largest error relative to the tolerance, FAIL
with the shape and the reason. The exit status is the number of failures.
Agreement is as for bench/models.py: equal shapes and dtypes,
max|ours - torch| <= 1e-4 * max|torch| + 1e-6.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

from breadth import TOLERANCE, FLOOR, flatten, randomize

IMAGE = ("float32", ("B", 3, 64, 64))
ANY_IMAGE = ("float32", ("B", 3, "H", "W"))
BATCH = {"B": (1, 1, 4)}
SIZES = {"B": (1, 1, 3), "H": (64, 64, 128), "W": (64, 96, 128)}
TEXT = {"B": (1, 1, 3), "S": (3, 16, 40)}


def ids(batch="B", length="S", high=1000):
    return (f"ids:{high}", (batch, length))


# ------------------------------------------------------------------ our models
class AdaptiveNet(nn.Module):
    """Adaptive pooling, flatten and a branch on the shape."""

    def __init__(self):
        super().__init__()
        self.c1, self.n1 = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.c2 = nn.Conv2d(16, 32, 3, stride=2, padding=1, groups=2)
        self.pool, self.fc = nn.AdaptiveAvgPool2d((3, 2)), nn.Linear(192, 10)

    def forward(self, x):
        x = F.relu(self.n1(self.c1(x)))
        if x.size(2) > x.size(3):
            x = x.transpose(2, 3)
        x = F.hardswish(self.c2(x))
        return self.fc(torch.flatten(self.pool(x), 1))


class Causal(nn.Module):
    """A transformer that makes its mask and positions from the sequence."""

    def __init__(self, d=64, heads=4):
        super().__init__()
        self.emb, self.pos = nn.Embedding(100, d), nn.Embedding(64, d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.heads = heads

    def forward(self, ids):
        b, s = ids.shape
        x = self.emb(ids) + self.pos(torch.arange(s, device=ids.device))
        q, k, v = self.qkv(self.n1(x)).chunk(3, -1)
        q = q.view(b, s, self.heads, -1).transpose(1, 2)
        k = k.view(b, s, self.heads, -1).transpose(1, 2)
        v = v.view(b, s, self.heads, -1).transpose(1, 2)
        mask = torch.full((s, s), float("-inf")).triu(1)
        a = torch.softmax(q @ k.transpose(-2, -1) * 0.25 + mask, -1) @ v
        x = x + self.out(a.transpose(1, 2).reshape(b, s, -1))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Pyramid(nn.Module):
    """Interpolation to the size of another, cat, slices by size."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 16, 3, 2, 1)
        self.side, self.head = nn.Conv2d(8, 16, 1), nn.Conv2d(32, 4, 3, 1, 1)

    def forward(self, x):
        a = F.relu(self.a(x))
        b = F.relu(self.b(a))
        up = F.interpolate(b, size=a.shape[2:], mode="bilinear",
                           align_corners=False)
        y = self.head(torch.cat([up, self.side(a)], 1))
        h, w = y.size(2) // 2, y.size(3) // 2
        left, rest = y[:, :, :h, :w], y[:, :, -h:, -w:]
        grid = torch.arange(h * w, dtype=torch.float32).view(1, 1, h, w)
        return (left * rest + grid / (h * w), F.interpolate(y, scale_factor=2.0),
                y.flatten(2).softmax(-1).sum(1))


class Packed(nn.Module):
    """Several inputs that share the batch, and a mask of lengths."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(12, 24, num_layers=2, bidirectional=True,
                            batch_first=True)
        self.gru = nn.GRU(12, 16, batch_first=True)
        self.fc = nn.Linear(48, 16)

    def forward(self, x, lengths, state):
        y, _ = self.lstm(x)
        g, h = self.gru(x, state)
        steps = torch.arange(x.size(1)).expand(x.size(0), x.size(1))
        mask = (steps < lengths.unsqueeze(1)).unsqueeze(-1)
        z = (torch.tanh(self.fc(y)) + g).masked_fill(~mask, 0.0)
        return z.sum(1) / lengths.unsqueeze(1).clamp(min=1), h


class Decoder(nn.Module):
    """Transposed convolutions, group norm and pixel shuffle."""

    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(4, 16, 4, 2, 1)
        self.gn, self.c = nn.GroupNorm(4, 16), nn.Conv2d(16, 12, 3, padding=1)

    def forward(self, z):
        y = F.silu(self.gn(self.up(z)))
        y = F.pixel_shuffle(self.c(F.max_pool2d(y, 3, 1, 1)), 2)
        return torch.sigmoid(F.pad(y, (1, 2, 1, 0), mode="reflect"))


class HuggingFace(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.m = model

    def forward(self, ids, mask):
        return self.m(input_ids=ids, attention_mask=mask, return_dict=False)


def small_bert():
    from transformers import BertConfig, BertModel
    return HuggingFace(BertModel(BertConfig(
        vocab_size=500, hidden_size=96, num_hidden_layers=2,
        num_attention_heads=4, intermediate_size=192)))


def vision(name, **kwargs):
    import torchvision
    return lambda: getattr(torchvision.models, name)(weights=None, **kwargs)


def lraspp():
    from torchvision.models import segmentation
    return segmentation.lraspp_mobilenet_v3_large(weights=None,
                                                  weights_backbone=None)


def encoder():
    layer = nn.TransformerEncoderLayer(48, 4, 96, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


MASKED_TEXT = [("ids:500", ("B", "S")), ("mask", ("B", "S"))]
# name, how (a zoo entry, or script/trace and a maker), inputs, ranges
CASES = [
    ("adaptive", ("script", AdaptiveNet), [ANY_IMAGE],
     {"B": (1, 1, 3), "H": (5, 16, 33), "W": (5, 12, 40)}),
    ("causal-script", ("script", Causal), [ids(high=100)], TEXT),
    ("causal-trace", ("trace", Causal), [ids(high=100)], TEXT),
    ("pyramid-script", ("script", Pyramid), [ANY_IMAGE],
     {"B": (1, 1, 3), "H": (9, 16, 40), "W": (9, 24, 40)}),
    ("pyramid-trace", ("trace", Pyramid), [ANY_IMAGE],
     {"B": (1, 1, 3), "H": (9, 16, 40), "W": (9, 24, 40)}),
    ("packed", ("script", Packed),
     [("float32", ("B", "S", 12)), ("ids:20", ("B",)),
      ("float32", (1, "B", 16))], {"B": (1, 2, 6), "S": (1, 8, 20)}),
    ("decoder-script", ("script", Decoder), [("float32", ("B", 4, "H", "W"))],
     {"B": (1, 1, 3), "H": (2, 8, 16), "W": (2, 8, 16)}),
    ("decoder-trace", ("trace", Decoder), [("float32", ("B", 4, "H", "W"))],
     {"B": (1, 1, 3), "H": (2, 8, 16), "W": (2, 8, 16)}),
    ("bert-small", ("trace", small_bert), MASKED_TEXT, TEXT),
    ("encoder-script", ("script", encoder), [("float32", ("B", "S", 48))], TEXT),
    ("encoder-trace", ("trace", encoder), [("float32", ("B", "S", 48))], TEXT),
    ("shufflenet-script", ("script", vision("shufflenet_v2_x0_5")), [ANY_IMAGE], SIZES),
    ("shufflenet-trace", ("trace", vision("shufflenet_v2_x0_5")), [ANY_IMAGE], SIZES),
    ("densenet-script", ("script", vision("densenet121")), [ANY_IMAGE], SIZES),
    ("googlenet-script", ("script", vision("googlenet", init_weights=False)),
     [ANY_IMAGE], SIZES),
    ("lraspp-script", ("script", lraspp), [ANY_IMAGE], SIZES),
    ("swin-script", ("script", vision("swin_t")), [ANY_IMAGE],
     {"B": (1, 1, 2), "H": (64, 64, 96), "W": (64, 96, 96)}),
    ("zoo-resnet18", "resnet18", [ANY_IMAGE], SIZES),
    ("zoo-resnet18-frozen", "resnet18-frozen", [ANY_IMAGE], SIZES),
    ("zoo-resnet18-trace", "resnet18-trace", [ANY_IMAGE], SIZES),
    ("zoo-resnet50", "resnet50", [ANY_IMAGE], SIZES),
    ("zoo-mobilenet_v2", "mobilenet_v2", [ANY_IMAGE], SIZES),
    ("zoo-mobilenet_v2-trace", "mobilenet_v2-trace", [ANY_IMAGE], SIZES),
    ("zoo-mobilenet_v3_large", "mobilenet_v3_large", [ANY_IMAGE], SIZES),
    ("zoo-mobilenet_v3_large-frozen", "mobilenet_v3_large-frozen", [ANY_IMAGE], SIZES),
    ("zoo-efficientnet_b0", "efficientnet_b0", [ANY_IMAGE], SIZES),
    ("zoo-efficientnet_b0-trace", "efficientnet_b0-trace", [ANY_IMAGE], SIZES),
    ("zoo-squeezenet1_1", "squeezenet1_1", [ANY_IMAGE], SIZES),
    ("zoo-squeezenet1_1-trace", "squeezenet1_1-trace", [ANY_IMAGE], SIZES),
    ("zoo-unet", "unet", [("float32", ("B", 3, "H", "W"))],
     {"B": (1, 1, 2), "H": (32, 32, 64, 16), "W": (32, 48, 64, 16)}),
    ("zoo-unet-frozen", "unet-frozen", [("float32", ("B", 3, "H", "W"))],
     {"B": (1, 1, 2), "H": (32, 32, 64, 16), "W": (32, 48, 64, 16)}),
    ("zoo-lenet", "lenet", [("float32", ("B", 1, 28, 28))], BATCH),
    ("zoo-lenet-trace", "lenet-trace", [("float32", ("B", 1, 28, 28))], BATCH),
    ("zoo-mlp", "mlp", [("float32", ("B", 784))], {"B": (1, 1, 32)}),
    ("zoo-mlp-trace", "mlp-trace", [("float32", ("B", 784))], {"B": (1, 1, 32)}),
    ("zoo-mlp-frozen", "mlp-frozen", [("float32", ("B", 784))], {"B": (1, 1, 32)}),
    ("zoo-alexnet", "alexnet", [ANY_IMAGE], SIZES),
    ("zoo-vgg16", "vgg16", [ANY_IMAGE],
     {"B": (1, 1, 2), "H": (32, 32, 64), "W": (32, 32, 64)}),
    ("zoo-vit_b_16", "vit_b_16", [("float32", ("B", 3, 224, 224))], {"B": (1, 1, 4)}),
    ("zoo-lstm", "lstm", [ids(high=100)], TEXT),
    ("zoo-lstm-trace", "lstm-trace", [ids(high=100)], TEXT),
    ("zoo-lstm-frozen", "lstm-frozen", [ids(high=100)], TEXT),
    ("zoo-transformer_encoder", "transformer_encoder", [ids()], TEXT),
    ("zoo-transformer_encoder-trace", "transformer_encoder-trace",
     [ids("B", 64)], {"B": (1, 1, 12)}),
    ("zoo-gpt2", "gpt2", [ids(1)], {"S": (2, 8, 16)}),
    ("zoo-bert_base", "bert_base", [ids(), ("mask", ("B", "S")), ("ids:2", ("B", "S"))],
     {"B": (1, 1, 2), "S": (2, 8, 16)}),
    ("zoo-ctrlflow", "ctrlflow", [("float32", ("B", 16)), ("int:3", ())],
     {"B": (1, 4, 16)}),
]


# ------------------------------------------------------------------- the runs
def dims_of(dims, sizes):
    return tuple(sizes.get(d, d) for d in dims)


def make_input(kind, dims, sizes, rng):
    shape = dims_of(dims, sizes)
    if kind == "float32":
        return rng.standard_normal(shape).astype(np.float32)
    if kind.startswith("int:"):
        return np.array(int(kind[4:]), dtype=np.int64)
    if kind == "mask":
        mask = np.ones(shape, dtype=np.int64)
        mask[:, max(1, shape[1] - 2):] = 0
        return mask
    return rng.integers(0, int(kind.split(":")[1]), shape).astype(np.int64)


def spec_of(kind, dims, ranges):
    if kind.startswith("int:"):
        return kind[4:]
    shapes = []
    for i in range(3):
        shape = dims_of(dims, {n: r[i] for n, r in ranges.items()})
        shapes.append("(" + ",".join(map(str, shape)) + ")")
    return "[" + ";".join(shapes) + "]" + ("" if kind == "float32" else "@i64")


def load(args, how, inputs, ranges):
    """The module as TorchScript and its file."""
    if isinstance(how, str):
        path = os.path.join(args.zoo, how, "model.ts")
        return (torch.jit.load(path).eval(), path) if os.path.exists(path) else None
    torch.manual_seed(3)
    module = how[1]().eval()
    randomize(module)
    if how[0] == "script":
        module = torch.jit.script(module)
    else:
        rng = np.random.default_rng(1)
        sizes = {n: max(r[1], 2) for n, r in ranges.items()}
        example = tuple(torch.from_numpy(make_input(k, d, sizes, rng))
                        for k, d in inputs)
        module = torch.jit.trace(module, example, check_trace=False)
    path = os.path.join(args.work, "model.ts")
    module.save(path)
    return module, path


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-300:] or f"exit {done.returncode}")


def shapes_of(args, ranges):
    yield {n: r[0] for n, r in ranges.items()}
    yield {n: r[1] for n, r in ranges.items()}
    yield {n: r[2] for n, r in ranges.items()}
    rng = random.Random(args.seed)
    for _ in range(args.random):
        yield {n: rng.randrange(r[0], r[2] + 1, r[3] if len(r) > 3 else 1)
               for n, r in ranges.items()}


def worst_error(expected, path, inputs):
    actual = np.load(path)
    if len(actual.files) != len(expected):
        raise RuntimeError(f"{len(actual.files)} outputs, not {len(expected)}")
    worst = 0.0
    for i, want in enumerate(expected):
        got = actual[f"out_{i}"]
        if got.shape != want.shape or got.dtype != want.dtype:
            raise RuntimeError(f"output {i}: {got.dtype}{got.shape}, not "
                               f"{want.dtype}{want.shape}")
        if not want.size:
            continue
        limit = TOLERANCE * float(np.abs(want).max()) + FLOOR
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        off = np.abs(got.astype(np.float64) - want.astype(np.float64))
        worst = max(worst, float(np.where(same, 0, off).max()) / limit)
    if not worst <= 1:
        raise RuntimeError(f"error {worst:.3g} of the tolerance")
    return worst


def check(args, case):
    name, how, inputs, ranges = case
    found = load(args, how, inputs, ranges)
    if not found:
        return "SKIP no such model"
    module, path = found
    engine = os.path.join(args.work, "engine.bsm")
    specs = [spec_of(k, d, ranges) for k, d in inputs]
    try:
        run([args.bessemer, "compile", path, "-o", engine, "--no-timing", *specs])
    except RuntimeError as error:
        return f"FAIL compile: {error}"
    worst, rng = 0.0, np.random.default_rng(args.seed)
    for sizes in shapes_of(args, ranges):
        arrays = [make_input(k, d, sizes, rng) for k, d in inputs]
        values = [int(a) if k.startswith("int:") else torch.from_numpy(a)
                  for a, (k, _) in zip(arrays, inputs)]
        try:
            expected = flatten(module(*values))
        except RuntimeError as error:  # the model itself does not take it
            return f"SKIP {sizes}: {str(error).strip().splitlines()[-1]}"
        source, result = (os.path.join(args.work, f) for f in ("in.npz", "out.npz"))
        np.savez(source, **{f"in_{i}": a for i, a in enumerate(arrays)})
        try:
            run([args.bessemer, "run", engine, "--input", source, "-o", result])
            worst = max(worst, worst_error(expected, result, inputs))
        except RuntimeError as error:
            return f"FAIL {sizes}: {error}"
    return f"PASS {worst:.3f}"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--zoo", default="zoo")
    parser.add_argument("--bessemer", default=os.path.join(here, "../build/bessemer"))
    parser.add_argument("--random", type=int, default=4)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as args.work, torch.no_grad():
        for case in CASES:
            if args.names and not case[0].startswith(tuple(args.names)):
                continue
            result = "" if args.list else check(args, case)
            failures += result.startswith("FAIL")
            print(f"{case[0]}: {result}", flush=True)
    return min(failures, 100)


if __name__ == "__main__":
    sys.exit(main())
