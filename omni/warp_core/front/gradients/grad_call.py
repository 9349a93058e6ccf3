"""`wp.grad(f)(x)`: a call of the adjoint of `f`, for ones as the adjoints of its results.

The call goes to a plain IR function, so a kernel with such calls can be differentiated itself. Automatic
differentiation stands above this layer and is loaded when it is asked for.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from ...ir.builder import Builder
from ...ir.nodes import Function as IrFunction
from ...ir.nodes import Value
from ...lang.custom_gradients import GradientOf, grad
from ...lang.errors import NotDifferentiable
from ...lang.generics import spell
from ...lang.kernel import Function
from ...lang.registry import Builtin
from ...lang.types import Array, Packed, Scalar
from ...late_bound import late
from ..calls.calls import GRADIENT, Call, chosen, chosen_builtin, count_arguments, handles
from ..context import Context
from ..values import Front, Static, TupleValue, spell_front


@handles(grad)
def _grad(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 1, 1, "wp.grad")
    (f,) = c.args
    if not isinstance(f, Static) or not isinstance(f.obj, (Function, Builtin)):
        text = f"wp.grad takes a function, not {spell_front(f)}"
        raise cx.error("arguments", text, c.arg_node(0), help="decorate it with @wp.func")
    return Static(GradientOf(f.obj))


def _call(cx: Context, f: Function | Builtin, c: Call) -> Front:
    if isinstance(f, Builtin):
        instance, m, values = chosen_builtin(cx, f, c, f"`wp.{f.name}`")
    else:
        instance, m, values = chosen(cx, f, c)
    callee = instance.function
    if m.refs or (isinstance(f, Builtin) and f.updates):
        raise cx.error("unsupported", f"`{f.name}` changes its arguments, so wp.grad cannot take its gradient", c.node)
    if any("[" in name for name, _, _ in m.values):  # an item of a tuple
        text = f"`{f.name}` is called with a tuple, and wp.grad gives one gradient for each parameter"
        raise cx.error("unsupported", text, c.node, help="give it a parameter for each item of the tuple, or a vector")
    if not any(t.is_differentiable for t in callee.results):
        raise cx.error(
            "unsupported", f"`{f.name}` does not return a floating point number, so it has no gradient", c.node
        )
    adjoint = _adjoint(cx, callee, c)
    b = cx.at(c.node)
    ones = [_ones(b, t, callee, cx, c) for t in callee.results if t.is_differentiable]
    found = iter(b.emit("call", [*values, *ones], attr=adjoint, results=adjoint.results))
    out = [next(found) if v.type.is_differentiable else _no_gradient(b, v.type) for v in values]
    return out[0] if len(out) == 1 else TupleValue(out)


def _no_gradient(b: Builder, t: Any) -> Front:
    """Return the gradient for a parameter that is not differentiable."""
    return Static(None) if isinstance(t, Array) else b.zero(t)


def _ones(b: Builder, t: Any, callee: IrFunction, cx: Context, c: Call) -> Value:
    if not isinstance(t, (Scalar, Packed)):
        raise cx.error("unsupported", f"wp.grad cannot differentiate a function that returns {spell(t)}", c.node)
    return b.const(1.0, t)


_wholes: WeakKeyDictionary[IrFunction, IrFunction] = WeakKeyDictionary()


def _adjoint(cx: Context, callee: IrFunction, c: Call) -> IrFunction:
    """The adjoint of a function that does nothing but call `callee`, so that all rules for calls hold."""
    if callee not in _wholes:
        params = [Value(p.type, name=p.name) for p in callee.params]
        whole = IrFunction(f"grad.{callee.name}", params, callee.results, loc=callee.loc)
        b = Builder(whole)
        b.loc = callee.loc
        b.terminate("return", b.emit("call", params, attr=callee, results=callee.results))
        _wholes[callee] = whole
    try:
        made: IrFunction = late("callee_adjoint")(_wholes[callee], late("library_gradient"), constant=True)
    except NotDifferentiable as why:
        raise cx.error("gradient", f"`{callee.name.partition('#')[0]}`: {why.reason}", c.node) from None
    return made


GRADIENT.append(_call)
