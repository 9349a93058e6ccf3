"""Kernels with `wp.static` expressions that depend on locals run their own code: never that of equal text."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.content_hash import digest

i = 0  # has the name of a local of the kernels


class Table:
    def __init__(self, factor: float):
        self.factor = factor

    def __getitem__(self, at: int) -> float:
        return self.factor * (at + 1)


def read_by(table):
    def read(at):
        return table[at]

    return read


def in_a_loop(table):
    @wp.kernel
    def k(y: wp.array(dtype=float)):
        for i in range(2):
            y[i] = wp.static(float(table[i]))

    return k


def of_a_local(table):
    @wp.kernel
    def k(y: wp.array(dtype=float)):
        n = 0
        y[0] = wp.static(float(table[n]))
        n = wp.static(1)
        y[1] = wp.static(float(table[n]))

    return k


def by_a_function(table):
    read = read_by(table)

    @wp.kernel
    def k(y: wp.array(dtype=float)):
        for q in range(2):
            y[q] = wp.static(float(read(q)))

    return k


def under_another_name(table):
    chosen = wp.static

    @wp.kernel
    def k(y: wp.array(dtype=float)):
        y[0] = chosen(float(table[0]))
        y[1] = chosen(float(table[1]))

    return k


def in_a_function(table):
    @wp.func
    def f(x: float):
        total = x
        for q in range(2):
            total += wp.static(float(table[q])) * float(1 - q)
        return total

    @wp.kernel
    def k(y: wp.array(dtype=float)):
        y[0] = f(0.0)
        y[1] = wp.static(float(table[1]))

    return k


KERNELS = [in_a_loop, of_a_local, by_a_function, under_another_name, in_a_function]
TABLES = {
    "array": lambda k: np.array([k, 2 * k]),
    "dict": lambda k: {0: k, 1: 2 * k},
    "object": Table,
    "tuple": lambda k: (k, 2 * k),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("make", KERNELS)
def test_each_kernel_has_its_own_values(make, kind):
    for k in (1.0, 10.0, 1.0):
        y = wp.zeros(2)
        wp.launch(make(TABLES[kind](k)), 1, [y])
        assert y.list() == [k, 2 * k]


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("make", KERNELS)
def test_equal_values_share_code(make, kind):
    assert digest(make(TABLES[kind](3.0))) == digest(make(TABLES[kind](3.0)))


def test_functions_of_a_table():
    def scaled(k):
        @wp.func
        def f(x: float):
            return x * wp.static(k)

        return f

    def make(table):
        @wp.kernel
        def k(y: wp.array(dtype=float)):
            for q in range(2):
                y[q] = wp.static(table[q])(1.0)

        return k

    for k in (2.0, 3.0):
        y = wp.zeros(2)
        wp.launch(make({0: scaled(k), 1: scaled(-k)}), 1, [y])
        assert y.list() == [k, -k]


def test_gradients_are_those_of_the_own_values():
    for table in (np.array([1.0, 2.0]), np.array([10.0, 20.0])):

        @wp.kernel
        def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            for q in range(2):
                y[0] += wp.static(float(table[q])) * x[0]

        x, y = wp.ones(1, requires_grad=True), wp.zeros(1, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(k, 1, [x, y])
        tape.backward(grads={y: wp.ones(1)})
        assert x.grad.list() == [table.sum()]


def test_what_nobody_can_look_into_shares_no_code():
    class Opaque:
        __slots__ = ("value",)

        def __getitem__(self, at):
            return self.value

    def opaque(value):
        made = Opaque()
        made.value = value
        return made

    for k in (1.0, 2.0):
        y = wp.zeros(2)
        wp.launch(in_a_loop(opaque(k)), 1, [y])
        assert y.list() == [k, k]
