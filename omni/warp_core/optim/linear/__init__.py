"""`wp.optim.linear`: iterative solvers of linear systems, sparse and dense.

Start with conjugate.py over solver_state.py; stabilized.py and generalized.py are for matrices that are not symmetric.
Public names are loaded when they are first used, as they load kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...optional_names import loader

if TYPE_CHECKING:
    from .conjugate import CG as CG
    from .conjugate import CR as CR
    from .conjugate import cg as cg
    from .conjugate import cr as cr
    from .fsai import FSAI as FSAI
    from .generalized import GMRES as GMRES
    from .generalized import gmres as gmres
    from .linear_operator import LinearOperator as LinearOperator
    from .linear_operator import aslinearoperator as aslinearoperator
    from .preconditioners import preconditioner as preconditioner
    from .solver_state import LinearSolverState as LinearSolverState
    from .stabilized import BiCGSTAB as BiCGSTAB
    from .stabilized import bicgstab as bicgstab

_HOMES = {
    "conjugate": "CG CR cg cr",
    "fsai": "FSAI",
    "generalized": "GMRES gmres",
    "linear_operator": "LinearOperator aslinearoperator",
    "preconditioners": "preconditioner",
    "solver_state": "LinearSolverState",
    "stabilized": "BiCGSTAB bicgstab",
}
__all__ = [name for names in _HOMES.values() for name in names.split()]
_load = loader(__name__, _HOMES, globals())


def __getattr__(name: str) -> Any:
    return _load(name)


def __dir__() -> list[str]:
    return __all__
