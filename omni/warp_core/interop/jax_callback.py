"""Python functions that XLA calls with its own buffers: `wp.register_ffi_callback`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _native
from ..lang.types import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64
from . import jax_memory
from .jax_dtypes import jax_dtype
from .jax_versions import ffi

__all__ = ["register_ffi_callback"]

# The numbers of element types in XLA.
_TYPES = {
    1: BOOL,
    2: I8,
    3: I16,
    4: I32,
    5: I64,
    6: U8,
    7: U16,
    8: U32,
    9: U64,
    10: F16,
    11: F32,
    12: F64,
    16: BF16,
}
_Handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_kept: list[Any] = []  # what XLA may call until the process ends


class FfiBuffer:
    """A buffer of XLA. Launches and NumPy take it as an array during the call, and are refused afterwards."""

    def __init__(self, address: int, shape: tuple[int, ...], kind: int, is_read_only: bool):
        self.data, self.shape, self.dtype = address, shape, jax_dtype(_TYPES[kind])
        self._is_read_only, self._is_open = is_read_only, True

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The memory, as NumPy describes it. Raises ValueError once the call has ended."""
        if not self._is_open:
            jax_memory.refuse()
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.data, self._is_read_only),
            "strides": None,
        }

    def end(self) -> None:
        """Refuse further use: XLA frees the memory."""
        self._is_open = False


class FfiContext(NamedTuple):
    """How XLA runs a call: `stream` is the handle of the stream of a GPU, None on a CPU."""

    stream: int | None


def register_ffi_callback(name: str, func: Callable[..., None], graph_compatible: bool = True) -> None:
    """Let programs of JAX call a Python function: `jax.ffi.ffi_call(name, result_types)(*inputs, **attributes)`.

    Args:
        name: The name for `jax.ffi.ffi_call`.
        func: Called as func(inputs, outputs, attrs, ctx): lists of buffers, which launches take as arrays, a dictionary
            of the attributes, and an object whose `stream` is that of XLA. XLA frees the buffers after the call: keep
            copies, and no arrays that show them.
        graph_compatible: Whether a graph of a GPU may hold the call. The CPU has no graphs, so that nothing changes.

    Raises:
        TypeError: `func` is not callable.
    """
    if not callable(func):
        raise TypeError(f"register_ffi_callback: expected a function, got {type(func).__name__}")

    def run(operands: list[Any], results: list[Any], attributes: dict[str, Any], stream: int | None) -> None:
        inputs = [FfiBuffer(at, shape, kind, True) for at, shape, kind in operands]
        outputs = [FfiBuffer(at, shape, kind, False) for at, shape, kind in results]
        try:
            func(inputs, outputs, attributes, FfiContext(stream))
        finally:
            for buffer in (*inputs, *outputs):
                buffer.end()

    handler = _Handler(lambda frame: _native.xla.call_function(frame, run) or None)
    _kept.append(handler)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = make(ctypes.cast(handler, ctypes.c_void_p), b"xla._CUSTOM_CALL_TARGET", None)
    ffi().register_ffi_target(name, capsule, platform="cpu")
