"""Instructions that threads of a warp or block do together: barriers, shuffles, votes, reductions.

`compile` makes a function of such an instruction. It is given the threads that wait there, gives registers to those
whose others have all come, and says which these are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ptx.parse import Instruction, Pair, PtxError

MEETINGS = ("bar", "barrier", "shfl", "vote", "redux")
WARP = 32


def masks(m: Any, threads: np.ndarray) -> np.ndarray:
    """For each warp the bits of these threads."""
    found = np.zeros(int(m.warp[-1]) + 1, np.uint32)
    np.bitwise_or.at(found, m.warp[threads], np.uint32(1) << m.lane[threads])
    return found


def compile(compiler: Any, i: Instruction) -> Any:
    parts = i.opcode.split(".")
    if parts[0] in ("bar", "barrier"):
        return _barrier(compiler, i)
    if parts[1] != "sync":
        raise PtxError("unknown instruction")
    made = {"shfl": _shuffle, "vote": _vote, "redux": _reduction}[parts[0]]
    return made(compiler, i, parts[2:])


def _barrier(compiler: Any, i: Instruction) -> Any:
    if i.opcode == "bar.warp.sync":
        member = compiler.source(i.operands[0], "u32")
        return lambda m, there: _complete(m, there, member(m, there))[0]
    if i.opcode not in ("bar.sync", "barrier.sync.aligned") or len(i.operands) != 1:
        raise PtxError("unknown instruction")
    compiler.source(i.operands[0], "u32")

    def meet(m: Any, there: np.ndarray) -> np.ndarray:
        """A barrier of a block is passed when all its threads that have not left wait at this very one."""
        shared = m.program.spaces["shared"]
        row = m.rows["shared"]
        come = np.bincount(row[there], minlength=len(shared.content))
        alive = np.bincount(row[m.at < m.program.end], minlength=len(shared.content))
        passed = (come == alive) & (come > 0)
        shared.barrier(np.flatnonzero(passed))
        return there[passed[row[there]]]

    return meet


def _complete(m: Any, there: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Threads all of whose mask have come with the same mask, the number of the group of each, and their masks."""
    member = np.broadcast_to(member, len(there))
    if (member >> m.lane[there] & np.uint32(1) == 0).any():
        raise PtxError("a thread is not in the mask that it names")
    alive = masks(m, np.flatnonzero(m.at < m.program.end))
    key = m.warp[there].astype(np.uint64) << np.uint64(32) | member
    _, group = np.unique(key, return_inverse=True)
    come = np.zeros(int(group.max()) + 1, np.uint32)
    np.bitwise_or.at(come, group, np.uint32(1) << m.lane[there])
    ready = come[group] == member & alive[m.warp[there]]
    return there[ready], group[ready], member[ready]


def _shuffle(compiler: Any, i: Instruction, parts: list[str]) -> Any:
    mode, t = parts
    outputs = i.operands[0]
    to, flag = (outputs.first, outputs.second) if isinstance(outputs, Pair) else (outputs, None)
    put = compiler.target(to, t)
    put_flag = compiler.target(flag, "pred") if flag else None
    value, b, c, member = (compiler.source(o, "u32") for o in i.operands[1:])

    def meet(m: Any, there: np.ndarray) -> np.ndarray:
        ready, group, _ = _complete(m, there, member(m, there))
        if not len(ready):
            return ready
        lane = m.lane[ready].astype(np.int64)
        by, bound = (np.broadcast_to(s(m, ready), len(ready)).astype(np.int64) for s in (b, c))
        by, clamp, segment = by & 31, bound & 31, bound >> 8 & 31
        most = lane & segment | clamp & ~segment
        least = lane & segment
        j = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": least | by & ~segment}[mode]
        valid = j >= most if mode == "up" else j <= most
        j = np.where(valid, j, lane)
        given = np.zeros((int(group.max()) + 1, WARP), np.uint32)
        here = np.zeros(given.shape, bool)
        given[group, lane] = value(m, ready)
        here[group, lane] = True
        if not here[group, j].all():
            raise PtxError("a shuffle from a lane that takes no part")
        put(m, ready, given[group, j])
        if put_flag:
            put_flag(m, ready, valid)
        return ready

    return meet


def _vote(compiler: Any, i: Instruction, parts: list[str]) -> Any:
    if parts != ["ballot", "b32"]:
        raise PtxError("unknown instruction")
    put = compiler.target(i.operands[0], "b32")
    voted, member = compiler.source(i.operands[1], "pred"), compiler.source(i.operands[2], "u32")

    def meet(m: Any, there: np.ndarray) -> np.ndarray:
        ready, group, _ = _complete(m, there, member(m, there))
        if len(ready):
            found = np.zeros(int(group.max()) + 1, np.uint32)
            bits = np.where(voted(m, ready), np.uint32(1) << m.lane[ready], np.uint32(0))
            np.bitwise_or.at(found, group, bits)
            put(m, ready, found[group])
        return ready

    return meet


_REDUCTIONS = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _reduction(compiler: Any, i: Instruction, parts: list[str]) -> Any:
    name, t = parts
    if t not in {"and": "b32", "or": "b32", "xor": "b32"}.get(name, "u32 s32"):
        raise PtxError("a wrong type")
    put, value = compiler.target(i.operands[0], t), compiler.source(i.operands[1], t)
    member, reduce = compiler.source(i.operands[2], "u32"), _REDUCTIONS[name]

    def meet(m: Any, there: np.ndarray) -> np.ndarray:
        ready, group, _ = _complete(m, there, member(m, there))
        if len(ready):
            values = np.broadcast_to(value(m, ready), len(ready))
            found = [
                reduce.reduce(values[group == g], dtype=values.dtype)
                for g in range(int(group.max()) + 1)
                if (group == g).any()
            ]
            numbers = np.unique(group, return_inverse=True)[1]
            put(m, ready, np.array(found, values.dtype)[numbers])
        return ready

    return meet
