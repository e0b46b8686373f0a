# SPDX-License-Identifier: Apache-2.0
"""PyTorch's tensors and models. Skipped where PyTorch is not installed."""
import collections
import logging
from typing import Dict, List

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import bessemer  # noqa: E402
from bessemer import Input  # noqa: E402

has_export = hasattr(getattr(torch, "export", None), "export")
needs_export = pytest.mark.skipif(not has_export, reason="no torch.export")


class Block(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.down = None
        if stride != 1 or channels != out:
            self.down = nn.Sequential(
                nn.Conv2d(channels, out, 1, stride, bias=False),
                nn.BatchNorm2d(out))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return torch.relu(y + (x if self.down is None else self.down(x)))


class ResNet18(nn.Module):
    """torchvision's resnet18, which need not be installed."""

    def __init__(self, width=64, classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.pool = nn.MaxPool2d(3, 2, 1)
        blocks, channels = [], width
        for i in range(4):
            out = width << i
            blocks += [Block(channels, out, 1 if i == 0 else 2),
                       Block(out, out, 1)]
            channels = out
        self.layers = nn.Sequential(*blocks)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        x = self.layers(x)
        return self.fc(torch.flatten(x.mean((2, 3), keepdim=True), 1))


def close(made, expected, tolerance=1e-4):
    assert isinstance(made, torch.Tensor)
    assert made.shape == expected.shape and made.dtype == expected.dtype
    bound = tolerance * expected.double().abs().max().item() + 1e-6
    assert (made.double() - expected.double()).abs().max().item() <= bound


def run(model, *args):
    with torch.no_grad():
        return model(*args)


@pytest.fixture(scope="module")
def relu():
    return bessemer.compile(
        b"graph(%x : Float(2, 3)):\n  %y : Float(2, 3) = aten::relu(%x)\n"
        b"  return (%y)\n", timing=False)


# ---- models ----

@pytest.mark.parametrize("frontend", ["export", "script", "trace", "auto"])
def test_resnet18(frontend):
    if frontend == "export" and not has_export:
        pytest.skip("no torch.export")
    torch.manual_seed(0)
    model = ResNet18().eval()
    x = torch.rand(1, 3, 64, 64)
    engine = bessemer.compile(model, inputs=[x], frontend=frontend,
                              timing=False)
    close(engine(x), run(model, x))
    assert (torch.as_tensor(engine(x.numpy())) == engine(x)).all()


def test_resnet18_of_torchvision():
    torchvision = pytest.importorskip("torchvision")
    torch.manual_seed(0)
    model = torchvision.models.resnet18().eval()
    engine = bessemer.compile(model, inputs=[Input((1, 3, 224, 224))])
    x = torch.rand(1, 3, 224, 224)
    close(engine(x), run(model, x))


class Mixed(nn.Module):
    def forward(self, x, d: Dict[str, torch.Tensor], k: int = 2,
                flag: bool = True):
        y = x * k + d["a"]
        if flag:
            y = y + d["b"]
        return {"y": y, "pair": [y.sum(), x - 1.0]}


class Loops(nn.Module):
    """What torch.export does not take."""

    def forward(self, x):
        out: List[torch.Tensor] = []
        while bool(x.sum() > 1):
            x = x * 0.5
            out.append(x)
        return out


class OnlyTrace(nn.Module):
    """What is neither exported nor scripted."""

    def forward(self, x):
        if float(x.sum()) > 1000:
            x = x + 1
        names = {name: i for i, name in enumerate(type(self).__mro__)}
        return x * len(names)


@pytest.mark.parametrize("frontend", [
    pytest.param("export", marks=needs_export), "script"])
def test_structures(frontend):
    x, d = torch.ones(2, 3), {"a": torch.rand(2, 3), "b": torch.rand(2, 3)}

    class Typed(Mixed):
        def forward(self, x, d: Dict[str, torch.Tensor], k: int = 2,
                    flag: bool = True):
            y = x * k + d["a"]
            if flag:
                y = y + d["b"]
            return {"y": y, "z": x - 1.0}

    model = (Mixed() if frontend == "export" else Typed()).eval()
    engine = bessemer.compile(model, inputs=[x, d, 3], frontend=frontend,
                              timing=False)
    made, expected = engine(x, d), model(x, d, 3)
    assert list(made) == list(expected)
    close(made["y"], expected["y"])
    if frontend == "export":
        assert isinstance(made["pair"], list)
        close(made["pair"][0], expected["pair"][0])
    with pytest.raises(ValueError, match="k was 3"):
        engine(x, d, 4)


@needs_export
def test_dicts_of_other_things():
    """A dict whose values differ in type is given as a dict."""
    class Mix(nn.Module):
        def forward(self, d):
            return {"sum": d["a"] + d["b"][0], "list": [d["b"][1]]}

    d = {"a": torch.rand(2, 3), "b": [torch.rand(2, 3), torch.rand(4)]}
    program = torch.export.export(Mix(), (d,))
    engine = bessemer.compile(program, timing=False)
    made = engine(d)
    close(made["sum"], d["a"] + d["b"][0])
    close(made["list"][0], d["b"][1])
    with pytest.raises(ValueError, match="has the fields"):
        engine({"a": d["a"]})


def test_the_way_is_said(caplog):
    x = torch.tensor([4.0, 5.0])
    with caplog.at_level(logging.INFO, "bessemer"):
        engine = bessemer.compile(Loops().eval(), inputs=[x], timing=False)
    text = "\n".join(record.getMessage() for record in caplog.records)
    assert "the model was compiled by way of torch.jit.script" in text
    assert "torch.export does not do for the model" in text
    assert [t.tolist() for t in engine(x)] == [
        t.tolist() for t in Loops()(x)]
    caplog.clear()
    with caplog.at_level(logging.INFO, "bessemer"):
        engine = bessemer.compile(OnlyTrace().eval(), inputs=[x],
                                  timing=False)
    text = "\n".join(record.getMessage() for record in caplog.records)
    assert "torch.jit.trace" in text
    close(engine(x), OnlyTrace()(x))


def test_no_way_names_all_reasons():
    class Nothing(nn.Module):
        def forward(self, x):
            raise RuntimeError("this model does not work")

    with pytest.raises(bessemer.UnsupportedError) as raised:
        bessemer.compile(Nothing().eval(), inputs=[torch.ones(2)])
    for word in ("torch.export", "torch.jit.script", "torch.jit.trace",
                 "this model does not work"):
        assert word in str(raised.value)
    with pytest.raises(bessemer.InvalidArgumentError, match="no frontend"):
        bessemer.compile(nn.ReLU(), inputs=[torch.ones(2)], frontend="onnx")
    support = bessemer.check_support(Nothing().eval(), inputs=[torch.ones(2)])
    assert not support and "does not work" in support.failure
    with pytest.raises(bessemer.UnsupportedError, match="inputs are needed"):
        bessemer.compile(nn.ReLU().eval(), frontend="trace")


@needs_export
def test_ranges_of_modules():
    model = ResNet18(8, 10).eval()
    ranged = Input(min=(1, 3, 32, 32), opt=(2, 3, 32, 32), max=(4, 3, 32, 32))
    engine = bessemer.compile(model, inputs=[ranged], timing=False)
    assert engine.inputs[0].min == (1, 3, 32, 32)
    for n in (1, 2, 3, 4):
        x = torch.rand(n, 3, 32, 32)
        close(engine(x), run(model, x))


def test_training_mode_is_left_as_it_was(caplog):
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout())
    model[0].eval()
    x = torch.rand(4, 3)
    with caplog.at_level(logging.WARNING, "bessemer"):
        engine = bessemer.compile(model, inputs=[x], timing=False)
    assert "training mode" in caplog.text
    assert model.training and model[1].training and not model[0].training
    close(engine(x), run(model.eval(), x))


def test_script_modules_and_programs():
    model, x = ResNet18(8, 10).eval(), torch.rand(1, 3, 32, 32)
    scripted = torch.jit.script(model)
    close(bessemer.compile(scripted, inputs=[x], timing=False)(x),
          run(model, x))
    if has_export:
        program = torch.export.export(model, (x,))
        close(bessemer.compile(program, timing=False)(x), run(model, x))


# ---- tensors ----

def test_layouts(relu):
    x = torch.randn(3, 2).t()
    assert not x.is_contiguous()
    assert (relu(x) == x.relu()).all()
    wide = torch.randn(2, 6)
    assert (relu(wide[:, ::2]) == wide[:, ::2].relu()).all()
    assert (relu(wide[:, 3:]) == wide[:, 3:].relu()).all()
    with_gradient = torch.randn(2, 3, requires_grad=True)
    made = relu(with_gradient)
    assert not made.requires_grad
    assert (made == with_gradient.relu()).all()
    assert (relu(nn.Parameter(torch.ones(2, 3))) == 1).all()


def test_lazy_signs_and_conjugates(relu):
    z = torch.randn(2, 3, dtype=torch.complex64)
    negative = z.conj().imag
    assert negative.is_neg()
    assert (relu(negative) == negative.relu()).all()
    tight = torch._neg_view(torch.randn(2, 3))
    assert (relu(tight) == tight.relu()).all()
    engine = bessemer.compile(
        b"graph(%x : ComplexFloat(2, 3)):\n"
        b"  %y : ComplexFloat(3, 2) = aten::t(%x)\n  return (%y)\n",
        timing=False)
    assert (engine(z.conj()) == z.conj().t()).all()


@pytest.mark.parametrize("dtype", [
    "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16",
    "float32", "float64", "bool", "complex64", "complex128"])
def test_dtypes(dtype):
    dtype = getattr(torch, dtype)
    if dtype == torch.bool and torch.__version__ < "2":
        pytest.skip("this PyTorch has no bools in DLPack")
    names = {torch.uint8: "Byte", torch.int8: "Char", torch.int16: "Short",
             torch.int32: "Int", torch.int64: "Long", torch.float16: "Half",
             torch.bfloat16: "BFloat16", torch.float32: "Float",
             torch.float64: "Double", torch.bool: "Bool",
             torch.complex64: "ComplexFloat",
             torch.complex128: "ComplexDouble"}
    text = f"graph(%x : {names[dtype]}(2, 2)):\n" \
           f"  %y : {names[dtype]}(2, 2) = aten::t(%x)\n  return (%y)\n"
    engine = bessemer.compile(text.encode(), timing=False)
    x = torch.arange(4).reshape(2, 2).to(dtype)
    y = engine(x)
    assert y.dtype == dtype and (y == x.t()).all()


def test_bools_out():
    engine = bessemer.compile(
        b"graph(%x : Float(2, 2), %z : Float(2, 2)):\n"
        b"  %y : Bool(2, 2) = aten::gt(%x, %z)\n  return (%y)\n", timing=False)
    x, z = torch.randn(2, 2), torch.randn(2, 2)
    assert (engine(x, z) == (x > z)).all()


def test_results_are_of_the_arguments_kind(relu):
    x = torch.randn(2, 3)
    assert isinstance(relu(x), torch.Tensor)
    assert isinstance(relu(x.numpy()), np.ndarray)
    out = torch.empty(2, 3)
    relu.run_into([out], x)
    assert (out == x.relu()).all()
    address = out.data_ptr()
    relu.run_into([out], x.numpy())
    assert out.data_ptr() == address


def test_results_can_be_written_and_kept(relu):
    results = [relu(torch.full((2, 3), float(i))) for i in range(10)]
    results[3].add_(1)
    assert [r[0, 0].item() for r in results] == [
        0, 1, 2, 4, 4, 5, 6, 7, 8, 9]


Pair = collections.namedtuple("Pair", "left right")


def test_named_tuples():
    class Sum(nn.Module):
        def forward(self, pair):
            return pair.left + pair.right

    if not has_export:
        pytest.skip("no torch.export")
    pair = Pair(torch.ones(2), torch.ones(2))
    engine = bessemer.compile(Sum().eval(), inputs=[pair], timing=False)
    assert (engine(pair) == 2).all()
