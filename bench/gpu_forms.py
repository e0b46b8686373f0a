#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether models agree with PyTorch on an NVIDIA GPU in all ways of saving them:
the models of models.py in each precision, as scripts, traces and programs of
torch.export, with several draws of inputs. gpu.py measures how fast they are.

  gpu_forms.py WORK [--only a,b] [--batch 1,8] [--precision fp32,tf32,fp16,bf16]

Options: --seconds N (0: no limit)  begin nothing new after so long; what is
                         done is in WORK/rows.json, and the next call goes on
                         from there, with what failed, too
         --how trace     how models are saved: also script, export and dynamic,
                         as in models.py
         --draws 4       inputs that errors are measured with: of ten numbers one
                         draw tells little
         --rivals eager,graph   how PyTorch runs: also "fold", a graph of the
                         model with its batch norms folded, and "autotune", a
                         graph of torch.compile with max-autotune, which takes
                         minutes; "none": only errors are of interest
         --build DIR (build)    with the bessemer tool and libbessemer.so
         --jobs N               models exported and compiled beside each other
         --timing               let the compiler choose by measurement
         --markdown FILE        where the table goes (WORK/table.md)
         --table                print the table of WORK, and run nothing

Needs PyTorch for CUDA and NVRTC; any model of
torchvision may be named; those that are not there are left out. "--only all" are
those of models.py and more of other kinds. The columns:

  error    the largest difference from PyTorch's run in float64, in all draws of
           inputs. fp32 and tf32: of its largest value. fp16 and bf16: of the
           largest difference of PyTorch's own run in that precision
  us       medians of 100 calls by events: ours by bsm_context_enqueue, inputs
           and outputs in the memory of the GPU; PyTorch's model in the same
           precision, channels-last where it has convolutions
  compile, load   seconds; compile with the kernels that its cache lacks
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import time

import models
from engine_calls import Library
from gpu import (LIMITS, largest, load_state, names, number, parse,
                 parser_of)
from gpu_engine import Engine
from gpu_rivals import Rival, folder_of, inputs_of, median_us, tensors_of


# ------------------------------------------------------------------ building
def archive_of(args, name, batch, how):
    """Where the model is, saved in that way."""
    folder = os.path.join(folder_of(args.work, name, batch), how)
    program = os.path.join(folder, "model.pt2")
    return program if how in ("export", "dynamic") else os.path.join(
        folder, "model.ts")


# Saves a model in each way; "failed" of a way says why PyTorch cannot.
EXPORT = """
import sys, os, numpy as np, torch, models
name, batch, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(2)
model = models.make_model(name)
if model is None: sys.exit(77)
torch.manual_seed(batch)
inputs = models.make_inputs(name, batch)
for how in sys.argv[4:]:
    entry = os.path.join(folder, how)
    os.makedirs(entry, exist_ok=True)
    try:
        with torch.no_grad():
            models.save_model(model, how, batch, inputs, entry)
    except Exception as error:
        with open(os.path.join(entry, "failed"), "w") as file:
            file.write(str(error).splitlines()[0][:200])
torch.save(model.state_dict(), os.path.join(folder, "weights.pt"))
np.savez(os.path.join(folder, "inputs.npz"),
         **{f"in_{i}": x.numpy() for i, x in enumerate(inputs)})
"""


def export(args, name, batch):
    """The model in all ways, and its inputs; False where it is not there."""
    folder = folder_of(args.work, name, batch)
    missing = [how for how in args.how
               if not os.path.exists(archive_of(args, name, batch, how))]
    if not missing and os.path.exists(os.path.join(folder, "inputs.npz")):
        return True
    done = subprocess.run([sys.executable, "-c", EXPORT, name, str(batch),
                           folder, *missing],
                          cwd=os.path.dirname(os.path.abspath(__file__)),
                          capture_output=True, text=True)
    if done.returncode not in (0, 77):
        raise RuntimeError(done.stderr.strip().splitlines()[-1][:200])
    return done.returncode == 0


def build(args, name, batch, how, precision):
    """The engine's file, and the seconds that it took."""
    folder = folder_of(args.work, name, batch)
    path = os.path.join(folder, how, precision + ".bsm")
    notes = path + ".seconds"
    if os.path.exists(notes):
        with open(notes) as f:
            return path, float(f.read())
    command = [os.path.join(args.build, "bessemer"), "compile",
               archive_of(args, name, batch, how), "--target", "cuda",
               "--unrecorded", "--precision", precision, "--inputs-from",
               os.path.join(folder, "inputs.npz"), "-o", path]
    if not args.timing:
        command.append("--no-timing")
    start = time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[:300])
    seconds = time.time() - start
    with open(notes, "w") as f:
        f.write(str(seconds))
    return path, seconds


# ------------------------------------------------------------------ measuring
def measure_ours(args, row, path, draws, stream, library, likes):
    """The results of each draw of inputs, as tensors of float64."""
    import torch
    inputs = [x.clone() for x in draws[0]]
    start = time.time()
    engine = Engine(library, path, stream.cuda_stream)
    row["load"] = time.time() - start
    outputs = [torch.empty(t.shape, device="cuda", dtype=torch.float32
                           if t.is_floating_point() else t.dtype)
               for t in likes]
    engine.bind(inputs, outputs)
    for _ in range(5):
        engine.enqueue()
    engine.synchronize()
    if args.rivals:
        row["us"] = median_us(engine.enqueue, stream)
    engine.synchronize()
    results = []
    for draw in draws:
        for to, x in zip(inputs, draw):
            to.copy_(x)
        engine.enqueue()
        engine.synchronize()
        results.append([t.double() for t in outputs])
    engine.close()
    return results


class Rivals:
    """What PyTorch makes of a model and its inputs, which all ways of saving
    it have in common: in float64, and in each precision."""

    def __init__(self, args, name, batch):
        import torch
        self.args, self.name, self.batch = args, name, batch
        self.draws = [inputs_of(args.work, name, batch)]
        for draw in range(1, args.draws):
            torch.manual_seed(1000 * draw + batch)
            self.draws.append([x.cuda()
                               for x in models.make_inputs(name, batch)])
        self.exact = self.results_of(self.make("fp64"))
        self.known = {}

    def make(self, precision):
        return Rival(self.args.work, self.name, self.batch, precision,
                     self.draws[0])

    def results_of(self, rival):
        """Those of each draw."""
        results = []
        for draw in self.draws:
            rival.take(draw)
            results.append(rival.results())
        rival.take(self.draws[0])
        return results

    def of(self, precision, stream):
        """Tensors like the results, the results, and the times."""
        if precision not in self.known:
            rival, times = self.make(precision), {}
            likes, theirs = tensors_of(rival.run()), self.results_of(rival)
            for how in self.args.rivals:
                try:
                    times[how] = rival.time(how, stream)
                except Exception as error:  # PyTorch cannot capture or compile
                    times[how + "_failed"] = str(error).splitlines()[0][:160]
            self.known[precision] = likes, theirs, times
        return self.known[precision]


def measure(args, library, row, rivals, path, stream):
    import torch
    precision = row["precision"]
    with torch.cuda.stream(stream), torch.no_grad():
        likes, theirs, times = rivals.of(precision, stream)
        ours = measure_ours(args, row, path, rivals.draws, stream, library,
                            likes)
        narrow = precision in ("fp16", "bf16")
        for who, results in (("error_ours", ours), ("error_torch", theirs)):
            row[who] = max(largest(*draw, not narrow)
                           for draw in zip(results, rivals.exact))
        row["error"] = row["error_ours"]
        if narrow:
            row["error"] /= max(row["error_torch"], 1e-30)
        row["good"] = row["error"] <= LIMITS[precision]
        row.update(times)


# ------------------------------------------------------------------ the table
def markdown(state, rivals):
    m = state["machine"]
    lines = [f"{m['gpu']}, driver {m['driver']}, PyTorch {m['torch']} (CUDA "
             f"{m['cuda']}), {m['date']}", "",
             "| model | saved by | batch | precision | error | us | " +
             "".join(f"PyTorch {r}, us | " for r in rivals) +
             "compile s | load s |",
             "|---|---|---:|---|---:|---:|" + "---:|" * (len(rivals) + 2)]
    for row in state["rows"]:
        names = (f"| {row['model']} | {row['how']} | {row['batch']} | "
                 f"{row['precision']} | ")
        if "failed" in row or "left_out" in row:
            lines.append(names + row.get("failed", row.get("left_out"))[:80] +
                         " |")
            continue
        error = number(row, "error", "%.1e" if row["precision"] in
                       ("fp32", "tf32") else "%.2f")
        best = min([row[r] for r in rivals if r in row], default=None)
        us = number(row, "us")
        if best is not None and row["us"] <= best:
            us = f"**{us}**"
        lines.append(names +
                     f"{error}{'' if row['good'] else ' FAIL'} | {us} | " +
                     "".join(number(row, r) + " | " for r in rivals) +
                     number(row, "compile", "%.1f") + " | " +
                     number(row, "load", "%.2f") + " |")
    return "\n".join(lines) + "\n"


def save(args, state):
    path = os.path.join(args.work, "rows.json")
    with open(path + ".new", "w") as f:
        json.dump(state, f, indent=1)
    os.replace(path + ".new", path)
    with open(args.markdown, "w") as f:
        f.write(markdown(state, args.rivals))


# ------------------------------------------------------------------ the work
def why_not(args, name, batch, how):
    """Why PyTorch cannot save the model in that way, or None."""
    path = os.path.join(folder_of(args.work, name, batch), how, "failed")
    if not os.path.exists(path):
        return None
    with open(path) as file:
        return "PyTorch cannot: " + file.read()


def prepare(args, deadline, name, batch, wanted):
    """A thread's work: rows of a model, with the file and the seconds of its
    engine, or why there is none."""
    made = []
    there = export(args, name, batch)
    for how, precision in wanted:
        if time.time() > deadline:
            break
        row = {"model": name, "how": how, "batch": batch,
               "precision": precision}
        why = (why_not(args, name, batch, how) if there else
               "the packages installed here do not have it")
        try:
            if why:
                row["left_out"] = why
            else:
                row["path"], row["compile"] = build(args, name, batch, how,
                                                    precision)
        except RuntimeError as error:
            row["failed"] = str(error)
        made.append(row)
    return name, batch, made


def measure_all(args, state, library, deadline, name, batch, made, stream):
    import torch
    rivals = None
    for row in made:
        if time.time() > deadline:
            break
        path = row.pop("path", None)
        try:
            if path:
                if not rivals:
                    with torch.cuda.stream(stream), torch.no_grad():
                        rivals = Rivals(args, name, batch)
                measure(args, library, row, rivals, path, stream)
                os.remove(path)  # all of them would fill the disk
                os.remove(path + ".seconds")
        except Exception as error:
            row["failed"] = " ".join(str(error).split())[:300]
        state["rows"].append(row)
        print(json.dumps(row), flush=True)
        save(args, state)
    del rivals
    torch.cuda.empty_cache()


def run_all(args, state):
    import torch
    deadline = time.time() + args.seconds if args.seconds else float("inf")
    state["rows"] = [r for r in state["rows"] if "failed" not in r]
    known = {(r["model"], r["how"], r["batch"], r["precision"])
             for r in state["rows"]}
    library = Library(os.path.join(args.build, "libbessemer.so"))
    pool = concurrent.futures.ThreadPoolExecutor(args.jobs)
    waiting = []
    for batch in args.batch:
        for name in args.only:
            wanted = [(h, p) for h in args.how for p in args.precision
                      if (name, h, batch, p) not in known]
            if wanted:
                waiting.append(pool.submit(prepare, args, deadline, name, batch,
                                           wanted))
    stream = torch.cuda.Stream()
    for done in concurrent.futures.as_completed(waiting):
        try:
            name, batch, made = done.result()
        except Exception as error:
            print("export failed:", error, flush=True)
            state["rows"].append({"model": "?", "how": "?", "batch": 0,
                                  "precision": "?", "failed": str(error)})
            continue
        measure_all(args, state, library, deadline, name, batch, made, stream)
        if time.time() > deadline:
            break
    pool.shutdown(wait=False, cancel_futures=True)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--how", type=names, default=["trace"])
    parser.add_argument("--draws", type=int, default=4)
    args = parse(parser)
    state = load_state(args)
    if not args.table:
        run_all(args, state)
    print(markdown(state, args.rivals))
    return any(not row.get("good", "left_out" in row) for row in state["rows"])


if __name__ == "__main__":
    sys.exit(main())
