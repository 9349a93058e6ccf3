"""Module options: settings of a Python module for all its kernels, and their compilation ahead of time.

The options of a module are kept in its own namespace, where `plans.options_for` finds those of a kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from ..devices.device import get_device
from ..lang.kernel import Kernel
from ..lang.kernel_options import MODULE_DEFAULTS, check_module_options
from .plans import MODULE_OPTIONS, forget_current, options_for, plan_for

__all__ = ["force_load", "get_module_options", "load_module", "set_module_options"]


def set_module_options(options: dict[str, Any], module: ModuleType | str | None = None) -> None:
    """Set options for the kernels of one module, in place of those in `wp.config`.

    Args:
        options: `mode` ("debug", "release", or None for that of `wp.config`), `enable_backward`, whether gradients may
            be asked for, `lineinfo` and `cuda_output` as in `wp.config`; options that direct other compilers are
            accepted and have no effect.
        module: a module or its name; the caller's module if left out.

    Raises:
        ValueError: there is no such option or module, or the option cannot be that.

    >>> wp.set_module_options({"mode": "debug"})
    >>> wp.get_module_options()["mode"]
    'debug'
    >>> wp.set_module_options({"mode": None})
    """
    check_module_options(options)
    _namespace(module, sys._getframe(1).f_globals).setdefault(MODULE_OPTIONS, {}).update(options)
    forget_current()


def get_module_options(module: ModuleType | str | None = None) -> dict[str, Any]:
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
    return MODULE_DEFAULTS | _namespace(module, sys._getframe(1).f_globals).get(MODULE_OPTIONS, {})


def load_module(module: ModuleType | str | None = None, device: Any = None, recursive: bool = False) -> None:
    """Compile the kernels of a module now rather than at their first launch.

    Args:
        module: a module or its name; the caller's module if left out.
        device: where they will run.
        recursive: whether modules inside the named one count too.

    Raises:
        CompileError: a kernel has mistakes; the others are compiled.
        ValueError: there is no such module.

    >>> wp.load_module("math")
    """
    get_device(device)
    namespace = _namespace(module, sys._getframe(1).f_globals)
    inside = f"{namespace['__name__']}."
    more = [m for name, m in list(sys.modules.items()) if recursive and name.startswith(inside)]
    _compile_all([k for n in (namespace, *map(vars, more)) for k in _kernels_of(n)])


def force_load(device: Any = None, modules: Sequence[Any] | None = None) -> None:
    """Compile the kernels of modules now rather than at their first launch.

    Args:
        device: where they will run.
        modules: the modules; all that are imported if left out.

    >>> wp.force_load(modules=[])
    """
    get_device(device)
    chosen = list(sys.modules.values()) if modules is None else modules
    _compile_all([k for m in chosen for k in _kernels_of(vars(m))])


def _namespace(module: ModuleType | str | None, callers: dict[str, Any]) -> dict[str, Any]:
    if module is None:
        return callers
    found = sys.modules.get(module) if isinstance(module, str) else module
    if not isinstance(found, ModuleType):
        raise ValueError(f"no module {module!r} has been imported")
    return vars(found)


def _kernels_of(namespace: dict[str, Any]) -> list[Kernel]:
    """The kernels of a module; of generic ones, the instances made so far."""
    found = [k for k in list(namespace.values()) if isinstance(k, Kernel)]
    return [i for k in found for i in (list(k.overloads.values()) if k.is_generic else [k])]


def _compile_all(kernels: list[Kernel]) -> None:
    problems = []
    for kernel in dict.fromkeys(kernels):
        try:
            plan_for(kernel, options_for(kernel))
        except Exception as why:
            problems.append(why)
    if problems:
        raise problems[0]
