"""`wp.optim`: optimisers, which change arrays by their gradients. Start with `parameters.py`."""

from __future__ import annotations

from .adam import Adam
from .sgd import SGD

__all__ = ["SGD", "Adam"]
