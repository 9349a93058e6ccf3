"""Attribute types: names, USD spellings, NumPy forms."""

import re
from pathlib import Path

import numpy as np
import pytest
from pxr import Sdf

import omni.warp_core as wp
from omni.warp_core.lang.annotations import type_or_none
from omni.warp_core.nodes.values.array_elements import element_type
from omni.warp_core.nodes.values.attribute_types import BASES, UNION_GROUPS, TypeNameError, from_sdf, parse, parse_union

# name, USD name, NumPy dtype, shape of one element: table 2.3 of the format, row by row
TABLE = [
    ("bool", "bool", "bool", ()),
    ("uchar", "uchar", "uint8", ()),
    ("int", "int", "int32", ()),
    ("int[3]", "int3", "int32", (3,)),
    ("int64", "int64", "int64", ()),
    ("uint", "uint", "uint32", ()),
    ("uint64", "uint64", "uint64", ()),
    ("half[3]", "half3", "float16", (3,)),
    ("float[2]", "float2", "float32", (2,)),
    ("double[4]", "double4", "float64", (4,)),
    ("timecode", "timecode", "float64", ()),
    ("objectId", "uint64", "uint64", ()),
    ("colorf[3]", "color3f", "float32", (3,)),
    ("colord[4]", "color4d", "float64", (4,)),
    ("colorh[3]", "color3h", "float16", (3,)),
    ("normalf[3]", "normal3f", "float32", (3,)),
    ("pointf[3]", "point3f", "float32", (3,)),
    ("vectord[3]", "vector3d", "float64", (3,)),
    ("texcoordf[2]", "texCoord2f", "float32", (2,)),
    ("texcoordf[3]", "texCoord3f", "float32", (3,)),
    ("quatf[4]", "quatf", "float32", (4,)),
    ("quatd[4]", "quatd", "float64", (4,)),
    ("matrixd[2]", "matrix2d", "float64", (2, 2)),
    ("matrixd[4]", "matrix4d", "float64", (4, 4)),
    ("frame[4]", "frame4d", "float64", (4, 4)),
]


@pytest.mark.parametrize(("name", "sdf", "dtype", "shape"), TABLE, ids=[row[0] for row in TABLE])
@pytest.mark.parametrize("array", ["", "[]"])
def test_table(name, sdf, dtype, shape, array):
    t = parse(name + array)
    assert (t.sdf, str(t.dtype), t.shape, t.is_array) == (sdf + array, dtype, shape, bool(array))
    assert str(t) == name + array
    assert Sdf.ValueTypeNames.Find(t.sdf), "USD knows the name"


def test_every_usd_name_leads_back_to_a_type_of_that_name():
    for base, info in BASES.items():
        for n in info.tuples if info.sdf != "rel" else ():
            t = parse(f"{base}[{n}]" if n > 1 else base)
            assert from_sdf(t.sdf).sdf == t.sdf


@pytest.mark.parametrize("name", ["string", "path", "token", "execution", "target", "bundle", "any"])
def test_types_without_numbers(name):
    assert str(parse(name)) == name
    assert not parse(name).is_numeric


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("colour", "no attribute type"),
        ("matrixd", "matrixd[2], matrixd[3], matrixd[4]"),
        ("pointf[2]", "size"),
        ("string[]", "cannot be an array"),
        ("bundle[]", "cannot be an array"),
        ("int[5]", "does not have this size"),
        ("int[][]", "no attribute type"),
        ("", "no attribute type"),
        ("int[0]", "does not have this size"),
    ],
)
def test_wrong_names(name, words):
    with pytest.raises(TypeNameError) as error:
        parse(name)
    assert words in str(error.value)


def test_unions():
    t = parse_union(["float", "double[3]", "pointf[3][]"])
    assert t.is_any and t.members == (parse("float"), parse("double[3]"), parse("pointf[3][]"))
    numerics = parse_union(["numerics"]).members
    assert {parse("int"), parse("half[3][]"), parse("colord[4]")} <= set(numerics)
    assert parse("token") not in numerics and len(numerics) == len(set(numerics))
    with pytest.raises(TypeNameError):
        parse_union([])
    with pytest.raises(TypeNameError):
        parse_union(["float", 3])
    assert all(isinstance(np.dtype(t.dtype), np.dtype) for t in UNION_GROUPS["numerics"])


def test_the_page_gives_the_types_of_usd_ogn_and_kernels():
    page = (Path(__file__).parents[2] / "docs" / "nodes.md").read_text()
    table = page[page.index("| type in the `.usda` |") :].split("\n\n")[0].splitlines()[2:]
    rows = [[re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:4]] for line in table]
    assert sum(len(row[0]) for row in rows) >= 30
    for usd, ogn, kernel in (entry for row in rows for entry in zip(*row, strict=True)):
        found = from_sdf(usd)
        assert str(found) == ogn
        annotation = {"float": float, "int": int, "bool": bool}.get(kernel) or getattr(wp, kernel[3:])
        assert element_type(found) is type_or_none(annotation)
