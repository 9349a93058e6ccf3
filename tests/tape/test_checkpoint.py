"""wp.checkpointed gives the gradients of a tape that records all steps, bit for bit, or refuses."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.devices import progress
from omni.warp_core.tape.checkpoint_schedule import advances

F = wp.array(dtype=float)
D = wp.array(dtype=wp.float64)
CELLS = 9


@wp.kernel
def push(u: F, v: F, stiffness: F, force: F):
    i = wp.tid()
    n = u.shape[0]
    pull = u[wp.max(i - 1, 0)] + u[wp.min(i + 1, n - 1)] - 2.0 * u[i]
    force[i] = v[i] + stiffness[i] * wp.sin(pull)


@wp.kernel
def move(u: F, v: F, dt: float):
    i = wp.tid()
    u[i] = u[i] + v[i] * dt


@wp.kernel
def add_squares(u: F, total: F):
    wp.atomic_add(total, 0, u[wp.tid()] * u[wp.tid()])


@wp.kernel
def note(u: F, i: int, history: F):
    history[i] = u[0] * u[0]


@wp.kernel
def scale(x: F, by: float):
    i = wp.tid()
    x[i] = x[i] * by


@wp.kernel
def scale_by(x: F, by: F):
    i = wp.tid()
    x[i] = x[i] * by[i]


@wp.kernel
def add(x: F, y: F):
    i = wp.tid()
    x[i] = x[i] + y[i]


@wp.kernel
def add_part(x: F, y: F, i: int):
    y[i] = x[i] + 1.0


@wp.kernel
def grow(x: D, rate: D, count: wp.array(dtype=int)):
    i = wp.tid()
    count[i] = count[i] + 1
    x[i] = x[i] + rate[0] * x[i] * wp.float64(count[i])


def active(values, dtype=float):
    return wp.array(values, dtype=dtype, requires_grad=True)


def ones(a):
    return wp.array(np.ones(a.numpy().shape, a.numpy().dtype), dtype=a.dtype)


class Wave:
    """A chain of springs; what it begins with and its stiffness are to be differentiated."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.start = active(rng.random(CELLS))
        self.stiffness = active(rng.random(CELLS) * 0.3)
        self.u, self.v, self.force = (active(np.zeros(CELLS)) for _ in range(3))
        self.energy, self.total = active([0.0]), active([0.0])
        self.history = active(np.zeros(64))
        self.calls = 0

    def step(self, i):
        self.calls += 1
        wp.launch(push, dim=CELLS, inputs=[self.u, self.v, self.stiffness, self.force])
        wp.copy(self.v, self.force)
        wp.launch(move, dim=CELLS, inputs=[self.u, self.v, 0.1 + 0.01 * i])
        if i % 3 == 0:
            wp.launch(add_squares, dim=CELLS, inputs=[self.u, self.energy])
        wp.launch(note, dim=1, inputs=[self.u, i, self.history])

    def run(self, n, tape, **options):
        with tape:
            wp.copy(self.u, self.start)
            wp.launch(move, dim=CELLS, inputs=[self.u, self.start, 0.5])
            if options:
                wp.checkpointed(self.step, n, **options)
            else:
                for i in range(n):
                    self.step(i)
            wp.launch(add_squares, dim=CELLS, inputs=[self.u, self.total])
            wp.launch(scale, dim=CELLS, inputs=[self.u, 7.0])  # what follows may overwrite the state
        return self

    def seeds(self):
        history = wp.array(np.linspace(0.0, 1.0, 64), dtype=float)
        return {self.total: ones(self.total), self.energy: ones(self.energy), self.history: history}

    def gradients(self):
        arrays = (self.start, self.stiffness, self.u, self.v, self.force, self.energy, self.total, self.history)
        return [a.grad.numpy().copy() for a in arrays]

    def contents(self):
        arrays = (self.start, self.stiffness, self.u, self.v, self.force, self.energy, self.total, self.history)
        return [a.numpy().copy() for a in arrays]


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b))


SNAPSHOT = 2 * CELLS * 4


@pytest.mark.parametrize("n", [1, 2, 3, 10, 41])
@pytest.mark.parametrize("snapshots", [1, 2, 3, 5, 100])
def test_gradients_are_those_of_the_whole_tape(n, snapshots):
    whole, tape = Wave(), wp.Tape()
    whole.run(n, tape)
    tape.backward(grads=whole.seeds())
    parts, tape = Wave(), wp.Tape()
    parts.run(n, tape, state=[parts.u, parts.v], memory_budget=snapshots * SNAPSHOT)
    assert same(whole.contents(), parts.contents())
    tape.backward(grads=parts.seeds())
    assert same(whole.gradients(), parts.gradients())
    assert same(whole.contents(), parts.contents())
    # The first run, the advances back, and each step once on its tape.
    assert parts.calls == advances(n + 1, min(snapshots, n + 1)) + n


def test_backward_again():
    whole, tape = Wave(), wp.Tape()
    whole.run(20, tape)
    tape.backward(grads=whole.seeds())
    parts, tape = Wave(), wp.Tape()
    parts.run(20, tape, state=[parts.u, parts.v], memory_budget=3 * SNAPSHOT)
    for _ in range(3):
        tape.zero()
        tape.backward(grads=parts.seeds())
        assert same(whole.gradients(), parts.gradients())


def test_what_changes_later_changes_no_gradient():
    whole, tape = Wave(), wp.Tape()
    whole.run(20, tape)
    tape.backward(grads=whole.seeds())
    parts, tape = Wave(), wp.Tape()
    parts.run(20, tape, state=[parts.u, parts.v], memory_budget=3 * SNAPSHOT)
    parts.stiffness.fill_(9.0)
    parts.v.fill_(9.0)
    tape.backward(grads=parts.seeds())
    assert same(whole.gradients(), parts.gradients())
    assert parts.stiffness.list() == parts.v.list() == [9.0] * CELLS


def test_without_a_tape_steps_run_once():
    a, b = Wave(), Wave()
    wp.checkpointed(a.step, 5, state=[a.u, a.v])
    for i in range(5):
        b.step(i)
    assert same(a.contents(), b.contents()) and a.calls == 5


@wp.kernel
def scatter(u: F, bins: F):
    i = wp.tid()
    wp.atomic_add(bins, i % 64, wp.sin(u[i]) * 0.001)


@wp.kernel
def gather(u: F, bins: F):
    i = wp.tid()
    u[i] = u[i] + 0.1 * bins[i % 64] * u[i]


@pytest.mark.parametrize("deterministic", [pytest.param(True, marks=pytest.mark.cpu), False])
def test_sums_of_several_threads(monkeypatch, deterministic):
    monkeypatch.setattr(wp.config, "deterministic", deterministic)
    n = 200_000

    def gradient(checkpointed):
        u, bins = active(np.random.default_rng(0).random(n)), active(np.zeros(64))
        tape = wp.Tape()

        def step(i):
            bins.zero_()
            wp.launch(scatter, dim=n, inputs=[u, bins])
            wp.launch(gather, dim=n, inputs=[u, bins])

        with tape:
            if checkpointed:
                wp.checkpointed(step, 6, state=[u], memory_budget=3 * 4 * n)
            else:
                for i in range(6):
                    step(i)
        tape.backward(grads={u: ones(u)})
        return u.grad.numpy()

    whole, parts = gradient(False), gradient(True)
    assert np.array_equal(whole, parts) if deterministic else np.allclose(whole, parts, rtol=1e-4)


@wp.struct
class Body:
    x: F
    mass: F
    unused: F
    dt: float


@wp.kernel
def fall(body: Body):
    i = wp.tid()
    body.x[i] = body.x[i] + wp.sin(body.x[i] * body.mass[i]) * body.dt


def test_arrays_in_structs():
    def gradient(checkpointed):
        x, mass = active([1.0, 2.0, 3.0]), active([0.5, 0.7, 0.9])
        tape = wp.Tape()

        def step(i):
            body = Body()
            body.x, body.mass, body.dt = x, mass, 0.1 + 0.01 * i
            wp.launch(fall, dim=3, inputs=[body])

        with tape:
            if checkpointed:
                wp.checkpointed(step, 9, state=[x], memory_budget=2 * 12)
            else:
                for i in range(9):
                    step(i)
        tape.backward(grads={x: ones(x)})
        return [*x.grad.list(), *mass.grad.list()]

    assert gradient(True) == gradient(False)


def test_other_types_and_integer_state():
    def gradient(n, checkpointed):
        x, rate = active([1.0, 2.0], wp.float64), active([0.01], wp.float64)
        count = wp.zeros(2, dtype=int)
        tape = wp.Tape()

        def step(i):
            wp.launch(grow, dim=2, inputs=[x, rate, count])

        with tape:
            if checkpointed:
                wp.checkpointed(step, n, state=[x, count], memory_budget=3 * 24)
            else:
                for i in range(n):
                    step(i)
        tape.backward(grads={x: ones(x)})
        return [*x.grad.list(), *rate.grad.list(), *count.list()]

    assert gradient(15, True) == gradient(15, False)


def test_state_in_views():
    def gradient(checkpointed):
        x, rate = active(np.arange(1.0, 7.0)), active(np.full(6, 0.9))
        tape = wp.Tape()

        def step(i):
            wp.launch(scale_by, dim=3, inputs=[x[3:], rate[3:]])
            wp.launch(scale_by, dim=3, inputs=[x[:3], rate[:3]])

        with tape:
            if checkpointed:
                wp.checkpointed(step, 7, state=[x], memory_budget=2 * 24)
            else:
                for i in range(7):
                    step(i)
        tape.backward(grads={x: ones(x)})
        return [*x.grad.list(), *rate.grad.list()]

    assert gradient(True) == gradient(False)


def test_arrays_made_in_a_step():
    def gradient(checkpointed):
        x = active([1.0, 2.0, 3.0])
        tape = wp.Tape()

        def step(i):
            y = wp.zeros(3, dtype=float, requires_grad=True)
            wp.launch(add, dim=3, inputs=[y, x])
            wp.launch(scale, dim=3, inputs=[y, 0.1 * i])
            wp.launch(scale_by, dim=3, inputs=[x, wp.array([1.0, 2.0, 0.5 + i], dtype=float)])
            wp.launch(add, dim=3, inputs=[x, y])

        with tape:
            if checkpointed:
                wp.checkpointed(step, 9, state=[x], memory_budget=2 * 12)
            else:
                for i in range(9):
                    step(i)
        tape.backward(grads={x: ones(x)})
        return x.grad.list()

    assert gradient(True) == gradient(False)


def test_numpy_parameters():
    def gradient(checkpointed):
        x, by = active([1.0, 2.0, 3.0]), np.array([0.5, 0.9, 1.1], np.float32)
        tape = wp.Tape()

        def step(i):
            wp.launch(scale_by, dim=3, inputs=[x, by])
            wp.launch(scale_by, dim=3, inputs=[x, np.full(3, 1.0 + i, np.float32)])

        with tape:
            if checkpointed:
                wp.checkpointed(step, 9, state=[x], memory_budget=2 * 12)
            else:
                for i in range(9):
                    step(i)
        tape.backward(grads={x: ones(x)})
        return x.grad.list()

    assert gradient(True) == gradient(False)


def test_products_of_matrices_with_weights():
    """Weights that steps only read are no state."""
    start = np.random.default_rng(1).normal(size=(3, 3))

    def gradients(checkpointed):
        tape, m, weights, total = wp.Tape(), active(start), active(start.T * 0.5), active([0.0])

        def step(i):
            wp.copy(m, m @ weights)
            wp.utils.array_inner(m.flatten(), weights.flatten(), out=total)

        with tape:
            if checkpointed:
                wp.checkpointed(step, 7, state=[m, total], memory_budget=3 * (m.capacity + 4))
            else:
                for i in range(7):
                    step(i)
        tape.backward(total)
        return m.grad.numpy().tolist(), weights.grad.numpy().tolist()

    assert gradients(True) == gradients(False)


# -- what is refused --------------------------------------------------------------------------------


def refused(step, state, match, n=12, loss=None):
    """Assert that steps are refused, when they run or in `backward`."""
    tape = wp.Tape()
    with pytest.raises(RuntimeError, match=match):
        with tape:
            wp.checkpointed(step, n, state=state, memory_budget=3 * sum(a.capacity for a in state))
        tape.backward(grads={a: ones(a) for a in state if a.requires_grad})
    tape.zero()


@pytest.mark.cpu
def test_forgotten_state():
    wave = Wave()
    refused(wave.step, [wave.u], r"not in `state`(.|\n)*parameter `v` of kernel `push` \(test_checkpoint.py:\d+\)")


def test_forgotten_state_in_a_struct():
    body = Body()
    body.x, body.mass = active([1.0, 2.0]), active([1.0, 2.0])
    refused(lambda i: wp.launch(fall, dim=2, inputs=[body]), [body.mass], r"parameter `body\.x` of kernel `fall`")


def test_forgotten_state_that_is_read_first_and_written_late():
    x, y = active([1.0, 2.0]), active([1.0, 2.0])

    def step(i):
        wp.launch(scale_by, dim=2, inputs=[x, y])
        if i == 10:
            wp.launch(scale, dim=2, inputs=[y, 2.0])

    refused(step, [x], "written in step 10, parameter `x` of kernel `scale`")


def test_scratch_that_is_overwritten_in_part_only():
    x, y = active([1.0, 2.0]), active([1.0, 2.0])

    def step(i):
        wp.launch(add_part, dim=1, inputs=[x, y, i % 2])
        wp.launch(scale_by, dim=2, inputs=[x, y])

    refused(step, [x], "not in `state`")


@wp.kernel
def drop(x: F, v: F, new_x: F, new_v: F, k: F):
    i = wp.tid()
    new_v[i] = v[i] - 0.1 * k[0] * wp.sin(x[i])
    way = 0.1 * new_v[i]
    if x[i] > 0.0:
        way = way + 0.2 * new_v[i] * new_v[i]
    new_x[i] = x[i] + way


def dropped(run) -> list[np.ndarray]:
    x, v, k, loss = active([1.0, -2.0, 0.5]), active([0.3, 0.1, 0.2]), active([2.0]), active([0.0])
    new_x, new_v = active([0.0] * 3), active([0.0] * 3)

    def step(i):
        wp.launch(drop, dim=3, inputs=[x, v, new_x, new_v, k])
        wp.copy(x, new_x)
        wp.copy(v, new_v)

    tape = wp.Tape()
    with tape:
        run(step, [x, v])
        wp.launch(add_squares, dim=3, inputs=[x, loss])
    tape.backward(loss)
    return [a.grad.numpy() for a in (x, v, k)]


def test_scratch_whose_elements_each_thread_stores_and_then_reads():
    whole = dropped(lambda step, state: [step(i) for i in range(20)])
    again = dropped(lambda step, state: wp.checkpointed(step, 20, state))
    for got, expected in zip(again, whole):
        np.testing.assert_array_equal(got, expected)


@wp.kernel
def neighbours(x: F, y: F):
    i = wp.tid()
    y[i] = x[i]
    x[i] = x[i] + 0.1 * y[(i + 1) % 3]


@wp.kernel
def late(x: F, y: F):
    i = wp.tid()
    was = y[i]
    y[i] = x[i]
    x[i] = x[i] + 0.1 * was


@wp.kernel
def some(x: F, y: F):
    i = wp.tid()
    if x[i] > 0.0:
        y[i] = x[i]
    x[i] = x[i] + 0.1 * y[i]


@pytest.mark.parametrize("kernel", [neighbours, late, some])
def test_scratch_of_which_threads_may_read_what_was_there(kernel):
    x, y = active([1.0, -2.0, 0.5]), active([1.0, 2.0, 3.0])
    refused(lambda i: wp.launch(kernel, dim=3, inputs=[x, y]), [x], "not in `state`")


def test_scratch_that_a_later_step_reads():
    x, y = active([1.0, 2.0]), active([1.0, 2.0])

    def step(i):
        if i % 2 == 0:
            wp.copy(y, x)
        wp.launch(scale_by, dim=2, inputs=[x, y])

    refused(step, [x], "not in `state`")


@pytest.mark.cpu
@pytest.mark.parametrize("flows, match", [(False, "changed while the steps ran"), (True, "since then NumPy")])
def test_changes_that_nothing_tells_of(flows, match):
    x, y = active([1.0, 2.0]), wp.array([1.0, 2.0], dtype=float, requires_grad=flows)

    def step(i):
        y.numpy()[:] *= 1.1
        wp.launch(scale_by, dim=2, inputs=[x, y])

    refused(step, [x], match)


UNSEEN = {
    "NumPy": lambda x: x.numpy().__imul__(0.5),
    "an unrecorded launch": lambda x: wp.launch(scale, dim=2, inputs=[x, 0.5], record_tape=False),
}


@pytest.mark.cpu
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("first", [False, True], ids=["last", "first"])
@pytest.mark.parametrize("write", UNSEEN.values(), ids=UNSEEN)
def test_changes_of_the_state_that_nothing_tells_of(write, first, n):
    x = active([1.0, 2.0])

    def step(i):
        if first:
            write(x)
        wp.launch(scale, dim=2, inputs=[x, 3.0])
        if not first:
            write(x)

    refused(step, [x], "used this memory, and since then", n)


def test_state_that_only_unrecorded_launches_change():
    refused(lambda i: UNSEEN["an unrecorded launch"](x), [x := active([1.0, 2.0])], "since then it was overwritten")


@pytest.mark.cpu
def test_a_step_of_ones_own_in_steps():
    """The tape around takes note of it in each step, also when steps run again."""
    x, tape = active([0.5, 0.7]), wp.Tape()
    rate = active([1.5, 2.5])

    def step(i):
        wp.launch(scale_by, dim=2, inputs=[x, rate])
        x.numpy()[:] **= 2
        before = x.numpy() ** 0.5

        def backward():
            x.grad.assign(2 * before * x.grad.numpy())

        tape.record_func(backward, [x])

    with tape:
        wp.checkpointed(step, 3, state=[x], memory_budget=16)
    for times in (1, 2):  # x becomes ((x * rate)**2 * rate ...) = x**8 * rate**14
        tape.backward(grads={x: ones(x)})
        expected = times * 14 * np.array([0.5, 0.7]) ** 8 * np.array([1.5, 2.5]) ** 13
        np.testing.assert_allclose(rate.grad.numpy(), expected, rtol=1e-5)


def test_steps_that_swap_arrays():
    names = {"a": active([1.0, 2.0]), "b": active([0.5, 0.7])}

    def step(i):
        wp.launch(scale_by, dim=2, inputs=[names["a"], names["b"]])
        names["a"], names["b"] = names["b"], names["a"]

    refused(step, list(names.values()), "when it ran again|steps that ran again")


def test_steps_with_random_numbers():
    rng = np.random.default_rng(0)
    x, noise = active([1.0, 2.0]), active([0.0, 0.0])

    def by_number(i):
        wp.launch(scale, dim=2, inputs=[x, 1.0 + 0.1 * rng.random()])

    def by_array(i):
        wp.launch(scale_by, dim=2, inputs=[x, wp.array(1.0 + 0.1 * rng.random(2), dtype=float)])

    def by_assignment(i):
        noise.assign(1.0 + 0.1 * rng.random(2))
        wp.launch(scale_by, dim=2, inputs=[x, noise])

    for step in (by_number, by_array, by_assignment):
        refused(step, [x], "when it ran again|steps that ran again")


def test_random_numbers_that_reach_no_state():
    rng = np.random.default_rng(0)
    x, total = active([1.0, 2.0]), active([1.0, 2.0])

    def step(i):
        wp.launch(scale, dim=2, inputs=[x, 0.9])
        y = wp.clone(x)
        wp.launch(scale, dim=2, inputs=[y, rng.random()])
        wp.launch(scale_by, dim=2, inputs=[y, wp.array(rng.random(2), dtype=float)])

    refused(step, [x], "steps that ran again launched")


@pytest.mark.cpu
def test_random_numbers_that_nothing_tells_of():
    rng = np.random.default_rng(0)
    x, noise = active([1.0, 2.0]), wp.zeros(2, dtype=float)

    def step(i):
        noise.numpy()[:] = rng.random(2)
        wp.launch(scale_by, dim=2, inputs=[x, noise])

    refused(step, [x, noise], "when it ran again")


def test_a_count_of_calls():
    x, calls = active([1.0, 2.0]), []

    def step(i):
        calls.append(i)
        wp.launch(scale, dim=2, inputs=[x, 1.0 + 0.01 * len(calls)])

    refused(step, [x], "when it ran again")


def test_arrays_made_in_a_step_and_used_in_the_next():
    kept = [active([1.0, 2.0])]
    x = active([1.0, 2.0])

    def step(i):
        wp.launch(scale_by, dim=2, inputs=[x, kept[-1]])
        kept.append(wp.clone(x))

    refused(step, [x], "made in an earlier step")


def test_arrays_made_in_a_step_and_used_afterwards():
    kept, x, total = [], active([1.0, 2.0]), active([0.0])

    def step(i):
        wp.launch(scale, dim=2, inputs=[x, 0.5])
        kept.append(wp.clone(x))

    tape = wp.Tape()
    with tape:
        wp.checkpointed(step, 3, state=[x])
        wp.launch(add_squares, dim=2, inputs=[kept[-1], total])
    with pytest.raises(RuntimeError, match=r"made in a step of wp\.checkpointed is used after"):
        tape.backward(total)


def test_too_small_a_budget():
    wave = Wave()
    with wp.Tape(), pytest.raises(ValueError, match="takes 72 bytes, and the budget is 71"):
        wp.checkpointed(wave.step, 3, state=[wave.u, wave.v], memory_budget=71)


def test_the_budget_of_the_tape_counts():
    wave = Wave()
    tape = wp.Tape(memory_budget=3 * SNAPSHOT)
    with tape:
        wp.checkpointed(wave.step, 20, state=[wave.u, wave.v])
    tape.backward(grads={wave.u: ones(wave.u)})
    assert wave.calls == advances(21, 3) + 20
    with wp.Tape(memory_budget=0), pytest.raises(ValueError, match="the budget is 0"):
        wp.checkpointed(wave.step, 3, state=[wave.u, wave.v])


@pytest.mark.parametrize(
    ("step", "n", "state", "match"),
    [
        (3, 3, [wp.zeros(1)], "step: expected a function"),
        (print, -1, [wp.zeros(1)], "n: expected a number"),
        (print, 3, [], "state: expected a list"),
        (print, 3, wp.zeros(1), "state: expected a list"),
        (print, 3, [np.zeros(1)], "state: expected a list"),
    ],
)
def test_bad_arguments(step, n, state, match):
    with pytest.raises((TypeError, ValueError), match=match):
        wp.checkpointed(step, n, state=state)


def test_a_launch_without_all_arguments():
    x = active([1.0, 2.0])
    with wp.Tape(), pytest.raises(TypeError, match="takes 2 arguments"):
        wp.checkpointed(lambda i: wp.launch(scale_by, dim=2, inputs=[x]), 2, [x])


def test_an_error_in_a_step_leaves_the_tape_recording():
    x, y = active([2.0]), active([0.0])

    def step(i):
        raise KeyError(i)

    tape = wp.Tape()
    with tape:
        with pytest.raises(KeyError):
            wp.checkpointed(step, 3, state=[x])
        wp.launch(add_squares, dim=1, inputs=[x, y])
    tape.backward(y)
    assert x.grad.list() == [4.0]


def on_terminal(*args: str) -> str:
    """What a program shows on the error stream if that is a terminal; the arguments of `wp.checkpointed` follow."""
    leader, follower = os.openpty()
    program = PROGRAM.format(", ".join(args))
    run = subprocess.Popen([sys.executable, "-c", program], stderr=follower, stdout=subprocess.PIPE)
    os.close(follower)
    shown = b""
    with contextlib.suppress(OSError):  # the end, on Linux
        while part := os.read(leader, 4096):
            shown += part
    os.close(leader)
    assert run.communicate()[0] == b"done\n" and run.returncode == 0, shown
    return shown.decode()


PROGRAM = """
import omni.warp_core as wp
from omni.warp_core.devices import progress
progress.SHOW_AFTER_SECONDS = 0.0
x = wp.ones(1, dtype=float, requires_grad=True)
tape = wp.Tape()
with tape:
    wp.checkpointed(lambda i: x.assign(2.0 * x), 8, state=[x], {})
    x.assign(2.0 * x)
tape.backward(x)
assert x.grad.list() == [512.0]
print("done")
"""


def test_progress_on_a_terminal():
    shown = on_terminal()
    assert all(what in shown for what in ("steps", "back", "backward"))
    assert on_terminal("progress=False").count("steps") == 0


def test_no_progress_elsewhere(capfd, monkeypatch):
    monkeypatch.setattr(progress, "SHOW_AFTER_SECONDS", 0.0)
    x = active([1.0])
    with wp.Tape() as tape:
        wp.checkpointed(lambda i: wp.launch(scale, dim=1, inputs=[x, 0.5]), 8, state=[x])
    tape.backward(x)
    assert capfd.readouterr() == ("", "")


def test_progress_is_shown_on_request(capfd):
    x = active([1.0])
    tape = wp.Tape()
    with tape:
        wp.checkpointed(lambda i: wp.launch(scale, dim=1, inputs=[x, 0.5]), 8, state=[x], progress=True)
    tape.backward(x)
    assert x.grad.list() == [0.5**8]
    assert capfd.readouterr().err


@pytest.mark.parametrize("anew", [False, True])
def test_no_gradient_flows_through_steps_before_one_that_raised(anew):
    def step(i):
        wp.launch(scale, dim=1, inputs=[x, 2.0])
        if i == 2:
            raise KeyError(i)

    x, y = active([1.0]), active([3.0])
    with wp.Tape() as tape:
        with contextlib.suppress(KeyError):
            wp.checkpointed(step, 5, state=[x])
        if anew:
            wp.copy(x, y)
        wp.launch(scale, dim=1, inputs=[x, 2.0])
    if anew:
        tape.backward(x)
        assert (x.list(), y.grad.list()) == ([6.0], [2.0])
    else:
        with pytest.raises(RuntimeError, match="when one of its steps raised"):
            tape.backward(x)
