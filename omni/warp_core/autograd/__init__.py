"""`wp.autograd`: Jacobians of kernels and functions, and checks of gradients against differences.

Start with targets.py (what is differentiated), then jacobians.py.
"""

from __future__ import annotations

from .finite_differences import jacobian_fd
from .gradcheck import gradcheck, gradcheck_tape
from .hvp import hvp
from .jacobians import jacobian
from .plot import jacobian_plot
from .targets import FunctionMetadata

__all__ = ["FunctionMetadata", "gradcheck", "gradcheck_tape", "hvp", "jacobian", "jacobian_fd", "jacobian_plot"]
