# SPDX-License-Identifier: Apache-2.0
"""Writes schemas.txt: PyTorch's text of the schema of every op that the tables
of src/aten/ops/ name. Run it after adding rows.

    python make_schemas.py
"""
import glob
import os
import re

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401  registers its ops
import torchvision  # noqa: F401  registers its ops
import transformers.integrations.moe  # noqa: F401  registers its ops

import own_ops  # noqa: F401  registers bessemer::*

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = os.path.join(HERE, "..", "..", "..", "src", "aten", "ops", "*.c")


def main():
    names = set()
    for path in glob.glob(ROWS):
        with open(path) as f:
            text = re.sub(r'"\s*\n\s*"', "", f.read())
            text = re.sub(r'\bQ "', '"quantized_decomposed::', text)
        names |= set(re.findall(r'"((?:aten|bessemer|prim|torchvision|transformers|quantized_decomposed)::[^("]+)\(', text))
    known = {}
    for s in torch._C._jit_get_all_schemas():
        name = s.name + ("." + s.overload_name if s.overload_name else "")
        known.setdefault(name, str(s))
    for name in sorted(names - set(known)):
        print("PyTorch has no", name)
    with open(os.path.join(HERE, "schemas.txt"), "w") as f:
        for name in sorted(names & set(known)):
            f.write(known[name].replace("\n", "\\n") + "\n")


if __name__ == "__main__":
    main()
