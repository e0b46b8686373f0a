#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/trust: what hashes and signatures have to be, for
tests/trust. Hashes are Python's; signatures are OpenSSL's (the package
cryptography), which has to agree with RFC 8032 on the RFC's own; those that are
to be refused are made by the plain arithmetic below. Nothing here uses ours.

Usage: make_trust.py [folder]
"""
import hashlib
import os
import random
import sys

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, x25519

HERE = os.path.dirname(os.path.abspath(__file__))

# ---- plain arithmetic of the curve, slow ----

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def x_of(y, odd):
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if (x * x - square) % P:
        return None
    return P - x if x % 2 != odd else x


def add(a, b):
    (x1, y1), (x2, y2) = a, b
    t = D * x1 * x2 * y1 * y2 % P
    return ((x1 * y2 + x2 * y1) * pow(1 + t, P - 2, P) % P,
            (y1 * y2 + x1 * x2) * pow(1 - t, P - 2, P) % P)


def multiply(n, a):
    out = (0, 1)
    while n:
        if n & 1:
            out = add(out, a)
        a, n = add(a, a), n >> 1
    return out


BASE = (x_of(4 * pow(5, P - 2, P) % P, 0), 4 * pow(5, P - 2, P) % P)


def bytes_of(n):
    return n.to_bytes(32, "little")


def encode(a):
    return bytes_of(a[1] | (a[0] & 1) << 255)


def torsion():
    """The eight points of small order."""
    y = 2
    while True:
        x = x_of(y, 0)
        if x is not None:
            small = multiply(L, (x, y))
            if multiply(4, small) != (0, 1):
                return [multiply(i, small) for i in range(8)]
        y += 1


def challenge(r, a, message):
    return int.from_bytes(
        hashlib.sha512(r + a + message).digest(), "little") % L


def sign_as(scalar, nonce_point, nonce, key, message):
    """A signature whose R and A are encoded as the caller says."""
    k = challenge(nonce_point, key, message)
    return nonce_point + bytes_of((nonce + k * scalar) % L)


# ---- OpenSSL ----


def keys_of(secret):
    private = ed25519.Ed25519PrivateKey.from_private_bytes(secret)
    public = private.public_key().public_bytes(
        serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return private, public


# RFC 8032, 7.1: secret key, message, the first bytes of the signature.
RFC = [
    ("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"),
    ("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"),
    ("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"),
    ("833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
     hashlib.sha512(b"abc").hexdigest(),
     "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"),
]


def signatures(rng):
    """(verdict, name, secret or -, public, message, signature)"""
    rows = []
    for i, (secret, message, start) in enumerate(RFC):
        private, public = keys_of(bytes.fromhex(secret))
        signature = private.sign(bytes.fromhex(message))
        assert signature.hex().startswith(start), i
        rows.append(("good", f"rfc_{i + 1}", secret, public,
                     bytes.fromhex(message), signature))
    for size in (0, 1, 31, 32, 63, 64, 79, 80, 111, 112, 127, 128, 129, 1023):
        secret, message = rng.randbytes(32), rng.randbytes(size)
        private, public = keys_of(secret)
        rows.append(("good", f"random_{size}", secret.hex(), public, message,
                     private.sign(message)))
    for name, secret in (("zero_secret", bytes(32)),
                         ("ones_secret", b"\xff" * 32)):
        private, public = keys_of(secret)
        rows.append(("good", name, secret.hex(), public, b"engine",
                     private.sign(b"engine")))
    return rows + refused(rng)


def refused(rng):
    secret, message = rng.randbytes(32), b"what was signed"
    private, public = keys_of(secret)
    good = private.sign(message)
    r, s = good[:32], int.from_bytes(good[32:], "little")
    scalar = int.from_bytes(hashlib.sha512(secret).digest()[:32], "little")
    scalar = scalar & (1 << 254) - 8 | 1 << 254
    small = torsion()
    rows = []

    def row(name, key, text, signature):
        rows.append(("bad", name, "-", key, text, signature))

    row("other_message", public, b"what was not signed", good)
    row("other_key", keys_of(rng.randbytes(32))[1], message, good)
    row("all_zero", public, message, bytes(64))
    row("all_ones", public, message, b"\xff" * 64)
    for times in range(1, 16):
        if s + times * L < 1 << 256:
            row(f"s_plus_{times}_orders", public, message,
                r + bytes_of(s + times * L))
    row("s_is_the_order", public, message, r + bytes_of(L))
    row("s_negated", public, message, r + bytes_of(L - s))
    row("s_with_the_high_bit", public, message, r + bytes_of(s | 1 << 255))
    row("s_zero", public, message, r + bytes(32))
    row("r_of_other_sign", public, message, bytes_of(
        int.from_bytes(r, "little") ^ 1 << 255) + good[32:])
    for bit in range(0, 512, 37):
        number = int.from_bytes(good, "little") ^ 1 << bit
        row(f"bit_{bit}", public, message, number.to_bytes(64, "little"))
    # Without the checks of small orders, each of these would be accepted for
    # any message, or for one of eight.
    for i, point in enumerate(small):
        key = encode(point)
        for j in range(8):
            text = b"any message %d" % j
            row(f"small_key_{i}_{j}", key, text, encode((0, 1)) + bytes(32))
        for j, other in enumerate(small):
            row(f"small_key_{i}_small_r_{j}", key, b"m", encode(other) +
                bytes(32))
        nonce = 77
        row(f"small_key_{i}_honest_r", key, b"m",
            encode(multiply(nonce, BASE)) + bytes_of(nonce))
    # R of small order and a good key: S = k a.
    for i, point in enumerate(small):
        row(f"small_r_{i}", public, message,
            sign_as(scalar, encode(point), 0, public, message))
    # Encodings of y that are not below p, where they are points: y = 0 and 1
    # are of small order; further ones as R, which the hash takes as it is.
    for y in range(19):
        for odd in (0, 1):
            odd_encoding = bytes_of((y + P) | odd << 255)
            if x_of(y, odd) is None:
                continue
            row(f"long_key_{y}_{odd}", odd_encoding, message, good)
            row(f"long_r_{y}_{odd}", public, message,
                odd_encoding + good[32:])
    row("minus_zero_key", bytes_of(1 | 1 << 255), message, good)
    row("minus_zero_r", public, message, bytes_of(1 | 1 << 255) + good[32:])
    row("key_off_the_curve", bytes_of(2), message, good)
    row("r_off_the_curve", public, message, bytes_of(2) + good[32:])
    # The key and a point of small order: it holds with a cofactor alone, for
    # those messages whose hash the order of the point does not divide.
    for i, point in enumerate(small[1:], 1):
        mixed = encode(add(multiply(scalar, BASE), point))
        nonce = 12345
        nonce_point = encode(multiply(nonce, BASE))
        tries = (b"mixed %d" % n for n in range(1000))
        text = next(t for t in tries
                    if multiply(challenge(nonce_point, mixed, t), point) !=
                    (0, 1))
        row(f"mixed_key_{i}", mixed, text,
            sign_as(scalar, nonce_point, nonce, mixed, text))
        mixed_r = encode(add(multiply(nonce, BASE), point))
        row(f"mixed_r_{i}", public, message,
            sign_as(scalar, mixed_r, nonce, public, message))
    return rows


def hashes(rng):
    """(function, key, message, hash)"""
    rows = []
    for size in (0, 1, 3, 63, 64, 111, 112, 113, 127, 128, 129, 239, 240, 255,
                 256, 257, 1000):
        message = rng.randbytes(size)
        rows.append(("sha512", b"", message, hashlib.sha512(message).digest()))
        rows.append(("blake2b", b"", message,
                     hashlib.blake2b(message).digest()))
        key = rng.randbytes(1 + size % 64)
        length = 1 + (size + 31) % 64
        rows.append(("blake2b", key, message,
                     hashlib.blake2b(message, key=key,
                                     digest_size=length).digest()))
    return rows


def write_keys(folder, rng):
    """Key files as OpenSSL has them: of ours, and of kinds that are not."""
    pem, raw = serialization.Encoding.PEM, serialization.NoEncryption()
    pkcs8 = serialization.PrivateFormat.PKCS8
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    kinds = {
        "ed25519": ed25519.Ed25519PrivateKey,
        "x25519": x25519.X25519PrivateKey,
    }
    for name, kind in kinds.items():
        key = kind.from_private_bytes(rng.randbytes(32))
        for end, data in (
            ("secret", key.private_bytes(pem, pkcs8, raw)),
            ("public", key.public_key().public_bytes(pem, spki)),
        ):
            with open(os.path.join(folder, f"{name}_{end}.pem"), "wb") as file:
                file.write(data)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "trust")
    os.makedirs(folder, exist_ok=True)
    rng = random.Random(8032)
    with open(os.path.join(folder, "signatures.txt"), "w") as file:
        for verdict, name, secret, public, message, signature in signatures(
                rng):
            file.write(f"{verdict} {name} {secret} {public.hex()} "
                       f"{message.hex() or '-'} {signature.hex()}\n")
    with open(os.path.join(folder, "hashes.txt"), "w") as file:
        for name, key, message, digest in hashes(rng):
            file.write(f"{name} {key.hex() or '-'} {message.hex() or '-'} "
                       f"{digest.hex()}\n")
    write_keys(folder, rng)


if __name__ == "__main__":
    main()
