#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/lowering/{scripted,traced}.ts: modules with many methods,
each with example inputs and what PyTorch computes from them, in the member
extra/cases.bin (little-endian, 8 bytes each unless said otherwise):

  count, then for each case:
    length of the name, the name, number of inputs, values, number of outputs,
    values
  value := 0 dtype rank dims.. bytes      tensor (bytes of it, contiguous)
         | 1 int | 2 double | 3 bool      number
         | 4 count values..               list
         | 5                              None

Usage: make_lowering.py OUTPUT_DIRECTORY   (with PyTorch 2.x)
"""
import io
import os
import struct
import sys
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import relative_paths

DTYPES = {
    torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3,
    torch.int64: 4, torch.float16: 5, torch.float32: 6, torch.float64: 7,
    torch.bool: 11, torch.bfloat16: 15,
}


def encode(value) -> bytes:
    if value is None:
        return struct.pack("<q", 5)
    if isinstance(value, bool):
        return struct.pack("<qq", 3, value)
    if isinstance(value, int):
        return struct.pack("<qq", 1, value)
    if isinstance(value, float):
        return struct.pack("<qd", 2, value)
    if isinstance(value, (list, tuple)):
        return struct.pack("<qq", 4, len(value)) + b"".join(
            encode(v) for v in value)
    t = value.detach().contiguous()
    head = struct.pack("<qqq", 0, DTYPES[t.dtype], t.dim())
    head += b"".join(struct.pack("<q", d) for d in t.shape)
    return head + t.numpy().tobytes()


def flatten(value) -> list:
    if isinstance(value, dict):
        return [leaf for v in value.values() for leaf in flatten(v)]
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in flatten(v)]
    return [value]


class Pair(NamedTuple):
    first: Tensor
    count: int


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.5, -2.0, 0.25]))
        self.register_buffer("steps", torch.zeros(2))

    def forward(self, x: Tensor) -> Tensor:
        self.steps.add_(1)
        return x * self.weight + self.steps.sum()


class Scripted(nn.Module):
    """One exported method for each thing the specialiser has to get right."""

    maybe: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.register_buffer("state", torch.arange(6.0).reshape(2, 3))
        self.register_buffer("table", torch.arange(4.0))
        self.names: List[str] = ["a", "b"]
        self.sizes: Dict[str, int] = {"a": 1, "b": 2}
        self.log: List[int] = [7]
        self.counter = 3
        self.maybe = None

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)

    # ---- writes through views ----
    @torch.jit.export
    def write_select(self, x: Tensor) -> Tensor:
        y = x * 2
        y[1] = x[0] + 1
        y[0, 2] = 5.0
        return y

    @torch.jit.export
    def write_slice(self, x: Tensor) -> Tensor:
        y = x.clone()
        y[:, 1:3] += 10
        y[:, ::2] *= 3
        return y

    @torch.jit.export
    def write_nested_views(self, x: Tensor) -> Tensor:
        y = x + 0.5
        z = y.view(2, 2, 3)
        t = z.transpose(0, 2)
        t[1].mul_(4)
        z[0].add_(1)
        return y + t.permute(2, 1, 0).reshape(4, 3)

    @torch.jit.export
    def read_after_write(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        y = x.clone()
        before = y[0] * 1
        view = y[0]
        y.add_(1)
        after = view * 1
        view.zero_()
        return before, after, y

    @torch.jit.export
    def write_permuted(self, x: Tensor) -> Tensor:
        y = x.exp()
        y.permute(1, 0)[2].copy_(torch.zeros(4))
        y.t()[0].fill_(7)
        return y

    @torch.jit.export
    def write_unsqueezed(self, x: Tensor) -> Tensor:
        y = x.abs()
        y.unsqueeze(0).squeeze(0).unsqueeze(-1).add_(2)
        y.unsqueeze_(0)
        y.add_(1)
        y.squeeze_(0)
        return y

    @torch.jit.export
    def write_diagonal(self, x: Tensor) -> Tensor:
        y = x.clone()
        y.diagonal().fill_(-1)
        return y

    @torch.jit.export
    def write_strided(self, x: Tensor) -> Tensor:
        y = x.clone()
        y.as_strided([2, 2], [3, 2], 1).mul_(10)
        y.unfold(0, 2, 2).add_(1)
        return y

    @torch.jit.export
    def write_split(self, x: Tensor) -> Tensor:
        y = x.clone()
        a, b = y.split([1, 2], 1)
        a.add_(1)
        b.mul_(b)
        for row in y.unbind(0):
            row.sub_(0.5)
        c = y.chunk(2, 0)
        c[1].neg_()
        return y

    @torch.jit.export
    def write_expanded_source(self, x: Tensor) -> Tensor:
        y = torch.zeros([4, 3])
        y[:, 0] = x[:, 0]
        y[1] = x.sum()
        y[2:] = x[2:].mean(0)
        return y

    @torch.jit.export
    def write_masked(self, x: Tensor) -> Tensor:
        y = x.clone()
        y[x > 0] = 0.0
        y.masked_fill_(y < -1, -1.0)
        return y

    @torch.jit.export
    def write_indexed(self, x: Tensor) -> Tensor:
        y = x.clone()
        index = torch.tensor([2, 0])
        y[index] = torch.ones(2, 3)
        y[:, index] += 2
        y.index_add_(0, index, x[:2])
        return y

    @torch.jit.export
    def write_dtype(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        y = x.clone()
        y.add_(torch.ones([3], dtype=torch.float64) / 3)
        z = (x * 10).to(torch.int64)
        z.add_(3)
        z[0] = 2.9
        return y, z

    @torch.jit.export
    def write_input(self, x: Tensor) -> Tensor:
        x.add_(1)
        x[0].mul_(2)
        return x.relu_()

    @torch.jit.export
    def write_self_overlap(self, x: Tensor) -> Tensor:
        y = x.clone()
        y.add_(y)
        y[1:] = y[:-1] + 0
        return y

    @torch.jit.export
    def write_reshaped_copy(self, x: Tensor) -> Tensor:
        y = x.t().reshape(-1)
        y.mul_(0)
        z = x.reshape(-1)
        z2 = z + 1
        return y.sum() + x.sum() + z2.sum()

    @torch.jit.export
    def out_of_place_chain(self, x: Tensor) -> Tensor:
        y = F.relu(x, inplace=True)
        y += 1
        y -= 0.25
        y *= 2
        y /= 3
        y = F.hardtanh_(y, -0.5, 0.75)
        return torch.add(y, x, alpha=2)

    # ---- constants and state ----
    @torch.jit.export
    def state_known(self, x: Tensor) -> Tensor:
        self.state.add_(1)
        a = self.state.sum()
        self.state[0].zero_()
        return x * a + self.state.sum()

    @torch.jit.export
    def state_unknown(self, x: Tensor) -> Tensor:
        view = self.table[1:3]
        self.table[2] = x.sum()
        self.table.mul_(2)
        return self.table + view.sum()

    @torch.jit.export
    def state_twice(self, x: Tensor) -> Tensor:
        return self.inner(x) + self.inner(x)

    @torch.jit.export
    def attributes(self, x: Tensor) -> Tuple[Tensor, int]:
        self.counter += 1
        self.log.append(self.counter)
        self.sizes["c"] = len(self.log)
        total = 0
        for name in self.sizes.keys():
            total += self.sizes[name]
        if self.maybe is not None:
            x = x + 100
        self.maybe = x
        m = self.maybe
        if m is not None:
            x = x + m
        return x * total, self.counter

    @torch.jit.export
    def snapshot(self, x: Tensor) -> Tensor:
        c = torch.zeros([3])
        a = x + c
        c.add_(1)
        b = x + c
        c[0] = 9
        return a + b * c

    # ---- containers ----
    @torch.jit.export
    def lists(self, x: Tensor) -> Tensor:
        parts: List[Tensor] = []
        for i in range(4):
            parts.append(x * i)
        parts.insert(0, x)
        last = parts.pop()
        parts[1] = last + 1
        parts.extend([x, x])
        parts.reverse()
        return torch.cat(parts[1:4], dim=0) + len(parts)

    @torch.jit.export
    def dicts(self, x: Tensor) -> Dict[str, Tensor]:
        d: Dict[str, Tensor] = {"a": x, "b": x + 1}
        d["c"] = d["a"] * d["b"]
        out: Dict[str, Tensor] = {}
        for k, v in d.items():
            if k != "b":
                out[k + "!"] = v
        if "a!" in out:
            out["n"] = torch.tensor(len(out))
        return out

    @torch.jit.export
    def tuples(self, x: Tensor) -> Tuple[Pair, Tuple[Tensor, int], float]:
        p = Pair(x, 2)
        q = Pair(p.first * p.count, p.count + 1)
        first, count = q
        return q, (first + count, count), 1.5

    @torch.jit.export
    def aliased_list(self, x: Tensor) -> Tensor:
        a = [x, x * 2]
        b = a
        b[0] = x + 5
        y = a[0].clone()
        c = [y, y]
        c[0].add_(1)
        return c[1] + a[1]

    @torch.jit.export
    def list_inputs(self, xs: List[Tensor], n: int) -> List[Tensor]:
        out = [x * n for x in xs]
        xs.append(out[0])
        return out + [torch.stack([x.sum() for x in xs])]

    @torch.jit.export
    def optional_input(self, x: Tensor, mask: Optional[Tensor],
                       scale: Optional[float]) -> Tensor:
        if mask is not None:
            x = x.masked_fill(mask, 0.0)
        if scale is None:
            scale = 0.5
        return x * scale

    # ---- control flow ----
    @torch.jit.export
    def early_return(self, x: Tensor, flag: bool) -> Tensor:
        if flag:
            if x.size(0) > 2:
                return x + 1
        for i in range(10):
            if i == 3:
                return x * i
        return x

    @torch.jit.export
    def while_break(self, x: Tensor) -> Tensor:
        i = 0
        while True:
            i += 1
            if i == 2:
                continue
            if i > 5:
                break
            x = x + i
        return x

    @torch.jit.export
    def nested_loops(self, x: Tensor) -> Tensor:
        out = torch.zeros_like(x)
        for i in range(x.size(0)):
            for j in range(i, x.size(1)):
                out[i, j] = x[i, j] * (i + j)
        return out

    @torch.jit.export
    def module_loop(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = F.relu(block(x))
        return x

    @torch.jit.export
    def fibonacci(self, x: Tensor) -> Tensor:
        a, b = 0, 1
        for _ in range(10):
            a, b = b, a + b
        return x * a

    @torch.jit.export
    def dead_code(self, x: Tensor) -> Tensor:
        if self.training:
            x = torch.bernoulli(x)
        if x.dim() != 2:
            raise ValueError("expected 2D, got {}D".format(x.dim()))
        y = F.dropout(x, 0.5, self.training)
        assert y.size(-1) == 3, "wrong"
        return y

    @torch.jit.export
    def branch_on_data(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            y = x + 1
        else:
            y = x - 1
        return y * 2

    @torch.jit.export
    def branch_writes(self, x: Tensor) -> Tensor:
        y = x.clone()
        v = y[0]
        if bool((x[0, 0] > 100).item()):
            y.mul_(3)
        else:
            v.add_(5)
            y[1] = 0
        return y + v

    @torch.jit.export
    def branch_nested(self, x: Tensor) -> Tensor:
        s = x.sum()
        if bool(s > 0):
            if bool(s > 1000):
                y = x * 3
            else:
                y = x * 4
        elif bool(s < -10):
            y = x * 5
        else:
            y = x * 6
        return y

    @torch.jit.export
    def branch_return(self, x: Tensor) -> Tensor:
        if bool(x.max() > 1e6):
            return x
        return x + 1

    @torch.jit.export
    def item_scalar(self, x: Tensor) -> Tensor:
        m = x.max().item()
        return x / m + float(x.min())

    # ---- shapes ----
    @torch.jit.export
    def shapes(self, x: Tensor) -> Tensor:
        b, c = x.shape
        y = x.reshape(c, b).view(-1, b * c // 2)
        z = y.expand(3, -1, -1).contiguous()
        n = z.numel() // z.size(-1)
        return z.view(n, -1)[: max(1, n - 2)]

    @torch.jit.export
    def masks(self, x: Tensor) -> Tensor:
        n = x.size(0)
        mask = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        w = (x @ x.t()).masked_fill(mask, float("-inf"))
        return torch.softmax(w, dim=-1)

    @torch.jit.export
    def slicing(self, x: Tensor) -> Tensor:
        return torch.cat([x[:, -1:], x[1:, :].repeat(2, 1)[:4, :2],
                          x[..., None].squeeze(-1)[:, :1]], dim=1)

    @torch.jit.export
    def einsums(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        a = torch.einsum("ij,kj->ik", [x, x])
        b = torch.einsum("ij,ij->", [x, x])
        c = torch.einsum("...i,...j->...ij", [x, x])
        d = torch.einsum("ii->i", [a])
        return a, b, c, d

    @torch.jit.export
    def attention(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        q = x.view(1, 2, 2, 3)
        a = F.scaled_dot_product_attention(q, q, q)
        b = F.scaled_dot_product_attention(q, q, q, is_causal=True)
        m = (x[:2, :2] > 0).view(1, 1, 2, 2)
        c = F.scaled_dot_product_attention(q, q, q, attn_mask=m, scale=0.3)
        return a, b, c


class Traced(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.register_buffer("offset", torch.arange(3.0))

    def forward(self, x):
        return self.fc(x)

    def shape_arithmetic(self, x):
        n, c = x.shape
        y = x.view(n // 2, 2 * c)
        return y.reshape(x.size(0) * x.size(1)) + x.shape[0] * self.offset[1]

    def in_place(self, x):
        y = self.fc(x)
        y[:, 0] = 0
        y[1:, 1:] += x[:-1, 1:]
        y.relu_()
        return y

    def heads(self, x):
        q = self.fc(x).view(x.size(0), 1, x.size(1)).transpose(0, 1)
        w = torch.softmax(q @ q.transpose(-2, -1) / (x.size(1) ** 0.5), -1)
        return (w @ q).transpose(0, 1).contiguous().view(x.size(0), -1)

    def structures(self, x):
        parts = torch.split(x, 2, dim=0)
        return {"sum": parts[0] + parts[1], "two": torch.cat(parts, 1)}


X = torch.tensor([[0.5, -1.25, 2.0], [3.0, 0.75, -0.5],
                  [-2.0, 1.0, 0.25], [1.5, -3.0, 4.0]])
CASES = {
    "forward": [X], "write_select": [X], "write_slice": [X],
    "write_nested_views": [X], "read_after_write": [X], "write_permuted": [X],
    "write_unsqueezed": [X], "write_diagonal": [X], "write_strided": [X],
    "write_split": [X], "write_expanded_source": [X], "write_masked": [X],
    "write_indexed": [X], "write_dtype": [X], "write_input": [X],
    "write_self_overlap": [X], "write_reshaped_copy": [X],
    "out_of_place_chain": [X], "state_known": [X], "state_unknown": [X],
    "state_twice": [X], "attributes": [X], "snapshot": [X], "lists": [X],
    "dicts": [X], "tuples": [X], "aliased_list": [X],
    "list_inputs": [[X, X + 1], 3], "early_return": [X, True],
    "while_break": [X], "nested_loops": [X],
    "module_loop": [torch.linspace(-1, 1, 8).reshape(2, 4)],
    "fibonacci": [X], "dead_code": [X], "branch_on_data": [X],
    "branch_writes": [X], "branch_nested": [X], "branch_return": [X],
    "item_scalar": [X], "shapes": [X], "masks": [X], "slicing": [X],
    "einsums": [X], "attention": [X],
}
MORE = [
    ("optional_input", [X, X > 1, None]), ("optional_input", [X, None, 2.0]),
    ("early_return", [X[:2], True]), ("early_return", [X, False]),
    ("branch_on_data", [-X]), ("branch_nested", [-10 * X]),
    ("branch_nested", [1000 * X]), ("branch_writes", [X + 200]),
    ("branch_return", [X * 1e7]),
]
TRACED = ["forward", "shape_arithmetic", "in_place", "heads", "structures"]


def case_bytes(model_factory, name, inputs) -> bytes:
    # A fresh copy each time: state must not leak from one case to the next.
    model = model_factory()
    outputs = flatten(getattr(model, name)(*clone(inputs)))
    raw = name.encode()
    return (struct.pack("<q", len(raw)) + raw +
            struct.pack("<q", len(inputs)) + b"".join(map(encode, inputs)) +
            struct.pack("<q", len(outputs)) + b"".join(map(encode, outputs)))


def clone(value):
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, list):
        return [clone(v) for v in value]
    return value


def save(module, path, cases):
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)

    def load():
        buffer.seek(0)
        return torch.jit.load(buffer)

    data = struct.pack("<q", len(cases)) + b"".join(
        case_bytes(load, name, inputs) for name, inputs in cases)
    torch.jit.save(module, path, _extra_files={"cases.bin": data})
    relative_paths.rewrite(path)
    print(path, os.path.getsize(path), len(cases), "cases")


def main(folder):
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(0)
    with torch.no_grad():
        scripted = torch.jit.script(Scripted().eval())
        save(scripted, os.path.join(folder, "scripted.ts"),
             list(CASES.items()) + MORE)
        traced = torch.jit.trace_module(
            Traced().eval(), {name: (X,) for name in TRACED}, strict=False)
        save(traced, os.path.join(folder, "traced.ts"),
             [(name, [X]) for name in TRACED])


if __name__ == "__main__":
    main(sys.argv[1])
