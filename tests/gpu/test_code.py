"""Options of the code for a GPU: threads of a block, registers, lines of Python, machine code."""

import re

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.codegen.cuda import ptx
from omni.warp_core.codegen.target import cuda
from omni.warp_core.compiler import compile
from omni.warp_core.launches import plans


def code(kernel, gpu, **chosen):
    """What a launch of `kernel` runs, compiled anew."""
    return compile(plans.request(kernel, plans.options_for(kernel, gpu, **chosen), 0))


def bounds(kernel):
    """The bounds of all code that launches of a kernel ran, by the threads of a block."""
    found = {}
    for options in kernel._plans:
        text = compile(plans.request(kernel, options, 0)).code.decode()
        found[options.block_dim] = {k: int(n) for k, n in re.findall(r"\.(maxntid|minnctapersm|maxnreg) (\d+)", text)}
    return found


def test_bounds_of_a_kernel_reach_its_code(gpu):
    @wp.kernel(launch_bounds=(128, 4))
    def crowded(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] += 1.0

    @wp.kernel(launch_bounds=64, cuda_max_registers=24)
    def thin(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = wp.sin(x[i])

    x = wp.array(np.zeros(300), dtype=float)
    for given in ({}, {"block_dim": None}, {"block_dim": 1024}):
        wp.launch(crowded, dim=300, inputs=[x], **given)
    assert x.list() == [3.0] * 300
    assert bounds(crowded) == {128: {"maxntid": 128, "minnctapersm": 4}}
    wp.launch(thin, dim=300, inputs=[x])
    wp.launch(thin, dim=300, inputs=[x], block_dim=32)
    assert bounds(thin) == {64: {"maxntid": 64, "maxnreg": 24}, 32: {"maxntid": 32, "maxnreg": 24}}
    made = ptx.assemble(code(crowded, gpu).code.decode(), cuda(gpu.arch), facts=True)
    assert made is None or "0 bytes spill" in made[1]


def test_blocks_that_a_kernel_works_in_are_not_made_smaller(gpu):
    @wp.kernel(launch_bounds=64)
    def first_of_block(x: wp.array(dtype=int), y: wp.array(dtype=int)):
        i = wp.tid()
        kept = wp.shared_array(64, dtype=int)
        kept[wp.thread_index()] = x[i]
        wp.syncthreads()
        y[i] = kept[0]

    x, y = wp.array(np.arange(128), dtype=int), wp.zeros(128, dtype=int)
    with pytest.raises(
        ValueError, match="launch_bounds limits the kernel to 64 threads per block, got 256: launch with block_dim=64"
    ):
        wp.launch(first_of_block, dim=128, inputs=[x, y], block_dim=256)
    wp.launch(first_of_block, dim=128, inputs=[x, y], block_dim=64)
    assert y.list() == [0] * 64 + [64] * 64


def test_lines_and_machine_code_are_made_where_they_are_asked_for(gpu, monkeypatch):
    @wp.kernel
    def plain(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = 2.0 * x[i]

    made = code(plain, gpu)
    assert b".loc" not in made.code and not made.machine_code
    monkeypatch.setattr(wp.config, "lineinfo", True)
    monkeypatch.setattr(wp.config, "cuda_output", "cubin")
    made = code(plain, gpu)
    assert b".loc" in made.code and __file__.encode() in made.code
    assert made.machine_code[:4] == (b"\x7fELF" if ptx.find_ptxas() else b"")
    assert not plans.options_for(plain).lines
    x = wp.array(np.ones(3), dtype=float)
    wp.launch(plain, dim=3, inputs=[x])
    assert x.list() == [2.0] * 3


def test_a_module_and_a_kernel_can_ask_for_lines(gpu):
    @wp.kernel(module_options={"lineinfo": True})
    def own(x: wp.array(dtype=float)):
        x[0] = 1.0

    @wp.kernel
    def other(x: wp.array(dtype=float)):
        x[0] = 1.0

    assert plans.options_for(own, gpu).lines and not plans.options_for(other, gpu).lines
    wp.set_module_options({"lineinfo": True})
    try:
        assert plans.options_for(other, gpu).lines
    finally:
        wp.set_module_options({"lineinfo": None})


def test_a_module_and_a_kernel_can_do_without_lines(gpu, monkeypatch):
    @wp.kernel(module_options={"lineinfo": False, "cuda_output": "ptx"})
    def own(x: wp.array(dtype=float)):
        x[0] = 1.0

    @wp.kernel
    def other(x: wp.array(dtype=float)):
        x[0] = 1.0

    monkeypatch.setattr(wp.config, "lineinfo", True)
    monkeypatch.setattr(wp.config, "cuda_output", "cubin")
    found = plans.options_for(own, gpu)
    assert not found.lines and not found.assemble
    wp.set_module_options({"lineinfo": False})
    try:
        found = plans.options_for(other, gpu)
        assert not found.lines and found.assemble
    finally:
        wp.set_module_options({"lineinfo": None})
