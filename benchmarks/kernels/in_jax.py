"""Some of the programs for JAX on the CPU, on all cores. Same interface as in_wp.py."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from kernels import programs

jax.config.update("jax_platforms", "cpu")


@jax.jit
def nbody(positions, masses):
    def pull(here):
        away = positions - here
        inverse = 1.0 / jnp.sqrt(jnp.sum(away * away, axis=1) + programs.SOFTENING)
        return jnp.sum(away * (masses * inverse * inverse * inverse)[:, None], axis=0)

    return {"accelerations": jax.vmap(pull)(positions)}


@jax.jit
def mandelbrot(real, imaginary):
    a, b = jnp.broadcast_arrays(real[None, :], imaginary[:, None])

    def step(_, state):
        x, y, count = state
        inside = x * x + y * y <= 4.0
        t = x * x - y * y + a
        return jnp.where(inside, t, x), jnp.where(inside, 2.0 * x * y + b, y), count + inside

    start = jnp.zeros_like(a), jnp.zeros_like(a), jnp.zeros(a.shape, jnp.int32)
    return {"counts": jax.lax.fori_loop(0, programs.ITERATIONS, step, start)[2]}


@jax.jit
def mix(x):
    return {"y": jnp.sin(x) * jnp.exp(programs.DECAY * x) + jnp.log(x) + jnp.power(x, programs.POWER)}


@jax.jit
def stencil(u):
    c = u[1:-1, 1:-1]
    near = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return {"out": u.at[1:-1, 1:-1].set(c + programs.DIFFUSION * (near - 4.0 * c))}


@jax.jit
def saxpy(x, y):
    return {"y": programs.FACTOR * x + y}


@jax.jit
def particles(positions, velocities):
    v = velocities + jnp.array([0.0, programs.GRAVITY, 0.0], jnp.float32) * programs.TIME_STEP
    return {"positions": positions + v * programs.TIME_STEP, "velocities": v}


CALLS = {f.__name__: f for f in (nbody, mandelbrot, mix, stencil, saxpy, particles)}


def set_threads(count: int) -> None:
    """JAX has no such setting after it has started."""


def prepare(name: str, inputs: dict[str, np.ndarray]):
    arrays = [jnp.asarray(a) for a in inputs.values()]
    results: dict[str, list[Any]] = {key: [] for key in jax.eval_shape(CALLS[name], *arrays)}

    def run() -> None:
        for key, value in jax.block_until_ready(CALLS[name](*arrays)).items():
            results[key][:] = [value]

    return run, results


def fetch(array: list[Any]) -> np.ndarray:
    return np.asarray(array[0])
