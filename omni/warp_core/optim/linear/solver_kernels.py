"""The kernels of solvers. Numbers of vectors are of any float type; those of systems, one for each, are of float32 or
float64.

`owner` says which system a number of a vector belongs to: -1 for none, None for one system.
"""

# Annotations are values here: the types of kernels.
# mypy: disable-error-code="valid-type"

from typing import Any

from ... import max, tid
from ...arrays.array import array1d
from ...lang.kernel import func, kernel
from ...lang.values.scalars import float64, int32

OPTIONS: dict[str, Any] = {"enable_backward": False, "module_options": {"mode": "release"}}


@func
def ratio(a: Any, b: Any) -> Any:
    """A quotient, 0 where the divisor is: a method that has ended goes no further."""
    result = type(a)(0)
    if b != type(a)(0):
        result = a / b
    return result


@func
def system_of(owner: array1d(dtype=int), i: int) -> int:
    """The system of a number."""
    if owner:
        return owner[i]
    return 0


@kernel(**OPTIONS)
def find_owners(offsets: array1d(dtype=int), owner: array1d(dtype=int)):
    """Write the system of each of its numbers."""
    system = tid()
    for i in range(offsets[system], offsets[system + 1]):
        owner[i] = system


@func
def numbers_of(offsets: array1d(dtype=int), size: int, system: int):
    """Where the numbers of a system begin and end."""
    if offsets:
        return offsets[system], offsets[system + 1]
    return 0, size


@kernel(**OPTIONS)
def dot_systems(
    offsets: array1d(dtype=int), size: int, a: array1d(dtype=Any), b: array1d(dtype=Any), out: array1d(dtype=Any)
):
    """Write the dot product of two vectors in each system, summed in float64."""
    system = tid()
    start, end = numbers_of(offsets, size, system)
    total = float64(0.0)
    for i in range(start, end):
        total += float64(a[i]) * float64(b[i])
    out[system] = out.dtype(total)


@kernel(**OPTIONS)
def set_tolerances(squares: array1d(dtype=Any), relative: float64, absolute: float64, tolerances: array1d(dtype=Any)):
    """Write the square of the residual at which a system counts as solved."""
    system = tid()
    bound = max(relative * relative * float64(squares[system]), absolute * absolute)
    tolerances[system] = tolerances.dtype(bound)


@kernel(**OPTIONS)
def check_systems(
    residuals: array1d(dtype=Any),
    tolerances: array1d(dtype=Any),
    step: int,
    most: int,
    iteration: array1d(dtype=int32),
    goes_on: array1d(dtype=int32),
):
    """Count iterations, and find whether a system is not solved yet."""
    iteration[0] = iteration[0] + step
    worst = 0
    for system in range(residuals.shape[0]):
        if residuals[system] > tolerances[system]:
            worst = 1
    goes_on[0] = worst if iteration[0] < most else 0


@kernel(**OPTIONS)
def advance(
    owner: array1d(dtype=int),
    x: array1d(dtype=Any),
    p: array1d(dtype=Any),
    r: array1d(dtype=Any),
    q: array1d(dtype=Any),
    above: array1d(dtype=Any),
    below: array1d(dtype=Any),
):
    """Go a step along `p`, which changes the residual by `q`: the quotient of two products is its length."""
    i = tid()
    system = system_of(owner, i)
    if system < 0:
        return
    step = ratio(above[system], below[system])
    x[i] = x.dtype(above.dtype(x[i]) + step * above.dtype(p[i]))
    r[i] = r.dtype(above.dtype(r[i]) - step * above.dtype(q[i]))


@kernel(**OPTIONS)
def subtract(
    owner: array1d(dtype=int),
    r: array1d(dtype=Any),
    q: array1d(dtype=Any),
    above: array1d(dtype=Any),
    below: array1d(dtype=Any),
):
    """Subtract a multiple of a vector: the quotient of two products is the factor."""
    i = tid()
    system = system_of(owner, i)
    if system >= 0:
        r[i] = r.dtype(above.dtype(r[i]) - ratio(above[system], below[system]) * above.dtype(q[i]))


@kernel(**OPTIONS)
def turn(
    owner: array1d(dtype=int),
    p: array1d(dtype=Any),
    z: array1d(dtype=Any),
    above: array1d(dtype=Any),
    below: array1d(dtype=Any),
):
    """Let the next direction be `z` and a multiple of the last one."""
    i = tid()
    system = system_of(owner, i)
    if system >= 0:
        p[i] = p.dtype(above.dtype(z[i]) + ratio(above[system], below[system]) * above.dtype(p[i]))


@kernel(**OPTIONS)
def stabilize(
    owner: array1d(dtype=int),
    x: array1d(dtype=Any),
    r: array1d(dtype=Any),
    y: array1d(dtype=Any),
    z: array1d(dtype=Any),
    t: array1d(dtype=Any),
    rho: array1d(dtype=Any),
    rv: array1d(dtype=Any),
    ts: array1d(dtype=Any),
    tt: array1d(dtype=Any),
):
    """Go along both directions of an iteration of BiCGSTAB."""
    i = tid()
    system = system_of(owner, i)
    if system < 0:
        return
    alpha = ratio(rho[system], rv[system])
    omega = ratio(ts[system], tt[system])
    x[i] = x.dtype(rho.dtype(x[i]) + alpha * rho.dtype(y[i]) + omega * rho.dtype(z[i]))
    r[i] = r.dtype(rho.dtype(r[i]) - omega * rho.dtype(t[i]))


@kernel(**OPTIONS)
def turn_stabilized(
    owner: array1d(dtype=int),
    p: array1d(dtype=Any),
    r: array1d(dtype=Any),
    v: array1d(dtype=Any),
    new_rho: array1d(dtype=Any),
    rho: array1d(dtype=Any),
    rv: array1d(dtype=Any),
    ts: array1d(dtype=Any),
    tt: array1d(dtype=Any),
):
    """Find the next direction of BiCGSTAB."""
    i = tid()
    system = system_of(owner, i)
    if system < 0:
        return
    omega = ratio(ts[system], tt[system])
    beta = ratio(new_rho[system], rho[system]) * ratio(ratio(rho[system], rv[system]), omega)
    p[i] = p.dtype(rho.dtype(r[i]) + beta * (rho.dtype(p[i]) - omega * rho.dtype(v[i])))
