# SPDX-License-Identifier: Apache-2.0
"""Engines: loaded, called, saved, measured."""
import os
import weakref
from typing import NamedTuple, Optional, Tuple

from . import _core, _device, _dtypes, _log, _structures
from ._arrays import know_torch


class Binding(NamedTuple):
    """An input or output of an engine. A size of -1 is known only in a run, and
    a shape of None is one whose rank is. `min`, `opt` and `max` are the limits
    of an input's shape and the one that is fastest. `space` is "host" or
    "device": the memory that the engine uses for it."""
    name: str
    dtype: str
    shape: Optional[Tuple[int, ...]]
    space: str
    min: Optional[Tuple[int, ...]] = None
    opt: Optional[Tuple[int, ...]] = None
    max: Optional[Tuple[int, ...]] = None


class Memory(NamedTuple):
    """Bytes that running needs: weights, which all contexts share, and for each
    context workspace and scratch; the same in the host's memory, where the
    engine's is a device's."""
    weights: int
    workspace: int
    scratch: int
    host_workspace: int
    host_scratch: int
    device_weights: int


class Step(NamedTuple):
    """A step of the plan in a profile. `seconds` is the sum over the runs."""
    name: str
    kind: str
    tactic: str
    seconds: float
    runs: int
    least: float
    flops: float
    bytes: float


class Tensor(NamedTuple):
    """A tensor that a run has computed on the way. `name` is that of the value
    in the model, or "" where only the builder knows it; `layers` that of the
    step; `step` its number, or None for what the engine's program calls. Arrays
    of bfloat16 are widened to float32."""
    name: str
    layers: str
    kind: str
    tactic: str
    step: Optional[int]
    array: "numpy.ndarray"  # noqa: F821


class Profile(list):
    """Steps in the order in which they run; str() makes a table of it."""

    @property
    def seconds(self):
        """Of one run, on average, in all steps."""
        return sum(step.seconds / step.runs for step in self if step.runs)

    def __str__(self):
        total = self.seconds or 1.0
        rows = [f"{'ms':>9}  {'share':>6}  {'GFLOP/s':>8}  kind, tactic, name"]
        for s in self:
            if not s.runs:
                continue
            mean = s.seconds / s.runs
            rate = s.flops / mean / 1e9 if mean else 0.0
            rows.append(f"{1e3 * mean:9.4f}  {mean / total:6.1%}  {rate:8.2f}  "
                        f"{s.kind}, {s.tactic}, {s.name}")
        rows.append(f"{1e3 * self.seconds:9.4f}  in {len(self)} steps")
        return "\n".join(rows)


def _binding(row):
    name, dtype, shape, space, *ranges = row
    return Binding(name, _dtypes.name_of(dtype), shape,
                   "device" if space else "host", *ranges)


class Engine:
    """A compiled model, to be called as the model is.

    Arguments are arrays of NumPy, tensors of PyTorch, and anything with DLPack;
    none is copied that is contiguous and in the engine's memory. Results are
    tensors where an argument is one, else arrays of NumPy, and have the
    structure that the model gives them. Arguments that were fixed when
    compiling may be left out.

    An engine may be called from any number of threads; the calls take turns.
    `context` makes another one of the same weights that runs at the same time.
    """

    def __init__(self, core, threads=0, **options):
        self._core = core
        self._threads = threads
        self._options = options
        arguments, result = core.structures()
        self._inputs = core.inputs()
        self._signature = _structures.Signature(
            _structures.node_of(arguments), [row[1] for row in self._inputs])
        self._result = _structures.node_of(result)
        self._build = _structures.make_builder(self._result)
        self._run = None  # the context of calls, once there was one
        self._streams = {}  # of a device, and their contexts
        self._by_host = None  # _device.py
        self._seed = 0
        self._is_on_device = None  # once somebody asked

    # ---- calls ----

    def __call__(self, *args, **kwargs):
        if self._run is None:
            self.prepare()
        return self._run(*args, **kwargs)

    def _make_context(self, profile=False, stream=0, keep=0):
        know_torch()
        result = self._result
        engine = weakref.ref(self)  # which goes when nobody calls it any more
        context = _core.Context(
            engine=self._core, bind=self._signature.bind, build=self._build,
            run_device=lambda leaves: _device.run(engine(), leaves), flat=self._signature.is_flat,
            single=result is not None and result.kind == _structures.TENSOR,
            run_time=_structures.has_run_time_parts(result),
            threads=self._threads, level=_log.level(), profile=profile,
            stream=stream, max_run_bytes=self._options.get("max_run_bytes", 0),
            max_instructions=self._options.get("max_instructions", 0),
            keep_tensors=keep)
        if self._seed:
            context.seed(self._seed)
        return context

    def run_into(self, outputs, *args, **kwargs):
        """Runs on `args`, and writes the outputs, in the order of `outputs`,
        into arrays of the caller's. They have to be contiguous, of the right
        dtype and shape, and apart from the arguments. What is in the memory of
        a GPU is used there, in the stream that calls work in; nobody waits
        unless an array is the host's."""
        leaves, outputs = self._signature.bind(*args, **kwargs), tuple(outputs)
        if self._is_on_device is None:
            self._is_on_device = not self.target.startswith("cpu")
        if self._is_on_device and _device.run_into(self, leaves, outputs):
            return
        self.prepare()
        self._run.run_into(leaves, outputs, True)

    def context(self, threads=None, max_run_bytes=0, max_instructions=0):
        """An engine that shares the weights, and runs at the same time as this
        one. `threads`: as in `load`. `max_run_bytes`, `max_instructions`: the
        most that a run of a model with loops on data may take."""
        return Engine(self._core,
                      self._threads if threads is None else threads,
                      max_run_bytes=max_run_bytes,
                      max_instructions=max_instructions)

    def seed(self, number):
        """What later calls draw is what PyTorch draws on the CPU after
        torch.manual_seed(number), to the bit, call after call. An engine begins
        with the seed 0. It matters to models that draw random numbers, such as
        those with dropout in training mode."""
        self._seed = int(number) & (2**64 - 1)
        for context in (self._run, *self._streams.values()):
            if context is not None:
                context.seed(self._seed)
        if self._by_host is not None:
            self._by_host.seed(number)
        return self

    def prepare(self):
        """Allocates what runs need now, instead of in the first one."""
        if self._run is None:
            self._run = self._make_context()
        return self

    # ---- what it is ----

    @property
    def inputs(self):
        """The inputs, as a list of Binding."""
        return [_binding(row) for row in self._inputs]

    @property
    def outputs(self):
        """The outputs, as a list of Binding. Where parts of the result are
        known only after a run, it is of those that are known before."""
        return [_binding(row) for row in self._core.outputs()]

    @property
    def parameters(self):
        """The names of the arguments."""
        if self._signature.parameters is None:
            return [row[0] for row in self._inputs]
        return [p.key for p in self._signature.parameters]

    @property
    def metadata(self):
        """What the engine was built from and for."""
        return self._core.metadata()

    @property
    def target(self):
        """What the engine was built for, as `compile` takes it."""
        return self.metadata.get("builder.target", "cpu")

    @property
    def memory(self):
        """The bytes that running needs, as a Memory."""
        return Memory(*self._core.memory(self._threads))

    def dump(self):
        """The plan as text: tensors, steps, memory."""
        return self._core.dump()

    def profile(self, *args, iterations=10, **kwargs):
        """Runs with every step timed, after a run that is not counted, and
        returns a Profile."""
        if iterations < 1:
            raise ValueError("iterations has to be at least 1")
        self(*args, **kwargs)
        context = self._make_context(profile=True)
        for _ in range(iterations):
            context(*args, **kwargs)
        return Profile(Step(*row) for row in context.profile())

    def tensors(self, *args, **kwargs):
        """Runs once on arrays of the host's memory, and returns copies of what
        every step has computed, as a list of Tensor. What has been fused away
        is not among them."""
        context = self._make_context(keep=2**64 - 1)
        context(*args, **kwargs)
        return [Tensor(*row[:4], None if row[4] < 0 else row[4], row[5])
                for row in context.tensors()]

    def __repr__(self):
        inputs = ", ".join(f"{b.name}: {b.dtype}{list(b.shape)}"
                           for b in self.inputs)
        return f"<bessemer.Engine {self._signature.name}({inputs})>"

    # ---- other weights ----

    def refit(self, model, inputs=None, **options):
        """An engine of a model that differs from this one's in its weights
        alone, such as a later state of its training. How each step computes is
        taken over, so that nothing is timed, and this engine stays as it is.

        model     as for `compile`
        inputs    as they were for `compile`; those that are tensors may be left
                  out where the model is a file or a ScriptModule
        options   of `compile`: those that this engine was compiled with. The
                  target and the method are taken from it

        InvalidArgumentError: the options are others, or the model is.
        """
        from ._compile import refit  # which makes engines
        return refit(self._core, model, inputs, **options)

    # ---- files ----

    def save(self, path):
        """Writes the engine file, whole or not at all."""
        self._core.save(os.fspath(path), _log.level())

    def to_bytes(self):
        """The bytes of the engine file, which `load` takes too."""
        return self._core.to_bytes(_log.level())

    def __reduce__(self):
        return load, (self.to_bytes(), self._threads)


def load(source, threads=0, *, trust_code=False, public_keys=(), device=0,
         without_device=False, no_map=False):
    """Loads an engine from a file's path, or from its bytes.

    threads         that a run takes, with the calling one; 0: one for each CPU
    trust_code      run the machine code in an engine for a GPU, whoever wrote
                    it. Else it needs a signature, or to be built here
    public_keys     of those whose machine code is run: paths of key files, or
                    32 bytes each
    device          the index of the GPU
    without_device  to look at the engine, not to run it
    no_map          read the file instead of mapping it: else whoever truncates
                    it kills the process
    """
    keys = b"".join(key if isinstance(key, bytes) else public_key(key)
                    for key in public_keys)
    in_memory = isinstance(source, (bytes, bytearray, memoryview))
    core = _core.load(path="" if in_memory else os.fspath(source),
                      data=bytes(source) if in_memory else None,
                      level=_log.level(), trust_code=trust_code,
                      public_keys=keys or None, device=device,
                      without_device=without_device, no_map=no_map)
    return Engine(core, threads)


def public_key(path):
    """The 32 bytes of a file with an Ed25519 public key."""
    return _core.public_key(os.fspath(path))
