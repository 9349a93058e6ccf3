"""`wp.Module`: the kernels and functions of a Python module, or of a name, with options that they share.

The object of a Python module lies in that module's namespace, so that texts which run in namespaces of their own share
nothing. Start with `module_of`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, MutableMapping
from hashlib import blake2b
from types import ModuleType
from typing import Any
from weakref import WeakSet

from ..late_bound import late
from .kernel_options import MODULE_DEFAULTS, check_module_options

_NAME = "__warp_core_module__"  # the global name under which a namespace keeps its module


class ModuleOptions(MutableMapping):
    """The options of a module by name, those never set at their defaults. A new value counts from the next launch."""

    def __init__(self) -> None:
        self.chosen: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        return self.chosen[name] if name in self.chosen else MODULE_DEFAULTS[name]

    def __setitem__(self, name: str, value: Any) -> None:
        check_module_options({name: value})
        self.chosen[name] = value
        late("options_changed")()

    def __delitem__(self, name: str) -> None:
        del self.chosen[name]
        late("options_changed")()

    def __iter__(self) -> Iterator[str]:
        return iter(MODULE_DEFAULTS)

    def __len__(self) -> int:
        return len(MODULE_DEFAULTS)

    def __repr__(self) -> str:
        return repr(dict(self))


class Module:
    """Kernels and functions that share options, and are compiled ahead of time together.

    Each Python module has one (`wp.get_module(__name__)`, `kernel.module`). Kernels are compiled one by one, each when
    it is needed, so that a module decides nothing but options.

    Args:
        name: what messages call it.

    Attributes:
        name: the name.
        options: the options of `wp.set_module_options` by name, to be read and set.

    >>> module = wp.Module("fast")
    >>> @wp.kernel(module=module)
    ... def count(x: wp.array[int]):
    ...     x[wp.tid()] = wp.tid()
    >>> module.options["mode"] = "debug"
    >>> module.load("cpu")
    True
    >>> list(module.kernels)
    ['count']
    """

    def __init__(self, name: str | None, loader: Any = None):
        self.name = name or ""
        self.loader = loader
        self.options = ModuleOptions()
        self._definitions: WeakSet[Any] = WeakSet()

    def register(self, definition: Any) -> None:
        """Take up a kernel or function that is defined in this module."""
        self._definitions.add(definition)

    @property
    def kernels(self) -> dict[str, Any]:
        """The kernels by their keys; of those with equal keys, the one that was defined last."""
        return {d.key: d for d in self._of_kind("Kernel")}

    @property
    def functions(self) -> dict[str, Any]:
        """The functions by their keys; of overloads, the one that was defined last."""
        return {d.key: d for d in self._of_kind("Function")}

    def _of_kind(self, kind: str) -> list[Any]:
        return sorted((d for d in self._definitions if d.kind == kind), key=lambda d: d.number)

    def all_definitions(self) -> list[Any]:
        """All kernels that are alive, generic ones as they are written."""
        return self._of_kind("Kernel")

    def all_kernels(self) -> list[Any]:
        """All kernels that are alive; of generic ones, the instances made so far."""
        return [i for k in self.all_definitions() for i in (list(k.overloads.values()) if k.is_generic else [k])]

    def load(self, device: Any = None, block_dim: int | None = None) -> bool:
        """Compile the kernels now rather than at their first launch.

        Args:
            device: where they will run; the current device if left out.
            block_dim: the threads of a block of these launches; that of `wp.launch` if left out.

        Returns:
            True.

        Raises:
            CompileError: a kernel has mistakes; the others are compiled.
        """
        late("load_kernels")(self.all_kernels(), [device], block_dim)
        return True

    def unload(self) -> None:
        """Give the machine code of the kernels back. The next launch loads it from the kernel cache."""
        late("unload_kernels")(self.all_kernels())

    def mark_modified(self) -> None:
        """Let the next launch of each kernel see the present values of captured constants."""
        late("unload_kernels")(self.all_kernels(), forget_constants=True)

    def get_module_hash(self, block_dim: int | None = None) -> bytes:
        """Equal for modules whose kernels compile to the same code: 32 bytes, of kernels and options.

        Args:
            block_dim: the threads of a block, if the code is to depend on them.
        """
        kernels = sorted((k.key, k.hash) for k in self.all_kernels())
        parts = kernels, sorted(map(repr, self.options.items())), block_dim
        return blake2b(repr(parts).encode(), digest_size=32).digest()

    hash_module = get_module_hash

    def get_module_identifier(self) -> str:
        """The name and the start of the hash as one identifier."""
        return f"wp_{re.sub(r'[^0-9A-Za-z_]', '_', self.name)}_{self.get_module_hash().hex()[:7]}"

    def __repr__(self) -> str:
        return f"<wp.Module {self.name!r}>"


_named: dict[str, Module] = {}  # those that `get_module` has made


def module_of(namespace: dict[str, Any]) -> Module:
    """The module of a namespace of Python."""
    found = namespace.get(_NAME)
    if found is None:
        found = namespace[_NAME] = Module(namespace.get("__name__"))
    return found


def get_module(name: str) -> Module:
    """The kernels, functions and options of a Python module, or of a name of your own.

    Args:
        name: that of a Python module that is imported, or any other: the first call makes a module of that name.

    Returns:
        The module; the same for each call.

    >>> wp.get_module(__name__).options["mode"]
    >>> wp.get_module("mine") is wp.get_module("mine")
    True
    """
    if not isinstance(name, str):
        raise TypeError(f"name: expected the name of a module, got {name!r}")
    return known_module(name) or _named.setdefault(name, Module(name))


def known_module(name: str) -> Module | None:
    """The module of a name, None if nothing has it."""
    found = sys.modules.get(name)
    return module_of(vars(found)) if isinstance(found, ModuleType) else _named.get(name)


def all_modules() -> dict[str, Module]:
    """The modules that Python modules have and those that `get_module` has made, by name."""
    spaces = {name: vars(found) for name, found in list(sys.modules.items()) if isinstance(found, ModuleType)}
    return {name: space[_NAME] for name, space in spaces.items() if _NAME in space} | _named


def chosen_module(wanted: Any, namespace: dict[str, Any], key: str) -> Module:
    """The module that the option `module` of a decorator names: None, "unique", a name, or a module."""
    if wanted is None:
        return module_of(namespace)
    if isinstance(wanted, Module):
        return wanted
    if wanted == "unique":
        return Module(key)
    if isinstance(wanted, (str, ModuleType)):
        return get_module(wanted if isinstance(wanted, str) else wanted.__name__)
    raise TypeError(f'module: expected a wp.Module, a name, "unique" or None, got {wanted!r}')
