"""Lines whose documented meaning differs from Python's warn, once."""

import os
import subprocess
import sys
import warnings

import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel


def warned(kernel):
    """The warnings of a kernel: (source line without indentation, message)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lower_kernel(kernel)
    assert all(issubclass(w.category, wp.KernelWarning) for w in caught)
    return [(kernel.source.line(w.lineno).strip(), str(w.message)) for w in caught]


def test_integer_division():
    @wp.kernel
    def k(x: wp.array(dtype=int), n: int):
        x[0] = n / 2 + n / 3
        x[1] = n // 2

    ((line, message),) = warned(k)
    assert line == "x[0] = n / 2 + n / 3"
    assert "truncates" in message and "//" in message


def test_remainder_of_what_may_be_negative():
    @wp.kernel
    def k(x: wp.array(dtype=int), n: int, u: wp.uint32):
        i = wp.tid()
        x[0] = n % 4
        x[1] = i % 4 + (i // 3) % 2 + (n & 7) % 3
        for j in range(n):
            x[j] = (i + j) % 8
        m = u % wp.uint32(5)

    ((line, message),) = warned(k)
    assert line == "x[0] = n % 4"
    assert "sign of the dividend" in message


def test_wrap_around_of_constants():
    @wp.kernel
    def k(x: wp.array(dtype=int)):
        big = 2147483647
        x[0] = big + 1
        h = 0x9E3779B9
        x[1] = h

    assert [message[:11] for _, message in warned(k)] == ["wrap-around", "wrap-around"]


def test_everything_else_is_quiet():
    @wp.kernel
    def k(x: wp.array(dtype=float), n: int):
        i = wp.tid()
        x[i] = x[i] / 2.0 + float(n) ** 2.0 + wp.sin(x[i]) + float(n // 2)

    assert warned(k) == []


def test_as_errors():
    @wp.kernel
    def k(x: wp.array(dtype=int), n: int):
        x[0] = n / 2

    with warnings.catch_warnings(), pytest.raises(wp.KernelWarning):
        warnings.simplefilter("error")
        lower_kernel(k)


def test_another_variant_does_not_warn_again():
    @wp.kernel
    def k(x: wp.array(dtype=int), n: int):
        x[0] = n / 2

    assert len(warned(k)) == 1
    assert warned(k) == []


CACHED = """
import omni.warp_core as wp

@wp.func
def half(n: int):
    return n / 2

@wp.kernel
def k(x: wp.array(dtype=int), n: int):
    x[0] = half(n)
    x[1] = n % 3

x = wp.zeros(4, dtype=int)
for y in (x, x, x[::2]):
    wp.launch(k, 1, inputs=[y, 5])
"""


def test_kernels_from_the_cache_warn_as_well(tmp_path):
    """In three processes; in the second the lines moved, and in the third other kernels are alike."""
    script = tmp_path / "program.py"
    again = "\n\nfor i in range(3):\n    @wp.kernel\n    def k(x: wp.array(dtype=int)):\n        x[0] = x[1] / 7\n"
    again += "    wp.launch(k, 1, inputs=[x])\n"
    moved = CACHED.replace("@wp.func", "# more\n\n@wp.func").replace("    x[1] =", "\n    # a comment\n    x[1] =")
    environment = os.environ | {"OMNI_WARP_CACHE_DIR": str(tmp_path / "cache")}
    for text in (CACHED, moved, CACHED + again):
        script.write_text(text)
        done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
        lines = text.splitlines()
        marks = ("n / 2", "n % 3", "x[1] / 7")
        expected = [1 + i for i, line in enumerate(lines) if any(m in line for m in marks)]
        told = [int(line.split(":")[1]) for line in done.stderr.splitlines() if "KernelWarning" in line]
        assert sorted(told) == expected, done.stderr


def test_as_errors_until_repaired():
    @wp.kernel
    def k(x: wp.array(dtype=int), n: int):
        x[0] = n / 2

    for _ in range(2):
        with warnings.catch_warnings(), pytest.raises(wp.KernelWarning):
            warnings.simplefilter("error")
            lower_kernel(k)


LINES = {
    "`/`": ["n / 2", "7 / n", "wp.vec3i(n, 1, 2) / 2", "2 / wp.vec3i(n, 1, 2)", "CONSTANT / 2"],
    "`%`": ["n % 3", "-7 % n", "g % 2.0", "wp.vec3i(n, 1, 2) % wp.vec3i(2, 2, 2)"],
    "wrap-around": [
        *(
            "CONSTANT + 1",
            "2147483647 * 2",
            "1 << 40",
            "n << 32",
            "2**40",
            "wp.uint8(300)",
            "int(3e9)",
            "n + 3000000000",
        ),
        *(
            "-(-2147483648)",
            "abs(-2147483648)",
            "wp.uint32(5) - wp.uint32(6)",
            "n > 3000000000",
            "int(INFINITE)",
            "n + 3000000000",
        ),
    ],
    "": ["n // 2", "abs(n) % 3", "divmod(n, 3)[1]", "wp.tid() % 4", "7 % 3", "g / 2.0", "1 << 30", "int(2e9)", "n * n"],
}


@pytest.mark.parametrize("kind, expression", [(kind, e) for kind, found in LINES.items() for e in found])
def test_expressions(kind, expression):
    text = "import omni.warp_core as wp\nCONSTANT = 2147483647\nINFINITE = float('inf')\n\n@wp.kernel\n"
    text += f"def k(x: wp.array(dtype=int), n: int, g: float):\n    y = {expression}\n"
    told = warned(wp.kernel_from_source(text))
    assert [message[: len(kind)] for _, message in told] == ([kind] if kind else [])


def test_augmented_assignment():
    @wp.kernel
    def k(x: wp.array(dtype=int), n: int):
        n /= 2
        n %= 3
        x[0] /= 2
        x[0] %= 3

    assert [message[1] for _, message in warned(k)] == ["/", "%", "/", "%"]
