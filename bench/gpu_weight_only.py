#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weights of 8 and 4 bits on an NVIDIA GPU: gpt2 with random weights.

  gpu_weight_only.py WORK [--tokens 1,8] [--forms fp16,int8+fp16] [--layers N]
                     [--build DIR] [--timing]

A form is a precision, or weights and a precision: int4:128+fp16 is
--weight-only int4:128 --precision fp16. Prints a table in Markdown: microseconds
of a call as gpu.py measures them, the signal-to-noise ratio of the logits against
PyTorch's in float64, and the size of the engine's file. Needs PyTorch for CUDA,
transformers and NVRTC."""
import argparse
import concurrent.futures
import os
import subprocess

import numpy as np

import gpu
from engine_calls import Library
from gpu_int8 import sqnr

FORMS = "fp32,int8+fp32,fp16,int8+fp16,int4+fp16,int4:128+fp16"


def export(args, tokens):
    """The traced model, inputs, and PyTorch's logits in float64."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    class Logits(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, ids):
            return self.model(input_ids=ids, use_cache=False,
                              return_dict=False)[0]

    torch.manual_seed(0)
    model = Logits(GPT2LMHeadModel(GPT2Config(
        attn_implementation="eager", n_layer=args.layers))).eval()
    ids = torch.randint(0, 50257, (1, tokens))
    path = os.path.join(args.work, f"gpt2-{tokens}")
    with torch.no_grad():
        torch.jit.trace(model, (ids,), strict=False).save(path + ".ts")
        exact = model.double().cuda()(ids.cuda())
    np.savez(path + ".npz", in_0=ids.numpy())
    return path, [ids.cuda()], [exact]


def compile_one(args, path, form):
    weights, _, precision = form.rpartition("+")
    options = [] if args.timing else ["--no-timing"]
    if weights:
        options += ["--weight-only", weights]
    out = f"{path}-{form.replace(':', '_')}.bsm"
    done = subprocess.run(
        [os.path.join(args.build, "bessemer"), "compile", path + ".ts",
         "--target", "cuda", "--unrecorded", "--precision", precision,
         "--inputs-from", path + ".npz", "-o", out, *options],
        capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-300:])
    return out


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("work")
    parser.add_argument("--tokens", default="1,8")
    parser.add_argument("--forms", default=FORMS)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--build", default="build")
    parser.add_argument("--timing", action="store_true")
    args = parser.parse_args()
    args.work, args.build = map(os.path.abspath, (args.work, args.build))
    os.makedirs(args.work, exist_ok=True)
    import torch
    library = Library(os.path.join(args.build, "libbessemer.so"))
    stream = torch.cuda.Stream()
    print("| tokens | form | us | SQNR, dB | MB |\n|---:|---|---:|---:|---:|",
          flush=True)
    for tokens in map(int, args.tokens.split(",")):
        path, inputs, exact = export(args, tokens)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            jobs = {f: pool.submit(compile_one, args, path, f)
                    for f in args.forms.split(",")}
        for form, job in jobs.items():
            try:
                row = {}
                with torch.cuda.stream(stream), torch.no_grad():
                    ours = gpu.measure_ours(row, job.result(), inputs, stream,
                                            library, exact)
                print(f"| {tokens} | {form} | {row['us']:.1f} | "
                      f"{sqnr(ours, exact):.1f} | "
                      f"{os.path.getsize(job.result()) / 1e6:.0f} |", flush=True)
            except RuntimeError as error:
                print(f"{tokens} {form}: {error}", flush=True)


if __name__ == "__main__":
    main()
