#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the problems of bench_gpu_products in PyTorch, by cuBLAS and cuDNN.

  bench_gpu_products list | gpu_products.py

As there, calls are in a graph, with operands in turns from more memory than the
caches hold; convolutions are channels-last, and cuDNN looks for its fastest
way. A line for each: problem, images, microseconds, TFLOP/s."""
import sys

import torch

ROTATED, SETS = 160 << 20, 16


def make(f):
    """What one call does to set number i, the number of sets, and the work."""
    conv, along_k, images, ih, iw, c, n, kh, kw, stride, pad = map(int, f[:11])
    new = lambda *size: torch.randn(*size, device="cuda").half()
    if conv:
        x = new(images, c, ih, iw).to(memory_format=torch.channels_last)
        w = new(n, c, kh, kw).to(memory_format=torch.channels_last)
        call = lambda x, w: torch.nn.functional.conv2d(x, w, None, stride, pad)
    else:
        x = new(images, ih, c)
        w = new(images, n, c).mT if along_k else new(images, c, n)
        call = torch.matmul
    y = call(x, w)
    sets = min(SETS, ROTATED // (2 * (x.numel() + w.numel() + y.numel())) + 1)
    pairs = [(x.clone(), w.clone()) for _ in range(sets)]
    return lambda i: call(*pairs[i % sets]), 2 * y.numel() * c * kh * kw


def time_call(call, work):
    count = 4 if work > 1e11 else 24
    outputs = []
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for i in range(3):
            call(i)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(count):
            outputs.append(call(i))
    least = 1e30
    for i in range(5):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        if i:
            least = min(least, start.elapsed_time(end))
    return least * 1000 / count


def main():
    torch.backends.cudnn.benchmark = True
    print(torch.cuda.get_device_name(), torch.__version__)
    for line in sys.stdin:
        f = line.split()
        call, work = make(f)
        us = time_call(call, work)
        print("TORCH %-24s b%-2s %9.2f us %6.1f TFLOP/s" % (
            " ".join(f[11:]), f[2], us, work / us / 1e6), flush=True)


if __name__ == "__main__":
    main()
