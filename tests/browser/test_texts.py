"""Texts of kernels in the editor of a real browser: what undo, a reload and a lost connection leave of them."""

import contextlib
import socket
import threading

from playwright.sync_api import expect

from tests.studio_scenes import LIFT, write_scene

TICK = 1 / 24
OTHER = LIFT.replace("def lift", "def other")


class Proxy:
    """A connection to a studio that can be cut, and mended. It has the address, as a page sees it."""

    def __init__(self, studio):
        self._target, self.process = studio.port, studio.process
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open, self.is_cut = [], False
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self.url = f"{self.address}#token={studio.token}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self.is_cut:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._target))
                self._open += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=pair, daemon=True).start()

    @staticmethod
    def _pass(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cut(self):
        """End all connections, and refuse new ones."""
        self.is_cut = True
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def lead_to(self, studio):
        """Accept connections again, to a studio."""
        self._target, self.is_cut = studio.port, False

    def close(self):
        """End for ever."""
        self.cut()
        self._listener.close()


def end_of_text(tab):
    """Put the cursor behind the last line."""
    tab.editor.click()
    tab.page.keyboard.press("Control+End")


def test_undo_in_the_editor_ends_at_the_text_of_the_scene(tab):
    tab.replace("height + time", "4.0")
    tab.until_top(4.0)
    for _ in range(5):
        tab.page.keyboard.press("Control+z")
    tab.until_top(0.5 + TICK)
    assert tab.text() == LIFT
    tab.page.keyboard.press("Control+Shift+z")
    tab.until_top(4.0)


def test_each_text_has_its_own_steps_of_undo(start, open_tab, tmp_path):
    scene = write_scene(tmp_path / "scene.usda")
    text = scene.read_text()
    node = text[text.index('    def OmniGraphNode "lift"') : text.index('    def OmniGraphNode "write"')]
    scene.write_text(text.replace(node, node + node.replace('"lift"', '"other"').replace("def lift", "def other")))
    tab = open_tab(start(scene))
    tab.run()
    tab.replace("height + time", "4.0")
    tab.until_top(4.0)
    tab.page.get_by_role("tab", name="other").click()
    expect(tab.page.locator(".cm-content")).to_contain_text("def other")
    tab.editor.click()
    for _ in range(3):
        tab.page.keyboard.press("Control+z")
    assert tab.text() == OTHER
    tab.page.get_by_role("tab", name="lift").click()
    expect(tab.page.locator(".cm-content")).to_contain_text("def lift")
    tab.editor.click()
    tab.page.keyboard.press("Control+z")
    tab.until_top(0.5 + TICK)
    assert tab.text() == LIFT


def test_a_reload_keeps_a_text_that_waits(tab):
    end_of_text(tab)
    tab.page.keyboard.insert_text("import os\n")
    expect(tab.page.get_by_text("Waits: line 5 imports os")).to_be_visible()
    tab.page.reload()
    expect(tab.page.locator(".cm-content")).to_contain_text("import os")
    expect(tab.page.get_by_text("Waits: line 5 imports os")).to_be_visible()
    end_of_text(tab)
    tab.page.keyboard.press("Backspace")
    tab.page.keyboard.insert_text("2")
    expect(tab.page.get_by_text("Waits: line 5 imports os2")).to_be_visible()


def test_what_is_typed_without_a_connection_arrives_with_the_next_one(studio, open_tab):
    with contextlib.closing(Proxy(studio)) as proxy:
        tab = open_tab(proxy)
        tab.run()
        tab.may_lose_connection = True
        proxy.cut()
        expect(tab.page.get_by_text("The studio is not there any more")).to_be_visible()
        tab.replace("height + time", "4.0")
        proxy.lead_to(studio)
        tab.until_top(4.0)
        assert "4.0" in tab.text()


def test_two_windows_agree_on_a_text_that_both_have_changed(tab, open_tab):
    other = open_tab()
    other.until_top(0.5 + TICK)
    for window, text in ((tab, "# a\n"), (other, "# b\n")):
        end_of_text(window)
        window.page.keyboard.insert_text(text)
    tab.until_top(0.5 + TICK)
    for _ in range(100):
        if tab.text() == other.text():
            break
        tab.page.wait_for_timeout(50)
    assert tab.text() == other.text()
    assert "# b" in tab.text()


def test_a_page_whose_studio_was_replaced_keeps_its_text(scene, start, open_tab, studio):
    with contextlib.closing(Proxy(studio)) as proxy:
        tab = open_tab(proxy)
        tab.run()
        tab.may_lose_connection = True
        proxy.cut()
        expect(tab.page.get_by_text("The studio is not there any more")).to_be_visible()
        tab.replace("height + time", "4.0")
        studio.kill()
        proxy.lead_to(start(scene))
        expect(tab.page.get_by_text("Another studio answers here now.")).to_be_visible()
        assert "4.0" in tab.text()


def test_nothing_is_lost_when_two_windows_type_at_once(tab, open_tab):
    other = open_tab()
    other.until_top(0.5 + TICK)
    end_of_text(tab)
    other.editor.click()
    other.page.keyboard.press("Control+Home")
    tab.page.keyboard.insert_text("# ")
    other.page.keyboard.insert_text("\n")
    other.page.keyboard.press("Control+Home")
    other.page.keyboard.insert_text("# ")
    words = [f"one{number} " for number in range(30)], [f"two{number} " for number in range(30)]
    script = """([words]) => { for (const word of words) document.execCommand("insertText", false, word) }"""
    for first in range(0, 30, 3):  # both type before either hears of the other
        for window, own in zip((tab, other), words, strict=True):
            window.page.evaluate(script, [own[first : first + 3]])
    wanted = f"# {''.join(words[1])}\n{LIFT}# {''.join(words[0])}"
    for window in (tab, other):
        window.until(
            'document.querySelector(".cm-content").innerText', lambda text: "one29" in text and "two29" in text
        )
    for _ in range(100):
        if tab.text() == other.text() == wanted:
            break
        tab.page.wait_for_timeout(50)
    assert tab.text() == wanted and other.text() == wanted
    expect(tab.page.get_by_text("Compiled in")).to_be_visible()
    tab.page.keyboard.press("Control+z")  # takes back what was typed in this window alone
    expect(tab.page.locator(".cm-content")).to_contain_text("two29")
    expect(tab.page.locator(".cm-content")).not_to_contain_text("one29")
