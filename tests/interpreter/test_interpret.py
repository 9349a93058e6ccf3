"""Interpreted kernels: the user's Python, thread by thread, with the kernel language's meaning, under a debugger."""

import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp

pytestmark = pytest.mark.cpu


def interpret(kernel, dim, *args):
    wp.launch(kernel, dim, list(args), interpret=True)


def scalar_result(kernel, dtype, *args):
    out = np.zeros(1, dtype)
    interpret(kernel, 1, out, *args)
    return out[0]


@wp.func
def twice(x: float):
    return 2.0 * x


@wp.func
def bump(v: wp.vec3):
    v[0] += 1.0
    return v


@wp.func
def scaled(x: float, by: float = 3.0):
    return x * by


@wp.func
def kind(x: int):
    return 1


@wp.func
def kind(x: float):  # noqa: F811
    return 2


@wp.kernel
def literals(out: wp.array(dtype=float)):
    s = 0.0
    s += 1 / 2 + 7 // 2 - 7 % -4
    out[0] = s


def test_literals_divide_as_integers():
    # C: 1/2 = 0, 7//2 = 3, 7 % -4 = 3
    assert scalar_result(literals, np.float32) == 0.0


@wp.kernel
def integers(out: wp.array(dtype=wp.int32), x: int, y: int):
    i = wp.tid()
    h = 2147483647
    h = h + x
    out[i] = h * 31 + x / y - x % y


def test_integers_wrap_and_truncate():
    for x, y in [(5, 3), (-5, 3), (7, -2), (123456789, 7)]:
        wrapped = np.int64(2147483647 + x) * 31
        exact = int(wrapped) + int(x / y) - int(np.fmod(x, y))
        assert scalar_result(integers, np.int32, x, y) == np.int64(exact).astype(np.int32)


@wp.kernel
def floats(out: wp.array(dtype=float), n: int):
    s = 0.0
    for i in range(n):
        s = s + 1.0 / float(i + 1)
    out[0] = twice(s)


def test_floats_round_to_their_own_width():
    s = np.float32(0)
    for i in range(20):
        s = s + np.float32(1) / np.float32(i + 1)
    assert scalar_result(floats, np.float32, 20) == np.float32(2) * s


@wp.kernel
def values(v: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat22)):
    i = wp.tid()
    a = v[i]
    b = a
    b[1] = 9.0
    c = bump(a)
    v[i] = a + c
    v[i].z = b[1]
    v[i][0] -= 0.5
    x, v[i].y = 1.0, b.y
    m[i][0, 1] = x
    m[i][1, 0] += 4.0


def test_vectors_are_values_and_nested_places_are_written():
    v = np.array([[1, 2, 3]], np.float32)
    m = np.ones((1, 2, 2), np.float32)
    interpret(values, 1, v, m)
    # a stays (1, 2, 3): b and the argument of bump are copies; c = (2, 2, 3)
    assert v.tolist() == [[2.5, 9.0, 9.0]]
    assert m.tolist() == [[[1.0, 1.0], [5.0, 1.0]]]


@wp.kernel
def indices(out: wp.array2d(dtype=int), flat: wp.array(dtype=int)):
    i, j = wp.tid()
    k = wp.tid()
    out[i, j] = 10 * i + j
    flat[k] = i
    row = out[i]
    row[j] = row[j] + 100 * row.shape[0]


def test_thread_indices_in_two_dimensions():
    out, flat = np.zeros((2, 3), np.int32), np.zeros(6, np.int32)
    interpret(indices, (2, 3), out, flat)
    assert out.tolist() == [[300, 301, 302], [310, 311, 312]]
    assert flat.tolist() == [0, 0, 0, 1, 1, 1]


def test_strided_numpy_arrays_are_used_in_place():
    base = np.zeros((4, 6), np.int32)
    interpret(indices, (2, 3), base[::2, ::2], np.zeros(6, np.int32))
    assert base[::2, ::2].tolist() == [[300, 301, 302], [310, 311, 312]]
    assert base[1::2].sum() == 0


@wp.kernel
def atomics(total: wp.array(dtype=int), top: wp.array(dtype=float), seen: wp.array(dtype=int)):
    i = wp.tid()
    seen[i] = wp.atomic_add(total, 0, i)
    wp.atomic_max(top, 0, float(i))
    wp.atomic_min(top, 1, -float(i))


def test_atomics_return_what_was_there():
    total, top, seen = np.zeros(1, np.int32), np.zeros(2, np.float32), np.zeros(5, np.int32)
    interpret(atomics, 5, total, top, seen)
    assert total[0] == 10
    assert top.tolist() == [4.0, -4.0]
    assert seen.tolist() == [0, 0, 1, 3, 6]


@wp.kernel
def overloads(out: wp.array(dtype=int), x: float, i: int):
    out[0] = kind(x)
    out[1] = kind(i)
    out[2] = int(scaled(x)) + int(scaled(x, by=10.0))


def test_functions_overloads_and_defaults():
    out = np.zeros(3, np.int32)
    interpret(overloads, 1, out, 2.0, 1)
    assert out.tolist() == [2, 1, 26]


@wp.func
def sum_of(f: Callable, numbers: wp.array(dtype=Any)):
    total = numbers.dtype(0)
    for x in numbers:
        total += f(x)
    return total


@wp.kernel
def functions_as_arguments(out: wp.array(dtype=float)):
    own = wp.zeros(2, dtype=int)
    own[1] = 5
    out[0] = sum_of(twice, out) + float(sum_of(lambda x: x / 2, own))


def test_generic_functions_take_functions():
    out = np.array([1.0, 2.0], np.float32)
    interpret(functions_as_arguments, 1, out)
    assert out.tolist() == [8.0, 2.0]


@wp.struct
class Body:
    mass: float
    position: wp.vec3


@wp.kernel
def structs(bodies: wp.array(dtype=Body), extra: Body):
    i = wp.tid()
    b = bodies[i]
    b.mass += extra.mass
    b.position.x = 7.0
    bodies[i] = b
    bodies[i].position[2] = b.mass


def test_structs_are_copied_and_written_in_place():
    extra = Body()
    extra.mass = 2.5
    bodies = wp.zeros(2, dtype=Body)
    interpret(structs, 2, bodies, extra)
    assert bodies.numpy()["mass"].tolist() == [2.5, 2.5]
    assert bodies.numpy()["position"].tolist() == [[7.0, 0.0, 2.5]] * 2
    assert extra.position[0] == 0.0


@wp.kernel
def python_flow(out: wp.array(dtype=int)):
    total = 0
    for i in range(10):
        if i == 2:
            continue
        if i == 6:
            break
        total += i
    else:
        total = -1
    n = 3
    while n > 0:
        n -= 1
        total += 100
    for k, v in enumerate((5, 6)):
        total += k * v
    out[0] = total if 0 < total < 1000 else 0


def test_control_flow_is_pythons_own():
    out = np.zeros(1, np.int32)
    interpret(python_flow, 1, out)
    assert out[0] == 0 + 1 + 3 + 4 + 5 + 300 + 6


@wp.kernel
def out_of_range(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i + 3] = 1.0


def test_an_index_out_of_range_is_an_error_at_the_users_line():
    with pytest.raises(IndexError, match=r"index \(4\) is out of range for an array of shape \(4,\)") as caught:
        interpret(out_of_range, 4, np.zeros(4, np.float32))
    lines = [entry for entry in caught.traceback if str(entry.path) == __file__]
    assert str(lines[-1].statement).strip() == "a[i + 3] = 1.0"


def test_arguments_are_checked():
    with pytest.raises(TypeError, match=r"takes 1 argument \(a\), but inputs and outputs give 2; write inputs=\[a\]$"):
        interpret(out_of_range, 1, np.zeros(4, np.float32), 2)
    with pytest.raises(TypeError, match="argument `a`"):
        interpret(out_of_range, 1, np.zeros((4, 2), np.float32))
    with pytest.raises(ValueError, match="not between 0 and"):
        interpret(out_of_range, -1, np.zeros(4, np.float32))
    interpret(out_of_range, 0, np.zeros(4, np.float32))


def test_the_mode_option_interprets_every_launch(monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "interpret")
    out = np.zeros(1, np.int32)
    wp.launch(python_flow, 1, [out])
    assert out[0] == 319


def test_pdb_stops_on_the_users_line(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        textwrap.dedent(
            """\
            import numpy as np
            import omni.warp_core as wp

            @wp.func
            def square(x: float):
                y = x * x
                return y

            @wp.kernel
            def k(a: wp.array(dtype=float)):
                i = wp.tid()
                v = wp.vec3(1.0, 2.0, 3.0)
                a[i] = square(a[i]) + v.x

            a = np.array([1, 2, 3], np.float32)
            wp.launch(k, 3, [a], interpret=True)
            print("result", a.tolist())
            """
        )
    )
    commands = [f"b {script}:13", "c", "p 'thread', i", "p v", "c", "p 'thread', i", f"b {script}:7", "c", "p y", "w"]
    commands += ["cl 1 2", "c", "q"]
    run = subprocess.run(
        [sys.executable, "-m", "pdb", str(script)],
        input="\n".join(commands) + "\n",
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "('thread', int32(0))" in run.stdout
    assert "('thread', int32(1))" in run.stdout
    assert "vec3f([" in run.stdout
    assert "float32(4.0)" in run.stdout  # y of thread 1
    assert f"> {script}(7)square()" in run.stdout
    assert "-> return y" in run.stdout
    assert f"{script}(13)k()" in run.stdout  # the kernel is below it on the stack
    assert "result [2.0, 5.0, 10.0]" in run.stdout


@wp.kernel
def swarm(
    x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), hits: wp.array(dtype=int), n: int, seed: int, dt: float
):
    i = wp.tid()
    p = x[i]
    f = wp.vec3()
    h = i * 747796405 + seed
    for j in range(n):
        d = x[j] - p
        r = wp.dot(d, d) + 0.01
        if r > 4.0:
            continue
        f += d / (wp.sqrt(r) * r)
        h = (h ^ (h >> 7)) * 31 + j
        wp.atomic_add(hits, j, 1 if h % 3 == 0 else 2)
    q = v[i] + f * dt
    v[i] = q
    if wp.length(q) > 1.0:
        v[i] = wp.normalize(q)


@pytest.mark.filterwarnings("ignore::omni.warp_core.KernelWarning")
def test_results_agree_with_compiled_code():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(12, 3)).astype(np.float32)
    v = rng.normal(size=(12, 3)).astype(np.float32)
    compiled, interpreted = [(x.copy(), v.copy(), np.zeros(12, np.int32)) for _ in range(2)]
    wp.launch(swarm, 12, [*compiled, 12, 1234567, 0.1])
    interpret(swarm, 12, *interpreted, 12, 1234567, 0.1)
    assert np.array_equal(compiled[2], interpreted[2])  # integers: bit for bit
    assert compiled[1] == pytest.approx(interpreted[1], rel=2e-6, abs=2e-6)


@wp.kernel
def stores(a: wp.array(dtype=float), v: wp.array(dtype=wp.vec3), m: wp.array2d(dtype=float)):
    i = wp.tid()
    wp.store(a[i], 3)
    wp.store(v[i].y, 2.0)
    wp.store(m[i, 0], wp.load(a[i]) + 1.0)
    wp.store(wp.address(m, i, 1), 5.0)
    wp.store(v[i], wp.vec3(1.0, wp.load(v[i].y), 3.0))
    wp.store(v[i][0], 7.0)


@wp.func
def add_to(x: wp.ref[float], by: float):
    x += by
    return x


@wp.func
def apply_twice(f: Callable, x: wp.ref[float]):
    first = f(x, 2.0)
    return f(by=first, x=x)


@wp.kernel
def passed_references(a: wp.array(dtype=float), v: wp.array(dtype=wp.vec3)):
    a[1] = apply_twice(add_to, a[0])
    z = 5.0
    a[2] = apply_twice(add_to, z)
    a[3] = z
    a[4] = apply_twice(add_to, v[0].y)
    a[5] = apply_twice(lambda x, by: x + by, z) + z


@wp.func
def whole_on_one_path(a: wp.float64, c: int):
    if c > 1:
        r = a
    else:
        r = 1
    return r / 2


@wp.func
def restarted(a: wp.ref[float], b: Any):
    a = 3
    b = 1
    return a / 2.0 + wp.float32(b / 2)


@wp.kernel
def local_literals(x: wp.array(dtype=float), d: wp.array(dtype=wp.float64), p: float):
    y = 0.0
    y = 1
    x[0] = y / 2.0
    a, b = 0.0, x[1]
    a, b = 1, 2
    x[1] = a / 4.0 + b / 8.0
    a = b = 3
    x[2] = a / 2.0 + b / 4.0
    if x[2] > 0.0:
        z = x[0]
    else:
        z = 1
    for i in range(3):
        z = z / 2.0
        if i == 1:
            z = 1 + 2
    x[3] = z / 2.0
    p = 5
    x[4] = p / 2.0
    d[0] = whole_on_one_path(d[1], 2) + whole_on_one_path(d[2], 1)
    q = 1.0
    if (q := 3) > 2.0:
        x[5] = q / 2.0
    w = wp.float16(0.5)
    w = 1
    w = 0.25
    x[6] = float(w) + restarted(x[7], d[1])
    u = 0.5
    x[8] = restarted(u, 0.5) + u / 2.0


@pytest.mark.parametrize(
    ("kernel", "dim", "make"),
    [
        (integers, 1, lambda: [np.zeros(1, np.int32), -1234567, 89]),
        (floats, 1, lambda: [np.zeros(1, np.float32), 33]),
        (values, 1, lambda: [np.array([[1, 2, 3]], np.float32), np.ones((1, 2, 2), np.float32)]),
        (indices, (2, 3), lambda: [np.zeros((2, 3), np.int32), np.zeros(6, np.int32)]),
        (atomics, 1, lambda: [np.zeros(1, np.int32), np.zeros(2, np.float32), np.zeros(5, np.int32)]),
        (overloads, 1, lambda: [np.zeros(3, np.int32), 2.25, -4]),
        (functions_as_arguments, 1, lambda: [np.array([1.0, 2.0], np.float32)]),
        (python_flow, 1, lambda: [np.zeros(1, np.int32)]),
        (literals, 1, lambda: [np.zeros(1, np.float32)]),
        (stores, 2, lambda: [np.zeros(2, np.float32), np.zeros((2, 3), np.float32), np.zeros((2, 2), np.float32)]),
        (passed_references, 1, lambda: [np.zeros(6, np.float32), np.ones((1, 3), np.float32)]),
        (local_literals, 1, lambda: [np.zeros(9, np.float32), np.arange(3.0), 1.0]),
    ],
    ids=lambda x: getattr(x, "name", None),
)
@pytest.mark.filterwarnings("ignore::omni.warp_core.KernelWarning")
def test_every_kernel_here_agrees_with_compiled_code(kernel, dim, make):
    compiled, interpreted = make(), make()
    wp.launch(kernel, dim, compiled)
    interpret(kernel, dim, *interpreted)
    for a, b in zip(compiled, interpreted):
        assert np.array_equal(a, b)
