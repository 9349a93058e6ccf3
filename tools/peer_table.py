"""Writes tests/lib/peer.txt: which calls warp-lang takes, over all scalar types, and what comes out of them.

    PYTHONPATH=. python tools/peer_table.py tests/lib/peer.txt [TEXT ...]

runs in an environment that has warp-lang 1.19 and takes about half an hour for everything; with TEXT, only calls that
contain one of these texts are tried. The library is a black box here. Whether it takes a call, and the type of the
result, is in its answer to a kernel that passes the result on to a function that takes nothing (`answer`). Which calls
to try is in `forms` (every function with arguments of all shapes) and `written` (calls that need more).
"""

from __future__ import annotations

import contextlib
import io
import itertools
import linecache
import re
import sys
from collections.abc import Callable, Iterator

import warp as wp

from tests.lib import calls
from tests.lib.calls import Row

SHAPES = "{0} vec2<{0}> vec3<{0}> vec4<{0}> vec5<{0}> vec6<{0}> mat2x2<{0}> mat3x3<{0}> mat4x4<{0}> mat2x3<{0}>"
SHAPES = (SHAPES + " mat3x2<{0}> mat6x6<{0}> quat<{0}> transform<{0}>").split()
FEW = [SHAPES[i] for i in (0, 2, 3, 7, 8, 12, 13)]
FLOATS = ("f16", "f32", "f64", "bf16")
SUFFIXES = {"f16": "h", "f32": "f", "f64": "d", "bf16": "bf", "i8": "b", "i16": "s", "i32": "i", "i64": "l"}
SUFFIXES |= {"u8": "ub", "u16": "us", "u32": "ui", "u64": "ul"}
PLAIN = {name: key for key, name in calls.SCALARS.items()}
_NAMES = """
abs acos add argmax argmin asin atan atan2 bit_and bit_count bit_or bit_xor cbrt ceil clamp copysign cos cosh cross
cw_div cw_mul ddot degrees determinant diag div div_approx dot eig3 erf erfc erfcinv erfinv exp floor floordiv frac
get_diag inverse inverse_approx invert isfinite isinf isnan length length_sq lerp log log10 log2 lshift max min mod mul
neg noise nonzero norm_huber norm_l1 norm_l2 norm_pseudo_huber normalize outer pnoise poisson pos pow qr3
quat_between_vectors quat_from_axis_angle quat_from_matrix quat_inverse quat_rotate quat_rotate_inv quat_rpy quat_slerp
quat_to_axis_angle quat_to_matrix quat_to_rpy quat_twist quat_twist_angle quat_twist_angle_signed radians rand_init
randf randi randn randu rint round rshift sample_triangle sample_unit_cube sample_unit_disk sample_unit_hemisphere
sample_unit_hemisphere_surface sample_unit_ring sample_unit_sphere sample_unit_sphere_surface sample_unit_square sign
sin sinh skew smooth_normalize smoothstep spatial_adjoint spatial_bottom spatial_cross spatial_cross_dual spatial_dot
spatial_top sqrt step sub svd2 svd3 tan tanh trace transform_compose transform_decompose transform_from_matrix
transform_get_rotation transform_get_translation transform_inverse transform_multiply transform_point
transform_to_matrix transform_twist transform_vector transform_wrench transpose trunc unot velocity_at_point where
"""
_OPERATORS = "+ - * / // % ** @ & | ^ << >>"

# -- asking ---------------------------------------------------------------------------------------------------------

_serial = itertools.count()


def answer(expression: str, args: tuple[str, ...]) -> tuple[str, ...] | None:
    """The types of the results of a call, or None if it is refused."""
    params = ", ".join(f"a{i}: T{i}" for i in range(len(args)))
    text = f"def asked({params}):\n    r = {expression}\n    wp.quat_slerp(r)\n"
    file = f"<asked {next(_serial)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    types = [calls.type_of(wp, key) for key in args]
    space = {"wp": wp, **{f"T{i}": t for i, t in enumerate(types)}}
    exec(compile(text, file, "exec"), space)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            wp.launch(wp.kernel(space["asked"], module="unique"), dim=1, inputs=[t() for t in types], device="cpu")
    except Exception as why:
        found = re.search(r"wp\.quat_slerp\(r\).*with types: \[(.*?)\]?['\")]*$", str(why), re.DOTALL)
        return tuple(map(_key, _parts(found[1]))) if found else None
    finally:
        del linecache.cache[file]
    return None


def _parts(text: str) -> list[str]:
    inner = text.removeprefix("tuple(").removesuffix(")") if text.startswith("tuple(") else text
    if inner == text:
        return [text]
    return re.findall(r"\w+(?:\([^)]*\)+)?", inner)


def _key(text: str) -> str:
    """The key of a type that is spelled vec3f, mat22h, matrix(shape=(2, 3), dtype=int8) and so on."""
    text = text.strip().replace("warp._src.types.", "")
    if text in PLAIN:
        return PLAIN[text]
    numbers, dtype = re.findall(r"\d+", text.partition("dtype")[0]), re.search(r"dtype=(\w+)", text)
    head = re.match(r"vec|mat|quat|transform", text)
    if head is None:
        raise ValueError(f"unknown type {text!r}")
    if dtype is None:
        suffix = re.sub(r"^(vec|mat|quat|transform)\d*", "", text)
        scalar = next(key for key, s in SUFFIXES.items() if s == suffix)
        numbers = list(numbers[0]) if numbers else []
    else:
        scalar = PLAIN[dtype[1]]
    return f"{head[0]}{'x'.join(numbers)}<{scalar}>"


# -- what is tried --------------------------------------------------------------------------------------------------


def forms(expression_of: Callable[[int], str | None]) -> Iterator[Row]:
    """What is taken of a function of one to three arguments, of all shapes and scalar types."""

    def ask(args: tuple[str, ...]) -> Iterator[Row]:
        expression = expression_of(len(args))
        results = answer(expression, args) if expression else None
        if expression and results:
            yield Row(expression, args, results)

    for scalar in calls.SCALARS:
        for shape in SHAPES:
            yield from ask((shape.format(scalar),))
    shapes = [*itertools.product(SHAPES, repeat=2), *itertools.product([*FEW, "bool", "u32", "i32"], repeat=3)]
    for some in shapes:
        probes = ("f32", "i32", "u32", "bool") if len(some) == 2 else ("f32", "i32")
        if any([*ask(tuple(s.format(p) for s in some))] for p in probes):
            for scalar in calls.SCALARS:
                yield from ask(tuple(s.format(scalar) for s in some))
    mixed = [s.format(p) for s in ("{0}", "vec3<{0}>") for p in ("f32", "i8", "i32", "u32", "bool")]
    for pair in itertools.product(mixed, repeat=2):
        if calls.scalar_of(pair[0]) != calls.scalar_of(pair[1]):
            yield from ask(pair)


def _arguments(count: int) -> str:
    return ", ".join(f"a{i}" for i in range(count))


def _written(s: str) -> Iterator[tuple[str, ...]]:
    """Calls of scalar type `s`, each with its argument types: constructors, conversions, more than three arguments."""
    name, v, q = calls.SCALARS[s], f"vec3<{s}>", f"quat<{s}>"
    for other in calls.SCALARS:
        yield f"wp.{name}(a0)", other
        yield f"wp.cast(a0, wp.{calls.SCALARS[other]})", s
        yield "wp.where(a0, a1, a2)", s, other, other
    if s in SUFFIXES and s != "bf16":
        for n in (2, 3, 4):
            vec = f"wp.vec{n}{SUFFIXES[s]}"
            yield (f"{vec}()",)
            yield f"{vec}(a0)", s
            yield f"{vec}({_arguments(n)})", *[s] * n
            yield from ((f"{vec}(a0)", f"vec{n}<{o}>") for o in ("f32", "i32", "f64", "f16", "u8"))
    if s in ("f16", "f32", "f64"):
        x = SUFFIXES[s]
        yield from ((f"wp.mat{n}{n}{x}(a0)", f"mat{n}x{n}<{o}>") for n in (2, 3, 4) for o in ("f16", "f32", "f64"))
        yield from ((f"wp.mat{n}{n}{x}({_arguments(n * n)})", *[s] * n * n) for n in (2, 3))
        yield from ((f"wp.mat{n}{n}{x}(a0)", s) for n in (2, 3, 4))
        yield f"wp.quat{x}({_arguments(4)})", s, s, s, s
        yield f"wp.quat{x}(a0, a1)", v, s
        yield f"wp.transform{x}(a0, a1)", v, q
        yield f"wp.transform{x}(p=a0, q=a1)", v, q
        yield f"wp.transform{x}(a0)", v
        yield f"wp.transform{x}(a0)", f"vec7<{s}>"
        yield f"wp.spatial_vector{x}({_arguments(6)})", *[s] * 6
        yield f"wp.spatial_vector{x}(a0, a1)", v, v
    if s == "f32":
        yield "wp.spatial_vector(a0, a1)", v, v
        yield "wp.spatial_vector(w=a0, v=a1)", v, v
        yield from _noise()
    yield from ((f"wp.vector({_arguments(n)})", *[s] * n) for n in (2, 3, 4, 5, 7))
    yield from ((f"wp.identity(n={n}, dtype=wp.{name})",) for n in (1, 2, 3, 4, 6))
    for rows, cols in ((2, 2), (3, 2), (2, 3), (3, 3), (4, 4), (4, 2)):
        yield f"wp.matrix_from_rows({_arguments(rows)})", *[f"vec{cols}<{s}>"] * rows
        yield f"wp.matrix_from_cols({_arguments(rows)})", *[f"vec{cols}<{s}>"] * rows
    yield f"wp.vector(a0, length=3, dtype=wp.{name})", s
    yield f"wp.vector(a0, dtype=wp.{name})", "vec3<f32>"
    yield "wp.matrix(a0, shape=(2, 3))", s
    yield f"wp.matrix({_arguments(6)}, shape=(2, 3))", *[s] * 6
    yield f"wp.matrix(a0, dtype=wp.{name})", "mat2x3<f32>"
    yield from ((f"wp.{f}(dtype=wp.{name})",) for f in ("quat_identity", "transform_identity", "quaternion"))
    yield "wp.quaternion(a0, a1)", v, s
    yield "wp.transformation(a0, a1)", v, q
    yield "wp.transformation(p=a0, q=a1)", v, q
    yield from ((f"wp.quat_{f}_euler(a0, {ijk})", v if f == "from" else q) for f in ("from", "to") for ijk in _AXES)
    yield "wp.closest_point_edge_edge(a0, a1, a2, a3, a4)", v, v, v, v, s
    yield "wp.intersect_tri_tri(a0, a1, a2, a3, a4, a5)", v, v, v, v, v, v
    yield from (("wp.len(a0)", t) for t in (v, f"mat3x2<{s}>", q, f"transform<{s}>"))
    yield from ((f"{f}(a0)", s) for f in ("abs", "int", "float", "bool", "not "))
    yield from ((f"a0 {op} a1", s, s) for op in ("==", "<", "<=", ">", ">="))
    yield from ((f"a0[{i}]", t) for i in (0, 1, -1) for t in (v, q, f"mat2x3<{s}>"))


_AXES = ("0, 1, 2", "2, 1, 2", "1, 2, 1", "2, 1, 0", "1, 0, 2")


def _noise() -> Iterator[tuple[str, ...]]:
    for n in (2, 3, 4):
        v = f"vec{n}<f32>"
        yield f"wp.pnoise(a0, {', '.join(f'a{i}' for i in range(1, n + 2))})", "u32", v, *["i32"] * n
        yield "wp.curlnoise(a0, a1)", "u32", v
        yield "wp.curlnoise(a0, a1, a2, a3, a4)", "u32", v, "u32", "f32", "f32"
        yield "wp.curlnoise(a0, a1, octaves=a2, lacunarity=a3, gain=a4)", "u32", v, "u32", "f32", "f32"
    for name in ("randi", "randu"):
        yield from ((f"wp.{name}(a0, a1, a2)", "u32", t, t) for t in ("i32", "u32"))
    yield "wp.randf(a0, a1, a2)", "u32", "f32", "f32"


def written() -> Iterator[Row]:
    """What is taken of the calls that are written out here."""
    for s in calls.SCALARS:
        for expression, *args in _written(s):
            results = answer(expression, tuple(args))
            if results:
                yield Row(expression, tuple(args), results)


def _function(name: str) -> Callable[[int], str]:
    return lambda count: f"wp.{name}({_arguments(count)})"


def _operator(symbol: str) -> Callable[[int], str | None]:
    return lambda count: f"a0 {symbol} a1" if count == 2 else None


def tried(wanted: list[str]) -> Iterator[Row]:
    """Every call that is taken."""
    for name in _NAMES.split():
        if not wanted or any(text in f"wp.{name}(" for text in wanted):
            yield from forms(_function(name))
    for symbol in _OPERATORS.split():
        if not wanted or f"a0 {symbol} a1" in wanted:
            yield from forms(_operator(symbol))
    if not wanted:
        yield from written()


# -- results --------------------------------------------------------------------------------------------------------


def valued(rows: list[Row]) -> Iterator[Row]:
    """The rows with their numbers; those whose kernels do not build are left out."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            found = calls.run(wp, rows)
    except Exception:
        half = len(rows) // 2
        if half:
            yield from valued(rows[:half])
            yield from valued(rows[half:])
        return
    for row, values in zip(rows, found):
        yield row._replace(values=values)


def _here(row: Row) -> bool:
    """Whether the types exist here: quaternions and transforms have float components."""
    keys = (*row.args, *row.results)
    return all(calls.scalar_of(k) in FLOATS for k in keys if k.startswith(("quat", "transform")))


def main() -> None:
    """The command."""
    wp.config.enable_backward = False
    wp.config.optimization_level = 0
    wp.init()
    rows = {(r.expression, r.args): r for r in tried(sys.argv[2:]) if _here(r)}
    ordered = sorted(rows.values(), key=lambda r: r.expression)
    batches = [ordered[i : i + 40] for i in range(0, len(ordered), 40)]
    lines = calls.render(row for batch in batches for row in valued(batch))
    with open(sys.argv[1], "w") as out:
        out.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()
