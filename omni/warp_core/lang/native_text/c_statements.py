"""C++ statements as the body of a function of the kernel language. Start with `translate`."""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from ..types import I32, Array, Scalar, Type
from .c_expressions import Expression, Reader, converted, operation, truth
from .c_tokens import NotTranslated, tokens

_ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
_KINDS_OF_WORDS = ("if", "while", "for", "return", "break", "continue")


def translate(
    text: str, params: Sequence[tuple[str, Type]], result: Type | None, has_adjoints: bool = False
) -> list[str]:
    """Return the lines of a body in Python.

    Args:
        text: C++ text as the preprocessor leaves it.
        params: name and type of each parameter.
        result: the type of the result, None if nothing is returned or the type is not known.
        has_adjoints: whether the text is that of a gradient, where `adj_x` is the adjoint of the parameter `x`.

    Raises:
        NotTranslated: the text has something besides numbers, branches and loops.
    """
    names = {name: Expression(name, t if isinstance(t, Scalar) else None) for name, t in params}
    if has_adjoints:
        adjoints = {f"adj_{name}": Expression(f"wp.adjoint[{name}]", x.type) for name, x in names.items()}
        names = {**adjoints, **names}  # `adj_ret` is a parameter itself
    arrays = {name for name, t in params if isinstance(t, Array)}
    body = _Body(Reader(tokens(text), names, arrays), result if isinstance(result, Scalar) else None)
    while body.reader.tokens[body.reader.at].kind != "end":
        body.statement(1, True)
    return body.lines or ["    pass"]


class _Body:
    """Writes lines while it reads statements."""

    def __init__(self, reader: Reader, result: Scalar | None):
        self.reader, self.result = reader, result
        self.lines: list[str] = []

    def write(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def statement(self, depth: int, may_continue: bool) -> None:
        """Read one statement. `may_continue` tells whether `continue` does in Python what it does in C."""
        r = self.reader
        if r.accept(";"):
            return
        if r.accept("{"):
            self.block(depth, may_continue)
        elif r.next in _KINDS_OF_WORDS:
            self.keyword(r.take(), depth, may_continue)
        else:
            self.simple(depth)
            r.expect(";")

    def block(self, depth: int, may_continue: bool) -> None:
        """The rest of a block. Its variables end with it."""
        outer = dict(self.reader.names)
        while not self.reader.accept("}"):
            self.statement(depth, may_continue)
        self.reader.names = outer

    def nested(self, depth: int, may_continue: bool) -> None:
        """A statement below another one, never empty in Python."""
        before, outer = len(self.lines), dict(self.reader.names)
        self.statement(depth, may_continue)
        self.reader.names = outer
        if len(self.lines) == before:
            self.write(depth, "pass")

    def keyword(self, word: str, depth: int, may_continue: bool) -> None:
        if word == "if":
            self.write(depth, f"if {self.condition()}:")
            self.nested(depth + 1, may_continue)
            if self.reader.accept("else"):
                self.write(depth, "else:")
                self.nested(depth + 1, may_continue)
        elif word == "while":
            self.write(depth, f"while {self.condition()}:")
            self.nested(depth + 1, True)
        elif word == "for":
            self.loop(depth)
        else:
            self.jump(word, depth, may_continue)

    def condition(self) -> str:
        self.reader.expect("(")
        found = truth(self.reader.expression())
        self.reader.expect(")")
        return found

    def loop(self, depth: int) -> None:
        """A `for` loop, as a `while` loop with the step at its end."""
        r, outer = self.reader, dict(self.reader.names)
        r.expect("(")
        if not r.accept(";"):
            self.simple(depth)
            r.expect(";")
        self.write(depth, f"while {'True' if r.next == ';' else truth(r.expression())}:")
        r.expect(";")
        step = r.at
        while r.next != ")":
            if r.take() == "(":
                raise NotTranslated("brackets in the step of a loop")
        r.expect(")")
        self.nested(depth + 1, False)
        behind, r.at = r.at, step
        while r.next != ")":
            self.simple(depth + 1)
            r.accept(",")
        r.at, r.names = behind, outer

    def jump(self, word: str, depth: int, may_continue: bool) -> None:
        r = self.reader
        if word == "return" and r.next != ";":
            self.write(depth, f"return {converted(r.expression(), self.result).text}")
        elif word == "continue" and not may_continue:
            raise NotTranslated("`continue` in a `for` loop")
        else:
            self.write(depth, word)
        r.expect(";")

    # -- declarations, assignments, calls -------------------------------------------------------------------------

    def simple(self, depth: int) -> None:
        """A statement without the semicolon at its end."""
        is_type, kind = self.reader.type_here()
        if is_type:
            self.declare(depth, kind)
            while self.reader.accept(","):
                self.declare(depth, kind)
            return
        if self.reader.accept("++", "--"):
            sign = self.reader.tokens[self.reader.at - 1].text
            self.assign(depth, self.reader.postfix(self.reader.primary()), f"{sign[0]}=", Expression("1", I32, True))
            return
        target = self.reader.postfix(self.reader.primary())
        if self.reader.accept("++", "--"):
            sign = self.reader.tokens[self.reader.at - 1].text
            self.assign(depth, target, f"{sign[0]}=", Expression("1", I32, True))
        elif self.reader.accept(*_ASSIGNMENTS):
            sign = self.reader.tokens[self.reader.at - 1].text
            self.assign(depth, target, sign, self.reader.expression())
        else:
            self.write(depth, target.text)

    def declare(self, depth: int, kind: Scalar | None) -> None:
        r = self.reader
        if r.tokens[r.at].kind != "name":
            raise NotTranslated(f"`{r.next}` in a declaration")
        name = r.take()
        if name in r.names:
            raise NotTranslated(f"a second variable `{name}`")
        value = r.expression() if r.accept("=") else None
        if value is None and kind is None:
            raise NotTranslated(f"the variable `{name}` without a value")
        first = converted(value or Expression("0", I32, True), kind)
        own = f"{name}_" if keyword.iskeyword(name) or name == "wp" else name
        r.names[name] = Expression(own, kind or first.type)
        self.write(depth, f"{own} = {first.text}")

    def assign(self, depth: int, target: Expression, sign: str, value: Expression) -> None:
        new = value if sign == "=" else operation(sign[:-1], target, value)
        self.write(depth, f"{target.text} = {converted(new, target.type).text}")
