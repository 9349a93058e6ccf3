"""The server of the studio with a client in Python: refusals, consent, edits, frames, crashes. A real process each."""

import contextlib
import http.client
import json

import httpx
import numpy as np
import pytest
from pxr import Usd
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import omni.warp_core as wp
from tests.studio_scenes import LIFT, REST, write_scene
from tests.studio_server import Client, running

NODE = "/Graph/lift"
VERTICES = "/Sheet\nvertices"
SECRET = "a-word-of-the-scene"


@pytest.fixture
def scene(tmp_path):
    return write_scene(tmp_path / "scene.usda", f"# {SECRET}\n{LIFT}")


@pytest.fixture
def studio(scene, tmp_path):
    with running(scene, tmp_path / "settings") as studio:
        yield studio


@pytest.fixture
def client(studio):
    client = Client(studio)
    yield client
    client.close()


@pytest.fixture
def trusted(client):
    client.trust()
    client.wait(lambda: client.kernels.get(NODE))
    return client


def height(client):
    return float(client.arrays[VERTICES][0, 1]) if VERTICES in client.arrays else None


def near(client, wanted):
    return lambda: height(client) == pytest.approx(wanted, abs=1e-6)


def waits_for_consent(client, node):
    """A predicate: True once a frame reports that the code of `node` waits; before the first report it is False."""
    return lambda: "waits for your consent" in client.latest.get("stats", {"failed": {}})["failed"].get(node, "")


def code(client, text, run=False):
    rev = client.wait(lambda: client.kernels.get(NODE))["rev"] + 1  # a frame may come before the report of its kernel
    client.send("code", node=NODE, text=text, run=run)
    return client.wait(lambda: client.kernels[NODE]["rev"] == rev and client.kernels[NODE])


# Who may ask.


def ask(studio, path="/", **headers):
    """An answer to a request with exactly these headers."""
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=30)
    connection.putrequest("GET", path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    with contextlib.closing(connection), connection.getresponse() as answer:
        return answer.status, answer.read(), answer.headers


def test_other_hosts_and_origins_are_refused(studio):
    own = f"127.0.0.1:{studio.port}"
    for host in (
        "evil.example",
        "evil.example:80",
        f"127.0.0.1.evil.example:{studio.port}",
        f"10.0.0.1:{studio.port}",
        "",
    ):
        assert ask(studio, Host=host)[:2] == (403, b"")
    for origin in (
        "http://evil.example",
        "null",
        "",
        f"https://{own}",
        f"http://localhost:{studio.port}",
        f"http://{own}/",
    ):
        for path in ("/", "/frames?page=x"):
            assert ask(studio, path, Host=own, Origin=origin)[:2] == (403, b""), origin
        with pytest.raises(InvalidStatus) as refused, connect(f"ws://{own}/ws", origin=origin):
            pass
        assert refused.value.response.status_code == 403 and SECRET.encode() not in refused.value.response.body
    for name in ("localhost", "[::1]", "127.0.0.1"):  # through a tunnel, the port is another one
        assert ask(studio, Host=f"{name}:1234", Origin=f"http://{name}:1234")[0] in (200, 503)


def test_answers_carry_the_headers_that_browsers_need(studio):
    _, _, headers = ask(studio, Host=f"127.0.0.1:{studio.port}")
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy and "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "greeting",
    [
        '{"is": "hello"}',
        '{"is": "hello", "token": "x"}',
        '{"is": "hello", "token": null}',
        "[]",
        "no JSON",
        '"é"',
        "[" * 99999,
    ],
    ids=lambda text: text[:30],
)
def test_nothing_of_the_scene_comes_without_the_token(studio, greeting):
    with connect(studio.address.replace("http", "ws") + "ws") as socket:
        socket.send(greeting)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=30)
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1008


def test_frames_need_the_token_and_a_page(studio, client):
    page = client.wait(lambda: client.latest.get("hello"))["page"]
    for url, header in (
        (f"frames?page={page}", None),
        (f"frames?page={page}", "Bearer x"),
        (f"frames?page={page}", studio.token),
        (f"frames?page={page}&token={studio.token}", None),
        ("frames?page=x", f"Bearer {studio.token}"),
        ("frames", f"Bearer {studio.token}"),
    ):
        answer = httpx.get(studio.address + url, headers={"Authorization": header} if header else {})
        assert (answer.status_code, answer.content) == (403, b"")


def test_no_file_beside_the_page_is_served(studio):
    host = f"127.0.0.1:{studio.port}"
    for path in (
        "/scene.usda",
        "/assets/../app.py",
        "/assets/%2e%2e/app.py",
        "/..%2f..%2fetc/passwd",
        "/assets//etc/passwd",
    ):
        status, body, _ = ask(studio, path, Host=host)
        assert status == 404 and SECRET.encode() not in body


NONSENSE = [
    "no JSON",
    "[]",
    "[" * 99999,
    '{"is": "__init__"}',
    '{"is": "attach"}',
    '{"is": "seek"}',
    '{"is": "seek", "frame": "x"}',
    '{"is": "seek", "frame": NaN}',
    '{"is": "edit", "ops": 7}',
    '{"is": "edit", "ops": [7]}',
    '{"is": "edit", "ops": [{"do": 1, "node": "/Graph"}]}',
    '{"is": "trust", "digests": [[]]}',
    '{"is": "rows", "path": "/x.y", "count": -4}',
    '{"is": "param", "path": "/Graph/lift.inputs:height", "value": {}}',
    '{"is": "credit", "count": "x"}',
]


def test_messages_that_make_no_sense_are_told_and_the_server_goes_on(client):
    for text in NONSENSE:
        before = len(client.messages)
        client.socket.send(text)
        if "param" not in text:  # which the engine refuses, later
            client.wait(lambda: any(m["is"] in ("refused", "rows") for m in client.messages[before:]))
    client.trust()
    client.wait(near(client, 0.5 + 1 / 24))


# Consent, edits, frames.


def test_nothing_runs_before_consent_and_then_it_moves(studio, client, tmp_path):
    client.wait(lambda: VERTICES in client.arrays)
    np.testing.assert_array_equal(client.arrays[VERTICES], np.array(REST, np.float32))
    [asked] = client.wait(lambda: client.latest.get("consent"))["codes"]
    assert asked["node"] == NODE and SECRET in asked["text"] and not client.kernels
    client.send("code", node=NODE, text=LIFT, run=True)
    client.wait(lambda: "agree to run" in client.latest.get("refused", {}).get("text", ""))
    client.send("trust", digests=["0" * 64, asked["digest"][:-1]])
    client.send("seek", frame=3)
    client.wait(lambda: client.frames[-1]["frame"] == 3)
    assert height(client) == 0.0 and client.latest["consent"]["codes"]
    client.trust()
    client.wait(near(client, 0.5 + 3 / 24))


def test_code_with_side_effects_does_not_run_before_consent(tmp_path):
    canary = tmp_path / "canary"
    scene = write_scene(tmp_path / "scene.usda", f"open({str(canary)!r}, 'w').close()\n{LIFT}")
    with running(scene, tmp_path / "settings") as studio:
        client = Client(studio)
        client.wait(lambda: VERTICES in client.arrays)
        client.edit({"do": "add", "graph": "/Graph", "type": "omni.graph.nodes.ReadTime", "name": "t"})
        client.wait(lambda: client.node("t") and client.frames[-1]["stamp"] > 1)
        assert not canary.exists()
        client.trust()
        client.wait(canary.exists)
        client.close()


def test_one_text_runs_while_others_wait(tmp_path):
    canary = tmp_path / "canary"
    scene = write_scene(tmp_path / "scene.usda")
    other = write_scene(tmp_path / "other.usda", f"open({str(canary)!r}, 'w').close()\n{LIFT}").read_text()
    block = other[other.index('    def OmniGraphNode "lift"') : other.index('    def OmniGraphNode "write"')]
    text = scene.read_text()
    cut = text.index('    def OmniGraphNode "write"')
    scene.write_text(text[:cut] + block.replace('"lift"', '"second"') + text[cut:])
    with running(scene, tmp_path / "settings") as studio:
        client = Client(studio)
        codes = client.wait(lambda: client.latest.get("consent", {}).get("codes"))
        first, second = sorted(codes, key=lambda code: code["node"])
        client.send("trust", digests=[first["digest"]], partial=True)
        client.wait(near(client, 0.5 + 1 / 24))
        assert [c["node"] for c in client.latest["consent"]["codes"]] == ["/Graph/second"]
        client.wait(waits_for_consent(client, "/Graph/second"))
        client.edit({"do": "add", "graph": "/Graph", "type": "omni.graph.nodes.ReadTime", "name": "t"})
        client.send("seek", frame=3)
        client.wait(near(client, 0.5 + 3 / 24))
        assert not canary.exists()
        client.edit({"do": "duplicate", "graph": "/Graph", "names": {"/Graph/second": "third"}})
        client.wait(waits_for_consent(client, "/Graph/third"))
        client.send("seek", frame=5)
        client.wait(near(client, 0.5 + 5 / 24))
        assert not canary.exists(), "a copy of a text that waits, waits"
        client.send("trust", digests=[second["digest"]])
        client.wait(canary.exists)
        client.close()


def test_a_text_that_reads_a_file_is_agreed_to_once(tmp_path):
    (tmp_path / "table.txt").write_text("1 2 3")
    scene = write_scene(tmp_path / "scene.usda")
    held = "custom float inputs:height = 0.5"
    scene.write_text(scene.read_text().replace(held, held + '\n        custom string inputs:table:file = "table.txt"'))
    with running(scene, tmp_path / "settings") as studio:
        client = Client(studio)
        client.trust()
        client.wait(near(client, 0.5 + 1 / 24))
        start = len(client.messages)
        code(client, LIFT.replace("height + time", "height + 7.0"))
        client.wait(near(client, 7.5))
        client.edit({"do": "add", "graph": "/Graph", "type": "omni.graph.nodes.ReadTime", "name": "t"})
        client.wait(lambda: client.node("t"))
        client.edit({"do": "set", "path": f"{NODE}.inputs:height", "value": 1.0})
        client.wait(near(client, 8.0))
        assert not [m for m in client.messages[start:] if m["is"] == "consent" and m["codes"]]
        client.close()


def test_remembered_consent_is_for_exactly_one_text(scene, tmp_path):
    settings = tmp_path / "settings"
    with running(scene, settings) as studio:
        client = Client(studio)
        client.trust(remember=True)
        client.close()
    with running(scene, settings) as studio:
        client = Client(studio)
        client.wait(near(client, 0.5 + 1 / 24))
        client.close()
    scene.write_text(scene.read_text().replace("height + time", "height - time"))
    with running(scene, settings) as studio:
        client = Client(studio)
        client.wait(lambda: client.latest.get("consent", {}).get("codes") and VERTICES in client.arrays)
        assert height(client) == 0.0
        client.close()


def test_a_changed_digit_changes_the_mesh(trusted):
    code(trusted, LIFT.replace("height + time", "height + 7.0"))
    trusted.wait(near(trusted, 7.5))
    assert trusted.latest["doc"]["edited"] and "7.0" in trusted.node("lift")["code"]
    trusted.send("undo")
    trusted.wait(near(trusted, 0.5 + 1 / 24))


def test_a_mistake_is_told_with_its_place_while_the_last_good_text_runs(trusted):
    bad = "# é 🌊\n" + LIFT.replace("height + time", "wp.sqroot(height)")
    code(trusted, bad)
    found = trusted.wait(lambda: trusted.kernels[NODE]["diagnostics"])[0]
    line = bad.splitlines()[found["line"] - 1]
    assert line[found["column"] - 1 : found["endColumn"] - 1] == "wp.sqroot" and "sqrt" in str(found["candidates"])
    trusted.send("seek", frame=4)
    trusted.wait(near(trusted, 0.5 + 4 / 24))
    code(trusted, bad.replace("sqroot", "sqrt"))
    trusted.wait(near(trusted, 0.5**0.5))
    assert trusted.wait(lambda: not trusted.kernels[NODE]["diagnostics"])


def test_a_typed_text_that_could_do_harm_waits_for_the_user(trusted, tmp_path):
    canary = tmp_path / "canary"
    text = f"open({str(canary)!r}, 'w').close()\n" + LIFT.replace("height + time", "3.0")
    assert "line 1 runs a statement" in code(trusted, text)["waits"]
    trusted.send("seek", frame=5)
    trusted.wait(near(trusted, 0.5 + 5 / 24))
    assert not canary.exists()
    code(trusted, text, run=True)
    trusted.wait(near(trusted, 3.0))
    assert canary.exists()


def test_a_new_parameter_makes_a_port_with_a_slider(trusted):
    code(trusted, LIFT.replace("height: float", "height: float, gain: float").replace("height + time", "gain + height"))
    port = trusted.wait(lambda: next((p for p in trusted.node("lift")["ports"] if p["name"] == "inputs:gain"), None))
    assert port["type"] == "float" and port["added"]
    trusted.wait(near(trusted, 0.5))
    for value in (1.0, 2.0, 3.0):
        trusted.send("param", path=f"{NODE}.inputs:gain", value=value)
    trusted.wait(near(trusted, 3.5))
    trusted.edit({"do": "set", "path": f"{NODE}.inputs:gain", "value": 3.0})
    trusted.wait(lambda: trusted.latest["doc"]["undo"] == "edit")
    trusted.send("undo")
    trusted.wait(near(trusted, 0.5))


def near_top(points, wanted):
    return points is not None and abs(points[:, 1].max() - wanted) < 1e-6


OVER = """@wp.kernel
def lift(mesh_points: wp.array[wp.vec3], height: float):
    i = wp.tid()
    mesh_points[i] += wp.vec3(0.0, height, 0.0)
"""


def test_members_of_a_bundle_are_parameters_once_it_is_connected(trusted):
    graph = {"do": "add", "graph": "/Graph"}
    trusted.edit(
        {**graph, "type": "omni.warp_core.GridCreate", "name": "grid"},
        {**graph, "type": "omni.graph.nodes.WritePrimsV2", "name": "out"},
        {"do": "set", "path": "/Graph/out.inputs:prims", "value": ["/Out"]},
    )
    code(trusted, OVER)
    trusted.wait(lambda: trusted.kernels[NODE]["diagnostics"])  # nothing says how many threads there are
    trusted.edit({"do": "connect", "source": "/Graph/grid.outputs:mesh", "target": f"{NODE}.inputs:mesh"})
    trusted.wait(lambda: [p for p in trusted.node("lift")["ports"] if p["name"] == "outputs:mesh"])
    trusted.edit({"do": "connect", "source": f"{NODE}.outputs:mesh", "target": "/Graph/out.inputs:primsBundle"})
    trusted.wait(lambda: near_top(trusted.arrays.get(VERTICES.replace("Sheet", "Out")), 0.5))
    removed = trusted.wait(lambda: trusted.kernels[NODE]["removed"])
    assert set(removed) == {"inputs:points", "inputs:time", "outputs:lifted"}


def test_a_failure_is_told_as_long_as_the_node_fails(trusted):
    def messages():
        return [line for line in trusted.latest.get("log", {"lines": []})["lines"] if line.startswith(NODE)]

    trusted.edit({"do": "disconnect", "target": f"{NODE}.inputs:points"})
    trusted.wait(messages)
    trusted.edit({"do": "connect", "source": "/Graph/read.outputs:value", "target": f"{NODE}.inputs:points"})
    trusted.wait(lambda: not messages())


def test_a_parameter_typed_letter_by_letter_asks_for_nothing_and_adds_one_port(trusted):
    start = len(trusted.messages)
    before, after = LIFT.split("lifted: wp")
    code(trusted, f"{before}glifted: wp{after}")  # a parameter of another name, and a mistake in the body
    trusted.wait(lambda: trusted.kernels[NODE]["diagnostics"])
    for length in range(2, len("gain: float, ") + 1):
        code(trusted, f"{before}{'gain: float, '[:length]}lifted: wp{after}")
    trusted.wait(lambda: [p for p in trusted.node("lift")["ports"] if p["name"] == "inputs:gain"])
    added = [p["name"] for p in trusted.node("lift")["ports"] if p["added"]]
    assert "inputs:gain" in added and not [name for name in added if "glifted" in name]
    code(trusted, f"{before}gain: float, lifted: wp{after}".replace("height + time", "gain + 4.0"))
    trusted.wait(near(trusted, 4.0))
    assert not [m for m in trusted.messages[start:] if m["is"] == "consent" and m["codes"]]


def test_a_save_remembers_typed_texts_alone(scene, tmp_path):
    """The user agreed to the other ones for this time."""
    settings = tmp_path / "settings"

    def edited(change):
        with running(scene, settings) as studio:
            client = Client(studio)
            asked = client.wait(lambda: client.latest.get("consent"))["codes"]
            if asked:
                client.trust()
            change(client)
            client.save()
            if change is type_text:
                client.wait((settings / "consented-code").exists)
            client.close()
        return bool(asked)

    def type_text(client):
        client.wait(lambda: client.kernels.get(NODE))
        code(client, LIFT.replace("height + time", "height + 7.0"))
        client.wait(near(client, 9.5))

    assert edited(lambda client: client.edit({"do": "set", "path": f"{NODE}.inputs:height", "value": 2.5}))
    assert edited(type_text)
    assert not edited(lambda client: client.wait(near(client, 9.5)))


def test_frames_are_those_of_a_play(scene, trusted):
    stage = Usd.Stage.Open(str(scene))
    wanted = {}
    with wp.usd.play(stage, trust=True) as player:
        for frame in range(1, 25):
            player.step()
            wanted[frame] = np.asarray(player.get("/Sheet.points"), np.float32)
    trusted.send("timeline", loop=False, speed=16.0)
    trusted.send("play")
    trusted.wait(lambda: trusted.latest["timeline"]["cached"] == [[1, 24]])
    assert trusted.wait(lambda: not trusted.latest["timeline"]["playing"]) and trusted.latest["timeline"]["exact"]
    for frame in (7, 24, 1, 12):
        trusted.send("seek", frame=frame)
        trusted.wait(lambda: trusted.frames[-1]["frame"] == frame)
        np.testing.assert_array_equal(trusted.arrays[VERTICES], wanted[frame])


def test_without_credits_nothing_is_evaluated(studio, client):
    client.trust()
    client.wait(near(client, 0.5 + 1 / 24))
    client.close()
    with connect(studio.address.replace("http", "ws") + "ws", max_size=None) as socket:
        socket.send(json.dumps({"is": "hello", "token": studio.token}))
        socket.send(json.dumps({"is": "seek", "frame": 9}))
        socket.send(json.dumps({"is": "rows", "path": f"{NODE}.outputs:lifted", "first": 0, "count": 1}))
        rows = None
        while rows is None:
            message = json.loads(socket.recv(timeout=60))
            rows = message if message["is"] == "rows" else None
    assert rows["rows"][0][1] == pytest.approx(0.5 + 1 / 24) and rows["total"] == 9


def test_an_edit_of_one_page_shows_in_the_other(studio, trusted):
    other = Client(studio)
    other.wait(near(other, 0.5 + 1 / 24))
    trusted.edit({"do": "set", "path": f"{NODE}.inputs:height", "value": 4.0})
    other.wait(near(other, 4 + 1 / 24))
    value = next(p["value"] for p in other.node("lift")["ports"] if p["name"] == "inputs:height")
    assert value == 4.0
    other.close()


# Trouble.

ENDLESS = LIFT.replace("    i = wp.tid()", "    i = wp.tid()\n    while height < 100.0:\n        i += 0")
LEAVES = "import os\nos._exit(3)\n" + LIFT


def test_an_endless_kernel_can_be_stopped_and_edited(trusted):
    code(trusted, ENDLESS)
    trusted.wait(lambda: trusted.latest["engine"]["state"] == "busy")
    trusted.send("stop")
    trusted.wait(
        lambda: trusted.latest["engine"]["suspects"] == [NODE] and trusted.latest["engine"]["state"] != "starting"
    )
    assert "was stopped" in trusted.wait(lambda: trusted.kernels[NODE]["waits"])
    code(trusted, LIFT.replace("height + time", "9.0"))
    trusted.wait(near(trusted, 9.0))


def test_a_text_that_ends_the_engine_is_held_back_until_it_is_changed(trusted):
    code(trusted, LEAVES, run=True)
    engine = trusted.wait(lambda: trusted.latest["engine"]["suspects"] and trusted.latest["engine"])
    assert engine["suspects"] == [NODE]
    assert "ended the engine" in trusted.wait(lambda: trusted.kernels[NODE]["waits"])
    trusted.send("seek", frame=6)
    trusted.wait(near(trusted, 0.5 + 6 / 24))  # the last good text
    code(trusted, LIFT.replace("height + time", "8.0"))
    trusted.wait(near(trusted, 8.0))


def test_unsaved_edits_come_back_after_the_server_was_killed(scene, tmp_path):
    settings = tmp_path / "settings"
    with running(scene, settings) as studio:
        client = Client(studio)
        client.trust(remember=True)
        client.edit({"do": "set", "path": f"{NODE}.inputs:height", "value": 6.0})
        client.wait(near(client, 6 + 1 / 24))
        studio.kill()
    with running(scene, settings) as studio:
        client = Client(studio)
        assert client.wait(lambda: client.latest.get("recover"))["count"] == 1
        client.send("recover", take=True)
        client.wait(lambda: near(client, 6 + 1 / 24)() and client.latest["doc"]["edited"])
        client.save()
        client.close()
    with running(scene, settings) as studio:
        client = Client(studio)
        client.wait(near(client, 6 + 1 / 24))
        assert "recover" not in client.latest
        client.close()


def test_a_file_that_changes_on_disk_is_read_again_or_asked_about(scene, trusted):
    scene.write_text(scene.read_text().replace("inputs:height = 0.5", "inputs:height = 2"))
    trusted.wait(near(trusted, 2 + 1 / 24))
    trusted.edit({"do": "set", "path": f"{NODE}.inputs:height", "value": 3.0})
    trusted.wait(near(trusted, 3 + 1 / 24))
    scene.write_text(scene.read_text().replace("inputs:height = 2", "inputs:height = 5"))
    trusted.wait(lambda: trusted.latest["disk"]["changed"])
    trusted.send("save")
    trusted.wait(lambda: "changed on disk" in trusted.latest.get("refused", {}).get("text", ""))
    trusted.send("reload")
    trusted.wait(near(trusted, 5 + 1 / 24))
    scene.write_text(scene.read_text().replace("height + time", "height + 30.0"))
    asked = trusted.wait(lambda: trusted.latest["consent"]["codes"])
    assert [c["node"] for c in asked] == [NODE] and "30.0" in asked[0]["text"]
    trusted.wait(near(trusted, 0.0))
    trusted.trust()
    trusted.wait(near(trusted, 35.0))


@pytest.mark.parametrize(("text", "code"), [("#usda 1.0\ndef {\n", 3), (None, 3), ("", 3)])
def test_scenes_that_cannot_be_read_are_told(tmp_path, text, code, capfd):
    from omni.warp_core import cli

    path = tmp_path / "scene.usda"
    if text is not None:
        path.write_text(text)
    assert cli.main(["studio", str(path), "--no-browser"]) == code
    assert str(path) in capfd.readouterr().err


@pytest.mark.parametrize("port", ["99999", "-1"])
def test_a_port_that_cannot_be_is_told(scene, port, capfd):
    from omni.warp_core import cli

    with pytest.raises(SystemExit, match="2"):
        cli.main(["studio", str(scene), "--no-browser", f"--port={port}"])
    assert f"{port} is no port" in capfd.readouterr().err


def test_a_scene_opens_at_its_first_frame(scene, tmp_path):
    """Which may lie before frame 1, or behind it."""
    for first in (-3, 0, 1001):
        text = scene.read_text().replace("startTimeCode = 1\n", f"startTimeCode = {first}\n")
        moved = tmp_path / f"from_{first}.usda"
        moved.write_text(text.replace("endTimeCode = 24", f"endTimeCode = {first + 9}"))
        with running(moved, tmp_path / "settings") as studio:
            client = Client(studio)
            client.wait(lambda: client.frames)
            assert client.frames[0]["frame"] == client.wait(lambda: client.latest.get("timeline"))["target"] == first
            client.close()


def test_modules_beside_the_scene_are_not_imported(tmp_path):
    """Python looks for modules in the folder where it starts, and a scene from elsewhere may bring some along."""
    canary = tmp_path / "canary"
    folder = tmp_path / "scene"
    folder.mkdir()
    for name in ("struct", "json", "socket", "numpy", "pxr", "omni"):
        (folder / f"{name}.py").write_text(f"open({str(canary)!r}, 'a').write('{name} ')\n")
    scene = write_scene(folder / "scene.usda")
    with running(scene, tmp_path / "settings", folder, is_fresh=True) as studio:
        client = Client(studio)
        client.trust()
        client.wait(lambda: VERTICES in client.arrays)
        client.send("bake")
        client.wait(lambda: client.latest.get("bake", {}).get("state") == "done")
        client.close()
    assert "Baked" in client.latest["bake"]["text"] and (folder / "scene_baked.usdc").exists()
    assert not canary.exists(), canary.read_text()
