#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program of PyTorch whose model Bessemer runs, by torch.compile. What is
compiled, and what is not, is logged. Needs PyTorch 2."""
import logging

import torch
from torch import nn

logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
logging.getLogger("bessemer").setLevel(logging.INFO)

encoder = nn.TransformerEncoder(
    nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2).eval()
fast = torch.compile(encoder, backend="bessemer")
x = torch.rand(2, 10, 64)
with torch.no_grad():
    error = (fast(x) - encoder(x)).abs().max().item()
print(f"the greatest difference to PyTorch is {error:.1e}")
assert error < 1e-4
