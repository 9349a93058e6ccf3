"""The simulated driver (tests/gpu/simulator) with the machine for PTX in it: what the runtime gives to the driver, the
text, grids and bytes of parameters, is what runs. See `install`.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import traceback
from typing import Any

import numpy as np

import omni.warp_core as wp
from tests.gpu import simulation
from tests.ptx import parse
from tests.ptx.machine import Program
from tests.ptx.memory import Global
from tests.ptx.output import printed

LAUNCH_FAILED = 719
_CHARS = ctypes.POINTER(ctypes.c_char)
_LOAD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, _CHARS, ctypes.c_size_t)
_RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, *[ctypes.c_uint] * 2, _CHARS, ctypes.c_int)

programs: list[Program] = []
launches: dict[str, int] = {}  # how often each kernel ran


def install() -> None:
    """Let the package use the simulated driver, and let that run PTX."""
    library = simulation.library()
    library.simulator_machine(_load, _run)
    wp.config.cuda_driver = str(simulation.built())


@_LOAD
def _load(text: bytes, out: Any, capacity: int) -> int:
    try:
        module = parse.module(text.decode())
        programs.append(Program(module, {"vprintf": _vprintf, "cudaGraphSetConditional": _set_condition}))
        kernels = [f for f in module.functions.values() if f.is_entry]
        lines = [" ".join(map(str, (f.name, f.max_threads, *(v.size for v in f.params)))) for f in kernels]
        number, answer = len(programs), "\n".join(lines)
    except Exception:
        number, answer = 0, traceback.format_exc()
        sys.stderr.write(answer)
    encoded = answer.encode()[: capacity - 1]
    ctypes.memmove(out, encoded + b"\0", len(encoded) + 1)
    return number


@_RUN
def _run(module: int, kernel: bytes, grid: int, block: int, params: Any, ordinal: int) -> int:
    collects = gc.isenabled()
    gc.disable()  # garbage that goes would call the driver while it runs this launch
    try:
        program, name, at, given = programs[module - 1], kernel.decode(), 0, []
        for v in program.module.functions[name].params:
            given.append(bytes(params[at : at + v.size]))
            at += v.size
        program.launch(name, grid, block, given, _memory(ordinal))
        launches[name] = launches.get(name, 0) + 1
    except Exception:
        sys.stderr.write(traceback.format_exc())
        return LAUNCH_FAILED
    finally:
        if collects:
            gc.enable()
    return 0


def _memory(ordinal: int) -> Global:
    capacity = 1 << 10
    while True:
        pairs = np.zeros((capacity, 2), np.uint64)
        count = simulation.library().simulator_memory(ordinal, pairs.ctypes.data_as(ctypes.c_void_p), capacity)
        if count <= capacity:
            break
        capacity = count
    found = [(int(a), int(n)) for a, n in pairs[:count]]
    cut = found.index((0, 0))
    arenas = [(at, np.frombuffer((ctypes.c_uint8 * n).from_address(at), np.uint8)) for at, n in found[:cut]]
    return Global(arenas, found[cut + 1 :])


def _set_condition(m: Any, who: Any, handle: np.ndarray, value: np.ndarray) -> None:
    for h, v in zip(handle.tolist(), value.tolist()):
        simulation.library().simulator_set_condition(ctypes.c_uint64(h), v)


def _vprintf(m: Any, who: Any, form: np.ndarray, slots: np.ndarray) -> np.ndarray:
    for text in printed(m, who, form, slots):
        simulation.library().simulator_print(ctypes.c_char_p(text.encode()))
    return np.zeros(len(form), np.uint32)
