"""`wp.map`: a function applied to the elements of arrays, as a kernel that is written for the types of its arguments.

A `Mapping` belongs to one function and keeps a kernel for each combination of argument types and broadcast dimensions.
Start with `Mapping.run`; `mapping_of` finds the one of a function, also of a lambda that is made anew for every call.
"""

from __future__ import annotations

import itertools
import linecache
import re
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..arrays import layouts
from ..arrays.array import array
from ..arrays.dtypes import Element
from ..arrays.dtypes import element as element_of_type
from ..arrays.indexed_array import indexedarray
from ..devices.device import Device, get_device
from ..front.content_hash import PACKAGE, digest, names_of
from ..front.lower import lower_function
from ..lang.array_structs.array_struct_types import indexed, indexed_array
from ..lang.errors import CompileError
from ..lang.inference import type_of_value
from ..lang.kernel import Function, Kernel, kernel_from_source
from ..lang.launch_constants import DEFAULT_BLOCK_DIM
from ..lang.python_function import PythonFunction
from ..lang.registry import Builtin, Intrinsic
from ..lang.types import BOOL, F32, I32, Array, Scalar, Type, element
from ..launches.launch import launch
from ..launches.plans import lock

__all__ = ["map"]

Shape = tuple[int, ...]
_ARRAYS = (array, indexedarray)
_INDICES = ("_i", "_j", "_k", "_l")
_NUMBERS = {bool: BOOL, int: I32, float: F32}  # what bare numbers are by themselves
_WRAPPER = "<map>"
MAX_CACHED_MAPPINGS = 256  # functions whose mappings are kept


def map(
    func: Callable,
    *inputs: Any,
    out: array | Sequence[array] | None = None,
    return_kernel: bool = False,
    block_dim: int | None = None,
    device: Device | str | None = None,
) -> Any:
    """Apply a function to the elements of arrays.

    Args:
        func: A kernel function, a builtin, a type, or a Python function or lambda that is written like a kernel
            function; its parameters without annotation take every type.
        *inputs: One argument for each of its parameters: arrays of up to 4 dimensions, whose shapes are broadcast as
            NumPy does, or values that are the same for all elements. Bare Python numbers are int32 or float32 if the
            function takes them so, else of the scalar type of the first array.
        out: The array to write, or one for each result; made if left out.
        return_kernel: Return the kernel instead of running it; its parameters are the inputs, then the results.
        block_dim: How many threads a block has on a GPU; of no effect on the CPU.
        device: Where to run; by default where the first array is.

    Returns:
        The array of results, a list of them if the function returns several, or the kernel.

    Raises:
        TypeError: The function does not take these arguments, or `out` does not fit its results.
        ValueError: The shapes do not fit each other, or no input is an array.
        CompileError: The function has mistakes.

    >>> import omni.warp_core as wp
    >>> a = wp.array([1.0, 2.0, 3.0], dtype=float)
    >>> wp.map(lambda x, y: x + 2.0 * y, a, 10.0).list()
    [21.0, 22.0, 23.0]
    >>> wp.map(wp.clamp, a, 1.5, 2.5, out=a).list()
    [1.5, 2.0, 2.5]
    """
    where = None if device is None else get_device(device)
    blocks = DEFAULT_BLOCK_DIM if block_dim is None else block_dim
    return mapping_of(func, sys._getframe(1)).run(inputs, out, return_kernel, where, blocks)


class Mapped(NamedTuple):
    """A mapping for given types: the kernel and the elements of the arrays it writes."""

    kernel: Kernel
    results: tuple[Element, ...]


class Mapping:
    """One function to be mapped.

    Args:
        name: what errors call it.
        callee: the function, as kernels can call it.
        call: for operators, the expression with arguments in place of `{0}`, `{1}`.
        params: names of its parameters, if they are known.
        required: how many of them have no default.
    """

    def __init__(
        self, name: str, callee: Any = None, call: str = "", params: Sequence[str] | None = None, required: int = 0
    ):
        self.name, self.callee, self.call, self.params, self.required = name, callee, call, params, required
        self._mapped: dict[tuple, Mapped] = {}

    def run(
        self,
        inputs: Sequence[Any],
        out: Any = None,
        return_kernel: bool = False,
        device: Device | None = None,
        block_dim: int = DEFAULT_BLOCK_DIM,
    ) -> Any:
        """Apply the function; see `map`."""
        if np.ndarray in (types := [type(x) for x in inputs]):
            inputs = [array(x, copy=False) if t is np.ndarray else x for x, t in zip(inputs, types)]
        shape, differ, grad = None, False, False
        key: list[Any] = []
        for x in inputs:
            if isinstance(x, _ARRAYS):
                plain = _plain(x)
                key.append((plain.dtype_id, plain.ndim, plain is x))
                differ = differ or (shape is not None and shape != x.shape)
                if shape is None and device is None:
                    device = plain.device
                shape = x.shape
                grad = grad or plain._grad is not None
            else:
                key.append(type(x))
        if shape is None or device is None:
            raise ValueError(f"wp.map of `{self.name}` needs at least one array among its arguments")
        masks: tuple = ()
        through: tuple[bool, ...] = ()  # which results are written through index arrays
        if differ:
            shape, masks = self._broadcast(inputs)
            key.append(masks)
        given = None if out is None else list(out) if isinstance(out, (list, tuple)) else [out]
        if given is not None and any(isinstance(x, indexedarray) for x in given):
            key.append(through := tuple(isinstance(x, indexedarray) for x in given))
        found = self._mapped.get(whole := tuple(key))
        if found is None:
            with lock:
                if whole not in self._mapped:
                    self._mapped[whole] = self._make(inputs, shape, masks, through)
                found = self._mapped[whole]
        if return_kernel:
            return found.kernel
        if given is None:
            outputs = self._allocate(found, shape, grad, device)
        else:
            outputs = self._checked(found, shape, given)
            inputs = [_apart(x, outputs) if isinstance(x, _ARRAYS) else x for x in inputs]
        launch(found.kernel, shape, (*inputs, *outputs), device=device, block_dim=block_dim)
        return outputs[0] if len(outputs) == 1 else list(outputs)

    # -- results ------------------------------------------------------------------------------------------------

    @staticmethod
    def _allocate(found: Mapped, shape: Shape, grad: bool, device: Device) -> list[array]:
        made = [array._empty(e, shape, device) for e in found.results]
        if grad:
            for x, e in zip(made, found.results):
                scalar = element(e.type)
                x.requires_grad = isinstance(scalar, Scalar) and scalar.is_float
        return made

    def _checked(self, found: Mapped, shape: Shape, given: list[Any]) -> list[Any]:
        if len(given) != len(found.results):
            results = ", ".join(e.name for e in found.results)
            raise TypeError(f"wp.map of `{self.name}`: it returns ({results}), but out has {len(given)} arrays")
        for x, e in zip(given, found.results):
            if not isinstance(x, _ARRAYS):
                raise TypeError(f"wp.map of `{self.name}`: out must be an array of {e.name}, got {type(x).__name__}")
            if _plain(x).dtype_id != e.id:
                given_type = _plain(x)._require_element().name
                raise TypeError(f"wp.map of `{self.name}`: it returns {e.name}, out is an array of {given_type}")
            if x.shape != shape:
                raise TypeError(f"wp.map of `{self.name}`: its results have shape {shape}, out has shape {x.shape}")
        return given

    # -- shapes -------------------------------------------------------------------------------------------------

    def _broadcast(self, inputs: Sequence[Any]) -> tuple[Shape, tuple]:
        """The shape of the results, and the mask of each input."""
        found = _broadcast(tuple(x.shape if isinstance(x, _ARRAYS) else () for x in inputs))
        if found is None:
            shapes = ", ".join(str(x.shape) for x in inputs if isinstance(x, _ARRAYS))
            raise ValueError(f"wp.map of `{self.name}`: the shapes {shapes} cannot be broadcast together")
        return found

    # -- kernels ------------------------------------------------------------------------------------------------

    def _make(self, inputs: Sequence[Any], shape: Shape, masks: tuple, through: tuple[bool, ...]) -> Mapped:
        names = self._parameter_names(len(inputs))
        types, results = self._typed(names, inputs)
        indices = ", ".join(_INDICES[: len(shape)])
        cells = [_cell(n, x, m, len(shape)) for n, x, m in itertools.zip_longest(names, inputs, masks)]
        outs = ["out"] if len(results) == 1 and "out" not in names else [f"_out{i}" for i in range(len(results))]
        signature = ", ".join(f"{n}: _t{i}" for i, n in enumerate([*names, *outs]))
        text = (
            f"@_wp.kernel\ndef map_{_identifier(self.name)}({signature}):\n    {indices} = _wp.tid()\n"
            f"    {', '.join(f'{o}[{indices}]' for o in outs)} = {self._called(cells)}\n"
        )
        arrays = [Array(t, len(shape)) for t in results]
        every = [*types, *(indexed(t) if i else t for t, i in itertools.zip_longest(arrays, through[: len(arrays)]))]
        space = {"_wp": sys.modules[PACKAGE], "_f": self.callee} | {f"_t{i}": t for i, t in enumerate(every)}
        made = kernel_from_source(text, filename=f"<map of {self.name}>", namespace=space)
        return Mapped(made, tuple(element_of_type(t) for t in results))

    def _parameter_names(self, count: int) -> list[str]:
        if self.params is None:
            return [f"x{i}" for i in range(count)]
        if not self.required <= count <= len(self.params):
            takes = f"{len(self.params)} arguments ({', '.join(self.params)})"
            raise TypeError(f"wp.map of `{self.name}`: it takes {takes}, got {count}")
        return [f"x{i}_" if n.startswith("_") else n for i, n in enumerate(self.params[:count])]  # ours start so

    def _called(self, args: Sequence[str]) -> str:
        return self.call.format(*args) if self.call else f"_f({', '.join(args)})"

    def _typed(self, names: list[str], inputs: Sequence[Any]) -> tuple[list[Type], tuple[Type, ...]]:
        """The types of the arguments and of the results. Bare numbers adapt to the first array if they have to."""
        own = [self._type(n, x) for n, x in zip(names, inputs)]
        scalar = next(element(_cell_type(t)) for t, x in zip(own, inputs) if isinstance(x, _ARRAYS))
        adapted = [_adapted(t, scalar, x) for t, x in zip(own, inputs)]
        try:
            return own, self._results(names, [_cell_type(t) for t in own])
        except CompileError as why:
            if adapted != own:
                try:
                    return adapted, self._results(names, [_cell_type(t) for t in adapted])
                except CompileError:
                    pass  # the report is about the types that the numbers have by themselves
            raise self._misfit(why) from None

    def _type(self, name: str, x: Any) -> Type:
        found = _NUMBERS.get(type(x)) or type_of_value(x)
        if found is None:
            raise TypeError(f"wp.map of `{self.name}`: a kernel cannot take a {type(x).__name__} (argument `{name}`)")
        return found

    def _results(self, names: list[str], types: list[Type]) -> tuple[Type, ...]:
        """Return the result types of the function for these argument types. Raise CompileError if it does not accept
        them.
        """
        text = f"def _mapped({', '.join(names)}):\n    return {self._called(names)}\n"
        linecache.cache[_WRAPPER] = (len(text), None, text.splitlines(True), _WRAPPER)
        space = {"_f": self.callee}
        exec(compile(text, _WRAPPER, "exec"), space)
        wrapper = _Wrapper(space["_mapped"], self.name)
        results = lower_function(wrapper, tuple(types)).results
        if not results or any(isinstance(t, Array) for t in results):
            raise TypeError(f"wp.map of `{self.name}`: it must return a value for each array of results")
        return results

    def _misfit(self, why: CompileError) -> Exception:
        """The report of a call that does not fit is about our text: told in words. Others are about the user's."""
        first = why.diagnostics[0]
        if first.place is None or first.place.span.file != _WRAPPER:
            return why
        forms = "".join(f"\n    {c}" for c in first.candidates)
        helps = f"; {first.help}" if first.help else ""
        if first.code == "type-mismatch":  # the help is about values in kernels
            helps = "; convert an array by a type, such as wp.map(wp.float32, a)"
        return TypeError(f"wp.map of `{self.name}`: {first.message}{helps}{forms}")


class _Wrapper(PythonFunction):
    """The function that only calls the mapped one, lowered to know its results."""

    quiet = True  # the kernel warns

    def __init__(self, func: Callable, mapped: str):
        super().__init__(func)
        self._mapped_name = mapped

    @property
    def subject(self) -> str:
        """The name in error messages."""
        return f"wp.map of `{self._mapped_name}`"


def _cell_type(t: Type) -> Type:
    """Return the type in which the function gets an argument of this type."""
    found = t if isinstance(t, Array) else indexed_array(t)
    return t if found is None else found.dtype


def _adapted(t: Type, scalar: Any, x: Any) -> Type:
    """The type of an argument where a bare number takes that of the arrays."""
    if type(x) not in (int, float) or not isinstance(scalar, Scalar) or scalar is BOOL:
        return t
    return scalar if scalar.is_float or type(x) is int else t


def _cell(name: str, x: Any, mask: tuple[bool, ...] | None, ndim: int) -> str:
    """The argument of one call: an element of an array, or a value."""
    if not isinstance(x, _ARRAYS):
        return name
    indices = _INDICES[ndim - x.ndim : ndim]
    return f"{name}[{', '.join('0' if m else i for i, m in itertools.zip_longest(indices, mask or ()))}]"


@lru_cache(maxsize=1024)
def _broadcast(shapes: tuple[Shape, ...]) -> tuple[Shape, tuple[tuple[bool, ...], ...]] | None:
    """The shape that all of these broadcast to, and which dimensions of each are stretched; None if they do not."""
    aligned = list(itertools.zip_longest(*(s[::-1] for s in shapes), fillvalue=1))[::-1]
    whole = tuple(next((n for n in extents if n != 1), 1) for extents in aligned)
    if any(n not in (1, m) for extents, m in zip(aligned, whole) for n in extents):
        return None
    return whole, tuple(tuple(n != m for n, m in zip(s, whole[len(whole) - len(s) :])) for s in shapes)


def _apart(x: Any, outputs: Sequence[Any]) -> Any:
    """An input, or a copy of it where a thread could write an element of it before another one reads it."""
    for out in outputs:
        if x is out or not layouts.may_share_memory(_plain(x), _plain(out)):
            continue
        if isinstance(x, indexedarray):
            return indexedarray(_plain(x)._copied(), x.indices[: x.ndim])
        if isinstance(out, indexedarray) or (x._address, x.shape, x.strides) != (out._address, out.shape, out.strides):
            return x._copied()
    return x


def _plain(x: Any) -> array:
    """The array itself, without index arrays."""
    return x if isinstance(x, array) else x._data()


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


# -- the mapping of a function ----------------------------------------------------------------------------------------

_of_objects: dict[Any, Mapping] = {}  # by function of the kernel language, builtin or type
_of_meanings: dict[Any, Mapping] = {}  # of Python functions, which mean something else when what they name changes


def mapping_of(func: Any, frame: FrameType | None = None) -> Mapping:
    """The mapping of a function that was handed over in `frame`.

    Raises:
        TypeError: it is no function that kernels could call.
    """
    if isinstance(func, FunctionType):
        return _of_python(func, frame)
    found = _of_objects.get(func)
    if found is None:
        _keep(_of_objects, func, found := _of_object(func))
    return found


def _keep(table: dict[Any, Mapping], key: Any, mapping: Mapping) -> None:
    with lock:
        if len(table) >= MAX_CACHED_MAPPINGS:
            del table[next(iter(table))]
        table[key] = mapping


def _of_object(func: Any) -> Mapping:
    if isinstance(func, Function):
        return _of_function(func)
    if isinstance(func, Kernel) or not callable(func):
        what = f"kernel `{func.name}`" if isinstance(func, Kernel) else type(func).__name__
        raise TypeError(f"wp.map takes a function, got {what}")
    name = getattr(func, "name", None) or getattr(func, "__name__", None)
    if name is None:
        kind = type(func).__name__
        raise TypeError(f"wp.map takes a function, got an object of {kind}: write a lambda that calls it")
    return Mapping(name, func)


def _of_function(func: Function) -> Mapping:
    if len(func.overloads) > 1:
        return Mapping(func.name, func)
    names = [name for name, _ in func.params]
    return Mapping(func.name, func, params=names, required=len(names) - len(func.defaults))


def _of_python(func: FunctionType, frame: FrameType | None) -> Mapping:
    """The mapping that an equal function had before, as a lambda inside a loop does, or a new one."""
    plain = None
    key: Any = _meaning(func)
    if key is None:
        plain = PythonFunction(func, frame)
        key = digest(plain)
    found = _of_meanings.get(key)
    if found is None:
        _keep(_of_meanings, key, found := _of_function(plain or PythonFunction(func, frame)))
    return found


def _meaning(func: FunctionType) -> tuple | None:
    """The code and all that it captures, equal for equal functions. None if something captured may change unseen."""
    names = names_of(func.__code__)
    try:
        values = [c.cell_contents for c in func.__closure__ or ()]
    except ValueError:  # a name that has no value yet
        return None
    values += [*(func.__globals__[n] for n in names if n in func.__globals__), *(func.__defaults__ or ())]
    modules = [v for v in values if isinstance(v, ModuleType)]
    members = [vars(m)[n] for m in modules if m.__name__ != PACKAGE for n in names if n in vars(m)]
    parts = [(ModuleType, v) if isinstance(v, ModuleType) else _frozen(v) for v in values]
    parts += [_frozen(v) for v in members]
    return None if None in parts or func.__kwdefaults__ else (func.__code__, *parts)


def _frozen(x: Any) -> tuple | None:
    if x is None or type(x) in (bool, int, float, str):
        return type(x), repr(x)
    if isinstance(x, (Function, Builtin, Intrinsic, BuiltinFunctionType)):
        return type(x), x
    return (type, x) if isinstance(x, type) and isinstance(getattr(x, "__wc_type__", None), Type) else None
