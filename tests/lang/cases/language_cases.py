"""Small functions of everyday Python, run both by CPython and as compiled IR (see test_language_cases.py).

Numbers and control flow; language_cases_values.py has the rest.

Parameters: int, float, bool, wp.vec3. CPython gets NumPy float32 numbers, so that both compute in the same precision.
"""

# ruff: noqa

# -- arithmetic


def add(a: int, b: int):
    return a + b


def sub_mul(a: int, b: int):
    return a * b - a


def floor_division(a: int):
    return a // 3, -a // 3, a // -3


def float_floor(x: float):
    return x // 2.0


def shifts(a: int):
    return a << 2, a >> 1, (a & 7) << 1


def bits(a: int, b: int):
    return a & b, a | b, a ^ b, ~a


def float_mix(x: float, y: float):
    return x * y + 2 * x - y / 4


def int_literals_adapt(x: float):
    return 3 * x + 1 - x / 2


def negations(a: int, x: float):
    return -a, +a, -x, --x


def power_int(a: int):
    return a**2, a**3, a**0, a**1


def power_float(a: int, x: float):
    return x**2, float(a) ** 3, x**0, x**1


def walrus_or(a: int):
    if a <= 0 or (b := a - 2) <= 0:
        return 0
    return b


def walrus_while(n: int):
    s = 0
    while n > 0 and (m := n * 2) > 4:
        s += m
        n -= 1
    return s


def walrus_ternary(a: int):
    return b if a > 1 and (b := a // 2) > 1 else -1


def mixed_condition(a: int, x: float):
    if a and x > 0.0 or not x:
        return 1
    return 0


def precedence(a: int, b: int):
    return a + b * 2 - (a - b) * 3


def literal_arithmetic():
    return 3 * 4 + 5, 2**10, 7 // 2, -7 // 2, 1 << 5, 10 - 3 * 2


def literal_floats():
    return 1.5 * 2.0, 0.5 + 0.25, 2.0**3


def casts(a: int, x: float):
    return float(a), int(x), bool(a), int(True), float(False)


def truncation(x: float):
    return int(x), int(-x)


def rounding(x: float):
    return round(x), round(x * 2), round(0.5), round(1.5)


def absolute(a: int, x: float):
    return abs(a), abs(x), abs(-3)


def extremes(a: int, b: int, x: float, y: float):
    return min(a, b), max(a, b), min(x, y), max(x, y)


def extremes_many(a: int, b: int):
    return min(a, b, 3), max(a, b, -1, 2)


def clamp(x: float):
    return max(0.0, min(1.0, x))


def mixed_ternary_literal(x: float):
    return x if x > 0 else 0


def div_mod(a: int):
    return divmod(abs(a), 4)


# -- comparisons and conditions


def compare(a: int, b: int):
    return a < b, a <= b, a == b, a != b, a > b, a >= b


def chained(a: int, b: int):
    return 0 < a < 10, a < b < 5, a == a == b


def chained_float(x: float):
    return -1.0 <= x <= 1.0


def conditions(a: int, b: int):
    return (a > 0 and b > 0), (a > 0 or b > 0), not (a > 0)


def value_and(a: int, b: int):
    return a and b


def value_or(a: int, b: int):
    return a or b


def value_chain(a: int, b: int, c: int):
    return a or b or c, a and b and c


def mixed_bool(a: int, x: float):
    return a > 0 and x > 0.5 or a < -3


def truthiness(a: int, x: float):
    r = 0
    if a:
        r += 1
    if not a:
        r += 10
    if x:
        r += 100
    return r


def ternary(a: int):
    return 1 if a > 0 else -1


def nested_ternary(a: int):
    return 1 if a > 0 else (0 if a == 0 else -1)


def ternary_in_expression(x: float, y: float):
    return 2.0 * (x if x > y else y) + 1.0


def bool_ops(p: bool, q: bool):
    return p and q, p or q, not p, p == q, p != q, p ^ q, p & q, p | q


def in_tuple(a: int):
    return a in (1, 2, 3), a not in (0, 5)


def tuple_equal(a: int, b: int):
    return (a, b) == (b, a), (a, 1) != (a, 1)


# -- branches


def if_else(a: int):
    if a > 0:
        r = a
    else:
        r = -a
    return r


def elif_chain(a: int):
    if a < -2:
        r = 0
    elif a < 0:
        r = 1
    elif a == 0:
        r = 2
    else:
        r = 3
    return r


def early_return(a: int):
    if a < 0:
        return -1
    if a > 5:
        return 5
    return a


def return_in_both(a: int):
    if a > 0:
        return a * 2
    else:
        return a - 1


def nested_if(a: int, b: int):
    r = 0
    if a > 0:
        if b > 0:
            r = 1
        else:
            r = 2
    else:
        if b > 0:
            r = 3
    return r


def one_sided(a: int, x: float):
    y = x
    if a > 0:
        y = x * 2
    return y


def swap_if(a: int, b: int):
    if a > b:
        a, b = b, a
    return a, b


def several_results(a: int, x: float):
    if a > 0:
        b, y = a + 1, x
    else:
        b, y = 0, x + 1
    return b, y


def literal_returns(x: float):
    if x < 0:
        return 0
    return x


def deep_returns(a: int, b: int):
    if a > 0:
        if b > 0:
            return 1
        if b < -2:
            return 2
    else:
        if b == 0:
            return 3
    return 4


def pass_branch(a: int):
    if a > 0:
        pass
    else:
        a = -a
    return a


# -- for loops


def sum_range(n: int):
    s = 0
    for i in range(n):
        s += i
    return s


def sum_range_float(n: int, x: float):
    s = 0.0
    for i in range(n):
        s += x
    return s


def range_from(a: int, b: int):
    s = 0
    for i in range(a, b):
        s += i * i
    return s


def range_step(n: int):
    s = 0
    for i in range(0, n, 3):
        s += i
    return s


def range_down(n: int):
    s = 0
    for i in range(n, 0, -1):
        s = s * 2 + i
    return s % 1000 if s > 0 else s


def range_step_variable(a: int, b: int):
    s = 0
    step = 2 if a > 0 else -3
    for i in range(a, b, step):
        s += i
    return s


def static_loop(x: float):
    s = 0.0
    for i in range(4):
        s += x * i if False else x * float(i)
    return s


def long_static_loop(a: int):
    s = 0
    for i in range(100):
        s += (i * a) & 7
    return s


def nested_loops(n: int):
    s = 0
    for i in range(n):
        for j in range(i):
            s += i * j
    return s


def triangular(n: int):
    c = 0
    for i in range(n):
        for j in range(i, n):
            if (i + j) & 1:
                c += 1
    return c


def loop_break(n: int, k: int):
    s = 0
    for i in range(n):
        if i == k:
            break
        s += i
    return s


def loop_continue(n: int):
    s = 0
    for i in range(n):
        if i & 1:
            continue
        s += i
    return s


def loop_else(n: int, k: int):
    r = 0
    for i in range(n):
        if i == k:
            r = 100
            break
    else:
        r = -1
    return r


def loop_else_plain(n: int):
    s = 0
    for i in range(n):
        s += i
    else:
        s += 1000
    return s


def unrolled_break(k: int):
    s = 0
    for i in range(5):
        if i == k:
            break
        s += i + 1
    return s


def unrolled_continue(k: int):
    s = 0
    for i in (1, 2, 3, 4):
        if i == k:
            continue
        s = s * 10 + i
    return s


def unrolled_else(k: int):
    for i in (1, 2, 3):
        if i == k:
            r = 7
            break
    else:
        r = 9
    return r


def unrolled_both(k: int, n: int):
    s = 0
    for i in (5, 1, 3, 2, 8):
        if i == k:
            continue
        if i > n:
            break
        s += i
    else:
        s = -s
    return s


def break_nested(n: int, k: int):
    s = 0
    for i in range(n):
        for j in range(n):
            if j > i or j == k:
                break
            s += j
        s += 1
    return s


def continue_nested(n: int):
    s = 0
    for i in range(n):
        if i == 2:
            continue
        for j in range(n):
            if j == i:
                continue
            s += j
    return s


def return_in_loop(n: int, k: int):
    for i in range(n):
        if i * i > k:
            return i
    return -1


def loop_variable_after(n: int):
    i = -1
    for i in range(n):
        pass
    return i


def loop_variable_static():
    for i in range(20):
        x = i * 2
    return i, x


def assigned_in_nonempty_loop(a: int):
    for i in range(30):
        x = a + i
    return x


def carried_two(n: int):
    a, b = 0, 1
    for i in range(n):
        a, b = b, a + b
    return a


def loop_modifies_index(n: int):
    s = 0
    for i in range(n):
        i = i * 2
        s += i
    return s


def shadowed_index(n: int):
    i = 100
    for i in range(n):
        pass
    return i


def same_index_twice(n: int):
    s = 0
    for i in range(n):
        s += i
    for i in range(n, n + 3):
        s += 10 * i
    return s


def reversed_range(n: int):
    s = 0
    for i in reversed(range(n)):
        s = (s * 3 + i) & 1023
    return s


def reversed_steps(n: int):
    s = 0
    for i in reversed(range(0, 10, 3)):
        s = (s * 3 + i) & 1023
    for i in reversed(range(7, -4, -2)):
        s = (s * 3 + i) & 1023
    for i in reversed(range(5, 5, 4)):
        s += 1000
    for i in reversed(range(n, -3, -1)):
        s = (s * 3 + i) & 1023
    return s


def enumerate_reversed(n: int):
    s = 0
    for k, i in enumerate(reversed(range(n)), 2):
        s = (s * 3 + 5 * k + i) & 1023
    for k, i in enumerate(reversed(range(1, 8, 2))):
        s = (s * 3 + 5 * k + i) & 1023
    for k, i in enumerate(range(n, -4, -1)):
        s = (s * 3 + 5 * k + i) & 1023
    return s


def enumerate_tuple(a: int, b: int):
    s = 0
    for i, x in enumerate((a, b, 4)):
        s += i * x
    return s


def enumerate_start(a: int, b: int):
    s = 0
    for i, x in enumerate((a, b), 5):
        s += i * x
    return s


def zip_tuples(a: int, b: int):
    s = 0
    for x, y in zip((a, b, 1), (2, 3, 4)):
        s += x * y
    return s


def zip_range(a: int, b: int):
    s = 0
    for i, x in zip(range(3), (a, b, a)):
        s += i * x
    return s


def enumerate_range(n: int):
    s = 0
    for k, i in enumerate(range(2, n)):
        s += k * i
    return s


def heterogeneous(a: int, x: float):
    s = 0.0
    for v in (a, x, 2):
        s += float(v)
    return s


# -- while loops


def while_count(n: int):
    i = 0
    while i < n:
        i += 2
    return i


def collatz(a: int):
    n = abs(a) + 1
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def gcd(a: int, b: int):
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


def while_break(n: int):
    s = 0
    while True:
        s += 1
        if s * s > n:
            break
    return s


def while_continue(n: int):
    i, s = 0, 0
    while i < n:
        i += 1
        if i & 1:
            continue
        s += i
    return s


def while_else(n: int, k: int):
    i = 0
    while i < n:
        if i == k:
            break
        i += 1
    else:
        i = 99
    return i


def while_return(n: int):
    i = 0
    while True:
        if i * i >= n:
            return i
        i += 1


def while_walrus(n: int):
    s = 0
    while (n := n - 1) > 0:
        s += n
    return s


def nested_while(n: int):
    i = total = 0
    while i < n:
        j = 0
        while j < i:
            total += j
            j += 1
        i += 1
    return total


def while_two_conditions(n: int, x: float):
    i = 0
    y = x
    while i < n and y < 10.0:
        y = y + 1.5
        i += 1
    return i, y


def while_known_false(a: int):
    while False:
        a += 1
    return a


def newton(x: float):
    y = abs(x) + 1.0
    r = y
    for _ in range(6):
        r = 0.5 * (r + y / r)
    return r


def loop_in_branch(a: int, n: int):
    s = 0
    if a > 0:
        for i in range(n):
            s += i
    else:
        while s > -n:
            s -= 2
    return s


def branch_in_loop(n: int, x: float):
    lo, hi = 0.0, 0.0
    for i in range(n):
        y = x * float(i - 3)
        if y < lo:
            lo = y
        elif y > hi:
            hi = y
    return lo, hi


def digits(a: int):
    n, c = abs(a), 0
    while n > 0:
        n //= 10
        c += 1
    return c


def is_prime(a: int):
    n = abs(a)
    if n < 2:
        return False
    i = 2
    while i * i <= n:
        if n % i == 0:
            return False
        i += 1
    return True


def popcount(a: int):
    n, c = a & 0xFFFF, 0
    while n:
        n &= n - 1
        c += 1
    return c
