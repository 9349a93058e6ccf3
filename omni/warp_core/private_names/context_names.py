"""`warp._src.context`: the names of the package, and those of the runtime, the builtins and the modules of kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..lang import registry
from ..lang.kernel_module import all_modules
from ..older_names import in_module
from .native_functions import NativeFunctions


class _Builtins(Mapping):
    """The functions of the kernel language by name."""

    def __getitem__(self, name: str) -> Any:
        found = registry.public(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter({**registry.index(), **registry.INTRINSICS})

    def __len__(self) -> int:
        return len(list(iter(self)))


class _Runtime:
    """What programs use of the runtime: its native functions."""

    core = NativeFunctions()


builtin_functions = _Builtins()
runtime = _Runtime()
_package_name = in_module(__package__)


def __getattr__(name: str) -> Any:
    if name == "user_modules":
        return all_modules()
    return _package_name(name)
