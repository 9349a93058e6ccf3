"""The methods of `wp.array` that hand its elements to others: NumPy, Python lists, DLPack, GPUs' libraries."""

from __future__ import annotations

import ctypes
import pickle
import sys
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from ..devices.device import CPU, get_device
from ..dispatch import capture
from ..lang.types import BF16, MAX_NDIM, Array, Struct, Type, element
from ..lang.values.structs import StructType
from ..late_bound import late
from . import dlpack, dtypes, elements, keepalive, transfer

if TYPE_CHECKING:
    from .array import array


class Memory:
    """The object from which NumPy builds a view of `owner`'s memory."""

    __slots__ = ("__array_interface__", "__weakref__", "owner")

    def __init__(self, interface: dict[str, Any], owner: Any):
        self.__array_interface__, self.owner = interface, owner


def pickled_numbers(a: Any, protocol: Any) -> Any:
    """The elements of an array in C order, out of band where the protocol allows."""
    capture.refuse("pickling an array", a.device)
    return pickle.PickleBuffer(a.contiguous().numpy()) if protocol >= 5 and a.size else a.contiguous().numpy().tobytes()


def _is_found_by_name(cls: Any) -> bool:
    """True if this is the class of a struct that another process can import."""
    if not isinstance(cls, StructType):
        return False
    try:
        return attrgetter(cls.__qualname__)(sys.modules[cls.__module__]) is cls
    except (KeyError, AttributeError):
        return False


def rebuild(cls: Any, kind: Any, shape: tuple, numbers: Any, grad: Any, device: str, pinned: bool) -> Any:
    """The array of a pickle, on the device that it was on."""
    element = dtypes.element(kind) if isinstance(kind, Type) else dtypes.element_of(kind)

    def filled(data: Any, is_pinned: bool) -> Any:
        made = cls._empty(element, shape, get_device(device), pinned=is_pinned)
        transfer.put(made, np.frombuffer(data, element.numpy).reshape(shape + element.inner))
        return made

    made = filled(numbers, pinned)
    if grad is not None:
        made.grad = filled(grad, False)
    return made


class Exchange:
    """Mixed into `wp.array`, which `self` is."""

    _view: np.ndarray | None

    def _interface(self: Any) -> dict[str, Any]:
        element = self._require_element()
        return {
            "data": (self._address, self.readonly),
            "shape": self.shape + element.inner,
            "strides": self.strides + element.inner_strides,
            "typestr": element.numpy.str,
            "version": 3,
        }

    def cptr(self: Any) -> Any:
        """A ctypes pointer to the numbers or structs of a contiguous array on the CPU, which it keeps alive.

        Raises:
            ValueError: the array is on a GPU, or is not contiguous.

        >>> numbers = wp.array([1.0, 2.0], dtype=float).cptr()
        >>> numbers[1]
        2.0
        """
        t = self._require_element().type
        if self.device.is_cuda or not self.is_contiguous:
            raise ValueError("cptr: only contiguous arrays on the CPU have a pointer to their numbers")
        transfer.share(self)
        scalar = late("ctype_of")(element(t))
        numbers = (scalar * max(self.capacity // ctypes.sizeof(scalar), 1)).from_address(self._address)
        numbers._owner = self.owner
        return ctypes.cast(numbers, ctypes.POINTER(scalar))

    @property
    def __array_interface__(self: Any) -> dict[str, Any]:
        if isinstance(self._require_element().type, Struct):
            # The protocol loses field offsets.
            raise AttributeError("__array_interface__ does not support arrays of structs: use __array__")
        if self.device.is_cuda:
            raise AttributeError("the array is in CUDA memory: use __cuda_array_interface__")
        transfer.share(self)
        return self._interface()

    @property
    def __cuda_array_interface__(self: Any) -> dict[str, Any]:
        # `stream` is the current one: whoever takes the memory lets its own stream wait for that.
        if not self.device.is_cuda or isinstance(self._require_element().type, Struct):
            raise AttributeError("only CUDA arrays of numbers offer __cuda_array_interface__")
        if element(self._element.type) is BF16:
            raise AttributeError("__cuda_array_interface__ has no bfloat16: use DLPack, or a.view(wp.uint16)")
        transfer.share(self)
        found = self._interface() | {"stream": dlpack.handle_of(self.device)}
        if self.is_contiguous:
            found["strides"] = None
        return found if self.size else found | {"data": (0, self.readonly)}

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False and self.device.is_cuda:
            raise ValueError(f"elements on {self.device} need a copy to become a NumPy array, which copy=False forbids")
        view = self._numbers() if copy else self.numpy()
        converted = dtype not in (None, view.dtype)
        if converted and copy is False:
            raise ValueError(
                f"converting elements of {view.dtype} to {np.dtype(dtype)} needs a copy, which copy=False forbids"
            )
        return view.astype(dtype or view.dtype) if copy or converted else view

    def numpy(self: Any) -> np.ndarray:
        """The elements as a NumPy array that shares the memory; of an array on a GPU, as a copy.

        From then on anybody may write there unseen, so a tape copies beforehand what it will read.

        Components become trailing dimensions, structs a structured dtype, bfloat16 its bits as uint16.

        >>> wp.array([1.5, 2.5], dtype=float).numpy()
        array([1.5, 2.5], dtype=float32)
        """
        capture.refuse("array.numpy()", self.device)
        if self.device.is_cuda:
            return transfer.from_gpu(self)
        transfer.share(self)
        return self._numbers()

    def _numbers(self: Any) -> np.ndarray:
        """Return the result of `numpy` for use inside this package. Copies from a GPU must not be written."""
        if self.device.is_cuda:
            found = transfer.from_gpu(self)
            found.flags.writeable = False
            return found
        transfer.settle(self)
        if self._view is None:
            element = self._require_element()
            if self.size == 0:
                self._view = np.empty(self.shape + element.inner, element.numpy)
            else:
                view = np.asarray(Memory(self._interface(), self.owner))
                self._view = view.view(element.numpy) if element.numpy.names else view
        return self._view

    def _to_write(self: Any) -> np.ndarray:
        """The same, to be written at once."""
        if self.device.is_cuda:
            raise RuntimeError(
                f"the array is on {self.device}, but this operation needs an array on the CPU: use .to('cpu')"
            )
        _native.before_write(*self._span)
        return self._numbers()

    def list(self: Any) -> list[Any]:
        """The elements in C order: Python numbers for scalars, values for the rest.

        >>> wp.array([1.5, 2.5], dtype=float).list()
        [1.5, 2.5]
        """
        capture.refuse("array.list()", self.device)
        return elements.to_list(self._numbers(), self._require_element(), self._member, keepalive.of(self))

    @classmethod
    def _member(cls: Any, t: Array, descriptor: tuple[int, ...], owner: Any) -> array | None:
        """The array that a struct among the elements points to; `owner` are the arrays that this keeps alive."""
        data, grad, *extents = descriptor
        if data == 0:
            return None
        shape, strides = tuple(extents[: t.ndim]), tuple(extents[MAX_NDIM : MAX_NDIM + t.ndim])
        made = cls.__new__(cls)
        device = owner[0].device if owner else CPU
        made._init(dtypes.element(t.dtype), data, shape, strides, owner, device=device)
        if grad:
            made._set_grad(cls._member(t, (grad, 0, *extents), owner))
        return made

    def __dlpack__(
        self: Any, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        return dlpack.export_dlpack(self, stream, max_version, dl_device, copy)

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        element = self._element
        if element is None:
            raise TypeError("an array made without a dtype, as an annotation, cannot be pickled")
        if element.holds_arrays:
            raise TypeError(f"arrays of {element.name} cannot be pickled: its fields refer to memory of this process")
        kind = element.dtype if _is_found_by_name(element.dtype) else element.type
        numbers = pickled_numbers(self, protocol)
        grad = None if self.grad is None else pickled_numbers(self.grad, protocol)
        return rebuild, (type(self), kind, self.shape, numbers, grad, self.device.alias, self.pinned)

    def __copy__(self: Any) -> array:
        return self._view_of(self._layout())

    def __deepcopy__(self: Any, memo: Any) -> array:
        return self._copied()

    def __dlpack_device__(self: Any) -> tuple[int, int]:
        return dlpack.dlpack_device(self)
