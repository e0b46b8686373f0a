#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of results on an NVIDIA GPU: the models of models.py in each
precision, beside PyTorch on the same GPU.

  gpu.py WORK [--only a,b] [--batch 1,8] [--precision fp32,tf32,fp16,bf16]

Options: --seconds N (0: no limit)  begin nothing new after so long; what is
                         done is in WORK/rows.json, and the next call goes on
                         from there, with what failed, too
         --rivals eager,graph   how PyTorch runs: also "fold", a graph of the
                         model with its batch norms folded, and "autotune", a
                         graph of torch.compile with max-autotune, which takes
                         minutes: in processes of their own
         --lanes N (6), --autotune-seconds N (240)   how many of these compile
                         beside each other, and how long each may take
         --build DIR (build)    with the bessemer tool and libbessemer.so
         --jobs N               models exported and compiled beside each other
         --timing               let the compiler choose by measurement
         --both                 without, and measure with it, too: "timed", and
                         how many times as long engines take without
         --parts ours           what is done: "exports" of the models alone,
                         "engines", too, for another call; "ours", all that and
                         measuring; "builds": each engine again, alone, with
                         an empty and with a full cache of kernels
         --rows FILE            what is done (WORK/rows.json)
         --markdown FILE        where the table goes (WORK/table.md)
         --table                print the table of WORK, and run nothing

Calls with other CUDA_VISIBLE_DEVICES may share WORK and work beside each other.
Needs PyTorch for CUDA and NVRTC; any model of
torchvision may be named; those that are not there are left out. "--only all" are
those of models.py and more of other kinds, "--only anchors" those of them that
TensorRT or max-autotune were measured on before. The columns:

  error    the largest difference from PyTorch's run in float64. fp32 and tf32:
           of its largest value. fp16 and bf16: of the largest difference of
           PyTorch's own run in that precision
  us       medians of 100 calls by events, while nothing else runs: ours by
           bsm_context_enqueue, inputs and outputs in the memory of the GPU;
           PyTorch's model in the same precision, channels-last where it has
           convolutions
  TensorRT  of other runs on an H200 (gpu_limits.py)
  best     the least time of the others over ours
  limit    what the rates of an H200 leave possible (gpu_limits.py); share: of
           our time
  compile, load   seconds; compile with the kernels that its cache lacks, and
           with what stood still or ran beside it; load up to the end of the
           first run
  cold, warm   seconds of building alone, with an empty cache of kernels and
           with a full one
  MB       memory of the GPU that ours takes, and PyTorch's tensors
"""
import argparse
import concurrent.futures
import contextlib
import datetime
import json
import math
import os
import re
import signal
import subprocess
import sys
import time

import models
from engine_calls import Library
from gpu_alone import (alone, descendants, forget_workers, signal_all,
                       workers_of)
from gpu_build import build, export, measure_builds
from gpu_engine import Engine
from gpu_limits import TENSORRT, limit_us
from gpu_rivals import Rival, folder_of, inputs_of, median_us, tensors_of

HERE = os.path.dirname(os.path.abspath(__file__))
LIMITS = {"fp32": 1e-4, "tf32": 1e-2, "fp16": 1.5, "bf16": 1.5}
MORE = ["densenet121", "convnext_tiny", "swin_t", "ssd300_heads"]
SETS = {"all": models.MODELS + MORE,
        "anchors": [*sorted({*models.MODELS, *MORE} - {
            "alexnet", "squeezenet1_1", "transformer_encoder"})]}


# ------------------------------------------------------------------ measuring
def largest(ours, theirs, relative):
    """The largest difference of all outputs, of the largest value if asked."""
    worst = 0.0
    for a, b in zip(ours, theirs):
        if b.numel() == 0:
            continue
        difference = float((a - b).abs().max())
        scale = float(b.abs().max()) if relative else 1.0
        worst = max(worst, difference / max(scale, 1e-30))
    return worst


def measure_ours(row, path, inputs, stream, library, likes):
    import torch
    outputs = [torch.empty(t.shape, device="cuda", dtype=torch.float32
                           if t.is_floating_point() else t.dtype)
               for t in likes]
    torch.cuda.synchronize()
    free, start = torch.cuda.mem_get_info()[0], time.time()
    engine = Engine(library, path, stream.cuda_stream)
    engine.bind(inputs, outputs)
    engine.enqueue()
    engine.synchronize()
    row["load"] = time.time() - start
    for _ in range(9):
        engine.enqueue()
    engine.synchronize()
    row["us"] = median_us(engine.enqueue, stream)
    engine.synchronize()
    row["mb"] = (free - torch.cuda.mem_get_info()[0]) / 1e6
    ours = [t.double() for t in outputs]
    engine.close()
    return ours


def measure(args, library, name, batch, precision, engines):
    import torch
    row = {"model": name, "batch": batch, "precision": precision,
           "gpu": torch.cuda.get_device_name(0)}
    stream = torch.cuda.Stream()
    inputs = inputs_of(args.work, name, batch)
    timed = dict(row)
    with torch.cuda.stream(stream), torch.no_grad():
        exact = Rival(args.work, name, batch, "fp64", inputs).results()
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        rival = Rival(args.work, name, batch, precision, inputs)
        likes = tensors_of(rival.run())
        row["mb_torch"] = (torch.cuda.max_memory_allocated() - before) / 1e6
        theirs = rival.results()
        with alone(args.work):
            ours = measure_ours(row, engines[0][0], inputs, stream, library,
                                likes)
        if len(engines) > 1:
            with alone(args.work):
                measure_ours(timed, engines[1][0], inputs, stream, library,
                             likes)
            row["timed"], row["compile_timed"] = timed["us"], engines[1][1]
        narrow = precision in ("fp16", "bf16")
        row["error_ours"] = largest(ours, exact, not narrow)
        row["error_torch"] = largest(theirs, exact, not narrow)
        row["error"] = row["error_ours"]
        if narrow:
            row["error"] /= max(row["error_torch"], 1e-30)
        row["good"] = row["error"] <= LIMITS[precision]
        for how in args.rivals:
            if how == "autotune":
                continue
            try:
                row[how] = rival.time(how, stream)
            except Exception as error:  # what PyTorch cannot capture
                row[how + "_failed"] = str(error).splitlines()[0][:160]
    torch.cuda.empty_cache()
    return row


# ------------------------------------------------------------------ the table
def machine():
    import torch
    driver = "unknown"
    if os.path.exists("/proc/driver/nvidia/version"):
        with open("/proc/driver/nvidia/version") as f:
            found = re.search(r"\b(\d+\.\d+(\.\d+)?)\b", f.read())
            driver = found.group(1) if found else driver
    return {"gpu": torch.cuda.get_device_name(0), "driver": driver,
            "torch": torch.__version__, "cuda": torch.version.cuda,
            "date": datetime.date.today().isoformat()}


def number(row, key, form="%.4g"):
    return form % row[key] if row.get(key) is not None else "-"


def complete(args, row):
    """The row with what others took, and what bounds it."""
    row = dict(row)
    folder = folder_of(args.work, row["model"], row["batch"])
    for kind in ("autotune", "builds"):
        path = os.path.join(folder, f"{row['precision']}.{kind}.json")
        if os.path.exists(path):
            with open(path) as f:
                found = json.load(f)
            row["autotune"] = found.get("us", row.get("autotune"))
            row.update((k, v) for k, v in found.items() if k in ("cold",
                                                                 "warm"))
    if row.get("timed") and "us" in row:
        row["longer"] = row["us"] / row["timed"]
    if row["precision"] == "fp16":
        row["TensorRT"] = TENSORRT.get((row["model"], row["batch"]))
    others = [row[r] for r in [*args.rivals, "TensorRT"]
              if row.get(r) is not None]
    if "us" in row and others:
        row["best"] = min(others) / row["us"]
    if "us" in row and row["precision"] in ("fp16", "bf16"):
        row["limit"] = limit_us(args.work, row["model"], row["batch"])
        if row["limit"]:
            row["share"] = row["limit"] / row["us"]
    return row


def means(rows, gpu):
    """A line for each batch: in the mean, how often as fast as the best; and
    where calls ran on another GPU than the first."""
    others = sorted({r["gpu"] for r in rows if r.get("gpu", gpu) != gpu})
    lines = [f"* On one {', '.join(others)}.", ""] if others else []
    for batch in sorted({r["batch"] for r in rows}):
        found = [r["best"] for r in rows if r["batch"] == batch and "best" in r]
        if found:
            mean = math.exp(sum(map(math.log, found)) / len(found))
            lines.append(f"Batch {batch}: of {len(found)} rows {mean:.2f} times "
                         f"as fast as the best other in the geometric mean, "
                         f"{min(found):.2f} at least.")
    return lines


def markdown(args, state):
    m = state["machine"]
    columns = [*args.rivals, "TensorRT"]
    more = [("limit", "limit", "%.3g"), ("share", "share", "%.2f"),
            *([("timed", "timed", "%.4g"), ("us / timed", "longer", "%.2f")]
              if args.both else []),
            ("compile s", "compile", "%.1f"),
            *([("cold s", "cold", "%.1f"), ("warm s", "warm", "%.1f")]
              if "builds" in args.parts else []),
            ("load s", "load", "%.2f"), ("MB", "mb", "%.0f"),
            ("PyTorch MB", "mb_torch", "%.0f")]
    lines = [f"{m['gpu']}, driver {m['driver']}, PyTorch {m['torch']} (CUDA "
             f"{m['cuda']}), {m['date']}", "",
             "| model | batch | precision | error | us | " +
             "".join(f"{c} | " for c in columns) +
             "best | " + "".join(f"{title} | " for title, _, _ in more),
             "|---|---:|---|---:|---:|" +
             "---:|" * (len(columns) + 1 + len(more))]
    rows = [complete(args, row) for row in state["rows"]]
    for row in rows:
        if "failed" in row:
            lines.append(f"| {row['model']} | {row['batch']} | "
                         f"{row['precision']} | {row['failed'][:80]} |")
            continue
        error = number(row, "error", "%.1e" if row["precision"] in
                       ("fp32", "tf32") else "%.2f")
        us = number(row, "us")
        if row.get("best", 0) >= 1:
            us = f"**{us}**"
        mark = "" if row.get("gpu", m["gpu"]) == m["gpu"] else " *"
        lines.append(f"| {row['model']}{mark} | {row['batch']} | "
                     f"{row['precision']} | {error}{'' if row['good'] else ' FAIL'} | {us} | " +
                     "".join(number(row, c) + " | " for c in columns) +
                     number(row, "best", "%.2f") + " | " +
                     "".join(number(row, key, form) + " | "
                             for _, key, form in more))
    lines = [line.rstrip() for line in lines]
    return "\n".join([*lines, "", *means(rows, m["gpu"])]) + "\n"


def save(args, state):
    with open(args.rows + ".new", "w") as f:
        json.dump(state, f, indent=1)
    os.replace(args.rows + ".new", args.rows)
    with open(args.markdown, "w") as f:
        f.write(markdown(args, state))


def load_state(args):
    if os.path.exists(args.rows):
        with open(args.rows) as f:
            return json.load(f)
    return {"machine": machine(), "rows": []}


# ------------------------------------------------------------------ the work
def autotune(args, deadline, name, batch, precision):
    """Has Inductor compile a model and time it; its file says what came of it.
    What is interrupted goes on from Inductor's cache in the next call."""
    path = os.path.join(folder_of(args.work, name, batch),
                        precision + ".autotune.json")
    left = min(args.autotune_seconds, deadline - time.time())
    if os.path.exists(path) or left <= 0 or not export(args, name, batch):
        return
    caches = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(args.work, "inductor"),
              "TORCHINDUCTOR_COMPILE_THREADS": "4", "OMP_NUM_THREADS": "2"}
    process = subprocess.Popen(
        [sys.executable, os.path.join(HERE, "gpu_rivals.py"), args.work, name,
         str(batch), precision, path], env={**os.environ, **caches},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(left)
    except subprocess.TimeoutExpired:
        for each in descendants([process.pid]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        process.wait()
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(workers_of(args.work), str(process.pid)))
        signal_all(args.work, signal.SIGCONT)  # it may have stopped others
    print("autotune:", name, batch, precision, open(path).read()
          if os.path.exists(path) else "not done", flush=True)


def prepare(args, deadline, name, batch, wanted):
    """The engines of a model, or why they are not there: a thread's work."""
    made = []
    needed = {"engines", "ours"} & set(args.parts)
    if not export(args, name, batch):
        return [(name, batch, p, None, "the model is not here") for p in wanted]
    for precision in wanted if needed else []:
        if time.time() > deadline:
            break
        try:
            engines = [build(args, name, batch, precision, timing,
                             args.parts == ["engines"])
                       for timing in ([False, True] if args.both else
                                      [args.timing])]
            made.append((name, batch, precision, engines, None))
        except RuntimeError as error:
            made.append((name, batch, precision, None, str(error)))
    if not needed:
        made = [(name, batch, p, None, None) for p in wanted]
    return made


def measure_all(args, state, library, deadline, made):
    for name, batch, precision, engines, why in made:
        if time.time() > deadline:
            break
        row = {"model": name, "batch": batch, "precision": precision}
        try:
            if why:
                raise RuntimeError(why)
            if "builds" in args.parts:
                print(name, batch, precision, *measure_builds(
                    args, name, batch, precision), flush=True)
            if "ours" not in args.parts:
                continue
            row = measure(args, library, name, batch, precision, engines)
            row["compile"] = engines[0][1]
        except Exception as error:
            row["failed"] = " ".join(str(error).split())[:300]
        print(json.dumps(row), flush=True)
        if "ours" in args.parts:
            state["rows"].append(row)
            save(args, state)


def run_all(args, state):
    deadline = time.time() + args.seconds if args.seconds else float("inf")
    state["rows"] = [r for r in state["rows"] if "failed" not in r]
    measured = state["rows"] if "ours" in args.parts else []
    known = {(r["model"], r["batch"], r["precision"]) for r in measured}
    library = Library(os.path.join(args.build, "libbessemer.so"))
    forget_workers(args.work)
    pool = concurrent.futures.ThreadPoolExecutor(args.jobs)
    lanes = concurrent.futures.ThreadPoolExecutor(args.lanes)
    if "autotune" in args.rivals:
        for batch in args.batch:
            for name in args.only:
                for precision in args.precision:
                    lanes.submit(autotune, args, deadline, name, batch,
                                 precision)
    waiting = []
    for batch in args.batch:
        for name in args.only:
            wanted = [p for p in args.precision
                      if (name, batch, p) not in known]
            if wanted:
                waiting.append(pool.submit(prepare, args, deadline, name, batch,
                                           wanted))
    for done in concurrent.futures.as_completed(waiting):
        try:
            made = done.result()
        except Exception as error:
            print("export failed:", error, flush=True)
            continue
        if {"ours", "builds"} & set(args.parts):
            measure_all(args, state, library, deadline, made)
        if time.time() > deadline:
            break
    pool.shutdown(wait=False, cancel_futures=True)
    lanes.shutdown()
    if "ours" in args.parts:
        save(args, state)


def names(text):
    return text.split(",")


def parser_of(description):
    """What the programs that make such tables are told alike."""
    parser = argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work")
    parser.add_argument("--only", default=models.MODELS, type=lambda text:
                        [model for name in names(text)
                         for model in SETS.get(name, [name])])
    parser.add_argument("--batch", default=[1, 8],
                        type=lambda text: [int(b) for b in names(text)])
    parser.add_argument("--precision", type=names,
                        default=["fp32", "tf32", "fp16", "bf16"])
    parser.add_argument("--rivals", default=["eager", "graph"], type=lambda text:
                        [] if text == "none" else names(text))
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--jobs", type=int,
                        default=max(1, (os.cpu_count() or 1) // 2))
    parser.add_argument("--timing", action="store_true")
    parser.add_argument("--rows")
    parser.add_argument("--markdown")
    parser.add_argument("--table", action="store_true")
    return parser


def parse(parser):
    """The arguments, with whole paths and a folder to work in."""
    args = parser.parse_args()
    args.work = os.path.abspath(args.work)
    args.build = os.path.abspath(args.build)
    args.rows = args.rows or os.path.join(args.work, "rows.json")
    args.markdown = args.markdown or os.path.join(args.work, "table.md")
    os.makedirs(args.work, exist_ok=True)
    return args


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--both", action="store_true")
    parser.add_argument("--parts", type=names, default=["ours"])
    parser.add_argument("--lanes", type=int, default=6)
    parser.add_argument("--autotune-seconds", type=float, default=240)
    args = parse(parser)
    state = load_state(args)
    if not args.table:
        run_all(args, state)
    print(markdown(args, state))
    return sum(not row.get("good", False) for row in state["rows"]) > 0


if __name__ == "__main__":
    sys.exit(main())
