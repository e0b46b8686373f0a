# SPDX-License-Identifier: Apache-2.0
"""Cases of breadth.py in IR text: a graph for each family of operators, run
with weights bound to graph inputs by name."""
import torch
import torch.nn.functional as F

R = torch.randn


def unary(op, *more, args="", positive=False):
    def make():
        x = R(2, 3, 4).abs() + 0.1 if positive else R(2, 3, 4)
        constants = "".join("  %%c%d : %s = prim::Constant%s()\n" % (
            i, kind, text and "[value=%s]" % text)
            for i, (kind, text, _) in enumerate(more))
        operands = "".join(", %%c%d" % i for i in range(len(more)))
        text = "graph(%%x : Tensor):\n%s  %%y : Tensor = %s(%%x%s)\n  return (%%y)\n" % (
            constants, op, operands)
        name = op.split("::")[1]
        function = getattr(torch.ops.aten, name)
        return text, {"x": x}, {}, function(x, *[v for _, _, v in more])
    return make


def graph(text, inputs, weights, expect):
    def make():
        i, w = inputs(), weights()
        return text, i, w, expect(**i, **w)
    return make


INT = lambda n: ("int", str(n), n)
FLOAT = lambda x: ("float", repr(x), x)
BOOL = lambda b: ("bool", str(int(b)), b)
NONE = ("NoneType", "", None)

LINEAR = """graph(%x : Tensor, %w : Tensor, %b : Tensor):
  %1 : int = prim::Constant[value=1]()
  %t : Tensor = aten::t(%w)
  %y : Tensor = aten::addmm(%b, %x, %t, %1, %1)
  %z : Tensor = aten::relu(%y)
  return (%z)
"""
CONV = """graph(%x : Float(1, 3, 8, 8), %w : Float(4, 3, 3, 3), %b : Float(4)):
  %false : bool = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %0 : int = prim::Constant[value=0]()
  %s : int[] = prim::ListConstruct(%1, %1)
  %z : int[] = prim::ListConstruct(%0, %0)
  %y : Tensor = aten::_convolution(%x, %w, %b, %s, %s, %s, %false, %z, %1, %false, %false, %false, %false)
  return (%y)
"""
NORM = """graph(%x : Tensor, %g : Tensor, %b : Tensor, %m : Tensor, %v : Tensor):
  %false : bool = prim::Constant[value=0]()
  %eps : float = prim::Constant[value=1.0000000000000001e-05]()
  %mom : float = prim::Constant[value=0.10000000000000001]()
  %y : Tensor = aten::batch_norm(%x, %g, %b, %m, %v, %false, %mom, %eps, %false)
  return (%y)
"""
LOOP = """graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %1 : int = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %a : Tensor):
      %b : Tensor = aten::add(%a, %i, %1)
      %c : Tensor = aten::tanh(%b)
      -> (%true, %c)
  return (%y)
"""
IF = """graph(%x : Tensor):
  %0 : int = prim::Constant[value=0]()
  %2 : int = prim::Constant[value=2]()
  %n : int = aten::size(%x, %0)
  %c : bool = aten::eq(%n, %2)
  %y : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::relu(%x)
      -> (%a)
    block1():
      %b : Tensor = aten::neg(%x)
      -> (%b)
  return (%y)
"""
MANY = """graph(%x : Tensor, %y : Tensor):
  %1 : int = prim::Constant[value=1]()
  %s : Tensor = aten::add(%x, %y, %1)
  %d : Tensor = aten::sub(%x, %y, %1)
  %l : Tensor[] = prim::ListConstruct(%s, %d)
  %c : Tensor = aten::cat(%l, %1)
  %t : (Tensor, Tensor) = prim::TupleConstruct(%c, %s)
  return (%t, %d)
"""
EMBED = """graph(%ids : Long(2, 5), %w : Tensor):
  %m : int = prim::Constant[value=-1]()
  %f : bool = prim::Constant[value=0]()
  %y : Tensor = aten::embedding(%w, %ids, %m, %f, %f)
  return (%y)
"""


def loop(x, n):
    for i in range(int(n)):
        x = torch.tanh(x + i)
    return x


def cases():
    rows = [
        *[(n, unary("aten::" + n)) for n in (
            "relu", "sigmoid", "tanh", "exp", "abs", "neg", "floor", "ceil",
            "round", "sin", "cos", "erf", "silu", "mish", "hardswish",
            "hardsigmoid", "sign", "trunc", "square", "isnan", "logical_not",
            "sum", "mean", "max", "min", "argmax", "flatten", "numpy_T",
            "log_sigmoid", "relu6", "selu", "std", "prod", "any", "all",
            "bitwise_not") if n not in ("numpy_T", "bitwise_not")],
        *[(n, unary("aten::" + n, positive=True)) for n in (
            "log", "sqrt", "rsqrt", "reciprocal", "log2", "log10",
            "log1p")],
        ("softmax", unary("aten::softmax", INT(1), NONE)),
        ("log_softmax", unary("aten::log_softmax", INT(-1), NONE)),
        ("leaky_relu", unary("aten::leaky_relu", FLOAT(0.2))),
        ("hardtanh", unary("aten::hardtanh", INT(-1), FLOAT(0.5))),
        ("elu", unary("aten::elu", FLOAT(0.5), INT(1), INT(1))),
        ("clamp", unary("aten::clamp", FLOAT(-0.3), NONE)),
        ("pow", unary("aten::pow", INT(3))),
        ("transpose", unary("aten::transpose", INT(0), INT(2))),
        ("select", unary("aten::select", INT(1), INT(-1))),
        ("slice", unary("aten::slice", INT(2), INT(1), INT(4), INT(2))),
        ("unsqueeze", unary("aten::unsqueeze", INT(1))),
        ("glu", unary("aten::glu", INT(-1))),
        ("mul_scalar", unary("aten::mul", FLOAT(2.5))),
        ("div_int", unary("aten::div", INT(3))),
        ("fmod", unary("aten::fmod", INT(2))),
        ("eq", unary("aten::gt", INT(0))),
        ("linear", graph(LINEAR, lambda: {"x": R(2, 5)},
                         lambda: {"w": R(3, 5), "b": R(3)},
                         lambda x, w, b: F.relu(F.linear(x, w, b)))),
        ("conv", graph(CONV, lambda: {"x": R(1, 3, 8, 8)},
                       lambda: {"w": R(4, 3, 3, 3), "b": R(4)},
                       lambda x, w, b: F.conv2d(x, w, b, padding=1))),
        ("batch_norm", graph(NORM, lambda: {"x": R(2, 3, 4, 4)}, lambda: {
            "g": R(3), "b": R(3), "m": R(3), "v": R(3).abs() + 0.1},
            lambda x, g, b, m, v: F.batch_norm(x, m, v, g, b))),
        ("loop", graph(LOOP, lambda: {"x": R(2, 3), "n": torch.tensor(4)},
                       dict, loop)),
        ("if", graph(IF, lambda: {"x": R(2, 3)}, dict, torch.relu)),
        ("many", graph(MANY, lambda: {"x": R(2, 3), "y": R(2, 3)}, dict,
                       lambda x, y: [torch.cat([x + y, x - y], 1), x + y,
                                     x - y])),
        ("embedding", graph(EMBED, lambda: {"ids": torch.randint(0, 9, (2, 5))},
                            lambda: {"w": R(9, 4)},
                            lambda ids, w: F.embedding(ids, w))),
    ]
    return [(name, make, ("ir",)) for name, make in rows]
