"""Launches: dimensions, arguments, errors, recorded launches, variants, caching, threads."""

import doctest
import gc
import inspect
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import compiler
from omni.warp_core.launches import kernel_cache, plans


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path / "cache"))


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def flat(out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = i


@wp.kernel
def pairs(out: wp.array2d(dtype=int)):
    i, j = wp.tid()
    out[i, j] = 10 * i + j


@wp.kernel
def first(out: wp.array(dtype=float), v: wp.vec3, m: wp.mat22, flag: bool, big: wp.int64):
    s = v[0] + 10.0 * v[2] + m[0, 1]
    if flag:
        s = s + float(big)
    out[0] = s


@wp.struct
class Params:
    scale: float
    offset: wp.vec3
    data: wp.array(dtype=float)


@wp.kernel
def with_struct(p: Params, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = p.scale * p.data[i] + p.offset[1]


def run_saxpy(n=1000, **options):
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    wp.launch(saxpy, dim=n, inputs=[x, y, 2.0], **options)
    assert np.array_equal(y, 2 * x + 1)


# -- dimensions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [6, np.int64(6), [6], (6,), (2, 3), [1, 2, 3], (1, 2, 1, 3)])
def test_one_index_counts_all_threads(dim):
    out = np.full(8, -1, np.int32)
    wp.launch(flat, dim=dim, inputs=[out])
    assert out.tolist() == [0, 1, 2, 3, 4, 5, -1, -1]


def test_two_indices():
    out = np.zeros((3, 4), np.int32)
    wp.launch(pairs, dim=out.shape, inputs=[out])
    assert np.array_equal(out, 10 * np.arange(3)[:, None] + np.arange(4))


@pytest.mark.parametrize("dim", [0, (0,), (3, 0), (0, 0, 0)])
def test_an_empty_launch_runs_nothing(device, dim):
    wp.launch(flat, dim=dim, inputs=[wp.zeros(0, dtype=int)])


@pytest.mark.parametrize(
    ("kernel", "dim", "error", "message"),
    [
        (flat, -1, ValueError, "dimension -1 is not between 0 and 2147483647"),
        (flat, (2, -3), ValueError, "dimension -3 is not between"),
        (flat, 1 << 31, ValueError, "not between 0 and 2147483647"),
        (flat, 2.5, TypeError, "an integer or up to four of them, got float"),
        (flat, "3", TypeError, "an integer or up to four of them, got str"),
        (flat, (), ValueError, "1 to 4 dimensions, got 0"),
        (flat, (1,) * 5, ValueError, "1 to 4 dimensions, got 5"),
        (pairs, 5, ValueError, r"takes 2 thread indices from wp.tid\(\), but the launch has 1 dimension$"),
        (pairs, (5, 5, 5), ValueError, "but the launch has 3 dimensions"),
    ],
)
def test_wrong_dimensions(kernel, dim, error, message):
    out = np.zeros((5, 5) if kernel is pairs else 5, np.int32)
    with pytest.raises(error, match=message):
        wp.launch(kernel, dim=dim, inputs=[out])


@wp.kernel
def cells(out: wp.array3d(dtype=int)):
    i, j, k = wp.tid()
    out[i, j, k] = 100 * i + 10 * j + k


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("shape", [(500, 5, 1), (300, 7, 3), (3000, 1, 2), (40, 40, 40), (1, 1, 5000)])
def test_grids_with_a_short_last_dimension(device, shape, step):
    there = wp.full((*shape[:2], shape[2] * step), -1, dtype=int)
    wp.launch(cells, shape, [there[:, :, ::step]])
    base = there.numpy()
    i, j, k = np.indices(shape)
    assert np.array_equal(base[:, :, ::step], 100 * i + 10 * j + k)
    assert step == 1 or (base[:, :, 1::2] == -1).all()


@pytest.mark.cpu
def test_each_variant_is_compiled_when_it_is_needed(monkeypatch):
    monkeypatch.setattr(cells, "_plans", {})
    monkeypatch.setattr(cells, "_plan", None)
    monkeypatch.setattr(plans, "_loaded", weakref.WeakValueDictionary())
    calls = count_compiles(monkeypatch)
    for shape in [(2, 2, 2), (64, 64, 64), (5000, 3, 2), (2, 3, 4)]:
        wp.launch(cells, shape, [np.zeros(shape, np.int32)])
    assert [(c.inner_contiguous, c.flat) for c in calls] == [(True, False), (True, True)]
    wp.launch(cells, (2, 2, 2), [np.zeros((2, 2, 4), np.int32)[:, :, ::2]])
    assert [(c.inner_contiguous, c.flat) for c in calls[2:]] == [(False, False)]


# -- arguments ------------------------------------------------------------------------------------------------------


def test_arguments_of_every_kind():
    out = np.zeros(1, np.float32)
    m = np.array([[1, 2], [3, 4]], np.float32)
    for v in (wp.vec3(1.0, 2.0, 3.0), (1.0, 2.0, 3.0), np.array([1, 2, 3], np.float32)):
        wp.launch(first, 1, [out, v, m, True, 1 << 40])
        assert out[0] == np.float32(33) + np.float32(1 << 40)
        wp.launch(first, 1, [out, v, wp.mat22(1.0, 2.0, 3.0, 4.0), False, wp.int64(7)])
        assert out[0] == 33


def test_a_launch(device):
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    a, b = wp.array(x, dtype=float), wp.array(y, dtype=float)
    for _ in range(3):
        wp.launch(saxpy, dim=1000, inputs=[a, b, 2.0])
    np.testing.assert_array_equal(b.numpy(), 6.0 * x + 1.0)


def test_inputs_and_outputs_together_are_the_arguments():
    x, y = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    wp.launch(saxpy, 5, [x], [y, 3.0])
    wp.launch(saxpy, 5, inputs=(), outputs=(x, y, 3.0), device="cpu")
    assert np.array_equal(y, 6 * x)


def test_structs_with_arrays(device):
    p = Params()
    p.scale, p.offset, p.data = 2.0, wp.vec3(0.0, 5.0, 0.0), wp.array([1.0, 2.0, 3.0], dtype=float)
    out = wp.zeros(3, dtype=float)
    wp.launch(with_struct, 3, [p], [out])
    assert out.numpy().tolist() == [7.0, 9.0, 11.0]


def test_strided_arrays_are_used_in_place(device):
    base, x = wp.zeros((6, 4), dtype=float), np.arange(6, dtype=np.float32)
    wp.launch(saxpy, 6, [wp.array(x), base[:, 1], 2.0])
    assert np.array_equal(base.numpy()[:, 1], 2 * x)
    assert base.numpy()[:, [0, 2, 3]].sum() == 0
    backwards = wp.zeros(6, dtype=float)
    wp.launch(saxpy, 6, [wp.array(x)[::-1], backwards[::-1], 1.0])
    assert np.array_equal(backwards.numpy(), x)


@pytest.mark.cpu
def test_strided_numpy_arrays_are_used_in_place():
    base, x = np.zeros((6, 4), np.float32), np.arange(6, dtype=np.float32)
    wp.launch(saxpy, 6, [x, base[:, 1], 2.0])
    assert np.array_equal(base[:, 1], 2 * x)
    assert base[:, [0, 2, 3]].sum() == 0
    backwards = np.zeros(6, np.float32)
    wp.launch(saxpy, 6, [x[::-1], backwards[::-1], 1.0])
    assert np.array_equal(backwards, x)


def test_strided_arrays_in_structs_are_used_in_place():
    out, base = wp.zeros(3, dtype=float), np.arange(12, dtype=np.float32).reshape(3, 4)
    p = Params()
    p.scale, p.offset, p.data = 2.0, wp.vec3(0.0, 5.0, 0.0), wp.array(base, dtype=float, copy=False)[:, 1]
    wp.launch(with_struct, 3, [p], [out])
    assert out.numpy().tolist() == (2.0 * base[:, 1] + 5.0).tolist()


class Foreign:
    """An array of another library: memory behind the array interface or DLPack."""

    def __init__(self, data, protocol):
        self.data = data
        if protocol == "interface":
            self.__array_interface__ = data.__array_interface__
        else:
            self.__dlpack__, self.__dlpack_device__ = data.__dlpack__, data.__dlpack_device__


@pytest.mark.cpu
@pytest.mark.parametrize("protocol", ["interface", "dlpack"])
def test_memory_of_other_libraries_is_shared(protocol):
    x, y = np.arange(5, dtype=np.float32), np.ones(5, np.float32)
    wp.launch(saxpy, 5, [Foreign(x, protocol), Foreign(y, "interface"), 2.0])
    assert np.array_equal(y, 2 * x + 1)


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (
            [],
            TypeError,
            r"`saxpy` takes 3 arguments \(x, y, a\), but inputs and outputs give 0; the first missing one is `x`; "
            r"write inputs=\[x, y, a\]",
        ),
        ([np.zeros(5, np.float32)] * 4, TypeError, r"give 4; write inputs=\[x, y, a\]$"),
        (
            [wp.zeros((5, 2), dtype=float), None, 1.0],
            TypeError,
            r"argument `x` expects an array of float32 with 1 dimension, got an array of float32 with 2 dimensions; "
            r"declare the parameter with ndim=2, or pass all elements in a row, x\.reshape\(x\.size\)",
        ),
        (
            [np.zeros((5, 2, 3), np.float32), None, 1.0],
            TypeError,
            r"got data of float32 with shape \(5, 2, 3\); declare the parameter with ndim=3",
        ),
        ([np.zeros(5), np.zeros(5, np.float32), 1.0], TypeError, "argument `x` expects an array of float32 .*float64"),
        ([np.zeros((5, 1), np.float32), None, 1.0], TypeError, "argument `x` expects an array .* with 1 dimension"),
        ([[1.0, 2.0], None, 1.0], TypeError, "argument `x` expects an array .*got list"),
        ([None, None, "a"], TypeError, "argument `a`"),
        ([None, None, None], TypeError, "argument `a`"),
    ],
)
def test_wrong_arguments(args, error, message):
    with pytest.raises(error, match=message):
        wp.launch(saxpy, 0, args)


@pytest.mark.cpu
@pytest.mark.parametrize("given", [np.zeros(2), [1.0, 2.0], (1.0, 2.0), wp.zeros(2, dtype=wp.float64)])
def test_what_can_be_converted_is_told(given):
    with pytest.raises(TypeError, match=r"`x` expects .*; convert it: wp.array\(..., dtype=wp.float32\)"):
        wp.launch(saxpy, 2, [given, given, 1.0])
    converted = wp.array(given, dtype=wp.float32)
    wp.launch(saxpy, 2, [converted, converted, 1.0])


@pytest.mark.cpu
def test_no_conversion_is_told_that_would_not_help():
    for given in (np.zeros((2, 2), np.float32), np.zeros((2, 2)), wp.zeros(2, dtype=wp.vec3), "text", 3):
        with pytest.raises(TypeError, match="`x` expects") as caught:
            wp.launch(saxpy, 2, [given, given, 1.0])
        assert "convert" not in str(caught.value)


@wp.struct
class Body:
    mass: float
    places: wp.array2d(dtype=wp.vec3)


@wp.struct
class Scene:
    name: int
    body: Body


@wp.func
def first_of_row(places: wp.array2d(dtype=wp.vec3), i: int):
    row = places[i]
    return row[0]


@wp.kernel
def gather(scene: Scene, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = first_of_row(scene.body.places, i)


@pytest.mark.parametrize("record", [False, True])
def test_missing_arrays_that_every_thread_uses_are_refused(record):
    def launch(kernel, dim, args):
        command = wp.launch(kernel, dim, args, record_cmd=record)
        if record:
            command.launch()

    x, points = wp.ones(4, dtype=float), wp.zeros(4, dtype=wp.vec3)
    with pytest.raises(ValueError, match="kernel `saxpy`: `y` is None or empty, but every thread uses elements of it"):
        launch(saxpy, 4, [x, None, 1.0])
    with pytest.raises(ValueError, match=r"kernel `gather`: `scene.body.places` is None"):
        launch(gather, 4, [Scene(), points])
    launch(saxpy, 0, [None, None, 1.0])
    scene = Scene()
    scene.body.places = wp.ones((4, 1), dtype=wp.vec3)
    launch(gather, 4, [scene, points])
    assert points.list()[3] == wp.vec3(1.0)


@wp.kernel
def maybe(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float), use: bool):
    i = wp.tid()
    if y:
        x[i] = y[i]
    if use and z[i] > 0.0:
        x[i] += z[i]
    x[i] += y[i] if use else 1.0
    for j in range(y.shape[0]):
        x[i] += y[j]
    if not use:
        return
    x[i] = z[i]


def test_missing_arrays_that_threads_may_do_without():
    x = wp.zeros(4, dtype=float)
    wp.launch(maybe, 4, [x, None, None, False])
    assert x.list() == [1.0] * 4


@pytest.mark.cpu
def test_read_only_memory_is_refused_where_the_kernel_writes():
    x, y = np.arange(5, dtype=np.float32), np.ones(5, np.float32)
    x.flags.writeable = False
    wp.launch(saxpy, 5, [x, y, 2.0])
    assert np.array_equal(y, 2 * x + 1)
    y.flags.writeable = False
    with pytest.raises(ValueError, match="`y` is read-only but the kernel writes it"):
        wp.launch(saxpy, 5, [x, y, 2.0])


def test_what_is_no_kernel():
    with pytest.raises(TypeError, match=r"decorate it with @wp\.kernel"):
        wp.launch(run_saxpy, 3)
    with pytest.raises(TypeError, match=r"wp\.launch runs kernels, got 7"):
        wp.launch(7, 3)


@pytest.mark.cpu
def test_wrong_options():
    with pytest.raises(TypeError, match=r"wp\.launch\(\) got an unexpected keyword argument 'input'"):
        wp.launch(saxpy, dim=3, input=[])
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'dim'"):
        wp.launch(saxpy)
    with pytest.raises(TypeError, match=r"inputs must be a list or tuple, got ndarray; write inputs=\[x\]"):
        wp.launch(saxpy, 3, np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="is not a device"):
        run_saxpy(device="gpu")
    with pytest.raises(RuntimeError, match="not available"):
        run_saxpy(device="cuda:0")


@pytest.mark.cpu
def test_help_shows_the_signature():
    names = list(inspect.signature(wp.launch).parameters)
    assert names[:4] == ["kernel", "dim", "inputs", "outputs"]
    assert names[-1] == "serial"
    example = doctest.DocTestParser().get_doctest(wp.launch.__doc__, {"wp": wp, "np": np}, "launch", None, None)
    assert len(example.examples) >= 4
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0


def test_a_launch_from_the_seeds_takes_all_its_keywords():
    run_saxpy(
        device=wp.get_device("cpu"), stream=None, block_dim=128, max_blocks=0, record_tape=False, record_cmd=False
    )


# -- recorded launches ----------------------------------------------------------------------------------------------


def test_recorded_launches(device):
    x, y = wp.array(np.arange(8, dtype=np.float32)), wp.zeros(8, dtype=float)
    cmd = wp.launch(saxpy, dim=8, inputs=[x, y, 1.0], record_cmd=True)
    assert isinstance(cmd, wp.Launch)
    assert y.numpy().sum() == 0  # recording does not run
    cmd.launch()
    cmd.set_param_by_name("a", 2.0)
    cmd.set_dim(4)
    cmd.launch()
    assert np.array_equal(y.numpy(), x.numpy() * np.where(np.arange(8) < 4, 3, 1))
    other = wp.zeros(8, dtype=float)
    cmd.set_params([x, other, 5.0])
    cmd.set_param_at_index(2, 4.0)
    cmd.launch()
    assert other.numpy().tolist() == [0, 4, 8, 12, 0, 0, 0, 0]
    cmd.set_params_from_ctypes([x.__ctype__(), y.__ctype__(), 0.0])
    cmd.set_param_at_index_from_ctype(1, other.__ctype__())
    cmd.set_param_by_name_from_ctype("a", 1.0)
    cmd.launch()
    assert other.numpy().tolist() == [0, 5, 10, 15, 0, 0, 0, 0]
    with pytest.raises(ValueError, match="no parameter `b`"):
        cmd.set_param_by_name("b", 1.0)
    with pytest.raises(IndexError):
        cmd.set_param_at_index(3, 1.0)


@pytest.mark.cpu
def test_a_recorded_launch_keeps_its_arrays():
    y = np.zeros(1000, np.float32)
    cmd = wp.launch(saxpy, 1000, [wp.full(1000, 2.0, dtype=float), y, 3.0], record_cmd=True)
    gc.collect()
    cmd.launch()
    assert (y == 6).all()


# -- options --------------------------------------------------------------------------------------------------------


@pytest.mark.cpu
def test_print_launches(monkeypatch, capsys):
    run_saxpy()
    monkeypatch.setattr(wp.config, "print_launches", True)
    run_saxpy(7)
    monkeypatch.setattr(wp.config, "print_launches", False)
    run_saxpy()
    assert capsys.readouterr().err == "kernel: saxpy dim: 7 device: cpu\n"


@pytest.mark.cpu
def test_a_line_for_each_compiled_kernel(monkeypatch, capsys):
    monkeypatch.setattr(wp.config, "log_level", wp.LOG_INFO)
    make_kernel(17.0)
    launch_made(make_kernel(17.0))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("kernel `made`")
    assert "compiled in" in lines[0]


def make_kernel(factor, **options):
    @wp.kernel(**options)
    def made(out: wp.array(dtype=float)):
        i = wp.tid()
        out[i] = factor * float(i)

    return made


def launch_made(kernel, n=37):
    out = np.zeros(n, np.float32)
    wp.launch(kernel, n, [out])
    return out


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, None])
def test_lanes_do_not_change_results(lanes):
    assert np.array_equal(launch_made(make_kernel(3.0, lanes=lanes)), 3 * np.arange(37, dtype=np.float32))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_results(monkeypatch, threads):
    monkeypatch.setattr(wp.config, "num_threads", threads)
    run_saxpy(300_001)


# -- compiling and caching ------------------------------------------------------------------------------------------


def count_compiles(monkeypatch):
    calls = []
    compile = compiler.compile
    monkeypatch.setattr(plans, "compile", lambda request: calls.append(request) or compile(request))
    return calls


@pytest.mark.cpu
def test_each_content_is_compiled_once(monkeypatch):
    calls = count_compiles(monkeypatch)
    for factor in (21.0, 22.0, 21.0):
        assert launch_made(make_kernel(factor))[2] == 2 * factor
    assert len(calls) == 2


def test_a_cached_kernel_needs_no_compiler(monkeypatch):
    launch_made(make_kernel(5.0))
    gc.collect()
    monkeypatch.setattr(plans, "_loaded", weakref.WeakValueDictionary())
    calls = count_compiles(monkeypatch)
    assert launch_made(make_kernel(5.0))[3] == 15
    assert calls == []


@pytest.mark.cpu
def test_cached_code_that_does_not_load_is_compiled_again(monkeypatch):
    launch_made(make_kernel(7.0))
    load = kernel_cache.load
    monkeypatch.setattr(plans, "_loaded", weakref.WeakValueDictionary())
    monkeypatch.setattr(plans.kernel_cache, "load", lambda key: load(key)._replace(code=b"\x7fELF nonsense"))
    calls = count_compiles(monkeypatch)
    assert launch_made(make_kernel(7.0))[3] == 21
    assert len(calls) == 1


def test_a_kernel_with_an_error_leaves_the_others_alone():
    @wp.kernel
    def bad(x: wp.array(dtype=float)):
        x[0] = undefined_name  # noqa: F821

    for _ in range(2):
        with pytest.raises(wp.CompileError, match="undefined_name"):
            wp.launch(bad, 1, [np.zeros(1, np.float32)])
    run_saxpy()


@pytest.mark.cpu
def test_a_failure_of_the_compiler_names_a_dump(monkeypatch, tmp_path):
    def broken(*args):
        raise AssertionError("a broken pass")

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("omni.warp_core.codegen.cpu.cpu_kernel.emit_cpu", broken)
    with pytest.raises(wp.InternalError, match="a broken pass") as caught:
        launch_made(make_kernel(11.0))
    (dump,) = tmp_path.glob("omni-warp-core-made-*.txt")
    assert str(dump) in str(caught.value)
    text = dump.read_text()
    assert "out[i] = factor * float(i)" in text
    assert "a broken pass" in text
    assert "kernel @made" in text or "made" in text


@pytest.mark.cpu
def test_load_module_compiles_ahead(monkeypatch):
    monkeypatch.setattr(plans, "_loaded", weakref.WeakValueDictionary())
    kernels = (saxpy, flat, pairs, first, with_struct, cells, gather, maybe)
    for kernel in kernels:
        monkeypatch.setattr(kernel, "_plans", {})
    calls = count_compiles(monkeypatch)
    gc.collect()  # kernels of other tests
    wp.load_module(__name__)
    assert {c.kernel for c in calls} == set(kernels)
    wp.load_module(sys.modules[__name__])
    wp.force_load(modules=[sys.modules[__name__]])
    assert len(calls) == len(kernels)


def test_a_cached_kernel_runs_in_a_fresh_process_without_llvm(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import sys\n"
        "import numpy as np\n"
        "import omni.warp_core as wp\n"
        "@wp.kernel\n"
        "def k(x: wp.array(dtype=float)):\n"
        "    i = wp.tid()\n"
        "    x[i] = wp.sqrt(x[i])\n"
        "x = np.array([4, 9], np.float32)\n"
        "wp.launch(k, 2, [x])\n"
        "print(x.tolist(), 'llvmlite' in sys.modules, 'omni.warp_core.front.lower' in sys.modules)\n"
    )
    env = os.environ | {"OMNI_WARP_CACHE_DIR": str(tmp_path / "kernels")}
    outs = [
        subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert outs == ["[2.0, 3.0] True True\n", "[2.0, 3.0] False False\n"]


def test_many_python_threads_launch_at_once():
    kernels = [make_kernel(float(i)) for i in range(4)]
    wrong = []

    def work(seed):
        for i in range(30):
            k = (seed + i) % 4
            out = launch_made(kernels[k], 5000)
            if not np.array_equal(out, k * np.arange(5000, dtype=np.float32)):
                wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(s,)) for s in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


@pytest.mark.cpu
def test_kernels_and_their_code_are_freed():
    gc.collect()
    before = set(plans._loaded)
    kernel = make_kernel(123.0)
    launch_made(kernel)
    assert len(set(plans._loaded) - before) == 1
    gone = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert gone() is None
    assert set(plans._loaded) <= before


def test_kernels_in_functions_die_with_what_surrounds_them():
    class Big:
        """Stands for data of the function that the kernel is in."""

    def run():
        big = Big()

        @wp.func
        def square(x: "float"):  # a string is looked up among the names around it
            return x * x

        @wp.kernel
        def apply(x: wp.array(dtype=float)):
            i = wp.tid()
            x[i] = square(x[i])

        x = wp.array([3.0], dtype=float)
        wp.launch(apply, 1, inputs=[x])
        assert x.list() == [9.0]
        return weakref.ref(big)

    big = run()
    gc.collect()
    assert big() is None


def test_arguments_in_the_place_of_dim():
    @wp.kernel
    def fresh(x: wp.array(dtype=float)):
        x[wp.tid()] = 1.0

    x = wp.zeros(2, dtype=float)
    for _ in range(2):  # cold, and warm
        with pytest.raises(TypeError, match=r"dim is the number .* write wp\.launch\(fresh, dim=\.\.\., inputs="):
            wp.launch(fresh, [x])
        wp.launch(fresh, 2, [x])


@pytest.mark.cpu
def test_an_error_of_arguments_shows_the_line_of_the_program_alone():
    @wp.kernel
    def fresh(x: wp.array(dtype=float)):
        x[wp.tid()] = 1.0

    for _ in range(2):  # cold, and warm
        with pytest.raises(TypeError, match="dim is the number") as why:
            wp.launch(fresh, [wp.zeros(2)])
        assert [f.name for f in why.traceback] == ["test_an_error_of_arguments_shows_the_line_of_the_program_alone"]
        wp.launch(fresh, 2, [wp.zeros(2)])


@pytest.mark.cpu
def test_a_pointer_to_the_numbers_of_an_array():
    a = wp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=wp.vec3)
    numbers = a.cptr()
    assert numbers[4] == 5.0
    numbers[4] = 9.0
    assert a.numpy()[1, 1] == 9.0
    with pytest.raises(ValueError, match="contiguous"):
        wp.zeros((4, 4), dtype=float)[:, 1].cptr()


def test_two_structs_of_one_name():
    Particle = wp.struct(type("Particle", (), {"__annotations__": {"mass": float, "count": int}}))
    other = wp.struct(type("Particle", (), {"__annotations__": {"count": int, "mass": float}}))

    @wp.kernel
    def weigh(p: Particle, out: wp.array(dtype=float)):
        out[0] = p.mass

    with pytest.raises(
        TypeError, match=r"named Particle: its fields are \(count: .*kernel's \(mass: float32, count: int32\)"
    ):
        wp.launch(weigh, 1, inputs=[other(), wp.zeros(1)])
