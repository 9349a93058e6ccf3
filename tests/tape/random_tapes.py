"""Random programs on tapes: launches, copies, views, fills and array functions in any order, as steps that can be run.

`Program(seed).run(start)` runs the same steps on arrays of the given numbers, on a tape or not; the loss is a weighted
sum of everything in the end. All is float64, so central differences are a sharp judge. What comes after the loss is
there to disturb: it must not change a gradient. With `unseen`, NumPy and launches that no tape records write in
between, too.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from typing import Any

import numpy as np

import omni.warp_core as wp

F = wp.array(dtype=wp.float64)
F2 = wp.array2d(dtype=wp.float64)
SIZE = 12  # elements of every array; the matrices are 3 x 4


@wp.kernel
def mix(src: F, dst: F):
    i = wp.tid()
    dst[i] = wp.sin(src[i]) * dst[i] + 0.5 * src[i]


@wp.kernel
def square(x: F):
    i = wp.tid()
    x[i] = 0.5 * x[i] * x[i] + 0.3


@wp.kernel
def spread(src: F, dst: F):
    i = wp.tid()
    n = src.shape[0]
    dst[i] = src[i] * src[(i + 1) % n] - 0.3 * src[(i + 2) % n]


@wp.kernel
def scatter(src: F, places: wp.array(dtype=int), dst: F):
    i = wp.tid()
    wp.atomic_add(dst, places[i], wp.cos(src[i]))


@wp.kernel
def scan_like(src: F, dst: F):
    s = wp.float64(0.2)
    for i in range(src.shape[0]):
        if src[i] > 1.2:
            continue
        s = wp.tanh(s + src[i] * src[i])
        dst[i] = s


@wp.struct
class Two:
    a: F
    b: F
    by: wp.float64


@wp.kernel
def of_struct(two: Two, dst: F):
    i = wp.tid()
    two.b[i] = two.a[i] * two.by
    dst[i] += two.b[i] * two.a[i]


@wp.kernel
def rows(m: F2, n: F2):
    i, j = wp.tid()
    n[i, j] = m[i, j] * m[i, 0] + 0.2 * n[i, j]


@wp.kernel
def gather(x: F, weights: F, total: F):
    i = wp.tid()
    wp.atomic_add(total, 0, x[i] * weights[i])


@wp.kernel
def fill_two(x: F, value: wp.float64):
    i = wp.tid()
    x[i] = value


@wp.func
def bend(a: wp.float64, b: wp.float64):
    return a * b - wp.sin(a)


class Program:
    """The steps of one program: functions of the environment, which maps names to arrays."""

    def __init__(self, seed: int, unseen: bool = False):
        self.r = random.Random(seed)
        self.steps: list[tuple[str, Callable[[dict[str, Any]], None]]] = []
        self.unseen = unseen
        for _ in range(self.r.randint(3, 9)):
            self.step()
            if unseen and self.r.random() < 0.3:
                self.hidden()
        self.after = [self.disturbance() for _ in range(3)]
        self.weights = [self.r.uniform(-1, 1) for _ in range(6 * SIZE)]

    def add(self, text: str, run: Callable[[dict[str, Any]], None]) -> None:
        self.steps.append((text, run))

    def pick(self, n: int) -> list[str]:
        return self.r.sample(["a", "b", "c"], n)

    # -- steps ------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        kinds = [self.launch, self.launch, self.launch, self.copy, self.fill, self.replace, self.utility, self.matrix]
        self.r.choice(kinds)()

    def view(self) -> tuple[str, Callable[[wp.array], wp.array]]:
        """A way to look at six elements of an array."""
        k = self.r.randint(0, SIZE - 6)
        return self.r.choice(
            [
                (f"[{k}:{k + 6}]", lambda x: x[k : k + 6]),
                ("[::2]", lambda x: x[::2]),
                ("[5::-1]", lambda x: x[5::-1]),
                ("[1::2]", lambda x: x[1::2]),
                (".reshape((3, 4))[:, 1:3].flatten()", lambda x: x.reshape((3, 4))[0:2].flatten()[1:7]),
            ]
        )

    def launch(self) -> None:
        p, q, s = self.pick(3)
        (v, on), (w, of) = self.view(), self.view()
        places = [self.r.randint(0, SIZE - 1) for _ in range(SIZE)]
        by = self.r.uniform(-1, 1)

        def pair(e: dict[str, Any]) -> None:
            two = Two()
            two.a, two.b, two.by = e[p], e[q], by
            wp.launch(of_struct, dim=SIZE, inputs=[two, e[s]])

        self.add(
            *self.r.choice(
                [
                    (f"mix {p} {q}", lambda e: wp.launch(mix, dim=SIZE, inputs=[e[p], e[q]])),
                    (f"mix {p} {p}", lambda e: wp.launch(mix, dim=SIZE, inputs=[e[p], e[p]])),
                    (f"mix {p}{v} {q}{w}", lambda e: wp.launch(mix, dim=6, inputs=[on(e[p]), of(e[q])])),
                    (f"square {p}", lambda e: wp.launch(square, dim=SIZE, inputs=[e[p]])),
                    (f"square {p}{v}", lambda e: wp.launch(square, dim=6, inputs=[on(e[p])])),
                    (f"spread {p} {q}", lambda e: wp.launch(spread, dim=SIZE, inputs=[e[p], e[q]])),
                    (f"spread {p}{v} {q}", lambda e: wp.launch(spread, dim=6, inputs=[on(e[p]), e[q]])),
                    (
                        f"scatter {p} {q}",
                        lambda e: wp.launch(scatter, dim=SIZE, inputs=[e[p], wp.array(places, dtype=int), e[q]]),
                    ),
                    (f"scan_like {p} {q}", lambda e: wp.launch(scan_like, dim=1, inputs=[e[p], e[q]])),
                    (f"of_struct {p} {q} {s}", pair),
                    (f"map {p} {q} {s}", lambda e: wp.map(bend, e[p], e[q], out=e[s])),
                    (f"map {p} {q} {p}", lambda e: wp.map(bend, e[p], e[q], out=e[p])),
                ]
            )
        )

    def copy(self) -> None:
        p, q = self.pick(2)
        (v, on), (w, of) = self.view(), self.view()
        n, at, to = self.r.randint(1, 5), self.r.randint(0, 7), self.r.randint(0, 7)

        def assigned(e: dict[str, Any]) -> None:
            on(e[p])[...] = of(e[q])

        def moved(e: dict[str, Any]) -> None:
            e[p][2:] = e[p][:-2]

        self.add(
            *self.r.choice(
                [
                    (f"copy {p} {q}", lambda e: wp.copy(e[p], e[q])),
                    (f"copy {n} of {q} at {at} to {p} at {to}", lambda e: wp.copy(e[p], e[q], to, at, n)),
                    (f"copy {p}{v} {q}{w}", lambda e: wp.copy(on(e[p]), of(e[q]))),
                    (f"{p}{v} = {q}{w}", assigned),
                    (f"{p}[2:] = {p}[:-2]", moved),
                    (f"{p}.assign {q}", lambda e: e[p].assign(e[q])),
                ]
            )
        )

    def fill(self) -> None:
        (p,) = self.pick(1)
        v, on = self.view()
        k, value = self.r.randint(0, SIZE - 1), self.r.uniform(-1, 1)

        def one(e: dict[str, Any]) -> None:
            e[p][k] = value

        self.add(
            *self.r.choice(
                [
                    (f"{p}{v}.fill_", lambda e: on(e[p]).fill_(value)),
                    (f"{p}[{k}] = {value:.2f}", one),
                    (f"{p}{v}.assign list", lambda e: on(e[p]).assign([value] * 6)),
                    (f"{p}{v}.zero_", lambda e: on(e[p]).zero_()),
                ]
            )
        )

    def replace(self) -> None:
        p, q, s = self.pick(3)

        def cloned(e: dict[str, Any]) -> None:
            e[p] = wp.clone(e[q])

        def computed(e: dict[str, Any]) -> None:
            e[p] = e[q] * e[s] - 0.5 * e[q]

        def added(e: dict[str, Any]) -> None:
            e[p] += e[q]

        self.add(
            *self.r.choice([(f"{p} = clone {q}", cloned), (f"{p} = {q}*{s} - {q}/2", computed), (f"{p} += {q}", added)])
        )

    def utility(self) -> None:
        p, q, s = self.pick(3)
        self.add(
            *self.r.choice(
                [
                    (f"sum {p} {q}[3]", lambda e: wp.utils.array_sum(e[p], out=e[q][3:4])),
                    (f"inner {p} {q} {s}[5]", lambda e: wp.utils.array_inner(e[p], e[q], out=e[s][5:6])),
                    (f"inner {p} {p} {p}[5]", lambda e: wp.utils.array_inner(e[p], e[p], out=e[p][5:6])),
                    (f"scan {p} {q}", lambda e: wp.utils.array_scan(e[p], e[q])),
                    (f"cast {p} {q}", lambda e: wp.utils.array_cast(e[p], e[q])),
                ]
            )
        )

    def matrix(self) -> None:
        p, q, s = self.pick(3)

        def multiplied(e: dict[str, Any]) -> None:
            a, b = e[p].reshape((3, 4)), e[q].reshape((4, 3))
            out = e[s][:9].reshape((3, 3))
            wp.matmul(a, b, out, out, alpha=0.3, beta=0.5)

        def by_operator(e: dict[str, Any]) -> None:
            e[s][:9] = (e[p].reshape((3, 4)) @ e[p].reshape((3, 4)).transpose()).flatten()

        self.add(
            *self.r.choice(
                [
                    (
                        f"rows {p} {q}",
                        lambda e: wp.launch(rows, dim=(3, 4), inputs=[e[p].reshape((3, 4)), e[q].reshape((3, 4))]),
                    ),
                    (
                        f"rows {p}^T {p}",
                        lambda e: wp.launch(
                            rows, dim=(3, 3), inputs=[e[p].reshape((3, 4)).transpose()[:3], e[q].reshape((3, 4))]
                        ),
                    ),
                    (f"matmul {p} {q} {s}", multiplied),
                    (f"{s}[:9] = {p} @ {p}^T", by_operator),
                ]
            )
        )

    def disturbance(self) -> tuple[str, Callable[[dict[str, Any]], None]]:
        (p,) = self.pick(1)

        def by_numpy(e: dict[str, Any]) -> None:
            e[p].numpy()[:] = 7.0

        return self.r.choice(
            [
                (f"{p}.fill_", lambda e: e[p].fill_(9.0)),
                (f"{p} by NumPy", by_numpy),
                (f"{p} by a launch", lambda e: wp.launch(square, dim=SIZE, inputs=[e[p]])),
                (f"part of {p}", lambda e: e[p][2:5].fill_(8.0)),
            ]
        )

    def hidden(self) -> None:
        """What a tape does not see: some of it changes nothing."""
        (p,) = self.pick(1)
        k, value = self.r.randint(0, SIZE - 3), self.r.uniform(-1, 1)

        def show(e: dict[str, Any]) -> None:
            e["shown"] = e[p].numpy()

        def write(e: dict[str, Any]) -> None:
            e[p].numpy()[k : k + 2] = value

        def write_shown(e: dict[str, Any]) -> None:
            if "shown" in e:
                e["shown"][k] = value

        def write_address(e: dict[str, Any]) -> None:
            ctypes.c_double.from_address(e[p].ptr + 8 * k).value = value

        def write_the_same(e: dict[str, Any]) -> None:
            e[p].numpy()[:] = e[p].numpy().copy()

        def write_and_take_back(e: dict[str, Any]) -> None:
            before = e[p].numpy().copy()
            e[p].numpy()[:] = 9.0
            e[p].numpy()[:] = before

        def launch(e: dict[str, Any]) -> None:
            wp.launch(fill_two, dim=2, inputs=[e[p][k : k + 2], value], record_tape=False)

        self.add(
            *self.r.choice(
                [
                    (f"show {p}", show),
                    (f"NumPy writes {p}[{k}:]", write),
                    (f"NumPy writes what was shown, [{k}]", write_shown),
                    (f"ctypes writes {p}[{k}]", write_address),
                    (f"NumPy writes the same to {p}", write_the_same),
                    (f"NumPy writes {p} and takes it back", write_and_take_back),
                    (f"an unrecorded launch writes {p}[{k}:]", launch),
                ]
            )
        )

    # -- running ----------------------------------------------------------------------------------------------------

    def text(self) -> str:
        return "; ".join(name for name, _ in self.steps) + " | after: " + "; ".join(name for name, _ in self.after)

    def _run(self, start: np.ndarray, grad: bool) -> tuple[dict[str, Any], wp.array]:
        return self._follow({n: wp.array(row, dtype=wp.float64, requires_grad=grad) for n, row in zip("abc", start)})

    def _follow(self, e: dict[str, Any]) -> tuple[dict[str, Any], wp.array]:
        grad = e["a"].requires_grad
        first = dict(e)
        if self.unseen:  # what was there before the first step is no concern of the tape
            scratch = wp.zeros(1, dtype=wp.float64, requires_grad=grad)
            for x in first.values():
                wp.launch(gather, dim=SIZE, inputs=[x, x, scratch])
        for _, run in self.steps:
            run(e)
        loss = wp.zeros(1, dtype=wp.float64, requires_grad=grad)
        e.pop("shown", None)
        everything = [*e.values(), *(x for name, x in first.items() if x is not e[name])]
        for k, x in enumerate(everything):
            weights = wp.array(self.weights[k * SIZE : (k + 1) * SIZE], dtype=wp.float64)
            wp.launch(gather, dim=SIZE, inputs=[x, weights, loss])
        e["first"] = first
        return e, loss

    def loss(self, start: np.ndarray) -> float:
        return float(self._run(start, False)[1].numpy()[0])

    def slope(self, start: np.ndarray, direction: np.ndarray) -> float:
        """The derivative of the loss along a direction, in forward mode."""
        given, moved = (tuple(wp.array(row, dtype=wp.float64) for row in rows) for rows in (start, direction))
        _, slope = wp.jvp(lambda *arrays: self._follow(dict(zip("abc", arrays)))[1], given, moved)
        return float(slope.numpy()[0])

    def gradient(self, start: np.ndarray, budget: int | None = None, times: int = 1) -> np.ndarray:
        """The gradient for the three arrays as they were at the start, summed over runs backwards."""
        tape = wp.Tape(memory_budget=budget)
        with tape:
            e, loss = self._run(start, True)
        for _, run in self.after:
            run(e)
        for _ in range(times):
            tape.backward(loss)
        return np.array([e["first"][name].grad.numpy() for name in "abc"])


def verdict(seed: int, unseen: bool = False) -> tuple[str, str]:
    """Whether the gradient of a program is right, refused, wrong, or unclear where differences do not agree."""
    program = Program(seed, unseen)
    start = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, SIZE))
    try:
        found = program.gradient(start)
    except (RuntimeError, ValueError, wp.CompileError) as why:
        return "refused", f"{program.text()}: {str(why).splitlines()[0]}"
    unclear = False
    for name, row in enumerate(found):
        for k, g in enumerate(row):
            slopes = [_difference(program, start, name, k, h) for h in (1e-5, 3e-6)]
            allowed = 1e-6 * (1.0 + abs(g) + abs(slopes[0]))
            if abs(slopes[0] - g) <= allowed or abs(slopes[1] - g) <= allowed:
                continue
            if abs(slopes[0] - slopes[1]) > allowed:
                unclear = True
                continue
            return "wrong", f"{program.text()}: {'abc'[name]}[{k}] is {g} instead of {slopes[0]}"
    return ("unclear" if unclear else "right"), program.text()


def _difference(program: Program, start: np.ndarray, name: int, k: int, h: float) -> float:
    ends = []
    for by in (-h, h):
        moved = start.copy()
        moved[name, k] += by
        ends.append(program.loss(moved))
    return (ends[1] - ends[0]) / (2.0 * h)
