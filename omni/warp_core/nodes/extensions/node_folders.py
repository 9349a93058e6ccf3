"""Finding the nodes of an extension, and loading their classes as Kit does.

A folder with a manifest (`config/extension.toml`, else `extension.toml`) is an extension: its `[[python.module]]`
entries name the packages to look into. Any other folder is one package, called as the folder.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ..graph.node_graph import NodeType
from ..ogn.ogn_spec import NodeSpec, OgnError, read
from ..stock.node_registry import Registry
from . import kit_modules
from .node_class import adapt

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found]

READS_STAGE = {"usd", "usd-read", "global", "global-read"}  # hints of nodes to compute again for each consumer
_VERSION = re.compile(r"-\d+(\.\d+)*.*$")


@dataclass(frozen=True)
class NodeFile:
    """A `.ogn` file. `extension` is the prefix of its type name; `module` names its Python file, inside `package`."""

    path: Path
    extension: str
    package: str
    module: str

    def read(self) -> NodeSpec:
        """Return the description. Raises OgnError."""
        return read(self.path, self.extension)


@dataclass(frozen=True)
class _Package:
    name: str
    folder: Path
    root: Path | None  # the entry of sys.path below which Python finds it; None if it has to be made


def find(folder: Path) -> list[NodeFile]:
    """Return the node files below `folder`, sorted by path. Raises OgnError if it has none, or a broken manifest."""
    if not folder.is_dir():
        raise OgnError(str(folder), ["is not a folder"])
    extension, packages = _packages(folder.resolve())
    found: dict[Path, NodeFile] = {}
    for package in packages:
        for path in sorted(package.folder.rglob("*.ogn")):
            inner = path.relative_to(package.folder).with_suffix("").parts
            if "__pycache__" not in inner:
                found.setdefault(path, NodeFile(path, extension, package.name, ".".join([package.name, *inner])))
    if not found:
        raise OgnError(str(folder), ["has no .ogn file"])
    return [found[path] for path in sorted(found)]


def add_folder(registry: Registry, folder: Path, complain: Callable[[str, str], None]) -> list[NodeSpec]:
    """Register the nodes below `folder` and return their descriptions.

    This runs the Python files of the folder. `complain(where, text)` tells of each node that cannot be used; the others
    are registered. Raises OgnError if there are none at all.
    """
    files = find(folder)
    kit_modules.install()
    for package in _packages(folder.resolve())[1]:
        _import_package(package, complain)
    added = []
    for file in files:
        try:
            spec = file.read()
            cls = load_class(file, spec)
        except OgnError as error:
            complain(error.where, "; ".join(error.problems))
            continue
        reads = not READS_STAGE.isdisjoint(spec.scheduling)
        registry.add(NodeType(spec, cls, reads_stage=reads))
        added.append(spec)
    return added


def add_descriptions(registry: Registry, folder: Path, complain: Callable[[str, str], None]) -> None:
    """Register the types that the `.ogn` files below `folder` describe, without classes: no code of the folder runs.

    `complain(where, text)` tells of each description with a mistake. Raises OgnError if there are none at all.
    """
    for file in find(folder):
        try:
            registry.add(NodeType(file.read(), None))
        except OgnError as error:
            complain(error.where, "; ".join(error.problems))


def load_class(file: NodeFile, spec: NodeSpec) -> Any:
    """Return the node class of a file, whose package has been imported. Raises OgnError."""
    source = file.path.with_suffix(".py")
    if not source.is_file():
        raise OgnError(str(file.path), [f"{source.name} is missing; it holds the class {file.path.stem}"])
    kit_modules.add_database(file.package, file.path.stem, spec)
    try:
        module = importlib.import_module(file.module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may also end with sys.exit()
        raise OgnError(str(source), [f"{type(error).__name__}: {error}"]) from error
    cls = getattr(module, file.path.stem, None)
    if not callable(getattr(cls, "compute", None)):
        raise OgnError(str(source), [f"needs a class {file.path.stem} with a static method compute(db)"])
    return adapt(cls)


def _packages(folder: Path) -> tuple[str, list[_Package]]:
    """Return the extension's name and its packages. Raises OgnError."""
    for manifest in (folder / "config" / "extension.toml", folder / "extension.toml"):
        if manifest.is_file():
            return _VERSION.sub("", folder.name), list(_listed_packages(folder, manifest))
    name = re.sub(r"\W", "_", folder.name)
    return folder.name, [_Package(name, folder, None)]


def _listed_packages(folder: Path, manifest: Path) -> Iterator[_Package]:
    try:
        entries = tomllib.loads(manifest.read_text("utf-8")).get("python", {}).get("module", [])
        listed = [(str(entry["name"]), str(entry.get("path", "."))) for entry in entries]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise OgnError(str(manifest), [f"{type(error).__name__}: {error}"]) from None
    for name, path in listed:
        root = (folder / path).resolve()
        inner = root.joinpath(*name.split("."))
        if not inner.is_relative_to(folder):
            raise OgnError(str(manifest), [f"python.module {name!r} lies outside of the extension: {inner}"])
        if inner.is_dir():
            yield _Package(name, inner, root)


def _import_package(package: _Package, complain: Callable[[str, str], None]) -> None:
    """Import a package, or else stand in for it: what it does for a user interface must not keep its nodes away."""
    if package.root is not None:
        if str(package.root) not in sys.path:
            sys.path.append(str(package.root))
        _extend_namespaces(package.name, package.root)
        importlib.invalidate_caches()
        try:
            importlib.import_module(package.name)
            return
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            text = f"its module cannot be imported ({type(error).__name__}: {error}); its nodes are loaded without it"
            complain(package.name, text)
    if package.name not in sys.modules:
        bare = ModuleType(package.name)
        bare.__path__ = [str(package.folder)]
        bare.__spec__ = importlib.machinery.ModuleSpec(package.name, None, is_package=True)
        sys.modules[package.name] = bare


def _extend_namespaces(name: str, root: Path) -> None:
    """Let packages without an `__init__.py` that are imported already, such as `omni`, look below `root` too."""
    parents = name.split(".")[:-1]
    for depth in range(1, len(parents) + 1):
        module = sys.modules.get(".".join(parents[:depth]))
        folder = str(root.joinpath(*parents[:depth]))
        if module is not None and getattr(module, "__file__", None) is None and folder not in list(module.__path__):
            module.__path__ = [*module.__path__, folder]
