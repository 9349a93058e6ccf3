"""The stubs are what `python -m tools.docs` writes, name what the package has, and carry its docstrings."""

from __future__ import annotations

import ast
import inspect

import pytest

import omni.warp_core as wp
from tools.stubs.modules import HEAD
from tools.stubs.names import ALIASES
from tools.stubs.write import PACKAGE, files

STUBS = files()


@pytest.mark.parametrize("name", STUBS)
def test_stubs_are_up_to_date(name):
    assert (PACKAGE / name).read_text() == STUBS[name], "run python -m tools.docs"


def definitions(text: str) -> dict[str, ast.stmt]:
    """Public name -> its first definition in a stub."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(text).body:
        names = {
            ast.ClassDef: lambda n: [n.name],
            ast.FunctionDef: lambda n: [n.name],
            ast.Assign: lambda n: [t.id for t in n.targets],
            ast.AnnAssign: lambda n: [n.target.id],
            ast.ImportFrom: lambda n: [a.asname for a in n.names if a.asname],
        }.get(type(node), lambda n: [])(node)
        for name in names:
            if not name.startswith("_"):
                found.setdefault(name, node)
    return found


DEFINED = definitions(STUBS["__init__.pyi"])


def test_the_stub_has_the_public_names():
    assert set(DEFINED) == {name for name in dir(wp) if not name.startswith("_")}


def test_what_a_reader_completes_has_a_docstring():
    bare = [
        name for name, node in DEFINED.items()
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not ast.get_docstring(node)
    ]  # fmt: skip
    assert not bare


def parameters(node: ast.FunctionDef) -> list[str]:
    args = node.args
    return [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]


@pytest.mark.parametrize("node", [n for n in ast.parse(HEAD.read_text()).body if isinstance(n, ast.FunctionDef)])
def test_functions_typed_by_hand_have_the_parameters_of_the_package(node):
    real = inspect.signature(getattr(wp, node.name)).parameters.values()
    assert parameters(node) == [p.name for p in real if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


@pytest.mark.parametrize("name", ["vec2", "vec3d", "vec4i", "mat33", "quat", "transform", "spatial_vector", "array"])
def test_classes_have_the_members_of_the_package(name):
    """Members in the stub exist, and public ones of the class are in the stub."""
    classes = {n.name: n for n in ast.parse(STUBS["__init__.pyi"]).body if isinstance(n, ast.ClassDef)}
    members: set[str] = set()
    pending = [ALIASES.get(name, name)]
    for cls in pending:
        for node in classes[cls].body:
            if isinstance(node, ast.FunctionDef):
                members.add(node.name)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                members.add(node.target.id)
        bases = (ast.unparse(b).partition("[")[0] for b in classes[cls].bases)
        pending += [b for b in bases if b in classes]
    real = getattr(wp, name)
    # `v @ m` is the vector's at run time; in the stub it is the matrix that knows its vectors.
    assert [m for m in members if not hasattr(real, m)] in ([], ["__rmatmul__"])
    assert {m for m in dir(real) if not m.startswith("_")} <= members
