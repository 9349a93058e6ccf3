"""`wp.fem.space`: the classes of function spaces, for annotations and checks. Functions of `wp.fem` make them."""

from __future__ import annotations

from typing import Any

from .spaces.spaces import CollocatedFunctionSpace as CollocatedFunctionSpace
from .spaces.spaces import ContravariantFunctionSpace as ContravariantFunctionSpace
from .spaces.spaces import CovariantFunctionSpace as CovariantFunctionSpace


def __getattr__(name: str) -> Any:
    why = ": take fem.make_element_shape_function(element, degree), or fem.ShapeFunction" if name == "shape" else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{why}")
