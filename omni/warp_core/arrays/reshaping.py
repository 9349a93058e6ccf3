"""The methods of `wp.array` that view the same elements in another shape, order or type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from . import layouts
from .dtypes import Element, element_of
from .layouts import Layout

if TYPE_CHECKING:
    from .array import array


class Reshaping:
    """Mixed into `wp.array`, which `self` is. Results share the memory of the array, and that of its gradient."""

    def reshape(self: Any, shape: Any) -> array:
        """A view of another shape with as many elements; one extent may be -1.

        Raises:
            ValueError: If the sizes differ or the array is not contiguous.

        >>> wp.zeros(6).reshape((2, -1)).shape
        (2, 3)
        """
        new = layouts.infer_shape(shape, self.size)
        if not self.is_contiguous:
            raise ValueError(f"cannot reshape an array with strides {self.strides}; use .contiguous() first")
        return self._view_of(Layout(new, layouts.c_strides(new, self._require_element().type.size)))

    def flatten(self: Any) -> array:
        """A view with one dimension. Raises ValueError if the elements are not evenly spaced."""
        if self.ndim == 1:
            return self
        return self.reshape(self.size)

    def transpose(self: Any, axes: Any = None) -> array:
        """A view with dimensions in the order `axes`, reversed by default.

        >>> wp.zeros((2, 3)).transpose().shape
        (3, 2)
        """
        return self._view_of(layouts.transpose(self._layout(), axes))

    def view(self: Any, dtype: Any = None) -> array:
        """The same memory read as elements of `dtype`.

        Of the same size, the shape stays. From scalars to elements with components the last dimensions must hold
        exactly the components; the other way round dimensions are added.

        Raises:
            TypeError: If `dtype` is left out.
            ValueError: If the shape or the strides do not allow it.

        >>> wp.zeros((4, 3)).view(wp.vec3).shape
        (4,)
        """
        if dtype is None:
            raise TypeError("view: expected a type, as in `a.view(wp.vec3)`; for the same elements write `a[...]`")
        old, new = self._require_element(), element_of(dtype)
        layout = self._layout()
        if old.type.size == new.type.size:
            return self._view_of(layout, new)
        if old.inner and not new.inner and old.numpy.itemsize == new.numpy.itemsize:
            wider = Layout(layout.shape + old.inner, layout.strides + old.inner_strides)
            return self._view_of(wider, new)
        if new.inner and not old.inner and old.numpy.itemsize == new.numpy.itemsize:
            return self._view_of(_grouped(layout, old, new), new)
        raise ValueError(
            f"cannot view {old.name} elements of {old.type.size} bytes as {new.name} of {new.type.size} bytes"
        )

    def contiguous(self: Any) -> array:
        """The array itself if its elements lie in C order without gaps, else a copy that does."""
        return self if self.is_contiguous else self._copied()


def _grouped(layout: Layout, old: Element, new: Element) -> Layout:
    """Trailing dimensions of scalars taken together as components."""
    outer = len(layout.shape) - len(new.inner)
    if outer < 0 or layout.shape[outer:] != new.inner or layout.strides[outer:] != new.inner_strides:
        raise ValueError(
            f"cannot view {old.name} elements of shape {layout.shape} as {new.name}: "
            f"the last dimensions must be {new.inner} and contiguous"
        )
    if outer == 0:
        return Layout((1,), (math.prod(new.inner) * new.numpy.itemsize,))
    return Layout(layout.shape[:outer], layout.strides[:outer])
