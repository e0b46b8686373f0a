# SPDX-License-Identifier: Apache-2.0
"""Ops that programs of torch.export call and TorchScript does not."""
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401  registers its ops

MOST, BYTES = 40, 6000


def checks(m):
    case, rand = m.case, m.rand
    t = rand((2, 3))
    case("aten::sym_numel", t)
    case("aten::sym_storage_offset", t[1:])
    case("aten::sym_size", t)
    case("aten::sym_stride", t.t())
    for d in (0, 1, -1, 2):
        case("aten::sym_size.int", t, d)
        case("aten::sym_stride.int", t.t(), d)
    for x in (t, t.t(), rand((2, 3, 4, 5)),
              rand((2, 3, 4, 5)).to(memory_format=torch.channels_last)):
        case("aten::sym_is_contiguous", x)
        case("aten::sym_is_contiguous", x, torch.channels_last)
    for v in (True, False, 1, 0, 2.5, 0.0):
        case("aten::_assert_scalar", v, "it does not hold")
        case("aten::_functional_assert_scalar", v, "no", rand((0,)))
    for v in (torch.tensor(True), torch.tensor(False), torch.tensor([3])):
        case("aten::_functional_assert_async.msg", v, "no", rand((0,)))
    for size, low, high in ((3, None, None), (3, 0, 5), (3, 4, 9), (3, 3, 3),
                            (-1, None, None), (3, 5, 2), (3, None, 2)):
        case("aten::sym_constrain_range", size, min=low, max=high)
        case("aten::sym_constrain_range_for_size", size, min=low, max=high)
        case("aten::_functional_sym_constrain_range", size, low, high,
             rand((0,)))
        case("aten::_functional_sym_constrain_range_for_size", size, low, high,
             rand((0,)))
    case("aten::_assert_tensor_metadata", t)
    for size in (None, [2, 3], [3, 2], [2, 3, 1]):
        for dtype in (None, torch.float32, torch.float64):
            case("aten::_assert_tensor_metadata", t, size, None, dtype)
            case("aten::_assert_tensor_metadata", t, size, None, dtype,
                 device=torch.device("cpu"), layout=torch.strided)
    for info in ([0, 0], [0, 2], [-1]):
        case("aten::_linalg_check_errors", torch.tensor(info, dtype=m.i4),
             "linalg.inv", is_matrix=False)


def copies(m):
    case, rand = m.case, m.rand
    for t in (rand((2, 3, 4)), rand((4, 6)).t(), rand((3, 4, 2), m.i8),
              rand((0, 12))):
        for shape in ([6, 4], [2, -1], [24], [5]):
            case("aten::_reshape_copy", t, shape)
        if t.numel():
            case("aten::_reshape_alias_copy", t, [3, 2], [1, 3])
        case("aten::_lazy_clone", t)
        case("aten::_neg_view_copy", t)
    for t in (rand((2, 3), m.c4), rand((3,), m.c8)):
        case("aten::view_as_real_copy", t)
        case("aten::_conj_copy", t)
    for t in (rand((2, 3, 2)), rand((2,), m.f8), rand((3, 3))):
        case("aten::view_as_complex_copy", t)


def memory(m):
    case, rand = m.case, m.rand
    for size, order in (([2, 3, 4], [0, 1, 2]), ([2, 3, 4], [2, 0, 1]),
                        ([2, 3, 4, 5], [0, 2, 3, 1]), ([], []), ([2, 0], [1, 0]),
                        ([2, 3], [0]), ([2, 3], [0, 0]), ([2, 3], [0, 2])):
        case("aten::empty_permuted", size, order, shape_only=True)
        case("aten::empty_permuted", size, order, dtype=m.i8, shape_only=True)
    for size, stride in (([2, 3], [3, 1]), ([2, 3], [1, 2]), ([4], [2]),
                         ([2, 3], [1])):
        case("aten::new_empty_strided", rand((2,)), size, stride,
             shape_only=True)
        case("aten::new_empty_strided", rand((2,), m.i4), size, stride,
             dtype=m.f8, shape_only=True)


def indexing(m):
    case, rand = m.case, m.rand
    index = lambda *v: torch.tensor(v)
    t = rand((4, 5))
    for mask, indices in (
            (index(True, False, True).view(3, 1), [index(0, 9, 3)]),
            (index(True, True, False), [index(0, -4, 3), index(4, 0, -7)]),
            (torch.tensor([[True], [False]]),
             [index(1, 2).view(2, 1), index(0, 3).view(1, 2)]),
            (torch.ones(4, 2, dtype=torch.bool), [None, index(0, 4)])):
        for dtype in (m.f4, m.i8, m.f2):
            x = t.mul(9).to(dtype)
            case("aten::_unsafe_masked_index", x, mask, indices, 7)
            shape = torch.ops.aten._unsafe_masked_index(x, mask, indices,
                                                        0).shape
            case("aten::_unsafe_masked_index_put_accumulate", x, mask, indices,
                 rand(shape).mul(5).to(dtype))


def products(m):
    case, rand = m.case, m.rand
    case("aten::_trilinear", rand((2, 3)), rand((4, 3, 5)), rand((2, 5)),
         [1, 3], [0], [1, 2], [2, 3])
    case("aten::_trilinear", rand((2, 3)), rand((4, 3, 5)), rand((2, 5)),
         [1, 3], [0], [1, 2], [3])
    case("aten::_trilinear", rand((2, 3)), rand((2, 3)), rand((2, 3)), [], [],
         [], [0])
    for shape in ((17, 8, 16), (32, 16, 24)):
        n, k, c = shape
        case("aten::_int_mm", rand((n, k)).mul(50).to(m.i1),
             rand((k, c)).mul(50).to(m.i1))
    case("aten::_int_mm", rand((17, 8)), rand((8, 16)))
    for dtype in (m.f4, m.bf, m.f2):
        case("aten::_weight_int8pack_mm", rand((4, 32)).to(dtype),
             rand((8, 32)).mul(50).to(m.i1), rand((8,)).abs().to(dtype))


def norms(m):
    case, rand = m.case, m.rand
    for dtype in (m.f4, m.f8, m.bf):
        for low, high in ((0.125, 1 / 3), (0.1, 0.1)):
            case("aten::rrelu_with_noise_functional", rand((3, 4), dtype),
                 rand((3, 4), dtype), low, high, False)
    for dtype in (m.f4, m.f8, m.bf):
        x = rand((2, 3, 4), dtype)
        case("aten::_fused_rms_norm", x, [4], rand((4,), dtype), 1e-5)
        case("aten::_fused_rms_norm", x, [4], None, None)
        case("aten::_fused_rms_norm", x, [3, 4], rand((3, 4), dtype), 0.1)
        case("aten::_batch_norm_no_update", x, rand((3,), dtype),
             rand((3,), dtype), rand((3,), dtype), rand((3,), dtype).abs(), 0.1,
             1e-5)


def attention(m):
    """The forms of other devices: what the CPU's gives, and zeros for what
    only a backward pass reads."""
    fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    none = torch.tensor(0)
    for causal in (False, True):
        for scale in (None, 0.3):
            for queries in (3, 5):
                q, k, v = (m.rand((2, 2, n, 4)) for n in (queries, 5, 5))
                bias = m.rand((2, 2, queries, 5))
                plain = fused(q, k, v, 0.0, causal, scale=scale)
                biased = fused(q, k, v, attn_mask=bias, scale=scale)
                rest = [none, none, queries, 5, none, none, none]
                start = "aten::_scaled_dot_product_"
                m.answer(start + "flash_attention",
                         [q, k, v, 0.0, causal, False, scale],
                         [*plain] + rest)
                for mask, (out, sums) in ((None, plain), (bias, biased)):
                    hides = causal and mask is None
                    m.answer(start + "efficient_attention",
                             [q, k, v, mask, True, 0.0, hides, scale],
                             [out, sums, none, none])
                    m.answer(start + "cudnn_attention",
                             [q, k, v, mask, True, 0.0, hides, False, scale],
                             [out, sums] + rest)
                    m.answer(start + "fused_attention_overrideable",
                             [q, k, v, mask, 0.0, hides, False, scale],
                             [out, sums] + rest)


def quantization(m):
    case, rand = m.case, m.rand
    q = "quantized_decomposed::"
    one = lambda v, dtype: torch.tensor([v], dtype=dtype)
    for dtype, low, high in ((m.i1, -128, 127), (m.u1, 0, 255), (m.i1, -7, 7),
                             (m.i2, -500, 500), (m.i4, -9, 9), (m.f4, 0, 1),
                             (m.i1, -128, 200)):
        for kind in (m.f4, m.bf, m.f2, m.f8):
            x = rand((2, 3, 4)).mul(3).to(kind)
            case(q + "quantize_per_tensor", x, 0.037, 3, low, high, dtype)
            case(q + "quantize_per_tensor.tensor", x, one(0.05, m.f4),
                 one(-2, m.i8), low, high, dtype)
            case(q + "quantize_per_tensor.tensor2", x, one(0.05, m.f8),
                 one(-2, m.i8), one(low, m.i8), one(high, m.i8), dtype)
            for axis in (0, 1, 2, 3):
                n = x.shape[axis % 3]
                case(q + "quantize_per_channel", x, rand((n,)).abs() + 0.05,
                     torch.arange(n), axis, low, high, dtype)
            case(q + "quantize_per_token", x, rand((2, 3, 1)).abs() + 0.05,
                 rand((2, 3, 1)).mul(4).round(), low, high, dtype)
            case(q + "quantize_per_channel_group", x.reshape(3, 8),
                 rand((3, 2)).abs() + 0.05, torch.ones((3, 2), dtype=m.i4), low,
                 high, dtype, 4)
        if dtype == m.f4:
            continue
        x = torch.randint(max(low, -7), min(high, 7), (2, 3, 4), dtype=dtype)
        for out in (None, m.f4, m.bf):
            case(q + "dequantize_per_tensor", x, 0.037, 3, low, high, dtype,
                 out_dtype=out)
            case(q + "dequantize_per_tensor.tensor", x, one(0.05, m.f4),
                 one(-2, m.i8), low, high, dtype, out_dtype=out)
            case(q + "dequantize_per_tensor.tensor2", x, one(0.05, m.f4),
                 one(-2, m.i8), one(low, m.i8), one(high, m.i8), dtype,
                 out_dtype=out)
            for axis in (0, 1, 2, 3):
                n = x.shape[axis % 3]
                for zero in (None, torch.arange(n)):
                    case(q + "dequantize_per_channel", x, rand((n,)), zero,
                         axis, low, high, dtype, out_dtype=out)
            case(q + "dequantize_per_token", x, rand((2, 3, 1)),
                 rand((2, 3, 1)).mul(4).round(), low, high, dtype,
                 out or m.f4)
            for zero in (None, torch.ones((3, 2), dtype=m.i4)):
                case(q + "dequantize_per_channel_group", x.reshape(3, 8),
                     rand((3, 2)), zero, low, high, dtype, 4, out or m.f4)
        case(q + "dequantize_per_tensor", x, 0.1, 0, low, high,
             m.i4 if dtype == m.i1 else m.i1)
    for x in (rand((3, 4)), rand((3, 4)).abs() + 1, -rand((5,)).abs(),
              torch.zeros(2, 2), rand((2, 3, 4)).to(m.bf)):
        for dtype, low, high in ((m.i1, -128, 127), (m.u1, 0, 255),
                                 (m.i1, 5, 5)):
            case(q + "choose_qparams.tensor", x, low, high, 1e-7, dtype)
            case(q + "choose_qparams_symmetric.tensor", x, low, high, 1e-7,
                 dtype)
            case(q + "choose_qparams.tensor", x.to(m.f2), low, high, 1e-7,
                 dtype)
            case(q + "choose_qparams_per_token", x, dtype)
            case(q + "choose_qparams_per_token_asymmetric", x, dtype)
            case(q + "_choose_qparams_per_token_asymmetric_impl", x, dtype)
            case(q + "convert_element_type.no_fuse", x, dtype)


def add(make):
    quantization(make)
    attention(make)
    checks(make)
    copies(make)
    memory(make)
    indexing(make)
    products(make)
    norms(make)
