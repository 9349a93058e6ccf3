"""The `omni-warp` command: play the graphs of a USD scene, draw a stage, list volumes, tell about this machine.

Every sub-command is a function that returns an exit code of `EXIT_CODES`; `main` dispatches. What needs usd-core, rich
or Pillow is imported by the sub-command that needs it, since those are optional.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import re
import signal
import sys
import warnings
from types import FrameType, ModuleType
from typing import IO, NoReturn

from . import config
from .files import sweep
from .lang.errors import InternalError
from .nodes.play import child_process
from .nodes.scene.visible_text import harmless

OK, INTERNAL, USAGE, INPUT, CONSENT, NODES, OUTPUT, CRASHED, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 7, 130
EXIT_CODES = {
    OK: "done",
    INTERNAL: "an error in this program; please report it",
    USAGE: "the command line asks for something that is not possible",
    INPUT: "the scene is missing, cannot be read, or holds nothing to do",
    CONSENT: "the scene contains code that needs consent; no code was run",
    NODES: "played, but some nodes failed; the results of the others are written. ogn: nodes have mistakes",
    OUTPUT: "the result, or what is printed about it, cannot be written",
    CRASHED: "a kernel crashed, memory ran out, or code in the scene ended the process; no result was written",
    INTERRUPTED: "interrupted; no result was written",
}
_CODES_TEXT = "exit codes:\n" + "\n".join(f"  {code:<4} {text}" for code, text in EXIT_CODES.items())


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
        text = f"this command needs {package}; install it with: pip install 'omni-warp-core[usd]'"
        raise _Stop(USAGE, text) from error


def _frames(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(-?\d{1,9})(?::(-?\d{1,9}))?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a frame range such as 1:48")
    start = int(match[1])
    end = int(match[2]) if match[2] else start
    if end < start:
        raise argparse.ArgumentTypeError(f"{text!r}: the last frame comes before the first")
    return start, end


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text)
    if not match or not all(1 <= int(n) <= 8192 for n in match.groups()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 960x540 (at most 8192x8192)")
    return int(match[1]), int(match[2])


def _value(text: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not equals or "." not in path:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form /Graph/node.inputs:x=VALUE")
    return path, value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "omni-warp", description=__doc__.splitlines()[0], epilog=_CODES_TEXT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=config.version)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, about: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name, help=about, description=about, epilog=_CODES_TEXT,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip

    play = add("play", "play the OmniGraph graphs of a scene and write the results as time samples over it")
    play.add_argument("scene", metavar="SCENE", help="USD file with the graphs; it is never changed")
    play.add_argument("-o", "--output", required=True, metavar="OUT.usdc", help="layer to write, over the scene")
    play.add_argument("--frames", type=_frames, metavar="A:B", help="first and last frame (default: the scene's range)")
    play.add_argument("--fps", type=float, metavar="F", help="frames per second (default: the scene's)")
    play.add_argument("--device", default="cpu", help="where kernels run (default: cpu)")
    play.add_argument(
        "--set", type=_value, action="append", default=[], metavar="PATH=VALUE", dest="values",
        help="set an attribute, as in /Graph/node.inputs:x=1.5; may be given several times",
    )  # fmt: skip
    play.add_argument(
        "--nodes", action="append", default=[], metavar="FOLDER",
        help="load node types (.ogn and .py) of a folder or extension, and run their code; may be given several times",
    )  # fmt: skip
    play.add_argument("--trust", action="store_true", help="run the code in the scene, this time")
    play.add_argument("--remember", action="store_true", help="run it, and whenever it comes again unchanged")
    play.add_argument("--debug", action="store_true", help="check bounds, divisors, asserts and NaN in kernels")
    play.set_defaults(run=_play)

    preview = add("preview", "draw the meshes, shapes, curves, points and volumes of a stage, or a volume file")
    preview.add_argument("scene", metavar="STAGE", help="USD file to draw, or *.vdb, *.nvdb")
    preview.add_argument(
        "-o", "--output", required=True, metavar="IMAGE", help="*.png, *.jpg; *.gif, *.webp for --frames"
    )
    which = preview.add_mutually_exclusive_group()
    which.add_argument("--frame", type=float, metavar="N", help="the frame to draw (default: the first)")
    which.add_argument("--frames", type=_frames, metavar="A:B", help="draw an animation")
    preview.add_argument("--size", type=_size, default=(960, 540), metavar="WxH", help="pixels (default: 960x540)")
    preview.add_argument(
        "--camera", metavar="PATH", help="camera to look through (default: the stage's first, or fitted)"
    )
    preview.add_argument("--trust", action="store_true", help="set no limit on the memory and time that reading takes")
    preview.set_defaults(run=_preview)

    convert = add("convert", "write the grids of a .vdb or .nvdb file to a .nvdb file")
    convert.add_argument("source", metavar="IN.vdb", help="*.vdb or *.nvdb; it is never changed")
    convert.add_argument("output", metavar="OUT.nvdb", help="file to write")
    convert.add_argument(
        "--grid", action="append", default=[], metavar="NAME", dest="grids",
        help="write this grid; may be given several times (default: all grids)",
    )  # fmt: skip
    convert.add_argument(
        "--codec", choices=("none", "zip", "blosc"), default="none", help="compression (default: none)"
    )
    convert.set_defaults(run=_convert)

    volume = add("volume", "list the grids of a volume file: types, active voxels, sizes (`preview` draws them)")
    volume.add_argument("file", metavar="FILE", help="*.vdb or *.nvdb")
    volume.set_defaults(run=_volume)

    ogn = add("ogn", "check, document or test the node types (.ogn and .py) of a folder or extension")
    ogn.add_argument(
        "action", choices=("check", "docs", "test"),
        help="check: descriptions and classes, without running code; docs: write Markdown pages; "
        "test: run the tests in the .ogn files, and with them the code of the nodes",
    )  # fmt: skip
    ogn.add_argument("folder", metavar="FOLDER", help="folder of nodes, or of an extension")
    ogn.add_argument("-o", "--output", metavar="DIR", help="folder for the pages of docs")
    ogn.set_defaults(run=_ogn)

    add("info", "show devices, the kernel cache and versions").set_defaults(run=_info)
    return parser


def _play(options: argparse.Namespace) -> int:
    report = _load("nodes.play.console")
    play, consent = _load("nodes.play.player"), _load("nodes.scene.consent")
    graph, stage, output = _load("nodes.graph.node_graph"), _load("usd.stage"), _load("usd.output_layer")
    _check_device(options.device)
    if options.debug:
        config.mode = "debug"
    warnings.showwarning = lambda message, *rest, **more: report.complain(f"warning: {message}")
    settings = play.Settings(options.frames, options.fps, options.device, options.values, options.nodes)
    if not _is_trusted(options):
        child_process.limit_memory()
    try:
        player = play.Player.open(options.scene, settings, graph.Log(lambda text: _report(report, text)))
        output.check_target(options.output, player.stage)
        if options.remember:
            _remember(consent, player.codes)
        elif not options.trust and (missing := consent.missing(player.codes)):
            report.ask_consent(options.scene, missing)
            return CONSENT
        if player.codes:  # the user agreed to run it, which is more than any limit could keep from it
            child_process.lift_limit()
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
    if outcome.written:
        child_process.reach(child_process.WRITTEN)
    _prepare_streams()
    report.summary(outcome)
    if not outcome.written:
        report.complain(f"error: no node wrote anything, so {options.output} was not written")
        return NODES
    what = f"{outcome.samples} time samples of {', '.join(outcome.written[:4])}"
    report.out.print(
        f"wrote {harmless(options.output)}: {what}" + (" and more" if len(outcome.written) > 4 else ""), markup=False
    )
    return NODES if outcome.failed else OK


def _report(report: ModuleType, text: str) -> None:
    _prepare_streams()  # code in the scene may have closed them
    report.complain(text)


_NEGATIVE = re.compile(r"-\d[\d.:e-]*")


def _with_joined_negatives(arguments: list[str]) -> list[str]:
    """Join an option with a value such as -5:-3, which the parser would take for an option: --frames=-5:-3."""
    joined: list[str] = []
    for argument in arguments:
        before = joined[-1] if joined else ""
        if _NEGATIVE.fullmatch(argument) and before.startswith("--") and before != "--" and "=" not in before:
            joined[-1] = f"{before}={argument}"
        else:
            joined.append(argument)
    return joined


def _is_trusted(options: argparse.Namespace) -> bool:
    return options.trust or (options.run is _play and options.remember)


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


def _convert(options: argparse.Namespace) -> int:
    conversion, progress = _load("volumes.vdb_conversion"), _load("devices.progress")
    if not options.output.endswith(".nvdb"):
        raise _Stop(USAGE, f"{options.output}: only .nvdb files can be written")
    try:
        with progress.Bar("converting", len(options.grids)) as bar:
            names = conversion.convert_file(options.source, options.output, options.grids, options.codec, bar.advance)
    except KeyError as error:
        raise _Stop(USAGE, f"{options.source}: {error.args[0]}") from None
    except ValueError as error:
        raise _Stop(INPUT, str(error)) from None
    except OSError as error:
        where = INPUT if error.filename == options.source else OUTPUT
        name = options.source if where == INPUT else options.output
        what = "read" if where == INPUT else "written"
        raise _Stop(where, f"{name}: cannot be {what}: {error.strerror or error}") from None
    shown = ", ".join(map(repr, names[:4])) + (" and more" if len(names) > 4 else "")
    print(harmless(f"wrote {options.output}: {len(names)} grids, {shown}"))
    return OK


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


def _info(options: argparse.Namespace) -> int:
    device = importlib.import_module(f"{__package__}.devices.device")
    print(f"omni-warp-core {config.version}, Python {sys.version.split()[0]}")
    for found in device.get_devices():
        print(f"device {found}")
    print(f"kernel cache: {config.kernel_cache_dir or 'none'}")
    print(f"settings: {config.settings_dir or 'none'}")
    return OK


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
    options = _parser().parse_args(_with_joined_negatives(sys.argv[1:] if arguments is None else arguments))
    guarded = arguments is None and options.run in (_play, _preview) and hasattr(os, "fork")
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
    ending = child_process.run(lambda: _run(options), 0.0 if _is_trusted(options) else child_process.READ_SECONDS)
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
    if ending.signal == signal.SIGKILL:
        return f"the {options.command} was killed, perhaps because memory ran out"
    name = signal.Signals(ending.signal).name
    if options.run is _preview:
        return f"the preview crashed ({name}); the file may be damaged"
    return f"the play crashed ({name}); a kernel may have left the bounds of an array: --debug tells which and where"


def _run(options: argparse.Namespace) -> int:
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = options.run(options)
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
    except OSError as error:  # results tell their own errors: this is what we print, in a pipe or on a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # there, the reader has seen enough
            _complain(f"the summary cannot be written: {error.strerror}")
        return OUTPUT
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
