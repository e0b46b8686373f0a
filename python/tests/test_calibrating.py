# SPDX-License-Identifier: Apache-2.0
"""Calibrating on data from Python, and compiling in int8."""
import numpy as np
import pytest

import bessemer


@pytest.fixture(scope="module")
def labels(digits):
    return np.load(digits.with_name("digits_labels.npy"))


@pytest.fixture(scope="module")
def calibration(digits, images):
    return bessemer.calibrate(digits, [images[i:i + 1] for i in range(100)])


def right(engine, images, labels):
    return int((np.asarray(engine(images)).argmax(1) == labels).sum())


def in_int8(digits, calibration, count=360):
    return bessemer.compile(digits, inputs=[bessemer.Input((count, 1, 8, 8))],
                            precision="int8", calibration=calibration,
                            timing=False, threads=1, prefer_size=True)


def test_what_a_calibration_tells(calibration):
    assert calibration.batches == 100
    assert calibration.calibrator == "entropy"
    assert calibration.loss is None
    assert [layer.precision for layer in calibration.layers] == ["int8"] * 5
    first = calibration.layers[0]
    assert first.kind == "convolution" and first.operations > 0
    assert first.sqnr is None and first.loss is None
    ranges = {each.tensor: each for each in calibration.ranges}
    seen = ranges[first.input]
    assert seen.least == 0 and seen.greatest == 1
    assert seen.low <= 0 < seen.high <= 1
    assert str(calibration).endswith(
        "5 of 5 layers in int8, 100 batches, entropy")


def test_engines_in_int8_keep_the_answers(digits, images, labels, calibration,
                                          tmp_path):
    plain = bessemer.compile(digits, inputs=[bessemer.Input((360, 1, 8, 8))],
                             timing=False, threads=1)
    engine = in_int8(digits, calibration)
    assert "int8" in engine.metadata["options.precisions"]
    assert not np.array_equal(plain(images), engine(images))
    expected = right(plain, images, labels)
    assert right(engine, images, labels) >= expected - 1
    path = tmp_path / "digits.calib"
    calibration.save(path)
    assert in_int8(digits, path).to_bytes() == engine.to_bytes()
    assert in_int8(digits, bessemer.load_calibration(path)).to_bytes() == \
        engine.to_bytes()
    calibration.save_tensorrt(tmp_path / "digits.cache")
    cache = bessemer.load_calibration(tmp_path / "digits.cache")
    assert {each.tensor for each in cache.ranges} == \
        {each.tensor for each in calibration.ranges}


def test_ways_to_give_data(digits, images, calibration):
    name = bessemer.compile(digits, timing=False).inputs[0].name
    batches = [images[i:i + 1] for i in range(100)]
    for data in ([{name: x} for x in batches], [[x] for x in batches],
                 ((x,) for x in batches)):
        made = bessemer.calibrate(digits, data)
        assert made.ranges == calibration.ranges
    assert bessemer.calibrate(digits, batches, max_batches=3).batches == 3
    with pytest.raises(bessemer.InvalidArgumentError, match="no array"):
        bessemer.calibrate(digits, [{"y": batches[0]}])
    with pytest.raises(bessemer.InvalidArgumentError, match="has 2 arrays"):
        bessemer.calibrate(digits, [batches[:2]])
    with pytest.raises(bessemer.InvalidArgumentError, match="no calibration data"):
        bessemer.calibrate(digits, [])
    with pytest.raises(bessemer.InvalidArgumentError, match="float64"):
        bessemer.calibrate(digits, [batches[0].astype(np.float64)])
    with pytest.raises(bessemer.InvalidArgumentError, match="no calibrator"):
        bessemer.calibrate(digits, batches, calibrator="best")
    with pytest.raises(TypeError):
        in_int8(digits, 3)


def test_exceptions_of_the_data_are_raised(digits, images):
    def broken():
        yield images[:1]
        raise KeyError("the disk is gone")

    with pytest.raises(KeyError, match="the disk is gone"):
        bessemer.calibrate(digits, broken())


def test_a_measure_of_the_users_decides(digits, images, labels):
    seen = []

    def accuracy(engine):
        rows = [engine(images[i:i + 1]) for i in range(60)]
        seen.append(engine.inputs[0].name)
        answers = np.concatenate(rows).argmax(1)
        return float((answers == labels[:60]).mean())

    batches = [images[i:i + 1] for i in range(20)]
    made = bessemer.calibrate(digits, batches, metric=accuracy, max_loss=0.02)
    assert len(seen) >= 2 and set(seen) == {"x"}
    assert made.loss is not None and made.loss <= 0.02

    def broken(engine):
        raise ZeroDivisionError("of no use")

    with pytest.raises(ZeroDivisionError, match="of no use"):
        bessemer.calibrate(digits, batches, metric=broken, max_loss=0.02)


def test_layers_are_measured(digits, images):
    made = bessemer.calibrate(digits, [images[i:i + 1] for i in range(8)],
                              calibrator="min-max", measure_layers=True,
                              equalize=True)
    assert made.calibrator == "min-max"
    assert all(layer.sqnr > 20 and 0 <= layer.loss < 0.1
               for layer in made.layers)
    strict = bessemer.calibrate(digits, [images[i:i + 1] for i in range(8)],
                                max_loss=1e-5)
    assert "fp32" in {layer.precision for layer in strict.layers}


def test_tensors_of_pytorch(digits, images, calibration):
    torch = pytest.importorskip("torch")
    made = bessemer.calibrate(digits, (torch.from_numpy(images[i:i + 1])
                                       for i in range(100)))
    assert made.ranges == calibration.ranges


def test_modules_of_pytorch():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(24, 16), torch.nn.ReLU(),
                                torch.nn.Linear(16, 3)).eval()
    data = [torch.randn(4, 24) for _ in range(4)]
    made = bessemer.calibrate(model, data, [data[0]], calibrator="min-max")
    engine = bessemer.compile(model, [data[0]], calibration=made,
                              precision="int8", timing=False,
                              prefer_size=True)
    want = model(data[0]).detach()
    assert 0 < (engine(data[0]) - want).norm() < 0.05 * want.norm()
