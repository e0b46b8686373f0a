# SPDX-License-Identifier: Apache-2.0
"""Methods of a tensor [3, 3] that use what TorchScript has for lists, dicts,
optionals and strings, for make_random_results.py. Their name is `M`."""

PATTERNS = [
    # where list
    """def M(self, x : Tensor) -> List[Tensor]:
  return torch.where(x > 0)
""",
    # unbind masked
    """def M(self, x : Tensor) -> List[Tensor]:
  return torch.unbind(x[x.sum(1) > 0], 0)
""",
    # split sizes
    """def M(self, x : Tensor) -> List[Tensor]:
  n = int((x > 0).sum()) % 3
  y = x.reshape(-1)
  return torch.split(y, [n, 9 - n], 0)
""",
    # split n
    """def M(self, x : Tensor) -> List[Tensor]:
  n = int((x > 0).sum()) % 3 + 1
  return list(torch.split(x, n, 1))
""",
    # chunk
    """def M(self, x : Tensor) -> List[Tensor]:
  n = int((x > 0).sum()) % 3 + 1
  return torch.chunk(x, n, 1)
""",
    # comprehension
    """def M(self, x : Tensor) -> List[int]:
  n = int((x > 0).sum())
  return [i * 2 for i in range(n)]
""",
    # comp tensors
    """def M(self, x : Tensor) -> List[Tensor]:
  y = x[x.sum(1) > 0]
  return [r * 2 for r in y.unbind(0)]
""",
    # list ops
    """def M(self, x : Tensor) -> List[int]:
  a = [1, 2]
  if bool(x.sum() > 0):
    a = a + [3]
    a.insert(0, 7)
  else:
    a.reverse()
  a.extend([5])
  b = a[1:]
  b.sort()
  if len(b) > 2:
    c = b.pop()
    b.append(c * 10)
  return b * 2
""",
    # keys
    """def M(self, x : Tensor) -> Tuple[List[str], List[Tensor]]:
  d : Dict[str, Tensor] = {}
  for i in range(x.size(0)):
    if bool(x[i].sum() > 0):
      d["r%d" % i] = x[i]
  return list(d.keys()), list(d.values())
""",
    # items
    """def M(self, x : Tensor) -> List[Tuple[str, Tensor]]:
  d : Dict[str, Tensor] = {}
  for i in range(x.size(0)):
    if bool(x[i].sum() > 0):
      d["r%d" % i] = x[i]
  return d.items()
""",
    # items loop
    """def M(self, x : Tensor) -> Dict[str, Tensor]:
  d : Dict[str, Tensor] = {}
  for i in range(x.size(0)):
    if bool(x[i].sum() > 0):
      d["r%d" % i] = x[i]
  e : Dict[str, Tensor] = {}
  for k, v in d.items():
    e[k + "_"] = v * 2
  return e
""",
    # dict pop
    """def M(self, x : Tensor) -> Dict[str, Tensor]:
  d : Dict[str, Tensor] = {"a": x, "b": x * 2}
  if bool(x.sum() > 0):
    d.pop("a")
  return d
""",
    # early
    """def M(self, x : Tensor) -> List[Tensor]:
  out : List[Tensor] = []
  for i in range(x.size(0)):
    if bool(x[i].sum() < -3):
      return out
    out.append(x[i])
  out.append(x)
  return out
""",
    # early opt
    """def M(self, x : Tensor) -> Optional[Tuple[Tensor, List[int]]]:
  if bool(x.sum() < 0):
    return None
  return x, [1, 2]
""",
    # while break
    """def M(self, x : Tensor) -> Tuple[int, List[float]]:
  out : List[float] = []
  i = 0
  while i < 20:
    v = float(x[i % 3, i % 2]) + i
    out.append(v)
    if v > 3.0:
      break
    i += 1
  return i, out
""",
    # strings
    """def M(self, x : Tensor) -> Tuple[str, List[str]]:
  s = ""
  for i in range(x.size(0)):
    if bool(x[i, 0] > 0):
      s = s + "a,"
    else:
      s += "b%d," % i
  return s, s.split(",")
""",
    # join
    """def M(self, x : Tensor) -> str:
  w : List[str] = []
  for i in range(x.size(0)):
    if bool(x[i, 0] > 0):
      w.append(str(i))
  return "-".join(w)
""",
    # tolist
    """def M(self, x : Tensor) -> List[float]:
  y : List[float] = x[x > 0].double().tolist()
  return y
""",
    # tolist item
    """def M(self, x : Tensor) -> List[int]:
  y : List[int] = torch.nonzero(x).reshape(-1).tolist()
  return y
""",
    # unique
    """def M(self, x : Tensor) -> Tuple[Tensor, Tensor]:
  return torch._unique((x > 0).long(), True, True)
""",
    # topk
    """def M(self, x : Tensor) -> Dict[str, Tensor]:
  k = int((x > 0).sum())
  v, i = torch.topk(x.reshape(-1), k)
  return {"values": v, "found": x.reshape(-1)[i]}
""",
    # size
    """def M(self, x : Tensor) -> List[int]:
  return x[x.sum(1) > 0].size()
""",
    # shape tuple
    """def M(self, x : Tensor) -> Tuple[Tensor, List[int], int]:
  y = x[x.sum(1) > 0]
  return y, y.shape, y.dim()
""",
    # item
    """def M(self, x : Tensor) -> number:
  return x.sum().item()
""",
    # bools
    """def M(self, x : Tensor) -> Dict[bool, int]:
  d : Dict[bool, int] = {}
  for i in range(3):
    d[bool(x[i, 0] > 0)] = i
  return d
""",
    # clear
    """def M(self, x : Tensor) -> List[Tensor]:
  a = [x, x]
  if bool(x.sum() > 0):
    a.clear()
  return a
""",
    # copy
    """def M(self, x : Tensor) -> Tuple[List[Tensor], List[Tensor]]:
  a = [x]
  b = a.copy()
  if bool(x.sum() > 0):
    a.append(x * 2)
  return a, b
""",
    # same
    """def M(self, x : Tensor) -> Tuple[List[Tensor], List[Tensor]]:
  a = [x]
  if bool(x.sum() > 0):
    a.append(x * 2)
  return a, a
""",
    # listlist
    """def M(self, x : Tensor) -> List[List[int]]:
  a : List[List[int]] = []
  for i in range(3):
    b : List[int] = []
    j = 0
    while bool(x[i, j % 3] > 0) and j < 4:
      b.append(j)
      j += 1
    a.append(b)
  return a
""",
    # opt chain
    """def M(self, x : Tensor) -> Optional[float]:
  best : Optional[float] = None
  for i in range(x.size(0)):
    v = float(x[i].sum())
    if v > 0:
      if best is None:
        best = v
      elif v > best:
        best = v
  return best
""",
    # setdefault
    """def M(self, x : Tensor) -> Dict[int, Tensor]:
  d : Dict[int, Tensor] = {}
  for i in range(x.size(0)):
    k = int(x[i].sum() > 0)
    d.setdefault(k, x[i])
  return d
""",
    # update
    """def M(self, x : Tensor) -> Dict[str, int]:
  d = {"a": 1}
  if bool(x.sum() > 0):
    d.update({"b": 2})
  return d
""",
    # group
    """def M(self, x : Tensor) -> Dict[int, List[Tensor]]:
  d : Dict[int, List[Tensor]] = {}
  for i in range(x.size(0)):
    k = int(x[i, 0] > 0)
    if k not in d:
      e : List[Tensor] = []
      d[k] = e
    d[k].append(x[i])
  return d
""",
    # rows of rows
    """def M(self, x : Tensor) -> List[List[Tensor]]:
  out : List[List[Tensor]] = [[], []]
  for i in range(x.size(0)):
    out[int(x[i, 0] > 0)].append(x[i])
  return out
""",
    # enum
    """def M(self, x : Tensor) -> List[Tuple[int, Tensor]]:
  y = x[x.sum(1) > 0]
  out : List[Tuple[int, Tensor]] = []
  for i, r in enumerate(y):
    out.append((i, r))
  return out
""",
    # max list
    """def M(self, x : Tensor) -> Tuple[int, List[int]]:
  a : List[int] = [0]
  for i in range(x.size(0)):
    a.append(int(x[i].sum() * 2))
  return max(a), sorted(a)
""",
]
