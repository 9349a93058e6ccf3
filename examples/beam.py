"""A beam that is held at its left end bends under its weight: finite elements of degree 2, solved by conjugate
gradients, and the stress of what comes out.

    python examples/beam.py [beam.png]
"""

from __future__ import annotations

import sys

import numpy as np
from pictures import GREY, plt, save

import omni.warp_core as wp
import omni.warp_core.fem as fem
from omni.warp_core.optim.linear import cg

LENGTH, HEIGHT = 4.0, 1.0
MU, LAMBDA, WEIGHT = 1.0, 1.0, 0.005


@wp.func
def stress_of(strain: wp.mat22, mu: float, lam: float):
    return 2.0 * mu * strain + lam * wp.trace(strain) * wp.identity(n=2, dtype=float)


@fem.integrand
def elasticity(s: fem.Sample, u: fem.Field, v: fem.Field, mu: float, lam: float):
    return wp.ddot(stress_of(fem.D(u, s), mu, lam), fem.D(v, s))


@fem.integrand
def gravity(s: fem.Sample, v: fem.Field, weight: float):
    return -weight * v(s)[1]


@fem.integrand
def held(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
    return wp.dot(u(s), v(s)) * wp.max(0.0, -fem.normal(domain, s)[0])


@fem.integrand
def strength(s: fem.Sample, u: fem.Field, mu: float, lam: float):
    """The stress of von Mises, in plane strain."""
    t = stress_of(fem.D(u, s), mu, lam)
    across = lam * fem.div(u, s)
    squares = (t[0, 0] - t[1, 1]) ** 2.0 + (t[1, 1] - across) ** 2.0 + (across - t[0, 0]) ** 2.0
    return wp.sqrt(0.5 * squares + 3.0 * t[0, 1] * t[0, 1])


def bend(columns: int = 48) -> fem.DiscreteField:
    """The displacement of the beam."""
    geometry = fem.Grid2D(res=(columns, columns // 4), bounds_hi=wp.vec2(LENGTH, HEIGHT))
    space = fem.make_polynomial_space(geometry, dtype=wp.vec2, degree=2)
    u, v = fem.make_trial(space), fem.make_test(space)
    matrix = fem.integrate(elasticity, fields={"u": u, "v": v}, values={"mu": MU, "lam": LAMBDA})
    rhs = fem.integrate(gravity, fields={"v": v}, values={"weight": WEIGHT}, output_dtype=wp.vec2)
    ends = fem.BoundarySides(geometry)
    fields = {"u": fem.make_trial(space, domain=ends), "v": fem.make_test(space, domain=ends)}
    fem.project_linear_system(matrix, rhs, fem.integrate(held, fields=fields, assembly="nodal"))
    found = space.make_field()
    cg(matrix, b=rhs, x=found.dof_values, tol=1e-6)
    return found


def stresses(displacement: fem.DiscreteField) -> np.ndarray:
    """The stress at the nodes of degree 1, as a grid."""
    geometry = displacement.geometry
    field = fem.make_polynomial_space(geometry, degree=1).make_field()
    fem.interpolate(strength, dest=field, fields={"u": displacement}, values={"mu": MU, "lam": LAMBDA})
    return field.dof_values.numpy().reshape([r + 1 for r in geometry.res])


def draw(displacement: fem.DiscreteField, file: str) -> None:
    """The beam as it was, and as it is, coloured by its stress."""
    nx, ny = displacement.geometry.res
    shape = 2 * nx + 1, 2 * ny + 1, 2
    rest = displacement.space.node_positions().reshape(shape)[::2, ::2]
    moved = rest + displacement.dof_values.numpy().reshape(shape)[::2, ::2]
    _, axes = plt.subplots(figsize=(7, 2.9))
    axes.plot(*rest[[0, -1, -1, 0, 0], [0, 0, -1, -1, 0]].T, color=GREY, linestyle="--", linewidth=1.0)
    colours = axes.pcolormesh(
        moved[..., 0], moved[..., 1], stresses(displacement), shading="gouraud", cmap="viridis", rasterized=True
    )
    for line in (*moved[::4], *np.swapaxes(moved, 0, 1)[::4]):
        axes.plot(*line.T, color="white", linewidth=0.3)
    axes.set(title="stress of a beam under its weight", aspect="equal")
    axes.grid(visible=False)
    plt.colorbar(colours, ax=axes, shrink=0.8)
    save(file)


def main(file: str = "beam.png") -> float:
    """Bend, tell and draw; gives how far the end moves."""
    displacement = bend()
    tip = float(displacement.dof_values.numpy()[-1, 1])
    print(f"the end of the beam moves by {tip:.4f}")
    draw(displacement, file)
    return tip


if __name__ == "__main__":
    main(*sys.argv[1:2])
