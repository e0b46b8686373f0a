#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/ir/schema_table.inc: the operator schemas PyTorch registers.

    make_schema_table.py schemas.txt > src/ir/schema_table.inc
    make_schema_table.py             > src/ir/schema_table.inc   (asks torch)

Overload resolution takes the first schema of a name that fits, so the order
within a name is kept as PyTorch registers it. Names are sorted, which lets the
table be searched without an index. Left out is what serialized inference code
never calls and what overload resolution cannot reach without it: variants that
write to keyword-only arguments (out=), and backward operators.
"""
import os
import re
import sys

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests",
                    "data", "aten")


def from_torch():
    """All schemas that this process's torch (and torchvision) registers."""
    import torch
    try:
        import torchvision  # noqa: F401  registers torchvision::*
    except ImportError:
        pass
    try:  # registers quantized_decomposed::*
        import torch.ao.quantization.fx._decomposed  # noqa: F401
    except ImportError:
        pass
    try:  # registers transformers::*
        import transformers.integrations.moe  # noqa: F401
    except ImportError:
        pass
    sys.path.append(DATA)
    import own_ops  # noqa: F401  registers bessemer::*
    try:  # registers torchao::*
        import torchao.quantization  # noqa: F401
    except ImportError:
        pass
    return [str(s) for s in torch._C._jit_get_all_schemas()], torch.__version__


def name_of(schema):
    return re.match(r"[A-Za-z0-9_]+::[A-Za-z0-9_]+", schema).group(0)


def wanted(schema):
    """Whether the schema belongs in the table."""
    if "backward" in name_of(schema):
        return False
    if schema.startswith("torchao::") and not name_of(schema).endswith(
            ("quantize_affine", "choose_qparams_affine")):
        return False  # kernels of its own
    keyword_only = re.split(r"[(,] ?\*,", schema.split(" -> ")[0], maxsplit=1)
    return len(keyword_only) < 2 or "!)" not in keyword_only[1]


def c_string(text, indent="    ", width=76):
    """C string pieces, each within the line length."""
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    pieces = []
    while text:
        cut = min(width - len(indent) - 2, len(text))
        while cut < len(text) and text[cut - 1] == "\\":
            cut -= 1
        pieces.append(indent + '"' + text[:cut] + '"')
        text = text[cut:]
    return "\n".join(pieces)


def main():
    if len(sys.argv) > 1:
        schemas, version = [], "a text file"
        for path in sys.argv[1:]:
            with open(path) as f:
                schemas += [line.strip() for line in f if line.strip()]
    else:
        schemas, version = from_torch()
        version = "torch " + version
    seen = set()
    kept = []
    for schema in schemas:
        if schema not in seen and wanted(schema):
            seen.add(schema)
            kept.append(schema)
    kept.sort(key=name_of)  # stable: order within a name stays
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print("/* Made by scripts/make_schema_table.py; do not edit. Schemas of")
    print(f" * {version}, sorted by name; within a name in registry order. */")
    print("/* clang-format off */")
    for schema in kept:
        print(c_string(schema) + ",")
    print("/* clang-format on */")


if __name__ == "__main__":
    main()
