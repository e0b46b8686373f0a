# SPDX-License-Identifier: Apache-2.0
"""Trains the demo's model for int8: takes digits.ts, puts PyTorch's
fake-quantize around weights and activations, and trains on a little, so that
the weights get used to the rounding.

Writes digits_qat.ts beside this script. Batch norms are folded into the
convolutions first. Weights are symmetric with a scale for each output channel,
-127 to 127; activations have 8 bits without a sign, and the ranges that were
seen in training.

Needs torch, numpy and scikit-learn; the project itself needs none of them.
"""
import os
import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import relative_paths

HERE = os.path.dirname(os.path.abspath(__file__))
EPOCHS = 6


class Activation(nn.Module):
    """Rounds to 256 steps between the least and the greatest value so far."""

    def __init__(self):
        super().__init__()
        self.low = self.high = 0.0

    def forward(self, x):
        if self.training:
            keep = 0.9 if self.high > self.low else 0.0
            self.low = min(0.0, keep * self.low + (1 - keep) * x.min().item())
            self.high = max(0.0, keep * self.high + (1 - keep) * x.max().item())
        scale = (self.high - self.low) / 255
        zero = min(255, max(0, round(-self.low / scale)))
        return torch.fake_quantize_per_tensor_affine(x, scale, zero, 0, 255)


class Layer(nn.Module):
    """A convolution or product of quantized values and weights."""

    def __init__(self, weight, bias):
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(bias)
        self.input = Activation()
        self.register_buffer("zero", torch.zeros(len(weight), dtype=torch.int32))

    def forward(self, x):
        most = self.weight.detach().abs().flatten(1).amax(1)
        weight = torch.fake_quantize_per_channel_affine(
            self.weight, most / 127, self.zero, 0, -127, 127)
        x = self.input(x)
        if weight.dim() == 4:
            return F.conv2d(x, weight, self.bias, padding=1)
        return F.linear(x, weight, self.bias)


class DigitsQat(nn.Module):
    def __init__(self, state):
        super().__init__()
        self.convolutions = nn.ModuleList()
        for conv, norm in ((0, 1), (3, 4), (7, 8)):
            weight, bias = (state[f"features.{conv}.{k}"]
                            for k in ("weight", "bias"))
            gain, shift, mean, variance = (
                state[f"features.{norm}.{k}"]
                for k in ("weight", "bias", "running_mean", "running_var"))
            gain = gain / torch.sqrt(variance + 1e-5)
            self.convolutions.append(
                Layer(weight * gain.view(-1, 1, 1, 1),
                      (bias - mean) * gain + shift))
        self.products = nn.ModuleList(
            Layer(state[f"classifier.{i}.weight"], state[f"classifier.{i}.bias"])
            for i in (1, 4))

    def logits(self, x):
        x = F.relu(self.convolutions[0](x))
        x = F.max_pool2d(F.relu(self.convolutions[1](x)), 2)
        x = F.max_pool2d(F.relu(self.convolutions[2](x)), 2)
        return self.products[1](F.relu(self.products[0](x.flatten(1))))

    def forward(self, x):
        return torch.softmax(self.logits(x), dim=1)


def main():
    torch.manual_seed(0)
    data = load_digits()
    images = (data.images / 16.0).astype(np.float32)[:, None]
    x_train, x_test, y_train, y_test = train_test_split(
        images, data.target.astype(np.int64), test_size=360, random_state=0,
        stratify=data.target)
    x, y = torch.from_numpy(x_train), torch.from_numpy(y_train)
    traced = torch.jit.load(os.path.join(HERE, "digits.ts"))
    net = DigitsQat({k: v.clone() for k, v in traced.state_dict().items()})
    optimizer = torch.optim.AdamW(net.parameters(), 2e-4)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(x)).split(64):
            dy, dx = torch.randint(-1, 2, (2,)).tolist()
            optimizer.zero_grad()
            F.cross_entropy(net.logits(torch.roll(x[batch], (dy, dx), (2, 3))),
                            y[batch]).backward()
            optimizer.step()
    net.eval().requires_grad_(False)
    right = (net(torch.from_numpy(x_test)).argmax(1).numpy() == y_test).sum()
    print(f"{right} of {len(y_test)} test digits are right")
    torch.jit.trace(net, torch.from_numpy(x_test[:1])).save(
        os.path.join(HERE, "digits_qat.ts"))
    relative_paths.rewrite(os.path.join(HERE, "digits_qat.ts"))


if __name__ == "__main__":
    main()
