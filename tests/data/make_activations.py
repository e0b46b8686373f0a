# SPDX-License-Identifier: Apache-2.0
"""Writes tools/digits_activations.npz: what the submodules of the digits network
compute, as PyTorch's hooks see it, for tests of `bessemer diff`.

Needs torch and numpy. The network's weights are those of
examples/digits/digits.ts; arrays are named by the paths of the submodules, and
the input is x.
"""
import os

import numpy as np
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
DIGITS = os.path.join(HERE, "..", "..", "examples", "digits")


def network():
    """As examples/digits/make_digits.py has it, which needs scikit-learn."""
    net = nn.Module()
    net.features = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU(),
        nn.MaxPool2d(2))
    net.classifier = nn.Sequential(
        nn.Flatten(), nn.Linear(48 * 4, 64), nn.ReLU(), nn.Dropout(0.3),
        nn.Linear(64, 10))
    return net.eval().requires_grad_(False)


def main():
    torch.set_num_threads(1)
    net = network()
    trained = torch.jit.load(os.path.join(DIGITS, "digits.ts"))
    net.load_state_dict(trained.state_dict())
    x = np.load(os.path.join(DIGITS, "digits_images.npy"))[:1]
    arrays = {"x": x}
    for name, module in net.named_modules():
        if list(module.children()):
            continue
        module.register_forward_hook(
            lambda m, i, o, name=name: arrays.__setitem__(name, o.numpy()))
    y = torch.softmax(net.classifier(net.features(torch.from_numpy(x))), 1)
    assert torch.allclose(y, trained(torch.from_numpy(x)), atol=1e-6)
    arrays["output_0"] = y.numpy()
    np.savez_compressed(os.path.join(HERE, "tools", "digits_activations.npz"),
                        **arrays)


if __name__ == "__main__":
    main()
