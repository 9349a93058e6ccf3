"""One side of interop.py: times one package, ours or warp-lang, in the company of PyTorch and JAX.

    python benchmarks/harness/interop_worker.py PACKAGE

It answers each line of input with a line of JSON: the processor time in microseconds of each case, the least of some
runs. Both packages run the same text. Start with `CASES`.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

PACKAGE = sys.argv[1]
wp = importlib.import_module(PACKAGE)
N, INSIDE = 1000, 100


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def doubled(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def squares(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def size_of(xs: wp.array2d(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, xs[i, 0] * xs[i, 0] + xs[i, 1] * xs[i, 1])


def launch_both(x: Any, y: Any, a: Any) -> None:
    """For `jax_callable`: two launches."""
    wp.launch(doubled, dim=N, inputs=[x], outputs=[y])
    wp.launch(doubled, dim=N, inputs=[y], outputs=[a])


launch_both.__annotations__ = dict.fromkeys("xya", wp.array(dtype=float))


def launches() -> Callable[[], Any]:
    """A launch with two tensors."""
    x, y = torch.ones(N), torch.zeros(N)
    wp.launch(saxpy, dim=N, inputs=[x, y, 2.0], device="cpu")
    assert y.tolist() == [2.0] * N
    return lambda: wp.launch(saxpy, dim=N, inputs=[x, y, 2.0], device="cpu")


def exchange(name: str, **options: Any) -> Callable[[], Callable[[], Any]]:
    """A conversion between a tensor and an array."""

    def make() -> Callable[[], Any]:
        given = wp.zeros(N, dtype=float, device="cpu") if name.startswith("to") else torch.zeros(N)
        convert = torch.from_dlpack if name == "to_dlpack" else getattr(wp, name)
        return lambda: convert(given, **options)

    return make


def of_jax(name: str) -> Callable[[], Callable[[], Any]]:
    """A conversion between an array of JAX and one of the package."""

    def make() -> Callable[[], Any]:
        given = wp.zeros(N, dtype=float, device="cpu") if name == "to_jax" else jnp.zeros(N)
        convert = getattr(wp, name)
        return lambda: convert(given)

    return make


def eager() -> Callable[[], Any]:
    """A call of a jax_kernel outside of jit."""
    f, x = wp.jax_kernel(doubled), jnp.ones(N)
    assert (f(x)[0] == 2).all()
    return lambda: f(x)[0].block_until_ready()


def jitted(f: Callable[[Any], Any], count: int) -> Callable[[], Any]:
    """`count` calls in one program of JAX."""
    program, x = jax.jit(lambda x: jax.lax.fori_loop(0, count, lambda _, x: f(x), x)), jnp.ones(N)
    program(x).block_until_ready()
    return lambda: program(x).block_until_ready()


def training_with_torch() -> Callable[[], Any]:
    """A step of Adam with the gradient of a tape."""
    points = torch.ones(N, 2, requires_grad=True)
    xs, loss = wp.from_torch(points), wp.zeros(1, dtype=float, requires_grad=True, device="cpu")
    optimizer = torch.optim.Adam([points], lr=1e-6)

    def step() -> None:
        loss.zero_()
        with wp.Tape() as tape:
            wp.launch(size_of, dim=N, inputs=[xs], outputs=[loss], device="cpu")
        tape.backward(loss)
        optimizer.step()
        tape.zero()

    step()
    assert abs(float(loss.numpy()[0]) - 2 * N) < 1
    return step


def training_with_jax() -> Callable[[], Any]:
    """A step down the gradient of a loss with a kernel in it, in one program of JAX."""
    f = wp.jax_kernel(squares, enable_backward=True)
    step = jax.jit(lambda x: x - 1e-6 * jax.grad(lambda x: f(x)[0].sum())(x))
    x = jnp.ones(N)
    np.testing.assert_allclose(step(x), 1 - 2e-6, rtol=1e-6)
    return lambda: step(x).block_until_ready()


def two_launches() -> Callable[[], Any]:
    """A call of a jax_callable with two launches, in jit."""
    f, x = wp.jax_callable(launch_both, num_outputs=2), jnp.ones(N)
    program = jax.jit(lambda x: f(x)[1])
    assert (program(x) == 4).all()
    return lambda: program(x).block_until_ready()


# Title, a function that makes what is timed, and the number of calls in it.
CASES: list[tuple[str, Callable[[], Callable[[], Any]], int]] = [
    ("launch with 2 tensors", launches, 1),
    ("from_torch", exchange("from_torch"), 1),
    ("from_torch, return_ctype=True", exchange("from_torch", return_ctype=True), 1),
    ("to_torch", exchange("to_torch"), 1),
    ("from_dlpack of a tensor", exchange("from_dlpack"), 1),
    ("torch.from_dlpack of an array", exchange("to_dlpack"), 1),
    ("from_jax", of_jax("from_jax"), 1),
    ("to_jax", of_jax("to_jax"), 1),
    ("jax_kernel, eager", eager, 1),
    ("jax_kernel, 100 calls inside jit, each", lambda: jitted(lambda x: wp.jax_kernel(doubled)(x)[0], INSIDE), INSIDE),
    ("x * 2 of JAX in its place", lambda: jitted(lambda x: jax.lax.optimization_barrier(x * 2), INSIDE), INSIDE),
    ("jax_callable with 2 launches, in jit", two_launches, 1),
    ("training step, torch and a tape", training_with_torch, 1),
    ("training step, grad of JAX", training_with_jax, 1),
]


def least(f: Callable[[], Any], runs: int) -> float:
    """Microseconds of processor time of a call, the least of some runs."""
    best = float("inf")
    for _ in range(runs):
        count, begin = 0, time.process_time()
        while (spent := time.process_time() - begin) < 2e-3:
            for _ in range(10):
                f()
            count += 10
        best = min(best, spent / count)
    return best * 1e6


def main() -> None:
    """Make all cases, then time them whenever asked."""
    wp.config.quiet = True
    made: dict[str, tuple[Callable[[], Any], int]] = {}
    failed: dict[str, str] = {}
    for title, make, count in CASES:
        try:
            made[title] = make(), count
        except Exception as why:  # the other package may lack it, and the rest counts
            failed[title] = f"{type(why).__name__}: {str(why).splitlines()[0] if str(why) else ''}"
    print(json.dumps({"version": getattr(wp, "__version__", "?"), "failed": failed}), flush=True)
    for line in sys.stdin:
        found = {title: least(f, int(line)) / count for title, (f, count) in made.items()}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
