"""Stencils on processes of torch.distributed: the bits of one process."""

import sys

import pytest

from tests.interop.distributed import PROGRAMS, SMALL, finish, free_port, start


@pytest.mark.parametrize(("problem", "ranks"), [("heat", 2), ("waves", 4)])
def test_stencils_give_the_bits_of_one_process(problem, ranks):
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(ranks)}
    command = [sys.executable, str(PROGRAMS / "with_torch.py"), problem, *SMALL]
    processes = [start(command, RANK=str(rank), **shared) for rank in range(ranks)]
    outs = [finish(process) for process in processes]
    assert f"{problem}: {ranks} ranks, the bits of one process: True" in outs[0]
