"""Keys of sorts as unsigned integers, in the same order.

Floats are sorted from -infinity to infinity, -0.0 before 0.0, a NaN whose sign bit is set before all numbers and any
other NaN after them, as by `wp.utils.radix_sort_pairs`. Start with `ordered`.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.registry import builtin
from ...lang.values.scalars import float32, float64, int32, int64, uint32, uint64

SIGN, ALL = 0x80000000, 0xFFFFFFFF
SIGN_LONG, ALL_LONG = 0x8000000000000000, 0xFFFFFFFFFFFFFFFF


@builtin(name="_ordered")
def ordered(key: uint32) -> uint32:
    """Return an unsigned integer that is less than another one where `key` comes before that one's."""
    return key


@builtin(name="_ordered")
def _of_int(key: int32) -> uint32:
    return prim.bitcast(key, uint32) ^ uint32(SIGN)


@builtin(name="_ordered")
def _of_float(key: float32) -> uint32:
    bits = prim.bitcast(key, uint32)
    return bits ^ prim.select(bits < uint32(SIGN), uint32(SIGN), uint32(ALL))


@builtin(name="_ordered")
def _of_long_unsigned(key: uint64) -> uint64:
    return key


@builtin(name="_ordered")
def _of_long(key: int64) -> uint64:
    return prim.bitcast(key, uint64) ^ uint64(SIGN_LONG)


@builtin(name="_ordered")
def _of_double(key: float64) -> uint64:
    bits = prim.bitcast(key, uint64)
    return bits ^ prim.select(bits < uint64(SIGN_LONG), uint64(SIGN_LONG), uint64(ALL_LONG))


@builtin(name="_key_of")
def key_of(order: uint32, like: uint32) -> uint32:
    """Return the key, of the type of `like`, that `ordered` made `order` of."""
    return order


@builtin(name="_key_of")
def _int_of(order: uint32, like: int32) -> int32:
    return prim.bitcast(order ^ uint32(SIGN), int32)


@builtin(name="_key_of")
def _float_of(order: uint32, like: float32) -> float32:
    return prim.bitcast(order ^ prim.select(order < uint32(SIGN), uint32(ALL), uint32(SIGN)), float32)


@builtin(name="_key_of")
def _long_unsigned_of(order: uint64, like: uint64) -> uint64:
    return order


@builtin(name="_key_of")
def _long_of(order: uint64, like: int64) -> int64:
    return prim.bitcast(order ^ uint64(SIGN_LONG), int64)


@builtin(name="_key_of")
def _double_of(order: uint64, like: float64) -> float64:
    return prim.bitcast(order ^ prim.select(order < uint64(SIGN_LONG), uint64(ALL_LONG), uint64(SIGN_LONG)), float64)
