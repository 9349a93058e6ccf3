"""A stencil on the processes of torch.distributed.

    torchrun --nproc-per-node 4 examples/distributed/with_torch.py heat
    torchrun --nnodes 2 --nproc-per-node 4 --rdzv-endpoint HOST:29500 examples/distributed/with_torch.py waves

Tensors show the rows of our arrays, so nothing is copied. The backend is gloo. With a GPU for each rank it would be
NCCL: `init_process_group("nccl")` and `wp.set_device(f"cuda:{local_rank}")`.
"""

import argparse

import numpy as np
import stencils
import torch
import torch.distributed as dist

import omni.warp_core as wp


def exchange_with(rank, size):
    """Return the function that fills halo rows from the neighbours. Ranks have rows in order."""

    def exchange(array, needs):
        rows, transfers = torch.from_dlpack(array), []

        def swap(send, to, receive, source):
            if 0 <= to < size:
                transfers.append(dist.P2POp(dist.isend, rows[send], to))
            if 0 <= source < size:
                transfers.append(dist.P2POp(dist.irecv, rows[receive], source))

        if needs in ("both", "above"):
            swap(-2, rank + 1, 0, rank - 1)
        if needs in ("both", "below"):
            swap(1, rank - 1, -1, rank + 1)
        for work in dist.batch_isend_irecv(transfers) if transfers else ():
            work.wait()

    return exchange


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("problem", choices=list(stencils.PROBLEMS))
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    wp.config.num_threads = 1
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    rows = stencils.start(options.rows, options.columns)[stencils.own_rows(options.rows, rank, size)]
    part, exchange = stencils.PROBLEMS[options.problem](rows), exchange_with(rank, size)
    for _ in range(options.steps):
        part.step(exchange)
    parts = [None] * size
    dist.all_gather_object(parts, part.result)
    if rank == 0:
        expected = stencils.alone(options.problem, options.rows, options.columns, options.steps)
        same = np.concatenate(parts).tobytes() == expected.tobytes()
        print(f"{options.problem}: {size} ranks, the bits of one process: {same}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
