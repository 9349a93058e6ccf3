"""Launching kernels. `wp.launch` is native code (native/python/launches/launch.cpp); this file serves what it does not:

the first launch of a kernel, options out of the ordinary, interpreted kernels, and the errors. Start with `_launch`,
which native code calls with its own arguments. Importing this module attaches it.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import _native, config
from ..devices.device import Device, device_of, get_device
from ..devices.stream import ScopedStream, Stream, require_stream
from ..dispatch import capture, observers
from ..dispatch.call_site import code_of
from ..dispatch.operation import KernelLaunch, execute
from ..lang.errors import CompileError
from ..lang.kernel import Kernel
from ..lang.kernel_options import check_serial
from ..lang.launch_constants import DEFAULT_BLOCK_DIM
from ..late_bound import late
from ..logger import get_logger
from .backward_settings import passes_tapes_by
from .block_size import block_dim_for, run_tiled
from .kernel_errors import KernelError
from .overloads import instance_for, remember
from .plans import Options, has_first_indices, options_for, plan_for, works_on_tiles

__all__ = ["Launch", "init", "launch", "launch_tiled"]

launch = _native.launch
Launch = _native.Launch


def init() -> None:
    """Accepted for programs that call it; everything is set up when it is first used.

    >>> wp.init()
    """


def _launch(
    kernel: Kernel,
    dim: int | Sequence[int],
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    adj_inputs: Sequence[Any] = (),
    adj_outputs: Sequence[Any] = (),
    device: Device | str | None = None,
    stream: Any = None,
    adjoint: bool = False,
    record_tape: bool = True,
    record_cmd: bool = False,
    max_blocks: int = 0,
    block_dim: int | None = None,
    interpret: bool = False,
    serial: bool | None = None,
) -> Any:
    """Run a kernel once for every index of a grid.

    Args:
        kernel: a function decorated with `@wp.kernel`.
        dim: number of threads, or up to four of them; the last dimension runs fastest.
        inputs: arguments in the order of the kernel's parameters. Arrays may be NumPy arrays, used in place.
        outputs: the remaining arguments.
        device: where to run; by default the device of the stream, or else the current one.
        stream: on a GPU, the stream that the launch goes to; by default the current one. CPU launches have finished
            when this returns.
        record_cmd: return a `Launch` that repeats this launch quickly, instead of running it. Its method `launch` takes
            a stream.
        record_tape: whether a tape that records takes note of this launch.
        max_blocks: accepted; has no effect.
        block_dim: how many threads a block has, 1 to 1024; 256 if left out. On the CPU only kernels that work in
            blocks notice. If threads share memory or wait for each other, their number must be a multiple of it.
        interpret: run the kernel as plain Python, thread by thread, for a debugger; on a GPU, on copies of its arrays.
        serial: on the CPU, whether threads run one after the other, in order; None does as `wp.config.serial` says.
        adjoint: run the adjoint of the kernel, which adds to the gradients of its arrays, instead of the kernel.
        adj_inputs: with `adjoint`, an array of gradients for each of `inputs`; None or a number keeps its own `grad`.
            It adds to those of arrays that the kernel reads. It leaves those of arrays that the kernel overwrites.
        adj_outputs: the same for `outputs`.

    Returns:
        None, or a `Launch` with `record_cmd`.

    Raises:
        CompileError: the kernel has mistakes.
        TypeError, ValueError: an argument does not fit its parameter.
        KernelError: a thread failed in debug mode, or used memory that is not there.

    >>> @wp.kernel
    ... def double(x: wp.array[float]):
    ...     i = wp.tid()
    ...     x[i] = 2.0 * x[i]
    >>> x = np.arange(4, dtype=np.float32)
    >>> wp.launch(double, dim=4, inputs=[x])
    >>> x.tolist()
    [0.0, 2.0, 4.0, 6.0]
    """
    if wrong := _wrong_dim(_check_kernel(kernel), dim):
        raise TypeError(wrong)
    if not record_cmd and _passes_over(dim):
        return None
    where = launch_device(kernel, device, stream, record_cmd)
    if stream is not None and where.is_cuda:
        rest = adjoint, record_tape, record_cmd, max_blocks, block_dim, interpret, serial
        with ScopedStream(stream, sync_enter=False):
            return _launch(kernel, dim, inputs, outputs, adj_inputs, adj_outputs, where, None, *rest)
    args = [*_sequence(kernel, "inputs", inputs), *_sequence(kernel, "outputs", outputs)]
    _announce(kernel, dim, where)
    how = _How(where, block_dim, record_tape, record_cmd, interpret)
    try:
        kernel, instance = _chosen(kernel, dim, args, serial, how)
        if adjoint:
            given = _gradients(kernel, len(_sequence(kernel, "inputs", inputs)), len(args), adj_inputs, adj_outputs)
            return _run_adjoint(instance, dim, args, given, how)
        run = _run_observed if observers.observed else _run
        return run(kernel, instance, dim, args, how)
    except Exception as why:
        if _explains_itself(why):  # native code then drops this line too, so the traceback ends at the caller's line
            raise why.with_traceback(None) from None
        raise


def _gradients(kernel: Kernel, inputs: int, count: int, adj_inputs: Any, adj_outputs: Any) -> list[Any]:
    """The gradients for the first of `count` arguments, of which `inputs` are inputs."""
    first, rest = _sequence(kernel, "adj_inputs", adj_inputs), _sequence(kernel, "adj_outputs", adj_outputs)
    total = len(first) + len(rest)
    if rest and not first and total < count:
        first = [None] * inputs
    elif total > count or (rest and total < count and len(first) != inputs):
        raise ValueError(
            f"kernel `{kernel.name}`: adj_inputs has {len(first)} gradients and adj_outputs {len(rest)}, for {inputs} "
            f"inputs and {count - inputs} outputs: give one for each, or None for its own"
        )
    return [*first, *rest]


def _run_adjoint(kernel: Kernel, dim: Any, args: Sequence[Any], given: Sequence[Any], how: _How) -> Any:
    """Run the adjoint of a kernel; `given` are the gradients of its arguments."""
    observers.refuse_in_jvp("an adjoint launch")
    threads = block_dim_for(kernel, how.block_dim, how.device, dim)
    return late("launch_adjoint")(kernel, dim, args, given, how.device, threads)


def _passes_over(dim: Any) -> bool:
    """True for a launch of no threads in the dialect of warp-lang, where such a launch looks at no argument."""
    return config.dialect == "warp-lang" and 0 in (dim if isinstance(dim, (tuple, list)) else (dim,))


def _chosen(kernel: Kernel, dim: Any, args: Sequence[Any], serial: bool | None, how: _How) -> tuple[Kernel, Kernel]:
    """The kernel that a launch remembers its plan for, and its instance for the arguments."""
    tiled = _tiled(kernel, dim, how.block_dim)
    kernel = kernel if tiled is None else kernel.for_tiled(tiled)
    instance = instance_for(kernel, args) if kernel.is_generic else kernel
    check_serial(serial)
    if serial is not None:
        kernel = instance = instance.with_serial(serial)
    if _drops_indices(instance, dim, args, how):
        kernel = instance = _wider(kernel, instance, dim, args, how)
    return kernel, instance


def _wider(kernel: Kernel, instance: Kernel, dim: Any, args: Sequence[Any], how: _How) -> Kernel:
    """The kernel that a launch of more dimensions than indices runs. Native code finds its plan by that of `kernel`."""
    wider = instance.for_tiled(len(dim))
    if not _is_interpreted(kernel, how.interpret):
        block_dim = block_dim_for(instance, how.block_dim, how.device, dim)
        narrow = _ready(kernel, instance, options_for(instance, how.device, block_dim), args)
        narrow.set_wider(len(dim), plan_for(wider, options_for(wider, how.device, block_dim), args))
    return wider


def _drops_indices(kernel: Kernel, dim: Any, args: Sequence[Any], how: _How) -> bool:
    """True if a kernel has the indices of the first dimensions of a launch only, as the dialect of warp-lang means."""
    may_differ = config.dialect == "warp-lang" and isinstance(dim, (tuple, list)) and 1 < len(dim) <= 4
    if not may_differ or "tiled" in kernel.options or not has_first_indices(kernel):
        return False
    is_interpreted = _is_interpreted(kernel, how.interpret)
    return is_interpreted or plan_for(kernel, options_for(kernel, how.device), args).arity < len(dim)


def _tiled(kernel: Kernel, dim: Any, block_dim: Any) -> int | None:
    """The number of dimensions of a launch whose last one is a block, 0 for others; None where it does not matter, or
    the kernel knows it.
    """
    if not works_on_tiles(kernel) or "tiled" in kernel.options:
        return None
    is_grid = isinstance(dim, (tuple, list)) and len(dim) > 1
    return len(dim) if is_grid and dim[-1] == (block_dim or DEFAULT_BLOCK_DIM) else 0


def _explains_itself(error: BaseException) -> bool:
    """True if the text of an error names its place: a report about a kernel, or about an argument."""
    *_, raised_in = code_of(error)
    refused = isinstance(error, (TypeError, ValueError)) and raised_in in (capture.run.__code__, _run.__code__)
    return refused or isinstance(error, (CompileError, KernelError))


def launch_device(kernel: Kernel, device: Device | str | None, stream: Any, record_cmd: bool) -> Device:
    """The device of a launch."""
    if stream is None:
        return get_device(device)
    require_stream(f"kernel `{kernel.name}`: stream", stream)
    where = stream.device if device is None else get_device(device)
    if where.is_cuda:
        _check_stream(kernel, stream, where)
        if record_cmd:
            raise ValueError(
                f"kernel `{kernel.name}`: a recorded launch gets its stream when it is launched: command.launch(stream)"
            )
    return where


def _check_stream(kernel: Kernel, stream: Stream, device: Device) -> None:
    if stream.device is not device:
        raise ValueError(f"kernel `{kernel.name}`: stream belongs to {stream.device} but the launch is on {device}")


def _announce(kernel: Kernel, dim: Any, where: Device) -> None:
    if config.print_launches:
        get_logger().info(f"kernel: {kernel.key} dim: {dim} device: {where}")


def _wrong_dim(kernel: Kernel, dim: Any) -> str:
    """Return what is wrong where the arguments of the kernel stand in the place of `dim`; empty if all is right."""
    for n in dim if isinstance(dim, (tuple, list)) else [dim]:
        try:
            operator.index(n)
        except TypeError:
            inside = "" if n is dim else f" in a {type(dim).__name__}"
            return (
                f"kernel `{kernel.name}`: dim is the number of threads, an integer or up to four of them, got "
                f"{type(n).__name__}{inside}; write wp.launch({kernel.name}, dim=..., inputs=[...])"
            )
    return ""


def _launch_on(command: Any, stream: Any) -> None:
    """Run a recorded launch on a stream."""
    device = device_of(command.plan.device_id)
    if device.is_cpu:
        command.launch()
        return
    launch_device(command.kernel, device, stream, False)
    with ScopedStream(stream, sync_enter=False):
        command.launch()


class _How(NamedTuple):
    """Options of a launch besides kernel and arguments."""

    device: Device
    block_dim: Any
    on_tape: bool
    record_cmd: bool
    interpret: bool
    exact: bool = False  # whether it must compute exactly the bits that the adjoint recomputes


def _run_observed(kernel: Kernel, instance: Kernel, dim: Any, args: Sequence[Any], how: _How) -> Any:
    """Run a kernel under the observers of this thread."""

    def perform(launch: KernelLaunch) -> Any:
        this = how._replace(exact=launch.is_exact)
        return _run(
            kernel if launch.kernel is instance else launch.kernel, launch.kernel, launch.dim, launch.args, this
        )

    block_dim = block_dim_for(instance, how.block_dim, how.device, dim)
    on_tape = how.on_tape and not passes_tapes_by(instance)
    launch = KernelLaunch(
        instance, dim, args, how.device, block_dim, perform, is_recorded=on_tape, is_command=how.record_cmd
    )
    if on_tape:
        return execute(launch)
    with observers.UntrackedWrites():
        return execute(launch)


def _run(kernel: Kernel, instance: Kernel, dim: Any, args: Sequence[Any], how: _How) -> Any:
    """Run a kernel, or record the launch. `instance` is the kernel for the types of the arguments."""
    if _is_interpreted(instance, how.interpret):
        return _interpret(late("interpreted_launch")(instance, dim, args, how.block_dim, how.device), how.record_cmd)
    options = options_for(instance, how.device, block_dim_for(instance, how.block_dim, how.device, dim))
    if how.exact:
        plan = plan_for(instance, options._replace(exact=True), args)
    else:
        plan = _ready(kernel, instance, options, args)
    return Launch(instance, plan, dim, args) if how.record_cmd else capture.run(instance, plan, dim, args)


def _is_interpreted(kernel: Kernel, asked: bool) -> bool:
    """True if a kernel runs as plain Python."""
    return (asked or config.mode == "interpret") and not kernel.transform


def _ready(kernel: Kernel, instance: Kernel, options: Options, args: Sequence[Any]) -> Any:
    """The plan of a launch, which native code then finds by itself."""
    plan = plan_for(instance, options, args)
    if instance is kernel:
        kernel._plan = plan
    else:
        remember(kernel, args, plan)
    return plan


def _interpret(launch: Any, record_cmd: bool) -> Any:
    """Run an interpreted launch, or return it for later."""
    if record_cmd:
        return launch
    capture.call(launch.launch, label=f"{launch.kernel.name} {launch.dim} interpreted", writes=None)
    return None


def _check_kernel(kernel: Any) -> Kernel:
    if isinstance(kernel, Kernel):
        return kernel
    name = getattr(kernel, "__name__", None)
    what = (
        f"`{name}`, which is not a kernel: decorate it with @wp.kernel" if callable(kernel) and name else repr(kernel)
    )
    raise TypeError(f"wp.launch runs kernels, got {what}")


def _sequence(kernel: Kernel, name: str, values: Any) -> Sequence[Any]:
    if isinstance(values, (list, tuple)):
        return values
    if values is None:
        return ()
    hint = f"; write {name}=[x] for a single argument"
    raise TypeError(f"kernel `{kernel.name}`: {name} must be a list or tuple, got {type(values).__name__}{hint}")


def launch_tiled(
    kernel: Kernel,
    dim: int | Sequence[int],
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    *,
    block_dim: int = 256,
    **others: Any,
) -> Any:
    """Run a block of threads for every index of a grid: a launch with `block_dim` as one more dimension, the last.

    Args:
        kernel: a function decorated with `@wp.kernel`. `wp.tid()` gives an index for each dimension of the grid. With
            one more name, that gets the index of the thread within its block.
        dim: number of blocks, or up to three of them.
        inputs: arguments in the order of the kernel's parameters.
        outputs: the remaining arguments.
        block_dim: how many threads a block has.
        others: what else `wp.launch` takes, by name.

    Returns:
        What `wp.launch` returns. It raises what that raises, too.

    >>> @wp.kernel
    ... def rows(x: wp.array2d[float], out: wp.array[float]):
    ...     i, t = wp.tid()
    ...     s = wp.shared_array(shape=1, dtype=float)
    ...     if t == 0:
    ...         s[0] = 0.0
    ...     wp.syncthreads()
    ...     for j in range(t, x.shape[1], wp.block_dim()):
    ...         wp.atomic_add(s, 0, x[i, j])
    ...     wp.syncthreads()
    ...     if t == 0:
    ...         out[i] = s[0]
    >>> out = wp.zeros(3, dtype=float)
    >>> wp.launch_tiled(rows, dim=3, inputs=[wp.ones((3, 100), dtype=float), out], block_dim=32)
    >>> out.list()
    [100.0, 100.0, 100.0]
    """
    blocks = tuple(dim) if isinstance(dim, (list, tuple)) else (dim,)
    tiled = _check_kernel(kernel).for_tiled(len(blocks) + 1)

    def run(threads: int) -> Any:
        return launch(tiled, (*blocks, threads), inputs, outputs, block_dim=threads, **others)

    return run_tiled(tiled, run, block_dim, others.get("device"))


def dimensions(kernel: Kernel, dim: Any) -> tuple[int, ...]:
    """Launch dimensions as a tuple of 1 to 4 non-negative ints."""
    items = tuple(dim) if isinstance(dim, (list, tuple)) else (dim,)
    if not 1 <= len(items) <= 4:
        raise ValueError(f"kernel `{kernel.name}`: a launch has 1 to 4 dimensions, got {len(items)}")
    for n in items:
        if not hasattr(n, "__index__"):
            raise TypeError(f"launch dimensions must be integers, got {type(n).__name__}")
        if not 0 <= n.__index__() < 1 << 31:
            more = "; for more threads use several dimensions, with an index for each: `i, j = wp.tid()`"
            raise ValueError(f"launch dimension {n} is not between 0 and 2147483647{more if n > 0 else ''}")
    return tuple(n.__index__() for n in items)


# -- what native code is told ----------------------------------------------------------------------------------------


def _signature() -> str:
    """The signature of `launch` in the form that `help` and `inspect` read from native functions."""
    params = inspect.signature(_launch).parameters.values()
    return f"launch({', '.join(p.name if p.default is p.empty else f'{p.name}={p.default!r}' for p in params)})"


def _attach(_: object = None) -> None:
    """Let native code run launches by itself, unless every launch must come here."""
    usual = not config.print_launches and config.mode != "interpret" and not capture.active()
    _native.set_fast_launch(usual and not observers.observed)
    _native.set_observed(observers.observed)


_ALL_CORES = _native.get_num_threads()


def _set_threads(count: int) -> None:
    _native.set_num_threads(count or _ALL_CORES)


_launch.__qualname__ = "wp.launch"  # what Python's own messages about arguments name
_native.set_slow_launch(_launch)
_native.set_launch_on_stream(_launch_on)
_native.set_launch_doc(f"{_signature()}\n--\n\n{inspect.cleandoc(_launch.__doc__ or '')}")
for _name in ("mode", "print_launches"):
    config.watch(_name, _attach)
observers.watch(_attach)
capture.watch(_attach)
config.watch("num_threads", _set_threads)
_attach()
_set_threads(config.num_threads)
