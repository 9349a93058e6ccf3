"""Small functions of everyday Python, run both by CPython and as compiled IR (see test_language_cases.py).

Numbers: operators with all signs, conversions, mixes, augmented assignment, conditions that give operands.

Parameters: int, float, bool, wp.vec3. CPython gets NumPy float32 numbers, so that both compute in the same precision.
"""

# ruff: noqa
import math

import numpy as np

GRAVITY = 9.5
LIMITS = (-3, 3)
MASK = 0x1F
BIG = 10**6
NEGATIVE = -7
TEXT = "abc"
NOTHING = None

# -- integer division and remainders of all signs


def floor_signs(a: int, b: int):
    if b == 0:
        return 0
    return a // b


def floor_by_constants(a: int):
    return a // 1, a // 2, a // 7, a // -2, a // -7, a // -1


def floor_of_constants(a: int):
    if a == 0:
        a = 5
    return 7 // a, -7 // a, 0 // a, 100 // a


def remainder_of_constants():
    return 7 % 3, 0 % 5, 7 % 7, 8 % 7


def remainder_not_negative(a: int, b: int):
    return abs(a) % (abs(b) + 1)


def remainder_fixed_up(a: int, b: int):
    m = abs(b) + 1
    return (a % m + m) % m


def divmod_positive(a: int, b: int):
    q, r = divmod(abs(a), abs(b) + 2)
    return q * 100 + r


def divmod_rebuilt(a: int, b: int):
    m = abs(b) + 1
    q = a // m
    r = a - q * m
    return q, r, q * m + r == a


def floor_negative_float(x: float):
    return x // 1.0, -x // 2.0, x // -1.5


def halves(a: int):
    return a // 2 + a // -2, (a + 1) // 2, -(-a // 2)


def even_odd(a: int):
    return a & 1 == 0, a & 1 == 1, (a & 1) != 0


def ceil_division(a: int, b: int):
    b = abs(b) + 1
    return -(-a // b)


def shift_division(a: int):
    return a >> 1, a >> 3, (a << 3) >> 3, a >> 31


def last_digits(a: int):
    n = abs(a) * 37
    return n % 10, n // 10 % 10


# -- powers


def powers_int(a: int):
    return a**2, a**4, a**5, (-a) ** 3, -(a**2), -(a**2)


def powers_of_two(a: int):
    return 1 << (a & 7), 2**7, 1 << 3 << (a & 3)


def powers_float(x: float):
    return x**2, (-x) ** 2, -(x**2), x**1, x**0


def power_literals():
    return 2**3**2, (-2) ** 3, -(2**2), 2**-1, 4**0.5, 0**0


def power_augmented(a: int):
    a **= 2
    a **= 1
    return a


def pow_builtin(a: int):
    return pow(a, 2), pow(a, 3)


# -- conversions


def int_of_float(x: float):
    return int(x), int(x * 10.0), int(-x), int(0.99), int(-0.99)


def int_of_bool(p: bool):
    return int(p), int(not p), int(True) + int(p)


def float_of_bool(p: bool):
    return float(p), float(not p)


def float_of_int(a: int):
    return float(a) / 2.0, float(a) * 0.5, float(-a)


def bool_of_numbers(a: int, x: float):
    return bool(a), bool(x), bool(a) == (a != 0), not bool(a)


def bool_arithmetic(p: bool, q: bool):
    return int(p) + int(q), int(p) * 3 - int(q)


def round_half_even(a: int):
    return round(float(a) / 2.0), round(0.5), round(1.5), round(2.5), round(-0.5)


def round_is_int(x: float):
    return round(x) + 1


def abs_of_everything(a: int, x: float):
    return abs(a), abs(-a), abs(x), abs(-x), abs(a - 5), abs(-2.5)


def no_argument_conversions():
    return int(), float(), bool()


def conversions_of_conversions(x: float):
    return float(int(x)), int(float(int(x))), bool(int(x))


def sign(a: int):
    return int(a > 0) - int(a < 0)


def min_max_many(a: int, b: int, c: int):
    return min(a, b, c), max(a, b, c), max(a, b) - min(a, b)


def min_of_tuple(a: int, b: int):
    t = (a, b, 0)
    return min(t), max(t), sum(t)


def min_of_list(a: int, b: int):
    return min([a, b, -a]), max([a, b, -b])


def min_of_generator(a: int):
    return min(i * a for i in range(4)), max((i - a) * i for i in range(4))


def min_float_literals(x: float):
    return min(x, 1.0), max(0.0, x), min(max(x, -1.0), 1.0)


def sum_forms(a: int, b: int):
    return sum((a, b)), sum([a, b], 10), sum((a, b), start=5), sum(())


def sum_of_squares(a: int):
    return sum(i * i for i in range(5)), sum(a * i for i in (1, 2, 3))


def sum_of_conditions(a: int, b: int):
    return sum((int(a > 0), int(b > 0), int(a > b)))


# -- integer and float mixes


def literal_meets_float(x: float):
    return x + 1, 1 - x, x * 2, x / 2, 3 / (x * x + 1)


def literal_meets_int(a: int):
    return a + 1, 10 - a, a * -3


def float_literals_in_int_function(a: int):
    return float(a) + 0.5, 2.5 - float(a)


def chained_additions(a: int, x: float):
    return a + 1 + 2 + a, x + 1 + 2.5 + x


def average(a: int, b: int, c: int):
    return float(a + b + c) / 3.0


def quadratic(x: float, y: float):
    d = x * x - 4.0 * y
    if d < 0.0:
        return -1.0
    return d


def lerp_by_hand(x: float, y: float):
    t = 0.25
    return x + (y - x) * t, (1.0 - t) * x + t * y


def compare_mixed(a: int, x: float):
    return a > 0, x > 0, a >= 1, x >= 1, a == 2, x == 2


def clamp_by_hand(x: float):
    if x < -1:
        x = -1.0
    elif x > 1:
        x = 1.0
    return x


def literal_in_branches(a: int):
    y = 1.5 if a > 0 else 2
    return y


def literal_takes_the_other_type(x: float, a: int):
    y = x if a > 0 else 0
    z = 1 if a > 3 else x
    return y, z


def zero_then_float(x: float):
    s = 0.0
    s += x
    s = s * 2
    return s


def underscore_literals():
    return 1_000, 0x_FF, 0b1010, 0o17, 1e3, 10.5


def big_literals(a: int):
    return a + 1_000_000, a - 2_000_000_000 if a > 0 else 2_000_000_000


# -- augmented assignment of everything


def augmented_int(a: int, b: int):
    a += 3
    b -= a
    a *= b
    b //= 3
    a <<= 1
    b >>= 1
    a &= 0xFFF
    b |= 5
    a ^= b
    return a, b


def augmented_float_all(x: float, y: float):
    x += y
    y -= x
    x *= 1.5
    y /= 2.0
    x //= 1.0
    return x, y


def augmented_mod(a: int):
    n = abs(a) + 10
    n %= 7
    return n


def augmented_with_expression(a: int, b: int):
    a += b * 2 + 1
    a -= b if b > 0 else -b
    return a


def augmented_in_loop(n: int):
    s, p = 0, 1
    for i in range(n):
        s += i
        p *= 2
        p &= 1023
    return s, p


def augmented_bool(p: bool, q: bool):
    p &= q
    q |= p
    p ^= True
    return p, q


def augmented_tuple(a: int):
    t = (a,)
    t += (1, 2)
    return sum(t), len(t)


def augmented_global_constant(x: float):
    y = GRAVITY
    y *= x
    return y


# -- booleans and operands


def or_gives_operand(a: int, b: int):
    return a or b, a or 7, 0 or b, a or b or -1


def and_gives_operand(a: int, b: int):
    return a and b, a and 7, 1 and b, a and b and 3


def or_and_mixed(a: int, b: int, c: int):
    return a and b or c, a or b and c, (a or b) and c


def or_of_floats(x: float, y: float):
    return x or y, x and y, x or 1.0


def not_of_operands(a: int, x: float):
    return not a, not x, not not a, not (a and x), not a or not x


def default_by_or(a: int):
    n = a or 10
    return n


def short_circuit_division(a: int, b: int):
    return b != 0 and a // b > 0, b == 0 or a // b > 0


def de_morgan(p: bool, q: bool):
    return (not (p and q)) == (not p or not q), (not (p or q)) == (not p and not q)


def bool_compare(p: bool, q: bool):
    return p == q, p != q, (p and q) or (not p and not q)


def xor_of_conditions(a: int, b: int):
    return (a > 0) != (b > 0), (a > 0) ^ (b > 0), (a > 0) & (b > 0), (a > 0) | (b > 0)


def implication(p: bool, q: bool):
    return not p or q, q if p else True


def parity(p: bool, q: bool, r: bool):
    return p ^ q ^ r, p == q == r


def conditional_of_conditional(a: int, b: int):
    return a if a > b else b if b > 0 else -1


def conditional_in_call(a: int, b: int):
    return max(a if a > 0 else -a, b if b > 0 else -b)


def conditional_in_index(a: int, b: int):
    return (a, b)[0 if True else 1], (a, b, 3)[-1]


def conditional_float(x: float):
    return x if x >= 0.0 else -x


def conditional_tuple(a: int):
    x, y = (a, 1) if a > 0 else (-a, 2)
    return x, y


# -- comparisons


def chain_of_three(a: int, b: int, c: int):
    return a < b < c, a <= b <= c, a < b > c, a == b != c


def chain_with_calls(a: int, b: int):
    return 0 <= abs(a) < 5, min(a, b) <= a <= max(a, b)


def chain_in_if(a: int):
    if -3 < a <= 3:
        return 1
    if 3 < a < 6 or -6 < a < -3:
        return 2
    return 3


def chain_evaluates_once(a: int):
    n = 0
    if 0 < (n := a + 1) < 5:
        return n
    return -n


def in_constant_tuple(a: int):
    return a in LIMITS, a not in LIMITS, a in (1, 3, 5, 7), a in [2, 4]


def in_run_time_tuple(a: int, b: int, c: int):
    return a in (b, c), a in (b, c, a), c not in (a, b)


def in_range(a: int):
    return a in range(5), a in range(2, 9, 3)


def in_string():
    return "a" in TEXT, "z" in TEXT


def is_none(a: int):
    x = None
    return x is None, x is not None, NOTHING is None


def tuples_equal(a: int, b: int, c: int):
    return (a, b) == (b, a), (a, b, c) != (a, b, 0), (1, 2) == (1, 2)


def compare_bool_and_int(a: int, b: int):
    big = a > b
    return big == True, big == False, big and a > 0


# -- bits


def bit_tricks(a: int):
    return a & -a, a & (a - 1), a | (a + 1), ~a & MASK, a ^ (a >> 1)


def bit_loop(a: int):
    n, bits = a & 0xFF, 0
    for i in range(8):
        bits = (bits << 1) | ((n >> i) & 1)
    return bits


def bit_test(a: int):
    return a & 1 > 0, (a & 4) != 0, (a >> 2) & 1 == 1


def inverted(a: int):
    return ~a, ~~a, -~a, ~-a


def masks(a: int, b: int):
    return a & MASK | b & ~MASK, (a ^ b) & 0xF, a & b ^ a | b


def swap_by_xor(a: int, b: int):
    a ^= b
    b ^= a
    a ^= b
    return a, b


def hashing(a: int, b: int):
    h = 17
    for v in (a, b, 99):
        h = (h * 31 + v) & 0xFFFF
    return h


def gray_code(a: int):
    n = a & 0xFF
    return n ^ (n >> 1)


# -- constants


def global_constants(a: int, x: float):
    return a + BIG, x * GRAVITY, a & MASK, NEGATIVE // 2


def constant_expressions(a: int):
    return a * (BIG // 1000 - 999), a + LIMITS[0] * LIMITS[1], len(LIMITS) + len(TEXT)


def math_constants(x: float):
    return x * 2.0 * 0.5, float(int(math.pi * 1000.0)), float(int(math.e * 100.0))


def global_none(a: int):
    if NOTHING is None:
        return a
    return -a


def default_arguments(a: int, b: int = 3, x: float = 0.5):
    return a + b, x + 1.0


def negative_zero(x: float):
    return x * 0.0 == 0.0, -0.0 == 0.0


def precedence_of_unary(a: int, b: int):
    return -a * b, -(a * b), a - -b, a + +b, ~a + b, -a // 2, not a == b


def precedence_of_bits(a: int, b: int):
    return a + b & 3, a & b == 0, a << 1 + 1, 1 | 2 ^ 3 & a


def parentheses(a: int, b: int, c: int):
    return (a + b) * c, a + b * c, a - (b - c), a - b - c, a // (b * b + 1) // 2
