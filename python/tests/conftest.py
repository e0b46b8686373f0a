# SPDX-License-Identifier: Apache-2.0
"""What the tests share: data of the source tree, and expected values of
PyTorch, which its scripts have written there."""
import os
import pathlib

import numpy as np
import pytest

import bessemer

SOURCE = pathlib.Path(os.environ.get(
    "BESSEMER_SOURCE", pathlib.Path(__file__).resolve().parents[2]))


@pytest.fixture(scope="session")
def data():
    return SOURCE / "tests" / "data"


@pytest.fixture(scope="session")
def digits():
    return SOURCE / "examples" / "digits" / "digits.ts"


@pytest.fixture(scope="session")
def images():
    return np.load(SOURCE / "examples" / "digits" / "digits_images.npy")


@pytest.fixture(scope="session")
def engine(digits):
    return bessemer.compile(digits, timing=False, threads=1)


def close(made, expected, tolerance=1e-4):
    """As the conformance of models is measured."""
    made, expected = np.asarray(made), np.asarray(expected)
    assert made.shape == expected.shape
    assert made.dtype == expected.dtype
    if expected.dtype.kind in "biu":
        assert (made == expected).all()
    elif expected.size:
        bound = tolerance * np.abs(expected).max() + 1e-6
        assert np.abs(made - expected).max() <= bound
