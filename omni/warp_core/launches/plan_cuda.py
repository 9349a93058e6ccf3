"""Kernels on GPUs: their plans, code loaded into a device, and launches that may fail or keep values for a gradient.

Processes without GPUs never load this module.

Plain launches go from native code straight to the driver. Kernels that can report a failure, use structures, or need a
stash (codegen/cuda/cuda_kernel.py says what these are), come here: see `GpuCode.run`.
"""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _native
from ..arrays import cuda_interface, dlpack
from ..arrays.array import array
from ..compiler import Artifact
from ..devices import cuda_capture, cuda_memory, descriptor_memory
from ..devices.device import CPU, Device, device_of
from ..dispatch import capture
from ..lang.array_structs.array_struct_types import indexed_array
from ..lang.errors import CompileError, Diagnostic, WarpDeterminismError
from ..lang.intrinsics.native_snippet import NativeFunction
from ..lang.kernel import Kernel
from ..lang.launch_constants import DEFAULT_BLOCK_DIM
from ..lang.types import Array, Struct, leaves
from ..lang.values.value_classes import python_type
from ..late_bound import late
from .plans import LoadedKernel, PlanMaker, as_indexed, may_specialize, namesake

driver = _native.cuda

_FAILURE = struct.Struct("<qii8Q")  # wc_failure of abi.h
_UNFAILED = _FAILURE.pack((1 << 63) - 1, -1, 0, *[0] * 8)
_STRUCTURES = struct.Struct("<QQ")
_ARRAY = struct.Struct("<QQ4q4q")  # wc_array
FIRST_CELLS = 64  # of a stash, for each thread
STASH_SHARE = 4  # the part of a device's free memory that stashes may take: a quarter


class Failure(Exception):
    """A thread that failed: its number, the failure site, and the values it reports."""

    def __init__(self, thread: int, site: int, values: list[int]):
        super().__init__(thread, site, values)
        self.thread, self.site, self.values = thread, site, values


def _load(artifact: Artifact, device: Any) -> tuple[int, int]:
    """The module and its kernel: a driver that loads lazily does a part of it when it is asked for the kernel."""
    context = device.context
    try:
        with cuda_capture.relaxed():
            module = driver.load_module(context, (artifact.machine_code or artifact.code) + b"\0")
            return module, driver.function(context, module, artifact.symbol)
    except driver.Error as why:
        if capture.gpu() is None or "CAPTURE" not in str(why):
            raise
        raise RuntimeError(
            "this CUDA driver cannot load kernels while a graph is captured: launch them once before the "
            f"capture, or use a driver of version 12.3 or later ({why})"
        ) from None


def _unload(device: Any, module: int) -> None:
    def unload() -> None:
        device.follow_streams_apart()
        driver.unload_module(device.context, module)

    capture.run_when_idle(device, unload)


class GpuCode:
    """An artifact loaded into a GPU."""

    def __init__(self, artifact: Artifact, device: Any):
        assert artifact.grid is not None
        self.artifact, self.device, self.grid = artifact, device, artifact.grid
        module, self.function = _load(artifact, device)
        weakref.finalize(self, _unload, device, module).atexit = False
        self.blocks = self._filling() if self.grid.strided else 0
        self.cells = FIRST_CELLS

    def _filling(self) -> int:
        """Return the number of blocks that fill the device once."""
        with cuda_capture.relaxed():  # it may load the kernel
            each = driver.blocks_per_multiprocessor(self.device.context, self.function, self.grid.block_dim)
        return max(1, each) * self.device.sm_count

    @property
    def is_checked(self) -> bool:
        """True if launches must go through `run`."""
        return bool(self.artifact.sites or self.grid.stashes or self.grid.uses_structures)

    def run(self, block: bytes, dims: tuple[int, ...], threads: int, spans: list[tuple[int, int]]) -> None:
        """Launch and wait.

        Args:
            block: the argument block.
            dims: four launch dimensions.
            threads: their product.
            spans: the memory that an adjoint writes. If the stash turns out to be too small it is put back before the
                launch is done again with a larger one.

        Raises:
            Failure: a thread failed.
        """
        backup = [(low, cuda_memory.Allocation(self.device, high - low)) for low, high in spans]
        for low, kept in backup:
            cuda_memory.copy(kept.ptr, self.device, low, self.device, kept.nbytes)
        while True:
            failure = self._launch(block, dims, threads)
            if failure is None:
                return
            if self.artifact.sites[failure.site].kind != "gradient-memory" or not self._grow(failure, threads):
                raise failure
            for low, kept in backup:
                cuda_memory.copy(low, self.device, kept.ptr, self.device, kept.nbytes)

    def capture(self, block: bytes, dims: tuple[int, ...], threads: int, report: Callable[[Failure], None]) -> None:
        """Capture the launch in a graph, which waits and looks for a failure whenever it has been launched."""
        captured = capture.gpu()
        record, stashes = self._submit(block, dims, threads)
        captured.keep(record, *stashes)

        def check() -> None:
            failure = self._failure(record)
            if failure is None:
                return
            if self.artifact.sites[failure.site].kind == "gradient-memory" and self._grow(failure, threads):
                raise RuntimeError(
                    f"kernel `{self.artifact.symbol}`: the memory for its gradient was sized when the "
                    "graph was captured and is too small now, so the gradients are wrong. Capture the "
                    "graph again, which makes it larger"
                )
            report(failure)

        captured.checks.append(check)

    def _launch(self, block: bytes, dims: tuple[int, ...], threads: int) -> Failure | None:
        record, _stashes = self._submit(block, dims, threads)
        return self._failure(record)

    def _submit(self, block: bytes, dims: tuple[int, ...], threads: int) -> tuple[Any, list[Any]]:
        """Launch, with a record for a failure and stashes, which are returned."""
        device = self.device
        unfailed = _UNFAILED + _STRUCTURES.pack(*self._structures())
        record = cuda_memory.Allocation(device, len(unfailed))
        host = (ctypes.c_char * len(unfailed)).from_buffer_copy(unfailed)
        cuda_memory.upload(record.ptr, device, ctypes.addressof(host), len(unfailed))
        stashes = [cuda_memory.Allocation(device, n * size) for size, n in self._stash_cells(threads)]
        places = {s: (a.ptr, self.cells) for s, a in zip(self.grid.stashes, stashes)}
        driver.launch(
            device.context,
            self.function,
            self.grid.block_dim,
            self.blocks,
            block,
            list(dims),
            threads,
            record.ptr,
            [places.get(4, (0, 0)), places.get(8, (0, 0))],
            device.stream.cuda_stream,
        )
        return record, stashes

    def _structures(self) -> tuple[int, int]:
        """The address and size of the memory of descriptors."""
        return descriptor_memory.of(self.device).span if self.grid.uses_structures else (0, 0)

    def _failure(self, record: Any) -> Failure | None:
        """Wait, and look whether a thread has failed."""
        device = self.device
        host = (ctypes.c_char * _FAILURE.size)()
        cuda_memory.copy(ctypes.addressof(host), CPU, record.ptr, device, _FAILURE.size)
        driver.synchronize_stream(device.context, device.stream.cuda_stream)
        thread, site, count, *values = _FAILURE.unpack(host)
        return None if site < 0 else Failure(thread, site, values[:count])

    def _stash_cells(self, threads: int) -> list[tuple[int, int]]:
        """Size and number of the cells of each stash."""
        return [(size, self._running(threads) * self.cells) for size in self.grid.stashes]

    def _running(self, threads: int) -> int:
        """Return the number of device threads of a launch."""
        blocks = -(-threads // self.grid.block_dim)
        return min(blocks, self.blocks or blocks) * self.grid.block_dim

    def _grow(self, failure: Failure, threads: int) -> bool:
        """Make the stash larger, if there is memory for that."""
        wanted = max(2 * self.cells, failure.values[0] if failure.values else 0)
        most = self.device.free_memory // STASH_SHARE // (self._running(threads) * sum(self.grid.stashes))
        if wanted > most:
            return False
        self.cells = wanted
        return True


def shared_array(value: Any, t: Any, device: Any) -> Any:
    """An array of another library on `device` as one of type `t` over the same memory, or NotImplemented."""
    if not isinstance(t, Array):
        return NotImplemented
    if _native.exchange.has_table(value):
        return dlpack.import_dlpack(array, value, python_type(t.dtype), name="")
    if getattr(value, "__cuda_array_interface__", None) is not None:
        return cuda_interface.import_cuda_array_interface(array, value, python_type(t.dtype), device)
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        return NotImplemented
    kind, _ = value.__dlpack_device__()
    if kind not in (dlpack.CUDA, dlpack.MANAGED):
        return NotImplemented
    return dlpack.import_dlpack(array, value, python_type(t.dtype), name="")


def adjoint_spans(block: bytes, arrays: list[tuple[int, int, int, bool]]) -> list[tuple[int, int]]:
    """The memory that an adjoint writes: the gradients of the arrays in an argument block, and the arrays themselves
    where it does the stores of the launch again. Of each array: offset, dimensions, element size, and whether it does.
    """
    out = []
    for at, ndim, size, stores in arrays:
        data, grad, *extents = _ARRAY.unpack_from(block, at)
        shape, strides = extents[:ndim], extents[4 : 4 + ndim]
        reach = [(n - 1) * s for n, s in zip(shape, strides)]
        for base in (grad, data if stores else 0):
            if base and all(shape):
                out.append((base + sum(r for r in reach if r < 0), base + sum(r for r in reach if r > 0) + size))
    return out


def _code_on(loaded: LoadedKernel, device: Device) -> GpuCode:
    """Return the code on a GPU, loaded when it is first needed there."""
    if device not in loaded.on_gpus:
        loaded.on_gpus[device] = GpuCode(loaded.artifact, device)
    return loaded.on_gpus[device]


def _refuse_text_for_cpus(kernel: Kernel) -> None:
    """Raise a CompileError if the kernel calls C++ text of which only that for CPUs has a meaning here."""
    for called in late("called_definitions")(kernel.primal):
        if isinstance(called, NativeFunction) and called.is_for_lone_threads:
            what = f"`{called.name}` is C++ text (wp.func_native) that lets threads of a GPU work together"
            raise CompileError(kernel.subject, [Diagnostic("unsupported", what, help="write it with @wp.func")])


class GpuPlanMaker(PlanMaker):
    """Makes the plan of a kernel on a GPU."""

    def empty_plan(self, params: list[Any]) -> Any:
        """A plan without code."""
        if self.options.deterministic and self.artifact.accumulation.order_dependent:
            what = f"{'the gradient of ' if self.options.adjoint else ''}kernel `{self.kernel.name}`"
            raise WarpDeterminismError(
                f"{what} adds floating point numbers atomically, or uses the value that an atomic "
                "operation returns, and GPUs do not fix the order of atomic operations: with "
                "wp.config.deterministic, or this option of its module, run it on the CPU"
            )
        _refuse_text_for_cpus(self.kernel)
        self.codes: dict[int, GpuCode] = {}
        plan = _native.Plan(
            self.kernel.name,
            params,
            self.artifact.arity,
            device_id=self.options.device,
            block_dim=self.options.block_dim or DEFAULT_BLOCK_DIM,
            on_missing=self.on_missing,
            on_failure=self.on_failure,
            convert=self.convert,
        )
        plan.promised = may_specialize(self.options)
        return plan

    def add(self, variant: int, loaded: LoadedKernel) -> None:
        """Load the code of a variant into the device."""
        code = _code_on(loaded, device_of(self.options.device))
        self.codes[variant] = code
        self.plan.set_gpu_entry(
            variant,
            code.device.context,
            code.function,
            code.grid.block_dim,
            code.blocks,
            code,
            self.on_checked if code.is_checked else None,
        )

    def on_checked(self, variant: int, block: bytes, dims: tuple[int, ...], threads: int) -> None:
        """Run a launch that may fail."""
        code = self.codes[variant]

        def report(why: Failure) -> None:
            raise self.on_failure(why.thread, why.site, why.values, dims[: max(1, code.artifact.arity)])

        if capture.gpu() is not None:
            code.capture(block, dims, threads, report)
            return
        try:
            code.run(block, dims, threads, adjoint_spans(block, self._arrays()))
        except Failure as why:
            report(why)
        except MemoryError as why:
            raise MemoryError(f"kernel `{self.kernel.name}`, for the memory that its launch keeps: {why}") from None

    def _arrays(self) -> list[tuple[int, int, int, bool]]:
        """Of each array of an adjoint its offset in the argument block, dimensions, element size, and whether it is
        written besides its gradient.
        """
        if not self.options.adjoint:
            return []
        out = []
        for (_, t), (_, offset, _), written in zip(self.kernel.params, self.plan.layout, self.artifact.written):
            for at, leaf in [(0, t)] if isinstance(t, Array) else leaves(t):
                if isinstance(leaf, Array):
                    out.append((offset + at, leaf.ndim, leaf.dtype.size, at in written))
        return out

    def convert(self, index: int, value: Any) -> Any:
        """Arrays of other libraries on the same GPU, over the same memory."""
        t, device = self.types[index], device_of(self.options.device)
        inner = indexed_array(t)
        if inner is None:
            return namesake(value, t) if isinstance(t, Struct) else shared_array(value, t, device)
        there = value if isinstance(value, _native.ArrayBase) else shared_array(value, inner, device)
        return as_indexed(value if there is NotImplemented else there, t)
