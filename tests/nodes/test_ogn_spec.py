"""Reading `.ogn` files: what is taken, and what each mistake says."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omni.warp_core.nodes.ogn.ogn_spec import OgnError, from_dict, from_json, read
from omni.warp_core.nodes.stock import node_registry
from omni.warp_core.nodes.stock.node_registry import Registry
from omni.warp_core.nodes.values.attribute_types import parse

GOOD = {
    "$comment": "before the node",
    "Blur": {
        "$note": [1, 2],
        "version": 3,
        "description": ["Blurs", "an image"],
        "language": "python",
        "uiName": "Blur Image",
        "categories": "math,texture",
        "scheduling": "usd-read threadsafe",
        "tokens": {"fast": "Fast!", "slow": "Slow!"},
        "metadata": {"a": "b", "list": ["x", "y"]},
        "exclude": ["tests"],
        "inputs": {
            "$c": "comment",
            "radius": {"type": "float", "description": "r", "default": 1.5, "minimum": 0, "maximum": 10},
            "mode": {"type": "token", "description": "m", "allowedTokens": {"a": "A", "b": "B"}, "default": "b"},
            "inputs:image": {"type": "colorf[4][]", "description": ["the", "image"], "optional": True},
            "any:thing": {"type": ["float", "numerics"], "description": "u"},
            "special": {"type": "double", "description": "s", "default": "-Inf"},
        },
        "outputs": {"execOut": {"type": "execution", "description": "x"}},
        "state": {},
    },
}


def test_a_description():
    spec = from_dict(GOOD, prefix="my.ext")
    assert (spec.name, spec.version, spec.description) == ("my.ext.Blur", 3, "Blurs an image")
    assert spec.ui_name == "Blur Image" and spec.categories == ("math", "texture")
    assert spec.scheduling == ("usd-read", "threadsafe")
    assert spec.tokens == {"fast": "Fast!", "slow": "Slow!", "a": "A", "b": "B"}  # of the node, and of its attributes
    assert spec.metadata == {"a": "b", "list": "x,y"}
    assert list(spec.attributes) == [
        "inputs:radius",
        "inputs:mode",
        "inputs:image",
        "inputs:any:thing",
        "inputs:special",
        "outputs:execOut",
    ]
    assert spec.attributes["inputs:mode"].default == "B" and spec.attributes["inputs:radius"].default == 1.5
    assert spec.attributes["inputs:special"].default == float("-inf")
    assert spec.attributes["inputs:image"].type == parse("colorf[4][]") and spec.attributes["inputs:image"].optional
    assert spec.attributes["inputs:any:thing"].type.is_any
    assert spec.is_execution and not spec.is_event


def test_dots_in_the_name_override_the_prefix():
    assert from_dict({"a.b.C": {"description": "x", "language": "Python"}}, prefix="my").name == "a.b.C"


def node(**keys):
    return {"N": {"description": "x", "language": "Python", **keys}}


def attribute(**keys):
    return node(inputs={"a": {"type": "float", "description": "x", **keys}})


MISTAKES = [
    (node(description=3), "N.description: must be a text or a list of texts"),
    ({"N": {"language": "Python"}}, "description is missing"),
    ({"N": {"description": "x"}}, 'language: must be "Python"'),
    (node(version="2"), "version: must be a whole number"),
    (node(version=True), "version: must be a whole number"),
    (node(uiName='say "x"'), "without quotes"),
    (node(categories="nonsense"), "unknown category 'nonsense'"),
    (node(categoryDefinitions="missing.json"), "'missing.json' are not there"),
    (node(memoryType="gpu"), "one of cpu, cuda, any"),
    (node(memoryType="cuda"), "needs cudaPointers"),
    (node(scheduling="fast"), "unknown hint 'fast'"),
    (node(scheduling="usd-read,usd-write"), "at most one hint of usd"),
    (node(scheduling=["pure", "threadsafe"]), "threadsafe conflicts"),
    (node(singleton="yes"), "true or false"),
    (node(exclude="tests"), "must be a list of"),
    (node(icon={"path": "x", "color": "red"}), "#AABBGGRR"),
    (node(tokens={"not a name": "x"}), "'not a name' is not a name"),
    (node(inputs=[]), "inputs: must be an object"),
    (node(inputs={"class": {"type": "float", "description": "x"}}), "Python keyword"),
    (node(inputs={"9a": {"type": "float", "description": "x"}}), "not an attribute name"),
    (node(inputs={"a": 3}), "must be an object"),
    (node(inputs={"a": {"description": "x"}}), "type is missing"),
    (node(inputs={"a": {"type": "float"}}), "description is missing"),
    (node(inputs={n: {"type": "int", "description": "x"} for n in ("a", "inputs:a")}), "declared twice"),
    (attribute(colour="red"), "colour: unknown key"),
    (attribute(type="flot"), "no attribute type 'flot'"),
    (attribute(type=[]), "at least one type"),
    (attribute(default="x"), "needs one number"),
    (attribute(default=5, maximum=4), "beyond the maximum 4"),
    (attribute(type="string", minimum=1), "only for numbers"),
    (attribute(type="any", default=1), "cannot have a default"),
    (attribute(allowedTokens="a,b"), "only for tokens"),
    (attribute(type="token", allowedTokens="a,b", default="c"), "not among the allowed tokens"),
    (attribute(type="token", allowedTokens="a", metadata={"allowedTokens": "a"}), "give it once"),
    ({}, "one key"),
    ({"A": {}, "B": {}}, "it has 2"),
    ([], "one key"),
    ({"N": 3}, "must be an object"),
    ({"bad name": {"description": "x", "language": "Python"}}, "not a node name"),
]


@pytest.mark.parametrize(("content", "words"), MISTAKES, ids=[words for _, words in MISTAKES])
def test_mistakes(content, words):
    with pytest.raises(OgnError) as error:
        from_dict(content)
    assert words in str(error.value)


def test_all_mistakes_are_told_at_once():
    with pytest.raises(OgnError) as error:
        from_dict(node(version=0, scheduling="x", inputs={"a": {"type": "x", "description": "y"}}))
    assert len(error.value.problems) == 3


@pytest.mark.parametrize("text", ['{"A": {}', "", "[" * 100_000, '{"A": 1, "A": 2}', "nul"])
def test_text_that_is_no_json(text):
    with pytest.raises(OgnError):
        from_json(text)


def test_files(tmp_path):
    with pytest.raises(OgnError):
        read(tmp_path / "missing.ogn")
    (tmp_path / "OgnBinary.ogn").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OgnError):
        read(tmp_path / "OgnBinary.ogn")


def test_our_nodes_are_all_right():
    found = node_registry.standard()
    assert all(each.is_compound or callable(each.cls.compute) for each in found)
    spec = found.find("omni.warp_core.Kernel").spec
    assert spec.is_execution and spec.attributes["inputs:codeStr"].type == parse("string")
    old = found.find("omni.warp.WarpKernel")
    assert old.cls is found.find("omni.warp_core.Kernel").cls and old.spec.name == spec.name
    assert (spec.attributes["inputs:dim1"].default, old.spec.attributes["inputs:dim1"].default) == (-1, 1)
    assert found.find("omni.graph.action_nodes.OnTick").spec.is_event
    assert found.find("omni.graph.Nothing") is None
    assert "omni.graph.action.OnTick" in found.nearest("omni.graph.action.OnTik")


@pytest.mark.parametrize(
    ("python", "words"),
    [
        (None, "OgnThing.py is missing"),
        ("class OgnOther: pass", "needs a class OgnThing"),
        ("class OgnThing: pass", "compute(db)"),
        ("1 / 0", "ZeroDivisionError"),
        ("def (", "SyntaxError"),
    ],
)
def test_node_folders_with_mistakes(tmp_path, python, words):
    (tmp_path / "OgnThing.ogn").write_text(json.dumps({"Thing": {"description": "x", "language": "Python"}}))
    if python is not None:
        (tmp_path / "OgnThing.py").write_text(python)
    found = Registry()
    found.add_folder(tmp_path)
    with pytest.raises(OgnError) as error:
        found.find("omni.warp_core.Thing").hook("compute")
    assert words in str(error.value)


def test_a_node_folder(tmp_path):
    (tmp_path / "below").mkdir()
    for name, folder in (("Thing", tmp_path), ("Other", tmp_path / "below")):
        (folder / f"Ogn{name}.ogn").write_text(json.dumps({name: {"description": "x", "language": "Python"}}))
        (folder / f"Ogn{name}.py").write_text(f"class Ogn{name}:\n    compute = staticmethod(lambda db: True)\n")
    found = Registry()
    found.add_folder(tmp_path)
    assert found.find("omni.warp_core.Thing").cls.__name__ == "OgnThing"
    assert found.find("omni.warp_core.Other") is None


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False))
def test_mutated_text_gives_a_description_or_a_clean_error(rng: random.Random):
    text = list(json.dumps(GOOD))
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(text))
        text[at : at + rng.randint(0, 4)] = rng.choice(["", "{", "}", '"', "null", "-1", ",", "[]", "1e999", "\\u0000"])
    try:
        assert from_json("".join(text)).attributes is not None
    except OgnError as error:
        assert error.problems


def _mutated(value, rng):
    """The same structure with one thing in it replaced."""
    junk = [None, True, -1, 3.5, "", "x", [], {}, [None], {"a": None}]
    if rng.random() < 0.15 or not isinstance(value, (dict, list)) or not value:
        return rng.choice(junk)
    if isinstance(value, list):
        at = rng.randrange(len(value))
        return [_mutated(v, rng) if i == at else v for i, v in enumerate(value)]
    at = rng.choice(list(value))
    return {k: _mutated(v, rng) if k == at else v for k, v in value.items()}


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False))
def test_mutated_structure_gives_a_description_or_a_clean_error(rng: random.Random):
    try:
        assert from_dict(_mutated(GOOD, rng)).name
    except OgnError as error:
        assert error.problems


@pytest.mark.parametrize(
    ("kind", "limits", "told"),
    [
        ("float", {"minimum": "Any"}, "A.inputs.x.minimum: float needs one number, got 'Any'"),
        ("float", {"maximum": None, "default": 1.0}, "A.inputs.x.maximum: float needs one number, got None"),
        ("int[3]", {"minimum": "a", "default": [1, 2, 3]}, "A.inputs.x.minimum: int needs one number, got 'a'"),
        ("float[3]", {"minimum": [0, 1]}, "A.inputs.x.minimum: "),
    ],
)
def test_limits_that_are_no_numbers_are_told_where_they_stand(kind, limits, told):
    entry = {"type": kind, "description": "x", **limits}
    with pytest.raises(OgnError) as refused:
        from_dict({"A": {"description": "a", "language": "Python", "inputs": {"x": entry}}})
    [problem] = refused.value.problems
    assert problem.startswith(told)
