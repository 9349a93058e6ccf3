"""Scenes made to do harm: each play ends soon, with an exit code and a sentence, and takes little memory."""

import os
import resource
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pxr import Sdf, Vt

from omni.warp_core import cli
from omni.warp_core.nodes.play import child_process

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
STRING = """
def OmniGraphNode "text" {
    token node:type = "omni.graph.nodes.ConstantString"
    custom string inputs:value = "abc"
}
"""


def play(scene, folder, *options, **more):
    """Play a scene as the command does, in a process of its own; returns exit code, messages and bytes of memory."""
    arguments = [
        sys.executable,
        "-m",
        "omni.warp_core.cli",
        "play",
        str(scene),
        "-o",
        str(folder / "out.usdc"),
        *options,
    ]
    script = "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:]).returncode\n"
    script += "print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); sys.exit(code)"
    made = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=600, check=False, **more
    )
    messages, _, peak = made.stderr.rpartition("peak ")
    assert "Traceback" not in messages, messages
    return made.returncode, messages, int(peak) * 1024


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("startTimeCode = 0", "startTimeCode = nan", "startTimeCode is nan"),
        ("endTimeCode = 3", "endTimeCode = inf", "endTimeCode is inf"),
        ("startTimeCode = 0", "startTimeCode = -1e308", "startTimeCode is -1e+308"),
        ("endTimeCode = 3", "endTimeCode = 3\n timeCodesPerSecond = 0", "timeCodesPerSecond is 0"),
        ("endTimeCode = 3", "endTimeCode = 3\n timeCodesPerSecond = -24", "timeCodesPerSecond is -24"),
        ("endTimeCode = 3", "endTimeCode = 3\n timeCodesPerSecond = inf", "timeCodesPerSecond is inf"),
        (
            "endTimeCode = 3",
            "endTimeCode = 3\n timeCodesPerSecond = 0\n framesPerSecond = 24",
            "timeCodesPerSecond is 0",
        ),
        ("endTimeCode = 3", "endTimeCode = 3\n framesPerSecond = 1e-320", "framesPerSecond is 9.99989e-321"),
    ],
)
def test_clocks_that_cannot_run(make_scene, tmp_path, capsys, old, new, words):
    scene = tmp_path / "clock.usda"
    scene.write_text(Path(make_scene(TIME)).read_text().replace(old, new))
    for arguments in (["play", scene, "-o", tmp_path / "o.usdc"], ["preview", scene, "-o", tmp_path / "o.png"]):
        code = cli.main([str(a) for a in arguments])
        err = capsys.readouterr().err
        if "framesPerSecond" not in words or arguments[0] == "play":  # one picture needs no frame rate
            assert code == cli.INPUT and words in err and "clock.usda" in err, err


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"abc"', b'"a\xff"'),
        (b"ConstantString", b"Const\xffant"),
        (b'"push"', b'"pu\xffsh"'),
        (b"inputs:value", b"inputs:va\xfflue"),
        (b'"text"', b'"te\xffxt"'),
        (b"endTimeCode", b'doc = "\xff"\n    endTimeCode'),
        (b"endTimeCode", b"subLayers = [@\xff.usda@]\n    endTimeCode"),
        (b'"World"\n{', b'"World" (\n references = @\xff.usda@\n)\n{'),
        (b'"abc"', b'"abc" (\n customData = {\n string "\xff" = "b"\n }\n)'),
    ],
)
def test_text_that_is_not_utf8(make_scene, tmp_path, capsys, old, new):
    scene = tmp_path / "bytes.usda"
    text = Path(make_scene(STRING + TIME)).read_bytes()
    assert old in text
    scene.write_bytes(text.replace(old, new, 1))
    code = cli.main(["play", str(scene), "-o", str(tmp_path / "o.usdc")])
    err = capsys.readouterr().err
    assert code == cli.INPUT and "bytes.usda" in err and "UTF-8" in err, err


def crate(path, kind, value):
    """A .usdc scene whose node /G/node has one attribute of the given type and value."""
    layer = Sdf.Layer.CreateNew(str(path))
    layer.startTimeCode, layer.endTimeCode = 0, 1
    graph = Sdf.PrimSpec(layer, "G", Sdf.SpecifierDef, "OmniGraph")
    node = Sdf.PrimSpec(graph, "node", Sdf.SpecifierDef, "OmniGraphNode")
    Sdf.AttributeSpec(node, "node:type", Sdf.ValueTypeNames.Token).default = "omni.graph.nodes.ConstantInt"
    Sdf.AttributeSpec(node, "inputs:big", Sdf.ValueTypeNames.Find(kind)).default = value
    layer.Save()
    return path


def patched(path, old, new):
    """Replace bytes of a file."""
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    return path


COUNT = 1234567
ARRAYS = {
    "int[]": Vt.IntArray.FromNumpy(np.arange(COUNT, dtype=np.int32) % 7),
    "float[]": Vt.FloatArray.FromNumpy((np.arange(COUNT) % 5).astype(np.float32)),
    "point3f[]": Vt.Vec3fArray.FromNumpy(np.zeros((COUNT, 3), np.float32)),
    "token[]": Vt.TokenArray(["a"] * COUNT),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits the memory of a process")
@pytest.mark.parametrize("promised", [10**9, 2**62])
@pytest.mark.parametrize("kind", ARRAYS)
def test_a_binary_scene_that_promises_more_than_it_holds(tmp_path, kind, promised):
    scene = crate(tmp_path / "big.usdc", kind, ARRAYS[kind])
    patched(scene, struct.pack("<Q", COUNT), struct.pack("<Q", promised))
    code, err, peak = play(scene, tmp_path)
    assert code == cli.INPUT and "big.usdc" in err and "/G/node" in err, err
    assert len(err.splitlines()) == 1 and peak < 1.2e9


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits the memory of a process")
def test_a_small_file_with_much_in_it_needs_trust(tmp_path):
    scene = crate(tmp_path / "big.usdc", "int[]", Vt.IntArray(300_000_000))  # 1.2 GB of zeros
    code, err, peak = play(scene, tmp_path)
    assert code == cli.INPUT and "/G/node" in err and peak < 1.2e9, err
    assert play(scene, tmp_path, "--trust")[0] == cli.NODES, "it is read, and writes nothing"


def test_a_binary_scene_with_text_that_is_not_utf8(tmp_path):
    scene = patched(crate(tmp_path / "text.usdc", "string", "abcQQQxyz of its own"), b"QQQ", b"\xff\xfe\xff")
    code, err, _ = play(scene, tmp_path)
    assert code == cli.INPUT and "text.usdc: /G/node cannot be read: it holds text that is not UTF-8" in err, err


def test_a_layer_that_never_comes(make_scene, tmp_path):
    os.mkfifo(tmp_path / "pipe.usda")
    scene = tmp_path / "waits.usda"
    scene.write_text(
        Path(make_scene(TIME)).read_text().replace("endTimeCode", "subLayers = [@pipe.usda@]\n    endTimeCode")
    )
    limit = "from omni.warp_core.nodes.play import child_process as guard; guard.READ_SECONDS = 3.0\n"
    script = limit + "import sys; from omni.warp_core import cli; sys.exit(cli.main())"
    arguments = [sys.executable, "-c", script, "play", str(scene), "-o", str(tmp_path / "o.usdc")]
    made = subprocess.run(arguments, capture_output=True, text=True, timeout=600, check=False)
    assert made.returncode == cli.INPUT and "waits.usda: cannot be read" in made.stderr, made.stderr


def test_a_chain_of_inputs_longer_than_the_stack(make_scene, tmp_path, capsys):
    link = """
def OmniGraphNode "n{0}" {{
    token node:type = "omni.graph.nodes.ConstantDouble"
    custom double inputs:value{1}
}}
"""
    last = 3000
    nodes = "".join(link.format(i, f".connect = </G/n{i + 1}.inputs:value>") for i in range(last))
    nodes += link.format(last, " = 7.5") + TIME.replace("/G/time.outputs:frame", "/G/n0.inputs:value")
    out = tmp_path / "out.usda"
    assert cli.main(["play", make_scene(nodes, frames="0:0"), "-o", str(out)]) == cli.OK, capsys.readouterr().err
    assert Sdf.Layer.FindOrOpen(str(out)).QueryTimeSample("/World/Mesh.height", 0) == 7.5


# -- endings ----------------------------------------------------------------------------------------------------------

KERNEL = """
def OmniGraphNode "kernel" {
    token node:type = "omni.warp_core.Kernel"
    custom string inputs:codeStr = "PRELUDE\\n@wp.kernel\\ndef k(y: wp.array(dtype=float)):\\n    y[wp.tid()] = 3.0\\n"
    custom float outputs:y
}
def OmniGraphNode "writeKernel" {
    token node:type = "omni.graph.nodes.WritePrimAttribute"
    custom rel inputs:prim = </World/Mesh>
    custom token inputs:name = "scale"
    custom token inputs:value.connect = </G/kernel.outputs:y>
}
"""


@pytest.mark.parametrize("daemon", [False, True])
def test_a_thread_that_code_leaves_running(make_scene, tmp_path, daemon):
    prelude = f"import threading, time\\nthreading.Thread(target=time.sleep, args=(3600,), daemon={daemon}).start()"
    code, err, _ = play(make_scene(KERNEL.replace("PRELUDE", prelude)), tmp_path, "--trust")
    assert (code, err) == (cli.OK, "") and (tmp_path / "out.usdc").is_file()


@pytest.mark.parametrize(
    "prelude", ["sys.stdout.close()", "sys.stderr.close()", "sys.stdout.close(); sys.stderr.close()"]
)
def test_code_that_closes_a_stream_of_python(make_scene, tmp_path, prelude):
    scene = make_scene(KERNEL.replace("PRELUDE", f"import sys\\n{prelude}"))
    command = [sys.executable, "-m", "omni.warp_core.cli", "play", scene, "-o", str(tmp_path / "o.usdc"), "--trust"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (made.returncode, made.stderr) == (cli.OK, "") and "wrote " in made.stdout


@pytest.mark.parametrize("prelude", ["sys.stdout.close()", "sys.stderr.close()", "sys.stderr = None"])
def test_code_that_closes_a_stream_and_fails(make_scene, tmp_path, prelude):
    scene = make_scene(KERNEL.replace("PRELUDE", f"import sys\\n{prelude}\\nraise KeyError(7)"))
    code, err, _ = play(scene, tmp_path, "--trust")
    assert code == cli.NODES and ("KeyError: 7" in err or "None" in prelude), err


def test_code_that_closes_the_descriptor_of_the_summary(make_scene, tmp_path):
    scene = make_scene(KERNEL.replace("PRELUDE", "import os\\nos.close(1)"))
    code, err, _ = play(scene, tmp_path, "--trust")
    assert (code, err) == (cli.OUTPUT, "error: the summary cannot be written: Bad file descriptor\n")
    assert (tmp_path / "out.usdc").is_file()


@pytest.mark.parametrize("status", [0, 3])
def test_code_that_ends_the_process(make_scene, tmp_path, status):
    scene = make_scene(KERNEL.replace("PRELUDE", f"import os\\nos._exit({status})"))
    code, err, _ = play(scene, tmp_path, "--trust")
    assert code == cli.CRASHED and f"ended the process with exit code {status}" in err
    assert "no result was written" in err and not (tmp_path / "out.usdc").exists()


# What Python shows for an exception whose `str` fails.
NO_TEXT = "<exception str() failed>" if sys.version_info >= (3, 11) else "<unprintable Odd object>"


@pytest.mark.parametrize(
    ("prelude", "words"),
    [
        ("raise GeneratorExit", "GeneratorExit"),
        ("import sys\\nsys.exit(0)", "SystemExit: 0"),
        ("class Stop(BaseException):\\n  pass\\nraise Stop(5)", "Stop: 5"),
        (
            "class Odd(Exception):\\n  def __str__(self):\\n    raise ValueError\\nraise Odd",
            f"Odd: {NO_TEXT}",
        ),
    ],
)
def test_code_that_raises_a_base_exception(make_scene, tmp_path, prelude, words):
    code, err, _ = play(make_scene(KERNEL.replace("PRELUDE", prelude)), tmp_path, "--trust")
    first, _, rest = err.partition("\n")
    assert (code, first) == (cli.NODES, f"error: /G/kernel: {words}")
    assert rest.startswith(" --> /G/kernel.inputs:codeStr:") and rest.count("error: ") == 1, "and nothing is written"


def test_a_node_that_raises_a_base_exception(build):
    def leave(db):
        raise GeneratorExit("enough")

    graph = build("push")
    graph.node("a", leave)
    graph.start().evaluate()
    assert graph.host.log.errors[0].startswith("/G/a: GeneratorExit: enough")


@pytest.mark.parametrize("command", ["play", "preview"])
def test_a_request_to_stop_while_usd_is_imported(make_scene, tmp_path, command):
    script = """
import os, signal, sys
from omni.warp_core import cli

class Stopper:
    def find_spec(self, name, path=None, target=None):
        if name == "pxr.Gf":
            os.kill(os.getpid(), signal.SIGTERM)

sys.meta_path.insert(0, Stopper())
sys.exit(cli.main())
"""
    output = tmp_path / ("o.usda" if command == "play" else "o.png")
    arguments = [sys.executable, "-c", script, command, make_scene(TIME), "-o", str(output)]
    made = subprocess.run(arguments, capture_output=True, text=True, timeout=600, check=False)
    assert (made.returncode, made.stdout, made.stderr) == (cli.INTERRUPTED, "", "interrupted; no result was written\n")
    assert not output.exists()


def test_the_parent_knows_whether_the_task_returned():
    script = "import os, sys; from omni.warp_core.nodes.play import child_process as guard\n"
    script += "print(guard.run(lambda: 4), guard.run(lambda: os._exit(0)), guard.run(lambda: 1 / 0), sep='\\n')"
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    returned = [line.partition("returned=")[2].partition(",")[0] for line in made.stdout.splitlines()]
    assert returned == ["True", "False", "True"] and "ZeroDivisionError" in made.stderr


def test_the_memory_limit_is_for_guarded_children_only():
    before = resource.getrlimit(resource.RLIMIT_DATA)
    child_process.limit_memory()
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@pytest.mark.parametrize(
    "arguments", [["--frames", "-5:-3"], ["--frames=-5:-3"], ["--frames", "-5:3"], ["--frames", "-4"]]
)
def test_frames_below_zero(make_scene, tmp_path, capsys, arguments):
    out = tmp_path / "o.usda"
    assert cli.main(["play", make_scene(TIME), "-o", str(out), *arguments]) == cli.OK
    capsys.readouterr()
    first, _, last = arguments[-1].removeprefix("--frames=").partition(":")
    samples = Sdf.Layer.FindOrOpen(str(out)).ListTimeSamplesForPath("/World/Mesh.height")
    assert samples == [float(f) for f in range(int(first), int(last or first) + 1)]


# -- the terminal -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["play", "preview"])
def test_an_error_of_usd_cannot_move_the_cursor(make_scene, tmp_path, capsys, command):
    scene = Path(make_scene(TIME))
    scene.write_text(scene.read_text() + 'def "\x1b]0;owned\x07" {\n}\n')
    assert cli.main([command, str(scene), "-o", str(tmp_path / "o.usdc" if command == "play" else tmp_path / "o.png")])
    err = capsys.readouterr().err
    assert "\\x1b]0;owned\\x07" in err and "\x1b" not in err and "\x07" not in err


def named(folder, name):
    """A path whose name is these bytes."""
    return Path(os.fsdecode(os.path.join(os.fsencode(folder), name)))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere names are text")
@pytest.mark.parametrize("command", ["play", "preview"])
def test_names_that_are_not_text(make_scene, tmp_path, capsys, command):
    output, scene = ("o.usda", "o.png")[command == "preview"], Path(make_scene(TIME))
    odd = named(tmp_path, b"s\xff.usda")
    odd.write_bytes(scene.read_bytes())
    assert cli.main([command, str(odd), "-o", str(tmp_path / output)]) == cli.INPUT
    assert "s\\udcff.usda" in capsys.readouterr().err
    target = named(tmp_path, b"\xff" + output.encode())
    assert cli.main([command, str(scene), "-o", str(target)]) == cli.OK, capsys.readouterr().err
    assert target.is_file()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere names are text")
def test_a_folder_whose_name_is_not_text(make_scene, tmp_path, capsys):
    folder = named(tmp_path, b"\xff")
    folder.mkdir()
    assert cli.main(["play", make_scene(TIME), "-o", str(folder / "o.usda")]) == cli.OUTPUT
    assert "UTF-8" in capsys.readouterr().err and not list(folder.iterdir())


@pytest.mark.parametrize("encoding", ["ascii:strict", "utf-8:strict"])
def test_a_terminal_without_the_characters_of_a_scene(make_scene, tmp_path, encoding):
    scene = make_scene(TIME.replace("time", "größe"))
    code, err, _ = play(scene, tmp_path, env={**os.environ, "PYTHONIOENCODING": encoding})
    assert (code, err) == (cli.OK, "") and (tmp_path / "out.usdc").is_file()


# -- pictures ---------------------------------------------------------------------------------------------------------


def test_a_picture_of_a_layer_that_never_comes(make_scene, tmp_path):
    os.mkfifo(tmp_path / "pipe.usda")
    scene = tmp_path / "waits.usda"
    text = Path(make_scene(TIME)).read_text()
    scene.write_text(text.replace("endTimeCode", "subLayers = [@pipe.usda@]\n    endTimeCode"))
    limit = "from omni.warp_core.nodes.play import child_process as guard; guard.READ_SECONDS = 3.0\n"
    script = limit + "import sys; from omni.warp_core import cli; sys.exit(cli.main())"
    arguments = [sys.executable, "-c", script, "preview", str(scene), "-o", str(tmp_path / "o.png")]
    made = subprocess.run(arguments, capture_output=True, text=True, timeout=600, check=False)
    assert (made.returncode, made.stdout) == (cli.INPUT, "")
    assert made.stderr == f"error: {scene}: cannot be read: it takes longer than 3 s; --trust sets no limit\n"


def test_a_picture_with_a_transform_that_usd_refuses(make_scene, tmp_path, capfd):
    scene = Path(make_scene(TIME))
    scene.write_text(scene.read_text().replace('["xformOp:translate"]', '["xformOp:nope"]'))
    assert cli.main(["preview", str(scene), "-o", str(tmp_path / "o.png")]) == cli.INPUT
    assert capfd.readouterr().err == f"error: {scene}: cannot be read at frame 0: Invalid xform opType token 'nope'.\n"


def test_usd_itself_prints_nothing(make_scene, tmp_path, capfd):
    color = 'color3f[] primvars:displayColor = [(1, 1, 1)] (interpolation = "vertex")\n'
    scene = Path(make_scene(TIME + STRING.replace("string", "asset").replace('"abc"', "@`${GONE}`@")))
    scene.write_text(
        scene.read_text().replace(
            "float3[] extent", color + "int[] primvars:displayColor:indices = [9]\nfloat3[] extent"
        )
    )
    assert cli.main(["preview", str(scene), "-o", str(tmp_path / "o.png")]) == cli.OK
    ours = capfd.readouterr().err
    assert (
        ours.startswith(f"warning: {scene}: /World/Mesh.primvars:displayColor:indices[0] is 9")
        and ours.count("\n") == 1
    )
    assert cli.main(["play", str(scene), "-o", str(tmp_path / "o.usda")]) == cli.OK
    assert capfd.readouterr().err == ""


def test_an_animation_without_end(make_scene, tmp_path, capsys):
    arguments = ["preview", make_scene(TIME), "-o", str(tmp_path / "o.gif"), "--frames", "0:999999999"]
    assert cli.main(arguments) == cli.USAGE
    assert "1000000000 pictures of 960x540" in capsys.readouterr().err


def test_an_animation_slower_than_its_format(make_scene, tmp_path, capsys):
    scene = Path(make_scene(TIME))
    scene.write_text(scene.read_text().replace("startTimeCode", "timeCodesPerSecond = 0.000001\nstartTimeCode"))
    for kind in ("gif", "webp"):
        arguments = ["preview", str(scene), "-o", str(tmp_path / f"o.{kind}"), "--frames", "0:3", "--size", "32x18"]
        assert cli.main(arguments) == cli.USAGE
        assert f"o.{kind}: a picture stays for longer than {kind.upper()} can say" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["scene.usda"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits the memory of a process")
def test_a_preview_of_a_small_file_with_much_in_it_needs_trust(tmp_path):
    stage, picture = tmp_path / "big.usdc", tmp_path / "o.png"
    layer = Sdf.Layer.CreateNew(str(stage))
    prim = Sdf.PrimSpec(layer, "Points", Sdf.SpecifierDef, "Points")
    points = Sdf.AttributeSpec(prim, "points", Sdf.ValueTypeNames.Point3fArray)
    points.default = Vt.Vec3fArray.FromNumpy(np.zeros((10, 3), np.float32))
    widths = Sdf.AttributeSpec(prim, "widths", Sdf.ValueTypeNames.FloatArray)
    widths.default = Vt.FloatArray(75_000_000)  # 300 MB of zeros
    layer.Save()
    script = (
        "import sys; from omni.warp_core import cli; from omni.warp_core.nodes.play import child_process as guard\n"
    )
    script += "guard.READ_BYTES = 1 << 28; sys.exit(cli.main())"
    command = [sys.executable, "-c", script, "preview", str(stage), "-o", str(picture), "--size", "9x9"]
    limited = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert limited.returncode == cli.INPUT and "big.usdc" in limited.stderr and not picture.exists(), limited.stderr
    why, what = limited.stderr.splitlines()
    assert "/Points.widths cannot be read" in why and what.startswith("error: ")
    trusted = subprocess.run([*command, "--trust"], capture_output=True, text=True, timeout=600, check=False)
    assert trusted.returncode == cli.OK and picture.exists(), trusted.stderr
