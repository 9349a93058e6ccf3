"""Texture Write: colors for a dynamic texture. Without a renderer to take them, it checks sizes."""

from __future__ import annotations

import math
from typing import Any

from ..graph.attribute import GraphError


def write(db: Any) -> None:
    """Compute Texture Write."""
    inputs = db.inputs
    if not 1 <= inputs.dimCount <= 4:
        raise GraphError(f"inputs:dimCount is {inputs.dimCount}; it must be 1 to 4")
    shape = [int(getattr(inputs, f"dim{i + 1}")) for i in range(inputs.dimCount)]
    if min(shape) < 0 or math.prod(shape) != len(inputs.data):
        raise GraphError(f"inputs:data has {len(inputs.data)} colors for {' x '.join(map(str, shape))} pixels")
    if not inputs.uri.startswith("dynamic://"):
        raise GraphError(f"inputs:uri is {inputs.uri!r}; it must begin with dynamic://")
    db.log_warning(f"no renderer takes the texture {inputs.uri}; its colors are checked, and go nowhere")
