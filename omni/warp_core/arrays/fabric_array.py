"""`wp.fabricarray`: an attribute of many prims in Omniverse Fabric, for kernels to read and to write in place.

Fabric keeps such an attribute in several pieces of memory, *buckets*. Its `__fabric_arrays_interface__` says where they
are. Element i of the array is in one of them. Start with `fabricarray`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from ..devices.device import Device, get_device
from ..lang.array_structs.array_struct_types import fabric, fabric_name
from ..lang.array_structs.fabric_annotation import FabricAnnotation, fabric_pattern
from ..lang.generics import Pattern
from ..lang.types import I32, SCALAR_BY_KEY, Mat, Quat, Struct, Type, Vec
from ..lang.values.type_registry import python_type, wc_type
from . import transfer
from .array import array
from .array_text import array_text
from .dtypes import element_of
from .indexed_array import indexedarray

__all__ = ["fabricarray", "fabricarrayarray", "indexedfabricarray", "indexedfabricarrayarray"]

_VERSION = 1
_SCALARS = {"b": "bool"} | {f"{kind}{size}": f"{kind}{8 * size}" for kind in "iuf" for size in (1, 2, 4, 8)}
_MATRICES, _SIDES = ("matrix", "frame", "transform"), {4: 2, 9: 3, 16: 4}
_MOST = 2**31 - 1


class _Attribute(NamedTuple):
    """An attribute as Fabric describes it."""

    dtype: Type
    ndim: int
    access: int
    device: Device
    pointers: list[int]
    counts: list[int]
    lengths: list[int]  # of an attribute that is an array: for each bucket, where the lengths are


class _FabricType:
    """`__wc_type__` of instances only: the bare class names no type."""

    def __get__(self, instance: _FabricArray | None, owner: type) -> Type | Pattern:
        if instance is None:
            raise AttributeError("__wc_type__")
        return fabric_pattern(instance.dtype, instance.ndim, instance._is_indexed)


class _FabricArray:
    """What fabric arrays and indexed ones share: `_members`, the arrays that kernels see, None in annotations."""

    __wc_type__ = _FabricType()
    _is_indexed = False
    _members: tuple[Any, ...] | None = None
    dtype: Any
    ndim: int
    shape: tuple[int, ...] = (0,)

    def _arrays(self) -> tuple[Any, ...]:
        if self._members is None:
            raise TypeError("this fabric array has no data: it was created as an annotation")
        return self._members

    def _leaves(self) -> tuple[Any, ...]:
        return self._arrays()

    @property
    def device(self) -> Device:
        """The device of the memory."""
        return self._arrays()[0].device

    @property
    def size(self) -> int:
        """The number of elements, or of arrays."""
        return self.shape[0]

    @property
    def is_contiguous(self) -> bool:
        """Never: elements are in buckets."""
        return False

    def contiguous(self) -> Any:
        """A `wp.array` with copies of the elements.

        Raises:
            TypeError: The elements are arrays.
        """
        if self.ndim > 1:
            raise TypeError("arrays of arrays have no shape of their own: read them in a kernel, row = x[i]")
        made = array._empty(element_of(self.dtype), self.shape, self.device)
        transfer.copy(made, self)
        return made

    def numpy(self) -> np.ndarray:
        """A NumPy array with copies of the elements."""
        return self.contiguous().numpy()

    def list(self) -> list[Any]:
        """The elements in a list."""
        return self.contiguous().list()

    def to(self, device: Device | str) -> Any:
        """The array itself on its own device, a `wp.array` with copies on others."""
        return self if get_device(device) is self.device else self.contiguous().to(device)

    def assign(self, src: Any) -> None:
        """Copy an array or any data for one, of this shape."""
        if not isinstance(src, (_FabricArray, indexedarray, _native.ArrayBase)):
            src = array(src, dtype=self.dtype, copy=False)
        transfer.copy(self, src)

    def fill_(self, value: Any) -> None:
        """Set every element to `value`; one number fills all components."""
        filled = array._empty(element_of(self.dtype), self.shape, self.device)
        filled.fill_(value)
        transfer.copy(self, filled)

    def zero_(self) -> None:
        """Set every element to zero."""
        self.fill_(0)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.contiguous())

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if copy is False:
            raise ValueError("the elements of a fabric array need a copy, which copy=False forbids")
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def _check_shape(self, other: Any) -> None:
        if tuple(other.shape) != self.shape:
            raise ValueError(f"shapes {self.shape} and {tuple(other.shape)} differ")

    def __repr__(self) -> str:
        kind, name = fabric_name(self.ndim, self._is_indexed), getattr(self.dtype, "__name__", self.dtype)
        if self._members is None or self.ndim > 1:
            return f"{kind}(shape={self.shape}, dtype={'Any' if self.dtype is Any else name})"
        return array_text(kind, str(name), self.shape, self.size, self.device, self.numpy)

    def __str__(self) -> str:
        return repr(self) if self._members is None or self.ndim > 1 else str(self.contiguous())


class fabricarray(_FabricArray):
    """An attribute of many prims in Omniverse Fabric, over Fabric's own memory.

    In kernels `x[i]` is an element, to read and to write, also by atomic operations. Where the attribute is an array
    itself (`wp.fabricarrayarray`), `x[i]` is that array. An index array gives an indexed array: `x[places]`.

    Args:
        data: A selection of prims, an object with `__fabric_arrays_interface__`, or that dict; None in annotations.
        attrib: Name of the attribute.
        dtype: The element type, if not the one that Fabric names; of as many numbers of the same type.
        ndim: In annotations, 2 for an array of arrays.

    The memory is Fabric's: it must stay where it is while the array is used. Make a new one when Fabric has changed.
    Fabric arrays have no gradients, and no operators: `x.contiguous()` has them.

    Raises:
        TypeError: `data` has no such interface, or the attribute has a type that kernels do not know.
        ValueError: There is no such attribute, or the interface contradicts itself.

    >>> import numpy as np
    >>> import omni.warp_core as wp
    >>> first, second = np.float32([1, 2, 3]), np.float32([10, 20])
    >>> attribute = {"type": (True, "f4", 1, 0, ""), "access": 3, "counts": [3, 2]}
    >>> attribute["pointers"] = [first.ctypes.data, second.ctypes.data]
    >>> x = wp.fabricarray({"version": 1, "device": "cpu", "attribs": {"size": attribute}}, "size")
    >>> x.list()
    [1.0, 2.0, 3.0, 10.0, 20.0]
    >>> x[wp.array([4, 0], dtype=int)].list()
    [20.0, 1.0]
    """

    def __init__(self, data: Any = None, attrib: str | None = None, dtype: Any = Any, ndim: int | None = None):
        self.dtype, self.ndim, self.access = dtype, 1 if ndim is None else ndim, 0
        if data is None:
            return
        found = _read(data, attrib)
        if ndim is not None and ndim != found.ndim:
            raise ValueError(f"ndim: expected {ndim}, but attribute {attrib!r} has {found.ndim} dimensions")
        t = found.dtype if dtype is Any else _checked(wc_type(dtype), found.dtype, attrib)
        self.dtype, self.ndim, self.access = python_type(t), found.ndim, found.access
        if self.ndim > 1:
            self._members = (_rows(found, t),)
            self.shape = self._members[0].shape
            return
        starts = np.cumsum([0, *found.counts])
        with_data = [k for k, n in enumerate(found.counts) if n]
        self.buckets = [_over(found.pointers[k], found.counts[k], self.dtype, found.device) for k in with_data]
        pieces = _pieces(np.array(found.pointers), np.array(found.counts), t, found.device)
        self._members = (pieces, array(starts, dtype=python_type(I32), device=found.device))
        self.shape = (int(starts[-1]),)

    @classmethod
    def __class_getitem__(cls, item: Any) -> FabricAnnotation:
        return FabricAnnotation(*item) if isinstance(item, tuple) else FabricAnnotation(item)

    def __getitem__(self, indices: Any) -> indexedfabricarray:
        if not isinstance(indices, _native.ArrayBase):
            raise TypeError(
                f"fabric arrays take an int32 array as index, not {type(indices).__name__}: x.numpy() has the elements"
            )
        return indexedfabricarray(self, indices)

    def _copied_from(self, src: Any) -> None:
        """Copy an array of the same shape into the buckets."""
        self._check_shape(src)
        dense: Any = src if isinstance(src, _native.ArrayBase) else src.contiguous()
        at = 0
        for bucket in self.buckets:
            transfer.copy(bucket, dense[at : at + bucket.size])
            at += bucket.size

    def _copied_to(self, dest: Any) -> None:
        """Copy the buckets into an array of the same shape."""
        self._check_shape(dest)
        at = 0
        for bucket in self.buckets:
            transfer.copy(dest[at : at + bucket.size], bucket)
            at += bucket.size


class indexedfabricarray(_FabricArray):
    """Elements of a fabric array at given places.

    Args:
        fa: The fabric array; None in annotations.
        indices: The places, an int32 array of one dimension. Kernels use them as they are.
        dtype, ndim: In annotations, as for `wp.fabricarray`.

    Raises:
        TypeError: If an argument has the wrong type.

    >>> import omni.warp_core as wp
    >>> wp.indexedfabricarray[wp.vec3]
    wp.indexedfabricarray[wp.vec3f]
    """

    _is_indexed = True

    def __init__(self, fa: Any = None, indices: Any = None, dtype: Any = Any, ndim: int | None = None):
        self.fa, self.indices = fa, indices
        self.dtype, self.ndim = dtype, 1 if ndim is None else ndim
        if fa is None:
            return
        if not isinstance(fa, fabricarray):
            raise TypeError(f"fa: expected a wp.fabricarray, got {type(fa).__name__}")
        if not isinstance(indices, array) or indices.dtype is not python_type(I32) or indices.ndim != 1:
            raise TypeError(f"indices: expected an int32 array of one dimension, got {type(indices).__name__}")
        self.dtype, self.ndim, self.shape = fa.dtype, fa.ndim, indices.shape
        self._members = (*fa._arrays(), indices)

    @classmethod
    def __class_getitem__(cls, item: Any) -> FabricAnnotation:
        dtype, ndim = item if isinstance(item, tuple) else (item, 1)
        return FabricAnnotation(dtype, ndim, True)

    def _copied_from(self, src: Any) -> None:
        self._check_shape(src)
        dense = self.fa.contiguous()
        transfer.copy(
            indexedarray(dense, [self.indices]), src if isinstance(src, _native.ArrayBase) else src.contiguous()
        )
        transfer.copy(self.fa, dense)

    def _copied_to(self, dest: Any) -> None:
        transfer.copy(dest, indexedarray(self.fa.contiguous(), [self.indices]))


def fabricarrayarray(data: Any = None, attrib: str | None = None, dtype: Any = Any) -> fabricarray:
    """A `wp.fabricarray` of an attribute that is an array for each prim.

    Args:
        data: As for `wp.fabricarray`; None in annotations.
        attrib: Name of the attribute.
        dtype: The element type of the arrays.

    >>> import omni.warp_core as wp
    >>> wp.fabricarrayarray(dtype=float).ndim
    2
    """
    return fabricarray(data, attrib, dtype, 2)


def indexedfabricarrayarray(fa: Any = None, indices: Any = None, dtype: Any = Any) -> indexedfabricarray:
    """A `wp.indexedfabricarray` of an array of arrays.

    Args:
        fa: The array of arrays; None in annotations.
        indices: The places, an int32 array of one dimension.
        dtype: In annotations, the element type of the arrays.

    >>> import omni.warp_core as wp
    >>> wp.indexedfabricarrayarray(dtype=float).ndim
    2
    """
    return indexedfabricarray(fa, indices, dtype, 2)


# -- what Fabric says -----------------------------------------------------------------------------------------------


def _read(data: Any, attrib: str | None) -> _Attribute:
    """The attribute of an interface."""
    interface = getattr(data, "__fabric_arrays_interface__", data)
    if not isinstance(interface, Mapping):
        raise TypeError(f"data: expected an object with __fabric_arrays_interface__, got {type(data).__name__}")
    version, attribs = interface.get("version"), interface.get("attribs", {})
    if version != _VERSION:
        raise ValueError(f"data: expected version {_VERSION} of the interface of Fabric, got {version}")
    if attrib not in attribs:
        known = ", ".join(map(repr, attribs)) or "none"
        raise ValueError(f"attrib: there is no attribute {attrib!r}; those of the selection are: {known}")
    found = attribs[attrib]
    dtype, ndim = _type_of(found["type"], attrib)
    pointers, counts = ([int(x) for x in found[key]] for key in ("pointers", "counts"))
    lengths = [int(x) for x in found["array_lengths"]] if ndim == 2 else counts
    if not len(pointers) == len(counts) == len(lengths):
        raise ValueError(f"attribute {attrib!r}: {len(pointers)} pointers, but {len(counts)} counts")
    if any(n < 0 for n in counts) or sum(counts) > _MOST:
        raise ValueError(f"attribute {attrib!r}: counts are from 0 to {_MOST} in all, got {counts}")
    if any(n and not p for p, n in zip(pointers, counts)):
        raise ValueError(f"attribute {attrib!r}: a bucket has elements, but no memory")
    device = get_device(str(interface["device"]))
    return _Attribute(dtype, ndim, int(found.get("access", 0)), device, pointers, counts, lengths)


def _type_of(described: Any, attrib: str | None) -> tuple[Type, int]:
    """The element type that Fabric describes, and 2 for an attribute that is an array, else 1.

    It says if kernels can use the type, and gives the number type, how many there are, how many arrays they are in, and
    what they stand for.
    """
    usable, base, count, depth, role = described
    scalar = SCALAR_BY_KEY.get(_SCALARS.get(base, ""))
    if not usable or scalar is None or depth not in (0, 1):
        raise TypeError(f"attribute {attrib!r} has a type that kernels do not know: {tuple(described)}")
    if count == 1:
        return scalar, depth + 1
    if role == "quat" and count == 4:
        return Quat(scalar), depth + 1
    side = _SIDES.get(count) if role in _MATRICES else None
    return Mat(side, side, scalar) if side else Vec(count, scalar), depth + 1


def _checked(t: Type, own: Type, attrib: str | None) -> Type:
    """`t`, which has to have the numbers that the attribute has."""
    if getattr(t, "scalar", t) is not getattr(own, "scalar", own) or t.size != own.size:
        theirs, ours = (python_type(x).__name__ for x in (own, t))
        raise TypeError(f"dtype: attribute {attrib!r} has elements of {theirs}, which cannot be read as {ours}")
    return t


def _over(pointer: int, count: int, dtype: Any, device: Device) -> Any:
    return array(ptr=pointer, shape=(count,), dtype=dtype, device=device)


def _pieces(pointers: np.ndarray, counts: np.ndarray, t: Type, device: Device) -> Any:
    """An array of buckets or rows: what kernels see of arrays, one for each."""
    piece = fabric(t).fields[0][1].dtype  # type: ignore[attr-defined]
    assert isinstance(piece, Struct)
    cls = python_type(piece)
    made = np.zeros(len(pointers), cls.numpy_dtype())
    made["data"]["data"] = pointers
    made["data"]["shape"], made["data"]["strides"] = 1, 0
    made["data"]["shape"][:, 0], made["data"]["strides"][:, 0] = counts, t.size
    return array(made, dtype=cls, device=device)


def _rows(found: _Attribute, t: Type) -> Any:
    """The arrays of an array of arrays, bucket by bucket."""
    tables = [
        [_over(at, n, python_type(SCALAR_BY_KEY["u64"]), found.device).numpy() for at, n in zip(of, found.counts) if n]
        for of in (found.pointers, found.lengths)
    ]
    pointers, lengths = (np.concatenate(table) if table else np.zeros(0, np.uint64) for table in tables)
    return _pieces(pointers, lengths.astype(np.int64), t, found.device)
