#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure_library.py LIBRARY.so [--rows N] [--limit BYTES]: what a shared
library consists of.

Reads the link map that the build writes beside each library. Prints the bytes
of each layer, of the families of the reference library and of the kernels of
each instruction set, and what kind they are: code, strings, tables. --limit
fails when the stripped file is larger.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

# " .text.name 0x... 0x... file", where a long name stands on a line of its own.
SECTION = re.compile(r"^ (\.[\w.$-]+|COMMON)(?:\n)?\s+0x[0-9a-f]+\s+"
                     r"0x([0-9a-f]+) (\S.*)$", re.M)
OBJECT = re.compile(r"src/(\S+?)\.c\.o\)?$")
ISA = re.compile(r"_(scalar|avx2|avx512)$")
LOADED = ("text", "rodata", "data", "bss", "eh_frame", "init", "fini", "tbss",
          "tdata")


def kind_of(section):
    name = section.split(".")[1]
    if name == "rodata":
        return "strings" if ".str" in section else "constants"
    if name == "data":
        return "tables"
    return "code" if name in ("text", "init", "fini") else "other"


def layer_of(path):
    parts = path.split("/")
    if parts[:3] == ["backend", "cpu", "kernels"]:
        found = ISA.search(parts[-1])
        return f"kernels: {found.group(1) if found else 'all'}"
    if parts[0] == "backend":
        built = "target" in parts or parts[-1] == "targets"
        if built:
            return "targets"
        return "GPUs" if parts[1:2] == ["cuda"] else "drivers of the CPU"
    if parts[:2] == ["aten", "ops"]:
        return "reference library: ops"
    if parts[0] == "aten":
        return "reference library: kit"
    return parts[0]


def read_map(path):
    """(object, kind) -> bytes of what was kept."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = text[text.index("Linker script and memory map"):]
    sizes = collections.Counter()
    for section, size, source in SECTION.findall(text):
        if section.split(".")[1:2] and section.split(".")[1] not in LOADED:
            continue
        found = OBJECT.search(source)
        name = found.group(1) if found else "(linker and libc)"
        sizes[name, kind_of(section)] += int(size, 16)
    return sizes


def print_table(title, rows, total, count=None):
    print(f"\n{title:34} {'bytes':>9}      %")
    shown = sorted(rows.items(), key=lambda row: -row[1])
    for name, size in shown[:count]:
        print(f"  {name:32} {size:9,} {100 * size / total:6.1f}")
    rest = sum(size for _, size in shown[count:]) if count else 0
    if rest:
        print(f"  {'the rest':32} {rest:9,} {100 * rest / total:6.1f}")


def stripped_size(library):
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "stripped")
        subprocess.run(["strip", "-o", copy, library], check=True)
        return os.path.getsize(copy)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--rows", type=int, default=12)
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    library = os.path.realpath(options.library)
    sizes = read_map(library + ".map")
    total = stripped_size(library)
    layers, kinds = collections.Counter(), collections.Counter()
    families, kernels = collections.Counter(), collections.Counter()
    for (name, kind), size in sizes.items():
        layers[layer_of(name)] += size
        kinds[kind] += size
        if name.startswith("aten/ops/aten_"):
            families[name[len("aten/ops/aten_"):]] += size
        if "/kernels/" in name:
            kernels[os.path.basename(name)] += size
    kinds["symbols, relocations, headers"] = total - sum(kinds.values())
    print(f"{os.path.basename(library)}: {total:,} bytes stripped")
    print_table("layer", layers, total)
    print_table("kind", kinds, total)
    print_table("family of the reference library", families, total,
                options.rows)
    print_table("kernels", kernels, total, options.rows)
    if not sizes or (options.limit and total > options.limit):
        print(f"measure_library: {total:,} bytes, at most {options.limit:,}",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
