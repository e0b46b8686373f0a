#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the seeds fuzz/corpus/{compile,operator}. Usage: make_hostile.py"""
import os
import random
import struct
import zipfile

TESTS = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(TESTS, "..", "..", "fuzz", "corpus")
FINDINGS = os.path.join(TESTS, "..", "..", "fuzz", "findings")

# Each reaches steps of its kind: name, text, input specs.
GRAPHS = {
    "conv": ("""graph(%x : Tensor):
  %n : NoneType = prim::Constant()
  %i : int = prim::Constant[value=1]()
  %f : bool = prim::Constant[value=0]()
  %t : bool = prim::Constant[value=1]()
  %o : int[] = prim::Constant[value=[1, 1]]()
  %z : int[] = prim::Constant[value=[0, 0]]()
  %s : int[] = prim::Constant[value=[4, 4, 3, 3]]()
  %w : Tensor = aten::ones(%s, %n, %n, %n, %n)
  %c : Tensor = aten::conv2d(%x, %w, %n, %o, %o, %o, %i)
  %r : Tensor = aten::relu(%c)
  %a : Tensor = aten::add(%r, %x, %i)
  %p : Tensor = aten::max_pool2d(%a, %o, %o, %z, %o, %f)
  %g : Tensor = aten::adaptive_avg_pool2d(%p, %o)
  return (%g)
""", ["(1,4,6,6)"]),
    "depthwise": ("""graph(%x : Tensor):
  %n : NoneType = prim::Constant()
  %i : int = prim::Constant[value=4]()
  %o : int[] = prim::Constant[value=[1, 1]]()
  %w2 : int[] = prim::Constant[value=[2, 2]]()
  %s : int[] = prim::Constant[value=[4, 1, 3, 3]]()
  %d : int[] = prim::Constant[value=[4, 1, 2, 2]]()
  %z : int[] = prim::Constant[value=[0, 0]]()
  %w : Tensor = aten::ones(%s, %n, %n, %n, %n)
  %v : Tensor = aten::ones(%d, %n, %n, %n, %n)
  %c : Tensor = aten::conv2d(%x, %w, %n, %w2, %o, %o, %i)
  %t : Tensor = aten::conv_transpose2d(%c, %v, %n, %w2, %z, %z, %i, %o)
  %u : Tensor = aten::upsample_nearest2d(%t, %w2, %n, %n)
  return (%u)
""", ["(1,4,6,6)"]),
    "rows": ("""graph(%x : Tensor):
  %n : NoneType = prim::Constant()
  %i : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %m : int = prim::Constant[value=-1]()
  %e : float = prim::Constant[value=0.5]()
  %t : bool = prim::Constant[value=1]()
  %l : int[] = prim::Constant[value=[3]]()
  %p : int[] = prim::Constant[value=[1, 2]]()
  %s : Tensor = aten::softmax(%x, %m, %n)
  %y : Tensor = aten::layer_norm(%s, %l, %n, %n, %e, %t)
  %r : Tensor = aten::transpose(%y, %i, %m)
  %q : Tensor = aten::constant_pad_nd(%y, %p, %e)
  %k : Tensor, %j : Tensor = aten::topk(%q, %two, %m, %t, %t)
  %c : Tensor = aten::cumsum(%y, %m, %n)
  %a : Tensor = aten::argmax(%y, %m, %t)
  return (%k, %j, %a, %c)
""", ["(2,3)"]),
    "matmul": ("""graph(%x : Tensor, %y : Tensor):
  %i : int = prim::Constant[value=1]()
  %z : int = prim::Constant[value=0]()
  %g : str = prim::Constant[value="none"]()
  %t : Tensor = aten::t(%y)
  %m : Tensor = aten::matmul(%x, %t)
  %e : Tensor = aten::gelu(%m, %g)
  %s : Tensor = aten::select(%e, %i, %z)
  %l : Tensor[] = prim::ListConstruct(%m, %e)
  %c : Tensor = aten::cat(%l, %i)
  return (%c, %s)
""", ["(2,3)", "(2,3)"]),
    "reference": ("""graph(%x : Tensor):
  %n : NoneType = prim::Constant()
  %i : int = prim::Constant[value=1]()
  %m : int = prim::Constant[value=-1]()
  %s : str = prim::Constant[value="ortho"]()
  %l : int[] = prim::Constant[value=[0, 1]]()
  %f : Tensor = aten::fft_rfft(%x, %n, %m, %s)
  %q : Tensor = aten::mul(%f, %f)
  %t : Tensor[] = prim::ListConstruct(%q, %f)
  %c : Tensor = aten::cat(%t, %m)
  %a : Tensor = aten::abs(%c)
  %b : Tensor = aten::angle(%q)
  return (%a, %b)
""", ["(2,3)"]),
    "embedding": ("""graph(%w : Tensor, %x : Tensor):
  %f : bool = prim::Constant[value=0]()
  %m : int = prim::Constant[value=-1]()
  %e : Tensor = aten::embedding(%w, %x, %m, %f, %f)
  return (%e)
""", ["(4,2)", "(3)@i64"]),
}

# Programs: branches and loops on data, and shapes that range.
ARCHIVES = ["v113_function.pt", "v211_namedtuple.pt", "v211_dict.pt",
            "v14_net.pt"]


def write(folder, name, data):
    refused = os.path.exists(os.path.join(FINDINGS, folder, name))
    path = os.path.join(FINDINGS if refused else CORPUS, folder)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name), "wb") as file:
        file.write(data)


def members(path):
    with zipfile.ZipFile(path) as archive:
        prefix = archive.namelist()[0].split("/")[0] + "/"
        return {name[len(prefix):]: archive.read(name)
                for name in archive.namelist()}


def main():
    for name, (text, specs) in GRAPHS.items():
        choice = {"(2,3)": 0, "(1,4,6,6)": 1, "(4,2)": 8}[specs[0]]
        write("compile", name, bytes([choice]) + text.encode())
    for name in ARCHIVES:
        files = members(os.path.join(TESTS, "torchscript", name))
        pickle = files["data.pkl"]
        data = bytes([1]) + struct.pack("<H", len(pickle)) + pickle
        data += files.get("code/__torch__.py", b"") + bytes(64)
        write("compile", name[:-3], data)
    random.seed(1)
    for i in range(60):
        which = struct.pack("<H", random.randrange(1300))
        write("operator", f"{i:02d}", which + random.randbytes(48))


if __name__ == "__main__":
    main()
