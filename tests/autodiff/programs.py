"""Random differentiable kernels as Python text: `text(seed)` gives the same program for the same seed.

A program reads four numbers of `x` per thread, works on them with everything that control flow, components, structs,
arrays and functions allow, and writes to `y` and to its own element of `z`, which it also reads. All is float64, so
central differences are a sharp judge.

`wide(seed)` has more: functions with gradients that the user gave, arrays in structs, wp.grad, atomic minima in `lo`
and maxima in `hi`, and an array `q` that is seen through indices.
"""

from __future__ import annotations

import random

HEAD = """
@wp.struct
class Pair:
    a: wp.float64
    v: wp.vec3d


@wp.func
def bump(a: wp.float64, b: wp.float64):
    if a > b:
        return wp.sin(a) * b
    return a - b * b


@wp.func
def series(a: wp.float64, n: int):
    s = a
    for i in range(n):
        if s > 2.0:
            break
        s = s + wp.sin(s) * a
    return s


@wp.func
def turned(p: Pair, b: wp.float64):
    q = p
    q.a = q.a * b
    q.v[1] = q.v[0] + b
    return q


@wp.func
def reach(a: F, b: wp.float64, n: int):
    s = b
    for i in range(n):
        if s > 1.5:
            return s * a[i]
        j = i
        while j > 0:
            j -= 1
            if a[j] < 0.0:
                break
            s = wp.tanh(s) + a[i] * a[j]
    return s


@wp.func
def nudge(a: wp.ref[wp.float64], b: wp.float64):
    if a > b:
        a = a * b
        return
    a += wp.sin(b)


@wp.kernel
def program(x: F, n: int, y: F, z: F):
    i = wp.tid()
"""

WIDE_HEAD = HEAD.replace("z: F)", "z: F, lo: F, hi: F, q: Q)").replace(
    "@wp.kernel",
    """
@wp.func
def tuned(a: wp.float64, b: wp.float64):
    return a * wp.sin(b)


@wp.func_grad(tuned)
def tuned_gradient(a: wp.float64, b: wp.float64, dy: wp.float64):
    if dy == 0.0:
        return
    wp.adjoint[a] += dy * wp.sin(b)
    for k in range(2):
        wp.adjoint[b] += 0.5 * dy * a * wp.cos(b)


@wp.func
def weighed(a: F, i: int, v: wp.vec3d):
    return a[i] * wp.sin(a[i]) * v[1], v * a[i]


@wp.func_grad(weighed)
def weighed_gradient(a: F, i: int, v: wp.vec3d, ds: wp.float64, dv: wp.vec3d):
    wp.adjoint[a][i] += (wp.sin(a[i]) + a[i] * wp.cos(a[i])) * v[1] * ds + wp.dot(dv, v)
    wp.adjoint[v][1] += a[i] * wp.sin(a[i]) * ds
    wp.adjoint[v] += dv * a[i]


@wp.func
def clipped(a: wp.float64):
    return wp.min(a, 0.9)


@wp.func_replay(clipped)
def clipped_again(a: wp.float64):
    return a if a < 0.9 else wp.float64(0.9)


@wp.struct
class Holder:
    scale: wp.float64
    table: F


@wp.func
def held(h: Holder, i: int, b: wp.float64):
    if b > 0.4:
        return h.table[i] * h.scale
    return h.table[i] * b


@wp.func
def picked(h: Holder, i: int):
    return h.table[i] * h.scale


@wp.func_grad(picked)
def picked_gradient(h: Holder, i: int, dy: wp.float64):
    wp.adjoint[h].scale += dy * h.table[i]
    wp.adjoint[h].table[i] += dy * h.scale


@wp.func
def curve(a: wp.float64, b: wp.float64):
    if a > b:
        return wp.sin(a * b) * a
    return a * a * b


@wp.kernel""",
)


class _Program:
    head = HEAD

    def __init__(self, seed: int):
        self.r = random.Random(seed)
        self.floats = ["a", "b", "c", "d"]
        self.counters = ["n", "i"]
        self.lines = [f"    {name} = x[4 * i + {k}]" for k, name in enumerate("abcd")]
        self.lines += ["    v = wp.vec3d(a, b, c)", "    p = Pair()", "    p.a = d", "    p.v = v", "    w = z[i]"]
        self.lines += ["    m = wp.mat22d(a, b, c, d)", "    row = x[4 * i : 4 * i + 4]", "    own = z[i:]"]
        self.floats.append("w")
        self.fresh = 0

    def pick(self, *choices):
        return self.r.choice(choices)

    def name(self, prefix: str) -> str:
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    # -- expressions ------------------------------------------------------------------------------------------------

    def atom(self) -> str:
        return self.pick(
            *(
                *self.floats,
                *self.floats,
                "v[0]",
                "v.y",
                f"v[{self.pick(*self.counters)} % 3]",
                "p.a",
                "p.v[2]",
                "z[i]",
            ),
            *("m[0, 1]", f"m[{self.index(2)}, 1]", f"row[{self.index(4)}]", f"x[4 * i + {self.index(4)}]", "own[0]"),
        )

    def index(self, n: int) -> str:
        k, j = self.pick(*self.counters), self.pick(*self.counters)
        return self.pick(f"{k} % {n}", f"(2 * {k} + {j}) % {n}", f"({k} * {j} + 1) % {n}", f"({k} // 2 ^ 1) % {n}")

    def expression(self, depth: int = 2) -> str:
        if depth == 0 or self.r.random() < 0.15:
            return self.atom()
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        return self.pick(
            f"({a} + {b})",
            f"({a} - {b})",
            f"{a} * {b}",
            f"wp.sin({a} * {b})",
            f"wp.cos({a})",
            f"wp.tanh({a} + {b})",
            f"{a} / (1.5 + {b} * {b})",
            f"wp.exp(-{a} * {a})",
            f"wp.sqrt(1.0 + {a} * {a})",
            f"wp.log(2.0 + {a} * {a})",
            f"wp.pow(1.2 + {a} * {a}, 0.7 * wp.sin({b}))",
            f"wp.atan2({a}, 2.0 + {b} * {b})",
            f"wp.min({a}, {b})",
            f"wp.max({a}, 0.3 * {b})",
            f"wp.abs({a} - 0.1)",
            f"({a} if {self.condition()} else {b})",
            f"wp.where({self.condition()}, {a}, {b})",
            f"bump({a}, {b})",
            f"series(wp.sin({a}), {self.pick(*self.counters)} % 4)",
            f"wp.dot(v, wp.vec3d({a}, {b}, {self.atom()}))",
            f"wp.length(v + wp.vec3d(3.0, {a}, 0.5))",
            f"turned(p, {a}).v[1]",
            f"reach(row, {a}, {self.index(4)})",
            f"(m * wp.vec2d({a}, {b}))[{self.index(2)}]",
            f"wp.determinant(m * ({a}))",
            f"0.5 * {a} + 0.25",
        )

    def condition(self) -> str:
        k = self.pick(*self.counters)
        return self.pick(
            f"{self.atom()} > {self.atom()}",
            f"{self.atom()} < 0.3",
            f"{k} % 2 == 0",
            f"{k} > 1 and {self.atom()} < 1.1",
        )

    def damped(self) -> str:
        return self.pick(
            f"wp.sin({self.expression()})", f"0.7 * wp.tanh({self.expression()}) + 0.1", self.expression(1)
        )

    # -- statements -------------------------------------------------------------------------------------------------

    def block(self, indent: str, depth: int, loop: bool, count: int) -> None:
        for _ in range(count):
            self.statement(indent, depth, loop)

    def statement(self, indent: str, depth: int, loop: bool) -> None:
        simple = [self.assign, self.assign, self.augment, self.component, self.member, self.memory]
        if depth and self.r.random() < 0.5:
            self.pick(self.branch, self.count, self.while_)(indent, depth, loop)
        elif loop and self.r.random() < 0.25:
            self.leave(indent)
        else:
            self.r.choice(simple)(indent)

    def put(self, indent: str, line: str) -> None:
        self.lines.append(indent + line)

    def assign(self, indent: str) -> None:
        self.put(indent, f"{self.pick(*self.floats)} = {self.damped()}")

    def augment(self, indent: str) -> None:
        self.put(indent, f"{self.pick(*self.floats)} {self.pick('+=', '-=', '*=')} 0.5 * {self.damped()}")

    def component(self, indent: str) -> None:
        place = self.pick("v[0]", "v[1]", "v.z", f"v[{self.pick(*self.counters)} % 3]")
        self.put(indent, self.pick(f"{place} = {self.damped()}", f"{place} += 0.5 * {self.damped()}"))

    def member(self, indent: str) -> None:
        self.put(
            indent,
            self.pick(
                f"p.a = {self.damped()}",
                "p.v = v",
                f"p = turned(p, {self.damped()})",
                f"p.v[{self.pick(*self.counters)} % 3] = {self.damped()}",
                f"v = wp.normalize(v + wp.vec3d(2.0, {self.atom()}, 0.0))",
                f"m[{self.index(2)}, 0] = {self.damped()}",
                f"m[1] = wp.vec2d({self.damped()}, {self.atom()})",
                f"m[0, 1] += 0.5 * {self.damped()}",
                "m = 0.3 * m * wp.transpose(m)",
                f"nudge({self.pick('a', 'v[1]', 'p.a', 'p.v[0]', 'm[0, 0]')}, {self.damped()})",
                f"v = wp.cross(v, wp.vec3d({self.atom()}, 0.5, 1.0))",
            ),
        )

    def memory(self, indent: str) -> None:
        self.put(
            indent,
            self.pick(
                f"z[i] = {self.damped()}",
                f"z[i] = 0.6 * z[i] * {self.damped()}",
                f"z[i] *= wp.cos({self.atom()})",
                f"own[0] = 0.5 * own[0] + {self.damped()}",
                f"nudge(z[i], {self.damped()})",
                f"y[2 * i] += {self.damped()}",
                f"wp.atomic_add(y, 2 * i + 1, {self.damped()})",
                f"wp.atomic_sub(y, 0, {self.damped()})",
            ),
        )

    def branch(self, indent: str, depth: int, loop: bool) -> None:
        self.put(indent, f"if {self.condition()}:")
        self.block(indent + "    ", depth - 1, loop, self.r.randint(1, 2))
        if self.r.random() < 0.6:
            self.put(indent, "else:")
            self.block(indent + "    ", depth - 1, loop, self.r.randint(1, 2))

    def count(self, indent: str, depth: int, loop: bool) -> None:
        k = self.name("k")
        bounds = self.pick("n", "3", "1, n", "n, 0, -1", "n % 3", "0, 4, 2")
        self.put(indent, f"for {k} in range({bounds}):")
        self.counters.append(k)
        self.block(indent + "    ", depth - 1, True, self.r.randint(1, 3))
        self.counters.remove(k)

    def while_(self, indent: str, depth: int, loop: bool) -> None:
        k = self.name("j")
        self.put(indent, f"{k} = int({self.r.randint(0, 2)})")
        self.put(indent, f"while {k} < n{self.pick('', f' and {self.atom()} < 1.2')}:")
        self.put(indent + "    ", f"{k} += 1")
        self.counters.append(k)
        self.block(indent + "    ", depth - 1, True, self.r.randint(1, 3))
        self.counters.remove(k)

    def leave(self, indent: str) -> None:
        self.put(indent, f"if {self.condition()}:")
        way = self.pick("break", "continue", "break", "return")
        if way == "return":
            self.put(indent + "    ", f"y[2 * i] += {self.expression()}")
        self.put(indent + "    ", way)

    def text(self) -> str:
        self.block("    ", 3, False, self.r.randint(3, 6))
        self.lines += [
            f"    y[2 * i] += {self.expression()}",
            f"    y[2 * i + 1] += {' + '.join(self.floats)} + v[1] + p.a",
        ]
        return self.head + "\n".join(self.lines) + "\n"


class _Wide(_Program):
    head = WIDE_HEAD

    def __init__(self, seed: int):
        super().__init__(seed)
        self.lines += ["    h = Holder()", "    h.scale = d", "    h.table = row"]

    def atom(self) -> str:
        return self.pick("q[i]", "h.scale", "h.table[2]") if self.r.random() < 0.15 else super().atom()

    def expression(self, depth: int = 2) -> str:
        if depth == 0 or self.r.random() < 0.7:
            return super().expression(depth)
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        return self.pick(
            f"tuned({a}, {b})",
            f"clipped({a})",
            f"held(h, {self.index(4)}, {b})",
            f"picked(h, {self.index(4)})",
            f"weighed(row, {self.index(4)}, wp.vec3d({a}, {b}, 0.5))[1][{self.index(3)}]",
            f"weighed(x, 4 * i + {self.index(4)}, v)[0]",
            f"wp.grad(curve)({a}, {b})[{self.pick(0, 1)}]",
            f"wp.grad(wp.atan2)({a}, 1.5 + {b} * {b})[0]",
        )

    def memory(self, indent: str) -> None:
        if self.r.random() < 0.5:
            super().memory(indent)
            return
        self.put(
            indent,
            self.pick(
                f"wp.atomic_min(lo, {self.index(2)}, {self.damped()})",
                f"wp.atomic_max(hi, {self.index(2)}, {self.damped()})",
                f"q[i] = {self.damped()}",
                f"q[i] = 0.6 * q[i] * {self.damped()}",
                f"q[i] += {self.damped()}",
                f"wp.atomic_sub(q, i, {self.damped()})",
            ),
        )


def wide(seed: int) -> str:
    """The source of program `seed` with all there is; it needs `Q = wp.indexedarray(dtype=wp.float64)` besides."""
    return _Wide(seed).text()


def text(seed: int) -> str:
    """The source of program `seed`; it needs `wp` and `F = wp.array(dtype=wp.float64)` around it."""
    return _Program(seed).text()
