"""A real browser on a real server. The browser is the one in OMNI_WARP_CHROMIUM, or the system's Chromium."""

from __future__ import annotations

import contextlib
import os
import shutil
import warnings
from pathlib import Path

import pytest

from tests.studio_scenes import LIFT, write_scene
from tests.studio_server import PATIENCE, running

AXE = Path(__file__).resolve().parents[2] / "studio" / "node_modules" / "axe-core" / "axe.min.js"
NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """The path of a Chromium, None on a machine without one."""
    named = os.environ.get("OMNI_WARP_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser():
    """Chromium. On a machine without one, the tests are left out, and pytest's summary says why."""
    path = chromium()
    if path is None:
        pytest.skip("NO BROWSER: the tests of the studio's page need Chromium, as from apt-get install chromium")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * PATIENCE)
    with warnings.catch_warnings(), sync_playwright() as playwright:
        warnings.simplefilter("ignore", ResourceWarning)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Tab:
    """One page of the studio, with the words that tests use for it."""

    def __init__(self, browser, studio, scheme="dark", url="", **options):
        self.studio = studio
        self.page = browser.new_page(viewport={"width": 1200, "height": 760}, color_scheme=scheme, **options)
        self.page.set_default_timeout(1000 * PATIENCE)
        self.complaints: list[str] = []
        self.may_lose_connection = False
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._console)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url or studio.url)

    def _console(self, message) -> None:
        is_driver = "GL Driver Message" in message.text or "GPU stall" in message.text  # of SwiftShader
        is_expected = is_driver or (self.may_lose_connection and "net::ERR_" in message.text)
        if message.type in ("error", "warning") and not is_expected:
            self.complaints.append(message.text)

    def until(self, script: str, wanted=True):
        """Wait until a script gives a value, and return it: a function of its result, or the result itself."""
        check = wanted if callable(wanted) else lambda found: found == wanted
        for _ in range(int(PATIENCE * 20)):
            found = self.page.evaluate(script)
            if check(found):
                return found
            self.page.wait_for_timeout(50)
        raise AssertionError(f"{script} is {found}")

    def top(self) -> float:
        """The highest vertex that the page has."""
        return self.page.evaluate("window.omniStudio ? omniStudio.box().max.y : NaN")

    def until_top(self, wanted: float) -> None:
        """Wait until the highest vertex is at a height."""
        self.until("window.omniStudio ? omniStudio.box().max.y : -1e9", lambda y: abs((y or 0) - wanted) < 1e-5)

    def run(self) -> None:
        """Agree to run the scene's texts."""
        self.page.get_by_role("button", name="Run now").click()
        self.page.get_by_text("Compiled in").wait_for()

    def frame(self) -> int:
        """The frame that is shown."""
        return int(self.page.get_by_label("Current frame").inner_text())

    @property
    def editor(self):
        """The editor of the kernel's text."""
        return self.page.get_by_label("Kernel text")

    def text(self) -> str:
        """The text in the editor."""
        return "\n".join(self.page.locator(".cm-line").all_inner_texts()).replace("\n\n", "\n")

    def write(self, text: str) -> None:
        """Replace the text in the editor, as by a paste."""
        self.editor.click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def replace(self, old: str, new: str) -> None:
        """Double-click a word in the editor, and type another one in its place."""
        self.page.locator(".cm-content").get_by_text(old, exact=False).first.wait_for()
        self.write(self.typed.replace(old, new))

    typed = LIFT

    def serious(self) -> list[str]:
        """What axe finds that is serious: rules with the elements that break them."""
        if not AXE.is_file():
            pytest.skip("axe-core is not installed; run: make studio")
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        return [f"{each['id']}: {node['html']}" for each in serious for node in each["nodes"]]

    def node(self, name: str):
        """A node of the graph."""
        return self.page.locator(f'.react-flow__node[data-id="/Graph/{name}"]')

    def port(self, node: str, port: str):
        """The handle of a port."""
        return self.node(node).locator(f'[data-handleid="{port}"]')


@pytest.fixture
def scene(tmp_path):
    return write_scene(tmp_path / "scene.usda")


@pytest.fixture
def start(tmp_path):
    """start(scene) -> a running server for a scene; start(None, folder) for a new one."""
    with contextlib.ExitStack() as stack:
        yield lambda scene, folder=None: stack.enter_context(running(scene, tmp_path / "settings", folder))


@pytest.fixture
def studio(scene, start):
    return start(scene)


@pytest.fixture
def open_tab(browser, start, request):
    """open_tab(studio) -> a page; at the end no page may have complained, or asked another server.

    Pages are closed before their servers, as `start` ends after this fixture.
    """
    tabs = []

    def open_one(studio=None, **options):
        studio = studio or request.getfixturevalue("studio")
        tabs.append(Tab(browser, studio, **options))
        return tabs[-1]

    yield open_one
    for tab in tabs:
        tab.page.close()
        assert not tab.complaints
        own = (tab.studio.address, tab.studio.address.replace("http", "ws"), "data:", "blob:")
        assert [url for url in tab.requests if not url.startswith(own)] == []


@pytest.fixture
def tab(open_tab):
    """A page that runs the scene's texts."""
    tab = open_tab()
    tab.run()
    return tab
