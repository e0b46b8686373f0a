#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""int8 and fp8 on an NVIDIA GPU: models of models.py, calibrated by random data, beside
the same models in other precisions.

  gpu_int8.py WORK [--only a,b] [--batch 1,32] [--precision int8,fp16]
              [--build DIR] [--jobs N] [--timing] [--seconds N]

Prints a table in Markdown: for each model and precision the signal-to-noise
ratio of the outputs against PyTorch's in float64, in dB, and the microseconds of
a call, as gpu.py measures them. Precisions are joined by plus signs: int8+fp16
lets what is not in int8 compute in fp16, as fp8+fp16 does. Weights are random, but norms have seen
data; a model is calibrated by 16 samples of other random data, by the greatest
and least values. Needs PyTorch for CUDA and NVRTC; --seconds begins nothing new
after so long."""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import time

import numpy as np

import gpu
from engine_calls import Library
from gpu_rivals import Rival, folder_of, inputs_of

SAMPLES = 16


def call(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True,
                          text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-300:])
    return done.stdout


def make_data(args, name):
    """Arrays that models are calibrated by."""
    path = os.path.join(folder_of(args.work, name, 1), "data.npz")
    code = ("import sys, numpy as np, torch, models\n"
            "name, count, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]\n"
            "torch.manual_seed(12345)\n"
            "inputs = models.make_inputs(name, count)\n"
            "np.savez(path, **{f'in_{i}': x.numpy() for i, x in "
            "enumerate(inputs)})\n")
    subprocess.run([sys.executable, "-c", code, name, str(SAMPLES), path],
                   check=True, cwd=os.path.dirname(os.path.abspath(__file__)))
    return path


def calibrate(args, name):
    """A calibration that fits the model in any batch."""
    folder = folder_of(args.work, name, 1)
    path = os.path.join(folder, "calib")
    if os.path.exists(path):
        return path
    call(os.path.join(args.build, "bessemer"), "calibrate",
         os.path.join(folder, "model.ts"), "--data", make_data(args, name),
         "--calibrator", "min-max", "--inputs-from",
         os.path.join(folder, "inputs.npz"), "-o", path + ".new")
    with open(path + ".new") as f:
        lines = f.readlines()
    with open(path, "w") as f:
        f.writelines("model 0000000000000000\n" if l.startswith("model ") else l
                     for l in lines)
    return path


def compile_one(args, name, batch, precision):
    folder = folder_of(args.work, name, batch)
    path = os.path.join(folder, precision + ".bsm")
    options = [] if args.timing else ["--no-timing"]
    if "int8" in precision or "fp8" in precision:
        options += ["--calibration", calibrate(args, name)]
    start = time.time()
    call(os.path.join(args.build, "bessemer"), "compile",
         os.path.join(folder, "model.ts"), "--target", "cuda", "--unrecorded",
         "--precision", precision.replace("+", ","), "--inputs-from",
         os.path.join(folder, "inputs.npz"), "-o", path, *options)
    return path, time.time() - start


def sqnr(ours, exact):
    signal = sum(float((e ** 2).sum()) for e in exact)
    noise = sum(float(((e - o) ** 2).sum()) for e, o in zip(exact, ours))
    return 10 * np.log10(signal / max(noise, 1e-300))


def measure(args, library, name, batch, paths):
    import torch
    stream = torch.cuda.Stream()
    inputs = inputs_of(args.work, name, batch)
    rows = []
    with torch.cuda.stream(stream), torch.no_grad():
        exact = Rival(args.work, name, batch, "fp64", inputs).results()
        for precision, (path, seconds) in paths.items():
            row = {"model": name, "batch": batch, "precision": precision,
                   "compile": seconds}
            ours = gpu.measure_ours(row, path, inputs, stream, library, exact)
            row["sqnr"] = sqnr(ours, exact)
            rows.append(row)
    torch.cuda.empty_cache()
    return rows


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("work")
    parser.add_argument("--only", default="resnet18,resnet50,mobilenet_v2,"
                                          "bert_base")
    parser.add_argument("--batch", default="1,32")
    parser.add_argument("--precision", default="int8,int8+fp16,fp16,fp32")
    parser.add_argument("--build", default="build")
    parser.add_argument("--timing", action="store_true")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0)
    args = parser.parse_args()
    args.work = os.path.abspath(args.work)  # models are saved from elsewhere
    args.build = os.path.abspath(args.build)
    os.makedirs(args.work, exist_ok=True)
    names, precisions = args.only.split(","), args.precision.split(",")
    cases = [(n, int(b)) for b in args.batch.split(",") for n in names]
    start = time.time()
    library = Library(os.path.join(args.build, "libbessemer.so"))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(lambda c: gpu.export(args, *c),
                      dict.fromkeys(cases + [(n, 1) for n in names])))
        list(pool.map(lambda n: calibrate(args, n), names))
        jobs = {c: {p: pool.submit(compile_one, args, *c, p)
                    for p in precisions} for c in cases}
        print("| model | batch | precision | SQNR, dB | us | compiled in, s |\n"
              "|---|---:|---|---:|---:|---:|", flush=True)
        for job in [j for all in jobs.values() for j in all.values()]:
            concurrent.futures.wait([job])
        for (name, batch), found in jobs.items():
            if args.seconds and time.time() - start > args.seconds:
                break
            paths = {}
            for precision, job in found.items():
                if job.exception():
                    print(f"{name} {batch} {precision}: {job.exception()}",
                          flush=True)
                else:
                    paths[precision] = job.result()
            for row in measure(args, library, name, batch, paths):
                print(f"| {name} | {batch} | {row['precision']} | "
                      f"{row['sqnr']:.1f} | {row['us']:.1f} | "
                      f"{row['compile']:.1f} |", flush=True)
                with open(os.path.join(args.work, "int8.json"), "a") as f:
                    f.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
