# SPDX-License-Identifier: Apache-2.0
"""Trains the demo's model: a small convolutional network on scikit-learn's
1,797 scans of handwritten digits (load_digits, 8 x 8 pixels, 16 grey levels).

Writes beside this script:
  digits.ts            the trained network, traced with a batch of one
  digits_images.npy    held-back test images, float32 [360, 1, 8, 8] in 0 .. 1
  digits_labels.npy    their digits, int64 [360]

Needs torch, numpy and scikit-learn; the project itself needs none of them.
"""
import os
import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import relative_paths

HERE = os.path.dirname(os.path.abspath(__file__))


class DigitsNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU(),
            nn.MaxPool2d(2))
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(48 * 4, 64), nn.ReLU(), nn.Dropout(0.3),
            nn.Linear(64, 10))

    def forward(self, x):
        return torch.softmax(self.classifier(self.features(x)), dim=1)


def augment(x):
    """Shifts each image by at most one pixel."""
    dy, dx = torch.randint(-1, 2, (2,)).tolist()
    return torch.roll(x, (dy, dx), (2, 3))


def main():
    torch.manual_seed(0)
    data = load_digits()
    images = (data.images / 16.0).astype(np.float32)[:, None]
    x_train, x_test, y_train, y_test = train_test_split(
        images, data.target.astype(np.int64), test_size=360, random_state=0,
        stratify=data.target)
    x, y = torch.from_numpy(x_train), torch.from_numpy(y_train)
    net = DigitsNet()
    epochs = 60
    optimizer = torch.optim.AdamW(net.parameters(), 3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        net.train()
        for batch in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            logits = net.classifier(net.features(augment(x[batch])))
            nn.functional.cross_entropy(logits, y[batch]).backward()
            optimizer.step()
        schedule.step()
    net.eval().requires_grad_(False)
    right = (net(torch.from_numpy(x_test)).argmax(1).numpy() == y_test).sum()
    print(f"{right} of {len(y_test)} test digits are right")
    traced = torch.jit.trace(net, torch.from_numpy(x_test[:1]))
    traced.save(os.path.join(HERE, "digits.ts"))
    relative_paths.rewrite(os.path.join(HERE, "digits.ts"))
    np.save(os.path.join(HERE, "digits_images.npy"), x_test)
    np.save(os.path.join(HERE, "digits_labels.npy"), y_test)


if __name__ == "__main__":
    main()
