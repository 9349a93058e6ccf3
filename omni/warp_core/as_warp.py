"""Runs programs that say `import warp` on this package instead, unchanged.

    python -m omni.warp_core.as_warp script.py argument ...
    python -m omni.warp_core.as_warp -m module argument ...
    python -m omni.warp_core.as_warp -c "import warp as wp; ..." argument ...

The program sees `sys.argv`, `__main__`, tracebacks and exit codes as under Python itself. In a program of one's own,
`install()` before the first `import warp` does the same. docs/migration.md says what differs. Start with `install`.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import io
import linecache
import os
import runpy
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader
from importlib.machinery import BuiltinImporter, ModuleSpec, SourceFileLoader
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import FrameType, ModuleType, TracebackType

from . import _MODULES, config, private_names
from . import _SAME as _ATTRIBUTES
from .missing_names import told
from .private_names import ctypes_values

PACKAGE = "omni.warp_core"
ALIAS = "warp"
USAGE = "usage: python -m omni.warp_core.as_warp (script.py | -m module | -c code) [argument ...]"


_SAME = (*_ATTRIBUTES, "tape")  # modules of earlier versions whose names are those of the package now

# Modules of warp-lang that stand elsewhere here, `warp._src.types` and the like, by their names after `warp.`.
_PRIVATE = {"_src": "private_names", "examples": "private_names.example_assets"}
_PRIVATE |= {f"_src.{name}": home for name, home in private_names.HOMES.items()}

FOLLOWS = "1.19.0"  # the version of warp-lang that such programs are told


class _Submodules(DistributionFinder, Loader):
    """Finds `warp.utils` and the like: the public modules of this package, each loaded once under its own name."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        head, _, rest = fullname.partition(".")
        if head != ALIAS or not rest:
            return None
        if not _is_there(rest):
            more = [name for name in _missing_in(_importing_file()) if name != fullname]
            also = f". Also missing of what this file imports: {', '.join(more)}" if more else ""
            raise ModuleNotFoundError(f"{PACKAGE} has no module {rest!r}{told(rest)}{also}", name=fullname)
        return ModuleSpec(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """Put the real module in the place of the one that the import system made."""
        name = module.__name__
        sys.modules[name] = importlib.import_module(_real_name(name.removeprefix(f"{ALIAS}.")))

    def find_distributions(self, context: DistributionFinder.Context | None = None) -> list[Distribution]:
        """Find warp-lang as an installed package, for programs that ask for its version before they import it."""
        name = None if context is None else context.name
        is_asked = name is None or name.lower().replace("_", "-") == _Distribution.NAME
        return [_Distribution()] if is_asked else []


class _Distribution(Distribution):
    """What `importlib.metadata` says of warp-lang: the version that this package follows, and no files."""

    NAME = "warp-lang"

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: {self.NAME}\nVersion: {FOLLOWS}\n"
        return None

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        return Path(__file__).parent / path


def _real_name(rest: str) -> str:
    """The name of the module that stands for one of warp-lang, given its name after `warp.`."""
    if rest in _SAME:
        return PACKAGE
    return f"{PACKAGE}.{_PRIVATE.get(rest, rest)}"


def _is_there(rest: str) -> bool:
    """True if this package has a module, given its name after `warp.`."""
    return (
        rest in _SAME
        or rest in _PRIVATE
        or (rest.partition(".")[0] in _MODULES and importlib.util.find_spec(f"{PACKAGE}.{rest}") is not None)
    )


def _importing_file() -> str:
    """The file that runs the import which is going on."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename == __file__ or "importlib" in frame.f_code.co_filename):
        frame = frame.f_back
    return "" if frame is None else frame.f_code.co_filename


def _missing_in(filename: str) -> list[str]:
    """What a file imports of warp and this package does not have, in order: modules, and names of the package."""
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except SyntaxError:
        return []
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    found = [name for node in sorted(imports, key=lambda node: node.lineno) for name in _missing_of(node)]
    return list(dict.fromkeys(found))


def _missing_of(node: ast.Import | ast.ImportFrom) -> list[str]:
    inside = f"{ALIAS}."
    if isinstance(node, ast.Import):
        named = [alias.name for alias in node.names if alias.name.startswith(inside)]
    elif node.module == ALIAS and not node.level:
        package = sys.modules[PACKAGE]
        return [inside + a.name for a in node.names if a.name != "*" and not hasattr(package, a.name)]
    else:
        named = [node.module] if node.module and node.module.startswith(inside) and not node.level else []
    return [name for name in named if not _is_there(name.removeprefix(inside))]


def install() -> None:
    """Let `import warp` and `from warp import ...` mean this package in the rest of the process.

    Sets `wp.config.dialect = "warp-lang"`, as such programs may rely on it. Sets `wp.config.cut_gradients = "warn"`, as
    they may mean an array without `requires_grad` to end a gradient. They compare `wp.__version__` and
    `wp.config.version` with versions of warp-lang: both are the one that this package follows, and
    `wp.config.package_version` is its own.

    Raises:
        ImportError: another `warp` has been imported already.

    >>> install()
    >>> import warp as wp
    >>> wp.__name__
    'omni.warp_core'
    """
    present = sys.modules.get(ALIAS)
    if present is sys.modules[PACKAGE]:
        return
    if present is not None:
        where = getattr(present, "__file__", None) or "no file"
        raise ImportError(
            f"another module named {ALIAS!r} is imported already ({where}); "
            "call omni.warp_core.as_warp.install() before anything imports it"
        )
    config.dialect, config.cut_gradients = "warp-lang", "warn"
    package = sys.modules[ALIAS] = sys.modules[PACKAGE]
    vars(package).update(_src=private_names, __version__=FOLLOWS)
    vars(config)["version"] = FOLLOWS
    ctypes_values.install()
    sys.meta_path.insert(0, _Submodules())


# -- running programs -------------------------------------------------------------------------------------------------


def _replace_main(**names: object) -> dict[str, object]:
    """The namespace of a fresh `__main__`."""
    main = ModuleType("__main__")
    vars(main).update({"__annotations__": {}, "__builtins__": builtins, "__package__": None, **names})
    sys.modules["__main__"] = main
    return vars(main)


def _set_path(first: str) -> None:
    """Put `first` where `python -m` put the current directory, unless paths like that are not wanted."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = first


def _run_script(path: str) -> None:
    whole = os.path.abspath(path)
    if os.path.isdir(path):
        runpy.run_path(path, run_name="__main__")
        return
    try:
        with io.open_code(whole) as file:
            source = file.read()
    except OSError as error:
        print(f"{sys.executable}: can't open file {whole!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        sys.exit(2)
    _set_path(os.path.dirname(os.path.realpath(path)))
    names = _replace_main(__file__=whole, __cached__=None, __loader__=SourceFileLoader("__main__", whole))
    exec(compile(source, whole, "exec", dont_inherit=True), names)


def _run_code(text: str) -> None:
    _set_path("")
    code = compile(text, "<string>", "exec", dont_inherit=True)
    if hasattr(linecache, "_register_code"):  # Python 3.13 shows lines of the text in tracebacks
        by_code = hasattr(linecache, "_interactive_cache")  # 3.13.0 finds them by the name of the file
        linecache._register_code(code if by_code else "<string>", text, "<string>")
    exec(code, _replace_main(__loader__=BuiltinImporter))


def _run_module(name: str) -> None:
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # of a parent package
        found = None
    if found is None:
        sys.exit(f"{sys.executable}: No module named {name}")
    runpy.run_module(name, {"__builtins__": builtins}, run_name="__main__", alter_sys=True)


def _users_part(trace: TracebackType | None) -> TracebackType | None:
    """A traceback from its first frame outside of this file and of the standard library's `runpy`."""
    ours = (__file__, runpy.__file__, "<frozen runpy>")
    while trace is not None and trace.tb_frame.f_code.co_filename in ours:
        trace = trace.tb_next
    return trace


def _guarded(run: Callable[[str], None], what: str) -> None:
    """Run a program; an exception it lets through is shown without the frames that led to it, as Python would."""
    try:
        run(what)
    except Exception as error:
        error.__traceback__ = _users_part(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


RUN: dict[str, Callable[[str], None]] = {"-m": _run_module, "-c": _run_code}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program that the command line names, with `warp` meaning this package."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help") or (given[0] in RUN and len(given) == 1):
        asked = bool(given) and given[0] in ("-h", "--help")
        print(USAGE, file=sys.stdout if asked else sys.stderr)
        sys.exit(0 if asked else 2)
    install()
    if given[0] in RUN:
        sys.argv = [given[0], *given[2:]]
        _guarded(RUN[given[0]], given[1])
    else:
        sys.argv = given
        _guarded(_run_script, given[0])


if __name__ == "__main__":
    main()
