"""Results and pictures appear whole, follow no planted link, and leave nothing behind."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image
from pxr import Usd

from omni.warp_core.usd.output_layer import OutputError, OutputLayer
from omni.warp_core.usd.pictures.preview import Request, preview

SCENE = """#usda 1.0
(
    startTimeCode = 0
    endTimeCode = 3
)
def Mesh "Mesh"
{
    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0)]
    int[] faceVertexCounts = [3]
    int[] faceVertexIndices = [0, 1, 2]
}
"""


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "scene.usda"
    path.write_text(SCENE)
    return path


def save(scene: Path, target: Path, meanwhile=lambda: None) -> None:
    with OutputLayer(str(target), Usd.Stage.Open(str(scene)), 0, 3, 24.0) as output:
        output.set("/Mesh", "height", "double", 1.5, 2.0)
        output._save()
        meanwhile()
        output.commit()


def draw(scene: Path, target: Path, meanwhile=lambda: None) -> None:
    meanwhile()
    preview(Request(str(scene), str(target), size=(16, 16)))


def is_result(target: Path) -> bool:
    if target.suffix == ".png":
        with Image.open(target) as image:
            return image.size == (16, 16)
    stage = Usd.Stage.Open(str(target))
    return stage.GetPrimAtPath("/Mesh").GetAttribute("height").Get(2.0) == 1.5


KINDS = pytest.mark.parametrize(
    ("write", "name"), [(save, "out.usda"), (save, "out.usdc"), (draw, "out.png")], ids=["usda", "usdc", "png"]
)


@KINDS
def test_planted_links_are_not_followed(scene, tmp_path, write, name):
    """Links at the target and at names made of the process number."""
    victim, target = tmp_path / "victim", tmp_path / name
    victim.write_text("mine")
    target.symlink_to(victim)
    (tmp_path / f".out.{os.getpid()}.part{target.suffix}").symlink_to(victim)
    write(scene, target)
    assert victim.read_text() == "mine" and not target.is_symlink() and is_result(target)


@pytest.mark.parametrize("name", ["out.usda", "out.usdc"])
def test_what_is_unfinished_lies_in_a_private_folder(scene, tmp_path, name):
    found = []

    def look():
        found.extend((p, stat.S_IMODE(p.stat().st_mode)) for p in tmp_path.iterdir() if p != scene)
        found.extend(p.name for p in tmp_path.glob(".*/*"))

    save(scene, tmp_path / name, look)
    (folder, mode), *inside = found
    assert folder.name.startswith(".") and str(os.getpid()) not in folder.name and mode == 0o700
    assert sorted(inside) == ["lock", f"unfinished{Path(name).suffix}"]
    assert sorted(os.listdir(tmp_path)) == [name, "scene.usda"]


@KINDS
def test_results_have_the_permissions_of_new_files(scene, tmp_path, write, name):
    before = os.umask(0o027)
    try:
        write(scene, tmp_path / name)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640


def test_a_folder_that_refuses_is_reported(scene, tmp_path, monkeypatch):
    def refuse(*args, **more):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(OutputError, match=r"out\.usda: cannot be written: Permission denied"):
        save(scene, tmp_path / "out.usda")


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_exception_leaves_nothing(scene, tmp_path, error):
    def fail():
        raise error

    with pytest.raises(error):
        save(scene, tmp_path / "out.usdc", fail)
    assert os.listdir(tmp_path) == ["scene.usda"]


SAVES = """
import sys
from pxr import Usd
from omni.warp_core.usd.output_layer import OutputLayer
with OutputLayer(sys.argv[2], Usd.Stage.Open(sys.argv[1]), 0, 3, 24.0) as output:
    for frame in range(10**6):
        output.set("/Mesh", "heights", "double[]", [float(frame)] * 20000, frame)
        output._save()
        if frame == 3:
            print("saving", flush=True)
"""


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("name", ["out.usda", "out.usdc"])
def test_nothing_stays_of_a_process_that_died_while_saving(scene, tmp_path, name, number):
    """Whatever USD was at then; what the process itself could not remove goes with the next result."""
    for delay in range(4):
        command = [sys.executable, "-c", SAVES, str(scene), str(tmp_path / name)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout.readline() == "saving\n"
            time.sleep(delay * 0.004)
            process.send_signal(number)
        assert (number == signal.SIGKILL) == bool(list(tmp_path.glob(".omni-warp-*")))
        save(scene, tmp_path / "next.usda")
        assert sorted(os.listdir(tmp_path)) == ["next.usda", "scene.usda"]
