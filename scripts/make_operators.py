#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/operators.md from what `bessemer ops --json` says, and for GPUs
tests/data/operators_on_gpus.txt, which the operator suite collects and checks.

    scripts/make_operators.py BESSEMER            writes it
    scripts/make_operators.py --check BESSEMER    fails when it is out of date
"""
import collections
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATH = os.path.join(ROOT, "docs", "operators.md")
PLACES = os.path.join(ROOT, "tests", "data", "operators_on_gpus.txt")

HEAD = """# Operators

Made by `scripts/make_operators.py` from `bessemer ops --json`; do not edit. {total} operators are known:

| runs | operators | on GPUs | what it means |
|---|---:|---:|---|
{summary}
On a CPU, layers are run by its kernels, and everything else by the reference library. *On GPUs* says where an operator runs in an
engine that was built for a GPU: `GPU` by kernels of the GPU, `host` by the reference library on the CPU, between copies; `GPU; host:
uint8` on the host when it is of that dtype, and `GPU; host: some calls` where a limit or a shape that depends on data makes
calls of it do so. The operator suite builds its calls for a GPU to see it (`tests/compiler/op_suite_places_test.c`).
*Limits* are what the converter of an operator refuses when it builds for a CPU, in its own words; the operator suite collects and checks them. What a
converter refuses is called in the reference library when the engine runs, unless the limit says that the result's shape
depends on data or that random numbers are drawn. Limits of all operators: complex tensors are left to the reference
library, on the host; shapes are fixed when compiling. An in-place operator (`relu_`) is replaced by its functional form.

`bessemer ops MODEL` tells how the operators of a model run, and where they are in its source.
`bessemer ops --json` is stable: a list of objects with `schema`, `runs` (the first column above), `converter`, `evaluator`,
`reference` (whether there is one), `limits` (strings); of a model also `count` (nodes), of which `layers`, `evaluated`,
`reference_calls` (steps of a plan), `calls` (of a program, where data or shapes that range decide), `program` (control flow,
lists and tuples: the program itself) and `unsupported`; `optimal_layers` and `optimal_reference_calls` (nodes of the plan for
the optimal shape of inputs that range, beside what they are in the program), `why` (it is not layers), `source` (the first
place, with the path of the module) and `places` (all, each once); `runs` may then be `call` or `program`, too. A model is
compiled to tell it, but for timing: the exit status is 0 when it compiles with these options, and only then. Fields may be added.
"""

MEANINGS = {
    "layers": "a converter turns it into layers of the network",
    "evaluator": "computed while compiling; its result is no tensor, or shapes "
                 "are enough",
    "reference": "called in the reference library when the engine runs: right, "
                 "not fast; on constants computed while compiling",
    "lowering": "lowering replaces it (in-place operators, those on quantized "
                "tensors) or executes it (lists, exceptions)",
    "refused": "keeps a model from compiling, unless it is never reached",
}
SECTIONS = {
    "layers": "Layers",
    "reference": "Reference library",
    "evaluator": "While compiling",
    "lowering": "Lowering",
    "refused": "Refused",
}
# What runs while an engine does, somewhere.
PLACED = ("layers", "reference")
# These hand their argument on, and PyTorch cannot be asked about them.
HAND_ON = ("aten::cuda", "aten::requires_grad_", "trt::const")


def cell(text):
    return text.replace("|", "\\|")


def code(text):
    return "`" + cell(text) + "`"


def read_places():
    """Operator -> where it runs in engines for GPUs."""
    places = {}
    with open(PLACES, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                name, _, place = line.rstrip("\n").partition(" ")
                places[name] = place.replace("gpu", "GPU", 1)
    return places


def place_of(op, places):
    """Of an operator that runs when the engine does. In-place operators run as
    those whose names have no underscore; the suite has not every overload."""
    name = op["schema"].partition("(")[0]
    base, dot, overload = name.partition(".")
    functional = base[:-1] if base.endswith("_") else base
    for known in (name, functional + dot + overload):
        if known in places:
            return places[known]
    others = {place for known, place in places.items()
              if known.partition(".")[0] == functional}
    if len(others) == 1:
        return others.pop()
    if name in HAND_ON:
        return "GPU"
    if op["runs"] == "reference":
        return "host"
    sys.exit(f"make_operators: nothing shows where {name} runs on GPUs")


def rows(operators, places):
    if places:
        yield "| schema | on GPUs | limits |\n|---|---|---|\n"
    with_limits = any(op["limits"] for op in operators)
    if not places and with_limits:
        yield "| schema | limits |\n|---|---|\n"
    for op in sorted(operators, key=lambda op: op["schema"]):
        limits = "; ".join(cell(limit) for limit in op["limits"])
        if places:
            yield f"| {code(op['schema'])} | {place_of(op, places)} | {limits} |\n"
        elif with_limits:
            yield f"| {code(op['schema'])} | {limits} |\n"
        else:
            yield f"* {code(op['schema'])}\n"


def summarize(by_runs, places):
    for runs in SECTIONS:
        if not by_runs[runs]:
            continue
        count = "-"
        if runs in PLACED:
            count = sum(place_of(op, places).startswith("GPU")
                        for op in by_runs[runs])
        yield f"| {runs} | {len(by_runs[runs])} | {count} | {MEANINGS[runs]} |\n"


def make(operators, places):
    by_runs = collections.defaultdict(list)
    for op in operators:
        by_runs[op["runs"]].append(op)
    unknown = set(by_runs) - set(SECTIONS)
    if unknown:
        sys.exit(f"make_operators: unknown ways to run: {sorted(unknown)}")
    summary = "".join(summarize(by_runs, places))
    out = [HEAD.format(total=len(operators), summary=summary)]
    for runs, title in SECTIONS.items():
        if not by_runs[runs]:
            continue
        out.append(f"\n## {title}\n\n{MEANINGS[runs][0].upper()}"
                   f"{MEANINGS[runs][1:]}.\n\n")
        out.extend(rows(by_runs[runs], places if runs in PLACED else None))
    return "".join(out)


def main():
    args = sys.argv[1:]
    check = args[:1] == ["--check"]
    if check:
        args = args[1:]
    if len(args) != 1:
        sys.exit(__doc__)
    result = subprocess.run([args[0], "ops", "--json"], check=True,
                            stdout=subprocess.PIPE)
    text = make(json.loads(result.stdout), read_places())
    if check:
        with open(PATH, encoding="utf-8") as file:
            if file.read() == text:
                return
        sys.exit("docs/operators.md is out of date: run "
                 "scripts/make_operators.py build/bessemer")
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
