"""C's `fmod` as LLVM assembly, for machines without a C library. The result is exact, as everywhere.

Both numbers are integers times powers of two. The integer of the first is shifted up to the other's power a few bits at
a time, and reduced after each shift.
"""

from __future__ import annotations

from ..lang.types import Scalar
from .writer import llvm_type

_FRACTION = {32: 23, 64: 52}  # bits

_TEMPLATE = """\
define internal {f} @fmod_{key}({f} %x, {f} %y) noinline nounwind {{
entry:
  %xbits = bitcast {f} %x to {i}
  %ybits = bitcast {f} %y to {i}
  %sign = and {i} %xbits, {sign}
  %a = and {i} %xbits, {magnitude}
  %b = and {i} %ybits, {magnitude}
  %endless = icmp uge {i} %a, {infinity}
  %nothing = icmp eq {i} %b, 0
  %unknown = icmp ugt {i} %b, {infinity}
  %bad1 = or i1 %endless, %nothing
  %bad = or i1 %bad1, %unknown
  br i1 %bad, label %nan, label %compare
nan:
  ret {f} 0x7FF8000000000000
compare:
  %small = icmp ult {i} %a, %b
  br i1 %small, label %same, label %split
same:
  ret {f} %x
split:
  %aexp = lshr {i} %a, {fraction}
  %bexp = lshr {i} %b, {fraction}
  %asub = icmp eq {i} %aexp, 0
  %bsub = icmp eq {i} %bexp, 0
  %ae = select i1 %asub, {i} 1, {i} %aexp
  %be = select i1 %bsub, {i} 1, {i} %bexp
  %afrac = and {i} %a, {mask}
  %bfrac = and {i} %b, {mask}
  %afull = or {i} %afrac, {hidden}
  %bfull = or {i} %bfrac, {hidden}
  %am = select i1 %asub, {i} %afrac, {i} %afull
  %bm = select i1 %bsub, {i} %bfrac, {i} %bfull
  %apart = sub {i} %ae, %be
  br label %reduce
reduce:
  %m = phi {i} [ %am, %split ], [ %r, %reduce ]
  %d = phi {i} [ %apart, %split ], [ %left, %reduce ]
  %few = icmp ult {i} %d, {spare}
  %k = select i1 %few, {i} %d, {i} {spare}
  %up = shl {i} %m, %k
  %r = urem {i} %up, %bm
  %left = sub {i} %d, %k
  %more = icmp ne {i} %left, 0
  br i1 %more, label %reduce, label %join
join:
  %zeros = call {i} @llvm.ctlz.{i}({i} %r, i1 false)
  %lead = sub {i} %zeros, {spare}
  %low = sub {i} %be, 1
  %deep = icmp ult {i} %lead, %low
  %s = select i1 %deep, {i} %lead, {i} %low
  %fits = shl {i} %r, %s
  %e = sub {i} %low, %s
  %ebits = shl {i} %e, {fraction}
  %found = add {i} %fits, %ebits
  %empty = icmp eq {i} %r, 0
  %value = select i1 %empty, {i} 0, {i} %found
  %signed = or {i} %value, %sign
  %result = bitcast {i} %signed to {f}
  ret {f} %result
}}
declare {i} @llvm.ctlz.{i}({i}, i1)"""


def fmod(t: Scalar) -> str:
    """The definition of `fmod_f32` or `fmod_f64`."""
    fraction = _FRACTION[t.bits]
    hidden, sign = 1 << fraction, 1 << (t.bits - 1)
    return _TEMPLATE.format(
        f=llvm_type(t),
        i=f"i{t.bits}",
        key=t.key,
        fraction=fraction,
        hidden=hidden,
        mask=hidden - 1,
        sign=-sign,
        magnitude=sign - 1,
        infinity=sign - hidden,
        spare=t.bits - fraction - 1,
    )
