"""Modules as programs use them: their options, and the compilation of their kernels ahead of time.

`lang/kernel_module.py` has the objects themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

from ..devices.device import get_device
from ..lang.kernel import Kernel
from ..lang.kernel_module import Module, known_module, module_of
from ..lang.kernel_options import check_module_options
from ..lang.launch_constants import DEFAULT_BLOCK_DIM
from .plans import forget_code, forget_current, options_for, plan_for

__all__ = ["force_load", "get_module_options", "load_module", "set_module_options"]


def set_module_options(options: dict[str, Any], module: Module | ModuleType | str | None = None) -> None:
    """Set options for the kernels of one module, in place of those in `wp.config`.

    Args:
        options: `mode` ("debug", "release", or None for that of `wp.config`), `enable_backward`, whether gradients may
            be asked for, `serial`, `deterministic`, `fast_math`, `lineinfo` and `cuda_output` as in `wp.config`;
            options that direct other compilers are accepted and have no effect.
        module: a module or its name; the caller's module if left out.

    Raises:
        ValueError: there is no such option or module, or the option cannot be that.

    >>> wp.set_module_options({"mode": "debug"})
    >>> wp.get_module_options()["mode"]
    'debug'
    >>> wp.set_module_options({"mode": None})
    """
    check_module_options(options)
    _module(module, sys._getframe(1).f_globals).options.chosen.update(options)
    forget_current()


def get_module_options(module: Module | ModuleType | str | None = None) -> dict[str, Any]:
    """The options of a module, those never set at their defaults.

    Args:
        module: a module or its name; the caller's module if left out.

    Returns:
        Name -> value.

    Raises:
        ValueError: there is no such module.

    >>> wp.get_module_options()["enable_backward"]
    True
    """
    return dict(_module(module, sys._getframe(1).f_globals).options)


def load_module(
    module: Module | ModuleType | str | None = None,
    device: Any = None,
    recursive: bool = False,
    block_dim: int | None = None,
    max_workers: int | None = None,
) -> None:
    """Compile the kernels of a module now rather than at their first launch.

    Args:
        module: a module or its name; the caller's module if left out.
        device: where they will run, or a list of devices.
        recursive: whether modules inside the named one count too.
        block_dim: the threads of a block of these launches; that of `wp.launch` if left out.
        max_workers: accepted; has no effect.

    Raises:
        CompileError: a kernel has mistakes; the others are compiled.
        ValueError: there is no such module.

    >>> wp.load_module("math")
    """
    first = _module(module, sys._getframe(1).f_globals)
    inside = f"{first.name}."
    more = [m for name, m in list(sys.modules.items()) if recursive and name.startswith(inside)]
    named = sys._getframe(1).f_globals if module is None else getattr(sys.modules.get(first.name), "__dict__", {})
    named = vars(module) if isinstance(module, ModuleType) else named
    kernels = [*first.all_kernels(), *_named_in(named), *_kernels(more)]
    load_kernels(kernels, _devices(device), block_dim)


def force_load(
    device: Any = None,
    modules: Sequence[Any] | None = None,
    block_dim: int | None = None,
    max_workers: int | None = None,
) -> None:
    """Compile the kernels of modules now rather than at their first launch.

    Args:
        device: where they will run, or a list of devices.
        modules: the modules; all that are imported if left out.
        block_dim: the threads of a block of these launches; that of `wp.launch` if left out.
        max_workers: accepted; has no effect.

    >>> wp.force_load(modules=[])
    """
    chosen = [m for m in sys.modules.values() if isinstance(m, ModuleType)] if modules is None else modules
    load_kernels(_kernels(chosen), _devices(device), block_dim)


def _devices(device: Any) -> list[Any]:
    return list(device) if isinstance(device, (list, tuple)) else [device]


def _module(module: Any, callers: dict[str, Any]) -> Module:
    if isinstance(module, Module):
        return module
    if module is None:
        return module_of(callers)
    return named_module(module)


def named_module(module: Any) -> Module:
    """Return the module of a Python module or of a name. Raises ValueError for an unknown one."""
    if isinstance(module, ModuleType):
        return module_of(vars(module))
    found = known_module(module) if isinstance(module, str) else None
    if found is None:
        raise ValueError(f"no module {module!r} has been imported")
    return found


def _kernels(modules: Iterable[Any]) -> list[Kernel]:
    """The kernels that modules define or have as names."""
    found: list[Kernel] = []
    for m in modules:
        if not isinstance(m, Module):
            found += _named_in(vars(m))
        if isinstance(m, (Module, ModuleType)):
            found += (m if isinstance(m, Module) else module_of(vars(m))).all_kernels()
    return found


def _named_in(namespace: dict[str, Any]) -> list[Kernel]:
    """The kernels that are names of a namespace; of generic ones, the instances made so far."""
    named = [k for k in list(namespace.values()) if isinstance(k, Kernel)]
    return [i for k in named for i in (list(k.overloads.values()) if k.is_generic else [k])]


def load_kernels(kernels: Sequence[Kernel], devices: Sequence[Any], block_dim: int | None) -> None:
    """Make kernels ready to run on devices. Raises the first problem, after all others have been made."""
    problems = []
    for device in map(get_device, devices):
        for kernel in dict.fromkeys(kernels):
            try:
                plan_for(kernel, options_for(kernel, device, block_dim or DEFAULT_BLOCK_DIM))
            except Exception as why:
                problems.append(why)
    if problems:
        raise problems[0]


def unload_kernels(kernels: Sequence[Kernel], forget_constants: bool = False) -> None:
    """Give the code of kernels back, and the values that their constants had at first if that is asked for."""
    forget_code(kernels, forget_constants)
