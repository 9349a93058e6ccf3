"""The functions of the front end itself for threads that work together in blocks: documentation only, as in
general_functions.py. Their meaning in kernels is in front/calls/block_intrinsics.py.
"""

from __future__ import annotations

from ..generics import Array, Constant, S
from ..values.scalars import bool, int32, uint32

# -- where a thread is ------------------------------------------------------------------------------------------------


def block_dim() -> int32:
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


def thread_index() -> int32:
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


def block_index() -> int32:
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


def lane() -> int32:
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


# -- memory of a block ------------------------------------------------------------------------------------------------


def shared_array(shape: Constant, dtype: Constant) -> Array[S]:
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


def syncthreads() -> None:
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


def block_range(start: int32, stop: int32 = 0, step: int32 = 1) -> int32:
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


# -- warps ------------------------------------------------------------------------------------------------------------


def shuffle(value: S, lane: int32) -> S:
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


def shuffle_up(value: S, delta: int32) -> S:
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


def shuffle_down(value: S, delta: int32) -> S:
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


def shuffle_xor(value: S, mask: int32) -> S:
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


def ballot(predicate: bool) -> uint32:
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
