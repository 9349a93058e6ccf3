"""Nodes of a part of a geometry, and of the elements of a domain. Start with `make_space_partition`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.array import array
from ...lang.values.scalars import int32
from ..domains.domains import Cells, GeometryDomain
from ..geometries.kernel_arguments import PART_NODES, place_of_node
from ..geometries.partitions import GeometryPartition
from ..index_types import NULL_NODE_INDEX

if TYPE_CHECKING:
    from .basis_spaces import BasisSpace

__all__ = ["SpacePartition", "SpaceRestriction", "make_space_partition", "make_space_restriction"]


class SpacePartition:
    """The nodes that a part of a geometry needs, with numbers of their own: see `make_space_partition`.

    Attributes:
        geo_partition: The part of the geometry.
        space_topology: The shape functions and nodes of the space.
    """

    PartitionArg = PART_NODES
    partition_node_index = place_of_node

    def __init__(
        self,
        space_topology: BasisSpace,
        geo_partition: GeometryPartition,
        with_halo: bool = True,
        max_node_count: int = -1,
        environment_first: bool = False,
    ):
        self.space_topology, self.geo_partition = space_topology, geo_partition
        self.geometry, self._with_halo = space_topology.geometry, with_halo
        self._max_node_count, self._environment_first = max_node_count, environment_first

    @cached_property
    def _groups(self) -> list[np.ndarray]:
        """Its nodes in the space: inside, at the frontier, then those that other parts have, of cells beyond sides of
        its own, then of others. With a number of nodes that the program gave, all are in the first group.
        """
        groups = self._own_groups
        if self._max_node_count < 0:
            return groups
        found, most = np.concatenate(groups), min(self._max_node_count, self.space_topology.node_count())
        if len(found) > most:
            raise ValueError(f"make_space_partition: max_node_count={most}: the part has {len(found)} nodes")
        others = np.setdiff1d(np.arange(self.space_topology.node_count()), found)[: most - len(found)]
        return [np.concatenate([found, others]), *[np.empty(0, dtype=np.int64)] * 3]

    @cached_property
    def _own_groups(self) -> list[np.ndarray]:
        """The nodes that its elements have, in groups."""
        groups = self.space_topology.part_nodes(self.geo_partition, self._with_halo)
        if self._environment_first:
            order = np.argsort(self.space_topology.node_environments[groups[0]], kind="stable")
            groups = [groups[0][order], *groups[1:]]
        return groups

    @cached_property
    def env_offsets(self) -> array | None:
        """Where the nodes of each environment begin, and where those of the last one end: int32. None unless nodes are
        in the order of environments.
        """
        if not self._environment_first:
            return None
        environments = self.space_topology.node_environments[self._own_groups[0]]
        starts = np.searchsorted(environments, np.arange(self.geometry.environment_count() + 1))
        return array(starts.astype(np.int32), dtype=int32, device=self.geometry.device)

    def node_count(self) -> int:
        """Number of nodes."""
        return sum(map(len, self._groups))

    def owned_node_count(self) -> int:
        """Number of nodes of its cells. They come first."""
        return len(self._groups[0]) + len(self._groups[1])

    def interior_node_count(self) -> int:
        """Number of nodes of its cells that are in no cell at the frontier. They come before others."""
        return len(self._groups[0])

    @cached_property
    def _places(self) -> np.ndarray:
        """The number of each node of the space."""
        found = np.full(self.space_topology.node_count(), NULL_NODE_INDEX, dtype=np.int32)
        found[np.concatenate(self._groups)] = np.arange(self.node_count())
        return found

    @cached_property
    def node_places(self) -> array:
        """The number of each node of the space, as kernels read it: NULL_NODE_INDEX for those that it lacks."""
        return array(self._places, dtype=int32, device=self.geometry.device)

    @property
    def name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    def partition_arg_value(self, device: Any = None) -> Any:
        """Return the argument of kernels of programs that annotate it with `PartitionArg`."""
        return PART_NODES(self.node_places)

    @cached_property
    def cell_nodes(self) -> np.ndarray:
        """The nodes of each cell: NULL_NODE_INDEX for those that it lacks."""
        return self.numbered(self.space_topology.cell_nodes)

    def element_nodes(self, domain: Any) -> np.ndarray:
        """The nodes of each element of a domain: elements x nodes."""
        return self.numbered(self.space_topology.element_nodes(domain))

    def numbered(self, nodes: np.ndarray) -> np.ndarray:
        """The numbers of nodes of the space: NULL_NODE_INDEX for those that it lacks."""
        return np.append(self._places, NULL_NODE_INDEX)[np.minimum(nodes, len(self._places))].astype(np.int32)

    def space_node_indices(self) -> array:
        """The number of each of its nodes in the space."""
        return array(np.concatenate(self._groups).astype(np.int32), dtype=int32, device=self.geometry.device)


class SpaceRestriction:
    """The nodes of a part that the elements of a domain have: see `make_space_restriction`.

    Attributes:
        space_partition: The nodes of the part.
        domain: The domain.
    """

    def __init__(self, space_partition: SpacePartition, domain: GeometryDomain):
        if domain.geometry is not space_partition.geometry:
            raise ValueError("the space and the domain belong to two geometries; make both of the same")
        self.space_partition, self.domain = space_partition, domain

    @cached_property
    def _nodes(self) -> tuple[np.ndarray, int]:
        found = self.space_partition.element_nodes(self.domain)
        found = found[found != NULL_NODE_INDEX]
        return np.unique(found), found.size

    def node_count(self) -> int:
        """Number of nodes."""
        return len(self._nodes[0])

    def total_node_element_count(self) -> int:
        """How many nodes the elements have, counted for each element."""
        return self._nodes[1]

    def node_partition_indices(self) -> array:
        """The number of each node in the part."""
        return array(self._nodes[0].astype(np.int32), dtype=int32, device=self.domain.geometry.device)


def make_space_partition(
    space_topology: Any,
    geometry_partition: GeometryPartition | None = None,
    with_halo: bool = True,
    max_node_count: int = -1,
    environment_first: bool = False,
    *,
    device: Any = None,
    temporary_store: Any = None,
) -> SpacePartition:
    """Return the nodes of a space that a part of its geometry needs.

    Args:
        space_topology: `space.topology`.
        geometry_partition: The part; the whole geometry if left out.
        with_halo: Whether nodes of cells beyond the frontier belong to it, which sides there need.
        max_node_count: How many nodes there are, at most those of the space: nodes that no element of the part has fill
            up the rest. As many as the part has if negative.
        environment_first: Whether nodes are in the order of environments. `env_offsets` of the result says where those
            of each begin. Parts of a geometry need `with_halo=False`.
        device: Without effect.
        temporary_store: Without effect.

    >>> space = wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(4, 1)))
    >>> part = wp.fem.LinearGeometryPartition(space.geometry, 0, 2)
    >>> nodes = wp.fem.make_space_partition(space.topology, part)
    >>> nodes.node_count(), nodes.owned_node_count(), nodes.interior_node_count()
    (8, 6, 2)
    """
    topology = getattr(space_topology, "topology", space_topology)
    part = geometry_partition or GeometryPartition(topology.geometry)
    if part.geometry is not topology.geometry:
        raise ValueError("make_space_partition: the space and the part belong to two geometries; make both of the same")
    if environment_first and with_halo and not part.is_whole:
        raise ValueError("make_space_partition: environment_first of a part of a geometry needs with_halo=False")
    return SpacePartition(topology, part, with_halo, max_node_count, environment_first)


def make_space_restriction(
    space_partition: SpacePartition | None = None,
    domain: GeometryDomain | None = None,
    space_topology: Any = None,
    device: Any = None,
    temporary_store: Any = None,
) -> SpaceRestriction:
    """Return the nodes of a space that the elements of a domain have.

    Args:
        space_partition: The nodes of a part of the geometry.
        domain: The domain; all cells of the part if left out.
        space_topology: `space.topology`, in place of `space_partition`.
        device: Without effect.
        temporary_store: Without effect.

    >>> space = wp.fem.make_polynomial_space(wp.fem.Grid2D(res=(3, 3)), degree=0)
    >>> sides = wp.fem.BoundarySides(space.geometry)
    >>> wp.fem.make_space_restriction(space_topology=space.topology, domain=sides).node_count()
    8
    """
    if space_partition is None:
        if space_topology is None:
            raise ValueError("make_space_restriction: give space_partition or space_topology")
        space_partition = make_space_partition(space_topology, domain.geometry_partition if domain else None)
    return SpaceRestriction(space_partition, domain or Cells(space_partition.geo_partition))
