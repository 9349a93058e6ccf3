"""The older way to annotate arrays, `wp.array(dtype=float)`, is an expression and no type.

Checkers say so and take the parameter for anything. With that one complaint switched off (mypy: `valid-type`; pyright:
`reportInvalidTypeForm`), as docs/language.md shows, such kernels are checked too.
"""

# mypy: disable-error-code="valid-type"
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import omni.warp_core as wp


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=wp.vec3, ndim=2)):
    i, j = wp.tid()
    y[i, j] = wp.vec3(a * x[i], 1.0, 0.0)
    x[i] = a + wp.sine(a)  # wrong
