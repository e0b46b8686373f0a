# SPDX-License-Identifier: Apache-2.0
"""Registers the operators that are Bessemer's own with PyTorch, as what
PyTorch's give. Imported by what asks PyTorch for schemas or values."""
import torch
import torchvision

LIBRARY = torch.library.Library("bessemer", "DEF")


def padded_nms(dets, scores, iou_threshold):
    """torchvision::nms, as long as there are boxes: -1 is behind the last."""
    kept = torch.ops.torchvision.nms(dets, scores, iou_threshold)
    return torch.nn.functional.pad(kept, (0, len(dets) - len(kept)), value=-1)


LIBRARY.define("padded_nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
LIBRARY.impl("padded_nms", padded_nms, "CompositeExplicitAutograd")
assert torchvision.__version__
