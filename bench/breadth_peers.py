#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bessemer beside other runtimes on models that nobody named: the cases of
breadth.py and some of usual sizes written by hand (peer_nets.py, whole_nets.py).

  breadth_peers.py DIR [PATTERN ...]   group/name as for breadth.py, the group
                                       "peer" or "whole", or "layer": single kinds of
                                       layers, or "conv": convolutions; default:
                                       LIST below

Options: --peers bessemer,torchscript,onnxruntime,openvino   --threads 1
         --rounds 6   --turn-ms 60   --bessemer PATH   --isa NAME   --json FILE
         --cpu-time   (one thread) counts the CPU time of each process, so that
                      others on the machine disturb less; compiles cpu_clock.c
         --one-process  (peers_in_process.py) all in one process: faster

The peers are those of peers.py, in processes of their own and in turns. A line
has the *least* times of all turns, for machines on which other programs run,
and the best other's over Bessemer's; lines end sorted by it. DIR keeps what was
exported: a model as TorchScript and, where PyTorch exports it, as ONNX.
"""
import argparse
import fnmatch
import json
import os
import statistics
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
import numpy as np
import torch

import breadth
import convolution_nets
import layer_nets
import peer_nets
import peers
import peers_in_process
import whole_nets

LIST = ("peer", "vision/densenet121", "vision/googlenet_noaux", "vision/inception_v3", "vision/mnasnet0_5",
        "vision/shufflenet_v2_x0_5", "vision/regnet_y_400mf", "vision/resnext50_32x4d", "vision/convnext_tiny",
        "vision/efficientnet_v2_s", "vision/maxvit_t", "vision/swin_t", "vision/swin_v2_t", "vision/fcn_resnet50",
        "vision/deeplabv3_mobilenet_v3_large", "vision/mobilenet_v3_small", "vision/r3d_18", "vision/s3d",
        "timm/mixer_s32_224", "timm/resmlp_12_224", "timm/ghostnet_050", "timm/mobilenetv4_conv_small",
        "timm/res2net50_26w_4s", "timm/cspdarknet53", "timm/deit_tiny_patch16_224", "timm/pvt_v2_b0",
        "timm/poolformer_s12", "timm/levit_128s", "timm/convmixer_768_32", "timm/mobilevit_xxs",
        "timm/xcit_nano_12_p16_224", "timm/fastvit_t8", "timm/repvgg_a0", "timm/nfnet_l0", "timm/hgnetv2_b0",
        "timm/repvit_m1", "timm/efficientvit_b0", "timm/mambaout_femto", "timm/hrnet_w18_small", "timm/dpn48b",
        "timm/xception41", "timm/visformer_tiny")


def cases(patterns):
    groups = (("peer", peer_nets), ("whole", whole_nets), ("layer", layer_nets), ("conv", convolution_nets))
    own = [breadth.Case(group, *row) for group, nets in groups for row in nets.cases()]
    for case in own + list(breadth.all_cases()):
        full = case.group + "/" + case.name
        if case.hows != ("ir",) and any(case.group == p or fnmatch.fnmatch(full, p) for p in patterns):
            yield case


def export(case, directory):
    """The folder that peers.py expects of a model, made where it is missing."""
    name = f"{case.group}.{case.name}"
    how = "trace" if "trace" in case.hows else "script"
    entry = os.path.join(directory, f"{name}-{how}-b1")
    if os.path.exists(os.path.join(entry, "expected.npz")):
        return name
    os.makedirs(entry, exist_ok=True)
    torch.manual_seed(0)
    module, inputs = case.make()
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    module = module.eval()
    with torch.no_grad():
        breadth.randomize(module)
        exported = breadth.export(module, inputs, how)
        torch.jit.save(exported, os.path.join(entry, "model.ts"))
        np.savez(os.path.join(entry, "in.npz"), **{f"in_{i}": x.numpy() for i, x in enumerate(inputs)})
        results = breadth.flatten(torch.jit.load(os.path.join(entry, "model.ts"))(*inputs))
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            torch.onnx.export(exported if how == "script" else module, inputs, os.path.join(entry, "model.onnx"),
                              opset_version=17, dynamo=False, input_names=[f"in_{i}" for i in range(len(inputs))])
        except Exception as error:  # then the runtimes of ONNX fail by themselves
            print(f"{name}: no ONNX: {str(error).strip().splitlines()[:1]}", file=sys.stderr)
    np.savez(os.path.join(entry, "expected.npz"), **{f"out_{i}": x for i, x in enumerate(results)})
    return name


def line_of(record):
    """Sorted first by the lead: it, and the text."""
    least = {p: r["min_ms"] for p, r in record["peers"].items() if "min_ms" in r}
    own = least.pop("bessemer", None)
    lead = min(least.values()) / own if own and least else float("nan")
    parts = [f"{p} {t:.4g}" for p, t in least.items()]
    error = record["peers"]["bessemer"].get("error", record["peers"]["bessemer"].get("failed", ""))
    return lead, f"{lead:5.2f}  {record['model']:<40} {own or 0:9.4g}  {'  '.join(parts)}  error {error}"


def compile_clock(directory):
    """The library to preload into processes whose CPU time counts."""
    os.makedirs(directory, exist_ok=True)
    library = os.path.join(directory, "cpu_clock.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", os.path.join(peers.HERE, "cpu_clock.c"), "-o", library], check=True)
    return library


def count_cpu_time(args):
    """For all processes that this one starts."""
    if args.threads != 1:
        raise SystemExit("the CPU time of several threads is not the time that they take")
    os.environ["LD_PRELOAD"] = compile_clock(args.dir)


def one_process(args, case):
    env = dict(os.environ)
    if args.threads == 1:  # tactics are timed by the same clock
        env["LD_PRELOAD"] = compile_clock(args.dir)
    name = export(case, args.dir)
    how = "trace" if "trace" in case.hows else "script"
    return peers_in_process.measure(args, name, os.path.join(args.dir, f"{name}-{how}-b1"), env)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--peers", default="bessemer,torchscript,onnxruntime,openvino")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--turn-ms", type=float, default=60)
    parser.add_argument("--bessemer", default=os.path.join(peers.HERE, "..", "build", "bessemer"))
    parser.add_argument("--isa")
    parser.add_argument("--json")
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--one-process", action="store_true")
    args = parser.parse_args()
    args.dir, args.peers = os.path.abspath(args.dir), args.peers.split(",")
    args.bessemer = os.path.abspath(args.bessemer)
    torch.set_num_threads(args.threads if args.one_process else 1)
    if args.cpu_time:
        count_cpu_time(args)
    records = []
    for case in cases(args.patterns or LIST):
        try:
            records.append(one_process(args, case) if args.one_process else
                           peers.measure(args, export(case, args.dir), args.threads))
        except Exception as error:
            print(f"{case.group}/{case.name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            continue
        print(line_of(records[-1])[1], flush=True)
        if args.json:
            with open(args.json, "w") as f:
                json.dump(records, f, indent=1)
    lines = sorted(line_of(r) for r in records)
    print("\n" + "\n".join(text for _, text in lines))
    leads = [lead for lead, _ in lines if lead == lead]
    if leads:
        print(f"{len(leads)} models, geometric mean {statistics.geometric_mean(leads):.3f}, "
              f"below 1: {sum(lead < 1 for lead in leads)}")
    if args.one_process:  # some runtimes do not survive their own destructors
        sys.stdout.flush()
        os._exit(0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
