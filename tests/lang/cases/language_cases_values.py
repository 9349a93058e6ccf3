"""Small functions of everyday Python, run both by CPython and as compiled IR (see test_language_cases.py).

Tuples, vectors, comprehensions, captured constants, whole algorithms.

Parameters: int, float, bool, wp.vec3. CPython gets NumPy float32 numbers, so that both compute in the same precision.
"""

# ruff: noqa
import enum

import omni.warp_core as wp

HALF = 0.5
SIZE = 4
WEIGHTS = (0.25, 0.5, 0.25)
TABLE = [1, 2, 3, 5, 8]
FLAG = True
NAME = "mode"


class Shape(enum.IntEnum):
    CUBE = 1
    BALL = 2


class Limits:
    LOW = -2
    HIGH = 7


# -- tuples and unpacking


def swap(a: int, b: int):
    a, b = b, a
    return a, b


def rotate(a: int, b: int, c: int):
    a, b, c = b, c, a
    return a, b, c


def multiple_targets(a: int):
    x = y = a + 1
    x += 1
    return x, y


def nested_unpack(a: int, b: int):
    (x, y), z = (a, b), a + b
    return x, y, z


def starred(a: int, b: int):
    first, *rest = (a, b, 3, 4)
    return first, len(rest), sum(rest)


def tuple_index(a: int, b: int):
    t = (a, b, 7)
    return t[0], t[-1], t[1]


def tuple_slice(a: int, b: int):
    t = (a, b, 7, 8)
    return sum(t[1:]), sum(t[:2]), sum(t[::2])


def tuple_concat(a: int):
    return sum((a, 1) + (2, a)), len((a,) * 3)


def tuple_in_loop(n: int):
    p = (0, 1)
    for i in range(n):
        p = (p[1], p[0] + i)
    return p[0], p[1]


def tuple_in_branch(a: int):
    if a > 0:
        t = (a, 1)
    else:
        t = (0, a)
    return t[0] - t[1]


def return_tuple_pick(a: int, b: int):
    q, r = a + b, a - b
    return r, q


# -- augmented assignment


def augmented(a: int, b: int):
    a += b
    a -= 2
    a *= 3
    a |= 1
    a ^= b
    a <<= 1
    a >>= 2
    a &= 255
    return a


def augmented_float(x: float, y: float):
    x += y
    x *= 2
    x -= 0.5
    x /= 4
    return x


def augmented_in_branch(a: int):
    s = 10
    if a > 0:
        s += a
    else:
        s -= a
    return s


# -- vectors


def vec_components(v: wp.vec3):
    return v[0], v[1], v[2], v[-1]


def vec_sum(v: wp.vec3):
    s = 0.0
    for x in v:
        s += x
    return s


def vec_sum_builtin(v: wp.vec3):
    return sum(v)


def vec_extremes(v: wp.vec3):
    return min(v), max(v)


def vec_any_all(v: wp.vec3):
    return any(x > 1.0 for x in v), all(x > -1.0 for x in v)


def vec_enumerate(v: wp.vec3):
    s = 0.0
    for i, x in enumerate(v):
        s += x * float(i)
    return s


def vec_zip(v: wp.vec3, w: wp.vec3):
    s = 0.0
    for x, y in zip(v, w):
        s += x * y
    return s


def vec_unpack(v: wp.vec3):
    x, y, z = v
    return x - y + z


def vec_arithmetic(v: wp.vec3, w: wp.vec3):
    r = (v + w) * 2.0 - v / 2.0
    return r[0], r[1], r[2]


def vec_negate(v: wp.vec3):
    r = -v
    return r[0], r[2]


def vec_dynamic_index(v: wp.vec3, a: int):
    return v[a & 1]


def vec_component_store(v: wp.vec3, x: float):
    v = v + v
    v[1] = x
    v[-1] += 2.0
    v[0] *= x
    return v[0], v[1], v[2]


def vec_dynamic_store(v: wp.vec3, a: int):
    v = v * 1.0
    v[a & 1] = 5.0
    return v[0], v[1], v[2]


def vec_store_in_loop(v: wp.vec3):
    v = v * 1.0
    for i in range(3):
        v[i] = v[i] + float(i)
    return v[0], v[1], v[2]


def vec_store_in_branch(v: wp.vec3, a: int):
    v = v * 1.0
    if a > 0:
        v[0] = 9.0
    else:
        v[1] = 8.0
    return v[0], v[1]


def vec_run_time_store(v: wp.vec3, n: int):
    v = v * 1.0
    for i in range(n):
        v[i & 1] += 1.0
    return v[0], v[1]


def vec_len(v: wp.vec3):
    return len(v)


def vec_comprehension(v: wp.vec3):
    return sum(x * x for x in v), max([x + 1.0 for x in v])


def vec_loop_select(v: wp.vec3):
    best, at = v[0], 0
    for i in range(1, 3):
        if v[i] > best:
            best, at = v[i], i
    return best, at


# -- comprehensions and lambdas


def comprehension_sum(a: int):
    return sum([a * i for i in range(5)])


def comprehension_filter(a: int):
    return sum(a + i for i in range(10) if i % 3 == 0)


def comprehension_nested(a: int):
    return sum(i * j + a for i in range(3) for j in range(i))


def comprehension_unpack(a: int, b: int):
    return sum(x * y for x, y in ((a, 2), (b, 3)))


def comprehension_scope(a: int):
    i = a
    t = sum([i * 2 for i in range(3)])
    return i, t


def lambda_call(a: int):
    f = lambda x: x * x + 1
    return f(a), f(a + 1)


def lambda_capture(a: int, b: int):
    f = lambda x: x * b
    b = b + 1
    return f(a)


def lambda_default(a: int):
    f = lambda x, y=3: x + y
    return f(a), f(a, 4)


def lambda_two(a: int, b: int):
    f = lambda x, y: x - y
    g = lambda x: f(x, 1)
    return g(a) * f(a, b)


def lambda_in_comprehension(a: int):
    f = lambda x: x + a
    return sum(f(i) for i in range(4))


def map_lambda(a: int, b: int):
    return sum(map(lambda x: 2 * x, (a, b)))


def any_all_tuple(a: int, b: int):
    return any((a > 0, b > 0)), all((a > 0, b > 0))


# -- walrus


def walrus_if(a: int):
    if (b := a * 2) > 4:
        return b
    return -b


def walrus_expression(a: int):
    return (b := a + 1) * b


def walrus_and(a: int):
    if a > 0 and (b := a - 2) > 0:
        return b
    return 0


# -- match


def match_values(a: int):
    match a:
        case 0:
            return 10
        case 1 | 2:
            return 20
        case -1:
            return 30
        case _:
            return 40


def match_guard(a: int, b: int):
    match a:
        case x if x > b:
            r = x - b
        case 0:
            r = 100
        case _:
            r = -1
    return r


def match_tuple(a: int, b: int):
    match (a, b):
        case (0, 0):
            return 0
        case (0, y):
            return y
        case (x, 0):
            return x
        case (x, y):
            return x * y


def match_enum(a: int):
    match a:
        case Shape.CUBE:
            return 100
        case Shape.BALL:
            return 200
    return 0


def match_no_default(a: int):
    r = 0
    match a:
        case 3:
            r = 1
        case 4:
            r = 2
    return r


# -- captured constants


def captured_numbers(x: float):
    return x * HALF + SIZE


def captured_tuple(x: float):
    s = 0.0
    for w in WEIGHTS:
        s += w * x
    return s


def captured_list(a: int):
    return sum(TABLE) + TABLE[2] * a


def captured_flag(a: int):
    if FLAG:
        return a
    return undefined_name


def captured_enum(a: int):
    return a == Shape.BALL, Shape.CUBE + a


def captured_class(a: int):
    return max(Limits.LOW, min(Limits.HIGH, a))


def captured_string(a: int):
    if NAME == "mode":
        return a + 1
    return a


def string_constant(a: int):
    kind = "double"
    if kind == "double":
        return 2 * a
    return a


def none_default(a: int):
    limit = None
    if limit is None:
        return a
    return 0


def loop_over_captured(a: int):
    s = 0
    for t in TABLE:
        if t > a:
            s += t
    return s


# -- algorithms


def fibonacci(n: int):
    a, b = 0, 1
    while n > 0:
        a, b, n = b, a + b, n - 1
    return a


def horner(x: float):
    r = 0.0
    for c in (1.0, -2.0, 0.5, 3.0):
        r = r * x + c
    return r


def mandelbrot(x: float, y: float):
    a = b = 0.0
    n = 0
    while a * a + b * b <= 4.0 and n < 12:
        a, b = a * a - b * b + x, 2.0 * a * b + y
        n += 1
    return n


def bisect(x: float):
    lo, hi = -20.0, 20.0
    for i in range(12):
        mid = (lo + hi) * 0.5
        if mid < x:
            lo = mid
        else:
            hi = mid
    return lo


def count_inversions(a: int, b: int, c: int):
    t = (a, b, c)
    n = 0
    for i in range(3):
        for j in range(i + 1, 3):
            if t[i] > t[j]:
                n += 1
    return n


def median(a: int, b: int, c: int):
    if a > b:
        a, b = b, a
    if b > c:
        b, c = c, b
    if a > b:
        a, b = b, a
    return b


def xorshift(a: int):
    s = (a & 0xFFFF) | 1
    for _ in range(10):
        s ^= (s << 3) & 0xFFFF
        s ^= s >> 5
    return s


def bubble(a: int, b: int, c: int):
    x, y, z = a, b, c
    swapped = True
    while swapped:
        swapped = False
        if x > y:
            x, y, swapped = y, x, True
        if y > z:
            y, z, swapped = z, y, True
    return x, y, z


def search_grid(n: int, k: int):
    found = -1
    for i in range(n):
        for j in range(n):
            if i * j == k and found < 0:
                found = i * 100 + j
    return found


def first_above(v: wp.vec3, x: float):
    for i in range(3):
        if v[i] > x:
            return i
    return -1


def prefix(v: wp.vec3):
    s = 0.0
    t = 0.0
    for x in v:
        s += x
        t += s
    return t


def decay(n: int, x: float):
    while n > 0 and abs(x) > 0.125:
        x *= 0.5
        n -= 1
    return x, n


def flags(a: int):
    seen = False
    count = 0
    for i in range(6):
        bit = (a >> i) & 1
        if bit and not seen:
            seen = True
            count = i
        elif bit:
            count += 10
    return count, seen


def short_circuit_guard(a: int, b: int):
    return b != 0 and a // b > 1


def deep_expression(a: int, b: int, c: int):
    return ((a + b) * (b - c) + (a if a > c else c)) * (1 if b else 2) - (a and c)


def polynomial_branches(x: float):
    if x < -2.0:
        y = x * x
    elif x < 2.0:
        y = 4.0
        if x > 0.0:
            y -= x
    else:
        y = 8.0 - 3.0 * x
    return y


def delete_local(a: int):
    b = a * 2
    c = b + 1
    del b
    return c


def docstring(a: int):
    """Adds one."""
    return a + 1


def annotated_local(a: int):
    b: int = a + 2
    c: float = 1
    return b, c


def assert_passes(a: int):
    assert a * a >= 0, "squares are not negative"
    return a


def conditional_chain(a: int, b: int):
    return (a > 0) + 0 if False else (1 if a > b else 2 if a == b else 3)


def loop_carried_bool(n: int):
    odd = False
    for i in range(n):
        odd = not odd
    return odd


def loop_return_tuple(n: int, k: int):
    for i in range(n):
        if i > k:
            return i, True
    return 0, False


def while_with_inner_break(n: int):
    total = 0
    while n > 0:
        for i in range(n):
            if i > 3:
                break
            total += i
        n -= 2
    return total


def break_else_nested(n: int, k: int):
    hits = 0
    for i in range(n):
        for j in range(i):
            if j == k:
                break
        else:
            hits += 1
            continue
        hits += 100
    return hits


def loop_skips_all(n: int):
    last = -7
    for i in range(n):
        if i >= 0:
            continue
        last = i
    return last


def return_from_nested_loops(n: int, k: int):
    for i in range(n):
        for j in range(n):
            if i + j == k:
                return i * 10 + j
    return -1


def while_true_two_exits(a: int, b: int):
    while True:
        a += 1
        if a > 10:
            r = 1
            break
        b += 2
        if b > 9:
            r = 2
            break
    return r, a, b
