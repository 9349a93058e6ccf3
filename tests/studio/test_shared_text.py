"""Texts that several pages change: changes as the page sends them, and that nothing typed is lost, also if it waits."""

import random

import pytest

from omni.warp_core.studio.shared_text import MOST_KEPT, SharedText, Update, changed
from tests.studio_scenes import LIFT, write_scene
from tests.studio_server import Client, running

NODE, VERTICES = "/Graph/lift", "/Sheet\nvertices"
TICK = 1 / 24
WAITS = f"import os\n{LIFT}"  # a text that does not run by itself


def units(text):
    """A text as the list of its UTF-16 units, which JavaScript counts."""
    data = text.encode("utf-16-le")
    return [data[at : at + 2] for at in range(0, len(data), 2)]


@pytest.mark.parametrize("seed", range(50))
def test_a_change_does_what_the_editor_says(seed):
    rng = random.Random(seed)
    letters = "ab é🌊\n"
    text = "".join(rng.choices(letters, k=rng.randrange(30)))
    change, wanted, rest = [], [], list(text)
    while rest:
        count = rng.randint(1, len(rest))
        part, rest = "".join(rest[:count]), rest[count:]
        if rng.random() < 0.5:
            change.append(len(units(part)))
            wanted += units(part)
        else:
            lines = rng.choices(["", "x", "🌊"], k=rng.randrange(3))
            change.append([len(units(part)), *lines])
            for number, line in enumerate(lines):
                wanted += units("\n" if number else "") + units(line)
    assert units(changed(text, change)) == wanted


@pytest.mark.parametrize("change", [[], [4], [2, [2]], [-1, 4], [[-1], 4], [3, 3], [[3, "x"]] * 2, [1, [3]]])
def test_a_change_of_another_text_is_refused(change):
    with pytest.raises(ValueError, match=r"another text|negative"):
        changed("abc", change)


def test_updates_that_a_page_missed_are_known_for_some_time():
    shared = SharedText("a\r\nb")
    for number in range(MOST_KEPT + 5):
        shared.add([Update("p", [number])], str(number))
    assert shared.text == str(MOST_KEPT + 4) and shared.since(shared.revision) == []
    assert [u.change for u in shared.since(shared.revision - 2)] == [[MOST_KEPT + 3], [MOST_KEPT + 4]]
    assert len(shared.since(5)) == MOST_KEPT
    assert shared.since(4) is None and shared.since(shared.revision + 1) is None


# With a server.


@pytest.fixture
def studio(tmp_path):
    with running(write_scene(tmp_path / "scene.usda"), tmp_path / "settings") as studio:
        yield studio


@pytest.fixture
def client(studio):
    client = Client(studio)
    client.trust()
    client.wait(lambda: client.kernels.get(NODE))
    yield client
    client.close()


def near(client, wanted):
    return lambda: client.arrays[VERTICES][0, 1] == pytest.approx(wanted, abs=1e-6)


def write(client, text, wanted=""):
    """Replace the text of the node, and wait until it is told."""
    rev = client.kernels[NODE]["rev"] + 1
    client.send("code", node=NODE, text=text)
    return client.wait(lambda: client.kernels[NODE]["rev"] == rev and client.kernels[NODE])


def text_of(client):
    """The text of the scene's node, as the pages get it."""
    return client.node("lift")["code"]


def push(client, rev, *changes, epoch=0):
    client.send("type", node=NODE, epoch=epoch, rev=rev, client="p", changes=list(changes))


def test_changes_of_an_older_text_are_not_taken(studio, client):
    other = Client(studio)
    other.wait(lambda: other.latest.get("doc"))
    length = len(LIFT)
    push(client, 0, [[0, "# a", ""], length], [4, [0, "# b", ""], length])
    typed = other.wait(lambda: other.latest.get("typed"))
    assert typed["rev"] == 0 and [u["client"] for u in typed["updates"]] == ["p", "p"]
    push(other, 0, [[0, "# late", ""], length])  # it has not seen the text of the first one
    push(other, 1, [4, [0, "# late", ""], length])
    push(other, 2, [length + 8, [0, "# c", ""]], epoch=7)
    push(other, 2, [length + 8, [0, "# c", ""]])
    client.wait(lambda: text_of(client) == f"# a\n# b\n{LIFT}# c\n")
    client.wait(lambda: [m["rev"] for m in client.messages if m["is"] == "typed"] == [0, 2])
    other.close()


def test_changes_that_make_no_sense_are_told_and_the_page_gets_the_text(client):
    for change in ([3], "x", [None], [[0, 1]], [{}], [["x"]]):
        before = len(client.messages)
        push(client, 0, change)
        client.wait(lambda: {m["is"] for m in client.messages[before:]} >= {"refused", "text"})
        found = client.latest["text"]
        assert (found["text"], found["rev"], found["drops"]) == (LIFT, 0, True)
    write(client, LIFT.replace("height + time", "7.0"))
    client.wait(near(client, 7.0))


def test_a_page_that_was_away_gets_what_it_missed(studio, client):
    for number in range(3):
        write(client, f"# {number}\n{LIFT}")
    for known, wanted in ((1, ("typed", 1, 2)), (9, ("text", 3, None)), (3, None)):
        other = Client(studio, epoch=0, texts={NODE: known})
        other.wait(lambda: other.kernels.get(NODE))
        found = [m for m in other.messages if m["is"] in ("text", "typed")]
        assert [(m["is"], m["rev"], len(m["updates"]) if "updates" in m else None) for m in found] == (
            [wanted] if wanted else []
        )
        other.close()
    other = Client(studio, epoch=5, texts={NODE: 3})
    assert other.wait(lambda: other.latest.get("text"))["text"] == f"# 2\n{LIFT}"
    other.close()


def test_a_text_that_waits_is_kept_by_everything_that_keeps_edits(client, studio, tmp_path):
    scene = tmp_path / "scene.usda"
    assert "imports os" in write(client, WAITS)["waits"]
    start = len(client.messages)
    assert client.latest["doc"]["edited"] and text_of(client) == WAITS
    client.edit({"do": "add", "graph": "/Graph", "type": "omni.graph.nodes.ReadTime", "name": "t"})
    client.wait(lambda: client.node("t"))
    client.send("seek", frame=5)
    client.wait(near(client, 0.5 + 5 * TICK))  # the last good text runs on, and the user is not asked
    assert not [m for m in client.messages[start:] if m["is"] == "consent" and m["codes"]]
    scene.write_text(scene.read_text() + '\ndef Xform "Other"\n{\n}\n')
    client.wait(lambda: client.latest["disk"]["changed"])  # and not taken in place of the text
    client.send("keep")
    studio.kill()
    with running(scene, tmp_path / "settings") as again:
        other = Client(again)
        assert other.wait(lambda: other.latest.get("recover"))["old"]
        other.send("recover", take=True)
        other.wait(lambda: other.node("lift")["code"] == WAITS and other.node("t"))
        other.close()


def test_a_text_that_waits_comes_back_after_a_crash_of_the_server(client, studio, tmp_path):
    write(client, WAITS)
    studio.kill()
    scene = tmp_path / "scene.usda"
    with running(scene, tmp_path / "settings") as again:
        other = Client(again)
        other.wait(lambda: other.latest.get("recover"))
        other.send("recover", take=True)
        other.wait(lambda: other.node("lift")["code"] == WAITS)
        asked = lambda: [code["text"] for code in other.latest.get("consent", {}).get("codes", ())]  # noqa: E731
        other.wait(lambda: asked() == [WAITS])  # it has never run
        other.save()
        other.close()
    assert "import os" in scene.read_text()


def test_a_text_that_waits_follows_its_node(client, tmp_path):
    write(client, WAITS)
    client.edit({"do": "rename", "node": NODE, "name": "raise"})
    client.wait(lambda: client.node("raise"))
    assert client.latest["renamed"] == {"is": "renamed", "node": NODE, "to": "/Graph/raise"}
    client.send("seek", frame=3)
    client.wait(near(client, 0.5 + 3 * TICK))
    client.send("code", node="/Graph/raise", text=LIFT.replace("height + time", "6.0"))
    client.wait(near(client, 6.0))
    client.send("code", node="/Graph/raise", text=WAITS)
    client.wait(lambda: client.kernels["/Graph/raise"]["waits"])
    client.edit({"do": "delete", "nodes": ["/Graph/raise"]})
    client.wait(lambda: not client.node("raise"))
    client.save()
    assert "import os" not in (tmp_path / "scene.usda").read_text()
    client.send("undo")
    client.wait(lambda: client.node("raise"))
    client.save()
    assert "import os" in (tmp_path / "scene.usda").read_text()


def test_undo_brings_no_text_to_run_that_never_ran(client):
    harm = WAITS.replace("height + time", "9.0")
    write(client, harm)
    client.edit({"do": "set", "path": f"{NODE}.inputs:height", "value": 1.0})
    client.wait(near(client, 1.0 + TICK))
    write(client, LIFT.replace("height + time", "7.0"))
    client.wait(near(client, 7.0))
    client.send("undo")
    client.wait(lambda: text_of(client) == harm and client.kernels[NODE]["waits"])
    client.send("seek", frame=4)
    client.wait(lambda: client.frames[-1]["frame"] == 4)
    assert near(client, 7.0)()
    client.send("type", node=NODE, epoch=0, rev=client.kernels[NODE]["rev"], client="p", changes=[], run=True)
    client.wait(near(client, 9.0))


def test_a_text_that_crashed_does_not_run_again_when_the_graph_changes(client):
    engines = lambda: sum(m["is"] == "engine" and m["state"] == "starting" for m in client.messages)  # noqa: E731
    client.send("code", node=NODE, text=f"import os\nos._exit(3)\n{LIFT}", run=True)
    client.wait(lambda: client.kernels[NODE]["held"])
    client.wait(lambda: client.latest["engine"]["suspects"] == [NODE] and client.latest["engine"]["state"] == "ready")
    before = engines()
    client.edit({"do": "add", "graph": "/Graph", "type": "omni.graph.nodes.ReadTime", "name": "t"})
    for frame in (3, 4):
        client.send("seek", frame=frame)
        client.wait(near(client, 0.5 + frame * TICK))
    assert engines() == before and client.kernels[NODE]["held"]
    client.send("again")
    client.wait(lambda: engines() > before)


def test_every_letter_of_two_clients_arrives_once_and_in_its_order(studio, client):
    """Each sends its next letter for the newest text that it knows, and sends it again if it was not taken."""
    other = Client(studio)
    other.wait(lambda: other.latest.get("doc"))
    left = {"one": list("abcdefghij"), "two": list("ABCDEFGHIJ")}
    rev = 0
    while any(left.values()):
        for name, own in (("one", client), ("two", other)):
            if left[name]:
                change = [len(LIFT) + rev, [0, left[name][0]]]
                own.send("type", node=NODE, epoch=0, rev=rev, client=name, changes=[change])
        for own in (client, other):
            own.wait(lambda: own.latest.get("typed", {}).get("rev") == rev)
        [taken] = client.latest["typed"]["updates"]
        assert taken["changes"][1][1] == left[taken["client"]].pop(0)
        rev += 1
    client.wait(lambda: len(text_of(client)) == len(LIFT) + 20)
    typed = text_of(client).removeprefix(LIFT)
    assert "".join(filter(str.islower, typed)) == "abcdefghij" and "".join(filter(str.isupper, typed)) == "ABCDEFGHIJ"
    assert text_of(other) == text_of(client)
    other.close()


def test_a_text_that_waits_runs_by_no_other_action(client, tmp_path):
    canary = tmp_path / "canary"
    harm = f"open({str(canary)!r}, 'w').close()\n{LIFT}"
    write(client, harm)
    clock = {"do": "add", "graph": "/Graph", "type": "omni.graph.nodes.ReadTime", "name": "t"}

    def see(frame, wanted):
        client.send("seek", frame=frame)
        client.wait(near(client, wanted))
        assert not canary.exists()

    see(9, 0.5 + 9 * TICK)
    see(2, 0.5 + 2 * TICK)  # from the first frame on again
    client.edit(clock)
    see(5, 0.5 + 5 * TICK)
    client.edit({"do": "set", "path": f"{NODE}.inputs:height", "value": 1.0})
    see(1, 1.0 + TICK)
    client.edit({"do": "enable", "node": NODE, "on": False})
    client.edit({"do": "enable", "node": NODE, "on": True})
    see(4, 1.0 + 4 * TICK)
    for _ in range(3):
        client.send("undo")
    see(3, 0.5 + 3 * TICK)
    for what in ("redo", "redo", "redo", "again"):
        client.send(what)
    see(6, 1.0 + 6 * TICK)
    client.edit({"do": "set", "path": f"{NODE}.inputs:codeStr", "value": f"# x\n{harm}"})
    client.wait(lambda: "# x" in text_of(client))
    see(7, 1.0 + 7 * TICK)
    client.send("param", path=f"{NODE}.inputs:codeStr", value=f"# y\n{harm}")
    see(8, 1.0 + 8 * TICK)
    client.edit({"do": "duplicate", "graph": "/Graph", "names": {NODE: "copy"}})
    client.wait(lambda: [code["node"] for code in client.latest["consent"]["codes"]] == ["/Graph/copy"])
    client.send("seek", frame=10)
    client.wait(lambda: client.frames[-1]["frame"] == 10)
    assert not canary.exists()
