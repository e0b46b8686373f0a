# SPDX-License-Identifier: Apache-2.0
"""Models that PyTorch has quantized, as tests/compiler/quantized_models_test.c runs them.

Writes beside this script NAME.ts and NAME.npz, for each model: in_0.., out_0.. by PyTorch's CPU (engine x86), and step_0..,
the scale of the grid that an output lies on (0 for outputs that lie on none). Names as arguments make only those; the name
"seeds" makes fuzz/corpus/module/packed_*, archives of packed parameters as fuzz/module_fuzz.c takes them. Paths of archives make
vDIGITS_quant_*.ts, copies of what PyTorch of that version wrote, and what the present one computes with them.
Models named torchao_* and pt2e_* are programs of torch.export, NAME.pt2, and take torchao (0.18).
Needs torch 2.6 or later, numpy; the tests need neither. Weights are random, the models are small.
"""
import io
import os
import shutil
import struct
import sys
import warnings
import zipfile

import numpy as np
import torch
import torch.ao.nn.quantized as nnq
import torch.nn.functional as F
from torch import nn
from torch.ao import quantization as tq
from torch.ao.quantization import quantize_fx

warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts"))
import relative_paths

HERE = os.path.dirname(os.path.abspath(__file__))


class Eager(nn.Module):
    """A net between stubs: what quantization in eager mode asks for."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = tq.QuantStub(), tq.DeQuantStub()

    def forward(self, x):
        return self.dequant(self.net(self.quant(x)))


class Residual(Eager):
    """Convolutions fused with norms and activations, a sum, pooling, linear layers."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, self.relu1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()
        self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.conv3, self.relu3 = nn.Conv2d(8, 12, 3, stride=2, groups=4), nn.ReLU()
        self.add = nnq.FloatFunctional()
        self.fc1, self.relu4, self.fc2 = nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 5)

    fused = [["conv1", "bn1", "relu1"], ["conv2", "bn2"], ["conv3", "relu3"], ["fc1", "relu4"]]

    def net(self, x):
        y = self.relu1(self.bn1(self.conv1(x)))
        y = self.add.add_relu(y, self.bn2(self.conv2(y)))
        y = F.max_pool2d(y, 2)
        y = self.relu3(self.conv3(y))
        y = F.adaptive_avg_pool2d(y, 1).flatten(1)
        return self.fc2(self.relu4(self.fc1(y)))


class Mobile(Eager):
    """Depthwise convolutions, gates, branches of several scales, resizing."""

    fused = []

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.act = nn.Hardswish()
        self.depth = nn.Conv2d(8, 8, 5, padding=2, groups=8)
        self.relu6 = nn.ReLU6()
        self.squeeze, self.gate = nn.Conv2d(8, 4, 1), nn.Hardsigmoid()
        self.relu = nn.ReLU(inplace=True)
        self.expand = nn.Conv2d(4, 8, 1)
        self.point = nn.Conv2d(8, 6, 1)
        self.mul, self.cat, self.add = nnq.FloatFunctional(), nnq.FloatFunctional(), nnq.FloatFunctional()
        self.head = nn.Conv2d(12, 4, 3, padding=1, padding_mode="reflect")

    def net(self, x):
        y = self.act(self.stem(x))
        y = self.relu6(self.depth(y))
        s = self.gate(self.expand(self.relu(self.squeeze(y.mean([2, 3], keepdim=True)))))
        y = self.point(self.mul.mul(y, s))
        a = F.interpolate(y, scale_factor=2.0, mode="nearest")
        b = F.interpolate(y, scale_factor=2.0, mode="bilinear", align_corners=False)
        y = self.cat.cat([a, b], dim=1)
        y = F.avg_pool2d(self.head(y), 2)
        y = self.add.add_scalar(self.mul.mul_scalar(y, 1.5), 0.25)
        return y.transpose(1, 3).contiguous()[:, 1:, ::2]


class Layers(Eager):
    """A layer of each kind with packed parameters or a grid of its own."""

    fused = []

    def __init__(self):
        super().__init__()
        self.conv1d = nn.Conv1d(4, 6, 3, padding=1)
        self.up = nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1)
        self.conv3d = nn.Conv3d(1, 3, 3, padding=1)
        self.bn2, self.bn3 = nn.BatchNorm2d(4), nn.BatchNorm3d(3)
        self.elu, self.leaky = nn.ELU(), nn.LeakyReLU(0.1)
        self.sigmoid, self.tanh, self.hardtanh = nn.Sigmoid(), nn.Tanh(), nn.Hardtanh(-0.5, 0.5)
        self.drop = nn.Dropout(0.2)
        self.layer, self.group, self.instance = nn.LayerNorm(8), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True)
        self.matmul = nnq.FloatFunctional()

    def net(self, x):  # (2, 4, 8)
        y = self.leaky(self.conv1d(x))
        y = y.reshape(2, 6, 2, 4)
        y = self.bn2(self.up(y))  # (2, 4, 4, 8)
        y = self.drop(self.layer(y))
        y = self.instance(self.group(y))
        z = self.elu(self.bn3(self.conv3d(y.unsqueeze(1))))  # (2, 3, 4, 4, 8)
        z = z.flatten(2, 3)  # (2, 3, 16, 8)
        w = self.matmul.matmul(z, z.transpose(2, 3))
        w = self.tanh(w)
        return self.hardtanh(self.sigmoid(w))


class Dynamic(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(16, 5)
        self.fc1, self.fc2 = nn.Linear(5, 7), nn.Linear(7, 3)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        z, g = self.gru(y)
        return self.fc2(torch.relu(self.fc1(z))), h, c, g


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.rnn = nn.LSTMCell(6, 4), nn.GRUCell(4, 5), nn.RNNCell(5, 4, nonlinearity="relu")

    def forward(self, x):
        h, c = self.lstm(x)
        g = self.gru(h)
        return self.rnn(g), c


class Words(nn.Module):
    """Embeddings of 8 bits and bags of 8 and 4 bits."""

    def __init__(self):
        super().__init__()
        self.words, self.bag = nn.Embedding(20, 8), nn.EmbeddingBag(20, 8, mode="sum", include_last_offset=True)

    def forward(self, i, offsets):
        return self.words(i), self.bag(i, offsets)


class Operators(nn.Module):
    """Operators on quantized tensors that have no module."""

    def forward(self, x):  # (2, 4, 6, 6)
        q = torch.quantize_per_tensor(x, 0.03, 60, torch.quint8)
        s = torch.quantize_per_tensor(x, 0.03, -5, torch.qint8)
        written = q.clone()
        written[:, 1].relu_()
        whole = F.hardtanh_(F.relu_(s.clone()), -0.2, 0.9)
        parts = torch.split(q, 2, 1)
        first, second = torch.chunk(s, 2, -1)
        values, places = torch.topk(q.flatten(1), 3)
        per_channel = torch.quantize_per_channel(
            x, torch.tensor([0.02, 0.03, 0.04, 0.05]), torch.tensor([0, 1, 2, 3]), 1, torch.qint8)
        results = [
            written, whole, torch.clamp(q, -0.4, 0.7), torch.tanh(s), torch.sigmoid(s), F.gelu(q),
            F.leaky_relu(q, 0.2), F.threshold(q, 0.1, 0.05), F.relu6(s), F.hardsigmoid(q),
            F.max_pool1d(q.flatten(1, 2), 3, 2), F.max_pool2d(s, 3, 2, 1), F.max_pool3d(q.unsqueeze(1), 2),
            F.avg_pool2d(q, 2, ceil_mode=True), F.avg_pool3d(s.unsqueeze(2), [1, 2, 2]), F.adaptive_avg_pool2d(s, 4),
            F.interpolate(q, size=[9, 11]), F.interpolate(s, scale_factor=1.5, mode="bilinear"),
            F.pad(q, [1, 2, 0, 1], value=0.5), F.pad(s, [1, 2, 2, 1], mode="reflect"),
            q.mean([1, 3]), s.mean(), q.permute(0, 2, 3, 1)[..., 1:3], s.transpose(1, 2).reshape(2, -1),
            parts[0], torch.cat([parts[1], parts[0], q], 1), torch.stack([first, second], 1), q.unbind(1)[2],
            torch.flip(q, [1, 3]), torch.index_select(s, 2, torch.tensor([4, 0])), F.pixel_shuffle(q, 2),
            q.unsqueeze(0).expand(2, 2, 4, 6, 6), q[:, ::2, 1:, -1], q.max(1)[0], s.min(), values,
            torch.sort(s, -1)[0], torch.ops.quantized.add(q, q, 0.05, 50), torch.ops.quantized.mul_relu(s, s, 0.02, -60),
            torch.ops.quantized.add_scalar(q, 0.4), torch.ops.quantized.mul_scalar(s, -2.0),
            torch.ops.quantized.softmax(s, 1, 1 / 256, -128), torch.ops.quantized.cat([q, q], 2, 0.05, 40), per_channel,
            torch._make_per_tensor_quantized_tensor(q.int_repr(), 0.5, 3)]
        plain = [q.int_repr().float() - q.q_zero_point(), torch.lt(q, s).float(), torch.eq(s, 0.0).float(),
                 places.float(), x * q.q_scale(), s.int_repr().flatten(1).float() * float(s.is_quantized)]
        return tuple([r.dequantize() for r in results] + plain)


def images():
    return (torch.randn(2, 3, 10, 12),)


def eager(cls, inputs, backend="x86"):
    model = cls().eval()
    if cls.fused:
        tq.fuse_modules(model, cls.fused, inplace=True)
    torch.backends.quantized.engine = backend
    model.qconfig = tq.get_default_qconfig(backend)
    for module in model.modules():
        if isinstance(module, nn.ConvTranspose2d):
            module.qconfig = tq.get_default_qconfig("qnnpack")
    tq.prepare(model, inplace=True)
    for _ in range(3):
        model(*inputs())
    return tq.convert(model)


class Branches(nn.Module):
    """For FX: functions in place of modules, an input that is used twice."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.bn = nn.BatchNorm2d(8)
        self.left, self.right = nn.Conv2d(8, 4, 1), nn.Conv2d(8, 4, 3, padding=1)
        self.fc = nn.Linear(8, 6)

    def forward(self, x):
        y = F.relu(self.bn(self.conv(x)))
        y = torch.cat([self.left(y), F.relu(self.right(y))], 1)
        z = F.hardswish(y) * torch.sigmoid(y) + y
        z = F.relu(z + 1.5)
        z = F.avg_pool2d(z, 2).permute(0, 2, 3, 1)
        return F.leaky_relu(self.fc(z)), z.mean()


def fx(inputs):
    model = quantize_fx.prepare_fx(Branches().eval(), tq.get_default_qconfig_mapping("x86"), inputs())
    for _ in range(3):
        model(*inputs())
    return quantize_fx.convert_fx(model)


def qat(inputs, converted):
    model = Residual().train()
    tq.fuse_modules_qat(model, Residual.fused, inplace=True)
    model.qconfig = tq.get_default_qat_qconfig("x86")
    tq.prepare_qat(model, inplace=True)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for _ in range(3):
        loss = model(*inputs()).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    model.apply(tq.disable_observer)
    return tq.convert(model) if converted else model


def words(bits):
    model = Words().eval()
    model.words.qconfig = tq.float_qparams_weight_only_qconfig
    model.bag.qconfig = tq.float_qparams_weight_only_qconfig if bits == 8 else tq.float_qparams_weight_only_qconfig_4bit
    tq.prepare(model, inplace=True)
    return tq.convert(model)


def step_of(values):
    """The least distance of two values, when all are on a grid of it: the scale that an output was quantized with. Few values
    do not tell; they are compared exactly."""
    if len(np.unique(values)) < 8:
        return 0.0
    apart = np.diff(np.unique(values.astype(np.float64)))
    step = apart[apart > 1e-6].min() if values.size > 1 and (apart > 1e-6).any() else 0.0
    places = values / step if step else np.array([0.5])
    return step if np.abs(places - np.round(places)).max() < 1e-2 else 0.0


def sequences():
    return (torch.randn(3, 7, 6),)


def indices():
    return (torch.randint(0, 20, (9,)), torch.tensor([0, 2, 5, 9]))


def models():
    yield "residual_script", lambda: eager(Residual, images), images, torch.jit.script
    yield "residual_trace", lambda: eager(Residual, images), images, "trace"
    yield "residual_fbgemm", lambda: eager(Residual, images, "fbgemm"), images, "trace"
    yield "residual_qnnpack", lambda: eager(Residual, images, "qnnpack"), images, torch.jit.script
    yield "residual_onednn", lambda: eager(Residual, images, "onednn"), images, torch.jit.script
    yield "mobile_script", lambda: eager(Mobile, images), images, torch.jit.script
    yield "mobile_trace", lambda: eager(Mobile, images), images, "trace"
    yield "layers_trace", lambda: eager(Layers, rows), rows, "trace"
    yield "operators_trace", Operators, lambda: (torch.randn(2, 4, 6, 6),), "trace"
    yield "fx_script", lambda: fx(images), images, torch.jit.script
    yield "fx_trace", lambda: fx(images), images, "trace"
    yield "qat_fake", lambda: qat(images, False), images, "trace"
    yield "qat_converted", lambda: qat(images, True), images, torch.jit.script
    yield "dynamic_script", lambda: tq.quantize_dynamic(
        Dynamic().eval(), {nn.LSTM, nn.GRU, nn.Linear}, torch.qint8), sequences, torch.jit.script
    yield "dynamic_trace", lambda: tq.quantize_dynamic(
        Dynamic().eval(), {nn.LSTM, nn.GRU, nn.Linear}, torch.qint8), sequences, "trace"
    yield "dynamic_half", lambda: tq.quantize_dynamic(
        Dynamic().eval(), {nn.LSTM, nn.GRU, nn.Linear}, torch.float16), sequences, torch.jit.script
    yield "cells", lambda: tq.quantize_dynamic(
        Cells().eval(), {nn.LSTMCell, nn.GRUCell, nn.RNNCell}, torch.qint8), lambda: (torch.randn(3, 6),), torch.jit.script
    yield "words_8bit", lambda: words(8), indices, torch.jit.script
    yield "words_4bit", lambda: words(4), indices, torch.jit.script


def exported(name):
    """A model that torchao has quantized: its weights and, as they come, its activations; or by PT2E."""
    from torchao import quantization as ao
    from torchao.utils import unwrap_tensor_subclass
    if name == "pt2e_static":
        return pt2e()
    how = {"torchao_weights": ao.Int8WeightOnlyConfig(), "torchao_dynamic": ao.Int8DynamicActivationInt8WeightConfig(),
           "torchao_4bit": ao.Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4)}[name]
    model = nn.Sequential(nn.Linear(64, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 8)).eval()
    ao.quantize_(model, how)
    unwrap_tensor_subclass(model)
    return model, (torch.randn(6, 64),)


def pt2e():
    from torchao.quantization.pt2e import quantize_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86
    given = images()
    quantizer = x86.X86InductorQuantizer()
    quantizer.set_global(x86.get_default_x86_inductor_quantization_config())
    batch = {0: torch.export.Dim("batch", min=1, max=18)}
    model = torch.export.export(Branches().eval(), given, dynamic_shapes=(batch,), strict=True).module()
    model = quantize_pt2e.prepare_pt2e(model, quantizer)
    for _ in range(3):
        model(*images())
    return quantize_pt2e.convert_pt2e(model), given


def write_exported(name):
    model, given = exported(name)
    batch = {0: torch.export.Dim("batch", min=1, max=18)}
    with torch.no_grad():
        program = torch.export.export(model, given, dynamic_shapes=(batch,))
        out = program.module()(*given)
    outs = out if isinstance(out, tuple) else (out,)
    torch.export.save(program, os.path.join(HERE, name + ".pt2"))
    relative_paths.rewrite(os.path.join(HERE, name + ".pt2"))
    write_arrays(name, given, outs)


def write_arrays(name, given, outs):
    arrays = {f"in_{i}": t.numpy() for i, t in enumerate(given)}
    arrays.update({f"out_{i}": t.numpy() for i, t in enumerate(outs)})
    steps = [step_of(t.numpy()) for t in outs]
    arrays.update({f"step_{i}": np.float64(s) for i, s in enumerate(steps)})
    path = os.path.join(HERE, name)
    np.savez_compressed(path + ".npz", **arrays)
    file = path + (".pt2" if os.path.exists(path + ".pt2") else ".ts")
    print(name, os.path.getsize(file), [tuple(t.shape) for t in outs], steps)


def rows():
    return (torch.randn(2, 4, 8),)


class Packed(nn.Module):
    def __init__(self, linear: bool):
        super().__init__()
        if linear:
            w = torch.quantize_per_tensor(torch.randn(2, 3), 0.1, 0, torch.qint8)
            self.p = torch.ops.quantized.linear_prepack(w, None)
        else:
            w = torch.quantize_per_tensor(torch.randn(2, 1, 2, 2), 0.1, 0, torch.qint8)
            self.p = torch.ops.quantized.conv2d_prepack(w, None, [1, 1], [0, 0], [1, 1], 1)


class PackedLinear(Packed):
    def forward(self, x):
        q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
        return torch.ops.quantized.linear(q, self.p, 0.2, 4).dequantize()


class PackedConvolution(Packed):
    def forward(self, x):
        q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
        return torch.ops.quantized.conv2d_relu(q, self.p, 0.2, 4).dequantize()


def write_seeds():
    """Each member as its place in the list of names there, its length in two bytes, and its bytes."""
    names = ["data.pkl", "constants.pkl", "code/__torch__.py", None, None, "data/0", "data/1", None, "version"]
    torch.backends.quantized.engine = "x86"
    for name, module in (("packed_linear", PackedLinear(True)), ("packed_convolution", PackedConvolution(False))):
        file = io.BytesIO()
        torch.jit.save(torch.jit.script(module), file)
        seed = b""
        with zipfile.ZipFile(file) as archive:
            for member in sorted(archive.namelist()):
                inner = member.split("/", 1)[1]
                if inner in names:
                    data = archive.read(member)
                    seed += bytes([names.index(inner)]) + struct.pack("<H", len(data)) + data
        folder = os.path.join(HERE, "..", "..", "..", "fuzz", "corpus", "module")
        with open(os.path.join(folder, name), "wb") as out:
            out.write(seed)
        print(name, len(seed))


def write_archive(path):
    """An archive that another version of PyTorch wrote, as FOLDER/v113/quant_trace.pt."""
    folder, file = os.path.split(path)
    name = os.path.basename(folder) + "_" + os.path.splitext(file)[0]
    shutil.copyfile(path, os.path.join(HERE, name + ".ts"))
    relative_paths.rewrite(os.path.join(HERE, name + ".ts"))
    given = (torch.randn(1, 3, 4, 4),)
    with torch.no_grad():
        write_arrays(name, given, (torch.jit.load(path)(*given),))


def main():
    for path in sys.argv[1:]:
        if path.endswith(".pt"):
            torch.manual_seed(1)
            write_archive(path)
    if "seeds" in sys.argv[1:]:
        torch.manual_seed(1)
        write_seeds()
    for name, make, inputs, how in models():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        torch.manual_seed(1)
        torch.backends.quantized.engine = "x86"
        model = make().eval()
        given = inputs()
        with torch.no_grad():
            saved = torch.jit.trace(model, given, check_trace=False) if how == "trace" else how(model)
            out = saved(*given)
        outs = out if isinstance(out, tuple) else (out,)
        saved.save(os.path.join(HERE, name + ".ts"))
        relative_paths.rewrite(os.path.join(HERE, name + ".ts"))
        write_arrays(name, given, outs)
    for name in ("torchao_weights", "torchao_dynamic", "torchao_4bit", "pt2e_static"):
        if not sys.argv[1:] or name in sys.argv[1:]:
            torch.manual_seed(1)
            write_exported(name)


if __name__ == "__main__":
    main()
