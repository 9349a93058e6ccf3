"""Kernels interpreted for arrays on GPUs: they run on copies on the host, and what they change is written back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from .. import _native
from ..arrays import layouts, transfer
from ..arrays.indexed_array import indexedarray
from ..devices import cuda_memory
from ..devices.device import CPU
from ..dispatch import capture
from ..lang.values.structs import StructValue


class HostCopies:
    """Copies on the host of all that the arguments of a launch on a GPU point to. `args` are the arguments over them.

    Arrays that share memory share it in the copies too.

    Raises:
        RuntimeError: elements point to arrays, or a graph is captured.
        ValueError: an array is on another device.
    """

    def __init__(self, name: str, args: Sequence[Any], params: Sequence[str], device: Any):
        capture.refuse(f"interpreting kernel `{name}`", device)
        found: list[Any] = []
        for param, x in zip(params, args):
            for a in _arrays(x):
                _check(a, f"kernel `{name}`: argument `{param}`", device)
                found.append(a)
        self._copies: list[tuple[layouts.Span, Any, bytes, Any]] = []
        for where in {a.device for a in found}:
            for (low, high), _ in layouts.groups([a for a in found if a.device is where]):
                kept = cuda_memory.read(where, low, high - low)
                buffer = _native.Buffer(high - low)
                transfer.write_host(buffer.ptr, kept)
                self._copies.append(((low, high), buffer, kept, where))
        self.args = [self._over(x) for x in args]

    def write_back(self) -> None:
        """Take what has changed to the GPU."""
        for (low, high), buffer, before, device in self._copies:
            if transfer.memory_at((buffer.ptr, buffer.ptr + high - low)) != before:
                _native.before_write(low, high)
                cuda_memory.copy(low, device, buffer.ptr, CPU, high - low)

    def _over(self, x: Any) -> Any:
        """An argument over the copies."""
        if isinstance(x, indexedarray):
            return indexedarray(self._over(x.data), [self._over(i) for i in x.indices[: x.ndim]])
        if isinstance(x, StructValue):
            return type(x)._from([self._over(leaf) for leaf in x._leaves()])
        return self._array(x) if isinstance(x, _native.ArrayBase) else x

    def _array(self, a: Any) -> Any:
        kind = cast(Any, type(a))
        made = kind.__new__(kind)
        at, owner = 0, None
        for (low, high), buffer, _, device in self._copies:
            if device is a.device and a.size and low <= a._address < high:
                at, owner = buffer.ptr + a._address - low, buffer
        made._init(a._require_element(), at, a.shape, a.strides, owner, a.flags)
        return made


def _arrays(x: Any) -> list[Any]:
    if isinstance(x, indexedarray):
        return [a for a in x._leaves() if a is not None]
    if isinstance(x, StructValue):
        return [a for leaf in x._leaves() for a in _arrays(leaf)]
    return [x] if isinstance(x, _native.ArrayBase) else []


def _check(a: Any, where: str, device: Any) -> None:
    if a.device is not device:
        there = "the CPU" if a.device.is_cpu else a.device
        raise ValueError(f'{where} is on {there} but the launch is on {device}: pass a copy, .to("{device}")')
    if a._refs:
        raise RuntimeError(
            f"{where}: its elements point to arrays on {a.device}, which interpreted kernels cannot "
            "access: launch on the CPU, with arrays there"
        )
