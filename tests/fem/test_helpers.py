"""`fem.linalg`, `fem.utils` and `fem.polynomial`: against NumPy, and volumes and sides counted by hand."""

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from omni.warp_core.fem import linalg, utils
from omni.warp_core.fem.geometries.reference_cells import quadrature, reference_cell
from omni.warp_core.fem.geometries.shape_functions import make_shape

SIZES = (2, 3, 5)


@wp.kernel
def decompose(a: wp.Any, out: wp.array(dtype=wp.Any), values: wp.array(dtype=wp.Any), b: wp.Any):
    s = linalg.symmetric_part(a)
    d, p = linalg.symmetric_eigenvalues_qr(s, a.dtype(0.0))
    q, r = linalg.householder_qr_decomposition(a)
    out[0] = s
    out[1] = p
    out[2] = q
    out[3] = r
    out[4] = linalg.inverse_qr(a)
    out[5] = linalg.spherical_part(a)
    out[6] = linalg.generalized_outer(b, d)
    turn, h = linalg.householder_make_hessenberg(a)
    out[7] = turn
    out[8] = h
    turn_s, t = linalg.householder_make_hessenberg(s)
    below = b - b
    for i in range(len(b) - 1):
        below[i] = t[i + 1, i]
    values[4], out[9] = linalg.tridiagonal_symmetric_eigenvalues_qr(wp.get_diag(t), below, turn_s, a.dtype(0.0))
    values[0] = d
    values[1] = linalg.solve_triangular(r, b)
    values[2] = linalg.generalized_outer(linalg.generalized_inner(a, s), b)
    values[3] = linalg.generalized_outer(linalg.generalized_inner(b, b), b)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("scalar", "close"), [(wp.float32, 3e-5), (wp.float64, 1e-12)])
def test_decompositions(size, scalar, close):
    rng = np.random.default_rng(size)
    a, b = rng.normal(size=(size, size)), rng.normal(size=size)
    matrix, vector = wp.types.matrix((size, size), scalar), wp.types.vector(size, scalar)
    out, values = wp.zeros(10, dtype=matrix), wp.zeros(5, dtype=vector)
    wp.launch(decompose, dim=1, inputs=[matrix(*a.ravel()), out, values, vector(*b)])
    s, p, q, r, inverse, spherical, outer, turn, h, rows = out.numpy().astype(float)
    d, solution, inner, own, d_of_three = values.numpy().astype(float)
    same = {"atol": close * 10.0, "rtol": close * 100.0}
    np.testing.assert_allclose(s, (a + a.T) / 2.0, **same)
    np.testing.assert_allclose(p.T @ np.diag(d) @ p, s, **same)
    np.testing.assert_allclose(np.sort(d), np.linalg.eigvalsh(s), **same)
    np.testing.assert_allclose(p @ p.T, np.eye(size), **same)
    np.testing.assert_allclose(q @ r, a, **same)
    np.testing.assert_allclose(q @ q.T, np.eye(size), **same)
    assert np.abs(np.tril(r, -1)).max() == 0.0
    np.testing.assert_allclose(inverse @ a, np.eye(size), atol=close * 100.0)
    np.testing.assert_allclose(spherical, np.trace(a) / size * np.eye(size), **same)
    np.testing.assert_allclose(outer, np.outer(b, d), **same)
    np.testing.assert_allclose(r @ solution, b, **same)
    np.testing.assert_allclose(inner, (a * s).sum() * b, **same)
    np.testing.assert_allclose(own, (b @ b) * b, **same)
    np.testing.assert_allclose(turn @ h @ turn.T, a, **same)
    np.testing.assert_allclose(turn @ turn.T, np.eye(size), **same)
    assert np.abs(np.tril(h, -2)).max() == 0.0
    np.testing.assert_allclose(np.sort(d_of_three), np.linalg.eigvalsh(s), **same)
    np.testing.assert_allclose(rows.T @ np.diag(d_of_three) @ rows, s, **same)


@wp.kernel
def rotations(plane: wp.mat22d, space: wp.mat33d, out: wp.array(dtype=wp.float64), vector: wp.array(dtype=wp.vec3d)):
    out[0] = linalg.skew_part(plane)
    vector[0] = linalg.skew_part(space)


def test_skew_parts_are_rotations():
    out, vector = wp.zeros(1, dtype=wp.float64), wp.zeros(1, dtype=wp.vec3d)
    w = np.array([1.0, 2.0, 3.0])
    cross = np.array([np.cross(w, e) for e in np.eye(3)]).T
    wp.launch(rotations, dim=1, inputs=[wp.mat22d(5.0, -2.0, 2.0, 7.0), wp.mat33d(*cross.ravel()), out, vector])
    assert out.list() == [2.0]
    assert vector.numpy()[0].tolist() == w.tolist()


def test_axpy():
    x, y = (wp.array(np.arange(6.0).reshape(3, 2) + k, dtype=wp.vec2) for k in (0.0, 1.0))
    linalg.array_axpy(x, y, alpha=2.0, beta=-1.0)
    np.testing.assert_allclose(y.numpy(), np.arange(6.0).reshape(3, 2) - 1.0)
    with pytest.raises(ValueError, match="must be alike"):
        linalg.array_axpy(x, wp.zeros(3, dtype=float))


def lattice(*shape):
    axes = [np.arange(n + 1.0) for n in shape]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(shape))


def test_tetrahedra_fill_a_grid_without_gaps():
    cells = utils.grid_to_tets(2, 3, 4)
    corners = lattice(2, 3, 4)[cells]
    volumes = np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6.0
    assert volumes.min() > 0.0 and volumes.sum() == pytest.approx(24.0)
    geo = fem.Tetmesh(wp.array(cells, dtype=int), wp.array(lattice(2, 3, 4), dtype=wp.vec3))
    assert geo.boundary_side_count() == 2 * 2 * (2 * 3 + 3 * 4 + 2 * 4)


def test_cells_of_grids():
    assert utils.grid_to_quads(2, 3)[[0, 3]].tolist() == [[0, 4, 5, 1], [4, 8, 9, 5]]
    assert utils.grid_to_tris(2, 3)[:2].tolist() == [[0, 4, 5], [0, 5, 1]]
    hexes = utils.grid_to_hexes(1, 2, 3)
    assert hexes[1].tolist() == [1, 13, 17, 5, 2, 14, 18, 6]
    positions = wp.array(lattice(1, 2, 3), dtype=wp.vec3)
    assert fem.Hexmesh(wp.array(hexes, dtype=int), positions).boundary_side_count() == 2 * (2 + 3 + 6)
    with pytest.raises(ValueError, match="expected numbers of cells of 1 or more"):
        utils.grid_to_quads(0, 1)


@pytest.mark.parametrize("kind", list(fem.Element), ids=lambda kind: kind.name)
@pytest.mark.parametrize("order", range(8))
def test_quadratures_are_exact(kind, order):
    """Integrals of monomials, known by formula."""
    cell = reference_cell(kind)
    points, weights = quadrature(kind, order)
    assert weights.min() > 0.0 and weights.sum() == pytest.approx(1.0, abs=1e-14)
    factorial = np.cumprod([1.0, *range(1, 20)])
    for e in np.ndindex(*[order + 1] * cell.dimension):
        if sum(e) <= order:
            exact = np.prod([1.0 / (k + 1) for k in e])
            if cell.is_simplex:
                exact = np.prod([factorial[k] for k in e]) / factorial[sum(e) + cell.dimension]
            found = cell.volume * (weights * (points ** np.array(e)).prod(axis=1)).sum()
            assert found == pytest.approx(exact, abs=1e-14)


@pytest.mark.parametrize("kind", list(fem.Element), ids=lambda kind: kind.name)
@pytest.mark.parametrize("basis", [fem.ElementBasis.LAGRANGE, fem.ElementBasis.SERENDIPITY])
def test_weights_of_nodes_are_positive(kind, basis):
    """And exact for linear functions. Else a projector would not fix the values at some nodes."""
    is_simplex = reference_cell(kind).is_simplex
    for degree in (1, 2, 3) if basis is fem.ElementBasis.LAGRANGE else (2, 3):
        if basis is fem.ElementBasis.SERENDIPITY and is_simplex:
            continue
        shape = make_shape(kind, degree, basis)
        weights = shape.nodal_weights()
        assert weights.min() > 1e-4 and weights.sum() == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(weights @ shape.nodes, reference_cell(kind).vertices.mean(axis=0), atol=1e-14)


@pytest.mark.parametrize("family", list(fem.Polynomial), ids=lambda family: family.name)
def test_families_of_points(family):
    geo = fem.Grid2D(res=(2, 2), scalar_type=wp.float64)
    for order in range(5):
        points, weights = quadrature(fem.Element.SQUARE, order, family)
        assert weights @ points[:, 0] ** order == pytest.approx(1.0 / (order + 1), abs=1e-13)
    points, weights = fem.polynomial.quadrature_1d(4, family)
    np.testing.assert_allclose(weights @ points**3, 0.25, atol=1e-14)
    scales = fem.polynomial.lagrange_scales(points)
    np.testing.assert_allclose(scales, 1.0 / np.polyval(np.polyder(np.poly(points)), points), rtol=1e-10)
    space = fem.make_polynomial_space(geo, degree=3, family=family, discontinuous=True)
    assert space.node_count() == 4 * 16
