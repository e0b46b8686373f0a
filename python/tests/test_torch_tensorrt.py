# SPDX-License-Identifier: Apache-2.0
"""bessemer.torch.compile, which takes the arguments of Torch-TensorRT."""
import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

import bessemer  # noqa: E402
import bessemer.torch as torch_tensorrt  # noqa: E402
from bessemer.torch import _tensorrt  # noqa: E402


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()


def close(made, expected):
    assert (made - expected).abs().max() < 1e-5


@pytest.mark.parametrize("ir", ["default", "dynamo", "ts"])
def test_compile(ir, tmp_path):
    model, x = net(), torch.rand(2, 8)
    fast = torch_tensorrt.compile(
        model, ir=ir, inputs=[torch_tensorrt.Input((2, 8))],
        enabled_precisions={torch.float32}, truncate_long_and_double=True,
        min_block_size=1, torch_executed_ops={"aten::relu"},
        require_full_compilation=False)
    assert isinstance(fast, nn.Module)
    with torch.no_grad():
        close(fast(x), model(x))
    torch_tensorrt.save(fast, tmp_path / "net.bsm")
    assert (torch_tensorrt.load(tmp_path / "net.bsm")(x) == fast(x)).all()


def test_torch_executed_ops_are_followed():
    model, x = net(), torch.rand(2, 8)
    for name in ("aten::relu", "torch.ops.aten.relu", torch.ops.aten.relu,
                 torch.ops.aten.relu.default):
        name = str(name).replace(".default", "")
        fast = torch_tensorrt.compile(model, inputs=[x], ir="ts",
                                      torch_executed_ops=[name])
        assert "relu" in fast.engine.dump()
        kinds = {step.kind for step in fast.engine.profile(x, iterations=1)}
        assert "aten_call" in kinds
    with pytest.raises(bessemer.InvalidArgumentError):
        torch_tensorrt.compile(model, inputs=[x],
                               torch_executed_ops=["aten::no_such_thing"])
    with pytest.raises(bessemer.InvalidArgumentError, match="no operator"):
        torch_tensorrt.compile(model, inputs=[x], torch_executed_ops=["relu"])


def test_require_full_compilation_is_followed():
    class Erfinv(nn.Module):
        def forward(self, x):
            return torch.erfinv(x)

    x = torch.rand(3)
    torch_tensorrt.compile(Erfinv().eval(), inputs=[x])
    with pytest.raises(bessemer.UnsupportedError, match="erfinv"):
        torch_tensorrt.compile(Erfinv().eval(), inputs=[x],
                               require_full_compilation=True)


def test_precisions_are_followed():
    seen = {}

    def fake(*args, **options):
        seen.update(options)
        raise bessemer.UnsupportedError("stop")

    real, _tensorrt._compile.compile = _tensorrt._compile.compile, fake
    try:
        for given, tf32, target, expected in (
                ({torch.half, torch.float32}, None, "cpu", {"float16",
                                                            "float32"}),
                ({torch.half}, False, "cuda", {"float16", "tf32"}),
                ({torch.half}, True, "cuda", {"float16"}),
                (None, None, "cuda", None)):
            with pytest.raises(bessemer.UnsupportedError, match="stop"):
                torch_tensorrt.compile(net(), inputs=[], device=target,
                                       enabled_precisions=given,
                                       disable_tf32=tf32)
            assert seen["target"] == target
            assert (seen["precision"] and set(seen["precision"])) == expected
    finally:
        _tensorrt._compile.compile = real


@pytest.mark.parametrize("name", sorted(_tensorrt._ONLY))
def test_every_other_argument_is_taken_or_refused(name):
    taken, _ = _tensorrt._ONLY[name]
    for value in taken:
        _tensorrt._check_only(name, value)
    if set(taken) != {False, True}:
        with pytest.raises(bessemer.UnsupportedError, match=name):
            _tensorrt._check_only(name, "something else")


def data(rows, batches=4):
    """Batches of a DataLoader with labels; too few rows are left at the end."""
    torch.manual_seed(1)
    images, labels = torch.rand(rows * batches + 1, 8), torch.arange(
        rows * batches + 1)
    return torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(images, labels), batch_size=rows)


@pytest.mark.parametrize("ir", ["default", "ts"])
def test_calibrators(ir, tmp_path):
    ptq, model, x = torch_tensorrt.ptq, net(), torch.rand(2, 8)
    cache = tmp_path / "net.cache"

    def compiled(calibrator):
        return torch_tensorrt.compile(
            model, ir=ir, inputs=[torch_tensorrt.Input((2, 8))],
            enabled_precisions={torch.float, torch.half, torch.int8},
            calibrator=calibrator)

    fast = compiled(ptq.DataLoaderCalibrator(
        data(3), cache_file=cache, use_cache=False,
        algo_type=ptq.CalibrationAlgo.MINMAX_CALIBRATION,
        device=torch.device("cpu")))
    made = bessemer.load_calibration(cache)
    assert (made.batches, made.calibrator) == (4, "min-max")
    assert "int8" in fast.engine.metadata["options.precisions"]
    with torch.no_grad():
        error = (fast(x) - model(x)).abs().max()
    # In int8, or in float32 where a CPU is faster so.
    assert error < 0.02
    assert error > 0 or "int8_convolution" not in fast.engine.dump()
    for again in (ptq.DataLoaderCalibrator(None, cache, use_cache=True),
                  ptq.CacheCalibrator(cache)):
        assert (compiled(again)(x) == fast(x)).all()


def test_calibrators_are_refused():
    ptq, x = torch_tensorrt.ptq, torch.rand(2, 8)
    one = ptq.DataLoaderCalibrator(data(2))
    for given, precision, text in (
            (one, torch.half, "torch.int8"), ("file", torch.int8, "ptq"),
            (ptq.DataLoaderCalibrator([]), torch.int8, "no batch")):
        with pytest.raises(bessemer.InvalidArgumentError, match=text):
            torch_tensorrt.compile(net(), inputs=[x], calibrator=given,
                                   enabled_precisions={precision})
    with pytest.raises(bessemer.UnsupportedError, match="not calibrated"):
        torch_tensorrt.compile(net(), ir="torch_compile", calibrator=one,
                               enabled_precisions={torch.int8})
    with pytest.raises(bessemer.InvalidArgumentError, match="cache_file"):
        ptq.DataLoaderCalibrator(data(2), use_cache=True)
    with pytest.raises(bessemer.InvalidArgumentError, match="CalibrationAlgo"):
        ptq.CacheCalibrator("file", algo_type="entropy")


def test_unknown_arguments():
    with pytest.raises(TypeError, match="no_such_argument"):
        torch_tensorrt.compile(net(), inputs=[], no_such_argument=1)
    with pytest.raises(bessemer.UnsupportedError, match="ir="):
        torch_tensorrt.compile(net(), ir="fx", inputs=[])
    with pytest.raises(bessemer.InvalidArgumentError, match="arg_inputs"):
        torch_tensorrt.compile(net(), inputs=[], arg_inputs=[])


def test_inputs():
    ranged = torch_tensorrt.Input(min_shape=(1, 8), opt_shape=(2, 8),
                                  max_shape=(4, 8), dtype=torch.half)
    assert (ranged.min, ranged.opt, ranged.max) == ((1, 8), (2, 8), (4, 8))
    assert ranged.dtype == "float16"
    assert torch_tensorrt.Input(torch_tensor=torch.ones(2, 3)).min == (2, 3)
    for wrong in (dict(), dict(min_shape=(1,)),
                  dict(shape=(1,), min_shape=(1,), opt_shape=(1,),
                       max_shape=(1,))):
        with pytest.raises(bessemer.InvalidArgumentError):
            torch_tensorrt.Input(**wrong)
    for wrong in (dict(format=torch.channels_last), dict(tensor_domain=(0, 1)),
                  dict(name="x")):
        with pytest.raises(bessemer.UnsupportedError):
            torch_tensorrt.Input((1,), **wrong)


def test_devices():
    assert _tensorrt._target(None) is None
    assert _tensorrt._target("cpu") == "cpu"
    assert _tensorrt._target(torch.device("cuda")) == "cuda"
    assert _tensorrt._target(torch_tensorrt.Device("cuda:0")) == "cuda"
    assert _tensorrt._target(torch_tensorrt.Device(gpu_id=0)) == "cuda"
    with pytest.raises(bessemer.UnsupportedError, match="first GPU"):
        _tensorrt._target("cuda:1")
    with pytest.raises(bessemer.UnsupportedError, match="DLA"):
        torch_tensorrt.Device(dla_core=0)


def test_by_torch_compile():
    if not hasattr(torch, "compile"):
        pytest.skip("no torch.compile")
    model, x = net(), torch.rand(2, 8)
    fast = torch_tensorrt.compile(model, ir="torch_compile", min_block_size=1)
    with torch.no_grad():
        try:
            close(fast(x), model(x))
        except RuntimeError as error:
            pytest.skip(f"no torch.compile here: {error}")
    with pytest.raises(bessemer.UnsupportedError, match="inputs"):
        torch_tensorrt.compile(model, ir="torch_compile", inputs=[x])
