# SPDX-License-Identifier: Apache-2.0
"""Structured arguments and results, beside those of PyTorch."""
import itertools
import json

import numpy as np
import pytest

import bessemer
from bessemer import DEFAULT
from conftest import close


@pytest.fixture(scope="module")
def arrays(data):
    return np.load(data / "structured" / "structured.npz")


@pytest.fixture(scope="module")
def compiled(data):
    def make(method, inputs):
        return bessemer.compile(data / "structured" / "structured.ts",
                                inputs=inputs, method=method, timing=False)
    return make


def test_dicts_of_lists(arrays, compiled):
    def given(*path):
        return arrays["/".join(("nested", "in", ".".join(path)))]
    batch = {"a": [given("batch", "a", "0"), given("batch", "a", "1")],
             "b.c": [given("batch", "b.c", "0")]}
    engine = compiled("nested", {"batch": batch, "scale": 1.5})
    result = engine(batch)
    assert list(result) == ["a_scaled", "b.c_scaled"]
    assert isinstance(result["a_scaled"], list)
    close(result["a_scaled"][1], arrays["nested/out/a_scaled.1"])
    close(result["b.c_scaled"][0], arrays["nested/out/b.c_scaled.0"])
    assert engine(batch, 1.5).keys() == result.keys()
    assert engine(scale=1.5, batch=batch).keys() == result.keys()
    with pytest.raises(ValueError, match="scale was 1.5"):
        engine(batch, 2.0)
    with pytest.raises(ValueError, match="keys"):
        engine({"a": batch["a"]})
    with pytest.raises(ValueError, match="batch.a has 2 items, 1 were given"):
        engine({"a": batch["a"][:1], "b.c": batch["b.c"]})
    with pytest.raises(TypeError, match="misses the argument 'batch'"):
        engine()
    with pytest.raises(TypeError, match="no argument 'other'"):
        engine(batch, other=1)
    with pytest.raises(TypeError, match="two values"):
        engine(batch, batch=batch)
    with pytest.raises(TypeError, match="takes 2 arguments, 3"):
        engine(batch, 1.5, 1)


def test_named_tuples(arrays, compiled):
    pair = {"left": arrays["named/in/pair.left"],
            "right": arrays["named/in/pair.right"]}
    engine = compiled("named", [pair, DEFAULT])

    class Pair:
        left, right = pair["left"], pair["right"]

    for argument in (tuple(pair.values()), Pair()):
        found = engine(argument)
        assert found._fields == ("boxes", "label", "pair", "count")
        assert found.label == "found" and found.count == 3
        assert type(found).__name__ == "Found"
        close(found.boxes, arrays["named/out/boxes"])
        close(found.pair.right, arrays["named/out/pair.right"])


def test_none_and_strings(arrays, compiled):
    x = arrays["optional/in/x"]
    engine = compiled("optional", {"x": x, "mask": None})
    close(engine(x), arrays["optional/out/output_0"])
    close(engine(x, None, 3), arrays["optional/out/output_0"])
    with pytest.raises(ValueError, match="mask was None"):
        engine(x, x)
    x = arrays["choose/in/x"]
    engine = compiled("choose", [x, "relu", bool(arrays["choose/in/negate"])])
    made, text = engine(x)
    assert text == "used relu"
    close(made, arrays["choose/out/output_0"])


def test_numbers_of_results(arrays, compiled):
    x = arrays["mixed/in/x"]
    made = compiled("mixed", [x])(x)
    close(made[0], arrays["mixed/out/output_0"])
    assert made[1:] == (3, 0.25, True, "text", None,
                        bool(arrays["mixed/out/output_6"]), [2, 7])
    assert type(made[1]) is int and type(made[6]) is bool


def test_keys_that_are_numbers(arrays, compiled):
    parts = {1: arrays["keyed/in/parts.1"], 7: arrays["keyed/in/parts.7"]}
    result = compiled("keyed", [parts])(parts)
    assert list(result) == [10, 70]
    close(result[70], arrays["keyed/out/70"])


def test_numbers_given_when_running(compiled):
    x = np.ones((2, 4), np.float32)
    engine = compiled("encoder.twice", [x, bessemer.Input((), dtype="int64")])
    assert engine.inputs[1].shape == ()
    assert np.allclose(engine(x, 6), 3 * engine(x, 2))
    assert np.allclose(engine(x, np.array(6)), engine(x, times=6))


RESULTS = ["forward", "integers", "numbers", "to_list", "keyed", "int_keys",
           "float_keys", "maybe", "maybe_int", "maybe_list", "detections",
           "filtered", "nested", "mixed", "word", "pairs", "named", "optionals",
           "tree", "maybe_dict"]


@pytest.mark.parametrize("method", RESULTS)
def test_results_that_only_a_run_knows(data, method):
    """The tensors of each call, and the numbers and strings between them."""
    arrays = np.load(data / "results" / "results.npz")
    first = arrays[f"{method}.0/in"]
    engine = bessemer.compile(data / "results" / "results.ts", inputs=[first],
                              method=method, timing=False)
    calls = 0
    while f"{method}.{calls}/in" in arrays.files:
        result = engine(arrays[f"{method}.{calls}/in"])
        tensors = [leaf for leaf in _leaves(result)
                   if isinstance(leaf, np.ndarray)]
        wanted = [key for key in arrays.files
                  if key.startswith(f"{method}.{calls}/")
                  and key.rpartition("/")[2].isdigit()]
        assert len(tensors) == len(wanted)
        wanted.sort(key=lambda key: int(key.rpartition("/")[2]))
        for made, key in zip(tensors, wanted):
            close(made, arrays[key])
        assert _text(result, itertools.count()) == str(
            arrays[f"{method}.{calls}/text"])
        calls += 1
    assert calls > 1


def _leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _text(value, number):
    """A result as PyTorch's script has written it; `number` counts tensors
    and numbers."""
    if isinstance(value, np.ndarray):
        return f"Tensor -> {next(number)}"
    if isinstance(value, (bool, int, float)):
        return f"{type(value).__name__} -> {next(number)} = {value}"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key) if isinstance(key, str) else key}: "
                 + _text(item, number) for key, item in value.items()]
        return "{" + ", ".join(parts) + "}"
    if hasattr(value, "_fields"):
        parts = [f"{name}={_text(item, number)}"
                 for name, item in zip(value._fields, value)]
        return f"{type(value).__name__}(" + ", ".join(parts) + ")"
    if isinstance(value, (list, tuple)):
        parts = ", ".join(_text(item, number) for item in value)
        return f"[{parts}]" if isinstance(value, list) else f"({parts})"
    return repr(value)
