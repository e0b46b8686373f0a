# SPDX-License-Identifier: Apache-2.0
"""torch.compile with the backend "bessemer". Skipped where PyTorch does not
have torch.compile, or not for this Python."""
import logging

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn


def can_compile():
    try:
        return torch.compile(lambda x: x + 1, backend="eager")(
            torch.ones(1)).item() == 2
    except Exception:
        return False


if not can_compile():
    pytest.skip("no torch.compile here", allow_module_level=True)

import bessemer.torch  # noqa: E402
from test_torch import ResNet18  # noqa: E402


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)


@pytest.fixture
def regions(caplog):
    """What has become of the regions: (compiled, in PyTorch with reasons)."""
    caplog.set_level(logging.INFO, "bessemer")

    def count():
        texts = [r.getMessage() for r in caplog.records]
        return (sum("was compiled: " in t for t in texts),
                [t for t in texts if "runs in PyTorch" in t])
    return count


def compiled(model, **options):
    options.setdefault("timing", False)
    return torch.compile(model, backend="bessemer", options=options)


def close(made, expected, tolerance=1e-4):
    assert made.shape == expected.shape and made.dtype == expected.dtype
    bound = tolerance * expected.double().abs().max().item() + 1e-6
    assert (made.double() - expected.double()).abs().max().item() <= bound


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        q, k, v = self.qkv(x).reshape(2, 8, 3, 4, 8).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(2, 8, 32))


class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 16)
        self.norm = nn.LayerNorm(16)

    def forward(self, ids):
        return self.norm(self.table(ids)).softmax(-1)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, 2, 1)
        self.up = nn.ConvTranspose2d(8, 3, 2, 2)

    def forward(self, x):
        y = self.up(torch.relu(self.down(x)))
        return torch.cat([x, nn.functional.interpolate(y, scale_factor=1.0)], 1)


MODELS = {
    "resnet18": (lambda: ResNet18(16, 10), (1, 3, 64, 64)),
    "mlp": (lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(),
                                  nn.Linear(16, 4)), (2, 8)),
    "attention": (Attention, (2, 8, 32)),
    "encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(
        32, 4, 64, batch_first=True), 2), (2, 6, 32)),
    "unet": (UNet, (1, 3, 16, 16)),
    "depthwise": (lambda: nn.Sequential(
        nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.Hardswish(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten()), (2, 8, 9, 9)),
    "norms": (lambda: nn.Sequential(
        nn.GroupNorm(2, 8), nn.InstanceNorm2d(8), nn.PReLU(8)), (2, 8, 5, 5)),
    "1d": (lambda: nn.Sequential(
        nn.Conv1d(4, 6, 3, dilation=2), nn.ELU(), nn.MaxPool1d(2)), (2, 4, 16)),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name, regions):
    make, shape = MODELS[name]
    model, x = make().eval(), torch.rand(shape)
    fast = compiled(model)
    with torch.no_grad():
        for _ in range(2):
            close(fast(x), model(x))
    assert regions()[0] >= 1 and regions()[1] == []


def test_torchvision(regions):
    torchvision = pytest.importorskip("torchvision")
    for name, size in (("resnet18", 64), ("mobilenet_v2", 64),
                       ("squeezenet1_1", 64)):
        model = getattr(torchvision.models, name)().eval()
        x = torch.rand(1, 3, size, size)
        with torch.no_grad():
            close(compiled(model)(x), model(x))
    assert regions() == (3, [])


def test_integers_and_embeddings(regions):
    model, ids = Embedded().eval(), torch.randint(0, 50, (2, 7))
    with torch.no_grad():
        close(compiled(model)(ids), model(ids))
    assert regions() == (1, [])


def test_recurrent_networks(regions):
    if not hasattr(torch._dynamo.config, "allow_rnn"):
        pytest.skip("PyTorch keeps recurrent networks out of graphs")
    model, x = nn.LSTM(8, 16, 2, batch_first=True).eval(), torch.rand(2, 5, 8)
    with torch.no_grad(), torch._dynamo.config.patch(allow_rnn=True):
        (made, (h, c)), (expected, states) = compiled(model)(x), model(x)
    for one, other in ((made, expected), (h, states[0]), (c, states[1])):
        close(one, other)
    assert regions() == (1, [])


def test_shapes_that_change(regions):
    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU()).eval()
    fast = compiled(model, max_shapes=3)
    with torch.no_grad():
        for n in (1, 2, 3, 4, 5, 6, 2):
            x = torch.rand(n, 8)
            close(fast(x), model(x))
    made, reasons = regions()
    assert 3 <= made <= 5 and len(reasons) == 1
    assert "max_shapes" in reasons[0]


def test_weights_that_change(regions):
    model = nn.Linear(8, 4).eval()
    fast, x = compiled(model, max_weight_changes=2), torch.rand(2, 8)
    with torch.no_grad():
        for _ in range(5):
            close(fast(x), model(x))
            model.weight.mul_(2)
    made, reasons = regions()
    assert made == 3 and len(reasons) == 1
    assert "weights keep changing" in reasons[0]


class Broken(nn.Module):
    def forward(self, x):
        y = torch.relu(x) + 1
        torch._dynamo.graph_break()
        return (y * 2).cumsum(0), y.shape[0]


def test_graph_breaks(regions):
    x = torch.randn(3, 4)
    made, number = compiled(Broken())(x)
    close(made, ((x.relu() + 1) * 2).cumsum(0))
    assert number == 3
    assert regions() == (2, [])


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x):
        self.count.add_(1)
        return x + self.count


class Views(nn.Module):
    def forward(self, x):
        return x.view(-1), x + 1


@pytest.mark.parametrize("model, why", [
    (Counts, "writes to"), (Views, "returns memory of its arguments")])
def test_effects_stay_in_pytorch(model, why, regions):
    model, x = model(), torch.zeros(3)
    fast = compiled(model)
    first = fast(x)
    if isinstance(model, Counts):
        assert first.tolist() == [1, 1, 1] and fast(x).tolist() == [2, 2, 2]
    else:
        first[0].add_(5)
        assert x.tolist() == [5, 5, 5]
    made, reasons = regions()
    assert made == 0 and why in reasons[0]


def test_gradients_stay_in_pytorch(regions):
    x = torch.ones(3, requires_grad=True)
    compiled(lambda x: (x * x).sum())(x).backward()
    assert x.grad.tolist() == [2, 2, 2]
    assert regions()[0] == 0 and "gradients" in regions()[1][0]


@torch.library.custom_op("bessemer_tests::strange", mutates_args=())
def strange(x: torch.Tensor) -> torch.Tensor:
    return x * 3


@strange.register_fake
def _(x):
    return torch.empty_like(x)


def test_unknown_operators_stay_in_pytorch(regions):
    def program(x):
        return strange(x) + 1

    x = torch.rand(3)
    close(compiled(program)(x), x * 3 + 1)
    made, reasons = regions()
    assert made == 0 and "strange" in reasons[0]
    torch._dynamo.reset()
    with pytest.raises(Exception, match="require_full_compilation"):
        compiled(program, require_full_compilation=True)(x)


def test_small_regions(regions):
    x = torch.rand(3)
    close(compiled(lambda x: x * 3 + 1, min_block_size=5)(x), x * 3 + 1)
    assert regions()[0] == 0 and "min_block_size" in regions()[1][0]


def test_options_are_checked():
    with pytest.raises(Exception, match="no option.*speed"):
        compiled(lambda x: x + 1, speed=1)(torch.ones(2))
    with pytest.raises(Exception, match="no modes"):
        bessemer.torch.backend(None, [], mode="max-autotune")


def test_inference_mode(regions):
    model, x = ResNet18(8, 10).eval(), torch.rand(1, 3, 32, 32)
    with torch.inference_mode():
        close(compiled(model)(x), model(x))
    assert regions() == (1, [])


def test_the_backend_is_listed():
    assert "bessemer" in torch._dynamo.list_backends()
