#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models with ranges of shapes against PyTorch: compiles each with dims that
range, runs it at the smallest, the optimal, the largest and random shapes
between, and compares every output with the same TorchScript file in PyTorch.

  dynamic.py [PATTERN ...]   cases whose name matches (those of
                             dynamic_cases.py): zoo/*, swin*, and with
                             --breadth the models of breadth.py: timm/*, hf/*

Options: --zoo DIR         exported models, DIR/<name>/model.ts
         --target TEXT     compiled for another target than this machine's CPU
         --build DIR       with the bessemer tool and libbessemer.so
         --models DIR      keeps the models that are made here
         --random N (20)   --seed N   --list   --verbose

One line a case: the ranges; how many shapes agreed, were refused (with the
first message), were refused by PyTorch too, or came out wrong; the largest
error relative to max|torch|; and what the compiler warned of. The exit status
is the number of cases with a wrong or needlessly refused shape. Agreement is
as for bench/models.py: equal shapes and dtypes,
max|ours - torch| <= 1e-4 * max|torch| + 1e-6.
"""
import argparse
import fnmatch
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import torch

from breadth import TOLERANCE, FLOOR, flatten, randomize
from dynamic_breadth import breadth_cases, make
from dynamic_cases import CASES
from engine_calls import Engine, Failure, Library


# ------------------------------------------------------------------ the inputs
def dims_of(dims, sizes):
    return tuple(sizes.get(d, d) for d in dims)


def make_input(kind, dims, sizes, rng):
    shape = dims_of(dims, sizes)
    name, *numbers = kind.split(":")
    if name == "float32":
        return rng.standard_normal(shape).astype(np.float32)
    if name == "image":
        return rng.random(shape).astype(np.float32)
    if name == "int":
        return np.array(rng.integers(int(numbers[0]), int(numbers[1])))
    if name == "mask":
        mask = np.ones(shape, dtype=np.int64)
        mask[:, max(1, shape[1] - 2):] = 0
        return mask
    return rng.integers(0, int(numbers[0]), shape).astype(np.int64)


def is_number(kind):
    return kind.startswith("int:")


def spec_of(kind, dims, ranges):
    """As the command line takes it."""
    if is_number(kind):
        return "()@i64"
    shapes = []
    for i in range(3):
        shape = dims_of(dims, {n: r[i] for n, r in ranges.items()})
        shapes.append("(" + ",".join(map(str, shape)) + ")")
    floats = kind in ("float32", "image")
    return "[" + ";".join(shapes) + "]" + ("" if floats else "@i64")


def shapes_of(args, ranges):
    """The smallest, the optimal, the largest, and random ones."""
    for i in range(3):
        yield {n: r[i] for n, r in ranges.items()}
    rng = random.Random(args.seed)
    for _ in range(args.random):
        yield {n: rng.randrange(r[0], r[2] + 1, r[3] if len(r) > 3 else 1)
               for n, r in ranges.items()}


# ------------------------------------------------------------------ the models
def make_model(how, make, inputs, ranges, path):
    torch.manual_seed(3)
    module = make().eval()
    randomize(module)
    if how == "trace":
        rng = np.random.default_rng(1)
        sizes = {n: max(r[1], 2) for n, r in ranges.items()}
        example = tuple(torch.from_numpy(make_input(k, d, sizes, rng))
                        for k, d in inputs)
        module = torch.jit.trace(module, example, check_trace=False,
                                 strict=False)
    else:
        module = torch.jit.script(module)
        module = torch.jit.freeze(module) if how == "freeze" else module
    module.save(path)


def find_model(args, case):
    """The case's TorchScript file, its inputs and ranges; why there is none."""
    name, (how, what), inputs, ranges = case
    if how == "breadth":
        try:
            path, inputs, ranges, why = make(*what, args.models)
            return path, inputs, ranges, why or (
                None if ranges else "no dim that ranges")
        except Exception as error:  # PyTorch cannot export it
            return None, None, None, f"export: {first_lines(str(error), 80)}"
    path = (os.path.join(args.zoo, what, "model.ts") if how == "zoo" else
            os.path.join(args.models, name + ".ts"))
    if how != "zoo" and not os.path.exists(path):
        make_model(how, what, inputs, ranges, path)
    return path, inputs, ranges, (None if os.path.exists(path)
                                  else "no such model")


# ------------------------------------------------------------------- the runs
def first_lines(text, limit=400):
    return " | ".join(text.strip().splitlines())[:limit]


def relative_error(expected, actual):
    """The largest error over max|torch|; raises ValueError when they do not
    agree."""
    if len(actual) != len(expected):
        raise ValueError(f"{len(actual)} outputs, not {len(expected)}")
    worst = 0.0
    for i, (want, got) in enumerate(zip(expected, actual)):
        if got.shape != want.shape or got.dtype != want.dtype:
            raise ValueError(f"output {i}: {got.dtype}{got.shape}, not "
                             f"{want.dtype}{want.shape}")
        if not want.size:
            continue
        largest = float(np.nanmax(np.abs(want), initial=0))
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        off = np.abs(got.astype(np.float64) - want.astype(np.float64))
        error = float(np.where(same, 0, off).max())
        if not error <= TOLERANCE * largest + FLOOR:
            raise ValueError(f"output {i}: error {error:.3g}, max|torch| "
                             f"{largest:.3g}")
        worst = max(worst, error / largest if largest else 0.0)
    return worst


def in_order_of(expected, actual):
    """Detections - boxes, scores, labels - in PyTorch's order: scores that
    differ by rounding alone come in any order."""
    if any(a.shape != b.shape for a, b in zip(expected, actual)):
        return actual
    (boxes, scores, labels), order, left = actual, [], list(range(len(actual[1])))
    for box, score, label in zip(*expected):
        near = [j for j in left if labels[j] == label
                and abs(scores[j] - score) <= TOLERANCE * abs(score)]
        if not near:
            return actual
        order.append(min(near, key=lambda j: np.abs(boxes[j] - box).max()))
        left.remove(order[-1])
    return [a[order] for a in actual]


class Tally:
    """What came of the shapes of one case."""

    def __init__(self):
        self.count = {"agree": 0, "refused": 0, "both refuse": 0, "wrong": 0,
                      "ours only": 0}
        self.first, self.worst = {}, 0.0

    def add(self, what, text=""):
        self.count[what] += 1
        self.first.setdefault(what, text)

    def failed(self):
        return self.count["wrong"] or self.count["refused"]

    def __str__(self):
        shapes = sum(self.count.values())
        parts = [f"{n} {what}" for what, n in self.count.items() if n]
        text = f"{shapes} shapes: {', '.join(parts)}; error {self.worst:.1e}"
        for what in ("wrong", "refused", "both refuse", "ours only"):
            if self.first.get(what):
                text += f"\n    {what}: {self.first[what]}"
        return text


def run_shape(name, inputs, module, engine, sizes, rng, tally):
    arrays = [make_input(k, d, sizes, rng) for k, d in inputs]
    values = [int(a) if is_number(k) else torch.from_numpy(a)
              for a, (k, _) in zip(arrays, inputs)]
    expected = actual = None
    try:
        expected = flatten(module(*values))
    except (RuntimeError, IndexError) as error:
        theirs = str(error).strip().splitlines()[-1]
    try:
        actual = engine.run(arrays)
    except Failure as error:
        ours = first_lines(str(error))
    if expected is None:
        both = actual is None
        tally.add("both refuse" if both else "ours only",
                  f"{sizes}: PyTorch: {theirs}" + (f"; ours: {ours}" if both
                                                   else ""))
    elif actual is None:
        tally.add("refused", f"{sizes}: {ours}")
    else:
        if "ssd" in name or name.startswith("detect"):
            actual = in_order_of(expected, actual)
        try:
            tally.worst = max(tally.worst, relative_error(expected, actual))
            tally.add("agree")
        except ValueError as error:
            tally.add("wrong", f"{sizes}: {error}")


def compile_model(args, path, engine, inputs, ranges):
    """What the compiler warned of."""
    specs = [spec_of(k, d, ranges) for k, d in inputs]
    command = [os.path.join(args.build, "bessemer"), "compile", path, "-o",
               engine, "--no-timing", "--threads", "1", *specs]
    if args.target:
        command += ["--target", args.target]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Failure("compile: " + first_lines(done.stderr, 800))
    return [line for line in done.stderr.splitlines() if "warning" in line]


def check(args, library, case):
    """A line, and whether the case failed."""
    path, inputs, ranges, why = find_model(args, case)
    if why:
        return f"SKIP {why}", False
    title = " ".join(f"{n} {r[0]}..{r[1]}..{r[2]}" for n, r in ranges.items())
    line, failed = check_model(args, library, case[0], path, inputs, ranges)
    return f"[{title}] {line}", failed


def check_model(args, library, name, path, inputs, ranges):
    file, start = os.path.join(args.work, "engine.bsm"), time.time()
    try:
        warned = compile_model(args, path, file, inputs, ranges)
        compiled = time.time()
        engine = Engine(library, file)
    except Failure as error:
        return f"FAIL {error}", True
    module, tally = torch.jit.load(path).eval(), Tally()
    rng = np.random.default_rng(args.seed)
    for sizes in shapes_of(args, ranges):
        if os.path.getsize(path) < 1 << 20:  # state of the last run is gone
            module = torch.jit.load(path).eval()
        run_shape(name, inputs, module, engine, sizes, rng, tally)
        if args.verbose:
            print(f"  {sizes} {tally}", flush=True)
    engine.close()
    ending = "".join(f"\n    {w[:400]}" for w in warned)
    if tally.count["both refuse"] and not warned:
        ending = "\n    without a warning when compiling"
    return (f"{'FAIL' if tally.failed() else 'PASS'} {tally}, compile "
            f"{compiled - start:.1f} s, runs {time.time() - compiled:.1f} s"
            f"{ending}", tally.failed())


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--zoo", default="zoo")
    parser.add_argument("--build", default=os.path.join(here, "../build"))
    parser.add_argument("--models")
    parser.add_argument("--target")
    parser.add_argument("--random", type=int, default=20)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--breadth", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    failures = 0
    library = Library(os.path.join(args.build, "libbessemer.so"))
    with tempfile.TemporaryDirectory() as args.work, torch.no_grad():
        args.models = args.models or args.work
        os.makedirs(args.models, exist_ok=True)
        for case in breadth_cases() if args.breadth else CASES:
            if not any(fnmatch.fnmatch(case[0], p) for p in args.patterns):
                continue
            line, failed = ("", False) if args.list else check(args, library,
                                                               case)
            failures += bool(failed)
            print(f"{case[0]} {line}", flush=True)
    return min(failures, 100)


if __name__ == "__main__":
    sys.exit(main())
