"""Stencils and training on ranks of MPI: the bits, or the gradient, of one process."""

import re

import pytest

from tests.interop.distributed import SMALL, mpirun


@pytest.mark.parametrize("problem", ["heat", "waves"])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_stencils_give_the_bits_of_one_process(problem, ranks):
    assert re.search(rf"{ranks} ranks, .* the bits of one process: True", mpirun(ranks, "with_mpi.py", problem, *SMALL))


def test_gradients_of_all_ranks_are_summed():
    out = mpirun(4, "train_mpi.py", "--balls", "101")
    apart = float(re.search(r"4 ranks: the gradient differs by (\S+)", out)[1])
    first, last = map(float, re.search(r"loss (\S+) -> (\S+);", out).groups())
    assert apart < 1e-12 and last < first / 100
