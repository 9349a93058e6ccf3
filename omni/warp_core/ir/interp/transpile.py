"""Translates an IR function to Python source for the interpreter; start with `transpile`.

Scalar arithmetic that is the same in Python is written inline, everything else calls `semantics`. Every breakable
operation becomes a Python loop. Leaving several at once sets `_x` to the code of the target (twice its number, plus one
for `continue`) and breaks. Behind each loop that may be left so, `_x` is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...lang import semantics
from ...lang.types import BOOL, F64, Packed, Scalar, Tile, Type, element
from ..nodes import Function, Operation, Region, Value
from ..ops import COMPARISONS, ELEMENT_OPS, ELEMENTWISE, TILE_OPS, index_count, path_type
from . import array_memory, tiles
from .block_runner import WAITS, has_any

_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_INFIX = {"add": "+", "sub": "-", "mul": "*"}
_BITS = {"and": "&", "or": "|", "xor": "^"}
_ROUND = {s.key: f"_round_{s.key}" for s in semantics.ROUND}


def _unreachable() -> None:
    raise array_memory.Trap("reached the unreachable")


_BASE: dict[str, Any] = {
    **{name: semantics.ROUND[s] for s, name in zip(semantics.ROUND, _ROUND.values())},
    "_inf": math.inf,
    "_prod": math.prod,
    "_nan": math.nan,
    "_evaluate": semantics.evaluate,
    "_formatted": semantics.formatted,
    "_convert": semantics.convert,
    "_bits_of": semantics.bits_of,
    "_from_bits": semantics.from_bits,
    "_libm": semantics.libm,
    "_read": array_memory.read,
    "_write": array_memory.write,
    "_atomic": array_memory.atomic,
    "_component": array_memory.component,
    "_replace": array_memory.replace,
    "_zero": array_memory.zero,
    "_local": array_memory.MemArray.local,
    "_unreachable": _unreachable,
    "_alone": tiles.alone,
    "_all_alone": tiles.all_alone,
}


def transpile(
    function: Function,
    link: Callable[[Function], Callable],
    failure: type,
    instead: Mapping[str, Any] | None = None,
) -> Callable[..., tuple]:
    """`function` as a Python callable (context, arguments…) -> results. `link` gives the callable of a callee.

    `instead` has other things for the names of `_BASE`, for numbers that are more than numbers.
    """
    writer = _Writer(link, {**_BASE, **(instead or {}), "_Failure": failure})
    source = writer.function(function)
    exec(compile(source, f"<ir {function.name}>", "exec"), writer.env)
    return writer.env["_run"]


def _wrapped(expression: str, t: Scalar) -> str:
    """`expression` as an integer reduced into the range of `t`."""
    mask, half = (1 << t.bits) - 1, 1 << (t.bits - 1)
    return f"(({expression}) + {half} & {mask}) - {half}" if t.is_signed else f"({expression}) & {mask}"


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        return _tuple(list(map(_literal, value)))
    if isinstance(value, float) and not math.isfinite(value):
        return "_nan" if math.isnan(value) else "_inf" if value > 0 else "-_inf"
    return repr(value)


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)},)" if items else "()"


def _tiles_of(op: Operation) -> list[Value]:
    """The tiles that an operation uses, its operands first."""
    inner = (a for region in op.regions for o in region.walk() for a in o.args)
    return list(dict.fromkeys(v for v in (*op.args, *inner) if isinstance(v.type, Tile)))


class _Frame:
    """A breakable operation around the place being written."""

    def __init__(self, number: int, op: Operation, carried: list[str], results: list[str]):
        self.number, self.op, self.carried, self.results = number, op, carried, results
        self.crossed = False


class _Writer:
    def __init__(self, link: Callable[[Function], Callable], env: dict[str, Any]):
        self.env = env
        self._link = link
        self._lines: list[str] = []
        self._names: dict[Value, str] = {}
        self._bound: dict[Any, str] = {}
        self._frames: list[_Frame] = []
        self._count = 0
        self._position = 0  # of the operation being written
        self._time: list[str] = []  # positions of the loops around it, and how often each has begun
        self._for_element = False  # whether what is written is done for one element, by one thread

    def function(self, function: Function) -> str:
        params = ["_c", *map(self._name, function.params)]
        self._is_block = has_any(function, frozenset(("threads",)))  # a run is a whole block
        self._lines = [f"def _run({', '.join(params)}):", " _x = 0"]
        self._waits = has_any(function, WAITS) and not self._is_block
        if self._waits:
            self._lines.append(" if 0: yield")  # waits for the other threads of its block
        self._region(function.body, None, " ")
        return "\n".join(self._lines) + "\n"

    # -- names --------------------------------------------------------------------------------------------------

    def _name(self, value: Value) -> str:
        name = self._names[value] = f"v{len(self._names)}"
        return name

    def _use(self, values: Sequence[Value]) -> list[str]:
        return [self._names[v] for v in values]

    def _bind(self, thing: Any) -> str:
        """A global name for `thing`."""
        key = thing if isinstance(thing, (Type, Function)) else id(thing)
        name = self._bound.get(key)
        if name is None:
            name = self._bound[key] = f"K{len(self._bound)}"
            self.env[name] = thing
        return name

    # -- structure ----------------------------------------------------------------------------------------------

    def _region(self, region: Region, owner: Operation | None, indent: str) -> None:
        for op in region.ops:
            self._position += 1
            write = _WRITERS.get(op.code)
            if write is not None:
                write(self, op, owner, indent)
            else:
                expression = self._expression(op)
                self._lines.append(f"{indent}{self._name(op.results[0])} = {expression}")

    def _assign(self, names: Sequence[str], values: Sequence[str], indent: str) -> None:
        if names:
            self._lines.append(f"{indent}{', '.join(names)} = {', '.join(values)}")

    def _if(self, op: Operation, owner: Operation | None, indent: str) -> None:
        for v in op.results:
            self._name(v)
        (cond,) = self._use(op.args)
        for head, region in zip((f"if {cond}:", "else:"), op.regions):
            self._lines.append(indent + head)
            self._region(region, op, indent + " ")
            self._lines.append(indent + " pass")

    def _enter(self, op: Operation, init: Sequence[Value]) -> _Frame:
        self._count += 1
        params = [self._name(v) for v in op.regions[0].params]
        frame = _Frame(self._count, op, params[len(params) - len(init) :], [self._name(v) for v in op.results])
        self._frames.append(frame)
        self._time += [str(self._position), f"_n{self._count}"]
        return frame

    def _count_from_zero(self, frame: _Frame, indent: str) -> None:
        if self._waits:
            self._lines.append(f"{indent}_n{frame.number} = 0")

    def _begin(self, frame: _Frame, indent: str) -> None:
        """Count an iteration."""
        if self._waits:
            self._lines.append(f"{indent} _n{frame.number} += 1")

    def _leave(self, frame: _Frame, indent: str) -> None:
        """Go on with an exit that leaves more than the operation just written."""
        self._frames.pop()
        del self._time[-2:]
        if not frame.crossed:
            return
        if self._frames:
            outer = self._frames[-1].number
            self._lines.append(f"{indent}if _x == {2 * outer}: _x = 0; break")
            self._lines.append(f"{indent}if _x == {2 * outer + 1}: _x = 0; continue")
            self._lines.append(f"{indent}if _x: break")

    def _for(self, op: Operation, owner: Operation | None, indent: str) -> None:
        low, high, step, *init = self._use(op.args)
        frame = self._enter(op, op.args[3:])
        self._assign(frame.carried, init, indent)
        index = self._names[op.regions[0].params[0]]
        self._count_from_zero(frame, indent)
        self._lines.append(f"{indent}for {index} in _c.span({low}, {high}, {step}):")
        self._begin(frame, indent)
        self._region(op.regions[0], op, indent + " ")
        if frame.carried:
            self._lines.append(f"{indent}else:")
            self._assign(frame.results, frame.carried, indent + " ")
        self._leave(frame, indent)

    def _loop(self, op: Operation, owner: Operation | None, indent: str) -> None:
        init = self._use(op.args)
        frame = self._enter(op, op.args)
        self._assign(frame.carried, init, indent)
        self._count_from_zero(frame, indent)
        self._lines.append(f"{indent}while True:")
        self._begin(frame, indent)
        self._lines.append(f"{indent} _c.spend(1)")
        self._region(op.regions[0], op, indent + " ")
        self._leave(frame, indent)

    def _block(self, op: Operation, owner: Operation | None, indent: str) -> None:
        frame = self._enter(op, ())
        self._count_from_zero(frame, indent)
        self._lines.append(f"{indent}while True:")
        self._region(op.regions[0], op, indent + " ")
        self._leave(frame, indent)

    def _threads(self, op: Operation, owner: Operation | None, indent: str) -> None:
        self._lines.append(f"{indent}for _t in _c.threads():")
        self._region(op.regions[0], op, indent + " ")

    def _elements(self, op: Operation, owner: Operation | None, indent: str) -> None:
        extents = _tuple(self._use(op.args))
        at = _tuple([self._name(p) for p in op.regions[0].params])
        self._meet(op, indent)
        self._lines.append(f"{indent}for {at} in _c.elements({extents}, {self._is_block}):")
        self._element(op, indent)
        self._meet(op, indent)

    def _element(self, op: Operation, indent: str) -> None:
        """The region of an operation that is done element by element."""
        frames, self._frames, outer, self._for_element = self._frames, [], self._for_element, True
        self._region(op.regions[0], op, indent + " ")
        self._frames, self._for_element = frames, outer

    def _meet(self, op: Operation, indent: str) -> None:
        """Wait for the other threads of the block, and see what they did to tiles that the operation uses."""
        if self._is_block:
            self._lines.append(f"{indent}_c.block.barrier()")
            return
        used = _tuple(self._use(_tiles_of(op)))
        self._lines.append(f"{indent}{f'{used} = ' if used != '()' else ''}yield ({self._here(op)}, {used})")

    def _here(self, op: Operation) -> str:
        """An operation at which threads meet, and when: the position in the code and in the loops around it."""
        return f"{self._bind(op)}, _c.time + {_tuple([*self._time, str(self._position)])}"

    def _tile(self, op: Operation, owner: Operation | None, indent: str) -> None:
        """An operation on tiles: the threads meet, and one of them does it for all."""
        used = _tiles_of(op)
        operands = _tuple(self._use([a for a in op.args if a not in used]))
        region = "None"
        if op.regions:
            region = f"_r{self._position}"
            params = [*map(self._name, op.regions[0].params), *self._use(used[len(op.args) :])]
            self._lines.append(f"{indent}def {region}({', '.join(params)}):")
            self._lines.append(f"{indent} _x = 0")
            self._element(op, indent)
        names = self._use(used)
        request = f"{self._here(op)}, {_tuple(names)}, {region}, {operands}"
        if self._for_element:
            request = f"_alone(({request}))"
        else:
            request = f"yield ({request})"
        self._lines.append(f"{indent}{_tuple([self._name(op.results[0]), *names])} = {request}")

    def _yield(self, op: Operation, owner: Operation | None, indent: str) -> None:
        assert owner is not None
        values = self._use(op.args)
        if owner.code in ("threads", "elements"):
            self._lines.append(f"{indent}continue")
        elif owner.code in ELEMENT_OPS:
            self._lines.append(f"{indent}return {_tuple(values)}")
        elif owner.code == "if":
            self._assign(self._use(owner.results), values, indent)
        else:
            self._exit_to(0, "break" if owner.code == "block" else "continue", values, indent)

    def _exit(self, op: Operation, owner: Operation | None, indent: str) -> None:
        self._exit_to(op.attr or 0, op.code, self._use(op.args), indent)

    def _exit_to(self, depth: int, code: str, values: Sequence[str], indent: str) -> None:
        target = self._frames[-1 - depth]
        self._assign(target.results if code == "break" else target.carried, values, indent)
        if depth == 0:
            self._lines.append(indent + code)
            return
        for frame in self._frames[-depth:]:
            frame.crossed = True
        self._lines.append(f"{indent}_x = {2 * target.number + (code == 'continue')}; break")

    def _return(self, op: Operation, owner: Operation | None, indent: str) -> None:
        self._lines.append(f"{indent}return {_tuple(self._use(op.args))}")

    def _unreachable(self, op: Operation, owner: Operation | None, indent: str) -> None:
        self._lines.append(f"{indent}_unreachable()")

    # -- effects ------------------------------------------------------------------------------------------------

    def _access(self, op: Operation, path: Sequence[int]) -> tuple[str, list[str]]:
        """(array, indices and path as two tuples) and the operands that remain."""
        array, *rest = self._use(op.args)
        t = op.args[0].type
        count = index_count(t, path)
        dynamic = iter(rest[t.ndim : count])
        steps = [next(dynamic) if step == -1 else str(step) for step in path]
        return f"{array}, {_tuple(rest[: t.ndim])}, {_tuple(steps)}", rest[count:]

    def _store(self, op: Operation, owner: Operation | None, indent: str) -> None:
        access, (value,) = self._access(op, op.attr or ())
        self._lines.append(f"{indent}_write({access}, {value})")

    def _atomic(self, op: Operation, owner: Operation | None, indent: str) -> None:
        kind, path = op.attr
        access, operands = self._access(op, path)
        t = self._bind(path_type(op.args[0].type.dtype, path))
        name = self._name(op.results[0])
        self._lines.append(f"{indent}{name} = _atomic({kind!r}, {t}, {access}, {', '.join(operands)})")

    def _printf(self, op: Operation, owner: Operation | None, indent: str) -> None:
        self._lines.append(f"{indent}_c.out.append(_formatted({op.attr!r}, {_tuple(self._use(op.args))}))")

    def _assert(self, op: Operation, owner: Operation | None, indent: str) -> None:
        (cond,) = self._use(op.args)
        self._lines.append(f"{indent}if not {cond}: raise _Failure('assert', {op.attr!r})")

    def _fail(self, op: Operation, owner: Operation | None, indent: str) -> None:
        kind, message = op.attr
        self._lines.append(f"{indent}raise _Failure({kind!r}, {message!r}, {_tuple(self._use(op.args))})")

    def _call(self, op: Operation, owner: Operation | None, indent: str) -> None:
        callee = self._bind(op.attr)
        self.env[callee] = self._link(op.attr)
        args = ", ".join(["_c", *self._use(op.args)])
        results = "".join(f"{self._name(v)}, " for v in op.results)
        waits = has_any(op.attr, WAITS)
        if waits and self._for_element:
            call = f"_all_alone({callee}({args}))"
        else:
            call = f"{'yield from ' * waits}{callee}({args})"
        owns = has_any(op.attr, frozenset(("shared",)))
        if owns:
            self._lines.append(f"{indent}_c.block.enter({self._bind(op)})")
        if waits:
            self._lines.append(f"{indent}_t{self._position}, _c.time = _c.time, {self._here(op).partition(', ')[2]}")
        self._lines.append(f"{indent}{results}{'= ' if results else ''}{call}")
        if waits:
            self._lines.append(f"{indent}_c.time = _t{self._position}")
        if owns:
            self._lines.append(f"{indent}_c.block.leave()")

    def _barrier(self, op: Operation, owner: Operation | None, indent: str) -> None:
        self._meet(op, indent)

    # -- expressions --------------------------------------------------------------------------------------------

    def _expression(self, op: Operation) -> str:
        code, args = op.code, self._use(op.args)
        if code in ELEMENTWISE or code in COMPARISONS:
            return self._elementwise(op, args)
        return _EXPRESSIONS[code](self, op, *args)

    def _elementwise(self, op: Operation, args: list[str]) -> str:
        t = op.args[0].type
        if isinstance(t, Packed):
            return self._componentwise(args, lambda *leaves: self._scalar(op.code, t.scalar, *leaves))
        return self._scalar(op.code, t, *args)

    @staticmethod
    def _componentwise(args: Sequence[str], scalar: Callable[..., str]) -> str:
        leaves = [f"a{i}" for i in range(len(args))]
        source = f"{leaves[0]} in {args[0]}" if len(args) == 1 else f"{', '.join(leaves)} in zip({', '.join(args)})"
        return f"tuple([{scalar(*leaves)} for {source}])"

    def _scalar(self, code: str, t: Type, *args: str) -> str:
        assert isinstance(t, Scalar)
        if code in _SIGNS:
            return f"{args[0]} {_SIGNS[code]} {args[1]}"
        if code in ("min", "max"):
            a, b = args
            return f"({a} if {a} {'<' if code == 'min' else '>'} {b} else {b})"
        if code in ("minnum", "maxnum"):
            a, b = args
            return f"({b} if {a} != {a} or {b} {'<=' if code == 'minnum' else '>='} {a} else {a})"
        if code in _INFIX:
            raw = f"{args[0]} {_INFIX[code]} {args[1]}"
            return self._rounded(raw, t) if t.is_float else _wrapped(raw, t)
        if code in _BITS:
            return f"{args[0]} {_BITS[code]} {args[1]}"
        if code == "not" and t is BOOL:
            return f"not {args[0]}"
        if code == "neg" and t.is_float:
            return f"-{args[0]}"
        return f"_evaluate({code!r}, {self._bind(t)}, {', '.join(args)})"

    @staticmethod
    def _rounded(expression: str, t: Scalar) -> str:
        return expression if t is F64 else f"{_ROUND[t.key]}({expression})"

    def _const(self, op: Operation) -> str:
        return _literal(op.attr)

    def _cast(self, op: Operation, x: str) -> str:
        if isinstance(op.attr, Packed):
            source, target = element(op.args[0].type), op.attr.scalar
            return self._componentwise([x], lambda a: self._cast_scalar(a, source, target))
        return self._cast_scalar(x, op.args[0].type, op.attr)

    def _cast_scalar(self, x: str, source: Type, target: Type) -> str:
        assert isinstance(source, Scalar) and isinstance(target, Scalar)
        if source.is_int and target.is_int:
            return _wrapped(x, target)
        if source.is_float and target.is_float:
            return self._rounded(x, target)
        return f"_convert({x}, {self._bind(target)})"

    def _bitcast(self, op: Operation, x: str) -> str:
        return f"_from_bits(_bits_of({x}, {self._bind(op.args[0].type)}), {self._bind(op.attr)})"

    def _load(self, op: Operation, *args: str) -> str:
        access, _ = self._access(op, op.attr or ())
        return f"_read({access})"


_WRITERS: dict[str, Callable[[_Writer, Operation, Operation | None, str], None]] = {
    "if": _Writer._if,
    "for": _Writer._for,
    "loop": _Writer._loop,
    "block": _Writer._block,
    "yield": _Writer._yield,
    "break": _Writer._exit,
    "continue": _Writer._exit,
    "return": _Writer._return,
    "unreachable": _Writer._unreachable,
    "store": _Writer._store,
    "atomic": _Writer._atomic,
    "printf": _Writer._printf,
    "assert": _Writer._assert,
    "fail": _Writer._fail,
    "threads": _Writer._threads,
    "elements": _Writer._elements,
    "call": _Writer._call,
    "barrier": _Writer._barrier,
    **dict.fromkeys((*TILE_OPS - {"elements"}, "tile_get", "tile_set"), _Writer._tile),
}

_EXPRESSIONS: dict[str, Callable[..., str]] = {
    "const": _Writer._const,
    "cast": _Writer._cast,
    "bitcast": _Writer._bitcast,
    "load": _Writer._load,
    "alloca": lambda w, op: f"_local({w._bind(op.attr)})",
    "zero": lambda w, op: f"_zero({w._bind(op.attr)})",
    "libm": lambda w, op, *args: f"_libm({op.attr!r}, {w._bind(op.args[0].type)}, {', '.join(args)})",
    "select": lambda w, op, c, x, y: f"{x} if {c} else {y}",
    "make": lambda w, op, *args: _tuple(args),
    "splat": lambda w, op, x: f"({x},) * {op.attr.count}",
    "extract": lambda w, op, x: f"{x}[{op.attr}]",
    "insert": lambda w, op, x, value: f"({x}[:{op.attr}] + ({value},) + {x}[{op.attr + 1}:])",
    "extract_dyn": lambda w, op, x, i: f"_component({x}, {i})",
    "insert_dyn": lambda w, op, x, value, i: f"(_component({x}, {i}), _replace({x}, ({i},), {value}))[1]",
    "shape": lambda w, op, a: f"{a}.shape[{op.attr}]",
    "extent": lambda w, op, a: f"{a}.shape[{op.attr}]",
    "size": lambda w, op, a: f"_prod({a}.shape)",
    "slice": lambda w, op, a, *operands: f"{a}.slice({op.attr!r}, {_tuple(operands)})",
    "view_at": lambda w, op, a, at, *extents: f"{a}.view_at({at}, {_tuple(extents)})",
    "grad": lambda w, op, a: f"{a}.gradient()",
    "array_at": lambda w, op, address, count: f"_c.array_at({w._bind(op.attr)}, {address}, {count})",
    "is_structure": lambda w, op, address: "True",  # `array_at` traps if nothing is there
    "stash": lambda w, op: f"_c.stash({w._bind(op.attr)})",
    "is_null": lambda w, op, a: f"{a}.is_null",
    "shared": lambda w, op: f"_c.block.shared({w._bind(op)})",
    "shared_part": lambda w, op, a: f"_c.block.part({a}, {w._bind(op.attr[0])}, {op.attr[1]})",
    "thread_index": lambda w, op: "_c.block.thread",
    "block_index": lambda w, op: "_c.block.number",
    "shuffle": lambda w, op, x, by: f"yield ({w._here(op)}, {x}, {by})",
    "ballot": lambda w, op, x: f"yield ({w._here(op)}, {x})",
    **dict.fromkeys(("tid", "block_tid"), lambda w, op: f"_c.tid({op.attr[0]}, {op.attr[1]})"),
}
