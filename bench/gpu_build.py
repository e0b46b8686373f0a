# SPDX-License-Identifier: Apache-2.0
"""What gpu.py measures: models of models.py, exported, and their engines."""
import json
import os
import subprocess
import sys
import tempfile
import time

from gpu_alone import alone, by_itself, run_working
from gpu_rivals import folder_of

HERE = os.path.dirname(os.path.abspath(__file__))


EXPORT = """
import os, sys, numpy as np, torch, gpu_limits, models
name, batch, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(2)
model = models.make_model(name)
if model is None: sys.exit(77)
inputs = models.make_inputs(name, batch)
os.makedirs(folder, exist_ok=True)
gpu_limits.save_work(os.path.join(os.path.dirname(folder),
                                  name + ".work.json"),
                     model, models.make_inputs(name, 1))
with torch.no_grad():
    traced = torch.jit.trace(model, inputs, check_trace=False)
traced.save(os.path.join(folder, "model.ts"))
torch.save(model.state_dict(), os.path.join(folder, "weights.pt"))
np.savez(os.path.join(folder, "inputs.new.npz"),
         **{f"in_{i}": x.numpy() for i, x in enumerate(inputs)})
os.replace(os.path.join(folder, "inputs.new.npz"),
           os.path.join(folder, "inputs.npz"))
"""


def export(args, name, batch):
    """The traced model and its inputs; False where the model is not there."""
    folder = folder_of(args.work, name, batch)
    with by_itself(folder + ".lock"):
        if os.path.exists(os.path.join(folder, "inputs.npz")):
            return True
        done = run_working(
            args.work, [sys.executable, "-c", EXPORT, name, str(batch), folder],
            cwd=HERE)
    if done.returncode not in (0, 77):
        raise RuntimeError(done.stderr.strip().splitlines()[-1][:200])
    return done.returncode == 0


def command_of(args, name, batch, precision, path, timing):
    folder = folder_of(args.work, name, batch)
    return [os.path.join(args.build, "bessemer"), "compile",
            os.path.join(folder, "model.ts"), "--target", "cuda",
            "--unrecorded", "--precision", precision, "--inputs-from",
            os.path.join(folder, "inputs.npz"), "-o", path,
            *([] if timing else ["--no-timing"])]


def run_alone(args, command, **options):
    with alone(args.work):
        start = time.time()
        done = subprocess.run(command, capture_output=True, text=True,
                              **options)
        return done, time.time() - start


def build(args, name, batch, precision, timing, only_kernels=False):
    """The engine's file, and the seconds that it took. What times is built
    twice: beside others, for its kernels, and then alone."""
    folder = folder_of(args.work, name, batch)
    path = os.path.join(folder, precision + (".timed.bsm" if timing else
                                             ".bsm"))
    notes = path + ".seconds"
    command = command_of(args, name, batch, precision, path, timing)
    with by_itself(path + ".lock"):
        if os.path.exists(notes):
            with open(notes) as f:
                return path, float(f.read())
        start = time.time()
        if not timing or not os.path.exists(path):
            done = run_working(args.work, command)
        seconds = time.time() - start
        if timing and only_kernels:
            return path, seconds
        if timing:
            done, seconds = run_alone(args, command)
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[:300])
        with open(notes, "w") as f:
            f.write(str(seconds))
    return path, seconds


def measure_builds(args, name, batch, precision):
    """How many seconds it takes to build an engine from an empty cache of
    kernels, and from a full one."""
    folder = folder_of(args.work, name, batch)
    path = os.path.join(folder, precision + ".builds.json")
    if os.path.exists(path):
        with open(path) as f:
            found = json.load(f)
        return found["cold"], found["warm"]
    with tempfile.TemporaryDirectory() as empty:
        command = command_of(args, name, batch, precision,
                             os.path.join(empty, "engine.bsm"), args.timing)
        options = {"env": {**os.environ, "BESSEMER_KERNEL_CACHE":
                           os.path.join(empty, "kernels")}}
        os.mkdir(os.path.join(empty, "kernels"), 0o700)  # or it is not used
        cold, cold_seconds = run_alone(args, command, **options)
        warm, warm_seconds = run_alone(args, command, **options)
    if cold.returncode or warm.returncode:
        raise RuntimeError((cold.stderr + warm.stderr).strip()[:300])
    with open(path + ".new", "w") as f:
        json.dump({"cold": cold_seconds, "warm": warm_seconds}, f)
    os.replace(path + ".new", path)
    return cold_seconds, warm_seconds
