"""Write graphs to files, and make graphs of files again. Start with `capture_save`.

A file has the nodes of a graph, the kernels that it launches as machine code, and the memory that it uses.
`graph_file.py` is the format, `graph_regions.py` the memory, `graph_nodes.py` the description of one node.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import _native
from ..compiler import uses_structures
from ..devices.device import DeviceLike, get_device
from ..dispatch.captured_graph import Graph
from ..files import Unfinished
from ..launches import ahead_forms, module_file, plans
from . import graph_file
from .graph import device_of_graph
from .graph_load import loaded_graph
from .graph_nodes import ARRAY, ArrayPlace, Unsaved, arrays_in, reach, save_call
from .graph_regions import Regions

__all__ = ["capture_load", "capture_load_from_bytes", "capture_save"]

SUFFIX = ".wrp"


def capture_save(
    graph: Graph,
    path: str | os.PathLike,
    inputs: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    source_fallback: bool = False,
) -> None:
    """Write a graph of the CPU to a file, from which `capture_load` makes a graph in another process.

    The file has the kernels as machine code for this processor, and the memory that the graph uses with its present
    contents. A name stands for the whole allocation of an array.

    Args:
        graph: a graph that was captured with `apic=True`.
        path: the file; `.wrp` is added if it is missing.
        inputs: arrays by the names that `Graph.set_param` and `Graph.get_param` will know them by.
        outputs: more of them; the two are alike.
        source_fallback: accepted; has no effect.

    Raises:
        TypeError: `graph` is something else, or a named value is not an array.
        ValueError: a named array is not on the CPU.
        RuntimeError: the graph was captured without `apic=True`, or a file cannot hold something that it does.

    >>> import tempfile
    >>> @wp.kernel
    ... def double(x: wp.array[float]):
    ...     i = wp.tid()
    ...     x[i] = 2.0 * x[i]
    >>> x = wp.array([1.0, 2.0], dtype=float)
    >>> with wp.ScopedCapture(apic=True) as captured:
    ...     wp.launch(double, dim=2, inputs=[x])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wp.capture_save(captured.graph, f"{folder}/doubling", inputs={"x": x})
    ...     graph = wp.capture_load(f"{folder}/doubling")
    >>> graph.set_param("x", wp.array([5.0, 6.0], dtype=float))
    >>> wp.capture_launch(graph)
    >>> wp.capture_launch(graph)
    >>> graph.get_param("x", x)
    >>> x.list()
    [20.0, 24.0]
    """
    if not isinstance(graph, Graph):
        raise TypeError(f"graph: expected the graph of a capture, got {type(graph).__name__}")
    if device_of_graph(graph).is_cuda:
        raise RuntimeError(f"graphs of {device_of_graph(graph)} cannot be saved yet: only those of the CPU can")
    if not graph.apic:
        raise RuntimeError("the graph was captured without apic=True: pass it to wp.capture_begin or wp.ScopedCapture")
    named = {**(inputs or {}), **(outputs or {})}
    for name, value in named.items():
        if not isinstance(value, _native.ArrayBase):
            raise TypeError(f"{name!r}: expected a wp.array, got {type(value).__name__}")
        if value.device_id != 0:
            raise ValueError(f"{name!r}: expected an array on the CPU, which the graph is for, got one on a GPU")
    data = _Writer(graph, named).image()
    target = _path(path)
    with Unfinished(str(target)) as unfinished:
        Path(unfinished.path).write_bytes(data)
        unfinished.commit()


def capture_load(path: str | os.PathLike, device: DeviceLike = None) -> Graph:
    """Make a graph of a file that `capture_save` has written.

    The file has code, which runs when the graph is launched. So load a file as you would import a Python module: only
    one of your own, or from those whose code you run.

    Args:
        path: the file; `.wrp` is added if it is missing.
        device: accepted for the CPU.

    Returns:
        The graph, for `capture_launch`. It has memory of its own: `Graph.set_param` and `Graph.get_param` exchange it.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, another version of this package has written it, or this processor cannot run
            its code; or the device is a GPU.

    >>> import tempfile
    >>> x = wp.zeros(2, dtype=float)
    >>> with wp.ScopedCapture(apic=True) as captured:
    ...     x.fill_(3.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wp.capture_save(captured.graph, f"{folder}/threes", outputs={"x": x})
    ...     graph = wp.capture_load(f"{folder}/threes")
    >>> graph.params
    {'x': {'size': 8}}
    """
    found = _path(path)
    return _load(found.read_bytes(), str(found), device)


def capture_load_from_bytes(data: Any, modules: Mapping[str, Any] | None = None, device: DeviceLike = None) -> Graph:
    """Make a graph of the bytes of a file that `capture_save` has written; otherwise as `capture_load`.

    Args:
        data: the content of the file, as bytes or another buffer.
        modules: accepted; the kernels are in the file itself.
        device: accepted for the CPU.

    Returns:
        The graph.

    Raises:
        TypeError: `data` is not a buffer.
        ValueError: as for `capture_load`.

    >>> wp.capture_load_from_bytes(b"")
    Traceback (most recent call last):
    ...
    ValueError: the bytes are refused: it has 0 bytes. Save the graph again with wp.capture_save
    """
    return _load(bytes(memoryview(data)), "the bytes", device)


def _path(path: Any) -> Path:
    found = Path(path)
    return found if found.suffix == SUFFIX else found.with_name(found.name + SUFFIX)


def _load(data: bytes, name: str, device: DeviceLike) -> Graph:
    if get_device(device).is_cuda:
        raise ValueError(f"{name} has a graph of the CPU, and cannot be loaded on {get_device(device)}")
    try:
        return loaded_graph(*graph_file.from_bytes(data), name)
    except graph_file.DamagedGraph as why:
        verb = "are" if name == "the bytes" else "is"
        raise ValueError(f"{name} {verb} refused: {why}. Save the graph again with wp.capture_save") from None


class _Writer:
    """Writes one graph. It walks through the nodes twice: to collect the memory, and to write where things are."""

    def __init__(self, graph: Graph, named: Mapping[str, Any]):
        self.graph, self.named = graph, named
        self.regions = Regions()
        self.kernels: list[dict[str, Any]] = []
        self.images: list[bytes] = []
        self._known: dict[Any, int] = {}  # kernels
        self._layouts: list[list[ArrayPlace]] = []  # of each kernel

    def image(self) -> bytes:
        """Return the file."""
        self._graphs()
        self.regions.complete()
        table = {
            "regions": self.regions.table(),
            "params": {name: [*self._allocation(a)] for name, a in self.named.items()},
            "kernels": self.kernels,
            "graphs": self._graphs(),
        }
        return graph_file.to_bytes(table, [*self.regions.contents(), *self.images])

    def _allocation(self, a: Any) -> tuple[list[int], int]:
        """Return the place and size of the allocation of an array, or of the array alone if that is not known."""
        low, high = a._span
        owner = a.owner
        if isinstance(owner, _native.Buffer):
            low, high = owner.ptr, owner.ptr + owner.nbytes
        return self.regions.place(low, high), high - low

    def _graphs(self) -> list[Any]:
        """Return the nodes of all graphs, inner ones before those that contain them."""
        for a in self.named.values():
            self._allocation(a)
        found: list[Any] = []
        self._nodes(self.graph, found, {})
        return found

    def _nodes(self, graph: Any, found: list[Any], numbers: dict[int, int]) -> int | None:
        if graph is None:
            return None
        if id(graph) not in numbers:
            nodes = [self._node(kind, label, held, found, numbers) for kind, label, held in graph.contents]
            numbers[id(graph)] = len(found)
            found.append(nodes)
        return numbers[id(graph)]

    def _node(self, kind: str, label: str, held: tuple[Any, ...], found: list[Any], numbers: dict[int, int]) -> Any:
        try:
            if kind == "launch":
                return [kind, label, *self._launch(held[0])]
            if kind == "call":
                return [kind, label, save_call(held[0], held[1], self._at)]
            if kind == "graph":
                return [kind, label, self._nodes(held[0], found, numbers)]
            if kind in ("if", "while"):
                array, *parts, _ = held
                place = self.regions.place(array._address, array._address + 4)
                return [kind, label, place, *(self._nodes(part, found, numbers) for part in parts)]
            raise Unsaved("graphs of GPUs cannot be saved yet")
        except Unsaved as why:
            raise RuntimeError(f"wp.capture_save: the graph has the node {label!r}: {why}") from None

    def _at(self, address: int, below: int, above: int) -> list[int]:
        region, offset = self.regions.place(address - below, address + above)
        return [region, offset + below]

    # -- launches ---------------------------------------------------------------------------------------------------

    def _launch(self, launch: Any) -> list[Any]:
        number = self._kernel(launch)
        block = bytearray(launch.block)
        places = []
        for found in self._layouts[number]:
            data, grad, *extents = ARRAY.unpack_from(block, found.offset)
            ndim, size = found.type.ndim, found.type.dtype.size
            far = reach(extents[:ndim], extents[4 : 4 + ndim], size)
            places += [self._at(address, *far) if address and far else None for address in (data, grad)]
            ARRAY.pack_into(block, found.offset, 0, 0, *extents)
        dim = [launch.dim] if isinstance(launch.dim, int) else [*map(int, launch.dim)]
        dim += [1] * (launch.plan.arity - len(dim))  # indices beyond the last dimension, in the dialect of warp-lang
        return [number, dim, block.hex(), launch.strided, places]

    def _kernel(self, launch: Any) -> int:
        """Return the number of a kernel in the file, with its code put there if it is new."""
        kernel, plan = launch.kernel, launch.plan
        if plan not in self._known:
            options = next((o for o, p in kernel._plans.items() if p is plan), None)
            if options is None:
                raise Unsaved("the kernel or its options have changed since the capture: capture it again")
            self._check(kernel)
            self._known[plan] = len(self.kernels)
            self._layouts.append([*arrays_in([(at, t) for (_, t), (_, at, _) in zip(kernel.params, plan.layout)])])
            self.kernels.append(self._compiled(kernel, options))
        return self._known[plan]

    def _check(self, kernel: Any) -> None:
        if any(plans.holds_arrays(t) for _, t in kernel.params):
            raise Unsaved("elements of its arrays hold arrays, and a file cannot hold their addresses")
        if uses_structures(kernel):
            raise Unsaved(
                "its kernel finds a mesh, tree, hash grid or volume by an id, and a file cannot hold these yet"
            )

    def _compiled(self, kernel: Any, options: Any) -> dict[str, Any]:
        """Put the code of all variants into the file, and return the facts about the kernel."""
        target = plans.target_of(options)
        first = plans.artifact_for(kernel, options, 0, target)
        codes = {}
        for variant in ahead_forms.variants(kernel, options, first):
            made = plans.artifact_for(kernel, options, variant, target) if variant else first
            codes[variant] = len(self.images)
            self.images.append(module_file.packed(made, str(variant)))
        params = [[name, t.key] for name, t in kernel.params]
        facts = {"name": kernel.name, "params": params, "target": target.name, "variants": codes}
        return {**facts, "tiled": options.tiled, "is_adjoint": bool(options.adjoint)}
