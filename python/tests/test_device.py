# SPDX-License-Identifier: Apache-2.0
"""Arrays in the memory of a device. BESSEMER_STANDIN is the build folder with
the stand-ins of CUDA's driver and compiler (docs/gpu.md); without it, the test
needs a GPU, or is skipped. Tensors of PyTorch need a GPU in any case."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import bessemer

PROGRAM = pathlib.Path(__file__).with_name("device_arrays.py")


def has_gpu():
    try:
        bessemer.target_text("cuda")
        return True
    except bessemer.Error:
        return False


def test_arrays_by_dlpack(tmp_path):
    environment = dict(os.environ, BESSEMER_KERNEL_CACHE="",
                       BESSEMER_BUILT_ENGINES=str(tmp_path / "built"))
    build = os.environ.get("BESSEMER_STANDIN")
    if build:
        environment.update(
            LD_LIBRARY_PATH=f"{build}/standin",
            BESSEMER_NVRTC=f"{build}/libbsm_standin_nvrtc.so")
        environment.setdefault("BSM_STANDIN_DELAY", "20")  # work is late
        environment.setdefault("BSM_EMULATION_CACHE", str(tmp_path / "kernels"))
    elif not has_gpu():
        pytest.skip("neither a GPU nor BESSEMER_STANDIN")
    done = subprocess.run([sys.executable, str(PROGRAM)], env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("ok")


def test_tensors_of_pytorch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available() or not has_gpu():
        pytest.skip("no GPU")
    engine = bessemer.compile(
        b"graph(%x : Float(64, 64)):\n"
        b"  %y : Float(64, 64) = aten::mm(%x, %x)\n  return (%y)\n",
        target="cuda", timing=False)
    x = torch.randn(64, 64, device="cuda")
    for stream in (torch.cuda.current_stream(), torch.cuda.Stream()):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            y = engine(x * 2)
            assert y.device == x.device
            z = y + 1  # ordered behind the engine's work
        stream.synchronize()
        expected = (2 * x).double() @ (2 * x).double() + 1
        assert (z.double() - expected).abs().max() < 1e-2
    assert np.allclose(engine(x.cpu().numpy()), engine(x).cpu().numpy())
