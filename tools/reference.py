"""Writes docs/reference from the source: one page for each group of public names, and an index of all of them.

    python -m tools.docs    rewrites the pages; tests/test_reference.py checks that they are up to date

Pages are chosen by where a name is defined (`PAGES`), so a new function appears by itself on the page of its module.
Text comes from docstrings, whose examples are executed by tests. Start with `pages`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import omni.warp_core as wp  # noqa: E402
from omni.warp_core import config  # noqa: E402
from omni.warp_core.lang import generics, registry  # noqa: E402
from omni.warp_core.lang.types import Type  # noqa: E402
from omni.warp_core.lang.values.value_classes import NAMED, OLDER_NAMES  # noqa: E402
from omni.warp_core.tape.recorder import Recorder  # noqa: E402
from tools.stubs.builtins_ import result_patterns  # noqa: E402
from tools.stubs.text import own_doc  # noqa: E402

FOLDER = ROOT / "docs" / "reference"

# Page -> title, what it is about, and where its names are defined: modules of the library, modules of `_HOMES`, modules
# that users see, and names of intrinsics.
PAGES: dict[str, tuple[str, str, str]] = {
    "scalars": (
        "Scalar functions",
        "Functions of one number, or of a few; they take float16, bfloat16, float32 and float64 unless said otherwise.",
        "trigonometry exponentials special erfinv scalar_functions",
    ),
    "vectors": (
        "Vectors and matrices",
        "Products, lengths, decompositions, componentwise functions.",
        "vectors matrices norms decompositions vector matrix identity matrix_from_rows matrix_from_cols",
    ),
    "quaternions": ("Quaternions", "Rotations as unit quaternions x, y, z, w.", "quaternions euler_angles quaternion"),
    "transforms": (
        "Transforms",
        "Rigid transforms: a rotation, then a translation.",
        "transforms affine transformation",
    ),
    "spatial": ("Spatial algebra", "Twists and wrenches: vectors of six components.", "spatial"),
    "random": ("Random numbers", "Streams of random numbers in kernels, and samples of shapes.", "random"),
    "noise": ("Noise", "Smooth random functions of one to four coordinates.", "noise"),
    "geometry": (
        "Geometry",
        "Structures that kernels search, closest points, intersections; see [geometry.md](../geometry.md).",
        "geometry.mesh lib.geometry.mesh_rays lib.geometry.mesh_points lib.geometry.mesh_boxes "
        "lib.geometry.mesh_views geometry.mesh_data "
        "geometry.mesh_views geometry.mesh_groups geometry.mesh_rays geometry.mesh_signs geometry.mesh_normals "
        "geometry.mesh_boxes geometry.mesh_points geometry.mesh_farthest geometry.surfaces.marching_cubes "
        "wp.geometry "
        "geometry.hash_grid lib.geometry.hash_grid_queries geometry.hash_grid_queries "
        "geometry.bvh lib.geometry.bvh_queries geometry.bvh_queries intersection",
    ),
    "volumes": (
        "Volumes",
        "Sparse grids of voxels; see [volumes.md](../volumes.md).",
        "volumes.volume volumes.volume_lookups volumes.volume_samples volumes.volume_index_samples "
        "volumes.volume_old_names",
    ),
    "textures": (
        "Textures",
        "Grids of texels that kernels sample at any coordinates; see [textures.md](../textures.md).",
        "textures.texture textures.texture_modes textures.texture_samples",
    ),
    "atomics": (
        "Atomics",
        "Changes of array elements by several threads, of which none is lost. `a[i] += x` is atomic too. Arrays of "
        "several dimensions take as many indices.",
        "atomic_add atomic_sub atomic_min atomic_max atomic_and atomic_or atomic_xor atomic_exch atomic_cas",
    ),
    "operators": (
        "Operators as functions, bits",
        "What the operators do, by name; the number of bits set.",
        "bits add sub mul div mod floordiv neg pos unot invert bit_and bit_or bit_xor lshift rshift",
    ),
    "kernels": (
        "Kernels and functions",
        "What makes kernels, and what only they can call.",
        "lang.kernel lang.values.structs lang.overload lang.ref_params",
    ),
    "utilities": ("Utilities", "Everything that has no page of its own.", ""),
    "arrays": (
        "Arrays",
        "Making, viewing and copying arrays.",
        "arrays.array arrays.indexed_array arrays.factories arrays.transfer arrays.memory_kind algo.matmul",
    ),
    "launching": (
        "Launching, devices, timing",
        "Running kernels, and where.",
        "launches.launch algo.map devices.device devices.stream devices.timer devices.cuda_versions launches.modules "
        "launches.kernel_cache launches.block_size",
    ),
    "reports": (
        "Reports and logs",
        "How long things take, which memory is in use, what the package has to say; see [reports.md](../reports.md).",
        "devices.timing devices.trace_file arrays.memory_tracker logger system_report",
    ),
    "graphs": (
        "Graphs and gradients",
        "Captured launches and tapes; see [graphs.md](../graphs.md) and [gradients.md](../gradients.md).",
        "graphs.graph tape.tape tape.checkpoint",
    ),
    "types": (
        "Types and constants",
        "Scalars, vectors, matrices, quaternions and transforms, usable in kernels and in Python.",
        "lang.values.scalars lang.values.value_classes lang.typevars lang.values.constants arrays.dtypes wp.types",
    ),
    "errors": ("Errors", "What is raised; [errors.md](../errors.md) has each mistake with its repair.", "lang.errors "
               "launches.kernel_errors"),
    "config": ("wp.config", "Options, set by assignment: `wp.config.mode = \"debug\"`.", "config"),
    "utils": ("wp.utils", "Parallel algorithms on arrays, colours of graphs.", "wp.utils"),
    "render": ("wp.render", "Simulations as USD scenes; see [usd.md](../usd.md).", "wp.render"),
    "usd": ("wp.usd", "Geometry of USD stages as arrays, and back; see [usd.md](../usd.md).", "wp.usd"),
    "nodes": ("wp.nodes", "Graphs of nodes on USD stages, built and played from Python; see [nodes.md](../nodes.md).",
              "wp.nodes"),
    "studio": ("wp.studio", "The studio in notebooks; see [studio.md](../studio.md).", "wp.studio"),
    "interop": (
        "Other frameworks",
        "Arrays, kernels and functions in PyTorch, JAX and Paddle; see [interop.md](../interop.md).",
        "interop.torch interop.torch_kernel interop.jax interop.jax_kernel interop.jax_callable interop.jax_callback "
        "interop.paddle wp.jax_experimental",
    ),
    "autograd": ("wp.autograd", "Jacobians, and checks of gradients against differences.", "wp.autograd"),
    "optim": ("wp.optim", "Optimisers, which change arrays by their gradients.", "wp.optim"),
    "sparse": ("wp.sparse", "Matrices of which most blocks are zero; see [sparse.md](../sparse.md).", "wp.sparse"),
    "linear": ("wp.optim.linear", "Iterative solvers of linear systems; see [sparse.md](../sparse.md).",
               "wp.optim.linear"),
    "fem": ("wp.fem", "Finite elements; see [fem.md](../fem.md).",
            "wp.fem wp.fem.linalg wp.fem.polynomial wp.fem.utils"),
}  # fmt: skip
_PAGE_OF = {place: page for page, (_, _, places) in PAGES.items() for place in places.split()}
FALLBACK = {"lib": "utilities", "intrinsic": "kernels", "home": "launching", "module": "utilities"}
NOTICE = "<!-- Written by tools/reference.py from the docstrings of the package; edit those. -->\n\n"

LEGEND = """\
Signatures of functions for kernels use letters for what may vary: `F` is any float type, `T` any number type, `Int` any
integer type, `N`, `M`, `K` are lengths; the same letter means the same each time. `Vec[N, T]` is a vector of `N`
components of type `T`, `Mat[M, N, T]` a matrix of `M` rows, `Quat[F]` a quaternion, `Transform[F]` a transform,
`Array[T]` an array. Errors are bounds in units of the last place (ULP), against the exact result. Where they count
roundings of terms, a processor without fused multiply-add rounds once more. Angles are in radians. All of these
functions also work outside of kernels, and examples show them there.
"""


@dataclass
class Entry:
    """A public name: how it is called, its page, its text."""

    name: str  # as users write it after `wp.`
    page: str
    text: str
    heading: str

    @property
    def link(self) -> str:
        """Where it is described."""
        anchor = re.sub(r"[^\w\- ]", "", self.heading.lower()).replace(" ", "-")
        return f"{self.page}.md#{anchor}"


# -- docstrings -------------------------------------------------------------------------------------------------------

_SECTION = re.compile(r"^(Args|Returns|Raises|Attributes):$")
_ITEM = re.compile(r"^ {4}(\S[^:]*): (.*)$")


def markdown(doc: str | None) -> str:
    """A docstring as Markdown: its sections as lists, its examples as blocks."""
    out: list[str] = []
    section = ""
    lines = inspect.cleandoc(doc or "").splitlines()
    for i, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")) or (out and out[-1] == "```pycon" and line.strip()):
            if not section.startswith("example"):
                out, section = [*out, "", "```pycon"], "example"
            out.append(line)
        elif section == "example":
            if line.strip():
                out.append(line)
            else:
                out, section = [*out, "```", ""], ""
        elif _SECTION.match(line):
            section = line.rstrip(":")
            out += [f"**{section}**", ""]
        elif not line.startswith(" ") and line.strip():
            section = ""
            out.append(re.sub(r"^(Error|Derivative): ", r"**\1:** ", line))
            if i + 1 < len(lines) and re.match(r"(Error|Derivative): ", lines[i + 1]):
                out.append("")
        elif section in ("Args", "Raises", "Attributes") and _ITEM.match(line):
            names, text = _ITEM.match(line).groups()  # type: ignore[union-attr]
            out.append(f"- {', '.join(f'`{n}`' for n in names.split(', '))}: {text}")
        elif section in ("Args", "Raises", "Attributes") and line.startswith("     "):
            out.append(f"  {line.strip()}")
        else:
            out.append(line.strip() if section else line)
    if section == "example":
        out.append("```")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


# -- signatures -------------------------------------------------------------------------------------------------------


def _general(overloads: list[registry.Overload]) -> Iterator[registry.Overload]:
    """The overloads that are no special cases of others: not those for float32 beside one for any float."""
    for one in overloads:
        types = [t for _, t, _ in one.params]
        if not any(other is not one and _takes(other, types) for other in overloads):
            yield one


def _takes(overload: registry.Overload, types: list) -> bool:
    patterns = [t for _, t, _ in overload.params]
    if len(patterns) != len(types) or not any(map(generics.is_generic, patterns)):
        return False
    bound: dict[str, object] = {}
    return all(isinstance(t, Type) and generics.unify(p, t, bound) for p, t in zip(patterns, types))


def _builtin_signatures(builtin: registry.Builtin) -> list[str]:
    out = []
    for overload in _general(builtin.overloads):
        results = [generics.spell_pattern(p) for p in result_patterns(overload, builtin.updates)]
        whole = results[0] if len(results) == 1 else f"({', '.join(results)})"
        out.append(f"{overload!r} -> {whole}" if results else repr(overload))
    return list(dict.fromkeys(out))


def _signature(name: str, func: Any) -> str:
    """A function's parameters and result as written in the source."""
    parts, star = [], False
    given = inspect.signature(func)
    for p in given.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not star:
            parts, star = [*parts, "*"], True
        star |= p.kind is p.VAR_POSITIONAL
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        said = "" if p.annotation is p.empty or p.name == "self" else f": {_annotation(p.annotation)}"
        default = "" if p.default is p.empty else f"{' = ' if said else '='}{_default(p.default)}"
        if p.name != "self":
            parts.append(f"{mark}{p.name}{said}{default}")
    result = given.return_annotation
    returned = "" if result is given.empty or result in ("None", None) else f" -> {_annotation(result)}"
    text = f"{name}({', '.join(parts)}){returned}"
    if len(text) > 110:
        text = f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returned}"
    return text


def _annotation(said: Any) -> str:
    text = said if isinstance(said, str) else getattr(said, "__name__", str(said))
    return text.replace("DeviceLike", "Device | str | None").replace("np.ndarray", "numpy.ndarray")


def _default(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else "Any" if value is Any else repr(value)


# -- entries ----------------------------------------------------------------------------------------------------------


def _entry(name: str, page: str, signatures: list[str], doc: str | None, kind: str = "") -> Entry:
    heading = f"{kind}{name}"
    block = "```text\n" + "\n".join(signatures) + "\n```\n\n" if signatures else ""
    return Entry(name, page, f"## {heading}\n\n{block}{markdown(doc)}\n", heading)


def _class(name: str, page: str, cls: type) -> Entry:
    """A class with the members of its own and of its bases."""
    try:
        signatures = [] if issubclass(cls, Enum) else [_signature(name, cls)]
        if signatures == [f"{name}(*args, **kwargs)"]:  # what Python 3.13 says of native classes
            signatures = []
    except (TypeError, ValueError):
        signatures = []
    made = _entry(name, page, signatures, cls.__doc__, "class ")
    for member in sorted(n for n in dir(cls) if not n.startswith("_")):
        value = inspect.getattr_static(cls, member)
        if isinstance(value, property):
            made.text += f"\n### {name}.{member}\n\n{markdown(own_doc(value))}\n"
        elif inspect.isroutine(value) and not _foreign(cls, member):
            own = _signature(f"{name}.{member}", value) if inspect.isfunction(value) else f"{name}.{member}(...)"
            made.text += f"\n### {name}.{member}\n\n```text\n{own}\n```\n\n{markdown(own_doc(value))}\n"
    return made


def _foreign(cls: type, member: str) -> bool:
    """Whether a member comes from Python's own classes, such as those of exceptions, or serves other modules only."""
    owner = next(c for c in cls.__mro__ if member in vars(c))
    return owner.__module__ == "builtins" or (issubclass(cls, Recorder) and hasattr(Recorder, member))


def _described(name: str, page: str, value: Any) -> Entry:
    if isinstance(value, registry.Builtin):
        return _entry(name, page, _builtin_signatures(value), value.__doc__)
    if isinstance(value, registry.Intrinsic):
        return _entry(name, page, [_signature(name, value.described)], value.__doc__)
    if isinstance(value, type):
        return _class(name, page, value)
    if isinstance(value, wp.Function):
        return _entry(name, page, [_signature(name, value.func)], value.__doc__)
    if callable(value) and inspect.isroutine(value):
        return _entry(name, page, [_signature(name, value)], value.__doc__)
    return _entry(name, page, [], f"The number {value}." if isinstance(value, int) else value.__doc__)


def _page(place: str, kind: str) -> str:
    return _PAGE_OF.get(place, FALLBACK[kind])


def entries() -> Iterator[Entry]:
    """Every public name with its text, apart from those that tables hold."""
    for home, names in wp._HOMES.items():
        if home not in ("lang.values.constants", "config"):
            for name in names.split():
                if name not in NAMED:
                    yield _described(name, _page(home, "home"), getattr(wp, name))
    done = set(wp._HOME)
    for name, module in registry.index().items():
        if name not in done:
            yield _described(name, _page(module, "lib"), registry.get(name))
    done |= registry.index().keys()
    for name, intrinsic in registry.INTRINSICS.items():
        if name not in done:
            yield _described(name, _page(name, "intrinsic"), intrinsic)
    for module in (*wp._MODULES, "optim.linear", "fem.linalg", "fem.polynomial", "fem.utils"):
        if module != "config":
            yield from _members(module)


def _members(module: str) -> Iterator[Entry]:
    namespace = attrgetter(module)(wp)
    for name in sorted(namespace.__all__):
        value = getattr(namespace, name)
        is_same = name in wp._HOME and getattr(wp, name) is value
        if not is_same and not inspect.ismodule(value):
            yield _described(f"{module}.{name}", _page(f"wp.{module}", "module"), value)


# -- tables -----------------------------------------------------------------------------------------------------------


def _value_types() -> list[Entry]:
    """The named types of several components, one entry for each family."""
    families: dict[str, list[str]] = {}
    for family, name in sorted((OLDER_NAMES.get(name, name), name) for name in NAMED):
        base = re.match(r"vec|mat|quat|transform|spatial_vector|spatial_matrix", family)[0]  # type: ignore[index]
        families.setdefault(base, []).append(name)
    out = []
    for base, names in families.items():
        title = {"vec": "Vectors", "mat": "Matrices", "quat": "Quaternions", "transform": "Transforms"}.get(
            base, {"spatial_vector": "Spatial vectors", "spatial_matrix": "Spatial matrices"}.get(base, base)
        )
        listed = ", ".join(f"`{n}`" for n in names)
        text = f"## {title}\n\n{listed}\n\n{markdown(getattr(wp, names[0]).__doc__)}\n"
        out.append(Entry(", ".join(names), "types", text, title))
    return out


def _constants() -> Entry:
    names = wp._HOMES["lang.values.constants"].split()
    upper = [n for n in names if n.isupper()]
    rows = "\n".join(f"| `{n}`, `{n.lower()}` | {getattr(wp, n)!r} |" for n in upper)
    text = (
        "## Constants\n\nPlain Python numbers; in a kernel they take the type of what they are combined with.\n\n"
        f"| name | value |\n|---|---|\n{rows}\n"
    )
    return Entry(", ".join(names), "types", text, "Constants")


def _options() -> Entry:
    own = {n: o for n, o in config.OPTIONS.items() if not o.doc.startswith("Accepted")}
    rest = ", ".join(f"`{n}`" for n in config.OPTIONS if n not in own)
    rows = "\n".join(f"| `{n}` | {_shown(n, o.default)} | {o.doc} |" for n, o in own.items())
    text = (
        f"## Options\n\n| option | default | |\n|---|---|---|\n{rows}\n\n"
        f"Programs for other tools of the field set these; they are accepted and change nothing: {rest}.\n\n"
        "## Log levels\n\n`LOG_DEBUG`, `LOG_INFO`, `LOG_WARNING` and `LOG_ERROR`, for `log_level`.\n"
        "\n## Deterministic results\n\n`DeterministicMode` has the names that warp-lang gives the values of "
        "`deterministic`; all but `NOT_GUARANTEED` mean True.\n"
    )
    return Entry("config, DeterministicMode, LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR", "config", text, "Options")


def _shown(name: str, default: Any) -> str:
    if name.endswith("_dir") or name == "num_threads":  # those of this machine
        return "see there"
    return "`None`" if name == "cpu_target" else f"`{default!r}`"  # it comes from the environment


# -- pages ------------------------------------------------------------------------------------------------------------


def pages() -> dict[str, str]:
    """File name -> text of every page."""
    everything = [*entries(), *_value_types(), _constants(), _options()]
    out = {"README.md": _index(everything)}
    for page, (title, about, _) in PAGES.items():
        here = [e for e in everything if e.page == page]
        if here:
            names = " · ".join(f"[{e.heading}](#{e.link.partition('#')[2]})" for e in here)
            texts = "\n".join(e.text for e in here)
            out[f"{page}.md"] = f"{NOTICE}# {title}\n\n{about} [All names](README.md)\n\n{names}\n\n{texts}"
    return out


def _index(everything: list[Entry]) -> str:
    groups = "\n".join(
        f"| [{title}]({page}.md) | {about.partition('. ')[0].rstrip('.')} |"
        for page, (title, about, _) in PAGES.items()
        if any(e.page == page for e in everything)
    )
    names = sorted(
        ((name, e.link) for e in everything for name in e.name.split(", ")), key=lambda item: (item[0].lower(), item[0])
    )
    listed: dict[str, list[str]] = {}
    for name, link in names:
        listed.setdefault(name[0].upper(), []).append(f"[{name}]({link})")
    index = "\n\n".join(f"**{letter}** {' '.join(links)}" for letter, links in listed.items())
    return f"{NOTICE}# Reference\n\n| page | |\n|---|---|\n{groups}\n\n{LEGEND}\n## All names\n\n{index}\n"


def write() -> None:
    """Rewrite the folder."""
    FOLDER.mkdir(exist_ok=True)
    texts = pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text)
