# SPDX-License-Identifier: Apache-2.0
import enum
import os
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

import bessemer

_Path = Union[str, "os.PathLike[str]"]

class CalibrationAlgo(enum.Enum):
    ENTROPY_CALIBRATION = ...
    ENTROPY_CALIBRATION_2 = ...
    LEGACY_CALIBRATION = ...
    MINMAX_CALIBRATION = ...
    @property
    def calibrator(self) -> str: ...

class DataLoaderCalibrator:
    device: Any
    def __init__(self, dataloader: Iterable[Any], cache_file: _Path = ...,
                 use_cache: bool = ..., algo_type: CalibrationAlgo = ...,
                 device: Any = ...) -> None: ...
    def calibration(self, module: Any, inputs: Optional[Sequence[Any]],
                    kwarg_inputs: Optional[Mapping[str, Any]],
                    frontend: str) -> bessemer.Calibration: ...

class CacheCalibrator:
    def __init__(self, cache_file: _Path,
                 algo_type: CalibrationAlgo = ...) -> None: ...
    def calibration(self, module: Any, inputs: Optional[Sequence[Any]],
                    kwarg_inputs: Optional[Mapping[str, Any]],
                    frontend: str) -> bessemer.Calibration: ...
