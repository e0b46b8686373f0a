#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/ir_graphs/: graphs in IR text as people write them, with
values named by numbers, names defined again and constants whose literals
contradict their types; the arrays they take, by name; and what PyTorch's own
parser and interpreter make of them, for tests/compiler/ir_graphs_test.c.

    make_ir_graphs.py [folder]
"""
import os
import sys

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))

GRAPHS = {
    "numbers": """graph(%0 : Tensor, %1 : Tensor):
  %2 : int = prim::Constant[value=1]()
  %3 : Tensor = aten::add(%0, %1, %2)
  %4 : Tensor = aten::relu(%3)
  return (%4)
""",
    "numbers_out_of_order": """graph(%7 : Tensor, %2 : Tensor):
  %1 : Tensor = aten::mm(%7, %2)
  %0 : Tensor = aten::neg(%1)
  return (%0)
""",
    "mixed_names": """graph(%x.1 : Tensor, %1 : Tensor, %w : Tensor):
  %2 : Tensor = aten::t(%w)
  %3 : Tensor = aten::mm(%x.1, %2)
  %x.2 : int = prim::Constant[value=2]()
  %4 : Tensor = aten::add(%3, %1, %x.2)
  return (%4)
""",
    "shadowed": """graph(%x : Tensor):
  %x : Tensor = aten::relu(%x)
  %x : Tensor = aten::neg(%x)
  return (%x)
""",
    "shadowed_number": """graph(%0 : Tensor):
  %0 : Tensor = aten::abs(%0)
  %0 : Tensor = aten::sqrt(%0)
  %1 : Tensor = aten::neg(%0)
  return (%1)
""",
    "shadowed_constant": """graph(%x : Tensor):
  %c : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %c)
  %c : int = prim::Constant[value=3]()
  %b : Tensor = aten::mul(%a, %c)
  return (%b)
""",
    "shadowed_in_blocks": """graph(%x : Tensor, %y : Tensor):
  %n : int = prim::Constant[value=3]()
  %t : bool = prim::Constant[value=1]()
  %x : Tensor = aten::relu(%x)
  %r : Tensor = prim::Loop(%n, %t, %x)
    block0(%i : int, %z : Tensor):
      %z : Tensor = aten::add(%z, %y, %n)
      %z : Tensor = aten::mul(%z, %y)
      -> (%t, %z)
  return (%r)
""",
    "float_literal_of_int": """graph(%0 : Tensor, %1 : Tensor):
  %2 : int = prim::Constant[value=2.3]()
  %3 : Tensor = aten::add(%0, %1, %2)
  return (%3)
""",
    "float_literal_of_int_mul": """graph(%x : Tensor):
  %c : int = prim::Constant[value=-0.5]()
  %y : Tensor = aten::mul(%x, %c)
  return (%y)
""",
    "exponent_of_int": """graph(%x : Tensor):
  %c : int = prim::Constant[value=1e2]()
  %y : Tensor = aten::mul(%x, %c)
  return (%y)
""",
    "float_without_point": """graph(%x : Tensor):
  %c : float = prim::Constant[value=2]()
  %y : Tensor = aten::mul(%x, %c)
  return (%y)
""",
    "bool_as_number": """graph(%0 : Tensor):
  %1 : int[] = prim::Constant[value=[1]]()
  %2 : bool = prim::Constant[value=1]()
  %3 : NoneType = prim::Constant()
  %4 : Tensor = aten::mean(%0, %1, %2, %3)
  return (%4)
""",
    "two_outputs": """graph(%0 : Tensor, %1 : Tensor):
  %2 : Tensor = aten::mul(%0, %1)
  %3 : Tensor = aten::neg(%2)
  %4 : (Tensor, Tensor) = prim::TupleConstruct(%2, %3)
  return (%4)
""",
    "data_dependent": """graph(%x : Float(3, 3)):
  %0 : int = prim::Constant[value=0]()
  %1 : Tensor = aten::gt(%x, %0)
  %2 : Tensor = aten::masked_select(%x, %1)
  %3 : Tensor = aten::relu(%x)
  %4 : Tensor = aten::mm(%3, %x)
  %5 : Tensor = aten::neg(%4)
  %6 : (Tensor, Tensor) = prim::TupleConstruct(%2, %5)
  return (%6)
""",
    "leading_zeros": """graph(%00 : Tensor, %01 : Tensor):
  %002 : Tensor = aten::mul(%00, %01)
  return (%002)
""",
}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE,
                                                                "ir_graphs")
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(0)
    arrays = {}
    for name, text in GRAPHS.items():
        header = text[text.index("(") + 1:text.index("):\n")]
        names = [word[1:] for word in header.split() if word[0] == "%"]
        inputs = [torch.randn(3, 3) for _ in names]
        graph = torch._C.parse_ir(text)
        function = torch._C._create_function_from_graph("forward", graph)
        outputs = function(*inputs)
        if not isinstance(outputs, tuple):
            outputs = (outputs,)
        for key, value in zip(names, inputs):
            arrays[f"{name}/in/{key}"] = value.numpy()
        for i, value in enumerate(outputs):
            arrays[f"{name}/out/{i}"] = value.numpy()
        with open(os.path.join(folder, name + ".ir"), "w") as file:
            file.write(text)
    np.savez(os.path.join(folder, "arrays.npz"), **arrays)
    print(f"{len(GRAPHS)} graphs, PyTorch {torch.__version__}")


main()
