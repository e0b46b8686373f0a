#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the seeds fuzz/corpus/{exported,symbolic}, and some of pickle, from
the archives in tests/data/exported. Usage: make_fuzz_exported.py"""
import io
import json
import os
import struct
import zipfile

TESTS = os.path.dirname(os.path.abspath(__file__))
ARCHIVES = os.path.join(TESTS, "exported")
CORPUS = os.path.join(TESTS, "..", "..", "fuzz", "corpus")

# The order of `names` in fuzz/exported_fuzz.c.
NAMES = ["models/model.json", "data/weights/model_weights_config.json",
         "data/constants/model_constants_config.json",
         "data/weights/weight_0", "data/constants/tensor_0",
         "data/sample_inputs/model.pt", "byteorder", "data/weights/weight_1"]
NAMES += ["data/weights/weight_%d" % i for i in range(2, 40)]
NAMES += ["data/constants/tensor_%d" % i for i in range(1, 8)]

EXPRESSIONS = [
    "Mul(Integer(2), Symbol('s77', positive=True, integer=True))",
    "Add(Mul(Rational(1, 2), Symbol('s0', integer=True)), Integer(-1))",
    "FloorDiv(PythonMod(Symbol('u0', integer=True), Integer(3)), Integer(2))",
    "Piecewise(ExprCondPair(Symbol('a', integer=True), Equality(Integer(1), "
    "Symbol('b', integer=True))), ExprCondPair(Integer(3), true))",
    "Where(GreaterThan(Symbol('s0', integer=True), Integer(2)), Max(Integer(1)"
    ", Symbol('s0', integer=True)), Min(Integer(1), int_oo))",
    "RoundDecimal(FloatTrueDiv(ToFloat(Symbol('s0', integer=True)), "
    "Float('2.5', precision=53)), Integer(2))",
    "IsNonOverlappingAndDenseIndicator(Symbol('a', integer=True), Integer(2),"
    " Integer(2), Integer(1))",
    "And(Not(Or(LessThan(Integer(1), oo), false)), Unequality(zoo, pi))",
    "OpaqueUnaryFn_sqrt(Pow(Symbol('z', real=True), Rational(1, 2)))",
    "LShift(BitwiseFn_bitwise_xor(Integer(5), Abs(Integer(-3))), Integer(4))",
    "2*s0 + 1 - (s1//2) % 3 ** -1 / 4 << 2 >> 1",
    "~((s0 >= 2) & (s1 < 3)) | Eq(s0, 2.5e-3)",
]


def write(folder, name, data):
    path = os.path.join(CORPUS, folder)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name), "wb") as file:
        file.write(data)


def without_metadata(value):
    """Stack traces are most of a program, and need no mutating."""
    if isinstance(value, dict):
        return {k: {"stack_trace": v.get("stack_trace", "")[:120],
                    "nn_module_stack": v.get("nn_module_stack", "")[:60]}
                if k == "metadata" and "stack_trace" in v
                else without_metadata(v) for k, v in value.items()}
    if isinstance(value, list):
        return [without_metadata(v) for v in value]
    return value


def small(name, data):
    if not data or not name.endswith(".json"):
        return data
    return json.dumps(without_metadata(json.loads(data)),
                      separators=(",", ":")).encode()


def members(path):
    with zipfile.ZipFile(path) as archive:
        first = archive.namelist()[0]
        prefix = first.split("/")[0] + "/" if "/" in first else ""
        return {name[len(prefix):]: archive.read(name)
                for name in archive.namelist()}


def main():
    for name in ("arguments", "functional", "dtypes", "cnn_211", "ops_211"):
        files = members(os.path.join(ARCHIVES, name + ".pt2"))
        data = b""
        for i, member in enumerate(NAMES):
            content = small(member, files.get(member, b""))
            if member in files and len(content) < 30000:
                data += bytes([i]) + struct.pack("<H", len(content)) + content
        write("exported", name, data)
    for name in ("rezipped.pt2", "default.pt2"):
        with open(os.path.join(ARCHIVES, name), "rb") as file:
            write("exported", name, file.read())
    for name, member in (("net_24", "serialized_state_dict.pt"),
                         ("arguments", "data/sample_inputs/model.pt")):
        saved = members(os.path.join(ARCHIVES, name + ".pt2"))[member]
        write("pickle", name + ".data.pkl", members(io.BytesIO(saved))["data.pkl"])
    for i, text in enumerate(EXPRESSIONS):
        write("symbolic", f"expression_{i:02}", text.encode())


if __name__ == "__main__":
    main()
