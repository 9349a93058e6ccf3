"""Launches of nodes: NumPy arrays in and out, on the device of the play."""

from __future__ import annotations

from typing import Any

import numpy as np

import omni.warp_core as wp


def device_of(db: Any) -> str:
    """Return the device to launch on: that of the play, or the default in another host."""
    host = getattr(db, "host", None)
    return host.device if host is not None else str(wp.get_device())


def on_device(values: np.ndarray, device: str) -> Any:
    """Return an array on a device; rows of three numbers of float32 are vec3."""
    is_rows = values.ndim >= 2 and values.shape[-1] == 3 and values.dtype == np.float32
    dtype: Any = wp.vec3 if is_rows else None
    return wp.array(values, dtype=dtype, device=device)


def compute(db: Any, kernel: Any, dim: Any, inputs: list, *outputs: tuple[Any, Any]) -> list[np.ndarray]:
    """Launch a kernel whose last parameters are outputs, each given as (shape, dtype); return them."""
    device = device_of(db)
    arguments = [on_device(v, device) if isinstance(v, np.ndarray) else v for v in inputs]
    results = [wp.zeros(shape, dtype=dtype, device=device) for shape, dtype in outputs]
    wp.launch(kernel, dim=dim, inputs=[*arguments, *results], device=device)
    return [result.numpy() for result in results]
