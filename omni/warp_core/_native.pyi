"""The C++ runtime: memory, loading of object code, the thread pool, launches. Sources in native/."""

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar

from ._native_tape import (
    CHANGED as CHANGED,
)
from ._native_tape import (
    OVERWRITTEN as OVERWRITTEN,
)
from ._native_tape import (
    FillStep as FillStep,
)
from ._native_tape import (
    GradientSpan as GradientSpan,
)
from ._native_tape import (
    LaunchStep as LaunchStep,
)
from ._native_tape import (
    MutationTracker as MutationTracker,
)
from ._native_tape import (
    SavedPoolBase as SavedPoolBase,
)
from ._native_tape import (
    SavedSpan as SavedSpan,
)
from ._native_tape import (
    Span as Span,
)
from ._native_tape import (
    StepTemplate as StepTemplate,
)
from ._native_tape import (
    arrays_of as arrays_of,
)
from ._native_tape import (
    begin_gradients as begin_gradients,
)
from ._native_tape import (
    check_steps as check_steps,
)
from ._native_tape import (
    clear_gradients as clear_gradients,
)
from ._native_tape import (
    count_gradients as count_gradients,
)
from ._native_tape import (
    on_unseen_write as on_unseen_write,
)
from ._native_tape import (
    run_backwards as run_backwards,
)
from ._native_tape import (
    set_fill_class as set_fill_class,
)
from ._native_tape import (
    set_launch_class as set_launch_class,
)
from ._native_tape import (
    set_span_class as set_span_class,
)
from ._native_tape import (
    steps_made as steps_made,
)
from ._native_tape import (
    tracker_of_writes as tracker_of_writes,
)
from ._native_volumes import (
    GridLayout as GridLayout,
)
from ._native_volumes import (
    NodeTree as NodeTree,
)
from ._native_volumes import (
    VdbFormat as VdbFormat,
)
from ._native_volumes import (
    blosc_decode as blosc_decode,
)
from ._native_volumes import (
    blosc_decoded_size as blosc_decoded_size,
)
from ._native_volumes import (
    blosc_encode as blosc_encode,
)
from ._native_volumes import (
    cells_around as cells_around,
)
from ._native_volumes import (
    count_bits as count_bits,
)
from ._native_volumes import (
    find_blocks as find_blocks,
)
from ._native_volumes import (
    leaves_of_box as leaves_of_box,
)
from ._native_volumes import (
    list_voxels as list_voxels,
)
from ._native_volumes import (
    masked_leaves as masked_leaves,
)
from ._native_volumes import (
    place_grid as place_grid,
)
from ._native_volumes import (
    write_cells as write_cells,
)
from .ir.launch_facts import Accumulation
from .lang.types import Type

def exp2(x: float) -> float:
    """2 to the power x by the C library; Python has it from 3.11 on."""

def cbrt(x: float) -> float:
    """Cube root by the C library; Python has it from 3.11 on."""

class Number:
    """The native part of typed scalars: `value` is a Python number that is in range."""

    value: bool | int | float
    @classmethod
    def _make(cls, value: bool | int | float) -> Any:
        """An instance for a value that is in range already."""

typed_components: ContextVar[bool]
"""Whether components come out of values as typed scalars even where Python has the type."""

def set_number_class(key: str, cls: type[Number]) -> None:
    """Let components of the scalar type with this key come out as `cls`."""

class ValueClass(type):
    """The class of the classes of values. One whose body has `__wc_type__`, a packed type, gets instances of it."""

class Value:
    """Vectors, matrices, quaternions and transforms: components in memory as kernels have them.

    The classes in lang/values/value_methods.py provide what native code calls for unusual arguments: `_parse` and
    `_convert` of the class, `_operand`, `_equals` and `_assign` of the instance.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __add__(self, other: Any) -> Any: ...
    def __radd__(self, other: Any) -> Any: ...
    def __sub__(self, other: Any) -> Any: ...
    def __rsub__(self, other: Any) -> Any: ...
    def __mul__(self, other: Any) -> Any: ...
    def __rmul__(self, other: Any) -> Any: ...
    def __truediv__(self, other: Any) -> Any: ...
    def __rtruediv__(self, other: Any) -> Any: ...
    def __mod__(self, other: Any) -> Any: ...
    def __matmul__(self, other: Any) -> Any: ...
    def __neg__(self) -> Any: ...
    def __pos__(self) -> Any: ...
    @classmethod
    def _from(cls, leaves: Sequence[Any]) -> Any:
        """A value of components that are in range."""

    def _leaves(self) -> tuple[Any, ...]:
        """The components as Python numbers, in memory order."""

    def _save(self, index: int, number: Any) -> None:
        """Set the component at a flat index to a number in range."""

    def _wc_pack(self) -> bytes:
        """The memory as kernels see it."""

class Dispatcher:
    """What is called with numbers and values, most of all from Python loops.

    A call whose argument types have code runs it; any other goes to the method `_interpret(*args, **kwargs)`. Once
    positional arguments of the same types have come 200 times, `_compile(args, calls)` is asked for code: it may call
    `add_code`, and returns the number of calls after which to ask again, 0 for never.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def add_code(
    dispatcher: Dispatcher, args: tuple, arguments: Sequence[type], results: Sequence[type], address: int, owner: object
) -> None:
    """Let calls with arguments of the types of `args` run compiled code.

    Args:
        dispatcher: what is called.
        args: an example.
        arguments: class of each parameter, of a scalar or of values; bare numbers among the arguments are converted.
        results: class of each result.
        address: of a kernel that takes the arguments and an array of one element for each result.
        owner: kept alive; never looked at.

    Raises:
        ValueError: arguments and results take more than about 2000 bytes.
    """

def set_class_maker(make: Callable[[str], type[Value]]) -> None:
    """Let native code find the class of a type by the type's key."""

def set_array_maker(make: Callable[..., Any]) -> None:
    """Let native code make the class of arrays of `ctypes` for `cls * length`."""

READONLY: int
"""Bit of `ArrayBase.flags`: kernels that write the array refuse it. The other bits are free for the caller."""

class TriangleBvh:
    """The tree over the faces of a mesh (native/include/warp_core/geometry/wide_bvh.h). Its memory stays in place."""

    places: dict[str, tuple[int, int]]
    """Where its arrays are, by name: the address and the number of elements, or of bytes for what queries read."""

    def __init__(
        self,
        points: ArrayBase,
        indices: ArrayBase,
        groups: ArrayBase | None,
        leaf_size: int,
        fast: bool,
        has_moments: bool,
    ) -> None: ...
    def refit(self, points: ArrayBase, indices: ArrayBase) -> None:
        """Fit all boxes to points that have moved. Raises ValueError for points that are not finite."""

class BoxBvh:
    """The tree over boxes (native/include/warp_core/geometry/box_bvh.h). Its memory stays in place."""

    places: dict[str, tuple[int, int]]
    """Where its arrays are, by name: the address and the number of elements."""

    def __init__(
        self, lowers: ArrayBase, uppers: ArrayBase, groups: ArrayBase | None, leaf_size: int, fast: bool
    ) -> None: ...
    def rebuild(self, lowers: ArrayBase, uppers: ArrayBase, fast: bool) -> None: ...
    def refit(self, lowers: ArrayBase, uppers: ArrayBase) -> None: ...

class LoadError(RuntimeError):
    """Object code that is damaged, for another machine, or uses something the loader does not know."""

def type_id(key: str, itemsize: int) -> int:
    """The small id of an element type, by its `Type.key`. Raises ValueError if the key is known with another size."""

def type_key(id: int) -> str:
    """The inverse of `type_id`. Raises IndexError for an unknown id."""

class ArrayBase:
    """A view of memory: what kernels see of an array. Base of `wp.array`; instances accept weak references.

    Args:
        ptr: address of the first element.
        shape: 1 to 4 extents.
        strides: in bytes, one for each dimension; None for C order without gaps.
        dtype_id: of the elements, from `type_id`.
        device_id: where the memory lies; 0 is the CPU.
        flags: READONLY and the caller's own bits.
        owner: kept alive with the array; never looked at.
        grad_ptr: address of the gradient array's first element, 0 if there is none. Same shape and strides.
    """

    def __init__(
        self,
        ptr: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None,
        dtype_id: int,
        device_id: int = 0,
        flags: int = 0,
        owner: object = None,
        grad_ptr: int = 0,
    ) -> None: ...
    @property
    def ptr(self) -> int: ...
    @property
    def _address(self) -> int:
        """The address of the first element."""

    @property
    def _span(self) -> tuple[int, int]:
        """The addresses that the elements cover, from the first to one past the last; (0, 0) without any."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def dtype_id(self) -> int: ...
    @property
    def device_id(self) -> int: ...
    @property
    def flags(self) -> int: ...
    @property
    def owner(self) -> Any: ...
    @property
    def inner_contiguous(self) -> bool: ...
    @property
    def is_contiguous(self) -> bool: ...
    grad_ptr: int
    def _lose_memory(self, dtype_id: int) -> None:
        """Show no memory any more, as elements of a type that nothing takes."""

class Buffer:
    """Owns `nbytes` of CPU memory, not initialised, aligned to 64 bytes (large ones to huge pages)."""

    def __init__(self, nbytes: int) -> None: ...
    @property
    def ptr(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    shared: bool  # others know the address, and may write there at any time

def on_write(function: Callable[[list[Any]], object] | None) -> None:
    """Call a function with the watched spans that native code is about to write to."""

def watching() -> bool:
    """Whether any span is watched."""

def before_write(low: int, high: int) -> None:
    """Tell of a write that Python is about to do."""

def set_structure_memory(id: int, low: int, high: int) -> None:
    """Let kernels that write by the id of a structure tell of writes to this memory."""

def forget_structure_memory(id: int) -> None:
    """Expect no further kernels with the id."""

def before_writes(arrays: list[Any]) -> None:
    """Tell of writes to arrays that Python is about to do."""

def fill_plain(array: Any, pattern: bytes) -> bool:
    """Set the elements of an array to the bytes of one, if its memory is plain. Nothing is recorded."""

def fill_on_tape(array: Any, pattern: bytes, zero: bool) -> bool:
    """Do the same, and record it for the tape that alone observes. False, with nothing done, if only Python can."""

def before_sharing(low: int, high: int) -> None:
    """Tell that others may write to a range from now on, and nobody will tell of that."""

def before_any_write() -> None:
    """Tell of writes of which nobody knows where they go."""

def gradients_in(low: int, high: int) -> list[Any]:
    """The gradient spans that meet a range."""

def fingerprint(ptr: int, nbytes: int) -> int:
    """A number of 64 bits made of bytes in memory."""

def any_set(ptr: int, nbytes: int) -> bool:
    """Whether any byte is not 0."""

def same_bytes(a: int, b: int, nbytes: int) -> bool:
    """Whether memory at two places holds the same."""

def alloc(nbytes: int) -> int:
    """Allocate like `Buffer`, to be given back with `free`. Raises MemoryError."""

def free(ptr: int) -> None: ...
def copy(to: int, from_: int, nbytes: int) -> None:
    """Copy bytes that do not overlap, in parallel and without the GIL where that pays."""

def copy_of(from_: int, nbytes: int) -> Buffer:
    """A buffer with a copy of bytes."""

def fill(ptr: int, nbytes: int, pattern: bytes) -> None:
    """Fill with whole repetitions of `pattern`. Raises ValueError if `nbytes` is no multiple of its length."""

def copy_strided(
    to: int,
    to_strides: tuple[int, ...],
    from_: int,
    from_strides: tuple[int, ...],
    shape: tuple[int, ...],
    itemsize: int,
) -> None:
    """Copy items between two layouts of one shape (4 dimensions at most, strides in bytes) that do not overlap."""

def fill_strided(ptr: int, strides: tuple[int, ...], shape: tuple[int, ...], pattern: bytes) -> None:
    """Set every item to `pattern`, whose length is the item size."""

def radix_sort_pairs(keys: ArrayBase, values: ArrayBase, count: int, begin_bit: int, end_bit: int) -> None:
    """Sort `count` pairs by bits [begin_bit, end_bit) of the keys; as many elements above them are scratch.

    This and the functions below raise ValueError where the arrays could not be used safely: too small, not contiguous,
    of types that do not fit. They run in parallel, and without the GIL unless that costs more than it gives.
    """

def sort_into_buckets(keys: ArrayBase, order: ArrayBase, count: int, starts: ArrayBase) -> None:
    """Write the numbers of items in the order of their keys, and where each key begins there; arrays as above."""

def segmented_sort_pairs(
    keys: ArrayBase, values: ArrayBase, count: int, begins: ArrayBase, ends: ArrayBase | None
) -> None:
    """Sort each segment. Raises ValueError, with nothing sorted, if one is not within `count` or two overlap."""

def check_segments(count: int, begins: ArrayBase, ends: ArrayBase) -> None:
    """Raise ValueError if a segment is not within `count` or two overlap."""

def scan(input: ArrayBase, output: ArrayBase, inclusive: bool) -> None:
    """Write the running sums of `input`; `output` may be the same memory."""

def runlength_encode(values: ArrayBase, count: int, run_values: ArrayBase, run_lengths: ArrayBase) -> int:
    """Write the runs of equal integers among the first `count`; returns how many there are."""

def reduce(out: ArrayBase, a: ArrayBase, b: ArrayBase | None, outer: int, length: int, inner: int) -> None:
    """Sum `a`, seen as outer x length x inner elements, over `length`; with `b` the products, over components too."""

def add(to: ArrayBase, more: ArrayBase) -> bool:
    """Add the numbers of an array to those of another, if these are 4- or 8-byte floats without gaps that lie apart."""

def graph_coloring_assign(edges: ArrayBase, colors: ArrayBase, order: int) -> int: ...
def graph_coloring_balance(edges: ArrayBase, colors: ArrayBase, count: int, target: float, limit: int) -> Any: ...

class RecordLayout:
    """Where a struct type has its fields.

    `fields` has for each its byte offset, its type, and the layout if it is a struct. An indexed array, or the like,
    has none, and gives its arrays by `_leaves()`.
    """

    def __init__(self, size: int, fields: Sequence[tuple[int, Any, RecordLayout | None]]) -> None: ...
    def pack(self, values: list[Any]) -> bytes:
        """The memory of an instance that has these values, as kernels see it."""

class Reservation:
    """Memory of the CPU that a `with` block adds to. Launches of other threads that add to it wait, and it for them."""

    def __init__(self, low: int, high: int) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *exception: object) -> None: ...

def cast(input: ArrayBase, output: ArrayBase, count: int) -> None:
    """Convert the first `count` numbers, components counted one by one."""

def get_num_threads() -> int:
    """Threads that share a launch, the calling one included."""

def set_num_threads(count: int) -> None:
    """Set it, from 1 to 1024. Raises ValueError."""

class Code:
    """Machine code loaded from a relocatable ELF object, until dropped. Raises LoadError, whatever the bytes."""

    def __init__(self, object: bytes) -> None: ...
    def address(self, symbol: str) -> int:
        """Address of a global symbol that the object defines. Raises LoadError if there is none."""

    @property
    def symbols(self) -> dict[str, int]: ...

class ParamSpec:
    """A kernel parameter.

    `writable`: the kernel may write to memory that it shows, so arrays that are read-only are refused. `arrays`
    (structs): (byte offset, dimensions, element size, whether the kernel may write to it) of each array inside.
    `nested`: elements of its arrays hold arrays.
    """

    def __init__(
        self,
        name: str,
        type: Type,
        writable: bool = True,
        arrays: Sequence[tuple[int, int, int, bool]] = (),
        nested: bool = False,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> Type: ...
    @property
    def writable(self) -> bool: ...

class Plan:
    """How to launch one kernel with one signature. Keep it in `kernel._plan` for the fast path of `launch`.

    Args:
        kernel_name: for error messages.
        params: in order; they make the argument block, laid out like a C struct.
        arity: number of values the kernel takes from `wp.tid()`, 0 if it does not call it. A kernel of arity 1 gets
            the flattened index of any launch, one of arity 0 does not care; else arity and launch dimensions agree.
        device_id: 0 is the CPU.
        on_missing: called with a variant that is needed for the first time; must `set_entry` it or raise. Variants are
            sums: STRIDED for arrays of any strides (else inner dimensions are contiguous), FLAT for code whose lanes
            run over the flattened grid (else over its last dimension), ATOMIC for code that adds atomically (else
            through a log), PROMISED on a GPU for code that relies on what `promised` says.
        on_failure: called with (thread, site, values: list of 64-bit ints, launch dimensions as the kernel indexes
            them) after a launch reported a failure; returns the exception to raise.
        convert: called with (index, value) for array and struct arguments of unknown kind; returns an ArrayBase or a
            struct instance to use instead, or NotImplemented.
        flat_below: launches of two or more indices whose last dimension is shorter use a flat variant; 0: none does.
        block_dim: the `block_dim` of the launches that it is for; 0: all.
    """

    STRIDED: ClassVar[int]
    FLAT: ClassVar[int]
    ATOMIC: ClassVar[int]
    PROMISED: ClassVar[int]

    def __init__(
        self,
        kernel_name: str,
        params: Sequence[ParamSpec],
        arity: int,
        device_id: int = 0,
        on_missing: Callable[[int], object] | None = None,
        on_failure: Callable[[int, int, list[int], tuple[int, ...]], object] | None = None,
        convert: Callable[[int, Any], Any] | None = None,
        flat_below: int = 0,
        block_dim: int = 0,
    ) -> None: ...
    def set_accumulation(self, facts: Accumulation) -> None:
        """Say how the kernel adds to arrays."""
    def set_counts(self, threads: bool, blocks: bool, arrays: Sequence[tuple[int, int, str, int]]) -> None:
        """Say what the kernel counts with 32-bit integers (passes/counts.py): launches that are larger are refused."""

    def set_stores(self, ids: Sequence[int], elsewhere: bool) -> None:
        """Set the parameters that are ids of structures to which the kernel writes, and if it gets others elsewhere."""

    def set_needed(self, arrays: Sequence[tuple[int, int, str]]) -> None:
        """Set the arrays that every thread uses: parameters, offsets in these, names. None may be without memory."""

    def set_entry(self, variant: int, address: int, owner: object) -> None:
        """Set the code of a variant: a `wc_kernel` of abi.h, and what keeps it loaded."""

    on_fault: Callable[..., object] | None  # returns the exception for memory that a launch must not use
    def launch(self, dim: int | Sequence[int], args: Sequence[Any]) -> None:
        """Check and pack the arguments, run, print what the kernel printed, report failures.

        Raises:
            TypeError, ValueError: an argument or the dimensions do not fit; the message names kernel and argument.
            KeyboardInterrupt: the user stopped a long launch; threads not yet begun did not run.
        """

    def launch_moved(
        self, dim: int | Sequence[int], args: list[Any], moves: list[tuple[int, int, Any]], reads: list[bool]
    ) -> None:
        """The same for arguments whose memory is elsewhere now: from and to which address, and the buffer with it; for
        those of the parameters that `reads` says.
        """

    def set_wider(self, ndim: int, plan: Plan) -> None:
        """Set the plan of launches with `ndim` dimensions, more than the kernel has indices."""

    recipe: Any  # how a plain launch is recorded on a tape
    @property
    def kernel_name(self) -> str: ...
    @property
    def arity(self) -> int: ...
    @property
    def device_id(self) -> int: ...
    @property
    def block_dim(self) -> int: ...
    label: str  # what timings call its launches
    whole_blocks: bool  # launches consist of whole blocks
    whole_rows: bool  # a row of them is a block
    serial: bool  # threads run one after the other
    promised: bool  # whether there is code for a GPU that relies on what `promised` says
    @property
    def variants(self) -> tuple[int, ...]:
        """Those that there is code for."""

    @property
    def block_size(self) -> int: ...
    @property
    def layout(self) -> tuple[tuple[str, int, int], ...]:
        """(name, offset, size) of each parameter in the argument block."""

    @property
    def written(self) -> tuple[tuple[int, ...], ...]:
        """Of each parameter, the byte offsets in it of the arrays to which the kernel may write."""

    on_missing: Callable[[int], object] | None
    on_failure: Callable[[int, int, list[int], tuple[int, ...]], object] | None
    convert: Callable[[int, Any], Any] | None

class OverloadPlans:
    """The plans of a generic kernel. Keep it in `kernel._plan` for the fast path of `launch`.

    Args:
        open: indices of the parameters whose types are left open, in order.
    """

    def __init__(self, open: Sequence[int]) -> None: ...
    def add(self, args: Sequence[Any], plan: Plan) -> bool:
        """Let launches take `plan` whose open arguments have the classes of these: for arrays, and NumPy's, also
        their element type and number of dimensions. False if there are too few arguments.
        """

class Launch:
    """A launch recorded with its arguments packed, from `launch(..., record_cmd=True)`."""

    def __init__(self, kernel: Any, plan: Plan, dim: int | Sequence[int], args: Sequence[Any]) -> None: ...
    def set_param_at_index(self, index: int, value: Any) -> None:
        """Replace one argument. A value that is refused leaves the launch as it was."""

    def set_param_by_name(self, name: str, value: Any) -> None: ...
    def set_params(self, params: Sequence[Any]) -> None: ...
    def set_param_at_index_from_ctype(self, index: int, value: Any) -> None: ...
    def set_param_by_name_from_ctype(self, name: str, value: Any) -> None: ...
    def set_params_from_ctypes(self, params: Sequence[Any]) -> None: ...
    def set_dim(self, dim: int | Sequence[int]) -> None: ...
    def launch(self, stream: Any = None) -> None: ...
    @property
    def kernel(self) -> Any: ...
    @property
    def dim(self) -> Any: ...
    @property
    def threads(self) -> int: ...
    @property
    def block(self) -> bytes:
        """The packed arguments."""

    @property
    def strided(self) -> bool:
        """True if an array has gaps in its last dimension."""

    @property
    def plan(self) -> Plan: ...

def packed_launch(kernel: Any, plan: Plan, dim: int | Sequence[int], block: bytes, strided: bool, keep: Any) -> Launch:
    """A launch whose arguments are packed already. `keep` is what they point to."""

def promised(args: Sequence[Any]) -> bool:
    """Whether arrays of a launch that may write all of them lie apart, and are aligned as `GpuOptions` has it."""

def announce_writes(launch: Launch) -> None:
    """Tell who watches memory that a recorded launch may write there."""

def run_launch(launch: Launch) -> None: ...  # whatever is captured

COMPILER: str
SANITIZER: str
timeline: Any
cuda: Any
"""The CUDA driver: functions of native/python/devices/py_cuda.cpp and gpu_graph.cpp, which need `cuda.load` first."""

xla: Any
"""Functions that XLA calls to launch kernels: native/python/interop/jax.cpp. interop/jax_calls.py uses them."""

exchange: Any
"""Memory shared with other libraries: functions of native/python/interop/exchange.cpp and dlpack_export.cpp."""

class Graph:
    """What was captured: launches, copies and fills, done again by `wp.capture_launch`."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def add_launch(self, launch: Launch, label: str, keep: Any = None) -> None: ...
    def add_call(self, function: Callable[..., Any], args: tuple, label: str, keep: Any = None) -> None:
        """Add a call. `keep` is what the arguments point to."""

    def add_graph(self, graph: Graph, label: str) -> None: ...
    def add_if(self, condition: Any, on_true: Graph | None, on_false: Graph | None) -> None:
        """Add a choice by the first element of an int32 array."""

    def add_while(self, condition: Any, body: Graph) -> None: ...
    def add_gpu_graph(self, graph: Any, label: str, keep: Any) -> None:
        """Add a graph of the driver, a `cuda.GpuGraph`. `keep` is what its nodes point to."""

    def keep(self, what: Any) -> None:
        """Keep something for as long as the graph."""

    def run(self, stream: int = 0) -> None:
        """Do it all, what is a GPU's on that stream."""

    @property
    def contents(self) -> list[tuple[str, str, tuple[Any, ...]]]:
        """Kind and label of each node, and the objects that it holds."""

    @property
    def nodes(self) -> list[tuple[str, str, tuple[Graph | None, ...]]]:
        """Kind, label and inner graphs of each node."""

class LaunchTemplate:
    """How native code records launches of a kernel like an earlier one; parameters are given by their numbers."""

    def __init__(
        self,
        shared: Any,
        array_class: type,
        arrays: Sequence[int],
        values: Sequence[int],
        results: Sequence[int],
        read: Sequence[int],
        written: Sequence[int],
    ) -> None: ...

def outdate_launch_templates() -> None:
    """Say that options which templates depend on have changed."""

def fixed_dim(dim: Any) -> Any:
    """The dimensions of a launch as integers that stay what they are."""

def observers() -> tuple[Any, ...]:
    """The observers of this thread, innermost last."""

def run_observed(stack: tuple[Any, ...], function: Callable[..., Any], *args: Any) -> Any:
    """Call a function with these observers of this thread."""

class ObserverScope:
    """A `with` block with other observers, or none. `__exit__` before or again restores what was there before."""

    def __init__(self, stack: tuple[Any, ...], tracker: MutationTracker | None) -> None: ...
    def enter(self, stack: tuple[Any, ...], tracker: MutationTracker | None) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *exception: object) -> None: ...

def enable_native_recording(enabled: bool) -> None:
    """Say whether native code may record launches."""

def set_recorder(
    abort: Callable[[Any, Any], None],
    copy: Callable[[Any], Any],
    call_site: Callable[[str, str, int], Any],
    find_call_site: Callable[..., Any],
    package: str,
) -> None:
    """Set the functions that forget a step, copy a value, make a call site and look for one, and the folder of the
    package.
    """

def set_observed(observed: bool) -> None:
    """Say whether some thread has observers."""

def set_capture(hook: Callable[[Launch], bool] | None) -> None:
    """Set the function that takes a recorded launch which is to run into a graph, and returns whether it did."""

def launch(
    kernel: Any,
    dim: int | Sequence[int],
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    adj_inputs: Sequence[Any] = (),
    adj_outputs: Sequence[Any] = (),
    device: Any = None,
    stream: Any = None,
    adjoint: bool = False,
    record_tape: bool = True,
    record_cmd: bool = False,
    max_blocks: int = 0,
    block_dim: int = 256,
    interpret: bool = False,
    serial: bool | None = None,
) -> Launch | None:
    """Launch a kernel. Native if `kernel._plan` is a Plan for the device (None, "cpu", "cuda:0" to "cuda:9", or an
    object with an int `id`) and nothing unusual is asked for; else a call of the function set by `set_slow_launch`.
    """

def set_slow_launch(function: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Set the function that `launch` falls back to, with the arguments as given. Returns the previous one."""

def set_launch_doc(doc: str) -> None:
    """Set what `help(launch)` shows: signature, a line of two dashes, an empty line, docstring."""

def set_recording(enabled: bool) -> None:
    """Whether a tape records, which recorded launches refuse."""

def set_launch_on_stream(function: Callable[[Launch, Any], None]) -> None:
    """Set what makes a recorded launch on a stream that is given."""

def set_fast_launch(enabled: bool) -> None:
    """False sends every launch to the slow path (tapes, interpret mode, printing of launches)."""

def set_default_device(device_id: int) -> None:
    """The device of launches that name none."""

def count_work(change: int) -> None:
    """Add to the number of threads that may be in C code of other libraries when the process ends."""

def end_without_destructors() -> None:
    """Let the process end without destructors of libraries if `count_work` says that threads are still at work then."""

def raise_in_thread(ident: int, exception: type[BaseException]) -> None:
    """Raise an exception in a thread of Python, the next time that it runs Python code."""
