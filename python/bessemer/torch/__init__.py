# SPDX-License-Identifier: Apache-2.0
"""Bessemer in programs of PyTorch.

    model = torch.compile(model, backend="bessemer")

    import bessemer.torch as torch_tensorrt   # scripts for Torch-TensorRT
    model = torch_tensorrt.compile(model, inputs=[x], enabled_precisions={torch.half})
"""
from . import ptq
from ._backend import backend
from ._tensorrt import Device, EngineModule, Input, compile, load, save

__all__ = ["Device", "EngineModule", "Input", "backend", "compile", "load",
           "save"]
