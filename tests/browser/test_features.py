"""Features of the studio beside the acceptance scenarios, in a real browser."""

import contextlib
import http.server
import re
import threading

import numpy as np
from playwright.sync_api import expect
from pxr import Usd

import omni.warp_core as wp
from tests.studio_scenes import LIFT, write_large, write_scene

TICK = 1 / 24


def test_names_complete_behind_wp_and_are_explained(tab):
    tab.write(LIFT.replace("height + time", "7.0"))
    tab.until_top(7.0)
    tab.write(LIFT.replace("height + time, 0.0)", ""))
    tab.page.keyboard.press("Control+End")
    tab.page.keyboard.press("ArrowLeft")
    tab.page.keyboard.type("wp.sqr", delay=20)
    option = tab.page.locator(".cm-tooltip-autocomplete li", has_text="sqrt")
    expect(option).to_be_visible()
    expect(tab.page.locator(".cm-completionInfo")).to_contain_text("wp.sqrt(")
    tab.page.wait_for_timeout(150)  # the editor ignores keys in the moment a list appears
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.type("(16.0), 0.0)")
    tab.until_top(4.0)
    place = tab.page.locator(".cm-line", has_text="wp.tid").evaluate(
        """line => {
          const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT), range = document.createRange();
          for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const at = node.data.indexOf('tid');
            if (at < 0) continue;
            range.setStart(node, at);
            range.setEnd(node, at + 3);
            const box = range.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
          }
        }"""
    )
    tab.page.mouse.move(place[0] - 3, place[1] + 1)
    tab.page.mouse.move(*place, steps=3)
    expect(tab.page.locator(".cm-tooltip-hover")).to_contain_text("Index of the thread that runs")


def test_an_empty_start_offers_samples_and_copies_one(start, open_tab, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "terrain.usda").write_text("mine")
    tab = open_tab(start(None, folder))
    tab.page.get_by_role("dialog", name="Begin with").wait_for()
    assert tab.serious() == []
    tab.page.get_by_role("button", name="terrain").click()
    expect(tab.page.locator(".file")).to_have_text("terrain2.usda")
    tab.until("omniStudio.shapes.get('/Terrain')?.mesh.geometry.getAttribute('position')?.count ?? 0", 14641)
    assert sorted(each.name for each in folder.iterdir()) == ["terrain.usda", "terrain2.usda"]
    assert (folder / "terrain.usda").read_text() == "mine"


def test_from_an_empty_scene_to_a_saved_one(start, open_tab, tmp_path):
    """The tour of docs/studio.md, with the keyboard and the mouse alone."""
    tab = open_tab(start(None, tmp_path))
    page = tab.page
    page.get_by_role("button", name="Empty scene").click()
    expect(page.get_by_text("The scene has nothing to draw yet.")).to_be_visible()

    def add(words):
        page.keyboard.press("Shift+A")
        page.get_by_role("combobox", name="Add a node").fill(words)
        page.keyboard.press("Enter")

    def connect(words):
        page.keyboard.press("c")
        page.get_by_role("combobox", name="Connect").fill(words)
        page.keyboard.press("Enter")

    def node(name):
        return page.locator(f'.react-flow__node[data-id="/World/Graph/{name}"]')

    add("grid create")
    expect(node("gridCreate")).to_be_visible()
    add("noise deform")
    expect(node("noiseDeform")).to_be_visible()
    connect("prims gridCreate.mesh")
    expect(page.locator(".react-flow__edge")).to_have_count(1)
    add("write prims v2")
    expect(node("writePrimsV2")).to_be_visible()
    connect("primsBundle noiseDeform.prims")
    expect(page.locator(".react-flow__edge")).to_have_count(2)
    page.get_by_label("prims", exact=True).fill("/World/Terrain")
    page.keyboard.press("Enter")
    top = tab.until("omniStudio.box().max.y", lambda y: y is not None and 0 < y < 1e9)
    assert not (tmp_path / "untitled.usda").exists()
    page.keyboard.press("Control+s")
    expect(page.get_by_text("unsaved")).to_have_count(0)
    stage = Usd.Stage.Open(str(tmp_path / "untitled.usda"))
    with wp.usd.play(stage, trust=True) as player:
        player.step()
        points = np.asarray(player.get("/World/Terrain.points"))
    assert points[:, 1].max() == np.float32(top)


OVER = """@wp.kernel
def lift(mesh_points: wp.array[wp.vec3], up: float):
    i = wp.tid()
    mesh_points[i] += wp.vec3(0.0, up + 2.0, 0.0)
"""


def test_a_kernel_moves_the_mesh_of_a_node(start, open_tab, tmp_path):
    """A wire of a bundle that is dropped on a Kernel node gives it an input; the text then has its members."""
    tab = open_tab(start(None, tmp_path))
    page = tab.page
    page.get_by_role("button", name="Empty scene").click()

    def node(name):
        return page.locator(f'.react-flow__node[data-id="/World/Graph/{name}"]')

    def add(words, name):
        page.keyboard.press("Shift+A")
        page.get_by_role("combobox", name="Add a node").fill(words)
        page.keyboard.press("Enter")
        expect(node(name)).to_be_visible()

    add("grid create", "gridCreate")
    add("omni.warp_core.Kernel", "kernel")
    expect(node("kernel").locator('[data-handleid="outputs:moved"]')).to_be_visible()
    page.wait_for_timeout(500)  # the graph moves until all nodes are seen
    node("gridCreate").locator('[data-handleid="outputs:mesh"]').drag_to(node("kernel").locator("header"))
    edge = page.locator(".react-flow__edge")
    expect(edge).to_have_count(1)
    expect(node("kernel").locator('[data-handleid="inputs:mesh"]')).to_be_visible()
    tab.write(OVER)
    expect(node("kernel").locator('[data-handleid="outputs:mesh"]')).to_be_visible()
    expect(page.get_by_text("The text does not name")).to_have_text(re.compile("height, points, moved"))
    page.get_by_role("button", name="Remove").click()
    expect(node("kernel").locator('[data-handleid="outputs:moved"]')).to_have_count(0)
    expect(node("kernel").locator('[data-handleid="inputs:points"]')).to_have_count(0)
    node("kernel").click()
    add("write prims v2", "writePrimsV2")
    page.keyboard.press("c")
    page.get_by_role("combobox", name="Connect").fill("primsBundle kernel.mesh")
    page.keyboard.press("Enter")
    expect(edge).to_have_count(2)  # also where the new port needs no row of its own
    page.get_by_label("prims", exact=True).fill("/World/Raised")
    page.keyboard.press("Enter")
    tab.until_top(2.0)
    assert tab.serious() == []


def test_a_wire_asks_first_for_the_port_of_its_name_and_never_for_other_shapes(tab):
    tab.node("clock").click()
    tab.page.keyboard.press("Delete")
    expect(tab.node("clock")).to_have_count(0)
    tab.page.keyboard.press("Shift+A")
    tab.page.get_by_role("combobox", name="Add a node").fill("omni.graph.nodes.ReadTime")
    tab.page.keyboard.press("Enter")
    expect(tab.node("readTime")).to_be_visible()
    tab.page.keyboard.press("c")
    tab.page.get_by_role("combobox", name="Connect").fill("time lift")
    options = tab.page.get_by_role("listbox", name="Connect").get_by_role("option")
    expect(options.first).to_contain_text("time → lift.time")
    assert not [text for text in options.all_inner_texts() if "points" in text]


def test_a_changed_file_is_compared(tab, scene):
    tab.page.get_by_label("height, as a number").fill("2")
    tab.page.keyboard.press("Enter")
    tab.until_top(2 + TICK)
    scene.write_text(scene.read_text().replace("height + time", "height + 50.0"))
    tab.page.get_by_role("button", name="Compare").click()
    dialog = tab.page.get_by_role("dialog", name="Compare")
    expect(dialog.locator(".error", has_text="height + 50.0")).to_be_visible()
    expect(dialog.locator(".good", has_text="inputs:height = 2")).to_be_visible()
    assert tab.serious() == []
    tab.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    tab.page.get_by_role("button", name="Keep mine").click()
    expect(tab.page.get_by_text("The file has changed")).to_have_count(0)


def test_baking_writes_the_frames_of_a_play(tab, scene):
    tab.page.get_by_label("height, as a number").fill("2")
    tab.page.keyboard.press("Enter")
    tab.until_top(2 + TICK)
    tab.page.get_by_role("button", name="Bake").click()
    expect(tab.page.get_by_role("alert")).to_contain_text("save the scene first")
    tab.page.keyboard.press("Control+s")
    expect(tab.page.get_by_text("unsaved")).to_have_count(0)
    tab.page.get_by_role("button", name="Bake").click()
    expect(tab.page.get_by_text("Baked: ")).to_be_visible()
    baked = Usd.Stage.Open(str(scene.with_name("scene_baked.usdc")))
    for frame in (1, 24):
        points = np.asarray(baked.GetAttributeAtPath("/Sheet.points").Get(frame))
        np.testing.assert_allclose(points[:, 1], 2 + frame * TICK, rtol=1e-6)


KEYS = [
    *("Space", "← →", "Home", "Shift+A, double click", "C", "Delete", "Ctrl+D", "Ctrl+C, Ctrl+V", "Ctrl+A, Ctrl+click"),
    *("M", "D", "F", "Ctrl+Enter", "F8", "Ctrl+S"),
    *("Ctrl+Z, Ctrl+Shift+Z", "Ctrl+Space", "Ctrl+K", "?"),
]


def test_all_keys_are_told_on_a_key(tab):
    tab.page.locator("body").press("?")
    dialog = tab.page.get_by_role("dialog", name="Keys")
    expect(dialog.locator("kbd")).to_have_text(KEYS)
    tab.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_keys_do_what_is_told(tab):
    """Those that the scenarios do not press."""
    page = tab.page
    page.locator("canvas").click(position={"x": 5, "y": 200})
    for key, frame in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("Home", 1)):
        page.keyboard.press(key)
        tab.until("omniStudio.frame", frame)
    far = "omniStudio.camera.position.distanceTo(omniStudio.controls.target)"
    page.keyboard.press("f")
    before = page.evaluate(far)
    page.evaluate("omniStudio.camera.position.multiplyScalar(9)")
    page.keyboard.press("f")
    tab.until(far, lambda now: abs(now - before) < 1e-3 * before)
    tab.node("clock").click()
    for wanted in (1, 0):
        page.keyboard.press("m")
        expect(tab.node("clock").get_by_text("muted")).to_have_count(wanted)
    page.keyboard.press("Control+z")
    expect(tab.node("clock").get_by_text("muted")).to_have_count(1)
    page.keyboard.press("Control+Shift+Z")
    expect(tab.node("clock").get_by_text("muted")).to_have_count(0)
    tab.write(LIFT.replace("    lifted", "    a = hight\n    b = tme\n    lifted"))
    expect(page.locator(".cm-lintRange-error")).to_have_text(["hight", "tme"])
    page.keyboard.press("Control+Home")
    for wanted in ("hight", "tme"):
        page.keyboard.press("F8")
        tab.until("getSelection().toString()", wanted)


def test_a_new_kernel_has_a_text_that_runs_without_a_question(start, open_tab, tmp_path):
    tab = open_tab(start(None, tmp_path))
    page = tab.page
    page.get_by_role("button", name="Empty scene").click()

    def add(words):
        page.keyboard.press("Shift+A")
        page.get_by_role("combobox", name="Add a node").fill(words)
        page.get_by_role("dialog").get_by_role("option").first.wait_for()  # node types come from the engine
        page.keyboard.press("Enter")

    def port(node, name):
        return page.locator(f'.react-flow__node[data-id="/World/Graph/{node}"] [data-handleid="{name}"]')

    add("omni.warp_core.Kernel")
    expect(page.locator(".cm-content")).to_contain_text("def move(points")
    for name in ("inputs:points", "inputs:height", "outputs:moved"):
        expect(port("kernel", name)).to_be_visible()
    page.locator(".react-flow__pane").click(position={"x": 5, "y": 5})
    add("kernel: displace")
    expect(page.locator(".cm-content")).to_contain_text("def displace(")
    expect(port("displace", "outputs:displaced")).to_be_visible()
    expect(port("displace", "inputs:time")).to_be_visible()
    expect(page.get_by_label("height, as a number")).to_have_value("0.1")
    for _ in range(2):
        page.locator(".react-flow__pane").click(position={"x": 5, "y": 5})
        page.keyboard.press("Control+z")
    expect(page.locator(".react-flow__node")).to_have_count(1)
    expect(page.get_by_text("This scene contains programs.")).to_have_count(0)


def test_nodes_are_blocks_from_far_and_failed_ones_stand_out(start, open_tab, tmp_path):
    scene = write_scene(tmp_path / "scene.usda")
    nodes = "".join(
        f'    def OmniGraphNode "n{i}"\n    {{\n        token node:type = "omni.graph.nodes.ReadTime"\n'
        f"        uniform float2 ui:nodegraph:node:pos = ({i * 240}, 900)\n    }}\n\n"
        for i in range(60)
    )
    text = scene.read_text().replace('    def OmniGraphNode "write"', nodes + '    def OmniGraphNode "write"')
    scene.write_text(
        text.replace(
            'n30"\n    {\n        token node:type = "omni.graph.nodes.ReadTime',
            'n30"\n    {\n        token node:type = "nowhere.Gone',
        )
    )
    tab = open_tab(start(scene))
    tab.page.get_by_role("button", name="Run now").click()
    color = "path => getComputedStyle(document.querySelector(`[data-id='/Graph/${path}'] .node`)).backgroundColor"
    tab.until(f"document.querySelector('.graph.far') !== null && ({color})('n30')", lambda found: bool(found))
    assert tab.page.evaluate(f"({color})('n30')") != tab.page.evaluate(f"({color})('n31')")
    for _ in range(20):  # each by a fifth
        tab.page.get_by_role("button", name="Zoom In").click()
    tab.until("document.querySelector('.graph.far') === null")


def test_nodes_are_duplicated_copied_and_pasted(tab):
    page = tab.page
    nodes, edges = page.locator(".react-flow__node"), page.locator(".react-flow__edge")
    tab.node("lift").click()
    page.keyboard.press("Control+d")
    expect(tab.node("lift2")).to_be_visible()
    expect(edges).to_have_count(5)
    assert tab.node("lift2").bounding_box()["y"] != tab.node("lift").bounding_box()["y"]
    page.keyboard.press("Control+z")
    expect(nodes).to_have_count(4)
    tab.node("lift").click()
    tab.node("write").click(modifiers=["Control"])
    page.keyboard.press("Control+c")
    page.keyboard.press("Control+v")
    expect(nodes).to_have_count(6)
    expect(edges).to_have_count(6)
    page.keyboard.press("Control+v")
    expect(tab.node("lift3")).to_be_visible()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    expect(page.get_by_text("This graph has no nodes.")).to_be_visible()
    page.get_by_role("button", name="Add a node").click()
    page.get_by_role("combobox", name="Add a node").fill("read time")
    page.keyboard.press("Enter")
    expect(nodes).to_have_count(1)


@contextlib.contextmanager
def notebook(html):
    """A page of another server on this machine, as that of a notebook."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_notebook_shows_the_studio_in_a_frame(browser, scene, monkeypatch, tmp_path):
    monkeypatch.setenv("OMNI_WARP_SETTINGS_DIR", str(tmp_path / "settings"))
    shown = wp.studio.show(scene, height=500)
    try:
        with notebook(f"<!doctype html><title>cell</title>{shown._repr_html_()}") as address:
            page = browser.new_page(viewport={"width": 1200, "height": 760})
            page.goto(address)
            frame = page.frame_locator("iframe")
            frame.get_by_role("button", name="Run now").click()
            expect(frame.get_by_text("Compiled in")).to_be_visible()
            page.close()
    finally:
        shown.close()


def test_no_page_may_frame_a_studio_that_is_for_no_notebook(browser, studio):
    with notebook(f'<!doctype html><iframe src="{studio.url}"></iframe>') as address:
        page = browser.new_page()
        told = []
        page.on("console", lambda message: told.append(message.text))
        page.goto(address)
        for _ in range(200):
            if any("frame-ancestors" in text for text in told):
                break
            page.wait_for_timeout(50)
        assert any("frame-ancestors" in text for text in told)
        page.close()


def test_a_key_displays_the_prims_of_one_node_alone(start, open_tab, tmp_path):
    scene = write_scene(tmp_path / "scene.usda")
    scene.write_text(scene.read_text() + '\ndef Cube "Block"\n{\n}\n')
    tab = open_tab(start(scene))
    tab.run()
    shown = "[...omniStudio.shapes].filter(([, shape]) => shape.group.visible).map(([path]) => path).sort().join()"
    tab.until(shown, "/Block,/Sheet")
    tab.node("lift").click()
    tab.page.keyboard.press("d")
    tab.until(shown, "/Sheet")
    expect(tab.node("lift")).to_contain_text("shown alone")
    tab.page.keyboard.press("d")
    tab.until(shown, "/Block,/Sheet")
    tab.page.keyboard.press("d")
    tab.until(shown, "/Sheet")
    tab.page.get_by_role("button", name="Show everything").click()
    tab.until(shown, "/Block,/Sheet")


def test_nodes_go_to_the_graph_that_is_shown(start, open_tab, tmp_path):
    scene = write_scene(tmp_path / "scene.usda")
    scene.write_text(scene.read_text() + '\ndef OmniGraph "Second"\n{\n    token evaluator:type = "push"\n}\n')
    tab = open_tab(start(scene))
    tab.run()
    tab.page.get_by_role("combobox", name="Graph").select_option("/Second")
    tab.page.keyboard.press("Shift+A")
    tab.page.get_by_role("combobox", name="Add a node").fill("read time")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator('.react-flow__node[data-id="/Second/readTime"]')).to_be_visible()
    tab.page.keyboard.press("Control+k")
    tab.page.get_by_role("combobox", name="Commands").fill("go to lift")
    tab.page.keyboard.press("Enter")
    expect(tab.node("lift")).to_be_visible()
    expect(tab.page.get_by_role("combobox", name="Graph")).to_have_value("/Graph")


MIDDLE = """depth => {
  const view = omniStudio, {group} = view.shapes.get('/World/Sheet');
  view.camera.position.set(0, 0, 40);
  view.controls.target.set(0, 0, 0);
  view.controls.update();
  group.matrix.makeTranslation(0, 0, depth);
  group.matrixWorldNeedsUpdate = true;
  view.isDirty = true;
  view.draw();
  const gl = view.renderer.getContext(), pixel = new Uint8Array(4);
  gl.readPixels(gl.drawingBufferWidth / 2, gl.drawingBufferHeight / 2, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
  return pixel[0] / (pixel[2] + 1);
}"""


def test_fog_is_drawn_over_the_part_that_lies_behind_it_alone(start, open_tab, tmp_path):
    """A red sheet that moves back through the fog: it is purely red in front of the fog, and grey at its end."""
    density = np.full((16, 16, 16), 0.01, np.float32)
    (tmp_path / "fog.usda").write_text(SHEET)
    stage = Usd.Stage.Open(str(tmp_path / "fog.usda"))
    fog = wp.Volume.load_from_numpy(density, min_world=(-8, -8, -8))
    wp.usd.write_volume(stage, "/World/Fog", {"density": fog}, grid_class="fogVolume")
    stage.Save()
    tab = open_tab(start(tmp_path / "fog.usda"))
    tab.until("window.omniStudio?.shapes.get('/World/Fog')?.fog.visible ?? false")
    tab.until("window.omniStudio?.shapes.get('/World/Sheet')?.mesh.visible ?? false")
    front, before, middle, behind = (tab.page.evaluate(MIDDLE, depth) for depth in (10, 7, 6, -10))
    assert front > 1.1 * before > 1.2 * middle > 1.3 * behind


SHEET = """#usda 1.0
(
    defaultPrim = "World"
    upAxis = "Y"
)

def Xform "World"
{
    def Mesh "Sheet"
    {
        int[] faceVertexCounts = [4]
        int[] faceVertexIndices = [0, 1, 2, 3]
        point3f[] points = [(-5, -5, 0), (5, -5, 0), (5, 5, 0), (-5, 5, 0)]
        color3f[] primvars:displayColor = [(1, 0, 0)]
    }
}
"""


def test_points_that_a_kernel_makes_are_seen_at_once(start, open_tab, tmp_path):
    """The scene has no points, so the view follows from the first frame of the kernel."""
    tab = open_tab(start(write_large(tmp_path / "scene.usda", 20, 1)))
    expect(tab.page.get_by_text("There is nothing to draw until the kernels run.")).to_be_visible()
    tab.run()
    inside = """omniStudio.shapes.size && [0, 1].every((x) => [0, 1].every((z) => {
      const place = omniStudio.camera.position.clone().set(0.95 * x, 0.5, 0.95 * z).project(omniStudio.camera);
      return Math.abs(place.x) < 1 && Math.abs(place.y) < 1;
    }))"""
    tab.until(inside)


def test_all_buttons_stand_in_a_narrow_window(open_tab):
    tab = open_tab()
    tab.page.get_by_role("button", name="Run now").wait_for()
    for width in (460, 340):
        tab.page.set_viewport_size({"width": width, "height": 760})
        for bar in (".top", ".timeline"):
            outside = tab.page.evaluate(
                """([bar, width]) => [...document.querySelectorAll(`${bar} > *`)]
                  .filter((each) => each.getBoundingClientRect().right > width).map((each) => each.outerHTML)""",
                [bar, width],
            )
            assert outside == []
