# SPDX-License-Identifier: Apache-2.0
"""Methods whose results nest lists, dicts, tuples and optionals that the data
decide, those of result_patterns.py and random ones, for
run_time_results_test.c.

Writes beside this script:
  random.ts    one module with the methods r0, r1, ... of a tensor [3, 3]
  random.npz   by PyTorch: "in", the arguments of the calls of every method;
               "text", for each method and call its result as the structure of
               a run prints it; "counts", how many tensors it has; "dims", the
               rank and dims of each of those; "data", their elements

Needs torch and numpy; the tests need neither.
"""
import os
import random

import numpy as np
import torch

from make_results import HERE, walk, write
from result_patterns import PATTERNS

METHODS = 160
KEYS = {"str": '"k%d" % {}', "int": "{} * 3 - 1", "float": "float({}) * 0.5"}


def random_type(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["Tensor", "Tensor", "int", "float", "bool", "str"])
    kind = rng.choice(["List", "List", "Dict", "Optional", "Tuple"])
    if kind == "Tuple":
        return (kind, [random_type(rng, depth - 1) for _ in range(rng.randint(1, 3))])
    inner = random_type(rng, depth - 1)
    if kind == "Optional" and inner[0] == "Optional":
        return inner
    return (kind, [rng.choice(list(KEYS)), inner] if kind == "Dict" else [inner])


def type_text(t):
    return t if isinstance(t, str) else f"{t[0]}[{', '.join(type_text(p) for p in t[1])}]"


class Writer:
    """Statements that make values."""

    def __init__(self, rng):
        self.rng, self.lines, self.names, self.counters = rng, [], 0, []

    def add(self, indent, line):
        self.lines.append("  " * indent + line)

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def place(self):
        at = [str(self.rng.randint(0, 2)) for _ in range(2)]
        if self.counters and self.rng.random() < 0.6:
            at[0] = f"{self.rng.choice(self.counters)} % 3"
        return f"x[{at[0]}, {at[1]}]"

    def condition(self):
        c = self.rng.choice([-0.5, 0.0, 0.3])
        if self.rng.random() < 0.3:
            return f"int((x > {c}).sum()) > {self.rng.randint(2, 6)}"
        return f"bool({self.place()} > {c})"

    def leaf(self, t):
        rng, c = self.rng, self.rng.choice([-0.5, 0.0, 0.3])
        counter = rng.choice(self.counters) if self.counters else "2"
        if t == "Tensor":
            return rng.choice([f"x[{counter} % 3]", f"x * {c}", f"x[x > {c}]", f"torch.nonzero(x > {c})",
                               "x", self.place(), f"x[:, 1:].sum({rng.randint(0, 1)})", "x.t()"])
        if t == "int":
            return rng.choice([f"int((x > {c}).sum())", counter, f"x.size(0) + {counter}"])
        if t == "float":
            return rng.choice([f"float({self.place()})", "0.25"])
        if t == "bool":
            return f"bool({self.place()} > {c})"
        return rng.choice([f'"s%d" % {counter}', '"fixed"', f'"n%d" % int((x > {c}).sum())'])

    def items(self, t, indent, put):
        """Runs `put(indent, counter)` so often as the data or nobody decides."""
        counter = self.name()
        bound = self.rng.choice(["2", "3", "int((x > 0).sum()) % 4", "x.size(0)"])
        self.add(indent, f"for {counter} in range({bound}):")
        self.counters.append(counter)
        if self.rng.random() < 0.7:
            self.add(indent + 1, f"if {self.condition()}:")
            put(indent + 2, counter)
        else:
            put(indent + 1, counter)
        self.counters.pop()

    def make(self, t, indent):
        """The name of a new value of that type."""
        name = self.name()
        if isinstance(t, str):
            self.add(indent, f"{name} = {self.leaf(t)}")
        elif t[0] == "Tuple":
            parts = [self.make(p, indent) for p in t[1]]
            self.add(indent, f"{name} = ({', '.join(parts)}{',' if len(parts) == 1 else ''})")
        elif t[0] == "Optional":
            self.add(indent, f"{name} : {type_text(t)} = None")
            self.add(indent, f"if {self.condition()}:")
            inner = self.make(t[1][0], indent + 1)
            self.add(indent + 1, f"{name} = {inner}")
        elif t[0] == "List":
            self.add(indent, f"{name} : {type_text(t)} = []")
            self.items(t, indent, lambda i, counter: self.add(i, f"{name}.append({self.make(t[1][0], i)})"))
        else:
            self.add(indent, f"{name} : {type_text(t)} = {{}}")
            key = KEYS[t[1][0]]
            self.items(t, indent, lambda i, counter:
                       self.add(i, f"{name}[{key.format(counter)}] = {self.make(t[1][1], i)}"))
        return name


def record(result, row):
    """Adds what a call gives to the row; whether it is small."""
    leaves = []
    row["text"].append(walk(result, leaves))
    tensors = [leaf for leaf in leaves if leaf is not None]
    row["counts"].append(len(tensors))
    for leaf in tensors:
        row["dims"] += [leaf.ndim, *leaf.shape]
        row["data"] += leaf.astype(np.float64).ravel().tolist()
    return len(leaves) <= 60


def random_source(rng):
    """A method `M`, or None when its result would be a leaf."""
    t = random_type(rng, 3)
    if isinstance(t, str):
        return None
    w = Writer(rng)
    w.add(0, f"def M(self, x : Tensor) -> {type_text(t)}:")
    w.add(1, f"return {w.make(t, 1)}")
    return "\n".join(w.lines) + "\n"


def main():
    rng = random.Random(5)
    torch.manual_seed(5)
    inputs = [(torch.randn(3, 3) * 2 + shift).round() / 2 for shift in (0, -1, 1)]
    module = torch.jit.ScriptModule()
    columns = {"text": [], "counts": [], "dims": [], "data": []}
    made = 0
    while made < METHODS:
        source = PATTERNS[made] if made < len(PATTERNS) else random_source(rng)
        if not source:
            continue
        source = source.replace("def M(", f"def r{made}(")
        trial = torch.jit.CompilationUnit(source.replace("self, ", ""))
        row = {name: [] for name in columns}
        small = all([record(getattr(trial, f"r{made}")(x), row) for x in inputs])
        # Nothing is left to run where the data decide nothing.
        fixed = len(set(row["text"])) == 1 and "->" not in row["text"][0]
        if made >= len(PATTERNS) and (fixed or not small):
            continue
        module.define(source)
        for name in columns:
            columns[name] += row[name]
        made += 1
    torch.jit.save(module, os.path.join(HERE, "random.ts"))
    write(os.path.join(HERE, "random.npz"), {
        "in": torch.stack(inputs).numpy(), "text": np.array(columns["text"]),
        "counts": np.array(columns["counts"], np.int64), "dims": np.array(columns["dims"], np.int64),
        "data": np.array(columns["data"], np.float32)})


if __name__ == "__main__":
    main()
