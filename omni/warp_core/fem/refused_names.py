"""Names of `warp.fem` that are not there yet, and what to write instead. Start with `refusal`."""

from __future__ import annotations

# What programs can write in place of some names -> the names.
_INSTEAD = {
    "write type(s.qp_weight)(0.5), a number of the type of the sample": "scalar_type",
}
_REMEDY = {name: instead for instead, names in _INSTEAD.items() for name in names.split()}


def refusal(name: str) -> str:
    """Return what to say of a name of `warp.fem` that is not there, "" for other names."""
    remedy = _REMEDY.get(name)
    return f"wp.fem has no {name!r} yet: {remedy}. docs/fem.md lists what is there" if remedy else ""
