"""`wp.func_native`: functions whose bodies are C++ text. `native_text` reads those that compute with numbers."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from itertools import count
from types import FrameType
from typing import Any

from ...late_bound import late
from ..annotations import AnnotationError, evaluate_for, parameters, surroundings, type_or_none
from ..custom_gradients import func_grad, func_replay
from ..kernel import Function
from ..kernel_module import module_of
from ..native_text.c_statements import translate
from ..native_text.c_tokens import NotTranslated, Text, preprocessed
from ..registry import INTRINSICS
from ..source import LinecacheEntry

_BARRIERS = ("WP_TILE_SYNC();", "__syncthreads();")
# What lets the threads of a GPU work together: text for CPUs beside it is for threads that work alone.
_TOGETHER = re.compile(
    r"__shfl|__sync|__ballot|__any_sync|__all_sync|__activemask|__shared__|__threadfence|\batomic\w+"
)
_numbers = count()  # of texts
_HELPERS = {"bit_count": "bit_count", "_trailing_zeros": "trailing_zeros", "_next_after": "next_after"}


class NativeFunction(Function):
    """A function whose body is C++ text.

    Attributes:
        snippet: the text.
        untranslated: what in it this compiler does not read; kernels that call the function are refused for it.
        is_for_lone_threads: whether the text for CPUs stands beside one for GPUs whose threads exchange values.
    """

    def __init__(self, func: Callable, snippet: str, untranslated: str, is_for_lone_threads: bool, frame: FrameType):
        super().__init__(func, module=module_of(frame.f_globals), frame=frame)
        self.snippet, self.untranslated, self.is_for_lone_threads = snippet, untranslated, is_for_lone_threads


def func_native(snippet: str, adj_snippet: str | None = None, replay_snippet: str | None = None) -> Callable:
    """Decorator for functions whose bodies are C++ text, as programs for warp-lang have them.

    Text that computes with numbers becomes a function of the kernel language. It may have declarations, assignments,
    `if`, `for`, `while`, `return`, the operators and conversions of C, functions of `math.h`, and `wp::name(...)`.
    Elements of arrays may be read and written, and changed by `atomicAdd(&a[i], x)` and the like. Its gradient follows
    from that, or from `adj_snippet`. A barrier (`WP_TILE_SYNC();`, `__syncthreads();`) becomes `wp.syncthreads()`.
    A kernel that calls a function with other text (pointers, classes, lambdas) is refused, with the line of the call.

    Of `#if defined(__CUDA_ARCH__)`, the text behind `#else` is taken, for GPUs as well. If the text for GPUs exchanges
    values between threads, then GPUs refuse the kernel. So does a CPU for a kernel in blocks of several threads.

    Args:
        snippet: the C++ text.
        adj_snippet: the text of its gradient: it adds to `adj_x` of each parameter `x`, and reads `adj_ret`, the
            gradient of the result. Of an array, `adj_x[i]` is the gradient of `x[i]`.
        replay_snippet: text that a backward pass runs in its place where it computes the values of a launch again.

    Returns:
        The decorator.

    >>> @wp.func_native("return 1.0f / sqrtf(value);")
    ... def inverse_root(value: float) -> float: ...
    >>> @wp.kernel
    ... def roots(x: wp.array[float]):
    ...     x[wp.tid()] = inverse_root(x[wp.tid()])
    >>> x = wp.array([4.0, 16.0], dtype=float)
    >>> wp.launch(roots, dim=2, inputs=[x])
    >>> x.list()
    [0.5, 0.25]
    """
    if not isinstance(snippet, str):
        raise TypeError(
            f"snippet: expected C++ text, got {type(snippet).__name__}; write @wp.func for Python functions"
        )
    frame = sys._getframe(1)

    def enter(f: Callable) -> Any:
        try:
            text = preprocessed(snippet)
        except NotTranslated as why:
            return NativeFunction(f, snippet, str(why), False, frame)
        if any("".join(part.split()) in _BARRIERS and not rest.strip() for part, rest in (text, text[::-1])):
            return INTRINSICS["syncthreads"]
        made = _made(f, snippet, text, frame)
        for kind, own in ((func_grad, adj_snippet), (func_replay, replay_snippet)):
            if own is not None and not made.untranslated:
                _add(made, f, kind, own, frame)
        return made

    return enter


def _made(f: Callable, snippet: str, text: Text, frame: FrameType) -> NativeFunction:
    """Return the function of a text, in Python where that can be."""
    why, written = "", f
    try:
        types, result = _signature(f, frame)
        body = translate(text.cpu, list(types.items()), result)
        if "return" in f.__annotations__ and not any("return " in line for line in body):
            raise NotTranslated("no `return`")
        written = _in_python(f, body, types if result is None else {**types, "return": result})
    except (NotTranslated, AnnotationError, TypeError) as refused:
        why = str(refused)
    return NativeFunction(written, snippet, why, _TOGETHER.search(text.gpu) is not None, frame)


def _add(made: NativeFunction, f: Callable, kind: Callable, snippet: str, frame: FrameType) -> None:
    """Add the gradient or the replay of a function, of C++ text as well. Text that is not translated is noted."""
    try:
        types, result = _signature(f, frame)
        is_gradient = kind is func_grad
        if is_gradient and result is not None:
            types["adj_ret"] = result
        body = translate(preprocessed(snippet).cpu, list(types.items()), result, has_adjoints=is_gradient)
        kind(made)(_in_python(f, body, types, tuple(types)))
    except (NotTranslated, AnnotationError, TypeError) as refused:
        made.untranslated = f"{'adj' if kind is func_grad else 'replay'}_snippet has {refused}"


def _signature(f: Callable, frame: FrameType) -> tuple[dict[str, Any], Any]:
    """The types of parameters by their names, and the type of the result, None if it is not known."""
    types = {p.name: t for p, t in parameters(f, surroundings(frame))}
    return types, type_or_none(evaluate_for(f.__annotations__.get("return"), f, surroundings(frame)))


def _in_python(f: Callable, body: list[str], annotations: dict[str, Any], names: tuple[str, ...] = ()) -> Callable:
    """Return a Python function with the parameters of another one, or others, and this body."""
    params = ", ".join(names or inspect.signature(f).parameters)
    lines = [f"{line}\n" for line in (f"def {f.__name__}({params}):", *body)]
    filename = f"<C++ text of {f.__qualname__}, {next(_numbers)}>"
    helpers = {name: late(row) for name, row in _HELPERS.items() if any(f"{name}(" in line for line in body)}
    space = {"wp": sys.modules[__name__.partition(".lang.")[0]], "__name__": f.__module__, **helpers}
    entry = LinecacheEntry(filename, lines)
    exec(compile("".join(lines), filename, "exec"), space)
    made: Any = space[f.__name__]
    made.__defaults__, made.__annotations__, made.__doc__ = f.__defaults__, annotations, f.__doc__
    made.__qualname__, made.__module__, made.__wc_text__ = f.__qualname__, f.__module__, entry
    return made
