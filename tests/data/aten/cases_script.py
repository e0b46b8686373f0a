# SPDX-License-Identifier: Apache-2.0
"""What scripted control flow calls: numbers, strings, lists, dicts, tensor
attributes."""
import math

import torch


def schemas(prefix):
    for s in torch._C._jit_get_all_schemas():
        if s.name.startswith(prefix):
            yield s


def numbers(m):
    """Every overload on numbers alone, over a few values of each type."""
    pools = {"int": [7, -3, 2], "float": [2.5, -1.5, 3.0], "bool": [True, False],
             "Scalar": [3, -2.5], "number": [3, -2.5], "str": ["abc", "abd"]}
    names = set("""add sub mul div floordiv remainder pow fmod mathremainder atan2
    copysign gcd __lshift__ __rshift__ __and__ __or__ __xor__
    __round_to_zero_floordiv ldexp min max log divmod eq ne lt le gt ge acos
    acosh asin asinh atan atanh cos cosh sin sinh tan tanh exp expm1 log10 log1p
    sqrt erf erfc gamma lgamma fabs degrees radians round angle floor ceil neg
    abs isnan isinf isfinite modf frexp factorial Int Float Bool __not__
    __range_length __derive_index""".split())
    seen = set()
    for ns in ("aten::", "prim::"):
        for s in schemas(ns):
            base = s.name[len(ns):]
            kinds = [str(a.type) for a in s.arguments]
            q = s.name + ("." + s.overload_name if s.overload_name else "")
            if base not in names or q in seen or not kinds:
                continue
            if any(k not in pools for k in kinds):
                continue
            seen.add(q)
            pool = [pools[k] for k in kinds]
            if base in ("acos", "asin", "atanh"):
                pool = [[p for p in (0, 0.5, 1, -1) if isinstance(p, int) or kinds[0] != "int"]]
                if kinds[0] == "int":
                    pool = [[0, 1]]
                elif kinds[0] == "float":
                    pool = [[0.5, -0.25]]
            if base == "factorial":
                pool = [[0, 5, 12, -1]]
            if base in ("__lshift__", "__rshift__"):
                pool = [[5, -8], [1, 3]]
            if base in ("Int", "Float") and kinds == ["str"]:
                pool = [["12", "-3", "x", "1.5" if base == "Float" else "4"]]
            if q == "aten::pow.int_to_int":
                continue  # gives a float, against its schema
            for combo in __import__("itertools").product(*pool):
                m.case(q, *combo)
    for q in ("floordiv.int", "remainder.int", "div.int"):
        for a in ((7, 2), (-7, 2), (7, -2), (-7, -2), (-9223372036854775808, -1)):
            if q == "div.int" or a[1] != -1:
                m.case(f"aten::{q}", *a)
    for a in ((0, 10, 3), (10, 0, -3), (5, 5, 1), (0, -5, 1), (0, 5, 0)):
        m.case("aten::__range_length", *a)
    for a in ((0, 3, 2), (4, 10, -3)):
        m.case("aten::__derive_index", *a)


def containers(m):
    case, mutation = m.case, m.mutation
    i, f, b, s = [3, 1, 2, 1], [2.5, 1.5], [True, False], ["b", "a", "c"]
    for k, l in (("int", i), ("float", f), ("bool", b), ("str", s)):
        for q in ("any", "all", "sum"):
            if m.known(f"aten::{q}.{k}"):
                case(f"aten::{q}.{k}", list(l))
                if k != "str":
                    case(f"aten::{q}.{k}", [])
        for q in ("min", "max"):
            if m.known(f"prim::{q}.self_{k}"):
                case(f"prim::{q}.self_{k}", list(l))
            if m.known(f"prim::{q}.{k}_list"):
                case(f"prim::{q}.{k}_list", list(l), list(l)[1:])
        for q in ("eq", "ne"):
            case(f"aten::{q}.{k}_list", list(l), list(l))
            case(f"aten::{q}.{k}_list", list(l), list(l)[1:])
        if k != "bool":
            case(f"aten::__contains__.{k}_list", list(l), l[1])
            case(f"aten::__contains__.{k}_list", list(l)[:1], l[1])
        for q in ("index.list_", "count."):
            case(f"aten::{q}{k}", list(l), l[1])
            case(f"aten::{q}{k}", list(l)[:1], l[1])
        mutation(f"aten::remove.{k}", list(l), l[1])
        mutation(f"aten::remove.{k}", list(l)[:1], l[1])
        for r in (False, True):
            mutation(f"aten::sort.{k}", list(l), r)
        case(f"aten::sorted.{k}", list(l))
        for q in ("list.t", "copy.t", "len.t"):
            case(f"aten::{q}", list(l))
        case("aten::add.t", list(l), list(l))
        for n in (0, 2, -1):
            case("aten::mul.left_t", list(l), n)
            case("aten::mul.right_", n, list(l))
            mutation("aten::mul_.t", list(l), n)
        for idx in (0, -1, 9):
            case("aten::__getitem__.t", list(l), idx)
            case("aten::select.t", list(l), idx)
            mutation("aten::_set_item.t", list(l), idx, l[0])
            mutation("aten::Delete.t", list(l), idx)
            mutation("aten::insert.t", list(l), idx, l[0])
            mutation("aten::pop.t", list(l), idx)
        for a in ((0, 2, 1), (None, None, 1), (1, None, 2), (-2, None, 1), (None, -1, 1), (3, 1, 1), (0, 9, 1), (None, None, -1), (5, 0, -2)):
            case("aten::slice.t", list(l), *a)
        mutation("aten::append.t", list(l), l[0])
        for q in ("extend.t", "add_.t"):
            mutation(f"aten::{q}", list(l), list(l))
        for q in ("clear.t", "reverse.t"):
            mutation(f"aten::{q}", list(l))
    case("aten::len.any", [1, "a"])
    m.mutation("aten::sort.any", list(i), False)
    case("aten::sorted.any", list(i))
    case("prim::rangelist", 4)
    case("aten::Size", [2, 3])
    case("aten::_unwrap_optional", 3)
    case("aten::_unwrap_optional", None)
    case("prim::unchecked_unwrap_optional", 3)
    case("prim::unchecked_cast", 3)
    keys = {"str": ["x", "y"], "int": [1, 2], "bool": [True, False], "float": [1.5, 2.5], }
    for k, (k0, k1) in keys.items():
        d = {k0: 10, k1: 20}
        one = {k0: 10}
        for q in ("len.Dict_", "copy.Dict_", "dict.Dict_", "keys.", "values.", "items."):
            case(f"aten::{q}{k}", dict(d))
        for q in ("popitem.", "clear."):
            mutation(f"aten::{q}{k}", dict(d))
        for key, dd in ((k0, d), (k1, one)):
            for q in ("__getitem__.Dict_", "__contains__.", "get."):
                case(f"aten::{q}{k}", dict(dd), key)
            for q in ("Delete.Dict_", "pop.Dict_"):
                mutation(f"aten::{q}{k}", dict(dd), key)
            case(f"aten::get.default_{k}", dict(dd), key, 5)
            for q in ("pop.Dict_default_", "setdefault.", "_set_item."):
                mutation(f"aten::{q}{k}", dict(dd), key, 5)
        mutation(f"aten::update.{k}", dict(one), dict(d))
        case(f"aten::dict.{k}", [(k0, 1), (k1, 2), (k0, 3)])
    case("aten::dict")
    x = torch.ones(2)
    for a, bb in ((1, 1), (1, 2), (None, None), (None, 1), (1.5, 1.5), ("a", "a"), (True, True), (x, None)):
        case("aten::__is__", a, bb)
        case("aten::__isnot__", a, bb)


def text(m):
    case = m.case
    strings = ["Hello, World", "abc", "", "123", "  pad\t", "a-b-c", "x_1", "A"]
    for s in strings:
        for q in """len.str isalnum isalpha isdecimal isdigit isnumeric isspace islower isupper isprintable isidentifier
        lower upper swapcase capitalize title strip lstrip rstrip list splitlines ord str""".split():
            case(f"aten::{q}", s)
        for q in ("strip", "lstrip", "rstrip"):
            case(f"aten::{q}", s, "aH ")
        for t in ("l", "", "o", "b-"):
            for q in ("find", "rfind", "index.str", "rindex", "count", "startswith", "endswith"):
                if t or q in ("startswith", "endswith"):
                    case(f"aten::{q}", s, t)
            if t:
                case("aten::find", s, t, 2)
                case("aten::replace", s, t, "ZZ")
                case("aten::replace", s, t, "", 1)
                case("aten::split.str", s, t)
                case("aten::split.str", s, t, 1)
                case("aten::partition", s, t)
                case("aten::rpartition", s, t)
        case("aten::split.str", s)
        case("aten::add.str", s, "!")
        for i in (0, -1, 50):
            case("aten::__getitem__.str", s, i)
            case("prim::StringIndex", s, i)
        for a in ((0, 2), (None, None, 2), (-3, None), (3, 1)):
            case("aten::slice.str", s, *a)
        for q in ("ljust", "rjust", "center"):
            case(f"aten::{q}", s, 9, "*")
        case("aten::zfill", s, 6)
    case("aten::zfill", "-5", 6)
    case("aten::join", ", ", ["a", "b", "c"])
    case("aten::join", ", ", [])
    case("aten::splitlines", "a\nb\nc\n", True)
    case("aten::splitlines", "a\nb\nc")
    for i in (65, 0, 300):
        case("aten::chr", i)
    for i in (255, -8, 0):
        for q in ("hex", "oct", "bin"):
            case(f"aten::{q}", i)
    for v in (3, -1, 2.5, 1.0, 0.1, 1e20, math.inf, True, None, [1, 2], [1.5], ["a"], 1e10, 123456789.5):
        case("aten::str", v)
        case("aten::format", "<{}>", v)
    case("aten::format", "{} and {}", 1, "b")
    case("aten::format", "none")
    case("aten::percentFormat", "%d %s %f %%", 3, "x", 1.5)
    case("aten::percentFormat", "%d %d", 3)


def attributes(m):
    case, rand = m.case, m.rand
    cpu = torch.device("cpu")
    for t in (rand((2, 3)), rand((2, 3)).t(), rand(()), rand((2, 3), m.i8), rand((0,)), rand((4, 4), m.f2)[1:, ::2],
              rand((1, 2, 2, 2)).to(memory_format=torch.channels_last), rand((2,), m.b1)):
        for q in """aten::dim aten::numel aten::len.Tensor aten::storage_offset aten::element_size prim::itemsize
        prim::nbytes prim::dtype prim::layout aten::size aten::stride aten::is_floating_point aten::is_complex
        aten::is_signed aten::is_contiguous aten::is_non_overlapping_and_dense aten::is_leaf
        aten::is_conj aten::is_neg prim::is_cpu prim::is_cuda prim::is_ipu prim::is_maia prim::is_meta
        prim::is_mkldnn prim::is_mps prim::is_mtia prim::is_nested prim::is_quantized prim::is_sparse
        prim::is_sparse_csr prim::is_vulkan prim::is_xla prim::is_xpu prim::requires_grad prim::device
        aten::get_device aten::cudnn_is_acceptable aten::is_inference aten::_shape_as_tensor""".split():
            case(q, t)
        for d in (0, 1, -1, 5):
            case("aten::size.int", t, d)
            case("aten::stride.int", t, d)
        for f in (torch.contiguous_format, torch.channels_last):
            case("aten::is_contiguous.memory_format", t, f)
    x = rand((2, 3))
    case("aten::is_same_size", x, rand((2, 3)))
    case("aten::is_same_size", x, rand((3,)))
    case("aten::requires_grad_", x, False)
    for q in ("is_grad_enabled", "is_autocast_enabled", "is_autocast_cpu_enabled", "is_vulkan_available", "_get_tracing_state", "is_scripting"):
        case(f"aten::{q}")
    case("aten::has_torch_function", 1)
    m.mutation("aten::set_grad_enabled", False)
    case("prim::type", cpu)
    case("prim::index", cpu)
    case("aten::device", "cpu")
    case("aten::device.with_index", "cpu", 0)
    for n in ("eq", "ne"):
        case(f"aten::{n}.device", cpu, cpu)
    for t in (torch.tensor(3), torch.tensor(2.5), torch.tensor(True), torch.tensor([4]), torch.tensor([1, 2]),
              torch.tensor(1.5, dtype=m.f2), torch.tensor(0)):
        for q in """aten::item aten::Int.Tensor aten::Float.Tensor aten::Bool.Tensor
        aten::is_nonzero aten::IntImplicit aten::FloatImplicit aten::ScalarImplicit aten::_assert_async""".split():
            case(q, t)
        case("aten::_assert_async.msg", t, "no")
        if t.numel() == 1:
            case("aten::_local_scalar_dense", t)
    for v in (3, 2.5):
        case("prim::NumToTensor.Scalar", v)
    case("prim::NumToTensor.bool", True)
    kinds = [m.f4, m.f2, m.i8, m.b1, m.u1, m.bf, m.f8]
    for a in kinds:
        for b in kinds:
            case("aten::promote_types", a, b)
            case("aten::can_cast", a, b)
            case("aten::result_type.Tensor", rand((2,), a), rand((), b))
        for s in (2, 2.5, True):
            case("aten::result_type.Scalar", rand((2,), a), s)
            case("aten::result_type.Scalar_Tensor", s, rand((), a))
    case("aten::result_type.Scalar_Scalar", 1, 2.5)
    case("aten::_infer_size", [2, 1], [3])
    case("aten::_infer_size", [2], [3])


def add(m):
    numbers(m)
    containers(m)
    text(m)
    attributes(m)
