#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Engines with ranges under many random shapes: resident memory, agreement with
PyTorch, and speed beside an engine of one shape.

  shapes_stress.py [CASE ...]   resnet18, bert_base (both)

Options: --zoo DIR      exported models, DIR/<name>/model.ts (zoo)
         --build DIR    with the bessemer tool and libbessemer.so
         --calls N (10000)   --samples N (200)   --seed N   --timing
         --target TEXT  compiled for another target than this machine's CPU

For each case: a fresh process runs N random shapes in range, and a second one
times batch 1. Printed, and wrong where marked with FAIL:

  resident memory after call 100, after the last, and the highest between; the
      second may not be more than 1 MB above the first;
  how many of the sampled calls agree with PyTorch, as for bench/models.py:
      equal shapes and dtypes, max|ours - torch| <= 1e-4 * max|torch| + 1e-6;
  a call at the optimal shape with the engine with ranges, and with one that was
      compiled for that shape alone: medians of interleaved rounds, whose ratio
      may not be above 1.1; a first and a second call of new shapes, for
      comparison.

The exit status is the number of FAILs. --timing lets the compiler choose by
measurement; without it both engines are built by the cost model.
"""
import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from engine_calls import Array, Engine, Library, array_of

EARLY = 100
# Of the zoo: inputs, and for each dim that ranges the least, the optimal and the
# greatest size.
CASES = {
    "resnet18": ([("float", ("B", 3, "H", "W"))],
                 {"B": (1, 1, 4), "H": (32, 64, 96), "W": (32, 64, 96)}),
    "bert_base": ([("ids:1000", ("B", "S")), ("mask", ("B", "S")),
                   ("ids:2", ("B", "S"))], {"B": (1, 1, 2), "S": (4, 16, 32)}),
}


# ------------------------------------------------------------------ the inputs
def make_input(kind, dims, sizes, rng):
    shape = tuple(sizes.get(d, d) for d in dims)
    if kind == "float":
        return rng.standard_normal(shape, dtype=np.float32)
    if kind == "mask":
        mask = np.ones(shape, dtype=np.int64)
        mask[:, max(1, shape[1] - 2):] = 0
        return mask
    return rng.integers(0, int(kind.split(":")[1]), shape).astype(np.int64)


def make_inputs(inputs, sizes, rng):
    return [make_input(kind, dims, sizes, rng) for kind, dims in inputs]


def random_sizes(ranges, rng):
    return {n: int(rng.integers(r[0], r[2] + 1)) for n, r in ranges.items()}


def specs_of(inputs, ranges, points):
    specs = []
    for kind, dims in inputs:
        shapes = []
        for i in points:
            sizes = {n: r[i] for n, r in ranges.items()}
            shapes.append("(" + ",".join(str(sizes.get(d, d)) for d in dims) + ")")
        spec = shapes[0] if len(shapes) == 1 else "[" + ";".join(shapes) + "]"
        specs.append(spec + ("" if kind == "float" else "@i64"))
    return specs


# --------------------------------------------------------- the processes inside
def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def stress(args, case):
    """Runs the shapes; keeps what some of them gave."""
    inputs, ranges = CASES[case]
    rng = np.random.default_rng(args.seed)
    chosen = set(rng.permutation(args.calls)[:args.samples].tolist())
    engine = Engine(Library(args.library), args.engine)
    early = highest = last = 0.0
    for call in range(1, args.calls + 1):
        arrays = make_inputs(inputs, random_sizes(ranges, rng), rng)
        outputs = engine.run(arrays)
        if call - 1 in chosen:
            np.savez(os.path.join(args.work, f"{call - 1}.npz"),
                     **{f"in_{i}": a for i, a in enumerate(arrays)},
                     **{f"out_{i}": a for i, a in enumerate(outputs)})
        del arrays, outputs
        if call >= EARLY:
            last = resident()
            early, highest = early or last, max(highest, last)
    return {"early": early, "highest": highest, "last": last}


class Call:
    """One call with its arrays, without copies."""

    def __init__(self, engine, inputs):
        self.engine, self.inputs = engine, inputs
        self.arrays = (Array * len(inputs))(*map(array_of, inputs))

    def seconds(self):
        start = time.perf_counter()
        self.engine.library.check(self.engine.c.bsm_context_run_keep(
            self.engine.context, self.arrays, ctypes.c_size_t(len(self.inputs))))
        return time.perf_counter() - start


def latency(args, case):
    inputs, ranges = CASES[case]
    rng = np.random.default_rng(args.seed)
    library = Library(args.library)
    ranging, fixed = Engine(library, args.engine), Engine(library, args.fixed)
    best = make_inputs(inputs, {n: r[1] for n, r in ranges.items()}, rng)
    calls = Call(ranging, best), Call(fixed, best)
    for _ in range(5):
        times = [c.seconds() for c in calls]
    # Enough for a stable median, not more than some seconds.
    rounds = max(20, min(400, int(6 / sum(times))))
    times = [[c.seconds() for c in calls] for _ in range(rounds)]
    first, second = [], []
    for _ in range(20):
        call = Call(ranging, make_inputs(inputs, random_sizes(ranges, rng), rng))
        first.append(call.seconds())
        second.append(call.seconds())
    medians = [1e3 * float(np.median(t)) for t in (*zip(*times), first, second)]
    return dict(zip(("ranging", "fixed", "first", "second"), medians))


# ------------------------------------------------------------------- comparing
def agrees(want, got):
    if want.shape != got.shape or want.dtype != got.dtype:
        return False
    limit = 1e-4 * float(np.abs(want).max(initial=0)) + 1e-6
    return bool((np.abs(want.astype(np.float64) - got) <= limit).all())


def count_agreeing(args, case):
    import torch
    torch.set_num_threads(1)
    module = torch.jit.load(os.path.join(args.zoo, case, "model.ts")).eval()
    same = total = 0
    for name in sorted(os.listdir(args.work)):
        if not name[0].isdigit():
            continue
        arrays = np.load(os.path.join(args.work, name))
        inputs = [torch.from_numpy(arrays[f"in_{i}"])
                  for i in range(len(CASES[case][0]))]
        with torch.no_grad():
            wanted = module(*inputs)
        wanted = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        total += 1
        same += all(agrees(w.numpy(), arrays[f"out_{i}"])
                    for i, w in enumerate(wanted))
    return same, total


# ------------------------------------------------------------------- the whole
def compile_engine(args, case, points, path):
    inputs, ranges = CASES[case]
    command = [os.path.join(args.build, "bessemer"), "compile",
               os.path.join(args.zoo, case, "model.ts"), "-o", path, "-t", "1",
               *([] if args.timing else ["--no-timing"]),
               *(["--target", args.target] if args.target else []),
               *specs_of(inputs, ranges, points)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def child(args, what, case):
    command = [sys.executable, os.path.abspath(__file__), case, "--inside", what,
               "--library", os.path.join(args.build, "libbessemer.so"),
               "--engine", args.engine, "--fixed", args.fixed, "--work",
               args.work, "--calls", str(args.calls), "--samples",
               str(args.samples), "--seed", str(args.seed)]
    # Memory that is freed goes back in the same way each time.
    environment = dict(os.environ, MALLOC_ARENA_MAX="1")
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          env=environment)
    return json.loads(done.stdout)


def check(args, case):
    args.engine = os.path.join(args.work, "ranging.bsm")
    args.fixed = os.path.join(args.work, "fixed.bsm")
    compile_engine(args, case, (0, 1, 2), args.engine)
    compile_engine(args, case, (1,), args.fixed)
    failures = 0

    def tell(good, text):
        nonlocal failures
        failures += not good
        print(f"{case}: {'' if good else 'FAIL '}{text}", flush=True)

    start = time.perf_counter()
    memory = child(args, "stress", case)
    taken = time.perf_counter() - start
    tell(memory["last"] <= memory["early"] + 1,
         f"resident after call {EARLY} {memory['early']:.2f} MB, after call "
         f"{args.calls} {memory['last']:.2f} MB, highest {memory['highest']:.2f} "
         f"MB; {taken / args.calls * 1e3:.1f} ms a call")
    same, total = count_agreeing(args, case)
    tell(same == total, f"{same} of {total} sampled calls agree with PyTorch")
    ms = child(args, "latency", case)
    tell(ms["ranging"] <= 1.1 * ms["fixed"],
         f"optimal shape {ms['ranging']:.3f} ms, engine of one shape "
         f"{ms['fixed']:.3f} ms: {ms['ranging'] / ms['fixed']:.3f}; new shapes "
         f"{ms['first']:.1f} ms the first time, {ms['second']:.1f} ms again")
    return failures


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--zoo", default="zoo")
    parser.add_argument("--build", default=os.path.join(here, "../build"))
    parser.add_argument("--calls", type=int, default=10000)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--timing", action="store_true")
    parser.add_argument("--target")
    for name in ("inside", "library", "engine", "fixed", "work"):
        parser.add_argument("--" + name, help=argparse.SUPPRESS)
    args = parser.parse_args()
    unknown = [c for c in args.cases if c not in CASES]
    if unknown:
        parser.error(f"no such case: {unknown[0]}; there are {', '.join(CASES)}")
    if args.calls <= EARLY:
        parser.error(f"--calls has to be more than {EARLY}")
    if args.inside:
        run = stress if args.inside == "stress" else latency
        print(json.dumps(run(args, args.cases[0])))
        return 0
    failures = 0
    for case in args.cases or CASES:
        with tempfile.TemporaryDirectory() as args.work:
            failures += check(args, case)
    return failures


if __name__ == "__main__":
    sys.exit(main())
