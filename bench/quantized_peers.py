#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""int8 beside other runtimes: the same model, calibrated by the same data, in
Bessemer, in ONNX Runtime (QDQ) and in OpenVINO, which reads ONNX Runtime's file.

  quantized_peers.py BESSEMER DIR [--models resnet18,...] [--threads N]
                     [--rounds N] [--isa NAME] [--also NAME,...] [--alone]
                     [--reuse]

Prints a table in Markdown: for each model the signal-to-noise ratio of the
outputs against PyTorch's in float32, on inputs that nothing was calibrated with,
how many answers (greatest outputs) are PyTorch's, and the least milliseconds of
CPU time of all rounds, in which the runtimes take turns. All runtimes quantize by the
greatest and least values, activations to uint8 and weights per channel. Weights
are random, but norms have seen data. --also adds engines in float32 and int8 for
other instruction sets, in the same turns; --alone leaves the other runtimes out.
DIR keeps what was made; --reuse takes models, calibrations and ONNX files from
there. Needs torch, torchvision,
transformers, numpy, onnx, onnxruntime and openvino."""
import argparse
import os
import re
import subprocess
import time

import numpy as np
import torch
import torchvision

CALIBRATION, HELD_BACK = 8, 8
torch.backends.mha.set_fastpath_enabled(False)  # one operator, in a trace


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(256, 8, 1024, 0.0, "gelu",
                                                 batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 4,
                                                  enable_nested_tensor=False)
        self.head = torch.nn.Linear(256, 1000)

    def forward(self, x):
        return self.head(self.layers(x).mean(1))


class Bert(torch.nn.Module):
    """bert_base, which gives the states of all tokens."""

    def __init__(self):
        super().__init__()
        import transformers
        config = transformers.BertConfig(attn_implementation="eager")
        self.bert = transformers.BertModel(config, add_pooling_layer=False)

    def forward(self, ids):
        return self.bert(ids, torch.ones_like(ids)).last_hidden_state


class Lstm(torch.nn.Module):
    """Two levels in both directions, and what reads their last state."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(128, 256, 2, batch_first=True,
                                  bidirectional=True)
        self.head = torch.nn.Linear(512, 1000)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class Unet(torch.nn.Module):
    """Four levels of pairs of convolutions, resized bilinearly."""

    def __init__(self):
        super().__init__()
        nn, sizes = torch.nn, (32, 64, 128, 256)

        def pair(i, o):
            return nn.Sequential(
                nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o),
                nn.ReLU(), nn.Conv2d(o, o, 3, padding=1, bias=False),
                nn.BatchNorm2d(o), nn.ReLU())

        self.down = nn.ModuleList(
            pair(i, o) for i, o in zip((3,) + sizes, sizes))
        self.up = nn.ModuleList(
            pair(i + o, o) for i, o in zip(sizes[:0:-1], sizes[-2::-1]))
        self.head = nn.Conv2d(sizes[0], 4, 1)

    def forward(self, x):
        f, kept = torch.nn.functional, []
        for i, block in enumerate(self.down):
            x = block(f.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for block, skip in zip(self.up, kept[-2::-1]):
            x = f.interpolate(x, scale_factor=2, mode="bilinear")
            x = block(torch.cat((skip, x), 1))
        return self.head(x)


def googlenet():
    return torchvision.models.googlenet(aux_logits=False, init_weights=False)


IMAGE = (3, 224, 224)
MODELS = {
    "resnet18": (torchvision.models.resnet18, IMAGE),
    "resnet50": (torchvision.models.resnet50, IMAGE),
    "mobilenet_v2": (torchvision.models.mobilenet_v2, IMAGE),
    "squeezenet1_1": (torchvision.models.squeezenet1_1, IMAGE),
    "encoder": (Encoder, (64, 256)),
    "bert_base": (Bert, 128),
    "mobilenet_v3_large": (torchvision.models.mobilenet_v3_large, IMAGE),
    "efficientnet_b0": (torchvision.models.efficientnet_b0, IMAGE),
    "densenet121": (torchvision.models.densenet121, IMAGE),
    "googlenet": (googlenet, IMAGE),
    "regnet_y_400mf": (torchvision.models.regnet_y_400mf, IMAGE),
    "shufflenet_v2_x1_0": (torchvision.models.shufflenet_v2_x1_0, IMAGE),
    "convnext_tiny": (torchvision.models.convnext_tiny, IMAGE),
    "unet": (Unet, (3, 128, 128)),
    "vit_b_16": (torchvision.models.vit_b_16, IMAGE),
    "swin_t": (torchvision.models.swin_t, IMAGE),
    "lstm": (Lstm, (64, 128)),
}


def make_data(shape):
    """Images with edges, not noise alone; or so many tokens."""
    rng, count = np.random.default_rng(0), CALIBRATION + HELD_BACK
    if isinstance(shape, int):
        return rng.integers(0, 30000, (count, shape))
    data = rng.standard_normal((count, *shape))
    data += 2 * rng.standard_normal((*data.shape[:2],) + (1,) * (data.ndim - 2))
    return data.astype(np.float32)


def make_model(name):
    torch.manual_seed(0)
    make, shape = MODELS[name]
    model, data = make(), make_data(shape)
    with torch.no_grad():
        for _ in range(20):
            model(torch.from_numpy(data[:CALIBRATION]))  # means and variances
    return model.eval(), data


def call(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True,
                          text=True)
    if done.returncode:
        raise SystemExit(" ".join(map(str, command)) + "\n" + done.stderr)
    return done.stdout


class Bessemer:
    def __init__(self, tool, base, threads, isa, quantized):
        self.tool, self.base = tool, base
        self.common = ["--threads", threads] + (["--isa", isa] if isa else [])
        self.engine = (base + (f"-{isa}" if isa else "") +
                       ("-int8.bsm" if quantized else "-float.bsm"))
        options = ["--precision", "int8", "--calibration",
                   base + ".calib"] if quantized else []
        call(tool, "compile", base + ".ts", "-o", self.engine, "--no-timing",
             "--inputs-from", base + "-one.npz", *self.common, *options)

    def run(self, x):
        np.savez(self.base + "-in.npz", in_0=x)
        call(self.tool, "run", self.engine, "--input", self.base + "-in.npz",
             "--output", self.base + "-out.npz", *self.common)
        return np.load(self.base + "-out.npz")["out_0"]

    def seconds(self):
        text = call(self.tool, "bench", self.engine, "--iterations", 12,
                    *self.common)
        return float(re.search(r"min_cpu_ms=([0-9.]+)", text)[1]) / 1e3


class Peer:
    """`self.run` takes and gives an array."""

    def __init__(self, x):
        self.x = x

    def seconds(self):
        least = float("inf")
        for _ in range(12):
            start = time.process_time()
            self.run(self.x)
            least = min(least, time.process_time() - start)
        return least


class OnnxRuntime(Peer):
    def __init__(self, path, x, threads):
        import onnxruntime as ort
        super().__init__(x)
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = ort.InferenceSession(path, options,
                                            ["CPUExecutionProvider"])
        self.name = self.session.get_inputs()[0].name

    def run(self, x):
        return self.session.run(None, {self.name: x})[0]


class OpenVino(Peer):
    def __init__(self, path, x, threads):
        import openvino
        super().__init__(x)
        core = openvino.Core()
        self.model = core.compile_model(
            core.read_model(path), "CPU",
            {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
             "INFERENCE_PRECISION_HINT": "f32"})

    def run(self, x):
        return self.model([x])[0]


def quantize_onnx(base, data):
    from onnxruntime import quantization as q
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(q.CalibrationDataReader):
        def __init__(self, name):
            self.rest = iter([{name: x[None]} for x in data])

        def get_next(self):
            return next(self.rest, None)

    import onnx
    quant_pre_process(base + ".onnx", base + "-pre.onnx")
    name = onnx.load(base + "-pre.onnx").graph.input[0].name
    q.quantize_static(base + "-pre.onnx", base + "-qdq.onnx", Reader(name),
                      quant_format=q.QuantFormat.QDQ, per_channel=True,
                      activation_type=q.QuantType.QUInt8,
                      weight_type=q.QuantType.QInt8,
                      op_types_to_quantize=["Conv", "MatMul", "Gemm", "Add",
                                            "MaxPool", "Relu", "Clip", "Concat",
                                            "GlobalAveragePool"],
                      calibrate_method=q.CalibrationMethod.MinMax)


def write_models(tool, base, model, data):
    calibrating = data[:CALIBRATION]
    torch.jit.trace(model, torch.from_numpy(data[:1]),
                    check_trace=False).save(base + ".ts")
    np.savez(base + "-one.npz", in_0=data[:1])
    np.save(base + "-data.npy", calibrating)
    call(tool, "calibrate", base + ".ts", "--data", base + "-data.npy", "-o",
         base + ".calib", "--calibrator", "min-max", "--inputs-from",
         base + "-one.npz")
    call(tool, "export", base + ".ts", "-o", base + ".onnx", "--inputs-from",
         base + "-one.npz")
    quantize_onnx(base, calibrating)


def prepare(a, name):
    model, data = make_model(name)
    tool, threads, isa = a.tool, a.threads, a.isa
    base = os.path.join(a.folder, name)
    held_back = data[CALIBRATION:]
    if not (a.reuse and os.path.exists(base + "-qdq.onnx")):
        write_models(tool, base, model, data)
    with torch.no_grad():
        expected = [model(torch.from_numpy(x[None])).numpy() for x in held_back]
    one = data[:1]
    runtimes = {
        "Bessemer, float32": Bessemer(tool, base, threads, isa, False),
        "Bessemer, int8": Bessemer(tool, base, threads, isa, True)}
    for other in a.also.split(",") if a.also else []:
        for title, quantized in ("float32", False), ("int8", True):
            runtimes[f"Bessemer, {title}, {other}"] = Bessemer(
                tool, base, threads, other, quantized)
    if not a.alone:
        runtimes["ONNX Runtime, QDQ"] = OnnxRuntime(base + "-qdq.onnx", one,
                                                    threads)
        runtimes["OpenVINO, QDQ"] = OpenVino(base + "-qdq.onnx", one, threads)
    return runtimes, held_back, expected


def quality(runtime, inputs, expected):
    got = [runtime.run(x[None]) for x in inputs]
    signal = sum(float((e.astype(np.float64) ** 2).sum()) for e in expected)
    noise = sum(float(((e - g).astype(np.float64) ** 2).sum())
                for e, g in zip(expected, got))
    same = sum(int(e.argmax() == g.argmax()) for e, g in zip(expected, got))
    return 10 * np.log10(signal / max(noise, 1e-30)), same


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("folder")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--isa")
    parser.add_argument("--also")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--reuse", action="store_true")
    a = parser.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    print("| model | runtime | SQNR, dB | answers | ms |\n|---|---|---:|---:|---:|")
    for name in a.models.split(","):
        runtimes, inputs, expected = prepare(a, name)
        least = dict.fromkeys(runtimes, float("inf"))
        for _ in range(a.rounds):
            for title, runtime in runtimes.items():
                least[title] = min(least[title], runtime.seconds())
        for title, runtime in runtimes.items():
            sqnr, same = quality(runtime, inputs, expected)
            print(f"| {name} | {title} | {sqnr:.1f} | {same} of {len(inputs)} | "
                  f"{least[title] * 1e3:.2f} |", flush=True)


if __name__ == "__main__":
    main()
