"""Mutations of a module: of its syntax tree, where most results still compile, and of its text.

`Mutator(texts, seed).case()` gives one mutated module; the same seed gives the same modules.
"""

from __future__ import annotations

import ast
import copy
import io
import random
import re
import tokenize

from omni.warp_core.lang.registry import INTRINSICS, index

CONSTANTS = [
    *(0, 1, -1, 2, 7, 16, 255, 1 << 15, (1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 63) - 1, 1 << 63, 1 << 64, 10**30),
    *(0.0, -0.0, 0.5, 1e-46, 1e38, 1e39, 1e308, float("inf"), float("nan"), True, False, None, ..., 1j, b"x"),
    *("", "x", "float", "%d %s", "\0", "\ud800", "{}", "ü"),
]
TYPES = """
int float bool wp.int8 wp.uint8 wp.int16 wp.int64 wp.uint32 wp.uint64 wp.float16 wp.float64 wp.vec2 wp.vec3 wp.vec4h
wp.vec3d wp.vec2i wp.mat22 wp.mat33 wp.mat44d wp.quat wp.transform wp.spatial_vector str None typing.Any object
wp.array(dtype=float) wp.array(dtype=int) wp.array2d(dtype=wp.vec3) wp.array4d(dtype=wp.float64)
wp.array(dtype=wp.mat33) wp.types.vector(length=5,dtype=wp.float64) wp.types.matrix(shape=(3,2),dtype=float)
"""
BINARY = [ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift]
BINARY += [ast.BitAnd, ast.BitOr, ast.BitXor, ast.MatMult]
COMPARE = [ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn]
UNARY = [ast.USub, ast.UAdd, ast.Invert, ast.Not]
WRAPPERS = [
    "if {0}:\n    pass\nelse:\n    pass",
    "for i in range({0}):\n    pass",
    "for i, j in enumerate({0}):\n    pass",
    "while {0}:\n    pass\n    break",
    "for i in {0}:\n    pass\nelse:\n    pass",
    "match {0}:\n    case 0:\n        pass\n    case n if n:\n        pass\n    case _:\n        pass",
]
EXPRESSIONS = """\
({0},) | [{0}, {0}] | lambda x: {0} | {0} if {0} else {0} | ({0})[{0}] | ({0})[{0}:{0}] | ({0}).x | ({0})(1)
[{0} for i in range(3)] | sum({0}) | (n := {0}) | not {0} | {0} < {0} < {0} | {0} and {0} or {0} | f'{{{0}}}'
wp.static({0}) | {0} in {0} | *{0}, | int({0}) | wp.vec3({0}) | -({0}) | wp.float64({0}) | wp.array({0}) | len({0})
"""
NAMES = [*index(), *INTRINSICS, "vec3", "mat33", "quat", "float16", "uint8", "types", "config", "launch"]
KEPT = (ast.Name, ast.Attribute, ast.Subscript, ast.Starred, ast.Tuple, ast.List)


def _bodies(tree: ast.AST) -> list[list[ast.stmt]]:
    """The lists of statements inside functions."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    nodes = [n for f in functions for n in ast.walk(f)]
    bodies = [getattr(n, name, None) for n in nodes for name in ("body", "orelse")]
    return [b for b in bodies if isinstance(b, list) and b]


class Mutator:
    """Makes mutated modules of the given texts."""

    def __init__(self, texts: list[str], seed: int):
        self.rng = random.Random(seed)
        self.texts = texts
        trees = [ast.parse(text) for text in texts]
        inside = [n for t in trees for b in _bodies(t) for s in b for n in ast.walk(s)]
        self.statements = [n for n in inside if isinstance(n, ast.stmt)]
        self.expressions = [n for n in inside if isinstance(n, ast.expr) and not self._stores(n)]

    @staticmethod
    def _stores(n: ast.AST) -> bool:
        return isinstance(getattr(n, "ctx", None), (ast.Store, ast.Del))

    def case(self) -> str:
        """One mutated module; about one in six is mutated as text."""
        text = self.rng.choice(self.texts)
        if self.rng.random() < 0.15:
            return self._mutated_text(text)
        tree = ast.parse(text)
        try:
            for _ in range(self.rng.choice((1, 1, 1, 2, 3, 5))):
                getattr(self, self.rng.choice(self.KINDS))(tree)
            return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        except (ValueError, RecursionError):  # what cannot be written, as a mutated f-string
            return text

    # -- of the tree --------------------------------------------------------------------------------------------------

    KINDS = (
        *("replace_expression",) * 4,
        *("wrap_expression",) * 3,
        *("change_constant",) * 3,
        *("change_name",) * 3,
        *("change_operator",) * 2,
        *("edit_statements",) * 4,
        *("change_call",) * 2,
        "change_type",
        "swap_expressions",
    )

    def _pick(self, found: list) -> ast.AST | None:
        return self.rng.choice(found) if found else None

    def _slots(self, tree: ast.AST) -> list[tuple[ast.AST, str, int | None]]:
        """Where expressions stand: (parent, field, position)."""
        out: list[tuple[ast.AST, str, int | None]] = []
        for body in _bodies(tree):
            for parent in (n for s in body for n in ast.walk(s)):
                for field, value in ast.iter_fields(parent):
                    items = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
                    out += [(parent, field, i) for i, v in items if isinstance(v, ast.expr)]
        return out

    @staticmethod
    def _get(slot: tuple) -> ast.expr:
        parent, field, i = slot
        return getattr(parent, field) if i is None else getattr(parent, field)[i]

    def _put(self, slot: tuple, new: ast.expr) -> None:
        parent, field, i = slot
        if self._stores(self._get(slot)):
            if not isinstance(new, KEPT):
                return
            for n in ast.walk(new):
                if isinstance(n, KEPT) and (n is new or isinstance(new, (ast.Tuple, ast.List, ast.Starred))):
                    n.ctx = ast.Store()
        if i is None:
            setattr(parent, field, new)
        else:
            getattr(parent, field)[i] = new

    def replace_expression(self, tree: ast.AST) -> None:
        slot = self._pick(self._slots(tree))
        if slot:
            own = self.rng.random() < 0.6
            new = self._get(self.rng.choice(self._slots(tree))) if own else self.rng.choice(self.expressions)
            new = copy.deepcopy(new)
            for n in ast.walk(new):
                if hasattr(n, "ctx"):
                    n.ctx = ast.Load()
            self._put(slot, new)

    def wrap_expression(self, tree: ast.AST) -> None:
        slot = self._pick(self._slots(tree))
        if slot:
            parts = [ast.unparse(self._get(slot)), ast.unparse(self._get(self.rng.choice(self._slots(tree))))]
            text = self.rng.choice(re.split(r" \| |\n", EXPRESSIONS.strip()))
            while "{0}" in text:
                text = text.replace("{0}", self.rng.choice(parts).replace("{0}", ""), 1)
            try:
                self._put(slot, ast.parse(f"({text})", mode="eval").body)
            except (SyntaxError, ValueError):
                return

    def change_constant(self, tree: ast.AST) -> None:
        slot = self._pick([s for s in self._slots(tree) if isinstance(self._get(s), ast.Constant)])
        if slot:
            self._put(slot, ast.Constant(self.rng.choice(CONSTANTS)))

    def change_name(self, tree: ast.AST) -> None:
        names = [n for b in _bodies(tree) for s in b for n in ast.walk(s) if isinstance(n, (ast.Name, ast.Attribute))]
        n = self._pick(names)
        if isinstance(n, ast.Name):
            n.id = self.rng.choice([m.id for m in names if isinstance(m, ast.Name)])
        elif isinstance(n, ast.Attribute):
            others = [m.attr for m in names if isinstance(m, ast.Attribute)]
            n.attr = self.rng.choice(NAMES if self.rng.random() < 0.6 else others)

    def change_operator(self, tree: ast.AST) -> None:
        kinds = (ast.BinOp, ast.AugAssign, ast.Compare, ast.BoolOp, ast.UnaryOp)
        n = self._pick([n for b in _bodies(tree) for s in b for n in ast.walk(s) if isinstance(n, kinds)])
        if isinstance(n, (ast.BinOp, ast.AugAssign)):
            n.op = self.rng.choice(BINARY)()
        elif isinstance(n, ast.Compare):
            n.ops[self.rng.randrange(len(n.ops))] = self.rng.choice(COMPARE)()
        elif isinstance(n, ast.BoolOp):
            n.op = self.rng.choice((ast.And, ast.Or))()
        elif isinstance(n, ast.UnaryOp):
            n.op = self.rng.choice(UNARY)()

    def edit_statements(self, tree: ast.AST) -> None:
        bodies = _bodies(tree)
        body = self._pick(bodies)
        if not body:
            return
        at = self.rng.randrange(len(body))
        other = self.rng.choice(self.rng.choice(bodies))
        what = self.rng.randrange(6)
        if what == 0 and len(body) > 1:
            del body[at]
        elif what == 1:
            body.insert(at, copy.deepcopy(other))
        elif what == 2:
            body.insert(at, copy.deepcopy(self.rng.choice(self.statements)))
        elif what == 3:
            self.rng.shuffle(body)
        elif what == 4:
            body.insert(at, ast.parse(self.rng.choice(("break", "continue", "return", "pass", "return 1"))).body[0])
        else:
            test = ast.unparse(self.rng.choice(self.expressions if self.rng.random() < 0.3 else [ast.Name("i")]))
            try:
                new = ast.parse(self.rng.choice(WRAPPERS).format(test)).body[0]
            except SyntaxError:
                return
            inner = self.rng.choice([b for b in _bodies(ast.Module([_function([new])])) if b[0] is not new])
            inner[0:1] = [body[at]]
            body[at] = new

    def change_call(self, tree: ast.AST) -> None:
        n = self._pick([n for b in _bodies(tree) for s in b for n in ast.walk(s) if isinstance(n, ast.Call)])
        if not isinstance(n, ast.Call):
            return
        what = self.rng.randrange(4)
        new = copy.deepcopy(self._get(self.rng.choice(self._slots(tree))))
        if what == 0 and n.args:
            del n.args[self.rng.randrange(len(n.args))]
        elif what == 1:
            n.args.insert(self.rng.randint(0, len(n.args)), new)
        elif what == 2:
            n.keywords.append(ast.keyword(self.rng.choice(("dtype", "length", "x", "a", "shape", "sep", None)), new))
        else:
            self.rng.shuffle(n.args)

    def change_type(self, tree: ast.AST) -> None:
        n = self._pick([n for n in ast.walk(tree) if isinstance(n, ast.arg)])
        if isinstance(n, ast.arg):
            n.annotation = ast.parse(self.rng.choice(TYPES.split()), mode="eval").body

    def swap_expressions(self, tree: ast.AST) -> None:
        slots = self._slots(tree)
        if len(slots) > 1:
            a, b = self.rng.sample(slots, 2)
            x, y = copy.deepcopy(self._get(a)), copy.deepcopy(self._get(b))
            self._put(a, y)
            self._put(b, x)

    # -- of the text --------------------------------------------------------------------------------------------------

    def _mutated_text(self, text: str) -> str:
        tokens = [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline)]
        first = text.find("\ndef ")
        for _ in range(self.rng.randint(1, 3)):
            at = self.rng.randrange(max(first, 0), len(text))
            end = min(len(text), at + self.rng.choice((0, 1, 1, 2, 8)))
            middle = self.rng.choice(("", self.rng.choice(tokens), text[at:end] * 2, chr(self.rng.randint(0, 0x2FF))))
            text = text[:at] + middle + text[end:]
        return text


def _function(body: list[ast.stmt]) -> ast.FunctionDef:
    made = ast.parse("def f(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body = body
    return made
