# SPDX-License-Identifier: Apache-2.0
import os
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

import torch

import bessemer
from . import ptq as ptq

_Path = Union[str, "os.PathLike[str]"]

class Input(bessemer.Input):
    def __init__(self, shape: Optional[Sequence[int]] = ..., *,
                 min_shape: Optional[Sequence[int]] = ...,
                 opt_shape: Optional[Sequence[int]] = ...,
                 max_shape: Optional[Sequence[int]] = ...,
                 dtype: Any = ..., format: Any = ...,
                 tensor_domain: None = ..., name: Optional[str] = ...,
                 torch_tensor: Optional[torch.Tensor] = ...) -> None: ...

class Device:
    kind: str
    gpu_id: int
    def __init__(self, spec: Optional[str] = ..., *, gpu_id: int = ...,
                 dla_core: int = ...,
                 allow_gpu_fallback: bool = ...) -> None: ...

class EngineModule(torch.nn.Module):
    engine: bessemer.Engine
    def __init__(self, engine: bessemer.Engine) -> None: ...
    def forward(self, *args: Any, **kwargs: Any) -> Any: ...

def backend(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any],
            *, mode: Optional[str] = ...,
            options: Optional[Mapping[str, Any]] = ...) -> Any: ...
def compile(module: Any, ir: str = ..., inputs: Optional[Sequence[Any]] = ...,
            *, arg_inputs: Optional[Sequence[Any]] = ...,
            kwarg_inputs: Optional[Mapping[str, Any]] = ...,
            enabled_precisions: Optional[Iterable[Any]] = ...,
            device: Any = ..., disable_tf32: Optional[bool] = ...,
            truncate_long_and_double: bool = ..., truncate_double: bool = ...,
            require_full_compilation: bool = ...,
            min_block_size: Optional[int] = ...,
            torch_executed_ops: Iterable[Any] = ...,
            torch_executed_modules: Iterable[Any] = ...,
            pass_through_build_failures: bool = ...,
            timing_cache_path: Optional[_Path] = ...,
            calibrator: Union[None, ptq.DataLoaderCalibrator,
                              ptq.CacheCalibrator] = ...,
            **others: Any) -> torch.nn.Module: ...
def save(module: EngineModule, path: _Path) -> None: ...
def load(path: Union[_Path, bytes], **options: Any) -> EngineModule: ...
