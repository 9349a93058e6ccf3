# Written by `python -m tools.docs` from the source of the package; edit that, or tools/stubs/head.pyi.
# Of overloads that fit the first is taken, as in the library.
# mypy: disable-error-code="overload-overlap, overload-cannot-match"
import builtins
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Generic, SupportsFloat, SupportsIndex, SupportsInt
import numpy as np
from typing_extensions import ParamSpec, Self, TypeVar
from . import autograd as autograd
from . import config as config
from . import fem as fem
from . import geometry as geometry
from . import jax_experimental as jax_experimental
from . import nodes as nodes
from . import optim as optim
from . import render as render
from . import sparse as sparse
from . import studio as studio
from . import types as types
from . import usd as usd
from . import utils as utils
__version__: str
_MODULES: tuple[str, ...]
_SAME: tuple[str, ...]
bool = builtins.bool
int32 = builtins.int
float32 = builtins.float
_L = TypeVar('_L')
_S = TypeVar('_S')
_Number = SupportsFloat | SupportsInt | SupportsIndex

class _Scalar(Generic[_L]):
    value: _L

    def __init__(self, value: _Number=0) -> None:
        ...

    def __float__(self) -> float:
        ...

    def __int__(self) -> int:
        ...

    def __bool__(self) -> builtins.bool:
        ...

    def __eq__(self, other: object) -> builtins.bool:
        ...

    def __hash__(self) -> int:
        ...

    def __lt__(self, other: Self | _L) -> builtins.bool:
        ...

    def __le__(self, other: Self | _L) -> builtins.bool:
        ...

    def __gt__(self, other: Self | _L) -> builtins.bool:
        ...

    def __ge__(self, other: Self | _L) -> builtins.bool:
        ...

    def __add__(self, other: Self | _L) -> Self:
        ...

    def __radd__(self, other: _L) -> Self:
        ...

    def __sub__(self, other: Self | _L) -> Self:
        ...

    def __rsub__(self, other: _L) -> Self:
        ...

    def __mul__(self, other: Self | _L) -> Self:
        ...

    def __rmul__(self, other: _L) -> Self:
        ...

    def __truediv__(self, other: Self | _L) -> Self:
        ...

    def __rtruediv__(self, other: _L) -> Self:
        ...

    def __floordiv__(self, other: Self | _L) -> Self:
        ...

    def __rfloordiv__(self, other: _L) -> Self:
        ...

    def __mod__(self, other: Self | _L) -> Self:
        ...

    def __rmod__(self, other: _L) -> Self:
        ...

    def __pow__(self, other: Self | _L) -> Self:
        ...

    def __rpow__(self, other: _L) -> Self:
        ...

    def __neg__(self) -> Self:
        ...

    def __pos__(self) -> Self:
        ...

    def __abs__(self) -> Self:
        ...

    def __round__(self, ndigits: int | None=None) -> Self:
        ...

class _Integer(_Scalar[int]):

    def __index__(self) -> int:
        ...

    def __and__(self, other: Self | int) -> Self:
        ...

    def __rand__(self, other: int) -> Self:
        ...

    def __or__(self, other: Self | int) -> Self:
        ...

    def __ror__(self, other: int) -> Self:
        ...

    def __xor__(self, other: Self | int) -> Self:
        ...

    def __rxor__(self, other: int) -> Self:
        ...

    def __lshift__(self, other: Self | int) -> Self:
        ...

    def __rlshift__(self, other: int) -> Self:
        ...

    def __rshift__(self, other: Self | int) -> Self:
        ...

    def __rrshift__(self, other: int) -> Self:
        ...

    def __invert__(self) -> Self:
        ...

class _Float(_Scalar[float]):
    ...
_Numbers = Sequence[Any] | np.ndarray[Any, Any] | _Components[Any, Any]

class _Components(Generic[_S, _L]):

    @classmethod
    def from_ptr(cls, ptr: int) -> Self:
        ...

    @classmethod
    def from_buffer(cls, source: Any, offset: int=0) -> Self:
        ...

    @classmethod
    def from_buffer_copy(cls, source: Any, offset: int=0) -> Self:
        ...

    def to_list(self) -> list[Any]:
        ...

    def __len__(self) -> int:
        ...

    def __eq__(self, other: object) -> builtins.bool:
        ...

    def __truediv__(self, other: _S | _L) -> Self:
        ...

    def __rtruediv__(self, other: _S | _L) -> Self:
        ...

    def __neg__(self) -> Self:
        ...

    def __pos__(self) -> Self:
        ...

class _Flat(_Components[_S, _L]):

    def __iter__(self) -> Iterator[_S]:
        ...

    @typing.overload
    def __getitem__(self, key: SupportsIndex) -> _S:
        ...

    @typing.overload
    def __getitem__(self, key: slice) -> Any:
        ...

    @typing.overload
    def __setitem__(self, key: SupportsIndex, value: _S | _L) -> None:
        ...

    @typing.overload
    def __setitem__(self, key: slice, value: Any) -> None:
        ...

class _Vector(_Flat[_S, _L]):

    def __add__(self, other: Self | _S | _L) -> Self:
        ...

    def __radd__(self, other: _S | _L) -> Self:
        ...

    def __sub__(self, other: Self | _S | _L) -> Self:
        ...

    def __rsub__(self, other: _S | _L) -> Self:
        ...

    def __mul__(self, other: _S | _L) -> Self:
        ...

    def __rmul__(self, other: _S | _L) -> Self:
        ...

    def __mod__(self, other: Self) -> Self:
        ...
_Row = TypeVar('_Row')

class _Matrix(_Components[_S, _L], Generic[_S, _L, _Row]):

    def get_row(self, index: int) -> _Row:
        ...

    def set_row(self, index: int, values: Any) -> None:
        ...

    def get_col(self, index: int) -> Any:
        ...

    def set_col(self, index: int, values: Any) -> None:
        ...

    def __iter__(self) -> Iterator[_Row]:
        ...

    @typing.overload
    def __getitem__(self, key: SupportsIndex) -> _Row:
        ...

    @typing.overload
    def __getitem__(self, key: tuple[SupportsIndex, SupportsIndex]) -> _S:
        ...

    @typing.overload
    def __getitem__(self, key: slice | tuple[SupportsIndex | slice, SupportsIndex | slice]) -> Any:
        ...

    @typing.overload
    def __setitem__(self, key: SupportsIndex, value: _Row) -> None:
        ...

    @typing.overload
    def __setitem__(self, key: tuple[SupportsIndex, SupportsIndex], value: _S | _L) -> None:
        ...

    @typing.overload
    def __setitem__(self, key: slice | tuple[SupportsIndex | slice, SupportsIndex | slice], value: Any) -> None:
        ...

    def __add__(self, other: Self) -> Self:
        ...

    def __sub__(self, other: Self) -> Self:
        ...

    @typing.overload
    def __mul__(self, other: Self | _S | _L) -> Self:
        ...

    @typing.overload
    def __mul__(self, other: _Row) -> _Row:
        ...

    @typing.overload
    def __rmul__(self, other: _S | _L) -> Self:
        ...

    @typing.overload
    def __rmul__(self, other: _Row) -> _Row:
        ...

    @typing.overload
    def __matmul__(self, other: Self) -> Self:
        ...

    @typing.overload
    def __matmul__(self, other: _Row) -> _Row:
        ...

    def __rmatmul__(self, other: _Row) -> _Row:
        ...

class _Quaternion(_Flat[_S, _L]):

    def __add__(self, other: Self) -> Self:
        ...

    def __sub__(self, other: Self) -> Self:
        ...

    def __mul__(self, other: Self | _S | _L) -> Self:
        ...

    def __rmul__(self, other: _S | _L) -> Self:
        ...
_Vec3 = TypeVar('_Vec3')
_Quat = TypeVar('_Quat')

class _Transform(_Flat[_S, _L], Generic[_S, _L, _Vec3, _Quat]):
    p: _Vec3
    q: _Quat

    def __add__(self, other: Self) -> Self:
        ...

    def __sub__(self, other: Self) -> Self:
        ...

    def __mul__(self, other: Self | _S | _L) -> Self:
        ...

    def __rmul__(self, other: _S | _L) -> Self:
        ...
_P = ParamSpec('_P')
_R = TypeVar('_R')
_C = TypeVar('_C', bound=type)
Scalar = TypeVar('Scalar', bound=Any)
Float = TypeVar('Float', bound=Any)
Int = TypeVar('Int', bound=Any)

class Function(Generic[_P, _R]):
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
    name: str

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        ...

@typing.overload
def kernel(func: Callable[..., Any]) -> Kernel:
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

@typing.overload
def kernel(func: None=None, **options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    ...

@typing.overload
def func(f: Callable[_P, _R]) -> Function[_P, _R]:
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

@typing.overload
def func(f: None=None, **options: Any) -> Callable[[Callable[_P, _R]], Function[_P, _R]]:
    ...

@typing.overload
def struct(cls: _C, *, module: Any=None) -> _C:
    """Make an annotated class a struct type, for kernel arguments, array elements and fields of other structs.

    Args:
        cls: A class whose annotations name the types of its fields, or a dataclass. A value given in the class is the
            field's default, and so is that of `dataclasses.field`. With `wp.config.dialect = "warp-lang"` there are no
            defaults. Without a class, the result is a decorator.
        module: Without effect, for programs for warp-lang: structs are compiled with the kernels that use them.

    Returns:
        A class with the same name, annotations and methods. Instances have the fields as attributes, zero unless set.
        For programs that look into it, `key` is its name, `vars` its fields by name, each with a `label` and a `type`,
        and `cls` the class itself.

    Raises:
        TypeError: If a field's annotation is not a type of the kernel language.

    >>> Particle = wp.struct(type("Particle", (), {"__annotations__": {"mass": float, "index": int}}))
    >>> Particle(mass=1.5).mass
    1.5
    """

@typing.overload
def struct(cls: None=None, *, module: Any=None) -> Callable[[_C], _C]:
    ...

def constant(x: _R) -> _R:
    """Mark a value as a compile-time constant. Kernels capture constants by themselves; this changes nothing.

    Args:
        x: a number, vector, matrix, tuple or enum.

    Returns:
        `x`.

    >>> wp.constant(0.5)
    0.5
    """

def static(x: _R) -> _R:
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
_D = TypeVar('_D', default=Any)
_DType = TypeVar('_DType', default=float)
_Index = SupportsIndex
_Slices = slice | _Array[int] | tuple[SupportsIndex | slice | _Array[int], ...]
_FloatArray = _Array[float16] | _Array[bfloat16] | _Array[float64]
_IntArray = _Array[int8] | _Array[int16] | _Array[int64] | _Array[uint8] | _Array[uint16] | _Array[uint32] | _Array[uint64]
_Shape = int | Sequence[int]

class _Array(Generic[_D]):
    ptr: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    ndim: int
    size: int
    capacity: int
    dtype: Any
    device: Device
    pinned: builtins.bool
    readonly: builtins.bool
    is_contiguous: builtins.bool
    requires_grad: builtins.bool
    retain_grad: builtins.bool
    grad: Any

    @property
    def __array_interface__(self) -> dict[str, Any]:
        ...

    def __array__(self, dtype: Any=None, copy: builtins.bool | None=None) -> np.ndarray[Any, Any]:
        ...

    def __dlpack__(self, **options: Any) -> Any:
        ...

    def __dlpack_device__(self) -> tuple[int, int]:
        ...

    def __len__(self) -> int:
        ...

    def __iter__(self) -> Iterator[Any]:
        ...

    @typing.overload
    def __setitem__(self, key: Any, value: _D) -> None:
        ...

    @typing.overload
    def __setitem__(self: _FloatArray, key: Any, value: float) -> None:
        ...

    @typing.overload
    def __setitem__(self: _IntArray, key: Any, value: int) -> None:
        ...

    @typing.overload
    def __setitem__(self, key: slice | tuple[SupportsIndex | slice, ...], value: Any) -> None:
        ...

    def __add__(self, other: Any) -> Any:
        ...

    def __radd__(self, other: Any) -> Any:
        ...

    def __iadd__(self, other: Any) -> Self:
        ...

    def __sub__(self, other: Any) -> Any:
        ...

    def __rsub__(self, other: Any) -> Any:
        ...

    def __isub__(self, other: Any) -> Self:
        ...

    def __mul__(self, other: Any) -> Any:
        ...

    def __rmul__(self, other: Any) -> Any:
        ...

    def __imul__(self, other: Any) -> Self:
        ...

    def __truediv__(self, other: Any) -> Any:
        ...

    def __rtruediv__(self, other: Any) -> Any:
        ...

    def __itruediv__(self, other: Any) -> Self:
        ...

    def __floordiv__(self, other: Any) -> Any:
        ...

    def __rfloordiv__(self, other: Any) -> Any:
        ...

    def __ifloordiv__(self, other: Any) -> Self:
        ...

    def __mod__(self, other: Any) -> Any:
        ...

    def __rmod__(self, other: Any) -> Any:
        ...

    def __imod__(self, other: Any) -> Self:
        ...

    def __pow__(self, other: Any) -> Any:
        ...

    def __rpow__(self, other: Any) -> Any:
        ...

    def __ipow__(self, other: Any) -> Self:
        ...

    def __neg__(self) -> Self:
        ...

    def __pos__(self) -> Self:
        ...

    def __matmul__(self, other: _Array[_D]) -> Any:
        ...

    def assign(self, src: Any) -> None:
        """Copy `src`, an array or any data for one, into this array; `src` may be shorter."""

    def contiguous(self) -> Self:
        """The array itself if its elements lie in C order without gaps, else a copy that does."""

    def cptr(self) -> Any:
        """A ctypes pointer to the numbers or structs of a contiguous array on the CPU, which it keeps alive.

    Raises:
        ValueError: the array is on a GPU, or is not contiguous.

    >>> numbers = wp.array([1.0, 2.0], dtype=float).cptr()
    >>> numbers[1]
    2.0
    """

    @property
    def device_id(self) -> Any:
        """The number of the device; 0 is the CPU."""

    @property
    def dtype_id(self) -> Any:
        """The small id of the element type."""

    def fill_(self, value: Any) -> None:
        """Set every element to `value`; one number fills all components.

    Raises:
        TypeError, ValueError: If `value` is not a value of the dtype.

    >>> a = wp.array(dtype=float, shape=2)
    >>> a.fill_(3.0)
    >>> a.list()
    [3.0, 3.0]
    """

    @property
    def flags(self) -> Any:
        """Bits that say how the memory may be used."""

    def flatten(self) -> array[_D]:
        """A view with one dimension. Raises ValueError if the elements are not evenly spaced."""

    @property
    def grad_ptr(self) -> Any:
        """The address of the gradient's first element, 0 without a gradient."""

    @property
    def inner_contiguous(self) -> Any:
        """Whether all dimensions but the first lie without gaps."""

    def list(self) -> builtins.list[Any]:
        """The elements in C order: Python numbers for scalars, values for the rest.

    >>> wp.array([1.5, 2.5], dtype=float).list()
    [1.5, 2.5]
    """

    def mark_init(self) -> None:
        """Accepted; there is no mark to clear."""

    def mark_read(self) -> None:
        """Accepted; tapes know what their gradients read."""

    def mark_write(self, **_: Any) -> None:
        """Report that the elements are about to be written without a tape seeing it, for example by a foreign function.

    A tape that needs them copies them now. What is written with this package, it sees by itself.
    """

    @property
    def memory_kind(self) -> Any:
        """What kind of memory it is: `wp.MemoryKind.HOST` on the CPU."""

    def numpy(self) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array that shares the memory; of an array on a GPU, as a copy.

    From then on anybody may write there unseen, so a tape copies beforehand what it will read.

    Components become trailing dimensions, structs a structured dtype, bfloat16 its bits as uint16.

    >>> wp.array([1.5, 2.5], dtype=float).numpy()
    array([1.5, 2.5], dtype=float32)
    """

    @property
    def owner(self) -> Any:
        """What keeps the memory alive."""

    def reshape(self, shape: Any) -> _Array[Any]:
        """A view of another shape with as many elements; one extent may be -1.

    Raises:
        ValueError: If the sizes differ or the array is not contiguous.

    >>> wp.zeros(6).reshape((2, -1)).shape
    (2, 3)
    """

    def to(self, device: Device | str, requires_grad: builtins.bool | None=None) -> Self:
        """The array on `device`: itself if it is there already.

    Raises:
        RuntimeError: If the device is not available.
    """

    def transpose(self, axes: Any=None) -> _Array[Any]:
        """A view with dimensions in the order `axes`, reversed by default.

    >>> wp.zeros((2, 3)).transpose().shape
    (3, 2)
    """

    @property
    def typecode(self) -> str:
        """The name of the element type. `reprlib` asks for it, as it takes every class `array` for that of Python."""

    def view(self, dtype: Any=None) -> _Array[Any]:
        """The same memory read as elements of `dtype`.

    Of the same size, the shape stays. From scalars to elements with components the last dimensions must hold
    exactly the components; the other way round dimensions are added.

    Raises:
        TypeError: If `dtype` is left out.
        ValueError: If the shape or the strides do not allow it.

    >>> wp.zeros((4, 3)).view(wp.vec3).shape
    (4,)
    """

    def zero_(self) -> None:
        """Set every element to zero."""

class array(_Array[_D]):
    """An array of scalars, vectors, matrices, quaternions, transforms or structs.

    Args:
        data: Nested sequences of numbers or values, a NumPy array, or an object with an array interface, which may be
            of memory on a GPU. For elements with components the trailing dimensions hold the components.
        dtype: The element type; taken from `data` if left out.
        shape: One extent or up to four. With `data`, the shape to give it, in which one extent may be -1.
        strides: With `ptr` or `shape`, the bytes from one element to the next, per dimension; C order if left out.
        ptr: The address of existing memory to use; the caller keeps it alive.
        capacity: With `ptr`, the bytes it has.
        device: Where the memory is.
        pinned: On the CPU, whether the memory is pinned: copies between it and a GPU go on while the program does.
        copy: False shares the memory of `data` if its layout and dtype allow.
        deleter: With `ptr`, called with (pointer, capacity) when the memory is no longer used.
        ndim: The number of dimensions where neither `data` nor `shape` tells, in annotations.
        grad: An array for gradients, of the same shape, strides and dtype.
        requires_grad: Allocate a zeroed gradient array.
        retain_grad: Whether `backward` leaves the gradient of what a launch wrote last in `grad`, rather than cleared.
        length, n: Older spellings of `shape`.

    Without `data`, `ptr` and `shape` the result is empty: that is how `wp.array(dtype=float, ndim=2)` serves as an
    annotation, like `wp.array2d[float]`.

    Raises:
        TypeError: If an argument has the wrong type; the message names the argument.
        ValueError: If shapes do not fit each other.

    >>> wp.array([[1, 2, 3], [4, 5, 6]], dtype=float).shape
    (2, 3)
    """

    def __init__(self, data: Any=None, dtype: type[_D]=..., shape: _Shape | None=None, strides: tuple[int, ...] | None=None, ptr: int | None=None, capacity: int | None=None, device: Device | str | None=None, pinned: builtins.bool=False, copy: builtins.bool=True, deleter: Callable[[int, int], None] | None=None, ndim: int | None=None, grad: _Array[Any] | None=None, requires_grad: builtins.bool=False, retain_grad: builtins.bool=False, *, length: int | None=None, n: int | None=None) -> None:
        ...

    @typing.overload
    def __getitem__(self, key: SupportsIndex | tuple[SupportsIndex, ...]) -> _D:
        ...

    @typing.overload
    def __getitem__(self, key: _Slices) -> Any:
        ...

class array1d(array[_D]):
    """`wp.array` of 1 dimensions: in annotations, `array1d[dtype]`, or called like `array`."""

class array2d(_Array[_D]):
    """`wp.array` of 2 dimensions: in annotations, `array2d[dtype]`, or called like `array`."""

    def __init__(self, data: Any=None, dtype: type[_D]=..., **options: Any) -> None:
        ...

    @typing.overload
    def __getitem__(self, key: SupportsIndex) -> array[_D]:
        ...

    @typing.overload
    def __getitem__(self, key: tuple[_Index, _Index]) -> _D:
        ...

    @typing.overload
    def __getitem__(self, key: _Slices) -> Any:
        ...

class array3d(_Array[_D]):
    """`wp.array` of 3 dimensions: in annotations, `array3d[dtype]`, or called like `array`."""

    def __init__(self, data: Any=None, dtype: type[_D]=..., **options: Any) -> None:
        ...

    @typing.overload
    def __getitem__(self, key: SupportsIndex) -> array2d[_D]:
        ...

    @typing.overload
    def __getitem__(self, key: tuple[_Index, _Index]) -> array[_D]:
        ...

    @typing.overload
    def __getitem__(self, key: tuple[_Index, _Index, _Index]) -> _D:
        ...

    @typing.overload
    def __getitem__(self, key: _Slices) -> Any:
        ...

class array4d(_Array[_D]):
    """`wp.array` of 4 dimensions: in annotations, `array4d[dtype]`, or called like `array`."""

    def __init__(self, data: Any=None, dtype: type[_D]=..., **options: Any) -> None:
        ...

    @typing.overload
    def __getitem__(self, key: SupportsIndex) -> array3d[_D]:
        ...

    @typing.overload
    def __getitem__(self, key: tuple[_Index, _Index]) -> array2d[_D]:
        ...

    @typing.overload
    def __getitem__(self, key: tuple[_Index, _Index, _Index]) -> array[_D]:
        ...

    @typing.overload
    def __getitem__(self, key: tuple[_Index, _Index, _Index, _Index]) -> _D:
        ...

    @typing.overload
    def __getitem__(self, key: _Slices) -> Any:
        ...

class indexedarray(array[_D]):
    """An array whose elements are those of another at given places.

    Args:
        data: The array; None in annotations.
        indices: For each dimension of `data`, in order, a one-dimensional int32 array of places or None for all; a
            single array stands for the first dimension. Missing ones are None.
        dtype: In annotations, the element type.
        ndim: In annotations, the number of dimensions.

    Indices are used as they are: a kernel reads outside of the array where they are out of range.

    Raises:
        TypeError: If an argument has the wrong type; the message names the argument.
        ValueError: If there are more indices than dimensions.

    >>> import omni.warp_core as wp
    >>> a = wp.array([10.0, 20.0, 30.0, 40.0], dtype=float)
    >>> odd = wp.indexedarray(a, [wp.array([1, 3], dtype=int)])
    >>> odd.list()
    [20.0, 40.0]
    >>> odd.fill_(0.0)
    >>> a.list()
    [10.0, 0.0, 30.0, 0.0]
    """

    def __init__(self, data: Any=None, indices: Any=None, dtype: type[_D] | None=None, ndim: int | None=None) -> None:
        ...

class indexedarray1d(indexedarray[_D]):
    """`wp.indexedarray` of 1 dimensions: in annotations `indexedarray1d[dtype]`, or called."""

class indexedarray2d(array2d[_D]):
    """`wp.indexedarray` of 2 dimensions: in annotations `indexedarray2d[dtype]`, or called."""

    def __init__(self, data: Any=None, indices: Any=None, dtype: type[_D] | None=None) -> None:
        ...

class indexedarray3d(array3d[_D]):
    """`wp.indexedarray` of 3 dimensions: in annotations `indexedarray3d[dtype]`, or called."""

    def __init__(self, data: Any=None, indices: Any=None, dtype: type[_D] | None=None) -> None:
        ...

class indexedarray4d(array4d[_D]):
    """`wp.indexedarray` of 4 dimensions: in annotations `indexedarray4d[dtype]`, or called."""

    def __init__(self, data: Any=None, indices: Any=None, dtype: type[_D] | None=None) -> None:
        ...
ref = Annotated[_R, 'ref']

def launch(kernel: Kernel, dim: int | Sequence[int], inputs: Sequence[Any]=(), outputs: Sequence[Any]=(), adj_inputs: Sequence[Any]=(), adj_outputs: Sequence[Any]=(), device: Device | str | None=None, stream: Any=None, adjoint: builtins.bool=False, record_tape: builtins.bool=True, record_cmd: builtins.bool=False, max_blocks: int=0, block_dim: int | None=256, interpret: builtins.bool=False, serial: builtins.bool | None=None) -> Any:
    """Run a kernel once for every index of a grid.

    Args:
        kernel: a function decorated with `@wp.kernel`.
        dim: number of threads, or up to four of them; the last dimension runs fastest.
        inputs: arguments in the order of the kernel's parameters. Arrays may be NumPy arrays, used in place.
        outputs: the remaining arguments.
        device: where to run; by default the device of the stream, or else the current one.
        stream: on a GPU, the stream that the launch goes to; by default the current one. CPU launches have finished
            when this returns.
        record_cmd: return a `Launch` that repeats this launch quickly, instead of running it. Its method `launch` takes
            a stream.
        record_tape: whether a tape that records takes note of this launch.
        max_blocks: accepted; has no effect.
        block_dim: how many threads a block has, 1 to 1024; 256 if left out. On the CPU only kernels that work in
            blocks notice. If threads share memory or wait for each other, their number must be a multiple of it.
        interpret: run the kernel as plain Python, thread by thread, for a debugger; on a GPU, on copies of its arrays.
        serial: on the CPU, whether threads run one after the other, in order; None does as `wp.config.serial` says.
        adjoint: run the adjoint of the kernel, which adds to the gradients of its arrays, instead of the kernel.
        adj_inputs: with `adjoint`, an array of gradients for each of `inputs`; None or a number keeps its own `grad`.
            It adds to those of arrays that the kernel reads. It leaves those of arrays that the kernel overwrites.
        adj_outputs: the same for `outputs`.

    Returns:
        None, or a `Launch` with `record_cmd`.

    Raises:
        CompileError: the kernel has mistakes.
        TypeError, ValueError: an argument does not fit its parameter.
        KernelError: a thread failed in debug mode, or used memory that is not there.

    >>> @wp.kernel
    ... def double(x: wp.array[float]):
    ...     i = wp.tid()
    ...     x[i] = 2.0 * x[i]
    >>> x = np.arange(4, dtype=np.float32)
    >>> wp.launch(double, dim=4, inputs=[x])
    >>> x.tolist()
    [0.0, 2.0, 4.0, 6.0]
    """
_T = TypeVar('_T')
_I = TypeVar('_I', int, int8, int16, int64, uint8, uint16, uint32, uint64)

class _Thread(int):

    def __iter__(self) -> Iterator[int]:
        ...

    def __iadd__(self, other: int) -> Self:
        ...

    def __isub__(self, other: int) -> Self:
        ...

def tid() -> _Thread:
    """Index of the thread that runs.

    `i = wp.tid()` gives one index, flattened in a launch of several dimensions. `i, j = wp.tid()` gives one index for
    each dimension of the launch, for two to four names.

    Returns:
        The index or indices, counted from 0.

    >>> @wp.kernel
    ... def table(out: wp.array2d[int]):
    ...     i, j = wp.tid()
    ...     out[i, j] = 10 * i + j
    >>> out = wp.zeros((2, 3), dtype=int)
    >>> wp.launch(table, dim=(2, 3), inputs=[out])
    >>> out.list()
    [0, 1, 2, 10, 11, 12]
    """

def block_dim() -> int:
    """Number of threads in a block: the `block_dim` of the launch, known when the kernel compiles.

    Returns:
        The number; 1 at Python scope.

    >>> @wp.kernel
    ... def sizes(out: wp.array[int]):
    ...     out[wp.tid()] = wp.block_dim()
    >>> out = wp.zeros(4, dtype=int)
    >>> wp.launch(sizes, dim=4, inputs=[out], block_dim=2)
    >>> out.list()
    [2, 2, 2, 2]
    """

def block_range(start: int, stop: int=..., step: int=...) -> Iterator[_Thread]:
    """Iterations that the threads of a block share: each of them is run by some thread. It stands in a `for` statement.

    Iterations see what all threads did before the loop, and what follows sees all that they did: no `syncthreads()` is
    needed. The loop runs the same iterations whatever `block_dim` is. On a CPU they are SIMD lanes, so that indices
    `i` which follow each other are best used as the last index of arrays.

    An iteration belongs to no thread, and may run beside any other. So it takes from outside only what is the same for
    all threads of the block, and hands on values through arrays alone. `continue` ends it; there is no `break` or
    `return`.

    Args:
        start: the first index; with one argument, the count of iterations instead, and indices begin at 0.
        stop: what the indices stay below.
        step: what the indices go on by.

    Returns:
        The indices. With several names, as in `for i, j in wp.block_range(n, m)`, the arguments are the count for each.

    >>> @wp.kernel
    ... def normalise(x: wp.array2d[float]):
    ...     row = wp.block_index()
    ...     n = x.shape[1]
    ...     total = wp.shared_array(shape=1, dtype=float)
    ...     total[0] = 0.0
    ...     for i in wp.block_range(n):
    ...         wp.atomic_add(total, 0, x[row, i])
    ...     for i in wp.block_range(n):
    ...         x[row, i] /= total[0]
    >>> x = wp.array([[1.0, 3.0], [2.0, 2.0]], dtype=float)
    >>> wp.launch(normalise, dim=2, inputs=[x], block_dim=1)
    >>> x.list()
    [0.25, 0.75, 0.5, 0.5]
    """

def printf(text: str, *args: Any) -> None:
    """Print formatted text, as C does.

    Lines of different threads come in any order; one call's text stays together.

    Args:
        text: a string literal with C's conversions: %d, %u, %x, %c, %f, %g, %s and so on, with flags, width and
            precision. %c shows a character of ASCII.
        args: one scalar or string for each conversion.

    >>> wp.printf("%d of %d: %.2f\\n", 1, 4, 0.25)
    1 of 4: 0.25
    """

def print(*args: Any) -> None:
    """Print values of any type, separated by spaces, and end the line.

    Args:
        args: scalars, vectors, matrices, structs, strings.

    >>> wp.print(wp.vec2(1.0, 2.0))
    [1.0, 2.0]
    """

def expect_eq(a: _T, b: _T) -> None:
    """Check that two values are equal. Where they are not, a line with both is printed, and the program goes on.

    Args:
        a: a value of any type that `==` compares.
        b: another of the same type.

    Raises:
        KernelError: the values differ, in a kernel in debug mode.

    >>> wp.expect_eq(2 + 2, 5)
    expect_eq failed: 4 is not 5
    """

def where(condition: Any, if_true: _T, if_false: _T) -> _T:
    """One of two values. Both are computed; the ternary `a if c else b` computes only the one it gives.

    Args:
        condition: a bool, or a number that counts as true unless it is 0.
        if_true: a value of any type.
        if_false: another of the same type.

    Returns:
        `if_true` where the condition holds, else `if_false`.

    Derivative: that of the value chosen.

    >>> float(wp.where(2 > 1, 10.0, 20.0))
    10.0
    """

def select(condition: Any, if_false: _T, if_true: _T) -> _T:
    """The older spelling of `where`, with the value for false first.

    Args:
        condition: a bool, or a number that counts as true unless it is 0.
        if_false: a value of any type.
        if_true: another of the same type.

    Returns:
        `if_true` where the condition holds, else `if_false`.

    Derivative: that of the value chosen.

    >>> float(wp.select(2 > 1, 10.0, 20.0))
    20.0
    """

def cast(a: Any, dtype: type[_T]) -> _T:
    """The bits of a number read as another type of the same size.

    Args:
        a: a scalar.
        dtype: the scalar type to read it as, of as many bits.

    Returns:
        The number that has these bits.

    Derivative: none.

    >>> wp.cast(1.0, wp.int32)
    1065353216
    """

def len(a: Any) -> int:
    """Extent of the first dimension.

    Args:
        a: an array, vector, matrix or tuple.

    Returns:
        Elements of an array's first dimension, components of a vector, rows of a matrix, items of a tuple.

    >>> int(wp.len(wp.vec3()))
    3
    """

def unot(a: Any) -> builtins.bool:
    """`not a` as a function.

    Args:
        a: a bool or a number.

    Returns:
        Whether it is false or 0.

    >>> wp.unot(True)
    False
    """

def neg(a: _T) -> _T:
    """`-a` as a function.

    Args:
        a: a number, vector, matrix or any other value that the operator takes.

    Returns:
        The value with its sign changed.

    Error: exact.
    Derivative: -1.

    >>> wp.neg(wp.vec2(1.0, -2.0))
    vec2f([-1.0, 2.0])
    """

def pos(a: _T) -> _T:
    """`+a` as a function.

    Args:
        a: a number, vector, matrix or any other value that the operator takes.

    Returns:
        The value itself.

    Error: exact.
    Derivative: 1.

    >>> wp.pos(3)
    3
    """

def invert(a: _I) -> _I:
    """`~a` as a function.

    Args:
        a: an integer.

    Returns:
        All bits inverted.

    >>> wp.invert(5)
    -6
    """

def bit_and(a: _I, b: _I) -> _I:
    """`a & b` as a function.

    Args:
        a: an integer.
        b: another of the same type.

    Returns:
        The bits set in both.

    >>> wp.bit_and(12, 10)
    8
    """

def bit_or(a: _I, b: _I) -> _I:
    """`a | b` as a function.

    Args:
        a: an integer.
        b: another of the same type.

    Returns:
        The bits set in either.

    >>> wp.bit_or(12, 10)
    14
    """

def bit_xor(a: _I, b: _I) -> _I:
    """`a ^ b` as a function.

    Args:
        a: an integer.
        b: another of the same type.

    Returns:
        The bits set in one of them only.

    >>> wp.bit_xor(12, 10)
    6
    """

def lshift(a: _I, b: _I) -> _I:
    """`a << b` as a function.

    Args:
        a: an integer.
        b: how many bits.

    Returns:
        `a` shifted left; bits beyond the type are lost.

    >>> wp.lshift(1, 3)
    8
    """

def rshift(a: _I, b: _I) -> _I:
    """`a >> b` as a function.

    Args:
        a: an integer.
        b: how many bits.

    Returns:
        `a` shifted right; a negative one keeps its sign.

    >>> wp.rshift(-8, 1)
    -4
    """

E: float
PI: float
TAU: float
HALF_PI: float
PHI: float
LN2: float
LN10: float
LOG2E: float
LOG10E: float
INF: float
NAN: float
e: float
pi: float
tau: float
half_pi: float
phi: float
ln2: float
ln10: float
log2e: float
log10e: float
inf: float
nan: float

class float64(_Float):
    """A double precision float."""

class float16(_Float):
    """A half precision float: 11 significant bits, at most 65504."""

class bfloat16(_Float):
    """The upper half of a float32: 8 significant bits, the range of float32."""

class int8(_Integer):
    """A signed integer of 8 bits."""

class int16(_Integer):
    """A signed integer of 16 bits."""

class int64(_Integer):
    """A signed integer of 64 bits."""

class uint8(_Integer):
    """An unsigned integer of 8 bits."""

class uint16(_Integer):
    """An unsigned integer of 16 bits."""

class uint32(_Integer):
    """An unsigned integer of 32 bits."""

class uint64(_Integer):
    """An unsigned integer of 64 bits."""

class mat22f(_Matrix[float, float, vec2f]):
    """A matrix in row-major order: from all components, one for all, rows, or nested sequences."""
    @typing.overload
    def __init__(self, value: float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float | np.number[Any], m1: float | np.number[Any], m2: float | np.number[Any], m3: float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, row0: vec2f | _Numbers, row1: vec2f | _Numbers, /) -> None: ...

class mat33f(_Matrix[float, float, vec3f]):
    """A matrix in row-major order: from all components, one for all, rows, or nested sequences."""
    @typing.overload
    def __init__(self, value: float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float | np.number[Any], m1: float | np.number[Any], m2: float | np.number[Any], m3: float | np.number[Any], m4: float | np.number[Any], m5: float | np.number[Any], m6: float | np.number[Any], m7: float | np.number[Any], m8: float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, row0: vec3f | _Numbers, row1: vec3f | _Numbers, row2: vec3f | _Numbers, /) -> None: ...

class mat44f(_Matrix[float, float, vec4f]):
    """A matrix in row-major order: from all components, one for all, rows, or nested sequences."""
    @typing.overload
    def __init__(self, value: float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float | np.number[Any], m1: float | np.number[Any], m2: float | np.number[Any], m3: float | np.number[Any], m4: float | np.number[Any], m5: float | np.number[Any], m6: float | np.number[Any], m7: float | np.number[Any], m8: float | np.number[Any], m9: float | np.number[Any], m10: float | np.number[Any], m11: float | np.number[Any], m12: float | np.number[Any], m13: float | np.number[Any], m14: float | np.number[Any], m15: float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, row0: vec4f | _Numbers, row1: vec4f | _Numbers, row2: vec4f | _Numbers, row3: vec4f | _Numbers, /) -> None: ...

class spatial_matrixf(_Matrix[float, float, spatial_vectorf]):
    """A matrix in row-major order: from all components, one for all, rows, or nested sequences."""
    @typing.overload
    def __init__(self, value: float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float | np.number[Any], m1: float | np.number[Any], m2: float | np.number[Any], m3: float | np.number[Any], m4: float | np.number[Any], m5: float | np.number[Any], m6: float | np.number[Any], m7: float | np.number[Any], m8: float | np.number[Any], m9: float | np.number[Any], m10: float | np.number[Any], m11: float | np.number[Any], m12: float | np.number[Any], m13: float | np.number[Any], m14: float | np.number[Any], m15: float | np.number[Any], m16: float | np.number[Any], m17: float | np.number[Any], m18: float | np.number[Any], m19: float | np.number[Any], m20: float | np.number[Any], m21: float | np.number[Any], m22: float | np.number[Any], m23: float | np.number[Any], m24: float | np.number[Any], m25: float | np.number[Any], m26: float | np.number[Any], m27: float | np.number[Any], m28: float | np.number[Any], m29: float | np.number[Any], m30: float | np.number[Any], m31: float | np.number[Any], m32: float | np.number[Any], m33: float | np.number[Any], m34: float | np.number[Any], m35: float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, row0: spatial_vectorf | _Numbers, row1: spatial_vectorf | _Numbers, row2: spatial_vectorf | _Numbers, row3: spatial_vectorf | _Numbers, row4: spatial_vectorf | _Numbers, row5: spatial_vectorf | _Numbers, /) -> None: ...

class mat22d(_Matrix[float64, float, vec2d]):
    """A matrix in row-major order: from all components, one for all, rows, or nested sequences."""
    @typing.overload
    def __init__(self, value: float64 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float64 | float | np.number[Any], m1: float64 | float | np.number[Any], m2: float64 | float | np.number[Any], m3: float64 | float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, row0: vec2d | _Numbers, row1: vec2d | _Numbers, /) -> None: ...

class mat33d(_Matrix[float64, float, vec3d]):
    """A matrix in row-major order: from all components, one for all, rows, or nested sequences."""
    @typing.overload
    def __init__(self, value: float64 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float64 | float | np.number[Any], m1: float64 | float | np.number[Any], m2: float64 | float | np.number[Any], m3: float64 | float | np.number[Any], m4: float64 | float | np.number[Any], m5: float64 | float | np.number[Any], m6: float64 | float | np.number[Any], m7: float64 | float | np.number[Any], m8: float64 | float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, row0: vec3d | _Numbers, row1: vec3d | _Numbers, row2: vec3d | _Numbers, /) -> None: ...

class mat44d(_Matrix[float64, float, vec4d]):
    """A matrix in row-major order: from all components, one for all, rows, or nested sequences."""
    @typing.overload
    def __init__(self, value: float64 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float64 | float | np.number[Any], m1: float64 | float | np.number[Any], m2: float64 | float | np.number[Any], m3: float64 | float | np.number[Any], m4: float64 | float | np.number[Any], m5: float64 | float | np.number[Any], m6: float64 | float | np.number[Any], m7: float64 | float | np.number[Any], m8: float64 | float | np.number[Any], m9: float64 | float | np.number[Any], m10: float64 | float | np.number[Any], m11: float64 | float | np.number[Any], m12: float64 | float | np.number[Any], m13: float64 | float | np.number[Any], m14: float64 | float | np.number[Any], m15: float64 | float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, row0: vec4d | _Numbers, row1: vec4d | _Numbers, row2: vec4d | _Numbers, row3: vec4d | _Numbers, /) -> None: ...

class spatial_matrixd(_Matrix[float64, float, spatial_vectord]):
    """A matrix in row-major order: from all components, one for all, rows, or nested sequences."""
    @typing.overload
    def __init__(self, value: float64 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float64 | float | np.number[Any], m1: float64 | float | np.number[Any], m2: float64 | float | np.number[Any], m3: float64 | float | np.number[Any], m4: float64 | float | np.number[Any], m5: float64 | float | np.number[Any], m6: float64 | float | np.number[Any], m7: float64 | float | np.number[Any], m8: float64 | float | np.number[Any], m9: float64 | float | np.number[Any], m10: float64 | float | np.number[Any], m11: float64 | float | np.number[Any], m12: float64 | float | np.number[Any], m13: float64 | float | np.number[Any], m14: float64 | float | np.number[Any], m15: float64 | float | np.number[Any], m16: float64 | float | np.number[Any], m17: float64 | float | np.number[Any], m18: float64 | float | np.number[Any], m19: float64 | float | np.number[Any], m20: float64 | float | np.number[Any], m21: float64 | float | np.number[Any], m22: float64 | float | np.number[Any], m23: float64 | float | np.number[Any], m24: float64 | float | np.number[Any], m25: float64 | float | np.number[Any], m26: float64 | float | np.number[Any], m27: float64 | float | np.number[Any], m28: float64 | float | np.number[Any], m29: float64 | float | np.number[Any], m30: float64 | float | np.number[Any], m31: float64 | float | np.number[Any], m32: float64 | float | np.number[Any], m33: float64 | float | np.number[Any], m34: float64 | float | np.number[Any], m35: float64 | float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, row0: spatial_vectord | _Numbers, row1: spatial_vectord | _Numbers, row2: spatial_vectord | _Numbers, row3: spatial_vectord | _Numbers, row4: spatial_vectord | _Numbers, row5: spatial_vectord | _Numbers, /) -> None: ...

class mat22h(_Matrix[float16, float, vec2h]):
    """A matrix in row-major order: from all components, one for all, rows, or nested sequences."""
    @typing.overload
    def __init__(self, value: float16 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float16 | float | np.number[Any], m1: float16 | float | np.number[Any], m2: float16 | float | np.number[Any], m3: float16 | float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, row0: vec2h | _Numbers, row1: vec2h | _Numbers, /) -> None: ...

class mat33h(_Matrix[float16, float, vec3h]):
    """A matrix in row-major order: from all components, one for all, rows, or nested sequences."""
    @typing.overload
    def __init__(self, value: float16 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float16 | float | np.number[Any], m1: float16 | float | np.number[Any], m2: float16 | float | np.number[Any], m3: float16 | float | np.number[Any], m4: float16 | float | np.number[Any], m5: float16 | float | np.number[Any], m6: float16 | float | np.number[Any], m7: float16 | float | np.number[Any], m8: float16 | float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, row0: vec3h | _Numbers, row1: vec3h | _Numbers, row2: vec3h | _Numbers, /) -> None: ...

class mat44h(_Matrix[float16, float, vec4h]):
    """A matrix in row-major order: from all components, one for all, rows, or nested sequences."""
    @typing.overload
    def __init__(self, value: float16 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float16 | float | np.number[Any], m1: float16 | float | np.number[Any], m2: float16 | float | np.number[Any], m3: float16 | float | np.number[Any], m4: float16 | float | np.number[Any], m5: float16 | float | np.number[Any], m6: float16 | float | np.number[Any], m7: float16 | float | np.number[Any], m8: float16 | float | np.number[Any], m9: float16 | float | np.number[Any], m10: float16 | float | np.number[Any], m11: float16 | float | np.number[Any], m12: float16 | float | np.number[Any], m13: float16 | float | np.number[Any], m14: float16 | float | np.number[Any], m15: float16 | float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, row0: vec4h | _Numbers, row1: vec4h | _Numbers, row2: vec4h | _Numbers, row3: vec4h | _Numbers, /) -> None: ...

class spatial_matrixh(_Matrix[float16, float, spatial_vectorh]):
    """A matrix in row-major order: from all components, one for all, rows, or nested sequences."""
    @typing.overload
    def __init__(self, value: float16 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float16 | float | np.number[Any], m1: float16 | float | np.number[Any], m2: float16 | float | np.number[Any], m3: float16 | float | np.number[Any], m4: float16 | float | np.number[Any], m5: float16 | float | np.number[Any], m6: float16 | float | np.number[Any], m7: float16 | float | np.number[Any], m8: float16 | float | np.number[Any], m9: float16 | float | np.number[Any], m10: float16 | float | np.number[Any], m11: float16 | float | np.number[Any], m12: float16 | float | np.number[Any], m13: float16 | float | np.number[Any], m14: float16 | float | np.number[Any], m15: float16 | float | np.number[Any], m16: float16 | float | np.number[Any], m17: float16 | float | np.number[Any], m18: float16 | float | np.number[Any], m19: float16 | float | np.number[Any], m20: float16 | float | np.number[Any], m21: float16 | float | np.number[Any], m22: float16 | float | np.number[Any], m23: float16 | float | np.number[Any], m24: float16 | float | np.number[Any], m25: float16 | float | np.number[Any], m26: float16 | float | np.number[Any], m27: float16 | float | np.number[Any], m28: float16 | float | np.number[Any], m29: float16 | float | np.number[Any], m30: float16 | float | np.number[Any], m31: float16 | float | np.number[Any], m32: float16 | float | np.number[Any], m33: float16 | float | np.number[Any], m34: float16 | float | np.number[Any], m35: float16 | float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, row0: spatial_vectorh | _Numbers, row1: spatial_vectorh | _Numbers, row2: spatial_vectorh | _Numbers, row3: spatial_vectorh | _Numbers, row4: spatial_vectorh | _Numbers, row5: spatial_vectorh | _Numbers, /) -> None: ...

class quatf(_Quaternion[float, float]):
    """A quaternion x, y, z, w: from four numbers, one sequence of them, or a vector and the real part."""
    x: float
    y: float
    z: float
    w: float
    @typing.overload
    def __init__(self, value: float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: float | np.number[Any], y: float | np.number[Any], z: float | np.number[Any], w: float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, v: vec3f | _Numbers, w: float | np.number[Any], /) -> None: ...

class quatd(_Quaternion[float64, float]):
    """A quaternion x, y, z, w: from four numbers, one sequence of them, or a vector and the real part."""
    @property
    def x(self) -> float64: ...
    @x.setter
    def x(self, value: float64 | float) -> None: ...
    @property
    def y(self) -> float64: ...
    @y.setter
    def y(self, value: float64 | float) -> None: ...
    @property
    def z(self) -> float64: ...
    @z.setter
    def z(self, value: float64 | float) -> None: ...
    @property
    def w(self) -> float64: ...
    @w.setter
    def w(self, value: float64 | float) -> None: ...
    @typing.overload
    def __init__(self, value: float64 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: float64 | float | np.number[Any], y: float64 | float | np.number[Any], z: float64 | float | np.number[Any], w: float64 | float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, v: vec3d | _Numbers, w: float64 | float | np.number[Any], /) -> None: ...

class quath(_Quaternion[float16, float]):
    """A quaternion x, y, z, w: from four numbers, one sequence of them, or a vector and the real part."""
    @property
    def x(self) -> float16: ...
    @x.setter
    def x(self, value: float16 | float) -> None: ...
    @property
    def y(self) -> float16: ...
    @y.setter
    def y(self, value: float16 | float) -> None: ...
    @property
    def z(self) -> float16: ...
    @z.setter
    def z(self, value: float16 | float) -> None: ...
    @property
    def w(self) -> float16: ...
    @w.setter
    def w(self, value: float16 | float) -> None: ...
    @typing.overload
    def __init__(self, value: float16 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: float16 | float | np.number[Any], y: float16 | float | np.number[Any], z: float16 | float | np.number[Any], w: float16 | float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, v: vec3h | _Numbers, w: float16 | float | np.number[Any], /) -> None: ...

class transformf(_Transform[float, float, vec3f, quatf]):
    """A rigid transform of translation `p` and rotation `q`; the identity without arguments."""
    @typing.overload
    def __init__(self, value: _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float | np.number[Any], m1: float | np.number[Any], m2: float | np.number[Any], m3: float | np.number[Any], m4: float | np.number[Any], m5: float | np.number[Any], m6: float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, p: vec3f | _Numbers = ..., q: quatf | _Numbers = ...) -> None: ...

class transformd(_Transform[float64, float, vec3d, quatd]):
    """A rigid transform of translation `p` and rotation `q`; the identity without arguments."""
    @typing.overload
    def __init__(self, value: _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float64 | float | np.number[Any], m1: float64 | float | np.number[Any], m2: float64 | float | np.number[Any], m3: float64 | float | np.number[Any], m4: float64 | float | np.number[Any], m5: float64 | float | np.number[Any], m6: float64 | float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, p: vec3d | _Numbers = ..., q: quatd | _Numbers = ...) -> None: ...

class transformh(_Transform[float16, float, vec3h, quath]):
    """A rigid transform of translation `p` and rotation `q`; the identity without arguments."""
    @typing.overload
    def __init__(self, value: _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float16 | float | np.number[Any], m1: float16 | float | np.number[Any], m2: float16 | float | np.number[Any], m3: float16 | float | np.number[Any], m4: float16 | float | np.number[Any], m5: float16 | float | np.number[Any], m6: float16 | float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, p: vec3h | _Numbers = ..., q: quath | _Numbers = ...) -> None: ...

class spatial_vectorf(_Vector[float, float]):
    """A vector of six: from its components, or from the vectors `w` and `v`, the angular and the linear part."""
    x: float
    y: float
    z: float
    w: float
    @typing.overload
    def __init__(self, value: float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float | np.number[Any], m1: float | np.number[Any], m2: float | np.number[Any], m3: float | np.number[Any], m4: float | np.number[Any], m5: float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, top: vec3f | _Numbers, bottom: vec3f | _Numbers, /) -> None: ...

class vec2f(_Vector[float, float]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    x: float
    y: float
    @typing.overload
    def __init__(self, value: float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: float | np.number[Any], y: float | np.number[Any], /) -> None: ...

class vec3f(_Vector[float, float]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    x: float
    y: float
    z: float
    @typing.overload
    def __init__(self, value: float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: float | np.number[Any], y: float | np.number[Any], z: float | np.number[Any], /) -> None: ...

class vec4f(_Vector[float, float]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    x: float
    y: float
    z: float
    w: float
    @typing.overload
    def __init__(self, value: float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: float | np.number[Any], y: float | np.number[Any], z: float | np.number[Any], w: float | np.number[Any], /) -> None: ...

class spatial_vectord(_Vector[float64, float]):
    """A vector of six: from its components, or from the vectors `w` and `v`, the angular and the linear part."""
    @property
    def x(self) -> float64: ...
    @x.setter
    def x(self, value: float64 | float) -> None: ...
    @property
    def y(self) -> float64: ...
    @y.setter
    def y(self, value: float64 | float) -> None: ...
    @property
    def z(self) -> float64: ...
    @z.setter
    def z(self, value: float64 | float) -> None: ...
    @property
    def w(self) -> float64: ...
    @w.setter
    def w(self, value: float64 | float) -> None: ...
    @typing.overload
    def __init__(self, value: float64 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float64 | float | np.number[Any], m1: float64 | float | np.number[Any], m2: float64 | float | np.number[Any], m3: float64 | float | np.number[Any], m4: float64 | float | np.number[Any], m5: float64 | float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, top: vec3d | _Numbers, bottom: vec3d | _Numbers, /) -> None: ...

class vec2d(_Vector[float64, float]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> float64: ...
    @x.setter
    def x(self, value: float64 | float) -> None: ...
    @property
    def y(self) -> float64: ...
    @y.setter
    def y(self, value: float64 | float) -> None: ...
    @typing.overload
    def __init__(self, value: float64 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: float64 | float | np.number[Any], y: float64 | float | np.number[Any], /) -> None: ...

class vec3d(_Vector[float64, float]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> float64: ...
    @x.setter
    def x(self, value: float64 | float) -> None: ...
    @property
    def y(self) -> float64: ...
    @y.setter
    def y(self, value: float64 | float) -> None: ...
    @property
    def z(self) -> float64: ...
    @z.setter
    def z(self, value: float64 | float) -> None: ...
    @typing.overload
    def __init__(self, value: float64 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: float64 | float | np.number[Any], y: float64 | float | np.number[Any], z: float64 | float | np.number[Any], /) -> None: ...

class vec4d(_Vector[float64, float]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> float64: ...
    @x.setter
    def x(self, value: float64 | float) -> None: ...
    @property
    def y(self) -> float64: ...
    @y.setter
    def y(self, value: float64 | float) -> None: ...
    @property
    def z(self) -> float64: ...
    @z.setter
    def z(self, value: float64 | float) -> None: ...
    @property
    def w(self) -> float64: ...
    @w.setter
    def w(self, value: float64 | float) -> None: ...
    @typing.overload
    def __init__(self, value: float64 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: float64 | float | np.number[Any], y: float64 | float | np.number[Any], z: float64 | float | np.number[Any], w: float64 | float | np.number[Any], /) -> None: ...

class spatial_vectorh(_Vector[float16, float]):
    """A vector of six: from its components, or from the vectors `w` and `v`, the angular and the linear part."""
    @property
    def x(self) -> float16: ...
    @x.setter
    def x(self, value: float16 | float) -> None: ...
    @property
    def y(self) -> float16: ...
    @y.setter
    def y(self, value: float16 | float) -> None: ...
    @property
    def z(self) -> float16: ...
    @z.setter
    def z(self, value: float16 | float) -> None: ...
    @property
    def w(self) -> float16: ...
    @w.setter
    def w(self, value: float16 | float) -> None: ...
    @typing.overload
    def __init__(self, value: float16 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, m0: float16 | float | np.number[Any], m1: float16 | float | np.number[Any], m2: float16 | float | np.number[Any], m3: float16 | float | np.number[Any], m4: float16 | float | np.number[Any], m5: float16 | float | np.number[Any], /) -> None: ...
    @typing.overload
    def __init__(self, top: vec3h | _Numbers, bottom: vec3h | _Numbers, /) -> None: ...

class vec2h(_Vector[float16, float]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> float16: ...
    @x.setter
    def x(self, value: float16 | float) -> None: ...
    @property
    def y(self) -> float16: ...
    @y.setter
    def y(self, value: float16 | float) -> None: ...
    @typing.overload
    def __init__(self, value: float16 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: float16 | float | np.number[Any], y: float16 | float | np.number[Any], /) -> None: ...

class vec3h(_Vector[float16, float]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> float16: ...
    @x.setter
    def x(self, value: float16 | float) -> None: ...
    @property
    def y(self) -> float16: ...
    @y.setter
    def y(self, value: float16 | float) -> None: ...
    @property
    def z(self) -> float16: ...
    @z.setter
    def z(self, value: float16 | float) -> None: ...
    @typing.overload
    def __init__(self, value: float16 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: float16 | float | np.number[Any], y: float16 | float | np.number[Any], z: float16 | float | np.number[Any], /) -> None: ...

class vec4h(_Vector[float16, float]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> float16: ...
    @x.setter
    def x(self, value: float16 | float) -> None: ...
    @property
    def y(self) -> float16: ...
    @y.setter
    def y(self, value: float16 | float) -> None: ...
    @property
    def z(self) -> float16: ...
    @z.setter
    def z(self, value: float16 | float) -> None: ...
    @property
    def w(self) -> float16: ...
    @w.setter
    def w(self, value: float16 | float) -> None: ...
    @typing.overload
    def __init__(self, value: float16 | float | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: float16 | float | np.number[Any], y: float16 | float | np.number[Any], z: float16 | float | np.number[Any], w: float16 | float | np.number[Any], /) -> None: ...

class vec2i(_Vector[int, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    x: int
    y: int
    @typing.overload
    def __init__(self, value: int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: int | np.number[Any], y: int | np.number[Any], /) -> None: ...

class vec3i(_Vector[int, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    x: int
    y: int
    z: int
    @typing.overload
    def __init__(self, value: int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: int | np.number[Any], y: int | np.number[Any], z: int | np.number[Any], /) -> None: ...

class vec4i(_Vector[int, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    x: int
    y: int
    z: int
    w: int
    @typing.overload
    def __init__(self, value: int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: int | np.number[Any], y: int | np.number[Any], z: int | np.number[Any], w: int | np.number[Any], /) -> None: ...

class vec2b(_Vector[int8, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> int8: ...
    @x.setter
    def x(self, value: int8 | int) -> None: ...
    @property
    def y(self) -> int8: ...
    @y.setter
    def y(self, value: int8 | int) -> None: ...
    @typing.overload
    def __init__(self, value: int8 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: int8 | int | np.number[Any], y: int8 | int | np.number[Any], /) -> None: ...

class vec3b(_Vector[int8, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> int8: ...
    @x.setter
    def x(self, value: int8 | int) -> None: ...
    @property
    def y(self) -> int8: ...
    @y.setter
    def y(self, value: int8 | int) -> None: ...
    @property
    def z(self) -> int8: ...
    @z.setter
    def z(self, value: int8 | int) -> None: ...
    @typing.overload
    def __init__(self, value: int8 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: int8 | int | np.number[Any], y: int8 | int | np.number[Any], z: int8 | int | np.number[Any], /) -> None: ...

class vec4b(_Vector[int8, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> int8: ...
    @x.setter
    def x(self, value: int8 | int) -> None: ...
    @property
    def y(self) -> int8: ...
    @y.setter
    def y(self, value: int8 | int) -> None: ...
    @property
    def z(self) -> int8: ...
    @z.setter
    def z(self, value: int8 | int) -> None: ...
    @property
    def w(self) -> int8: ...
    @w.setter
    def w(self, value: int8 | int) -> None: ...
    @typing.overload
    def __init__(self, value: int8 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: int8 | int | np.number[Any], y: int8 | int | np.number[Any], z: int8 | int | np.number[Any], w: int8 | int | np.number[Any], /) -> None: ...

class vec2s(_Vector[int16, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> int16: ...
    @x.setter
    def x(self, value: int16 | int) -> None: ...
    @property
    def y(self) -> int16: ...
    @y.setter
    def y(self, value: int16 | int) -> None: ...
    @typing.overload
    def __init__(self, value: int16 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: int16 | int | np.number[Any], y: int16 | int | np.number[Any], /) -> None: ...

class vec3s(_Vector[int16, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> int16: ...
    @x.setter
    def x(self, value: int16 | int) -> None: ...
    @property
    def y(self) -> int16: ...
    @y.setter
    def y(self, value: int16 | int) -> None: ...
    @property
    def z(self) -> int16: ...
    @z.setter
    def z(self, value: int16 | int) -> None: ...
    @typing.overload
    def __init__(self, value: int16 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: int16 | int | np.number[Any], y: int16 | int | np.number[Any], z: int16 | int | np.number[Any], /) -> None: ...

class vec4s(_Vector[int16, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> int16: ...
    @x.setter
    def x(self, value: int16 | int) -> None: ...
    @property
    def y(self) -> int16: ...
    @y.setter
    def y(self, value: int16 | int) -> None: ...
    @property
    def z(self) -> int16: ...
    @z.setter
    def z(self, value: int16 | int) -> None: ...
    @property
    def w(self) -> int16: ...
    @w.setter
    def w(self, value: int16 | int) -> None: ...
    @typing.overload
    def __init__(self, value: int16 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: int16 | int | np.number[Any], y: int16 | int | np.number[Any], z: int16 | int | np.number[Any], w: int16 | int | np.number[Any], /) -> None: ...

class vec2l(_Vector[int64, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> int64: ...
    @x.setter
    def x(self, value: int64 | int) -> None: ...
    @property
    def y(self) -> int64: ...
    @y.setter
    def y(self, value: int64 | int) -> None: ...
    @typing.overload
    def __init__(self, value: int64 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: int64 | int | np.number[Any], y: int64 | int | np.number[Any], /) -> None: ...

class vec3l(_Vector[int64, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> int64: ...
    @x.setter
    def x(self, value: int64 | int) -> None: ...
    @property
    def y(self) -> int64: ...
    @y.setter
    def y(self, value: int64 | int) -> None: ...
    @property
    def z(self) -> int64: ...
    @z.setter
    def z(self, value: int64 | int) -> None: ...
    @typing.overload
    def __init__(self, value: int64 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: int64 | int | np.number[Any], y: int64 | int | np.number[Any], z: int64 | int | np.number[Any], /) -> None: ...

class vec4l(_Vector[int64, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> int64: ...
    @x.setter
    def x(self, value: int64 | int) -> None: ...
    @property
    def y(self) -> int64: ...
    @y.setter
    def y(self, value: int64 | int) -> None: ...
    @property
    def z(self) -> int64: ...
    @z.setter
    def z(self, value: int64 | int) -> None: ...
    @property
    def w(self) -> int64: ...
    @w.setter
    def w(self, value: int64 | int) -> None: ...
    @typing.overload
    def __init__(self, value: int64 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: int64 | int | np.number[Any], y: int64 | int | np.number[Any], z: int64 | int | np.number[Any], w: int64 | int | np.number[Any], /) -> None: ...

class vec2ub(_Vector[uint8, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> uint8: ...
    @x.setter
    def x(self, value: uint8 | int) -> None: ...
    @property
    def y(self) -> uint8: ...
    @y.setter
    def y(self, value: uint8 | int) -> None: ...
    @typing.overload
    def __init__(self, value: uint8 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: uint8 | int | np.number[Any], y: uint8 | int | np.number[Any], /) -> None: ...

class vec3ub(_Vector[uint8, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> uint8: ...
    @x.setter
    def x(self, value: uint8 | int) -> None: ...
    @property
    def y(self) -> uint8: ...
    @y.setter
    def y(self, value: uint8 | int) -> None: ...
    @property
    def z(self) -> uint8: ...
    @z.setter
    def z(self, value: uint8 | int) -> None: ...
    @typing.overload
    def __init__(self, value: uint8 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: uint8 | int | np.number[Any], y: uint8 | int | np.number[Any], z: uint8 | int | np.number[Any], /) -> None: ...

class vec4ub(_Vector[uint8, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> uint8: ...
    @x.setter
    def x(self, value: uint8 | int) -> None: ...
    @property
    def y(self) -> uint8: ...
    @y.setter
    def y(self, value: uint8 | int) -> None: ...
    @property
    def z(self) -> uint8: ...
    @z.setter
    def z(self, value: uint8 | int) -> None: ...
    @property
    def w(self) -> uint8: ...
    @w.setter
    def w(self, value: uint8 | int) -> None: ...
    @typing.overload
    def __init__(self, value: uint8 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: uint8 | int | np.number[Any], y: uint8 | int | np.number[Any], z: uint8 | int | np.number[Any], w: uint8 | int | np.number[Any], /) -> None: ...

class vec2us(_Vector[uint16, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> uint16: ...
    @x.setter
    def x(self, value: uint16 | int) -> None: ...
    @property
    def y(self) -> uint16: ...
    @y.setter
    def y(self, value: uint16 | int) -> None: ...
    @typing.overload
    def __init__(self, value: uint16 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: uint16 | int | np.number[Any], y: uint16 | int | np.number[Any], /) -> None: ...

class vec3us(_Vector[uint16, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> uint16: ...
    @x.setter
    def x(self, value: uint16 | int) -> None: ...
    @property
    def y(self) -> uint16: ...
    @y.setter
    def y(self, value: uint16 | int) -> None: ...
    @property
    def z(self) -> uint16: ...
    @z.setter
    def z(self, value: uint16 | int) -> None: ...
    @typing.overload
    def __init__(self, value: uint16 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: uint16 | int | np.number[Any], y: uint16 | int | np.number[Any], z: uint16 | int | np.number[Any], /) -> None: ...

class vec4us(_Vector[uint16, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> uint16: ...
    @x.setter
    def x(self, value: uint16 | int) -> None: ...
    @property
    def y(self) -> uint16: ...
    @y.setter
    def y(self, value: uint16 | int) -> None: ...
    @property
    def z(self) -> uint16: ...
    @z.setter
    def z(self, value: uint16 | int) -> None: ...
    @property
    def w(self) -> uint16: ...
    @w.setter
    def w(self, value: uint16 | int) -> None: ...
    @typing.overload
    def __init__(self, value: uint16 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: uint16 | int | np.number[Any], y: uint16 | int | np.number[Any], z: uint16 | int | np.number[Any], w: uint16 | int | np.number[Any], /) -> None: ...

class vec2ui(_Vector[uint32, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> uint32: ...
    @x.setter
    def x(self, value: uint32 | int) -> None: ...
    @property
    def y(self) -> uint32: ...
    @y.setter
    def y(self, value: uint32 | int) -> None: ...
    @typing.overload
    def __init__(self, value: uint32 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: uint32 | int | np.number[Any], y: uint32 | int | np.number[Any], /) -> None: ...

class vec3ui(_Vector[uint32, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> uint32: ...
    @x.setter
    def x(self, value: uint32 | int) -> None: ...
    @property
    def y(self) -> uint32: ...
    @y.setter
    def y(self, value: uint32 | int) -> None: ...
    @property
    def z(self) -> uint32: ...
    @z.setter
    def z(self, value: uint32 | int) -> None: ...
    @typing.overload
    def __init__(self, value: uint32 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: uint32 | int | np.number[Any], y: uint32 | int | np.number[Any], z: uint32 | int | np.number[Any], /) -> None: ...

class vec4ui(_Vector[uint32, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> uint32: ...
    @x.setter
    def x(self, value: uint32 | int) -> None: ...
    @property
    def y(self) -> uint32: ...
    @y.setter
    def y(self, value: uint32 | int) -> None: ...
    @property
    def z(self) -> uint32: ...
    @z.setter
    def z(self, value: uint32 | int) -> None: ...
    @property
    def w(self) -> uint32: ...
    @w.setter
    def w(self, value: uint32 | int) -> None: ...
    @typing.overload
    def __init__(self, value: uint32 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: uint32 | int | np.number[Any], y: uint32 | int | np.number[Any], z: uint32 | int | np.number[Any], w: uint32 | int | np.number[Any], /) -> None: ...

class vec2ul(_Vector[uint64, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> uint64: ...
    @x.setter
    def x(self, value: uint64 | int) -> None: ...
    @property
    def y(self) -> uint64: ...
    @y.setter
    def y(self, value: uint64 | int) -> None: ...
    @typing.overload
    def __init__(self, value: uint64 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: uint64 | int | np.number[Any], y: uint64 | int | np.number[Any], /) -> None: ...

class vec3ul(_Vector[uint64, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> uint64: ...
    @x.setter
    def x(self, value: uint64 | int) -> None: ...
    @property
    def y(self) -> uint64: ...
    @y.setter
    def y(self, value: uint64 | int) -> None: ...
    @property
    def z(self) -> uint64: ...
    @z.setter
    def z(self, value: uint64 | int) -> None: ...
    @typing.overload
    def __init__(self, value: uint64 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: uint64 | int | np.number[Any], y: uint64 | int | np.number[Any], z: uint64 | int | np.number[Any], /) -> None: ...

class vec4ul(_Vector[uint64, int]):
    """A vector. `vec3(1, 2, 3)`, `vec3(0.0)` (one value for all), `vec3([1, 2, 3])`, `vec3(vec3d(...))`."""
    @property
    def x(self) -> uint64: ...
    @x.setter
    def x(self, value: uint64 | int) -> None: ...
    @property
    def y(self) -> uint64: ...
    @y.setter
    def y(self, value: uint64 | int) -> None: ...
    @property
    def z(self) -> uint64: ...
    @z.setter
    def z(self, value: uint64 | int) -> None: ...
    @property
    def w(self) -> uint64: ...
    @w.setter
    def w(self, value: uint64 | int) -> None: ...
    @typing.overload
    def __init__(self, value: uint64 | int | np.number[Any] | _Numbers = ..., /) -> None: ...
    @typing.overload
    def __init__(self, x: uint64 | int | np.number[Any], y: uint64 | int | np.number[Any], z: uint64 | int | np.number[Any], w: uint64 | int | np.number[Any], /) -> None: ...

handle = uint64

mat22 = mat22f

mat33 = mat33f

mat44 = mat44f

quat = quatf

spatial_matrix = spatial_matrixf

spatial_transform = transformf

spatial_vector = spatial_vectorf

transform = transformf

vec2 = vec2f

vec3 = vec3f

vec4 = vec4f

from .config import DeterministicMode as DeterministicMode
from .config import LOG_DEBUG as LOG_DEBUG
from .config import LOG_ERROR as LOG_ERROR
from .config import LOG_INFO as LOG_INFO
from .config import LOG_WARNING as LOG_WARNING
from .logger import Logger as Logger
from .logger import ScopedLogLevel as ScopedLogLevel
from .logger import ScopedLogger as ScopedLogger
from .logger import get_logger as get_logger
from .logger import set_logger as set_logger
from .lang.values.value_classes import transform_expand as transform_expand
from .lang.overload import overload as overload
from .lang.custom_gradients import adjoint as adjoint
from .lang.custom_gradients import func_grad as func_grad
from .lang.custom_gradients import func_replay as func_replay
from .lang.custom_gradients import grad as grad
from .lang.kernel import Kernel as Kernel
from .lang.kernel import kernel_from_source as kernel_from_source
from .lang.intrinsics.native_snippet import func_native as func_native
from .lang.kernel_module import Module as Module
from .lang.kernel_module import get_module as get_module
from .lang.errors import CompileError as CompileError
from .lang.errors import InternalError as InternalError
from .lang.errors import KernelWarning as KernelWarning
from .lang.errors import WarpCodegenAttributeError as WarpCodegenAttributeError
from .lang.errors import WarpCodegenError as WarpCodegenError
from .lang.errors import WarpCodegenIndexError as WarpCodegenIndexError
from .lang.errors import WarpCodegenKeyError as WarpCodegenKeyError
from .lang.errors import WarpCodegenTypeError as WarpCodegenTypeError
from .lang.errors import WarpCodegenValueError as WarpCodegenValueError
from .lang.errors import WarpDeterminismError as WarpDeterminismError
from .lang.arrays import fixedarray as fixedarray
from .arrays.fabric_array import fabricarray as fabricarray
from .arrays.fabric_array import fabricarrayarray as fabricarrayarray
from .arrays.fabric_array import indexedfabricarray as indexedfabricarray
from .arrays.fabric_array import indexedfabricarrayarray as indexedfabricarrayarray
@typing.overload
def clone(src: _A, device: Device | str | None = None, requires_grad: builtins.bool | None = None, pinned: Any = None, retain_grad: builtins.bool = False) -> _A:
    """A copy of an array in C order, gradient included.

    Args:
        src: An array, or anything `wp.array` takes as data.
        device: Where to allocate; the device of `src` if left out.
        requires_grad: Whether to have a gradient; like `src` if left out. With False, nothing flows through the copy.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.

    Returns:
        The copy.

    >>> wp.clone(wp.ones(2)).list()
    [1.0, 1.0]
    """
@typing.overload
def clone(src: Any, device: Device | str | None = None, requires_grad: builtins.bool | None = None, pinned: Any = None, retain_grad: builtins.bool = False) -> Any: ...

@typing.overload
def empty(shape: int, dtype: type[_DType] = ..., device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, *, n: Any = None, length: Any = None, ndim: int | None = None) -> array[_DType]:
    """An array whose elements are not set.

    Args:
        shape: One extent or up to four; 0 if left out.
        dtype: The element type.
        device: Where to allocate; the default device if left out.
        requires_grad: Allocate a zeroed gradient too.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.
        n: An older spelling of `shape`.
        length: An older spelling of `shape`.
        ndim: How many extents `shape` has, if the caller wants that checked.

    Returns:
        The array, in C order.

    Raises:
        TypeError: If `dtype` is no type of the language, or `shape` no shape.
        ValueError: If an extent is negative, there are more than four, or not `ndim`.

    >>> wp.empty((2, 3), dtype=float).shape
    (2, 3)
    """
@typing.overload
def empty(shape: tuple[int, int], dtype: type[_DType] = ..., device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, *, n: Any = None, length: Any = None, ndim: int | None = None) -> array2d[_DType]: ...
@typing.overload
def empty(shape: tuple[int, int, int], dtype: type[_DType] = ..., device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, *, n: Any = None, length: Any = None, ndim: int | None = None) -> array3d[_DType]: ...
@typing.overload
def empty(shape: tuple[int, int, int, int], dtype: type[_DType] = ..., device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, *, n: Any = None, length: Any = None, ndim: int | None = None) -> array4d[_DType]: ...
@typing.overload
def empty(shape: _Shape | None = None, dtype: type[_DType] = ..., device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, *, n: Any = None, length: Any = None, ndim: int | None = None) -> array[_DType]: ...

@typing.overload
def empty_like(src: _A, device: Device | str | None = None, requires_grad: builtins.bool | None = None, pinned: Any = None, retain_grad: builtins.bool = False) -> _A:
    """An array of the shape and dtype of `src`, in C order, whose elements are not set.

    Args:
        src: An array, or anything `array` takes as data.
        device: Where to allocate; the device of `src` if left out.
        requires_grad: Whether to have a gradient; like `src` if left out.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.

    Returns:
        The array.

    >>> wp.empty_like(wp.zeros((2, 3))).shape
    (2, 3)
    """
@typing.overload
def empty_like(src: Any, device: Device | str | None = None, requires_grad: builtins.bool | None = None, pinned: Any = None, retain_grad: builtins.bool = False) -> Any: ...

@typing.overload
def from_dlpack(source: Any, dtype: type[_DType]) -> array[_DType]:
    """An array that shares the memory of an object with the DLPack protocol. Nothing is ever copied.

    The current stream of a GPU waits for what the object's library still does there; with a capsule, whoever has made
    it has seen to that.

    Args:
        source: The object, or a capsule, as `to_dlpack` makes them; its memory is on the CPU or a GPU.
        dtype: The element type; trailing dimensions become components. Signed and unsigned numbers of one size may
            stand for each other, and a bool for a uint8. If left out, elements are scalars.

    Returns:
        The array, which shares the memory. It is read-only if the object says that the memory is.

    Raises:
        TypeError: The memory does not hold elements of the dtype.
        ValueError: It cannot be used in place: components are not contiguous, or there is no memory.
        BufferError, RuntimeError: The object does not offer its memory.

    >>> wp.from_dlpack(np.arange(3.0)).list()
    [0.0, 1.0, 2.0]
    """
@typing.overload
def from_dlpack(source: Any, dtype: None = None) -> Any: ...

@typing.overload
def from_numpy(arr: np.ndarray[Any, Any], dtype: type[_DType], shape: _Shape | None = None, device: Device | str | None = None, requires_grad: builtins.bool = False, retain_grad: builtins.bool = False, pinned: builtins.bool = False) -> array[_DType]:
    """An array with a copy of the data of a NumPy array.

    Args:
        arr: The NumPy array.
        dtype: The element type. If left out, arrays of two dimensions give vectors, of three matrices, else scalars.
        shape: The shape to give the array.
        device: Where to allocate; the default device if left out.
        requires_grad: Allocate a zeroed gradient too.
        retain_grad: As for `array`.
        pinned: As for `array`.

    Returns:
        The array.

    Raises:
        TypeError: If `arr` is no NumPy array.

    >>> wp.from_numpy(np.zeros((4, 3), np.float32)).dtype.__name__
    'vec3f'
    """
@typing.overload
def from_numpy(arr: np.ndarray[Any, Any], dtype: None = None, shape: _Shape | None = None, device: Device | str | None = None, requires_grad: builtins.bool = False, retain_grad: builtins.bool = False, pinned: builtins.bool = False) -> Any: ...

@typing.overload
def from_ptr(ptr: int, length: int, dtype: type[_DType], shape: _Shape | None = None, device: Device | str | None = None) -> array[_DType]:
    """An array over existing memory; like `wp.array(ptr=..., shape=..., dtype=...)`.

    Args:
        ptr: The address; the caller keeps the memory alive.
        length: How many elements.
        dtype: The element type; float32 if left out.
        shape: The shape, in place of `length`.
        device: Where the memory is.

    Returns:
        The array, which shares the memory.

    >>> owner = wp.array([1.0, 2.0], dtype=float)
    >>> wp.from_ptr(owner.ptr, 2, dtype=float).list()
    [1.0, 2.0]
    """
@typing.overload
def from_ptr(ptr: int, length: int, dtype: None = None, shape: _Shape | None = None, device: Device | str | None = None) -> Any: ...

@typing.overload
def full(shape: int, value: Any, dtype: type[_DType], device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> array[_DType]:
    """An array of copies of `value`.

    Args:
        shape: One extent or up to four.
        value: A number, a value of the dtype, or a sequence of its components.
        dtype: The element type; taken from `value` if left out.
        device: Where to allocate; the default device if left out.
        requires_grad: Allocate a zeroed gradient too.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.
        kwargs: `n` or `length`, older spellings of `shape`; `ndim`, as for `empty`.

    Returns:
        The array.

    Raises:
        TypeError, ValueError: If `value` is not a value of the dtype.

    >>> wp.full(2, 1.5).list()
    [1.5, 1.5]
    """
@typing.overload
def full(shape: tuple[int, int], value: Any, dtype: type[_DType], device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> array2d[_DType]: ...
@typing.overload
def full(shape: tuple[int, int, int], value: Any, dtype: type[_DType], device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> array3d[_DType]: ...
@typing.overload
def full(shape: tuple[int, int, int, int], value: Any, dtype: type[_DType], device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> array4d[_DType]: ...
@typing.overload
def full(shape: _Shape | None, value: Any, dtype: type[_DType], device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> array[_DType]: ...
@typing.overload
def full(shape: _Shape | None = None, value: Any = 0, dtype: None = None, device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> Any: ...

@typing.overload
def full_like(src: _A, value: Any, device: Device | str | None = None, requires_grad: builtins.bool | None = None, pinned: Any = None, retain_grad: builtins.bool = False) -> _A:
    """Copies of `value` in the shape and dtype of `src`.

    Args:
        src: An array, or anything `wp.array` takes as data.
        value: A number, a value of the dtype, or a sequence of its components.
        device: Where to allocate; the device of `src` if left out.
        requires_grad: Whether to have a gradient; like `src` if left out.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.

    Returns:
        The array.

    >>> wp.full_like(wp.zeros(2), 7.0).list()
    [7.0, 7.0]
    """
@typing.overload
def full_like(src: Any, value: Any, device: Device | str | None = None, requires_grad: builtins.bool | None = None, pinned: Any = None, retain_grad: builtins.bool = False) -> Any: ...

@typing.overload
def ones(shape: int, dtype: type[_DType] = ..., device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> array[_DType]:
    """An array whose components are all one.

    Args:
        shape: One extent or up to four; 0 if left out.
        dtype: The element type.
        device: Where to allocate; the default device if left out.
        requires_grad: Allocate a zeroed gradient too.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.
        kwargs: `n` or `length`, older spellings of `shape`; `ndim`, as for `empty`.

    Returns:
        The array.

    Raises:
        TypeError: If `dtype` is no type of the language, or `shape` no shape.
        ValueError: If an extent is negative or there are more than four.

    >>> wp.ones(2, dtype=int).list()
    [1, 1]
    """
@typing.overload
def ones(shape: tuple[int, int], dtype: type[_DType] = ..., device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> array2d[_DType]: ...
@typing.overload
def ones(shape: tuple[int, int, int], dtype: type[_DType] = ..., device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> array3d[_DType]: ...
@typing.overload
def ones(shape: tuple[int, int, int, int], dtype: type[_DType] = ..., device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> array4d[_DType]: ...
@typing.overload
def ones(shape: _Shape | None = None, dtype: type[_DType] = ..., device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> array[_DType]: ...

@typing.overload
def ones_like(src: _A, device: Device | str | None = None, requires_grad: builtins.bool | None = None, pinned: Any = None, retain_grad: builtins.bool = False) -> _A:
    """Ones in the shape and dtype of `src`.

    Args:
        src: An array, or anything `wp.array` takes as data.
        device: Where to allocate; the device of `src` if left out.
        requires_grad: Whether to have a gradient; like `src` if left out.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.

    Returns:
        The array.

    >>> wp.ones_like(wp.zeros(2)).list()
    [1.0, 1.0]
    """
@typing.overload
def ones_like(src: Any, device: Device | str | None = None, requires_grad: builtins.bool | None = None, pinned: Any = None, retain_grad: builtins.bool = False) -> Any: ...

def to_dlpack(wp_array: _Array[Any]) -> Any:
    """A DLPack capsule of an array's memory, for libraries that do not take the array itself.

    Args:
        wp_array: The array; it is kept alive by the capsule. Of one on a GPU the capsule is for the legacy default
            stream; for another, call `wp_array.__dlpack__(stream=handle)`.

    Returns:
        The capsule, to be used once.

    >>> wp.from_dlpack(wp.to_dlpack(wp.ones(2))).list()
    [1.0, 1.0]
    """

@typing.overload
def zeros(shape: int, dtype: type[_DType] = ..., device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> array[_DType]:
    """An array of zeros.

    Args:
        shape: One extent or up to four; 0 if left out.
        dtype: The element type.
        device: Where to allocate; the default device if left out.
        requires_grad: Allocate a zeroed gradient too.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.
        kwargs: `n` or `length`, older spellings of `shape`; `ndim`, as for `empty`.

    Returns:
        The array.

    Raises:
        TypeError: If `dtype` is no type of the language, or `shape` no shape.
        ValueError: If an extent is negative or there are more than four.

    >>> wp.zeros(2, dtype=int).list()
    [0, 0]
    """
@typing.overload
def zeros(shape: tuple[int, int], dtype: type[_DType] = ..., device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> array2d[_DType]: ...
@typing.overload
def zeros(shape: tuple[int, int, int], dtype: type[_DType] = ..., device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> array3d[_DType]: ...
@typing.overload
def zeros(shape: tuple[int, int, int, int], dtype: type[_DType] = ..., device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> array4d[_DType]: ...
@typing.overload
def zeros(shape: _Shape | None = None, dtype: type[_DType] = ..., device: Device | str | None = None, requires_grad: builtins.bool = False, pinned: builtins.bool = False, retain_grad: builtins.bool = False, **kwargs: Any) -> array[_DType]: ...

@typing.overload
def zeros_like(src: _A, device: Device | str | None = None, requires_grad: builtins.bool | None = None, pinned: Any = None, retain_grad: builtins.bool = False) -> _A:
    """Zeros in the shape and dtype of `src`.

    Args:
        src: An array, or anything `wp.array` takes as data.
        device: Where to allocate; the device of `src` if left out.
        requires_grad: Whether to have a gradient; like `src` if left out.
        pinned: On the CPU, whether the memory is pinned, for fast copies from and to GPUs.
        retain_grad: As for `array`.

    Returns:
        The array.

    >>> wp.zeros_like(wp.ones(2)).list()
    [0.0, 0.0]
    """
@typing.overload
def zeros_like(src: Any, device: Device | str | None = None, requires_grad: builtins.bool | None = None, pinned: Any = None, retain_grad: builtins.bool = False) -> Any: ...

from .arrays.transfer import copy as copy
from .arrays.memory_tracker import ScopedMemoryTracker as ScopedMemoryTracker
from .arrays.memory_tracker import print_memory_report as print_memory_report
from .arrays.memory_kind import MemoryKind as MemoryKind
from .arrays.memory_kind import can_access as can_access
from .arrays.dtypes import dtype_from_numpy as dtype_from_numpy
from .arrays.dtypes import dtype_to_numpy as dtype_to_numpy
from .devices.device import Device as Device
from .devices.device import DeviceLike as DeviceLike
from .devices.device import ScopedDevice as ScopedDevice
from .devices.device import get_cuda_device as get_cuda_device
from .devices.device import get_cuda_device_count as get_cuda_device_count
from .devices.device import get_cuda_devices as get_cuda_devices
from .devices.device import get_device as get_device
from .devices.device import get_devices as get_devices
from .devices.device import get_preferred_device as get_preferred_device
from .devices.device import is_cpu_available as is_cpu_available
from .devices.device import is_cuda_available as is_cuda_available
from .devices.device import is_device_available as is_device_available
from .devices.device import set_device as set_device
from .devices.stream import Event as Event
from .devices.stream import ScopedStream as ScopedStream
from .devices.stream import Stream as Stream
from .devices.stream import get_event_elapsed_time as get_event_elapsed_time
from .devices.stream import get_stream as get_stream
from .devices.stream import record_event as record_event
from .devices.stream import set_stream as set_stream
from .devices.stream import synchronize as synchronize
from .devices.stream import synchronize_device as synchronize_device
from .devices.stream import synchronize_event as synchronize_event
from .devices.stream import synchronize_stream as synchronize_stream
from .devices.stream import wait_event as wait_event
from .devices.stream import wait_stream as wait_stream
from .devices.mempool import MemoryReport as MemoryReport
from .devices.mempool import ScopedMempool as ScopedMempool
from .devices.mempool import ScopedMempoolAccess as ScopedMempoolAccess
from .devices.mempool import ScopedPeerAccess as ScopedPeerAccess
from .devices.mempool import get_memory_report as get_memory_report
from .devices.mempool import get_mempool_release_threshold as get_mempool_release_threshold
from .devices.mempool import get_mempool_used_mem_current as get_mempool_used_mem_current
from .devices.mempool import get_mempool_used_mem_high as get_mempool_used_mem_high
from .devices.mempool import is_mempool_access_enabled as is_mempool_access_enabled
from .devices.mempool import is_mempool_access_supported as is_mempool_access_supported
from .devices.mempool import is_mempool_enabled as is_mempool_enabled
from .devices.mempool import is_mempool_supported as is_mempool_supported
from .devices.mempool import is_peer_access_enabled as is_peer_access_enabled
from .devices.mempool import is_peer_access_supported as is_peer_access_supported
from .devices.mempool import set_mempool_access_enabled as set_mempool_access_enabled
from .devices.mempool import set_mempool_enabled as set_mempool_enabled
from .devices.mempool import set_mempool_release_threshold as set_mempool_release_threshold
from .devices.mempool import set_peer_access_enabled as set_peer_access_enabled
from .devices.timer import ScopedTimer as ScopedTimer
from .devices.timing import TIMING_ALL as TIMING_ALL
from .devices.timing import TIMING_GRAPH as TIMING_GRAPH
from .devices.timing import TIMING_KERNEL as TIMING_KERNEL
from .devices.timing import TIMING_KERNEL_BUILTIN as TIMING_KERNEL_BUILTIN
from .devices.timing import TIMING_MEMCPY as TIMING_MEMCPY
from .devices.timing import TIMING_MEMSET as TIMING_MEMSET
from .devices.timing import TimingResult as TimingResult
from .devices.timing import timing_begin as timing_begin
from .devices.timing import timing_end as timing_end
from .devices.timing import timing_print as timing_print
from .devices.trace_file import ScopedTrace as ScopedTrace
from .devices.cuda_versions import get_cuda_driver_version as get_cuda_driver_version
from .devices.cuda_versions import get_cuda_supported_archs as get_cuda_supported_archs
from .devices.cuda_versions import get_cuda_toolkit_version as get_cuda_toolkit_version
from .system_report import print_diagnostics as print_diagnostics
from .launches.launch import Launch as Launch
from .launches.launch import init as init
from .launches.launch import launch_tiled as launch_tiled
from .graphs.graph import CaptureMode as CaptureMode
from .graphs.graph import Graph as Graph
from .graphs.graph import ScopedCapture as ScopedCapture
from .graphs.graph import capture_begin as capture_begin
from .graphs.graph import capture_debug_dot_print as capture_debug_dot_print
from .graphs.graph import capture_end as capture_end
from .graphs.graph import capture_if as capture_if
from .graphs.graph import capture_launch as capture_launch
from .graphs.graph import capture_while as capture_while
from .graphs.graph import is_conditional_graph_supported as is_conditional_graph_supported
from .graphs.capture_save import capture_load as capture_load
from .graphs.capture_save import capture_load_from_bytes as capture_load_from_bytes
from .graphs.capture_save import capture_save as capture_save
from .tape.tape import Tape as Tape
def checkpointed(step: Callable[[int], Any], n: int, state: Sequence[_Array[Any]], memory_budget: int | None = None, progress: builtins.bool | None = None) -> None:
    """Run `step(0)`, ... `step(n - 1)`; on a tape, such that gradients flow back through all of them in a fixed memory.

    The tape keeps snapshots of the state, as many as fit into the budget, and runs steps again from these when it goes
    backwards. The number of steps that run again is the least possible (A. Griewank, A. Walther, Algorithm 799:
    revolve, ACM Transactions on Mathematical Software 26, 2000). Gradients are those of a tape that records all steps.
    A step may call `checkpointed` for steps of its own.

    Args:
        step: launches what one step consists of; it gets the step's number. It will be called many times for each
            number and must do the same every time.
        n: the number of steps.
        state: the arrays that hand over from step to step. Others may be written if no step reads what an earlier
            one wrote: where a step begins by overwriting all of them, or steps never read them.
        memory_budget: the bytes that snapshots may take; by default what the tape may take, or 256 MiB.
        progress: whether to show a progress bar, which takes the package rich; by default after a second on a terminal.

    Raises:
        ValueError: if not even one snapshot fits into the budget.
        RuntimeError: if a step cannot run again, since it depends on more than its number and the state. `backward`
            raises it where that shows only then.

    >>> @wp.kernel
    ... def grow(x: wp.array[float], rate: wp.array[float]):
    ...     i = wp.tid()
    ...     x[i] = x[i] * rate[0]
    >>> x = wp.ones(1, dtype=float, requires_grad=True)
    >>> rate = wp.full(1, 0.5, dtype=float, requires_grad=True)
    >>> tape = wp.Tape()
    >>> with tape:
    ...     wp.checkpointed(lambda i: wp.launch(grow, dim=1, inputs=[x, rate]), 10, state=[x])
    >>> tape.backward(x)
    >>> rate.grad.list() == [10 * 0.5**9]
    True
    """

from .forward_mode.jvp import jvp as jvp
from .geometry.bvh import Bvh as Bvh
from .geometry.hash_grid import HashGrid as HashGrid
from .geometry.mesh import Mesh as Mesh
from .lib.geometry.bvh_queries import BvhQuery as BvhQuery
from .lib.geometry.hash_grid_queries import HashGridQuery as HashGridQuery
from .lib.geometry.mesh_boxes import MeshQueryAABB as MeshQueryAABB
from .lib.geometry.mesh_boxes import MeshQuerySphere as MeshQuerySphere
from .lib.geometry.mesh_points import MeshQueryPoint as MeshQueryPoint
from .lib.geometry.mesh_rays import MeshQueryRay as MeshQueryRay
from .lib.geometry.mesh_views import MeshArrays as MeshArrays
from .volumes.volume import Volume as Volume
from .textures.texture import Texture as Texture
from .textures.texture import Texture1D as Texture1D
from .textures.texture import Texture2D as Texture2D
from .textures.texture import Texture3D as Texture3D
from .textures.texture_modes import TextureAddressMode as TextureAddressMode
from .textures.texture_modes import TextureFilterMode as TextureFilterMode
from .textures.texture_modes import TextureResourceFlags as TextureResourceFlags
from .geometry.surfaces.marching_cubes import MarchingCubes as MarchingCubes
def map(func: Callable, *inputs: Any, out: _Array[Any] | Sequence[_Array[Any]] | None = None, return_kernel: builtins.bool = False, block_dim: int | None = None, device: Device | str | None = None) -> Any:
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

def batched_matmul(a: _Array[Any], b: _Array[Any], c: _Array[Any], d: _Array[Any], alpha: float = ..., beta: float = ..., allow_tf32x3_arith: builtins.bool = False, device: Device | str | None = None) -> None:
    """`matmul` of as many matrices as the first dimension of the arrays says, and record it on a tape.

    Args:
        a: Shape (batch, m, k), of float16, bfloat16, float32 or float64.
        b: Shape (batch, k, n), of the same type.
        c: Shape (batch, m, n), of the same type; not read where `beta` is 0.
        d: Shape (batch, m, n), of the same type. Operands that share its memory are copied first, unless `c` is `d`.
        alpha: The factor of the products.
        beta: The factor of `c`.
        allow_tf32x3_arith: Accepted; float32 is multiplied as such.
        device: Where the arrays are; they tell by themselves.

    Raises:
        TypeError, ValueError: As for `matmul`.

    >>> a = wp.array([[[1.0, 2.0]], [[3.0, 4.0]]], dtype=float)
    >>> b = wp.array([[[1.0], [1.0]], [[2.0], [2.0]]], dtype=float)
    >>> d = wp.empty((2, 1, 1))
    >>> wp.batched_matmul(a, b, d, d)
    >>> d.numpy().ravel().tolist()
    [3.0, 14.0]
    """

def matmul(a: _Array[Any], b: _Array[Any], c: _Array[Any], d: _Array[Any], alpha: float = ..., beta: float = ..., allow_tf32x3_arith: builtins.bool = False, device: Device | str | None = None) -> None:
    """Write `alpha * (a @ b) + beta * c` to `d`, and record it on a tape.

    Args:
        a: A matrix of float16, bfloat16, float32 or float64: an array of shape (m, k). Views, transposed ones too, are
            fine.
        b: Shape (k, n), of the same type.
        c: Shape (m, n), of the same type; not read where `beta` is 0.
        d: Shape (m, n), of the same type. Operands that share its memory are copied first, unless `c` is `d`.
        alpha: The factor of the product.
        beta: The factor of `c`.
        allow_tf32x3_arith: Accepted; float32 is multiplied as such.
        device: Where the arrays are; they tell by themselves.

    Products of float16 and bfloat16 are summed up in float32 and rounded once.

    Raises:
        TypeError: If an argument is no array of these types, or the types differ.
        ValueError: If shapes do not fit, arrays are on different devices, or `d` is read-only.

    >>> a = wp.array([[1.0, 2.0], [3.0, 4.0]], dtype=float)
    >>> c, d = wp.ones((2, 2)), wp.empty((2, 2))
    >>> wp.matmul(a, a, c, d, beta=0.5)
    >>> d.numpy().tolist()
    [[7.5, 10.5], [15.5, 22.5]]
    """

from .launches.ahead_of_time import compile_aot_module as compile_aot_module
from .launches.ahead_of_time import load_aot_module as load_aot_module
from .launches.modules import force_load as force_load
from .launches.modules import get_module_options as get_module_options
from .launches.modules import load_module as load_module
from .launches.modules import set_module_options as set_module_options
from .interop.torch import device_from_torch as device_from_torch
from .interop.torch import device_to_torch as device_to_torch
from .interop.torch import dtype_from_torch as dtype_from_torch
from .interop.torch import dtype_to_torch as dtype_to_torch
from .interop.torch import from_torch as from_torch
from .interop.torch import stream_from_torch as stream_from_torch
from .interop.torch import stream_to_torch as stream_to_torch
from .interop.torch import to_torch as to_torch
from .interop.torch_kernel import torch_callable as torch_callable
from .interop.torch_kernel import torch_kernel as torch_kernel
from .launches.kernel_cache import clear_kernel_cache as clear_kernel_cache
from .launches.kernel_cache import clear_lto_cache as clear_lto_cache
from .launches.block_size import get_suggested_block_size as get_suggested_block_size
from .launches.kernel_errors import KernelError as KernelError
from .interop.jax import device_from_jax as device_from_jax
from .interop.jax import device_to_jax as device_to_jax
from .interop.jax import dtype_from_jax as dtype_from_jax
from .interop.jax import dtype_to_jax as dtype_to_jax
@typing.overload
def from_jax(jax_array: Any, dtype: type[_DType]) -> array[_DType]:
    """Show an array of JAX as an array of this package, over the same memory.

    The result is read-only, as arrays of JAX never change: kernels that write it refuse. `wp.clone` copies it.

    Args:
        jax_array: The array. The call waits until JAX has computed it.
        dtype: The element type: a scalar like that of the array, or a vector or matrix type, whose components are the
            last dimensions. By default the scalar.

    Raises:
        TypeError: `jax_array` is not an array of JAX, or is traced, or has another type of numbers than the elements.
        ValueError: It is in several shards, or JAX has deleted it.

    >>> import jax.numpy as jnp                                                       # doctest: +SKIP
    >>> wp.from_jax(jnp.ones((4, 3)), dtype=wp.vec3).shape                            # doctest: +SKIP
    (4,)
    """
@typing.overload
def from_jax(jax_array: Any, dtype: None = None) -> Any: ...

from .interop.jax import to_jax as to_jax
from .interop.jax_callable import JaxCallableGraphMode as JaxCallableGraphMode
from .interop.jax_callable import clear_jax_callable_graph_cache as clear_jax_callable_graph_cache
from .interop.jax_callable import jax_callable as jax_callable
from .interop.jax_callback import register_ffi_callback as register_ffi_callback
from .interop.jax_kernel import JaxModulePreloadMode as JaxModulePreloadMode
from .interop.jax_kernel import jax_kernel as jax_kernel
from .interop.paddle import device_from_paddle as device_from_paddle
from .interop.paddle import device_to_paddle as device_to_paddle
from .interop.paddle import dtype_from_paddle as dtype_from_paddle
from .interop.paddle import dtype_to_paddle as dtype_to_paddle
from .interop.paddle import from_paddle as from_paddle
from .interop.paddle import stream_from_paddle as stream_from_paddle
from .interop.paddle import to_paddle as to_paddle
_A = TypeVar("_A", bound=_Array[Any])
_ScalarOrVector1 = TypeVar("_ScalarOrVector1", float, spatial_vectorf, vec2f, vec3f, vec4f, float64, spatial_vectord, vec2d, vec3d, vec4d, float16, spatial_vectorh, vec2h, vec3h, vec4h, bfloat16, int, vec2i, vec3i, vec4i, int8, vec2b, vec3b, vec4b, int16, vec2s, vec3s, vec4s, int64, vec2l, vec3l, vec4l, uint8, vec2ub, vec3ub, vec4ub, uint16, vec2us, vec3us, vec4us, uint32, vec2ui, vec3ui, vec4ui, uint64, vec2ul, vec3ul, vec4ul)
_Scalar1 = TypeVar("_Scalar1", float, float64, float16, bfloat16)
_Scalar2 = TypeVar("_Scalar2", float, float64, float16, bfloat16, int, int8, int16, int64, uint8, uint16, uint32, uint64)
_Vector1 = TypeVar("_Vector1", vec3f, vec3d, vec3h, vec3i, vec3b, vec3s, vec3l, vec3ub, vec3us, vec3ui, vec3ul)
_MatrixOrVector1 = TypeVar("_MatrixOrVector1", mat22f, mat33f, mat44f, spatial_matrixf, spatial_vectorf, vec2f, vec3f, vec4f, mat22d, mat33d, mat44d, spatial_matrixd, spatial_vectord, vec2d, vec3d, vec4d, mat22h, mat33h, mat44h, spatial_matrixh, spatial_vectorh, vec2h, vec3h, vec4h, vec2i, vec3i, vec4i, vec2b, vec3b, vec4b, vec2s, vec3s, vec4s, vec2l, vec3l, vec4l, vec2ub, vec3ub, vec4ub, vec2us, vec3us, vec4us, vec2ui, vec3ui, vec4ui, vec2ul, vec3ul, vec4ul)
_Matrix1 = TypeVar("_Matrix1", mat22f, mat33f, mat44f, spatial_matrixf)
_Matrix2 = TypeVar("_Matrix2", mat22d, mat33d, mat44d, spatial_matrixd)
_Matrix3 = TypeVar("_Matrix3", mat22h, mat33h, mat44h, spatial_matrixh)
_MatrixOrQuaternionOrScalarOrVector1 = TypeVar("_MatrixOrQuaternionOrScalarOrVector1", float, mat22f, mat33f, mat44f, quatf, spatial_matrixf, spatial_vectorf, vec2f, vec3f, vec4f)
_MatrixOrQuaternionOrScalarOrVector2 = TypeVar("_MatrixOrQuaternionOrScalarOrVector2", float64, mat22d, mat33d, mat44d, quatd, spatial_matrixd, spatial_vectord, vec2d, vec3d, vec4d)
_MatrixOrQuaternionOrScalarOrVector3 = TypeVar("_MatrixOrQuaternionOrScalarOrVector3", float16, mat22h, mat33h, mat44h, quath, spatial_matrixh, spatial_vectorh, vec2h, vec3h, vec4h)
_QuaternionOrVector1 = TypeVar("_QuaternionOrVector1", quatf, spatial_vectorf, vec2f, vec3f, vec4f)
_QuaternionOrVector2 = TypeVar("_QuaternionOrVector2", quatd, spatial_vectord, vec2d, vec3d, vec4d)
_QuaternionOrVector3 = TypeVar("_QuaternionOrVector3", quath, spatial_vectorh, vec2h, vec3h, vec4h)
_Vector2 = TypeVar("_Vector2", vec2i, vec3i, vec4i)
_Vector3 = TypeVar("_Vector3", vec2b, vec3b, vec4b)
_Vector4 = TypeVar("_Vector4", vec2s, vec3s, vec4s)
_Vector5 = TypeVar("_Vector5", vec2l, vec3l, vec4l)
_Vector6 = TypeVar("_Vector6", vec2ub, vec3ub, vec4ub)
_Vector7 = TypeVar("_Vector7", vec2us, vec3us, vec4us)
_Vector8 = TypeVar("_Vector8", vec2ui, vec3ui, vec4ui)
_Vector9 = TypeVar("_Vector9", vec2ul, vec3ul, vec4ul)
_Vector10 = TypeVar("_Vector10", vec3f, vec3d, vec3h)
_Matrix4 = TypeVar("_Matrix4", mat22f, mat33f, mat44f, mat22d, mat33d, mat44d, mat22h, mat33h, mat44h)
_MatrixOrScalar1 = TypeVar("_MatrixOrScalar1", float, mat22f, mat33f, mat44f, float64, mat22d, mat33d, mat44d, float16, mat22h, mat33h, mat44h, bfloat16)
_MatrixOrQuaternionOrScalarOrTransformOrVector1 = TypeVar("_MatrixOrQuaternionOrScalarOrTransformOrVector1", float, mat22f, mat33f, mat44f, quatf, spatial_matrixf, spatial_vectorf, transformf, vec2f, vec3f, vec4f)
_MatrixOrQuaternionOrScalarOrTransformOrVector2 = TypeVar("_MatrixOrQuaternionOrScalarOrTransformOrVector2", float64, mat22d, mat33d, mat44d, quatd, spatial_matrixd, spatial_vectord, transformd, vec2d, vec3d, vec4d)
_MatrixOrQuaternionOrScalarOrTransformOrVector3 = TypeVar("_MatrixOrQuaternionOrScalarOrTransformOrVector3", float16, mat22h, mat33h, mat44h, quath, spatial_matrixh, spatial_vectorh, transformh, vec2h, vec3h, vec4h)
_QuaternionOrVector4 = TypeVar("_QuaternionOrVector4", quatf, spatial_vectorf, vec2f, vec3f, vec4f, quatd, spatial_vectord, vec2d, vec3d, vec4d, quath, spatial_vectorh, vec2h, vec3h, vec4h)
_Matrix5 = TypeVar("_Matrix5", mat33f, mat33d, mat33h)
_Quaternion1 = TypeVar("_Quaternion1", quatf, quatd, quath)
_Vector11 = TypeVar("_Vector11", spatial_vectorf, spatial_vectord, spatial_vectorh)
_Transform1 = TypeVar("_Transform1", transformf, transformd, transformh)
_Matrix6 = TypeVar("_Matrix6", mat22f, mat33f, mat44f, spatial_matrixf, mat22d, mat33d, mat44d, spatial_matrixd, mat22h, mat33h, mat44h, spatial_matrixh)

def abs(x: _ScalarOrVector1) -> _ScalarOrVector1:
    """Magnitude of `x`.

    Args:
        x: a number, or a vector (componentwise).

    Returns:
        |x|, of the type of `x`. The most negative integer stays as it is.

    Error: exact.
    Derivative: the sign of `x`, 1 at zero.

    >>> wp.abs(-2.5)
    2.5
    """

def acos(x: _Scalar1) -> _Scalar1:
    """Inverse cosine of `x`.

    Args:
        x: a number; beyond -1 and 1 it counts as those, for dot products of unit vectors may be off by a rounding.

    Returns:
        The angle in [0, pi] whose cosine is `x`.

    Error: float32 1.27 ULP; float64 1 ULP with the GNU C library.
    Derivative: -1 / sqrt(1 - x**2); 0 from -1 down and from 1 up.

    >>> round(wp.acos(0.5), 6)
    1.047198
    """

def add(a: Any, b: Any) -> Any:
    """`a + b` as a function.

    Args:
        a: a number, vector, matrix or any other value that the operator takes.
        b: another that goes with it.

    Returns:
        The sum.

    Error: one rounding for each component.
    Derivative: 1 in both.

    >>> wp.add(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
    vec2f([4.0, 6.0])
    """

@typing.overload
def address(arr: Any, i: Any) -> Any:
    """Element of an array: `arr[i]` as a function, which `wp.load` and `wp.store` take as the place it is.

    Args:
        arr: an array.
        i: an index for each dimension.

    Returns:
        The element.

    Derivative: 1 in the element.

    >>> @wp.kernel
    ... def double(x: wp.array[float]):
    ...     i = wp.tid()
    ...     wp.store(wp.address(x, i), 2.0 * wp.address(x, i))
    >>> x = wp.ones(2, dtype=float)
    >>> wp.launch(double, dim=2, inputs=[x])
    >>> x.list()
    [2.0, 2.0]
    """
@typing.overload
def address(arr: Any, i: Any, j: Any) -> Any: ...
@typing.overload
def address(arr: Any, i: Any, j: Any, k: Any) -> Any: ...
@typing.overload
def address(arr: Any, i: Any, j: Any, k: Any, l: Any) -> Any: ...
@typing.overload
def address(arr: Any) -> Any: ...

@typing.overload
def address_of(arr: Any, i: Any) -> Any:
    """Address of an element in memory. Only interpreted kernels have it; compiled ones refuse it.

    Args:
        arr: an array.
        i: an index for each dimension.

    Returns:
        The address in bytes.

    >>> @wp.kernel
    ... def distance(x: wp.array[float], out: wp.array[wp.uint64]):
    ...     out[0] = wp.address_of(x, 1) - wp.address_of(x, 0)
    >>> out = wp.zeros(1, dtype=wp.uint64)
    >>> wp.launch(distance, dim=1, inputs=[wp.zeros(2, dtype=float), out], interpret=True)
    >>> int(out.list()[0])
    4
    """
@typing.overload
def address_of(arr: Any, i: Any, j: Any) -> Any: ...
@typing.overload
def address_of(arr: Any, i: Any, j: Any, k: Any) -> Any: ...
@typing.overload
def address_of(arr: Any, i: Any, j: Any, k: Any, l: Any) -> Any: ...
@typing.overload
def address_of(arr: Any) -> Any: ...

def argmax(a: spatial_vectorf | vec2f | vec3f | vec4f | spatial_vectord | vec2d | vec3d | vec4d | spatial_vectorh | vec2h | vec3h | vec4h | vec2i | vec3i | vec4i | vec2b | vec3b | vec4b | vec2s | vec3s | vec4s | vec2l | vec3l | vec4l | vec2ub | vec3ub | vec4ub | vec2us | vec3us | vec4us | vec2ui | vec3ui | vec4ui | vec2ul | vec3ul | vec4ul) -> uint32:
    """Index of the largest component.

    Args:
        a: a vector.

    Returns:
        The index, a uint32; the first of equal ones. NaN counts only if all are.

    Derivative: none.

    >>> int(wp.argmax(wp.vec3(1.0, 3.0, 3.0)))
    1
    """

def argmin(a: spatial_vectorf | vec2f | vec3f | vec4f | spatial_vectord | vec2d | vec3d | vec4d | spatial_vectorh | vec2h | vec3h | vec4h | vec2i | vec3i | vec4i | vec2b | vec3b | vec4b | vec2s | vec3s | vec4s | vec2l | vec3l | vec4l | vec2ub | vec3ub | vec4ub | vec2us | vec3us | vec4us | vec2ui | vec3ui | vec4ui | vec2ul | vec3ul | vec4ul) -> uint32:
    """Index of the smallest component.

    Args:
        a: a vector.

    Returns:
        The index, a uint32; the first of equal ones. NaN counts only if all are.

    Derivative: none.

    >>> int(wp.argmin(wp.vec3(3.0, 1.0, 1.0)))
    1
    """

@typing.overload
def array_store(arr: Any, i: Any, value: Any) -> Any:
    """Set an element of an array: `arr[i] = value` as a function.

    Args:
        arr: an array.
        i: an index for each dimension.
        value: of the array's element type.

    Derivative: 1 in the value.

    >>> @wp.kernel
    ... def diagonal(m: wp.array2d[float]):
    ...     i = wp.tid()
    ...     wp.array_store(m, i, i, 1.0)
    >>> m = wp.zeros((2, 2), dtype=float)
    >>> wp.launch(diagonal, dim=2, inputs=[m])
    >>> m.list()
    [1.0, 0.0, 0.0, 1.0]
    """
@typing.overload
def array_store(arr: Any, i: Any, j: Any, value: Any) -> Any: ...
@typing.overload
def array_store(arr: Any, i: Any, j: Any, k: Any, value: Any) -> Any: ...
@typing.overload
def array_store(arr: Any, i: Any, j: Any, k: Any, l: Any, value: Any) -> Any: ...
@typing.overload
def array_store(arr: Any, value: Any) -> Any: ...

def asin(x: _Scalar1) -> _Scalar1:
    """Inverse sine of `x`.

    Args:
        x: a number; beyond -1 and 1 it counts as those, for dot products of unit vectors may be off by a rounding.

    Returns:
        The angle in [-pi/2, pi/2] whose sine is `x`.

    Error: float32 1.2 ULP; float64 1 ULP with the GNU C library.
    Derivative: 1 / sqrt(1 - x**2); 0 from -1 down and from 1 up.

    >>> round(wp.asin(0.5), 6)
    0.523599
    """

def atan(x: _Scalar1) -> _Scalar1:
    """Inverse tangent of `x`.

    Args:
        x: any number.

    Returns:
        The angle in [-pi/2, pi/2] whose tangent is `x`.

    Error: float32 1.25 ULP; float64 1 ULP with the GNU C library.
    Derivative: 1 / (1 + x**2).

    >>> round(wp.atan(1.0), 6)
    0.785398
    """

@typing.overload
def atan2(y: _Scalar1, x: _Scalar1) -> _Scalar1:
    """Angle of the point (`x`, `y`), counted from the x axis.

    Args:
        y: second coordinate.
        x: first coordinate.

    Returns:
        The angle in [-pi, pi]; signed zeros and infinities as in C.

    Error: float32 1.5 ULP; float64 1 ULP with the GNU C library.
    Derivative: x / (x**2 + y**2) in `y`, -y / (x**2 + y**2) in `x`; 0 at the origin.

    >>> round(wp.atan2(1.0, -1.0), 6)
    2.356194
    """
@typing.overload
def atan2(y: _Scalar1, x: _Scalar1 | float) -> _Scalar1: ...
@typing.overload
def atan2(y: _Scalar1 | float, x: _Scalar1) -> _Scalar1: ...

@typing.overload
def atomic_add(arr: Any, i: Any, value: Any) -> Any:
    """Add to an element, so that no thread's addition is lost.

    Args:
        arr: an array of numbers, vectors, matrices or quaternions; components are changed one by one.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: 1 in the value.

    >>> @wp.kernel
    ... def k(x: wp.array[int]):
    ...     wp.atomic_add(x, 0, wp.tid())
    >>> x = wp.array([10], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [16]
    """
@typing.overload
def atomic_add(arr: Any, i: Any, j: Any, value: Any) -> Any: ...
@typing.overload
def atomic_add(arr: Any, i: Any, j: Any, k: Any, value: Any) -> Any: ...
@typing.overload
def atomic_add(arr: Any, i: Any, j: Any, k: Any, l: Any, value: Any) -> Any: ...

@typing.overload
def atomic_and(arr: Any, i: Any, value: Any) -> Any:
    """Set an element to the bitwise and of it and a value.

    Args:
        arr: an array of integers.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: none.

    >>> @wp.kernel
    ... def k(x: wp.array[int]):
    ...     wp.atomic_and(x, 0, wp.tid() | 4)
    >>> x = wp.array([15], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [4]
    """
@typing.overload
def atomic_and(arr: Any, i: Any, j: Any, value: Any) -> Any: ...
@typing.overload
def atomic_and(arr: Any, i: Any, j: Any, k: Any, value: Any) -> Any: ...
@typing.overload
def atomic_and(arr: Any, i: Any, j: Any, k: Any, l: Any, value: Any) -> Any: ...

@typing.overload
def atomic_cas(arr: Any, i: Any, expected: Any, value: Any) -> Any:
    """Set an element if it equals what is expected (compare and swap).

    Args:
        arr: an array of numbers.
        i: an index for each dimension.
        expected: of the element type.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: none.

    >>> @wp.kernel
    ... def k(x: wp.array[int]):
    ...     wp.atomic_cas(x, 0, 3, 5)
    >>> x = wp.array([3], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [5]
    """
@typing.overload
def atomic_cas(arr: Any, i: Any, j: Any, expected: Any, value: Any) -> Any: ...
@typing.overload
def atomic_cas(arr: Any, i: Any, j: Any, k: Any, expected: Any, value: Any) -> Any: ...
@typing.overload
def atomic_cas(arr: Any, i: Any, j: Any, k: Any, l: Any, expected: Any, value: Any) -> Any: ...

@typing.overload
def atomic_exch(arr: Any, i: Any, value: Any) -> Any:
    """Set an element and return what it was.

    Args:
        arr: an array of numbers, vectors, matrices or quaternions; components are changed one by one.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: none.

    >>> @wp.kernel
    ... def k(x: wp.array[int]):
    ...     wp.atomic_exch(x, 0, 7)
    >>> x = wp.array([1], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [7]
    """
@typing.overload
def atomic_exch(arr: Any, i: Any, j: Any, value: Any) -> Any: ...
@typing.overload
def atomic_exch(arr: Any, i: Any, j: Any, k: Any, value: Any) -> Any: ...
@typing.overload
def atomic_exch(arr: Any, i: Any, j: Any, k: Any, l: Any, value: Any) -> Any: ...

@typing.overload
def atomic_max(arr: Any, i: Any, value: Any) -> Any:
    """Set an element to the greater of it and a value.

    Args:
        arr: an array of numbers, vectors, matrices or quaternions; components are changed one by one.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: that of the one chosen.

    >>> @wp.kernel
    ... def k(x: wp.array[int]):
    ...     wp.atomic_max(x, 0, wp.tid())
    >>> x = wp.array([2], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [3]
    """
@typing.overload
def atomic_max(arr: Any, i: Any, j: Any, value: Any) -> Any: ...
@typing.overload
def atomic_max(arr: Any, i: Any, j: Any, k: Any, value: Any) -> Any: ...
@typing.overload
def atomic_max(arr: Any, i: Any, j: Any, k: Any, l: Any, value: Any) -> Any: ...

@typing.overload
def atomic_min(arr: Any, i: Any, value: Any) -> Any:
    """Set an element to the lesser of it and a value.

    Args:
        arr: an array of numbers, vectors, matrices or quaternions; components are changed one by one.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: that of the one chosen.

    >>> @wp.kernel
    ... def k(x: wp.array[int]):
    ...     wp.atomic_min(x, 0, wp.tid())
    >>> x = wp.array([2], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [0]
    """
@typing.overload
def atomic_min(arr: Any, i: Any, j: Any, value: Any) -> Any: ...
@typing.overload
def atomic_min(arr: Any, i: Any, j: Any, k: Any, value: Any) -> Any: ...
@typing.overload
def atomic_min(arr: Any, i: Any, j: Any, k: Any, l: Any, value: Any) -> Any: ...

@typing.overload
def atomic_or(arr: Any, i: Any, value: Any) -> Any:
    """Set an element to the bitwise or of it and a value.

    Args:
        arr: an array of integers.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: none.

    >>> @wp.kernel
    ... def k(x: wp.array[int]):
    ...     wp.atomic_or(x, 0, wp.tid())
    >>> x = wp.array([8], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [11]
    """
@typing.overload
def atomic_or(arr: Any, i: Any, j: Any, value: Any) -> Any: ...
@typing.overload
def atomic_or(arr: Any, i: Any, j: Any, k: Any, value: Any) -> Any: ...
@typing.overload
def atomic_or(arr: Any, i: Any, j: Any, k: Any, l: Any, value: Any) -> Any: ...

@typing.overload
def atomic_sub(arr: Any, i: Any, value: Any) -> Any:
    """Subtract from an element, so that no thread's subtraction is lost.

    Args:
        arr: an array of numbers, vectors, matrices or quaternions; components are changed one by one.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: -1 in the value.

    >>> @wp.kernel
    ... def k(x: wp.array[int]):
    ...     wp.atomic_sub(x, 0, wp.tid())
    >>> x = wp.array([10], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [4]
    """
@typing.overload
def atomic_sub(arr: Any, i: Any, j: Any, value: Any) -> Any: ...
@typing.overload
def atomic_sub(arr: Any, i: Any, j: Any, k: Any, value: Any) -> Any: ...
@typing.overload
def atomic_sub(arr: Any, i: Any, j: Any, k: Any, l: Any, value: Any) -> Any: ...

@typing.overload
def atomic_xor(arr: Any, i: Any, value: Any) -> Any:
    """Set an element to the bitwise exclusive or of it and a value.

    Args:
        arr: an array of integers.
        i: an index for each dimension.
        value: of the element type.

    Returns:
        The element as it was before.

    Derivative: none.

    >>> @wp.kernel
    ... def k(x: wp.array[int]):
    ...     wp.atomic_xor(x, 0, 1 << wp.tid())
    >>> x = wp.array([5], dtype=int)
    >>> wp.launch(k, dim=4, inputs=[x])
    >>> x.list()
    [10]
    """
@typing.overload
def atomic_xor(arr: Any, i: Any, j: Any, value: Any) -> Any: ...
@typing.overload
def atomic_xor(arr: Any, i: Any, j: Any, k: Any, value: Any) -> Any: ...
@typing.overload
def atomic_xor(arr: Any, i: Any, j: Any, k: Any, l: Any, value: Any) -> Any: ...

def ballot(predicate: Any) -> Any:
    """Return which threads of the warp vote yes. All threads of the block must call it, as with `syncthreads`.

    Args:
        predicate: what this thread says.

    Returns:
        A number whose bit `l` is what the thread with lane `l` said.

    >>> @wp.kernel
    ... def votes(x: wp.array[wp.uint32]):
    ...     x[wp.tid()] = wp.ballot(wp.tid() % 4 == 0)
    >>> x = wp.zeros(32, dtype=wp.uint32)
    >>> wp.launch(votes, dim=32, inputs=[x], block_dim=32)
    >>> hex(x.list()[0])
    '0x11111111'
    """

def bit_count(x: int | int8 | int16 | int64 | uint8 | uint16 | uint32 | uint64) -> int:
    """Return the number of set bits of `x`.

    Args:
        x: an integer; negative ones count in two's complement.

    Returns:
        The count, an int32.

    Derivative: none.

    >>> wp.bit_count(255)
    8
    """

def block_index() -> Any:
    """Index of the block that the thread belongs to, counted from 0 over the whole launch.

    Returns:
        The index, the same in all threads of a block.

    >>> @wp.kernel
    ... def blocks(out: wp.array[int]):
    ...     out[wp.tid()] = wp.block_index()
    >>> out = wp.zeros(4, dtype=int)
    >>> wp.launch(blocks, dim=4, inputs=[out], block_dim=2)
    >>> out.list()
    [0, 0, 1, 1]
    """

def bvh_get_group_root(id: uint64 | int, group: int) -> int:
    """Node above the boxes of a group of a `wp.Bvh`, which restricts queries to the group.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        group: the group, an int32.

    Returns:
        The number of the node, an int32 for the argument `root` of queries. It is -1 if no box is of the group: a query
        with this root finds boxes of all groups. An id without a tree is a KernelError.

    Error: exact.
    Derivative: none.

    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh = wp.Bvh(lowers, uppers, groups=wp.array([7, 7, 8], dtype=int, device="cpu"))
    >>> wp.bvh_get_group_root(bvh.id, 9)
    -1
    """

def bvh_query_aabb(id: uint64 | int, low: vec3f, high: vec3f, root: int = ...) -> BvhQuery:
    """Query of a `wp.Bvh` for the boxes that overlap a box. `wp.bvh_query_next` gives them one by one.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        low: the lower corner of the box, a vec3.
        high: its upper corner.
        root: only boxes below this node, which `wp.bvh_get_group_root` returns for a group; all boxes if negative.

    Returns:
        A BvhQuery. Boxes that only touch overlap. It finds nothing if a coordinate is NaN. An id without a tree is a
        KernelError, as is a root that is no node.

    Error: exact.
    Derivative: none.

    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh = wp.Bvh(lowers, uppers)
    >>> query = wp.bvh_query_aabb(bvh.id, wp.vec3(0.0, 0.0, 0.0), wp.vec3(2.0, 1.0, 1.0))
    >>> query.stop  # nodes to visit
    5
    """

def bvh_query_aabb_tiled(id: Any, low: Any, high: Any) -> Any:
    """Query of a `wp.Bvh` by the whole block for the boxes that overlap a box.

    All threads make it, with equal arguments.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        low: the lower corner of the box, a vec3.
        high: its upper corner.

    Returns:
        The query, for `wp.tile_bvh_query_next` and `wp.tile_query_valid`. Copies of it are the same query. What it
        finds, and what it refuses, is as in `wp.bvh_query_aabb`.

    Derivative: refused.

    >>> @wp.kernel
    ... def mark(bvh: wp.uint64, low: wp.vec3, high: wp.vec3, found: wp.array[int]):
    ...     query = wp.tile_bvh_query_aabb(bvh, low, high)
    ...     while wp.tile_query_valid(query):
    ...         index = wp.untile(wp.tile_bvh_query_next(query))
    ...         if index >= 0:
    ...             found[index] = 1
    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh, found = wp.Bvh(lowers, uppers), wp.zeros(3, dtype=int, device="cpu")
    >>> inputs = [bvh.id, wp.vec3(0.0, 0.0, 0.0), wp.vec3(2.0, 1.0, 1.0), found]
    >>> wp.launch_tiled(mark, dim=1, inputs=inputs, block_dim=4, device="cpu")
    >>> found.list()
    [1, 1, 0]
    """

def bvh_query_capsule(id: uint64 | int, start: vec3f, dir: vec3f, radius: float, root: int = ...) -> BvhQuery:
    """Query of a `wp.Bvh` for boxes near a ray or segment. `wp.bvh_query_next` gives them one by one.

    A box is found if the ray passes through it after it has grown by `radius` in every direction. So the query finds
    all boxes that overlap the capsule, and others whose corners are near. The segment from p to q has the direction
    q - p and a `max_dist` of 1.0 in `wp.bvh_query_next`.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        start: where the ray starts, a vec3.
        dir: its direction, a vec3 of any length.
        radius: the radius of the capsule, a float32; a negative one counts as zero.
        root: only boxes below this node, which `wp.bvh_get_group_root` returns for a group; all boxes if negative.

    Returns:
        A BvhQuery. It finds nothing if a number is NaN. If the direction is zero, it finds the boxes around `start`. An
        id without a tree is a KernelError, as is a root that is no node.

    Error: finds all such boxes, and may find others that the ray misses by 8 ULP of the distance.
    Derivative: none.

    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh = wp.Bvh(lowers, uppers)
    >>> query = wp.bvh_query_capsule(bvh.id, wp.vec3(-1.0, 0.5, 0.5), wp.vec3(2.0, 0.0, 0.0), 0.25)
    >>> query.second  # reciprocals
    vec3f([0.5, 0.0, 0.0])
    """

def bvh_query_next(query: Any, index: Any, max_dist: float = ...) -> bool:
    """Next box of a query of a `wp.Bvh`.

    Args:
        query: from `wp.bvh_query_aabb`, `wp.bvh_query_ray`, `wp.bvh_query_sphere` or `wp.bvh_query_capsule`; a local
            variable, which is advanced.
        index: a local int32, which becomes the index of the box.
        max_dist: boxes count if a ray or capsule reaches them at `start + t * dir` with `t` up to this, a float32. It
            may become less during a query. It does not matter for boxes and spheres.

    Returns:
        True if there was a box; otherwise `index` stays as it is. No box comes twice. The order depends on the tree
        alone.

    Error: see the query.
    Derivative: none.

    >>> @wp.kernel
    ... def mark(bvh: wp.uint64, found: wp.array[int]):
    ...     query = wp.bvh_query_aabb(bvh, wp.vec3(0.0, 0.0, 0.0), wp.vec3(2.0, 1.0, 1.0))
    ...     index = int(0)
    ...     while wp.bvh_query_next(query, index):
    ...         found[index] = 1
    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh = wp.Bvh(lowers, uppers)
    >>> found = wp.zeros(3, dtype=int, device="cpu")
    >>> wp.launch(mark, dim=1, inputs=[bvh.id, found], device="cpu")
    >>> found.list()
    [1, 1, 0]
    """

def bvh_query_next_tiled(query: Any) -> Any:
    """Tile of the next results of a query of a tree, one for each thread of the block.

    Args:
        query: from `wp.tile_bvh_query_aabb` or `wp.tile_bvh_query_ray`; it is advanced for all threads.

    Returns:
        A tile of `block_dim` int32: indices of boxes in the order of `wp.bvh_query_next`, and -1 behind the last.

    Derivative: refused.

    >>> @wp.kernel
    ... def batches(bvh: wp.uint64, found: wp.array2d[int]):
    ...     query = wp.tile_bvh_query_aabb(bvh, wp.vec3(0.0, 0.0, 0.0), wp.vec3(9.0, 1.0, 1.0))
    ...     for row in range(2):
    ...         wp.tile_store(found[row], wp.tile_bvh_query_next(query))
    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh, found = wp.Bvh(lowers, uppers), wp.zeros((2, 2), dtype=int, device="cpu")
    >>> wp.launch_tiled(batches, dim=1, inputs=[bvh.id, found], block_dim=2, device="cpu")
    >>> found.list()
    [0, 1, 2, -1]
    """

def bvh_query_ray(id: uint64 | int, start: vec3f, dir: vec3f, root: int = ...) -> BvhQuery:
    """Query of a `wp.Bvh` for the boxes that a ray passes through. `wp.bvh_query_next` gives them one by one.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        start: where the ray starts, a vec3.
        dir: its direction, a vec3 of any length.
        root: only boxes below this node, which `wp.bvh_get_group_root` returns for a group; all boxes if negative.

    Returns:
        A BvhQuery. A ray that only touches a box passes through it. It finds nothing if a number is NaN or infinite.
        If the direction is zero, it finds the boxes around `start`. An id without a tree is a KernelError, as is a
        root that is no node.

    Error: finds all such boxes, and may find others that the ray misses by 8 ULP of the distance.
    Derivative: none.

    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh = wp.Bvh(lowers, uppers)
    >>> query = wp.bvh_query_ray(bvh.id, wp.vec3(-1.0, 0.5, 0.5), wp.vec3(4.0, 0.0, 0.0))
    >>> query.second  # reciprocals
    vec3f([0.25, 0.0, 0.0])
    """

def bvh_query_ray_tiled(id: Any, start: Any, dir: Any) -> Any:
    """Query of a `wp.Bvh` by the whole block for the boxes that a ray passes through.

    All threads make it, with equal arguments.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        start: where the ray starts, a vec3.
        dir: its direction, a vec3 of any length.

    Returns:
        The query, as `wp.tile_bvh_query_aabb` returns it. What it finds is as in `wp.bvh_query_ray`.

    Derivative: refused.

    >>> @wp.kernel
    ... def mark(bvh: wp.uint64, start: wp.vec3, dir: wp.vec3, found: wp.array[int]):
    ...     query = wp.tile_bvh_query_ray(bvh, start, dir)
    ...     while wp.tile_query_valid(query):
    ...         index = wp.untile(wp.tile_bvh_query_next(query))
    ...         if index >= 0:
    ...             found[index] = 1
    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 2.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 3.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh, found = wp.Bvh(lowers, uppers), wp.zeros(3, dtype=int, device="cpu")
    >>> inputs = [bvh.id, wp.vec3(-1.0, 0.5, 0.5), wp.vec3(1.0, 0.0, 0.0), found]
    >>> wp.launch_tiled(mark, dim=1, inputs=inputs, block_dim=4, device="cpu")
    >>> found.list()
    [1, 0, 1]
    """

def bvh_query_sphere(id: uint64 | int, center: vec3f, radius: float, root: int = ...) -> BvhQuery:
    """Query of a `wp.Bvh` for the boxes that overlap a sphere. `wp.bvh_query_next` gives them one by one.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        center: the centre of the sphere, a vec3.
        radius: its radius, a float32; a negative one counts as zero.
        root: only boxes below this node, which `wp.bvh_get_group_root` returns for a group; all boxes if negative.

    Returns:
        A BvhQuery. Boxes that only touch the sphere overlap it. It finds nothing if a number is NaN. An id without a
        tree is a KernelError, as is a root that is no node.

    Error: finds all boxes that overlap, and may find others that are farther by 4 ULP of the distance.
    Derivative: none.

    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh = wp.Bvh(lowers, uppers)
    >>> query = wp.bvh_query_sphere(bvh.id, wp.vec3(-1.0, 0.5, 0.5), 1.5)
    >>> query.radius
    1.5
    """

def cbrt(x: _Scalar1) -> _Scalar1:
    """Cube root of `x`.

    Args:
        x: any number.

    Returns:
        The real cube root, of the type of `x` and with its sign.

    Error: float32 0.51 ULP over all arguments; float64 4 ULP with the GNU C library.
    Derivative: 1 / (3 * cbrt(x)**2); 0 at zero.

    >>> wp.cbrt(-27.0)
    -3.0
    """

def ceil(x: _Scalar1) -> _Scalar1:
    """Smallest integer not below `x`.

    Args:
        x: a number.

    Returns:
        The integer, of the type of `x`.

    Error: exact.
    Derivative: 0.

    >>> wp.ceil(-1.5)
    -1.0
    """

@typing.overload
def clamp(x: _Scalar2, low: _Scalar2, high: _Scalar2) -> _Scalar2:
    """`x` limited to a range.

    Args:
        x: a number.
        low: the least value to return.
        high: the largest value to return; it wins where it is below `low`.

    Returns:
        min(max(x, low), high); `low` for NaN. A limit that is NaN limits nothing.

    Error: exact.
    Derivative: that of the argument returned, the limit where `x` equals it.

    >>> wp.clamp(1.5, 0.0, 1.0)
    1.0
    """
@typing.overload
def clamp(x: _Scalar2, low: _Scalar2 | float, high: _Scalar2 | float) -> _Scalar2: ...
@typing.overload
def clamp(x: _Scalar2 | float, low: _Scalar2 | float, high: _Scalar2) -> _Scalar2: ...

@typing.overload
def closest_point_edge_edge(p1: vec3f, q1: vec3f, p2: vec3f, q2: vec3f, epsilon: float) -> vec3f:
    """Closest points of two segments.

    Args:
        p1: start of the first segment.
        q1: its end.
        p2: start of the second segment.
        q2: its end.
        epsilon: segments whose squared length is at most this count as points.

    Returns:
        (s, t, d): the points p1 + s * (q1 - p1) and p2 + t * (q2 - p2) have the least distance d. Of parallel segments
        any such pair.

    Error: float32 some ULP of the lengths, times the condition number of the pair of directions in s and t.
    Derivative: that of the branch taken.

    >>> x, y = wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0)
    >>> wp.closest_point_edge_edge(-x, x, y * 2.0, y, 1e-6)
    vec3f([0.5, 1.0, 1.0])
    """
@typing.overload
def closest_point_edge_edge(p1: vec3d, q1: vec3d, p2: vec3d, q2: vec3d, epsilon: float64 | float) -> vec3d: ...
@typing.overload
def closest_point_edge_edge(p1: vec3h, q1: vec3h, p2: vec3h, q2: vec3h, epsilon: float16 | float) -> vec3h: ...

@typing.overload
def copysign(x: _Scalar1, y: _Scalar1) -> _Scalar1:
    """`x` with the sign of `y`.

    Args:
        x: gives the magnitude.
        y: gives the sign, also as a zero or NaN.

    Returns:
        A number of the type of `x`.

    Error: exact.
    Derivative: 1 in `x` where the signs agree, -1 where they differ; 0 in `y`.

    >>> wp.copysign(2.0, -0.0)
    -2.0
    """
@typing.overload
def copysign(x: _Scalar1, y: _Scalar1 | float) -> _Scalar1: ...
@typing.overload
def copysign(x: _Scalar1 | float, y: _Scalar1) -> _Scalar1: ...

def cos(x: _Scalar1) -> _Scalar1:
    """Cosine of `x`.

    Args:
        x: angle in radians, of any size.

    Returns:
        cos(x), of the type of `x`; NaN for infinities.

    Error: float32 1.5 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: -sin(x).

    >>> round(wp.cos(0.5), 6)
    0.877583
    """

def cosh(x: _Scalar1) -> _Scalar1:
    """Hyperbolic cosine of `x`.

    Args:
        x: any number.

    Returns:
        cosh(x), of the type of `x`.

    Error: float32 1.5 ULP over all arguments; float64 2 ULP with the GNU C library.
    Derivative: sinh(x).

    >>> round(wp.cosh(1.0), 6)
    1.543081
    """

def cross(a: _Vector1, b: _Vector1) -> _Vector1:
    """Cross product.

    Args:
        a: a vector of three components.
        b: another.

    Returns:
        The vector at right angles to both, with the area they span as its length.

    Error: 1.5 ULP of the sum of the magnitudes of both products of a component: each of them is rounded, and their
        difference. `cross(a, a)` is exactly 0.
    Derivative: cross(b, g) in `a`, cross(g, a) in `b`, for the gradient g of the result.

    >>> wp.cross(wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0))
    vec3f([0.0, 0.0, 1.0])
    """

@typing.overload
def curlnoise(state: uint32 | int, xy: vec2f, octaves: uint32 | int = ..., lacunarity: float = ..., gain: float = ...) -> vec2f:
    """Random flow without sources and sinks.

    Args:
        state: of `rand_init`; it selects the flow and is not advanced.
        xy: where to evaluate: a vec2, or a vec3 or vec4 (then called `xyz`, `xyzt`; the fourth coordinate is a time).
        octaves: how many flows are added, a uint32.
        lacunarity: factor by which each is finer than the one before.
        gain: factor by which each is weaker than the one before.

    Returns:
        vec2 for a vec2, else vec3: the curl of a potential made of `noise`.

    Error: float32 64 ULP of 1 for one octave.
    Derivative: continuous in the position; none in `state`.

    >>> wp.curlnoise(wp.rand_init(42), wp.vec2(0.5, 0.5), 0)
    vec2f([0.0, 0.0])
    """
@typing.overload
def curlnoise(state: uint32 | int, xyz: vec3f, octaves: uint32 | int = ..., lacunarity: float = ..., gain: float = ...) -> vec3f: ...
@typing.overload
def curlnoise(state: uint32 | int, xyzt: vec4f, octaves: uint32 | int = ..., lacunarity: float = ..., gain: float = ...) -> vec3f: ...

def cw_div(a: _MatrixOrVector1, b: _MatrixOrVector1) -> _MatrixOrVector1:
    """Componentwise quotient.

    Args:
        a: a vector or matrix.
        b: another of the same type.

    Returns:
        The components a[i] / b[i].

    Error: one rounding.
    Derivative: 1 / b in `a`, -a / b**2 in `b`, componentwise.

    >>> wp.cw_div(wp.vec2(1.0, 6.0), wp.vec2(2.0, 3.0))
    vec2f([0.5, 2.0])
    """

def cw_mul(a: _MatrixOrVector1, b: _MatrixOrVector1) -> _MatrixOrVector1:
    """Componentwise product.

    Args:
        a: a vector or matrix.
        b: another of the same type.

    Returns:
        The components a[i] * b[i].

    Error: one rounding.
    Derivative: `b` in `a`, `a` in `b`, componentwise.

    >>> wp.cw_mul(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
    vec2f([3.0, 8.0])
    """

@typing.overload
def ddot(a: _Matrix1, b: _Matrix1) -> float:
    """Inner product of matrices, component by component.

    Args:
        a: a matrix.
        b: another of the same type.

    Returns:
        The sum of a[i, j] * b[i, j], a scalar.

    Error: one rounding for each term.
    Derivative: `b` in `a`, `a` in `b`.

    >>> wp.ddot(wp.mat22(1.0, 2.0, 3.0, 4.0), wp.mat22(1.0, 1.0, 1.0, 1.0))
    10.0
    """
@typing.overload
def ddot(a: _Matrix2, b: _Matrix2) -> float64: ...
@typing.overload
def ddot(a: _Matrix3, b: _Matrix3) -> float16: ...

def degrees(x: _Scalar1) -> _Scalar1:
    """Radians to degrees.

    Args:
        x: angle in radians.

    Returns:
        The angle in degrees.

    Error: 1.1 ULP.
    Derivative: 180 / pi.

    >>> wp.round(wp.degrees(3.1415927))
    180.0
    """

@typing.overload
def determinant(a: mat22f | mat33f | mat44f) -> float:
    """Determinant.

    Args:
        a: a 2 x 2, 3 x 3 or 4 x 4 matrix.

    Returns:
        The determinant, a scalar.

    Error: 4 ULP of the determinant with all its N! products taken positive.
    Derivative: determinant(a) * transpose(inverse(a)).

    >>> wp.determinant(wp.mat22(1.0, 2.0, 3.0, 4.0))
    -2.0
    """
@typing.overload
def determinant(a: mat22d | mat33d | mat44d) -> float64: ...
@typing.overload
def determinant(a: mat22h | mat33h | mat44h) -> float16: ...

@typing.overload
def diag(a: spatial_vectorf) -> spatial_matrixf:
    """Diagonal matrix.

    Args:
        a: the diagonal, a vector of N.

    Returns:
        The N x N matrix with `a` on the diagonal and zeros elsewhere.

    Error: exact.
    Derivative: get_diag(g), for the gradient g of the result.

    >>> wp.diag(wp.vec2(1.0, 2.0))
    mat22f([[1.0, 0.0],
     [0.0, 2.0]])
    """
@typing.overload
def diag(a: vec2f) -> mat22f: ...
@typing.overload
def diag(a: vec3f) -> mat33f: ...
@typing.overload
def diag(a: vec4f) -> mat44f: ...
@typing.overload
def diag(a: spatial_vectord) -> spatial_matrixd: ...
@typing.overload
def diag(a: vec2d) -> mat22d: ...
@typing.overload
def diag(a: vec3d) -> mat33d: ...
@typing.overload
def diag(a: vec4d) -> mat44d: ...
@typing.overload
def diag(a: spatial_vectorh) -> spatial_matrixh: ...
@typing.overload
def diag(a: vec2h) -> mat22h: ...
@typing.overload
def diag(a: vec3h) -> mat33h: ...
@typing.overload
def diag(a: vec4h) -> mat44h: ...

def div(a: Any, b: Any) -> Any:
    """`a / b` as a function.

    Args:
        a: a number, vector, matrix or any other value that the operator takes.
        b: another that goes with it.

    Returns:
        The quotient; of integers truncated.

    Error: correctly rounded.
    Derivative: 1 / b in `a`, -a / b**2 in `b`.

    >>> wp.div(7.0, 2.0)
    3.5
    """

@typing.overload
def div_approx(a: float, b: _MatrixOrQuaternionOrScalarOrVector1) -> _MatrixOrQuaternionOrScalarOrVector1:
    """Quotient where the last bits do not matter.

    Args:
        a: dividend: a number, vector, matrix or quaternion.
        b: divisor: a number; or, under a number, one of these.

    Returns:
        a / b, componentwise.

    Error: correctly rounded on this device.
    Derivative: 1 / b in `a`, -a / b**2 in `b`.

    >>> wp.div_approx(1.0, 4.0)
    0.25
    """
@typing.overload
def div_approx(a: mat22f, b: float) -> mat22f: ...
@typing.overload
def div_approx(a: mat33f, b: float) -> mat33f: ...
@typing.overload
def div_approx(a: mat44f, b: float) -> mat44f: ...
@typing.overload
def div_approx(a: quatf, b: float) -> quatf: ...
@typing.overload
def div_approx(a: spatial_matrixf, b: float) -> spatial_matrixf: ...
@typing.overload
def div_approx(a: spatial_vectorf, b: float) -> spatial_vectorf: ...
@typing.overload
def div_approx(a: vec2f, b: float) -> vec2f: ...
@typing.overload
def div_approx(a: vec3f, b: float) -> vec3f: ...
@typing.overload
def div_approx(a: vec4f, b: float) -> vec4f: ...
@typing.overload
def div_approx(a: float64 | float, b: _MatrixOrQuaternionOrScalarOrVector2) -> _MatrixOrQuaternionOrScalarOrVector2: ...
@typing.overload
def div_approx(a: mat22d, b: float64 | float) -> mat22d: ...
@typing.overload
def div_approx(a: mat33d, b: float64 | float) -> mat33d: ...
@typing.overload
def div_approx(a: mat44d, b: float64 | float) -> mat44d: ...
@typing.overload
def div_approx(a: quatd, b: float64 | float) -> quatd: ...
@typing.overload
def div_approx(a: spatial_matrixd, b: float64 | float) -> spatial_matrixd: ...
@typing.overload
def div_approx(a: spatial_vectord, b: float64 | float) -> spatial_vectord: ...
@typing.overload
def div_approx(a: vec2d, b: float64 | float) -> vec2d: ...
@typing.overload
def div_approx(a: vec3d, b: float64 | float) -> vec3d: ...
@typing.overload
def div_approx(a: vec4d, b: float64 | float) -> vec4d: ...
@typing.overload
def div_approx(a: float16 | float, b: _MatrixOrQuaternionOrScalarOrVector3) -> _MatrixOrQuaternionOrScalarOrVector3: ...
@typing.overload
def div_approx(a: mat22h, b: float16 | float) -> mat22h: ...
@typing.overload
def div_approx(a: mat33h, b: float16 | float) -> mat33h: ...
@typing.overload
def div_approx(a: mat44h, b: float16 | float) -> mat44h: ...
@typing.overload
def div_approx(a: quath, b: float16 | float) -> quath: ...
@typing.overload
def div_approx(a: spatial_matrixh, b: float16 | float) -> spatial_matrixh: ...
@typing.overload
def div_approx(a: spatial_vectorh, b: float16 | float) -> spatial_vectorh: ...
@typing.overload
def div_approx(a: vec2h, b: float16 | float) -> vec2h: ...
@typing.overload
def div_approx(a: vec3h, b: float16 | float) -> vec3h: ...
@typing.overload
def div_approx(a: vec4h, b: float16 | float) -> vec4h: ...
@typing.overload
def div_approx(a: bfloat16 | float, b: bfloat16 | float) -> bfloat16: ...

@typing.overload
def dot(a: _QuaternionOrVector1, b: _QuaternionOrVector1) -> float:
    """Inner product.

    Args:
        a: a vector or quaternion.
        b: another of the same type.

    Returns:
        The sum of a[i] * b[i], a scalar.

    Error: one rounding for each term.
    Derivative: `b` in `a`, `a` in `b`.

    >>> wp.dot(wp.vec3(1.0, 2.0, 3.0), wp.vec3(4.0, 5.0, 6.0))
    32.0
    """
@typing.overload
def dot(a: _QuaternionOrVector2, b: _QuaternionOrVector2) -> float64: ...
@typing.overload
def dot(a: _QuaternionOrVector3, b: _QuaternionOrVector3) -> float16: ...
@typing.overload
def dot(a: _Vector2, b: _Vector2) -> int: ...
@typing.overload
def dot(a: _Vector3, b: _Vector3) -> int8: ...
@typing.overload
def dot(a: _Vector4, b: _Vector4) -> int16: ...
@typing.overload
def dot(a: _Vector5, b: _Vector5) -> int64: ...
@typing.overload
def dot(a: _Vector6, b: _Vector6) -> uint8: ...
@typing.overload
def dot(a: _Vector7, b: _Vector7) -> uint16: ...
@typing.overload
def dot(a: _Vector8, b: _Vector8) -> uint32: ...
@typing.overload
def dot(a: _Vector9, b: _Vector9) -> uint64: ...

@typing.overload
def eig3(A: mat33f) -> tuple[mat33f, vec3f]:
    """Eigenvalues and eigenvectors of a symmetric 3 x 3 matrix.

    The older form with variables for the results, `wp.eig3(A, Q, d)`, assigns them.

    Args:
        A: a symmetric matrix; what is below the diagonal is not read.

    Returns:
        Q: rotation, the eigenvectors in its columns.
        d: the eigenvalues, in no particular order. A = Q * diag(d) * transpose(Q).

    Error: 16 ULP of the largest eigenvalue.
    Derivative: that of the factors; zero below the diagonal. Where eigenvalues are equal, Q has none, but what is made
    of Q and d may have one, which comes out right; see docs/gradients.md.

    >>> sorted(wp.eig3(wp.mat33(3.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 2.0, 0.0))[1])
    [-2.0, 2.0, 3.0]
    """
@typing.overload
def eig3(A: mat33d) -> tuple[mat33d, vec3d]: ...
@typing.overload
def eig3(A: mat33h) -> tuple[mat33h, vec3h]: ...
@typing.overload
def eig3(A: mat33f | mat33d | mat33h, Q: Any, d: Any) -> None: ...

def erf(x: _Scalar1) -> _Scalar1:
    """Error function of `x`.

    Args:
        x: any number.

    Returns:
        2 / sqrt(pi) times the integral of exp(-t**2) from 0 to `x`, of the type of `x`.

    Error: float32 1.3 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: 2 / sqrt(pi) * exp(-x**2).

    >>> round(wp.erf(0.5), 6)
    0.5205
    """

def erfc(x: _Scalar1) -> _Scalar1:
    """Complementary error function of `x`.

    Args:
        x: any number.

    Returns:
        1 - erf(x), of the type of `x`, without losing the small values to cancellation.

    Error: float32 7 ULP over all arguments; float64 5 ULP with the GNU C library.
    Derivative: -2 / sqrt(pi) * exp(-x**2).

    >>> round(wp.erfc(0.5), 6)
    0.4795
    """

def erfcinv(x: _Scalar1) -> _Scalar1:
    """Inverse of the complement of the error function.

    Args:
        x: a number in [0, 2]; others give NaN.

    Returns:
        The number y with erfc(y) = x, of the type of `x`; infinite at the ends.

    Error: float32 0.51 ULP over all arguments; float64 10 ULP.
    Derivative: -sqrt(pi) / 2 * exp(y**2), with y the result; 0 at the ends.

    >>> round(wp.erfcinv(0.5), 6)
    0.476936
    """

def erfinv(x: _Scalar1) -> _Scalar1:
    """Inverse of the error function.

    Args:
        x: a number in [-1, 1]; others give NaN.

    Returns:
        The number y with erf(y) = x, of the type of `x`; infinite at the ends.

    Error: float32 3.8 ULP over all arguments; float64 10 ULP.
    Derivative: sqrt(pi) / 2 * exp(y**2), with y the result; 0 at the ends.

    >>> round(wp.erfinv(0.5), 6)
    0.476936
    """

def exp(x: _Scalar1) -> _Scalar1:
    """Exponential of `x`: the number e to the power `x`.

    Args:
        x: any number.

    Returns:
        exp(x), of the type of `x`.

    Error: float32 1.02 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: exp(x).

    >>> round(wp.exp(1.0), 6)
    2.718282
    """

def exp2(x: _Scalar1) -> _Scalar1:
    """2 to the power `x`.

    Args:
        x: any number.

    Returns:
        2**x, of the type of `x`; exact for integers.

    Error: float32 0.9 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: ln(2) * 2**x.

    >>> wp.exp2(10.0)
    1024.0
    """

def expect_near(a: Any, b: Any, tolerance: Any = ...) -> Any:
    """Check that two values differ by little. Where they do not, a line with both is printed, and the program goes on.

    Args:
        a: a float, or a vector, matrix, quaternion or transform of floats.
        b: another of the same type.
        tolerance: how much no component may differ by more than; NaN always does.

    Raises:
        KernelError: the values differ by more, in a kernel in debug mode.

    >>> wp.expect_near(wp.vec2(1.0, 2.0), wp.vec2(1.0, 2.5), 0.25)
    expect_near failed: [1.0, 2.0] and [1.0, 2.5] differ by more than 0.25
    """

def expect_neq(a: Any, b: Any) -> Any:
    """Check that two values differ. Where they are equal, a line with both is printed, and the program goes on.

    Args:
        a: a value of any type that `!=` compares.
        b: another of the same type.

    Raises:
        KernelError: the values are equal, in a kernel in debug mode.

    >>> wp.expect_neq(2 + 2, 4)
    expect_neq failed: 4 is 4
    """

def floor(x: _Scalar1) -> _Scalar1:
    """Largest integer not above `x`.

    Args:
        x: a number.

    Returns:
        The integer, of the type of `x`.

    Error: exact.
    Derivative: 0.

    >>> wp.floor(-1.5)
    -2.0
    """

def floordiv(a: Any, b: Any) -> Any:
    """`a // b` as a function.

    Args:
        a: a number.
        b: another of the same type.

    Returns:
        The quotient, rounded down.

    Error: exact for integers; of floats, the floor of the rounded quotient.
    Derivative: 0.

    >>> wp.floordiv(-7, 2)
    -4
    """

def frac(x: _Scalar1) -> _Scalar1:
    """Fraction of `x`.

    Args:
        x: a number.

    Returns:
        x - trunc(x), with the sign of `x`.

    Error: exact.
    Derivative: 1.

    >>> wp.frac(-1.25)
    -0.25
    """

@typing.overload
def get_diag(a: mat22f) -> vec2f:
    """Diagonal of a matrix.

    Args:
        a: a square matrix.

    Returns:
        The vector of a[i, i].

    Error: exact.
    Derivative: diag(g), for the gradient g of the result.

    >>> wp.get_diag(wp.mat22(1.0, 2.0, 3.0, 4.0))
    vec2f([1.0, 4.0])
    """
@typing.overload
def get_diag(a: mat33f) -> vec3f: ...
@typing.overload
def get_diag(a: mat44f) -> vec4f: ...
@typing.overload
def get_diag(a: spatial_matrixf) -> spatial_vectorf: ...
@typing.overload
def get_diag(a: mat22d) -> vec2d: ...
@typing.overload
def get_diag(a: mat33d) -> vec3d: ...
@typing.overload
def get_diag(a: mat44d) -> vec4d: ...
@typing.overload
def get_diag(a: spatial_matrixd) -> spatial_vectord: ...
@typing.overload
def get_diag(a: mat22h) -> vec2h: ...
@typing.overload
def get_diag(a: mat33h) -> vec3h: ...
@typing.overload
def get_diag(a: mat44h) -> vec4h: ...
@typing.overload
def get_diag(a: spatial_matrixh) -> spatial_vectorh: ...

def hash_grid_point_id(id: uint64 | int, index: int) -> int:
    """Index of a point, in the order of the cells of a hash grid.

    Threads that take their points in this order find their neighbours in memory that was used just before.

    Args:
        id: of the grid: `grid.id`, a uint64.
        index: the place in that order, an int32 from 0 to the number of points. Points that are not finite come last.

    Returns:
        The index of the point in the array that the grid was built of, an int32; -1 if there is no such place.

    Error: exact.
    Derivative: none.

    >>> grid = wp.HashGrid(8, 8, 8, device="cpu")
    >>> grid.build(wp.array([[5.0, 0.0, 0.0], [0.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu"), 1.0)
    >>> wp.hash_grid_point_id(grid.id, 0)
    1
    """

@typing.overload
def hash_grid_query(id: uint64 | int, point: vec3f, max_dist: float) -> HashGridQuery:
    """Query of a hash grid for the points near a place.

    `wp.hash_grid_query_next` gives the points one by one: all that were within `max_dist` when the grid was built, and
    others farther away. Callers compare the distance themselves, to where points are now. No point comes twice. The
    order depends on the points and the grid alone.

    Args:
        id: of the grid: `grid.id`, a uint64.
        point: the place, a vec3; a vec3h or vec3d if the grid has such points.
        max_dist: the distance, a float of the same type. Any distance is right; a query is fast up to about the radius
            of the build.
        group: an int32: only points of this group are wanted, of a grid that was built with groups. Points of all
            groups if left out.

    Returns:
        A HashGridQuery. It finds nothing if `point` or `max_dist` is NaN, or `max_dist` is negative. It is a
        KernelError for an id without a grid, for points of another type, and for points without groups.

    Error: exact.
    Derivative: none.

    >>> grid = wp.HashGrid(8, 8, 8, device="cpu")
    >>> grid.build(wp.array([[0.0, 0.0, 0.0], [5.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu"), 1.0)
    >>> query = wp.hash_grid_query(grid.id, wp.vec3(0.1, 0.0, 0.0), 0.5)
    >>> query.begin_x, query.end_x  # cell 7, and cell 0 behind the last one
    (7, 9)
    """
@typing.overload
def hash_grid_query(id: uint64 | int, point: vec3d, max_dist: float64 | float) -> HashGridQuery: ...
@typing.overload
def hash_grid_query(id: uint64 | int, point: vec3h, max_dist: float16 | float) -> HashGridQuery: ...
@typing.overload
def hash_grid_query(id: uint64 | int, point: vec3f, max_dist: float, group: int) -> HashGridQuery: ...
@typing.overload
def hash_grid_query(id: uint64 | int, point: vec3d, max_dist: float64 | float, group: int) -> HashGridQuery: ...
@typing.overload
def hash_grid_query(id: uint64 | int, point: vec3h, max_dist: float16 | float, group: int) -> HashGridQuery: ...

def hash_grid_query_next(query: Any, index: Any) -> bool:
    """Next point of a query of a hash grid.

    Args:
        query: from `wp.hash_grid_query`; a local variable, which is advanced.
        index: a local int32, which becomes the index of the point in the array that the grid was built of.

    Returns:
        True if there was a point; otherwise `index` stays as it is.

    Error: exact.
    Derivative: none.

    >>> @wp.kernel
    ... def count(grid: wp.uint64, points: wp.array[wp.vec3], near: wp.array[int]):
    ...     i = wp.tid()
    ...     query = wp.hash_grid_query(grid, points[i], 1.0)
    ...     index, found = int(0), int(0)
    ...     while wp.hash_grid_query_next(query, index):
    ...         if wp.length(points[i] - points[index]) <= 1.0:
    ...             found += 1
    ...     near[i] = found
    >>> points = wp.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [3.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> near = wp.zeros(3, dtype=int, device="cpu")
    >>> grid = wp.HashGrid(8, 8, 8, device="cpu")
    >>> grid.build(points, 1.0)
    >>> wp.launch(count, dim=3, inputs=[grid.id, points, near], device="cpu")
    >>> near.list()
    [2, 2, 1]
    """

def identity(n: Any, dtype: Any = None) -> Any:
    """Identity matrix of any size.

    Args:
        n: rows and columns.
        dtype: the type of the components; float32 if left out.

    Returns:
        The matrix with ones on its diagonal.

    Derivative: none.

    >>> wp.identity(n=2, dtype=float)[1]
    vec2f([0.0, 1.0])
    """

@typing.overload
def index(a: mat22f, i: int) -> vec2f:
    """Component of a value as a function: `a[i]`, `m[i]` and `m[i, j]`.

    Args:
        a: a vector, quaternion, transform or matrix.
        i: a component, or a row of a matrix; numbers below zero count from the end.

    Returns:
        The component; for a matrix the row, or with a second number its component there.

    Error: exact.
    Derivative: that of the component, zero elsewhere.

    >>> wp.index(wp.vec3(1.0, 2.0, 3.0), 1), wp.index(wp.mat22(1.0, 2.0, 3.0, 4.0), 1, 0)
    (2.0, 3.0)
    """
@typing.overload
def index(a: mat33f, i: int) -> vec3f: ...
@typing.overload
def index(a: mat44f, i: int) -> vec4f: ...
@typing.overload
def index(a: quatf | spatial_vectorf | transformf | vec2f | vec3f | vec4f, i: int) -> float: ...
@typing.overload
def index(a: spatial_matrixf, i: int) -> spatial_vectorf: ...
@typing.overload
def index(a: mat22d, i: int) -> vec2d: ...
@typing.overload
def index(a: mat33d, i: int) -> vec3d: ...
@typing.overload
def index(a: mat44d, i: int) -> vec4d: ...
@typing.overload
def index(a: quatd | spatial_vectord | transformd | vec2d | vec3d | vec4d, i: int) -> float64: ...
@typing.overload
def index(a: spatial_matrixd, i: int) -> spatial_vectord: ...
@typing.overload
def index(a: mat22h, i: int) -> vec2h: ...
@typing.overload
def index(a: mat33h, i: int) -> vec3h: ...
@typing.overload
def index(a: mat44h, i: int) -> vec4h: ...
@typing.overload
def index(a: quath | spatial_vectorh | transformh | vec2h | vec3h | vec4h, i: int) -> float16: ...
@typing.overload
def index(a: spatial_matrixh, i: int) -> spatial_vectorh: ...
@typing.overload
def index(a: vec2i | vec3i | vec4i, i: int) -> int: ...
@typing.overload
def index(a: vec2b | vec3b | vec4b, i: int) -> int8: ...
@typing.overload
def index(a: vec2s | vec3s | vec4s, i: int) -> int16: ...
@typing.overload
def index(a: vec2l | vec3l | vec4l, i: int) -> int64: ...
@typing.overload
def index(a: vec2ub | vec3ub | vec4ub, i: int) -> uint8: ...
@typing.overload
def index(a: vec2us | vec3us | vec4us, i: int) -> uint16: ...
@typing.overload
def index(a: vec2ui | vec3ui | vec4ui, i: int) -> uint32: ...
@typing.overload
def index(a: vec2ul | vec3ul | vec4ul, i: int) -> uint64: ...
@typing.overload
def index(a: mat22f | mat33f | mat44f | spatial_matrixf, i: int, j: int) -> float: ...
@typing.overload
def index(a: mat22d | mat33d | mat44d | spatial_matrixd, i: int, j: int) -> float64: ...
@typing.overload
def index(a: mat22h | mat33h | mat44h | spatial_matrixh, i: int, j: int) -> float16: ...

def intersect_tri_tri(v0: _Vector10, v1: _Vector10, v2: _Vector10, u0: _Vector10, u1: _Vector10, u2: _Vector10) -> int:
    """True if two triangles meet.

    Args:
        v0: a corner of the first triangle.
        v1: another.
        v2: the third.
        u0: a corner of the second triangle.
        u1: another.
        u2: the third.

    Returns:
        1 if the triangles have a point in common, also on their edges or within one plane, else 0.

    Error: triangles closer than some ULP of their extents count as touching.
    Derivative: none.

    >>> x, y, z = wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0), wp.vec3(0.0, 0.0, 1.0)
    >>> wp.intersect_tri_tri(x, y, z, wp.vec3(0.0, 0.0, 0.0), x + y + z, x)
    1
    """

def inverse(a: _Matrix4) -> _Matrix4:
    """Inverse of a matrix.

    Args:
        a: a 2 x 2, 3 x 3 or 4 x 4 matrix.

    Returns:
        The matrix b with a * b the identity; zeros if the determinant is zero.

    Error: 4 ULP of (c + abs(b) * d) / abs(determinant(a)), with c the cofactors and d the determinant when all products
    are taken positive. No bound where ULP of d reach the determinant.
    Derivative: -transpose(b) * g * transpose(b), for the result b and its gradient g.

    >>> wp.inverse(wp.mat22(2.0, 0.0, 0.0, 4.0))
    mat22f([[0.5, 0.0],
     [0.0, 0.25]])
    """

def inverse_approx(x: _MatrixOrScalar1) -> _MatrixOrScalar1:
    """Reciprocal where the last bits do not matter.

    Args:
        x: a number, or a 2 x 2, 3 x 3 or 4 x 4 matrix.

    Returns:
        1 / x; `inverse(x)` of a matrix.

    Error: correctly rounded on this device; of a matrix as `inverse`.
    Derivative: -1 / x**2; of a matrix as `inverse`.

    >>> wp.inverse_approx(4.0)
    0.25
    """

def isfinite(x: float | mat22f | mat33f | mat44f | quatf | spatial_matrixf | spatial_vectorf | vec2f | vec3f | vec4f | float64 | mat22d | mat33d | mat44d | quatd | spatial_matrixd | spatial_vectord | vec2d | vec3d | vec4d | float16 | mat22h | mat33h | mat44h | quath | spatial_matrixh | spatial_vectorh | vec2h | vec3h | vec4h | bfloat16) -> bool:
    """True if `x` is neither infinite nor NaN.

    Args:
        x: a number, or a vector, quaternion or matrix (all components).

    Returns:
        True or False.

    >>> wp.isfinite(1.0)
    True
    """

def isinf(x: float | mat22f | mat33f | mat44f | quatf | spatial_matrixf | spatial_vectorf | vec2f | vec3f | vec4f | float64 | mat22d | mat33d | mat44d | quatd | spatial_matrixd | spatial_vectord | vec2d | vec3d | vec4d | float16 | mat22h | mat33h | mat44h | quath | spatial_matrixh | spatial_vectorh | vec2h | vec3h | vec4h | bfloat16) -> bool:
    """True if `x` is infinite.

    Args:
        x: a number, or a vector, quaternion or matrix (any component).

    Returns:
        True or False.

    >>> wp.isinf(1.0)
    False
    """

def isnan(x: float | mat22f | mat33f | mat44f | quatf | spatial_matrixf | spatial_vectorf | vec2f | vec3f | vec4f | float64 | mat22d | mat33d | mat44d | quatd | spatial_matrixd | spatial_vectord | vec2d | vec3d | vec4d | float16 | mat22h | mat33h | mat44h | quath | spatial_matrixh | spatial_vectorh | vec2h | vec3h | vec4h | bfloat16) -> bool:
    """True if `x` is NaN.

    Args:
        x: a number, or a vector, quaternion or matrix (any component).

    Returns:
        True or False.

    >>> wp.isnan(1.0)
    False
    """

def lane() -> Any:
    """Index of the thread within its warp, from 0 to 31: `thread_index() % 32`. Warps have 32 threads on every device.

    Returns:
        The index.

    >>> @wp.kernel
    ... def lanes(out: wp.array[int]):
    ...     out[wp.tid()] = wp.lane()
    >>> out = wp.zeros(64, dtype=int)
    >>> wp.launch(lanes, dim=64, inputs=[out], block_dim=64)
    >>> out.list()[30:34]
    [30, 31, 0, 1]
    """

@typing.overload
def length(a: quatf | spatial_vectorf | vec2f | vec3f | vec4f) -> float:
    """Length of a vector.

    Args:
        a: a vector or quaternion.

    Returns:
        sqrt(dot(a, a)), a scalar.

    Error: 2 ULP for up to 4 components, where the squares neither overflow nor underflow.
    Derivative: a / length(a); 0 at zero.

    >>> wp.length(wp.vec2(3.0, 4.0))
    5.0
    """
@typing.overload
def length(a: quatd | spatial_vectord | vec2d | vec3d | vec4d) -> float64: ...
@typing.overload
def length(a: quath | spatial_vectorh | vec2h | vec3h | vec4h) -> float16: ...

@typing.overload
def length_sq(a: quatf | spatial_vectorf | vec2f | vec3f | vec4f) -> float:
    """Squared length.

    Args:
        a: a vector or quaternion.

    Returns:
        dot(a, a), a scalar.

    Error: one rounding for each term.
    Derivative: 2 * a.

    >>> wp.length_sq(wp.vec2(3.0, 4.0))
    25.0
    """
@typing.overload
def length_sq(a: quatd | spatial_vectord | vec2d | vec3d | vec4d) -> float64: ...
@typing.overload
def length_sq(a: quath | spatial_vectorh | vec2h | vec3h | vec4h) -> float16: ...
@typing.overload
def length_sq(a: vec2i | vec3i | vec4i) -> int: ...
@typing.overload
def length_sq(a: vec2b | vec3b | vec4b) -> int8: ...
@typing.overload
def length_sq(a: vec2s | vec3s | vec4s) -> int16: ...
@typing.overload
def length_sq(a: vec2l | vec3l | vec4l) -> int64: ...
@typing.overload
def length_sq(a: vec2ub | vec3ub | vec4ub) -> uint8: ...
@typing.overload
def length_sq(a: vec2us | vec3us | vec4us) -> uint16: ...
@typing.overload
def length_sq(a: vec2ui | vec3ui | vec4ui) -> uint32: ...
@typing.overload
def length_sq(a: vec2ul | vec3ul | vec4ul) -> uint64: ...

@typing.overload
def lerp(a: _MatrixOrQuaternionOrScalarOrTransformOrVector1, b: _MatrixOrQuaternionOrScalarOrTransformOrVector1, t: float) -> _MatrixOrQuaternionOrScalarOrTransformOrVector1:
    """Linear interpolation.

    Args:
        a: value at t = 0; a number, vector, matrix, quaternion or transform (componentwise).
        b: value at t = 1, of the type of `a`.
        t: a number.

    Returns:
        a * (1 - t) + b * t.

    Error: 2 ULP of the larger term.
    Derivative: 1 - t in `a`, t in `b`, b - a in `t`.

    >>> wp.lerp(1.0, 3.0, 0.25)
    1.5
    """
@typing.overload
def lerp(a: _MatrixOrQuaternionOrScalarOrTransformOrVector1, b: _MatrixOrQuaternionOrScalarOrTransformOrVector1 | float, t: float) -> _MatrixOrQuaternionOrScalarOrTransformOrVector1: ...
@typing.overload
def lerp(a: _MatrixOrQuaternionOrScalarOrTransformOrVector1 | float, b: _MatrixOrQuaternionOrScalarOrTransformOrVector1, t: float) -> _MatrixOrQuaternionOrScalarOrTransformOrVector1: ...
@typing.overload
def lerp(a: _MatrixOrQuaternionOrScalarOrTransformOrVector2, b: _MatrixOrQuaternionOrScalarOrTransformOrVector2, t: float64 | float) -> _MatrixOrQuaternionOrScalarOrTransformOrVector2: ...
@typing.overload
def lerp(a: _MatrixOrQuaternionOrScalarOrTransformOrVector2, b: _MatrixOrQuaternionOrScalarOrTransformOrVector2 | float, t: float64 | float) -> _MatrixOrQuaternionOrScalarOrTransformOrVector2: ...
@typing.overload
def lerp(a: _MatrixOrQuaternionOrScalarOrTransformOrVector2 | float, b: _MatrixOrQuaternionOrScalarOrTransformOrVector2, t: float64 | float) -> _MatrixOrQuaternionOrScalarOrTransformOrVector2: ...
@typing.overload
def lerp(a: _MatrixOrQuaternionOrScalarOrTransformOrVector3, b: _MatrixOrQuaternionOrScalarOrTransformOrVector3, t: float16 | float) -> _MatrixOrQuaternionOrScalarOrTransformOrVector3: ...
@typing.overload
def lerp(a: _MatrixOrQuaternionOrScalarOrTransformOrVector3, b: _MatrixOrQuaternionOrScalarOrTransformOrVector3 | float, t: float16 | float) -> _MatrixOrQuaternionOrScalarOrTransformOrVector3: ...
@typing.overload
def lerp(a: _MatrixOrQuaternionOrScalarOrTransformOrVector3 | float, b: _MatrixOrQuaternionOrScalarOrTransformOrVector3, t: float16 | float) -> _MatrixOrQuaternionOrScalarOrTransformOrVector3: ...
@typing.overload
def lerp(a: bfloat16 | float, b: bfloat16 | float, t: bfloat16 | float) -> bfloat16: ...

@typing.overload
def load(arr: Any, i: Any) -> Any:
    """Element of an array: `arr[i]` as a function. An array of several dimensions takes as many indices.

    Args:
        arr: an array.
        i: an index for each dimension.

    Returns:
        The element.

    Derivative: 1 in the element.

    >>> @wp.kernel
    ... def copy(x: wp.array[float], y: wp.array[float]):
    ...     i = wp.tid()
    ...     wp.store(y, i, wp.load(x, i))
    >>> y = wp.zeros(2, dtype=float)
    >>> wp.launch(copy, dim=2, inputs=[wp.ones(2, dtype=float), y])
    >>> y.list()
    [1.0, 1.0]
    """
@typing.overload
def load(arr: Any, i: Any, j: Any) -> Any: ...
@typing.overload
def load(arr: Any, i: Any, j: Any, k: Any) -> Any: ...
@typing.overload
def load(arr: Any, i: Any, j: Any, k: Any, l: Any) -> Any: ...
@typing.overload
def load(arr: Any) -> Any: ...

def log(x: _Scalar1) -> _Scalar1:
    """Natural logarithm of `x`.

    Args:
        x: a number; negative ones give NaN, zero gives -inf.

    Returns:
        ln(x), of the type of `x`.

    Error: float32 0.87 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: 1 / x.

    >>> round(wp.log(10.0), 6)
    2.302585
    """

def log10(x: _Scalar1) -> _Scalar1:
    """Logarithm of `x` to base 10.

    Args:
        x: a number; negative ones give NaN, zero gives -inf.

    Returns:
        log10(x), of the type of `x`.

    Error: float32 0.94 ULP over all arguments; float64 2 ULP with the GNU C library.
    Derivative: 1 / (ln(10) * x).

    >>> round(wp.log10(1000.0), 6)
    3.0
    """

def log2(x: _Scalar1) -> _Scalar1:
    """Logarithm of `x` to base 2.

    Args:
        x: a number; negative ones give NaN, zero gives -inf.

    Returns:
        log2(x), of the type of `x`; exact for powers of two.

    Error: float32 1.05 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: 1 / (ln(2) * x).

    >>> wp.log2(8.0)
    3.0
    """

@typing.overload
def lower_bound(arr: _Array[bfloat16], value: bfloat16 | float) -> int:
    """Return the position of a value in a sorted array.

    Args:
        arr: array in increasing order.
        arr_begin: if given with `arr_end`, the first index to look at, an int32.
        arr_end: the index after the last one to look at, an int32.
        value: what to look for, of the array's type.

    Returns:
        The first index whose element is not below `value`, an int32. If all are below, the last index of the range, so
        that it is one of an element; `arr_begin` if the range is empty.

    Error: exact.
    Derivative: none.

    >>> wp.lower_bound(wp.array([1.0, 3.0, 5.0], dtype=float), 2.0)
    1
    """
@typing.overload
def lower_bound(arr: _Array[float16], value: float16 | float) -> int: ...
@typing.overload
def lower_bound(arr: _Array[float64], value: float64 | float) -> int: ...
@typing.overload
def lower_bound(arr: _Array[float], value: float) -> int: ...
@typing.overload
def lower_bound(arr: _Array[int16], value: int16 | int) -> int: ...
@typing.overload
def lower_bound(arr: _Array[int64], value: int64 | int) -> int: ...
@typing.overload
def lower_bound(arr: _Array[int8], value: int8 | int) -> int: ...
@typing.overload
def lower_bound(arr: _Array[int], value: int) -> int: ...
@typing.overload
def lower_bound(arr: _Array[uint16], value: uint16 | int) -> int: ...
@typing.overload
def lower_bound(arr: _Array[uint32], value: uint32 | int) -> int: ...
@typing.overload
def lower_bound(arr: _Array[uint64], value: uint64 | int) -> int: ...
@typing.overload
def lower_bound(arr: _Array[uint8], value: uint8 | int) -> int: ...
@typing.overload
def lower_bound(arr: _Array[bfloat16], arr_begin: int, arr_end: int, value: bfloat16 | float) -> int: ...
@typing.overload
def lower_bound(arr: _Array[float16], arr_begin: int, arr_end: int, value: float16 | float) -> int: ...
@typing.overload
def lower_bound(arr: _Array[float64], arr_begin: int, arr_end: int, value: float64 | float) -> int: ...
@typing.overload
def lower_bound(arr: _Array[float], arr_begin: int, arr_end: int, value: float) -> int: ...
@typing.overload
def lower_bound(arr: _Array[int16], arr_begin: int, arr_end: int, value: int16 | int) -> int: ...
@typing.overload
def lower_bound(arr: _Array[int64], arr_begin: int, arr_end: int, value: int64 | int) -> int: ...
@typing.overload
def lower_bound(arr: _Array[int8], arr_begin: int, arr_end: int, value: int8 | int) -> int: ...
@typing.overload
def lower_bound(arr: _Array[int], arr_begin: int, arr_end: int, value: int) -> int: ...
@typing.overload
def lower_bound(arr: _Array[uint16], arr_begin: int, arr_end: int, value: uint16 | int) -> int: ...
@typing.overload
def lower_bound(arr: _Array[uint32], arr_begin: int, arr_end: int, value: uint32 | int) -> int: ...
@typing.overload
def lower_bound(arr: _Array[uint64], arr_begin: int, arr_end: int, value: uint64 | int) -> int: ...
@typing.overload
def lower_bound(arr: _Array[uint8], arr_begin: int, arr_end: int, value: uint8 | int) -> int: ...

def matrix(*args: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Matrix of any shape.

    Args:
        args: the components row by row, one number for all of them, or another matrix to convert.
        shape: (rows, columns).
        dtype: their type; taken from `args` if left out.

    Returns:
        The matrix; zero without components. `wp.types.matrix(shape, dtype)` is its type.

    Derivative: 1 in each component given.

    >>> wp.matrix(1.0, 2.0, 3.0, 4.0, shape=(2, 2))[1]
    vec2f([3.0, 4.0])
    """

def matrix_from_cols(*cols: Any) -> Any:
    """Matrix of the given columns.

    Args:
        cols: vectors of one type.

    Returns:
        The matrix with as many columns as vectors were given.

    Derivative: the columns of the result's.

    >>> wp.matrix_from_cols(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))[0]
    vec2f([1.0, 3.0])
    """

def matrix_from_rows(*rows: Any) -> Any:
    """Matrix of the given rows.

    Args:
        rows: vectors of one type.

    Returns:
        The matrix with as many rows as vectors were given.

    Derivative: the rows of the result's.

    >>> wp.matrix_from_rows(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))[0]
    vec2f([1.0, 2.0])
    """

@typing.overload
def max(a: _ScalarOrVector1, b: _ScalarOrVector1) -> _ScalarOrVector1:
    """Larger of two numbers.

    Args:
        a: a number, or a vector (componentwise). A vector alone gives its largest component.
        b: another of the same type.

    Returns:
        `a` if it is greater than `b`, else `b`. Of a number and NaN, the number.

    Error: exact.
    Derivative: that of the argument returned, the last of equal ones.

    >>> wp.max(2.0, 1.0)
    2.0
    """
@typing.overload
def max(a: _ScalarOrVector1, b: _ScalarOrVector1 | float) -> _ScalarOrVector1: ...
@typing.overload
def max(a: _ScalarOrVector1 | float, b: _ScalarOrVector1) -> _ScalarOrVector1: ...
@typing.overload
def max(a: spatial_vectorf | vec2f | vec3f | vec4f) -> float: ...
@typing.overload
def max(a: spatial_vectord | vec2d | vec3d | vec4d) -> float64: ...
@typing.overload
def max(a: spatial_vectorh | vec2h | vec3h | vec4h) -> float16: ...
@typing.overload
def max(a: vec2i | vec3i | vec4i) -> int: ...
@typing.overload
def max(a: vec2b | vec3b | vec4b) -> int8: ...
@typing.overload
def max(a: vec2s | vec3s | vec4s) -> int16: ...
@typing.overload
def max(a: vec2l | vec3l | vec4l) -> int64: ...
@typing.overload
def max(a: vec2ub | vec3ub | vec4ub) -> uint8: ...
@typing.overload
def max(a: vec2us | vec3us | vec4us) -> uint16: ...
@typing.overload
def max(a: vec2ui | vec3ui | vec4ui) -> uint32: ...
@typing.overload
def max(a: vec2ul | vec3ul | vec4ul) -> uint64: ...

def mesh_eval_face_normal(id: uint64 | int, face: int) -> vec3f:
    """Unit normal of a face of a mesh.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        face: the number of a face, an int32.

    Returns:
        The normal on the side from which the corners run counterclockwise, a vec3; zero for a face without area. A face
        that is out of range is a KernelError.

    Error: 2 ULP.
    Derivative: with respect to the points of the mesh; 0 for a face without area.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> wp.mesh_eval_face_normal(mesh.id, 0)
    vec3f([0.0, 0.0, 1.0])
    """

def mesh_eval_position(id: uint64 | int, face: int, u: float, v: float) -> vec3f:
    """Position of a point of a face of a mesh.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        face: the number of a face, an int32.
        u: the weight of its first corner, a float32.
        v: the weight of its second corner; the third one has 1 - u - v.

    Returns:
        The weighted sum of the corners, a vec3. A face that is out of range is a KernelError.

    Error: 3 ULP of the corners.
    Derivative: with respect to `u`, `v` and the points of the mesh.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> wp.mesh_eval_position(mesh.id, 0, 0.5, 0.25)
    vec3f([1.0, 1.0, 0.0])
    """

def mesh_eval_velocity(id: uint64 | int, face: int, u: float, v: float) -> vec3f:
    """Velocity at a point of a face of a mesh.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        face: the number of a face, an int32.
        u: the weight of its first corner, a float32.
        v: the weight of its second corner; the third one has 1 - u - v.

    Returns:
        The weighted sum of the velocities at the corners, a vec3; zero if the mesh has no velocities. A face that is
        out of range is a KernelError.

    Error: 3 ULP of the velocities.
    Derivative: with respect to `u`, `v` and the velocities of the mesh.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"), velocities=corners)
    >>> wp.mesh_eval_velocity(mesh.id, 0, 0.5, 0.25)
    vec3f([1.0, 1.0, 0.0])
    """

def mesh_get(id: uint64 | int) -> MeshArrays:
    """The arrays of a mesh: `points`, `velocities` and `indices`.

    Args:
        id: of the mesh: `mesh.id`, a uint64.

    Returns:
        A MeshArrays. Kernels read its arrays, and cannot write them: pass `mesh.points` to a kernel that does. An id
        without a mesh is a KernelError. Called from Python it gives copies if the mesh is on a GPU.

    Error: exact.
    Derivative: of the elements of `points` and `velocities`, with respect to these arrays.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([2, 0, 1], dtype=int, device="cpu"))
    >>> @wp.kernel
    ... def total(mesh: wp.uint64, out: wp.array[wp.vec3]):
    ...     arrays = wp.mesh_get(mesh)
    ...     for i in range(arrays.indices.shape[0]):
    ...         out[0] += arrays.points[arrays.indices[i]]
    >>> out = wp.zeros(1, dtype=wp.vec3, device="cpu")
    >>> wp.launch(total, dim=1, inputs=[mesh.id, out], device="cpu")
    >>> out.list()
    [vec3f([4.0, 4.0, 0.0])]
    """

def mesh_get_bvh(id: uint64 | int) -> uint64:
    """Id of the tree of a mesh, for queries of trees over boxes: its boxes are those of the faces.

    Args:
        id: of the mesh: `mesh.id`, a uint64.

    Returns:
        The argument `id` of `wp.bvh_query_aabb` and its relatives, a uint64. `wp.bvh_query_next` gives numbers of
        faces. It is valid for as long as the mesh exists, and 0 without a mesh, which is a KernelError.

    Error: exact.
    Derivative: none.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> query = wp.bvh_query_sphere(wp.mesh_get_bvh(mesh.id), wp.vec3(5.0, 0.0, 0.0), 1.0)
    >>> query.stop  # nodes to visit
    1
    """

def mesh_get_group_root(id: uint64 | int, group: int) -> int:
    """Node above the faces of a group of a mesh, which restricts rays to the group.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        group: the number of a group, an int32.

    Returns:
        The argument `root` of `wp.mesh_query_ray`, `wp.mesh_query_ray_anyhit` and
        `wp.mesh_query_ray_count_intersections`, an int32. It is -1 for a group without faces: compare before a query,
        as -1 stands for all faces there. An id without a mesh is a KernelError.

    Error: exact.
    Derivative: none.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> faces = wp.array([0, 1, 2, 0, 2, 1], dtype=int, device="cpu")
    >>> mesh = wp.Mesh(corners, faces, groups=wp.array([7, 8], dtype=int, device="cpu"))
    >>> root = wp.mesh_get_group_root(mesh.id, 8)
    >>> wp.mesh_query_ray(mesh.id, wp.vec3(1.0, 1.0, 5.0), wp.vec3(0.0, 0.0, -1.0), 10.0, root).face
    1
    >>> wp.mesh_get_group_root(mesh.id, 9)
    -1
    """

def mesh_get_index(id: uint64 | int, index: int) -> int:
    """Point at a corner of a mesh.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        index: the number of the corner, an int32: 3 * face + 0, 1 or 2.

    Returns:
        The number of the point, an int32. A corner that is out of range is a KernelError.

    Error: exact.
    Derivative: none.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([2, 0, 1], dtype=int, device="cpu"))
    >>> wp.mesh_get_index(mesh.id, 0)
    2
    """

def mesh_get_point(id: uint64 | int, index: int) -> vec3f:
    """Position of a corner of a mesh.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        index: the number of the corner, an int32: 3 * face + 0, 1 or 2.

    Returns:
        The position of its point, a vec3. A corner that is out of range is a KernelError.

    Error: exact.
    Derivative: with respect to the points of the mesh.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([2, 0, 1], dtype=int, device="cpu"))
    >>> wp.mesh_get_point(mesh.id, 0)
    vec3f([0.0, 4.0, 0.0])
    """

def mesh_get_velocity(id: uint64 | int, index: int) -> vec3f:
    """Velocity at a corner of a mesh.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        index: the number of the corner, an int32: 3 * face + 0, 1 or 2.

    Returns:
        The velocity of its point, a vec3; zero if the mesh has no velocities. A corner that is out of range is a
        KernelError.

    Error: exact.
    Derivative: with respect to the velocities of the mesh.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([2, 0, 1], dtype=int, device="cpu"), velocities=corners)
    >>> wp.mesh_get_velocity(mesh.id, 0)
    vec3f([0.0, 4.0, 0.0])
    """

def mesh_query_aabb(id: uint64 | int, low: vec3f, high: vec3f) -> MeshQueryAABB:
    """Query of a mesh for the faces whose boxes overlap a box. `wp.mesh_query_aabb_next` gives them one by one.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        low: the lower corner of the box, a vec3 in the coordinates of the mesh.
        high: its upper corner.

    Returns:
        A MeshQueryAABB. An id without a mesh is a KernelError.

    Error: exact.
    Derivative: none.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> query = wp.mesh_query_aabb(mesh.id, wp.vec3(3.0, 3.0, -1.0), wp.vec3(5.0, 5.0, 1.0))
    >>> query.num_nodes
    1
    """

def mesh_query_aabb_next(query: Any, index: Any) -> bool:
    """Next face of a query of a mesh for a box.

    Args:
        query: from `wp.mesh_query_aabb`; a local variable, which is advanced.
        index: a local int32, which becomes the number of the face.

    Returns:
        True if there was a face; otherwise `index` stays as it is. No face comes twice, and the order depends on the
        mesh alone.

    Error: exact.
    Derivative: none.

    >>> @wp.kernel
    ... def count(mesh: wp.uint64, found: wp.array[int]):
    ...     query = wp.mesh_query_aabb(mesh, wp.vec3(3.0, 3.0, -1.0), wp.vec3(5.0, 5.0, 1.0))
    ...     face = int(0)
    ...     while wp.mesh_query_aabb_next(query, face):
    ...         found[0] += 1
    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> found = wp.zeros(1, dtype=int, device="cpu")
    >>> wp.launch(count, dim=1, inputs=[mesh.id, found], device="cpu")
    >>> found.list()
    [1]
    """

def mesh_query_aabb_next_tiled(query: Any) -> Any:
    """Tile of the next faces of a query of a mesh, one for each thread of the block.

    Args:
        query: from `wp.tile_mesh_query_aabb`; it is advanced for all threads.

    Returns:
        A tile of `block_dim` int32: faces in the order of `wp.mesh_query_aabb_next`, and -1 behind the last.

    Derivative: refused.

    >>> @wp.kernel
    ... def first(mesh: wp.uint64, found: wp.array[int]):
    ...     query = wp.tile_mesh_query_aabb(mesh, wp.vec3(0.0, 0.0, 0.0), wp.vec3(1.0, 1.0, 1.0))
    ...     wp.tile_store(found, wp.tile_mesh_query_aabb_next(query))
    >>> corners = wp.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> found = wp.zeros(2, dtype=int, device="cpu")
    >>> wp.launch_tiled(first, dim=1, inputs=[mesh.id, found], block_dim=2, device="cpu")
    >>> found.list()
    [0, -1]
    """

def mesh_query_aabb_tiled(id: Any, low: Any, high: Any) -> Any:
    """Query of a mesh by the whole block for the faces whose boxes overlap a box.

    All threads make it, with equal arguments.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        low: the lower corner of the box, a vec3 in the coordinates of the mesh.
        high: its upper corner.

    Returns:
        The query, for `wp.tile_mesh_query_aabb_next` and `wp.tile_query_valid`. Copies of it are the same query.

    Derivative: refused.

    >>> @wp.kernel
    ... def mark(mesh: wp.uint64, low: wp.vec3, high: wp.vec3, found: wp.array[int]):
    ...     query = wp.tile_mesh_query_aabb(mesh, low, high)
    ...     while wp.tile_query_valid(query):
    ...         face = wp.untile(wp.tile_mesh_query_aabb_next(query))
    ...         if face >= 0:
    ...             found[face] = 1
    >>> corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [9.0, 9.0, 0.0]]
    >>> corners = wp.array(corners, dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2, 1, 3, 2], dtype=int, device="cpu"))
    >>> found = wp.zeros(2, dtype=int, device="cpu")
    >>> inputs = [mesh.id, wp.vec3(4.0, 4.0, -1.0), wp.vec3(5.0, 5.0, 1.0), found]
    >>> wp.launch_tiled(mark, dim=1, inputs=inputs, block_dim=4, device="cpu")
    >>> found.list()
    [0, 1]
    """

@typing.overload
def mesh_query_furthest_point_no_sign(id: uint64 | int, point: vec3f, min_dist: float) -> MeshQueryPoint:
    """Point of a mesh that is farthest from a point. It is a corner of a face.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        point: any point, a vec3 in the coordinates of the mesh.
        min_dist: corners count if their distance is above this.

    Returns:
        A MeshQueryPoint; `wp.mesh_eval_position(id, q.face, q.u, q.v)` is the farthest point. Of faces with equal
        distance it names the one with the lowest number. An id without a mesh is a KernelError.

    Error: 4 ULP in the distance.
    Derivative: 0 for `u` and `v`, as the point is a corner; `wp.mesh_eval_position` has one with respect to the points.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> far = wp.mesh_query_furthest_point_no_sign(mesh.id, wp.vec3(3.0, 0.0, 0.0), 0.0)
    >>> wp.mesh_eval_position(mesh.id, far.face, far.u, far.v)
    vec3f([0.0, 4.0, 0.0])
    """
@typing.overload
def mesh_query_furthest_point_no_sign(id: uint64 | int, point: vec3f, min_dist: float, face: Any, u: Any, v: Any) -> bool: ...

def mesh_query_next(query: Any, index: Any) -> bool:
    """Next face of a query of a mesh for a box or a ball.

    Args:
        query: from `wp.mesh_query_aabb` or `wp.mesh_query_sphere`; a local variable, which is advanced.
        index: a local int32, which becomes the number of the face.

    Returns:
        True if there was a face; otherwise `index` stays as it is. No face comes twice, and the order depends on the
        mesh alone.

    Error: exact for boxes; as `wp.mesh_query_sphere` says for balls.
    Derivative: none.

    >>> @wp.kernel
    ... def count(mesh: wp.uint64, radius: float, found: wp.array[int]):
    ...     query = wp.mesh_query_sphere(mesh, wp.vec3(1.0, 1.0, 2.0), radius)
    ...     face = int(0)
    ...     while wp.mesh_query_next(query, face):
    ...         found[0] += 1
    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> found = wp.zeros(1, dtype=int, device="cpu")
    >>> wp.launch(count, dim=1, inputs=[mesh.id, 2.0, found], device="cpu")
    >>> found.list()
    [1]
    """

@typing.overload
def mesh_query_point(id: uint64 | int, point: vec3f, max_dist: float) -> MeshQueryPoint:
    """Point of a closed mesh that is closest to a point, and whether the point is inside.

    Rays in two or three directions tell by how many faces they hit. The older form with variables for the results,
    `wp.mesh_query_point(id, point, max_dist, sign, face, u, v)`, assigns them and returns whether there is a face.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        point: any point, a vec3 in the coordinates of the mesh.
        max_dist: faces count if their distance is below this.

    Returns:
        A MeshQueryPoint, whose `sign` is -1.0 inside. The rest is as `wp.mesh_query_point_no_sign` finds it.

    Error: as for `wp.mesh_query_point_no_sign`. The sign of a mesh with holes is that of most rays.
    Derivative: as for `wp.mesh_query_point_no_sign`; that of the sign is 0.

    >>> points = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]
    >>> faces = wp.array([0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3], dtype=int, device="cpu")
    >>> mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, device="cpu"), faces)
    >>> wp.mesh_query_point(mesh.id, wp.vec3(1.0, 1.0, 0.5), 10.0).sign
    -1.0
    """
@typing.overload
def mesh_query_point(id: uint64 | int, point: vec3f, max_dist: float, sign: Any, face: Any, u: Any, v: Any) -> bool: ...

@typing.overload
def mesh_query_point_no_sign(id: uint64 | int, point: vec3f, max_dist: float) -> MeshQueryPoint:
    """Point of a mesh that is closest to a point.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        point: any point, a vec3 in the coordinates of the mesh.
        max_dist: faces count if their distance is below this.

    Returns:
        A MeshQueryPoint; `wp.mesh_eval_position(id, q.face, q.u, q.v)` is the closest point. Of faces with equal
        distance it names the one with the lowest number. If a coordinate is NaN, nothing is found. An id without a mesh
        is a KernelError.

    Error: 4 ULP of the distances between `point` and the corners of the face, in the distance.
    Derivative: of `u` and `v` with respect to `point` and the corners of the face; 0 for `max_dist`. It does not exist
        where another face, edge or corner becomes the closest one.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> near = wp.mesh_query_point_no_sign(mesh.id, wp.vec3(1.0, 1.0, 5.0), 10.0)
    >>> wp.mesh_eval_position(mesh.id, near.face, near.u, near.v)
    vec3f([1.0, 1.0, 0.0])
    """
@typing.overload
def mesh_query_point_no_sign(id: uint64 | int, point: vec3f, max_dist: float, face: Any, u: Any, v: Any) -> bool: ...

@typing.overload
def mesh_query_point_sign_normal(id: uint64 | int, point: vec3f, max_dist: float, epsilon: float = ...) -> MeshQueryPoint:
    """Point of a closed mesh that is closest to a point, and on which side of the surface the point is.

    The normals of the faces around the closest point tell the side, each with its angle there as weight. This is faster
    than rays, and right for closed meshes that do not pass through themselves. The older form with variables for the
    results is `wp.mesh_query_point_sign_normal(id, point, max_dist, sign, face, u, v)`.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        point: any point, a vec3 in the coordinates of the mesh.
        max_dist: faces count if their distance is below this.
        epsilon: taken, without effect: closest points are known well enough to tell on which face or edge they lie.

    Returns:
        A MeshQueryPoint, whose `sign` is -1.0 behind the surface, and 1.0 before it or on it. The rest is as
        `wp.mesh_query_point_no_sign` finds it.

    Error: as for `wp.mesh_query_point_no_sign`.
    Derivative: as for `wp.mesh_query_point_no_sign`; that of the sign is 0.

    >>> points = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]
    >>> faces = wp.array([0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3], dtype=int, device="cpu")
    >>> mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, device="cpu"), faces)
    >>> wp.mesh_query_point_sign_normal(mesh.id, wp.vec3(1.0, 1.0, 0.5), 10.0).sign
    -1.0
    """
@typing.overload
def mesh_query_point_sign_normal(id: uint64 | int, point: vec3f, max_dist: float, sign: Any, face: Any, u: Any, v: Any, epsilon: float = ...) -> bool: ...

def mesh_query_point_sign_parity(id: uint64 | int, point: vec3f, max_dist: float, n_sample: int = ..., perturbation_scale: float = ...) -> MeshQueryPoint:
    """Point of a closed mesh that is closest to a point, and whether the point is inside: `wp.mesh_query_point`.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        point: any point, a vec3 in the coordinates of the mesh.
        max_dist: faces count if their distance is below this.
        n_sample: for programs written for warp-lang; two or three rays decide here.
        perturbation_scale: for such programs; the directions of the rays are fixed.

    Returns:
        A MeshQueryPoint, whose `sign` is -1.0 inside. The rest is as `wp.mesh_query_point_no_sign` finds it.

    Error: as for `wp.mesh_query_point_no_sign`. The sign of a mesh with holes is that of most rays.
    Derivative: as for `wp.mesh_query_point_no_sign`; that of the sign is 0.

    >>> points = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]
    >>> faces = wp.array([0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3], dtype=int, device="cpu")
    >>> mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, device="cpu"), faces)
    >>> wp.mesh_query_point_sign_parity(mesh.id, wp.vec3(1.0, 1.0, 0.5), 10.0).sign
    -1.0
    """

@typing.overload
def mesh_query_point_sign_winding_number(id: uint64 | int, point: vec3f, max_dist: float, accuracy: float = ..., threshold: float = ...) -> MeshQueryPoint:
    """Point of a mesh that is closest to a point, and whether the mesh winds around the point.

    This works for meshes with holes. A mesh that was made with `support_winding_number=True` takes far faces together.
    Other meshes have all their faces looked at, which is exact, and takes a time in proportion to their number.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        point: any point, a vec3 in the coordinates of the mesh.
        max_dist: faces count if their distance is below this.
        accuracy: the faces below a node of the tree are taken together if the point is farther from its centre than
            this many radii. More is more accurate, and slower. Below 1 it counts as 1.
        threshold: the point is inside if the winding number is above this. It is 1 inside of a closed mesh whose faces
            have their front outside, and 0 outside.

    Returns:
        A MeshQueryPoint, whose `sign` is -1.0 inside. The rest is as `wp.mesh_query_point_no_sign` finds it.

    Error: as for `wp.mesh_query_point_no_sign`; in the winding number, 1e-8 for each thousand faces if it is exact.
        Otherwise it is about 0.002 for an `accuracy` of 2, and 0.0001 for 4.
    Derivative: as for `wp.mesh_query_point_no_sign`; that of the sign is 0.

    >>> points = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]
    >>> faces = wp.array([0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3], dtype=int, device="cpu")
    >>> mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, device="cpu"), faces)
    >>> wp.mesh_query_point_sign_winding_number(mesh.id, wp.vec3(1.0, 1.0, 0.5), 10.0).sign
    -1.0
    """
@typing.overload
def mesh_query_point_sign_winding_number(id: uint64 | int, point: vec3f, max_dist: float, sign: Any, face: Any, u: Any, v: Any, accuracy: float = ..., threshold: float = ...) -> bool: ...

@typing.overload
def mesh_query_ray(id: uint64 | int, start: vec3f, dir: vec3f, max_t: float, root: int = ...) -> MeshQueryRay:
    """First face of a mesh that a ray hits, from either side.

    The older form with variables for the results, `wp.mesh_query_ray(id, start, dir, max_t, t, u, v, sign, n, f)`,
    assigns them and returns whether there is a hit. It takes `root` after them.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        start: where the ray starts, a vec3 in the coordinates of the mesh.
        dir: its direction, a vec3 of any length.
        max_t: hits count if `t`, in lengths of `dir`, is below this.
        root: only faces below this node, which `wp.mesh_get_group_root` returns for a group; all faces if negative.

    Returns:
        A MeshQueryRay. Of faces with equal `t` it names the one with the lowest number. A face with two equal corners
        is not hit. A ray through a common edge or corner of faces hits one of them; at a corner any of them, and `t` is
        where the ray meets its plane. A ray with a component that is NaN, or with a direction of zero, hits nothing.
        Whether a face is hit is decided with corners that are rounded relative to `start`. An id without a mesh is a
        KernelError, as is a node that is not the root of a group.

    Error: 1 ULP in `t`, to the plane of the face; `t` is not before the box of the face.
    Derivative: of `t`, `u`, `v` and `normal` with respect to `start`, `dir` and the corners of the face; 0 for `max_t`.
        It does not exist where the ray goes from one face to another.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> hit = wp.mesh_query_ray(mesh.id, wp.vec3(1.0, 1.0, 5.0), wp.vec3(0.0, 0.0, -1.0), 10.0)
    >>> bool(hit.result), hit.t, hit.u, hit.v, hit.sign, int(hit.face)
    (True, 5.0, 0.5, 0.25, 1.0, 0)
    """
@typing.overload
def mesh_query_ray(id: uint64 | int, start: vec3f, dir: vec3f, max_t: float, t: Any, u: Any, v: Any, sign: Any, normal: Any, face: Any, root: int = ...) -> bool: ...

def mesh_query_ray_anyhit(id: uint64 | int, start: vec3f, dir: vec3f, max_t: float, root: int = ...) -> bool:
    """Whether a ray hits a mesh, from either side.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        start: where the ray starts, a vec3 in the coordinates of the mesh.
        dir: its direction, a vec3 of any length.
        max_t: hits count if they are at `start + t * dir` with `t` below this.
        root: only faces below this node, which `wp.mesh_get_group_root` returns for a group; all faces if negative.

    Returns:
        True where `wp.mesh_query_ray` has a result. An id without a mesh is a KernelError, as is a
        node that is not the root of a group.

    Error: exact, with corners that are rounded relative to `start`.
    Derivative: none.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> wp.mesh_query_ray_anyhit(mesh.id, wp.vec3(1.0, 1.0, 5.0), wp.vec3(0.0, 0.0, -1.0), 10.0)
    True
    """

def mesh_query_ray_count_intersections(id: uint64 | int, start: vec3f, dir: vec3f, root: int = ...) -> int:
    """Number of faces of a mesh that a ray hits, from either side.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        start: where the ray starts, a vec3 in the coordinates of the mesh.
        dir: its direction, a vec3 of any length.
        root: only faces below this node, which `wp.mesh_get_group_root` returns for a group; all faces if negative.

    Returns:
        How many faces the ray hits at any distance, an int32. A ray through a common edge or corner of faces may hit
        several of them there. An id without a mesh is a KernelError, as is a node that is not the root of a group.

    Error: exact, with corners that are rounded relative to `start`.
    Derivative: none.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2, 2, 1, 0], dtype=int, device="cpu"))
    >>> wp.mesh_query_ray_count_intersections(mesh.id, wp.vec3(1.0, 1.0, 5.0), wp.vec3(0.0, 0.0, -1.0))
    2
    """

def mesh_query_sphere(id: uint64 | int, center: vec3f, radius: float) -> MeshQuerySphere:
    """Query of a mesh for the faces that meet a ball. `wp.mesh_query_next` gives them one by one.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        center: the centre of the ball, a vec3 in the coordinates of the mesh.
        radius: its radius, a float32; one below zero counts as zero.

    Returns:
        A MeshQuerySphere. It finds the faces with a point whose distance to the centre is at most the radius. An id
        without a mesh is a KernelError.

    Error: 4 ULP of the distances between `center` and the corners of a face.
    Derivative: none.

    >>> corners = wp.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> query = wp.mesh_query_sphere(mesh.id, wp.vec3(1.0, 1.0, 2.0), 2.0)
    >>> query.num_nodes
    1
    """

@typing.overload
def min(a: _ScalarOrVector1, b: _ScalarOrVector1) -> _ScalarOrVector1:
    """Smaller of two numbers.

    Args:
        a: a number, or a vector (componentwise). A vector alone gives its smallest component.
        b: another of the same type.

    Returns:
        `a` if it is less than `b`, else `b`. Of a number and NaN, the number.

    Error: exact.
    Derivative: that of the argument returned, the last of equal ones.

    >>> wp.min(2.0, 1.0)
    1.0
    """
@typing.overload
def min(a: _ScalarOrVector1, b: _ScalarOrVector1 | float) -> _ScalarOrVector1: ...
@typing.overload
def min(a: _ScalarOrVector1 | float, b: _ScalarOrVector1) -> _ScalarOrVector1: ...
@typing.overload
def min(a: spatial_vectorf | vec2f | vec3f | vec4f) -> float: ...
@typing.overload
def min(a: spatial_vectord | vec2d | vec3d | vec4d) -> float64: ...
@typing.overload
def min(a: spatial_vectorh | vec2h | vec3h | vec4h) -> float16: ...
@typing.overload
def min(a: vec2i | vec3i | vec4i) -> int: ...
@typing.overload
def min(a: vec2b | vec3b | vec4b) -> int8: ...
@typing.overload
def min(a: vec2s | vec3s | vec4s) -> int16: ...
@typing.overload
def min(a: vec2l | vec3l | vec4l) -> int64: ...
@typing.overload
def min(a: vec2ub | vec3ub | vec4ub) -> uint8: ...
@typing.overload
def min(a: vec2us | vec3us | vec4us) -> uint16: ...
@typing.overload
def min(a: vec2ui | vec3ui | vec4ui) -> uint32: ...
@typing.overload
def min(a: vec2ul | vec3ul | vec4ul) -> uint64: ...

def mod(a: Any, b: Any) -> Any:
    """`a % b` as a function.

    Args:
        a: a number or vector.
        b: another of the same type.

    Returns:
        The remainder, with the sign of `a`.

    Error: exact.
    Derivative: 1 in `a`, -trunc(a / b) in `b`.

    >>> wp.mod(wp.uint32(7), wp.uint32(2))
    uint32(1)
    """

def mul(a: Any, b: Any) -> Any:
    """`a * b` as a function.

    Args:
        a: a number, vector, matrix or any other value that the operator takes.
        b: another that goes with it.

    Returns:
        The product: of scalars, of a scalar with any value, of matrices, vectors, quaternions, transforms.

    Error: one rounding for each term.
    Derivative: `b` in `a`, `a` in `b`, multiplied from its own side.

    >>> wp.mul(2.0, wp.vec2(1.0, 2.0))
    vec2f([2.0, 4.0])
    """

@typing.overload
def noise(state: uint32 | int, x: float) -> float:
    """Smooth random field.

    Args:
        state: of `rand_init`; it selects the field and is not advanced.
        x: where to evaluate, in units of the lattice: a float32, vec2, vec3 or vec4 (then called `xy`, `xyz`, `xyzt`).

    Returns:
        A float32 between -1 and 1; 0 at points with integer coordinates.

    Error: float32 8 ULP of 1.
    Derivative: continuous in `x`; none in `state`.

    >>> wp.noise(wp.rand_init(42), 3.0)
    0.0
    """
@typing.overload
def noise(state: uint32 | int, xy: vec2f) -> float: ...
@typing.overload
def noise(state: uint32 | int, xyz: vec3f) -> float: ...
@typing.overload
def noise(state: uint32 | int, xyzt: vec4f) -> float: ...

def nonzero(x: _Scalar2) -> _Scalar2:
    """True if `x` differs from zero, as a number.

    Args:
        x: a number.

    Returns:
        1 where x != 0, else 0.

    Error: exact.
    Derivative: 0.

    >>> wp.nonzero(-2.0)
    1.0
    """

@typing.overload
def norm_huber(v: quatf | spatial_vectorf | vec2f | vec3f | vec4f, delta: float = ...) -> float:
    """Huber norm: quadratic near zero, linear far away.

    Args:
        v: a vector or quaternion.
        delta: the length at which the two parts meet, positive.

    Returns:
        dot(v, v) / 2 up to length `delta`, else delta * (length(v) - delta / 2).

    Error: 4 ULP.
    Derivative: `v` up to length `delta`, else delta * normalize(v).

    >>> wp.norm_huber(wp.vec2(3.0, -4.0))
    4.5
    """
@typing.overload
def norm_huber(v: quatd | spatial_vectord | vec2d | vec3d | vec4d, delta: float64 | float = ...) -> float64: ...
@typing.overload
def norm_huber(v: quath | spatial_vectorh | vec2h | vec3h | vec4h, delta: float16 | float = ...) -> float16: ...

@typing.overload
def norm_l1(v: quatf | spatial_vectorf | transformf | vec2f | vec3f | vec4f) -> float:
    """Sum of magnitudes.

    Args:
        v: a vector, quaternion or transform.

    Returns:
        The sum of abs(v[i]), a scalar.

    Error: one rounding for each term.
    Derivative: the signs of the components, 1 at zero.

    >>> wp.norm_l1(wp.vec2(3.0, -4.0))
    7.0
    """
@typing.overload
def norm_l1(v: quatd | spatial_vectord | transformd | vec2d | vec3d | vec4d) -> float64: ...
@typing.overload
def norm_l1(v: quath | spatial_vectorh | transformh | vec2h | vec3h | vec4h) -> float16: ...

@typing.overload
def norm_l2(v: quatf | spatial_vectorf | vec2f | vec3f | vec4f) -> float:
    """Length of a vector; the same as `length`.

    Args:
        v: a vector or quaternion.

    Returns:
        sqrt(dot(v, v)), a scalar.

    Error: 2 ULP, as `length`.
    Derivative: v / length(v); 0 at zero.

    >>> wp.norm_l2(wp.vec2(3.0, -4.0))
    5.0
    """
@typing.overload
def norm_l2(v: quatd | spatial_vectord | vec2d | vec3d | vec4d) -> float64: ...
@typing.overload
def norm_l2(v: quath | spatial_vectorh | vec2h | vec3h | vec4h) -> float16: ...

@typing.overload
def norm_pseudo_huber(v: quatf | spatial_vectorf | vec2f | vec3f | vec4f, delta: float = ...) -> float:
    """Smooth relative of the length that does not vanish.

    Args:
        v: a vector or quaternion.
        delta: the value at zero, positive.

    Returns:
        delta * sqrt(1 + dot(v, v) / delta**2).

    Error: 4 ULP.
    Derivative: v / norm_pseudo_huber(v, delta).

    >>> wp.norm_pseudo_huber(wp.vec2(0.0, 0.0), 2.0)
    2.0
    """
@typing.overload
def norm_pseudo_huber(v: quatd | spatial_vectord | vec2d | vec3d | vec4d, delta: float64 | float = ...) -> float64: ...
@typing.overload
def norm_pseudo_huber(v: quath | spatial_vectorh | vec2h | vec3h | vec4h, delta: float16 | float = ...) -> float16: ...

def normalize(a: _QuaternionOrVector4) -> _QuaternionOrVector4:
    """Vector of the same direction and length 1.

    Args:
        a: a vector or quaternion.

    Returns:
        a / length(a); zero for the zero vector, the identity for the zero quaternion.

    Error: 3 ULP in each component, as `length`.
    Derivative: (identity - n * transpose(n)) / length(a) with n the result; 0 for the zero vector.

    >>> wp.normalize(wp.vec2(3.0, 0.0))
    vec2f([1.0, 0.0])
    """

@typing.overload
def outer(a: spatial_vectorf, b: spatial_vectorf) -> spatial_matrixf:
    """Outer product.

    Args:
        a: a vector of M components.
        b: a vector of N components.

    Returns:
        The M x N matrix of a[i] * b[j].

    Error: one rounding for each component.
    Derivative: g * b in `a`, a * g in `b`, for the gradient g of the result.

    >>> wp.outer(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
    mat22f([[3.0, 4.0],
     [6.0, 8.0]])
    """
@typing.overload
def outer(a: vec2f, b: vec2f) -> mat22f: ...
@typing.overload
def outer(a: vec3f, b: vec3f) -> mat33f: ...
@typing.overload
def outer(a: vec4f, b: vec4f) -> mat44f: ...
@typing.overload
def outer(a: spatial_vectord, b: spatial_vectord) -> spatial_matrixd: ...
@typing.overload
def outer(a: vec2d, b: vec2d) -> mat22d: ...
@typing.overload
def outer(a: vec3d, b: vec3d) -> mat33d: ...
@typing.overload
def outer(a: vec4d, b: vec4d) -> mat44d: ...
@typing.overload
def outer(a: spatial_vectorh, b: spatial_vectorh) -> spatial_matrixh: ...
@typing.overload
def outer(a: vec2h, b: vec2h) -> mat22h: ...
@typing.overload
def outer(a: vec3h, b: vec3h) -> mat33h: ...
@typing.overload
def outer(a: vec4h, b: vec4h) -> mat44h: ...

@typing.overload
def pnoise(state: uint32 | int, x: float, px: int) -> float:
    """Smooth random field that repeats.

    Args:
        state: of `rand_init`; it selects the field and is not advanced.
        x: where to evaluate: a float32, or a vec2, vec3 or vec4 (then called `xy`, `xyz`, `xyzt`).
        px: period in x, a positive int32; one more for each further coordinate: `py`, `pz`, `pt`.

    Returns:
        A float32 between -1 and 1. Below zero the field is continuous, but is not that of one period further.

    Error: float32 8 ULP of 1.
    Derivative: continuous in `x`; none in `state` and the periods.

    >>> wp.pnoise(wp.rand_init(42), 0.25, 4) == wp.pnoise(wp.rand_init(42), 8.25, 4)
    True
    """
@typing.overload
def pnoise(state: uint32 | int, xy: vec2f, px: int, py: int) -> float: ...
@typing.overload
def pnoise(state: uint32 | int, xyz: vec3f, px: int, py: int, pz: int) -> float: ...
@typing.overload
def pnoise(state: uint32 | int, xyzt: vec4f, px: int, py: int, pz: int, pt: int) -> float: ...

def poisson(state: uint32 | int, lam: float) -> uint32:
    """Random count of independent events.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced, unless `lam` is 0.
        lam: the mean of the count, at least 0.

    Returns:
        A uint32 of mean and variance `lam`.

    Error: counts below 2**24 are exact; beyond, they are the float32 nearest to a count.
    Derivative: none.

    >>> int(wp.poisson(wp.rand_init(42), 0.0))
    0
    """

@typing.overload
def pow(x: _Scalar1, y: _Scalar1) -> _Scalar1:
    """`x` to the power `y`.

    Args:
        x: the base.
        y: the exponent.

    Returns:
        x**y with the special cases of C: 1 for y = 0 and for x = 1, NaN for a negative base and a fractional exponent.

    Error: float32 0.9 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: y * x**(y - 1) in `x`, 0 where `y` is 0 and, for `x` = 0, where `y` is below 1; ln(x) * x**y in `y`, 0
    where `x` is not positive.

    >>> wp.pow(2.0, 10.0)
    1024.0
    """
@typing.overload
def pow(x: _Scalar1, y: _Scalar1 | float) -> _Scalar1: ...
@typing.overload
def pow(x: _Scalar1 | float, y: _Scalar1) -> _Scalar1: ...

@typing.overload
def qr3(A: _Matrix5) -> tuple[_Matrix5, _Matrix5]:
    """QR decomposition of a 3 x 3 matrix.

    The older form with variables for the results, `wp.qr3(A, Q, R)`, assigns them.

    Args:
        A: any matrix.

    Returns:
        Q: rotation.
        R: upper triangular matrix with A = Q * R; its first two diagonal components are not negative.

    Error: 8 ULP of the largest component.
    Derivative: that of the factors. Where the first two columns of `A` depend on each other, Q has none. What is
    computed from Q and R together may have one, and it is right; see docs/gradients.md.

    >>> wp.get_diag(wp.qr3(wp.mat33(0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 1.0))[1])
    vec3f([3.0, 2.0, -1.0])
    """
@typing.overload
def qr3(A: mat33f | mat33d | mat33h, Q: Any, R: Any) -> None: ...

@typing.overload
def quat_between_vectors(a: vec3f, b: vec3f) -> quatf:
    """Shortest rotation that turns one direction into another.

    Args:
        a: a vector of any length but zero.
        b: another.

    Returns:
        The unit quaternion; the identity where the directions are opposite or a vector is zero.

    Error: 8 ULP of 1, away from opposite directions.
    Derivative: that of the formula.

    >>> wp.quat_between_vectors(wp.vec3(1.0, 0.0, 0.0), wp.vec3(2.0, 0.0, 0.0))
    quatf([0.0, 0.0, 0.0, 1.0])
    """
@typing.overload
def quat_between_vectors(a: vec3d, b: vec3d) -> quatd: ...
@typing.overload
def quat_between_vectors(a: vec3h, b: vec3h) -> quath: ...

@typing.overload
def quat_from_axis_angle(axis: vec3f, angle: float) -> quatf:
    """Rotation about an axis.

    The older form `wp.quat_from_axis_angle(x, y, z, angle)` takes the components of the axis.

    Args:
        axis: direction, of length 1.
        angle: in radians.

    Returns:
        The quaternion (axis * sin(angle / 2), cos(angle / 2)).

    Error: 3 ULP in each component.
    Derivative: that of the formula.

    >>> wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), 0.0)
    quatf([0.0, 0.0, 0.0, 1.0])
    """
@typing.overload
def quat_from_axis_angle(axis: vec3d, angle: float64 | float) -> quatd: ...
@typing.overload
def quat_from_axis_angle(axis: vec3h, angle: float16 | float) -> quath: ...
@typing.overload
def quat_from_axis_angle(x: float, y: float, z: float, angle: float) -> quatf: ...
@typing.overload
def quat_from_axis_angle(x: float64 | float, y: float64 | float, z: float64 | float, angle: float64 | float) -> quatd: ...
@typing.overload
def quat_from_axis_angle(x: float16 | float, y: float16 | float, z: float16 | float, angle: float16 | float) -> quath: ...

@typing.overload
def quat_from_euler(e: vec3f, i: int, j: int, k: int) -> quatf:
    """Rotation from Euler angles.

    Args:
        e: angles in radians: e[0] about x, e[1] about y, e[2] about z.
        i: axis of the first rotation: 0, 1 or 2.
        j: axis of the second one, not `i`.
        k: axis of the third one, not `j`.

    Returns:
        The unit quaternion q_k * q_j * q_i, with q_n the rotation by e[n] about the fixed axis n.

    Error: 5 ULP of 1.
    Derivative: that of the formula in `e`.

    >>> wp.quat_from_euler(wp.vec3(0.0, 0.0, 0.0), 0, 1, 2)
    quatf([0.0, 0.0, 0.0, 1.0])
    """
@typing.overload
def quat_from_euler(e: vec3d, i: int, j: int, k: int) -> quatd: ...
@typing.overload
def quat_from_euler(e: vec3h, i: int, j: int, k: int) -> quath: ...

@typing.overload
def quat_from_matrix(m: mat33f | mat44f) -> quatf:
    """Quaternion of a rotation matrix.

    Args:
        m: a 3 x 3 rotation matrix, or a 4 x 4 matrix whose upper left part is one.

    Returns:
        The unit quaternion. Of the two, the one whose largest component is positive.

    Error: 6 ULP of 1.
    Derivative: that of the branch taken.

    >>> wp.quat_from_matrix(wp.mat33(1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0))
    quatf([1.0, 0.0, 0.0, 0.0])
    """
@typing.overload
def quat_from_matrix(m: mat33d | mat44d) -> quatd: ...
@typing.overload
def quat_from_matrix(m: mat33h | mat44h) -> quath: ...

@typing.overload
def quat_identity() -> quatf:
    """The quaternion of no rotation.

    It also takes a scalar type, known when the kernel compiles: `dtype=wp.float64`.

    Returns:
        The quaternion (0, 0, 0, 1) of that type.

    Error: exact.

    Derivative: none.

    >>> wp.quat_identity()
    quatf([0.0, 0.0, 0.0, 1.0])
    """
@typing.overload
def quat_identity(dtype: Any) -> Any: ...

def quat_inverse(q: _Quaternion1) -> _Quaternion1:
    """Conjugate of a quaternion: the inverse rotation of a unit quaternion.

    Args:
        q: a quaternion.

    Returns:
        quat(-x, -y, -z, w).

    Error: exact.
    Derivative: the conjugate of the gradient.

    >>> wp.quat_inverse(wp.quat(1.0, 0.0, 0.0, 0.0))
    quatf([-1.0, -0.0, -0.0, 0.0])
    """

@typing.overload
def quat_rotate(q: quatf, x: vec3f) -> vec3f:
    """Vector turned by a rotation.

    Args:
        q: a unit quaternion.
        x: a vector.

    Returns:
        x * (2 * w**2 - 1) + cross(v, x) * 2 * w + v * 2 * dot(v, x), with v the imaginary part of `q`.

    Error: 6 ULP of length(x).
    Derivative: quat_rotate_inv(q, g) in `x`; that of the formula in `q`.

    >>> wp.quat_rotate(wp.quat(0.0, 0.0, 1.0, 0.0), wp.vec3(1.0, 2.0, 3.0))
    vec3f([-1.0, -2.0, 3.0])
    """
@typing.overload
def quat_rotate(q: quatd, x: vec3d) -> vec3d: ...
@typing.overload
def quat_rotate(q: quath, x: vec3h) -> vec3h: ...

@typing.overload
def quat_rotate_inv(q: quatf, x: vec3f) -> vec3f:
    """Vector turned back by a rotation.

    Args:
        q: a unit quaternion.
        x: a vector.

    Returns:
        quat_rotate(quat_inverse(q), x).

    Error: 6 ULP of length(x).
    Derivative: quat_rotate(q, g) in `x`; that of the formula in `q`.

    >>> wp.quat_rotate_inv(wp.quat(0.0, 0.0, 1.0, 0.0), wp.vec3(1.0, 2.0, 3.0))
    vec3f([-1.0, -2.0, 3.0])
    """
@typing.overload
def quat_rotate_inv(q: quatd, x: vec3d) -> vec3d: ...
@typing.overload
def quat_rotate_inv(q: quath, x: vec3h) -> vec3h: ...

@typing.overload
def quat_rpy(roll: float, pitch: float, yaw: float) -> quatf:
    """Rotation from roll, pitch and yaw.

    Args:
        roll: about x, in radians, applied first.
        pitch: about y, in radians.
        yaw: about z, in radians, applied last.

    Returns:
        The unit quaternion.

    Error: 5 ULP of 1.
    Derivative: that of the formula.

    >>> wp.quat_rpy(0.0, 0.0, 0.0)
    quatf([0.0, 0.0, 0.0, 1.0])
    """
@typing.overload
def quat_rpy(roll: float64 | float, pitch: float64 | float, yaw: float64 | float) -> quatd: ...
@typing.overload
def quat_rpy(roll: float16 | float, pitch: float16 | float, yaw: float16 | float) -> quath: ...

@typing.overload
def quat_slerp(a: quatf, b: quatf, t: float) -> quatf:
    """Interpolation between rotations at constant speed, the short way round.

    Args:
        a: rotation at t = 0, a unit quaternion.
        b: rotation at t = 1, a unit quaternion.
        t: a number.

    Returns:
        a * exp(t * log(inverse(a) * b)).

    Error: 8 ULP of 1.
    Derivative: that of the formula, also where `a` and `b` are equal.

    >>> wp.quat_slerp(wp.quat_identity(), wp.quat(0.0, 0.0, 1.0, 0.0), 0.0)
    quatf([0.0, 0.0, 0.0, 1.0])
    """
@typing.overload
def quat_slerp(a: quatd, b: quatd, t: float64 | float) -> quatd: ...
@typing.overload
def quat_slerp(a: quath, b: quath, t: float16 | float) -> quath: ...

@typing.overload
def quat_to_axis_angle(q: quatf) -> tuple[vec3f, float]:
    """Axis and angle of a rotation.

    The older form with variables for the results, `wp.quat_to_axis_angle(q, axis, angle)`, assigns them.

    Args:
        q: a quaternion.

    Returns:
        axis: unit vector, or zero for no rotation.
        angle: in radians, in [0, pi].

    Error: 4 ULP.
    Derivative: that of the formula; 0 at the identity.

    >>> wp.quat_to_axis_angle(wp.quat(0.0, 0.0, 1.0, 0.0))[0]
    vec3f([0.0, 0.0, 1.0])
    """
@typing.overload
def quat_to_axis_angle(q: quatd) -> tuple[vec3d, float64]: ...
@typing.overload
def quat_to_axis_angle(q: quath) -> tuple[vec3h, float16]: ...
@typing.overload
def quat_to_axis_angle(q: quatf | quatd | quath, axis: Any, angle: Any) -> None: ...

@typing.overload
def quat_to_euler(q: quatf, i: int, j: int, k: int) -> vec3f:
    """Euler angles of a rotation.

    Args:
        q: a quaternion of any length but zero.
        i: axis of the first rotation: 0, 1 or 2.
        j: axis of the second one, not `i`.
        k: axis of the third one, not `j`.

    Returns:
        The angles e in radians, by axis, as `quat_from_euler` takes them. Where `k` equals `i`, the third angle stands
        at the axis that is left over. The second angle is in [-pi/2, pi/2], or in [0, pi] where `k` equals `i`; the
        others are in [-2 pi, 2 pi].

    Error: 8 ULP of pi, away from the ends of the range of the second angle.
    Derivative: that of the formula (Bernardes and Viollet, "Quaternion to Euler angles conversion", 2022).

    >>> round(wp.quat_to_euler(wp.quat(1.0, 0.0, 0.0, 1.0), 0, 1, 2)[0], 6)
    1.570796
    """
@typing.overload
def quat_to_euler(q: quatd, i: int, j: int, k: int) -> vec3d: ...
@typing.overload
def quat_to_euler(q: quath, i: int, j: int, k: int) -> vec3h: ...

@typing.overload
def quat_to_matrix(q: quatf) -> mat33f:
    """Rotation matrix of a quaternion.

    Args:
        q: a unit quaternion.

    Returns:
        The 3 x 3 matrix whose columns are the rotated axes.

    Error: 4 ULP of 1.
    Derivative: that of the formula.

    >>> wp.quat_to_matrix(wp.quat(0.0, 0.0, 1.0, 0.0)) * wp.vec3(1.0, 0.0, 0.0)
    vec3f([-1.0, 0.0, 0.0])
    """
@typing.overload
def quat_to_matrix(q: quatd) -> mat33d: ...
@typing.overload
def quat_to_matrix(q: quath) -> mat33h: ...

@typing.overload
def quat_to_rpy(q: quatf) -> vec3f:
    """Roll, pitch and yaw of a rotation.

    Args:
        q: a unit quaternion.

    Returns:
        The angles in radians, as `quat_rpy` takes them.

    Error: 8 ULP of pi, away from a pitch of +-pi/2.
    Derivative: that of the formula.

    >>> wp.quat_to_rpy(wp.quat(0.0, 0.0, 0.0, 1.0))
    vec3f([0.0, 0.0, 0.0])
    """
@typing.overload
def quat_to_rpy(q: quatd) -> vec3d: ...
@typing.overload
def quat_to_rpy(q: quath) -> vec3h: ...

@typing.overload
def quat_twist(axis: vec3f, q: quatf) -> quatf:
    """Part of a rotation that is about an axis.

    Args:
        axis: direction, of length 1.
        q: a unit quaternion.

    Returns:
        Return the unit quaternion t about `axis` such that q * inverse(t) turns about an axis at right angles to it. It
        is the identity where `q` is half a turn about such an axis.

    Error: 4 ULP of 1.
    Derivative: that of the formula.

    >>> wp.quat_twist(wp.vec3(0.0, 0.0, 1.0), wp.quat(0.0, 0.0, 1.0, 0.0))
    quatf([0.0, 0.0, 1.0, 0.0])
    """
@typing.overload
def quat_twist(axis: vec3d, q: quatd) -> quatd: ...
@typing.overload
def quat_twist(axis: vec3h, q: quath) -> quath: ...

@typing.overload
def quat_twist_angle(axis: vec3f, q: quatf) -> float:
    """Return the angle by which a rotation turns about an axis.

    Args:
        axis: direction, of length 1.
        q: a unit quaternion.

    Returns:
        The angle of `quat_twist` in radians, in [0, pi] if the last component of `q` is not negative, else in
        (pi, 2 pi].

    Error: 4 ULP of pi.
    Derivative: that of the formula.

    >>> wp.quat_twist_angle(wp.vec3(0.0, 0.0, 1.0), wp.quat(0.0, 0.0, 0.0, 1.0))
    0.0
    """
@typing.overload
def quat_twist_angle(axis: vec3d, q: quatd) -> float64: ...
@typing.overload
def quat_twist_angle(axis: vec3h, q: quath) -> float16: ...

@typing.overload
def quat_twist_angle_signed(axis: vec3f, q: quatf) -> float:
    """Return the signed angle by which a rotation turns about an axis.

    Args:
        axis: direction, of length 1.
        q: a unit quaternion.

    Returns:
        The angle of `quat_twist` in radians, positive by the right-hand rule; in [-pi, pi] if the last component of
        `q` is not negative, else in [-2 pi, 2 pi].

    Error: 4 ULP of pi.
    Derivative: that of the formula.

    >>> wp.quat_twist_angle_signed(wp.vec3(0.0, 0.0, 1.0), wp.quat(0.0, 0.0, 0.0, 1.0))
    0.0
    """
@typing.overload
def quat_twist_angle_signed(axis: vec3d, q: quatd) -> float64: ...
@typing.overload
def quat_twist_angle_signed(axis: vec3h, q: quath) -> float16: ...

def quaternion(*args: Any, dtype: Any = None) -> Any:
    """Quaternion x, y, z, w of any float type.

    Args:
        args: four numbers, or a vector and the real part.
        dtype: their type; taken from `args` if left out.

    Returns:
        The quaternion; zero without components.

    Derivative: 1 in each component given.

    >>> wp.quaternion(0.0, 0.0, 0.0, 1.0)
    quatf([0.0, 0.0, 0.0, 1.0])
    """

def radians(x: _Scalar1) -> _Scalar1:
    """Degrees to radians.

    Args:
        x: angle in degrees.

    Returns:
        The angle in radians.

    Error: 1.1 ULP.
    Derivative: pi / 180.

    >>> round(wp.radians(180.0), 6)
    3.141593
    """

@typing.overload
def rand_init(seed: int) -> uint32:
    """State of a new stream of random numbers.

    Args:
        seed: any number.
        offset: if given, one of many streams of that seed, for instance the index of the thread.

    Returns:
        The state, a uint32, for `randf` and the other functions that draw.

    Error: exact.
    Derivative: none.

    >>> int(wp.rand_init(42))
    1223963391
    """
@typing.overload
def rand_init(seed: int, offset: int) -> uint32: ...

@typing.overload
def randf(state: uint32 | int) -> float:
    """Random number, uniform.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced.
        low: the least result, a float32; 0 if it and `high` are not given.
        high: the end of the range, a float32; 1 if it is not given.

    Returns:
        low + (high - low) * u with u a multiple of 2**-24 in [0, 1), a float32.

    Error: float32 two roundings.
    Derivative: none in `state`; 1 - u in `low`, u in `high`.

    >>> wp.randf(wp.rand_init(42), 4.0, 4.0)
    4.0
    """
@typing.overload
def randf(state: uint32 | int, low: float, high: float) -> float: ...

@typing.overload
def randi(state: uint32 | int) -> int:
    """Random integer.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced.
        low: the least result, an int32. Without `low` and `high` every int32 is equally likely.
        high: an int32 above all results.

    Returns:
        An int32.

    Error: exact; with a range, results are uniform to high - low parts in 2**32.
    Derivative: none.

    >>> wp.randi(wp.rand_init(42), 0, 100)
    39
    """
@typing.overload
def randi(state: uint32 | int, low: int, high: int) -> int: ...

def randn(state: uint32 | int) -> float:
    """Random number, normally distributed.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by two draws.

    Returns:
        A float32 of mean 0 and standard deviation 1, between -5.77 and 5.77.

    Error: float32 4 ULP of the Box-Muller formula sqrt(-2 * log(u + 5.96e-8)) * cos(2 * pi * v) of two draws u, v.
    Derivative: none.

    >>> abs(wp.randn(wp.rand_init(42))) < 5.8
    True
    """

@typing.overload
def randu(state: uint32 | int) -> uint32:
    """Random unsigned integer.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced.
        low: the least result, a uint32. Without `low` and `high` every uint32 is equally likely.
        high: a uint32 above all results.

    Returns:
        A uint32.

    Error: exact; with a range, results are uniform to high - low parts in 2**32.
    Derivative: none.

    >>> int(wp.randu(wp.rand_init(42), wp.uint32(10), wp.uint32(20)))
    19
    """
@typing.overload
def randu(state: uint32 | int, low: uint32 | int, high: uint32 | int) -> uint32: ...

def rint(x: _Scalar1) -> _Scalar1:
    """Integer nearest to `x`, halves to the even one.

    Args:
        x: a number.

    Returns:
        The integer, of the type of `x`.

    Error: exact.
    Derivative: 0.

    >>> wp.rint(2.5)
    2.0
    """

def round(x: _Scalar1) -> _Scalar1:
    """Integer nearest to `x`, halves away from zero.

    Args:
        x: a number.

    Returns:
        The integer, of the type of `x`.

    Error: exact.
    Derivative: 0.

    >>> wp.round(2.5)
    3.0
    """

def sample_cdf(state: uint32 | int, cdf: _Array[float]) -> int:
    """Random index, distributed as a table says.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced.
        cdf: array of increasing numbers that ends with 1: the probability that the index is at most i.

    Returns:
        The first index i with cdf[i] >= u, for u uniform in [0, 1), an int32; the length of `cdf` if no index fits.

    Error: exact.
    Derivative: none.

    >>> wp.sample_cdf(wp.rand_init(42), wp.array([0.0, 0.0, 1.0], dtype=float))
    2
    """

def sample_triangle(state: uint32 | int) -> vec2f:
    """Random point in a triangle.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by two draws.

    Returns:
        vec2 of barycentric coordinates u, v, uniform over the triangle; the third one is 1 - u - v.

    Error: float32 2 ULP.
    Derivative: none.

    >>> sum(wp.sample_triangle(wp.rand_init(42))) <= 1.0
    True
    """

def sample_unit_cube(state: uint32 | int) -> vec3f:
    """Random point in the unit cube around the origin.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by three draws.

    Returns:
        vec3 with components in [-1/2, 1/2), uniform.

    Error: exact multiples of 2**-24.
    Derivative: none.

    >>> wp.max(wp.abs(wp.sample_unit_cube(wp.rand_init(42)))) <= 0.5
    True
    """

def sample_unit_disk(state: uint32 | int) -> vec2f:
    """Random point in the unit disk.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by two draws.

    Returns:
        vec2 of length at most 1, uniform over the disk.

    Error: float32 4 ULP of 1.
    Derivative: none.

    >>> wp.length(wp.sample_unit_disk(wp.rand_init(42))) <= 1.0
    True
    """

def sample_unit_hemisphere(state: uint32 | int) -> vec3f:
    """Random point in the upper half of the unit ball.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by three draws.

    Returns:
        vec3 of length at most 1 with z >= 0, uniform over the half ball.

    Error: float32 6 ULP of 1.
    Derivative: none.

    >>> wp.sample_unit_hemisphere(wp.rand_init(42))[2] >= 0.0
    True
    """

def sample_unit_hemisphere_surface(state: uint32 | int) -> vec3f:
    """Random point on the upper half of the unit sphere.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by two draws.

    Returns:
        vec3 of length 1 with z >= 0, uniform over the surface.

    Error: float32 4 ULP of 1.
    Derivative: none.

    >>> wp.sample_unit_hemisphere_surface(wp.rand_init(42))[2] >= 0.0
    True
    """

def sample_unit_ring(state: uint32 | int) -> vec2f:
    """Random point on the unit circle.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced.

    Returns:
        vec2 of length 1, uniform over the circle.

    Error: float32 4 ULP of 1.
    Derivative: none.

    >>> round(wp.length(wp.sample_unit_ring(wp.rand_init(42))), 5)
    1.0
    """

def sample_unit_sphere(state: uint32 | int) -> vec3f:
    """Random point in the unit ball.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by three draws.

    Returns:
        vec3 of length at most 1, uniform over the ball.

    Error: float32 6 ULP of 1.
    Derivative: none.

    >>> wp.length(wp.sample_unit_sphere(wp.rand_init(42))) <= 1.0
    True
    """

def sample_unit_sphere_surface(state: uint32 | int) -> vec3f:
    """Random point on the unit sphere.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by two draws.

    Returns:
        vec3 of length 1, uniform over the surface.

    Error: float32 4 ULP of 1.
    Derivative: none.

    >>> round(wp.length(wp.sample_unit_sphere_surface(wp.rand_init(42))), 5)
    1.0
    """

def sample_unit_square(state: uint32 | int) -> vec2f:
    """Random point in the unit square around the origin.

    Args:
        state: of the stream, from `rand_init`; a local variable of a kernel is advanced by two draws.

    Returns:
        vec2 with components in [-1/2, 1/2), uniform.

    Error: exact multiples of 2**-24.
    Derivative: none.

    >>> wp.max(wp.abs(wp.sample_unit_square(wp.rand_init(42)))) <= 0.5
    True
    """

def shared_array(shape: Any, dtype: Any) -> Any:
    """Array in memory that the threads of a block share. What it holds at first is undefined.

    Each place in the source where a kernel makes one has its own memory, the same in every iteration of a loop. A
    function has its own for each call of it. A block has 256 KiB on a CPU, and 48 KiB on a GPU.

    Args:
        shape: an integer or a tuple of up to four, known when the kernel compiles; `wp.block_dim()` is.
        dtype: a scalar, vector, matrix or struct type.

    Returns:
        The array. What one thread writes, others may read after `syncthreads()`.

    >>> @wp.kernel
    ... def reverse(x: wp.array[float]):
    ...     i = wp.tid()
    ...     t = wp.thread_index()
    ...     s = wp.shared_array(shape=wp.block_dim(), dtype=float)
    ...     s[t] = x[i]
    ...     wp.syncthreads()
    ...     x[i] = s[wp.block_dim() - 1 - t]
    >>> x = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float)
    >>> wp.launch(reverse, dim=4, inputs=[x], block_dim=2)
    >>> x.list()
    [2.0, 1.0, 4.0, 3.0]
    """

def shuffle(value: Any, lane: Any) -> Any:
    """Value of another thread of the same warp. All threads of the block come here, as with `syncthreads`.

    Args:
        value: what this thread gives: a scalar, vector, matrix or struct.
        lane: the lane whose value is wanted, modulo 32.

    Returns:
        What that thread gave.

    Derivative: none yet: kernels that work in blocks have no gradient.

    >>> @wp.kernel
    ... def first(x: wp.array[float]):
    ...     i = wp.tid()
    ...     x[i] = wp.shuffle(x[i], 0)
    >>> x = wp.array([5.0 + i for i in range(64)], dtype=float)
    >>> wp.launch(first, dim=64, inputs=[x], block_dim=64)
    >>> x.list()[30:34]
    [5.0, 5.0, 37.0, 37.0]
    """

def shuffle_down(value: Any, delta: Any) -> Any:
    """Value of the thread `delta` lanes above in the same warp.

    Args:
        value: what this thread gives: a scalar, vector, matrix or struct.
        delta: how many lanes, modulo 32.

    Returns:
        What that thread gave; `value` in threads that have none.

    Derivative: none yet: kernels that work in blocks have no gradient.

    >>> @wp.kernel
    ... def sums(x: wp.array[int]):
    ...     value = x[wp.tid()]
    ...     for k in range(5):
    ...         value += wp.shuffle_down(value, 16 >> k)
    ...     x[wp.tid()] = value
    >>> x = wp.ones(32, dtype=int)
    >>> wp.launch(sums, dim=32, inputs=[x], block_dim=32)
    >>> x.list()[0]
    32
    """

def shuffle_up(value: Any, delta: Any) -> Any:
    """Value of the thread `delta` lanes below in the same warp.

    Args:
        value: what this thread gives: a scalar, vector, matrix or struct.
        delta: how many lanes, modulo 32.

    Returns:
        What that thread gave; `value` in threads that have none.

    Derivative: none yet: kernels that work in blocks have no gradient.

    >>> @wp.kernel
    ... def shift(x: wp.array[int]):
    ...     i = wp.tid()
    ...     x[i] = wp.shuffle_up(i, 1)
    >>> x = wp.zeros(32, dtype=int)
    >>> wp.launch(shift, dim=32, inputs=[x], block_dim=32)
    >>> x.list()[:4]
    [0, 0, 1, 2]
    """

def shuffle_xor(value: Any, mask: Any) -> Any:
    """Value of the thread whose lane is this thread's lane with the bits of `mask` turned over.

    Args:
        value: what this thread gives: a scalar, vector, matrix or struct.
        mask: the bits, modulo 32.

    Returns:
        What that thread gave.

    Derivative: none yet: kernels that work in blocks have no gradient.

    >>> @wp.kernel
    ... def swap(x: wp.array[int]):
    ...     i = wp.tid()
    ...     x[i] = wp.shuffle_xor(i, 1)
    >>> x = wp.zeros(32, dtype=int)
    >>> wp.launch(swap, dim=32, inputs=[x], block_dim=32)
    >>> x.list()[:4]
    [1, 0, 3, 2]
    """

def sign(x: _ScalarOrVector1) -> _ScalarOrVector1:
    """Sign of `x`.

    Args:
        x: a number, or a vector (componentwise).

    Returns:
        -1 where `x` is below zero, else 1 (also for zero and NaN), of the type of `x`.

    Error: exact.
    Derivative: 0.

    >>> wp.sign(-3.0)
    -1.0
    """

def sin(x: _Scalar1) -> _Scalar1:
    """Sine of `x`.

    Args:
        x: angle in radians, of any size.

    Returns:
        sin(x), of the type of `x`; NaN for infinities.

    Error: float32 1.5 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: cos(x).

    >>> round(wp.sin(0.5), 6)
    0.479426
    """

def sinh(x: _Scalar1) -> _Scalar1:
    """Hyperbolic sine of `x`.

    Args:
        x: any number.

    Returns:
        sinh(x), of the type of `x`.

    Error: float32 1.65 ULP over all arguments; float64 2 ULP with the GNU C library.
    Derivative: cosh(x).

    >>> round(wp.sinh(1.0), 6)
    1.175201
    """

@typing.overload
def skew(a: vec3f) -> mat33f:
    """Matrix of the cross product with `a`.

    Args:
        a: a vector of three components.

    Returns:
        The antisymmetric matrix S with S * b = cross(a, b).

    Error: exact.
    Derivative: linear in `a`.

    >>> wp.skew(wp.vec3(1.0, 2.0, 3.0)) * wp.vec3(0.0, 0.0, 1.0)
    vec3f([2.0, -1.0, 0.0])
    """
@typing.overload
def skew(a: vec3d) -> mat33d: ...
@typing.overload
def skew(a: vec3h) -> mat33h: ...

@typing.overload
def smooth_normalize(v: _QuaternionOrVector1, delta: float = ...) -> _QuaternionOrVector1:
    """Direction of a vector, fading out smoothly towards zero.

    Args:
        v: a vector or quaternion.
        delta: the length at which fading out begins, positive.

    Returns:
        v / norm_pseudo_huber(v, delta).

    Error: 5 ULP.
    Derivative: that of the formula; continuous.

    >>> wp.smooth_normalize(wp.vec2(0.0, 0.0))
    vec2f([0.0, 0.0])
    """
@typing.overload
def smooth_normalize(v: _QuaternionOrVector2, delta: float64 | float = ...) -> _QuaternionOrVector2: ...
@typing.overload
def smooth_normalize(v: _QuaternionOrVector3, delta: float16 | float = ...) -> _QuaternionOrVector3: ...

@typing.overload
def smoothstep(low: _Scalar1, high: _Scalar1, x: _Scalar1) -> _Scalar1:
    """Smooth rise from 0 to 1.

    Args:
        low: where the rise begins.
        high: where it ends.
        x: where to evaluate.

    Returns:
        t * t * (3 - 2 * t) for t = (x - low) / (high - low), limited to [0, 1].

    Error: 6 ULP for well separated ends.
    Derivative: 6 * t * (1 - t) / (high - low) in `x`, 0 outside the rise.

    >>> wp.smoothstep(0.0, 1.0, 0.5)
    0.5
    """
@typing.overload
def smoothstep(low: _Scalar1, high: _Scalar1 | float, x: _Scalar1 | float) -> _Scalar1: ...
@typing.overload
def smoothstep(low: _Scalar1 | float, high: _Scalar1 | float, x: _Scalar1) -> _Scalar1: ...

@typing.overload
def spatial_adjoint(r: mat33f, s: mat33f) -> spatial_matrixf:
    """Matrix that takes twists to another frame.

    Args:
        r: rotation matrix of the frame.
        s: skew(p) * r, for the position p of the frame.

    Returns:
        The spatial matrix of the blocks r, 0 over s, r.

    Error: exact.
    Derivative: linear in `r` and `s`.

    >>> wp.trace(wp.spatial_adjoint(wp.diag(wp.vec3(1.0, 2.0, 3.0)), wp.skew(wp.vec3(1.0, 2.0, 3.0))))
    12.0
    """
@typing.overload
def spatial_adjoint(r: mat33d, s: mat33d) -> spatial_matrixd: ...
@typing.overload
def spatial_adjoint(r: mat33h, s: mat33h) -> spatial_matrixh: ...

@typing.overload
def spatial_bottom(svec: spatial_vectorf) -> vec3f:
    """Linear part of a spatial vector.

    Args:
        svec: a spatial vector.

    Returns:
        The last three components.

    Error: exact.
    Derivative: 1.

    >>> wp.spatial_bottom(wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    vec3f([4.0, 5.0, 6.0])
    """
@typing.overload
def spatial_bottom(svec: spatial_vectord) -> vec3d: ...
@typing.overload
def spatial_bottom(svec: spatial_vectorh) -> vec3h: ...

def spatial_cross(a: _Vector11, b: _Vector11) -> _Vector11:
    """Cross product of two twists.

    Args:
        a: a twist (w, v).
        b: a twist (x, y).

    Returns:
        The twist (cross(w, x), cross(v, x) + cross(w, y)).

    Error: one rounding for each term.
    Derivative: that of the formula.

    >>> x, y = wp.spatial_vector(1.0, 0.0, 0.0, 0.0, 0.0, 0.0), wp.spatial_vector(0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    >>> wp.spatial_top(wp.spatial_cross(x, y))
    vec3f([0.0, 0.0, 1.0])
    """

def spatial_cross_dual(a: _Vector11, b: _Vector11) -> _Vector11:
    """Cross product of a twist and a wrench.

    Args:
        a: a twist (w, v).
        b: a wrench (n, f).

    Returns:
        The wrench (cross(w, n) + cross(v, f), cross(w, f)).

    Error: one rounding for each term.
    Derivative: that of the formula.

    >>> x, y = wp.spatial_vector(1.0, 0.0, 0.0, 0.0, 0.0, 0.0), wp.spatial_vector(0.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    >>> wp.spatial_bottom(wp.spatial_cross_dual(x, y))
    vec3f([0.0, 0.0, 1.0])
    """

@typing.overload
def spatial_dot(a: spatial_vectorf, b: spatial_vectorf) -> float:
    """Inner product of spatial vectors: the power of a wrench on a twist.

    Args:
        a: a spatial vector.
        b: another of the same type.

    Returns:
        The sum of a[i] * b[i], a scalar.

    Error: one rounding for each term.
    Derivative: `b` in `a`, `a` in `b`.

    >>> wp.spatial_dot(wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), wp.spatial_vector(1.0, 0.0, 0.0, 0.0, 0.0, 1.0))
    7.0
    """
@typing.overload
def spatial_dot(a: spatial_vectord, b: spatial_vectord) -> float64: ...
@typing.overload
def spatial_dot(a: spatial_vectorh, b: spatial_vectorh) -> float16: ...

@typing.overload
def spatial_top(svec: spatial_vectorf) -> vec3f:
    """Angular part of a spatial vector.

    Args:
        svec: a spatial vector.

    Returns:
        The first three components.

    Error: exact.
    Derivative: 1.

    >>> wp.spatial_top(wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    vec3f([1.0, 2.0, 3.0])
    """
@typing.overload
def spatial_top(svec: spatial_vectord) -> vec3d: ...
@typing.overload
def spatial_top(svec: spatial_vectorh) -> vec3h: ...

def sqrt(x: _Scalar1) -> _Scalar1:
    """Square root of `x`.

    Args:
        x: a number; negative ones give NaN.

    Returns:
        The root, of the type of `x`.

    Error: correctly rounded.
    Derivative: 1 / (2 * sqrt(x)); 0 at zero.

    >>> wp.sqrt(9.0)
    3.0
    """

def step(x: _Scalar2) -> _Scalar2:
    """True if `x` is below zero, as a number.

    Args:
        x: a number.

    Returns:
        1 where x < 0, else 0.

    Error: exact.
    Derivative: 0.

    >>> wp.step(-2.0)
    1.0
    """

@typing.overload
def store(arr: Any, i: Any, value: Any) -> Any:
    """Set an element of an array: `arr[i] = value` as a function.

    Args:
        arr: an array.
        i: an index for each dimension.
        value: of the array's element type.

    Derivative: 1 in the value.

    >>> @wp.kernel
    ... def count(x: wp.array[int]):
    ...     wp.store(x, wp.tid(), wp.tid())
    >>> x = wp.zeros(3, dtype=int)
    >>> wp.launch(count, dim=3, inputs=[x])
    >>> x.list()
    [0, 1, 2]
    """
@typing.overload
def store(arr: Any, i: Any, j: Any, value: Any) -> Any: ...
@typing.overload
def store(arr: Any, i: Any, j: Any, k: Any, value: Any) -> Any: ...
@typing.overload
def store(arr: Any, i: Any, j: Any, k: Any, l: Any, value: Any) -> Any: ...
@typing.overload
def store(arr: Any, value: Any) -> Any: ...

def sub(a: Any, b: Any) -> Any:
    """`a - b` as a function.

    Args:
        a: a number, vector, matrix or any other value that the operator takes.
        b: another that goes with it.

    Returns:
        The difference.

    Error: one rounding for each component.
    Derivative: 1 in `a`, -1 in `b`.

    >>> wp.sub(3, 5)
    -2
    """

@typing.overload
def svd2(A: mat22f) -> tuple[mat22f, vec2f, mat22f]:
    """Singular value decomposition of a 2 x 2 matrix.

    The older form with variables for the results, `wp.svd2(A, U, sigma, V)`, assigns them.

    Args:
        A: any matrix.

    Returns:
        U: orthogonal matrix, the left singular vectors in its columns.
        sigma: the singular values, the larger one first; none is negative.
        V: rotation, the right singular vectors in its columns. A = U * diag(sigma) * transpose(V).

    Error: 8 ULP of the largest singular value, wherever squares of components do not overflow.
    Derivative: that of the factors. Where singular values are equal, U and V have none. What is computed from U, sigma
    and V together may have one, and it is right; see docs/gradients.md.

    >>> wp.svd2(wp.mat22(0.0, 2.0, 1.0, 0.0))[1]
    vec2f([2.0, 1.0])
    """
@typing.overload
def svd2(A: mat22d) -> tuple[mat22d, vec2d, mat22d]: ...
@typing.overload
def svd2(A: mat22h) -> tuple[mat22h, vec2h, mat22h]: ...
@typing.overload
def svd2(A: mat22f | mat22d | mat22h, U: Any, sigma: Any, V: Any) -> None: ...

@typing.overload
def svd3(A: mat33f) -> tuple[mat33f, vec3f, mat33f]:
    """Singular value decomposition of a 3 x 3 matrix.

    The older form with variables for the results, `wp.svd3(A, U, sigma, V)`, assigns them.

    Args:
        A: any matrix.

    Returns:
        U: rotation, the left singular vectors in its columns.
        sigma: the singular values in decreasing order; the last one has the sign of the determinant of `A`.
        V: rotation, the right singular vectors in its columns. A = U * diag(sigma) * transpose(V).

    Error: 16 ULP of the largest singular value.
    Derivative: that of the factors. Where singular values are equal or opposite, U and V have none. What is computed
    from U, sigma and V together may have one, and it is right; see docs/gradients.md.

    >>> wp.svd3(wp.mat33(0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 1.0))[1]
    vec3f([3.0, 2.0, -1.0])
    """
@typing.overload
def svd3(A: mat33d) -> tuple[mat33d, vec3d, mat33d]: ...
@typing.overload
def svd3(A: mat33h) -> tuple[mat33h, vec3h, mat33h]: ...
@typing.overload
def svd3(A: mat33f | mat33d | mat33h, U: Any, sigma: Any, V: Any) -> None: ...

def syncthreads() -> Any:
    """Wait for all threads of the block. What they wrote to memory before, all of them see after.

    All threads of a block come here, or none: conditions on the way may depend on constants, arguments,
    `block_index()`, and elements at indices of that kind of shared arrays, and of arrays that the kernel only reads.
    All else is an error.

    >>> @wp.kernel
    ... def total(x: wp.array[int], out: wp.array[int]):
    ...     s = wp.shared_array(shape=1, dtype=int)
    ...     if wp.thread_index() == 0:
    ...         s[0] = 0
    ...     wp.syncthreads()
    ...     wp.atomic_add(s, 0, x[wp.tid()])
    ...     wp.syncthreads()
    ...     out[wp.tid()] = s[0]
    >>> out = wp.zeros(4, dtype=int)
    >>> wp.launch(total, dim=4, inputs=[wp.array([1, 2, 3, 4], dtype=int), out], block_dim=2)
    >>> out.list()
    [3, 3, 7, 7]
    """

def tan(x: _Scalar1) -> _Scalar1:
    """Tangent of `x`.

    Args:
        x: angle in radians, of any size.

    Returns:
        tan(x), of the type of `x`; NaN for infinities.

    Error: float32 1.3 ULP over all arguments; float64 1 ULP with the GNU C library.
    Derivative: 1 + tan(x)**2.

    >>> round(wp.tan(0.5), 6)
    0.546302
    """

def tanh(x: _Scalar1) -> _Scalar1:
    """Hyperbolic tangent of `x`.

    Args:
        x: any number.

    Returns:
        tanh(x) in [-1, 1], of the type of `x`.

    Error: float32 1.31 ULP over all arguments; float64 2 ULP with the GNU C library.
    Derivative: 1 - tanh(x)**2.

    >>> round(wp.tanh(1.0), 6)
    0.761594
    """

@typing.overload
def texture_sample(tex: Texture2D, uv: vec2f, dtype: Any, lod: float = ...) -> Any:
    """Value of a texture at a place between its texels.

    Texel i of an axis is centred at i + 0.5, where coordinates count texels; see [textures.md](../textures.md).

    Args:
        tex: the texture: a wp.Texture1D, wp.Texture2D or wp.Texture3D.
        uv: the place: a float u, a vec2 or floats u and v, or a vec3 or floats u, v and w, as the texture has
            dimensions. Coordinates from 0 to 1 span a texture. They count texels if it was made with
            `normalized_coords=False`.
        dtype: the type of the result, known when the kernel compiles: `float` for the first channel, `wp.vec2` or
            `wp.vec4`. Channels that the texture does not have are 0.
        lod: the level of detail, a float: 0 is the finest, and each one has half as many texels along an axis. Values
            beyond the levels count as the nearest.

    Returns:
        The value. Numbers of uint8 and uint16 become 0 to 1, those of int8 and int16 -1 to 1, others stay as they are.
        A coordinate that is NaN gives NaN, and so does an infinite one that wraps around, or a NaN `lod` of a texture
        with several levels. A member of a struct that was not set is a KernelError.

    Error: 8 ulp of the largest of the texels around, and what float32 loses of the coordinate: half an ulp of it, by
    the slope.
    Derivative: with respect to coordinates, `lod` and the texels of a texture of float32. At the centre of a texel, the
    slope of the side with the greater coordinate. CLOSEST has the derivative zero.

    >>> tex = wp.Texture2D(np.array([[0.0, 4.0], [8.0, 12.0]], np.float32), device="cpu")
    >>> wp.texture_sample(tex, 0.5, 0.5, dtype=float), wp.texture_sample(tex, wp.vec2(0.25, 1.0), dtype=float)
    (6.0, 8.0)
    """
@typing.overload
def texture_sample(tex: Texture2D, u: float, v: float, dtype: Any, lod: float = ...) -> Any: ...
@typing.overload
def texture_sample(tex: Texture1D, u: float, dtype: Any, lod: float = ...) -> Any: ...
@typing.overload
def texture_sample(tex: Texture3D, uvw: vec3f, dtype: Any, lod: float = ...) -> Any: ...
@typing.overload
def texture_sample(tex: Texture3D, u: float, v: float, w: float, dtype: Any, lod: float = ...) -> Any: ...

def thread_index() -> Any:
    """Index of the thread within its block, from 0 to `block_dim() - 1`.

    Blocks cut the launch grid in its order, the last dimension fastest: in a launch of one dimension,
    `tid() == block_index() * block_dim() + thread_index()`.

    Returns:
        The index.

    >>> @wp.kernel
    ... def table(out: wp.array[int]):
    ...     out[wp.tid()] = 10 * wp.block_index() + wp.thread_index()
    >>> out = wp.zeros(6, dtype=int)
    >>> wp.launch(table, dim=6, inputs=[out], block_dim=3)
    >>> out.list()
    [0, 1, 2, 10, 11, 12]
    """

def tile(x: Any, preserve_type: Any = False) -> Any:
    """Tile of what the threads of the block have: element i is that of thread i.

    As an annotation, `wp.tile[float, 4, 8]` and `wp.tile(dtype=float, shape=(4, 8))` name the type of a tile.

    Args:
        x: the value of this thread.
        preserve_type: whether an element of the tile is a whole vector or matrix.

    Returns:
        A tile of `block_dim()` elements. Of vectors with n components one of (n, `block_dim()`) numbers, and of
        matrices one of (rows, columns, `block_dim()`), unless their type is preserved.

    >>> @wp.kernel
    ... def squares(out: wp.array[int]):
    ...     i, t = wp.tid()
    ...     wp.tile_store(out, wp.tile(t * t))
    >>> out = wp.zeros(4, dtype=int)
    >>> wp.launch_tiled(squares, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [0, 1, 4, 9]
    """

def tile_add_inplace(a: Any, *args: Any, value: Any = None) -> Any:
    """Add a value to an element of a tile, atomically: `a[i] += value`.

    Args:
        a: the tile that is changed.
        args: an index for each dimension, and the value.
        value: the value, if it is given by name.

    >>> @wp.kernel
    ... def change(out: wp.array[float]):
    ...     i, t = wp.tid()
    ...     a = wp.tile_zeros(4, dtype=float)
    ...     wp.tile_add_inplace(a, t, 1.0 + float(t))
    ...     wp.tile_store(out, a)
    >>> out = wp.zeros(4, dtype=float)
    >>> wp.launch_tiled(change, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [1.0, 2.0, 3.0, 4.0]
    """

def tile_arange(*args: Any, dtype: Any = ..., storage: Any = 'register') -> Any:
    """Tile of evenly spaced numbers: `tile_arange(stop)` or `tile_arange(start, stop[, step])`.

    Args:
        args: the first number, 0 if it is left out, the end, which is not reached, and the step, 1 if it is left out.
            They are known when the kernel compiles.
        dtype: a scalar type.
        storage: "register" or "shared".

    Returns:
        The tile, of one dimension.

    >>> @wp.kernel
    ... def count(x: wp.array[float]):
    ...     wp.tile_store(x, wp.tile_arange(1, 8, 2))
    >>> x = wp.zeros(4, dtype=float)
    >>> wp.launch_tiled(count, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [1.0, 3.0, 5.0, 7.0]
    """

def tile_argmax(a: Any) -> Any:
    """Index of the greatest element, counted in row-major order; of equal ones the lowest. A NaN counts as missing.

    Args:
        a: a tile of scalars.

    Returns:
        A tile of one int32; 0 if all elements are NaN.

    >>> @wp.kernel
    ... def place(x: wp.array[float], out: wp.array[int]):
    ...     wp.tile_store(out, wp.tile_argmax(wp.tile_load(x, 3)))
    >>> out = wp.zeros(1, dtype=int)
    >>> wp.launch_tiled(place, dim=1, inputs=[wp.array([1.0, 3.0, 2.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [1]
    """

def tile_argmin(a: Any) -> Any:
    """Index of the least element, counted in row-major order; of equal ones the lowest. A NaN counts as missing.

    Args:
        a: a tile of scalars.

    Returns:
        A tile of one int32; 0 if all elements are NaN.

    >>> @wp.kernel
    ... def place(x: wp.array[float], out: wp.array[int]):
    ...     wp.tile_store(out, wp.tile_argmin(wp.tile_load(x, 3)))
    >>> out = wp.zeros(1, dtype=int)
    >>> wp.launch_tiled(place, dim=1, inputs=[wp.array([3.0, 1.0, 1.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [1]
    """

def tile_assign(dst: Any, src: Any, offset: Any = None) -> Any:
    """Copy a tile into a part of another; its elements are converted.

    Args:
        dst: the tile that is changed, or a view of one.
        src: a tile with as many dimensions, which fits into it.
        offset: the indices in `dst` of the first element; zeros if they are left out.

    >>> @wp.kernel
    ... def framed(out: wp.array[float]):
    ...     t = wp.tile_zeros(5)
    ...     wp.tile_assign(t, wp.tile_ones(3), offset=1)
    ...     wp.tile_store(out, t)
    >>> out = wp.zeros(5, dtype=float)
    >>> wp.launch_tiled(framed, dim=1, inputs=[out], block_dim=32)
    >>> out.list()
    [0.0, 1.0, 1.0, 1.0, 0.0]
    """

def tile_astype(t: Any, dtype: Any) -> Any:
    """Tile with its elements converted.

    Args:
        t: a tile of scalars, vectors or matrices.
        dtype: the new type of an element.

    Returns:
        The tile.

    >>> @wp.kernel
    ... def whole_numbers(x: wp.array[float], out: wp.array[int]):
    ...     wp.tile_store(out, wp.tile_astype(wp.tile_load(x, 3), int))
    >>> out = wp.zeros(3, dtype=int)
    >>> wp.launch_tiled(whole_numbers, dim=1, inputs=[wp.array([1.5, -2.5, 3.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [1, -2, 3]
    """

def tile_atomic_add(a: Any, t: Any, offset: Any = None, bounds_check: Any = True) -> Any:
    """Add a tile to elements of an array, each atomically. What would lie outside of the array is left out.

    Args:
        a: an array with as many dimensions as the tile: not of bool, nor of integers with 8 or 16 bits.
        t: the tile, of the array's dtype.
        offset: the indices of its first element; zeros if they are left out.
        bounds_check: False promises that the tile lies in the array.

    Returns:
        The tile of what was there before.

    >>> @wp.kernel
    ... def gather(x: wp.array[float], out: wp.array[float]):
    ...     i, t = wp.tid()
    ...     wp.tile_atomic_add(out, wp.tile_load(x, 2, offset=2 * i))
    >>> out = wp.zeros(2, dtype=float)
    >>> wp.launch_tiled(gather, dim=2, inputs=[wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [4.0, 6.0]
    """

def tile_atomic_add_indexed(a: Any, indices: Any, t: Any, offset: Any = None, axis: Any = 0) -> Any:
    """Add a tile to elements of an array that a tile of indices selects along one axis, each atomically.

    Args:
        a: an array with as many dimensions as the tile: not of bool, nor of integers with 8 or 16 bits.
        indices: a tile of int32 with an index for each element along the axis; the offset is added to it.
        t: the tile, of the array's dtype.
        offset: the indices of the array that are added to those in the tile.
        axis: the axis whose coordinate selects an index.

    Returns:
        The tile of what was there before; 0 outside of the array.

    >>> @wp.kernel
    ... def count(places: wp.array[int], out: wp.array[int]):
    ...     wp.tile_atomic_add_indexed(out, wp.tile_load(places, 4), wp.tile_ones(4, dtype=int))
    >>> out = wp.zeros(3, dtype=int)
    >>> wp.launch_tiled(count, dim=1, inputs=[wp.array([2, 0, 2, 2], dtype=int), out], block_dim=32)
    >>> out.list()
    [1, 0, 3]
    """

def tile_axpy(alpha: Any, src: Any, dest: Any) -> Any:
    """Add a multiple of a tile to another: `dest += alpha * src`.

    Args:
        alpha: the factor, the same in all threads of the block.
        src: the tile that is added.
        dest: the tile that is changed, of the same shape and type.

    >>> @wp.kernel
    ... def add(x: wp.array[float], y: wp.array[float]):
    ...     t = wp.tile_load(y, 3)
    ...     wp.tile_axpy(2.0, wp.tile_load(x, 3), t)
    ...     wp.tile_store(y, t)
    >>> y = wp.ones(3, dtype=float)
    >>> wp.launch_tiled(add, dim=1, inputs=[wp.array([1.0, 2.0, 3.0], dtype=float), y], block_dim=32)
    >>> y.list()
    [3.0, 5.0, 7.0]
    """

def tile_bit_and_inplace(a: Any, *args: Any, value: Any = None) -> Any:
    """Combine with a value, by `and`, an element of a tile, atomically: `a[i] &= value`.

    Args:
        a: the tile that is changed.
        args: an index for each dimension, and the value.
        value: the value, if it is given by name.

    >>> @wp.kernel
    ... def change(out: wp.array[int]):
    ...     i, t = wp.tid()
    ...     a = wp.tile_zeros(4, dtype=int)
    ...     wp.tile_bit_and_inplace(a, t, t)
    ...     wp.tile_store(out, a)
    >>> out = wp.zeros(4, dtype=int)
    >>> wp.launch_tiled(change, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [0, 0, 0, 0]
    """

def tile_bit_or_inplace(a: Any, *args: Any, value: Any = None) -> Any:
    """Combine with a value, by `or`, an element of a tile, atomically: `a[i] |= value`.

    Args:
        a: the tile that is changed.
        args: an index for each dimension, and the value.
        value: the value, if it is given by name.

    >>> @wp.kernel
    ... def change(out: wp.array[int]):
    ...     i, t = wp.tid()
    ...     a = wp.tile_zeros(4, dtype=int)
    ...     wp.tile_bit_or_inplace(a, t, t)
    ...     wp.tile_store(out, a)
    >>> out = wp.zeros(4, dtype=int)
    >>> wp.launch_tiled(change, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [0, 1, 2, 3]
    """

def tile_bit_xor_inplace(a: Any, *args: Any, value: Any = None) -> Any:
    """Combine with a value, by exclusive or, an element of a tile, atomically: `a[i] ^= value`.

    Args:
        a: the tile that is changed.
        args: an index for each dimension, and the value.
        value: the value, if it is given by name.

    >>> @wp.kernel
    ... def change(out: wp.array[int]):
    ...     i, t = wp.tid()
    ...     a = wp.tile_zeros(4, dtype=int)
    ...     wp.tile_bit_xor_inplace(a, t, t)
    ...     wp.tile_store(out, a)
    >>> out = wp.zeros(4, dtype=int)
    >>> wp.launch_tiled(change, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [0, 1, 2, 3]
    """

def tile_broadcast(a: Any, shape: Any) -> Any:
    """Tile that repeats the elements of another along axes of length 1 and new leading axes, as NumPy does.

    Args:
        a: the tile.
        shape: the new extents.

    Returns:
        The tile.

    >>> @wp.kernel
    ... def repeat(x: wp.array[float], out: wp.array2d[float]):
    ...     wp.tile_store(out, wp.tile_broadcast(wp.tile_load(x, 2), (3, 2)))
    >>> out = wp.zeros((3, 2), dtype=float)
    >>> wp.launch_tiled(repeat, dim=1, inputs=[wp.array([1.0, 2.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]
    """

def tile_bvh_query_aabb(id: Any, low: Any, high: Any) -> Any:
    """Query of a `wp.Bvh` by the whole block for the boxes that overlap a box.

    All threads make it, with equal arguments.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        low: the lower corner of the box, a vec3.
        high: its upper corner.

    Returns:
        The query, for `wp.tile_bvh_query_next` and `wp.tile_query_valid`. Copies of it are the same query. What it
        finds, and what it refuses, is as in `wp.bvh_query_aabb`.

    Derivative: refused.

    >>> @wp.kernel
    ... def mark(bvh: wp.uint64, low: wp.vec3, high: wp.vec3, found: wp.array[int]):
    ...     query = wp.tile_bvh_query_aabb(bvh, low, high)
    ...     while wp.tile_query_valid(query):
    ...         index = wp.untile(wp.tile_bvh_query_next(query))
    ...         if index >= 0:
    ...             found[index] = 1
    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh, found = wp.Bvh(lowers, uppers), wp.zeros(3, dtype=int, device="cpu")
    >>> inputs = [bvh.id, wp.vec3(0.0, 0.0, 0.0), wp.vec3(2.0, 1.0, 1.0), found]
    >>> wp.launch_tiled(mark, dim=1, inputs=inputs, block_dim=4, device="cpu")
    >>> found.list()
    [1, 1, 0]
    """

def tile_bvh_query_next(query: Any) -> Any:
    """Tile of the next results of a query of a tree, one for each thread of the block.

    Args:
        query: from `wp.tile_bvh_query_aabb` or `wp.tile_bvh_query_ray`; it is advanced for all threads.

    Returns:
        A tile of `block_dim` int32: indices of boxes in the order of `wp.bvh_query_next`, and -1 behind the last.

    Derivative: refused.

    >>> @wp.kernel
    ... def batches(bvh: wp.uint64, found: wp.array2d[int]):
    ...     query = wp.tile_bvh_query_aabb(bvh, wp.vec3(0.0, 0.0, 0.0), wp.vec3(9.0, 1.0, 1.0))
    ...     for row in range(2):
    ...         wp.tile_store(found[row], wp.tile_bvh_query_next(query))
    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh, found = wp.Bvh(lowers, uppers), wp.zeros((2, 2), dtype=int, device="cpu")
    >>> wp.launch_tiled(batches, dim=1, inputs=[bvh.id, found], block_dim=2, device="cpu")
    >>> found.list()
    [0, 1, 2, -1]
    """

def tile_bvh_query_ray(id: Any, start: Any, dir: Any) -> Any:
    """Query of a `wp.Bvh` by the whole block for the boxes that a ray passes through.

    All threads make it, with equal arguments.

    Args:
        id: of the tree: `bvh.id`, a uint64.
        start: where the ray starts, a vec3.
        dir: its direction, a vec3 of any length.

    Returns:
        The query, as `wp.tile_bvh_query_aabb` returns it. What it finds is as in `wp.bvh_query_ray`.

    Derivative: refused.

    >>> @wp.kernel
    ... def mark(bvh: wp.uint64, start: wp.vec3, dir: wp.vec3, found: wp.array[int]):
    ...     query = wp.tile_bvh_query_ray(bvh, start, dir)
    ...     while wp.tile_query_valid(query):
    ...         index = wp.untile(wp.tile_bvh_query_next(query))
    ...         if index >= 0:
    ...             found[index] = 1
    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 2.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 3.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh, found = wp.Bvh(lowers, uppers), wp.zeros(3, dtype=int, device="cpu")
    >>> inputs = [bvh.id, wp.vec3(-1.0, 0.5, 0.5), wp.vec3(1.0, 0.0, 0.0), found]
    >>> wp.launch_tiled(mark, dim=1, inputs=inputs, block_dim=4, device="cpu")
    >>> found.list()
    [1, 0, 1]
    """

def tile_cholesky(A: Any, fill_mode: Any = 'lower') -> Any:
    """Cholesky factor of a symmetric, positive definite matrix.

    Args:
        A: tile of M x M floats, of which one triangle is read.
        fill_mode: that triangle, "lower" or "upper".

    Returns:
        The tile of L with `L @ transpose(L)` = A for the lower triangle, or of U with `transpose(U) @ U` = A for the
        upper one; the other triangle is zero. It is NaN from the first pivot on that is not positive.

    Derivative: of the triangle that is read.

    >>> @wp.kernel
    ... def factor(x: wp.array2d[float]):
    ...     wp.tile_store(x, wp.tile_cholesky(wp.tile_load(x, (2, 2))))
    >>> x = wp.array([[4.0, 0.0], [2.0, 10.0]], dtype=float)
    >>> wp.launch_tiled(factor, dim=1, inputs=[x], block_dim=32)
    >>> x.numpy().tolist()
    [[2.0, 0.0], [1.0, 3.0]]
    """

def tile_cholesky_inplace(A: Any, fill_mode: Any = 'lower') -> Any:
    """Cholesky factor of a symmetric, positive definite matrix, in place of it. See `wp.tile_cholesky`.

    Args:
        A: tile of M x M floats, of which one triangle is read. It becomes the factor.
        fill_mode: that triangle, "lower" or "upper".

    Derivative: of the triangle that is read.

    >>> @wp.kernel
    ... def factor(x: wp.array2d[float]):
    ...     a = wp.tile_load(x, (2, 2))
    ...     wp.tile_cholesky_inplace(a, fill_mode="upper")
    ...     wp.tile_store(x, a)
    >>> x = wp.array([[4.0, 2.0], [0.0, 10.0]], dtype=float)
    >>> wp.launch_tiled(factor, dim=1, inputs=[x], block_dim=32)
    >>> x.numpy().tolist()
    [[2.0, 1.0], [0.0, 3.0]]
    """

def tile_cholesky_solve(L: Any, y: Any, fill_mode: Any = 'lower') -> Any:
    """Solution of `A @ x = y`, given the Cholesky factor of A.

    Args:
        L: tile of M x M floats, the factor that `wp.tile_cholesky` returns.
        y: tile of M floats, or of M x R floats for several right-hand sides.
        fill_mode: the triangle that holds the factor, "lower" or "upper".

    Returns:
        The tile of x, with the shape of `y`.

    Derivative: of the right-hand sides, and of the triangle that is read.

    >>> @wp.kernel
    ... def solve(a: wp.array2d[float], y: wp.array[float]):
    ...     factor = wp.tile_cholesky(wp.tile_load(a, (2, 2)))
    ...     wp.tile_store(y, wp.tile_cholesky_solve(factor, wp.tile_load(y, 2)))
    >>> a, y = wp.array([[4.0, 2.0], [2.0, 10.0]], dtype=float), wp.array([8.0, 22.0], dtype=float)
    >>> wp.launch_tiled(solve, dim=1, inputs=[a, y], block_dim=32)
    >>> y.list()
    [1.0, 2.0]
    """

def tile_cholesky_solve_inplace(L: Any, y: Any, fill_mode: Any = 'lower') -> Any:
    """Solution of `A @ x = y` in place of `y`, given the Cholesky factor of A. See `wp.tile_cholesky_solve`.

    Args:
        L: tile of M x M floats, the factor that `wp.tile_cholesky` returns.
        y: tile of M or M x R floats. It becomes the solution.
        fill_mode: the triangle that holds the factor, "lower" or "upper".

    Derivative: of the right-hand sides, and of the triangle that is read.

    >>> @wp.kernel
    ... def solve(a: wp.array2d[float], y: wp.array[float]):
    ...     x = wp.tile_load(y, 2)
    ...     wp.tile_cholesky_solve_inplace(wp.tile_load(a, (2, 2)), x)
    ...     wp.tile_store(y, x)
    >>> a, y = wp.array([[2.0, 0.0], [1.0, 3.0]], dtype=float), wp.array([8.0, 22.0], dtype=float)
    >>> wp.launch_tiled(solve, dim=1, inputs=[a, y], block_dim=32)
    >>> y.list()
    [1.0, 2.0]
    """

def tile_diag_add(a: Any, d: Any) -> Any:
    """Square tile with numbers added to its diagonal.

    Args:
        a: a tile of n x n elements, which stays as it is.
        d: a tile of n elements.

    Returns:
        The sum.

    >>> @wp.kernel
    ... def shifted(x: wp.array2d[float]):
    ...     wp.tile_store(x, wp.tile_diag_add(wp.tile_load(x, (2, 2)), wp.tile_ones(2)))
    >>> x = wp.zeros((2, 2), dtype=float)
    >>> wp.launch_tiled(shifted, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [1.0, 0.0, 0.0, 1.0]
    """

def tile_dot(a: Any, b: Any) -> Any:
    """Inner product of two tiles: the sum of the products of their elements.

    Args:
        a: a tile of scalars.
        b: one of its shape and type.

    Returns:
        A tile of one element.

    >>> @wp.kernel
    ... def product(x: wp.array[float], out: wp.array[float]):
    ...     row = wp.tile_load(x, 3)
    ...     wp.tile_store(out, wp.tile_dot(row, row))
    >>> out = wp.zeros(1, dtype=float)
    >>> wp.launch_tiled(product, dim=1, inputs=[wp.array([1.0, 2.0, 3.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [14.0]
    """

def tile_empty(shape: Any, dtype: Any = ..., storage: Any = 'register') -> Any:
    """Tile for elements that are set later. They are zeros.

    Args:
        shape: its extents, one to four.
        dtype: the type of an element.
        storage: "register" or "shared".

    Returns:
        The tile.

    >>> @wp.kernel
    ... def number(out: wp.array[int]):
    ...     i, t = wp.tid()
    ...     row = wp.tile_empty(4, dtype=int)
    ...     row[t] = t
    ...     wp.tile_store(out, row)
    >>> out = wp.zeros(4, dtype=int)
    >>> wp.launch_tiled(number, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [0, 1, 2, 3]
    """

@typing.overload
def tile_extract(a: Any, *i: Any) -> Any:
    """Element of a tile, for this thread. `t[i, j]` is the same, but counts negative indices from the end.

    Args:
        a: the tile.
        i: an index for each dimension, and further ones for a component of a vector, or row and column of a matrix.

    Returns:
        The element or component. An index out of bounds ends the launch with a `KernelError`.

    Derivative: the element gets the sum over the threads.

    >>> @wp.kernel
    ... def pick(x: wp.array[float], out: wp.array[float]):
    ...     out[0] = wp.tile_extract(wp.tile_load(x, 3), 1)
    >>> out = wp.zeros(1, dtype=float)
    >>> wp.launch_tiled(pick, dim=1, inputs=[wp.array([1.0, 2.0, 3.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [2.0]
    """
@typing.overload
def tile_extract(a: Any, *i: Any) -> Any: ...
@typing.overload
def tile_extract(a: Any, *i: Any) -> Any: ...
@typing.overload
def tile_extract(a: Any, *i: Any) -> Any: ...
@typing.overload
def tile_extract(a: Any, *i: Any) -> Any: ...

def tile_fft(inout: Any) -> Any:
    """Fourier transform along the last axis, in place. It is not divided by anything.

    Any length will do. Lengths whose prime factors are 2, 3, 5 and 7 take less time than others.

    Args:
        inout: tile of vec2f or vec2d, each a complex number.

    Derivative: the inverse transform of the adjoint.

    >>> @wp.kernel
    ... def transform(x: wp.array[wp.vec2f]):
    ...     row = wp.tile_load(x, 4)
    ...     wp.tile_fft(row)
    ...     wp.tile_store(x, row)
    >>> x = wp.array([(1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0)], dtype=wp.vec2f)
    >>> wp.launch_tiled(transform, dim=1, inputs=[x], block_dim=32)
    >>> x.numpy().tolist()
    [[10.0, 0.0], [-2.0, 2.0], [-2.0, 0.0], [-2.0, -2.0]]
    """

def tile_from_thread(shape: Any, value: Any, thread_idx: Any, storage: Any = 'register') -> Any:
    """Tile with the value of one thread of the block everywhere.

    Args:
        shape: its extents, one to four.
        value: the value of each thread.
        thread_idx: the index of the thread whose value it is.
        storage: "register" or "shared".

    Returns:
        The tile.

    >>> @wp.kernel
    ... def tell(out: wp.array[int]):
    ...     i, t = wp.tid()
    ...     wp.tile_store(out, wp.tile_from_thread(2, 10 * t, 3))
    >>> out = wp.zeros(2, dtype=int)
    >>> wp.launch_tiled(tell, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [30, 30]
    """

def tile_full(shape: Any, value: Any, dtype: Any = None, storage: Any = 'register') -> Any:
    """Tile with one value everywhere.

    Args:
        shape: its extents, one to four.
        value: the value, the same in all threads of the block.
        dtype: the type of an element: that of the value if it is left out. Scalars convert, others must fit.
        storage: "register" or "shared".

    Returns:
        The tile.

    >>> @wp.kernel
    ... def fill(x: wp.array[float], value: float):
    ...     wp.tile_store(x, wp.tile_full(3, value))
    >>> x = wp.zeros(4, dtype=float)
    >>> wp.launch_tiled(fill, dim=1, inputs=[x, 2.5], block_dim=32)
    >>> x.list()
    [2.5, 2.5, 2.5, 0.0]
    """

def tile_ifft(inout: Any) -> Any:
    """Inverse Fourier transform along the last axis, in place. It is not divided by the length. See `wp.tile_fft`.

    Args:
        inout: tile of vec2f or vec2d, each a complex number.

    Derivative: the transform of the adjoint.

    >>> @wp.kernel
    ... def transform(x: wp.array[wp.vec2f]):
    ...     row = wp.tile_load(x, 4)
    ...     wp.tile_ifft(row)
    ...     wp.tile_store(x, row)
    >>> x = wp.array([(10.0, 0.0), (-2.0, 2.0), (-2.0, 0.0), (-2.0, -2.0)], dtype=wp.vec2f)
    >>> wp.launch_tiled(transform, dim=1, inputs=[x], block_dim=32)
    >>> x.numpy().tolist()
    [[4.0, 0.0], [8.0, 0.0], [12.0, 0.0], [16.0, 0.0]]
    """

def tile_load(a: Any, shape: Any, offset: Any = None, storage: Any = 'register', bounds_check: Any = True, aligned: Any = False) -> Any:
    """Tile of elements of an array. What lies outside of the array is zero.

    Args:
        a: an array with as many dimensions as the tile, with any strides; `x[i]` is one.
        shape: the extents of the tile, one to four.
        offset: the indices of its first element; zeros if they are left out.
        storage: "register" or "shared".
        bounds_check: False promises that the tile lies in the array.
        aligned: True promises that, too, and that its rows are contiguous and begin at multiples of 16 bytes.

    Returns:
        The tile.

    >>> @wp.kernel
    ... def sums(x: wp.array2d[float], out: wp.array[float]):
    ...     i, t = wp.tid()
    ...     row = wp.tile_load(x[i], 8)
    ...     wp.tile_store(out, wp.tile_sum(row), offset=i)
    >>> out = wp.zeros(2, dtype=float)
    >>> wp.launch_tiled(sums, dim=2, inputs=[wp.ones((2, 5), dtype=float), out], block_dim=32)
    >>> out.list()
    [5.0, 5.0]
    """

def tile_load_indexed(a: Any, indices: Any, shape: Any, offset: Any = None, axis: Any = 0, storage: Any = 'register') -> Any:
    """Tile of elements of an array that a tile of indices selects along one axis. What lies outside is zero.

    Args:
        a: an array with as many dimensions as the tile.
        indices: a tile of int32 with an index for each element along the axis; the offset is added to it.
        shape: the extents of the tile, one to four.
        offset: the indices of the array that are added to those in the tile.
        axis: the axis whose coordinate selects an index.
        storage: "register" or "shared".

    Returns:
        The tile.

    >>> @wp.kernel
    ... def even(x: wp.array[float], out: wp.array[float]):
    ...     wp.tile_store(out, wp.tile_load_indexed(x, wp.tile_arange(0, 6, 2, dtype=int), 3))
    >>> out = wp.zeros(3, dtype=float)
    >>> wp.launch_tiled(even, dim=1, inputs=[wp.array([0.0, 1.0, 2.0, 3.0, 4.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [0.0, 2.0, 4.0]
    """

def tile_lower_solve(L: Any, y: Any) -> Any:
    """Solution of `L @ z = y` for a lower triangular matrix, by forward substitution.

    Args:
        L: tile of M x M floats, of which the lower triangle is read.
        y: tile of M floats, or of M x R floats for several right-hand sides.

    Returns:
        The tile of z, with the shape of `y`.

    Derivative: of the right-hand sides, and of the triangle that is read.

    >>> @wp.kernel
    ... def solve(a: wp.array2d[float], y: wp.array[float]):
    ...     wp.tile_store(y, wp.tile_lower_solve(wp.tile_load(a, (2, 2)), wp.tile_load(y, 2)))
    >>> a, y = wp.array([[2.0, 0.0], [1.0, 3.0]], dtype=float), wp.array([8.0, 22.0], dtype=float)
    >>> wp.launch_tiled(solve, dim=1, inputs=[a, y], block_dim=32)
    >>> y.list()
    [4.0, 6.0]
    """

def tile_lower_solve_inplace(L: Any, y: Any) -> Any:
    """Solution of `L @ z = y` in place of `y`, for a lower triangular matrix. See `wp.tile_lower_solve`.

    Args:
        L: tile of M x M floats, of which the lower triangle is read.
        y: tile of M or M x R floats. It becomes the solution.

    Derivative: of the right-hand sides, and of the triangle that is read.

    >>> @wp.kernel
    ... def solve(a: wp.array2d[float], y: wp.array[float]):
    ...     z = wp.tile_load(y, 2)
    ...     wp.tile_lower_solve_inplace(wp.tile_load(a, (2, 2)), z)
    ...     wp.tile_store(y, z)
    >>> a, y = wp.array([[2.0, 0.0], [1.0, 3.0]], dtype=float), wp.array([8.0, 22.0], dtype=float)
    >>> wp.launch_tiled(solve, dim=1, inputs=[a, y], block_dim=32)
    >>> y.list()
    [4.0, 6.0]
    """

def tile_map(op: Any, a: Any, *args: Any) -> Any:
    """Tile of what a function makes of the elements of others.

    Args:
        op: a function of the kernel language, or a `@wp.func`.
        a: its first arguments.
        args: further tiles of the shape of `a`, or values that are the same in all threads of the block.

    Returns:
        The tile. The type of its elements is that of the function's result.

    >>> @wp.func
    ... def clipped(x: float, low: float):
    ...     return wp.max(x, low)
    >>> @wp.kernel
    ... def clip(x: wp.array[float]):
    ...     wp.tile_store(x, wp.tile_map(clipped, wp.tile_load(x, 3), 0.0))
    >>> x = wp.array([-1.0, 0.5, 2.0], dtype=float)
    >>> wp.launch_tiled(clip, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [0.0, 0.5, 2.0]
    """

def tile_matmul(a: Any, b: Any, out: Any = None, alpha: Any = ..., beta: Any = ..., precision: Any = 'default') -> Any:
    """Product of two matrices; `a @ b` is `tile_matmul(a, b)`.

    With `out` that tile becomes `alpha * a @ b + beta * out`, and there is no result. Sums go along the common axis
    upwards, fused, in the type of `out`; those of half precision go in float32 and are rounded once. Without `out` the
    result has the type of `a`, or float32 for bfloat16.

    Args:
        a: tile of M x K floats.
        b: tile of K x N floats of the same type.
        out: tile of M x N floats, not of bfloat16. It is not read if `beta` is 0.
        alpha: factor of the product; it may stand third if there is no `out`.
        beta: factor of `out`.
        precision: "default", or "tf32" to let a GPU round float32 operands to 11 bits.

    Returns:
        The tile `alpha * a @ b`, if there is no `out`.

    Derivative: of `a`, `b`, `out`, `alpha` and `beta`.

    >>> @wp.kernel
    ... def square(x: wp.array2d[float]):
    ...     a = wp.tile_load(x, (2, 2))
    ...     wp.tile_store(x, wp.tile_matmul(a, a))
    >>> x = wp.array([[1.0, 1.0], [0.0, 1.0]], dtype=float)
    >>> wp.launch_tiled(square, dim=1, inputs=[x], block_dim=32)
    >>> x.numpy().tolist()
    [[1.0, 2.0], [0.0, 1.0]]
    """

def tile_max(a: Any) -> Any:
    """Greatest element of a tile. A NaN counts as missing.

    Args:
        a: a tile of scalars.

    Returns:
        A tile of one element.

    >>> @wp.kernel
    ... def greatest(x: wp.array[float], out: wp.array[float]):
    ...     wp.tile_store(out, wp.tile_max(wp.tile_load(x, 3)))
    >>> out = wp.zeros(1, dtype=float)
    >>> wp.launch_tiled(greatest, dim=1, inputs=[wp.array([1.0, 3.0, 2.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [3.0]
    """

def tile_mesh_query_aabb(id: Any, low: Any, high: Any) -> Any:
    """Query of a mesh by the whole block for the faces whose boxes overlap a box.

    All threads make it, with equal arguments.

    Args:
        id: of the mesh: `mesh.id`, a uint64.
        low: the lower corner of the box, a vec3 in the coordinates of the mesh.
        high: its upper corner.

    Returns:
        The query, for `wp.tile_mesh_query_aabb_next` and `wp.tile_query_valid`. Copies of it are the same query.

    Derivative: refused.

    >>> @wp.kernel
    ... def mark(mesh: wp.uint64, low: wp.vec3, high: wp.vec3, found: wp.array[int]):
    ...     query = wp.tile_mesh_query_aabb(mesh, low, high)
    ...     while wp.tile_query_valid(query):
    ...         face = wp.untile(wp.tile_mesh_query_aabb_next(query))
    ...         if face >= 0:
    ...             found[face] = 1
    >>> corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [9.0, 9.0, 0.0]]
    >>> corners = wp.array(corners, dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2, 1, 3, 2], dtype=int, device="cpu"))
    >>> found = wp.zeros(2, dtype=int, device="cpu")
    >>> inputs = [mesh.id, wp.vec3(4.0, 4.0, -1.0), wp.vec3(5.0, 5.0, 1.0), found]
    >>> wp.launch_tiled(mark, dim=1, inputs=inputs, block_dim=4, device="cpu")
    >>> found.list()
    [0, 1]
    """

def tile_mesh_query_aabb_next(query: Any) -> Any:
    """Tile of the next faces of a query of a mesh, one for each thread of the block.

    Args:
        query: from `wp.tile_mesh_query_aabb`; it is advanced for all threads.

    Returns:
        A tile of `block_dim` int32: faces in the order of `wp.mesh_query_aabb_next`, and -1 behind the last.

    Derivative: refused.

    >>> @wp.kernel
    ... def first(mesh: wp.uint64, found: wp.array[int]):
    ...     query = wp.tile_mesh_query_aabb(mesh, wp.vec3(0.0, 0.0, 0.0), wp.vec3(1.0, 1.0, 1.0))
    ...     wp.tile_store(found, wp.tile_mesh_query_aabb_next(query))
    >>> corners = wp.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int, device="cpu"))
    >>> found = wp.zeros(2, dtype=int, device="cpu")
    >>> wp.launch_tiled(first, dim=1, inputs=[mesh.id, found], block_dim=2, device="cpu")
    >>> found.list()
    [0, -1]
    """

def tile_min(a: Any) -> Any:
    """Least element of a tile. A NaN counts as missing.

    Args:
        a: a tile of scalars.

    Returns:
        A tile of one element.

    >>> @wp.kernel
    ... def least(x: wp.array[float], out: wp.array[float]):
    ...     wp.tile_store(out, wp.tile_min(wp.tile_load(x, 3)))
    >>> out = wp.zeros(1, dtype=float)
    >>> wp.launch_tiled(least, dim=1, inputs=[wp.array([3.0, 1.0, 2.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [1.0]
    """

def tile_ones(shape: Any, dtype: Any = ..., storage: Any = 'register') -> Any:
    """Tile of ones: 1 in every component, and the quaternion without rotation.

    Args:
        shape: its extents, one to four.
        dtype: the type of an element, not a struct.
        storage: "register" or "shared".

    Returns:
        The tile.

    >>> @wp.kernel
    ... def fill(x: wp.array[float]):
    ...     wp.tile_store(x, wp.tile_ones(3))
    >>> x = wp.zeros(4, dtype=float)
    >>> wp.launch_tiled(fill, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [1.0, 1.0, 1.0, 0.0]
    """

def tile_query_valid(query: Any) -> Any:
    """True if a query of the block may have more results. A tile of -1 alone may still follow.

    Args:
        query: of a tree or a mesh, by the whole block.

    Returns:
        The answer, the same for all threads: it may end a loop.

    Derivative: none.

    >>> @wp.kernel
    ... def rounds(bvh: wp.uint64, count: wp.array[int]):
    ...     query = wp.tile_bvh_query_aabb(bvh, wp.vec3(0.0, 0.0, 0.0), wp.vec3(9.0, 1.0, 1.0))
    ...     n = int(0)
    ...     while wp.tile_query_valid(query):
    ...         boxes = wp.tile_bvh_query_next(query)
    ...         n += 1
    ...     count[0] = n
    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]], dtype=wp.vec3, device="cpu")
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [5.0, 1.0, 1.0]], dtype=wp.vec3, device="cpu")
    >>> bvh, count = wp.Bvh(lowers, uppers), wp.zeros(1, dtype=int, device="cpu")
    >>> wp.launch_tiled(rounds, dim=1, inputs=[bvh.id, count], block_dim=2, device="cpu")
    >>> count.list()
    [2]
    """

def tile_randf(shape: Any, rng: Any, min: Any = None, max: Any = None, storage: Any = 'register') -> Any:
    """Tile of random numbers in [0, 1), or in [min, max). They are drawn as those of `tile_randi`.

    Args:
        shape: its extents, one to four.
        rng: the state of a random generator, as of `rand_init`; it stays as it is.
        min: the lower end, if given.
        max: the upper end, if given.
        storage: "register" or "shared".

    Returns:
        A tile of float32.

    >>> @wp.kernel
    ... def draw(out: wp.array[float]):
    ...     wp.tile_store(out, wp.tile_randf(100, wp.rand_init(7), 2.0, 3.0))
    >>> out = wp.zeros(100, dtype=float)
    >>> wp.launch_tiled(draw, dim=1, inputs=[out], block_dim=32)
    >>> 2.0 <= min(out.list()) and max(out.list()) < 3.0
    True
    """

def tile_randi(shape: Any, rng: Any, min: Any = None, max: Any = None, storage: Any = 'register') -> Any:
    """Tile of random integers. Element e is drawn by thread e % `block_dim()` from the state `rng` + its index.

    Args:
        shape: its extents, one to four.
        rng: the state of a random generator, as of `rand_init`; it stays as it is.
        min: the least number, if given.
        max: the number that is just not reached, if given.
        storage: "register" or "shared".

    Returns:
        A tile of int32.

    >>> @wp.kernel
    ... def throw(out: wp.array[int]):
    ...     wp.tile_store(out, wp.tile_randi(100, wp.rand_init(7), 1, 7))
    >>> out = wp.zeros(100, dtype=int)
    >>> wp.launch_tiled(throw, dim=1, inputs=[out], block_dim=32)
    >>> sorted(set(out.list()))
    [1, 2, 3, 4, 5, 6]
    """

def tile_reduce(op: Any, a: Any, axis: Any = None) -> Any:
    """Combine the elements of a tile by a function.

    Args:
        op: a function of two elements that gives one, associative and commutative.
        a: the tile.
        axis: the axis along which to combine; all elements if it is left out.

    Returns:
        A tile of one element, or without that axis.

    >>> @wp.kernel
    ... def product(x: wp.array[float], out: wp.array[float]):
    ...     wp.tile_store(out, wp.tile_reduce(wp.mul, wp.tile_load(x, 4)))
    >>> out = wp.zeros(1, dtype=float)
    >>> wp.launch_tiled(product, dim=1, inputs=[wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [24.0]
    """

def tile_reshape(t: Any, shape: Any) -> Any:
    """Tile with the same elements in the same row-major order, and other extents.

    Args:
        t: a tile of its own, or a view whose elements lie side by side.
        shape: the new extents, of which one may be -1.

    Returns:
        The tile.

    >>> @wp.kernel
    ... def fold(x: wp.array[float], out: wp.array2d[float]):
    ...     wp.tile_store(out, wp.tile_reshape(wp.tile_load(x, 4), (2, -1)))
    >>> out = wp.zeros((2, 2), dtype=float)
    >>> wp.launch_tiled(fold, dim=1, inputs=[wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), out], block_dim=32)
    >>> out.numpy().tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """

def tile_scan_exclusive(a: Any) -> Any:
    """Running sum: each element becomes the sum of all before it, in row-major order. See `wp.tile_scan_inclusive`.

    Args:
        a: tile of numbers.

    Returns:
        The tile of sums; the first is zero.

    Derivative: of every element.

    >>> @wp.kernel
    ... def scan(x: wp.array[int]):
    ...     wp.tile_store(x, wp.tile_scan_exclusive(wp.tile_load(x, 4)))
    >>> x = wp.array([1, 2, 3, 4], dtype=int)
    >>> wp.launch_tiled(scan, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [0, 1, 3, 6]
    """

def tile_scan_inclusive(a: Any) -> Any:
    """Running sum: each element becomes the sum of it and all before it, in row-major order.

    The order of additions depends on the number of elements alone. Half precisions add in float32.

    Args:
        a: tile of numbers.

    Returns:
        The tile of sums.

    Derivative: of every element.

    >>> @wp.kernel
    ... def scan(x: wp.array[int]):
    ...     wp.tile_store(x, wp.tile_scan_inclusive(wp.tile_load(x, 4)))
    >>> x = wp.array([1, 2, 3, 4], dtype=int)
    >>> wp.launch_tiled(scan, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [1, 3, 6, 10]
    """

def tile_scan_max_inclusive(a: Any) -> Any:
    """Running maximum: each element becomes the largest of it and all before it, in row-major order.

    Args:
        a: tile of numbers. NaN counts only where nothing but NaN is before it.

    Returns:
        The tile of maxima.

    Derivative: of the first element that has the maximum.

    >>> @wp.kernel
    ... def scan(x: wp.array[int]):
    ...     wp.tile_store(x, wp.tile_scan_max_inclusive(wp.tile_load(x, 4)))
    >>> x = wp.array([2, 1, 5, 4], dtype=int)
    >>> wp.launch_tiled(scan, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [2, 2, 5, 5]
    """

def tile_scan_min_inclusive(a: Any) -> Any:
    """Running minimum: each element becomes the smallest of it and all before it, in row-major order.

    Args:
        a: tile of numbers. NaN counts only where nothing but NaN is before it.

    Returns:
        The tile of minima.

    Derivative: of the first element that has the minimum.

    >>> @wp.kernel
    ... def scan(x: wp.array[int]):
    ...     wp.tile_store(x, wp.tile_scan_min_inclusive(wp.tile_load(x, 4)))
    >>> x = wp.array([2, 3, 1, 4], dtype=int)
    >>> wp.launch_tiled(scan, dim=1, inputs=[x], block_dim=32)
    >>> x.list()
    [2, 2, 1, 1]
    """

def tile_scatter_add(a: Any, *args: Any, value: Any = None, has_value: Any = None, atomic: Any = True) -> Any:
    """Add a value of each thread to an element of a tile. All threads of the block come here.

    Args:
        a: the tile that is changed.
        args: an index for each dimension, the value, and whether this thread has one.
        value: the value, if it is given by name.
        has_value: whether this thread has one, if that is given by name.
        atomic: False promises that no two threads name one element.

    >>> @wp.kernel
    ... def histogram(x: wp.array[int], out: wp.array[int]):
    ...     i, t = wp.tid()
    ...     counts = wp.tile_zeros(3, dtype=int)
    ...     wp.tile_scatter_add(counts, x[t], 1, x[t] > 0)
    ...     wp.tile_store(out, counts)
    >>> out = wp.zeros(3, dtype=int)
    >>> wp.launch_tiled(histogram, dim=1, inputs=[wp.array([2, 0, 1, 2], dtype=int), out], block_dim=4)
    >>> out.list()
    [0, 1, 2]
    """

def tile_scatter_masked(a: Any, *args: Any, value: Any = None, has_value: Any = None) -> Any:
    """Write a value of each thread to an element of a tile, each to another. All threads of the block come here.

    Args:
        a: the tile that is changed.
        args: an index for each dimension, the value, and whether this thread has one.
        value: the value, if it is given by name.
        has_value: whether this thread has one, if that is given by name.

    >>> @wp.kernel
    ... def reverse(x: wp.array[int]):
    ...     i, t = wp.tid()
    ...     row = wp.tile_zeros(4, dtype=int)
    ...     wp.tile_scatter_masked(row, 3 - t, x[t], t > 0)
    ...     wp.tile_store(x, row)
    >>> x = wp.array([1, 2, 3, 4], dtype=int)
    >>> wp.launch_tiled(reverse, dim=1, inputs=[x], block_dim=4)
    >>> x.list()
    [4, 3, 2, 0]
    """

def tile_slice_indexed(t: Any, indices: Any) -> Any:
    """Elements or rows of a tile that a tile of indices selects; `t[indices]` and `t[:, indices]` are the same.

    Args:
        t: the tile.
        indices: a tile of int32, or a tuple with one, and `:` for all other axes. A negative index counts from the end.
            One out of bounds ends the launch with a `KernelError`.

    Returns:
        A tile of its own.

    >>> @wp.kernel
    ... def reorder(x: wp.array[float], places: wp.array[int]):
    ...     t = wp.tile_load(x, 3)
    ...     wp.tile_store(x, wp.tile_slice_indexed(t, wp.tile_load(places, 3)))
    >>> x = wp.array([1.0, 2.0, 3.0], dtype=float)
    >>> wp.launch_tiled(reorder, dim=1, inputs=[x, wp.array([2, 0, 0], dtype=int)], block_dim=32)
    >>> x.list()
    [3.0, 1.0, 1.0]
    """

def tile_sort(keys: Any, values: Any) -> Any:
    """Sort keys in ascending order, in place, and values with them. Equal keys keep their order.

    Floats go from -infinity to infinity, with -0.0 before 0.0, a NaN whose sign bit is set before all numbers and any
    other NaN after them.

    Args:
        keys: tile of int32, uint32, float32, int64, uint64 or float64.
        values: tile of as many elements of any type.

    Derivative: elements take theirs along.

    >>> @wp.kernel
    ... def sort(keys: wp.array[float], values: wp.array[int]):
    ...     k, v = wp.tile_load(keys, 3), wp.tile_load(values, 3)
    ...     wp.tile_sort(k, v)
    ...     wp.tile_store(keys, k)
    ...     wp.tile_store(values, v)
    >>> keys, values = wp.array([2.5, -1.0, 0.5], dtype=float), wp.array([0, 1, 2], dtype=int)
    >>> wp.launch_tiled(sort, dim=1, inputs=[keys, values], block_dim=32)
    >>> keys.list(), values.list()
    ([-1.0, 0.5, 2.5], [1, 2, 0])
    """

def tile_squeeze(t: Any, axis: Any = None) -> Any:
    """Tile without axes of length 1.

    Args:
        t: the tile.
        axis: the axes to leave out, a number or a tuple; all of length 1 if it is left out.

    Returns:
        The tile. One axis stays where all have length 1.

    >>> @wp.kernel
    ... def flatten(x: wp.array2d[float], out: wp.array[float]):
    ...     wp.tile_store(out, wp.tile_squeeze(wp.tile_load(x, (1, 3))))
    >>> out = wp.zeros(3, dtype=float)
    >>> wp.launch_tiled(flatten, dim=1, inputs=[wp.ones((1, 3), dtype=float), out], block_dim=32)
    >>> out.list()
    [1.0, 1.0, 1.0]
    """

def tile_stack(capacity: Any, dtype: Any = ...) -> Any:
    """Stack of the block, empty at first.

    Args:
        capacity: the most elements, known when the kernel compiles.
        dtype: the type of an element.

    Returns:
        The stack. Copies of it are the same stack.

    Derivative: refused.

    >>> @wp.kernel
    ... def reverse(x: wp.array[int]):
    ...     i, t = wp.tid()
    ...     s = wp.tile_stack(capacity=8, dtype=int)
    ...     slot = wp.tile_stack_push(s, x[t], True)
    ...     value, slot = wp.tile_stack_pop(s)
    ...     x[t] = value
    >>> x = wp.array([1, 2, 3, 4], dtype=int)
    >>> wp.launch_tiled(reverse, dim=1, inputs=[x], block_dim=4)
    >>> x.list()
    [4, 3, 2, 1]
    """

def tile_stack_clear(s: Any) -> Any:
    """Take all elements from a stack of the block.

    Args:
        s: the stack.

    Derivative: refused.

    >>> @wp.kernel
    ... def clear(x: wp.array[int]):
    ...     i, t = wp.tid()
    ...     s = wp.tile_stack(capacity=8, dtype=int)
    ...     slot = wp.tile_stack_push(s, x[t], True)
    ...     wp.tile_stack_clear(s)
    ...     x[t] = wp.tile_stack_count(s)
    >>> x = wp.array([1, 2], dtype=int)
    >>> wp.launch_tiled(clear, dim=1, inputs=[x], block_dim=2)
    >>> x.list()
    [0, 0]
    """

def tile_stack_count(s: Any) -> Any:
    """Number of elements in a stack of the block.

    Args:
        s: the stack.

    Returns:
        The number, the same for all threads.

    Derivative: refused.

    >>> @wp.kernel
    ... def count(x: wp.array[int]):
    ...     i, t = wp.tid()
    ...     s = wp.tile_stack(capacity=8, dtype=int)
    ...     slot = wp.tile_stack_push(s, x[t], x[t] > 1)
    ...     x[t] = wp.tile_stack_count(s)
    >>> x = wp.array([1, 2, 3], dtype=int)
    >>> wp.launch_tiled(count, dim=1, inputs=[x], block_dim=3)
    >>> x.list()
    [2, 2, 2]
    """

def tile_stack_pop(s: Any) -> Any:
    """Pop a value for each thread: the topmost for the first thread, and so on.

    Args:
        s: a stack of the block.

    Returns:
        value: what this thread gets, zero if there are not so many.
        slot: where it was, counted from the bottom; -1 if this thread gets none.

    Derivative: refused.

    >>> @wp.kernel
    ... def last(x: wp.array[int], slots: wp.array[int]):
    ...     i, t = wp.tid()
    ...     s = wp.tile_stack(capacity=3, dtype=int)
    ...     slot = wp.tile_stack_push(s, x[t], True)
    ...     x[t], slots[t] = wp.tile_stack_pop(s)
    >>> x, slots = wp.array([1, 2, 3, 4], dtype=int), wp.zeros(4, dtype=int)
    >>> wp.launch_tiled(last, dim=1, inputs=[x, slots], block_dim=4)
    >>> x.list(), slots.list()
    ([3, 2, 1, 0], [2, 1, 0, -1])
    """

def tile_stack_push(s: Any, value: Any, has_value: Any = True) -> Any:
    """Push a value of each thread that has one, in the order of the threads.

    Args:
        s: a stack of the block.
        value: what this thread pushes.
        has_value: whether it does.

    Returns:
        The slot of this thread's value, counted from the bottom; -1 if it has none or the stack is full.

    Derivative: refused.

    >>> @wp.kernel
    ... def positive(x: wp.array[int], slots: wp.array[int]):
    ...     i, t = wp.tid()
    ...     s = wp.tile_stack(capacity=8, dtype=int)
    ...     slots[t] = wp.tile_stack_push(s, x[t], x[t] > 0)
    >>> x, slots = wp.array([-1, 2, 4, -5], dtype=int), wp.zeros(4, dtype=int)
    >>> wp.launch_tiled(positive, dim=1, inputs=[x, slots], block_dim=4)
    >>> slots.list()
    [-1, 0, 1, -1]
    """

def tile_store(a: Any, t: Any, offset: Any = None, bounds_check: Any = True, aligned: Any = False) -> Any:
    """Write a tile to an array. What would lie outside of the array is left out.

    Args:
        a: an array with as many dimensions as the tile, with any strides.
        t: the tile, of the array's dtype.
        offset: the indices of its first element; zeros if they are left out.
        bounds_check: False promises that the tile lies in the array.
        aligned: True promises that, too, and that its rows are contiguous and begin at multiples of 16 bytes.

    >>> @wp.kernel
    ... def double(x: wp.array[float]):
    ...     i, t = wp.tid()
    ...     wp.tile_store(x, 2.0 * wp.tile_load(x, 2, offset=2 * i), offset=2 * i)
    >>> x = wp.array([1.0, 2.0, 3.0], dtype=float)
    >>> wp.launch_tiled(double, dim=2, inputs=[x], block_dim=32)
    >>> x.list()
    [2.0, 4.0, 6.0]
    """

def tile_store_indexed(a: Any, indices: Any, t: Any, offset: Any = None, axis: Any = 0) -> Any:
    """Write a tile to elements of an array that a tile of indices selects along one axis.

    What would lie outside of the array is left out.

    Args:
        a: an array with as many dimensions as the tile.
        indices: a tile of int32 with an index for each element along the axis; the offset is added to it.
        t: the tile, of the array's dtype.
        offset: the indices of the array that are added to those in the tile.
        axis: the axis whose coordinate selects an index.

    >>> @wp.kernel
    ... def spread(x: wp.array[float], out: wp.array[float]):
    ...     wp.tile_store_indexed(out, wp.tile_arange(0, 6, 2, dtype=int), wp.tile_load(x, 3))
    >>> out = wp.zeros(5, dtype=float)
    >>> wp.launch_tiled(spread, dim=1, inputs=[wp.array([1.0, 2.0, 3.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [1.0, 0.0, 2.0, 0.0, 3.0]
    """

def tile_sub_inplace(a: Any, *args: Any, value: Any = None) -> Any:
    """Subtract a value from an element of a tile, atomically: `a[i] -= value`.

    Args:
        a: the tile that is changed.
        args: an index for each dimension, and the value.
        value: the value, if it is given by name.

    >>> @wp.kernel
    ... def change(out: wp.array[float]):
    ...     i, t = wp.tid()
    ...     a = wp.tile_zeros(4, dtype=float)
    ...     wp.tile_sub_inplace(a, t, float(t))
    ...     wp.tile_store(out, a)
    >>> out = wp.zeros(4, dtype=float)
    >>> wp.launch_tiled(change, dim=1, inputs=[out], block_dim=4)
    >>> out.list()
    [0.0, -1.0, -2.0, -3.0]
    """

def tile_sum(a: Any, axis: Any = None) -> Any:
    """Sum of the elements of a tile, always in the same order: 16 partial sums, which are added by halves.

    Args:
        a: a tile of numbers, vectors or matrices.
        axis: the axis along which to add; all elements if it is left out.

    Returns:
        A tile of one element, or without that axis.

    >>> @wp.kernel
    ... def total(x: wp.array[float], out: wp.array[float]):
    ...     wp.tile_store(out, wp.tile_sum(wp.tile_load(x, 4)))
    >>> out = wp.zeros(1, dtype=float)
    >>> wp.launch_tiled(total, dim=1, inputs=[wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), out], block_dim=32)
    >>> out.list()
    [10.0]
    """

def tile_transpose(a: Any) -> Any:
    """Transposed tile, with the elements of the tile itself.

    Args:
        a: a tile of two dimensions.

    Returns:
        The tile with its axes exchanged.

    >>> @wp.kernel
    ... def transpose(x: wp.array2d[float], out: wp.array2d[float]):
    ...     wp.tile_store(out, wp.tile_transpose(wp.tile_load(x, (2, 3))))
    >>> out = wp.zeros((3, 2), dtype=float)
    >>> x = wp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=float)
    >>> wp.launch_tiled(transpose, dim=1, inputs=[x, out], block_dim=32)
    >>> out.list()
    [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
    """

def tile_upper_solve(U: Any, z: Any) -> Any:
    """Solution of `U @ x = z` for an upper triangular matrix, by backward substitution.

    Args:
        U: tile of M x M floats, of which the upper triangle is read.
        z: tile of M floats, or of M x R floats for several right-hand sides.

    Returns:
        The tile of x, with the shape of `z`.

    Derivative: of the right-hand sides, and of the triangle that is read.

    >>> @wp.kernel
    ... def solve(a: wp.array2d[float], z: wp.array[float]):
    ...     wp.tile_store(z, wp.tile_upper_solve(wp.tile_load(a, (2, 2)), wp.tile_load(z, 2)))
    >>> a, z = wp.array([[2.0, 1.0], [0.0, 3.0]], dtype=float), wp.array([4.0, 6.0], dtype=float)
    >>> wp.launch_tiled(solve, dim=1, inputs=[a, z], block_dim=32)
    >>> z.list()
    [1.0, 2.0]
    """

def tile_upper_solve_inplace(U: Any, z: Any) -> Any:
    """Solution of `U @ x = z` in place of `z`, for an upper triangular matrix. See `wp.tile_upper_solve`.

    Args:
        U: tile of M x M floats, of which the upper triangle is read.
        z: tile of M or M x R floats. It becomes the solution.

    Derivative: of the right-hand sides, and of the triangle that is read.

    >>> @wp.kernel
    ... def solve(a: wp.array2d[float], z: wp.array[float]):
    ...     x = wp.tile_load(z, 2)
    ...     wp.tile_upper_solve_inplace(wp.tile_load(a, (2, 2)), x)
    ...     wp.tile_store(z, x)
    >>> a, z = wp.array([[2.0, 1.0], [0.0, 3.0]], dtype=float), wp.array([4.0, 6.0], dtype=float)
    >>> wp.launch_tiled(solve, dim=1, inputs=[a, z], block_dim=32)
    >>> z.list()
    [1.0, 2.0]
    """

def tile_view(t: Any, offset: Any, shape: Any = None) -> Any:
    """Part of a tile, with the elements of the tile itself.

    Args:
        t: the tile.
        offset: without a shape, an index or a slice for each leading dimension: an index leaves the dimension out. With
            a shape, the indices of the first element.
        shape: the extents of the part, as many as the tile has dimensions.

    Returns:
        The part. A program may also write `t[1]` or `t[1:3, ::2]`.

    >>> @wp.kernel
    ... def second_row(x: wp.array2d[float], out: wp.array[float]):
    ...     block = wp.tile_load(x, (2, 3))
    ...     wp.tile_store(out, wp.tile_view(block, offset=1))
    >>> x = wp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=float)
    >>> out = wp.zeros(3, dtype=float)
    >>> wp.launch_tiled(second_row, dim=1, inputs=[x, out], block_dim=32)
    >>> out.list()
    [4.0, 5.0, 6.0]
    """

def tile_zeros(shape: Any, dtype: Any = ..., storage: Any = 'register') -> Any:
    """Tile of zeros.

    Args:
        shape: its extents, one to four.
        dtype: the type of an element.
        storage: "register" or "shared".

    Returns:
        The tile.

    >>> @wp.kernel
    ... def clear(x: wp.array[float]):
    ...     i, t = wp.tid()
    ...     wp.tile_store(x, wp.tile_zeros(4), offset=4 * i)
    >>> x = wp.ones(9, dtype=float)
    >>> wp.launch_tiled(clear, dim=2, inputs=[x], block_dim=32)
    >>> x.list()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """

@typing.overload
def trace(a: mat22f | mat33f | mat44f | spatial_matrixf) -> float:
    """Sum of the diagonal.

    Args:
        a: a square matrix.

    Returns:
        The sum of a[i, i], a scalar.

    Error: one rounding for each term.
    Derivative: the identity.

    >>> wp.trace(wp.mat22(1.0, 2.0, 3.0, 4.0))
    5.0
    """
@typing.overload
def trace(a: mat22d | mat33d | mat44d | spatial_matrixd) -> float64: ...
@typing.overload
def trace(a: mat22h | mat33h | mat44h | spatial_matrixh) -> float16: ...

@typing.overload
def transform_compose(position: vec3f, rotation: quatf, scale: vec3f) -> mat44f:
    """Matrix of a scale, a rotation and a translation, applied in this order.

    Args:
        position: the translation.
        rotation: a unit quaternion.
        scale: a factor for each axis.

    Returns:
        The 4 x 4 matrix M such that transform_point(M, x) is position + rotate(rotation, scale * x).

    Error: 5 ULP of the scale.
    Derivative: that of the formula.

    >>> m = wp.transform_compose(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity(), wp.vec3(2.0, 2.0, 2.0))
    >>> wp.transform_point(m, wp.vec3(1.0, 1.0, 1.0))
    vec3f([3.0, 4.0, 5.0])
    """
@typing.overload
def transform_compose(position: vec3d, rotation: quatd, scale: vec3d) -> mat44d: ...
@typing.overload
def transform_compose(position: vec3h, rotation: quath, scale: vec3h) -> mat44h: ...

@typing.overload
def transform_decompose(m: mat44f) -> tuple[vec3f, quatf, vec3f]:
    """Translation, rotation and scale of a matrix.

    Args:
        m: a 4 x 4 matrix without shear and reflection, as `transform_compose` makes them.

    Returns:
        position: the last column.
        rotation: unit quaternion of the other columns, brought to length 1.
        scale: the lengths of those columns.

    Error: 8 ULP of 1 in the rotation, 3 ULP in the scale.
    Derivative: that of the formula.

    >>> m = wp.transform_compose(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity(), wp.vec3(2.0, 1.0, 4.0))
    >>> wp.transform_decompose(m)[2]
    vec3f([2.0, 1.0, 4.0])
    """
@typing.overload
def transform_decompose(m: mat44d) -> tuple[vec3d, quatd, vec3d]: ...
@typing.overload
def transform_decompose(m: mat44h) -> tuple[vec3h, quath, vec3h]: ...

@typing.overload
def transform_from_matrix(mat: mat44f) -> transformf:
    """Rigid transform of a matrix.

    Args:
        mat: a 4 x 4 matrix whose upper left block is a rotation.

    Returns:
        The transform with that rotation and the last column as translation.

    Error: 6 ULP of 1 in the rotation.
    Derivative: that of the formula.

    >>> wp.transform_from_matrix(wp.transform_to_matrix(wp.transform_identity())) == wp.transform_identity()
    True
    """
@typing.overload
def transform_from_matrix(mat: mat44d) -> transformd: ...
@typing.overload
def transform_from_matrix(mat: mat44h) -> transformh: ...

@typing.overload
def transform_get_rotation(xform: transformf) -> quatf:
    """Rotation of a transform.

    Args:
        xform: a transform.

    Returns:
        A quaternion.

    Error: exact.
    Derivative: 1.

    >>> wp.transform_get_rotation(wp.transform_identity())
    quatf([0.0, 0.0, 0.0, 1.0])
    """
@typing.overload
def transform_get_rotation(xform: transformd) -> quatd: ...
@typing.overload
def transform_get_rotation(xform: transformh) -> quath: ...

@typing.overload
def transform_get_translation(xform: transformf) -> vec3f:
    """Translation of a transform.

    Args:
        xform: a transform.

    Returns:
        A vector of three components.

    Error: exact.
    Derivative: 1.

    >>> wp.transform_get_translation(wp.transform_identity())
    vec3f([0.0, 0.0, 0.0])
    """
@typing.overload
def transform_get_translation(xform: transformd) -> vec3d: ...
@typing.overload
def transform_get_translation(xform: transformh) -> vec3h: ...

@typing.overload
def transform_identity() -> transformf:
    """The transform that moves nothing.

    It also takes a scalar type, known when the kernel compiles: `dtype=wp.float64`.

    Returns:
        The transform of that type with translation 0 and rotation (0, 0, 0, 1).

    Error: exact.

    Derivative: none.

    >>> wp.transform_get_rotation(wp.transform_identity())
    quatf([0.0, 0.0, 0.0, 1.0])
    """
@typing.overload
def transform_identity(dtype: Any) -> Any: ...

def transform_inverse(xform: _Transform1) -> _Transform1:
    """Transform that undoes another.

    Args:
        xform: a transform with a unit rotation.

    Returns:
        The transform of xform(x) to x.

    Error: 8 ULP of the lengths involved.
    Derivative: that of the formula.

    >>> wp.transform_get_translation(wp.transform_inverse(wp.transform_identity()))
    vec3f([-0.0, -0.0, -0.0])
    """

def transform_multiply(a: _Transform1, b: _Transform1) -> _Transform1:
    """Composition of two transforms; also written `a * b`.

    Args:
        a: applied last.
        b: applied first.

    Returns:
        The transform of x to a(b(x)).

    Error: 8 ULP of the lengths involved.
    Derivative: that of the formula.

    >>> wp.transform_multiply(wp.transform_identity(), wp.transform_identity()) == wp.transform_identity()
    True
    """

@typing.overload
def transform_point(xform: mat44f | transformf, point: vec3f) -> vec3f:
    """Point moved by a transform.

    Args:
        xform: a transform, or a 4 x 4 matrix whose last row is not used.
        point: a position.

    Returns:
        translation + rotate(rotation, point); for a matrix, the first three components of matrix * (point, 1).

    Error: 8 ULP of the lengths involved.
    Derivative: quat_rotate_inv(rotation, g) in `point`; that of the formula in `xform`.

    >>> wp.transform_point(wp.transform_identity(), wp.vec3(1.0, 2.0, 3.0))
    vec3f([1.0, 2.0, 3.0])
    """
@typing.overload
def transform_point(xform: mat44d | transformd, point: vec3d) -> vec3d: ...
@typing.overload
def transform_point(xform: mat44h | transformh, point: vec3h) -> vec3h: ...

def transform_set_rotation(xform: Any, q: quatf | quatd | quath) -> None:
    """Replaces the rotation of a transform; in a kernel, `xform.q = q` does the same.

    Args:
        xform: the variable, field or array element to change.
        q: the new rotation; it is stored as it is.

    Returns:
        Nothing.

    Error: exact.
    Derivative: 1 in `q` and in the translation.

    >>> t = wp.transform_identity()
    >>> wp.transform_set_rotation(t, wp.quat(1.0, 0.0, 0.0, 0.0))
    >>> wp.transform_get_rotation(t)
    quatf([1.0, 0.0, 0.0, 0.0])
    """

def transform_set_translation(xform: Any, p: vec3f | vec3d | vec3h) -> None:
    """Replaces the translation of a transform; in a kernel, `xform.p = p` does the same.

    Args:
        xform: the variable, field or array element to change.
        p: the new translation.

    Returns:
        Nothing.

    Error: exact.
    Derivative: 1 in `p` and in the rotation.

    >>> t = wp.transform_identity()
    >>> wp.transform_set_translation(t, wp.vec3(1.0, 2.0, 3.0))
    >>> wp.transform_get_translation(t)
    vec3f([1.0, 2.0, 3.0])
    """

@typing.overload
def transform_to_matrix(xform: transformf) -> mat44f:
    """Matrix of a rigid transform.

    Args:
        xform: a transform with a unit rotation.

    Returns:
        The 4 x 4 matrix M such that transform_point(M, x) is transform_point(xform, x).

    Error: 4 ULP of 1.
    Derivative: that of the formula.

    >>> wp.trace(wp.transform_to_matrix(wp.transform_identity()))
    4.0
    """
@typing.overload
def transform_to_matrix(xform: transformd) -> mat44d: ...
@typing.overload
def transform_to_matrix(xform: transformh) -> mat44h: ...

@typing.overload
def transform_twist(t: transformf, x: spatial_vectorf) -> spatial_vectorf:
    """Twist in another frame.

    Args:
        t: rigid transform from the frame of `x` to the other one, with rotation R and translation p.
        x: a twist (w, v).

    Returns:
        The twist (R w, R v + cross(p, R w)).

    Error: 8 ULP of the lengths involved.
    Derivative: linear in `x`; that of the formula in `t`.

    >>> wp.transform_twist(wp.transform_identity(), wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))[3]
    4.0
    """
@typing.overload
def transform_twist(t: transformd, x: spatial_vectord) -> spatial_vectord: ...
@typing.overload
def transform_twist(t: transformh, x: spatial_vectorh) -> spatial_vectorh: ...

@typing.overload
def transform_vector(xform: mat44f | transformf, vector: vec3f) -> vec3f:
    """Direction turned by a transform; the translation plays no part.

    Args:
        xform: a transform, or a 4 x 4 matrix of which the upper left 3 x 3 block is used.
        vector: a direction.

    Returns:
        rotate(rotation, vector); for a matrix, block * vector.

    Error: 6 ULP of length(vector).
    Derivative: quat_rotate_inv(rotation, g) in `vector`; that of the formula in `xform`.

    >>> wp.transform_vector(wp.transform_identity(), wp.vec3(1.0, 2.0, 3.0))
    vec3f([1.0, 2.0, 3.0])
    """
@typing.overload
def transform_vector(xform: mat44d | transformd, vector: vec3d) -> vec3d: ...
@typing.overload
def transform_vector(xform: mat44h | transformh, vector: vec3h) -> vec3h: ...

@typing.overload
def transform_wrench(t: transformf, x: spatial_vectorf) -> spatial_vectorf:
    """Wrench in another frame.

    Args:
        t: rigid transform from the frame of `x` to the other one, with rotation R and translation p.
        x: a wrench (n, f).

    Returns:
        The wrench (R n + cross(p, R f), R f).

    Error: 8 ULP of the lengths involved.
    Derivative: linear in `x`; that of the formula in `t`.

    >>> wp.transform_wrench(wp.transform_identity(), wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))[0]
    1.0
    """
@typing.overload
def transform_wrench(t: transformd, x: spatial_vectord) -> spatial_vectord: ...
@typing.overload
def transform_wrench(t: transformh, x: spatial_vectorh) -> spatial_vectorh: ...

def transformation(p: Any, q: Any, dtype: Any = None) -> Any:
    """Rigid transform of any float type.

    Args:
        p: the translation.
        q: the rotation, a unit quaternion.
        dtype: the type of the components; taken from the arguments if left out.

    Returns:
        The transform that rotates by `q`, then moves by `p`.

    Derivative: 1 in `p` and `q`.

    >>> wp.transformation(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity())
    transformf([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    """

def transpose(a: _Matrix6) -> _Matrix6:
    """Transpose of a matrix.

    Args:
        a: an M x N matrix.

    Returns:
        The N x M matrix with rows and columns exchanged.

    Error: exact.
    Derivative: transpose(g), for the gradient g of the result.

    >>> wp.transpose(wp.mat22(1.0, 2.0, 3.0, 4.0))
    mat22f([[1.0, 3.0],
     [2.0, 4.0]])
    """

def trunc(x: _Scalar1) -> _Scalar1:
    """`x` without its fraction.

    Args:
        x: a number.

    Returns:
        The integer nearest to `x` towards zero, of the type of `x`.

    Error: exact.
    Derivative: 0.

    >>> wp.trunc(-1.5)
    -1.0
    """

def untile(a: Any) -> Any:
    """Value that a tile has for this thread, the inverse of `tile`.

    Args:
        a: a tile with `block_dim()` elements along its last axis.

    Returns:
        The element of this thread; of a tile of two dimensions a vector, of three a matrix.

    Derivative: each element gets that of its thread.

    >>> @wp.kernel
    ... def reverse(x: wp.array[int]):
    ...     i, t = wp.tid()
    ...     row = wp.tile_load(x, 4)
    ...     x[3 - t] = wp.untile(row)
    >>> x = wp.array([1, 2, 3, 4], dtype=int)
    >>> wp.launch_tiled(reverse, dim=1, inputs=[x], block_dim=4)
    >>> x.list()
    [4, 3, 2, 1]
    """

def vector(*args: Any, length: Any = None, dtype: Any = None) -> Any:
    """Vector of any length.

    Args:
        args: the components, one number for all of them, or another vector to convert.
        length: how many components; taken from `args` if left out.
        dtype: their type; taken from `args` if left out.

    Returns:
        The vector; zero without components. `wp.types.vector(length, dtype)` is its type.

    Derivative: 1 in each component given.

    >>> wp.vector(1.0, 2.0, 3.0, length=3)
    vec3f([1.0, 2.0, 3.0])
    """

@typing.overload
def velocity_at_point(qd: spatial_vectorf, r: vec3f) -> vec3f:
    """Velocity of a point of a moving body.

    Args:
        qd: the twist (w, v) of the body.
        r: position of the point, from where the twist is taken.

    Returns:
        cross(w, r) + v.

    Error: one rounding for each term.
    Derivative: that of the formula.

    >>> wp.velocity_at_point(wp.spatial_vector(0.0, 0.0, 1.0, 1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0))
    vec3f([0.0, 0.0, 0.0])
    """
@typing.overload
def velocity_at_point(qd: spatial_vectord, r: vec3d) -> vec3d: ...
@typing.overload
def velocity_at_point(qd: spatial_vectorh, r: vec3h) -> vec3h: ...

@typing.overload
def view(arr: Any, i: Any) -> Any:
    """Row of an array: `arr[i]` of an array of several dimensions as a function.

    Args:
        arr: an array of several dimensions.
        i: one index or several, fewer than `arr` has dimensions.

    Returns:
        The array of the dimensions that are left. It shares the memory of `arr`.

    >>> @wp.kernel
    ... def first(m: wp.array2d[float], out: wp.array[float]):
    ...     i = wp.tid()
    ...     row = wp.view(m, i)
    ...     out[i] = row[0]
    >>> out = wp.zeros(2, dtype=float)
    >>> wp.launch(first, dim=2, inputs=[wp.ones((2, 3), dtype=float), out])
    >>> out.list()
    [1.0, 1.0]
    """
@typing.overload
def view(arr: Any, i: Any, j: Any) -> Any: ...
@typing.overload
def view(arr: Any, i: Any, j: Any, k: Any) -> Any: ...
@typing.overload
def view(arr: Any, i: Any, j: Any, k: Any, l: Any) -> Any: ...
@typing.overload
def view(arr: Any) -> Any: ...

def volume_index_to_world(id: uint64 | int, uvw: vec3f) -> vec3f:
    """Place in the world of a place in the index space of a volume, where voxels are at integers.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place, a vec3.

    Returns:
        The place, a vec3. An id without a volume is a KernelError.

    Error: 2 ulp of the largest product.
    Derivative: exact.

    >>> volume = wp.Volume.load_from_numpy(np.zeros((2, 2, 2)), min_world=(1.0, 2.0, 3.0), voxel_size=0.5, device="cpu")
    >>> wp.volume_index_to_world(volume.id, wp.vec3(2.0, 0.0, 0.0))
    vec3f([2.0, 2.0, 3.0])
    """

def volume_index_to_world_dir(id: uint64 | int, uvw: vec3f) -> vec3f:
    """Direction in the world of a direction in the index space of a volume.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the direction, a vec3 of any length.

    Returns:
        The direction, a vec3. Its length is in the unit of the world. An id without a volume is a KernelError.

    Error: 2 ulp of the largest product.
    Derivative: exact.

    >>> volume = wp.Volume.load_from_numpy(np.zeros((2, 2, 2)), min_world=(1.0, 2.0, 3.0), voxel_size=0.5, device="cpu")
    >>> wp.volume_index_to_world_dir(volume.id, wp.vec3(2.0, 0.0, 0.0))
    vec3f([1.0, 0.0, 0.0])
    """

@typing.overload
def volume_lookup(id: uint64 | int, i: int, j: int, k: int, dtype: Any) -> Any:
    """Value of a voxel of a volume.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.
        dtype: the type of the volume's values, known when the kernel compiles: `volume.dtype`.

    Returns:
        A value of that type: the voxel's, that of a tile around it, or the background. A volume with values of another
        type is a KernelError, as is an id without a volume.

    Error: exact.
    Derivative: exact with respect to the values in leaves of a volume that requires gradients.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), bg_value=-1.0, device="cpu")
    >>> wp.volume_lookup(volume.id, 1, 0, 1, dtype=float), wp.volume_lookup(volume.id, 50, 0, 1, dtype=float)
    (5.0, -1.0)
    """
@typing.overload
def volume_lookup(id: uint64 | int, ijk: vec3i) -> float: ...

def volume_lookup_f(id: uint64 | int, i: int, j: int, k: int) -> float:
    """Value of a voxel of a volume of float32. See `wp.volume_lookup`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.

    Returns:
        The value, a float32.

    Error: exact.
    Derivative: exact with respect to the values in leaves of a volume that requires gradients.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
    >>> wp.volume_lookup_f(volume.id, 1, 1, 0)
    6.0
    """

def volume_lookup_i(id: uint64 | int, i: int, j: int, k: int) -> int:
    """Value of a voxel of a volume of int32. See `wp.volume_lookup`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.

    Returns:
        The value, an int32.

    Error: exact.
    Derivative: none.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8).reshape(2, 2, 2), bg_value=-1, device="cpu")
    >>> wp.volume_lookup_i(volume.id, 1, 1, 0)
    6
    """

def volume_lookup_index(id: uint64 | int, i: int, j: int, k: int) -> int:
    """Number of a voxel of a volume, for arrays with a value for each voxel.

    Voxels are counted in the order of `volume.get_voxels()`. Volumes made by `wp.Volume.allocate_by_voxels` count
    active voxels. Others count all voxels of leaves, which are blocks of 8x8x8 voxels in memory.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.

    Returns:
        The number, an int32; -1 for a voxel that is not counted. An id without a volume is a KernelError.

    Error: exact.
    Derivative: none.

    >>> voxels = wp.array([[0, 0, 0], [5, 0, 0]], dtype=wp.vec3i, device="cpu")
    >>> volume = wp.Volume.allocate_by_voxels(voxels, voxel_size=0.1, device="cpu")
    >>> wp.volume_lookup_index(volume.id, 5, 0, 0), wp.volume_lookup_index(volume.id, 1, 0, 0)
    (1, -1)
    """

def volume_lookup_v(id: uint64 | int, i: int, j: int, k: int) -> vec3f:
    """Value of a voxel of a volume of vec3. See `wp.volume_lookup`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.

    Returns:
        The value, a vec3.

    Error: exact.
    Derivative: exact with respect to the values in leaves of a volume that requires gradients.

    >>> volume = wp.Volume.load_from_numpy(np.ones((2, 2, 2, 3)), bg_value=(0.0, 0.0, 0.0), device="cpu")
    >>> wp.volume_lookup_v(volume.id, 1, 1, 0)
    vec3f([1.0, 1.0, 1.0])
    """

def volume_sample(id: uint64 | int, uvw: vec3f, sampling_mode: int, dtype: Any) -> Any:
    """Value of a volume at a place between voxels.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3: voxels are at integers. `wp.volume_world_to_index` computes it.
        sampling_mode: `wp.Volume.LINEAR` interpolates eight voxels, `wp.Volume.CLOSEST` takes the nearest one, and of
            two that are as near the one farther from 0. Another mode is a KernelError, and so is LINEAR for integers.
        dtype: the type of the volume's values, known when the kernel compiles: `volume.dtype`.

    Returns:
        A value of that type. A volume with values of another type is a KernelError, as is an id without a volume.

    Error: 6 ulp of the largest of the eight values, for LINEAR; exact for CLOSEST.
    Derivative: exact with respect to `uvw` where it exists, else of the side with the greater index, and to the values
    in leaves of a volume that requires gradients.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
    >>> wp.volume_sample(volume.id, wp.vec3(0.5, 0.0, 0.25), wp.Volume.LINEAR, dtype=float)
    2.25
    """

def volume_sample_f(id: uint64 | int, uvw: vec3f, sampling_mode: int) -> float:
    """Value of a volume of float32 at a place between voxels. See `wp.volume_sample`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3.
        sampling_mode: `wp.Volume.LINEAR` or `wp.Volume.CLOSEST`.

    Returns:
        The value, a float32.

    Error: as `wp.volume_sample`.
    Derivative: as `wp.volume_sample`.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
    >>> wp.volume_sample_f(volume.id, wp.vec3(0.5, 0.0, 0.25), wp.Volume.LINEAR)
    2.25
    """

def volume_sample_grad(id: uint64 | int, uvw: vec3f, sampling_mode: int, grad: Any, dtype: Any) -> Any:
    """Value of a volume at a place between voxels, and its gradient with respect to the place.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3.
        sampling_mode: `wp.Volume.LINEAR`, or `wp.Volume.CLOSEST`, whose gradient is zero.
        grad: a local variable, which becomes the gradient, by voxel: a vector of 3 for a volume of scalars, a matrix
            with a row for each component for one of vectors.
        dtype: the type of the volume's values, known when the kernel compiles: `volume.dtype`.

    Returns:
        The value, as `wp.volume_sample` gives it.

    Error: 12 ulp of the largest of the eight values.
    Derivative: of both results, with respect to `uvw` and to values, as of `wp.volume_sample`.

    >>> @wp.kernel
    ... def slope(volume: wp.uint64, grads: wp.array[wp.vec3]):
    ...     grad = wp.vec3()
    ...     value = wp.volume_sample_grad(volume, wp.vec3(0.5, 0.5, 0.5), wp.Volume.LINEAR, grad, dtype=float)
    ...     grads[0] = grad
    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
    >>> grads = wp.zeros(1, dtype=wp.vec3, device="cpu")
    >>> wp.launch(slope, dim=1, inputs=[volume.id, grads], device="cpu")
    >>> grads.list()
    [vec3f([4.0, 2.0, 1.0])]
    """

def volume_sample_grad_f(id: uint64 | int, uvw: vec3f, sampling_mode: int, grad: Any) -> float:
    """Value of a volume of float32 at a place, and its gradient with respect to the place. See `wp.volume_sample_grad`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3.
        sampling_mode: `wp.Volume.LINEAR`, or `wp.Volume.CLOSEST`, whose gradient is zero.
        grad: a local vec3, which becomes the gradient, by voxel.

    Returns:
        The value, a float32.

    Error: as `wp.volume_sample_grad`.
    Derivative: as `wp.volume_sample_grad`.

    >>> @wp.kernel
    ... def slope(volume: wp.uint64, grads: wp.array[wp.vec3]):
    ...     grad = wp.vec3()
    ...     value = wp.volume_sample_grad_f(volume, wp.vec3(0.5, 0.5, 0.5), wp.Volume.LINEAR, grad)
    ...     grads[0] = grad
    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
    >>> grads = wp.zeros(1, dtype=wp.vec3, device="cpu")
    >>> wp.launch(slope, dim=1, inputs=[volume.id, grads], device="cpu")
    >>> grads.list()
    [vec3f([4.0, 2.0, 1.0])]
    """

@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[bfloat16], background: bfloat16 | float, grad: Any) -> bfloat16:
    """Value at a place of a volume whose values are in an array, and its gradient with respect to the place.

    Args:
        id: of the volume: `volume.id`, a uint64. Any volume will do, of indices or of values.
        uvw: the place in index space, a vec3.
        sampling_mode: `wp.Volume.LINEAR`, or `wp.Volume.CLOSEST`, whose gradient is zero.
        voxel_data: the values, one for each voxel in the order of `volume.get_voxels()`; floats or vectors of floats.
        background: the value of voxels that are not counted.
        grad: a local variable, which becomes the gradient, by voxel: a vector of 3 for values that are scalars, a
            matrix with a row for each component for vectors.

    Returns:
        The value, as `wp.volume_sample_index` gives it.

    Error: as `wp.volume_sample_grad`.
    Derivative: of both results, as `wp.volume_sample_index`. That of a gradient is of the cube where the place is.

    >>> @wp.kernel
    ... def slope(volume: wp.uint64, values: wp.array[float], grads: wp.array[wp.vec3]):
    ...     grad = wp.vec3()
    ...     value = wp.volume_sample_grad_index(volume, wp.vec3(0.5, 0.0, 0.0), wp.Volume.LINEAR, values, 0.0, grad)
    ...     grads[0] = grad
    >>> voxels = wp.array([[0, 0, 0], [1, 0, 0]], dtype=wp.vec3i, device="cpu")
    >>> volume = wp.Volume.allocate_by_voxels(voxels, voxel_size=1.0, device="cpu")
    >>> values, grads = wp.array([1.0, 3.0], dtype=float, device="cpu"), wp.zeros(1, dtype=wp.vec3, device="cpu")
    >>> wp.launch(slope, dim=1, inputs=[volume.id, values, grads], device="cpu")
    >>> grads.list()
    [vec3f([2.0, -2.0, -2.0])]
    """
@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[float16], background: float16 | float, grad: Any) -> float16: ...
@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[float64], background: float64 | float, grad: Any) -> float64: ...
@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[float], background: float, grad: Any) -> float: ...
@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[spatial_vectord], background: spatial_vectord, grad: Any) -> spatial_vectord: ...
@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[spatial_vectorf], background: spatial_vectorf, grad: Any) -> spatial_vectorf: ...
@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[spatial_vectorh], background: spatial_vectorh, grad: Any) -> spatial_vectorh: ...
@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[vec2d], background: vec2d, grad: Any) -> vec2d: ...
@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[vec2f], background: vec2f, grad: Any) -> vec2f: ...
@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[vec2h], background: vec2h, grad: Any) -> vec2h: ...
@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[vec3d], background: vec3d, grad: Any) -> vec3d: ...
@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[vec3f], background: vec3f, grad: Any) -> vec3f: ...
@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[vec3h], background: vec3h, grad: Any) -> vec3h: ...
@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[vec4d], background: vec4d, grad: Any) -> vec4d: ...
@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[vec4f], background: vec4f, grad: Any) -> vec4f: ...
@typing.overload
def volume_sample_grad_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: _Array[vec4h], background: vec4h, grad: Any) -> vec4h: ...

def volume_sample_i(id: uint64 | int, uvw: vec3f) -> int:
    """Value of the voxel of a volume of int32 that is nearest to a place. See `wp.volume_sample`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3.

    Returns:
        The value, an int32.

    Error: exact.
    Derivative: none.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8).reshape(2, 2, 2), bg_value=0, device="cpu")
    >>> wp.volume_sample_i(volume.id, wp.vec3(0.9, 0.0, 0.2))
    4
    """

def volume_sample_index(id: uint64 | int, uvw: vec3f, sampling_mode: int, voxel_data: Any, background: Any) -> Any:
    """Value at a place between voxels of a volume whose values are in an array.

    Args:
        id: of the volume: `volume.id`, a uint64. Any volume will do, of indices or of values.
        uvw: the place in index space, a vec3.
        sampling_mode: `wp.Volume.LINEAR` or `wp.Volume.CLOSEST`.
        voxel_data: the values, one for each voxel in the order of `volume.get_voxels()`; of a float type, or of vectors
            of floats.
        background: the value of voxels that are not counted.

    Returns:
        A value of the type of the elements. An id without a volume is a KernelError, and so are another mode and an
        array with fewer elements than the volume has voxels.

    Error: as `wp.volume_sample`.
    Derivative: exact with respect to `voxel_data` and `background`, and to `uvw` where it exists, else of the side with
    the greater index.

    >>> voxels = wp.array([[0, 0, 0], [1, 0, 0]], dtype=wp.vec3i, device="cpu")
    >>> volume = wp.Volume.allocate_by_voxels(voxels, voxel_size=1.0, device="cpu")
    >>> values = wp.array([1.0, 3.0], dtype=float, device="cpu")
    >>> wp.volume_sample_index(volume.id, wp.vec3(0.5, 0.0, 0.0), wp.Volume.LINEAR, values, -1.0)
    2.0
    """

def volume_sample_local(id: uint64 | int, uvw: vec3f, sampling_mode: int) -> float:
    """Value of a volume of float32 at a place in index space: `wp.volume_sample_f` by another name.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3.
        sampling_mode: `wp.Volume.LINEAR` or `wp.Volume.CLOSEST`.

    Returns:
        The value, a float32.

    Error: as `wp.volume_sample`.
    Derivative: as `wp.volume_sample`.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), device="cpu")
    >>> wp.volume_sample_local(volume.id, wp.vec3(0.5, 0.0, 0.0), wp.Volume.LINEAR)
    2.0
    """

def volume_sample_v(id: uint64 | int, uvw: vec3f, sampling_mode: int) -> vec3f:
    """Value of a volume of vec3 at a place between voxels. See `wp.volume_sample`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3.
        sampling_mode: `wp.Volume.LINEAR` or `wp.Volume.CLOSEST`.

    Returns:
        The value, a vec3.

    Error: as `wp.volume_sample`.
    Derivative: as `wp.volume_sample`.

    >>> volume = wp.Volume.load_from_numpy(np.ones((2, 2, 2, 3)), bg_value=(0.0, 0.0, 0.0), device="cpu")
    >>> wp.volume_sample_v(volume.id, wp.vec3(1.5, 0.0, 0.0), wp.Volume.LINEAR)
    vec3f([0.5, 0.5, 0.5])
    """

def volume_sample_world(id: uint64 | int, xyz: vec3f, sampling_mode: int) -> float:
    """Value of a volume of float32 at a place in the world. See `wp.volume_sample`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        xyz: the place in the world, a vec3.
        sampling_mode: `wp.Volume.LINEAR` or `wp.Volume.CLOSEST`.

    Returns:
        The value, a float32.

    Error: as `wp.volume_sample`, and that of the place in index space.
    Derivative: as `wp.volume_sample`.

    >>> volume = wp.Volume.load_from_numpy(np.arange(8.0).reshape(2, 2, 2), voxel_size=0.5, device="cpu")
    >>> wp.volume_sample_world(volume.id, wp.vec3(0.25, 0.0, 0.0), wp.Volume.LINEAR)
    2.0
    """

def volume_store(id: uint64 | int, i: int, j: int, k: int, value: Any) -> None:
    """Store the value of a voxel of a volume.

    It stores nothing where the volume has no leaf, which is a block of 8x8x8 voxels in memory: `wp.Volume.allocate` and
    its relatives make leaves. Threads that store different values into one voxel leave one of them.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.
        value: of the type of the volume's values. Another one is a KernelError, as is an id without a volume.

    Error: exact.
    Derivative: exact with respect to `value`, if the volume requires gradients. Where threads store into one voxel,
    each of them gets its gradient.

    >>> volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, bg_value=0.0, device="cpu")
    >>> wp.volume_store(volume.id, 1, 2, 3, 0.5)
    >>> wp.volume_lookup_f(volume.id, 1, 2, 3)
    0.5
    """

def volume_store_f(id: uint64 | int, i: int, j: int, k: int, value: float) -> None:
    """Store the value of a voxel of a volume of float32. See `wp.volume_store`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.
        value: a float32.

    Error: exact.
    Derivative: as `wp.volume_store`.

    >>> volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, bg_value=0.0, device="cpu")
    >>> wp.volume_store_f(volume.id, 1, 2, 3, 0.5)
    """

def volume_store_i(id: uint64 | int, i: int, j: int, k: int, value: int) -> None:
    """Store the value of a voxel of a volume of int32. See `wp.volume_store`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.
        value: an int32.

    Error: exact.
    Derivative: none.

    >>> volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, bg_value=0, device="cpu")
    >>> wp.volume_store_i(volume.id, 1, 2, 3, 5)
    """

def volume_store_v(id: uint64 | int, i: int, j: int, k: int, value: vec3f) -> None:
    """Store the value of a voxel of a volume of vec3. See `wp.volume_store`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        i: the voxel's index in x, an int32.
        j: its index in y.
        k: its index in z.
        value: a vec3.

    Error: exact.
    Derivative: as `wp.volume_store`.

    >>> volume = wp.Volume.allocate([0, 0, 0], [7, 7, 7], voxel_size=1.0, bg_value=wp.vec3(), device="cpu")
    >>> wp.volume_store_v(volume.id, 1, 2, 3, wp.vec3(1.0, 2.0, 3.0))
    """

def volume_transform(id: uint64 | int, uvw: vec3f) -> vec3f:
    """Place in the world of a place in index space: `wp.volume_index_to_world` by another name.

    Args:
        id: of the volume: `volume.id`, a uint64.
        uvw: the place in index space, a vec3.

    Returns:
        The place in the world, a vec3.

    Error: as `wp.volume_index_to_world`.
    Derivative: exact.

    >>> volume = wp.Volume.load_from_numpy(np.zeros((2, 2, 2)), voxel_size=0.5, device="cpu")
    >>> wp.volume_transform(volume.id, wp.vec3(2.0, 0.0, 0.0))
    vec3f([1.0, 0.0, 0.0])
    """

def volume_transform_inv(id: uint64 | int, xyz: vec3f) -> vec3f:
    """Place in index space of a place in the world: `wp.volume_world_to_index` by another name.

    Args:
        id: of the volume: `volume.id`, a uint64.
        xyz: the place in the world, a vec3.

    Returns:
        The place in index space, a vec3.

    Error: as `wp.volume_world_to_index`.
    Derivative: exact.

    >>> volume = wp.Volume.load_from_numpy(np.zeros((2, 2, 2)), voxel_size=0.5, device="cpu")
    >>> wp.volume_transform_inv(volume.id, wp.vec3(1.0, 0.0, 0.0))
    vec3f([2.0, 0.0, 0.0])
    """

def volume_voxel_count(id: uint64 | int) -> int:
    """Number of voxels of a volume that `wp.volume_lookup_index` counts.

    Args:
        id: of the volume: `volume.id`, a uint64.

    Returns:
        The number, an int32: the length of an array with a value for each voxel. An id without a volume is a
        KernelError.

    Error: exact.
    Derivative: none.

    >>> voxels = wp.array([[0, 0, 0], [5, 0, 0]], dtype=wp.vec3i, device="cpu")
    >>> volume = wp.Volume.allocate_by_voxels(voxels, voxel_size=0.1, device="cpu")
    >>> wp.volume_voxel_count(volume.id)
    2
    """

def volume_world_to_index(id: uint64 | int, xyz: vec3f) -> vec3f:
    """Place in the index space of a volume of a place in the world; the inverse of `wp.volume_index_to_world`.

    Args:
        id: of the volume: `volume.id`, a uint64.
        xyz: the place, a vec3.

    Returns:
        The place, a vec3. An id without a volume is a KernelError.

    Error: 2 ulp of the largest product.
    Derivative: exact.

    >>> volume = wp.Volume.load_from_numpy(np.zeros((2, 2, 2)), min_world=(1.0, 2.0, 3.0), voxel_size=0.5, device="cpu")
    >>> wp.volume_world_to_index(volume.id, wp.vec3(2.0, 2.0, 3.0))
    vec3f([2.0, 0.0, 0.0])
    """

def volume_world_to_index_dir(id: uint64 | int, xyz: vec3f) -> vec3f:
    """Direction in the index space of a volume of a direction in the world.

    Args:
        id: of the volume: `volume.id`, a uint64.
        xyz: the direction, a vec3 of any length.

    Returns:
        The direction, a vec3. Its length is in voxels. An id without a volume is a KernelError.

    Error: 2 ulp of the largest product.
    Derivative: exact.

    >>> volume = wp.Volume.load_from_numpy(np.zeros((2, 2, 2)), min_world=(1.0, 2.0, 3.0), voxel_size=0.5, device="cpu")
    >>> wp.volume_world_to_index_dir(volume.id, wp.vec3(1.0, 0.0, 0.0))
    vec3f([2.0, 0.0, 0.0])
    """
