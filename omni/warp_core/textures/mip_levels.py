"""Levels of detail of textures: each is half as wide as the one before, and has the means of its texels."""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from .. import min, rint, tid
from ..arrays.array import array, array4d
from ..lang.kernel import Kernel, kernel
from ..lang.types import Scalar
from ..lang.values.scalars import float64
from ..launches.launch import launch


@cache
def _halving(dtype: Any) -> Kernel:
    """Return the kernel that makes a level of detail of the one before."""
    t: Any = dtype.__wc_type__
    is_whole = isinstance(t, Scalar) and not t.is_float

    @kernel(module_options={"mode": "release"})
    def halve_texture(fine: array4d(dtype=dtype), coarse: array4d(dtype=dtype)):
        w, v, u, c = tid()
        total, count = float64(0.0), float64(0.0)
        for k in range(min(fine.shape[0], 2)):
            for j in range(min(fine.shape[1], 2)):
                for i in range(min(fine.shape[2], 2)):
                    total += float64(fine[2 * w + k, 2 * v + j, 2 * u + i, c])
                    count += 1.0
        mean = total / count
        if is_whole:
            mean = rint(mean)
        coarse[w, v, u, c] = dtype(mean)

    return halve_texture


def fill_levels(levels: Sequence[array]) -> None:
    """Write all levels of detail but the first."""
    for fine, coarse in pairwise(levels):
        launch(_halving(coarse.dtype), coarse.shape, [fine], [coarse], device=coarse.device)
