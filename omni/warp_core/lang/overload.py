"""`wp.overload`: instances of a generic kernel made ahead of their first launch."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .annotations import AnnotationError, parameters, surroundings
from .kernel import Kernel
from .source import Source

__all__ = ["overload"]


def overload(kernel: Kernel | Callable, arg_types: Sequence[Any] | Mapping[str, Any] | None = None) -> Kernel:
    """Instantiate a generic kernel for given argument types; also a decorator.

    Launches find the instance that fits their arguments, and make missing ones. So overloads are needed only to compile
    ahead (`wp.load_module`), or to launch an instance itself, which saves the search for it.

    Args:
        kernel: The generic kernel. As a decorator, a function of the kernel's name and with its parameters, all of
            them typed; its body is `...`.
        arg_types: Types of all parameters in order, or by name of those that are left open.

    Returns:
        The instance, a kernel without open types. As a decorator, the generic kernel.

    Raises:
        TypeError: A type does not fit its parameter, or the kernel is not generic.
        ValueError: There is no parameter of that name.

    >>> from typing import Any
    >>> @wp.kernel
    ... def scale(x: wp.array[Any], by: Any):
    ...     i = wp.tid()
    ...     x[i] = by * x[i]
    >>> for_doubles = wp.overload(scale, [wp.array(dtype=wp.float64), wp.float64])
    >>> @wp.overload
    ... def scale(x: wp.array[wp.vec3], by: float): ...
    >>> len(scale.overloads)
    2
    """
    if isinstance(kernel, Kernel):
        if arg_types is None:
            raise TypeError(f"wp.overload({kernel.name}, ...) needs the types of the kernel's parameters")
        return kernel.add_overload(arg_types)
    if not callable(kernel) or arg_types is not None:
        raise TypeError(f"wp.overload takes a generic kernel and the types of its parameters, got {kernel!r}")
    frame = sys._getframe(1)
    generic = frame.f_locals.get(kernel.__name__, frame.f_globals.get(kernel.__name__))
    if not isinstance(generic, Kernel):
        raise TypeError(f"wp.overload: there is no kernel `{kernel.__name__}` here to overload")
    _check_stub(kernel)
    try:
        generic.add_overload([t for _, t in parameters(kernel, surroundings(frame))])
    except AnnotationError as e:
        raise TypeError(f"wp.overload: {e}") from None
    return generic


def _check_stub(func: Callable) -> None:
    for node in Source.of(func).tree().body:
        if not isinstance(node, ast.Pass) and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            raise TypeError(
                f"wp.overload: `{func.__name__}` must not have a body, the generic kernel provides it; write `...`"
            )
