"""The schema of the facts about a kernel that its launches need: arrays that it adds to, needs, and counts.

The passes and the code generators find the facts, and an artifact keeps them. The reader of cached artifacts follows
the declared types. The native `Plan` reads the facts about additions by these names
(native/python/launches/plan_accumulation.cpp).
"""

# No annotations as strings here: each would be compiled when a process loads its first kernel.
from typing import Annotated, NamedTuple

from ..lang.kernel_transforms import Lookup
from ..lang.types import Type

Offset = Annotated[int, "may be negative"]
Utf8 = Annotated[str, "can be encoded in UTF-8, for native code"]


class ArrayAt(NamedTuple):
    """An array among the arguments of a launch.

    `offset` is that of its descriptor in parameter `param`; `gradient` says that its gradient is meant.
    """

    param: int
    offset: int
    ndim: int
    itemsize: int
    gradient: bool


class StencilTarget(NamedTuple):
    """An array that a kernel adds to at affine indices.

    `dimensions` says of each index which of the thread's indices it is, -1 if none; `offsets` are the constants that
    the additions have in their indices.
    """

    array: ArrayAt
    dimensions: tuple[Offset, ...]
    offsets: tuple[tuple[Offset, ...], ...]


class PrivatizedArray(NamedTuple):
    """An array of integers of `width` bytes that a kernel only adds to, and that each core may have a copy of."""

    array: ArrayAt
    width: int


class Stores(NamedTuple):
    """Writes of a kernel to structures such as volumes: `ids` are the parameters that are their ids. With `elsewhere`
    it also gets ids of such structures in another way.
    """

    ids: tuple[int, ...] = ()
    elsewhere: bool = False


class Accumulation(NamedTuple):
    """The additions of a kernel to the arrays of a launch.

    Attributes:
        logged: arrays that the kernel only adds to, through the accumulation log.
        touched: all other arrays.
        atomic: arrays among `touched` in which the kernel changes numbers atomically.
        atomic_anywhere: the kernel changes numbers atomically in arrays of unknown origin.
        in_order: the results must not depend on how a launch is divided.
        order_dependent: the results depend on the order of threads, apart from additions through the log.
        has_reductions: the kernel combines additions to one element for each chunk first.
        stencils: the arrays among `logged` that chunks add to in place.
        exclusive: arrays whose atomics became plain, as each element is that of one thread. Where there are any, also
            arrays in which the kernel still changes numbers of any type atomically: a launch compares them all.
        privatized: the arrays that cores add integers to without atomic instructions, all but one in a copy.
    """

    logged: tuple[ArrayAt, ...] = ()
    touched: tuple[ArrayAt, ...] = ()
    atomic: tuple[ArrayAt, ...] = ()
    atomic_anywhere: bool = False
    in_order: bool = False
    order_dependent: bool = False
    has_reductions: bool = False
    stencils: tuple[StencilTarget, ...] = ()
    exclusive: tuple[ArrayAt, ...] = ()
    privatized: tuple[PrivatizedArray, ...] = ()


class Need(NamedTuple):
    """An array that every thread uses elements of: its parameter, its byte offset there, and its name."""

    param: int
    offset: int
    name: Utf8


class Count(NamedTuple):
    """An array whose elements a kernel counts with 32-bit integers.

    `dimensions` has a bit for each dimension counted, and bit 4 for the number of all elements. The other fields are
    those of `Need`.
    """

    param: int
    offset: int
    name: Utf8
    dimensions: int


class Counts(NamedTuple):
    """The 32-bit counts of a kernel: its `threads`, its `blocks`, and elements of `arrays`."""

    threads: bool = False
    blocks: bool = False
    arrays: tuple[Count, ...] = ()


class Access(NamedTuple):
    """Accesses of a kernel to an array.

    Adding to elements without looking at them is no reading, nor is looking at what the thread itself has stored at its
    own index. `covers`: every thread writes the element at its own index, so that a launch over the array's shape
    leaves nothing of what was there.
    """

    reads: bool = False
    writes: bool = False
    covers: bool = False


class ArrayAccess(NamedTuple):
    """Effects of a kernel on one array: the parameter with number `param`, or the member of it that `path` leads to."""

    param: int
    path: tuple[str, ...]
    access: Access


class Reread(NamedTuple):
    """Numbers that a thread may read in an array after it has written them there, directly or by another parameter.

    Attributes:
        written: the array that it writes, as a number in `Effects.arrays`, like those that follow.
        read: the array that it reads.
        sources: the arrays of whose elements it makes what it writes.
        ends: the arrays in which it stores what it makes of what it reads.
    """

    written: int
    read: int
    sources: tuple[int, ...]
    ends: tuple[int, ...]


class Effects(NamedTuple):
    """Mod/ref effects of a kernel.

    `params` has an entry for each parameter, `arrays` one for each array in them that is read or written. With
    `unordered`, results depend on the order of threads; with `hidden`, arrays are reached through elements of arrays
    or by address. `ids` are the parameters that are ids of structures, None if ids come from elsewhere, too.
    `bitcasts_floats` and `makes_of_bits` say whether it takes the bits of floats, and makes floats of bits.
    """

    params: tuple[Access, ...]
    arrays: tuple[ArrayAccess, ...]
    rereads: tuple[Reread, ...]
    unordered: bool
    hidden: bool
    ids: tuple[int, ...] | None
    bitcasts_floats: bool
    makes_of_bits: bool


class Dependences(NamedTuple):
    """Between which parameters of a kernel derivatives flow.

    `of` has for each parameter those whose elements have a part in the derivative of its elements; None if the kernel
    does something that has no derivative.
    """

    of: tuple[tuple[int, ...], ...] | None


class ArrayLookups(NamedTuple):
    """How a kernel finds arrays of structures: by ids that are parameters, and the attributes found `elsewhere`."""

    lookups: tuple[Lookup, ...]
    elsewhere: tuple[str, ...]


class AdjointFacts(NamedTuple):
    """Facts about an adjoint that a tape needs when it records a launch.

    `reads` and `replays` are those of its artifact. `notes` has the types of the arrays in which the kernel must keep
    values for it (`Augmented`), or nothing.
    """

    reads: tuple[int, ...]
    replays: bool
    notes: tuple[Type, ...] = ()


class TangentFacts(NamedTuple):
    """Facts about a kernel in forward mode.

    `needed` and `written` say of each parameter whether tangent kernels need the tangent of it in any case, and whether
    the kernel writes through it. `nearby`: the values that tangent kernels compute may be those of arguments nearby.
    """

    needed: tuple[bool, ...]
    written: tuple[bool, ...]
    nearby: bool
