"""`execute` runs a host operation and tells all observers, or raises before anything is written.

The operation here is made for the tests: y = k x, and a variant that has neither a gradient nor a tangent.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.arrays.accumulate import taken
from omni.warp_core.dispatch import capture, observers
from omni.warp_core.dispatch.operation import Operation, Write, execute
from tests.kernels import square


def write_scaled(x: wp.array, y: wp.array, k: float) -> None:
    y.assign(k * x.numpy())


def scaled(x: wp.array, y: wp.array, k: float, events: list[str] | None = None) -> Operation:
    """y = k x."""
    told = [] if events is None else events

    def run() -> None:
        told.append("run")
        capture.call(write_scaled, x, y, k, label="scale", writes=[y])

    def vjp():
        told.append("vjp")

        def backward() -> None:
            given = taken(y)
            if x.grad is not None:
                x.grad += k * given

        return backward

    return Operation(
        "scaling",
        writes={"y": Write(y, overwrites_all=True)},
        reads={"x": x},
        run=run,
        vjp=vjp,
        jvp=[(x, lambda t, out: execute(scaled(t, out, k)))],
    )


def opaque(x: wp.array, y: wp.array, events: list[str] | None = None) -> Operation:
    """y = 2 x, without gradient and tangent."""
    return scaled(x, y, 2.0, events)._replace(name="doubling", vjp=None, jvp=None)


def floats(*numbers: float, grad: bool = True) -> wp.array:
    return wp.array(numbers, dtype=float, requires_grad=grad)


def test_it_runs():
    x, y, events = floats(1.0, 2.0), floats(0.0, 0.0), []
    execute(scaled(x, y, 3.0, events))
    assert (y.list(), events) == ([3.0, 6.0], ["run"])


@pytest.mark.parametrize("observer", ["tape", "jvp", "checkpointed", "nothing"])
def test_observed_says_whether_something_observes(observer):
    found = []

    def program(*_):
        found.append(observers.observed)
        return floats(1.0)

    if observer == "tape":
        with wp.Tape():
            program()
    elif observer == "jvp":
        wp.jvp(program, (floats(1.0),), (floats(1.0),))
    elif observer == "checkpointed":
        with wp.Tape():
            wp.checkpointed(program, 1, state=[floats(1.0)])
    else:
        program()
    assert found == [observer != "nothing"]
    assert not observers.observed


def test_operations_cannot_be_changed():
    operation = opaque(floats(1.0), floats(0.0))
    with pytest.raises(AttributeError):
        operation.name = "another"


def test_a_tape_records_it():
    x, y, events = floats(1.0, 2.0), floats(7.0, 7.0), []
    tape = wp.Tape()
    with tape:
        execute(scaled(x, y, 3.0, events))
    assert events == ["vjp", "run"]
    tape.backward(grads={y: floats(1.0, 10.0)})
    assert (x.grad.list(), y.grad.list()) == ([3.0, 30.0], [0.0, 0.0])


def test_it_is_recorded_once_though_it_copies_inside():
    x, y = floats(1.0), floats(0.0)
    tape = wp.Tape()
    with tape:
        execute(scaled(x, y, 3.0))
    assert tape.length() == 1


def test_an_operation_that_raises_is_not_recorded():
    x, y, events = floats(1.0), floats(0.0), []

    def fail() -> None:
        raise OSError("the disk is full")

    tape = wp.Tape()
    with tape, pytest.raises(OSError, match="the disk is full"):
        execute(scaled(x, y, 3.0, events)._replace(run=fail))
    assert (events, tape.length()) == (["vjp"], 0)


def test_numbers_made_of_memory_with_a_gradient_are_refused():
    """The view has no gradient of its own, and shows memory that has one."""
    x = floats(1.0, 2.0, grad=False)
    view = x[:]
    x.requires_grad = True
    with pytest.raises(RuntimeError, match="requires one while a tape records"), wp.Tape():
        wp.utils.array_sum(view)


def test_without_gradient_in_what_it_writes_nothing_is_saved():
    x, y, events = floats(1.0, grad=False), floats(0.0, grad=False), []
    tape = wp.Tape()
    with tape:
        execute(scaled(x, y, 3.0, events))
    assert (events, tape.length()) == (["run"], 0)


def test_a_detached_output_is_reported():
    x, y, z = floats(1.0), floats(0.0, grad=False), floats(0.0)
    tape = wp.Tape()
    with tape:
        execute(scaled(x, y, 3.0))
        execute(scaled(y, z, 3.0))
    with pytest.raises(RuntimeError, match="the gradient would end there"):
        tape.backward(grads={z: floats(1.0)})


def test_an_operation_without_gradient_hands_on_that_data_is_detached():
    """`doubled` depends on x though the operation has no gradient: so the loss, which depends on it, is refused."""
    x, y, z = floats(1.0), floats(0.0, grad=False), floats(0.0)
    doubled = floats(0.0, grad=False)
    tape = wp.Tape()
    with tape:
        execute(scaled(x, y, 3.0))
        execute(opaque(y, doubled))
        execute(scaled(doubled, z, 3.0))
    with pytest.raises(RuntimeError, match="the gradient would end there"):
        tape.backward(grads={z: floats(1.0)})


@pytest.mark.parametrize("operation", [lambda x, y: scaled(x, y, 3.0), opaque])
def test_memory_that_lost_its_gradient_is_not_overwritten_unseen(operation):
    """The gradient of z would go through y to x, which z does not depend on any more."""
    x, y, z, other = floats(1.0), floats(0.0), floats(0.0), floats(5.0, grad=False)
    alias = y[:]
    alias.requires_grad = False
    with pytest.raises(RuntimeError, match="which the tape has not recorded"), wp.Tape():
        execute(scaled(x, y, 3.0))
        execute(operation(other, alias))
        execute(scaled(y, z, 3.0))


def test_forward_mode_follows_it():
    x, y = floats(1.0, 2.0), floats(0.0, 0.0)

    def program(x):
        execute(scaled(x, y, 3.0))
        execute(scaled(y, y, 2.0))
        return y

    value, tangent = wp.jvp(program, (x,), (floats(1.0, 10.0),))
    assert (value.list(), tangent.list()) == ([6.0, 12.0], [6.0, 60.0])


def test_a_graph_captures_it():
    x, y = floats(1.0, 2.0), floats(0.0, 0.0)
    with wp.ScopedCapture() as captured:
        execute(scaled(x, y, 3.0))
    assert y.list() == [0.0, 0.0]
    x.assign([5.0, 6.0])
    wp.capture_launch(captured.graph)
    assert y.list() == [15.0, 18.0]


@pytest.mark.parametrize("name", ["x", "y"])
def test_a_gradient_that_would_be_lost_is_refused(name):
    x, y, events = floats(1.0, grad=name == "x"), floats(0.0, grad=name == "y"), []
    text = f"doubling has no gradient, and {name} requires one while a tape records"
    with pytest.raises(RuntimeError, match=text), wp.Tape():
        execute(opaque(x, y, events))
    assert (y.list(), events) == ([0.0], [])


def test_the_gradient_of_another_array_over_the_same_memory_counts():
    x, y = floats(1.0, grad=False), floats(0.0, grad=False)
    other = wp.array(ptr=x.ptr, shape=1, dtype=float, requires_grad=True)
    with pytest.raises(RuntimeError, match="x requires one while a tape records"), wp.Tape():
        execute(opaque(x, y))
    assert other.requires_grad


def test_what_requires_no_gradient_is_not_refused():
    x, y = floats(1.5, grad=False), floats(0.0, grad=False)
    with wp.Tape():
        execute(opaque(x, y))
    assert y.list() == [3.0]


def test_a_tangent_that_would_be_lost_is_refused():
    x, y, events = floats(1.0, grad=False), floats(0.0, grad=False), []

    def program(x):
        execute(opaque(x, y, events))
        return y

    with pytest.raises(RuntimeError, match="doubling has no forward mode, and x has a tangent"):
        wp.jvp(program, (x,), (floats(1.0, grad=False),))
    assert (y.list(), events) == ([0.0], [])


def test_checkpointed_steps_run_it_again():
    """x -> (1.5 x)^2 three times, against its derivative in closed form."""

    def gradient(run) -> list[float]:
        x, y = floats(1.25), floats(0.0)

        def step(i: int) -> None:
            y.zero_()
            execute(scaled(x, y, 1.5))
            wp.launch(square, dim=1, inputs=[y, x])

        tape = wp.Tape()
        with tape:
            run(step, [x])
        tape.backward(grads={x: floats(1.0)})
        return x.grad.list()

    want, x = 1.0, np.float64(1.25)
    for _ in range(3):
        want, x = want * 2 * 1.5**2 * x, (1.5 * x) ** 2
    found = gradient(lambda step, state: wp.checkpointed(step, 3, state=state))
    assert found == pytest.approx([want], rel=1e-5)
    assert found == gradient(lambda step, state: [step(i) for i in range(3)])


def test_data_that_steps_hand_on_besides_the_state_is_refused():
    x, y = floats(1.0), floats(1.0)

    def step(i: int) -> None:
        execute(scaled(y, x, 2.0))
        execute(scaled(x, y, 2.0))

    with pytest.raises(RuntimeError, match="is not in `state`"), wp.Tape():
        wp.checkpointed(step, 2, state=[x])


def in_thread(work) -> None:
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()


@pytest.mark.parametrize("grad", [True, False])
def test_what_another_thread_computed_has_no_gradient(grad):
    x, y, z = floats(1.0), floats(0.0, grad=grad), floats(0.0)
    tape = wp.Tape()
    with tape:
        in_thread(lambda: execute(scaled(x, y, 3.0)))
        execute(scaled(y, z, 2.0))
    with pytest.raises(RuntimeError, match=r"that scaling .* computed in another thread of arrays with gradients"):
        tape.backward(grads={z: floats(1.0)})


def test_what_another_thread_overwrote_is_forgotten_when_the_tape_overwrites_it():
    x, y, z = floats(1.0), floats(0.0), floats(0.0)
    tape = wp.Tape()
    with tape:
        in_thread(lambda: execute(scaled(x, y, 3.0)))
        execute(scaled(x, y, 5.0))
        execute(scaled(y, z, 2.0))
    tape.backward(grads={z: floats(1.0)})
    assert x.grad.list() == [10.0]


def test_each_thread_has_a_tape_of_its_own():
    x, y, z = floats(1.0), floats(0.0), floats(0.0)
    mine, other = wp.Tape(), wp.Tape()

    def work() -> None:
        with other:
            execute(scaled(x, z, 7.0))

    with mine:
        in_thread(work)
        execute(scaled(x, y, 3.0))
    mine.backward(grads={y: floats(1.0)})
    assert x.grad.list() == [3.0]
    in_thread(lambda: other.backward(grads={z: floats(1.0)}))
    assert x.grad.list() == [10.0]


def test_a_thread_that_forward_mode_does_not_follow_is_refused():
    x, y, raised = floats(1.0), floats(0.0), []

    def program(x):
        def work() -> None:
            try:
                execute(scaled(x, y, 3.0))
            except RuntimeError as why:
                raised.append(str(why))

        in_thread(work)
        return y

    wp.jvp(program, (x,), (floats(1.0),))
    assert len(raised) == 1
    assert raised[0].startswith("scaling in another thread than wp.jvp")
    assert y.list() == [0.0]
