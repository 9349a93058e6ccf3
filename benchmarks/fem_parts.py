"""Parts of finite elements side by side with warp-lang's: sparse grids, splines, vector-valued shape functions,
particles and deformed geometries. Options and columns are those of benchmarks/fem.py.

    python benchmarks/fem_parts.py [--size 24] [--rounds 7] [--only nanogrid-1 pic-1] [--peer-python PYTHON]

Grids in space have `size` / 4 cells in each direction, the sparse grid the cells near a sphere in one of `size` / 2.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from fem import Worker, run

# Task -> what it does.
TASKS = {
    "nanogrid-1": "matrix of the Laplacian in a sparse grid, degree 1",
    "nanogrid-2": "the same, degree 2",
    "voxels-1": "lookup of positions in a sparse grid",
    "splines-2": "matrix of the Laplacian of B-splines, degree 2",
    "splines-3": "the same, degree 3",
    "edges-1": "matrix of curls, shape functions of edges",
    "flows-1": "matrix of divergences, shape functions of sides",
    "particles-1": "particles looked up and sorted",
    "momenta-1": "array of momenta of particles",
    "strains-1": "matrix of strains at particles",
    "gather-1": "velocities at particles",
    "curved-2": "matrix of the Laplacian in a ring of degree 2",
}


class PartsWorker(Worker):
    """The implementations of these tasks."""

    def _define(self, wp: Any, fem: Any) -> None:
        super()._define(wp, fem)

        @fem.integrand
        def curls(s: fem.Sample, u: fem.Field, v: fem.Field):
            return wp.dot(fem.curl(u, s), fem.curl(v, s))

        @fem.integrand
        def divergences(s: fem.Sample, u: fem.Field, v: fem.Field):
            return fem.div(u, s) * fem.div(v, s)

        @fem.integrand
        def momenta(s: fem.Sample, v: fem.Field, x: wp.array(dtype=wp.vec3)):
            return wp.dot(x[s.qp_index], v(s))

        @fem.integrand
        def strains(s: fem.Sample, u: fem.Field, v: fem.Field):
            return wp.ddot(fem.D(u, s), v(s))

        @fem.integrand
        def gathered(s: fem.Sample, f: fem.Field, found: wp.array(dtype=wp.vec3)):
            found[s.qp_index] = f(s)

        @fem.integrand
        def swirl(s: fem.Sample, domain: fem.Domain):
            x = domain(s)
            return wp.vec3(x[0] - x[1], 2.0 * x[0], x[2] * x[0])

        names = "curls divergences momenta strains gathered swirl"
        self.forms |= dict(zip(names.split(), (curls, divergences, momenta, strains, gathered, swirl)))

    def _grid(self, geometry: Any) -> Any:
        """A grid in space, as wide as a quarter of the size."""
        return self.fem.Grid3D(res=self.wp.vec3i(*[max(geometry.res[0] // 4, 2)] * 3))

    def _matrix_of(self, form: str, space: Any) -> Callable[[], Any]:
        fields = {"u": self.fem.make_trial(space), "v": self.fem.make_test(space)}
        return lambda: self.fem.integrate(self.forms[form], fields=fields)

    # -- sparse grids --

    def _shell(self, geometry: Any) -> tuple[Any, np.ndarray]:
        """The cells near a sphere, and their centres."""
        n = geometry.res[0] // 2  # voxels along an edge of the box
        around = np.stack(np.meshgrid(*[np.arange(-n // 2, n // 2)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        near = around[np.abs(np.linalg.norm(around + 0.5, axis=1) - 0.4 * n) < 1.5]
        voxels = self.wp.array(near.astype(np.int32), dtype=self.wp.vec3i)
        return self.fem.Nanogrid(self.wp.Volume.allocate_by_voxels(voxels, voxel_size=1.0 / n, device="cpu")), near / n

    def _nanogrid(self, geometry: Any, degree: int) -> Callable[[], Any]:
        return self._matrix_of("laplacian", self.fem.make_polynomial_space(self._shell(geometry)[0], degree=degree))

    def _voxels(self, geometry: Any, degree: int) -> Callable[[], Any]:
        (grid, centres), fem = self._shell(geometry), self.fem
        field = self._field(grid, degree)
        points = fem.RegularQuadrature(fem.Cells(grid), order=2)
        found = self.wp.zeros(points.total_point_count(), dtype=float)
        rng = np.random.default_rng(0)
        half = 1.0 / geometry.res[0]  # of a voxel
        at = centres[rng.integers(len(centres), size=found.size)] + rng.uniform(-half, half, (found.size, 3))
        given = {"fields": {"f": field}, "values": {"x": self.wp.array(at, dtype=self.wp.vec3)}}

        def call() -> Any:
            fem.interpolate(self.forms["in_space"], dest=found, at=points, **given)
            return found

        return call

    # -- shape functions --

    def _splines(self, geometry: Any, degree: int) -> Callable[[], Any]:
        basis = self.fem.ElementBasis.BSPLINE
        return self._matrix_of(
            "laplacian", self.fem.make_polynomial_space(geometry, degree=degree, element_basis=basis)
        )

    def _of_vectors(self, form: str, geometry: Any, basis: Any) -> Callable[[], Any]:
        """A matrix of vector-valued shape functions. Packages scale these in their own ways, so that the energy of a
        field is compared.
        """
        space = self.fem.make_polynomial_space(self._grid(geometry), element_basis=basis)
        field = space.make_field()
        self.fem.interpolate(self.forms["swirl"], dest=field)
        self._dofs = field.dof_values
        return self._matrix_of(form, space)

    def load(self, task: str, size: int) -> float:
        """Take a task, and return a number that its result must have."""
        self._dofs, self._unit = None, 1.0
        if task == "edges-1" and self.wp.__name__ == "warp":
            self._unit = 4.0  # what it calls curl is half of the curl
        return super().load(task, size)

    def _number(self, result: Any) -> float:
        if self._dofs is None:
            return super()._number(result)
        return self._unit * float(np.dot(self._dofs.numpy(), (result @ self._dofs).numpy()))

    def _edges(self, geometry: Any, degree: int) -> Callable[[], Any]:
        return self._of_vectors("curls", geometry, self.fem.ElementBasis.NEDELEC_FIRST_KIND)

    def _flows(self, geometry: Any, degree: int) -> Callable[[], Any]:
        return self._of_vectors("divergences", geometry, self.fem.ElementBasis.RAVIART_THOMAS)

    def _curved(self, geometry: Any, degree: int) -> Callable[[], Any]:
        field = self.fem.make_polynomial_space(geometry, degree=degree, dtype=self.wp.vec2).make_field()
        x = field.space.node_positions().numpy()
        places = np.stack([(1.0 + x[:, 0]) * np.cos(x[:, 1]), (1.0 + x[:, 0]) * np.sin(x[:, 1])], axis=1)
        field.dof_values = self.wp.array(places, dtype=self.wp.vec2)
        ring = field.make_deformed_geometry(relative=False)
        return self._matrix_of("laplacian", self.fem.make_polynomial_space(ring, degree=degree))

    # -- particles --

    def _cloud(self, geometry: Any) -> tuple[Any, Any]:
        """A grid, and eight particles for each of its cells."""
        grid = self._grid(geometry)
        at = np.random.default_rng(0).uniform(0.0, 1.0, (8 * grid.cell_count(), 3))
        return grid, self.wp.array(at, dtype=self.wp.vec3)

    def _particles(self, geometry: Any, degree: int) -> Callable[[], Any]:
        grid, at = self._cloud(geometry)
        domain = self.fem.Cells(grid)
        return lambda: self.fem.PicQuadrature(domain, at).cell_particle_offsets

    def _momenta(self, geometry: Any, degree: int) -> Callable[[], Any]:
        grid, at = self._cloud(geometry)
        pic = self.fem.PicQuadrature(self.fem.Cells(grid), at)
        test = self.fem.make_test(self.fem.make_polynomial_space(grid, degree=degree, dtype=self.wp.vec3))
        given = {"quadrature": pic, "fields": {"v": test}, "values": {"x": at}, "output_dtype": self.wp.vec3}
        return lambda: self.fem.integrate(self.forms["momenta"], **given)

    def _strains(self, geometry: Any, degree: int) -> Callable[[], Any]:
        grid, at = self._cloud(geometry)
        pic = self.fem.PicQuadrature(self.fem.Cells(grid), at)
        speeds = self.fem.make_polynomial_space(grid, degree=degree, dtype=self.wp.vec3)
        mapper = self.fem.SymmetricTensorMapper(self.wp.mat33)
        stresses = self.fem.make_collocated_function_space(self.fem.PointBasisSpace(pic), dof_mapper=mapper)
        fields = {"u": self.fem.make_trial(speeds), "v": self.fem.make_test(stresses)}
        return lambda: self.fem.integrate(self.forms["strains"], quadrature=pic, fields=fields)

    def _gather(self, geometry: Any, degree: int) -> Callable[[], Any]:
        grid, at = self._cloud(geometry)
        pic = self.fem.PicQuadrature(self.fem.Cells(grid), at)
        field = self.fem.make_polynomial_space(grid, degree=degree, dtype=self.wp.vec3).make_field()
        field.dof_values.fill_(self.wp.vec3(1.0, 2.0, 3.0))
        found = self.wp.zeros(len(at), dtype=self.wp.vec3)

        def call() -> Any:
            values = {"found": found}
            self.fem.interpolate(self.forms["gathered"], at=pic, fields={"f": field}, values=values)
            return found

        return call


if __name__ == "__main__":
    sys.exit(run(PartsWorker, TASKS, __file__, __doc__))
