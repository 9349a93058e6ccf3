"""The `omni-warp` command: play the graphs of a USD scene, draw a stage, list volumes, node types and devices.

Every sub-command is a function that returns an exit code of `EXIT_CODES`; `main` dispatches. What needs usd-core, rich
or Pillow is imported by the sub-command that needs it, since those are optional.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import IO, Any, NoReturn

from . import config
from .cli_arguments import CONSENT, CRASHED, INPUT, INTERNAL, INTERRUPTED, NODES, OK, OUTPUT, USAGE, parse
from .files import sweep, write
from .lang.errors import InternalError, KernelWarning
from .nodes.play import child_process, file_watch, isolation
from .nodes.scene.visible_text import harmless


class _Stop(Exception):
    """Ends the command with a message and an exit code."""

    def __init__(self, code: int, text: str):
        super().__init__(text)
        self.code = code


def _load(name: str) -> ModuleType:
    """A module of this package that needs one of the optional packages."""
    try:
        with child_process.stops_later():  # USD prints what interrupts the import of its parts
            return importlib.import_module(f"{__package__}.{name}")
    except ModuleNotFoundError as error:
        package = {"pxr": "usd-core", "PIL": "pillow"}.get(error.name or "", error.name)
        extra = "usd" if package in ("usd-core", "pillow", "rich") else "studio"
        text = f"this command needs {package}; install it with: pip install 'omni-warp-core[{extra}]'"
        raise _Stop(USAGE, text) from error


def _play(options: argparse.Namespace) -> int:
    report = _load("nodes.play.console")
    play, consent = _load("nodes.play.player"), _load("nodes.scene.consent")
    graph, stage, output = _load("nodes.graph.node_graph"), _load("usd.stage"), _load("usd.output_layer")
    _check_device(options.device)
    if child_process.is_child():
        _load("launches.kernel_errors").set_how_to_debug("play with --debug")
        config.deterministic = options.device == "cpu"  # playing twice gives equal bytes
    if options.debug:
        config.mode = "debug"
    warnings.showwarning = lambda *warning, **more: report.complain(_warning(*warning))
    trace, isolated = None, getattr(options, "stopped", None)
    settings = play.Settings(options.frames, options.fps, options.device, options.values, options.nodes)
    settings.isolated, settings.trusted = isolated, _is_trusted(options)
    if isolated is not None or options.timeout:
        settings.observers.append(_load("nodes.play.running_node").RunningNode())
    if options.profile:
        trace = _load("nodes.play.play_trace").Trace()
        settings.observers.append(trace)
    if not _is_known(options):
        child_process.limit_memory()
    try:
        player = play.Player.open(options.scene, settings, graph.Log(lambda text: _report(report, text)))
        if options.watched is not None:
            file_watch.tell(options.watched, _files_of(player, options))
        output.check_target(options.output, player.stage)
        if options.profile:
            _check_trace(options, output, player.stage)
        if options.remember:
            _remember(consent, player.codes)
        elif not options.trust and (missing := consent.missing(player.codes, _agreed(options))):
            report.ask_consent(options.scene, missing)
            return CONSENT
        if player.codes:  # the user agreed to run it, which is more than any limit could keep from it
            child_process.lift_limit()
        if isolated is not None or options.memory is not None:
            child_process.allow_memory(_memory(options))
        child_process.reach(child_process.PLAYING)
        with report.progress() as bar:
            task = bar.add_task("playing", total=player.end - player.start + 1)
            outcome = player.run(options.output, lambda frame: bar.advance(task))
    except stage.StageError as error:
        raise _Stop(INPUT, str(error)) from None
    except play.SettingsError as error:
        raise _Stop(USAGE, str(error)) from None
    except output.OutputError as error:
        raise _Stop(OUTPUT, str(error)) from None
    if outcome.is_written:
        child_process.reach(child_process.WRITTEN)
    _prepare_streams()
    report.summary(outcome)
    if trace is not None:
        _write_trace(trace, options.profile)
    if not outcome.is_written and outcome.is_off:
        report.complain(
            f"error: all nodes are switched off, so {options.output} was not written; --set PATH.graph:enabled=true "
            "or --set PATH.node:enabled=true switches on for one play"
        )
        return INPUT
    if not outcome.is_written:
        report.complain(f"error: no node wrote anything, so {options.output} was not written")
        return NODES
    report.out.print(f"wrote {harmless(options.output)}: {_results(outcome)}", markup=False)
    return NODES if outcome.failed else OK


def _warning(text: Warning | str, kind: type[Warning], file: str, line: int, *rest: Any) -> str:
    """Return a warning of Python as a line: those of kernels have their place, others would show files of packages."""
    place = f"{file}:{line}: " if issubclass(kind, KernelWarning) else ""
    return f"warning: {place}{text}"


def _results(outcome: Any) -> str:
    """Return what a play has written, in words."""
    paths = ", ".join(outcome.written[:4]) + (" and more" if len(outcome.written) > 4 else "")
    count = len(outcome.files)
    beside = f"{count} file{'s' * (count > 1)} beside it such as {os.path.basename(outcome.files[0])}" if count else ""
    samples = f"{outcome.samples} time sample{'s' * (outcome.samples != 1)}" + f" of {paths}" * bool(paths)
    if not outcome.samples and not count:
        samples = "all that nodes wrote equals the scene"
    return ", ".join(filter(None, (samples, beside)))


def _check_trace(options: argparse.Namespace, output: ModuleType, stage: Any) -> None:
    """Refuse a trace that cannot be written, before anything is computed. Raises OutputError."""
    output.require_folder(options.profile)
    output.require_apart(options.profile, stage)
    if os.path.realpath(options.profile) == os.path.realpath(options.output):
        raise output.OutputError(f"{options.profile}: is the name of the result, too; give the trace another one")


def _write_trace(trace: Any, path: str) -> None:
    try:
        trace.write(path)
    except OSError as error:
        raise _Stop(OUTPUT, f"{path}: cannot be written: {error.strerror or error}") from None
    more = f", without {trace.left_out} events at the end" if trace.left_out else ""
    print(harmless(f"wrote {path}{more}"))


def _files_of(player: Any, options: argparse.Namespace) -> list[str]:
    """The files that a play reads: layers of the stage, code, what the code reads, and node types."""
    layers = [layer.realPath for layer in player.stage.GetUsedLayers()]
    code = [path for code in player.codes for path in (code.origin, *(path for _, path in code.files))]
    types = [path for folder in options.nodes for path in file_watch.files_below(folder)]
    return [path for path in (options.scene, *layers, *code, *types) if os.path.isabs(path) or path == options.scene]


def _memory(options: argparse.Namespace) -> int:
    if options.memory is not None:
        return int(options.memory * 1e9)
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4


def _watch(options: argparse.Namespace) -> int:
    """Play, and again whenever a file changes. It ends with Ctrl-C."""
    options.command = "play"
    known: dict[str, file_watch.Signature] = {}
    try:
        while True:
            known = file_watch.signatures(known or [options.scene])
            with tempfile.TemporaryFile("w+", encoding="utf-8") as options.watched:
                code = _guarded(options)
                known |= file_watch.told(options.watched)
            if code in (USAGE, INTERRUPTED, INTERNAL):
                return code
            files = "1 file" if len(known) == 1 else f"{len(known)} files"
            is_missing = known.get(options.scene, ()) is None
            what = f"waiting until {options.scene} exists" if is_missing else f"watching {files}"
            print(harmless(f"{what}; Ctrl-C ends"), file=sys.stderr, flush=True)
            changed = file_watch.wait_for_change(known)
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            print(harmless(f"changed: {changed[0]}{more}"), file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        return OK


def _report(report: ModuleType, text: str) -> None:
    _prepare_streams()  # code in the scene may have closed them
    report.complain(text)


def _is_trusted(options: argparse.Namespace) -> bool:
    return getattr(options, "trust", False) or (options.command == "play" and options.remember)


def _is_known(options: argparse.Namespace) -> bool:
    """True if the user knows the scene, so that reading it has no limits."""
    return _is_trusted(options) or getattr(options, "agreed", None) is not None


def _agreed(options: argparse.Namespace) -> set[str]:
    """The digests of texts that may run in this play, though nothing remembers them."""
    if options.agreed is None:
        return set()
    try:
        with open(options.agreed, encoding="ascii") as file:
            return set(file.read().split())
    except (OSError, ValueError) as error:
        raise _Stop(USAGE, f"--agreed {options.agreed}: {error}") from None


def _check_device(name: str) -> None:
    try:
        importlib.import_module(f"{__package__}.devices.device").get_device(name)
    except (ValueError, RuntimeError, TypeError) as error:
        raise _Stop(USAGE, f"--device {name}: {error}") from None


def _remember(consent: ModuleType, codes: list) -> None:
    try:
        consent.remember(codes)
    except OSError as error:
        raise _Stop(OUTPUT, f"the consent cannot be remembered: {error}") from None


def _preview(options: argparse.Namespace) -> int:
    preview, stage = _load("usd.pictures.preview"), _load("usd.stage")
    request = preview.Request(
        options.scene, options.output, options.frame, options.frames, options.size, options.camera,
        0.0 if options.trust else child_process.READ_SECONDS,
    )  # fmt: skip
    try:
        drawn = preview.preview(
            request,
            opened=lambda: child_process.reach(child_process.PLAYING),
            warn=lambda text: print(harmless(f"warning: {options.scene}: {text}"), file=sys.stderr),
            reading=contextlib.nullcontext if options.trust else child_process.limited_memory,
        )
    except stage.StageError as error:
        raise _Stop(INPUT, str(error)) from None
    except preview.RequestError as error:
        raise _Stop(USAGE, str(error)) from None
    except OSError as error:
        raise _Stop(OUTPUT, f"{options.output}: cannot be written: {error.strerror or error}") from None
    child_process.reach(child_process.WRITTEN)
    print(f"wrote {harmless(options.output)}: {drawn}")
    return OK


@contextlib.contextmanager
def _explained(output: str) -> Iterator[None]:
    """End the command where a scene cannot be read, a choice does not fit, or `output` cannot be written."""
    try:
        yield
    except _load("usd.stage").StageError as error:
        raise _Stop(INPUT, str(error)) from None
    except ValueError as error:
        raise _Stop(USAGE, str(error)) from None
    except OSError as error:
        raise _Stop(OUTPUT, f"{output}: cannot be written: {error.strerror or error}") from None


def _graph(options: argparse.Namespace) -> int:
    picture, play, loading = (
        _load("nodes.play.graph_picture"),
        _load("nodes.play.player"),
        _load("nodes.graph.node_graph"),
    )
    if not options.output.endswith(".svg"):
        raise _Stop(USAGE, f"{options.output}: only .svg files can be written")
    if not options.trust:
        child_process.limit_memory()
    with _explained(options.output):
        loaded = play.load_graphs(options.scene, loading.Log(lambda text: print(harmless(text), file=sys.stderr)))
        graphs = [graph for graph in loaded.graphs if options.graph in (None, graph.path)]
        if not graphs:
            names = ", ".join(graph.path for graph in loaded.graphs[:8])
            raise _Stop(USAGE, f"--graph {options.graph}: there is no such graph; there is {names}")
        child_process.reach(child_process.PLAYING)
        write(options.output, picture.svg(graphs).encode())
    child_process.reach(child_process.WRITTEN)
    count = sum(len(graph.nodes) for graph in graphs)
    print(harmless(f"wrote {options.output}: {count} node{'s' * (count != 1)}"))
    return OK


def _convert(options: argparse.Namespace) -> int:
    conversion, progress = _load("volumes.vdb.vdb_conversion"), _load("devices.progress")
    if not options.output.lower().endswith((".nvdb", ".vdb")):
        raise _Stop(USAGE, f"{options.output}: the name of a volume file must end in .nvdb or .vdb")
    if os.path.realpath(options.source) == os.path.realpath(options.output):
        raise _Stop(USAGE, f"{options.output}: is the file to convert; write another one")
    try:
        with progress.Bar("converting", len(options.grids)) as bar:
            names = conversion.convert_file(options.source, options.output, options.grids, options.codec, bar.advance)
    except KeyError as error:
        raise _Stop(USAGE, f"{options.source}: {error.args[0]}") from None
    except ValueError as error:
        has_others = not options.grids and _count_grids(options.source) > 1
        hint = "; --grid NAME converts the grids that you name" if has_others else ""
        raise _Stop(INPUT, f"{error}{hint}") from None
    except OSError as error:
        where = INPUT if error.filename == options.source else OUTPUT
        name = options.source if where == INPUT else options.output
        what = "read" if where == INPUT else "written"
        raise _Stop(where, f"{name}: cannot be {what}: {error.strerror or error}") from None
    shown = ", ".join(map(repr, names[:4])) + (" and more" if len(names) > 4 else "")
    print(harmless(f"wrote {options.output}: {len(names)} grid{'s' * (len(names) != 1)}" + f", {shown}" * bool(names)))
    return OK


def _count_grids(path: str) -> int:
    """Return the number of grids of a volume file, 0 if it cannot be listed."""
    with contextlib.suppress(ValueError, OSError):
        return len(_load("volumes.vdb.vdb_conversion").grids_of(path)[0])
    return 0


def _volume(options: argparse.Namespace) -> int:
    listing = _load("volumes.listing")
    try:
        rows = listing.list_volume_file(options.file)
    except ValueError as error:
        raise _Stop(INPUT, str(error)) from None
    except OSError as error:
        raise _Stop(INPUT, f"{options.file}: cannot be read: {error.strerror or error}") from None
    for line in listing.table([tuple(harmless(cell) for cell in row) for row in rows]):
        print(line)
    return OK


def _ogn(options: argparse.Namespace) -> int:
    command, spec = _load("nodes.play.ogn_command"), _load("nodes.ogn.ogn_spec")
    if (options.action == "docs") != bool(options.output):
        raise _Stop(USAGE, "docs needs -o DIR, the folder to write into; check and test write nothing")
    actions = {"check": command.check, "test": command.test, "docs": lambda f: command.docs(f, options.output)}
    try:
        return OK if actions[options.action](options.folder) else NODES
    except spec.OgnError as error:
        raise _Stop(INPUT, str(error)) from None
    except OSError as error:
        raise _Stop(OUTPUT, f"{options.output}: cannot be written: {error.strerror or error}") from None


def _nodes(options: argparse.Namespace) -> int:
    listing, spec = _load("nodes.play.type_tables"), _load("nodes.ogn.ogn_spec")
    try:
        listing.show(options.name, options.nodes)
    except KeyError as error:
        raise _Stop(USAGE, error.args[0]) from None
    except spec.OgnError as error:
        raise _Stop(USAGE, f"--nodes {error.where}: {'; '.join(error.problems)}") from None
    return OK


def _presets(options: argparse.Namespace) -> int:
    if options.scene or options.output:
        return _save_preset(options)
    presets = _load("nodes.play.preset_listing")
    try:
        print(presets.one(options.name) if options.name else presets.all_of_them(), end="")
    except ValueError as error:
        raise _Stop(USAGE, str(error)) from None
    return OK


def _save_preset(options: argparse.Namespace) -> int:
    if not (options.scene and options.name and (options.output or "").endswith(".py")):
        raise _Stop(USAGE, "a preset is saved with NODE --from SCENE -o OUT.py")
    presets = _load("nodes.play.preset_listing")
    child_process.limit_memory()
    with _explained(options.output):
        text = presets.of_node(options.scene, options.name)
        child_process.reach(child_process.PLAYING)
        write(options.output, text.encode())
    child_process.reach(child_process.WRITTEN)
    print(harmless(f"wrote {options.output}"))
    return OK


def _studio(options: argparse.Namespace) -> int:
    stage, command, spec = _load("usd.stage"), _load("studio.command"), _load("nodes.ogn.ogn_spec")
    _check_device(options.device)
    engine = command.EngineOptions(options.device, tuple(map(os.path.abspath, options.nodes)))
    try:
        command.run(
            options.scene, options.port, engine, not options.no_browser,
            lambda address: print(f"The studio is at {address}\nCtrl-C ends it.", flush=True), options.notebook,
        )  # fmt: skip
    except stage.StageError as error:
        raise _Stop(INPUT, str(error)) from None
    except command.NotBuiltError as error:
        raise _Stop(USAGE, str(error)) from None
    except spec.OgnError as error:
        raise _Stop(USAGE, f"--nodes {error.where}: {'; '.join(error.problems)}") from None
    except OSError as error:
        raise _Stop(OUTPUT, f"port {options.port} cannot be opened: {error.strerror or error}") from None
    return OK


def _info(options: argparse.Namespace) -> int:
    device = importlib.import_module(f"{__package__}.devices.device")
    print(f"omni-warp-core {config.package_version}, Python {sys.version.split()[0]}")
    for found in device.get_devices():
        print(f"device {found}")
    print(f"kernel cache: {config.kernel_cache_dir or 'none'}")
    print(f"settings: {config.settings_dir or 'none'}")
    return OK


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "play": _play,
    "watch": _watch,
    "preview": _preview,
    "graph": _graph,
    "convert": _convert,
    "volume": _volume,
    "ogn": _ogn,
    "nodes": _nodes,
    "presets": _presets,
    "studio": _studio,
    "info": _info,
}
READS_SCENES = ("play", "preview", "graph", "presets")  # in a child process: USD may not survive a damaged file


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # the next one must not disturb the cleaning up
    raise KeyboardInterrupt


def _prepare_streams() -> None:
    """Make what we print go somewhere, where a stream is closed or cannot take every character."""
    for number, name in enumerate(("stdout", "stderr"), 1):
        stream = getattr(sys, name)
        if getattr(stream, "closed", True):
            setattr(sys, name, open(os.devnull, "w") if stream is None else _stream_of(number))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _stream_of(number: int) -> IO[str]:
    """Return a stream to an open file descriptor, or else to nowhere."""
    with contextlib.suppress(OSError, ValueError):
        return open(number, "w", errors="backslashreplace", closefd=False)
    return open(os.devnull, "w")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns an exit code of `EXIT_CODES`. Argument errors leave through SystemExit(2).

    With the arguments of the process (None), what reads a scene runs in a child process: see `nodes.child_process`.
    """
    _prepare_streams()
    options = parse(sys.argv[1:] if arguments is None else arguments)
    options.watched = options.stopped = None
    guarded = arguments is None and options.command in READS_SCENES and options.output and hasattr(os, "fork")
    code = _guarded(options) if guarded else _run(options)
    if code == INTERRUPTED:  # said here, as a child may be killed after it has said so
        print(f"interrupted; {_fate_of_result()}", file=sys.stderr)
    return code


def _complain(text: str) -> None:
    _prepare_streams()
    with contextlib.suppress(OSError):  # without a standard error, the exit code has to do
        print(f"error: {harmless(text)}", file=sys.stderr)


def _fate_of_result() -> str:
    return "the result was written" if child_process.reached() == child_process.WRITTEN else "no result was written"


def _guarded(options: argparse.Namespace) -> int:
    """Play or draw in a child process, and tell if it did not come to an end by itself."""
    ending = _ending(options)
    sweep(os.path.dirname(os.path.abspath(options.output)))  # a play that was killed could not do it
    if ending.returned:
        return ending.code
    if ending.interrupted:
        return INTERRUPTED
    if child_process.reached() == child_process.READING:
        _complain(f"{options.scene}: cannot be read: {_why_unread(options, ending)}")
        return INPUT
    _complain(f"{_why_ended(options, ending)}; {_fate_of_result()}")
    return CRASHED


def _ending(options: argparse.Namespace) -> child_process.Ending:
    """Run the command in a child process; again without the nodes that ended it, if the user wants that."""
    seconds = 0.0 if _is_known(options) else child_process.READ_SECONDS
    if options.command != "play" or not options.isolate:
        return child_process.run(lambda: _run(options), seconds, getattr(options, "timeout", None) or 0.0)
    options.stopped = {}
    options.timeout = options.timeout or isolation.NODE_SECONDS
    while True:
        ending = child_process.run(lambda: _run(options), seconds, options.timeout)
        told = isolation.stop_culprit(ending, options.stopped, options.timeout)
        if not told:
            return ending
        _complain(told)


def _why_unread(options: argparse.Namespace, ending: child_process.Ending) -> str:
    if ending.overdue:
        return f"it takes longer than {child_process.READ_SECONDS:.0f} s; --trust sets no limit"
    name = signal.Signals(ending.signal).name if ending.signal else f"exit code {ending.code}"
    limit = f"{child_process.READ_BYTES / 1e9:.1f} GB"
    why = f"the file is damaged, or needs more than {limit} of memory; --trust sets no limit"
    return f"USD ended the process ({name}); {why}"


def _why_ended(options: argparse.Namespace, ending: child_process.Ending) -> str:
    if not ending.signal:
        return f"code in the scene ended the process with exit code {ending.code} before the play was over"
    if ending.late:
        node, frame = child_process.node_at_end() or ("a node", 0)
        return f"{node} took longer than {options.timeout:g} s in frame {frame}; --isolate plays on without the node"
    if ending.signal == signal.SIGKILL:
        return f"the {options.command} was killed, perhaps because memory ran out"
    name = signal.Signals(ending.signal).name
    if ending.signal == signal.SIGABRT and getattr(options, "memory", None):  # C++ ends a process without memory so
        return f"the {options.command} crashed ({name}), perhaps because memory ran out; let it take more: --memory GB"
    if options.command != "play":
        return f"the {options.command} crashed ({name}); the file may be damaged"
    return f"the play crashed ({name}); {isolation.OUT_OF_BOUNDS}"


def _run(options: argparse.Namespace) -> int:
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = COMMANDS[options.command](options)
        sys.stdout.flush()
        return code
    except _Stop as stop:
        _complain(str(stop))
        return stop.code
    except InternalError as error:
        _complain(str(error))
        return INTERNAL
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemError as error:  # USD's bindings raise it where a signal interrupts them
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        return INTERRUPTED
    except MemoryError:
        more = "; let it take more: --memory GB" if getattr(options, "memory", None) else ""
        _complain(f"memory ran out{more}")
        return CRASHED
    except OSError as error:  # results tell their own errors: this is what we print, in a pipe or on a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # there, the reader has seen enough
            _complain(f"the summary cannot be written: {error.strerror}")
        return OUTPUT
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
