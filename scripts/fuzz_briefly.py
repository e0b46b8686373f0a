#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives each fuzz target as many inputs as fuzz/runs.txt says, and fails where
one of them does. They are the same inputs on every machine: what libFuzzer makes
next depends on its seed, on the order of its files, on what the target did with
the inputs before, and on nothing that a clock says.

Usage: fuzz_briefly.py [--seconds S] [--seed N] [--only A,B] [--trace] BUILD

BUILD is a build with BSM_FUZZ. --seconds fuzzes each target for so long instead,
on this machine as it is, and from a random seed unless one is given. --trace
prints a hash of what was found to reach something new, to compare machines. As
many targets as there are CPUs run side by side."""
import argparse
import base64
import concurrent.futures
import contextlib
import hashlib
import io
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile

from fuzz_coverage import ROOT, seeds, targets

RUNS = os.path.join(ROOT, "fuzz", "runs.txt")
LARGEST = 65536  # bytes of an input that is printed


def kept_runs():
    with open(RUNS) as file:
        return dict(line.split() for line in file if not line.startswith("#"))


def fixed_addresses():
    """Some inputs hold what was compared, addresses among it: the command that
    keeps those the same, where that is allowed."""
    tool = shutil.which("setarch")
    command = [tool, platform.machine(), "-R"]
    if tool and subprocess.run([*command, "true"], check=False,
                               stderr=subprocess.DEVNULL).returncode == 0:
        return command
    return []


def seed_files(build, name):
    """By their contents, as folders list them in any order and they may lie
    anywhere."""
    found = {}
    for folder in seeds(build, name):
        for file in os.listdir(folder):
            path = os.path.abspath(os.path.join(folder, file))
            with open(path, "rb") as content:
                found[hashlib.sha256(content.read()).hexdigest()] = path
    return [found[key] for key in sorted(found)]


def fuzz(how, same, folder):
    """The files of what was found stay in `folder`. Names are relative and the
    environment is no longer than elsewhere, as addresses depend on them."""
    command = ["./target", *how, "-timeout=20",
               "-rss_limit_mb=2048", "-reload=0", "-purge_allocator_interval=-1",
               "-print_final_stats=1", "-artifact_prefix=found-",
               "-seed_inputs=@seeds", "new"]
    environment = None
    if same:
        command = fixed_addresses() + command
        environment = {"BSM_FUZZ_REPEAT": "1", "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, cwd=folder, env=environment,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, errors="replace", check=False)


def print_failure(name, run, folder):
    print(run.stderr[-6000:])
    print(f"fuzz target {name} failed; the input in base64:")
    for file in os.listdir(folder):
        path = os.path.join(folder, file)
        if file.startswith("found-") and os.path.getsize(path) <= LARGEST:
            with open(path, "rb") as content:
                print(base64.b64encode(content.read()).decode())


def cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def explore(args, name, how):
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "new"))
        os.symlink(os.path.abspath(os.path.join(args.build, name + "_fuzz")),
                   os.path.join(folder, "target"))
        files = seed_files(args.build, name)
        for i, path in enumerate(files):
            os.symlink(path, os.path.join(folder, f"{i:06}"))
        with open(os.path.join(folder, "seeds"), "w") as file:
            file.write(",".join(f"{i:06}" for i in range(len(files))))
        before = cpu()
        run = fuzz(how, args.seconds is None, folder)
        count = re.findall(r"executed_units: (\d+)", run.stderr)
        trace = ""
        if args.trace:
            new = sorted(os.listdir(os.path.join(folder, "new")))
            trace = ", " + hashlib.sha256("".join(new).encode()).hexdigest()[:16]
        print(f"{name}: {count[-1] if count else 'no'} inputs, "
              f"{cpu() - before:.1f} s of CPU{trace}")
        if run.returncode:
            print_failure(name, run, folder)
            return False
        # What libFuzzer prints of each input that it keeps: how it was made.
        made = re.findall(r"^#\d+\t.* MS: (.*)", run.stderr, re.MULTILINE)
        if made and not any("Custom-" in how for how in made):
            print(f"{name}: the program has no mutator")
            return False
        return True


def explore_quietly(args, name, how):
    """Whether it went well, and what it said."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        well = explore(args, name, how)
    return well, said.getvalue()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--trace", action="store_true")
    args = parser.parse_args()
    names = [n for n in targets() if not args.only or n in args.only.split(",")]
    if not names:
        sys.exit("no such target")
    runs = kept_runs()
    hows = []
    for name in names:
        if args.seconds is None:
            if name not in runs:
                sys.exit(f"{name}: not in fuzz/runs.txt")
            hows.append([f"-runs={runs[name]}", f"-seed={args.seed or 1}"])
        else:
            hows.append([f"-max_total_time={args.seconds}",
                         f"-seed={args.seed or 0}"])
    well = True
    # Processes, as each counts the time of its own children.
    with concurrent.futures.ProcessPoolExecutor(
            len(os.sched_getaffinity(0))) as pool:
        for good, said in pool.map(explore_quietly, [args] * len(names), names,
                                   hows):
            print(said, end="", flush=True)
            well = good and well
    sys.exit(not well)


if __name__ == "__main__":
    main()
