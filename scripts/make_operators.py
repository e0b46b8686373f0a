#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/operators.md from what `bessemer ops --json` says.

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

HEAD = """# Operators

Made by `scripts/make_operators.py` from `bessemer ops --json`; do not edit. {total} operators are known:

| runs | operators | what it means |
|---|---:|---|
{summary}
*Limits* are what the converter of an operator refuses, in its own words; the operator suite collects and checks them. What a
converter refuses is called in the reference library when the engine runs, unless the limit says that the result's shape
depends on data or that random numbers are drawn. Limits of all operators: complex tensors are left to the reference
library; shapes are fixed when compiling. An in-place operator (`relu_`) is replaced by its functional form.

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
    "lowering": "lowering replaces it (in-place operators) or executes it "
                "(lists, exceptions)",
    "refused": "keeps a model from compiling, unless it is never reached",
}
SECTIONS = {
    "layers": "Layers",
    "reference": "Reference library",
    "evaluator": "While compiling",
    "lowering": "Lowering",
    "refused": "Refused",
}


def cell(text):
    return text.replace("|", "\\|")


def code(text):
    return "`" + cell(text) + "`"


def rows(operators, with_limits):
    if with_limits:
        yield "| schema | limits |\n|---|---|\n"
    for op in sorted(operators, key=lambda op: op["schema"]):
        if with_limits:
            limits = "; ".join(cell(limit) for limit in op["limits"])
            yield f"| {code(op['schema'])} | {limits} |\n"
        else:
            yield f"* {code(op['schema'])}\n"


def make(operators):
    by_runs = collections.defaultdict(list)
    for op in operators:
        by_runs[op["runs"]].append(op)
    unknown = set(by_runs) - set(SECTIONS)
    if unknown:
        sys.exit(f"make_operators: unknown ways to run: {sorted(unknown)}")
    summary = "".join(f"| {runs} | {len(by_runs[runs])} | {MEANINGS[runs]} |\n"
                      for runs in SECTIONS if by_runs[runs])
    out = [HEAD.format(total=len(operators), summary=summary)]
    for runs, title in SECTIONS.items():
        if not by_runs[runs]:
            continue
        out.append(f"\n## {title}\n\n{MEANINGS[runs][0].upper()}"
                   f"{MEANINGS[runs][1:]}.\n\n")
        out.extend(rows(by_runs[runs], any(op["limits"]
                                           for op in by_runs[runs])))
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
    text = make(json.loads(result.stdout))
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
