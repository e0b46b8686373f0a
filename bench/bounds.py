#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far engines are from what the machine could do, layer by layer.

  bounds.py ENGINE [IO.npz] [--bessemer PATH] [--top 20] [--rounds 3]
  bounds.py DIR --peers R.json ...     of the models that peers.py has measured
                                       in DIR: a table beside the best of them

A step is bound by the multiply-adds that its tactic does, at the peak that a
loop of independent ones reaches, or by its bytes, at the bandwidth that reading
has: of memory when the weights of the network exceed the last-level cache, else
of that cache; whichever takes longer. For Winograd's algorithm the
multiplications are those of its tiles over a 3x3 kernel, without the transforms
and the parts of tiles that stick out. Other operations (exp, max) are not
counted. No network runs faster than the sum; the bound of a step is never
reached, as both limits are of loops that do nothing else.

Times are the least of --rounds profiles with one thread, pinned to the last CPU.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy

import peers

HERE = os.path.dirname(os.path.abspath(__file__))
# Multiplications of a tile of outputs over those of the definition.
WINOGRAD = {f"winograd_{m}": (m + 2) ** 2 / (9.0 * m * m) for m in (2, 4, 6)}
MULTIPLIES = {"convolution", "convolution_chain", "matrix_multiply", "deconvolution", "attention", "recurrent"}


def bandwidth(size):
    """Of reading `size` bytes again and again, in GB/s."""
    data = numpy.ones(size // 8, dtype=numpy.float64)
    best, spent = 1e9, 0.0
    while spent < 0.5:
        start = time.perf_counter()
        for _ in range(max(1, (64 << 20) // size)):
            data.max()
        seconds = (time.perf_counter() - start) / max(1, (64 << 20) // size)
        best, spent = min(best, seconds), spent + seconds * max(1, (64 << 20) // size)
    return size / best / 1e9


def last_level_cache():
    sizes = [0]
    base = "/sys/devices/system/cpu/cpu0/cache"
    for name in os.listdir(base) if os.path.isdir(base) else []:
        try:
            with open(os.path.join(base, name, "size")) as f:
                text = f.read().strip()
            sizes.append(int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]])
        except (OSError, KeyError, ValueError):
            continue
    return max(sizes) or 32 << 20


def profile(tool, engine, inputs, rounds):
    """The steps with their least times, and the peak in GFLOP/s."""
    steps, peak = [], 0.0
    for _ in range(rounds):
        command = [tool, "bench", engine, "--threads=1", "--iterations=10", "--profile", "--json"]
        if inputs:
            command.append(f"--input={inputs}")
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        peak = max(peak, report["peak_gflops_per_s"])
        steps = steps or report["steps"]
        for step, again in zip(steps, report["steps"]):
            step["ms"] = min(step["ms"], again["ms"])
    return steps, peak


def bound_of(step, peak, speed):
    """Milliseconds, and what bounds."""
    factor = WINOGRAD.get(step["tactic"].split()[0], 1.0)
    flops = (step.get("flops") or 0) * factor if step["kind"] in MULTIPLIES else 0
    compute, move = flops / peak / 1e6, (step.get("bytes") or 0) / speed / 1e6
    return (compute, "multiply-adds") if compute >= move else (move, "bytes")


def measure(args, engine, inputs, speeds):
    steps, peak = profile(args.bessemer, engine, inputs, args.rounds)
    speed = speeds[os.path.getsize(engine) > last_level_cache()]
    for step in steps:
        step["bound"], step["by"] = bound_of(step, peak, speed)
    return steps, peak, speed


def print_steps(steps, peak, speed, top):
    print(f"peak {peak:.1f} GFLOP/s, {speed:.0f} GB/s")
    print(f"{'ms':>9} {'bound':>9} {'reached':>8}  by             kind, tactic, layer")
    for step in sorted(steps, key=lambda s: s["bound"] - s["ms"])[:top]:
        print(f"{step['ms']:9.4f} {step['bound']:9.4f} {100 * step['bound'] / step['ms']:7.0f}%  {step['by']:<13}  "
              f"{step['kind']} {step['tactic']}  {step['name'][:70]}")
    total, bound = sum(s["ms"] for s in steps), sum(s["bound"] for s in steps)
    print(f"{total:9.4f} {bound:9.4f} {100 * bound / total:7.0f}%  all")


def print_table(args, speeds):
    print("| model | steps, ms | bound, ms | reached | of it by bytes | best other, ms | best other / bound |\n"
          "|---|---:|---:|---:|---:|---:|---:|")
    records = {}
    for path in args.peers:
        with open(path) as f:
            records.update({r["model"]: r for r in json.load(f)["results"] if r["threads"] == 1})
    args.dir = args.engine
    for model, record in records.items():
        other = record["peers"].get(peers.best_peer(record), {}).get("median_ms")
        if not other:
            continue
        entry = peers.entry_of(args, model)
        inputs = os.path.join(entry, "in.npz")
        with tempfile.NamedTemporaryFile(suffix=".bsm") as engine:
            subprocess.run([args.bessemer, "compile", os.path.join(entry, "model.ts"), "-o", engine.name,
                            "--inputs-from", inputs, "--threads=1"], check=True, stdout=subprocess.DEVNULL)
            steps, _, _ = measure(args, engine.name, inputs, speeds)
        total, bound = sum(s["ms"] for s in steps), sum(s["bound"] for s in steps)
        moved = sum(s["bound"] for s in steps if s["by"] == "bytes")
        print(f"| {model.replace(':', ', batch ')} | {total:.4g} | {bound:.4g} | {100 * bound / total:.0f} % | "
              f"{100 * moved / bound:.0f} % | {other:.4g} | {other / bound:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", help="an engine, or with --peers the folder")
    parser.add_argument("inputs", nargs="?")
    parser.add_argument("--bessemer", default=os.path.join(HERE, "..", "build", "bessemer"))
    parser.add_argument("--peers", nargs="+", metavar="R.json")
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    speeds = {True: bandwidth(256 << 20), False: bandwidth(max(1 << 20, last_level_cache() // 4))}
    print(f"one core reads {speeds[True]:.0f} GB/s from memory, {speeds[False]:.0f} from the last-level cache\n")
    if args.peers:
        print_table(args, speeds)
    else:
        print_steps(*measure(args, args.engine, args.inputs, speeds), args.top)


if __name__ == "__main__":
    sys.exit(main())
