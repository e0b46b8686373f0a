# SPDX-License-Identifier: Apache-2.0
"""Cases of peer_ops.py: a function or module, and its inputs."""
import torch
import torch.nn.functional as F
from torch import nn

CASES = {}


def add(name, function, *inputs):
    """`inputs`: shapes of normal numbers, or functions that make tensors."""
    CASES[name] = lambda: (function, tuple(i() if callable(i) else torch.randn(i) for i in inputs))


def module(name, make, *inputs):
    CASES[name] = lambda: (make(), tuple(i() if callable(i) else torch.randn(i) for i in inputs))


def ints(high, *shape):
    return lambda: torch.randint(0, high, shape)


def grid(*shape):
    return lambda: torch.rand(*shape) * 2.4 - 1.2


# ---- sampling and resizing
for mode in ("bilinear", "nearest", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        for align in (False, True):
            add(f"grid_{mode}_{padding}_{'a' if align else 'n'}",
                lambda x, g, m=mode, p=padding, a=align: F.grid_sample(x, g, m, p, a), (1, 16, 48, 48), grid(1, 48, 48, 2))
for mode in ("bilinear", "nearest"):
    for padding in ("zeros", "reflection"):
        add(f"grid3d_{mode}_{padding}", lambda x, g, m=mode, p=padding: F.grid_sample(x, g, m, p, False),
            (1, 8, 12, 24, 24), grid(1, 12, 24, 24, 3))
add("grid_flow_3maps", lambda x, g: F.grid_sample(x, g, "bilinear", "border", True), (2, 3, 96, 96), grid(2, 96, 96, 2))
add("resize_bicubic_up", lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), (1, 16, 40, 40))
add("resize_bicubic_down", lambda x: F.interpolate(x, size=(17, 17), mode="bicubic"), (1, 32, 40, 40))
add("resize_bicubic_align", lambda x: F.interpolate(x, size=(63, 63), mode="bicubic", align_corners=True), (1, 8, 40, 40))
add("resize_antialias", lambda x: F.interpolate(x, size=(64, 64), mode="bilinear", antialias=True), (1, 3, 160, 160))
add("resize_antialias_cubic", lambda x: F.interpolate(x, size=(64, 64), mode="bicubic", antialias=True), (1, 3, 160, 160))
add("resize_area", lambda x: F.interpolate(x, size=(24, 24), mode="area"), (1, 16, 64, 64))
add("resize_trilinear", lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), (1, 8, 12, 20, 20))
add("resize_linear_1d", lambda x: F.interpolate(x, scale_factor=3, mode="linear"), (1, 32, 500))
add("resize_nearest_up", lambda x: F.interpolate(x, scale_factor=2), (1, 32, 32, 32))
add("resize_nearest_exact", lambda x: F.interpolate(x, size=(50, 50), mode="nearest-exact"), (1, 32, 32, 32))
# ---- moving
add("unfold", lambda x: F.unfold(x, 3, padding=1), (1, 16, 40, 40))
add("unfold_stride", lambda x: F.unfold(x, 4, stride=4), (1, 16, 64, 64))
add("fold", lambda x: F.fold(x, (40, 40), 3, padding=1), (1, 144, 1600))
add("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), (1, 64, 48, 48))
add("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), (1, 16, 96, 96))
add("channel_shuffle", lambda x: F.channel_shuffle(x, 4), (1, 64, 48, 48))
add("roll_2d", lambda x: torch.roll(x, (3, 3), (1, 2)), (1, 56, 56, 48))
add("flip", lambda x: torch.flip(x, (2, 3)), (1, 32, 64, 64))
add("flip_last_1d", lambda x: torch.flip(x, (-1,)), (64, 2000))
add("permute_5d", lambda x: x.permute(0, 3, 1, 4, 2).contiguous(), (2, 8, 16, 24, 20))
add("window_partition", lambda x: x.view(1, 8, 7, 8, 7, 48).permute(0, 1, 3, 2, 4, 5).contiguous(), (1, 56, 56, 48))
add("transpose_square", lambda x: x.transpose(1, 2).contiguous(), (4, 196, 196))
add("repeat", lambda x: x.repeat(1, 4, 2), (8, 16, 200))
add("repeat_interleave", lambda x: x.repeat_interleave(4, 1), (8, 16, 400))
add("expand_add", lambda x, y: x[:, None, :] + y[:, :, None], (16, 64), (16, 64))
add("cat_many", lambda *x: torch.cat(x, 1), *[(1, 8, 28, 28)] * 12)
add("cat_last", lambda *x: torch.cat(x, -1), *[(1, 512, 20)] * 6)
add("stack_unbind", lambda x: torch.stack([t * 2 for t in x.unbind(1)], 2), (4, 12, 32, 64))
add("split_chunk", lambda x: torch.cat([c.sigmoid() * i for i, c in enumerate(x.chunk(6, 1))], 1), (1, 96, 32, 32))
add("pad_reflect", lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect"), (1, 32, 56, 56))
add("pad_replicate", lambda x: F.pad(x, (2, 2, 2, 2), mode="replicate"), (1, 32, 56, 56))
add("pad_circular", lambda x: F.pad(x, (2, 2, 2, 2), mode="circular"), (1, 32, 56, 56))
add("tril_mask", lambda x: torch.tril(x).softmax(-1), (8, 128, 128))
add("masked_softmax", lambda x: x.masked_fill(torch.ones(128, 128).triu(1).bool(), float("-inf")).softmax(-1), (8, 128, 128))
add("relative_shift", lambda x: F.pad(x, (1, 0)).view(8, 257, 128)[:, 1:].reshape(8, 128, 256)[:, :, :129], (8, 128, 256))
add("slices_strided", lambda x: torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1),
    (1, 56, 56, 48))
# ---- scans, indices, sorting
add("cumsum_last", lambda x: x.cumsum(-1), (64, 1000))
add("cumsum_mid", lambda x: x.cumsum(1), (4, 200, 64))
add("cumprod", lambda x: (x * 0.01 + 1).cumprod(-1), (64, 500))
add("logcumsumexp", lambda x: x.logcumsumexp(-1), (32, 500))
add("cummax", lambda x: x.cummax(-1)[0], (64, 500))
add("cumsum_int", lambda x: x.cumsum(-1), ints(9, 64, 1000))
add("gather_last", lambda x, i: x.gather(-1, i), (64, 1000), ints(1000, 64, 400))
add("gather_rows", lambda x, i: x.gather(1, i[:, :, None].expand(-1, -1, 64)), (4, 400, 64), ints(400, 4, 200))
add("index_select", lambda x, i: x.index_select(1, i), (64, 1000), ints(1000, 500))
add("embedding", lambda w, i: F.embedding(i, w), (5000, 64), ints(5000, 16, 32))
add("advanced_index", lambda x, i, j: x[:, i, j], (4, 50, 50, 16), ints(50, 400), ints(50, 400))
add("take_along", lambda x: x.take_along_dim(x.argsort(-1), -1), (32, 200))
add("scatter_add", lambda x, i, y: x.scatter_add(1, i, y), (64, 500), ints(500, 64, 500), (64, 500))
add("index_add", lambda x, i, y: x.index_add(0, i, y), (500, 64), ints(500, 1000), (1000, 64))
add("scatter_reduce_max", lambda x, i, y: x.scatter_reduce(0, i[:, None].expand(-1, 32), y, "amax"), (300, 32),
    ints(300, 1000), (1000, 32))
add("one_hot", lambda i: F.one_hot(i, 64).float(), ints(64, 16, 50))
module("embedding_bag_sum", lambda: nn.EmbeddingBag(1000, 64, mode="sum"), ints(1000, 64, 20))
module("embedding_bag_mean", lambda: nn.EmbeddingBag(1000, 64, mode="mean"), ints(1000, 64, 20))
module("embedding_bag_max", lambda: nn.EmbeddingBag(1000, 64, mode="max"), ints(1000, 64, 20))
add("topk", lambda x: x.topk(10)[0], (16, 5000))
add("topk_dim1", lambda x: x.topk(5, 1)[1], (4, 100, 64))
add("sort_rows", lambda x: x.sort(-1)[0], (16, 2000))
add("argsort_desc", lambda x: x.argsort(-1, descending=True), (16, 1000))
add("sort_dim0", lambda x: x.sort(0)[0], (100, 64))
add("kthvalue_median", lambda x: x.median(-1)[0], (32, 500))
add("argmax_last", lambda x: x.argmax(-1), (64, 1000))
add("argmax_ch", lambda x: x.argmax(1), (1, 21, 64, 64))
add("max_dim", lambda x: x.max(1)[0], (8, 64, 200))
add("searchsorted", lambda x, y: torch.searchsorted(x.sort(-1)[0], y), (8, 500), (8, 500))
add("where_chain", lambda x, y: torch.where(x > 0, torch.where(y > 1, x, y), torch.where(y < -1, x * y, x + y)), (64, 2000), (64, 2000))
add("clamp_mask", lambda x: x.masked_fill(x < 0, 0.1).clamp(0.05, 2).masked_fill(x > 1, 3.0), (64, 2000))
add("nan_to_num", lambda x: torch.nan_to_num((x > 0).float() / x.relu()), (64, 2000))
add("bucketize", lambda x: torch.bucketize(x, torch.linspace(-2, 2, 32)), (64, 500))
# ---- pooling
add("adaptive_avg_odd", lambda x: F.adaptive_avg_pool2d(x, (7, 5)), (1, 64, 30, 31))
add("adaptive_max_odd", lambda x: F.adaptive_max_pool2d(x, (7, 5)), (1, 64, 30, 31))
add("pyramid_pool", lambda x: torch.cat([F.adaptive_avg_pool2d(x, s).flatten(2) for s in (1, 2, 3, 6)], -1), (1, 64, 33, 33))
add("max_unpool", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), (1, 32, 48, 48))
add("lp_pool", lambda x: F.lp_pool2d(x, 2, 3, 2), (1, 32, 48, 48))
add("avg_pool_1d", lambda x: F.avg_pool1d(x, 25, 1, padding=12), (8, 16, 336))
add("max_pool_3d", lambda x: F.max_pool3d(x, 3, 2, 1), (1, 16, 16, 32, 32))
add("max_pool_5", lambda x: F.max_pool2d(x, 5, 1, 2), (1, 64, 20, 20))
add("avg_pool_ceil", lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), (1, 32, 49, 49))
# ---- norms and reductions
module("local_response_norm", lambda: nn.LocalResponseNorm(5), (1, 64, 28, 28))
module("instance_norm", lambda: nn.InstanceNorm2d(32, affine=True), (2, 32, 40, 40))
module("instance_norm_1d", lambda: nn.InstanceNorm1d(64), (4, 64, 300))
module("group_norm", lambda: nn.GroupNorm(8, 64), (2, 64, 28, 28))
module("rms_norm", lambda: nn.RMSNorm(256), (4, 100, 256))
module("layer_norm_2d", lambda: nn.LayerNorm([32, 20, 20]), (4, 32, 20, 20))
module("layer_norm_channels_first", lambda: LayerNormFirst(96), (1, 96, 28, 28))
add("l2_normalize", lambda x: F.normalize(x, dim=1), (4, 128, 200))
add("l1_normalize", lambda x: F.normalize(x, p=1, dim=-1), (64, 1000))
add("norm_p3", lambda x: torch.linalg.vector_norm(x, 3, -1), (64, 1000))
add("norm_inf", lambda x: torch.linalg.vector_norm(x, float("inf"), -1), (64, 1000))
add("std_rows", lambda x: x.std(-1), (64, 1000))
add("var_odd_axes", lambda x: x.var((0, 2), unbiased=False), (8, 31, 200))
add("std_mean_ch", lambda x: torch.cat(torch.std_mean(x, 1), 0), (4, 64, 300))
add("mean_mid", lambda x: x.mean(1), (8, 100, 64))
add("amax_3d", lambda x: x.amax((1, 3)), (8, 20, 30, 17))
add("prod_rows", lambda x: (x * 0.1 + 1).prod(-1), (64, 500))
add("logsumexp", lambda x: x.logsumexp(-1), (64, 1000))
add("logsumexp_mid", lambda x: x.logsumexp(1), (8, 64, 100))
add("any_all", lambda x: (x > 2).any(-1) | (x > -2).all(-1), (64, 1000))
add("softmax_ch", lambda x: x.softmax(1), (1, 21, 64, 64))
add("log_softmax", lambda x: x.log_softmax(-1), (32, 1000))
add("softmin_temp", lambda x: F.softmin(x / 0.7, -1), (64, 500))
add("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, 1), (64, 128, 10), (64, 128, 10))
# ---- element-wise
for name, function in (("gelu_erf", F.gelu), ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh")), ("softplus", F.softplus),
                       ("mish", F.mish), ("silu", F.silu), ("elu", F.elu), ("hardswish", F.hardswish), ("tanh", torch.tanh),
                       ("sigmoid", torch.sigmoid), ("exp", torch.exp), ("erf", torch.erf), ("log1p", lambda x: torch.log1p(x.abs())),
                       ("sin_cos", lambda x: torch.cat([x.sin(), x.cos()], -1)), ("pow_frac", lambda x: x.abs() ** 2.2),
                       ("atan2", lambda x: torch.atan2(x, x + 1)), ("rsqrt", lambda x: torch.rsqrt(x.abs() + 1)),
                       ("round_mod", lambda x: (x * 7).round() % 3), ("logit", lambda x: torch.logit(x.sigmoid())),
                       ("sinc", torch.sinc), ("erfinv", lambda x: torch.erfinv(x.tanh() * 0.9)),
                       ("lgamma", lambda x: torch.lgamma(x.abs() + 1)), ("digamma", lambda x: torch.digamma(x.abs() + 1)),
                       ("floor_divide", lambda x: torch.floor_divide(x * 10, 3)), ("hypot", lambda x: torch.hypot(x, x + 1)),
                       ("expm1", torch.expm1), ("tan", torch.tan), ("asin", lambda x: torch.asin(x.tanh())),
                       ("sinh", torch.sinh), ("log", lambda x: torch.log(x.abs() + 1e-3)), ("celu_selu", lambda x: F.selu(F.celu(x)))):
    add("fn_" + name, function, (64, 1000))
add("glu", lambda x: F.glu(x, 1), (4, 128, 200))
add("swiglu", lambda x: F.silu(x[..., :256]) * x[..., 256:], (100, 512))
module("prelu_channels", lambda: nn.PReLU(64), (1, 64, 48, 48))
add("rope", lambda x, c, s: x * c + torch.cat([-x[..., 32:], x[..., :32]], -1) * s, (1, 8, 128, 64), (128, 64), (128, 64))
add("rope_interleaved", lambda x, c, s: torch.stack([x[..., ::2] * c - x[..., 1::2] * s, x[..., 1::2] * c + x[..., ::2] * s],
                                                    -1).flatten(-2), (1, 8, 128, 64), (128, 32), (128, 32))
add("int_math", lambda x, y: (x * 3 + y) // 7 % 5, ints(1000, 64, 1000), ints(1000, 64, 1000))
add("bool_logic", lambda x, y: ((x > 0) & (y < 0)) ^ (x < y), (64, 1000), (64, 1000))
add("int_cast", lambda x: (x * 127).to(torch.int8).float() / 127, (64, 1000))
# ---- integers and truth values
def signed(dtype, *shape):
    return lambda: torch.randint(-100, 100, shape).to(dtype)


def truth(*shape):
    return lambda: torch.rand(shape) < 0.5


for name, dtype in (("i64", torch.int64), ("i32", torch.int32), ("u8", torch.uint8)):
    x = (signed(dtype, 64, 1000),) * 2
    for op, function in (("add", lambda x, y: x + y), ("mul", lambda x, y: x * y), ("less", lambda x, y: x < y),
                         ("and_shift", lambda x, y: (x & y) >> 2), ("max", torch.maximum),
                         ("where", lambda x, y: torch.where(x > y, x, y - 1))):
        add(f"{name}_{op}", function, *x)
    add(f"{name}_floor_div", lambda x: x // 7, x[0])
    add(f"{name}_mod", lambda x: x % 7, x[0])
    add(f"{name}_to_float", lambda x: x.float(), x[0])
    add(f"{name}_sum", lambda x: x.sum(-1), x[0])
    add(f"{name}_sum_mid", lambda x: x.sum(1), signed(dtype, 8, 100, 64))
    add(f"{name}_amax", lambda x: x.amax(-1), x[0])
    add(f"{name}_argmax", lambda x: x.argmax(-1), x[0])
add("bool_or_not", lambda x, y: x | ~y, truth(64, 1000), truth(64, 1000))
add("bool_count", lambda x: x.sum(-1), truth(64, 1000))
add("bool_any", lambda x: x.any(-1), truth(64, 1000))
add("bool_all", lambda x: x.all(1), truth(8, 100, 64))
add("bool_to_float", lambda x: x.float(), truth(64, 1000))
add("float_to_i64", lambda x: (x * 100).long(), (64, 1000))
# ---- products
add("bmm_small", lambda x, y: x @ y, (256, 8, 16), (256, 16, 8))
add("bmm_4x4", lambda x, y: x @ y, (1000, 4, 4), (1000, 4, 4))
add("bmm_3x3_points", lambda x, y: x @ y, (64, 100, 3), (64, 3, 3))
add("bmm_broadcast", lambda x, y: x @ y, (16, 4, 32, 48), (4, 48, 32))
add("matvec_batch", lambda x, y: (x @ y[..., None])[..., 0], (32, 64, 128), (32, 128))
add("outer_batch", lambda x, y: x[:, :, None] * y[:, None, :], (64, 32), (64, 48))
add("einsum_bhwc", lambda x, y: torch.einsum("bhwc,hkc->bhwk", x, y), (2, 14, 14, 64), (14, 14, 64))
add("einsum_bilinear", lambda x, w, y: torch.einsum("bi,oij,bj->bo", x, w, y), (32, 24), (16, 24, 24), (32, 24))
add("einsum_diag", lambda x: torch.einsum("bii->bi", x) * 2, (32, 60, 60))
add("einsum_trace3", lambda x, y: torch.einsum("bnqc,bnkc->bnqk", x, y), (2, 8, 100, 32), (2, 8, 100, 32))
add("cdist", lambda x, y: torch.cdist(x, y), (4, 128, 32), (4, 128, 32))
add("cdist_small", lambda x, y: torch.cdist(x, y), (4, 100, 3), (4, 200, 3))
add("cdist_l1", lambda x, y: torch.cdist(x, y, p=1.0), (4, 64, 16), (4, 64, 16))
add("pairwise_sq", lambda x, y: ((x[:, :, None] - y[:, None]) ** 2).sum(-1), (4, 100, 16), (4, 80, 16))
module("bilinear_layer", lambda: nn.Bilinear(24, 24, 16), (64, 24), (64, 24))
add("addmm_trans", lambda a, x, y: torch.addmm(a, x, y.t(), alpha=0.5), (100, 60), (100, 80), (60, 80))
add("gram", lambda x: x.flatten(2) @ x.flatten(2).transpose(1, 2) / 900, (2, 32, 30, 30))
add("sdpa", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (1, 8, 128, 32), (1, 8, 128, 32), (1, 8, 128, 32))
add("linear_attention", lambda q, k, v: (F.elu(q) + 1) @ ((F.elu(k) + 1).transpose(-1, -2) @ v), *[(1, 8, 256, 32)] * 3)
# ---- convolutions
module("deconv1d_grouped", lambda: nn.ConvTranspose1d(32, 32, 4, 2, 1, groups=4), (1, 32, 400))
module("deconv1d_vocoder", lambda: nn.ConvTranspose1d(64, 32, 16, 8, 4), (1, 64, 60))
module("deconv2d", lambda: nn.ConvTranspose2d(32, 16, 4, 2, 1), (1, 32, 24, 24))
module("deconv2d_grouped", lambda: nn.ConvTranspose2d(32, 32, 3, 2, 1, 1, groups=8), (1, 32, 28, 28))
module("deconv2d_depthwise", lambda: nn.ConvTranspose2d(64, 64, 4, 2, 1, groups=64), (1, 64, 28, 28))
module("deconv3d_depthwise", lambda: nn.ConvTranspose3d(16, 16, 3, 2, 1, 1, groups=16), (1, 16, 10, 16, 16))
module("deconv1d_depthwise", lambda: nn.ConvTranspose1d(64, 64, 4, 2, 1, groups=64), (1, 64, 500))
module("deconv3d", lambda: nn.ConvTranspose3d(16, 8, 2, 2), (1, 16, 10, 16, 16))
module("deconv2d_dilated", lambda: nn.ConvTranspose2d(16, 16, 3, 1, 2, dilation=2), (1, 16, 32, 32))
module("depthwise_causal_1d", lambda: nn.Conv1d(64, 64, 4, groups=64, padding=3), (1, 64, 500))
module("depthwise_3d", lambda: nn.Conv3d(32, 32, 3, padding=1, groups=32), (1, 32, 10, 16, 16))
# ---- signals
add("rfft", lambda x: torch.view_as_real(torch.fft.rfft(x)), (16, 1024))
add("fft_pair", lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2), (16, 1000))
add("fft2_filter", lambda x: torch.fft.irfft2(torch.fft.rfft2(x, norm="ortho") * 0.5, norm="ortho"), (4, 16, 14, 14))
add("stft", lambda x: torch.stft(x, 256, 64, window=torch.hann_window(256), return_complex=True).abs(), (1, 8000))
add("complex_mul", lambda x, y: torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(y)), (64, 500, 2), (64, 500, 2))


class LayerNormFirst(nn.Module):
    """Over channels of [N, C, H, W], by hand."""
    def __init__(self, maps):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.rand(maps)), nn.Parameter(torch.rand(maps))

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        var = (x - mean).pow(2).mean(1, keepdim=True)
        return self.weight[:, None, None] * ((x - mean) / torch.sqrt(var + 1e-6)) + self.bias[:, None, None]


class CellLoop(nn.Module):
    def __init__(self, cell, steps, width):
        super().__init__()
        self.cell, self.steps, self.width = cell, steps, width

    def forward(self, x):
        h = torch.zeros(x.shape[1], self.width)
        out = []
        for t in range(self.steps):
            h = self.cell(x[t], h)
            out.append(h)
        return torch.stack(out)


class Scan(nn.Module):
    """A state space recurrence, one step at a time."""
    def __init__(self, steps, width, states):
        super().__init__()
        self.steps = steps
        self.a = nn.Parameter(-torch.rand(width, states))
        self.out = nn.Linear(width, width)

    def forward(self, x, dt, b, c):
        state = torch.zeros(x.shape[0], *self.a.shape)
        ys = []
        for t in range(self.steps):
            d = F.softplus(dt[:, t])[..., None]
            state = state * torch.exp(d * self.a) + d * b[:, t, None] * x[:, t, :, None]
            ys.append((state * c[:, t, None]).sum(-1))
        return self.out(torch.stack(ys, 1))


module("gru_cell_loop", lambda: CellLoop(nn.GRUCell(32, 64), 20, 64), (20, 4, 32))
module("rnn_cell_loop", lambda: CellLoop(nn.RNNCell(32, 64), 30, 64), (30, 4, 32))
module("unrolled_scan", lambda: Scan(40, 64, 16), (1, 40, 64), (1, 40, 64), (1, 40, 16), (1, 40, 16))
module("unrolled_scan_small", lambda: Scan(32, 16, 8), (1, 32, 16), (1, 32, 16), (1, 32, 8), (1, 32, 8))
add("ema_loop", lambda x: torch.stack(ema(x), 1), (8, 60, 64))


def ema(x):
    state, out = x[:, 0], []
    for t in range(x.shape[1]):
        state = state * 0.9 + x[:, t] * 0.1
        out.append(state)
    return out
