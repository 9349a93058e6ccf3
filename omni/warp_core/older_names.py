"""Names of the package that earlier versions of warp-lang had in modules: `wp.types.vec3`, `wp.utils.ScopedTimer`.

Start with `in_module`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .missing_names import told

_MISSING = object()


def in_module(module: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a public module, which finds the names of the package that it stands in.

    Args:
        module: Name of the module.
    """
    package = sys.modules[module.rpartition(".")[0]]

    def load(name: str) -> Any:
        value = _MISSING if name.startswith("_") else getattr(package, name, _MISSING)
        if value is _MISSING:
            inside = module.partition("warp_core.")[2]
            raise AttributeError(f"module {module!r} has no attribute {name!r}{told(f'{inside}.{name}')}")
        return value

    return load
