"""Reports as a whole: all mistakes at once, places across functions, wide characters, the peer's exceptions."""

import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from tests.errors.report import kernel_of, refused, underlined


def test_all_mistakes_in_one_report():
    text = """
    @wp.kernel
    def k(x: wp.array(dtype=float), n: int):
        a = x[0] * n
        b = nothing + a
        for i in range(n):
            x[i] = b
            x[i] = n
        if n > 0:
            v = wp.vec3(1.0)
            c = v.w
        d = c + b
    """
    with pytest.raises(wp.CompileError) as caught:
        lower_kernel(kernel_of(text))
    found = [(d.code, underlined(d)) for d in caught.value.diagnostics]
    assert found == [
        ("type-mismatch", "x[0] * n"),
        ("undefined-name", "nothing"),
        ("type-mismatch", "n"),
        ("no-member", "v.w"),
    ]
    assert "kernel `k` does not compile (4 errors)" in str(caught.value)


def test_same_mistake_of_an_unrolled_loop_is_told_once():
    text = "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    for i in range(4):\n        x[i] = i\n"
    refused(text, "type-mismatch", "i", "float(i)")


def test_mistake_inside_a_function_names_the_call():
    text = """
    @wp.func
    def f(a: float):
        return a + missing


    @wp.kernel
    def k(x: wp.array(dtype=float)):
        x[0] = f(1.0)
    """
    found = refused(text, "undefined-name", "missing", "called from here", "x[0] = f(1.0)")
    assert found.place.span.line < found.notes[0][1].span.line


def test_columns_count_characters():
    text = '@wp.kernel\ndef k(x: wp.array(dtype=float), n: int):\n    print("größe"); x[0] = n\n'
    found = refused(text, "type-mismatch", "n")
    lines = found.render().splitlines()
    source, carets = (next(line for line in lines if mark in line) for mark in ("größe", "^"))
    assert source[carets.index("^")] == "n"


def test_tabs_keep_the_caret_in_place():
    text = "@wp.kernel\ndef k(x: wp.array(dtype=float), n: int):\n\tx[0] = n\n"
    found = refused(text, "type-mismatch", "n")
    assert "\t" in next(line for line in found.render().splitlines() if "^" in line)


@pytest.mark.parametrize(
    ("body", "kind", "python"),
    [
        ("x[0] = n", wp.WarpCodegenTypeError, TypeError),
        ("x[0] = nothing", wp.WarpCodegenKeyError, KeyError),
        ("x[0] = n.foo", wp.WarpCodegenAttributeError, AttributeError),
        ("a = wp.vec3(1.0)[7]", wp.WarpCodegenIndexError, IndexError),
        ("a = wp.vector(length=n, dtype=float)", wp.WarpCodegenValueError, ValueError),
    ],
)
def test_exceptions_have_the_peers_names(body, kind, python):
    text = f"@wp.kernel\ndef k(x: wp.array(dtype=float), n: int):\n    {body}\n"
    with pytest.raises(kind) as caught:
        lower_kernel(kernel_of(text))
    assert isinstance(caught.value, python) and isinstance(caught.value, wp.WarpCodegenError)
    assert "error[" in str(caught.value)


def test_our_own_mistakes_ask_for_a_report(monkeypatch):
    from omni.warp_core.front import context

    def broken(cx, node):
        raise ZeroDivisionError("inside")

    import ast

    monkeypatch.setitem(context.STATEMENTS, ast.Pass, broken)
    with pytest.raises(wp.InternalError) as caught:
        lower_kernel(kernel_of("@wp.kernel\ndef k(n: int):\n    pass\n"))
    assert "ZeroDivisionError: inside" in str(caught.value)
    assert "report" in str(caught.value) and "kernel `k`" in str(caught.value)


def test_types_of_signatures_and_open_types():
    text = "import typing\n\n\n@wp.kernel\ndef k(x: typing.Any):\n    pass\n"
    refused(text, "annotation", "typing.Any", "left open")
