#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single operators that models use, beside other runtimes, in one process.

  peer_ops.py DIR [PATTERN ...] [--threads 1] [--rounds 9] [--turn-ms 15]
              [--isa NAME] [--peers torchscript,onnxruntime,openvino]
              [--build DIR]

Each case is a small module, traced; DIR keeps its archive and its engine. The
runtimes take turns; a line has the least time of all runs of each, and the best
other's over Bessemer's, and the error over the largest output. With one thread
the thread's CPU time counts, else time that passes. A case whose answer is not
PyTorch's is marked. breadth_peers.py does the same for models, with a process
for each runtime.
"""
import argparse
import ctypes
import fnmatch
import os
import statistics
import subprocess
import sys
import time
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import torch

import engine_calls
import peer_op_cases

HERE = os.path.dirname(os.path.abspath(__file__))


class Net(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        if isinstance(function, torch.nn.Module):
            self.inner = function

    def forward(self, *args):
        return self.function(*args)


def flatten(value):
    return [value] if isinstance(value, torch.Tensor) else [t for v in value for t in flatten(v)]


def bessemer_runner(args, stem, inputs):
    engine = stem + ".bsm"
    tool = os.path.join(args.build, "bessemer")
    subprocess.run([tool, "compile", stem + ".ts", "-o", engine, "--threads", str(args.threads)]
                   + (["--isa", args.isa] if args.isa else []) + args.shapes, check=True, capture_output=True, text=True)
    library = engine_calls.Library(os.path.join(args.build, "libbessemer-runtime.so"))
    return Bound(engine_calls.Engine(library, engine, args.threads), inputs)


class Bound:
    """An engine with arrays that are given once, so that a run is one call."""
    def __init__(self, engine, inputs):
        self.engine, self.inputs = engine, [np.ascontiguousarray(x) for x in inputs]
        self.arrays = (engine_calls.Array * max(len(inputs), 1))(*map(engine_calls.array_of, self.inputs))
        self.count = ctypes.c_size_t(len(inputs))

    def run(self):
        self.engine.library.check(self.engine.c.bsm_context_run_keep(self.engine.context, self.arrays, self.count))

    def outputs(self):
        return self.engine.run(self.inputs)


def onnx_file(net, inputs, stem):
    path = stem + ".onnx"
    if not os.path.exists(path):
        torch.onnx.export(net, inputs, path, opset_version=20, dynamo=False,
                          input_names=[f"in_{i}" for i in range(len(inputs))])
    return path


def onnxruntime_runner(args, path, inputs):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.force_spinning_stop", "1")
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for i, port in enumerate(session.get_inputs()):
        binding.bind_cpu_input(port.name, inputs[i].numpy())
    for o in session.get_outputs():
        binding.bind_output(o.name, "cpu")
    return lambda: session.run_with_iobinding(binding)


def openvino_runner(args, path, inputs):
    import openvino
    core = openvino.Core()
    model = core.compile_model(core.read_model(path), "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": args.threads, "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False})
    request = model.create_infer_request()
    keep = [openvino.Tensor(x.numpy(), shared_memory=True) for x in inputs]
    for i, x in enumerate(keep):
        request.set_input_tensor(i, x)
    return lambda keep=keep: request.infer()


def runners(args, name, net, inputs):
    """By name, in the order of turns, and the error of Bessemer's."""
    stem = os.path.join(args.dir, name)
    traced = torch.jit.trace(net, inputs, check_trace=False)
    torch.jit.save(traced, stem + ".ts")
    kinds = {torch.float32: "", torch.int64: "@i64", torch.int32: "@i32", torch.uint8: "@u8", torch.bool: "@bool"}
    args.shapes = [f"({','.join(map(str, x.shape))}){kinds[x.dtype]}" for x in inputs]
    expected = flatten(traced(*inputs))
    engine = bessemer_runner(args, stem, [x.numpy() for x in inputs])
    got, error = engine.outputs(), 0.0
    for want, have in zip(expected, got):
        have, want = np.asarray(have).reshape(want.shape), want.numpy()
        if want.size and want.dtype.kind == "f":
            error = max(error, float(np.nanmax(np.abs(have - want)) / (np.nanmax(np.abs(want)) or 1)))
        elif not np.array_equal(have, want):
            error = float("inf")
    out = {"bessemer": engine.run}
    if "torchscript" in args.peers:
        try:
            frozen = torch.jit.optimize_for_inference(torch.jit.freeze(traced.eval()))
            frozen(*inputs)
        except RuntimeError:
            frozen = traced
        out["torchscript"] = lambda: frozen(*inputs)
    for peer, make in (("onnxruntime", onnxruntime_runner), ("openvino", openvino_runner)):
        if peer not in args.peers:
            continue
        try:
            run = make(args, onnx_file(net, inputs, stem), inputs)
            run()
            out[peer] = run
        except Exception as problem:
            if args.verbose:
                print(f"{name}: {peer}: {str(problem).strip().splitlines()[:1]}", file=sys.stderr)
    return out, error


def least_times(args, clock, run_of, unit):
    """By name the least time of a call in `rounds` turns of `turn_ms`: its
    nanoseconds times `unit`."""
    least = {}
    for peer, run in list(run_of.items()) * args.rounds:
        run()
        end = time.perf_counter_ns() + args.turn_ms * 1e6
        while True:
            start = clock()
            run()
            spent = clock() - start
            if spent > 0:  # the clock of a virtual machine may stand still
                least[peer] = min(least.get(peer, spent), spent)
            if time.perf_counter_ns() >= end:
                break
    return {peer: spent * unit for peer, spent in least.items()}


def measure(args, run_of):
    for run in run_of.values():
        for _ in range(3):
            run()
    return least_times(args, time.thread_time_ns if args.threads == 1 else time.perf_counter_ns, run_of, 1e-3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--turn-ms", type=float, default=15)
    parser.add_argument("--isa")
    parser.add_argument("--peers", default="torchscript,onnxruntime,openvino")
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    args.peers = args.peers.split(",")
    os.makedirs(args.dir, exist_ok=True)
    torch.set_num_threads(args.threads)
    lines = []
    for name, make in peer_op_cases.CASES.items():
        if args.patterns and not any(fnmatch.fnmatch(name, p) for p in args.patterns):
            continue
        torch.manual_seed(0)
        try:
            with torch.inference_mode():
                function, inputs = make()
                run_of, error = runners(args, name, Net(function).eval(), inputs)
                least = measure(args, run_of)
        except subprocess.CalledProcessError as problem:
            print(f"{name}: {problem.stderr.strip()[-300:]}", file=sys.stderr)
            continue
        except Exception as problem:
            print(f"{name}: {type(problem).__name__}: {str(problem)[:300]}", file=sys.stderr)
            continue
        own = least.pop("bessemer")
        lead = min(least.values()) / own
        text = "  ".join(f"{p} {t:.5g}" for p, t in least.items())
        mark = "" if error <= 1e-4 else "  WRONG"
        lines.append((lead, f"{lead:5.2f}  {name:<28} {own:9.5g} us  {text}  error {error:.1e}{mark}"))
        print(lines[-1][1], flush=True)
    lines.sort()
    print("\n" + "\n".join(text for _, text in lines))
    if lines:
        print(f"{len(lines)} cases, geometric mean {statistics.geometric_mean(l for l, _ in lines):.3f}, "
              f"below 1: {sum(l < 1 for l, _ in lines)}")
    sys.stdout.flush()
    os._exit(0)  # some runtimes do not survive their own destructors


if __name__ == "__main__":
    main()
