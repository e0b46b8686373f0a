# SPDX-License-Identifier: Apache-2.0
"""The runtimes that peers.py measures beside Bessemer, each behind the same
three methods: load() builds, run() is what is timed, outputs() gives arrays.

A worker is a process of its own, so that no runtime disturbs the memory or the
threads of another: it answers requests, one JSON object a line, on its
standard input. prepare() does what a user does once, ahead of time, and leaves
files in the worker's folder."""
import json
import os
import re
import subprocess
import sys
import time

import numpy as np

import models


class Worker:
    def __init__(self, entry, work, threads):
        self.entry, self.work, self.threads = entry, work, threads
        self.name, _, batch = os.path.basename(entry).rsplit("-", 2)
        self.batch = int(batch[1:])
        self.inputs = models.load_arrays(os.path.join(entry, "in.npz"), "in_")
        self.expected = models.load_arrays(os.path.join(entry, "expected.npz"), "out_")

    def prepare(self):
        pass

    def error(self):
        """The largest error over max|torch|; raises when shapes differ."""
        got = self.outputs()
        if len(got) < len(self.expected):
            raise RuntimeError(f"{len(got)} outputs, expected {len(self.expected)}")
        worst = 0.0
        for want, have in zip(self.expected, got):
            have = np.asarray(have).reshape(want.shape)
            scale = np.abs(want).max() if want.size else 0
            error = np.abs(have.astype("f8") - want.astype("f8")).max() if want.size else 0
            worst = max(worst, float(error / scale if scale else error))
        return worst


# ------------------------------------------------------------------- PyTorch
class Torch(Worker):
    def start(self):
        import torch
        import torchvision  # noqa: F401, its operators
        torch.set_num_threads(self.threads)
        self.torch = torch
        self.arguments = [torch.from_numpy(x) for x in self.inputs]

    def eager_module(self):
        """The module, with the weights of the archive."""
        module = models.make_model(self.name, conditioned=False)
        archive = self.torch.jit.load(os.path.join(self.entry, "model.ts"))
        module.load_state_dict(archive.state_dict(), strict=False)
        return module

    def run(self):
        with self.torch.inference_mode():
            self.result = self.function(*self.arguments)

    def outputs(self):
        return models.flatten(self.result)


class Eager(Torch):
    def load(self):
        self.start()
        self.function = self.eager_module()


class TorchScript(Torch):
    def load(self):
        self.start()
        module = self.torch.jit.load(os.path.join(self.entry, "model.ts")).eval()
        self.function = self.torch.jit.optimize_for_inference(self.torch.jit.freeze(module))
        for _ in range(3):  # the executor specialises in its first calls
            self.run()


class Inductor(Torch):
    """torch.compile with constant folding and packed weights; where that does
    not compile, without."""
    ways = [{"freezing": True}, {}]

    def prepare(self):
        for i, way in enumerate(self.ways):
            try:
                self.compile(way)
            except Exception:
                self.torch._dynamo.reset()
                if i + 1 == len(self.ways):
                    raise
                continue
            with open(os.path.join(self.work, "way"), "w") as f:
                f.write(str(i))
            return

    def load(self):
        with open(os.path.join(self.work, "way")) as f:
            self.compile(self.ways[int(f.read())])

    def compile(self, way):
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(self.work, "cache")
        self.start()
        import torch._inductor.config as config
        self.function = self.torch.compile(self.eager_module(), dynamic=False)
        with config.patch(way):
            self.run()


# --------------------------------------------------------------- ONNX runtimes
def export_onnx(entry):
    """entry/model.onnx, made by PyTorch's exporter over TorchScript, where it
    is missing."""
    import torch
    path = os.path.join(entry, "model.onnx")
    if os.path.exists(path):
        return path
    module = models.make_model(os.path.basename(entry).rsplit("-", 2)[0], conditioned=False)
    module.load_state_dict(torch.jit.load(os.path.join(entry, "model.ts")).state_dict(), strict=False)
    inputs = tuple(torch.from_numpy(x) for x in models.load_arrays(os.path.join(entry, "in.npz"), "in_"))
    torch.backends.mha.set_fastpath_enabled(False)
    with torch.no_grad():
        torch.onnx.export(module, inputs, path + ".part", opset_version=17, dynamo=False,
                          input_names=[f"in_{i}" for i in range(len(inputs))])
    os.rename(path + ".part", path)
    return path


class OnnxRuntime(Worker):
    def load(self):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        # Threads that spin would take the CPU from the next one's turn.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(
            os.path.join(self.entry, "model.onnx"), options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        for place, i in enumerate(self.session.get_inputs()):
            match = re.fullmatch(r"in_(\d+)", i.name)
            self.binding.bind_cpu_input(i.name, self.inputs[int(match[1]) if match else place])
        for o in self.session.get_outputs():
            self.binding.bind_output(o.name, "cpu")

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return self.binding.copy_outputs_to_cpu()


class OpenVino(Worker):
    def load(self):
        import openvino
        core = openvino.Core()
        model = core.read_model(os.path.join(self.entry, "model.onnx"))
        self.model = core.compile_model(model, "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": self.threads, "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False})
        self.request = self.model.create_infer_request()
        self.tensors = []
        for place, port in enumerate(model.inputs):
            match = re.fullmatch(r"in_(\d+)", port.get_any_name())
            array = self.inputs[int(match[1]) if match else place]
            self.tensors.append(openvino.Tensor(array, shared_memory=True))
            self.request.set_input_tensor(place, self.tensors[-1])

    def run(self):
        self.request.infer()

    def outputs(self):
        return [self.request.get_output_tensor(i).data.copy() for i in range(len(self.model.outputs))]


# ------------------------------------------------------------------------ ncnn
class Ncnn(Torch):
    def stem(self):
        return os.path.join(self.work, "m")

    def prepare(self):
        """Traces the module and converts it with pnnx; weights stay float32."""
        self.start()
        torch = self.torch
        torch.backends.mha.set_fastpath_enabled(False)
        with torch.no_grad():
            traced = torch.jit.trace(self.eager_module(), tuple(self.arguments), check_trace=False, strict=False)
        torch.jit.save(traced, self.stem() + ".pt")
        kinds = {"float32": "f32", "int64": "i64"}
        shapes = ",".join(f"[{','.join(map(str, x.shape))}]{kinds[str(x.dtype)]}" for x in self.inputs)
        tool = os.path.join(os.path.dirname(sys.executable), "pnnx")
        done = subprocess.run([tool, "m.pt", f"inputshape={shapes}", "fp16=0"], cwd=self.work,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for path in (self.stem() + s for s in (".pt", ".pnnx.bin", ".pnnx.onnx")):
            if os.path.exists(path):
                os.remove(path)
        params = self.stem() + ".ncnn.param"
        if done.returncode or not os.path.exists(params):
            raise RuntimeError(f"pnnx: exit {done.returncode}")
        with open(params) as f:
            unknown = set(re.findall(r"^((?:aten::|prim::|pnnx\.|F\.|nn\.|Tensor\.|torch\.)\S+)", f.read(), re.M))
        if unknown:
            raise RuntimeError("layers unknown to ncnn: " + " ".join(sorted(unknown)))

    def load(self):
        import ncnn
        self.net = ncnn.Net()
        self.net.opt.num_threads = self.threads
        for option in ("use_fp16_storage", "use_fp16_arithmetic", "use_fp16_packed", "use_bf16_storage",
                       "use_vulkan_compute"):
            if hasattr(self.net.opt, option):
                setattr(self.net.opt, option, False)
        if self.net.load_param(self.stem() + ".ncnn.param") or self.net.load_model(self.stem() + ".ncnn.bin"):
            raise RuntimeError("ncnn cannot load the converted model")
        with open(self.stem() + "_ncnn.py") as f:
            script = f.read()
        ins = re.findall(r'ex\.input\("(\w+)", ncnn\.Mat\(.*batch_index=(\d+)', script)
        self.outs = re.findall(r'ex\.extract\("(\w+)"\)\n.*batch_index=(\d+)', script)
        narrow = [x.astype("int32") if x.dtype == "int64" else x for x in self.inputs]
        self.mats = [(name, ncnn.Mat(x, batch_index=int(b)).clone()) for x, (name, b) in zip(narrow, ins)]

    def run(self):
        with self.net.create_extractor() as extractor:
            for name, mat in self.mats:
                extractor.input(name, mat)
            self.result = []
            for name, _ in self.outs:
                code, mat = extractor.extract(name)
                if code:
                    raise RuntimeError(f"ncnn: extract gives {code}")
                self.result.append(mat)

    def outputs(self):
        return [mat.numpy(batch_index=int(b)).copy() for mat, (_, b) in zip(self.result, self.outs)]


WORKERS = {"eager": Eager, "torchscript": TorchScript, "inductor": Inductor, "onnxruntime": OnnxRuntime,
           "openvino": OpenVino, "ncnn": Ncnn}


# ------------------------------------------------------------------ the process
def peak_megabytes():
    with open("/proc/self/status") as f:
        return int(re.search(r"VmHWM:\s*(\d+)", f.read())[1]) / 1024


def timed_runs(worker, count):
    worker.run()  # the others have taken the caches
    times = []
    for _ in range(count):
        start = time.perf_counter_ns()
        worker.run()
        times.append((time.perf_counter_ns() - start) * 1e-6)
    return times


def serve(worker, say):
    start = time.perf_counter()
    worker.load()
    say(load_s=time.perf_counter() - start)
    for line in sys.stdin:
        request = json.loads(line)
        if "runs" in request:
            say(times=timed_runs(worker, request["runs"]))
        else:
            peak = peak_megabytes()
            say(peak_mb=peak, error=worker.error())
            return


def main():
    """peer_workers.py prepare|serve|onnx PEER ENTRY WORK THREADS"""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print does not belong into the channel

    def say(**answer):
        channel.write(json.dumps(answer) + "\n")
        channel.flush()

    what, peer, entry, work, threads = sys.argv[1:]
    try:
        if what == "onnx":
            export_onnx(entry)
            say()
        elif what == "prepare":
            start = time.perf_counter()
            WORKERS[peer](entry, work, int(threads)).prepare()
            say(prepare_s=time.perf_counter() - start)
        else:
            serve(WORKERS[peer](entry, work, int(threads)), say)
    except Exception as error:
        say(failed=f"{type(error).__name__}: {str(error).strip()[:300]}")
    os._exit(0)  # some runtimes do not survive their own destructors


if __name__ == "__main__":
    main()
