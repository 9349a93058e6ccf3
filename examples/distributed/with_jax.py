"""A stencil on the devices of JAX: kernels on shards, halo rows by `lax.ppermute`.

    XLA_FLAGS=--xla_force_host_platform_device_count=8 python examples/distributed/with_jax.py heat

In several processes, each of which is started with the address of the first, their number and its own number:

    python examples/distributed/with_jax.py waves --coordinator HOST:1234 --processes 2 --process 0
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import stencils
from jax import lax
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import omni.warp_core as wp

if hasattr(jax, "shard_map"):
    shard_map = jax.shard_map
else:  # before JAX 0.6
    from jax.experimental.shard_map import shard_map

diffuse = wp.jax_kernel(stencils.diffuse)
magnetic = wp.jax_kernel(stencils.magnetic, num_outputs=2, in_out_argnames=["hx", "hy"])
electric = wp.jax_kernel(stencils.electric, in_out_argnames="ez")


def padded(rows, size):
    """The rows of a shard between those of its neighbours; zeros at the ends of the grid."""
    above = lax.ppermute(rows[-1:], "rows", [(i, i + 1) for i in range(size - 1)])
    below = lax.ppermute(rows[:1], "rows", [(i + 1, i) for i in range(size - 1)])
    return jnp.concatenate([above, rows, below])


def heat(u, steps, size):
    """The temperatures of a shard after some steps."""

    def step(_, u):
        return diffuse(padded(u, size), stencils.RATE, 0, launch_dims=u.shape)[0]

    return lax.fori_loop(0, steps, step, u)


def waves(ez, steps, size):
    """The electric field of a shard after some steps."""

    def step(_, fields):
        ez, hx, hy = fields
        hx, hy = magnetic(padded(ez, size), stencils.COURANT, 0, hx, hy, launch_dims=hy.shape)
        (ez,) = electric(padded(hx, size), hy, stencils.COURANT, 0, ez, launch_dims=hy.shape)
        return ez, hx, hy

    return lax.fori_loop(0, steps, step, (ez, ez * 0, ez * 0))[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("problem", choices=["heat", "waves"])
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--coordinator")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--process", type=int)
    options = parser.parse_args()
    if options.coordinator:
        if jax.__version_info__ < (0, 5):  # later versions choose it by themselves
            jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(options.coordinator, options.processes, options.process)
    size, solve = jax.device_count(), {"heat": heat, "waves": waves}[options.problem]
    mesh = Mesh(np.array(jax.devices()), "rows")
    whole = stencils.start(options.rows, options.columns)
    sharded = jax.make_array_from_callback(whole.shape, NamedSharding(mesh, P("rows")), lambda part: whole[part])
    part = shard_map(lambda u: solve(u, options.steps, size), mesh=mesh, in_specs=P("rows"), out_specs=P("rows"))
    found = multihost_utils.process_allgather(jax.jit(part)(sharded), tiled=True)
    if jax.process_index() == 0:
        expected = stencils.alone(options.problem, options.rows, options.columns, options.steps)
        same = np.asarray(found).tobytes() == expected.tobytes()
        print(f"{options.problem}: {size} devices, the bits of one process: {same}")


if __name__ == "__main__":
    main()
