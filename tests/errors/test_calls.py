"""Every builtin and intrinsic called with what does not fit, in kernels and at Python scope."""

import contextlib
import io
import warnings

import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from tests.errors.calls import END, FILE, KERNEL, NAMES, PYTHON, arguments, module
from tests.errors.report import underlined

LONGEST = 300  # characters of a message


@pytest.mark.parametrize("name", NAMES)
def test_in_a_kernel(name):
    """Each refused call is reported once at its own line, with candidates where it is one of overloads."""
    calls = arguments(KERNEL)
    kernel = wp.kernel_from_source(module(name, calls), filename=FILE, name="k")
    with warnings.catch_warnings(), pytest.raises(wp.CompileError) as caught:
        warnings.simplefilter("ignore", wp.KernelWarning)
        lower_kernel(kernel)
    *found, last = caught.value.diagnostics
    assert END in last.place.text  # lowering went on to the end
    assert len({d.place.span.line for d in found}) > (2 if name == "print" else len(calls) // 2)
    for d in found:
        assert {p.span.file for p in (d.place, *(place for _, place in d.notes))} == {FILE}
        assert f"wp.{name}(" in d.place.text and underlined(d)
        assert d.candidates or d.code != "no-overload", d.render()
        assert len(d.message) < LONGEST, d.message


VALUES = [eval(text, {"wp": wp}) for text in PYTHON.values()]
CALLS = [(v,) * count for i, v in enumerate(VALUES) for count in (1, 2 + i % 2)]
CALLS += [tuple(VALUES[(i * 5 + j * 7) % len(VALUES)] for j in range(2 + i % 4)) for i in range(len(VALUES))]
NO_KERNEL = "a value only inside a kernel"


@pytest.mark.parametrize("name", sorted({*NAMES} - {"print"}))
def test_at_python_scope(name):
    """Each call gives a value, or an exception of Python's that names the builtin."""
    function = getattr(wp, name)
    for args, keywords in [((), {}), ((), {"nonsense": 1}), *((args, {}) for args in CALLS)]:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                function(*args, **keywords)
        except (TypeError, ValueError) as why:
            assert name in str(why), args
        except RuntimeError as why:
            assert NO_KERNEL in str(why), args
