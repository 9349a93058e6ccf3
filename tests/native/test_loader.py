"""The ELF loader: what LLVM emits runs; anything damaged is an error, never a crash."""

import ctypes
import math
import subprocess
import sys

import numpy as np
import pytest

from tests.native.objects import COUNT, native, object_of

UNARY = [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "cbrt",
    "erf",
    "erfc",
    "tgamma",
    "lgamma",
    "floor",
    "ceil",
    "trunc",
    "fabs",
]
BINARY = ["pow", "atan2", "fmod", "remainder", "hypot", "copysign"]


def function(text: str, name: str, result, *args, **options):
    code = native.Code(object_of(text, **options))
    f = ctypes.CFUNCTYPE(result, *args)(code.address(name))
    f.code = code
    return f


def python_judge(name: str):
    extra = {"exp2": lambda x: 2.0**x, "cbrt": lambda x: math.copysign(abs(x) ** (1 / 3), x), "tgamma": math.gamma}
    return extra.get(name) or getattr(math, name)


PRECISIONS = (("", "double", ctypes.c_double, 1e-14), ("f", "float", ctypes.c_float, 1e-6))


def call_through(name: str, llvm_type: str, count: int) -> str:
    """The text of a function `f` that returns name(...) of its own `count` arguments."""
    types = ", ".join([llvm_type] * count)
    arguments = ", ".join(f"{llvm_type} %{i}" for i in range(count))
    return f"""
declare {llvm_type} @{name}({types})
define {llvm_type} @f({types}) {{
  %result = call {llvm_type} @{name}({arguments})
  ret {llvm_type} %result
}}"""


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_are_the_right_ones(name):
    x = 1.25 if name == "acosh" else 0.625
    for suffix, llvm_type, c_type, bound in PRECISIONS:
        f = function(call_through(name + suffix, llvm_type, 1), "f", c_type, c_type)
        assert math.isclose(f(x), python_judge(name)(x), rel_tol=bound)


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions_are_the_right_ones(name):
    for suffix, llvm_type, c_type, bound in PRECISIONS:
        f = function(call_through(name + suffix, llvm_type, 2), "f", c_type, c_type, c_type)
        for x, y in ((2.75, 1.5), (-2.75, 3.0), (7.5, -2.0)):
            assert math.isclose(f(x, y), python_judge(name)(x, y), rel_tol=bound)


def test_half_conversions_without_hardware_round_like_numpy():
    """Without F16C, LLVM calls helper functions for every conversion."""
    text = """
define void @narrow(ptr %x, ptr %y) { %a = load double, ptr %x
 %b = fptrunc double %a to half
 store half %b, ptr %y
 ret void }
define void @widen(ptr %x, ptr %y) { %a = load half, ptr %x
 %b = fpext half %a to float
 store float %b, ptr %y
 ret void }"""
    code = native.Code(object_of(text, features="-f16c"))
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    narrow, widen = call(code.address("narrow")), call(code.address("widen"))
    rng = np.random.default_rng(3)
    special = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        65504.0,
        65519.999,
        65520.0,
        2**-24,
        2**-25,
        2**-25 * 1.0001,
        6e-8,
        1e300,
        1e-300,
    ]
    x = np.concatenate([special, rng.standard_normal(3000) * 2.0 ** rng.integers(-26, 17, 3000)])
    ours = np.zeros(x.size, np.float16)
    for i in range(x.size):
        narrow(x[i:].ctypes.data, ours[i:].ctypes.data)
    with np.errstate(over="ignore"):
        assert np.array_equal(ours.view(np.uint16), x.astype(np.float16).view(np.uint16))
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    wide = np.zeros(halves.size, np.float32)
    for i in range(0, halves.size, 37):
        widen(halves[i:].ctypes.data, wide[i:].ctypes.data)
    assert np.array_equal(wide[::37], halves[::37].astype(np.float32), equal_nan=True)


SWITCH = """
@table = internal constant [4 x i32] [i32 5, i32 6, i32 7, i32 8]
@counter = internal global i32 40
@zeros = internal global [100 x i32] zeroinitializer
define i32 @pick(i32 %i) {
  switch i32 %i, label %other [ i32 0, label %a
    i32 1, label %b
    i32 2, label %c
    i32 3, label %d
    i32 4, label %e ]
a: ret i32 17
b: %old = load i32, ptr @counter
  %new = add i32 %old, 1
  store i32 %new, ptr @counter
  ret i32 %new
c: %p = getelementptr [4 x i32], ptr @table, i32 0, i32 %i
  %v = load i32, ptr %p
  ret i32 %v
d: %z = load i32, ptr getelementptr ([100 x i32], ptr @zeros, i32 0, i32 99)
  ret i32 %z
e: %t = call i32 @twice(i32 %i)
  ret i32 %t
other: ret i32 -1
}
define i32 @twice(i32 %i) noinline { %t = mul i32 %i, 2
 ret i32 %t }
"""


@pytest.mark.parametrize("reloc", ["pic", "static"])
def test_constants_data_jump_tables_and_calls(reloc):
    pick = function(SWITCH, "pick", ctypes.c_int32, ctypes.c_int32, reloc=reloc)
    assert [pick(i) for i in (0, 1, 1, 2, 3, 4, 5)] == [17, 41, 42, 7, 0, 8, -1]


def test_the_addresses_of_external_functions():
    text = """
declare float @sinf(float)
define ptr @f() { ret ptr @sinf }
define i1 @same() {
  %p = call ptr @f()
  %c = icmp eq ptr %p, @sinf
  ret i1 %c
}"""
    code = native.Code(object_of(text))
    assert ctypes.CFUNCTYPE(ctypes.c_bool)(code.address("same"))()
    sine = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(ctypes.CFUNCTYPE(ctypes.c_void_p)(code.address("f"))())
    assert math.isclose(sine(1.0), math.sin(1.0), rel_tol=1e-6)


def test_symbols_and_unknown_names():
    code = native.Code(object_of(SWITCH))
    assert code.symbols.keys() == {"pick", "twice"}
    assert code.address("pick") == code.symbols["pick"]
    with pytest.raises(native.LoadError, match="no symbol absent"):
        code.address("absent")


def test_an_unknown_function_is_named():
    with pytest.raises(native.LoadError, match="unknown function launch_rockets"):
        native.Code(
            object_of("declare void @launch_rockets()\ndefine void @f() { call void @launch_rockets()\n ret void }")
        )


@pytest.mark.parametrize("text", ["@x = thread_local global i32 1", "@x = common global i32 0"])
def test_unsupported_objects_are_refused(text):
    with pytest.raises(native.LoadError):
        native.Code(object_of(text + "\ndefine ptr @f() { ret ptr @x }"))


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF" + bytes(60), bytes(1000), b"x" * 1000])
def test_other_files_are_refused(data):
    with pytest.raises(native.LoadError):
        native.Code(data)


def rights_at(address: int) -> str:
    with open("/proc/self/maps") as maps:
        for line in maps:
            low, high = (int(x, 16) for x in line.split()[0].split("-"))
            if low <= address < high:
                return line.split()[1]
    raise AssertionError("not mapped")


def test_code_cannot_be_written_and_data_cannot_be_run():
    text = SWITCH + "define ptr @data() { ret ptr @counter }\ndefine ptr @constant() { ret ptr @table }"
    code = native.Code(object_of(text))
    address = {name: ctypes.CFUNCTYPE(ctypes.c_void_p)(code.address(name))() for name in ("data", "constant")}
    assert rights_at(code.address("pick")) == "r-xp"
    assert rights_at(address["data"]) == "rw-p"
    assert rights_at(address["constant"]) == "r--p"


FUZZ = """
import importlib, random, sys
sys.path.insert(0, sys.argv[1])
native = importlib.import_module("omni.warp_core._native")
seed, rounds = int(sys.argv[2]), int(sys.argv[3])
good = sys.stdin.buffer.read()
rng = random.Random(seed)
EDGES = (0, 1, 7, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1)
tables = int.from_bytes(good[40:48], "little")  # section headers: half of the damage goes there
loaded = refused = 0
for _ in range(rounds):
    data = bytearray(good)
    if rng.random() < 0.2:
        data = data[: rng.randrange(len(data))]
    for _ in range(rng.choice((0, 1, 1, 2, 4, 16))):
        width = rng.choice((1, 2, 4, 8))
        low = tables if rng.random() < 0.5 and tables + width < len(data) else 0
        if len(data) <= low + width:
            break
        at = rng.randrange(low, len(data) - width)
        value = rng.choice(EDGES) if rng.random() < 0.6 else rng.getrandbits(64)
        data[at : at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
    try:
        native.Code(bytes(data)).symbols
        loaded += 1
    except (native.LoadError, MemoryError):
        refused += 1
print(loaded, refused)
"""


@pytest.mark.parametrize("text", [SWITCH, COUNT], ids=["switch", "count"])
@pytest.mark.parametrize("seed", range(2))
def test_damaged_objects_never_crash(text, seed, request):
    root = str(request.config.rootpath)
    command = [sys.executable, "-c", FUZZ, root, str(seed), "6000"]
    result = subprocess.run(command, input=object_of(text), capture_output=True, check=False)
    assert result.returncode == 0, result.stderr.decode()
    loaded, refused = map(int, result.stdout.split())
    assert loaded + refused == 6000
    assert refused > 1000


def test_every_truncation_is_refused_or_whole():
    good = object_of(SWITCH)
    for size in range(len(good)):
        with pytest.raises(native.LoadError):
            native.Code(good[:size])


def test_code_is_unmapped_when_dropped():
    def executable_pages() -> int:
        with open("/proc/self/maps") as maps:
            return sum("r-xp" in line for line in maps)

    native.Code(object_of(SWITCH))
    before = executable_pages()
    codes = [native.Code(object_of(SWITCH)) for _ in range(50)]
    assert executable_pages() > before
    del codes
    assert executable_pages() <= before
