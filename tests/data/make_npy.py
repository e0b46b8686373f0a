#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the NumPy files of the tools' tests.

npy/: what tests/tools/npy_test.c reads; each array holds 0, 1, 2, ... in its
dtype and shape. tools/: inputs, weights and the result of linear.ir, which
tests/tools/cli_test.sh runs; whole numbers, so that the result is exact."""
import os
import struct

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "npy")
DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32",
    "float64", "complex64", "complex128"
]


def counting(dtype, shape=(2, 3)):
    count = int(np.prod(shape))
    if dtype == "bool":
        return (np.arange(count) % 2 == 1).reshape(shape)
    return np.arange(count).astype(dtype).reshape(shape)


def save(name, array):
    np.save(os.path.join(OUT, name), array)


def main():
    os.makedirs(OUT, exist_ok=True)
    for dtype in DTYPES:
        save(f"{dtype}.npy", counting(dtype))
    save("scalar.npy", np.array(7, dtype="int64"))
    save("vector.npy", counting("float32", (5,)))
    save("empty.npy", counting("float32", (0, 4)))
    save("big_endian.npy", counting("float32").astype(">f4"))
    save("big_endian_complex.npy", counting("complex64").astype(">c8"))
    save("fortran.npy", np.asfortranarray(counting("int32", (2, 3, 4))))
    save("object.npy", np.array([None, "x"], dtype=object))
    save("records.npy", np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))
    save("text.npy", np.array(["ab", "c"]))
    with open(os.path.join(OUT, "version2.npy"), "wb") as file:
        np.lib.format.write_array(file, counting("float32"), version=(2, 0))
    with open(os.path.join(OUT, "bfloat16.npy"), "wb") as file:
        head = b"{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }"
        head += b" " * (64 - 10 - len(head) % 64 - 1) + b"\n"
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        file.write(struct.pack("<HH", 0x3F80, 0x4000))
    arrays = {"in_0": counting("float32"), "mask": counting("bool")}
    np.savez(os.path.join(OUT, "stored.npz"), **arrays)
    np.savez_compressed(os.path.join(OUT, "deflated.npz"), **arrays)
    write_linear(os.path.join(HERE, "tools"))


def write_linear(folder):
    random = np.random.default_rng(0)
    x, w, b = (random.integers(-8, 8, shape).astype("float32")
               for shape in [(3, 4), (4, 4), (4,)])
    np.savez(os.path.join(folder, "linear_inputs.npz"), x=x, n=np.int64(2))
    np.savez(os.path.join(folder, "linear_weights.npz"), w=w, b=b)
    np.save(os.path.join(folder, "linear_output.npy"),
            np.maximum(x @ w.T + b, 0) + 2 * x)


if __name__ == "__main__":
    main()
