"""Texture Write: files for each frame, named by the shaders that show the texture."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from pxr import Usd

from omni.warp_core.nodes.library import texture_write
from omni.warp_core.nodes.play.player import Player, Settings
from omni.warp_core.usd.output_layer import OutputError

SHADER = """
def Shader "Image"
{
    uniform token info:id = "UsdUVTexture"
    asset inputs:file = @dynamic://sky@
    asset inputs:other = @dynamic://ground@
}
"""
GRAPH = """
def OmniGraph "G"
{
    token evaluator:type = "push"
    def OmniGraphNode "write"
    {
        token node:type = "omni.warp_core.TextureWrite"
        custom string inputs:uri = "dynamic://sky"
        custom color4f[] inputs:data.timeSamples = {
            0: [(0, 0.25, 1, 1), (2, -1, 0.5, 0.5), (0.001, 0.01, 0.1, 0),
                (1, 1, 1, 1), (0, 0, 0, 1), (0.2, 0.4, 0.6, 1)],
            1: [(1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1), (0, 0, 0, 0)]
        }
        custom int inputs:dim1 = 2
        custom int inputs:dim2 = 3
    }
}
"""


def scene(tmp_path, shader=SHADER, graph=GRAPH):
    path = tmp_path / "scene.usda"
    path.write_text(f"#usda 1.0\n(\n startTimeCode = 0\n endTimeCode = 1\n)\n{shader}\n{graph}")
    return str(path)


def srgb(linear):
    """The curve of IEC 61966-2-1, number by number."""
    x = min(max(linear, 0.0), 1.0)
    return round(255 * (12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055))


def test_each_frame_has_a_file_that_the_shader_names(tmp_path):
    player = Player.open(scene(tmp_path), Settings())
    outcome = player.run(str(tmp_path / "out.usda"))
    assert not player.host.log.errors and not player.host.log.warnings and len(outcome.files) == 2
    stage = Usd.Stage.Open(str(tmp_path / "out.usda"))
    file = stage.GetAttributeAtPath("/Image.inputs:file")
    assert [file.Get(frame).path for frame in (0, 1)] == ["./out.sky.0000.png", "./out.sky.0001.png"]
    assert stage.GetAttributeAtPath("/Image.inputs:other").Get(1).path == "dynamic://ground"
    found = np.asarray(Image.open(file.Get(0).resolvedPath))
    assert found.shape == (2, 3, 4)
    assert found[0, 0].tolist() == [srgb(0), srgb(0.25), 255, 255]
    assert found[0, 1].tolist() == [255, 0, srgb(0.5), round(255 * 0.5)]
    assert found[0, 2].tolist() == [srgb(0.001), srgb(0.01), srgb(0.1), 0]
    assert found[1, 2].tolist() == [srgb(0.2), srgb(0.4), srgb(0.6), 255]
    assert np.asarray(Image.open(file.Get(1).resolvedPath))[1, 2].tolist() == [0, 0, 0, 0]


def test_a_texture_that_nothing_shows_is_told_and_written(tmp_path):
    player = Player.open(scene(tmp_path, shader=""), Settings())
    player.run(str(tmp_path / "out.usda"))
    (warning,) = player.host.log.warnings
    assert "@dynamic://sky@" in warning
    assert sorted(p.name for p in tmp_path.glob("*.png")) == ["out.sky.0000.png", "out.sky.0001.png"]


def test_files_go_again_if_the_play_fails(tmp_path, monkeypatch):
    player = Player.open(scene(tmp_path), Settings())
    with pytest.raises(ZeroDivisionError):
        player.run(str(tmp_path / "out.usda"), lambda frame: frame and 1 / 0)
    assert [p.name for p in tmp_path.iterdir()] == ["scene.usda"]


def test_a_file_that_cannot_be_written_ends_the_play(tmp_path):
    (tmp_path / "out.sky.0000.png").mkdir()
    player = Player.open(scene(tmp_path), Settings())
    with pytest.raises(OutputError, match=r"out\.sky\.0000\.png"):
        player.run(str(tmp_path / "out.usda"))


@pytest.mark.parametrize("name", ["../../etc/x", "", "a/b", ".hidden", "a" * 101])
def test_a_name_is_not_a_path(lone, name):
    node = lone("TextureWrite")
    error = node.error(data=np.ones((1, 4)), dim1=1, dim2=1, uri=f"dynamic://{name}")
    assert "inputs:uri" in error and "letters" in error


def test_sizes_are_checked(lone):
    node = lone("TextureWrite")
    assert "has 6 colors for 2 x 4 pixels" in node.error(data=np.ones((6, 4)), dim1=2, dim2=4, uri="dynamic://a")
    assert "inputs:dimCount is 5" in node.error(dimCount=5)
    assert "inputs:uri is '/etc/passwd'" in node.error(dimCount=2, dim2=3, uri="/etc/passwd")


def test_kit_gets_the_bytes_of_the_texture(monkeypatch):
    """The methods are those of the public description of omni.ui.ByteImageProvider."""
    given = []

    class Provider:
        def __init__(self, name):
            self.name = name

        def set_bytes_data(self, data, sizes):
            given.append((self.name, bytes(data), sizes))

    ui = ModuleType("omni.ui")
    ui.DynamicTextureProvider = Provider
    monkeypatch.setitem(sys.modules, "omni.ui", ui)
    inputs = SimpleNamespace(uri="dynamic://a", data=np.ones((6, 4)), dimCount=2, dim1=2, dim2=3, dim3=0, dim4=0)
    texture_write.write(SimpleNamespace(inputs=inputs, per_instance_state=texture_write.TextureState()))
    assert given == [("a", b"\xff" * 24, [3, 2])]
