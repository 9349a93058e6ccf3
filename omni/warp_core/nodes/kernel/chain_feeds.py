"""Values that come into a captured chain from outside, and where each goes before a replay.

Every feed has `pass_on`, which gives the newest value to the graph, and returns False if that takes another graph.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...lang.values.type_registry import python_type
from ..graph.attribute import Attribute
from ..graph.placement import elements, placed
from ..values.attribute_values import same
from .kernel_bindings import Binding
from .kernel_run import Run
from .kernel_types import as_scalar


@dataclass
class Feed:
    """An input whose value decides more than arguments: it must stay as it was when the graph was captured.

    Of several inputs with one source, `attribute` is the first. The others are not pulled.
    """

    attribute: Attribute
    value: Any

    @property
    def may_have_changed(self) -> bool:
        """True if the value has to be looked at. That of a chain of connected inputs always has."""
        attribute = self.attribute
        source = attribute.source
        return attribute.is_behind or attribute.held is not self.value or bool(source is not None and source.sources)

    def pass_on(self) -> bool:
        """Give the newest value to the graph. Returns False if that takes another graph."""
        self.attribute.pull()
        value = self.attribute.held
        if value is self.value:
            return True
        return not isinstance(value, np.ndarray) and same(value, self.value)


@dataclass
class Target:
    """An argument of a recorded launch. In struct style it is a field of a struct."""

    command: Any
    index: int
    struct: Any = None
    name: str = ""

    def set(self, argument: Any) -> None:
        """Let the launch take another argument."""
        if self.struct is None:
            self.command.set_param_at_index(self.index, argument)
            return
        setattr(self.struct, self.name, argument)
        self.command.set_param_at_index(self.index, self.struct)


@dataclass
class ArgumentFeed(Feed):
    """A number or an array that recorded launches take, all in one form."""

    run: Run
    binding: Binding
    shape: tuple[int, ...]  # of the array in the kernel
    count: int  # of its elements in the attribute
    targets: list[Target] = field(default_factory=list)
    argument: Any = None  # kept alive for the launches

    def pass_on(self) -> bool:
        """See Feed."""
        self.attribute.pull()
        value, binding = self.attribute.held, self.binding
        if value is self.value:
            return True
        if not binding.rank:
            argument = as_scalar(value, binding.attribute, binding.type)
        elif len(value) == self.count:
            device, element = self.run.program.request.device, python_type(binding.element)
            placed_array = placed(self.attribute, binding.attribute, device, self.run.values.timing)
            argument = elements(placed_array, element, self.shape)
        else:
            return False
        if argument is not self.argument:
            for target in self.targets:
                target.set(argument)
        self.value, self.argument = self.attribute.held, argument
        return True


@dataclass
class LengthFeed(Feed):
    """An array of which only the length counts."""

    count: int

    def pass_on(self) -> bool:
        """See Feed."""
        self.attribute.pull()
        self.value = self.attribute.held
        return len(self.value) == self.count


@dataclass
class StartFeed(Feed):
    """The first value of an array that the kernels write to, copied into its memory before each replay."""

    run: Run
    binding: Binding
    memory: Any

    may_have_changed = True

    def pass_on(self) -> bool:
        """See Feed."""
        self.attribute.pull()
        self.run.memory.start(self.run.values, self.binding, (), self.memory)
        self.value = self.attribute.held
        return True


@dataclass
class StructureFeed(Feed):
    """A value that a mesh, hash grid or volume is made of: the structure follows it and keeps its id."""

    run: Run
    name: str
    id: int

    def pass_on(self) -> bool:
        """See Feed."""
        self.attribute.pull()
        self.value = self.attribute.held
        return self.run.structure(self.name) == self.id
