"""`wp.Graph`: captured work, and the memory that programs exchange with a graph that was loaded from a file."""

from __future__ import annotations

from typing import Any

from .. import _native


class Graph(_native.Graph):
    """Captured work: launches, copies and fills, for `wp.capture_launch`. Its length is their number.

    `wp.capture_end` makes a graph. `wp.capture_load` makes one of a file, and such a graph has memory of its own. Its
    parameters are the parts of this memory that `wp.capture_save` was given names for.

    >>> x = wp.zeros(2, dtype=float)
    >>> with wp.ScopedCapture() as captured:
    ...     x.fill_(3.0)
    >>> len(captured.graph), captured.graph.is_loaded, captured.graph.params
    (1, False, {})
    """

    apic = False  # whether it may be saved
    _places: dict[str, tuple[int, int]] | None = None  # address and size of each parameter

    @property
    def is_loaded(self) -> bool:
        """True if the graph comes from a file."""
        return self._places is not None

    @property
    def params(self) -> dict[str, dict[str, int]]:
        """Of each parameter by its name, the number of bytes as `{"size": n}`."""
        return {name: {"size": size} for name, (_, size) in (self._places or {}).items()}

    def set_param(self, name: str, arr: Any) -> None:
        """Copy the elements of an array into a parameter.

        Args:
            name: the name of the parameter.
            arr: an array on the CPU with as many bytes as the parameter.

        Raises:
            RuntimeError: the graph was not loaded from a file, or another graph is captured.
            TypeError: `arr` is something else.
            ValueError: there is no such parameter, or it has another size.
        """
        address, size = self._exchanged(name, arr)
        _native.copy(address, arr.contiguous()._address, size)

    def get_param(self, name: str, arr: Any) -> None:
        """Copy a parameter into the elements of an array.

        Args:
            name: the name of the parameter.
            arr: an array on the CPU without gaps, with as many bytes as the parameter.

        Raises:
            RuntimeError: the graph was not loaded from a file, or another graph is captured.
            TypeError: `arr` is something else.
            ValueError: there is no such parameter, or it has another size; or the array has gaps, or is read-only.
        """
        address, size = self._exchanged(name, arr)
        arr._check_writable()
        if not arr.is_contiguous:
            raise ValueError(f"get_param({name!r}): the array has gaps; pass one without, and copy from it")
        _native.before_write(*arr._span)
        _native.copy(arr._address, address, size)

    def get_param_ptr(self, name: str) -> int | None:
        """Return the address of a parameter, which is valid as long as the graph; None for an unknown name.

        Args:
            name: the name of the parameter.

        Raises:
            RuntimeError: the graph was not loaded from a file.
        """
        return self._loaded("get_param_ptr").get(name, (None, 0))[0]

    def _loaded(self, method: str) -> dict[str, tuple[int, int]]:
        if self._places is None:
            raise RuntimeError(
                f"{method}: this graph uses the arrays of the program, so write to these. Only graphs that "
                "wp.capture_load has made have parameters"
            )
        return self._places

    def _exchanged(self, name: str, arr: Any) -> tuple[int, int]:
        """Return the address and size of a parameter that an array fits."""
        places = self._loaded("parameters")
        is_array: bool = isinstance(arr, _native.ArrayBase)
        if not is_array:
            raise TypeError(f"parameter {name!r}: expected a wp.array, got {type(arr).__name__}")
        if name not in places:
            raise ValueError(f"the graph has no parameter {name!r}; there are {', '.join(map(repr, places)) or 'none'}")
        if arr.device_id != 0:
            raise ValueError(f"parameter {name!r} is on the CPU, and the array is on {arr.device}")
        size = arr.size * arr._require_element().type.size
        if size != places[name][1]:
            raise ValueError(f"parameter {name!r} has {places[name][1]} bytes, and the array has {size}")
        return places[name]
