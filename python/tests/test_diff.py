# SPDX-License-Identifier: Apache-2.0
"""Intermediate tensors, and where computations depart."""
import numpy as np
import pytest

import bessemer
from conftest import close

LAYERS = 50


def chain(odd=None):
    """IR text of fifty products, one of which may have other weights."""
    lines = ["graph(%y0 : Float(2, 4)):",
             "  %zero : int = prim::Constant[value=0]()",
             "  %one : int = prim::Constant[value=1]()"]
    for i in range(LAYERS):
        factor = 0.9 if i == odd else 1.0
        lines += [f"  %f{i} : float = prim::Constant[value={factor}]()",
                  f"  %a{i} : Tensor = aten::mul(%y{i}, %f{i})",
                  f"  %s{i} : Tensor = aten::softmax(%a{i}, %one, %none)",
                  f"  %y{i + 1} : Tensor = aten::add(%y0, %s{i}, %one)"]
    lines.insert(1, "  %none : NoneType = prim::Constant()")
    return "\n".join(lines + [f"  return (%y{LAYERS})\n"]).encode()


@pytest.fixture
def x():
    return np.arange(8, dtype=np.float32).reshape(2, 4) / 8


def test_tensors_are_what_pytorch_computes(data, engine):
    arrays = np.load(data / "tools" / "digits_activations.npz")
    tensors = engine.tensors(arrays["x"])
    by_name = {t.name: t for t in tensors}
    assert len(by_name) == len(tensors)
    assert [t.step for t in tensors] == sorted(t.step for t in tensors)
    close(by_name["23"].array, arrays["features.2"])
    close(by_name["91"].array, arrays["classifier.4"])
    assert "aten::_convolution" in by_name["23"].layers
    assert (tensors[-1].array == engine(arrays["x"])).all()


def test_no_layer_departs_from_pytorch(data, engine, digits):
    arrays = dict(np.load(data / "tools" / "digits_activations.npz"))
    found = bessemer.diff(arrays, engine, arrays["x"])
    assert {"features.6", "classifier.4"} <= {d.layer for d in found}
    assert found.first is None and found.worst.error < 1e-5
    assert "no layer departs" in str(found)
    arrays["features.6"] = arrays["features.6"] + 1
    assert bessemer.diff(engine, arrays, arrays["x"]).first.layer == \
        "features.6"
    for kind in ("library", "float64"):
        exact = bessemer.compile(digits, reference=kind)
        found = bessemer.diff(exact, engine, arrays["x"])
        assert len(found) > 5 and found.first is None
    assert exact.tensors(arrays["x"])[-2].array.dtype == np.float64


@pytest.mark.parametrize("odd", [0, 23, 49])
def test_one_of_fifty_layers_is_found(x, odd):
    good = bessemer.compile(chain(), timing=False)
    bad = bessemer.compile(chain(odd), timing=False)
    exact = bessemer.compile(chain(odd), reference="float64")
    for a, b in ((good, bad), (bad, good), (good, exact), (exact, good)):
        found = bessemer.diff(a, b, x, tolerance=1e-6)
        assert found.first.value in (f"a{odd}", f"s{odd}")
    assert bessemer.diff(exact, bad, x).first is None


def test_what_is_no_number_is_an_infinite_error(x):
    engine = bessemer.compile(chain(), timing=False)
    broken = x.copy()
    broken[0, 0] = np.nan
    wanted = {t.name: t.array for t in engine.tensors(broken)}
    found = bessemer.diff(wanted, engine, x)
    assert found.first.error == float("inf")
    assert bessemer.diff(wanted, engine, broken).first is None


def test_what_cannot_be_compared(engine, images):
    with pytest.raises(TypeError, match="a str cannot be compared"):
        bessemer.diff(engine, "digits.ts", images[:1])
    with pytest.raises(TypeError, match="has to be an Engine"):
        bessemer.diff({}, {}, images[:1])
    with pytest.raises(ValueError, match="reference is"):
        bessemer.compile(chain(), reference="double")


def test_an_nn_module_is_recorded():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(6, 8), torch.nn.ReLU(),
        torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh())).eval()
    x = torch.randn(3, 6)
    engine = bessemer.compile(net, inputs=[x], frontend="trace", timing=False)
    arrays = bessemer.record(net, x)
    assert set(arrays) == {"0", "1", "2", "2.0", "2.1", "out_0"}
    found = bessemer.diff(net, engine, x)
    assert len(found) >= 2 and found.first is None
    with torch.no_grad():
        net[2][0].bias += 0.1
    assert "2.0" in bessemer.diff(net, engine, x).first.layer
