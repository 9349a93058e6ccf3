"""The house rules that a parser can check: who may import whom, what may be imported late, how long things may be.

docs/architecture.md says why the layers are as they are. A failure here names the file and line; the repair is to move
the code to the layer it belongs to, not to widen a table.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import omni.warp_core

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "omni" / "warp_core"

# Lowest first. A module imports from its own part and from lower ranks, never from a neighbour or from above.
RANKS = (
    ("missing_names",),
    ("config", "files", "late_bound", "older_names", "optional_names", "lang.errors"),
    ("logger",),
    ("lang",),
    ("ir", "lib"),
    ("front", "passes", "codegen"),
    ("autodiff",),
    ("compiler", "build_library_pack"),
    ("crash_report",),
    ("dispatch",),
    ("devices",),
    ("arrays",),
    ("launches",),
    ("graphs",),
    ("eager",),
    ("interpreter",),
    ("tape",),
    ("forward_mode",),
    ("algo", "system_report", "types"),
    ("autograd", "viz", "geometry", "sparse", "utils"),
    ("optim.linear",),
    ("optim", "volumes"),
    ("fem", "interop", "textures"),
    ("jax_experimental",),
    ("usd",),
    ("nodes.values", "render"),
    ("nodes.ogn",),
    ("nodes.graph",),
    ("nodes.stock", "nodes.kernel"),
    ("nodes.library",),
    ("nodes.extensions",),
    ("nodes.scene",),
    ("nodes.live_session",),
    ("nodes.play",),
    ("cli_arguments", "nodes"),
    ("kit", "private_names", "studio"),
    ("cli", "extension", "as_warp"),
)
RANK = {part: rank for rank, parts in enumerate(RANKS) for part in parts}
LIB_IMPORTS = {"lang", "lib"}

# Parts that run before NumPy or LLVM need be there: they start fast, and the library pack is built from them alone.
# The native module lies below all of them, yet only `lang` imports it: values are instances of native classes.
PURE = {
    *("config", "late_bound", "lang.errors", "logger"),
    *("lang", "ir", "lib", "front", "passes", "codegen", "autodiff", "compiler"),
}
STANDARD = {*sys.stdlib_module_names, "tomllib"}  # which Python 3.10 has not
# Top-level name of a third-party module -> files or folders (relative to the package) that may import it.
THIRD_PARTY = {
    "llvmlite": ("codegen/toolchain.py", "codegen/cuda/ptx.py"),
    "matplotlib": ("autograd/plot.py",),
    "numpy": (
        *("arrays", "launches", "graphs", "tape", "forward_mode", "viz", "algo", "autograd"),
        *("fem", "geometry", "volumes", "textures", "interop", "usd", "render", "nodes", "studio", "cli.py"),
    ),
    "pxr": ("usd", "render", "nodes", "studio"),
    "PIL": ("usd", "cli.py"),
    "rich": ("nodes", "autograd/gradcheck_report.py", "cli.py", "devices/progress.py"),
    "starlette": ("studio",),
    "tomli": ("nodes/extensions",),
    "uvicorn": ("studio",),
    "torch": ("interop",),
    "jax": ("interop",),
    "paddle": ("interop",),
    "cuda": ("devices",),
}
# What a function may import: frameworks that may be missing, and parts that most processes never need.
LATE = {"difflib", "pxr", "PIL", "rich", "matplotlib", "torch", "jax", "paddle", "cuda"}
LATE_HOSTS = ("omni.graph.", "omni.kit.", "omni.usd", "omni.ui", "omni.timeline")  # there inside a Kit application only
# Files that load modules by computed names, and why.
DYNAMIC = {
    "__init__.py": "public names are loaded when first used",
    "optional_names.py": "public names that need optional packages are loaded when first used",
    "late_bound.py": "the one table of calls that go up the layers",
    "lang/registry.py": "builtins are loaded when first used",
    "compiler.py": "a kernel that is in the cache needs neither the front end nor LLVM",
    "devices/device.py": "GPUs are looked for when one is asked for",
    "cli.py": "a command loads what it needs",
    "as_warp.py": "programs import public modules by another package's name",
    "private_names/__init__.py": "programs import private modules by another package's names",
    "extension.py": "a Kit application may lack windows and menus",
    "nodes/extensions/node_folders.py": "nodes of other extensions are imported by their manifest",
    "nodes/kernel/program.py": "the text of a kernel imports what it likes, with warp meaning this package",
}
# Parts that nodes may use besides the public package.
NODE_IMPORTS = ("omni.warp_core", "omni.warp_core.nodes")

LONGEST_FILE = 800
LARGEST_ROOM = 25  # modules in a folder
# Folders with the same operations, for another machine each: a module of one may be named like its twin.
TWINS = {("algo", "algo/gpu"): "one operation on the CPU and by kernels"}
LONGEST_FUNCTION = 80


class Import(NamedTuple):
    path: Path
    line: int
    module: str  # absolute dotted name
    late: bool  # inside a function

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line} imports {self.module}"


def tracked(*patterns: str) -> list[Path]:
    """The repository's files that match, the ignored ones left out."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [ROOT / name for name in names if (ROOT / name).exists()]


def package_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> Iterator[Import]:
    """Every import of a file, relative ones made absolute, submodules named by `from` imports told apart."""
    package = ("omni", "warp_core", *path.relative_to(PACKAGE).parent.parts)

    def walk(node: ast.AST, late: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(path, child.lineno, alias.name, late)
            elif isinstance(child, ast.ImportFrom):
                base = list(package[: len(package) - child.level + 1]) if child.level else []
                base += (child.module or "").split(".") if child.module else []
                for alias in child.names:
                    whole = PACKAGE.joinpath(*base[2:], alias.name) if base[:2] == ["omni", "warp_core"] else None
                    is_module = whole is not None and (
                        any(whole.with_suffix(suffix).exists() for suffix in (".py", ".pyi")) or whole.is_dir()
                    )
                    yield Import(path, child.lineno, ".".join([*base, alias.name] if is_module else base), late)
            elif not isinstance(child, ast.expr):  # which holds no import
                inside = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
                yield from walk(child, late or inside)

    yield from walk(ast.parse(path.read_text()), False)


def part(module: str) -> str | None:
    """The part of the package a dotted name lies in; None for the package itself and for other packages."""
    names = module.split(".")
    if names[:2] != ["omni", "warp_core"] or len(names) == 2:
        return None
    inner = ".".join(names[2:4])
    return inner if inner in RANK else names[2]


def part_of_file(path: Path) -> str | None:
    return part(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))


@cache
def all_imports() -> list[Import]:
    return [found for path in package_files() for found in imports(path)]


def test_every_module_has_a_rank():
    strays = {part_of_file(path) for path in package_files()} - RANK.keys() - {None, "_version"}
    assert not strays, f"give {sorted(map(str, strays))} a place in RANKS"


def test_imports_go_down():
    wrong = []
    for found in all_imports():
        source, target = part_of_file(found.path), part(found.module)
        if source is None or target is None or target == source or target == "_native":
            continue
        if not (RANK[target] < RANK[source]):
            wrong.append(f"{found}: {target} is not below {source}")
    assert not wrong, "\n".join(wrong)


def test_the_library_imports_the_language_only():
    wrong = [
        str(found) for found in all_imports()
        if part_of_file(found.path) == "lib" and part(found.module) not in LIB_IMPORTS
        and found.module.split(".")[0] not in STANDARD
    ]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_the_native_module_serves_values_and_the_runtime():
    wrong = [
        str(f) for f in all_imports()
        if part(f.module) == "_native" and part_of_file(f.path) in PURE and part_of_file(f.path) != "lang"
    ]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_third_party_modules_stay_where_they_belong():
    wrong = []
    for found in all_imports():
        name = found.module.split(".")[0]
        if name in STANDARD or name == "omni":
            continue
        inner = found.path.relative_to(PACKAGE).as_posix()
        if not any(inner == home or inner.startswith(f"{home}/") for home in THIRD_PARTY.get(name, ())):
            wrong.append(str(found))
    assert not wrong, "\n".join(wrong)


def test_imports_stand_at_the_top():
    wrong = [
        str(found) for found in all_imports()
        if found.late and found.module.split(".")[0] not in LATE and not f"{found.module}.".startswith(LATE_HOSTS)
    ]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_modules_are_named_not_computed():
    users = {
        path.relative_to(PACKAGE).as_posix() for path in package_files()
        if any(name in path.read_text() for name in ("import_module(", "__import__("))
    }  # fmt: skip
    assert users <= DYNAMIC.keys(), f"{sorted(users - DYNAMIC.keys())} import modules by computed names"


def test_the_package_leaves_the_namespace_to_others():
    assert not (ROOT / "omni" / "__init__.py").exists()


def test_nodes_use_the_public_package_and_the_node_host():
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} imports {node.module}"
        for path in tracked("ogn/*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("omni.warp_core")
        and ".".join((node.module or "").split(".")[:3]) not in NODE_IMPORTS
    ]  # fmt: skip
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("patterns", [("*.py", "*.pyi"), ("*.cpp", "*.h")], ids=["python", "native"])
def test_files_are_short(patterns):
    texts = {path: path.read_text() for path in tracked(*patterns)}
    sizes = {p: len(t.splitlines()) for p, t in texts.items() if not t.startswith("# Written by ")}
    wrong = [f"{p.relative_to(ROOT)}: {n} lines" for p, n in sizes.items() if n > LONGEST_FILE]
    assert not wrong, "\n".join(wrong)


def test_rooms_are_small():
    rooms = Counter(path.parent for path in package_files() if path.name != "__init__.py")
    wrong = [f"{room.relative_to(ROOT)}: {n} modules" for room, n in rooms.items() if n > LARGEST_ROOM]
    assert not wrong, "\n".join(wrong)


def test_a_file_name_means_one_thing():
    """`types.py` and `utils.py` are public modules, named by warp-lang."""
    rooms: dict[str, set[str]] = {}
    for path in package_files():
        if path.name != "__init__.py" and path not in (PACKAGE / "types.py", PACKAGE / "utils.py"):
            rooms.setdefault(path.name, set()).add(path.parent.relative_to(PACKAGE).as_posix())
    wrong = [f"{name}: in {sorted(r)}" for name, r in rooms.items() if len(r) > 1 and tuple(sorted(r)) not in TWINS]
    assert not wrong, "\n".join(wrong)


def test_no_room_hides_a_public_name():
    """Importing a subpackage sets an attribute of the package, which would replace the function of that name."""
    public = {name for names in omni.warp_core._HOMES.values() for name in names.split()}
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert not rooms & public


def test_functions_are_short():
    wrong = []
    for path in tracked("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > LONGEST_FUNCTION:
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {lines} lines")
    assert not wrong, "\n".join(wrong)


def test_every_module_says_what_it_is_for():
    missing = [
        str(path.relative_to(ROOT)) for path in package_files()
        if path.read_text().strip() and not ast.get_docstring(ast.parse(path.read_text()))
    ]  # fmt: skip
    assert not missing, f"without a module docstring: {missing}"
