"""The lint for English finds what it is told to, where it stands, and compares totals with the baseline."""

import json

import pytest

from tools import english

TEN = "one two three four five six seven eight nine ten"
LIMIT = f"{TEN} {TEN} {TEN}"
MODULE = f'''"""Whether it works. Nobody knows, and x is None.

>>> {LIMIT} {LIMIT}

Args:
    a: {LIMIT}, be
        it so.
    b: {LIMIT}.
"""
x = "somebody in a program"  # this one is
# none of them


def f(x):
    """{LIMIT.capitalize()}. {LIMIT}."""
    raise ValueError(f"{{x}} asks " "somebody")
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(english, "ROOT", tmp_path)
    monkeypatch.setattr(english, "BASELINE", tmp_path / "baseline.json")
    (tmp_path / "omni").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "native").mkdir()
    return tmp_path


def found(file, text):
    file.write_text(text)
    return sorted(english.findings(file))


def test_python(folder):
    expected = [(1, english.OPENING), (1, english.LONG), (1, "be it"), (1, "nobody"), (10, "is none")]
    assert found(folder / "tests" / "a.py", MODULE) == expected
    strings = [(10, "somebody"), (16, "somebody")]
    assert found(folder / "omni" / "a.py", MODULE) == sorted([*expected, *strings])


def test_cpp(folder):
    text = f'// This is\n// none.\nint nobody = 0;  // {LIMIT}\nthrow Error("be it "\n            "somebody");\n'
    assert found(folder / "native" / "a.cpp", text) == [(1, "is none"), (4, "be it"), (4, "somebody")]
    assert found(folder / "native" / "a.cpp", f"// One {LIMIT}.\n") == [(1, english.LONG)]


def test_the_baseline(folder, capsys):
    def baseline():
        return {kind: n for kind, n in json.loads(english.BASELINE.read_text()).items() if n}

    first, second = folder / "tests" / "a.py", folder / "omni" / "b.py"
    english.BASELINE.write_text("{}")
    first.write_text("# nobody\n")
    assert english.main([]) == 1 and "`nobody` stands 1 times" in capsys.readouterr().out
    english.BASELINE.write_text('{"nobody": 1}')
    first.rename(second)
    assert english.main([]) == 0
    first.write_text("# nobody\n")
    assert english.main(["--lower"]) == 1 and baseline() == {"nobody": 1}
    capsys.readouterr()
    assert english.main([str(first)]) == 0 and capsys.readouterr().out == f"{first}:1: nobody\n"
    first.unlink()
    second.unlink()
    assert english.main(["--lower"]) == 0 and baseline() == {}
