"""Arrays of nodes where their kernels run: inputs on the device of the play, outputs that stay there.

On the CPU, arrays share the memory of values. graph/placement.py copies values to a GPU, and counts the copies. Kit
keeps values in its own memory, so outputs are copied there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import omni.warp_core as wp

from ..graph.node_graph import Timing
from ..graph.placement import placed, placed_numbers, value_of
from ..values.attribute_types import parse
from ..values.attribute_values import converter, unconverted
from ..values.bundles import Bundle
from .prim_bundles import array_of


def device_of(db: Any) -> str:
    """Return the device to launch on: that of the play, or the default in another host."""
    host = getattr(db, "host", None)
    return host.device if host is not None else str(wp.get_device())


def timing_of(db: Any) -> Timing:
    """Return the costs of a node; in Kit, they go nowhere."""
    found: Timing = getattr(db.node, "timing", None) or Timing()
    return found


def sent(db: Any, values: np.ndarray, dtype: Any) -> Any:
    """Return numbers that a node has made on the CPU as an array of its device."""
    device = device_of(db)
    if device != "cpu":
        timing_of(db).count_upload()
    array: Any = wp.array(np.ascontiguousarray(values), dtype=dtype, device=device, copy=device != "cpu")
    return array


def prim_array(db: Any, prim: Bundle, name: str, type_name: str) -> Any:
    """Return an array of a prim, as one of a type, on the device of a node. Raises GraphError."""
    kind, found = parse(type_name), prim.attributes.get(name)
    if found is None or converter(found.type, kind) is not unconverted:
        return placed_numbers(array_of(prim, name, type_name), kind, device_of(db), timing_of(db))
    return placed(found, kind, device_of(db), timing_of(db))


def input_array(db: Any, name: str) -> Any:
    """Return the array of an input on the device of a node."""
    if not hasattr(db, "host"):  # Kit
        return wp.array(np.ascontiguousarray(getattr(db.inputs, name)), device=device_of(db))
    attribute = db.node.get_attribute(f"inputs:{name}")
    return placed(attribute, attribute.resolved, device_of(db), timing_of(db))


def given(db: Any, array: Any, type_name: str) -> Any:
    """Return an array that a node has made as a value: for outputs, and for attributes of bundles."""
    kind = parse(type_name)
    if not hasattr(db, "host"):  # Kit
        return array.numpy().reshape(-1, *kind.shape)
    return value_of(array, kind, timing_of(db))


def numbers(db: Any, array: Any) -> np.ndarray:
    """Return the numbers of an array, for the work of a node on the CPU."""
    if not array.device.is_cpu:
        timing_of(db).count_download()
    found: np.ndarray = array.numpy()
    return found


def launch(db: Any, kernel: Any, dim: Any, inputs: list) -> None:
    """Launch a kernel on the device of a node."""
    wp.launch(kernel, dim=dim, inputs=inputs, device=device_of(db))


def compute(db: Any, kernel: Any, dim: Any, inputs: list, *outputs: tuple[Any, Any]) -> list[Any]:
    """Launch a kernel that writes all elements of its last parameters, given as (shape, dtype); return these arrays."""
    results = [wp.empty(shape, dtype=dtype, device=device_of(db)) for shape, dtype in outputs]
    launch(db, kernel, dim, [*inputs, *results])
    return results
