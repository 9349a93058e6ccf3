"""`warp._src`: the private modules of warp-lang that programs reach into, as far as what they name is here.

`HOMES` says which module of this package stands for which. `as_warp` lets programs import them.
"""

from __future__ import annotations

import importlib
from typing import Any

# Module below `warp._src` -> the module of this package that stands for it.
HOMES = {
    "context": "private_names.context_names",
    "types": "private_names.type_names",
    "thirdparty": "private_names",
    "thirdparty.appdirs": "private_names.user_folders",
    "fem": "fem",
    "jax": "interop.jax",
    "optim": "optim",
    "paddle": "interop.paddle",
    "render": "render",
    "sparse": "sparse",
    "torch": "interop.torch",
    "utils": "utils",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES or name.startswith("_"):
        raise AttributeError(f"warp._src has no {name!r} here, only {', '.join(HOMES)}", name=name)
    return importlib.import_module(f"{__package__.rpartition('.')[0]}.{HOMES[name]}")
