"""The command line: exit codes, messages, consent, results that are whole or absent."""

import hashlib
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pxr import Usd, UsdGeom

from omni.warp_core import cli, cli_arguments, config
from omni.warp_core.nodes.graph import node_graph
from omni.warp_core.nodes.play import console
from omni.warp_core.nodes.play.player import Outcome

SCENES = Path(__file__).parents[2] / "data" / "scenes"

TIME = """
def OmniGraphNode "time" {
    token node:type = "omni.graph.nodes.ReadTime"
}
def OmniGraphNode "write" {
    token node:type = "omni.graph.nodes.WritePrimAttribute"
    custom rel inputs:prim = </World/Mesh>
    custom token inputs:name = "height"
    custom token inputs:value.connect = </G/time.outputs:frame>
}
"""
BAD = """
def OmniGraphNode "bad" {
    token node:type = "omni.graph.nodes.ReadPrimAttribute"
    custom rel inputs:prim = </World/Gone>
    custom token inputs:name = "points"
}
"""
KERNEL = """
def OmniGraphNode "kernel" {
    token node:type = "omni.warp_core.Kernel"
    custom string inputs:codeStr = "@wp.kernel\\ndef k(y: wp.array(dtype=float)):\\n    y[wp.tid()] = 3.0\\n"
    custom float outputs:y
}
def OmniGraphNode "writeKernel" {
    token node:type = "omni.graph.nodes.WritePrimAttribute"
    custom rel inputs:prim = </World/Mesh>
    custom token inputs:name = "scale"
    custom token inputs:value.connect = </G/kernel.outputs:y>
}
"""


@pytest.fixture
def run(capsys, monkeypatch):
    """run(*arguments) -> (exit code, stdout, stderr) of the command in this process."""

    def call(*arguments):
        try:
            code = cli.main([str(a) for a in arguments])
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def command(*arguments):
    return [sys.executable, "-m", "omni.warp_core.cli", *map(str, arguments)]


def leftovers(folder):
    return sorted(p.name for p in folder.iterdir() if ".part" in p.name)


def test_a_play_says_what_it_did(make_scene, run, tmp_path):
    out = tmp_path / "out.usdc"
    code, text, err = run("play", make_scene(TIME), "-o", out, "--frames", "0:9")
    assert (code, err) == (cli.OK, "") and out.is_file() and not leftovers(tmp_path)
    assert re.search(r"^ok .*/G/time +omni.graph.nodes.ReadTime", text, re.M)
    assert "10 frames in" in text and f"wrote {out}: 10 time samples of /World/Mesh.height" in text


@pytest.mark.filterwarnings("default")
def test_warnings_of_a_kernel_have_their_node_and_line(make_scene, run, tmp_path):
    text = """
@wp.kernel
def half(a: wp.array[int], b: wp.array[int]):
    b[wp.tid()] = a[wp.tid()] / 2
    b[wp.tid()] += (a[wp.tid()] + 1) / 2
"""
    node = f"""def OmniGraphNode "half" {{
        token node:type = "omni.warp_core.Kernel"
        custom string inputs:codeStr = '''{text}'''
        custom int[] inputs:a = [1, 2]
        custom int[] outputs:b
    }}"""
    _, _, err = run("play", make_scene(node), "-o", tmp_path / "out.usdc", "--trust")
    places = [line.split(" ")[1] for line in err.splitlines() if "truncates" in line]
    assert places == ["/G/half.inputs:codeStr:4:", "/G/half.inputs:codeStr:5:"]


def test_in_a_process_of_its_own(make_scene, tmp_path):
    made = subprocess.run(command("play", make_scene(TIME), "-o", tmp_path / "o.usda"), capture_output=True, text=True)
    assert (made.returncode, made.stderr) == (0, "") and (tmp_path / "o.usda").is_file()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["play", "{scene}"], cli.USAGE, "-o"),
        (["play", "{scene}", "-o", "{out}", "--frames", "9:1"], cli.USAGE, "comes before the first"),
        (["play", "{scene}", "-o", "{out}", "--frames", "a:b"], cli.USAGE, "not a frame range"),
        (["play", "{scene}", "-o", "{out}", "--fps", "0"], cli.USAGE, "frame rate"),
        (["play", "{scene}", "-o", "{out}", "--set", "nonsense"], cli.USAGE, "not of the form"),
        (["play", "{scene}", "-o", "{out}", "--set", "/G/no.inputs:x=1"], cli.USAGE, "there is no node /G/no"),
        (["play", "{scene}", "-o", "{out}", "--device", "gpu"], cli.USAGE, "--device gpu"),
        (["play", "{folder}/gone.usda", "-o", "{out}"], cli.INPUT, "there is no such file"),
        (["play", "{folder}/empty.usda", "-o", "{out}"], cli.INPUT, "no OmniGraph"),
        (
            ["play", "{folder}/broken.usda", "-o", "{out}"],
            cli.INPUT,
            "broken.usda: not a USD stage that can be read: line 2",
        ),
        (["play", "{folder}", "-o", "{out}"], cli.INPUT, "not a file"),
        (["play", "{scene}", "-o", "{scene}"], cli.OUTPUT, "never changed"),
        (["play", "{scene}", "-o", "{folder}/missing/o.usdc"], cli.OUTPUT, "there is no folder"),
        (["play", "{scene}", "-o", "{folder}/o.obj"], cli.OUTPUT, "must end in .usdc"),
        (["play", "{scene}", "-o", "{folder}/dir.usdc"], cli.OUTPUT, "is a folder"),
        (["play", "{scene}", "-o", "{folder}/.usdc"], cli.OUTPUT, "must end in .usdc"),
        (["preview", "{folder}/gone.usda", "-o", "{folder}/o.png"], cli.INPUT, "there is no such file"),
        (["preview", "{folder}/empty.usda", "-o", "{folder}/o.png"], cli.INPUT, "no visible meshes"),
        (["preview", "{scene}", "-o", "{folder}/o.xyz"], cli.USAGE, "the name of a picture must end in one of .png, "),
        (
            ["preview", "{scene}", "-o", "{folder}/o.png", "--frames", "1:2"],
            cli.USAGE,
            "the name of an animation must end in one of .gif, ",
        ),
        (["preview", "{scene}", "-o", "{folder}/o.png", "--size", "0x9"], cli.USAGE, "not a size"),
        (["preview", "{scene}", "-o", "{folder}/o.png", "--camera", "/World"], cli.INPUT, "there is no camera /World"),
        (["preview", "{scene}", "-o", "{folder}/missing/o.png", "--size", "8x8"], cli.OUTPUT, "cannot be written"),
        (["dance"], cli.USAGE, "invalid choice"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else None,
)
def test_exit_codes_and_messages(make_scene, run, tmp_path, arguments, code, words):
    (tmp_path / "empty.usda").write_text("#usda 1.0\n")
    (tmp_path / "broken.usda").write_text("#usda 1.0\ndef {\n")
    (tmp_path / "dir.usdc").mkdir()
    names = {"scene": make_scene(TIME), "out": tmp_path / "out.usdc", "folder": tmp_path}
    before = sorted(p.name for p in tmp_path.iterdir())
    got, _, err = run(*(a.format(**names) for a in arguments))
    assert got == code and words in err and "Traceback" not in err, err
    assert sorted(p.name for p in tmp_path.iterdir()) == before, "nothing is left"


def test_exit_codes_are_documented(run):
    for name in ("play", "preview", "info"):
        code, out, _ = run(name, "--help")
        assert code == 0 and all(text.split(";")[0] in out for text in cli_arguments.EXIT_CODES.values())


def test_the_table_tells_failed_nodes_from_nodes_that_did_not_run(make_scene, run, tmp_path):
    _, write = TIME.split("}\n", 1)
    after = write.replace('"write"', '"after"').replace("/G/time.outputs:frame", "/G/bad.outputs:value")
    lost = write.replace('"write"', '"lost"').replace("/G/time.outputs:frame", "/G/gone.outputs:x")
    nodes = TIME + BAD + after + lost
    code, text, _ = run("play", make_scene(nodes), "-o", tmp_path / "out.usdc")
    assert code == cli.NODES
    states = {path: state for state, path in re.findall(r"^(ok|failed|invalid|not run)\b.*?(/G/\w+)", text, re.M)}
    assert states == {
        "/G/time": "ok",
        "/G/write": "ok",
        "/G/bad": "failed",
        "/G/after": "not run",
        "/G/lost": "invalid",
    }


def test_preview_warns_of_frames_outside_of_the_stage(run, tmp_path):
    stage = Usd.Stage.CreateNew(str(tmp_path / "s.usda"))
    mesh = UsdGeom.Mesh.Define(stage, "/Mesh")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (1, 1, 0)])
    mesh.CreateFaceVertexCountsAttr([3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2])
    still = ["preview", tmp_path / "s.usda", "-o", tmp_path / "o.png", "--size", "16x9"]
    film = ["preview", tmp_path / "s.usda", "-o", tmp_path / "o.gif", "--size", "16x9"]
    stage.Save()
    assert run(*still, "--frame", "500")[2] == "", "a stage without a range has no frames to leave"
    stage.SetStartTimeCode(1)
    stage.SetEndTimeCode(24)
    stage.Save()
    for arguments, outside in (
        ([*still, "--frame", "500"], "500"),
        ([*still, "--frame", "0.5"], "0.5"),
        ([*film, "--frames", "20:25"], "25"),
    ):
        code, _, err = run(*arguments)
        assert code == cli.OK
        assert f"warning: {tmp_path}/s.usda: frame {outside} is outside of the stage's frames 1:24; " in err
    for arguments in (still, [*still, "--frame", "24"], [*film, "--frames", "23:24"]):
        assert run(*arguments)[2] == ""


def test_failing_nodes_leave_the_others_results(make_scene, run, tmp_path):
    out = tmp_path / "out.usdc"
    code, text, err = run("play", make_scene(BAD + TIME), "-o", out)
    assert code == cli.NODES and err.count("/World/Gone") == 1 and "/G/bad" in err
    assert re.search(r"^failed .*/G/bad ", text, re.M) and re.search(r"^ok .*/G/write ", text, re.M)
    stage = Usd.Stage.Open(str(out))
    assert stage.GetAttributeAtPath("/World/Mesh.height").Get(2) == 2


def test_no_results_no_file(make_scene, run, tmp_path):
    out = tmp_path / "out.usdc"
    out.write_text("what was there before")
    code, _, err = run("play", make_scene(BAD), "-o", out)
    assert code == cli.NODES and "was not written" in err and out.read_text() == "what was there before"


def test_set_is_typed_by_the_attribute(make_scene, run, tmp_path):
    out = tmp_path / "out.usda"
    code, *_ = run("play", make_scene(TIME), "-o", out, "--set", "/G/write.inputs:name=scale")
    assert code == cli.OK and "scale.timeSamples" in out.read_text()


def test_paths_are_never_cut(capsys, monkeypatch):
    path = "/World/Graph/" + "a_long_name_" * 10
    node = node_graph.Node(path, "omni.warp_core.Kernel", None, node_graph.Host())
    outcome = Outcome(frames=1, seconds=1.0, written=[], samples=0, nodes=[node], failed=False)
    console.summary(outcome)
    assert "omni.warp_core.Kernel" in capsys.readouterr().out
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    console.summary(outcome)
    text = capsys.readouterr().out
    assert path in text and "omni.warp_core.Kernel" not in text


def test_a_table_of_very_many_nodes_shows_first_what_is_not_ok(capsys):
    nodes = [
        node_graph.Node(f"/G/n{i}", "omni.warp_core.Kernel", None, node_graph.Host())
        for i in range(console.SHOWN_NODES + 50)
    ]
    for node in nodes:
        node.ran = True
    nodes[-1].fail("no result")
    console.summary(Outcome(frames=1, seconds=1.0, written=[], samples=0, nodes=nodes, failed=True))
    text = capsys.readouterr().out
    assert re.search(rf"^failed .*{nodes[-1].path} ", text, re.M) and "... 50 more nodes\n" in text
    assert text.count("omni.warp_core.Kernel") == console.SHOWN_NODES


def test_info(run):
    code, out, _ = run("info")
    assert code == 0 and config.package_version in out and "device cpu" in out


# -- consent ----------------------------------------------------------------------------------------------------------


def test_code_runs_only_with_consent(make_scene, run, tmp_path, settings_dir):
    scene, out = make_scene(KERNEL), tmp_path / "out.usdc"
    code, text, err = run("play", scene, "-o", out)
    assert code == cli.CONSENT and not out.exists() and text == ""
    assert "/G/kernel" in err and "y[wp.tid()] = 3.0" in err and "--trust" in err
    assert run("play", scene, "-o", out, "--trust")[0] == cli.OK
    out.unlink()
    assert run("play", scene, "-o", out)[0] == cli.CONSENT, "--trust is for one time"
    assert run("play", scene, "-o", out, "--remember")[0] == cli.OK
    assert run("play", scene, "-o", out)[0] == cli.OK, "remembered for exactly this text"
    assert [p.name for p in settings_dir.iterdir()] == ["consented-code"]


def test_consent_is_for_exactly_one_content(make_scene, run, tmp_path):
    scene, out = make_scene(KERNEL), tmp_path / "out.usdc"
    assert run("play", scene, "-o", out, "--remember")[0] == cli.OK
    changed = make_scene(KERNEL.replace("3.0", "4.0"), name="changed.usda")
    assert run("play", changed, "-o", out)[0] == cli.CONSENT
    code = "/G/kernel.inputs:codeStr=@wp.kernel\ndef k(y: wp.array(dtype=float)):\n    y[0] = 5.0\n"
    assert run("play", scene, "-o", out, "--set", code)[0] == cli.CONSENT, "also when it comes from --set"


def test_code_of_given_digests_runs_alone(make_scene, run, tmp_path, settings_dir):
    scene, out, agreed = make_scene(KERNEL), tmp_path / "out.usdc", tmp_path / "agreed"
    text = "@wp.kernel\ndef k(y: wp.array(dtype=float)):\n    y[wp.tid()] = 3.0\n"
    agreed.write_text(hashlib.sha256(text.encode()).hexdigest())
    assert run("play", scene, "-o", out, "--agreed", agreed)[0] == cli.OK
    assert run("play", scene, "-o", out)[0] == cli.CONSENT and not settings_dir.exists()
    changed = make_scene(KERNEL.replace("3.0", "4.0"), name="changed.usda")
    assert run("play", changed, "-o", out, "--agreed", agreed)[0] == cli.CONSENT
    code, _, err = run("play", scene, "-o", out, "--agreed", tmp_path / "missing")
    assert code == cli.USAGE and "--agreed" in err


def test_code_files_are_part_of_the_content(make_scene, run, tmp_path):
    nodes = KERNEL.replace(
        "custom string",
        'custom token inputs:codeProvider = "file"\n custom token inputs:codeFile = "k.py"\n custom string',
    )
    (tmp_path / "k.py").write_text("@wp.kernel\ndef k(y: wp.array(dtype=float)):\n    y[0] = 1.0\n")
    scene, out = make_scene(nodes), tmp_path / "out.usdc"
    assert run("play", scene, "-o", out, "--remember")[0] == cli.OK and run("play", scene, "-o", out)[0] == cli.OK
    (tmp_path / "k.py").write_text("@wp.kernel\ndef k(y: wp.array(dtype=float)):\n    y[0] = 2.0\n")
    assert run("play", scene, "-o", out)[0] == cli.CONSENT


def test_damaged_or_unwritable_settings(make_scene, run, tmp_path, settings_dir):
    settings_dir.mkdir()
    (settings_dir / "consented-code").write_bytes(b"\xff\x00damaged")
    scene, out = make_scene(KERNEL), tmp_path / "out.usdc"
    assert run("play", scene, "-o", out)[0] == cli.CONSENT
    config.settings_dir = str(tmp_path / "scene.usda" / "below-a-file")
    code, _, err = run("play", scene, "-o", out, "--remember")
    assert code == cli.OUTPUT and "cannot be remembered" in err and not out.exists()
    config.settings_dir = None
    assert run("play", scene, "-o", out, "--remember")[0] == cli.OUTPUT


@pytest.mark.filterwarnings("default:remembered consent")
@pytest.mark.parametrize("name", ["consented-code", "."])
def test_consent_that_others_could_have_written_is_not_used(make_scene, run, tmp_path, settings_dir, name):
    scene, out = make_scene(KERNEL), tmp_path / "out.usdc"
    before = os.umask(0)
    try:
        assert run("play", scene, "-o", out, "--remember")[0] == cli.OK
    finally:
        os.umask(before)
    assert settings_dir.stat().st_mode & 0o777 == 0o700
    (settings_dir / name).chmod(0o777)
    code, _, err = run("play", scene, "-o", out)
    assert code == cli.CONSENT and "remembered consent is not used" in err and "chmod go-w" in err
    (settings_dir / name).chmod(0o700)
    assert run("play", scene, "-o", out)[0] == cli.OK


@pytest.mark.filterwarnings("default:remembered consent")
def test_consent_in_a_pipe_or_behind_a_link_is_not_read(make_scene, run, tmp_path, settings_dir):
    scene, out = make_scene(KERNEL), tmp_path / "out.usdc"
    settings_dir.mkdir()
    os.mkfifo(settings_dir / "consented-code", 0o600)
    assert run("play", scene, "-o", out)[0] == cli.CONSENT
    (settings_dir / "consented-code").unlink()
    (settings_dir / "consented-code").symlink_to("/dev/zero")
    assert run("play", scene, "-o", out)[0] == cli.CONSENT
    assert run("play", scene, "-o", out, "--remember")[0] == cli.OK
    assert not (settings_dir / "consented-code").is_symlink() and run("play", scene, "-o", out)[0] == cli.OK


def test_code_cannot_hide_itself_in_the_terminal():
    assert console.harmless("a\x1b[2Jb\rc\u202ed\n\te") == "a\\x1b[2Jb\\x0dc\\u202ed\n\te"


# -- interruptions ----------------------------------------------------------------------------------------------------


def start_long_play(make_scene, tmp_path):
    """A play of many frames, once it has begun to write."""
    arguments = ("play", make_scene(TIME), "-o", tmp_path / "out.usdc", "--frames", "0:900000")
    process = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    await_leftovers(process, tmp_path)
    return process


def await_leftovers(process, folder):
    """Wait until a play has begun to write."""
    deadline = time.monotonic() + 300
    while not leftovers(folder):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_plays_leave_nothing(make_scene, tmp_path, number):
    process = start_long_play(make_scene, tmp_path)
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    assert process.returncode == cli.INTERRUPTED and "interrupted" in err and "Traceback" not in err
    assert not (tmp_path / "out.usdc").exists() and not leftovers(tmp_path)


def test_an_interruption_inside_of_a_binding_is_one(make_scene, run, tmp_path, monkeypatch):
    """What Python raises where a signal arrives in a call of USD that was about to return."""

    def interrupted(options):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    def broken(options):
        raise SystemError("a bug")

    arguments = ("play", make_scene(TIME), "-o", tmp_path / "out.usdc")
    monkeypatch.setitem(cli.COMMANDS, "play", interrupted)
    code, _, err = run(*arguments)
    assert code == cli.INTERRUPTED and err.startswith("interrupted; ")
    monkeypatch.setitem(cli.COMMANDS, "play", broken)
    with pytest.raises(SystemError, match="a bug"):
        run(*arguments)


def test_killed_plays_leave_no_result(make_scene, run, tmp_path):
    process = start_long_play(make_scene, tmp_path)
    process.kill()
    process.communicate(timeout=300)
    assert not (tmp_path / "out.usdc").exists()
    assert run("play", make_scene(TIME), "-o", tmp_path / "next.usdc")[0] == cli.OK
    assert not leftovers(tmp_path), "the next play removes what the killed one could not"


def test_a_play_whose_child_is_killed_leaves_nothing(make_scene, tmp_path):
    process = start_long_play(make_scene, tmp_path)
    child = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
    os.kill(child, signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode == cli.CRASHED and "was killed" in err and not leftovers(tmp_path)


ENDLESS = KERNEL.replace("    y[wp.tid()] = 3.0", "    while y[0] < 1.0:\\n        y[0] = y[0] * 0.5")
CRASH = KERNEL.replace('"@wp.kernel', '"import ctypes\\nctypes.string_at(0)\\n@wp.kernel')
OUT_OF_BOUNDS = KERNEL.replace("y[wp.tid()]", "y[wp.tid() + 1000000000]").replace(
    "custom float outputs:y", "custom int inputs:dim1 = 1\n    custom float outputs:y"
)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_kernel_that_never_ends_can_be_interrupted(make_scene, tmp_path, number):
    arguments = command("play", make_scene(ENDLESS), "-o", tmp_path / "out.usdc", "--trust")
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        await_leftovers(process, tmp_path)
        time.sleep(0.5)
        os.killpg(process.pid, number)  # as a terminal does
        _, err = process.communicate(timeout=300)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, err) == (cli.INTERRUPTED, "interrupted; no result was written\n")
    assert not (tmp_path / "out.usdc").exists() and not leftovers(tmp_path)


def test_a_kernel_that_leaves_its_arrays_fails_alone(make_scene, tmp_path):
    arguments = command("play", make_scene(OUT_OF_BOUNDS), "-o", tmp_path / "out.usdc", "--trust")
    made = subprocess.run(arguments, capture_output=True, text=True)
    assert made.returncode == cli.NODES and "/kernel" in made.stderr and "bytes behind the end of" in made.stderr
    assert not leftovers(tmp_path)


def test_a_play_that_crashes(make_scene, tmp_path):
    arguments = command("play", make_scene(CRASH), "-o", tmp_path / "out.usdc", "--trust")
    made = subprocess.run(arguments, capture_output=True, text=True)
    assert made.returncode == cli.CRASHED and "SIGSEGV" in made.stderr and "--debug" in made.stderr
    assert not (tmp_path / "out.usdc").exists() and not leftovers(tmp_path)


def test_the_child_ends_with_its_parent(tmp_path):
    script = "import os, sys, time; from omni.warp_core.nodes.play import child_process as guard\n"
    script += "guard.run(lambda: (print(os.getpid(), flush=True), time.sleep(600)))"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.kill()
    with pytest.raises(ProcessLookupError):
        for _ in range(600):
            os.kill(child, 0)
            time.sleep(0.1)


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-", "2>&-", ">/dev/full 2>&-"])
def test_streams_that_cannot_be_written(make_scene, tmp_path, redirection):
    line = " ".join(map(shlex.quote, command("play", make_scene(TIME), "-o", tmp_path / "out.usdc")))
    made = subprocess.run(["sh", "-c", f"{line} {redirection}"], capture_output=True, text=True)
    assert made.returncode == (cli.OUTPUT if "full" in redirection else cli.OK), made.stderr
    assert "Traceback" not in made.stderr and (tmp_path / "out.usdc").is_file()


def test_a_reader_that_leaves(make_scene, tmp_path):
    line = " ".join(map(shlex.quote, command("play", make_scene(TIME), "-o", tmp_path / "out.usdc")))
    made = subprocess.run(["bash", "-c", f"{line} | true; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True)
    assert made.stderr == "" and (tmp_path / "out.usdc").is_file()


def test_a_full_disk(make_scene, tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    (tmp_path / "out.usda").write_text("before")
    arguments = command("play", make_scene(TIME), "-o", tmp_path / "out.usda", "--frames", "0:500")
    made = subprocess.run(arguments, capture_output=True, text=True, preexec_fn=limit, env={**os.environ})
    assert (
        made.returncode == cli.OUTPUT
        and "cannot be written: " in made.stderr
        and "large" in made.stderr
        and "Traceback" not in made.stderr
    )
    assert (tmp_path / "out.usda").read_text() == "before" and not leftovers(tmp_path)


SUM = '''
def OmniGraphNode "kernel" {
    token node:type = "omni.warp_core.Kernel"
    custom string inputs:codeStr = """@wp.kernel
def k(y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(y, 0, 1.0 / (1.0 + float(i)))
"""
    custom int inputs:dim1 = 100000
    custom float outputs:y
}
'''


def test_sums_of_floats_are_the_same_in_every_play_and_for_any_number_of_threads(make_scene, tmp_path):
    scene, out, results = make_scene(SUM + KERNEL[KERNEL.index("}") + 1 :]), tmp_path / "out.usda", set()
    for threads in (1, 2, 2, 2):
        environment = {**os.environ, "OMNI_WARP_NUM_THREADS": str(threads)}
        made = subprocess.run(command("play", scene, "-o", out, "--trust"), env=environment)
        assert made.returncode == 0
        results.add(out.read_bytes())
    assert len(results) == 1
