"""Finite elements side by side with warp-lang's, each in its own process, on the same grid.

    python benchmarks/fem.py [--size 100] [--rounds 7] [--only matrix-1 load-2] [--peer-python PYTHON]

The grid has `size` x `size` cells. Meshes are grids with moved vertices, in space of `size` / 5 cells in each
direction; each point of a quadrature looks up a random position in them. Before any time is taken, results of all are
compared. The implementations then take turns. The processor time of the fastest call of each is reported, summed over
threads, as other programs on the machine add less to it than to the time that passes. Compiling is measured in
processes with an empty cache of kernels: the first form of a process, which loads the compiler, then another form.
`passed` is the time that passes.
"""

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import peers
from harness.contenders import Contender, serve
from harness.report import ALONE, OURS, WARP, machine, table

# Task -> what it does.
TASKS = {
    "matrix-1": "matrix of the Laplacian, degree 1",
    "matrix-2": "the same, degree 2",
    "matrix-3": "the same, degree 3",
    "elasticity-2": "matrix of elasticity, degree 2",
    "sides-1": "matrix of jumps over sides, degree 1",
    "load-2": "array of a load, degree 2",
    "energy-2": "number: an energy, degree 2",
    "interpolate-2": "interpolation of a gradient, degree 2",
    "space-2": "space of degree 2, and its first matrix",
    "triangles-1": "lookup of positions in triangles",
    "quads-1": "lookup in quadrilaterals",
    "tets-1": "lookup in tetrahedra",
    "hexes-1": "lookup in hexahedra",
    "beyond-1": "lookup in triangles, for positions around them",
}
FORMS = ("first form", "another form", "a form of vectors", "a form on sides")


class Worker:
    """An implementation by a package like warp; answers the questions of `Contender`."""

    def __init__(self, package: str, threads: int, cache: str = ""):
        self.wp = wp = importlib.import_module(package)
        wp.config.quiet = True
        if package != "warp":
            wp.config.num_threads = threads
        if cache:
            wp.config.kernel_cache_dir = cache
        wp.init()
        wp.set_device("cpu")
        self.fem = importlib.import_module(f"{package}.fem")
        self.call: Callable[[], Any] = lambda: None
        self._define(wp, self.fem)

    def _define(self, wp: Any, fem: Any) -> None:
        @fem.integrand
        def laplacian(s: fem.Sample, u: fem.Field, v: fem.Field):
            return wp.dot(fem.grad(u, s), fem.grad(v, s))

        @fem.integrand
        def mass(s: fem.Sample, u: fem.Field, v: fem.Field):
            return u(s) * v(s)

        @fem.integrand
        def elasticity(s: fem.Sample, u: fem.Field, v: fem.Field):
            return wp.ddot(fem.D(u, s), fem.D(v, s)) + fem.div(u, s) * fem.div(v, s)

        @fem.integrand
        def load(s: fem.Sample, domain: fem.Domain, v: fem.Field):
            x = domain(s)
            return wp.sin(x[0]) * x[1] * v(s)

        @fem.integrand
        def energy(s: fem.Sample, f: fem.Field):
            return wp.length_sq(fem.grad(f, s)) * f(s)

        @fem.integrand
        def height(s: fem.Sample, domain: fem.Domain):
            x = domain(s)
            return x[0] * x[1]

        @fem.integrand
        def slope(s: fem.Sample, f: fem.Field):
            return fem.grad(f, s)[0]

        @fem.integrand
        def jumps(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field):
            n = fem.normal(domain, s)
            fluxes = fem.jump(u, s) * wp.dot(fem.grad_average(v, s), n)
            fluxes += fem.jump(v, s) * wp.dot(fem.grad_average(u, s), n)
            return 8.0 * fem.measure_ratio(domain, s) * fem.jump(u, s) * fem.jump(v, s) - fluxes

        @fem.integrand
        def in_plane(s: fem.Sample, domain: fem.Domain, f: fem.Field, x: wp.array(dtype=wp.vec2)):
            return f(fem.lookup(domain, x[s.qp_index]))

        @fem.integrand
        def in_space(s: fem.Sample, domain: fem.Domain, f: fem.Field, x: wp.array(dtype=wp.vec3)):
            return f(fem.lookup(domain, x[s.qp_index]))

        names = "laplacian mass elasticity load energy height slope jumps in_plane in_space"
        forms = laplacian, mass, elasticity, load, energy, height, slope, jumps, in_plane, in_space
        self.forms = dict(zip(names.split(), forms))

    def load(self, task: str, size: int) -> float:
        """Take a task, and return a number that its result must have."""
        name, _, degree = task.partition("-")
        geometry = self.fem.Grid2D(res=self.wp.vec2i(size, size))
        self.call = getattr(self, f"_{name}")(geometry, int(degree))
        return self._number(self.call())

    def _number(self, result: Any) -> float:
        if hasattr(result, "offsets"):
            result.nnz_sync()
            numbers = result.values.numpy()[: result.nnz]
            return float(np.abs(numbers.astype(np.float64)).sum())
        numbers = result.numpy() if hasattr(result, "numpy") else np.array(result)
        return float(np.abs(np.asarray(numbers, dtype=np.float64)).sum())

    def _fields(self, geometry: Any, degree: int, dtype: Any = None) -> dict[str, Any]:
        space = self.fem.make_polynomial_space(geometry, degree=degree, dtype=dtype or float)
        domain = self.fem.Cells(geometry)
        return {"u": self.fem.make_trial(space, domain=domain), "v": self.fem.make_test(space, domain=domain)}

    def _sides(self, geometry: Any, degree: int) -> Callable[[], Any]:
        fields = self._discontinuous(geometry, degree)
        return lambda: self.fem.integrate(self.forms["jumps"], fields=fields)

    def _discontinuous(self, geometry: Any, degree: int) -> dict[str, Any]:
        space = self.fem.make_polynomial_space(geometry, degree=degree, discontinuous=True)
        sides = self.fem.Sides(geometry)
        return {"u": self.fem.make_trial(space, domain=sides), "v": self.fem.make_test(space, domain=sides)}

    def _field(self, geometry: Any, degree: int) -> Any:
        field = self.fem.make_polynomial_space(geometry, degree=degree).make_field()
        self.fem.interpolate(self.forms["height"], dest=field)
        return field

    def _matrix(self, geometry: Any, degree: int) -> Callable[[], Any]:
        fields = self._fields(geometry, degree)
        return lambda: self.fem.integrate(self.forms["laplacian"], fields=fields)

    def _elasticity(self, geometry: Any, degree: int) -> Callable[[], Any]:
        fields = self._fields(geometry, degree, self.wp.vec2)
        return lambda: self.fem.integrate(self.forms["elasticity"], fields=fields)

    def _load(self, geometry: Any, degree: int) -> Callable[[], Any]:
        fields = {"v": self._fields(geometry, degree)["v"]}
        return lambda: self.fem.integrate(self.forms["load"], fields=fields)

    def _energy(self, geometry: Any, degree: int) -> Callable[[], Any]:
        field, domain = self._field(geometry, degree), self.fem.Cells(geometry)
        return lambda: self.fem.integrate(self.forms["energy"], domain=domain, fields={"f": field})

    def _interpolate(self, geometry: Any, degree: int) -> Callable[[], Any]:
        field = self._field(geometry, degree)
        dest = field.space.make_field()

        def call() -> Any:
            self.fem.interpolate(self.forms["slope"], dest=dest, fields={"f": field})
            return dest.dof_values

        return call

    def _space(self, geometry: Any, degree: int) -> Callable[[], Any]:
        def call() -> Any:
            fresh = self.fem.Grid2D(res=self.wp.vec2i(*geometry.res))
            return self.fem.integrate(self.forms["laplacian"], fields=self._fields(fresh, degree))

        return call

    def _triangles(self, geometry: Any, degree: int) -> Callable[[], Any]:
        return self._lookup("Trimesh2D", geometry.res[:2], [[0, 1, 3], [0, 3, 2]])

    def _beyond(self, geometry: Any, degree: int) -> Callable[[], Any]:
        return self._lookup("Trimesh2D", geometry.res[:2], [[0, 1, 3], [0, 3, 2]], 0.2)

    def _quads(self, geometry: Any, degree: int) -> Callable[[], Any]:
        return self._lookup("Quadmesh2D", geometry.res[:2], [[0, 2, 3, 1]])

    def _tets(self, geometry: Any, degree: int) -> Callable[[], Any]:
        paths = (4, 6), (6, 2), (2, 3), (3, 1), (1, 5), (5, 4)
        return self._lookup("Tetmesh", [geometry.res[0] // 5] * 3, [[0, *path, 7] for path in paths])

    def _hexes(self, geometry: Any, degree: int) -> Callable[[], Any]:
        return self._lookup("Hexmesh", [geometry.res[0] // 5] * 3, [[0, 4, 6, 2, 1, 5, 7, 3]])

    def _lookup(self, kind: str, res: Any, corners: list[list[int]], beyond: float = 0.0) -> Callable[[], Any]:
        """The values of a field at random positions, up to `beyond` around a mesh. `corners` are the vertices of cells
        in a box of a grid, numbered along the last axis first.
        """
        n, rng = len(res), np.random.default_rng(0)
        vector = (self.wp.vec2, self.wp.vec3)[n - 2]
        numbers = np.arange(np.prod([r + 1 for r in res])).reshape([r + 1 for r in res])
        points = np.stack(np.unravel_index(numbers.ravel(), numbers.shape), axis=1).astype(np.float64)
        is_inner = ((points > 0) & (points < res)).all(axis=1)
        points[is_inner] += rng.uniform(-0.25, 0.25, (is_inner.sum(), n))
        points /= np.array(res)
        boxes = [numbers[tuple(slice(c, c + r) for c, r in zip(corner, res))] for corner in np.ndindex(*[2] * n)]
        cells = np.stack([box.ravel() for box in boxes], axis=1)[:, corners].reshape(-1, len(corners[0]))
        tables = self.wp.array(cells.astype(np.int32), dtype=int), self.wp.array(points, dtype=vector)
        mesh = getattr(self.fem, kind)(*tables, build_bvh=True)
        field = self.fem.make_polynomial_space(mesh).make_field()
        self.fem.interpolate(self.forms["height"], dest=field)
        quadrature = self.fem.RegularQuadrature(self.fem.Cells(mesh), order=2)
        found = self.wp.zeros(quadrature.total_point_count(), dtype=float)
        x = self.wp.array(rng.uniform(-beyond, 1.0 + beyond, (found.size, n)), dtype=vector)

        def call() -> Any:
            given = {"fields": {"f": field}, "values": {"x": x}}
            self.fem.interpolate(self.forms[("in_plane", "in_space")[n - 2]], dest=found, at=quadrature, **given)
            return found

        return call

    def time(self) -> tuple[float, float]:
        """Return the seconds of processor time of a call, and those that pass."""
        start, passed = time.process_time(), time.perf_counter()
        self.call()
        return time.process_time() - start, time.perf_counter() - passed

    def compile(self) -> list[float]:
        """Return how much more processor time the first call of each form takes than later ones."""
        geometry, found = self.fem.Grid2D(res=self.wp.vec2i(2, 2)), []
        numbers, vectors = self._fields(geometry, 1), self._fields(geometry, 1, self.wp.vec2)
        sides = self._discontinuous(geometry, 1)
        forms = ("laplacian", numbers), ("mass", numbers), ("elasticity", vectors), ("jumps", sides)
        for name, fields in forms:
            times = []
            for _ in range(3):
                start = time.process_time()
                self.fem.integrate(self.forms[name], fields=fields)
                times.append(time.process_time() - start)
            found.append(times[0] - min(times[1:]))
        return found


def compiling(script: str, theirs: str, threads: int, rounds: int) -> list[list[str]]:
    """Rows of the table: how long the forms of new processes compile."""
    commands = {WARP: (theirs, "warp", 1), OURS: (sys.executable, "omni.warp_core", threads)}
    best: dict[str, list[float]] = {}
    for _ in range(rounds):
        for label, (python, package, count) in commands.items():
            with tempfile.TemporaryDirectory() as cache:
                worker = Contender(python, script, "--serve", package, count, cache)
                found = worker.ask("compile")
                worker.close()
            best[label] = [min(pair) for pair in zip(best.get(label, found), found)]
    rows = zip(FORMS, best[WARP], best[OURS])
    return [[what, f"{a * 1e3:.3g}", f"{b * 1e3:.3g}", f"{a / b:.2g}"] for what, a, b in rows]


def parse_arguments(about: str | None, tasks: dict[str, str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100, help="cells in each direction (default: 100)")
    parser.add_argument("--rounds", type=int, default=7, help="calls of each implementation (default: 7)")
    parser.add_argument("--compile-rounds", type=int, default=3, help="processes that compile (default: 3)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads (default: all cores)")
    parser.add_argument("--only", nargs="*", choices=tasks, default=list(tasks), metavar="TASK")
    parser.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has the peer (default: make one)")
    parser.add_argument("--serve", nargs="+", help=argparse.SUPPRESS)
    return parser.parse_args()


def run(worker: type[Worker], tasks: dict[str, str], script: str, about: str | None) -> int:
    """Run the tasks of a worker that a script defines, and print a table of times."""
    options = parse_arguments(about, tasks)
    if options.serve:
        package, threads, *cache = options.serve
        serve(worker, package, int(threads), *cache)
        return 0
    theirs = options.peer_python or str(peers.python())
    contenders = {
        WARP: Contender(theirs, script, "--serve", "warp", 1),
        ALONE: Contender(sys.executable, script, "--serve", "omni.warp_core", 1),
        OURS: Contender(sys.executable, script, "--serve", "omni.warp_core", options.threads),
    }
    rows = []
    for task in options.only:
        numbers = {label: contender.ask("load", task, options.size) for label, contender in contenders.items()}
        expected = numbers[WARP]
        if any(abs(number - expected) > 1e-4 * expected for number in numbers.values()):
            print(f"{task}: results differ: {numbers}")
            return 1
        turns = [
            {label: contender.ask("time") for label, contender in contenders.items()} for _ in range(options.rounds)
        ]
        best = {label: min(turn[label][0] for turn in turns) for label in contenders}
        passed = min(turn[OURS][1] for turn in turns)
        each = [f"{seconds * 1e3:.3g}" for seconds in (*best.values(), passed)]
        rows.append([tasks[task], *each, f"{best[WARP] / best[ALONE]:.2g}"])
    about = machine()
    print(f"{about['processor']}; {about['cores']} cores; {about['system']}; {about['date']}")
    header = ("processor ms", WARP, ALONE, f"ours, {options.threads}", "passed", "warp ÷ ours, 1")
    print(table(header, rows))
    if options.compile_rounds:
        header = ("processor ms to compile", WARP, "ours", "warp ÷ ours")
        print(table(header, compiling(script, theirs, options.threads, options.compile_rounds)))
    return 0


if __name__ == "__main__":
    sys.exit(run(Worker, TASKS, __file__, __doc__))
