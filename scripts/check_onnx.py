#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what `bessemer export` writes in ONNX Runtime, and compares it with what
PyTorch has computed.

check_onnx.py BESSEMER [--install FOLDER]

Needs numpy, onnx and onnxruntime; --install puts them, from PyPI, into a virtual
environment in FOLDER, and uses that. Models that ONNX cannot express have to be
refused, for the reason that is listed here.
"""
import argparse
import glob
import os
import subprocess
import sys
import tempfile

SOURCES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.path.join(SOURCES, "tests", "data")
LIMIT = 1e-4
# What is refused, and a part of the message.
REFUSED = {
    "float8": "a cast to a dtype that ONNX lacks",
    "integer_net": "convolutions of integers",
    "operators": "aten::digamma",
    "quantized": "",
    "spectral": "aten::stft",
    "tagger": "a projection",
}
# ONNX Runtime has no kernels for these dtypes on the CPU: only checked.
NOT_RUN = {"bfloat_mlp", "double_net"}
# Rounded differently after each operator.
HALF = {"half_block": 2e-3}


def install(folder):
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        subprocess.check_call([sys.executable, "-m", "venv", folder])
    subprocess.check_call([python, "-m", "pip", "install", "--quiet",
                           "--disable-pip-version-check", "numpy", "onnx",
                           "onnxruntime"])
    return python


def export(bessemer, model, arrays, output):
    return subprocess.run([bessemer, "export", model, "-o", output,
                           "--inputs-from", arrays],
                          capture_output=True, text=True)


def run(path, arrays):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        path, options, providers=["CPUExecutionProvider"])
    feeds = {}
    for k, value in enumerate(session.get_inputs()):
        feeds[value.name] = arrays[f"in_{k}"]
    return session.run(None, feeds)


def error(made, expected):
    import numpy as np

    if made.shape != expected.shape or made.dtype != expected.dtype:
        return float("inf")
    if expected.dtype.kind in "biu":
        return float((made != expected).any())
    if not expected.size:
        return 0.0
    made, expected = made.astype(np.float64), expected.astype(np.float64)
    return float(np.abs(made - expected).max() /
                 max(1e-30, np.abs(expected).max()))


def check(bessemer, model, folder):
    """None, or what is wrong."""
    import numpy as np
    import onnx

    name = os.path.basename(model).split("-")[0].split(".")[0]
    arrays = os.path.join(os.path.dirname(model), name + ".npz")
    output = os.path.join(folder, "model.onnx")
    result = export(bessemer, model, arrays, output)
    if name in REFUSED:
        good = result.returncode == 1 and REFUSED[name] in result.stderr
        return None if good else "it was not refused as expected: " + \
            result.stderr
    if result.returncode:
        return result.stderr
    onnx.checker.check_model(output, full_check=True)
    if name in NOT_RUN:
        return None
    arrays = np.load(arrays)
    for k, made in enumerate(run(output, arrays)):
        found = error(made, arrays[f"out_{k}"])
        if not found <= HALF.get(name, LIMIT):
            return f"output {k}: error {found}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bessemer")
    parser.add_argument("--install")
    options = parser.parse_args()
    if options.install:
        python = install(options.install)
        return subprocess.call([python, os.path.abspath(__file__),
                                options.bessemer])
    models = sorted(glob.glob(os.path.join(DATA, "onnx", "*.ts")))
    for ending in ("trace.ts", "script.ts", "exported.pt2"):
        models += sorted(glob.glob(os.path.join(DATA, "models", "*-" + ending)))
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            try:
                wrong = check(options.bessemer, model, folder)
            except Exception as e:  # of ONNX, ONNX Runtime
                wrong = str(e)
            if wrong:
                failures += 1
                print(f"{os.path.basename(model)}: {wrong}")
    print(f"check_onnx: {len(models)} models, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
