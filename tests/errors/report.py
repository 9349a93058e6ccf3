"""Helpers of the error tests: compile a kernel given as text, and look at the report."""

import itertools
import textwrap
import warnings

import pytest

import omni.warp_core as wp
from omni.warp_core.compiler import report_refusal
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.verifier import verify
from omni.warp_core.lang.errors import PassError
from omni.warp_core.passes import pipeline

_numbers = itertools.count()
PREAMBLE = "import omni.warp_core as wp\n"


def kernel_of(text):
    """The kernel of a module given as text, after a line that imports wp."""
    return wp.kernel_from_source(PREAMBLE + textwrap.dedent(text), filename=f"<error test {next(_numbers)}>", name="k")


def underlined(diagnostic):
    """The part of the source under the caret."""
    span, line = diagnostic.place.span, diagnostic.place.text.encode()
    end = span.end_col if span.end_line == span.line else len(line)
    return line[span.col : end].decode().rstrip()


def check(kernel, block_dim=64):
    """The IR of a kernel after all stages that look for mistakes."""
    fn = lower_kernel(kernel, block_dim)
    try:
        return pipeline.run(fn) if fn.block_dim else fn
    except PassError as why:
        raise report_refusal(kernel.subject, why) from None


def refused(text, code, under, *fragments, block_dim=64):
    """The only mistake of the text has this code, this underlined source and these fragments in its report."""
    with pytest.raises(wp.CompileError) as caught:
        check(kernel_of(text), block_dim)
    found = caught.value.diagnostics
    assert [d.code for d in found] == [code], str(caught.value)
    assert underlined(found[0]) == under, str(caught.value)
    report = found[0].render()
    for fragment in fragments:
        assert fragment in report, report
    caret = next(line for line in report.splitlines() if "^" in line)
    assert caret.count("^") == max(1, len(under))
    return found[0]


def accepted(text):
    """The repaired text compiles."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wp.KernelWarning)
        verify(check(kernel_of(text)))
