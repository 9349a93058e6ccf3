"""`wp.array`: a view of device memory with a shape, byte strides and an element type.

The native base class holds what launches need (pointer, shape, strides, flags); this file adds construction, views and
access from Python; `reshaping` and `interchange` add methods. Functions that make and copy arrays are in `factories`.
Start with `array.__init__`.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from .. import _native
from ..devices import cuda_memory
from ..devices.device import CPU, Device, device_of, get_device
from ..dispatch import capture, observers
from ..dispatch.operation import Operation, Write, execute
from ..lang.annotations import open_type
from ..lang.arrays import ArrayAnnotation, UnionMember, array_type, check_ndim
from ..lang.generics import Pattern, spell_pattern
from ..lang.registry import LOCAL_VIEW
from ..lang.types import BF16, Array, Type, element
from ..lang.values.scalars import int32
from ..late_bound import late
from . import array_data, cuda_interface, dlpack, elements, grad_binding, keepalive, layouts, transfer
from .accumulate import move_gradient
from .array_operators import Arithmetic
from .array_text import array_text
from .attribute_hints import ForeignNames
from .dtypes import Element, bfloat16_numbers, element_of
from .indexed_array import indexedarray
from .interchange import Exchange, Memory
from .layouts import Layout
from .reshaping import Reshaping
from .selections import has_selection, indices_of, is_selection

__all__ = ["array", "array1d", "array2d", "array3d", "array4d"]


class _ArrayType:
    """`__wc_type__` of instances only: the bare class `wp.array` names no type."""

    def __get__(self, instance: array | None, owner: type) -> Type | Pattern:
        if instance is None:
            raise AttributeError("__wc_type__")
        if instance._element is None:
            return array_type(instance._open, Any if instance._any_ndim else instance.ndim)
        if instance._any_ndim:
            return array_type(instance.dtype, Any)
        return Array(instance._require_element().type, instance.ndim)


def _on_cpu(data: Any) -> bool:
    return not isinstance(data, array) or data.device.is_cpu


def _is_integer(key: Any) -> bool:
    return hasattr(key, "__index__") and not is_selection(key)


def _buffer(element: Element, shape: tuple, nbytes: int, device: Device, pinned: bool) -> Any:
    wanted = min(nbytes, 1 << 62)
    try:
        if device.is_cuda:
            made: Any = cuda_memory.Allocation(device, wanted)
        else:
            made = cuda_memory.Pinned(wanted) if pinned else _native.Buffer(wanted)
    except MemoryError as why:
        more = f": {why}" if device.is_cuda or pinned else ""
        raise MemoryError(f"no memory for shape={shape} of {element.name}: it takes {nbytes} bytes{more}") from None
    if transfer.tracker is not None:
        extents = "".join(f", {n}" for n in shape)
        transfer.tracker(made, "pinned" if pinned else device.alias, f"array[{element.name}{extents}]")
    return made


def _owning(numbers: Any, value: Any) -> Any:
    """Numbers for a graph that assigns them whenever it runs: those of an array as they are then, others as now."""
    if not isinstance(value, array):
        return np.array(numbers)
    if not np.shares_memory(numbers, value._numbers()):
        raise RuntimeError("a graph cannot assign an array of another dtype: convert it with wp.utils.array_cast")
    return numbers


class _ViewIntrinsic:
    """`__wc_intrinsic__` of the class only: in kernels, `wp.array(ptr=...)` makes views of local arrays."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is not None:
            raise AttributeError("__wc_intrinsic__")
        return LOCAL_VIEW


class array(Arithmetic, Exchange, Reshaping, ForeignNames, _native.ArrayBase):
    """An array of scalars, vectors, matrices, quaternions, transforms or structs.

    Args:
        data: Nested sequences of numbers or values, a NumPy array, or an object with an array interface, which may be
            of memory on a GPU. For elements with components the trailing dimensions hold the components.
        dtype: The element type; taken from `data` if left out.
        shape: One extent or up to four. With `data`, the shape to give it, in which one extent may be -1.
        strides: With `ptr` or `shape`, the bytes from one element to the next, per dimension; C order if left out.
        ptr: The address of existing memory to use; the caller keeps it alive.
        capacity: With `ptr`, the bytes it has.
        device: Where the memory is.
        pinned: On the CPU, whether the memory is pinned: copies between it and a GPU go on while the program does.
        copy: False shares the memory of `data` if its layout and dtype allow.
        deleter: With `ptr`, called with (pointer, capacity) when the memory is no longer used.
        ndim: The number of dimensions where neither `data` nor `shape` tells, in annotations.
        grad: An array for gradients, of the same shape, strides and dtype.
        requires_grad: Allocate a zeroed gradient array.
        retain_grad: Whether `backward` leaves the gradient of what a launch wrote last in `grad`, rather than cleared.
        length, n: Older spellings of `shape`.

    Without `data`, `ptr` and `shape` the result is empty: that is how `wp.array(dtype=float, ndim=2)` serves as an
    annotation, like `wp.array2d[float]`.

    Raises:
        TypeError: If an argument has the wrong type; the message names the argument.
        ValueError: If shapes do not fit each other.

    >>> wp.array([[1, 2, 3], [4, 5, 6]], dtype=float).shape
    (2, 3)
    """

    __wc_type__ = _ArrayType()
    __wc_intrinsic__ = _ViewIntrinsic()
    _open: Any = Any  # the dtype of an annotation that leaves it open
    _any_ndim = False  # whether it is an annotation that leaves the number of dimensions open
    _claim: grad_binding.GradientBinding | None = None  # of the gradient
    _set_by: grad_binding.SetBy = None  # as a gradient
    _requires_grad_off = False  # whether the user wants no gradient, whatever memory is shared
    _link: Any = None  # of a gradient, to tensors of another library that have it too
    _is_parameter = False  # whether an optimizer of another library updates it by the gradient that both share
    retain_grad = False

    def __init__(
        self,
        data: Any = None,
        dtype: Any = Any,
        shape: Any = None,
        strides: tuple[int, ...] | None = None,
        ptr: int | None = None,
        capacity: int | None = None,
        device: Device | str | None = None,
        pinned: bool = False,
        copy: bool = True,
        deleter: Callable[[int, int], None] | None = None,
        ndim: int | None = None,
        grad: array | None = None,
        requires_grad: bool = False,
        retain_grad: bool = False,
        *,
        length: Any = None,
        n: Any = None,
    ):
        where = get_device(device)
        wanted = None if dtype is None or open_type(dtype) is not None else element_of(dtype)
        given = [s for s in (shape, length, n) if s is not None]
        if len(given) > 1:
            raise TypeError("shape: give one of shape, length and n")
        extents = layouts.check_shape(given[0], data is not None) if given else None
        if data is not None and ptr is not None:
            raise TypeError("data: give either data or ptr, not both")
        write: Callable[[], None] | None = None
        if data is not None and not isinstance(data, (array, np.ndarray, list)):
            data = cuda_interface.shown(array, data, None if wanted is None else wanted.dtype, where)
        if data is not None:
            there = where if device is not None or not isinstance(data, array) else data.device
            from_data = self._from_data if there.is_cpu and _on_cpu(data) else self._onto_gpu
            write = from_data(data, wanted, extents, copy, there, pinned)
        elif extents is not None:
            self._from_memory(wanted or element_of(float), extents, strides, ptr, capacity, deleter, where, pinned)
        elif ptr is not None:
            raise TypeError("shape: give the shape of the memory at ptr")
        else:
            self._open = Any if dtype is None else dtype
            self._any_ndim = ndim is Any
            self._init(wanted, 0, (0,) * check_ndim(1 if ndim in (None, Any) else ndim), None)
        self.retain_grad = bool(retain_grad)
        flows = observers.has_gradient(data)
        if write is not None and not flows:  # before there is a gradient: first values are no step of a tape
            self._write_first(data, write)
        if grad is not None:
            self.grad = grad
        elif requires_grad and write is None and flows:
            self._attach(data._grad._view_of(self._layout(), self._require_element()), data._claim)
        elif requires_grad:
            self.requires_grad = True
        if write is not None and flows:
            self._write_first(data, write)

    @classmethod
    def __class_getitem__(cls, item: Any) -> ArrayAnnotation:
        return ArrayAnnotation.from_subscript(item)

    # -- construction -----------------------------------------------------------------------------------------------

    def _init(
        self,
        element: Element | None,
        ptr: int,
        shape: tuple,
        strides: tuple | None,
        owner: Any = None,
        flags: int = 0,
        device: Device = CPU,
    ) -> None:
        self._element = element
        self._grad: array | None = None
        self._refs: dict[int, tuple] | None = {} if element is not None and element.holds_arrays else None
        self._view = None
        kind = (element or element_of(float)).id
        _native.ArrayBase.__init__(self, ptr, shape, strides, kind, device.id, flags, owner)

    def _from_data(
        self, data: Any, wanted: Element | None, extents: tuple | None, copy: bool, _: Device, pinned: bool
    ) -> Callable[[], None] | None:
        """Return the function that copies the elements, or None if the memory is shared."""
        found = array_data.read_plain(data, wanted) if extents is None else None
        found = found or array_data.read(data, wanted, extents)
        element, numbers = found.element, found.numbers
        inner = len(element.inner)
        dense = inner == 0 or numbers.strides[-inner:] == element.inner_strides or numbers.size == 0
        if not copy and dense and numbers.dtype == element.numpy:
            flags = 0 if numbers.flags.writeable else _native.READONLY
            strides = numbers.strides[: numbers.ndim - inner]
            owner = data.owner if isinstance(data, array) else numbers
            self._init(element, numbers.ctypes.data, found.shape, strides, owner, flags)
            if isinstance(data, array):
                self._refs = data._refs
            else:
                keepalive.replace(self, self._layout(), found.refs)
            return None
        self._allocate(element, found.shape, CPU, pinned)

        def write() -> None:
            if not capture.active() and array_data.has_bytes_of(numbers, element):
                _native.copy(self._address, numbers.ctypes.data, numbers.nbytes)
                return
            given = numbers if capture.current() is None else _owning(numbers, data)
            capture.call(transfer.assign, self._numbers(), given, label="assign", writes=[self], keep=data)
            keepalive.replace(self, self._layout(), found.refs)

        return write

    def _onto_gpu(
        self, data: Any, wanted: Element | None, extents: tuple | None, copy: bool, device: Device, pinned: bool
    ) -> Callable[[], None] | None:
        """Take data to a GPU, from one, or from one to another.

        Return the function that copies the elements, or None if the memory is shared.
        """
        kind = wanted and wanted.dtype
        source = data if isinstance(data, array) else array(data, kind, extents, device=CPU, copy=False)
        element = wanted or source._require_element()
        if element.type is not source._require_element().type:
            name = source._require_element().name
            raise TypeError(f"data: elements of {name} on a GPU do not become {element.name}; convert them on the CPU")
        if not copy and source.device is device and (extents is None or source.is_contiguous):
            shown = source if extents is None else source.reshape(extents)
            self._init(element, shown._address, shown.shape, shown.strides, data.owner, data.flags, device)
            self._refs = data._refs
            return None
        shape = source.shape if extents is None else layouts.filled(extents, source.size)
        self._allocate(element, shape, device, pinned)
        return partial(transfer.copy_all if source is data else transfer.upload, self, source)

    def _write_first(self, data: Any, write: Callable[[], None]) -> None:
        """Copy `data` to the new elements, by the function `write`."""
        if not observers.observed:
            write()
        elif not isinstance(data, array):
            transfer.overwrite(self, write)
        elif (self.shape, self._require_element().inner) == (data.shape, data._require_element().inner):
            transfer.assign_array(self, data, write)
        else:
            name = "making an array of another shape from an array (use reshape or view)"
            ends = self._grad is None
            execute(Operation(name, {"the array": Write(self, True)}, {"data": data}, write, ends_gradients=ends))

    def _from_memory(
        self,
        element: Element,
        shape: tuple,
        strides: tuple | None,
        ptr: int | None,
        capacity: int | None,
        deleter: Callable[[int, int], None] | None,
        device: Device,
        pinned: bool,
    ) -> None:
        size = element.type.size
        if strides is not None and len(strides) != len(shape):
            raise ValueError(f"strides: expected {len(shape)} entries like shape={shape}, got {strides}")
        steps = layouts.c_strides(shape, size) if strides is None else tuple(strides)
        low, high = layouts.span(shape, steps, size)
        if ptr is None:
            buffer = _buffer(element, shape, high - low, device, pinned)
            self._init(element, buffer.ptr - low, shape, steps, buffer, device=device)
            observers.made(self)
            return
        if ptr == 0 and high > low:
            raise ValueError(f"ptr: there is no memory at 0 for shape={shape}")
        if capacity is not None and high > capacity:
            raise ValueError(f"capacity: shape={shape} of {element.name} needs {high} bytes, got {capacity}")
        owner = None
        if deleter is not None:
            owner = Memory({}, None)
            weakref.finalize(owner, deleter, ptr, high if capacity is None else capacity)
        self._init(element, ptr, shape, steps, owner, device=device)

    def _allocate(self, element: Element, shape: tuple, device: Device, pinned: bool = False) -> None:
        strides = layouts.c_strides(shape, element.type.size)
        buffer = _buffer(element, shape, math.prod(shape) * element.type.size, device, pinned)
        self._init(element, buffer.ptr, shape, strides, buffer, device=device)
        observers.made(self)

    @classmethod
    def _empty(cls, element: Element, shape: tuple[int, ...], device: Device = CPU, pinned: bool = False) -> array:
        self = cls.__new__(cls)
        self._allocate(element, shape, device, pinned)
        return self

    def _layout(self) -> Layout:
        return Layout(self.shape, self.strides)

    def _view_of(self, layout: Layout, element: Element | None = None) -> array:
        """A view of the same memory; the gradient is viewed alike, unless it would be other numbers."""
        made = array.__new__(array)
        element = element or self._require_element()
        at = self._address + layout.offset
        made._init(element, at, layout.shape, layout.strides, self.owner, self.flags, self.device)
        made._refs, made.retain_grad, made._requires_grad_off = self._refs, self.retain_grad, self._requires_grad_off
        made._is_parameter, made._link = self._is_parameter, self._link
        if self._set_by is not None:
            made._set_by = self._set_by
        if self._grad is not None and element.shows_numbers_of(self._require_element()):
            made._attach(self._grad._view_of(layout, element), self._claim)
        return made

    def _require_element(self) -> Element:
        if self._element is None:
            raise TypeError("this array was made without a dtype, as an annotation for any type")
        return self._element

    # -- attributes -------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> Any:
        """The class of the elements."""
        return self._open if self._element is None else self._element.dtype

    @property
    def ptr(self) -> int:
        """The address of the first element. Who has it may write there unseen, like who has `numpy()`."""
        transfer.share(self)
        return self._address

    @ptr.setter
    def ptr(self, value: None) -> None:
        """An array without elements may be told that it has no memory; that changes nothing."""
        if value is not None or self.size:
            raise AttributeError("the memory of an array cannot be replaced: make another one, wp.array(ptr=...)")

    @property
    def device(self) -> Device:
        """The device of the memory."""
        return device_of(self.device_id)

    @property
    def capacity(self) -> int:
        """The bytes that the elements take in C order."""
        return self.size * self._require_element().type.size

    @property
    def pinned(self) -> bool:
        """True if the memory is pinned host memory, which GPUs copy from and to without the CPU."""
        return isinstance(self.owner, cuda_memory.Pinned)

    @property
    def memory_kind(self) -> Any:
        """What kind of memory it is: `wp.MemoryKind.HOST` on the CPU."""
        return late("memory_kind")(self)

    @property
    def readonly(self) -> bool:
        """True if the memory must not be written, because it belongs to a read-only NumPy array."""
        return bool(self.flags & _native.READONLY)

    @property
    def grad(self) -> array | None:
        """The gradient array, None unless `requires_grad`. Assigning one sets `requires_grad`."""
        found = self._grad
        if found is not None and found._link is not None:
            found._link.attach()
        return found

    @grad.setter
    def grad(self, value: array | None) -> None:
        if value is not None:
            self._check_grad(value)
        self._set_grad(value)

    def _check_grad(self, value: array) -> None:
        for what in ("shape", "dtype", "strides", "device"):
            mine, theirs = getattr(self, what), getattr(value, what, None)
            if mine != theirs:
                mine, theirs = (getattr(x, "__name__", x) for x in (mine, theirs))
                how = "pass a copy like the array" if what == "strides" else "`a.grad.assign(...)` converts numbers"
                raise ValueError(f"grad: expected {what} {mine}, got {theirs}; {how}")
        if layouts.may_share_memory(self, value):
            raise ValueError("grad: shares memory with the array itself; give another array, such as wp.zeros_like(a)")

    def _set_grad(self, value: array | None, fresh: bool = False) -> None:
        if value is not None and not fresh and value._set_by is None:
            value._set_by = grad_binding.PROGRAM
        self._attach(value, None if value is None else grad_binding.claim(self, value, fresh))

    def _attach(self, value: array | None, claim: grad_binding.GradientBinding | None) -> None:
        """Set the gradient under a claim that there is already, or none."""
        self._grad, self._claim, self._requires_grad_off = value, claim, False
        self.grad_ptr = 0 if value is None else value._address

    def _resolve_grad(self, name: str) -> None:
        """Adopt the gradient that is bound to the memory of the array. `name` is what errors call the array."""
        grad_binding.settle(self, name)

    def _move_gradient(self, to: array) -> None:
        """Add the gradient to that of another array, and clear it: the VJP of a copy."""
        move_gradient(self.grad, to.grad)

    @property
    def requires_grad(self) -> bool:
        """True if the array has a gradient. Setting True allocates a zeroed gradient, False drops it."""
        return self._grad is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not value:
            self._set_grad(None)
            self._requires_grad_off = True
        elif self._grad is None and self._element is not None:
            if self.is_contiguous:
                grad = array._empty(self._element, self.shape, self.device)
            else:
                grad = array(dtype=self.dtype, shape=self.shape, strides=self.strides, device=self.device)
            grad.zero_()
            self._set_grad(grad, fresh=True)
            observers.made_gradient(grad)

    # -- access -----------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """A view for slices and missing indices, the element for one integer per dimension.

        `None` makes a dimension of one element. With lists, masks or int32 arrays among the indices, each for one
        dimension, it is an indexed array: see `wp.indexedarray`.
        """
        if has_selection(key):
            return self._indexed(key)
        layout = layouts.index(self._layout(), key)
        if layout.shape:
            return self._view_of(layout)
        capture.refuse("reading an element", self.device)
        raw = self._number_at(layout) if self.device.is_cuda else self._numbers()[layouts.expand(key, self.ndim)]
        owner = self._refs.get(self._address + layout.offset) if self._refs else None
        return elements.get(raw, self._require_element(), self._member, owner)

    def _number_at(self, layout: Layout) -> Any:
        """The element that a layout without dimensions shows, copied from a GPU."""
        raw = transfer.from_gpu(
            self._view_of(layout._replace(shape=(1,), strides=(self._require_element().type.size,)))
        )
        return raw[0]

    def _indexed(self, key: Any) -> indexedarray:
        keys = layouts.expand(key, self.ndim)
        if None in [k for k in keys if not is_selection(k)]:
            raise TypeError("array indices are integers, slices and ... beside selections, got None")
        view = self[tuple(slice(None) if is_selection(k) else k for k in keys)]
        chosen = [self._chosen(k, d) if is_selection(k) else None for d, k in enumerate(keys) if not _is_integer(k)]
        return indexedarray(view, chosen)

    def _chosen(self, selection: Any, dimension: int) -> array:
        found = indices_of(selection, self.shape[dimension], dimension)
        return found if isinstance(found, array) else array(found, dtype=int32, device=self.device)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Assign an element, fill a view with one, or copy into a view an array or sequence of its shape."""
        if has_selection(key):
            self._indexed(key)[...] = value
            return
        layout = layouts.index(self._layout(), key)
        refs, numbers = self._assigned(layout, value)
        self._check_writable()
        keepalive.check(self, refs)

        def run() -> None:
            if self.device.is_cuda:
                self._set_on_gpu(layout, value, numbers)
            else:
                place = (*layouts.expand(key, self.ndim), ...)
                given = numbers if capture.current() is None else _owning(numbers, value)
                capture.call(transfer.assign, self._numbers()[place], given, label="assign", writes=[self], keep=value)
            keepalive.replace(self, layout, refs)

        if not observers.is_watched():
            run()
        elif isinstance(value, array):
            transfer.assign_array(self[key], value, run)
        else:
            part = layout if layout.shape else layout._replace(shape=(1,), strides=(0,))
            transfer.overwrite(self._view_of(part), run)
        if layout.shape == self.shape:
            self._set_by = grad_binding.PROGRAM

    def _assigned(self, layout: Layout, value: Any) -> tuple[keepalive.Refs, np.ndarray | None]:
        """Return the data to assign to the elements of `layout`: references and numbers, None for elements that stay on
        GPUs.
        """
        element = self._require_element()
        if not layout.shape or elements.is_single(value, element):
            return (elements.references(value),), elements.item(value, element)
        stays = self.device.is_cuda and isinstance(value, array) and value._require_element().type is element.type
        found = None if stays else array_data.read(value, element)
        shape = found.shape if found is not None else value.shape
        if shape != layout.shape:
            raise ValueError(f"cannot assign shape {shape} to the selected shape {layout.shape}")
        return (keepalive.of(value), None) if found is None else (found.refs, found.numbers)

    def _set_on_gpu(self, layout: Layout, value: Any, numbers: np.ndarray | None) -> None:
        target = self._view_of(layout if layout.shape else layout._replace(shape=(1,), strides=(self.strides[0],)))
        element = self._require_element()
        if numbers is None:
            transfer.copy_all(target, value)
        elif numbers.shape == element.inner:
            transfer.fill(target, numbers.tobytes())
        else:
            transfer.put(target, numbers)

    def mark_write(self, **_: Any) -> None:
        """Report that the elements are about to be written without a tape seeing it, for example by a foreign function.

        A tape that needs them copies them now. What is written with this package, it sees by itself.
        """
        _native.before_write(*self._span)

    def mark_read(self) -> None:
        """Accepted; tapes know what their gradients read."""

    def mark_init(self) -> None:
        """Accepted; there is no mark to clear."""

    def _check_writable(self) -> None:
        if self.readonly:
            raise ValueError("the array is read-only: it shares the memory of a read-only NumPy array")

    def fill_(self, value: Any) -> None:
        """Set every element to `value`; one number fills all components.

        Raises:
            TypeError, ValueError: If `value` is not a value of the dtype.

        >>> a = wp.array(dtype=float, shape=2)
        >>> a.fill_(3.0)
        >>> a.list()
        [3.0, 3.0]
        """
        self._check_writable()
        try:
            pattern = elements.item(value, self._require_element()).tobytes()
        except (TypeError, ValueError) as e:
            raise type(e)(f"value: {e}") from None
        refs = (elements.references(value),)
        keepalive.check(self, refs)
        if self._refs is not None or not transfer.fill_natively(self, pattern):
            self._fill(pattern, refs)
        self._set_by = grad_binding.PROGRAM

    def zero_(self) -> None:
        """Set every element to zero."""
        self._check_writable()
        pattern = bytes(self._require_element().type.size)
        if self._refs is not None or not transfer.fill_natively(self, pattern, True):
            self._fill(pattern, ((),))
        self._set_by = None

    def _fill(self, pattern: bytes, refs: keepalive.Refs) -> None:
        def run() -> None:
            transfer.fill(self, pattern)
            keepalive.replace(self, self._layout(), refs)

        transfer.overwrite(self, run)

    def assign(self, src: Any) -> None:
        """Copy `src`, an array or any data for one, into this array; `src` may be shorter."""
        if self._assign_plain(src):
            return
        if not isinstance(src, array):
            src = array(src, dtype=self.dtype, copy=capture.active())  # a graph copies what it is at the capture
        if src.size > self.size:
            raise ValueError(f"src: has {src.size} elements (shape {src.shape}), but the array has {self.size}")
        transfer.copy(self, src)

    def _assign_plain(self, src: Any) -> bool:
        """Copy a NumPy array of the same numbers in one native call. False if that takes more."""
        if array_data.read_plain(src, self._element) is None or src.nbytes > self.capacity or not self.is_contiguous:
            return False
        at, to = src.ctypes.data, self._address
        apart = at + src.nbytes <= to or to + self.capacity <= at
        if not apart or type(self.owner) is not _native.Buffer or observers.observed or capture.active():
            return False
        self._check_writable()
        _native.copy(to, at, src.nbytes)
        if src.nbytes == self.capacity:
            self._set_by = grad_binding.PROGRAM
        return True

    def _copied(self) -> array:
        made = array._empty(self._require_element(), self.shape, self.device)
        made.requires_grad = self.requires_grad
        transfer.copy(made, self)
        return made

    def to(self, device: Device | str, requires_grad: bool | None = None) -> array:
        """The array on `device`: itself if it is there already.

        Raises:
            RuntimeError: If the device is not available.
        """
        where = get_device(device)
        if where is self.device:
            return self
        made = array._empty(self._require_element(), self.shape, where)
        made.requires_grad = self.requires_grad if requires_grad is None else requires_grad
        transfer.copy(made, self)
        return made

    def __ctype__(self) -> array:
        """Return what launches take for this array: itself. Programs for warp-lang ask for descriptors by this name."""
        return self

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        if self._element is None:
            return f"array(ndim={self.ndim}, dtype={spell_pattern(open_type(self._open))})"
        return array_text("array", self._element.name, self.shape, self.size, self.device, self._shown)

    def __str__(self) -> str:
        is_annotation = self._element is None or (self.size == 0 and 0 not in self.shape)  # its shape is a note
        return repr(self) if is_annotation else str(self._shown())

    def _shown(self) -> np.ndarray:
        """The elements as numbers, also where NumPy has no such type."""
        is_bits = element(self._require_element().type) is BF16
        return bfloat16_numbers(self._numbers()) if is_bits else self._numbers()


class _Dimensioned(UnionMember):
    """`wp.array2d` and the like: `array` with the number of dimensions given."""

    def __init__(self, ndim: int):
        self.ndim = ndim
        self.__doc__ = (
            f"`wp.array` of {ndim} dimensions: in annotations, `array{ndim}d[dtype]`, or called like `array`."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> array:
        return array(*args, **{"ndim": self.ndim} | kwargs)

    def __getitem__(self, dtype: Any) -> ArrayAnnotation:
        return ArrayAnnotation(dtype, self.ndim)

    def __repr__(self) -> str:
        return f"wp.array{self.ndim}d"


dlpack.install(array)
array1d, array2d, array3d, array4d = (_Dimensioned(n) for n in (1, 2, 3, 4))
