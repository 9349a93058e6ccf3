"""Public names of modules that need optional packages: loaded at first use, with the command that installs the package.

Start with `loader`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .missing_names import told

# Import name of an optional package -> its name for pip, and the extra of this package that has it.
_PACKAGES = {"pxr": ("usd-core", "usd")}


def loader(module: str, homes: dict[str, str], namespace: dict[str, Any]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a public module.

    Args:
        module: Name of the module.
        homes: Submodule -> the public names it defines, separated by spaces. Its own name is the submodule itself.
        namespace: The globals of the module, which keep what was loaded.
    """
    home = {name: submodule for submodule, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in home:
            inside = module.partition("warp_core.")[2]
            raise AttributeError(f"module {module!r} has no attribute {name!r}{told(f'{inside}.{name}')}")
        try:
            found = importlib.import_module(f"{module}.{home[name]}")
            value = found if name == home[name] else getattr(found, name)
        except ModuleNotFoundError as error:
            if error.name not in _PACKAGES:
                raise
            package, extra = _PACKAGES[error.name]
            public = f"wp.{module.rpartition('.')[2]}.{name}"
            text = f"{public} needs {package}; install it with: pip install 'omni-warp-core[{extra}]'"
            raise ModuleNotFoundError(text, name=error.name) from None
        namespace[name] = value
        return value

    return load
