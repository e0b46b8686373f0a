# SPDX-License-Identifier: Apache-2.0
"""Arguments of several dtypes: losses, half as the target alone (PyTorch rounds
what comes between), and batch norms, whose moments are float then."""
import torch

MOST = 80
BYTES = 20000


def norms(m):
    case, rand = m.case, m.rand
    for own in (m.f2, torch.bfloat16):
        for other in (m.f4, own):
            x, w, b = rand((2, 6, 2, 2), own), rand((6,), other), rand((6,), other)
            mean, var = rand((6,), other), rand((6,), other, 0.1)
            op = "aten::_native_batch_norm_legit"
            case(op, x, w, b, mean, var, False, 0.1, 1e-5)
            case(op, x, None, None, mean, var, False, 0.1, 1e-5)
            case(op + "_no_training", x, w, b, mean, var, 0.1, 1e-5)
            case("aten::native_batch_norm", x, w, b, mean, var, False, 0.1, 1e-5)


def add(m):
    case, rand = m.case, m.rand
    q = "aten::binary_cross_entropy_with_logits"
    dtypes = (m.f4, m.f8, m.f2, torch.bfloat16)
    for own in (m.f4, m.f8):
        for other in dtypes:
            for reduction in (0, 1):
                case(q, rand((3, 2), own), rand((3, 2), other).sigmoid(),
                     reduction=reduction)
            case(q, rand((3, 2), own), rand((3, 2), other).sigmoid(),
                 rand((3, 2), own).abs(), rand((2,), own).abs())
    case(q, rand((3, 2)), torch.ones(3, 2, dtype=m.i8))
    case(q, rand((3, 2)), torch.ones(3, 2, dtype=m.b1))
    norms(m)
