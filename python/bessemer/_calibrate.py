# SPDX-License-Identifier: Apache-2.0
"""Calibrating models on data, so that layers can compute in int8."""
import os
from typing import NamedTuple, Optional

from . import _compile, _core, _inputs
from ._engine import load
from ._errors import InvalidArgumentError

_CALIBRATORS = ("entropy", "min-max", "percentile", "mse")


class CalibratedRange(NamedTuple):
    """The range of a tensor: what is quantized, and what was seen."""
    tensor: str
    low: float
    high: float
    least: float
    greatest: float


class CalibratedLayer(NamedTuple):
    """A layer that int8 could compute. `precision` is what it will compute in;
    `sqnr` (the signal-to-noise ratio of its output in dB) and `loss` (the part
    of the model's outputs that is noise when it alone computes in int8) are None
    unless they were measured."""
    name: str
    kind: str
    module: str
    input: str
    precision: str
    dynamic: bool
    operations: float
    sqnr: Optional[float]
    loss: Optional[float]


def _measured(number):
    return None if number != number else number


class Calibration:
    """What a model's data tells of its ranges. `bessemer.calibrate` makes one,
    `bessemer.load_calibration` reads one; `compile(..., precision="int8",
    calibration=...)` uses it."""

    def __init__(self, core):
        self._core = core

    def save(self, path):
        """Writes a calibration file, complete or not at all."""
        self._core.save(os.fspath(path), False)

    def save_tensorrt(self, path):
        """Writes the ranges as a calibration cache of TensorRT."""
        self._core.save(os.fspath(path), True)

    @property
    def ranges(self):
        """The ranges of tensors: CalibratedRange."""
        return [CalibratedRange(*row) for row in self._core.ranges()]

    @property
    def layers(self):
        """The layers that int8 could compute: CalibratedLayer."""
        return [CalibratedLayer(*row[:7], _measured(row[7]), _measured(row[8]))
                for row in self._core.layers()]

    @property
    def calibrator(self):
        """How ranges followed from values: "entropy", ..."""
        return self._core.info()[0]

    @property
    def batches(self):
        """The number of batches that were seen."""
        return self._core.info()[1]

    @property
    def loss(self):
        """What int8 costs the model, as `max_loss` has it; None: it was not
        measured."""
        return _measured(self._core.info()[2])

    def __str__(self):
        rows = [f"{layer.precision:5} {layer.kind:16} "
                + layer.name + (f" in {layer.module}" if layer.module else "")
                for layer in self.layers]
        count = sum(layer.precision == "int8" for layer in self.layers)
        rows.append(f"{count} of {len(rows)} layers in int8, "
                    f"{self.batches} batches, {self.calibrator}")
        return "\n".join(rows)


def load_calibration(path):
    """Reads a calibration file, or a calibration cache of TensorRT."""
    return Calibration(_core.load_calibration(os.fspath(path)))


def core_of(calibration):
    """The extension's object of a Calibration or of the path of a file."""
    if calibration is None:
        return None
    if isinstance(calibration, Calibration):
        return calibration._core
    return load_calibration(calibration)._core


def _batches(data):
    """A function that gives the arrays of one batch after the other."""
    batches = iter(data)

    def give(names):
        for batch in batches:
            if isinstance(batch, dict):
                missing = [name for name in names if name not in batch]
                if missing:
                    raise InvalidArgumentError(
                        f"a batch has no array {missing[0]!r}; it has "
                        + ", ".join(map(repr, batch)))
                return [batch[name] for name in names]
            if not isinstance(batch, (tuple, list)):
                batch = [batch]
            if len(batch) != len(names):
                raise InvalidArgumentError(
                    f"a batch has {len(batch)} arrays, and the model takes "
                    f"{len(names)}: {', '.join(names)}")
            return list(batch)
        return None

    return give


def calibrate(model, data, inputs=None, *, kwarg_inputs=None, method=None,
              frontend="auto", model_name=None, calibrator="entropy",
              percentile=None, max_batches=0, equalize=False,
              measure_layers=False, max_loss=0.0, metric=None,
              dynamic_products=False, threads=0):
    """Runs a model on sample data, and gives a Calibration: the ranges that
    layers compute in int8 with. Models and inputs are those of `compile`; shapes
    are fixed.

    data        an iterable of batches: the array or tensor of the only input, a
                sequence with one for each input, or a dict by the inputs' names.
                It is read once, one batch after the other

    calibrator          how a range follows from the values: "entropy",
                        "min-max", "percentile" or "mse"
    percentile          of values that are not clipped, for "percentile"; None:
                        99.99
    max_batches         no more are read; 0: all
    equalize            scale channels between convolutions so that their
                        weights have equal ranges
    measure_layers      measure what each layer costs
    max_loss            leave as few layers in float32 as it takes to lose no
                        more: of the outputs, the part that is noise, or, with
                        `metric`, how much less that gives than in float32
    metric              metric(engine) gives how good an Engine is: the more the
                        better
    dynamic_products    products find the range of their input when they run

    A calibration of a file fits that file alone; one of a module fits whatever
    has tensors of the same names.
    """
    if calibrator not in _CALIBRATORS:
        raise InvalidArgumentError(f"{calibrator!r} is no calibrator; there are "
                                   + ", ".join(_CALIBRATORS))
    arguments = _inputs.split(inputs, kwarg_inputs)
    options = dict(_compile.plain_options(), method=method, threads=threads)
    given = _batches(data)
    measure = metric and (lambda engine: float(metric(load(engine, threads))))

    def use(module):
        return module.calibrate(
            given, measure or None, _CALIBRATORS.index(calibrator),
            percentile or 0.0, max_batches, equalize, measure_layers, max_loss,
            dynamic_products, inputs=_inputs.specs(arguments), **options)

    core = _compile.with_module(model, arguments, frontend, False, model_name,
                                use)
    if not isinstance(model, (str, os.PathLike, bytes, bytearray, memoryview)):
        core.untie()  # its bytes are others each time that it is saved
    return Calibration(core)
