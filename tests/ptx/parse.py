"""PTX text as data: `module` makes a `Module` of it, whose functions are lists of instructions with names resolved.

The grammar is that of the published PTX ISA, as far as LLVM writes it: one kernel with its functions and data, blocks
in braces with registers and parameters of their own, labels, guards. What is not known is an error.
"""

from __future__ import annotations

import re
from typing import NamedTuple

WIDTHS = {f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)}
WIDTHS |= {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "pred": 1}


class PtxError(Exception):
    """The text is wrong, or does what PTX leaves undefined."""


class Reg(NamedTuple):
    name: str
    bits: int


class Imm(NamedTuple):
    """A number: an integer, or the bits of a float with their type."""

    value: int
    type: str = ""


class Special(NamedTuple):
    name: str


class Symbol(NamedTuple):
    name: str


class Address(NamedTuple):
    base: Reg | Symbol | Imm
    offset: int


class Vector(NamedTuple):
    parts: tuple


class Pair(NamedTuple):
    """A destination with a predicate beside it, `d|p`."""

    first: Reg
    second: Reg


class Instruction(NamedTuple):
    opcode: str
    operands: tuple
    guard: tuple[bool, Reg] | None  # whether it is negated, and the predicate
    text: str


class Variable(NamedTuple):
    """Memory with a name. `space` is param, local, shared or global; `data` what it begins with, if that is known."""

    name: str
    space: str
    align: int
    size: int
    data: bytes | None = None


class Function(NamedTuple):
    name: str
    is_entry: bool
    results: tuple[Variable, ...]
    params: tuple[Variable, ...]
    code: tuple[Instruction, ...]
    labels: dict[str, int]
    tables: dict[str, tuple[str, ...]]  # of labels
    variables: tuple[Variable, ...]
    registers: dict[str, int]  # name -> bits
    max_threads: int


class Module(NamedTuple):
    functions: dict[str, Function]
    outside: dict[str, tuple[int, int]]  # functions of others: how many results and parameters
    variables: tuple[Variable, ...]
    version: tuple[int, int]
    target: str


_NOISE = re.compile(
    r"//[^\n]*|/\*.*?\*/|^\s*\.(?:loc|file)\b[^\n]*|^\s*\.section\b[^{]*\{[^}]*\}", re.MULTILINE | re.DOTALL
)
_HEAD = re.compile(r"\s*\.version\s+(\d+\.\d+)\s+\.target\s+(\w+)(?:,\s*debug)?\s+\.address_size\s+64\s")
_FUNCTION = re.compile(
    r"\s*((?:\.(?:visible|weak|extern)\s+)*)\.(entry|func)\s*(?:\(([^)]*)\))?\s*([\w$]+)\s*(?:\(([^)]*)\))?"
    r"((?:\s*\.(?:noreturn|maxntid\s+[\d, ]+|reqntid\s+[\d, ]+|maxnreg\s+\d+|minnctapersm\s+\d+))*)\s*([;{])"
)
_STATEMENT = re.compile(r"\s*(?:(\{)|(\})|([$\w]+):|((?:[^;{}\"]|\"[^\"]*\"|\{[^{}]*\})+);)")
_VARIABLE = re.compile(
    r"\s*(?:\.visible\s+)?\.(param|local|shared|global|const)\s+(?:\.align\s+(\d+)\s+)?(?:\.ptr\S*\s+)?"
    r"\.(\w+)\s+([\w$]+)(?:\[(\d+)\])?\s*(?:=\s*(.*))?$",
    re.DOTALL,
)
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(.*)$", re.DOTALL)
_GUARD = re.compile(r"@(!?)([%\w$]+)\s+")
_OPERAND = re.compile(r"\s*(\[[^\]]*\]|\{[^}]*\}|\([^)]*\)|[^,\[({]+)\s*(?:,|$)")


def module(text: str) -> Module:
    """Parse a module."""
    text = _NOISE.sub("", text.rstrip("\0"))
    head = _HEAD.match(text)
    if not head:
        raise PtxError("no head of a module")
    at, functions, outside, variables = head.end(), {}, {}, []
    names: dict[str, object] = {}
    while text[at:].strip():
        found = _FUNCTION.match(text, at)
        if found:
            linkage, kind, results, name, params, directives, end = found.groups()
            at = found.end()
            inputs, outputs = _declared(params), _declared(results)
            if end == ";":
                if "extern" in linkage:
                    outside[name] = (len(outputs), len(inputs))
                continue
            bound = re.search(r"\.(?:maxntid|reqntid)\s+(\d+)", directives)
            body = _Body(names, inputs, outputs)
            at = body.read(text, at)
            functions[name] = Function(
                name,
                kind == "entry",
                tuple(outputs),
                tuple(inputs),
                tuple(body.code),
                body.labels,
                body.tables,
                tuple(body.variables),
                body.registers,
                int(bound[1]) if bound else 1024,
            )
            continue
        statement = _STATEMENT.match(text, at)
        if not statement or not statement[4]:
            raise PtxError(f"not understood: {text[at : at + 80].strip()!r}")
        variable = _variable(statement[4])
        names[variable.name] = Symbol(variable.name)
        variables.append(variable)
        at = statement.end()
    major, minor = map(int, head[1].split("."))
    return Module(functions, outside, tuple(variables), (major, minor), head[2])


def _declared(text: str | None) -> list[Variable]:
    return [_variable(part) for part in (text or "").split(",") if part.strip()]


def _variable(text: str) -> Variable:
    found = _VARIABLE.match(text)
    if not found:
        raise PtxError(f"not a variable: {text.strip()!r}")
    space, align, kind, name, count, data = found.groups()
    size = WIDTHS[kind] // 8
    content = None
    if data:
        values = [int(v, 0) & (1 << 8 * size) - 1 for v in re.findall(r"-?\w+", data)]
        content = b"".join(v.to_bytes(size, "little") for v in values)
    total = size * int(count or 1)
    if content is not None:
        content = content.ljust(total, b"\0")
    elif space == "global":
        content = bytes(total)
    return Variable(name, "global" if space == "const" else space, int(align or size), total, content)


class _Body:
    """Reads the body of a function. Names get a number where they are declared in an inner block."""

    def __init__(self, names: dict, params: list[Variable], results: list[Variable]):
        self.scopes: list[dict[str, object]] = [names, {v.name: Symbol(v.name) for v in (*params, *results)}]
        self.code: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.tables: dict[str, tuple[str, ...]] = {}
        self.variables: list[Variable] = []
        self.registers: dict[str, int] = {}
        self.ranges: dict[str, tuple[int, int]] = {}

    def read(self, text: str, at: int) -> int:
        depth, last = len(self.scopes), ""
        self.scopes.append({})
        while len(self.scopes) > depth:
            found = _STATEMENT.match(text, at)
            if not found:
                raise PtxError(f"not understood: {text[at : at + 80].strip()!r}")
            opened, closed, label, statement = found.groups()
            at = found.end()
            if opened:
                self.scopes.append({})
            elif closed:
                self.scopes.pop()
            elif label:
                self.labels[label] = len(self.code)
                last = label
            elif statement.strip().startswith(".branchtargets"):
                self.tables[last] = tuple(name.strip() for name in statement.strip()[14:].split(","))
            else:
                self._statement(statement.strip())
        return at

    def _statement(self, text: str) -> None:
        if text.startswith(".reg"):
            self._registers(text)
        elif text.startswith(".pragma"):
            return
        elif text.startswith("."):
            v = _variable(text)
            unique = self._unique(v.name)
            self.scopes[-1][v.name] = Symbol(unique)
            self.variables.append(v._replace(name=unique))
        else:
            self._instruction(text)

    def _unique(self, name: str) -> str:
        known = {v.name for v in self.variables} | self.registers.keys()
        unique, n = name, 0
        while unique in known:
            n += 1
            unique = f"{name}#{n}"
        return unique

    def _registers(self, text: str) -> None:
        found = _REGISTERS.match(text)
        if not found:
            raise PtxError(f"not a declaration: {text!r}")
        bits = WIDTHS[found[1]]
        for name in found[2].split(","):
            name = name.strip()
            many = re.fullmatch(r"(.*)<(\d+)>", name)
            if many:
                self.ranges[many[1]] = (int(many[2]), bits)
            else:
                unique = self._unique(name)
                self.registers[unique] = bits
                self.scopes[-1][name] = Reg(unique, bits)

    def _instruction(self, text: str) -> None:
        guard, rest = None, text
        found = _GUARD.match(text)
        if found:
            guard, rest = (found[1] == "!", self._name(found[2])), text[found.end() :]
        opcode, _, operands = rest.partition(" ") if " " in rest.split("\t")[0] else rest.partition("\t")
        self.code.append(Instruction(opcode.strip(), tuple(self._operands(operands)), guard, text))

    def _operands(self, text: str) -> list:
        found, at, text = [], 0, text.strip()
        while at < len(text):
            part = _OPERAND.match(text, at)
            if not part:
                raise PtxError(f"not operands: {text!r}")
            found.append(self._operand(part[1].strip()))
            at = part.end()
        return found

    def _operand(self, text: str) -> object:
        if text[0] == "[":
            base, _, offset = text[1:-1].partition("+")
            return Address(self._name(base.strip()), int(offset or "0", 0))
        if text[0] in "({":
            return Vector(tuple(self._operands(text[1:-1])))
        if "|" in text:
            return Pair(*(self._name(t) for t in text.split("|")))
        return self._name(text)

    def _name(self, text: str) -> object:
        for scope in reversed(self.scopes):
            if text in scope:
                return scope[text]
        if text[0].isdigit() or text[0] == "-":
            return _number(text)
        found = re.fullmatch(r"(%?[a-zA-Z_$]+)(\d+)", text)
        if found and found[1] in self.ranges and int(found[2]) < self.ranges[found[1]][0]:
            self.registers[text] = self.ranges[found[1]][1]
            return Reg(text, self.registers[text])
        if text[0] == "%":
            return Special(text)
        return Symbol(text)


def _number(text: str) -> Imm:
    if text[:2] in ("0f", "0F"):
        return Imm(int(text[2:], 16), "f32")
    if text[:2] in ("0d", "0D"):
        return Imm(int(text[2:], 16), "f64")
    return Imm(int(text.rstrip("U"), 0))
