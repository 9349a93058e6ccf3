"""Two problems on a grid whose rows are divided among processes or devices: heat, and electromagnetic waves (FDTD).

A slab of rows has one more row at each end, which belongs to a neighbour: the halo. The kernels are the same for all
programs of this folder. `alone` solves a problem in one process; the others must give the same bits.
"""

import numpy as np

import omni.warp_core as wp

RATE = 0.2  # of heat, per step
COURANT = 0.5  # of waves


@wp.kernel
def diffuse(u: wp.array2d[float], rate: float, first: int, new: wp.array2d[float]):
    """One step of heat. `u` has halo rows; row 0 of the slab is row `first` of `new`."""
    i, j = wp.tid()
    left = wp.max(j - 1, 0)
    right = wp.min(j + 1, u.shape[1] - 1)
    around = u[i, j] + u[i + 2, j] + u[i + 1, left] + u[i + 1, right]
    new[i + first, j] = u[i + 1, j] + rate * (around - 4.0 * u[i + 1, j])


@wp.kernel
def magnetic(ez: wp.array2d[float], courant: float, first: int, hx: wp.array2d[float], hy: wp.array2d[float]):
    """Half a step of waves. `ez` has halo rows; row 0 of the slab is row `first` of `hx`."""
    i, j = wp.tid()
    here = ez[i + 1, j]
    hx[i + first, j] -= courant * (ez[i + 2, j] - here)
    if j + 1 < ez.shape[1]:
        hy[i, j] += courant * (ez[i + 1, j + 1] - here)


@wp.kernel
def electric(hx: wp.array2d[float], hy: wp.array2d[float], courant: float, first: int, ez: wp.array2d[float]):
    """The other half. `hx` has halo rows; row 0 of the slab is row `first` of `ez`."""
    i, j = wp.tid()
    curl = hy[i, j] - hx[i + 1, j] + hx[i, j]
    if j > 0:
        curl -= hy[i, j - 1]
    ez[i + first, j] += courant * curl


def start(rows: int, columns: int) -> np.ndarray:
    """Temperatures or electric field at the start: two bumps."""
    y, x = np.mgrid[0:rows, 0:columns] / max(rows, columns)
    bumps = np.exp(-200 * ((x - 0.4) ** 2 + (y - 0.3) ** 2)) + 0.5 * np.exp(-300 * ((x - 0.6) ** 2 + (y - 0.6) ** 2))
    return bumps.astype(np.float32)


def slab(rows: np.ndarray) -> wp.array:
    """An array of some rows, with halo rows of zeros."""
    return wp.array(np.pad(rows, ((1, 1), (0, 0))), dtype=float)


class Heat:
    """A slab of the heat problem. `exchange(array, needs)` fills the halo rows of an array that a step reads."""

    def __init__(self, rows: np.ndarray):
        self.u, self.new = slab(rows), slab(np.zeros_like(rows))

    def step(self, exchange):
        """Advance by one step."""
        exchange(self.u, "both")
        dim = (self.u.shape[0] - 2, self.u.shape[1])
        wp.launch(diffuse, dim, [self.u, RATE, 1], [self.new])
        self.u, self.new = self.new, self.u

    @property
    def result(self) -> np.ndarray:
        """The rows of the slab."""
        return self.u.numpy()[1:-1]


class Waves:
    """A slab of the wave problem."""

    def __init__(self, rows: np.ndarray):
        self.ez, self.hx = slab(rows), slab(np.zeros_like(rows))
        self.hy = wp.zeros(rows.shape, dtype=float)

    def step(self, exchange):
        """Advance by one step."""
        exchange(self.ez, "below")
        wp.launch(magnetic, self.hy.shape, [self.ez, COURANT, 1], [self.hx, self.hy])
        exchange(self.hx, "above")
        wp.launch(electric, self.hy.shape, [self.hx, self.hy, COURANT, 1], [self.ez])

    @property
    def result(self) -> np.ndarray:
        """The rows of the slab."""
        return self.ez.numpy()[1:-1]


PROBLEMS = {"heat": Heat, "waves": Waves}


def alone(problem: str, rows: int, columns: int, steps: int) -> np.ndarray:
    """Solve a problem in this process; halo rows at the ends of the grid stay zero."""
    whole = PROBLEMS[problem](start(rows, columns))
    for _ in range(steps):
        whole.step(lambda array, needs: None)
    return whole.result


def own_rows(rows: int, rank: int, size: int) -> slice:
    """The rows of the grid that a process has."""
    return slice(rows * rank // size, rows * (rank + 1) // size)
