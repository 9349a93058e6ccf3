"""Checks of the arrays that structures are made of."""

from __future__ import annotations

from typing import Any

from ..algo.argument_checks import require_contiguous, require_elements
from ..lang.types import Type

CONSTRUCTORS = (None, "sah", "median", "lbvh", "cubql")


def check_array(name: str, a: Any, t: Type, only_cpu: str = "") -> None:
    """Raise an error unless `a` is a contiguous array of one dimension with elements of type `t`.

    `only_cpu` names the structures that the array is for if GPUs have none of them, such as "trees over boxes".
    """
    require_elements(name, a, t)
    if a.ndim != 1:
        raise ValueError(f"{name}: expected one dimension, got shape {a.shape}; pass {name}.flatten()")
    if only_cpu and not a.device.is_cpu:
        text = f'{name}: there are no {only_cpu} on {a.device} yet, only on the CPU: pass {name}.to("cpu")'
        raise NotImplementedError(f"{text}, and launch the kernels that query them there")
    require_contiguous(name, a)


def is_fast(name: str, constructor: Any) -> bool:
    """True if a tree is to be built in the fastest way. Raises ValueError for an unknown constructor."""
    if constructor not in CONSTRUCTORS:
        raise ValueError(f'{name}: expected "sah", "median", "lbvh" or "cubql", got {constructor!r}')
    return constructor == "lbvh"
