#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of int8 on real data: trains small networks of four kinds on
scikit-learn's scans of handwritten digits, calibrates and compiles them, and
compares the answers on scans that were held back.

  quantized_accuracy.py BESSEMER [--models resnet,depthwise,...] [--keep DIR]

Calibration data is a part of the training data. Prints a table in Markdown:
right answers in float32 and in int8, by calibrator, and the signal-to-noise
ratio of the scores. Exits with 1 when the best calibrator loses more than half
a point. Needs torch, numpy and scikit-learn."""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional as F

HELD_BACK = 700
CALIBRATION = 256
MOST_LOST = 0.5  # points
CALIBRATORS = {
    "entropy": ["--calibrator", "entropy"],
    "min-max": ["--calibrator", "min-max"],
    "percentile": ["--calibrator", "percentile"],
    "mse": ["--calibrator", "mse"],
    "min-max, equalized": ["--calibrator", "min-max", "--equalize"],
    "dynamic products": ["--calibrator", "min-max", "--dynamic-products"],
}


# ---- networks, each of images [N, 1, 8, 8] ----


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.short = None
        if stride > 1 or inputs != outputs:
            self.short = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        return F.relu(y + (x if self.short is None else self.short(x)))


def resnet():
    return nn.Sequential(
        nn.Upsample(scale_factor=2), nn.Conv2d(1, 16, 3, 1, 1, bias=False),
        nn.BatchNorm2d(16), nn.ReLU(), Block(16, 16, 1), Block(16, 32, 2),
        Block(32, 32, 1), Block(32, 64, 2), Block(64, 64, 1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def depthwise():
    def conv(inputs, outputs, kernel, stride=1, groups=1, act=nn.ReLU6):
        return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2,
                          groups=groups, bias=False),
                nn.BatchNorm2d(outputs), act()]

    layers = [nn.Upsample(scale_factor=2), *conv(1, 16, 3)]
    for inputs, outputs, stride in ((16, 24, 1), (24, 32, 2), (32, 48, 1),
                                    (48, 64, 2), (64, 64, 1)):
        layers += [*conv(inputs, 3 * inputs, 1),
                   *conv(3 * inputs, 3 * inputs, 3, stride, 3 * inputs),
                   *conv(3 * inputs, outputs, 1, act=nn.Identity)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(64, 10))


class Transformer(nn.Module):
    """Tokens are patches of 2 x 2 pixels."""

    def __init__(self, width=48, heads=4, depth=3):
        super().__init__()
        self.embed = nn.Conv2d(1, width, 2, 2)
        self.place = nn.Parameter(torch.randn(1, 16, width) * 0.02)
        self.heads = heads
        self.blocks = nn.ModuleList(
            nn.ModuleDict({
                "norm1": nn.LayerNorm(width), "norm2": nn.LayerNorm(width),
                "qkv": nn.Linear(width, 3 * width),
                "out": nn.Linear(width, width),
                "up": nn.Linear(width, 4 * width),
                "down": nn.Linear(4 * width, width)
            }) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2) + self.place
        n, tokens, width = x.shape
        for b in self.blocks:
            q, k, v = b["qkv"](b["norm1"](x)).reshape(
                n, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
            y = F.scaled_dot_product_attention(q, k, v)
            x = x + b["out"](y.transpose(1, 2).reshape(n, tokens, width))
            x = x + b["down"](F.gelu(b["up"](b["norm2"](x))))
        return self.head(self.norm(x).mean(1))


class Rows(nn.Module):
    """A recurrent network over the rows of the image."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(8, 32)
        self.lstm = nn.LSTM(32, 64, num_layers=2, batch_first=True)
        self.hidden = nn.Linear(64, 64)
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        y, _ = self.lstm(F.relu(self.embed(x.squeeze(1))))
        return self.head(F.relu(self.hidden(y[:, -1])))


MODELS = {"resnet": (resnet, 12), "depthwise": (depthwise, 20),
          "transformer": (Transformer, 150), "lstm": (Rows, 40)}


# ---- training ----


def data():
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[:, None]
    return train_test_split(images, digits.target.astype(np.int64),
                            test_size=HELD_BACK, random_state=0,
                            stratify=digits.target)


def train(make, epochs, images, labels):
    torch.manual_seed(0)
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    net = make()
    optimizer = torch.optim.AdamW(net.parameters(), 3e-3, weight_decay=1e-2)
    steps = epochs * ((len(x) + 63) // 64)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, steps)
    for _ in range(epochs):
        for batch in torch.randperm(len(x)).split(64):
            dy, dx = torch.randint(-1, 2, (2,)).tolist()
            shifted = torch.roll(x[batch], (dy, dx), (2, 3))
            optimizer.zero_grad()
            F.cross_entropy(net(shifted), y[batch]).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    return net.eval().requires_grad_(False)


# ---- measuring ----


def run(bessemer, *arguments):
    done = subprocess.run([bessemer, *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")
    return done.stdout


def scores(bessemer, engine, images):
    run(bessemer, "run", engine, "--input", images, "--output", "scores.npy")
    return np.load("scores.npy")


def measure(bessemer, name, split):
    train_images, images, train_labels, labels = split
    if not os.path.exists(f"{name}.ts"):
        net = train(*MODELS[name], train_images, train_labels)
        torch.jit.trace(net, torch.from_numpy(images)).save(f"{name}.ts")
    net = torch.jit.load(f"{name}.ts")
    np.save("images.npy", images)
    np.save("calibration.npy", train_images[:CALIBRATION])
    shape = "(%d,1,8,8)" % CALIBRATION
    run(bessemer, "compile", f"{name}.ts", "-o", "plain.bsm", "--no-timing")
    plain = scores(bessemer, "plain.bsm", "images.npy")
    expected = net(torch.from_numpy(images)).numpy()
    if np.abs(plain - expected).max() > 1e-3 * np.abs(expected).max():
        sys.exit(f"{name}: float32 is not PyTorch's")
    right = 100 * (plain.argmax(1) == labels).mean()
    best = None
    for calibrator, arguments in CALIBRATORS.items():
        told = run(bessemer, "calibrate", f"{name}.ts", shape, "--data",
                   "calibration.npy", "-o", "model.calib", *arguments)
        run(bessemer, "compile", f"{name}.ts", "-o", "int8.bsm", "--no-timing",
            "--precision", "int8", "--calibration", "model.calib")
        narrow = scores(bessemer, "int8.bsm", "images.npy")
        lost = right - 100 * (narrow.argmax(1) == labels).mean()
        noise = ((narrow - plain)**2).sum() / (plain**2).sum()
        share = told.strip().splitlines()[-1].split("with ")[1].split(" of")[0]
        print(f"| {name} | {share} | {right:.2f} % | {calibrator} | "
              f"{right - lost:.2f} % | {-lost:+.2f} | "
              f"{-10 * np.log10(noise):.1f} dB |", flush=True)
        best = lost if best is None else min(best, lost)
    return best <= MOST_LOST


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bessemer")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--keep", help="where models and engines are left, and "
                        "trained models of an earlier run are found")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    bessemer = os.path.abspath(arguments.bessemer)
    torch.set_num_threads(arguments.threads)
    split = data()
    print("| network | in int8 | float32 | calibrator | int8 | points | SQNR |")
    print("|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as work:
        if arguments.keep:
            os.makedirs(arguments.keep, exist_ok=True)
        os.chdir(arguments.keep or work)
        good = [measure(bessemer, name, split)
                for name in arguments.models.split(",")]
        os.chdir("/")
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
