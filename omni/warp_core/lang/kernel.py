"""Results of the decorators: `Kernel` and `Function` hold a Python function, its source and its options.

Decorating captures the source and does nothing else; parsing, typing and compiling wait for the first use, so a
mistake in one kernel leaves its neighbours alone. `kernel_from_source` compiles a kernel handed over as text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from inspect import Parameter
from itertools import count
from types import FrameType
from typing import Any, NamedTuple

from ..late_bound import late
from . import inference, kernel_options
from .annotations import AnnotationError, evaluate_for, named_in, parameters, surroundings
from .errors import CompileError, Diagnostic, Place, Span, compile_error
from .generics import Constant, Reference, TuplePattern, spell
from .kernel_module import chosen_module
from .kernel_transforms import Transform, subject_after
from .keys import key_of
from .source import LinecacheEntry, Source, parse
from .source_recovery import split_lines
from .types import Type

# Parameters that functions have and kernels do not, and what to write in their place.
_NOT_OF_KERNELS = {
    Reference: "a kernel has no caller whose variables it could change: use an array",
    TuplePattern: "a launch passes no tuples: write a parameter for each item, or a vector",
}
_numbers = count()  # of definitions, in the order in which they are made


class Argument(NamedTuple):
    """A parameter: its name, and the type as its annotation says it."""

    label: str
    type: Any


class Signature(NamedTuple):
    """The parameters of a kernel or function."""

    args: list[Argument]
    has_unresolved_static_expressions: bool = False  # all have values when the code is hashed


class Definition:
    """A Python function of the kernel language: the common part of kernels and functions."""

    kind = ""  # "Kernel" or "Function"
    quiet = False  # whether differences from Python are not warned of
    untyped: Any = None  # the type of parameters without annotation, if they are allowed

    def __init__(self, func: Callable, frame: FrameType | None, name: str | None = None):
        self.source = Source.of(func, frame)
        self.func = func
        self.name = self.__name__ = name or func.__name__
        self.__qualname__, self.__module__, self.__doc__ = name or func.__qualname__, func.__module__, func.__doc__
        self._key = key_of(self.__qualname__)
        self.number = next(_numbers)
        self.warned: set[tuple] = set()  # warnings told before
        strings = any(isinstance(a, str) for a in func.__annotations__.values())
        self.frame_locals = surroundings(frame) if strings and frame else None

    def _join(self, module: Any) -> None:
        """Become part of the module that the option `module` of a decorator names."""
        self.module = chosen_module(module, self.func.__globals__, self.key)
        self.module.register(self)

    @property
    def key(self) -> str:
        """The name, qualified by the functions it is nested in, or what a program sets in its place."""
        return self._key

    @key.setter
    def key(self, name: str) -> None:
        self._key = name

    @property
    def module_name(self) -> str:
        """The Python module that defines it."""
        return self.__module__

    @cached_property
    def _parameters(self) -> list:
        problems = []
        try:
            found = parameters(self.func, self.frame_locals, self.untyped)
        except AnnotationError as e:
            problems = e.problems
        else:
            if isinstance(self, Kernel):
                problems = [
                    (p.name, f"`{p.name}`: {_NOT_OF_KERNELS[type(t)]}") for p, t in found if type(t) in _NOT_OF_KERNELS
                ]
            if not problems:
                if self.frame_locals is not None:  # a frame would keep the locals of all its callers alive
                    self.frame_locals = named_in(self.func.__annotations__.values(), self.frame_locals)
                return found
        raise compile_error(self.subject, [self.source.at_parameter(name, why) for name, why in problems])

    @property
    def subject(self) -> str:
        """The name in error messages."""
        return f"{type(self).__name__.lower()} `{self.name}`"

    @property
    def params(self) -> list[tuple[str, Type]]:
        """(name, type) of each parameter. Raises CompileError for missing and unknown annotations."""
        return [(p.name, t) for p, t in self._parameters]

    @property
    def adj(self) -> Signature:
        """The parameters as warp-lang tells them: `adj.args`, each with a `label` and the `type` of its annotation."""
        annotations = self.func.__annotations__
        names = [name for name, _ in self.params]
        types = [evaluate_for(annotations[name], self.func, self.frame_locals) for name in names]
        return Signature([Argument(name, t) for name, t in zip(names, types)])

    @property
    def defaults(self) -> dict[str, Any]:
        """Parameters that may be left out, with their values."""
        return {p.name: p.default for p, _ in self._parameters if p.default is not p.empty}

    def __reduce__(self) -> str:
        return self.__qualname__  # pickled by name, as functions are


class Kernel(Definition):
    """A kernel: launched over a grid of threads with `wp.launch`.

    Args:
        func: a Python function with annotated parameters.
        key: the name; the function's if left out.
        module: the `wp.Module` that it belongs to, or its name; that of the function if left out.
        options: as those of `@wp.kernel`.

    Attributes:
        name: the function's name.
        module: the `wp.Module` whose options it has.
        params: (name, type) of each parameter.
        overloads: of a generic kernel, its instances by the types of their parameters.
        parent: of an instance, the generic kernel; else None.
        lanes: how many threads share a SIMD register; None lets the compiler choose, 1 turns lanes off.
        enable_backward: whether gradients may be asked for; None follows `wp.config.enable_backward`.
        transform: of a derived kernel, how the compiler makes it of its `primal`; else empty.
    """

    kind = "Kernel"
    transform: tuple[Transform, ...] = ()

    def __init__(
        self,
        func: Callable,
        key: str | None = None,
        module: Any = None,
        options: Mapping[str, Any] | None = None,
        *,
        frame: FrameType | None = None,
    ):
        super().__init__(func, frame, key)
        self._begin()
        self.parent: Kernel | None = None
        self.options = kernel_options.checked(dict(options or {}))
        self.lanes: int | None = self.options.pop("lanes", None)
        self.enable_backward: bool | None = self.options.get("enable_backward")
        self._join(module)
        if module == "unique":
            self.module.options.chosen.update(self.options.pop("module_options", None) or {})

    def _begin(self) -> None:
        self._plan: Any = None  # what native code launches; the plan of the options in force
        self._plans: dict[Any, Any] = {}  # by options; launches/plans.py fills it
        self.overloads: dict[tuple[Type, ...], Kernel] = {}
        self._derived: dict[Transform, Kernel] = {}
        self._variants: dict[tuple[str, Any], Kernel] = {}  # by an option and its value

    @property
    def arg_types(self) -> dict[str, Type]:
        """Type of each parameter by name."""
        return dict(self.params)

    @property
    def subject(self) -> str:
        """The name in error messages."""
        return f"kernel `{self.name}`"

    # -- generic kernels ----------------------------------------------------------------------------------------

    @cached_property
    def is_generic(self) -> bool:
        """True if the type of a parameter is generic. Each combination of types gets an instance."""
        return any(inference.is_open(t) for _, t in self.params)

    def instance(self, types: Sequence[Type]) -> Kernel:
        """The kernel for these types, one for each parameter."""
        key = tuple(types)
        if key not in self.overloads:
            self.overloads.setdefault(key, KernelInstance(self, key))
        return self.overloads[key]

    def add_overload(self, arg_types: Sequence[Any] | Mapping[str, Any]) -> Kernel:
        """The instance of a generic kernel for argument types given as annotations: see `wp.overload`."""
        return self.instance(inference.explicit_types(self, arg_types))

    def get_overload(self, arg_types: Sequence[Any] | Mapping[str, Any]) -> Kernel | None:
        """The instance for these argument types, None if none was made yet."""
        return self.overloads.get(inference.explicit_types(self, arg_types)) if self.is_generic else None

    def infer_argument_types(self, args: Sequence[Any]) -> list[Any]:
        """The types that a launch with these arguments gives the parameters, as they are written in annotations.

        Raises:
            TypeError: an argument does not fit its parameter, or has no type.
        """
        return inference.annotations_of(inference.argument_types(self, args))

    # -- derived kernels ----------------------------------------------------------------------------------------

    @property
    def primal(self) -> Kernel:
        """The kernel that this one is derived from; the kernel itself if it is not derived."""
        return self

    def derive(self, transform: Transform) -> Kernel:
        """The kernel that a transform leads to."""
        if transform not in self._derived:
            self._derived.setdefault(transform, DerivedKernel(self, transform))
        return self._derived[transform]

    def with_serial(self, serial: bool) -> Kernel:
        """The kernel with another choice of whether its threads run one after the other."""
        return self._with("serial", serial)

    def for_tiled(self, ndim: int) -> Kernel:
        """The kernel as launches of so many dimensions run it whose last dimension is a block of threads."""
        return self._with("tiled", ndim)

    def _with(self, option: str, value: Any) -> Kernel:
        key = option, value
        if key not in self._variants:
            self._variants.setdefault(key, KernelVariant(self, option, value))
        return self._variants[key]

    # -- identity -----------------------------------------------------------------------------------------------

    @property
    def hash(self) -> bytes | None:
        """Equal for kernels that compile to the same code: 20 bytes, None while types are left open."""
        if self.is_generic:
            return None
        return bytes.fromhex(late("content_hash")(self))

    def get_mangled_name(self, *, kernel_hash: bytes | None = None) -> str:
        """The kernel's key and the start of its hash as one identifier. Raises ValueError for a generic kernel."""
        found = kernel_hash or self.hash
        if found is None:
            raise ValueError(
                f"kernel `{self.name}` is generic and has no name of its own: ask an overload, wp.overload(...)"
            )
        word = re.sub(r"\W", "_", self.key)
        return f"{word}_{found.hex()[:8]}"

    def __call__(self, *args, **kwargs):
        """Refuse, and say how a kernel is run."""
        raise TypeError(
            f"kernel `{self.name}` is not called but launched: wp.launch({self.name}, dim=..., inputs=[...])"
        )

    def __repr__(self) -> str:
        return f"<{self.subject.replace('`', '')}>"


class _KernelView(Kernel):
    """A kernel that has the source and the options of another one, with parameters and plans of its own."""

    def __init__(self, of: Kernel, parameters: Iterable[tuple[Parameter, Type]]):
        self._of = of
        self._parameters = list(parameters)
        self.is_generic = False
        self.__module__, self.__doc__ = of.__module__, of.__doc__  # the class has these, too
        self._begin()

    def __getattr__(self, name: str) -> Any:
        if name == "_of":  # not made yet
            raise AttributeError(name)
        return getattr(self._of, name)


class KernelInstance(_KernelView):
    """A generic kernel for certain types."""

    def __init__(self, of: Kernel, types: tuple[Type, ...]):
        super().__init__(of, ((p, t) for (p, _), t in zip(of._parameters, types)))
        self.parent = of

    @property
    def subject(self) -> str:
        """The name in error messages, with the types."""
        types = ", ".join(f"{name}: {spell(t)}" for name, t in self.params)
        return f"{self._of.subject} for ({types})"


class KernelVariant(_KernelView):
    """A kernel with another value of an option."""

    def __init__(self, of: Kernel, option: str, value: Any):
        super().__init__(of, of._parameters)
        self.options, self.is_generic = {**of.options, option: value}, of.is_generic


class DerivedKernel(_KernelView):
    """A kernel that a compile request derives from another one."""

    def __init__(self, of: Kernel, transform: Transform):
        super().__init__(of, transform.parameters(of._parameters))
        self.transform = (*of.transform, transform)

    @property
    def primal(self) -> Kernel:
        """The kernel as the user wrote it."""
        return self._of.primal

    @property
    def subject(self) -> str:
        """The name in error messages, with the transforms."""
        return subject_after(self.transform, self.primal.subject)


# Called when a function's name gets a new definition: kernels that call it mean something else from then on.
on_redefinition: list[Callable[[], None]] = []


class Function(Definition):
    """A function that kernels and other functions call; at Python scope it is a plain Python function.

    Functions defined one after the other under one name with different parameter types are overloads of each other.
    As an annotation, the class stands for a function that is known when the kernel compiles.

    Args:
        func: a Python function with annotated parameters.
        key: the name; the function's if left out.
        namespace: accepted for programs that set it, without effect.
        module: the `wp.Module` that it belongs to, or its name; that of the function if left out.

    >>> def double(x: float):
    ...     return 2.0 * x
    >>> wp.Function(double, key="twice")(1.5)
    3.0
    """

    __wc_type__ = Constant
    kind = "Function"

    def __init__(
        self,
        func: Callable,
        key: str | None = None,
        namespace: str = "",
        module: Any = None,
        *,
        frame: FrameType | None = None,
    ):
        super().__init__(func, frame, key)
        self._join(module)
        earlier = frame.f_locals.get(func.__name__) if frame else None
        same = isinstance(earlier, Function) and earlier.__qualname__ == self.__qualname__
        self._earlier: Function | None = earlier if same else None
        self.custom: list[Definition] = []  # gradients and replays of the user's, see lang/custom_gradients.py
        if same:
            for told in on_redefinition:
                told()

    @cached_property
    def overloads(self) -> list[Function]:
        """All functions under this name in the order in which a call tries them; of equal signatures, the latest.

        Those without open types come first, the latest before the earlier ones; the generic ones follow as defined.
        """
        found: dict[tuple, Function] = {}
        f: Function | None = self
        while f is not None:
            found.setdefault(tuple(t for _, t in f.params), f)
            f = f._earlier
        opened = [f for types, f in found.items() if any(map(inference.is_open, types))]
        return [f for f in found.values() if f not in opened] + opened[::-1]

    @property
    def customs(self) -> list[Definition]:
        """Gradients and replays that the user gave for this function or for overloads of it, the latest first."""
        earlier = self._earlier.customs if self._earlier else []
        return [*reversed(self.custom), *earlier]

    def __call__(self, *args, **kwargs):
        """Run it as the Python function it is, or the overload that takes the arguments.

        Raises:
            TypeError: none of several overloads takes them.
        """
        alone = self._earlier is None or len(self.overloads) == 1
        chosen = self if alone else inference.overload_for(self.overloads, args, kwargs)
        if chosen is None:
            raise inference.no_overload(self.name, args)
        return chosen.func(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<function {self.name}>"


def kernel(func: Callable | None = None, **options: Any) -> Any:
    """Decorator that makes a kernel of a typed Python function.

    Args:
        func: the function; absent when options are given.
        **options: `lanes` is the number of SIMD lanes to compile for: 1, 2, 4, 8, 16 or 32 (1 where threads diverge so
            much that lanes do not pay). `serial` says whether the threads of a CPU launch run one after the other, in
            the order of their indices. `enable_backward` says whether gradients may be asked for. `module_options` are
            those of `wp.set_module_options`, for this kernel alone. For GPUs: `launch_bounds` is the most threads of a
            block of a launch. It may be a pair of that and the least number of blocks that must fit into a
            multiprocessor. `cuda_max_registers` is the most registers of a thread, 16 to 255. `name` is the kernel's
            name in place of the function's. `module` is the module whose options count: a `wp.Module`, its name, or
            "unique" for one of its own. `grid_stride` and `entry_point_abi` are accepted for programs that set them,
            without effect.

    Returns:
        The `Kernel`.

    Raises:
        TypeError: an option that does not exist, or is no integer where it must be one.
        ValueError: less than 1 lane or more than 32; bounds or registers that no GPU has.

    >>> @wp.kernel
    ... def double(x: wp.array[float]):
    ...     i = wp.tid()
    ...     x[i] = 2.0 * x[i]
    >>> x = wp.ones(2, dtype=float)
    >>> wp.launch(double, dim=2, inputs=[x])
    >>> x.list()
    [2.0, 2.0]
    """
    name, module = options.pop("name", None), options.pop("module", None)
    kernel_options.check_name(name)
    kernel_options.checked(options)
    frame = sys._getframe(1)
    if func is None:
        return lambda f: Kernel(f, name, module, options, frame=frame)
    return Kernel(func, name, module, options, frame=frame)


def func(f: Callable | None = None, **options: Any) -> Any:
    """Decorator that makes a function callable from kernels; also written with call parentheses.

    Args:
        f: the function; its parameters are annotated with types.
        **options: `name` is the function's name in messages, `module` the `wp.Module` that it belongs to, or its name;
            others are accepted for programs that set them, without effect.

    Returns:
        The `Function`. Called from Python it is the Python function.

    >>> @wp.func
    ... def square(x: float):
    ...     return x * x
    >>> square(3.0)
    9.0
    """
    name, module = options.get("name"), options.get("module")
    kernel_options.check_name(name)
    frame = sys._getframe(1)
    if f is None:
        return lambda g: Function(g, name, module=module, frame=frame)
    return Function(f, name, module=module, frame=frame)


def constant(x: Any) -> Any:
    """Mark a value as a compile-time constant. Kernels capture constants by themselves; this changes nothing.

    Args:
        x: a number, vector, matrix, tuple or enum.

    Returns:
        `x`.

    >>> wp.constant(0.5)
    0.5
    """
    return x


def static(x: Any) -> Any:
    """In a kernel, `wp.static(expression)` is evaluated in Python when the kernel compiles. Here it returns `x`.

    Args:
        x: any expression of Python over module names, closure variables and constants.

    Returns:
        Its value, as if it had been written there.

    >>> sizes = {"small": 4}
    >>> @wp.kernel
    ... def fill(out: wp.array[int]):
    ...     out[wp.tid()] = wp.static(sizes["small"] * 2)
    >>> out = wp.zeros(1, dtype=int)
    >>> wp.launch(fill, dim=1, inputs=[out])
    >>> out.list()
    [8]
    """
    return x


def kernel_from_source(
    text: str,
    *,
    filename: str = "<kernel>",
    first_line: int = 1,
    name: str | None = None,
    namespace: dict[str, Any] | None = None,
) -> Kernel:
    """Make a kernel from the text of its module.

    Args:
        text: Python source defining a kernel, and whatever it needs.
        filename: how errors and tracebacks name the text.
        first_line: line number of the text's first line.
        name: which kernel to return; needed only where the text defines several.
        namespace: the global names the text sees; filled with what it defines.

    Returns:
        The kernel.

    Raises:
        CompileError: the text is not Python, or defines no such kernel.

    >>> text = '''
    ... import omni.warp_core as wp
    ... @wp.kernel
    ... def count(x: wp.array[int]):
    ...     x[wp.tid()] = wp.tid()
    ... '''
    >>> x = wp.zeros(3, dtype=int)
    >>> wp.launch(wp.kernel_from_source(text), dim=3, inputs=[x])
    >>> x.list()
    [0, 1, 2]
    """
    if not isinstance(text, str):
        raise TypeError(f"the text of a kernel is a str, not {type(text).__name__}")
    text = "\n" * (first_line - 1) + text.removeprefix("\ufeff")
    lines = split_lines(text)
    in_linecache = LinecacheEntry(filename, lines)
    space = namespace if namespace is not None else {}
    space.setdefault("__name__", filename)
    try:
        code = compile(parse(text, filename), filename, "exec")
    except SyntaxError as e:
        raise _syntax_error(e, filename, lines) from None
    except (RecursionError, MemoryError):
        raise CompileError(filename, [Diagnostic("syntax", "the text is nested too deeply for Python")]) from None
    except ValueError as e:  # null characters, halves of characters
        raise CompileError(filename, [Diagnostic("syntax", f"the text is not Python source: {e}")]) from None
    exec(code, space)
    defined = [v for v in space.values() if isinstance(v, Definition) and v.source.filename == filename]
    for definition in defined:
        definition.source.in_linecache = in_linecache
    kernels = {v.name: v for v in defined if isinstance(v, Kernel)}
    if name is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    if name in kernels:
        return kernels[name]
    wanted = f"no kernel `{name}`" if name else f"{len(kernels)} kernels instead of one"
    found = f"found: {', '.join(kernels)}" if kernels else "decorate a function with @wp.kernel"
    raise CompileError(f"{filename}", [Diagnostic("no-kernel", f"the text defines {wanted}", help=found)])


def _syntax_error(e: SyntaxError, filename: str, lines: list[str]) -> CompileError:
    line = e.lineno or 1
    text = lines[line - 1] if line <= len(lines) else ""
    col = len(text[: max(0, (e.offset or 1) - 1)].encode())
    end = len(text[: max(0, (e.end_offset or 0) - 1)].encode()) if e.end_lineno == line else col + 1
    place = Place(Span(filename, line, col, line, max(end, col + 1)), text)
    return CompileError(filename, [Diagnostic("syntax", e.msg, place)])
