"""Domains, parts of geometries and nodes of these as arguments of kernels that programs write.

Such a kernel annotates its parameters with `domain.ElementArg` and the like, and calls the functions of the domain on
them. Start with `DomainArguments`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type,attr-defined,no-redef"

from functools import cache
from typing import Any

from ...arrays.array import array
from ...lang.kernel import func
from ...lang.values.scalars import int32
from ..kernel_records import record
from .environments import only_environment
from .lookup import CELLS_OF_PART, coords_in, find_cell, make_free_sample


@func
def element_of(arg: Any, index: int):
    """The number in the geometry of an element of a domain or a part."""
    found = index
    if arg.elements.shape[0] > 0:
        found = arg.elements[index]
    return found


@func
def place_of_element(arg: Any, element: int):
    """The number in the part of a cell of the geometry; NULL_ELEMENT_INDEX if the part lacks it."""
    place = element
    if element >= 0 and arg.places.shape[0] > 0:
        place = arg.places[element]
    return place


@func
def coordinates_in(arg: Any, element: int, x: Any):
    """The coordinates of a position in a cell, or beyond it."""
    return coords_in(arg, element, x)


@func
def found_in_part(domain: Any, x: Any):
    """The sample at a position. Its `element_index` is -1 if no cell of the part is near."""
    return found_near(domain, x, 0, only_environment(domain.element))


@func
def found_in_part(domain: Any, x: Any, environment: int):  # noqa: F811 - an overload
    """In an environment."""
    return found_near(domain, x, 0, environment)


@func
def found_in_part(domain: Any, x: Any, max_dist: Any):  # noqa: F811 - an overload
    """With a distance to look in."""
    return found_near(domain, x, max_dist, only_environment(domain.element))


@func
def found_in_part(domain: Any, x: Any, max_dist: Any, environment: int):  # noqa: F811 - an overload
    """In an environment, with a distance to look in."""
    return found_near(domain, x, max_dist, environment)


@func
def found_near(domain: Any, x: Any, max_dist: Any, environment: int):
    """The sample at a position, up to a distance away."""
    cell, coords = find_cell(domain.element, x, -1, max_dist, CELLS_OF_PART(domain.index.places), 0, environment)
    return make_free_sample(cell, coords)


@func
def place_of_node(arg: Any, node: int):
    """The number in the part of a node of the space; NULL_NODE_INDEX if the part lacks it."""
    return arg.places[node]


INDICES = record("ElementIndices", {"elements": array(dtype=int32), "places": array(dtype=int32)})
PART_NODES = record("NodesOfPart", {"places": array(dtype=int32)})


@cache
def domain_arg(geometry: Any) -> Any:
    """The class of arguments that are a domain: its geometry, whose record is of the class `geometry`, and its
    elements.
    """
    return record(f"DomainOf{geometry.__name__}", {"element": geometry, "index": INDICES})


class PartArguments:
    """What a part of a geometry offers kernels of programs."""

    CellArg = INDICES
    cell_index = element_of
    partition_cell_index = place_of_element
    kernel_cells: Any
    cell_places: Any

    def cell_arg_value(self, device: Any = None) -> Any:
        """Return the argument that is the cells of the part."""
        return INDICES(self.kernel_cells, self.cell_places)


class DomainArguments:
    """What a domain offers kernels of programs: types of arguments, their values, and functions of them."""

    ElementIndexArg = INDICES
    element_index = element_of
    element_partition_index = place_of_element
    element_coordinates = coordinates_in
    element_partition_lookup = found_in_part
    geometry: Any
    geometry_partition: Any
    kernel_elements: Any

    @property
    def ElementArg(self) -> Any:
        """The type of the argument that is the geometry."""
        return type(self.geometry.record(None))

    @property
    def DomainArg(self) -> Any:
        """The type of both arguments together: `domain.DomainArg(element_arg, index_arg)`."""
        return domain_arg(self.ElementArg)

    def element_arg_value(self, device: Any = None) -> Any:
        """Return the argument that is the geometry."""
        return self.geometry.record(None)

    def element_index_arg_value(self, device: Any = None) -> Any:
        """Return the argument that is the elements of the domain."""
        return INDICES(self.kernel_elements, self.geometry_partition.cell_places)
