"""Operators of integrands on fields and domains: `fem.grad(u, s)`, `fem.normal(domain, s)` and others.

The type of the first argument supplies the function (lang/values/struct_operators.py), so an integrand takes fields of
all spaces. field_records.py and domain_records.py supply them.
"""

from __future__ import annotations

from ..lang.values.struct_operators import StructOperator

__all__ = [
    *("D", "curl", "deformation_gradient", "div", "grad", "inner"),
    *("measure", "normal", "position"),
]

grad = StructOperator(
    "grad",
    "fem.grad(u, s)",
    """The gradient of a field: a vector, or of vectors a matrix whose row `i` is the gradient of component `i`.

    >>> import omni.warp_core.fem as fem
    >>> @fem.integrand
    ... def stiffness(s: fem.Sample, u: fem.Field, v: fem.Field):
    ...     return wp.dot(fem.grad(u, s), fem.grad(v, s))
    """,
)
div = StructOperator("div", "fem.div(u, s)", "The divergence of a field of vectors.")
curl = StructOperator("curl", "fem.curl(u, s)", "The curl of a field of vectors of three components.")
D = StructOperator("D", "fem.D(u, s)", "The symmetric part of the gradient of a field of vectors.")
inner = StructOperator("call", "fem.inner(u, s)", "The value of a field in the first cell of a side: `u(s)`.")
position = StructOperator("position", "fem.position(domain, s)", "The position of a sample: `domain(s)`.")
normal = StructOperator(
    "normal", "fem.normal(domain, s)", "The outward normal of a side, or the normal of a surface, of length 1."
)
measure = StructOperator("measure", "fem.measure(domain, s)", "The size that the weights of a sample are parts of.")
deformation_gradient = StructOperator(
    "deformation_gradient",
    "fem.deformation_gradient(domain, s)",
    "The derivative of positions by the coordinates inside of the cell.",
)
