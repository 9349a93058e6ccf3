"""The worker of gpu.py for CuPy: kernels in CUDA C, and CuPy's own sums, scans and sorts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from harness.gpu_worker import GpuWorker, Run
from kernels.in_cuda import CALLS, SOURCE

BLOCK = 256


class Worker(GpuWorker):
    """Times RawKernels on arrays of CuPy."""

    def __init__(self, package: str, small: bool, simulated: bool) -> None:
        super().__init__(small, simulated)
        self.module = cupy.RawModule(code=SOURCE.read_text())

    def facts(self) -> dict[str, str]:
        name = cupy.cuda.runtime.getDeviceProperties(0)["name"]
        return {"device": name.decode(), "version": cupy.__version__}

    def prepare(self, name: str, inputs: dict[str, np.ndarray]) -> tuple[Run, dict[str, Any]]:
        dims, scalars, outputs = CALLS[name]
        arrays = {key: cupy.asarray(a) for key, a in inputs.items()}
        results = {key: cupy.zeros(shape, dtype) for key, (shape, dtype) in outputs().items()}
        kernel = self.module.get_function(name)
        blocks = -(-math.prod(dims(inputs)) // BLOCK)
        args = (*arrays.values(), *scalars(), *results.values())
        return (lambda: kernel((blocks,), (BLOCK,), args)), results or arrays

    def prepare_algorithm(self, name: str, numbers: np.ndarray) -> tuple[Run, Callable[[], Any]]:
        n = len(numbers) // 2
        given = cupy.asarray(numbers[:n], dtype=cupy.float32 if name == "sum" else cupy.int32)
        if name == "sum":
            total = cupy.zeros((), cupy.float32)
            return (lambda: given.sum(out=total)), total.get
        out = cupy.empty_like(given)
        if name == "scan":
            return (lambda: cupy.cumsum(given, out=out)), out.get
        values, moved = cupy.arange(n, dtype=cupy.int32), cupy.empty(n, cupy.int32)

        def sort() -> None:
            """Pairs: CuPy sorts keys alone, so values go by the order of the keys."""
            order = cupy.argsort(given)
            cupy.take(given, order, out=out)
            cupy.take(values, order, out=moved)

        return sort, out.get

    def fetch(self, array: Any) -> np.ndarray:
        return array.get()

    def elapsed(self, run: Run) -> float:
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        run()
        end.record()
        end.synchronize()
        return cupy.cuda.get_elapsed_time(start, end) * 1e-3
