"""Names of the kernel language for the editor: what completes behind `wp.`, with signatures and first sentences.

They come from the type stub of the package, so that no module of the library is loaded.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib.resources import files
from typing import Any

from ..lang import registry
from .live_text import CALLS


@cache
def kernel_names() -> list[dict[str, Any]]:
    """Return the functions and types that kernels can use, by name: signatures, and the text that explains them."""
    tree = ast.parse((files(__package__.rpartition(".")[0]) / "__init__.pyi").read_text("utf-8"))
    found: dict[str, dict[str, Any]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and _is_of_kernels(node.name):
            entry = found.setdefault(node.name, {"name": node.name, "kind": "function", "signatures": [], "about": ""})
            entry["signatures"].append(_signature(node))
            entry["about"] = entry["about"] or _explained(ast.get_docstring(node) or "")
    types = [{"name": name, "kind": "type", "signatures": [], "about": ""} for name in CALLS - found.keys()]
    return sorted([*found.values(), *types], key=lambda entry: entry["name"])


def _is_of_kernels(name: str) -> bool:
    return name in registry.INTRINSICS or registry.is_builtin(name)


def _signature(node: ast.FunctionDef) -> str:
    result = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"{node.name}({ast.unparse(node.args)}){result}".replace("_Scalar2", "Scalar").replace("typing.Any", "Any")


def _explained(docstring: str) -> str:
    """Return a docstring without its example, which starts at a prompt."""
    return docstring.partition(">>>")[0].strip().removesuffix("Example:").strip()
