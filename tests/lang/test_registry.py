"""The table of builtins: which functions may share a name."""

from types import ModuleType

import pytest

from omni.warp_core.lang import registry
from omni.warp_core.lib import matrices, vectors


def library_module(name: str) -> dict:
    """Return the namespace of a module that defines the builtins `_twin` and `twin`."""
    module = ModuleType(name)
    exec(
        "from omni.warp_core.lang.registry import builtin\n"
        "@builtin\ndef _twin(x: int) -> int: return x\n"
        "@builtin\ndef twin(x: int) -> int: return x\n"
        "@builtin(name='_twin')\ndef _other_twin(x: float) -> float: return x\n",
        vars(module),
    )
    return vars(module)


def test_a_private_name_belongs_to_one_module(monkeypatch):
    monkeypatch.setattr(registry, "_builtins", {})
    first = library_module("first_module")
    assert len(first["_twin"].overloads) == 2  # overloads of one module may share it
    with pytest.raises(ValueError, match="second_module: the private builtin `_twin` is defined in first_module"):
        library_module("second_module")


def test_a_public_name_has_overloads_of_several_modules():
    modules = {overload.func.__module__ for overload in registry.get("min").overloads}
    assert {vectors.__name__, "omni.warp_core.lib.scalar_functions"} <= modules
    assert matrices.__name__ not in modules
