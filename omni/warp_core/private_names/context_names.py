"""`warp._src.context`: the names of the package, and those of the runtime, the builtins and the modules of kernels."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

from ..dispatch import observers
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


class _Runtime(threading.local):
    """What programs use of the runtime: its native functions, and the tape that records what this thread does.

    `runtime.tape = None` pauses the tape until it is assigned again.
    """

    core = NativeFunctions()

    def __init__(self) -> None:
        self._scopes: list[tuple[Any, Any]] = []  # of assignments: each with the tape that recorded before

    @property
    def tape(self) -> Any:
        return observers.tape()

    @tape.setter
    def tape(self, wanted: Any) -> None:
        recording = observers.tape()
        if wanted is recording:
            return
        if self._scopes and self._scopes[-1][1] is wanted:
            scope, _ = self._scopes.pop()
            scope.__exit__(None, None, None)
            return
        scope = observers.NotRecording() if wanted is None else wanted
        scope.__enter__()
        self._scopes.append((scope, recording))


builtin_functions = _Builtins()
runtime = _Runtime()
_package_name = in_module(__package__)


def __getattr__(name: str) -> Any:
    if name == "user_modules":
        return all_modules()
    return _package_name(name)
