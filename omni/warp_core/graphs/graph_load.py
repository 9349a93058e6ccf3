"""Graphs made of files. Start with `loaded_graph`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _native
from ..codegen.target import cpu_targets, host
from ..dispatch.captured_graph import Graph
from ..lang.types import parse_type
from ..launches import module_file, plans
from .graph_file import DamagedGraph
from .graph_nodes import ARRAY, ArrayPlace, arrays_in, load_call, reach
from .graph_regions import LoadedRegions


class SavedKernel:
    """What a plan needs to know of a kernel whose source is not there."""

    def __init__(self, facts: dict[str, Any], path: str):
        self.name, self.path = facts["name"], path
        self.params = [(name, parse_type(key)) for name, key in facts["params"]]
        if type(self.name) is not str or any(type(name) is not str for name, _ in self.params):
            raise ValueError("a kernel without a name")


class _PlanMaker(plans.PlanMaker):
    """Makes the plan of a kernel from the code in a file."""

    kernel: Any

    def __init__(self, kernel: SavedKernel, options: plans.Options, codes: dict[int, plans.LoadedKernel]):
        super().__init__(kernel, options)  # type: ignore[arg-type]
        self._codes = codes

    def load(self, variant: int) -> plans.LoadedKernel:
        """Return the code for a variant."""
        if variant not in self._codes:
            raise RuntimeError(f"kernel `{self.kernel.name}`: {self.kernel.path} has no code for such a launch")
        return self._codes[variant]

    def on_failure(self, thread: int, site: int, values: list[int], dims: tuple[int, ...]) -> Exception:
        """Return the error for a thread that failed."""
        found = self.artifact.sites[site]
        place = f" ({found.file}:{found.line})" if found.file else ""
        return RuntimeError(
            f"kernel `{self.kernel.name}` of {self.kernel.path}, thread {thread}: {found.message}{place}"
        )

    def on_fault(self, *found: Any) -> Exception:
        """Return the error for a bad memory access."""
        return RuntimeError(f"kernel `{self.kernel.name}` of {self.kernel.path} has used memory that is not there")


def loaded_graph(table: dict[str, Any], blobs: Sequence[bytes], path: str) -> Graph:
    """Return the graph of a table and its blobs. Raises DamagedGraph."""
    try:
        return _Reader(table, blobs, path).graph()
    except DamagedGraph:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError) as why:
        raise DamagedGraph(f"its table does not fit together ({why})") from None
    except (module_file.DamagedModule, _native.LoadError) as why:
        raise DamagedGraph(f"one of its kernels does not load ({why})") from None


class _Reader:
    def __init__(self, table: dict[str, Any], blobs: Sequence[bytes], path: str):
        self.table, self.path = table, path
        regions = table["regions"]
        self.regions = LoadedRegions(regions, blobs[: len(regions)])
        self.images = blobs[len(regions) :]
        self.plans: list[tuple[SavedKernel, Any, list[ArrayPlace]]] = [self._plan(k) for k in table["kernels"]]

    def graph(self) -> Graph:
        """Return the outermost graph, which is the last one."""
        made: list[Graph] = []
        for nodes in self.table["graphs"]:
            made.append(Graph())
            for node in nodes:
                self._add(made[-1], made[:-1], *node)
        graph = made[-1]
        graph.keep(self.regions.memory)
        graph._places = {
            name: (self.regions.address(place, 0, size), size) for name, (place, size) in self.table["params"].items()
        }
        return graph

    def _plan(self, facts: dict[str, Any]) -> tuple[SavedKernel, Any, list[ArrayPlace]]:
        """Return a kernel, its plan, and where arrays are in its argument block."""
        runnable = [t.name for t in cpu_targets() if t.lanes <= host().lanes]
        if facts["target"] not in runnable:
            raise DamagedGraph(f"its code is for {facts['target']}, and this processor runs {', '.join(runnable)}")
        kernel = SavedKernel(facts, self.path)
        codes = {}
        for variant, image in facts["variants"].items():
            artifact = module_file.unpacked(self.images[image], variant)
            if artifact.params != tuple(t.key for _, t in kernel.params) or artifact.grid is not None:
                raise ValueError("code for other parameters")
            codes[int(variant)] = plans.LoadedKernel(artifact)
        options = plans.Options(False, adjoint="distinct" if facts["is_adjoint"] else "", tiled=int(facts["tiled"]))
        plan = _PlanMaker(kernel, options, codes).make(0)
        return kernel, plan, [*arrays_in([(at, t) for (_, t), (_, at, _) in zip(kernel.params, plan.layout)])]

    def _add(self, graph: Graph, inner: Sequence[Graph], kind: str, label: str, *work: Any) -> None:
        if kind == "launch":
            graph.add_launch(self._launch(*work), label)
        elif kind == "call":
            function, args = load_call(work[0], self.regions.address)
            graph.add_call(function, args, label, self.regions.memory)
        elif kind == "graph":
            graph.add_graph(_of(inner, work[0]), label)
        elif kind in ("if", "while"):
            condition = self._condition(work[0])
            parts: list[Any] = [None if part is None else _of(inner, part) for part in work[1:]]
            (graph.add_if if kind == "if" else graph.add_while)(condition, *parts)
        else:
            raise ValueError("an unknown node")

    def _condition(self, place: Any) -> Any:
        return _Condition(self.regions.address(place, 0, 4), self.regions.memory)

    def _launch(self, number: int, dim: Any, text: str, strided: bool, places: Sequence[Any]) -> Any:
        if type(number) is not int or number < 0 or type(strided) is not bool:
            raise ValueError("no launch")
        kernel, plan, arrays = self.plans[number]
        block = bytearray.fromhex(text)
        if len(block) != plan.block_size or len(places) != 2 * len(arrays):
            raise ValueError("an argument block of another size")
        for i, found in enumerate(arrays):
            _, _, *extents = ARRAY.unpack_from(block, found.offset)
            ndim = found.type.ndim
            far = reach(extents[:ndim], extents[4 : 4 + ndim], found.type.dtype.size)
            pair = [0 if p is None or far is None else self.regions.address(p, *far) for p in places[2 * i : 2 * i + 2]]
            ARRAY.pack_into(block, found.offset, *pair, *extents)
        return _native.packed_launch(kernel, plan, dim, bytes(block), strided, self.regions.memory)


class _Condition:
    """An int32 in memory, as native code asks an array for its address."""

    def __init__(self, address: int, memory: Any):
        self._address, self._memory = address, memory


def _of(inner: Sequence[Graph], number: Any) -> Graph:
    if type(number) is not int or not 0 <= number < len(inner):
        raise ValueError("no such graph")
    return inner[number]
