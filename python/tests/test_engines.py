# SPDX-License-Identifier: Apache-2.0
"""Engines: compiled from files and bytes, saved, loaded, described."""
import pickle

import numpy as np
import pytest

import bessemer
from bessemer import _core
from conftest import SOURCE, close

MODELS = ["resnet-trace.ts", "resnet-exported.pt2", "bert-script.ts",
          "tagger-exported.pt2", "integer_net-script.ts", "quantized-v26.pt2"]


@pytest.mark.parametrize("name", MODELS)
def test_models_agree_with_pytorch(data, name):
    arrays = np.load(data / "models" / (name.split("-")[0] + ".npz"))
    count = sum(key.startswith("in_") for key in arrays.files)
    inputs = [arrays[f"in_{i}"] for i in range(count)]
    engine = bessemer.compile(data / "models" / name, inputs=inputs,
                              timing=False)
    outputs = _leaves(engine(*inputs))
    expected = [arrays[f"out_{i}"] for i in range(len(outputs))]
    assert f"out_{len(outputs)}" not in arrays.files
    for made, wanted in zip(outputs, expected):
        close(made, wanted)


def _leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def test_digits_are_recognised(engine, images):
    labels = np.load(SOURCE / "examples" / "digits" / "digits_labels.npy")
    found = [engine(image[None]).argmax() for image in images]
    assert (np.array(found) == labels).mean() > 0.95


def test_a_path_bytes_and_text(digits, engine, images):
    image = images[:1]
    for model in (str(digits), digits, digits.read_bytes(),
                  bytearray(digits.read_bytes())):
        other = bessemer.compile(model, timing=False, threads=1)
        assert (other(image) == engine(image)).all()
    text = b"graph(%x : Float(2, 2)):\n  %y : Float(2, 2) = aten::relu(%x)\n" \
           b"  return (%y)\n"
    x = np.array([[-1, 2], [3, -4]], np.float32)
    assert (bessemer.compile(text, timing=False)(x) == np.maximum(x, 0)).all()


def test_files_bytes_and_pickles_are_the_same_engine(engine, images, tmp_path):
    image, path = images[:1], tmp_path / "digits.bsm"
    engine.save(path)
    assert path.read_bytes() == engine.to_bytes()
    for other in (bessemer.load(path), bessemer.load(str(path), threads=1),
                  bessemer.load(engine.to_bytes()),
                  pickle.loads(pickle.dumps(engine))):
        assert (other(image) == engine(image)).all()
        assert other.inputs == engine.inputs


def test_what_an_engine_says_of_itself(engine):
    assert engine.inputs == [bessemer.Binding(
        "x", "float32", (1, 1, 8, 8), "host", *3 * [(1, 1, 8, 8)])]
    assert engine.outputs == [
        bessemer.Binding("output_0", "float32", (1, 10), "host")]
    assert engine.parameters == ["x"]
    assert engine.memory.weights > 0 and engine.memory.device_weights == 0
    assert engine.target.startswith("cpu:")
    assert "threads=1" in engine.target
    assert "convolution" in engine.dump()
    assert "x: float32[1, 1, 8, 8]" in repr(engine)
    assert engine.metadata["builder.target"] == engine.target


def test_profile(engine, images):
    profile = engine.profile(images[:1], iterations=3)
    assert all(step.runs == 3 for step in profile)
    assert {"convolution", "softmax"} <= {step.kind for step in profile}
    assert profile.seconds > 0
    assert "convolution" in str(profile) and "100." not in str(profile)
    with pytest.raises(ValueError, match="iterations"):
        engine.profile(images[:1], iterations=0)


def test_a_result_outlives_its_engine(digits, images):
    engine = bessemer.compile(digits, timing=False)
    first = engine(images[:1])
    copy = first.copy()
    second = engine(images[1:2])
    del engine
    assert (first == copy).all() and not (first == second).all()
    assert first.flags.writeable and first.flags.c_contiguous


def test_ranges_of_shapes():
    text = b"graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n" \
           b"  return (%y)\n"
    engine = bessemer.compile(
        text, inputs=[bessemer.Input(min=(1, 3), opt=(4, 3), max=(8, 3))],
        timing=False)
    (binding,) = engine.inputs
    assert binding.shape == (-1, 3)
    assert (binding.min, binding.opt, binding.max) == ((1, 3), (4, 3), (8, 3))
    for rows in (1, 4, 8, 2):
        x = np.random.default_rng(rows).standard_normal(
            (rows, 3)).astype(np.float32)
        assert (engine(x) == np.maximum(x, 0)).all()
    with pytest.raises(bessemer.InvalidArgumentError, match="1 to 8"):
        engine(np.zeros((9, 3), np.float32))


def _weighted(seed):
    """A model's text, and its inputs with weights of their own."""
    text = b"graph(%x : Tensor, %w : Tensor):\n" \
           b"  %y : Tensor = aten::matmul(%x, %w)\n  return (%y)\n"
    w = np.random.default_rng(seed).standard_normal((9, 5)).astype(np.float32)
    return text, [bessemer.Input((4, 9)), bessemer.Constant(w)], w


def test_other_weights_of_the_same_model():
    x = np.random.default_rng(1).standard_normal((4, 9)).astype(np.float32)
    text, inputs, old = _weighted(2)
    engine = bessemer.compile(text, inputs, metadata={"epoch": "8"})
    text, inputs, new = _weighted(3)
    made = bessemer.load(engine.to_bytes()).refit(text, inputs,
                                                  metadata={"epoch": "9"})
    np.testing.assert_allclose(made(x), x @ new, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(engine(x), x @ old, rtol=1e-5, atol=1e-5)
    assert made.metadata["epoch"] == "9"
    other = text.replace(b"(%y)", b"(%y, %y)")
    with pytest.raises(bessemer.InvalidArgumentError):
        engine.refit(other, inputs)
    with pytest.raises(bessemer.InvalidArgumentError):
        engine.refit(text, inputs, prefer_size=True)
    with pytest.raises(TypeError, match="no argument 'sped'"):
        engine.refit(text, inputs, sped=1)
    with pytest.raises(TypeError, match="takes an engine"):
        _core.Module(path="", data=text).refit(1)


def test_versions():
    assert bessemer.__version__.count(".") == 2
    assert bessemer.targets()[0] == "cpu"
    assert bessemer.target_text().startswith("cpu:")


def test_looking_without_running(engine):
    looked_at = bessemer.load(engine.to_bytes(), without_device=True)
    assert looked_at.inputs == engine.inputs


def test_draws_are_pytorchs(data):
    """The runs of tests/data/draws/make_draws.py."""
    arrays = np.load(data / "draws" / "draws.npz")
    engine = bessemer.compile(data / "draws" / "draws.ts", method="noise",
                              inputs=[bessemer.Input((4, 4))], timing=False)
    for run in (0, 1):
        made = engine(arrays[f"noise.{run}.in0"])
        assert (made == arrays[f"noise.{run}.out0"]).all()
    assert engine.seed(1234567) is engine
    made = engine(arrays["noise.2.in0"])
    assert (made == arrays["noise.2.out0"]).all()
