#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the command with one failing call at a time: allocations, calls on files,
a full disk, short reads and writes, interrupted calls.

  faults_test.py BESSEMER FAULT_LIBRARY DATA [--sample N] [--seed N] [--jobs N]

For each command and kind of fault: every call in turn, or with --sample about N
of them, which depend on the seed (the day, when it is not given). Each run has
to end by itself, within its time; to fail with a message, or to do its work: the
output is then that of a run without faults, and else what was there before. No
temporary file is left, and no memory but what the same command without a fault
leaves. What is cut short or interrupted has to succeed."""
import argparse
import concurrent.futures
import datetime
import os
import random
import shutil
import subprocess
import sys
import tempfile

KINDS = ["alloc", "io", "full", "short", "eintr"]
HARMLESS = ("short", "eintr")
OLD = b"what was there before"


RANGE = "[(1,4,13);(2,4,13);(4,4,13)]"
# What the folder of a run holds: copies of files of the test data, and engines.
FILES = {"m.ts": "models/dense-script.ts", "m.pt2": "models/dense-exported.pt2",
         "in.npz": "models/dense.npz", "c.ts": "results/results.ts",
         "c.npz": "models/mixed.npz"}
FIXED = ["--inputs-from", "in.npz"]
DETECTIONS = ["--method=detections", "--inputs-from", "c.npz"]  # on data
ENGINES = {"e.bsm": ["m.ts", *FIXED], "r.bsm": ["m.ts", RANGE],
           "c.bsm": ["c.ts", *DETECTIONS]}
QUICK = ["--no-timing", "-t", "1"]


def commands():
    """Name, arguments, the file that is written."""
    def compiles(*arguments):
        return ["compile", *arguments, *QUICK, "-o", "out.bsm"], "out.bsm"

    def runs(file, inputs="in.npz"):
        return ["run", file, "--input", inputs, "-t", "1", "-o",
                "out.npz"], "out.npz"

    return [
        ("compile", *compiles("m.ts", *FIXED)),
        ("compile an export", *compiles("m.pt2", *FIXED)),
        ("compile ranges", *compiles("m.ts", RANGE)),
        ("compile control flow", *compiles("c.ts", *DETECTIONS)),
        ("run", *runs("e.bsm")),
        ("run ranges", *runs("r.bsm")),
        ("run control flow", *runs("c.bsm", "c.npz")),
        ("run a model", *runs("m.ts")),
        ("inspect", ["inspect", "--plan", "e.bsm"], None),
        ("inspect a model", ["inspect", "m.ts"], None),
        ("ops", ["ops", "m.ts", *FIXED, "--no-timing"], None),
    ]


class Runner:
    def __init__(self, args, scratch):
        self.args, self.scratch = args, scratch
        self.problems, self.runs = [], 0

    def folder(self, name):
        path = os.path.join(self.scratch, name)
        os.makedirs(path)
        for file in os.listdir(self.base):
            os.link(os.path.join(self.base, file), os.path.join(path, file))
        return path

    def prepare(self):
        """The files that commands read, and engines."""
        self.base = os.path.join(self.scratch, "base")
        os.makedirs(self.base)
        for name, source in FILES.items():
            shutil.copy(os.path.join(self.args.data, source),
                        os.path.join(self.base, name))
        for engine, arguments in ENGINES.items():
            subprocess.run([self.args.bessemer, "compile", *arguments, "-o",
                            engine, *QUICK], cwd=self.base, check=True,
                           stdout=subprocess.DEVNULL)

    def run(self, arguments, output, kind, at, more=False):
        """How a run with a fault ended: (exit status, error output, output,
        other files, calls, memory left)."""
        self.runs += 1
        folder = self.folder(f"run{self.runs}-{kind}-{at}-{random.random()}")
        counts = folder + ".count"
        env = dict(os.environ, LD_PRELOAD=self.args.library, FAULT_KIND=kind,
                   FAULT_AT=str(at), FAULT_COUNT=counts, HOME=folder,
                   BESSEMER_BUILT_ENGINES="")
        if more:
            env["FAULT_MORE"] = "1"
        if output:
            with open(os.path.join(folder, output), "wb") as file:
                file.write(OLD)
        before = set(os.listdir(folder))
        try:
            done = subprocess.run([self.args.bessemer, *arguments], cwd=folder,
                                  env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=60)
            code, error = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            code, error = "no end within 60 s", b""
        written = done.stdout if not output else b""
        if output:
            with open(os.path.join(folder, output), "rb") as file:
                written = file.read()
        extra = set(os.listdir(folder)) - before
        calls = left = None
        if os.path.exists(counts):
            with open(counts) as file:
                calls, left = map(int, file.read().split())
            os.unlink(counts)
        shutil.rmtree(folder)
        return code, error, written, extra, calls, left

    def check(self, name, arguments, output, kind, at, plain, more):
        code, error, written, extra, _, left = self.run(arguments, output, kind,
                                                        at, more)
        wrong = None
        if code not in (0, 1):
            wrong = f"exit status {code}"
        elif extra:
            wrong = f"left {', '.join(sorted(extra))}"
        elif left is not None and left > plain["left"]:
            wrong = f"{left - plain['left']} pieces of memory are left"
        elif code == 1 and not error.strip():
            wrong = "failed without a message"
        elif code == 1 and kind in HARMLESS:
            wrong = "failed"
        elif code == 0 and written != plain["written"]:
            wrong = "succeeded with another output"
        elif (code == 1 and output and written != OLD and
              not (written == plain["written"] and b"which is there" in error)):
            wrong = "failed, and the old output is gone"
        if wrong:
            self.problems.append(
                f"{name}, {kind} {at}{' and on' if more else ''}: {wrong}: "
                f"{error.decode(errors='replace').strip()[:300]}")

    def sweep(self, pool, name, arguments, output, kind):
        plain = dict(zip(("code", "error", "written", "extra", "calls", "left"),
                         self.run(arguments, output, kind, 0)))
        if plain["code"] != 0 or plain["extra"] or plain["calls"] is None:
            self.problems.append(f"{name}: fails without a fault: {plain}")
            return 0
        calls = range(1, plain["calls"] + 1)
        sample = self.args.sample
        if sample and len(calls) > sample:
            # The last calls are those after the output has been written.
            calls = sorted(set(random.sample(calls, sample)) | set(calls[-3:]))
        waiting = [pool.submit(self.check, name, arguments, output, kind, at,
                               plain, more)
                   for at in calls
                   for more in ([False] if kind in HARMLESS else [False, True])]
        for done in waiting:
            done.result()
        return len(waiting)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("bessemer", "library", "data"):
        parser.add_argument(name, type=os.path.abspath)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int,
                        default=datetime.date.today().toordinal())
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    random.seed(args.seed)
    total = 0
    with tempfile.TemporaryDirectory() as scratch:
        runner = Runner(args, scratch)
        runner.prepare()
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for name, arguments, output in commands():
                count = sum(runner.sweep(pool, name, arguments, output, kind)
                            for kind in KINDS)
                print(f"{name}: {count} faults", flush=True)
                total += count
    for problem in runner.problems[:40]:
        print("FAILED:", problem)
    print(f"{total} faults, seed {args.seed}: {len(runner.problems)} problems")
    return 1 if runner.problems or not total else 0


if __name__ == "__main__":
    sys.exit(main())
