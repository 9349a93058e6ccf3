"""Machine code computes only those results of a function that one of its callers uses."""

from __future__ import annotations

import pytest

from omni.warp_core.codegen import toolchain
from omni.warp_core.codegen.target import x86

_PAIR = """
declare double @llvm.sqrt.f64(double)

define internal {{ double, double }} @f0(double %x) {{
  %root = call double @llvm.sqrt.f64(double %x)
  %twice = fadd double %x, %x
  %first = insertvalue {{ double, double }} poison, double %twice, 0
  %both = insertvalue {{ double, double }} %first, double %root, 1
  ret {{ double, double }} %both
}}

define void @kernel(ptr %out, double %x) {{
  %pair = call {{ double, double }} @f0(double %x)
  %used = extractvalue {{ double, double }} %pair, {used}
  store double %used, ptr %out
  ret void
}}
"""


@pytest.mark.parametrize("used", [0, 1])
def test_a_result_is_computed_where_a_caller_uses_it_alone(used):
    text = toolchain.assembly(_PAIR.format(used=used), x86("avx2"))
    assert ("sqrt" in text, "vaddsd" in text) == ((False, True), (True, False))[used]
