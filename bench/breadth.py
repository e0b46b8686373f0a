#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many models, end to end: exports each with random weights, runs it with
Bessemer and compares every output with PyTorch.

  breadth.py [PATTERN ...]   cases whose group/name match a pattern: vision,
                             timm, hf, nets, ir, or e.g. "timm/levit*"

Options: --bessemer PATH  --how script,trace,freeze  --keep DIR  --list
         --arg=TEXT (passed on to `bessemer run`)

One line a case: PASS with the largest error relative to the tolerance, FAIL
with the reason, SKIP when PyTorch itself cannot export it. The exit status is
the number of failures, at most 100. Agreement is as for bench/models.py:
equal shapes and dtypes, max|ours - torch| <= 1e-4 * max|torch| + 1e-6.
"""
import argparse
import collections
import fnmatch
import os
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
import numpy as np
import torch

TOLERANCE, FLOOR = 1e-4, 1e-6
Case = collections.namedtuple("Case", "group name make hows")


def flatten(value):
    """The leaves of an output, in order, as arrays."""
    if value is None:
        return []
    if isinstance(value, torch.Tensor):
        value = value.detach()
        if value.dtype == torch.bfloat16:
            value = value.float()
        return [value.numpy()]
    if isinstance(value, dict):
        return [a for v in value.values() for a in flatten(v)]
    if isinstance(value, (list, tuple)):
        return [a for v in value for a in flatten(v)]
    return [np.array(value)]


def randomize(module):
    """Gives batch-norm statistics and constant parameters some life."""
    generator = torch.Generator().manual_seed(7)
    for m in module.modules():
        if getattr(m, "running_var", None) is not None:
            m.running_mean.copy_(
                torch.randn(m.running_mean.shape, generator=generator) * 0.1)
            m.running_var.copy_(
                torch.rand(m.running_var.shape, generator=generator) + 0.5)
    for p in module.parameters():
        if p.is_floating_point() and p.numel() > 1 and p.min() == p.max():
            p.copy_(p + torch.randn(p.shape, generator=generator) * 0.1)


def export(module, inputs, how):
    if how == "trace":
        return torch.jit.trace(module, inputs, check_trace=False, strict=False)
    scripted = torch.jit.script(module)
    return torch.jit.freeze(scripted) if how == "freeze" else scripted


def compare(ours, theirs):
    if len(ours) != len(theirs):
        return "%d outputs, PyTorch has %d" % (len(ours), len(theirs)), 0
    worst = 0.0
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if a.dtype != b.dtype or a.shape != b.shape:
            return "output %d is %s%s, PyTorch's %s%s" % (
                i, a.dtype, list(a.shape), b.dtype, list(b.shape)), 0
        if b.size == 0:
            continue
        if not b.dtype.kind == "f":
            if not np.array_equal(a, b):
                return "output %d differs in %d of %d" % (
                    i, int((a != b).sum()), b.size), 0
            continue
        a, b = a.astype(np.float64), b.astype(np.float64)
        if not np.array_equal(np.isnan(a), np.isnan(b)):
            return "output %d: NaN in other places" % i, 0
        a, b = np.nan_to_num(a), np.nan_to_num(b)
        limit = TOLERANCE * np.abs(b).max() + FLOOR
        worst = max(worst, float(np.abs(a - b).max() / limit))
    if worst > 1:
        return "error is %.3g of the tolerance" % worst, worst
    return None, worst


def save_inputs(path, inputs):
    np.savez(path, **{"in_%d" % i: x.numpy() if isinstance(x, torch.Tensor)
                      else np.array(x) for i, x in enumerate(inputs)})


def run_bessemer(options, model, directory, more=()):
    out = os.path.join(directory, "out.npz")
    if os.path.exists(out):
        os.remove(out)
    command = [options.bessemer, "run", model, "--input",
               os.path.join(directory, "in.npz"), "--output", out,
               "--threads", "1", "--no-timing", *more, *options.arg]
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=300)
    except subprocess.TimeoutExpired:
        return None, "no answer in 300 s"
    if done.returncode != 0:
        lines = [l for l in done.stderr.strip().splitlines() if l.strip()]
        text = " | ".join(lines) or "no message"
        return None, "exit %d: %s" % (done.returncode, text)
    arrays = np.load(out)
    return [arrays["out_%d" % i] for i in range(len(arrays.files))], None


def check(options, case, how, directory):
    torch.manual_seed(0)
    module, inputs = case.make()
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    module = module.eval()
    try:
        with torch.no_grad():
            randomize(module)
            exported = export(module, inputs, how)
    except Exception as error:  # PyTorch's limits are not ours
        return "SKIP", "%s: %s" % (type(error).__name__,
                                   str(error).strip().splitlines()[:1])
    model = os.path.join(directory, "model.ts")
    torch.jit.save(exported, model)
    save_inputs(os.path.join(directory, "in.npz"), inputs)
    with torch.no_grad():
        theirs = flatten(torch.jit.load(model)(*inputs))
    ours, reason = run_bessemer(options, model, directory)
    worst = 0
    if reason is None:
        reason, worst = compare(ours, theirs)
    return ("FAIL", reason) if reason else ("PASS", "%.3f" % worst)


def check_ir(options, case, directory):
    """An IR case gives text, inputs, weights (both dicts) and what to expect."""
    torch.manual_seed(0)
    text, inputs, weights, expected = case.make()
    model = os.path.join(directory, "model.ir")
    with open(model, "w") as file:
        file.write(text)
    np.savez(os.path.join(directory, "in.npz"),
             **{k: np.asarray(v) for k, v in inputs.items()})
    more = []
    if weights:
        path = os.path.join(directory, "w.npz")
        np.savez(path, **{k: np.asarray(v) for k, v in weights.items()})
        more = ["--weights", path]
    ours, reason = run_bessemer(options, model, directory, more)
    worst = 0
    if reason is None:
        reason, worst = compare(ours, flatten(expected))
    return ("FAIL", reason) if reason else ("PASS", "%.3f" % worst)


def all_cases():
    import breadth_ir
    import breadth_nets
    import breadth_zoo
    for group, table in (("vision", breadth_zoo.vision),
                         ("timm", breadth_zoo.timm_models),
                         ("hf", breadth_zoo.hugging_face),
                         ("nets", breadth_nets.cases),
                         ("ir", breadth_ir.cases)):
        for row in table():
            yield Case(group, *row)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--bessemer", default="bessemer")
    parser.add_argument("--how", default="")
    parser.add_argument("--keep")
    parser.add_argument("--arg", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    counts = collections.Counter()
    for case in all_cases():
        full = case.group + "/" + case.name
        if options.patterns and not any(
                fnmatch.fnmatch(full, p) or case.group == p
                for p in options.patterns):
            continue
        for how in case.hows:
            if options.how and how not in options.how.split(","):
                continue
            if options.list:
                print(full, how)
                continue
            with tempfile.TemporaryDirectory() as scratch:
                directory = scratch
                if options.keep:
                    directory = os.path.join(
                        options.keep, "%s-%s-%s" % (case.group, case.name, how))
                    os.makedirs(directory, exist_ok=True)
                try:
                    verdict, text = (
                        check_ir(options, case, directory) if how == "ir"
                        else check(options, case, how, directory))
                except Exception as error:
                    verdict, text = "SKIP", "%s: %s" % (
                        type(error).__name__, str(error).splitlines()[:1])
            counts[verdict] += 1
            print("%-4s %-44s %-6s %s" % (verdict, full, how, text), flush=True)
    print(", ".join("%s %d" % item for item in sorted(counts.items())))
    return min(counts["FAIL"], 100)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main())
