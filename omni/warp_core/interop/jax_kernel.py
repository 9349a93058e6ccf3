"""Kernels as functions of JAX: `wp.jax_kernel`."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..arrays.dlpack import named
from ..devices.device import CPU
from ..lang.kernel import Kernel
from ..lang.kernel_transforms import ScalarArrays
from ..launches.backward_settings import deciding_setting
from ..launches.block_size import block_dim_for
from . import call_signature
from .call_signature import Parameter, Signature
from .foreign_values import check_numbers
from .jax_calls import packed_value
from .jax_dtypes import jax_dtype
from .jax_primitives import primitives
from .jax_versions import aligned
from .launch_subject import IN_OUT, INPUT, OUTPUT, VALUE, Subject

__all__ = ["jax_kernel"]

VMAP_METHODS = ("broadcast_all", "expand_dims", "sequential", "legacy_vectorized")


class JaxModulePreloadMode(enum.IntEnum):
    """When code is loaded onto GPUs. On the CPU, all modes load a kernel when a program that calls it is compiled."""

    NONE = 0
    CURRENT_DEVICE = 1
    ALL_DEVICES = 2


def jax_kernel(
    kernel: Kernel,
    num_outputs: int = 1,
    vmap_method: str | None = "broadcast_all",
    launch_dims: int | Sequence[int] | None = None,
    output_dims: Any = None,
    in_out_argnames: str | Sequence[str] | None = None,
    module_preload_mode: Any = JaxModulePreloadMode.CURRENT_DEVICE,
    enable_backward: bool | None = None,
    has_side_effect: bool = False,
    block_dim: int | None = None,
) -> Callable[..., list[Any]]:
    """Make a function of JAX of a kernel.

    The parameters of the kernel are inputs, then outputs, which a call makes. The function works inside `jax.jit`,
    `jax.vmap`, `jax.grad`, `jax.jvp`, `jax.shard_map` and what JAX builds of them, up to second derivatives.

    Args:
        kernel: The kernel.
        num_outputs: How many arrays a call returns: in-outs and outputs.
        vmap_method: A name that `jax.pure_callback` knows; all mean a launch for each example. None refuses `jax.vmap`.
        launch_dims: The launch dimensions; by default the shape of the first array, without components.
        output_dims: The shape of all outputs, or a dictionary with that of each; by default the launch dimensions.
        in_out_argnames: Arrays that the kernel reads and writes: arguments of a call, and results before the outputs.
        module_preload_mode: A `JaxModulePreloadMode` or its number. All mean the same on the CPU: code is loaded when a
            program that calls the kernel is compiled.
        enable_backward: False refuses derivatives. None is as the kernel says.
        has_side_effect: Whether XLA must keep a call whose results are not used.
        block_dim: Threads of a block, for kernels that work in blocks.

    Returns:
        A function of the inputs. Arrays have the components of vectors and matrices as trailing dimensions. Other
        inputs are numbers, also traced ones, for which there are derivatives. Keyword arguments `launch_dims`,
        `output_dims` and `vmap_method` replace those above. The result is a list.

    Raises:
        TypeError, ValueError: The kernel is generic, or numbers and names do not fit its parameters. Calls raise them
            for arguments that do not fit.

    >>> @wp.kernel
    ... def scale(x: wp.array[float], by: float, y: wp.array[float]):
    ...     i = wp.tid()
    ...     y[i] = by * x[i]
    >>> import jax, jax.numpy as jnp                                         # doctest: +SKIP
    >>> times = wp.jax_kernel(scale)                                         # doctest: +SKIP
    >>> jax.jit(lambda x: times(x, 3.0)[0])(jnp.arange(3.0)).tolist()        # doctest: +SKIP
    [0.0, 3.0, 6.0]
    """
    signature = call_signature.of_kernel(kernel, num_outputs, in_out_argnames)
    check_method(signature, vmap_method)
    mode_of(signature, JaxModulePreloadMode, "module_preload_mode", module_preload_mode)
    defaults = CallOptions(launch_dims, output_dims, vmap_method)
    block = block_dim_for(kernel, block_dim, CPU)
    backward = deciding_setting(kernel)[1] if enable_backward is None else bool(enable_backward)
    return JaxKernel(kernel, signature, defaults, _Fixed(block, bool(has_side_effect), backward))


class CallOptions(NamedTuple):
    """What a call may say beside its arguments."""

    launch_dims: Any
    output_dims: Any
    vmap_method: Any


def merged_options(defaults: CallOptions, launch_dims: Any, output_dims: Any, vmap_method: Any) -> CallOptions:
    """The options of a call: its own, or else those of the function. `...` stands for no vmap_method of its own."""
    return CallOptions(
        defaults.launch_dims if launch_dims is None else launch_dims,
        defaults.output_dims if output_dims is None else output_dims,
        defaults.vmap_method if vmap_method is ... else vmap_method,
    )


class _Fixed(NamedTuple):
    block_dim: int
    has_side_effect: bool
    backward: bool


class JaxKernel:
    """A kernel as a function of JAX; see `jax_kernel`."""

    def __init__(self, kernel: Kernel, signature: Signature, defaults: CallOptions, fixed: _Fixed):
        self.kernel, self.signature, self.defaults, self.fixed = kernel, signature, defaults, fixed
        self.__name__, self.__doc__ = kernel.name, kernel.__doc__
        self._compiled: dict[Any, Callable] = {}

    def __repr__(self) -> str:
        return f"<jax_kernel of {self.kernel.name}>"

    def __getstate__(self) -> dict[str, Any]:
        """What pickle keeps: all but the compiled programs."""
        return {**self.__dict__, "_compiled": {}}

    def __call__(
        self, *args: Any, launch_dims: Any = None, output_dims: Any = None, vmap_method: Any = ...
    ) -> list[Any]:
        """Launch the kernel in a program of JAX."""
        import jax

        options = merged_options(self.defaults, launch_dims, output_dims, vmap_method)
        self.signature.check_count(args)
        given = [read_argument(self.signature, p, x) for p, x in zip(self.signature.inputs, args)]
        operands = [g.operand for g in given if g.value is None]
        if any(isinstance(x, jax.core.Tracer) for x in operands):
            return primitives().launch.bind(*aligned(operands), **self._params(given, options))
        return list(self._eager(given, options)(*operands))

    def _eager(self, given: Sequence[Argument], options: CallOptions) -> Callable:
        """The compiled program of a call outside of `jit`."""
        import jax

        key = (tuple(g.key for g in given), hashable(options))
        found = self._compiled.get(key)
        if found is None:
            params = self._params(given, options)
            found = self._compiled[key] = jax.jit(lambda *x: primitives().launch.bind(*x, **params))
        return found

    def _params(self, given: Sequence[Argument], options: CallOptions) -> dict[str, Any]:
        """The parameters of the primitive for a call."""
        check_method(self.signature, options.vmap_method)
        signature, late = self.signature, tuple(i for i, g in enumerate(given) if g.is_late)
        signature.check_writes(self.kernel, "JAX")
        kernel = self.kernel.derive(ScalarArrays(late)) if late else self.kernel
        outer = [
            signature.outer_shape(p, g.shape) if p.is_array and g.shape is not None else None
            for p, g in zip(signature.inputs, given)
        ]
        dims = signature.launch_dims(options.launch_dims, outer)
        outputs = signature.output_shapes(options.output_dims, dims)
        roles = [
            VALUE if g.value is not None else IN_OUT if p.is_in_out else INPUT for p, g in zip(signature.inputs, given)
        ]
        subject = Subject(
            kernel,
            (*roles, *(OUTPUT for _ in outputs)),
            (*(g.shape for g in given), *outputs),
            tuple((i, g.value) for i, g in enumerate(given) if g.value is not None),
            dims,
            self.fixed.block_dim,
            self.fixed.has_side_effect,
            vmap=options.vmap_method is not None,
            backward=self.fixed.backward,
        )
        return {"subject": subject, "batch": (), "masks": (0,) * (len(given) - len(subject.values))}


class Argument(NamedTuple):
    """An argument of a call: an operand of XLA with its shape, or the bytes of a value that is known.

    `is_late` marks a number that is known only when the program runs, and is passed as an array of one element.
    """

    operand: Any
    shape: tuple[int, ...] | None
    value: bytes | None = None
    is_late: bool = False

    @property
    def key(self) -> Any:
        """What programs depend on."""
        return self.value if self.value is not None else (self.shape, self.is_late)


def read_argument(signature: Signature, p: Parameter, x: Any) -> Argument:
    """An argument of a call as an operand.

    Raises:
        TypeError: it does not fit its parameter.
    """
    import jax

    where = f"{signature.name}: argument `{p.name}`"
    if not p.is_array:
        if not isinstance(x, (jax.Array, jax.core.Tracer)):
            try:
                return Argument(None, None, packed_value(p.type, x))
            except TypeError as why:
                raise TypeError(f"{where}: {why}") from None
        return _late(where, p, x)
    if not isinstance(x, (jax.Array, np.ndarray)):
        raise TypeError(
            f"{where}: expected an array of JAX, got {type(x).__name__}: convert it with jnp.asarray, or "
            "wp.to_jax for an array of this package"
        )
    wanted = jax_dtype(p.type.dtype)  # type: ignore[attr-defined]
    if not isinstance(x, (jax.core.Tracer, np.ndarray)) and (x.dtype != wanted or x.is_deleted()):
        try:
            check_numbers(x)
        except (TypeError, ValueError) as why:
            raise named(where, why) from None
    if x.dtype != wanted:
        raise TypeError(
            f"{where}: expected elements of {wanted}, got {x.dtype}: convert it with .astype({str(wanted)!r})"
        )
    signature.outer_shape(p, x.shape)
    return Argument(x, tuple(x.shape))


def _late(where: str, p: Parameter, x: Any) -> Argument:
    import jax.numpy as jnp

    from_type = jax_dtype(p.type)
    found = call_signature.element(p.type)
    if tuple(x.shape) != found.inner:
        raise TypeError(
            f"{where}: expected {found.name}, a value of shape {found.inner}, got an array of shape {x.shape}"
        )
    if x.dtype != from_type:
        if not p.type.is_differentiable and jnp.issubdtype(x.dtype, jnp.floating):
            raise TypeError(
                f"{where}: expected {found.name}, got {x.dtype}: convert it with .astype({str(from_type)!r})"
            )
        x = x.astype(from_type)
    return Argument(jnp.reshape(x, (1, *found.inner)), (1, *found.inner), is_late=True)


def check_method(signature: Signature, method: Any) -> None:
    """Raise ValueError unless a vmap_method has a known name."""
    if method is not None and method not in VMAP_METHODS:
        raise ValueError(
            f"{signature.name}: vmap_method: expected one of {', '.join(VMAP_METHODS)} or None, got {method!r}"
        )


Mode = TypeVar("Mode", bound=enum.IntEnum)


def mode_of(signature: Signature, kind: type[Mode], name: str, value: Any) -> Mode:
    """The mode that an argument is, or whose name or number it is. Raises ValueError for others."""
    try:
        return kind[value] if isinstance(value, str) else kind(value)
    except (KeyError, ValueError):
        modes = ", ".join(f"{m.name} ({m.value})" for m in kind)
        raise ValueError(f"{signature.name}: {name}: expected one of {modes}, got {value!r}") from None


def hashable(value: Any) -> Any:
    """Dictionaries and lists as tuples."""
    if isinstance(value, dict):
        return tuple((k, hashable(v)) for k, v in sorted(value.items()))
    return tuple(map(hashable, value)) if isinstance(value, (list, tuple)) else value
