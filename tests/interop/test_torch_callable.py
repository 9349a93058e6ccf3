"""Python functions as operations of PyTorch: options, inputs that they may not write, and what has no gradient."""

import pytest
import torch

import omni.warp_core as wp


@wp.kernel
def spread(x: wp.array[wp.float64], y: wp.array[wp.float64]):
    i = wp.tid()
    y[i] = x[0] * wp.float64(i + 1)


@wp.kernel
def double(x: wp.array[wp.float64]):
    i = wp.tid()
    x[i] = x[i] * wp.float64(2.0)


def numbers(*shape):
    return torch.linspace(0.5, 1.5, torch.Size(shape).numel(), dtype=torch.float64).reshape(shape)


def test_callables_of_one_function_with_other_options():
    def repeated(x: wp.array[wp.float64], y: wp.array[wp.float64]):
        wp.launch(spread, dim=y.shape, inputs=[x], outputs=[y])

    three, five = (wp.torch_callable(repeated, output_dims=n) for n in (3, 5))
    x = numbers(2, 1)
    assert torch.func.vmap(three)(x).shape == (2, 3) and torch.func.vmap(five)(x).shape == (2, 5)
    assert torch.func.grad(lambda x: three(x).sum())(x[0]).item() == 1.0 + 2.0 + 3.0
    plain, in_out = wp.torch_callable(repeated), wp.torch_callable(repeated, 2, in_out_argnames="x")
    assert torch.func.vmap(plain)(x).shape == (2, 1) and len(torch.func.vmap(in_out)(x)) == 2
    assert wp.torch_callable(repeated, output_dims=3).key == three.key


@pytest.mark.parametrize(
    "write",
    [
        lambda x, y: wp.launch(double, dim=x.shape, inputs=[x]),
        lambda x, y: wp.copy(x, y),
        lambda x, y: x[1:].zero_(),
        lambda x, y: wp.to_torch(x).zero_(),
    ],
)
def test_inputs_are_read_only(write):
    def writes(x: wp.array[wp.float64], y: wp.array[wp.float64]):
        write(x, y)

    op, x = wp.torch_callable(writes), numbers(3)
    for call in (lambda: op(x), lambda: torch.func.vmap(op)(x[None]), lambda: op(x.clone().requires_grad_())):
        with pytest.raises(ValueError, match=r"may write an input \(`x`\), .*: name .* in in_out_argnames.*read-only"):
            call()
    assert torch.equal(x, numbers(3))


def test_in_outs_may_be_written():
    def doubled(x: wp.array[wp.float64], v: wp.array[wp.float64]):
        wp.copy(v, x)
        wp.launch(double, dim=v.shape, inputs=[v])

    x, v = numbers(3).requires_grad_(), torch.zeros(3, dtype=torch.float64)
    found = wp.torch_callable(doubled, in_out_argnames="v")(x, v)
    found.sum().backward()
    assert torch.equal(found, 2.0 * x) and not v.any() and (x.grad == 2.0).all()
