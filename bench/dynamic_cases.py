# SPDX-License-Identifier: Apache-2.0
"""What dynamic.py runs: models, and how their inputs range.

A case is (name, source, inputs, ranges). `source` is ("zoo", entry) or
("script" | "trace" | "freeze", a function that makes the module). An input is
(kind, dims): "float32", "image" (values from 0 to 1), "ids:HIGH" (int64 below
HIGH), "mask" (ones, then zeros), "int:LOW:HIGH" (a number given when running).
A dim that is a letter ranges, as `ranges` says: (min, opt, max), or (min, opt,
max, step) for a model that takes only every so many."""
import torch
from torch import nn
import torch.nn.functional as F

ANY_IMAGE = ("float32", ("B", 3, "H", "W"))
SIZES = {"B": (1, 1, 4), "H": (33, 64, 100), "W": (33, 64, 97)}
SMALL_SIZES = {"B": (1, 1, 3), "H": (32, 48, 65), "W": (32, 40, 63)}
TEXT = {"B": (1, 1, 3), "S": (3, 16, 40)}


def ids(batch="B", length="S", high=1000):
    return (f"ids:{high}", (batch, length))


# ------------------------------------------------------------------ our models
class AdaptiveNet(nn.Module):
    """Adaptive pooling, flatten and a branch on the shape."""

    def __init__(self):
        super().__init__()
        self.c1, self.n1 = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.c2 = nn.Conv2d(16, 32, 3, stride=2, padding=1, groups=2)
        self.pool, self.fc = nn.AdaptiveAvgPool2d((3, 2)), nn.Linear(192, 10)

    def forward(self, x):
        x = F.relu(self.n1(self.c1(x)))
        if x.size(2) > x.size(3):
            x = x.transpose(2, 3)
        x = F.hardswish(self.c2(x))
        return self.fc(torch.flatten(self.pool(x), 1))


class Causal(nn.Module):
    """A transformer that makes its mask and positions from the sequence."""

    def __init__(self, d=64, heads=4):
        super().__init__()
        self.emb, self.pos = nn.Embedding(100, d), nn.Embedding(64, d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.heads = heads

    def forward(self, ids):
        b, s = ids.shape
        x = self.emb(ids) + self.pos(torch.arange(s, device=ids.device))
        q, k, v = self.qkv(self.n1(x)).chunk(3, -1)
        q = q.view(b, s, self.heads, -1).transpose(1, 2)
        k = k.view(b, s, self.heads, -1).transpose(1, 2)
        v = v.view(b, s, self.heads, -1).transpose(1, 2)
        mask = torch.full((s, s), float("-inf")).triu(1)
        a = torch.softmax(q @ k.transpose(-2, -1) * 0.25 + mask, -1) @ v
        x = x + self.out(a.transpose(1, 2).reshape(b, s, -1))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Pyramid(nn.Module):
    """Interpolation to the size of another, cat, slices by size."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 16, 3, 2, 1)
        self.side, self.head = nn.Conv2d(8, 16, 1), nn.Conv2d(32, 4, 3, 1, 1)

    def forward(self, x):
        a = F.relu(self.a(x))
        b = F.relu(self.b(a))
        up = F.interpolate(b, size=a.shape[2:], mode="bilinear",
                           align_corners=False)
        y = self.head(torch.cat([up, self.side(a)], 1))
        h, w = y.size(2) // 2, y.size(3) // 2
        left, rest = y[:, :, :h, :w], y[:, :, -h:, -w:]
        grid = torch.arange(h * w, dtype=torch.float32).view(1, 1, h, w)
        return (left * rest + grid / (h * w), F.interpolate(y, scale_factor=2.0),
                y.flatten(2).softmax(-1).sum(1))


class Packed(nn.Module):
    """Several inputs that share the batch, and a mask of lengths."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(12, 24, num_layers=2, bidirectional=True,
                            batch_first=True)
        self.gru = nn.GRU(12, 16, batch_first=True)
        self.fc = nn.Linear(48, 16)

    def forward(self, x, lengths, state):
        y, _ = self.lstm(x)
        g, h = self.gru(x, state)
        steps = torch.arange(x.size(1)).expand(x.size(0), x.size(1))
        mask = (steps < lengths.unsqueeze(1)).unsqueeze(-1)
        z = (torch.tanh(self.fc(y)) + g).masked_fill(~mask, 0.0)
        return z.sum(1) / lengths.unsqueeze(1).clamp(min=1), h


class Decoder(nn.Module):
    """Transposed convolutions, group norm and pixel shuffle."""

    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(4, 16, 4, 2, 1)
        self.gn, self.c = nn.GroupNorm(4, 16), nn.Conv2d(16, 12, 3, padding=1)

    def forward(self, z):
        y = F.silu(self.gn(self.up(z)))
        y = F.pixel_shuffle(self.c(F.max_pool2d(y, 3, 1, 1)), 2)
        return torch.sigmoid(F.pad(y, (1, 2, 1, 0), mode="reflect"))


class HuggingFace(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.m = model

    def forward(self, ids, mask):
        return self.m(input_ids=ids, attention_mask=mask, return_dict=False)


def small_bert():
    from transformers import BertConfig, BertModel
    return HuggingFace(BertModel(BertConfig(
        vocab_size=500, hidden_size=96, num_hidden_layers=2,
        num_attention_heads=4, intermediate_size=192)))


def vision(name, **kwargs):
    import torchvision
    return lambda: getattr(torchvision.models, name)(weights=None, **kwargs)


def lraspp():
    from torchvision.models import segmentation
    return segmentation.lraspp_mobilenet_v3_large(weights=None,
                                                  weights_backbone=None)


def encoder():
    layer = nn.TransformerEncoderLayer(48, 4, 96, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


MASKED_TEXT = [("ids:500", ("B", "S")), ("mask", ("B", "S"))]
FIXED_BATCH = {"H": (33, 64, 100), "W": (33, 64, 97)}


def zoo_cases():
    """Every entry of the zoo, in each form that it is saved in."""
    def rows(entries, inputs, ranges):
        return [(f"zoo/{e}", ("zoo", e), inputs, ranges) for e in entries]

    image, text = [ANY_IMAGE], [ids(high=128)]
    unet = [("float32", ("B", 3, "H", "W"))]
    return [
        *rows(("lenet", "lenet-trace"), [("float32", ("B", 1, 28, 28))],
              {"B": (1, 1, 9)}),
        *rows(("mlp", "mlp-trace", "mlp-frozen"), [("float32", ("B", 784))],
              {"B": (1, 1, 40)}),
        *rows(("resnet18", "resnet18-trace", "resnet18-frozen", "resnet50",
               "squeezenet1_1", "squeezenet1_1-trace", "mobilenet_v2",
               "mobilenet_v2-trace", "mobilenet_v3_large",
               "mobilenet_v3_large-frozen", "efficientnet_b0",
               "efficientnet_b0-trace"), image, SIZES),
        *rows(("resnet50_b8", "mobilenet_v2_b8"), image,
              {"B": (1, 2, 9), "H": (33, 40, 65), "W": (33, 40, 65)}),
        *rows(("alexnet",), image, {"B": (1, 1, 4), "H": (63, 64, 120),
                                    "W": (63, 64, 120)}),
        *rows(("vgg16",), image, SMALL_SIZES),
        *rows(("unet", "unet-frozen"), unet,
              {"B": (1, 1, 2), "H": (16, 48, 64, 16), "W": (16, 32, 80, 16)}),
        # Only multiples of 16 fit together.
        ("zoo/unet any size", ("zoo", "unet"), unet,
         {"B": (1, 1, 2), "H": (32, 32, 48), "W": (32, 48, 48)}),
        *rows(("vit_b_16",), [("float32", ("B", 3, 224, 224))],
              {"B": (1, 1, 3)}),
        *rows(("ssd300_vgg16",), [("image", ("B", 3, "H", "W"))],
              {"B": (1, 1, 2), "H": (200, 300, 400), "W": (200, 300, 400)}),
        *rows(("lstm", "lstm-trace", "lstm-frozen"), text, TEXT),
        *rows(("transformer_encoder", "transformer_encoder-trace"), [ids()],
              {"B": (1, 1, 5), "S": (1, 32, 64)}),
        *rows(("bert_base",), [ids(), ("mask", ("B", "S")),
                               ("ids:2", ("B", "S"))],
              {"B": (1, 1, 3), "S": (2, 16, 32)}),
        *rows(("gpt2",), [ids(1)], {"S": (2, 8, 24)}),
        # The trace fixes the batch.
        ("zoo/gpt2 batch", ("zoo", "gpt2"), [ids()],
         {"B": (1, 1, 3), "S": (2, 8, 24)}),
        *rows(("ctrlflow", "ctrlflow-frozen"),
              [("float32", ("B", 16)), ("int:1:30", ())], {"B": (1, 4, 16)}),
    ]


def detector(name, noise=0.0, **kwargs):
    """`noise` on the weights tells scores apart that are the same without."""
    def make():
        import torchvision

        class Detector(nn.Module):
            def __init__(self, m):
                super().__init__()
                self.m = m

            def forward(self, x):
                losses, found = self.m([x[0]])
                d = found[0]
                return d["boxes"], d["scores"], d["labels"]

        model = getattr(torchvision.models.detection, name)(
            weights=None, weights_backbone=None, **kwargs)
        for x in model.parameters():
            x.add_(torch.randn_like(x) * noise)
        return Detector(model)
    return make


def more_cases():
    """Models that are made here, each for something that shapes can do."""
    def both(name, make, inputs, ranges, hows=("script", "trace")):
        return [(f"{name}-{how}", (how, make), inputs, ranges) for how in hows]

    sides = {"B": (1, 1, 3), "H": (9, 16, 40), "W": (9, 24, 40)}
    found = {"H": (60, 96, 130), "W": (60, 80, 130)}
    small = {"min_size": 96, "max_size": 160}
    return [
        *both("adaptive", AdaptiveNet, [ANY_IMAGE],
              {"B": (1, 1, 3), "H": (5, 16, 33), "W": (5, 12, 40)},
              ("script",)),
        *both("causal", Causal, [ids(high=100)], TEXT),
        *both("pyramid", Pyramid, [ANY_IMAGE], sides),
        *both("packed", Packed,
              [("float32", ("B", "S", 12)), ("ids:20", ("B",)),
               ("float32", (1, "B", 16))], {"B": (1, 2, 6), "S": (1, 8, 20)},
              ("script",)),
        *both("decoder", Decoder, [("float32", ("B", 4, "H", "W"))],
              {"B": (1, 1, 3), "H": (2, 8, 16), "W": (2, 8, 16)}),
        *both("bert-small", small_bert, MASKED_TEXT, TEXT, ("trace",)),
        *both("encoder", encoder, [("float32", ("B", "S", 48))], TEXT),
        *both("shufflenet", vision("shufflenet_v2_x0_5"), [ANY_IMAGE], SIZES),
        *both("densenet", vision("densenet121"), [ANY_IMAGE], SIZES,
              ("script",)),
        *both("googlenet", vision("googlenet", init_weights=False),
              [ANY_IMAGE], SIZES, ("script",)),
        *both("lraspp", lraspp, [ANY_IMAGE], SIZES),
        *both("swin", vision("swin_t"), [ANY_IMAGE],
              {"B": (1, 1, 2), "H": (32, 64, 130), "W": (32, 96, 130)}),
        *both("detect-retinanet", detector("retinanet_resnet50_fpn", **small),
              [("image", (1, 3, "H", "W"))], found, ("script",)),
        *both("detect-fasterrcnn",
              detector("fasterrcnn_mobilenet_v3_large_320_fpn", 0.02,
                       box_score_thresh=0.001, **small),
              [("image", (1, 3, "H", "W"))], found, ("script",)),
    ]


CASES = zoo_cases() + more_cases()
