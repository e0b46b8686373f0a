#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/conversion/cases.txt with PyTorch as the oracle.

    make_conversion.py [folder]

Each case is a small function: its traced graph, its inputs, the inputs that
the test binds as constants (weights), and what PyTorch computes. The format:

    case NAME
    graph(...): ... return (...)
    input float32[2, 3] 0.5 -1 ...
    const float32[3] ...
    output float32[2, 3] ...
"""
import math
import os
import re
import sys

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
A = torch.ops.aten
CASES = []


def x(*shape, dtype=torch.float32, low=-2.0, high=2.0):
    """Values that print short: multiples of 1/8, or small integers."""
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    if dtype.is_floating_point:
        values = torch.rand(shape, dtype=torch.float64) * (high - low) + low
        return (torch.round(values * 8) / 8).to(dtype)
    low, high = int(low), int(high)
    if dtype == torch.uint8:
        low = max(low, 0)
    return torch.randint(low, high + 1, shape, dtype=dtype)


def i64(*shape, low=-4, high=5):
    return x(*shape, dtype=torch.int64, low=low, high=high)


def boolean(*shape):
    return x(*shape, dtype=torch.bool)


def case(name, function, *inputs, consts=()):
    CASES.append((name, function, inputs, tuple(consts)))




# ---- text ----

NAMES = {torch.float32: "float32", torch.float64: "float64",
         torch.float16: "float16", torch.bfloat16: "bfloat16",
         torch.int64: "int64", torch.int32: "int32", torch.int16: "int16",
         torch.int8: "int8", torch.uint8: "uint8", torch.bool: "bool"}


def tensor_line(kind, t):
    shape = ", ".join(str(d) for d in t.shape)
    values = t.detach().reshape(-1)
    if t.dtype.is_floating_point:
        digits = 17 if t.dtype == torch.float64 else 7
        words = [f"{v:.{digits}g}" for v in values.to(torch.float64).tolist()]
    else:
        words = [str(int(v)) for v in values.tolist()]
    return f"{kind} {NAMES[t.dtype]}[{shape}] " + " ".join(words)


def clean(graph):
    text = re.sub(r" # [^\n]*", "", str(graph))
    text = re.sub(r", strides=\[[^\]]*\]", "", text)
    text = re.sub(r", scope: [^\n]*", "", text)
    text = re.sub(r",? ?requires_grad=\d, device=cpu", "", text)
    # What the reader finds out by itself is left out.
    text = re.sub(r"^ +(%[\w.]+) : [^=%\n]* = aten::", r"  \1 = aten::", text,
                  flags=re.M)
    return re.sub(r"\n +", "\n ", text).strip()


def compiled(source, arguments):
    """The graph of `return <source>` with inputs a, b, ..., scripted."""
    names = [chr(ord("a") + i) for i in range(len(arguments))]
    parameters = ", ".join(names)
    unit = torch.jit.CompilationUnit(f"def f({parameters}):\n  return {source}\n")
    graph = unit.f.graph.copy()
    for value, t in zip(graph.inputs(), arguments):
        value.setType(torch._C.TensorType.create_from_tensor(t))
    return graph, unit.f(*arguments)


def run(function, inputs, consts):
    arguments = inputs + consts
    if isinstance(function, str):
        graph, results = compiled(function, arguments)
    else:
        traced = torch.jit.trace(function, arguments, check_trace=False)
        with torch.no_grad():
            results = traced(*arguments)
        graph = traced.inlined_graph.copy()
    if isinstance(results, torch.Tensor):
        results = (results,)
    # A tuple of tensors becomes several outputs.
    outputs = list(graph.outputs())
    if len(outputs) == 1 and outputs[0].node().kind() == "prim::TupleConstruct":
        node = outputs[0].node()
        values = list(node.inputs())
        graph.eraseOutput(0)
        for value in values:
            graph.registerOutput(value)
        node.destroy()
    return clean(graph), results


def outer_products():
    """Matrix products over a single element; not those of integers."""
    for a, b in (((3, 1), (1, 4)), ((2, 3, 1), (2, 1, 4)), ((2, 3, 1), (1, 5)),
                 ((3, 1), (2, 2, 1, 4)), ((3, 1), (1,)), ((1,), (2, 1, 3))):
        case(f"matmul_of_one_{len(a)}d_{len(b)}d", torch.matmul, x(*a), x(*b))
    case("baddbmm_of_one", lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5,
                                                         alpha=2),
         x(2, 3, 4), x(2, 3, 1), x(2, 1, 4))
    case("addmm_of_one", torch.addmm, x(4), x(3, 1), x(1, 4))
    case("matmul_of_one_half", torch.matmul, x(3, 1).half(), x(1, 4).half())
    case("matmul_of_one_int", torch.matmul, i64(3, 1), i64(1, 4))


def define():
    binary()
    unary()
    activations()
    dense()
    windows()
    norms()
    reductions()
    shapes()
    parts()
    rearranged()
    misc()
    sampled()
    scattered()
    products()
    composites()
    losses()
    written()
    computed_weights()
    quantized()
    outer_products()


def binary():
    f, g = x(2, 3), x(2, 3)
    n, m = i64(2, 3), i64(2, 3, low=1, high=4)
    case("add", lambda a, b: a + b, f, g)
    case("add_alpha", lambda a, b: torch.add(a, b, alpha=2.5), f, g)
    case("add_alpha_int", lambda a, b: torch.add(a, b, alpha=3), n, m)
    case("add_broadcast", lambda a, b: a + b, x(2, 1, 3), x(4, 1))
    case("add_scalar", lambda a: a + 1.5, f)
    case("add_int_scalar_float", "a + 1.5", n)
    case("add_int_scalar", lambda a: a + 2, n)
    case("add_bool_int", lambda a, b: a + b, boolean(2, 3), n)
    case("add_bool_bool", lambda a, b: a + b, boolean(2, 3), boolean(2, 3))
    case("add_half_float", lambda a, b: a + b, f.half(), g)
    case("add_float_zero_dim_double", lambda a, b: a + b, f,
         torch.tensor(0.25, dtype=torch.float64))
    case("add_int_zero_dim_float", lambda a, b: a + b, n, torch.tensor(0.25))
    case("add_int32_int64_zero_dim", lambda a, b: a + b, n.int(),
         torch.tensor(3))
    case("add_zero_dims", lambda a, b: a + b, torch.tensor(1.5),
         torch.tensor(2))
    case("add_const", lambda a, w: a + w, f, consts=[g])
    case("add_const_double", lambda a, w: a + w, f, consts=[g.double()])
    case("add_const_zero_dim", lambda a, w: a * w, f,
         consts=[torch.tensor(0.5, dtype=torch.float64)])
    case("add_empty", lambda a, b: a + b, x(0, 3), x(3))
    case("sub", lambda a, b: a - b, f, g)
    case("rsub", lambda a: 3 - a, f)
    case("rsub_alpha", lambda a, b: torch.rsub(a, b, alpha=2), f, g)
    case("mul", lambda a, b: a * b, f, g)
    case("mul_bool", lambda a, b: a * b, boolean(2, 3), boolean(2, 3))
    case("mul_int_float", lambda a, b: a * b, n, f)
    case("div", lambda a, b: a / b, f, x(2, 3, low=0.5))
    case("div_int", lambda a, b: a / b, n, m)
    case("div_scalar_int", lambda a: a / 2, n)
    case("div_floor", lambda a, b: torch.div(a, b, rounding_mode="floor"), n, m)
    case("div_trunc", lambda a, b: torch.div(a, b, rounding_mode="trunc"), n, m)
    case("div_floor_float",
         lambda a, b: torch.div(a, b, rounding_mode="floor"), f,
         x(2, 3, low=0.5))
    case("div_mode_scalar", lambda a: torch.div(a, 3, rounding_mode="floor"), n)
    case("floor_divide", lambda a, b: torch.floor_divide(a, b), n, m)
    case("floor_divide_scalar", lambda a: a // 3, n)
    case("remainder", lambda a, b: torch.remainder(a, b), n, -m)
    case("remainder_float", lambda a: torch.remainder(a, 0.75), f)
    case("fmod", lambda a, b: torch.fmod(a, b), n, m)
    case("atan2", lambda a, b: torch.atan2(a, b), f, g)
    case("atan2_int", lambda a, b: torch.atan2(a, b), n, m)
    case("max_other", lambda a, b: torch.max(a, b), f, g)
    case("minimum", lambda a, b: torch.minimum(a, b), n, f)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        case(f"{name}_tensor", lambda a, b, o=name: getattr(torch, o)(a, b), n,
             m)
        case(f"{name}_scalar", lambda a, o=name: getattr(torch, o)(a, 1.5), n)
    case("bitwise_and", lambda a, b: a & b, n, m)
    case("bitwise_or_bool", lambda a, b: a | b, boolean(4), boolean(4))
    case("bitwise_xor", lambda a, b: a ^ b, n, m)
    case("bitwise_not", lambda a: ~a, n)
    case("bitwise_not_bool", lambda a: ~a, boolean(5))
    case("shifts", lambda a, b: (a << b, a >> b), i64(2, 3, low=0), m)
    case("logical_and", lambda a, b: torch.logical_and(a, b), f, n)
    case("logical_or", lambda a, b: torch.logical_or(a, b), n, n)
    case("logical_xor", lambda a, b: torch.logical_xor(a, b), n, m)
    case("logical_not", lambda a: torch.logical_not(a), n)
    case("pow_2", lambda a: a ** 2, f)
    case("pow_3", lambda a: a ** 3, f)
    case("pow_half", lambda a: a ** 0.5, x(4, low=0))
    case("pow_minus_half", lambda a: a ** -0.5, x(4, low=0.5))
    case("pow_minus_1", lambda a: a ** -1, x(4, low=0.5))
    case("pow_1", lambda a: a ** 1, f)
    case("pow_real", lambda a: a ** 1.7, x(4, low=0))
    case("pow_int", lambda a: a ** 3, n)
    case("pow_int_float", lambda a: a ** 0.5, m)
    case("pow_tensors", lambda a, b: a ** b, x(2, 3, low=0.5), g)
    case("pow_scalar_base", lambda a: 2 ** a, f)
    case("pow_scalar_base_int", lambda a: 2 ** a, m)
    case("clamp", lambda a: torch.clamp(a, -1, 0.5), f)
    case("clamp_min_only", lambda a: torch.clamp(a, min=0.25), f)
    case("clamp_max_only", lambda a: torch.clamp(a, max=0.25), f)
    case("clamp_int", lambda a: torch.clamp(a, -1, 2), n)
    case("clamp_int_float", lambda a: torch.clamp(a, -1.5, 2), n)
    case("clamp_tensor", lambda a, b: torch.clamp(a, min=b), f, g)
    case("clamp_min", lambda a: torch.clamp_min(a, 0), f)
    case("clamp_max_int", lambda a: torch.clamp_max(a, 1), n)
    case("where", lambda c, a, b: torch.where(c, a, b), boolean(2, 3), f, n)
    case("where_scalar", lambda c, a: torch.where(c, a, 0.5), boolean(2, 1), f)
    case("where_scalars", lambda c: torch.where(c, 1.0, 2.0), boolean(2, 3))
    case("masked_fill", lambda a, c: a.masked_fill(c, float("-inf")), f,
         boolean(3))
    case("masked_fill_int", lambda a, c: a.masked_fill(c, 7), n, boolean(2, 1))
    case("addcmul", lambda a, b, c: torch.addcmul(a, b, c, value=0.5), f, g, g)
    case("addcdiv", lambda a, b, c: torch.addcdiv(a, b, c, value=2), f, g,
         x(2, 3, low=0.5))
    case("lerp", lambda a, b: torch.lerp(a, b, 0.25), f, g)
    case("lerp_tensor", lambda a, b, c: torch.lerp(a, b, c), f, g, f)


def unary():
    f, p = x(2, 4), x(2, 4, low=0.25)
    unit = x(2, 4, low=-0.875, high=0.875)
    for name in ("exp", "sin", "cos", "tan", "sinh", "cosh", "atan", "asinh",
                 "erf", "erfc", "expm1", "exp2", "abs", "neg", "sign", "square",
                 "ceil", "floor", "round", "trunc", "frac", "sigmoid", "tanh"):
        case(name, lambda a, o=name: getattr(torch, o)(a), f)
    for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt",
                 "reciprocal"):
        case(name, lambda a, o=name: getattr(torch, o)(a), p)
    for name in ("asin", "acos", "atanh"):
        case(name, lambda a, o=name: getattr(torch, o)(a), unit)
    case("acosh", torch.acosh, x(4, low=1))
    n = i64(2, 3)
    case("exp_int", torch.exp, n)
    case("sigmoid_int", torch.sigmoid, n)
    case("sqrt_bool", torch.sqrt, boolean(4))
    case("floor_int", torch.floor, n)
    case("abs_int", torch.abs, n)
    case("neg_int32", torch.neg, n.int())
    case("sign_int", torch.sign, n)
    case("square_bool", torch.square, boolean(3))
    case("round_decimals", lambda a: torch.round(a, decimals=2), x(4) * 1.01)
    odd = torch.tensor([1.0, float("nan"), float("inf"), -float("inf")])
    case("isnan", torch.isnan, odd)
    case("isinf", torch.isinf, odd)
    case("isfinite", torch.isfinite, odd)
    case("isnan_int", torch.isnan, n)


def activations():
    f = x(2, 4, low=-4, high=4)
    for name in ("relu", "relu6", "selu", "silu", "mish", "hardswish",
                 "hardsigmoid", "logsigmoid", "softplus", "leaky_relu", "elu",
                 "celu", "gelu", "hardtanh", "hardshrink", "softshrink",
                 "softsign", "tanhshrink"):
        case(f"act_{name}", getattr(F, name), f)
    case("relu_int", torch.relu, i64(2, 3))
    case("hardtanh_bounds", lambda a: F.hardtanh(a, -0.5, 1.25), f)
    case("leaky_relu_slope", lambda a: F.leaky_relu(a, 0.25), f)
    case("elu_alpha", lambda a: F.elu(a, 0.5), f)
    case("elu_scales", lambda a: A.elu(a, 0.5, 2, 0.75), f)
    case("celu_alpha", lambda a: F.celu(a, 0.5), f)
    case("gelu_tanh", lambda a: F.gelu(a, approximate="tanh"), f)
    case("softplus_beta", lambda a: F.softplus(a, 2, 3), f)
    case("threshold", lambda a: F.threshold(a, 0.5, -1), f)
    case("rrelu", lambda a: F.rrelu(a), f)
    case("glu", lambda a: F.glu(a, -1), f)
    case("glu_dim0", lambda a: F.glu(a, 0), f)
    case("prelu_one", F.prelu, f, consts=[torch.tensor([0.25])])
    case("prelu_channels", F.prelu, x(2, 3, 2), consts=[x(3)])
    case("prelu_dynamic", F.prelu, x(2, 3, 2), x(3))
    case("softmax", lambda a: F.softmax(a, -1), f)
    case("softmax_dim0", lambda a: F.softmax(a, 0), f)
    case("softmax_dtype", lambda a: F.softmax(a, 1, dtype=torch.float64), f)
    case("softmax_int_dtype", lambda a: F.softmax(a, 1, dtype=torch.float32),
         i64(2, 3))
    case("softmax_zero_dim", lambda a: F.softmax(a, 0), torch.tensor(2.0))
    case("log_softmax", lambda a: F.log_softmax(a, 1), f * 20)


def dense():
    case("linear", F.linear, x(3, 4), consts=[x(5, 4), x(5)])
    case("linear_no_bias", F.linear, x(3, 4), consts=[x(5, 4)])
    case("linear_vector", F.linear, x(4), consts=[x(5, 4), x(5)])
    case("linear_3d", F.linear, x(2, 3, 4), consts=[x(5, 4), x(5)])
    case("linear_dynamic", F.linear, x(2, 3, 4), x(5, 4), x(5))
    case("linear_weight_vector", lambda a, w: F.linear(a, w), x(3, 4),
         consts=[x(4)])
    for a, b in (((2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 4)),
                 ((2, 3), (3,)), ((2, 2, 3), (3, 4)), ((2, 2, 3), (2, 3, 2)),
                 ((3,), (2, 3, 2)), ((2, 2, 3), (3,)),
                 ((2, 1, 2, 3), (3, 3, 2))):
        case(f"matmul_{len(a)}d_{len(b)}d_{a[0]}{b[0]}", torch.matmul, x(*a),
             x(*b))
    case("matmul_int", torch.matmul, i64(2, 3), i64(3, 2))
    case("matmul_const", torch.matmul, x(2, 3), consts=[x(3, 4)])
    case("mm", torch.mm, x(2, 3), x(3, 4))
    case("bmm", torch.bmm, x(2, 2, 3), x(2, 3, 2))
    case("mv", torch.mv, x(2, 3), x(3))
    case("dot", torch.dot, x(3), x(3))
    case("outer", torch.outer, x(3), x(2))
    case("addmm", torch.addmm, x(4), x(2, 3), x(3, 4))
    case("addmm_const", torch.addmm, x(4), x(2, 3), consts=[x(3, 4)])
    case("addmm_scaled", lambda a, b, c: torch.addmm(a, b, c, beta=0.5,
                                                     alpha=2),
         x(2, 4), x(2, 3), x(3, 4))
    case("addmm_beta_0", lambda a, b, c: torch.addmm(a, b, c, beta=0),
         torch.full((2, 4), float("nan")), x(2, 3), x(3, 4))
    case("baddbmm", lambda a, b, c: torch.baddbmm(a, b, c, alpha=0.5),
         x(2, 2, 2), x(2, 2, 3), x(2, 3, 2))
    case("addbmm", torch.addbmm, x(2, 2), x(2, 2, 3), x(2, 3, 2))
    q, k, v = x(1, 2, 3, 4), x(1, 2, 5, 4), x(1, 2, 5, 2)
    sdpa = F.scaled_dot_product_attention
    case("sdpa", sdpa, q, k, v)
    case("sdpa_scale", lambda a, b, c: sdpa(a, b, c, scale=0.25), q, k, v)
    case("sdpa_causal", lambda a, b, c: sdpa(a, b, c, is_causal=True), q, k, v)
    mask = torch.tensor([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]],
                        dtype=torch.bool)
    case("sdpa_mask", lambda a, b, c, m: sdpa(a, b, c, attn_mask=m), q, k, v,
         mask)
    case("sdpa_mask_const", lambda a, b, c, m: sdpa(a, b, c, attn_mask=m), q, k,
         v, consts=[mask])
    case("sdpa_bias", lambda a, b, c, m: sdpa(a, b, c, attn_mask=m), q, k, v,
         x(3, 5))
    case("sdpa_gqa", lambda a, b, c: sdpa(a, b, c, enable_gqa=True),
         x(1, 4, 3, 4), k, v)
    case("lstm_cell", lambda a, h, c, wi, wh, bi, bh: torch.lstm_cell(
        a, (h, c), wi, wh, bi, bh), x(2, 3), x(2, 2), x(2, 2),
         consts=[x(8, 3), x(8, 2), x(8), x(8)])
    case("gru_cell", torch.gru_cell, x(2, 3), x(2, 2),
         consts=[x(6, 3), x(6, 2), x(6), x(6)])
    case("rnn_tanh_cell", torch.rnn_tanh_cell, x(2, 3), x(2, 2),
         consts=[x(2, 3), x(2, 2), x(2), x(2)])


    lstm = [x(8, 3), x(8, 2), x(8), x(8)]
    case("lstm", lambda a, h, c, *w: torch.lstm(
        a, (h, c), w, True, 1, 0.0, False, False, True), x(2, 3, 3),
         x(1, 2, 2), x(1, 2, 2), consts=lstm)
    both = [x(6, 2), x(6, 2), x(6, 2), x(6, 2), x(6, 4), x(6, 2), x(6, 4),
            x(6, 2)]
    case("gru_two_layers_bidirectional", lambda a, h, *w: torch.gru(
        a, h, w, False, 2, 0.0, False, True, False), x(2, 1, 2), x(4, 1, 2),
         consts=both)
    case("rnn_relu", lambda a, h, *w: torch.rnn_relu(
        a, h, w, True, 1, 0.0, False, False, False), x(3, 1, 2), x(1, 1, 2),
         consts=[x(2, 2), x(2, 2), x(2), x(2)])


def windows():
    case("conv2d", F.conv2d, x(1, 2, 5, 5), consts=[x(3, 2, 3, 3), x(3)])
    case("conv2d_options",
         lambda a, w: F.conv2d(a, w, None, (2, 1), (1, 0), (1, 2)),
         x(2, 1, 5, 6), consts=[x(2, 1, 3, 2)])
    case("conv2d_groups", lambda a, w, b: F.conv2d(a, w, b, 1, 1, 1, 2),
         x(1, 4, 3, 3), consts=[x(4, 2, 3, 3), x(4)])
    case("conv2d_same", lambda a, w: F.conv2d(a, w, None, padding="same"),
         x(1, 1, 4, 5), consts=[x(1, 1, 2, 4)])
    case("conv2d_valid", lambda a, w: F.conv2d(a, w, None, padding="valid"),
         x(1, 1, 4, 5), consts=[x(1, 1, 2, 4)])
    case("conv2d_unbatched", F.conv2d, x(2, 4, 4), consts=[x(1, 2, 3, 3), x(1)])
    case("conv2d_dynamic_bias", lambda a, b, w: F.conv2d(a, w, b),
         x(1, 1, 3, 3), x(2), consts=[x(2, 1, 2, 2)])
    case("conv1d", lambda a, w, b: F.conv1d(a, w, b, 2, 1), x(2, 2, 6),
         consts=[x(3, 2, 3), x(3)])
    case("conv3d", F.conv3d, x(1, 1, 3, 3, 3), consts=[x(2, 1, 2, 2, 2), x(2)])
    case("conv_transpose2d",
         lambda a, w, b: F.conv_transpose2d(a, w, b, 2, 1, 1), x(1, 2, 3, 3),
         consts=[x(2, 3, 3, 3), x(3)])
    case("conv_transpose2d_groups",
         lambda a, w: F.conv_transpose2d(a, w, None, 1, 0, 0, 2, 2),
         x(1, 4, 3, 3), consts=[x(4, 1, 2, 2)])
    case("conv_transpose1d", lambda a, w: F.conv_transpose1d(a, w, None, 2),
         x(1, 2, 4), consts=[x(2, 1, 3)])
    case("convolution", lambda a, w, b: torch.convolution(
        a, w, b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1), x(1, 1, 3, 3),
         consts=[x(2, 1, 3, 3), x(2)])
    f = x(1, 2, 5, 5)
    case("max_pool2d", lambda a: F.max_pool2d(a, 2), f)
    case("max_pool2d_options",
         lambda a: F.max_pool2d(a, (3, 2), (2, 1), (1, 0), (1, 2)), f)
    case("max_pool2d_ceil",
         lambda a: F.max_pool2d(a, 2, 2, 1, ceil_mode=True), f)
    case("max_pool2d_unbatched", lambda a: F.max_pool2d(a, 2), x(2, 4, 4))
    case("max_pool1d", lambda a: F.max_pool1d(a, 3, 2, 1), x(1, 2, 6))
    case("max_pool3d", lambda a: F.max_pool3d(a, 2), x(1, 1, 4, 4, 4))
    case("avg_pool2d", lambda a: F.avg_pool2d(a, 2), f)
    case("avg_pool2d_exclude",
         lambda a: F.avg_pool2d(a, 3, 2, 1, count_include_pad=False), f)
    case("avg_pool2d_ceil",
         lambda a: F.avg_pool2d(a, 3, 2, 1, ceil_mode=True), x(1, 1, 6, 6))
    case("avg_pool2d_divisor",
         lambda a: F.avg_pool2d(a, 2, divisor_override=3), f)
    case("avg_pool1d", lambda a: F.avg_pool1d(a, 2), x(1, 2, 6))
    case("avg_pool3d", lambda a: F.avg_pool3d(a, 2), x(1, 1, 4, 4, 4))
    case("adaptive_avg_pool2d", lambda a: F.adaptive_avg_pool2d(a, (2, 3)), f)
    case("adaptive_avg_pool2d_1", lambda a: F.adaptive_avg_pool2d(a, 1), f)
    case("adaptive_avg_pool1d", lambda a: F.adaptive_avg_pool1d(a, 4),
         x(1, 2, 6))
    case("adaptive_avg_pool3d", lambda a: F.adaptive_avg_pool3d(a, (1, 2, 2)),
         x(1, 1, 3, 4, 4))
    case("adaptive_max_pool2d", lambda a: F.adaptive_max_pool2d(a, (2, 3)), f)
    g = x(1, 2, 3, 4)
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        case(f"interpolate_{mode}_size",
             lambda a, m=mode: F.interpolate(a, (5, 6), mode=m), g)
        case(f"interpolate_{mode}_scale",
             lambda a, m=mode: F.interpolate(a, scale_factor=1.7, mode=m), g)
    case("interpolate_bilinear_align",
         lambda a: F.interpolate(a, (5, 7), mode="bilinear",
                                 align_corners=True), g)
    case("interpolate_linear", lambda a: F.interpolate(a, 7, mode="linear"),
         x(1, 2, 4))
    case("interpolate_trilinear",
         lambda a: F.interpolate(a, (2, 3, 3), mode="trilinear"),
         x(1, 1, 2, 2, 2))
    case("upsample_nearest2d_scales",
         lambda a: A.upsample_nearest2d(a, [5, 6], 1.7, 1.6), g)
    case("pad_constant", lambda a: F.pad(a, (1, 2, 0, 1), value=0.5), g)
    case("pad_negative", lambda a: F.pad(a, (-1, 1, -1, 0)), g)
    case("pad_int", lambda a: F.pad(a, (1, 0), value=3), i64(2, 3))
    for mode in ("reflect", "replicate", "circular"):
        case(f"pad_{mode}", lambda a, m=mode: F.pad(a, (1, 2, 1, 0), mode=m), g)
    case("reflection_pad1d", lambda a: A.reflection_pad1d(a, [2, 1]), x(1, 4))
    case("constant_pad_nd", lambda a: A.constant_pad_nd(a, [1, 1], 2), x(3))


def norms():
    f = x(2, 4, 3, 2)
    stats = [x(4), x(4, low=0.5)]
    affine = [x(4), x(4)]
    case("batch_norm", lambda a, m, v, w, b: F.batch_norm(a, m, v, w, b), f,
         consts=stats + affine)
    case("batch_norm_plain", lambda a, m, v: F.batch_norm(a, m, v), f,
         consts=stats)
    case("batch_norm_2d", lambda a, m, v, w, b: F.batch_norm(a, m, v, w, b),
         x(3, 4), consts=stats + affine)
    case("batch_norm_3d", lambda a, m, v, w, b: F.batch_norm(
        a, m, v, w, b, eps=0.1), x(2, 4, 3), consts=stats + affine)
    case("batch_norm_dynamic", lambda a, m, v, w, b: F.batch_norm(
        a, m, v, w, b), f, *stats, *affine)
    case("batch_norm_training", lambda a, w, b: F.batch_norm(
        a, None, None, w, b, True), f, consts=affine)
    case("layer_norm", lambda a, w, b: F.layer_norm(a, (2,), w, b), f,
         consts=[x(2), x(2)])
    case("layer_norm_2", lambda a, w, b: F.layer_norm(a, (3, 2), w, b, 0.01), f,
         consts=[x(3, 2), x(3, 2)])
    case("layer_norm_plain", lambda a: F.layer_norm(a, (3, 2)), f)
    case("rms_norm", lambda a, w: F.rms_norm(a, (2,), w), f, consts=[x(2)])
    case("group_norm", lambda a, w, b: F.group_norm(a, 2, w, b), f,
         consts=affine)
    case("group_norm_1", lambda a: F.group_norm(a, 1), f)
    case("group_norm_2d", lambda a: F.group_norm(a, 2), x(3, 4))
    case("instance_norm", lambda a, w, b: F.instance_norm(
        a, weight=w, bias=b), f, consts=affine)
    case("instance_norm_stats", lambda a, m, v: F.instance_norm(
        a, m, v, use_input_stats=False), f, consts=stats)


def reductions():
    f, n = x(2, 3, 4), i64(2, 3)
    case("sum", lambda a: a.sum(), f)
    case("sum_dim", lambda a: a.sum(-1), f)
    case("sum_dims_keep", lambda a: a.sum((0, -1), keepdim=True), f)
    case("sum_int", lambda a: a.sum(0), n)
    case("sum_bool", lambda a: a.sum(), boolean(4))
    case("sum_dtype", lambda a: a.sum(1, dtype=torch.float32), n)
    case("sum_int32", lambda a: a.sum(), n.int())
    case("prod", lambda a: a.prod(), x(4))
    case("prod_dim", lambda a: a.prod(1, keepdim=True), f)
    case("mean", lambda a: a.mean(), f)
    case("mean_dims", lambda a: a.mean((1, 2)), f)
    case("mean_dtype", lambda a: a.mean(dtype=torch.float32), n)
    case("max", lambda a: a.max(), f)
    case("min_int", lambda a: a.min(), n)
    case("max_bool", lambda a: a.max(), boolean(4))
    case("max_dim", lambda a: a.max(1), f)
    case("min_dim_keep", lambda a: a.min(-1, keepdim=True), f)
    case("max_dim_values", lambda a: a.max(1).values, f)
    case("max_dim_zero_dim", lambda a: a.max(0), torch.tensor(3.0))
    case("amax", lambda a: a.amax((0, 2)), f)
    case("amin_keep", lambda a: a.amin(1, keepdim=True), f)
    case("amax_all", lambda a: torch.amax(a, ()), f)
    case("argmax", lambda a: a.argmax(), f)
    case("argmax_keep", lambda a: a.argmax(keepdim=True), f)
    case("argmin_dim", lambda a: a.argmin(1), f)
    case("argmax_dim_keep", lambda a: a.argmax(-1, keepdim=True), f)
    case("any", lambda a: a.any(), boolean(4))
    case("any_dim", lambda a: a.any(0), n)
    case("any_uint8", lambda a: a.any(0), n.clamp(min=0).byte())
    case("all_dim_keep", lambda a: a.all(1, keepdim=True), boolean(2, 3))
    case("all_float", lambda a: a.all(), f)
    case("var", lambda a: a.var(), f)
    case("var_dim", lambda a: a.var(-1, unbiased=False), f)
    case("var_correction", lambda a: a.var((0, 1), correction=0, keepdim=True),
         f)
    case("std_dim", lambda a: a.std(1, keepdim=True), f)
    case("var_mean", lambda a: torch.var_mean(a, 1), f)
    case("std_mean", lambda a: torch.std_mean(a, (0, 2), unbiased=False), f)
    case("norm", lambda a: torch.linalg.vector_norm(a), f)
    case("norm_1_dim", lambda a: torch.linalg.vector_norm(a, 1, 1), f)
    case("norm_inf", lambda a: torch.linalg.vector_norm(a, float("inf"), -1), f)
    case("norm_0", lambda a: torch.linalg.vector_norm(a, 0, 0), n.float())
    case("norm_3", lambda a: torch.linalg.vector_norm(a, 3, 0, keepdim=True), f)
    case("norm_old", lambda a: A.norm.ScalarOpt_dim(a, 2, [1], True), f)
    case("norm_scalar", lambda a: A.norm.Scalar(a, 2), f)
    case("logsumexp", lambda a: torch.logsumexp(a, (1,)), f * 50)
    case("topk", lambda a: torch.topk(a, 2), torch.tensor(
        [[3.0, 1, 2, 5], [0, -1, 4, 2]]))
    case("topk_smallest", lambda a: torch.topk(a, 1, 0, False), torch.tensor(
        [[3.0, 1, 2, 5], [0, -1, 4, 2]]))
    case("sort", lambda a: torch.sort(a, -1), torch.tensor(
        [[3.0, 1, 2, 5], [0, -1, 4, 2]]))
    case("sort_descending", lambda a: torch.sort(a, 0, True), torch.tensor(
        [[3, 1, 2, 5], [0, -1, 4, 2]]))
    case("argsort", lambda a: torch.argsort(a), torch.tensor([3.0, 1, 2, 5]))
    case("cumsum", lambda a: torch.cumsum(a, 1), f)
    case("cumsum_int", lambda a: torch.cumsum(a, 0), i64(7))
    case("cumsum_dtype", lambda a: torch.cumsum(a, -1, dtype=torch.float32), n)
    case("cumprod", lambda a: torch.cumprod(a, -1), f)


def shapes():
    f = x(2, 3, 4)
    case("view", lambda a: a.view(6, -1), f)
    case("view_size", lambda a: a.view(a.size(0), -1), f)
    case("reshape_permuted", lambda a: a.permute(2, 0, 1).reshape(4, 6), f)
    case("reshape_scalar", lambda a: a.reshape(()), x(1, 1))
    case("flatten", lambda a: torch.flatten(a, 1), f)
    case("flatten_all", lambda a: torch.flatten(a), f)
    case("flatten_zero_dim", lambda a: torch.flatten(a), torch.tensor(2.0))
    case("unflatten", lambda a: a.unflatten(-1, (2, -1)), f)
    case("permute_negative", lambda a: a.permute(-1, 0, 1), f)
    case("transpose", lambda a: a.transpose(0, -1), f)
    case("t", lambda a: a.t(), x(2, 3))
    case("t_vector", lambda a: a.t(), x(3))
    case("mT", lambda a: a.mT, f)
    case("T", lambda a: a.T, x(2, 3))
    case("movedim", lambda a: a.movedim(0, -1), f)
    case("movedim_list", lambda a: a.movedim((0, 1), (2, 0)), f)
    case("squeeze", lambda a: a.squeeze(), x(1, 3, 1))
    case("squeeze_dim", lambda a: a.squeeze(-1), x(1, 3, 1))
    case("squeeze_dim_not_1", lambda a: a.squeeze(1), x(1, 3, 1))
    case("squeeze_dims", lambda a: a.squeeze((0, 1)), x(1, 3, 1))
    case("unsqueeze", lambda a: a.unsqueeze(-1), f)
    case("unsqueeze_first", lambda a: a[None], f)
    case("expand", lambda a: a.expand(2, 3, -1), x(3, 1))
    case("expand_as", lambda a, b: a.expand_as(b), x(3, 1), f[:, :, 0].view(2,
                                                                         3, 1))
    case("expand_zero_dim", lambda a: a.expand(2, 3), torch.tensor(1.5))
    case("repeat", lambda a: a.repeat(2, 1, 2), x(2, 3))
    case("repeat_0", lambda a: a.repeat(0, 1), x(2, 3))
    case("tile", lambda a: torch.tile(a, (2,)), x(2, 3))
    case("repeat_interleave", lambda a: a.repeat_interleave(2, 1), x(2, 3))
    case("repeat_interleave_flat", lambda a: a.repeat_interleave(2), x(2, 2))
    case("pixel_shuffle", lambda a: F.pixel_shuffle(a, 2), x(1, 8, 2, 3))
    case("pixel_unshuffle", lambda a: F.pixel_unshuffle(a, 2), x(1, 2, 4, 6))
    case("channel_shuffle", lambda a: F.channel_shuffle(a, 2), x(1, 6, 2))
    case("roll", lambda a: torch.roll(a, 1, 2), f)
    case("roll_flat", lambda a: torch.roll(a, -2), x(2, 3))
    case("roll_dims", lambda a: torch.roll(a, (1, -1), (0, 1)), x(3, 4))
    case("flip", lambda a: torch.flip(a, (0, -1)), f)
    case("contiguous", lambda a: a.transpose(0, 1).contiguous() + 0, f)
    case("clone", lambda a: a.clone(), f)
    case("dropout", lambda a: F.dropout(a, 0.5, False), f)
    case("pass_input", lambda a: a, f)
    case("return_twice", lambda a: (a + 1, a + 1), f)


def parts():
    f, n = x(3, 4, 2), i64(3, 4)
    case("select", lambda a: a[1], f)
    case("select_negative", lambda a: a.select(-2, -1), f)
    case("slice", lambda a: a[:, 1:3], f)
    case("slice_step", lambda a: a[:, ::3], f)
    case("slice_negative", lambda a: a[-2:, :-1], f)
    case("slice_beyond", lambda a: a[:, 2:100], f)
    case("slice_empty", lambda a: a[:, 3:1], f)
    case("narrow", lambda a: a.narrow(1, 1, 2), f)
    case("split", lambda a: torch.split(a, 3, 1), f)
    case("split_use", lambda a: torch.split(a, 2, 1)[1] * 2, f)
    case("split_sizes", lambda a: torch.split(a, [1, 3], 1), f)
    case("chunk", lambda a: torch.chunk(a, 3, 1), f)
    case("tensor_split", lambda a: torch.tensor_split(a, 3, 1), f)
    case("tensor_split_indices", lambda a: torch.tensor_split(a, (1, 3), 1), f)
    case("unbind", lambda a: torch.unbind(a, -1), f)
    case("cat", lambda a, b: torch.cat((a, b), -1), x(2, 3), x(2, 1))
    case("cat_promote", lambda a, b: torch.cat((a, b)), i64(2), x(3))
    case("cat_const", lambda a, b: torch.cat((a, b), 1), x(1, 2),
         consts=[x(1, 3)])
    case("cat_empty", lambda a, b: torch.cat((a, b), 1), x(0), x(2, 3))
    case("cat_one", lambda a: torch.cat((a,)), x(2, 3))
    case("stack", lambda a, b: torch.stack((a, b), -1), x(2, 3), x(2, 3))
    case("stack_promote", lambda a, b: torch.stack((a, b)), i64(2), x(2))
    index = torch.tensor([2, 0, 2])
    case("index_select", lambda a, i: a.index_select(1, i), f, index)
    case("index_select_const", lambda a, i: a.index_select(-1, i), f,
         consts=[torch.tensor([1, 0, 0], dtype=torch.int32)])
    case("gather", lambda a, i: a.gather(1, i), f,
         torch.randint(0, 4, (3, 2, 2)))
    case("embedding", F.embedding, torch.tensor([[0, 2], [1, 1]]),
         consts=[x(3, 4)])
    case("embedding_int32", F.embedding, torch.tensor([0, 2]).int(),
         consts=[x(3, 4)])
    case("index", lambda a, i: a[i], f, index)
    case("index_dim1", lambda a, i: a[:, i], f, index.view(1, 3))
    case("index_negative", lambda a, i: a[i], f, torch.tensor([-1, 0]))
    case("index_two", lambda a, i, j: a[i, j], f, torch.tensor([0, -1]),
         torch.tensor([[3], [1]]))
    case("index_apart", lambda a, i, j: a[i, :, j], f, torch.tensor([0, -1]),
         torch.tensor([1, 0]))
    case("index_two_const", lambda a, i, j: a[i, :, j], f,
         consts=[torch.tensor([0, -1]), torch.tensor([1, 0])])
    case("index_mask_const", lambda a, m: a[m], f,
         consts=[torch.tensor([True, False, True])])
    case("index_put_const", lambda a, v, i: a.index_put((i,), v), x(4, 2),
         x(2, 2), consts=[torch.tensor([3, 0])])
    case("index_put_mask", lambda a, m, v: a.index_put((m,), v), x(3, 2),
         torch.tensor([True, False, True]), consts=[torch.tensor(9.0)])
    case("select_scatter", lambda a, b: a.select_scatter(b, 1, 2), f, x(3, 2))
    case("select_scatter_first", lambda a, b: a.select_scatter(b, 0, 0), f,
         x(4, 2))
    case("slice_scatter", lambda a, b: a.slice_scatter(b, 1, 1, 3), f,
         x(3, 2, 2))
    case("slice_scatter_step", lambda a, b: a.slice_scatter(b, 1, 0, 4, 2), f,
         x(3, 2, 2))
    case("slice_int", lambda a: a[1:, 2], n)


def rearranged():
    f, square = x(2, 3, 4), x(3, 3)
    index = torch.tensor([[0, 2, 1], [1, 1, 0]])
    case("diagonal", lambda a: torch.diagonal(a, 1, -2, -1), f)
    case("unfold", lambda a: a.unfold(-1, 2, 1), f)
    case("rot90", lambda a: torch.rot90(a, 1, (0, 2)), f)
    case("fliplr", torch.fliplr, square)
    case("take", torch.take, square, consts=[torch.tensor([0, 8, -1])])
    case("repeat_interleave_const", lambda a, r: a.repeat_interleave(r, 0),
         square, consts=[torch.tensor([2, 0, 1])])
    case("masked_select_const", torch.masked_select, square,
         consts=[torch.tensor([True, False, True])])
    case("scatter_const", lambda a, b, i: a.scatter(0, i, b), square, x(2, 3),
         consts=[index])
    case("scatter_value_const", lambda a, i: a.scatter(1, i, 9.0), square,
         consts=[index])
    case("index_copy_const", lambda a, b, i: a.index_copy(1, i, b), square,
         x(3, 2), consts=[torch.tensor([2, 0])])
    case("index_fill_const", lambda a, i: a.index_fill(1, i, 5), square,
         consts=[torch.tensor([2, 0])])
    case("masked_scatter_const", lambda a, b, m: a.masked_scatter(m, b), square,
         x(9), consts=[boolean(3, 3)])
    case("tril", torch.tril, f)
    case("triu_diagonal", lambda a: torch.triu(a, 1), i64(3, 4))
    case("broadcast_tensors", lambda a, b: torch.broadcast_tensors(a, b),
         x(3, 1), x(2, 1, 2))
    case("meshgrid", lambda a, b: torch.meshgrid(a, b, indexing="ij"), x(2),
         x(3))
    case("meshgrid_xy", lambda a, b: torch.meshgrid(a, b, indexing="xy"), x(2),
         x(3))
    case("ravel", torch.ravel, f)
    case("frobenius", lambda a: A.frobenius_norm.dim(a, [1, 2], True), f)


def misc():
    f, n = x(2, 3), i64(2, 3)
    case("to_dtype", lambda a: a.to(torch.int64), f)
    case("to_bool", lambda a: a.bool(), n)
    case("to_half", lambda a: a.half(), f)
    case("to_double", lambda a: a.double(), f)
    case("to_other", lambda a, b: a.to(b), f, n)
    case("type_as", lambda a, b: a.type_as(b), n, f)
    case("to_uint8", lambda a: a.to(torch.uint8), n.abs())
    case("zeros_like", lambda a: torch.zeros_like(a) + a, n)
    case("ones_like_dtype", lambda a: torch.ones_like(a, dtype=torch.float32),
         n)
    case("full_like", "torch.full_like(a, 2.5)", f)
    case("full_like_int", "torch.full_like(a, 7)", n)
    case("new_full", lambda a: a.new_full((2, 2), 3), f)
    case("new_zeros", lambda a: a.new_zeros((2,)), n)
    case("fill", "torch.fill(a, 1.5)", f)
    case("constant_output", lambda a: torch.ones(2) * 3, f)
    case("arange_add", lambda a: a + torch.arange(a.size(1)), f)
    case("size_arithmetic", lambda a: a / (a.size(0) * a.size(-1)), f)


def sampled():
    image = x(1, 2, 3, 3)
    case("unfold_padded", lambda a: F.unfold(a, (2, 3), 1, 1, 2), image)
    case("unfold_dilated", lambda a: F.unfold(a, 2, 2, 1), x(2, 3, 4))
    case("fold", lambda a: F.fold(a, (3, 4), (2, 2), 1, 1, (2, 1)),
         x(1, 8, 10))
    case("conv2d_computed_weight",
         lambda a, b, c: F.conv2d(a, b * 2, c, 2, 1, groups=2),
         image, x(4, 1, 2, 2), x(4))
    case("conv1d_computed_weight", lambda a, b: F.conv1d(a, b + 1),
         x(2, 5), x(1, 2, 3))
    for mode in ("bilinear", "nearest", "bicubic"):
        for i, padding in enumerate(("zeros", "border", "reflection")):
            case(f"grid_sample_{mode}_{padding}",
                 lambda a, b, m=mode, p=padding, i=i: F.grid_sample(
                     a, b, m, p, i == 1),
                 x(2, 1, 3, 2), x(2, 2, 1, 2, low=-1.5, high=1.5))
    case("grid_sample_volume", lambda a, b: F.grid_sample(
        a, b, align_corners=True), x(1, 1, 2, 2, 3), x(1, 1, 1, 3, 3))
    case("affine_grid", lambda a: F.affine_grid(a, [1, 2, 2, 3], False),
         x(1, 2, 3))
    case("affine_grid_aligned", lambda a: F.affine_grid(a, [1, 2, 1, 3], True),
         x(1, 2, 3))
    case("pairwise_distance", lambda a, b: F.pairwise_distance(a, b),
         x(3, 4), x(3, 4))
    case("cosine_similarity", lambda a, b: F.cosine_similarity(a, b, -1),
         x(3, 4), x(1, 4))
    case("cdist", lambda a, b: torch.cdist(a, b, 1.0), x(2, 3), x(4, 3))


def scattered():
    """Indices that the graph computes."""
    def index(*shape, high):
        return torch.randint(0, high, shape)

    f, i = x(2, 4), index(2, 3, high=4)
    case("scatter_computed", lambda a, b, c: a.scatter(1, b + 0, c), f,
         torch.tensor([[3, 0, 1], [2, 2, 2]])[:, :2], x(2, 4))
    case("scatter_value_computed", lambda a, b: a.scatter(0, b, 1.5),
         x(3, 2), index(2, 2, high=3))
    case("scatter_add", lambda a, b, c: a.scatter_add(1, b, c), f, i, x(2, 3))
    case("scatter_add_smaller", lambda a, b, c: a.scatter_add(0, b, c),
         x(3, 4), index(2, 3, high=3), x(2, 4))
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for own in (True, False):
            case(f"scatter_reduce_{reduce}_{own}",
                 lambda a, b, c, r=reduce, o=own: a.scatter_reduce(
                     1, b, c, r, include_self=o), f, i, x(2, 3))
    case("scatter_reduce_int", lambda a, b, c: a.scatter_reduce(
        1, b, c, "amax", include_self=False), i64(2, 4), i, i64(2, 3))
    case("index_add", lambda a, b, c: a.index_add(1, b, c, alpha=2), f,
         torch.tensor([1, 1, 3]), x(2, 3))
    case("index_copy_computed", lambda a, b, c: a.index_copy(0, b, c),
         x(4, 2), torch.tensor([3, 1]), x(2, 2))
    case("index_fill_computed", lambda a, b: a.index_fill(1, b, 2.0), f,
         torch.tensor([3, 1]))
    case("index_put_computed", lambda a, b, c: A.index_put(a, [None, b], c),
         f, torch.tensor([-1, 1]), x(2, 2))
    case("index_put_computed_two", lambda a, b, c, d: A.index_put(
        a, [b, None, c], d), x(2, 2, 3), torch.tensor([[0], [1]]),
        torch.tensor([2, 0]), x(2))
    case("index_put_accumulate", lambda a, b, c: A.index_put(
        a, [b], c, True), x(3, 2), torch.tensor([2, 0, 2]), x(3, 1))


def products():
    a, b = x(2, 3), x(4, 3)
    case("tensordot", lambda a, b: torch.tensordot(a, b, ([0, 2], [1, 0])),
         x(2, 3, 2), x(2, 2, 3))
    case("inner", torch.inner, a, b)
    case("multi_dot", lambda a, b, c: torch.linalg.multi_dot([a, b, c]),
         a, x(3, 2), x(2))
    case("kron", torch.kron, x(2, 2), x(3))
    case("bilinear", F.bilinear, a, x(2, 2), x(2, 3, 2), x(2))
    case("cross", lambda a, b: A.cross(a, b), a, x(2, 3))
    case("hstack", lambda a, b: torch.hstack([a, b]), a, x(2, 1))
    case("hstack_vectors", lambda a, b: torch.hstack([a, b]), x(2), x(3))
    case("vstack", lambda a, b: torch.vstack([a, b]), a, x(3))
    case("dstack", lambda a, b: torch.dstack([a, b]), x(3), x(3))
    case("column_stack", lambda a, b: torch.column_stack([a, b]), x(2), a)
    case("block_diag", lambda a, b, c: torch.block_diag(a, b, c), a, x(2),
         torch.tensor(1.5))


def composites():
    a, b = x(2, 3), x(2, 3)
    odd = torch.tensor([math.nan, math.inf, -math.inf, 0.5, -0.0, 0.0])
    signs = torch.tensor([1.0, -1.0, 2.0, -0.0, 0.0, -math.inf])
    case("logaddexp", torch.logaddexp, a, b)
    case("logaddexp_infinite", torch.logaddexp, odd, odd)
    case("logaddexp2", torch.logaddexp2, a, b)
    case("hypot", torch.hypot, a, b)
    for name, least, most, dtype in (
            ("", 1e-40, 3e38, torch.float32),
            ("_half", 6e-8, 6e4, torch.float16),
            ("_double", 1e-310, 1e308, torch.float64)):
        case("hypot_far" + name, torch.hypot,
             torch.tensor([most / 2, least * 3, most, math.inf, math.nan,
                           math.nan, 0, 3], dtype=dtype),
             torch.tensor([-most / 2, least * 4, least, math.nan, -math.inf,
                           1, 0, -4], dtype=dtype))
    case("xlogy", torch.xlogy, torch.tensor([0.0, 1.5, 0.0]),
         torch.tensor([0.0, 2.0, math.nan]))
    case("heaviside", torch.heaviside, torch.tensor([-1.5, 0.0, 2.0]), x(3))
    case("copysign", torch.copysign, odd, signs)
    case("logit", torch.logit, x(3, low=0.125, high=0.875))
    case("logit_eps", lambda a: torch.logit(a, 0.25), x(3, low=0, high=1))
    case("sinc", torch.sinc, torch.tensor([0.0, 0.5, -1.25]))
    case("deg2rad", torch.deg2rad, i64(3))
    case("rad2deg", torch.rad2deg, x(3))
    case("nan_to_num", torch.nan_to_num, odd)
    case("nan_to_num_values", lambda a: torch.nan_to_num(a, 1.0, 2.0, 3.0),
         odd)
    case("addr", lambda a, b, c: torch.addr(a, b, c, beta=0.5, alpha=2), a,
         x(2), x(3))
    case("one_hot", lambda a: F.one_hot(a, 4), torch.tensor([[1, 3], [0, 0]]))
    case("nansum", lambda a: torch.nansum(a), odd[:1])
    case("nansum_dim", lambda a: torch.nansum(a, 1, True),
         torch.tensor([[math.nan, 1.0], [2.0, 3.0]]))
    case("count_nonzero", lambda a: torch.count_nonzero(a, 1), i64(2, 3))
    case("aminmax", lambda a: torch.aminmax(a, dim=1), a)
    case("median", torch.median, x(5))
    case("median_dim", lambda a: torch.median(a, 1, True),
         torch.tensor([[3.0, 1.0, 2.0, 4.0], [1.0, 0.0, math.nan, 5.0]]))
    case("linalg_norm", torch.linalg.norm, a)
    case("linalg_norm_dim", lambda a: torch.linalg.norm(a, 1, 0), a)
    case("matrix_norm", torch.linalg.matrix_norm, x(2, 2, 3))


def losses():
    a, b = x(2, 3), x(2, 3)
    for reduction in ("none", "mean", "sum"):
        case(f"mse_loss_{reduction}",
             lambda a, b, r=reduction: F.mse_loss(a, b, reduction=r), a, b)
        case(f"cross_entropy_{reduction}",
             lambda a, b, w, r=reduction: F.cross_entropy(
                 a, b, w, ignore_index=1, reduction=r),
             x(3, 4), torch.tensor([3, 1, 0]), x(4, low=0.5))
    case("l1_loss", F.l1_loss, a, b)
    case("smooth_l1_loss", lambda a, b: F.smooth_l1_loss(a, b, beta=0.5), a, b)
    case("huber_loss", lambda a, b: F.huber_loss(a, b, delta=1.5), a, b)
    case("kl_div", lambda a, b: F.kl_div(a, b, reduction="sum"), a,
         torch.tensor([[0.0, 0.5, 0.5], [0.25, 0.5, 0.25]]))
    case("kl_div_log", lambda a, b: F.kl_div(a, b, reduction="mean",
                                             log_target=True), a, b)
    odds = torch.tensor([[0.0, 0.5, 1.0], [0.25, 0.5, 0.75]])
    case("bce", lambda a, b: F.binary_cross_entropy(a, b), odds, odds.flip(0))
    case("bce_with_logits", lambda a, b, w: F.binary_cross_entropy_with_logits(
        a, b, pos_weight=w), a, odds, x(3))
    case("nll_loss_image", F.nll_loss, x(1, 2, 2, 2), i64(1, 2, 2, low=0,
                                                         high=1))
    case("diag_embed", lambda a: torch.diag_embed(a, 1, 0, 2), a)
    case("trace", torch.trace, a)
    case("trace_int", torch.trace, i64(3, 2))
    case("embedding_bag_sum", lambda i, o, w, s: F.embedding_bag(
        i, w, o, mode="sum", per_sample_weights=s), i64(5, low=0, high=3),
        torch.tensor([0, 2, 2]), x(4, 2), x(5))
    case("embedding_bag_mean", lambda i, o, w: F.embedding_bag(
        i, w, o, mode="mean", include_last_offset=True),
        i64(5, low=0, high=3), torch.tensor([0, 2, 2, 5]), x(4, 2))
    case("embedding_bag_max", lambda i, w: F.embedding_bag(i, w, mode="max"),
         i64(2, 3, low=0, high=3), x(4, 2))
    case("max_pool_indices", lambda a: F.max_pool2d(
        a, 3, 2, 1, ceil_mode=True, return_indices=True), x(1, 2, 4, 5))
    case("max_pool_indices_dilated", lambda a: F.max_pool1d(
        a, 2, 1, 0, 2, return_indices=True), x(2, 6))
    case("max_unpool", lambda a, b: F.max_unpool2d(a, b, 2), x(1, 2, 1, 2),
         torch.tensor([[[[5, 2]], [[0, 7]]]]))
    for mode in ("bilinear", "bicubic"):
        case(f"antialiased_{mode}", lambda a, m=mode: F.interpolate(
            a, (2, 5), mode=m, antialias=True), x(1, 1, 5, 3))
    case("antialiased_scale", lambda a: F.interpolate(
        a, scale_factor=0.4, mode="bilinear", antialias=True), x(1, 1, 6, 7))


def written():
    """Scatters of all kinds, indices given at run time."""
    def index(*shape, high, low=0):
        return torch.randint(low, high, shape)

    f, at = x(2, 4), torch.tensor([[3, 0, 3], [1, 1, 2]])
    for dtype in (torch.float64, torch.float16, torch.int64, torch.uint8,
                  torch.bool):
        name = str(dtype).split(".")[1]
        a, b = x(2, 4, dtype=dtype), x(2, 3, dtype=dtype)
        case(f"scatter_add_{name}", lambda a, i, b: a.scatter_add(1, i, b), a,
             at, b)
        case(f"scatter_amax_{name}", lambda a, i, b: a.scatter_reduce(
            1, i, b, "amax", include_self=False), a, at, b)
        case(f"index_put_add_{name}", lambda a, i, b: A.index_put(
            a, [None, i], b, True), a, torch.tensor([3, -1, 0]), b)
    case("scatter_mean_int", lambda a, i, b: a.scatter_reduce(
        1, i, b, "mean"), i64(2, 4), at, i64(2, 3))
    case("scatter_multiply", lambda a, i, b: A.scatter.reduce(
        a, 0, i, b, reduce="multiply"), f, index(1, 4, high=2), x(2, 4))
    case("scatter_value_add", lambda a, i: A.scatter.value_reduce(
        a, 1, i, 1.5, reduce="add"), f, at)
    case("index_reduce", lambda a, i, b: a.index_reduce(1, i, b, "prod"), f,
         torch.tensor([3, 0, 3]), x(2, 3))
    case("index_fill_negative", lambda a, i: a.index_fill(1, i, 7.0), f,
         torch.tensor([-1, 0]))
    # What is read must not be overwritten by what is written in its place.
    case("scatter_into_a_result", lambda a, i: a.relu().scatter_add(
        1, i, a.exp()).sum(0), f, at)
    case("scatter_of_itself", lambda a, i: (lambda y: y.scatter(
        1, i, y.flip(1)))(a.relu()), f, index(2, 4, high=4))
    case("index_put_of_itself", lambda a, i: (lambda y: A.index_put(
        y, [i], y[:2]) + 1)(a * 2), x(3, 2), torch.tensor([1, 2]))
    case("scatter_read_later", lambda a, i: (lambda y: y.scatter_add(
        1, i, y) * y)(a * 2), f, index(2, 4, high=4))
    y = x(3, 2, 4)
    i, j, k = (torch.tensor([2, -3, 2]), torch.tensor([[1], [-1]]),
               torch.tensor([0, 3, 1]))
    case("computed_index_apart", lambda a, i, k: A.index(a, [i, None, k]), y, i, k)
    case("computed_index_behind", lambda a, j, k: A.index(a, [None, j, k]), y, j, k)
    case("computed_index_all", lambda a, i, j, k: A.index(a, [i, j, k]), y, i, j, k)
    for accumulate in (False, True):
        case(f"index_put_apart_{accumulate}", lambda a, i, k, v, s=accumulate:
             A.index_put(a, [i, None, k], v, s), y, i, k, x(3, 2))
        case(f"index_put_behind_{accumulate}", lambda a, j, k, v, s=accumulate:
             A.index_put(a, [None, j, k], v, s), y, j, k, x(2, 3))
        case(f"index_put_all_{accumulate}", lambda a, i, j, k, v, s=accumulate:
             A.index_put(a, [i, j, k], v, s), y, i, j, k, x(1))
    mask = torch.tensor([True, False, True])
    case("index_mask_and_indices", lambda a, k, m: A.index(a, [m, None, k]), y,
         k[:2], consts=(mask,))
    case("index_put_mask_and_indices", lambda a, k, v, m: A.index_put(
        a, [m, None, k], v), y, k[:2], x(2, 2), consts=(mask,))
    case("index_put_inner_mask", lambda a, m, v: A.index_put(
        a, [None, m], v), y, boolean(2, 4), x(1))
    case("computed_take", lambda a, i: a.take(i), y, index(2, 2, low=-24, high=24))
    rows = index(5, high=3)
    case("scatter_of_rows", lambda a, i, b: a.scatter_add(
        0, i.view(-1, 1).expand(5, 4), b), x(3, 4), rows, x(5, 4))
    case("scatter_of_columns", lambda a, i, b: a.scatter_reduce(
        1, i.view(1, -1).expand(4, 5), b, "amin"), x(4, 3), rows, x(4, 5))


def computed_weights():
    """Kernels that are no constants; and losses, pooling with indices."""
    for n, spatial in ((1, (5,)), (2, (3, 4)), (3, (2, 3, 2))):
        op = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1]
        case(f"conv_transpose{n}d_computed", lambda a, w, b, f=op: f(
            a, w, b, stride=2, padding=1, output_padding=1), x(1, 2, *spatial),
            x(2, 2, *([3] * n)), x(2))
    case("conv_transpose_computed_groups", lambda a, w: F.conv_transpose2d(
        a, w, None, (1, 3), (0, 2), (0, 1), 2, (1, 2)), x(2, 4, 3, 2),
        x(4, 1, 2, 3))
    case("conv_transpose_computed_cropped", lambda a, w: F.conv_transpose1d(
        a, w, None, 2, 3), x(1, 1, 6), x(1, 1, 2))
    for size in ((3, 2), (2, 4)):
        case(f"adaptive_max_indices_{size[1]}", lambda a, s=size:
             F.adaptive_max_pool2d(a, s, return_indices=True), x(1, 2, 5, 4))
    scores, classes = x(3, 4), torch.tensor([1, 0, 3])
    odds = torch.softmax(x(3, 4), 1)
    for reduction in ("mean", "sum", "none"):
        case(f"cross_entropy_smooth_{reduction}", lambda a, t, w, r=reduction:
             F.cross_entropy(a, t, w, reduction=r, label_smoothing=0.2,
                             ignore_index=0), scores, classes, x(4).abs() + 0.5)
        case(f"cross_entropy_odds_{reduction}", lambda a, t, r=reduction:
             F.cross_entropy(a, t, reduction=r, label_smoothing=0.1), scores,
             odds)
    case("logical_not_in_place", lambda a: (a + 0).logical_not_(), i64(5))


def quantized():
    """Rounding to a grid and back."""
    a = torch.cat([x(6) * 3, torch.tensor([math.nan, math.inf, -math.inf])])
    for zero, low, high in ((0, -128, 127), (3, 0, 15)):
        case(f"fake_quantize_{zero}", lambda a, z=zero, l=low, h=high:
             torch.fake_quantize_per_tensor_affine(a, 0.25, z, l, h), a)
    case("fake_quantize_computed", lambda a, s, z:
         torch.fake_quantize_per_tensor_affine(a, s, z, -8, 7), a,
         torch.tensor(0.3), torch.tensor(2, dtype=torch.int32))
    # Inputs of other dtypes, ranges that no integer of 16 bits holds, zero
    # points with a fraction.
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        name = str(dtype).split(".")[1]
        case(f"fake_quantize_{name}", lambda a:
             torch.fake_quantize_per_tensor_affine(a, 0.3, 1, -8, 7),
             a.to(dtype))
    for high in (65535, 2 ** 31 - 1):
        case(f"fake_quantize_to_{high}", lambda a, h=high:
             torch.fake_quantize_per_tensor_affine(a, 1e-4, 5, 0, h), a)
    case("fake_quantize_fractions", lambda a, s, z:
         torch.fake_quantize_per_channel_affine(a, s, z, 0, 0, 255),
         torch.cat([a, torch.tensor([1e30, -1e30, 0.0])]).view(4, 3),
         consts=(torch.tensor([0.25, 0.5, 0.1, 0.02]),
                 torch.tensor([0.25, 100.5, 0.0, 7.0])))
    case("fake_quantize_channels", lambda a, s, z:
         torch.fake_quantize_per_channel_affine(a, s, z, 1, -8, 7),
         a.view(3, 3), consts=(torch.tensor([0.25, 0.5, 0.1]),
                               torch.tensor([0, 1, -2], dtype=torch.int32)))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE,
                                                                "conversion")
    torch.manual_seed(0)
    define()
    lines = ["# Made by tests/data/make_conversion.py; do not edit."]
    names = set()
    for name, function, inputs, consts in CASES:
        assert name not in names, name
        names.add(name)
        graph, results = run(function, inputs, consts)
        lines.append(f"case {name}")
        lines.append(graph)
        lines += [tensor_line("input", t) for t in inputs]
        lines += [tensor_line("const", t) for t in consts]
        lines += [tensor_line("output", t) for t in results]
    with open(os.path.join(folder, "cases.txt"), "w") as file:
        file.write("\n".join(lines) + "\n")
    print(len(CASES), "cases")


if __name__ == "__main__":
    main()
