"""Spaces of shape functions that programs give: judged by solutions and by ready-made spaces."""

import math

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from omni.warp_core.optim.linear import cg

from .geometries import geometry

EDGES = [(0.5, 0.0), (0.5, 0.5), (0.0, 0.5)]
LINEAR = [(0, 0), (1, 0), (0, 1)]


@fem.integrand
def stiffness(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.dot(fem.grad(u, s), fem.grad(v, s))


@fem.integrand
def load(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    x = wp.pi * domain(s)
    return 2.0 * wp.pi * wp.pi * wp.sin(x[0]) * wp.sin(x[1]) * v(s)


@fem.integrand
def on_sides(s: fem.Sample, u: fem.Field, v: fem.Field):
    return u(s) * v(s)


@fem.integrand
def squared_error(s: fem.Sample, domain: fem.Domain, u: fem.Field):
    x = wp.pi * domain(s)
    e = u(s) - wp.sin(x[0]) * wp.sin(x[1])
    return e * e


def crouzeix_raviart(n: int):
    """The space of linear functions on triangles that are continuous in the middles of edges."""
    corners = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, n + 1)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    triangles = wp.array(fem.utils.grid_to_tris(n, n), dtype=int)
    geo = fem.Trimesh2D(triangles, wp.array(corners, dtype=wp.vec2))
    shape = fem.ShapeFunction(fem.Element.TRIANGLE, 1, nodes=EDGES, exponents=LINEAR)
    topology = fem.make_element_based_space_topology(geo, shape)
    return fem.make_collocated_function_space(fem.ShapeBasisSpace(topology, shape), dtype=float)


def test_a_nonconforming_space_of_middles_converges():
    errors = []
    for n in (8, 16):
        space = crouzeix_raviart(n)
        assert space.node_count() == space.geometry.side_count()
        fields = {"u": fem.make_trial(space), "v": fem.make_test(space)}
        matrix, rhs = fem.integrate(stiffness, fields=fields), fem.integrate(load, fields={"v": fields["v"]})
        is_side = (np.abs(space.node_positions() - 0.5) > 0.4999).any(axis=1)
        rows = wp.array(np.flatnonzero(is_side), dtype=int)
        ones = wp.ones(rows.size, dtype=float)
        projector = wp.sparse.bsr_from_triplets(space.node_count(), space.node_count(), rows, rows, ones)
        fem.project_linear_system(matrix, rhs, projector)
        found = space.make_field()
        cg(matrix, b=rhs, x=found.dof_values, tol=1e-6)
        points = fem.RegularQuadrature(fem.Cells(space.geometry), 6)
        errors.append(math.sqrt(fem.integrate(squared_error, quadrature=points, fields={"u": found})))
    assert np.log2(errors[0] / errors[1]) > 1.9, errors


@pytest.mark.parametrize("name", ["Grid2D", "Trimesh2D", "Tetmesh", "Hexmesh"])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_parts_make_the_ready_made_space(name, degree):
    geo = geometry(name)
    shape = fem.make_element_shape_function(geo.kind, degree)
    topology = fem.make_element_based_space_topology(geo, shape)
    basis = fem.ShapeBasisSpace(topology, shape)
    ready = fem.make_polynomial_space(geo, degree=degree)
    space = fem.make_collocated_function_space(basis, dtype=wp.float64)
    assert isinstance(ready.basis, fem.ShapeBasisSpace) and isinstance(ready.topology, fem.SpaceTopology)
    assert isinstance(space, fem.space.CollocatedFunctionSpace)
    assert np.array_equal(space.basis.cell_nodes, ready.basis.cell_nodes)
    matrices = []
    for s in (space, ready):
        matrices.append(fem.integrate(on_sides, fields={"u": fem.make_trial(s), "v": fem.make_test(s)}))
    assert np.array_equal(matrices[0].values.numpy(), matrices[1].values.numpy())


def test_shape_functions_are_those_of_their_monomials():
    # of degree 2 without the product x y: five functions of a square
    nodes, exponents = [(0, 0), (1, 0), (0, 1), (0.5, 0), (0, 0.5)], [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2)]
    shape = fem.ShapeFunction(fem.Element.SQUARE, 2, nodes, exponents)
    points = np.random.default_rng(0).uniform(0.0, 1.0, (7, 2))
    monomials = lambda x: np.array([x[:, 0] ** a * x[:, 1] ** b for a, b in exponents]).T  # noqa: E731
    expected = monomials(points) @ np.linalg.inv(monomials(np.array(nodes, dtype=float)))
    assert np.allclose(shape.values(points), expected, atol=1e-12)


def test_classes_of_spaces_tell_them_apart():
    grid, kinds = fem.Grid2D(res=(1, 1)), fem.ElementBasis
    edges = fem.make_polynomial_space(grid, element_basis=kinds.NEDELEC_FIRST_KIND)
    sides = fem.make_polynomial_space(grid, element_basis=kinds.RAVIART_THOMAS)
    assert isinstance(edges, fem.space.CovariantFunctionSpace)
    assert isinstance(sides, fem.space.ContravariantFunctionSpace)
    assert isinstance(fem.make_element_shape_function(fem.Element.CUBE, 1, kinds.NEDELEC_FIRST_KIND), fem.ShapeFunction)
    with pytest.raises(AttributeError, match=r"take fem\.make_element_shape_function"):
        _ = fem.space.shape


def test_positions_of_nodes_are_written_to_arrays():
    space = fem.make_polynomial_space(fem.Grid2D(res=(2, 1)), degree=2, dtype=wp.vec2)
    out = wp.zeros(space.node_count(), dtype=wp.vec2)
    assert space.node_positions(out) is out
    line = [0.0, 0.25, 0.5, 0.75, 1.0]
    expected = np.stack(np.meshgrid(line, [0.0, 0.5, 1.0], indexing="ij"), axis=-1).reshape(-1, 2)
    assert np.array_equal(out.numpy(), expected)
    assert np.array_equal(space.node_positions().numpy(), expected)
    assert type(space.node_positions().numpy()) is np.ndarray


def test_mistakes_are_told():
    square = fem.make_element_shape_function(fem.Element.SQUARE, 1)
    triangle = fem.ShapeFunction(fem.Element.TRIANGLE, 1, EDGES, LINEAR)
    grid = fem.Grid2D(res=(1, 1))
    with pytest.raises(ValueError, match=r"has cells of Element.SQUARE, and the shape .* Element.TRIANGLE"):
        fem.make_element_based_space_topology(grid, triangle)
    with pytest.raises(ValueError, match="the shape has 3 nodes, and cells have 4"):
        fem.ShapeBasisSpace(fem.make_element_based_space_topology(grid, square), triangle)
    with pytest.raises(ValueError, match="do not determine a sum of the monomials"):
        fem.ShapeFunction(fem.Element.TRIANGLE, 1, [(0, 0), (0.5, 0), (1, 0)], LINEAR)
    with pytest.raises(ValueError, match=r"nodes and exponents of the shape \(nodes, 2\), got \(3, 2\) and \(2, 2\)"):
        fem.ShapeFunction(fem.Element.TRIANGLE, 1, EDGES, LINEAR[:2])
    with pytest.raises(ValueError, match="integers from 0 to the degree, 1"):
        fem.ShapeFunction(fem.Element.TRIANGLE, 1, EDGES, [(0, 0), (2, 0), (0, 1)])
