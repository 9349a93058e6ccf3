"""Primitive operations for library code: each call becomes the IR operation of the same name.

    from . import prim
    root = prim.sqrt(x)
    bits = prim.bitcast(x, U32)
    s = prim.libm("sin", x)

They check nothing beyond the operation's own typing rule and take no implicit conversions except literals.
"""

from __future__ import annotations


class Prim:
    """One primitive. Calling it at Python scope is an error: it exists inside kernels only."""

    __slots__ = ("__name__", "name")

    def __init__(self, name: str):
        self.name = self.__name__ = name

    def __call__(self, *args):
        """Refuse: there is nothing to run here."""
        raise TypeError(f"prim.{self.name} works only inside kernels and library functions")

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"


# elementwise on scalars and packed types
add, sub, mul, div, rem, floordiv = map(Prim, ("add", "sub", "mul", "div", "rem", "floordiv"))
min, max, neg, abs = map(Prim, ("min", "max", "neg", "abs"))  # of min and max with a NaN, the second operand
minnum, maxnum = map(Prim, ("minnum", "maxnum"))  # of a NaN and a number, the number
bit_and, bit_or, bit_xor, bit_not, shl, shr = map(Prim, ("and", "or", "xor", "not", "shl", "shr"))
sqrt, floor, ceil, trunc, rint, fma = map(Prim, ("sqrt", "floor", "ceil", "trunc", "rint", "fma"))
popcount = Prim("popcount")
# on scalars
eq, ne, lt, le, gt, ge = map(Prim, ("eq", "ne", "lt", "le", "gt", "ge"))
select = Prim("select")  # select(condition, if_true, if_false)
# with a compile-time argument
libm = Prim("libm")  # libm("name", x, ...)
cast = Prim("cast")  # cast(x, T)
bitcast = Prim("bitcast")  # bitcast(x, T)
splat = Prim("splat")  # splat(x, T): a packed type with every component x
is_null = Prim("is_null")  # is_null(array)
# on memory
array_at = Prim("array_at")  # array_at(address, count, T): the array of `count` elements of T at an address
is_structure = Prim("is_structure")  # is_structure(address): False if reading a descriptor there could end a GPU's work
fail = Prim("fail")  # fail("kind", "message {0}", x, ...): let the launch raise a KernelError; the thread goes on
