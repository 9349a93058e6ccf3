"""Mutated kernels that were internal errors once (see tests/fuzz), made small."""

import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from tests.errors.report import accepted, kernel_of, refused

BODIES = {
    "range as an operand": ("y = -range(n)", "type-mismatch", "-range(n)"),
    "target of a comprehension": ("y = sum(1 for n.x in (1, 2))", "unsupported", "n.x"),
    "bound of a slice": ("y = (1, 2, 3)[wp::2]", "index", "wp"),
    "step of a slice": ("y = (1, 2, 3)[::0]", "index", "0"),
    "exponent that is no number": ("y = n ** (1e400 - 1e400)", "no-overload", "n ** (1e400 - 1e400)"),
    "tuple times a fraction": ("y = (1, 2) * 0.5", "type-mismatch", "(1, 2) * 0.5"),
    "half a character": (r'print("\ud800")', "unsupported", r'print("\ud800")'),
    "null character": (r'print("a\0b")', "unsupported", r'print("a\0b")'),
    "rounded NaN": ("y = round(1e400 - 1e400)", "literal", "round(1e400 - 1e400)"),
    "rounded infinity": ("y = round(1e400)", "literal", "round(1e400)"),
    "product of numbers": ("y = n @ n", "type-mismatch", "n @ n"),
    "function in a text": ('y = 1 if wp.sin in "abc" else 0', "type-mismatch", 'wp.sin in "abc"'),
    "text in a variable": ('y = f"{n}"', "unsupported", 'f"{n}"'),
}


@pytest.mark.parametrize("case", BODIES)
def test_refused(case):
    body, code, under = BODIES[case]
    refused(f"@wp.kernel\ndef k(n: int):\n    {body}\n", code, under)


@pytest.mark.parametrize("text", ["{n!r}", "{n:>5}", "{n:x}"])
def test_formats(text):
    with pytest.raises(wp.CompileError, match="cannot be used in a kernel"):
        lower_kernel(kernel_of(f'@wp.kernel\ndef k(n: int):\n    print(f"{text}")\n'))


def test_accepted():
    body = '    print(f"{n:5d} {x:.2f} {n}", sep="")\n    wp.printf("%s\\n", "text")\n'
    accepted(f"@wp.kernel\ndef k(n: int, x: float):\n{body}")
