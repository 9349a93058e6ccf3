"""Corpus of the mutations: the kernels of the test suite as modules of text, each with a kernel.

Kernels of tests come with the functions, structs and constants beside them. Functions of everyday Python get a kernel
that prints their results, so that no part of them is dropped as unused.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import random
from collections.abc import Iterator
from pathlib import Path

from tests.lang.random_python import KernelWriter

TESTS = Path(__file__).resolve().parent.parent
HEAD = """\
import math
import typing
import numpy as np
import omni.warp_core as wp
from omni.warp_core.lang.types import F32, I32, Mat, Vec
"""
FOLDERS = (
    *("lang", "front", "lib", "codegen", "values", "algo", "errors"),
    *("arrays", "devices", "launches", "graphs", "eager", "interpreter", "viz", "package"),
)
GENERATED = 20


def everything() -> Iterator[tuple[str, str]]:
    """(file, text) of all hand-written kernels of the tests and the examples, those that tests hold as text too."""
    for path, tree in _files():
        name = str(path.relative_to(TESTS.parent))
        for text in [
            *_tests(tree),
            *_strings(tree),
            *(_everyday(tree) if path.name.startswith("language_cases") else ()),
        ]:
            yield name, text


def modules() -> list[str]:
    """The texts, those of hand-written kernels first."""
    found = []
    for folder in FOLDERS:
        for path in sorted((TESTS / folder).rglob("*.py")):
            tree = ast.parse(path.read_text())
            if path.name.startswith("language_cases"):
                found += _everyday(tree)
            elif folder == "errors":
                found += _strings(tree)
            else:
                found += _tests(tree)
    found += generated()
    random.Random(0).shuffle(found)
    return found


def generated() -> list[str]:
    """Some random programs."""
    writers = (KernelWriter(seed) for seed in range(GENERATED))
    types = "wp.array(dtype=int)", "wp.array2d(dtype=int)"
    return [HEAD + w.kernel("@wp.kernel", "wp.tid()", types) for w in writers]


def kernels_by_hand() -> set[tuple[str, str]]:
    """(file, name) of all functions of the tests and the examples that are decorated as kernels."""
    return {
        (str(path.relative_to(TESTS.parent)), node.name)
        for path, tree in _files()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        if any(ast.unparse(d).startswith("wp.kernel") for d in node.decorator_list)
    }


@functools.cache
def _files() -> list[tuple[Path, ast.Module]]:
    """The files that may have kernels, parsed once in a process."""
    paths = sorted([*TESTS.rglob("*.py"), *(TESTS.parent / "examples").glob("*.py")])
    texts = [(path, path.read_text()) for path in paths]
    return [(p, ast.parse(text)) for p, text in texts if "kernel" in text or p.name.startswith("language_cases")]


def _marked(node: ast.AST) -> bool:
    """Whether the definition is decorated with something of wp."""
    return any(ast.unparse(d).startswith("wp.") for d in getattr(node, "decorator_list", ()))


def _constants(tree: ast.Module) -> list[ast.stmt]:
    """The assignments of a module that need nothing else of it, and what it imports of the tests."""
    space: dict = {}
    exec(HEAD, space)
    kept = []
    for n in tree.body:
        if isinstance(n, ast.Assign) or (isinstance(n, ast.ImportFrom) and (n.module or "").startswith("tests.")):
            with contextlib.suppress(Exception):
                exec(ast.unparse(n), space)
                kept.append(n)
    return kept


def _join(parts: list[ast.stmt]) -> str:
    return HEAD + "\n\n".join(map(ast.unparse, parts)) + "\n"


def _tests(tree: ast.Module) -> Iterator[str]:
    """One module for each function of a test file that defines kernels, and one for the kernels beside them."""
    shared = [n for n in tree.body if _marked(n)]
    constants: list[ast.stmt] | None = None
    for scope in [tree, *(n for n in tree.body if isinstance(n, ast.FunctionDef) and not _marked(n))]:
        parts = [n for n in ast.walk(scope) if _marked(n)] if scope is not tree else shared
        if any("kernel" in ast.unparse(d) for n in parts for d in getattr(n, "decorator_list", ())):
            constants = _constants(tree) if constants is None else constants
            yield _join([*constants, *(shared if scope is not tree else []), *parts])


def _everyday(tree: ast.Module) -> Iterator[str]:
    others = [n for n in tree.body if isinstance(n, (ast.Assign, ast.ClassDef, ast.Import, ast.ImportFrom))]
    for f in (n for n in tree.body if isinstance(n, ast.FunctionDef)):
        header = ", ".join(f"{a.arg}: {ast.unparse(a.annotation)}" for a in f.args.args if a.annotation)
        call = f"{f.name}({', '.join(a.arg for a in f.args.args)})"
        yield f"{_join(others)}\n\n@wp.func\n{ast.unparse(f)}\n\n\n@wp.kernel\ndef k({header}):\n    print({call})\n"


def _strings(tree: ast.Module) -> Iterator[str]:
    """Kernels that tests hold as text."""
    for n in ast.walk(tree):
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and "@wp.kernel\ndef " in n.value:
            try:
                ast.parse(n.value)
            except (SyntaxError, ValueError):
                continue
            yield HEAD + n.value
