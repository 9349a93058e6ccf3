"""`fem.scalar_type`: integrands make numbers of the type of a geometry or a field."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp
import omni.warp_core.fem as fem

THIRD = {wp.float32: float(np.float32(1.0 / 3.0)), wp.float64: 1.0 / 3.0}  # as the type rounds it


@wp.func
def product(x: Any, y: Any):
    return x * y


@fem.integrand
def by_domain(s: fem.Sample, domain: fem.Domain):
    third = fem.scalar_type(domain)(1.0) / fem.scalar_type(domain)(3.0)
    return wp.float64(third)


@fem.integrand
def by_field(s: fem.Sample, u: fem.Field):
    number = fem.scalar_type(u)
    return wp.float64(product(number(1.0) / number(3.0), u(s)))


@fem.integrand
def by_vectors(s: fem.Sample, u: fem.Field):
    return wp.float64(product(u(s), fem.scalar_type(u)(1.0) / fem.scalar_type(u)(3.0))[0])


@fem.integrand
def load(s: fem.Sample, domain: fem.Domain, v: fem.Field):
    return product(fem.scalar_type(v)(3.0), v(s)) * fem.measure_ratio(domain, s)


@fem.integrand
def gather(s: fem.Sample, u: fem.Field, out: wp.array(dtype=Any)):
    out[s.qp_index] = product(fem.scalar_type(u)(3.0), u(s))


@pytest.mark.parametrize("scalar", [wp.float32, wp.float64])
def test_numbers_have_the_type_of_the_geometry(scalar):
    geo = fem.Grid2D(res=(2, 2), scalar_type=scalar)
    cells, vector = fem.Cells(geo), wp.vec2 if scalar is wp.float32 else wp.vec2d
    u = fem.make_polynomial_space(geo).make_field()
    u.dof_values.fill_(1.0)
    w = fem.make_polynomial_space(geo, dtype=vector).make_field()
    w.dof_values.fill_(vector(1.0, 2.0))
    options = {"output_dtype": wp.float64}
    one = scalar(1.0)
    uniform = fem.UniformField(cells, one)
    implicit = fem.ImplicitField(cells, always_one)
    for found in (
        fem.integrate(by_domain, domain=cells, **options),
        *(fem.integrate(by_field, domain=cells, fields={"u": f}, **options) for f in (u, uniform, implicit)),
        fem.integrate(by_vectors, domain=cells, fields={"u": w}, **options),
    ):
        assert found == pytest.approx(THIRD[scalar], rel=1e-14)


@wp.func
def always_one(x: Any):
    return type(x[0])(1.0)


@pytest.mark.parametrize("scalar", [wp.float32, wp.float64])
def test_test_fields_and_particles_have_it(scalar):
    geo = fem.Grid2D(res=(2, 2), scalar_type=scalar)
    space = fem.make_polynomial_space(geo)
    for domain, size in ((fem.Cells(geo), 3.0), (fem.BoundarySides(geo), 3.0 * 4.0 * 2.0)):
        found = fem.integrate(load, fields={"v": fem.make_test(space, domain=domain)})
        assert found.dtype is scalar
        assert found.numpy().sum() == pytest.approx(size, rel=1e-6)
    vector = wp.vec2 if scalar is wp.float32 else wp.vec2d
    pic = fem.PicQuadrature(fem.Cells(geo), wp.array([(0.2, 0.3), (0.9, 0.9)], dtype=vector))
    carried = fem.make_collocated_function_space(fem.PointBasisSpace(pic), dtype=scalar).make_field()
    carried.dof_values = [1.0, 2.0]
    out = wp.zeros(2, dtype=scalar)
    fem.interpolate(gather, at=pic, fields={"u": carried}, values={"out": out})
    assert out.list() == [3.0, 6.0]


@fem.integrand
def by_sample(s: fem.Sample):
    return fem.scalar_type(s)(0.5)


@fem.integrand
def literal(s: fem.Sample, u: fem.Field):
    return product(u(s), 0.5)


def test_what_has_no_type_of_numbers_is_told():
    """warp-lang refuses both, too."""
    geo = fem.Grid2D(res=(2, 2), scalar_type=wp.float64)
    with pytest.raises(wp.CompileError, match=r"`s` is Sample2in2, which has no `fem.scalar_type\(u\)`"):
        fem.integrate(by_sample, domain=fem.Cells(geo))
    u = fem.make_polynomial_space(geo).make_field()
    with pytest.raises(wp.CompileError, match="float32"):
        fem.integrate(literal, fields={"u": u}, domain=fem.Cells(geo))
