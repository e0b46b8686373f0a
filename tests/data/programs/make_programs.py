#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes programs.ts: random TorchScript methods with nested conditions and
loops on data and on shapes, lists, dicts, optionals, views and in-place writes;
each with inputs of several shapes and what PyTorch computes from them, in the
member extra/cases.bin (little-endian, 8 bytes each unless said otherwise):

  count, then for each method:
    length of the name, the name, number of runs, and for each run:
      x, y, n; 0 and the results: a tensor, an int, a tensor; or 1: it raises
  tensor := dtype rank dims.. bytes

Usage: make_programs.py OUTPUT_DIRECTORY [COUNT] [SEED]   (with PyTorch 2.x)
"""
import importlib.util
import os
import random
import struct
import sys
import tempfile
import zipfile

import torch

DTYPES = {torch.int64: 4, torch.float32: 6}


def tensor(t):
    t = t.detach().contiguous()
    return struct.pack(f"<qq{t.dim()}q", DTYPES[t.dtype], t.dim(),
                       *t.shape) + t.numpy().tobytes()


class Program:
    """One method: every tensor variable has the shape of x, but for views."""

    def __init__(self, rng):
        self.rng = rng
        self.lines = []
        self.tensors = ["x", "y"]
        self.ints = ["n"]
        self.fresh = 0
        self.loops = 0
        self.size = 0

    def emit(self, depth, text):
        self.lines.append("    " * (depth + 2) + text)
        self.size += 1

    def t(self):
        return self.rng.choice(self.tensors)

    def i(self):
        return self.rng.choice(self.ints)

    def number(self):
        return self.rng.choice(["0.5", "-0.25", "1.5", "2", "3"])

    def integer(self):
        r = self.rng
        return r.choice([
            str(r.randint(0, 4)), self.i(), f"{self.i()} + {r.randint(1, 3)}",
            f"({self.i()} * {r.randint(2, 5)}) % {r.randint(3, 7)}",
            f"{self.t()}.size(0)", "len(items)",
            f"int({self.t()}.sum().item() * 3) % 4",
            f"{self.i()} // 2",
        ])

    def expression(self):
        r = self.rng
        a, b = self.t(), self.t()
        return r.choice([
            f"torch.tanh({a} + {b})", f"torch.tanh({a} * {b})", f"{a} - {b}",
            f"torch.relu({a}) - {b} * {self.number()}",
            f"torch.maximum({a}, {b} * {self.number()})", f"torch.sigmoid({a})",
            f"torch.tanh({a} * {self.i()})", f"{a}.clone()",
            f"torch.where({a} > {b}, {a}, {b} * {self.number()})",
            f"torch.tanh({a} + {b}.mean(dim=0))",
            f"torch.tanh({a} * {b}.sum(dim=1, keepdim=True))",
            f"torch.flip({a}, [0])", f"{a}[torch.argsort({b}[:, 0])]",
            f"torch.cat([{a}[1:], {b}[:1]])",
            f"torch.tanh(torch.matmul({a}, {b}.t()).matmul({a}))",
        ])

    def condition(self):
        r = self.rng
        return r.choice([
            f"bool({self.t()}.sum() > {r.choice(['0', '1', '-0.5'])})",
            f"bool({self.t()}.max() > {self.t()}.max())",
            f"{self.i()} % 2 == 0", f"{self.i()} > {r.randint(0, 3)}",
            "len(items) > 1", f"{self.t()}.size(0) > 2", '"a" in table',
            f"float({self.t()}.norm()) > 1.0 and {self.i()} < 3",
            f"not (bool({self.t()}.mean() > 0) or {self.i()} == 1)",
        ])

    def new_tensor(self, depth):
        r = self.rng
        if r.random() < 0.6:
            self.emit(depth, f"{self.t()} = {self.expression()}")
            return
        if depth == 0:
            name = f"t{self.fresh}"
            self.fresh += 1
            self.emit(depth, f"{name} = {self.expression()}")
            self.tensors.append(name)
        else:
            self.emit(depth, f"{self.t()} = {self.expression()}")

    def write(self, depth):
        """In place, on a fresh copy or on a variable made so before."""
        r = self.rng
        if self.loops == 0 and r.random() < 0.5 or not self.own:
            if depth:
                return self.new_tensor(depth)
            name = f"w{self.fresh}"
            self.fresh += 1
            self.emit(depth, f"{name} = {self.t()}.clone()")
            self.own.append(name)
            return None
        w = r.choice(self.own)
        a = self.t()
        self.emit(depth, r.choice([
            f"{w}.add_({a})", f"{w}.mul_({self.number()})",
            f"{w}[0] = {a}[-1]", f"{w}[:, 1] = {a}[:, 0] * {self.number()}",
            f"{w}[1:] += {self.number()}", f"{w}[0, 1] = {self.number()}",
            f"{w}.t()[2].mul_({self.number()})",
            f"{w}[:, ::2].copy_({a}[:, 1:])",
            f"{w}[{a} > 0] = {self.number()}",
            f"{w}.copy_(torch.tanh({w}))", f"{w}.view(-1)[1:3].zero_()",
            f"{w}[{self.i()} % {w}.size(0)] = {a}[0]",
            f"{w}.masked_fill_({a} > 0.5, {self.number()})",
            f"torch.clamp_({w}, -1.0, 1.0)",
        ]))
        return None

    def container(self, depth):
        r = self.rng
        self.emit(depth, r.choice([
            f"items.append({self.expression()})",
            f'table["{r.choice("abc")}"] = {self.expression()}',
            f"items = items + [{self.t()}]",
        ]))
        k = r.random()
        if k < 0.25:
            self.emit(depth, f"if len(items) > {r.randint(0, 2)}:")
            self.emit(depth + 1, r.choice([
                f"{self.t()} = items[-1] * {self.number()}",
                f"{self.t()} = torch.tanh(items.pop() + {self.t()})",
                f"items[0] = {self.expression()}",
                f"{self.t()} = items[{self.i()} % len(items)] + 0.0",
            ]))
        elif k < 0.4:
            self.emit(depth, f'if "{r.choice("abc")}" in table:')
            key = self.lines[-1].split('"')[1]
            self.emit(depth + 1, f'{self.t()} = torch.tanh(table["{key}"])')
        elif k < 0.5:
            self.emit(depth, "for z in items:")
            self.emit(depth + 1, f"{self.t()} = torch.tanh({self.t()} + z)")

    def optional(self, depth):
        self.emit(depth, self.rng.choice(
            ["maybe = None", f"maybe = {self.expression()}"]))
        if self.rng.random() < 0.5:
            self.emit(depth, "if maybe is not None:")
            self.emit(depth + 1, f"{self.t()} = maybe * {self.number()}")

    def branch(self, depth):
        self.emit(depth, f"if {self.condition()}:")
        self.block(depth + 1)
        if self.rng.random() < 0.6:
            self.emit(depth, "else:")
            self.block(depth + 1)

    def loop(self, depth):
        r = self.rng
        self.loops += 1
        if r.random() < 0.6:
            bound = r.choice([str(r.randint(1, 3)), f"{self.i()} % 4",
                              f"min({self.i()}, 3)", f"{self.t()}.size(0)"])
            name = f"k{self.fresh}"
            self.fresh += 1
            self.emit(depth, f"for {name} in range({bound}):")
            self.ints.append(name)
            self.block(depth + 1)
            if r.random() < 0.4:
                self.emit(depth + 1, f"if {self.condition()}:")
                self.emit(depth + 2, r.choice(["break", "continue"]))
                self.block(depth + 1)
            self.ints.remove(name)
        else:
            name = f"c{self.fresh}"
            self.fresh += 1
            self.emit(depth, f"{name} = 0")
            self.emit(depth, f"while {name} < {r.randint(1, 5)} and "
                             f"{self.condition()}:")
            self.emit(depth + 1, f"{name} += 1")
            self.block(depth + 1)
        self.loops -= 1

    def block(self, depth):
        r = self.rng
        for _ in range(r.randint(1, 3)):
            if self.size > 45:
                self.emit(depth, f"count += {r.randint(1, 3)}")
                return
            k = r.random()
            if k < 0.3:
                self.new_tensor(depth)
            elif k < 0.45:
                self.write(depth)
            elif k < 0.58:
                self.container(depth)
            elif k < 0.64:
                self.optional(depth)
            elif k < 0.74:
                self.emit(depth, f"count = {self.integer()}")
            elif k < 0.88 and depth < 4:
                self.branch(depth)
            elif k < 0.97 and depth < 3:
                self.loop(depth)
            elif k > 0.985 and depth > 0:
                self.emit(depth, "return x + 1, count, y")
                return
            else:
                self.emit(depth, f"{self.t()} = torch.tanh({self.t()})")

    def source(self, name):
        self.own = []
        self.ints.append("count")
        self.emit(0, "items: List[Tensor] = []")
        self.emit(0, "table: Dict[str, Tensor] = {}")
        self.emit(0, "maybe: Optional[Tensor] = None")
        self.emit(0, "count = 0")
        for _ in range(self.rng.randint(2, 4)):
            self.block(0)
        total = " + ".join(dict.fromkeys(self.tensors + self.own))
        self.emit(0, f"total = {total}")
        self.emit(0, "for z in items:")
        self.emit(1, "total = total + z")
        self.emit(0, "for key in table:")
        self.emit(1, "total = total - table[key]")
        self.emit(0, "if maybe is not None:")
        self.emit(1, "total = total + maybe")
        self.emit(0, "return total, count + len(items), x")
        head = ("    @torch.jit.export\n"
                f"    def {name}(self, x: Tensor, y: Tensor, n: int) -> "
                "Tuple[Tensor, int, Tensor]:\n")
        return head + "\n".join(self.lines) + "\n\n"


HEADER = '''from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn


class Programs(nn.Module):
'''


def load(source, folder):
    path = os.path.join(folder, "programs_source.py")
    with open(path, "w") as f:
        f.write(source)
    spec = importlib.util.spec_from_file_location("programs_source", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Programs()


def compiles(source, folder):
    """Whether PyTorch compiles it, and what it saves too."""
    try:
        path = os.path.join(folder, "one.ts")
        torch.jit.script(load(HEADER + source, folder)).save(path)
        torch.jit.load(path)
        return True
    except Exception as e:
        if os.environ.get("VERBOSE"):
            print(str(e)[-600:])
        return False


def same(a, b):
    return all(
        torch.equal(x, y) if torch.is_tensor(x) else x == y
        for x, y in zip(a, b))


def call(method, x, y, n):
    try:
        return method(x.clone(), y.clone(), n)
    except Exception:
        return None


def stable(result, exact):
    """Whether rounding decides nothing: float64 takes the same way."""
    return exact is not None and result[1] == exact[1] and all(
        r.shape == e.shape and torch.allclose(r.double(), e.double(), 1e-3, 1e-3)
        for r, e in ((result[0], exact[0]), (result[2], exact[2])))


def runs(method, scripted, seed):
    """What Python computes; where the compiled method differs (it keeps what
    is appended to an empty list from one call to the next), it is not used."""
    g = torch.Generator().manual_seed(seed)
    out = b""
    count = 0
    for rows, n in ((2, 1), (2, 2), (3, 0), (4, 5)):
        x = torch.rand(rows, 3, generator=g) * 2 - 1
        y = torch.rand(rows, 3, generator=g) * 2 - 1
        head = tensor(x) + tensor(y) + struct.pack("<q", n)
        result = call(method, x, y, n)
        other = call(scripted, x, y, n)
        if (result is None) != (other is None):
            continue
        if result is None:
            out += head + struct.pack("<q", 1)
        else:
            a, b, c = result
            if not (torch.isfinite(a).all() and torch.isfinite(c).all() and
                    same(result, other) and
                    stable(result, call(method, x.double(), y.double(), n))):
                continue
            out += head + struct.pack("<q", 0) + tensor(a)
            out += struct.pack("<q", b) + tensor(c)
        count += 1
    return struct.pack("<q", count) + out


def pack(path, to):
    """The archive deflated, without debug files: a tenth of its size."""
    with zipfile.ZipFile(path) as a, zipfile.ZipFile(
            to, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as b:
        for name in a.namelist():
            if not name.endswith(".debug_pkl"):
                b.writestr(zipfile.ZipInfo(name), a.read(name),
                           zipfile.ZIP_DEFLATED)


def main(kind=Program, name="programs.ts", count=520):
    folder = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else count
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    sources = []
    with tempfile.TemporaryDirectory() as work:
        while len(sources) < count:
            source = kind(rng).source(f"p{len(sources)}")
            if compiles(source, work):
                sources.append(source)
        python = load(HEADER + "".join(sources), work)
        module = torch.jit.script(python)
        cases = struct.pack("<q", count)
        for i in range(count):
            method = f"p{i}".encode()
            cases += struct.pack("<q", len(method)) + method
            cases += runs(getattr(python, f"p{i}"), getattr(module, f"p{i}"),
                          i)
        path = os.path.join(work, "programs.ts")
        torch.jit.save(module, path, _extra_files={"cases.bin": cases})
        pack(path, os.path.join(folder, name))
    print(count, "programs")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
