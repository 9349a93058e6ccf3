"""Interpolation of integrands to nodes and points: against the functions themselves."""

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import geometry

ALL = ("Grid2D", "Trimesh2D", "Quadmesh2D", "Grid3D", "Tetmesh", "Hexmesh")


@fem.integrand
def height(s: fem.Sample, domain: fem.Domain, factor: wp.float64):
    x = domain(s)
    return factor * x[0] * x[1]


@fem.integrand
def number_of_cell(s: fem.Sample):
    return 1.0 + float(s.element_index)


@fem.integrand
def gradient(s: fem.Sample, f: fem.Field):
    return fem.grad(f, s)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("degree", [1, 2])
def test_fields_have_the_function_at_their_nodes(name, degree):
    field = fem.make_polynomial_space(geometry(name), degree=degree).make_field()
    fem.interpolate(height, dest=field, values={"factor": 2.0})
    x = field.space.node_positions()
    np.testing.assert_allclose(field.dof_values.numpy(), 2.0 * x[:, 0] * x[:, 1], atol=1e-13)


@pytest.mark.parametrize("name", ALL)
def test_a_space_has_the_functions_of_a_smaller_one(name):
    coarse, fine = (fem.make_polynomial_space(geometry(name), degree=d).make_field() for d in (1, 3))
    fine = fem.make_polynomial_space(coarse.geometry, degree=3).make_field()
    coarse.dof_values = coarse.space.node_positions()[:, 0]
    fem.interpolate(coarse, dest=fine)
    np.testing.assert_allclose(fine.dof_values.numpy(), fine.space.node_positions()[:, 0], atol=1e-13)
    back = coarse.space.make_field()
    fem.interpolate(fine, dest=back)
    np.testing.assert_allclose(back.dof_values.numpy(), coarse.dof_values.numpy(), atol=1e-13)


@pytest.mark.parametrize("name", ALL)
def test_gradients_are_exact(name):
    geo = geometry(name, amount=0.0 if name == "Hexmesh" else 0.25)
    field = fem.make_polynomial_space(geo, degree=2).make_field()
    x = field.space.node_positions()
    field.dof_values = x[:, 0] * x[:, 1] if name != "Quadmesh2D" else x[:, 0] + 2.0 * x[:, 1]
    vector = wp.vec2d if geo.dimension == 2 else wp.vec3d
    slopes = fem.make_polynomial_space(geo, dtype=vector, degree=2).make_field()
    fem.interpolate(gradient, dest=slopes, fields={"f": field})
    expected = np.zeros_like(x)
    expected[:, 0], expected[:, 1] = (x[:, 1], x[:, 0]) if name != "Quadmesh2D" else (1.0, 2.0)
    np.testing.assert_allclose(slopes.dof_values.numpy(), expected, atol=1e-11)


@pytest.mark.parametrize(
    ("reduction", "shared"),
    [("weighted_average", 11.0 / 6.0), ("mean", 1.5), ("sum", 3.0), ("first", 1.0), ("min", 1.0), ("max", 2.0)],
)
def test_nodes_of_several_cells(reduction, shared):
    """Two triangles of the areas 1/2 and 5/2."""
    points = wp.array([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (3.0, 3.0)], dtype=wp.vec2)
    geo = fem.Trimesh2D(wp.array([(0, 1, 2), (1, 3, 2)], dtype=int), points)
    field = fem.make_polynomial_space(geo).make_field()
    fem.interpolate(number_of_cell, dest=field, reduction=reduction)
    assert field.dof_values.list() == pytest.approx([1.0, shared, shared, 2.0])


def test_sides_set_their_nodes_only():
    field = fem.make_polynomial_space(geometry("Grid2D"), degree=2).make_field()
    fem.interpolate(height, dest=field, at=fem.BoundarySides(field.geometry), values={"factor": 1.0})
    x, y = field.space.node_positions().T
    is_inside = (x > 1e-9) & (x < 1 - 1e-9) & (y > 1e-9) & (y < 1 - 1e-9)
    np.testing.assert_allclose(field.dof_values.numpy(), np.where(is_inside, 0.0, x * y), atol=1e-14)


def test_arrays_have_an_element_for_each_point():
    geo = geometry("Trimesh2D")
    quadrature = fem.RegularQuadrature(fem.Cells(geo), order=2)
    found = wp.zeros(quadrature.total_point_count(), dtype=wp.float64)
    fem.interpolate(height, dest=found, at=quadrature, values={"factor": 1.0})
    corners = geo.vertex_positions[geo.cell_vertices]
    x = np.einsum("pv,cvd->cpd", np.column_stack([1.0 - quadrature.points.sum(1), quadrature.points]), corners)
    np.testing.assert_allclose(found.numpy(), (x[..., 0] * x[..., 1]).ravel(), atol=1e-14)
    middles = wp.zeros(geo.cell_count(), dtype=wp.float64)
    fem.interpolate(height, dest=middles, at=fem.Cells(geo), values={"factor": 1.0})
    np.testing.assert_allclose(middles.numpy(), corners.mean(axis=1).prod(axis=1), atol=1e-14)


@fem.integrand
def note_points(s: fem.Sample, domain: fem.Domain, points: wp.array(dtype=wp.vec2), weights: wp.array(dtype=float)):
    points[s.qp_index] = domain(s)
    weights[s.qp_index] = s.qp_weight * fem.measure(domain, s)


def test_integrands_can_store_what_they_see():
    geo = fem.Grid2D(res=(2, 2), bounds_lo=wp.vec2(1.0, 0.0), bounds_hi=wp.vec2(3.0, 1.0))
    quadrature = fem.RegularQuadrature(fem.Cells(geo), order=1)
    points, weights = wp.zeros(4, dtype=wp.vec2), wp.zeros(4, dtype=float)
    fem.interpolate(note_points, at=quadrature, values={"points": points, "weights": weights})
    assert points.numpy().tolist() == [[1.5, 0.25], [1.5, 0.75], [2.5, 0.25], [2.5, 0.75]]
    assert weights.list() == [0.5] * 4
