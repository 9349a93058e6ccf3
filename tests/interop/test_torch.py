"""Tensors of PyTorch as arrays and arguments, arrays as tensors; gradients, judged by torch's own."""

import gc
import re
import sys
import types
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch

import omni.warp_core as wp
from tests.kernels import double

DTYPES = {
    torch.bool: wp.bool, torch.uint8: wp.uint8, torch.int8: wp.int8, torch.int16: wp.int16, torch.int32: wp.int32,
    torch.int64: wp.int64, torch.float16: wp.float16, torch.bfloat16: wp.bfloat16, torch.float32: wp.float32,
    torch.float64: wp.float64,
}  # fmt: skip
UNSIGNED = {torch.uint16: wp.uint16, torch.uint32: wp.uint32, torch.uint64: wp.uint64}


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def loss_of(xs: wp.array2d(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, xs[i, 0] ** 2.0 + xs[i, 1] ** 2.0)


@wp.func
def rosenbrock(x: float, y: float):
    return (1.0 - x) ** 2.0 + 100.0 * (y - x**2.0) ** 2.0


@wp.kernel
def eval_rosenbrock(xs: wp.array(dtype=wp.vec2), z: wp.array(dtype=float)):
    i = wp.tid()
    v = xs[i]
    z[i] = rosenbrock(v[0], v[1])


@wp.kernel
def squares(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def torch_rosenbrock(xy):
    x, y = xy[:, 0], xy[:, 1]
    return (1.0 - x) ** 2 + 100.0 * (y - x**2) ** 2


def freed():
    t = torch.zeros(3)
    t.untyped_storage().resize_(0)
    return t


# -- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("theirs", "ours"), (DTYPES | UNSIGNED).items(), ids=str)
def test_tensors_and_arrays_share_memory(theirs, ours):
    t = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(theirs)
    a = wp.from_torch(t)
    assert (a.dtype, a.shape, a.ptr) == (ours, (2, 3), t.data_ptr())
    assert a.list() == [0, 1, 1, 1, 0, 1]
    back = wp.to_torch(a)
    assert (back.dtype, back.data_ptr(), back.shape) == (theirs, t.data_ptr(), t.shape)
    a.fill_(1)
    assert t.to(torch.int64).sum() == 6
    assert wp.dtype_from_torch(theirs) is ours
    if theirs in DTYPES:
        assert wp.dtype_to_torch(ours) is theirs


def doubling(dtype):
    @wp.kernel(module="unique")
    def twice(x: wp.array(dtype=dtype), y: wp.array(dtype=dtype)):
        i = wp.tid()
        y[i] = x[i] + x[i]

    return twice


@pytest.mark.parametrize(("theirs", "ours"), (DTYPES | UNSIGNED).items(), ids=str)
def test_every_dtype_goes_by_dlpack_and_to_launches(theirs, ours):
    t = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(theirs).T  # strided
    a = wp.from_dlpack(t)
    assert (a.dtype, a.shape, a.strides, a.ptr) == (ours, (3, 2), (t.itemsize, 3 * t.itemsize), t.data_ptr())
    back = torch.from_dlpack(a)
    assert (back.dtype, back.data_ptr(), back.stride()) == (theirs, t.data_ptr(), t.stride())
    if theirs is torch.bool:
        return  # has no sum
    x, y = t[:, 1], torch.zeros(3, dtype=theirs)
    wp.launch(doubling(ours), dim=3, inputs=[x, y])
    assert y.tolist() == [2, 0, 2]


def test_unsigned_dtypes_are_signed_in_torch():
    found = [wp.dtype_to_torch(t) for t in (wp.uint16, wp.uint32, wp.uint64, int, float, bool)]
    assert found == [torch.int16, torch.int32, torch.int64, torch.int32, torch.float32, torch.bool]
    for wrong in (wp.vec3, "x"):
        with pytest.raises(TypeError):
            wp.dtype_to_torch(wrong)
    for wrong in (torch.complex64, torch.float8_e5m2, float):
        with pytest.raises(TypeError, match="no scalar type for"):
            wp.dtype_from_torch(wrong)


def test_strides_and_components_are_kept():
    t = torch.arange(36.0).reshape(2, 6, 3)
    assert np.array_equal(wp.from_torch(t[:, ::2].transpose(0, 1)).numpy(), t[:, ::2].transpose(0, 1).numpy())
    a = wp.from_torch(t[:, 1::2], dtype=wp.vec3)
    assert (a.shape, a[1, 0]) == ((2, 3), wp.vec3(21.0, 22.0, 23.0))
    assert torch.equal(wp.to_torch(a), t[:, 1::2])
    assert torch.equal(torch.from_dlpack(a), t[:, 1::2])
    with pytest.raises(ValueError, match="components of an element must be contiguous"):
        wp.from_torch(t.reshape(3, 12).T, dtype=wp.vec3)


def test_memory_outlives_either_side():
    t = wp.to_torch(wp.full(3, 5.0, dtype=float))
    a = wp.from_torch(torch.full((3,), 6.0))
    gc.collect()
    assert (t.tolist(), a.list()) == ([5.0] * 3, [6.0] * 3)


@pytest.mark.parametrize(
    ("convert", "error", "text"),
    [
        (lambda: wp.from_torch(np.zeros(3)), TypeError, "t: expected a torch.Tensor, got ndarray"),
        (lambda: wp.from_torch(torch.zeros(3), dtype=int), TypeError, "expected elements of int32, got float32"),
        (
            lambda: wp.from_torch(torch.zeros(2, dtype=torch.complex64)),
            TypeError,
            "do not support numbers of complex64",
        ),
        (lambda: wp.from_torch(torch.zeros(2, 2).to_sparse()), TypeError, r"t: it has the layout.*x.to_dense\(\)"),
        (
            lambda: wp.from_torch(freed(), return_ctype=True),
            ValueError,
            "t: it has no memory, as its storage was freed",
        ),
        (lambda: wp.from_torch(torch.zeros(3), grad=freed()), ValueError, "grad: it has no memory"),
        (lambda: wp.from_torch(torch.zeros(2, dtype=torch.float8_e5m2)), TypeError, "numbers of float8"),
        (
            lambda: torch.func.grad(lambda x: wp.from_torch(x).numpy().sum())(torch.zeros(2)),
            ValueError,
            r"t: it is inside of a transform of torch.func.* wp.torch_kernel",
        ),
        (lambda: wp.from_torch(torch.zeros(1, 1, 1, 1, 1)), ValueError, "up to 4 dimensions"),
        (lambda: wp.from_torch(torch.zeros(2, dtype=torch.cfloat).conj().imag), ValueError, "resolve_neg"),
        (lambda: wp.from_torch(torch.zeros(3), retain_grad=True), ValueError, "retain_grad: the array has no gradient"),
        (lambda: wp.from_torch(torch.zeros(3), grad=torch.zeros(4)), ValueError, "grad: expected shape"),
        (lambda: wp.to_torch(torch.zeros(3)), TypeError, "a: expected a wp.array, got Tensor"),
        (lambda: wp.to_torch(wp.zeros(3)[::-1]), BufferError, "negative strides"),
        (lambda: wp.device_from_torch("meta"), RuntimeError, "not on meta"),
        (lambda: wp.device_from_torch("nowhere"), ValueError, "expected a device of torch, got 'nowhere'"),
        (lambda: wp.stream_from_torch("cpu"), RuntimeError, "the CPU has no streams"),
        (lambda: wp.stream_to_torch("cpu"), RuntimeError, "the CPU has no streams"),
    ],
)
def test_what_cannot_be_converted(convert, error, text):
    with pytest.raises(error, match=text):
        convert()


def test_devices():
    assert wp.device_from_torch("cpu") is wp.device_from_torch(torch.device("cpu")) is wp.get_device("cpu")
    assert wp.device_to_torch("cpu") == "cpu"


# -- launches ---------------------------------------------------------------------------------------------------------


def test_launches_take_tensors_and_descriptors():
    for made in (lambda t: t, wp.from_torch, lambda t: wp.from_torch(t, return_ctype=True)):
        x, y = torch.arange(5.0), torch.ones(5)
        wp.launch(saxpy, dim=5, inputs=[made(x), made(y), 2.0], device="cpu")
        assert torch.equal(y, 2.0 * x + 1.0)
    x, y = torch.arange(10.0)[::2], torch.zeros(5)
    wp.launch(saxpy, dim=5, inputs=[x, y, 1.0])
    assert torch.equal(x, y)


@wp.kernel
def scaled_lengths(v: wp.array2d[wp.vec3], by: wp.array3d[float], out: wp.array2d[float]):
    i, j = wp.tid()
    out[i, j] = wp.length(v[i, j]) * wp.where(by.shape[0] == 0, 2.0, 3.0)


def test_descriptors_of_other_elements_and_of_none():
    """A descriptor is what its tensor is: numbers in rows are vectors, and no elements fit any shape."""
    v, out = torch.rand(2, 4, 3), torch.zeros(2, 4)
    made = [wp.from_torch(t, return_ctype=True) for t in (v, torch.empty(0), out)]
    wp.launch(scaled_lengths, dim=(2, 4), inputs=made)
    assert torch.allclose(out, 2.0 * v.norm(dim=2))
    with pytest.raises(TypeError, match="`by` expects an array of float32 with 3 dimensions, got data of float64"):
        wp.launch(scaled_lengths, dim=(2, 4), inputs=[v, torch.empty(0, dtype=torch.float64), out])


def test_copies_of_descriptors_own_nothing():
    """Programs make descriptors that do not keep the tensor alive, and keep another one that does."""
    tensor = torch.tensor([1.0, -2.0, 3.0])
    made = wp.from_torch(tensor, return_ctype=True)
    copy = type(made).from_buffer_copy(made)
    wp.launch(double, dim=3, inputs=[copy])
    assert tensor.tolist() == [2.0, -4.0, 6.0] and (copy.data, copy.shape) == (tensor.data_ptr(), (3,))
    alive = weakref.ref(tensor)
    del tensor, made
    gc.collect()
    assert alive() is None


def test_adjoint_launches_take_descriptors():
    x, y, seed, found = torch.rand(5), torch.zeros(5), torch.rand(5), torch.zeros(5)
    made = [wp.from_torch(t, return_ctype=True) for t in (x, y, seed, found)]
    wp.launch(squares, dim=5, inputs=[made[0]], outputs=[made[1]], adj_inputs=[made[3]], adj_outputs=[made[2]],
              adjoint=True)  # fmt: skip
    assert torch.allclose(found, 2.0 * x * seed)


def test_descriptors_are_checked():
    found = wp.from_torch(torch.zeros(4, 2), return_ctype=True)
    assert (found.ndim, found.shape, found.strides, found.data != 0, found.grad) == (2, (4, 2), (8, 4), True, 0)
    assert wp.from_torch(torch.zeros(3), return_ctype=True, requires_grad=True).grad != 0
    for wrong in (torch.zeros(3, dtype=torch.float64), torch.zeros(3, 3)):
        with pytest.raises(TypeError, match="argument `x` expects an array of float32 with 1 dimension"):
            wp.launch(double, dim=3, inputs=[wp.from_torch(wrong, return_ctype=True)])
    x = wp.zeros(4, dtype=float, requires_grad=True)
    for move in (
        lambda t: t.resize_(10_000),
        lambda t: t.untyped_storage().resize_(0),
        lambda t: t.set_(torch.ones(3)),
    ):
        t = torch.zeros(3)
        found = wp.from_torch(t, return_ctype=True)
        move(t)
        with pytest.raises(
            ValueError, match=r"`x` is a descriptor whose tensor has got other memory .*: convert it again"
        ):
            wp.launch(double, dim=3, inputs=[found])
    with wp.Tape(), pytest.raises(TypeError, match=r"return_ctype=True.* wp.from_torch"):
        wp.launch(squares, dim=4, inputs=[wp.from_torch(torch.zeros(4), return_ctype=True), x])


@pytest.mark.parametrize(
    ("tensor", "error", "text"),
    [
        (lambda: torch.zeros(3, requires_grad=True), TypeError, r"requires a gradient.* wp.torch_kernel.*x.detach\(\)"),
        (lambda: torch.zeros(3, device="meta"), ValueError, "it is on the device meta, which has no memory: pass"),
        (lambda: torch.zeros(3, dtype=torch.float64), TypeError, "convert it"),
        (lambda: torch.zeros(3, dtype=torch.cfloat).conj().imag, ValueError, "resolve_neg"),
        (lambda: torch.zeros(3, 3).to_sparse(), TypeError, r"it has the layout torch.sparse_coo.*x.to_dense\(\)"),
        (lambda: torch.zeros(3, 3).to_sparse_csr(), TypeError, "it has the layout torch.sparse_csr"),
        (lambda: torch.zeros(3).to_mkldnn(), TypeError, r"it has the layout torch._mkldnn.*x.to_dense\(\)"),
        (lambda: torch.quantize_per_tensor(torch.zeros(3), 0.1, 0, torch.qint8), TypeError, r"x.dequantize\(\)"),
        (lambda: torch.nested.nested_tensor([torch.zeros(3), torch.zeros(2)]), TypeError, r"nested.*x.unbind\(\)"),
        (freed, ValueError, "it has no memory, as its storage was freed"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's, of layouts that may change
def test_launches_say_which_tensor_does_not_fit(tensor, error, text):
    with pytest.raises(error, match=rf"kernel `double`: argument `x` .*{text}") as raised:
        wp.launch(double, dim=3, inputs=[tensor()])
    assert "\n" not in str(raised.value)


def test_tensors_that_require_a_gradient_are_taken_where_none_flows():
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        wp.launch(double, dim=3, inputs=[x])
    wp.launch(double, dim=3, inputs=[x.detach()])
    assert x.tolist() == [4.0] * 3


def test_fake_tensors_are_refused():
    with torch._subclasses.FakeTensorMode():
        t = torch.zeros(3)
        with pytest.raises(ValueError, match=r"argument `x` .*it is a fake tensor.* wp.torch_kernel"):
            wp.launch(double, dim=3, inputs=[t])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's, of its own code
@pytest.mark.parametrize("transform", [torch.func.vmap, torch.func.jvp], ids=["vmap", "jvp"])
def test_transforms_hide_the_memory_of_tensors(transform):
    def f(x):
        wp.launch(double, dim=3, inputs=[x])
        return x

    x = torch.zeros(2, 3) if transform is torch.func.vmap else torch.zeros(3)
    with pytest.raises(ValueError, match=r"argument `x` .*inside of a transform of torch.func.* wp.torch_kernel"):
        transform(f, (x,), (x,)) if transform is torch.func.jvp else transform(f)(x)


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's, that it does not know native code
def test_what_torch_compile_says_of_arrays():
    """A plain launch ends the graph. With fullgraph=True torch's error names the function, and the way out."""

    def f(x):
        wp.launch(double, dim=3, inputs=[wp.from_torch(x)])
        return x + 1.0

    x = torch.ones(3)
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"from_torch.*wp.torch_kernel"):
        torch.compile(f, fullgraph=True, backend="eager")(x)
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"omni.warp_core.*launch"):
        torch.compile(lambda x: wp.launch(double, dim=3, inputs=[x]), fullgraph=True, backend="eager")(x)
    assert torch.compile(f, backend="eager")(x).tolist() == [3.0] * 3


# -- gradients --------------------------------------------------------------------------------------------------------


def test_leaves_share_their_gradient():
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    a = wp.from_torch(t)
    assert a.grad.ptr == t.grad.data_ptr()
    assert wp.from_torch(t, requires_grad=False).grad is None
    own = torch.full((2,), 3.0)
    assert wp.from_torch(torch.zeros(2), grad=own).grad.ptr == own.data_ptr()
    with torch.no_grad():
        assert wp.from_torch(t).grad.ptr != t.grad.data_ptr()  # torch adds to t.grad by itself there
    assert wp.from_torch(2.0 * t).grad.list() == [0.0, 0.0]  # no leaf


def test_gradients_of_leaves_are_set_when_they_are_asked_for():
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    a, b = wp.from_torch(t), wp.from_torch(t)
    assert t.grad is None  # an optimizer passes it over
    y = wp.zeros(2, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(squares, dim=2, inputs=[a, y])
    tape.backward(grads={y: wp.ones(2)})
    assert t.grad.tolist() == [2.0, 4.0]
    assert a.grad.ptr == b.grad.ptr == t.grad.data_ptr()
    t.grad = torch.tensor([10.0, 20.0])
    tape.backward(grads={y: wp.ones(2)})
    assert t.grad.tolist() == [12.0, 24.0]
    (t * t).sum().backward()
    assert t.grad.tolist() == a.grad.list() == [14.0, 28.0]
    points = torch.zeros(2, 3, requires_grad=True)
    whole, rows = wp.from_torch(points), wp.from_torch(points, dtype=wp.vec3)
    rows.grad.fill_(2.0)
    assert whole.grad.numpy().sum() == points.grad.sum() == 12.0
    strided = torch.ones(3, 4)[:, ::2].requires_grad_()
    wp.from_torch(strided).grad.fill_(5.0)
    assert strided.grad.sum() == 30.0


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("declared", ["torch", "ours"])
def test_optimizers_may_clear_gradients(declared, set_to_none):
    if declared == "torch":
        t = torch.tensor([1.0, 2.0], requires_grad=True)
        a = wp.from_torch(t)
    else:
        a = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
        t = wp.to_torch(a)
        assert wp.to_torch(a).grad.data_ptr() == t.grad.data_ptr()
    judge = t.detach().clone().requires_grad_()
    optimizers = torch.optim.SGD([t], lr=0.1), torch.optim.SGD([judge], lr=0.1)
    y = wp.zeros(2, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(squares, dim=2, inputs=[a, y])
    for _ in range(3):
        for o in optimizers:
            o.zero_grad(set_to_none=set_to_none)
        tape.backward(grads={y: wp.ones(2)})
        (judge**2).sum().backward()
        for o in optimizers:
            o.step()
    assert torch.allclose(t, judge)


def test_arrays_give_their_gradient():
    a = wp.ones(3, dtype=float, requires_grad=True)
    t = wp.to_torch(a)
    assert t.requires_grad
    assert t.grad.data_ptr() == a.grad.ptr
    assert not wp.to_torch(a, requires_grad=False).requires_grad
    assert not wp.to_torch(wp.ones(3, dtype=int), requires_grad=True).requires_grad


@pytest.mark.parametrize("declared", ["torch", "ours"])
def test_adam_minimises_by_gradients_of_a_tape(declared):
    torch.manual_seed(3)
    if declared == "torch":
        t = torch.randn(100, 2, requires_grad=True)
        xs, loss = wp.from_torch(t), wp.from_torch(torch.zeros(1, requires_grad=True))
    else:
        xs = wp.array(np.random.default_rng(3).normal(size=(100, 2)), dtype=float, requires_grad=True)
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        t = wp.to_torch(xs)
    judge = t.detach().clone().requires_grad_()
    optimizers = torch.optim.Adam([t], lr=0.1), torch.optim.Adam([judge], lr=0.1)
    with wp.Tape() as tape:
        wp.launch(loss_of, dim=100, inputs=[xs], outputs=[loss])
    for _ in range(20):
        tape.zero()
        tape.backward(loss=loss)
        judge.grad = 2.0 * judge.detach()
        assert torch.allclose(t.grad, judge.grad)
        for o in optimizers:
            o.step()
    assert torch.allclose(t, judge)
    assert torch.equal(t.detach(), wp.to_torch(xs, requires_grad=False))


def test_stale_intermediate_results_are_refused():
    t = torch.ones(3, requires_grad=True)
    x, y, z = wp.from_torch(t), wp.zeros(3, requires_grad=True), wp.zeros(3, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(squares, dim=3, inputs=[x, y])
        wp.launch(squares, dim=3, inputs=[y, z])
    tape.backward(grads={z: wp.ones(3)})
    assert t.grad.tolist() == [4.0] * 3
    tape.zero()
    tape.backward(grads={z: wp.ones(3)})  # nothing has changed
    with torch.no_grad():
        t += 1.0
    with pytest.raises(RuntimeError, match="optimizer of another library has changed parameters"):
        tape.backward(grads={z: wp.ones(3)})


class Rosenbrock(torch.autograd.Function):
    @staticmethod
    def forward(ctx, xy, num_points):
        ctx.xy = wp.from_torch(xy, dtype=wp.vec2, requires_grad=True)
        ctx.num_points = num_points
        ctx.z = wp.zeros(num_points, requires_grad=True)
        wp.launch(kernel=eval_rosenbrock, dim=ctx.num_points, inputs=[ctx.xy], outputs=[ctx.z])
        return wp.to_torch(ctx.z)

    @staticmethod
    def backward(ctx, adj_z):
        ctx.z.grad = wp.from_torch(adj_z)
        wp.launch(
            kernel=eval_rosenbrock, dim=ctx.num_points, inputs=[ctx.xy], outputs=[ctx.z],
            adj_inputs=[ctx.xy.grad], adj_outputs=[ctx.z.grad], adjoint=True,
        )  # fmt: skip
        return (wp.to_torch(ctx.xy.grad), None)


@pytest.mark.parametrize("is_leaf", [True, False])
def test_an_autograd_function_of_launches_has_the_right_gradient(is_leaf):
    torch.manual_seed(5)
    xy = torch.randn(50, 2, requires_grad=True)
    judge = xy.detach().double().requires_grad_()
    weights = torch.randn(50)
    for turn in (1, 2):  # torch adds the second to the first
        z = Rosenbrock.apply(xy if is_leaf else 1.5 * xy, 50)
        z.backward(weights.clone())  # an adjoint clears the gradient of what it overwrites
        torch_rosenbrock(judge if is_leaf else 1.5 * judge).backward(weights.double())
        assert torch.allclose(xy.grad.double(), judge.grad, rtol=1e-4), turn


@wp.kernel
def square_doubles(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = x[i] * x[i]


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = torch.empty_like(x)
        wp.launch(square_doubles, dim=x.numel(), inputs=[x.detach()], outputs=[y])
        return y

    @staticmethod
    def backward(ctx, adj_y):
        (x,) = ctx.saved_tensors
        found = torch.zeros_like(x)
        wp.launch(
            square_doubles, dim=x.numel(), inputs=[x.detach(), torch.empty_like(x)],
            adj_inputs=[found, adj_y.contiguous()], adjoint=True,
        )  # fmt: skip
        return found


def test_adjoint_launches_leave_the_gradient_that_torch_passes():
    x = torch.rand(4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: Square.apply(x) + x, (x,))
    assert torch.autograd.gradcheck(lambda x: Square.apply(Square.apply(x) + x) * x, (x,))


@pytest.mark.parametrize("requires_grad", [False, True])
def test_conversions_leak_nothing(requires_grad):
    t, a = torch.zeros(1000, requires_grad=requires_grad), wp.zeros(1000, requires_grad=requires_grad)
    made = weakref.ref(wp.to_torch(wp.zeros(3, requires_grad=requires_grad)))
    assert made() is None
    before = len(gc.get_objects())
    for _ in range(10_000):
        wp.from_torch(t)
        wp.to_torch(a)
    gc.collect()
    assert len(gc.get_objects()) - before < 200


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's own modules
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_page_runs(tmp_path, monkeypatch):
    page = (Path(__file__).resolve().parents[2] / "docs" / "interop.md").read_text()
    blocks = re.findall(r"```python(?: torch)?\n(.*?)```", page, re.DOTALL)
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks))
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # where torch.compile looks for its functions
    exec(compile(program.read_text(), str(program), "exec"), module.__dict__)


@pytest.mark.parametrize("make", [wp.from_torch, wp.from_dlpack, lambda t: wp.array(t, copy=False)])
@pytest.mark.parametrize("lose", ["data", "module"])
def test_an_array_keeps_memory_that_its_tensor_gives_up(make, lose):
    layer = torch.nn.Linear(40, 50)
    with torch.no_grad():
        layer.weight.fill_(1.0)
        a = make(layer.weight)
    if lose == "data":
        layer.weight.data = torch.full((50, 40), 5.0)
    else:
        layer.double()
    others = [torch.full((50, 40), 7.0) for _ in range(3)]  # may get memory that was freed
    a.fill_(2.0)
    assert all((t == 7.0).all() for t in others)
    assert (a.numpy() == 2.0).all()


def test_a_tensor_that_got_other_memory_is_named():
    layer = torch.nn.Linear(3, 2)
    a = wp.from_torch(layer.weight)
    layer.double()
    with pytest.raises(RuntimeError, match=r"a tensor of \(2, 3\) and torch.float32, which has torch.float64 now"):
        a.grad
    assert wp.from_torch(layer.weight).grad.dtype == wp.float64
