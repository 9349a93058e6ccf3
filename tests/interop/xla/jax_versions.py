"""Functions of JAX that tests use, wherever a version of JAX has them."""

import jax

if hasattr(jax, "ffi"):
    ffi_call = jax.ffi.ffi_call
else:  # before JAX 0.5
    from jax.extend.ffi import ffi_call
if hasattr(jax, "shard_map"):
    shard_map = jax.shard_map
else:  # before JAX 0.6
    from jax.experimental.shard_map import shard_map
if hasattr(jax, "enable_x64"):
    enable_x64 = jax.enable_x64
else:  # before JAX 0.8
    from jax.experimental import enable_x64

__all__ = ["enable_x64", "ffi_call", "shard_map"]
