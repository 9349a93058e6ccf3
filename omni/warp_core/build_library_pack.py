"""Lowers the library when the package is built: `python -m omni.warp_core.build_library_pack [OUT]` writes
`lib/library.pack`.

Each builtin is lowered for the types that most kernels use and put through the passes, so that kernels splice in
finished code. Other types are lowered from source when they are met. Needs no NumPy, and the
native module for values alone. `front/library_pack.py` reads the pack. Start with `build`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from .autodiff.analysis.structure_arrays import MESH_READS
from .front import library, library_pack, lower  # noqa: F401 - two of them fill tables
from .front.gradients import library_rules  # noqa: F401 - two of them fill tables
from .ir.bytecode import write
from .ir.nodes import Function
from .lang import registry
from .lang.generics import Pattern, TypeVar, plain, substitute
from .lang.types import F32, F64, I32, Mat, Type
from .passes import pipeline

# What the variables of a signature stand for in the pack, by kind. Lengths and shapes are those of square matrices.
_SCALARS: dict[str, tuple[Type, ...]] = {"scalar": (F32, F64, I32), "float": (F32, F64), "int": (I32,)}
_LENGTHS = (2, 3, 4)


def _variables(pattern: Any) -> Iterator[TypeVar]:
    if isinstance(pattern, TypeVar):
        yield pattern
    elif isinstance(pattern, Pattern):
        for p in pattern.params:
            yield from _variables(p)


def bindings(patterns: list[Any]) -> Iterator[dict[str, Any]]:
    """The ways in which the variables of a signature are bound for the pack."""
    found = {v.name: v for p in patterns for v in _variables(p)}
    scalars = {name: _SCALARS[v.kind] for name, v in found.items() if v.kind in _SCALARS}
    lengths = [name for name, v in found.items() if v.kind == "length"]
    if len(scalars) + len(lengths) < len(found):
        return
    for choice in product(*scalars.values()):
        for n in _LENGTHS if lengths else (0,):
            yield {**dict(zip(scalars, choice)), **dict.fromkeys(lengths, n)}


def instances() -> Iterator[tuple[registry.Builtin, int, tuple[Type, ...]]]:
    """Every (builtin, overload, argument types) that goes into the pack."""
    for name in registry.index():
        found = registry.get(name)
        assert found is not None
        for i, overload in enumerate(found.overloads):
            patterns = [plain(pattern) for _, pattern, _ in overload.params]
            for bound in bindings(patterns):
                types = tuple(substitute(p, bound) for p in patterns)
                integer_matrix = any(isinstance(t, Mat) and t.scalar is I32 for t in types)
                if not integer_matrix and not _shadowed(found, i, types):
                    yield found, i, types


def _shadowed(found: registry.Builtin, index: int, types: tuple[Type, ...]) -> bool:
    """True if an earlier overload accepts exactly these types, so that this overload is never chosen for them."""
    return any(tuple(plain(p) for _, p, _ in o.params) == types for o in found.overloads[:index])


def build() -> bytes:
    """The bytes of the pack: the digest of the sources, then the functions by instance key."""
    library.pack_lookup = None
    # Products are fused in the kernel that they end up in. An adjoint has to see the calls whose gradients are given,
    # and those that read arrays of structures.
    calls = frozenset({*registry.GRADIENTS, *registry.STAND_INS, *registry.ARRAY_FORMS, *MESH_READS})
    options = pipeline.PassOptions(contract=False, calls=calls)
    functions: dict[str, Function] = {}
    for found, i, types in instances():
        lowered = library.instantiate(found, i, types).function
        functions[library.instance_key(found, i, types, {})] = pipeline.run(lowered, options)
    return library_pack.source_digest() + write(functions)


def main() -> None:
    """Write the pack to the file named on the command line, or to its place in the package."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(library_pack.PATH)
    data = build()
    fresh = out.with_suffix(f".{os.getpid()}")
    fresh.write_bytes(data)
    fresh.replace(out)
    print(f"{out}: {len(data) / 1024:.0f} kB")


if __name__ == "__main__":
    main()
