#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fuzzes all targets in turn, one process at a time, for as long as is wanted,
and keeps books of the CPU time of each.

Usage: fuzz_hours.py BUILD KEPT [--rounds N] [--seconds S] [--only A,B]

BUILD is a build with BSM_FUZZ. KEPT is a folder: KEPT/corpus/TARGET has what
was found to reach something new, KEPT/found what failed, beside a log of its
run, and KEPT/minutes.txt the minutes of CPU of each target over all calls with
this folder, the runs and the edges reached. A target that fails goes on in the
next round, from another seed. Ends with 1 if something was found."""
import argparse
import os
import re
import resource
import subprocess
import sys
import time

from fuzz_coverage import seeds, targets


def read_books(path):
    books = {}
    if os.path.exists(path):
        with open(path) as file:
            for line in file:
                name, minutes, runs, edges = line.split()
                books[name] = [float(minutes), int(runs), int(edges)]
    return books


def write_books(path, books):
    with open(path + ".new", "w") as file:
        for name, (minutes, runs, edges) in sorted(books.items()):
            file.write(f"{name} {minutes:.2f} {runs} {edges}\n")
    os.replace(path + ".new", path)


def cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def fuzz(build, kept, name, seconds):
    """Minutes, runs, edges, and whether it went well."""
    corpus = os.path.join(kept, "corpus", name)
    found = os.path.join(kept, "found")
    os.makedirs(corpus, exist_ok=True)
    os.makedirs(found, exist_ok=True)
    before = cpu()
    run = subprocess.run(
        [os.path.join(build, name + "_fuzz"), f"-max_total_time={seconds}",
         "-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1",
         "-reload=0", f"-artifact_prefix={found}/{name}-", corpus,
         *seeds(build, name)],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        errors="replace")
    if run.returncode:
        log = os.path.join(found, f"{name}-{int(time.time())}.log")
        with open(log, "w") as file:
            file.write(run.stderr)
    runs = re.findall(r"executed_units: (\d+)", run.stderr)
    edges = re.findall(r"\bcov: (\d+)", run.stderr)
    return ((cpu() - before) / 60, int(runs[-1]) if runs else 0,
            int(edges[-1]) if edges else 0, run.returncode == 0)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("kept")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    path = os.path.join(args.kept, "minutes.txt")
    os.makedirs(args.kept, exist_ok=True)
    names = [n for n in targets() if not args.only or n in args.only.split(",")]
    if not names:
        sys.exit("no such target")
    well = True
    for _ in range(args.rounds):
        for name in names:
            minutes, runs, edges, good = fuzz(args.build, args.kept, name,
                                              args.seconds)
            books = read_books(path)
            kept = books.setdefault(name, [0.0, 0, 0])
            kept[0] += minutes
            kept[1] += runs
            kept[2] = max(kept[2], edges)
            write_books(path, books)
            print(f"{name}: {kept[0]:.1f} minutes, {kept[1]} runs, "
                  f"{kept[2]} edges{'' if good else ', FAILED'}", flush=True)
            well = well and good
    sys.exit(not well)


if __name__ == "__main__":
    main()
