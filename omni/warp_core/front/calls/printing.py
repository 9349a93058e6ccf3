"""print and printf: format text with one operand for each shown number."""

from __future__ import annotations

import ast
import builtins
import re
from typing import Any

from ...ir.nodes import Value
from ...lang.generics import spell
from ...lang.types import BOOL, F64, I32, SCALAR_BY_KEY, Mat, Packed, Scalar, Struct, Tile
from ..context import Context
from ..tiles.tile_printing import print_tile
from ..tiles.tile_regions import is_tile
from ..values import FormattedString, Front, Static, TupleValue
from .calls import Call, handles, loaded


def _spec(t: Scalar) -> str:
    if t is BOOL:
        return "%s"
    if t.is_float:
        return "%r" if t is F64 else "%hr"
    return "%d" if t.kind == "int" else "%u"


def printed(cx: Context, x: Any, node: ast.AST) -> tuple[str, list[Value]]:
    """Format text and operands that show a value as Python does."""
    if isinstance(x, Static):
        return str(x.obj).replace("%", "%%"), []
    if isinstance(x, FormattedString):
        shown = [_formatted(cx, i, spec, node) for i, spec in zip(x.items, x.specs)]
        return "".join(p for p, _ in shown), [v for _, vs in shown for v in vs]
    if isinstance(x, TupleValue):
        parts = [_in_tuple(cx, i, node) for i in x.items]
        text, values = ", ".join(p for p, _ in parts), [v for _, vs in parts for v in vs]
        if isinstance(node, ast.List):
            return f"[{text}]", values
        return f"({text}{',' if len(parts) == 1 else ''})", values
    v = cx.materialise(x, node, "something to print")
    t = v.type
    if isinstance(t, Scalar):
        return _spec(t), [v]
    if isinstance(t, (Packed, Struct)):
        count = t.count if isinstance(t, Packed) else len(t.fields)
        parts = [printed(cx, cx.at(node).op("extract", v, attr=i), node) for i in range(count)]
        return _joined(t, [p for p, _ in parts]), [w for _, ws in parts for w in ws]
    helps = "print(t) prints a tile by itself" if isinstance(t, Tile) else "print its elements"
    raise cx.error("type-mismatch", f"{spell(t)} cannot be printed", node, help=helps)


def _in_tuple(cx: Context, x: Any, node: ast.AST) -> tuple[str, list[Value]]:
    """As `printed`, but text with quotes."""
    if isinstance(x, Static) and isinstance(x.obj, str):
        return repr(x.obj).replace("%", "%%"), []
    return printed(cx, x, node)


def _joined(t: Packed | Struct, parts: list[str]) -> str:
    """The text of a value of these members, as `str` gives it."""
    if isinstance(t, Struct):
        lines = (f"\t{name}={part},\n".replace("\n", "\n\t")[:-1] for name, part in zip(t.index, parts))
        return f"{t.name}(\n{''.join(lines)})"
    if isinstance(t, Mat):
        rows = (", ".join(parts[i : i + t.cols]) for i in range(0, t.count, t.cols))
        return "[" + ",\n ".join(f"[{row}]" for row in rows) + "]"
    return f"[{', '.join(parts)}]"


_SPEC = re.compile(r"([+ 0#]*\d*(?:\.\d+)?)([dfeEgG])")


def _formatted(cx: Context, x: Any, spec: str, node: ast.AST) -> tuple[str, list[Value]]:
    """A part of an f-string. C and Python agree on how numbers look in the formats that are taken."""
    if not spec:
        return printed(cx, x, node)
    found = _SPEC.fullmatch(spec)
    if found is None:
        helps = "formats are as in `5d`, `.3f`, `g`; wp.printf knows more"
        raise cx.error("unsupported", f"the format `{spec}` cannot be used in a kernel", node, help=helps)
    v = _checked(cx, found.group(2), cx.materialise(x, node), node)
    unsigned = isinstance(v.type, Scalar) and v.type.kind == "uint"
    return f"%{spec[:-1]}u" if unsigned else f"%{spec}", [v]


def emit_text(cx: Context, text: str, values: list[Value], node: ast.AST) -> Front:
    if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
        raise cx.error("unsupported", "a kernel cannot print null characters or surrogates", node)
    cx.at(node).op("printf", *values, attr=text)
    return Static(None)


@handles("print", builtins.print)
def _print(cx: Context, c: Call) -> Front:
    options = {"sep": " ", "end": "\n"}
    for k, x in c.kwargs.items():
        if k not in options:
            raise cx.error("unsupported", f"print in a kernel has no `{k}`", c.kw_nodes.get(k, c.node))
        options[k] = str(cx.constant(x, c.kw_nodes.get(k, c.node), f"`{k}`"))
    if len(c.args) == 1 and is_tile(c.args[0]):
        show, emit = (lambda e: printed(cx, e, c.node)), (lambda text, values: emit_text(cx, text, values, c.node))
        print_tile(cx, c.args[0], options["end"], c.nodes[0], show, emit)
        return Static(None)
    parts = [printed(cx, x, n) for x, n in zip(c.args, c.nodes)]
    text = options["sep"].join(p for p, _ in parts) + options["end"]
    return emit_text(cx, text, [v for _, vs in parts for v in vs], c.node)


_FORMAT = re.compile(r"%(?:%|[-+ 0#]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?([a-zA-Z]))")
_KINDS = {**dict.fromkeys("diuxXoc", "int"), **dict.fromkeys("feEgG", "float"), "s": "bool"}


@handles("printf")
def _printf(cx: Context, c: Call) -> Front:
    text = cx.constant(c.args[0], c.arg_node(0), "the format") if c.args else None
    if not isinstance(text, str):
        raise cx.error("arguments", "wp.printf takes a compile-time format string first", c.node)
    found = [m for m in _FORMAT.finditer(text) if m.group(1)]
    args = loaded(cx, c)[1:]
    if len(found) != len(args):
        raise cx.error(
            "arguments", f"the format has {len(found)} conversions, but {len(args)} values are given", c.node
        )
    values: list[Value] = []
    pieces, at = [], 0
    for i, (m, x) in enumerate(zip(found, args)):
        if isinstance(x, Static) and isinstance(x.obj, str) and m.group(1) == "s":  # becomes part of the format
            pieces += [text[at : m.start()], (m.group() % x.obj).replace("%", "%%")]
            at = m.end()
        else:
            values.append(_checked(cx, m.group(1), cx.materialise(x, c.arg_node(i + 1)), c.arg_node(i + 1)))
    return emit_text(cx, "".join([*pieces, text[at:]]), values, c.node)


def _checked(cx: Context, kind: str, v: Value, node: ast.AST) -> Value:
    wanted = _KINDS.get(kind)
    if wanted is None:
        raise cx.error(
            "arguments", f"the format `%{kind}` is not supported", node, help="use %d, %u, %x, %c, %f, %e, %g or %s"
        )
    t = v.type
    fits = isinstance(t, Scalar) and (t.is_int if wanted == "int" else t.is_float if wanted == "float" else t is BOOL)
    if t is BOOL and wanted == "int":
        return cx.b.op("cast", v, attr=I32)
    if not fits:
        raise cx.error("type-mismatch", f"`%{kind}` shows {wanted} values, not {spell(t)}", node)
    if kind == "c":  # a character of ASCII
        return cx.b.op("and", v, cx.b.const(127, t))
    if kind in "uxXo" and t.kind == "int":
        return cx.b.op("cast", v, attr=SCALAR_BY_KEY[f"u{t.bits}"])
    return v
