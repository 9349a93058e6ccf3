"""The arguments of the `omni-warp` command: its sub-commands, their options, and its exit codes. Start with `parse`."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable

from . import config

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
Add = Callable[[str, str], argparse.ArgumentParser]
ABOUT = "Play the graphs of a USD scene, watch it, draw a stage, list volumes, check nodes, tell about this machine."


def _frames(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(-?\d{1,9})(?::(-?\d{1,9}))?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a frame range such as 1:48, of numbers of at most 9 digits")
    start = int(match[1])
    end = int(match[2]) if match[2] else start
    if end < start:
        raise argparse.ArgumentTypeError(f"{text!r}: the last frame comes before the first")
    return start, end


def _frame(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a frame such as 12 or 12.5")
    return number


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


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port: give one from 1 to 65535, or 0 for a free one")
    return number


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the options of the command line. `command` names the sub-command. Mistakes leave through SystemExit(2)."""
    return _parser().parse_args(_with_joined_negatives(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "omni-warp", description=ABOUT, epilog=_CODES_TEXT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=config.package_version)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, about: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name, help=about, description=about, epilog=_CODES_TEXT,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip

    _play_options(add("play", "play the OmniGraph graphs of a scene and write the results as time samples over it"))
    _play_options(add("watch", "play, and again whenever the scene or its code changes on disk, until Ctrl-C"))
    for options in (
        _preview_options,
        _graph_options,
        _convert_options,
        _volume_options,
        _ogn_options,
        _nodes_options,
        _presets_options,
        _studio_options,
    ):
        options(add)
    add("info", "show devices, the kernel cache and versions")
    return parser


def _play_options(play: argparse.ArgumentParser) -> None:
    play.add_argument("scene", metavar="SCENE", help="USD file with the graphs; it is never changed")
    play.add_argument("-o", "--output", required=True, metavar="OUT.usdc", help="layer to write, over the scene")
    play.add_argument("--frames", type=_frames, metavar="A:B", help="first and last frame (default: the scene's range)")
    play.add_argument("--fps", type=float, metavar="F", help="frames per second (default: the scene's)")
    play.add_argument("--device", default="cpu", help="where kernels run (default: cpu)")
    play.add_argument(
        "--set", type=_value, action="append", default=[], metavar="PATH=VALUE", dest="values",
        help="set an attribute, as in /Graph/node.inputs:x=1.5; may be given several times",
    )  # fmt: skip
    _nodes_option(play)
    play.add_argument("--trust", action="store_true", help="run the code in the scene, this time")
    play.add_argument("--remember", action="store_true", help="run it, and whenever it comes again unchanged")
    play.add_argument("--agreed", metavar="FILE", help=argparse.SUPPRESS)  # of the studio: digests of texts to run
    play.add_argument("--debug", action="store_true", help="check bounds, divisors, asserts and NaN in kernels")
    play.add_argument(
        "--profile", metavar="TRACE.json",
        help="write when each node ran and for how long, as a trace for https://ui.perfetto.dev",
    )  # fmt: skip
    play.add_argument(
        "--isolate", action="store_true",
        help="play again without a node that crashes, never ends or takes all memory; kernels are not replayed",
    )  # fmt: skip
    play.add_argument(
        "--timeout", type=_positive, metavar="SECONDS",
        help="end the play when a node takes longer in a frame, compiling included; with --isolate, switch the node "
        "off (default: no limit, 60 with --isolate)",
    )  # fmt: skip
    play.add_argument(
        "--memory", type=_positive, metavar="GB",
        help="memory that the play may take (default: no limit, three quarters of the machine's with --isolate)",
    )  # fmt: skip


def _preview_options(add: Add) -> None:
    preview = add("preview", "draw the meshes, shapes, curves, points and volumes of a stage, or a volume file")
    preview.add_argument("scene", metavar="STAGE", help="USD file to draw, or *.vdb, *.nvdb")
    preview.add_argument(
        "-o", "--output", required=True, metavar="IMAGE", help="*.png, *.jpg; *.gif, *.webp for --frames"
    )
    which = preview.add_mutually_exclusive_group()
    which.add_argument("--frame", type=_frame, metavar="N", help="the frame to draw (default: the first)")
    which.add_argument("--frames", type=_frames, metavar="A:B", help="draw an animation")
    preview.add_argument("--size", type=_size, default=(960, 540), metavar="WxH", help="pixels (default: 960x540)")
    preview.add_argument(
        "--camera", metavar="PATH", help="camera to look through (default: the stage's first, or fitted)"
    )
    preview.add_argument("--trust", action="store_true", help="set no limit on the memory and time that reading takes")


def _graph_options(add: Add) -> None:
    graph = add("graph", "draw the graphs of a scene as SVG, without running anything")
    graph.add_argument("scene", metavar="SCENE", help="USD file with the graphs")
    graph.add_argument("-o", "--output", required=True, metavar="OUT.svg", help="file to write")
    graph.add_argument("--graph", metavar="PATH", help="draw this graph (default: all)")
    graph.add_argument("--trust", action="store_true", help="set no limit on the memory and time that reading takes")


def _convert_options(add: Add) -> None:
    convert = add("convert", "write the grids of a .vdb or .nvdb file to a file of either kind")
    convert.add_argument("source", metavar="IN", help="*.vdb or *.nvdb; it is never changed")
    convert.add_argument("output", metavar="OUT", help="file to write, *.nvdb or *.vdb")
    convert.add_argument(
        "--grid", action="append", default=[], metavar="NAME", dest="grids",
        help="write this grid; may be given several times (default: all grids)",
    )  # fmt: skip
    convert.add_argument(
        "--codec", choices=("none", "zip", "blosc"), default="none", help="compression (default: none)"
    )


def _volume_options(add: Add) -> None:
    volume = add("volume", "list the grids of a volume file: types, active voxels, sizes (`preview` draws them)")
    volume.add_argument("file", metavar="FILE", help="*.vdb or *.nvdb")


def _nodes_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--nodes", action="append", default=[], metavar="FOLDER",
        help="load node types (.ogn and .py) of a folder or extension, and run their code; may be given several times",
    )  # fmt: skip


def _studio_options(add: Add) -> None:
    studio = add("studio", "edit the graphs and kernels of a scene in the browser, and see the result at once")
    studio.add_argument(
        "scene", metavar="SCENE", nargs="?", help="USD file to edit (default: a new scene, or a sample)"
    )
    studio.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")
    studio.add_argument("--port", type=_port, default=0, metavar="N", help="port on this machine (default: a free one)")
    studio.add_argument("--device", default="cpu", help="where kernels run (default: cpu)")
    _nodes_option(studio)
    studio.add_argument(
        "--notebook", action="store_true", help="let notebooks on this machine show the page in a frame"
    )


def _nodes_options(add: Add) -> None:
    nodes = add("nodes", "list the node types that `play` knows, or show the attributes of one")
    nodes.add_argument(
        "name", metavar="NAME", nargs="?", help="a type or a part of its name: Add, omni.graph.nodes.Add"
    )
    nodes.add_argument(
        "--nodes", action="append", default=[], metavar="FOLDER",
        help="list the types of a folder or extension instead, without running code; may be given several times",
    )  # fmt: skip


def _presets_options(add: Add) -> None:
    presets = add("presets", "list texts for Kernel nodes to start from, print one as a graph, or save a node as one")
    presets.add_argument(
        "name", metavar="NAME", nargs="?",
        help="a preset, as the list names it, or a file that --from wrote; with --from, the path of a Kernel node",
    )  # fmt: skip
    presets.add_argument(
        "--from", metavar="SCENE", dest="scene", help="save the node NAME of this scene as a preset; runs no code"
    )
    presets.add_argument("-o", "--output", metavar="OUT.py", help="file to write, with --from")


def _ogn_options(add: Add) -> None:
    ogn = add("ogn", "check, document or test the node types (.ogn and .py) of a folder or extension")
    ogn.add_argument(
        "action", choices=("check", "docs", "test"),
        help="check: descriptions and classes, without running code; docs: write Markdown pages; "
        "test: run the tests in the .ogn files, and with them the code of the nodes",
    )  # fmt: skip
    ogn.add_argument("folder", metavar="FOLDER", help="folder of nodes, or of an extension")
    ogn.add_argument("-o", "--output", metavar="DIR", help="folder for the pages of docs")


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
