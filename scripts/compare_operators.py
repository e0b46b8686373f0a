#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls operators with arguments drawn at random, here and in PyTorch.

    bessemer ops | scripts/compare_operators.py [--seed N] [--calls N]
        [--only REGEX] [--log FILE]

Each line of the input ends in an operator's schema. Its arguments are drawn by
their types and names until PyTorch took `--calls` of them; the same graph, as
IR text, is compiled and run with the Python package, which must be installed
beside PyTorch. Prints what differs: a value, a dtype, a shape, a call that is
refused, and how many calls agreed. Random numbers and memory without values are
compared in shape alone. PyTorch itself crashes on some calls: each operator has
a process of its own.

What PyTorch refuses is not looked at. Not every difference is a defect: of
several right answers (signs of vectors, infinities of a Fourier transform,
writes to one element in any order) PyTorch has one.
"""
import argparse
import collections
import json
import math
import os
import random
import re
import signal
import sys

import torch

DTYPES = ([torch.float32] * 10 + [torch.float64] * 2 + [torch.int64] * 2 +
          [torch.float16, torch.bfloat16, torch.int32, torch.uint8, torch.int8,
           torch.int16, torch.bool, torch.bool, torch.complex64])
TOLERANCES = {torch.float32: 2e-4, torch.complex64: 2e-4, torch.float64: 1e-8,
              torch.complex128: 1e-8, torch.float16: 4e-3,
              torch.bfloat16: 3e-2}
SCALAR_TYPES = [0, 1, 2, 3, 4, 5, 6, 6, 6, 7, 7, 9, 11]
SHAPE_ALONE = re.compile(
    r"rand|dropout|bernoulli|multinomial|normal|poisson|exponential|geometric|"
    r"cauchy|uniform|binomial|rrelu|dirichlet|gamma$|empty|resize|svd|eig|qr")
STRINGS = {
    "rounding_mode": ["trunc", "floor"], "indexing": ["ij", "xy"],
    "reduce": ["sum", "mean", "amax", "amin", "prod"],
    "mode": ["constant", "reflect", "replicate", "circular", "bilinear",
             "nearest"],
    "approximate": ["none", "tanh"], "ord": ["fro", "nuc"],
    "interpolation": ["linear", "lower", "higher", "midpoint", "nearest"],
    "padding": ["same", "valid"], "side": ["left", "right"],
    "equation": ["ij,jk->ik", "ij->ji", "...ij,...jk->...ik", "bij,bjk->bik"],
}
INDICES = {"index", "indices", "target", "offsets", "labels"}
NUMBERS = {"IntType": "int", "FloatType": "float", "BoolType": "bool",
           "NumberType": "Scalar", "TensorType": "Tensor"}


class Call:
    """IR text of one call of an operator, and the tensors that it takes."""

    def __init__(self, schema, draw):
        self.schema, self.draw = schema, draw
        self.tensors, self.lines, self.names = [], [], 0
        rank = draw.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 4])
        self.shape = [0 if draw.random() < .04 else draw.randint(1, 5)
                      for _ in range(rank)]
        self.dtype = draw.choice(DTYPES)
        arguments = [self.argument(a, a.type) for a in schema.arguments]
        self.text = None if None in arguments else self.graph(arguments)

    def graph(self, arguments):
        results = []
        for i, r in enumerate(self.schema.returns):
            element = r.type
            is_list = element.kind() == "ListType"
            if is_list:
                element = element.getElementType()
            if element.kind() not in NUMBERS:
                return None
            results.append((f"%r{i}", NUMBERS[element.kind()] +
                            ("[]" if is_list else "")))
        changed = [v for v, a in zip(arguments, self.schema.arguments)
                   if a.alias_info and a.alias_info.is_write
                   and v.startswith("%t")]
        inputs = ", ".join(f"%t{i} : Tensor"
                           for i in range(len(self.tensors)))
        left = ", ".join(f"{v} : {kind}" for v, kind in results)
        call = f"{self.schema.name}({', '.join(arguments)})"
        outputs = ", ".join([v for v, _ in results] + changed)
        return "\n".join([f"graph({inputs}):", *self.lines,
                          f"  {left} = {call}" if left else f"  {call}",
                          f"  return ({outputs})", ""])

    def line(self, kind, expression):
        self.names += 1
        self.lines.append(f"  %c{self.names} : {kind} = {expression}")
        return f"%c{self.names}"

    def constant(self, value):
        if value is None:
            return self.line("NoneType", "prim::Constant()")
        kind, text = type(value).__name__, repr(value)
        if isinstance(value, bool):
            text = str(int(value))
        elif isinstance(value, str):
            text = f'"{value}"'
        return self.line(kind, f"prim::Constant[value={text}]()")

    def listed(self, kind, values):
        return self.line(f"{kind}[]",
                         f"prim::ListConstruct({', '.join(values)})")

    def argument(self, a, kind):
        draw = self.draw
        if a.name in ("generator", "out"):
            return self.constant(None) if a.has_default_value() else None
        if a.has_default_value() and draw.random() < .45:
            made = self.default(a.default_value, kind)
            if made:
                return made
        name = kind.kind()
        if name == "OptionalType":
            return (self.constant(None) if draw.random() < .4
                    else self.argument(a, kind.getElementType()))
        if name == "TensorType":
            return self.tensor(a)
        if name == "DeviceObjType":
            return self.line("Device", 'prim::Constant[value="cpu"]()')
        if name == "ListType":
            return self.list_of(a, kind.getElementType())
        makers = {"IntType": lambda: self.integer(a.name),
                  "FloatType": lambda: self.real(a.name),
                  "BoolType": lambda: draw.random() < .5,
                  "NumberType": lambda: draw.choice(
                      [-2, -1, 0, 1, 2, 3, self.real(a.name),
                       self.real(a.name), True]),
                  "StringType": lambda: draw.choice(
                      STRINGS.get(a.name, ["mean", "sum", "none", "floor"]))}
        return self.constant(makers[name]()) if name in makers else None

    def list_of(self, a, element):
        draw, name = self.draw, element.kind()
        if name == "TensorType":
            count = draw.randint(1, 3)
            return self.listed("Tensor", [self.tensor(a) for _ in range(count)])
        if (name == "OptionalType"
                and element.getElementType().kind() == "TensorType"):
            count = draw.randint(1, max(1, len(self.shape)))
            return self.listed("Tensor?", [
                self.constant(None) if draw.random() < .3 else self.tensor(a)
                for _ in range(count)])
        values = self.integers(a.name, a.N or 0)
        if name == "FloatType":
            values = [self.real(a.name) for _ in range(a.N or len(values))]
        elif name == "BoolType":
            values = [v > 0 for v in values]
        elif name != "IntType":
            return None
        return self.listed(NUMBERS[name], [self.constant(v) for v in values])

    def default(self, value, kind):
        while kind.kind() == "OptionalType":
            kind = kind.getElementType()
        if isinstance(value, list):
            if kind.getElementType().kind() != "IntType":
                return None
            return self.listed("int", [self.constant(v) for v in value])
        if kind.kind() == "FloatType" and value is not None:
            value = float(value)
        plain = value is None or isinstance(value, (bool, int, float, str))
        return self.constant(value) if plain else None

    def integer(self, name):
        draw, rank = self.draw, len(self.shape)
        if "dim" in name or name == "axis":
            return draw.randint(-rank, max(0, rank - 1))
        if name == "dtype":
            return draw.choice(SCALAR_TYPES)
        if name in ("layout", "memory_format"):
            return 0
        if name == "reduction":
            return draw.randint(0, 2)
        if name == "groups":
            return draw.choice([1, 1, 2])
        if "size" in name or name in ("chunks", "k", "repeats", "bins", "n"):
            return draw.choice([1, 2, 3, 1, 2, 0, -1, 4])
        return draw.choice([-2, -1, 0, 0, 1, 1, 1, 2, 2, 3, 4])

    def integers(self, name, fixed):
        draw, rank = self.draw, len(self.shape)
        if "dim" in name or name == "axis":
            count = draw.randint(1, max(1, rank))
            if "permute" in self.schema.name:
                count = rank
            dims = draw.sample(range(rank), min(count, rank))
            return [d - rank if draw.random() < .3 else d for d in dims]
        if name in ("size", "shape"):
            same = [s if s != 1 else draw.randint(1, 3) for s in self.shape]
            return draw.choice([
                draw.sample(self.shape, rank), [-1], [math.prod(self.shape)],
                [draw.randint(1, 3)] + same, self.shape[:1] + [-1],
                [draw.randint(0, 3) for _ in range(draw.randint(0, 4))]])
        if name == "normalized_shape":
            return self.shape[draw.randint(0, max(0, rank - 1)):]
        if name == "pad":
            count = 2 * draw.randint(1, max(1, rank))
            return [draw.randint(-1, 2) for _ in range(count)]
        count = fixed or draw.choice([1, max(1, rank - 2), max(1, rank)])
        if "padding" in name:
            return [draw.randint(0, 1) for _ in range(count)]
        return [draw.randint(1, 3) for _ in range(count)]

    def real(self, name):
        if "eps" in name:
            return self.draw.choice([1e-5, 1e-3, .1])
        if name in ("p", "q", "alpha"):
            return self.draw.choice([0., .5, 1., 2., .1])
        return self.draw.choice([0., .5, 1., -1., 2.5, .1, 3., -2., 1.5])

    def tensor(self, a):
        draw, shape, dtype = self.draw, list(self.shape), self.dtype
        if self.tensors:
            shape = draw.choice([
                shape, shape, shape, shape,
                [1 if draw.random() < .5 else s for s in shape],
                shape[draw.randint(0, len(shape)):],
                shape[:-2] + shape[-2:][::-1],
                shape[-1:] + [draw.randint(1, 4)], shape[:1], shape[1:2],
                [draw.randint(1, 4) for _ in range(draw.randint(0, 4))]])
            if draw.random() < .12:
                dtype = draw.choice(DTYPES)
        if a.name in ("mask", "condition") and draw.random() < .85:
            dtype = torch.bool
        most = None
        if a.name in INDICES and draw.random() < .8:
            dtype, most = torch.int64, max(0, min(self.shape or [1]) - 1)
        values = [self.value(dtype, most) for _ in range(math.prod(shape))]
        x = torch.tensor(values, dtype=torch.complex128 if dtype.is_complex
                         else torch.float64).reshape(shape).to(dtype)
        if x.dim() > 1 and draw.random() < .1:
            x = x.transpose(0, 1)
        self.tensors.append(x)
        return f"%t{len(self.tensors) - 1}"

    def value(self, dtype, most):
        draw = self.draw
        if most is not None:
            return draw.randint(-1 if draw.random() < .05 else 0, most)
        if dtype == torch.bool:
            return draw.random() < .5
        if dtype.is_complex:
            return complex(draw.gauss(0, 2), draw.gauss(0, 2))
        if not dtype.is_floating_point:
            return draw.randint(0 if dtype == torch.uint8 else -3, 4)
        return draw.choice([float(draw.randint(-3, 3)), draw.gauss(0, 1),
                            draw.random(), draw.gauss(0, 10)])


def leaves(value):
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in leaves(v)]
    return [value]


def difference(expected, ours, with_values):
    """What differs, in words; None where nothing does."""
    expected, ours = leaves(expected), leaves(ours)
    if len(expected) != len(ours):
        return f"{len(expected)} results, not {len(ours)}"
    for i, (x, y) in enumerate(zip(expected, ours)):
        y = torch.as_tensor(y)
        if not isinstance(x, torch.Tensor):
            x = torch.as_tensor(x, dtype=y.dtype)
        if x.dtype != y.dtype or x.shape != y.shape:
            return (f"result {i}: {x.dtype}{list(x.shape)}, not "
                    f"{y.dtype}{list(y.shape)}")
        if not with_values or x.numel() == 0:
            continue
        tolerance = TOLERANCES.get(x.dtype, 0)
        if x.dtype.is_complex:
            x, y = (torch.view_as_real(t.resolve_conj()) for t in (x, y))
        x, y = x.double().flatten(), y.double().flatten()
        finite = x[x.isfinite()].abs()
        most = finite.max().item() if finite.numel() else 0
        near = torch.isclose(x, y, rtol=tolerance, equal_nan=True,
                             atol=tolerance * min(most, 1e3) * .1)
        if not near.all():
            at = (~near).nonzero()[0].item()
            return f"result {i}, element {at}: {x[at]}, not {y[at]}"
    return None


def compare(text, seed, calls):
    """Yields what each call came to: ok, wrong or refused, the graph, its
    tensors, and why."""
    import bessemer
    schema = torch._C.parse_schema(text)
    draw = random.Random(f"{seed} {text}")
    for _ in range(12 * calls):
        call = Call(schema, draw)
        if not call.text:
            continue
        tensors = [[str(t.dtype), list(t.shape), str(t.tolist())]
                   for t in call.tensors]
        try:
            function = torch._C._create_function_from_graph(
                "f", torch._C.parse_ir(call.text))
            expected = function(*[t.clone() for t in call.tensors])
        except Exception:
            continue
        try:
            engine = bessemer.compile(call.text.encode(), call.tensors,
                                      timing=False, threads=1)
            why = difference(expected, engine(*call.tensors),
                             not SHAPE_ALONE.search(schema.name))
            yield "wrong" if why else "ok", call.text, tensors, why
        except bessemer.Error as error:
            yield "refused", call.text, tensors, str(error)
        calls -= 1
        if calls == 0:
            return


def in_process(work):
    """The lines that `work` prints in a child, and how it ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(100)
        with os.fdopen(writing, "w") as out:
            for found in work():
                out.write(json.dumps(found) + "\n")
                out.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        found = [json.loads(line) for line in lines]
    return found, os.waitpid(child, 0)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=6)
    parser.add_argument("--only", type=re.compile, default=re.compile(""))
    parser.add_argument("--log", type=argparse.FileType("w"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    counts = collections.Counter()
    for line in sys.stdin:
        text = line.strip()[line.strip().find("aten::"):]
        if not text.startswith("aten::") or not options.only.search(text):
            continue
        found, ended = in_process(
            lambda: compare(text, options.seed, options.calls))
        counts["ended early"] += ended != 0
        for outcome, graph, tensors, why in found:
            counts[outcome] += 1
            if outcome == "ok":
                continue
            print(f"{outcome}: {text.split('(')[0]}: "
                  + why.splitlines()[0], flush=True)
            if options.log:
                options.log.write(f"# {outcome}: {why}\n{graph}")
                options.log.writelines(f"# {t}\n" for t in tensors)
                options.log.flush()
    print(", ".join(f"{counts[k]} {k}" for k in
                    ("ok", "wrong", "refused", "ended early")))
    sys.exit(counts["wrong"] > 0)


if __name__ == "__main__":
    main()
