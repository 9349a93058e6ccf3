"""Promises of the pipeline besides keeping results: copies, sharing of callees, source positions."""

from __future__ import annotations

from omni.warp_core.ir import parser, printer
from omni.warp_core.ir.builder import Builder
from omni.warp_core.ir.nodes import Function, Loc, Operation, Value
from omni.warp_core.lang.types import F32, I32
from omni.warp_core.passes.pipeline import PassOptions, run


def calls(function: Function) -> list[Function]:
    return [op.attr for op in function.body.walk() if op.code == "call"]


def square(loc: Loc | None) -> Function:
    x = Value(F32, name="x")
    f = Function("square", [x], (F32,))
    b = Builder(f)
    b.loc = loc
    b.terminate("return", [b.op("mul", x, x)])
    return f


def user(callee: Function) -> Function:
    x = Value(F32, name="x")
    f = Function("user", [x], (F32,))
    b = Builder(f)
    b.loc = Loc("user.py", 7, 4)
    b.terminate("return", list(b.emit("call", [x], callee, results=callee.results)))
    return f


def test_positions_keep_the_chain_of_calls():
    inner = square(Loc("lib.py", 3, 8, inlined=Loc("lib.py", 9)))
    (op,) = (op for op in run(user(inner)).body.walk() if op.code == "mul")
    assert op.loc == Loc("lib.py", 3, 8, inlined=Loc("lib.py", 9, inlined=Loc("user.py", 7, 4)))


def test_operations_without_position_get_the_place_of_the_call():
    (op,) = (op for op in run(user(square(None))).body.walk() if op.code == "mul")
    assert op.loc == Loc("user.py", 7, 4)


def test_large_callees_are_finished_once_and_shared():
    inner = square(None)
    options = PassOptions(inline_limit=1)
    first, second = (calls(run(user(inner), options)) for _ in range(2))
    assert first == second and first != [inner]
    assert not calls(run(user(inner)))


def test_cold_callees_stay_calls():
    inner = square(None)
    inner.is_cold = True
    assert [f.name for f in calls(run(user(inner)))] == ["square"]


def test_value_names_survive():
    text = """
    func @f(%speed: f32) -> (f32) {
      %twice: f32 = add %speed, %speed
      return %twice
    }
    """
    out = printer.print_function(run(parser.parse(text)[0]))
    assert "%twice: f32 = add %speed, %speed" in out


def test_asserts_are_gone_in_release_and_reported_in_debug():
    text = """
    func @f(%x: i32) -> (i32) {
      %z: i32 = const[0]
      %ok: bool = gt %x, %z
      assert["positive"] %ok
      return %x
    }
    """
    (f,) = parser.parse(text)
    assert {op.code for op in run(f).body.walk()} == {"return"}
    debug = {op.code for op in run(f, PassOptions(debug=True)).body.walk()}
    assert "fail" in debug and "assert" not in debug


def test_the_builder_folds_exactly():
    b = Builder(Function("f", [x := Value(F32), n := Value(I32)]))
    zero, one = b.f32(0.0), b.f32(1.0)
    assert b.op("mul", x, one) is x and b.op("sub", x, zero) is x
    assert b.op("add", x, zero) is not x  # -0.0 + 0.0 is 0.0
    assert b.op("add", n, b.i32(0)) is n
    assert b.f32(-0.0) is not zero and b.f32(float("nan")) is b.f32(float("nan"))
    assert b.op("add", x, one) is b.op("add", x, one)
    assert b.op("div", b.i32(7), b.i32(-2)).const == -3


def polynomial(terms: int) -> Function:
    """A function of `terms` multiplications and as many additions, which does not end in a sum."""
    x = Value(F32, name="x")
    f = Function("polynomial", [x], (F32,))
    b = Builder(f)
    y = x
    for i in range(terms):
        y = b.op("mul", b.op("add", y, b.const(float(i), F32)), x)
    b.terminate("return", [y])
    return f


def chain(callee: Function, length: int) -> Function:
    """A function that adds 1 to the results of a call after the other."""
    x = Value(F32, name="x")
    f = Function("chain", [x], (F32,))
    b = Builder(f)
    y = x
    for _ in range(length):
        (y,) = b.emit("call", [b.op("add", y, b.const(1.0, F32))], callee, results=callee.results)
    b.terminate("return", [y])
    return f


def test_callees_that_many_calls_use_stay_calls():
    assert not calls(run(chain(polynomial(20), 10)))
    assert len(calls(run(chain(polynomial(20), 40)))) == 40
    assert not calls(run(chain(polynomial(3), 100)))  # a call would be no shorter


def test_an_adjoint_has_the_calls_of_its_kernel():
    """A value is rounded in another way where a product from inside of a callee is fused into a sum outside."""
    callee = polynomial(20)
    few, many = chain(callee, 10), chain(callee, 40)
    assert not calls(run(many, primal=few))
    assert len(calls(run(few, primal=many))) == 10


def test_callees_that_ask_for_the_thread_are_inlined_however_often_they_are_called():
    callee = polynomial(20)
    callee.body.ops.insert(0, Operation("tid", [], (0, 1)))
    callee.body.ops[0].results = (Value(I32, callee.body.ops[0]),)
    assert not calls(run(chain(callee, 40)))
