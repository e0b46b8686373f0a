#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/ir/ with PyTorch as the oracle.

    make_ir.py [folder]

calls.txt   calls with static argument types, and what PyTorch's overload
            resolution makes of them when it loads them from an archive
order.txt   overloads of names in PyTorch's registry order
*.graph     graphs as PyTorch prints them
"""
import io
import os
import re
import sys
import zipfile
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))

# Variables of the calls below, by type.
VARIABLES = {
    "t": "Tensor", "u": "Tensor", "n": "int", "m": "int", "f": "float",
    "g": "float", "b": "bool", "s": "str", "d": "Device", "c": "complex",
    "num": "number", "il": "List[int]", "fl": "List[float]",
    "bl": "List[bool]", "tl": "List[Tensor]", "sl": "List[str]",
    "otl": "List[Optional[Tensor]]", "ill": "List[List[int]]",
    "ot": "Optional[Tensor]", "oi": "Optional[int]", "of": "Optional[float]",
    "oil": "Optional[List[int]]", "os": "Optional[str]",
    "tii": "Tuple[int, int]", "ttt": "Tuple[Tensor, Tensor]",
    "tnt": "Tuple[int, Tensor]", "tif": "Tuple[int, float]",
    "dst": "Dict[str, Tensor]", "dit": "Dict[int, Tensor]",
    "dsi": "Dict[str, int]", "a": "Any", "gen": "Optional[Generator]",
}

CALLS = """
add(t, u)  add(t, n)  add(t, f)  add(t, u, alpha=n)  add(t, n, m)  add(n, m)
add(f, g)  add(n, f)  add(f, n)  add(s, s)  add(il, il)  add(tl, tl)
add(num, num)  add(n, num)  add(b, n)  add(c, c)  add(t, b)  add(sl, [])
add(t, num)  add(t, ot)  add(b, b)  add_(t, u)  add_(t, n)  add_(t, f, n)
sub(t, u)  sub(n, m)  sub(t, n, alpha=m)  rsub(t, n)  rsub(t, u)
mul(t, f)  mul(t, u)  mul(n, f)  mul(f, n)  mul(n, m)  mul(il, n)  mul(s, n)
div(t, u)  div(t, n)  div(n, m)  div(f, g)  div(t, u, rounding_mode=s)
div(t, n, rounding_mode=os)  div(num, num)  div(n, f)
floordiv(n, m)  floordiv(f, n)  floor_divide(t, u)  floor_divide(t, n)
remainder(n, m)  remainder(t, n)  remainder(t, u)  remainder(f, n)
pow(t, n)  pow(t, u)  pow(n, m)  pow(f, n)  pow(n, t)  pow(n, f)  pow(t, f)
sqrt(n)  sqrt(f)  sqrt(t)  neg(n)  neg(f)  neg(t)  neg(num)  abs(t)  abs(n)
ceil(f)  ceil(t)  ceil(n)  floor(f)  floor(t)  round(f)  round(t)
round(t, decimals=n)  exp(t)  exp(f)  log(t)  log(n)  log(f)
sum(t)  sum(t, n)  sum(t, il)  sum(t, None)  sum(t, il, b)  sum(t, dtype=n)
sum(t, [n])  sum(t, tii)  sum(il)  mean(t)  mean(t, il)  mean(t, n)
mean(t, il, b)  mean(t, dim=il, keepdim=b)  mean(t, oil, b, dtype=oi)
max(t)  max(t, n)  max(t, u)  max(t, n, b)  min(t)  min(t, n)  min(t, u)
amax(t, n)  amax(t, il, b)  argmax(t)  argmax(t, n)  argmax(t, oi, b)
any(t)  any(t, n)  all(t)  all(t, n, b)  prod(t)  prod(t, n)
norm(t)  norm(t, n)  norm(t, n, il)  norm(t, n, [n], b)  norm(t, f, il, b)
cumsum(t, n)  var(t, b)  var(t, il, b, b)  std(t, n)  topk(t, n)
topk(t, n, m, b, b)  sort(t)  sort(t, n, b)  sort(il)  sort(il, b)
argsort(t)  argsort(t, n, b)  softmax(t, n)  softmax(t, n, oi)
log_softmax(t, n)  relu(t)  relu(input=t)  relu(self=t)  relu_(t)  gelu(t)
gelu(t, approximate=s)  leaky_relu(t)  leaky_relu(t, f)  leaky_relu(t, n)
hardtanh(t)  hardtanh(t, n, m)  hardtanh(t, f, g)  hardtanh_(t, n, f)
clamp(t, n, m)  clamp(t, None, n)  clamp(t, min=n)  clamp(t, t, u)
clamp(t, min=t)  clamp(t, ot, ot)  clamp_min(t, n)  clamp_min(t, u)
elu(t)  elu(t, f, n, n)  softplus(t)  silu(t)  dropout(t, f, b)
dropout(t, n, b)  threshold(t, n, m)  prelu(t, u)  celu(t, f)
conv2d(t, u)  conv2d(t, u, ot)  conv2d(t, u, ot, il)  conv2d(t, u, t, n)
conv2d(t, u, None, n, m, n, m)  conv2d(t, u, t, il, s)
conv2d(t, u, t, tii, tii)  conv2d(t, u, stride=n)  conv1d(t, u, ot, n, il)
conv1d(t, u, None, n, s)  conv_transpose2d(t, u, t, il, il, il, n, il)
conv_transpose2d(t, u, t, n)
_convolution(t, u, ot, il, il, il, b, il, n, b, b, b)
_convolution(t, u, ot, il, il, il, b, il, n, b, b, b, b)
batch_norm(t, ot, ot, ot, ot, b, f, g, b)  layer_norm(t, il)
layer_norm(t, il, ot, ot, f)  layer_norm(t, n)  group_norm(t, n, ot, ot, f)
instance_norm(t, ot, ot, ot, ot, b, f, g, b)
max_pool2d(t, n)  max_pool2d(t, il)  max_pool2d(t, il, il, il, il, b)
max_pool2d(t, tii, [], n)  max_pool2d(t, n, n, m, n, b)  max_pool1d(t, n)
avg_pool2d(t, n)  avg_pool2d(t, il, il, il, b, b, None)
avg_pool2d(t, il, il, il, b, b, oi)  adaptive_avg_pool2d(t, n)
adaptive_avg_pool2d(t, il)  adaptive_avg_pool2d(t, tii)
adaptive_max_pool2d(t, il)  linear(t, u)  linear(t, u, t)  linear(t, u, ot)
matmul(t, u)  bmm(t, u)  addmm(t, t, u)  addmm(t, t, u, beta=n, alpha=f)
baddbmm(t, t, u, beta=n)  einsum(s, tl)  einsum(s, [t, u])
einsum(s, tl, path=oil)  cat(tl)  cat(tl, n)  cat([t, u], n)  cat(ttt, n)
cat(ttt)  cat([], n)  stack(tl)  stack([t], n)  stack(ttt, dim=n)
view(t, il)  view(t, n)  view(t, n, m)  view(t, tii)  view(t, n, m, n)
reshape(t, il)  reshape(t, n, m)  reshape(t, tnt)  reshape(t, [n, u])
expand(t, il)  expand(t, n, m)  expand(t, il, implicit=b)  repeat(t, il)
repeat(t, n, m)  permute(t, il)  permute(t, n, m)  transpose(t, n, m)
transpose(t, n, u)  flatten(t)  flatten(t, n)  flatten(t, n, m)
flatten(t, start_dim=n)  squeeze(t)  squeeze(t, n)  squeeze(t, il)
unsqueeze(t, n)  select(t, n, m)  select(t, n, u)  slice(t, n, m)
slice(t, n, m, n, m)  slice(t, n, None, oi)  slice(il, n, oi)  slice(s, n)
slice(t)  narrow(t, n, m, n)  narrow(t, n, t, m)  split(t, n)  split(t, il)
split(t, n, m)  split(t, tii, n)  split_with_sizes(t, il, n)  chunk(t, n)
chunk(t, n, m)  unbind(t)  unbind(t, n)  unflatten(t, n, il)  index(t, otl)
index(t, tl)  index(t, [t, None])  index(t, [None, u])  index_put_(t, otl, u)
index_put_(t, tl, u, b)  index_select(t, n, u)  gather(t, n, u)
scatter(t, n, u, t)  scatter(t, n, u, f)  scatter(t, n, u, f, reduce=s)
masked_fill(t, u, f)  masked_fill(t, u, n)  masked_fill(t, u, t)
masked_fill_(t, u, b)  where(t)  where(t, t, u)  where(t, t, f)
where(t, n, u)  where(t, n, f)  embedding(t, u)  embedding(t, u, n, b, b)
zeros(il)  zeros(n)  zeros(n, m)  zeros(tii)  zeros(il, dtype=n)
zeros(il, dtype=oi, layout=None, device=d, pin_memory=b)  zeros(n, t)
zeros([n, t])  ones(il)  full(il, n)  full(il, f, dtype=n)  full(tii, b)
zeros_like(t)  zeros_like(t, dtype=n)  ones_like(t)  full_like(t, f)
empty(il, dtype=n)  new_zeros(t, il)  new_zeros(t, n, m)  new_full(t, il, f)
arange(n)  arange(f)  arange(n, m)  arange(n, m, n)  arange(n, dtype=m)
arange(n, f)  arange(num)  arange(t)  arange(n, m, n, dtype=oi, device=d)
linspace(n, m, n)  linspace(f, g, n, dtype=oi)  eye(n)  eye(n, m)  tril(t)
tril(t, n)  triu(t, diagonal=n)  rand(il)  randn(n, m)  randint(n, il)
tensor(n)  tensor(f)  tensor(b)  tensor(il)  tensor(fl, dtype=n)
tensor(ill)  tensor(n, dtype=oi, device=d)  as_tensor(t)  as_tensor(n)
to(t, n)  to(t, d)  to(t, d, n)  to(t, u)  to(t, n, b)  to(t, dtype=n)
to(t, s)  to(t, d, n, b, b)  to(t, dtype=oi, layout=oi, device=d)
type_as(t, u)  contiguous(t)  contiguous(t, memory_format=n)  clone(t)
detach(t)  copy_(t, u)  copy_(t, n)  fill_(t, n)  fill_(t, u)  zero_(t)
size(t)  size(t, n)  dim(t)  numel(t)  len(t)  len(tl)  len(s)  len(dst)
len(il)  item(t)  eq(n, m)  eq(t, u)  eq(t, n)  eq(s, s)  eq(il, il)
eq(f, n)  eq(b, b)  eq(d, d)  eq(num, num)  eq(n, num)  ne(t, n)  ne(s, s)
ne(n, b)  lt(n, m)  lt(t, f)  lt(t, u)  lt(f, n)  gt(n, f)  gt(t, n)
ge(t, n)  ge(n, m)  le(n, f)  le(t, u)  __and__(b, b)  __and__(t, u)
__and__(n, m)  __or__(b, b)  __not__(b)  __is__(ot, None)  __is__(a, a)
__isnot__(oi, None)  __contains__(sl, s)  __contains__(dst, s)
__contains__(il, n)  __getitem__(tl, n)  __getitem__(il, n)
__getitem__(dst, s)  __getitem__(s, n)  __getitem__(dit, n)
_set_item(dst, s, t)  _set_item(tl, n, t)  _set_item(dsi, s, n)
append(tl, t)  append(il, n)  append(otl, t)  append(otl, ot)  extend(tl, tl)
insert(il, n, m)  pop(il)  pop(tl, n)  keys(dst)  values(dsi)  items(dit)
get(dst, s)  get(dst, s, t)  update(dst, dst)  copy(il)  clear(tl)
list(tl)  list(s)  Int(t)  Int(f)  Int(b)  Int(num)  Int(s)  Float(t)
Float(n)  Float(num)  Bool(t)  Bool(n)  str(n)  str(t)  str(tl)
format(s, n, t)  format(s)  warn(s)  warn(s, n)  device(s)
__range_length(n, m, n)  __derive_index(n, m, n)
bitwise_and(t, u)  bitwise_and(t, n)  bitwise_not(t)  logical_and(t, u)
upsample_nearest2d(t, il, None)  upsample_nearest2d(t, None, fl)
upsample_nearest2d(t, oil, None)  upsample_nearest2d(t, il, of, of)
upsample_bilinear2d(t, il, b, None)  upsample_bilinear2d(t, oil, b, None)
upsample_bilinear2d(t, None, b, fl)  upsample_bilinear2d(t, il, b)
upsample_bilinear2d(t, [n, m], b, f, g)
pad(t, il)  pad(t, il, s, f)  pad(t, tii, s)  constant_pad_nd(t, il, f)
constant_pad_nd(t, il)  reflection_pad2d(t, il)  grid_sampler(t, u, n, m, b)
lstm(t, tl, tl, b, n, f, b, b, b)  lstm(t, u, tl, tl, b, n, f, b, b)
lstm_cell(t, tl, t, u, ot, ot)  lstm_cell(t, [t, u], t, u)
gru(t, u, tl, b, n, f, b, b, b)
scaled_dot_product_attention(t, u, t)
scaled_dot_product_attention(t, u, t, ot, f, b, scale=of)
scaled_dot_product_attention(t, u, t, attn_mask=ot, is_causal=b)
cross_entropy_loss(t, u)  nll_loss(t, u, ot, n, m)  mse_loss(t, u, n)
one_hot(t, n)  roll(t, n)  roll(t, il, il)  roll(t, n, n)  flip(t, il)
flip(t, n, m)  meshgrid(tl)  meshgrid(tl, indexing=s)
broadcast_tensors(tl)  broadcast_to(t, il)  unfold(t, n, m, n)
im2col(t, il, il, il, il)  im2col(t, n, n, n, n)  pixel_shuffle(t, n)
tensor_split(t, n)  tensor_split(t, il)  tensor_split(t, u)
repeat_interleave(t, n)  repeat_interleave(t, u)  repeat_interleave(t)
searchsorted(t, u)  searchsorted(t, f)  bucketize(t, u)  multinomial(t, n)
nonzero(t)  nonzero_numpy(t)  unique_consecutive(t)  cdist(t, u)  outer(t, u)
dot(t, u)  trace(t)  diagonal(t)  diagonal(t, n, m, n)  lerp(t, u, f)
lerp(t, u, t)  addcmul(t, t, u)  addcmul(t, t, u, value=n)  hypot(t, u)
maximum(t, u)  isnan(t)  isinf(t)  sign(t)  real(t)  swapaxes(t, n, m)
normal_(t, f, g)  uniform_(t)  uniform_(t, f, g)  bernoulli_(t, f)
bernoulli(t)  bernoulli(t, f)  randperm(n, dtype=oi)  is_floating_point(t)
linalg_vector_norm(t)  linalg_vector_norm(t, n, il, b)  linalg_norm(t)
relu(n)  conv2d(t)  nosuchname(t)  sum(t, s)  cat(t)  view(t, s)
size(t, n, m)  softmax(t, n, dim=m)  dropout(t, f)  zeros(s)
"""


def call_list():
    return re.findall(r"[A-Za-z_0-9]+\([^()]*\)", CALLS)


def parse_call(call):
    """name, [(keyword or None, argument text)]"""
    name, rest = call[:-1].split("(", 1)
    args, depth, part = [], 0, ""
    for ch in rest + ",":
        depth += (ch == "[") - (ch == "]")
        if ch == "," and depth == 0:
            part = part.strip()
            key = None
            if re.match(r"[a-z_]+=", part):
                key, part = part.split("=")
            if part:
                args.append((key, part))
            part = ""
        else:
            part += ch
    return name, args


def load_method(code):
    """The graph of method `f` of a module whose code is `code`."""
    class Empty(nn.Module):
        def forward(self, x):
            return x

    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(Empty()), buffer)
    source = zipfile.ZipFile(buffer)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as z:
        for item in source.namelist():
            data = source.read(item)
            if item.endswith(".py") and b"(Module)" in data:
                space = re.search(r"code/(.*)\.py", item).group(1)
                name = re.search(r"class (\w+)\(", data.decode()).group(1)
                text = code.replace("__torch__", space.replace("/", "."))
                data = text.replace("CLASS", name).encode()
            if item.endswith("version"):
                data = b"10\n"
            if not item.endswith(".debug_pkl"):
                z.writestr(item, data)
    target.seek(0)
    return torch.jit.load(target)._c._get_method("f").graph


def recipe(value, names):
    """How an input of the node comes from the arguments; see the test."""
    node = value.node()
    if node.kind() == "prim::Param":
        return "$" + str(names[value.debugName()])
    if node.kind() == "prim::Constant":
        return "="
    inputs = list(node.inputs())
    if node.kind() == "prim::TupleUnpack":
        at = [o.debugName() for o in node.outputs()].index(value.debugName())
        return f"#{at} of {recipe(inputs[0], names)}"
    parts = [recipe(i, names) for i in inputs]
    if node.kind() in ("prim::ListConstruct", "prim::TupleConstruct"):
        return ("[%s]" if "List" in node.kind() else "(%s)") % ", ".join(parts)
    return node.kind() + "(" + ", ".join(parts) + ")"


def describe(call):
    """One line of calls.txt."""
    name, args = parse_call(call)
    if any(a.startswith("[") and a != "[]" for _, a in args):
        return None  # a list literal has a type: covered by its variable
    params, texts = "", []
    for i, (key, arg) in enumerate(args):
        literal = arg in ("None", "[]")
        if not literal:
            params += f",\n    p{i}: {VARIABLES[arg]}"
        texts.append((key + "=" if key else "") + (arg if literal else f"p{i}"))
    code = (f"class CLASS(Module):\n  __parameters__ = []\n"
            f"  __buffers__ = []\n  training : bool\n"
            f"  _is_full_backward_hook : NoneType\n"
            f"  def f(self: __torch__.CLASS{params}) -> Any:\n"
            f"    _0 = torch.{name}({', '.join(texts)})\n    return _0\n"
            f"  def forward(self: __torch__.CLASS,\n    x: Tensor) -> Tensor:\n"
            f"    return x\n")
    shown = [(key + "=" if key else "") + VARIABLES.get(arg, arg)
             for key, arg in args]
    left = f"aten::{name}({'; '.join(shown)})"
    try:
        graph = load_method(code)
    except RuntimeError:
        return left + " => fails"
    calls = [n for n in graph.nodes() if n.kind() == "aten::" + name]
    if len(calls) != 1 or calls[0].schema() == "(no schema)":
        return None  # a builtin script function was inlined
    node = calls[0]
    # The graph's inputs: self, then one for each argument that is no literal.
    given = [i for i, (_, arg) in enumerate(args) if arg not in ("None", "[]")]
    names = dict(zip([v.debugName() for v in graph.inputs()][1:], given))
    inputs = ", ".join(recipe(i, names) for i in node.inputs())
    outs = "; ".join(o.type().annotation_str for o in node.outputs())
    schema = node.schema().split("(")[0]
    return f"{left} => {schema}({inputs}) : {outs}"


def wanted(schema):
    sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
    from make_schema_table import wanted as in_table
    return in_table(schema)


def order_lines():
    """Overloads of every name that has several, in registry order."""
    groups = {}
    for s in torch._C._jit_get_all_schemas():
        groups.setdefault(s.name, None)
    for name in sorted(groups):
        if not name.startswith(("aten::", "prim::")):
            continue
        schemas = torch._C._jit_get_schemas_for_operator(name)
        kept = [s for s in schemas if wanted(str(s))]
        if len(kept) > 3:
            yield name + ": " + " ".join(s.overload_name or "-" for s in kept)


# ---- graphs ----

class Point(NamedTuple):
    x: torch.Tensor
    n: int


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)), inplace=True)
        x = F.max_pool2d(x, 2)
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return F.softmax(self.fc(x), dim=-1)


class Control(nn.Module):
    def forward(self, x: torch.Tensor, n: int, flag: Optional[bool] = None):
        total = torch.zeros_like(x)
        seen: List[torch.Tensor] = []
        for i in range(n):
            if i > 3:
                break
            if flag is not None and flag:
                total += x * i
            else:
                total = total - x.sum(0, keepdim=True)
            seen.append(total)
        while bool(total.sum() < 10.5):
            total = total * 2
        return total, seen, len(seen)


class Containers(nn.Module):
    def forward(self, x: torch.Tensor, p: Point, d: Dict[str, torch.Tensor],
                pairs: List[Tuple[int, float]]):
        d["y"] = x + p.n
        scale = 0.
        for a, b in pairs:
            scale += a * b
        name = "tab\t\"quote\" 'single' back\\slash\n"
        e = {"out": x * scale, name: d["y"]}
        return Point(x[0, 1:], len(d)), e, (1, 2.5, "s", None, True)


class Constants(nn.Module):
    def forward(self, x: torch.Tensor):
        a = torch.full([2, 3], 1e-5, dtype=torch.float64)
        b = torch.tensor([1., 1e300, 0.1, -2.5])
        d = torch.device("cuda:0")
        inf = float("inf")
        return x + a, b, d, inf, 9223372036854775807, -inf, 2 + 3j


class TracedConstants(nn.Module):
    def forward(self, x):
        return (x + torch.tensor([[1.5, 2.], [3., 1e6]]) + torch.ones(())
                * torch.tensor(2) + torch.tensor([1, 2]) + torch.tensor([.5]))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 5, 2, bidirectional=True, batch_first=True)

    def forward(self, x):
        y, (h, _) = self.lstm(x)
        return y[:, -1], h


def graphs():
    torch.manual_seed(1)
    image = torch.rand(1, 3, 8, 8)
    net = Net().eval()
    scripted = torch.jit.script(net)
    yield "net_scripted", scripted.graph
    yield "net_inlined", scripted.inlined_graph
    yield "net_frozen", torch.jit.freeze(scripted).graph
    yield "net_traced", torch.jit.trace(net, image).inlined_graph
    yield "control", torch.jit.script(Control()).graph
    yield "containers", torch.jit.script(Containers()).graph
    yield "constants", torch.jit.script(Constants()).graph
    yield "traced_constants", torch.jit.trace(TracedConstants(),
                                              torch.rand(2, 2)).graph
    yield "lstm_traced", torch.jit.trace(Lstm().eval(),
                                         torch.rand(1, 3, 4)).inlined_graph


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "ir")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "calls.txt"), "w") as f:
        for call in call_list():
            line = describe(call)
            if line:
                f.write(line + "\n")
    with open(os.path.join(folder, "order.txt"), "w") as f:
        for line in order_lines():
            f.write(line + "\n")
    for name, graph in graphs():
        text = str(graph)
        text = re.sub(r"# \S*site-packages/", "# ", text)
        text = text.replace("# " + HERE + "/", "# ")
        with open(os.path.join(folder, name + ".graph"), "w") as f:
            f.write(text)


if __name__ == "__main__":
    main()
