"""Small functions of everyday Python, run both by CPython and as compiled IR (see test_language_cases.py).

Control flow: branches, loops, early returns, match.

Parameters: int, float, bool, wp.vec3. CPython gets NumPy float32 numbers, so that both compute in the same precision.
"""

# ruff: noqa
import omni.warp_core as wp

PRIMES = (2, 3, 5, 7)
ROWS = ((1, 2), (3, 4), (5, 6))

# -- branches


def nested_branches(a: int, b: int, c: int):
    if a > 0:
        if b > 0:
            if c > 0:
                return 7
            return 6
        elif b < -3:
            return 5
        else:
            r = 4
    elif b > c:
        r = 3
    else:
        if c == 0:
            return 2
        r = 1
    return r * 10


def branch_assigns_several(a: int, x: float):
    if a > 3:
        n, y, p = 1, x, True
    elif a > 0:
        n, y, p = 2, -x, False
    else:
        n, y, p = 3, 0.5, a == 0
    return n, y, p


def guard_clauses(a: int, b: int):
    if a < 0:
        return -1
    if b < 0:
        return -2
    if a == b:
        return 0
    if a > b:
        return 1
    return 2


def else_after_return(a: int):
    if a > 0:
        return 1
    else:
        if a == 0:
            return 0
        else:
            return -1


def unreachable_code(a: int):
    return a
    a = a + 1
    return a


def if_true(a: int):
    if True:
        b = a + 1
    else:
        b = undefined
    if 0:
        b = missing
    return b


def if_with_pass(a: int):
    if a > 0:
        pass
    elif a < -3:
        a = 1
    else:
        pass
    return a


def if_on_walrus(a: int, b: int):
    if (c := a * b) > 10:
        return c
    elif (d := a + b) > 5:
        return d + c
    return c - d


def flags_through_branches(a: int):
    small = negative = False
    if a < 3:
        small = True
        if a < 0:
            negative = True
    return small, negative, small and not negative


def types_of_branches(a: int, x: float):
    y = x
    if a > 0:
        y = 1.0
    if a > 5:
        y = 2.5
    return y


# -- for


def countdown(n: int):
    s = 0
    for i in range(n, -1, -1):
        s = s * 3 + i & 1023
    return s


def steps(n: int):
    s = 0
    for i in range(-5, n, 2):
        s += i
    for i in range(n, -5, -3):
        s -= i
    return s


def empty_ranges(n: int):
    s = 0
    for i in range(0):
        s += 1
    for i in range(5, 5):
        s += 10
    for i in range(3, 0):
        s += 100
    return s


def range_of_negative(n: int):
    c = 0
    for _ in range(-n):
        c += 1
    return c


def loop_over_tuple(a: int, b: int):
    s = 0
    for v in (a, b, a + b, 0):
        if v < 0:
            continue
        s += v
    return s


def loop_over_list(a: int):
    s = 0
    for v in [a, 2 * a, 3]:
        s = s * 2 + v
    return s


def loop_over_pairs(a: int, b: int):
    s = 0
    for x, y in ((a, 1), (b, 2), (3, a)):
        s += x * y
    return s


def loop_over_rows(a: int):
    s = 0
    for x, y in ROWS:
        s += x * a + y
    return s


def loop_over_primes(a: int):
    n = abs(a) + 2
    c = 0
    for p in PRIMES:
        while n % p == 0:
            n //= p
            c += p
    return c, n


def enumerate_by_hand(a: int, b: int):
    i, s = 0, 0
    for v in (a, b, 5):
        s += i * v
        i += 1
    return s


def enumerate_pairs(a: int, b: int):
    s = 0
    for i, (x, y) in enumerate(((a, b), (b, a), (1, 2))):
        s += i * (x - y)
    return s


def enumerate_offset(a: int):
    s = 0
    for i, p in enumerate(PRIMES, start=a & 3):
        s += i * p
    return s


def zip_three(a: int, b: int):
    s = 0
    for i, x, y in zip(range(10), (a, b), PRIMES):
        s += i + x * y
    return s


def zip_of_ranges(n: int):
    s = 0
    for i, j in zip(range(n), range(4)):
        s += i * j
    return s


def reversed_tuple(a: int, b: int):
    s = 0
    for v in reversed((a, b, 1)):
        s = s * 2 + v
    return s


def for_else_found(n: int):
    for i in range(2, n):
        if n % i == 0:
            break
    else:
        return True
    return False


def for_else_with_value(a: int, b: int):
    for i, v in enumerate((a, b, 4)):
        if v > 5:
            found = i
            break
    else:
        found = -1
    return found


def nested_else(n: int):
    c = 0
    for i in range(2, n):
        for j in range(2, i):
            if i % j == 0:
                break
        else:
            c += 1
    else:
        c += 100
    return c


def loop_keeps_last(n: int):
    last = -1
    for i in range(n):
        if i & 2:
            last = i
    return last


def loop_changes_bound(n: int):
    s = 0
    for i in range(n):
        n -= 1
        s += n
    return s, n


def loop_with_two_exits(n: int, a: int):
    s = 0
    for i in range(n):
        s += i
        if s > 20:
            return s, 1
        if i == a:
            break
    return s, 2


def continue_in_else_branch(n: int):
    s = 0
    for i in range(n):
        if i & 1:
            s += i
        else:
            continue
        s += 100
    return s


def pascal(n: int):
    a, b, c, d = 1, 0, 0, 0
    for _ in range(n):
        a, b, c, d = a, a + b, b + c, c + d
    return a, b, c, d


def collatz_steps(n: int):
    n, c = abs(n) + 1, 0
    while n != 1 and c < 50:
        n = n // 2 if n & 1 == 0 else 3 * n + 1
        c += 1
    return c


def matrix_walk(n: int, m: int):
    s = 0
    for i in range(n & 3):
        for j in range(m & 3):
            for k in range(2):
                if i == j == k:
                    continue
                s += 9 * i + 3 * j + k
    return s


def static_and_dynamic(n: int):
    s = 0
    for i in range(3):
        for j in range(n):
            if j > i:
                break
            s += i + j
    return s


def loop_variable_reused(n: int):
    s = 0
    for i in range(n):
        for i in range(2):
            s += i
        s += i
    return s


def loop_of_one():
    for i in range(1):
        s = i + 5
    return s


def unused_loop(n: int):
    for _ in range(n):
        pass
    return n


# -- while


def while_else_break(a: int, b: int):
    while a < b:
        a += 2
        if a == 5:
            break
    else:
        return -a
    return a


def while_not(n: int):
    done = False
    c = 0
    while not done:
        c += 1
        done = c * c >= n
    return c


def while_and(a: int, b: int):
    c = 0
    while a > 0 and b > 0:
        a -= 2
        b -= 3
        c += 1
    return a, b, c


def while_number(n: int):
    n = n & 15
    c = 0
    while n:
        n >>= 1
        c += 1
    return c


def while_true_return(n: int):
    i = 0
    while True:
        i += 3
        if i > n:
            return i
        if i == 9:
            continue
        i += 1


def while_in_while(n: int):
    total = 0
    while n > 0:
        m = n
        while m > 0:
            total += m
            m -= 2
        n -= 3
    return total


def while_with_walrus(a: int):
    c = 0
    while (a := a - 3) > 0 and c < 10:
        c += a
    return a, c


def while_on_float(x: float):
    n = 0
    while abs(x) > 0.5:
        x /= 2.0
        n += 1
    return n, x


def digits_reversed(a: int):
    n, r = abs(a) * 13, 0
    while n:
        n, d = n // 10, n % 10
        r = r * 10 + d
    return r


def binary_search(a: int):
    low, high = 0, 64
    while low < high:
        middle = (low + high) // 2
        if middle * middle < abs(a):
            low = middle + 1
        else:
            high = middle
    return low


# -- match


def match_literals(a: int):
    match a:
        case 0 | 1:
            return 10
        case 2:
            r = 20
        case -1 | -2 | -3:
            r = 30
        case n if n > 8:
            return n
        case _:
            r = 40
    return r + 1


def match_bools(p: bool, q: bool):
    match (p, q):
        case (True, True):
            return 3
        case (True, _):
            return 2
        case (_, True):
            return 1
    return 0


def match_nested(a: int, b: int, c: int):
    match ((a, b), c):
        case ((0, _), _):
            return 0
        case ((x, y), 0):
            return x + y
        case ((x, 1 | 2), z) if z > x:
            return z
        case _:
            return -1


def match_captures(a: int, b: int):
    match a, b:
        case x, y if x == y:
            return x
        case x, y:
            return x - y


def match_floats(x: float):
    match x:
        case 0.0:
            return 1
        case 1.5 | -1.5:
            return 2
        case y if y > 2.0:
            return 3
    return 4


def match_in_loop(n: int):
    s = 0
    for i in range(n):
        match i & 3:
            case 0:
                continue
            case 1:
                s += 1
            case 2 if s > 2:
                break
            case _:
                s += 10
    return s


def match_as(a: int):
    match a:
        case (1 | 2 | 3) as small:
            return small * 100
        case other:
            return other


def float_local_takes_whole_literals(a: int, x: float):
    y = 0.0
    if a > 3:
        y = 1
    elif a > 0:
        y = x
    else:
        y = -2
    for i in range(2):
        y = y / 2.0
        if a == i:
            y = 3
    return y / 4.0


def literal_on_the_other_path(a: int, x: float):
    if a > 2:
        y = x
    else:
        y = 5
    p, q = 0.5, x
    p, q = 1, y
    r = s = x
    r = s = 3
    if (s := 7) > x:
        r = r / 2.0
    return p / 2.0 + q / 4.0 + r / 2.0 + s / 4.0


def loops_that_reuse_a_name_with_another_type(a: int, x: float):
    k = x * 0.5
    total = k
    for k in range(a):
        total += float(k) + x
    for s in range(a):
        for k in range(s):
            if k > 3:
                break
            total += float(k)
        k = total * 0.25
        total -= k
    return total
