#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the direction of includes and the names of files.

A layer may include itself and the layers listed for it; folders inside a layer
those before them; kernels include only kernel headers, fixed-width types and
intrinsics; file names are unique. Files of the specialiser do not call each
other in circles.

--arrows FOLDER prints which file of it calls which for what, and the circles.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# What libbessemer-runtime is made of, and nothing else.
RUNTIME = {
    "base", "aten", "plugin", "engine", "trust", "backend", "runtime", "linkage"
}
# Plans for shapes that are known when an engine runs: libbessemer-runtime-shapes
# has them too. The runtime calls them through engine/region_planner.h.
PLANNING = {"ir", "network", "conversion", "builder", "targets", "planner"}
COMPILER = {
    "signing", "quantized", "torchscript", "exported", "lowering",
    "partitioning", "quantization", "onnx", "compiler"
}
ALLOWED = {
    "base": {"base"},
    "aten": {"base", "aten"},
    "plugin": {"base", "aten", "plugin"},
    "engine": {"base", "aten", "engine"},
    # Who made the machine code of an engine; making keys and signatures.
    "trust": {"base", "aten", "engine", "trust"},
    "signing": {"base", "aten", "engine", "trust", "signing"},
    "backend": {"base", "aten", "engine", "backend"},
    "planner": {
        "base", "aten", "plugin", "engine", "backend", "ir", "network",
        "conversion", "builder", "planner"
    },
    "runtime": {
        "base", "aten", "plugin", "engine", "trust", "backend", "runtime"
    },
    # What libraries differ in: tables that are empty in the small one.
    "linkage": {"base", "aten", "engine"},
    "ir": {"base", "aten", "ir"},
    # Operators on quantized tensors: engines have none.
    "quantized": {"base", "aten", "quantized"},
    "torchscript": {"base", "aten", "ir", "quantized", "torchscript"},
    # Both kinds of archive are zip files with pickles in them.
    "exported": {"base", "aten", "ir", "torchscript", "exported"},
    "lowering": {"base", "aten", "ir", "quantized", "lowering"},
    "network": {"base", "aten", "plugin", "network"},
    "conversion": {
        "base", "aten", "plugin", "ir", "network", "conversion"
    },
    "partitioning": {
        "base", "aten", "ir", "network", "conversion", "partitioning"
    },
    "builder": {"base", "aten", "plugin", "engine", "network", "builder"},
    # Networks that compute in int8: ranges, calibration files, the quantizer.
    "quantization": {
        "base", "aten", "plugin", "engine", "network", "builder",
        "quantization"
    },
    # What plans are built for: src/backend/<name>/target, target.c, targets.c.
    "targets": {
        "base", "aten", "plugin", "engine", "backend", "network", "builder",
        "targets"
    },
    # Networks as graphs of ONNX.
    "onnx": {"base", "aten", "plugin", "network", "onnx"},
    "compiler": RUNTIME | PLANNING | COMPILER,
}
# Of the backends, other layers know the interfaces alone.
BACKEND_INTERFACES = {"backend/device.h"}

# Who knows the CPU backend's own names: itself, and the lists of what is linked.
CPU_WORDS = re.compile(r"\b(?:bsm_cpu_|BSM_CPU_|BSM_PANEL\b)")
CPU_FILES = ("backend/cpu/", "backend/devices.c", "backend/targets.c")

# What plans are made of depends on the target, never on the machine that builds.
NEUTRAL = {"engine", "network", "builder", "planner"}
HOST_ONLY = {"base/isa.h", "base/caches.h", "base/fma_peak.h"}

# Folders inside of layers, each above those before it. A header beside them is
# the face to the rest of the tree: its files may not include it.
FOLDERS = {
    "runtime": ["steps", "engine", "plan", "shapes", "program", "context"],
    "compiler": ["modules", "inputs", "pipeline", "calibration", "report"],
    "lowering/specialize": [
        "values", "memory", "worlds", "ops", "control", "methods"
    ],
}
FACES = {"lowering/specialize/specialize.h": "methods"}
# Folders whose files may not call each other in circles.
ACYCLIC = ["src/lowering/specialize"]

# Public headers of the compiler; the runtime may not include them. The
# engine shares the enumerations of network.h (layer kinds and parameters).
COMPILER_HEADERS = {
    "bessemer/bessemer.h", "bessemer/calibration.h", "bessemer/compiler.h",
    "bessemer/conversion.h", "bessemer/onnx.h", "bessemer/signature.h"
}

KERNELS = "backend/cpu/kernels/"
KERNEL_SYSTEM = {
    "stdint.h", "stddef.h", "stdbool.h", "math.h", "float.h", "immintrin.h",
    "arm_neon.h"
}
SOURCE = (".c", ".h", ".inl", ".inc")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)

problems = []


def problem(path, line, text):
    problems.append(f"{os.path.relpath(path, ROOT)}:{line}: {text}")


def files_under(*folders):
    for folder in folders:
        for base, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if name.endswith(SOURCE):
                    yield os.path.join(base, name)


def includes_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        yield line, match.group(1) == "<", match.group(2)


def layer_of(inside):
    """The layer of a file or header below src. Of a backend, what plans run on
    and what they are built for are two layers."""
    parts = inside.split("/")
    if parts[0] == "backend" and (parts[1] in ("target.c", "targets.c") or
                                  parts[2:3] == ["target"]):
        return "targets"
    return parts[0]


def check_kernel(path, line, system, header):
    if system:
        if header not in KERNEL_SYSTEM:
            problem(path, line, f"a kernel may not include <{header}>")
    elif not header.startswith(KERNELS) and "/" in header:
        problem(path, line, f"a kernel may not include {header}")


def check_words(path, inside):
    if inside.startswith(CPU_FILES):
        return
    with open(path, encoding="utf-8") as file:
        for line, text in enumerate(file, 1):
            if CPU_WORDS.search(text):
                problem(path, line, "a name of the CPU backend")


def check_folder(path, line, outer, inside, header):
    """An include of a file in `outer`, of a header in `outer`."""
    order = FOLDERS[outer]
    own = inside[len(outer) + 1:].split("/")
    if len(own) < 2 or own[0] not in order:
        if inside not in FACES:
            problem(path, line, f"src/{outer} has no such folder")
        return
    target = FACES.get(header, header[len(outer) + 1:].split("/")[0])
    if target not in order[:order.index(own[0]) + 1]:
        problem(path, line, f"{outer}/{own[0]} may not include {header}")


def check_source(path):
    inside = os.path.relpath(path, os.path.join(ROOT, "src"))
    inside = inside.replace(os.sep, "/")
    layer = layer_of(inside)
    check_words(path, inside)
    if layer not in ALLOWED:
        problem(path, 1, f"{layer} is not a layer")
        return
    for line, system, header in includes_of(path):
        if inside.startswith(KERNELS):
            check_kernel(path, line, system, header)
            continue
        if system:
            continue
        if header.startswith("bessemer/"):
            if layer in RUNTIME and header in COMPILER_HEADERS:
                problem(path, line, f"the runtime may not include {header}")
            continue
        if header in HOST_ONLY and layer in NEUTRAL:
            problem(path, line, f"{layer} may not ask the host: {header}")
        target = layer_of(header) if "/" in header else layer
        check_backend(path, line, inside, header)
        for outer in FOLDERS:
            if (inside.startswith(outer + "/") and
                    header.startswith(outer + "/")):
                check_folder(path, line, outer, inside, header)
        if target not in ALLOWED[layer]:
            problem(path, line, f"{layer} may not include {header}")
        elif (target == "backend" and layer not in ("backend", "targets") and
              header not in BACKEND_INTERFACES):
            problem(path, line,
                    f"{layer} may only include {sorted(BACKEND_INTERFACES)}")


def check_backend(path, line, inside, header):
    """A folder of src/backend knows itself, what is beside the folders, and the
    checks; the lists of what is linked know all."""
    own, other = inside.split("/"), header.split("/")
    if (len(own) > 2 and len(other) > 2 and own[0] == other[0] == "backend" and
            other[1] not in (own[1], "checks")):
        problem(path, line, f"{own[0]}/{own[1]} may not include {header}")


def check_public(path):
    for line, system, header in includes_of(path):
        if not system and not header.startswith("bessemer/"):
            problem(path, line, f"a public header may not include {header}")


def check_tool(path):
    """Tools use the public API; files and text come from base, .npz from the
    zip reader."""
    for line, system, header in includes_of(path):
        if system or header.startswith(("bessemer/", "tools/", "base/")):
            continue
        if header != "torchscript/zip.h":
            problem(path, line, f"a tool may not include {header}")


def check_example(path):
    for line, system, header in includes_of(path):
        beside = os.path.join(ROOT, os.path.dirname(path), header)
        if (not system and not header.startswith("bessemer/") and
                header != "tools/npy.h" and not os.path.exists(beside)):
            problem(path, line, f"an example may not include {header}")


def check_remote(path):
    """The remote device of the tests is written against the two interfaces
    alone; one file of it lists what is linked in."""
    for line, system, header in includes_of(path):
        if system or header.startswith(("base/", "tests/", "bessemer/")):
            continue
        if header not in ("backend/device.h", "builder/target.h"):
            problem(path, line, f"the remote device may not include {header}")


def check_names():
    seen = {}
    for path in files_under("src", "tools", "tests", "fuzz"):
        name = os.path.basename(path)
        if name in seen:
            problem(path, 1,
                    f"named like {os.path.relpath(seen[name], ROOT)}")
        seen[name] = path
    return len(seen)


COMMENT = re.compile(r"/\*.*?\*/", re.S)
FUNCTION = re.compile(r"^(?!static)[a-z_][\w \*]*?\b(bsm_\w+)\([^;{]*\) \{", re.M)


def calls_in(folder):
    """{(caller, callee): names}: the files of the folder, by their functions
    with linkage."""
    texts = {}
    for path in files_under(folder):
        if path.endswith(".c"):
            with open(path, encoding="utf-8") as file:
                texts[path] = COMMENT.sub("", file.read())
    home = {
        name: path
        for path, text in texts.items() for name in FUNCTION.findall(text)
    }
    calls = {}
    for path, text in texts.items():
        for name in re.findall(r"\bbsm_\w+", text):
            if home.get(name, path) != path:
                calls.setdefault((path, home[name]), set()).add(name)
    return calls


def without_leaves(calls):
    """The calls that are left when files that call none of the others, or are
    called by none, are taken away: those of circles and between them."""
    calls = dict(calls)
    while True:
        callers = {caller for caller, _ in calls}
        callees = {callee for _, callee in calls}
        left = {
            (a, b): names
            for (a, b), names in calls.items() if b in callers and a in callees
        }
        if len(left) == len(calls):
            return calls
        calls = left


def check_circles():
    for folder in ACYCLIC:
        for (a, b), names in sorted(without_leaves(calls_in(folder)).items()):
            problem(a, 1, f"calls {os.path.relpath(b, ROOT)} in a circle: " +
                    ", ".join(sorted(names)))


def print_arrows(folder):
    calls = calls_in(folder)
    circles = without_leaves(calls)
    for (a, b), names in sorted(calls.items()):
        print(os.path.relpath(a, ROOT), "->", os.path.relpath(b, ROOT),
              "(circle)" if (a, b) in circles else "",
              ", ".join(sorted(names)))
    print(f"{len(calls)} arrows, {len(circles)} of circles")
    return 0


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--arrows":
        return print_arrows(os.path.abspath(sys.argv[2]))
    for path in files_under("src"):
        check_source(path)
    for path in files_under("include"):
        check_public(path)
    for path in files_under("tools"):
        check_tool(path)
    for path in files_under("examples"):
        check_example(path)
    for path in files_under("tests/remote"):
        check_remote(path)
    count = check_names()
    check_circles()
    for text in problems:
        print(text)
    print(f"check_layers: {count} files, {len(problems)} problems")
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
