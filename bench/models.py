#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real models, end to end: exports them with PyTorch, compiles and runs them
with Bessemer, compares every output and measures.

  models.py export DIR            TorchScript archives with inputs and PyTorch's
                                  outputs: DIR/<model>-<how>-b<batch>/
  models.py check DIR             compile and run each: every ISA of this
                                  machine, 1 and 2 threads, bit-identical
                                  between thread counts, outputs within
                                  1e-4 * max|torch| + 1e-6
  models.py table DIR             the same plus times and sizes, as Markdown

Options: --only a,b  --batch 1,8  --how script,trace,export,dynamic (script,
         trace)  --bessemer PATH
         --isa scalar,avx2,avx512  --iterations N  --json FILE
         --target TEXT   check: compiled for another target than this machine's
                         CPU, and run twice, to the same bits
         --runner PATH   check: what runs engines, as the bessemer command does

"export" is a program of torch.export, "dynamic" one of any batch: model.pt2 in
place of model.ts. They need PyTorch 2.6.

Weights are random with a fixed seed; batch-norm statistics are calibrated so
that activations stay in a sane range. Works with PyTorch 1.13 and later and
the torchvision that belongs to it; a model that the installed torchvision
lacks is skipped and named.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

TOLERANCE, FLOOR = 1e-4, 1e-6
MODELS = ["lenet", "mlp", "alexnet", "vgg16", "resnet18", "resnet50",
          "squeezenet1_1", "mobilenet_v2", "mobilenet_v3_large",
          "efficientnet_b0", "unet", "vit_b_16", "bert_base", "gpt2",
          "transformer_encoder", "lstm"]


# ------------------------------------------------------------------ the models
def make_classes():
    """The models that torchvision does not have; needs torch."""
    import torch
    from torch import nn
    import torch.nn.functional as F

    class LeNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.c1 = nn.Conv2d(1, 6, 5, padding=2)
            self.c2 = nn.Conv2d(6, 16, 5)
            self.f1 = nn.Linear(400, 120)
            self.f2 = nn.Linear(120, 84)
            self.f3 = nn.Linear(84, 10)

        def forward(self, x):
            x = F.avg_pool2d(torch.tanh(self.c1(x)), 2)
            x = F.avg_pool2d(torch.tanh(self.c2(x)), 2)
            x = x.view(x.size(0), -1)
            return self.f3(torch.tanh(self.f2(torch.tanh(self.f1(x)))))

    def double_conv(i, o):
        return nn.Sequential(
            nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o),
            nn.ReLU(inplace=True),
            nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o),
            nn.ReLU(inplace=True))

    class UNet(nn.Module):
        def __init__(self, w=32):
            super().__init__()
            self.d1, self.d2 = double_conv(3, w), double_conv(w, 2 * w)
            self.d3, self.d4 = double_conv(2 * w, 4 * w), double_conv(4 * w, 8 * w)
            self.mid, self.pool = double_conv(8 * w, 16 * w), nn.MaxPool2d(2)
            self.up4 = nn.ConvTranspose2d(16 * w, 8 * w, 2, stride=2)
            self.up3 = nn.ConvTranspose2d(8 * w, 4 * w, 2, stride=2)
            self.up2 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
            self.red2 = nn.Conv2d(4 * w, 2 * w, 1)
            self.up1 = nn.Upsample(scale_factor=2, mode="nearest")
            self.red1 = nn.Conv2d(2 * w, w, 1)
            self.u4, self.u3 = double_conv(16 * w, 8 * w), double_conv(8 * w, 4 * w)
            self.u2, self.u1 = double_conv(4 * w, 2 * w), double_conv(2 * w, w)
            self.head = nn.Conv2d(w, 2, 1)

        def forward(self, x):
            a = self.d1(x)
            b = self.d2(self.pool(a))
            c = self.d3(self.pool(b))
            d = self.d4(self.pool(c))
            y = self.mid(self.pool(d))
            y = self.u4(torch.cat([d, self.up4(y)], 1))
            y = self.u3(torch.cat([c, self.up3(y)], 1))
            y = self.u2(torch.cat([b, self.red2(self.up2(y))], 1))
            y = self.u1(torch.cat([a, self.red1(self.up1(y))], 1))
            return torch.softmax(self.head(y), 1)

    class TextEncoder(nn.Module):
        def __init__(self, vocab=1000, d=256, heads=8, ff=1024, layers=4, length=64):
            super().__init__()
            self.emb = nn.Embedding(vocab, d, padding_idx=0)
            self.pos = nn.Parameter(torch.randn(1, length, d) * 0.1)
            layer = nn.TransformerEncoderLayer(d, heads, ff, dropout=0.1,
                                               activation="gelu", batch_first=True)
            self.enc = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(d))
            self.cls = nn.Linear(d, 10)

        def forward(self, ids):
            x = self.emb(ids) + self.pos[:, : ids.size(1)]
            return self.cls(self.enc(x).mean(1))

    class BertLayer(nn.Module):
        def __init__(self, d=768, heads=12, ff=3072):
            super().__init__()
            self.heads, self.size = heads, d // heads
            self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
            self.out, self.norm1 = nn.Linear(d, d), nn.LayerNorm(d, eps=1e-12)
            self.up, self.down = nn.Linear(d, ff), nn.Linear(ff, d)
            self.norm2 = nn.LayerNorm(d, eps=1e-12)

        def split(self, x):
            return x.view(x.size(0), x.size(1), self.heads, self.size).permute(0, 2, 1, 3)

        def forward(self, x, mask):
            q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
            scores = torch.matmul(q, k.transpose(-1, -2)) / float(self.size) ** 0.5 + mask
            y = torch.matmul(torch.softmax(scores, dim=-1), v)
            y = y.permute(0, 2, 1, 3).contiguous().view(x.size(0), x.size(1), -1)
            x = self.norm1(self.out(y) + x)
            return self.norm2(self.down(F.gelu(self.up(x))) + x)

    class Bert(nn.Module):
        """BERT base as its paper has it, for where transformers is missing."""

        def __init__(self, vocab=30522, d=768, layers=12):
            super().__init__()
            self.word, self.position = nn.Embedding(vocab, d), nn.Embedding(512, d)
            self.kind, self.norm = nn.Embedding(2, d), nn.LayerNorm(d, eps=1e-12)
            self.layers = nn.ModuleList([BertLayer(d) for _ in range(layers)])
            self.pooler = nn.Linear(d, d)

        def forward(self, ids, mask, kinds):
            places = torch.arange(ids.size(1), device=ids.device).unsqueeze(0)
            x = self.norm(self.word(ids) + self.position(places) + self.kind(kinds))
            bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * -10000.0
            for layer in self.layers:
                x = layer(x, bias)
            return x, torch.tanh(self.pooler(x[:, 0]))

    class CharacterLstm(nn.Module):
        def __init__(self, vocab=128, d=128, hidden=256):
            super().__init__()
            self.emb = nn.Embedding(vocab, d)
            self.rnn = nn.LSTM(d, hidden, 2, batch_first=True)
            self.out = nn.Linear(hidden, 20)

        def forward(self, ids):
            y, _ = self.rnn(self.emb(ids))
            return self.out(y[:, -1]), y.mean(dim=1)

    class HuggingFace(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.m = model

        def forward(self, ids, mask, kinds):
            return self.m(input_ids=ids, attention_mask=mask, token_type_ids=kinds,
                          return_dict=False)

    def bert():
        try:
            from transformers import BertConfig, BertModel
            return HuggingFace(BertModel(BertConfig(attn_implementation="sdpa")))
        except ImportError:
            return Bert()

    class Gpt2(nn.Module):
        def __init__(self):
            super().__init__()
            from transformers import GPT2Config, GPT2LMHeadModel
            self.m = GPT2LMHeadModel(GPT2Config(attn_implementation="eager"))

        def forward(self, ids):
            return self.m(input_ids=ids, use_cache=False, return_dict=False)[0]

    def gpt2():
        try:
            return Gpt2()
        except ImportError:
            return None

    class ControlFlow(nn.Module):
        """Branches, loops, lists and dicts on data; the script has them all."""

        def __init__(self):
            super().__init__()
            self.pre, self.alt = nn.Linear(16, 16), nn.Linear(16, 16)
            self.blocks = nn.ModuleList([nn.Linear(16, 16) for _ in range(4)])

        def forward(self, x):
            y = torch.relu(self.pre(x))
            if bool(y.mean() > 0.3):
                y = self.alt(y) + x * 0.5
            else:
                y = y - y.mean(dim=-1, keepdim=True)
            seen = []
            for i, b in enumerate(self.blocks):
                y = torch.tanh(b(y)) if i % 2 == 0 else F.silu(b(y))
                seen.append(y.sum(1))
            steps = 0
            while float(y.norm()) > 1.0 and steps < 7:
                y = y * 0.75
                steps += 1
            table = {"a": y, "b": torch.stack(seen, dim=1)}
            acc = torch.zeros_like(x)
            for j in range(5):
                acc = acc + table["a"].roll(j, 1) / float(j + 1)
                if acc.abs().max().item() > 3.0:
                    acc = acc.clamp(-1.0, 1.0)
            return acc, table["b"]

    class SsdHeads(nn.Module):
        """SSD300 without anchors, decoding and NMS."""

        def __init__(self):
            super().__init__()
            from torchvision.models.detection import ssd300_vgg16
            whole = ssd300_vgg16(weights=None, weights_backbone=None, num_classes=21)
            self.backbone, self.head = whole.backbone, whole.head

        def forward(self, x):
            y = self.head(list(self.backbone(x).values()))
            return y["bbox_regression"], y["cls_logits"]

    def mlp():
        return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256),
                             nn.GELU(), nn.Dropout(0.1), nn.Linear(256, 10),
                             nn.LogSoftmax(-1))

    return {"lenet": LeNet, "mlp": mlp, "unet": UNet, "bert_base": bert,
            "transformer_encoder": TextEncoder, "lstm": CharacterLstm,
            "gpt2": gpt2, "ssd300_heads": SsdHeads,
            "control_flow": ControlFlow}


def make_inputs(name, batch):
    import torch
    if name == "lenet":
        return (torch.randn(batch, 1, 28, 28),)
    if name == "mlp":
        return (torch.randn(batch, 784),)
    if name == "control_flow":
        return (torch.randn(4 * batch, 16),)
    if name == "ssd300_heads":
        return (torch.randn(batch, 3, 300, 300),)
    if name == "unet":
        return (torch.randn(batch, 3, 256, 256),)
    if name == "transformer_encoder":
        return (torch.randint(1, 1000, (batch, 64)),)
    if name == "lstm":
        return (torch.randint(0, 128, (batch, 64)),)
    if name == "gpt2":
        return (torch.randint(0, 50257, (batch, 64)),)
    if name == "bert_base":
        ids = torch.randint(5, 30522, (batch, 128))
        mask = torch.ones(batch, 128, dtype=torch.long)
        mask[:, 110:] = 0
        kinds = torch.zeros_like(ids)
        kinds[:, 60:] = 1
        return ids, mask, kinds
    return (torch.randn(batch, 3, 224, 224),)


def torchvision_model(name):
    """None where torchvision lacks it."""
    import torchvision
    segmentation = torchvision.models.segmentation
    if hasattr(segmentation, name):
        return getattr(segmentation, name)(weights=None, weights_backbone=None)
    if not hasattr(torchvision.models, name):
        return None
    more = {"init_weights": False, "aux_logits": False} if name in (
        "googlenet", "inception_v3") else {}
    return getattr(torchvision.models, name)(weights=None, **more)


def make_model(name, conditioned=True):
    """The model with random weights from a seed of its name, in eval mode; None
    where torchvision (gpt2: transformers) lacks it. Weights of an archive make up for conditions."""
    import torch
    from torch import nn
    torch.manual_seed(zlib.crc32(name.encode()) & 0x7FFFFFFF)
    own = make_classes()
    model = own[name]() if name in own else torchvision_model(name)
    if model is None:
        return None
    model.eval()
    if not conditioned:
        return model.requires_grad_(False)
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    with torch.no_grad():
        for norm in norms:
            norm.train()
            norm.momentum = None
            norm.weight.uniform_(0.7, 1.3)
            norm.bias.normal_(0, 0.15)
        if norms:
            model(*make_inputs(name, 2))
        for norm in norms:
            norm.eval()
            norm.momentum = 0.1
            norm.running_var.mul_(torch.empty_like(norm.running_var).uniform_(0.7, 1.5))
        for m in model.modules():
            if isinstance(m, nn.Linear) and not m.weight.any():
                m.weight.normal_(0, 0.02)  # a head that starts as zeros
            if isinstance(m, nn.LayerNorm):
                m.weight.uniform_(0.7, 1.3)
                m.bias.normal_(0, 0.1)
    return model.requires_grad_(False)


def flatten(result):
    if isinstance(result, (tuple, list)):
        return [leaf for item in result for leaf in flatten(item)]
    if isinstance(result, dict):
        return [leaf for item in result.values() for leaf in flatten(item)]
    return [result.numpy()] if hasattr(result, "numpy") else [np.asarray(result)]


def load_arrays(path, prefix):
    """prefix0, prefix1, ... of an .npz."""
    arrays = np.load(path)
    return [arrays[f"{prefix}{i}"] for i in range(len(arrays.files))]


def save_each(path, folder):
    """The arrays of an .npz, a file for each."""
    arrays = np.load(path)
    for name in arrays.files:
        np.save(os.path.join(folder, name + ".npy"), arrays[name])


def export(args):
    import torch
    torch.set_num_threads(2)
    for name in args.only:
        model = make_model(name)
        if model is None:
            print(f"{name}: the packages installed here do not have it", flush=True)
            continue
        for batch in args.batch:
            torch.manual_seed(batch)
            inputs = make_inputs(name, batch)
            with torch.no_grad():
                expected = flatten(model(*inputs))
            for how in args.how:
                export_one(name, model, how, batch, inputs, expected, args.dir)


def save_model(model, how, batch, inputs, entry):
    import torch
    path = os.path.join(entry, "model.ts")
    if how == "script":
        torch.jit.script(model).save(path)
    elif how == "trace":
        torch.jit.trace(model, inputs, check_trace=False).save(path)
    else:
        shapes = None
        if how == "dynamic":  # PyTorch takes a batch of 1 for a fixed one
            inputs = tuple(torch.cat([x] * (2 if batch == 1 else 1)) for x in inputs)
            dim = torch.export.Dim("batch", min=1, max=64)
            shapes = ({0: dim},) * len(inputs)
        torch.export.save(torch.export.export(model, inputs, dynamic_shapes=shapes),
                          os.path.join(entry, "model.pt2"))


def export_one(name, model, how, batch, inputs, expected, out):
    import torch
    entry = os.path.join(out, f"{name}-{how}-b{batch}")
    os.makedirs(entry, exist_ok=True)
    try:
        with torch.no_grad():
            save_model(model, how, batch, inputs, entry)
    except Exception as error:  # PyTorch's own limits, told and skipped
        print(f"{name} {how}: PyTorch cannot: {str(error).splitlines()[0][:120]}",
              flush=True)
        os.rmdir(entry)
        return
    arrays = {f"in_{i}": x.numpy() for i, x in enumerate(inputs)}
    np.savez(os.path.join(entry, "in.npz"), **arrays)
    np.savez(os.path.join(entry, "expected.npz"),
             **{f"out_{i}": x for i, x in enumerate(expected)})
    print(f"{name} {how} batch {batch}: exported", flush=True)


# ------------------------------------------------------------------- checking
def run(command, **kwargs):
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, **kwargs)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}: "
                           f"{done.stderr.strip()[-600:]}")
    return done.stdout, seconds


def peak_megabytes(command):
    """The largest resident set of the command."""
    code = ("import resource,subprocess,sys;"
            "subprocess.run(sys.argv[1:],check=True,stdout=subprocess.DEVNULL);"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    out = subprocess.run([sys.executable, "-c", code] + command, check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return int(out) / 1024


def compare(expected_path, actual_path):
    """The worst error in units of the tolerance's scale, or raises."""
    expected, actual = np.load(expected_path), np.load(actual_path)
    if sorted(expected.files) != sorted(actual.files):
        raise RuntimeError(f"outputs {sorted(actual.files)}, expected {sorted(expected.files)}")
    worst = 0.0
    for name in expected.files:
        want, got = expected[name], actual[name]
        if want.shape != got.shape or want.dtype != got.dtype:
            raise RuntimeError(f"{name}: {got.dtype}{got.shape}, expected {want.dtype}{want.shape}")
        scale = np.abs(want).max() if want.size else 0.0
        error = np.abs(got.astype(np.float64) - want.astype(np.float64)).max() if want.size else 0.0
        if not error <= TOLERANCE * scale + FLOOR:
            raise RuntimeError(f"{name}: error {error:.3g} at scale {scale:.3g}")
        worst = max(worst, error / scale if scale else error)
    return worst


def error_of_files(expected_path, folder):
    """As compare, of out_0.npy, ... in a folder; whatever the error is."""
    worst = 0.0
    for i, want in enumerate(load_arrays(expected_path, "out_")):
        got = np.load(os.path.join(folder, f"out_{i}.npy"))
        if want.shape != got.shape:
            raise RuntimeError(f"out_{i}: {got.shape}, expected {want.shape}")
        scale = np.abs(want).max() if want.size else 0.0
        error = np.abs(got.astype("f8") - want.astype("f8")).max() if want.size else 0.0
        worst = max(worst, float(error / scale if scale else error))
    return worst


def same_bits(a, b):
    x, y = np.load(a), np.load(b)
    return all(x[k].tobytes() == y[k].tobytes() for k in x.files)


def isas_of_machine():
    flags = open("/proc/cpuinfo").read()
    found = ["scalar"]
    if re.search(r"\bavx2\b", flags) and re.search(r"\bfma\b", flags):
        found.append("avx2")
    if re.search(r"\bavx512vl\b", flags) and re.search(r"\bavx512dq\b", flags):
        found.append("avx512")
    return found


def check_entry(args, entry, work, measure):
    model = os.path.join(args.dir, entry, "model.ts")
    if not os.path.exists(model):
        model = os.path.join(args.dir, entry, "model.pt2")
    inputs = os.path.join(args.dir, entry, "in.npz")
    expected = os.path.join(args.dir, entry, "expected.npz")
    engine = os.path.join(work, "engine.bsm")
    row = {"entry": entry}
    target = ["--target", args.target] if args.target else []
    _, row["compile_s"] = run([args.bessemer, "compile", model, "-o", engine,
                               "--no-timing", "--inputs-from", inputs, *target])
    errors = []
    for isa in [None] if args.target else args.isa:
        outputs = []
        for threads in (1, 2):
            out = os.path.join(work, f"{isa}_{threads}.npz")
            how = ["--isa", isa, "--threads", str(threads)] if isa else []
            run([args.runner or args.bessemer, "run", engine, "--input", inputs,
                 "--output", out, *how])
            errors.append(compare(expected, out))
            outputs.append(out)
        if not same_bits(*outputs):
            raise RuntimeError(f"{isa}: 1 and 2 threads differ" if isa else "two runs differ")
    row["error"] = max(errors)
    if measure:
        _, row["compile_timed_s"] = run([args.bessemer, "compile", model, "-o", engine,
                                         "--threads", "1", "--inputs-from", inputs])
        row["engine_mb"] = os.path.getsize(engine) / 2**20
        for threads in (1, 2):
            text, _ = run([args.bessemer, "bench", engine, "--threads", str(threads),
                           "--iterations", str(args.iterations)])
            row[f"ms_{threads}"] = float(re.search(r"median_ms=([0-9.e+-]+)", text).group(1))
            row["load_ms"] = float(re.search(r"load_ms=([0-9.e+-]+)", text).group(1))
        row["peak_mb"] = peak_megabytes([args.bessemer, "run", engine, "--input", inputs,
                                         "--output", os.path.join(work, "peak.npz")])
    return row


def entries_of(args):
    wanted = [f"{m}-{h}-b{b}" for m in args.only for h in args.how for b in args.batch]
    return [e for e in wanted if os.path.exists(os.path.join(args.dir, e, "expected.npz"))]


def check(args, measure=False):
    rows, failed = [], 0
    with tempfile.TemporaryDirectory() as work:
        for entry in entries_of(args):
            try:
                row = check_entry(args, entry, work, measure)
                print(f"{entry}: ok, error {row['error']:.1e}", flush=True,
                      file=sys.stderr if measure else sys.stdout)
                rows.append(row)
            except RuntimeError as error:
                failed += 1
                rows.append({"entry": entry, "failed": str(error)})
                print(f"{entry}: FAILED: {error}", flush=True,
                      file=sys.stderr if measure else sys.stdout)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(rows, f, indent=1)
    print(f"models: {len(rows) - failed} passed, {failed} failed" if measure else
          f"{len(rows) - failed} passed, {failed} failed")
    return rows, failed or not rows


def table(args):
    rows, failed = check(args, measure=True)
    head = ["model", "saved by", "batch", "error", "1 thread ms", "2 threads ms",
            "compile s", "with timing s", "load ms", "engine MB", "peak MB"]
    print("| " + " | ".join(head) + " |")
    print("|---|---|" + "---:|" * (len(head) - 2))
    for row in rows:
        name, how, batch = row["entry"].rsplit("-", 2)
        if "failed" in row:
            print(f"| {name} | {how} | {batch[1:]} | failed: {row['failed'][:80]} |")
            continue
        print(f"| {name} | {how} | {batch[1:]} | {row['error']:.1e} | {row['ms_1']:.3g} | "
              f"{row['ms_2']:.3g} | {row['compile_s']:.2f} | {row['compile_timed_s']:.1f} | "
              f"{row['load_ms']:.1f} | {row['engine_mb']:.1f} | {row['peak_mb']:.0f} |")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["export", "check", "table"])
    parser.add_argument("dir")
    parser.add_argument("--only", default=",".join(MODELS))
    parser.add_argument("--batch", default="1,8")
    parser.add_argument("--how", default="script,trace")
    parser.add_argument("--isa", default=",".join(isas_of_machine()))
    parser.add_argument("--bessemer", default=os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "..", "build", "bessemer"))
    parser.add_argument("--runner")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--target")
    parser.add_argument("--json")
    args = parser.parse_args()
    args.only, args.how, args.isa = (x.split(",") for x in (args.only, args.how, args.isa))
    args.batch = [int(b) for b in args.batch.split(",")]
    if args.command == "export":
        export(args)
        return 0
    if args.command == "check":
        return 1 if check(args)[1] else 0
    return 1 if table(args) else 0


if __name__ == "__main__":
    sys.exit(main())
