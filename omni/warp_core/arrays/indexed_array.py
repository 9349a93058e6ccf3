"""`wp.indexedarray`: an array seen through index arrays, one for each dimension that has one.

`wp.indexedarray(a, [rows, None])` is what `a[rows]` gives. Element (i, j) of it is element (rows[i], j) of `a`, for
kernels and from Python, to read and to write. Start with `indexedarray.__init__`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import _native
from ..devices.device import Device, get_device
from ..dispatch import capture, observers
from ..dispatch.operation import Operation, Write, execute, refuse
from ..lang.array_structs.indexed_annotation import IndexedAnnotation, indexed_name, indexed_pattern
from ..lang.arrays import UnionMember, check_ndim
from ..lang.generics import Pattern
from ..lang.types import I32, Type
from . import array_data, elements, keepalive, layouts, transfer
from .array_operators import Arithmetic
from .array_text import array_text
from .dtypes import element_of

__all__ = ["indexedarray", "indexedarray1d", "indexedarray2d", "indexedarray3d", "indexedarray4d"]


class _IndexedType:
    """`__wc_type__` of instances only: the bare class names no type."""

    def __get__(self, instance: indexedarray | None, owner: type) -> Type | Pattern:
        if instance is None:
            raise AttributeError("__wc_type__")
        return indexed_pattern(instance.dtype, instance.ndim)


class indexedarray(Arithmetic):
    """An array whose elements are those of another at given places.

    Args:
        data: The array; None in annotations.
        indices: For each dimension of `data`, in order, a one-dimensional int32 array of places or None for all; a
            single array stands for the first dimension. Missing ones are None.
        dtype: In annotations, the element type.
        ndim: In annotations, the number of dimensions.

    Indices are used as they are: a kernel reads outside of the array where they are out of range.

    Raises:
        TypeError: If an argument has the wrong type; the message names the argument.
        ValueError: If there are more indices than dimensions.

    >>> import omni.warp_core as wp
    >>> a = wp.array([10.0, 20.0, 30.0, 40.0], dtype=float)
    >>> odd = wp.indexedarray(a, [wp.array([1, 3], dtype=int)])
    >>> odd.list()
    [20.0, 40.0]
    >>> odd.fill_(0.0)
    >>> a.list()
    [10.0, 0.0, 30.0, 0.0]
    """

    __wc_type__ = _IndexedType()

    def __init__(self, data: Any = None, indices: Any = None, dtype: Any = None, ndim: int | None = None):
        self.data, self.indices = data, [None] * 4
        if data is None:
            self.dtype, self.ndim = Any if dtype is None else dtype, check_ndim(1 if ndim is None else ndim)
            self.shape: tuple[int, ...] = (0,) * self.ndim
            return
        if not isinstance(data, _native.ArrayBase):
            raise TypeError(f"data: expected a wp.array, got {type(data).__name__}")
        self.dtype, self.ndim = data.dtype, data.ndim  # type: ignore[attr-defined]
        if ndim is not None and ndim != self.ndim:
            raise ValueError(f"ndim: expected {ndim}, but data has {self.ndim} dimensions")
        if dtype is not None and element_of(dtype) is not data._require_element():  # type: ignore[attr-defined]
            raise TypeError(f"dtype: expected {element_of(dtype).name}, but data has {self.dtype.__name__}")
        given = _list(indices)
        if len(given) > self.ndim:
            raise ValueError(f"indices: {len(given)} index arrays for an array of {self.ndim} dimensions")
        for d, index in enumerate(given):
            self.indices[d] = _checked(index, d)
        self.shape = tuple(n if i is None else i.shape[0] for n, i in zip(data.shape, self.indices))

    @classmethod
    def __class_getitem__(cls, item: Any) -> IndexedAnnotation:
        return IndexedAnnotation(*item) if isinstance(item, tuple) else IndexedAnnotation(item)

    # -- for kernels ------------------------------------------------------------------------------------------------

    def _leaves(self) -> tuple[Any, ...]:
        return (self._data(), *self.indices[: self.ndim])

    # -- attributes -------------------------------------------------------------------------------------------------

    @property
    def device(self) -> Device:
        """The device of the memory."""
        return self._data().device

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def pinned(self) -> bool:
        """True if the memory is page-locked for a GPU."""
        return self._data().pinned

    @property
    def is_contiguous(self) -> bool:
        """Never: elements are where the indices say."""
        return False

    def _data(self) -> Any:
        if self.data is None:
            raise TypeError("this indexed array has no data: it was created as an annotation")
        return self.data

    # -- access -----------------------------------------------------------------------------------------------------

    def _places(self) -> tuple[np.ndarray, ...]:
        """Return the positions of the elements as NumPy indices: one array per dimension, broadcast to the shape."""
        capture.refuse("finding the elements of an indexed array")
        data = self._data()
        each = [np.arange(n) if i is None else i._numbers().astype(np.int64) for n, i in zip(data.shape, self.indices)]
        for d, (places, n) in enumerate(zip(each, data.shape)):
            if places.size and not 0 <= places.min() <= places.max() < n:
                raise IndexError(f"indices: dimension {d} has {n} elements, but some indices are out of range")
        return np.ix_(*each)

    def numpy(self) -> np.ndarray:
        """A NumPy array with copies of the elements.

        Raises:
            IndexError: If an index is out of range.
        """
        if self.device.is_cuda:
            return self._dense().numpy()
        return self._data()._numbers()[self._places()]

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if copy is False:
            raise ValueError("the elements of an indexed array need a copy, which copy=False forbids")
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def contiguous(self) -> Any:
        """A `wp.array` with copies of the elements."""
        refuse("copying an indexed array", data=self._data())
        return self._dense()

    def _dense(self) -> Any:
        data = self._data()
        made = type(data)._empty(data._require_element(), self.shape, data.device)
        self._copy_to(made)
        return made

    def list(self) -> list[Any]:
        """The elements in C order."""
        return self._dense().list()

    def to(self, device: Device | str, requires_grad: bool | None = None) -> indexedarray:
        """The array on `device`: itself if it is there already."""
        where = get_device(device)
        if where is self.device:
            return self
        indices = [None if i is None else i.to(where, requires_grad=False) for i in self.indices[: self.ndim]]
        return indexedarray(self._data().to(where, requires_grad), indices)

    def fill_(self, value: Any) -> None:
        """Set every element to `value`; one number fills all components."""
        filled = type(self._data())._empty(self.data._require_element(), (1,))
        filled.fill_(value)
        self._write(filled._numbers()[0], (elements.references(value),))

    def zero_(self) -> None:
        """Set every element to zero."""
        self.fill_(0)

    def assign(self, src: Any) -> None:
        """Copy an array, an indexed array or any data for one, of this shape."""
        data = self._data()
        if not isinstance(src, (indexedarray, _native.ArrayBase)):
            src = type(data)(src, dtype=self.dtype, copy=False)
        transfer.copy(self, src)

    def _copied_from(self, src: Any) -> None:
        """Copy the elements of an array or indexed array of the same shape."""
        if tuple(src.shape) != self.shape:
            raise ValueError(f"src: shape {tuple(src.shape)} does not match shape {self.shape} of dest")
        found = array_data.read(
            src.contiguous() if isinstance(src, indexedarray) else src, self._data()._require_element()
        )
        self._write(found.numbers, found.refs, src)

    def _copied_to(self, dest: Any) -> None:
        """Copy the elements into an array of the same shape, as an operation of the program."""
        refuse("copying an indexed array", src=self._data())
        transfer.overwrite(dest, partial(self._copy_to, dest))

    def _copy_to(self, dest: Any) -> None:
        """Copy the elements into an array of the same shape."""
        if tuple(dest.shape) != self.shape:
            raise ValueError(f"src: shape {self.shape} does not match shape {tuple(dest.shape)} of dest")
        places = self._places()
        if self.device.is_cuda:
            self._gather(dest)
        else:
            transfer.put(dest, self.data._numbers()[places])
        if dest._refs is not None:
            each = [self.data._refs.get(a, ()) for a in self._addresses(places)]
            keepalive.replace(dest, dest._layout(), each)

    def _gather(self, dest: Any) -> None:
        """Copy the elements, on a GPU, into an array of the same shape, wherever that is."""
        if dest.device is self.device:
            transfer.copy_picked(dest, self)
            return
        with observers.NotRecording():
            transfer.copy(dest, self._dense())

    def _addresses(self, places: tuple[np.ndarray, ...]) -> Sequence[int]:
        steps = [p * s for p, s in zip(places, self.data.strides)]
        return np.broadcast_to(self.data._address + sum(steps), self.shape).ravel().tolist()

    def _write(self, numbers: Any, refs: Sequence[tuple], src: Any = None) -> None:
        data = self._data()
        data._check_writable()
        run = partial(self._write_elements, numbers, refs)
        execute(Operation("writing to an indexed array", {"dest": Write(data)}, {"src": src}, run))

    def _write_elements(self, numbers: Any, refs: Sequence[tuple]) -> None:
        data, places = self.data, self._places()
        if data.device.is_cuda:
            dense = type(data)._empty(data._require_element(), self.shape, data.device)
            transfer.put(dense, numbers)
            transfer.copy_picked(self, dense)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                data._to_write()[places] = numbers
        if data._refs is not None:
            each = self._addresses(places)
            for address, arrays in zip(each, list(refs) * len(each) if len(refs) == 1 else refs):
                data._refs[address] = arrays

    def __getitem__(self, key: Any) -> Any:
        """The element for one integer per dimension, an indexed array for slices and missing indices."""
        found = []
        keys = layouts.expand(key, self.ndim)
        for d, (k, n) in enumerate(zip(keys, self.shape)):
            at = layouts.select(k, n, d)
            index = self.indices[d]
            whole = slice(at.start, None if at.stop < 0 else at.stop, at.step) if isinstance(at, range) else at
            found.append(whole if index is None else index[whole])
        picked = [int(f) if not isinstance(f, (slice, _native.ArrayBase)) else f for f in found]
        return self._data()[tuple(picked)]

    def __setitem__(self, key: Any, value: Any) -> None:
        """Assign an element, or fill or assign what `key` selects."""
        keys = layouts.expand(key, self.ndim)
        if all(hasattr(k, "__index__") for k in keys):
            places = [
                k if i is None else int(i[layouts.select(k, n, d)])
                for d, (k, n, i) in enumerate(zip(keys, self.shape, self.indices))
            ]
            self._data()[tuple(places)] = value
            return
        part = self[key]
        single = elements.is_single(value, self.data._require_element())
        (part.fill_ if single else part.assign)(value)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        name = "Any" if self.dtype is Any else str(getattr(self.dtype, "__name__", self.dtype))
        kind = indexed_name(self.ndim)
        if self.data is None:
            return f"{kind}(shape={self.shape}, dtype={name})"
        return array_text(kind, name, self.shape, self.size, self.device, self.numpy)

    def __str__(self) -> str:
        return repr(self) if self.data is None else str(self.contiguous())


def _list(indices: Any) -> Sequence[Any]:
    if indices is None:
        return []
    if isinstance(indices, _native.ArrayBase):
        return [indices]
    if not isinstance(indices, (list, tuple)):
        raise TypeError(f"indices: expected a list of int32 arrays and None, got {type(indices).__name__}")
    return indices


def _checked(index: Any, dimension: int) -> Any:
    if index is None:
        return None
    where = f"indices: for dimension {dimension} expected a one-dimensional int32 wp.array or None, got"
    if not isinstance(index, _native.ArrayBase):
        raise TypeError(f"{where} {type(index).__name__}")
    t = index._require_element().type  # type: ignore[attr-defined]
    if t is not I32 or index.ndim != 1:
        raise TypeError(f"{where} {index.ndim}-d array of {index._require_element().name}")  # type: ignore[attr-defined]
    return index


class _Dimensioned(UnionMember):
    """`wp.indexedarray2d` and the like: `indexedarray` with the number of dimensions given."""

    def __init__(self, ndim: int):
        self.ndim = ndim
        self.__doc__ = (
            f"`wp.indexedarray` of {ndim} dimensions: in annotations `indexedarray{ndim}d[dtype]`, or called."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> indexedarray:
        return indexedarray(*args, **{"ndim": self.ndim} | kwargs)

    def __getitem__(self, dtype: Any) -> IndexedAnnotation:
        return IndexedAnnotation(dtype, self.ndim)

    def __repr__(self) -> str:
        return f"wp.indexedarray{self.ndim}d"


indexedarray1d, indexedarray2d, indexedarray3d, indexedarray4d = (_Dimensioned(n) for n in (1, 2, 3, 4))
