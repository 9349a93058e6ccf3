"""Samples from sides to cells and back, and shape functions of both cells: judged by the sample where they began."""

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem

from .geometries import geometry

NAMES = ["Grid2D", "Grid3D", "Trimesh2D", "Quadmesh2D", "Tetmesh", "Hexmesh"]


@fem.integrand
def there_and_back(s: fem.Sample, domain: fem.Domain, u: fem.Field, found: wp.array2d(dtype=wp.float64)):
    inner = fem.to_cell_side(domain, fem.to_inner_cell(domain, s), s.element_index)
    outer = fem.to_cell_side(domain, fem.to_outer_cell(domain, s), s.element_index)
    i = s.qp_index
    found[i, 0] = fem.jump(u, s) - fem.jump(u, inner)
    found[i, 1] = fem.jump(u, s) - fem.jump(u, outer)
    found[i, 2] = wp.length(inner.element_coords - s.element_coords) + wp.length(
        outer.element_coords - inner.element_coords
    )
    found[i, 3] = wp.length(fem.normal(domain, outer) - fem.normal(domain, s))
    found[i, 4] = wp.float64(wp.abs(inner.element_index - s.element_index) + wp.abs(outer.qp_index - s.qp_index))
    other = fem.to_cell_side(domain, fem.to_inner_cell(domain, s), s.element_index + 1)
    found[i, 5] = wp.float64(other.element_index)


def jumping(geo):
    """A field with random jumps at all sides."""
    field = fem.make_polynomial_space(geo, degree=2, discontinuous=True).make_field()
    field.dof_values = np.random.default_rng(0).normal(size=field.dof_values.size)
    return field


def domains_of(geo):
    """Sides of a geometry, its boundary, and some sides in no order."""
    sides = fem.Sides(geo)
    some = np.random.default_rng(1).permutation(sides.element_count())[: sides.element_count() // 2]
    return sides, fem.BoundarySides(geo), fem.Subdomain(sides, element_indices=wp.array(some, dtype=int))


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_a_sample_in_a_cell_finds_its_side(name, which):
    geo = geometry(name)
    domain = domains_of(geo)[which]
    points = fem.RegularQuadrature(domain, 2)
    found = wp.zeros((points.total_point_count(), 6), dtype=wp.float64)
    fem.interpolate(there_and_back, at=points, fields={"u": jumping(geo)}, values={"found": found})
    assert np.abs(found.numpy()[:, :5]).max() == 0.0
    numbers = domain.element_indices if domain.element_indices is not None else np.arange(domain.element_count())
    asked = np.repeat(numbers + 1, points.max_points_per_element())
    got = found.numpy()[:, 5]
    assert np.isin(got, [-1.0, *asked]).all() and (got == -1.0).any()


@fem.integrand
def sums_of_weights(
    s: fem.Sample,
    domain: fem.Domain,
    u: fem.Field,
    dofs: wp.array(dtype=wp.float64),
    found: wp.array2d(dtype=wp.float64),
):
    value, slope = wp.float64(0.0), fem.grad(u, s) - fem.grad(u, s)
    outside = fem.to_outer_cell(domain, s)
    for i in range(fem.node_count(u, s)):
        dof = dofs[fem.node_index(u, outside, i)]
        value += fem.node_outer_weight(u, s, i) * dof
        slope += fem.node_outer_weight_gradient(u, s, i) * dof
    found[s.qp_index, 0] = value - fem.outer(u, s)
    found[s.qp_index, 1] = wp.length(slope - fem.grad_outer(u, s))


@pytest.mark.parametrize("name", NAMES)
def test_weights_outside_make_the_value_outside(name):
    geo = geometry(name)
    field = jumping(geo)
    points = fem.RegularQuadrature(fem.Sides(geo), 2)
    found = wp.full((points.total_point_count(), 2), 1.0, dtype=wp.float64)
    given = {"dofs": field.dof_values, "found": found}
    fem.interpolate(sums_of_weights, at=points, fields={"u": field}, values=given)
    assert np.abs(found.numpy()).max() < 1e-9


@fem.integrand
def environment(s: fem.Sample, domain: fem.Domain):
    return 1.0 + float(fem.environment_index(domain, s))


def test_a_geometry_is_one_environment():
    geo = fem.Grid2D(res=(2, 2))
    assert geo.environment_count() == 1
    assert fem.integrate(environment, domain=fem.Cells(geo)) == pytest.approx(1.0)
    assert fem.integrate(environment, domain=fem.BoundarySides(geo)) == pytest.approx(4.0)
