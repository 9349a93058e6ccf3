"""Programs that users of warp-lang write with PyTorch, by their names; gradients are judged by torch's own."""

import numpy as np
import pytest
import torch

import omni.warp_core as wp

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # of torch's own modules
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@wp.kernel
def axpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel()
def squared_norm(points: wp.array(dtype=float, ndim=2), total: wp.array(dtype=float)):
    row = wp.tid()
    wp.atomic_add(total, 0, points[row, 0] ** 2.0 + points[row, 1] ** 2.0)


@wp.func
def valley(x: float, y: float):
    return (1.0 - x) ** 2.0 + 100.0 * (y - x**2.0) ** 2.0


@wp.kernel
def heights(points: wp.array(dtype=wp.vec2), z: wp.array(dtype=float)):
    i = wp.tid()
    p = points[i]
    z[i] = valley(p[0], p[1])


def torch_valley(points):
    x, y = points[:, 0], points[:, 1]
    return (1.0 - x) ** 2 + 100.0 * (y - x**2) ** 2


class Heights(torch.autograd.Function):
    @staticmethod
    def forward(ctx, points, count):
        ctx.points = wp.from_torch(points, dtype=wp.vec2, requires_grad=True)
        ctx.count = count
        ctx.z = wp.zeros(count, requires_grad=True)
        wp.launch(kernel=heights, dim=ctx.count, inputs=[ctx.points], outputs=[ctx.z])
        return wp.to_torch(ctx.z)

    @staticmethod
    def backward(ctx, adj_z):
        ctx.z.grad = wp.from_torch(adj_z)
        wp.launch(
            kernel=heights,
            dim=ctx.count,
            inputs=[ctx.points],
            outputs=[ctx.z],
            adj_inputs=[ctx.points.grad],
            adj_outputs=[ctx.z.grad],
            adjoint=True,
        )
        return (wp.to_torch(ctx.points.grad), None)


@torch.library.custom_op("wc_examples::heights", mutates_args=())
def heights_op(points: torch.Tensor, count: int) -> torch.Tensor:
    shown, z = wp.from_torch(points, dtype=wp.vec2), wp.zeros(count, dtype=wp.float32)
    wp.launch(kernel=heights, dim=count, inputs=[shown], outputs=[z])
    return wp.to_torch(z)


@heights_op.register_fake
def _(points, count):
    return torch.empty(count, dtype=torch.float32)


@torch.library.custom_op("wc_examples::heights_backward", mutates_args=())
def heights_backward(points: torch.Tensor, count: int, z: torch.Tensor, adj_z: torch.Tensor) -> torch.Tensor:
    shown = wp.from_torch(points, dtype=wp.vec2)
    result = wp.from_torch(z, requires_grad=False)
    adjoint = wp.from_torch(adj_z, requires_grad=False)
    wp.launch(
        kernel=heights,
        dim=count,
        inputs=[shown],
        outputs=[result],
        adj_inputs=[shown.grad],
        adj_outputs=[adjoint],
        adjoint=True,
    )
    return wp.to_torch(shown.grad)


@heights_backward.register_fake
def _(points, count, z, adj_z):
    return torch.empty_like(points)


def _backward(ctx, adj_z):
    return heights_backward(ctx.points, ctx.count, ctx.z, adj_z.contiguous()), None


def _setup_context(ctx, inputs, output):
    ctx.points, ctx.count = inputs
    ctx.z = output


heights_op.register_autograd(_backward, setup_context=_setup_context)


@torch.library.custom_op("wc_examples::axpy_", mutates_args={"y"})
def axpy_op(x: torch.Tensor, y: torch.Tensor, a: float) -> None:
    wp.launch(axpy, dim=x.shape[0], inputs=[x, y, a])


def start(n=60):
    return torch.tensor(np.random.default_rng(42).normal(size=(n, 2)), dtype=torch.float32)


def adam(points, steps, compute):
    """Minimise; return the points, and the gradients of all steps."""
    optimizer, gradients = torch.optim.Adam([points], lr=5e-2), []
    for _ in range(steps):
        optimizer.zero_grad()
        compute()
        gradients.append(points.grad.detach().clone())
        optimizer.step()
    return points.detach(), gradients


def of_torch(formula, steps, weigh=torch.ones_like):
    points = start().requires_grad_()

    def compute():
        z = formula(points)
        z.backward(weigh(z))

    return adam(points, steps, compute)


def check(found, wanted):
    for a, b in zip(found[1], wanted[1]):
        torch.testing.assert_close(a, b, rtol=2e-3, atol=2e-3)
    torch.testing.assert_close(found[0], wanted[0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("declared", ["torch", "ours"])
def test_points_that_an_optimizer_moves_by_a_tape(declared):
    if declared == "torch":
        points, total = start().requires_grad_(), torch.zeros(1, requires_grad=True)
        shown, loss = wp.from_torch(points), wp.from_torch(total)
    else:
        shown = wp.array(start().numpy(), dtype=wp.float32, requires_grad=True)
        loss = wp.zeros(1, dtype=wp.float32, requires_grad=True)
        points = wp.to_torch(shown)
    tape = wp.Tape()
    with tape:
        wp.launch(squared_norm, dim=len(shown), inputs=[shown], outputs=[loss], device=shown.device)
    losses = []

    def compute():
        tape.zero()
        tape.backward(loss=loss)
        loss.zero_()  # only to print it
        wp.launch(squared_norm, dim=len(shown), inputs=[shown], outputs=[loss], device=shown.device)
        losses.append(total.item() if declared == "torch" else loss.numpy()[0])

    found = adam(points, 20, compute)
    check(found, of_torch(lambda p: (p**2).sum(), 20))
    assert losses[0] == pytest.approx((start() ** 2).sum().item(), rel=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_function_of_autograd(weighted):
    weigh = (lambda z: torch.linspace(0.5, 2.0, len(z))) if weighted else torch.ones_like
    points = start().requires_grad_()

    def compute():
        z = Heights.apply(points, len(points))
        z.backward(weigh(z))

    check(adam(points, 20, compute), of_torch(torch_valley, 20, weigh))


@pytest.mark.parametrize("is_compiled", [False, True])
def test_custom_operators(is_compiled):
    points = start().requires_grad_()

    def forward():
        return heights_op(points, len(points))

    run = torch.compile(forward, fullgraph=True, backend="aot_eager") if is_compiled else forward

    def compute():
        z = run()
        z.backward(torch.ones_like(z))

    check(adam(points, 20, compute), of_torch(torch_valley, 20))
    tests = ("test_schema", "test_faketensor", "test_autograd_registration")
    torch.library.opcheck(heights_op, (start(5).requires_grad_(), 5), test_utils=tests)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_custom_operators_that_write_in_place(is_compiled):
    def forward(x, y):
        y = y + 1.0
        axpy_op(x, y, 2.0)
        return y * 3.0

    run = torch.compile(forward, fullgraph=True, backend="aot_eager") if is_compiled else forward
    x, y = torch.arange(4.0), torch.ones(4)
    assert run(x, y).tolist() == (3.0 * (2.0 * x + 2.0)).tolist()
    assert y.tolist() == [1.0] * 4
    torch.library.opcheck(axpy_op, (x, y, 2.0))


def test_converting_once_in_each_turn_and_not_at_all():
    def converted_once(x, y):
        a, b = wp.from_torch(x), wp.from_torch(y)
        for _ in range(3):
            wp.launch(axpy, dim=len(x), inputs=[a, b, 1.0], device="cpu")

    def converted(x, y, **how):
        for _ in range(3):
            a, b = wp.from_torch(x, **how), wp.from_torch(y, **how)
            wp.launch(axpy, dim=len(x), inputs=[a, b, 1.0], device="cpu")

    def passed(x, y):
        for _ in range(3):
            wp.launch(axpy, dim=len(x), inputs=[x, y, 1.0], device="cpu")

    for way in (converted_once, converted, lambda x, y: converted(x, y, return_ctype=True), passed):
        x, y = torch.arange(5.0), torch.ones(5)
        way(x, y)
        assert torch.equal(y, 3.0 * x + 1.0)


def test_helpers_convert_there_and_back():
    a = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu")
    assert wp.from_torch(wp.to_torch(a)).ptr == a.ptr
    device = wp.device_to_torch(wp.get_device("cpu"))
    assert wp.device_from_torch(torch.zeros(1, device=device).device) == wp.get_device("cpu")
    for name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bfloat16"):
        t = torch.zeros(2, dtype=wp.dtype_to_torch(getattr(wp, name)))
        assert wp.zeros(2, dtype=wp.dtype_from_torch(t.dtype)).dtype is getattr(wp, name)
