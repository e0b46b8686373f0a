#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/plugin/: a scripted model with an operator of a user's.

The operator is what examples/plugin/swish_clamp.c has; here it is defined with
torch.library, so that PyTorch gives the expected output.
"""
import io
import os

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
library = torch.library.Library("demo", "DEF")
library.define("swish_clamp(Tensor x, float limit=6.0) -> Tensor")


def swish_clamp(x, limit=6.0):
    return torch.clamp(x * torch.sigmoid(x), max=limit)


library.impl("swish_clamp", swish_clamp, "CPU")


class Model(torch.nn.Module):

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.linear = torch.nn.Linear(4, 5)

    def forward(self, x):
        x = torch.ops.demo.swish_clamp(self.conv(x), 0.25)
        # Transposed, so that the operator's input is not contiguous.
        x = torch.ops.demo.swish_clamp(x.transpose(2, 3))
        return self.linear(x.mean([2, 3]))


def save(scripted, path):
    """Without the debug information, which names files of this machine."""
    reader = torch._C.PyTorchFileReader(
        io.BytesIO(scripted.save_to_buffer()))
    writer = torch._C.PyTorchFileWriter(path)
    for name in reader.get_all_records():
        if name.endswith(".debug_pkl") or name in ("version", "byteorder",
                                                   ".data/serialization_id"):
            continue
        data = reader.get_record(name)
        writer.write_record(name, data, len(data))
    writer.write_end_of_file()


def main():
    folder = os.path.join(HERE, "plugin")
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(0)
    model = Model().eval()
    x = torch.randn(2, 3, 6, 5) * 3
    with torch.no_grad():
        scripted = torch.jit.script(model)
        expected = scripted(x)
    save(scripted, os.path.join(folder, "swish_model.ts"))
    np.save(os.path.join(folder, "swish_x.npy"), x.numpy())
    np.save(os.path.join(folder, "swish_y.npy"), expected.numpy())


if __name__ == "__main__":
    main()
