"""Spaces whose nodes have fewer numbers than values have, and uniform fields."""

from __future__ import annotations

import re

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from tests.fem.geometries import geometry
from tests.sparse.matrices import dense

F = wp.float64
MAPPING = fem.SymmetricTensorMapper.Mapping
ROOT = np.sqrt(0.5)
# The numbers at nodes of the matrix whose elements are 1, 2, ..., as they are in warp.fem.
CASES = [
    (fem.SymmetricTensorMapper(wp.mat22d), [ROOT, 4.0 * ROOT, 2.5]),
    (fem.SymmetricTensorMapper(wp.mat22d, MAPPING.DB16), [2.5, -1.5, 2.5]),
    (fem.SkewSymmetricTensorMapper(wp.mat22d), [0.5]),
    (fem.SymmetricTensorMapper(wp.mat33d), [ROOT, 5.0 * ROOT, 9.0 * ROOT, 7.0, 5.0, 3.0]),
    (fem.SymmetricTensorMapper(wp.mat33d, MAPPING.DB16), [15.0 / np.sqrt(6.0), -2.0, np.sqrt(12.0), 7.0, 5.0, 3.0]),
    (fem.SkewSymmetricTensorMapper(wp.mat33d), [1.0, -2.0, 1.0]),
]
NAMES = [f"{type(m).__name__}{m.DOF_SIZE}{getattr(m, 'mapping', '')}" for m, _ in CASES]


def space_of(mapper, **more):
    name = "Trimesh2D" if mapper.value_dtype is wp.mat22d else "Tetmesh"
    return fem.make_polynomial_space(geometry(name), dof_mapper=mapper, **more)


@fem.integrand
def constant(s: fem.Sample, m: wp.mat22d):
    return m


@fem.integrand
def constant_3d(s: fem.Sample, m: wp.mat33d):
    return m


def matrix_of(mapper):
    n = 2 if mapper.value_dtype is wp.mat22d else 3
    return np.arange(1.0, n * n + 1.0).reshape(n, n)


def part_of(mapper):
    """What is left of the matrix in the space of the mapper."""
    m = matrix_of(mapper)
    return (m + m.T) / 2.0 if isinstance(mapper, fem.SymmetricTensorMapper) else (m - m.T) / 2.0


@fem.integrand
def kept(s: fem.Sample, u: fem.Field, out: wp.array(dtype=F)):
    m = u(s)
    n = m.shape[0]
    for i in range(n):
        for j in range(n):
            out[n * i + j] = m[i, j]


@pytest.mark.parametrize(("mapper", "numbers"), CASES, ids=NAMES)
def test_matrices_become_numbers_and_matrices_again(mapper, numbers):
    space = space_of(mapper)
    field = space.make_field()
    form = constant if mapper.value_dtype is wp.mat22d else constant_3d
    fem.interpolate(form, dest=field, values={"m": mapper.value_dtype(*matrix_of(mapper).ravel())})
    found = field.dof_values.numpy().reshape(space.node_count(), -1)
    np.testing.assert_allclose(found, np.broadcast_to(numbers, found.shape), rtol=1e-14)
    out = wp.zeros(matrix_of(mapper).size, dtype=F)
    fem.interpolate(kept, at=fem.Cells(space.geometry), fields={"u": field}, values={"out": out})
    np.testing.assert_allclose(out.numpy().reshape(part_of(mapper).shape), part_of(mapper), rtol=1e-13)


@fem.integrand
def product(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.ddot(u(s), v(s))


@fem.integrand
def mass(s: fem.Sample, u: fem.Field, v: fem.Field):
    return u(s) * v(s)


@pytest.mark.parametrize(("mapper", "numbers"), CASES, ids=NAMES)
def test_numbers_of_mapped_spaces_are_orthogonal(mapper, numbers):
    """The matrix of a product is twice that of numbers, for each number at a node."""
    space = space_of(mapper)
    found = fem.integrate(product, fields={"u": fem.make_trial(space), "v": fem.make_test(space)})
    plain = fem.make_polynomial_space(space.geometry)
    expected = dense(fem.integrate(mass, fields={"u": fem.make_trial(plain), "v": fem.make_test(plain)}))
    assert found.block_shape == (len(numbers), len(numbers))
    np.testing.assert_allclose(dense(found), np.kron(2.0 * expected, np.eye(len(numbers))), atol=1e-15)


@fem.integrand
def stress(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.ddot(fem.D(u, s), v(s))


@fem.integrand
def jumps(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.ddot(fem.jump(u, s), fem.outer(v, s))


def test_forms_of_mapped_and_other_spaces():
    """Strain of a displacement, tested with symmetric matrices; and jumps of these."""
    strains = space_of(CASES[0][0], degree=1, discontinuous=True)
    motions = fem.make_polynomial_space(strains.geometry, dtype=wp.vec2d, degree=1)
    matrix = fem.integrate(stress, fields={"u": fem.make_trial(motions), "v": fem.make_test(strains)})
    assert matrix.block_shape == (3, 2)
    motion = motions.make_field()
    motion.dof_values = np.random.default_rng(0).normal(size=(motions.node_count(), 2))
    loads = dense(matrix) @ motion.dof_values.numpy().ravel()
    found = fem.integrate(stress, fields={"u": motion, "v": fem.make_test(strains)}).numpy()
    np.testing.assert_allclose(found.ravel(), loads, atol=1e-14)
    sides = fem.Sides(strains.geometry)
    test, trial = fem.make_test(strains, domain=sides), fem.make_trial(strains, domain=sides)
    field = strains.make_field()
    field.dof_values = np.random.default_rng(1).normal(size=(strains.node_count(), 3))
    both = dense(fem.integrate(jumps, fields={"u": trial, "v": test})) @ field.dof_values.numpy().ravel()
    np.testing.assert_allclose(fem.integrate(jumps, fields={"u": field, "v": test}).numpy().ravel(), both, atol=1e-14)


class Doubled(fem.DofMapper):
    """A mapper of numbers to twice their value."""

    value_dtype = dof_dtype = wp.float64
    DOF_SIZE = 1

    @staticmethod
    @wp.func
    def dof_to_value(x: F):
        return F(2.0) * x

    @staticmethod
    @wp.func
    def value_to_dof(x: F):
        return F(0.5) * x


@fem.integrand
def seven(s: fem.Sample):
    return F(7.0)


@fem.integrand
def value(s: fem.Sample, u: fem.Field):
    return u(s)


def test_programs_have_mappers_of_their_own():
    space = space_of(Doubled(), degree=1)
    field = space.make_field()
    fem.interpolate(seven, dest=field)
    np.testing.assert_allclose(field.dof_values.numpy(), 3.5)
    domain = fem.Cells(space.geometry)
    volume = fem.integrate(value, domain=domain, fields={"u": fem.UniformField(domain, 1.0)})
    assert fem.integrate(value, domain=domain, fields={"u": field}) == pytest.approx(7.0 * volume, rel=1e-12)


@fem.integrand
def everything(s: fem.Sample, u: fem.Field, domain: fem.Domain):
    both = fem.jump(u, s) + fem.average(u, s) + fem.outer(u, s) + u(s)
    return wp.dot(both, domain(s)) + fem.grad(u, s)[0, 1] + fem.div(u, s) + F(fem.degree(u))


@pytest.mark.parametrize("domain", [fem.Cells, fem.Sides, fem.BoundarySides])
def test_uniform_fields(domain):
    """Three times the value, times the middle of the domain, which is that of the unit square."""
    where = domain(geometry("Grid2D"))
    field = fem.UniformField(where, wp.vec2d(1.0, 3.0))
    size = fem.integrate(value, domain=where, fields={"u": fem.UniformField(where, 1)})
    found = fem.integrate(everything, domain=where, fields={"u": field})
    assert found == pytest.approx(6.0 * size, rel=1e-12)
    field.value = wp.vec2d(-1.0, 1.0)
    assert fem.integrate(everything, domain=where, fields={"u": field.trace()}) == pytest.approx(0.0, abs=1e-12)


def test_uniform_fields_are_interpolated():
    space = fem.make_polynomial_space(fem.Grid2D(res=(2, 2)))
    field = space.make_field()
    fem.interpolate(fem.UniformField(fem.Cells(space.geometry), 2.5), dest=field)
    np.testing.assert_allclose(field.dof_values.numpy(), 2.5)


@fem.integrand
def slope(s: fem.Sample, u: fem.Field):
    return fem.grad(u, s)[0]


def test_mistakes_are_told():
    geo = fem.Grid2D(res=(1, 1))
    with pytest.raises(TypeError, match=re.escape("expected a type of matrices of 2 x 2 or 3 x 3, got vec2")):
        fem.SymmetricTensorMapper(wp.vec2)
    with pytest.raises(TypeError, match=re.escape("dof_mapper: expected a fem.DofMapper, got int")):
        fem.make_polynomial_space(geo, dof_mapper=1)
    with pytest.raises(ValueError, match="vec2f is not what dof_mapper makes: mat22f; leave dtype out"):
        fem.make_polynomial_space(geo, dtype=wp.vec2, dof_mapper=fem.SymmetricTensorMapper(wp.mat22))
    with pytest.raises(TypeError, match="mat22d has numbers of float64, and the geometry has float32"):
        fem.make_polynomial_space(geo, dof_mapper=fem.SymmetricTensorMapper(wp.mat22d))
    with pytest.raises(TypeError, match="UniformField: domain: expected a domain, got Grid2D"):
        fem.UniformField(geo, 1.0)
    mapped = fem.make_polynomial_space(geo, dof_mapper=fem.SymmetricTensorMapper(wp.mat22)).make_field()
    with pytest.raises(wp.CompileError, match="fields of matrices have no gradient"):
        fem.integrate(slope, domain=fem.Cells(geo), fields={"u": mapped})
