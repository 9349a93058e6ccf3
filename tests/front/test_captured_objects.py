"""Functions that kernels reach through captured objects count for the code that they run: never that of another one."""

from __future__ import annotations

import itertools
import types
from typing import Any

import pytest

import omni.warp_core as wp
from omni.warp_core.front.content_hash import digest


class Holder:
    """An object that kernels capture, as it can be called."""

    def __init__(self, **members: Any):
        self.__dict__.update(members)

    def __call__(self) -> None:
        """Nothing."""


def times(k: float) -> wp.Function:
    @wp.func
    def scaled(x: float):
        return x * wp.static(k)

    return scaled


class Lazy(Holder):
    @property
    def scaled(self) -> wp.Function:
        return times(self.k)


@wp.func
def ask(held: Any, x: float):
    return held.scaled(x)


@wp.func
def ask_within(held: Any, x: float):
    return held.inner.scaled(x)


def direct(held):
    @wp.kernel
    def k(y: wp.array(dtype=float)):
        y[0] = held.scaled(1.0)

    return k


def chained(held):
    held = Holder(inner=Holder(inner=held))

    @wp.kernel
    def k(y: wp.array(dtype=float)):
        y[0] = held.inner.inner.scaled(1.0)

    return k


def through_a_local(held):
    @wp.kernel
    def k(y: wp.array(dtype=float)):
        other = held
        y[0] = other.scaled(1.0)

    return k


def passed_on(held):
    @wp.kernel
    def k(y: wp.array(dtype=float)):
        y[0] = ask(held, 1.0)

    return k


def part_passed_on(held):
    held = Holder(inner=held)

    @wp.kernel
    def k(y: wp.array(dtype=float)):
        y[0] = ask(held.inner, 1.0)

    return k


def read_by_another(held):
    held = Holder(inner=held)

    @wp.kernel
    def k(y: wp.array(dtype=float)):
        y[0] = ask_within(held, 1.0)

    return k


def item_of_a_tuple(held):
    pair = (Holder(), held)

    @wp.kernel
    def k(y: wp.array(dtype=float)):
        y[0] = ask(pair[1], 1.0)

    return k


def of_a_function(held):
    @wp.func
    def f(x: float):
        return held.scaled(x)

    @wp.kernel
    def k(y: wp.array(dtype=float)):
        y[0] = f(1.0)

    return k


def as_module(k):
    module = types.ModuleType(f"scaling{k}")
    module.scaled = times(k)
    return module


def as_class(k):
    return type("Scaling", (), {"scaled": times(k)})


def as_function(k):
    def held():
        """Nothing."""

    held.scaled = times(k)
    return held


class ArrayLike(Holder):
    def __array__(self, *args, **kwargs):
        raise NotImplementedError


HELD = {
    "function": as_function,
    "array-like": lambda k: ArrayLike(scaled=times(k)),
    "object": lambda k: Holder(scaled=times(k)),
    "property": lambda k: Lazy(k=k),
    "module": as_module,
    "class": as_class,
}
KERNELS = [direct, chained, through_a_local, passed_on, part_passed_on, read_by_another, item_of_a_tuple, of_a_function]


@pytest.mark.parametrize("kind", HELD)
@pytest.mark.parametrize("make", KERNELS)
def test_each_kernel_runs_its_own_functions(make, kind):
    for k in (2.0, 3.0, 2.0):
        y = wp.zeros(1)
        wp.launch(make(HELD[kind](k)), 1, [y])
        assert y.numpy()[0] == k


@pytest.mark.parametrize("make", KERNELS)
def test_equal_functions_share_code(make):
    first, second = (digest(make(Holder(scaled=times(2.0)))) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("make", [direct, chained, of_a_function])
def test_other_attributes_do_not_matter(make):
    first, second = (digest(make(Holder(scaled=times(2.0), x=n, launches=n))) for n in (1, 2))
    assert first == second


class Endless(Holder):
    """Makes a new object for each attribute."""

    made = itertools.count()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Endless(number=next(self.made))


def test_attributes_without_end_share_no_code():
    assert digest(passed_on(Endless())) != digest(passed_on(Endless()))


def of_functions(a, b, c):
    a, b, c = a.scaled, b.scaled, c.scaled

    @wp.kernel
    def k(y: wp.array(dtype=float)):
        y[0] = a(1.0) * 100.0 + b(1.0) * 10.0 + c(1.0)

    return k


def of_objects(a, b, c):
    @wp.kernel
    def k(y: wp.array(dtype=float)):
        y[0] = ask(a, 1.0) * 100.0 + ask(b, 1.0) * 10.0 + ask(c, 1.0)

    return k


def of_tables(a, b, c):
    tables = {held: {0: held.factor} for held in (a, b, c)}
    a, b, c = tables[a], tables[b], tables[c]

    @wp.kernel
    def k(y: wp.array(dtype=float)):
        for i in range(1):
            y[0] = wp.static(a[i]) * 100.0 + wp.static(b[i]) * 10.0 + wp.static(c[i])

    return k


@pytest.mark.parametrize("make", [of_functions, of_objects, of_tables])
def test_what_stands_for_a_name_counts_where_it_was_met_before(make):
    first, second = (Holder(scaled=times(k), factor=k) for k in (1.0, 2.0))
    for chosen in ((first, second, first), (first, second, second), (second, second, first)):
        y = wp.zeros(1)
        wp.launch(make(*chosen), 1, [y])
        a, b, c = (held.factor for held in chosen)
        assert y.list() == [100 * a + 10 * b + c]


class Slotted:
    """An object without `__dict__`, as dataclasses and attrs make with slots."""

    __slots__ = ("inner", "k", "scaled")

    def __init__(self, k: float, inner: Any = None):
        self.k, self.scaled, self.inner = k, times(k), inner


def test_objects_with_slots_are_captured_as_others_are():
    def kernel_of(held):
        @wp.kernel
        def k(y: wp.array(dtype=float)):
            y[0] = held.scaled(1.0) + held.inner.scaled(10.0)

        return k

    hashes = set()
    for a, b in ((2.0, 3.0), (5.0, 3.0), (5.0, 7.0)):
        kernel, y = kernel_of(Slotted(a, Slotted(b))), wp.zeros(1, dtype=float)
        wp.launch(kernel, dim=1, inputs=[y])
        assert y.list() == [a + 10.0 * b]
        hashes.add(digest(kernel))
    assert len(hashes) == 3
