#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_calls.py [BUILD_DIR]: what a call of an engine costs in Python, beside
what it costs in C (ninja bench_calls). The package has to be installed; with
PyTorch, calls with tensors are measured too."""
import os
import subprocess
import sys
import tempfile
import timeit

import numpy as np

import bessemer

try:
    import torch
except ImportError:
    torch = None

ROUNDS, CALLS = 1000, 200
ENGINES = {
    "one input, one output": (1, b"""graph(%x : Float(1, 4)):
  %y : Float(1, 4) = aten::relu(%x)
  return (%y)
"""),
    "three inputs, two outputs": (3, b"""graph(%x : Float(1, 4), %z : Float(1, 4), %w : Float(1, 4)):
  %y : Float(1, 4) = aten::mul(%x, %z)
  %v : Float(1, 4) = aten::mul(%x, %w)
  %t : (Tensor, Tensor) = prim::TupleConstruct(%y, %v)
  return (%t)
""")}


def least(call):
    """Microseconds of a call: the least of many means, so that the other work of
    the machine is in few of them."""
    return 1e6 * min(timeit.repeat(call, number=CALLS, repeat=ROUNDS)) / CALLS


def in_c(program, engine):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "engine.bsm")
        engine.save(path)
        done = subprocess.run([program, path], check=True, capture_output=True,
                              text=True)
    return float(done.stdout)


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    for name, (count, text) in ENGINES.items():
        engine = bessemer.compile(text, timing=False, threads=1)
        base = in_c(os.path.join(build, "bench_calls"), engine)
        arrays = [np.ones((1, 4), np.float32) for _ in range(count)]
        print(f"{name}: C {base:.2f} us, NumPy "
              f"+{least(lambda: engine(*arrays)) - base:.2f} us", end="")
        if torch is not None:
            tensors = [torch.ones(1, 4) for _ in range(count)]
            print(f", tensors +{least(lambda: engine(*tensors)) - base:.2f} us",
                  end="")
        print()


if __name__ == "__main__":
    main()
