"""Tapes in graphs: gradients are right at every replay. The same steps without a graph are the judge."""

import numpy as np
import pytest

import omni.warp_core as wp


@wp.kernel
def residuals(w: wp.array(dtype=float), x: wp.array(dtype=float), y: wp.array(dtype=float), r: wp.array(dtype=float)):
    i = wp.tid()
    r[i] = w[0] * x[i] * x[i] + w[1] * x[i] + wp.sin(w[2]) - y[i]


@wp.kernel
def squares(r: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, r[i] * r[i])


@wp.kernel
def descend(w: wp.array(dtype=float), g: wp.array(dtype=float), rate: float):
    i = wp.tid()
    w[i] -= rate * g[i]


@wp.kernel
def cube(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i] * x[i]


@wp.kernel
def times(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * y[i]


@wp.kernel
def peak(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_max(out, 0, x[i])


def leaf(values):
    return wp.array(values, dtype=float, requires_grad=True)


def same(step, *arrays, rounds=4):
    """Do `step` several times without a graph and with one: all arrays and gradients agree each time."""
    saved = [a.numpy().copy() for a in arrays]
    plain = []
    for _ in range(rounds):
        step()
        plain.append([[a.numpy().copy(), a.grad.numpy().copy()] for a in arrays])
    for a, was in zip(arrays, saved):
        a.assign(was)
        a.grad.zero_()
    with wp.ScopedCapture() as capture:
        step()
    for a, was in zip(arrays, saved):
        np.testing.assert_array_equal(a.numpy(), was)
    # A GPU does not fix the order of atomic additions.
    rounding = {"rtol": 1e-6, "atol": 1e-7} if wp.get_device().is_cuda else {"rtol": 0.0}
    for expected in plain:
        wp.capture_launch(capture.graph)
        for a, (value, gradient) in zip(arrays, expected):
            np.testing.assert_allclose(a.numpy(), value, **rounding)
            np.testing.assert_allclose(a.grad.numpy(), gradient, **rounding)
    assert any(gradient.any() for _, gradient in plain[-1])
    return capture.graph


def test_a_training_loop():
    rng = np.random.default_rng(0)
    x, y = (wp.array(rng.normal(size=64), dtype=float) for _ in range(2))
    w = leaf([0.1, 0.2, 0.3])

    def step():
        tape = wp.Tape()
        with tape:
            r = wp.zeros(64, dtype=float, requires_grad=True)
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            wp.launch(residuals, dim=64, inputs=[w, x, y, r])
            wp.launch(squares, dim=64, inputs=[r, loss])
        tape.backward(loss)
        wp.launch(descend, dim=3, inputs=[w, w.grad, 1e-3])
        wp.copy(seen, w)  # and the gradient
        tape.zero()

    seen = leaf([0.0, 0.0, 0.0])
    same(step, w, seen, rounds=6)


def test_gradients_add_up_over_replays():
    x = leaf([1.0, 2.0])

    def step():
        tape = wp.Tape()
        with tape:
            out = wp.zeros(2, dtype=float, requires_grad=True)
            wp.launch(times, dim=2, inputs=[x, x, out])
        tape.backward(grads={out: wp.array([1.0, 10.0], dtype=float)})

    same(step, x)


def test_results_that_have_a_gradient_before_keep_it():
    x, out = leaf([1.0, 2.0]), leaf([0.0, 0.0])
    out.grad.fill_(5.0)

    def step():
        tape = wp.Tape()
        with tape:
            wp.launch(times, dim=2, inputs=[x, x, out])
        tape.backward(grads={out: wp.array([1.0, 10.0], dtype=float)})

    same(step, x, out)


@pytest.fixture
def on_the_cpu():
    """For what only the CPU has, where the suite runs with a GPU as the device."""
    with wp.ScopedDevice("cpu"):
        yield


@pytest.mark.parametrize("after", [False, True])
def test_what_is_overwritten_is_kept_at_each_replay(after):
    """In the recording, or between recording and going backwards."""
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])

    def step():
        tape = wp.Tape()
        with tape:
            out = wp.zeros(2, dtype=float, requires_grad=True)
            wp.launch(times, dim=2, inputs=[x, y, out])
            if not after:
                wp.launch(cube, dim=2, inputs=[y])
        if after:
            wp.launch(descend, dim=2, inputs=[y, x, 0.5], record_tape=False)
        tape.backward(grads={out: wp.ones(2, dtype=float)})
        wp.launch(descend, dim=2, inputs=[x, x.grad, 0.1])
        wp.launch(descend, dim=2, inputs=[y, x, 0.1])

    same(step, x, y)


def test_launches_that_overwrite_what_they_read():
    x = leaf([0.9, -1.1])

    def step():
        tape = wp.Tape()
        with tape:
            y = wp.zeros(2, dtype=float, requires_grad=True)
            wp.copy(y, x)
            for _ in range(2):
                wp.launch(cube, dim=2, inputs=[y])
            y[:1] = x[1:]
        tape.backward(grads={y: wp.ones(2, dtype=float)})
        wp.launch(descend, dim=2, inputs=[x, x.grad, 0.01])

    same(step, x)


def test_memory_that_numpy_sees(on_the_cpu):
    numbers = np.array([1.0, 2.0], np.float32)
    shown = wp.array(numbers, dtype=float, copy=False)
    x = leaf([3.0, 4.0])
    with wp.ScopedCapture() as capture:
        tape = wp.Tape()
        with tape:
            out = wp.zeros(2, dtype=float, requires_grad=True)
            wp.launch(times, dim=2, inputs=[x, shown, out])
        wp.launch(descend, dim=2, inputs=[shown, x, 1.0])
        tape.backward(grads={out: wp.ones(2, dtype=float)})
    for values in ([1.0, 2.0], [5.0, -6.0]):
        numbers[:] = values
        x.grad.zero_()
        wp.capture_launch(capture.graph)
        assert x.grad.list() == values
        assert numbers.tolist() == [values[0] - 3.0, values[1] - 4.0]


def test_winners_of_an_atomic():
    x = leaf([1.0, 7.0, 3.0])

    def step():
        tape = wp.Tape()
        with tape:
            out = wp.zeros(1, dtype=float, requires_grad=True)
            wp.launch(peak, dim=3, inputs=[x, out])
        tape.backward(out)
        wp.launch(descend, dim=3, inputs=[x, x.grad, 2.5])

    same(step, x)


def test_algorithms_and_products():
    x = leaf(np.linspace(-1.0, 1.0, 9))

    def step():
        tape = wp.Tape()
        with tape:
            sums, loss, half = (wp.zeros(n, dtype=float, requires_grad=True) for n in (9, 1, 9))
            wp.utils.array_scan(x, sums)
            squared = sums.reshape((3, 3)) @ x.reshape((3, 3))
            wp.utils.array_cast(squared.flatten(), half)
            wp.utils.array_inner(half, sums, out=loss)
        tape.backward(loss)
        wp.launch(descend, dim=9, inputs=[x, x.grad, 1e-3])

    same(step, x)


def test_own_steps_and_retained_gradients():
    x = leaf([1.0, 2.0])
    middle = wp.zeros(2, dtype=float, requires_grad=True, retain_grad=True)

    def step():
        tape = wp.Tape()
        with tape:
            out = wp.zeros(2, dtype=float, requires_grad=True)
            wp.launch(times, dim=2, inputs=[x, x, middle], record_tape=False)

            def backward():
                wp.launch(times, dim=2, inputs=[x, middle.grad, own])
                wp.launch(descend, dim=2, inputs=[x.grad, own, -2.0])

            own = wp.zeros(2, dtype=float)
            tape.record_func(backward, [x, middle], [middle])
            wp.launch(times, dim=2, inputs=[middle, middle, out])
        tape.backward(grads={out: wp.ones(2, dtype=float)})
        wp.launch(descend, dim=2, inputs=[x, x.grad, 1e-3])

    same(step, x, middle)


def test_a_condition_copies_what_a_tape_keeps_whether_it_holds_or_not():
    x, y, choice = leaf([2.0]), leaf([3.0]), wp.zeros(1, dtype=int)
    with wp.ScopedCapture() as capture:
        tape = wp.Tape()
        with tape:
            out = wp.zeros(1, dtype=float, requires_grad=True)
            wp.launch(times, dim=1, inputs=[x, y, out])
        wp.capture_if(choice, lambda: wp.launch(cube, dim=1, inputs=[y]))
        tape.backward(out)
    for number, expected in ((0, 3.0), (1, 3.0), (0, 27.0)):
        choice.fill_(number)
        x.grad.zero_()
        wp.capture_launch(capture.graph)
        assert x.grad.list() == [expected]


def test_replays_and_tapes_outside():
    """A graph that runs overwrites what a tape outside keeps, which copies it then."""
    x, y = leaf([2.0]), leaf([3.0])
    with wp.ScopedCapture() as capture:
        wp.launch(cube, dim=1, inputs=[y])
    out = leaf([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(times, dim=1, inputs=[x, y, out])
    wp.capture_launch(capture.graph)
    tape.backward(out)
    assert (x.grad.list(), y.list()) == ([3.0], [27.0])


def backward_elsewhere():
    x = leaf([1.0])
    with wp.ScopedCapture():
        tape = wp.Tape()
        with tape:
            out = leaf([0.0])
            wp.launch(times, dim=1, inputs=[x, x, out])
    tape.backward(out)


def backward_of_a_tape_from_outside():
    x, out, tape = leaf([1.0]), leaf([0.0]), wp.Tape()
    with tape:
        wp.launch(times, dim=1, inputs=[x, x, out])
    with wp.ScopedCapture():
        tape.backward(out)


def recording_goes_on_in_a_capture():
    x, out, tape = leaf([1.0]), leaf([0.0]), wp.Tape()
    with tape:
        wp.launch(times, dim=1, inputs=[x, x, out])
    with wp.ScopedCapture(), tape:
        pass


def a_condition_is_recorded():
    with wp.ScopedCapture(), wp.Tape():
        wp.capture_if(wp.ones(1, dtype=int), lambda: None)


def a_graph_is_recorded():
    with wp.ScopedCapture() as inner:
        pass
    with wp.ScopedCapture(), wp.Tape():
        wp.capture_launch(inner.graph)


def the_capture_ends_before_the_tape():
    wp.capture_begin()
    with wp.Tape():
        wp.capture_end()


def a_recorded_launch_is_made():
    x = leaf([1.0])
    command = wp.launch(cube, dim=1, inputs=[x], record_cmd=True)
    with wp.ScopedCapture(), wp.Tape():
        command.launch()


def steps_are_checkpointed():
    x = leaf([1.0])
    with wp.ScopedCapture(), wp.Tape():
        wp.checkpointed(lambda i: wp.launch(cube, dim=1, inputs=[x]), 4, state=[x])


def backward_in_a_condition():
    x, out, tape = leaf([1.0]), leaf([0.0]), wp.Tape()
    with wp.ScopedCapture():
        with tape:
            wp.launch(times, dim=1, inputs=[x, x, out])
        wp.capture_if(wp.ones(1, dtype=int), lambda: tape.backward(out))


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (backward_elsewhere, "recorded while a graph was captured, and cannot go backwards elsewhere"),
        (backward_of_a_tape_from_outside, "recorded outside of this capture, and cannot go backwards elsewhere"),
        (recording_goes_on_in_a_capture, "recorded outside of this capture"),
        (a_condition_is_recorded, "cannot know which branch a condition"),
        (a_graph_is_recorded, "a tape cannot record the operations of a graph"),
        (the_capture_ends_before_the_tape, "a tape that began in this capture is still recording"),
        (a_recorded_launch_is_made, "kernel `cube`: a tape cannot record recorded launches"),
        (steps_are_checkpointed, "wp.checkpointed on a tape while a graph is captured"),
        (backward_in_a_condition, "cannot go backwards elsewhere"),
        (lambda: _jvp_in_a_capture(), "wp.jvp while a graph is captured"),
    ],
)
def test_mistakes(mistake, message):
    with pytest.raises(RuntimeError, match=message):
        mistake()
    x = wp.zeros(1, dtype=float)
    x.fill_(2.0)
    assert x.list() == [2.0]


def _jvp_in_a_capture():
    x = leaf([1.0])
    with wp.ScopedCapture():
        wp.jvp(lambda a: 2.0 * a, (x,), (x,))


@wp.kernel
def distances(meshes: wp.array[wp.uint64], points: wp.array[wp.vec3], out: wp.array[float]):
    i = wp.tid()
    found = wp.mesh_query_point_no_sign(meshes[0], points[i], 10.0)
    nearest = wp.mesh_eval_position(meshes[0], found.face, found.u, found.v)
    out[i] = wp.length_sq(points[i] - nearest)


def above_a_triangle():
    corners = wp.array([[-9.0, -9.0, 0.0], [9.0, -9.0, 0.0], [0.0, 9.0, 0.0]], dtype=wp.vec3)
    mesh = wp.Mesh(corners, wp.array([0, 1, 2], dtype=int))
    points = wp.array([[0.0, 0.0, 2.0], [1.0, 0.5, -3.0]], dtype=wp.vec3, requires_grad=True)
    ids = wp.array([mesh.id], dtype=wp.uint64)
    return mesh, ids, points, wp.zeros(2, dtype=float, requires_grad=True)


@pytest.mark.cpu
def test_a_captured_tape_finds_structures_by_ids_in_arrays():
    _mesh, ids, points, out = above_a_triangle()
    with wp.ScopedCapture() as capture, wp.Tape() as tape:
        wp.launch(distances, 2, [ids, points, out])
        tape.backward(grads={out: wp.ones(2, dtype=float)})
    for height in (2.0, 5.0):
        points.assign([[0.0, 0.0, height], [1.0, 0.5, -3.0]])
        tape.zero()
        wp.capture_launch(capture.graph)
        assert out.list() == [height**2, 9.0]
        np.testing.assert_allclose(points.grad.numpy(), [[0.0, 0.0, 2 * height], [0.0, 0.0, -6.0]], atol=1e-6)


@pytest.mark.cpu
def test_a_captured_change_of_a_structure_before_the_gradient_is_refused():
    mesh, ids, points, out = above_a_triangle()
    with pytest.raises(RuntimeError, match="changes a structure that the kernel looks up"), wp.ScopedCapture():
        with wp.Tape() as tape:
            wp.launch(distances, 2, [ids, points, out])
            mesh.refit()
        tape.backward(grads={out: wp.ones(2, dtype=float)})
