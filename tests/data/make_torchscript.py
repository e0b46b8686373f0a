#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the expectations beside the archives in tests/data/torchscript.

The archives v*.pt were written by the torch versions in their names. Others
are made here:

  traced.pt, scripted.pt  one small network, traced and scripted
  dtypes.pt               a buffer of every dtype that can be read
  big.pt                  v211_misc.pt with storages of the other byte order
  rezipped.pt             v211_misc.pt deflated and unaligned, as zip tools do

NAME.txt holds, for each archive that the reader can load, its version, its
example inputs, and every attribute of every object with its value, as torch
gives it: torch loads the archive, Python's pickle module only tells the names.
Lines are sorted. NAME.ranges.txt holds what the debug files say.

Usage: make_torchscript.py  (torch 2.x; run from anywhere)
"""
import glob
import io
import linecache
import os
import pickle
import struct
import sys
import types
import zipfile
import zlib

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import relative_paths

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torchscript")

# Archives that must be refused; no expectations are made for them.
REFUSED = ("v211_getstate.pt", "v113_quant_trace.pt", "v211_qtensor.pt",
           "v211_tensors.pt", "v211_dt.pt")
WITH_RANGES = ("v14_net.pt", "traced.pt", "scripted.pt")

SOURCE = '''
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(54.).view(2, 3, 3, 3))
        self.bias = torch.nn.Parameter(torch.ones(2))
        self.register_buffer("scale", torch.tensor(2.0, dtype=torch.float64))

    def forward(self, x: torch.Tensor, y: torch.Tensor):
        x = torch.conv2d(x, self.weight, self.bias)
        # A line in between.
        x = torch.relu(x)

        return x * self.scale + y, self.bias


class Dtypes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for name in ("uint8", "int8", "int16", "int32", "int64", "float16",
                     "float32", "float64", "bool", "bfloat16", "complex64",
                     "complex128"):
            values = torch.tensor([[0, 1, 2], [3, 4, 100]])
            self.register_buffer("b_" + name, values.to(getattr(torch, name)).t())
        self.register_buffer("empty", torch.zeros(0, 3))
        self.register_buffer("part", self.b_int64[1:, 1:])
        self.register_buffer("spread", torch.ones(1).expand(4, 5))

    def forward(self, x: torch.Tensor):
        return x + self.b_float32
'''


class Global:
    """Anything a pickle names; calling it keeps the arguments."""

    def __init__(self, *args):
        self.args = args
        self.state = None

    def __setstate__(self, state):
        self.state = state


class Names(pickle._Unpickler):
    """Reads a pickle without giving names any meaning."""

    dispatch = dict(pickle._Unpickler.dispatch)

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        return type(name, (Global,), {"full": module + "." + name})

    def persistent_load(self, pid):
        self.ids = getattr(self, "ids", []) + [pid]
        return pid

    def load_reduce(self):
        """As pickle's, but the argument of an enum is no tuple."""
        args = self.stack.pop()
        self.stack[-1] = self.stack[-1](
            *(args if isinstance(args, tuple) else (args,)))

    dispatch[pickle.REDUCE[0]] = load_reduce


class Archive:
    def __init__(self, path):
        self.zip = zipfile.ZipFile(path)
        self.prefix = self.zip.namelist()[0].split("/")[0] + "/"

    def has(self, name):
        return self.prefix + name in self.zip.namelist()

    def read(self, name):
        return self.zip.read(self.prefix + name)

    def unpickle(self, name):
        return Names(io.BytesIO(self.read(name))).load()

    def storage_ids(self, name):
        machine = Names(io.BytesIO(self.read(name)))
        machine.load()
        return getattr(machine, "ids", [])

    def version(self):
        name = ".data/version" if self.has(".data/version") else "version"
        return int(self.read(name))


def double(value):
    return struct.pack(">d", value).hex()


def show(value):
    """The text of a value."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "bool " + str(value).lower()
    if isinstance(value, int):
        return f"int {value}"
    if isinstance(value, float):
        return "float " + double(value)
    if isinstance(value, complex):
        return f"complex {double(value.real)} {double(value.imag)}"
    if isinstance(value, str):
        return "str " + value.encode().hex()
    if isinstance(value, torch.device):
        index = -1 if value.index is None else value.index
        return f"device {value.type} {index}"
    if isinstance(value, torch.Tensor):
        data = value.detach().contiguous().reshape(-1).view(torch.uint8)
        crc = zlib.crc32(bytes(data.tolist()))
        dtype = str(value.dtype).split(".")[1]
        return (f"tensor {dtype} {list(value.shape)} {list(value.stride())} "
                f"{crc:08x}")
    if isinstance(value, tuple):
        return "(" + ", ".join(map(show, value)) + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(
            f"{show(k)}: {show(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(show, value)) + "]"
    raise TypeError(type(value))


def walk(path, loaded, pickled, lines):
    """The attributes of an object; `loaded` is torch's."""
    lines.append(f"{path} object {pickled.full}")
    for name, shape in pickled.state.items():
        where = f"{path}.{name}"
        if not isinstance(shape, Global) or "__torch__" not in shape.full:
            lines.append(f"{where} {show(loaded.getattr(name))}")
        elif shape.state is None:
            lines.append(f"{where} enum {show(shape.args[0])}")
        else:
            walk(where, loaded.getattr(name), shape, lines)


def examples(archive):
    if not archive.has("traced_inputs.pkl"):
        return []
    # restore_type_tag({"forward": restore_type_tag([...], ...)}, ...)
    inputs = archive.unpickle("traced_inputs.pkl").args[0]["forward"].args[0]
    return [f"example {i} {tensor.args[0][1].__name__} {list(tensor.args[2])}"
            for i, tensor in enumerate(inputs)]


def ranges(archive):
    """Lines 'member offset file line' of all debug files."""
    lines = []
    for name in archive.zip.namelist():
        if not name.endswith(".debug_pkl"):
            continue
        short = name[len(archive.prefix):]
        records, strings = archive.unpickle(short), None
        if records and records[0] == "FORMAT_WITH_STRING_TABLE":
            strings, records = records[1], records[2]
        for offset, ((text, file, first), start, _), *_ in records:
            if strings is not None:
                pieces = text.args[0] if isinstance(text, Global) else text
                text = "".join(strings[i] for i in pieces)
                file = None if file is None else strings[file]
            line = first + text[:start].count("\n") if file else 0
            lines.append(f"{short} {offset} {file or '-'} {line}")
    return lines


def write(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))


def rewrite(source, target, method, change):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            data = change(info.filename, old.read(info))
            new.writestr(zipfile.ZipInfo(info.filename), data,
                         compress_type=method)


def make_big(source, target):
    """Storages reversed number by number, as a big-endian machine writes."""
    archive = Archive(source)
    widths = {"Float": 4, "Double": 8, "Long": 8, "Int": 4, "Half": 2,
              "Bool": 1, "Byte": 1}
    members = {"byteorder": None}
    for stem in ("data", "constants"):
        for pid in archive.storage_ids(stem + ".pkl"):
            kind = pid[1].__name__[:-len("Storage")]
            members[f"{stem}/{pid[2]}"] = widths[kind]

    def change(name, data):
        short = name[len(archive.prefix):]
        if short == "byteorder":
            return b"big"
        width = members.get(short, 0)
        return data if width == 0 else b"".join(
            data[i:i + width][::-1] for i in range(0, len(data), width))

    rewrite(source, target, zipfile.ZIP_STORED, change)


def make_nets():
    """Compiled under a file name of its own, which the debug files show."""
    name = "models/net.py"
    linecache.cache[name] = (len(SOURCE), None, SOURCE.splitlines(True), name)
    scope = {"__name__": "net", "__file__": name}
    exec(compile(SOURCE, name, "exec"), scope)
    net = scope["Net"]().eval()
    inputs = (torch.zeros(1, 3, 8, 8), torch.zeros(2, 1, 1, dtype=torch.int64))
    module = types.ModuleType("net")
    module.__file__ = name
    sys.modules["net"] = module
    torch.jit.trace(net, inputs).save(os.path.join(HERE, "traced.pt"))
    torch.jit.script(net).save(os.path.join(HERE, "scripted.pt"))
    torch.jit.script(scope["Dtypes"]()).save(os.path.join(HERE, "dtypes.pt"))
    for name in ("traced.pt", "scripted.pt", "dtypes.pt"):
        relative_paths.rewrite(os.path.join(HERE, name))


def main():
    misc = os.path.join(HERE, "v211_misc.pt")
    rewrite(misc, os.path.join(HERE, "rezipped.pt"), zipfile.ZIP_DEFLATED,
            lambda name, data: data)
    make_big(misc, os.path.join(HERE, "big.pt"))
    make_nets()
    for path in sorted(glob.glob(os.path.join(HERE, "*.pt*"))):
        name = os.path.basename(path)
        if name in REFUSED or name.endswith(".txt"):
            continue
        archive = Archive(path)
        # torch reads storages as they are, whatever the byte order.
        loaded = torch.jit.load(misc if name == "big.pt" else path)
        lines = [f"version {archive.version()}"] + examples(archive)
        walk("root", loaded._c, archive.unpickle("data.pkl"), lines)
        write(path + ".txt", sorted(lines))
        if name in WITH_RANGES:
            write(path + ".ranges.txt", ranges(archive))


if __name__ == "__main__":
    main()
