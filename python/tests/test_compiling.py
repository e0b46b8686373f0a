# SPDX-License-Identifier: Apache-2.0
"""What compile and check_support are told, and what they tell: options,
failures, messages."""
import logging
import sys

import numpy as np
import pytest

import bessemer
from bessemer import Input

RELU = b"graph(%x : Float(2, 2)):\n  %y : Float(2, 2) = aten::relu(%x)\n" \
       b"  return (%y)\n"


def test_inputs():
    fixed = Input((1, 3), dtype=np.float16)
    assert fixed.min == fixed.opt == fixed.max == (1, 3)
    assert fixed.dtype == "float16" and fixed.is_fixed
    ranged = Input(min=(1, 2), opt=(2, 2), max=(3, 2), dtype="int64")
    assert not ranged.is_fixed
    assert Input(min=(1,), max=(3,)).opt == (3,)
    assert Input(5).min == (5,)
    assert eval(repr(ranged)) == ranged and hash(fixed) != hash(ranged)
    assert "int64" in repr(ranged)
    for wrong in (dict(min=(2,), max=(1,)), dict(min=(1,), max=(1, 2)),
                  dict(min=(1,), opt=(4,), max=(3,)), dict(min=(-1,))):
        with pytest.raises(ValueError):
            Input(**wrong)
    with pytest.raises(TypeError, match="float99"):
        Input((1,), dtype="float99")


def test_kinds_of_failures(tmp_path, engine):
    with pytest.raises(bessemer.IoError) as raised:
        bessemer.compile("/no/such/model.ts")
    assert isinstance(raised.value, OSError)
    assert raised.value.code == "IO" and "/no/such" in str(raised.value)
    with pytest.raises(bessemer.CorruptError, match="neither"):
        bessemer.compile(b"not a model at all")
    with pytest.raises(bessemer.CorruptError):
        bessemer.load(b"not an engine")
    damaged = bytearray(engine.to_bytes())
    damaged[-1] ^= 1
    with pytest.raises(bessemer.CorruptError, match="checksum"):
        bessemer.load(damaged)
    with pytest.raises(bessemer.IoError):
        engine.save(tmp_path / "no" / "such" / "folder.bsm")
    with pytest.raises(bessemer.InvalidArgumentError, match="z"):
        bessemer.compile(RELU, inputs={"z": Input((2, 2))})
    with pytest.raises(bessemer.InvalidArgumentError, match="target"):
        bessemer.compile(RELU, target="abacus")
    with pytest.raises(bessemer.NotFoundError):
        bessemer.compile(RELU, method="backward")
    with pytest.raises(bessemer.InvalidArgumentError, match="precision"):
        bessemer.compile(RELU, precision="fp7")
    with pytest.raises(TypeError, match="no model"):
        bessemer.compile(7)
    with pytest.raises(TypeError, match="cannot be given as a object"):
        bessemer.compile(RELU, inputs=[object()])
    classes = [getattr(bessemer, name) for name in bessemer.__all__
               if name.endswith("Error")]
    assert all(issubclass(one, bessemer.Error) for one in classes)
    codes = {one.code for one in classes}
    assert len(codes) == len(classes) == 16


def test_loops_are_stopped(data):
    engine = bessemer.compile(
        data / "results" / "results.ts", method="integers",
        inputs=[Input((2,), dtype="int64")], timing=False)
    limited = engine.context(max_instructions=10)
    x = np.array([30, 31])
    assert len(engine(x)) > 10
    with pytest.raises(bessemer.LimitError):
        limited(x)


def test_weight_only():
    with pytest.raises(ValueError, match="int4:128"):
        bessemer.compile(RELU, weight_only="int2")
    with pytest.raises(bessemer.InvalidArgumentError, match="rows"):
        bessemer.compile(RELU, weight_only="int4:64", weight_rows=-1)
    text = b"""graph(%x : Tensor, %w : Tensor):
  %y : Tensor = aten::matmul(%x, %w)
  return (%y)
"""
    weights = np.random.default_rng(0).standard_normal((256, 256))
    weights = weights.astype(np.float32)
    x = np.linspace(-1, 1, 512, dtype=np.float32).reshape(2, 256)
    inputs = [bessemer.Input((2, 256)), bessemer.Constant(weights)]
    sizes = {}
    for name, least in ((None, 100), ("int8", 35), ("int4:64", 15)):
        engine = bessemer.compile(text, inputs, weight_only=name, timing=False)
        noise = engine(x) - x @ weights
        signal = np.linalg.norm(x @ weights)
        assert 20 * np.log10(signal / np.linalg.norm(noise)) > least
        sizes[name] = len(engine.to_bytes())
    assert sizes[None] > 3.5 * sizes["int8"] > 6.5 * sizes["int4:64"]


def test_precisions():
    x = np.array([[-1, 2], [3, -4]], np.float32)
    for precision in ("fp32", ["fp32"], {"float32"}, "fp32+tf32", "all", None):
        made = bessemer.compile(RELU, precision=precision, timing=False)(x)
        assert (made == np.maximum(x, 0)).all()
    with pytest.raises(bessemer.InvalidArgumentError, match="no layer"):
        bessemer.compile(RELU, layer_precisions={"nothing*": "fp32"},
                         timing=False)


def test_fixed_and_constant_arguments():
    text = b"""graph(%x : Float(2), %k : int, %w : Float(2)):
  %one : int = prim::Constant[value=1]()
  %a : Float(2) = aten::mul(%x, %w)
  %y : Float(2) = aten::add(%a, %k, %one)
  return (%y)
"""
    x, w = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    engine = bessemer.compile(text, inputs=[x, 5, bessemer.Constant(w)],
                              timing=False)
    assert (engine(x) == x * w + 5).all()
    assert (engine(x, 5) == x * w + 5).all()
    with pytest.raises(ValueError, match="k was 5"):
        engine(x, 6)
    with pytest.raises(ValueError, match="folded"):
        engine(x, 5, w)


def test_check_support(digits):
    support = bessemer.check_support(digits)
    assert support and support.failure is None
    assert {o.runs for o in support.operators} == {"layers"}
    assert not support.unsupported and "the model compiles" in str(support)
    unknown = b"graph(%x : Float(2, 2)):\n" \
              b"  %y : Tensor = strange::thing(%x)\n  return (%y)\n"
    support = bessemer.check_support(unknown)
    assert not support and "strange::thing" in support.failure
    assert not bessemer.check_support("/no/such/model.ts")
    with pytest.raises(TypeError, match="speed"):
        bessemer.check_support(digits, speed=3)


def test_require_full_compilation():
    text = b"graph(%x : Float(2, 2)):\n" \
           b"  %y : Float(2, 2) = aten::erfinv(%x)\n  return (%y)\n"
    bessemer.compile(text, timing=False)
    with pytest.raises(bessemer.UnsupportedError, match="erfinv"):
        bessemer.compile(text, timing=False, require_full_compilation=True)


def test_logging(caplog, digits):
    with caplog.at_level(logging.DEBUG, "bessemer"):
        bessemer.compile(digits, timing=False)
    assert caplog.records
    assert {r.name for r in caplog.records} == {"bessemer"}
    assert {r.levelno for r in caplog.records} <= {10, 20}
    caplog.clear()
    with caplog.at_level(logging.WARNING, "bessemer"):
        bessemer.compile(digits, timing=False)
    assert not caplog.records


def test_a_handler_that_raises_is_no_failure(digits, monkeypatch):
    class Broken(logging.Handler):
        def emit(self, record):
            raise RuntimeError("a handler")

    seen = []
    monkeypatch.setattr(sys, "unraisablehook",
                        lambda args: seen.append(str(args.exc_value)))
    handler, level = Broken(), bessemer.logger.level
    bessemer.logger.addHandler(handler)
    bessemer.logger.setLevel(logging.DEBUG)
    try:
        bessemer.compile(digits, timing=False)
    finally:
        bessemer.logger.removeHandler(handler)
        bessemer.logger.setLevel(level)
    assert set(seen) == {"a handler"}


def test_timing_cache(digits, tmp_path):
    cache = tmp_path / "timings"
    bessemer.compile(digits, timing_cache=cache, threads=1)
    assert cache.stat().st_size > 0


def test_models_in_training_need_no_torch():
    import subprocess
    code = "import sys, bessemer; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_progress_is_told_and_cancels(digits):
    phases = []

    def note(phase, done, total):
        assert total == 0 or done <= total
        if not phases or phases[-1] != phase:
            phases.append(phase)

    bessemer.compile(digits, timing=False, progress=note)
    assert phases == ["lowering", "converting", "tactics", "weights"]
    with pytest.raises(bessemer.CancelledError) as caught:
        bessemer.compile(digits, timing=False,
                         progress=lambda phase, *_: phase != "tactics")
    assert caught.value.code == "CANCELLED"

    def fail(*_):
        raise KeyError("the progress function's own")

    with pytest.raises(KeyError, match="own"):
        bessemer.compile(digits, timing=False, progress=fail)
    with pytest.raises(KeyError, match="own"):
        bessemer.compile(digits, timing=False, progress=lambda phase, *_:
                         fail() if phase == "weights" else None)


def test_metadata_of_ones_own(digits, tmp_path):
    engine = bessemer.compile(digits, timing=False, prefer_size=True,
                              metadata={"licence": "none"})
    engine.save(tmp_path / "noted.bsm")
    metadata = bessemer.load(tmp_path / "noted.bsm").metadata
    assert metadata["licence"] == "none"
    assert metadata["options.prefer_size"] == "yes"
    with pytest.raises(bessemer.InvalidArgumentError, match="compiler's"):
        bessemer.compile(digits, metadata={"builder.version": "mine"})


def test_limits(digits):
    with pytest.raises(bessemer.LimitError, match="max_memory_bytes"):
        bessemer.compile(digits, timing=False, max_memory=100_000)
    bessemer.compile(digits, timing=False, max_memory=1 << 30,
                     max_work=1 << 30)


def test_misspelt_arguments(engine, images):
    name = engine.parameters[0]
    with pytest.raises(TypeError, match=f"perhaps '{name}'"):
        engine(**{name + "s": images[:1]})
