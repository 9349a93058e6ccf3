"""Parameters of kernels by their roles, launch and output dimensions, as frameworks see them."""

import pytest

import omni.warp_core as wp
from omni.warp_core.interop import call_signature as signature


@wp.kernel
def mixed(a: wp.array(dtype=float), s: float, v: wp.array2d(dtype=wp.vec3), c: wp.array(dtype=float),
          d: wp.array(dtype=wp.mat22)):  # fmt: skip
    c[0] = a[0] + s + v[0, 0][0]
    d[0] = wp.mat22()


@wp.kernel
def generic(a: wp.array(dtype=wp.Float), b: wp.array(dtype=wp.Float)):
    b[0] = a[0]


def names(parameters):
    return [p.name for p in parameters]


def test_roles_of_parameters():
    found = signature.of_kernel(mixed, 3, ["v"])
    assert (names(found.inputs), names(found.outputs)) == (["a", "s", "v"], ["c", "d"])
    assert (names(found.in_outs), names(found.results)) == (["v"], ["v", "c", "d"])
    assert [p.position for p in found.parameters] == [0, 1, 2, 3, 4]
    assert [p.is_array for p in found.inputs] == [True, False, True]
    assert found.outputs[1].element.inner == (2, 2)


def test_launch_dims_come_from_the_first_array():
    found = signature.of_kernel(mixed, 2, None)
    assert found.launch_dims(None, [None, (4, 5)]) == (4, 5)
    assert found.launch_dims(7, [(4,)]) == (7,)
    assert found.launch_dims([2, 3], []) == (2, 3)
    with pytest.raises(ValueError, match="pass launch_dims="):
        found.launch_dims(None, [None])
    with pytest.raises(TypeError, match="expected an integer or a tuple"):
        found.launch_dims("x", [])


def test_outer_shapes_are_without_components():
    found = signature.of_kernel(mixed, 2, None)
    assert found.outer_shape(found.inputs[2], (4, 5, 3)) == (4, 5)
    for wrong in ((4, 5), (4, 5, 2), (4, 5, 6, 3)):
        with pytest.raises(TypeError, match=r"`v` expects 2-d array of vec3f.*shape of \(n, n, 3\)"):
            found.outer_shape(found.inputs[2], wrong)


@pytest.mark.parametrize(
    ("given", "shapes"),
    [
        (None, [(6,), (6, 2, 2)]),
        (4, [(4,), (4, 2, 2)]),
        ({"d": 3}, [(6,), (3, 2, 2)]),
        ({"c": (5,), "d": (3, 2, 2)}, [(5,), (3, 2, 2)]),
    ],
)
def test_output_shapes_with_or_without_components(given, shapes):
    assert signature.of_kernel(mixed, 2, None).output_shapes(given, (6,)) == shapes


def test_shapes_that_do_not_fit_are_refused():
    found = signature.of_kernel(mixed, 2, None)
    with pytest.raises(
        ValueError, match=r"output `c` is 1-d array of float32, but gets the shape \(2, 3\) from the launch"
    ):
        found.output_shapes(None, (2, 3))
    with pytest.raises(ValueError, match="has no output `a`"):
        found.output_shapes({"a": 1}, (2,))
    with pytest.raises(ValueError, match="must not be negative"):
        found.output_shapes(-1, (2,))
    with pytest.raises(TypeError, match=r"takes 3 inputs \(a, s, v\), got 2"):
        found.check_count([1, 2])


def test_numbers_and_names_that_do_not_fit_are_refused():
    for outputs, in_outs, error, text in (
        (0, None, ValueError, "num_outputs=0 does not fit"),
        (6, None, ValueError, "num_outputs=6 does not fit"),
        (1, ["a", "v"], ValueError, "num_outputs counts the in-outs"),
        (True, None, TypeError, "expected an integer"),
        (2, ["x"], ValueError, "no parameter `x`"),
        (3, "d", ValueError, "in-out `d` stands among the outputs"),
        (5, None, TypeError, "`s` is float32, but results are arrays"),
    ):
        with pytest.raises(error, match=text):
            signature.of_kernel(mixed, outputs, in_outs)
    with pytest.raises(TypeError, match="is generic: pass one overload"):
        signature.of_kernel(generic, 1, None)
    with pytest.raises(TypeError, match="expected a kernel"):
        signature.of_kernel(len, 1, None)


def test_annotated_functions():
    def steps(a: wp.array(dtype=float), n: int, b: "wp.array(dtype=wp.vec2)"):
        """Launch nothing."""

    found = signature.of_function(steps, 1, None)
    assert (names(found.inputs), names(found.outputs)) == (["a", "n"], ["b"])

    def bare(a, b: wp.array(dtype=float)):
        """Launch nothing."""

    with pytest.raises(TypeError, match="function `bare`: parameter `a` has no annotation"):
        signature.of_function(bare, 1, None)
