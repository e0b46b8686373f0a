#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes archives of torch.export, and what must be read from them.

cnn_211.pt2, ops_211.pt2 and cnn_215.pt2 were written by torch 2.11 and 2.15,
net_24.pt2 and net_25.pt2, whose schemas torch no longer reads, by torch 2.4
and 2.5. Made here:

  arguments.pt2  nested inputs and results, keyword and constant inputs, a
                 dynamic dim, a condition, views of one storage, a mutated
                 buffer, arguments of many kinds
  functional.pt2 the same without mutation, as run_decompositions() makes it
  dtypes.pt2     a buffer of every dtype that can be read
  old.pt2        arguments.pt2 in the layout of torch before 2.8
  saved.pt2      arguments.pt2 with all weights in one archive of torch.save, as
                 the first packages had them
  pickled.pt2    arguments.pt2 with weights that torch.save wrote
  rezipped.pt2   arguments.pt2 deflated and unaligned, as zip tools do
  two.pt2        two models, called first and second
  default.pt2    two models, called model and other

NAME.txt has, line by line, the program as torch loads it: signature, tensors,
ranges, structure of arguments and result, nodes, example inputs.

Usage: make_exported.py  (torch 2.11; run from anywhere)
"""
import collections
import io
import json
import os
import struct
import sys
import types
import zipfile
import zlib

import torch
from torch.export import Dim
from torch.export.pt2_archive._package import PT2ArchiveReader, package_pt2
from torch.utils import _pytree as pytree

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exported")

SOURCE = '''
import collections
import torch

Pair = collections.namedtuple("Pair", ["low", "high"])


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(12.).view(3, 4))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        base = torch.arange(20.).view(4, 5)
        self.register_buffer("turned", base.t())
        self.register_buffer("part", base[1:, 2:])
        self.register_buffer("spread", torch.tensor(3.0).expand(2, 2))
        self.register_buffer("hidden", torch.ones(3), persistent=False)
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x, pair, mode, flag, *, options, nothing=None, n=2):
        a, b = pair
        self.count.add_(1)
        y = self.inner(x) + self.hidden
        low, high = torch.split(y, [1, 2], 1)
        z = torch.cond(y.sum() > 0, lambda t: t.sin(), lambda t: t.cos(), (y,))
        mask = y.masked_fill(y > 2, float("-inf"))
        taken = a[:, torch.tensor([0, 1])]
        half = b.to(torch.float16, memory_format=torch.contiguous_format)
        ones = torch.full((x.shape[0] * n,), 1.5, dtype=torch.float64)
        return {
            "parts": [low, high],
            "pair": Pair(z, mask),
            "rest": (taken, half, ones, x.shape[0] * 2,
                     options["scale"] * a.sum() + options["shift"]),
        }


class Dtypes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for name in ("uint8", "int8", "int16", "int32", "int64", "float16",
                     "float32", "float64", "bool", "bfloat16", "complex64",
                     "complex128"):
            values = torch.tensor([[0, 1, 2], [3, 4, 100]])
            self.register_buffer("b_" + name, values.to(getattr(torch, name)))
        self.register_buffer("empty", torch.zeros(0, 3))

    def forward(self, x):
        return x + self.b_float32


class Plus(torch.nn.Module):
    def __init__(self, value):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.full((2,), value))

    def forward(self, x):
        return x + self.bias
'''


# ------------------------------------------------------------------ archives
def model_module():
    module = types.ModuleType("models")
    exec(compile(SOURCE, "models.py", "exec"), module.__dict__)
    sys.modules["models"] = module
    pytree._register_namedtuple(module.Pair, serialized_type_name="models.Pair")
    return module


def export_net(models):
    batch = Dim("batch", min=2, max=64)
    options = {"scale": torch.tensor(2.0), "shift": torch.ones(1)}
    args = (torch.arange(12.).view(3, 4),
            [torch.ones(2, 3), torch.arange(4)], "fast", True)
    kwargs = {"options": options, "nothing": None, "n": 2}
    shapes = {"x": {0: batch}, "pair": [None, None], "mode": None,
              "flag": None, "options": {"scale": None, "shift": None},
              "nothing": None, "n": None}
    return torch.export.export(models.Net().eval(), args, kwargs,
                               dynamic_shapes=shapes, strict=False)


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_old(program, path):
    artifact = torch._export.serde.serialize.serialize(program)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("version", "8.17")
        archive.writestr("serialized_exported_program.json",
                         artifact.exported_program)
        archive.writestr("serialized_state_dict.pt", artifact.state_dict)
        archive.writestr("serialized_constants.pt", artifact.constants)
        archive.writestr("serialized_example_inputs.pt",
                         artifact.example_inputs)


def write_saved(program, source, path):
    artifact = torch._export.serde.serialize.serialize(program)
    writer = torch._C.PyTorchFileWriter(path)
    saved = {"data/weights/model.pt": artifact.state_dict,
             "data/constants/model.pt": artifact.constants}
    for name, data in members(source).items():
        name = name.split("/", 1)[1]
        if not name.startswith((".data/", "byteorder", "data/weights/",
                                "data/constants/")):
            saved[name] = data
    for name, data in saved.items():
        writer.write_record(name, data, len(data))
    writer.write_end_of_file()


def write_pickled(source, path):
    """Every weight becomes an archive of torch.save, as those of tensors with
    classes of their own are."""
    program = torch.export.load(source)
    writer = torch._C.PyTorchFileWriter(path)
    for name, data in members(source).items():
        name = name.split("/", 1)[1]
        if name.startswith((".data/", "byteorder", "data/weights/weight_")):
            continue
        if name == "data/weights/model_weights_config.json":
            config = json.loads(data)
            for i, (key, entry) in enumerate(config["config"].items()):
                entry.update(path_name=f"weight_{i}", use_pickle=True)
                buffer = io.BytesIO()
                torch.save(program.state_dict[key].detach(), buffer)
                weight = buffer.getvalue()
                writer.write_record(f"data/weights/weight_{i}", weight,
                                    len(weight))
            data = json.dumps(config).encode()
        writer.write_record(name, data, len(data))
    writer.write_end_of_file()


def write_rezipped(source, path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members(source).items():
            archive.writestr(name, data)


# ------------------------------------------------------------------ the dumps
def show_tensor(t):
    t = t.detach()
    data = t.contiguous().view(-1)
    raw = data.view(torch.uint8).numpy().tobytes() if t.numel() else b""
    return (f"tensor {str(t.dtype)[6:]} {list(t.shape)} {list(t.stride())} "
            f"{zlib.crc32(raw):08x}")


def show(v):
    if isinstance(v, torch.Tensor):
        return show_tensor(v)
    if isinstance(v, (list, tuple)):
        text = ", ".join(show(x) for x in v)
        return f"[{text}]" if isinstance(v, list) else f"({text})"
    if isinstance(v, dict):
        return "{" + ", ".join(f"{k}: {show(x)}" for k, x in v.items()) + "}"
    if isinstance(v, float):
        return "%016x" % struct.unpack("<Q", struct.pack("<d", v))
    return str(v)


def show_tree(spec):
    """dict{a: *, b: list[*, *]}"""
    if spec.is_leaf():
        return "*"
    children = [show_tree(c) for c in spec.children()]
    if spec.type in (dict, collections.OrderedDict):
        children = [f"{k}: {c}" for k, c in zip(spec.context, children)]
    elif hasattr(spec.context, "_fields"):
        children = [f"{k}={c}" for k, c in zip(spec.context._fields, children)]
        return f"{spec.context.__module__}.{spec.context.__name__}({', '.join(children)})"
    return f"{spec.type.__name__}({', '.join(children)})"


def show_sizes(value):
    return "[" + ", ".join(str(d) for d in value.shape) + "]"


def show_arg(arg):
    """An argument of the file's JSON: its kind, and its text."""
    (tag, value), = arg.items()
    if tag in ("as_graph",):
        return f"{tag} {value['name']} " + " ".join(
            n["target"] for n in value["graph"]["nodes"])
    if tag in ("as_tensor", "as_custom_obj"):
        return f"{tag} {value['name']}"
    if tag == "as_tensors":
        return f"{tag} [{', '.join(x['name'] for x in value)}]"
    if tag == "as_optional_tensors":
        names = [x["as_tensor"]["name"] if "as_tensor" in x else "None"
                 for x in value]
        return f"{tag} [{', '.join(names)}]"
    if tag in ("as_sym_int", "as_sym_bool", "as_sym_float"):
        return f"{tag} {list(value.values())[0]}"
    if tag in ("as_sym_ints", "as_sym_bools", "as_sym_floats"):
        return f"{tag} [{', '.join(str(list(x.values())[0]) for x in value)}]"
    if tag == "as_float":
        return f"{tag} {show(float(value))}"
    if tag == "as_floats":
        return f"{tag} {show([float(x) for x in value])}"
    if tag == "as_scalar_type":
        name = torch._export.serde.serialize._SERIALIZE_TO_TORCH_DTYPE[value]
        return f"{tag} {str(name)[6:]}"
    if tag == "as_memory_format":
        return f"{tag} {[None, 0, 2, 3, 1][value]}"
    if tag == "as_layout":
        return f"{tag} {[None, 1, 2, 4, 5, 6, 3, 0][value]}"
    if tag == "as_device":
        return f"{tag} {value['type']}"
    if tag == "as_none":
        return tag
    if tag in ("as_ints", "as_strings", "as_int", "as_string", "as_bool",
               "as_operator"):
        return f"{tag} {show(value)}"
    raise ValueError(tag)


def show_node(node):
    yield f"node {node['name']} = {node['target']}"
    for x in node["inputs"]:
        yield f"  in {x['name']} {x.get('kind', 0)} {show_arg(x['arg'])}"
    for x in node["outputs"]:
        yield f"  out {show_arg(x)}"
    trace = node["metadata"].get("stack_trace", "")
    lines = [l for l in trace.splitlines() if 'File "models.py"' in l]
    if lines:
        yield "  line " + lines[-1].split("line ")[1].split(",")[0]


def dump(program, model_json):
    signature = program.graph_signature
    kinds = {"PARAMETER": 2, "BUFFER": 3, "CONSTANT_TENSOR": 4}
    for spec in signature.input_specs:
        kind = spec.kind.name
        if kind in kinds:
            source = program.state_dict
            if spec.target not in source:
                source = program.constants
            yield (f"input {kinds[kind]} {spec.arg.name} {spec.target} "
                   f"{int(bool(spec.persistent)) if kind == 'BUFFER' else 1} "
                   f"{show_tensor(source[spec.target])}")
        elif isinstance(spec.arg, torch.export.graph_signature.ConstantArgument):
            yield f"input 7 {spec.arg.name} {show(spec.arg.value)}"
        else:
            yield f"input 1 {spec.arg.name}"
    outputs = {"USER_OUTPUT": 1, "BUFFER_MUTATION": 3}
    for spec in signature.output_specs:
        yield (f"output {outputs[spec.kind.name]} {spec.arg.name} "
               f"{spec.target}")
    # From the file: torch drops those that no longer occur.
    for symbol, r in model_json["range_constraints"].items():
        high = 2**63 - 1 if r["max_val"] is None else r["max_val"]
        yield f"symbol {symbol} {r['min_val']} {high}"
    yield "in " + show_tree(program.call_spec.in_spec)
    yield "out " + show_tree(program.call_spec.out_spec)
    yield "args " + show(program.example_inputs[0])
    yield "kwargs " + show(program.example_inputs[1])
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            yield (f"value {node.name} {str(value.dtype)[6:]} "
                   f"{show_sizes(value)}")
    for node in model_json["graph_module"]["graph"]["nodes"]:
        yield from show_node(node)


def write_dump(path, model="model"):
    archive = PT2ArchiveReader(path)
    model_json = json.loads(archive.read_string(f"models/{model}.json"))
    program = torch.export.load(path)
    with open(path[:-4] + ".txt", "w", encoding="utf-8") as file:
        for line in dump(program, model_json):
            file.write(line + "\n")


def main():
    os.makedirs(HERE, exist_ok=True)
    models = model_module()
    path = lambda name: os.path.join(HERE, name)
    net = export_net(models)
    torch.export.save(net, path("arguments.pt2"))
    torch.export.save(net.run_decompositions({}), path("functional.pt2"))
    write_old(net, path("old.pt2"))
    write_saved(net, path("arguments.pt2"), path("saved.pt2"))
    write_pickled(path("arguments.pt2"), path("pickled.pt2"))
    write_rezipped(path("arguments.pt2"), path("rezipped.pt2"))
    dtypes = torch.export.export(models.Dtypes(), (torch.ones(2, 3),))
    torch.export.save(dtypes, path("dtypes.pt2"))
    first, second = (torch.export.export(models.Plus(v), (torch.ones(2),))
                     for v in (1.0, 2.0))
    package_pt2(path("two.pt2"),
                exported_programs={"first": first, "second": second})
    package_pt2(path("default.pt2"),
                exported_programs={"other": first, "model": second})
    for name in ("arguments", "functional", "dtypes", "cnn_211", "ops_211",
                 "cnn_215"):
        write_dump(path(name + ".pt2"))


if __name__ == "__main__":
    main()
