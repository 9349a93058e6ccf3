"""`wp.optim`: optimisers, which change arrays by their gradients, and in `linear` solvers of linear systems.

Start with `parameters.py`.
"""

from __future__ import annotations

from . import linear as linear
from .adam import Adam
from .sgd import SGD

__all__ = ["SGD", "Adam"]
