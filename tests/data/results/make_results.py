# SPDX-License-Identifier: Apache-2.0
"""Models whose results have a length, keys or a kind that the data decide, for
run_time_results_test.c.

Writes beside this script:
  results.ts    one module; each method is a case
  results.npz   for each call of a method: "METHOD.CALL/in", its argument;
                "METHOD.CALL/text", PyTorch's result as the structure of a run
                prints it; "METHOD.CALL/I", output I of it, if it is a tensor
  rows.npz      an argument for the command line

Needs torch and numpy; the tests need neither.
"""
import os
import sys
import zipfile
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts"))
import relative_paths

HERE = os.path.dirname(os.path.abspath(__file__))
Tensor = torch.Tensor


class Found(NamedTuple):
    box: Tensor
    label: str
    score: float


class Group(NamedTuple):
    items: List[Found]
    best: Optional[Found]


class Results(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("table", torch.arange(4.0))

    def forward(self, x):
        """Rows whose sum is positive, each on its own."""
        rows: List[Tensor] = []
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                rows.append(self.linear(x[i]))
        return rows

    @torch.jit.export
    def integers(self, x):
        out: List[int] = []
        n = int(x.sum())
        while n > 1:
            out.append(n)
            n = n // 2 if n % 2 == 0 else 3 * n + 1
        return out

    @torch.jit.export
    def numbers(self, x) -> Tuple[List[float], List[bool], List[str]]:
        floats: List[float] = []
        bools: List[bool] = []
        words: List[str] = []
        for i in range(x.size(0)):
            v = float(x[i])
            if v > 0:
                floats.append(v)
                words.append("n%d" % i)
            bools.append(v > 1)
        return floats, bools, words

    @torch.jit.export
    def to_list(self, x) -> List[List[int]]:
        y = x[x.sum(1) > 0]
        out: List[List[int]] = y.long().tolist()
        return out

    @torch.jit.export
    def keyed(self, x):
        out: Dict[str, Tensor] = {}
        if bool(x.sum() > 0):
            out["positive"] = x * 2
        if bool(x.max() > 1):
            out["large.\n"] = x[x > 1]
        return out

    @torch.jit.export
    def int_keys(self, x):
        out: Dict[int, Tensor] = {}
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                out[i * 10] = x[i]
        return out

    @torch.jit.export
    def float_keys(self, x):
        out: Dict[float, List[int]] = {}
        for i in range(x.size(0)):
            k = float(x[i])
            if k > 0:
                out[k] = [i, int(k)]
        return out

    @torch.jit.export
    def maybe(self, x) -> Optional[Tensor]:
        if bool(x.sum() > 0):
            return x + 1
        return None

    @torch.jit.export
    def maybe_int(self, x) -> Optional[int]:
        if bool(x.sum() > 0):
            return int(x.argmax())
        return None

    @torch.jit.export
    def maybe_list(self, x) -> Tuple[Tensor, Optional[List[Tensor]]]:
        if bool(x.sum() > 0):
            return x, [x, x * 2, self.table]
        return x, None

    @torch.jit.export
    def detections(self, x):
        out: List[Dict[str, Tensor]] = []
        for i in range(x.size(0)):
            keep = torch.nonzero(x[i] > 0).squeeze(1)
            out.append({"labels": keep, "scores": x[i][keep]})
        return out

    @torch.jit.export
    def filtered(self, x):
        out: List[Dict[str, Tensor]] = []
        for i in range(x.size(0)):
            keep = torch.nonzero(x[i] > 0).squeeze(1)
            if keep.numel() > 0:
                out.append({"labels": keep, "scores": x[i][keep]})
        return out

    @torch.jit.export
    def nested(self, x):
        out: List[List[Tensor]] = []
        for i in range(x.size(0)):
            row: List[Tensor] = []
            for j in range(x.size(1)):
                if bool(x[i, j] > 0):
                    row.append(x[i, j])
            if i == 0 or bool(x[i, 0] < 1):
                out.append(row)
        return out

    @torch.jit.export
    def mixed(self, x):
        rows: List[Tensor] = []
        n = 0
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                rows.append(x[i])
                n += 1
        return x.sum(), rows, n, "rows", {"n": n, "rows": rows}

    @torch.jit.export
    def word(self, x) -> Tuple[str, Tensor]:
        if bool(x.sum() > 0):
            return "positive", x
        return "negative\n\"", -x

    @torch.jit.export
    def pairs(self, x):
        out: List[Tuple[Tensor, int]] = []
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                out.append((x[i], i))
        return out

    @torch.jit.export
    def named(self, x) -> Group:
        items: List[Found] = []
        best: Optional[Found] = None
        for i in range(x.size(0)):
            score = float(x[i].sum())
            if score > 0:
                f = Found(x[i], "row", score)
                items.append(f)
                if best is None:
                    best = f
                elif best.score < score:
                    best = f
        return Group(items, best)

    @torch.jit.export
    def optionals(self, x):
        out: List[Optional[Tensor]] = []
        n = int((x > 0).sum())
        for i in range(n):
            if i % 2 == 0:
                out.append(None)
            else:
                out.append(x[i])
        return out

    @torch.jit.export
    def shared(self, x):
        """The argument, a weight and one tensor twice."""
        out: List[Tensor] = [x, self.table]
        y = x * 2
        if bool(x.sum() > 0):
            out.append(y)
            out.append(y)
            out.append(y.t())
        return out

    @torch.jit.export
    def complexes(self, x) -> List[complex]:
        out: List[complex] = []
        for i in range(int(x.sum())):
            out.append(complex(float(i), 0.5))
        return out

    @torch.jit.export
    def tree(self, x) -> Dict[str, Dict[int, List[Tensor]]]:
        out: Dict[str, Dict[int, List[Tensor]]] = {}
        for i in range(x.size(0)):
            inner: Dict[int, List[Tensor]] = {}
            for j in range(x.size(1)):
                if bool(x[i, j] > 0):
                    inner[j] = [x[i, j], x[i]]
            if bool(x[i, 0] > 0):
                out["row%d" % i] = inner
        return out

    @torch.jit.export
    def maybe_dict(self, x) -> Tuple[int, Optional[Dict[str, List[Optional[str]]]]]:
        words: Dict[str, List[Optional[str]]] = {}
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                word: Optional[str] = None
                if bool(x[i, 0] > 0):
                    word = "w%d" % i
                words["k%d" % i] = [word, "z"]
        if len(words) == 0:
            return 0, None
        return len(words), words

    @torch.jit.export
    def anything(self, x) -> Any:
        if bool(x.sum() > 0):
            return x
        return (x, 1)

    @torch.jit.export
    def rows(self, x):
        """As many as the shape says."""
        return [r * 2 for r in x.unbind(0)]

    @torch.jit.export
    def chunks(self, x):
        out: List[Tensor] = []
        for part in torch.split(x, 2):
            out.append(part + 1)
        return out, x.sum(1)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def walk(value, leaves):
    """The text of a result; its tensors go to `leaves`, and None for numbers."""
    if isinstance(value, (torch.Tensor, complex)):
        leaves.append(np.array(value, np.complex128) if isinstance(value, complex) else value.numpy())
        return f"Tensor -> {len(leaves) - 1}"
    if isinstance(value, (bool, int, float)):
        leaves.append(None)
        return f"{type(value).__name__} -> {len(leaves) - 1} = {value!r}"
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return "None"
    if isinstance(value, dict):
        keys = [quoted(k) if isinstance(k, str) else repr(k) for k in value]
        return "{" + ", ".join(f"{k}: {walk(v, leaves)}" for k, v in zip(keys, value.values())) + "}"
    if hasattr(value, "_fields"):
        inner = ", ".join(f"{f}={walk(getattr(value, f), leaves)}" for f in value._fields)
        return f"{type(value).__name__}({inner})"
    inner = ", ".join(walk(v, leaves) for v in value)
    if isinstance(value, tuple):
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return f"[{inner}]"


def write(path, arrays):
    """An .npz without times, so that it is the same every time."""
    with zipfile.ZipFile(path, "w") as z:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(name + ".npy")
            info.compress_type = zipfile.ZIP_DEFLATED
            with z.open(info, "w") as f:
                np.lib.format.write_array(f, np.asarray(array), allow_pickle=False)


def main():
    torch.manual_seed(1)
    torch.jit.save(torch.jit.script(Results().eval()), os.path.join(HERE, "results.ts"))
    relative_paths.rewrite(os.path.join(HERE, "results.ts"))
    module = torch.jit.load(os.path.join(HERE, "results.ts"))
    t = torch.tensor
    rows = [t([[1.0, 2, 3], [-1, -2, -3], [4, -1, 0]]), -torch.ones(3, 3), torch.eye(3),
            t([[0.5, -2, 3], [1, 0, 0], [-4, 5, -6]])]
    vectors = [t([0.5, -1, 2, 3]), -torch.ones(4), t([2.0, 2, -1, 2])]
    counts = [t([3, 4]), t([0, 0]), t([1, 1]), t([6, 0])]
    wide = [rows[0], torch.rand(5, 2) - 0.3, torch.ones(1, 4)]
    calls = {"forward": rows, "integers": counts, "numbers": vectors, "to_list": rows, "keyed": rows,
             "int_keys": rows, "float_keys": vectors, "maybe": rows, "maybe_int": rows, "maybe_list": rows,
             "detections": rows, "filtered": rows, "nested": rows, "mixed": rows, "word": rows, "pairs": rows,
             "named": rows, "optionals": vectors, "shared": rows, "complexes": counts, "tree": rows,
             "maybe_dict": rows, "anything": rows, "rows": wide, "chunks": wide}
    arrays = {}
    with torch.no_grad():
        for name, arguments in calls.items():
            method = module if name == "forward" else getattr(module, name)
            for i, x in enumerate(arguments):
                leaves = []
                arrays[f"{name}.{i}/in"] = x.numpy()
                arrays[f"{name}.{i}/text"] = np.array(walk(method(x), leaves))
                for k, leaf in enumerate(leaves):
                    if leaf is not None:
                        arrays[f"{name}.{i}/{k}"] = leaf
    write(os.path.join(HERE, "results.npz"), arrays)
    write(os.path.join(HERE, "rows.npz"), {"x": rows[0].numpy()})


if __name__ == "__main__":
    main()
