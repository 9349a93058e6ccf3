"""Numbers of blocks, and indices in a block, that a kernel computes from the index of a thread.

In a launch whose threads have one index, `wp.tid() // 256` is the number of the block if a block has 256 threads, and
`wp.tid() % 256` the index in it. As operations of their own, the first is the same in all threads of a block by
construction. So tile operations and barriers may stand behind branches on it.
"""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.nodes import Value

_QUOTIENTS = frozenset(("div", "floordiv"))  # equal, as the index of a thread is never negative


def block_number(b: Builder, code: str, args: list[Value], size: int) -> Value | None:
    """What `code` makes of `args` in a kernel whose blocks have `size` threads, if it follows from the block's number
    or from the index in the block.
    """
    index, by = args
    if not (size > 1 and by.is_const and _counts_threads(index)):
        return None
    if code in _QUOTIENTS or (code == "shr" and 0 <= by.const < 31):
        by_blocks, rest = divmod(1 << by.const if code == "shr" else by.const, size)
        return _quotient(b, by_blocks) if by_blocks > 0 and not rest else None
    is_rest = by.const == size if code == "rem" else code == "and" and by.const == size - 1 and not size & (size - 1)
    return b.op("thread_index") if is_rest else None


def _counts_threads(index: Value) -> bool:
    return index.op is not None and index.op.code == "tid" and index.op.attr == (0, 1)


def _quotient(b: Builder, blocks: int) -> Value:
    number = b.op("block_index")
    return number if blocks == 1 else b.op("floordiv", number, b.i32(blocks))
