"""C++ expressions as expressions of the kernel language, with the conversions that C makes written out.

Members and results of `wp::` functions have types that are not known here. They stay as they are. Where C would
convert them, the front end reports the difference of types.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from ..registry import public
from ..types import BOOL, F32, F64, I32, I64, U32, U64, Scalar
from ..values.scalars import SCALAR_CLASSES
from ..values.value_classes import NAMED
from .c_tokens import NotTranslated, Token

# What the text calls a type -> the type. Words in any order, `unsigned long long int` and the like, are sorted first.
_TYPES = {
    **dict.fromkeys(("int", "int32_t", "signed", "int signed", "wp::int32"), I32),
    **dict.fromkeys(("unsigned", "int unsigned", "uint32_t", "wp::uint32"), U32),
    **dict.fromkeys(("long", "int long", "long long", "int long long", "int64_t", "wp::int64"), I64),
    **dict.fromkeys(("long unsigned", "long long unsigned", "int long long unsigned", "int long unsigned"), U64),
    **dict.fromkeys(("uint64_t", "size_t", "wp::uint64"), U64),
    **dict.fromkeys(("float", "wp::float32"), F32),
    **dict.fromkeys(("double", "wp::float64"), F64),
    "bool": BOOL,
}
_WORDS = {"unsigned", "signed", "int", "long"}
_RANK = (BOOL, I32, U32, I64, U64, F32, F64)  # the type of an operation is the later one of its operands'
_LEVELS: tuple[tuple[str, ...], ...] = (  # of operators, the loosest first
    *(("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">=")),
    *(("<<", ">>"), ("+", "-"), ("*", "/", "%")),
)
_FLOAT_FUNCTIONS = (
    "sqrt sin cos tan asin acos atan atan2 exp log log2 log10 pow floor ceil trunc fabs fmin fmax sinh cosh tanh cbrt "
    "fmod round rint erf erfc"
)
_SPELLED = {"fabs": "abs", "fmin": "min", "fmax": "max", "fmod": "mod"}
_QUESTIONS = ("isnan", "isinf", "isfinite")
_BITS = {
    "popcount": ("bit_count", U32),
    "popcountll": ("bit_count", U64),
    "ctz": ("_trailing_zeros", U32),
    "ctzll": ("_trailing_zeros", U64),
}


_ATOMICS = {
    f"atomic{name}": f"atomic_{name.lower()}" for name in ("Add", "Sub", "Min", "Max", "Exch", "And", "Or", "Xor")
}


class Expression(NamedTuple):
    """Python text, and its type where that is known."""

    text: str
    type: Scalar | None
    is_literal: bool = False


class Reader:
    """Reads expressions from tokens. `names` are the variables so far, by their names in the text; of some, `arrays`,
    the text may take the address.
    """

    def __init__(self, found: list[Token], names: dict[str, Expression], arrays: Collection[str] = ()):
        self.tokens, self.at, self.names, self.arrays = found, 0, names, arrays

    # -- tokens ---------------------------------------------------------------------------------------------------

    @property
    def next(self) -> str:
        """The text of the next token."""
        return self.tokens[self.at].text

    def take(self) -> str:
        """Go on by a token, and return its text."""
        self.at += 1
        return self.tokens[self.at - 1].text

    def accept(self, *texts: str) -> bool:
        """True, and one token further, if one of `texts` comes next."""
        if self.next in texts and self.tokens[self.at].kind != "end":
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Go on by a token, which must be `text`."""
        if not self.accept(text):
            raise NotTranslated(f"`{self.next}` where `{text}` was expected")

    # -- types ----------------------------------------------------------------------------------------------------

    def type_here(self) -> tuple[bool, Scalar | None]:
        """Take a type, if one comes next: whether it did, and which it is (None: `auto`, or one that is no number)."""
        before = self.at
        is_const = self.accept("const", "constexpr")
        words = []
        while self.next in _WORDS:
            words.append(self.take())
        name = " ".join(sorted(words)) if words else self.next
        if name in _TYPES or name == "auto":
            self.at += not words
            self.accept("const")
            return True, _TYPES.get(name)
        after = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None
        if name.startswith("wp::") and after and after.kind == "name":
            self.take()
            return True, None
        if is_const:
            raise NotTranslated(f"the type `{name}`")
        self.at = before
        return False, None

    # -- operators ------------------------------------------------------------------------------------------------

    def expression(self) -> Expression:
        """A whole expression, without assignments and commas."""
        condition = self.binary(0)
        if not self.accept("?"):
            return condition
        yes = self.expression()
        self.expect(":")
        no = self.expression()
        yes, no, kind = unified(yes, no)
        return Expression(f"({yes.text} if {truth(condition)} else {no.text})", kind)

    def binary(self, level: int) -> Expression:
        """Operators of a level of `_LEVELS` and of those that bind tighter."""
        if level == len(_LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.next in _LEVELS[level]:
            sign = self.take()
            left = operation(sign, left, self.binary(level + 1))
        return left

    def unary(self) -> Expression:
        """A sign, `!`, `~` or a cast, and what follows."""
        if self.accept("+"):
            return promoted(self.unary())
        if self.accept("-"):
            x = promoted(self.unary())
            zero = f"({converted(Expression('0', I32, True), x.type).text} - {x.text})" if x.type in (U32, U64) else ""
            return Expression(zero or f"(-{x.text})", x.type)
        if self.accept("~"):
            x = promoted(self.unary())
            return Expression(f"(~{x.text})", x.type)
        if self.accept("!"):
            return Expression(f"(not {truth(self.unary())})", BOOL)
        if self.next == "(":
            before = self.at
            self.take()
            is_type, kind = self.type_here()
            if is_type and kind is not None and self.accept(")"):
                return self.address(kind) or converted(self.unary(), kind)
            self.at = before
        return self.postfix(self.primary())

    def postfix(self, x: Expression) -> Expression:
        """Members and elements of `x`."""
        while True:
            if self.accept("."):
                x = Expression(f"{x.text}.{self.member()}", None)
            elif self.accept("["):
                x = Expression(f"{x.text}[{self.expression().text}]", None)
                self.expect("]")
            else:
                return x

    def member(self) -> str:
        """The name of a member, which may not be an address."""
        name = self.take()
        if name in ("data", "c", "ptr"):
            raise NotTranslated(f"memory by its address, `.{name}`")
        return name

    # -- what has no operator -------------------------------------------------------------------------------------

    def primary(self) -> Expression:
        """A number, a variable, a call, or an expression in brackets."""
        token = self.tokens[self.at]
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if token.kind == "number":
            self.take()
            return number(token.text)
        if token.kind != "name":
            raise NotTranslated(f"`{token.text}`")
        self.take()
        if token.text in ("static_cast", "reinterpret_cast"):
            return self.cast(token.text)
        if token.text in self.names:
            return self.names[token.text]
        if token.text in ("true", "false"):
            return Expression(token.text.capitalize(), BOOL)
        if token.text == "INFINITY":
            return Expression("wp.inf", F32)
        if self.accept("("):
            return self.atomic(_ATOMICS[token.text]) if token.text in _ATOMICS else self.call(token.text)
        raise NotTranslated(f"`{token.text}`")

    def cast(self, how: str) -> Expression:
        """`static_cast<T>(x)`, or the bits of `x` by `reinterpret_cast<T&>(x)`."""
        self.expect("<")
        is_type, kind = self.type_here()
        bits = self.accept("&")
        self.expect(">")
        self.expect("(")
        address = None if bits or how != "reinterpret_cast" else self.address(kind)
        x = address or self.expression()
        self.expect(")")
        if address:
            return address
        if not is_type or kind is None or bits != (how == "reinterpret_cast"):
            raise NotTranslated(f"this {how}")
        if not bits:
            return converted(x, kind)
        if x.type is None or x.type.size != kind.size:
            raise NotTranslated("a reinterpret_cast to a type of another size")
        return Expression(f"wp.cast({x.text}, {_name(kind)})", kind)

    def address(self, kind: Scalar | None) -> Expression | None:
        """The address of an array, `a.data`, if that comes next and is wanted as a number."""
        texts = [token.text for token in self.tokens[self.at : self.at + 4]]
        if kind is not U64 or texts[0] not in self.arrays or texts[1:3] != [".", "data"] or texts[3:] == ["["]:
            return None
        self.at += 3
        return Expression(f"wp.uint64({self.names[texts[0]].text}.ptr)", U64)

    def atomic(self, function: str) -> Expression:
        """An atomic operation of CUDA on the first element of an array, `a`, or on another one, `&a[i]`."""
        is_element = self.accept("&")
        place, index = self.take(), "0"
        if place not in self.names:
            raise NotTranslated(f"an atomic operation on `{place}`")
        if is_element:
            self.expect("[")
            index = self.expression().text
            self.expect("]")
        self.expect(",")
        value = self.expression().text
        self.expect(")")
        return Expression(f"wp.{function}({self.names[place].text}, {index}, {value})", None)

    def call(self, name: str) -> Expression:
        """The call of a function, its opening bracket taken."""
        arguments = [] if self.next == ")" else [self.expression()]
        while self.accept(","):
            arguments.append(self.expression())
        self.expect(")")
        return called(name, arguments)


# -- what an operation means ------------------------------------------------------------------------------------------


def _name(kind: Scalar) -> str:
    return f"wp.{SCALAR_CLASSES[kind].__name__}"


def number(text: str) -> Expression:
    """A literal of C."""
    is_hex = text[:2] in ("0x", "0X")
    if not is_hex and any(c in text for c in ".eEfF"):
        single = text[-1] in "fF"
        value = float(text[:-1] if single else text)
        return Expression(repr(value), F32, True) if single else Expression(f"wp.float64({value!r})", F64)
    digits = text.rstrip("uUlL")
    if not is_hex and len(digits) > 1 and digits[0] == "0":
        raise NotTranslated(f"the octal number `{text}`")
    suffix = text[len(digits) :].lower()
    value = int(digits, 16 if is_hex else 10)
    kinds: tuple[Scalar, ...] = (U32, U64) if "u" in suffix else (I32, U32, I64, U64) if is_hex else (I32, I64)
    kinds = tuple(k for k in kinds if k.size == 8 or "l" not in suffix)
    for kind in kinds:
        if value < 1 << (8 * kind.size - (kind in (I32, I64))):
            return converted(Expression(digits, I32, True), kind)
    raise NotTranslated(f"the number `{text}`")


def converted(x: Expression, kind: Scalar | None) -> Expression:
    """`x` as C converts it to a type; as it is where that is not known."""
    if kind is None or x.type is kind:
        return x
    if kind is BOOL:
        return Expression(truth(x), BOOL)
    return Expression(f"{_name(kind)}({x.text})", kind)


def truth(x: Expression) -> str:
    """`x` as a condition."""
    if x.type is BOOL or x.type is None:
        return x.text
    return f"({x.text} != {converted(Expression('0', I32, True), x.type).text})"


def promoted(x: Expression) -> Expression:
    """`x` as C takes it in arithmetic: a bool is an int."""
    return converted(x, I32) if x.type is BOOL else x


def unified(a: Expression, b: Expression) -> tuple[Expression, Expression, Scalar | None]:
    """Two operands in their common type."""
    if a.type is None or b.type is None:
        return a, b, None
    kind = max(a.type, b.type, key=_RANK.index)
    return converted(a, kind), converted(b, kind), kind


def operation(sign: str, a: Expression, b: Expression) -> Expression:
    """An operation of two operands."""
    if sign in ("&&", "||"):
        return Expression(f"({truth(a)} {'and' if sign == '&&' else 'or'} {truth(b)})", BOOL)
    a, b = promoted(a), promoted(b)
    if sign in ("<<", ">>"):
        return Expression(f"({a.text} {sign} {converted(b, a.type).text})", a.type)
    a, b, kind = unified(a, b)
    is_comparison = sign in ("==", "!=", "<", ">", "<=", ">=")
    return Expression(f"({a.text} {sign} {b.text})", BOOL if is_comparison else kind)


def called(name: str, arguments: list[Expression]) -> Expression:
    """The call of a function of C, or of one of `wp::`."""
    if name.startswith("wp::"):
        own = name.removeprefix("wp::")
        if "::" in own or (public(own) is None and own not in NAMED):
            raise NotTranslated(f"the function `{name}`")
        return Expression(f"wp.{own}({', '.join(a.text for a in arguments)})", None)
    plain = name.removeprefix("std::").removeprefix("__builtin_")
    if plain in _BITS and len(arguments) == 1:
        function, kind = _BITS[plain]
        return Expression(f"{function}({converted(arguments[0], kind).text})", I32)
    single = plain[:-1] if plain.endswith("f") and plain[:-1] in _FLOAT_FUNCTIONS.split() else ""
    if single or plain in _FLOAT_FUNCTIONS.split():
        width = F32 if single or all(a.type is F32 for a in arguments) else F64
        return _call(_SPELLED.get(single or plain, single or plain), arguments, width)
    if plain in _QUESTIONS and len(arguments) == 1:
        return Expression(f"wp.{plain}({arguments[0].text})", BOOL)
    if plain == "nextafterf" and len(arguments) == 2:
        return Expression(f"_next_after({', '.join(converted(a, F32).text for a in arguments)})", F32)
    if plain in ("min", "max") and len(arguments) == 2:
        a, b, common = unified(*arguments)
        return Expression(f"wp.{plain}({a.text}, {b.text})", common)
    raise NotTranslated(f"the function `{name}`")


def _call(function: str, arguments: list[Expression], kind: Scalar) -> Expression:
    return Expression(f"wp.{function}({', '.join(converted(a, kind).text for a in arguments)})", kind)
