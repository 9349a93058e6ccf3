"""Time what a user of the studio waits for, in a real browser: the table of docs/design/studio.md, section 6.

    python benchmarks/studio.py [--trials N] [--json FILE]

The scene is data/scenes/wave.usda: 65 536 points, and a kernel of 38 lines; one row is about a cloud of a million
points. Times go from the action in the page until the page has the new arrays, and leave drawing apart, as a machine
without a GPU draws with its processor. Each row has the figure of the prototype, and how many times as good the studio
is. Run it on a quiet machine; the load is printed above the table. It needs Chromium and the page (`make studio`).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from tests.browser.conftest import chromium  # noqa: E402
from tests.studio_scenes import write_large  # noqa: E402
from tests.studio_server import Studio  # noqa: E402

PAGE = ROOT / "omni" / "warp_core" / "studio" / "page"
CRASH = "import os\nos.kill(os.getpid(), 11)\n"
SECONDS = 4.0  # of each measured play, and of idling


class Row(NamedTuple):
    """A measured figure. `prototype` is None where the prototype was not measured; of a rate, more is better."""

    what: str
    value: float
    unit: str
    prototype: float | None
    goal: str
    is_rate: bool = False


# Keeps the times at which arrays reach the page, and waits for the first record after now.
WATCH = """() => {
  omniStudio.renderer.setAnimationLoop(null);  // drawing apart
  const take = omniStudio.take.bind(omniStudio);
  window.arrived = [];
  omniStudio.take = (record) => {
    take(record);
    if (record.arrays.some(({key}) => /\\n(vertices|points)$/.test(key))) arrived.push(performance.now());
  };
}"""
NEXT = """(act) => new Promise((done) => {
  const started = performance.now(), before = arrived.length;
  eval_[act.name](act.value);
  const look = () => arrived.length > before ? done(arrived[before] - started) : setTimeout(look, 1);
  look();
})"""
ACTS = """() => {
  const set = (element, value, how) => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(element, value);
    element.dispatchEvent(new Event(how, {bubbles: true}));
  };
  window.eval_ = {
    slide: (value) => set(document.querySelector('.parameters input[type=range]'), value, 'input'),
  };
}"""


class Tab:
    """A page of a studio that plays one scene."""

    def __init__(self, browser: Any, scene: Path, settings: Path):
        self.started = time.perf_counter()
        self.studio = Studio(scene, settings)
        self.address_at = self.passed()
        self.page: Page = browser.new_page(viewport={"width": 1280, "height": 720})
        self.page.set_default_timeout(60_000)
        self.page.goto(self.studio.url)
        self.page.get_by_role("button", name="Run now").wait_for()
        self.works_at = self.passed()
        self.page.get_by_role("button", name="Run now").click()
        self.page.get_by_text("Compiled in").wait_for()
        self.picture_at = self.passed()
        self.page.evaluate(WATCH)
        self.page.evaluate(ACTS)

    def passed(self) -> float:
        """Seconds since the command."""
        return time.perf_counter() - self.started

    def close(self) -> None:
        """Close the page and end the studio."""
        self.page.close()
        self.studio.close()

    def slide(self, value: float) -> float:
        """Move a slider; return the milliseconds until the page has the new arrays."""
        return self.page.evaluate(NEXT, {"name": "slide", "value": str(value)})

    def edit(self, old: str, new: str) -> float:
        """Replace a word of the text in one step; return the milliseconds until the page has the new arrays."""
        self.find(old)
        before = self.page.evaluate("[performance.now(), arrived.length]")
        self.page.keyboard.insert_text(new)
        self.page.wait_for_function(f"() => arrived.length > {before[1]}", polling=5)
        return self.page.evaluate("arrived")[before[1]] - before[0]

    def mistake(self, old: str, new: str) -> float:
        """Make a mistake; return the milliseconds from the key until it is marked."""
        self.find(old)
        started = time.perf_counter()
        self.page.keyboard.insert_text(new)
        self.page.locator(".cm-lintRange-error").first.wait_for()
        took = 1e3 * (time.perf_counter() - started)
        self.page.keyboard.press("Control+z")
        self.page.locator(".cm-lintRange-error").first.wait_for(state="detached")
        return took

    def find(self, word: str) -> None:
        """Select the next place of a word in the editor."""
        self.page.locator(".cm-content").focus()
        self.page.keyboard.press("Control+Home")
        self.page.keyboard.press("Control+f")
        self.page.locator(".cm-search input[name=search]").press("Control+a")
        self.page.keyboard.type(word)
        self.page.keyboard.press("Enter")
        self.page.keyboard.press("Escape")

    def rate(self) -> float:
        """Frames a second that reach the page while it plays, evaluated or kept."""
        self.page.get_by_label("Speed").select_option("4")
        self.page.get_by_role("button", name="Play").click()
        self.page.wait_for_timeout(1500)
        before, started = self.page.evaluate("arrived.length"), time.perf_counter()
        self.page.wait_for_timeout(1000 * SECONDS)
        count = self.page.evaluate("arrived.length") - before
        rate = count / (time.perf_counter() - started)
        self.page.get_by_role("button", name="Pause").click()
        return rate

    def crash(self) -> float:
        """End the engine by a text; return the seconds until it is ready again."""
        self.page.locator(".cm-content").focus()
        self.page.keyboard.press("Control+Home")
        self.page.keyboard.insert_text(CRASH)
        run = self.page.get_by_role("button", name="Run (Ctrl+Enter)")
        run.wait_for()
        records = self.page.evaluate("arrived.length")
        started = time.perf_counter()
        run.click()
        self.page.get_by_text("Nothing is lost").wait_for()
        self.page.wait_for_function(f"() => arrived.length > {records}", polling=5)
        return time.perf_counter() - started

    def idle(self) -> float:
        """The processor time of server and engine while nothing happens, in percent of one core."""
        self.page.wait_for_timeout(1000)
        before = seconds_of(self.studio.process.pid)
        self.page.wait_for_timeout(1000 * SECONDS)
        return 100 * (seconds_of(self.studio.process.pid) - before) / SECONDS


def seconds_of(process: int) -> float:
    """Return the processor time of a process and its children."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return own + sum(seconds_of(int(child)) for child in children)


def repeated(trials: int, act: Callable[[int], float]) -> tuple[float, float, float]:
    """Return median, 95th percentile and the most of some trials."""
    found = sorted(act(trial) for trial in range(trials))
    return statistics.median(found), found[int(0.95 * (len(found) - 1))], found[-1]


def measured(browser: Any, folder: Path, trials: int) -> list[Row]:
    """Return all rows."""
    shutil.copytree(ROOT / "data" / "scenes", folder / "scenes")
    tab = Tab(browser, folder / "scenes" / "wave.usda", folder / "settings")
    rows = [
        Row("command, page works", tab.works_at, "s", 3.5, "1.0"),
        Row("command, picture", tab.picture_at, "s", 6.0, "2.5"),
    ]
    seed = os.getpid()  # texts that no cache has
    texts = [f"0.{850 + trial}1{seed}" for trial in range(trials)]
    middle, late, _ = repeated(trials, lambda trial: tab.edit(["0.85", *texts][trial], texts[trial]))
    rows += [Row("edit, new mesh, median", middle, "ms", 258, "150"), Row("edit, 95 %", late, "ms", None, "250")]
    tab.page.locator('.react-flow__node[data-id$="/wave"]').click()
    middle, late, most = repeated(trials, lambda trial: tab.slide(0.5 + 0.01 * trial))
    rows += [Row("slider, data in the page, median", middle, "ms", 17, ""), Row("slider, 95 %", late, "ms", None, "33")]
    rows += [Row("slider, most", most, "ms", 32, "")]
    middle, _, _ = repeated(max(3, trials // 4), lambda trial: tab.mistake("wp.sqrt(x", "wp.sqroot(x"))
    rows += [Row("mistake, marked", middle, "ms", 338, "400")]
    rows += [Row("frames a second, 65 536 points", tab.rate(), "1/s", 62, "60", True)]
    rows += [Row("idle, of one core", tab.idle(), "%", None, "1")]
    rows += [Row("crash, picture again", tab.crash(), "s", 2.9, "1.5")]
    tab.close()
    tab = Tab(browser, moving(write_large(folder / "large.usda", 1000, 300)), folder / "settings")
    rows += [Row("frames a second, 1 M points", tab.rate(), "1/s", None, "8", True)]
    tab.close()
    return [*rows, Row("page, gzip, with fonts for Latin", page_size(), "kB", 418, "550")]


def moving(scene: Path) -> Path:
    """Let the points of a large scene move with time."""
    text = scene.read_text().replace("spread(height: float", "spread(time: float, height: float")
    text = text.replace("height, float(i / ", "height + time, float(i / ")
    clock = "custom double inputs:time.connect = </Graph/n0.outputs:time>\n        custom float inputs:height"
    scene.write_text(text.replace("custom float inputs:height", clock))
    return scene


def page_size() -> float:
    """Return the kilobytes of what a page in English loads: scripts and styles compressed, and two fonts."""
    files = [PAGE / "index.html", *(PAGE / "assets").iterdir()]
    loaded = [each for each in files if each.suffix in (".html", ".js", ".css") or "-latin-wght" in each.name]
    return sum(len(gzip.compress(each.read_bytes(), mtime=0)) for each in loaded) / 1000


def told(row: Row) -> str:
    """Return a line of the table."""
    better = None
    if row.prototype is not None:
        better = row.value / row.prototype if row.is_rate else row.prototype / row.value
    prototype = "–" if row.prototype is None else f"{row.prototype:g}"
    ratio = "–" if better is None else f"{better:.2f}"
    return f"| {row.what} | {row.value:.3g} {row.unit} | {prototype} | {ratio} | {row.goal or '–'} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=40, help="trials of each time")
    parser.add_argument("--json", type=Path, help="also write the rows to a file")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        rows = measured(browser, Path(folder), options.trials)
        browser.close()
    print("| what | studio | prototype | times as good | goal |\n|---|---|---|---|---|")
    print(*map(told, rows), sep="\n")
    if options.json:
        options.json.write_text(json.dumps([row._asdict() for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
