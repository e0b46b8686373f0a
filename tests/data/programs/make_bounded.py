#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes bounded.ts, as make_programs.py makes programs.ts: methods in which
sizes depend on data. What masks, nonzero and nms find goes on row by row, is
masked again, cut, counted, or goes to what needs the rows that there are:
reductions, concatenations, loops and branches.

Usage: make_bounded.py OUTPUT_DIRECTORY   (with PyTorch 2.x and torchvision)
"""
import make_programs
import torchvision  # noqa: F401

make_programs.HEADER = '''from typing import List

import torch
import torchvision
from torch import Tensor, nn


def boxes_of(x: Tensor, y: Tensor) -> Tensor:
    t = torch.cat([x, y, x * 0.5, y - 0.25, x + 0.1], 0)
    first = t[:, :2]
    return torch.cat([first, first + t[:, 1:].abs() + 0.2], 1)


class Programs(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([0.5, -0.25, 0.75]))

'''

# The body of each method, which returns a Tensor, an int and a Tensor.
BODIES = [
    "i = torch.nonzero(x > y); return i.float(), i.size(0), x[x > y]",
    "i = torch.nonzero(x > 2); return i.float(), i.size(0), x[x > 2] + 1",
    "i = torch.nonzero(x < 2); return i.float(), i.size(1), x[x < 2] * 2",
    "r, c = torch.where(x > 0); return r.float() * 3 + c, r.size(0), x[r, c]",
    "i = torch.where(x[:, 0] > y[:, 1])[0]; return x[i], i.numel(), y[i] - x[i]",
    "v = torch.masked_select(x, y > 0); return v.exp(), v.size(0), v[:2]",
    "v = torch.masked_select(x, y[:, :1] > 0); return v, v.size(0), v.clamp(min=0.1)",
    "v = torch.masked_select(x[:, :1], y > 0); return v, len(v), v * n",
    "m = x[:, 1] > 0; return x[m] + self.weight, int(m.sum()), y[m].sum(0)",
    "m = x[:, 1] > 0; a, b = x[m], y[m]; return a * b, a.size(0), torch.cat([a, b])",
    "m = x[:, 1] > 0; a = x[m]; k = a[:, 0] > 0; return a[k], a[k].size(0), y[m][k]",
    "m = x[:, 1] > 0; a = x[m][:1]; return a, a.size(0), a.sum(1)",
    "m = x[:, 1] > 9; a = x[m]; k = a[:, 0] > 0; return a[k], a[k].size(0), a[k][:, 1]",
    "m = x > y; a = x[m]; b = y[m]; return torch.maximum(a, b), a.size(0), (a - b).unsqueeze(1)",
    "m = x[:, 1] > -9; a = x[m]; return a.softmax(1), a.size(0), a.max(1)[0]",
    "m = x[:, 1] > 0; a = x[m]; return a[:, 1:], n, a[:, 0] / (a[:, 1] + 3)",
    "i = torch.nonzero(x[:, 0] > 0)[:, 0]; return y.index_select(0, i), n, x[i][:, 1]",
    "i = torch.nonzero(x[:, 0] > 0).squeeze(1); return torch.sort(x[i], 0)[0], n, x[i] @ x.t()",
    "m = x[:, 0] > 0; a = x[m]; b = x[y[:, 0] > 0]; return a.sum(0) + b.sum(0), a.size(0) + b.size(0), torch.cat([a, b])",
    "m = x > 0; x[m] = 7.0; return x, int(m.sum()), y[m]",
    "m = x[:, 0] > 0; a = x[m]; s = a\nif a.size(0) > 1:\n    s = a * 2\nelse:\n    s = a[:, :1] - 1\nreturn s, a.size(0), a",
    "m = x[:, 0] > 0; a = x[m]; s = torch.zeros(3)\nfor i in range(a.size(0)):\n    s = s * 0.5 + a[i]\nreturn s, a.size(0), a",
    "s = x.sum(1)\nfor i in range(n):\n    s = s[s > i * 0.1] - 0.1\nreturn s, s.size(0), s * 2",
    "b = boxes_of(x, y); k = torch.ops.torchvision.nms(b, b[:, 0], 0.3); return b[k], k.size(0), k.float()",
    "b = boxes_of(x, y); k = torch.ops.torchvision.nms(b, b[:, 0] * 0, 0.05); return b[k][:2], k.size(0), b[k[:2]]",
    "b = boxes_of(x, y); s = b[:, 1]; m = s > 0; b = b[m]; s = s[m]; k = torch.ops.torchvision.nms(b, s, 0.2); k = k[:3]; return b[k], k.size(0), s[k]",
    "b = boxes_of(x, y); s = b[:, 1]; m = s > 9; b = b[m]; s = s[m]; k = torch.ops.torchvision.nms(b, s, 0.2); return b[k], k.size(0), s[k]",
    "b = boxes_of(x, y); s = b[:, 1]; m = torch.where(s > -0.2)[0]; b = b[m]; s = s[m]; o = (s > 0.3).to(b) * 9; k = torch.ops.torchvision.nms(b + o[:, None], s, 0.2); return b[k], k.size(0), s[k].sigmoid()",
    "b = boxes_of(x, y); s = b[:, 1]; m = s > 0; k = torch.ops.torchvision.nms(b[m], s[m] * 0 - float('inf'), 0.2); return b[m][k], k.size(0), s[m][k]",
    "b = boxes_of(x, y); s = b[:, 1]; m = s > 0; k = torch.ops.torchvision.nms(b[m] + b[m].max(), s[m], 0.2) if bool(m.any()) else torch.zeros(0, dtype=torch.long); return b[m][k], k.size(0), s",
    "u = torch.nonzero(x); return u.float(), u.numel(), (u[:, 0] * 3 + u[:, 1]).float()",
    "m = x[:, 0] > 0; a = x[m]; a = torch.where(a > 0, a, -a); return a, a.size(0), (~(a > 0.5)).float()",
    "m = x[:, 0] > 0; a = x[m]; b = a.clone(); b[:, 0] = 5.0; return a, a.size(0), b",
    "u = torch.unique((x * 2).round()); return u, u.size(0), u[u > 0] * 3",
    "u, i, c = torch._unique2(torch.cat([x, y]).round(), True, True, True); return u[i] + i, u.size(0), c.float()",
    "u, i, c = torch.unique_consecutive((x > 0).flatten(), True, True); return u.float() - i.sum(), u.size(0), c * 0.5",
    "u, c = torch.unique((x * n).int(), return_counts=True); return u[c > 1].float(), int(c.max()), c.float()",
    "u, i, c = torch.ops.aten.unique_dim(torch.cat([x, y, x]).round()[:, :2], 0, True, True, True); return u[i] * 2, u.size(0), c.float()",
    "u, i, c = torch.ops.aten.unique_dim((torch.cat([x, y])[:, :, None] > 0).float(), 0); return u + 1, u.size(0), u[:, 1] - c.max()",
    "u, i, c = torch.unique_consecutive((torch.cat([x, x, y]) > 0).float(), True, True, 0); return u.sum(0) + i.sum(), u.size(0), u * c[:, None]",
    "v, i = torch.mode((x * 2).round(), 1); return v, int(i.max()), torch.nanmedian(y, 0)[0]",
    "m = x[:, 0] > 0; i = x[m].argmax(1); return i.float(), i.size(0), x.flatten()[i]",
    "m = x > 0; x[m] = y[m] * 2; return x, int(m.sum()), y[m]",
    "m = x[:, 1] > 0; x[m] = torch.exp(y[m]) + x[m]; return x, n, x.sum(0)",
    "m = x > y; z = x.masked_scatter(m, y); return z, n, z.sum(0)",
    "m = x[:, :1] > 0; z = x.masked_scatter(m, torch.cat([y, y]) + 1); return z, n, z * 2",
    "b = torch.bincount((torch.cat([x, y]).abs() * 3).long().flatten()); return b.float(), b.numel(), b[b > 0].float()",
    "b = torch.bincount((x[:, 0].abs() * 3).int(), None, 5); return b * 0.5, b.size(0), (b + n).float()",
    "b = torch.bincount((x[x > 0] * 4).long(), None, n); return b.float(), b.numel(), b.cumsum(0).float()",
    "b = torch.bincount((x.abs() * 3).long().flatten(), y.flatten()); return b, b.numel(), b * 2",
    "b = torch.bincount((x[:, 0].abs() * 3).int(), (y[:, 1] * 4).int(), n); return b.float(), b.size(0), b.to(torch.float) - n",
    "b = torch.bincount((x[x > 0] * 4).long(), y[x > 0].double(), 2); return b.float(), b.numel(), b.cumsum(0).float()",
    "r = (x[:, 0].abs() * 3).long(); z = y.repeat_interleave(r, 0); return z, z.size(0), z + 1",
    "r = (x.abs() * 2).int().flatten(); z = torch.repeat_interleave(y, r); return z, z.numel(), torch.repeat_interleave(r).float()",
    "r = torch.tensor([n]); z = y.repeat_interleave(r, 1); return z, z.size(1), z.sum(1)",
    "u, i, c = torch.ops.aten.unique_dim((x[:3] > 0).float(), 1, True, True, True); return u * 2, u.size(1), c.float() + i.sum()",
    "u, i, c = torch.ops.aten.unique_dim((torch.cat([x, y], 1)[:, :, None] > 0).float(), -2, True, True, True); return u, u.size(1), u[:, 0] - c.max() + i.sum()",
    "u, i, c = torch.unique_consecutive((torch.cat([x, x * 2, y], 1) > 0).float(), True, True, 1); return u.sum(1) + i.sum(), u.size(1), u * c[None]",
]


def source(number):
    body = BODIES[number].replace("\n", "\n        ").replace("; ", "\n        ")
    return (f"    @torch.jit.export\n    def p{number}(self, x: Tensor, "
            f"y: Tensor, n: int):\n        {body}\n\n")


class Bounded:
    def __init__(self, rng):
        pass

    def source(self, name):
        return source(int(name[1:]))


if __name__ == "__main__":
    make_programs.main(Bounded, "bounded.ts", len(BODIES))
