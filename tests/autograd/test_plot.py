"""Pictures of Jacobians: what is drawn where, and files of them."""

import numpy as np
import pytest
from matplotlib import pyplot, rc_context, rcdefaults
from PIL import Image

import omni.warp_core as wp

pytestmark = pytest.mark.cpu


@pytest.fixture(autouse=True)
def plain_style():
    """Pictures as Matplotlib makes them, whatever style other tests have set."""
    with rc_context():
        rcdefaults()
        yield


@wp.kernel
def two_results(a: wp.array(dtype=wp.vec2d), s: wp.array(dtype=wp.float64), p: wp.array(dtype=wp.float64),
                q: wp.array(dtype=wp.vec2d)):  # fmt: skip
    i = wp.tid()
    p[i] = a[i][0] * s[i]
    q[i] = a[i] * wp.float64(100.0)


def arrays():
    a = wp.array([[1.0, 2.0], [3.0, 4.0]], dtype=wp.vec2d, requires_grad=True)
    s, p = (wp.ones(2, dtype=wp.float64, requires_grad=True) for _ in range(2))
    return [a, s], [p, wp.zeros_like(a, requires_grad=True)]


def jacobians(**options):
    inputs, outputs = arrays()
    return wp.autograd.jacobian(two_results, dim=2, inputs=inputs, outputs=outputs, **options), inputs


def test_a_picture_for_each_pair():
    found, inputs = jacobians()
    figure = wp.autograd.jacobian_plot(found, two_results, inputs, show_plot=False)
    pictures = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in pictures] == ["p by a", "p by s", "q by a", "q by s"]
    assert figure.get_suptitle() == "two_results"
    np.testing.assert_array_equal(pictures[0].images[0].get_array(), [[1, 0, 0, 0], [0, 0, 1, 0]])
    assert all(axes.images[0].get_clim() == (-100.0, 100.0) for axes in pictures)


def test_scales():
    found, inputs = jacobians(input_output_mask=[("a", "p"), ("s", "q")])
    figure = wp.autograd.jacobian_plot(
        found, two_results, inputs, show_plot=False, scale_colors_per_submatrix=True, log_scale=True, title="T"
    )
    shown = [axes for axes in figure.axes if axes.images]
    assert [axes.images[0].get_clim() for axes in shown] == [(-1.0, 1.0), (-1.0, 1.0)]
    assert figure.get_suptitle() == "T"


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_files(tmp_path, ending):
    found, inputs = jacobians()
    path = tmp_path / f"picture.{ending}"
    wp.autograd.jacobian_plot(found, two_results, inputs, filename=str(path))
    if ending == "svg":
        assert "<svg" in path.read_text()
    else:
        with Image.open(path) as picture:
            assert picture.size > (300, 200)


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="jacobians: there is no Jacobian"):
        wp.autograd.jacobian_plot({}, two_results, show_plot=False)


def test_windows(monkeypatch):
    pyplot.switch_backend("agg")
    shown = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(pyplot.gcf()))
    inputs, outputs = arrays()
    wp.autograd.jacobian(two_results, dim=2, inputs=inputs, outputs=outputs, plot_jacobians=True)
    wp.autograd.jacobian_fd(two_results, dim=2, inputs=inputs, outputs=outputs, plot_jacobians=True)
    errors = {"plot_relative_error": True, "plot_absolute_error": True, "show_summary": False}
    assert wp.autograd.gradcheck(two_results, dim=2, inputs=inputs, outputs=outputs, **errors)
    titles = ["two_results", "two_results", "two_results: relative errors", "two_results: absolute errors"]
    assert [figure.get_suptitle() for figure in shown] == titles
    pyplot.close("all")
