#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bessemer beside other runtimes on one CPU: the tables of docs/performance.md.

  peers.py DIR                   export, prepare, measure and print the tables
  peers.py --report R.json ...   print the tables of saved results; later files
                                 replace models of earlier ones

Options: --models a,b:8      of bench/models.py; `:8` is batch 8
         --threads 1,2       --peers bessemer,onnxruntime,...
         --rounds 5          --turn-ms 300
         --bessemer PATH     --json FILE (with --resume: adds what it lacks)
         --isa NAME          of Bessemer alone

Each runtime is a process of its own (peer_workers.py) that loads, warms up and
sleeps between its turns. A round gives each one turn: one run that is not
timed, then as many timed runs as fit in --turn-ms. Medians are over all timed
runs of all rounds, so that a machine that slows down slows all of them. One
thread is pinned to the last CPU, two to the last two. DIR keeps the models and
what was prepared. Needs PyTorch, torchvision, transformers (bert_base, gpt2)
and the runtimes that are measured.
"""
import argparse
import json
import os
import re
import select
import shutil
import statistics
import subprocess
import sys
import time

import models

HERE = os.path.dirname(os.path.abspath(__file__))
TITLES = {"bessemer": "Bessemer", "eager": "eager", "torchscript": "TorchScript", "inductor": "Inductor",
          "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "ncnn": "ncnn"}
MODELS = ("lenet,mlp,resnet18,resnet50,mobilenet_v2,mobilenet_v3_large,efficientnet_b0,vgg16,vit_b_16,bert_base,"
          "gpt2,unet,lstm,resnet50:8,mobilenet_v2:8")
NOT_CONVOLUTIONAL = {"mlp", "vit_b_16", "bert_base", "gpt2", "lstm", "transformer_encoder", "swin_t"}
# Their own files depend on the number of threads.
PREPARED = {"inductor": True, "ncnn": False}
LIMIT_S = 300


def cpus_of(threads):
    """The last ones: other light work tends to be on the first."""
    return set(sorted(os.sched_getaffinity(0))[-threads:])


def environment(threads):
    env = dict(os.environ, TRANSFORMERS_VERBOSITY="error")
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        env[name] = str(threads)
    return env


# ------------------------------------------------------------------- processes
class Peer:
    """A worker process of peer_workers.py."""

    def __init__(self, args, peer, entry, threads):
        self.peer, self.entry, self.threads = peer, entry, threads
        suffix = f"-t{threads}" if PREPARED.get(peer) else ""
        self.work = os.path.join(entry, peer + suffix)
        self.process = None

    def spawn(self, what):
        os.makedirs(self.work, exist_ok=True)
        cpus = cpus_of(self.threads)
        with open(os.path.join(self.work, "log"), "a") as log:
            return subprocess.Popen(
                [sys.executable, os.path.join(HERE, "peer_workers.py"), what, self.peer, self.entry, self.work,
                 str(self.threads)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                env=environment(self.threads), preexec_fn=lambda: os.sched_setaffinity(0, cpus))

    @staticmethod
    def answer(process, limit=None):
        if not select.select([process.stdout], [], [], limit)[0]:
            raise RuntimeError(f"no answer within {limit} s")
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process ended with {process.wait()}")
        answer = json.loads(line)
        if "failed" in answer:
            raise RuntimeError(answer["failed"])
        return answer

    def once(self, what):
        """Runs a process that gives one answer and ends."""
        process = self.spawn(what)
        try:
            return self.answer(process)
        finally:
            process.kill()
            process.wait()

    def prepare(self):
        """Seconds that it took, when it was done: what was prepared is kept."""
        if self.peer in ("onnxruntime", "openvino") and not os.path.exists(os.path.join(self.entry, "model.onnx")):
            self.once("onnx")
        if self.peer not in PREPARED:
            return 0
        note = os.path.join(self.work, "prepared.json")
        if not os.path.exists(note):
            shutil.rmtree(self.work, ignore_errors=True)
            try:
                result = self.once("prepare")
            except RuntimeError as error:
                result = {"failed": str(error)}
            with open(note, "w") as f:
                json.dump(result, f)
        with open(note) as f:
            result = json.load(f)
        if "failed" in result:
            raise RuntimeError(result["failed"])
        return result["prepare_s"]

    def load(self):
        self.process = self.spawn("serve")
        return self.answer(self.process, LIMIT_S)["load_s"]

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.answer(self.process)

    def turn(self, runs):
        return self.ask(runs=runs)["times"]

    def end(self):
        answer = self.ask(end=True)
        return answer["peak_mb"], answer["error"]

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()


# ru_maxrss of a child starts at what its parent had: a small one measures.
LAUNCH = ("import os,sys\n"
          "p=os.fork()\n"
          "if not p: os.execvp(sys.argv[2],sys.argv[2:])\n"
          "_,s,u=os.wait4(p,0)\n"
          "open(sys.argv[1],'w').write(str(u.ru_maxrss))\n"
          "sys.exit(os.WEXITSTATUS(s) if os.WIFEXITED(s) else 1)\n")


class Bessemer:
    """Compiled with timing for the number of threads; one process a turn."""

    def __init__(self, args, peer, entry, threads):
        self.tool, self.isa = args.bessemer, args.isa
        self.entry, self.threads = entry, threads
        self.work = os.path.join(entry, f"bessemer-t{threads}")
        self.engine = os.path.join(self.work, "engine.bsm")
        self.peak = 0.0

    def call(self, *arguments):
        note = os.path.join(self.work, "peak")
        cpus = cpus_of(self.threads)
        command = [sys.executable, "-S", "-E", "-c", LAUNCH, note, self.tool, *arguments]
        command += ["--threads", str(self.threads)] + (["--isa", self.isa] if self.isa else [])
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        if done.returncode:
            raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()[-300:]}")
        with open(note) as f:
            return done.stdout, int(f.read()) / 1024

    def prepare(self):
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(os.path.join(self.work, "in"))
        os.makedirs(os.path.join(self.work, "out"))
        models.save_each(os.path.join(self.entry, "in.npz"), os.path.join(self.work, "in"))
        start = time.perf_counter()
        self.call("compile", os.path.join(self.entry, "model.ts"), "-o", self.engine,
                  "--inputs-from", os.path.join(self.entry, "in.npz"))
        return time.perf_counter() - start

    def turn(self, runs):
        text, peak = self.call("bench", self.engine, "--input-dir", os.path.join(self.work, "in"), "--output-dir",
                               os.path.join(self.work, "out"), "--warmup", "1", "--iterations", str(runs), "--times")
        self.peak = max(self.peak, peak)
        self.load_s = float(re.search(r"load_ms=(\S+)", text)[1]) / 1e3
        return [float(t) for t in re.search(r"times_ms=(\S+)", text)[1].split(",")]

    def load(self):
        self.turn(1)
        return self.load_s

    def end(self):
        return self.peak, models.error_of_files(os.path.join(self.entry, "expected.npz"),
                                                os.path.join(self.work, "out"))

    def kill(self):
        if os.path.exists(self.engine):
            os.remove(self.engine)


# ------------------------------------------------------------------- measuring
def entry_of(args, model):
    """The folder of a model, which is exported when it is missing: scripted
    where PyTorch can, else traced."""
    name, _, batch = model.partition(":")
    entries = {how: os.path.join(args.dir, f"{name}-{how}-b{batch or 1}") for how in ("script", "trace")}
    for entry in entries.values():
        if os.path.exists(os.path.join(entry, "expected.npz")):
            return entry
    for how, entry in entries.items():
        subprocess.run([sys.executable, os.path.join(HERE, "models.py"), "export", args.dir, "--only", name,
                        "--how", how, "--batch", batch or "1"], check=True, stdout=sys.stderr)
        if os.path.exists(os.path.join(entry, "expected.npz")):
            return entry
    raise RuntimeError("PyTorch cannot export it")


def attempt(live, record, peer, what):
    """what() or a note of why not, after which the peer is out."""
    try:
        return what()
    except Exception as error:  # one runtime's failure is not the others'
        record["peers"][peer]["failed"] = str(error)[:300]
        live.pop(peer).kill()
        return None


def measure(args, model, threads):
    record = {"model": model, "threads": threads, "peers": {}}
    entry = entry_of(args, model)
    live, runs, times = {}, {}, {}
    for peer in args.peers:
        live[peer] = (Bessemer if peer == "bessemer" else Peer)(args, peer, entry, threads)
        result = record["peers"][peer] = {}
        result["prepare_s"] = attempt(live, record, peer, live[peer].prepare)
        if peer in live:
            result["load_s"] = attempt(live, record, peer, live[peer].load)
        if peer in live:
            first = attempt(live, record, peer, lambda: min(live[peer].turn(3)))
        if peer in live:
            runs[peer] = max(2, min(2000, int(args.turn_ms / max(first, 1e-3))))
            times[peer] = []
    for _ in range(args.rounds):
        for peer in list(live):
            time.sleep(0.03)
            times[peer] += attempt(live, record, peer, lambda: live[peer].turn(runs[peer])) or []
    for peer in list(live):
        result = record["peers"][peer]
        end = attempt(live, record, peer, live[peer].end)
        if end:
            result["peak_mb"], result["error"] = end
            result["median_ms"], result["min_ms"] = statistics.median(times[peer]), min(times[peer])
            live[peer].kill()
    return record


def machine(args):
    """What the numbers belong to."""
    import importlib.metadata
    with open("/proc/cpuinfo") as f:
        text = f.read()
    versions = {}
    for package in ("torch", "onnxruntime", "openvino", "ncnn"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return {"cpu": re.search(r"model name\s*:\s*(.*)", text)[1], "cpus": os.cpu_count(),
            "isa": [i for i in ("avx2", "avx512f", "avx512_vnni", "amx_tile") if re.search(rf"\b{i}\b", text)],
            "versions": versions}


def measure_all(args):
    saved = {"machine": machine(args), "results": []}
    if args.resume and args.json and os.path.exists(args.json):
        with open(args.json) as f:
            saved["results"] = json.load(f)["results"]
    have = {(r["model"], r["threads"]) for r in saved["results"]}
    for threads in args.threads:
        for model in args.models:
            if (model, threads) in have:
                continue
            try:
                record = measure(args, model, threads)
            except (RuntimeError, subprocess.CalledProcessError) as error:
                print(f"{model}: {error}", file=sys.stderr, flush=True)
                continue
            saved["results"].append(record)
            if args.json:
                with open(args.json, "w") as f:
                    json.dump(saved, f, indent=1)
            line = "  ".join(f"{p} {milliseconds(r)}" for p, r in record["peers"].items())
            print(f"{model}, {threads} thread(s): {line}", file=sys.stderr, flush=True)
    return saved


# ------------------------------------------------------------------- the tables
def milliseconds(result):
    if "median_ms" not in result:
        return "failed"
    t = result["median_ms"]
    return f"{t:.4f}" if t < 0.1 else f"{t:.3f}" if t < 10 else f"{t:.1f}"


def best_peer(record):
    ran = [p for p, r in record["peers"].items() if p != "bessemer" and "median_ms" in r]
    return min(ran, key=lambda p: record["peers"][p]["median_ms"], default=None)


def lead(record):
    """The time of the best other runtime over ours."""
    peer, own = best_peer(record), record["peers"].get("bessemer", {})
    if peer is None or "median_ms" not in own:
        return None
    return record["peers"][peer]["median_ms"] / own["median_ms"]


def table(records, peers, heads, row):
    lines = ["| model | " + " | ".join([TITLES[p] for p in peers] + heads) + " |",
             "|---|" + "---:|" * (len(peers) + len(heads))]
    for record in records:
        name = record["model"].replace(":", ", batch ")
        lines.append(f"| {name} | " + " | ".join(row(record)) + " |")
    return lines


def time_row(peers):
    def row(record):
        all_ran = {p: r["median_ms"] for p, r in record["peers"].items() if "median_ms" in r}
        fastest = min(all_ran, key=all_ran.get, default=None)
        cells = []
        for p in peers:
            text = milliseconds(record["peers"].get(p, {}))
            cells.append(f"**{text}**" if p == fastest else text)
        return cells + [f"{lead(record):.2f}" if lead(record) else "-"]
    return row


def mean_row(records, peers, what):
    """Geometric means of each one's time over Bessemer's."""
    cells = []
    for p in peers:
        ratios = [r["peers"][p]["median_ms"] / r["peers"]["bessemer"]["median_ms"] for r in records
                  if "median_ms" in r["peers"].get(p, {}) and "median_ms" in r["peers"].get("bessemer", {})]
        cells.append(f"{statistics.geometric_mean(ratios):.2f} ({len(ratios)})" if ratios else "-")
    leads = [lead(r) for r in records if lead(r)]
    cells.append(f"{statistics.geometric_mean(leads):.2f}" if leads else "-")
    return f"| geometric mean of time / Bessemer's{what} | " + " | ".join(cells) + " |"


def cost_row(peers):
    def row(record):
        cells = []
        for p in peers:
            r = record["peers"].get(p, {})
            if "peak_mb" not in r:
                cells.append("-")
                continue
            prepare = f"{r['prepare_s']:.1f} + " if r["prepare_s"] else ""
            cells.append(f"{prepare}{r['load_s']:.2f} / {r['peak_mb']:.0f}")
        return cells
    return row


def error_row(peers):
    return lambda record: [f"{record['peers'][p]['error']:.1e}" if "error" in record["peers"].get(p, {}) else "-"
                           for p in peers]


def report(saved):
    m, results = saved["machine"], saved["results"]
    peers = [p for p in TITLES if any(p in r["peers"] for r in results)]
    lines = [f"{m['cpu']}, {m['cpus']} CPUs ({', '.join(m['isa'])}). " +
             ", ".join(f"{k} {v}" for k, v in m["versions"].items()) + "."]
    for threads in sorted({r["threads"] for r in results}):
        records = [r for r in results if r["threads"] == threads]
        plural = f"{threads} thread" + ("s" if threads > 1 else "")
        lines += ["", f"### {plural}: median latency, ms", ""]
        lines += table(records, peers, ["best other / Bessemer"], time_row(peers))
        lines.append(mean_row(records, peers, " (models)"))
        convolutional = [r for r in records if r["model"].partition(":")[0] not in NOT_CONVOLUTIONAL]
        lines.append(mean_row(convolutional, peers, ", convolutional models"))
        lines += ["", f"### {plural}: preparing once + loading, s / peak memory, MB", ""]
        lines += table(records, peers, [], cost_row(peers))
        lines += ["", f"### {plural}: largest error over max\\|torch\\|", ""]
        lines += table(records, peers, [], error_row(peers))
        failures = [(r["model"], p, v["failed"]) for r in records for p, v in r["peers"].items() if "failed" in v]
        if failures:
            lines += ["", f"### {plural}: what failed", ""]
            lines += [f"- {model}, {TITLES[p]}: {why.splitlines()[0]}" for model, p, why in failures]
    return "\n".join(lines)


def merge(paths):
    merged = {}
    for path in paths:
        with open(path) as f:
            saved = json.load(f)
        for record in saved["results"]:
            merged[record["model"], record["threads"]] = record
    return {"machine": saved["machine"], "results": list(merged.values())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", nargs="?")
    parser.add_argument("--report", nargs="+")
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--peers", default=",".join(TITLES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turn-ms", type=float, default=300)
    parser.add_argument("--bessemer", default=os.path.join(HERE, "..", "build", "bessemer"))
    parser.add_argument("--isa")
    parser.add_argument("--json")
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()
    if args.report:
        print(report(merge(args.report)))
        return 0
    if not args.dir:
        parser.error("a folder for the models is missing")
    args.dir = os.path.abspath(args.dir)
    args.models, args.peers = args.models.split(","), args.peers.split(",")
    args.threads = [int(t) for t in args.threads.split(",")]
    unknown = [p for p in args.peers if p not in TITLES]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    print(report(measure_all(args)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
