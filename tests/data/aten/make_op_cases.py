# SPDX-License-Identifier: Apache-2.0
"""Writes op_cases/PART.bin: calls of ops and what PyTorch answers.

    python make_op_cases.py [PART...]

A part is a module cases_PART.py beside this one with a function add(make),
which calls make.case(...); without arguments all parts are written. Each part
starts from the same random seed, so it does not depend on the others.

A file: "BSMOPS1\n", then records. A record is the op's qualified name, its
args (all of the schema, in order, defaults filled in), a byte of flags (bits
0-1: 0 returns, 1 raises, 2 only shapes count; bit 2: strides count; bit 3: the
first argument afterwards follows; bit 4: a seed follows at once, and the
integer below 2^31 that is drawn after the call), the results, and that
argument.

A value is a tag and a body: N none, I int, D double, C complex, B bool, S
string, V device, L list, U tuple, M dict, T tensor (dtype, rank, sizes,
strides, offset, elements of the storage, storage), Q quantized tensor (dtype, whether
per channel, T of the integers, then D scale and I zero point without tags, or T
scales, T zero points and I axis; elements of 4 bits as those of 8), P packed
parameters (the name of their class and its state, as values). Ints are zigzag
LEB128.
"""
import glob
import itertools
import math
import os
import struct
import sys
import warnings

import torch

warnings.filterwarnings("ignore")
torch.manual_seed(0)
torch.set_grad_enabled(False)

DTYPES = {
    torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3,
    torch.int64: 4, torch.float16: 5, torch.float32: 6, torch.float64: 7,
    torch.complex32: 8, torch.complex64: 9, torch.complex128: 10,
    torch.bool: 11, torch.qint8: 12, torch.quint8: 13, torch.qint32: 14,
    torch.bfloat16: 15,
}
u1, i1, i2, i4, i8 = (torch.uint8, torch.int8, torch.int16, torch.int32,
                      torch.int64)
f2, f4, f8, b1, bf = (torch.float16, torch.float32, torch.float64, torch.bool,
                      torch.bfloat16)
c2, c4, c8 = torch.complex32, torch.complex64, torch.complex128
NAN, INF = math.nan, math.inf
HERE = os.path.dirname(os.path.abspath(__file__))


class Skip(Exception):
    pass


def integer(v):
    v = (v << 1) ^ (v >> 63) if -(1 << 63) <= v < (1 << 63) else None
    if v is None:
        raise Skip("int out of range")
    v &= (1 << 64) - 1
    out = bytearray()
    while True:
        b = v & 0x7F
        v >>= 7
        out.append(b | (0x80 if v else 0))
        if not v:
            return bytes(out)


def raw(t):
    """The bytes of a whole storage."""
    return bytes(t.untyped_storage().tolist()) if t.numel() else b""


def tensor(t):
    if t.dtype not in DTYPES:
        raise Skip(f"dtype {t.dtype}")
    t = t.resolve_conj().resolve_neg()
    data = raw(t)
    size = t.element_size()
    out = bytes([DTYPES[t.dtype], t.dim()])
    out += b"".join(integer(s) for s in t.shape)
    out += b"".join(integer(s) for s in t.stride())
    out += integer(t.storage_offset() if data else 0)
    out += integer(len(data) // size)
    return b"T" + out + data[:len(data) // size * size]


def nibbles(t):
    """Elements of 4 bits, two in a byte, as bytes."""
    both = t.int_repr().flatten()
    halves = torch.stack([both & 15, both >> 4], 1).flatten()
    return halves[:t.numel()].reshape(t.shape).to(torch.uint8)


def quantized(t):
    if t.dtype == torch.quint4x2:
        return (b"Q" + bytes([DTYPES[torch.quint8], 1]) + tensor(nibbles(t)) +
                tensor(t.q_per_channel_scales()) +
                tensor(t.q_per_channel_zero_points()) +
                integer(t.q_per_channel_axis()))
    if t.qscheme() == torch.per_tensor_affine:
        return (b"Q" + bytes([DTYPES[t.dtype], 0]) + tensor(t.int_repr()) +
                struct.pack("<d", t.q_scale()) + integer(t.q_zero_point()))
    return (b"Q" + bytes([DTYPES[t.dtype], 1]) + tensor(t.int_repr()) +
            tensor(t.q_per_channel_scales()) +
            tensor(t.q_per_channel_zero_points()) +
            integer(t.q_per_channel_axis()))


LAYOUTS = {torch.strided: 0}
FORMATS = {torch.contiguous_format: 0, torch.preserve_format: 1,
           torch.channels_last: 2, torch.channels_last_3d: 3}


def value(v):
    if v is None:
        return b"N"
    if isinstance(v, torch.Tensor):
        return quantized(v) if v.is_quantized else tensor(v)
    if isinstance(v, bool):
        return b"B" + bytes([v])
    if isinstance(v, torch.dtype):
        if v not in DTYPES:
            raise Skip(f"dtype {v}")
        return b"I" + integer(DTYPES[v])
    if isinstance(v, torch.layout):
        return b"I" + integer(LAYOUTS[v])
    if isinstance(v, torch.memory_format):
        return b"I" + integer(FORMATS[v])
    if isinstance(v, int):
        return b"I" + integer(v)
    if isinstance(v, float):
        return b"D" + struct.pack("<d", v)
    if isinstance(v, complex):
        return b"C" + struct.pack("<dd", v.real, v.imag)
    if isinstance(v, str):
        b = v.encode()
        return b"S" + integer(len(b)) + b
    if isinstance(v, torch.device):
        kind = {"cpu": 0, "cuda": 1}.get(v.type, 2)
        return b"V" + bytes([kind]) + integer(-1 if v.index is None else v.index)
    if isinstance(v, list):
        return b"L" + integer(len(v)) + b"".join(value(x) for x in v)
    if isinstance(v, tuple):
        return b"U" + integer(len(v)) + b"".join(value(x) for x in v)
    if isinstance(v, dict):
        return b"M" + integer(len(v)) + b"".join(
            value(k) + value(x) for k, x in v.items())
    if isinstance(v, torch.ScriptObject):
        state, name = v.__getstate__()
        return b"P" + value(name) + value(state)
    raise Skip(f"value {type(v)}")


def copy(v):
    """A deep copy with the same strides and storage layout."""
    if isinstance(v, torch.Tensor) and v.is_quantized:
        if v.qscheme() == torch.per_channel_affine_float_qparams:
            return v  # clone() does not take it
        return v.clone()
    if isinstance(v, torch.Tensor):
        base = torch.empty(0, dtype=v.dtype).set_(v.untyped_storage().clone())
        return base.as_strided(v.shape, v.stride(), v.storage_offset())
    if isinstance(v, list):
        return [copy(x) for x in v]
    if isinstance(v, tuple):
        return tuple(copy(x) for x in v)
    if isinstance(v, dict):
        return {k: copy(x) for k, x in v.items()}
    return v


def find(name):
    ns, rest = name.split("::")
    base, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, ns), base)
    return getattr(packet, overload or "default")


RECORDS = []
KEYS = set()
# Of one op, in one part; a part may set its own MOST and BYTES.
DEFAULT_MOST = 24
DEFAULT_BYTES = 1800
MOST, BYTES = DEFAULT_MOST, DEFAULT_BYTES
PROBLEMS = []
# Errors that say what PyTorch's CPU kernels lack, not what the op means.
LACKS = ("not implemented for", "not implemented yet", "NotImplementedError",
         "Could not run", "mixed dtype (CPU)", "does not support")


def flat(result, schema):
    if len(schema.returns) == 0:
        return []
    if len(schema.returns) == 1:
        return [result]
    return list(result)


def case(name, *args, strides=False, shape_only=False, keep_lacks=False,
         seed=None, **kw):
    """Records a call. With a seed, results must agree bit for bit."""
    try:
        op = find(name)
    except Exception as e:
        PROBLEMS.append(f"{name}: no op ({e})")
        return
    schema = op._schema
    full = []
    for i, a in enumerate(schema.arguments):
        if i < len(args):
            full.append(args[i])
        elif a.name in kw:
            full.append(kw[a.name])
        elif a.has_default_value():
            full.append(a.default_value)
        else:
            PROBLEMS.append(f"{name}: no value for {a.name}")
            return
    full += list(args[len(schema.arguments):])  # varargs
    before = copy(full)
    given = copy(full)
    try:
        head = value_list(before)
    except Skip as e:
        PROBLEMS.append(f"{name}: {e}")
        return
    mutates = any(a.alias_info and a.alias_info.is_write and i == 0
                  for i, a in enumerate(schema.arguments))
    outcome, outs, after, random = 0, b"", b"", b""
    state = torch.get_rng_state()
    try:
        if seed is not None:
            torch.manual_seed(seed)
        pos = [g for g, a in zip(given, schema.arguments) if not a.kwarg_only]
        pos += given[len(schema.arguments):]
        kws = {a.name: g for g, a in zip(given, schema.arguments)
               if a.kwarg_only}
        result = flat(op(*pos, **kws), schema)
        outs = integer(len(result)) + b"".join(value(r) for r in result)
        if seed is not None:
            probe = torch.empty((), dtype=torch.int32).random_().item()
            random = integer(seed) + integer(probe)
        if mutates and not shape_only:
            first = given[0]
            if isinstance(first, torch.Tensor):
                if first.numel():
                    flat_storage = torch.empty(
                        0, dtype=first.dtype).set_(first.untyped_storage())
                    after = tensor(flat_storage)
            else:
                after = value(first)
    except Skip as e:
        PROBLEMS.append(f"{name}: {e}")
        return
    except Exception as e:
        text = str(e)
        if any(l in text for l in LACKS) and not keep_lacks:
            return
        if "schema" in text or isinstance(e, TypeError):
            PROBLEMS.append(f"{name}{tuple(type(a).__name__ for a in full)}: "
                            f"{type(e).__name__} {text[:100]}")
            return
        outcome, outs, after, random = 1, b"", b"", b""
    finally:
        if seed is not None:
            torch.set_rng_state(state)
    if shape_only and outcome == 0:
        outcome = 2
    flags = outcome | (4 if strides else 0) | (8 if after else 0)
    flags |= 16 if random else 0
    keep(name, integer(len(name)) + name.encode() + integer(len(full)) + head +
         bytes([flags]) + random + outs + after)


def answer(name, args, results):
    """A case of an op that PyTorch's CPU lacks, with what another op gives."""
    keep(name, integer(len(name)) + name.encode() + integer(len(args)) +
         value_list(args) + bytes([0]) + integer(len(results)) +
         value_list(results))


def keep(name, record):
    if record not in KEYS:
        KEYS.add(record)
        RECORDS.append((name, record))


def ir_type(v):
    if isinstance(v, bool):
        return "bool"
    if isinstance(v, (int, float, str)):
        return type(v).__name__
    if isinstance(v, list):
        return (ir_type(v[0]) if v else "int") + "[]"
    if isinstance(v, dict):
        k = next(iter(v))
        return f"Dict({ir_type(k)}, {ir_type(v[k])})"
    raise Skip(f"no IR type of {v}")


def mutation(name, *args):
    """A case of an op that changes its first argument, a list or a dict. The
    Python binding of an op copies these, so a graph calls it and returns both
    the result and the argument."""
    schema = find(name)._schema
    first = ir_type(args[0])
    item = first[:-2]
    if isinstance(args[0], dict):
        item = first[:-1].split(", ")[1]
    kinds = {"List[t]": first, "t": item, "Optional[t]": item + "?"}
    ins = ", ".join(f"%{i} : {ir_type(a)}" for i, a in enumerate(args))
    uses = ", ".join(f"%{i}" for i in range(len(args)))
    call = f"{name.split('.')[0]}({uses})"
    if schema.returns:
        kind = str(schema.returns[0].type)
        if kind.startswith("Tuple"):
            key = first[5:-1].split(", ")[0]
            kind = f"({key}, {item})"
        text = f"graph({ins}):\n  %r : {kinds.get(kind, kind)} = {call}\n"
        text += "  return (%r, %0)"
    else:
        text = f"graph({ins}):\n  {call}\n  return (%0)"
    try:
        function = torch._C._create_function_from_graph(
            "f", torch._C.parse_ir(text))
    except Exception as e:
        PROBLEMS.append(f"{name}: {str(e)[:200]}")
        return
    head = integer(len(name)) + name.encode() + integer(len(args))
    head += value_list(args)
    try:
        result = function(*copy(args))
    except Exception:
        keep(name, head + bytes([1]))
        return
    outs = [result[0]] if schema.returns else []
    after = result[1] if schema.returns else result
    keep(name, head + bytes([8]) + integer(len(outs)) + value_list(outs) +
         value(after))


def thinned():
    """At most MOST cases and about BYTES of an op, spread evenly."""
    counts, sizes, seen = {}, {}, {}
    for name, record in RECORDS:
        counts[name] = counts.get(name, 0) + 1
        sizes[name] = sizes.get(name, 0) + len(record)
    for name, record in RECORDS:
        n, k = counts[name], seen.get(name, 0)
        most = min(MOST, max(4, BYTES * n // sizes[name]))
        seen[name] = k + 1
        if n <= most or k * most // n != (k + 1) * most // n:
            yield record


def value_list(values):
    return b"".join(value(v) for v in values)


def known(name):
    try:
        find(name)
        return True
    except Exception:
        return False


# ---- inputs ----
def rand(shape, dtype=f4, low=-2.0, high=2.0):
    if dtype == b1:
        return torch.rand(shape) > 0.5
    if dtype.is_complex:
        parts = torch.rand((2, *shape), dtype=f8) * (high - low) + low
        return torch.complex(parts[0], parts[1]).to(dtype)
    if dtype.is_floating_point:
        return (torch.rand(shape, dtype=f8) * (high - low) + low).to(dtype)
    low = int(max(low, 0) if dtype == u1 else low * 3)
    return torch.randint(low, int(high * 3) + 1, shape).to(dtype)


SPECIAL = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5])


def strided(dtype=f4):
    """A transposed view with an offset."""
    return rand((4, 5), dtype)[1:, ::2].t()


def module(name):
    if HERE not in sys.path:
        sys.path.insert(0, HERE)
    return __import__(name)


def write_part(part):
    global MOST, BYTES
    RECORDS.clear()
    KEYS.clear()
    torch.manual_seed(0)
    cases = module("cases_" + part)
    MOST = getattr(cases, "MOST", DEFAULT_MOST)
    BYTES = getattr(cases, "BYTES", DEFAULT_BYTES)
    cases.add(sys.modules[__name__])
    path = os.path.join(HERE, "op_cases", part + ".bin")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    records = list(thinned())
    with open(path, "wb") as f:
        f.write(b"BSMOPS1\n" + b"".join(records))
    if os.environ.get("SIZES"):
        sizes = {}
        for name, record in RECORDS:
            sizes[name] = sizes.get(name, 0) + len(record)
        for name in sorted(sizes, key=sizes.get)[-40:]:
            print(sizes[name], name)
    print(f"{part}: {len(records)} cases of {len(RECORDS)},"
          f" {os.path.getsize(path)} bytes")


def main():
    parts = sys.argv[1:] or sorted(
        os.path.basename(path)[len("cases_"):-len(".py")]
        for path in glob.glob(os.path.join(HERE, "cases_*.py")))
    for part in parts:
        write_part(part)
    for p in sorted(set(PROBLEMS)):
        print(p)


if __name__ == "__main__":
    main()
