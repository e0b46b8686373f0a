#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of GPUs by NVIDIA's NVRTC, for each architecture.

check_kernels.py BUILD [--record FOLDER] [--install] [--jobs N] [--sample N]

Which kernels there are follows from plans. So this builds all models of
tests/data/models for each architecture, a model for ranges of shapes, and
attention to as many keys as the small models have not, with a stand-in for NVRTC
that writes down what it is asked for; and it takes what tests/conformance asked
for. That is in FOLDER when the tests ran with

  BSM_OTHER_RECORD=FOLDER BSM_OTHER_TARGETS="$(check_kernels.py --targets)"

or else they are run now. --sample N takes one in N of what the tests alone ask
for, others each day, and one of each source; models' are all taken. Then each
kernel is compiled once for each architecture that asked for it, PTX for later
GPUs among them. No GPU is needed, nor a driver.

NVRTC is the library that BESSEMER_NVRTC names, or that of PyPI's wheel in
Python's folders (pip install nvidia-cuda-nvrtc); --install puts that into
BUILD/nvrtc.
"""
import argparse
import collections
import concurrent.futures
import ctypes
import datetime
import glob
import multiprocessing
import os
import subprocess
import sys
import sysconfig
import tempfile
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KERNELS = os.path.join(ROOT, "src", "backend", "cuda", "kernels")
MODELS = os.path.join(ROOT, "tests", "data", "models")
RANGING = os.path.join(ROOT, "tests", "data", "ranging", "sides.ts")
RANGE = "[(1,6);(3,6);(24,6)]"
# Models that are compiled in narrow precisions too: those have kernels that
# float32 has not.
NARROW = ("bert-trace.ts", "mobilenet-trace.ts", "resnet-trace.ts",
          "unet-trace.ts", "vit-trace.ts")
PRECISIONS = ("fp16", "bf16")
ATTENTION = """graph(%q : Tensor, %k : Tensor, %v : Tensor):
  %none : NoneType = prim::Constant()
  %p : float = prim::Constant[value=0.]()
  %causal : bool = prim::Constant[value=0]()
  %y : Tensor = aten::scaled_dot_product_attention(
      %q, %k, %v, %none, %p, %causal, %none, %causal)
  return (%y)
"""
ATTENTION_SHAPES = ("(8,12,197,64)", "(2,8,300,128)", "(1,4,520,256)")
ARCHITECTURES = ("sm_75", "sm_80", "sm_90a", "sm_100")
TARGETS = ["cuda:" + a for a in ARCHITECTURES]
SONAMES = ("libnvrtc.so.13", "libnvrtc.so.12")
WHEELS = ("nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib")


# ---- NVRTC ----


def find_nvrtc(build):
    if os.environ.get("BESSEMER_NVRTC"):
        return os.environ["BESSEMER_NVRTC"]
    folders = [os.path.join(build, "nvrtc"), sysconfig.get_path("purelib")]
    folders += [p for p in sys.path if p.endswith("-packages")]
    for folder in folders:
        for wheel in WHEELS:
            for name in SONAMES:
                path = os.path.join(folder, wheel, name)
                if os.path.exists(path):
                    return path
    return None


def install_nvrtc(build):
    subprocess.run([
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
        "--disable-pip-version-check", "--root-user-action=ignore", "--target",
        os.path.join(build, "nvrtc"), "nvidia-cuda-nvrtc"
    ], check=True)


class Compiler:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        files = sorted(os.listdir(KERNELS))
        self.texts = {f: self.read(f) for f in files}
        self.headers = [f for f in files if not f.endswith(".cu")]
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    @staticmethod
    def read(name):
        with open(os.path.join(KERNELS, name), "rb") as file:
            return file.read()

    def log(self, program):
        size = ctypes.c_size_t()
        self.library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value + 1)
        self.library.nvrtcGetProgramLog(program, log)
        return log.value.decode(errors="replace")

    def compile(self, name, options, generated):
        """None, or what is wrong with it."""
        if name not in self.texts:
            return f"there is no {name}"
        texts = [self.texts[h] for h in self.headers]
        names = [h.encode() for h in self.headers]
        if generated:
            texts.append(generated.encode())
            names.append(b"generated.cuh")
        strings = ctypes.c_char_p * len(texts)
        program = ctypes.c_void_p()
        if self.library.nvrtcCreateProgram(
                ctypes.byref(program), self.texts[name], name.encode(),
                len(texts), strings(*texts), strings(*names)):
            return "NVRTC does not take it"
        given = [o.encode() for o in options]
        failed = self.library.nvrtcCompileProgram(
            program, len(given), (ctypes.c_char_p * len(given))(*given))
        size = ctypes.c_size_t()
        what = None
        if failed:
            what = self.log(program)
        else:
            is_ptx = architecture_of(options).startswith("compute_")
            get_size = (self.library.nvrtcGetPTXSize if is_ptx else
                        self.library.nvrtcGetCUBINSize)
            if get_size(program, ctypes.byref(size)) or not size.value:
                what = "there is no code"
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return what


# ---- what is asked for ----


def fixed_inputs(path):
    return ["--inputs-from", path.rsplit("-", 1)[0] + ".npz", path]


def narrow_inputs(precision):
    return lambda path: ["--precision", precision, *fixed_inputs(path)]


def attention_inputs(precision, shape):
    return lambda path: ["--precision", precision, path] + [shape] * 3


def is_model(path):
    arrays = path.rsplit("-", 1)[0] + ".npz"
    return path.endswith((".ts", ".pt2")) and os.path.exists(arrays)


def record_model(build, target, path, inputs, folder):
    environment = dict(
        os.environ, BSM_STANDIN_RECORD=folder, BESSEMER_KERNEL_CACHE="",
        BESSEMER_NVRTC=os.path.join(build, "libbsm_standin_nvrtc.so"))
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run([
            os.path.join(build, "bessemer"), "compile", "--no-timing",
            "--target", target, "-o", os.path.join(work, "model.bsm"),
            *inputs(path)
        ], env=environment, capture_output=True, text=True, check=False)
    return done.returncode == 0 or f"{path} for {target}:\n{done.stderr}"


def record_models(pool, build, work, folder):
    """The number of those that failed."""
    models = [p for p in sorted(glob.glob(os.path.join(MODELS, "*"))) if is_model(p)]
    jobs = [pool.submit(record_model, build, t, p, fixed_inputs, folder)
            for p in models for t in TARGETS]
    jobs += [pool.submit(record_model, build, t, os.path.join(MODELS, m),
                         narrow_inputs(p), folder)
             for m in NARROW for p in PRECISIONS for t in TARGETS]
    # All ranging engines have the same kernels besides their own.
    jobs += [pool.submit(record_model, build, t, RANGING, lambda p: [p, RANGE], folder)
             for t in TARGETS]
    attention = os.path.join(work, "attention.ir")
    with open(attention, "w", encoding="utf-8") as file:
        file.write(ATTENTION.replace("(\n      ", "("))
    jobs += [pool.submit(record_model, build, t, attention,
                         attention_inputs(p, s), folder)
             for p in ("fp32", "tf32", *PRECISIONS) for s in ATTENTION_SHAPES
             for t in TARGETS]
    wrong = [j.result() for j in jobs if j.result() is not True]
    for text in wrong:
        print("FAILED: " + text)
    print(f"{len(models)} models for {len(TARGETS)} architectures")
    return len(wrong) + (not models)


def run_suite(build, folder, jobs):
    environment = dict(os.environ, BSM_OTHER_RECORD=folder,
                       BSM_OTHER_TARGETS=" ".join(TARGETS))
    subprocess.run([
        "ctest", "--test-dir", build, "--no-tests=error", "-L", "conformance_cuda",
        "-j", str(jobs), "--output-on-failure", "--quiet"
    ], env=environment, check=True)


def read_record(path):
    with open(path, encoding="utf-8") as file:
        head, generated = file.read().split("\n\n", 1)
    source, *options = head.split("\n")
    return source, options, generated


def read_folder(folder, left_out=()):
    names = sorted(set(os.listdir(folder)) - set(left_out))
    return {n: read_record(os.path.join(folder, n)) for n in names}


def read_records(tests, models, one_in):
    """What models ask for, and of what tests alone do one in `one_in`, others
    each day, and one of each source for each architecture."""
    records = list(read_folder(models).values())
    met = {(source, architecture_of(options)) for source, options, _ in records}
    day = datetime.date.today().toordinal()
    for name, record in read_folder(tests, os.listdir(models)).items():
        kind = (record[0], architecture_of(record[1]))
        if kind not in met or (zlib.crc32(name.encode()) + day) % one_in == 0:
            met.add(kind)
            records.append(record)
    return records


# ---- compiling ----


def architecture_of(options):
    return next(o for o in options if "-architecture=" in o).split("=")[1]


def load(path):
    """In each process: NVRTC compiles one program at a time in one."""
    global compiler_of_process
    compiler_of_process = Compiler(path)


def compile_here(source, options, generated):
    return compiler_of_process.compile(source, options, generated)


def compile_all(pool, compiler, records):
    """The number of kernels that failed."""
    jobs = [(r, pool.submit(compile_here, *r)) for r in records]
    done, failed = collections.Counter(), 0
    for (source, options, _), job in jobs:
        what = job.result()
        done[architecture_of(options)] += 1
        if what:
            failed += 1
            print(f"FAILED: {source} {' '.join(options)}\n{what}")
    for architecture in sorted(set(ARCHITECTURES) | set(done)):
        print(f"{architecture}: {done[architecture]} kernels")
        failed += done[architecture] == 0
    print("sources that nothing asks for:", ", ".join(
        sorted({s for s in compiler.texts if s.endswith(".cu")} -
               {r[0] for r in records})) or "none")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", nargs="?")
    parser.add_argument("--record")
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--targets", action="store_true")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()
    if args.targets:
        print(" ".join(TARGETS))
        return 0
    if not args.build:
        parser.error("which build folder?")
    build = os.path.abspath(args.build)
    if args.install and not find_nvrtc(build):
        install_nvrtc(build)
    path = find_nvrtc(build)
    if not path:
        print("FAILED: NVRTC was not found: pip install nvidia-cuda-nvrtc, or "
              "--install, or name it in BESSEMER_NVRTC")
        return 1
    compiler = Compiler(path)
    with tempfile.TemporaryDirectory() as own, \
            tempfile.TemporaryDirectory() as models, \
            tempfile.TemporaryDirectory() as work, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, \
            concurrent.futures.ProcessPoolExecutor(
                args.jobs, multiprocessing.get_context("spawn"), load,
                (path,)) as processes:
        folder = os.path.abspath(args.record or own)
        if not args.record:
            run_suite(build, folder, args.jobs)
        if not os.listdir(folder):
            print("FAILED: the conformance suite asked for nothing")
            return 1
        failed = record_models(pool, build, work, models)
        failed += compile_all(processes, compiler,
                              read_records(folder, models, args.sample))
    print(f"check_kernels: {'FAILED' if failed else 'ok'}, NVRTC {compiler.version}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
