"""Small facts of geometries, spaces and fields, judged by hand, and by what warp-lang 1.19 has for the same objects."""

from __future__ import annotations

import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import geometry

GRID = fem.Grid2D(res=(2, 3))
BOX = fem.Grid3D(res=(2, 3, 4))


def _field(geo, dtype):
    return fem.make_polynomial_space(geo, dtype=dtype).make_field()


@pytest.mark.parametrize(
    ("geo", "dtype", "gradient", "divergence", "has_divergence"),
    [
        (GRID, float, wp.vec2, None, False),
        (GRID, wp.vec2, wp.mat22, wp.float32, True),
        (GRID, wp.vec3, wp.types.matrix((3, 2), float), wp.float32, False),
        (GRID, wp.mat22, None, wp.vec2, True),
        (GRID, wp.types.matrix((2, 3), float), None, wp.vec3, True),
        (BOX, wp.vec3, wp.mat33, wp.float32, True),
        (BOX, wp.mat22, None, wp.vec2, False),
    ],
)
def test_types_of_derivatives(geo, dtype, gradient, divergence, has_divergence):
    for found in (_field(geo, dtype), fem.make_test(fem.make_polynomial_space(geo, dtype=dtype))):
        assert (found.gradient_dtype, found.divergence_dtype) == (gradient, divergence)
        assert found.gradient_valid() == (gradient is not None) and found.divergence_valid() == has_divergence
        assert found.space.gradient_valid() == found.gradient_valid()


def test_counts_of_spaces():
    edges = fem.ElementBasis.NEDELEC_FIRST_KIND
    spaces = {
        "vectors": (fem.make_polynomial_space(GRID, dtype=wp.vec2, degree=3), (2, 2, 3)),
        "symmetric": (fem.make_polynomial_space(GRID, dof_mapper=fem.SymmetricTensorMapper(wp.mat22)), (3, 3, 1)),
        "edges": (fem.make_polynomial_space(geometry("Trimesh2D"), element_basis=edges), (1, 2, 1)),
    }
    for space, wanted in spaces.values():
        assert wanted == (space.NODE_DOF_COUNT, space.VALUE_DOF_COUNT, space.ORDER) and space.dimension == 2
        trial = fem.make_trial(space)
        assert (trial.node_dof_count, trial.value_dof_count, trial.dof_dtype) == (*wanted[:2], space.dof_dtype)
        assert trial.partition_node_count() == space.node_count()


def test_kinds_of_elements_and_reference_cells():
    sides = fem.make_test(fem.make_polynomial_space(GRID), domain=fem.Sides(GRID))
    assert sides.element_kind is fem.Sides(GRID).element_kind
    assert _field(GRID, float).element_kind is fem.Cells(GRID).element_kind
    names = {"Grid2D": ("SQUARE", 2, "LINE_SEGMENT", 1), "Tetmesh": ("TETRAHEDRON", 5, "TRIANGLE", 4)}
    names["Hexmesh"] = ("CUBE", 3, "SQUARE", 2)
    for name, wanted in names.items():
        cell, side = geometry(name).reference_cell(), geometry(name).reference_side()
        assert (cell.name, cell.value, side.name, side.value) == wanted


def test_edges_strides_and_vertices():
    corners = wp.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=wp.vec3)
    indices = wp.array([[0, 1, 2, 3]], dtype=int)
    tet = fem.Tetmesh(indices, corners)
    assert tet.edge_count() == 6 and tet.tet_vertex_indices is indices
    assert BOX.edge_count() == 133  # 2 * 4 * 5 + 3 * 3 * 5 + 4 * 3 * 4
    assert tuple(GRID.strides) == (3, 1) and tuple(BOX.strides) == (12, 4, 1)
    assert geometry("Hexmesh").edge_count() == 54  # 3 * 2 * 3 * 3
    BOX.update_bvh()
    parts = [fem.LinearGeometryPartition(GRID, rank, 4) for rank in range(4)]
    assert [(p.cell_begin, p.cell_end) for p in parts] == [(0, 2), (2, 4), (4, 6), (6, 6)]


@wp.func
def height(x: wp.vec2):
    return x[0]


@wp.func
def slope(x: wp.vec2):
    return wp.vec2(1.0, 0.0)


def test_a_field_of_a_function_has_the_derivatives_that_it_was_given():
    cells = fem.Cells(GRID)
    assert not fem.ImplicitField(cells, height).gradient_valid()
    field = fem.ImplicitField(cells, height, grad_func=slope)
    assert field.gradient_valid() and not field.divergence_valid()


@fem.integrand
def growth(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    return wp.exp(3.0 * domain(s)[0]) * v(s)


def test_fields_that_the_integrand_does_not_name_raise_the_order_of_the_quadrature():
    geo = fem.Grid2D(res=(1, 1))
    test = fem.make_test(fem.make_polynomial_space(geo))

    def total(**extra):
        return fem.integrate(growth, fields={"v": test, **extra}).numpy().sum()

    def with_order(order):
        quadrature = fem.RegularQuadrature(fem.Cells(geo), order=order)
        return fem.integrate(growth, quadrature=quadrature, fields={"v": test}).numpy().sum()

    assert total() == with_order(1) != with_order(5)
    others = fem.make_test(fem.make_polynomial_space(fem.Grid2D(res=(2, 2)), degree=4))
    fields = {degree: fem.make_polynomial_space(geo, degree=degree).make_field() for degree in (2, 4)}
    assert total(extra=fields[2]) == with_order(3)
    assert total(extra=others) == total(extra=fields[4]) == with_order(5)
    assert abs(total(extra=fields[4]) - (2.718281828459045**3 - 1.0) / 3.0) < 0.01
