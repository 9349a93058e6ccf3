"""The builtins of the language: overload sets written in the kernel language, loaded when first named.

`lib/builtin_index.py` maps a builtin's name to its library module, so that names can be listed, completed and hashed
without imports. `get` imports the module of one name. A library module defines builtins with the decorator:

    @builtin
    def dot(a: Vec[N, T], b: Vec[N, T]) -> T: ...

An `Intrinsic` is a name that the front end handles itself because it needs more than values (`tid`, `printf`,
`atomic_add`, ...). `INTRINSICS` has one row for each, which other rooms complete.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any

from .. import _native
from ..late_bound import late
from .annotations import parameters
from .errors import nearest
from .generics import spell_pattern
from .source import Source

_INDEX_MODULE = "omni.warp_core.lib.builtin_index"
# What intrinsics do, for readers; most processes never load it.
_DESCRIPTIONS = tuple(
    f"omni.warp_core.lang.intrinsics.{name}_functions"
    for name in (
        *("general", "access", "block", "operator", "tile", "tile_access", "tile_view", "tile_update"),
        *("tile_algorithm", "tile_query"),
    )
)
_builtins: dict[str, Builtin] = {}


class Overload:
    """One signature of a builtin and its body. Everything is computed on first use.

    A `cold` one is reached rarely and is called rather than inlined.
    """

    def __init__(self, name: str, func: Callable, cold: bool = False):
        self.name, self.func, self.cold = name, func, cold

    @cached_property
    def source(self) -> Source:
        """The text of the body."""
        return Source.of(self.func)

    @cached_property
    def params(self) -> list[tuple[str, Any, Any]]:
        """(name, type or pattern, default or inspect.Parameter.empty) of each parameter."""
        return [(p.name, t, p.default) for p, t in parameters(self.func)]

    def __repr__(self) -> str:
        parts = []
        for name, pattern, default in self.params:
            tail = "" if default is inspect.Parameter.empty else f" = {getattr(default, '__name__', default)!s}"
            parts.append(f"{name}: {spell_pattern(pattern)}{tail}")
        return f"{self.name}({', '.join(parts)})"


class EagerCall(_native.Dispatcher):
    """A callable at Python scope: native code runs calls that are compiled, these methods handle the others."""

    name: str

    def _interpret(self, *args: Any, **kwargs: Any) -> Any:
        return late("call_builtin")(self, args, kwargs)

    def _compile(self, args: tuple, calls: int) -> int:
        return late("compile_builtin")(self, args, calls)

    def __repr__(self) -> str:
        return f"<builtin {self.name}>"


class Builtin(EagerCall):
    """A function of the library: overloads tried in the order they were written.

    One that `updates` its first argument returns the new value of that argument after its result. In a kernel the
    local passed there takes it; any other argument, and a call at Python scope, leaves the argument as it was.
    """

    def __init__(self, name: str):
        self.name = self.__name__ = name
        self.overloads: list[Overload] = []
        self.updates = False
        self.references = False  # whether an overload has `ref[T]` parameters
        self.__doc__ = None


class Intrinsic(EagerCall):
    """A name that the front end itself understands. Its docstring and parameters are in `_DESCRIPTIONS`.

    Attributes:
        lower: lowers a call in a kernel; modules of `front` give it.
        run: runs a call at Python scope or in an interpreted kernel; modules of `eager` give it. None where the front
            end lowers such a call, too, as it takes values alone.
    """

    lower: Callable[..., Any]

    def __init__(self, name: str):
        self.name = self.__name__ = name
        self.run: Callable[..., Any] | None = None

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self.described.__doc__

    @property
    def described(self) -> Callable:
        """The function that documents it."""
        modules = (importlib.import_module(name) for name in _DESCRIPTIONS)
        return next(vars(module)[self.name] for module in modules if self.name in vars(module))

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.described)


class TypeIntrinsic(Intrinsic):  # noqa: D101 - a docstring would hide that of the function
    __doc__ = Intrinsic.__dict__["__doc__"]

    def __getitem__(self, item: Any) -> Any:
        """Return the type that a subscript names in annotations: `wp.tile[float, 4, 8]`."""
        return late("tile_type")(item)


def builtin(func: Callable | None = None, *, name: str = "", cold: bool = False, updates: bool = False) -> Any:
    """Decorator: add `func` to the overload set of its name (or of `name`) and return the set.

    `cold` is described at `Overload`, `updates` at `Builtin`.

    Raises:
        ValueError: the name is private, and another module has a builtin of that name.
    """
    if func is None:
        return lambda f: builtin(f, name=name, cold=cold, updates=updates)
    key = name or func.__name__
    found = _builtins.setdefault(key, Builtin(key))
    _check_private(found, func)
    found.updates |= updates
    found.references |= any(str(a).startswith("ref[") for a in func.__annotations__.values())
    found.overloads.append(Overload(key, func, cold))
    if found.__doc__ is None:
        found.__doc__ = func.__doc__
    return found


def _check_private(found: Builtin, func: Callable) -> None:
    """Raise ValueError if `func` would add to a private builtin of another module, as all modules share one table."""
    modules = {overload.func.__module__ for overload in found.overloads} - {func.__module__}
    if found.name.startswith("_") and modules:
        raise ValueError(
            f"{func.__module__}: the private builtin `{found.name}` is defined in {modules.pop()} already. The modules "
            "of the library share one table of names: give this function another name"
        )


GRADIENTS: dict[str, Builtin] = {}


def gradient(func: Callable) -> Builtin:
    """Decorator: `func` is the gradient of the builtin `name`; lib/gradients.py says how.

    It is called `<name>_gradient`, and `<name>_gradient_<type>` for further types.
    """
    name = func.__name__.partition("_gradient")[0]
    found = GRADIENTS.setdefault(name, Builtin(f"{name}_gradient"))
    found.overloads.append(Overload(func.__name__, func))
    return found


STAND_INS: dict[str, Builtin] = {}
TANGENTS: dict[str, Builtin] = {}
ARRAY_FORMS: dict[str, Builtin] = {}


def surrogate(func: Callable) -> Builtin:
    """Decorator: code of derivatives calls `func`, called `<name>_apart`, for the builtin `name`.

    It takes the same arguments. To the results it adds others, which its gradient and its tangent are given too, ending
    with two truth values: whether the results are not those of `name`, and one of its own. Derivatives of derivatives
    call its own stand-in.
    """
    return _register_rule(STAND_INS, func, "_apart")


def tangent(func: Callable) -> Builtin:
    """Decorator for the tangent of a surrogate. `func`, called `<name>_tangent`, takes the arguments of the surrogate
    `name`, its results and the tangents of floating point arguments. It returns the tangents of the results that the
    surrogate shares with the function it replaces.
    """
    return _register_rule(TANGENTS, func, "_tangent")


def array_form(func: Callable) -> Builtin:
    """Decorator: where a derivative is wanted, kernels call `func`, called `<name>_of_array`, for the builtin `name`.

    Its last argument is an array, in place of the memory of a structure such as a volume.
    """
    return _register_rule(ARRAY_FORMS, func, "_of_array")


def _register_rule(table: dict[str, Builtin], func: Callable, suffix: str) -> Builtin:
    name = func.__name__
    found = table.setdefault(name.removesuffix(suffix), Builtin(name))
    found.overloads.append(Overload(name, func))
    return found


def index() -> dict[str, str]:
    """Name of builtin -> name of its module below `lib`, without importing any of them."""
    return importlib.import_module(_INDEX_MODULE).INDEX


def is_builtin(name: str) -> bool:
    """True if the library has a function of this name. Imports no library module."""
    return name in _builtins or name in index()


def get(name: str) -> Builtin | None:
    """The builtin called `name`, its module imported, or None."""
    module = index().get(name)
    if module is not None:
        importlib.import_module(f"omni.warp_core.lib.{module}")
    return _builtins.get(name)


def suggestions(name: str) -> tuple[str, ...]:
    """Builtins with a name like `name`."""
    names = (*index(), *_builtins, *INTRINSICS)
    return nearest(name, [n for n in names if not n.startswith("_")])


_BLOCKS = (
    "block_dim thread_index block_index lane shared_array syncthreads block_range "
    "shuffle shuffle_up shuffle_down shuffle_xor ballot"
)
_TILES = (
    "tile untile tile_zeros tile_ones tile_full tile_arange tile_astype tile_map tile_sum tile_reduce tile_min "
    "tile_max tile_argmin tile_argmax tile_dot tile_randi tile_randf tile_from_thread"
)
_TILE_PLACES = (
    "tile_load tile_store "
    "tile_atomic_add tile_load_indexed tile_store_indexed tile_atomic_add_indexed tile_extract tile_view "
    "tile_transpose tile_broadcast tile_reshape tile_squeeze tile_empty tile_assign tile_axpy tile_diag_add "
    "tile_slice_indexed tile_scatter_add tile_scatter_masked tile_add_inplace tile_sub_inplace tile_bit_and_inplace "
    "tile_bit_or_inplace tile_bit_xor_inplace"
)
_TILE_MATRICES = (
    "tile_matmul tile_cholesky tile_cholesky_inplace tile_cholesky_solve tile_cholesky_solve_inplace "
    "tile_lower_solve tile_lower_solve_inplace tile_upper_solve tile_upper_solve_inplace"
)
_TILE_SEQUENCES = (
    "tile_fft tile_ifft tile_sort tile_scan_inclusive tile_scan_exclusive tile_scan_max_inclusive "
    "tile_scan_min_inclusive tile_stack tile_stack_push tile_stack_pop tile_stack_clear tile_stack_count"
)
_TILE_QUERIES = (
    "tile_bvh_query_aabb tile_bvh_query_ray tile_bvh_query_next tile_mesh_query_aabb tile_mesh_query_aabb_next "
    "tile_query_valid bvh_query_aabb_tiled bvh_query_ray_tiled bvh_query_next_tiled mesh_query_aabb_tiled "
    "mesh_query_aabb_next_tiled"
)
TILE_BUILTINS = frozenset(f"{_TILES} {_TILE_PLACES} {_TILE_MATRICES} {_TILE_SEQUENCES} {_TILE_QUERIES}".split())
# What a block does once: kernels that use one of these index blocks where a launch has a dimension for each block.
SHARED_BUILTINS = TILE_BUILTINS | {"block_range"}
BLOCK_BUILTINS = TILE_BUILTINS | {*_BLOCKS.split()}  # what makes a kernel work in blocks of threads
_INTRINSIC_GROUPS = (
    "tid printf print where select static constant cast len expect_eq expect_neq expect_near",
    _BLOCKS,
    *(_TILES, _TILE_PLACES, _TILE_MATRICES, _TILE_SEQUENCES, _TILE_QUERIES),
    "load store array_store view address address_of",
    "atomic_add atomic_sub atomic_min atomic_max atomic_and atomic_or atomic_xor atomic_exch atomic_cas",
    "vector matrix quaternion transformation identity matrix_from_rows matrix_from_cols",
    "add sub mul div mod floordiv neg pos unot invert bit_and bit_or bit_xor lshift rshift",
)
INTRINSICS: dict[str, Intrinsic] = {name: Intrinsic(name) for group in _INTRINSIC_GROUPS for name in group.split()}
INTRINSICS["tile"] = TypeIntrinsic("tile")
LOCAL_ZEROS = Intrinsic("zeros")  # `wp.zeros` in a kernel makes a local array; elsewhere it is a function
LOCAL_VIEW = Intrinsic("array")  # `wp.array(ptr=a.ptr, ...)` in a kernel is a view of a local array
_OF_LOCALS = {i.name: i for i in (LOCAL_ZEROS, LOCAL_VIEW)}


def intrinsic(name: str) -> Intrinsic:
    """Return the row of an intrinsic."""
    return _OF_LOCALS.get(name) or INTRINSICS[name]


def public(name: str) -> Builtin | Intrinsic | None:
    """Return the object `wp.<name>` if it is a function of the kernel language."""
    return INTRINSICS.get(name) or get(name)
