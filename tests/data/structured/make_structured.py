# SPDX-License-Identifier: Apache-2.0
"""Models with structured arguments and results, for structured_io_test.c.

Writes beside this script:
  structured.ts    one module; each method is a case
  traced.ts        a traced module with the shapes of its example inputs
  structured.npz   "METHOD/in/PATH" and "METHOD/out/PATH" by PyTorch, with the
                   paths that an engine gives its inputs and outputs
  nested_paths.npz, ...   arrays for the command line

Needs torch and numpy; the tests need neither.
"""
import os
import sys
import zipfile
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np
import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts"))
import relative_paths

HERE = os.path.dirname(os.path.abspath(__file__))


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


class Found(NamedTuple):
    boxes: torch.Tensor
    label: str
    pair: Pair
    count: int


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        return self.linear(x)

    @torch.jit.export
    def twice(self, x, times: int = 2):
        return self.linear(x) * times


class Structured(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 2)])

    def forward(self, x):
        return self.layers[1](self.layers[0](x))

    @torch.jit.export
    def nested(self, batch: Dict[str, List[torch.Tensor]], scale: float):
        result: Dict[str, List[torch.Tensor]] = {}
        for key, items in batch.items():
            made: List[torch.Tensor] = []
            for item in items:
                made.append(item * scale)
            result[key + "_scaled"] = made
        return result

    @torch.jit.export
    def named(self, pair: Pair, bias: float = 0.5):
        both = Pair(pair.left + pair.right, pair.left - pair.right + bias)
        return Found(both.left * both.right, "found", both, both.left.size(0))

    @torch.jit.export
    def optional(self, x, mask: Optional[torch.Tensor] = None, factor: Optional[int] = 3):
        if mask is not None:
            x = x * mask
        if factor is not None:
            x = x + factor
        return x

    @torch.jit.export
    def total(self, xs: List[torch.Tensor]):
        return torch.cat(xs, 0), len(xs)

    @torch.jit.export
    def choose(self, x, mode: str, negate: bool):
        if mode == "relu":
            x = torch.relu(x)
        elif mode == "tanh":
            x = torch.tanh(x)
        else:
            raise RuntimeError("unknown mode " + mode)
        if negate:
            x = -x
        return x, "used " + mode

    @torch.jit.export
    def sized(self, x, n: int, shape: List[int], pads: Tuple[int, int]):
        y = x.reshape(shape).repeat(n, 1)
        return torch.nn.functional.pad(y, [pads[0], pads[1]])

    @torch.jit.export
    def tuples(self, p: Tuple[Tuple[torch.Tensor, torch.Tensor], torch.Tensor]):
        (a, b), c = p
        return (c, (a + b, (a - c,))), b * 2

    @torch.jit.export
    def mixed(self, x):
        nothing: Optional[torch.Tensor] = None
        return (x + 1, x.size(1), 0.25, True, "text", nothing, x.sum().item() > 0,
                [x.size(0), 7])

    @torch.jit.export
    def keyed(self, parts: Dict[int, torch.Tensor]):
        result: Dict[int, torch.Tensor] = {}
        for key, value in parts.items():
            result[key * 10] = value + key
        return result

    @torch.jit.export
    def numbers(self, x, alpha: float, n: int, flag: bool):
        y = x * alpha + n
        if flag:
            y = -y
        return y, alpha * 2, n + 1

    @torch.jit.export
    def either(self, x: Union[torch.Tensor, List[torch.Tensor]]):
        if isinstance(x, torch.Tensor):
            return x * 2
        else:
            return x[0] + x[1]

    @torch.jit.export
    def listed(self, x):
        result: List[Dict[str, torch.Tensor]] = []
        result.append({"boxes": x[:2], "scores": x.sum(1)})
        result.append({"boxes": x[2:], "scores": x.mean(1)})
        return result


class Traced(nn.Module):
    def forward(self, x, pair, parts, more):
        return x + pair[0] * parts["a"], {"difference": x - pair[1] * parts["b"]}, more[0] + more[1]


def tree(value, path=""):
    """The leaves of an argument that are arrays, by path."""
    if isinstance(value, torch.Tensor):
        return {path: value.numpy()}
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        items = zip(value._fields, value)
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    else:
        return {path: np.array(value)} if isinstance(value, (int, float)) else {}
    made = {}
    for key, item in items:
        made.update(tree(item, f"{path}.{key}" if path else str(key)))
    return made


def result_tree(value):
    """As tree(), with the names of outputs."""
    plain = isinstance(value, (list, tuple)) and not hasattr(value, "_fields")
    if isinstance(value, torch.Tensor):
        return {"output_0": value.numpy()}
    made = tree(value)
    return {("output_" + k if plain else k): v for k, v in made.items()}


def write(path, arrays):
    """An .npz that is the same every time."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, array in sorted(arrays.items()):
            info = zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0))
            with file.open(info, "w") as member:
                np.lib.format.write_array(member, np.asanyarray(array))


def command_line_arrays():
    """What tests/tools/cli_test.sh gives to the command."""
    r = torch.rand
    batch = {"a": [r(2, 3), r(1)], "b": [r(4)]}
    paths = tree({"batch": batch, "scale": 1.5})
    write(os.path.join(HERE, "nested_paths.npz"), paths)
    write(os.path.join(HERE, "nested_other.npz"), {**paths, "scale": np.array(2.5)})
    order = {f"in_{i}": r(2).numpy() for i in range(3)}
    write(os.path.join(HERE, "tuples_order.npz"), {**order, "square": r(2, 2).numpy()})
    traced = [r(2, 3), r(2, 3), r(3), r(1), r(3), r(2), r(1)]
    write(os.path.join(HERE, "traced_order.npz"), {f"in_{i}": x.numpy() for i, x in enumerate(traced)})
    write(os.path.join(HERE, "choose_text.npz"),
          {"in_0": r(3).numpy(), "in_1": np.array("relu"), "in_2": np.array(False),
           "names": np.array(["a", "\u00e9\u4e2d\U0001f600"]), "bytes": np.array(b"xy"),
           "object": np.array(None, dtype=object)})
    write(os.path.join(HERE, "choose.npz"), {"x": r(3).numpy(), "negate": np.array(False)})


def main():
    torch.manual_seed(1)
    r = torch.rand
    module = torch.jit.script(Structured().eval())
    torch.jit.save(module, os.path.join(HERE, "structured.ts"))
    relative_paths.rewrite(os.path.join(HERE, "structured.ts"))
    module = torch.jit.load(os.path.join(HERE, "structured.ts"))
    calls = [
        ("forward", module.forward, {"x": r(2, 4)}),
        ("nested", module.nested, {"batch": {"a": [r(2, 3), r(1)], "b.c": [r(4)]}, "scale": 1.5}),
        ("named", module.named, {"pair": Pair(r(3, 2), r(3, 2))}),
        ("optional", module.optional, {"x": r(2, 2)}),
        ("optional_given", module.optional, {"x": r(2, 2), "mask": r(2, 2), "factor": None}),
        ("total", module.total, {"xs": [r(1, 2), r(3, 2), r(2, 2)]}),
        ("choose", module.choose, {"x": r(3) - 0.5, "mode": "relu", "negate": True}),
        ("sized", module.sized, {"x": r(4), "n": 2, "shape": [2, 2], "pads": (1, 2)}),
        ("tuples", module.tuples, {"p": ((r(2), r(2)), r(2))}),
        ("mixed", module.mixed, {"x": r(2, 3)}),
        ("keyed", module.keyed, {"parts": {1: r(2), 7: r(3)}}),
        ("numbers", module.numbers, {"x": r(3), "alpha": 2.5, "n": 4, "flag": True}),
        ("either", module.either, {"x": [r(2), r(2)]}),
        ("listed", module.listed, {"x": r(3, 4)}),
        ("encoder.twice", module.encoder.twice, {"x": r(2, 4)}),
        ("layers.1.forward", getattr(module.layers, "1").forward, {"input": r(3, 4)}),
    ]
    arguments = {"x": r(2, 3), "pair": (r(2, 3), r(3)), "parts": {"a": r(1), "b": r(3)},
                 "more": [r(2), r(1)]}
    traced = torch.jit.trace(Traced(), tuple(arguments.values()), strict=False)
    torch.jit.save(traced, os.path.join(HERE, "traced.ts"))
    relative_paths.rewrite(os.path.join(HERE, "traced.ts"))
    calls.append(("traced", traced, arguments))
    arrays = {}
    with torch.no_grad():
        for name, call, arguments in calls:
            values = tree(arguments)
            for path, array in values.items():
                arrays[f"{name}/in/{path}"] = array
            result = call(*arguments.values()) if name in ("traced", "layers.1.forward") else call(**arguments)
            for path, array in result_tree(result).items():
                arrays[f"{name}/out/{path}"] = array
    write(os.path.join(HERE, "structured.npz"), arrays)
    command_line_arrays()


if __name__ == "__main__":
    main()
