#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both front ends, end to end: saves each case of breadth.py as TorchScript
and with torch.export, compiles and runs all of it with Bessemer, and compares
the results with PyTorch and with each other.

  exported.py export DIR [PATTERN ...]   a folder for each case, see below
  exported.py check DIR [PATTERN ...]    PASS or FAIL for each file of a case
  exported.py targets DIR [PATTERN ...]  what the programs call, and how
                                         `bessemer ops` says that it runs

Needs PyTorch with torch.export (2.6 or later), torchvision, timm and
transformers, in any of which a case may be missing.

Options: --bessemer PATH  --ways static,dynamic,...  --plans  --again
         --target TEXT (compiled for another than this machine's CPU)
         --json FILE  --shard I/N  --max-mb N (cases with more weights: static)

DIR/<group>-<name>/ has
  script.ts            traced, or scripted where the case is not traced
  static.pt2           torch.export of the example inputs
  dynamic.pt2          the same with a batch that ranges; in1.npz is a further
                       batch
  static_core.pt2      run_decompositions(), to the core ATen operators
  dynamic_core.pt2
  in.npz, out.npz      inputs and PyTorch's outputs; in1.npz, out1.npz

Agreement with PyTorch is as for breadth.py. With each other: the same shapes
and dtypes, and values within 1e-5 * max; "same bits" is said where they are.
"""
import argparse
import collections
import copy
import fnmatch
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile

warnings.filterwarnings("ignore")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
import numpy as np

WAYS = ["script", "static", "static_core", "dynamic", "dynamic_core"]
BETWEEN = 1e-5  # how far results of the two front ends may be apart
FLOOR = 1e-2  # of the scale of results


# ------------------------------------------------------------------ exporting
def wider(inputs, times, torch):
    """The inputs with the batch so many times as large; None where the first
    dims of the tensors are not one batch."""
    tensors = [x for x in inputs if isinstance(x, torch.Tensor) and x.dim()]
    if not tensors or len({x.shape[0] for x in tensors}) != 1:
        return None
    torch.manual_seed(times)
    made = []
    for x in inputs:
        if isinstance(x, torch.Tensor) and x.dim():
            x = torch.cat([x] * times)
            if x.is_floating_point():
                x = x + 0.1 * torch.randn_like(x)
        made.append(x)
    return tuple(made)


def batch_dims(module, inputs, torch):
    batch = torch.export.Dim("batch", min=1, max=64)
    dims = tuple({0: batch} if isinstance(x, torch.Tensor) and x.dim() else None
                 for x in inputs)
    parameters = inspect.signature(module.forward).parameters.values()
    starred = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return (dims,) if starred else dims


def save_program(torch, module, inputs, shapes, path, core_path, example):
    """An empty text, or why PyTorch cannot: programs whose results in PyTorch
    are not those of the module (`example`: inputs and outputs) do not count."""
    from breadth import compare, flatten

    def keep(program, where):
        reason = compare(flatten(copy.deepcopy(program).module()(*example[0])),
                         example[1])[0]
        if reason:
            raise ValueError("PyTorch's program gives other results: " + reason)
        try:
            torch.export.save(program, where)
        except Exception:
            os.remove(where)  # half a file
            raise

    try:
        with torch.no_grad():
            program = torch.export.export(copy.deepcopy(module), inputs,
                                          dynamic_shapes=shapes)
            keep(program, path)
            keep(program.run_decompositions(), core_path)
    except Exception as error:
        return "%s: %s" % (type(error).__name__,
                           (str(error).strip().splitlines() or [""])[0][:160])
    return ""


def save_arrays(path, prefix, values):
    def array(x):
        x = x.detach() if hasattr(x, "detach") else np.asarray(x)
        if str(getattr(x, "dtype", "")) == "torch.bfloat16":
            x = x.float()
        return np.asarray(x)
    np.savez(path, **{"%s_%d" % (prefix, i): array(x)
                      for i, x in enumerate(values)})


def export_case(case, folder, max_bytes):
    """What was made, and what PyTorch could not do, as a dict."""
    import torch
    from breadth import flatten, randomize
    torch.manual_seed(0)
    module, inputs = case.make()
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    module = module.eval().requires_grad_(False)
    notes = {}
    with torch.no_grad():
        randomize(module)
        expected = flatten(copy.deepcopy(module)(*inputs))
    os.makedirs(folder, exist_ok=True)
    save_arrays(os.path.join(folder, "in.npz"), "in", inputs)
    save_arrays(os.path.join(folder, "out.npz"), "out", expected)
    path = lambda name: os.path.join(folder, name)
    try:
        with torch.no_grad():
            if "trace" in case.hows:
                saved = torch.jit.trace(copy.deepcopy(module), inputs,
                                        check_trace=False, strict=False)
            else:
                saved = torch.jit.script(module)
        torch.jit.save(saved, path("script.ts"))
    except Exception as error:
        notes["script"] = str(error).strip().splitlines()[:1]
    large = sum(p.numel() * 4 for p in module.parameters()) > max_bytes
    notes["static"] = save_program(torch, module, inputs, None,
                                   path("static.pt2"), path("static_core.pt2"),
                                   (inputs, expected))
    pair, more = wider(inputs, 2, torch), wider(inputs, 3, torch)
    if pair is not None and not large:
        notes["dynamic"] = save_program(
            torch, module, pair, batch_dims(module, pair, torch), path("dynamic.pt2"),
            path("dynamic_core.pt2"), (inputs, expected))
        if not notes["dynamic"]:
            with torch.no_grad():
                save_arrays(path("in1.npz"), "in", more)
                save_arrays(path("out1.npz"), "out",
                            flatten(copy.deepcopy(module)(*more)))
    if large and os.path.exists(path("static_core.pt2")):
        os.remove(path("script.ts"))
    return {k: v for k, v in notes.items() if v}


def export(options):
    import torch
    from breadth import all_cases
    torch.set_num_threads(1)
    chosen = [c for c in all_cases() if c.group != "ir" and wanted(
        options, c.group + "/" + c.name)]
    index, count = options.shard
    for case in chosen[index::count]:
        folder = os.path.join(options.dir, case.group + "-" + case.name)
        if os.path.exists(os.path.join(folder, "notes.json")) and not options.again:
            continue
        try:
            notes = export_case(case, folder, options.max_mb << 20)
        except Exception as error:
            notes = {"case": "%s: %s" % (type(error).__name__, error)}
        if os.path.isdir(folder):
            with open(os.path.join(folder, "notes.json"), "w") as file:
                json.dump(notes, file, indent=1)
        print(case.group + "/" + case.name, notes or "exported", flush=True)
    return 0


# -------------------------------------------------------------------- targets
def walk_nodes(graph):
    for node in graph["nodes"]:
        yield node
        for argument in node["inputs"]:
            if "as_graph" in argument["arg"]:
                yield from walk_nodes(argument["arg"]["as_graph"]["graph"])


def program_of(path):
    with zipfile.ZipFile(path) as archive:
        name = next(n for n in archive.namelist()
                    if n.endswith(("/models/model.json",
                                   "serialized_exported_program.json")))
        return json.loads(archive.read(name))


def targets(options):
    counts, first = collections.Counter(), {}
    for folder in folders(options):
        for way in options.ways:
            path = os.path.join(folder, way + ".pt2")
            if not os.path.exists(path):
                continue
            for node in walk_nodes(program_of(path)["graph_module"]["graph"]):
                counts[node["target"]] += 1
                first.setdefault(node["target"], path)
    text = subprocess.run([options.bessemer, "ops", "--json"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    runs = {}
    for row in json.loads(text):
        name = re.match(r"[A-Za-z0-9_:.]+", row["schema"]).group(0)
        runs[name] = row["runs"]
    rows = []
    for target, count in sorted(counts.items()):
        match = re.match(r"torch\.ops\.(\w+)\.(\w+)\.(\w+)$", target)
        how = "program"
        if match:
            space, name, overload = match.groups()
            full = space + "::" + name
            if overload != "default":
                full += "." + overload
            how = "program" if space == "higher_order" else runs.get(full, "-")
        rows.append({"target": target, "count": count, "runs": how,
                     "first": first[target]})
    for row in rows:
        print("%-10s %6d %-60s %s" % (row["runs"], row["count"], row["target"],
                                      row["first"]))
    known = sum(row["runs"] != "-" for row in rows)
    print("%d targets, %d known" % (len(rows), known))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    return 0


# ------------------------------------------------------------------- checking
def target_of(options):
    return ["--target", options.target] if options.target else []


def run_model(options, model, inputs, more=()):
    """The outputs, or why there are none."""
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "out.npz")
        try:
            done = subprocess.run(
                [options.bessemer, "run", model, "--input", inputs, "--output",
                 out, "--threads", "1", "--no-timing",
                 *target_of(options), *more],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                timeout=300)
        except subprocess.TimeoutExpired:
            return None, "no answer in 300 s"
        if done.returncode != 0:
            lines = [l for l in done.stderr.splitlines() if l.strip()]
            return None, "exit %d: %s" % (done.returncode, " | ".join(lines[-4:]))
        arrays = np.load(out)
        return [arrays["out_%d" % i] for i in range(len(arrays.files))], None


def apart(a, b):
    """Why two lists of results differ; "" when they are equal to the bit."""
    if [(x.shape, x.dtype) for x in a] != [(x.shape, x.dtype) for x in b]:
        return "other shapes or dtypes"
    worst = 0.0
    for x, y in zip(a, b):
        if x.tobytes() == y.tobytes():
            continue
        if x.dtype.kind not in "fc":
            return "other integers"
        scale = np.abs(np.nan_to_num(y.astype("c16"))).max() + FLOOR
        gap = np.abs(np.nan_to_num(x.astype("c16") - y.astype("c16"))).max()
        worst = max(worst, float(gap / scale))
    return "%.1e" % worst if worst else ""


def check_file(options, folder, way, script):
    """The outputs, a verdict and a text."""
    from breadth import compare
    path = os.path.join(folder, way + (".ts" if way == "script" else ".pt2"))
    if not os.path.exists(path):
        return None, "SKIP", "not exported"
    ours, reason = run_model(options, path, os.path.join(folder, "in.npz"))
    theirs = arrays_of(os.path.join(folder, "out.npz"))
    if ours is None:
        return None, "FAIL", reason
    reason, worst = compare(ours, theirs)
    if reason:
        return ours, "FAIL", reason
    text = "%.3f" % worst
    if way.startswith("dynamic") and os.path.exists(os.path.join(folder, "in1.npz")):
        more, reason = run_model(options, path, os.path.join(folder, "in1.npz"))
        reason = reason or compare(
            more, arrays_of(os.path.join(folder, "out1.npz")))[0]
        if reason:
            return ours, "FAIL", "another batch: " + reason
    if script is not None:
        gap = apart(ours, script)
        if gap and not (gap[0].isdigit() and float(gap) <= BETWEEN):
            return ours, "FAIL", "TorchScript gives other results: " + gap
        text += ", same bits" if not gap else ", %s from TorchScript's" % gap
    return ours, "PASS", text


def arrays_of(path):
    arrays = np.load(path)
    return [arrays[n] for n in sorted(
        arrays.files, key=lambda n: int(n.rsplit("_", 1)[1]))]


def plan_of(options, model, inputs):
    """How many steps of each kind an engine of the model has."""
    with tempfile.TemporaryDirectory() as scratch:
        engine = os.path.join(scratch, "e.bsm")
        subprocess.run([options.bessemer, "compile", model, "-o", engine,
                        "--no-timing", "--threads=1", "--inputs-from", inputs,
                        *target_of(options)],
                       check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE)
        text = subprocess.run([options.bessemer, "inspect", "--plan", engine],
                              check=True, stdout=subprocess.PIPE,
                              text=True).stdout
    return step_counts(text)


def step_counts(text):
    """Of the text of `inspect --plan`: kind and how often."""
    line = re.search(r"^steps: \d+ \(([^)]*)\)", text, re.MULTILINE)
    counts = collections.Counter()
    for part in line.group(1).split(", ") if line else []:
        count, kind = part.split(" ", 1)
        counts[kind] = int(count)
    return counts


def check(options):
    counts, rows = collections.Counter(), []
    for folder in folders(options):
        script = plan = None
        for way in options.ways:
            ours, verdict, text = check_file(options, folder, way, script)
            if way == "script":
                script = ours if verdict == "PASS" else None
            if options.plans and verdict == "PASS" and way in (
                    "script", "static", "static_core"):
                steps = plan_of(options, os.path.join(
                    folder, way + (".ts" if way == "script" else ".pt2")),
                    os.path.join(folder, "in.npz"))
                if way == "script":
                    plan = steps
                elif plan is not None and steps != plan:
                    text += ", steps %+d: %s" % (
                        sum(steps.values()) - sum(plan.values()),
                        ", ".join("%s %+d" % (k, steps[k] - plan[k])
                                  for k in sorted(steps.keys() | plan.keys())
                                  if steps[k] != plan[k]))
            counts[way + " " + verdict] += 1
            name = os.path.basename(folder.rstrip("/"))
            rows.append({"case": name, "way": way, "verdict": verdict,
                         "text": text})
            print("%-4s %-44s %-12s %s" % (verdict, name, way, text), flush=True)
    print(", ".join("%s %d" % item for item in sorted(counts.items())))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    return min(sum(n for k, n in counts.items() if k.endswith("FAIL")), 100)


# ----------------------------------------------------------------- the command
def wanted(options, name):
    group, _, rest = name.replace("-", "/", 1).partition("/")
    return not options.patterns or any(
        fnmatch.fnmatch(group + "/" + rest, p) or p == group
        for p in options.patterns)


def folders(options):
    names = sorted(os.listdir(options.dir))[options.shard[0]::options.shard[1]]
    return [os.path.join(options.dir, n) for n in names
            if os.path.exists(os.path.join(options.dir, n, "in.npz"))
            and wanted(options, n)]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["export", "check", "targets"])
    parser.add_argument("dir")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--bessemer", default=os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "..", "build", "bessemer"))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--plans", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--target")
    parser.add_argument("--json")
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--max-mb", type=int, default=60)
    options = parser.parse_args()
    options.ways = options.ways.split(",")
    options.shard = tuple(int(x) for x in options.shard.split("/"))
    return {"export": export, "check": check,
            "targets": targets}[options.command](options)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main())
