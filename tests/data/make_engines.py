#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/engine: an engine of each minor version of format 8, field by
field, which every later one has to load and run, for
tests/runtime/old_engine_test.c: softmax over the rows of a float [2, 3]. The
last has a signature too: anybody may make one with its key.

Usage: make_engines.py [folder]
"""
import hashlib
import os
import struct
import sys

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F,
                      0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                      0x27D4EB2F165667C5)


def rotate(x, bits):
    return ((x << bits) | (x >> (64 - bits))) & MASK


def lane(a, x):
    return rotate((a + x * P2) & MASK, 31) * P1 & MASK


def xxh64(data, seed=0):
    """XXH64, from its specification."""
    at, n = 0, len(data)
    if n >= 32:
        lanes = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed,
                 (seed - P1) & MASK]
        while at + 32 <= n:
            words = struct.unpack_from("<4Q", data, at)
            lanes = [lane(a, x) for a, x in zip(lanes, words)]
            at += 32
        h = sum(rotate(a, r) for a, r in zip(lanes, (1, 7, 12, 18))) & MASK
        for a in lanes:
            h = ((h ^ lane(0, a)) * P1 + P4) & MASK
    else:
        h = (seed + P5) & MASK
    h = (h + n) & MASK
    while at + 8 <= n:
        h ^= lane(0, struct.unpack_from("<Q", data, at)[0])
        h = (rotate(h, 27) * P1 + P4) & MASK
        at += 8
    if at + 4 <= n:
        h ^= struct.unpack_from("<I", data, at)[0] * P1 & MASK
        h = (rotate(h, 23) * P2 + P3) & MASK
        at += 4
    for byte in data[at:]:
        h = rotate(h ^ (byte * P5 & MASK), 11) * P1 & MASK
    h = (h ^ (h >> 33)) * P2 & MASK
    h = (h ^ (h >> 29)) * P3 & MASK
    return h ^ (h >> 32)


def u32(*values):
    return struct.pack(f"<{len(values)}I", *values)


def u64(*values):
    return struct.pack(f"<{len(values)}Q", *values)


def text(value):
    return u32(len(value)) + value.encode()


FLOAT, INPUT, OUTPUT, SOFTMAX, NONE = 6, 0, 1, 6, 0xFFFFFFFF


def tensor(minor, name, place):
    return (text(name) + u32(FLOAT, 2) + struct.pack("<4q", 2, 3, 3, 1) +
            u32(place, 0) + u64(0) + (u32(0) if minor >= 1 else b""))


def description(minor):
    out = u64(0)  # the workspace
    if minor >= 1:
        out += u64(0) + text("") + u32(0)  # the device's, the target, code
    out += u32(1) + text("builder.version") + text("0.1.0")  # metadata
    out += u32(0)  # weights
    out += u32(2) + tensor(minor, "x", INPUT) + tensor(minor, "y", OUTPUT)
    out += u32(1) + text("x") + u32(0)  # inputs
    out += u32(1) + text("y") + u32(1)  # outputs
    out += u32(1)  # steps
    out += u32(SOFTMAX) + text("softmax") + text("default")
    out += u32(1, 0) + u32(1, 1)  # its inputs and outputs
    out += u32(*[NONE] * 6)  # its weights
    out += u32(0)  # trials
    if minor >= 1:
        out += u32(0, 0)  # space, precision
    out += u32(8) + struct.pack("<2i", 1, 0)  # axis, log
    out += u32(0) + u32(0)  # structures
    return out + u32(0)  # no program


def signed(data):
    """The engine with a signature by the key of 32 bytes of 7."""
    private = ed25519.Ed25519PrivateKey.from_private_bytes(b"\7" * 32)
    public = private.public_key().public_bytes(
        serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    data = data[:16] + u64(len(data) + 128) + data[24:]
    data += b"BSMSIGNS" + u32(1, 0) + public + bytes(16)
    digest = hashlib.blake2b(data).digest()
    return data + private.sign(b"Bessemer engine\n" + digest)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "engine")
    os.makedirs(folder, exist_ok=True)
    for minor in range(11):
        body = description(minor)
        weights = (64 + len(body) + 63) // 64 * 64
        header = (b"BSMENGIN" + u32(8 << 16 | minor, 0x01020304) +
                  u64(weights, len(body), weights, 0) +
                  u64(xxh64(body, 8 << 16 | minor if minor >= 3 else 0), 0))
        engine = (header + body).ljust(weights, b"\0")
        name = os.path.join(folder, f"softmax_8_{minor}")
        with open(name + ".bsm", "wb") as file:
            file.write(engine)
        if minor >= 2:
            with open(name + "_signed.bsm", "wb") as file:
                file.write(signed(engine))


main()
