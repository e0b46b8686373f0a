# SPDX-License-Identifier: Apache-2.0
"""The models of breadth.py with ranges of shapes, for dynamic.py: those dims
range that the exported model takes other sizes of."""
import json
import os

import torch

from breadth import all_cases, export, randomize


def dims_of(inputs):
    """Letters for dims that may range: the batch, the length of text, the sides
    of images."""
    result = []
    for x in inputs:
        dims = list(x.shape)
        if dims and all(i.ndim and i.shape[0] == dims[0] for i in inputs):
            dims[0] = "B"
        if x.ndim == 4 and x.shape[2] >= 16:
            dims[2:] = ["H", "W"]
        elif x.ndim == 2 and not x.is_floating_point():
            dims[1] = "S"
        result.append(tuple(dims))
    return result


def resized(x, dims, sizes):
    """The example in another size."""
    for i, d in enumerate(dims):
        size = sizes.get(d, x.shape[i])
        index = torch.arange(size) % x.shape[i]
        x = x.index_select(i, index)
    return x


def takes(module, inputs, dims, sizes):
    try:
        module(*(resized(x, d, sizes) for x, d in zip(inputs, dims)))
        return True
    except Exception:
        return False


def find_ranges(module, inputs, dims):
    """(min, opt, max) of each letter that can range."""
    have = {d: x.shape[i] for x, ds in zip(inputs, dims)
            for i, d in enumerate(ds) if isinstance(d, str)}
    ranges = {}
    for letter, size in have.items():
        if letter == "B" and takes(module, inputs, dims, {"B": size + 1}):
            ranges["B"] = (1, size, size + 2)
        if letter == "S" and takes(module, inputs, dims, {"S": size + 4}):
            ranges["S"] = (max(2, size // 2), size, size + 8)
        if letter in "HW" and (takes(module, inputs, dims, {letter: size + 32})
                               or takes(module, inputs, dims,
                                        {"H": size + 32, "W": size + 32})):
            ranges[letter] = (size, size, size + 40 if size < 128 else size + 32)
    return ranges


def kind_of(x):
    if x.is_floating_point():
        return "float32"
    high = int(x.max()) + 1
    return "mask" if high == 2 and x.ndim == 2 else f"ids:{max(high, 1)}"


def describe(module, inputs):
    """Inputs and ranges as dynamic_cases.py has them."""
    dims = dims_of(inputs)
    ranges = find_ranges(module, inputs, dims)
    fixed = [[d if not isinstance(d, str) or d in ranges else x.shape[i]
              for i, d in enumerate(ds)] for x, ds in zip(inputs, dims)]
    return {"inputs": [(kind_of(x), ds) for x, ds in zip(inputs, fixed)],
            "ranges": ranges}


def make(case, how, directory):
    """Exports the model, once; its description, or why there is none."""
    base = os.path.join(directory, f"{case.group}-{case.name}-{how}")
    if not os.path.exists(base + ".json"):
        torch.manual_seed(3)
        module, inputs = case.make()
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        module = module.eval()
        randomize(module)
        if not all(isinstance(x, torch.Tensor) and x.dtype in
                   (torch.float32, torch.int64) for x in inputs):
            text = {"why": "inputs that are not float32 or int64 tensors"}
        else:
            module = export(module, inputs, how)
            module.save(base + ".ts")
            text = describe(module, inputs)
        with open(base + ".json", "w") as f:
            json.dump(text, f)
    with open(base + ".json") as f:
        found = json.load(f)
    inputs = [(k, tuple(d)) for k, d in found.get("inputs", [])]
    ranges = {n: tuple(r) for n, r in found.get("ranges", {}).items()}
    return base + ".ts", inputs, ranges, found.get("why")


def breadth_cases():
    for case in all_cases():
        for how in case.hows:
            if how != "ir":
                yield (f"{case.group}/{case.name}-{how}", ("breadth", (case, how)),
                       None, None)
