"""`wp.jax_experimental`: where programs written for warp-lang find `jax_kernel`. New programs use `wp.jax_kernel`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..interop import call_signature
from ..interop.jax_kernel import jax_kernel as current_jax_kernel
from ..lang.kernel import Kernel

__all__ = ["jax_kernel"]


def jax_kernel(
    kernel: Kernel, launch_dims: int | Sequence[int] | None = None, quiet: bool = False
) -> Callable[..., Any]:
    """Make a function of JAX of a kernel, whose outputs are the parameters that a call leaves out.

    Args:
        kernel: The kernel.
        launch_dims: The launch dimensions; by default the shape of the first array.
        quiet: Accepted.

    Returns:
        A function like that of `wp.jax_kernel`.

    Raises:
        TypeError: It is not a kernel, or generic.
    """
    count = len(call_signature.of_kernel(kernel, 1, None).parameters)
    made: dict[int, Callable[..., Any]] = {}

    def call(*args: Any) -> Any:
        outputs = count - len(args)
        if outputs < 1:
            raise TypeError(
                f"kernel `{kernel.name}` has {count} parameters, outputs included, but got {len(args)} inputs"
            )
        if outputs not in made:
            made[outputs] = current_jax_kernel(kernel, num_outputs=outputs, launch_dims=launch_dims)
        return made[outputs](*args)

    return call
