"""Random differentiable kernels as Python text: `text(seed)` gives the same program for the same seed.

A program reads four numbers of `x` per thread. It computes with them in all kinds of control flow, components, structs,
arrays and functions. It writes to `y` and to its own element of `z`, which it also reads. All is float64, so central
differences are a sharp judge.

`wide(seed)` adds functions with gradients that the user gave, arrays in structs and wp.grad. It also has atomic minima
in `lo` and maxima in `hi`, and an array `q` that is seen through indices. `rich(seed)` adds structs in structs,
quaternions, larger matrices, generic functions, functions with several results that call each other, and local arrays.
It also has an array `g` of three dimensions with its slices, and gradients by wp.grad of functions that read arrays.
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
def rescaled(h: Holder, b: wp.float64):
    if h.scale * b > 0.3:
        return h
    g = h
    while g.scale < 0.8:
        g.scale += 0.3 + 0.1 * wp.sin(b) + 0.05 * g.table[1]
    return g


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

    def member(self, indent: str) -> None:
        if self.r.random() < 0.75:
            super().member(indent)
            return
        choices = "h.scale = {0}", "h.scale *= wp.cos({0})", "h = rescaled(h, {0})", "nudge(h.scale, {0})"
        self.put(indent, self.pick(*choices).format(self.damped()))

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


RICH_HEAD = WIDE_HEAD.replace("q: Q)", "q: Q, g: G)").replace(
    "@wp.struct\nclass Holder",
    """
@wp.struct
class Body:
    pair: Pair
    spin: wp.quatd
    frame: wp.mat33d


@wp.func
def three(a: wp.float64, v: wp.vec3d, n: int):
    if a > 0.8:
        return wp.sin(a), v * a, n
    for i in range(n):
        if a * v[i % 3] > 0.5:
            return a * v[i % 3], v, i
        v[i % 3] += 0.3 * a
    return wp.cos(a), v + wp.vec3d(a), n + 1


@wp.func
def twice(a: wp.float64, v: wp.vec3d, n: int):
    s, w, k = three(a, v, n)
    t, u, _ = three(s * 0.7, w * 0.5, k % 3)
    return t + s, wp.cross(w, u)


@wp.func
def squared(a: Any):
    return a * a


@wp.func
def moved(b: Body, a: wp.float64):
    c = b
    c.pair = turned(b.pair, a)
    c.pair.v[2] += c.pair.a
    c.spin = wp.normalize(b.spin + wp.quatd(a, wp.float64(0.2), b.pair.a, wp.float64(3.0)))
    if a > 0.0:
        c.frame[1, 2] = a * b.frame[2, 1]
        return c
    c.frame = b.frame * 0.4 + wp.outer(c.pair.v, wp.vec3d(a, a * a, wp.float64(0.5))) * 0.2
    return c


@wp.func
def swept(grid: wp.array2d(dtype=wp.float64), a: wp.float64):
    s = a
    for i in range(grid.shape[0]):
        row = grid[i]
        for j in range(row.shape[0] - 1, -1, -1):
            if row[j] < -0.7:
                continue
            s = 0.6 * s + wp.sin(row[j] * a)
    return s


@wp.func
def inner(grid: wp.array2d(dtype=wp.float64), i: int, a: wp.float64):
    return wp.tanh(grid[i % 2, 1] * a) * a + grid[-1, -1]


@wp.struct
class Holder""",
)


class _Rich(_Wide):
    head = RICH_HEAD

    def __init__(self, seed: int):
        super().__init__(seed)
        self.lines += ["    body = Body()", "    body.pair = p", "    body.spin = wp.quat_identity(wp.float64)"]
        self.lines += [
            "    body.frame = wp.identity(n=3, dtype=wp.float64)",
            "    grid = g[i]",
            "    column = g[i, :, 1]",
        ]
        self.lines += ["    kept = wp.zeros(shape=(2, 3), dtype=wp.float64)", "    hits = wp.zeros(shape=3, dtype=int)"]

    def atom(self) -> str:
        if self.r.random() > 0.25:
            return super().atom()
        return self.pick(
            f"grid[{self.index(2)}, {self.index(3)}]",
            f"g[i, -1, {self.index(3)}]",
            f"column[{self.index(2)}]",
            f"row[::-1][{self.index(4)}]",
            f"x[4 * i + 3 - {self.index(4)}]",
            f"kept[{self.index(2)}, {self.index(3)}]",
            f"body.frame[{self.index(3)}, 1]",
            "body.pair.v[0]",
            "body.spin[2]",
            f"wp.float64(hits[{self.index(3)}])",
        )

    def expression(self, depth: int = 2) -> str:
        if depth == 0 or self.r.random() < 0.6:
            return super().expression(depth)
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        return self.pick(
            f"twice({a}, v, {self.index(3)})[0]",
            f"twice({a}, v, 2)[1][{self.index(3)}]",
            f"squared(0.5 * {a})",
            f"wp.dot(squared(body.frame) * v, wp.vec3d({a}, {b}, 0.1)) * 0.3",
            f"moved(body, {a}).pair.v[2]",
            f"wp.quat_rotate(body.spin, v * ({a}))[{self.index(3)}]",
            f"wp.determinant(body.frame + wp.diag(wp.vec3d({a}, 1.5, {b})))",
            f"wp.inverse(wp.mat33d(4.0, {a} * 0.1, 0.0, 0.3, 5.0, wp.sin({b}), 0.0, 0.2, 3.0))[{self.index(3)}, 1]",
            f"swept(grid, wp.sin({a}))",
            f"swept(g[i, :, ::2], {self.atom()})",
            f"wp.grad(inner)(grid, {self.index(2)}, {a})[2]",
            f"wp.grad(held)(h, {self.index(4)}, {b})[2]",
            f"wp.grad(weighed)(row, {self.index(4)}, wp.vec3d({a}, 0.3, {b}))[2][1]",
            f"wp.lerp({a}, {b}, wp.sin({self.atom()}))",
            f"wp.clamp({a}, -0.8, 0.9)",
            f"wp.smoothstep(wp.float64(0.0), wp.float64(1.0), {a})",
            f"wp.float64(int({a} * 3.0)) * {b}",
            f"wp.mod({a}, wp.float64(0.7))",
        )

    def memory(self, indent: str) -> None:
        if self.r.random() < 0.4:
            super().memory(indent)
            return
        at, to = f"{self.index(2)}, {self.index(3)}", self.index(3)
        self.put(
            indent,
            self.pick(
                f"g[i, {at}] = {self.damped()}",
                f"grid[{at}] = 0.6 * grid[{at}] + {self.damped()}",
                f"grid[-1, {to}] *= wp.cos({self.atom()})",
                f"column[{self.index(2)}] = {self.damped()}",
                f"wp.atomic_add(g, i, {at}, {self.damped()})",
                f"kept[{at}] = {self.damped()}",
                f"kept[{at}] += 0.5 * {self.damped()}",
                f"hits[{to}] += 1",
                f"nudge(kept[1, {to}], {self.damped()})",
                f"nudge(grid[0, {to}], {self.damped()})",
            ),
        )

    def member(self, indent: str) -> None:
        if self.r.random() < 0.5:
            super().member(indent)
            return
        self.put(
            indent,
            self.pick(
                f"body = moved(body, {self.damped()})",
                f"body.pair.v[{self.index(3)}] = {self.damped()}",
                f"body.frame[{self.index(3)}, {self.index(3)}] += 0.3 * {self.damped()}",
                "body.pair = p",
                "p = body.pair",
                f"body.frame[{self.index(3)}] = wp.vec3d({self.atom()}, 0.2, {self.atom()})",
                f"body.spin = body.spin * wp.quat_from_axis_angle(wp.vec3d(0.6, 0.0, 0.8), {self.damped()})",
                f"{self.pick(*self.floats)}, v, _ = three({self.damped()}, v, {self.index(4)})",
                f"a, b = b, {self.damped()}",
            ),
        )

    def while_(self, indent: str, depth: int, loop: bool) -> None:
        if self.r.random() < 0.5:
            super().while_(indent, depth, loop)
            return
        k = self.name("j")
        self.put(indent, f"{k} = int(0)")
        self.put(indent, "while True:")
        self.put(indent + "    ", f"{k} += 1")
        self.put(indent + "    ", f"if {k} > n or {self.atom()} > {self.pick('0.9', self.atom())}:")
        self.put(indent + "        ", "break")
        self.counters.append(k)
        self.block(indent + "    ", depth - 1, True, self.r.randint(1, 3))
        self.counters.remove(k)


def wide(seed: int) -> str:
    """The source of program `seed` with all there is; it needs `Q = wp.indexedarray(dtype=wp.float64)` besides."""
    return _Wide(seed).text()


def text(seed: int) -> str:
    """The source of program `seed`; it needs `wp` and `F = wp.array(dtype=wp.float64)` around it."""
    return _Program(seed).text()


def rich(seed: int) -> str:
    """The source of program `seed` with still more; it needs `G = wp.array3d(dtype=wp.float64)` and `Any` besides."""
    return _Rich(seed).text()


SOURCES = {"narrow": text, "wide": wide, "rich": rich}
