"""Launches of generic kernels: the instance that fits the arguments, and the shortcut to it.

An instance is a kernel like any other, compiled and cached under its own key. The first launch with new types comes
here; `remember` then lets native code find the plan by the classes of the arguments
(native/python/launches/overload_plans.h).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _native
from ..arrays import dlpack
from ..arrays.array import array
from ..lang.generics import Pattern, is_generic
from ..lang.inference import argument_types
from ..lang.kernel import Kernel
from ..lang.types import Type
from .plans import choices_of


def instance_for(kernel: Kernel, args: Sequence[Any]) -> Kernel:
    """The instance of a generic kernel that takes these arguments.

    Raises:
        TypeError: an argument does not fit its parameter, or has no type of its own.
    """
    return kernel.instance(argument_types(kernel, [_with_type(x) for x in args]))


def _with_type(x: Any) -> Any:
    """Objects of other libraries as arrays over the same memory, which have a type."""
    return dlpack.import_dlpack(array, x) if dlpack.has_data(x) else x


def remember(kernel: Kernel, args: Sequence[Any], plan: Any) -> None:
    """Let native code run launches with arguments like these, if their classes decide about the types."""
    opened = [i for i, (_, t) in enumerate(kernel.params) if is_generic(t)]
    if all(_is_determined_by_class(kernel.params[i][1], args[i]) for i in opened):
        choices_of(kernel, opened).add(args, plan)


def _is_determined_by_class(pattern: Any, x: Any) -> bool:
    if type(x) is np.ndarray:  # components may hide in its shape
        return not (isinstance(pattern, Pattern) and isinstance(pattern.params[0], Pattern))
    if x is None or isinstance(x, (_native.ArrayBase, np.generic, int, float)):
        return True
    return isinstance(getattr(type(x), "__wc_type__", None), Type)
