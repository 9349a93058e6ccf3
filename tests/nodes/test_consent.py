"""Code in a scene: what a play reads, shows and runs of it before and after its user agrees."""

import hashlib
import os
import re

import pytest
from pxr import Sdf

from omni.warp_core import cli
from omni.warp_core.nodes.graph.node_graph import Log
from omni.warp_core.nodes.kernel import code_file
from omni.warp_core.nodes.play import console
from omni.warp_core.nodes.play.player import Player, Settings

CODE = "@wp.kernel\ndef k(y: wp.array(dtype=float)):\n    y[wp.tid()] = 3.0\n"
WRITE = """
def OmniGraphNode "write" {
    token node:type = "omni.graph.nodes.WritePrimAttribute"
    custom rel inputs:prim = </World/Mesh>
    custom token inputs:name = "scale"
    custom token inputs:value.connect = </G/kernel.outputs:y>
}
"""


def node_of(attributes, name="kernel"):
    return f"""
def OmniGraphNode "{name}" {{
    token node:type = "omni.warp_core.Kernel"
    {attributes}
    custom float outputs:y
}}
"""


def from_file(name):
    return node_of(f'custom token inputs:codeProvider = "file"\n    custom token inputs:codeFile = "{name}"')


@pytest.fixture
def scene_with(make_scene):
    """scene_with(text) -> path of a scene whose kernel node carries exactly this text."""

    def make(text):
        path = make_scene(node_of('custom string inputs:codeStr = ""') + WRITE)
        layer = Sdf.Layer.FindOrOpen(path)
        layer.GetAttributeAtPath("/G/kernel.inputs:codeStr").default = text
        layer.Save()
        return path

    return make


@pytest.fixture
def ask(tmp_path, capsys):
    """ask(scene) -> (exit code, what is printed) of a play without consent."""

    def call(scene):
        code = cli.main(["play", str(scene), "-o", str(tmp_path / "out.usdc")])
        captured = capsys.readouterr()
        assert not (tmp_path / "out.usdc").exists()
        return code, captured.out + captured.err

    return call


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_file_in_the_folder_is_shown_whole(make_scene, ask, tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "k.py").write_text(CODE)
    code, text = ask(make_scene(from_file("deep/k.py")))
    assert code == cli.CONSENT and "y[wp.tid()] = 3.0" in text and sha256(CODE) in text
    assert f"{len(CODE)} bytes" in text and str(tmp_path / "deep" / "k.py") in text


@pytest.mark.parametrize("how", ["absolute", "relative", "link", "link to folder"])
def test_a_file_outside_of_the_folder_is_listed_and_not_shown(make_scene, ask, tmp_path_factory, tmp_path, how):
    secret = "password = 'tulip'\n"
    outside = tmp_path_factory.mktemp("home")
    (outside / "secret").write_text(secret)
    os.symlink(outside / "secret", tmp_path / "link.py")
    os.symlink(outside, tmp_path / "folder")
    names = {
        "absolute": str(outside / "secret"),
        "relative": os.path.relpath(outside / "secret", tmp_path),
        "link": "link.py",
        "link to folder": "folder/secret",
    }
    code, text = ask(make_scene(from_file(names[how])))
    assert code == cli.CONSENT and "tulip" not in text and "password" not in text
    assert sha256(secret) in text and f"{len(secret)} bytes" in text and "outside of the scene's folder" in text


def test_a_scene_reached_by_a_link_shows_the_files_beside_it(make_scene, ask, tmp_path, tmp_path_factory):
    (tmp_path / "k.py").write_text(CODE)
    make_scene(from_file("k.py"))
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "folder"
    os.symlink(tmp_path, elsewhere)
    assert "y[wp.tid()] = 3.0" in ask(elsewhere / "scene.usda")[1]


def test_a_layer_elsewhere_shows_none_of_its_files(make_scene, ask, tmp_path, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "k.py").write_text(CODE)
    os.rename(make_scene(from_file("k.py")), other / "layer.usda")
    (tmp_path / "top.usda").write_text(
        f"#usda 1.0\n(\n subLayers = [@{other}/layer.usda@]\n startTimeCode=0\n endTimeCode=1\n)\n"
    )
    code, text = ask(tmp_path / "top.usda")
    assert code == cli.CONSENT and sha256(CODE) in text and "wp.tid()" not in text


def test_the_environment_of_the_process_is_not_shown(make_scene, ask, monkeypatch):
    if not os.path.exists("/proc/self/environ"):
        pytest.skip("there is no /proc")
    home = os.environ.get("PATH", "?")
    _, text = ask(make_scene(from_file("/proc/self/environ")))
    assert home not in text


def test_only_regular_files_are_read(make_scene, ask, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    os.symlink("/dev/zero", tmp_path / "zeros")
    for i, name in enumerate(("pipe", "folder", "zeros", "/dev/zero", "/dev/tty", ".", "/dev/full")):
        _, text = ask(make_scene(from_file(name), name=f"{i}.usda"))
        assert f"{name!r} cannot be read" in text and "/G/kernel" in text, text


def test_large_files_and_other_texts_are_refused(make_scene, ask, tmp_path):
    (tmp_path / "large").write_bytes(b"#" * (code_file.LIMIT + 1))
    (tmp_path / "limit").write_bytes(b"#" * code_file.LIMIT)
    (tmp_path / "binary").write_bytes(b"secret\x89PNG")
    assert f"it has more than {code_file.LIMIT} bytes" in ask(make_scene(from_file("large"), name="large.usda"))[1]
    assert ask(make_scene(from_file("limit"), name="limit.usda"))[0] == cli.CONSENT
    text = ask(make_scene(from_file("binary"), name="binary.usda"))[1]
    assert "it is not text in UTF-8" in text and "0x89" not in text


def test_what_was_shown_is_what_runs(make_scene, tmp_path):
    (tmp_path / "k.py").write_bytes(CODE.replace("\n", "\r\n").encode())
    player = Player.open(make_scene(from_file("k.py") + WRITE), Settings(), Log(emit=lambda text: None))
    assert [code.digest for code in player.codes] == [hashlib.sha256((tmp_path / "k.py").read_bytes()).hexdigest()]
    (tmp_path / "k.py").write_text("import os\nos._exit(9)\n")
    player.run(str(tmp_path / "out.usda"))
    layer = Sdf.Layer.FindOrOpen(str(tmp_path / "out.usda"))
    assert layer.QueryTimeSample("/World/Mesh.scale", 0) == 3.0


# -- the listing ------------------------------------------------------------------------------------------------------


def test_the_listing_counts_what_it_hides(scene_with, ask):
    body = CODE + "# " + "x" * 500 + "\n" + "#\n" * 40 + "import os\n"
    _, text = ask(scene_with(body))
    assert sha256(body) in text and "import os" not in text
    hidden = body.splitlines()[console.SHOWN_LINES :]
    assert f"... {len(hidden)} more lines of {sum(map(len, hidden))} characters are not shown" in text
    assert f"... {502 - console.SHOWN_COLUMNS} more characters are not shown" in text


@pytest.mark.parametrize(
    "character",
    [
        *"\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
        *"\u034f\u115f\u1160\u17b4\u180e\u2800\u3164\ufe0f\uffa0\U000e0020\U000e0101\u00a0\u2003\u2028\u2029\u0085",
        *"\x08\x0b\x0c\x1b\x1c\x7f\x9b\ue000\ufff9",
        *"\u0430\u0435\u0456\uff41\u2024\u0131",  # a, e, i, a, full stop, i: of other scripts
    ],
    ids=lambda c: f"U+{ord(c):04X}",
)
def test_the_listing_is_plain(scene_with, ask, character):
    _, text = ask(scene_with(f"{CODE}# be{character}fore\n"))
    code = ord(character)
    escape = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    assert f"   4 | # be{escape}fore\n" in text and character not in text
    assert "1 characters are shown as escapes" in text


def test_lines_are_those_of_python(scene_with, ask):
    _, text = ask(scene_with("a = 1\rb = 2\r\nc = 3\x0cd = 4\u2028e = 5\n"))
    shown = re.findall(r"^ +\d+ \| (.*)$", text, re.M)
    assert shown == ["a = 1", "b = 2", "c = 3\\x0cd = 4\\u2028e = 5"]


def test_messages_keep_letters_and_escape_what_cannot_be_seen():
    assert console.harmless("größe 長さ") == "größe 長さ"
    assert console.harmless("a\u200bb\u3164c\x9bd\ufeff") == "a\\u200bb\\u3164c\\x9bd\\ufeff"


def test_a_text_of_many_nodes_is_listed_once(make_scene, ask):
    nodes = "".join(node_of('custom string inputs:codeStr = "# same"', f"k{i}") for i in range(50))
    nodes += "".join(node_of(f'custom string inputs:codeStr = "# other {i} "', f"o{i}") for i in range(30))
    _, text = ask(make_scene(nodes))
    assert "in 80 nodes" in text and "/G/k0 and 49 more" in text and text.count("# same") == 1
    assert text.count("sha256") == 31 and text.count("1 more lines of") == 31 - console.SHOWN_TEXTS


@pytest.mark.parametrize(
    ("authored", "asks"),
    [("", False), ('custom string inputs:codeStr = ""', False), ('custom string inputs:codeStr = " "', True)],
)
def test_a_new_node_needs_no_consent_and_any_other_text_does(make_scene, tmp_path, authored, asks):
    """A new node has the text of its description, which runs nothing of the scene."""
    code = cli.main(["play", make_scene(node_of(authored)), "-o", str(tmp_path / "out.usdc")])
    assert (code == cli.CONSENT) == asks
