"""A step of the implicit material point method, as simulators write it: particles in a sparse grid, velocities at its
nodes, stresses at particles. Judged by the same step in NumPy, and by what a step conserves.
"""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem
from omni.warp_core.optim.linear import cg, preconditioner
from omni.warp_core.sparse import bsr_axpy, bsr_diag, bsr_mm, bsr_transposed, bsr_zeros

H, DT, STIFFNESS, DENSITY = 0.25, 0.05, 40.0, 3.0
GRAVITY = np.array([0.0, 0.0, -9.0])
VEC6 = wp.types.vector(6, wp.float64)


@fem.integrand
def mass(s: fem.Sample, v: fem.Field, density: wp.float64):
    return density * v(s)


@fem.integrand
def momentum(
    s: fem.Sample,
    domain: fem.Domain,
    v: fem.Field,
    speeds: wp.array(dtype=wp.vec3d),
    slopes: wp.array(dtype=wp.mat33d),
    density: wp.float64,
    push: wp.vec3d,
):
    away = domain(fem.at_node(v, s)) - domain(s)
    return density * wp.dot(speeds[s.qp_index] + slopes[s.qp_index] * away + push, v(s))


@fem.integrand
def strain(s: fem.Sample, u: fem.Field, tau: fem.Field):
    return wp.ddot(fem.D(u, s), tau(s))


@fem.integrand
def value(s: fem.Sample, u: fem.Field):
    return u(s)


@fem.integrand
def gather_slopes(s: fem.Sample, u: fem.Field, slopes: wp.array(dtype=wp.mat33d)):
    slopes[s.qp_index] = fem.grad(u, s)


def cloud():
    """A turning ball of particles, each with an affine velocity and a part of the ball."""
    rng = np.random.default_rng(2)
    x = rng.uniform(-0.5, 0.5, (1500, 3))
    x = x[np.linalg.norm(x, axis=1) < 0.5][:400]
    spin = np.array([[0.0, -2.0, 0.3], [2.0, 0.0, 0.0], [-0.3, 0.0, 0.0]])
    slopes = np.tile(spin + 0.5 * rng.normal(size=(3, 3)), (len(x), 1, 1))
    return SimpleNamespace(
        x=x,
        v=x @ slopes[0].T + rng.normal(size=x.shape) * 0.1 + (1.0, 0.0, 0.0),
        slopes=slopes,
        volume=rng.uniform(0.5, 1.5, len(x)) * 0.5 / len(x),
    )


def grid_around(x):
    """A sparse grid that has the cells of particles and those around them."""
    cells = np.unique(np.floor(x / H + 0.5).astype(np.int32), axis=0)
    near = np.array(list(itertools.product((-1, 0, 1), repeat=3)))
    voxels = np.unique((cells[:, None] + near).reshape(-1, 3), axis=0).astype(np.int32)
    return fem.Nanogrid(
        wp.Volume.allocate_by_voxels(wp.array(voxels, dtype=wp.vec3i), voxel_size=H), scalar_type=wp.float64
    )


def blocks(numbers, size):
    """The diagonal matrix of blocks that are multiples of the identity."""
    diagonal = np.asarray(numbers, dtype=float)[:, None, None] * np.eye(size)
    return bsr_diag(diag=wp.array(diagonal, dtype=wp.types.matrix((size, size), wp.float64)))


def step(particles):
    """One step with the package."""
    grid = grid_around(particles.x)
    at, volume = wp.array(particles.x, dtype=wp.vec3d), wp.array(particles.volume, dtype=wp.float64)
    active = wp.zeros(grid.cell_count(), dtype=int)
    counts = np.diff(fem.PicQuadrature(fem.Cells(grid), at).cell_particle_offsets.numpy())
    active.assign((counts > 0).astype(np.int32))
    part = fem.ExplicitGeometryPartition(grid, active)
    domain = fem.Cells(part)
    pic = fem.PicQuadrature(domain, at, measures=volume)

    basis = fem.make_polynomial_basis_space(grid)
    velocities = fem.make_collocated_function_space(basis, dtype=wp.vec3d)
    fractions = fem.make_collocated_function_space(basis, dtype=wp.float64)
    nodes = fem.make_space_partition(velocities.topology, part, with_halo=False)
    restriction = fem.make_space_restriction(nodes, domain=domain)
    mapper = fem.SymmetricTensorMapper(dtype=wp.mat33d, mapping=fem.SymmetricTensorMapper.Mapping.DB16)
    stresses = fem.make_collocated_function_space(
        fem.PointBasisSpace(pic, use_evaluation_point_index=True), dof_mapper=mapper
    )
    test = fem.make_test(velocities, space_restriction=restriction)
    trial = fem.make_trial(velocities, space_partition=nodes, domain=domain)

    of_numbers = fem.make_test(fractions, space_restriction=restriction)
    masses = fem.integrate(mass, quadrature=pic, fields={"v": of_numbers}, values={"density": DENSITY})
    given = {"speeds": wp.array(particles.v, dtype=wp.vec3d), "slopes": wp.array(particles.slopes, dtype=wp.mat33d)}
    given |= {"density": DENSITY, "push": wp.vec3d(*(DT * GRAVITY))}
    b = fem.integrate(momentum, quadrature=pic, fields={"v": test}, values=given, output_dtype=wp.vec3d)
    strains = fem.integrate(strain, quadrature=pic, fields={"u": trial, "tau": fem.make_test(stresses)})

    # the basis of mapped tensors is orthogonal, so |strain|^2 is the sum of squares by the square of their length
    order = pic.cell_particle_indices.numpy()
    length = (np.array(mapper.dof_to_value(VEC6(1.0, *[0.0] * 5))) ** 2).sum()
    stiffness = blocks(2.0 * STIFFNESS * DT * DT / length / particles.volume[order], 6)
    matrix = bsr_mm(bsr_transposed(strains), bsr_mm(stiffness, strains))
    bsr_axpy(blocks(masses.numpy(), 3), matrix)
    found = fem.make_discrete_field(velocities, space_partition=nodes)
    cg(matrix, b=b, x=found.dof_values, tol=1e-13, maxiter=2000, M=preconditioner(matrix, "diag"))

    to_particles = bsr_zeros(len(particles.x), nodes.node_count(), wp.float64)
    numbers = fem.make_trial(fractions, space_partition=nodes, domain=domain)
    fem.interpolate(value, dest=to_particles, at=pic, fields={"u": numbers})
    slopes, speeds = wp.zeros(len(particles.x), dtype=wp.mat33d), found.dof_values.numpy()
    fem.interpolate(gather_slopes, at=pic, fields={"u": found}, values={"slopes": slopes})
    return SimpleNamespace(
        corners=np.rint(velocities.node_positions()[nodes.space_node_indices().numpy()] / H + 0.5).astype(int),
        masses=masses.numpy().astype(float),
        momenta=b.numpy().astype(float),
        speeds=speeds.astype(float),
        gathered=np.stack([(to_particles @ wp.array(c, dtype=wp.float64)).numpy() for c in speeds.T], axis=1).astype(
            float
        ),
        slopes=slopes.numpy().astype(float),
    )


def judged(particles, corners):
    """The same step in NumPy, in float64: a dense system in the order of nodes."""
    number = {tuple(c): i for i, c in enumerate(corners)}
    count, places = len(corners), particles.x / H + 0.5
    cells = np.floor(places).astype(int)
    weights, slopes = np.zeros((len(places), count)), np.zeros((len(places), count, 3))
    for p, (cell, f) in enumerate(zip(cells, places - cells)):
        for corner in itertools.product((0, 1), repeat=3):
            i = number[tuple(cell + corner)]
            factors = np.where(corner, f, 1.0 - f)
            weights[p, i] = factors.prod()
            for d in range(3):
                others = np.delete(factors, d).prod()
                slopes[p, i, d] = (1.0 if corner[d] else -1.0) * others / H
    m = DENSITY * particles.volume
    masses = m @ weights
    away = (corners[None] - 0.5) * H - particles.x[:, None]
    speeds = particles.v[:, None] + np.einsum("pij,pnj->pni", particles.slopes, away) + DT * GRAVITY
    momenta = np.einsum("p,pn,pni->ni", m, weights, speeds)
    # the energy of strains is the sum of volume * STIFFNESS * |strain|^2, and strain = (grad + grad^T) / 2
    eye = np.eye(3)
    gradients = np.einsum("pnj,ik->pnkij", slopes, eye).reshape(len(places), 3 * count, 3, 3)
    strains = 0.5 * (gradients + gradients.transpose(0, 1, 3, 2))
    elastic = 2.0 * STIFFNESS * DT * DT * np.einsum("p,paij,pbij->ab", particles.volume, strains, strains)
    found = np.linalg.solve(np.kron(np.diag(masses), eye) + elastic, momenta.ravel()).reshape(-1, 3)
    energy = 0.5 * found.ravel() @ elastic @ found.ravel()
    after = SimpleNamespace(masses=masses, momenta=momenta, speeds=found, energy=energy, weights=weights)
    after.gathered, after.slopes = weights @ found, np.einsum("pnj,ni->pij", slopes, found)
    return after


@pytest.fixture(scope="module")
def both():
    particles = cloud()
    found = step(particles)
    return particles, found, judged(particles, found.corners)


@pytest.mark.parametrize("what", ["masses", "momenta", "speeds", "gathered", "slopes"])
def test_a_step_is_that_of_numpy(both, what):
    _, found, expected = both
    got, wanted = getattr(found, what), getattr(expected, what)
    assert np.abs(got - wanted).max() < 1e-8 * np.abs(wanted).max()


def test_a_step_keeps_mass_and_momentum(both):
    particles, found, _ = both
    m = DENSITY * particles.volume
    assert found.masses.sum() == pytest.approx(m.sum(), rel=1e-12)
    after = found.masses @ found.speeds
    assert np.allclose(after, m @ (particles.v + DT * GRAVITY), atol=1e-9 * m.sum())
    assert np.allclose(m @ found.gathered, after, atol=1e-9 * m.sum())
    at = (found.corners - 0.5) * H
    before = np.cross(at, found.momenta).sum(axis=0)  # elastic forces are symmetric, and so turn nothing
    assert np.allclose(np.cross(at, found.masses[:, None] * found.speeds).sum(axis=0), before, atol=1e-9 * m.sum())


def test_a_step_makes_no_energy(both):
    _, found, expected = both
    before = 0.5 * (found.momenta**2 / found.masses[:, None]).sum()
    after = 0.5 * (found.masses[:, None] * found.speeds**2).sum()
    assert 0.0 < expected.energy < 0.5 * before
    assert after + expected.energy < before
