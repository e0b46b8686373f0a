#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How PyTorch runs the models of gpu.py: as they are, in a CUDA graph, with
batch norms folded, and compiled by Inductor with max-autotune.

  gpu_rivals.py WORK MODEL BATCH PRECISION FILE

compiles one model of a folder of gpu.py, times it and writes to FILE what came
of it. Each runs in a process of its own: many compile beside each other.
"""
import json
import os
import sys
import time

import numpy as np

import models
from gpu_alone import alone, working

RUNS = 100


def folder_of(work, name, batch):
    return os.path.join(work, f"{name}-b{batch}")


def inputs_of(work, name, batch):
    import torch
    with np.load(os.path.join(folder_of(work, name, batch),
                              "inputs.npz")) as file:
        return [torch.from_numpy(file[k]).cuda() for k in file.files]


def median_us(call, stream):
    import torch
    times = []
    for _ in range(RUNS):
        first = torch.cuda.Event(enable_timing=True)
        last = torch.cuda.Event(enable_timing=True)
        first.record(stream)
        call()
        last.record(stream)
        last.synchronize()
        times.append(first.elapsed_time(last) * 1e3)
    return sorted(times)[RUNS // 2]


def tensors_of(result):
    """The tensors of a result, in the order of an engine's outputs."""
    import torch
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [t for part in result for t in tensors_of(part)]
    return []


class Rival:
    """PyTorch's model on the GPU in a precision."""

    def __init__(self, work, name, batch, precision, inputs):
        import torch
        dtype = {"fp16": torch.float16, "bf16": torch.bfloat16,
                 "fp64": torch.float64}.get(precision, torch.float32)
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.benchmark = precision != "fp64"
        model = models.make_model(name, conditioned=False)
        model.load_state_dict(torch.load(
            os.path.join(folder_of(work, name, batch), "weights.pt")))
        # The fused encoder layer of PyTorch takes another GELU on GPUs than on
        # CPUs, where these models are traced.
        torch.backends.mha.set_fastpath_enabled(precision != "fp64")
        model = model.cuda().to(dtype)
        for part in model.modules():  # the fused attention, as users take it
            if hasattr(part, "set_attn_implementation"):
                part.set_attn_implementation("sdpa")
        self.work, self.model, self.dtype = work, model, dtype
        self.is_channels_last = False
        self.take(inputs)
        if any(isinstance(m, torch.nn.Conv2d) for m in model.modules()):
            self.try_channels_last()

    def take(self, inputs):
        """Runs on these from now on."""
        import torch
        self.inputs = [x.to(self.dtype) if x.is_floating_point() else x
                       for x in inputs]
        if self.is_channels_last:
            self.inputs = [x.to(memory_format=torch.channels_last)
                           if x.dim() == 4 else x for x in self.inputs]

    def try_channels_last(self):
        """Which some models, with views of their images, cannot have."""
        import torch
        plain = self.inputs
        self.model = self.model.to(memory_format=torch.channels_last)
        self.is_channels_last = True
        self.take(plain)
        try:
            self.run()
        except RuntimeError:
            self.is_channels_last, self.inputs = False, plain
            self.model = self.model.to(memory_format=torch.contiguous_format)

    def run(self):
        return self.model(*self.inputs)

    def results(self):
        for _ in range(3):
            out = tensors_of(self.run())
        return [t.double() for t in out]

    def time(self, how, stream):
        """Microseconds of one call: eager, or of a graph of it."""
        import torch
        if how == "fold":
            from torch.fx.experimental.optimization import fuse
            self.model = fuse(self.model)
        if how == "autotune":
            self.model = torch.compile(self.model,
                                       mode="max-autotune-no-cudagraphs")
        for _ in range(5):
            self.run()
        stream.synchronize()
        if how == "eager":
            with alone(self.work):
                return median_us(self.run, stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            kept = self.run()
        with alone(self.work):
            for _ in range(10):
                graph.replay()
            us = median_us(graph.replay, stream)
        del kept
        return us


def main():
    import torch
    work, name, batch, precision, path = sys.argv[1:]
    found = {}
    start = time.time()
    try:
        stream = torch.cuda.Stream()
        with working(work), torch.cuda.stream(stream), torch.no_grad():
            found["gpu"] = torch.cuda.get_device_name(0)
            inputs = inputs_of(work, name, int(batch))
            rival = Rival(work, name, int(batch), precision, inputs)
            found["us"] = rival.time("autotune", stream)
    except Exception as error:  # what PyTorch cannot compile or capture
        found["failed"] = " ".join(str(error).split())[:200]
    found["seconds"] = time.time() - start
    with open(path + ".new", "w") as f:
        json.dump(found, f)
    os.replace(path + ".new", path)


if __name__ == "__main__":
    main()
