# SPDX-License-Identifier: Apache-2.0
import logging
import os
from typing import (Any, Callable, Dict, Iterable, List, Mapping, NamedTuple,
                    Optional, Sequence, Tuple, Union)

_Path = Union[str, "os.PathLike[str]"]
_Bytes = Union[bytes, bytearray, memoryview]
_Shape = Union[int, Sequence[int]]
_Precisions = Union[None, str, Iterable[Any]]

__version__: str
logger: logging.Logger
DEFAULT: Any

class Error(RuntimeError):
    code: str

class InvalidArgumentError(Error, ValueError): ...
class OutOfMemoryError(Error, MemoryError): ...
class UnsupportedError(Error, NotImplementedError): ...
class CorruptError(Error, ValueError): ...
class LimitError(Error): ...
class IoError(Error, OSError): ...
class VersionError(Error): ...
class NotFoundError(Error, LookupError): ...
class OutOfRangeError(Error, IndexError): ...
class DataDependentError(Error): ...
class RaisedError(Error): ...
class InternalError(Error): ...
class DeviceError(Error): ...
class UntrustedError(Error, PermissionError): ...
class CancelledError(Error): ...

class Input:
    min: Tuple[int, ...]
    opt: Tuple[int, ...]
    max: Tuple[int, ...]
    dtype: str
    def __init__(self, min: _Shape, opt: Optional[_Shape] = ...,
                 max: Optional[_Shape] = ..., dtype: Any = ...) -> None: ...
    @property
    def is_fixed(self) -> bool: ...

class Constant:
    value: Any
    def __init__(self, value: Any) -> None: ...

class Binding(NamedTuple):
    name: str
    dtype: str
    shape: Optional[Tuple[int, ...]]
    space: str
    min: Optional[Tuple[int, ...]] = ...
    opt: Optional[Tuple[int, ...]] = ...
    max: Optional[Tuple[int, ...]] = ...

class Memory(NamedTuple):
    weights: int
    workspace: int
    scratch: int
    host_workspace: int
    host_scratch: int
    device_weights: int

class Step(NamedTuple):
    name: str
    kind: str
    tactic: str
    seconds: float
    runs: int
    least: float
    flops: float
    bytes: float

class Tensor(NamedTuple):
    name: str
    layers: str
    kind: str
    tactic: str
    step: Optional[int]
    array: Any

class Difference(NamedTuple):
    layer: str
    value: str
    kind: str
    source: str
    shape: Tuple[int, ...]
    error: float
    rms_error: float
    departs: bool
    expected: Any
    actual: Any

class Differences(List[Difference]):
    tolerance: float
    @property
    def first(self) -> Optional[Difference]: ...
    @property
    def worst(self) -> Optional[Difference]: ...

class Profile(List[Step]):
    @property
    def seconds(self) -> float: ...

class Operator(NamedTuple):
    schema: str
    count: int
    runs: str
    places: List[str]
    limits: List[str]
    why: str
    unsupported: int

class Support(NamedTuple):
    operators: List[Operator]
    failure: Optional[str]
    def __bool__(self) -> bool: ...
    @property
    def unsupported(self) -> List[Operator]: ...

class Engine:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def run_into(self, outputs: Sequence[Any], *args: Any,
                 **kwargs: Any) -> None: ...
    def seed(self, number: int) -> "Engine": ...
    def context(self, threads: Optional[int] = ..., max_run_bytes: int = ...,
                max_instructions: int = ...) -> Engine: ...
    def prepare(self) -> Engine: ...
    @property
    def inputs(self) -> List[Binding]: ...
    @property
    def outputs(self) -> List[Binding]: ...
    @property
    def parameters(self) -> List[str]: ...
    @property
    def metadata(self) -> Dict[str, str]: ...
    @property
    def target(self) -> str: ...
    @property
    def memory(self) -> Memory: ...
    def dump(self) -> str: ...
    def profile(self, *args: Any, iterations: int = ...,
                **kwargs: Any) -> Profile: ...
    def tensors(self, *args: Any, **kwargs: Any) -> List[Tensor]: ...
    def refit(self, model: Any, inputs: Any = ...,
              **options: Any) -> Engine: ...
    def save(self, path: _Path) -> None: ...
    def to_bytes(self) -> bytes: ...

def compile(model: Any, inputs: Any = ..., precision: _Precisions = ...,
            target: Optional[str] = ..., *,
            kwarg_inputs: Optional[Mapping[str, Any]] = ...,
            method: Optional[str] = ..., threads: int = ...,
            frontend: str = ..., timing: bool = ...,
            timing_cache: Optional[_Path] = ...,
            layer_precisions: Optional[Mapping[str, Any]] = ...,
            module_precisions: Optional[Mapping[str, Any]] = ...,
            obey_precisions: bool = ...,
            truncate_long_and_double: bool = ...,
            require_full_compilation: bool = ...,
            fallback_ops: Iterable[str] = ...,
            fallback_modules: Iterable[str] = ..., min_block_size: int = ...,
            state_as_output: bool = ...,
            model_name: Optional[str] = ...,
            reference: Optional[str] = ..., weight_only: Optional[str] = ...,
            weight_rows: int = ...,
            metadata: Optional[Mapping[str, str]] = ...,
            prefer_size: bool = ...,
            progress: Optional[Callable[[str, int, int], Any]] = ...,
            calibration: Union[None, Calibration, _Path] = ...,
            max_memory: int = ..., max_work: int = ...) -> Engine: ...

class CalibratedRange(NamedTuple):
    tensor: str
    low: float
    high: float
    least: float
    greatest: float

class CalibratedLayer(NamedTuple):
    name: str
    kind: str
    module: str
    input: str
    precision: str
    dynamic: bool
    operations: float
    sqnr: Optional[float]
    loss: Optional[float]

class Calibration:
    def save(self, path: _Path) -> None: ...
    def save_tensorrt(self, path: _Path) -> None: ...
    @property
    def ranges(self) -> List[CalibratedRange]: ...
    @property
    def layers(self) -> List[CalibratedLayer]: ...
    @property
    def calibrator(self) -> str: ...
    @property
    def batches(self) -> int: ...
    @property
    def loss(self) -> Optional[float]: ...

def calibrate(model: Any, data: Iterable[Any], inputs: Any = ..., *,
              kwarg_inputs: Optional[Mapping[str, Any]] = ...,
              method: Optional[str] = ..., frontend: str = ...,
              model_name: Optional[str] = ..., calibrator: str = ...,
              percentile: Optional[float] = ..., max_batches: int = ...,
              equalize: bool = ..., measure_layers: bool = ...,
              max_loss: float = ...,
              metric: Optional[Callable[[Engine], float]] = ...,
              dynamic_products: bool = ...,
              threads: int = ...) -> Calibration: ...
def load_calibration(path: _Path) -> Calibration: ...
def diff(expected: Any, actual: Any, *args: Any,
         tolerance: Optional[float] = ..., **kwargs: Any) -> Differences: ...
def record(module: Any, *args: Any, **kwargs: Any) -> Dict[str, Any]: ...
def check_support(model: Any, inputs: Any = ..., target: Optional[str] = ...,
                  *, kwarg_inputs: Optional[Mapping[str, Any]] = ...,
                  method: Optional[str] = ..., frontend: str = ...,
                  **options: Any) -> Support: ...
def load(source: Union[_Path, _Bytes], threads: int = ..., *,
         trust_code: bool = ...,
         public_keys: Iterable[Union[_Path, bytes]] = ..., device: int = ...,
         without_device: bool = ..., no_map: bool = ...) -> Engine: ...
def public_key(path: _Path) -> bytes: ...
def targets() -> List[str]: ...
def target_text(target: Optional[str] = ...) -> str: ...
