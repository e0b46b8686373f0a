# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch in the memory of a GPU: used where they are, in the
stream and in the context that PyTorch has. Skipped where there is no GPU."""
import ctypes
import gc
import threading

import numpy as np
import pytest

import bessemer

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402


def has_gpu():
    try:
        bessemer.target_text("cuda")
        return torch.cuda.is_available()
    except bessemer.Error:
        return False


pytestmark = pytest.mark.skipif(not has_gpu(), reason="no GPU")

ADD = b"""graph(%x : Float(1024, 256), %z : Float(1024, 256)):
  %one : int = prim::Constant[value=1]()
  %y : Float(1024, 256) = aten::add(%x, %z, %one)
  %r : Float(1024, 256) = aten::relu(%y)
  return (%r)
"""
PICK = b"""graph(%x : Float(8, 4), %i : Long(3)):
  %zero : int = prim::Constant[value=0]()
  %y : Float(3, 4) = aten::index_select(%x, %zero, %i)
  return (%y)
"""
SOME = b"""graph(%x : Float(1000)):
  %zero : int = prim::Constant[value=0]()
  %m : Bool(1000) = aten::gt(%x, %zero)
  %l : Tensor?[] = prim::ListConstruct(%m)
  %y : Tensor = aten::index(%x, %l)
  return (%y)
"""


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        return self.fc(x.mean((2, 3)))


@pytest.fixture(scope="module")
def add():
    return bessemer.compile(ADD, target="cuda", timing=False)


def pair(seed=0):
    torch.manual_seed(seed)
    return (torch.randn(1024, 256, device="cuda"),
            torch.randn(1024, 256, device="cuda"))


def wanted(x, z):
    return torch.relu(x + z)


def close(made, expected, tolerance=1e-4):
    assert made.shape == expected.shape and made.dtype == expected.dtype
    assert made.device == expected.device
    bound = tolerance * expected.double().abs().max().item() + 1e-6
    assert (made.double() - expected.double()).abs().max().item() <= bound


def test_memory_is_not_copied(add):
    """Outputs are written where the caller says, and inputs are read there:
    work that was put into the stream before the call, but after the tensor was
    made, counts, also when a recorded graph is replayed."""
    x, z = pair()
    out = torch.empty_like(x)
    for turn in range(6):
        x.fill_(turn)
        add.run_into([out], x, z)
        assert torch.equal(out, wanted(x, z))
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated(), torch.cuda.mem_get_info()[0]
    for _ in range(200):
        add.run_into([out], x, z)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == before[0]
    # A copy of one of the three would take a megabyte.
    assert before[1] - torch.cuda.mem_get_info()[0] < 1 << 20


def test_results_belong_to_pytorch(add):
    x, z = pair(1)
    before = torch.cuda.memory_allocated()
    y = add(x, z)
    assert torch.cuda.memory_allocated() - before == x.nbytes
    assert y.is_contiguous() and y.device == x.device
    kept = [add(x * k, z) for k in range(1, 5)]
    for k, value in enumerate(kept, 1):
        assert torch.equal(value, wanted(x * k, z))
    del y, kept, value
    assert torch.cuda.memory_allocated() == before


def test_the_primary_context_is_shared(add):
    driver = ctypes.CDLL("libcuda.so.1")

    def current():
        context = ctypes.c_void_p()
        assert driver.cuCtxGetCurrent(ctypes.byref(context)) == 0
        return context.value

    x, z = pair(2)
    own = current()
    primary = ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(primary), 0) == 0
    assert driver.cuDevicePrimaryCtxRelease_v2(0) == 0
    assert own == primary.value
    engine = bessemer.compile(ADD, target="cuda", timing=False)
    assert torch.equal(engine(x, z), wanted(x, z))
    assert current() == own
    del engine
    gc.collect()
    assert current() == own  # what others still use is not destroyed
    assert torch.equal(torch.relu(x + z), wanted(x, z))
    assert torch.equal(add(x, z), wanted(x, z))


@pytest.mark.parametrize("turns", [1, 4])
def test_calls_do_not_wait(add, turns):
    """The stream is busy for half a second; calls return long before."""
    x, z = pair(3)
    out = torch.empty_like(x)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        # What is done for the first time waits: contexts, and PyTorch's kernels.
        for _ in range(2):
            add.run_into([out], x.mul_(1), z)
            out.double().sum()
        torch.cuda.Event().record()
        torch.cuda.synchronize()
        torch.cuda._sleep(1_000_000_000)
        x.mul_(3)  # behind that
        for _ in range(turns):
            add.run_into([out], x, z)
        total = out.double().sum()
        done = torch.cuda.Event()
        done.record()
        assert not done.query()
    stream.synchronize()
    assert total.item() == wanted(x, z).double().sum().item()


def test_every_stream_has_its_own_order(add):
    x, z = pair(4)
    torch.cuda.synchronize()
    made = []
    for k in range(4):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000 * (4 - k))
            scaled = x * (k + 1)
            made.append((k, add(scaled, z), stream))
    for k, y, stream in reversed(made):
        stream.synchronize()
        assert torch.equal(y, wanted(x * (k + 1), z))


def test_threads(add):
    failed = []

    def work(seed):
        try:
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                x, z = pair(seed)
                for _ in range(50):
                    if not torch.equal(add(x, z), wanted(x, z)):
                        failed.append(seed)
        except Exception as error:  # told by the test's thread
            failed.append(error)

    threads = [threading.Thread(target=work, args=(10 + i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_layouts(add):
    """Transposed, with gaps, at addresses that are not aligned, expanded."""
    x, z = pair(5)
    turned = torch.randn(256, 1024, device="cuda").t()
    assert torch.equal(add(turned, z), wanted(turned, z))
    wide = torch.randn(1024, 300, device="cuda")[:, 3:259]
    assert torch.equal(add(wide, z), wanted(wide, z))
    flat = torch.randn(1024 * 256 + 1, device="cuda")[1:].view(1024, 256)
    assert flat.data_ptr() % 16 != 0
    assert torch.equal(add(flat, z), wanted(flat, z))
    row = torch.randn(256, device="cuda").expand(1024, 256)
    assert torch.equal(add(row, z), wanted(row, z))
    assert torch.equal(add(x, z.cpu()), wanted(x, z))  # one in each memory
    host = add(x.cpu(), z.cpu())
    assert host.device.type == "cpu"
    assert torch.equal(host, wanted(x, z).cpu())


def test_dtypes():
    for name, dtype in (("Half", torch.float16), ("BFloat16", torch.bfloat16),
                        ("Double", torch.float64), ("Int", torch.int32),
                        ("Long", torch.int64), ("Bool", torch.bool),
                        ("Byte", torch.uint8)):
        text = f"graph(%x : {name}(5, 7)):\n  %y : {name}(7, 5) = aten::t(%x)\n" \
               "  return (%y)\n"
        engine = bessemer.compile(text.encode(), target="cuda", timing=False)
        x = torch.randint(0, 2, (5, 7), device="cuda").to(dtype)
        y = engine(x)
        assert y.dtype == dtype and torch.equal(y, x.t())


def test_sizes_that_data_decide():
    engine = bessemer.compile(SOME, target="cuda", timing=False)
    for seed in range(3):
        torch.manual_seed(seed)
        x = torch.randn(1000, device="cuda")
        y = engine(x)
        assert y.device == x.device and torch.equal(y, x[x > 0])


def test_bad_data_is_told_later():
    engine = bessemer.compile(PICK, target="cuda", timing=False)
    x = torch.randn(8, 4, device="cuda")
    good = torch.tensor([1, 7, 0], device="cuda")
    assert torch.equal(engine(x, good), x[good])
    engine(x, torch.tensor([1, 8, 0], device="cuda"))
    torch.cuda.synchronize()
    with pytest.raises(bessemer.Error, match="index 8 is out of range"):
        engine(x, good)
    assert torch.equal(engine(x, good), x[good])  # and it goes on


def test_a_module_on_the_gpu():
    torch.manual_seed(6)
    model = Small().eval().cuda()
    x = torch.randn(2, 3, 32, 32, device="cuda")
    with torch.no_grad():
        expected = model.double()(x.double()).float()
        model.float()
        engine = bessemer.compile(model, inputs=[bessemer.Input((2, 3, 32, 32))],
                                  target="cuda", timing=False)
        close(engine(x), expected)
        again = bessemer.load(engine.to_bytes(), trust_code=True)
        assert torch.equal(again(x), engine(x))


def test_batches_that_range():
    torch.manual_seed(7)
    model = Small().eval()
    engine = bessemer.compile(
        model, inputs=[bessemer.Input((1, 3, 16, 16), (2, 3, 32, 32),
                                      (4, 3, 40, 40))],
        target="cuda", timing=False)
    model.cuda().double()
    for shape in ((1, 3, 16, 16), (4, 3, 40, 40), (3, 3, 17, 39), (2, 3, 32, 32)):
        x = torch.randn(shape, device="cuda")
        with torch.no_grad():
            close(engine(x), model(x.double()).float())


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="no torch.compile")
def test_torch_compile():
    torch.manual_seed(8)
    model = Small().eval().cuda()
    made = torch.compile(model, backend="bessemer", options={"timing": False})
    x = torch.randn(2, 3, 32, 32, device="cuda")
    with torch.no_grad():
        y = made(x)
        assert y.device == x.device
        close(y, model.double()(x.double()).float())


def test_numpy_and_tensors_agree(add):
    x, z = pair(9)
    host = add(x.cpu().numpy(), z.cpu().numpy())
    assert isinstance(host, np.ndarray)
    assert (host == add(x, z).cpu().numpy()).all()
