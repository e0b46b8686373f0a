#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of the inner loops of kernels for AVX2 and for NEON,
where no ARM machine measures time: of each function that has products in both,
the innermost loop with most of them. Prints the table of docs/performance.md,
or with --all each function.

Usage: count_instructions.py [--all] X86_BUILD ARM_BUILD

Builds of Release: build, and what scripts/check_targets.sh arm64 leaves in
build-targets/arm64/build. A product is one multiplication whose result is
added, of one lane."""
import math
import os
import re
import subprocess
import sys

FOLDER = "CMakeFiles/bsm_backend_cpu.dir/src/backend/cpu/kernels"
# Products of one instruction, by the arrangement of what it writes.
X86 = [(r"vfn?m(add|sub)\w*ps\b.*%ymm", 8), (r"vfn?m(add|sub)\w*pd\b.*%ymm", 4),
       (r"vfn?m(add|sub)\w*ss\b", 1), (r"vfn?m(add|sub)\w*sd\b", 1),
       (r"vpmaddwd\b.*%ymm", 16), (r"vpmaddubsw\b.*%ymm", 32)]
ARM = [(r"fml[as]\s+v\d+\.4s", 4), (r"fml[as]\s+v\d+\.2d", 2),
       (r"fn?m(add|sub)\s+[sd]", 1), (r"(smmla|usmmla)\s", 32),
       (r"sdot\s", 16), (r"sml[as]l2?\s+v\d+\.4s", 4),
       (r"sml[as]l2?\s+v\d+\.8h", 8), (r"smull2?\s+v\d+\.8h", 8)]
JUMP = re.compile(r"^(?:j\w+|b(?:\.\w+)?|cbn?z|tbn?z)\s.*?([0-9a-f]+) <")


def functions(objdump, path):
    """Of each function: addresses and texts of its instructions."""
    out = subprocess.run([objdump, "-d", "--no-show-raw-insn", path],
                         stdout=subprocess.PIPE, check=True, text=True).stdout
    code = None
    found = {}
    for line in out.splitlines():
        head = re.match(r"^[0-9a-f]+ <([^>]+)>:$", line)
        if head:
            code = found.setdefault(head.group(1), [])
            continue
        item = re.match(r"^\s+([0-9a-f]+):\s+(.*?)\s*(?:[#;].*|//.*)?$", line)
        if item and code is not None:
            code.append((int(item.group(1), 16), item.group(2)))
    return found


def products(text, kinds):
    return next((count for pattern, count in kinds if re.search(pattern, text)), 0)


def inner_loop(code, kinds):
    """Instructions and products of the innermost loop with most products."""
    loops = []
    first = code[0][0] if code else 0
    for address, text in code:
        jump = JUMP.match(text)
        target = int(jump.group(1), 16) if jump else address + 1
        if first <= target <= address:
            loops.append((target, address))
    best = (0, 0)
    for start, end in loops:
        if any(start <= a and b <= end and (a, b) != (start, end)
               for a, b in loops):
            continue
        body = [text for address, text in code if start <= address <= end]
        if "ret" in body:
            continue  # a jump back to what is behind several loops
        done = sum(products(text, kinds) for text in body)
        if done > best[1]:
            best = (len(body), done)
    return best


def sources(build, ending):
    folder = os.path.join(build, FOLDER)
    for where, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith(f"_{ending}.c.o"):
                yield name[:-len(f"_{ending}.c.o")], os.path.join(where, name)


def count(x86_build, arm_build):
    """Of each function: family, name, and both loops."""
    x86 = dict(sources(x86_build, "avx2"))
    for family, path in sources(arm_build, "neon"):
        if family not in x86:
            continue
        theirs = functions("aarch64-linux-gnu-objdump", path)
        for name, code in functions("objdump", x86[family]).items():
            ours = inner_loop(code, X86)
            other = inner_loop(theirs.get(name, []), ARM)
            if ours[1] and other[1]:
                yield family, name, ours, other


def ratio(row):
    (a, b), (c, d) = row[2:]
    return c / d / (a / b)


def print_all(rows):
    print("| kernel | AVX2: instructions | products | NEON: instructions | "
          "products | NEON / AVX2 |\n|---|---:|---:|---:|---:|---:|")
    for row in rows:
        family, name, (a, b), (c, d) = row
        print(f"| {family} {name} | {a} | {b} | {c} | {d} | {ratio(row):.2f} |")


def print_families(rows):
    """Of the densest loop of each, and the mean of all."""
    print("| kernels | functions | densest loop | AVX2: products of an "
          "instruction | NEON | NEON / AVX2, mean of all |\n"
          "|---|---:|---|---:|---:|---:|")
    for family in sorted({row[0] for row in rows}):
        own = [row for row in rows if row[0] == family]
        best = max(own, key=lambda row: row[2][1] / row[2][0])
        (a, b), (c, d) = best[2:]
        mean = math.exp(sum(math.log(ratio(row)) for row in own) / len(own))
        print(f"| {family} | {len(own)} | {best[1]} | {b / a:.2f} | "
              f"{d / c:.2f} | {mean:.2f} |")


def main():
    arguments = [word for word in sys.argv[1:] if word != "--all"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    rows = list(count(*arguments))
    if not rows:
        sys.exit("no kernel is in both builds")
    (print_all if "--all" in sys.argv else print_families)(rows)


if __name__ == "__main__":
    main()
