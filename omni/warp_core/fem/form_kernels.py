"""Kernels of forms, one for each integrand and kind of form: a thread is an element, or for matrices a node of one.

A thread of a matrix is an element and a test node. It adds up a row of the element's matrix in memory of its own, so
that the test function is computed once for each point. The blocks of an element lie next to each other: a row of the
matrix, which sums up blocks of few elements, finds them in few places. Start with `matrix_kernel`.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from .. import tid, vec2i, zeros
from ..arrays.array import array, array3d
from ..lang.kernel import Kernel, kernel
from .integrands import Integrand, kept
from .kernel_records import basis_at, function_at, measure_at, points_of, sample_at, with_dofs_of


@kept
def scalar_kernel(integrand: Integrand, picks: tuple[int, ...], number: Any) -> Kernel:
    """The kernel that integrates over each element."""

    @kernel
    def integrate_elements(domain: Any, rest: Any, out: array(dtype=Any)):
        element = tid()
        total = number(0.0)
        for q in range(points_of(domain, element)):
            s = sample_at(domain, element, q)
            given = (s, domain, 0, 0, *rest)
            total += number(s.qp_weight * measure_at(s, domain)) * number(integrand(*[given[i] for i in picks]))
        out[element] = total

    return integrate_elements


@kept
def vector_kernel(integrand: Integrand, picks: tuple[int, ...], number: Any, components: int, tests: int) -> Kernel:
    """The kernel that integrates over each element for all test functions: node x element x component.

    Args:
        integrand: The integrand.
        picks: Which of the given things each of its parameters is.
        number: The type of sums.
        components: Components of the test field.
        tests: Test nodes of an element.
    """

    @kernel
    def integrate_tests(domain: Any, test: Any, rest: Any, out: array3d(dtype=Any)):
        element = tid()
        sums = zeros(tests * components, dtype=number)
        for q in range(points_of(domain, element)):
            s = sample_at(domain, element, q)
            weight = number(s.qp_weight * measure_at(s, domain))
            for i in range(tests):
                function = function_at(test, s, i)
                for c in range(components):
                    v = basis_at(test, s, i, c, function)
                    given = (with_dofs_of(s, vec2i(i, c), vec2i()), domain, v, 0, *rest)
                    sums[i * components + c] += weight * number(integrand(*[given[k] for k in picks]))
        for i in range(tests):
            for c in range(components):
                out[i, element, c] = out.dtype(sums[i * components + c])

    return integrate_tests


@kept
def matrix_kernel(
    integrand: Integrand, picks: tuple[int, ...], number: Any, rows: int, columns: int, trials: int
) -> Kernel:
    """The kernel that integrates over each element for each pair of a test and a trial function.

    Args:
        integrand: The integrand.
        picks: Which of the given things each of its parameters is.
        number: The type of sums.
        rows: Components of the test field.
        columns: Components of the trial field.
        trials: Trial nodes of an element.
    """

    @kernel
    def integrate_pairs(domain: Any, tests: int, test: Any, trial: Any, rest: Any, out: array3d(dtype=Any)):
        i, element = tid()
        sums = zeros(trials * rows * columns, dtype=number)
        for q in range(points_of(domain, element)):
            s = sample_at(domain, element, q)
            weight, function = number(s.qp_weight * measure_at(s, domain)), function_at(test, s, i)
            for j in range(trials):
                other = function_at(trial, s, j)
                for r in range(rows):
                    v = basis_at(test, s, i, r, function)
                    for c in range(columns):
                        pair = with_dofs_of(s, vec2i(i, r), vec2i(j, c))
                        given = (pair, domain, v, basis_at(trial, s, j, c, other), *rest)
                        found = number(integrand(*[given[k] for k in picks]))
                        sums[(j * rows + r) * columns + c] += weight * found
        for j in range(trials):
            for r in range(rows):
                for c in range(columns):
                    at = (element * tests + i) * trials + j
                    out[at, r, c] = out.dtype(sums[(j * rows + r) * columns + c])

    return integrate_pairs


@kernel
def put_number(total: array(dtype=Any), add: bool, out: array(dtype=Any)):
    """Set or add a number."""
    found = out.dtype(total[0])
    if add:
        found += out[0]
    out[0] = found
