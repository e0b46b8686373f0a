# SPDX-License-Identifier: Apache-2.0
"""What breadth_peers.py --one-process does: all runtimes take turns in one
process, as in peer_ops.py, so that PyTorch is loaded once, which takes most of
the time where other programs run. They share their allocator and caches;
--threads 1 counts the CPU time of the process."""
import os
import subprocess
import time

import numpy as np
import torch

import engine_calls
import peer_ops

KINDS = {torch.float32: "", torch.int64: "@i64", torch.int32: "@i32", torch.uint8: "@u8", torch.bool: "@bool"}


def arrays(path, prefix):
    with np.load(path) as found:
        return [found[f"{prefix}_{i}"] for i in range(len(found.files))]


def bessemer(args, entry, inputs, env):
    """The engine, with its inputs bound; the library lies beside the tool."""
    shapes = [f"({','.join(map(str, x.shape))}){KINDS[x.dtype]}" for x in inputs]
    engine = os.path.join(entry, f"in-process-t{args.threads}.bsm")
    subprocess.run([args.bessemer, "compile", os.path.join(entry, "model.ts"), "-o", engine, "--threads",
                    str(args.threads)] + (["--isa", args.isa] if args.isa else []) + shapes,
                   check=True, capture_output=True, text=True, env=env)
    library = os.path.join(os.path.dirname(args.bessemer), "libbessemer-runtime.so")
    return peer_ops.Bound(engine_calls.Engine(engine_calls.Library(library), engine, args.threads),
                          [x.numpy() for x in inputs])


def torchscript(entry, inputs):
    module = torch.jit.load(os.path.join(entry, "model.ts")).eval()
    try:
        module = torch.jit.optimize_for_inference(torch.jit.freeze(module))
        module(*inputs)
    except RuntimeError:
        module = torch.jit.load(os.path.join(entry, "model.ts")).eval()
    return lambda: module(*inputs)


def error_of(got, wanted):
    worst = 0.0
    for want, have in zip(wanted, got):
        have = np.asarray(have)
        if have.shape != want.shape:
            return float("inf")
        if want.size:
            scale = np.abs(want.astype("f8")).max() or 1
            worst = max(worst, float(np.abs(have.astype("f8") - want.astype("f8")).max() / scale))
    return worst


def measure(args, name, entry, env):
    """A record as of peers.measure, of least times alone."""
    inputs = [torch.from_numpy(x) for x in arrays(os.path.join(entry, "in.npz"), "in")]
    own = bessemer(args, entry, inputs, env)
    peers = {"bessemer": {"error": error_of(own.outputs(), arrays(os.path.join(entry, "expected.npz"), "out"))}}
    runs = {"bessemer": own.run}
    model = os.path.join(entry, "model.onnx")
    for peer, make in (("torchscript", lambda: torchscript(entry, inputs)),
                       ("onnxruntime", lambda: peer_ops.onnxruntime_runner(args, model, inputs)),
                       ("openvino", lambda: peer_ops.openvino_runner(args, model, inputs))):
        if peer not in args.peers:
            continue
        try:
            run = make()
            run()
            runs[peer], peers[peer] = run, {}
        except Exception as problem:  # what a runtime does not take, it does not run
            peers[peer] = {"failed": str(problem).strip()[:200]}
    clock = time.process_time_ns if args.threads == 1 else time.perf_counter_ns
    with torch.inference_mode():
        for peer, least in peer_ops.least_times(args, clock, runs, 1e-6).items():
            peers[peer]["min_ms"] = least
    return {"model": name, "threads": args.threads, "peers": peers}
