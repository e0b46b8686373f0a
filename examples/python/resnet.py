#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles torchvision's resnet18 and compares it with PyTorch.
Needs PyTorch and torchvision."""
import torch
import torchvision

import bessemer

model = torchvision.models.resnet18().eval()
x = torch.rand(1, 3, 224, 224)
engine = bessemer.compile(model, inputs=[x])
with torch.no_grad():
    error = (engine(x) - model(x)).abs().max().item()
print(f"the greatest difference to PyTorch is {error:.1e}")
assert error < 1e-4
