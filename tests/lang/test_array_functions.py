"""Array access as functions: wp.load, wp.store, wp.array_store, wp.view and wp.address, next to subscripts."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from tests.errors.report import kernel_of


@wp.kernel
def by_functions(m: wp.array2d(dtype=float), n: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    out[3 * i] = wp.load(m, i, 1) + wp.load(m[i, 2]) + wp.load(wp.address(m, i, 0))
    out[3 * i + 1] = wp.view(m, i)[2] + wp.address(wp.view(m, -1), 0)
    wp.store(m, i, 0, 5.0)
    wp.store(m[i, 1], 6.0)
    wp.store(wp.address(m, i, 2), 7.0)
    wp.array_store(m[i, 3:], 0, 8.0)
    out[wp.atomic_add(n, 0, 1) * 3 + 2] = 1.0
    wp.store(n[1 + wp.atomic_add(n, 0, 1)], 9)


@pytest.mark.parametrize("mode", ["release", "debug"])
def test_they_mean_what_subscripts_mean(mode):
    m = np.arange(8, dtype=np.float32).reshape(2, 4)
    given, n, out = wp.array(m, dtype=float), wp.zeros(6, dtype=int), wp.zeros(9, dtype=float)
    wp.config.mode = mode
    try:
        wp.launch(by_functions, dim=1, inputs=[given, n, out])
    finally:
        wp.config.mode = "release"
    assert out.list()[:3] == [m[0, :3].sum(), m[0, 2] + m[-1, 0], 1.0]
    assert given.numpy().tolist() == [[5.0, 6.0, 7.0, 8.0], m[1].tolist()]
    assert n.list() == [2, 0, 9, 0, 0, 0]


REFUSED = {
    "wp.view(x, 0)": "takes an array and indices, fewer than it has dimensions",
    "wp.view(x)": "takes an array and indices, fewer than it has dimensions",
    "wp.address(x)": "`wp.address` on array[float32] takes 2 arguments, 1 given",
    "wp.array_store(x, 0, 1)": "",
    "wp.store(x[0], wp.vec3())": "the element is float32",
    "wp.store(1.0, 2.0)": "`wp.store` works on an array",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refusals(call):
    kernel = kernel_of(f"@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    {call}\n")
    if not REFUSED[call]:
        lower_kernel(kernel)
        return
    with pytest.raises(wp.CompileError) as caught:
        lower_kernel(kernel)
    assert REFUSED[call] in str(caught.value)
