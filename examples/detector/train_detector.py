# SPDX-License-Identifier: Apache-2.0
"""Trains a small single-shot detector on pictures that it draws itself: discs,
squares and triangles on a rough background (docs/walkthroughs.md). It works as
SSD does: anchors of several sizes on two grids, scores and offsets for each,
and non-maximum suppression within each class, all of it in the model.

Writes beside this script:
  detector.ts      the trained detector, scripted
  picture.ppm      a picture that it was not trained on, 96 x 96 pixels
  expected.txt     what PyTorch finds there

Needs torch, torchvision and numpy.
"""
import os
import sys

import numpy as np
import torch
import torchvision
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
import relative_paths

SIZE = 96
NAMES = ("disc", "square", "triangle")
GRIDS = ((12, (14.0, 20.0)), (6, (28.0, 40.0)))  # cells, sizes of anchors


def draw(rng):
    """A picture [3, SIZE, SIZE], and boxes and classes of what is on it."""
    y, x = np.mgrid[:SIZE, :SIZE]
    picture = rng.uniform(40, 90, (3, 1, 1)) + rng.normal(0, 12, (3, SIZE, SIZE))
    boxes, kinds = [], []
    for _ in range(rng.integers(2, 5)):
        r = rng.uniform(7, 20)
        cx, cy = rng.uniform(r, SIZE - r, 2)
        box = [cx - r, cy - r, cx + r, cy + r]
        if any(min(box[2], b[2]) > max(box[0], b[0]) and
               min(box[3], b[3]) > max(box[1], b[1]) for b in boxes):
            continue
        kind = int(rng.integers(3))
        dx, dy = np.abs(x - cx), y - cy
        inside = (dx ** 2 + dy ** 2 < r * r, (dx < r) & (np.abs(dy) < r),
                  (np.abs(dy) < r) & (dx < (dy + r) / 2))[kind]
        colour = rng.uniform(120, 255, (3, 1))
        picture[:, inside] = colour + rng.normal(0, 8, (3, int(inside.sum())))
        boxes.append(box)
        kinds.append(kind)
    return np.clip(picture, 0, 255).astype(np.uint8), np.array(boxes), np.array(kinds)


def anchors():
    """Centres and sizes, in the order of the heads' outputs."""
    rows = []
    for cells, sizes in GRIDS:
        step = SIZE / cells
        for i in range(cells):
            for j in range(cells):
                rows += [[(j + 0.5) * step, (i + 0.5) * step, s, s] for s in sizes]
    return torch.tensor(rows)


def block(channels, more, stride):
    return nn.Sequential(nn.Conv2d(channels, more, 3, stride, 1, bias=False),
                         nn.BatchNorm2d(more), nn.ReLU())


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.fine = nn.Sequential(block(3, 16, 2), block(16, 24, 2), block(24, 48, 2),
                                  block(48, 48, 1))
        self.coarse = nn.Sequential(block(48, 64, 2), block(64, 64, 1))
        count = len(GRIDS[0][1])
        outputs = count * (4 + 1 + len(NAMES))
        self.heads = nn.ModuleList([nn.Conv2d(48, outputs, 3, padding=1),
                                    nn.Conv2d(64, outputs, 3, padding=1)])
        self.register_buffer("anchors", anchors())

    def raw(self, picture):
        """Offsets [N, A, 4] and scores of nothing and the classes [N, A, 4]."""
        fine = self.fine(picture / 128.0 - 1.0)
        features = [fine, self.coarse(fine)]
        rows = []
        for i, head in enumerate(self.heads):
            y = head(features[i]).permute(0, 2, 3, 1)
            rows.append(y.reshape(y.shape[0], -1, 8))
        found = torch.cat(rows, 1)
        return found[:, :, :4], found[:, :, 4:]

    def forward(self, picture):
        """For a picture [1, 3, H, W] with values 0 to 255: boxes [K, 4] as left,
        top, right, bottom, their scores [K] and classes [K]."""
        offsets, scores = self.raw(picture)
        centres = self.anchors[:, :2] + offsets[0, :, :2] * 0.1 * self.anchors[:, 2:]
        sizes = self.anchors[:, 2:] * torch.exp(offsets[0, :, 2:] * 0.2)
        boxes = torch.cat([centres - sizes / 2, centres + sizes / 2], 1)
        best, kinds = torch.softmax(scores[0], 1)[:, 1:].max(1)
        sure = torch.nonzero(best > 0.6).flatten()
        boxes, best, kinds = boxes[sure], best[sure], kinds[sure]
        # Boxes of different classes do not meet where each class has a place.
        apart = boxes + kinds[:, None].to(boxes.dtype) * 1000.0
        kept = torch.ops.torchvision.nms(apart, best, 0.4)
        return boxes[kept], best[kept], kinds[kept]


def targets(table, boxes, kinds):
    """For each anchor: its class, 0 being nothing, and its offsets."""
    corners = torch.cat([table[:, :2] - table[:, 2:] / 2, table[:, :2] + table[:, 2:] / 2], 1)
    boxes = torch.from_numpy(boxes).float()
    overlap = torchvision.ops.box_iou(corners, boxes)
    most, which = overlap.max(1)
    wanted = torch.where(most > 0.5, torch.from_numpy(kinds)[which] + 1, 0)
    for box in range(len(boxes)):  # each thing has an anchor
        anchor = int(overlap[:, box].argmax())
        wanted[anchor], which[anchor] = int(kinds[box]) + 1, box
    mine = boxes[which]
    centres, sizes = (mine[:, :2] + mine[:, 2:]) / 2, mine[:, 2:] - mine[:, :2]
    offsets = torch.cat([(centres - table[:, :2]) / table[:, 2:] / 0.1,
                         torch.log(sizes / table[:, 2:]) / 0.2], 1)
    return wanted, offsets


def loss_of(offsets, scores, wanted, places):
    found = wanted > 0
    count = found.sum().clamp(min=1)
    place = nn.functional.smooth_l1_loss(offsets[found], places[found], reduction="sum")
    each = nn.functional.cross_entropy(scores.flatten(0, 1), wanted.flatten(),
                                       reduction="none")
    # Of the anchors with nothing, the hardest three for each with something.
    nothing = each.masked_fill(found.flatten(), 0).topk(int(count) * 3)[0].sum()
    return (place + each[found.flatten()].sum() + nothing) / count


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    net = Detector()
    optimizer = torch.optim.AdamW(net.parameters(), 3e-3)
    steps = 1200
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for step in range(steps):
        drawn = [draw(rng) for _ in range(16)]
        made = [targets(net.anchors, boxes, kinds) for _, boxes, kinds in drawn]
        pictures = torch.from_numpy(np.stack([d[0] for d in drawn])).float()
        loss = loss_of(*net.raw(pictures), torch.stack([m[0] for m in made]),
                       torch.stack([m[1] for m in made]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 200 == 199:
            print(step + 1, f"{loss.item():.3f}")
    net.eval().requires_grad_(False)

    saved = torch.jit.script(net)
    path = os.path.join(HERE, "detector.ts")
    saved.save(path)
    relative_paths.rewrite(path)
    picture, boxes, kinds = draw(np.random.default_rng(10))
    with open(os.path.join(HERE, "picture.ppm"), "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (SIZE, SIZE) + picture.transpose(1, 2, 0).tobytes())
    print("drawn:", [(NAMES[k], np.round(b).tolist()) for b, k in zip(boxes, kinds)])
    found = saved(torch.from_numpy(picture)[None].float())
    with open(os.path.join(HERE, "expected.txt"), "w", encoding="utf-8") as file:
        for box, score, kind in zip(*found):
            corners = " ".join(f"{v:.0f}" for v in box.tolist())
            file.write(f"{NAMES[int(kind)]} {100 * score.item():.0f}% at {corners}\n")


if __name__ == "__main__":
    main()
