"""Operations under torch.func, forward mode, second derivatives and torch.compile, judged by torch's own formulas."""

import pytest
import torch
import torch._dynamo.testing
from torch import func

import omni.warp_core as wp
from tests.interop.test_torch_kernel import largest, lengths, matmul, product, push, recurrence, shifted

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # of torch's own modules
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor"),  # which Dynamo itself reads
]


def numbers(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape) + len(shape)))


def both(x: wp.array(dtype=wp.float64), n: int, out: wp.array(dtype=wp.float64)):
    y = wp.zeros_like(x, requires_grad=x.requires_grad)
    wp.launch(product, dim=x.size, inputs=[x, x, 1.0, y])
    for _ in range(n):
        wp.launch(product, dim=x.size, inputs=[x, y, 2.0, out])


@wp.kernel
def times(x: wp.array[wp.float64], n: int, is_negative: bool, out: wp.array[wp.float64]):
    i = wp.tid()
    out[i] = x[i] * wp.float64(n)
    if is_negative:
        out[i] = -out[i]


def recurrent(columns):
    made = [columns[0]]
    for x in columns[1:]:
        made.append(torch.sin(made[-1]) * x)
    return made


def pushed(force, v):
    moved = v * v + force
    return moved, moved * moved


product_op, cubes_op, matmul_op = wp.torch_kernel(product), wp.torch_callable(both), wp.torch_kernel(matmul)

# name -> (operation, torch's formula, arguments)
SUBJECTS = {
    "product": (
        lambda x, y: product_op(x, y, 3.0),
        lambda x, y: 3.0 * x * torch.sin(y),
        (numbers(4), numbers(4)),
    ),
    "numbers": (
        lambda x, by: product_op(x, x, by),
        lambda x, by: by * x * torch.sin(x),
        (numbers(4), numbers(1)[0]),
    ),
    "vectors": (
        wp.torch_kernel(lengths, 2),
        lambda v: (v.square().sum(-1).sqrt(), 2.0 * v),
        (numbers(3, 3),),
    ),
    "vector numbers": (
        wp.torch_kernel(shifted),
        lambda v, by: ((v + by) * by).sum(-1),
        (numbers(3, 3), numbers(3)),
    ),
    "in-outs": (wp.torch_kernel(push, 2, in_out_argnames="v"), pushed, (numbers(3), numbers(3))),
    "matmul": (
        lambda a, b: matmul_op(a, b, launch_dims=(2, 4)),
        lambda a, b: a @ b,
        (numbers(2, 3), numbers(3, 4)),
    ),
    "results read again": (
        wp.torch_kernel(recurrence, launch_dims=2, output_dims=(2, 3)),
        lambda x: torch.stack(recurrent(x.unbind(-1)), -1),
        (numbers(2, 3),),
    ),
    "callable": (
        lambda x: cubes_op(x, 1),
        lambda x: 2.0 * x * torch.sin(x * torch.sin(x)),
        (numbers(4),),
    ),
}


def leaves(found):
    return torch.utils._pytree.tree_leaves(found)


def scalar(f):
    """A number, of the results of a function, that has second derivatives."""
    return lambda *x: sum((t * t * torch.arange(1.0, 1 + t.numel()).reshape(t.shape)).sum() for t in leaves(f(*x)))


def along(f, *x):
    return func.jvp(f, x, tuple(torch.cos(t) for t in x))


def twice(f, *x):
    x = [t.clone().requires_grad_() for t in x]
    gradients = torch.autograd.grad(scalar(f)(*x), x, create_graph=True)
    return torch.autograd.grad(sum((g**3).sum() for g in gradients), x)


def dual(f, *x):
    with torch.autograd.forward_ad.dual_level():
        made = [torch.autograd.forward_ad.make_dual(t, torch.sin(t)) for t in x]
        return [torch.autograd.forward_ad.unpack_dual(t).tangent for t in leaves(f(*made))]


def several(f, *x):
    return func.vmap(f)(*(torch.stack([t, 2.0 * t, t + 1.0]) for t in x))


def several_of_one(f, *x):
    first = torch.stack([x[0], -x[0]], dim=-1)
    return func.vmap(f, in_dims=(-1, *(None for _ in x[1:])), out_dims=-1)(first, *x[1:])


def product_of(product, f, x):
    """The product of the Hessian and a vector, which torch takes from the backward pass of a backward pass."""
    return product(scalar(f), x, tuple(torch.cos(t) for t in x))


def hessian_along(f, x, v):
    return func.jvp(func.grad(scalar(f), argnums=tuple(range(len(x)))), x, v)[1]


TRANSFORMS = {
    "grad": lambda f, *x: func.grad(scalar(f), argnums=tuple(range(len(x))))(*x),
    "jvp": along,
    "dual numbers": dual,
    "double backward": twice,
    "vmap": several,
    "vmap of one": several_of_one,
    "jacrev": lambda f, *x: func.jacrev(f, argnums=tuple(range(len(x))))(*x),
    "jacfwd": lambda f, *x: func.jacfwd(f, argnums=tuple(range(len(x))))(*x),
    "hessian": lambda f, *x: func.hessian(scalar(f), argnums=tuple(range(len(x))))(*x),
    "reverse over reverse": lambda f, *x: func.jacrev(func.grad(scalar(f)))(*x),
    "reverse over forward": lambda f, *x: func.grad(lambda *x: scalar(lambda *x: along(f, *x)[1])(*x))(*x),
    "hvp": lambda f, *x: product_of(torch.autograd.functional.hvp, f, x),
    "vhp": lambda f, *x: product_of(torch.autograd.functional.vhp, f, x),
    "hvp and grad": lambda f, *x: func.grad(lambda *v: scalar(lambda: hessian_along(f, x, v))())(*x),
    "grad of each": lambda f, *x: several(func.grad(scalar(f)), *x),
    "grad of all": lambda f, *x: func.grad(lambda *x: scalar(lambda *x: several(f, *x))(*x))(*x),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_transforms(subject, transform):
    f, judge, x = SUBJECTS[subject]
    found, wanted = (leaves(TRANSFORMS[transform](g, *x)) for g in (f, judge))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert torch.allclose(a, b), (a, b)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_gradgradcheck_passes(subject):
    f, _, x = SUBJECTS[subject]
    x = tuple(t.clone().requires_grad_() for t in x)
    assert torch.autograd.gradcheck(f, x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, x, check_fwd_over_rev=True)


def test_saved_results_reach_reverse_mode():
    f, judge, x = wp.torch_kernel(largest, output_dims=1), lambda x: (x * x).max().reshape(1), numbers(4)
    for name in ("grad", "vmap", "jacrev", "grad of each", "grad of all"):
        found, wanted = (leaves(TRANSFORMS[name](g, x)) for g in (f, judge))
        assert all(map(torch.allclose, found, wanted)), name
    with pytest.raises(wp.CompileError, match="an atomic max of floating point numbers has no tangent"):
        along(f, x)


def test_batches_may_be_empty_and_nested():
    f, judge, _ = SUBJECTS["product"]
    x = numbers(2, 3, 4)
    assert torch.allclose(func.vmap(func.vmap(f))(x, x), judge(x, x))
    assert torch.allclose(func.vmap(func.vmap(f, (0, None)), (0, None))(x, x[0, 0]), judge(x, x[0, 0]))
    assert func.vmap(f)(x[:0, 0], x[:0, 0]).shape == (0, 4)


def test_numbers_of_functions_have_no_gradient():
    def scaled(x: wp.array(dtype=wp.float64), by: wp.float64, out: wp.array(dtype=wp.float64)):
        wp.launch(product, dim=x.size, inputs=[x, x, by, out])

    op, x, by = wp.torch_callable(scaled), numbers(3), numbers(1)[0]
    assert torch.allclose(op(x, by), by * x * torch.sin(x))
    assert torch.allclose(func.vmap(op, (None, 0))(x, torch.stack([by, 2 * by]))[1], 2 * by * x * torch.sin(x))
    x, learned = x.clone().requires_grad_(), by.clone().requires_grad_()
    (found,) = torch.autograd.grad(op(x, learned).sum(), x)  # which does not ask for that of `by`
    assert torch.allclose(found, by * (torch.sin(x) + x * torch.cos(x)))
    x = x.detach()
    for use in (
        lambda: op(x, by.clone().requires_grad_()).sum().backward(),
        lambda: func.grad(lambda by: op(x, by).sum())(by),
        lambda: func.jvp(lambda by: op(x, by), (by,), (by,)),
    ):
        with pytest.raises(TypeError, match="argument `by` is float64, whose gradient is not computed"):
            use()


# -- torch.compile ----------------------------------------------------------------------------------------------------


@pytest.fixture
def compiled():
    torch.compiler.reset()
    yield lambda f, **options: torch.compile(f, fullgraph=True, **{"backend": "aot_eager", **options})
    torch.compiler.reset()


@pytest.mark.parametrize("subject", SUBJECTS)
def test_compiled_without_a_graph_break(subject, compiled):
    f, judge, x = SUBJECTS[subject]

    def around(g):
        return lambda *x: sum(torch.sin(t).sum() for t in leaves(g(*(2.0 * t for t in x))))

    x = [t.clone().requires_grad_() for t in x]
    found, wanted = compiled(around(f))(*x), around(judge)(*x)
    assert torch.allclose(found, wanted)
    assert all(map(torch.allclose, torch.autograd.grad(found, x), torch.autograd.grad(wanted, x)))


@pytest.mark.parametrize("transform", ["grad", "jvp", "vmap", "hessian"])
def test_transforms_inside_of_compiled_functions(transform, compiled):
    f, judge, x = SUBJECTS["product"]
    found = leaves(compiled(lambda *x: TRANSFORMS[transform](f, *x))(*x))
    assert all(map(torch.allclose, found, leaves(TRANSFORMS[transform](judge, *x))))


def test_compiled_for_any_shape(compiled):
    op, count = wp.torch_kernel(product), torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    f = compiled(lambda x, by: op(x, x + 1.0, by) * 2.0, backend=count, dynamic=True)
    for n, by in ((3, 2.0), (5, 2.0), (7, 3.0), (8, 4.0), (2, 5.0)):
        x = numbers(n)
        assert torch.allclose(f(x, by), 2.0 * by * x * torch.sin(x + 1.0))
    assert count.frame_count == 1


def test_integers_vary_beside_bools(compiled):
    op, count = wp.torch_kernel(times), torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    f = compiled(lambda x, n: op(x, n, True), backend=count)
    for n in range(2, 6):
        assert torch.equal(f(numbers(3), n), -n * numbers(3))
    assert count.frame_count <= 2


def test_calls_with_dims_are_compiled(compiled):
    op = wp.torch_kernel(lengths, 2)
    x = numbers(4, 3)
    f = compiled(lambda x: op(x, launch_dims=(2,), output_dims={"out": 3, "double": (2, 3)}))
    out, double = f(x)
    assert torch.allclose(out[:2], x[:2].norm(dim=-1))
    assert (out.shape, out[2].item(), double.shape) == ((3,), 0.0, (2, 3))


def test_the_default_backend_compiles(compiled):
    f, judge, x = SUBJECTS["product"]
    x = [t.clone().requires_grad_() for t in x]
    found, wanted = compiled(lambda x, y: (f(x, y) + x).sum(), backend="inductor")(*x), (judge(*x) + x[0]).sum()
    assert torch.allclose(found, wanted)
    assert all(map(torch.allclose, torch.autograd.grad(found, x), torch.autograd.grad(wanted, x)))


@pytest.mark.parametrize("subject", ["product", "vectors", "in-outs", "callable"])
def test_opcheck_passes(subject):
    f, _, x = SUBJECTS[subject]
    calls = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func.namespace == "omni_warp":
                calls.append((func, args))
            return func(*args, **(kwargs or {}))

    x = [t.clone().requires_grad_() for t in x]
    with Watch():
        gradients = torch.autograd.grad(scalar(f)(*x), x, create_graph=True)
        torch.autograd.grad(sum((g**2).sum() for g in gradients), x)
        func.jvp(f, tuple(t.detach() for t in x), tuple(t.detach() for t in x))
    assert {f.name() for f, _ in calls} == {f"omni_warp::{n}" for n in ("launch", "tangent", "adjoint", "hvp")}
    done = set()
    for f, args in calls:
        if f not in done:
            done.add(f)
            head = [[t.detach().requires_grad_() for t in a] if _is_tensors(a) else a for a in args]
            tests = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic", "test_autograd_registration")
            torch.library.opcheck(f, head, test_utils=tests[:2] if f.name().endswith("hvp") else tests)


def _is_tensors(a):
    return isinstance(a, (list, tuple)) and len(a) > 0 and isinstance(a[0], torch.Tensor)


def test_fake_tensors_have_shapes_alone():
    op = wp.torch_kernel(lengths, 2)
    with torch._subclasses.FakeTensorMode():
        out, double = op(torch.zeros(4, 3, dtype=torch.float64))
    assert (out.shape, double.shape, double.dtype) == ((4,), (4, 3), torch.float64)
    on_meta = op(torch.zeros(4, 3, dtype=torch.float64, device="meta"))
    assert (on_meta[1].shape, on_meta[1].device.type) == ((4, 3), "meta")


def test_programs_can_be_exported():
    op = wp.torch_kernel(product)

    class Layer(torch.nn.Module):
        def forward(self, x, y):
            return op(x, y, 2.0) + 1.0

    x, y = numbers(3), numbers(3)
    program = torch.export.export(Layer(), (x, y))
    assert torch.allclose(program.module()(x, y), 2.0 * x * torch.sin(y) + 1.0)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")  # where shapes are compared
@pytest.mark.parametrize("subject", SUBJECTS)
def test_traced_programs_run_and_have_gradients(subject):
    f, judge, x = SUBJECTS[subject]
    x = [t.clone().requires_grad_() for t in x]
    traced = torch.jit.trace(lambda *x: tuple(2.0 * t for t in leaves(f(*x))), tuple(t.detach() for t in x))
    x = [(t.detach() + 0.1).requires_grad_() for t in x]
    found, wanted = traced(*x), [2.0 * t for t in leaves(judge(*x))]
    assert all(map(torch.allclose, leaves(found), wanted))
    found, wanted = (torch.autograd.grad(sum(t.sum() for t in leaves(y)), x) for y in (found, wanted))
    assert all(map(torch.allclose, found, wanted))


@pytest.mark.parametrize("operation", [product_op, cubes_op], ids=["kernel", "callable"])
@pytest.mark.parametrize("outer", [lambda f: f, lambda f: func.grad(lambda x: f(x).sum()), func.vmap])
def test_forward_mode_over_forward_mode_is_refused(operation, outer):
    x = numbers(2, 4) if outer is func.vmap else numbers(4)
    f = (lambda x: product_op(x, x, 3.0)) if operation is product_op else (lambda x: cubes_op(x, 2))

    def second(x):
        ones = torch.ones_like(x)
        return func.jvp(lambda x: func.jvp(f, (x,), (ones,))[1], (x,), (ones,))[1]

    with pytest.raises(
        NotImplementedError, match=r"forward mode over forward mode .* torch\.func\.hessian, or jvp of grad"
    ):
        outer(second)(x)
    with pytest.raises(NotImplementedError, match="forward mode over forward mode"):
        func.jacfwd(func.jacfwd(f))(numbers(3))
