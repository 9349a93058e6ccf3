"""`wp.fem`: finite elements. Forms are functions of fields; integrals of them are numbers, arrays and sparse matrices.

Start with integration.py. A geometry has cells (geometries/); a space has functions on them (spaces/), and a domain
has the elements of an integral (domains/). Kernels see all of these as records (kernel_records.py), which supply the
operators of integrands (field_operators.py). Public names are loaded when they are first used, as they load kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..optional_names import loader

if TYPE_CHECKING:
    from .adaptivity import adaptive_nanogrid_from_field as adaptive_nanogrid_from_field
    from .adaptivity import adaptive_nanogrid_from_hierarchy as adaptive_nanogrid_from_hierarchy
    from .cache import Temporary as Temporary
    from .cache import TemporaryStore as TemporaryStore
    from .cache import borrow_temporary as borrow_temporary
    from .cache import borrow_temporary_like as borrow_temporary_like
    from .cache import set_default_temporary_store as set_default_temporary_store
    from .dirichlet import normalize_dirichlet_projector as normalize_dirichlet_projector
    from .dirichlet import project_linear_system as project_linear_system
    from .dirichlet import project_system_matrix as project_system_matrix
    from .dirichlet import project_system_rhs as project_system_rhs
    from .domains.domains import BoundarySides as BoundarySides
    from .domains.domains import Cells as Cells
    from .domains.domains import FrontierSides as FrontierSides
    from .domains.domains import GeometryDomain as GeometryDomain
    from .domains.domains import Sides as Sides
    from .domains.domains import Subdomain as Subdomain
    from .domains.point_quadratures import ExplicitQuadrature as ExplicitQuadrature
    from .domains.point_quadratures import PicQuadrature as PicQuadrature
    from .domains.quadratures import NodalQuadrature as NodalQuadrature
    from .domains.quadratures import Quadrature as Quadrature
    from .domains.quadratures import RegularQuadrature as RegularQuadrature
    from .field_operators import D as D
    from .field_operators import at_node as at_node
    from .field_operators import average as average
    from .field_operators import cells as cells
    from .field_operators import curl as curl
    from .field_operators import deformation_gradient as deformation_gradient
    from .field_operators import degree as degree
    from .field_operators import div as div
    from .field_operators import div_outer as div_outer
    from .field_operators import element_closest_point as element_closest_point
    from .field_operators import element_coordinates as element_coordinates
    from .field_operators import element_index as element_index
    from .field_operators import element_partition_index as element_partition_index
    from .field_operators import environment_index as environment_index
    from .field_operators import grad as grad
    from .field_operators import grad_average as grad_average
    from .field_operators import grad_jump as grad_jump
    from .field_operators import grad_outer as grad_outer
    from .field_operators import inner as inner
    from .field_operators import jump as jump
    from .field_operators import lookup as lookup
    from .field_operators import measure as measure
    from .field_operators import measure_ratio as measure_ratio
    from .field_operators import node_count as node_count
    from .field_operators import node_index as node_index
    from .field_operators import node_inner_weight as node_inner_weight
    from .field_operators import node_inner_weight_gradient as node_inner_weight_gradient
    from .field_operators import node_outer_weight as node_outer_weight
    from .field_operators import node_outer_weight_gradient as node_outer_weight_gradient
    from .field_operators import node_partition_index as node_partition_index
    from .field_operators import normal as normal
    from .field_operators import outer as outer
    from .field_operators import partition_lookup as partition_lookup
    from .field_operators import position as position
    from .field_operators import scalar_type as scalar_type
    from .field_operators import to_cell_side as to_cell_side
    from .field_operators import to_inner_cell as to_inner_cell
    from .field_operators import to_outer_cell as to_outer_cell
    from .geometries.adaptive_grid import AdaptiveNanogrid as AdaptiveNanogrid
    from .geometries.cell_geometry import Geometry as Geometry
    from .geometries.grid_geometry import Grid2D as Grid2D
    from .geometries.grid_geometry import Grid3D as Grid3D
    from .geometries.lookup import OUTSIDE as OUTSIDE
    from .geometries.lookup import make_free_sample as make_free_sample
    from .geometries.mesh_geometry import Hexmesh as Hexmesh
    from .geometries.mesh_geometry import Quadmesh2D as Quadmesh2D
    from .geometries.mesh_geometry import Quadmesh3D as Quadmesh3D
    from .geometries.mesh_geometry import Tetmesh as Tetmesh
    from .geometries.mesh_geometry import Trimesh2D as Trimesh2D
    from .geometries.mesh_geometry import Trimesh3D as Trimesh3D
    from .geometries.partitions import CellBasedGeometryPartition as CellBasedGeometryPartition
    from .geometries.partitions import ExplicitGeometryPartition as ExplicitGeometryPartition
    from .geometries.partitions import GeometryPartition as GeometryPartition
    from .geometries.partitions import LinearGeometryPartition as LinearGeometryPartition
    from .geometries.reference_cells import Element as Element
    from .geometries.shape_functions import ElementBasis as ElementBasis
    from .geometries.shape_functions import ShapeFunction as ShapeFunction
    from .geometries.sparse_grid import Nanogrid as Nanogrid
    from .index_types import NULL_ELEMENT_INDEX as NULL_ELEMENT_INDEX
    from .index_types import NULL_NODE_INDEX as NULL_NODE_INDEX
    from .index_types import NULL_QP_INDEX as NULL_QP_INDEX
    from .index_types import Coords as Coords
    from .index_types import Coords_f64 as Coords_f64
    from .index_types import ElementIndex as ElementIndex
    from .index_types import ElementKind as ElementKind
    from .index_types import NodeIndex as NodeIndex
    from .index_types import Operator as Operator
    from .index_types import QuadraturePointIndex as QuadraturePointIndex
    from .integrands import Domain as Domain
    from .integrands import Field as Field
    from .integrands import Integrand as Integrand
    from .integrands import Sample as Sample
    from .integrands import Sample_f64 as Sample_f64
    from .integrands import integrand as integrand
    from .integration import integrate as integrate
    from .interpolation import interpolate as interpolate
    from .polynomial import Polynomial as Polynomial
    from .spaces.basis_spaces import BasisSpace as BasisSpace
    from .spaces.basis_spaces import ShapeBasisSpace as ShapeBasisSpace
    from .spaces.basis_spaces import SpaceTopology as SpaceTopology
    from .spaces.basis_spaces import make_element_based_space_topology as make_element_based_space_topology
    from .spaces.basis_spaces import make_element_shape_function as make_element_shape_function
    from .spaces.basis_spaces import make_polynomial_basis_space as make_polynomial_basis_space
    from .spaces.dof_mappers import DofMapper as DofMapper
    from .spaces.dof_mappers import SkewSymmetricTensorMapper as SkewSymmetricTensorMapper
    from .spaces.dof_mappers import SymmetricTensorMapper as SymmetricTensorMapper
    from .spaces.fields import DiscreteField as DiscreteField
    from .spaces.fields import FieldLike as FieldLike
    from .spaces.fields import GeometryField as GeometryField
    from .spaces.fields import UniformField as UniformField
    from .spaces.fields import make_discrete_field as make_discrete_field
    from .spaces.fields import make_restriction as make_restriction
    from .spaces.fields import make_test as make_test
    from .spaces.fields import make_trial as make_trial
    from .spaces.function_fields import ImplicitField as ImplicitField
    from .spaces.function_fields import NonconformingField as NonconformingField
    from .spaces.point_space import PointBasisSpace as PointBasisSpace
    from .spaces.space_partitions import SpacePartition as SpacePartition
    from .spaces.space_partitions import SpaceRestriction as SpaceRestriction
    from .spaces.space_partitions import make_space_partition as make_space_partition
    from .spaces.space_partitions import make_space_restriction as make_space_restriction
    from .spaces.spaces import FunctionSpace as FunctionSpace
    from .spaces.spaces import make_collocated_function_space as make_collocated_function_space
    from .spaces.spaces import make_contravariant_function_space as make_contravariant_function_space
    from .spaces.spaces import make_covariant_function_space as make_covariant_function_space
    from .spaces.spaces import make_polynomial_space as make_polynomial_space

_OPERATORS = (
    "D at_node average cells curl deformation_gradient degree div div_outer element_closest_point",
    "element_coordinates element_index element_partition_index environment_index grad grad_average grad_jump",
    "grad_outer inner jump lookup measure measure_ratio node_count node_index node_inner_weight",
    "node_inner_weight_gradient node_outer_weight node_outer_weight_gradient node_partition_index normal outer",
    "partition_lookup position scalar_type to_cell_side to_inner_cell to_outer_cell",
)
_HOMES = {
    "cache": "Temporary TemporaryStore borrow_temporary borrow_temporary_like cache set_default_temporary_store",
    "adaptivity": "adaptive_nanogrid_from_field adaptive_nanogrid_from_hierarchy",
    "geometries.adaptive_grid": "AdaptiveNanogrid",
    "geometries.cell_geometry": "Geometry",
    "dirichlet": "normalize_dirichlet_projector project_linear_system project_system_matrix project_system_rhs",
    "domains.domains": "BoundarySides Cells FrontierSides GeometryDomain Sides Subdomain",
    "field": "field",
    "geometry": "geometry",
    "space": "space",
    "field_operators": " ".join(_OPERATORS),
    "spaces.dof_mappers": "DofMapper SkewSymmetricTensorMapper SymmetricTensorMapper",
    "spaces.fields": """DiscreteField FieldLike GeometryField UniformField make_discrete_field make_restriction
        make_test make_trial""",
    "geometries.grid_geometry": "Grid2D Grid3D",
    "geometries.lookup": "OUTSIDE make_free_sample",
    "geometries.partitions": """CellBasedGeometryPartition ExplicitGeometryPartition GeometryPartition
        LinearGeometryPartition""",
    "index_types": """Coords Coords_f64 ElementIndex ElementKind NULL_ELEMENT_INDEX NULL_NODE_INDEX NULL_QP_INDEX
        NodeIndex Operator QuadraturePointIndex""",
    "integrands": "Domain Field Integrand Sample Sample_f64 integrand",
    "integration": "integrate",
    "interpolation": "interpolate",
    "linalg": "linalg",
    "geometries.mesh_geometry": "Hexmesh Quadmesh2D Quadmesh3D Tetmesh Trimesh2D Trimesh3D",
    "polynomial": "Polynomial polynomial",
    "domains.point_quadratures": "ExplicitQuadrature PicQuadrature",
    "domains.quadratures": "NodalQuadrature Quadrature RegularQuadrature",
    "geometries.reference_cells": "Element",
    "geometries.shape_functions": "ElementBasis ShapeFunction",
    "geometries.sparse_grid": "Nanogrid",
    "spaces.space_partitions": "SpacePartition SpaceRestriction make_space_partition make_space_restriction",
    "spaces.function_fields": "ImplicitField NonconformingField",
    "spaces.point_space": "PointBasisSpace",
    "spaces.basis_spaces": """BasisSpace ShapeBasisSpace SpaceTopology make_element_based_space_topology
        make_element_shape_function make_polynomial_basis_space""",
    "spaces.spaces": """FunctionSpace make_collocated_function_space make_contravariant_function_space
        make_covariant_function_space make_polynomial_space""",
    "utils": "utils",
}
_MODULES = ("cache", "field", "geometry", "linalg", "polynomial", "space", "utils")
__all__ = [name for names in _HOMES.values() for name in names.split() if name not in _MODULES]
__getattr__ = loader(__name__, _HOMES, globals())


def __dir__() -> list[str]:
    return [*__all__, *_MODULES]
