#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/compiler/defects.{ts,npz}: a module with one method for each
thing that compilers of this kind have got wrong, and PyTorch's answers, for
tests/compiler/defects_test.c. Arrays are named METHOD.in_0, METHOD.out_0, ...

Usage: make_defects.py [folder]
"""
import os
import sys

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
torch.manual_seed(0)
METHODS = {}


def method(name, source, *inputs):
    names = [chr(ord("a") + i) for i in range(len(inputs))]
    body = "\n".join("  " + line for line in source.strip().split("\n"))
    METHODS[name] = (f"def {name}(self, {', '.join(names)}):\n{body}\n", inputs)


class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("deconv", torch.randn(3, 2, 3, 3))
        self.register_buffer("weight", torch.randn(5, 4))
        self.register_buffer("bias", torch.randn(5))
        self.register_buffer("mean", torch.randn(3))
        self.register_buffer("var", torch.rand(3) + 0.5)
        self.register_buffer("table", torch.ones(3, 4))


def define():
    x = torch.randn
    method("loop_index", """
y = a[0] * 0.0
for i in range(a.size(0)):
  y = y + a[i] * float(i)
return y""", x(4, 3))
    method("nested_loops", """
y = a[0, 0] * 0.0
for i in range(a.size(0)):
  for j in range(a.size(1)):
    y = y + a[i, j] * float(10 * i + j)
return y""", x(2, 3, 2))
    terms = " + ".join(["a.size(0) * a.size(1)"] * 300)
    method("wide_arithmetic", f"n = {terms}\nreturn a * float(n)", x(2, 3))
    method("split_sizes", """
p = torch.split(a, 3, 0)
q = torch.split(a, [1, 6], -2)
return p[0], p[1], p[2], q[0], q[1]""", x(7, 2))
    method("unsqueeze_negative", """
return a.unsqueeze(-1), a.unsqueeze(-2), a.unsqueeze(-3)""", x(2, 3))
    method("select_keeps_ones", """
return a.select(2, 1), a.narrow(2, 1, 2), a.select(-1, -2), a[:, 0]""",
           x(1, 1, 3, 4))
    method("batch_norm_ranks", """
n = None
y = torch.batch_norm(a, n, n, self.mean, self.var, False, 0.1, 1e-5, False)
z = torch.batch_norm(b, n, n, self.mean, self.var, False, 0.1, 1e-5, False)
return y, z""", x(2, 3, 4), x(4, 3))
    method("pooling_ranks", """
return (torch.max_pool1d(a, [2], [2], [0], [1], False),
        torch.avg_pool1d(a, [3], [1], [1], True, False),
        torch.max_pool2d(a, [2, 2], [2, 2], [0, 0], [1, 1], True),
        torch.adaptive_avg_pool1d(a, [3]))""", x(2, 3, 7))
    method("linear_ranks", """
return (torch._C._nn.linear(a, self.weight, self.bias),
        torch._C._nn.linear(a[0, 0], self.weight, None))""", x(2, 3, 4))
    method("elu_scales", """
return (torch._C._nn.elu(a, 1.5, 2.0, 0.5), torch.selu(a),
        torch.celu(a, 0.7))""", x(8) * 3)
    method("deconvolution_output_padding", """
return torch.conv_transpose2d(a, self.deconv, None, [2, 2], [1, 1], [1, 1], 1,
                              [1, 1])""", x(1, 3, 4, 5))
    method("casts_stay", """
return (a.to(torch.int64), a.to(torch.int32).to(torch.float32) * 0.5,
        a.to(torch.float64) / 3.0, a.to(torch.bool))""", x(7) * 4)
    method("gelu_is_exact", """
return torch._C._nn.gelu(a, approximate="none")""", torch.linspace(-6, 6, 49))
    method("variance_of_large_values", """
return torch.var(a, [1], True), torch.std(a, [0], False)""",
           x(3, 5, dtype=torch.float32) * 0.01 + 4096)
    method("log_softmax_does_not_underflow", """
return torch.log_softmax(a, 1)""", torch.tensor([[0.0, 200.0, -300.0]]))
    method("max_of_integers", """
v, i = torch.max(a, 1)
w, j = torch.min(a, -1, True)
return v, i, w, j""", torch.tensor([[3, 2**53 + 1, 2**53], [-1, -7, -7]]))
    method("any_is_not_a_sum", """
return torch.any(a, 1), torch.all(a, 1), torch.any(a)""",
           torch.tensor([[1.0, -1.0], [0.0, 0.0], [2.0, 0.0]]))
    method("floor_division_rounds_down", """
n = (0 - a.size(0)) // 2
m = a.size(0) // -3
return a[:, n:] * float(m)""", x(7, 9))
    for name, source in (
            ("zeros", "y = torch.zeros(3, 4)"),
            ("zeros_like", "y = torch.zeros_like(a)"),
            ("a_buffer", "y = self.table")):
        for sign in (1, -1):
            method(f"block_writes_to_{name}_{sign + 1}", f"""
{source}
v = y[1:]
if bool(a.sum() > 0):
  y += a
  v[0, 1] = 7.0
else:
  y[2] = a[0]
return y, v * 2""", x(3, 4).abs() * sign)
    method("blocks_add_rows", """
y = torch.zeros_like(a)
for k in range(3):
  i = torch.where(b == k)[0]
  if i.numel() > 0:
    y.index_add_(0, i, a[i] * (k + 1))
return y""", x(4, 2), torch.tensor([2, 0, 2, 5]))
    method("numbers_from_data", """
n: List[int] = b.tolist()
p = torch.split(a, n)
total = 0
for k in n:
  total += k
y = torch.zeros(3, 2)
for i in range(3):
  y[i] += p[i].sum(0)
t = torch.tensor([n[1], int(a.sum() * 0), total])
return y, t, torch.tensor([[n[0]], [n[2]]])""",
           x(6, 2), torch.tensor([1, 3, 2]))
    method("tuples_in_a_list", """
q: List[Tuple[float, int]] = []
for i in range(int(b.sum())):
  q.append((float(a[i]), i))
q.sort()
k = sorted([(2, "b", 1), (2, "a", 5), (1, "z", 7), (2, "a", 3)])
return (torch.tensor([q[-1][1], q[1][1], q[0][1]]), torch.tensor([q[0][0]]),
  torch.tensor([k[0][2], k[1][2], k[2][2], k[3][2]]))""",
           torch.tensor([2.0, 0.5, 2.0, -1.0, 0.5, 9.0]),
           torch.tensor([1, 3, 2]))
    method("write_after_a_choice", """
b = a * 1.0
c = a * 2.0
if bool(a.sum() > 0):
  y = b
else:
  y = c
b += 1.0
return y""", x(3))
    method("item_out_of_range", "s = a.shape\nreturn a * float(s[2])", x(2, 3))
    rows = x(3, 2), torch.tensor([2, 0, 1])
    method("embedded_rows", "return torch.embedding(a, b)", *rows)
    method("selected_rows", "return a.index_select(0, b)", *rows)
    method("gathered_rows", "return a.gather(0, b.unsqueeze(1))", *rows)
    method("indexed_rows", "return a[b]", *rows)
    method("first_method", "return a + 1.0", x(3))
    method("second_method", "return a * 3.0", x(3))
    method("two_inputs", "return a - 2.0 * b", x(2, 3), x(2, 3))
    method("rows_and_a_row", "return a - 2.0 * b", x(2, 3), x(1, 3))
    method("parts_of_an_expand", """
a = a * 2.0
v = a.unsqueeze(0).expand(3, 2, 4)
v[0].add_(1.0)
v[:1, 1] = v[-1:, 0] * 3.0
w = v[1].t()
w[2] -= 5.0
v[2, :, 0].copy_(b)
return a, v, w""", x(2, 4), x(2))
    method("families_of_types", """
v: List[Any] = [[1], (1, a), a, 3, "s"]
y = torch.zeros(5)
for i, t in enumerate(v):
  if isinstance(t, list):
    y[i] += 1
  if isinstance(t, tuple):
    y[i] += 2
  if isinstance(t, (int, tuple)):
    y[i] += 4
  if isinstance(t, (list, torch.Tensor)):
    y[i] += 8
return y + a""", x(5))
    method("dims_of_a_picked_tensor", """
z = [a, b][int(a.sum() > 0)]
b.t_()
return z""", x(2, 3), x(2, 3))
    method("fill_of_what_an_expand_repeats", """
a = a * 2.0
v = a.expand(3, 4, 2)
v.transpose(0, 1)[1].fill_(5.0)
w = torch.zeros(1, 2).expand(3, 2)
if bool(a.sum() > 1000.0):
  w.zero_()
else:
  w.fill_(7.0)
a.select(1, 0).unsqueeze(0).expand(2, 4).zero_()
return a, v, w""", x(4, 1))
    method("a_branch_that_would_fail", """
y = a.relu()
if bool(a.sum() > 1000.0):
  y = torch.cat([y, y.view(7, 7)], 1)
elif bool(a.sum() > 900.0):
  s = a.shape
  y = y * float(s[5])
return y""", x(2, 3))
    method("a_branch_that_fails", """
y = a.relu()
if bool(a.sum() > -1000.0):
  y = y.view(7, 7)
return y""", x(2, 3))
    method("a_loop_that_would_fail", """
y = a.relu()
if bool(a.sum() > -1000.0):
  for i in range(int(b)):
    y = y.view(7, 7)
return y""", x(2, 3), torch.tensor(0))
    method("fill_of_an_expand_by_a_number_found", """
y = a * 1.0
y.select(0, 0).narrow(0, 0, 1).expand(4).fill_(a.sum().item())
z = torch.zeros(1)
z.expand(3, 3).fill_(float(a.sum()))
return y, z""", x(2, 3))
    method("dims_changed_in_a_branch", """
if bool(a.sum() > -1000.0):
  y = a * 2.0
  y.t_()
  y.unsqueeze_(0)
  y += 1.0
else:
  y = a.t().unsqueeze(0)
n = 0
z = a
while bool(z.abs().sum() > 0.1) and n < 20:
  z = z * 0.5
  w = z.clone().unsqueeze_(-1)
  y = y + w.squeeze_().t_().sum()
  n += 1
return y, z""", x(2, 3))
    method("norm_in_training", """
m = self.mean.clone()
v = self.var.clone()
y = torch.batch_norm(a, None, None, m, v, True, 0.25, 0.001, False)
w = self.mean.clone()
u = self.var.clone()
for i in range(2):
  y = torch.batch_norm(y, self.var, self.mean, w, u, True, 0.5, 0.001, False)
return y, m, v, w, u""", x(4, 3, 5))
    for name, sign in (("either_of_two_dtypes", 1), ("other_of_two_dtypes", -1)):
        method(name, """
if bool(a.sum() > 0):
  y = a + 1.0
else:
  y = (a * 4.0).to(torch.int32)
return y, y * 2""", sign * x(2, 3).abs())


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "compiler")
    define()
    module = torch.jit.script(Base())
    for source, _ in METHODS.values():
        module.define(source)
    module.eval()
    path = os.path.join(folder, "defects.ts")
    torch.jit.save(module, path)
    arrays = {}
    for name, (_, inputs) in METHODS.items():
        for i, t in enumerate(inputs):
            arrays[f"{name}.in_{i}"] = t.numpy()
        try:
            out = getattr(torch.jit.load(path), name)(*inputs)
        except Exception as error:
            print(name, "raises", str(error).strip().split("\n")[-1])
            continue
        for i, t in enumerate(out if isinstance(out, tuple) else (out,)):
            arrays[f"{name}.out_{i}"] = t.numpy()
    np.savez(os.path.join(folder, "defects.npz"), **arrays)


if __name__ == "__main__":
    main()
