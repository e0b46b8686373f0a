# SPDX-License-Identifier: Apache-2.0
"""Products, convolution, pooling, normalisation, attention, resizing, losses."""
import torch


def products(m):
    case, rand = m.case, m.rand
    f4, f8, f2, bf, i8, b1 = m.f4, m.f8, m.f2, m.bf, m.i8, m.b1
    for a in (f4, f8, f2, bf, i8):
        case("aten::mm", rand((2, 3), a), rand((3, 4), a))
        case("aten::bmm", rand((2, 2, 3), a), rand((2, 3, 2), a))
        case("aten::matmul", rand((2, 3), a), rand((3,), a))
        case("aten::linear", rand((2, 3), a), rand((4, 3), a), rand((4,), a))
        case("aten::addmm", rand((4,), a), rand((2, 3), a), rand((3, 4), a))
        case("aten::einsum", "ij,jk->ik", [rand((2, 3), a), rand((3, 2), a)])
    case("aten::mm", rand((3, 2)).t(), rand((4, 3)).t())
    case("aten::mm", rand((2, 3)), rand((2, 3)))
    case("aten::mm", rand((2, 3)), rand((3, 2), f8))
    case("aten::mm", rand((2, 0)), rand((0, 3)))
    case("aten::mm", rand((2, 3)), rand((3,)))
    case("aten::bmm", rand((2, 2, 3)), rand((3, 3, 2)))
    shapes = [((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3,)),
              ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((3,), (5, 3, 4)),
              ((2, 1, 2, 3), (3, 3, 2)), ((2, 3), (4, 2)), ((), (3,)),
              ((0, 3), (3, 2)), ((2, 2, 3), (3, 3, 2))]
    for a, b in shapes:
        case("aten::matmul", rand(a), rand(b))
        case("aten::linalg_matmul", rand(a), rand(b))
    case("aten::matmul", rand((2, 4, 3)).transpose(1, 2), rand((4, 5)))
    case("aten::mv", rand((2, 3)), rand((3,)))
    case("aten::dot", rand((3,)), rand((3,)))
    case("aten::dot", rand((3,)), rand((4,)))
    case("aten::vdot", rand((3,)), rand((3,)))
    for x in (rand((3,)), rand((2, 3)), rand((2, 2, 3))):
        case("aten::linear", x, rand((4, 3)), rand((4,)))
        case("aten::linear", x, rand((4, 3)))
        case("aten::linear", x, rand((4, 2)))
    case("aten::linear", rand((2, 3)), rand((3,)))
    for s in ("", "_"):
        c = rand((2, 4))
        case(f"aten::addmm{s}", c, rand((2, 3)), rand((3, 4)), beta=0.5, alpha=2)
        case(f"aten::addmm{s}", c, rand((2, 3)), rand((2, 4)))
        case(f"aten::baddbmm{s}", rand((2, 2, 4)), rand((2, 2, 3)),
             rand((2, 3, 4)), beta=0, alpha=2)
        case(f"aten::addbmm{s}", c, rand((5, 2, 3)), rand((5, 3, 4)), alpha=0.5)
        case(f"aten::addmv{s}", rand((2,)), rand((2, 3)), rand((3,)))
        case(f"aten::addr{s}", c, rand((2,)), rand((4,)), beta=2)
    case("aten::addmm", rand((2, 4)) * float("nan"), rand((2, 3)), rand((3, 4)),
         beta=0)
    case("aten::outer", rand((2,)), rand((3,)))
    case("aten::ger", rand((2,)), rand((3,)))
    x, y, z = rand((2, 3)), rand((3, 4)), rand((2, 2, 3))
    for eq, ops in (("ij,jk", [x, y]), ("ij->ji", [x]), ("ij->", [x]),
                    ("bij,jk->bik", [z, y]), ("...ij,jk->...ik", [z, y]),
                    ("ii->i", [rand((3, 3))]), ("i,j->ij", [x[0], y[0]]),
                    ("bij,bkj->bik", [z, z]), ("ij,jk,kl->il", [x, y, rand((4, 2))]),
                    ("...j->...", [z]), ("ij,ij->ij", [x, x]), ("ij,kl", [x, y]),
                    ("ij,jk->iz", [x, y]), ("ij", [x, y]), ("ijk", [x]),
                    ("i j , j k -> i k", [x, y]), ("bhid,bhjd->bhij",
                    [rand((1, 2, 3, 2)), rand((1, 2, 4, 2))])):
        case("aten::einsum", eq, ops)
    case("aten::bilinear", rand((2, 3)), rand((2, 4)), rand((5, 3, 4)), rand((5,)))
    case("aten::tensordot", rand((2, 3, 4)), rand((4, 3, 2)), [1, 2], [1, 0])
    case("aten::tensordot", rand((2, 3)), rand((4, 3)), [0], [0])


def convolutions(m):
    case, rand = m.case, m.rand
    f4, f8, f2, i8 = m.f4, m.f8, m.f2, m.i8
    for n in (1, 2, 3):
        s = (5, 4, 3)[:n]
        x = rand((2, 4) + s)
        for dtype in (f4, f8, f2):
            case(f"aten::conv{n}d", x.to(dtype), rand((3, 4) + (2,) * n, dtype),
                 rand((3,), dtype))
        w = rand((6, 2) + (3, 2, 2)[:n])
        case(f"aten::conv{n}d", x, w, None, [1] * n, [1] * n, [1] * n, 2)
        case(f"aten::conv{n}d", x, w, None, [2] * n, [2] * n, [2] * n, 2)
        case(f"aten::conv{n}d", x[0], w, None, [1] * n, [1] * n, [1] * n, 2)
        case(f"aten::conv{n}d", x, rand((4, 1) + (2,) * n), rand((4,)),
             [1] * n, [0] * n, [1] * n, 4)
        for p in ("same", "valid", "what"):
            case(f"aten::conv{n}d.padding", x, w, None, [1] * n, p, [1] * n, 2)
        case(f"aten::conv{n}d.padding", x, w, None, [2] * n, "same", [1] * n, 2)
        case(f"aten::conv{n}d", x, rand((3, 5) + (2,) * n))
        case(f"aten::conv{n}d", x, rand((3, 4) + (9,) * n))
        case(f"aten::conv{n}d", x, rand((3, 4) + (2,) * n), rand((4,)))
        case(f"aten::conv{n}d", x, rand((3, 4) + (2,) * n, f8))
        case(f"aten::conv{n}d", x, rand((3, 4) + (2,) * n), None, [0] * n)
        q = f"aten::conv_transpose{n}d" + ("" if n == 1 else ".input")
        wt = rand((4, 3) + (3, 2, 2)[:n])
        case(q, x, wt, rand((3,)))
        case(q, x, wt, None, [2] * n, [1] * n, [1] * n, 1, [1] * n)
        case(q, x, rand((4, 2) + (2,) * n), None, [2] * n, [0] * n, [0] * n, 2,
             [2] * n)
        case(q, x[0], wt, None, [2] * n, [1] * n, [0] * n, 1, [1] * n)
        case(q, x, wt, None, [1] * n, [0] * n, [3] * n, 1, [1] * n)
        for transposed in (False, True):
            weight = wt if transposed else rand((3, 4) + (2,) * n)
            a = (x, weight, rand((3,)), [2] * n, [1] * n, [1] * n, transposed,
                 [0] * n, 1)
            case("aten::convolution", *a)
            case("aten::_convolution", *a, False, False, True, True)
            case("aten::_convolution.deprecated", *a, False, False, True)
        case("aten::_convolution_mode", x, w, None, [1] * n, "same", [1] * n, 2)
    case("aten::conv2d", rand((1, 2, 5, 5)).to(memory_format=torch.channels_last),
         rand((3, 2, 3, 3)))
    case("aten::conv2d", rand((0, 2, 5, 5)), rand((3, 2, 3, 3)))
    case("aten::conv2d", rand((1, 2, 5, 5)), rand((3, 2, 1, 3)), None, [2], [0, 1])


def pooling(m):
    case, rand = m.case, m.rand
    f4, f8, f2, i8 = m.f4, m.f8, m.f2, m.i8
    for n in (1, 2, 3):
        x = rand((2, 3) + (7, 6, 5)[:n])
        for a in (([2],), ([3] * n, [2] * n, [1] * n), ([3] * n, [2] * n, [1] * n, [1] * n, True),
                  ([2] * n, [1] * n, [0] * n, [2] * n), ([2] * n, [3] * n, [1] * n, [1] * n, True),
                  ([2] * n, [], [2] * n), ([9] * n,), ([2] * n, [0] * n)):
            case(f"aten::max_pool{n}d", x, *a)
            case(f"aten::max_pool{n}d_with_indices", x, *a)
        case(f"aten::max_pool{n}d", x[0], [2] * n)
        case(f"aten::max_pool{n}d", rand((3,)), [2] * n)
        case(f"aten::max_pool{n}d", x.half(), [2] * n)
        y = x.clone()
        y.view(-1)[3] = float("nan")
        case(f"aten::max_pool{n}d_with_indices", y, [2] * n)
        for a in (([2] * n,), ([3] * n, [2] * n, [1] * n),
                  ([3] * n, [2] * n, [1] * n, True), ([3] * n, [2] * n, [1] * n, False, False),
                  ([3] * n, [2] * n, [1] * n, True, False), ([2] * n, [], [2] * n)):
            case(f"aten::avg_pool{n}d", x, *a)
            if n > 1:
                case(f"aten::avg_pool{n}d", x, *a, divisor_override=3)
                case(f"aten::avg_pool{n}d", x, *a, divisor_override=0)
        case(f"aten::avg_pool{n}d", x[0], [2] * n)
        case(f"aten::avg_pool{n}d", x.half(), [2] * n)
        for o in ([1] * n, [2] * n, [5, 4, 3][:n], [9] * n, [0] * n, [-1] * n):
            case(f"aten::adaptive_avg_pool{n}d", x, o)
            case(f"aten::adaptive_max_pool{n}d", x, o)
            if n > 1:
                case(f"aten::_adaptive_avg_pool{n}d", x, o)
        case(f"aten::adaptive_avg_pool{n}d", x[0], [2] * n)
        case(f"aten::adaptive_avg_pool{n}d", x.half(), [2] * n)


def norms(m):
    case, rand = m.case, m.rand
    f4, f8, f2, bf, i8, b1 = m.f4, m.f8, m.f2, m.bf, m.i8, m.b1
    for shape in ((2, 3), (2, 3, 4), (2, 3, 2, 2)):
        x = rand(shape)
        w, b, mean, var = rand((3,)), rand((3,)), rand((3,)), rand((3,), f4, 0.1)
        tail = (0.1, 1e-5, True)
        case("aten::batch_norm", x, w, b, mean, var, False, *tail)
        case("aten::batch_norm", x, None, None, mean, var, False, *tail)
        case("aten::batch_norm", x, w, b, None, None, True, *tail)
        case("aten::batch_norm", x.half(), w.half(), b.half(), mean.half(), var.half(), False, *tail)
        case("aten::native_batch_norm", x, w, b, mean, var, False, 0.1, 1e-5)
        case("aten::native_batch_norm", x, w, b, None, None, True, 0.1, 1e-5)
        case("aten::_native_batch_norm_legit_no_training", x, w, b, mean, var, 0.1, 1e-5)
        case("aten::batch_norm", x, rand((4,)), b, mean, var, False, *tail)
        if len(shape) > 2:
            case("aten::instance_norm", x, w, b, None, None, True, *tail)
            case("aten::instance_norm", x, None, None, None, None, True, *tail)
            case("aten::instance_norm", x, w, b, mean, var, False, *tail)
    x = rand((2, 3, 4))
    for n in ([4], [3, 4], [2, 3, 4]):
        w, b = rand(tuple(n)), rand(tuple(n))
        for t in (x, x.double(), x.half(), x.bfloat16(), x.transpose(0, 1).contiguous().transpose(0, 1)):
            d = t.dtype
            case("aten::layer_norm", t, n, w.to(d), b.to(d))
            case("aten::layer_norm", t, n)
            case("aten::native_layer_norm", t, n, w.to(d), b.to(d), 1e-5)
            case("aten::rms_norm", t, n, w.to(d), 1e-6)
        case("aten::rms_norm", x, n)
    case("aten::layer_norm", x, [3])
    case("aten::layer_norm", x, [4], rand((3,)))
    y = rand((2, 6, 3))
    for g in (1, 2, 3, 6, 4):
        case("aten::group_norm", y, g, rand((6,)), rand((6,)))
        case("aten::group_norm", y, g)
    case("aten::group_norm", y.half(), 2)
    for t in (x, x.transpose(0, 2), x.double(), x.half(), x.bfloat16(), rand((3,)), rand(()),
              torch.tensor([float("-inf"), 1.0]), torch.full((2,), float("-inf")), rand((2, 2), i8), rand((0, 3))):
        for d in (-1, 0, 1):
            case("aten::softmax.int", t, d)
            case("aten::log_softmax.int", t, d)
            case("aten::_softmax", t, d, False)
            case("aten::_log_softmax", t, d, False)
            case("aten::_safe_softmax", t, d)
            case("aten::special_softmax", t, d)
            case("aten::special_log_softmax", t, d)
    case("aten::softmax.int", rand((2, 2), i8), 0, f4)
    case("aten::softmax.int", rand((2, 2), f2), 0, f4)
    for d in (0, 1, 2, -1):
        v = rand((3, 4, 2))
        case("aten::_weight_norm", v, torch.norm_except_dim(v, 2, d) * 2, d)


def attention(m):
    case, rand = m.case, m.rand
    f4, f8, f2, b1 = m.f4, m.f8, m.f2, m.b1
    q, k, v = rand((2, 2, 3, 4)), rand((2, 2, 5, 4)), rand((2, 2, 5, 4))
    mask = rand((3, 5), b1)
    mask[:, 0] = True
    for d in (f4, f8, f2):
        a = (q.to(d), k.to(d), v.to(d))
        case("aten::scaled_dot_product_attention", *a)
        case("aten::scaled_dot_product_attention", *a, mask)
        case("aten::scaled_dot_product_attention", *a, rand((2, 1, 3, 5), d))
        case("aten::scaled_dot_product_attention", *a, is_causal=True)
        case("aten::scaled_dot_product_attention", *a, scale=0.3)
        case("aten::_scaled_dot_product_attention_math", *a, mask)
    case("aten::scaled_dot_product_attention", q, k, v, torch.zeros((3, 5), dtype=b1))
    case("aten::scaled_dot_product_attention", q[0], k[0], v[0])
    case("aten::scaled_dot_product_attention", q[0, 0], k[0, 0], v[0, 0])
    case("aten::scaled_dot_product_attention", q.transpose(1, 2), k.transpose(1, 2)[:, :3], v.transpose(1, 2)[:, :3])
    case("aten::scaled_dot_product_attention", rand((1, 4, 3, 2)), rand((1, 2, 3, 2)), rand((1, 2, 3, 2)), enable_gqa=True)
    case("aten::scaled_dot_product_attention", q, k[..., :3], v)
    case("aten::scaled_dot_product_attention", q, k, v.double())
    e, h = 8, 2
    x = rand((2, 3, e))
    packed = (rand((3 * e, e)), rand((3 * e,)), rand((e, e)), rand((e,)))
    src_mask = torch.triu(torch.ones(3, 3, dtype=b1), 1)
    pad = torch.tensor([[False, False, True], [False, False, False]])
    for need, average in ((False, True), (True, True), (True, False)):
        if not need:
            continue
        case("aten::_native_multi_head_attention", x, x, x, e, h, *packed, None, need, average)
        case("aten::_native_multi_head_attention", x, x, x, e, h, *packed, src_mask, need, average, 0)
        case("aten::_native_multi_head_attention", x, x, x, e, h, *packed, pad, need, average, 1)
    case("aten::_native_multi_head_attention", x, x, x, 7, h, *packed)
    ffn = (rand((e,)), rand((e,)), rand((e,)), rand((e,)), rand((16, e)), rand((16,)), rand((e, 16)), rand((e,)))
    for gelu in (False, True):
        for first in (False, True):
            for mk, t in ((None, None), (src_mask, 0), (pad, 1)):
                case("aten::_transformer_encoder_layer_fwd", x, e, h, *packed, gelu, first, 1e-5, *ffn, mk, t)


def recurrent(m):
    case, rand = m.case, m.rand
    for kind, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        for layers, bi, biases, first in ((1, False, True, False), (2, True, True, True), (1, False, False, False)):
            d = 2 if bi else 1
            params = []
            for layer in range(layers):
                for _ in range(d):
                    size = 3 if layer == 0 else 2 * d
                    params += [rand((gates * 2, size)), rand((gates * 2, 2))]
                    if biases:
                        params += [rand((gates * 2,)), rand((gates * 2,))]
            x = rand((2, 4, 3))
            h = rand((layers * d, 2 if first else 4, 2))
            hx = [h, h * 0.5] if kind == "lstm" else h
            case(f"aten::{kind}.input", x, hx, params, biases, layers, 0.0, False, bi, first)
            if kind != "lstm":  # oneDNN does not look
                case(f"aten::{kind}.input", rand((2, 4, 5)), hx, params, biases, layers, 0.0, False, bi, first)
        h = rand((4, 2))
        hx = [h, h * 0.5] if kind == "lstm" else h
        w = (rand((gates * 2, 3)), rand((gates * 2, 2)))
        b = (rand((gates * 2,)), rand((gates * 2,)))
        case(f"aten::{kind}_cell", rand((4, 3)), hx, *w, *b)
        case(f"aten::{kind}_cell", rand((4, 3)), hx, *w)


def resizing(m):
    case, rand = m.case, m.rand
    f4, f8, f2, u1, i8 = m.f4, m.f8, m.f2, m.u1, m.i8
    for n in (1, 2, 3):
        x = rand((1, 2) + (4, 5, 3)[:n])
        sizes = [[7, 6, 5][:n], [2, 3, 2][:n], [4, 5, 3][:n], [1] * n]
        scales = [[2.0] * n, [0.6] * n, [1.5, 2.3, 0.7][:n]]
        for base in ("upsample_nearest", "_upsample_nearest_exact"):
            for t in (x, x.double(), x.half()):
                for s in sizes:
                    case(f"aten::{base}{n}d", t, s)
                    case(f"aten::{base}{n}d.vec", t, s, None)
                for s in scales:
                    case(f"aten::{base}{n}d.vec", t, None, s)
            case(f"aten::{base}{n}d", x, sizes[0], *scales[2])
            case(f"aten::{base}{n}d.vec", x, sizes[0], scales[0])
            case(f"aten::{base}{n}d", x[0], sizes[0])
        linear = ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")[n - 1]
        kinds = [linear]
        if n == 2:
            kinds += ["upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"]
        for base in kinds:
            for align in (False, True):
                for s in sizes:
                    case(f"aten::{base}", x, s, align)
                    case(f"aten::{base}.vec", x, s, align, None)
                for s in scales:
                    case(f"aten::{base}.vec", x, None, align, s)
                case(f"aten::{base}", x.double(), sizes[0], align)
            case(f"aten::{base}", x[0], sizes[0], False)
    x = rand((1, 2, 4, 5))
    for mode in ("nearest", "bilinear", "bicubic"):
        case("aten::__interpolate", x, 6, None, mode, None)
        case("aten::__interpolate", x, None, 2.0, mode, None)
        case("aten::__interpolate.size_list", x, [3, 7], None, mode, None)
        case("aten::__interpolate.scale_list", x, None, [1.5, 0.5], mode, None)
        case("aten::__interpolate.size_list_scale_list", x, [3, 7], None, mode, None)
    grid = rand((1, 3, 4, 2), f4, -1.3, 1.3)
    for mode in (0, 1, 2):
        for pad in (0, 1, 2):
            for align in (False, True):
                case("aten::grid_sampler", x, grid, mode, pad, align)
                case("aten::grid_sampler_2d", x.double(), grid.double(), mode, pad, align)
    case("aten::grid_sampler", x, rand((2, 3, 4, 2)), 0, 0, False)
    for align in (False, True):
        case("aten::affine_grid_generator", rand((2, 2, 3)), [2, 1, 3, 4], align)


def losses(m):
    case, rand = m.case, m.rand
    f4, f8, i8 = m.f4, m.f8, m.i8
    x, t = rand((2, 3)), rand((2, 3))
    p = torch.rand((2, 3)) * 0.8 + 0.1
    for r in (0, 1, 2):
        case("aten::mse_loss", x, t, r)
        case("aten::l1_loss", x, t, r)
        case("aten::smooth_l1_loss", x, t, r, 0.7)
        case("aten::smooth_l1_loss", x, t, r, 0.0)
        case("aten::huber_loss", x, t, r, 0.7)
        case("aten::binary_cross_entropy", p, torch.rand((2, 3)), None, r)
        case("aten::binary_cross_entropy", p, torch.rand((2, 3)), rand((2, 3), f4, 0.1), r)
        case("aten::binary_cross_entropy_with_logits", x, torch.rand((2, 3)), None, rand((3,), f4, 0.1), r)
        case("aten::binary_cross_entropy_with_logits", x, torch.rand((2, 3)), rand((2, 3), f4, 0.1), None, r)
        case("aten::kl_div", x, p, r)
        case("aten::kl_div", x, p.log(), r, log_target=True)
        case("aten::soft_margin_loss", x, t.sign(), r)
        y = torch.tensor([2, 0])
        w = rand((3,), f4, 0.1)
        for weight in (None, w):
            case("aten::nll_loss", x, y, weight, r)
            case("aten::nll_loss_nd", x, y, weight, r, 0)
            case("aten::nll_loss_forward", x, y, weight, r, -100)
            case("aten::cross_entropy_loss", x, y, weight, r)
            case("aten::cross_entropy_loss", x, y, weight, r, 0)
            case("aten::cross_entropy_loss", x, y, weight, r, -100, 0.2)
            z = rand((2, 3, 2, 2))
            y2 = torch.randint(0, 3, (2, 2, 2))
            case("aten::nll_loss2d", z, y2, weight, r)
            case("aten::nll_loss2d_forward", z, y2, weight, r, -100)
            case("aten::cross_entropy_loss", z, y2, weight, r)
        case("aten::cross_entropy_loss", x, p, None, r)
    case("aten::nll_loss", x, torch.tensor([5, 0]))
    case("aten::nll_loss", rand((3,)), torch.tensor(1))
    case("aten::cosine_similarity", rand((2, 3, 4)), rand((2, 3, 4)))
    case("aten::cosine_similarity", rand((2, 3, 4)), rand((3, 1)), -1)
    for power in (2.0, 1.0, 0.0, 3.0, float("inf")):
        case("aten::cdist", rand((3, 2)), rand((4, 2)), power)
        case("aten::cdist", rand((2, 3, 2)), rand((4, 2)), power)
    case("aten::cdist", rand((3, 2)), rand((4, 3)))


def vision(m):
    try:
        import torchvision  # noqa: F401  registers the ops
    except ImportError:
        m.PROBLEMS.append("torchvision is missing")
        return
    boxes = torch.tensor([[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 9, 9.0]])
    scores = torch.tensor([0.5, 0.9, 0.3, 0.8])
    for t in (0.3, 0.5, 0.9):
        m.case("torchvision::nms", boxes, scores, t)
    m.case("torchvision::nms", boxes[:, :3], scores, 0.5)
    rois = torch.tensor([[0, 1, 1, 5, 6], [1, 0.5, 0, 7.5, 4.0]])
    for aligned in (False, True):
        for ratio in (-1, 2):
            m.case("torchvision::roi_align", m.rand((2, 2, 8, 8)), rois, 0.5, 2, 3, ratio, aligned)


def add(m):
    products(m)
    convolutions(m)
    pooling(m)
    norms(m)
    attention(m)
    recurrent(m)
    resizing(m)
    losses(m)
    vision(m)
