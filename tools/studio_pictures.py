"""Take the pictures of the studio: those of docs/studio.md and of the samples in its gallery.

    python -m tools.studio_pictures [NAME ...]

It needs Chromium, as `make test-browser` does, and the built page. NAME: gallery, dark, light, mistake, smoke, or
samples for the small pictures in studio/src/samples; without one, all are taken. Look at them before you commit them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from omni.warp_core.studio.editing.sample_scenes import SAMPLES
from tests.browser.conftest import chromium
from tests.studio_server import running

ROOT = Path(__file__).resolve().parent.parent
IMAGES, SCENES, SMALL = ROOT / "docs" / "images", ROOT / "data" / "scenes", ROOT / "studio" / "src" / "samples"
SIZE = {"width": 1280, "height": 800}
FRAME = 14
_PATIENCE = 120_000  # milliseconds


@contextmanager
def studio(browser: Any, scene: str, scheme: str = "dark") -> Iterator[Page]:
    """Open a copy of a sample scene in a page, or a new scene if `scene` is ""."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "work"
        shutil.copytree(SCENES, copy) if scene else copy.mkdir()
        with running(copy / f"{scene}.usda" if scene else None, Path(folder) / "settings", copy) as server:
            page = browser.new_page(viewport=SIZE, color_scheme=scheme)
            page.set_default_timeout(_PATIENCE)
            page.goto(server.url)
            yield page
            page.close()


def run(page: Page, node: str) -> None:
    """Agree to the texts, choose a node, and show a frame."""
    page.get_by_role("button", name="Run now").click()
    page.locator(f'.react-flow__node[data-id="/World/Graph/{node}"]').click()
    page.get_by_label("Frame", exact=True).fill(str(FRAME))
    page.wait_for_function(f"() => omniStudio.frame === {FRAME}")
    page.get_by_text("Compiled in").wait_for()
    page.wait_for_timeout(1000)  # times of nodes, and the viewport at rest


def save(page: Page, name: str) -> None:
    """Write what the page shows."""
    page.screenshot(path=IMAGES / f"studio-{name}.png")


def take_gallery(browser: Any) -> None:
    """Samples on an empty start."""
    with studio(browser, "") as page:
        page.get_by_role("dialog", name="Begin with").wait_for()
        page.locator(".engine", has_text="ready").wait_for()
        page.wait_for_timeout(1000)
        save(page, "gallery")


def take_theme(browser: Any, scheme: str) -> None:
    """The wave scene in a theme."""
    with studio(browser, "wave", scheme) as page:
        run(page, "wave")
        save(page, scheme)


def take_mistake(browser: Any) -> None:
    """A mistake in the kernel, with its fix."""
    with studio(browser, "wave") as page:
        run(page, "wave")
        page.locator(".cm-content").focus()
        page.keyboard.press("Control+f")
        page.keyboard.type("sqrt(x")
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        page.keyboard.insert_text("sqroot(x")
        page.keyboard.press("Escape")  # closes the list of names
        mark = page.locator(".cm-lintRange-error")
        mark.wait_for()
        page.mouse.move(600, 600)
        mark.hover()
        page.locator(".cm-diagnosticAction").first.wait_for()
        page.wait_for_timeout(500)
        save(page, "mistake")


def take_smoke(browser: Any) -> None:
    """Fog that a kernel fills."""
    with studio(browser, "puff") as page:
        run(page, next(iter(kernels(page))))
        page.wait_for_timeout(1000)
        save(page, "smoke")


def kernels(page: Page) -> list[str]:
    """The names of the nodes that have a text."""
    page.locator(".tabs [role=tab]").first.wait_for()
    return page.locator(".tabs [role=tab]").all_inner_texts()


def take_samples(browser: Any) -> None:
    """Small pictures of the samples: those of docs/images where there are some, else frame 24 as `preview` draws it."""
    SMALL.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in SAMPLES:
            found = [each for each in (IMAGES / f"node_{name}.jpg", IMAGES / f"{name}.png") if each.is_file()]
            picture = found[0] if found else drawn(name, Path(folder))
            with Image.open(picture) as opened:
                small = opened.convert("RGB").resize((256, 144), Image.Resampling.LANCZOS)
            small.save(SMALL / f"{name}.jpg", quality=72, optimize=True)


def drawn(name: str, folder: Path) -> Path:
    """Play a sample scene, and draw it."""
    command, result, picture = Path(sys.executable).with_name("omni-warp"), folder / f"{name}.usdc", folder / "x.png"
    subprocess.run([command, "play", SCENES / f"{name}.usda", "-o", result, "--trust"], check=True)
    subprocess.run([command, "preview", result, "--frame", "24", "-o", picture], check=True)
    return picture


PICTURES: dict[str, Callable[[Any], None]] = {
    "samples": take_samples,
    "gallery": take_gallery,
    "dark": lambda browser: take_theme(browser, "dark"),
    "light": lambda browser: take_theme(browser, "light"),
    "mistake": take_mistake,
    "smoke": take_smoke,
}


def main(names: list[str]) -> None:
    """Take some pictures, or all."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for name in names or PICTURES:
            PICTURES[name](browser)
            print(name)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
