"""Trouble that the page tells in a sentence, with nothing lost, in a real browser. tests/studio/test_bad_input.py has
the same for the server.
"""

import os
import resource
import signal
from pathlib import Path

from playwright.sync_api import expect
from pxr import Usd

from tests.studio_scenes import LIFT, write_scene

TICK = 1 / 24
ODD = """    def OmniGraphNode "odd"
    {
        token node:type = "nowhere.DoesNotExist"
    }

    def OmniGraphNode "strange"
    {
        token node:type = "omni.graph.nodes.ReadTime"
        custom opaque inputs:strange
    }

"""
# Ends after a number of steps that no compiler can guess; `height` sets it.
SLOW = LIFT.replace(
    "    lifted",
    """    left, chance = wp.int64(height * 1.0e7), wp.int64(1)
    while left > wp.int64(0):
        chance = chance * wp.int64(6364136223846793005) + wp.int64(1442695040888963407)
        left -= wp.int64(1) + ((chance >> wp.int64(62)) & wp.int64(1))
    lifted""",
).replace("height + time", "height + time + 0.0 * float(left)")


def set_height(tab, value):
    """Type a value of the parameter `height`."""
    tab.page.get_by_label("height, as a number").fill(str(value))
    tab.page.keyboard.press("Enter")


def test_types_and_references_that_are_not_there_are_told(start, open_tab, tmp_path):
    scene = write_scene(tmp_path / "scene.usda")
    text = scene.read_text().replace('    def OmniGraphNode "write"', ODD + '    def OmniGraphNode "write"')
    scene.write_text(text + '\ndef Xform "Lost" (references = @./missing.usda@)\n{\n}\n')
    tab = open_tab(start(scene))
    tab.run()
    tab.until_top(0.5 + TICK)
    expect(tab.node("odd")).to_contain_text("there is no node type 'nowhere.DoesNotExist'")
    expect(tab.node("odd").locator(".badge.error")).to_be_visible()
    assert tab.page.locator(".node .badge.error").count() == 1
    tab.page.locator(".log summary").click()
    expect(tab.page.locator(".log")).to_contain_text("missing.usda")
    expect(tab.page.locator(".log")).to_contain_text("nowhere.DoesNotExist")
    expect(tab.page.locator(".log")).to_contain_text("inputs:strange")


def test_a_graph_that_is_switched_off_says_so_and_is_switched_on(start, open_tab, tmp_path):
    scene = write_scene(tmp_path / "scene.usda")
    scene.write_text(scene.read_text().replace('"push"', '"push"\n    custom bool graph:enabled = 0'))
    tab = open_tab(start(scene))
    tab.page.get_by_role("button", name="Run now").click()
    told = tab.page.get_by_text("This graph is switched off: its nodes do not run.")
    expect(told).to_be_visible()
    assert tab.serious() == []
    tab.page.get_by_role("button", name="Switch on").click()
    expect(told).to_have_count(0)
    tab.until_top(0.5 + TICK)


def test_programs_that_are_not_edited_here_are_read_before_the_user_agrees(start, open_tab, tmp_path):
    text = "def compute(db):\n    db.outputs.radius = 2.0  # of a script\n"
    (tmp_path / "kern.py").write_text("# in a file\n@wp.kernel\ndef k(x: float, y: wp.array[float]):\n    y[0] = x\n")
    scene = tmp_path / "scripts.usda"
    scene.write_text(f"""#usda 1.0
def OmniGraph "Graph"
{{
    def OmniGraphNode "script"
    {{
        token node:type = "omni.warp_core.Script"
        custom string inputs:script = '''{text}'''
        custom double outputs:radius
    }}
    def OmniGraphNode "filed"
    {{
        token node:type = "omni.warp_core.Kernel"
        custom token inputs:codeProvider = "file"
        custom asset inputs:codeFile = @./kern.py@
        custom float inputs:x = 1
        custom float[] outputs:y
    }}
}}
""")
    tab = open_tab(start(scene))
    page = tab.page
    page.get_by_role("tab", name="script").click()
    expect(page.locator(".cm-content")).to_contain_text("# of a script")
    page.get_by_role("tab", name="filed").click()
    expect(page.locator(".cm-content")).to_contain_text("# in a file")
    expect(page.locator(".code .status")).to_contain_text("kern.py")
    assert page.locator(".cm-content").get_attribute("aria-readonly") == "true"
    assert tab.serious() == []
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_text("No Kernel node of this scene has a text to edit.")).to_be_visible()
    tab.node("script").click()
    field = page.get_by_label("script", exact=True)
    expect(field).to_have_value(text)
    field.press_sequentially("x = 1\n")
    tab.node("filed").click()
    expect(page.get_by_text("unsaved")).to_have_count(1)
    page.keyboard.press("Control+s")
    expect(page.get_by_text("unsaved")).to_have_count(0)
    stage = Usd.Stage.Open(str(scene))
    saved = stage.GetAttributeAtPath("/Graph/script.inputs:script").Get()
    assert saved.count("\n") == text.count("\n") + 1, "lines stay lines"
    expect(page.locator(".cm-content")).to_contain_text("x = 1")
    expect(page.get_by_text("Waits for your consent · inputs:script")).to_be_visible()


def test_values_that_mean_nothing_are_told(tab):
    set_height(tab, "tall")
    expect(tab.page.get_by_role("alert")).to_contain_text("height stays as it is: tall is no number.")
    expect(tab.page.get_by_label("height, as a number")).to_have_value("0.5")


def test_a_file_that_no_longer_parses_is_told_and_the_scene_stays(tab, scene):
    good = scene.read_text()
    scene.write_text("#usda 1.0\ndef {\n")
    expect(tab.page.get_by_role("alert")).to_contain_text("cannot be read")
    tab.page.get_by_role("button", name="A frame on").click()
    tab.until_top(0.5 + 2 * TICK)
    scene.write_text(good.replace("inputs:height = 0.5", "inputs:height = 2"))
    tab.until_top(2 + 2 * TICK)


def test_a_text_of_ten_megabytes_is_refused_where_it_is_pasted(tab):
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.editor.click()
    tab.page.evaluate("navigator.clipboard.writeText('#'.repeat(10_000_000))")
    tab.page.keyboard.press("Control+v")
    expect(tab.page.get_by_role("alert")).to_contain_text("more than 1048576 characters")
    tab.write(LIFT.replace("height + time", "7.0"))
    tab.until_top(7.0)


def test_numbers_that_are_typed_while_the_document_changes_stay(tab, studio, open_tab):
    field = tab.page.get_by_label("height, as a number")
    field.fill("4")
    tab.until_top(4 + TICK)  # the engine has it, the document does not yet
    other = open_tab(studio)
    other.write(LIFT.replace("height + time", "10.0 * height"))
    expect(tab.editor).to_contain_text("10.0 * height")
    expect(tab.page.get_by_role("button", name="Undo")).not_to_have_attribute("title", "set height")
    expect(field).to_have_value("4")
    tab.page.keyboard.press("Enter")
    tab.until_top(40.0)
    expect(tab.page.get_by_role("button", name="Undo")).to_have_attribute("title", "set height")
    expect(other.page.get_by_label("height, as a number")).to_have_value("4")
    expect(field).to_have_value("4")


def test_numbers_can_be_typed_key_by_key(tab):
    field = tab.page.get_by_label("height, as a number")
    for typed, value in (("-1.5", -1.5), ("2.50", 2.5), (".25e1", 2.5), ("1e-1", 0.1)):
        field.click()
        tab.page.keyboard.press("Control+a")
        tab.page.keyboard.type(typed)
        expect(field).to_have_value(typed)
        tab.page.keyboard.press("Enter")
        tab.until_top(value + TICK)
        expect(field).to_have_value(f"{value:g}")
    field.click()
    tab.page.keyboard.press("Control+a")
    tab.page.keyboard.type("1e")  # no number
    tab.page.keyboard.press("Enter")
    expect(field).to_have_value("0.1")
    tab.until_top(0.1 + TICK)


def test_a_slow_frame_leaves_the_page_at_work_and_comes_in_the_end(tab):
    tab.write(SLOW)
    tab.until_top(0.5 + TICK)
    set_height(tab, 4)
    tab.node("clock").click()
    expect(tab.page.get_by_label("Name of the node")).to_have_value("clock")
    expect(tab.page.get_by_role("button", name="Undo")).to_have_attribute("title", "set height")
    tab.until_top(4 + TICK)
    expect(tab.page.locator(".engine")).to_have_text("ready")


def test_a_frame_that_takes_minutes_can_be_edited_beside_and_stopped(tab, scene):
    tab.write(SLOW)
    tab.until_top(0.5 + TICK)
    set_height(tab, 1e6)
    expect(tab.page.get_by_role("button", name="Stop")).to_be_visible()
    tab.page.keyboard.press("Control+s")
    expect(tab.page.get_by_text("unsaved")).to_have_count(0)
    assert "left" in scene.read_text()
    tab.node("clock").click()
    expect(tab.page.get_by_label("Name of the node")).to_have_value("clock")
    tab.page.get_by_role("button", name="Stop").click()
    expect(tab.page.get_by_text("Stopped.", exact=True)).to_be_visible()
    tab.node("lift").click()
    set_height(tab, 3)
    tab.page.get_by_role("button", name="Run it again").click()
    tab.until_top(3 + TICK)


def test_a_second_studio_on_a_file_says_so(tab, scene, start, open_tab):
    other = open_tab(start(scene))
    expect(other.page.get_by_text("Another studio has this file open.")).to_be_visible()
    expect(tab.page.get_by_text("Another studio has this file open.")).to_have_count(0)
    set_height(tab, 4)
    tab.page.keyboard.press("Control+s")
    expect(other.page.get_by_text("The file has changed on disk, and was read again.")).to_be_visible()
    assert other.serious() == []


def test_a_disk_that_is_full_at_a_save_loses_nothing(tab, scene, studio):
    before = scene.read_text()
    set_height(tab, 6)
    tab.until_top(6 + TICK)
    server = studio.process.pid
    old = resource.prlimit(server, resource.RLIMIT_FSIZE, (64, resource.RLIM_INFINITY))
    tab.page.keyboard.press("Control+s")
    expect(tab.page.get_by_role("alert")).to_contain_text("cannot be written")
    expect(tab.page.get_by_role("alert")).to_contain_text("your edits are still here")
    assert scene.read_text() == before and os.listdir(scene.parent).count("scene.usda") == 1
    resource.prlimit(server, resource.RLIMIT_FSIZE, old)
    tab.page.keyboard.press("Control+s")
    expect(tab.page.get_by_text("unsaved")).to_have_count(0)
    assert "inputs:height = 6" in scene.read_text()


def test_an_engine_that_the_system_kills_is_started_again(tab, studio):
    children = Path(f"/proc/{studio.process.pid}/task/{studio.process.pid}/children").read_text().split()
    [engine] = [pid for pid in children if b"studio.engine" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(int(engine), signal.SIGKILL)
    expect(tab.page.get_by_text("the engine crashed (SIGKILL)")).to_be_visible()
    expect(tab.page.get_by_text("Nothing is lost")).to_be_visible()
    tab.page.get_by_role("button", name="Run it again").click()
    set_height(tab, 3)
    tab.until_top(3 + TICK)


def test_a_scene_of_two_graphs_tells_which_one_has_trouble(start, open_tab, tmp_path):
    scene = write_scene(tmp_path / "scene.usda")
    text = scene.read_text()
    second = text[text.index('def OmniGraph "Graph"') :].replace("/Graph/", "/Second/").replace('"Graph"', '"Second"')
    scene.write_text(f"{text}\n{second.replace('nodes.ReadTime', 'nodes.ReadTimes')}")
    tab = open_tab(start(scene))
    tab.page.get_by_role("button", name="Run now").click()
    expect(tab.page.locator(".tabs").first.get_by_role("tab")).to_have_text(["Graph/lift", "Second/lift"])
    choice = tab.page.get_by_role("combobox", name="Graph")
    expect(choice.locator("option")).to_have_text(["/Graph", "/Second · 3 failed"])
    choice.select_option("/Second")
    tab.page.locator('.react-flow__node[data-id="/Second/lift"]').click()
    expect(tab.page.locator(".status.error")).to_contain_text("/Second/clock is of the unknown type")
    assert tab.serious() == []
