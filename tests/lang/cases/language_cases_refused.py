"""Everyday Python that kernels cannot express: each function is refused, with words that say why or what to write.

The docstring of each function is a part of what the compiler says (see test_language_cases.py).
"""

# ruff: noqa
import math
import random

CACHE = {}
ITEMS = [1, 2, 3]


def dictionary(a: int):
    """a dict cannot be used in a kernel"""
    d = {1: a}
    return d[1]


def set_of_numbers(a: int):
    """a set cannot be used in a kernel"""
    return a in {1, 2}


def grows_a_list(a: int):
    """append"""
    items = [1, 2]
    items.append(a)
    return len(items)


def captured_dictionary(a: int):
    """dict"""
    return CACHE[a]


def nested_function(a: int):
    """a nested function cannot be used in a kernel"""

    def inner(x):
        return x + 1

    return inner(a)


def raises(a: int):
    """`raise` cannot be used in a kernel"""
    if a > 0:
        raise ValueError("no")
    return a


def tries(a: int):
    """`try` cannot be used in a kernel"""
    try:
        return 1 // a
    except ZeroDivisionError:
        return 0


def uses_with(a: int):
    """`with` cannot be used in a kernel"""
    with open("x") as f:
        return a


def yields(a: int):
    """yield"""
    yield a


def declares_global(a: int):
    """`global` cannot be used in a kernel"""
    global CACHE
    CACHE = a
    return a


def imports(a: int):
    """`import` cannot be used in a kernel"""
    import math

    return a


def defines_class(a: int):
    """a class cannot be used in a kernel"""

    class C:
        x = 1

    return C.x + a


def recursion(a: int):
    """plain Python function"""
    return 1 if a <= 1 else a * recursion(a - 1)


def math_module(x: float):
    """use `wp.floor`"""
    return math.floor(x)


def random_module(a: int):
    """random"""
    return random.randint(0, a)


def string_method(a: int):
    """upper"""
    return a if "abc".upper() == "ABC" else 0


def string_of_number(a: int):
    """str"""
    return len(str(a))


def sorted_tuple(a: int, b: int):
    """sorted"""
    return sorted((a, b))[0]


def complex_number(x: float):
    """1j cannot be used in a kernel"""
    return x + 1j


def identity_of_numbers(p: bool):
    """use `==`"""
    return p is True


def changes_type(a: int):
    """`x` is int32 and cannot become float32"""
    x = a
    x = 0.5
    return x


def branches_of_two_types(a: int, x: float):
    """int32"""
    return a if a > 0 else x


def mixes_types(a: int, x: float):
    """write `float(a)`"""
    return a * x


def compares_types(a: int, x: float):
    """write `float(a)`"""
    return a < x


def maybe_unassigned(a: int):
    """`b` may be read before it is assigned"""
    if a > 0:
        b = 1
    return b


def unassigned_after_loop(n: int):
    """`b` may be read before it is assigned"""
    for i in range(n):
        b = i
    return b


def deleted_local(a: int):
    """`b` may be read before it is assigned"""
    b = a
    del b
    return b


def missing_return(a: int):
    """can end without returning a value"""
    if a > 0:
        return 1


def run_time_length(n: int):
    """a length known when the kernel compiles"""
    return sum(i for i in range(n))


def run_time_condition(a: int, b: int):
    """must be known when the kernel compiles"""
    return sum(x for x in (a, b) if x > 0)


def run_time_index_of_tuple(a: int):
    """known when the kernel compiles"""
    return (1, 2, 3)[a & 1]


def tuple_grows_in_loop(n: int):
    """`t`"""
    t = (1,)
    for i in range(n):
        t = t + (i,)
    return len(t)


def wrong_number_of_names(a: int):
    """cannot unpack 3 values into 2 names"""
    x, y = (a, 1, 2)
    return x


def run_time_power(a: int):
    """convert to float"""
    return 2 ** (a & 7)


def power_of_negative_exponent(a: int):
    """`**`"""
    return a**-1


def matrix_product_of_numbers(a: int):
    """`@`"""
    return a @ a


def bits_of_float(x: float):
    """works on integers"""
    return x & 1


def sum_of_bools(p: bool, q: bool):
    """`+` does not work on bool"""
    return p + q


def slices_a_number(a: int):
    """int32 cannot be indexed"""
    return a[0]


def calls_a_number(a: int):
    """is not a function"""
    return a(1)


def unknown_name(a: int):
    """`lenght` is not defined"""
    return lenght((a,))


def keyword_of_builtin(a: int, b: int):
    """key"""
    return max(a, b, key=abs)


def too_many_arguments(a: int):
    """abs"""
    return abs(a, a)


def star_arguments_of_dict(a: int):
    """`**` arguments cannot be used in a kernel"""
    return max(**{"a": a})


def matches_a_class(a: int):
    """kernels match numbers, `|` of them, tuples and `_` only"""
    match a:
        case int(x):
            return x
    return 0


def matches_a_sequence(a: int, b: int):
    """kernels match numbers, `|` of them, tuples and `_` only"""
    match (a, b):
        case [x, *rest]:
            return x
    return 0


def awaits(a: int):
    """lambda"""
    f = lambda *x: x[0]
    return f(a)


def zero_division_of_literals():
    """division"""
    return 1 // 0


def shifts_below_zero(a: int):
    """negative shift"""
    return 1 << -1


def compares_tuples(a: int, b: int):
    """tuples compare with `==` and `!=` only"""
    return (a, b) < (b, a)


def text_with_run_time_parts(a: int):
    """a kernel cannot keep text that has run-time parts"""
    s = f"{a}"
    return len(s)


def literal_out_of_range(a: int):
    """type"""
    x: int = 0.5
    return x + a


def mutable_default(a: int):
    """`ITEMS`, which is not a local, cannot be changed"""
    ITEMS[0] = a
    return a
