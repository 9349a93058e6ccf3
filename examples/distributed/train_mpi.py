"""Training on the processes of MPI: each rank simulates its part of the data, and gradients are summed over ranks.

    mpirun -n 4 python examples/distributed/train_mpi.py

Balls are thrown with known speeds, and drag slows them down. Where they landed is known; the drag and the wind are
wanted. The loss is a sum over balls, so its gradient is the sum of the gradients of the ranks.
"""

import argparse

import numpy as np
from mpi4py import MPI
from stencils import own_rows

import omni.warp_core as wp

STEPS, DT = 50, 0.04
TRUTH = (0.15, 0.8)  # drag, wind


@wp.kernel
def fly(speed: wp.array[wp.vec2d], parameters: wp.array[wp.float64], end: wp.array[wp.vec2d]):
    i = wp.tid()
    v, x = speed[i], wp.vec2d()
    for _ in range(STEPS):
        air = v - wp.vec2d(parameters[1], wp.float64(0.0))
        v += wp.float64(DT) * (wp.vec2d(wp.float64(0.0), wp.float64(-9.81)) - parameters[0] * wp.length(air) * air)
        x += wp.float64(DT) * v
    end[i] = x


@wp.kernel
def miss(end: wp.array[wp.vec2d], target: wp.array[wp.vec2d], loss: wp.array[wp.float64]):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.length_sq(end[i] - target[i]))


class Throws:
    """Balls with their speeds, and where they should land."""

    def __init__(self, speeds: np.ndarray):
        self.speed = wp.array(speeds, dtype=wp.vec2d)
        self.end = wp.zeros(len(speeds), dtype=wp.vec2d, requires_grad=True)
        self.parameters = wp.array(TRUTH, dtype=wp.float64, requires_grad=True)
        self.loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
        wp.launch(fly, len(speeds), [self.speed, self.parameters], [self.end])
        self.target = wp.clone(self.end, requires_grad=False)

    def gradient(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss of these balls, and its gradient."""
        self.parameters.assign(parameters)
        self.loss.zero_()
        with wp.Tape() as tape:
            wp.launch(fly, self.end.shape, [self.speed, self.parameters], [self.end])
            wp.launch(miss, self.end.shape, [self.end, self.target], [self.loss])
        tape.backward(self.loss)
        found = self.parameters.grad.numpy().copy()
        tape.zero()
        return float(self.loss.numpy()[0]), found


def speeds(balls: int) -> np.ndarray:
    """The same speeds on every rank."""
    return np.random.default_rng(7).uniform(3.0, 9.0, (balls, 2))


def summed(comm, throws: Throws, parameters: np.ndarray) -> tuple[float, np.ndarray]:
    """Loss and gradient of all ranks."""
    loss, gradient = throws.gradient(parameters)
    together = np.r_[loss, gradient]
    comm.Allreduce(MPI.IN_PLACE, together)  # a few numbers: a large gradient goes as an array, without a copy
    return together[0], together[1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--balls", type=int, default=2000)
    parser.add_argument("--iterations", type=int, default=150)
    options = parser.parse_args()
    wp.config.num_threads = 1
    comm, everything = MPI.COMM_WORLD, speeds(options.balls)
    throws = Throws(everything[own_rows(options.balls, comm.rank, comm.size)])
    guess = np.array([0.05, 0.0])
    first = summed(comm, throws, guess)
    moment, square = np.zeros(2), np.zeros(2)
    for n in range(1, options.iterations + 1):  # Adam
        _, gradient = summed(comm, throws, guess)
        moment = 0.9 * moment + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        guess -= 0.02 * (moment / (1 - 0.9**n)) / (np.sqrt(square / (1 - 0.99**n)) + 1e-12)
    last = summed(comm, throws, guess)
    if comm.rank == 0:
        _, gradient = Throws(everything).gradient(np.array([0.05, 0.0]))
        apart = np.abs(first[1] / gradient - 1).max()
        print(f"{comm.size} ranks: the gradient differs by {apart:.1e} from that of one process")
        print(f"loss {first[0]:.4g} -> {last[0]:.4g}; drag {guess[0]:.3f}, wind {guess[1]:.3f}")


if __name__ == "__main__":
    main()
