# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU and RNN over padded and packed sequences, and their cells."""
import torch

MOST, BYTES = 100, 1 << 20

KINDS = (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1))


def params(m, gates, size, hidden, levels=1, directions=1, biases=True,
           projection=0, dtype=torch.float32):
    """The weights of all levels, in PyTorch's order."""
    out = []
    state = projection or hidden
    for level in range(levels):
        for _ in range(directions):
            n = size if level == 0 else directions * state
            out += [m.rand((gates * hidden, n)), m.rand((gates * hidden, state))]
            if biases:
                out += [m.rand((gates * hidden,)), m.rand((gates * hidden,))]
            if projection:
                out.append(m.rand((projection, hidden)))
    return [(t * 0.5).to(dtype) for t in out]


def states(m, kind, rows, batch, hidden, projection=0, dtype=torch.float32):
    h = m.rand((rows, batch, projection or hidden)).to(dtype)
    if kind != "lstm":
        return h
    return [h, m.rand((rows, batch, hidden)).to(dtype)]


def sequences(m):
    case = m.case
    for kind, gates in KINDS:
        for levels, d, biases, first in ((1, 1, True, False), (2, 2, True, True),
                                         (1, 2, False, False), (3, 1, True, False)):
            for size, hidden, length, batch in ((3, 2, 4, 2), (5, 19, 3, 1)):
                if levels * d > 2 and hidden > 2:
                    continue
                w = params(m, gates, size, hidden, levels, d, biases)
                x = m.rand((batch, length, size) if first else (length, batch, size))
                case(f"aten::{kind}.input", x, states(m, kind, levels * d, batch, hidden),
                     w, biases, levels, 0.3, False, d == 2, first)
        for dtype in (torch.float64, torch.float16, torch.bfloat16):
            case(f"aten::{kind}.input", m.rand((4, 2, 3)).to(dtype),
                 states(m, kind, 2, 2, 3, dtype=dtype),
                 params(m, gates, 3, 3, 1, 2, dtype=dtype), True, 1, 0.0, False, True, False)
        # Training: dropout lies between levels.
        case(f"aten::{kind}.input", m.rand((4, 2, 3)), states(m, kind, 1, 2, 2),
             params(m, gates, 3, 2), True, 1, 0.5, True, False, False)
        case(f"aten::{kind}.input", m.rand((4, 2, 3)), states(m, kind, 2, 2, 2),
             params(m, gates, 3, 2, 2), True, 2, 0.0, True, False, False)
        # No samples; one step; strides of all kinds.
        case(f"aten::{kind}.input", m.rand((4, 0, 3)), states(m, kind, 1, 0, 2),
             params(m, gates, 3, 2), True, 1, 0.0, False, False, False)
        case(f"aten::{kind}.input", m.rand((1, 2, 3)), states(m, kind, 1, 2, 2),
             params(m, gates, 3, 2), True, 1, 0.0, False, False, False)
        x = m.rand((3, 2, 8)).permute(2, 1, 0)[::2]
        h = states(m, kind, 1, 4, 4)
        h = [t[:, ::2, ::2] for t in h] if kind == "lstm" else h[:, ::2, ::2]
        w = [t.t().contiguous().t() if t.dim() == 2 else t for t in params(m, gates, 3, 2)]
        case(f"aten::{kind}.input", x, h, w, True, 1, 0.0, False, False, False)
        x = m.rand((4, 2, 3))
        x[1, 0, 0], x[2, 1, 1] = m.NAN, m.INF
        case(f"aten::{kind}.input", x, states(m, kind, 1, 2, 2), params(m, gates, 3, 2),
             True, 1, 0.0, False, False, False)
        refusals(m, kind, gates)


def refusals(m, kind, gates):
    """Shapes and dtypes that PyTorch refuses."""
    name = f"aten::{kind}.input"
    x, hx, w = m.rand((4, 2, 3)), states(m, kind, 1, 2, 2), params(m, gates, 3, 2)
    rest = (True, 1, 0.0, False, False, False)
    m.case(name, m.rand((0, 2, 3)), hx, w, *rest)
    m.case(name, m.rand((4, 2, 5)), hx, w, *rest)
    m.case(name, x, states(m, kind, 1, 3, 2), w, *rest)
    m.case(name, x, states(m, kind, 1, 1, 2), w, *rest)
    m.case(name, x, states(m, kind, 1, 2, 5), w, *rest)
    m.case(name, x, states(m, kind, 2, 2, 2), w, *rest)
    m.case(name, x, hx, w[:3], *rest)
    m.case(name, x, hx, w, False, *rest[1:])
    m.case(name, x, states(m, kind, 2, 2, 2), w, True, 2, *rest[2:])
    m.case(name, x.double(), hx, w, *rest)
    m.case(name, x, states(m, kind, 1, 2, 2, dtype=torch.float64), w, *rest)
    m.case(name, x, hx, params(m, gates, 3, 2, dtype=torch.float64), *rest)


def projections(m):
    for levels, d, biases in ((1, 1, True), (2, 2, True), (1, 2, False)):
        m.case("aten::lstm.input", m.rand((4, 2, 3)), states(m, "lstm", levels * d, 2, 5, 2),
               params(m, 4, 3, 5, levels, d, biases, 2), biases, levels, 0.0, False, d == 2, False)
    m.case("aten::lstm.input", m.rand((2, 4, 3)), states(m, "lstm", 1, 2, 4, 7),
           params(m, 4, 3, 4, projection=7), True, 1, 0.0, False, False, True)
    m.case("aten::lstm.input", m.rand((4, 2, 3)), states(m, "lstm", 1, 2, 5, 2),
           params(m, 4, 3, 5), True, 1, 0.0, False, False, False)
    m.case("aten::lstm.input", m.rand((4, 2, 3)), states(m, "lstm", 1, 2, 5)[:1],
           params(m, 4, 3, 5), True, 1, 0.0, False, False, False)


def packed(m):
    lengths = torch.tensor([4, 4, 2, 1])
    x = m.rand((4, 4, 3))
    data, sizes = torch.ops.aten._pack_padded_sequence(x, lengths, False)
    for kind, gates in KINDS:
        name = f"aten::{kind}.data"
        for levels, d, biases in ((1, 1, True), (2, 2, True), (1, 2, False)):
            m.case(name, data, sizes, states(m, kind, levels * d, 4, 2),
                   params(m, gates, 3, 2, levels, d, biases), biases, levels, 0.0, False, d == 2)
        for dtype in (torch.float64, torch.float16):
            m.case(name, data.to(dtype), sizes, states(m, kind, 2, 4, 2, dtype=dtype),
                   params(m, gates, 3, 2, 1, 2, dtype=dtype), True, 1, 0.0, False, True)
        w = params(m, gates, 3, 2)
        hx = states(m, kind, 1, 4, 2)
        rest = (True, 1, 0.0, False, False)
        m.case(name, data, sizes, states(m, kind, 1, 5, 2), w, *rest)
        m.case(name, data, sizes.float(), hx, w, *rest)
        m.case(name, data[:-1], sizes, hx, w, *rest)
        m.case(name, data, torch.tensor([3, 4, 4]), states(m, kind, 1, 3, 2), w, *rest)
    m.case("aten::lstm.data", data, sizes, states(m, "lstm", 2, 4, 5, 2),
           params(m, 4, 3, 5, 1, 2, True, 2), True, 1, 0.0, False, True)
    packing(m)


def packing(m):
    name = "aten::_pack_padded_sequence"
    x = m.rand((5, 3, 2))
    for lengths in ([5, 3, 2], [4, 1, 1], [2, 2, 2], [2, 3, 2], [2, 1, 0], [2, 1], []):
        m.case(name, x, torch.tensor(lengths, dtype=torch.int64), False)
    m.case(name, x.transpose(0, 1), torch.tensor([5, 3, 2]), True)
    m.case(name, m.rand((3, 5, 2)), torch.tensor([5, 3, 2]), True)
    m.case(name, m.rand((3, 5, 2)).double(), torch.tensor([4, 3, 2]), True)
    m.case(name, x.long(), torch.tensor([4, 3, 2]), False)
    m.case(name, m.rand((5, 3)), torch.tensor([4, 3, 2]), False)
    m.case(name, m.rand((5, 3, 2, 2)), torch.tensor([4, 3, 2]), False)
    m.case(name, m.rand((5,)), torch.tensor([4, 3, 2]), False)
    m.case(name, m.rand((0, 3, 2)), torch.tensor([4, 3, 2]), False)
    m.case(name, x, torch.tensor([4.0, 3.0, 2.0]), False)
    m.case(name, x, torch.tensor([4, 3, 2], dtype=torch.int32), False)
    m.case(name, x, torch.tensor([[4, 3, 2]]), False)
    name = "aten::_pad_packed_sequence"
    data, sizes = torch.ops.aten._pack_padded_sequence(x, torch.tensor([4, 3, 1]), False)
    for first in (False, True):
        for total in (-1, 4, 6, 3):
            m.case(name, data, sizes, first, 0.0, total)
            m.case(name, data, sizes, first, -1.5, total)
    m.case(name, data.long(), sizes, True, 7, -1)
    m.case(name, data.half(), sizes, True, 0.1, -1)
    m.case(name, data[:, 0], sizes, True, 0.0, -1)
    m.case(name, data[:-1], sizes, True, 0.0, -1)


def cells(m):
    for kind, gates in KINDS:
        name = f"aten::{kind}_cell"

        def hx(batch, hidden, dtype=torch.float32):
            h = states(m, kind, 1, batch, hidden, dtype=dtype)
            return [t[0] for t in h] if kind == "lstm" else h[0]
        w = params(m, gates, 3, 2)
        m.case(name, m.rand((4, 3)), hx(4, 2), *w)
        m.case(name, m.rand((4, 3)), hx(4, 2), *w[:2])
        m.case(name, m.rand((4, 3)), hx(4, 2), *w[:3])
        m.case(name, m.rand((1, 9)), hx(1, 21), *params(m, gates, 9, 21))
        m.case(name, m.rand((0, 3)), hx(0, 2), *w)
        for dtype in (torch.float64, torch.float16, torch.bfloat16):
            m.case(name, m.rand((4, 3)).to(dtype), hx(4, 2, dtype), *params(m, gates, 3, 2, dtype=dtype))
        m.case(name, m.rand((3,)), hx(4, 2), *w)
        m.case(name, m.rand((4, 5)), hx(4, 2), *w)
        m.case(name, m.rand((4, 3)), hx(3, 2), *w)
        m.case(name, m.rand((4, 3)), hx(1, 2), *w)
        m.case(name, m.rand((4, 3)), hx(4, 5), *w)
        m.case(name, m.rand((4, 3)).double(), hx(4, 2), *w)
        m.case(name, m.rand((4, 3)), hx(4, 2), *params(m, gates, 3, 2, dtype=torch.float64))


def add(m):
    # Without oneDNN, which reads beyond tensors of wrong shapes.
    with torch.backends.mkldnn.flags(enabled=False):
        sequences(m)
        projections(m)
        packed(m)
        cells(m)
