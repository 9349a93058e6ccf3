"""Kernels that the compiler derives from a user's kernel: cache keys, names, and the settings of the user's kernel."""

from typing import Any

import pytest

import omni.warp_core as wp
from omni.warp_core.lang.kernel import Kernel
from omni.warp_core.lang.kernel_transforms import Augmented, Tangent
from omni.warp_core.launches import plans


def _squares() -> Kernel:
    @wp.kernel
    def squares(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    return squares


@wp.kernel
def generic(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def _derived(kernel: Kernel) -> list[Kernel]:
    both, first, second = Tangent((True, True)), Tangent((True, False)), Tangent((False, True))
    augmented = Augmented((wp.array(dtype=wp.uint64).__wc_type__,))
    chains = [(), (both,), (first,), (second,), (both, Tangent((True,) * 4)), (augmented,), (augmented, augmented)]
    found = []
    for chain in chains:
        made = kernel
        for transform in chain:
            made = made.derive(transform)
        found.append(made)
    return found


def _keys(kernel: Kernel) -> list[str]:
    return [
        plans.request(made, plans.Options(False, adjoint=adjoint), 0).key()
        for made in _derived(kernel)
        for adjoint in ("", "distinct", "shared")
    ]


def test_each_transform_has_a_cache_key_of_its_own() -> None:
    keys = _keys(_squares())
    assert len(set(keys)) == len(keys)
    assert keys == _keys(_squares())  # another kernel with the same text


def test_transforms_that_differ_in_nothing_else_have_different_keys() -> None:
    """The parameters of both kernels have the same types and names."""
    kernel = _squares()
    once = plans.request(kernel.derive(Tangent((True, False))), plans.Options(False), 0)
    assert once.key() != once._replace(transform=(Tangent((False, True)),)).key()


def test_a_derived_kernel_is_made_once() -> None:
    kernel = _squares()
    assert kernel.derive(Tangent((True, True))) is kernel.derive(Tangent((True, True)))
    assert all(made.primal is kernel for made in _derived(kernel))
    assert not hasattr(kernel, "nonsense") and not hasattr(_derived(kernel)[1], "nonsense")


def test_parameters_and_names() -> None:
    made = _squares().derive(Tangent((False, True))).derive(Tangent((True, False, False)))
    assert [name for name, _ in made.params] == ["x", "y", "y_tangent", "x_tangent"]
    assert made.subject == "the tangent of the tangent of kernel `squares`"
    assert made.__doc__ is None and made.__module__ == __name__


@pytest.mark.parametrize("is_generic", [False, True])
def test_settings_of_the_kernel_hold_for_kernels_made_of_it(is_generic: bool) -> None:
    """Also where the setting changes after the first launch."""
    kernel = generic if is_generic else _squares()
    x, y = (wp.ones(3, dtype=float, requires_grad=True) for _ in range(2))
    wp.jvp(kernel, 3, [x], [y], [wp.ones(3, dtype=float)])
    kernel.enable_backward = False
    try:
        with wp.Tape(), pytest.raises(RuntimeError, match="was made with enable_backward=False"):
            wp.jvp(kernel, 3, [x], [y], [wp.ones(3, dtype=float, requires_grad=True)])
    finally:
        kernel.enable_backward = None
