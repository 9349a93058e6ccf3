"""The packaged extension in a simulated Kit: it starts, asks, plays scenes with the numbers of the host, and ends."""

import base64
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pxr import Sdf, Usd, Vt

from omni.warp_core.nodes.play.player import Player, Settings
from omni.warp_core.nodes.stock.node_registry import ALIASES
from tools import extension

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
SCENES = ROOT / "data" / "scenes"
KIT = Path(__file__).with_name("simulated_kit.py")


@pytest.fixture(scope="module")
def packaged(tmp_path_factory):
    """The folder that `make extension` writes."""
    target = tmp_path_factory.mktemp("exts") / extension.NAME
    extension.build(target)
    return target


SMALL = """#usda 1.0
(
    startTimeCode = 0
    endTimeCode = 2
    framesPerSecond = 24
)
def Points "Dots"
{
    point3f[] points = [(0, 0, 0)]
}
def OmniGraph "G"
{
    token evaluator:type = "push"
    def OmniGraphNode "kernel"
    {
        token node:type = "omni.warp_core.Kernel"
        custom string inputs:codeStr = '''
@wp.kernel
def k(a: wp.array(dtype=wp.vec3)):
    a[0] = wp.vec3(1.0, 2.0, 3.0)
'''
        custom point3f[] outputs:a
    }
    def OmniGraphNode "write"
    {
        token node:type = "omni.graph.nodes.WritePrimAttribute"
        custom rel inputs:prim = </Dots>
        custom token inputs:name = "points"
        custom token inputs:value.connect = </G/kernel.outputs:a>
    }
}
"""


@pytest.fixture
def small(tmp_path):
    """A scene with one small kernel."""
    path = tmp_path / "small.usda"
    path.write_text(SMALL)
    return path


def _array(found):
    """A large array, or what else an object of the printed JSON is."""
    if found.keys() != {"dtype", "shape", "bytes"}:
        return found
    return np.frombuffer(base64.b64decode(found["bytes"]), found["dtype"]).reshape(found["shape"])


@pytest.fixture
def kit(packaged, tmp_path):
    """kit(scene, **options) -> what the simulated Kit printed."""

    def run(scene, **options):
        env = os.environ | {"OMNI_WARP_SETTINGS_DIR": str(tmp_path / "settings")}
        command = [sys.executable, str(KIT), str(packaged), str(scene), json.dumps({"frames": [2, 3]} | options)]
        done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1], object_hook=_array)

    return run


@pytest.mark.parametrize("name", sorted(path.stem for path in SCENES.glob("*.usda")))
def test_scenes_play_as_in_the_headless_host(kit, packaged, tmp_path, name):
    found = kit(SCENES / f"{name}.usda", frames=[1, 4], answer="Run this time")
    assert found["home"].startswith(str(packaged)), "the package under test must be the packaged one"
    assert not found["errors"] and found["written"], found["log"]
    target = tmp_path / "out.usda"
    player = Player.open(str(SCENES / f"{name}.usda"), Settings(frames=(1, 3)))
    player.run(str(target))
    assert not player.host.log.errors
    stage = Usd.Stage.Open(str(target))
    for path, frames in found["written"].items():
        attribute = stage.GetAttributeAtPath(path)
        for frame, value in frames.items():
            _require_equal(path, value, attribute.Get(float(frame)))
    told = {path.partition(".")[0] for path in found["written"]}
    assert told == {path.partition(".")[0] for path in player.host.store.prims_written()}
    for texture, (digest, sizes) in found["textures"].items():
        last = Image.open(tmp_path / f"out.{texture}.0003.png")
        assert list(last.size) == sizes and hashlib.sha256(last.tobytes()).hexdigest() == digest
    assert bool(found["textures"]) == (name == "texture")


def _require_equal(path, value, held):
    """Compare a value in Kit, as JSON has it, with the value of the headless host."""
    if isinstance(held, Sdf.AssetPath):
        assert Path(value).read_bytes() == Path(held.resolvedPath).read_bytes(), path
    elif isinstance(held, (str, Vt.TokenArray)):
        assert value == (held if isinstance(held, str) else list(held)), path
    else:
        held = [(*q.imaginary, q.real) for q in held] if isinstance(held, (Vt.QuathArray, Vt.QuatfArray)) else held
        np.testing.assert_array_equal(np.array(value, np.float64), np.array(held, np.float64), err_msg=path)


SCRIPT = '''#usda 1.0
(
    startTimeCode = 0
    endTimeCode = 2
    framesPerSecond = 24
)
def Points "Dots"
{
    float[] widths = [0]
}
def OmniGraph "G"
{
    token evaluator:type = "push"
    def OmniGraphNode "script"
    {
        token node:type = "omni.warp_core.Script"
        custom string inputs:script = """
def setup(db):
    open("log", "a").write("setup ")

def compute(db):
    if db.inputs.at == 3.0:
        raise ValueError("three")
    db.outputs.widths = [db.inputs.at, 2.0]

def cleanup(db):
    open("log", "a").write("cleanup")
"""
        custom double inputs:at
        custom double inputs:at.connect = </G/clock.outputs:frame>
        custom float[] outputs:widths
    }
    def OmniGraphNode "clock"
    {
        token node:type = "omni.graph.nodes.ReadTime"
    }
    def OmniGraphNode "write"
    {
        token node:type = "omni.graph.nodes.WritePrimAttribute"
        custom rel inputs:prim = </Dots>
        custom token inputs:name = "widths"
        custom token inputs:value.connect = </G/script.outputs:widths>
    }
}
'''


def test_a_script_runs_with_consent_only(kit, tmp_path):
    scene = tmp_path / "script.usda"
    scene.write_text(SCRIPT)
    refused = kit(scene, answer="Do not run")
    assert "agreed" in refused["errors"]["/G/script"][0] and "def compute(db)" in refused["labels"][0]
    assert not (tmp_path / "log").exists()
    found = kit(scene, frames=[1, 4], answer="Run this time")
    written = found["written"]["/Dots.widths"]
    assert written["1"] == [1, 2] and written["2"] == [2, 2]
    assert "ValueError: three" in found["errors"]["/G/script"][0] and ":7" in found["errors"]["/G/script"][0]
    assert (tmp_path / "log").read_text() == "setup cleanup"


WRONG = {
    "throw.inputs:start": "a parameter is an array that a kernel reads",
    "targets.inputs:usdTimecode": "a parameter is an array that a kernel reads",
    "throw.inputs:speed": "/World/Graph/throw has no attribute 'inputs:speed'; its parameters are inputs:",
    "thrown.inputs:velocities": "the graph has no node /World/Graph/thrown",
    "miss.inputs:ways": "is connected to /World/Graph/throw.outputs:ways, which would overwrite it",
}


@pytest.mark.parametrize("parameter", WRONG)
def test_optimize_refuses_a_wrong_parameter_as_in_the_headless_host(kit, tmp_path, parameter):
    scene = tmp_path / "aim.usda"
    scene.write_text((SCENES / "aim.usda").read_text().replace("throw.inputs:velocities", parameter))
    errors = kit(scene, frames=[1, 2], answer="Run this time")["errors"]
    assert list(errors) == ["/World/Graph/fit"] and WRONG[parameter] in errors["/World/Graph/fit"][0]
    player = Player.open(str(scene), Settings(frames=(1, 1)))
    player.run(str(tmp_path / "out.usda"))
    assert WRONG[parameter] in player.host.log.errors[0]


def test_gradients_need_consent_too(kit):
    errors = kit(SCENES / "slope.usda", frames=[1, 2], answer="Do not run")["errors"]
    assert "/World/Graph/hills has not run in this frame" in errors["/World/Graph/slope"][0]


OLDER = """
    def OmniGraphNode "kernel"
    {
        token node:type = "omni.warp.WarpKernel"
        int node:typeVersion = 1
        custom int inputs:dim = 2
        custom string inputs:codeStr = '''
@wp.kernel
def compute(inputs: Inputs, outputs: Outputs):
    i = wp.tid()
    outputs.a[i] = wp.vec3(float(i), 2.0, 3.0)
'''
"""


def test_a_kernel_of_the_first_version_of_omni_warp(kit, small):
    start, end = SMALL.index("    def OmniGraphNode"), SMALL.index("        custom point3f[] outputs:a")
    small.write_text(SMALL[:start] + OLDER + SMALL[end:])
    found = kit(small, answer="Run this time")
    assert found["written"]["/Dots.points"]["2"] == [[0, 2, 3], [1, 2, 3]], found


def test_older_types_stand_back_where_omni_warp_is_enabled(kit, small):
    older = {name for name in ALIASES if name.startswith("omni.warp.")}
    found = kit(small, answer="Run this time")
    assert older <= set(found["types"]) and len(older) == 15 and not found["log"]
    found = kit(small, answer="Run this time", others=["omni.warp"])
    assert not older & set(found["types"]) and not found["errors"] and "omni.warp_core.Kernel" in found["types"]
    assert "disable omni.warp" in found["log"][0]


def test_nothing_runs_without_consent(kit, small):
    found = kit(small, answer="Do not run")
    assert "agreed" in found["errors"]["/G/kernel"][0]
    assert found["windows"] == 1 and "SHA-256" in found["labels"][0] and "def k(a" in found["labels"][0]
    assert (found["menus"], found["menus_left"]) == (1, 0)
    assert "omni.warp_core.Kernel" in found["types"]


def test_start_up_is_undone(kit, packaged, small):
    found = kit(small, answer="Run this time")
    assert found["samples"] == {str(packaged / "data" / "scenes"): "Omni Warp Core"}
    assert found["templates"] == [str(packaged / "ogn" / "template_omni.warp_core.Kernel.py")]
    assert found["watched"] == ["/exts/omni.warp_core/trust_all_code"] and found["menus"] == 1
    assert found["left"] == [] and found["menus_left"] == 0
    assert kit(small, settings={"/exts/omni.warp_core/enable_menu": False})["menus"] == 0


def test_the_panel_has_the_parameters_of_the_kernel_in_a_group(kit, small):
    groups = kit(small, answer="Run this time")["layout"]["/G/kernel"]
    assert [group[0] for group in groups] == ["Code", "Threads", "Run", "Parameters", "State"]
    assert groups[0][1:3] == ["inputs:codeProvider", "inputs:codeStr"]
    assert groups[3][1:] == ["outputs:a"] and groups[4][1:] == ["state:diagnostics", "state:status"]
    shown = [name for group in groups for name in group[1:]]
    assert len(shown) == len(set(shown)), "each property is shown once"


def test_the_manifest_is_complete(packaged):
    manifest = tomllib.loads((packaged / "config" / "extension.toml").read_text("utf-8"))
    package = manifest["package"]
    assert {"version", "title", "description", "category", "keywords", "authors"} <= package.keys()
    for key in ("readme", "changelog", "icon", "preview_image"):
        assert (packaged / package[key]).is_file(), key
    assert all((packaged / page).is_file() for page in manifest["documentation"]["pages"])
    assert package["writeTarget"]["platform"] and package["python"]["import_mode"] == "SingleThreaded"
    assert "omni.graph" in manifest["dependencies"], "without it Kit looks for no Python nodes"
    with_windows = {name for name in manifest["dependencies"] if "ui" in name.split(".") or ".kit." in name}
    assert all(manifest["dependencies"][name].get("optional") for name in with_windows)
    assert manifest["fswatcher"]["patterns"]["exclude"], "or regenerated databases reload the extension for ever"
    assert manifest["settings"]["exts"]["omni.warp_core"]["trust_all_code"] is False and manifest["test"]


def test_consent_is_remembered(kit, small):
    for windows, answer in ((1, "Run and remember"), (0, None)):
        found = kit(small, answer=answer)
        assert not found["errors"] and found["windows"] == windows
        assert found["written"]["/Dots.points"]["2"] == [[1, 2, 3]]


@pytest.mark.parametrize("trusted", [False, True])
def test_an_application_without_windows(kit, small, trusted):
    found = kit(small, windows=False, settings={"/exts/omni.warp_core/trust_all_code": trusted})
    assert bool(found["errors"]) != trusted and found["menus"] == 0


def test_the_folder_is_what_kit_expects(packaged):
    assert (packaged / "config" / "extension.toml").is_file() and (packaged / "data" / "icon.png").is_file()
    assert list((packaged / "omni" / "warp_core").glob("_native*"))
    # a folder `ogn` inside of a listed module would tell Kit that databases were generated beforehand
    assert not (packaged / "omni" / "warp_core" / "ogn").exists() and not (packaged / "ogn" / "ogn").exists()
    assert not (packaged / "omni" / "__init__.py").exists()
    assert not list(packaged.rglob("__pycache__")) and not list(packaged.parent.glob(".part-*"))


def test_building_again_replaces_the_folder(packaged):
    (packaged / "stale").write_text("old")
    extension.build(packaged)
    assert not (packaged / "stale").exists() and (packaged / "config" / "extension.toml").is_file()


def test_the_packaged_folder_plays_headless_too(packaged, small, tmp_path):
    """Without Kit and without the checkout; the files for Kit's older types are no node types there."""
    code = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
sys.path.insert(0, sys.argv[1])
import omni
omni.__path__ = [sys.argv[1] + "/omni"]
import omni.warp_core as wp
from omni.warp_core.nodes.stock import node_registry
assert wp.__file__.startswith(sys.argv[1])
assert "omni.warp.FixedTime" not in [t.spec.name for t in node_registry.standard()]
with wp.usd.play(sys.argv[2], trust=True) as player:
    player.step()
    assert not player.errors and player.get("/Dots.points").tolist() == [[1, 2, 3]], player.errors
"""
    done = subprocess.run([sys.executable, "-c", code, packaged, small], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
