#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bessemer beside other runtimes on many models, several models at a time, each
on CPUs of its own: for machines with more CPUs than two.

  peers_beside.py DIR [NAME ...]   names of bench/models.py (resnet50:8) or
                                   groups/names of breadth_peers.py; default: all
  peers_beside.py --report FILE    prints the table of saved results

Options: --streams "8,9;10,11"   the CPUs of each stream; as many as --threads
         --threads 1,2   --rounds 5   --turn-ms 45   --limit SECONDS
         --peers bessemer,onnxruntime,openvino   --bessemer PATH   --isa NAME
         --json FILE   --cpu-time (of one thread; see breadth_peers.py)

The models are exported first, by one process on each CPU. What is printed is
the median of the runs of all rounds and, since other programs on the machine
slow down whoever has its turn, the median over the rounds of the best other's
time over ours in the same round. Each round begins with another runtime.
"""
import argparse
import json
import multiprocessing
import os
import queue
import statistics
import sys
import time

import breadth_peers
import peer_workers
import peers

TRANSFORMERS = {"bert_base", "gpt2", "vit_b_16", "transformer_encoder", "swin_t", "swin_v2_t", "maxvit_t",
                "deit_tiny_patch16_224", "pvt_v2_b0", "levit_128s", "xcit_nano_12_p16_224", "visformer_tiny",
                "RelativeAttention", "GatedFeedForward"}
OTHERS = {"mlp", "lstm", "GruSpeech", "MixerMlp", "mixer_s32_224", "resmlp_12_224", "GraphConvolution", "GraphAttention",
          "StateSpaceScan"}


def kind_of(name):
    name = name.rpartition("/")[2]
    return "transformers" if name in TRANSFORMERS else "others" if name in OTHERS else "convolutional"


def all_names():
    return [f"{c.group}/{c.name}" for c in breadth_peers.cases(breadth_peers.LIST)] + \
        peers.MODELS.split(",") + ["squeezenet1_1", "transformer_encoder"]


def export(name, directory):
    """The name of the model's folder, as peers.py knows it."""
    if "/" in name:
        return breadth_peers.export(next(breadth_peers.cases((name,))), directory)
    base, _, batch = name.partition(":")
    entry = peers.entry_of(argparse.Namespace(dir=directory), name)
    try:
        peer_workers.export_onnx(entry)
    except Exception as error:  # then the runtimes of ONNX fail by themselves
        print(f"{base}: no ONNX: {str(error).strip().splitlines()[:1]}", file=sys.stderr)
    return name


def export_all(cpu, todo, done, directory):
    os.sched_setaffinity(0, {cpu})
    while True:
        try:
            name = todo.get(timeout=0.2)
        except queue.Empty:
            return
        try:
            done.put((name, export(name, directory)))
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            done.put((name, None))


def measure(args, model, threads):
    """peers.measure, with the median of each round."""
    record = {"model": model, "threads": threads, "peers": {}}
    entry = peers.entry_of(args, model)
    names = [p for p in args.peers if p == "bessemer" or os.path.exists(os.path.join(entry, "model.onnx"))]
    live, runs, rounds = {}, {}, {}
    for peer in names if len(names) > 1 else names + ["torchscript"]:
        live[peer] = (peers.Bessemer if peer == "bessemer" else peers.Peer)(args, peer, entry, threads)
        record["peers"][peer] = {}
        for what in (live[peer].prepare, live[peer].load):
            if peer in live:
                peers.attempt(live, record, peer, what)
        if peer in live:
            first = peers.attempt(live, record, peer, lambda: min(live[peer].turn(3)))
        if peer in live:
            runs[peer], rounds[peer] = max(2, min(2000, int(args.turn_ms / max(first, 1e-3)))), []
    for k in range(args.rounds):
        order = list(live)
        for peer in order[k % len(order):] + order[:k % len(order)]:
            times = peers.attempt(live, record, peer, lambda: live[peer].turn(runs[peer]))
            if times:
                rounds[peer].append(statistics.median(times))
    for peer in list(live):
        end = peers.attempt(live, record, peer, live[peer].end)
        if end:
            record["peers"][peer].update(error=end[1], rounds_ms=rounds[peer], median_ms=statistics.median(rounds[peer]))
            live[peer].kill()
    return record


def measure_all(cpus, todo, done, args):
    os.sched_setaffinity(0, set(cpus))
    while time.monotonic() < args.end:
        try:
            name, model, threads = todo.get(timeout=0.2)
        except queue.Empty:
            return
        os.environ.pop("LD_PRELOAD", None)
        if args.clock and threads == 1:
            os.environ["LD_PRELOAD"] = args.clock
        try:
            record = measure(args, model, threads)
        except Exception as error:
            print(f"{name}, {threads} thread(s): {str(error)[:200]}", file=sys.stderr)
            continue
        record["name"] = name
        done.put(record)


def lead(record):
    rounds = {p: r["rounds_ms"] for p, r in record["peers"].items() if "rounds_ms" in r}
    own = rounds.pop("bessemer", None)
    if not own or not rounds:
        return None
    return statistics.median(min(rounds[p][k] for p in rounds) / own[k] for k in range(len(own)))


def report(records):
    """A row for each model, its threads side by side, and the means."""
    counts = sorted({r["threads"] for r in records})
    by_name = {}
    for r in records:
        by_name.setdefault(r["name"], {})[r["threads"]] = r
    columns = ["bessemer", "onnxruntime", "openvino"]
    lines = ["| model | " + " | ".join([f"{peers.TITLES[p]}, {t}" for t in counts for p in columns] +
                                       [f"lead, {t}" for t in counts]) + " |",
             "|---|" + "---:|" * (len(counts) * 4)]
    for name, found in sorted(by_name.items(), key=lambda item: lead(item[1].get(counts[0], {"peers": {}})) or 0):
        cells = [peers.milliseconds(found[t]["peers"].get(p, {})) if t in found and p in found[t]["peers"] else "-"
                 for t in counts for p in columns]
        cells += [f"{lead(found[t]):.2f}" if t in found and lead(found[t]) else "-" for t in counts]
        lines.append(f"| {name.rpartition('/')[2]} | " + " | ".join(cells) + " |")
    for t in counts:
        for kind in ("all", "convolutional", "transformers", "others"):
            leads = [lead(r) for r in records if r["threads"] == t and lead(r) and kind in ("all", kind_of(r["name"]))]
            if leads:
                lines.append(f"\n{t} thread(s), {kind}: {len(leads)} models, geometric mean "
                             f"{statistics.geometric_mean(leads):.2f}, below 1: {sum(x < 1 for x in leads)}")
    return "\n".join(lines)


def gather(processes, done):
    """What arrives until all processes have ended."""
    while any(p.is_alive() for p in processes) or not done.empty():
        try:
            yield done.get(timeout=0.2)
        except queue.Empty:
            pass


def run(args):
    context = multiprocessing.get_context("fork")
    streams = [[int(c) for c in s.split(",")] for s in args.streams.split(";")]
    names = args.names or all_names()
    todo, done = context.Queue(), context.Queue()
    for name in names:
        todo.put(name)
    exporters = [context.Process(target=export_all, args=(c, todo, done, args.dir)) for s in streams for c in s]
    for p in exporters:
        p.start()
    folders = dict(gather(exporters, done))
    todo, records = context.Queue(), []
    for threads in args.threads:
        for name in names:
            if folders.get(name):
                todo.put((name, folders[name], threads))
    workers = [context.Process(target=measure_all, args=(s, todo, done, args)) for s in streams]
    for p in workers:
        p.start()
    for record in gather(workers, done):
        records.append(record)
        print(f"{lead(record) or 0:5.2f}  {record['name']}, {record['threads']} thread(s)  " + "  ".join(
            f"{p} {peers.milliseconds(r)}" for p, r in record["peers"].items()), file=sys.stderr, flush=True)
        if args.json:
            with open(args.json, "w") as f:
                json.dump(records, f)
    return records


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", nargs="?")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--report")
    parser.add_argument("--streams", default=",".join(map(str, sorted(os.sched_getaffinity(0))[-2:])))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turn-ms", type=float, default=45)
    parser.add_argument("--limit", type=float, default=86400)
    parser.add_argument("--peers", default="bessemer,onnxruntime,openvino")
    parser.add_argument("--bessemer", default=os.path.join(peers.HERE, "..", "build", "bessemer"))
    parser.add_argument("--isa")
    parser.add_argument("--json")
    parser.add_argument("--cpu-time", action="store_true")
    args = parser.parse_args()
    if args.report:
        with open(args.report) as f:
            print(report(json.load(f)))
        return 0
    if not args.dir:
        parser.error("a folder for the models is missing")
    args.dir, args.peers = os.path.abspath(args.dir), args.peers.split(",")
    args.threads = [int(t) for t in args.threads.split(",")]
    args.clock = breadth_peers.compile_clock(args.dir) if args.cpu_time else None
    args.end = time.monotonic() + args.limit
    print(report(run(args)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
