"""`wp.sparse`: matrices of blocks, most of which are zero (BSR), and of numbers (CSR).

Start with matrix.py. An operation finds the rows of its result (grouping.py sorts), policies.py brings them into the
destination, and kernels that tapes record compute the values (block_kernels.py). Public names are loaded when they are
first used, as they load kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..optional_names import loader

if TYPE_CHECKING:
    from .combination import bsr_assign as bsr_assign
    from .combination import bsr_axpy as bsr_axpy
    from .combination import bsr_axpy_work_arrays as bsr_axpy_work_arrays
    from .combination import bsr_copy as bsr_copy
    from .combination import bsr_scale as bsr_scale
    from .compression import bsr_compress as bsr_compress
    from .creation import bsr_diag as bsr_diag
    from .creation import bsr_get_diag as bsr_get_diag
    from .creation import bsr_identity as bsr_identity
    from .creation import bsr_set_diag as bsr_set_diag
    from .creation import bsr_set_identity as bsr_set_identity
    from .creation import bsr_set_zero as bsr_set_zero
    from .creation import bsr_zeros as bsr_zeros
    from .matrix import BSR_STATUS_ROW_CAPACITY_EXCEEDED as BSR_STATUS_ROW_CAPACITY_EXCEEDED
    from .matrix import BSR_STATUS_SUCCESS as BSR_STATUS_SUCCESS
    from .matrix import BsrMatrix as BsrMatrix
    from .matrix import bsr_matrix_t as bsr_matrix_t
    from .matrix_product import bsr_mm as bsr_mm
    from .matrix_product import bsr_mm_work_arrays as bsr_mm_work_arrays
    from .rows import bsr_block_index as bsr_block_index
    from .rows import bsr_row_index as bsr_row_index
    from .transposition import bsr_set_transpose as bsr_set_transpose
    from .transposition import bsr_transposed as bsr_transposed
    from .triplets import BsrTripletMap as BsrTripletMap
    from .triplets import bsr_from_triplets as bsr_from_triplets
    from .triplets import bsr_set_from_mapped_values as bsr_set_from_mapped_values
    from .triplets import bsr_set_from_triplets as bsr_set_from_triplets
    from .vector_product import bsr_mv as bsr_mv

_HOMES = {
    "combination": "bsr_assign bsr_axpy bsr_axpy_work_arrays bsr_copy bsr_scale",
    "compression": "bsr_compress",
    "creation": "bsr_diag bsr_get_diag bsr_identity bsr_set_diag bsr_set_identity bsr_set_zero bsr_zeros",
    "matrix": "BSR_STATUS_ROW_CAPACITY_EXCEEDED BSR_STATUS_SUCCESS BsrMatrix bsr_matrix_t",
    "matrix_product": "bsr_mm bsr_mm_work_arrays",
    "rows": "bsr_block_index bsr_row_index",
    "transposition": "bsr_set_transpose bsr_transposed",
    "triplets": "BsrTripletMap bsr_from_triplets bsr_set_from_mapped_values bsr_set_from_triplets",
    "vector_product": "bsr_mv",
}
__all__ = [name for names in _HOMES.values() for name in names.split()]
__getattr__ = loader(__name__, _HOMES, globals())


def __dir__() -> list[str]:
    return __all__
