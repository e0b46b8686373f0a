#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the digits model, saves it, loads it and reads scans of digits.
Needs NumPy alone.

    python digits.py [FOLDER WITH digits.ts AND digits_images.npy]"""
import pathlib
import sys
import tempfile

import numpy as np

import bessemer


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                          pathlib.Path(__file__).parents[1] / "digits")
    images = np.load(folder / "digits_images.npy")
    labels = np.load(folder / "digits_labels.npy")

    engine = bessemer.compile(
        folder / "digits.ts",
        inputs=[bessemer.Input(min=(1, 1, 8, 8), opt=(8, 1, 8, 8),
                               max=(64, 1, 8, 8))])
    print(engine)

    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "digits.bsm"
        engine.save(path)
        engine = bessemer.load(path, threads=1)

    found = engine(images[:5]).argmax(1)
    print("the first five are", *found, "and should be", *labels[:5])
    right = sum(int(engine(images[i:i + 1]).argmax() == labels[i])
                for i in range(len(images)))
    print(f"{right} of {len(images)} are right")
    print(engine.profile(images[:8]))
    return right < 0.95 * len(images)


if __name__ == "__main__":
    sys.exit(main())
