"""The library's index and docstrings: complete, in one form, with examples that run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import types
from pathlib import Path

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.eager import call  # noqa: F401 - it completes the table of intrinsics
from omni.warp_core.lang import registry
from omni.warp_core.lib.builtin_index import INDEX

pytestmark = pytest.mark.cpu

LIBRARY = Path(wp.__file__).parent / "lib"
DEFINITION = re.compile(r"^@builtin(?:\((?:name=\"(\w+)\")?[^)]*\))?\ndef (\w+)", re.MULTILINE)
FLOAT_FREE = {"isfinite", "isnan", "isinf", "argmin", "argmax", "bit_count"}  # no numbers that errors could be in
ARITHMETIC = {"add", "sub", "mul", "div", "mod", "floordiv", "neg", "pos"}


def definitions() -> dict[str, list[str]]:
    """Name of builtin -> modules that define overloads of it."""
    found: dict[str, list[str]] = {}
    for path in sorted(LIBRARY.rglob("*.py")):
        for name, function in DEFINITION.findall(path.read_text()):
            if not (name or function).startswith("_"):
                found.setdefault(name or function, []).append(".".join(path.relative_to(LIBRARY).with_suffix("").parts))
    return found


def test_the_index_lists_what_the_modules_define():
    found = definitions()
    assert set(INDEX) == set(found)
    for name, module in INDEX.items():
        assert module in found[name]


@pytest.mark.parametrize("name", [n for n, modules in definitions().items() if len(set(modules)) > 1])
def test_the_module_of_a_name_brings_all_its_overloads(name):
    """A name with overloads in several modules stands in the index with one that imports the others."""
    module = importlib.import_module(f"omni.warp_core.lib.{INDEX[name]}")
    others = {m for m in definitions()[name] if m != INDEX[name]}
    text, seen = "", [module.__name__.rpartition(".")[2]]
    for stem in seen:
        text = (LIBRARY / f"{stem}.py").read_text()
        seen += [
            m for m in re.findall(r"^from \.(\w+) import|^from \. import (\w+)", text, re.MULTILINE) for m in m if m
        ]
        if others <= set(seen):
            return
    pytest.fail(f"{INDEX[name]} does not import {others - set(seen)}")


@pytest.mark.parametrize("name", INDEX)
def test_docstrings_have_every_section(name):
    builtin = registry.get(name)
    doc = inspect.cleandoc(builtin.__doc__)
    parameters = [p for p, _, _ in builtin.overloads[0].params]
    assert doc.splitlines()[0].endswith("."), name
    returns = builtin.overloads[0].func.__annotations__["return"]
    assert "\nReturns:\n" in doc or returns == "None"
    assert "\nDerivative: " in doc or name in FLOAT_FREE
    assert "\nError: " in doc or name in FLOAT_FREE or not parameters
    assert "\n>>> " in doc
    for p in parameters:
        assert re.search(rf"^ {{4}}{p}: ", doc, re.MULTILINE), f"{name} does not describe {p}"


OF_VALUES = """cast expect_eq expect_neq expect_near vector matrix quaternion transformation identity matrix_from_rows
    matrix_from_cols add sub mul div mod floordiv neg pos unot invert bit_and bit_or bit_xor lshift rshift"""


@pytest.mark.parametrize("name", [*registry.INTRINSICS, "zeros"])
def test_the_row_of_an_intrinsic_is_complete(name):
    """The front end lowers it in kernels. At Python scope the front end does so, too, or a function runs it."""
    row = registry.intrinsic(name)
    assert row.name == name and callable(row.lower)
    assert callable(row.run) == (name not in OF_VALUES.split())


@pytest.mark.parametrize("name", registry.INTRINSICS)
def test_intrinsics_are_described(name):
    """Their docstrings are in intrinsics.py, access_functions.py and operators.py of lang, with their parameters."""
    doc = inspect.cleandoc(registry.INTRINSICS[name].__doc__)
    assert doc.splitlines()[0].endswith("."), name
    returns = inspect.signature(registry.INTRINSICS[name]).return_annotation
    assert ("\nReturns:\n" in doc) == (returns != "None")
    assert ("\nError: " in doc) == (name in ARITHMETIC)
    assert "\nDerivative: " in doc or not re.fullmatch(r"S|T|AnyScalar|(Vec|Mat|Quat|Transform)\[.*", returns)
    assert "\n>>> " in doc
    for p in inspect.signature(registry.INTRINSICS[name]).parameters:
        assert re.search(rf"^ {{4}}{p}: ", doc, re.MULTILINE), f"{name} does not describe {p}"


@pytest.mark.parametrize("name", [*INDEX, *registry.INTRINSICS])
def test_examples_run_at_python_scope(name):
    test = doctest.DocTestParser().get_doctest(registry.public(name).__doc__, {"wp": wp, "np": np}, name, None, None)
    result = doctest.DocTestRunner(verbose=False).run(test)
    assert result.attempted
    assert not result.failed


RUNTIME = ("devices", "arrays", "launches", "graphs", "tape", "forward_mode", "algo", "geometry", "volumes")
# What the rest of the package defines: functions and classes that users call, by the name they write.
CALLED = {
    name: getattr(wp, name)
    for home, names in wp._HOMES.items()
    if home.partition(".")[0] in ("lang", *RUNTIME)
    and home not in ("lang.values.value_classes", "lang.values.scalars", "lang.values.constants")
    for name in names.split()
    if not isinstance(getattr(wp, name), (int, types.UnionType))  # which have no docstrings
}
CALLED |= {f"{m}.{n}": getattr(getattr(wp, m), n) for m in ("utils", "types") for n in getattr(wp, m).__all__}
FUNCTIONS = {name: value for name, value in CALLED.items() if inspect.isroutine(value)}


@pytest.mark.parametrize("name", CALLED)
def test_public_names_are_described(name):
    value = CALLED[name]
    doc = inspect.getdoc(value)
    assert doc and re.match(r".*[.:]$", doc.split("\n\n")[0].splitlines()[-1]), name
    if inspect.isroutine(value):
        parameters = [p for p in inspect.signature(value).parameters if p != "self"]
        missing = [p for p in parameters if not re.search(rf"^ {{4}}[^:]*\b{p}\b[^:]*: ", doc, re.MULTILINE)]
        assert not missing, f"{name} does not describe {', '.join(missing)}"
        assert not parameters or ">>> " in doc or name == "get_cuda_device", f"{name} has no example"


@pytest.mark.parametrize("name", [n for n, value in CALLED.items() if ">>> " in (value.__doc__ or "")])
def test_examples_of_public_names_run(name, tmp_path, monkeypatch):
    if name == "clear_kernel_cache":  # it must not clear the cache that other tests use, nor the user's
        monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    names = {"wp": wp, "np": np, "__name__": __name__}
    test = doctest.DocTestParser().get_doctest(CALLED[name].__doc__, names, name, None, None)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
