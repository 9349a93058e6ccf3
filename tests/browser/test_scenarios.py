"""The studio as its users meet it, in a real browser. Numbers in comments are those of the acceptance scenarios."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect
from pxr import Usd

import omni.warp_core as wp
from tests.studio_scenes import LIFT, write_large, write_scene

SCENES = Path(__file__).parents[2] / "data" / "scenes"
TICK = 1 / 24


def test_an_untrusted_scene_is_shown_and_runs_only_after_consent(start, open_tab, tmp_path):  # 1
    canary = tmp_path / "canary"
    scene = write_scene(tmp_path / "scene.usda", f"open({str(canary)!r}, 'w').close()\n{LIFT}")
    tab = open_tab(start(scene))
    tab.until_top(0.0)  # the mesh as authored
    expect(tab.editor).to_contain_text("def lift")
    expect(tab.page.get_by_text("nothing has run")).to_be_visible()
    assert not canary.exists()
    tab.run()
    tab.until_top(0.5 + TICK)
    assert canary.exists()


def test_a_changed_digit_changes_the_mesh(tab):  # 2
    tab.until_top(0.5 + TICK)
    tab.write(LIFT.replace("height + time", "height + 2.0"))
    tab.until_top(2.5)
    expect(tab.node("lift").locator(".badge")).to_contain_text("ms")
    expect(tab.page.get_by_text(re.compile("Compiled in .* ms"))).to_be_visible()


@pytest.mark.parametrize("before", ["", "# é 🌊\n", '    # "🌊é" \n'], ids=["plain", "accent and emoji", "indented"])
def test_a_wrong_name_is_marked_exactly_and_fixed_by_a_click(tab, before):  # 3
    tab.write(LIFT.replace("height + time", "wp.sqroot(height)").replace("    lifted", before + "    lifted"))
    mark = tab.page.locator(".cm-lintRange-error")
    expect(mark).to_have_text("wp.sqroot")
    expect(tab.node("lift").locator(".badge.error")).to_be_visible()
    tab.page.get_by_role("button", name="A frame on").click()
    tab.until_top(0.5 + 2 * TICK)  # the last good kernel
    mark.hover()
    tab.page.locator(".cm-diagnosticAction", has_text="wp.sqrt").first.click()
    expect(mark).to_have_count(0)
    expect(tab.node("lift").locator(".badge.error")).to_have_count(0)
    tab.until_top(0.5**0.5)


def test_two_mistakes_have_two_marks(tab):  # 4
    tab.write(LIFT.replace("    lifted", "    a = hight\n    b = tme\n    lifted"))
    expect(tab.page.locator(".cm-lintRange-error")).to_have_text(["hight", "tme"])


def test_a_mistake_in_a_function_also_marks_the_call(tab):  # 4
    function = "@wp.func\ndef root(x: float) -> float:\n    return wp.sqroot(x)\n\n\n"
    tab.write(function + LIFT.replace("height + time", "root(height)"))
    expect(tab.page.locator(".cm-lintRange-error")).to_have_text("wp.sqroot")
    expect(tab.page.locator(".cm-lintRange-info")).to_have_text("root(height)")


def test_typing_at_module_level_runs_nothing_until_told(tab, tmp_path):  # 5
    victim = tmp_path / "victim"
    victim.write_text("x")
    tab.write(LIFT.replace("height + time", "4.0"))
    tab.until_top(4.0)
    tab.page.keyboard.press("Control+Home")
    tab.page.keyboard.type(f"import os\nos.remove({str(victim)!r})\n", delay=5)
    expect(tab.page.get_by_text("Waits: line 1 imports os")).to_be_visible()
    tab.page.get_by_role("button", name="A frame on").click()
    tab.until("omniStudio.frame", 2)
    assert victim.exists()
    tab.editor.click()
    tab.page.keyboard.press("Control+Enter")
    for _ in range(1200):
        if not victim.exists():
            break
        tab.page.wait_for_timeout(50)
    assert not victim.exists()


def test_a_new_parameter_makes_a_slider_that_moves_the_picture(tab):  # 6
    tab.write(LIFT.replace("height: float", "height: float, gain: float").replace("height + time", "height + gain"))
    slider = tab.page.get_by_label("gain", exact=True)
    slider.wait_for()
    expect(tab.port("lift", "inputs:gain")).to_be_visible()
    tab.until_top(0.5)
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    tab.page.mouse.move(box["x"] + 8, middle)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + box["width"] / 2, middle, steps=5)
    dragged = tab.until("omniStudio.box().max.y", lambda y: y > 0.9)
    tab.page.mouse.move(box["x"] + box["width"] - 4, middle, steps=5)
    tab.until("omniStudio.box().max.y", lambda y: y > dragged)
    tab.page.mouse.up()
    expect(tab.page.get_by_role("button", name="Undo")).to_have_attribute("title", "set gain")
    tab.page.get_by_role("button", name="Undo").click()
    tab.until_top(0.5)
    expect(tab.page.get_by_role("button", name="Undo")).to_have_attribute("title", "edit code")


def drag(tab, source, target):
    """Draw a wire from one port to another with the mouse."""
    source.hover()
    tab.page.mouse.down()
    box = target.bounding_box()
    tab.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=8)
    tab.page.mouse.up()


def edges(tab):
    """The wires of the graph."""
    return tab.page.locator(".react-flow__edge")


def test_wires_are_drawn_refused_deleted_and_undone(tab):  # 7
    expect(edges(tab)).to_have_count(3)
    drag(tab, tab.port("clock", "outputs:time"), tab.port("lift", "inputs:points"))
    expect(tab.page.get_by_role("alert")).to_contain_text("cannot take")
    expect(edges(tab)).to_have_count(3)
    drag(tab, tab.port("clock", "outputs:time"), tab.port("lift", "inputs:height"))
    expect(edges(tab)).to_have_count(4)
    tab.until_top(2 * TICK)
    wire = tab.page.locator('.react-flow__edge[data-id*="inputs:height"]')
    wire.focus()
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.press("Delete")
    expect(edges(tab)).to_have_count(3)
    tab.until_top(0.5 + TICK)
    tab.page.get_by_role("button", name="Undo").click()
    expect(edges(tab)).to_have_count(4)
    tab.until_top(2 * TICK)
    tab.page.get_by_role("button", name="Undo").click()
    tab.page.get_by_role("button", name="Redo").click()
    expect(edges(tab)).to_have_count(4)


def middle(locator):
    """The middle of an element on the screen."""
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_node_is_added_by_search_dropped_on_a_wire_and_renamed(tab):  # 8
    page = tab.page
    tab.node("clock").click()
    page.keyboard.press("Shift+A")
    page.get_by_role("combobox", name="Add a node").fill("multiply")
    page.keyboard.press("Enter")
    expect(tab.node("multiply")).to_be_visible()
    page.get_by_role("button", name="Fit View").click()
    wire = page.locator('.react-flow__edge[data-id*="clock"] path.react-flow__edge-path')
    at = wire.evaluate(
        """path => {
          const end = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
          return [end.x, end.y];
        }"""
    )
    x, y = middle(tab.node("multiply").locator("header b"))
    box = tab.node("multiply").bounding_box()
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(at[0] + x - (box["x"] + box["width"] / 2), at[1] + y - (box["y"] + box["height"] / 2), steps=12)
    page.mouse.up()
    expect(edges(tab)).to_have_count(4)
    found = " ".join(edges(tab).evaluate_all("found => found.map(each => each.dataset.id)"))
    assert "/Graph/clock.outputs:time" in found and "/Graph/multiply.inputs:a" in found
    assert "/Graph/multiply.outputs:product" in found
    expect(page.get_by_role("button", name="Undo")).to_have_attribute("title", "insert")
    page.get_by_role("button", name="Undo").click()
    expect(edges(tab)).to_have_count(3)
    tab.until_top(0.5 + TICK)
    tab.node("lift").click()
    tab.page.get_by_label("Name of the node").fill("rise")
    tab.page.keyboard.press("Enter")
    expect(tab.node("rise")).to_be_visible()
    expect(edges(tab)).to_have_count(3)
    tab.until_top(0.5 + TICK)


def test_a_wire_dropped_in_the_void_asks_for_a_node(tab):  # 8
    drag_from = tab.port("clock", "outputs:frame")
    drag_from.hover()
    tab.page.mouse.down()
    box = tab.page.locator(".graph").bounding_box()
    tab.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 12, steps=8)
    tab.page.mouse.up()
    tab.page.get_by_role("combobox", name="Add a node").fill("to string")
    tab.page.keyboard.press("Enter")
    expect(tab.node("toString")).to_be_visible()
    expect(edges(tab)).to_have_count(4)


def test_a_click_on_the_mesh_shows_its_node_and_values(tab):
    tab.until_top(0.5 + TICK)
    place = tab.page.evaluate(
        """() => {
          const {camera, shapes} = omniStudio;
          const at = shapes.get('/Sheet').mesh.geometry.getAttribute('position');
          const corner = camera.position.clone().set(at.getX(4), at.getY(4), at.getZ(4)).project(camera);
          const box = document.querySelector('canvas').getBoundingClientRect();
          return [(corner.x + 1) * box.width / 2, (1 - corner.y) * box.height / 2];
        }"""
    )
    tab.page.locator("canvas").click(position={"x": place[0], "y": place[1]})
    expect(tab.page.locator("output.picked")).to_contain_text("/Sheet · vertex 4 · 0, 0.54167, 0")
    expect(tab.node("lift").locator("article.selected")).to_be_visible()
    expect(tab.page.locator("tr.picked")).to_contain_text("0.541667")
    tab.page.keyboard.press("ArrowRight")
    expect(tab.page.locator("output.picked")).to_contain_text("/Sheet · vertex 4 · 0, 0.58333, 0")


def test_smoke_is_drawn(start, open_tab, tmp_path):
    shutil.copy(SCENES / "puff.usda", tmp_path)
    tab = open_tab(start(tmp_path / "puff.usda"))
    tab.run()
    tab.until("window.omniStudio?.shapes.get('/World/Smoke')?.fog.visible ?? false")
    middle = """() => {
      omniStudio.fit();
      omniStudio.draw();
      const gl = omniStudio.renderer.getContext(), pixel = new Uint8Array(4);
      gl.readPixels(gl.drawingBufferWidth / 2, gl.drawingBufferHeight / 2, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
      return pixel[3];
    }"""
    tab.until(middle, lambda opacity: opacity > 200)


def test_a_text_that_ends_the_engine_leaves_page_and_text(tab):  # 9
    text = "import os\nos._exit(3)\n" + LIFT
    tab.write(text)
    tab.page.get_by_role("button", name="Run (Ctrl+Enter)").click()
    expect(tab.page.get_by_text("Nothing is lost")).to_be_visible()
    expect(tab.editor).to_contain_text("os._exit(3)")
    tab.page.get_by_role("button", name="A frame on").click()
    tab.until("omniStudio.frame", 2)
    tab.until_top(0.5 + 2 * TICK)
    tab.write(LIFT.replace("height + time", "7.0"))
    tab.until_top(7.0)
    expect(tab.page.get_by_text("Nothing is lost")).to_have_count(0)


def test_a_write_out_of_bounds_is_explained_with_line_and_values(tab):  # 9
    tab.write(LIFT.replace("lifted[i]", "lifted[i + 100000000]"))
    expect(tab.page.locator(".status.error")).to_contain_text("where there is no memory")
    expect(tab.editor).to_contain_text("100000000")
    tab.page.get_by_role("button", name="Find out why").click()
    expect(tab.page.locator(".status.error")).to_contain_text("Line 4: ")
    expect(tab.page.locator(".status.error")).to_contain_text("index 100000000 is out of range")
    expect(tab.page.locator(".status.error")).to_contain_text("values: 100000000, 9")
    expect(tab.page.locator(".cm-lintRange-error")).to_contain_text("lifted[i + 100000000]")
    tab.write(LIFT.replace("height + time", "7.0"))
    tab.until_top(7.0)
    expect(tab.page.locator(".cm-lintRange-error")).to_have_count(0)


def test_a_crash_is_explained_with_line_and_values(tab):  # 9
    """Kernels cannot end the engine by a wrong index, so Python at module level does it: in release mode alone."""
    crash = "import omni.warp_core as w\nimport os\nif w.config.mode != 'debug':\n    os.kill(os.getpid(), 11)\n"
    tab.write(crash + LIFT.replace("lifted[i]", "lifted[i + 5]"))
    tab.page.get_by_role("button", name="Run (Ctrl+Enter)").click()
    expect(tab.page.get_by_text("the engine crashed (SIGSEGV)")).to_be_visible()
    tab.page.get_by_role("button", name="Find out why").first.click()
    expect(tab.page.locator(".status.error")).to_contain_text("Line 8: ")
    expect(tab.page.locator(".status.error")).to_contain_text("values: ")
    expect(tab.page.locator(".cm-lintRange-error")).to_contain_text("lifted[i + 5]")
    tab.page.get_by_role("button", name="A frame on").click()
    tab.until_top(0.5 + 2 * TICK)  # the last good text runs


def test_an_endless_kernel_can_be_stopped(tab):  # 10
    tab.write(LIFT.replace("    lifted", "    while height < 100.0:\n        i += 0\n    lifted"))
    tab.page.get_by_role("button", name="Stop").click()
    expect(tab.page.get_by_text("Stopped.", exact=True)).to_be_visible()
    tab.write(LIFT.replace("height + time", "7.0"))
    tab.until_top(7.0)


def test_playing_and_scrubbing_show_the_frames_of_a_play(tab, scene):  # 11
    stage = Usd.Stage.Open(str(scene))
    wanted = {}
    with wp.usd.play(stage, trust=True) as player:
        for frame in range(1, 25):
            player.step()
            wanted[frame] = np.asarray(player.get("/Sheet.points"), np.float32)
    tab.page.get_by_role("button", name="Loop").click()
    tab.page.keyboard.press("Escape")
    tab.page.locator("canvas").click(position={"x": 5, "y": 300})
    tab.page.keyboard.press("Space")
    tab.until("document.querySelector('.frame').textContent", "24")
    expect(tab.page.get_by_role("button", name="Play")).to_be_visible()
    for frame in (23, 9, 24, 1):
        tab.page.get_by_label("Frame", exact=True).fill(str(frame))
        tab.until("omniStudio.frame", frame)
        script = "Array.from(omniStudio.shapes.get('/Sheet').mesh.geometry.getAttribute('position').array)"
        np.testing.assert_array_equal(np.array(tab.page.evaluate(script), np.float32), wanted[frame].reshape(-1))


def test_saving_writes_what_a_fresh_studio_shows(tab, scene, start, open_tab):  # 12
    tab.write(LIFT.replace("height + time", "height + 1.5"))
    tab.until_top(2.0)
    tab.page.get_by_label("height, as a number").fill("2.5")
    tab.page.keyboard.press("Enter")
    tab.until_top(4.0)
    node = tab.node("write")
    before = node.bounding_box()
    node.locator("header").hover()
    tab.page.mouse.down()
    tab.page.mouse.move(before["x"] + 60, before["y"] + 60, steps=6)
    tab.page.mouse.up()
    tab.page.keyboard.press("Control+s")
    expect(tab.page.get_by_text("unsaved")).to_have_count(0)
    saved = scene.read_text()
    assert "inputs:height = 2.5" in saved and "height + 1.5" in saved and "ui:nodegraph:node:pos" in saved
    tab.page.get_by_label("height, as a number").fill("3")
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.press("Control+s")
    for _ in range(600):
        if scene.read_text() != saved:
            break
        tab.page.wait_for_timeout(50)
    lines = zip(saved.splitlines(), scene.read_text().splitlines(), strict=True)
    assert [new.strip() for old, new in lines if old != new] == ["custom float inputs:height = 3"]
    other = open_tab(start(scene))  # the user wrote the text, so it is agreed to
    other.until_top(4.5)
    expect(other.editor).to_contain_text("height + 1.5")


def test_a_file_that_changes_on_disk_is_asked_about(tab, scene):  # 13
    tab.page.get_by_label("height, as a number").fill("2")
    tab.page.keyboard.press("Enter")
    tab.until_top(2 + TICK)
    scene.write_text(scene.read_text().replace("height + time", "height + 50.0"))
    tab.page.get_by_role("button", name="Take theirs").click()
    expect(tab.page.get_by_text("This scene contains programs")).to_be_visible()
    expect(tab.editor).to_contain_text("height + 50.0")
    tab.until_top(0.0)
    tab.run()
    tab.until_top(50.5)


def test_an_edit_in_one_tab_shows_in_the_other(tab, open_tab):  # 14
    other = open_tab()
    other.until_top(0.5 + TICK)
    tab.write(LIFT.replace("height + time", "6.0"))
    other.until_top(6.0)
    expect(other.editor).to_contain_text("6.0")


@pytest.mark.parametrize("token", ["", "#token=wrong"])
def test_a_page_without_the_token_sees_nothing(open_tab, studio, token):  # 15; tests/studio has the other refusals
    page = open_tab(studio, url=studio.address + token).page
    expect(page.get_by_text("This page has no access")).to_be_visible()
    assert "lift" not in page.content() and "scene.usda" not in page.content()


def test_names_and_errors_are_text_and_no_html(start, open_tab, tmp_path):  # 15
    evil = "<img src=x onerror=alert(1)>"
    text = f'"""{evil}"""\n{LIFT}'.replace("height + time", f'height + undefined_("{evil}")')
    scene = write_scene(tmp_path / f"{evil.replace('/', '')}.usda", text.replace('"""', "'''"))
    tab = open_tab(start(scene))
    tab.page.get_by_role("button", name="Run now").click()
    expect(tab.page.locator(".cm-lintRange-error").first).to_be_visible()
    tab.page.locator(".cm-lintRange-error").first.hover()
    expect(tab.page.locator(".cm-diagnostic").first).to_be_visible()
    expect(tab.page.locator(".file")).to_contain_text("<img")
    assert tab.page.locator("img").count() == 0


def test_the_keyboard_alone_adds_connects_edits_plays_and_saves(open_tab, scene):  # 16
    tab = open_tab()
    page = tab.page
    tab.until_top(0.0)
    page.get_by_role("button", name="Run now").focus()
    page.keyboard.press("Enter")
    tab.until_top(0.5 + TICK)
    page.keyboard.press("Shift+A")
    page.keyboard.type("constant float")
    page.keyboard.press("Enter")
    expect(tab.node("constantFloat")).to_be_visible()
    page.keyboard.press("c")
    page.keyboard.type("lift.height")
    page.keyboard.press("Enter")
    expect(edges(tab)).to_have_count(4)
    tab.until_top(TICK)
    page.keyboard.press("Control+z")
    expect(edges(tab)).to_have_count(3)
    tab.editor.focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(LIFT.replace("height + time", "height + 100.0 * time"))
    page.keyboard.press("Tab")  # leaves the editor
    assert not page.evaluate("document.activeElement.closest('.cm-content')")
    tab.until_top(0.5 + 100 * TICK)
    page.keyboard.press("Control+k")
    page.keyboard.type("play")
    page.keyboard.press("Enter")
    tab.until("omniStudio.frame", lambda frame: frame > 3)
    page.keyboard.press("Control+s")
    expect(page.get_by_text("unsaved")).to_have_count(0)
    assert "100.0 * time" in scene.read_text()


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_axe_finds_nothing_serious(open_tab, scheme):  # 16
    tab = open_tab(scheme=scheme)
    page = tab.page
    expect(page.get_by_text("nothing has run")).to_be_visible()
    assert tab.serious() == []
    tab.run()
    tab.until_top(0.5 + TICK)
    tab.node("lift").click()
    assert tab.serious() == []
    tab.write(LIFT.replace("height + time", "wp.sqroot(height)"))
    expect(page.locator(".cm-lintRange-error")).to_be_visible()
    page.get_by_role("tab", name="Spreadsheet").click()
    page.get_by_text("9 rows").wait_for()
    assert tab.serious() == []
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Commands").wait_for()
    assert tab.serious() == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keys").click()
    page.get_by_role("dialog", name="Keys").wait_for()
    assert tab.serious() == []


def test_unsaved_edits_are_offered_after_the_server_was_killed(tab, scene, start, open_tab, studio):  # 17
    tab.page.get_by_label("height, as a number").fill("6")
    tab.page.keyboard.press("Enter")
    tab.until_top(6 + TICK)
    expect(tab.page.get_by_text("unsaved")).to_be_visible()
    tab.may_lose_connection = True
    studio.kill()
    expect(tab.page.get_by_text("The studio is not there any more")).to_be_visible()
    tab.page.close()
    other = open_tab(start(scene))
    expect(other.page.get_by_text("The studio ended with 1 unsaved edit.")).to_be_visible()
    other.page.get_by_role("button", name="Bring them back").click()
    other.run()
    other.until_top(6 + TICK)
    expect(other.page.get_by_text("unsaved")).to_be_visible()


def test_many_nodes_and_a_million_points(start, open_tab, tmp_path):  # 18; benchmarks/studio.py has the times
    tab = open_tab(start(write_large(tmp_path / "large.usda", 1000, 300)))
    tab.run()
    tab.until("omniStudio.shapes.get('/Cloud')?.points.geometry.getAttribute('position')?.count ?? 0", 1_000_000)
    tab.until_top(0.5)
    expect(tab.page.locator(".react-flow__node").first).to_be_visible()
    tab.page.get_by_label("height, as a number").fill("3")
    tab.page.keyboard.press("Enter")
    tab.until_top(3.0)
    tab.page.keyboard.press("Control+k")
    tab.page.get_by_role("combobox", name="Commands").fill("go to n299")
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_label("Name of the node")).to_have_value("n299")
