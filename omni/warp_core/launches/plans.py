"""Kernels ready to run: compiled or taken from the cache, loaded, and held by a native plan.

`plan_for` gives the plan of a kernel under the current options. A plan has code for some variants, each compiled when a
launch first needs it. Variants combine:

- STRIDED is for arrays whose inner dimension is not contiguous.
- FLAT, on a CPU, is for grids whose last dimension is shorter than a group of lanes.
- ATOMIC, on a CPU, is for a kernel that adds to an array which overlaps with another.
- PROMISED, on a GPU, is for arrays that are aligned and share no memory.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import numpy as np

from .. import _native, config
from ..arrays import cuda_interface, dlpack
from ..arrays.array import array
from ..arrays.indexed_array import indexedarray
from ..codegen.target import GpuOptions, Target, cuda, host
from ..compiler import Artifact, CompileRequest, compile, note_block_dim
from ..devices.device import CPU, Device, device_of
from ..dispatch.call_site import code_of
from ..front import content_hash, warnings
from ..lang.array_structs.array_struct_types import fabric_parts, indexed_array
from ..lang.kernel import Kernel, on_redefinition
from ..lang.launch_constants import DEFAULT_BLOCK_DIM
from ..lang.registry import BLOCK_BUILTINS, SHARED_BUILTINS
from ..lang.types import Array, Struct, Type, leaves
from ..lang.values.structs import spell
from ..lang.values.value_classes import python_type
from ..late_bound import late
from ..logger import info
from . import ahead_table, kernel_cache, kernel_errors
from .captured_constants import Constants

STRIDED, FLAT = _native.Plan.STRIDED, _native.Plan.FLAT  # bits of a variant
ATOMIC, PROMISED = _native.Plan.ATOMIC, _native.Plan.PROMISED


class Options(NamedTuple):
    """The options in force that make a difference to compiled code."""

    debug: bool
    deterministic: bool = False
    adjoint: str = ""
    exact: bool = False  # without fused multiply-adds, so that an adjoint computes the bits that the launch did
    device: int = 0  # the number of the device
    block_dim: int = 0  # threads of a block, where that makes a difference; 0 for USUAL_BLOCK
    tiled: int = 0  # the number of dimensions of launches whose last one is a block, 0 for others
    lines: bool = False  # whether profilers are told which line of Python an instruction of a GPU belongs to
    serial: bool = False  # whether threads run one after the other
    orders_races: bool = False  # whether they do so where they race
    fast_math: bool = False  # whether divisions may be less exact
    dialect: str = "python"  # what kernels mean where Python and warp-lang differ
    assemble: bool = False  # whether NVIDIA's assembler makes machine code, and not the driver
    cpu_target: str | None = None  # the best instructions that the CPU may use; None for all that it has


INTERPRETED = "interpreted"  # the key of a kernel's Python function among its plans


class LoadedKernel:
    """An artifact and its code in memory, for the CPU with the address of the kernel's entry. `on_gpus` has the code on
    each GPU. Kernels with equal keys share it.
    """

    __slots__ = ("__weakref__", "address", "artifact", "code", "on_gpus")

    def __init__(self, artifact: Artifact):
        self.artifact = artifact
        self.code = None if artifact.grid else _native.Code(artifact.code)
        self.address = self.code.address(artifact.symbol) if self.code else 0
        self.on_gpus: dict[Any, Any] = {}


class CaptureSnapshot(NamedTuple):
    """Snapshot of a kernel's content, as `content_hash.meaning` returns it, with its captured constants."""

    meaning: content_hash.Meaning
    constants: Constants


_planned: WeakSet[Kernel] = WeakSet()
_loaded: WeakValueDictionary[str, LoadedKernel] = WeakValueDictionary()
_uses: WeakKeyDictionary[Kernel, content_hash.UsedNames] = WeakKeyDictionary()
_meanings: WeakKeyDictionary[Kernel, CaptureSnapshot] = WeakKeyDictionary()  # when code for the kernel was wanted first
lock = threading.RLock()  # held while kernels are made
# A child of fork has one thread: a compilation that another one was at would never end, nor give its locks back.
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


def options_for(kernel: Kernel, device: Device = CPU, block_dim: int = DEFAULT_BLOCK_DIM) -> Options:
    """The options that a launch of `kernel` on a device, in blocks of so many threads, runs with now."""
    is_debug = _told(kernel, "mode") == "debug" or config.verify_fp
    blocks = block_dim if block_dim != DEFAULT_BLOCK_DIM and (device.is_cuda or works_in_blocks(kernel)) else 0
    if blocks:
        note_block_dim(kernel, blocks)
    fast = bool(_told(kernel, "fast_math"))
    tiled = kernel.options.get("tiled", 0)
    found = Options(
        is_debug,
        bool(_told(kernel, "deterministic")),
        device=device.id,
        block_dim=blocks,
        tiled=tiled,
        fast_math=fast,
        dialect=config.dialect,
    )
    if device.is_cpu:
        orders = _orders_races(kernel)
        serial = _is_serial(kernel) or (orders and not _may_differ_by_thread(kernel))
        return found._replace(serial=serial, orders_races=orders, cpu_target=config.cpu_target)
    return found._replace(lines=bool(_told(kernel, "lineinfo")), assemble=_told(kernel, "cuda_output") == "cubin")


def _told(kernel: Kernel, name: str) -> Any:
    """An option in force for a kernel: its own, that of its module, or that of all."""
    own = (kernel.options.get("module_options") or {}).get(name)
    told = own if own is not None else module_option(kernel, name)
    return told if told is not None else getattr(config, name)


def _is_serial(kernel: Kernel) -> bool:
    own = kernel.options.get("serial")
    return bool(_told(kernel, "serial") if own is None else own)


def _orders_races(kernel: Kernel) -> bool:
    """True in the dialect of warp-lang, whose CPU kernels run thread by thread, unless the program says otherwise."""
    own = kernel.options.get("serial")
    return config.dialect == "warp-lang" and (module_option(kernel, "serial") if own is None else own) is not False


def _may_differ_by_thread(kernel: Kernel) -> bool:
    """False if all threads of a kernel do the same: a thread that differs goes on from what earlier ones left."""
    return works_in_blocks(kernel) or _mentions(kernel, ("tid",), unknown=True)


def works_on_tiles(kernel: Kernel) -> bool:
    """True if a kernel has work that a block does once, so that it may index blocks."""
    return _mentions(kernel, SHARED_BUILTINS)


def works_in_blocks(kernel: Kernel) -> bool:
    """True if the block size may change the results of a kernel."""
    return _mentions(kernel, BLOCK_BUILTINS, unknown=True)


def has_first_indices(kernel: Kernel) -> bool:
    """True if the indices of a kernel's threads are those of the first dimensions in the dialect of warp-lang."""
    return not works_in_blocks(kernel) and _mentions(kernel, ("tid",), unknown=True)


def _mentions(kernel: Kernel, builtins: Collection[str], unknown: bool = False) -> bool:
    if kernel not in _uses:
        _uses[kernel] = content_hash.used_names(kernel)
    return _uses[kernel].mention(builtins, unknown)


def may_bitcast_gradients(kernel: Kernel) -> bool:
    """True if a kernel may reinterpret floating point numbers as bits, or bits as such numbers."""
    return _mentions(kernel, ("cast",), unknown=True)


def module_option(kernel: Kernel, name: str) -> Any:
    """Return the option of a kernel's module; None if it is not set."""
    return kernel.module.options.chosen.get(name)


on_options: list[Callable[[], None]] = []  # called when options have changed


def forget_current(_: object = None) -> None:
    """Make every kernel look for its plan again: the options have changed."""
    for changed in on_options:
        changed()
    for kernel in list(_planned):
        kernel._plan = None


def forget_code(kernels: Sequence[Kernel], forget_constants: bool) -> None:
    """Give the code of kernels and of what is derived from them back; and forget what their constants were at first."""
    with lock:
        for kernel in kernels:
            forget_code([*kernel._derived.values(), *kernel._variants.values()], False)
            kernel._plan = None
            kernel._plans.clear()
            if forget_constants:
                _meanings.pop(kernel, None)


def forget_definitions() -> None:
    """Make every kernel look for its code again: functions that it calls may have been defined anew."""
    with lock:
        for kernel in list(_planned):
            kernel._plan = None
            kernel._plans.clear()
        _meanings.clear()
        _uses.clear()


def may_specialize(options: Options) -> bool:
    """True if there is code that relies on arrays being aligned and disjoint: on GPUs, except for adjoints and debug
    mode.
    """
    return bool(options.device) and not options.adjoint and not options.debug


def plan_for(kernel: Kernel, options: Options, args: Sequence[Any] = ()) -> Any:
    """The native plan of `kernel`, made on the first call with code for these arguments.

    Raises:
        CompileError: the kernel has mistakes.
    """
    plan = kernel._plans.get(options)
    if plan is not None:
        return plan
    with lock:
        if options not in kernel._plans:
            maker = late("gpu_plan_maker") if options.device else PlanMaker
            kernel._plans[options] = maker(kernel, options).make(_variant_of(args, options))
            _planned.add(kernel)
        return kernel._plans[options]


def interpreted(kernel: Kernel, make: Callable[[], Any]) -> Any:
    """The Python function of `kernel` for interpreted launches, which `make` makes on the first call.

    Raises:
        RuntimeError: see `with_captured_constants`.
    """
    with lock:
        if INTERPRETED not in kernel._plans:
            with with_captured_constants(kernel, options_for(kernel)):
                kernel._plans[INTERPRETED] = make()
            _planned.add(kernel)
        return kernel._plans[INTERPRETED]


def _variant_of(args: Sequence[Any], options: Options) -> int:
    """The variant of code that a launch on these arguments needs, as far as these tell; native code knows exactly."""
    strided = any(isinstance(value, _native.ArrayBase) and not value.inner_contiguous for value in args)
    promised = may_specialize(options) and _native.promised(args)
    return (STRIDED if strided else 0) | (PROMISED if promised else 0)


def choices_of(kernel: Kernel, open_params: list[int]) -> Any:
    """The native table of a generic kernel's plans under the current options."""
    if kernel._plan is None:
        kernel._plan = _native.OverloadPlans(open_params)
        _planned.add(kernel)
    return kernel._plan


def target_of(options: Options) -> Target:
    """Return the machine that a launch with these options runs on."""
    return cuda(device_of(options.device).arch) if options.device else host(options.cpu_target)


def request(kernel: Kernel, options: Options, variant: int, target: Target | None = None) -> CompileRequest:
    """Return the compile request for one variant of a kernel, by default for the machine that it is launched on."""
    _, min_blocks = kernel.options.get("launch_bounds") or (0, 0)
    target = target or target_of(options)
    return CompileRequest(
        kernel.primal,
        types=tuple(t for _, t in kernel.params),
        target=target,
        lanes=kernel.lanes,
        inner_contiguous=not variant & STRIDED,
        flat=bool(variant & FLAT),
        debug=options.debug,
        contract=target.fma and not options.exact,
        transform=kernel.transform,
        adjoint=options.adjoint,
        additions="atomic" if variant & ATOMIC else "ordered" if options.deterministic else "logged",
        gpu=GpuOptions(
            block_dim=options.block_dim or DEFAULT_BLOCK_DIM,
            aligned=bool(variant & PROMISED),
            disjoint=bool(variant & PROMISED),
            max_registers=kernel.options.get("cuda_max_registers") or 0,
            min_blocks=min_blocks,
            lines=options.lines,
            assemble=options.assemble,
        ),
        block_dim=options.block_dim or DEFAULT_BLOCK_DIM,
        tiled=options.tiled,
        serial=options.serial,
        orders_races=options.orders_races,
        fast_math=options.fast_math,
        dialect=options.dialect,
    )


def load(kernel: Kernel, options: Options, variant: int = 0) -> LoadedKernel:
    """The code of one variant of `kernel`: in memory already, from the cache, or compiled now."""
    wanted = request(kernel, options, variant)
    with with_captured_constants(kernel, options) as meaning:
        key = wanted.key(meaning)
        found = _known(wanted, key)
        if found is None:
            found = _loaded[key] = _compile(wanted, key)
        if found.artifact.warnings:
            warnings.tell(kernel, warnings.placed(kernel, found.artifact.warnings))
        return found


def was_making_code(error: BaseException) -> bool:
    """True if an error has ended `load`, so that the launch that needed the code has not begun."""
    return load.__code__ in code_of(error)


_DERIVED = "so its derivative would belong to another kernel"
_OTHER_CODE = "but this launch needs new code (for strided arrays, short rows, other options or another device)"


@contextmanager
def with_captured_constants(kernel: Kernel, options: Options) -> Iterator[content_hash.Meaning]:
    """A `with` block, held by one thread, in which a kernel means what it did when it was launched first, and that
    meaning. All code of a kernel must mean the same, or a derivative could be that of another one than the launch ran.

    Raises:
        RuntimeError: constants or functions have changed since, and a derivative is wanted or they cannot be put back.
    """
    with lock:
        yield from _as_at_first(kernel, options)


def _as_at_first(kernel: Kernel, options: Options) -> Iterator[content_hash.Meaning]:
    is_derived = options.adjoint or options.exact or kernel.transform
    kernel = kernel.primal
    now, definitions = content_hash.meaning(kernel)
    first = _meanings.get(kernel)
    if first is None:
        made = CaptureSnapshot(now, Constants(definitions))
        yield now
        _meanings[kernel] = made  # code that could not be made runs nowhere, so the kernel may still change
        return
    names = content_hash.changed_names(kernel, first.meaning, now) if first.meaning != now else []
    if not names:
        yield now
        return
    if not is_derived:
        with first.constants.in_place():
            if content_hash.meaning(kernel)[0] == first.meaning:
                yield first.meaning
                return
    changed = " and ".join(f"`{name}`" for name in names) + (" has" if len(names) == 1 else " have")
    raise RuntimeError(
        f"kernel `{kernel.name}`: {changed} changed since the first launch of the kernel. Launches keep "
        f"the value from then, {_DERIVED if is_derived else _OTHER_CODE}: define the kernel anew, or pass "
        "the value as an argument"
    )


def cached(kernel: Kernel, options: Options) -> LoadedKernel | None:
    """The code of `kernel` if it need not be compiled."""
    wanted = request(kernel, options, 0)
    return cached_for(wanted, wanted.key())


def cached_for(request: CompileRequest, key: str) -> LoadedKernel | None:
    """The code of a request whose key is `key`, if it need not be compiled."""
    with lock:
        return _known(request, key)


def _known(request: CompileRequest, key: str) -> LoadedKernel | None:
    found = _from_file(request) or _loaded.get(key) or _from_cache(request, key)
    if found is not None:
        _loaded[key] = found
    return found


def _from_file(request: CompileRequest) -> LoadedKernel | None:
    """Return the code that a file compiled ahead of time has for a request."""
    entry = ahead_table.find(request)
    if entry is None:
        return None
    try:
        entry.loaded = entry.loaded or LoadedKernel(entry.artifact)
        return entry.loaded
    except (_native.LoadError, ValueError) as why:
        raise RuntimeError(
            f"kernel `{request.kernel.name}`: its code in {entry.path} does not load ({why}). Compile the module "
            "again with wp.compile_aot_module"
        ) from None


def _from_cache(request: CompileRequest, key: str) -> LoadedKernel | None:
    start = _native.timeline.now()
    artifact = kernel_cache.load(key)
    if artifact is None:
        return None
    try:
        loaded = LoadedKernel(artifact)
    except _native.LoadError as why:
        info(f"kernel `{request.kernel.name}`: the cached code does not load ({why})")
        return None
    _native.timeline.add(f"load kernel {request.kernel.name}", start)
    _tell(request, f"from the cache in {(_native.timeline.now() - start) / 1e6:.1f} ms")
    return loaded


def artifact_for(kernel: Kernel, options: Options, variant: int, target: Target) -> Artifact:
    """Return the artifact of one variant of `kernel` for any machine: from the cache, or compiled now."""
    wanted = request(kernel, options, variant, target)
    with with_captured_constants(kernel, options) as meaning:
        key = wanted.key(meaning)
        return kernel_cache.load(key) or _compiled(wanted, key)


def _compile(request: CompileRequest, key: str) -> LoadedKernel:
    return LoadedKernel(_compiled(request, key))


def _compiled(request: CompileRequest, key: str) -> Artifact:
    start = _native.timeline.now()
    artifact = compile(request)
    _native.timeline.add(f"compile kernel {request.kernel.name}", start)
    if artifact.serial and not request.serial:
        _note(request, "its threads wait for each other or race, so they run one after the other")
    kernel_cache.store(key, artifact)
    stages = ", ".join(f"{name} {ms:.1f}" for name, ms in artifact.milliseconds.items())
    _tell(request, f"compiled in {sum(artifact.milliseconds.values()):.1f} ms ({stages})")
    return artifact


def _note(request: CompileRequest, what: str) -> None:
    info(f"kernel `{request.kernel.name}`: {what}")


def _tell(request: CompileRequest, what: str) -> None:
    if config.threshold() <= config.LOG_INFO:
        kind = "".join(
            f"{word} "
            for word, applies in (
                ("debug", request.debug),
                ("strided", not request.inner_contiguous),
                ("flat", request.flat),
                ("promised", request.gpu.disjoint),
            )
            if applies
        )
        info(f"kernel `{request.kernel.name}` ({kind}{request.target.name}) {what}")


def _inner_arrays(t: Type, written: tuple[int, ...]) -> list[tuple[int, int, int, bool]]:
    """(byte offset, dimensions, element size, whether the kernel may write to it) of the arrays inside a struct."""
    if isinstance(t, Array):
        return []
    return [(at, leaf.ndim, leaf.dtype.size, at in written) for at, leaf in leaves(t) if isinstance(leaf, Array)]


def holds_arrays(t: Type) -> bool:
    """True if the elements of an array parameter contain arrays."""
    arrays = [leaf for _, leaf in leaves(t) if isinstance(leaf, Array)]
    return any(isinstance(inner, Array) for a in arrays for _, inner in leaves(a.dtype))


class PlanMaker:
    """Makes one plan and serves its callbacks."""

    def __init__(self, kernel: Kernel, options: Options):
        self.kernel, self.options = kernel, options
        self.types: list[Type] = [t for _, t in kernel.params]
        self.artifact: Artifact

    def make(self, variant: int) -> Any:
        """Return the plan, with code for a variant."""
        loaded = self.load(variant)
        self.artifact = artifact = loaded.artifact
        params = [
            _native.ParamSpec(name, t, bool(written), _inner_arrays(t, written), holds_arrays(t))
            for (name, t), written in zip(self.kernel.params, artifact.written)
        ]
        self.plan = self.empty_plan(params)
        self.plan.label = f"adjoint of {self.kernel.name}" if self.options.adjoint else self.kernel.name
        self.plan.whole_blocks, self.plan.serial = artifact.whole_blocks, artifact.serial
        self.plan.whole_rows = self.options.tiled > 0 and artifact.block_dim > 0
        self.plan.first_indices = self.options.dialect == "warp-lang" and has_first_indices(self.kernel)
        self.plan.set_needed(artifact.needed)
        self.plan.set_counts(*artifact.counts)
        self.plan.set_stores(*artifact.stores)
        self.add(variant, loaded)
        return self.plan

    def load(self, variant: int) -> LoadedKernel:
        """Return the code for a variant."""
        return load(self.kernel, self.options, variant)

    def empty_plan(self, params: list[Any]) -> Any:
        """A plan without code."""
        plan = _native.Plan(
            self.kernel.name,
            params,
            self.artifact.arity,
            on_missing=self.on_missing,
            on_failure=self.on_failure,
            convert=self.convert,
            flat_below=0 if self.artifact.block_dim else self.artifact.lanes,
            block_dim=self.artifact.block_dim,
        )
        plan.on_fault = self.on_fault
        plan.set_accumulation(self.artifact.accumulation)
        return plan

    def on_missing(self, variant: int) -> None:
        """Make the code for a variant that a launch needs."""
        self.add(variant, self.load(variant))

    def add(self, variant: int, loaded: LoadedKernel) -> None:
        """Give the plan the code of a variant."""
        self.plan.set_entry(variant, loaded.address, loaded)

    def on_failure(self, thread: int, site: int, values: list[int], dims: tuple[int, ...]) -> Exception:
        """Return the error for a thread that failed."""
        # The IR alone decides the sites, so all variants number them alike.
        return kernel_errors.error(self.kernel, self.artifact.sites[site], thread, dims, values)

    def on_fault(self, *found: Any) -> Exception:
        """Return the error for a bad memory access."""
        return kernel_errors.fault(self.kernel, self.options.debug, kernel_errors.Fault(*found))

    def convert(self, index: int, value: Any) -> Any:
        """Objects of other libraries as arrays over the same memory; native code knows the buffer protocol itself."""
        t = self.types[index]
        if indexed_array(t) is not None:
            return as_indexed(value, t)
        if isinstance(t, Struct):
            return namesake(value, t)
        return shared_array(value, t) if isinstance(t, Array) else NotImplemented


def namesake(value: Any, t: Struct) -> Any:
    """NotImplemented for a value of another struct.

    Raises:
        TypeError: it has the same name, by which no one could tell them; or the parameter is an array of Fabric.
    """
    if fabric_parts(t):
        raise TypeError(f"expected {spell(t)}, got {_describe(value)}")
    other = getattr(value, "__wc_type__", None)
    if isinstance(other, Struct) and other.name == t.name:
        theirs, ours = (", ".join(f"{n}: {spell(f)}" for n, f in s.fields) for s in (other, t))
        raise TypeError(f"two structs are named {t.name}: its fields are ({theirs}), those of the kernel's ({ours})")
    return NotImplemented


def as_indexed(value: Any, t: Type) -> Any:
    """`value` for a parameter that is an indexed array: a plain array stands for one without indices.

    Raises:
        TypeError: it is no such array.
    """
    array = indexed_array(t)
    assert array is not None
    if getattr(value, "__wc_type__", None) is t:
        return value
    found = value if isinstance(value, _native.ArrayBase) else shared_array(value, array)
    if getattr(found, "__wc_type__", None) is not array:
        raise TypeError(f"expected {spell(t)}, got {_describe(value)}")
    return indexedarray(found)


def _describe(value: Any) -> str:
    t = getattr(value, "__wc_type__", None)
    return spell(t) if isinstance(t, Type) else type(value).__name__


def shared_array(value: Any, t: Array) -> Any:
    """`value` as an array of type `t` over the same memory, or NotImplemented if it has no memory to share.

    Raises:
        TypeError: the memory does not hold elements of the type.
        ValueError: it cannot be used in place.
    """
    if dlpack.has_data(value) and not hasattr(value, "__array_interface__"):
        made = dlpack.import_dlpack(array, value, python_type(t.dtype), name="")
        if made.ndim != t.ndim:
            raise TypeError(f"expected {spell(t)}, got data of shape {tuple(value.shape)}")
        return made
    if hasattr(value, "__cuda_array_interface__") and not hasattr(value, "__array_interface__"):
        number = cuda_interface.gpu_of(value)
        where = "cuda" if number is None else f"cuda:{number}"
        raise ValueError(
            f"the {type(value).__name__} is in the memory of a GPU, but the launch is on the CPU: launch with "
            f'device="{where}", or pass a copy on the CPU'
        )
    if hasattr(value, "__wc_type__") or not any(hasattr(value, x) for x in ("__array_interface__", "__array__")):
        return NotImplemented
    memory = np.asarray(value)
    if not hasattr(value, "__array_interface__") and memory.ctypes.data != np.asarray(value).ctypes.data:
        memory.flags.writeable = False  # each call makes a copy, in which the results of a kernel would be lost
    made = array(memory, dtype=python_type(t.dtype), copy=False)
    if made.ndim != t.ndim:
        raise TypeError(f"expected {spell(t)}, got data of shape {memory.shape}")
    if memory.size and made._address != memory.ctypes.data:
        raise ValueError(f"data of {memory.dtype} cannot be used in place as {spell(t)}; make a wp.array of it")
    return made


_COMPILED_WITH = ("mode", "serial", "verify_fp", "deterministic", "lineinfo", "cuda_output", "fast_math", "cpu_target")
for _name in (*_COMPILED_WITH, "dialect"):
    config.watch(_name, forget_current)
on_redefinition.append(forget_definitions)
