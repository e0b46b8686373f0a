#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what the seeds of each fuzz target reach with fuzz/coverage.txt: the
edges of the instrumented program. A target that reaches a tenth less than is
written there, or a target that is not there, fails: its seeds have become
useless, as those of an old format do.

Usage: fuzz_coverage.py [--write | --gain RUNS [--only A,B]] BUILD

BUILD is a build with BSM_FUZZ. --gain gives each target, or only some, so many
inputs of its mutator and as many of libFuzzer's alone, from the same seeds, and
prints the edges of both: of equal counts, as a machine's load changes times."""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
KEPT = os.path.join(ROOT, "fuzz", "coverage.txt")
HEAD = ("# What the seeds of each fuzz target reach, in edges of the program."
        "\n# scripts/fuzz_coverage.py compares; with --write it makes this file.\n")


def targets():
    for name in sorted(os.listdir(os.path.join(ROOT, "fuzz"))):
        if name.endswith("_fuzz.c"):
            yield name[:-len("_fuzz.c")]


def seeds(build, name):
    folders = [os.path.join(ROOT, "fuzz", "corpus", name),
               os.path.join(ROOT, "fuzz", "findings", name),
               os.path.join(build, "fuzz_seeds", name)]
    return [folder for folder in folders if os.path.isdir(folder)]


def edges(build, name, how="-runs=0", environment=None):
    """The last count that libFuzzer prints, after it has read all seeds."""
    with tempfile.TemporaryDirectory() as empty:
        run = subprocess.run(
            [os.path.join(build, name + "_fuzz"), how, "-seed=1",
             "-rss_limit_mb=2048", "-artifact_prefix=" + empty + "/", empty,
             *seeds(build, name)],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
            errors="replace", env=environment)
    found = re.findall(r"\bcov: (\d+)", run.stderr)
    if run.returncode or not found:
        sys.exit(f"{name}: libFuzzer failed:\n{run.stderr[-2000:]}")
    return int(found[-1])


def print_gain(build, runs, only):
    how = f"-runs={runs}"
    print("target seeds bytes structure")
    for name in targets():
        if only and name not in only:
            continue
        plain = edges(build, name, how, {**os.environ, "BSM_FUZZ_PLAIN": "1"})
        print(name, edges(build, name), plain, edges(build, name, how),
              flush=True)


def main():
    build = sys.argv[-1]
    if "--gain" in sys.argv:
        only = sys.argv[sys.argv.index("--only") + 1].split(",") \
            if "--only" in sys.argv else []
        print_gain(build, sys.argv[sys.argv.index("--gain") + 1], only)
        return
    names = list(targets())
    with concurrent.futures.ThreadPoolExecutor(
            len(os.sched_getaffinity(0))) as pool:
        counts = pool.map(lambda name: edges(build, name), names)
        reached = dict(zip(names, counts))
    if "--write" in sys.argv:
        with open(KEPT, "w") as file:
            file.write(HEAD)
            file.writelines(f"{n} {reached[n]}\n" for n in reached)
        return
    with open(KEPT) as file:
        kept = dict(line.split() for line in file
                    if not line.startswith("#"))
    failed = False
    for name, count in reached.items():
        least = int(kept.get(name, 0)) * 9 // 10
        if name not in kept or count < least:
            print(f"{name}: {count} edges, {kept.get(name, 'none')} are kept")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
