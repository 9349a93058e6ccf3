"""Plays that are isolated, watched or profiled, as commands of their own process."""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pxr import Usd

from omni.warp_core import cli_arguments
from tests.nodes.kernel.kernel_scenes import READ, kernel, write
from tests.nodes.kernel.test_replay import TWICE_ATTRIBUTES
from tests.nodes.test_cli import TIME

COMMAND = [sys.executable, "-m", "omni.warp_core.cli"]


def command(*arguments, tmp_path):
    environment = {**os.environ, "OMNI_WARP_SETTINGS_DIR": str(tmp_path / "settings")}
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=300, env=environment
    )


def samples(path, name, frames):
    stage = Usd.Stage.Open(str(path))
    stage.Reload()
    return [stage.GetAttributeAtPath(f"/World/Mesh.{name}").Get(frame) for frame in frames]


SLOW = "@wp.kernel\ndef k(frame: float, y: wp.array(dtype=float)):\n    n = float(0)\n    while frame >= 2.0:\n"
SLOW += "        n += 1.0\n        y[0] = n\n    y[0] = frame\n"
KEEP = "@wp.kernel\ndef k(frame: float, y: wp.array(dtype=float)):\n    y[0] = frame\n"
FILL = "@wp.kernel\ndef k(y: wp.array[float]):\n    y[wp.tid()] = 1.0\n"
CRASH = f"import ctypes\n{KEEP}ctypes.string_at(0)\n"
LARGE = f"import numpy\n{KEEP}held = numpy.ones(12_500_000_000)\n"
LEAVES = f"import os\n{KEEP}os._exit(0)\n"
ATTRIBUTES = "custom float inputs:frame.connect = </G/time.outputs:frame>\ncustom float outputs:y\n"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (SLOW, "took longer than 8 s in frame 2"),
        (CRASH, "crashed (SIGSEGV) in frame 0"),
        (LARGE, "Unable to allocate 93.1 GiB"),
        (LEAVES, "ended the process with exit code 0 in frame 0"),
    ],
    ids=["never ends", "crashes", "takes 100 GB", "leaves"],
)
def test_an_isolated_play_goes_on_without_a_node_that_ends_it(make_scene, tmp_path, code, why):
    scene = make_scene(TIME + kernel(code, ATTRIBUTES))
    found = command(
        "play",
        scene,
        "-o",
        tmp_path / "out.usda",
        "--trust",
        "--isolate",
        "--timeout",
        8,
        "--memory",
        8,
        tmp_path=tmp_path,
    )
    assert found.returncode == 5, found.stderr
    assert f"/G/kernel: {why}" in found.stderr or f"Error: {why}" in found.stderr
    assert ("--debug tells which" in found.stderr) == (code is CRASH)
    assert samples(tmp_path / "out.usda", "height", range(4)) == [0, 1, 2, 3]
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]


def test_without_isolation_the_play_ends_with_the_node(make_scene, tmp_path):
    scene = make_scene(TIME + kernel(CRASH, ATTRIBUTES))
    found = command("play", scene, "-o", tmp_path / "out.usda", "--trust", tmp_path=tmp_path)
    assert found.returncode == 7 and not (tmp_path / "out.usda").exists()


def test_a_node_may_take_no_longer_and_no_more_than_the_user_says(make_scene, tmp_path):
    out = tmp_path / "out.usda"
    slow = make_scene(TIME + kernel(SLOW, ATTRIBUTES), name="slow.usda")
    found = command("play", slow, "-o", out, "--trust", "--timeout", 8, tmp_path=tmp_path)
    assert found.returncode == 7 and not out.exists()
    assert "/G/kernel took longer than 8 s in frame 2; --isolate plays on without the node" in found.stderr
    large = make_scene(TIME + kernel(LARGE.replace("12_500", "500"), ATTRIBUTES), name="large.usda")
    found = command("play", large, "-o", out, "--trust", "--memory", 2, tmp_path=tmp_path)
    assert found.returncode == 5 and "Unable to allocate 3.73 GiB" in found.stderr
    assert samples(out, "height", range(4)) == [0, 1, 2, 3]
    attributes = (
        "custom float[] outputs:y\ncustom token inputs:dimSource = 'explicit'\ncustom int inputs:dim1 = 1000000000\n"
    )
    many = make_scene(TIME + kernel(FILL, attributes), name="many.usda")
    found = command("play", many, "-o", out, "--trust", "--memory", 2, tmp_path=tmp_path)
    assert found.returncode == 5
    assert "Unable to allocate 3.73 GiB" in found.stderr and "make fewer elements, or let the play" in found.stderr


@pytest.mark.parametrize("isolate", [(), ("--isolate",)])
def test_messages_of_a_play_name_its_option_for_debugging(make_scene, tmp_path, isolate):
    far = KEEP.replace("y[0]", "y[int(frame) * 1000000000]")
    found = command(
        "play", make_scene(TIME + kernel(far, ATTRIBUTES)), "-o", tmp_path / "out.usda", "--trust", *isolate,
        tmp_path=tmp_path,
    )  # fmt: skip
    assert found.returncode == 5 and "wp.config" not in found.stderr
    assert "help: play with --debug to see the line, thread and index" in found.stderr


def test_a_trace_has_every_frame_and_node(make_scene, tmp_path):
    trace = tmp_path / "trace.json"
    scene = make_scene(TIME + kernel(KEEP, ATTRIBUTES))
    found = command("play", scene, "-o", tmp_path / "out.usda", "--trust", "--profile", trace, tmp_path=tmp_path)
    assert found.returncode == 0, found.stderr
    events = json.loads(trace.read_text())["traceEvents"]
    frames = [e for e in events if e["cat"] == "frame"]
    assert [e["name"] for e in frames] == ["frame 0", "frame 1", "frame 2", "frame 3"]
    for frame in frames:
        inside = [e for e in events if frame["ts"] <= e["ts"] and e["ts"] + e["dur"] <= frame["ts"] + frame["dur"]]
        assert {e["name"] for e in inside if e["cat"] == "node"} == {"/G/time", "/G/write", "/G/kernel"}
    first = next(e for e in events if e["name"] == "/G/kernel")
    assert first["args"]["type"] == "omni.warp_core.Kernel" and first["args"]["compile_ms"] > 0


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gone/trace.json", "there is no folder"),
        ("scene.usda", "is part of the scene, which is never changed"),
        ("out.usda", "is the name of the result, too"),
    ],
)
def test_a_trace_that_cannot_be_written_is_refused_before_the_play(make_scene, tmp_path, name, why):
    scene, out = make_scene(TIME), tmp_path / "out.usda"
    before = Path(scene).read_text()
    found = command("play", scene, "-o", out, "--profile", tmp_path / name, tmp_path=tmp_path)
    assert found.returncode == cli_arguments.OUTPUT and why in found.stderr
    assert not out.exists() and Path(scene).read_text() == before


def test_a_play_that_has_no_memory_to_begin_says_so(make_scene, tmp_path):
    scene = make_scene(TIME)
    found = command("play", scene, "-o", tmp_path / "out.usda", "--memory", "0.01", tmp_path=tmp_path)
    assert found.returncode == cli_arguments.CRASHED
    told = found.stderr.splitlines()[-1]  # C++ code that finds no memory tells so itself, and ends the process
    assert told.startswith("error: ") and "memory ran out; let it take more: --memory GB" in told


@contextlib.contextmanager
def watching(scene, out):
    """Watch a scene. Gives a function that waits for a line, and the lines so far."""
    process = subprocess.Popen(
        [*COMMAND, "watch", str(scene), "-o", str(out), "--trust"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    told = []

    def until(start):
        for line in process.stderr:
            told.append(line)
            if line.startswith(start):
                return
        raise AssertionError("".join(told))

    try:
        yield until, told
    finally:
        process.terminate()
        process.wait(60)
        process.stderr.close()


def test_a_scene_that_is_missing_is_told_and_played_when_it_comes(make_scene, tmp_path):
    late, out = tmp_path / "late.usda", tmp_path / "out.usda"
    with watching(late, out) as (until, told):
        until("waiting until")
        assert told[-1] == f"waiting until {late} exists; Ctrl-C ends\n" and "there is no such file" in told[0]
        os.replace(make_scene(TIME + kernel(KEEP, ATTRIBUTES)), late)
        until("watching")
    assert samples(out, "height", range(4)) == [0, 1, 2, 3]


def test_a_watched_scene_plays_again_when_its_code_changes(make_scene, tmp_path):
    """The kernel stands in a file beside the scene; the result follows each of its texts, also after a mistake."""
    text = "@wp.kernel\ndef k(p: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.vec3)):\n    i = wp.tid()\n"
    text += "    q[i] = {} * p[i]\n"
    code, out = tmp_path / "code.py", tmp_path / "out.usda"
    code.write_text(text.format("2.0"))
    attributes = 'custom token inputs:codeProvider = "file"\ncustom token inputs:codeFile = "code.py"\n'
    attributes += TWICE_ATTRIBUTES.format("read.outputs:value")
    scene = make_scene(READ + kernel("", attributes) + write("/G/kernel.outputs:q"))
    with watching(scene, out) as (until, told):
        until("watching")
        assert samples(out, "points", [0])[0][2] == (2, 2, 0)
        code.write_text(text.format("3.0 *"))
        until("changed: ")
        assert "code.py" in told[-1]
        until("watching")
        assert any("does not compile" in line or "syntax" in line.lower() for line in told)
        code.write_text(text.format("5.0"))
        until("watching")
        assert samples(out, "points", [0])[0][2] == (5, 5, 0)


def test_the_page_lists_all_exit_codes():
    page = (Path(__file__).parents[2] / "docs" / "nodes.md").read_text().partition("## Exit codes")[2]
    listed = re.findall(r"^\| (\d+) \|", page.partition("\n## ")[0], re.MULTILINE)
    assert [int(code) for code in listed] == list(cli_arguments.EXIT_CODES)
