"""Element types in JAX."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.dtypes import element
from ..lang.types import BF16, Packed


def jax_dtype(t: Any) -> np.dtype:
    """The dtype in JAX of the numbers of an element type."""
    scalar = t.scalar if isinstance(t, Packed) else t
    if scalar is BF16:
        import jax.numpy as jnp

        return np.dtype(jnp.bfloat16)
    return element(scalar).numpy
