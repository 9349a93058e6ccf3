"""Environments: independent simulations in one geometry, at the same place. Each cell belongs to one of them.

Cells of two environments share no vertices. So an integral over the geometry is that of all environments at once, and
no term couples two of them. Start with `EnvironmentParts`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined"

from typing import Any, NamedTuple

import numpy as np

from ...arrays.array import array
from ...lang.kernel import Function, func
from ...lang.types import I32
from ...lang.values.scalars import int32
from ...lang.values.struct_operators import StructOperator
from ...lang.values.type_registry import wc_type

# Operators on geometries.
environment_of = StructOperator("environment_of")  # (geometry, cell) -> the environment of the cell
has_environment = StructOperator("has_environment")  # (geometry, environment) -> True if it is one of the geometry
only_environment = StructOperator("only_environment", "fem.lookup(domain, x)")  # (geometry) -> 0; refused with more

_NEEDS_NUMBER = (
    "the geometry has several environments at one place; write fem.lookup(domain, x, environment), for instance with "
    "environment = fem.environment_index(domain, s)"
)


@func
def first_of_all(g: Any, cell: int):
    """0: all cells are in one environment."""
    return 0


@func
def first(g: Any):
    """0: there is one environment."""
    return 0


@func
def is_first(g: Any, environment: int):
    """True for 0: there is one environment."""
    return environment == 0


@func
def listed_environment(g: Any, cell: int):
    """The environment of a cell, of which the geometry has a table."""
    return g.environments[cell]


@func
def is_below_count(g: Any, environment: int):
    """True for the number of an environment."""
    return environment >= 0 and environment < g.environment_count


class EnvironmentParts(NamedTuple):
    """What records of geometries have for environments.

    Attributes:
        suffix: Ends the name of the record.
        fields: Fields of the record.
        supplies: Operators that it supplies.
        refuses: Why it lacks operators.
    """

    suffix: str
    fields: dict[str, Any]
    supplies: dict[str, Function]
    refuses: dict[str, str]

    @staticmethod
    def of(has_several: bool) -> "EnvironmentParts":
        """The parts of a geometry with one environment, or of one with a table of the environments of cells."""
        if has_several:
            return EnvironmentParts.counted(listed_environment, {"environments": array(dtype=int32)})
        supplies = {"environment_of": first_of_all, "has_environment": is_first, "only_environment": first}
        return EnvironmentParts("", {}, supplies, {})

    @staticmethod
    def counted(find: Function, own: dict[str, Any]) -> "EnvironmentParts":
        """The parts of a geometry whose cells have the environment that a function finds by fields of its own."""
        fields = {"environment_count": int32} | own
        supplies = {"environment_of": find, "has_environment": is_below_count}
        return EnvironmentParts("_of_environments", fields, supplies, {"only_environment": _NEEDS_NUMBER})


def checked_environments(name: str, cell_env: Any, env_count: int | None, cell_count: int) -> array | None:
    """The environment of each cell as a program gave it; None if there is one environment.

    Raises:
        TypeError, ValueError: The array has another type or size, or the number of environments does not fit it.
    """
    if cell_env is None:
        if env_count not in (None, 1):
            raise ValueError(f"{name}: env_count={env_count}: expected cell_env, too, the environment of each cell")
        return None
    if env_count is None:
        raise ValueError(f"{name}: cell_env: expected env_count, too, the number of environments")
    check_count(name, env_count)
    check_integers(f"{name}: cell_env", cell_env, cell_count, "cell")
    check_numbers(f"{name}: cell_env", cell_env.numpy(), env_count)
    return cell_env


def check_count(name: str, env_count: int) -> None:
    """Raise ValueError unless there are environments."""
    if env_count < 1:
        raise ValueError(f"{name}: env_count={env_count}: expected 1 or more environments")


def check_integers(name: str, given: Any, count: int, each: str) -> None:
    """Raise TypeError or ValueError unless an argument is an array of int32 with `count` elements, one for `each`."""
    if not isinstance(given, array) or wc_type(given.dtype) is not I32:
        got = given.dtype.__name__ if isinstance(given, array) else type(given).__name__
        raise TypeError(f"{name}: expected an array of int32, got {got}")
    if given.shape != (count,):
        raise ValueError(f"{name}: expected {count} numbers, one for each {each}, got {given.shape}")


def check_numbers(name: str, found: np.ndarray, env_count: int) -> None:
    """Raise ValueError for numbers of environments that are not there."""
    wrong = found[(found < 0) | (found >= env_count)]
    if len(wrong):
        raise ValueError(f"{name}: {int(wrong[0])} is the number of no environment; expected 0 to {env_count - 1}")


def environments_of_nodes(
    name: str, nodes: np.ndarray, environments: np.ndarray, node_count: int, env_count: int
) -> np.ndarray:
    """Return the environment of each node; the number of environments for nodes that no cell has.

    Args:
        name: What a node is, for messages.
        nodes: Nodes of cells.
        environments: The environments of these cells, one for each of `nodes`.
        node_count: Number of nodes.
        env_count: Number of environments.

    Raises:
        ValueError: Cells of two environments have a node in common.
    """
    lowest, highest = np.full(node_count, env_count), np.full(node_count, -1)
    np.minimum.at(lowest, nodes, environments)
    np.maximum.at(highest, nodes, environments)
    wrong = np.flatnonzero(lowest < highest)
    if len(wrong):
        at = wrong[0]
        raise ValueError(
            f"{name} {at} is of cells of the environments {lowest[at]} and {highest[at]}; give each environment its own"
        )
    return lowest
