"""From a kernel to machine code: `compile(request) -> Artifact`. The only file that knows every stage.

    front.lower -> passes.pipeline -> codegen.emit -> codegen.toolchain

A request is one frozen value. Its `key` hashes everything that can change the machine code (the kernel's content, its
types, target, options, and the compiler itself), and names the artifact in the disk cache.

Nothing the user writes may end the process. Mistakes of the user's come out of `front` as CompileError. A stage that
fails in any other way is our own mistake: it becomes an InternalError that names a dump. LLVM itself aborts only on
code that it cannot select. So `codegen.toolchain` refuses intrinsics that are not on its white list before LLVM sees
them, and verifies the module before any pass runs.
"""

# No annotations as strings here: the schemas below would compile each of theirs in every process.
import gc
import importlib
import importlib.util
import linecache
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from . import config
from .codegen.target import GpuOptions, Target
from .ir.launch_facts import (
    Accumulation,
    AdjointFacts,
    ArrayLookups,
    Counts,
    Dependences,
    Effects,
    Need,
    Offset,
    Stores,
    TangentFacts,
    Utf8,
)
from .ir.nodes import Loc, user_loc
from .lang.blake2 import blake2b
from .lang.deep_recursion import with_large_stack
from .lang.errors import (
    CompileError,
    Diagnostic,
    InternalError,
    NotDifferentiable,
    NotReplayable,
    PassError,
    Place,
    Span,
    compile_error,
)
from .lang.kernel import Kernel, on_redefinition
from .lang.kernel_transforms import Augmented, ScalarArrays, StructureArrays, Transform, subject_after
from .lang.launch_constants import DEFAULT_BLOCK_DIM
from .lang.types import Type


class Site(NamedTuple):
    """A place in the user's source where a debug build may stop a thread, and what to tell then.

    `operands` holds the type key of each value that the failure reports. `others` are the files and lines of further
    calls that share the code. `code` names its line and those of `others` in the way of `front.code_lines`; -1 stands
    for a line outside of the kernel and its functions.
    """

    kind: str
    message: str
    file: str = ""
    line: int = 0
    col: int = 0
    operands: tuple[str, ...] = ()
    others: tuple[tuple[str, int], ...] = ()
    code: tuple[tuple[Offset, int], ...] = ()


class Grid(NamedTuple):
    """Launch requirements of a CUDA kernel (`codegen.nvptx` explains them).

    Attributes:
        block_dim: the most threads a block may have.
        strided: whether any number of blocks will do; otherwise the grid must have a thread for each of the launch.
        argument_bytes: the size of the argument block.
        stashes: the sizes of cells (4, 8) that the launch must provide memory for.
        uses_structures: whether the launch must say where the memory of descriptors is.
    """

    block_dim: int
    strided: bool
    argument_bytes: int
    stashes: tuple[int, ...]
    uses_structures: bool


class Artifact(NamedTuple):
    """A compiled kernel. `symbol` is its entry in `code`, `params` the type keys of its parameters in order, `written`
    the byte offsets in each of the arrays through which it may write. `arity` is the number of its launch indices,
    `sites` where debug code may stop, `accumulation` how it adds to arrays. `warnings` are those about the kernel
    (`front.notices`), `milliseconds` the time of each stage of compiling. For a GPU `code` is PTX, `machine_code` what
    ptxas made of it if that was asked for, and `grid` says how to launch. `block_dim` is how many threads a block has,
    0 unless the kernel works in blocks, and `whole_blocks` whether launches must consist of whole ones. `needed` are
    the arrays that no thread can do without; debug code tells by itself, and adjoints run after their kernels. `counts`
    says what the kernel counts with 32-bit integers. `serial`: on a CPU, threads must run one after the other.
    `stores`: the structures that it writes to by their id. `covered` are the arrays of which a launch over their shape
    neither reads nor leaves what was there.
    """

    kernel: str
    symbol: Utf8
    params: tuple[str, ...]
    written: tuple[tuple[int, ...], ...]
    arity: int
    lanes: int
    code: bytes
    sites: tuple[Site, ...] = ()
    reads: tuple[int, ...] = ()
    replays: bool = False
    accumulation: Accumulation = Accumulation()
    warnings: tuple[tuple[int, int, str], ...] = ()
    milliseconds: dict[str, float] = {}  # noqa: RUF012 - never changed
    machine_code: bytes = b""
    grid: Grid | None = None
    block_dim: int = 0
    whole_blocks: bool = False
    needed: tuple[Need, ...] = ()
    counts: Counts = Counts()
    serial: bool = False
    stores: Stores = Stores()
    covered: tuple[Need, ...] = ()


class CompileRequest(NamedTuple):
    """A compile request: the kernel, the target machine and the options.

    Attributes:
        kernel: the kernel as the user wrote it.
        types: type of each parameter after the transforms, in order.
        target: the machine.
        lanes: threads that share a SIMD register; 1 compiles plain scalar code, None lets the code generator choose.
        inner_contiguous: whether every array argument has its innermost elements side by side.
        flat: whether lanes run over the flattened grid rather than its last dimension.
        debug: whether bounds, divisors, asserts and NaN are checked.
        contract: whether a*b + c may become one fused operation.
        transform: what to derive from the kernel, one after the other.
        adjoint: "" for the derived kernel itself, "distinct" for its adjoint, "shared" for one that may be given arrays
            that share memory.
        additions: how atomic additions of floats reach memory. "logged" is the usual way. "ordered" is for results that
            must not depend on how a launch is divided. "atomic" is for a launch that sees the memory it adds to in
            another way, too.
        gpu: what matters for a GPU only.
        block_dim: how many threads a block has, for kernels that work in blocks.
        tiled: the number of dimensions of a launch whose last one is a block of threads, 0 for others.
        native: whether native code runs functions of the library that it has, such as queries of meshes, in release
            mode on CPUs.
        serial: on a CPU, whether threads run one after the other, so that each sees what earlier ones wrote.
        orders_races: on a CPU, whether they do so if the kernel has a likely race.
        fast_math: whether divisions may be less exact (passes/reciprocals.py).
        dialect: `config.dialect`, by which the kernel is lowered.
    """

    kernel: Kernel
    types: tuple[Type, ...]
    target: Target
    lanes: int | None = None
    inner_contiguous: bool = True
    flat: bool = False
    debug: bool = False
    contract: bool = True
    transform: tuple[Transform, ...] = ()
    adjoint: str = ""
    additions: str = "logged"
    gpu: GpuOptions = GpuOptions()
    block_dim: int = DEFAULT_BLOCK_DIM
    tiled: int = 0
    native: bool = True
    serial: bool = False
    orders_races: bool = False
    fast_math: bool = False
    dialect: str = "python"

    @property
    def subject(self) -> str:
        """The name in error messages."""
        return subject_after(self.transform, self.kernel.subject)

    def key(self, meaning: Any = None) -> str:
        """Hash of everything that the artifact depends on, in hexadecimal. `meaning`: of the kernel, if it is known."""
        if meaning and not (self.debug or self.gpu.lines):
            content = meaning.digest()
        else:
            content = _stage("front.content_hash").digest(self.kernel, positions=self.debug or self.gpu.lines)
        options = {name: value for name, value in self._asdict().items() if name != "kernel"}
        return blake2b(repr((content, options, compiler_version())).encode(), digest_size=20).hexdigest()


def _stage(name: str) -> ModuleType:
    """A stage of the compiler, imported when it is first needed.

    Importing the front end, the passes and LLVM takes far longer than running a kernel that is in the cache. So this is
    the one place that does not import at the top of the file.
    """
    return importlib.import_module(f"{__package__}.{name}")


_COMPILER = ("lang", "ir", "front", "passes", "autodiff", "codegen", "lib")


def _sources(folder: str, name: str) -> list[str]:
    """List the files of a folder called `name` and of the folders in it, with sizes and times of change."""
    found = []
    for entry in os.scandir(folder):
        if entry.is_dir():
            found += _sources(entry.path, f"{name}/{entry.name}") if entry.name != "__pycache__" else []
        else:
            stat = entry.stat()
            found.append(f"{name}/{entry.name} {stat.st_size} {stat.st_mtime_ns}\n")
    return found


@lru_cache(maxsize=1)
def compiler_version() -> str:
    """Identifies this build of the compiler, its library and LLVM, without loading any of them.

    Sources are told apart by size and time of change: a release has fixed ones, and an edit of the compiler shows.
    """
    h = blake2b(config.package_version.encode(), digest_size=16)
    here = os.path.dirname(__file__)
    own = os.stat(__file__)
    h.update(f"{own.st_size} {own.st_mtime_ns}\n".encode())
    for room in _COMPILER:
        h.update("".join(sorted(_sources(os.path.join(here, room), room))).encode())
    spec = importlib.util.find_spec("llvmlite")
    if spec and spec.origin:
        with open(os.path.join(os.path.dirname(spec.origin), "_version.py"), "rb") as f:
            h.update(f.read())
    return h.hexdigest()


class _Stopwatch:
    """Milliseconds spent in each stage."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.milliseconds[stage] = round((now - self._last) * 1e3, 3)
        self._last = now


def compile(request: CompileRequest) -> Artifact:
    """Compile a kernel.

    Raises:
        CompileError: the kernel has mistakes; all of them are in the one report.
        InternalError: the compiler has; the message names a file to send with a report.
    """
    made: dict[str, Any] = {}  # what each stage made, for the dump
    try:
        with _without_collector():
            return with_large_stack(lambda: _compile(request, made), request.subject)
    except (CompileError, Warning):  # a program may have turned warnings into errors
        raise
    except PassError as why:
        raise report_refusal(request.subject, why) from None
    except Exception as why:
        if (interrupt := _stage("front.signal_origin").raised_by_a_handler(why)) is not None:
            raise interrupt from None
        what = why.what if isinstance(why, InternalError) else f"{type(why).__name__}: {why}"
        dump = _stage("crash_report").write(request, made)
        raise InternalError(f"{what} (details in {dump})", f"kernel `{request.kernel.name}`") from why


@contextmanager
def _without_collector() -> Iterator[None]:
    """A compilation makes many small objects and frees them all at once: looking for cycles meanwhile is a tenth of
    its time for nothing.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _compile(request: CompileRequest, made: dict[str, Any]) -> Artifact:
    watch = _Stopwatch()
    built = _take_built(request)
    made["ir"] = fn = built.primal if built else _lowered_for(request)
    request = request._replace(serial=_is_serial(request, fn))
    watch.lap("front")
    primal = fn if request.adjoint else None
    reverse = built.adjoint if built else _reverse(request, fn) if request.adjoint else None
    if reverse is not None:
        made["ir"] = fn = reverse.function
        watch.lap("adjoint")
    pipeline = _stage("passes.pipeline")
    debug = request.debug and not request.transform  # tangents may be what no check lets pass
    native = _native_functions(request)
    stores = _stage("passes.structure_writes").structure_stores(fn)
    fast = request.fast_math
    barriers = _stage("passes.barriers")
    memory = barriers.SHARED_BYTES if request.target.is_gpu else barriers.CPU_SHARED_BYTES
    passes = pipeline.PassOptions(
        debug, request.contract, native=native, private=_private(request), fast_math=fast, shared_bytes=memory
    )
    made["ir"] = fn = pipeline.run(fn, passes, primal)
    races = _races(request, fn)
    if races and request.orders_races:
        return _compile(request._replace(serial=True), made)
    written = _stage("ir.analysis.effects").written_offsets(fn)
    needed = () if request.debug or primal else _stage("ir.analysis.effects").needed_arrays(fn)
    covered = () if primal else _stage("ir.analysis.effects").covered_arrays(fn)
    counts = _stage("passes.counts").counts(fn)
    whole_blocks = fn.block_dim > 0 and _stage("ir.interp.block_runner").takes_whole_blocks(fn)
    watch.lap("passes")
    if fn.block_dim and not request.target.is_gpu:
        made["ir"] = fn = _stage("passes.barrier_fission").split(fn)
        watch.lap("blocks")
    emit = _stage("codegen.cpu.cpu_kernel")
    additions, lanes = ("atomic", 1) if request.serial else (request.additions, request.lanes or 0)
    ways = request.inner_contiguous, request.flat, additions, native, request.serial
    options = emit.EmitOptions(lanes, *ways, whole_blocks)
    made["llvm"] = unit = (_emit_gpu if request.target.is_gpu else _emit_cpu)(request, fn, options)
    watch.lap("emit")
    _stage("codegen.toolchain")
    watch.lap("load llvm")
    generate = _gpu_code if request.target.is_gpu else _cpu_code
    machine = generate(request, fn, unit)
    watch.lap("llvm")
    return Artifact(
        kernel=request.kernel.name,
        symbol=unit.symbol,
        params=tuple(t.key for t in request.types),
        written=written,
        needed=needed,
        counts=counts,
        arity=unit.arity,
        lanes=unit.lanes,
        **machine,
        reads=reverse.reads if reverse else (),
        replays=reverse.replays if reverse else False,
        accumulation=unit.accumulation,
        sites=_sites(request.kernel, unit.sites),
        warnings=_stage("front.warnings").stored(request.kernel) if request.kernel.warned else (),
        milliseconds=watch.milliseconds,
        block_dim=fn.block_dim,
        whole_blocks=whole_blocks,
        serial=request.serial,
        stores=stores,
        covered=covered,
    )


def _is_serial(request: CompileRequest, fn: Any) -> bool:
    """True if the threads of a kernel must run one after the other: it was asked for, or they wait for each other."""
    if request.serial or request.target.is_gpu:
        return request.serial
    exchange = _stage("ir.analysis.thread_exchange")
    callees = exchange.callees_of_waiting(fn)
    return callees is not None and exchange.waiting_loop(_flat(fn, callees)) is not None


def _races(request: CompileRequest, fn: Any) -> Sequence[Any]:
    """The likely races between the threads of a kernel after the passes. It warns of those that the user wrote."""
    if request.serial or request.adjoint or (request.target.is_gpu and request.transform):
        return ()
    races = _stage("ir.analysis.likely_races").likely_races(fn)
    if not request.transform:
        is_ordered = request.orders_races and not request.target.is_gpu
        places = [(user_loc(race.store.loc), race.message(is_ordered)) for race in races if race.is_told]
        _stage("front.warnings").tell(request.kernel, [(at.file, at.line, message) for at, message in places if at])
    return races


def _flat(fn: Any, callees: frozenset[Any] | None = None) -> Any:
    """A kernel with the calls of `callees` inlined, by default all calls."""
    chosen = (lambda callee: True) if callees is None else callees.__contains__
    return _stage("passes.simplify").simplify(_stage("passes.inline").inline_calls(fn, chosen))


def _native_functions(request: CompileRequest) -> frozenset[str]:
    """The functions of the library that native code runs. Debug mode and GPUs run them as the library has them."""
    if request.debug or request.target.is_gpu or not request.native:
        return frozenset()
    return frozenset(_stage("codegen.cpu.native_calls").SYMBOLS)


def _private(request: CompileRequest) -> str:
    """Among which arrays to look for those of one thread (passes/atomic_demotion.py): a CPU launch checks what it is
    told.
    """
    told = request.adjoint or not request.target.is_gpu or request.gpu.disjoint
    if request.additions == "atomic" or request.serial or not told:
        return "none"
    return "one" if request.adjoint == "shared" else "all"


def _emit_cpu(request: CompileRequest, fn: Any, options: Any) -> Any:
    return _stage("codegen.cpu.cpu_kernel").emit_cpu(fn, request.target, options)


def _cpu_code(request: CompileRequest, fn: Any, unit: Any) -> dict[str, Any]:
    return {"code": _stage("codegen.toolchain").object_code(unit.text, request.target)}


def _emit_gpu(request: CompileRequest, fn: Any, options: Any) -> Any:
    return _stage("codegen.cuda.cuda_kernel").emit_cuda(fn, request.target, options, request.gpu)


def _gpu_code(request: CompileRequest, fn: Any, unit: Any) -> dict[str, Any]:
    """PTX, and machine code if that is asked for. What no GPU can do is told as a mistake of the kernel's."""
    ptx = _stage("codegen.cuda.ptx")
    size = _stage("codegen.cuda.cuda_kernel").argument_bytes(fn)
    wrong = []
    if size > ptx.MOST_ARGUMENT_BYTES:
        message = f"the arguments take {size} bytes; a GPU takes {ptx.MOST_ARGUMENT_BYTES}"
        wrong.append(Diagnostic("too-large", message, _place(fn.loc), help="pass large arguments in an array"))
    if unit.needs and ptx.find_libdevice() is None:
        for name, loc in unit.needs:
            message = f"`{name}` of float64 needs NVIDIA's library libdevice, which was not found"
            wrong.append(Diagnostic("libdevice", message, _place(loc), help=ptx.LIBDEVICE_HELP))
    if wrong:
        raise CompileError(request.subject, wrong)
    text = ptx.ptx(unit.text, request.target, size, [name for name, _ in unit.needs])
    made = ptx.assemble(text, request.target) if request.gpu.assemble else None
    uses_structures = _stage("ir.interp.block_runner").has_any(fn, frozenset(("is_structure",)))
    grid = Grid(fn.block_dim or request.gpu.block_dim, unit.strided, size, unit.stashes, uses_structures)
    return {"code": text.encode(), "machine_code": made[0] if made else b"", "grid": grid}


class _Built(NamedTuple):
    """A kernel as the front end made it, and its adjoint."""

    primal: Any
    adjoint: Any


# By what decides the adjoint; to be compiled before long.
_built: WeakKeyDictionary[Kernel, dict[tuple, _Built]] = WeakKeyDictionary()
on_redefinition.append(_built.clear)


def _kind(request: CompileRequest) -> tuple:
    """What the adjoint before the passes depends on, besides the kernel."""
    order = request.serial, request.orders_races, request.target.is_gpu
    return request.transform, request.adjoint, request.block_dim, request.tiled, *order


def _take_built(request: CompileRequest) -> _Built | None:
    """Return the result of `adjoint_facts`, once: a tape that asks for the facts compiles the same adjoint in
    `backward`.
    """
    if not request.adjoint or request.debug:
        return None
    return _built.get(request.kernel, {}).pop(_kind(request), None)


def facts_key(kernel: Kernel, kind: str) -> str:
    """Hash of everything that facts of a kind about a kernel depend on, in hexadecimal."""
    content = _stage("front.content_hash").digest(kernel.primal)
    types = tuple(t for _, t in kernel.params)
    blocks = _block_dims.get(kernel.primal, 0), kernel.options.get("tiled", 0)
    options = kind, types, kernel.transform, blocks, config.dialect, compiler_version()
    return blake2b(repr((content, options)).encode(), digest_size=20).hexdigest()


def adjoint_facts_key(key: str) -> str:
    """Hash of everything that facts about the adjoint of a request depend on. `key` is that of the request."""
    return blake2b(f"{AdjointFacts.__name__} {key}".encode(), digest_size=20).hexdigest()


def adjoint_facts(request: CompileRequest) -> AdjointFacts:
    """Return the facts about an adjoint that a tape needs before it runs. Raises as `compile`."""

    def find() -> AdjointFacts:
        known, kind = _built.setdefault(request.kernel, {}), _kind(request)
        if kind in known:
            found = known[kind].adjoint
            return AdjointFacts(found.reads, found.replays)
        fn = _lowered_for(request._replace(debug=False))
        try:
            found = _adjoint(request, fn)
            known[kind] = _Built(fn, found)
            return AdjointFacts(found.reads, found.replays)
        except NotReplayable as why:
            notes = _stage("autodiff.vjp.atomic_results")
            is_augmented = any(isinstance(t, Augmented) for t in request.transform)
            count = 0 if is_augmented else notes.count_atomic_results(fn)
            if not count:
                raise _refusal(f"the gradient of {request.subject}", why, fn) from None
            return AdjointFacts((), False, (notes.NOTES,) * count)
        except NotDifferentiable as why:
            raise _refusal(f"the gradient of {request.subject}", why, fn) from None

    return with_large_stack(find, request.subject)


def differentiable_dependences(kernel: Kernel) -> Dependences:
    """Return between which parameters derivatives flow. Raises as `compile`."""

    def find() -> Dependences:
        fn = _lowered(kernel.primal, kernel.transform)
        given = _stage("front.gradients.library_rules").library_gradient
        try:
            flow = _stage("autodiff.analysis.dependence").differentiable_dependences(fn, given)
        except NotDifferentiable:
            return Dependences(None)
        return Dependences(tuple(tuple(sorted(sources)) for sources in flow))

    return with_large_stack(find, kernel.subject)


def uses_structures(kernel: Kernel) -> bool:
    """True if a kernel finds structures, such as meshes, by their id. Raises as `compile`."""

    def find() -> bool:
        fn = _lowered(kernel.primal, kernel.transform)
        return _stage("ir.interp.block_runner").has_any(fn, frozenset(("is_structure",)))

    return with_large_stack(find, kernel.subject)


def effects(kernel: Kernel) -> Effects:
    """Return the mod/ref effects of a kernel. Raises as `compile`."""

    def find() -> Effects:
        fn = _lowered(kernel.primal, kernel.transform)
        return _stage("ir.analysis.effects").effects(fn, _flat(fn))

    return with_large_stack(find, kernel.subject)


def array_lookups(kernel: Kernel) -> ArrayLookups:
    """Return how a kernel finds arrays of structures. Raises as `compile`."""

    def find() -> ArrayLookups:
        _stage("front.gradients.library_rules")  # has the array forms
        return _stage("autodiff.analysis.structure_arrays").array_lookups(_lowered(kernel.primal, kernel.transform))

    return with_large_stack(find, kernel.subject)


def tangent_facts(kernel: Kernel) -> TangentFacts:
    """Return the facts that a launch in forward mode needs before it runs. Raises as `compile`."""

    def find() -> TangentFacts:
        fn = _lowered(kernel.primal, kernel.transform)
        _refuse_blocks(kernel.subject, fn)
        stage, given = _stage("autodiff.jvp.tangent"), _stage("front.gradients.library_rules").library_gradient
        return TangentFacts(
            stage.required(fn, given),
            _stage("ir.analysis.effects").written_params(fn),
            stage.is_nearby(fn, given),
        )

    return with_large_stack(find, kernel.subject)


def _lowered_for(request: CompileRequest) -> Any:
    fn = _lowered(request.kernel, request.transform, request.debug, request.block_dim, request.tiled)
    is_ordered = request.orders_races and not request.serial and not request.target.is_gpu
    return _stage("passes.lost_sums").atomic_sums(fn) if is_ordered else fn


# Of kernels that work in blocks: a size of blocks that they are launched with.
_block_dims: WeakKeyDictionary[Kernel, int] = WeakKeyDictionary()


def note_block_dim(kernel: Kernel, block_dim: int) -> None:
    """Let analyses of a kernel that works in blocks see it in blocks of the size that it is launched with."""
    _block_dims[kernel.primal] = block_dim


def _lowered(
    kernel: Kernel,
    transforms: Sequence[Transform],
    debug: bool = False,
    block_dim: int | None = None,
    tiled: int | None = None,
) -> Any:
    """The IR of a kernel after transforms."""
    block_dim = block_dim or _block_dims.get(kernel, DEFAULT_BLOCK_DIM)
    tiled = kernel.options.get("tiled", 0) if tiled is None else tiled
    fn, subject = _stage("front.lower").lower_kernel(kernel, block_dim, tiled), kernel.subject
    fn = _stage("passes.block_strides").share_strides(fn, tiled) if tiled else fn
    _refuse_mesh_store(subject, fn)
    for number, transform in enumerate(transforms):
        subject = transform.subject(subject)
        if isinstance(transform, Augmented):
            fn = _stage("autodiff.vjp.atomic_results").augmented_kernel(fn)
        elif isinstance(transform, StructureArrays):
            given = _stage("front.gradients.library_rules").library_gradient
            fn = _stage("autodiff.analysis.structure_arrays").with_arrays(fn, transform.lookups, given)
        elif isinstance(transform, ScalarArrays):
            fn = _stage("passes.scalar_arrays").with_scalar_arrays(fn, transform.params)
        else:
            first = all(isinstance(before, (StructureArrays, ScalarArrays)) for before in transforms[:number])
            fn = _tangent(fn, subject, transform.active, checks=debug and first)
    return fn


def _refuse_mesh_store(subject: str, fn: Any) -> None:
    """Raise CompileError if a kernel writes to an array of a mesh that it gets by the id."""
    store = _stage("passes.mesh_stores").mesh_store(fn)
    if store is not None:
        message = "arrays of wp.mesh_get can only be read, as a tape would not see the write"
        help = "pass the array as an argument of the kernel, such as mesh.points, and write to that"
        raise CompileError(subject, [Diagnostic("unsupported", message, _place(store.loc), help=help)])


def _tangent(fn: Any, subject: str, active: tuple[bool, ...], checks: bool) -> Any:
    """The IR of a tangent kernel. The checks come before: tangents may be numbers that no check lets pass."""
    _refuse_blocks(subject, fn)
    fn = _stage("passes.checks").insert_checks(fn) if checks else fn
    given = _stage("front.gradients.library_rules").library_gradient
    try:
        return _stage("autodiff.jvp.tangent").tangent_kernel(fn, active, given)
    except NotDifferentiable as why:
        raise _refusal(subject, why, fn) from None


def _reverse(request: CompileRequest, fn: Any) -> Any:
    """The adjoint of a lowered kernel."""
    try:
        return _adjoint(request, fn)
    except NotDifferentiable as why:
        raise _refusal(f"the gradient of {request.subject}", why, fn) from None


def _adjoint(request: CompileRequest, fn: Any) -> Any:
    _refuse_exchange(request, fn)
    given = _stage("front.gradients.library_rules").library_gradient
    return _stage("autodiff.vjp.adjoint").adjoint_kernel(fn, given, request.adjoint == "shared")


def _refuse_blocks(subject: str, fn: Any) -> None:
    if fn.block_dim:
        reason = (
            "kernels that work in blocks of threads (tiles, wp.shared_array, …) have no tangents in forward mode yet"
        )
        raise CompileError(subject, [Diagnostic("gradient", reason, _place(fn.loc), help="use reverse mode: wp.Tape")])


def _refuse_exchange(request: CompileRequest, fn: Any) -> None:
    """Raise if a thread may read what an earlier one wrote: an adjoint would have to know what that was."""
    is_serial = _is_serial(request, fn)
    if not is_serial and not request.orders_races:
        return
    read = _stage("ir.analysis.thread_exchange").exchange(_flat(fn), request.adjoint == "shared")
    if read is not None and (is_serial or _has_races(fn)):
        reason = "threads run one after the other, and this may read what an earlier thread wrote: no gradient yet"
        raise NotDifferentiable(reason, read)


def _has_races(fn: Any) -> bool:
    """True if a kernel before the passes has a likely race."""
    return bool(_stage("ir.analysis.likely_races").likely_races(_stage("passes.pipeline").run(fn)))


def report_refusal(subject: str, why: PassError) -> CompileError:
    """Turn the finding of a pass into an error report for the user."""
    notes = tuple((text, place) for text, op in why.notes if (place := _place(op.loc)) is not None)
    return compile_error(subject, [Diagnostic(why.code, why.reason, _place(why.op.loc), notes, help=why.help)])


def _refusal(subject: str, why: NotDifferentiable, fn: Any) -> CompileError:
    loc = why.op.loc if why.op is not None else fn.loc
    return CompileError(subject, [Diagnostic("gradient", why.reason, _place(loc))])


def _place(loc: Loc | None) -> Place | None:
    """A place in the user's source; that of the call where library code was inlined."""
    loc = user_loc(loc)
    return Place(Span(*loc[:5]), linecache.getline(loc.file, loc.line)) if loc is not None else None


def _sites(kernel: Kernel, found: Sequence[dict[str, Any]]) -> tuple[Site, ...]:
    """The failure sites that code generation found, at the user's lines."""
    lines = _stage("front.code_lines").CodeLines(kernel) if found else None
    return tuple(_site(lines, s["kind"], s["message"], s["types"], s["places"]) for s in found)


def _site(lines: Any, kind: str, message: str, operands: list[str], places: Sequence[Loc | None]) -> Site:
    """A failure site at the user's line: that of the call, where library code was inlined."""
    loc, *others = (user_loc(place) for place in places)
    file, line, col = loc[:3] if loc else ("", 0, 0)
    all_lines = dict.fromkeys([(file, line), *(at[:2] for at in others if at)])  # of several calls in a line one
    code = tuple(lines.named(*at) or (-1, 0) for at in all_lines)
    return Site(kind, message, file, line, col, tuple(operands), tuple(all_lines)[1:], code)


def located(kernel: Kernel, site: Site) -> Site:
    """A site of an artifact, at the lines where the code stands now."""
    lines = _stage("front.code_lines").CodeLines(kernel)
    before = [(site.file, site.line), *site.others]
    (file, line), *others = (lines.placed(*at) or was for at, was in zip(site.code, before))
    return site._replace(file=file, line=line, others=tuple(others))
