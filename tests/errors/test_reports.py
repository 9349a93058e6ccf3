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


@pytest.mark.parametrize(
    "text, reason",
    [
        ("@wp.kernel\ndef k(x: float):\n    y = 1.0\0\n", "null"),
        ("@wp.kernel\ndef k(x: float):\n    y = '\ud800'\n", "surrogates"),
        ("@wp.kernel\ndef k(x: float):\n    y = x" + " + x" * 200_000 + "\n", "nested too deeply"),
        ("@wp.kernel\ndef k(x: float):\n    y = " + "(" * 300 + "x" + ")" * 300 + "\n", "nested"),
    ],
    ids=["null", "surrogate", "long_sum", "parentheses"],
)
def test_text_that_python_cannot_read(text, reason):
    with pytest.raises(wp.CompileError, match=reason):
        kernel_of(text)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("odd", ["", "\x0c", "# \x0b \x1c \u2028 \x85 odd"])
def test_lines_are_counted_as_python_does(end, odd):
    text = f"@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid() {odd}\n    x[i] = missing\n"
    kernel = wp.kernel_from_source(("import omni.warp_core as wp\n" + text).replace("\n", end), filename="<odd>")
    with pytest.raises(wp.CompileError) as caught:
        lower_kernel(kernel)
    (found,) = caught.value.diagnostics
    assert (found.place.span.line, underlined(found)) == (5, "missing")


def test_very_long_line_shows_its_guilty_part():
    text = "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = 1.0" + " + 1.0" * 60 + " + q" + " + 1.0" * 60
    report = refused(text, "undefined-name", "q").render()
    excerpt, marks = report.splitlines()[3:5]
    assert len(excerpt) < 200 and excerpt[marks.index("^")] == "q"


def test_last_operand_of_a_chain_is_marked():
    refused(
        "@wp.kernel\ndef k(x: float, n: int):\n    y = x * 2.0 + (x - 1.0) + n\n", "type-mismatch", "+ n", "float(n)"
    )


def test_scalar_of_another_type_than_the_vector():
    help = "wp.float64(x)"
    refused("@wp.kernel\ndef k(v: wp.vec3d, x: float):\n    w = v * x\n", "type-mismatch", "v * x", help)
    refused("@wp.kernel\ndef k(v: wp.vec3d, x: float):\n    w = x * v\n", "type-mismatch", "x * v", help)


def test_refused_return_is_not_missing_as_well():
    text = "@wp.func\ndef f(x: float):\n    return x + nothing\n\n@wp.kernel\ndef k(x: float):\n    y = f(x)\n"
    refused(text, "undefined-name", "nothing", "called from here")


def test_every_annotation_is_told_at_launch():
    kernel = kernel_of("@wp.kernel\ndef k(a, b: dict, c: 'd', *e: int):\n    pass\n")
    with pytest.raises(wp.CompileError) as caught:
        wp.launch(kernel, 1, inputs=[1, 2, 3])
    assert [underlined(d) for d in caught.value.diagnostics] == ["a", "dict", "'d'", "int"]


def test_all_statements_without_meaning_are_told():
    lines = ["global g", "import os", "raise ValueError()", "class C: pass", "async_ = ..."]
    kernel = kernel_of("@wp.kernel\ndef k(x: float):\n" + "".join(f"    {line}\n" for line in lines))
    with pytest.raises(wp.CompileError) as caught:
        lower_kernel(kernel)
    assert [d.code for d in caught.value.diagnostics] == ["unsupported"] * 3


def test_only_functions_become_kernels():
    for thing in (len, type("C", (), {}), 3):
        with pytest.raises(TypeError, match=r"@wp\.kernel and @wp\.func take a Python function, got"):
            wp.kernel(thing)
    refused("@wp.kernel\nasync def k(x: float):\n    pass\n", "unsupported", "async", "without `async`")


def test_the_compilers_own_lines_do_not_stand_above_the_report():
    kernel = kernel_of("@wp.kernel\ndef k(x: wp.array(dtype=float), n: int):\n    x[0] = n\n")
    with pytest.raises(wp.CompileError) as caught:
        wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=float), 1])
    assert [str(entry.path) for entry in caught.traceback] == [__file__]
