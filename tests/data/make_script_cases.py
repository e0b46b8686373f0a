#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/script/*.txt: serialized TorchScript and the graphs that
PyTorch makes of it when it loads it again.

A case is a text of sections. "file" sections hold the code members of an
archive; a "graph" section holds, for one method or function, the operator and
the output types of every node in order, blocks in place. Left out are nodes
that the two compilers place differently and that say nothing: constants,
tuples that are packed and unpacked, unchecked_cast, Uninitialized.

    make_script_cases.py OUT_DIR        (with torch 2.11)
"""

import enum
import io
import sys
import zipfile
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import torch
import torch.nn as nn
import torch.nn.functional as F

SKIPPED = {
    "prim::Constant",
    "prim::TupleConstruct",
    "prim::TupleUnpack",
    "prim::unchecked_cast",
    "prim::Uninitialized",
}
STRUCTURE = {"prim::If", "prim::Loop"}


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.layers = nn.Sequential(
            nn.Conv2d(4, 4, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2)
        )
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)))
        x = F.adaptive_avg_pool2d(self.layers(x), [1, 1])
        return F.softmax(self.fc(torch.flatten(x, 1)), dim=1)


class Control(nn.Module):
    def forward(self, x, n: int, flag: Optional[bool] = None):
        total = 0
        outs = []
        for i in range(2, n, 3):
            total += i
        while True:
            total += 1
            if total > 100:
                break
            if total % 2 == 0:
                continue
            x = x * 0.5
            outs.append(x)
        for i, v in enumerate([1, 2, 3]):
            if i == 2:
                return x, total
            total += v * i
        if flag is not None and flag:
            x = x + 1
        y: Optional[torch.Tensor] = None
        if n > 3:
            y = x
        if y is None:
            y = torch.zeros(2)
        return torch.stack(outs).sum() + y, total


class Containers(nn.Module):
    def forward(self, x):
        d: Dict[str, torch.Tensor] = {}
        d["a"] = x
        e = {"out": torch.relu(x), "aux": torch.sigmoid(x)}
        for k, v in d.items():
            e[k] = v
        sizes = [s * 2 for s in x.shape]
        sizes.append(7)
        sizes[0] = 3
        last = sizes[-1]
        part = sizes[1:]
        t = (x, last, "s")
        a, b, c = t
        names: List[str] = [c + "x", c.upper()]
        maybe: List[Optional[int]] = [1, None]
        return e, sizes, part, a, b, names, maybe, len(names), t[1]


class Point(NamedTuple):
    x: torch.Tensor
    n: int
    o: Optional[torch.Tensor]


class Tuples(nn.Module):
    def forward(self, x, p: Point):
        q = Point(x, p.n + 1, p.o)
        values, indices = torch.max(x, 0)
        pair = torch.topk(x, 2)
        o = q.o
        if o is not None:
            x = x + o
        return q, values, pair, torch.sort(x)


class Numbers(nn.Module):
    def forward(self, x, i: int, f: float):
        a = i + f * 2 - i / 3 + i**2 + i // 2 + i % 2
        b = torch.add(x, i) * f - x / 2 + (2 - x) + 1 / x
        c = x**2 + x % 3 + x // 2
        d = bool(x.sum() > 0) and f > 1.5
        e = int(x[0, 0]) + int(f) + int(d)
        g = [1.0, -1e300, 0.1, float("inf"), 1e22]
        h = complex(0, 1)
        j = min(i, 3) + max([i, 2])
        return a, b, c, d, e, g, h, j, str(i), float(i)


class Indexing(nn.Module):
    def forward(self, x, m, i):
        a = x[m]
        b = x[:, i]
        c = x[None, ..., 0]
        d = x[1:, ::2]
        x[0] = 1
        x[:, 1] = 2.5
        x[m] = 0
        x += 1
        x.mul_(2).clamp_(min=0)
        return a, b, c, d, x[-1], x.tolist() if False else 0


class Strings(nn.Module):
    def forward(self, s: str, v: Union[int, str], a: Any):
        r = s + "x\n"
        parts = s.upper().split(",")
        text = "{} {}".format(s, 1)
        if isinstance(v, int):
            q = v + 1
        else:
            q = len(v)
        if isinstance(a, torch.Tensor):
            q += a.dim()
        elif isinstance(a, (int, float)):
            q += 1
        return r, "-".join(parts), text, q, s[0], "a" in s


class Color(enum.Enum):
    RED = 1
    GREEN = 2


@torch.jit.script
class Pair:
    def __init__(self, a: int, b: torch.Tensor):
        self.a = a
        self.b = b

    def add(self, x):
        return self.b + x * self.a


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        pass


class Classes(nn.Module):
    layer: Layer

    def __init__(self):
        super().__init__()
        self.layer = nn.ReLU()
        self.color = Color.RED
        self.count = 0
        self.items = nn.ModuleDict({"b-c": nn.Sigmoid()})

    def forward(self, x):
        p = Pair(2, x)
        y = p.add(self.layer.forward(x))
        self.count += 1
        if self.color == Color.GREEN:
            y = y + 1
        for m in self.items.values():
            y = m(y)
        return y, self.count


class Inner(nn.Module):
    def forward(self, x: torch.Tensor):
        return x + 1


def post(self, input: Tuple[torch.Tensor], output: torch.Tensor):
    return output * 3


def pre(self, input: Tuple[torch.Tensor]) -> torch.Tensor:
    return input[0] * 2


class Hooks(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.inner.register_forward_hook(post)
        self.inner.register_forward_pre_hook(pre)

    def forward(self, x):
        return self.inner(x)


class Interpolate(nn.Module):
    def forward(self, x):
        y = F.interpolate(x, scale_factor=2.0, mode="bilinear")
        return F.gelu(y) + F.layer_norm(y, y.shape[1:])


class Traced(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2)
        self.lstm = nn.LSTM(8, 4, 2, bidirectional=True)

    def forward(self, x):
        y, _ = self.attention(x, x, x)
        z, (h, c) = self.lstm(y)
        b, s, f = x.shape
        w = x.view(b, s * f)
        p, q = w.chunk(2, dim=1)
        return z, h, c, torch.cat([p, q], 1), x[:, :, ::2], x.masked_fill(
            x > 0.5, float("-inf")
        )


def random_module(cls):
    torch.manual_seed(0)
    return cls().eval()


def cases():
    for cls in (
        Cnn,
        Control,
        Containers,
        Tuples,
        Numbers,
        Indexing,
        Strings,
        Classes,
        Hooks,
        Interpolate,
    ):
        yield cls.__name__.lower(), torch.jit.script(random_module(cls))
    example = torch.randn(3, 2, 8)
    yield "traced", torch.jit.trace(random_module(Traced), (example,))
    scripted = torch.jit.script(nn.LSTM(4, 5, 2, bidirectional=True))
    yield "lstm", scripted


def list_nodes(block, out):
    for node in block.nodes():
        kind = node.kind()
        if kind not in SKIPPED:
            schema = node.schema()
            text = kind
            if not schema.startswith("(") and kind not in NO_SCHEMA:
                text = schema.split("(")[0]
            types = [str(o.type()) for o in node.outputs()]
            if types and kind not in STRUCTURE:
                text += " -> " + ", ".join(types)
            out.append(text)
        for inner in node.blocks():
            list_nodes(inner, out)


# Structure that PyTorch registers as operators too.
NO_SCHEMA = STRUCTURE | {
    "prim::ListConstruct",
    "prim::DictConstruct",
    "prim::ListUnpack",
    "prim::TupleIndex",
    "prim::TupleSlice",
    "prim::GetAttr",
    "prim::SetAttr",
    "prim::CreateObject",
    "prim::CallMethod",
    "prim::CallFunction",
    "prim::RaiseException",
    "prim::isinstance",
    "prim::tolist",
    "prim::Print",
    "prim::EnumName",
    "prim::EnumValue",
}


def graphs(data):
    unit = torch._C.CompilationUnit()
    root = torch._C.import_ir_module_from_buffer(
        unit, data, torch.device("cpu"), {}, False
    )
    found = {}

    def walk(module):
        name = module._type().qualified_name()
        for method in module._method_names():
            lines = []
            list_nodes(module._get_method(method).graph, lines)
            found[name + "." + method] = lines
        for _, child in torch._C.ModuleDict(module).items():
            walk(child)

    walk(root)
    for function in unit.get_functions():
        lines = []
        list_nodes(function.graph, lines)
        found[function.qualified_name] = lines
    return found


def write_case(path, module):
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    data = buffer.getvalue()
    archive = zipfile.ZipFile(io.BytesIO(data))
    with open(path, "w") as out:
        version = [n for n in archive.namelist() if n.endswith("/version")][-1]
        out.write("=== version %s\n" % archive.read(version).decode().strip())
        for name in sorted(archive.namelist()):
            if "/code/" in name and name.endswith(".py"):
                out.write("=== file %s\n" % name.split("/", 1)[1])
                out.write(archive.read(name).decode())
        for name, lines in graphs(data).items():
            out.write("=== graph %s\n" % name)
            out.write("".join(line + "\n" for line in lines))


def main():
    names = []
    for name, module in cases():
        write_case("%s/%s.txt" % (sys.argv[1], name), module)
        names.append(name)
    with open(sys.argv[1] + "/cases.txt", "w") as out:
        out.write("".join(name + "\n" for name in names))


if __name__ == "__main__":
    main()
