#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the seeds fuzz/corpus/script from the cases in tests/data/script: one
seed for each code file, with its own module path cut down to __torch__ so that
the classes of one file find each other. Usage: make_fuzz_script.py"""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "script")
CORPUS = os.path.join(HERE, "..", "..", "fuzz", "corpus", "script")

# What the cases leave out, by hand.
EXTRA = {
    "types": "Dict[str, Optional[List[Tuple[int, Union[float, str], "
             "Tuple[()]]]]]",
    "fork": "def f(x: Tensor) -> Tensor:\n"
            "  def g():\n    return torch.relu(x)\n"
            "  h = fork(g)\n  return torch.wait(h)\n",
    "with": "class no_grad:\n  prev : bool\n"
            "  def __enter__(self: __torch__.no_grad) -> NoneType:\n"
            "    return None\n"
            "  def __exit__(self: __torch__.no_grad, a: Any, b: Any, c: Any)"
            " -> NoneType:\n    return None\n"
            "def f(x: Tensor) -> Tensor:\n"
            "  c = __torch__.no_grad.__new__(__torch__.no_grad)\n"
            "  with c:\n    y = torch.mul(x, 2)\n  return y\n",
    "old": "op_version_set = 1\nimport __torch__.a\n"
           "def f(x: Tensor):\n  a = torch.div(x, 2)\n  outs = []\n"
           "  b = torch.append(outs, torch.gelu(a))\n"
           "  c = torch.full([2], 1., dtype=None)\n"
           "  return (outs, torch.linspace(0, 1), -inf, 1.+2.j, c)\n",
    "literals": "def f(x: Tensor):\n"
                "  s = \"\\t\\n\\000\\\"\\x41\" 'b'\n"
                "  l = [1., 10000000000000000, -inf, nan]\n"
                "  d = {1: [2.], 3: [4.]}\n  t = (1, s, l)\n"
                "  return ((t)[1:], (t)[-1], l[0], d[1], CONSTANTS.c0)\n",
}


def main():
    os.makedirs(CORPUS, exist_ok=True)
    for case in sorted(os.listdir(CASES)):
        if case == "cases.txt":
            continue
        with open(os.path.join(CASES, case)) as file:
            sections = re.split(r"^=== ", file.read(), flags=re.M)[1:]
        for section in sections:
            head, body = section.split("\n", 1)
            if not head.startswith("file ") or len(body) > 6000:
                continue
            path = head[len("file code/"):-len(".py")]
            body = body.replace(path.replace("/", ".") + ".", "__torch__.")
            name = case[:-len(".txt")] + "-" + path.split("/")[-1]
            with open(os.path.join(CORPUS, name), "wb") as out:
                out.write(b"\x09" + body.encode())
    for name, body in EXTRA.items():
        version = 0 if name == "old" else 9
        refused = os.path.join(CORPUS.replace("corpus", "findings"), name)
        path = refused if os.path.exists(refused) else os.path.join(CORPUS, name)
        with open(path, "wb") as out:
            out.write(bytes([version]) + body.encode())


if __name__ == "__main__":
    main()
