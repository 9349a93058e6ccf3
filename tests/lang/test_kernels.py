"""Kernels on arrays, structs and threads: their IR runs in the interpreter and is held against NumPy or plain sums."""

import typing

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.verifier import verify
from omni.warp_core.lang.types import F32, I32, Mat, Vec

VEC3 = Vec(3, F32)


def run(kernel, dim, *args):
    """Run a kernel in the interpreter; returns what it printed."""
    fn = lower_kernel(kernel)
    verify(fn)
    return interp.run_kernel(fn, args, dim)


def floats(values, shape=None):
    """An array of float32 for the interpreter."""
    data = [float(np.float32(v)) for v in np.ravel(values)]
    return interp.MemArray(F32, shape or (len(data),), data)


def codes(kernel):
    """Every operation of a kernel: (code, attribute)."""
    return [(op.code, op.attr) for op in lower_kernel(kernel).body.walk()]


def test_saxpy():
    @wp.kernel
    def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
        i = wp.tid()
        y[i] = a * x[i] + y[i]

    x, y = np.arange(5, dtype=np.float32), np.ones(5, np.float32)
    out = floats(y)
    run(saxpy, 5, floats(x), out, 2.0)
    assert out.values() == (2 * x + y).tolist()


def test_thread_indices():
    @wp.kernel
    def grid(out: wp.array3d(dtype=int)):
        i, j, k = wp.tid()
        out[i, j, k] = i * 100 + j * 10 + k

    @wp.kernel
    def flat(out: wp.array(dtype=int)):
        i = wp.tid()
        out[i] = i

    out = interp.MemArray(I32, (2, 3, 4))
    run(grid, (2, 3, 4), out)
    assert out.values() == [i * 100 + j * 10 + k for i in range(2) for j in range(3) for k in range(4)]
    out = interp.MemArray(I32, (6,))
    run(flat, (2, 3), out)
    assert out.values() == list(range(6))


def test_fewer_indices_take_a_view():
    @wp.func
    def total(row: wp.array(dtype=float)):
        s = 0.0
        for x in row:
            s += x
        return s

    @wp.kernel
    def sums(m: wp.array2d(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        row = m[i]
        out[i] = total(row) + m[i][0] + float(row.shape[0]) + float(len(m))

    m = np.arange(6, dtype=np.float32).reshape(2, 3)
    out = floats(np.zeros(2))
    run(sums, 2, floats(m, (2, 3)), out)
    assert out.values() == (m.sum(axis=1) + m[:, 0] + 3 + 2).tolist()


def test_two_subscripts_are_one_load():
    @wp.kernel
    def k(m: wp.array2d(dtype=float), out: wp.array(dtype=float)):
        out[0] = m[1][2]

    found = [op for op in lower_kernel(k).body.walk() if op.code == "load"]
    assert [len(op.args) for op in found] == [3]


def test_constant_negative_index_counts_from_the_end():
    @wp.kernel
    def k(x: wp.array(dtype=float), v: wp.vec3):
        x[0] = x[-1] + v[-3]

    x = floats([0, 5, 7])
    run(k, 1, x, (10.0, 20.0, 30.0))
    assert x.values() == [17.0, 5.0, 7.0]


def test_component_stores_touch_nothing_else():
    @wp.kernel
    def k(p: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat22), n: int):
        p[0].y = 5.0
        p[0][2] = 6.0
        p[1][n] = 7.0
        m[0][1, 0] = 8.0
        m[0][0] = wp.vec2(1.0, 2.0)
        m[0][n - 1, n] = 3.0

    p = interp.MemArray(VEC3, (2,))
    m = interp.MemArray(Mat(2, 2, F32), (1,))
    run(k, 1, p, m, 1)
    assert p.values() == [(0.0, 5.0, 6.0), (0.0, 7.0, 0.0)]
    assert m.values() == [(1.0, 3.0, 8.0, 0.0)]
    assert not [c for c, _ in codes(k) if c in ("load", "insert")]
    assert ("store", (1,)) in codes(k) and ("store", (-1,)) in codes(k)


@wp.struct
class Particle:
    """A struct with a nested vector."""

    position: wp.vec3
    mass: float
    count: int


@wp.struct
class Cloud:
    """A struct with arrays."""

    particles: wp.array(dtype=Particle)
    scale: float


def test_struct_fields_of_array_elements():
    @wp.kernel
    def k(ps: wp.array(dtype=Particle)):
        i = wp.tid()
        ps[i].mass = 2.0
        ps[i].position.z = ps[i].mass + 1.0
        ps[i].count += 3
        ps[i].position[0] *= 4.0

    ps = interp.MemArray(lower_kernel(k).params[0].type.dtype, (2,), [((1.0, 2.0, 3.0), 0.0, 1)] * 2)
    run(k, 2, ps)
    assert ps.values() == [((4.0, 2.0, 3.0), 2.0, 4)] * 2
    assert all(len(attr) > 0 for code, attr in codes(k) if code in ("load", "store"))


def test_local_structs_are_values():
    @wp.kernel
    def k(out: wp.array(dtype=float), n: int):
        p = Particle()
        p.mass = 3.0
        q = p
        q.mass = 4.0
        q.position.x = 7.0
        for j in range(n):
            q.position[1] += 1.0
            q.count = q.count + j
        r = Particle(wp.vec3(1.0, 2.0, 3.0), mass=5.0)
        out[0] = p.mass
        out[1] = q.mass
        out[2] = q.position.x + q.position.y
        out[3] = float(q.count)
        out[4] = r.position[2] + r.mass + float(r.count)

    out = floats(np.zeros(5))
    run(k, 1, out, 4)
    assert out.values() == [3.0, 4.0, 11.0, 6.0, 8.0]


def test_arrays_inside_structs_do_not_become_loop_variables():
    @wp.kernel
    def k(cloud: Cloud, n: int):
        for i in range(n):
            cloud.particles[i].mass = cloud.scale
            if i > 1:
                cloud.particles[i].count = i

    fn = lower_kernel(k)
    verify(fn)
    assert [len(op.args) for op in fn.body.walk() if op.code == "for"] == [3]
    dtype = fn.params[0].type.fields[0][1].dtype
    ps = interp.MemArray(dtype, (3,))
    interp.run_kernel(fn, [(ps, 2.5), 3], 1)
    assert [(p[1], p[2]) for p in ps.values()] == [(2.5, 0), (2.5, 0), (2.5, 2)]


def test_atomics_return_the_old_value():
    @wp.kernel
    def k(counter: wp.array(dtype=int), old: wp.array(dtype=int), x: wp.array(dtype=float)):
        i = wp.tid()
        old[i] = wp.atomic_add(counter, 0, 1)
        wp.atomic_max(counter, 1, i)
        wp.atomic_min(counter, 2, i)
        wp.atomic_sub(x, 0, 0.5)
        counter[3] += 2
        counter[4] |= i

    counter, old, x = interp.MemArray(I32, (5,), [0, -9, 9, 0, 0]), interp.MemArray(I32, (4,)), floats([10])
    run(k, 4, counter, old, x)
    assert counter.values() == [4, 3, 0, 8, 3]
    assert sorted(old.values()) == [0, 1, 2, 3]
    assert x.values() == [8.0]
    kinds = [attr[0] for code, attr in codes(k) if code == "atomic"]
    assert kinds == ["add", "max", "min", "sub", "add", "or"]


def test_rows_and_parts_of_elements_are_added_to_atomically():
    @wp.kernel
    def k(m: wp.array(dtype=wp.mat22), t: wp.array(dtype=wp.transform)):
        i = wp.tid()
        m[0][i % 2] += wp.vec2(1.0, 2.0)
        m[1][:, 1] -= wp.vec2(1.0, 2.0)
        t[0].p += wp.vec3(1.0, 2.0, 3.0)
        t[0].q -= wp.quat(0.0, 0.0, 0.0, 1.0)

    m, t = wp.zeros(2, dtype=wp.mat22), wp.zeros(1, dtype=wp.transform)
    wp.launch(k, dim=1000, inputs=[m, t])
    assert m.numpy().tolist() == [[[500, 1000], [500, 1000]], [[0, -1000], [0, -2000]]]
    assert t.numpy().tolist() == [[1000, 2000, 3000, 0, 0, 0, -1000]]


NUMBERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64"


@pytest.mark.parametrize("name", NUMBERS.split())
def test_numbers_of_all_types_are_added_to_atomically(name):
    t = getattr(wp, name)

    @wp.kernel
    def k(a: wp.array(dtype=t), b: wp.array(dtype=t)):
        i = wp.tid()
        a[i % 3] += t(1)
        b[i % 3] -= t(1)

    a, b = wp.zeros(3, dtype=t), wp.full(3, 100, dtype=t)
    wp.launch(k, dim=90, inputs=[a, b])
    assert a.list() == [30] * 3
    assert b.list() == [70] * 3


def test_other_augmented_stores():
    @wp.kernel
    def k(a: wp.array(dtype=float), b: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        a[i] *= a[i]
        a[i] /= 2
        b[i] *= 3.0
        b[i] += wp.vec3(1.0, 0.0, 0.0)

    a, b = floats([3]), interp.MemArray(VEC3, (1,), [(1.0, 2.0, 3.0)])
    run(k, 1, a, b)
    assert a.values() == [4.5]
    assert b.values() == [(4.0, 6.0, 9.0)]


def test_load_and_store_by_name():
    @wp.kernel
    def k(m: wp.array2d(dtype=float)):
        i, j = wp.tid()
        wp.store(m, i, j, wp.load(m, i, j) + 1)

    m = floats(np.zeros(4), (2, 2))
    run(k, (2, 2), m)
    assert m.values() == [1.0] * 4


def test_functions_are_shared_per_argument_types():
    @wp.func
    def double(x: typing.Any):
        return x + x

    @wp.kernel
    def k(out: wp.array(dtype=float), n: int):
        out[0] = double(1.5) + double(2.5)
        out[1] = float(double(n)) + double(wp.vec3(1.0, 2.0, 3.0))[2]

    out = floats(np.zeros(2))
    run(k, 1, out, 4)
    assert out.values() == [8.0, 14.0]
    callees = {id(op.attr) for op in lower_kernel(k).body.walk() if op.code == "call"}
    assert len(callees) == 3


def test_overloads_and_defaults():
    @wp.func
    def f(x: float, scale: float = 2.0):
        return x * scale

    @wp.func
    def f(x: int):  # noqa: F811
        return x + 100

    @wp.kernel
    def k(out: wp.array(dtype=float)):
        out[0] = f(1.5)
        out[1] = f(1.5, scale=4.0)
        out[2] = float(f(1))

    out = floats(np.zeros(3))
    run(k, 1, out)
    assert out.values() == [3.0, 6.0, 101.0]


def test_functions_and_strings_as_arguments():
    @wp.func
    def square(x: float):
        return x * x

    @wp.func
    def apply(f: typing.Callable, x: float, mode: str = "once"):
        if mode == "twice":
            return f(f(x))
        return f(x)

    @wp.kernel
    def k(out: wp.array(dtype=float)):
        out[0] = apply(square, 3.0)
        out[1] = apply(square, 3.0, "twice")
        out[2] = apply(lambda x: x + 1.0, 3.0, mode="twice")

    out = floats(np.zeros(3))
    run(k, 1, out)
    assert out.values() == [9.0, 81.0, 5.0]


def test_captured_vectors_and_typed_scalars():
    gravity, tiny, big = wp.vec3(0.0, -9.75, 0.0), wp.float64(0.1), np.int64(1 << 40)

    @wp.kernel
    def k(out: wp.array(dtype=wp.float64), n: wp.array(dtype=wp.int64)):
        out[0] = wp.float64(gravity[1]) + tiny
        n[0] = big + 1

    fn = lower_kernel(k)
    out = interp.MemArray(fn.params[0].type.dtype, (1,))
    n = interp.MemArray(fn.params[1].type.dtype, (1,))
    interp.run_kernel(fn, [out, n], 1)
    assert out.values() == [-9.75 + 0.1]
    assert n.values() == [(1 << 40) + 1]


def test_static_is_evaluated_by_python():
    table = {"a": 3}

    @wp.kernel
    def k(out: wp.array(dtype=float)):
        for i in range(3):
            out[i] = wp.static(float(table["a"] + i))

    out = floats(np.zeros(3))
    run(k, 1, out)
    assert out.values() == [3.0, 4.0, 5.0]


def test_constructors():
    @wp.kernel
    def k(out: wp.array(dtype=float)):
        a = wp.vec3()
        b = wp.vec3(2.0)
        c = wp.vec3(1, 2, 3)
        d = wp.vec3d(c)
        m = wp.mat22(1.0, 2.0, 3.0, 4.0)
        e = wp.matrix_from_cols(c, b)
        i = wp.identity(n=3, dtype=float)
        q = wp.quat(c, 4.0)
        t = wp.transform(c, q)
        v = wp.vector(1.0, 2.0, length=2)
        z = wp.matrix(shape=(2, 3), dtype=wp.float64)
        out[0] = a[0] + b[1] + c[2]
        out[1] = float(d[1])
        out[2] = m[1, 0] + m[0][1]
        out[3] = e[2, 0] + e[0, 1]
        out[4] = i[1, 1] + i[0, 1]
        out[5] = q.w + t.p[1] + t.q[3] + t[6]
        out[6] = v[1] + float(z[1, 2])

    out = floats(np.zeros(7))
    run(k, 1, out)
    assert out.values() == [5.0, 2.0, 5.0, 5.0, 1.0, 14.0, 2.0]


def test_vector_slices_and_rows():
    @wp.kernel
    def k(out: wp.array(dtype=float), n: int):
        v = wp.vector(1.0, 2.0, 3.0, 4.0, length=4)
        w = v[1:3]
        v[0:2] = wp.vec2(7.0, 8.0)
        m = wp.mat22(1.0, 2.0, 3.0, 4.0)
        m[1] = w
        m[n] += wp.vec2(10.0, 20.0)
        r = m[n]
        out[0] = w[0] * 10.0 + w[1]
        out[1] = v[0] * 10.0 + v[1]
        out[2] = m[1, 0] * 10.0 + m[1, 1]
        out[3] = r[1]

    out = floats(np.zeros(4))
    run(k, 1, out, 0)
    assert out.values() == [23.0, 78.0, 23.0, 22.0]


def test_products_come_from_the_library():
    @wp.kernel
    def k(m: wp.mat33, v: wp.vec3, out: wp.array(dtype=wp.vec3)):
        out[0] = m * v
        out[1] = (m @ m) * v
        out[2] = v * 2.0 - v / 2.0

    m, v = np.arange(9, dtype=np.float32).reshape(3, 3), np.array([1, 2, 3], np.float32)
    out = interp.MemArray(VEC3, (3,))
    run(k, 1, tuple(m.ravel().tolist()), tuple(v.tolist()), out)
    np.testing.assert_array_equal(np.array(out.values(), np.float32), [m @ v, m @ m @ v, v * 1.5])


def test_print_and_printf():
    @wp.kernel
    def k(x: float, n: int, v: wp.vec3):
        print("n is", n, "and", x)
        print(v, n > 0, sep=";", end="!\n")
        print(f"x={x}")
        wp.printf("%d %5.2f %%\n", n, x)

    assert "".join(run(k, 1, 1.5, -3, (1.0, 2.0, 3.0))).splitlines() == [
        "n is -3 and 1.5",
        "[1.0, 2.0, 3.0];False!",
        "x=1.5",
        "-3  1.50 %",
    ]


def test_assert_fails_with_its_message():
    @wp.kernel
    def k(n: int):
        assert n < 3, "n is too big"

    run(k, 1, 2)
    with pytest.raises(interp.Failure, match="n is too big"):
        run(k, 1, 3)


def test_short_circuit_guards_a_load():
    @wp.kernel
    def k(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
        i = wp.tid()
        if i + 1 < n and x[i + 1] > 0.0:
            out[i] = 1.0
        out[i] += x[i + 1] if i + 1 < n else -1.0

    out = floats(np.zeros(3))
    run(k, 3, floats([1, 2, 3]), out, 3)
    assert out.values() == [3.0, 4.0, -1.0]


def test_where_and_select():
    @wp.kernel
    def k(out: wp.array(dtype=float), n: int):
        out[0] = wp.where(n > 0, 1.0, 2.0)
        out[1] = wp.select(n > 0, 1.0, 2.0)
        out[2] = wp.where(n, 3, out[0])

    out = floats(np.zeros(3))
    run(k, 1, out, 5)
    assert out.values() == [1.0, 2.0, 3.0]


def test_every_operation_has_its_place():
    @wp.kernel
    def k(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] + 1.0

    (add,) = [op for op in lower_kernel(k).body.walk() if op.code == "add"]
    line = k.source.line(add.loc.line)
    assert line[add.loc.col : add.loc.end_col] == "x[i] + 1.0"
    assert add.loc.file == __file__


def test_arrays_may_be_none():
    @wp.kernel
    def k(x: wp.array(dtype=float), out: wp.array(dtype=int)):
        if x is None:
            out[0] = 1
        if x:
            out[0] = 2
        if x is not None and len(x) == 2:
            out[1] = 3

    out = interp.MemArray(I32, (2,))
    run(k, 1, interp.MemArray.null(F32, 1), out)
    assert out.values() == [1, 0]
    run(k, 1, floats([1, 2]), out)
    assert out.values() == [2, 3]


def test_swapped_elements():
    @wp.kernel
    def k(x: wp.array(dtype=float), i: int, j: int):
        x[i], x[j] = x[j], x[i]

    x = floats([1, 2, 3])
    run(k, 1, x, 0, 2)
    assert x.values() == [3.0, 2.0, 1.0]


def test_remainders_of_literals_are_those_of_values():
    @wp.kernel
    def k(out: wp.array(dtype=float), a: float, n: int):
        out[0] = -7.5 % 2.0
        out[1] = a % 2.0
        out[2] = float(-7 % 3) + float(7 % -3)
        out[3] = float(n % 3) + float(7 % (n + 4))

    out = floats(np.zeros(4))
    with pytest.warns(wp.KernelWarning):
        fn = lower_kernel(k)
    interp.run_kernel(fn, [out, -7.5, -7], 1)
    assert out.values()[0] == out.values()[1] == -1.5
    assert out.values()[2] == out.values()[3] == 0.0


def test_constant_locals_as_compile_time_arguments():
    @wp.func
    def table(values: typing.Callable, i: int):
        return values(i)

    @wp.func
    def length_of(t: typing.Any):
        return len(t)

    @wp.kernel
    def k(out: wp.array(dtype=int)):
        n = 3
        f = lambda i: i * n  # noqa: E731
        out[0] = table(f, 5) + length_of((1, n))

    out = interp.MemArray(I32, (1,))
    run(k, 1, out)
    assert out.values() == [17]


def test_threads_may_lower_at_once():
    from concurrent.futures import ThreadPoolExecutor

    @wp.kernel
    def k(x: wp.array(dtype=wp.vec4), m: wp.mat44):
        i = wp.tid()
        x[i] = m * wp.normalize(x[i]) * wp.sin(x[i][0])

    with ThreadPoolExecutor(8) as pool:
        for fn in pool.map(lower_kernel, [k] * 32):
            verify(fn)


@pytest.mark.parametrize(
    ("lanes", "error"), [*((n, ValueError) for n in (0, 3, 24, 33)), ("8", TypeError), (True, TypeError)]
)
def test_lanes_are_checked_where_they_are_given(lanes, error):
    with pytest.raises(error, match="lanes: expected"):
        wp.kernel(lanes=lanes)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"launch_bounds": 0}, ValueError, "launch_bounds: expected 1 to 1024, got 0"),
        ({"launch_bounds": (64, 2, 1)}, TypeError, "launch_bounds: expected the threads of a block, or a pair"),
        ({"launch_bounds": "64"}, TypeError, "launch_bounds: expected the threads of a block, or a pair"),
        ({"launch_bounds": (64, 2.0)}, TypeError, r"launch_bounds: expected an integer, got 2\.0"),
        ({"launch_bounds": (None, 2)}, TypeError, "launch_bounds: expected an integer, got None"),
        ({"module_options": 5}, TypeError, "module_options: expected a dict of options, got 5"),
        ({"module_options": {"mods": 5}}, ValueError, "modules have no option 'mods'; did you mean 'mode'"),
        ({"module_options": {"cuda_output": "exe"}}, ValueError, "cuda_output = 'exe': it must be one of None, 'ptx'"),
        ({"cuda_max_registers": 8}, ValueError, "cuda_max_registers: expected 16 to 255, got 8"),
        ({"launch_bound": 64}, TypeError, "no option 'launch_bound'; did you mean 'launch_bounds'"),
    ],
)
def test_options_for_gpus_are_checked_where_they_are_given(options, error, text):
    with pytest.raises(error, match=text):
        wp.kernel(**options)


@pytest.mark.parametrize("mode", ["release", "debug", "interpret"])
@pytest.mark.parametrize("room", [0, 1, 3])
def test_a_condition_keeps_indices_of_components_in_range(room, mode, monkeypatch):
    """A vector of `room` components, which may be none, takes the first numbers; the others are counted."""
    monkeypatch.setattr(wp.config, "mode", mode)

    @wp.kernel
    def k(x: wp.array(dtype=int), out: wp.array(dtype=int)):
        first = wp.vector(length=wp.static(room), dtype=wp.int32)
        n = 0
        for j in range(x.shape[0]):
            if n < wp.static(room):
                first[n] = x[j]
                n += 1
            else:
                out[0] += 1
        for j in range(n):
            out[1 + j] = first[j]

    out = wp.zeros(4, dtype=int)
    wp.launch(k, dim=1, inputs=[wp.array([7, 8, 9, 10], dtype=int), out])
    assert out.list() == [4 - room, *[7, 8, 9][:room], *[0] * (3 - room)]
