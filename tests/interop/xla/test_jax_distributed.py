"""Stencils on devices of JAX, in one process and in two: the bits of one device."""

import sys

import pytest

from tests.interop.distributed import PROGRAMS, SMALL, finish, free_port, start

FLAG = "--xla_force_host_platform_device_count="


@pytest.mark.parametrize("problem", ["heat", "waves"])
def test_eight_devices_give_the_bits_of_one(problem):
    out = finish(start([sys.executable, str(PROGRAMS / "with_jax.py"), problem, *SMALL], XLA_FLAGS=f"{FLAG}8"))
    assert f"{problem}: 8 devices, the bits of one process: True" in out


def test_two_processes_give_the_bits_of_one():
    command = [sys.executable, str(PROGRAMS / "with_jax.py"), "waves", *SMALL]
    command += ["--coordinator", f"127.0.0.1:{free_port()}", "--processes", "2", "--process"]
    processes = [start([*command, str(rank)], XLA_FLAGS=f"{FLAG}2") for rank in range(2)]
    outs = [finish(process) for process in processes]
    assert "waves: 4 devices, the bits of one process: True" in outs[0]
