"""A stencil on the processes of MPI, which exchange rows without copies.

mpirun -n 4 python examples/distributed/with_mpi.py heat
srun -n 4 --mpi=pmix python examples/distributed/with_mpi.py waves --rows 4096
"""

import argparse
import time

import numpy as np
import stencils
from mpi4py import MPI

import omni.warp_core as wp


def exchange_with(comm):
    """Return the function that fills halo rows from the neighbours. Ranks have rows in order."""
    above = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    below = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL

    def exchange(array, needs):
        if needs in ("both", "above"):  # my last row is the halo above the next slab
            comm.Sendrecv(array[array.shape[0] - 2], dest=below, recvbuf=array[0], source=above)
        if needs in ("both", "below"):
            comm.Sendrecv(array[1], dest=above, recvbuf=array[array.shape[0] - 1], source=below)

    return exchange


def run(comm, problem, rows, columns, steps):
    """Solve a problem; return this rank's rows and the seconds of the quickest step."""
    mine = stencils.own_rows(rows, comm.rank, comm.size)
    part, exchange = stencils.PROBLEMS[problem](stencils.start(rows, columns)[mine]), exchange_with(comm)
    seconds = []
    for _ in range(steps):
        begin = time.perf_counter()
        part.step(exchange)
        seconds.append(time.perf_counter() - begin)
    return part.result, min(seconds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("problem", choices=list(stencils.PROBLEMS))
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1, help="of each rank")
    options = parser.parse_args()
    wp.config.num_threads = options.threads
    comm = MPI.COMM_WORLD
    # On GPUs: wp.set_device(f"cuda:{rank on this node}"), and wp.synchronize() before each exchange.
    found, seconds = run(comm, options.problem, options.rows, options.columns, options.steps)
    parts, slowest = comm.gather(found), comm.reduce(seconds, MPI.MAX)
    if comm.rank == 0:
        expected = stencils.alone(options.problem, options.rows, options.columns, options.steps)
        same = np.concatenate(parts).tobytes() == expected.tobytes()
        print(f"{options.problem}: {comm.size} ranks, {1e3 * slowest:.3f} ms a step, the bits of one process: {same}")


if __name__ == "__main__":
    main()
