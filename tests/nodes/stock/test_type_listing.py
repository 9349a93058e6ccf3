"""Lists of node types: the page of the manual, and the command `omni-warp nodes`."""

import re

import pytest

from omni.warp_core import cli
from omni.warp_core.nodes.play import console
from omni.warp_core.nodes.stock import node_registry
from omni.warp_core.nodes.stock.type_listing import all_specs
from tools import type_pages


@pytest.fixture
def run(capsys):
    """run(*arguments) -> (exit code, lines of stdout, stderr) of `omni-warp nodes`."""

    def call(*arguments):
        code = cli.main(["nodes", *arguments])
        captured = capsys.readouterr()
        return code, captured.out.splitlines(), captured.err

    return call


def test_the_page_shows_the_types_of_the_host():
    assert type_pages.PAGE.read_text() == type_pages.page(), "run python -m tools.docs"


def test_the_page_names_every_type_once():
    own = type_pages.page().partition("## Node types of omni.warp")[0]
    named = re.findall(r"^\| `([\w.]+)` \|", own, flags=re.MULTILINE)
    assert len(named) == len(set(named))
    assert set(named) == {node_type.spec.name for node_type in node_registry.standard()}


def test_stock_types_have_one_declaration_each():
    names = [t.spec.name for family in type_pages.builtin_nodes.FAMILIES for t in family.TYPES]
    assert len(names) == len(set(names))


def test_all_types_are_listed_by_name(run):
    code, lines, errors = run()
    names = [line.split()[0] for line in lines[1:]]
    assert code == cli.OK and not errors
    assert names == [spec.name for spec in all_specs(node_registry.standard())]
    (line,) = (line for line in lines if line.startswith("omni.graph.nodes.Modulo "))
    assert line.split(maxsplit=2)[1:2] == ["1"] and "The remainder of a / b" in line


def entries(lines):
    """By attribute: the words of its first line, and the text below it."""
    found, name = {}, ""
    for line in lines:
        if re.match("(inputs|outputs|state):", line):
            name, _, rest = line.partition("  ")
            found[name] = [rest, ""]
        elif name:
            found[name][1] += f" {line.strip()}"
    return found


@pytest.mark.parametrize("name", ["Ease", "ease", "omni.graph.nodes.Ease"])
def test_one_type_is_shown_with_its_attributes(run, name):
    code, lines, _ = run(name)
    assert code == cli.OK and lines[0] == "omni.graph.nodes.Ease, version 2"
    table = entries(lines)
    assert set(table) == {
        "inputs:start",
        "inputs:end",
        "inputs:alpha",
        "inputs:blendExponent",
        "inputs:easeFunc",
        "outputs:result",
    }
    assert table["inputs:blendExponent"][0] == "int = 2"
    assert "(EaseIn, EaseOut, EaseInOut, Linear" in table["inputs:easeFunc"][1]


def test_defaults_and_differences_are_shown(run):
    assert entries(run("MakeTransform")[1])["inputs:scale"][0].endswith("= [1.0, 1.0, 1.0]")
    assert any(line.startswith("Unlike in Kit: ") for line in run("RandomBoolean")[1])
    cloth = entries(run("ClothSimulate")[1])
    assert cloth["inputs:contactFrictionCoeff"][0] == "float = 0.2", "not 0.20000000298, which a float holds"
    assert cloth["inputs:collider"][0] == "bundle", "a bundle has no default"
    assert cloth["inputs:enabled"][0] == "bool = true", "as in a .usda"
    assert cloth["inputs:gravity"][0] == "vectorf[3] = [0.0, -980.0, 0.0]"


def test_a_text_of_several_lines_keeps_them(run):
    lines = run("Kernel")[1]
    at = lines.index("    the default:")
    assert lines[at + 1 : at + 4] == ["        @wp.kernel", "        def compute():", "            pass"]


def test_a_part_of_a_name_lists_what_has_it(run):
    names = [line.split()[0] for line in run("vector")[1][1:]]
    assert "omni.graph.nodes.MakeVector3" in names and all("vector" in name.lower() for name in names)


def test_names_that_nothing_has_get_a_suggestion(run):
    code, lines, errors = run("Substract")
    assert (code, lines) == (cli.USAGE, [])
    assert "there is no node type 'Substract'" in errors and "Subtract" in errors
    assert "\x1b" not in run("a\x1b[2Jb")[2]


def test_lines_fit_the_terminal(run, monkeypatch):
    assert max(map(len, run("Kernel")[1])) <= 100, "also without one"
    monkeypatch.setattr(console, "columns", lambda: 80)
    lines = run("Random")[1]
    assert max(map(len, lines)) <= 80 and max(map(len, run("Kernel")[1])) <= 80
    assert any(line.startswith(" ") for line in lines), "long descriptions go on in the next line"


def test_a_pipe_gets_a_line_for_each_type(run):
    lines = run()[1]
    assert not any(line.startswith(" ") or line.endswith(" ") for line in lines)


def test_help_says_what_it_does(capsys):
    with pytest.raises(SystemExit):
        cli.main(["nodes", "--help"])
    text = capsys.readouterr().out
    assert "list the node types" in text and "NAME" in text
