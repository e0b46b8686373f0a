#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes aliasing.ts, as make_programs.py makes programs.ts: random methods
whose values share memory in every way that TorchScript has. Tensors are picked
by data from branches, lists, dicts, optionals and tuples, and then written to
in place, through views too; lists and dicts have several names and are changed
by each; lists lie in lists, dicts, tuples and NamedTuples; loops swap variables
and write to what they hold.

Usage: make_aliasing.py OUTPUT_DIRECTORY [COUNT] [SEED]   (with PyTorch 2.x)
"""
import sys

import make_programs
import torch

NAMES = ["a", "b", "c", "v", "w"]  # tensors with the shape of x
LISTS = ["ts", "us"]
DICTS = ["d", "e"]

make_programs.HEADER = '''from typing import Dict, List, NamedTuple, Optional, \\
    Tuple

import torch
from torch import Tensor, nn


class Box(NamedTuple):
    items: List[Tensor]
    head: Tensor
    size: int


class Programs(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([0.5, -0.25, 0.75]))
        self.register_buffer("state", torch.tensor([[0.1, 0.2, -0.3]]))

'''


class Aliasing(make_programs.Program):
    def __init__(self, rng):
        super().__init__(rng)
        self.tensors = list(NAMES)

    def l(self):
        return self.rng.choice(LISTS)

    def d(self):
        return self.rng.choice(DICTS)

    def key(self):
        return self.rng.choice(['"p"', '"q"', '"r"'])

    def expression(self):
        r = self.rng
        x, y = self.t(), self.t()
        return r.choice([
            f"torch.tanh({x} + {y})", f"{x} - {y}", f"{x} * {self.number()}",
            f"torch.relu({x})", f"{x}.clone()", f"torch.flip({x}, [0])",
            f"torch.tanh({x}) * self.weight", f"torch.tanh({x}.sum() + {y})",
            f"torch.where({x} > {y}, {x}, {y})", "torch.zeros_like(x) + row",
        ])

    def source_of(self):
        """A tensor that other values have too."""
        r = self.rng
        return r.choice([
            self.t(), f"{self.l()}[-1]", f"{self.l()}[0]", "pair[1]",
            "box.head", "box.items[-1]", "pair[0][0]",
            f'{self.d()}["p"]', "nested[0][-1]",
        ])

    def condition(self):
        r = self.rng
        return r.choice([
            f"bool({self.t()}.sum() > {r.choice(['0', '1', '-0.5'])})",
            f"bool({self.t()}.max() > {self.t()}.max())",
            "bool(row.sum() > 0)", f"bool({self.l()}[-1].mean() > 0)",
            f"{self.i()} % 2 == 0", f"{self.i()} > {r.randint(0, 3)}",
            f"len({self.l()}) > {r.randint(1, 4)}", "x.size(0) > 2",
            f'"q" in {self.d()}', "len(nested) > 2",
        ])

    def integer(self):
        r = self.rng
        return r.choice([
            str(r.randint(0, 4)), self.i(), f"{self.i()} + {r.randint(1, 3)}",
            f"len({self.l()})", f"len({self.d()})", "len(nested)",
            f"int({self.t()}.sum().item() * 3) % 4", "box.size",
        ])

    def pick(self, depth):
        r = self.rng
        to = self.t()
        kind = r.random()
        if kind < 0.4:
            self.emit(depth, f"{to} = {self.source_of()} if {self.condition()}"
                             f" else {self.source_of()}")
        elif kind < 0.7:
            self.emit(depth, f"{to} = {self.source_of()}")
        elif kind < 0.85:
            self.emit(depth, f"if {self.condition()}:")
            self.emit(depth + 1, f"{to} = {self.source_of()}")
        else:
            self.emit(depth, f"{to}, {self.t()} = {self.t()}, {to}")

    def pick_row(self, depth):
        r = self.rng
        rows = [f"{self.t()}[0]", f"{self.t()}[-1]", "row",
                f"{self.t()}[{self.i()} % x.size(0)]",
                f"{self.t()}.view(-1)[:3]", f"{self.t()}.t()[:, 0]",
                f"{self.t()}.select(0, 1)", "self.state[0]", "self.weight",
                f"{self.source_of()}[0]"]
        one, two = r.choice(rows), r.choice(rows)
        self.emit(depth, f"row = {one} if {self.condition()} else {two}"
                  if r.random() < 0.6 else f"row = {one}")

    def write(self, depth):
        r = self.rng
        w = self.source_of() if r.random() < 0.5 else self.t()
        y = self.t()
        self.emit(depth, r.choice([
            f"{w}.add_({y} * 0.5)", f"{w}.mul_({r.choice(['0.5', '-0.25'])})",
            f"{w}[0] = torch.tanh({y}[-1])", f"{w}[:, 1] = {y}[:, 0] * 0.5",
            f"{w}[1:] += 0.25", f"{w}[0, 1] = {self.number()}",
            f"{w}.t()[2].mul_(0.5)", f"{w}[:, ::2].copy_(torch.tanh({y}[:, 1:]))",
            f"{w}[{y} > 0] = 0.5", f"{w}.copy_(torch.tanh({w} + {y}))",
            f"{w}.view(-1)[1:3].zero_()", f"{w}.fill_(0.25)",
            f"{w}[{self.i()} % x.size(0)] = row.clone()",
            f"{w}.masked_fill_({y} > 0.5, 0.75)", f"{w}.clamp_(-0.5, 1.0)",
            "row.mul_(0.5)", "row.add_(0.125)", "row[1:] = 0.5",
            f"row.copy_(torch.tanh({y}[0]))", f"{w}.relu_()",
            f"{w}.unsqueeze(0)[0, 0].sub_(0.25)", f"{w} -= {y} * 0.25",
            f"{w}.index_fill_(0, torch.tensor([1]), 0.5)",
            f"torch.tanh_({w})", f"{w}.diagonal().add_(0.5)",
        ]))

    def container(self, depth):
        r = self.rng
        l, m, t = self.l(), self.l(), self.t()
        kind = r.random()
        if kind < 0.5:
            self.emit(depth, r.choice([
                f"{l}.append({t})", f"{l}.append({self.expression()})",
                f"{l}[({self.integer()}) % len({l})] = {t}",
                f"{l}.insert(0, {t})", f"{l}.reverse()",
                f"{l} = {m}", f"{l} = [{t}, {self.t()}]", f"{l} = {m}[:2]",
                f"{l} = {m} if {self.condition()} else [{t}]",
                f"{l} = {m} if {self.condition()} else {self.l()}",
                f"{l} = pair[0]", f"{l} = box.items", f"{l} = nested[-1]",
                f"{l} = nested[({self.integer()}) % len(nested)]",
                f"{l}[0], {l}[-1] = {l}[-1], {l}[0]",
                f"{l} += [{t}]", f"{l} = {l} + [{t}]",
                f"if len({l}) > 2:\n{'    ' * (depth + 3)}{t} = {l}.pop()",
            ]))
        elif kind < 0.7:
            d, e = self.d(), self.d()
            self.emit(depth, r.choice([
                f"{d}[{self.key()}] = {t}", f"{d} = {e}",
                f"{d} = {e} if {self.condition()} else {{\"p\": {t}}}",
                f"{d}[\"p\"].add_(0.25)", f"{d}.update({e})",
                f"if \"q\" in {d}:\n{'    ' * (depth + 3)}"
                f"{t} = {d}[\"q\"].mul_(0.5)",
                f"for key in {d}:\n{'    ' * (depth + 3)}{d}[key].mul_(0.75)",
                f"for z in {d}.values():\n{'    ' * (depth + 3)}z[0] += 0.25",
            ]))
        elif kind < 0.8:
            self.emit(depth, r.choice([
                f"nested.append({l})", f"nested[-1].append({t})",
                f"nested[({self.integer()}) % len(nested)].append({t})",
                f"nested[0] = {l}", f"nested[-1][0].mul_(0.5)",
                f"nested = [{l}, {m}]",
            ]))
        else:
            self.emit(depth, r.choice([
                f"pair = ({l}, {t})", f"pair[0].append({t})",
                f"pair = ({l}, {t}) if {self.condition()} else pair",
                "pair[1].add_(0.125)", f"box = Box({l}, {t}, {self.i()})",
                "box.head.mul_(0.5)", f"box.items.append({t})",
                f"box = Box(pair[0], {t}, 2) if {self.condition()} else box",
                f"if {self.condition()}:\n{'    ' * (depth + 3)}"
                f"pair = (box.items, box.head)",
            ]))

    def optional(self, depth):
        r = self.rng
        self.emit(depth, r.choice([
            "maybe = None", f"maybe = {self.t()}",
            f"maybe = {self.t()} if {self.condition()} else None"]))
        if r.random() < 0.7:
            self.emit(depth, "if maybe is not None:")
            self.emit(depth + 1, r.choice([
                "maybe.mul_(0.5)", "maybe[0] = 0.25", f"{self.t()} = maybe",
                f"{self.l()}.append(maybe)"]))

    def loop(self, depth):
        r = self.rng
        if r.random() < 0.3:
            l = self.l()
            self.emit(depth, f"for z in {l}:")
            self.emit(depth + 1, r.choice([
                "z.mul_(0.5)", f"z.copy_(torch.tanh(z + {self.t()}))",
                f"{self.t()} = z", "z[0] = row.clone()",
                f"if bool(z.sum() > 0):\n{'    ' * (depth + 4)}z.sub_(0.25)"]))
            return
        super().loop(depth)

    def block(self, depth):
        r = self.rng
        for _ in range(r.randint(1, 4)):
            if self.size > 40:
                self.emit(depth, f"count += {r.randint(1, 3)}")
                return
            k = r.random()
            if k < 0.1:
                self.emit(depth, f"{self.t()} = {self.expression()}")
            elif k < 0.25:
                self.pick(depth)
            elif k < 0.32:
                self.pick_row(depth)
            elif k < 0.52:
                self.write(depth)
            elif k < 0.7:
                self.container(depth)
            elif k < 0.76:
                self.optional(depth)
            elif k < 0.8:
                self.emit(depth, f"count = {self.integer()}")
            elif k < 0.91 and depth < 4:
                self.branch(depth)
            elif depth < 3:
                self.loop(depth)
            else:
                self.write(depth)

    def source(self, name):
        self.ints.append("count")
        for text in (
                "a = x.clone()", "b = torch.tanh(y)", "c = x - y",
                "v = a", "w = b", "row = c[0]", "count = 0",
                "ts: List[Tensor] = [a, b]", "us: List[Tensor] = [c]",
                'd: Dict[str, Tensor] = {"p": b, "q": c}',
                'e: Dict[str, Tensor] = {"p": a + b}',
                "nested: List[List[Tensor]] = [ts, us]",
                "pair: Tuple[List[Tensor], Tensor] = (us, b)",
                "box = Box(ts, c, 1)", "maybe: Optional[Tensor] = None"):
            self.emit(0, text)
        self.size = 0
        for _ in range(self.rng.randint(3, 6)):
            self.block(0)
        for text in (
                "total = a + b * 2 + c * 3 + v * 5 + w * 7",
                "for z in ts:", "    total = total * 0.75 + z",
                "for z in us:", "    total = total * 0.75 - z",
                "for key in d:", "    total = total * 0.5 + d[key]",
                "for key in e:", "    total = total * 0.5 - e[key]",
                "for inner in nested:",
                "    count += len(inner)",
                "    for z in inner:", "        total = total * 0.5 + z",
                "for z in box.items:", "    total = total * 0.5 - z",
                "total = total + pair[1] - box.head + len(pair[0])",
                "if maybe is not None:", "    total = total + maybe",
                "return total + row, count + 10 * len(ts) + 100 * len(us), x"):
            self.emit(0, text)
        head = ("    @torch.jit.export\n"
                f"    def {name}(self, x: Tensor, y: Tensor, n: int) -> "
                "Tuple[Tensor, int, Tensor]:\n")
        return head + "\n".join(self.lines) + "\n\n"


class Reset:
    """Calls methods with the module's state as it was saved: a run forgets what
    it did to it."""

    def __init__(self):
        self.load, self.call = make_programs.load, make_programs.call
        make_programs.load, make_programs.call = self.load_it, self.call_it

    def load_it(self, source, folder):
        self.module = self.load(source, folder)
        self.state = {k: v.clone() for k, v in self.module.state_dict().items()}
        return self.module

    def call_it(self, *args):
        result = self.call(*args)
        if result is not None:
            result = (result[0].clone(), result[1], result[2].clone())
        for name, value in self.module.state_dict().items():
            value.copy_(self.state[name])
        return result


if __name__ == "__main__":
    Reset()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    make_programs.main(Aliasing, "aliasing.ts", 240)
