"""Python functions as operations of PyTorch: options, inputs that they may not write, and what has no gradient."""

import torch

import omni.warp_core as wp


@wp.kernel
def spread(x: wp.array[wp.float64], y: wp.array[wp.float64]):
    i = wp.tid()
    y[i] = x[0] * wp.float64(i + 1)


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
