"""The type variables of the public interface: `wp.Scalar`, `wp.Float` and `wp.Int` in annotations of generic kernels
and functions.

Like `typing.Any`, each occurrence stands on its own: two parameters of `wp.Float` may get different types. Where they
must be equal, a `typing.TypeVar` says so.
"""

from __future__ import annotations

from .generics import TypeVar

__all__ = ["Float", "Int", "Scalar"]

Scalar = TypeVar("Scalar", "scalar", free=True)
Float = TypeVar("Float", "float", free=True)
Int = TypeVar("Int", "int", free=True)
