# SPDX-License-Identifier: Apache-2.0
"""Trains LeNet-5 on scikit-learn's scans of handwritten digits, which are made
as large as LeNet wants them, 28 x 28 pixels (docs/walkthroughs.md).

Writes beside this script:
  lenet.ts         the trained network, scripted
  lenet.pt2        the same by torch.export, for batches of 1 to 32
  digits/*.pgm     a few scans that it was not trained on, as pictures
  batch.npy        seven of them as an array, float32 [7, 1, 28, 28]
  expected.npz     these, and what PyTorch computes for them

Needs torch, numpy and scikit-learn.
"""
import os
import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
import relative_paths


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc3(torch.relu(self.fc2(x)))


def images():
    """Scans of 8 x 8 pixels as 28 x 28 bytes, and their digits."""
    data = load_digits()
    x = torch.from_numpy(data.images.astype(np.float32))[:, None] / 16
    x = nn.functional.interpolate(x, (28, 28), mode="bilinear")
    # Pictures have bytes, so the network is trained on what bytes can say.
    x = torch.round(x * 255).to(torch.uint8)
    return train_test_split(x.numpy(), data.target.astype(np.int64),
                            test_size=360, random_state=0, stratify=data.target)


def train(net, x, y):
    optimizer = torch.optim.AdamW(net.parameters(), 2e-3, weight_decay=1e-2)
    for _ in range(25):
        for batch in torch.randperm(len(x)).split(64):
            shift = torch.randint(-2, 3, (2,)).tolist()
            optimizer.zero_grad()
            scores = net(torch.roll(x[batch], shift, (2, 3)))
            nn.functional.cross_entropy(scores, y[batch]).backward()
            optimizer.step()
    return net.eval().requires_grad_(False)


def write_pgm(path, image):
    with open(path, "wb") as file:
        file.write(b"P5\n28 28\n255\n" + image.tobytes())


def main():
    torch.manual_seed(0)
    x_train, x_test, y_train, y_test = images()
    net = train(LeNet(), torch.from_numpy(x_train) / 255.0, torch.from_numpy(y_train))
    x = torch.from_numpy(x_test) / 255.0
    right = (net(x).argmax(1).numpy() == y_test).sum()
    print(f"{right} of {len(y_test)} test digits are right")

    torch.jit.script(net).save(os.path.join(HERE, "lenet.ts"))
    batch = torch.export.Dim("batch", min=1, max=32)
    program = torch.export.export(net, (x[:4].clone(),), dynamic_shapes=({0: batch},))
    torch.export.save(program, os.path.join(HERE, "lenet.pt2"))
    for name in ("lenet.ts", "lenet.pt2"):
        relative_paths.rewrite(os.path.join(HERE, name))

    os.makedirs(os.path.join(HERE, "digits"), exist_ok=True)
    for digit in (3, 4, 7):
        first = int(np.flatnonzero(y_test == digit)[0])
        write_pgm(os.path.join(HERE, "digits", f"{digit}.pgm"), x_test[first, 0])
    np.save(os.path.join(HERE, "batch.npy"), x[:7].numpy())
    np.savez(os.path.join(HERE, "expected.npz"), in_0=x[:7].numpy(), out_0=net(x[:7]).numpy())


if __name__ == "__main__":
    main()
